"""Variants nested in questions: each question drew its own.

    y_qsj = mu + Q_q + S_qs + e_qsj        Var(mean over questions) = vQ/N + vS/(N S) + ve/(N S K)

One-way analysis of variance of the cell means with n_q variants of question q (Searle, Casella and McCulloch 1992,
section 3.6): E SSW = (n - N) vS + noise, E SSB = (n - sum n_q^2/n) vQ + (N - 1) vS + noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from howsure.stats.core.cells import FloatArray
from howsure.stats.core.cube import Layout
from howsure.stats.core.variance_intervals import chi_square_factors, difference_limits, variance_factors

__all__ = ["Nested", "nested_terms"]


class Nested(NamedTuple):
    """Estimates of M rows, shape (M,), and the mean squares they are differences of, per unit of the component."""

    between: FloatArray  # vQ
    within: FloatArray  # vS, or vS + ve where the noise of a cell is unknown
    mean: FloatArray  # over questions of the mean over variants
    error: FloatArray  # sampling variance of `mean`
    question_weight: FloatArray  # 1/N
    variant_weight: FloatArray  # sum 1/n_q / N^2
    question_score: FloatArray  # (M, N)
    between_square: FloatArray  # mean square of which vQ is what is left when `taken` is taken off
    taken: FloatArray
    taken_freedom: FloatArray
    within_error: FloatArray  # sampling variance of `within`, from how it varies over questions

    def question_limits(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Interval of vQ: the difference of two mean squares, of which the first heeds the kurtosis of the scores."""
        of_first = variance_factors(self.question_score, level)
        of_second = chi_square_factors(self.taken_freedom, level)
        return difference_limits(self.between_square, of_first, self.taken, of_second)


def nested_terms(layout: Layout) -> Nested:
    """One-way analysis of each row of a layout."""
    W = layout.answered.astype(float)
    n_q = W.sum(axis=2)
    n, N = n_q.sum(axis=1), np.sum(n_q > 0, axis=1).astype(float)
    y, e = np.nan_to_num(layout.mean), np.nan_to_num(layout.error) * W
    per_q = 1 / np.maximum(n_q, 1)
    e_q = e.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        center = (y.sum(axis=(1, 2)) / n)[:, None]
        q_mean = np.where(n_q > 0, y.sum(axis=2) * per_q, np.nan)
        off = np.nan_to_num(q_mean - center)
        ssb = np.sum(n_q * off**2, axis=1)
        within_q = np.sum((y - np.nan_to_num(q_mean)[:, :, None]) ** 2 * W, axis=2)
        noise_w = np.sum(e_q * (1 - per_q), axis=1)
        noise_b = np.sum(e_q * per_q, axis=1) - e.sum(axis=(1, 2)) / n
        left = np.where(n > N, n - N, np.nan)
        within = (within_q.sum(axis=1) - noise_w) / left
        coefficient = np.where(N > 1, n - np.sum(n_q**2, axis=1) / n, np.nan)
        taken = ((N - 1) * within + noise_b) / coefficient
        mean = np.nansum(q_mean, axis=1) / np.where(N > 0, N, np.nan)
        error = np.sum(e_q * per_q**2, axis=1) / N**2
        # the part of each question, less what is expected of it; of the mean square, and of what is left without noise
        spare = np.maximum(n_q - 1, 0)
        msw = within_q.sum(axis=1) / left
        to_variance = N / (N - 1) / left**2
        var_msw = np.sum((within_q - msw[:, None] * spare) ** 2, axis=1) * to_variance
        noise_q = e_q * (1 - per_q)
        within_error = np.sum((within_q - noise_q - within[:, None] * spare) ** 2, axis=1) * to_variance
        first = ssb / coefficient
        share = (N - 1) / coefficient
        taken_freedom = np.maximum(np.nan_to_num(2 * taken**2 / (var_msw * share**2), nan=1e7), 1)
        variant_weight = np.sum(np.where(n_q > 0, per_q, 0), axis=1) / N**2
        return Nested(
            first - taken,
            within,
            mean,
            np.where(layout.split, error, np.nan),
            1 / N,
            variant_weight,
            q_mean,
            first,
            np.maximum(taken, 0),
            taken_freedom,
            within_error,
        )
