"""The posterior of the parameters of a Beta distribution on a grid, and quantiles of mixtures of such distributions.

Question q is answered correctly with probability p_q ~ Beta(a, b), and c_q of its n_q generations are correct. Without
a sampler, the posterior of (a, b) is a table: x with mean a/(a + b) = sin^2 x, where Jeffreys' prior of the mean is
flat, and t = logit r with r = 1/(1 + a + b), the correlation of two generations of one question.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from howsure.stats.core.cells import FloatArray

__all__ = ["BetaGrid", "beta_grid", "grid_axes", "log_posterior", "mixture_quantile"]

#: Nodes along both axes of the grid, and the nodes of highest probability that are kept.
_NODES, _KEPT = 11, 48
#: Elements of the largest array of one block of models.
_ELEMENTS = 2_000_000


class BetaGrid(NamedTuple):
    """Nodes of the posterior of (a, b) of each model, and their probabilities; arrays have shape (M, G)."""

    a: FloatArray
    b: FloatArray
    probability: FloatArray


def beta_grid(
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

    >>> grid = beta_grid(np.array([[7.0, 5.0]]), np.array([[3.0, 5.0]]), np.array([[20.0, 20.0]]))
    >>> mean = float(np.sum(grid.probability * grid.a / (grid.a + grid.b)))
    >>> round(mean, 2)
    0.6
    """
    blocks = []
    block = max(1, _ELEMENTS // (37 * 27 * c.shape[1]))
    for start in range(0, len(c), block):
        rows = slice(start, start + block)
        x, t = grid_axes(c[rows], d[rows], weight[rows], _NODES, _NODES, correlation=correlation)
        log_density = log_posterior(x, t, c[rows], d[rows], weight[rows], correlation=correlation).reshape(len(x), -1)
        kept = np.argpartition(-log_density, _KEPT, axis=1)[:, :_KEPT]
        log_density = np.take_along_axis(log_density, kept, axis=1)
        probability = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        probability /= probability.sum(axis=1, keepdims=True)
        angle, s = (
            np.take_along_axis(part, i, axis=1) for part, i in ((x, kept // _NODES), (np.exp(-t), kept % _NODES))
        )
        blocks.append((np.sin(angle) ** 2 * s, np.cos(angle) ** 2 * s, probability))
    a, b, probability = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return BetaGrid(a, b, probability)


def grid_axes(
    c: FloatArray,
    d: FloatArray,
    weight: FloatArray,
    n_x: int,
    n_t: int,
    *,
    correlation: tuple[float, float] = (1.0, 1.0),
) -> tuple[FloatArray, FloatArray]:
    """Axes x (M, n_x) and t (M, n_t) of equal steps that span what is likely, from counts (M, U)."""
    generations, correct = np.sum((c + d) * weight, axis=1), np.sum(c * weight, axis=1)
    center = np.arcsin(np.sqrt(correct / generations))[:, None]
    # Search around the score in steps that double, from a fifth of the smallest possible standard error.
    step = 0.1 / np.sqrt(generations)[:, None] * 2.0 ** np.arange(18)
    x = np.clip(np.concatenate([center - step[:, ::-1], center, center + step], axis=1), 1e-9, np.pi / 2 - 1e-9)
    t = np.broadcast_to(np.linspace(-13, 13, 27), (len(c), 27))
    for of_x, of_t in ((25, 17), (n_x, n_t)):  # from all that is possible to what is likely, end points included
        log_density = log_posterior(x, t, c, d, weight, correlation=correlation)
        x, t = _around_peak(x, log_density.max(axis=2), of_x), _around_peak(t, log_density.max(axis=1), of_t)
    return x, t


def log_posterior(
    x: FloatArray,
    t: FloatArray,
    c: FloatArray,
    d: FloatArray,
    weight: FloatArray,
    *,
    correlation: tuple[float, float] = (1.0, 1.0),
) -> FloatArray:
    """Log density at x (M, X) and t (M, T), shape (M, X, T), up to a constant."""
    s = np.exp(-t)
    prior = -correlation[0] * np.logaddexp(0, -t) - correlation[1] * np.logaddexp(0, t)
    a, b = np.sin(x)[:, :, None] ** 2 * s[:, None], np.cos(x)[:, :, None] ** 2 * s[:, None]
    log_density = np.broadcast_to((prior - _rising(s, c + d, weight))[:, None], a.shape)
    return log_density + _rising(a, c, weight) + _rising(b, d, weight)


def mixture_quantile(weight: FloatArray, a: FloatArray, b: FloatArray, tail: float) -> FloatArray:
    """Where mixtures of Beta(a, b) (M, G) reach the probability `tail`, shape (M,): false position with bisection."""
    low, high = np.zeros(len(a)), np.ones(len(a))
    at_low, at_high = np.full(len(a), -tail), np.full(len(a), 1 - tail)
    active = np.arange(len(a))
    for step in range(100):
        near, far, f_near, f_far = (part[active] for part in (low, high, at_low, at_high))
        # Every third step halves, should the chord stay on one side
        m = (near + far) / 2 if step % 3 == 2 else near + (far - near) * f_near / (f_near - f_far)
        f = np.sum(weight[active] * special.betainc(a[active], b[active], m[:, None]), axis=1) - tail
        short = f < 0
        low[active], at_low[active] = np.where(short, m, near), np.where(short, f, f_near)
        high[active], at_high[active] = np.where(short, far, m), np.where(short, f_far, f)
        active = active[(np.abs(f) > 1e-10) & (high[active] - low[active] > 1e-12)]
        if not len(active):
            break
    return np.where(np.abs(at_low) < np.abs(at_high), low, high)


def _around_peak(nodes: FloatArray, log_density: FloatArray, number: int) -> FloatArray:
    """`number` nodes from just below to just above the nodes within e^-12 of the peak. Arrays (M, nodes)."""
    last = nodes.shape[1] - 1
    high_enough = log_density > log_density.max(axis=1, keepdims=True) - 12
    first = np.maximum(np.argmax(high_enough, axis=1) - 1, 0)
    final = np.minimum(last - np.argmax(high_enough[:, ::-1], axis=1) + 1, last)
    low, high = (np.take_along_axis(nodes, i[:, None], axis=1) for i in (first, final))
    return low + (high - low) * np.linspace(0, 1, number)


def _rising(a: FloatArray, c: FloatArray, weight: FloatArray) -> FloatArray:
    """Sum over questions of log a(a+1)...(a+c-1), for a (M, ...) and c, weight (M, U): the shape of a."""
    wide = a.reshape(len(a), -1)
    terms = special.gammaln(wide[:, :, None] + c[:, None])
    summed = np.einsum("mgu,mu->mg", terms, weight) - special.gammaln(wide) * weight.sum(axis=1)[:, None]
    return np.asarray(summed.reshape(a.shape))
