"""Summary of each model's scores over prompt variants: moments, variance components and required numbers of variants.

The score of a variant is its mean over the questions; missing cells are filled from the additive fit (additive_fit.py),
so that variants are compared on the same questions. Where each variant drew questions of its own, its score is the mean
over these, because the choice of questions is one of the dimensions then. The moments are those of REL: mean and
variance (divided by the number of variants) over the drawn variants. The default prompt was chosen, not drawn: it has a
score, but it is left out of all other statistics.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.cube import Cube
from howsure.stats.core.intervals import interval, variance_limits
from howsure.stats.core.results import Result, RowNotes
from howsure.stats.prompts.additive_fit import fit_additive
from howsure.stats.prompts.components import FILLED_CELLS, PromptComponents, estimate_components
from howsure.stats.prompts.sample_size import SampleSize, required_variants

__all__ = ["FEW_VARIANTS", "Moments", "VariantSummary", "summarize_variants"]

#: Below so many variants, a kind of variant that breaks the format may not be among them; and the note on it.
_FEWEST_VARIANTS = 30
FEW_VARIANTS = (
    f"fewer than {_FEWEST_VARIANTS} variants: where some break the format, the interval of the mean may be too narrow"
)


@dataclass(frozen=True, eq=False)
class Moments(Result):
    """Moments over variants of each model's score; arrays have shape (M,) unless stated otherwise.

    Attributes
    ----------
    benchmark, models
        Name of the benchmark, and the M names.
    scores
        Score of each drawn variant, shape (M, S); NaN where there is none.
    mean, low, high
        Mean over variants and all questions, and its interval for new questions in new variants; with one question, as
        in a table of scores, for new variants.
    variance, variance_low, variance_high
        Variance over the drawn variants, divided by their number, and the interval of the variance over the space,
        which accounts for kurtosis (core/variance_intervals.py). It contains the sampling noise of each score, and the
        noise of its questions where each variant drew its own.
    corrected
        Unbiased variance minus the sampling noise of each score, not cut at 0; NaN where that noise is unknown.
    default
        Score of the default prompt on the questions of the drawn variants; NaN where there is none.
    level
        Level of the intervals.

    Examples
    --------
    >>> from howsure.stats.core.cube import Cube
    >>> cube = Cube.from_means("demo", ["a"], ["v1", "v2", "v3"], np.array([[0.5, 0.6, 0.7]]))
    >>> moments = summarize_variants(cube).moments
    >>> moments.quantile(0.5).tolist(), moments.low.round(3).tolist(), moments.high.round(3).tolist()
    ([0.6], [0.352], [0.848])
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
        """Return the q quantile over variants of each model's score, shape (M,); q is in [0, 1]."""
        quantile = np.full(len(self.scores), np.nan)
        some = np.any(~np.isnan(self.scores), axis=1)
        quantile[some] = np.nanquantile(self.scores[some], q, axis=1)
        return quantile

    declared = (
        "benchmark model=models n_variants=_n_variants mean low high variance variance_low variance_high "
        "variance_corrected=corrected min=_quantiles.0 q25=_quantiles.1 median=_quantiles.2 q75=_quantiles.3 "
        "max=_quantiles.4 default level"
    )

    def _n_variants(self) -> IntArray:
        """Return the number of variants with a score."""
        return np.asarray(np.sum(~np.isnan(self.scores), axis=1))

    def _quantiles(self) -> list[FloatArray]:
        """Return the smallest score, the quartiles and the largest."""
        return [self.quantile(q) for q in (0, 0.25, 0.5, 0.75, 1)]


@dataclass(frozen=True, eq=False)
class VariantSummary(Result):
    """Statistics over the drawn prompt variants of M models on one benchmark.

    Attributes
    ----------
    cube
        The results, the default prompt included.
    moments
        Moments of the score over the drawn variants.
    components
        Variance components of the drawn variants.
    epsilon, delta
        Acceptable deviation of a moment, and the probability of a larger one, for `sample_size`.

    Examples
    --------
    >>> from howsure.stats.core.cube import Cube
    >>> cube = Cube.from_means("demo", ["a"], ["v1", "v2", "v3"], np.array([[0.5, 0.6, 0.7]]))
    >>> summarize_variants(cube)["n_variants"].tolist()
    [3]
    """

    cube: Cube = field(repr=False)
    moments: Moments
    components: PromptComponents
    epsilon: float
    delta: float

    @cached_property
    def sample_size(self) -> SampleSize:
        """Required numbers of variants for both moments."""
        c = self.components
        return required_variants(
            self.cube.models,
            self.moments.scores,
            # a nested variant has no score over all questions
            variance=None if self.cube.nested else c.variant,
            limits=None if self.cube.nested else c.limits("variant"),
            epsilon=self.epsilon,
            delta=self.delta,
        )

    @property
    def all_scores(self) -> FloatArray:
        """Score of each variant of the cube, the default prompt included, shape (M, S) or (M, S + 1)."""
        scores = self.moments.scores
        if self.cube.default is None or self.cube.drawn is self.cube:
            return scores
        return np.insert(scores, self.cube.default, self.moments.default, axis=1)

    declared = (
        "benchmark=moments.benchmark model=moments.models n_variants=sample_size.n_variants mean=moments.mean "
        "low=moments.low high=moments.high variance=moments.variance n_star=_required.0.whole "
        "n_star_space=_required.1.whole n_star_space_corrected=_required.2.whole var_question=components.question "
        "var_variant=components.variant var_interaction=components.interaction var_generation=components.generation "
        "level=moments.level claim=_claim note=_note"
    )

    def _required(self) -> list[FloatArray]:
        """Return the required numbers, the larger of those for mean and variance."""
        size = self.sample_size
        return [size.n_star.max(axis=1), np.fmax(*size.n_star_space.T), np.fmax(*size.n_star_space_corrected.T)]

    def _claim(self) -> tuple[str, ...]:
        """Return the claims: one question does not show the variation over questions."""
        one = self.components.fit.questions == 1
        return tuple("new-variants" if each else "new-questions-and-variants" for each in one)

    def _note(self) -> NDArray[np.object_]:
        """Return the notes of the components and of the required numbers."""
        own = self.cube.drawn_questions  # the components say that missing cells are filled, which here none is
        drew = ["each variant has its own sample of the questions; the mean is that of all questions" * own]
        few = [FEW_VARIANTS * bool(1 < n < _FEWEST_VARIANTS) for n in self.sample_size.n_variants]
        notes = zip(self.components.note, few, *self.sample_size.note.T, strict=True)
        merged = [RowNotes(*drew, *row).sentences for row in notes]
        chosen = [RowNotes(*(part for part in row if not (own and part.endswith(FILLED_CELLS)))) for row in merged]
        return np.array(chosen, dtype=object)


def summarize_variants(cube: Cube, *, level: float = 0.95, epsilon: float = 0.01, delta: float = 0.1) -> VariantSummary:
    """Compute the moments over prompt variants, the variance components and the required variants of each model.

    Parameters
    ----------
    cube
        M models on N questions under S variants; the default prompt is left out of all statistics but its own score.
    level
        Level of the intervals, in (0, 1).
    epsilon, delta
        Acceptable deviation of a moment, and the probability of a larger one, for the required numbers of variants.

    Returns
    -------
    VariantSummary
        For nested variants, which have no score over all questions, moments and required numbers are NaN; components
        are not.

    Raises
    ------
    InputError
        Where `level` is not in (0, 1).

    Notes
    -----
    With x_s the score of variant s of S, the moments are mean = sum x_s / S and variance = sum (x_s - mean)^2 / S.
    Where each variant drew its own sample of the questions (`Cube.drawn_questions`), x_s is the mean over that sample,
    the variance is about the mean of the x_s, and `mean` is the estimate for all questions, from the fit of question +
    variant, whose interval is printed.

    References
    ----------
    "REL" in docs/statistics.md, equations 2 and 3.

    Examples
    --------
    >>> cube = Cube.from_means("demo", ["a"], ["v1", "v2", "v3"], np.array([[0.5, 0.6, 0.7]]))
    >>> summary = summarize_variants(cube)
    >>> summary.moments.mean.round(3).tolist(), summary.moments.variance.round(4).tolist()
    ([0.6], [0.0067])
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}", remedy="allowed: between 0 and 1, such as 0.95")
    drawn = cube.drawn
    components = estimate_components(drawn, level=level)
    if cube.nested:
        x = np.full(components.fit.variant_score.shape, np.nan)
    else:
        x = drawn.own_scores if cube.drawn_questions else components.fit.variant_score
    n = np.sum(~np.isnan(x), axis=1)
    between = components.interval()
    with np.errstate(invalid="ignore", divide="ignore"):
        # with the same questions for all variants, the mean of the scores is that of the components
        center = np.nansum(x, axis=1) / n if cube.drawn_questions else components.mean
        centered = np.where(np.isnan(x), 0, x - center[:, None])
        square = np.where(n > 0, np.sum(centered**2, axis=1), np.nan)
        unbiased = np.where(n > 1, square / (n - 1), np.nan)
        here = drawn.n > 0
        counts = np.maximum(here.sum(axis=1), 1)
        error = np.sum(np.where(here, drawn.layout.mean_variance, 0), axis=1) / counts**2
        noise = np.sum(error, axis=1) / n
    low, high = variance_limits(unbiased, x, level)
    if (bounds := drawn.layout.bounds) is not None:  # no distribution between two ends varies by more (Popoviciu)
        low, high = (np.minimum(limit, ((bounds[1] - bounds[0]) / 2) ** 2) for limit in (low, high))
    # in a table of scores, which has one question, only the variation over variants is known
    se = np.sqrt(unbiased / np.maximum(n, 1))
    over_variants = interval(components.mean, se, n, level=level, df=n - 1, bounds=drawn.layout.bounds)
    means_only = np.isnan(between.low) & (components.fit.questions == 1)
    mean_low = np.where(means_only, over_variants.low, between.low)
    mean_high = np.where(means_only, over_variants.high, between.high)
    moments = Moments(
        cube.benchmark,
        cube.models,
        x,
        components.mean,
        mean_low,
        mean_high,
        square / np.where(n > 0, n, np.nan),
        low,
        high,
        np.where(drawn.layout.split, unbiased - noise, np.nan),
        _default_score(cube, x),
        level,
    )
    return VariantSummary(cube, moments, components, epsilon, delta)


def _default_score(cube: Cube, drawn_scores: FloatArray) -> FloatArray:
    """Return the score of the default prompt, shape (M,), given the scores (M, S) of the drawn variants."""
    if cube.default is None or cube.nested:
        return np.full(len(drawn_scores), np.nan)
    if cube.drawn is cube:
        return drawn_scores[:, cube.default]
    # on the questions of the drawn variants, with missing cells filled as theirs are
    answered = np.any(cube.drawn.n > 0, axis=2)
    answered |= ~np.any(answered, axis=1, keepdims=True)
    same = replace(cube, n=np.where(answered[:, :, None], cube.n, 0))
    score: FloatArray = fit_additive(same.layout).variant_score[:, cube.default]
    return score
