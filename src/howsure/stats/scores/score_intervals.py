"""Intervals of a score that need more than its standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray, mean_where
from howsure.stats.core.claims import POSTERIOR_METHODS, PosteriorMethod, check_choice, check_level
from howsure.stats.scores.beta_likelihood import distinct_counts, log_posterior, make_grid_axes, mixture_quantile

__all__ = [
    "DRAWS",
    "SCORE_INTERVALS",
    "bca_limits",
    "clopper_pearson",
    "draw_scores",
    "paired_errors",
    "paired_percentile_limits",
    "percentile_limits",
    "posterior_of_mean",
    "posterior_of_means",
    "wilson",
]


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


def _posterior(method: PosteriorMethod) -> Callable[[Cells, float], tuple[FloatArray, FloatArray]]:
    """Return a function of cells and level to the posterior interval; NaN for other scores than 0 and 1."""

    def of(cells: Cells, level: float) -> tuple[FloatArray, FloatArray]:
        if not cells.binary:
            nothing = np.full(len(cells.models), np.nan)
            return nothing, nothing
        return posterior_of_mean(cells.total, cells.n, level, method=method)

    return of


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


def posterior_of_mean(
    total: FloatArray, n: IntArray, level: float = 0.95, *, method: PosteriorMethod = "variance"
) -> tuple[FloatArray, FloatArray]:
    """Compute an equal-tailed posterior interval of the expected score on new questions, for scores of 0 and 1.

    Parameters
    ----------
    total, n
        Correct and all generations, shape (M, N); any number per question, 0 for a missing question.
    level
        Probability of the interval.
    method
        `"variance"`: `posterior_of_means` of the question means.
        `"beta-binomial"`: the full likelihood on a grid.

    Returns
    -------
    low, high
        Shape (M,); NaN for a model without a generation. low is 0 where nothing is correct, high is 1 where all is.

    Priors, independent: Jeffreys' Beta(1/2, 1/2) for m, uniform on (0, 1) for r. With one generation per question the
    data do not know r, and the interval is Jeffreys' binomial interval.

    >>> low, high = posterior_of_mean(np.array([[1.0, 0, 1, 1, 0]]), np.ones((1, 5), int))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.209], [0.906])
    """
    check_level(level)
    check_choice("posterior", method, POSTERIOR_METHODS)
    total, n = np.asarray(total, float), np.asarray(n)
    if method == "variance":
        answered, k = n > 0, np.maximum(n, 1)
        return posterior_of_means(total / k, answered, mean_where(1 / k, answered), level)
    low, high = np.full(len(n), np.nan), np.full(len(n), np.nan)
    some = np.flatnonzero(np.any(n > 0, axis=1))
    counts = distinct_counts(total, n)
    # Models at a time, so that the largest array (models, 80, 17, U) has one or two million elements.
    block = max(1, 1000 // counts.weight.shape[1])
    for start in range(0, len(some), block):
        rows = some[start : start + block]
        c, d, weight = (part[rows] for part in (counts.correct, counts.wrong, counts.weight))
        low[rows], high[rows] = _by_likelihood(c, d, weight, level)
    low[some] = np.where(np.sum(total, axis=1)[some] == 0, 0, low[some])
    high[some] = np.where(np.sum(n - total, axis=1)[some] == 0, 1, high[some])
    return low, high


def posterior_of_means(
    means: FloatArray, answered: NDArray[np.bool_], alike: FloatArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Compute an equal-tailed posterior interval of the mean over new questions, of values in [0, 1] of N questions.

    Parameters
    ----------
    means, answered
        A value of each question in [0, 1], and whether there is one, shape (M, N).
    alike
        Variance of a value over m(1 - m) if all questions were alike, mean over the questions, shape (M,); for a mean
        of k right or wrong answers 1/k.
    level
        Probability of the interval.

    Returns
    -------
    low, high
        Shape (M,); NaN for a model without a value. low is 0 where all values are 0, high is 1 where all are 1.

    Notes
    -----
    With f = r + (1 - r) alike and r uniform on (0, 1), m given r has the posterior of N/f binomial trials under
    Jeffreys' prior, and r is weighed by the chi-squared law of the variance of the values, with N - 1 degrees of
    freedom or as many as their kurtosis leaves.

    Examples
    --------
    >>> low, high = posterior_of_means(np.array([[0.2, 0.4, 1.0]]), np.ones((1, 3), bool), np.array([0.25]))
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.16], [0.88])
    """
    check_level(level)
    low, high = np.full(len(means), np.nan), np.full(len(means), np.nan)
    some = np.flatnonzero(np.any(answered, axis=1))
    if len(some) == 0:
        return low, high
    answered = answered[some]
    means = np.where(answered, means[some], 0)
    N = answered.sum(axis=1).astype(float)
    score, h = means.sum(axis=1) / N, alike[some]
    # Questions all right or all wrong say nothing of r.
    ratio, df = _variance_ratio(np.where(answered, means - score[:, None], 0), N, score)
    # Middles of cells of r = u^3, which are small where r is: N/f may reach N/h.
    u = (np.arange(points := int(max(64, 6 * np.sqrt(N.max(initial=0))))) + 0.5) / points
    f = u**3 + (1 - u**3) * h[:, None]
    # df ratio / f ~ chi^2 with df degrees of freedom, a density of f^(-df/2) exp(-df ratio/(2f)); dr = 3 u^2 du
    log_weight = -df / 2 * (np.log(f) + ratio / f) + 2 * np.log(u)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    # With one generation per question all f are 1, and one component says it all.
    weight = np.where(h[:, None] == 1, np.arange(points) == 0, weight)
    weight /= weight.sum(axis=1, keepdims=True)
    a, b = score[:, None] * N[:, None] / f + 0.5, (1 - score[:, None]) * N[:, None] / f + 0.5

    low[some], high[some] = (mixture_quantile(weight, a, b, tail) for tail in ((1 - level) / 2, (1 + level) / 2))
    low[some] = np.where(score == 0, 0, low[some])
    high[some] = np.where(score == 1, 1, high[some])
    return low, high


def _variance_ratio(x: FloatArray, N: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the variance of the question means over m(1-m) and its df, from deviations x of shape (M, N).

    Var(S^2) = S^4 (kurtosis - 1)/N, as of a chi-squared law with 2N/(kurtosis - 1) degrees of freedom: a variance that
    one question makes alone is hardly known. Shapes (M, 1).
    """
    x_squared = x**2
    square, fourth = np.sum(x_squared, axis=1), np.einsum("mn,mn->m", x_squared, x_squared)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = square / (N - 1) / (score * (1 - score))
        df = np.minimum(N - 1, 2 * N / np.maximum(N * fourth / square**2 - 1, 0))
    df = np.where(square > 0, df, N - 1)
    silent = (score == 0) | (score == 1) | (N == 1)
    return np.where(silent, 0, ratio)[:, None], np.where(silent, 0, df)[:, None]


def _by_likelihood(c: FloatArray, d: FloatArray, weight: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of m for counts (M, U), on the coordinates m = sin^2 x and t of `beta_likelihood`."""
    x, t = make_grid_axes(c, d, weight, 25, 17)
    x = x[:, :1] + (x[:, -1:] - x[:, :1]) * (np.arange(80) + 0.5) / 80  # middles of 80 cells
    log_density = log_posterior(x, t, c, d, weight)
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


#: The interval of each method, for the claim about new questions; NaN for a model that the method is not for.
SCORE_INTERVALS: dict[str, Callable[[Cells, float], tuple[FloatArray, FloatArray]]] = {
    "wilson": _proportion(wilson),
    "exact": _proportion(clopper_pearson),
    "posterior": _posterior("variance"),
    "beta-binomial": _posterior("beta-binomial"),
    "bootstrap": percentile_limits,
    "bca": bca_limits,
}
