"""Sufficient statistics of each model and question: number, sum, sum of squares and extremes of the scores.

Cells are the sufficient statistics of everything in this package (docs/methods/scores.md). They add up: cells of two
files, machines or days merge into the cells of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.claims import Average

__all__ = [
    "ARRAYS",
    "GREEDY_SUFFIX",
    "MOST_OUTCOMES",
    "MOST_UNPARSED",
    "Cells",
    "FloatArray",
    "IntArray",
    "Strata",
    "check_score_size",
    "drop_rounding",
    "group_equal_models",
    "is_binary",
    "is_unit",
    "list_greedy_runs",
    "mean_where",
    "merge_clusters",
    "weigh_strata",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]


def mean_where(values: FloatArray, where: NDArray[np.bool_]) -> FloatArray:
    """Return the mean along the last axis over the elements in `where`; NaN if there are none."""
    with np.errstate(invalid="ignore"):
        mean: FloatArray = np.sum(values, axis=-1, where=where) / np.sum(where, axis=-1)
    return mean


def drop_rounding(square: FloatArray, n: FloatArray | float, center: FloatArray | float) -> FloatArray:
    """Return sums of n squared deviations from a center, 0 where only its rounding can have left them.

    Equal values such as .4, which are no sums of powers of 2, differ from their mean by some 1e-16 of it.

    >>> equal = np.array([0.4, 0.4, 0.4])
    >>> drop_rounding(np.sum((equal - equal.mean()) ** 2), 3, 0.4).item()
    0.0
    """
    return np.where(square > n * (1e-14 * np.asarray(center)) ** 2, square, 0)


#: Fewest questions on which equal scores of two models are no coincidence.
_FEWEST_EQUAL = 10
#: Largest score in size: its sixth power, which no estimate exceeds, is a float.
_LARGEST_SCORE = 1e50
#: Scores up to this size keep the spread of any that are no rounding of each other.
_EXACT_SCORE = 1e4
#: Rounding of a sum of squares, as a part of it, per score.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)
#: Rounding that a sum of scores may leave, per score.
_SLACK = 1e-9
#: Share of unread answers above which a score is given with its bound.
MOST_UNPARSED = 0.005
#: Arrays of a `Cells`, shape (M, N); those after the sums may be None.
ARRAYS = ("n", "total", "total_sq", "failed", "unparsed", "minimum", "maximum", "outcomes")
#: Generations of a cell whose scores `outcomes` can hold.
MOST_OUTCOMES = 26


class _Scored(Protocol):
    """Cells or a cube: a benchmark with the clusters of its questions, and sums and extremes of its scores."""

    @property
    def benchmark(self) -> str: ...
    @property
    def models(self) -> tuple[str, ...]: ...
    @property
    def questions(self) -> tuple[str, ...]: ...
    @property
    def clusters(self) -> tuple[str, ...] | None: ...
    @property
    def total_sq(self) -> FloatArray: ...
    @property
    def minimum(self) -> FloatArray | None: ...
    @property
    def maximum(self) -> FloatArray | None: ...


def check_score_size(one: _Scored) -> None:
    """Raise InputError for scores whose powers are no floats, or whose spread is lost in their squares.

    Parameters
    ----------
    one
        Cells or a cube.

    Raises
    ------
    InputError
        When a score is larger than 1e50 in size; or when scores are beyond 10,000 and the generations of a model differ
        by so little that rounding may change their variance by 1 % or more: 1e7 with a standard deviation of 1.
    """
    if np.any(one.total_sq > _LARGEST_SCORE**2):
        m, q, *_ = np.argwhere(one.total_sq > _LARGEST_SCORE**2)[0]
        what = f"a score of {one.models[m]!r} on {one.questions[q]!r} is larger than {_LARGEST_SCORE:g} in size"
        raise InputError(what, where=one.benchmark, remedy="divide the scores by a constant")
    if one.minimum is None or one.maximum is None or not np.any(is_large := np.abs(one.maximum) > _EXACT_SCORE):
        return
    spread, total_sq = (
        np.where(is_large, each, 0).reshape(len(one.models), -1) for each in (one.maximum - one.minimum, one.total_sq)
    )
    squares, rounding = np.sum(spread**2, axis=1) / 2, 100 * _ROUNDING * np.sum(total_sq, axis=1)
    for m in np.flatnonzero((squares > 0) & (squares < rounding)):
        low, most = f"{float(np.nanmin(one.minimum[m])):.3g}", spread[m].max()
        what = f"generations of {one.models[m]!r} differ by at most {most:.3g} and are near {low}: squares lose that"
        raise InputError(what, where=one.benchmark, remedy=f"subtract a constant, such as {low}, from all scores")


def is_unit(
    n: IntArray, total: FloatArray, total_sq: FloatArray, minimum: FloatArray | None, maximum: FloatArray | None
) -> NDArray[np.bool_]:
    """Return whether all scores of each cell lie in [0, 1]; the arguments are arrays of one shape.

    Notes
    -----
    Scores in [0, 1] have 0 <= sum y^2 <= sum y. Other scores may have that too (-0.2 and 0.6 do), so the minimum and
    the maximum decide where they are known. A cell of one score needs neither.
    """
    unit = (total >= -_SLACK * n) & (total_sq <= total + _SLACK * n)
    if minimum is not None:
        unit &= ~(minimum < -_SLACK)  # True where the minimum is NaN
    if maximum is not None:
        unit &= ~(maximum > 1 + _SLACK)
    return unit


def list_greedy_runs(models: Sequence[str]) -> list[str]:
    """Return the models that are greedy runs of other models.

    >>> list_greedy_runs(["a", "a:greedy", "b:greedy"])
    ['a:greedy']
    """
    return [m for m in models if m.endswith(GREEDY_SUFFIX) and m.removesuffix(GREEDY_SUFFIX) in models]


def is_binary(
    n: IntArray, total: FloatArray, total_sq: FloatArray, minimum: FloatArray | None, maximum: FloatArray | None
) -> NDArray[np.bool_]:
    """Return whether all scores of each cell are 0 or 1; the arguments are arrays of one shape.

    Notes
    -----
    Within [0, 1] y (1 - y) >= 0, and its sum is 0 only where each score is 0 or 1.
    """
    return is_unit(n, total, total_sq, minimum, maximum) & (total_sq >= total - _SLACK * n)


#: Suffix of the label of a greedy run: NAME:greedy is NAME at temperature 0, with one generation per question.
GREEDY_SUFFIX = ":greedy"


@dataclass(frozen=True)
class Strata:
    """Stratum of each question, and how strata weigh in means over questions; see `core.strata`."""

    names: tuple[str, ...]
    average: Average


def weigh_strata(n: NDArray[np.number], average: Average) -> FloatArray:
    """Return the weights of S strata with n questions, (S, R), which sum to 1; NaN where no stratum has a question."""
    share = n > 0 if average == "macro" else n
    with np.errstate(invalid="ignore"):
        weight: FloatArray = share / np.sum(share, axis=0)
    return weight


@dataclass(frozen=True, eq=False)
class Cells:
    """The scores of M models on the N questions of one benchmark, as sums over generations.

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
    variants_of
        Of these, the variants under which each model has a score; empty where the source does not say.
    clusters
        Cluster of each question, length N (a passage, a template), or None where questions are independent.
    minimum, maximum
        Smallest and largest score of each cell, shape (M, N); NaN where there is no score or the source does not say,
        None where it says none. A source of counts (n, total, total_sq) does not say them: `unit` and `binary` then
        rest on the sums alone.
    outcomes
        Scores of the generations of each cell in their order, shape (M, N), uint64, or None where the source has no
        order of them or more than `MOST_OUTCOMES`: base-4 digits, the first generation the lowest, 2 for a score above
        0.5, 1 for a lower one or a failure, 0 where there is none; of several prompt variants those of the first. They
        are compared to find copies (`repeats.independence`).
    days
        Day on which each model's generations were made, in ISO 8601 (UTC); only of runs, and without the models whose
        day is not known or not one day.
    strata
        Strata of the questions, where means are to be those over strata; None for plain means.

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
    minimum: FloatArray | None = None
    maximum: FloatArray | None = None
    outcomes: NDArray[np.uint64] | None = None
    variants_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    days: Mapping[str, str] = field(default_factory=dict)
    strata: Strata | None = None

    def __post_init__(self) -> None:
        shape = (len(self.models), len(self.questions))
        for name in ARRAYS:
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise InputError(f"{name} has shape {array.shape}, not (models, questions) = {shape}", where="Cells")
        for name, each in (("clusters", self.clusters), ("strata", None if self.strata is None else self.strata.names)):
            if each is not None and len(each) != len(self.questions):
                raise InputError(f"{len(each)} {name} for {len(self.questions)} questions", where="Cells")
        for name in ("models", "questions"):
            names = getattr(self, name)
            if len(set(names)) < len(names):
                twice = min(x for x in names if names.count(x) > 1)
                raise InputError(f"{name[:-1]} {twice!r} is there twice", where="Cells")
        check_score_size(self)

    def __repr__(self) -> str:
        M, N = self.n.shape
        return f"Cells({self.benchmark!r}, {M} models x {N} questions, {int(self.n.sum())} generations)"

    @classmethod
    def from_scores(
        cls,
        benchmark: str,
        models: Sequence[str],
        questions: Sequence[str],
        scores: Sequence[Sequence[Sequence[float | None]]],
    ) -> Cells:
        """Make cells from single scores; `scores[model][question]` is a list that may be empty. For examples.

        NaN and None are generations that failed.
        """
        shape = len(models), len(questions)
        scored = [[[x for x in s if x is not None and not math.isnan(x)] for s in row] for row in scores]
        n_made = np.array([[len(s) for s in row] for row in scores]).reshape(shape)
        n = np.array([[len(s) for s in row] for row in scored]).reshape(shape)
        outcomes = None
        if n_made.max(initial=0) <= MOST_OUTCOMES:
            digits = [[sum((1 + ((x or 0) > 0.5)) * 4**j for j, x in enumerate(s)) for s in row] for row in scores]
            outcomes = np.array(digits, np.uint64).reshape(shape)
        return cls(
            benchmark,
            tuple(models),
            tuple(questions),
            n,
            np.array([[float(sum(s)) for s in row] for row in scored]).reshape(shape),
            np.array([[float(sum(x * x for x in s)) for s in row] for row in scored]).reshape(shape),
            failed=n_made - n if np.any(n < n_made) else None,
            minimum=np.array([[min(s, default=np.nan) for s in row] for row in scored], float).reshape(shape),
            maximum=np.array([[max(s, default=np.nan) for s in row] for row in scored], float).reshape(shape),
            outcomes=outcomes,
        )

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """Whether a model has a score for a question, shape (M, N)."""
        return self.n > 0

    @cached_property
    def mean(self) -> FloatArray:
        """Mean score p of each cell, shape (M, N); NaN if there is none."""
        mean: FloatArray = np.divide(self.total, self.n, out=np.full(self.n.shape, np.nan), where=self.answered)
        return mean

    @cached_property
    def unparsed_share(self) -> FloatArray:
        """Share u of unread answers, which score 0, as the mean over questions, shape (M,); NaN where it is unknown."""
        if self.unparsed is None:
            return np.full(len(self.models), np.nan)
        most = self.n - self.total if self.unit else self.n
        return self.average_questions(np.minimum(self.unparsed, most) / np.maximum(self.n, 1))

    def average_questions(self, values: FloatArray | None = None) -> FloatArray:
        """Return the mean over the answered questions of the scores, or of other values (M, N), shape (M,).

        Where there are strata it is the mean over all of them, NaN without an answer in one.
        """
        values = self.mean if values is None else values
        if self.strata is None:
            return mean_where(values, self.answered)
        inside = np.array(list(dict.fromkeys(self.strata.names)))[:, None] == np.array(self.strata.names)
        n = np.array([np.sum(self.answered, axis=1, where=each) for each in inside])
        means = np.array([mean_where(values, self.answered & each) for each in inside])
        return np.asarray(np.sum(weigh_strata(n, self.strata.average) * means, axis=0))

    @property
    def is_bounded(self) -> NDArray[np.bool_]:
        """Whether so many answers of a model are unread that its score is given with its bound, shape (M,)."""
        return np.asarray(self.unparsed_share > MOST_UNPARSED)

    def count_unparsed_as_right(self) -> Cells:
        """Return the cells with a score of 1, in place of 0, for every unread answer; for scores in [0, 1]."""
        more = np.zeros(self.n.shape) if self.unparsed is None else np.minimum(self.unparsed, self.n - self.total)
        all_right = (more > 0) & (self.total + more >= self.n)
        return replace(
            self,
            total=self.total + more,
            total_sq=self.total_sq + more,
            minimum=None if self.minimum is None else np.where(all_right, 1, self.minimum),
            maximum=None if self.maximum is None else np.where(more > 0, 1, self.maximum),
            unparsed=None,
            outcomes=None,
        )

    def count_variants(self, model: str) -> int:
        """Return the number of variants under which a model has a score; where it is not known, that of all models."""
        return len(self.variants_of.get(model, self.variants))

    @property
    def within(self) -> FloatArray:
        """Unbiased variance s2 of the generations of each cell, shape (M, N); NaN if there are fewer than two."""
        return self.estimate_within(slice(None))

    def estimate_within(self, rows: slice) -> FloatArray:
        """Return the unbiased variance s2 of the generations of each cell of some models; NaN if fewer than two."""
        n, total, total_sq = self.n[rows], self.total[rows], self.total_sq[rows]
        several = n > 1
        # s2 = (sum y^2 - (sum y)^2 / n) / (n - 1); rounding may leave a tiny number of either sign where all scores are
        # equal, and a tiny variance would claim near certainty.
        square = np.zeros(n.shape)
        np.subtract(total_sq, total * (total / np.maximum(n, 1)), where=several, out=square)
        square[square <= _ROUNDING * total_sq * n] = 0
        if self.minimum is not None and self.maximum is not None:
            square[self.minimum[rows] == self.maximum[rows]] = 0
        s2: FloatArray = np.divide(square, n - 1, out=np.full(n.shape, np.nan), where=several)
        return s2

    @cached_property
    def unit(self) -> bool:
        """Whether every score lies in [0, 1].

        Where minimum and maximum are not known, only the sums are checked: sum y^2 <= sum y, which also holds for -0.2
        and 0.6 in one cell.
        """
        return all(bool(np.all(is_unit(*row))) for row in self._rows())

    @cached_property
    def binary(self) -> bool:
        """Whether every score is 0 or 1: y^2 = y holds for nothing else in [0, 1]. Known as far as `unit` is."""
        return all(bool(np.all(is_binary(*row))) for row in self._rows())

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """Return the arguments of `is_unit` for each model in turn, which keeps temporary arrays small."""
        minimum = repeat(None) if self.minimum is None else self.minimum
        maximum = repeat(None) if self.maximum is None else self.maximum
        return zip(self.n, self.total, self.total_sq, minimum, maximum, strict=False)

    def index(self, model: str) -> int:
        """Return the row of a model."""
        if model not in self.models:
            raise UnknownNameError("model", model, self.models, where=self.benchmark)
        return self.models.index(model)

    def select(self, models: Sequence[str] | None = None, questions: Sequence[str] | None = None) -> Cells:
        """Return the cells of these models and questions, in this order; None selects all of them."""
        models = self.models if models is None else tuple(models)
        rows = [self.index(model) for model in models]
        chosen = self.questions if questions is None else tuple(questions)
        column = {question: j for j, question in enumerate(self.questions)}
        if unknown := [question for question in chosen if question not in column]:
            raise UnknownNameError("question", unknown[0], self.questions, where=self.benchmark)
        columns = [column[question] for question in chosen]

        def part(array: Any) -> Any:
            return None if array is None else array[rows] if questions is None else array[np.ix_(rows, columns)]

        arrays = {name: part(getattr(self, name)) for name in ARRAYS}
        clusters = None if self.clusters is None else tuple(self.clusters[j] for j in columns)
        strata = self.strata and replace(self.strata, names=tuple(self.strata.names[j] for j in columns))
        return replace(self, models=models, questions=chosen, clusters=clusters, strata=strata, **arrays)

    def without(self, mask: NDArray[np.bool_]) -> Cells:
        """Return the cells without the scores of those in `mask`, shape (M, N)."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        nothing = {"minimum": np.nan, "maximum": np.nan}
        arrays_left: dict[str, Any] = {
            name: None if array is None else np.where(mask, nothing.get(name, 0), array).astype(array.dtype)
            for name, array in arrays.items()
        }
        return replace(self, **arrays_left)

    def __add__(self, other: Cells) -> Cells:
        """Merge generations of the same benchmark: names are united, counts and sums add up, extremes are kept.

        `outcomes` are kept where no cell is in both: there is no order of the generations of two sources.
        """
        if not isinstance(other, Cells):
            return NotImplemented
        if other.benchmark != self.benchmark:
            raise InputError(f"cells of {self.benchmark!r} and {other.benchmark!r} do not add up", where="Cells")
        models = tuple(dict.fromkeys(self.models + other.models))
        questions = tuple(dict.fromkeys(self.questions + other.questions))
        if self.strata != other.strata or (self.strata is not None and self.questions != other.questions):
            raise InputError("cells with other strata do not add up", where="Cells")
        row = {m: i for i, m in enumerate(models)}
        column = {q: j for j, q in enumerate(questions)}
        places = [
            np.ix_([row[m] for m in cells.models], [column[q] for q in cells.questions]) for cells in (self, other)
        ]

        def merge_array(name: str) -> NDArray[np.generic] | None:
            arrays = [getattr(cells, name) for cells in (self, other)]
            present = [(place, array) for place, array in zip(places, arrays, strict=True) if array is not None]
            if not present or (name == "outcomes" and (len(present) == 1 or self._overlaps(other))):
                return None
            merge = {"minimum": np.fmin, "maximum": np.fmax}.get(name, np.add)
            start = np.nan if name in {"minimum", "maximum"} else 0
            out = np.full((len(models), len(questions)), start, dtype=present[0][1].dtype)
            for place, array in present:
                out[place] = merge(out[place], array)
            return out

        arrays: dict[str, Any] = {name: merge_array(name) for name in ARRAYS}
        variants = tuple(sorted({*self.variants, *other.variants}))
        clusters = merge_clusters([self, other], questions)
        variants_of: dict[str, frozenset[str]] = {}
        if all(cells.variants_of or len(cells.variants) < 2 for cells in (self, other)):
            for cells in (self, other):
                every = frozenset(cells.variants)
                for model in cells.models:
                    variants_of[model] = variants_of.get(model, frozenset()) | cells.variants_of.get(model, every)
        days = {**self.days, **other.days}
        days = {model: day for model, day in days.items() if self.days.get(model, day) == day}
        arrays |= {"variants": variants, "variants_of": variants_of, "days": days, "strata": self.strata}
        return Cells(self.benchmark, models, questions, clusters=clusters, **arrays)

    def _overlaps(self, other: Cells) -> bool:
        """Return whether some cell has generations in both."""
        models, questions = (
            list(dict.fromkeys(names).keys() & set(others))
            for names, others in ((self.models, other.models), (self.questions, other.questions))
        )
        mine, theirs = (cells.select(models, questions).answered for cells in (self, other))
        return bool(np.any(mine & theirs))


def group_equal_models(cells: Cells) -> list[list[str]]:
    """Return groups of models with the same scores on every question, which are many and differ.

    >>> one, other = [[1], [0]] * 5, [[0], [1]] * 5
    >>> group_equal_models(Cells.from_scores("demo", ["a", "b", "c"], list("pqrstuvwxy"), [one, other, one]))
    [['a', 'c']]
    """
    groups: dict[bytes, list[str]] = {}
    for model, *arrays in zip(cells.models, cells.n, cells.total, cells.total_sq, strict=True):
        answered = arrays[0] > 0
        n_scores = len(np.unique(arrays[1][answered] / arrays[0][answered]))
        if n_scores > 1 and np.sum(answered) >= _FEWEST_EQUAL:
            groups.setdefault(b"".join((array + 0.0).tobytes() for array in arrays), []).append(model)
    return [models for models in groups.values() if len(models) > 1]


def merge_clusters(parts: Sequence[_Scored], questions: Sequence[str]) -> tuple[str, ...] | None:
    """Return the cluster of each question from parts of one benchmark; None if no part has clusters."""
    where = parts[0].benchmark
    if any(part.clusters is None for part in parts):
        if any(part.clusters is not None for part in parts):
            raise InputError("only some of the results have clusters", where=where, remedy="give them to all")
        return None
    cluster_of: dict[str, str] = {}
    for part in parts:
        for question, name in zip(part.questions, part.clusters or (), strict=True):
            if cluster_of.setdefault(question, name) != name:
                what = f"question {question!r} is in cluster {cluster_of[question]!r} and in {name!r}"
                raise InputError(what, where=where, remedy="a question has one cluster")
    return tuple(cluster_of[question] for question in questions)
