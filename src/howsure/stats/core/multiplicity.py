"""Many tests: p-values adjusted by Holm and Benjamini-Hochberg, and groups that no test separates."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from howsure.stats.core.cells import FloatArray

__all__ = ["benjamini_hochberg", "group_by_letters", "holm"]


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


def group_by_letters(n: int, pairs: Iterable[tuple[int, int]]) -> list[str]:
    """Give n units letters, so that two have one in common unless they are one of the pairs that differ.

    Parameters
    ----------
    n
        Number of units.
    pairs
        Indices of two units that differ each.

    Returns
    -------
    The letters of each unit, a for the group of the first one; after z they go on with A, and then with numbers.

    References
    ----------
    Piepho (2004), An algorithm for a letter-based representation of all-pairwise comparisons, Journal of Computational
    and Graphical Statistics 13: a group that holds both units of a pair is divided, and groups within others go.

    Examples
    --------
    >>> group_by_letters(4, [(0, 2), (0, 3), (1, 3)])
    ['a', 'ab', 'bc', 'c']
    """
    groups = [frozenset(range(n))] if n else []
    for one, other in pairs:
        divided: list[frozenset[int]] = []
        for group in groups:
            divided += [group - {one}, group - {other}] if {one, other} <= group else [group]
        groups = [group for group in dict.fromkeys(divided) if not any(group < larger for larger in divided)]
    groups.sort(key=sorted)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    names = [letters[i] if i < len(letters) else f"({i + 1})" for i in range(len(groups))]
    return ["".join(name for name, group in zip(names, groups, strict=True) if i in group) for i in range(n)]
