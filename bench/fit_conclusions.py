"""Fit the model of the choice that a completion concludes with, and print how it reads completions that were left out.

The model is `howsure.extraction.choice_conclusion`. It is fitted on all judged completions of the type choice that no
rule reads, in `tests/extraction/*.jsonl` and in the data folder beside the clone: a conditional logit with a penalty on
the squares of its weights. Every completion is read by weights that were fitted without it, once without all questions
of its tenth of the questions, and once without its whole file. The threshold is the smallest one from which on at least
98 % of 50 or more choices so read are right, in both readings together. `--write` writes the weights and the threshold,
`--list` prints the completions that are misread above it.
"""

from __future__ import annotations

import datetime as dt
import json
import string
import sys
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from completions import CHOICES, DATA, PARSERS, WORDS, load, load_judgements
from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.conclusion_features import (
    CHOICE_FEATURES,
    TEXT_FEATURES,
    ConclusionFeatures,
    describe_conclusion,
)
from howsure.extraction.multiple_choice import read_by_rules

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "extraction"
WEIGHTS = ROOT / "src" / "howsure" / "extraction" / "conclusion_weights.toml"
#: Penalty on half the sum of the squares of the weights.
PENALTY = 0.3
#: Parts of the questions that are left out in turn, and the share of the choices read that must be right.
FOLDS, LEAST_RIGHT = 10, 0.98
#: Choices that are read by a threshold that is judged: of fewer, one that is wrong is more than a share of .02.
FEWEST_READ = 50
COMPASS = ["North", "South", "East", "West"]
#: Files that are never fitted, so that their first readings say how new completions are read.
NEVER_FITTED = {"blind_conclusions.jsonl", "blind_small_models.jsonl"}
Array = NDArray[np.float64]


class Case(NamedTuple):
    """A judged completion, where it stands, and the index of the choice that it gives; None if it gives none."""

    file: str
    name: str
    text: str
    labels: tuple[str, ...]
    expects_label: bool
    context: CompletionContext
    truth: int | None


class Candidate(NamedTuple):
    """A judged completion whose conclusion is weighed, and its features."""

    case: Case
    features: ConclusionFeatures


def load_cases() -> list[Case]:
    """The judged completions of the type choice of the tests, and those of the data folder if it is there."""
    cases = [
        case
        for path in sorted(TESTS.glob("*.jsonl"))
        if path.name not in NEVER_FITTED
        for i, line in enumerate(path.read_text("utf-8").splitlines())
        if (case := parse_case(path.name, i, json.loads(line))) is not None
    ]
    return cases + (load_shared() if DATA.exists() else [])


def parse_case(file: str, number: int, row: dict[str, Any]) -> Case | None:
    """The judged completion of a line of the tests; None if it is of another type."""
    choices = row.get("choices") or row.get("options", [])
    is_class = row.get("type") == "class"
    if row.get("type", "choice") not in {"choice", "class"} or (is_class and choices == COMPASS):
        return None
    labels = tuple(row.get("labels") or string.ascii_uppercase[: len(choices)])
    answer = row["answer"] if "answer" in row else row["reads"] or None
    truth = None if answer is None else (choices if is_class else labels).index(answer)
    context = CompletionContext(
        row.get("question", ""),
        tuple(choices),
        row.get("truncated", False),
        tuple(row.get("stops", ())),
        row.get("language", ""),
    )
    return Case(file, str(row.get("id", number)), row["text"], labels, not is_class, context, truth)


def load_shared() -> list[Case]:
    """The real completions of choices with their judgements."""
    judgements = load_judgements()
    cases = []
    for kind, stop in (CHOICES | WORDS).items():
        parse = PARSERS["choice" if kind in CHOICES else "words"]
        for row in load(kind):
            key = (kind, row["model"], row["id"])
            answer = parse(judgements[key]) if key in judgements else parse(row.get("harness"))
            labels = tuple(string.ascii_uppercase[: len(row["choices"])])
            names = list(labels) if kind in CHOICES else [choice.lower() for choice in row["choices"]]
            if not names or set(names) == {"yes", "no"}:
                continue
            context = CompletionContext(row["text"], tuple(row["choices"]), stops=(stop,) if stop else ())
            truth = names.index(answer) if answer in names else None
            name = f"{row['model']} {row['id']}"
            cases.append(Case(kind, name, row["completion"], labels, kind in CHOICES, context, truth))
    return cases


def find_unread(cases: list[Case]) -> tuple[list[Case], list[Candidate]]:
    """The completions that no rule reads and that are not cut, and those of them that have a conclusion to weigh."""
    unread, candidates = [], []
    for case in cases:
        question, choices = case.context.question, case.context.choices
        reading = read_by_rules(case.text, case.labels, choices, expects_label=case.expects_label, context=case.context)
        if reading.unread and question.strip():
            unread.append(case)
            features = describe_conclusion(reading.unread, reading.words, question)
            candidates += [] if features is None else [Candidate(case, features)]
    return unread, candidates


class Design(NamedTuple):
    """Features as arrays: of choices (completions x choices x features), of texts, and the alternatives taken."""

    choices: Array
    exists: NDArray[np.bool_]
    texts: Array
    taken: NDArray[np.intp]

    def select(self, rows: NDArray[np.bool_]) -> Design:
        """The design of some completions."""
        return Design(self.choices[rows], self.exists[rows], self.texts[rows], self.taken[rows])


def build_design(candidates: list[Candidate]) -> Design:
    """The features of completions as arrays; the last alternative is to give no choice."""
    count, most = len(candidates), max(len(one.features.choices) for one in candidates)
    choices, exists = np.zeros((count, most, len(CHOICE_FEATURES))), np.zeros((count, most), dtype=bool)
    for i, (_, features) in enumerate(candidates):
        choices[i, : len(features.choices)] = [list(row.values()) for row in features.choices]
        exists[i, : len(features.choices)] = True
    texts = np.array([list(one.features.text.values()) for one in candidates])
    taken = np.array([most if one.case.truth is None else one.case.truth for one in candidates])
    return Design(choices, exists, texts, taken)


def predict(weights: Array, design: Design) -> Array:
    """The probabilities of all alternatives (completions x choices + 1)."""
    split = design.choices.shape[2]
    scores = np.where(design.exists, design.choices @ weights[:split], -np.inf)
    scores = np.column_stack([scores, design.texts @ weights[split:]])
    likelihoods = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(likelihoods / likelihoods.sum(axis=1, keepdims=True))


def fit(design: Design) -> Array:
    """The weights that maximize the penalized likelihood."""
    rows = np.arange(len(design.taken))

    def objective(weights: Array) -> tuple[float, Array]:
        probabilities = predict(weights, design)
        loss = -np.log(probabilities[rows, design.taken]).sum() + PENALTY * weights @ weights / 2
        probabilities[rows, design.taken] -= 1
        of_choices = np.einsum("nk,nkp->p", probabilities[:, :-1], design.choices)
        return loss, np.concatenate([of_choices, probabilities[:, -1] @ design.texts]) + PENALTY * weights

    start = np.zeros(design.choices.shape[2] + design.texts.shape[1])
    return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B").x)


class LeftOut(NamedTuple):
    """Of each completion the choice with the largest probability, by weights that were fitted without it."""

    likely: NDArray[np.intp]
    probability: Array


def read_left_out(candidates: list[Candidate], groups: NDArray[Any]) -> LeftOut:
    """The readings of completions by weights of the other groups."""
    design = build_design(candidates)
    likely, probability = np.zeros(len(candidates), dtype=np.intp), np.zeros(len(candidates))
    for group in np.unique(groups):
        is_out = groups == group
        probabilities = predict(fit(design.select(~is_out)), design.select(is_out))[:, :-1]
        likely[is_out], probability[is_out] = probabilities.argmax(axis=1), probabilities.max(axis=1)
    return LeftOut(likely, probability)


def find_threshold(candidates: list[Candidate], readings: list[LeftOut]) -> float:
    """The smallest threshold from which on enough of the choices read are right, 1 if too few are read to say so.

    Where so few are read that a single wrong one is more than the share that may be wrong, a threshold is not judged:
    those choices count in the share of the lower thresholds, which read them too.
    """
    is_right = np.concatenate([mark_right(candidates, reading) for reading in readings])
    probability = np.concatenate([reading.probability for reading in readings])
    threshold = 1.0
    for percent in range(99, 49, -1):
        is_read = probability >= percent / 100
        if is_read.sum() < FEWEST_READ:
            continue
        if is_right[is_read].mean() < LEAST_RIGHT:
            break
        threshold = percent / 100
    return threshold


def mark_right(candidates: list[Candidate], reading: LeftOut) -> NDArray[np.bool_]:
    """Whether the choice with the largest probability is the one that each completion gives."""
    return np.array([one.case.truth == place for one, place in zip(candidates, reading.likely, strict=True)])


def print_left_out(
    cases: list[Case], unread: list[Case], candidates: list[Candidate], reading: LeftOut, threshold: float
) -> None:
    """Print by file how many completions are read above the threshold."""
    is_read, is_right = reading.probability >= threshold, mark_right(candidates, reading)
    print(f"{'file':<26}{'all':>6}{'answer':>8}{'none':>6}{'read':>6}{'right':>7}{'other':>7}{'none':>6}")
    for file in [*dict.fromkeys(case.file for case in unread), ""]:
        rows = np.array([one.case.file == file or not file for one in candidates])
        has_answer = np.array([one.case.truth is not None for one in candidates])
        truths = [case.truth is not None for case in unread if case.file == file or not file]
        read = rows & is_read
        print(
            f"{file or 'all':<26}{sum(case.file == file or not file for case in cases):>6}"
            f"{sum(truths):>8}{truths.count(False):>6}{sum(read):>6}{sum(read & is_right):>7}"
            f"{sum(read & has_answer & ~is_right):>7}{sum(read & ~has_answer):>6}"
        )
    if "--list" in sys.argv:
        for one, place, chance, wrong in zip(candidates, *reading, is_read & ~is_right, strict=True):
            if wrong:
                print(f"    {one.case.file} {one.case.name}: {place} at {chance:.2f}, not {one.case.truth}")


def write_weights(weights: Array, threshold: float, count: int) -> None:
    """Write the table of weights."""
    lines = [
        "# Weights of the model of the choice that a completion concludes with; written by the command below.",
        'command = "python bench/fit_conclusions.py --write"',
        f"date = {dt.datetime.now(dt.UTC).date()}",
        f"completions = {count}",
        f"penalty = {PENALTY}",
        f"threshold = {threshold:.2f}",
    ]
    values = iter(weights)
    for part, names in (("choice", CHOICE_FEATURES), ("text", TEXT_FEATURES)):
        lines += ["", f"[{part}]", *(f"{name} = {next(values):.3f}" for name in names)]
    WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Print the left-out readings, and write the weights if asked to."""
    cases = load_cases()
    unread, candidates = find_unread(cases)
    questions = np.array([zlib.crc32(one.case.context.question.strip().encode()) % FOLDS for one in candidates])
    files = np.array([one.case.file for one in candidates])
    readings = [read_left_out(candidates, groups) for groups in (questions, files)]
    threshold = find_threshold(candidates, readings)
    print(
        f"{len(cases)} completions, {len(unread)} that no rule reads, {len(candidates)} weighed; "
        f"threshold {threshold:.2f}"
    )
    for name, reading in zip(("a tenth of the questions", "a file"), readings, strict=True):
        print(f"\nleft out: {name}")
        print_left_out(cases, unread, candidates, reading, threshold)
    if "--write" in sys.argv:
        write_weights(fit(build_design(candidates)), threshold, len(candidates))


if __name__ == "__main__":
    main()
