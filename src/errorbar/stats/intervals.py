"""An interval around an estimate: the normal one of the central limit theorem, and Student's t for few questions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from errorbar.errors import InputError, UnknownNameError
from errorbar.stats.cells import FloatArray

__all__ = ["CLT_FROM", "METHODS", "Interval", "interval"]

#: The CLT interval undercovers below a few hundred questions (Bowyer et al. 2025); t is the default there.
CLT_FROM = 300

METHODS = ("clt", "t")


@dataclass(frozen=True, eq=False)
class Interval:
    """Intervals, one per estimate; arrays of the estimate's shape.

    Attributes
    ----------
    low, high
        Limits; NaN where the standard error is unknown, or 0 (`flat`).
    method
        The method of each, 'clt' or 't'.
    statistic, p_value
        Estimate over its standard error in that method's form, and the two-sided p-value of "the truth is 0":
        below 1 - level exactly where the unclipped interval excludes 0.
    flat
        Where no variation was seen at all: an interval of width 0 would claim certainty.
    """

    low: FloatArray
    high: FloatArray
    level: float
    method: NDArray[np.str_]
    statistic: FloatArray = field(repr=False)
    p_value: FloatArray = field(repr=False)
    flat: NDArray[np.bool_] = field(repr=False)


def interval(
    estimate: ArrayLike,
    se: ArrayLike,
    n: ArrayLike,
    *,
    level: float = 0.95,
    method: str | None = None,
    df: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """Interval `estimate ± quantile * se`.

    Parameters
    ----------
    estimate, se
        Estimates and their standard errors, any common shape. `se` comes from a variance over `n` questions that
        divides by n; the t interval turns it into the one that divides by n - 1 (unless `df` is given).
    n
        Number of questions behind each estimate.
    level
        Coverage in (0, 1).
    method
        `"clt"`, `"t"`, or None: t below `CLT_FROM` questions, else CLT.
    df
        Degrees of freedom of `se` where they are not n - 1; then `se` is unbiased as it is.
    bounds
        Limits that a score cannot leave; the interval is cut there.

    >>> i = interval([0.7], [0.02], [1000])
    >>> i.low.round(4).tolist(), i.high.round(4).tolist(), i.method.tolist()
    ([0.6608], [0.7392], ['clt'])
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}", remedy="allowed: between 0 and 1, such as 0.95")
    if method is not None and method not in METHODS:
        raise UnknownNameError("interval method", method, METHODS)
    estimate, se, n = np.broadcast_arrays(np.asarray(estimate, float), np.asarray(se, float), np.asarray(n, float))
    by_t = n < CLT_FROM if method is None else np.full(n.shape, method == "t")
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = n - 1 if df is None else np.broadcast_to(np.asarray(df, float), n.shape)
        # sd with ddof = 1 in place of ddof = 0
        unbiased = se * np.sqrt(n / (n - 1)) if df is None else se
        freedom = np.where(freedom > 0, freedom, np.nan)
        width = np.where(
            by_t, special.stdtrit(freedom, (1 + level) / 2) * unbiased, special.ndtri((1 + level) / 2) * se
        )
        width = np.where(width > 0, width, np.nan)  # no variation seen: a width of 0 would claim certainty
        statistic = np.where(by_t, estimate / unbiased, estimate / se)
        p_value = np.where(by_t, 2 * special.stdtr(freedom, -np.abs(statistic)), 2 * special.ndtr(-np.abs(statistic)))
    p_value = np.where((se == 0) & (estimate != 0), np.nan, p_value)
    p_value = np.where((se == 0) & (estimate == 0), 1.0, p_value)
    low, high = estimate - width, estimate + width
    if bounds is not None:
        low, high = np.clip(low, *bounds), np.clip(high, *bounds)
    return Interval(low, high, level, np.where(by_t, "t", "clt"), statistic, p_value, se == 0)
