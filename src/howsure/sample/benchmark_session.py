"""The workers of all models on one benchmark in one session of a run, with their missing cells, tasks and scores."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from howsure.models.model import Model
from howsure.sample.adaptive import AdaptiveSchedule
from howsure.sample.budget import Budget
from howsure.sample.experiment import StoppingVerdict
from howsure.sample.model_job import ModelJob, RequestSize
from howsure.sample.resume import PromptTask, StoredCells, WantedCells
from howsure.sample.round_schedule import RoundSchedule
from howsure.sample.sampling_plan import SamplingPlan
from howsure.sample.scored_rows import RowWriter
from howsure.sample.snapshot import ModelState
from howsure.sample.worker import Worker
from howsure.stats.scores import score

if TYPE_CHECKING:
    from howsure.models.batch_client import BatchClient
    from howsure.sample.batch_worker import BatchWorker
    from howsure.stats.core.cells import Cells

#: Share of the time that computing the intervals of the progress display may take.
INTERVAL_SHARE = 0.01


class SharedParts:
    """What the benchmarks of a session share: the budget, the writer, and of each model its limits.

    Parameters
    ----------
    writer
        Receives rows as they arrive.
    budget
        The budget of the run.
    learned_limits
        Largest number of generations per request that an endpoint accepted in an earlier session, by label.
    sleep, clock, rng
        Functions that wait and that return the time in seconds, and the generator of random waiting times.
    """

    def __init__(
        self,
        writer: RowWriter,
        budget: Budget,
        learned_limits: Mapping[str, int | None],
        *,
        sleep: Callable[[float], Awaitable[None]],
        clock: Callable[[], float],
        rng: np.random.Generator,
    ) -> None:
        self.writer, self.budget, self.learned_limits = writer, budget, learned_limits
        self.sleep, self.clock, self.rng = sleep, clock, rng
        self.sizes: dict[str, RequestSize] = {}
        self.partners: dict[str, Worker] = {}

    def build_worker(self, job: ModelJob, model: Model | BatchClient) -> Worker | BatchWorker:
        """Return the worker that the mode of a model needs; workers of one model share its limits."""
        label = job.config.label
        if job.config.mode == "batch":
            from howsure.models.batch_client import BatchClient
            from howsure.sample.batch_worker import BatchWorker

            assert isinstance(model, BatchClient)
            return BatchWorker(job, model, folder=self.writer.store.path, sleep=self.sleep, rng=self.rng)
        worker = Worker(
            job,
            cast("Model", model),
            sleep=self.sleep,
            clock=self.clock,
            rng=self.rng,
            partner=self.partners.get(label),
        )
        return self.partners.setdefault(label, worker) and worker


class BenchmarkSession:
    """The workers of all models on one benchmark.

    Parameters
    ----------
    plan
        Questions, variants and models.
    models
        Opened models, by label.
    wanted, stored
        What was read of the run folder: tallies that have the stored scores, and the stored cells by label.
    shared
        What the benchmarks of the session share.
    retry
        Whether failed generations are sampled again.
    reference
        Results that ``until: {borrow: ...}`` names.
    name
        Name of the benchmark in the progress, "" if the run has only one.

    Attributes
    ----------
    workers
        By label.
    missing
        The missing cells of each model at the start, by label.
    finished
        Labels of the workers that have ended.
    """

    def __init__(
        self,
        plan: SamplingPlan,
        models: Mapping[str, Model | BatchClient],
        wanted: WantedCells,
        stored: Mapping[str, StoredCells],
        shared: SharedParts,
        *,
        retry: bool,
        reference: Sequence[Cells] | None = None,
        name: str = "",
    ) -> None:
        experiment, benchmark = plan.experiment, plan.benchmark
        self.benchmark, self.name = benchmark.name, name
        self.question_ids, self.variant_ids = plan.question_ids, plan.variant_ids
        cluster_of = dict(zip([question.id for question in benchmark.questions], benchmark.clusters, strict=False))
        self._clusters = tuple(cluster_of[question] for question in self.question_ids) if cluster_of else None
        self.missing = plan.find_missing(stored, retry=retry)
        self.workers: dict[str, Worker | BatchWorker] = {}
        for config in experiment.models:
            label = config.label
            job = ModelJob(
                config,
                benchmark,
                plan.questions,
                plan.variants,
                shared.writer,
                tally=wanted.tallies[label],
                budget=shared.budget,
                price=plan.prices[label],
                size=shared.sizes.setdefault(label, RequestSize(config, shared.learned_limits.get(label))),
                prompt_tokens=stored[label].tokens_of_prompts,
            )
            self.workers[label] = shared.build_worker(job, models[label])
        self.finished: set[str] = set()
        workers, stopping, folder = list(self.workers.values()), experiment.stopping, shared.writer.store.path
        self._adaptive: AdaptiveSchedule | None = None
        self._schedule: RoundSchedule | None = None
        if experiment.allocate == "adaptive":
            self._adaptive = AdaptiveSchedule(workers, folder, benchmark=benchmark.name, may_stop=stopping is not None)
        if stopping is not None:
            self._schedule = RoundSchedule(
                stopping, workers, benchmark=benchmark.name, adaptive=self._adaptive, reference=reference
            )
        self._intervals: dict[str, tuple[float, float, float]] = {}
        self._next_intervals = 0.0
        stored_prompts = {key for cells in stored.values() for key in cells.present}
        # Prompts are stored before any row refers to them.
        shared.writer.store.put_prompts(
            (
                benchmark.name,
                question.id,
                variant.id,
                variant.messages(question),
                question.stored_target,
                variant.record(question) | ({"cluster": cluster_of[question.id]} if cluster_of else {}),
            )
            for variant in plan.variants
            for question in plan.questions
            if plan.asks(question.id, variant.id) and (question.id, variant.id) not in stored_prompts
        )

    def tasks(self, label: str) -> AsyncGenerator[PromptTask, None]:
        """Yield the tasks of one model in the order in which they are sampled."""
        missing = self.missing[label]

        def source(first: int, last: int) -> Iterator[PromptTask]:
            return missing.tasks(self.question_ids, self.variant_ids, last, first=first)

        if self._schedule is not None:
            return self._schedule.tasks(label, source)
        if self._adaptive is not None:
            return self._adaptive.tasks(label, source)
        return _iterate(source(1, self.workers[label].job.config.generations))

    @property
    def jobs(self) -> list[tuple[str, ModelJob]]:
        """The job of each model, with the name of the model, and of the benchmark if the run has several."""
        suffix = f", {self.name}" if self.name else ""
        return [(f"{label}{suffix}", worker.job) for label, worker in self.workers.items()]

    @property
    def verdicts(self) -> list[StoppingVerdict]:
        """How early stopping ended for each model or pair so far."""
        return [] if self._schedule is None else self._schedule.verdicts

    def describe_models(self, *, final: bool = False) -> list[ModelState]:
        """Return the state of each model; `final` for the last time."""
        self._update_intervals(force=final)
        models = []
        for label, worker in self.workers.items():
            job, missing = worker.job, self.missing[label]
            mean, low, high = self._intervals[label]
            models.append(
                ModelState(
                    label=label,
                    benchmark=self.name,
                    wanted=missing.wanted,
                    there=missing.there,
                    lost=missing.failed,
                    outage=missing.outage,
                    done=job.done,
                    failed=job.failed,
                    mean=mean,
                    low=low,
                    high=high,
                    trouble=job.stopped or job.spent or job.trouble or "",
                    stopped=job.stopped,
                    spent=job.spent,
                    may_stop=self._schedule is not None,
                    is_stopped_early=self._schedule is not None and self._schedule.stopped_after(label) is not None,
                    is_over=label in self.finished,
                    tokens=job.prompt_tokens + job.completion_tokens,
                    saved_tokens=job.saved_tokens if job.config.is_billed else 0,
                    cost=job.cost,
                    requests=worker.n_requests,
                    in_flight=worker.in_flight,
                    window=worker.window,
                    note=worker.note,
                )
            )
        return models

    def _update_intervals(self, *, force: bool) -> None:
        """Compute the scores and intervals as `howsure score` prints them, unless this would take too much time."""
        started = time.perf_counter()
        if started < self._next_intervals and not force:
            return
        for label in self.workers:
            columns = score(self._read_cells(label)).columns()
            mean, low, high = (float(columns[name][0]) for name in ("score", "low", "high"))
            self._intervals[label] = mean, low, high
        ended = time.perf_counter()
        self._next_intervals = ended + (ended - started) / INTERVAL_SHARE

    def _read_cells(self, label: str) -> Cells:
        """Return the cells of one model, as they would be read from the run folder."""
        job = self.workers[label].job
        if self._adaptive is None:
            return job.tally.pooled_cells(self.benchmark, label, self._clusters)
        return self._adaptive.merged_cells(label, self._clusters)


async def _iterate(tasks: Iterator[PromptTask]) -> AsyncGenerator[PromptTask, None]:
    for task in tasks:
        yield task
