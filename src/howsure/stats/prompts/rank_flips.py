"""How often the prompt decides which of two models is better, for all pairs at once.

d_s is the difference of two models' scores under variant s, D its mean over S variants, and tau^2 = (vQS + ve/K)/N the
noise of d_s that questions and generations leave (from the crossed components of the difference, crossed.py).

    swapped    share of the S variants whose d_s has the other sign than D, a tie counts half; Wilson interval
    by noise   what that share would be if the prompt changed nothing: Phi(-|D|/tau)
    true       Phi(-|D|/sd_S), vS the variance of true differences over variants, for normal effects
    p_prompt   no variance of the difference over variants: F = S s^2(d) N / MSR
    p_swap     no true swap at all: the test of Gail and Simon (1985) for qualitative interaction,
               sum_h Binomial(h; S - 1, 1/2) P(chi2_h > min(sum over d > 0, sum over d < 0 of d^2/tau^2))

The interval of the true share is a generalized confidence interval (Weerahandi 1993): both mean squares and D drawn
from their pivots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.cube import Cube
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.results import Columns, Result, notes
from howsure.stats.prompts.components import PromptComponents, estimate_components
from howsure.stats.scores import wilson

__all__ = ["RankFlips", "estimate_rank_flips"]

_DRAWS = 1000
#: Pairs whose cells are in memory at once.
_BLOCK = 64

#: Differences of scores below this are none: least squares give scores to about 1e-15.
TIE = 1e-12


@dataclass(frozen=True, eq=False)
class RankFlips(Result):
    """Swaps of P pairs of models; arrays have shape (P,), as in the docstring of this module."""

    benchmark: str
    models_a: tuple[str, ...]
    models_b: tuple[str, ...]
    n_variants: IntArray
    difference: FloatArray
    swapped: FloatArray
    low: FloatArray
    high: FloatArray
    by_noise: FloatArray
    true: FloatArray
    true_low: FloatArray
    true_high: FloatArray
    p_prompt: FloatArray
    p_swap: FloatArray
    var_question: FloatArray
    var_variant: FloatArray
    var_interaction: FloatArray
    var_generation: FloatArray
    level: float = 0.95

    def columns(self) -> Columns:
        """One row per pair."""
        rows = len(self.difference)
        return {
            "benchmark": np.full(rows, self.benchmark, dtype=object),
            "model_a": np.array(self.models_a, dtype=object),
            "model_b": np.array(self.models_b, dtype=object),
            "n_variants": self.n_variants,
            "difference": self.difference,
            "swapped": self.swapped,
            "low": self.low,
            "high": self.high,
            "swapped_by_noise": self.by_noise,
            "swapped_true": self.true,
            "true_low": self.true_low,
            "true_high": self.true_high,
            "p_prompt": self.p_prompt,
            "p_swap": self.p_swap,
            "p_swap_holm": holm(self.p_swap),
            "var_question": self.var_question,
            "var_variant": self.var_variant,
            "var_interaction": self.var_interaction,
            "var_generation": self.var_generation,
            "level": np.full(rows, self.level),
            "note": notes(
                {
                    "no variant in common": self.n_variants == 0,
                    "noise of a variant is unknown: real swaps and swaps by chance cannot be told apart": (
                        self.n_variants > 0
                    )
                    & np.isnan(self.by_noise),
                    "the prompt changes nothing that the noise would not": self.var_variant <= 0,
                }
            ),
        }


def estimate_rank_flips(cube: Cube, *, level: float = 0.95, rng: np.random.Generator | int = 0) -> RankFlips:
    """Swaps of all pairs of models of a cube with crossed variants, in the order of its models; of `cube.drawn`."""
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
        parts.append(_block(estimate_components(layout, level=level), level, generator))
    names = tuple(cube.models[a] for a, _ in pairs), tuple(cube.models[b] for _, b in pairs)
    numbers: dict[str, Any] = {
        name: np.concatenate([part[name] for part in parts]) if parts else np.zeros(0)
        for name in RankFlips.__dataclass_fields__
        if name not in {"benchmark", "models_a", "models_b", "level"}
    }
    numbers["n_variants"] = numbers["n_variants"].astype(np.int64)
    return RankFlips(cube.benchmark, *names, **numbers, level=level)


def _block(found: PromptComponents, level: float, rng: np.random.Generator) -> dict[str, Any]:
    """Fields of `Swaps` for some pairs."""
    fit = found.fit
    # A tie is a tie, whatever the least squares leave of it.
    d = np.where(np.abs(fit.variant_score) < TIE, 0.0, fit.variant_score)
    there = ~np.isnan(d)
    S = there.sum(axis=1).astype(float)
    mean = np.where(S > 0, found.mean, np.nan)
    sign = np.where(mean < 0, -1.0, 1.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        against = np.where(d * sign < 0, 1.0, np.where(d == 0, 0.5, 0.0))
        swapped = np.sum(against, axis=1, where=there) / S
        low, high = wilson(swapped * S, S, level)
        freedom = np.where(fit.cells > fit.rank, fit.cells - fit.rank, np.nan)
        rest = fit.residual_ss / freedom  # vQS + ve/K
        # noise of a variant's score: less the questions it lacks
        tau2 = rest * S / np.where(fit.cells > 0, fit.cells, np.nan)
        size = np.abs(mean)
        noise = _tail(size, np.sqrt(tau2))
        true = _tail(size, np.sqrt(np.maximum(found.variant, 0)))
        F = fit.variant_ss / (fit.rank - fit.questions) / rest
        p_prompt = np.where((S > 1) & (rest > 0), special.fdtrc(S - 1, freedom, F), np.nan)
        p_swap = _gail_simon(d, there, tau2)
        # pivots: mean squares over chi-square, the mean from t
        s2 = fit.variant_ss / (fit.rank - fit.questions) * S / fit.cells
        draws = (len(S), _DRAWS)
        df = np.where(S > 1, S - 1, np.nan)[:, None]
        chi = rng.chisquare(np.nan_to_num(df, nan=1), draws)
        chi_rest = rng.chisquare(np.nan_to_num(freedom, nan=1)[:, None], draws)
        total = s2[:, None] * df / chi
        center = mean[:, None] + rng.standard_normal(draws) * np.sqrt(total / S[:, None])
        of_variant = np.maximum(total - tau2[:, None] * freedom[:, None] / chi_rest, 0)
        share = _tail(center * sign, np.sqrt(of_variant))
    limits = np.full((2, len(S)), np.nan)
    known = np.all(~np.isnan(share), axis=1) & (s2 + rest > 0)  # no variation seen is no certainty
    limits[:, known] = np.quantile(share[known], [(1 - level) / 2, (1 + level) / 2], axis=1)
    return {
        "n_variants": S,
        "difference": mean,
        "swapped": swapped,
        "low": low,
        "high": high,
        "by_noise": noise,
        "true": true,
        "true_low": limits[0],
        "true_high": limits[1],
        "p_prompt": p_prompt,
        "p_swap": p_swap,
        "var_question": found.question,
        "var_variant": found.variant,
        "var_interaction": found.interaction,
        "var_generation": found.generation,
    }


def _tail(distance: FloatArray, sd: FloatArray) -> FloatArray:
    """P(N(distance, sd) < 0); 1/2 where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(sd == 0, np.where(distance == 0, 0.0, np.copysign(np.inf, distance)), distance / sd)
    tail: FloatArray = special.ndtr(-z)
    return tail


def _gail_simon(d: FloatArray, there: NDArray[np.bool_], tau2: FloatArray) -> FloatArray:
    square = np.where(there, d, 0) ** 2 / tau2[:, None]
    least = np.minimum(np.sum(square * (np.nan_to_num(d) > 0), axis=1), np.sum(square * (np.nan_to_num(d) < 0), axis=1))
    S = there.sum(axis=1)[:, None]
    h = np.arange(1, max(there.shape[1], 2))[None, :]
    n = np.maximum(S - 1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        log = special.gammaln(n + 1) - special.gammaln(h + 1) - special.gammaln(np.maximum(n - h, 0) + 1)
        chance = np.where(h <= n, np.exp(log - n * np.log(2)), 0)
        p = np.sum(chance * special.chdtrc(h, least[:, None]), axis=1)
    return np.where(np.isnan(tau2) | (tau2 <= 0) | (S[:, 0] < 2), np.nan, np.where(least == 0, 1.0, p))
