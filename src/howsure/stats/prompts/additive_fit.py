"""Least-squares fit of question + variant to the cells of a layout, some of which may be missing.

With w_qs = 1 where a cell is there, n_q and n_s the counts of rows and columns, r_s = sum_q w_qs (y_qs - mean_q):

    A = diag(n_s) - sum_q w_q w_q'/n_q,   s = A^+ r,   question_q = mean_q - w_q's/n_q
    leverage of a cell = 1/n_q + G_ss - 2 (G w_q)_s/n_q + w_q'G w_q/n_q^2,   G = A^+

Models with the same missing cells share G, so all of them are fitted at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.stats.core.cells import FloatArray
from howsure.stats.core.cube import Layout

__all__ = ["AdditiveFit", "fit_additive"]


class AdditiveFit(NamedTuple):
    """Sums of squares of M rows and what their expectations are made of; arrays (M,) unless told.

    `questions`, `variants`, `cells` count what is there, `rank` is that of both effects together. `question_ss` is
    R(question | variant), `variant_ss` R(variant | question). Each `*_noise` is what sampling adds to that sum.
    """

    questions: FloatArray
    variants: FloatArray
    cells: FloatArray
    rank: FloatArray
    question_ss: FloatArray
    variant_ss: FloatArray
    residual_ss: FloatArray
    question_noise: FloatArray
    variant_noise: FloatArray
    residual_noise: FloatArray
    question_score: FloatArray  # (M, N) mean over variants, missing cells filled from the fit
    variant_score: FloatArray  # (M, S) mean over questions
    excess: FloatArray  # (M, N, S) squared residual less its noise, 0 where missing
    weight_sq: FloatArray  # sum of squared weights of the cells in the mean of all
    weight_error: FloatArray  # and with the noise of each cell: sampling variance of that mean
    weight_freedom: FloatArray  # degrees of freedom of that (Satterthwaite)
    connected: NDArray[np.bool_]  # whether shared variants tie all questions together


def fit_additive(layout: Layout) -> AdditiveFit:
    """Fit each row of a layout; rows without any cell are NaN."""
    M, N, S = layout.mean.shape
    packed = np.packbits(layout.answered.reshape(M, -1), axis=1)
    _, pattern = np.unique(packed, axis=0, return_inverse=True)
    parts: list[tuple[NDArray[np.integer], tuple[FloatArray, ...]]] = []
    for p in range(pattern.max(initial=-1) + 1):
        rows: NDArray[np.integer] = np.flatnonzero(pattern.ravel() == p)
        parts.append((rows, _fit_pattern(layout, rows)))
    shapes: dict[str, tuple[int, ...]] = {"question_score": (M, N), "variant_score": (M, S), "excess": (M, N, S)}
    out = []
    for i, name in enumerate(AdditiveFit._fields):
        array = np.full(shapes.get(name, (M,)), np.nan)
        for places, values in parts:
            array[places] = values[i]
        out.append(array)
    out[-1] = out[-1] > 0
    return AdditiveFit(*out)


def _fit_pattern(layout: Layout, rows: NDArray[np.integer]) -> tuple[FloatArray, ...]:
    W = layout.answered[rows[0]].astype(float)
    n_q, n_s, n = W.sum(axis=1), W.sum(axis=0), W.sum()
    in_q, in_s = n_q > 0, n_s > 0
    N, S = float(in_q.sum()), float(in_s.sum())
    per_q, per_s = 1 / np.maximum(n_q, 1), 1 / np.maximum(n_s, 1)
    G, rank_s = _pseudo_inverse(np.diag(n_s) - (W * per_q[:, None]).T @ W)

    y = np.nan_to_num(layout.mean[rows])
    center = y.sum(axis=(1, 2)) / max(n, 1)
    y = (y - center[:, None, None]) * W  # sums of squares lose fewer digits around 0
    q_mean = y.sum(axis=2) * per_q
    s_mean = y.sum(axis=1) * per_s
    r = y.sum(axis=1) - q_mean @ W
    s_effect = r @ G
    q_effect = q_mean - (s_effect @ W.T) * per_q
    residual = (y - q_effect[:, :, None] - s_effect[:, None, :]) * W

    B = W @ G
    leverage = (per_q + np.sum(B * W, axis=1) * per_q**2)[:, None] + np.diag(G) - 2 * B * per_q[:, None]
    leverage *= W
    e = np.nan_to_num(layout.error[rows]) * W

    def noise(weights: FloatArray) -> FloatArray:
        total: FloatArray = np.einsum("mqs,qs->m", e, weights * W)
        return total

    # The mean over variants of their scores, as a weighted sum of cells: 1/N of each question and 1/S of each variant.
    u = in_s / max(S, 1) - (W * (in_q * per_q)[:, None]).sum(axis=0) / max(N, 1)
    Gu = G @ u
    c = W * ((per_q / max(N, 1))[:, None] + Gu - (W @ Gu * per_q)[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        variant_ss = np.sum(r * s_effect, axis=1)
        question_ss = np.sum(q_mean**2 * n_q, axis=1) + variant_ss - np.sum(s_mean**2 * n_s, axis=1)
        weighted = c**2 * e
        error = weighted.sum(axis=(1, 2))
        known = layout.freedom[rows] > 0
        freedom = error**2 / np.sum(weighted**2 / np.maximum(layout.freedom[rows], 1), axis=(1, 2), where=known)
        split = layout.split[rows]
        base = center[:, None]
        question = base + q_effect + (s_effect @ in_s)[:, None] / S
        variant = base + s_effect + (q_effect @ in_q)[:, None] / N
    connected = rank_s >= S - 1
    if not connected:  # scores cannot be compared across parts that share nothing: plain means
        question, variant = base + q_mean, base + s_mean
    ones = np.ones(len(rows))
    return (
        N * ones,
        S * ones,
        n * ones,
        (N + rank_s) * ones,
        np.maximum(question_ss, 0),
        np.maximum(variant_ss, 0),
        np.sum(residual**2, axis=(1, 2)),
        noise(leverage - per_s[None, :]),
        noise(leverage - per_q[:, None]),
        noise(1 - leverage),
        np.where(in_q, question, np.nan),
        np.where(in_s, variant, np.nan),
        (residual**2 - (1 - leverage) * e) * W,
        np.sum(c**2) * ones,
        np.where(split, error, np.nan),
        np.where(split, freedom, np.nan),
        connected * ones,
    )


def _pseudo_inverse(A: FloatArray) -> tuple[FloatArray, float]:
    values, vectors = np.linalg.eigh(A)
    kept = values > 1e-9 * max(values.max(initial=0), 1e-300)
    V = vectors[:, kept]
    return (V / values[kept]) @ V.T, float(kept.sum())
