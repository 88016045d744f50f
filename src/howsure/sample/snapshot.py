"""Define the state of a run while it samples (`Snapshot`) and when it has ended (`Outcome`)."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict, deque
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, IntArray

#: Seconds over which the rate is measured.
WINDOW = 30.0


class ModelState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one model on one benchmark in a session of a run, and in the end how it ended."""

    label: str
    benchmark: str = ""
    """Name of the benchmark; "" if the run has only one."""
    wanted: int
    """Number of all generations; an upper bound where the model may stop early."""
    there: int = 0
    """Number of those that earlier sessions sampled."""
    lost: int = 0
    """Number of the generations `there` that had failed and were not tried again."""
    outage: int = 0
    """Generations that were requested again because they had failed while the endpoint did not answer."""
    done: int = 0
    """Generations that arrived in this session."""
    failed: int = 0
    """Generations that failed in this session and are not tried again."""
    mean: float = math.nan
    """Mean of question means."""
    low: float = math.nan
    high: float = math.nan
    """Limits of its 95 % interval for new questions, as `howsure score` prints it; NaN where it does not exist."""
    trouble: str = ""
    """The current failure, or why the model was given up."""
    stopped: str | None = None
    """Why the model was given up, or None. Missing generations have no rows; a later session samples them."""
    spent: str | None = None
    """The limit of the budget that ended the model, or None."""
    may_stop: bool = False
    """Whether it may stop early."""
    is_stopped_early: bool = msgspec.field(default=False, name="is_enough")
    """Whether it was stopped early because its interval is narrow enough."""
    is_over: bool = False
    """Whether it sends no more requests: all are done, it stopped early, or it was given up."""
    tokens: int = 0
    """Tokens of prompts and completions in this session."""
    saved_tokens: int = 0
    """Prompt tokens that were not billed because several generations came with one request."""
    cost: int | None = None
    """Picodollars of this session; None where the price is unknown."""
    requests: int = 0
    """Requests answered or failed in this session."""
    in_flight: int = 0
    """Requests of the model without an answer yet, on all benchmarks."""
    window: int = 0
    """Requests in flight that are allowed now."""
    note: str = ""
    """A remark, such as "round 6"."""
    rate: float = math.nan
    """Recent generations per second (see `RecentRate`); NaN means that the average of the session is used."""

    @property
    def name(self) -> str:
        """The label of the model, with the benchmark if the run has several."""
        return f"{self.label}, {self.benchmark}" if self.benchmark else self.label

    @property
    def is_complete(self) -> bool:
        """Whether every generation that is wanted has arrived, in this session or earlier."""
        return self.is_stopped_early or self.there - self.lost + self.done == self.wanted

    @property
    def is_settled(self) -> bool:
        """Whether every generation that is wanted has arrived or failed."""
        return self.is_stopped_early or self.there + self.done + self.failed == self.wanted

    @property
    def missing(self) -> int:
        """The generations that have neither arrived nor failed; 0 when no more are requested."""
        return 0 if self.is_over else self.wanted - self.there - self.done - self.failed

    def per_second(self, seconds: float) -> float:
        """Return the recent generations per second, or else the average of the session; 0 at the start."""
        if not math.isnan(self.rate):
            return self.rate
        return (self.done + self.failed) / seconds if seconds > 0 else 0.0

    def seconds_left(self, seconds: float) -> float:
        """Return the seconds until nothing is missing; NaN if nothing arrives."""
        rate = self.per_second(seconds)
        return 0.0 if not self.missing else self.missing / rate if rate > 0 else math.nan


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a run at a time in this session."""

    seconds: float
    models: tuple[ModelState, ...]
    final: bool = False


class RecentRate:
    """Add the rate of the last 30 s to snapshots, so that a slow start or a pause does not distort the rate."""

    def __init__(self, window: float = WINDOW) -> None:
        self.window = window
        self._past: deque[tuple[float, dict[tuple[str, str], int]]] = deque([(0.0, {})])

    def add_rates(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the `rate` of each model; the last one has the average of the session."""
        counts = {(model.benchmark, model.label): model.done + model.failed for model in snapshot.models}
        while len(self._past) > 1 and self._past[1][0] <= snapshot.seconds - self.window:
            self._past.popleft()
        then, before = (0.0, {}) if snapshot.final else self._past[0]
        elapsed = snapshot.seconds - then
        # Keep one snapshot per second, so that the list stays small.
        if snapshot.seconds >= self._past[-1][0] + 1:
            self._past.append((snapshot.seconds, counts))
        if elapsed <= 0:
            return snapshot
        models = (
            msgspec.structs.replace(model, rate=(counts[key] - before.get(key, 0)) / elapsed)
            for model, key in zip(snapshot.models, counts, strict=True)
        )
        return msgspec.structs.replace(snapshot, models=tuple(models))


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run."""

    models: tuple[ModelState, ...]
    verdicts: tuple[str, ...] = ()
    """For each model, or pair, why and after how many rounds it ended."""
    warnings: tuple[str, ...] = ()
    """Remarks that matter for the interpretation of the scores."""
    seconds: float = 0.0
    is_interrupted: bool = False

    @property
    def done(self) -> int:
        """Generations that arrived in this session."""
        return sum(model.done for model in self.models)

    @property
    def failed(self) -> int:
        """Generations that failed in this session and are not tried again."""
        return sum(model.failed for model in self.models)

    @property
    def is_complete(self) -> bool:
        """Whether every wanted generation has arrived, in this session or earlier."""
        return all(model.is_complete for model in self.models)

    @property
    def is_stopped(self) -> bool:
        """Whether a model was given up."""
        return any(model.stopped for model in self.models)

    @property
    def exit_code(self) -> int:
        """0 if every model did all that its budget allows, 2 if one was given up, and 130 after an interrupt."""
        return 130 if self.is_interrupted else 2 if self.is_stopped else 0


class Tally:
    """Add up scores as they arrive, over the variants of each (question, generation).

    Each generation has two flat arrays with 12 bytes per question: 12,187 questions x 50 generations take 7 MB, for any
    number of variants. A generation beyond the wanted ones gets arrays of its own.

    Parameters
    ----------
    questions
        Ids of the questions, in the order of the run.
    variants
        Number of prompt variants of each question.
    generations
        Number of generations that are wanted.

    Examples
    --------
    >>> tally = Tally(["q1", "q2"], variants=1, generations=2)
    >>> tally.add_all(0, (1, 2), (1.0, 0.0))
    >>> tally.pooled_cells("sums", "m").n.tolist()
    [[2, 0]]
    """

    def __init__(self, questions: Sequence[str], variants: int, generations: int) -> None:
        self.questions, self.variants, self.generations = tuple(questions), variants, generations
        size = len(self.questions)
        # Adding to one element of an array.array takes a third of the time that numpy takes.
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
        """Add many scores at once, such as those of a run folder, as three arrays with one element per scored cell.

        Several variants of a (question, generation) are several elements; all must be variants of this run.
        """
        q, g, y = np.asarray(question, np.int64), np.asarray(generation, np.int64), np.asarray(score, float)
        N = len(self.questions)
        if not q.shape == g.shape == y.shape or q.ndim != 1:
            raise InputError(f"shapes {q.shape}, {g.shape} and {y.shape}", where="Tally.load", remedy="give one length")
        if not (np.all(np.isfinite(y)) and np.all((q >= 0) & (q < N)) and np.all(g >= 1)):
            raise InputError("a row has no score, an unknown question or a generation below 1", where="Tally.load")
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
        """Return the cells of all generations, pooled over the variants as `howsure score` pools them.

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
        # The smallest and largest scores are used only to check whether all scores lie in [0, 1].
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

        A round value is the mean of V scores, so its variance floor is 1/V^2 of that of single scores.
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
        """Return the round values (0 where there is none), and a mask of where they exist, both of shape (upto, N)."""
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
