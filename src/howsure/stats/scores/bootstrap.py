"""Bootstrap over questions: scores of models on N questions drawn with replacement.

A draw is a vector of counts, how often each question came; the draws of all models are then one matrix product.
Counting random indices makes the counts; it is some six times faster than drawing them from a multinomial law.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray

__all__ = ["DRAWS", "bca_limits", "draw_scores", "paired_errors", "paired_percentile_limits", "percentile_limits"]

#: Draws where a caller does not say.
DRAWS = 10_000

#: Counts that are held at a time, in elements: 64 MB.
_BLOCK = 8_000_000


def draw_scores(cells: Cells, *, n_draws: int = DRAWS, seed: int = 0) -> FloatArray:
    """Score M models on each draw of questions, shape (n_draws, M); all models have the same draws.

    A model's score is over those of its own questions that were drawn; NaN where none was.
    """
    p = np.where(cells.answered, cells.mean, 0).T
    complete = bool(np.all(cells.answered))
    weights = cells.answered.astype(float).T
    out = np.empty((n_draws, p.shape[1]))
    for rows, counts in _counts(len(cells.questions), n_draws, seed):
        with np.errstate(invalid="ignore"):
            out[rows] = (counts @ p) / (counts.shape[1] if complete else counts @ weights)
    return out


def percentile_limits(
    cells: Cells, level: float, *, n_draws: int = DRAWS, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Return the percentile interval of each score: low and high, shape (M,)."""
    low, high = np.quantile(draw_scores(cells, n_draws=n_draws, seed=seed), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def bca_limits(cells: Cells, level: float, *, n_draws: int = DRAWS, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Return the bias-corrected and accelerated interval of each score (Efron 1987): low and high, shape (M,)."""
    values = draw_scores(cells, n_draws=n_draws, seed=seed)
    answered = cells.answered
    N = np.maximum(np.sum(answered, axis=1), 1)
    score = np.sum(cells.mean, axis=1, where=answered) / N
    off = np.where(answered, cells.mean - score[:, None], 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Of a mean, leaving out question q moves the estimate by (score - p_q) / (N - 1).
        acceleration = np.nan_to_num(np.sum(off**3, axis=1) / (6 * np.sum(off**2, axis=1) ** 1.5))
        tie = np.abs(values - score) <= 1e-12 * np.maximum(1, np.abs(score))
        z0 = special.ndtri(np.mean(np.where(tie, 0.5, values < score), axis=0))
        ends = []
        for probability in ((1 - level) / 2, (1 + level) / 2):
            z = z0 + special.ndtri(probability)
            at = special.ndtr(z0 + z / (1 - acceleration * z))
            is_finite = np.isfinite(at)
            end = np.full(len(score), np.nan)
            for m in np.flatnonzero(is_finite):  # each model has its own two quantiles
                end[m] = np.quantile(values[:, m], at[m])
            ends.append(end)
    return ends[0], ends[1]


def paired_errors(cells: Cells, *, n_draws: int = DRAWS, seed: int = 0) -> FloatArray:
    """Return the bootstrap standard error of every difference, shape (M, M); all models need the same questions."""
    if not np.all(cells.answered == cells.answered[:1]):
        raise InputError(
            "models with different missing questions",
            where=cells.benchmark,
            remedy="compare them by pairs(..., method='bootstrap'), which draws from the common questions of each",
        )
    covariance = np.atleast_2d(np.cov(draw_scores(cells, n_draws=n_draws, seed=seed), rowvar=False))
    variance = np.diag(covariance)
    return np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))


def paired_percentile_limits(
    cells: Cells, a: IntArray, b: IntArray, level: float, *, n_draws: int = DRAWS, seed: int = 0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return standard error, low and high of the differences a - b on common questions, shape (P,) each."""
    se, low, high = (np.full(len(a), np.nan) for _ in range(3))
    block = max(1, _BLOCK // n_draws)
    for start in range(0, len(a), block):
        rows = slice(start, start + block)
        common = cells.answered[a[rows]] & cells.answered[b[rows]]
        difference = np.where(common, cells.mean[a[rows]] - cells.mean[b[rows]], 0).T
        weights = common.astype(float).T
        values = np.empty((n_draws, difference.shape[1]))
        for drawn, counts in _counts(len(cells.questions), n_draws, seed):
            with np.errstate(invalid="ignore"):
                values[drawn] = (counts @ difference) / (counts @ weights)
        is_defined = ~np.any(np.isnan(values), axis=0)  # a draw without any common question says nothing
        at = np.flatnonzero(is_defined) + start
        se[at] = np.std(values[:, is_defined], axis=0)
        low[at], high[at] = np.quantile(values[:, is_defined], [(1 - level) / 2, (1 + level) / 2], axis=0)
    return se, low, high


def _counts(N: int, n_draws: int, seed: int) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the counts of each question in blocks of draws (block, N); they depend on the seed alone."""
    if n_draws < 2:
        raise InputError(f"n_draws is {n_draws}", where="bootstrap", remedy="allowed: 2 or more, such as 10000")
    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK // max(N, 1))
    for start in range(0, n_draws, block):
        rows = min(block, n_draws - start)
        index = rng.integers(0, N, (rows, N))
        index += np.arange(rows)[:, None] * N
        yield slice(start, start + rows), np.bincount(index.ravel(), minlength=rows * N).reshape(rows, N).astype(float)
