"""Variance components of scores, or of differences, of questions under several prompt variants.

Crossed, all questions under the same variants (docs/methods/prompt_variants.md):

    y_qsj = mu + Q_q + S_s + QS_qs + e_qsj       Var(mean) = vQ/N + vS/S + vQS/(N S) + ve/(N S K)

The components are estimated from the cell means by Henderson's method III (fitting constants: Searle, Casella and
McCulloch 1992, ch. 5), which is unbiased with missing cells and equals the mean squares where no cell is missing. With
n cells of N questions and S variants, the additive fit (additive_fit.py) leaves n - rank degrees of freedom, and

    E residual SS   = (n - rank) vQS          + sum (1 - leverage) s2/k
    E R(Q | S)      = (rank - S) vQS + (n - S) vQ + its share of s2/k          R(S | Q) likewise

Each cell contributes its own sampling noise, so that cells may have different numbers of generations. Nested, each
question under variants of its own: one-way analysis of variance of the cell means, where `variant` is the variance
within questions. Components are not cut at 0; standard errors count a negative component as 0.

With clusters of questions, the term vQ/N of the squared error is increased by the covariance within clusters
(scores/clusters.py) of the questions' scores over the variants. The components themselves, and the other terms, are
those of single questions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.errors import UnknownNameError
from howsure.stats.core import intervals
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.claims import PROMPT_CLAIMS, PROMPT_COMPONENTS, PromptClaim, PromptComponent
from howsure.stats.core.cube import Cube, Layout
from howsure.stats.core.intervals import (
    Interval,
    VarianceFactors,
    chi_square_factors,
    difference_limits,
    variance_factors,
)
from howsure.stats.core.results import Result, notes
from howsure.stats.prompts.additive_fit import AdditiveFit, fit_additive
from howsure.stats.scores import ONE_CLUSTER, ClusteredVariance, cluster_excess, cluster_means

__all__ = ["FILLED_CELLS", "PromptComponents", "estimate_components"]

#: End of the note on missing cells.
FILLED_CELLS = "cells are missing and are filled from question + variant"

_CLUSTERED_NOTE = (
    "questions in clusters: the interval of the mean is for new clusters; components, variances over prompts and the "
    "parts of the variants are those of single questions"
)


@dataclass(frozen=True, eq=False)
class PromptComponents(Result):
    """Variance components of M rows, models or differences; arrays have shape (M,) unless stated otherwise.

    Attributes
    ----------
    layout, fit
        Cell means and their noise, and the additive fit to them.
    question, variant, interaction, generation
        vQ, vS, vQS and ve, not cut at 0; NaN where unknown. For nested variants, `interaction` is NaN, because it is a
        part of `variant`.
    residual
        vQS + ve, which is also known from one generation per cell, where vQS and ve are not. For nested variants it
        contains the variance of the variants too.
    mean
        Mean over variants of the score over questions, missing cells filled from the additive fit.
    parts
        The four terms vQ/N, vS/S, vQS/(NS) and ve/(NSK) of the squared error of `mean`, not cut at 0, shape (4, M).
    level
        Default level of `interval` and `limits`.
    clustered
        Means of the clusters of questions; None where the questions are independent.

    Examples
    --------
    >>> scores = [[[[1, 1], [1, 0]], [[0, 1], [0, 0]], [[1, 1], [0, 1]]]]
    >>> cube = Cube.from_scores("demo", ["a"], ["q1", "q2", "q3"], ["v1", "v2"], scores)
    >>> components = estimate_components(cube)
    >>> components.mean.round(3).tolist(), components.variance("these").round(4).tolist()
    ([0.583], [0.0208])
    """

    layout: Layout = field(repr=False)
    fit: AdditiveFit = field(repr=False)
    question: FloatArray
    variant: FloatArray
    interaction: FloatArray
    generation: FloatArray
    residual: FloatArray
    mean: FloatArray
    parts: FloatArray = field(repr=False)
    level: float = 0.95
    clustered: ClusteredVariance | None = field(default=None, repr=False)

    def variance(self, claim: PromptClaim = "new-questions-and-variants") -> FloatArray:
        """Return the squared standard error of `mean` under a claim, shape (M,); NaN where a term of it is unknown.

        Parameters
        ----------
        claim
            One of `PROMPT_CLAIMS`: what the mean estimates.
        """
        if claim not in PROMPT_CLAIMS:
            raise UnknownNameError("claim", claim, PROMPT_CLAIMS, where="variants")
        vQ, vS, vQS, ve = (self.parts[i] for i in range(4))
        if claim == "these":
            return np.asarray(ve)
        # from one generation per cell, the third term holds the sum of the last two and the fourth is NaN
        rest = np.where(np.isnan(ve), vQS, vQS + ve)
        if claim == "new-questions" and not self.layout.nested:
            variance = vQ + rest
        elif claim == "new-variants":
            variance = vS + rest
        else:
            variance = np.maximum(vQ, 0) + np.maximum(vS, 0) + rest
        return np.asarray(np.maximum(variance, 0))

    def interval(self, claim: PromptClaim = "new-questions-and-variants", level: float | None = None) -> Interval:
        """Return the interval of `mean` under a claim.

        Parameters
        ----------
        claim
            One of `PROMPT_CLAIMS`: what the mean estimates.
        level
            Coverage in (0, 1); None: that of the result.

        Notes
        -----
        The method is wilson-effective for scores in [0, 1], else t, with Satterthwaite's degrees of freedom. For new
        questions and variants these are those of the upper 95 % limit of vS, since few variants without a broken one
        show too small a vS: with one variant in ten broken, the means of 5 and 10 variants on 100 questions are covered
        in .939 and .934 of samples (docs/guarantees.md), and in .920 and .932 with the degrees of freedom of vS itself.
        """
        variance = self.variance(claim)
        with np.errstate(divide="ignore", invalid="ignore"):
            if claim == "these":
                df = self.fit.mean_df
            else:
                question_df = self.fit.questions - 1 if self.clustered is None else self.clustered.df
                if claim == "new-questions" or self.layout.nested:
                    df = question_df
                elif claim == "new-variants":
                    df = self.fit.variants - 1
                else:
                    df = self._mean_df(variance, question_df)
        bounds = self.layout.bounds
        return intervals.interval(
            self.mean,
            np.sqrt(variance),
            np.maximum(self.fit.questions, 1) if self.clustered is None else self.clustered.df + 1,
            level=self.level if level is None else level,
            method="wilson-effective" if bounds == (0.0, 1.0) else "t",
            df=np.maximum(df, 1),
            bounds=bounds,
        )

    def _mean_df(self, variance: FloatArray, question_df: FloatArray) -> FloatArray:
        """Return the degrees of freedom of the mean for new questions and variants, with the upper limit of vS."""
        fewest = np.maximum(self.fit.variants - 1, 0)
        of_variants = self.limits("variant", 0.9)[1] / self.fit.variants
        of_questions = np.maximum(variance - np.maximum(self.parts[1], 0), 0)
        share = of_questions**2 / np.maximum(question_df, 0) + of_variants**2 / fewest
        return np.asarray(
            np.where(np.isnan(share), np.minimum(question_df, fewest), (of_questions + of_variants) ** 2 / share)
        )

    def limits(self, component: PromptComponent, level: float | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper limit of a component, cut at 0, each of shape (M,).

        Parameters
        ----------
        component
            One of `PROMPT_COMPONENTS`.
        level
            Coverage in (0, 1); None: that of the result.

        Notes
        -----
        The question component and the crossed variant component are differences of two mean squares: modified large
        samples (Burdick and Graybill 1992, section 3.2), where the interval of the first mean square accounts for the
        kurtosis of the scores. The other components: t, from their variation over questions and over variants.
        """
        level = self.level if level is None else level
        if component not in PROMPT_COMPONENTS:
            raise UnknownNameError("component", component, PROMPT_COMPONENTS, where="variants")
        estimate: FloatArray = getattr(self, component)
        nested = self.layout.nested
        if component == "question" or (component == "variant" and not nested):
            if nested:
                low, high = _nested_terms(self.layout).question_limits(level)
            else:
                low, high = difference_limits(*self._mean_squares(component, estimate, level))
            return np.where(np.isnan(estimate), np.nan, low), np.where(np.isnan(estimate), np.nan, high)
        if component == "generation":
            deviation = np.where(self.layout.answered, self.layout.variance - estimate[:, None, None], 0)
            error, df = _two_way_error(deviation, self.fit.cells, nested=nested)
        elif component == "variant":
            error, df = _nested_terms(self.layout).within_error, self.fit.questions - 1
        else:
            error, df = self._residual_error()
            error = np.where(self._is_residual_one, np.nan, error)
        between = intervals.interval(estimate, np.sqrt(error), df + 1, level=level, df=df)
        return np.maximum(between.low, 0), np.maximum(between.high, 0)

    @property
    def _is_residual_one(self) -> NDArray[np.bool_]:
        """Whether questions and variants leave one degree of freedom, as 2 x 2 cells do, shape (M,)."""
        return np.asarray((self.fit.cells - self.fit.rank == 1) & (not self.layout.nested))

    def _residual_error(self) -> tuple[FloatArray, FloatArray]:
        """Return the variance and df of the estimate of vQS, or of vQS + ve from one generation per cell."""
        residual_df = self.fit.cells - self.fit.rank
        excess = self.fit.excess
        mean = np.where(self.layout.answered, (excess.sum(axis=(1, 2)) / self.fit.cells)[:, None, None], 0)
        error, df = _two_way_error(excess - mean, residual_df, nested=self.layout.nested)
        # The squares of one degree of freedom are equal in all cells and show no spread: theirs is chi-squared's.
        alone = self._is_residual_one
        return np.where(alone, np.fmax(error, 2 * self.fit.residual_ss**2), error), np.where(alone, 1, df)

    def _mean_squares(
        self, component: PromptComponent, estimate: FloatArray, level: float
    ) -> tuple[FloatArray, VarianceFactors, FloatArray, VarianceFactors]:
        """Return the two mean squares whose difference is the component, each with the factors of its interval."""
        f = self.fit
        ss, others, scores = (
            (f.question_ss, f.variants, f.question_score)
            if component == "question"
            else (f.variant_ss, f.questions, f.variant_score)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            first = ss / (f.cells - others)
            second = np.maximum(first - estimate, 0)
            error, _ = self._residual_error()
            # the second mean square is this share of the residual mean square
            share = (f.rank - others) / (f.cells - others)
            second_df = 2 * second**2 / (error * share**2)
        second_factors = chi_square_factors(np.maximum(np.nan_to_num(second_df, nan=1e7), 1), level)
        return first, variance_factors(scores, level), second, second_factors

    declared = (
        "benchmark=layout.benchmark model=layout.names component=_names@1 variance=_variances low=_limits.low "
        "high=_limits.high level note"
    )

    _names = PROMPT_COMPONENTS

    def _variances(self) -> FloatArray:
        """Variances of each model, shape (M, 4)."""
        return np.stack([getattr(self, name) for name in PROMPT_COMPONENTS], axis=1)

    @property
    def _limits(self) -> intervals.Limits:
        """Limits of the variances."""
        low, high = zip(*(self.limits(name) for name in PROMPT_COMPONENTS), strict=True)
        return intervals.Limits(np.stack(low, axis=1), np.stack(high, axis=1), self.level)

    @property
    def note(self) -> NDArray[np.object_]:
        """Reason for a NaN or for caution, shape (M,)."""
        N, S, n = (np.nan_to_num(array) for array in (self.fit.questions, self.fit.variants, self.fit.cells))
        crossed = not self.layout.nested
        has_holes = crossed & (n > 0) & (n < N * S)
        missing, out_of = (_describe_range(counts[has_holes]) for counts in (N * S - n, N * S))
        single = ~self.layout.split & (n > 0)
        cluster_notes: dict[str, NDArray[np.bool_]] = {}
        if self.clustered is not None:
            number = self.clustered.n_clusters
            cluster_notes = {ONE_CLUSTER: (number == 1) & (self.fit.questions > 1), _CLUSTERED_NOTE: number > 1}
        return notes(
            {
                "no scores": n == 0,
                "one variant: the noise of the prompt is unknown": (S == 1) | ((not crossed) & (n == N) & (n > 0)),
                "one question, or scores of whole benchmarks: what is the prompt's and what is the questions' cannot "
                "be separated": N == 1,
                "one generation per cell: interaction and generation are one, "
                f"{'the residual' if crossed else 'together with the variant'}": single & (N > 1) & (S > 1),
                "questions share too few variants: not one crossed design": crossed & (n > 0) & ~self.fit.connected,
                f"{missing} of {out_of} {FILLED_CELLS}": has_holes,
                "variance of the prompt is lost in the noise": self.variant < 0,
                "interaction is lost in the sampling noise": self.interaction < 0,
                "one degree of freedom of the interaction: no interval of it": self._is_residual_one & ~single,
                **cluster_notes,
            }
        )


def estimate_components(data: Cube | Layout, *, level: float = 0.95) -> PromptComponents:
    """Estimate the variance components of each model under several prompt variants.

    Parameters
    ----------
    data
        A cube of M models on N questions under S variants, or a layout of M rows such as `cube.difference(a, b)`. Its
        attribute `nested` decides whether variants are crossed with the questions or nested in them.
    level
        Default level of the intervals, in (0, 1).

    Returns
    -------
    PromptComponents
        Components, the mean over questions and variants, and the terms of its squared standard error.

    Notes
    -----
    Crossed: Henderson's method III on the cell means. Nested: one-way analysis of variance of the cell means. Both are
    unbiased with missing cells and unequal numbers of generations. With N questions, S variants and K generations,

        Var(mean) = vQ/N + vS/S + vQS/(N S) + ve/(N S K)

    References
    ----------
    Searle, S. R., Casella, G. and McCulloch, C. E. (1992), Variance Components, chapter 5. Burdick, R. K. and Graybill,
    F. A. (1992), Confidence Intervals on Variance Components, section 3.2.

    Examples
    --------
    >>> scores = [[[[1, 1], [1, 0]], [[0, 1], [0, 0]], [[1, 1], [0, 1]]]]
    >>> cube = Cube.from_scores("demo", ["a"], ["q1", "q2", "q3"], ["v1", "v2"], scores)
    >>> components = estimate_components(cube)
    >>> {name: getattr(components, name).round(3).tolist() for name in PROMPT_COMPONENTS}
    {'question': [0.083], 'variant': [0.125], 'interaction': [-0.125], 'generation': [0.25]}
    """
    layout = data.layout if isinstance(data, Cube) else data
    components = _independent_components(layout, level)
    if layout.clusters is None:
        return components
    scores = _nested_terms(layout).question_score if layout.nested else components.fit.question_score
    parts = components.parts.copy()
    parts[0] += cluster_excess(scores, layout.clusters) / np.maximum(components.fit.questions, 1)
    return replace(components, parts=parts, clustered=cluster_means(scores, layout.clusters))


def _describe_range(counts: FloatArray) -> str:
    """Return the least and the largest of some counts in words; empty where there is none."""
    return " to ".join(f"{count:,.0f}" for count in np.unique([counts.min(), counts.max()])) if len(counts) else ""


def _independent_components(layout: Layout, level: float) -> PromptComponents:
    """Return the components of questions that are independent of each other."""
    f = fit_additive(layout)
    with np.errstate(divide="ignore", invalid="ignore"):
        generation = np.where(
            layout.split, np.sum(layout.variance, axis=(1, 2), where=layout.answered) / f.cells, np.nan
        )
        if layout.nested:
            return _nested_components(layout, f, generation, level)
        df = np.where(f.cells > f.rank, f.cells - f.rank, np.nan)
        rest = (f.residual_ss - f.residual_noise) / df
        variant = _effect_variance(f.variant_ss - f.variant_noise, f.rank - f.questions, rest, f.cells - f.questions)
        question = _effect_variance(f.question_ss - f.question_noise, f.rank - f.variants, rest, f.cells - f.variants)
        parts = np.stack([question / f.questions, variant / f.variants, rest * f.weight_sq, f.mean_error])
    residual = np.where(layout.split, rest + generation, rest)
    interaction = np.where(layout.split, rest, np.nan)
    mean = _row_mean(f.variant_score)
    return PromptComponents(layout, f, question, variant, interaction, generation, residual, mean, parts, level)


def _nested_components(layout: Layout, f: AdditiveFit, generation: FloatArray, level: float) -> PromptComponents:
    """Return the components of variants that are nested in independent questions."""
    terms = _nested_terms(layout)
    variant = np.where(layout.split, terms.within, np.nan)
    residual = np.where(layout.split, terms.within + generation, terms.within)
    interaction = np.full(len(generation), np.nan)
    parts = np.stack(
        [
            terms.between * terms.question_weight,
            terms.within * terms.variant_weight,
            np.zeros(len(generation)),
            terms.error,
        ]
    )
    return PromptComponents(
        layout, f, terms.between, variant, interaction, generation, residual, terms.mean, parts, level
    )


def _effect_variance(ss: FloatArray, df: FloatArray, rest: FloatArray, coefficient: FloatArray) -> FloatArray:
    """Return the component of an effect, (ss - df vQS) / coefficient; NaN where there are no degrees of freedom."""
    estimable = (df > 0) & (coefficient > 0)
    return np.where(estimable, (ss - df * rest) / np.where(estimable, coefficient, np.nan), np.nan)


def _row_mean(values: FloatArray) -> FloatArray:
    """Return the mean over axis 1 of the values that are not NaN, shape (M,); NaN where there is none."""
    present = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: FloatArray = np.sum(values, axis=1, where=present) / np.sum(present, axis=1)
    return mean


def _two_way_error(deviation: FloatArray, divisor: FloatArray, *, nested: bool) -> tuple[FloatArray, FloatArray]:
    """Return the variance of sum(deviation) / divisor over draws of questions and variants, and its df.

    As in two-way clustered errors, the squares are of sums by question, by variant and of single cells:
    V_q + V_s - V_qs, but at least the larger of the first two.
    """
    by_q, by_s = deviation.sum(axis=2), deviation.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        N, S = (np.sum(np.any(deviation != 0, axis=axis), axis=1).astype(float) for axis in (2, 1))
        v_q = np.sum(by_q**2, axis=1) * N / (N - 1)
        v_s = np.zeros(len(N)) if nested else np.where(S > 1, np.sum(by_s**2, axis=1) * S / (S - 1), 0)
        v = np.maximum(v_q + v_s - np.sum(deviation**2, axis=(1, 2)), np.maximum(v_q, v_s))
        df = v**2 / (v_q**2 / (N - 1) + np.where(v_s > 0, v_s**2 / np.maximum(S - 1, 1), 0))
        error = v / divisor**2
    estimable = (divisor > 0) & (N != 1)  # one question does not show the variation over questions
    return np.where(estimable, error, np.nan), np.maximum(np.nan_to_num(df, nan=1), 1)


class _NestedTerms(NamedTuple):
    """Estimates of M rows with nested variants, shape (M,), and the mean squares that vQ is the difference of."""

    between: FloatArray  # vQ = between_square - within_square
    within: FloatArray  # vS, or vS + ve where the noise of a cell is unknown
    mean: FloatArray  # mean over questions of the mean over variants
    error: FloatArray  # sampling variance of `mean`
    question_weight: FloatArray  # 1/N
    variant_weight: FloatArray  # sum 1/n_q / N^2
    question_score: FloatArray  # (M, N)
    between_square: FloatArray  # mean square between questions, per unit of vQ
    within_square: FloatArray  # contribution to it of the variation within questions
    within_square_df: FloatArray
    within_error: FloatArray  # sampling variance of `within`, from its variation over questions

    def question_limits(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the limits of vQ as the difference of two mean squares."""
        first = variance_factors(self.question_score, level)
        second = chi_square_factors(self.within_square_df, level)
        return difference_limits(self.between_square, first, self.within_square, second)


def _nested_terms(layout: Layout) -> _NestedTerms:
    """Return the one-way analysis of variance of each row of a layout."""
    W = layout.answered.astype(float)
    n_q = W.sum(axis=2)
    n, N = n_q.sum(axis=1), np.sum(n_q > 0, axis=1).astype(float)
    y, e = np.nan_to_num(layout.mean), np.nan_to_num(layout.mean_variance) * W
    per_q = 1 / np.maximum(n_q, 1)
    e_q = e.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        center = (y.sum(axis=(1, 2)) / n)[:, None]
        q_mean = np.where(n_q > 0, y.sum(axis=2) * per_q, np.nan)
        ssb = np.sum(n_q * np.nan_to_num(q_mean - center) ** 2, axis=1)
        within_q = np.sum((y - np.nan_to_num(q_mean)[:, :, None]) ** 2 * W, axis=2)
        noise_w = np.sum(e_q * (1 - per_q), axis=1)
        noise_b = np.sum(e_q * per_q, axis=1) - e.sum(axis=(1, 2)) / n
        within_df = np.where(n > N, n - N, np.nan)
        within = (within_q.sum(axis=1) - noise_w) / within_df
        coefficient = np.where(N > 1, n - np.sum(n_q**2, axis=1) / n, np.nan)
        between_square = ssb / coefficient
        within_square = ((N - 1) * within + noise_b) / coefficient
        mean = np.nansum(q_mean, axis=1) / np.where(N > 0, N, np.nan)
        error = np.sum(e_q * per_q**2, axis=1) / N**2
        # variances of the mean square within questions and of `within`, from the deviations of single questions
        df_q = np.maximum(n_q - 1, 0)
        msw = within_q.sum(axis=1) / within_df
        to_variance = N / (N - 1) / within_df**2
        var_msw = np.sum((within_q - msw[:, None] * df_q) ** 2, axis=1) * to_variance
        noise_q = e_q * (1 - per_q)
        within_error = np.sum((within_q - noise_q - within[:, None] * df_q) ** 2, axis=1) * to_variance
        share = (N - 1) / coefficient
        within_square_df = np.maximum(np.nan_to_num(2 * within_square**2 / (var_msw * share**2), nan=1e7), 1)
        variant_weight = np.sum(np.where(n_q > 0, per_q, 0), axis=1) / N**2
        return _NestedTerms(
            between=between_square - within_square,
            within=within,
            mean=mean,
            error=np.where(layout.split, error, np.nan),
            question_weight=1 / N,
            variant_weight=variant_weight,
            question_score=q_mean,
            between_square=between_square,
            within_square=np.maximum(within_square, 0),
            within_square_df=within_square_df,
            within_error=within_error,
        )
