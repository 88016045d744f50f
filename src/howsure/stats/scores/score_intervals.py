"""Intervals of a score that need more than its standard error.

The default for scores in [0, 1] of new questions is the Bayesian bootstrap with pseudo-questions at 0 and 1. The N
question values v_q and the two ends have weights of a Dirichlet distribution, W ~ Dirichlet(1, ..., 1, a0, a1), and the
limits are quantiles of M = sum_q W_q v_q + W_1 (Rubin 1981; for the ends Gaffke 2005, Learned-Miller and Thomas 2020).
The ends have a0 = a1 = 1/2. With one answer per question, right or wrong, M ~ Beta(c + 1/2, N - c + 1/2): Jeffreys'
interval. Where all answers are right, or all wrong, the other end alone has a weight, a = 1, and the limit is Clopper
and Pearson's.

The quantiles are computed, not drawn. Dirichlet weights are independent gamma variables G_i of shapes a_i over their
sum, so P(M > x) = P(sum_i G_i (v_i - x) > 0), and with K(r) = -sum_i a_i log(1 - r (v_i - x))

    P(M > x) = 1/(2 pi i) integral of exp(K(r)) / r dr,     density = (sum a - 1)/(2 pi i) integral of exp(K(r)) dr

along a path from below to above the real axis that crosses it at r0 > 0, where K'(r0) = 1/r0, left of the largest
1/(v_i - x). It is a hyperbola with the curvature of the path of steepest descent there, on which the trapezoidal rule
has an error of about 1e-8 of the probability. A lower limit is an upper limit of 1 - v.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.core.claims import check_level

__all__ = ["SCORE_INTERVALS", "bootstrap_limits", "clopper_pearson", "wilson"]

#: Shape of a pseudo-question, and of the one at an end that no answer reached where all answers are at the other end.
_END, _UNSEEN_END = 0.5, 1.0
#: Values of a model beyond which they are moved to this many equal steps between its least and its largest value.
_STEPS = 128
#: Nodes and length of the path of integration, and those up to a total shape at which the integrand falls slowly.
_NODES, _LENGTH = 32, 6.0
_FEW, _FEW_NODES, _FEW_LENGTH = 12, 128, 14.0
#: Elements of the largest array of one block of models.
_ELEMENTS = 1_000_000


def wilson(correct: ArrayLike, n: ArrayLike, level: float) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's interval: all p that the score test does not reject; low and high of the common shape.

    Examples
    --------
    >>> [end.round(4).tolist() for end in wilson([8], [10], 0.95)]
    [[0.4902], [0.9433]]
    """
    n = np.asarray(n, float)
    p = np.asarray(correct, float) / n
    z2 = special.ndtri((1 + level) / 2) ** 2
    center = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return np.where(p == 0, 0.0, center - half), np.where(p == 1, 1.0, center + half)


def clopper_pearson(correct: ArrayLike, n: ArrayLike, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the exact interval, which covers every p with at least `level`; low and high of the common shape.

    Examples
    --------
    >>> [end.round(4).tolist() for end in clopper_pearson([8], [10], 0.95)]
    [[0.4439], [0.9748]]
    """
    correct, n = np.broadcast_arrays(np.asarray(correct, float), np.asarray(n, float))
    alpha = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = special.betaincinv(correct, n - correct + 1, alpha)
        high = special.betaincinv(correct + 1, n - correct, 1 - alpha)
    low, high = np.where(correct == 0, 0.0, low), np.where(correct == n, 1.0, high)
    return np.where(np.isnan(n), np.nan, low), high


def _proportion(
    limits: Callable[[FloatArray, FloatArray, float], tuple[FloatArray, FloatArray]],
) -> Callable[[Cells, float], tuple[FloatArray, FloatArray]]:
    """Return a function of cells and level to an interval for one generation per question, scored 0 or 1."""

    def of(cells: Cells, level: float) -> tuple[FloatArray, FloatArray]:
        n = np.sum(cells.n, axis=1).astype(float)
        fits = np.all(cells.n <= 1, axis=1) & (n > 0) & cells.binary
        n = np.where(fits, n, np.nan)
        return limits(np.sum(cells.total, axis=1), n, level)

    return of


def bootstrap_limits(
    values: ArrayLike, answered: NDArray[np.bool_], level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Compute an interval of the mean over new questions of values in [0, 1], for each of M models.

    Parameters
    ----------
    values, answered
        A value of each question in [0, 1], such as the mean of its scores, and whether there is one, shape (M, N).
    level
        Probability of the interval, in (0, 1).

    Returns
    -------
    low, high
        Shape (M,); NaN for a model without a value. low is 0 where all values are 0, high is 1 where all are 1.

    Notes
    -----
    The limits do not depend on the order of the questions. More than 256 values of a model are interpolated on 129
    points with the same mean, variance and skewness, which changes a limit by less than a millionth of its distance
    from the mean.

    References
    ----------
    Rubin (1981), The Bayesian bootstrap, Ann. Statist. 9. Learned-Miller and Thomas (2020), A new confidence interval
    for the mean of a bounded random variable, arXiv:1905.06208.

    Examples
    --------
    >>> low, high = bootstrap_limits([[1, 0, 1, 1, 0], [0.2, 0.5, 1, 0.9, 0.7]], np.ones((2, 5), bool))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.209, 0.364], [0.906, 0.857])
    """
    check_level(level)
    given = np.where(answered, np.clip(np.asarray(values, float), 0, 1), np.nan)
    low, high = np.full(len(given), np.nan), np.full(len(given), np.nan)
    tail = (1 - level) / 2
    ones, zeros = np.sum(given == 1, axis=1), np.sum(given == 0, axis=1)
    N = np.sum(answered, axis=1)
    binary = (ones + zeros == N) & (N > 0)
    a, b = (
        np.where(same == N, N, np.where(same == 0, _UNSEEN_END, same + _END))[binary].astype(float)
        for same in (ones, zeros)
    )
    low[binary] = np.where(zeros[binary] == N[binary], 0, special.betaincinv(a, b, tail))
    high[binary] = np.where(ones[binary] == N[binary], 1, special.betainccinv(a, b, tail))
    rest = np.flatnonzero((N > 0) & ~binary)
    block = max(1, _ELEMENTS // (_NODES * min(given.shape[1], _STEPS) + 1))
    for start in range(0, len(rest), block):
        rows = rest[start : start + block]
        points, weights = _weigh_points(given[rows])
        high[rows] = _upper_quantile(points, weights, tail)
        low[rows] = 1 - _upper_quantile(1 - points, weights, tail)
    return low, high


def _weigh_points(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return points with the weights of the question values (NaN for missing) and of the ends, the last two; (M, G).

    With more than twice `_STEPS` questions, a value has the weights of cubic interpolation at the four points around.
    """
    there = ~np.isnan(values)
    M, N = values.shape
    if N > 2 * _STEPS:
        least, largest = np.nanmin(values, axis=1), np.nanmax(values, axis=1)
        place = np.where(there, values - least[:, None], 0) / np.maximum((largest - least) / _STEPS, 1e-300)[:, None]
        first = np.clip(np.floor(place) - 1, 0, _STEPS - 3)
        x, row = place - first, (_STEPS + 1) * np.arange(M)[:, None]
        weights = np.zeros(M * (_STEPS + 1))
        for j, others in enumerate(((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2))):
            part = there * 1.0
            for i in others:
                part *= (x - i) / (j - i)
            at = (first + row).astype(np.int64) + j
            weights += np.bincount(at.ravel(), part.ravel(), minlength=len(weights))
        points = least[:, None] + (largest - least)[:, None] / _STEPS * np.arange(_STEPS + 1)
        weights = weights.reshape(M, -1)
    else:
        order = np.argsort(values, axis=1)
        points = np.nan_to_num(np.take_along_axis(values, order, axis=1))
        weights = np.take_along_axis(there, order, axis=1).astype(float)
    ends = np.broadcast_to(np.array([0.0, 1.0]), (M, 2))
    return np.hstack([points, ends]), np.hstack([weights, np.full((M, 2), _END)])


def _upper_quantile(v: FloatArray, a: FloatArray, tail: float) -> FloatArray:
    """Return x with P(M > x) = tail for points v with weights a, (M, G), by Newton's method on the normal scores."""
    total = a.sum(axis=1)
    mean: FloatArray = np.sum(a * v, axis=1) / total
    variance = np.sum(a * (v - mean[:, None]) ** 2, axis=1) / (total * (total + 1))
    size = mean * (1 - mean) / variance - 1
    x: FloatArray = special.betainccinv(mean * size, (1 - mean) * size, tail)
    low, high = np.zeros(len(x)), np.ones(len(x))
    r, active = np.full(len(x), 0.5), np.arange(len(x))
    wanted = special.ndtri(tail)
    for _ in range(100):
        at = x[active]
        d = (v[active] - at[:, None]) / (1 - at)[:, None]  # at most 1, so that r0 is in (0, 1)
        r[active] = _find_saddle(d, a[active], r[active])
        above, density = _integrate(d, a[active], r[active], total[active])
        density *= (total[active] - 1) / (1 - at)
        score = special.ndtri(np.clip(above, 1e-300, 1 - 1e-16))
        with np.errstate(divide="ignore", invalid="ignore"):  # where the density is 0, the interval is halved
            step = (score - wanted) * np.exp(-(score**2) / 2) / np.sqrt(2 * np.pi) / density
        low[active] = np.where(score > wanted, at, low[active])
        high[active] = np.where(score > wanted, high[active], at)
        moved = at + step
        inside = (moved > low[active]) & (moved < high[active])  # False for NaN
        x[active] = np.where(inside, moved, (low[active] + high[active]) / 2)
        active = active[~inside | (np.abs(score - wanted) > 1e-4)]
        if not len(active):
            break
    return x


def _derivatives(d: FloatArray, a: FloatArray, r: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the first three derivatives of K(r) - log r, shape (M,) each."""
    part = d / (1 - r[:, None] * d)
    first, second, third = np.sum(a * part, axis=1), np.sum(a * part**2, axis=1), 2 * np.sum(a * part**3, axis=1)
    return first - 1 / r, second + 1 / r**2, third - 2 / r**3


def _find_saddle(d: FloatArray, a: FloatArray, r: FloatArray) -> FloatArray:
    """Return about where the convex function K(r) - log r is least in (0, 1), by Newton's method from r; shape (M,)."""
    low, high = np.zeros(len(r)), np.ones(len(r))
    for _ in range(60):
        slope, curvature, _ = _derivatives(d, a, r)
        if np.all(np.abs(slope) < 0.05 * np.sqrt(curvature)):
            break
        low, high = np.where(slope < 0, r, low), np.where(slope < 0, high, r)
        moved = r - slope / curvature
        r = np.where((moved > low) & (moved < high), moved, (low + high) / 2)
    return r


def _integrate(d: FloatArray, a: FloatArray, r0: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the integrals of exp(K(r))/r and of exp(K(r)) over 2 pi i, shape (M,) each."""
    _, curvature, third = _derivatives(d, a, r0)
    width = 1 / np.sqrt(curvature)[:, None]
    bend = -third[:, None] * width**3 / 3
    is_small = np.min(total) <= _FEW
    nodes, length = (_FEW_NODES, _FEW_LENGTH) if is_small else (_NODES, _LENGTH)
    y = (np.arange(nodes) + 0.5) * length / nodes
    r = r0[:, None] + width * (bend * (1 - np.cosh(y)) + 1j * np.sinh(y))
    slope = width * (np.cosh(y) + 1j * bend * np.sinh(y)) * length / nodes  # dr/dy over i
    real, imaginary = 1 - r.real[:, :, None] * d[:, None], -r.imag[:, :, None] * d[:, None]
    size = np.einsum("mng,mg->mn", np.log(real**2 + imaginary**2), a) / 2
    angle = np.einsum("mng,mg->mn", np.arctan2(imaginary, real), a)
    value = np.exp(-size - 1j * angle) * slope
    return np.sum((value / r).real, axis=1) / np.pi, np.sum(value.real, axis=1) / np.pi


def _bootstrap(cells: Cells, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the interval of `bootstrap_limits` of the question means; NaN for scores outside [0, 1]."""
    return bootstrap_limits(cells.mean, cells.answered & cells.unit, level)


#: The interval of each method, for the claim about new questions; NaN for a model that the method is not for.
SCORE_INTERVALS: dict[str, Callable[[Cells, float], tuple[FloatArray, FloatArray]]] = {
    "bayesian-bootstrap": _bootstrap,
    "wilson": _proportion(wilson),
    "exact": _proportion(clopper_pearson),
}
