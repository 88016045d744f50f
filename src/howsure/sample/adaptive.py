"""Allocate generations adaptively: after a pilot, sample more where the answers to a question vary.

The pilot samples every question two or three times. Each later stage doubles the number of generations.
`stats.sequential.allocate_generations` plans a stage from the scores of all earlier stages, and gives every question at
least one generation. The plan is written to the run folder before the first request of the stage.
`stats.sequential.adaptive_allocation` explains why generations are not allocated one by one;
bench/allocation.py at commit 704278a9 measured the gain.

Stages double so that each stage is planned from many recent scores, and so that the evenly allocated pilot has little
weight. On math500 the gain is 1.17 with G = 20 generations and 1.28 with 50; a pilot of G/3 followed by a single stage
gains 1.14 and 1.23. With fewer than five generations there is no gain, and all of them belong to the pilot.

Where a run may stop early (`round_schedule`), the pilot has six generations with interim analyses in between, because a
run that ends with fewer gains nothing from stages: on math500 and CRUXEval a pilot of two makes it up to a third longer
than even allocation.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import accumulate, pairwise
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from howsure.errors import InputError
from howsure.sample.resume import PromptTask
from howsure.stats.core.cells import Cells, IntArray
from howsure.store import manifest

if TYPE_CHECKING:
    from howsure.sample.batch_worker import BatchWorker
    from howsure.sample.model_job import ModelJob
    from howsure.sample.worker import Worker

#: A function that returns the missing generations `first` to `last` of every question of one model.
TaskSource = Callable[[int, int], Iterator[PromptTask]]

#: If a run has fewer generations than this, all of them belong to the pilot.
FEWEST = 5
#: Number of generations in the pilot of a run that may stop early.
PILOT_WITH_STOPPING = 6


def compute_pilot(generations: int) -> int:
    """Return the size of the pilot, in generations per question, from which repeated doubling reaches `generations`.

    >>> [compute_pilot(k) for k in (1, 4, 5, 10, 20, 50)]
    [1, 4, 2, 2, 2, 3]
    """
    return generations if generations < FEWEST else generations >> generations.bit_length() - 2


def compute_next_stage(n_rounds: int, generations: int) -> int:
    """Return the generations per question after the next stage, at least twice as many as after the one before.

    >>> [compute_next_stage(k, 50) for k in (3, 6, 12, 25)], compute_next_stage(20, 30)
    ([6, 12, 25, 50], 30)
    """
    halved = (generations >> j for j in range(generations.bit_length()))
    return min((end for end in halved if end >= 2 * n_rounds), default=generations)


class AdaptiveSchedule:
    """The stages of all models of an adaptive run. *Rounds* are generations per question, on average.

    Parameters
    ----------
    folder
        The run folder, which the caller writes.
    may_stop
        Whether the run may stop early.

    Raises
    ------
    InputError
        When the plan in the folder is for other questions, or for more generations.
    StoreError
        When the plan in the folder cannot be read.
    """

    def __init__(
        self, workers: Sequence[Worker | BatchWorker], folder: Path, *, benchmark: str, may_stop: bool = False
    ) -> None:
        self.folder, self.benchmark, self.may_stop = folder, benchmark, may_stop
        self.workers = {worker.job.config.label: worker for worker in workers}
        stored = manifest.load_plans(folder).get(benchmark, {})
        self.plans = {label: stored[label] for label in self.workers if label in stored}
        for label, plan in self.plans.items():
            _check_plan(plan, self.workers[label].job, label)

    def pilot_end(self, label: str) -> int:
        """Return the generations of each question that are sampled before the first stage is planned."""
        return self._stage_ends(label)[0]

    async def tasks(self, label: str, source: TaskSource, *, done: int = 0) -> AsyncGenerator[PromptTask, None]:
        """Yield the tasks of one model, stage by stage; between two stages wait until its worker is idle.

        Parameters
        ----------
        source
            Returns the missing generations first to last of every question.
        done
            Number of rounds that are already sampled.
        """
        worker = self.workers[label]
        most = worker.job.config.generations
        while done < most:
            pilot_end = self.pilot_end(label)
            n_rounds = compute_next_stage(done, most) if done >= pilot_end else pilot_end
            for task in self.block(label, source, done, n_rounds):
                yield task
            done = self.end_of_stage(label, n_rounds)
            if done < most:
                await worker.wait_until_idle()

    def block(self, label: str, source: TaskSource, done: int, n_rounds: int) -> Iterator[PromptTask]:
        """Yield the missing cells of the stages after `done` rounds until there are `n_rounds`.

        If the stored plan continues after `done`, the block ends where that plan ends. Otherwise one more stage is
        planned from the scores of the earlier stages. These are complete, because no more than `done` rounds were
        requested.
        """
        if n_rounds > done == self._stage_ends(label)[-1]:
            self._plan_stage(label, n_rounds)
        first, last = (self._last_generations(label, each) for each in (done, n_rounds))
        if len(last):
            for task in source(int(first.min()) + 1, int(last.max())):
                q = task.question
                if missing := tuple(g for g in task.generations if first[q] < g <= last[q]):
                    yield task._replace(generations=missing)

    def end_of_stage(self, label: str, n_rounds: int) -> int:
        """Return the rounds at the end of the stage that contains `n_rounds`, or of the last stage.

        Within the pilot all questions have equally many generations, so a stage may end after any round.
        """
        ends = self._stage_ends(label)
        return n_rounds if n_rounds <= ends[0] else next((end for end in ends if end >= n_rounds), ends[-1])

    def cells(self, label: str, n_rounds: int) -> list[Cells]:
        """Return the round values of each stage up to `n_rounds`, shape (1, N) each."""
        tally, end = self.workers[label].job.tally, self.end_of_stage(label, n_rounds)
        ends = (0, *(each for each in self._stage_ends(label) if each < end), end)
        last = [self._last_generations(label, each) for each in ends]
        return [tally.between(self.benchmark, label, after, upto) for after, upto in pairwise(last)]

    def merged_cells(self, label: str, clusters: tuple[str, ...] | None = None) -> Cells:
        """Return the stages of all rounds so far, each with the weight that `howsure score` gives it."""
        from howsure.stats.sequential import merge_stages

        cells = merge_stages(self.cells(label, self.workers[label].job.config.generations))
        return cells if clusters is None else replace(cells, clusters=clusters)

    def saving(self, label: str, n_rounds: int) -> float:
        """Return the squared error of a stage over that of even allocation, (mean sd)^2 / mean sd^2 (Neyman 1934)."""
        from howsure.stats.sequential import estimate_question_sd

        if n_rounds < self.pilot_end(label):
            return 1.0
        sd = estimate_question_sd(reduce(add, self.cells(label, n_rounds)))
        return float(sd.mean() ** 2 / np.mean(sd**2))

    def largest_generation(self, label: str, n_rounds: int) -> int:
        """Return the largest generation among the first `n_rounds`."""
        return int(self._last_generations(label, n_rounds).max(initial=0))

    def _stage_ends(self, label: str) -> list[int]:
        """Return the rounds at the end of each planned stage; the first is the pilot, which needs no plan."""
        if label not in self.plans:
            most = self.workers[label].job.config.generations
            return [min(PILOT_WITH_STOPPING, most) if self.may_stop else compute_pilot(most)]
        plan = self.plans[label]
        return list(accumulate(sum(stage.values()) // len(stage) for stage in plan.allocations))

    def _last_generations(self, label: str, n_rounds: int) -> IntArray:
        """Return the last generation of each question in the stage that contains `n_rounds`, shape (N,)."""
        questions = self.workers[label].job.tally.questions
        end, ends = self.end_of_stage(label, n_rounds), self._stage_ends(label)
        if end <= ends[0]:
            return np.full(len(questions), end, np.int64)
        stage = ends.index(end)
        return np.array([self.plans[label].ends(question)[stage] for question in questions], np.int64)

    def _plan_stage(self, label: str, n_rounds: int) -> None:
        """Plan one more stage from the scores of all stages so far, and write it to the run folder."""
        from howsure.stats.sequential import allocate_generations

        questions = self.workers[label].job.tally.questions
        done = self._stage_ends(label)[-1]
        before = self.plans.get(label) or manifest.AdaptivePlan(
            generations=done, allocations=(dict.fromkeys(questions, done),)
        )
        cells = reduce(add, self.cells(label, done))
        budget = len(questions) * (n_rounds - done)
        counts = allocate_generations(cells, budget).more[0]
        basis = manifest.StageBasis(
            n=int(cells.n.sum()), total=float(cells.total.sum()), total_sq=float(cells.total_sq.sum()), budget=budget
        )
        plan = manifest.AdaptivePlan(
            generations=n_rounds,
            allocations=(*before.allocations, dict(zip(questions, counts.tolist(), strict=True))),
            basis=(*before.basis, basis),
        )
        manifest.save_plan(self.folder, self.benchmark, label, plan)
        self.plans[label] = plan


def _check_plan(plan: manifest.AdaptivePlan, job: ModelJob, label: str) -> None:
    """Raise InputError if a stored plan is for other questions, or for more generations than the run has now."""
    planned, questions = set(plan.allocations[0]), set(job.tally.questions)
    remedy = "use another folder, or the questions and generations of that plan"
    if planned != questions:
        what = f"{label} was allocated {len(planned)} questions, now the run has {len(questions)} other questions"
        if planned < questions or questions < planned:
            what = f"{label} was allocated {len(planned)} questions, now the run has {len(questions)}"
        raise InputError(what, where="allocate: adaptive", remedy=remedy)
    if plan.generations > job.config.generations:
        what = f"{label} was allocated {plan.generations} generations per question, now {job.config.generations}"
        raise InputError(what, where="allocate: adaptive", remedy=remedy)
