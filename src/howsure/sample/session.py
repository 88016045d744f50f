"""One session of a run: what is owed, the lane of each model, the plan it follows, and what became of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from howsure.models.model import Model
from howsure.sample.adaptive import Stages
from howsure.sample.budget import Account, Budget, Spent, load_spent
from howsure.sample.experiment import Experiment
from howsure.sample.prices import Price, pico_dollars
from howsure.sample.resume import Recalled, Unit, recall
from howsure.sample.round_schedule import Rounds
from howsure.sample.run_manifest import begin_manifest, finish_manifest
from howsure.sample.sampling_plan import Asked
from howsure.sample.snapshot import ModelOutcome, ModelProgress, Outcome, Snapshot
from howsure.sample.stopping_rule import Verdict
from howsure.sample.worker import Lane
from howsure.store.responses import RunFolder
from howsure.store.schema import Response

__all__ = ["Session", "Writer"]

if TYPE_CHECKING:
    from howsure.models.batch_client import Batches
    from howsure.sample.batch.batch_worker import BatchLane
    from howsure.stats.core.cells import Cells


class Session:
    """All lanes of one session.

    Attributes
    ----------
    lanes
        By label.
    owed
        What each model owes, by label.
    over
        Labels of the lanes that have ended.
    is_interrupted
        Whether `interrupt` was called.
    """

    def __init__(
        self,
        asked: Asked,
        models: Sequence[Model | Batches],
        writer: Writer,
        *,
        retry: bool,
        sleep: Callable[[float], Awaitable[None]],
        clock: Callable[[], float],
        rng: np.random.Generator,
        reference: Sequence[Cells] | None = None,
    ) -> None:
        experiment, benchmark, questions, variants, prices, _ = asked
        self.folder, self.benchmark = writer.store.path, benchmark.name
        self.questions, self.variants = [question.id for question in questions], [variant.id for variant in variants]
        learnt = begin_manifest(self.folder, asked)
        tallies = asked.tallies()
        bounds = experiment.budget
        costs = any(bound is not None for bound in (bounds.calls, bounds.tokens, bounds.cost))
        there = recall(self.folder, benchmark.name, tallies, self.variants, costs=costs)
        self.owed = asked.owed(there, retry=retry)
        budget = _budget(experiment, there, prices, load_spent(self.folder), clock)
        self.account = Account(self.folder, budget)
        self.lanes: dict[str, Lane | BatchLane] = {}
        for entry, model in zip(experiment.models, models, strict=True):
            lane = partial(_batch_lane(), folder=self.folder, flush=writer.flush) if entry.mode == "batch" else Lane
            self.lanes[entry.label] = lane(
                entry,
                model,  # type: ignore[arg-type]  # `open_model` gives each mode its own
                benchmark,
                questions,
                variants,
                writer.put,
                tally=tallies[entry.label],
                budget=budget,
                price=prices[entry.label],
                learnt=learnt.get(entry.label),
                sleep=sleep,
                clock=clock,
                rng=rng,
            )
        self.over: set[str] = set()
        self.is_interrupted = False
        lanes = list(self.lanes.values())
        until, named = experiment.until, benchmark.name
        adaptive = experiment.allocate == "adaptive"
        self._stages = Stages(lanes, self.folder, benchmark=named, may_stop=until is not None) if adaptive else None
        self._rounds = (
            Rounds(until, lanes, benchmark=named, stages=self._stages, reference=reference) if until else None
        )
        known = {key for recalled in there.values() for key in recalled.present}
        of = dict(zip([question.id for question in benchmark.questions], benchmark.clusters, strict=False))
        # Kept before any row stands for them.
        writer.store.put_prompts(
            (
                benchmark.name,
                question.id,
                variant.id,
                variant.messages(question),
                question.target,
                variant.record(question) | ({"cluster": of[question.id]} if of else {}),
            )
            for variant in variants
            for question in questions
            if (question.id, variant.id) not in known
        )

    def plan(self, label: str) -> AsyncGenerator[Unit, None]:
        """The units of one lane, in the order in which they are to be asked for."""
        lane, owed = self.lanes[label], self.owed[label]

        def units(first: int, last: int) -> Iterator[Unit]:
            return owed.units(self.questions, self.variants, last, first=first)

        if self._rounds is not None:
            return self._rounds.plan(label, units)
        if self._stages is not None:
            return self._stages.plan(label, units)
        return _all(units(1, lane.entry.generations))

    def interrupt(self) -> None:
        """Send no more; requests in flight bring their rows."""
        self.is_interrupted = True
        for lane in self.lanes.values():
            lane.finish()

    @property
    def in_flight(self) -> int:
        """Requests without an answer yet."""
        return sum(lane.pace.in_flight for lane in self.lanes.values())

    @property
    def is_settled(self) -> bool:
        """Whether nothing more is wanted: each generation has come or failed, or the answer is good enough."""
        return not self.is_interrupted and all(
            model.is_enough or model.there + model.done + model.failed == model.wanted
            for model in self.outcome(0).models
        )

    def snapshot(self, seconds: float, *, final: bool = False) -> Snapshot:
        """How the run stands."""
        models = []
        for label, lane in self.lanes.items():
            mean, half_width = lane.tally.mean_and_half_width()
            models.append(
                ModelProgress(
                    label=label,
                    wanted=self.owed[label].wanted,
                    there=self.owed[label].there,
                    done=lane.done,
                    failed=lane.failed,
                    mean=mean,
                    half_width=half_width,
                    trouble=lane.stopped or lane.spent or lane.trouble or "",
                    tokens=lane.prompt_tokens + lane.completion_tokens,
                    cost=lane.cost,
                    requests=lane.requests,
                    in_flight=lane.pace.in_flight,
                    window=lane.pace.window,
                    may_stop=self._rounds is not None,
                    is_over=label in self.over,
                )
            )
        return Snapshot(seconds=seconds, models=tuple(models), final=final)

    def outcome(self, seconds: float) -> Outcome:
        """What became of it."""
        models = tuple(
            ModelOutcome(
                label=label,
                wanted=self.owed[label].wanted,
                there=self.owed[label].there,
                lost=self.owed[label].failed,
                done=lane.done,
                failed=lane.failed,
                stopped=lane.stopped,
                spent=lane.spent,
                is_enough=self._rounds is not None and self._rounds.rounds(label) is not None,
                tokens=lane.prompt_tokens + lane.completion_tokens,
                saved_tokens=lane.saved_tokens if lane.entry.is_billed else 0,
                cost=lane.cost,
            )
            for label, lane in self.lanes.items()
        )
        return Outcome(
            models=models,
            verdicts=tuple(map(str, self._verdicts)),
            warnings=tuple(f"{label}: {note}" for label, lane in self.lanes.items() for note in lane.notes),
            seconds=seconds,
            is_interrupted=self.is_interrupted,
        )

    def end(self) -> None:
        """Write into the folder what became of it."""
        self.account.keep()
        finish_manifest(self.folder, self.lanes.values(), self._verdicts, benchmark=self.benchmark)

    @property
    def _verdicts(self) -> list[Verdict]:
        return [] if self._rounds is None else self._rounds.verdicts


def _batch_lane() -> type[BatchLane]:
    from howsure.sample.batch.batch_worker import BatchLane

    return BatchLane


async def _all(units: Iterator[Unit]) -> AsyncGenerator[Unit, None]:
    for unit in units:
        yield unit


def _budget(
    experiment: Experiment,
    there: dict[str, Recalled],
    prices: dict[str, Price | None],
    known: Spent,
    clock: Callable[[], float],
) -> Budget:
    """What is left of what the run may spend; of shards, each may spend its part."""
    bounds, parts = experiment.budget, experiment.shard[1]
    # Sessions before there was an account, and what a kill kept from it, are told by the rows.
    spent = Spent(
        calls=max(known.calls, sum(recalled.calls for recalled in there.values())),
        tokens=max(
            known.tokens, sum(recalled.prompt_tokens + recalled.completion_tokens for recalled in there.values())
        ),
        cost=max(
            known.cost,
            sum(
                price.cost(recalled.prompt_tokens, recalled.completion_tokens, recalled.calls)
                for label, recalled in there.items()
                if (price := prices[label]) is not None
            ),
        ),
    )
    return Budget(
        calls=None if bounds.calls is None else bounds.calls // parts,
        tokens=None if bounds.tokens is None else bounds.tokens // parts,
        minutes=bounds.minutes,
        cost=None if bounds.cost is None else pico_dollars(bounds.cost) // parts,
        clock=clock,
        spent=spent,
    )


#: Rows per transaction.
BATCH = 1000


class Writer:
    """Rows to the folder in batches; the only one that writes.

    Written in the event loop's own thread: whoever produces rows waits while a batch is made durable, and a cancelled
    run leaves no thread that still writes.
    """

    def __init__(self, store: RunFolder) -> None:
        self.store = store
        self._rows: list[Response] = []

    def put(self, rows: list[Response]) -> None:
        """Take rows; every thousand of them become durable."""
        self._rows += rows
        if len(self._rows) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Make all durable that was taken."""
        if self._rows:
            self.store.append(self._rows)
            self._rows = []
