"""Prompt variants of each model: moments of the score over them, components of the noise, and how many are enough.

The score of a variant is its mean over the questions; where cells are missing, those are filled from the additive fit
(additive.py), so that variants are compared on the same questions. Moments as REL defines them: the mean and the
variance (divided by the number of variants) over the variants that were drawn. The default prompt was chosen, not
drawn: it has a score, and no part in anything else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.cube import Cube
from howsure.stats.core.intervals import interval
from howsure.stats.core.results import Columns, Result
from howsure.stats.core.variance_intervals import variance_limits
from howsure.stats.prompts.additive_fit import fit_additive
from howsure.stats.prompts.components import PromptComponents, estimate_components
from howsure.stats.prompts.sample_size import SampleSize, required_variants, to_integers

__all__ = ["Moments", "VariantSummary", "required_variants", "summarize_variants"]

_QUANTILES = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "max": 1.0}


@dataclass(frozen=True, eq=False)
class Moments(Result):
    """Moments over variants of each model's score; arrays have shape (M,).

    Attributes
    ----------
    scores
        Score of each variant that was drawn, shape (M, S), NaN where there is none.
    mean, low, high
        Mean over variants, and its interval for new questions in new variants; with one question, which a table of
        scores has, for new variants.
    variance, variance_low, variance_high
        Over the variants as they were drawn, divided by their number, and the interval for the space's, which heeds
        kurtosis (variance_intervals.py). Sampling noise of each score is in it.
    corrected
        Unbiased and less the sampling noise of each score, not cut at 0; NaN where that noise is unknown.
    default
        Score of the default prompt, on the questions that a drawn one has; NaN where there is none.
    """

    benchmark: str
    models: tuple[str, ...]
    scores: FloatArray = field(repr=False)
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    variance: FloatArray
    variance_low: FloatArray
    variance_high: FloatArray
    corrected: FloatArray
    default: FloatArray
    level: float = 0.95

    def quantile(self, q: float) -> FloatArray:
        """Quantile over variants of each model's score, shape (M,). The extremes grow with the number of variants."""
        out = np.full(len(self.scores), np.nan)
        some = np.any(~np.isnan(self.scores), axis=1)
        out[some] = np.nanquantile(self.scores[some], q, axis=1)
        return out

    def columns(self) -> Columns:
        """One row per model."""
        M = len(self.models)
        return {
            "benchmark": np.full(M, self.benchmark, dtype=object),
            "model": np.array(self.models, dtype=object),
            "n_variants": np.sum(~np.isnan(self.scores), axis=1),
            "mean": self.mean,
            "low": self.low,
            "high": self.high,
            "variance": self.variance,
            "variance_low": self.variance_low,
            "variance_high": self.variance_high,
            "variance_corrected": self.corrected,
            **{name: self.quantile(q) for name, q in _QUANTILES.items()},
            "default": self.default,
            "level": np.full(M, self.level),
        }


@dataclass(frozen=True, eq=False)
class VariantSummary(Result):
    """What the prompt does to the scores of M models on one benchmark: moments, components and n* of `cube.drawn`."""

    cube: Cube = field(repr=False)
    moments: Moments
    components: PromptComponents
    epsilon: float
    delta: float

    @cached_property
    def enough(self) -> SampleSize:
        """N* of both moments and what the space needs."""
        c = self.components
        return required_variants(
            self.cube.models,
            self.moments.scores,
            # nested variants have no score of their own, and so no number
            variance=None if self.cube.nested else c.variant,
            limits=None if self.cube.nested else c.limits("variant"),
            epsilon=self.epsilon,
            delta=self.delta,
        )

    @property
    def every(self) -> FloatArray:
        """Score of each variant of the cube, the default prompt too, shape (M, its variants)."""
        scores = self.moments.scores
        if self.cube.default is None or self.cube.drawn is self.cube:
            return scores
        return np.insert(scores, self.cube.default, self.moments.default, axis=1)

    def columns(self) -> Columns:
        """One row per model; each of the numbers n_star... is the larger of those of mean and variance."""
        m, c, e = self.moments, self.components, self.enough
        told = [
            "; ".join(dict.fromkeys(part for note in row for part in str(note).split("; ") if part))
            for row in zip(c.note, e.note[:, 0], e.note[:, 1], strict=True)
        ]
        return {
            "benchmark": np.full(len(m.models), m.benchmark, dtype=object),
            "model": np.array(m.models, dtype=object),
            "n_variants": e.n_variants,
            "mean": m.mean,
            "low": m.low,
            "high": m.high,
            "variance": m.variance,
            "n_star": to_integers(e.n_star.max(axis=1)),
            "n_star_space": to_integers(np.fmax(*e.n_star_space.T)),
            "n_star_space_corrected": to_integers(np.fmax(*e.n_star_space_corrected.T)),
            "var_question": c.question,
            "var_variant": c.variant,
            "var_interaction": c.interaction,
            "var_generation": c.generation,
            "level": np.full(len(m.models), m.level),
            # of one question nothing is known beyond it
            "claim": np.where(c.fit.questions == 1, "new-variants", "new-questions-and-variants").astype(object),
            "note": np.array(told, dtype=object),
        }


def summarize_variants(cube: Cube, *, level: float = 0.95, epsilon: float = 0.01, delta: float = 0.1) -> VariantSummary:
    """Moments, components and n* of each model of a cube.

    Nested variants have no score of their own over all questions: their moments and n* are NaN, components are not.
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}", remedy="allowed: between 0 and 1, such as 0.95")
    drawn = cube.drawn
    found = estimate_components(drawn, level=level)
    x = np.full(found.fit.variant_score.shape, np.nan) if cube.nested else found.fit.variant_score
    n = np.sum(~np.isnan(x), axis=1)
    between = found.interval()
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.where(np.isnan(x), 0, x - found.mean[:, None])
        square = np.where(n > 0, np.sum(off**2, axis=1), np.nan)
        unbiased = np.where(n > 1, square / (n - 1), np.nan)
        here = drawn.n > 0
        counts = np.maximum(here.sum(axis=1), 1)
        error = np.sum(np.where(here, drawn.layout.error, 0), axis=1) / counts**2
        noise = np.sum(error, axis=1) / n
    low, high = variance_limits(unbiased, x, level)
    # scores that are means already: what is known is how they vary over variants
    of_mean = np.sqrt(unbiased / np.maximum(n, 1))
    of_variants = interval(found.mean, of_mean, n, level=level, df=n - 1, bounds=drawn.layout.bounds)
    means_only = np.isnan(between.low) & (found.fit.questions == 1)
    mean_low = np.where(means_only, of_variants.low, between.low)
    mean_high = np.where(means_only, of_variants.high, between.high)
    moments = Moments(
        cube.benchmark,
        cube.models,
        x,
        found.mean,
        mean_low,
        mean_high,
        square / np.where(n > 0, n, np.nan),
        low,
        high,
        np.where(drawn.layout.split, unbiased - noise, np.nan),
        _default(cube, x),
        level,
    )
    return VariantSummary(cube, moments, found, epsilon, delta)


def _default(cube: Cube, drawn: FloatArray) -> FloatArray:
    """Score of the default prompt, shape (M,), where those that were drawn have the scores `drawn`."""
    if cube.default is None or cube.nested:
        return np.full(len(drawn), np.nan)
    if cube.drawn is cube:
        return drawn[:, cube.default]
    # missing cells are filled as those of the others are, and for the same questions
    asked = np.any(cube.drawn.n > 0, axis=2)
    asked |= ~np.any(asked, axis=1, keepdims=True)
    same = replace(cube, n=np.where(asked[:, :, None], cube.n, 0))
    score: FloatArray = fit_additive(same.layout).variant_score[:, cube.default]
    return score
