"""Many requests at once: an experiment to the rows of a run folder, resumed by being run again."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import msgspec
import numpy as np

from howsure.benchmarks import load
from howsure.benchmarks.question import Benchmark
from howsure.errors import HowsureError, InputError
from howsure.models.model import Model
from howsure.sample.event_loop import run_coroutine
from howsure.sample.experiment import Experiment, ModelEntry, load_experiment
from howsure.sample.model_config import open_model
from howsure.sample.prices import dollars
from howsure.sample.progress import JsonLines, Progress
from howsure.sample.sampling_plan import Asked
from howsure.sample.session import Session, Writer
from howsure.sample.snapshot import Outcome, Snapshot
from howsure.store.responses import RunFolder

__all__ = ["asked_for", "run", "run_experiment", "told"]

if TYPE_CHECKING:
    from howsure.models.batch_client import Batches
    from howsure.stats.core.cells import Cells


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


if TYPE_CHECKING:
    from howsure.stats.core.cells import Cells


def asked_for(path: Path, shard: str | None = None) -> Experiment:
    """The experiment of a file, or the shard "i/n" of it.

    Raises
    ------
    InputError
        When the file is not an experiment, or the shard is none, or decides what no shard can decide alone.
    """
    experiment = load_experiment(path)
    if shard is None:
        return experiment
    i, slash, n = shard.partition("/")
    if not (slash and i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise InputError(f"{shard!r} is not a part", where="--shard", remedy="write it as 2/8: the second of eight")
    if experiment.until is not None and int(n) > 1:
        remedy = "remove until; a shard does not see the answers of the others"
        raise InputError("a shard cannot stop early", where="--shard", remedy=remedy)
    return msgspec.structs.replace(experiment, shard=(int(i), int(n)))


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    retry: bool = False,
    reference: Sequence[Cells] | None = None,
    stream: TextIO | None = None,
    lines: TextIO | None = None,
) -> int:
    """Run it and say how it goes; returns the exit code.

    0 when every model did what it could within its budget, 2 when one was given up or could not start, 130 when it was
    interrupted.

    Parameters
    ----------
    retry
        Try again what failed in earlier sessions.
    reference
        What ``until: {borrow: ...}`` names, read.
    stream
        For a person; stderr by default.
    lines
        For a program: JSON lines in place of the progress for a person.
    """
    stream = stream or sys.stderr
    shown = JsonLines(lines) if lines is not None else Progress(stream)

    def on_interrupt(in_flight: int) -> None:
        again = f"{in_flight:,} requests in flight are awaited; interrupt again to drop them"
        print(f"howsure: {again}", file=stream, flush=True)

    try:
        with shown:
            running = run(
                experiment, folder, retry=retry, reference=reference, on_progress=shown, on_interrupt=on_interrupt
            )
            outcome = run_coroutine(running)
    except (KeyboardInterrupt, asyncio.CancelledError):
        if isinstance(shown, JsonLines):
            shown.end(130, folder=str(folder))
        print(f"howsure: interrupted; what arrived is kept in {folder}, run again to continue", file=stream)
        return 130
    except HowsureError as error:
        if isinstance(shown, JsonLines):
            shown.end(2, folder=str(folder), error=str(error))
        raise
    if isinstance(shown, JsonLines):
        shown.end(outcome.exit_code, outcome, folder=str(folder))
    for line in told(outcome, folder):
        print(f"howsure: {line}", file=stream)
    return outcome.exit_code


def told(outcome: Outcome, folder: Path) -> list[str]:
    """What is to say at the end, one line each."""
    lines = [f"warning: {warning}" for warning in outcome.warnings]
    lines += [f"{model.label}: {model.stopped}" for model in outcome.models if model.stopped]
    lines += [f"{model.label}: {model.spent}" for model in outcome.models if model.spent]
    lines += outcome.verdicts
    if outcome.failed:
        lines.append(f"{outcome.failed:,} generations failed; their rows say why, --retry failed tries them again")
    if lost := sum(model.lost for model in outcome.models):
        lines.append(f"{lost:,} generations had failed before; --retry failed tries them again")
    if saved := sum(model.saved_tokens for model in outcome.models):
        lines.append(f"{saved:,} prompt tokens saved by asking for several generations at once")
    if outcome.is_interrupted:
        lines.append(f"interrupted; what arrived is kept in {folder}, run again to continue")
    elif outcome.is_stopped or any(model.spent for model in outcome.models):
        lines.append(f"what arrived is kept in {folder}, run again to continue")
    else:
        there = sum(model.there - model.lost for model in outcome.models)
        costs = [model.cost for model in outcome.models if model.cost is not None]
        lines.append(
            f"{outcome.done:,} generations in {outcome.seconds:.1f} s"
            + (f" for {dollars(sum(costs))}" if any(costs) else "")
            + (f", {there:,} were there" if there else "")
            + f": {folder}"
        )
    return lines
