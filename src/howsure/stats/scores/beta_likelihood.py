"""Likelihood of Beta-binomial counts: its maximum by Newton's method, and its posterior on a grid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from howsure.stats.core.cells import FloatArray, IntArray

__all__ = [
    "LIMITS",
    "BetaGrid",
    "Counts",
    "distinct_counts",
    "make_beta_grid",
    "maximize_likelihood",
    "mixture_quantile",
]

#: Limits of logit m, log s and logit of the mass at 0, beyond which nothing changes that data could show.
LIMITS = np.array([[-14.0, 14.0], [np.log(1e-3), np.log(1e5)], [-14.0, 14.0]])


class Counts(NamedTuple):
    """The distinct (correct, wrong) counts of each model, padded with weight 0. `place` (M, N) leads back to them."""

    correct: FloatArray  # (M, U)
    wrong: FloatArray  # (M, U)
    weight: FloatArray  # (M, U): questions with these counts
    place: IntArray  # (M, N)


def distinct_counts(total: FloatArray, n: IntArray) -> Counts:
    """Find the distinct counts of each model: ten generations have eleven outcomes, for any number of questions.

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


def maximize_likelihood(
    c: FloatArray, d: FloatArray, weight: FloatArray, *, zero: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the maximum (logit m, log s, mass at 0), shape (M, 3), and the log-likelihood, of counts (M, U)."""
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
    """Maximize each model's log-likelihood within `LIMITS` from theta, shape (M, 2 or 3)."""
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
    """Return value (M,), gradient (M, P) and Hessian (M, P, P) at theta (M, P): logit m, log s, logit mass."""
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
    """Return a symmetric matrix with one more row and column; the matrix axes are the first two."""
    upper = np.concatenate([inner, edge[:, None]], axis=1)
    return np.concatenate([upper, np.concatenate([edge, corner[None]])[None]], axis=0)


#: Nodes along both axes of the grid, and the nodes of highest probability that are kept.
_NODES, _N_LIKELY = 11, 48
#: Elements of the largest array of one block of models.
_ELEMENTS = 2_000_000


class BetaGrid(NamedTuple):
    """Nodes of the posterior of (a, b) of each model, and their probabilities; arrays have shape (M, G)."""

    a: FloatArray
    b: FloatArray
    probability: FloatArray


def make_beta_grid(
    c: FloatArray, d: FloatArray, weight: FloatArray, *, correlation: tuple[float, float] = (1.0, 1.0)
) -> BetaGrid:
    """Compute the posterior of the parameters of each model's Beta distribution.

    Parameters
    ----------
    c, d
        Correct and wrong generations, shape (M, U); real numbers of 0 or more, such as effective counts, are allowed.
    weight
        Questions with these counts, shape (M, U). Each model needs one generation.
    correlation
        Parameters of the Beta prior of the correlation r; (1, 1) is uniform. The mean has Jeffreys' Beta(1/2, 1/2).

    Returns
    -------
    BetaGrid
        48 nodes for each model; what lies outside them is about a thousandth of the probability.

    >>> grid = make_beta_grid(np.array([[7.0, 5.0]]), np.array([[3.0, 5.0]]), np.array([[20.0, 20.0]]))
    >>> mean = float(np.sum(grid.probability * grid.a / (grid.a + grid.b)))
    >>> round(mean, 2)
    0.6
    """
    blocks = []
    block = max(1, _ELEMENTS // (37 * 27 * c.shape[1]))
    for start in range(0, len(c), block):
        rows = slice(start, start + block)
        x, t = _make_grid_axes(c[rows], d[rows], weight[rows], _NODES, _NODES, correlation=correlation)
        log_density = _log_posterior(x, t, c[rows], d[rows], weight[rows], correlation=correlation).reshape(len(x), -1)
        likely = np.argpartition(-log_density, _N_LIKELY, axis=1)[:, :_N_LIKELY]
        log_density = np.take_along_axis(log_density, likely, axis=1)
        probability = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        probability /= probability.sum(axis=1, keepdims=True)
        angle, s = (
            np.take_along_axis(part, i, axis=1) for part, i in ((x, likely // _NODES), (np.exp(-t), likely % _NODES))
        )
        blocks.append((np.sin(angle) ** 2 * s, np.cos(angle) ** 2 * s, probability))
    a, b, probability = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return BetaGrid(a, b, probability)


def _make_grid_axes(
    c: FloatArray,
    d: FloatArray,
    weight: FloatArray,
    n_x: int,
    n_t: int,
    *,
    correlation: tuple[float, float] = (1.0, 1.0),
) -> tuple[FloatArray, FloatArray]:
    """Return axes x (M, n_x) and t (M, n_t) of equal steps over the likely values, for counts (M, U)."""
    generations, correct = np.sum((c + d) * weight, axis=1), np.sum(c * weight, axis=1)
    center = np.arcsin(np.sqrt(correct / generations))[:, None]
    # Search around the score in steps that double, from a fifth of the smallest possible standard error.
    step = 0.1 / np.sqrt(generations)[:, None] * 2.0 ** np.arange(18)
    x = np.clip(np.concatenate([center - step[:, ::-1], center, center + step], axis=1), 1e-9, np.pi / 2 - 1e-9)
    t = np.broadcast_to(np.linspace(-13, 13, 27), (len(c), 27))
    for of_x, of_t in ((25, 17), (n_x, n_t)):  # from all that is possible to what is likely, end points included
        log_density = _log_posterior(x, t, c, d, weight, correlation=correlation)
        x, t = _around_peak(x, log_density.max(axis=2), of_x), _around_peak(t, log_density.max(axis=1), of_t)
    return x, t


def _log_posterior(
    x: FloatArray,
    t: FloatArray,
    c: FloatArray,
    d: FloatArray,
    weight: FloatArray,
    *,
    correlation: tuple[float, float] = (1.0, 1.0),
) -> FloatArray:
    """Return the log density at x (M, X) and t (M, T), shape (M, X, T), up to a constant."""
    s = np.exp(-t)
    prior = -correlation[0] * np.logaddexp(0, -t) - correlation[1] * np.logaddexp(0, t)
    a, b = np.sin(x)[:, :, None] ** 2 * s[:, None], np.cos(x)[:, :, None] ** 2 * s[:, None]
    log_density = np.broadcast_to((prior - _rising(s, c + d, weight))[:, None], a.shape)
    return log_density + _rising(a, c, weight) + _rising(b, d, weight)


def mixture_quantile(weight: FloatArray, a: FloatArray, b: FloatArray, tail: float) -> FloatArray:
    """Return the quantile at `tail` of mixtures of Beta(a, b), (M, G), shape (M,).

    Halley's method on the angle x of m = sin^2 x, within a bracket that is halved where a step leaves it. Components of
    less than 1e-14 of a mixture are left out.
    """
    mixtures = _Mixtures.of(weight, a, b)
    low, high = np.zeros(len(a)), np.full(len(a), np.pi / 2)
    x = np.clip(np.arcsin(np.sqrt(mixtures.guess_quantile(tail))), 1e-150, np.pi / 2 - 1e-8)
    active = np.arange(len(a))
    for step in range(100):
        excess, density, slope = mixtures.select(active).evaluate(x[active])
        excess -= tail
        low[active], high[active] = (
            np.where(excess < 0, x[active], low[active]),
            np.where(excess < 0, high[active], x[active]),
        )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = excess / density
            curvature = newton * slope / density
            moved = x[active] - newton / (1 - curvature / 2)
        middle = (low[active] + high[active]) / 2
        inside = (moved > low[active]) & (moved < high[active])  # False for NaN
        settled = np.abs(excess) <= 1e-10
        # Halley's error is of third order: here less than 1e-9 of the last step
        precise = inside & (np.abs(excess) < 1e-5) & (np.abs(curvature) < 1e-4)
        # Every third step halves, should the steps stay on one side
        halved = ~inside | ((step > 5) & (step % 3 == 2))
        x[active] = np.where(settled, x[active], np.where(precise | ~halved, moved, middle))
        active = active[~(settled | precise) & (high[active] - low[active] > 1e-12)]
        if not len(active):
            break
    return np.asarray(np.sin(x) ** 2)


class _Mixtures(NamedTuple):
    """Components of M mixtures of Beta distributions in one row, those of a mixture side by side."""

    row: IntArray
    weight: FloatArray
    a: FloatArray
    b: FloatArray
    log_beta: FloatArray
    n_rows: int

    @classmethod
    def of(cls, weight: FloatArray, a: FloatArray, b: FloatArray) -> _Mixtures:
        """Return the components of some weight of mixtures, shape (M, G)."""
        row, at = np.nonzero(weight > 1e-14)
        used = (row, at)
        return cls(row, weight[used], a[used], b[used], special.betaln(a[used], b[used]), len(weight))

    def select(self, rows: IntArray) -> _Mixtures:
        """Return some of the mixtures, in increasing order."""
        if len(rows) == self.n_rows:
            return self
        place = np.full(self.n_rows, -1)
        place[rows] = np.arange(len(rows))
        used = place[self.row] >= 0
        weight, a, b, log_beta = (part[used] for part in (self.weight, self.a, self.b, self.log_beta))
        return _Mixtures(place[self.row[used]], weight, a, b, log_beta, len(rows))

    def sum(self, values: FloatArray) -> FloatArray:
        """Return the sum over the components of each mixture, shape (M,)."""
        return np.bincount(self.row, weights=values, minlength=self.n_rows).astype(float)

    def guess_quantile(self, tail: float) -> FloatArray:
        """Return the quantile of the Beta distribution with the mean and the variance of each mixture."""
        size = self.a + self.b
        mean = self.a / size
        center = self.sum(self.weight * mean)
        square = self.sum(self.weight * mean * (self.a + 1) / (size + 1))
        n = np.clip(center * (1 - center) / np.maximum(square - center**2, 1e-300) - 1, 1e-3, 1e12)
        quantile = special.betaincinv(center * n, (1 - center) * n, tail)
        return np.where(np.isfinite(quantile), quantile, center)

    def evaluate(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the probability below sin^2 x, the density of x and its slope, shape (M,) each."""
        sine, cosine = np.sin(x), np.cos(x)
        below = self.sum(self.weight * special.betainc(self.a, self.b, (sine**2)[self.row]))
        exponents = 2 * self.a - 1, 2 * self.b - 1
        log_density = exponents[0] * np.log(sine)[self.row] + exponents[1] * np.log(cosine)[self.row] - self.log_beta
        density = 2 * self.weight * np.exp(log_density)
        slope = density * (exponents[0] * (cosine / sine)[self.row] - exponents[1] * (sine / cosine)[self.row])
        return below, self.sum(density), self.sum(slope)


def _around_peak(nodes: FloatArray, log_density: FloatArray, number: int) -> FloatArray:
    """Return `number` nodes around those within e^-12 of the peak; arrays have shape (M, nodes)."""
    last = nodes.shape[1] - 1
    high_enough = log_density > log_density.max(axis=1, keepdims=True) - 12
    first = np.maximum(np.argmax(high_enough, axis=1) - 1, 0)
    final = np.minimum(last - np.argmax(high_enough[:, ::-1], axis=1) + 1, last)
    low, high = (np.take_along_axis(nodes, i[:, None], axis=1) for i in (first, final))
    return low + (high - low) * np.linspace(0, 1, number)


def _rising(a: FloatArray, c: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the sum over questions of log a(a+1)...(a+c-1), for a (M, ...) and c, weight (M, U), in the shape of a."""
    wide = a.reshape(len(a), -1)
    terms = special.gammaln(wide[:, :, None] + c[:, None])
    summed = np.einsum("mgu,mu->mg", terms, weight) - special.gammaln(wide) * weight.sum(axis=1)[:, None]
    return np.asarray(summed.reshape(a.shape))
