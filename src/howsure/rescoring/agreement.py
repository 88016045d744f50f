"""Agreement of the scores of a scorer with those of the run: of the harness, or of an earlier version of the rules.

agreement   share of the rows with both scores on which they are equal. Its interval is Wilson's; where questions have
            several rows, it is Wilson's for the effective number of rows that the variance over questions leaves
kappa       (agreement - chance)/(1 - chance), with chance from the two margins (Cohen 1960), for scores of 0 and 1
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from howsure.stats.core.intervals import interval
from howsure.stats.core.results import Columns, Result, Results, make_columns, notes
from howsure.stats.scores import wilson
from howsure.store.scorer_files import RescoredRow

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
_COUNTS = ("n_scored", "n_unread", "n_missing", "n_both", "n_agree", "only_ours", "only_theirs")


class Disagreement(NamedTuple):
    """One row with two different scores."""

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
    """Examples of rows that two scorers score differently: the first ones of each kind and model of a benchmark."""

    benchmark: str
    examples: tuple[Disagreement, ...] = field(repr=False)

    def columns(self) -> Columns:
        """Return the columns by name, with one row per example."""
        types = {"generation": np.int64, "their_score": np.float64, "our_score": np.float64}
        columns = make_columns(len(self.examples), benchmark=self.benchmark)
        for name in Disagreement._fields:
            values = [getattr(example, name) for example in self.examples]
            columns[name] = np.array(values, dtype=types.get(name, object))
        return columns


class AgreementCounter:
    """Counts of one benchmark and model, row by row; the rows of a question must come together.

    Examples
    --------
    >>> counter = AgreementCounter(examples=5)
    >>> row = RescoredRow("sums", "m", "q1", "default", 1, score=1.0, answer="4", rule="number")
    >>> counter.add(row, 0.0, "5", "4", "So 4, not 5.")
    >>> counter.counts["n_both"], counter.counts["only_ours"]
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
            self.counts["n_missing"] += 1
            self.reason = self.reason or f"of question {ours.question}: {ours.error or 'no completion is kept'}"
            return
        self.counts["n_scored"] += 1
        self.total += ours.score
        self.counts["n_unread"] += ours.answer is None
        if their_score is None:
            return
        if ours.question != self._question:
            self._end_question()
            self._question = ours.question
        agree = abs(ours.score - their_score) < TOLERANCE
        self._n, self._n_agree = self._n + 1, self._n_agree + agree
        if {ours.score, their_score} <= {0.0, 1.0}:
            self._pairs[ours.score, their_score] += 1
        self.counts["n_both"] += 1
        if agree:
            self.counts["n_agree"] += 1
            return
        larger = ours.score > their_score
        kind = "only ours" if larger else "only theirs, unread" if ours.answer is None else "only theirs"
        self.counts["only_ours" if larger else "only_theirs"] += 1
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
        total = self.counts["n_both"]
        if not total or self._pairs.total() < total:
            return math.nan
        ours, theirs = (sum(n for pair, n in self._pairs.items() if pair[i] == 1) for i in (0, 1))
        # Whole numbers, so that a kappa of 0 is exactly 0.
        chance = ours * theirs + (total - ours) * (total - theirs)
        rest = total * total - chance
        return (self.counts["n_agree"] * total - chance) / rest if rest else math.nan

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval of the agreement; NaN if it cannot be computed."""
        self._end_question()
        questions, nn, na, aa = self._sums.tolist()
        total, agree = self.counts["n_both"], self.counts["n_agree"]
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


@dataclass(frozen=True, eq=False)
class Agreement(Result):
    """Agreement of a scorer with the scores of the run on one benchmark.

    Its columns, with one row per model:

    n_scored, n_unread, n_missing
        Number of rows with a score of ours; of those without an answer among them, which score 0; of rows without a
        score of ours.
    mean_score
        Mean of our scores over the rows; NaN without any. `howsure.score` has the errors of it.
    n_both, n_agree, only_ours, only_theirs
        Number of rows with both scores; with equal scores; with a larger score of ours; with a smaller one. For scores
        of 0 and 1 the last two are the rows where only ours is right, and only theirs.
    agreement, agreement_low, agreement_high, kappa
        The share of equal scores, the limits of its interval, and Cohen's kappa.

    Attributes
    ----------
    scorer
        NAME@VERSION of our scorer.
    counters
        Mapping from each model to its counts.

    Examples
    --------
    >>> counter = AgreementCounter(examples=5)
    >>> row = RescoredRow("sums", "m", "q1", "default", 1, score=1.0, answer="4", rule="number")
    >>> counter.add(row, 1.0, "4", "4", "So 4.")
    >>> Agreement("sums", "numeric@1", {"m": counter})["agreement"].tolist()
    [1.0]
    """

    benchmark: str
    scorer: str
    counters: Mapping[str, AgreementCounter] = field(repr=False)
    level: float = 0.95

    @property
    def disagreements(self) -> Disagreements:
        """Examples of rows with two different scores."""
        return Disagreements(self.benchmark, tuple(one for each in self.counters.values() for one in each.examples))

    def columns(self) -> Columns:
        """Return the columns by name, with one row per model."""
        each = list(self.counters.values())
        limits = np.array([counter.interval(self.level) for counter in each]).reshape(len(each), 2)
        counts = {name: np.array([counter.counts[name] for counter in each], dtype=np.int64) for name in _COUNTS}
        both, n_scored = counts["n_both"], counts["n_scored"]
        kappa = np.array([counter.kappa() for counter in each])
        reasons = np.array([counter.reason for counter in each])
        with np.errstate(invalid="ignore"):
            share = counts["n_agree"] / np.where(both > 0, both, np.nan)
            mean = np.array([counter.total for counter in each]) / np.where(n_scored > 0, n_scored, np.nan)
        names = dict.fromkeys(filter(None, reasons.tolist()))
        note = notes(
            {
                "no row was scored before, so there is no agreement": (both == 0) & (n_scored > 0),
                "one question with several rows: no interval": (both > 0) & np.isnan(limits[:, 0]),
                "kappa is for scores of 0 and 1, of which both occur": (both > 0) & np.isnan(kappa),
                **{
                    f"rows are missing, the first {reason.replace(';', ',')}": reasons == reason
                    for reason in list(names)[:MAX_REASONS]
                },
            }
        )
        return make_columns(
            len(each),
            benchmark=self.benchmark,
            model=tuple(self.counters),
            scorer=self.scorer,
            n_scored=n_scored,
            n_unread=counts["n_unread"],
            n_missing=counts["n_missing"],
            mean_score=mean,
            n_both=both,
            n_agree=counts["n_agree"],
            agreement=share,
            agreement_low=limits[:, 0],
            agreement_high=limits[:, 1],
            only_ours=counts["only_ours"],
            only_theirs=counts["only_theirs"],
            kappa=kappa,
            level=self.level,
            note=note,
        )


@dataclass(frozen=True)
class Agreements(Results):
    """The agreement on several benchmarks; the printed table compares nothing where nothing had a score before.

    Examples
    --------
    >>> counter = AgreementCounter(examples=5)
    >>> counter.add(RescoredRow("sums", "m", "q1", "default", 1, score=1.0, answer="4"), None, None, "4", "So 4.")
    >>> print(Agreements((Agreement("sums", "numeric@1", {"m": counter}),)))
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
