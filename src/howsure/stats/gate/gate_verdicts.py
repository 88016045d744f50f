"""Verdicts on a candidate: whether it is worse than a baseline on the same questions, or below a bar.

With d the score of the candidate minus that of the baseline, paired by question, and a margin M >= 0:

    pass           the one-sided lower limit of d at 1 - alpha is above -M: not worse than the margin
    fail           a regression is shown: of the mean, where the lower limit is not above -M, or of a single question
    inconclusive   neither

alpha is shared between the mean and the single questions. Graded scores have a test of the mean alone. For claims on
new questions each gets a half, unless single questions could not be shown to have changed. Where both tests are exact,
given the number of right generations of each question, the shares depend on these numbers: with l the smallest p-value
that single questions could have reached,

    alpha <= l              all of it for the mean: no single question could be shown to have changed
    l < alpha < 2 l         l for the mean, so that a larger alpha never shows less
    2 l <= alpha < 5 l      l for the questions, the rest for the mean
    5 l <= alpha            a fifth for the questions, the rest for the mean

Several benchmarks are adjusted with Holm's method. So a candidate that is the baseline fails with a probability of at
most alpha in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.comparisons import POWER, Comparison, compare
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import (
    MISSING_RULES,
    GateVerdict,
    MeanClaim,
    MissingRule,
    check_choice,
    check_mean_claim,
)
from howsure.stats.core.intervals import Interval
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.results import Result, RowNotes
from howsure.stats.gate.exact_tests import QuestionTests, compare_means_exactly, compare_questions_exactly
from howsure.stats.scores import fill_missing
from howsure.stats.scores.missing import count_missing
from howsure.stats.scores.score import Scores, score

__all__ = [
    "AbsoluteGate",
    "AnyGate",
    "ChangedQuestions",
    "RegressionGate",
    "check_gate",
    "compare_with_bar",
    "compare_with_baseline",
    "decide",
    "hold_undecided",
]

_OWN_VARIANTS = (
    "each question has prompt variants of its own: the error is that of new questions, and single ones are not tested"
)
_ONE_GENERATION = "one generation per question: the error is that of new questions, which is no smaller"


@dataclass(frozen=True, eq=False, repr=False)
class ChangedQuestions(Result):
    """Questions that the candidate answers less often right, those with the smallest p-value first.

    Attributes
    ----------
    questions
        Names, length R.
    n_baseline, right_baseline, n_candidate, right_candidate
        Generations of both and how many were right, shape (R,).
    p_value, p_adjusted
        Of the exact one-sided test of each question, and adjusted for all questions, shape (R,).
    broken
        Whether the regression of this very question is shown, shape (R,).
    """

    benchmark: str
    model: str
    questions: tuple[str, ...]
    n_baseline: IntArray
    right_baseline: IntArray
    n_candidate: IntArray
    right_candidate: IntArray
    p_value: FloatArray
    p_adjusted: FloatArray
    broken: NDArray[np.bool_]

    @property
    def kinds(self) -> tuple[str, ...]:
        """`broken`, `flaky` (both are right sometimes, and not always), or `may be chance`, of each question."""
        flaky = (self.right_baseline % self.n_baseline > 0) & (self.right_candidate % self.n_candidate > 0)
        pairs = zip(self.broken, flaky, strict=True)
        return tuple("broken" if is_broken else "flaky" if varies else "may be chance" for is_broken, varies in pairs)

    declared = (
        "benchmark model question=questions baseline=_counts.0 candidate=_counts.1 p_value p_adjusted change=kinds"
    )

    def _counts(self) -> list[tuple[str, ...]]:
        """Return the right of all generations of each question, of the baseline and of the candidate."""
        sides = (self.right_baseline, self.n_baseline), (self.right_candidate, self.n_candidate)
        return [tuple(f"{x}/{n}" for x, n in zip(*side, strict=True)) for side in sides]


@dataclass(frozen=True, eq=False, repr=False)
class RegressionGate(Result):
    """Comparison of a candidate with a baseline on one benchmark, and its verdict.

    Attributes
    ----------
    benchmark, candidate, baseline
        Names.
    comparison
        Candidate minus baseline on what was answered.
    low, high
        One-sided limits of the difference at 1 - alpha each, whatever the rule for missing generations says of them.
    p_mean
        One-sided p-value of the mean not being lower.
    tests
        Exact tests of single questions; None for scores that are not 0 and 1.
    n_missing_baseline, n_missing_candidate
        Generations that failed or do not exist on the questions of the baseline.
    n_new
        Questions that the candidate answered and the baseline does not have; they are not compared.
    p_any, p_fail
        p-value of any regression on this benchmark; and adjusted for other benchmarks and models by `decide`.
    reasons
        What limits the verdict, '' if nothing.
    n_variants
        Prompt variants in which both are compared; with several, a "question" is a question in one variant.
    n_together
        Gates that `decide` adjusted together.
    is_undecided
        Whether the verdict would be another one if unread answers were right (`hold_undecided`).
    """

    benchmark: str
    candidate: str
    baseline: str
    comparison: Comparison
    low: float
    high: float
    p_mean: float
    tests: QuestionTests | None
    margin: float
    alpha: float
    claim: MeanClaim
    missing: MissingRule
    n_missing_baseline: int
    n_missing_candidate: int
    n_new: int
    p_any: float
    p_fail: float
    reasons: str = ""
    n_variants: int = 1
    n_together: int = 1
    is_undecided: bool = False
    best_case: Cells = field(repr=False, kw_only=True)

    @property
    def difference(self) -> float:
        """Score of the candidate minus that of the baseline on the questions that both answered."""
        return float(self.comparison.difference[0])

    @property
    def se(self) -> float:
        """Standard error of `difference`; NaN where unknown."""
        return float(np.sqrt(self.comparison.variance[0]))

    @cached_property
    def alpha_of_questions(self) -> float:
        """Level of the tests of single questions; 0 where none of them could be shown to have changed."""
        if self.tests is None or self.alpha < 2 * self.tests.least:
            return 0.0
        if self.claim != "these-questions":
            return self.alpha / 2
        return max(self.alpha / 5, self.tests.least)

    @property
    def alpha_of_mean(self) -> float:
        """Level of the test of the mean."""
        if self.tests is None or self.claim != "these-questions" or self.alpha_of_questions:
            return self.alpha - self.alpha_of_questions
        return min(self.alpha, self.tests.least)

    @cached_property
    def p_any_of_mean(self) -> float:
        """Smallest alpha at which the test of the mean shows a regression."""
        # A loss within the margin is no failure, however surely it is there.
        p = self.p_mean
        if self.low > -self.margin or np.isnan(p):
            return 1.0
        if self.tests is None or not (self.claim == "these-questions" or self.alpha_of_questions):
            return p
        if self.claim != "these-questions":
            return min(1.0, 2 * p)
        least = self.tests.least
        if p <= least * (1 + 1e-9):
            return min(p, least)
        return min(1.0, p + least if p <= 4 * least else 1.25 * p)

    @cached_property
    def p_any_of_questions(self) -> FloatArray:
        """Smallest alpha at which the test of each question shows its regression, shape (N,); NaN if not answered."""
        if self.tests is None or not self.alpha_of_questions:
            return np.ones(len(self.best_case.questions))
        p, least = self.tests.p_adjusted, self.tests.least
        if self.claim != "these-questions":
            return np.minimum(2 * p, 1.0)
        return np.minimum(np.where(p <= least * (1 + 1e-9), 2 * least, 5 * p), 1.0)

    @property
    def factor_of_others(self) -> float:
        """What p-values of this benchmark are multiplied by because there are others."""
        return self.p_fail / self.p_any if self.p_any > 0 else 1.0

    @property
    def p_fail_of_mean(self) -> float:
        """`p_any_of_mean`, adjusted for other benchmarks and models; at most alpha where the mean is shown lower."""
        return min(1.0, self.p_any_of_mean * self.factor_of_others)

    @property
    def is_mean_worse(self) -> bool:
        """Whether the mean is shown to be lower, and not within the margin."""
        return self.p_fail_of_mean <= self.alpha

    @cached_property
    def broken(self) -> IntArray:
        """Places of the questions whose own regression is shown."""
        if self.tests is None or not self.alpha_of_questions:
            return np.zeros(0, dtype=np.int64)
        p = self.tests.p_adjusted if self.is_mean_worse else self.p_any_of_questions  # Holm's second step
        return np.flatnonzero(p * self.factor_of_others <= self.alpha)

    @property
    def verdict(self) -> GateVerdict:
        """The verdict on this benchmark."""
        if self.is_undecided:
            return "inconclusive"
        if self.p_fail <= self.alpha:
            return "fail"
        return "pass" if self.low > -self.margin else "inconclusive"

    @property
    def detectable(self) -> float:
        """Smallest true loss of the mean that fails with a power of .8, where no other gate fails.

        Its test has to show a loss, also after the adjustment for the other gates, and the lower limit has to be below
        the margin. NaN where no variation was seen: what would be seen of a true loss is not known then; and where the
        loss would be larger than the baseline's score, with scores from 0 to 1.
        """
        return float("nan") if self.is_undetectable else self._unbounded_detectable

    @property
    def is_undetectable(self) -> bool:
        """Whether even the largest possible loss of scores in [0, 1] fails with less power than .8."""
        return self.comparison.unit and self._unbounded_detectable > float(self.comparison.score_b[0])

    @property
    def _unbounded_detectable(self) -> float:
        """Return what `detectable` would be if scores had no limits."""
        if not self.se > 0:
            return float("nan")
        of_test = float(special.ndtri(1 - self.alpha_of_mean / self.n_together)) * self.se
        beyond = self.margin - float(special.ndtri(1 - self.alpha)) * self.se
        return max(of_test, beyond) + float(special.ndtri(POWER)) * self.se

    @property
    def _note(self) -> str:
        """Return the reasons, and why `detectable` is not known."""
        texts = {
            self.reasons: self.reasons != "",
            "no variation was seen: no detectable difference": self.se == 0,
            "detectable: larger than the score of the baseline": self.is_undetectable,
        }
        return RowNotes(*(text for text, holds in texts.items() if holds))

    @cached_property
    def _target(self) -> float:
        """Standard error at which a true difference as large as the observed one is decided with a power of .8."""
        d = self.difference
        distance = d + self.margin if d > -self.margin else -d
        alpha = self.alpha if d > -self.margin else self.alpha_of_mean / self.n_together
        return distance / float(special.ndtri(1 - alpha) + special.ndtri(POWER))

    @property
    def n_generations(self) -> float:
        """Mean number of generations per question of the candidate."""
        cells = self.comparison.cells
        row = cells.n[cells.index(self.candidate)]
        return float(np.mean(row[row > 0])) if np.any(row > 0) else 0.0

    @property
    def needed_generations(self) -> float:
        """Generations per question, of both models, that would decide it if the difference is as observed.

        Those of this run where they are enough; inf where no number of them is, NaN where the noise of sampling is not
        known from one generation.
        """
        target = self._target
        if not target > 0 or not self.se > 0:
            return float("inf" if self.se > 0 else "nan")
        data, sampling = float(self.comparison.data[0]), float(self.comparison.prediction[0])
        if np.isnan(sampling):
            return float("nan")
        N = float(self.comparison.n_questions[0])
        if self.claim == "these-questions":
            return float(max(np.ceil(sampling / (target**2 * N) - 1e-9), np.ceil(self.n_generations)))
        left = target**2 * N - max(data, 0.0)
        return float(np.ceil(sampling / left - 1e-9)) if left > 0 else float("inf")

    @property
    def needed_questions(self) -> float:
        """Questions like these that would decide it, as many generations each, if the difference is as observed."""
        if not self._target > 0 or not self.se > 0:
            return float("inf" if self.se > 0 else "nan")
        N = float(self.comparison.n_questions[0])
        return float(max(np.ceil(N * (self.se / self._target) ** 2 - 1e-9), N))

    @cached_property
    def questions(self) -> ChangedQuestions:
        """Questions that the candidate answers less often right, and those that are broken."""
        cells, tests = self.best_case, self.tests
        a, b = cells.index(self.candidate), cells.index(self.baseline)
        p = np.ones(len(cells.questions)) if tests is None else tests.p_value
        with np.errstate(invalid="ignore"):
            places = np.flatnonzero((cells.mean[a] < cells.mean[b]) & ~np.isnan(p))
        places = np.union1d(places, self.broken)
        places = places[np.argsort(p[places], kind="stable")]
        counts = [np.rint(array[row, places]).astype(np.int64) for row in (b, a) for array in (cells.n, cells.total)]
        return ChangedQuestions(
            self.benchmark,
            self.candidate,
            tuple(cells.questions[i] for i in places),
            counts[0],
            counts[1],
            counts[2],
            counts[3],
            p[places],
            np.ones(len(places)) if tests is None else tests.p_adjusted[places],
            np.isin(places, self.broken),
        )

    @cached_property
    def n_flaky(self) -> int:
        """Number of questions that both models answer sometimes right and sometimes wrong; 0 for graded scores."""
        if self.tests is None:
            return 0
        cells = self.comparison.cells
        mean = cells.mean
        return int(np.sum(np.all((mean > 0) & (mean < 1), axis=0)))

    declared = (
        "benchmark model=candidate baseline verdict n_questions=comparison.n_questions n_generations "
        "score=comparison.score_a score_baseline=comparison.score_b difference=comparison.difference low high margin "
        "alpha p_mean p_questions=_p_questions p_fail n_broken=broken.len n_flaky n_missing=n_missing_candidate "
        "detectable claim note=_note"
    )

    def _p_questions(self) -> float:
        """Smallest adjusted p-value of a question; NaN without tests of questions."""
        return np.nan if self.tests is None else self.tests.smallest


def compare_with_baseline(
    cells: Cells,
    candidate: str,
    baseline: str,
    *,
    margin: float = 0.02,
    alpha: float = 0.05,
    claim: MeanClaim = "these-questions",
    missing: MissingRule = "bounds",
    n_variants: int = 1,
    own_variants: bool = False,
) -> RegressionGate:
    """Compare a candidate with a baseline on the questions of the baseline, and decide whether it is worse.

    Parameters
    ----------
    cells
        Both models on one benchmark.
    candidate, baseline
        Names of the models.
    margin
        Largest loss, in units of the score, that is not called worse, at least 0.
    alpha
        Probability, in (0, .5), that a candidate that is the baseline fails, and that one that is worse by the margin
        passes.
    claim
        ``"these-questions"``: the expected score on these questions; ``"new-questions"``: on new questions like these.
    missing
        ``"bounds"``: pass even if all missing generations of the candidate were wrong and those of the baseline right,
        fail even if it were the other way round. ``"as-zero"``: they are wrong. ``"as-missing"``: they are left out.
    n_variants
        Prompt variants in which both are compared, 1 or more; with several, each "question" of `cells` is a question in
        one variant, as of `split_by_variant`.
    own_variants
        Whether each question of each side has prompt variants of its own, as of `has_own_variants`. Differences then
        vary with the prompts too: the claim is that on new questions, and single questions are not tested.

    Returns
    -------
    RegressionGate
        For one benchmark; `decide` adjusts several.

    Raises
    ------
    InputError
        When an argument is out of range, both names are one, or no question was answered by both.
    UnknownNameError
        When a model is unknown.

    Notes
    -----
    Scores of 0 and 1 are tested exactly (`exact_tests`), for the claim on these questions the mean too; where the two
    have unequal numbers of generations, the test of the mean of `compare`, one-sided, has to agree. Otherwise the test
    of the mean is that of `compare` alone.

    The lower limit is that of Student's t with pseudo-questions. For candidates that were worse by exactly the margin,
    .04 to .05 passed at alpha .05 where rates lay between .2 and .8, and up to .066 where the baseline was always
    right.

    Examples
    --------
    >>> scores = [[[1, 1, 1, 1, 1]] * 20, [[0, 0, 0, 0, 0]] + [[1, 1, 1, 1, 1]] * 19]
    >>> cells = Cells.from_scores("demo", ["old", "new"], [f"q{i}" for i in range(20)], scores)
    >>> gate = compare_with_baseline(cells, "new", "old", margin=0.1)
    >>> gate.verdict, gate.questions["question"].tolist(), gate.questions["change"].tolist()
    ('fail', ['q0'], ['broken'])
    """
    check_gate(margin, alpha)
    check_mean_claim(claim)
    check_choice("rule for what is missing", missing, MISSING_RULES)
    if candidate == baseline:
        raise InputError(f"candidate and baseline are both {candidate!r}", remedy="name two models")
    both = cells.select([candidate, baseline])
    has = (both.n > 0) | (np.zeros(both.n.shape, bool) if both.failed is None else both.failed > 0)
    n_new = int(np.sum(has[0] & ~has[1]))
    check_gate(margin, alpha, is_unit=both.unit)
    names = [name for name, there in zip(both.questions, has[1], strict=True) if there]
    both = both.select(questions=names)
    if np.any(has[0] & has[1]) and not np.all(np.any(both.answered, axis=1)):
        empty = baseline if np.any(both.answered[0]) else candidate
        what = f"{empty!r} has no score: every generation failed"
        raise InputError(what, where=cells.benchmark, remedy="find out why, and run it again")
    if not np.any(both.answered[0] & both.answered[1]):
        what = f"no question was answered by both {candidate!r} and {baseline!r}"
        raise InputError(what, where=cells.benchmark, remedy="give results on the same questions")
    _check_scales(both)
    claim = "new-questions" if own_variants else claim
    both = _count_fewer_rows_as_failed(both)
    n_missing = count_missing(both)
    worst, best = _fill(both, missing)
    results = worst if missing == "as-zero" else both
    comparison = compare(results, candidate, baseline, claim=claim)
    used = _choose_claim(claim, float(comparison.prediction[0]))
    if used != claim:
        comparison = compare(results, candidate, baseline, claim=used)
    level = 1 - 2 * alpha
    lowest = compare(worst, candidate, baseline, claim=used, level=level)
    highest = lowest if best is worst else compare(best, candidate, baseline, claim=used, level=level)
    low, high = float(lowest.interval().low[0]), float(highest.interval().high[0])
    tests = None
    if best.binary:
        counts = best.n[1], best.total[1], best.n[0], best.total[0]
        tests = None if own_variants else compare_questions_exactly(*counts)
        p_mean = _test_one_sided(highest)
        if claim == "these-questions":
            exact = compare_means_exactly(*counts)
            common = np.all(best.answered, axis=0)
            is_equal = bool(np.all(best.n[0, common] == best.n[1, common]))
            # Unequal numbers: the exact test alone finds gains and losses that cancel out too often (12 % at 5 %).
            p_mean = exact if is_equal else max(exact, p_mean)
    else:
        p_mean = _test_one_sided(highest)
    gate = RegressionGate(
        cells.benchmark,
        candidate,
        baseline,
        comparison,
        low,
        high,
        p_mean,
        tests,
        margin,
        alpha,
        claim,
        missing,
        int(np.sum(n_missing[1])),
        int(np.sum(n_missing[0])),
        n_new,
        p_any=1.0,
        p_fail=1.0,
        reasons=RowNotes(
            *(
                text
                for text, holds in {
                    _ONE_GENERATION: used != claim,
                    "scores are not 0 and 1: single questions are not tested": tests is None and not own_variants,
                    _OWN_VARIANTS: own_variants,
                    _describe_new(n_new, n_variants): n_new > 0,
                    "no interval: one question says nothing of others": np.isnan(low)
                    and comparison.n_questions[0] == 1,
                    "no variation was seen: no interval": np.isnan(low) and comparison.n_questions[0] > 1,
                }.items()
                if holds
            )
        ),
        n_variants=n_variants,
        best_case=best,
    )
    p_any = min([gate.p_any_of_mean, *gate.p_any_of_questions[~np.isnan(gate.p_any_of_questions)].tolist()])
    return replace(gate, p_any=p_any, p_fail=p_any)


def _describe_new(number: int, n_variants: int) -> str:
    """Return the sentence on questions, or questions in a prompt variant, that only the candidate answered."""
    unit = "question-variant pair" if n_variants > 1 else "question"
    are = "is" if number == 1 else "are"
    return f"{number:,} {unit}{'s' * (number != 1)} that the baseline does not have {are} not compared"


def _count_fewer_rows_as_failed(both: Cells) -> Cells:
    """Return the cells with rows that the candidate lacks counted as failed, for scores in [0, 1].

    Of a question the candidate should have as many generations as the baseline, or as it has of any other question if
    these are fewer. A file without the rows that were wrong would be a better candidate otherwise.
    """
    if not both.unit:
        return both
    failed = np.zeros(both.n.shape, dtype=np.int64) if both.failed is None else both.failed.astype(np.int64)
    there = both.n + failed
    fewer = np.maximum(np.minimum(np.max(there[0]), there[1]) - there[0], 0)
    if not np.any(fewer):
        return both
    return replace(both, failed=failed + np.stack([fewer, np.zeros_like(fewer)]))


def _check_scales(both: Cells) -> None:
    """Raise InputError where the scores of one model are far outside [0, 1], and those of the other all within."""
    rows = [both.select([name]) for name in both.models]
    for other, row in zip(rows[::-1], rows, strict=True):
        largest = float(np.nanmax(np.where(row.answered, row.mean, np.nan)))
        # Ratings from 1 upwards, of which one model has the lowest only, are one scale.
        is_from_one = all(bool(np.all(each.mean[each.answered] >= 1)) for each in rows)
        if other.unit and not row.unit and largest > 1 and not is_from_one:
            limits = f"go up to {largest:.4g} or more, those of {other.models[0]!r} are from 0 to 1"
            what = f"scores of {row.models[0]!r} {limits}"
            raise InputError(what, where=both.benchmark, remedy="give both on one scale")


def check_gate(margin: float, alpha: float, *, bar: float = 0.0, is_unit: bool = False) -> None:
    """Raise InputError if a margin or a bar, of scores in [0, 1] where `is_unit`, or an alpha is out of range."""
    if not np.isfinite(bar):
        raise InputError(f"the bar is {bar!r}", remedy="give the lowest score that passes, such as 0.9")
    if is_unit and not 0 <= bar <= 1:
        raise InputError(f"the bar is {bar:g}, and scores lie between 0 and 1", remedy="allowed: 0 to 1, such as 0.9")
    if not 0 <= margin < np.inf:
        raise InputError(f"margin is {margin!r}", remedy="allowed: 0 or more, such as 0.02")
    if is_unit and margin > 1:
        remedy = "allowed: 0 to 1, such as 0.02"
        raise InputError(f"margin is {margin:g}, and scores lie between 0 and 1", remedy=remedy)
    if not 0 < alpha < 0.5:
        raise InputError(f"alpha is {alpha!r}", remedy="allowed: above 0 and below 0.5, such as 0.05")


def _choose_claim(claim: MeanClaim, prediction: float) -> MeanClaim:
    """Return the claim, or that on new questions where the noise of sampling, `prediction`, is not known."""
    return "new-questions" if np.isnan(prediction) else claim


def _fill(both: Cells, missing: MissingRule) -> tuple[Cells, Cells]:
    """Return the cells with what is missing at its worst and at its best for the first model, the candidate."""
    if missing == "as-missing" or not np.any(count_missing(both)):
        return both, both
    if missing == "as-zero":
        as_wrong = fill_missing(both, 0.0)
        return as_wrong, as_wrong
    candidate, baseline = (both.select([name]) for name in both.models)
    worst = fill_missing(candidate, 0.0) + fill_missing(baseline, 1.0)
    best = fill_missing(candidate, 1.0) + fill_missing(baseline, 0.0)
    return worst.select(both.models, both.questions), best.select(both.models, both.questions)


def _test_one_sided(comparison: Comparison) -> float:
    """Return the one-sided p-value of the difference not being negative."""
    between = comparison.interval()
    two_sided = float(between.p_value[0])
    return two_sided / 2 if between.statistic[0] < 0 else 1 - two_sided / 2


def decide(gates: Sequence[RegressionGate]) -> list[RegressionGate]:
    """Adjust the p-values of several benchmarks and models for each other, with Holm's method.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["old", "new"], ["p", "q"], [[[1], [1]], [[1], [0]]])
    >>> [gate.verdict for gate in decide([compare_with_baseline(cells, "new", "old")])]
    ['inconclusive']
    """
    adjusted = holm([gate.p_any for gate in gates])
    return [replace(gate, p_fail=float(p), n_together=len(gates)) for gate, p in zip(gates, adjusted, strict=True)]


@dataclass(frozen=True, eq=False, repr=False)
class AbsoluteGate(Result):
    """The score of one model against a bar, and its verdict.

    Attributes
    ----------
    scores
        The score on what was answered.
    bar
        Lowest score that passes.
    low, high
        One-sided limits of the score, at 1 - alpha and at 1 - alpha / n_together.
    n_missing_candidate
        Generations that failed or do not exist.
    n_together
        Gates that are decided together: any of them fails wrongly with a probability of at most alpha (Bonferroni).
    """

    benchmark: str
    candidate: str
    scores: Scores
    bar: float
    low: float
    high: float
    alpha: float
    claim: MeanClaim
    missing: MissingRule
    n_missing_candidate: int
    n_together: int = 1
    reasons: str = ""
    is_undecided: bool = False
    """Whether the verdict would be another one if unread answers were right (`hold_undecided`)."""

    @property
    def value(self) -> float:
        """The score."""
        return float(self.scores.score[0])

    @property
    def se(self) -> float:
        """Standard error of the score; NaN where unknown."""
        return float(np.sqrt(self.scores.variance[0]))

    @property
    def verdict(self) -> GateVerdict:
        """Pass where the score is shown to be at least the bar, fail where it is shown to be below."""
        is_clear = self.low >= self.bar or self.high < self.bar
        return "inconclusive" if self.is_undecided or not is_clear else "pass" if self.low >= self.bar else "fail"

    @property
    def _target(self) -> float:
        """Standard error that decides a true score as far from the bar as the observed one with a power of .8."""
        alpha = self.alpha if self.value >= self.bar else self.alpha / self.n_together
        return abs(self.value - self.bar) / float(special.ndtri(1 - alpha) + special.ndtri(POWER))

    @property
    def needed_questions(self) -> float:
        """Questions like these that would decide it with a power of .8 if the score is as observed."""
        if not self._target > 0 or not self.se > 0:
            return float("inf") if self.value == self.bar else float("nan")
        N = float(self.scores.n_questions[0])
        return float(max(np.ceil(N * (self.se / self._target) ** 2 - 1e-9), N))

    @property
    def needed_generations(self) -> float:
        """Generations per question that would decide it with a power of .8 if the score is as observed."""
        sampling, N = float(self.scores.prediction[0]), float(self.scores.n_questions[0])
        if not self._target > 0:
            return float("inf")
        if np.isnan(sampling) or not sampling > 0:
            return float("nan")
        left = self._target**2 * N - (max(float(self.scores.data[0]), 0.0) if self.claim == "new-questions" else 0.0)
        return float(np.ceil(sampling / left - 1e-9)) if left > 0 else float("inf")

    declared = (
        "benchmark model=candidate verdict n_questions=scores.n_questions score=scores.score low high bar alpha "
        "n_missing=n_missing_candidate claim note=reasons"
    )


#: A comparison with a baseline or with a bar.
AnyGate: TypeAlias = RegressionGate | AbsoluteGate
DecideAll: TypeAlias = Callable[[Sequence[Cells]], Iterable[AnyGate]]


def hold_undecided(cells: Sequence[Cells], names: Sequence[Sequence[str]], decide_all: DecideAll) -> list[AnyGate]:
    """Decide gates, and hold those whose verdict depends on answers that could not be read: they are inconclusive.

    Where more than `MOST_UNPARSED` of the answers of a model are unread, its score lies between s and s + u. The gates
    are decided again with all unread answers right of the first model, of the last one, and of both.

    Parameters
    ----------
    cells, names
        The cells of each gate, and the names of its models.
    decide_all
        Function from the cells of each gate to the gates.

    Returns
    -------
    list
        The gates of the scores as they are, held where a case has another verdict or scores are not in [0, 1].
    """
    gates = list(decide_all(cells))
    own = [one.select(list(models)) for one, models in zip(cells, names, strict=True)]
    bounded = [bool(np.any(one.is_bounded)) for one in own]
    verdicts = [{gate.verdict} for gate in gates]
    for place in (slice(0, 1), slice(-1, None), slice(None)) if any(bounded) else ():
        cases = [
            _count_right(one, place) if is_bounded and one.unit else one
            for one, is_bounded in zip(own, bounded, strict=True)
        ]
        for given, gate in zip(verdicts, decide_all(cases), strict=True):
            given.add(gate.verdict)
    why = "the verdict depends on answers that could not be read"
    return [
        replace(gate, is_undecided=True, reasons=RowNotes(gate.reasons, why))
        if len(given) > 1 or (is_bounded and not one.unit)
        else gate
        for gate, given, one, is_bounded in zip(gates, verdicts, own, bounded, strict=True)
    ]


def _count_right(cells: Cells, place: slice) -> Cells:
    """Return the cells with the unread answers of the models at a place right."""
    right = cells.count_unparsed_as_right().select(list(cells.models[place]))
    others = [model for model in cells.models if model not in right.models]
    return cells.select(others) + right if others else right


def compare_with_bar(
    cells: Cells,
    candidate: str,
    bar: float,
    *,
    alpha: float = 0.05,
    claim: MeanClaim = "these-questions",
    missing: MissingRule = "bounds",
    n_together: int = 1,
) -> AbsoluteGate:
    """Decide whether the score of a model is at least a bar.

    Parameters
    ----------
    cells
        The model on one benchmark; questions that only other models have count as missing.
    candidate
        Name of the model.
    bar
        Lowest score that passes, in units of the score.
    alpha
        Probability, in (0, .5), of passing a model just below the bar, and of failing one at it.
    claim, missing
        As for `compare_with_baseline`.
    n_together
        Gates that are decided together, 1 or more: a failure is shown at alpha / n_together.

    Returns
    -------
    AbsoluteGate

    Raises
    ------
    InputError
        When an argument is out of range, or the model has no score.
    UnknownNameError
        When the model is unknown.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["p", "q", "r"], [[[1], [1], [1]]])
    >>> compare_with_bar(cells, "a", 0.9).verdict  # three right answers do not show 90 %
    'inconclusive'
    """
    own = cells.select([candidate])
    check_gate(0.0, alpha, bar=bar, is_unit=own.unit)
    check_mean_claim(claim)
    check_choice("rule for what is missing", missing, MISSING_RULES)
    if not np.any(own.answered):
        raise InputError(f"{candidate!r} has no score", where=cells.benchmark)
    n_missing = int(np.sum(count_missing(own)))
    level, level_of_failure = 1 - 2 * alpha, 1 - 2 * alpha / n_together
    lowest = highest = own
    if missing != "as-missing" and n_missing:
        lowest = fill_missing(own, 0.0)
        highest = lowest if missing == "as-zero" else fill_missing(own, 1.0)
    results = lowest if missing == "as-zero" else own
    scores = score(results, claim=claim)
    used = _choose_claim(claim, float(scores.prediction[0]))
    if used != claim:
        scores = score(results, claim=used)
    is_flat = own.binary and used == claim and not np.any(np.nan_to_num(own.within) > 0)
    low, high = _limit(lowest, used, level), _limit(highest, used, level_of_failure)
    return AbsoluteGate(
        cells.benchmark,
        candidate,
        scores,
        bar,
        float(low.low[0]),
        float(high.high[0]),
        alpha,
        claim,
        missing,
        n_missing,
        n_together,
        reasons=RowNotes(
            *(
                text
                for text, holds in {
                    _ONE_GENERATION: used != claim,
                    "no variation was seen: all generations of a question count as one": is_flat,
                    "no variation was seen: no interval": np.isnan(low.low[0]),
                }.items()
                if holds
            )
        ),
    )


def _limit(own: Cells, claim: MeanClaim, level: float) -> Interval:
    """Return the interval of one model's score at a level.

    The posterior of `score` holds on average over scores; one-sided and close to 1 it does not (.86 where .95 is said).
    With one generation per question scored 0 or 1 the exact interval is used, and where no answer varied within a
    question, all generations of a question are one.
    """
    if own.binary and not np.any(np.nan_to_num(own.within) > 0):
        one = np.where(own.answered, 1, 0)
        right = np.where(own.answered, own.mean, 0.0)
        own = replace(own, n=one, total=right, total_sq=right, minimum=None, maximum=None, outcomes=None)
        return score(own, claim="new-questions", level=level, method="exact").interval()
    return score(own, claim=claim, level=level).interval()
