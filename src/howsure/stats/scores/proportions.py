"""Intervals for a proportion of independent successes: one generation per question, scored 0 or 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from howsure.stats.core.cells import FloatArray

__all__ = ["clopper_pearson", "wilson"]


def wilson(correct: ArrayLike, n: ArrayLike, level: float) -> tuple[FloatArray, FloatArray]:
    """All p that the score test does not reject (Wilson 1927); low and high of the common shape.

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
    """The exact interval (Clopper and Pearson 1934), at least `level` for every p; low and high of the common shape.

    >>> [end.round(4).tolist() for end in clopper_pearson([8], [10], 0.95)]
    [[0.4439], [0.9748]]
    """
    correct, n = np.broadcast_arrays(np.asarray(correct, float), np.asarray(n, float))
    alpha = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = special.betaincinv(correct, n - correct + 1, alpha)
        high = special.betaincinv(correct + 1, n - correct, 1 - alpha)
    return np.where(correct == 0, 0.0, low), np.where(correct == n, 1.0, high)
