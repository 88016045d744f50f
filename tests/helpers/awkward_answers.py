"""Completions that were written, and judged by hand, before the scorers of open answers; null is no answer."""

from __future__ import annotations

import json
from pathlib import Path

from howsure.extraction.completion_context import CompletionContext
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import ScoredAnswer, ScoringItem

_FILE = Path(__file__).parents[1] / "scorers" / "awkward_answers.jsonl"


def cases(*names: str) -> list[tuple[str, str, str, str, float | None]]:
    """(scorer, question, target, completion, score) of the scorers with these names."""
    rows = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]
    return [
        (row["scorer"], row["question"], write(row["target"]), row["completion"], row["score"])
        for row in rows
        if row["scorer"].partition(":")[0] in names
    ]


def read_table(path: Path, columns: int) -> list[tuple[str, ...]]:
    """The lines of a table with tabs; a further column, empty for most, is why a line is not yet read as a person reads it."""
    rows = [line.split("\t") for line in _read_lines(path)]
    return [(*row[:columns], *(row[columns:] or [""])) for row in rows]


def count_cases() -> dict[str, int]:
    """The number of judged completions in the files of the tests, by the kind of their answer."""
    counts = {"choice": 0, "number": 0, "maths": 0, "direction": 0, "open": 0, "list": 0, "yesno": 0, "f1": 0}
    extraction = _FILE.parents[1] / "extraction"
    for name in ("awkward_choices", "blind_choices"):
        counts["choice"] += len(_read_lines(extraction / f"{name}.jsonl"))
    for name in ("completions", "kinds", "benchmarks", "answers", "conclusions", "small_models"):
        for row in map(json.loads, _read_lines(extraction / f"blind_{name}.jsonl")):
            counts[_KINDS.get(row["type"], row["type"])] += 1
    for row in map(json.loads, _read_lines(_FILE)):
        scorer = row["scorer"].partition(":")[0]
        counts[_KINDS.get(scorer, scorer)] += 1
    tables = {
        "choice": "unanswered_choices",
        "number": "awkward_numbers",
        "maths": "awkward_maths",
        "direction": "awkward_directions",
    }
    for kind, name in tables.items():
        counts[kind] += len(_read_lines(extraction / f"{name}.tsv"))
    for kind, name in {"list": "lists", "yesno": "yes_no", "f1": "f1"}.items():
        counts[kind] += len(_read_lines(_FILE.with_name(f"awkward_{name}.tsv")))
    return counts


#: Kind of a file's row -> kind of answer.
_KINDS = {
    "class": "choice",
    "words": "list",
    "normalised": "open",
    "exact": "open",
    "contains": "open",
    "yes-no": "yesno",
}


def _read_lines(path: Path) -> list[str]:
    """The lines of a file that are neither empty nor comments."""
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line and not line.startswith("#")]


def write(target) -> str:
    return target if isinstance(target, str) else json.dumps(target, ensure_ascii=False)


def scored(spec: str, completion: str, target, question: str = "", *, truncated: bool = False) -> ScoredAnswer:
    scorer = build_scorer(spec, "scorer")
    try:
        context = CompletionContext(question=question, truncated=truncated)
        return scorer.score(completion, ScoringItem("b", "q", "default", write(target), context))
    finally:
        scorer.close()


def score_or_none(spec: str, completion: str, target, question: str = "") -> float | None:
    result = scored(spec, completion, target, question)
    return None if result.answer is None else result.score
