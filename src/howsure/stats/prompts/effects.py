"""Main effect of each dimension's values on the score: least squares of variant scores on dummies of the values.

An effect is the distance of a value from the mean over the dimension's values. What is left over (interactions of
dimensions, questions and generations) gives the error. The variance that a dimension explains is the mean square of its
effects less that of their errors, not cut at 0.

All dimensions are fitted together where at least as many degrees of freedom are left as coefficients are fitted: with
random draws that costs a factor of about (n - 1)/(degrees of freedom left) in variance, which is then at most about 2.
With fewer draws each dimension is fitted by itself. Points of a space are drawn uniformly and independently in each
dimension, so that the mean of a value's variants is unbiased for its main effect, and what the other dimensions do is
noise, in the variance within values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.intervals import Interval, interval
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.results import Columns, Result, notes
from howsure.stats.prompts.moments import VariantSummary
from howsure.stats.prompts.unparsed import list_drawn_values

__all__ = ["MIN_VARIANTS", "Effects", "estimate_effects", "estimate_variant_effects"]

#: A value drawn fewer times than this is told apart from its neighbours by luck.
MIN_VARIANTS = 3


@dataclass(frozen=True, eq=False)
class Effects(Result):
    """Effects of V values, in all dimensions, on M models; arrays have shape (M, V) unless told.

    Attributes
    ----------
    dimensions, values
        Dimension and name of each value, length V.
    times
        Variants that have the value, and a score.
    effect, variance
        Effect and its squared standard error; NaN where it cannot be told from others.
    freedom
        Degrees of freedom of the error.
    alone
        Whether each dimension was fitted by itself, shape (M,).
    share
        Share of the variance over variants that each value's dimension explains.
    left_out
        Dimensions without an effect, and why.
    """

    benchmark: str
    models: tuple[str, ...]
    dimensions: tuple[str, ...]
    values: tuple[str, ...]
    times: IntArray
    effect: FloatArray
    variance: FloatArray
    freedom: FloatArray
    share: FloatArray
    alone: NDArray[np.bool_]
    left_out: Mapping[str, str] = field(default_factory=dict)
    level: float = 0.95

    def interval(self, level: float | None = None) -> Interval:
        """Student's t interval of each effect."""
        level = self.level if level is None else level
        return interval(self.effect, np.sqrt(self.variance), self.freedom + 1, level=level, df=self.freedom)

    def columns(self) -> Columns:
        """One row per model and value; `p_holm` is of all values of a model together."""
        M, V = self.effect.shape
        between = self.interval()
        few = (self.times < MIN_VARIANTS) & (self.times > 0)
        unknown = np.isnan(self.effect)
        told = notes(
            {
                f"drawn fewer than {MIN_VARIANTS} times": few.ravel(),
                "cannot be told from other values: draw more variants": unknown.ravel(),
                "dimension fitted by itself: the others are noise": (self.alone[:, None] & ~unknown).ravel(),
                **{f"{name} left out: {why}": np.ones(M * V, dtype=bool) for name, why in self.left_out.items()},
            }
        )
        return {
            "benchmark": np.full(M * V, self.benchmark, dtype=object),
            "model": np.repeat(np.array(self.models, dtype=object), V),
            "dimension": np.tile(np.array(self.dimensions, dtype=object), M),
            "value": np.tile(np.array(self.values, dtype=object), M),
            "n_variants": self.times.ravel(),
            "effect": self.effect.ravel(),
            "se": np.sqrt(self.variance).ravel(),
            "low": between.low.ravel(),
            "high": between.high.ravel(),
            "p_value": between.p_value.ravel(),
            "p_holm": np.concatenate([holm(row) for row in between.p_value]),
            "share": self.share.ravel(),
            "level": np.full(M * V, self.level),
            "note": told,
        }


def estimate_effects(
    benchmark: str,
    models: Sequence[str],
    scores: ArrayLike,
    values: Mapping[str, Sequence[str]],
    *,
    total: ArrayLike | None = None,
    level: float = 0.95,
) -> Effects:
    """Main effects of the values of each dimension on each model.

    Parameters
    ----------
    models, scores
        M names, and the score of each under each of S variants, shape (M, S), NaN where missing
        (`variants(cube).moments.scores`).
    values
        Dimension to the value of each variant. A dimension with one value, or with more than half as many as there are
        variants (a shuffle of its own for each), is left out and told so.
    total
        Variance over variants that shares are of, (M,), such as `components.variant`; None: that of the scores.
    """
    x = np.atleast_2d(np.asarray(scores, float))
    M, S = x.shape
    if len(models) != M or any(len(each) != S for each in values.values()):
        what = f"scores have shape {x.shape} for {len(models)} models"
        raise InputError(what, where="effects", remedy="give a value of each dimension for each variant")
    kept, left_out = {}, {}
    for dimension, each in values.items():
        names = sorted(set(each))
        if len(names) < 2:
            left_out[dimension] = "it has one value"
        elif 2 * len(names) > S:
            left_out[dimension] = f"{len(names)} values in {S} variants"
        else:
            kept[dimension] = names
    labels = [(dimension, name) for dimension, names in kept.items() for name in names]
    of = np.array([dimension for dimension, _ in labels], dtype=object)
    X = np.array([[float(v == name) for v in values[dimension]] for dimension, name in labels]).reshape(-1, S).T
    center = _contrasts([len(names) for names in kept.values()])
    shape = (M, len(labels))
    effect, variance, share, freedom = (np.full(shape, np.nan) for _ in range(4))
    times, alone = np.zeros(shape, dtype=np.int64), np.zeros(M, dtype=bool)
    for m in range(M):
        rows = ~np.isnan(x[m])
        if not labels or rows.sum() < 2:
            continue
        times[m] = X[rows].sum(axis=0)
        effect[m], variance[m], left = _least_squares(X[rows], x[m, rows], center)
        freedom[m] = left or np.nan
        alone[m] = len(kept) > 1 and (bool(np.any(np.isnan(effect[m]))) or left < len(labels) - len(kept))
        for dimension in kept if alone[m] else ():
            at = np.flatnonzero(of == dimension)
            one, error, left = _least_squares(X[np.ix_(rows, at)], x[m, rows], center[np.ix_(at, at)])
            settled = any(
                _settles(X[rows][:, of == other], X[np.ix_(rows, at)]) for other in kept if other != dimension
            )
            effect[m, at], variance[m, at] = (np.nan, np.nan) if settled else (one, error)
            freedom[m, at] = left or np.nan
    whole = np.array([row[~np.isnan(row)].var(ddof=1) if np.sum(~np.isnan(row)) > 1 else np.nan for row in x])
    whole = whole if total is None else np.asarray(total, float)
    for dimension in kept:
        at = np.flatnonzero(of == dimension)
        explained = np.mean(effect[:, at] ** 2 - variance[:, at], axis=1)
        known = whole > 0
        share[:, at] = np.where(known, explained / np.where(known, whole, 1), np.nan)[:, None]
    return Effects(
        benchmark,
        tuple(models),
        tuple(of.tolist()),
        tuple(name for _, name in labels),
        times,
        effect,
        variance,
        freedom,
        share,
        alone,
        left_out,
        level,
    )


def estimate_variant_effects(found: VariantSummary, *, level: float = 0.95) -> Effects:
    """Main effects on the models of a cube, of the variants that were drawn and have a value on each dimension."""
    cube = found.cube.drawn
    drawn, values = list_drawn_values(cube)
    scores, total = found.moments.scores[:, drawn], found.components.variant
    return estimate_effects(cube.benchmark, cube.models, scores, values, total=total, level=level)


def _settles(one: FloatArray, other: FloatArray) -> bool:
    """Whether the value on one dimension (S, values) settles that on the other, so that they always change together."""
    return bool(np.all(np.count_nonzero(one.T @ other, axis=1) < 2))


def _contrasts(sizes: list[int]) -> FloatArray:
    """Block diagonal: each value less the mean over its dimension."""
    total = sum(sizes)
    C, start = np.zeros((total, total)), 0
    for size in sizes:
        C[start : start + size, start : start + size] = np.eye(size) - 1 / size
        start += size
    return C


def _least_squares(X: FloatArray, y: FloatArray, C: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    """Contrasts C of the coefficients of [1, X], their variances, and the degrees of freedom left."""
    full = np.column_stack([np.ones(len(y)), X])
    inverse = np.linalg.pinv(full.T @ full, hermitian=True, rcond=1e-10)
    contrasts = np.column_stack([np.zeros(len(C)), C])
    coefficients = inverse @ full.T @ y
    left = len(y) - int(np.linalg.matrix_rank(full))
    # estimable: a combination of rows that were seen
    seen = contrasts @ inverse @ (full.T @ full)
    estimable = np.all(np.abs(seen - contrasts) < 1e-6, axis=1)
    rest = y - full @ coefficients
    sigma2 = rest @ rest / left if left > 0 else np.nan
    variance = np.einsum("ij,jk,ik->i", contrasts, inverse, contrasts) * sigma2
    return (
        np.where(estimable, contrasts @ coefficients, np.nan),
        np.where(estimable, variance, np.nan),
        left,
    )
