"""Effect of unparsed answers on the variance over prompts: a parser that fails in some prompts looks like an effect.

An unparsed answer scores 0. Where the unparsed share differs between variants, so does the score, whatever the model
answered. The variance over the drawn variants is therefore estimated twice (components.py): with all answers, and
without the unparsed ones. Unparsed shares are given for all variants, including the default prompt.
The F test of the two-way layout tests whether variants differ at all, for the unparsed shares and for the scores of the
parsed answers, each adjusted by Holm for all models:

    F = MS(variant) / MS(residual)   with rank - N and n - rank degrees of freedom (additive_fit.py)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.cube import Cube
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.results import Conditions, Result
from howsure.stats.prompts.components import PromptComponents, estimate_components
from howsure.stats.prompts.moments import VariantSummary, summarize_variants

__all__ = ["UnparsedByValue", "UnparsedEffect", "estimate_unparsed_effect", "list_drawn_values"]


@dataclass(frozen=True, eq=False)
class UnparsedByValue(Result):
    """Unparsed answers by the values of the dimensions; `shares` has shape (M, V), the others (V,).

    Attributes
    ----------
    models
        Names of the M models.
    dimensions, values
        Dimension and name of each of the V values.
    n_variants
        Number of variants that have the value and answers of some model.
    shares, pooled
        Unparsed share of each model's answers, and of all answers.
    order
        Indices of the values: first those of the dimension that explains most of the variance of the pooled share over
        variants (each dimension by itself, since few draws do not allow a joint fit), the largest share first.
    blamed
        Indices of the value with the largest share in the first dimension, and of values that occur in exactly the same
        variants; empty where no dimension explains significantly more than chance.

    Examples
    --------
    >>> shares = np.array([[0.0, 0.5]])
    >>> values = ("capitals", "greek")
    >>> n_variants = np.array([3, 3])
    >>> by_value = UnparsedByValue(("a",), ("labels",) * 2, values, n_variants, shares, shares[0], (1, 0), ())
    >>> by_value.name(by_value.order[0])
    'labels: greek'
    """

    models: tuple[str, ...]
    dimensions: tuple[str, ...]
    values: tuple[str, ...]
    n_variants: IntArray
    shares: FloatArray = field(repr=False)
    pooled: FloatArray = field(repr=False)
    order: tuple[int, ...] = field(repr=False)
    blamed: tuple[int, ...]

    def name(self, i: int) -> str:
        """Return the dimension and the name of value i."""
        return f"{self.dimensions[i]}: {self.values[i]}"

    declared = "model=models dimension=dimensions@1 value=values@1 n_variants=n_variants@1 unparsed=shares"


@dataclass(frozen=True, eq=False)
class UnparsedEffect(Result):
    """Effect of unparsed answers on the variance over S variants; arrays have shape (M,) unless stated otherwise.

    Attributes
    ----------
    cube
        The results, unparsed answers included with score 0.
    counts
        Unparsed answers of each cell, shape (M, N, S).
    share, score
        Unparsed share of each variant's answers, and its score, shape (M, S); NaN where there is none.
    variance, variance_parsed
        Variance over the drawn variants, of all scores and of those of the parsed answers; not cut at 0.
    p_share, p_parsed
        p-values of "all variants have the same unparsed share" and of "all variants have the same score of parsed
        answers", adjusted by Holm for all models; NaN where the noise is unknown.
    level
        1 - significance level of these tests.

    Examples
    --------
    >>> n = np.full((1, 4, 3), 2)
    >>> right = np.array([[[2, 2, 0], [1, 2, 0], [2, 1, 0], [1, 1, 0]]], float)
    >>> cube = Cube("demo", ("a",), tuple("pqrs"), ("v1", "v2", "v3"), n, right, right)
    >>> effect = estimate_unparsed_effect(cube, np.where(np.arange(3) == 2, 2, 0) * np.ones((1, 4, 1), int))
    >>> effect.share.tolist(), effect.score.round(2).tolist()
    ([[0.0, 0.0, 1.0]], [[0.75, 0.75, 0.0]])
    """

    cube: Cube = field(repr=False)
    counts: IntArray = field(repr=False)
    share: FloatArray = field(repr=False)
    score: FloatArray = field(repr=False)
    variance: FloatArray
    variance_parsed: FloatArray
    p_share: FloatArray
    p_parsed: FloatArray
    level: float = 0.95

    @cached_property
    def varies(self) -> NDArray[np.bool_]:
        """Whether the unparsed share differs significantly between variants."""
        return _is_significant(self.p_share, self.level)

    @cached_property
    def prompt_effect(self) -> NDArray[np.bool_]:
        """Whether the scores of parsed answers differ significantly: an effect of the prompt itself."""
        return _is_significant(self.p_parsed, self.level)

    @cached_property
    def parser_share(self) -> FloatArray:
        """Share of the variance over variants that disappears with the unparsed answers; NaN without variance."""
        positive = self.variance > 0
        remaining = np.maximum(self.variance_parsed, 0) / np.where(positive, self.variance, np.nan)
        return np.asarray(np.clip(1 - remaining, 0, 1))

    @cached_property
    def values(self) -> UnparsedByValue:
        """Unparsed shares by value, of the dimensions that have several values, one of them in several variants."""
        cube, (drawn, values) = self.cube, list_drawn_values(self.cube)
        unparsed, n = (array.sum(axis=1)[:, drawn].astype(float) for array in (self.counts, cube.n))
        varied = {name: each for name, each in values.items() if 1 < len(set(each)) < len(each)}
        labels = [(name, value) for name, each in varied.items() for value in sorted(set(each))]
        has = np.array([[v == value for v in varied[name]] for name, value in labels], bool)
        has = has.reshape(len(labels), len(drawn))
        with np.errstate(divide="ignore", invalid="ignore"):
            by_variant = unparsed.sum(axis=0) / n.sum(axis=0)
            shares, pooled = (unparsed @ has.T) / (n @ has.T), (unparsed.sum(0) @ has.T) / (n.sum(0) @ has.T)
        dimensions = tuple(name for name, _ in labels)
        explained, p_value = {}, {}
        for name in varied:
            groups = has[[dimension == name for dimension in dimensions]]
            explained[name], p_value[name] = _omega_squared(by_variant, groups)
        with_answers = np.flatnonzero(~np.isnan(pooled)).tolist()
        order = sorted(with_answers, key=lambda i: (-explained[dimensions[i]], dimensions[i], -pooled[i]))
        significant = bool(order) and p_value[dimensions[order[0]]] * len(varied) < 1 - self.level
        blamed = [i for i in order if np.array_equal(has[i], has[order[0]])] if significant else []
        names = tuple(value for _, value in labels)
        n_variants = (has & (n.sum(axis=0) > 0)).sum(axis=1)
        return UnparsedByValue(cube.models, dimensions, names, n_variants, shares, pooled, tuple(order), tuple(blamed))

    declared = (
        "benchmark=cube.benchmark model=cube.models dimension=_groups.0@1 value=_groups.1@1 n_variants=_counts.0 "
        "unparsed=_counts.1 score=_scores explained=_explained.0 p_unparsed=_explained.1 p_parsed=_explained.2 level "
        "note=_reasons.notes"
    )

    @cached_property
    def _groups(self) -> tuple[Any, ...]:
        """Dimensions, values and variants of the rows of a model: all drawn prompts, values, single prompts."""
        default = self.cube.default if self.cube.drawn is not self.cube else None
        every = [s for s in range(len(self.cube.variants)) if s != default]
        groups = [("all prompts", "", every)]
        drawn, _ = list_drawn_values(self.cube)
        for i in self.values.order:
            dimension, value = self.values.dimensions[i], self.values.values[i]
            groups.append((dimension, value, [s for s in drawn if self.cube.values[dimension][s] == value]))
        share = np.nan_to_num(self.counts.sum(axis=(0, 1)) / np.maximum(self.cube.n.sum(axis=(0, 1)), 1))
        groups += [("prompt", self.cube.variants[s], [s]) for s in sorted(every, key=lambda s: -share[s])]
        if default is not None:
            groups.append(("default prompt", self.cube.variants[default], [default]))
        return tuple(zip(*groups, strict=True))

    def _counts(self) -> tuple[IntArray, FloatArray]:
        """Return the variants with answers and the unparsed share of each model and group, shape (M, G)."""
        member = np.array([[s in group for group in self._groups[2]] for s in range(len(self.cube.variants))], int)
        n = self.cube.n.sum(axis=1)
        answers = n @ member
        return (n > 0) @ member, (self.counts.sum(axis=1) @ member) / np.where(answers > 0, answers, np.nan)

    def _scores(self) -> FloatArray:
        """Return the mean score of the variants of each model and group, shape (M, G)."""
        each = [self.score[:, group] for group in self._groups[2]]
        scored = np.array([np.sum(~np.isnan(scores), axis=1) for scores in each]).T
        return np.array([np.nansum(scores, axis=1) for scores in each]).T / np.where(scored > 0, scored, np.nan)

    def _explained(self) -> FloatArray:
        """Return `parser_share` and both p-values, which are of all drawn prompts, shape (3, M, G)."""
        values = np.full((3, len(self.cube.models), len(self._groups[0])), np.nan)
        values[..., 0] = self.parser_share, self.p_share, self.p_parsed
        return values

    def _reasons(self) -> Conditions:
        first = np.arange(len(self._groups[0])) == 0
        return {
            "the unparsed share differs between prompts by more than chance": first & self.varies[:, None],
            "the scores of parsed answers differ by more than chance": first & self.prompt_effect[:, None],
        }


#: Smaller sums of squares are rounding errors, relative to the squared scores.
_ROUNDING = 1e-20


def _is_significant(p: FloatArray, level: float) -> NDArray[np.bool_]:
    """Return whether p is below 1 - level; NaN is not."""
    return np.asarray(np.nan_to_num(p, nan=1) < 1 - level)


def _omega_squared(share: FloatArray, has: NDArray[np.bool_]) -> tuple[float, float]:
    """Return omega squared of S shares in groups (V, S) and its p-value; (-inf, 1) where it is unknown."""
    present = ~np.isnan(share)
    x, groups = share[present], has[np.any(has & present, axis=1)][:, present].astype(float)
    between, within = len(groups) - 1, len(x) - len(groups)
    total = float(np.sum((x - x.mean()) ** 2)) if len(x) else 0.0
    if between < 1 or within < 1 or total < _ROUNDING * len(x):
        return -np.inf, 1.0
    means = groups.T @ (groups @ x / groups.sum(axis=1))
    mean_square = float(np.sum((x - means) ** 2)) / within
    omega = (total - mean_square * (within + between)) / (total + mean_square)
    if mean_square <= 0:
        return omega, 0.0
    return omega, float(special.fdtrc(between, within, (total / mean_square - within) / between))


def list_drawn_values(cube: Cube) -> tuple[list[int], dict[str, list[str]]]:
    """Return the indices of the drawn variants that have a value in each dimension, and these values by dimension."""
    each_value = enumerate(zip(*cube.values.values(), strict=True))
    drawn = [s for s, values in each_value if s != cube.default and all(values)]
    if len(drawn) < 2:
        return list(range(len(cube.variants))), {}
    return drawn, {name: [each[s] for s in drawn] for name, each in cube.values.items()}


def estimate_unparsed_effect(
    cube: Cube, counts: IntArray, *, summary: VariantSummary | None = None, level: float = 0.95
) -> UnparsedEffect:
    """Compare the variance over variants with and without the unparsed answers.

    Parameters
    ----------
    cube
        M models on N questions under S variants.
    counts
        Unparsed answers of each cell of the cube, shape (M, N, S); they are included in its `n` and score 0.
    summary
        `summarize_variants(cube)`, to save its computation.
    level
        1 - significance level of the tests, in (0, 1).

    Returns
    -------
    UnparsedEffect

    Raises
    ------
    InputError
        When a cell has more unparsed answers than answers, or the shapes differ.

    Notes
    -----
    F = MS(variant) / MS(residual) of the two-way layout with missing cells, for the unparsed shares and for the scores
    of the parsed answers.

    References
    ----------
    Searle, S. R. (1971), Linear Models, chapter 7 (unbalanced two-way layout). Holm, S. (1979), A simple sequentially
    rejective multiple test procedure, Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> n = np.full((1, 4, 3), 2)
    >>> right = np.array([[[2, 2, 0], [1, 2, 0], [2, 1, 0], [1, 1, 0]]], float)
    >>> cube = Cube("demo", ("a",), tuple("pqrs"), ("v1", "v2", "v3"), n, right, right)
    >>> effect = estimate_unparsed_effect(cube, np.where(np.arange(3) == 2, 2, 0) * np.ones((1, 4, 1), int))
    >>> effect.share.tolist(), effect.parser_share.tolist()
    ([[0.0, 0.0, 1.0]], [1.0])
    """
    if counts.shape != cube.n.shape or np.any(counts > cube.n) or np.any(counts < 0):
        what = f"unparsed answers of shape {counts.shape} do not fit the generations of shape {cube.n.shape}"
        raise InputError(what, where=cube.benchmark, remedy="count them from the same rows")
    summary = summary or summarize_variants(cube, level=level)
    drawn, unparsed = cube.drawn, replace(cube, n=counts).drawn.n
    as_scores = unparsed.astype(float)
    of_unparsed = estimate_components(replace(drawn, total=as_scores, total_sq=as_scores), level=level)
    of_parsed = estimate_components(replace(drawn, n=drawn.n - unparsed), level=level)
    n = cube.n.sum(axis=1)
    return UnparsedEffect(
        cube,
        counts,
        np.divide(counts.sum(axis=1), n, out=np.full(n.shape, np.nan), where=n > 0),
        summary.all_scores,
        summary.components.variant,
        of_parsed.variant,
        holm(_equality_test(of_unparsed)),
        holm(_equality_test(of_parsed)),
        level,
    )


def _equality_test(components: PromptComponents) -> FloatArray:
    """Return the p-value of the F test that all variants have the same mean, shape (M,)."""
    f = components.fit
    with np.errstate(divide="ignore", invalid="ignore"):
        F = np.where(f.variant_ss > 0, f.variant_ss / (f.rank - f.questions) / (f.residual_ss / (f.cells - f.rank)), 0)
        estimable = (f.rank > f.questions) & (f.cells > f.rank)
        return np.where(estimable, special.fdtrc(f.rank - f.questions, f.cells - f.rank, F), np.nan)
