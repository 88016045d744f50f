"""Scores with missing generations left out, counted as wrong, or bounded from both sides.

A generation that failed, and a question that a model has nothing for while others do, are missing: the score is of what
was answered. A leaderboard may count them as wrong (`as_zero`). Whatever they would have scored, the score lies between
the two extremes (Manski 1990, bounds without assumptions), and an interval around both extremes covers it (Imbens and
Manski 2004).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import MISSING_RULES, MissingRule, check_choice
from howsure.stats.core.intervals import Limits
from howsure.stats.core.results import Columns, Result, RowNotes, read_columns
from howsure.stats.scores.score import Scores, describe_generations

__all__ = ["Bounds", "count_missing", "fill_missing", "score_with_missing"]

#: Critical values at which limits are computed; those between are interpolated (error below .01 standard errors).
_NODES = 3


def count_missing(cells: Cells) -> IntArray:
    """Return the number of missing generations of each cell, shape (M, N).

    Those that failed; and of a question of which the model has no row at all, as many as its other questions have in
    the middle (median), at least one.
    """
    failed = cells.failed if cells.failed is not None else np.zeros(cells.n.shape, dtype=np.int64)
    there = cells.n + failed
    absent = there == 0
    usual = [int(np.median(row[row > 0])) if np.any(row > 0) else 1 for row in there]
    n_missing: IntArray = failed + absent * np.array(usual, dtype=np.int64)[:, None]
    return n_missing


def fill_missing(cells: Cells, value: float) -> Cells:
    """Return the cells with every missing generation scored `value`.

    Raises
    ------
    InputError
        When scores are not in [0, 1]: then neither 0 nor 1 is an extreme.
    """
    more = count_missing(cells)
    if not more.any():
        return cells
    if not cells.unit:
        remedy = "leave --missing out, or scale the scores to [0, 1]"
        raise InputError(
            "missing scores cannot be bounded: scores are not in [0, 1]", where=cells.benchmark, remedy=remedy
        )
    none = None if cells.failed is None else np.zeros_like(cells.failed)
    return replace(
        cells,
        n=cells.n + more,
        total=cells.total + value * more,
        total_sq=cells.total_sq + value * value * more,
        failed=none,
        minimum=None if cells.minimum is None else np.where(more > 0, np.fmin(cells.minimum, value), cells.minimum),
        maximum=None if cells.maximum is None else np.where(more > 0, np.fmax(cells.maximum, value), cells.maximum),
        outcomes=None,  # the order of the generations does not include those that were added
    )


def _critical_value(ratio: FloatArray, level: float) -> FloatArray:
    """Standard errors by which an interval has to reach beyond both bounds of a partly known mean."""
    ratio = np.asarray(ratio, float)
    low = np.full(ratio.shape, special.ndtri(level))
    high = np.full(ratio.shape, special.ndtri((1 + level) / 2))
    for _ in range(50):  # the left side rises with C
        middle = (low + high) / 2
        short = special.ndtr(middle + ratio) - special.ndtr(-middle) < level
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.where(np.isnan(ratio), np.nan, (low + high) / 2)


@dataclass(frozen=True, eq=False)
class Bounds(Result):
    """Scores of what was answered, with intervals that cover the score whatever is missing.

    Attributes
    ----------
    answered, as_zero, as_one
        Scores with what is missing left out, wrong and right.

    Examples
    --------
    >>> from howsure.stats.core.cells import Cells
    >>> from howsure.stats.scores import score
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[1], [0], []]])
    >>> result = score_with_missing(cells, "bounds", score)
    >>> result.as_zero.score.round(2).tolist(), result.as_one.score.round(2).tolist()
    ([0.33], [0.67])
    """

    answered: Scores
    as_zero: Scores
    as_one: Scores

    def interval(self, level: float | None = None) -> Limits:
        """Return the interval of each score at a level in (0, 1), shape (M,).

        The lower limit is that of `as_zero` and the upper one that of `as_one`, at the level that has
        `_critical_value` for its quantile. Where nothing is missing that is the interval of `answered`.

        Notes
        -----
        The probability of covering is lowest where the missing generations were all right or all wrong, and missing
        for that; docs/guarantees.md has it by simulation (``python bench/guarantees.py``).
        """
        level = self.answered.level if level is None else level
        two_sided = special.ndtri((1 + level) / 2)
        # at a level of .5 or less the one-sided quantile is not above 0: the limits are then about those two scores
        nodes = np.linspace(max(special.ndtri(level), two_sided / 100), two_sided, _NODES)
        levels = [*(2 * special.ndtr(nodes[:-1]) - 1), level]
        below, above = ([side.interval(each) for each in levels] for side in (self.as_zero, self.as_one))
        # The widths at `level` are the standard errors of any method, in units of its quantile.
        error = np.fmax(below[-1].high - below[-1].low, above[-1].high - above[-1].low) / 2 / nodes[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(
                self.as_one.score > self.as_zero.score, (self.as_one.score - self.as_zero.score) / error, 0
            )
        place = (_critical_value(ratio, level) - nodes[0]) / (nodes[1] - nodes[0])
        lows, highs = np.array([each.low for each in below]), np.array([each.high for each in above])
        return Limits(_interpolate(lows, place), _interpolate(highs, place), level)

    def columns(self) -> Columns:
        """Return the columns of `answered` with `score_low`, `score_high`, and the limits of `interval`."""
        columns = self.answered.columns()
        order = [self.answered.models.index(model) for model in columns["model"]]  # the best model first
        names = list(columns)
        names[names.index("score") + 1 : 1] = ["score_low", "score_high"]
        declared = "score_low=as_zero.score score_high=as_one.score low=interval.low high=interval.high"
        columns |= read_columns(self, declared, [np.array(order, dtype=int)])
        return {name: columns[name] for name in names}


def _interpolate(values: FloatArray, place: FloatArray) -> FloatArray:
    """Interpolate rows of `values` (K, M) at a place from 0 to K - 1 for each of M columns."""
    below = np.clip(np.floor(np.nan_to_num(place)), 0, len(values) - 2).astype(int)
    share, column = np.clip(place - below, 0, 1), np.arange(values.shape[1])
    share = np.where(share > 1 - 1e-9, 1, share)
    low, high = values[below, column], values[below + 1, column]
    value: FloatArray = np.where(share == 1, high, (1 - share) * low + share * high)
    return value


def _note_missing(scores: Scores, cells: Cells, handling: str) -> Scores:
    """Return scores with the number of questions of `cells` that were missing, and a note on how they were handled."""
    n_generations = count_missing(cells).sum(axis=1)
    reasons = [
        RowNotes(reason, f"{describe_generations(n)} without a score, {handling}" if n else "")
        for reason, n in zip(scores.reasons, n_generations.tolist(), strict=True)
    ]
    return replace(scores, n_missing=len(cells.questions) - cells.answered.sum(axis=1), reasons=tuple(reasons))


def score_with_missing(cells: Cells, rule: MissingRule, score: Callable[[Cells], Scores]) -> Result:
    """Score models with missing generations handled by a rule.

    Parameters
    ----------
    cells
        M models on N questions.
    rule
        ``"as-missing"``: leave them out; ``"as-zero"``: count them as wrong; ``"bounds"``: an interval that covers the
        score whatever they would have been.
    score
        Function of cells to their scores.

    Returns
    -------
    Result
        `Scores`, or `Bounds` for the rule ``"bounds"``.

    Raises
    ------
    InputError
        When something is missing and scores are not in [0, 1], except for ``"as-missing"``.

    References
    ----------
    Manski (1990), American Economic Review 80. Imbens and Manski (2004), Econometrica 72.
    """
    check_choice("rule for what is missing", rule, MISSING_RULES)
    if rule == "as-missing":
        return score(cells)
    if rule == "as-zero":
        return _note_missing(score(fill_missing(cells, 0.0)), cells, "scored 0")
    handling = "which score leaves out and its bounds score 0 and 1"
    answered = _note_missing(score(replace(cells, failed=None)), cells, handling)
    return Bounds(answered, score(fill_missing(cells, 0.0)), score(fill_missing(cells, 1.0)))
