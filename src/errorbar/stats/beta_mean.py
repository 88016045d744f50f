"""An interval for the expected score of few questions, whatever the number of generations: a posterior on a grid.

The hierarchical model of beta.py, c_q of n_q generations correct, has two parameters, mean m and concentration s, so
that no sampler is needed. Generations of one question count for more than one generation and for less than as many
questions. Unlike t and CLT it has an interval where all is right or wrong, and stays in [0, 1] (Bowyer et al. 2025).
"""

from __future__ import annotations

import numpy as np
from scipy import special

from errorbar.errors import InputError
from errorbar.stats.beta_likelihood import distinct_counts
from errorbar.stats.cells import FloatArray, IntArray

__all__ = ["posterior_of_mean"]


def posterior_of_mean(total: FloatArray, n: IntArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Interval for the expected score on new questions: posterior of m under the Beta-binomial model, on a grid.

    Parameters
    ----------
    total, n
        Correct and all generations, shape (M, N); any number per question, 0 for a missing question.
    level
        Probability of the equal-tailed interval.

    Returns
    -------
    low, high
        Shape (M,); NaN for a model without a generation. low is 0 where nothing is correct, high is 1 where all is.

    Priors, independent: m has Jeffreys' Beta(1/2, 1/2); the correlation of two generations of one question,
    1/(1 + s), is uniform on (0, 1). With one generation per question the likelihood does not know s, and the interval
    is Jeffreys' binomial interval.
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}", remedy="allowed: between 0 and 1, such as 0.95")
    total, n = np.asarray(total, float), np.asarray(n)
    low, high = np.full(len(n), np.nan), np.full(len(n), np.nan)
    counts = distinct_counts(total, n)
    some = np.flatnonzero(np.any(n > 0, axis=1))
    # Models at a time, so that the largest array (models, 80, 17, U) has one or two million elements.
    block = max(1, 1000 // counts.weight.shape[1])
    for start in range(0, len(some), block):
        rows = some[start : start + block]
        c, d, weight = (part[rows] for part in (counts.correct, counts.wrong, counts.weight))
        low[rows], high[rows] = _mean_quantiles(c, d, weight, level)
    low[some] = np.where(np.sum(total, axis=1)[some] == 0, 0, low[some])
    high[some] = np.where(np.sum(n - total, axis=1)[some] == 0, 1, high[some])
    return low, high


def _mean_quantiles(c: FloatArray, d: FloatArray, weight: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Quantiles of m for counts (M, U). Coordinates: m = sin^2 x, where Jeffreys' prior is flat, and t = -log s."""
    generations, correct = np.sum((c + d) * weight, axis=1), np.sum(c * weight, axis=1)
    center = np.arcsin(np.sqrt(correct / generations))[:, None]
    # Search around the score in steps that double, from a fifth of the smallest possible standard error.
    step = 0.1 / np.sqrt(generations)[:, None] * 2.0 ** np.arange(18)
    x = np.clip(np.concatenate([center - step[:, ::-1], center, center + step], axis=1), 1e-9, np.pi / 2 - 1e-9)
    t = np.broadcast_to(np.linspace(-13, 13, 27), (len(c), 27))
    for _ in range(2):  # from all that is possible to what is likely, end points included
        log_density = _log_posterior(x, t, c, d, weight)
        x, t = _around_peak(x, log_density.max(axis=2), 25), _around_peak(t, log_density.max(axis=1), 17)
    x = x[:, :1] + (x[:, -1:] - x[:, :1]) * (np.arange(80) + 0.5) / 80  # middles of 80 cells
    log_density = _log_posterior(x, t, c, d, weight)
    mass = np.sum(np.exp(log_density - log_density.max(axis=(1, 2), keepdims=True)), axis=2)
    cdf = np.cumsum(mass, axis=1) / mass.sum(axis=1, keepdims=True)
    width = x[:, 1] - x[:, 0]
    quantiles = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        cell = np.sum(cdf < tail, axis=1)[:, None]
        upper = np.take_along_axis(cdf, cell, axis=1)
        lower = upper - np.take_along_axis(mass / mass.sum(axis=1, keepdims=True), cell, axis=1)
        inside = (tail - lower) / (upper - lower) - 0.5
        angle = (np.take_along_axis(x, cell, axis=1) + inside * width[:, None])[:, 0]
        quantiles.append(np.sin(angle) ** 2)
    return quantiles[0], quantiles[1]


def _around_peak(nodes: FloatArray, log_density: FloatArray, number: int) -> FloatArray:
    """`number` nodes from just below to just above the nodes within e^-12 of the peak. Arrays (M, nodes)."""
    last = nodes.shape[1] - 1
    high_enough = log_density > log_density.max(axis=1, keepdims=True) - 12
    first = np.maximum(np.argmax(high_enough, axis=1) - 1, 0)
    final = np.minimum(last - np.argmax(high_enough[:, ::-1], axis=1) + 1, last)
    low, high = (np.take_along_axis(nodes, i[:, None], axis=1) for i in (first, final))
    return low + (high - low) * np.linspace(0, 1, number)


def _log_posterior(x: FloatArray, t: FloatArray, c: FloatArray, d: FloatArray, weight: FloatArray) -> FloatArray:
    """Log density at x (M, X) and t (M, T), shape (M, X, T), up to a constant."""
    s = np.exp(-t)
    prior = -np.logaddexp(0, t) - np.logaddexp(0, -t)  # uniform correlation 1/(1 + s) = expit(t)
    a, b = np.sin(x)[:, :, None] ** 2 * s[:, None], np.cos(x)[:, :, None] ** 2 * s[:, None]
    log_density = np.broadcast_to((prior - _rising(s, c + d, weight))[:, None], a.shape)
    return log_density + _rising(a, c, weight) + _rising(b, d, weight)


def _rising(a: FloatArray, c: FloatArray, weight: FloatArray) -> FloatArray:
    """Sum over questions of log a(a+1)...(a+c-1), for a (M, ...) and c, weight (M, U): the shape of a."""
    wide = a.reshape(len(a), -1)
    terms = special.gammaln(wide[:, :, None] + c[:, None])
    summed = np.einsum("mgu,mu->mg", terms, weight) - special.gammaln(wide) * weight.sum(axis=1)[:, None]
    return np.asarray(summed.reshape(a.shape))
