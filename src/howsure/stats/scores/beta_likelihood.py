"""The likelihood of Beta-binomial counts, and its maximum for many models at once by Newton's method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from howsure.stats.core.cells import FloatArray, IntArray

__all__ = ["LIMITS", "Counts", "distinct_counts", "maximise"]

#: Limits of logit m, log s and logit of the mass at 0, beyond which nothing changes that data could show.
LIMITS = np.array([[-14.0, 14.0], [np.log(1e-3), np.log(1e5)], [-14.0, 14.0]])


class Counts(NamedTuple):
    """The distinct (correct, wrong) counts of each model, padded with weight 0. `place` (M, N) leads back to them."""

    correct: FloatArray  # (M, U)
    wrong: FloatArray  # (M, U)
    weight: FloatArray  # (M, U): questions with these counts
    place: IntArray  # (M, N)


def distinct_counts(total: FloatArray, n: IntArray) -> Counts:
    """Compress counts (M, N): ten generations have eleven outcomes, however many the questions are.

    Questions without a generation are given weight 0.
    """
    M, N = n.shape
    correct = np.rint(total).astype(np.int64)
    code = n * (int(n.max(initial=0)) + 1) + correct
    order = np.argsort(code, axis=1, kind="stable")
    arranged = np.take_along_axis(code, order, axis=1)
    step = np.zeros((M, N), dtype=np.int64)
    np.cumsum(arranged[:, 1:] != arranged[:, :-1], axis=1, out=step[:, 1:])
    place = np.empty_like(step)
    np.put_along_axis(place, order, step, axis=1)
    U = int(place.max(initial=0)) + 1
    flat = place + U * np.arange(M)[:, None]
    right, wrong = np.zeros((2, M * U))
    right[flat], wrong[flat] = correct, n - correct
    weight = np.bincount(flat[n > 0], minlength=M * U).astype(float)
    return Counts(right.reshape(M, U), wrong.reshape(M, U), weight.reshape(M, U), place)


def maximise(c: FloatArray, d: FloatArray, weight: FloatArray, *, zero: bool) -> tuple[FloatArray, FloatArray]:
    """Maximum likelihood: (logit m, log s, mass at 0), shape (M, 3), and the log-likelihood, for counts (M, U)."""
    n = c + d
    score = np.sum(c * weight, axis=1) / np.sum(n * weight, axis=1)
    start = np.column_stack([special.logit(score), np.zeros(len(c))])
    theta, value = _newton(start, c, d, weight)
    best = np.column_stack([theta, np.zeros(len(c))])
    if zero:
        never = np.sum(weight, axis=1, where=c == 0) / np.sum(weight, axis=1)
        for share in (0.5, 0.9):  # of the questions never answered that the point mass begins with
            mass = np.clip(share * never, 1e-3, 0.99)
            start = np.column_stack(
                [special.logit(np.clip(score / (1 - mass), 1e-3, 0.999)), theta[:, 1], special.logit(mass)]
            )
            other, other_value = _newton(start, c, d, weight)
            better = other_value > value + 1e-7
            best[better] = np.column_stack([other[:, :2], special.expit(other[:, 2])])[better]
            value = np.where(better, other_value, value)
    ways = np.sum(weight * -(special.betaln(c + 1, d + 1) + np.log1p(n)), axis=1)  # log binomial coefficients
    return best, value + ways


def _newton(theta: FloatArray, c: FloatArray, d: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Climb from theta (M, 2 or 3) to the maximum of each model's log-likelihood within `LIMITS`."""
    low, high = LIMITS[: theta.shape[1]].T
    theta = np.clip(theta, low, high)
    value, gradient, hessian = _log_likelihood(theta, c, d, weight)
    scale, active = np.ones(len(theta)), np.arange(len(theta))
    for _ in range(200):
        g, H = gradient[active], hessian[active]
        # A coordinate at its limit stays there while the likelihood rises towards it.
        held = ((theta[active] <= low) & (g < 0)) | ((theta[active] >= high) & (g > 0))
        g = np.where(held, 0, g)
        H = np.where(held[:, :, None] | held[:, None], 0, H) - held[:, :, None] * np.eye(len(low))
        curvature, axes = np.linalg.eigh(H)
        # Uphill along every axis: a saddle or a valley is left at the speed of its curvature.
        step = np.einsum("mij,mj->mi", axes, np.einsum("mji,mj->mi", axes, g) / np.maximum(np.abs(curvature), 1e-8))
        step *= (scale[active] * np.minimum(1, 2 / np.maximum(np.linalg.norm(step, axis=1), 1e-300)))[:, None]
        tried = np.clip(theta[active] + step, low, high)
        v, g, H = _log_likelihood(tried, c[active], d[active], weight[active])
        better = v >= value[active] - 1e-12 * np.abs(value[active])
        moved = np.max(np.abs(tried - theta[active]), axis=1)
        rows = active[better]
        theta[rows], value[rows], gradient[rows], hessian[rows] = tried[better], v[better], g[better], H[better]
        scale[active] = np.where(better, np.minimum(1, 2 * scale[active]), scale[active] / 4)
        active = active[moved > 1e-9]
        if not len(active):
            break
    return theta, value


def _log_likelihood(
    theta: FloatArray, c: FloatArray, d: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value (M,), gradient (M, P), Hessian (M, P, P) at theta (M, P): logit m, log s and, where P = 3, logit mass."""
    m, s = special.expit(theta[:, :1]), np.exp(theta[:, 1:2])
    a, b, n = m * s, (1 - m) * s, c + d
    level, slope, bend = (
        [f(a + c) - f(a), f(b + d) - f(b), f(s + n) - f(s)]
        for f in (special.gammaln, special.digamma, lambda x: special.zeta(2, x))
    )
    log_p = level[0] + level[1] - level[2]
    # To theta: da = (a(1-m), a), db = (-a(1-m), b), ds = (0, s), and their second derivatives.
    v = a * (1 - m)
    by_m, by_s = v * (slope[0] - slope[1]), a * slope[0] + b * slope[1] - s * slope[2]
    mm = v * v * (bend[0] + bend[1]) + (1 - 2 * m) * by_m
    ms = v * (a * bend[0] - b * bend[1]) + by_m
    ss = a * a * bend[0] + b * b * bend[1] - s * s * bend[2] + by_s
    first, second = np.stack([by_m, by_s]), np.array([[mm, ms], [ms, ss]])
    if theta.shape[1] == 3:
        w = special.expit(theta[:, 2:])
        log_p = log_p + np.log1p(-w)
        r = np.where(c == 0, special.expit(np.log(w) - log_p), 0)  # probability of belonging to the point mass
        log_p = np.where(c == 0, np.logaddexp(np.log(w), log_p), log_p)
        both = r * (1 - r)
        corner = both - w * (1 - w)
        edge = -both * first
        second = (1 - r) * second + both * first[:, None] * first
        first = np.concatenate([(1 - r) * first, (r - w)[None]])
        second = _bordered(second, edge, corner)
    value = np.sum(weight * log_p, axis=1)
    gradient = np.einsum("imu,mu->mi", first, weight)
    return value, gradient, np.einsum("ijmu,mu->mij", second, weight)


def _bordered(inner: FloatArray, edge: FloatArray, corner: FloatArray) -> FloatArray:
    """A symmetric matrix with one row and column more; matrices in the first two axes."""
    upper = np.concatenate([inner, edge[:, None]], axis=1)
    return np.concatenate([upper, np.concatenate([edge, corner[None]])[None]], axis=0)
