"""Many requests at once: an experiment to the rows of a run folder, resumed by being run again."""

from __future__ import annotations

import asyncio
import gc
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from howsure.benchmarks import load
from howsure.benchmarks.question import Benchmark
from howsure.errors import HowsureError
from howsure.models.model import Model
from howsure.sample.asked import Asked
from howsure.sample.experiment import Experiment, ModelEntry
from howsure.sample.opening import open_model
from howsure.sample.outcome import Outcome
from howsure.sample.session import Session
from howsure.sample.snapshot import Snapshot
from howsure.sample.writer import Writer
from howsure.store.responses import RunFolder

if TYPE_CHECKING:
    from howsure.models.batch_client import Batches
    from howsure.stats.core.cells import Cells

__all__ = ["run"]

#: Seconds between two transactions at most: what a kill can lose.
FLUSH_SECONDS = 0.5
#: Objects made between two searches for cyclic garbage, 700 by default.
COLLECT = 100_000


async def run(
    experiment: Experiment,
    folder: Path,
    *,
    retry: bool = False,
    on_progress: Callable[[Snapshot], None] | None = None,
    on_interrupt: Callable[[int], None] | None = None,
    benchmark: Benchmark | None = None,
    reference: Sequence[Cells] | None = None,
    open_model: Callable[[ModelEntry, Benchmark], Model] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    rng: np.random.Generator | None = None,
) -> Outcome:
    """Sample what `experiment` wants and `folder` does not have yet.

    An interrupt (Ctrl-C) lets the requests in flight bring their rows; a second one drops them. Cancelling it, like a
    kill, loses the requests in flight (a kill also the last half second) and nothing else.

    Parameters
    ----------
    folder
        Run folder; made when it is missing.
    retry
        Try again what failed in earlier sessions.
    on_progress
        Called twice a second, and once at the end, with how the run stands.
    on_interrupt
        Called at the first interrupt with the number of requests in flight.
    benchmark
        Instead of the one that the experiment names.
    reference
        What ``until: {borrow: ...}`` names, read.
    open_model
        Makes the models; by default `models.open_model` with the experiment's seed.
    sleep, clock, rng
        How retries wait, what they measure time with, and their jitter.

    Raises
    ------
    InputError
        Before anything is sent, when the experiment does not fit the folder, or a key, model or price does not exist.
    StoreError
        When the folder cannot be written.
    """
    benchmark = benchmark or load(experiment.benchmark, base=experiment.base)
    asked = Asked.of(experiment, benchmark)
    started = clock()
    async with _opened(experiment, asked.benchmark, open_model) as models:
        with RunFolder(folder) as store:
            writer = Writer(store)
            rng = rng or np.random.default_rng(experiment.seed)
            session = Session(
                asked, models, writer, retry=retry, sleep=sleep, clock=clock, rng=rng, reference=reference
            )

            def show(*, final: bool = False) -> None:
                if on_progress is not None:
                    on_progress(session.snapshot(clock() - started, final=final))

            try:
                with _interrupts(session, on_interrupt), _few_collections():
                    await _together(session, writer, show)
            finally:
                writer.flush()
                session.end()
            show(final=True)
            outcome = session.outcome(clock() - started)
            if session.is_settled:
                store.compact()
            return outcome


async def _together(session: Session, writer: Writer, show: Callable[[], object]) -> None:
    """All lanes side by side, with a flush and a look every half second."""

    async def tick() -> None:
        while True:
            show()
            await asyncio.sleep(FLUSH_SECONDS)
            writer.flush()
            session.account.keep()

    async def one(label: str) -> None:
        async with aclosing(session.plan(label)) as units:
            await session.lanes[label].run(units)
        session.over.add(label)

    async def sample() -> None:
        async with asyncio.TaskGroup() as group:
            for label in session.lanes:
                group.create_task(one(label))
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
        if isinstance(found, HowsureError):
            return found
    return group


@contextmanager
def _interrupts(session: Session, told: Callable[[int], None] | None) -> Iterator[None]:
    """The first interrupt ends the lanes in good order, the second cancels the run."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def interrupted() -> None:
        if session.is_interrupted:
            task.cancel()
            return
        session.interrupt()
        if told is not None:
            told(session.in_flight)

    try:
        loop.add_signal_handler(signal.SIGINT, interrupted)
    except (NotImplementedError, RuntimeError, ValueError):  # no signals here: another thread, or Windows
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Requests and rows make no cycles, and looking for some takes a tenth of the time: look seldom."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@asynccontextmanager
async def _opened(
    experiment: Experiment, benchmark: Benchmark, make: Callable[[ModelEntry, Benchmark], Model] | None
) -> AsyncIterator[list[Model | Batches]]:
    models: list[Model | Batches] = []
    try:
        for entry in experiment.models:
            models.append(  # noqa: PERF401  those opened before a failure are closed too
                make(entry, benchmark) if make else open_model(entry, benchmark, seed=experiment.seed)
            )
        yield models
    finally:
        for model in models:
            await model.close()
