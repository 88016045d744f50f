"""Where the noise of a score, or of a difference, comes from when each question is asked in several prompts.

Crossed, the same variants for every question (statistics.md section 6):

    y_qsj = mu + Q_q + S_s + QS_qs + e_qsj       Var(mean) = vQ/N + vS/S + vQS/(N S) + ve/(N S K)

estimated from the cell means by Henderson's method III (fitting constants: Searle, Casella and McCulloch 1992, ch. 5),
which is unbiased with missing cells and equals the mean squares where there are none. With n cells of N questions and S
variants, n - rank degrees of freedom are left by the additive fit (additive.py), and

    E residual SS   = (n - rank) vQS          + sum (1 - leverage) s2/k
    E R(Q | S)      = (rank - S) vQS + (n - S) vQ + its part of s2/k          R(S | Q) likewise

so each cell brings its own sampling noise, and generations may be as unequal as they like. Nested, variants of its own
for each question: one-way analysis of variance of the cell means, and `variant` is the variance within questions.
Components are not cut at 0 (as in components.py); standard errors count a negative one as 0.

With clusters of questions, the part vQ/N of the squared error gets what clusters add to it (clusters.py), from the
scores of the questions over the variants. The components, and the part of the variants, are those of single questions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.errors import UnknownNameError
from howsure.stats.core import intervals
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.cube import Cube, Layout
from howsure.stats.core.intervals import Interval
from howsure.stats.core.results import Columns, Result, notes
from howsure.stats.core.variance_intervals import Factors, chi_square_factors, difference_limits, variance_factors
from howsure.stats.prompts.additive_fit import AdditiveFit, fit_additive
from howsure.stats.scores import ONE_CLUSTER, Clustered, cluster_excess, cluster_means

__all__ = ["COMPONENTS", "PROMPT_CLAIMS", "PromptComponents", "_NestedTerms", "_nested_terms", "estimate_components"]

COMPONENTS = ("question", "variant", "interaction", "generation")

IN_CLUSTERS = (
    "questions in clusters: the interval of the mean is for new clusters; components, variances over prompts and the "
    "parts of the variants are those of single questions"
)

#: What a mean over questions and variants can be said to estimate.
PROMPT_CLAIMS = {
    "these": "the mean on these questions in these variants, sampled again",
    "new-questions": "the mean on new questions, in these variants",
    "new-variants": "the mean in new variants of the space, on these questions",
    "new-questions-and-variants": "the mean on new questions in new variants",
}


@dataclass(frozen=True, eq=False)
class PromptComponents(Result):
    """Components of M rows, models or differences; arrays have shape (M,) unless told.

    Attributes
    ----------
    question, variant, interaction, generation
        vQ, vS, vQS and ve, not cut at 0; NaN where unknown. Nested, `interaction` is NaN: it is part of `variant`.
    residual
        vQS + ve: what one generation adds in a cell; known from one generation per cell too, where the two are not.
        Nested, the variant's variance is in it as well.
    mean
        Mean over variants of the score over questions, missing cells filled from the additive fit.
    parts
        vQ/N, vS/S, vQS/(NS) and ve/(NSK) as they are in the squared error of `mean`, not cut, shape (4, M).
    clustered
        Of the scores of the questions, where questions come in clusters.
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
    clustered: Clustered | None = field(default=None, repr=False)

    def variance(self, claim: str = "new-questions-and-variants") -> FloatArray:
        """Squared standard error of `mean` under one of `CLAIMS`; NaN where a part of it is unknown."""
        if claim not in PROMPT_CLAIMS:
            raise UnknownNameError("claim", claim, PROMPT_CLAIMS, where="variants")
        vQ, vS, vQS, ve = (self.parts[i] for i in range(4))
        if claim == "these":
            sampled: FloatArray = ve
            return sampled
        # where the last two are one, their sum stands in the third
        rest = np.where(np.isnan(ve), vQS, vQS + ve)
        if claim == "new-questions" and not self.layout.nested:
            variance = vQ + rest
        elif claim == "new-variants":
            variance = vS + rest
        else:
            variance = np.maximum(vQ, 0) + np.maximum(vS, 0) + rest
        positive: FloatArray = np.maximum(variance, 0)
        return positive

    def interval(self, claim: str = "new-questions-and-variants", level: float | None = None) -> Interval:
        """Interval of `mean`: Satterthwaite's degrees of freedom; wilson-effective for scores in [0, 1], else t."""
        variance = self.variance(claim)
        with np.errstate(divide="ignore", invalid="ignore"):
            if claim == "these":
                freedom = self.fit.weight_freedom
            else:
                of_questions = self.fit.questions - 1 if self.clustered is None else self.clustered.df
                of_q = (variance - np.maximum(self.parts[1], 0)) ** 2 / np.maximum(of_questions, 0)
                of_s = (variance - np.maximum(self.parts[0], 0)) ** 2 / np.maximum(self.fit.variants - 1, 0)
                if claim == "new-questions" or self.layout.nested:
                    freedom = of_questions
                elif claim == "new-variants":
                    freedom = self.fit.variants - 1
                else:
                    freedom = variance**2 / (of_q + of_s)
        bounds = self.layout.bounds
        return intervals.interval(
            self.mean,
            np.sqrt(variance),
            np.maximum(self.fit.questions, 1) if self.clustered is None else self.clustered.df + 1,
            level=self.level if level is None else level,
            method="wilson-effective" if bounds == (0.0, 1.0) else "t",
            df=np.maximum(freedom, 1),
            bounds=bounds,
        )

    def limits(self, component: str, level: float | None = None) -> tuple[FloatArray, FloatArray]:
        """Interval of a component, cut at 0.

        Question and variant: the difference of two mean squares by modified large samples, of which the first heeds
        the kurtosis of the scores. Interaction, generation, and a nested variant: t, from how they vary over questions
        and over variants.
        """
        level = self.level if level is None else level
        if component not in COMPONENTS:
            raise UnknownNameError("component", component, COMPONENTS, where="variants")
        of_cells = {"interaction", "generation", "variant"} if self.layout.nested else {"interaction", "generation"}
        if component not in of_cells:
            return self._of_effect(component, level)
        estimate: FloatArray = getattr(self, component)
        if component == "generation":
            off = np.where(self.layout.answered, self.layout.spread - estimate[:, None, None], 0)
            error, freedom = _two_way_error(off, self.fit.cells, self.layout.nested)
        elif component == "variant":
            error, freedom = _nested_terms(self.layout).within_error, self.fit.questions - 1
        else:
            error, freedom = self._residual_error()
        between = intervals.interval(estimate, np.sqrt(error), freedom + 1, level=level, df=freedom)
        return np.maximum(between.low, 0), np.maximum(between.high, 0)

    def _residual_error(self) -> tuple[FloatArray, FloatArray]:
        """Variance of the estimate of vQS, or of vQS + ve where they are one; and its degrees of freedom."""
        left = self.fit.cells - self.fit.rank
        cluster_excess = self.fit.excess
        share = np.where(self.layout.answered, (cluster_excess.sum(axis=(1, 2)) / self.fit.cells)[:, None, None], 0)
        return _two_way_error(cluster_excess - share, left, self.layout.nested)

    def _of_effect(self, component: str, level: float) -> tuple[FloatArray, FloatArray]:
        if self.layout.nested:
            low, high = _nested_terms(self.layout).question_limits(level)
        else:
            low, high = difference_limits(*self._mean_squares(component, level))
        unknown = np.isnan(getattr(self, component))
        return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)

    def _mean_squares(self, component: str, level: float) -> tuple[FloatArray, Factors, FloatArray, Factors]:
        f, estimate = self.fit, getattr(self, component)
        ss, others, scores = (
            (f.question_ss, f.variants, f.question_score)
            if component == "question"
            else (f.variant_ss, f.questions, f.variant_score)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            first = ss / (f.cells - others)
            second = np.maximum(first - estimate, 0)
            error, _ = self._residual_error()
            df_of = f.rank - others
            # its share of the residual mean square
            second_freedom = 2 * second**2 / (error * (df_of / (f.cells - others)) ** 2)
        of_second = chi_square_factors(np.maximum(np.nan_to_num(second_freedom, nan=1e7), 1), level)
        return first, variance_factors(scores, level), second, of_second

    def columns(self) -> Columns:
        """A row per model and component."""
        each = [(getattr(self, name), *self.limits(name)) for name in COMPONENTS]
        value, low, high = (np.stack(column, axis=1).ravel() for column in zip(*each, strict=True))
        M = len(self.layout.names)
        return {
            "benchmark": np.full(4 * M, self.layout.benchmark, dtype=object),
            "model": np.repeat(np.array(self.layout.names, dtype=object), 4),
            "component": np.tile(np.array(COMPONENTS, dtype=object), M),
            "variance": value,
            "low": low,
            "high": high,
            "level": np.full(4 * M, self.level),
            "note": np.repeat(self.note, 4),
        }

    @property
    def note(self) -> NDArray[np.object_]:
        """Why something is NaN or to be read with care, shape (M,)."""
        N, S, n = (np.nan_to_num(array) for array in (self.fit.questions, self.fit.variants, self.fit.cells))
        whole = len(self.layout.mean[0]) * len(self.layout.mean[0, 0]) if len(self.layout.mean) else 0
        crossed_ = not self.layout.nested
        few = ~self.layout.split & (n > 0)
        return notes(
            {
                "no scores": n == 0,
                "one variant: the noise of the prompt is unknown": (S == 1) | ((not crossed_) & (n == N) & (n > 0)),
                "one question: what is the prompt's and what is the question's cannot be told apart": N == 1,
                "one generation per cell: interaction and generation are one, "
                f"{'the residual' if crossed_ else 'together with the variant'}": few & (N > 1) & (S > 1),
                "questions share too few variants: not one crossed design": crossed_ & (n > 0) & ~self.fit.connected,
                f"missing cells of {whole} are filled from question + variant": crossed_ & (n > 0) & (n < N * S),
                "variance of the prompt is lost in the noise": self.variant < 0,
                "interaction is lost in the sampling noise": self.interaction < 0,
                **self._of_clusters(),
            }
        )

    def _of_clusters(self) -> dict[str, NDArray[np.bool_]]:
        """Notes on clusters, each with where it holds, shape (M,)."""
        if self.clustered is None:
            return {}
        number = self.clustered.n_clusters
        return {ONE_CLUSTER: (number == 1) & (self.fit.questions > 1), IN_CLUSTERS: number > 1}


def estimate_components(data: Cube | Layout, *, level: float = 0.95) -> PromptComponents:
    """Components of each model of a cube, or of each row of a layout such as `cube.difference(a, b)`.

    The layout says whether variants are crossed with the questions or nested in them.
    """
    layout = data.layout if isinstance(data, Cube) else data
    found = _components(layout, level)
    if layout.clusters is None:
        return found
    scores = _nested_terms(layout).question_score if layout.nested else found.fit.question_score
    parts = found.parts.copy()
    parts[0] += cluster_excess(scores, layout.clusters) / np.maximum(found.fit.questions, 1)
    return replace(found, parts=parts, clustered=cluster_means(scores, layout.clusters))


def _components(layout: Layout, level: float) -> PromptComponents:
    """Components of questions that are independent of each other."""
    f = fit_additive(layout)
    with np.errstate(divide="ignore", invalid="ignore"):
        generation = np.where(layout.split, np.sum(layout.spread, axis=(1, 2), where=layout.answered) / f.cells, np.nan)
        if layout.nested:
            return _nested(layout, f, generation, level)
        left = np.where(f.cells > f.rank, f.cells - f.rank, np.nan)
        rest = (f.residual_ss - f.residual_noise) / left
        variant = _effect(f.variant_ss - f.variant_noise, f.rank - f.questions, rest, f.cells - f.questions)
        question = _effect(f.question_ss - f.question_noise, f.rank - f.variants, rest, f.cells - f.variants)
        parts = np.stack([question / f.questions, variant / f.variants, rest * f.weight_sq, f.weight_error])
    residual = np.where(layout.split, rest + generation, rest)
    interaction = np.where(layout.split, rest, np.nan)
    mean = _row_mean(f.variant_score)
    return PromptComponents(layout, f, question, variant, interaction, generation, residual, mean, parts, level)


def _nested(layout: Layout, f: AdditiveFit, generation: FloatArray, level: float) -> PromptComponents:
    terms = _nested_terms(layout)
    variant = np.where(layout.split, terms.within, np.nan)
    residual = np.where(layout.split, terms.within + generation, terms.within)
    nothing = np.full(len(generation), np.nan)
    parts = np.stack(
        [terms.between * terms.question_weight, terms.within * terms.variant_weight, 0 * generation, terms.error]
    )
    parts[2] = 0
    return PromptComponents(layout, f, terms.between, variant, nothing, generation, residual, terms.mean, parts, level)


def _effect(ss: FloatArray, freedom: FloatArray, rest: FloatArray, coefficient: FloatArray) -> FloatArray:
    known = (freedom > 0) & (coefficient > 0)
    return np.where(known, (ss - freedom * rest) / np.where(known, coefficient, np.nan), np.nan)


def _row_mean(values: FloatArray) -> FloatArray:
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: FloatArray = np.sum(values, axis=1, where=there) / np.sum(there, axis=1)
    return mean


def _two_way_error(off: FloatArray, divisor: FloatArray, nested: bool) -> tuple[FloatArray, FloatArray]:
    """Variance of sum(off) / divisor where both questions and variants were drawn, and its degrees of freedom.

    Deviations are added up by question, by variant and not at all, as in two-way clustered errors: V_q + V_s - V_qs,
    but at least the larger of the first two.
    """
    by_q, by_s = off.sum(axis=2), off.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        N, S = (np.sum(np.any(off != 0, axis=axis), axis=1).astype(float) for axis in (2, 1))
        v_q = np.sum(by_q**2, axis=1) * N / (N - 1)
        v_s = np.zeros(len(N)) if nested else np.where(S > 1, np.sum(by_s**2, axis=1) * S / (S - 1), 0)
        v = np.maximum(v_q + v_s - np.sum(off**2, axis=(1, 2)), np.maximum(v_q, v_s))
        freedom = v**2 / (v_q**2 / (N - 1) + np.where(v_s > 0, v_s**2 / np.maximum(S - 1, 1), 0))
        error = v / divisor**2
    known = (divisor > 0) & (N != 1)  # one question says nothing of how others would differ from it
    return np.where(known, error, np.nan), np.maximum(np.nan_to_num(freedom, nan=1), 1)


class _NestedTerms(NamedTuple):
    """Estimates of M rows, shape (M,), and the mean squares they are differences of, per unit of the component."""

    between: FloatArray  # vQ
    within: FloatArray  # vS, or vS + ve where the noise of a cell is unknown
    mean: FloatArray  # over questions of the mean over variants
    error: FloatArray  # sampling variance of `mean`
    question_weight: FloatArray  # 1/N
    variant_weight: FloatArray  # sum 1/n_q / N^2
    question_score: FloatArray  # (M, N)
    between_square: FloatArray  # mean square of which vQ is what is left when `taken` is taken off
    taken: FloatArray
    taken_freedom: FloatArray
    within_error: FloatArray  # sampling variance of `within`, from how it varies over questions

    def question_limits(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Interval of vQ: the difference of two mean squares, of which the first heeds the kurtosis of the scores."""
        of_first = variance_factors(self.question_score, level)
        of_second = chi_square_factors(self.taken_freedom, level)
        return difference_limits(self.between_square, of_first, self.taken, of_second)


def _nested_terms(layout: Layout) -> _NestedTerms:
    """One-way analysis of each row of a layout."""
    W = layout.answered.astype(float)
    n_q = W.sum(axis=2)
    n, N = n_q.sum(axis=1), np.sum(n_q > 0, axis=1).astype(float)
    y, e = np.nan_to_num(layout.mean), np.nan_to_num(layout.error) * W
    per_q = 1 / np.maximum(n_q, 1)
    e_q = e.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        center = (y.sum(axis=(1, 2)) / n)[:, None]
        q_mean = np.where(n_q > 0, y.sum(axis=2) * per_q, np.nan)
        off = np.nan_to_num(q_mean - center)
        ssb = np.sum(n_q * off**2, axis=1)
        within_q = np.sum((y - np.nan_to_num(q_mean)[:, :, None]) ** 2 * W, axis=2)
        noise_w = np.sum(e_q * (1 - per_q), axis=1)
        noise_b = np.sum(e_q * per_q, axis=1) - e.sum(axis=(1, 2)) / n
        left = np.where(n > N, n - N, np.nan)
        within = (within_q.sum(axis=1) - noise_w) / left
        coefficient = np.where(N > 1, n - np.sum(n_q**2, axis=1) / n, np.nan)
        taken = ((N - 1) * within + noise_b) / coefficient
        mean = np.nansum(q_mean, axis=1) / np.where(N > 0, N, np.nan)
        error = np.sum(e_q * per_q**2, axis=1) / N**2
        # the part of each question, less what is expected of it; of the mean square, and of what is left without noise
        spare = np.maximum(n_q - 1, 0)
        msw = within_q.sum(axis=1) / left
        to_variance = N / (N - 1) / left**2
        var_msw = np.sum((within_q - msw[:, None] * spare) ** 2, axis=1) * to_variance
        noise_q = e_q * (1 - per_q)
        within_error = np.sum((within_q - noise_q - within[:, None] * spare) ** 2, axis=1) * to_variance
        first = ssb / coefficient
        share = (N - 1) / coefficient
        taken_freedom = np.maximum(np.nan_to_num(2 * taken**2 / (var_msw * share**2), nan=1e7), 1)
        variant_weight = np.sum(np.where(n_q > 0, per_q, 0), axis=1) / N**2
        return _NestedTerms(
            first - taken,
            within,
            mean,
            np.where(layout.split, error, np.nan),
            1 / N,
            variant_weight,
            q_mean,
            first,
            np.maximum(taken, 0),
            taken_freedom,
            within_error,
        )
