"""The running scores of one model: what progress shows, and what stopping early is decided on.

A *round value* is the mean over all variants of one (question, generation), there once every variant has its score.
Because the variants are the same fixed set in each, the round values of a question are independent draws of one law,
and their spread is sampling noise alone: how much harder one wording is than another shifts all of them alike. Single
generations pooled over the variants would show that difference too, and call prompt noise sampling noise.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howsure.errors import InputError
from howsure.sample.progress import mean_and_half_width
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
        # array.array adds to one element in a third of numpy's time
        self._sum: defaultdict[int, array[float]] = defaultdict(lambda: array("d", bytes(8 * size)))
        self._count: defaultdict[int, array[int]] = defaultdict(lambda: array("I", bytes(4 * size)))

    def add(self, question: int, generation: int, score: float) -> None:
        """Count one score: `question` is a place in `questions`, `generation` is 1-based. Each cell once."""
        self._sum[generation][question] += score
        self._count[generation][question] += 1

    def add_all(self, question: int, generations: Sequence[int], scores: Sequence[float | None]) -> None:
        """Count what one request brought for one variant; None, a failed generation, counts nowhere."""
        sums, counts = self._sum, self._count
        for generation, score in zip(generations, scores, strict=True):
            if score is not None:
                sums[generation][question] += score
                counts[generation][question] += 1

    def load(self, question: ArrayLike, generation: ArrayLike, score: ArrayLike) -> None:
        """Count many at once, such as all that a run folder has; three arrays of one length, a row per scored cell.

        Several variants of a (question, generation) are several rows; only those of this run may be among them.
        """
        q, g, y = np.asarray(question, np.int64), np.asarray(generation, np.int64), np.asarray(score, float)
        N = len(self.questions)
        if not q.shape == g.shape == y.shape or q.ndim != 1:
            raise InputError(f"shapes {q.shape}, {g.shape} and {y.shape}", where="Tally.load", remedy="give one length")
        if not (np.all(np.isfinite(y)) and np.all((q >= 0) & (q < N)) and np.all(g >= 1)):
            raise InputError("a row without a score, a known question or a generation from 1 on", where="Tally.load")
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

    def mean_and_half_width(self) -> tuple[float, float]:
        """Mean of question means over whatever generations are scored, and half its 95 % interval for new questions."""
        n = np.zeros(len(self.questions), np.int64)
        total = np.zeros(len(self.questions))
        for generation in sorted(self._count):
            n += np.frombuffer(self._count[generation], np.uintc)
            total += np.frombuffer(self._sum[generation])
        return mean_and_half_width(n.tolist(), total.tolist())

    def floor(self, upto: int | None = None) -> float:
        """`stopping.FLOOR` in units of round values up to a round, 0 where some score was not 0 or 1.

        A round value is the mean of V scores, so five differing pairs of scores leave 1/V^2 of it in its squares.
        """
        from howsure.stats.sequential import VARIANCE_FLOOR

        sums, counts = self._arrays(upto)
        is_binary = np.all((sums == np.rint(sums)) & (sums >= 0) & (sums <= counts))
        return VARIANCE_FLOOR / self.variants**2 if is_binary else 0.0

    def cells(self, benchmark: str, model: str, upto: int | None = None) -> Cells:
        """Counts, sums and sums of squares of the round values of rounds 1 to `upto`, shape (1, N); None: of all."""
        values, there = self._values(upto)
        return self._cells(benchmark, model, values, there)

    def between(self, benchmark: str, model: str, after: IntArray, upto: IntArray) -> Cells:
        """The same of the generations of each question that follow `after` and end with `upto`, shape (N,) both."""
        values, there = self._values(None)
        generation = np.array(sorted(self._count), np.int64)[:, None]
        there &= (generation > after) & (generation <= upto)
        return self._cells(benchmark, model, np.where(there, values, 0), there)

    def runs(self, benchmark: str, model: str, upto: int) -> list[Cells]:
        """The rounds 1 to `upto`, one `Cells` each."""
        values, there = self._values(upto)
        return [self._cells(benchmark, model, values[[t]], there[[t]]) for t in range(upto)]

    def _arrays(self, upto: int | None) -> tuple[NDArray[np.float64], NDArray[np.integer]]:
        """Sums and counts of generations 1 to `upto`, shape (upto, N); of all that are there where it is None."""
        names = sorted(self._count) if upto is None else range(1, upto + 1)
        shape = len(names), len(self.questions)
        sums, counts = np.zeros(shape), np.zeros(shape, np.uintc)
        for row, name in enumerate(names):
            if name in self._count:
                sums[row] = np.frombuffer(self._sum[name])
                counts[row] = np.frombuffer(self._count[name], np.uintc)
        return sums, counts

    def _values(self, upto: int | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Round values, 0 where there is none, and where there are, shape (upto, N)."""
        sums, counts = self._arrays(upto)
        there = counts == self.variants
        return np.where(there, sums / self.variants, 0), there

    def _cells(self, benchmark: str, model: str, values: NDArray[np.float64], there: NDArray[np.bool_]) -> Cells:
        n, total, total_sq = (np.sum(each, axis=0)[None] for each in (there.astype(np.int64), values, values**2))
        some = np.where(there, values, np.nan)
        minimum, maximum = (of.reduce(some, axis=0, initial=np.nan)[None] for of in (np.fmin, np.fmax))
        names = benchmark, (model,), self.questions
        return Cells(*names, n, total, total_sq, minimum=minimum, maximum=maximum)
