"""The comparison of two models that ignores that both answered the same questions, beside the paired one.

Squared standard errors add up: SE^2 = SE_a^2 + SE_b^2. The test is Welch's, whose variances divide by N - 1. It is
right for models that answered different questions, and too wide for the same questions, which models find hard alike:
the covariance of the question means is what the paired comparison takes off.

A model whose questions all have one score has a standard error of 0, which is no certainty. The limits are then those
of both scores, combined (Newcombe 1998, method 10; Zou and Donner 2008): with d = a - b and the limits l and u of each,

    low = d - sqrt((a - l_a)^2 + (u_b - b)^2),  high = d + sqrt((u_a - a)^2 + (b - l_b)^2)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from howsure.stats.comparisons.pairs import Comparison, compare
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.core.claims import Claim
from howsure.stats.core.intervals import FEW_DF, Interval, interval, is_few_df
from howsure.stats.core.results import Conditions, Result
from howsure.stats.scores import Scores, score

__all__ = ["UnpairedComparison", "compare_unpaired"]

#: Smallest p-value that is computed from limits.
LEAST_P = 1e-9


@dataclass(frozen=True, eq=False)
class UnpairedComparison(Result):
    """Difference of the scores of two models, each on all of its questions, beside the paired difference.

    Attributes
    ----------
    scores
        Scores of model a and of model b.
    variance
        Squared standard error of the difference, shape (1,): the sum of those of the scores, whose variances over N
        questions divide by N.
    unbiased_variance, df
        The same with variances that divide by N - 1, for the interval and the test, and Welch's degrees of freedom.
    paired
        The comparison on the questions that both answered.
    level
        Coverage of the intervals.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a", "b"], ["1", "2", "3"], [[[1], [1], [0]], [[0], [1], [0]]])
    >>> result = compare_unpaired(cells, "a", "b")
    >>> result.difference.round(3).tolist(), (result.variance / result.paired.variance).round(3).tolist()
    ([0.333], [2.0])
    """

    scores: Scores
    variance: FloatArray
    unbiased_variance: FloatArray
    df: FloatArray
    paired: Comparison
    level: float = 0.95

    @property
    def difference(self) -> FloatArray:
        """Score of a minus score of b, each on all of its questions, shape (1,)."""
        return np.asarray(self.scores.score[:1] - self.scores.score[1:])

    def interval(self, level: float | None = None) -> Interval:
        """Return the interval of the difference at a level in (0, 1), its statistic and its p-value."""
        level = self.level if level is None else level
        between = interval(
            self.difference,
            np.sqrt(self.unbiased_variance),
            self.scores.n_questions.sum(keepdims=True),
            level=level,
            method="t",
            df=self.df,
            bounds=(-1.0, 1.0) if self.scores.unit else None,
        )
        if not self._is_without_variation:
            return between
        low, high = self._combine_limits(level)
        nan = np.full(1, np.nan)
        return replace(
            between, low=low, high=high, statistic=nan, p_value=self._p_of_limits, flat=np.isnan(low), df=nan
        )

    @property
    def _is_without_variation(self) -> bool:
        """Whether the questions of a model all have one score, so that its standard error says nothing."""
        return bool(np.any(self.scores.variance == 0))

    def _combine_limits(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the limits of the difference made of the limits of both scores, shape (1,) each."""
        each = self.scores.interval(level)
        below, above = self.scores.score - each.low, each.high - self.scores.score
        low = self.difference - np.hypot(below[:1], above[1:])
        high = self.difference + np.hypot(above[:1], below[1:])
        return (np.maximum(low, -1), np.minimum(high, 1)) if self.scores.unit else (low, high)

    @property
    def _p_of_limits(self) -> FloatArray:
        """Return 1 minus the highest level at which the combined limits leave 0 out; NaN without limits, shape (1,)."""
        if np.isnan(self._combine_limits(self.level)[0][0]):
            return np.full(1, np.nan)
        left, right = np.log(LEAST_P), 0.0  # of log p: the limits leave 0 out to the right of p
        for _ in range(40):
            middle = (left + right) / 2
            low, high = self._combine_limits(1 - float(np.exp(middle)))
            left, right = (left, middle) if low[0] > 0 or high[0] < 0 else (middle, right)
        return np.full(1, np.exp(right))

    declared = (
        "benchmark=scores.benchmark model_a=scores.models.0 model_b=scores.models.1 n_questions_a=scores.n_questions.0 "
        "n_questions_b=scores.n_questions.1 score_a=scores.score.0 score_b=scores.score.1 difference se=variance.sqrt "
        "low=interval.low high=interval.high p_value=interval.p_value df=interval.df "
        "n_questions_paired=paired.n_questions difference_paired=paired.difference se_paired=paired.variance.sqrt "
        "low_paired=_paired.low high_paired=_paired.high p_value_paired=_paired.p_value variance_ratio=_variance_ratio "
        "claim=scores.claim level note=_reasons.notes"
    )

    def _paired(self) -> Interval:
        """Return the interval of the paired difference."""
        return self.paired.interval(self.level)

    def _variance_ratio(self) -> FloatArray:
        """Return the unpaired over the paired variance; NaN where the latter is 0."""
        return self.variance / np.where(self.paired.variance > 0, self.paired.variance, np.nan)

    def _reasons(self) -> Conditions:
        n_a, n_b = (self.scores.n_questions[i : i + 1] for i in (0, 1))
        between, common = self.interval(), self.paired.n_questions
        return {
            "no question in common: only the unpaired comparison is possible": common == 0,
            "the same questions: the paired comparison is the one to report": (common == n_a)
            & (common == n_b)
            & (common > 1),
            "some questions are not common: the two differences are on different questions": (common > 0)
            & ((common < n_a) | (common < n_b)),
            "one question of a model: the spread over questions is unknown": (n_a == 1) | (n_b == 1),
            "no scores of a model": (n_a == 0) | (n_b == 0),
            "one generation per question of a model: its error on these questions is unknown": (n_a > 0)
            & (n_b > 0)
            & np.isnan(self.variance)
            & (self.scores.claim == "these-questions"),
            "a model without variation: the limits are combined from those of both scores": ~between.flat
            & self._is_without_variation,
            "no variation was seen: no interval": between.flat,
            "questions in clusters: the error is for new clusters": np.full(
                1, self.scores.n_clusters is not None and self.scores.claim != "these-questions"
            ),
            FEW_DF: is_few_df(between),
        }


def compare_unpaired(
    cells: Cells, a: str, b: str, *, claim: Claim = "new-questions", level: float = 0.95
) -> UnpairedComparison:
    """Compare two models as if their questions had nothing to do with each other.

    Parameters
    ----------
    cells
        Models on N questions.
    a, b
        Names of two different models; the difference is a - b.
    claim, level
        As for `pairs`.

    Returns
    -------
    UnpairedComparison
        One row, with the paired comparison beside it.

    Raises
    ------
    InputError
        When a model is unknown, or an argument is not allowed.

    References
    ----------
    NOISE, example 1. Welch (1947), Biometrika 34. Newcombe (1998), Statistics in Medicine 17, 873-890. Zou and Donner
    (2008), Statistics in Medicine 27, 1693-1702.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a", "b"], ["1", "2", "3"], [[[1], [1], [0]], [[0], [1], [0]]])
    >>> compare_unpaired(cells, "a", "b")["difference"].round(3).tolist()
    [0.333]
    """
    chosen = cells.select([a, b])
    scores = score(chosen, claim=claim, level=level)
    paired = compare(chosen, a, b, claim=claim, level=level)
    variance = scores.variance.sum(keepdims=True)
    unbiased, df = scores.variance, scores.df
    with np.errstate(divide="ignore", invalid="ignore"):
        if df is None:
            df = np.asarray(scores.n_questions - 1.0)
            unbiased = np.asarray(unbiased * scores.n_questions / df)
        total = unbiased.sum(keepdims=True)
        welch = total**2 / np.sum(np.where(unbiased > 0, unbiased**2 / df, 0), keepdims=True)
    return UnpairedComparison(scores, variance, total, welch, paired, level)
