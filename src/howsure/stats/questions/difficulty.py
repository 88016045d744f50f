"""How difficult each question is for each model: P(correct), its distribution over questions, and its stability.

GEN draws the density of P(correct) over the questions of a benchmark: stable models have it near 0 and 1, models that
answer by chance in between. Of few generations, 0/k and k/k say too much of stability, and kernels smear what is at the
ends. Here the density is the mean over questions of what is known of each, its posterior under the fitted Beta
distribution: it stays in [0, 1], needs no bandwidth, and becomes the distribution of the question means as k grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.results import Columns, Result, notes
from howsure.stats.scores import HIERARCHICAL, PRIORS, BetaFit, fit_beta, posterior, require_binary, update_prior

__all__ = [
    "DENSITIES",
    "BetaCurves",
    "Difficulty",
    "DifficultyDensity",
    "DifficultyStability",
    "estimate_density",
    "estimate_p_correct",
    "estimate_stability",
    "evaluate_beta_curves",
]

#: Ways to a density: of the posteriors, or of the question means as GEN draws it.
DENSITIES = ("posterior", "kernel")

_FITTED = "fitted"


@dataclass(frozen=True, eq=False)
class Difficulty(Result):
    """P(correct) of M models on N questions; arrays have shape (M, N).

    Attributes
    ----------
    n
        Generations.
    mean
        Observed share of correct ones; NaN where there is none.
    p_correct, low, high
        Posterior mean and equal-tailed interval; NaN where there is no generation.
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
        """log(p/(1-p)) of the posterior mean: ability less difficulty in the 1PL model of one model (GEN eq. 4)."""
        return np.asarray(special.logit(self.p_correct))

    def columns(self) -> Columns:
        """One row per model and question."""
        M, N = self.n.shape
        return {
            "benchmark": np.full(M * N, self.benchmark, dtype=object),
            "model": np.repeat(np.array(self.models, dtype=object), N),
            "question": np.tile(np.array(self.questions, dtype=object), M),
            "n_generations": self.n.ravel(),
            "score": self.mean.ravel(),
            "p_correct": self.p_correct.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
            "logit": self.logit.ravel(),
            "level": np.full(M * N, self.level),
            "prior": np.full(M * N, self.prior, dtype=object),
            "note": self.reasons.ravel(),
        }


def estimate_p_correct(cells: Cells, *, prior: str = HIERARCHICAL, level: float = 0.95) -> Difficulty:
    """Estimate the probability that a model answers a question correctly, for each model and question.

    Parameters
    ----------
    cells
        Scores of 0 and 1.
    prior
        `"hierarchical"`: the Beta distribution of the model's questions, whose two parameters are averaged over their
        posterior. `"fitted"`: the same distribution at its maximum likelihood, taken as known (empirical Bayes;
        Jeffreys' prior where the data do not determine it); its intervals are too narrow where questions or
        generations are few. Or a name of `beta.PRIORS`.
    level
        Probability of the interval. It is the average over questions that is meant: of the questions like one of
        yours, a share of `level` have their P(correct) in the interval. See `beta.posterior` for what was measured.

    Returns
    -------
    Difficulty
        NaN with a reason where a question has no generation.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 1, 1], [1, 0, 0]]])
    >>> estimate_p_correct(cells, prior="uniform").p_correct.tolist()
    [[0.8, 0.4]]
    """
    known = [HIERARCHICAL, _FITTED, *PRIORS]
    if prior not in known:
        raise UnknownNameError("prior", prior, known)
    missing = cells.n == 0
    reasons = {"no generation": missing}
    if prior == HIERARCHICAL:
        found = posterior(cells, prior, level=level)
        single = np.max(cells.n, axis=1, initial=0) == 1
        reasons["one generation of each question: how much questions differ is unknown, and assumed to be anything"] = (
            single[:, None] & ~missing
        )
    else:
        taken, unknown = _prior(cells, prior)
        found = posterior(cells, taken, level=level)
        reasons["Jeffreys' prior: the data do not know the model's own"] = np.repeat(
            unknown[:, None], cells.n.shape[1], axis=1
        )
    mean, low, high = (np.where(missing, np.nan, part) for part in found)
    note = notes({text: where.ravel() for text, where in reasons.items()}).reshape(cells.n.shape)
    return Difficulty(
        cells.benchmark, cells.models, cells.questions, cells.n, cells.mean, mean, low, high, prior, level, note
    )


@dataclass(frozen=True, eq=False)
class DifficultyDensity(Result):
    """Distribution of P(correct) over questions: `mass` (M, G) in the G bins between `edges` (G+1,); rows sum to 1."""

    benchmark: str
    models: tuple[str, ...]
    edges: FloatArray
    mass: FloatArray
    method: str

    @property
    def density(self) -> FloatArray:
        """Mass over width of the bin, shape (M, G)."""
        return np.asarray(self.mass / np.diff(self.edges))

    def columns(self) -> Columns:
        """One row per model and bin."""
        M, G = self.mass.shape
        return {
            "benchmark": np.full(M * G, self.benchmark, dtype=object),
            "model": np.repeat(np.array(self.models, dtype=object), G),
            "from": np.tile(self.edges[:-1], M),
            "to": np.tile(self.edges[1:], M),
            "mass": self.mass.ravel(),
            "density": self.density.ravel(),
            "method": np.full(M * G, self.method, dtype=object),
            "note": np.repeat(notes({"no scores": np.asarray(np.isnan(self.mass[:, 0]))}), G),
        }


def estimate_density(
    cells: Cells, *, bins: int = 50, method: str = "posterior", prior: str = _FITTED
) -> DifficultyDensity:
    """Density of P(correct) over the questions of a benchmark, for each model.

    Parameters
    ----------
    cells
        Scores of 0 and 1.
    bins
        Bins of equal width on [0, 1].
    method
        `"posterior"`, the mean of the questions' posteriors, or `"kernel"`, of the question means as GEN figure 1:
        Gaussian kernels with Scott's bandwidth, reflected at 0 and 1.
    prior
        `"fitted"`, the Beta distribution of the model's questions at its maximum likelihood, or a name of
        `beta.PRIORS`. The mean over questions hardly depends on how well its parameters are known.
    """
    if bins < 1:
        raise InputError(f"bins is {bins!r}", where="density", remedy="allowed: 1 or more")
    edges = np.linspace(0, 1, bins + 1)
    if method == "posterior":
        cdf = _posterior_cdf(cells, edges[1:-1], prior)
    elif method == "kernel":
        require_binary(cells, "P(correct)")
        cdf = np.array(
            [_kernel_cdf(p[known], edges[1:-1]) for p, known in zip(cells.mean, cells.answered, strict=True)]
        )
    else:
        raise UnknownNameError("density", method, DENSITIES)
    whole = np.where(np.any(cells.answered, axis=1), 1.0, np.nan)[:, None]
    mass = np.diff(np.concatenate([0 * whole, cdf.reshape(len(whole), bins - 1), whole], axis=1), axis=1)
    return DifficultyDensity(cells.benchmark, cells.models, edges, mass, method)


@dataclass(frozen=True, eq=False)
class DifficultyStability(Result):
    """Share of questions that a model nearly never or nearly always answers; arrays have shape (M,)."""

    benchmark: str
    models: tuple[str, ...]
    n_questions: IntArray
    near_0: FloatArray
    near_1: FloatArray
    margin: float

    def columns(self) -> Columns:
        """One row per model."""
        M = len(self.models)
        return {
            "benchmark": np.full(M, self.benchmark, dtype=object),
            "model": np.array(self.models, dtype=object),
            "n_questions": self.n_questions,
            "near_0": self.near_0,
            "near_1": self.near_1,
            "stability": self.near_0 + self.near_1,
            "margin": np.full(M, self.margin),
            "note": notes({"no scores": self.n_questions == 0}),
        }


def estimate_stability(cells: Cells, *, margin: float = 0.1, prior: str = _FITTED) -> DifficultyStability:
    """Mass of P(correct) in [0, margin] and in [1 - margin, 1], under the posteriors; 1 is a model without chance."""
    if not 0 < margin <= 0.5:
        raise InputError(f"margin is {margin!r}", where="stability", remedy="allowed: above 0 up to 0.5")
    cdf = _posterior_cdf(cells, np.array([margin, 1 - margin]), prior)
    n = np.sum(cells.answered, axis=1)
    return DifficultyStability(cells.benchmark, cells.models, n, cdf[:, 0], 1 - cdf[:, 1], margin)


@dataclass(frozen=True, eq=False)
class BetaCurves(Result):
    """A Beta fit beside the data: cumulative shares (M, X) of questions at or below each of the points (X,).

    `empirical` is of the observed question means, `expected` what the fit lets expect of just these (a mean of k
    generations takes k + 1 values only), `fitted` the distribution of P(correct) itself.
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

    def columns(self) -> Columns:
        """One row per model and point."""
        M, X = self.fitted.shape
        return {
            "benchmark": np.full(M * X, self.benchmark, dtype=object),
            "model": np.repeat(np.array(self.models, dtype=object), X),
            "p": np.tile(self.points, M),
            "empirical": self.empirical.ravel(),
            "expected": self.expected.ravel(),
            "fitted": self.fitted.ravel(),
            "note": np.repeat(notes({"no Beta fit": np.asarray(np.isnan(self.fitted[:, 0]))}), X),
        }


def evaluate_beta_curves(cells: Cells, fit: BetaFit, points: ArrayLike | None = None) -> BetaCurves:
    """Cumulative distributions of the fit beside the empirical one (NOISE appendix B, figure 6)."""
    if fit.models != cells.models:
        raise InputError("the fit is of other models", where=cells.benchmark, remedy="give fit_beta(cells)")
    x = np.linspace(0, 1, 101) if points is None else np.asarray(points, float)
    slack = 1e-9  # 3 of 10 is at 0.3
    order = np.sort(cells.mean, axis=1)  # NaN last
    answered = np.sum(cells.answered, axis=1)[:, None]
    below = np.array([np.searchsorted(row, x + slack, side="right") for row in order])
    expected = np.zeros(below.shape)
    for k in np.unique(cells.n[cells.answered]):
        c = np.arange(k + 1)
        a, b = fit.a[:, None], fit.b[:, None]
        log_pmf = (
            special.betaln(a + c, b + k - c) - special.betaln(a, b) - special.betaln(c + 1, k - c + 1) - np.log1p(k)
        )
        pmf = (1 - fit.zero[:, None]) * np.exp(log_pmf) + np.where(c == 0, fit.zero[:, None], 0)
        cdf = np.cumsum(pmf, axis=1)[:, np.clip(np.floor(x * k + slack * k), 0, k).astype(np.int64)]
        expected += np.sum(cells.n == k, axis=1)[:, None] * cdf
    with np.errstate(invalid="ignore"):
        return BetaCurves(cells.benchmark, cells.models, x, below / answered, expected / answered, fit.cdf(x))


def _prior(cells: Cells, prior: str) -> tuple[BetaFit | str, NDArray[np.bool_]]:
    """The prior to update, and for which models the data do not know it, shape (M,)."""
    if prior == _FITTED:
        fit = fit_beta(cells)
        return fit, np.isnan(fit.concentration)
    if prior not in PRIORS:
        raise UnknownNameError("prior", prior, [_FITTED, *PRIORS])
    return prior, np.zeros(len(cells.models), dtype=bool)


def _posterior_cdf(cells: Cells, x: FloatArray, prior: str) -> FloatArray:
    """Mean over questions of P(p_q <= x) for x (X,) inside (0, 1): shape (M, X)."""
    counts, a, b, zero = update_prior(cells, _prior(cells, prior)[0])
    beta = special.betainc(a[:, :, None], b[:, :, None], x)
    cdf = zero[:, :, None] + (1 - zero[:, :, None]) * beta
    with np.errstate(invalid="ignore"):
        return np.asarray(np.einsum("mux,mu->mx", cdf, counts.weight) / counts.weight.sum(axis=1)[:, None])


def _kernel_cdf(p: FloatArray, x: FloatArray) -> FloatArray:
    """Mean of Gaussian kernels at p (N,), reflected at 0 and 1, up to x (X,)."""
    if not len(p):
        return np.full(x.shape, np.nan)
    width = max(float(np.std(p, ddof=1)) if len(p) > 1 else 0, 0.01) * len(p) ** -0.2
    # The kernel at p and its reflections at -p and 2 - p
    centers = np.concatenate([p, -p, 2 - p])
    up_to = special.ndtr((x[:, None] - centers) / width) - special.ndtr(-centers / width)
    inside = np.sum(special.ndtr((1 - centers) / width) - special.ndtr(-centers / width))
    return np.asarray(up_to.sum(axis=1) / inside)
