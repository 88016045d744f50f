"""How open answers are read by a model that was fitted to other files: `answer_ranking` with one file left out.

    python bench/open_answers.py            # figures
    python bench/open_answers.py --write    # fit to all files, and write src/howsure/extraction/answer_weights.py

The judged completions are those of `tests/extraction` and `tests/scorers`, and `open_answers.tsv`, which was written to
fit the model and is in none of the figures. For each file the model is fitted to the other ones, its weights pruned to
those of LEAST_WEIGHT or more, and fitted again. *Rules* is the reading without the model. A *false accept* is a
completion that does not give the target and is scored as right. The rules were changed for completions that had been
looked at (`looked at`, `look`, `small models`, and the traps), so these count less in the fit, by WEIGHT_LOOKED_AT.
"""

from __future__ import annotations

import ast
import csv
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from howsure.extraction.answer_ranking import Candidate, list_candidates
from howsure.extraction.answer_weights import WEIGHTS
from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.open_answers import read_by_rules
from howsure.scorers.normalised import build_normalised_scorer
from howsure.scorers.scorer_parts import ScoringItem

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS_FILE = ROOT / "src/howsure/extraction/answer_weights.py"
JUDGED = ("blind_completions", "blind_kinds", "blind_benchmarks", "blind_answers")
#: Halves of a file of which the rules had been changed for the completions.
LOOKED_AT = frozenset({"looked at", "look", "small models"})
TRAPS, CUT_OUT, WRITTEN = "awkward_answers", "test_open_candidates", "open_answers.tsv"
#: Penalty of the sum of squares, weights of completions that were looked at and of those that do not give the target
#: (a false accept costs more than an answer that is not read), and least weight and number of completions
#: of a feature that is kept.
RIDGE, WEIGHT_LOOKED_AT, WEIGHT_WRONG, LEAST_WEIGHT, LEAST_COMPLETIONS = 1.0, 0.3, 3.0, 0.25, 8
SCORE = build_normalised_scorer("normalised", "").score


class Case(NamedTuple):
    """A completion, the file and half that it is from, and its judgement: the score that it has with a target.

    The score is None where it gives no answer. `published` is the target of its question.
    """

    file: str
    half: str
    text: str
    context: CompletionContext
    target: str
    score: int | None
    published: str


class Design(NamedTuple):
    """A completion with the features of its candidates, and which of them are right."""

    case: Case
    candidates: list[Candidate]
    right: np.ndarray


def load_cases() -> Iterator[Case]:
    """Yield the judged completions of open questions."""
    for name in JUDGED:
        lines = (ROOT / f"tests/extraction/{name}.jsonl").read_text("utf-8").split("\n")
        for row in (json.loads(line) for line in lines if line):
            if row["type"] == "open":
                yield _parse_row(name, row)
    for line in (ROOT / "tests/scorers/awkward_answers.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["scorer"] == "normalised" and row["question"]:
            target = row["target"] if isinstance(row["target"], str) else json.dumps(row["target"], ensure_ascii=False)
            score = None if row["score"] is None else int(row["score"])
            yield Case(TRAPS, "", row["completion"], CompletionContext(row["question"]), target, score, target)
    tree = ast.parse((ROOT / "tests/extraction/test_open_candidates.py").read_text("utf-8"))
    for node in tree.body:
        name = getattr(node.targets[0], "id", "") if isinstance(node, ast.Assign) else ""
        if name in {"RIGHT", "WRONG"} and isinstance(node, ast.Assign):
            for question, target, text in ast.literal_eval(node.value):
                yield Case(CUT_OUT, "", text, CompletionContext(question), target, int(name == "RIGHT"), target)
    with (ROOT / "bench" / WRITTEN).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            answers = row["answers"].split("|") if row["answers"] else []
            target = json.dumps(answers or ["no answer"], ensure_ascii=False)
            text = row["completion"].replace("\\n", "\n")
            yield Case(WRITTEN, "", text, CompletionContext(row["question"]), target, 1 if answers else None, target)


def _parse_row(name: str, row: dict[str, Any]) -> Case:
    """Return a row of a file of judged completions."""
    context = CompletionContext(
        row["question"], (), row.get("truncated", False), tuple(row.get("stops", ())), row.get("language", "")
    )
    half = f"{row.get('half') or ''}{', awkward' if row.get('awkward') else ''}"
    if row.get("right") is not None:
        return Case(name, half, row["text"], context, row["target"], int(row["right"]), row["target"])
    if row["reads"] is None:
        return Case(name, half, row["text"], context, row["target"], None, row["target"])
    return Case(name, half, row["text"], context, row["reads"], 1, row["target"])


def is_right(text: str | None, case: Case) -> bool:
    """Return whether an answer has the target of a case, as the scorer compares them."""
    if text is None:
        return False
    item = ScoringItem("b", "q", "v", case.target, CompletionContext(case.context.question))
    return SCORE(f"<answer>{text}</answer>", item).score == 1


def build_design(case: Case) -> Design | None:
    """Return the candidates of a case and which are right; None where the model has no say."""
    reading = read_by_rules(case.text, case.context)
    if not reading.sentences or not case.context.question:
        return None
    candidates = list_candidates(reading.answer, reading.rule, reading.sentences, case.context.question)
    matches = np.array([is_right(candidate.text, case) for candidate in candidates])
    if case.score is None:
        right = np.array([candidate.text is None for candidate in candidates])
    else:
        right = matches if case.score else ~matches
    return Design(case, candidates, right)


def weigh(case: Case) -> float:
    """Return how much a completion counts in the fit."""
    if case.score == 0:
        return WEIGHT_WRONG
    is_looked_at = case.half.split(",")[0] in LOOKED_AT or case.file in {TRAPS, CUT_OUT}
    return WEIGHT_LOOKED_AT if is_looked_at else 1.0


def fit_weights(designs: Sequence[Design]) -> dict[str, float]:
    """Return the weights of the features, fitted twice: to all, and to those that are kept."""
    used = [design for design in designs if design.right.any() and not design.right.all()]
    counts: dict[str, int] = {}
    for design in used:
        for name in {name for each in design.candidates for name, value in each.features.items() if value}:
            counts[name] = counts.get(name, 0) + 1
    names = sorted(name for name, count in counts.items() if count >= LEAST_COMPLETIONS)
    weights = _fit(used, names)
    return _fit(used, [name for name in names if abs(weights[name]) >= LEAST_WEIGHT])


def _fit(designs: Sequence[Design], names: Sequence[str]) -> dict[str, float]:
    """Return the weights that maximise the penalised likelihood of the right candidates of each completion."""
    place = {name: i for i, name in enumerate(names)}
    sizes = np.array([len(design.candidates) for design in designs])
    x = np.zeros((sizes.sum(), len(names)))
    features = (each.features for design in designs for each in design.candidates)
    for row, values in zip(x, features, strict=True):
        for name, value in values.items():
            if name in place:
                row[place[name]] = value
    right = np.concatenate([design.right for design in designs]).astype(float)
    starts, group = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(designs)), sizes)
    counts = np.array([weigh(design.case) for design in designs])

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        scores = x @ beta
        masses = np.exp(scores - np.maximum.reduceat(scores, starts)[group])
        total = np.add.reduceat(masses, starts)
        hits = np.add.reduceat(masses * right, starts) + 1e-300
        slope = counts[group] * (masses / total[group] - masses * right / hits[group])
        return float(RIDGE * beta @ beta / 2 - counts @ np.log(hits / total)), x.T @ slope + RIDGE * beta

    fit = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", options={"maxiter": 400})
    return dict(zip(names, fit.x.tolist(), strict=True))


def judge(case: Case) -> tuple[bool, bool]:
    """Return whether the score of a completion is what the person says, and whether it is a false accept."""
    item = ScoringItem("b", "q", "v", case.target, case.context)
    scored = SCORE(case.text, item)
    is_as_person = scored.answer is None if case.score is None else scored.score == case.score
    if case.published != case.target or case.score is None:
        wrong = ScoringItem("b", "q", "v", case.published, case.context)
        accepts = SCORE(case.text, wrong).score == 1 and not is_right(case.target, case._replace(target=case.published))
    else:
        accepts = case.score == 0 and scored.score == 1
    return is_as_person, accepts


def judge_with(weights: dict[str, float] | None, cases: Sequence[Case]) -> list[tuple[bool, bool]]:
    """Return the judgements of completions that are read with weights; None: by the rules only."""
    own = dict(WEIGHTS)
    try:
        WEIGHTS.clear()
        # With this weight what the rules read is chosen always, also where it is nothing.
        WEIGHTS.update(weights if weights is not None else {"reading": 1e3, "none": 5e2})
        return [judge(case) for case in cases]
    finally:
        WEIGHTS.clear()
        WEIGHTS.update(own)


def is_wrong_reply(case: Case) -> bool:
    """Return whether a completion does not give the target of its question."""
    return case.score != 1 or (
        case.published != case.target and not is_right(case.target, case._replace(target=case.published))
    )


def write_weights(weights: dict[str, float]) -> None:
    """Write the table of weights."""
    head = WEIGHTS_FILE.read_text("utf-8").split("WEIGHTS: ")[0]
    rows = "".join(
        f"    {json.dumps(name, ensure_ascii=False)}: {value:.2f},\n" for name, value in sorted(weights.items())
    )
    WEIGHTS_FILE.write_text(f"{head}WEIGHTS: dict[str, float] = {{\n{rows}}}\n", "utf-8")


def main(arguments: Sequence[str]) -> None:
    """Print the figures, or write the weights."""
    cases = list(load_cases())
    designs = [design for case in cases if (design := build_design(case)) is not None]
    if "--write" in arguments:
        weights = fit_weights(designs)
        write_weights(weights)
        print(f"{len(weights)} weights fitted to {len(designs)} completions")
        return
    rows: dict[tuple[str, str], list[tuple[bool, bool, bool, bool, bool]]] = {}
    for file in dict.fromkeys(case.file for case in cases):
        left_out = [case for case in cases if case.file == file]
        weights = fit_weights([design for design in designs if design.case.file != file])
        ruled, read = judge_with(None, left_out), judge_with(weights, left_out)
        for case, (rule_right, rule_accepts), (right, accepts) in zip(left_out, ruled, read, strict=True):
            row = (rule_right, right, rule_accepts, accepts, is_wrong_reply(case))
            rows.setdefault((case.file, case.half), []).append(row)
            if "--list" in arguments and (accepts or not right):
                lost = "false accept" if accepts else "not read before" if not rule_right else "read before"
                text = " ".join(case.text.split())
                print(lost, case.file, case.context.question[-80:], case.target, case.score, text[-200:], sep=" | ")
    print(f"{'left out':42} {'n':>5} {'rules':>6} {'model':>6} {'wrong replies':>14} {'false accepts':>14}")
    total = np.zeros(5, dtype=int)
    for (file, half), each in rows.items():
        counts = np.array(each).sum(axis=0)
        print(f"{file + ' ' + half:42} {len(each):5} {counts[0]:6} {counts[1]:6} {counts[4]:14} {counts[3]:14}")
        if file != WRITTEN:
            total += [len(each), counts[0], counts[1], counts[4], counts[3]]
    print(f"{'all but ' + WRITTEN:42} {total[0]:5} {total[1]:6} {total[2]:6} {total[3]:14} {total[4]:14}")


if __name__ == "__main__":
    main(sys.argv[1:])
