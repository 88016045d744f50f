"""Agreement of the scores of a scorer with those of the run: of the harness, or of an earlier version of the rules.

agreement   share of the rows with both scores on which they are equal. Its interval is Wilson's; where questions have
            several rows, it is Wilson's for the effective number of rows that the variance over questions leaves
kappa       (agreement - chance)/(1 - chance), with chance from the two margins (Cohen 1960), for scores of 0 and 1
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.intervals import interval
from howsure.stats.core.results import Columns, Result, Results, notes
from howsure.stats.scores import wilson
from howsure.store.scorer_files import RescoredRow

__all__ = ["Agreement", "AgreementCounter", "Agreements", "Disagreement", "Disagreements", "build_agreement"]

#: Largest difference of two scores that count as equal.
TOLERANCE = 1e-9
#: Number of characters of a completion in an example, from its start and again from its end.
EXCERPT = 60
#: Largest number of reasons for missing rows in the notes.
MAX_REASONS = 20
#: Columns that compare the scores of two scorers.
_COMPARING = frozenset(
    {
        *("n_both", "n_agree", "agreement", "agreement_low", "agreement_high"),
        *("only_ours", "only_theirs", "kappa", "level"),
    }
)


class Disagreement(NamedTuple):
    """One row with two different scores.

    Examples
    --------
    >>> counter = AgreementCounter(examples=5)
    >>> row = RescoredRow("sums", "m", "q1", "default", 1, score=1.0, answer="4", rule="number")
    >>> counter.add(row, 0.0, "5", "4", "So 4, not 5.")
    >>> counter.examples[0].kind, counter.examples[0].their_answer
    ('only ours', '5')
    """

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
    """The rule by which our answer was read, or the reason why none was read."""
    target: str
    completion: str
    """Start and end of the completion."""


@dataclass(frozen=True)
class Disagreements(Result):
    """Examples of rows that two scorers score differently: the first ones of each kind and model of a benchmark.

    Examples
    --------
    >>> Disagreements("sums", ()).columns()["model"].tolist()
    []
    """

    benchmark: str
    examples: tuple[Disagreement, ...] = field(repr=False)

    def columns(self) -> Columns:
        """Return the columns by name, with one row per example."""
        types = {"generation": np.int64, "their_score": np.float64, "our_score": np.float64}
        columns: Columns = {"benchmark": np.full(len(self.examples), self.benchmark, dtype=object)}
        for name in Disagreement._fields:
            values = [getattr(example, name) for example in self.examples]
            columns[name] = np.array(values, dtype=types.get(name, object))
        return columns


@dataclass(frozen=True, eq=False)
class Agreement(Result):
    """Agreement of a scorer with the scores of the run on one benchmark; arrays have shape (M,).

    Attributes
    ----------
    scorer
        NAME@VERSION of our scorer.
    n_scored, n_unread, n_missing
        Number of rows with a score of ours; of those without an answer among them, which score 0; of rows without a
        score of ours.
    mean_score
        Mean of our scores over the rows, shape (M,); NaN without any. `howsure.score` has the errors of it.
    low, high
        Limits of the interval of `agreement`; their columns are `agreement_low` and `agreement_high`, because `low` and
        `high` are those of a score elsewhere.
    n_both, n_agree, only_ours, only_theirs
        Number of rows with both scores; with equal scores; with a larger score of ours; with a smaller one. For scores
        of 0 and 1 the last two are the rows where only ours is right, and only theirs.

    Examples
    --------
    >>> counter = AgreementCounter(examples=5)
    >>> row = RescoredRow("sums", "m", "q1", "default", 1, score=1.0, answer="4", rule="number")
    >>> counter.add(row, 1.0, "4", "4", "So 4.")
    >>> build_agreement("sums", "numeric@1", {"m": counter}).agreement.tolist()
    [1.0]
    """

    benchmark: str
    models: tuple[str, ...]
    scorer: str
    n_scored: IntArray
    n_unread: IntArray
    n_missing: IntArray
    mean_score: FloatArray
    n_both: IntArray
    n_agree: IntArray
    agreement: FloatArray
    low: FloatArray
    high: FloatArray
    only_ours: IntArray
    only_theirs: IntArray
    kappa: FloatArray
    reasons: tuple[str, ...]
    """The question of the first row of each model without a score of ours, and the reason; empty where all have one."""
    disagreements: Disagreements = field(repr=False)
    level: float = 0.95

    def columns(self) -> Columns:
        """Return the columns by name, with one row per model."""
        rows = len(self.models)
        return {
            "benchmark": np.full(rows, self.benchmark, dtype=object),
            "model": np.array(self.models, dtype=object),
            "scorer": np.full(rows, self.scorer, dtype=object),
            "n_scored": self.n_scored,
            "n_unread": self.n_unread,
            "n_missing": self.n_missing,
            "mean_score": self.mean_score,
            "n_both": self.n_both,
            "n_agree": self.n_agree,
            "agreement": self.agreement,
            "agreement_low": self.low,
            "agreement_high": self.high,
            "only_ours": self.only_ours,
            "only_theirs": self.only_theirs,
            "kappa": self.kappa,
            "level": np.full(rows, self.level),
            "note": notes(
                {
                    "no row was scored before, so there is no agreement": (self.n_both == 0) & (self.n_scored > 0),
                    "one question with several rows: no interval": (self.n_both > 0) & np.isnan(self.low),
                    "kappa is for scores of 0 and 1, of which both occur": (self.n_both > 0) & np.isnan(self.kappa),
                    **{
                        f"rows are missing, the first {reason.replace(';', ',')}": np.array(self.reasons) == reason
                        for reason in list(dict.fromkeys(filter(None, self.reasons)))[:MAX_REASONS]
                    },
                }
            ),
        }


@dataclass(frozen=True)
class Agreements(Results):
    """The agreement on several benchmarks; the printed table compares nothing where nothing had a score before.

    Examples
    --------
    >>> counter = AgreementCounter(examples=5)
    >>> counter.add(RescoredRow("sums", "m", "q1", "default", 1, score=1.0, answer="4"), None, None, "4", "So 4.")
    >>> print(Agreements((build_agreement("sums", "numeric@1", {"m": counter}),)))
    benchmark   sums
    model       m
    scorer      numeric@1
    n_scored    1
    n_unread    0
    n_missing   0
    mean_score  1.0000
    no row was scored before, so there is no agreement
    """

    def text_columns(self) -> Columns:
        """Return the columns of the printed table: without those of a comparison where nothing was scored before."""
        columns = self._columns
        if not columns["n_both"].any():
            columns = {name: values for name, values in columns.items() if name not in _COMPARING}
        return columns


class AgreementCounter:
    """Counts of one benchmark and model, row by row; the rows of a question must come together.

    Examples
    --------
    >>> counter = AgreementCounter(examples=5)
    >>> row = RescoredRow("sums", "m", "q1", "default", 1, score=1.0, answer="4", rule="number")
    >>> counter.add(row, 0.0, "5", "4", "So 4, not 5.")
    >>> counter.counts["both"], counter.counts["only ours"]
    (1, 1)
    """

    def __init__(self, examples: int) -> None:
        self.counts: Counter[str] = Counter()
        self.total = 0.0
        self.reason = ""
        self.examples: list[Disagreement] = []
        self._max_examples, self._kinds = examples, Counter[str]()
        self._pairs: Counter[tuple[float, float]] = Counter()
        self._question, self._n, self._n_agree = "", 0, 0
        # Sums over questions of 1, n^2, n a and a^2 for n rows, of which a agree.
        self._sums = np.zeros(4)

    def add(
        self, ours: RescoredRow, their_score: float | None, answer: str | None, target: str, completion: str
    ) -> None:
        """Count one row; answer, target and completion are those of the run, for the examples."""
        if ours.score is None:
            self.counts["missing"] += 1
            self.reason = self.reason or f"of question {ours.question}: {ours.error or 'no completion is kept'}"
            return
        self.counts["scored"] += 1
        self.total += ours.score
        self.counts["unread"] += ours.answer is None
        if their_score is None:
            return
        if ours.question != self._question:
            self._end_question()
            self._question = ours.question
        agree = abs(ours.score - their_score) < TOLERANCE
        self._n, self._n_agree = self._n + 1, self._n_agree + agree
        if {ours.score, their_score} <= {0.0, 1.0}:
            self._pairs[ours.score, their_score] += 1
        self.counts["both"] += 1
        if agree:
            self.counts["agree"] += 1
            return
        larger = ours.score > their_score
        kind = "only ours" if larger else "only theirs, unread" if ours.answer is None else "only theirs"
        self.counts[kind.partition(",")[0]] += 1
        self._kinds[kind] += 1
        if self._kinds[kind] <= self._max_examples:
            self.examples.append(
                Disagreement(
                    *(ours.model, ours.question, ours.variant, ours.generation, kind, their_score, ours.score),
                    *(answer or "", ours.answer or "", ours.rule or "", _excerpt(target), _excerpt(completion)),
                )
            )

    def _end_question(self) -> None:
        """Add the counts of the last question to the sums."""
        n, a = self._n, self._n_agree
        if n:
            self._sums += (1, n * n, n * a, a * a)
        self._n = self._n_agree = 0

    def kappa(self) -> float:
        """Return Cohen's kappa; NaN where a score is neither 0 nor 1 or where chance alone would agree."""
        total = self.counts["both"]
        if not total or self._pairs.total() < total:
            return math.nan
        ours, theirs = (sum(n for pair, n in self._pairs.items() if pair[i] == 1) for i in (0, 1))
        # Whole numbers, so that a kappa of 0 is exactly 0.
        chance = ours * theirs + (total - ours) * (total - theirs)
        rest = total * total - chance
        return (self.counts["agree"] * total - chance) / rest if rest else math.nan

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval of the agreement; NaN if it cannot be computed."""
        self._end_question()
        questions, nn, na, aa = self._sums.tolist()
        total, agree = self.counts["both"], self.counts["agree"]
        if not total:
            return math.nan, math.nan
        if questions == total:
            low, high = wilson([agree], [total], level)
            return float(low[0]), float(high[0])
        # Variance of the ratio sum a / sum n over questions: sum (a - p n)^2 / (sum n)^2.
        p = agree / total
        se = math.sqrt(max(aa - 2 * p * na + p * p * nn, 0.0)) / total
        limits = interval(p, se, questions, level=level, method="wilson-effective", bounds=(0.0, 1.0))
        return float(limits.low), float(limits.high)


def _excerpt(text: str) -> str:
    """Return the start and the end of a text on one line."""
    if len(text) > 4 * EXCERPT:
        text = f"{text[: 2 * EXCERPT]}…{text[-2 * EXCERPT :]}"
    text = " ".join(text.split())
    return text if len(text) <= 2 * EXCERPT else f"{text[:EXCERPT]} … {text[-EXCERPT:]}"


def build_agreement(
    benchmark: str, scorer: str, counters: dict[str, AgreementCounter], *, level: float = 0.95
) -> Agreement:
    """Return the result of one benchmark from the counts of its models."""
    each = list(counters.values())

    def count(name: str) -> IntArray:
        return np.array([counter.counts[name] for counter in each], dtype=np.int64)

    both, agree, n_scored = count("both"), count("agree"), count("scored")
    limits = np.array([counter.interval(level) for counter in each]).reshape(len(each), 2)
    with np.errstate(invalid="ignore"):
        share = agree / np.where(both > 0, both, np.nan)
        mean = np.array([counter.total for counter in each]) / np.where(n_scored > 0, n_scored, np.nan)
    examples = tuple(example for counter in each for example in counter.examples)
    return Agreement(
        benchmark,
        models=tuple(counters),
        scorer=scorer,
        n_scored=n_scored,
        n_unread=count("unread"),
        n_missing=count("missing"),
        mean_score=mean,
        n_both=both,
        n_agree=agree,
        agreement=share,
        low=limits[:, 0],
        high=limits[:, 1],
        only_ours=count("only ours"),
        only_theirs=count("only theirs"),
        kappa=np.array([counter.kappa() for counter in each]),
        reasons=tuple(counter.reason for counter in each),
        disagreements=Disagreements(benchmark, examples),
        level=level,
    )
