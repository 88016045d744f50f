"""Intervals of variances that take the kurtosis into account, and of differences of two mean squares.

The variance s2 of n values has Var(log s2) = (kurtosis - (n - 3)/n) / (n - 1), so its limits are (Bonett 2006)

    c s2 exp(-+ z c se)      kurtosis = n sum (x - m)^4 / (sum (x - mean)^2)^2,  m the mean trimmed by 1/(2 sqrt(n - 4))

Bonett's c = n/(n - z) is here 1 + z/n, its first terms: for five values the rest makes intervals 1.4 times as wide
without need. The difference of two mean squares has the modified large-sample limits of Graybill and Wang (Burdick
and Graybill 1992, section 3.3), which are those of one mean square where it stands alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from howsure.stats.core.cells import FloatArray

__all__ = ["Factors", "chi_square_factors", "difference_limits", "variance_factors", "variance_limits"]

#: Kurtosis says nothing of fewer values than this.
_FEWEST = 4
#: Squared and relative: values that differ by less are equal.
_ROUNDING = 1e-24


class Factors(NamedTuple):
    """Factors of an estimated variance that give its lower and upper limits, shape (M,)."""

    low: FloatArray
    high: FloatArray


def variance_factors(values: FloatArray, level: float) -> Factors:
    """Return the factors of the variance of each row, (M, n) with NaN for missing values; NaN if all are equal.

    Of two or three values they are those of normal ones.
    """
    there = ~np.isnan(values)
    n = np.sum(there, axis=1).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.where(there, values - _trimmed_mean(values, n)[:, None], 0)
        mean = np.sum(off, axis=1) / n
        square = np.sum(off**2, axis=1) - n * mean**2
        square = np.where(square > _ROUNDING * np.sum(values**2, axis=1, where=there), square, np.nan)
        kurtosis = n * np.sum(off**4, axis=1) / square**2
        z = special.ndtri((1 + level) / 2)
        c = 1 + z / n
        far = z * c * np.sqrt((kurtosis - (n - 3) / n) / (n - 1))
        low, high = c * np.exp(-far), c * np.exp(far)
    normal = chi_square_factors(np.where(np.isnan(square), np.nan, n - 1), level)
    few = n < _FEWEST
    return Factors(np.where(few, normal.low, low), np.where(few, normal.high, high))


def chi_square_factors(df: ArrayLike, level: float) -> Factors:
    """Return the factors of a variance with a chi-squared distribution of this df; NaN if df is not positive."""
    given = np.asarray(df, float)
    tail = (1 - level) / 2
    used = np.where(given > 0, np.minimum(given, 1e7), np.nan)
    return Factors(used / special.chdtri(used, tail), used / special.chdtri(used, 1 - tail))


def variance_limits(estimate: FloatArray, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return limits of the variance of the population of each row of `values`; `estimate` is the unbiased one."""
    factors = variance_factors(values, level)
    return estimate * factors.low, estimate * factors.high


def difference_limits(
    first: FloatArray, of_first: Factors, second: FloatArray, of_second: Factors
) -> tuple[FloatArray, FloatArray]:
    """Return limits of E(first) - E(second) of two mean squares, cut at 0, the least value of a variance."""
    estimate = first - second
    low = estimate - np.hypot((1 - of_first.low) * first, (of_second.high - 1) * second)
    high = estimate + np.hypot((of_first.high - 1) * first, (1 - of_second.low) * second)
    return np.maximum(low, 0), np.maximum(high, 0)


def _trimmed_mean(values: FloatArray, n: FloatArray) -> FloatArray:
    """Return the mean without the share 1/(2 sqrt(n - 4)) of the values at either end; the median if n <= 5."""
    share = 1 / (2 * np.sqrt(np.maximum(n - 4, 1)))
    cut = np.minimum(np.floor(share * n), np.maximum(np.ceil(n / 2) - 1, 0))[:, None]
    rank = np.arange(values.shape[1])
    inside = (rank >= cut) & (rank < n[:, None] - cut)
    mean: FloatArray = np.sum(np.sort(values, axis=1), axis=1, where=inside) / np.sum(inside, axis=1)
    return mean
