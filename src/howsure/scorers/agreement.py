"""How far a scorer's scores agree with those that were there: the harness's own, or ours before a rule was mended.

agreement   share of rows with both scores on which they are equal; the interval is Wilson's, and where questions
            have several rows, Wilson's for as many independent rows as the spread over questions leaves
kappa       (agreement - chance)/(1 - chance), chance from the two margins (Cohen 1960); scores of 0 and 1
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.intervals import interval
from howsure.stats.core.results import Columns, Result, notes
from howsure.stats.scores import wilson
from howsure.store.scores import Rescored

__all__ = ["Agreement", "Disagreement", "Disagreements", "Tally"]

#: Scores closer than this are equal.
EQUAL = 1e-9
#: Characters of a completion that an example shows, from its start and from its end.
SHOWN = 60
#: Different reasons for missing rows that the notes tell.
FAULTS = 20


class Disagreement(NamedTuple):
    """One row that the two score differently."""

    model: str
    question: str
    variant: str
    generation: int
    kind: str
    their_score: float
    our_score: float
    their_answer: str
    our_answer: str
    rule: str
    """How ours was read, or why it was not."""
    target: str
    completion: str
    """Its start and its end."""


@dataclass(frozen=True)
class Disagreements(Result):
    """Some of the rows of a benchmark that two scorers score differently, the first of each kind and model."""

    benchmark: str
    examples: tuple[Disagreement, ...] = field(repr=False)

    def columns(self) -> Columns:
        """One row per example."""
        each = {name: [getattr(example, name) for example in self.examples] for name in Disagreement._fields}
        numbers = {"generation": np.int64, "their_score": np.float64, "our_score": np.float64}
        found: Columns = {"benchmark": np.full(len(self.examples), self.benchmark, dtype=object)}
        return found | {name: np.array(values, dtype=numbers.get(name, object)) for name, values in each.items()}


@dataclass(frozen=True, eq=False)
class Agreement(Result):
    """One scorer beside the scores that were there, on one benchmark; arrays have shape (M,).

    Attributes
    ----------
    scorer
        NAME@VERSION of ours.
    n_scored, n_unread, n_missing
        Rows with a score of ours; those of them without an answer, which score 0; rows without a score of ours.
    n_both, n_agree, only_ours, only_theirs
        Rows with both scores; with equal ones; where ours is the larger, and the smaller: of scores of 0 and 1, where
        only ours is right, and only theirs.
    """

    benchmark: str
    models: tuple[str, ...]
    scorer: str
    n_scored: IntArray
    n_unread: IntArray
    n_missing: IntArray
    n_both: IntArray
    n_agree: IntArray
    agreement: FloatArray
    low: FloatArray
    high: FloatArray
    only_ours: IntArray
    only_theirs: IntArray
    kappa: FloatArray
    faults: tuple[str, ...]
    """Of each model the first reason why a row has no score of ours; empty where there is none."""
    disagreements: Disagreements = field(repr=False)
    level: float = 0.95

    def columns(self) -> Columns:
        """One row per model."""
        rows = len(self.models)
        return {
            "benchmark": np.full(rows, self.benchmark, dtype=object),
            "model": np.array(self.models, dtype=object),
            "scorer": np.full(rows, self.scorer, dtype=object),
            "n_scored": self.n_scored,
            "n_unread": self.n_unread,
            "n_missing": self.n_missing,
            "n_both": self.n_both,
            "n_agree": self.n_agree,
            "agreement": self.agreement,
            "low": self.low,
            "high": self.high,
            "only_ours": self.only_ours,
            "only_theirs": self.only_theirs,
            "kappa": self.kappa,
            "level": np.full(rows, self.level),
            "note": notes(
                {
                    "nothing was scored before, so there is nothing to agree with": (self.n_both == 0)
                    & (self.n_scored > 0),
                    "one question with several rows: no interval": (self.n_both > 0) & np.isnan(self.low),
                    "kappa is for scores of 0 and 1, of which both occur": (self.n_both > 0) & np.isnan(self.kappa),
                    **{
                        f"rows are missing, the first: {fault.replace(';', ',')}": np.array(self.faults) == fault
                        for fault in list(dict.fromkeys(filter(None, self.faults)))[:FAULTS]
                    },
                }
            ),
        }


class Tally:
    """Counts of one benchmark and model, row by row; the rows of a question come together."""

    def __init__(self, examples: int) -> None:
        self.counts: Counter[str] = Counter()
        self.fault = ""
        self.examples: list[Disagreement] = []
        self._most, self._kinds = examples, Counter[str]()
        self._pairs: Counter[tuple[float, float]] = Counter()
        self._question, self._n, self._agree = "", 0, 0
        self._sums = np.zeros(4)  # questions, and over them n^2, n a and a^2

    def add(self, ours: Rescored, theirs: float | None, answer: str | None, target: str, completion: str) -> None:
        """Count one row: what we say, their score and answer, and what an example of it shows."""
        if ours.score is None:
            self.counts["missing"] += 1
            self.fault = self.fault or ours.error or "no completion is kept"
            return
        self.counts["scored"] += 1
        self.counts["unread"] += ours.answer is None
        if theirs is None:
            return
        if ours.question != self._question:
            self._close()
            self._question = ours.question
        agree = abs(ours.score - theirs) < EQUAL
        self._n, self._agree = self._n + 1, self._agree + agree
        if {ours.score, theirs} <= {0.0, 1.0}:
            self._pairs[ours.score, theirs] += 1
        self.counts["both"] += 1
        if agree:
            self.counts["agree"] += 1
            return
        kind = "only ours" if ours.score > theirs else "only theirs, unread" if ours.answer is None else "only theirs"
        self.counts[kind.partition(",")[0]] += 1
        self._kinds[kind] += 1
        if self._kinds[kind] <= self._most:
            place = (ours.model, ours.question, ours.variant, ours.generation)
            told = (answer or "", ours.answer or "", ours.rule or "", _line(target), _line(completion))
            self.examples.append(Disagreement(*place, kind, theirs, ours.score, *told))

    def _close(self) -> None:
        n, a = self._n, self._agree
        if n:
            self._sums += (1, n * n, n * a, a * a)
        self._n = self._agree = 0

    def kappa(self) -> float:
        """Cohen's, NaN where a score is neither 0 nor 1 or where chance alone would agree."""
        total = self.counts["both"]
        if not total or self._pairs.total() < total:
            return math.nan
        ours, theirs = (sum(n for pair, n in self._pairs.items() if pair[i] == 1) / total for i in (0, 1))
        chance = ours * theirs + (1 - ours) * (1 - theirs)
        return (self.counts["agree"] / total - chance) / (1 - chance) if chance < 1 else math.nan

    def interval(self, level: float) -> tuple[float, float]:
        """Interval of the agreement; NaN where there is none."""
        self._close()
        questions, nn, na, aa = self._sums.tolist()
        total, agree = self.counts["both"], self.counts["agree"]
        if not total:
            return math.nan, math.nan
        if questions == total:
            low, high = wilson([agree], [total], level)
            return float(low[0]), float(high[0])
        # Of the ratio sum a / sum n over questions: sum (a - p n)^2 / (sum n)^2.
        p = agree / total
        se = math.sqrt(max(aa - 2 * p * na + p * p * nn, 0.0)) / total
        found = interval(p, se, questions, level=level, method="wilson-effective", bounds=(0.0, 1.0))
        return float(found.low), float(found.high)


def _line(text: str) -> str:
    """The start and the end of a text, on one line."""
    text = (
        " ".join(text[: 4 * SHOWN].split()) if len(text) <= 4 * SHOWN else f"{text[: 2 * SHOWN]}…{text[-2 * SHOWN :]}"
    )
    text = " ".join(text.split())
    return text if len(text) <= 2 * SHOWN else f"{text[:SHOWN]} … {text[-SHOWN:]}"


def agreement(benchmark: str, scorer: str, tallies: dict[str, Tally], *, level: float = 0.95) -> Agreement:
    """The result of one benchmark from the tallies of its models."""
    each = list(tallies.values())

    def counted(name: str) -> IntArray:
        return np.array([tally.counts[name] for tally in each], dtype=np.int64)

    both, agree = counted("both"), counted("agree")
    bounds = np.array([tally.interval(level) for tally in each]).reshape(len(each), 2)
    with np.errstate(invalid="ignore"):
        share = agree / np.where(both > 0, both, np.nan)
    examples = tuple(example for tally in each for example in tally.examples)
    return Agreement(
        benchmark,
        tuple(tallies),
        scorer,
        counted("scored"),
        counted("unread"),
        counted("missing"),
        both,
        agree,
        share,
        bounds[:, 0],
        bounds[:, 1],
        counted("only ours"),
        counted("only theirs"),
        np.array([tally.kappa() for tally in each]),
        tuple(tally.fault for tally in each),
        Disagreements(benchmark, examples),
        level,
    )
