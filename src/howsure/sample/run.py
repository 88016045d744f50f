"""Run an experiment: sample the generations that its run folder lacks, and display the progress."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

import msgspec
import numpy as np

from howsure.benchmarks.question import Benchmark
from howsure.errors import HowsureError, InputError, StoreError
from howsure.models.model import Model
from howsure.safe_text import escape_control_characters, inflect_text
from howsure.sample.benchmark_session import BenchmarkSession
from howsure.sample.budget import outlasts_session
from howsure.sample.experiment import Experiment, load_experiment
from howsure.sample.model_config import ModelConfig, open_model
from howsure.sample.prices import format_dollars
from howsure.sample.progress import JsonLines, LastingStream, Progress
from howsure.sample.sampling_plan import SamplingPlan, build_plans
from howsure.sample.scored_rows import RowWriter
from howsure.sample.session import Session
from howsure.sample.snapshot import ModelState, Outcome, Snapshot
from howsure.store.responses import RunFolder

if TYPE_CHECKING:
    from howsure.models.batch_client import BatchClient
    from howsure.stats.core.cells import Cells


#: Signals that end a run: the first one waits for the requests in flight.
INTERRUPTS = ("SIGINT", "SIGTERM", "SIGHUP")
#: Seconds between two transactions, and between two reports of the progress; a kill loses the rows since the last one.
FLUSH_SECONDS, REPORT_SECONDS = 0.25, 0.5
#: Number of allocations between two searches for cyclic garbage; Python's default is 700.
COLLECT_AFTER = 100_000


async def run(
    experiment: Experiment,
    folder: Path,
    *,
    retry: bool = False,
    on_progress: Callable[[Snapshot], None] | None = None,
    on_interrupt: Callable[[int], None] | None = None,
    benchmark: Benchmark | None = None,
    reference: Sequence[Cells] | None = None,
    open_model: Callable[[ModelConfig, Benchmark], Model] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    rng: np.random.Generator | None = None,
) -> Outcome:
    """Sample the generations of an experiment that its run folder does not have yet.

    After an interrupt (Ctrl-C, SIGTERM or SIGHUP) the run waits for the requests in flight and stores their rows; a
    second one drops them. Cancelling the coroutine loses the requests in flight; a kill also loses the rows of the last
    half second. If the folder is moved or removed, the run ends within half a second.

    Parameters
    ----------
    folder
        Run folder; created if it is missing.
    retry
        Sample generations again that failed in earlier sessions.
    on_progress
        Called twice a second, and once at the end, with the state of the run.
    on_interrupt
        Called at the first interrupt with the number of requests in flight.
    benchmark
        Used instead of the first one that the experiment names.
    reference
        Results that ``until: {borrow: ...}`` names.
    open_model
        Opens the models; by default `model_config.open_model` with the seed of the experiment.
    sleep, clock, rng
        Functions that wait and that return the time in seconds, and the generator of random waiting times.

    Raises
    ------
    InputError
        Before anything is sent, if the experiment does not match the folder, or a key, model or price does not exist.
    StoreError
        When the folder cannot be written.
    """
    plans = build_plans(experiment, benchmark)
    started = clock()
    async with _open_models(plans, open_model) as models:
        with RunFolder(folder) as store:
            writer = RowWriter(store)
            rng = rng or np.random.default_rng(experiment.seed)
            session = Session(
                plans, models, writer, retry=retry, sleep=sleep, clock=clock, rng=rng, reference=reference
            )

            def report_progress(*, final: bool = False) -> None:
                if on_progress is not None:
                    on_progress(session.snapshot(clock() - started, final=final))

            place = _FolderPlace(folder)
            try:
                with _handle_interrupts(session, on_interrupt), _collect_rarely():
                    await _run_workers(session, writer, report_progress, place)
            finally:
                writer.flush()
                place.check()
                session.end()
            report_progress(final=True)
            outcome = session.outcome(clock() - started)
            if session.is_settled:
                store.compact()
            return outcome


class _FolderPlace:
    """Notice that a run folder was moved or removed, which an open database does not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._identity = self._identify()

    def check(self) -> None:
        """Raise StoreError if the folder is no longer at its path."""
        if self._identity is not None and self._identify() != self._identity:
            remedy = (
                "if it was moved, name its new place and run again to continue; if it was removed, its rows are lost"
            )
            raise StoreError(f"{self.folder}: moved or removed during the run, which has stopped; {remedy}")

    def _identify(self) -> tuple[int, int] | None:
        """Return the device and number of the folder, or None if it does not exist."""
        try:
            status = self.folder.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino


async def _run_workers(
    session: Session, writer: RowWriter, report_progress: Callable[[], object], place: _FolderPlace
) -> None:
    """Run all workers at the same time; write the rows to disk four times a second, and report progress twice."""

    def write_rows() -> None:
        writer.flush()
        place.check()

    def report() -> None:
        session.spending_file.update()
        report_progress()

    async def run_worker(part: BenchmarkSession, label: str) -> None:
        async with aclosing(part.tasks(label)) as tasks:
            await part.workers[label].run(tasks)
        part.finished.add(label)

    async def run_all() -> None:
        async with asyncio.TaskGroup() as group:
            for part in session.parts:
                for label in part.workers:
                    group.create_task(run_worker(part, label))
        for task in ticking:
            task.cancel()

    try:
        async with asyncio.TaskGroup() as group:
            report_progress()
            ticking = [
                group.create_task(_repeat(write_rows, FLUSH_SECONDS)),
                group.create_task(_repeat(report, REPORT_SECONDS)),
            ]
            group.create_task(run_all())
    except BaseExceptionGroup as group:
        raise _find_own_error(group) from None


async def _repeat(action: Callable[[], object], seconds: float) -> None:
    """Call a function after so many seconds, again and again."""
    while True:
        await asyncio.sleep(seconds)
        action()


def _find_own_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first HowsureError in an exception group, or the group itself if it contains none."""
    for error in group.exceptions:
        inner = _find_own_error(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(inner, HowsureError):
            return inner
    return group


@contextmanager
def _handle_interrupts(session: Session, on_interrupt: Callable[[int], None] | None) -> Iterator[None]:
    """Stop the workers at the first SIGINT, SIGTERM or SIGHUP, and cancel the run at the second.

    Schedulers and containers send SIGTERM, and a terminal that is closed sends SIGHUP. A signal that is ignored, as by
    nohup, stays ignored.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def handle_interrupt() -> None:
        if session.is_interrupted:
            task.cancel()
            return
        session.interrupt()
        if on_interrupt is not None:
            on_interrupt(session.in_flight)

    handled, before = [], {}
    with suppress(NotImplementedError, RuntimeError, ValueError):  # not available: another thread, or Windows
        for name in INTERRUPTS:
            number = getattr(signal, name)
            if (previous := signal.getsignal(number)) is not signal.SIG_IGN:
                loop.add_signal_handler(number, handle_interrupt)
                handled.append(number)
                before[number] = previous
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
            if number != signal.SIGINT and before[number] is not None:
                # The loop restores the default; a caller in Python may have had a handler of its own.
                signal.signal(number, before[number])


@contextmanager
def _collect_rarely() -> Iterator[None]:
    """Search for cyclic garbage rarely: requests and rows have no cycles, and the search costs 10 % of the time."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_AFTER, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@asynccontextmanager
async def _open_models(
    plans: Sequence[SamplingPlan], opener: Callable[[ModelConfig, Benchmark], Model] | None
) -> AsyncIterator[list[dict[str, Model | BatchClient]]]:
    """Open the models of each plan, and close them at the end; one that needs no benchmark is opened once."""
    opened: dict[tuple[str, str], Model | BatchClient] = {}
    models: list[dict[str, Model | BatchClient]] = []
    try:
        for plan in plans:
            experiment, benchmark = plan.experiment, plan.benchmark
            if benchmark.scorer is not None:
                benchmark.scorer.prepare()  # before a request is paid for
            models.append({})
            for config in experiment.models:
                needs_benchmark = opener is not None or config.kind in {"simulated", "replay"}
                key = config.label, benchmark.name if needs_benchmark else ""
                if key not in opened:
                    opened[key] = (
                        opener(config, benchmark) if opener else open_model(config, benchmark, seed=experiment.seed)
                    )
                models[-1][config.label] = opened[key]
        yield models
    finally:
        for model in opened.values():
            await model.close()
        for plan in plans:
            if plan.benchmark.scorer is not None:
                plan.benchmark.scorer.close()


if TYPE_CHECKING:
    from howsure.stats.core.cells import Cells


def load_shard(path: Path, shard: str | None = None) -> Experiment:
    """Read the experiment in a file, or its shard "i/n".

    Raises
    ------
    InputError
        When the file is not an experiment, the shard is not of the form i/n, or the experiment stops early.
    """
    experiment = load_experiment(path)
    if shard is None:
        return experiment
    i, slash, n = shard.partition("/")
    if not (slash and i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise InputError(f"{shard!r} is not a shard", where="--shard", remedy="write it as 2/8: the second of eight")
    if experiment.stopping is not None and int(n) > 1:
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
    benchmark: Benchmark | None = None,
    noun: str = "generations",
    open_model: Callable[[ModelConfig, Benchmark], Model] | None = None,
) -> int:
    """Run an experiment with a progress display, and return the exit code.

    The code is 0 if every model sampled all generations that its budget allows, 2 if a model was given up or could not
    start, and 130 after an interrupt.

    Parameters
    ----------
    retry
        Sample generations again that failed in earlier sessions.
    reference
        Results that ``until: {borrow: ...}`` names.
    stream
        Where text for a person is printed; stderr by default.
    lines
        Where JSON lines for a program are printed, instead of the progress display.
    benchmark, open_model
        As for `run`.
    noun
        What the lines at the end call a generation.
    """
    # A reader of the progress that goes away, such as head or a closed terminal, does not end the run.
    lasting = LastingStream(stream or sys.stderr)
    display = JsonLines(lines) if lines is not None else Progress(lasting)

    def on_interrupt(in_flight: int) -> None:
        again = (
            f"{in_flight:,} [request in flight is|requests in flight are] awaited; interrupt again to drop [it|them]"
        )
        print(f"howsure: {inflect_text(again, in_flight)}", file=lasting, flush=True)

    try:
        with display:
            running = run(
                experiment,
                folder,
                retry=retry,
                reference=reference,
                on_progress=display,
                on_interrupt=on_interrupt,
                benchmark=benchmark,
                open_model=open_model,
            )
            outcome = run_coroutine(running)
    except (KeyboardInterrupt, asyncio.CancelledError):
        if isinstance(display, JsonLines):
            display.end(130, folder=str(folder))
        print(f"howsure: interrupted; what arrived is kept in {folder}, run again to continue", file=lasting)
        return 130
    except HowsureError as error:
        if isinstance(display, JsonLines):
            display.end(2, folder=str(folder), error=str(error))
        raise
    if isinstance(display, JsonLines):
        display.end(outcome.exit_code, outcome, folder=str(folder))
        if display.stream.failure:
            what = f"the JSON lines could not be written to their end ({display.stream.failure}); the run went on"
            print(f"howsure: warning: {what}", file=lasting)
    for line in describe_outcome(outcome, folder, noun=noun):
        print(f"howsure: {escape_control_characters(line)}", file=lasting)
    return outcome.exit_code


def describe_outcome(outcome: Outcome, folder: Path, *, noun: str = "generations") -> list[str]:
    """Return the lines that are printed at the end; `noun` is what they call a generation."""
    lines = [f"warning: {warning}" for warning in outcome.warnings]
    lines += _describe_ends((model, model.stopped) for model in outcome.models if model.stopped)
    lines += _describe_ends((model, model.spent) for model in outcome.models if model.spent)
    lines += outcome.verdicts
    if outcome.failed:
        lines.append(f"{outcome.failed:,} {noun} failed; their rows say why, --retry failed tries them again")
    if n_lost := sum(model.lost for model in outcome.models):
        lines.append(f"{n_lost:,} {noun} had failed before; --retry failed tries them again")
    if n_outage := sum(model.outage for model in outcome.models):
        lines.append(f"{n_outage:,} {noun} that had failed while their endpoint did not answer were requested again")
    if saved := sum(model.saved_tokens for model in outcome.models):
        lines.append(f"{saved:,} prompt tokens saved by asking for several generations at once")
    if outcome.is_interrupted:
        lines.append(f"interrupted; what arrived is kept in {folder}, run again to continue")
    elif outcome.is_stopped or any(model.spent for model in outcome.models):
        # Without a larger budget a further session ends before its first request.
        is_spent = any(model.spent and outlasts_session(model.spent) for model in outcome.models)
        first = "raise the budget, then " if is_spent else ""
        lines.append(f"what arrived is kept in {folder}, {first}run again to continue")
    else:
        there = sum(model.there - model.lost for model in outcome.models)
        costs = [model.cost for model in outcome.models if model.cost is not None]
        lines.append(
            f"{outcome.done:,} {noun} in {outcome.seconds:.1f} s"
            + (f" for {format_dollars(sum(costs))}" if any(costs) else "")
            + (f", {there:,} were there" if there else "")
            + f": {folder}"
        )
    return lines


def _describe_ends(reasons: Iterable[tuple[ModelState, str]]) -> list[str]:
    """Return a line for each model that ended early; a reason that it has on several benchmarks is said once."""
    models: dict[tuple[str, str], list[ModelState]] = {}
    for model, reason in reasons:
        models.setdefault((model.label, reason), []).append(model)
    return [f"{some[0].name if len(some) == 1 else label}: {why}" for (label, why), some in models.items()]


T = TypeVar("T")


def run_coroutine(coroutine: Coroutine[object, object, T]) -> T:
    """Return the result of a coroutine.

    If an event loop runs in this thread, as in a notebook, the coroutine runs in a loop of its own in another thread. A
    KeyboardInterrupt in this thread then cancels it, and what it raises in return is raised here.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[object]]] = Future()

    async def run_in_thread() -> T:
        task = asyncio.current_task()
        assert task is not None
        started.set_result((asyncio.get_running_loop(), task))
        return await coroutine

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="howsure-run") as pool:
        result = pool.submit(asyncio.run, run_in_thread())
        try:
            return result.result()
        except KeyboardInterrupt:
            loop, task = started.result()
            loop.call_soon_threadsafe(task.cancel)
            return result.result()
