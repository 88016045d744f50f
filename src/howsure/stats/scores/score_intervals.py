"""Intervals of a score that need more than its standard error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.core.claims import PosteriorMethod
from howsure.stats.scores import bootstrap
from howsure.stats.scores.mean_posterior import posterior_of_mean

__all__ = ["SCORE_INTERVALS", "clopper_pearson", "wilson"]


def wilson(correct: ArrayLike, n: ArrayLike, level: float) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's interval: all p that the score test does not reject; low and high of the common shape.

    >>> [end.round(4).tolist() for end in wilson([8], [10], 0.95)]
    [[0.4902], [0.9433]]
    """
    n = np.asarray(n, float)
    p = np.asarray(correct, float) / n
    z2 = special.ndtri((1 + level) / 2) ** 2
    center = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return np.where(p == 0, 0.0, center - half), np.where(p == 1, 1.0, center + half)


def clopper_pearson(correct: ArrayLike, n: ArrayLike, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the exact interval, which covers every p with at least `level`; low and high of the common shape.

    >>> [end.round(4).tolist() for end in clopper_pearson([8], [10], 0.95)]
    [[0.4439], [0.9748]]
    """
    correct, n = np.broadcast_arrays(np.asarray(correct, float), np.asarray(n, float))
    alpha = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = special.betaincinv(correct, n - correct + 1, alpha)
        high = special.betaincinv(correct + 1, n - correct, 1 - alpha)
    return np.where(correct == 0, 0.0, low), np.where(correct == n, 1.0, high)


def _posterior(method: PosteriorMethod) -> Callable[[Cells, float], tuple[FloatArray, FloatArray]]:
    """Return a function of cells and level to the posterior interval; NaN for other scores than 0 and 1."""

    def of(cells: Cells, level: float) -> tuple[FloatArray, FloatArray]:
        if not cells.binary:
            nothing = np.full(len(cells.models), np.nan)
            return nothing, nothing
        return posterior_of_mean(cells.total, cells.n, level, method=method)

    return of


def _proportion(
    limits: Callable[[FloatArray, FloatArray, float], tuple[FloatArray, FloatArray]],
) -> Callable[[Cells, float], tuple[FloatArray, FloatArray]]:
    """Return a function of cells and level to an interval for one generation per question, scored 0 or 1."""

    def of(cells: Cells, level: float) -> tuple[FloatArray, FloatArray]:
        n = np.sum(cells.n, axis=1).astype(float)
        fits = np.all(cells.n <= 1, axis=1) & (n > 0) & cells.binary
        n = np.where(fits, n, np.nan)
        return limits(np.sum(cells.total, axis=1), n, level)

    return of


#: Method to interval, for the claim about new questions. NaN for a model that the method is not for: wilson and exact
#: want one generation per question scored 0 or 1, posterior and beta-binomial any number of them.
SCORE_INTERVALS: dict[str, Callable[[Cells, float], tuple[FloatArray, FloatArray]]] = {
    "wilson": _proportion(wilson),
    "exact": _proportion(clopper_pearson),
    "posterior": _posterior("variance"),
    "beta-binomial": _posterior("beta-binomial"),
    "bootstrap": bootstrap.percentile_limits,
    "bca": bootstrap.bca_limits,
}
