"""Deviation of a moment over a random n of N values from the moment over all N.

It is computed exactly where that is cheap, else from seeded random orders. The distribution of the sum of a uniform
k-subset of counts c_1..c_N follows for all k at once from (docs/methods/questions.md)

    g_i(k, s) = (1 - k/i) g_{i-1}(k, s) + (k/i) g_{i-1}(k - 1, s - c_i)

The sums of a subset and of its complement deviate equally from their expectations, so that k <= N/2 suffices.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from howsure.stats.core.cells import FloatArray, IntArray

__all__ = ["deviation_bands", "deviation_chance", "deviation_quantiles", "draw_orders", "find_required_sizes"]

#: Tolerance of a comparison with epsilon.
_ROUNDING = 1e-12
#: Largest number of array elements for the enumeration of subsets, and for the recursion.
_MAX_ENUMERATED, _MAX_RECURSION = 500_000, 400_000_000


def draw_orders(n: int, draws: int, rng: np.random.Generator | int) -> IntArray:
    """Return random orders of n items, shape (draws, n); the first k of an order are a uniform k-subset."""
    return np.argsort(np.random.default_rng(rng).random((draws, n)), axis=1)


def _deviations(x: FloatArray, order: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return |mean - mean of all| and |variance - variance of all| over the first n of each order, (draws, N)."""
    centered = x - x.mean()
    size = np.arange(1, len(x) + 1)
    drawn = centered[order]
    mean = np.cumsum(drawn, axis=1) / size
    variance = np.cumsum(drawn**2, axis=1) / size - mean**2
    return np.abs(mean), np.abs(variance - x.var())


def deviation_quantiles(x: FloatArray, order: IntArray, delta: float) -> FloatArray:
    """Return the (1 - delta/2) quantile of the deviation of mean and variance over n = 1..N values, shape (2, N)."""
    return np.stack([np.quantile(far, 1 - delta / 2, axis=0) for far in _deviations(x, order)])


def deviation_bands(x: FloatArray, order: IntArray, delta: float) -> FloatArray:
    """Return the mean and the delta/2 and 1 - delta/2 quantiles of the deviation of both moments, shape (3, 2, N)."""
    return np.stack(
        [
            np.stack([np.mean(far, axis=0), *np.quantile(far, (delta / 2, 1 - delta / 2), axis=0)])
            for far in _deviations(x, order)
        ],
        axis=1,
    )


def deviation_chance(
    x: FloatArray, order: IntArray, epsilon: float, chance: float
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return P(|moment over n - moment over N| > epsilon) for n = 1..N, and where it is exact, both of shape (2, N).

    The rows are mean and variance. The probability is exact where there are few n-subsets; for the mean of counts, also
    where the orders do not show with certainty whether it is above `chance`.
    """
    N = len(x)
    far = np.stack([np.mean(d > epsilon + _ROUNDING, axis=0) for d in _deviations(x, order)])
    exact = np.zeros(far.shape, dtype=bool)
    for n in range(1, N + 1):
        if math.comb(N, n) * n <= _MAX_ENUMERATED:
            far[:, n - 1], exact[:, n - 1] = _enumerate_chance(x, n, epsilon), True
    _settle_means(x, far, exact, epsilon, chance, _sampling_error(chance, order))
    return far, exact


def find_required_sizes(
    x: FloatArray, order: IntArray, epsilon: float, chance: float
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return the n from which `deviation_chance` stays at most `chance`, and whether that is exact, shape (2,) each.

    For the variance n is at least 2: that of one value is 0, near a small variance over all by construction only.
    Subsets are enumerated only of sizes that may be sufficient: where the orders show the probability to be above
    `chance` by five standard errors, they decide.
    """
    N = len(x)
    far = np.stack([np.mean(d > epsilon + _ROUNDING, axis=0) for d in _deviations(x, order)])
    exact = np.zeros(far.shape, dtype=bool)
    error = _sampling_error(chance, order)
    possible = far <= chance + error
    sizes, are_exact, is_settled = np.full(2, N), np.ones(2, bool), np.zeros(2, bool)
    has_counted = False
    for n in range(N - 1, 0, -1):
        is_settled |= ~possible[:, n - 1]
        if n == 1:
            is_settled[1] = True
        if is_settled.all():
            break
        if math.comb(N, n) * n <= _MAX_ENUMERATED:
            far[:, n - 1], exact[:, n - 1] = _enumerate_chance(x, n, epsilon), True
        elif not has_counted:
            _settle_means(x, far, exact, epsilon, chance, error)
            has_counted = True
        is_settled |= far[:, n - 1] > chance
        sizes[~is_settled], are_exact[~is_settled] = n, exact[~is_settled, n - 1]
    return sizes, are_exact


def _sampling_error(chance: float, order: IntArray) -> float:
    """Return five standard errors of a probability of `chance` in these orders."""
    return 5 * math.sqrt(chance * (1 - chance) / len(order)) + 1 / len(order)


def _enumerate_chance(x: FloatArray, n: int, epsilon: float) -> FloatArray:
    """Return the exact probabilities for mean and variance over all n-subsets, shape (2,)."""
    drawn = (x - x.mean())[_subsets(len(x), n)]
    mean = drawn.mean(axis=1)
    variance = np.mean(drawn**2, axis=1) - mean**2
    return np.array([np.mean(np.abs(d) > epsilon + _ROUNDING) for d in (mean, variance - x.var())])


def _settle_means(
    x: FloatArray, far: FloatArray, exact: NDArray[np.bool_], epsilon: float, chance: float, error: float
) -> None:
    """Set the probabilities for the mean of counts, in place, where the orders do not decide."""
    uncertain = ~exact[0] & (np.abs(far[0] - chance) <= error)
    if np.any(uncertain) and (counts := _as_counts(x)) is not None:
        _set_exact_means(far[0], exact[0], np.flatnonzero(uncertain) + 1, *counts, epsilon)


@lru_cache(maxsize=64)
def _subsets(N: int, n: int) -> IntArray:
    """Return all n-subsets of 0..N-1, one per row."""
    flat = np.fromiter(chain.from_iterable(combinations(range(N), n)), dtype=np.int64)
    return flat.reshape(-1, n)


def _as_counts(x: FloatArray) -> tuple[IntArray, float] | None:
    """Return x - min(x) as multiples of a unit, and the unit; None where there is no such unit."""
    above = x - x.min()
    steps = np.diff(np.unique(np.round(above, 12)))
    if len(steps) == 0:
        return None
    for part in range(1, 51):
        unit = steps.min() / part
        ratio = above / unit
        if np.all(np.abs(ratio - np.rint(ratio)) < 1e-6):
            return np.rint(ratio).astype(np.int64), float(unit)
    return None


def _set_exact_means(
    far: FloatArray, exact: NDArray[np.bool_], sizes: IntArray, counts: IntArray, unit: float, epsilon: float
) -> None:
    """Set `far` and `exact` of these sizes to the exact probability, in place."""
    N = len(counts)
    max_size = int(np.minimum(sizes, N - sizes).max())
    max_sum = int(np.sort(counts)[-max_size:].sum()) if max_size else 0
    if N * max_size * max_sum > _MAX_RECURSION:
        return
    probability = np.zeros((max_size + 1, max_sum + 1))  # of k-subsets by their sum
    probability[0, 0] = 1
    k = np.arange(1, max_size + 1)[:, None]
    for i, c in enumerate(counts.tolist(), start=1):
        share = np.minimum(k / i, 1)
        added = probability[:-1] * share
        probability[1:] *= 1 - share
        probability[1:, c:] += added[:, : max_sum + 1 - c]
    total = counts.sum()
    for n in sizes.tolist():
        j = min(n, N - n)
        # |sum of n - n mean| = |sum of the complement - (N - n) mean|
        distance = np.abs(np.arange(max_sum + 1) - j * total / N)
        far[n - 1] = probability[j, distance * unit > n * (epsilon + _ROUNDING)].sum()
        exact[n - 1] = True
