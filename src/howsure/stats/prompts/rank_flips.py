"""Rank flips: the share of prompts that decide which of two models is better, for all pairs at once.

d_s is the difference of two models' scores under variant s, D its mean over S variants, and tau_s^2 the variance of
d_s by questions and generations: (vQS + ve/K)/N where no cell is missing, and the larger the fewer cells a variant has
(from the crossed components of the difference, components.py).

    swapped            share of the S variants where d_s and D differ in sign, a tie counts half; Wilson interval
    swapped_by_noise   expectation of that share if the prompt had no effect: the mean of Phi(-|D|/tau_s)
    swapped_true       Phi(-|D|/sd_S) with sd_S^2 = vS, the variance of true differences over variants; NaN where the
                       test of Shapiro and Wilk rejects that 8 or more d_s are normal (p < .05)
    p_prompt           test of no variance of the difference over variants: F = S s^2(d) N / MSR
    p_swap             test of no true rank flip, for qualitative interaction (Gail and Simon 1985):
                       sum_h Binomial(h; S - 1, 1/2) P(h F(h, df) > min(sum over d_s > 0, sum over d_s < 0)) of
                       d_s^2/tau_s^2, with the degrees of freedom of tau_s^2

The interval of the true share is a generalized confidence interval (Weerahandi 1993): both mean squares and D are drawn
from their pivots.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.cube import Cube
from howsure.stats.core.intervals import log_choose
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.results import Conditions, Result
from howsure.stats.prompts.components import PromptComponents, estimate_components
from howsure.stats.scores import wilson

__all__ = ["RankFlips", "estimate_rank_flips"]

#: Draws from the pivots of a generalized confidence interval.
_DRAWS = 1000
#: Number of pairs of models whose cells are in memory at once.
_BLOCK = 64
#: Smaller differences of scores are ties: least squares compute scores to about 1e-15.
_TIE = 1e-12
#: p-value of the test of Shapiro and Wilk below which differences are not taken as normal, from so many variants on.
_NOT_NORMAL, _FEWEST_TESTED = 0.05, 8


@dataclass(frozen=True, eq=False)
class RankFlips(Result):
    """Rank flips of P pairs of models over prompt variants; arrays have shape (P,).

    Attributes
    ----------
    models_a, models_b
        The two models of each pair.
    n_variants
        Variants in which both models have a score.
    difference
        Mean difference of the scores, a - b.
    swapped, low, high
        Share of the variants that order the models otherwise than the mean difference, and its Wilson interval.
    swapped_by_noise
        The share to be expected if the prompt had no effect.
    swapped_true, true_low, true_high
        Share without the noise of questions and generations, and its interval; NaN where the differences of the
        variants are not normal, as where a few prompts break the format for one model.
    p_prompt, p_swap
        p-values of "the difference is the same in all variants" and of "no variant changes the order".
    var_question, var_variant, var_interaction, var_generation
        Variance components of the difference.
    level
        Level of the intervals.
    """

    benchmark: str
    models_a: tuple[str, ...]
    models_b: tuple[str, ...]
    n_variants: IntArray
    difference: FloatArray
    swapped: FloatArray
    low: FloatArray
    high: FloatArray
    swapped_by_noise: FloatArray
    swapped_true: FloatArray
    true_low: FloatArray
    true_high: FloatArray
    p_prompt: FloatArray
    p_swap: FloatArray
    var_question: FloatArray
    var_variant: FloatArray
    var_interaction: FloatArray
    var_generation: FloatArray
    level: float = 0.95

    declared = (
        "benchmark model_a=models_a model_b=models_b n_variants difference swapped low high swapped_by_noise "
        "swapped_true true_low true_high p_prompt p_swap p_swap_holm=_p_swap_holm var_question var_variant "
        "var_interaction var_generation level note=_reasons.notes"
    )

    def _p_swap_holm(self) -> FloatArray:
        """P-values of `p_swap`, adjusted for all pairs."""
        return holm(self.p_swap)

    def _reasons(self) -> Conditions:
        return {
            "no variant in common": self.n_variants == 0,
            "noise of a variant is unknown: real flips and flips by chance cannot be separated": (self.n_variants > 0)
            & np.isnan(self.swapped_by_noise),
            "all variants have the same difference: no interval of the true share": (self.n_variants > 1)
            & np.isnan(self.true_low)
            & ~np.isnan(self.swapped_true),
            "a few prompts change the difference far more than the others: no true share, which assumes that "
            "differences are normal over prompts": np.isnan(self.swapped_true) & ~np.isnan(self.swapped_by_noise),
            "no noise was seen, or questions share too few variants: no test of a true flip": (
                np.isnan(self.p_swap) & (self.n_variants > 1) & ~np.isnan(self.swapped_by_noise)
            ),
            "the prompt changes the difference by no more than the noise would": self.var_variant <= 0,
        }


def estimate_rank_flips(cube: Cube, *, level: float = 0.95, rng: np.random.Generator | int = 0) -> RankFlips:
    """Estimate how often the prompt decides which of two models is better, for all pairs of models.

    Parameters
    ----------
    cube
        Results with crossed variants; the default prompt is left out.
    level
        Level of the intervals, in (0, 1).
    rng
        Generator, or seed, of the draws for the interval of the true share.

    Returns
    -------
    RankFlips
        One entry per pair of models, in the order of the models.

    Raises
    ------
    InputError
        Where each question has variants of its own.

    Notes
    -----
    With D the mean difference, tau_s^2 the variance of the difference of variant s by questions and generations, and vS
    the variance of true differences over variants, noise alone would give the mean over s of Phi(-|D|/tau_s), and the
    true share is Phi(-|D|/sqrt(vS)). `p_swap` is the test of Gail and Simon for qualitative interaction, with F in
    place of chi-squared, because tau_s^2 is estimated.

    References
    ----------
    Gail, M. and Simon, R. (1985), Testing for qualitative interactions between treatment effects and patient subsets,
    Biometrics 41. Shapiro, S. S. and Wilk, M. B. (1965), An analysis of variance test for normality, Biometrika 52.
    Weerahandi, S. (1993), Generalized confidence intervals, JASA 88.

    Examples
    --------
    >>> cube = Cube.from_means("demo", ["a", "b"], ["v1", "v2", "v3"], np.array([[0.5, 0.6, 0.7], [0.6, 0.5, 0.5]]))
    >>> flips = estimate_rank_flips(cube)
    >>> flips.difference.round(3).tolist(), flips.swapped.round(3).tolist()
    ([0.067], [0.333])
    """
    if cube.nested:
        remedy = "sample the same variants for all questions"
        raise InputError(
            "each question has variants of its own: no variant orders models", where="swaps", remedy=remedy
        )
    cube = cube.drawn
    M = len(cube.models)
    pairs = [(a, b) for a in range(M) for b in range(a + 1, M)]
    generator = np.random.default_rng(rng)
    parts = []
    for start in range(0, len(pairs), _BLOCK):
        block = pairs[start : start + _BLOCK]
        layout = cube.difference([cube.models[a] for a, _ in block], [cube.models[b] for _, b in block])
        parts.append(_flip_statistics(estimate_components(layout, level=level), level, generator))
    names = tuple(cube.models[a] for a, _ in pairs), tuple(cube.models[b] for _, b in pairs)
    numbers: dict[str, Any] = {
        name: np.concatenate([part[name] for part in parts]) if parts else np.zeros(0)
        for name in (field.name for field in fields(RankFlips))
        if name not in {"benchmark", "models_a", "models_b", "level"}
    }
    numbers["n_variants"] = numbers["n_variants"].astype(np.int64)
    return RankFlips(cube.benchmark, *names, **numbers, level=level)


def _flip_statistics(components: PromptComponents, level: float, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Return the fields of `RankFlips` for the pairs of these components of differences."""
    fit = components.fit
    d = np.where(np.abs(fit.variant_score) < _TIE, 0.0, fit.variant_score)
    there = ~np.isnan(d)
    S = there.sum(axis=1).astype(float)
    mean = np.where(S > 0, components.mean, np.nan)
    sign = np.where(mean < 0, -1.0, 1.0)[:, None]
    # Where all variants have the same difference, its variance over variants is unknown and not 0: no interval.
    largest, smallest = (f(d, axis=1, where=there, initial=end) for f, end in ((np.max, -np.inf), (np.min, np.inf)))
    is_equal = largest - smallest < _TIE
    with np.errstate(divide="ignore", invalid="ignore"):
        against = np.where(d * sign < 0, 1.0, np.where(d == 0, 0.5, 0.0))
        swapped = np.sum(against, axis=1, where=there) / S
        low, high = wilson(swapped * S, S, level)
        rest_df = np.where(fit.cells > fit.rank, fit.cells - fit.rank, np.nan)
        rest = fit.residual_ss / rest_df  # vQS + ve/K
        # variance of a variant's difference on the questions that it has
        tau2 = rest * S / np.where(fit.cells > 0, fit.cells, np.nan)
        # of each variant: one with fewer questions has more noise
        each_tau2 = rest[:, None] * fit.variant_weight
        size = np.abs(mean)
        spread = np.sqrt(np.maximum(components.variant, 0)[:, None] + each_tau2)
        noise = np.sum(_tail(size[:, None], np.sqrt(each_tau2)), axis=1, where=there) / S
        is_normal = is_equal | ~(_normality((d - mean[:, None]) / spread) < _NOT_NORMAL)
        true = np.where(is_normal, _tail(size, np.sqrt(np.maximum(components.variant, 0))), np.nan)
        F = fit.variant_ss / (fit.rank - fit.questions) / rest
        p_prompt = np.where((S > 1) & (rest > 0), special.fdtrc(S - 1, rest_df, F), np.nan)
        # plain means of unconnected questions hold the noise of these too
        p_swap = np.where(fit.connected, _gail_simon(d, there, each_tau2, rest_df), np.nan)
        # pivots: mean squares over chi-square variables, the mean from a normal variable
        s2 = fit.variant_ss / (fit.rank - fit.questions) * S / fit.cells
        draws = (len(S), _DRAWS)
        df = np.where(S > 1, S - 1, np.nan)[:, None]
        chi = rng.chisquare(np.nan_to_num(df, nan=1), draws)
        chi_rest = rng.chisquare(np.nan_to_num(rest_df, nan=1)[:, None], draws)
        total = s2[:, None] * df / chi
        center = mean[:, None] + rng.standard_normal(draws) * np.sqrt(total / S[:, None])
        variant = np.maximum(total - tau2[:, None] * rest_df[:, None] / chi_rest, 0)
        share = _tail(center * sign, np.sqrt(variant))
    limits = np.full((2, len(S)), np.nan)
    is_known = np.all(~np.isnan(share), axis=1) & ~is_equal & is_normal
    limits[:, is_known] = np.quantile(share[is_known], [(1 - level) / 2, (1 + level) / 2], axis=1)
    return {
        "n_variants": S,
        "difference": mean,
        "swapped": swapped,
        "low": low,
        "high": high,
        "swapped_by_noise": noise,
        "swapped_true": true,
        "true_low": limits[0],
        "true_high": limits[1],
        "p_prompt": p_prompt,
        "p_swap": p_swap,
        "var_question": components.question,
        "var_variant": components.variant,
        "var_interaction": components.interaction,
        "var_generation": components.generation,
    }


def _normality(z: FloatArray) -> FloatArray:
    """Return the p-value of the test of Shapiro and Wilk of each row; NaN for few numbers or no spread."""
    p = np.full(len(z), np.nan)
    for i, row in enumerate(z):
        finite = row[np.isfinite(row)]
        if len(finite) >= _FEWEST_TESTED and np.ptp(finite) > 0:
            from scipy import stats  # takes half a second

            p[i] = stats.shapiro(finite).pvalue
    return p


def _tail(distance: FloatArray, sd: FloatArray) -> FloatArray:
    """Return P(N(distance, sd^2) < 0); 1/2 where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(sd == 0, np.where(distance == 0, 0.0, np.copysign(np.inf, distance)), distance / sd)
    tail: FloatArray = special.ndtr(-z)
    return tail


def _gail_simon(d: FloatArray, there: NDArray[np.bool_], tau2: FloatArray, df: FloatArray) -> FloatArray:
    """Return the p-value of the test of Gail and Simon, shape (P,); NaN where tau^2, shape (P, S), is unknown.

    As tau^2 is estimated with `df` degrees of freedom, the sum of squares follows F and not chi-squared.
    """
    square = np.where(there, d**2 / tau2, 0)
    least = np.minimum(np.sum(square * (np.nan_to_num(d) > 0), axis=1), np.sum(square * (np.nan_to_num(d) < 0), axis=1))
    S = there.sum(axis=1)[:, None]
    h = np.arange(1, max(there.shape[1], 2))[None, :]
    n = np.maximum(S - 1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = np.exp(log_choose(n, h) - n * np.log(2))
        p = np.sum(chance * special.fdtrc(h, df[:, None], least[:, None] / h), axis=1)
    is_known = np.all(~there | (tau2 > 0), axis=1) & (S[:, 0] > 1)
    return np.where(~is_known, np.nan, np.where(least == 0, 1.0, p))
