"""What is known of each question: how many generations were scored, their sum and their sum of squares.

Cells are the sufficient statistics of everything in this room (statistics.md section 1). They add up: cells of two
files, machines or days merge into the cells of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errorbar.errors import InputError, UnknownNameError

__all__ = ["Cells", "FloatArray", "IntArray", "mean_where", "united_clusters"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]


def mean_where(values: FloatArray, where: NDArray[np.bool_]) -> FloatArray:
    """Mean along the last axis over `where`, questions as a rule; NaN where there is none."""
    with np.errstate(invalid="ignore"):
        mean: FloatArray = np.sum(values, axis=-1, where=where) / np.sum(where, axis=-1)
    return mean


@dataclass(frozen=True, eq=False)
class Cells:
    """M models on the N questions of one benchmark.

    Attributes
    ----------
    benchmark, models, questions
        Names; `models` has length M, `questions` length N, each without duplicates.
    n
        Scored generations, shape (M, N), integer; 0 where the model has no score for the question.
    total, total_sq
        Sum and sum of squares of the scores, shape (M, N); 0 where `n` is 0.
    failed, unparsed
        Generations that failed (never scored) and that scored 0 because no answer could be read, shape (M, N) or None
        where the source does not say.
    variants
        Prompt variants that the cells are pooled over; empty where the source does not say.
    clusters
        Cluster of each question, length N (a passage, a template), or None where questions are independent.

    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0], [1, 1, 1]]])
    >>> cells.n.tolist(), cells.mean.tolist()
    ([[2, 3]], [[0.5, 1.0]])
    """

    benchmark: str
    models: tuple[str, ...]
    questions: tuple[str, ...]
    n: IntArray
    total: FloatArray
    total_sq: FloatArray
    failed: IntArray | None = None
    unparsed: IntArray | None = None
    variants: tuple[str, ...] = ()
    clusters: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        shape = (len(self.models), len(self.questions))
        for name in ("n", "total", "total_sq", "failed", "unparsed"):
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise InputError(f"{name} has shape {array.shape}, not (models, questions) = {shape}", where="Cells")
        if self.clusters is not None and len(self.clusters) != len(self.questions):
            raise InputError(f"{len(self.clusters)} clusters for {len(self.questions)} questions", where="Cells")
        for name in ("models", "questions"):
            names = getattr(self, name)
            if len(set(names)) < len(names):
                twice = min(x for x in names if names.count(x) > 1)
                raise InputError(f"{name[:-1]} {twice!r} is there twice", where="Cells")

    def __repr__(self) -> str:
        M, N = self.n.shape
        return f"Cells({self.benchmark!r}, {M} models x {N} questions, {int(self.n.sum())} generations)"

    @classmethod
    def from_scores(
        cls,
        benchmark: str,
        models: Sequence[str],
        questions: Sequence[str],
        scores: Sequence[Sequence[Sequence[float]]],
    ) -> Cells:
        """Cells of single scores, `scores[model][question]` a list that may be empty. For small data and examples."""
        n = np.array([[len(s) for s in row] for row in scores]).reshape(len(models), len(questions))
        total = np.array([[float(sum(s)) for s in row] for row in scores]).reshape(n.shape)
        total_sq = np.array([[float(sum(x * x for x in s)) for s in row] for row in scores]).reshape(n.shape)
        return cls(benchmark, tuple(models), tuple(questions), n, total, total_sq)

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """Where a model has a score for a question, shape (M, N)."""
        return self.n > 0

    @cached_property
    def mean(self) -> FloatArray:
        """Mean score p of each cell, shape (M, N); NaN where there is none."""
        mean: FloatArray = np.divide(self.total, self.n, out=np.full(self.n.shape, np.nan), where=self.answered)
        return mean

    @property
    def within(self) -> FloatArray:
        """Unbiased variance s2 of the generations of each cell, shape (M, N); NaN where there are fewer than two."""
        several = self.n > 1
        # s2 = (sum y^2 - (sum y)^2 / n) / (n - 1); rounding may leave a tiny negative
        square = np.maximum(self.total_sq - self.total * self.mean, 0, where=several, out=np.zeros(self.n.shape))
        s2: FloatArray = np.divide(square, self.n - 1, out=np.full(self.n.shape, np.nan), where=several)
        return s2

    @cached_property
    def unit(self) -> bool:
        """Whether every score lies in [0, 1], as far as sums can tell: sum y^2 <= sum y."""
        slack = 1e-9
        return all(
            bool(np.all(total >= -slack * n) and np.all(total_sq <= total + slack * n))
            for n, total, total_sq in zip(self.n, self.total, self.total_sq, strict=True)
        )

    @cached_property
    def binary(self) -> bool:
        """Whether every score is 0 or 1: y^2 = y inside [0, 1] for nothing else."""
        rows = zip(self.n, self.total, self.total_sq, strict=True)
        return self.unit and all(bool(np.all(total_sq >= total - 1e-9 * n)) for n, total, total_sq in rows)

    def index(self, model: str) -> int:
        """Row of a model."""
        if model not in self.models:
            raise UnknownNameError("model", model, self.models, where=self.benchmark)
        return self.models.index(model)

    def select(self, models: Sequence[str] | None = None, questions: Sequence[str] | None = None) -> Cells:
        """Only these models and these questions, in this order; None: all of them."""
        models = self.models if models is None else tuple(models)
        rows = [self.index(model) for model in models]
        chosen = self.questions if questions is None else tuple(questions)
        column = {question: j for j, question in enumerate(self.questions)}
        if unknown := [question for question in chosen if question not in column]:
            raise UnknownNameError("question", unknown[0], self.questions, where=self.benchmark)
        columns = [column[question] for question in chosen]

        def part(array: Any) -> Any:
            return None if array is None else array[rows] if questions is None else array[np.ix_(rows, columns)]

        arrays = {name: part(getattr(self, name)) for name in ("n", "total", "total_sq", "failed", "unparsed")}
        clusters = None if self.clusters is None else tuple(self.clusters[j] for j in columns)
        return replace(self, models=models, questions=chosen, clusters=clusters, **arrays)

    def __add__(self, other: Cells) -> Cells:
        """Merge generations of the same benchmark: names are united, counts and sums add up."""
        if not isinstance(other, Cells):
            return NotImplemented
        if other.benchmark != self.benchmark:
            raise InputError(f"cells of {self.benchmark!r} and {other.benchmark!r} do not add up", where="Cells")
        models = tuple(dict.fromkeys(self.models + other.models))
        questions = tuple(dict.fromkeys(self.questions + other.questions))
        row = {m: i for i, m in enumerate(models)}
        column = {q: j for j, q in enumerate(questions)}
        places = [
            np.ix_([row[m] for m in cells.models], [column[q] for q in cells.questions]) for cells in (self, other)
        ]

        def united(name: str) -> NDArray[np.generic] | None:
            arrays = [getattr(cells, name) for cells in (self, other)]
            known = [(place, array) for place, array in zip(places, arrays, strict=True) if array is not None]
            if not known:
                return None
            out = np.zeros((len(models), len(questions)), dtype=known[0][1].dtype)
            for place, array in known:
                out[place] += array
            return out

        arrays: dict[str, Any] = {name: united(name) for name in ("n", "total", "total_sq", "failed", "unparsed")}
        variants = tuple(sorted({*self.variants, *other.variants}))
        clusters = united_clusters([self, other], questions)
        return Cells(self.benchmark, models, questions, variants=variants, clusters=clusters, **arrays)


def united_clusters(parts: Sequence[Any], questions: Sequence[str]) -> tuple[str, ...] | None:
    """Cluster of each of `questions` in parts of one benchmark, cells or cubes; None where no part has clusters."""
    where = parts[0].benchmark
    if any(part.clusters is None for part in parts):
        if any(part.clusters is not None for part in parts):
            raise InputError("only some of the results have clusters", where=where, remedy="give them to all")
        return None
    known: dict[str, str] = {}
    for part in parts:
        for question, name in zip(part.questions, part.clusters, strict=True):
            if known.setdefault(question, name) != name:
                what = f"question {question!r} is in cluster {known[question]!r} and in {name!r}"
                raise InputError(what, where=where, remedy="a question has one cluster")
    return tuple(known[question] for question in questions)
