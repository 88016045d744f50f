"""Many requests at once: an experiment to the rows of a run folder, resumed by being run again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from errorbar.benchmarks import load
from errorbar.benchmarks.question import Benchmark, Prompt, Question
from errorbar.errors import ErrorbarError, InputError
from errorbar.sample import record
from errorbar.sample.experiment import Experiment, ModelEntry
from errorbar.sample.grid import Missing, missing, sampled
from errorbar.sample.lane import Lane
from errorbar.sample.model import Model
from errorbar.sample.models import open_model
from errorbar.sample.progress import ModelProgress, Snapshot, mean_and_half_width
from errorbar.store.responses import RunFolder, read
from errorbar.store.schema import Response

__all__ = ["ModelOutcome", "Outcome", "run"]

#: Rows per transaction, and seconds between two of them: what a kill can lose.
BATCH, FLUSH_SECONDS = 1000, 0.5


@dataclass(frozen=True)
class ModelOutcome:
    """What became of one model: `wanted` generations, `there` before, `done` and `failed` in this session."""

    label: str
    wanted: int
    there: int
    done: int
    failed: int
    stopped: str | None
    """Why it was given up, or None. What it still owes has no rows; running again continues."""


@dataclass(frozen=True)
class Outcome:
    """What became of a run."""

    models: tuple[ModelOutcome, ...]
    warnings: tuple[str, ...]
    """What the numbers should be read with."""
    seconds: float

    @property
    def done(self) -> int:
        """Generations that arrived in this session."""
        return sum(model.done for model in self.models)

    @property
    def failed(self) -> int:
        """Generations that failed for good in this session; running again tries them again."""
        return sum(model.failed for model in self.models)

    @property
    def is_complete(self) -> bool:
        """Whether every wanted generation has arrived, now or earlier."""
        return all(model.there + model.done == model.wanted for model in self.models)

    @property
    def nothing_ran(self) -> bool:
        """Whether every model that owed something was given up without a single row."""
        owing = [model for model in self.models if model.there < model.wanted]
        return bool(owing) and all(model.stopped and not model.done and not model.failed for model in owing)


async def run(
    experiment: Experiment,
    folder: Path,
    *,
    on_progress: Callable[[Snapshot], None] | None = None,
    benchmark: Benchmark | None = None,
    open_model: Callable[[ModelEntry, Benchmark], Model] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    rng: np.random.Generator | None = None,
) -> Outcome:
    """Sample what `experiment` wants and `folder` does not have yet.

    Cancelling it, like a kill, loses the requests in flight (a kill also the last half second) and nothing else.

    Parameters
    ----------
    folder
        Run folder; made when it is missing. Failed rows in it are tried again.
    on_progress
        Called twice a second, and once at the end, with how the run stands.
    benchmark
        Instead of the one that the experiment names.
    open_model
        Makes the models; by default `models.open_model` with the experiment's seed.
    sleep, clock, rng
        How retries wait, what they measure time with, and their jitter.

    Raises
    ------
    InputError
        Before anything is sent, when the experiment does not fit the folder, or a key or model does not exist.
    StoreError
        When the folder cannot be written.
    """
    benchmark = benchmark or load(experiment.benchmark, base=experiment.base)
    questions = sampled(benchmark.questions, seed=experiment.seed, limit=experiment.limit)
    prompts = _prompts(experiment, benchmark)
    started = clock()
    async with _opened(experiment, benchmark, open_model) as models:
        with RunFolder(folder) as store:
            record.begin(folder, experiment, benchmark, prompts)
            writer = _Writer(store)
            rng = rng or np.random.default_rng(experiment.seed)
            lanes = {
                entry.label: Lane(
                    entry, model, benchmark, questions, prompts, writer.put, sleep=sleep, clock=clock, rng=rng
                )
                for entry, model in zip(experiment.models, models, strict=True)
            }
            owed = _owed(store, lanes)
            _put_prompts(store, benchmark, questions, prompts, owed)
            if on_progress is not None and any(m.there for m in owed.values()):
                _recall(folder, benchmark, lanes)

            def snapshot(*, final: bool = False) -> Snapshot:
                return _snapshot(lanes, owed, clock() - started, final=final)

            try:
                await _together(lanes, owed, writer, lambda: on_progress and on_progress(snapshot()))
            finally:
                writer.flush()
                record.finish(folder, lanes.values())
            if on_progress is not None:
                on_progress(snapshot(final=True))
            outcome = _outcome(lanes, owed, clock() - started)
            if all(m.there + m.done + m.failed == m.wanted for m in outcome.models):
                store.compact()
            return outcome


class _Writer:
    """Rows to the folder in batches; the only one that writes.

    Written in the event loop's own thread: whoever produces rows waits while a batch is made durable, and a cancelled
    run leaves no thread that still writes.
    """

    def __init__(self, store: RunFolder) -> None:
        self._store = store
        self._rows: list[Response] = []

    def put(self, rows: list[Response]) -> None:
        self._rows += rows
        if len(self._rows) >= BATCH:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._store.append(self._rows)
            self._rows = []


async def _together(
    lanes: dict[str, Lane], owed: dict[str, Missing], writer: _Writer, show: Callable[[], object]
) -> None:
    """All lanes side by side, with a flush and a look every half second."""

    async def tick() -> None:
        while True:
            show()
            await asyncio.sleep(FLUSH_SECONDS)
            writer.flush()

    async def sample() -> None:
        async with asyncio.TaskGroup() as group:
            for label, lane in lanes.items():
                questions = [question.id for question in lane.questions]
                group.create_task(lane.run(owed[label].units(questions, lane.ids, lane.entry.generations)))
        ticking.cancel()

    try:
        async with asyncio.TaskGroup() as group:
            ticking = group.create_task(tick())
            group.create_task(sample())
    except BaseExceptionGroup as group:
        raise _first(group) from None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that is ours, out of what task groups wrap; the group itself when none is."""
    for error in group.exceptions:
        found = _first(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(found, ErrorbarError):
            return found
    return group


@asynccontextmanager
async def _opened(
    experiment: Experiment, benchmark: Benchmark, make: Callable[[ModelEntry, Benchmark], Model] | None
) -> AsyncIterator[list[Model]]:
    models: list[Model] = []
    try:
        for entry in experiment.models:
            models.append(  # noqa: PERF401  those opened before a failure are closed too
                make(entry, benchmark) if make else open_model(entry, benchmark, seed=experiment.seed)
            )
        yield models
    finally:
        for model in models:
            await model.close()


def _prompts(experiment: Experiment, benchmark: Benchmark) -> list[Prompt]:
    prompts = [variant.prompt(benchmark.prompt) for variant in experiment.variants]
    if len({prompt.id for prompt in prompts}) < len(prompts):
        remedy = "remove one, or give it other words"
        raise InputError("two variants ask with the same words", where="variants", remedy=remedy)
    return prompts


def _owed(store: RunFolder, lanes: dict[str, Lane]) -> dict[str, Missing]:
    owed = {}
    for label, lane in lanes.items():
        present = store.present(lane.benchmark.name, label, failed=False)
        ids = [question.id for question in lane.questions]
        owed[label] = missing(ids, lane.ids, lane.entry.generations, present)
    return owed


def _put_prompts(
    store: RunFolder,
    benchmark: Benchmark,
    questions: Sequence[Question],
    prompts: Sequence[Prompt],
    owed: dict[str, Missing],
) -> None:
    """Keep the prompts that no row stands for yet: a row is never there before its prompt."""
    known = set().union(*(m.masks for m in owed.values()))
    store.put_prompts(
        (benchmark.name, question.id, prompt.id, prompt.messages(question), question.target)
        for prompt in prompts
        for question in questions
        if (question.id, prompt.id) not in known
    )


def _recall(folder: Path, benchmark: Benchmark, lanes: dict[str, Lane]) -> None:
    """Start the running means from the scores that are there."""
    from errorbar.store.tables import cells

    for found in cells(read(folder, ["benchmark", "model", "question", "score"]), where=str(folder)):
        if found.benchmark == benchmark.name:
            place = {question: j for j, question in enumerate(found.questions)}
            for i, label in enumerate(found.models):
                if lane := lanes.get(label):
                    at = [place.get(question.id) for question in lane.questions]
                    lane.n = [0 if j is None else int(found.n[i, j]) for j in at]
                    lane.total = [0.0 if j is None else float(found.total[i, j]) for j in at]


def _snapshot(lanes: dict[str, Lane], owed: dict[str, Missing], seconds: float, *, final: bool) -> Snapshot:
    models = []
    for label, lane in lanes.items():
        mean, half_width = mean_and_half_width(lane.n, lane.total)
        models.append(
            ModelProgress(
                label=label,
                wanted=owed[label].wanted,
                there=owed[label].there,
                done=lane.done,
                failed=lane.failed,
                mean=mean,
                half_width=half_width,
                trouble=lane.stopped or lane.trouble or "",
            )
        )
    return Snapshot(seconds=seconds, models=tuple(models), final=final)


def _outcome(lanes: dict[str, Lane], owed: dict[str, Missing], seconds: float) -> Outcome:
    models = tuple(
        ModelOutcome(label, owed[label].wanted, owed[label].there, lane.done, lane.failed, lane.stopped)
        for label, lane in lanes.items()
    )
    warnings = tuple(f"{label}: {note}" for label, lane in lanes.items() for note in lane.notes)
    return Outcome(models, warnings, seconds)
