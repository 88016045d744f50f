"""Sums over the questions that two models both answered, for all pairs of models at once.

They are matrix products of (M, N) arrays, never a loop over pairs. Which questions a model answered matters only
through the distinct patterns of missing questions, so the products that need them are with those u patterns, not with
all M models: complete data costs one product, X X'.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.stats.core.cells import Cells, FloatArray, IntArray

__all__ = ["CommonSums", "answer_patterns", "common_sums"]


class CommonSums(NamedTuple):
    """Sums over the questions that models a and b both answered, shape (M, M): of a's values at [a, b]."""

    center: FloatArray  # (M,) mean over all of a's questions, taken off p before squares and products
    common: FloatArray  # 1
    p: FloatArray  # question means
    xx: FloatArray  # squares of the centred ones
    s2: FloatArray  # within-variances, where k >= 2
    several: FloatArray  # 1 where k >= 2
    s2_extra: FloatArray  # s2 (1 - 1/k), where k >= 2
    product: FloatArray  # centred mean of a times centred mean of b


def common_sums(cells: Cells) -> CommonSums:
    """Compute the sums over common questions of all pairs of models."""
    M, N = cells.n.shape
    patterns, pattern_of = answer_patterns(cells.answered)
    repeated, always = bool(np.any(cells.n > 1)), not np.any(cells.n == 1)
    is_whole = cells.binary and not repeated  # sums of 0 and 1 are exact in single precision
    in_single = patterns.astype(np.float32)
    X = np.empty((M, N))
    center = np.empty(M)
    by_pattern = np.zeros((6, M, len(patterns)))
    # Temporaries of a few models stay in the cache; products with many patterns want more rows at once.
    block = 4 if len(patterns) < 8 else 128
    for start in range(0, M, block):
        rows = slice(start, start + block)
        k, total = cells.n[rows].astype(float), cells.total[rows]
        answered = (k > 0).astype(float)
        p = total / np.maximum(k, 1)  # 0 where not answered
        center[rows] = p.sum(axis=1) / np.maximum(answered.sum(axis=1), 1)
        x = X[rows] = (p - center[rows, None]) * answered
        by_pattern[0, rows] = answered.astype(np.float32) @ in_single.T
        by_pattern[1, rows] = p.astype(np.float32) @ in_single.T if is_whole else p @ patterns.T
        if is_whole:  # (p - c)^2 = (1 - 2c) p + c^2
            c = center[rows, None]
            by_pattern[2, rows] = (1 - 2 * c) * by_pattern[1, rows] + c**2 * by_pattern[0, rows]
        else:
            by_pattern[2, rows] = (x * x) @ patterns.T
        if repeated:
            several = (k > 1).astype(float)
            within = np.nan_to_num(cells.estimate_within(rows))
            by_pattern[3, rows] = within @ patterns.T
            by_pattern[4, rows] = by_pattern[0, rows] if always else several @ patterns.T
            by_pattern[5, rows] = (within - within / np.maximum(k, 1)) @ patterns.T
    common, sum_p, xx, s2, several, extra = by_pattern[:, :, pattern_of]
    return CommonSums(center, common, sum_p, xx, s2, several, extra, X @ X.T)


def answer_patterns(answered: NDArray[np.bool_]) -> tuple[FloatArray, IntArray]:
    """Return the u distinct rows of `answered` (M, N) as 0.0 and 1.0 (u, N), and the row of each model (M,)."""
    packed = np.ascontiguousarray(np.packbits(answered, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return answered[first].astype(float), inverse
