"""How far a moment over n of N values is from that over all N: exactly where that is cheap, else by seeded orders.

The law of the sum of a uniform k-subset of counts c_1..c_N, all k at once (statistics.md section 13):

    g_i(k, s) = (1 - k/i) g_{i-1}(k, s) + (k/i) g_{i-1}(k - 1, s - c_i)

A subset and what it leaves out are equally far from their means in sum, so k <= N/2 is enough.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from howsure.stats.core.cells import FloatArray, IntArray

__all__ = ["deviation_chance", "deviation_quantiles", "draw_orders"]

_SLACK = 1e-12
#: Elements of the arrays that exact methods may go through.
_ENUMERATED, _EXACT = 500_000, 400_000_000


def draw_orders(n: int, draws: int, rng: np.random.Generator | int) -> IntArray:
    """Seeded orders of n things, (draws, n): the first k of an order are a uniform subset, for every k at once."""
    return np.argsort(np.random.default_rng(rng).random((draws, n)), axis=1)


def _deviations(x: FloatArray, order: IntArray) -> tuple[FloatArray, FloatArray]:
    """|mean - whole| and |variance - whole| over the first n of each order, shape (draws, N)."""
    off = x - x.mean()
    size = np.arange(1, len(x) + 1)
    drawn = off[order]
    mean = np.cumsum(drawn, axis=1) / size
    variance = np.cumsum(drawn**2, axis=1) / size - mean**2
    return np.abs(mean), np.abs(variance - x.var())


def deviation_quantiles(x: FloatArray, order: IntArray, delta: float) -> FloatArray:
    """The (1 - delta/2) quantile of the deviation of mean and variance over n = 1..N values, shape (2, N)."""
    return np.stack([np.quantile(far, 1 - delta / 2, axis=0) for far in _deviations(x, order)])


def deviation_chance(
    x: FloatArray, order: IntArray, epsilon: float, chance: float
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """P(|moment over n - moment over N| > epsilon) for n = 1..N, and where it is exact, both of shape (2, N).

    Rows are mean and variance. Exact where n values can be taken in few ways; and for the mean of counts, wherever the
    orders leave in doubt whether it is above `chance`.
    """
    N = len(x)
    far = np.stack([np.mean(d > epsilon + _SLACK, axis=0) for d in _deviations(x, order)])
    exact = np.zeros(far.shape, dtype=bool)
    off = x - x.mean()
    for n in range(1, N + 1):
        if math.comb(N, n) * n <= _ENUMERATED:
            drawn = off[_subsets(N, n)]
            mean = drawn.mean(axis=1)
            variance = np.mean(drawn**2, axis=1) - mean**2
            for i, d in enumerate((np.abs(mean), np.abs(variance - x.var()))):
                far[i, n - 1], exact[i, n - 1] = np.mean(d > epsilon + _SLACK), True
    doubt = 5 * math.sqrt(chance * (1 - chance) / len(order)) + 1 / len(order)
    open_ = ~exact[0] & (np.abs(far[0] - chance) <= doubt)
    counts = _counts(x)
    if counts is not None and np.any(open_):
        _exact_means(far[0], exact[0], np.flatnonzero(open_) + 1, *counts, epsilon)
    return far, exact


@lru_cache(maxsize=64)
def _subsets(N: int, n: int) -> IntArray:
    flat = np.fromiter(chain.from_iterable(combinations(range(N), n)), dtype=np.int64)
    return flat.reshape(-1, n)


def _counts(x: FloatArray) -> tuple[IntArray, float] | None:
    """X as whole multiples of a unit above its smallest, and the unit; None where there is no such unit."""
    off = x - x.min()
    steps = np.diff(np.unique(np.round(off, 12)))
    if len(steps) == 0:
        return None
    for part in range(1, 51):
        unit = steps.min() / part
        ratio = off / unit
        if np.all(np.abs(ratio - np.rint(ratio)) < 1e-6):
            return np.rint(ratio).astype(np.int64), float(unit)
    return None


def _exact_means(
    far: FloatArray, exact: NDArray[np.bool_], sizes: IntArray, counts: IntArray, unit: float, epsilon: float
) -> None:
    """Replace `far` at these sizes by the exact chance."""
    N = len(counts)
    most = int(np.minimum(sizes, N - sizes).max())
    top = int(np.sort(counts)[-most:].sum()) if most else 0
    if N * most * top > _EXACT:
        return
    law = np.zeros((most + 1, top + 1))
    law[0, 0] = 1
    k = np.arange(1, most + 1)[:, None]
    for i, c in enumerate(counts.tolist(), start=1):
        share = np.minimum(k / i, 1)
        before = law[:-1] * share
        law[1:] *= 1 - share
        law[1:, c:] += before[:, : top + 1 - c]
    total = counts.sum()
    for n in sizes.tolist():
        j = min(n, N - n)
        # |sum of n - n mean| = |sum of the rest - (N - n) mean|
        distance = np.abs(np.arange(top + 1) - j * total / N)
        far[n - 1] = law[j, distance * unit > n * (epsilon + _SLACK)].sum()
        exact[n - 1] = True
