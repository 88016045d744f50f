"""Variance that sampling alone leaves in a score on these very questions, and its degrees of freedom.

SE^2 = sum_q s2_q / k_q / N^2    (docs/methods/scores.md, the claim "these-questions")
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howsure.stats.core.cells import Cells, FloatArray, IntArray

__all__ = ["fill_within_variances", "sampling_df", "unvaried_half_width"]


def fill_within_variances(cells: Cells, where: NDArray[np.bool_]) -> FloatArray:
    """Return the within-variance s2_q of each question in `where`, shape (M, N).

    A question with one generation has none of its own. The mean E of the others stands for it, assuming that counts do
    not depend on the answers; NaN where there are no others.
    """
    several = where & (cells.n > 1)
    with np.errstate(invalid="ignore"):
        E = np.sum(cells.within, axis=1, where=several) / np.sum(several, axis=1)
    s2: FloatArray = np.where(several, cells.within, E[:, None])
    return s2


def sampling_df(parts: FloatArray, k: IntArray) -> FloatArray:
    """Return the degrees of freedom of a sum over questions of within-variances times weights.

    Parameters
    ----------
    parts
        Weighted within-variances, shape (M, N); anything where `k` < 2.
    k
        Generations behind each, shape (M, N); those with fewer than two have no variance and do not count.

    Returns
    -------
    Shape (M,): 2 S^2 / V of the sum S, V its variance as the spread of its parts over the questions shows it, and at
    most sum (k_q - 1). The count alone forgets that the variances of 0/1 scores near the ceiling hang on the few
    questions that varied: at p = .99, N = 100 and 3 generations its 95 % interval covers 84 %. V also holds the true
    differences between questions, which errs to the safe side.
    """
    several = k > 1
    number = np.sum(several, axis=1)
    count = np.sum(np.maximum(k - 1, 0), axis=1).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.sum(parts, axis=1, where=several)
        sum_variance = np.sum((parts - (total / number)[:, None]) ** 2, axis=1, where=several) * number / (number - 1)
        df: FloatArray = np.fmin(count, 2 * total**2 / sum_variance)
    return np.where(total > 0, df, count)


def unvaried_half_width(past: FloatArray, future: FloatArray | IntArray, level: float) -> FloatArray:
    """Return the largest likely distance of the mean of future generations from that of past ones that did not vary.

    Parameters
    ----------
    past
        Generations per question that could have shown variation, any shape; all scores are 0 or 1, and those of each
        question are alike.
    future
        Generations per question to be predicted, of the same shape, at least 1; infinity for the expected score.
    level
        Coverage in (0, 1).

    Returns
    -------
    u / future, where u is the most future generations that differ from the past ones of their question. Divided by
    the number of questions it is the distance of the means. NaN where `past` is 0.

    Notes
    -----
    Let a generation differ from the usual score of its question with a small probability. Of T generations that do,
    past and future together, none is in the past with probability r^T, r = future / (past + future) (Przyborowski and
    Wilenski 1940; Nelson 1970 for the prediction of a Poisson count). u is the smallest whole number with
    r^(u + 1) <= 1 - level: that nothing varies and yet more than u differ has at most the probability 1 - level. For
    infinitely many it is -log(1 - level) / past, the rule of three (Hanley and Lippman-Hand 1983).

    It is wide rather than narrow, because u is a whole number.

    Examples
    --------
    >>> unvaried_half_width(np.array([2.0, 2.0, 5.0, 2.0]), np.array([1, 2, 5, np.inf]), 0.95).round(2).tolist()
    [2.0, 2.0, 0.8, 1.5]
    """
    past = np.where(np.asarray(past, float) > 0, past, np.nan)
    future = np.asarray(future, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.log(1 - level) / -np.log1p(past / future)
        half_width: FloatArray = (np.ceil(most - 1e-9) - 1) / future
    return np.where(np.isinf(future), -np.log(1 - level) / past, half_width)
