"""Scores of many prompts, and quantiles of the score over prompts, from few cells (PromptEval).

The score of one prompt is PromptEval's (Maia Polo et al. 2024): a penalised logistic regression fills the missing
cells,

    P(Y_sq = 1) = sigma(mu + theta_s - beta_q)        S_s = (1/N) (sum of observed Y_sq + sum of fitted probabilities)

fitted by Newton's method for all models at once, with a ridge penalty on theta and beta.

The quantiles over prompts are not the quantiles of these scores: estimated scores vary more than true ones because of
their sampling noise, and less where the penalty is large (Louis 1984; Ghosh 1992). The noise of each score is therefore
estimated, and the true scores are drawn from their posterior under a Beta distribution over prompts, whose parameters
are averaged over their own posterior. Where the scores are not normal by Shapiro and Wilk's test, it is a mixture whose
number of parts, means and spreads the data choose, so that a few prompts that break the format do not widen all others
(Escobar and West 1995). A quantile is the mean of the quantiles of these draws.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Conditions, Result
from howsure.stats.prompts.components import estimate_components
from howsure.stats.scores import make_beta_grid

__all__ = ["PromptEval", "prompteval"]

#: Largest number of Newton steps.
_MAX_STEPS = 50
#: Prior of the correlation r of two answers to one prompt, Beta(0.7, 10): at a score of .5, half of it has a standard
#: deviation over prompts below .10, and 95 % below .23.
_CORRELATION = (0.7, 10.0)
#: A mixture needs so many prompts, and scores that Shapiro and Wilk's test of normality rejects at this level.
_FEWEST, _LEVEL = 8, 0.05
#: Points of the grid of scores, means of components on it, and parts of a mixture at most.
_POINTS, _MEANS, _PARTS = 200, 40, 5
#: Standard deviations of components as shares of the width of the grid, and their prior: sd^-.4 exp(-(sd/.2)^2/2).
_SPREADS = np.geomspace(0.005, 0.4, 10)
_SPREAD_PRIOR = 0.6 * np.log(_SPREADS) - 0.5 * (_SPREADS / 0.2) ** 2
#: Dirichlet parameter of the weights of the parts: little, so that parts that nothing needs stay empty.
_CONCENTRATION = 0.3 / _PARTS
#: Chains side by side, steps that are left out at their start, and steps from one draw to the next.
_CHAINS, _LEFT_OUT, _BETWEEN = 40, 30, 2
#: Upper limit of the effective number of answers of a score.
_MAX_WORTH = 1e5
#: Limits of an estimated penalty.
_PENALTIES = (0.01, 1e6)


@dataclass(frozen=True, eq=False)
class PromptEval(Result):
    """Estimated scores of prompts, and quantiles of the score over prompts.

    Attributes
    ----------
    scores
        Estimated score of each prompt, shape (M, S). With a penalty of 1, their quantiles are those of PromptEval as
        published.
    quantiles
        Probabilities, Q of them.
    values, low, high
        Quantiles of the true scores of these prompts on these questions, and their intervals, shape (M, Q); NaN where
        the noise of a score is unknown.
    share_answered
        Share of the cells that have answers, shape (M,).
    lost
        Whether the noise of the scores is larger than the variance over prompts, shape (M,).
    unchecked
        Whether the interaction of prompts and questions is unknown, with one generation per cell, shape (M,).
    level
        Probability of the intervals.
    """

    benchmark: str
    models: tuple[str, ...]
    scores: FloatArray = field(repr=False)
    quantiles: tuple[float, ...]
    values: FloatArray
    low: FloatArray
    high: FloatArray
    share_answered: FloatArray
    lost: NDArray[np.bool_]
    unchecked: NDArray[np.bool_]
    level: float

    declared = (
        "benchmark model=models quantile=quantiles@1 score=values low high level seen=share_answered "
        "note=_reasons.notes"
    )

    def _reasons(self) -> Conditions:
        unknown: NDArray[np.bool_] = np.any(np.isnan(self.values), axis=1)
        return {
            "the noise of a prompt's score is unknown: it takes two prompts, and two questions or generations": unknown,
            "the scores of prompts are noisier than the prompts differ: see the intervals": self.lost & ~unknown,
            "one generation per cell: what an interaction of prompts and questions adds to the spread is unknown "
            "and left out": self.unchecked & ~unknown,
        }


def prompteval(
    cube: Cube,
    *,
    quantiles: tuple[float, ...] = (0.05, 0.25, 0.5, 0.75, 0.95),
    penalty: float | None = None,
    level: float = 0.95,
    draws: int = 400,
    rng: np.random.Generator | int = 0,
) -> PromptEval:
    """Estimate the quantiles over prompts of the score, from a sample of the cells of scores in [0, 1].

    Parameters
    ----------
    cube
        Scores in [0, 1] of a sample of the cells; the default prompt is left out.
    quantiles
        Probabilities from 0 to 1.
    penalty
        Ridge penalty of theta and beta for `scores`: half of it times their sum of squares is subtracted from the
        log-likelihood. None: 1 over the estimated variance of the prompts on the logit scale for theta, and 1 for beta.
        PromptEval as published uses 1. The quantiles do not depend on it.
    level
        Probability of the intervals of the quantiles.
    draws, rng
        Number of draws from the posterior of the scores, and their generator or seed.

    Returns
    -------
    PromptEval
        The quantiles are those of the S prompts of the cube on its N questions, not of the space of prompts.

    Raises
    ------
    InputError
        Where scores leave [0, 1], where each question has variants of its own, or where an argument is out of range.

    Notes
    -----
    With R the variance of the mean of a cell, from the components of `crossed` (one generation per cell: the residual;
    else generation/n + (1 - share of observed questions) interaction), random questions with variance vQ and fixed
    prompts, generalised least squares gives each prompt a score x_s with sampling variance v_s on these questions. With
    m the mean score, it is worth n_s = m (1 - m)/v_s answers, and n_s x_s of n_s right answers are treated as a
    Beta-binomial count; where Shapiro and Wilk's test rejects that the x_s are normal, the law over prompts is a
    mixture of up to five normal ones on a fixed grid of scores, whose parts and weights Gibbs steps draw.

    ``bench/designs/prompts.py`` has the errors of the quantiles against the true ones of simulated prompts, and the
    coverage of their intervals. Where the scores are noisier than the prompts differ, the prior decides, and quantiles
    are too far from the median or too near; the median of two kinds of prompts of equal size is then missed.

    References
    ----------
    Maia Polo, F. et al. (2024), Efficient multi-prompt evaluation of LLMs. Louis, T. A. (1984), Estimating a
    population of parameter values using Bayes and empirical Bayes methods, JASA 79. Ghosh, M. (1992), Constrained
    Bayes estimation with applications, JASA 87. Escobar, M. D. and West, M. (1995), Bayesian density estimation and
    inference using mixtures, JASA 90.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> n = np.broadcast_to((np.arange(40)[:, None] + np.arange(10)) % 2, (1, 40, 10))
    >>> y = rng.binomial(n, 0.7).astype(float)
    >>> cube = Cube("demo", ("a",), tuple(map(str, range(40))), tuple(map(str, range(10))), n, y, y)
    >>> result = prompteval(cube, quantiles=(0.1, 0.9))
    >>> bool(np.ptp(result.values) < np.ptp(np.quantile(prompteval(cube, penalty=1).scores, [0.1, 0.9])))
    True
    """
    if not cube.unit or cube.nested:
        raise InputError(
            "PromptEval needs scores in [0, 1] and the same variants for all questions",
            where=cube.benchmark,
            remedy="use the components instead",
        )
    if not ((penalty is None or penalty > 0) and all(0 <= q <= 1 for q in quantiles)):
        what = f"penalty {penalty!r}, quantiles {quantiles!r}"
        raise InputError(what, where="prompteval", remedy="allowed: above 0, from 0 to 1")
    if not (0 < level < 1 and draws >= 1):
        what = f"level {level!r}, draws {draws!r}"
        raise InputError(what, where="prompteval", remedy="allowed: between 0 and 1, 1 or more")
    cube = cube.drawn
    n, y = cube.n.astype(float), cube.total
    summary = _summarise(cube)
    M = len(n)
    values, low, high = (np.full((M, len(quantiles)), np.nan) for _ in range(3))
    variance = np.full(M, np.nan)
    generator = np.random.default_rng(rng)
    tails = [(1 - level) / 2, (1 + level) / 2]
    for i in np.flatnonzero(summary.is_known):
        drawn = _draw_scores(summary.right[i], summary.worth[i], draws, generator)
        each = np.quantile(drawn, quantiles, axis=1).T
        values[i], (low[i], high[i]) = each.mean(axis=0), np.quantile(each, tails, axis=0)
        variance[i] = np.mean(np.var(drawn, axis=1, ddof=1))
    ones = np.ones(M)
    chance = _fit(n, y, ones * (penalty or 1), ones * (penalty or 1))
    if penalty is None:
        # on the logit scale: dS = mean p (1 - p) dtheta
        slope = np.mean(chance * (1 - chance), axis=(1, 2))
        of_prompts = np.clip(slope**2 / np.where(summary.is_known, variance, slope**2), *_PENALTIES)
        chance = _fit(n, y, of_prompts, ones)
    return PromptEval(
        cube.benchmark,
        cube.models,
        np.where(n > 0, np.nan_to_num(cube.mean), chance).mean(axis=1),
        quantiles,
        values,
        low,
        high,
        np.mean(n > 0, axis=(1, 2)),
        summary.is_known & (summary.noise > np.nan_to_num(variance)),
        ~cube.layout.split,
        level,
    )


class _Summary(NamedTuple):
    """Estimated scores as Beta-binomial counts by prompt, shape (M, S), and their noise by model, shape (M,)."""

    right: FloatArray  # n_s x_s
    worth: FloatArray  # n_s; 0 for a prompt without a cell
    noise: FloatArray  # mean of v_s over prompts
    is_known: NDArray[np.bool_]


def _summarise(cube: Cube) -> _Summary:
    """Return the scores of prompts by generalised least squares, and the effective number of answers of each."""
    components, n, there = estimate_components(cube), cube.n.astype(float), cube.n > 0
    M, _, S = n.shape
    right, worth = np.zeros((2, M, S))
    noise = np.full(M, np.nan)
    split, generations = cube.layout.split, n.sum(axis=(1, 2))
    sampling = np.where(split, components.generation, components.residual)
    is_known = np.isfinite(sampling) & (np.any(there, axis=1).sum(axis=1) > 1)
    for i in np.flatnonzero(is_known):
        observed = np.any(there[i], axis=0)
        here = there[i][:, observed]
        # without any variation, the variance of half a right answer among all
        of_cell = max(sampling[i], 0.5 / (generations[i] + 1)) / np.maximum(n[i][:, observed], 1)
        if split[i]:
            of_cell = of_cell + max(np.nan_to_num(components.interaction[i]), 0) * (1 - here.mean(axis=0))
        weight = np.where(here, 1 / of_cell, 0)
        # V^-1 = W - W 1 1' W / (w_q + 1/vQ), by question
        share = 1 / (weight.sum(axis=1) + 1 / max(np.nan_to_num(components.question[i]), 1e-6))
        inner = np.diag(weight.sum(axis=0)) - (weight * share[:, None]).T @ weight
        y = weight * np.nan_to_num(cube.mean[i][:, observed])
        x = np.linalg.solve(inner, y.sum(axis=0) - weight.T @ (y.sum(axis=1) * share))
        center = np.eye(len(x)) - 1 / len(x)
        # variances of the contrasts of prompts, and of their mean on these questions
        v = np.diag(center @ np.linalg.inv(inner) @ center) + 1 / weight.sum()
        mean = (cube.total[i].sum() + 0.5) / (generations[i] + 1)
        worth[i, observed] = np.minimum(mean * (1 - mean) / v, _MAX_WORTH)
        right[i, observed] = worth[i, observed] * np.clip(x, 0, 1)
        noise[i] = v.mean()
    return _Summary(right, worth, noise, is_known)


def _draw_scores(right: FloatArray, worth: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """Return draws of the scores of S prompts from their posterior, shape (draws, S).

    The law over prompts is a Beta distribution, or a mixture where so many scores are there and are not normal.
    """
    from scipy import stats  # takes half a second

    if np.sum(worth > 0) < _FEWEST or stats.shapiro(right[worth > 0] / worth[worth > 0]).pvalue >= _LEVEL:
        nodes = make_beta_grid(right[None], (worth - right)[None], np.ones((1, len(right))), correlation=_CORRELATION)
        # the number of draws of each node is proportional to its probability
        node = np.searchsorted(np.cumsum(nodes.probability[0]), (np.arange(draws) + 0.5) / draws)
        a, b = (part[0, np.minimum(node, nodes.a.shape[1] - 1), None] for part in (nodes.a, nodes.b))
        return rng.beta(a + right, b + (worth - right))
    x, sd = right[worth > 0] / worth[worth > 0], 0.5 / np.sqrt(worth[worth > 0])
    low, high = max(0.0, float(np.min(x - 4 * sd))), min(1.0, float(np.max(x + 4 * sd)))
    step = (high - low) / _POINTS
    t = low + step * (np.arange(_POINTS) + 0.5)
    log_likelihood = special.xlogy(right[:, None], t) + special.xlogy((worth - right)[:, None], 1 - t)
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    means, sds = np.linspace(low, high, _MEANS), (high - low) * _SPREADS
    component = np.exp(-0.5 * ((t - means[:, None, None]) / sds[:, None]) ** 2).reshape(-1, _POINTS)
    component /= component.sum(axis=1, keepdims=True)
    prior = np.tile(_SPREAD_PRIOR, _MEANS)
    fit = np.log(np.maximum(likelihood @ component.T, 1e-300))
    # the chains start from 1 to `_PARTS` parts
    part: IntArray = rng.integers(0, 1 + np.arange(_CHAINS)[:, None] % _PARTS, (_CHAINS, len(right)))
    scores = []
    for i in range(_LEFT_OUT + -(-draws // _CHAINS) * _BETWEEN):
        member = (part[:, :, None] == np.arange(_PARTS)).astype(float)
        of_part = _choose(np.swapaxes(member, 1, 2) @ fit + prior, rng)
        weight = np.maximum(rng.standard_gamma(_CONCENTRATION + member.sum(axis=1)), 1e-300)
        part = _choose(np.log(weight)[:, None] + np.swapaxes(fit.T[of_part], 1, 2), rng)
        if i >= _LEFT_OUT and (i - _LEFT_OUT) % _BETWEEN == 0:
            below = np.cumsum(likelihood * component[np.take_along_axis(of_part, part, axis=1)], axis=2)
            at = np.sum(below < rng.random((*part.shape, 1)) * below[:, :, -1:], axis=2)
            scores.append(t[at] + step * (rng.random(part.shape) - 0.5))
    return np.concatenate(scores)[:draws]


def _choose(log_weight: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return indices along the last axis, drawn with these log weights."""
    return np.asarray(np.argmax(log_weight - np.log(rng.standard_exponential(log_weight.shape)), axis=-1))


def _fit(n: FloatArray, y: FloatArray, of_prompts: FloatArray, of_questions: FloatArray) -> FloatArray:
    """Return the fitted probabilities, shape (M, N, S), for penalties (M,), by Newton steps on a Schur complement."""
    M, N, S = n.shape
    mu, theta, beta = np.zeros(M), np.zeros((M, S)), np.zeros((M, N))
    eye = np.eye(S + 1)
    of_prompts, of_questions = of_prompts[:, None], of_questions[:, None]
    ridge = np.append(np.broadcast_to(of_prompts, (M, S)), np.zeros((M, 1)), axis=1)
    for _ in range(_MAX_STEPS):
        p = special.expit(mu[:, None, None] + theta[:, None, :] + beta[:, :, None])
        off, w = y - n * p, n * p * (1 - p)
        of_q = off.sum(axis=2) - of_questions * beta
        of_s = np.concatenate([off.sum(axis=1) - of_prompts * theta, off.sum(axis=(1, 2))[:, None]], axis=1)
        # columns: variants, then the centre, which all of them share
        cross = np.concatenate([w, w.sum(axis=2)[:, :, None]], axis=2)
        diagonal = w.sum(axis=2) + of_questions
        column = cross.sum(axis=1)
        block = (column + ridge)[:, :, None] * eye
        block[:, -1, :-1] = block[:, :-1, -1] = column[:, :-1]
        schur = block - np.swapaxes(cross, 1, 2) @ (cross / diagonal[:, :, None])
        right = of_s - np.einsum("mqs,mq->ms", cross, of_q / diagonal)
        step = np.linalg.solve(schur + 1e-12 * eye, right[:, :, None])[:, :, 0]
        step_q = (of_q - np.einsum("mqs,ms->mq", cross, step)) / diagonal
        # damped, because a Newton step far from the maximum may overshoot
        scale = 1 / np.maximum(1, np.maximum(np.abs(step).max(axis=1), np.abs(step_q).max(axis=1)) / 4)
        theta += step[:, :-1] * scale[:, None]
        mu += step[:, -1] * scale
        beta += step_q * scale[:, None]
        if max(np.abs(step).max(initial=0), np.abs(step_q).max(initial=0)) < 1e-9:
            break
    chance: FloatArray = special.expit(mu[:, None, None] + theta[:, None, :] + beta[:, :, None])
    return chance
