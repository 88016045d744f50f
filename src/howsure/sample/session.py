"""Set up one session of a run: read stored cells, build the workers of each benchmark, and report state and outcome.

A session begins and finishes the manifest of the run folder, which states all that is needed to repeat the run, and
what was learned about the endpoints. All benchmarks of a run are sampled at the same time: the requests of a model wait
in one queue, whatever their benchmark, and all models and benchmarks share the budget.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from howsure.models.model import Model
from howsure.sample.benchmark_session import BenchmarkSession, SharedParts
from howsure.sample.budget import Budget, Spending, SpendingFile, load_spending
from howsure.sample.experiment import Experiment
from howsure.sample.prices import Price, to_pico_dollars
from howsure.sample.resume import StoredCells, read_stored_cells
from howsure.sample.run_manifest import begin_manifest, finish_manifest, list_notes
from howsure.sample.sampling_plan import SamplingPlan
from howsure.sample.scored_rows import RowWriter
from howsure.sample.snapshot import Outcome, Snapshot
from howsure.sample.worker import Worker

if TYPE_CHECKING:
    from howsure.models.batch_client import BatchClient
    from howsure.stats.core.cells import Cells


class Session:
    """The workers of all models on all benchmarks in one session of a run.

    Parameters
    ----------
    plans
        The plan of each benchmark.
    models
        The opened models of each benchmark, by label.
    writer
        Writes rows to the run folder.
    retry
        Whether failed generations are sampled again.
    sleep, clock, rng
        Functions that wait and that return the time in seconds, and the generator of random waiting times.
    reference
        Results that ``until: {borrow: ...}`` names.

    Attributes
    ----------
    parts
        The part of each benchmark.
    is_interrupted
        Whether `interrupt` was called.
    """

    def __init__(
        self,
        plans: Sequence[SamplingPlan],
        models: Sequence[Mapping[str, Model | BatchClient]],
        writer: RowWriter,
        *,
        retry: bool,
        sleep: Callable[[float], Awaitable[None]],
        clock: Callable[[], float],
        rng: np.random.Generator,
        reference: Sequence[Cells] | None = None,
    ) -> None:
        experiment, self.folder = plans[0].experiment, writer.store.path
        learned_limits = begin_manifest(self.folder, plans)
        limits = experiment.budget
        costs = any(limit is not None for limit in (limits.calls, limits.tokens, limits.cost))
        wanted = {plan.benchmark.name: plan.build_wanted() for plan in plans}
        stored = read_stored_cells(self.folder, wanted, costs=costs)
        prices = {label: price for plan in plans for label, price in plan.prices.items()}
        all_stored = [(label, cells) for each in stored.values() for label, cells in each.items()]
        budget = _build_budget(experiment, all_stored, prices, load_spending(self.folder), clock)
        self.spending_file = SpendingFile(self.folder, budget)
        shared = SharedParts(writer, budget, learned_limits, sleep=sleep, clock=clock, rng=rng)
        self.parts = [
            BenchmarkSession(
                plan,
                opened,
                wanted[plan.benchmark.name],
                stored[plan.benchmark.name],
                shared,
                retry=retry,
                reference=reference,
                name=plan.benchmark.name if len(plans) > 1 else "",
            )
            for plan, opened in zip(plans, models, strict=True)
        ]
        self.is_interrupted = False

    def interrupt(self) -> None:
        """Stop sending; the rows of requests in flight are still stored."""
        self.is_interrupted = True
        for part in self.parts:
            for worker in part.workers.values():
                worker.stop()

    @property
    def in_flight(self) -> int:
        """The number of requests without an outcome yet."""
        workers = [worker for part in self.parts for worker in part.workers.values()]
        limiters = {id(worker.rate_limiter): worker.in_flight for worker in workers if isinstance(worker, Worker)}
        return sum(limiters.values())

    @property
    def is_settled(self) -> bool:
        """Whether each generation has arrived or failed, or its model was stopped early."""
        models = (model for part in self.parts for model in part.describe_models())
        return not self.is_interrupted and all(model.is_settled for model in models)

    def snapshot(self, seconds: float, *, final: bool = False) -> Snapshot:
        """Return the state of the run after so many seconds; `final` for the last one."""
        models = [model for part in self.parts for model in part.describe_models(final=final)]
        return Snapshot(seconds=seconds, models=tuple(models), final=final)

    def outcome(self, seconds: float) -> Outcome:
        """Return how the run ended after so many seconds."""
        verdicts = [(part.name, verdict) for part in self.parts for verdict in part.verdicts]
        jobs = [pair for part in self.parts for pair in part.jobs]
        return Outcome(
            models=tuple(model for part in self.parts for model in part.describe_models(final=True)),
            verdicts=tuple(f"{name}: {verdict}" if name else str(verdict) for name, verdict in verdicts),
            warnings=tuple(remark.line for remark in list_notes(jobs)),
            seconds=seconds,
            is_interrupted=self.is_interrupted,
        )

    def end(self) -> None:
        """Write the spending and the manifest."""
        self.spending_file.update(final=True)
        verdicts = [(part.benchmark, verdict) for part in self.parts for verdict in part.verdicts]
        finish_manifest(self.folder, [pair for part in self.parts for pair in part.jobs], verdicts)


def _build_budget(
    experiment: Experiment,
    stored: Sequence[tuple[str, StoredCells]],
    prices: Mapping[str, Price | None],
    recorded: Spending,
    clock: Callable[[], float],
) -> Budget:
    """Return the remaining budget of the run; with n shards, each may spend one n-th of the budget."""
    limits, n_shards = experiment.budget, experiment.shard[1]
    # Use the rows if they show more than the file: it may be missing, or a kill may have prevented its last update.
    spent = Spending(
        calls=max(recorded.calls, sum(cells.calls for _, cells in stored)),
        tokens=max(recorded.tokens, sum(cells.prompt_tokens + cells.completion_tokens for _, cells in stored)),
        cost=max(
            recorded.cost,
            sum(
                price.cost(cells.prompt_tokens, cells.completion_tokens, cells.calls)
                for label, cells in stored
                if (price := prices[label]) is not None
            ),
        ),
    )
    return Budget(
        calls=None if limits.calls is None else limits.calls // n_shards,
        tokens=None if limits.tokens is None else limits.tokens // n_shards,
        minutes=limits.minutes,
        cost=None if limits.cost is None else to_pico_dollars(limits.cost) // n_shards,
        clock=clock,
        spent=spent,
    )
