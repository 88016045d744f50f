"""The running scores of one model, for the progress display and for early stopping.

A *round value* is the mean over all variants of one (question, generation); it exists once every variant has its score.
Because the variants are the same fixed set in each, the round values of a question are independent draws from one
distribution, and their variance is sampling noise alone: a difficult wording shifts all of them equally. The variance
of single generations pooled over the variants would count the differences between wordings as sampling noise.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, IntArray

__all__ = ["Tally"]


class Tally:
    """Scores as they arrive, summed over the variants of each (question, generation).

    Two flat arrays per generation, 12 bytes per question: 7 MB for 12,187 questions x 50 generations, whatever the
    number of variants. A generation beyond those wanted gets arrays of its own.

    Parameters
    ----------
    questions
        Ids, in the order of the run.
    variants
        How many prompt variants each question has.
    generations
        How many are wanted.
    """

    def __init__(self, questions: Sequence[str], variants: int, generations: int) -> None:
        self.questions, self.variants, self.generations = tuple(questions), variants, generations
        size = len(self.questions)
        # array.array adds to one element in a third of the time that numpy takes.
        self._sum: defaultdict[int, array[float]] = defaultdict(lambda: array("d", bytes(8 * size)))
        self._count: defaultdict[int, array[int]] = defaultdict(lambda: array("I", bytes(4 * size)))
        self._sum_of_squares = array("d", bytes(8 * size))
        self._all_in_unit = True

    def add_all(self, question: int, generations: Sequence[int], scores: Sequence[float | None]) -> None:
        """Add the scores that one request brought for one variant; None, a failed generation, is not counted.

        `question` is an index in `questions`, generations are 1-based. Each cell may be added once.
        """
        sums, counts, squares = self._sum, self._count, 0.0
        for generation, score in zip(generations, scores, strict=True):
            if score is not None:
                sums[generation][question] += score
                counts[generation][question] += 1
                squares += score * score
                if not 0 <= score <= 1:
                    self._all_in_unit = False
        self._sum_of_squares[question] += squares

    def load(self, question: ArrayLike, generation: ArrayLike, score: ArrayLike) -> None:
        """Add many scores at once, such as all of a run folder: three arrays with one element per scored cell.

        Several variants of a (question, generation) are several elements; all must be variants of this run.
        """
        q, g, y = np.asarray(question, np.int64), np.asarray(generation, np.int64), np.asarray(score, float)
        N = len(self.questions)
        if not q.shape == g.shape == y.shape or q.ndim != 1:
            raise InputError(f"shapes {q.shape}, {g.shape} and {y.shape}", where="Tally.load", remedy="give one length")
        if not (np.all(np.isfinite(y)) and np.all((q >= 0) & (q < N)) and np.all(g >= 1)):
            raise InputError("a row without a score, a known question or a generation from 1 on", where="Tally.load")
        np.frombuffer(self._sum_of_squares)[:] += np.bincount(q, y**2, minlength=N)
        self._all_in_unit &= bool(np.all((y >= 0) & (y <= 1)))
        order = np.argsort(g, kind="stable")
        names, starts = np.unique(g[order], return_index=True)
        for name, start, end in zip(names.tolist(), starts, [*starts[1:], len(g)][: len(names)], strict=True):
            rows = order[start:end]
            counts = np.frombuffer(self._count[name], np.uintc)
            counts += np.bincount(q[rows], minlength=N).astype(np.uintc)
            np.frombuffer(self._sum[name])[:] += np.bincount(q[rows], y[rows], minlength=N)
            if np.any(counts > self.variants):
                what = f"generation {name} of a question has more scores than the {self.variants} variants"
                raise InputError(what, where="Tally.load", remedy="give each (question, variant, generation) once")

    def pooled_cells(self, benchmark: str, model: str, clusters: tuple[str, ...] | None = None) -> Cells:
        """Return the cells of all generations pooled over the variants, as `howsure score` reads them from the folder.

        Parameters
        ----------
        clusters
            Cluster of each question, or None.
        """
        n = np.zeros(len(self.questions), np.int64)
        total = np.zeros(len(self.questions))
        for generation in sorted(self._count):
            n += np.frombuffer(self._count[generation], np.uintc)
            total += np.frombuffer(self._sum[generation])
        squares = np.frombuffer(self._sum_of_squares).copy()
        # Cells use the smallest and largest scores only to know whether all scores lie in [0, 1].
        bounds = (0.0, 1.0) if self._all_in_unit else (-np.inf, np.inf)
        minimum, maximum = (np.where(n > 0, bound, np.nan)[None] for bound in bounds)
        return Cells(
            benchmark,
            (model,),
            self.questions,
            n[None],
            total[None],
            squares[None],
            clusters=clusters,
            minimum=minimum,
            maximum=maximum,
        )

    def variance_floor(self, upto: int | None = None) -> float:
        """Return `stats.sequential.VARIANCE_FLOOR` in units of round values up to a round; 0 if a score was not 0 or 1.

        A round value is the mean of V scores, so five pairs of different scores leave 1/V^2 of it in its squares.
        """
        from howsure.stats.sequential import VARIANCE_FLOOR

        sums, counts = self._arrays(upto)
        is_binary = np.all((sums == np.rint(sums)) & (sums >= 0) & (sums <= counts))
        return VARIANCE_FLOOR / self.variants**2 if is_binary else 0.0

    def cells(self, benchmark: str, model: str, upto: int | None = None) -> Cells:
        """Return the cells of the round values of rounds 1 to `upto`, shape (1, N); None for all rounds."""
        return self._build_cells(benchmark, model, *self._round_values(upto))

    def between(self, benchmark: str, model: str, after: IntArray, upto: IntArray) -> Cells:
        """Return the cells of the generations after `after` up to `upto` of each question, both of shape (N,)."""
        values, exists = self._round_values(None)
        generation = np.array(sorted(self._count), np.int64)[:, None]
        exists &= (generation > after) & (generation <= upto)
        return self._build_cells(benchmark, model, np.where(exists, values, 0), exists)

    def runs(self, benchmark: str, model: str, upto: int) -> list[Cells]:
        """Return the cells of each of the rounds 1 to `upto`."""
        values, exists = self._round_values(upto)
        return [self._build_cells(benchmark, model, values[[t]], exists[[t]]) for t in range(upto)]

    def _arrays(self, upto: int | None) -> tuple[NDArray[np.float64], NDArray[np.integer]]:
        """Return sums and counts of generations 1 to `upto`, or of all, shape (upto, N)."""
        names = sorted(self._count) if upto is None else range(1, upto + 1)
        shape = len(names), len(self.questions)
        sums, counts = np.zeros(shape), np.zeros(shape, np.uintc)
        for row, name in enumerate(names):
            if name in self._count:
                sums[row] = np.frombuffer(self._sum[name])
                counts[row] = np.frombuffer(self._count[name], np.uintc)
        return sums, counts

    def _round_values(self, upto: int | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the round values, 0 where there is none, and where there are some, shape (upto, N)."""
        sums, counts = self._arrays(upto)
        exists = counts == self.variants
        return np.where(exists, sums / self.variants, 0), exists

    def _build_cells(self, benchmark: str, model: str, values: NDArray[np.float64], exists: NDArray[np.bool_]) -> Cells:
        """Return the cells of round values, shape (1, N)."""
        n, total, total_sq = (np.sum(each, axis=0)[None] for each in (exists.astype(np.int64), values, values**2))
        present = np.where(exists, values, np.nan)
        minimum, maximum = (reduction.reduce(present, axis=0, initial=np.nan)[None] for reduction in (np.fmin, np.fmax))
        names = benchmark, (model,), self.questions
        return Cells(*names, n, total, total_sq, minimum=minimum, maximum=maximum)
