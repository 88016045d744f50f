"""Scores in the order of checkpoints, versions or days: one smooth curve through them, and sudden changes.

The scores y of T points on the same N questions have known squared errors v of sampling. Their truth is modelled as

    constant + smooth curve + sudden change,     y | truth ~ N(truth, diag v)

The constant is free, the curve a Gaussian process with a Matern kernel of some length and scale (shape 3/2, or 1/2, the
local level), the change a step of normal size between any two points. No length, scale, or place is chosen: each
combination is weighted by its marginal likelihood, and the posterior is the mixture of all. What questions have in
common at all points cancels in the curve's shape; for new questions their data noise D/N is added to its variance.

With P the inverse of the marginal covariance after the constant, h a step and c^2 the variance of its size, everything
that a step changes is of rank one: a = h'Ph and b = h'Py give its marginal likelihood (1 + c^2 a)^(-1/2)
exp(c^2 b^2 / (2 + 2 c^2 a)) and its size, c^2 b / (1 + c^2 a) on average with variance c^2 / (1 + c^2 a).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.core.claims import Claim
from howsure.stats.core.intervals import Interval, interval
from howsure.stats.repeats import Change, locate_change
from howsure.stats.scores import fill_within_variances

__all__ = ["FEWEST_POINTS", "MOST_POINTS", "SmoothedSeries", "smooth_cells", "smooth_series"]

#: Points of a series that is smoothed; the work grows with the cube of their number.
FEWEST_POINTS, MOST_POINTS = 5, 400
#: Kernels: shape 3/2 (smooth) and 1/2 (rough), each with its lengths as shares of the series and its prior weight. The
#: rough ones weigh three quarters, because a smooth curve through a rough truth is too sure of itself.
_KERNELS = ((1.5, (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2), 0.1), (0.5, (1 / 8, 1 / 2, 2), 0.9))
#: Variances of the curve and of the change in units of a point's squared error; 0 is no change, half of the prior.
_SCALES = 4.0 ** np.arange(7)
_STEPS = np.array([0.0, 1, 4, 16, 64])
_STEP_PRIOR = np.array([0.5, 0.125, 0.125, 0.125, 0.125])
#: Components of a smaller weight are left out of the mixture.
_LEAST_WEIGHT = 1e-6
#: Draws of the curve from which the chance of each point to be the best is counted.
_DRAWS = 4000
#: Neighbours on each side that a point's noise is estimated with.
_NEIGHBOURS = 3


@dataclass(frozen=True, eq=False)
class SmoothedSeries:
    """A smooth curve through T scores; arrays have shape (T,).

    Attributes
    ----------
    mean, covariance
        Posterior mean of the true scores on these questions and its covariance, shape (T, T).
    change
        The most probable sudden change, whether or not it is likely.
    data
        Squared error that the draw of the questions adds at each point; NaN where unknown.
    n_questions
        Questions that all points answered.

    Examples
    --------
    >>> curve = smooth_series([0.2, 0.3, 0.25, 0.4, 0.35, 0.5], 0.05**2)
    >>> curve.mean.round(2).tolist(), curve.best
    ([0.23, 0.29, 0.28, 0.37, 0.37, 0.46], 5)
    """

    mean: FloatArray
    covariance: FloatArray
    change: Change
    data: FloatArray | float = np.nan
    n_questions: int = 0

    @property
    def best(self) -> int:
        """The point at which the curve is highest."""
        return int(np.argmax(self.mean))

    def interval(self, level: float, claim: Claim = "these-questions") -> Interval:
        """Interval of the true score at each point at a level in (0, 1)."""
        variance = np.diag(self.covariance)
        if claim == "these-questions":
            return interval(self.mean, np.sqrt(variance), np.inf, level=level, method="clt")
        se = np.sqrt(variance + self.data)
        return interval(self.mean, se, max(self.n_questions, 2), level=level, method="t")

    @cached_property
    def p_best(self) -> FloatArray:
        """Probability of each point that it has the highest true score, from draws of the curve with a fixed seed."""
        values, vectors = np.linalg.eigh(self.covariance)
        noise = np.random.default_rng(37).standard_normal((_DRAWS, len(values)))
        drawn = self.mean + (noise * np.sqrt(np.maximum(values, 0))) @ vectors.T
        return np.bincount(np.argmax(drawn, axis=1), minlength=len(values)) / _DRAWS

    def may_be_best(self, level: float) -> NDArray[np.bool_]:
        """Return the fewest points that hold the best one with this probability."""
        order = np.argsort(-self.p_best, kind="stable")
        chosen = np.zeros(len(order), bool)
        chosen[order[: 1 + np.searchsorted(np.cumsum(self.p_best[order]), level - 1e-12)]] = True
        return chosen


class _KernelFit:
    """The marginal likelihoods and posteriors of all scales S, step variances C and step places T - 1 of a kernel."""

    def __init__(self, y: FloatArray, v: FloatArray, kernel: FloatArray) -> None:
        self.y, self.v, unit, root = y, v, np.median(v), 1 / np.sqrt(v)
        values, vectors = np.linalg.eigh(root[:, None] * kernel * root)
        self.basis = vectors.T * root
        steps = np.tri(len(y), k=-1)[:, :-1]
        self.one, self.steps = self.basis.sum(axis=1), self.basis @ steps
        by = self.basis @ y
        # 1/(scale eigenvalue + 1): the inverse of the marginal covariance is basis' diag(g) basis
        self.g = 1 / (1 + _SCALES[:, None] * unit * np.maximum(values, 0))
        self.weight = self.g @ self.one**2
        self.level = self.g @ (self.one * by) / self.weight
        self.tilt = self.g @ (self.one[:, None] * self.steps) / self.weight[:, None]
        rest = self.g @ by**2 - self.weight * self.level**2
        self.residual = by - self.level[:, None] * self.one
        self.a = (self.g @ self.steps**2 - self.weight[:, None] * self.tilt**2)[:, None, :]
        self.b = ((self.g * self.residual) @ self.steps)[:, None, :]
        c2 = unit * _STEPS[:, None]
        self.shrunk = c2 / (1 + c2 * self.a)
        alone = 0.5 * (np.sum(np.log(self.g), axis=1) - np.log(self.weight) - rest)
        prior = np.log(_STEP_PRIOR / steps.shape[1])[:, None]
        self.evidence = alone[:, None, None] + prior - 0.5 * np.log1p(c2 * self.a) + 0.5 * self.shrunk * self.b**2

    def moments(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums over all components of weight x mean, and of weight x second moment, around the scores."""
        T = len(self.y)
        mean, second = np.zeros(T), np.zeros((T, T))
        for s in np.flatnonzero(w.sum(axis=(1, 2)) > _LEAST_WEIGHT):
            half = self.basis.T * self.g[s]
            one = half @ self.one
            inverse = half @ self.basis - np.outer(one, one) / self.weight[s]
            alone = -self.v * (half @ self.residual[s])
            effect = self.v[:, None] * (half @ self.steps - np.outer(one, self.tilt[s]))
            size = self.shrunk[s] * self.b[s]
            by_step = effect @ np.sum(w[s] * size, axis=0)
            squares = np.sum(w[s] * (self.shrunk[s] + size**2), axis=0)
            fixed = np.diag(self.v) - self.v[:, None] * inverse * self.v + np.outer(alone, alone)
            mean += w[s].sum() * alone + by_step
            second += w[s].sum() * fixed + np.outer(alone, by_step) + np.outer(by_step, alone)
            second += (effect * squares) @ effect.T
        return mean, second


def smooth_series(score: ArrayLike, variance: ArrayLike, positions: ArrayLike | None = None) -> SmoothedSeries:
    """Fit a smooth curve with at most one sudden change to a series of scores.

    Parameters
    ----------
    score
        Scores, shape (T,), with T from `FEWEST_POINTS` to `MOST_POINTS`.
    variance
        Squared error of sampling of each, above 0, broadcast against `score`.
    positions
        Where the points are, growing, such as steps of training; None: at equal distances. With unequal distances
        curves over the positions and over their order are weighted alike.

    Returns
    -------
    SmoothedSeries
        With `data` unknown.

    Raises
    ------
    InputError
        Where an argument is out of range.

    References
    ----------
    Rasmussen and Williams (2006), Gaussian processes for machine learning, 2.7 and 5.4.

    Examples
    --------
    >>> curve = smooth_series([0.5, 0.52, 0.49, 0.51, 0.3, 0.31, 0.29, 0.3], 0.02**2)
    >>> curve.change.since, round(curve.change.size, 2), curve.change.p > 0.99
    (4, -0.2, True)
    """
    y = np.asarray(score, float)
    v = np.broadcast_to(np.asarray(variance, float), y.shape)
    T = len(y)
    x = np.arange(T, dtype=float) if positions is None else np.asarray(positions, float)
    if not FEWEST_POINTS <= T <= MOST_POINTS:
        raise InputError(f"{T} points", where="series", remedy=f"allowed: {FEWEST_POINTS} to {MOST_POINTS}")
    if not (np.all(np.isfinite(y)) and np.all(v > 0) and np.all(np.isfinite(v))):
        raise InputError("scores that are not finite, or errors that are not above 0", where="series")
    if x.shape != y.shape or not np.all(np.diff(x) > 0):
        raise InputError("positions that do not grow", where="series", remedy="give the points in their order")
    kernels, prior = _list_kernels(x)
    center = y.mean()
    fits = [_KernelFit(y - center, v, kernel) for kernel in kernels]
    logs = np.array([fit.evidence for fit in fits]) + np.log(prior)[:, None, None, None]
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    moments = [fit.moments(w) for fit, w in zip(fits, weights, strict=True)]
    shift = np.sum([mean for mean, _ in moments], axis=0)
    covariance = np.sum([second for _, second in moments], axis=0) - np.outer(shift, shift)
    by_place = weights[:, :, 1:].sum(axis=(0, 1, 2))
    size = np.sum([np.sum(w * fit.shrunk * fit.b, axis=(0, 1)) for fit, w in zip(fits, weights, strict=True)], axis=0)
    change = locate_change(by_place, size, T - 1, p=float(by_place.sum()))
    return SmoothedSeries(y + shift, covariance, change)


def smooth_cells(cells: Cells, positions: ArrayLike | None = None) -> SmoothedSeries | str:
    """Fit a smooth curve to the scores of T models, in the order of the cells, on the questions that all answered.

    Parameters
    ----------
    cells
        Checkpoints, versions or days as models, with generations that are independent.
    positions
        As for `smooth_series`.

    Returns
    -------
    SmoothedSeries or str
        The curve, or the reason why there is none.

    Notes
    -----
    The noise of a point comes from the generations of a question, averaged over the neighbours of the point. With one
    generation per question it is half the squared change of a question from one point to the next, which is too large
    by what the questions truly changed, so that intervals are too wide rather than too narrow.

    Examples
    --------
    >>> scores = [[[1, 0], [int(t > 3)] * 2, [0, int(t > 1)]] for t in range(6)]
    >>> smooth_cells(Cells.from_scores("demo", list("abcdef"), ["p", "q", "r"], scores)).mean.round(2).tolist()
    [0.22, 0.24, 0.33, 0.39, 0.54, 0.57]
    """
    if not FEWEST_POINTS <= len(cells.models) <= MOST_POINTS:
        return f"{len(cells.models)} points: a smooth curve takes {FEWEST_POINTS} to {MOST_POINTS}"
    common = cells.answered.all(axis=0)
    N = int(common.sum())
    if N < 2:
        return "fewer than two questions that all points answered: no smooth curve"
    mean, k = cells.mean[:, common], cells.n[:, common]
    s2 = fill_within_variances(cells, cells.answered)[:, common]
    variance = _estimate_noise(mean, s2, k, cells.binary) / N
    if not np.all(variance > 0):
        return "no variation was seen: no smooth curve"
    fitted = smooth_series(mean.mean(axis=1), variance, positions)
    data = _average_neighbours(np.var(mean, axis=1, ddof=1)) / N - variance
    return SmoothedSeries(fitted.mean, fitted.covariance, fitted.change, np.maximum(data, 0), N)


def _list_kernels(x: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """Return the correlations of the curve between all points, and the prior weight of each kernel."""
    axes = [np.linspace(0, 1, len(x))]
    if not np.allclose(np.diff(x), (x[-1] - x[0]) / (len(x) - 1)):
        axes.append((x - x[0]) / (x[-1] - x[0]))
    kernels, prior = [], []
    for axis in axes:
        distance = np.abs(axis[:, None] - axis)
        for shape, lengths, weight in _KERNELS:
            for length in lengths:
                scaled = distance / length * (np.sqrt(3) if shape > 1 else 1)
                kernels.append(np.exp(-scaled) * (1 + scaled if shape > 1 else 1))
                prior.append(weight / len(lengths) / len(axes))
    return kernels, np.array(prior)


def _average_neighbours(values: FloatArray) -> FloatArray:
    """Return triangular averages over `_NEIGHBOURS` points on each side along the first axis, without NaN."""
    place = np.arange(len(values))
    weight = np.maximum(1 - np.abs(place[:, None] - place) / (_NEIGHBOURS + 1), 0) * ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: FloatArray = weight @ np.nan_to_num(values) / weight.sum(axis=1)
    return mean


def _estimate_noise(mean: FloatArray, s2: FloatArray, k: NDArray[np.integer], binary: bool) -> FloatArray:
    """Return the mean over questions of the squared sampling errors of their means, shape (T,)."""
    share = np.mean(1 / k, axis=1)
    per_generation = np.mean(s2 / k, axis=1) / share
    if np.all(np.isnan(per_generation)):
        steps = np.mean(np.diff(mean, axis=0) ** 2 / (1 / k[1:] + 1 / k[:-1]), axis=1)
        per_generation = np.nanmean([[*steps, np.nan], [np.nan, *steps]], axis=0)
    noise = _average_neighbours(per_generation)
    if np.isnan(noise).any():
        noise = np.where(np.isnan(noise), np.nanmean(per_generation), noise)
    if binary and np.any(noise > 0):
        # as if one of the generations of the neighbourhood had differed
        noise = np.maximum(noise, 1 / ((_NEIGHBOURS + 1) * k.sum(axis=1)))
    error: FloatArray = np.maximum(noise, 1e-4 * noise.max()) * share
    return error
