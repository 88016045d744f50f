"""Sufficient statistics of each model, question and prompt variant.

A `Cube` holds counts and sums of scores. `Layout` is what a decomposition needs of them, of scores or of differences
of two models alike: the mean of each cell, its sampling variance, and which cells are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells, FloatArray, IntArray, check_score_size, is_unit

__all__ = ["ALL_QUESTIONS", "Cube", "Layout"]

#: Arrays of a `Cube`, shape (M, N, S); the last two may be None.
_ARRAYS = ("n", "total", "total_sq", "minimum", "maximum")
#: What stands for the questions where a score is of all of them together.
ALL_QUESTIONS = "all"


@dataclass(frozen=True, eq=False)
class Layout:
    """Means of cells and their noise, shape (M, N, S); NaN where a cell is missing.

    Attributes
    ----------
    names
        What each of the M rows is: a model, or `a - b`.
    mean
        Mean score of a cell, or difference of two of them.
    variance, mean_variance
        Variance of one generation s2, and of the cell's mean s2/k; of a difference both models' sum. A cell with one
        generation has the mean s2 of the others (as in `scores.score`); NaN where no cell of the row has two.
    df
        Degrees of freedom of `variance`, k - 1; 0 where it was filled in.
    bounds
        What a mean cannot leave, or None.
    nested
        Whether each question has variants of its own, of which s is the s-th.
    clusters
        Cluster of each question, length N, or None where questions are independent.
    """

    benchmark: str
    names: tuple[str, ...]
    mean: FloatArray = field(repr=False)
    variance: FloatArray = field(repr=False)
    mean_variance: FloatArray = field(repr=False)
    df: FloatArray = field(repr=False)
    bounds: tuple[float, float] | None = None
    nested: bool = False
    clusters: tuple[str, ...] | None = None

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """Whether a cell has a mean, shape (M, N, S)."""
        answered: NDArray[np.bool_] = ~np.isnan(self.mean)
        return answered

    @cached_property
    def split(self) -> NDArray[np.bool_]:
        """Whether sampling noise is known, so that it can be separated from the interaction, shape (M,)."""
        split: NDArray[np.bool_] = np.any(self.df > 0, axis=(1, 2))
        return split


@dataclass(frozen=True, eq=False)
class Cube:
    """M models on the N questions of one benchmark under S prompt variants.

    Attributes
    ----------
    benchmark, models, questions, variants
        Names; without duplicates.
    n, total, total_sq
        Scored generations of each cell, sum and sum of squares of their scores, shape (M, N, S); 0 where missing.
    values
        Dimension of the space to the S names of the variants' values.
    default
        Index of the default prompt among the variants, or None.
    nested
        Whether each question drew its own variants; `variants` are then the places 1st, 2nd, ... of a question.
    clusters
        Cluster of each question, length N, or None where questions are independent.
    minimum, maximum
        Smallest and largest score of each cell, shape (M, N, S), as those of `Cells`; None where the source says none.
    drawn_questions
        Whether each variant drew a random sample of the questions, so that the score of a variant is the mean over its
        own questions; otherwise variants are compared on the same questions.

    >>> cube = Cube.from_scores("demo", ["a"], ["q1", "q2"], ["v1", "v2"], [[[[1, 0], [1]], [[0], []]]])
    >>> cube.mean.tolist()
    [[[0.5, 1.0], [0.0, nan]]]
    """

    benchmark: str
    models: tuple[str, ...]
    questions: tuple[str, ...]
    variants: tuple[str, ...]
    n: IntArray = field(repr=False)
    total: FloatArray = field(repr=False)
    total_sq: FloatArray = field(repr=False)
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    default: int | None = None
    nested: bool = False
    clusters: tuple[str, ...] | None = None
    minimum: FloatArray | None = field(default=None, repr=False)
    maximum: FloatArray | None = field(default=None, repr=False)
    drawn_questions: bool = False

    def __post_init__(self) -> None:
        shape = (len(self.models), len(self.questions), len(self.variants))
        for name in _ARRAYS:
            if (array := getattr(self, name)) is not None and array.shape != shape:
                what = f"{name} has shape {array.shape}, not (models, questions, variants) = {shape}"
                raise InputError(what, where="Cube")
        for name in ("models", "questions", "variants"):
            names = getattr(self, name)
            if len(set(names)) < len(names):
                twice = min(x for x in names if names.count(x) > 1)
                raise InputError(f"{name[:-1]} {twice!r} is there twice", where="Cube")
        if self.clusters is not None and len(self.clusters) != shape[1]:
            raise InputError(f"{len(self.clusters)} clusters for {shape[1]} questions", where="Cube")
        for dimension, values in self.values.items():
            if len(values) != shape[2]:
                raise InputError(f"{len(values)} values of {dimension!r} for {shape[2]} variants", where="Cube")
        if self.default is not None and not 0 <= self.default < shape[2]:
            raise InputError(f"default is {self.default!r} of {shape[2]} variants", where="Cube")
        check_score_size(self)

    @classmethod
    def from_scores(
        cls,
        benchmark: str,
        models: Sequence[str],
        questions: Sequence[str],
        variants: Sequence[str],
        scores: Sequence[Sequence[Sequence[Sequence[float]]]],
        *,
        values: Mapping[str, Sequence[str]] | None = None,
        default: int | None = None,
        nested: bool = False,
    ) -> Cube:
        """Make a cube from single scores; `scores[model][question][variant]` is a list that may be empty."""
        shape = (len(models), len(questions), len(variants))
        cells = [cell for model in scores for question in model for cell in question]
        if len(cells) != np.prod(shape):
            raise InputError(f"{len(cells)} cells, not models x questions x variants = {shape}", where="Cube")
        n = np.array([len(cell) for cell in cells]).reshape(shape)
        total = np.array([float(sum(cell)) for cell in cells]).reshape(shape)
        total_sq = np.array([float(sum(x * x for x in cell)) for cell in cells]).reshape(shape)
        minimum, maximum = (
            np.array([of(cell, default=np.nan) for cell in cells], float).reshape(shape) for of in (min, max)
        )
        named = {dimension: tuple(each) for dimension, each in (values or {}).items()}
        names = tuple(models), tuple(questions), tuple(variants)
        return cls(benchmark, *names, n, total, total_sq, named, default, nested, minimum=minimum, maximum=maximum)

    @classmethod
    def from_means(
        cls,
        benchmark: str,
        models: Sequence[str],
        variants: Sequence[str],
        scores: FloatArray,
        *,
        questions: Sequence[str] = (ALL_QUESTIONS,),
    ) -> Cube:
        """Make a cube from mean scores, shape (M, S) or (M, N, S), NaN if missing; each counts as one score."""
        shape = (len(models), len(questions), len(variants))
        y = np.asarray(scores, float)
        if y.size != np.prod(shape):
            raise InputError(f"scores have shape {y.shape}, not models x questions x variants = {shape}", where="Cube")
        y = y.reshape(shape)
        n, total = (~np.isnan(y)).astype(np.int64), np.nan_to_num(y)
        return cls(benchmark, tuple(models), tuple(questions), tuple(variants), n, total, total**2)

    @cached_property
    def mean(self) -> FloatArray:
        """Mean score of each cell, shape (M, N, S); NaN if there is none."""
        mean: FloatArray = np.divide(self.total, self.n, out=np.full(self.n.shape, np.nan), where=self.n > 0)
        return mean

    @cached_property
    def own_scores(self) -> FloatArray:
        """Mean of the cell means of each variant over the questions that it has, shape (M, S); NaN without any."""
        answered = self.n > 0
        counts, total = answered.sum(axis=1), np.where(answered, self.mean, 0).sum(axis=1)
        scores: FloatArray = np.divide(total, counts, out=np.full(total.shape, np.nan), where=counts > 0)
        return scores

    @cached_property
    def unit(self) -> bool:
        """Whether every score lies in [0, 1]; see `Cells.unit`."""
        return bool(np.all(is_unit(self.n, self.total, self.total_sq, self.minimum, self.maximum)))

    def index(self, model: str) -> int:
        """Return the row of a model."""
        if model not in self.models:
            raise UnknownNameError("model", model, self.models, where=self.benchmark)
        return self.models.index(model)

    def select(self, models: Sequence[str] | None = None, questions: Sequence[str] | None = None) -> Cube:
        """Return the cube of these models and questions, in this order; None selects all of them."""
        models = self.models if models is None else tuple(models)
        rows = [self.index(model) for model in models]
        chosen = self.questions if questions is None else tuple(questions)
        column = {question: j for j, question in enumerate(self.questions)}
        if unknown := [question for question in chosen if question not in column]:
            raise UnknownNameError("question", unknown[0], self.questions, where=self.benchmark)
        columns = [column[question] for question in chosen]
        arrays = self._parts(np.ix_(rows, columns, range(len(self.variants))))
        clusters = None if self.clusters is None else tuple(self.clusters[j] for j in columns)
        return replace(self, models=models, questions=chosen, clusters=clusters, **arrays)

    def _parts(self, place: Any) -> dict[str, Any]:
        """Return the arrays at an index; None for those that the source does not have."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return {name: None if array is None else array[place] for name, array in arrays.items()}

    @property
    def is_whole(self) -> bool:
        """Whether the scores are of the whole benchmark, as in published tables, and none of single questions."""
        return self.questions == (ALL_QUESTIONS,)

    @cached_property
    def drawn(self) -> Cube:
        """The cube without the default prompt, which was chosen and not drawn; itself if it has no other."""
        if self.default is None or len(self.variants) == 1:
            return self
        others = [s for s in range(len(self.variants)) if s != self.default]
        arrays = self._parts((slice(None), slice(None), others))
        values = {dimension: tuple(each[s] for s in others) for dimension, each in self.values.items()}
        variants = tuple(self.variants[s] for s in others)
        return replace(self, variants=variants, values=values, default=None, **arrays)

    def cells(self) -> Cells:
        """Pool over variants, all generations alike; scores of the whole benchmark become their mean."""
        if self.is_whole:
            there = np.sum(self.n > 0, axis=2)
            mean = np.divide(np.nansum(self.mean, axis=2), there, out=np.zeros(there.shape), where=there > 0)
            once = (there > 0).astype(np.int64)
            return Cells(
                self.benchmark,
                self.models,
                self.questions,
                once,
                mean,
                mean**2,
                variants=self.variants,
                variants_of=self._list_variants(),
            )
        n, total, total_sq = (array.sum(axis=2) for array in (self.n, self.total, self.total_sq))
        minimum = None if self.minimum is None else np.fmin.reduce(self.minimum, axis=2)
        maximum = None if self.maximum is None else np.fmax.reduce(self.maximum, axis=2)
        names = self.benchmark, self.models, self.questions
        return Cells(
            *names,
            n,
            total,
            total_sq,
            variants=self.variants,
            clusters=self.clusters,
            minimum=minimum,
            maximum=maximum,
            variants_of=self._list_variants(),
        )

    def _list_variants(self) -> dict[str, frozenset[str]]:
        """Return the variants under which each model has a score."""
        has_score = np.any(self.n > 0, axis=1)
        names = np.array(self.variants, dtype=object)
        return {model: frozenset(names[row].tolist()) for model, row in zip(self.models, has_score, strict=True)}

    @cached_property
    def layout(self) -> Layout:
        """Means of the cells and their noise, one row per model."""
        variance, mean_variance, df = self._noise
        bounds = (0.0, 1.0) if self.unit else None
        arrays = self.mean, variance, mean_variance, df
        return Layout(self.benchmark, self.models, *arrays, bounds, self.nested, self.clusters)

    @cached_property
    def _noise(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Variance of one generation, variance of the mean and df of each cell, shape (M, N, S) each."""
        answered, several = self.n > 0, self.n > 1
        # s2 = (sum y^2 - n mean^2) / (n - 1); rounding may leave a tiny negative
        square = np.maximum(self.total_sq - self.total * np.nan_to_num(self.mean), 0)
        variance = np.divide(square, self.n - 1, out=np.full(self.n.shape, np.nan), where=several)
        with np.errstate(invalid="ignore", divide="ignore"):
            typical = np.sum(variance, axis=(1, 2), where=several) / np.sum(several, axis=(1, 2))
        variance = np.where(answered & ~several, typical[:, None, None], variance)
        df = np.where(several, self.n - 1, 0).astype(float)
        return variance, variance / np.maximum(self.n, 1), df

    def difference(self, a: str | Sequence[str], b: str | Sequence[str]) -> Layout:
        """Return differences a - b in the cells that both have, one row per pair; their variances add up.

        `a` and `b` are models, or as many of each.
        """
        pairs = [(a, b)] if isinstance(a, str) and isinstance(b, str) else list(zip(a, b, strict=True))
        rows_a, rows_b = ([self.index(pair[side]) for pair in pairs] for side in (0, 1))
        variance, mean_variance, df = self._noise
        mean = self.mean[rows_a] - self.mean[rows_b]
        both = ~np.isnan(mean)
        return Layout(
            self.benchmark,
            tuple(f"{x} - {y}" for x, y in pairs),
            mean,
            np.where(both, variance[rows_a] + variance[rows_b], np.nan),
            np.where(both, mean_variance[rows_a] + mean_variance[rows_b], np.nan),
            # unknown noise of one model is unknown noise of the difference
            np.where(both, np.minimum(df[rows_a], df[rows_b]) * 2, 0),
            (-1.0, 1.0) if self.unit else None,
            self.nested,
            self.clusters,
        )
