"""Completions that were written, and judged by hand, before the scorers of open answers; null is no answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


def read_table(path: Path, columns: int):
    """The lines of a table with tabs as parameters; a further column is why a line is not yet read as a person reads it."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return [
        pytest.param(
            *row[:columns], marks=[pytest.mark.xfail(strict=True, reason=row[columns])] if row[columns:] else []
        )
        for row in rows
    ]


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
