"""The comparison of two models that ignores that both answered the same questions, beside the paired one.

Squared standard errors add up: SE^2 = SE_a^2 + SE_b^2, with Welch's degrees of freedom. It is right for models that
answered different questions, and too wide for the same questions, which models find hard alike: the covariance of the
question means is what the paired comparison takes off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howsure.stats.comparisons.pairs import Comparison, compare
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.core.claims import Claim
from howsure.stats.core.intervals import Interval, interval
from howsure.stats.core.results import Columns, Result, make_columns, notes
from howsure.stats.scores import Scores, score

__all__ = ["UnpairedComparison", "compare_unpaired"]


@dataclass(frozen=True, eq=False)
class UnpairedComparison(Result):
    """Difference of the scores of two models, each on all of its questions, beside the paired difference.

    Attributes
    ----------
    scores
        Scores of model a and of model b.
    variance, df
        Squared standard error of the difference, and Welch's degrees of freedom; shape (1,).
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
    df: FloatArray
    paired: Comparison
    level: float = 0.95

    @property
    def difference(self) -> FloatArray:
        """Score of a minus score of b, each on all of its questions, shape (1,)."""
        return np.asarray(self.scores.score[:1] - self.scores.score[1:])

    def interval(self, level: float | None = None) -> Interval:
        """Return the interval of the difference at a level in (0, 1), its statistic and its p-value."""
        return interval(
            self.difference,
            np.sqrt(self.variance),
            self.scores.n_questions.sum(keepdims=True),
            level=self.level if level is None else level,
            method="t",
            df=self.df,
            bounds=(-1.0, 1.0) if self.scores.unit else None,
        )

    def columns(self) -> Columns:
        """Return one row."""
        between, paired = self.interval(), self.paired.interval(self.level)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.variance / np.where(self.paired.variance > 0, self.paired.variance, np.nan)
        n_a, n_b = (self.scores.n_questions[i : i + 1] for i in (0, 1))
        common = self.paired.n_questions
        return make_columns(
            1,
            benchmark=self.scores.benchmark,
            model_a=self.scores.models[:1],
            model_b=self.scores.models[1:],
            n_questions_a=n_a,
            n_questions_b=n_b,
            score_a=self.scores.score[:1],
            score_b=self.scores.score[1:],
            difference=self.difference,
            se=np.sqrt(self.variance),
            low=between.low,
            high=between.high,
            p_value=between.p_value,
            df=between.df,
            n_questions_paired=common,
            difference_paired=self.paired.difference,
            se_paired=np.sqrt(self.paired.variance),
            low_paired=paired.low,
            high_paired=paired.high,
            p_value_paired=paired.p_value,
            variance_ratio=ratio,
            claim=self.scores.claim,
            level=self.level,
            note=notes(
                {
                    "no question in common: only the unpaired comparison is possible": common == 0,
                    "the same questions: the paired comparison is the one to report": (common == n_a)
                    & (common == n_b)
                    & (common > 1),
                    "some questions are not common: the two differences are on different questions": (common > 0)
                    & ((common < n_a) | (common < n_b)),
                    "one question of a model: the spread over questions is unknown": (n_a == 1) | (n_b == 1),
                    "no scores of a model": (n_a == 0) | (n_b == 0),
                    "no variation was seen: no interval": between.flat,
                }
            ),
        )


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
    NOISE, example 1. Welch (1947), Biometrika 34.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a", "b"], ["1", "2", "3"], [[[1], [1], [0]], [[0], [1], [0]]])
    >>> compare_unpaired(cells, "a", "b")["difference"].round(3).tolist()
    [0.333]
    """
    chosen = cells.select([a, b])
    scores = score(chosen, claim=claim, level=level)
    paired = compare(chosen, a, b, claim=claim, level=level)
    df = (scores.n_questions - 1.0) if scores.df is None else scores.df
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = scores.variance.sum(keepdims=True)
        welch = variance**2 / np.sum(np.where(scores.variance > 0, scores.variance**2 / df, 0), keepdims=True)
    return UnpairedComparison(scores, variance, welch, paired, level)
