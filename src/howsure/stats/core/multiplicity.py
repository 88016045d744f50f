"""Adjustment of p-values for many tests: Holm, and Benjamini-Hochberg."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from howsure.stats.core.cells import FloatArray

__all__ = ["benjamini_hochberg", "holm"]


def holm(p_values: ArrayLike) -> FloatArray:
    """Adjust p-values for control of the family-wise error.

    Parameters
    ----------
    p_values
        Any shape, all of them one family of tests; NaN stays NaN and does not count as a test.

    Returns
    -------
    Adjusted p-values of the same shape.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, float("nan")]).tolist()
    [0.03, 0.06, 0.06, nan]
    """
    return _adjusted(p_values, lambda p, m: np.maximum.accumulate(p * (m - np.arange(m))))


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Adjust p-values for control of the false discovery rate.

    Parameters
    ----------
    p_values
        Any shape, all of them one family of tests; NaN stays NaN and does not count as a test.

    Returns
    -------
    q-values of the same shape.

    References
    ----------
    Benjamini and Hochberg (1995), Controlling the false discovery rate, JRSS B 57.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, float("nan")]).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    return _adjusted(p_values, lambda p, m: np.minimum.accumulate((p * m / np.arange(1, m + 1))[::-1])[::-1])


def _adjusted(p_values: ArrayLike, rule: Callable[[FloatArray, int], FloatArray]) -> FloatArray:
    """Return p-values adjusted by a rule that gets the sorted p-values and their number; NaN stays NaN."""
    p = np.asarray(p_values, float)
    flat, out = p.ravel(), np.full(p.size, np.nan)
    tested = np.flatnonzero(~np.isnan(flat))
    order = tested[np.argsort(flat[tested], kind="stable")]
    out[order] = np.minimum(rule(flat[order], len(order)), 1)
    return out.reshape(p.shape)
