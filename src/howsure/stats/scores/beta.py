"""Beta distributions of the difficulty of questions: the fit, and the posterior of each question.

Question q has a probability of being answered correctly p_q ~ Beta(a, b); of its n_q generations c_q are correct:

    c_q ~ Beta-binomial(n_q, a, b),    mean m = a/(a + b),    concentration s = a + b

Small s: questions are either hopeless or certain; large s: all alike. NOISE section 4.2.1 takes s = 1, Beta(m, 1-m),
and appendix B adds a point mass at 0 for questions that nobody can answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import check_level
from howsure.stats.core.results import Result, notes
from howsure.stats.scores.beta_likelihood import (
    LIMITS,
    Counts,
    distinct_counts,
    make_beta_grid,
    maximize_likelihood,
    mixture_quantile,
)

__all__ = [
    "HIERARCHICAL",
    "PRIORS",
    "BetaFit",
    "Posterior",
    "Updated",
    "expected_error",
    "fit_beta",
    "independent_error",
    "pool_by_score",
    "posterior",
    "require_binary",
    "update_prior",
]

#: Priors of a question by name: a = b.
PRIORS = {"jeffreys": 0.5, "uniform": 1.0}
#: The prior of `posterior` that is itself learned from the model's other questions, with its uncertainty.
HIERARCHICAL = "hierarchical"

#: Prior of the correlation of two generations of a question, Beta(1, 2): a uniform one is too sure that a model with
#: one right answer among hundreds can never answer the other questions.
_CORRELATION = (1.0, 2.0)
#: Generations of a question above which the parameters of its prior are taken at their posterior mean: it no longer
#: matters which they are, and thousands of distinct counts take time.
_MANY = 30


def expected_error(p: ArrayLike, n_questions: ArrayLike) -> FloatArray:
    """Return the standard error of the difference of two models of score near p, one generation per question each.

    Parameters
    ----------
    p
        Score of both models, any shape.
    n_questions
        Number of questions, broadcast with `p`.

    Returns
    -------
    sqrt(p(1-p)/N): both draw from the same p_q ~ Beta(p, 1-p), so that E[2 p_q (1 - p_q)] = p(1-p).

    References
    ----------
    NOISE eq. 29.

    Examples
    --------
    >>> float(expected_error(0.5, 100))
    0.05
    """
    p = np.asarray(p, float)
    return np.asarray(np.sqrt(p * (1 - p) / np.asarray(n_questions, float)))


def independent_error(p: ArrayLike, n_questions: ArrayLike) -> FloatArray:
    """Return the standard error of the same difference if the two models were independent of each other.

    It is sqrt(2p(1-p)/N), larger than `expected_error` by a factor of sqrt(2).

    Examples
    --------
    >>> round(float(independent_error(0.5, 100)), 4)
    0.0707
    """
    return np.asarray(np.sqrt(2) * expected_error(p, n_questions))


def require_binary(cells: Cells, what: str) -> None:
    """Raise `InputError` unless scores are 0 and 1, which `what` needs."""
    if not cells.binary:
        raise InputError(f"{what} needs scores of 0 and 1", where=cells.benchmark, remedy="use its scores as they are")


@dataclass(frozen=True, eq=False)
class BetaFit(Result):
    """Beta distributions fitted to the questions of M models. Arrays have shape (M,).

    Attributes
    ----------
    n_questions
        Questions behind each fit.
    mean, concentration
        m and s above; the mean is of the Beta part.
    zero
        Point mass at 0; 0 where none was fitted or none helps.
    log_likelihood
        Of the counts, as by scipy's betabinom.
    reasons
        Why something is NaN or should be read with care, '' if nothing.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], list("pqrs"), [[[1, 1, 1], [1, 0, 1], [0, 0, 0], [0, 1, 0]]])
    >>> fit = fit_beta(cells)
    >>> fit.models, fit.mean.round(2).tolist()
    (('a',), [0.5])
    """

    benchmark: str
    models: tuple[str, ...]
    n_questions: IntArray
    mean: FloatArray
    concentration: FloatArray
    zero: FloatArray
    log_likelihood: FloatArray
    reasons: NDArray[np.object_] = field(repr=False)

    @property
    def a(self) -> FloatArray:
        """First parameter."""
        return self.mean * self.concentration

    @property
    def b(self) -> FloatArray:
        """Second parameter."""
        return (1 - self.mean) * self.concentration

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return P(p_q <= x) for x of shape (X,) in [0, 1]; the shape is (M, X)."""
        beta = special.betainc(self.a[:, None], self.b[:, None], np.asarray(x, float))
        return np.asarray(self.zero[:, None] + (1 - self.zero[:, None]) * beta)

    declared = "benchmark model=models n_questions mean concentration a b zero log_likelihood note=reasons"


def fit_beta(cells: Cells, *, zero: bool = False) -> BetaFit:
    """Fit a Beta distribution to the questions of each model by maximum Beta-binomial likelihood.

    Parameters
    ----------
    cells
        Scores of 0 and 1; questions may differ in their number of generations. For one fit per range of scores, as in
        NOISE appendix B, give `pool_by_score(cells)`.
    zero
        Also fit a point mass at 0: questions that are never answered, however often one tries.

    Returns
    -------
    BetaFit
        One row per model; NaN with a reason where the counts cannot determine a parameter.

    Raises
    ------
    InputError
        When scores are not 0 and 1.

    References
    ----------
    NOISE section 4.2.1 and appendix B. Griffiths (1973), Biometrics 29.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], list("pqrs"), [[[1, 1, 1], [1, 0, 1], [0, 0, 0], [0, 1, 0]]])
    >>> fit_beta(cells).mean.round(2).tolist()
    [0.5]
    """
    require_binary(cells, "a Beta fit")
    counts = distinct_counts(cells.total, cells.n)
    answered = np.sum(cells.n > 0, axis=1)
    with np.errstate(invalid="ignore"):
        score = np.sum(counts.correct * counts.weight, axis=1) / np.sum(cells.n, axis=1)
    single = (answered > 0) & (np.max(cells.n, axis=1, initial=0) == 1)
    extreme = (score == 0) | (score == 1)
    ready = np.flatnonzero((answered > 1) & ~single & ~extreme)
    M = len(cells.models)
    mean, log_likelihood, mass = score.copy(), np.full(M, np.nan), np.full(M, np.nan)
    concentration = np.full(M, np.nan)
    if len(ready):
        c, d, weight = (part[ready] for part in (counts.correct, counts.wrong, counts.weight))
        theta, value = maximize_likelihood(c, d, weight, zero=zero)
        mean[ready], concentration[ready] = special.expit(theta[:, 0]), np.exp(theta[:, 1])
        mass[ready], log_likelihood[ready] = theta[:, 2], value
    reasons = notes(
        {
            "no scores": answered == 0,
            "one question: the spread over questions is unknown": answered == 1,
            "one generation per question: the concentration is unknown": single & (answered > 1),
            "every generation scored alike: the concentration is unknown": extreme & (answered > 1) & ~single,
            "no question has three generations: a mass at 0 cannot be estimated": zero
            & (np.max(cells.n, axis=1, initial=0) == 2),
            "every question is always or never answered: concentration at its lower limit": concentration
            < np.exp(LIMITS[1, 0]) * 1.01,
            "questions differ no more than by chance: concentration at its upper limit": concentration
            > np.exp(LIMITS[1, 1]) / 1.01,
        }
    )
    return BetaFit(cells.benchmark, cells.models, answered, mean, concentration, mass, log_likelihood, reasons)


def pool_by_score(cells: Cells, edges: ArrayLike = (0, 0.2, 0.4, 0.6, 0.8, 1)) -> Cells:
    """Pool the generations of models whose scores fall in the same range (NOISE appendix B).

    Parameters
    ----------
    cells
        Scores of 0 and 1 of several models.
    edges
        Limits of the ranges, which increase. Ranges are closed below and open above, the last closed.

    Returns
    -------
    Cells
        One "model" per range that has one, labelled by the range and the number of its models.

    Raises
    ------
    InputError
        If the edges do not increase or leave out a model.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a", "b"], ["p", "q"], [[[1, 0], [1, 1]], [[1, 1], [0, 1]]])
    >>> pool_by_score(cells).models
    ('0.6 to 0.8 (2 models)',)
    """
    limits = np.asarray(edges, float)
    if limits.ndim != 1 or len(limits) < 2 or not np.all(np.diff(limits) > 0):
        raise InputError(f"edges are {limits.tolist()}", remedy="allowed: two or more numbers that increase")
    scores = np.array([p[ok].mean() if ok.any() else np.nan for p, ok in zip(cells.mean, cells.answered, strict=True)])
    outside = np.flatnonzero((scores < limits[0]) | (scores > limits[-1]))
    if len(outside):
        i = outside[0]
        raise InputError(
            f"edges {limits.tolist()} leave out {cells.models[i]!r} with score {scores[i]:.4g}", where=cells.benchmark
        )
    bins = np.where(scores == limits[-1], len(limits) - 2, np.searchsorted(limits, scores, side="right") - 1)
    used = np.unique(bins[~np.isnan(scores)])
    member = (bins == used[:, None]).astype(float)
    n_models = [int(np.sum(bins == i)) for i in used]
    labels = tuple(
        f"{limits[i]:g} to {limits[i + 1]:g} ({n} model{'s' * (n > 1)})" for i, n in zip(used, n_models, strict=True)
    )
    n, total, total_sq = (member @ array for array in (cells.n, cells.total, cells.total_sq))
    return Cells(cells.benchmark, labels, cells.questions, np.rint(n).astype(np.int64), total, total_sq)


class Posterior(NamedTuple):
    """Posterior of each question's p_q, shape (M, N); the prior for a question without a score.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], list("pqrs"), [[[1, 1, 1], [1, 0, 1], [0, 0, 0], [0, 1, 0]]])
    >>> posterior(cells, "uniform").mean.round(2).tolist()
    [[0.8, 0.6, 0.2, 0.4]]
    """

    mean: FloatArray
    low: FloatArray
    high: FloatArray


def posterior(cells: Cells, prior: BetaFit | str = "jeffreys", *, level: float = 0.95) -> Posterior:
    """Compute the posterior mean and interval of each question's probability of a correct answer.

    Parameters
    ----------
    cells
        Scores of 0 and 1.
    prior
        `"hierarchical"`: full Bayes, where the two parameters of the model's Beta distribution are averaged over their
        posterior. A fit of the same models: empirical Bayes, where the fitted parameters are taken as known; a model
        whose concentration is unknown takes Jeffreys' prior. Or a name of `PRIORS`.
    level
        Probability of the interval.

    Returns
    -------
    Posterior
        With the hierarchical prior, `low` is 0 where nothing is correct and `high` is 1 where nothing is wrong (as for
        Jeffreys' interval: Brown, Cai and DasGupta 2001), and a model without a generation is NaN.

    Notes
    -----
    Empirical Bayes is too narrow where few questions determine the prior (Morris 1983; Laird and Louis 1987). Measured
    at a nominal 95 % on k of the 1,100 generations of published results (``bench/p_correct.py`` at commit 0de1f151), as
    the average over models of the share of questions that are covered, and the model with the lowest share:

    ==========================  ==========  ==========  ==========  ==========
    benchmark, prior            k = 1       k = 2       k = 5       k = 10
    ==========================  ==========  ==========  ==========  ==========
    aime2024_cot, fitted        .53 (.00)   .40 (.00)   .42 (.00)   .44 (.00)
    aime2024_cot, hierarchical  .97 (.93)   .97 (.93)   .96 (.87)   .95 (.88)
    math500_cot, fitted         .80 (.26)   .79 (.08)   .81 (.09)   .80 (.21)
    math500_cot, hierarchical   .96 (.90)   .97 (.93)   .97 (.93)   .96 (.94)
    ==========================  ==========  ==========  ==========  ==========

    Much of what the fitted prior misses are questions that are never, or always, answered correctly: an equal-tailed
    interval without the limits 0 and 1 holds none of these. Models that answer one in a hundred questions or fewer are
    covered least: at k = 40 the lowest share on aime2024_cot is .60.

    References
    ----------
    Morris, C. N. (1983), Parametric empirical Bayes inference, JASA 78. Christiansen, C. L. and Morris, C. N. (1997),
    Hierarchical Poisson regression modeling, JASA 92, for priors of the shrinkage.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[1, 1, 1], [1, 0, 1], [0, 0, 0]]])
    >>> found = posterior(cells, "hierarchical")
    >>> found.low[0, 2].tolist(), found.high[0, 0].tolist()
    (0.0, 1.0)
    """
    check_level(level)
    if prior == HIERARCHICAL:
        return _hierarchical(cells, level)
    counts, a, b, zero = update_prior(cells, prior)
    tails = [np.clip((tail - zero) / np.maximum(1 - zero, 1e-300), 0, 1) for tail in ((1 - level) / 2, (1 + level) / 2)]
    low, high = (np.asarray(special.betaincinv(a, b, tail)) for tail in tails)
    each = (np.take_along_axis(part, counts.place, axis=1) for part in ((1 - zero) * a / (a + b), low, high))
    return Posterior(*each)


def _hierarchical(cells: Cells, level: float) -> Posterior:
    """Return the posterior of each question, averaged over that of the parameters of the model's Beta distribution."""
    require_binary(cells, "P(correct)")
    summaries = np.full((3, *cells.n.shape), np.nan)
    some = np.flatnonzero(np.any(cells.n > 0, axis=1))
    if not len(some):
        return Posterior(*summaries)
    total, n = cells.total[some], cells.n[some]
    counts = distinct_counts(total, n)
    prior_grid = make_beta_grid(counts.correct, counts.wrong, counts.weight, correlation=_CORRELATION)
    U = counts.correct.shape[1]
    out = np.full((3, len(some) * U), np.nan)
    used = np.unique(counts.place + U * np.arange(len(some))[:, None])
    c, d = counts.correct.ravel()[used], counts.wrong.ravel()[used]
    many = c + d > _MANY
    center = [np.sum(prior_grid.probability * part, axis=1, keepdims=True) for part in (prior_grid.a, prior_grid.b)]
    for rows, a, b, probability in (
        (~many, prior_grid.a, prior_grid.b, prior_grid.probability),
        (many, *center, np.ones((len(some), 1))),
    ):
        model = used[rows] // U
        shape_a, shape_b = a[model] + c[rows, None], b[model] + d[rows, None]
        out[0, used[rows]] = np.sum(probability[model] * shape_a / (shape_a + shape_b), axis=1)
        for i, tail in enumerate(((1 - level) / 2, (1 + level) / 2), start=1):
            out[i, used[rows]] = mixture_quantile(probability[model], shape_a, shape_b, tail)
    mean, low, high = (np.take_along_axis(part.reshape(len(some), U), counts.place, axis=1) for part in out)
    summaries[:, some] = mean, np.where((n > 0) & (total == 0), 0, low), np.where((n > 0) & (total == n), 1, high)
    return Posterior(*summaries)


class Updated(NamedTuple):
    """Posteriors of the distinct counts: (1 - zero) Beta(a, b) and a point mass `zero` at 0, arrays (M, U)."""

    counts: Counts
    a: FloatArray
    b: FloatArray
    zero: FloatArray


def update_prior(cells: Cells, prior: BetaFit | str) -> Updated:
    """Return the posterior of each distinct count of a model under a prior, as `posterior` takes it."""
    require_binary(cells, "P(correct)")
    M = len(cells.models)
    if isinstance(prior, str):
        if prior not in PRIORS:
            raise UnknownNameError("prior", prior, PRIORS)
        a, b, zero = np.full(M, PRIORS[prior]), np.full(M, PRIORS[prior]), np.zeros(M)
    else:
        if prior.models != cells.models:
            raise InputError("the fit is of other models", where=cells.benchmark, remedy="give fit_beta(cells)")
        has_concentration = np.isfinite(prior.concentration)
        a, b = (
            np.where(has_concentration, prior.a, PRIORS["jeffreys"]),
            np.where(has_concentration, prior.b, PRIORS["jeffreys"]),
        )
        zero = np.where(has_concentration, prior.zero, 0)
    counts = distinct_counts(cells.total, cells.n)
    c, d = counts.correct, counts.wrong
    a, b, zero = a[:, None], b[:, None], zero[:, None]
    with np.errstate(divide="ignore"):
        # P(point mass | nothing correct) = zero / (zero + (1 - zero) P(0 of n | Beta))
        log_miss = np.log1p(-zero) + special.betaln(a, b + d) - special.betaln(a, b)
        mass = np.where(c == 0, special.expit(np.log(zero) - log_miss), 0)
    return Updated(counts, a + c, b + d, mass)
