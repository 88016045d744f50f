"""Share of the variance over prompts that each dimension of the prompt space explains, with an interval and a test.

The score of a variant is the sum of a mean, the effects of its values, and a rest: interactions of dimensions, and the
noise of questions and generations. Let SS be the sum of squares of a dimension with L values and df degrees of freedom,
fitted as in effects.py. With N questions,

    E[SS] = df E + k A       E = W + (k/df) D/N       k = L/(L - 1) trace(X'MX)

A is the variance of the effects over the values, W the residual mean square, D the variance over questions of the
effects on single questions, and X'MX the cross products of the dummies of the dimension, without what the other
columns of the fit explain. E is the error of the quasi F ratio of Clark (1973): what suits some questions and not
others is averaged over questions, but not over variants. The estimate (SS - df E)/k of A is unbiased. The share is
A / (A + R), where R is the variance over variants with the same value, without the noise of questions and generations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.intervals import Limits, chi_square_factors
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.results import Conditions, Result
from howsure.stats.prompts.effects import Effects, QuestionVariance, estimate_effects, estimate_question_variance
from howsure.stats.prompts.moments import VariantSummary
from howsure.stats.prompts.unparsed import list_drawn_values

__all__ = ["DimensionShares", "estimate_dimension_shares", "estimate_variant_shares"]

#: A share whose dimension is not significant and that may be larger than this is not reported.
LARGEST_UNKNOWN = 0.5
#: Power at which `detectable` is the smallest share.
_POWER = 0.8
#: Differences of scores that are rounding, relative to the scores.
_ROUNDING = 1e-12
#: Steps of a bisection: the interval becomes 2^-60 of its width.
_STEPS = 60


@dataclass(frozen=True, eq=False)
class DimensionShares(Result):
    """Shares of the variance over prompts that D dimensions explain for M models; arrays have shape (M, D).

    Attributes
    ----------
    effects
        Effects of the values.
    dimensions
        Names, length D; first those with effects, then those without.
    n_values, n_variants
        Values that were drawn, and variants with a score.
    sum_of_squares, df
        Sum of squares of the dimension, and its degrees of freedom.
    error, error_df
        Error of the mean square if the dimension has no effect, and its degrees of freedom (Satterthwaite).
    weight
        Expected change of the sum of squares per unit of the variance of the effects.
    within, within_df
        Mean square over variants with the same value, and its degrees of freedom.
    noise
        Contribution of the noise of questions and generations to `within`.
    total
        Variance over prompts without this noise, not cut at 0, shape (M,).
    level
        Default level of the intervals, and 1 - significance level of the tests.

    Examples
    --------
    >>> values = {"style": list("aaaabbbb"), "order": list("xyxyxyxy")}
    >>> shares = estimate_dimension_shares("demo", ["m"], [[0.50, 0.51, 0.49, 0.5, 0.6, 0.61, 0.6, 0.62]], values)
    >>> shares.dimensions, shares.interval().low.round(2).tolist(), shares.interval().high.round(2).tolist()
    (('style', 'order'), [[0.55, 0.0]], [[1.0, 0.08]])
    """

    effects: Effects = field(repr=False)
    dimensions: tuple[str, ...]
    n_values: IntArray
    n_variants: IntArray
    sum_of_squares: FloatArray = field(repr=False)
    df: FloatArray = field(repr=False)
    error: FloatArray = field(repr=False)
    error_df: FloatArray = field(repr=False)
    weight: FloatArray = field(repr=False)
    within: FloatArray = field(repr=False)
    within_df: FloatArray = field(repr=False)
    noise: FloatArray = field(repr=False)
    total: FloatArray
    level: float = 0.95

    @cached_property
    def variance(self) -> FloatArray:
        """Variance of the effects over the values of each dimension, without bias and not cut at 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            variance: FloatArray = (self.sum_of_squares - self.df * self.error) / self.weight
        return variance

    @cached_property
    def statistic(self) -> FloatArray:
        """Quasi F ratio of each dimension."""
        with np.errstate(invalid="ignore", divide="ignore"):
            statistic: FloatArray = self.sum_of_squares / self.df / self.error
        # values that score alike are no evidence of an effect, even if all variants do
        return np.where((self.sum_of_squares == 0) & (self.error == 0), 0.0, statistic)

    @cached_property
    def p_value(self) -> FloatArray:
        """p-value of "the dimension has no effect"."""
        return np.asarray(special.fdtrc(self.df, self.error_df, self.statistic))

    @cached_property
    def p_holm(self) -> FloatArray:
        """The same, adjusted by Holm for the dimensions of a model."""
        return np.array([holm(row) for row in self.p_value]).reshape(self.p_value.shape)

    @cached_property
    def unclear(self) -> NDArray[np.bool_]:
        """Whether there are too few variants to tell: no significant effect, and a share above a half is possible."""
        not_significant = ~(self.p_holm < 1 - self.level)
        return np.asarray(~np.isnan(self.p_value) & not_significant & (self.interval().high > LARGEST_UNKNOWN))

    @cached_property
    def share(self) -> FloatArray:
        """Share of the variance over prompts, in [0, 1]; NaN where there are too few variants to tell."""
        explained, rest = np.maximum(self.variance, 0), np.maximum(self.within - self.noise, 0)
        both = explained + rest
        clear = (both > 0) & ~self.unclear & ~np.isnan(self.p_value)
        return np.where(clear, explained / np.where(both > 0, both, 1), np.nan)

    def interval(self, level: float | None = None) -> Limits:
        """Return the interval of each share at a level in (0, 1); None: that of the result.

        Notes
        -----
        The limits of A/E are those of the noncentrality of F, divided by k. The limits of R are those of a chi-squared
        mean square. The lower limit of the share combines the lower limit of A/E with the upper one of R/E, and the
        upper limit the other two, as both estimates depend on the same residuals.
        """
        level = self.level if level is None else level
        tail = (1 - level) / 2
        factors = chi_square_factors(self.within_df, level)
        ends = []
        for probability, factor in ((1 - tail, factors.high), (tail, factors.low)):
            noncentrality = _solve_noncentrality(self.df, self.error_df, self.statistic, probability)
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = noncentrality / self.weight
                rest = np.maximum(self.within * factor - self.noise, 0) / self.error
                limit = ratio / (ratio + rest)
            ends.append(np.where(ratio > 0, limit, np.where(np.isnan(ratio) | self._is_flat, np.nan, 0.0)))
        return Limits(ends[0], ends[1], level)

    @property
    def _is_flat(self) -> NDArray[np.bool_]:
        """Whether all variants have the same score, shape (M, D)."""
        return np.asarray((self.sum_of_squares == 0) & (self.within == 0))

    @cached_property
    def detectable(self) -> FloatArray:
        """Smallest share that the test finds with a power of .8, if the rest of the variance is as estimated."""
        critical = special.fdtri(self.df, self.error_df, np.full(self.df.shape, self.level))
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = _solve_noncentrality(self.df, self.error_df, critical, 1 - _POWER) / self.weight
            rest = (self.within - self.noise) / self.error
            return np.where(rest > 0, ratio / (ratio + rest), np.nan)

    declared = (
        "benchmark=effects.benchmark model=effects.models dimension=dimensions@1 n_values=n_values@1 n_variants share "
        "low=interval.low high=interval.high p_value p_holm detectable_share=detectable effect=_largest_effects.0 "
        "value=_largest_effects.1 level note=_reasons.notes"
    )

    def _reasons(self) -> Conditions:
        tested = ~np.isnan(self.p_value)
        dropped = {name: np.array([name == each for each in self.dimensions]) for name in self.effects.left_out}
        no_effect = np.any([*dropped.values(), np.zeros(len(self.dimensions), dtype=bool)], axis=0)
        lost = (self.total <= 0)[:, None] | self._is_flat
        # An interval above 0 beside an adjusted p-value that is not small: the interval is of one dimension by itself.
        not_sure = self.unclear & (self.interval().low > 0)
        return {
            **{reason: dropped[name] for name, reason in self.effects.left_out.items()},
            "cannot be separated from other dimensions: draw more variants": ~tested & ~no_effect,
            "too few variants to tell, the share may be 0 or above a half: draw more": self.unclear & ~not_sure,
            "too few variants to tell, not significant among all dimensions: draw more": not_sure,
            "the prompts differ by no more than the noise of their scores": lost & tested,
            "the prompts differ by no more than the noise of their scores beside this dimension": tested
            & ~lost
            & np.isnan(self.detectable),
            "share of the variance of the scores, noise included": np.isnan(self.total)[:, None],
            "dimension fitted by itself: the others are noise": self.effects.separate[:, None] & tested,
        }

    def _largest_effects(self) -> tuple[FloatArray, NDArray[np.object_]]:
        """Return the effect that is farthest from 0, and its value, of each model and dimension."""
        effect, value = np.full(self.df.shape, np.nan), np.full(self.df.shape, "", dtype=object)
        for d, name in enumerate(self.dimensions):
            at = [i for i, dimension in enumerate(self.effects.dimensions) if dimension == name]
            for m, each in enumerate(self.effects.effect[:, at]):
                if not np.all(np.isnan(each)):
                    i = int(np.nanargmax(np.abs(each)))
                    effect[m, d], value[m, d] = each[i], self.effects.values[at[i]]
        return effect, value


def estimate_dimension_shares(
    benchmark: str,
    models: Sequence[str],
    scores: ArrayLike,
    values: Mapping[str, Sequence[str]],
    *,
    total: ArrayLike | None = None,
    questions: QuestionVariance | None = None,
    level: float = 0.95,
) -> DimensionShares:
    """Estimate the share of the variance over prompts that each dimension explains, and test each dimension.

    Parameters
    ----------
    benchmark, models
        Name of the benchmark, and M names.
    scores
        Score of each model under each of S variants, shape (M, S); NaN where missing.
    values
        For each of D dimensions, the value of each variant.
    total
        Variance over prompts without the noise of questions and generations, shape (M,), such as
        `components.variant`; None or NaN: this noise is unknown and counts as variance over prompts.
    questions
        See `estimate_effects`.
    level
        Level of the intervals, in (0, 1); 1 - level is the significance level of the tests.

    Returns
    -------
    DimensionShares

    Raises
    ------
    InputError
        Where the shapes do not fit.

    Notes
    -----
    F = (SS/df) / E with the error E of the quasi F ratio, share = A / (A + R); see the module's docstring. The share is
    the first-order sensitivity index of Sobol.

    References
    ----------
    Clark, H. H. (1973), The language-as-fixed-effect fallacy, J. Verbal Learning and Verbal Behavior 12. Steiger, J. H.
    (2004), Beyond the F test, Psychological Methods 9. Sobol, I. M. (1993), Sensitivity estimates for nonlinear
    mathematical models. Searle, S. R., Casella, G. and McCulloch, C. E. (1992), Variance Components, chapter 5.

    Examples
    --------
    >>> values = {"style": list("aaaabbbb"), "order": list("xyxyxyxy")}
    >>> shares = estimate_dimension_shares("demo", ["m"], [[0.50, 0.51, 0.49, 0.5, 0.6, 0.61, 0.6, 0.62]], values)
    >>> shares.share.round(2).tolist(), shares.p_value.round(4).tolist()
    ([[0.97, 0.01]], [[0.0, 0.0268]])
    """
    x = np.atleast_2d(np.asarray(scores, float))
    effects = estimate_effects(benchmark, models, x, values, questions=questions, level=level)
    names = [*dict.fromkeys(effects.dimensions), *effects.left_out]
    shape = (len(x), len(names))
    sums = [np.full(shape, np.nan) for _ in _Sums._fields]
    present = ~np.isnan(x)
    keys = np.column_stack([present, effects.separate])
    for key in np.unique(keys, axis=0):
        rows, at = np.flatnonzero(np.all(keys == key, axis=1)), np.flatnonzero(key[:-1])
        dummies = [_make_dummies(np.asarray(values[name], dtype=object)[at]) for name in names]
        for d, own in enumerate(dummies):
            estimable = ~np.all(np.isnan(effects.effect[rows][:, [each == names[d] for each in effects.dimensions]]))
            if names[d] not in effects.left_out and estimable:
                others = (
                    []
                    if key[-1]
                    else [each for o, each in enumerate(dummies) if o != d and names[o] not in effects.left_out]
                )
                for array, value in zip(sums, _split_sums(x[np.ix_(rows, at)], own, others), strict=True):
                    array[rows, d] = value
    s = _Sums(*sums)
    more, more_error = np.zeros(shape), np.zeros(shape)
    if questions is not None:
        order = [list(values).index(name) for name in names]
        more = np.maximum(np.nan_to_num(questions.variance[:, order]), 0)
        more_error = np.where(more > 0, questions.error[:, order], 0)
    variance = np.array(
        [row[here].var(ddof=1) if here.sum() > 1 else np.nan for row, here in zip(x, present, strict=True)]
    )
    given = np.full(len(x), np.nan) if total is None else np.broadcast_to(np.asarray(total, float), len(x))
    noise = np.where(np.isnan(given), 0, np.maximum(variance - given, 0))[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        per_mean_square = s.weight / s.df
        error = s.residual + per_mean_square * more
        square = 2 * s.residual**2 / s.residual_df + per_mean_square**2 * more_error
        error_df = np.where(square > 0, 2 * error**2 / square, s.residual_df)
    return DimensionShares(
        effects,
        tuple(names),
        np.array([len(set(values[name])) for name in names], dtype=np.int64),
        np.repeat(present.sum(axis=1)[:, None], len(names), axis=1),
        s.sum_of_squares,
        s.df,
        error,
        error_df,
        s.weight,
        s.within,
        s.within_df,
        np.maximum(noise - more, 0) + np.zeros(shape),
        given,
        level,
    )


def estimate_variant_shares(summary: VariantSummary, *, level: float = 0.95) -> DimensionShares:
    """Estimate the shares of the dimensions over the drawn variants of a cube that have a value in each dimension."""
    cube = summary.cube.drawn
    drawn, values = list_drawn_values(cube)
    return estimate_dimension_shares(
        cube.benchmark,
        cube.models,
        summary.moments.scores[:, drawn],
        values,
        total=summary.components.variant,
        questions=estimate_question_variance(summary),
        level=level,
    )


class _Sums(NamedTuple):
    """Sums of squares of M models in one dimension, and their degrees of freedom; see `DimensionShares`."""

    sum_of_squares: FloatArray
    df: FloatArray
    residual: FloatArray
    residual_df: FloatArray
    weight: FloatArray
    within: FloatArray
    within_df: FloatArray


def _make_dummies(values: NDArray[np.object_]) -> FloatArray:
    """Return a column for each of the different values, shape (S, L)."""
    return np.array([values == name for name in sorted(set(values.tolist()))], float).T


def _split_sums(y: FloatArray, own: FloatArray, others: Sequence[FloatArray]) -> _Sums:
    """Return the sums of squares of scores (M, S) for a dimension, given those of the dimensions fitted with it."""
    S, L = own.shape
    mean = np.ones((S, 1))
    basis = _find_basis(np.column_stack([mean, *others]))
    rest = own - basis @ (basis.T @ own)
    new = _find_basis(rest)
    residual = y - (y @ basis) @ basis.T
    ss = np.sum((residual @ new) ** 2, axis=1)
    df, residual_df, within_df = new.shape[1], S - basis.shape[1] - new.shape[1], S - L
    alone = _find_basis(np.column_stack([mean, own]))
    within = np.sum((y - (y @ alone) @ alone.T) ** 2, axis=1) / (within_df or np.nan)
    left = np.maximum(np.sum(residual**2, axis=1) - ss, 0) / (residual_df or np.nan)
    rounding = _ROUNDING**2 * np.sum(y**2, axis=1)
    ss, left, within = (np.where(square > rounding, square, 0 * square) for square in (ss, left, within))  # NaN stays
    weight = float(np.sum(rest * own)) * L / (L - 1) if L > 1 else np.nan
    counts = (np.full(len(y), float(number or np.nan)) for number in (df, residual_df, weight, within_df))
    of_dimension, of_residual, per_variance, of_within = counts
    return _Sums(ss, of_dimension, left, of_residual, per_variance, within, of_within)


def _find_basis(X: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the columns of a matrix (S, ...), shape (S, rank)."""
    left, size, _ = np.linalg.svd(X, full_matrices=False)
    return np.asarray(left[:, size > 1e-9 * max(np.sqrt(len(X)), 1)])


def _solve_noncentrality(df: FloatArray, error_df: FloatArray, statistic: FloatArray, probability: float) -> FloatArray:
    """Return the noncentrality at which F is below the statistic with this probability; 0 where there is none."""
    solvable = np.isfinite(statistic) & (df > 0) & (error_df > 0)
    d1, d2, F = (np.where(solvable, array, 1.0) for array in (df, error_df, statistic))
    some = solvable & (special.fdtr(d1, d2, F) > probability)
    low, high = np.zeros(F.shape), np.where(some, 10.0, 0.0)
    while np.any(more := some & (special.ncfdtr(d1, d2, high, F) > probability)):
        high = np.where(more, 2 * high, high)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        above = special.ncfdtr(d1, d2, middle, F) > probability
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(some, (low + high) / 2, np.where(solvable, 0.0, np.nan))
