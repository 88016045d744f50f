"""Adaptive allocation: a pilot, then stages that go where the answers vary, each weighed as a whole.

The pilot asks every question two or three times. Each later stage doubles what there is, by `stats.allocation.allocate`
from all stages before it: every question at least once, its counts written to the run folder before its first request.
`stats.staged` tells why not more one by one, bench/allocation.py what is gained.

Doubling, because what is known when a stage is planned then never lags far behind, and the evenly asked pilot weighs
little. Of G generations it gains 1.17 at G = 20 and 1.28 at 50 on math500, where a pilot of G/3 and one stage after it
gains 1.14 and 1.23. Below five generations nothing is gained, and all are the pilot.

Where a run may stop early (`rounds`), the pilot is six generations, looked at in between, because a run that ends with
fewer gains nothing by stages: on math500 and CRUXEval a pilot of two makes it up to a third longer than asking alike.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from functools import reduce
from itertools import accumulate, pairwise
from operator import add
from pathlib import Path
from typing import Protocol

import numpy as np

from howsure.errors import InputError
from howsure.sample.resume import Unit
from howsure.sample.tally import Tally
from howsure.stats.core.cells import Cells, IntArray
from howsure.store import adaptive_plans

__all__ = ["Entry", "Lane", "Stages", "Units", "following", "pilot"]


#: Fewer generations than so many are all the pilot; and those of the pilot where a run may stop early.
FEWEST, LOOKED_AT = 5, 6


def pilot(generations: int) -> int:
    """Generations of each question in the first stage: so many that doubling them ends at all.

    >>> [pilot(k) for k in (1, 4, 5, 10, 20, 50)]
    [1, 4, 2, 2, 2, 3]
    """
    return generations if generations < FEWEST else generations >> generations.bit_length() - 2


def following(rounds: int, generations: int) -> int:
    """Generations per question after the next stage, at least twice as many as after the one before.

    >>> following(3, 50), following(6, 50), following(12, 50), following(25, 50), following(20, 30)
    (6, 12, 25, 50, 30)
    """
    halved = (generations >> j for j in range(generations.bit_length()))
    return min((end for end in halved if end >= 2 * rounds), default=generations)


class Stages:
    """The stages of all lanes of an adaptive run. *Rounds* are generations per question, on average.

    Parameters
    ----------
    folder
        The run folder, which the caller writes.
    may_stop
        Whether the run may stop early.

    Raises
    ------
    InputError
        When the folder has a plan for other questions, or for more generations.
    StoreError
        When its plan cannot be read.
    """

    def __init__(self, lanes: Sequence[Lane], folder: Path, *, benchmark: str, may_stop: bool = False) -> None:
        self.folder, self.benchmark, self.may_stop = folder, benchmark, may_stop
        self.lanes = {lane.entry.label: lane for lane in lanes}
        stored = adaptive_plans.load_plans(folder).get(benchmark, {})
        self.plans = {label: stored[label] for label in self.lanes if label in stored}
        for label, plan in self.plans.items():
            _check(plan, self.lanes[label], label)

    def pilot(self, label: str) -> int:
        """Generations of each question that are asked before the first stage is planned."""
        return self._ends(label)[0]

    async def plan(self, label: str, units: Units, *, done: int = 0) -> AsyncGenerator[Unit, None]:
        """The units of one lane, stage by stage; between two stages it waits for the lane.

        Parameters
        ----------
        units
            `units(first, last)`: what is still owed of generations first to last of every question.
        done
            Rounds that are there.
        """
        lane = self.lanes[label]
        most = lane.entry.generations
        while done < most:
            rounds = following(done, most) if done >= self.pilot(label) else self.pilot(label)
            for unit in self.block(label, units, done, rounds):
                yield unit
            done = self.end(label, rounds)
            if done < most:
                await lane.drained()

    def block(self, label: str, units: Units, done: int, rounds: int) -> Iterator[Unit]:
        """What is owed of the stages after `done` rounds until there are `rounds`.

        One more stage is planned if need be, from the scores of those before it; they are there, as no more was asked
        for than `done`. A plan that goes on beyond `done` comes first: its end is that of the block.
        """
        if rounds > done == self._ends(label)[-1]:
            self._add(label, rounds)
        first, last = (self._last(label, each) for each in (done, rounds))
        if len(last):
            for unit in units(int(first.min()) + 1, int(last.max())):
                q = unit.question
                if owed := tuple(g for g in unit.generations if first[q] < g <= last[q]):
                    yield unit._replace(generations=owed)

    def end(self, label: str, rounds: int) -> int:
        """Rounds at the end of the stage that `rounds` are in, of all stages where they are beyond.

        Within the pilot, which asks all alike, any number of rounds is a whole.
        """
        ends = self._ends(label)
        return rounds if rounds <= ends[0] else next((end for end in ends if end >= rounds), ends[-1])

    def cells(self, label: str, rounds: int) -> list[Cells]:
        """Round values of each stage until there are `rounds`, shape (1, N) each."""
        tally, end = self.lanes[label].tally, self.end(label, rounds)
        last = [self._last(label, each) for each in (0, *(each for each in self._ends(label) if each < end), end)]
        return [tally.between(self.benchmark, label, after, until) for after, until in pairwise(last)]

    def saving(self, label: str, rounds: int) -> float:
        """Squared error of a stage over that of asking alike, (mean sd)^2 / mean sd^2 (Neyman 1934)."""
        from howsure.stats.sequential import estimate_question_sd

        if rounds < self.pilot(label):
            return 1.0
        sd = estimate_question_sd(reduce(add, self.cells(label, rounds)))
        return float(sd.mean() ** 2 / np.mean(sd**2))

    def longest(self, label: str, rounds: int) -> int:
        """The largest generation among the first `rounds`."""
        return int(self._last(label, rounds).max(initial=0))

    def _ends(self, label: str) -> list[int]:
        """Rounds at the end of each stage that is planned: first the pilot, which needs no plan."""
        if label not in self.plans:
            most = self.lanes[label].entry.generations
            return [min(LOOKED_AT, most) if self.may_stop else pilot(most)]
        plan = self.plans[label]
        return list(accumulate(sum(stage.values()) // len(stage) for stage in plan.allocations))

    def _last(self, label: str, rounds: int) -> IntArray:
        """The last generation of each question in the stage that `rounds` are in, shape (N,); 0 before the first."""
        questions = self.lanes[label].tally.questions
        end, ends = self.end(label, rounds), self._ends(label)
        if end <= ends[0]:
            return np.full(len(questions), end, np.int64)
        stage = ends.index(end)
        return np.array([self.plans[label].ends(question)[stage] for question in questions], np.int64)

    def _add(self, label: str, rounds: int) -> None:
        """Plan one more stage, from the scores of all stages there are."""
        from howsure.stats.sequential import allocate_generations

        questions = self.lanes[label].tally.questions
        done = self._ends(label)[-1]
        before = self.plans.get(label) or adaptive_plans.AdaptivePlan(
            generations=done, allocations=(dict.fromkeys(questions, done),)
        )
        cells = reduce(add, self.cells(label, done))
        budget = len(questions) * (rounds - done)
        counts = allocate_generations(cells, budget).more[0]
        basis = adaptive_plans.StageBasis(
            n=int(cells.n.sum()), total=float(cells.total.sum()), total_sq=float(cells.total_sq.sum()), budget=budget
        )
        plan = adaptive_plans.AdaptivePlan(
            generations=rounds,
            allocations=(*before.allocations, dict(zip(questions, counts.tolist(), strict=True))),
            basis=(*before.basis, basis),
        )
        adaptive_plans.save_plan(self.folder, self.benchmark, label, plan)
        self.plans[label] = plan


def _check(plan: adaptive_plans.AdaptivePlan, lane: Lane, label: str) -> None:
    planned, asked = set(plan.allocations[0]), set(lane.tally.questions)
    remedy = "use another folder, or the questions and generations of that plan"
    if planned != asked:
        what = f"{label} was allocated {len(planned)} questions, now {len(asked)} others are asked"
        if planned < asked or asked < planned:
            what = f"{label} was allocated {len(planned)} questions, now {len(asked)} are asked"
        raise InputError(what, where="allocate: adaptive", remedy=remedy)
    if plan.generations > lane.entry.generations:
        what = f"{label} was allocated {plan.generations} generations per question, now {lane.entry.generations}"
        raise InputError(what, where="allocate: adaptive", remedy=remedy)


#: The units of rounds first to last that one model still owes.
Units = Callable[[int, int], Iterator[Unit]]


class Entry(Protocol):
    """What a plan reads of a model's entry."""

    @property
    def label(self) -> str:
        """Its name in tables."""
        ...

    @property
    def generations(self) -> int:
        """Of each question under each variant."""
        ...


class Lane(Protocol):
    """What a plan needs of a lane."""

    @property
    def entry(self) -> Entry:
        """The model."""
        ...

    @property
    def tally(self) -> Tally:
        """Its scores so far, those that were there before included."""
        ...

    async def drained(self) -> None:
        """Return once all units drawn so far have their rows."""
        ...
