"""Answers that could not be read, beside the spread over prompts: a parser that fails in some prompts looks like one.

An unread answer scores 0. Where its share differs between variants, so does the score, whatever the model answered.
The variance over the variants that were drawn is therefore estimated twice (crossed.py): with all scores, and with the
unread left out. Shares are of all variants, the default prompt too.
Whether variants differ at all is the F test of the two-way layout, of the unread shares and of the scores that were
read, each adjusted by Holm for all models:

    F = MS(variant) / MS(residual)   with rank - N and n - rank degrees of freedom (additive.py)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.cube import Cube
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.results import Columns
from howsure.stats.prompts.components import PromptComponents, estimate_components
from howsure.stats.prompts.moments import VariantSummary, summarize_variants

__all__ = ["UnparsedByValue", "UnparsedEffect", "estimate_unparsed_effect", "list_drawn_values"]


@dataclass(frozen=True, eq=False)
class UnparsedByValue:
    """Unread answers by the values of the dimensions; `shares` has shape (M, V), others (V,).

    Attributes
    ----------
    shares, pooled
        Share unread of each model's answers, and of all.
    order
        Values by dimension, from the one that explains most of how the pooled share varies over variants (`_explained`;
        with few draws other dimensions cannot be fitted beside), and in it from the largest share.
    blamed
        The value with the largest share on the first of these dimensions, and any that was drawn with it each time and
        never without; empty where no dimension explains more than chance would.
    """

    models: tuple[str, ...]
    dimensions: tuple[str, ...]
    values: tuple[str, ...]
    times: IntArray
    shares: FloatArray = field(repr=False)
    pooled: FloatArray = field(repr=False)
    order: tuple[int, ...] = field(repr=False)
    blamed: tuple[int, ...]

    def name(self, i: int) -> str:
        """A value with its dimension."""
        return f"{self.dimensions[i]}: {self.values[i]}"

    def columns(self) -> Columns:
        """One row per model and value."""
        M, V = self.shares.shape
        return {
            "model": np.repeat(np.array(self.models, dtype=object), V),
            "dimension": np.tile(np.array(self.dimensions, dtype=object), M),
            "value": np.tile(np.array(self.values, dtype=object), M),
            "n_variants": np.tile(self.times, M),
            "unparsed": self.shares.ravel(),
        }


@dataclass(frozen=True, eq=False)
class UnparsedEffect:
    """What unread answers do to the spread over S variants; arrays have shape (M,) unless told.

    Attributes
    ----------
    counts
        Unread answers of each cell, shape (M, N, S).
    share, score
        Share of each variant's answers that are unread, and its score, shape (M, S); NaN where there is none.
    variance, variance_read
        Variance over the variants that were drawn, of all scores and of those that were read; not cut at 0.
    p_share, p_read
        Chance of unread shares, and of scores that were read, this unequal if all variants were alike; by Holm for all
        models. NaN where the noise is unknown.
    """

    cube: Cube = field(repr=False)
    counts: IntArray = field(repr=False)
    share: FloatArray = field(repr=False)
    score: FloatArray = field(repr=False)
    variance: FloatArray
    variance_read: FloatArray
    p_share: FloatArray
    p_read: FloatArray
    level: float = 0.95

    @cached_property
    def varies(self) -> NDArray[np.bool_]:
        """Whether the unread share differs between variants by more than the noise."""
        return _below(self.p_share, self.level)

    @cached_property
    def prompted(self) -> NDArray[np.bool_]:
        """Whether the scores that were read do: an effect of the prompt itself."""
        return _below(self.p_read, self.level)

    @cached_property
    def parser(self) -> FloatArray:
        """Share of the variance over variants that goes with the unread answers; NaN where there is no variance."""
        known = self.variance > 0
        left = np.maximum(self.variance_read, 0) / np.where(known, self.variance, np.nan)
        parser: FloatArray = np.clip(1 - left, 0, 1)
        return parser

    @cached_property
    def values(self) -> UnparsedByValue:
        """By the values of those dimensions that have two or more, and one of them twice."""
        cube, (drawn, values) = self.cube, list_drawn_values(self.cube)
        unread, asked = (array.sum(axis=1)[:, drawn].astype(float) for array in (self.counts, cube.n))
        told = {name: each for name, each in values.items() if 1 < len(set(each)) < len(each)}
        labels = [(name, value) for name, each in told.items() for value in sorted(set(each))]
        has = np.array([[v == value for v in told[name]] for name, value in labels], bool)
        has = has.reshape(len(labels), len(drawn))
        with np.errstate(divide="ignore", invalid="ignore"):
            each_variant = unread.sum(axis=0) / asked.sum(axis=0)
            shares, pooled = (unread @ has.T) / (asked @ has.T), (unread.sum(0) @ has.T) / (asked.sum(0) @ has.T)
        dimensions = tuple(name for name, _ in labels)
        explained, p_value = {}, {}
        for name in told:
            of = has[[dimension == name for dimension in dimensions]]
            explained[name], p_value[name] = _explained(each_variant, of)
        known = np.flatnonzero(~np.isnan(pooled)).tolist()
        order = sorted(known, key=lambda i: (-explained[dimensions[i]], dimensions[i], -pooled[i]))
        found = bool(order) and p_value[dimensions[order[0]]] * len(told) < 1 - self.level
        blamed = [i for i in order if np.array_equal(has[i], has[order[0]])] if found else []
        names = tuple(value for _, value in labels)
        times = has.sum(axis=1)
        return UnparsedByValue(cube.models, dimensions, names, times, shares, pooled, tuple(order), tuple(blamed))


def _below(p: FloatArray, level: float) -> NDArray[np.bool_]:
    below: NDArray[np.bool_] = np.nan_to_num(p, nan=1) < 1 - level
    return below


def _explained(share: FloatArray, has: NDArray[np.bool_]) -> tuple[float, float]:
    """Omega squared of S shares in groups (V, S), of one-way analysis of variance, and its p; -inf, 1: unknown."""
    there = ~np.isnan(share)
    x, groups = share[there], has[np.any(has & there, axis=1)][:, there].astype(float)
    between, within = len(groups) - 1, len(x) - len(groups)
    total = float(np.sum((x - x.mean()) ** 2)) if len(x) else 0.0
    if between < 1 or within < 1 or total < _NOTHING * len(x):
        return -np.inf, 1.0
    means = groups.T @ (groups @ x / groups.sum(axis=1))
    left = float(np.sum((x - means) ** 2)) / within
    omega = (total - left * (within + between)) / (total + left)
    return omega, float(special.fdtrc(between, within, (total / left - within) / between)) if left > 0 else 0.0


#: Squares of shares below this are what rounding leaves.
_NOTHING = 1e-20


def list_drawn_values(cube: Cube) -> tuple[list[int], dict[str, list[str]]]:
    """Variants that were drawn and have a value on each dimension, and these values."""
    each_value = enumerate(zip(*cube.values.values(), strict=True))
    drawn = [s for s, values in each_value if s != cube.default and all(values)]
    if len(drawn) < 2:
        return list(range(len(cube.variants))), {}
    return drawn, {name: [each[s] for s in drawn] for name, each in cube.values.items()}


def estimate_unparsed_effect(
    cube: Cube, counts: IntArray, *, found: VariantSummary | None = None, level: float = 0.95
) -> UnparsedEffect:
    """Compare the variance over variants with and without the answers that could not be read.

    Parameters
    ----------
    counts
        Unread answers of each cell of the cube, shape (M, N, S); they are among its `n` and score 0.
    found
        `variants(cube)`, where it is there already.

    Raises
    ------
    InputError
        When a cell has more unread answers than answers, or the shapes differ.
    """
    if counts.shape != cube.n.shape or np.any(counts > cube.n) or np.any(counts < 0):
        what = f"unread answers of shape {counts.shape} do not fit the generations of shape {cube.n.shape}"
        raise InputError(what, where=cube.benchmark, remedy="count them from the same rows")
    found = found or summarize_variants(cube, level=level)
    drawn, lost = cube.drawn, replace(cube, n=counts).drawn.n
    as_scores = lost.astype(float)
    misread = estimate_components(replace(drawn, total=as_scores, total_sq=as_scores), level=level)
    read = estimate_components(replace(drawn, n=drawn.n - lost), level=level)
    asked = cube.n.sum(axis=1)
    return UnparsedEffect(
        cube,
        counts,
        np.divide(counts.sum(axis=1), asked, out=np.full(asked.shape, np.nan), where=asked > 0),
        found.every,
        found.components.variant,
        read.variant,
        holm(_alike(misread)),
        holm(_alike(read)),
        level,
    )


def _alike(found: PromptComponents) -> FloatArray:
    """p-value of the F test that all variants are alike, shape (M,)."""
    f = found.fit
    size = np.nanmax(np.abs(found.layout.mean), axis=(1, 2), initial=0) ** 2
    nothing = _NOTHING * f.cells * np.maximum(size, _NOTHING)
    with np.errstate(divide="ignore", invalid="ignore"):
        variant, residual = (np.where(ss > nothing, ss, 0) for ss in (f.variant_ss, f.residual_ss))
        F = np.where(variant > 0, variant / (f.rank - f.questions) / (residual / (f.cells - f.rank)), 0)
        known = (f.rank > f.questions) & (f.cells > f.rank)
        p: FloatArray = np.where(known, special.fdtrc(f.rank - f.questions, f.cells - f.rank, F), np.nan)
    return p
