"""Difficulty of each question for each model: P(correct), its distribution over questions, and its stability.

GEN plots the density of P(correct) over the questions of a benchmark: for stable models it lies near 0 and 1, for
models that answer at random in between. With few generations, the question means overstate stability (0/k and k/k), and
kernels smooth the peaks at 0 and 1. Here the density is the mean over questions of the posterior under the fitted Beta
distribution: it stays in [0, 1], needs no bandwidth, and approaches the distribution of the question means as k grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import DENSITY_METHODS, DensityMethod, check_choice, check_level
from howsure.stats.core.results import Conditions, Result, notes
from howsure.stats.scores import HIERARCHICAL, PRIORS, BetaFit, fit_beta, posterior, require_binary, update_prior

__all__ = [
    "BetaCurves",
    "Difficulty",
    "DifficultyDensity",
    "DifficultyStability",
    "estimate_density",
    "estimate_p_correct",
    "estimate_stability",
    "evaluate_beta_curves",
]

_FITTED = "fitted"


@dataclass(frozen=True, eq=False)
class Difficulty(Result):
    """P(correct) of M models on N questions; arrays have shape (M, N).

    Attributes
    ----------
    benchmark, models, questions
        Names.
    n
        Number of generations.
    mean
        Observed share of correct generations; NaN where there is no generation.
    p_correct, low, high
        Posterior mean and equal-tailed interval; NaN where there is no generation.
    prior, level
        Name of the prior, and probability of the interval.
    reasons
        Notes on each entry.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 1, 1], [1, 0, 0]]])
    >>> difficulty = estimate_p_correct(cells, prior="uniform")
    >>> difficulty.logit.round(2).tolist()
    [[1.39, -0.41]]
    """

    benchmark: str
    models: tuple[str, ...]
    questions: tuple[str, ...]
    n: IntArray
    mean: FloatArray
    p_correct: FloatArray
    low: FloatArray
    high: FloatArray
    prior: str
    level: float
    reasons: NDArray[np.object_] = field(repr=False)

    @property
    def logit(self) -> FloatArray:
        """log(p/(1-p)) of the posterior mean: ability minus difficulty in the 1PL model of one model (GEN, eq. 4)."""
        return np.asarray(special.logit(self.p_correct))

    declared = (
        "benchmark model=models question=questions@1 n_generations=n score=mean p_correct low high logit level "
        "prior note=reasons"
    )


def estimate_p_correct(cells: Cells, *, prior: str = HIERARCHICAL, level: float = 0.95) -> Difficulty:
    """Estimate the probability that a model answers a question correctly, for each model and question.

    Parameters
    ----------
    cells
        Scores of 0 and 1.
    prior
        `"hierarchical"`: the Beta distribution of the model's questions, whose two parameters are averaged over their
        posterior. `"fitted"`: the same distribution at its maximum likelihood, taken as known (empirical Bayes;
        Jeffreys' prior where the data do not determine it); its intervals are too narrow for few questions or
        generations. Or a name of `scores.PRIORS`.
    level
        Probability of the interval, on average over questions: among questions like these, a share of `level` have
        their P(correct) in the interval. The measured coverage is in the docstring of `scores.posterior`.

    Returns
    -------
    Difficulty
        NaN with a reason where a question has no generation.

    Raises
    ------
    UnknownNameError
        Where the prior is unknown.
    InputError
        Where a score is not 0 or 1.

    Notes
    -----
    Under a Beta(a, b) prior, c of k correct generations give the posterior Beta(a + c, b + k - c).

    References
    ----------
    Gelman, A. et al. (2013), Bayesian Data Analysis, third edition, sections 2.4 and 5.3.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 1, 1], [1, 0, 0]]])
    >>> estimate_p_correct(cells, prior="uniform").p_correct.tolist()
    [[0.8, 0.4]]
    """
    check_choice("prior", prior, [HIERARCHICAL, _FITTED, *PRIORS])
    check_level(level, where="p_correct")
    missing = cells.n == 0
    reasons = {"no generation": missing}
    if prior == HIERARCHICAL:
        estimates = posterior(cells, prior, level=level)
        single = np.max(cells.n, axis=1, initial=0) == 1
        reasons["one generation of each question: how much questions differ is unknown, and assumed to be anything"] = (
            single[:, None] & ~missing
        )
    else:
        distribution, unknown = _prior_distribution(cells, prior)
        estimates = posterior(cells, distribution, level=level)
        reasons["Jeffreys' prior: the data do not know the model's own"] = np.repeat(
            unknown[:, None], cells.n.shape[1], axis=1
        )
    mean, low, high = (np.where(missing, np.nan, part) for part in estimates)
    note = notes({text: where.ravel() for text, where in reasons.items()}).reshape(cells.n.shape)
    return Difficulty(
        cells.benchmark, cells.models, cells.questions, cells.n, cells.mean, mean, low, high, prior, level, note
    )


@dataclass(frozen=True, eq=False)
class DifficultyDensity(Result):
    """Distribution of P(correct) over questions.

    Attributes
    ----------
    benchmark, models
        Name of the benchmark, and the M names.
    edges
        Edges of the G bins, shape (G + 1,).
    mass
        Share of the questions in each bin, shape (M, G); rows sum to 1.
    method
        Estimator of the density.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 1, 1], [0, 0, 0]]])
    >>> result = estimate_density(cells, bins=2, prior="uniform")
    >>> result.edges.tolist(), result.mass.round(2).tolist()
    ([0.0, 0.5, 1.0], [[0.5, 0.5]])
    """

    benchmark: str
    models: tuple[str, ...]
    edges: FloatArray
    mass: FloatArray
    method: str

    @property
    def density(self) -> FloatArray:
        """Mass over width of the bin, shape (M, G)."""
        return np.asarray(self.mass / np.diff(self.edges))

    declared = "benchmark model=models from=_bins.0@1 to=_bins.1@1 mass density method note=_reasons.notes"

    def _bins(self) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper edges of the bins."""
        return self.edges[:-1], self.edges[1:]

    def _reasons(self) -> Conditions:
        return {"no scores": np.isnan(self.mass[:, 0])}


def estimate_density(
    cells: Cells, *, bins: int = 50, method: DensityMethod = "posterior", prior: str = _FITTED
) -> DifficultyDensity:
    """Estimate the density of P(correct) over the questions of a benchmark, for each model.

    Parameters
    ----------
    cells
        Scores of 0 and 1.
    bins
        Number of bins of equal width on [0, 1], at least 1.
    method
        `"posterior"`, the mean of the questions' posteriors, or `"kernel"`, of the question means as in GEN, figure 1:
        Gaussian kernels with Scott's bandwidth, reflected at 0 and 1.
    prior
        `"fitted"`, the Beta distribution of the model's questions at its maximum likelihood, or a name of
        `scores.PRIORS`. The mean over questions hardly depends on the uncertainty of its parameters.

    Returns
    -------
    DifficultyDensity

    Raises
    ------
    InputError
        Where an argument is out of range, or a score is not 0 or 1.

    Notes
    -----
    The distribution function is mean over q of P(p_q <= x | c_q of k_q), for the posterior Beta(a + c, b + k - c).

    References
    ----------
    Scott, D. W. (1992), Multivariate Density Estimation, section 6.5 (the bandwidth of the kernel density).

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 1, 1], [0, 0, 0]]])
    >>> estimate_density(cells, bins=2, prior="uniform").mass.round(3).tolist()
    [[0.5, 0.5]]
    """
    if bins < 1:
        raise InputError(f"bins is {bins!r}", where="density", remedy="allowed: 1 or more")
    edges = np.linspace(0, 1, bins + 1)
    if method == "posterior":
        cdf = _posterior_cdf(cells, edges[1:-1], prior)
    elif method == "kernel":
        require_binary(cells, "P(correct)")
        cdf = np.array(
            [_kernel_cdf(p[answered], edges[1:-1]) for p, answered in zip(cells.mean, cells.answered, strict=True)]
        )
    else:
        raise UnknownNameError("density", method, DENSITY_METHODS)
    one = np.where(np.any(cells.answered, axis=1), 1.0, np.nan)[:, None]
    mass = np.diff(np.concatenate([0 * one, cdf.reshape(len(one), bins - 1), one], axis=1), axis=1)
    return DifficultyDensity(cells.benchmark, cells.models, edges, mass, method)


@dataclass(frozen=True, eq=False)
class DifficultyStability(Result):
    """Share of questions that a model answers correctly almost never or almost always; arrays have shape (M,).

    Attributes
    ----------
    benchmark, models
        Name of the benchmark, and the M names.
    n_questions
        Number of questions with a generation.
    near_0, near_1
        Share of questions with P(correct) in [0, margin] and in [1 - margin, 1].
    margin
        Width of these ranges.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1] * 20, [0] * 20]])
    >>> result = estimate_stability(cells)
    >>> result.near_0.round(2).tolist(), result.near_1.round(2).tolist()
    ([0.5], [0.5])
    """

    benchmark: str
    models: tuple[str, ...]
    n_questions: IntArray
    near_0: FloatArray
    near_1: FloatArray
    margin: float

    declared = "benchmark model=models n_questions near_0 near_1 stability=_stability margin note=_reasons.notes"

    def _stability(self) -> FloatArray:
        """Share of the questions near 0 or 1."""
        return self.near_0 + self.near_1

    def _reasons(self) -> Conditions:
        return {"no scores": self.n_questions == 0}


def estimate_stability(cells: Cells, *, margin: float = 0.1, prior: str = _FITTED) -> DifficultyStability:
    """Estimate the share of questions with P(correct) in [0, margin] and in [1 - margin, 1].

    Parameters
    ----------
    cells
        Scores of 0 and 1.
    margin
        Width of the two ranges, above 0 and up to 0.5.
    prior
        As for `estimate_density`.

    Returns
    -------
    DifficultyStability
        The two shares under the posteriors; their sum is 1 for a model without randomness.

    Raises
    ------
    InputError
        Where an argument is out of range, or a score is not 0 or 1.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1] * 20, [0] * 20]])
    >>> estimate_stability(cells, prior="uniform").near_1.round(2).tolist()
    [0.45]
    """
    if not 0 < margin <= 0.5:
        raise InputError(f"margin is {margin!r}", where="stability", remedy="allowed: above 0 up to 0.5")
    cdf = _posterior_cdf(cells, np.array([margin, 1 - margin]), prior)
    n = np.sum(cells.answered, axis=1)
    return DifficultyStability(cells.benchmark, cells.models, n, cdf[:, 0], 1 - cdf[:, 1], margin)


@dataclass(frozen=True, eq=False)
class BetaCurves(Result):
    """Cumulative shares of questions at or below each of X points, observed and under a Beta fit, shape (M, X).

    Attributes
    ----------
    benchmark, models
        Name of the benchmark, and the M names.
    points
        Scores at which the shares are given, shape (X,).
    empirical
        Share of the observed question means.
    expected
        Its expectation under the fit: a mean of k generations has k + 1 possible values.
    fitted
        Distribution function of P(correct) under the fit.

    Examples
    --------
    >>> scores = [[[1, 1, 1], [1, 0, 1], [0, 0, 0], [0, 1, 0]]]
    >>> cells = Cells.from_scores("demo", ["a"], list("pqrs"), scores)
    >>> curves = evaluate_beta_curves(cells, fit_beta(cells), [0, 0.5, 1])
    >>> curves.empirical.tolist(), curves.fitted.round(2).tolist()
    ([[0.25, 0.5, 1.0]], [[0.0, 0.5, 1.0]])
    """

    benchmark: str
    models: tuple[str, ...]
    points: FloatArray
    empirical: FloatArray
    expected: FloatArray
    fitted: FloatArray

    @property
    def distance(self) -> FloatArray:
        """Largest distance between `empirical` and `expected`, shape (M,); NaN where there is no fit."""
        return np.asarray(np.max(np.abs(self.empirical - self.expected), axis=1))

    declared = "benchmark model=models p=points@1 empirical expected fitted note=_reasons.notes"

    def _reasons(self) -> Conditions:
        return {"no Beta fit": np.isnan(self.fitted[:, 0])}


def evaluate_beta_curves(cells: Cells, fit: BetaFit, points: ArrayLike | None = None) -> BetaCurves:
    """Compare the cumulative distribution of the question means with a Beta fit (NOISE, appendix B, figure 6).

    Parameters
    ----------
    cells
        Scores of 0 and 1.
    fit
        `fit_beta(cells)`.
    points
        Scores at which to compare, shape (X,); by default 0, 0.01, ..., 1.

    Returns
    -------
    BetaCurves

    Raises
    ------
    InputError
        Where the fit is of other models.

    Notes
    -----
    c of k correct generations have the Beta-binomial probability C(k, c) B(a + c, b + k - c) / B(a, b).

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[1, 1], [0, 1], [0, 0]]])
    >>> evaluate_beta_curves(cells, fit_beta(cells), [0.0, 0.5, 1.0]).empirical.round(3).tolist()
    [[0.333, 0.667, 1.0]]
    """
    if fit.models != cells.models:
        raise InputError("the fit is of other models", where=cells.benchmark, remedy="give fit_beta(cells)")
    x = np.linspace(0, 1, 101) if points is None else np.asarray(points, float)
    tolerance = 1e-9  # the mean of 3 of 10 must count at the point 0.3
    order = np.sort(cells.mean, axis=1)  # NaN last
    answered = np.sum(cells.answered, axis=1)[:, None]
    below = np.array([np.searchsorted(row, x + tolerance, side="right") for row in order])
    expected = np.zeros(below.shape)
    for k in np.unique(cells.n[cells.answered]):
        c = np.arange(k + 1)
        a, b = fit.a[:, None], fit.b[:, None]
        log_pmf = (
            special.betaln(a + c, b + k - c) - special.betaln(a, b) - special.betaln(c + 1, k - c + 1) - np.log1p(k)
        )
        pmf = (1 - fit.zero[:, None]) * np.exp(log_pmf) + np.where(c == 0, fit.zero[:, None], 0)
        cdf = np.cumsum(pmf, axis=1)[:, np.clip(np.floor(x * k + tolerance * k), 0, k).astype(np.int64)]
        expected += np.sum(cells.n == k, axis=1)[:, None] * cdf
    with np.errstate(invalid="ignore"):
        return BetaCurves(cells.benchmark, cells.models, x, below / answered, expected / answered, fit.cdf(x))


def _prior_distribution(cells: Cells, prior: str) -> tuple[BetaFit | str, NDArray[np.bool_]]:
    """Return the prior to update, and for which models the data do not determine it, shape (M,)."""
    if prior == _FITTED:
        fit = fit_beta(cells)
        return fit, np.isnan(fit.concentration)
    if prior not in PRIORS:
        raise UnknownNameError("prior", prior, [_FITTED, *PRIORS])
    return prior, np.zeros(len(cells.models), dtype=bool)


def _posterior_cdf(cells: Cells, x: FloatArray, prior: str) -> FloatArray:
    """Return the mean over questions of P(p_q <= x) for x (X,) inside (0, 1), shape (M, X)."""
    counts, a, b, zero = update_prior(cells, _prior_distribution(cells, prior)[0])
    beta = special.betainc(a[:, :, None], b[:, :, None], x)
    cdf = zero[:, :, None] + (1 - zero[:, :, None]) * beta
    with np.errstate(invalid="ignore"):
        return np.asarray(np.einsum("mux,mu->mx", cdf, counts.weight) / counts.weight.sum(axis=1)[:, None])


def _kernel_cdf(p: FloatArray, x: FloatArray) -> FloatArray:
    """Return the distribution function at x (X,) of Gaussian kernels at p (N,), reflected at 0 and 1."""
    if not len(p):
        return np.full(x.shape, np.nan)
    width = max(float(np.std(p, ddof=1)) if len(p) > 1 else 0, 0.01) * len(p) ** -0.2
    # the kernels at p and their reflections at -p and 2 - p
    centers = np.concatenate([p, -p, 2 - p])
    up_to = special.ndtr((x[:, None] - centers) / width) - special.ndtr(-centers / width)
    inside = np.sum(special.ndtr((1 - centers) / width) - special.ndtr(-centers / width))
    return np.asarray(up_to.sum(axis=1) / inside)
