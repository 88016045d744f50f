"""Sample in rounds over all questions, and stop when the interval is narrow enough.

A round is one more generation of every question under every variant, so a run that stops after a round is a balanced
design. Whole blocks of rounds are requested at once, so that one request can bring several generations; after each
block the schedule waits until the worker is idle and makes an interim analysis. The interim analyses come after 2
rounds, then where `stats.sequential.required_rounds` expects the interval to be narrow enough, but at most at twice the
rounds so far while the variance is still poorly known.

The decision to stop and the next interim analysis depend only on the scores of the rounds so far, so a run that is
started again makes the same interim analyses. A run that had stopped sends nothing, and a run that was killed ends with
the same cells as an uninterrupted one.

With adaptive allocation a block is a stage of `adaptive.AdaptiveSchedule`, rounds are generations per question on
average, and the stages are merged with one weight each (`stats.sequential.merge_stages`): each stage is unbiased given
those before it, so that the sum of score times precision is a martingale, which the confidence sequence bounds.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from howsure.errors import InputError
from howsure.sample.adaptive import AdaptiveSchedule, TaskSource
from howsure.sample.experiment import StoppingConfig, StoppingReason, StoppingVerdict
from howsure.sample.resume import PromptTask
from howsure.stats.core.cells import Cells

if TYPE_CHECKING:
    from howsure.sample.batch_worker import BatchWorker
    from howsure.sample.worker import Worker
    from howsure.stats.sequential import StoppingDecision

#: Rounds before the first interim analysis; fewer rounds do not allow an estimate of the variance.
FIRST = 2


def compute_next_analysis(n_rounds: int, needed: float, generations: int) -> int:
    """Return the rounds at the next interim analysis, more than `n_rounds` and at most `generations`.

    Parameters
    ----------
    n_rounds, generations
        Number of rounds so far, and in total; the total must be larger.
    needed
        Rounds expected to be needed (`stats.sequential.required_rounds`); NaN where unknown.

    >>> [compute_next_analysis(k, needed, 50) for k, needed in ((2, 133), (32, 47), (32, 10), (32, 133))]
    [4, 47, 33, 50]
    """
    expected = 2 * n_rounds if math.isnan(needed) else math.ceil(min(needed, 2 * n_rounds) - 1e-9)
    return min(max(n_rounds + 1, expected), generations)


class RoundSchedule:
    """Schedule the rounds of all models of a run, and store the verdict of each.

    Parameters
    ----------
    adaptive
        The stages of the same models, if generations are allocated adaptively.
    reference
        Results of other models on all questions, if the configuration has `borrow`.

    Attributes
    ----------
    verdicts
        One for each model, or one for the pair. A model that was given up or interrupted has none.
    """

    def __init__(
        self,
        config: StoppingConfig,
        workers: Sequence[Worker | BatchWorker],
        *,
        benchmark: str,
        adaptive: AdaptiveSchedule | None = None,
        reference: Sequence[Cells] | None = None,
    ) -> None:
        self.config, self.benchmark, self.adaptive = config, benchmark, adaptive
        self.workers = {worker.job.config.label: worker for worker in workers}
        generations = {label: worker.job.config.generations for label, worker in self.workers.items()}
        self.pair = config.find_pair(generations)
        self._has_sampled_models = max(generations.values(), default=1) > 1
        self.verdicts: list[StoppingVerdict] = []
        self._barrier = _PairBarrier() if self.pair else None
        self.reference = None if config.borrow is None else self._find_reference(reference)

    def _find_reference(self, references: Sequence[Cells] | None) -> Cells:
        """Return the reference of this benchmark; raise InputError if there is none, or it lacks questions."""
        from howsure.stats.borrowing import FEWEST_QUESTIONS, extract_factors, match_reference

        where = f"until: borrow: {self.config.borrow}"
        if references is None:
            raise InputError("the reference is missing", where=where, remedy="give it to `run` as reference")
        reference = match_reference(self.benchmark, references)
        extract_factors(reference)
        for worker in self.workers.values():
            questions, reference_questions = worker.job.tally.questions, set(reference.questions)
            if absent := [question for question in questions if question not in reference_questions]:
                what = f"{len(absent)} of {len(questions)} questions are not in the reference, such as {absent[0]!r}"
                raise InputError(what, where=where, remedy="give a reference of the same benchmark")
            if len(questions) < FEWEST_QUESTIONS:
                remedy = f"use at least {FEWEST_QUESTIONS} questions, or remove borrow"
                raise InputError(f"{len(questions)} questions are too few to borrow", where=where, remedy=remedy)
        return reference

    def stopped_after(self, label: str) -> int | None:
        """Return the rounds after which a model was stopped, so that no later cell is needed; None if it was not."""
        for verdict in self.verdicts:
            if label in verdict.models:
                return min(verdict.n_rounds, self.workers[label].job.config.generations)
        return None

    async def tasks(self, label: str, source: TaskSource) -> AsyncGenerator[PromptTask, None]:
        """Yield the tasks of one model, block by block; after each, wait for its worker and the pair.

        Close the generator (`contextlib.aclosing`) if the worker ends before the tasks do; otherwise the other model of
        the pair would wait forever.

        Parameters
        ----------
        source
            A function that returns the missing cells of the rounds `first` to `last`.
        """
        try:
            worker = self.workers[label]
            generations = worker.job.config.generations
            # A greedy model has one generation: it has no sampling noise that more generations could reduce.
            is_greedy = self._has_sampled_models and generations == 1
            if label not in self.pair if self.pair is not None else is_greedy:
                async for task in self._remaining_tasks(label, source, 0):
                    yield task
                return
            group = self.pair or (label,)
            most = max(self.workers[each].job.config.generations for each in group)
            done, n_rounds = 0, min(FIRST, most)
            while True:
                for task in self._block(label, source, done, min(n_rounds, generations)):
                    yield task
                await worker.wait_until_idle()
                decision = await self._analyse(group, n_rounds, most)
                done = min(self._end_of_stage(label, n_rounds), generations)
                if decision is None:
                    break  # the other model was given up
                if isinstance(decision, StoppingVerdict):
                    return
                n_rounds = decision
            async for task in self._remaining_tasks(label, source, done):
                yield task
            await worker.wait_until_idle()
            self.verdicts.append(self._build_verdict((label,), "alone", generations, generations))
        finally:
            self.leave(label)

    def leave(self, label: str) -> None:
        """Declare that a worker has ended, so that the other of a pair stops waiting; may be repeated."""
        if self._barrier is not None and self.pair is not None and label in self.pair:
            self._barrier.end()

    def _block(self, label: str, source: TaskSource, done: int, n_rounds: int) -> Iterator[PromptTask]:
        if self.adaptive is None:
            return source(done + 1, n_rounds)
        return self.adaptive.block(label, source, done, n_rounds)

    async def _remaining_tasks(self, label: str, source: TaskSource, done: int) -> AsyncGenerator[PromptTask, None]:
        """Yield all tasks after `done` rounds, without an interim analysis."""
        if self.adaptive is None:
            for task in source(done + 1, self.workers[label].job.config.generations):
                yield task
            return
        async for task in self.adaptive.tasks(label, source, done=done):
            yield task

    def _limit_to_pilot(self, group: tuple[str, ...], n_rounds: int, ahead: int) -> int:
        """Return `ahead`, limited to the end of an unfinished pilot, from which the first stage is planned."""
        assert self.adaptive is not None
        pilots = [self.adaptive.pilot_end(label) for label in group]
        return min([ahead, *(end for end in pilots if n_rounds < end)])

    def _end_of_stage(self, label: str, n_rounds: int) -> int:
        """Return the rounds that a model will have after this many were requested: a stored stage may contain more."""
        return n_rounds if self.adaptive is None else self.adaptive.end_of_stage(label, n_rounds)

    async def _analyse(self, group: tuple[str, ...], n_rounds: int, most: int) -> StoppingVerdict | int | None:
        """Return the verdict, or the rounds at the next interim analysis; None if the other model has ended."""

        def decide() -> StoppingVerdict | int:
            decision = self._decide(group, n_rounds, most)
            if isinstance(decision, StoppingVerdict):
                self.verdicts.append(decision)
            return decision

        return decide() if self._barrier is None else await self._barrier.meet(decide)

    def _decide(self, group: tuple[str, ...], n_rounds: int, most: int) -> StoppingVerdict | int:
        """Return the verdict of an interim analysis, or the rounds at the next one."""
        analysis = self._check_stopping(group, n_rounds)
        n_rounds = max(self._end_of_stage(label, n_rounds) for label in group)
        score, half = float(analysis.score[0]), float(analysis.half[0])
        # Only an interval that is valid at all interim analyses together may be used at each of them.
        is_different = len(group) == 2 and self.config.rule == "sequence" and abs(score) > half
        reason: StoppingReason
        if analysis.stop[0]:
            reason = "narrow"
        elif is_different:
            reason = "different"
        elif not analysis.reachable[0]:
            reason = "unreachable"
        elif n_rounds == most:
            reason = "all"
        else:
            # Failed generations leave fewer round values than rounds, and later rounds are expected to fail as often.
            needed = float(analysis.needed[0] * n_rounds / analysis.n_rounds[0])
            if self.adaptive is None:
                return compute_next_analysis(n_rounds, needed, most)
            saving = max(self.adaptive.saving(label, n_rounds) for label in group)
            needed = n_rounds + (needed - n_rounds) * saving
            return self._limit_to_pilot(group, n_rounds, compute_next_analysis(n_rounds, needed, most))
        return self._build_verdict(group, reason, n_rounds, most, analysis)

    def _check_stopping(self, group: tuple[str, ...], n_rounds: int) -> StoppingDecision:
        """Return `stats.sequential.check_stopping` of the rounds so far."""
        from howsure.stats.sequential import check_stopping, merge_stages

        config, tallies = self.config, {label: self.workers[label].job.tally for label in group}
        results: Cells | list[Cells]
        if self.adaptive is not None:
            results = reduce(add, [merge_stages(self.adaptive.cells(label, n_rounds)) for label in group])
        elif config.rule in {"run-means", "prediction"}:
            runs = [tally.runs(self.benchmark, label, n_rounds) for label, tally in tallies.items()]
            results = [reduce(add, together) for together in zip(*runs, strict=True)]
        else:
            results = reduce(add, [tally.cells(self.benchmark, label, n_rounds) for label, tally in tallies.items()])
        last = {
            label: n_rounds if self.adaptive is None else self.adaptive.largest_generation(label, n_rounds)
            for label in group
        }
        return check_stopping(
            results,
            config.target,
            level=config.level,
            rule=config.rule or "pooled",
            claim=config.claim,
            pair=None if len(group) == 1 else (group[0], group[1]),
            variance_floor=min(tally.variance_floor(last[label]) for label, tally in tallies.items()),
            reference=self.reference,
        )

    def _build_verdict(
        self,
        group: tuple[str, ...],
        reason: StoppingReason,
        n_rounds: int,
        most: int,
        analysis: StoppingDecision | None = None,
    ) -> StoppingVerdict:
        def read_finite(name: str) -> float | None:
            value = math.nan if analysis is None else float(getattr(analysis, name)[0])
            return value if math.isfinite(value) else None

        return StoppingVerdict(
            models=group,
            reason=reason,
            n_rounds=n_rounds,
            generations=most,
            width=self.config.target,
            score=read_finite("score"),
            half_width=read_finite("half"),
            least_width=read_finite("least"),
            needed=read_finite("needed"),
            rule=str(self.config.rule),
            level=self.config.level,
            claim=self.config.claim,
            n_questions=0 if analysis is None else int(analysis.n_questions[0]),
            borrowed_questions=0 if self.reference is None else len(self.reference.questions),
            is_adaptive=self.adaptive is not None,
        )


class _PairBarrier:
    """Let two models wait for each other after the same round; the model that arrives second decides for both."""

    def __init__(self) -> None:
        self._is_ended = False
        self._waiting: asyncio.Future[StoppingVerdict | int | None] | None = None

    async def meet(self, decide: Callable[[], StoppingVerdict | int]) -> StoppingVerdict | int | None:
        """Return the result of `decide()` when both models have arrived; None if the other one has ended."""
        if self._is_ended:
            return None
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().create_future()
            return await self._waiting
        first, self._waiting = self._waiting, None
        decision: StoppingVerdict | int | None = None
        try:
            decision = decide()
        finally:
            if not first.done():
                first.set_result(decision)
        return decision

    def end(self) -> None:
        """Release a waiting model, and let later calls of `meet` return at once."""
        self._is_ended = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
