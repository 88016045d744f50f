"""Main effects of the values of each dimension on the score: least squares of variant scores on dummy variables.

The effect of a value is its difference from the mean over the values of its dimension. The residuals (interactions of
dimensions, and the noise of questions and generations) give the error. A value may also suit some questions and not
others, which variants with the same value share: the variance of the effects over questions, estimated from the cells
of single questions, divided by the number of questions, is added to the error.

All dimensions are fitted jointly where the residual degrees of freedom are at least the number of coefficients: with
random draws, the joint fit multiplies the variance by about (n - 1)/(residual df), which is then at most about 2. With
fewer draws, each dimension is fitted separately. Points of a space are drawn uniformly and independently in each
dimension, so that the mean over the variants with a value is unbiased for its main effect, and the effects of the other
dimensions are noise in the variance within values. How much of the variance a dimension explains: dimension_shares.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.intervals import Interval, interval
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.results import Conditions, Result
from howsure.stats.prompts.moments import VariantSummary
from howsure.stats.prompts.unparsed import list_drawn_values

__all__ = [
    "MIN_VARIANTS",
    "Effects",
    "QuestionVariance",
    "estimate_effects",
    "estimate_question_variance",
    "estimate_variant_effects",
]

#: The effect of a value that was drawn fewer times than this gets a note.
MIN_VARIANTS = 3


class QuestionVariance(NamedTuple):
    """Variance over questions of the effects of D dimensions on single questions, of M models; shape (M, D).

    `variance` is the mean over the values of the variance of a value's effect over questions, not cut at 0, and `error`
    its squared standard error, both divided by the number of questions; NaN where they are unknown.
    """

    variance: FloatArray
    error: FloatArray


@dataclass(frozen=True, eq=False)
class Effects(Result):
    """Effects of V values, in all dimensions, on M models; arrays have shape (M, V) unless stated otherwise.

    Attributes
    ----------
    dimensions, values
        Dimension and name of each value, length V.
    n_variants
        Number of variants that have the value and a score.
    effect, variance
        Effect and its squared standard error; NaN where the effect is confounded with others.
    df
        Degrees of freedom of the variance.
    separate
        Whether each dimension was fitted separately, shape (M,).
    left_out
        Dimensions without an effect, with the reason.
    level
        Default level of the intervals.

    Examples
    --------
    >>> values = {"style": ["plain", "plain", "terse", "terse"]}
    >>> effects = estimate_effects("demo", ["a"], [[0.5, 0.52, 0.7, 0.72]], values)
    >>> effects.values, effects.interval().p_value.round(3).tolist()
    (('plain', 'terse'), [[0.005, 0.005]])
    """

    benchmark: str
    models: tuple[str, ...]
    dimensions: tuple[str, ...]
    values: tuple[str, ...]
    n_variants: IntArray
    effect: FloatArray
    variance: FloatArray
    df: FloatArray
    separate: NDArray[np.bool_]
    left_out: Mapping[str, str] = field(default_factory=dict)
    level: float = 0.95

    def interval(self, level: float | None = None) -> Interval:
        """Return Student's t interval of each effect at a level in (0, 1); None: that of the result."""
        level = self.level if level is None else level
        return interval(self.effect, np.sqrt(self.variance), self.df + 1, level=level, df=self.df)

    declared = (
        "benchmark model=models dimension=dimensions@1 value=values@1 n_variants effect se=variance.sqrt "
        "low=interval.low high=interval.high p_value=interval.p_value p_holm=_p_holm level note=_reasons.notes"
    )

    def _p_holm(self) -> FloatArray:
        """P-values adjusted for all values of a model."""
        return np.array([holm(row) for row in self.interval().p_value])

    def _reasons(self) -> Conditions:
        unknown = np.isnan(self.effect)
        return {
            f"drawn fewer than {MIN_VARIANTS} times": (self.n_variants < MIN_VARIANTS) & (self.n_variants > 0),
            "cannot be separated from other values: draw more variants": unknown,
            "dimension fitted by itself: the others are noise": self.separate[:, None] & ~unknown,
            **{f"{name} left out: {why}": np.array(True) for name, why in self.left_out.items()},
        }


def estimate_effects(
    benchmark: str,
    models: Sequence[str],
    scores: ArrayLike,
    values: Mapping[str, Sequence[str]],
    *,
    questions: QuestionVariance | None = None,
    level: float = 0.95,
) -> Effects:
    """Estimate the main effects of the values of each dimension on each model.

    Parameters
    ----------
    benchmark, models
        Name of the benchmark, and M names.
    scores
        Score of each model under each of S variants, shape (M, S), such as `summarize_variants(cube).moments.scores`;
        NaN where missing.
    values
        For each dimension, the value of each variant. A dimension with one value, or with more than S / 2 values (such
        as a shuffle for each variant), has no effects; `Effects.left_out` holds the reason.
    questions
        Variance over questions of the effects, for the dimensions in the order of `values`; None: the effects are those
        on the questions at hand.
    level
        Level of the intervals, in (0, 1).

    Returns
    -------
    Effects

    Raises
    ------
    InputError
        Where the shapes do not fit.

    Notes
    -----
    Least squares of the scores on dummy variables of all values; the effect of a value is its coefficient minus the
    mean of the coefficients of its dimension.

    References
    ----------
    Searle, S. R. (1971), Linear Models, chapter 5 (estimable functions).

    Examples
    --------
    >>> values = {"style": ["plain", "plain", "terse", "terse"], "order": ["ab", "ba", "ab", "ba"]}
    >>> effects = estimate_effects("demo", ["a"], [[0.5, 0.6, 0.7, 0.8]], values)
    >>> dict(zip(effects.values, effects.effect[0].round(3).tolist()))
    {'plain': -0.1, 'terse': 0.1, 'ab': -0.05, 'ba': 0.05}
    """
    x = np.atleast_2d(np.asarray(scores, float))
    M, S = x.shape
    if len(models) != M or any(len(each) != S for each in values.values()):
        what = f"scores have shape {x.shape} for {len(models)} models"
        raise InputError(what, where="effects", remedy="give a value of each dimension for each variant")
    fitted, left_out = {}, {}
    for dimension, each in values.items():
        names = sorted(set(each))
        if len(names) < 2:
            left_out[dimension] = "it has one value"
        elif 2 * len(names) > S:
            left_out[dimension] = f"{len(names)} values in {S} variants"
        else:
            fitted[dimension] = names
    labels = [(dimension, name) for dimension, names in fitted.items() for name in names]
    dimension_of = np.array([dimension for dimension, _ in labels], dtype=object)
    columns = {dimension: np.flatnonzero(dimension_of == dimension) for dimension in fitted}
    X = np.array([[float(v == name) for v in values[dimension]] for dimension, name in labels]).reshape(-1, S).T
    contrasts = _contrasts([len(names) for names in fitted.values()])
    shape = (M, len(labels))
    effect, variance, df = (np.full(shape, np.nan) for _ in range(3))
    n_variants, separate = np.zeros(shape, dtype=np.int64), np.zeros(M, dtype=bool)
    for m in range(M):
        rows = ~np.isnan(x[m])
        if not labels or rows.sum() < 2:
            continue
        y, dummies = x[m, rows], X[rows]
        n_variants[m] = dummies.sum(axis=0)
        effect[m], variance[m], residual_df = _least_squares(dummies, y, contrasts)
        df[m] = residual_df or np.nan
        too_few = residual_df < len(labels) - len(fitted)
        separate[m] = len(fitted) > 1 and (bool(np.any(np.isnan(effect[m]))) or too_few)
        for dimension, at in columns.items() if separate[m] else ():
            one, error, residual_df = _least_squares(dummies[:, at], y, contrasts[np.ix_(at, at)])
            others = (dummies[:, columns[other]] for other in fitted if other != dimension)
            confounded = any(_determines(other, dummies[:, at]) for other in others)
            effect[m, at], variance[m, at] = (np.nan, np.nan) if confounded else (one, error)
            df[m, at] = residual_df or np.nan
    if questions is not None:
        of_value = [list(values).index(dimension) for dimension in dimension_of]
        more, error = questions.variance[:, of_value], questions.error[:, of_value]
        variance, df = _add_question_variance(variance, df, more, error)
    return Effects(
        benchmark,
        tuple(models),
        tuple(dimension_of.tolist()),
        tuple(name for _, name in labels),
        n_variants,
        effect,
        variance,
        df,
        separate,
        left_out,
        level,
    )


def estimate_variant_effects(summary: VariantSummary, *, level: float = 0.95) -> Effects:
    """Estimate the effects on new questions, from the drawn variants of a cube that have a value in each dimension."""
    cube = summary.cube.drawn
    drawn, values = list_drawn_values(cube)
    scores = summary.moments.scores[:, drawn]
    questions = estimate_question_variance(summary)
    return estimate_effects(cube.benchmark, cube.models, scores, values, questions=questions, level=level)


def estimate_question_variance(summary: VariantSummary) -> QuestionVariance:
    """Estimate how much the effects of each dimension differ between questions.

    Parameters
    ----------
    summary
        M models on N questions under variants that have a value in each of D dimensions; others are left out.

    Returns
    -------
    QuestionVariance
        NaN where there is one question, or where variants are nested in questions.

    Notes
    -----
    With r the residuals of question + variant, the products of two residuals of one question have a larger mean where
    both variants have the same of L values. With n_l of S variants with value l, the expected difference of the two
    means is L/(L - 1) c (N - 1)/N times the variance, where c accounts for the means that the residuals do without:

        c = sum n_l (n_l - 1)(1 - 2 n_l/S) / sum n_l (n_l - 1) + 2/S sum n_l^2 (S - n_l) / (S^2 - sum n_l^2)

    Examples
    --------
    >>> from howsure.stats.core.cube import Cube
    >>> from howsure.stats.prompts.moments import summarize_variants
    >>> scores = [[[[1], [1], [0], [0]], [[0], [0], [1], [1]], [[1], [1], [0], [0]], [[0], [0], [1], [1]]]]
    >>> cube = Cube.from_scores("b", ["a"], list("pqrs"), list("1234"), scores, values={"style": ("x", "x", "y", "y")})
    >>> estimate_question_variance(summarize_variants(cube)).variance.round(4).tolist()
    [[0.0833]]
    """
    cube = summary.cube.drawn
    drawn, values = list_drawn_values(cube)
    variance, error = (np.full((len(cube.models), len(values)), np.nan) for _ in range(2))
    fit, layout, mean = summary.components.fit, cube.layout, summary.components.mean
    if cube.nested or len(cube.questions) < 2:
        return QuestionVariance(variance, error)
    dummies = [np.array([[v == name for name in sorted(set(each))] for v in each], float) for each in values.values()]
    for m in range(len(cube.models)):
        answered = layout.answered[m][:, drawn]
        additive = fit.question_score[m][:, None] + fit.variant_score[m][drawn][None, :] - mean[m]
        residual = np.where(answered, layout.mean[m][:, drawn] - additive, 0)
        for d, X in enumerate(dummies):
            variance[m, d], error[m, d] = _compare_products(residual, answered.astype(float), X)
    return QuestionVariance(variance, error)


def _compare_products(residual: FloatArray, answered: FloatArray, X: FloatArray) -> tuple[float, float]:
    """Return variance and squared error, as `QuestionVariance` has them, of residuals (N, S) and dummies (S, L)."""
    L, N = X.shape[1], int(np.sum(answered.any(axis=1)))
    squares, counts = np.sum(residual**2, axis=1), answered.sum(axis=1)
    same = np.sum((residual @ X) ** 2, axis=1) - squares
    n_same = np.sum((answered @ X) ** 2, axis=1) - counts
    other = np.sum(residual, axis=1) ** 2 - squares - same
    n_other = counts**2 - counts - n_same
    if L < 2 or N < 2 or n_same.sum() == 0 or n_other.sum() == 0:
        return np.nan, np.nan
    mean_same, mean_other = same.sum() / n_same.sum(), other.sum() / n_other.sum()
    each = (same - mean_same * n_same) / n_same.sum() - (other - mean_other * n_other) / n_other.sum()
    n, S = X[answered.any(axis=0)].sum(axis=0), float(np.sum(answered.any(axis=0)))
    of_same = np.sum(n * (n - 1) * (1 - 2 * n / S)) / np.sum(n * (n - 1))
    of_other = 2 / S * np.sum(n**2 * (S - n)) / (S**2 - np.sum(n**2))
    scale = (L - 1) / L / (N - 1) / (of_same + of_other)
    return float(scale * (mean_same - mean_other)), float(scale**2 * np.sum(each**2) * N / (N - 1))


def _add_question_variance(
    variance: FloatArray, df: FloatArray, more: FloatArray, error: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the variance of each effect with that of the questions, and its df (Satterthwaite)."""
    positive = more > 0
    total = variance + np.where(positive, more, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        square = 2 * variance**2 / df + np.where(positive, error, 0)
        return total, np.where(positive & (square > 0), 2 * total**2 / square, df)


def _determines(one: FloatArray, other: FloatArray) -> bool:
    """Return whether the value in one dimension, dummies (S, values), determines the value in the other."""
    return bool(np.all(np.count_nonzero(one.T @ other, axis=1) < 2))


def _contrasts(sizes: list[int]) -> FloatArray:
    """Return the block-diagonal matrix that subtracts from each value the mean over its dimension."""
    C, start = np.zeros((sum(sizes), sum(sizes))), 0
    for size in sizes:
        C[start : start + size, start : start + size] = np.eye(size) - 1 / size
        start += size
    return C


def _least_squares(X: FloatArray, y: FloatArray, C: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    """Return the contrasts C of the coefficients of [1, X], their variances, and the residual degrees of freedom."""
    full = np.column_stack([np.ones(len(y)), X])
    inverse = np.linalg.pinv(full.T @ full, hermitian=True, rcond=1e-10)
    contrasts = np.column_stack([np.zeros(len(C)), C])
    coefficients = inverse @ full.T @ y
    df = len(y) - int(np.linalg.matrix_rank(full))
    # a contrast is estimable where it is a linear combination of the rows of the design
    projected = contrasts @ inverse @ (full.T @ full)
    estimable = np.all(np.abs(projected - contrasts) < 1e-6, axis=1)
    residual = y - full @ coefficients
    sigma2 = residual @ residual / df if df > 0 else np.nan
    variance = np.einsum("ij,jk,ik->i", contrasts, inverse, contrasts) * sigma2
    return (
        np.where(estimable, contrasts @ coefficients, np.nan),
        np.where(estimable, variance, np.nan),
        df,
    )
