"""The interval of an estimate, computed from its standard error.

`t`: Student's t. `clt`: the normal law. `wilson-effective`: for scores in [0, 1], Wilson's interval for the number of
independent right-or-wrong answers that would be as uncertain, p(1 - p)/SE^2, with the quantile of t (the effective
sample size of survey statistics, Korn and Graubard 1998). It stays within [0, 1], is lopsided where scores are, and
keeps its coverage near 0 and 1, where t and CLT lose it (docs/guarantees.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.stats.core.cells import FloatArray
from howsure.stats.core.claims import BASIC_METHODS, BasicMethod, check_choice, check_level

__all__ = [
    "FEWEST_DF",
    "FEW_DF",
    "Interval",
    "Limits",
    "VarianceFactors",
    "chi_square_factors",
    "compute_normal_error",
    "compute_normal_score",
    "difference_limits",
    "interval",
    "is_few_df",
    "log_choose",
    "variance_factors",
    "variance_limits",
]

#: Note on an interval of t with fewer degrees of freedom than `FEWEST_DF`.
FEW_DF = "fewer than 5 degrees of freedom: read the interval with care"
FEWEST_DF = 5


@dataclass(frozen=True, eq=False)
class Limits:
    """Lower and upper limits of intervals at one level.

    Attributes
    ----------
    low, high
        Limits; NaN where there is no interval.
    level
        Coverage in (0, 1).

    Examples
    --------
    >>> limits = Limits(np.array([0.4]), np.array([0.6]), 0.95)
    >>> (limits.high - limits.low).round(1).tolist()
    [0.2]
    """

    low: FloatArray
    high: FloatArray
    level: float


@dataclass(frozen=True, eq=False)
class Interval(Limits):
    """Intervals, one per estimate; arrays of the estimate's shape.

    Attributes
    ----------
    low, high
        Limits; NaN where the standard error is unknown, or 0 (`flat`), or the method does not apply to these data.
    level
        Coverage in (0, 1).
    method
        The method of each interval.
    statistic, p_value
        Estimate over its standard error (of t, or of CLT for that method) and the two-sided p-value of "the truth is
        0": below 1 - level exactly where the uncut t or CLT interval excludes 0.
    flat
        Where no variation was seen at all: an interval of width 0 would claim certainty.
    df
        Degrees of freedom of the quantile of t that the interval uses; NaN for intervals that use none.
    se
        Estimate over the statistic: the standard error that the test compares the estimate with.

    Examples
    --------
    >>> between = interval([0.5], [0.05], [100])
    >>> between.low.round(3).tolist(), between.high.round(3).tolist(), between.level
    ([0.4], [0.6], 0.95)
    """

    method: NDArray[np.str_]
    statistic: FloatArray = field(repr=False)
    p_value: FloatArray = field(repr=False)
    flat: NDArray[np.bool_] = field(repr=False)
    df: FloatArray = field(repr=False)
    se: FloatArray = field(repr=False)


def compute_normal_score(between: Interval) -> FloatArray:
    """Return z of each test, the value of a standard normal variable with the same two-sided p-value and sign.

    Notes
    -----
    z = sign(statistic) Phi^-1(1 - p / 2). Of a normal test (CLT) it is the statistic itself; of Student's t it is
    smaller. Where p is too small for a number, z of Student's t with df degrees of freedom is Wallace's leading term,
    sign(t) sqrt(df log(1 + t^2 / df)), and that of other tests the statistic.

    References
    ----------
    Wallace (1959), Bounds on normal approximations to Student's and the chi-square distributions, Ann. Math. Statist.

    Examples
    --------
    >>> between = interval([0.5, 0.1], [0.1, 0.1], [5, 5])
    >>> compute_normal_score(between).round(2).tolist(), between.statistic.round(2).tolist()
    ([2.54, 0.8], [4.47, 0.89])
    """
    with np.errstate(divide="ignore"):
        size = -special.ndtri(between.p_value / 2)
    leading = np.sqrt(between.df * np.log1p(between.statistic**2 / between.df))
    size = np.where(np.isinf(size), np.where(np.isnan(leading), np.abs(between.statistic), leading), size)
    size = np.where(between.method == "clt", np.abs(between.statistic), size)
    return np.asarray(np.copysign(size, between.statistic))


def compute_normal_error(between: Interval) -> FloatArray:
    """Return the standard error with which a normal estimate has the p-value of each test; 0 where nothing varied.

    Examples
    --------
    >>> compute_normal_error(interval([0.5, 0.0], [0.1, 0.1], [5, 5])).round(3).tolist()
    [0.197, 0.119]
    """
    t = np.maximum(np.abs(between.statistic), 1e-6)  # the ratio below has a limit at 0
    p_value = 2 * np.where(np.isnan(between.df), special.ndtr(-t), special.stdtr(between.df, -t))
    with np.errstate(invalid="ignore"):
        error = between.se * t / compute_normal_score(replace(between, statistic=t, p_value=p_value))
    return np.where(np.isnan(between.p_value), np.nan, np.where(between.flat, 0.0, error))


def interval(
    estimate: ArrayLike,
    se: ArrayLike,
    n: ArrayLike,
    *,
    level: float = 0.95,
    method: BasicMethod = "t",
    df: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """Compute an interval of each estimate from its standard error.

    Parameters
    ----------
    estimate, se
        Estimates and their standard errors, any common shape. `se` comes from a variance over `n` questions that
        divides by n; t and wilson-effective turn it into the one that divides by n - 1 (unless `df` is given).
    n
        Number of questions, or clusters, behind each estimate.
    level
        Coverage in (0, 1).
    method
        One of `BASIC_METHODS`; wilson-effective needs bounds.
    df
        Degrees of freedom of `se` if they are not n - 1; then `se` is unbiased as it is.
    bounds
        Limits that a score cannot leave; the interval is cut there.

    Returns
    -------
    Interval
        Limits, statistic and p-value of each estimate.

    References
    ----------
    Wilson (1927), JASA 22. Korn and Graubard (1998), Survey Methodology 24, for the effective sample size.

    Examples
    --------
    >>> i = interval([0.7, 1.0], [0.02, 0.0], [1000, 50], method="wilson-effective", bounds=(0, 1))
    >>> i.low.round(4).tolist(), i.high.round(4).tolist()
    ([0.6594, 0.9253], [0.7377, 1.0])
    """
    check_level(level)
    check_choice("interval method", method, BASIC_METHODS)
    estimate, se, n = np.broadcast_arrays(np.asarray(estimate, float), np.asarray(se, float), np.asarray(n, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        if method == "clt":
            degrees = np.full(n.shape, np.nan)
            quantile = np.full(n.shape, special.ndtri((1 + level) / 2))
            statistic = estimate / se
            p_value = 2 * special.ndtr(-np.abs(statistic))
        else:
            degrees = n - 1 if df is None else np.broadcast_to(np.asarray(df, float), n.shape)
            degrees = np.where(degrees > 0, degrees, np.nan)
            quantile = special.stdtrit(degrees, (1 + level) / 2)
            se = se * np.sqrt(n / (n - 1)) if df is None else se  # ddof = 1 in place of 0
            statistic = estimate / se
            p_value = 2 * special.stdtr(degrees, -np.abs(statistic))
        flat = se == 0
        p_value = np.where(flat, np.where(estimate == 0, 1.0, np.nan), p_value)
        if method == "wilson-effective" and bounds is not None:
            low, high = _wilson_effective(estimate, se, n, quantile, bounds)
            flat = flat & np.isnan(low)
        else:
            half = np.where((quantile * se > 0) & (method != "wilson-effective"), quantile * se, np.nan)
            low, high = estimate - half, estimate + half
    if bounds is not None:
        low, high = np.clip(low, *bounds), np.clip(high, *bounds)
    return Interval(low, high, level, np.full(n.shape, method), statistic, p_value, flat, degrees, se)


def is_few_df(between: Interval) -> NDArray[np.bool_]:
    """Return whether an interval rests on fewer than `FEWEST_DF` degrees of freedom, which its note says."""
    few: NDArray[np.bool_] = (between.df < FEWEST_DF) & ~np.isnan(between.low)
    return few


def _wilson_effective(
    estimate: FloatArray, se: FloatArray, n: FloatArray, quantile: FloatArray, bounds: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's interval for the number of independent answers that are as uncertain, p(1 - p)/SE^2."""
    width = bounds[1] - bounds[0]
    p = (estimate - bounds[0]) / width
    p_variance = p * (1 - p)
    # All scores 0, or all 1: no spread to go by, so no more than n independent answers.
    effective = np.where(se > 0, p_variance * width**2 / se**2, np.where(p_variance == 0, n, np.nan))
    q2 = quantile**2 / effective
    center = (p + q2 / 2) / (1 + q2)
    half = np.sqrt(q2 * (p_variance + q2 / 4)) / (1 + q2)
    low = np.where(p == 0, 0.0, center - half)
    high = np.where(p == 1, 1.0, center + half)
    return bounds[0] + width * np.where(np.isnan(q2), np.nan, low), bounds[0] + width * np.where(
        np.isnan(q2), np.nan, high
    )


#: Kurtosis says nothing of fewer values than this.
_FEWEST = 4
#: Squared and relative: values that differ by less are equal.
_ROUNDING = 1e-24


class VarianceFactors(NamedTuple):
    """Factors of an estimated variance that give its lower and upper limits, shape (M,)."""

    low: FloatArray
    high: FloatArray


def variance_factors(values: FloatArray, level: float) -> VarianceFactors:
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
    return VarianceFactors(np.where(few, normal.low, low), np.where(few, normal.high, high))


def chi_square_factors(df: ArrayLike, level: float) -> VarianceFactors:
    """Return the factors of a variance with a chi-squared distribution of this df; NaN if df is not positive."""
    given = np.asarray(df, float)
    tail = (1 - level) / 2
    used = np.where(given > 0, np.minimum(given, 1e7), np.nan)
    return VarianceFactors(used / special.chdtri(used, tail), used / special.chdtri(used, 1 - tail))


def variance_limits(estimate: FloatArray, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return limits of the variance of the population of each row of `values`; `estimate` is the unbiased one."""
    factors = variance_factors(values, level)
    return estimate * factors.low, estimate * factors.high


def difference_limits(
    first: FloatArray, of_first: VarianceFactors, second: FloatArray, of_second: VarianceFactors
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


def log_choose(n: ArrayLike, k: ArrayLike) -> FloatArray:
    """Return the logarithm of the binomial coefficients of whole numbers, -inf where k is above n.

    >>> np.exp(log_choose(4, [0, 2, 5])).round(9).tolist()
    [1.0, 6.0, 0.0]
    """
    n, k = np.asarray(n), np.asarray(k)
    return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))
