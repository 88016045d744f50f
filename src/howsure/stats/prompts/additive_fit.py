"""Least-squares fit of question + variant to the cells of a layout, of which some may be missing.

With w_qs = 1 where a cell has scores, n_q and n_s the numbers of cells of a question and of a variant, and
r_s = sum_q w_qs (y_qs - mean_q):

    A = diag(n_s) - sum_q w_q w_q'/n_q,   s = A^+ r,   question_q = mean_q - w_q's/n_q
    leverage of a cell = 1/n_q + G_ss - 2 (G w_q)_s/n_q + w_q'G w_q/n_q^2,   G = A^+

Models with the same missing cells share G and are fitted together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.stats.core.cells import FloatArray, drop_rounding
from howsure.stats.core.cube import Layout

__all__ = ["AdditiveFit", "fit_additive"]


class AdditiveFit(NamedTuple):
    """Sums of squares of M rows, and the terms of their expectations; arrays of shape (M,) unless stated otherwise.

    `questions`, `variants` and `cells` are the numbers that have scores, `rank` is the rank of both effects together.
    `question_ss` is R(question | variant), `variant_ss` is R(variant | question). Each `*_noise` is the contribution of
    sampling noise to the expectation of that sum.
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
    question_score: FloatArray  # (M, N): mean over variants, missing cells filled from the fit
    variant_score: FloatArray  # (M, S): mean over questions, missing cells filled from the fit
    variant_weight: FloatArray  # (M, S): sum of the squared weights of the cells in it
    excess: FloatArray  # (M, N, S): squared residual less its expected noise, 0 where missing
    weight_sq: FloatArray  # sum of the squared weights of the cells in the grand mean
    mean_error: FloatArray  # sampling variance of the grand mean
    mean_df: FloatArray  # degrees of freedom of `mean_error` (Satterthwaite)
    connected: NDArray[np.bool_]  # whether shared variants connect all questions


def fit_additive(layout: Layout) -> AdditiveFit:
    """Fit question + variant to each row of a layout; a row without any cell is NaN."""
    M, N, S = layout.mean.shape
    packed = np.packbits(layout.answered.reshape(M, -1), axis=1)
    _, pattern = np.unique(packed, axis=0, return_inverse=True)
    fits: list[tuple[NDArray[np.integer], tuple[FloatArray, ...]]] = []
    for p in range(pattern.max(initial=-1) + 1):
        rows: NDArray[np.integer] = np.flatnonzero(pattern.ravel() == p)
        fits.append((rows, _fit_pattern(layout, rows)))
    shapes: dict[str, tuple[int, ...]] = {"question_score": (M, N), "excess": (M, N, S)}
    shapes |= dict.fromkeys(("variant_score", "variant_weight"), (M, S))
    out = []
    for i, name in enumerate(AdditiveFit._fields):
        array = np.full(shapes.get(name, (M,)), np.nan)
        for rows, values in fits:
            array[rows] = values[i]
        out.append(array)
    out[-1] = out[-1] > 0
    return AdditiveFit(*out)


def _fit_pattern(layout: Layout, rows: NDArray[np.integer]) -> tuple[FloatArray, ...]:
    """Return the fields of `AdditiveFit` of rows that have the same missing cells."""
    W = layout.answered[rows[0]].astype(float)
    n_q, n_s, n = W.sum(axis=1), W.sum(axis=0), W.sum()
    in_q, in_s = n_q > 0, n_s > 0
    N, S = float(in_q.sum()), float(in_s.sum())
    per_q, per_s = 1 / np.maximum(n_q, 1), 1 / np.maximum(n_s, 1)
    G, rank_s = _pseudo_inverse(np.diag(n_s) - (W * per_q[:, None]).T @ W)

    y = np.nan_to_num(layout.mean[rows])
    center = y.sum(axis=(1, 2)) / max(n, 1)
    y = (y - center[:, None, None]) * W  # centred, because sums of squares of large numbers lose digits
    q_mean = y.sum(axis=2) * per_q
    s_mean = y.sum(axis=1) * per_s
    r = y.sum(axis=1) - q_mean @ W
    s_effect = r @ G
    q_effect = q_mean - (s_effect @ W.T) * per_q
    residual = (y - q_effect[:, :, None] - s_effect[:, None, :]) * W

    B = W @ G
    leverage = (per_q + np.sum(B * W, axis=1) * per_q**2)[:, None] + np.diag(G) - 2 * B * per_q[:, None]
    leverage *= W
    e = np.nan_to_num(layout.mean_variance[rows]) * W

    def noise(weights: FloatArray) -> FloatArray:
        total: FloatArray = np.einsum("mqs,qs->m", e, weights * W)
        return total

    # Weights c of the cells in the grand mean, the mean over variants of their scores.
    u = in_s / max(S, 1) - (W * (in_q * per_q)[:, None]).sum(axis=0) / max(N, 1)
    Gu = G @ u
    c = W * ((per_q / max(N, 1))[:, None] + Gu - (W @ Gu * per_q)[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        variant_ss = np.sum(r * s_effect, axis=1)
        question_ss = np.sum(q_mean**2 * n_q, axis=1) + variant_ss - np.sum(s_mean**2 * n_s, axis=1)
        weighted = c**2 * e
        error = weighted.sum(axis=(1, 2))
        estimated = layout.df[rows] > 0
        df = error**2 / np.sum(weighted**2 / np.maximum(layout.df[rows], 1), axis=(1, 2), where=estimated)
        split = layout.split[rows]
        base = center[:, None]
        question = base + q_effect + (s_effect @ in_s)[:, None] / S
        variant = base + s_effect + (q_effect @ in_q)[:, None] / N
    # The score of a variant is linear in r, of covariance A, and in the means of the questions.
    t = (W * per_q[:, None]).sum(axis=0) / max(N, 1)
    Gt = G @ t
    variant_weight = np.diag(G) - 2 * Gt + t @ Gt + (in_q * per_q).sum() / max(N, 1) ** 2
    connected = rank_s >= S - 1
    if not connected:  # unconnected parts cannot be put on one scale: use plain means
        question, variant, variant_weight = base + q_mean, base + s_mean, per_s
    rounding = 1e-14 * np.sum(y**2, axis=(1, 2))  # of the sums of squares that are subtracted from each other
    sums = (question_ss, variant_ss, np.sum(residual**2, axis=(1, 2)))
    ones = np.ones(len(rows))
    return (
        N * ones,
        S * ones,
        n * ones,
        (N + rank_s) * ones,
        *(drop_rounding(np.where(ss > rounding, ss, 0), n, center) for ss in sums),
        noise(leverage - per_s[None, :]),
        noise(leverage - per_q[:, None]),
        noise(1 - leverage),
        np.where(in_q, question, np.nan),
        np.where(in_s, variant, np.nan),
        np.where(in_s, variant_weight, np.nan) * ones[:, None],
        (residual**2 - (1 - leverage) * e) * W,
        np.sum(c**2) * ones,
        np.where(split, error, np.nan),
        np.where(split, df, np.nan),
        connected * ones,
    )


def _pseudo_inverse(A: FloatArray) -> tuple[FloatArray, float]:
    """Return the pseudo-inverse of a symmetric matrix, and its rank."""
    values, vectors = np.linalg.eigh(A)
    positive = values > 1e-9 * max(values.max(initial=0), 1e-300)
    V = vectors[:, positive]
    return (V / values[positive]) @ V.T, float(positive.sum())
