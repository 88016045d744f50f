"""Round by round over all questions, until the answer is good enough.

A round is one more generation of every question under every variant, so a run that stops after a round is a balanced
design. Whole blocks of rounds are asked for at once, so that one request can carry several generations; between blocks
the lane is drained and looked at. The looks: after 2 rounds, then where `stopping.rounds_needed` expects the interval
to be narrow enough, but at most at twice the rounds so far, while the variance is still poorly known.

Whether to stop depends on nothing but the scores of the rounds up to the look, and so does the next look. A run that
is started again walks through the same looks: one that had stopped stays stopped and sends nothing, one that was killed
ends with the cells that it would have had.

With adaptive allocation a block is a stage of `stages`, rounds are generations per question on average, and what is
looked at are the stages weighed as wholes (`staged.merged`): each is unbiased given those before it, so that the sum of
score times precision is a martingale, which is what the confidence sequence bounds.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Literal

from howsure.errors import InputError
from howsure.sample.adaptive import Lane, Stages, Units
from howsure.sample.resume import Unit
from howsure.sample.stopping_rule import Until, Verdict
from howsure.stats.core.cells import Cells

if TYPE_CHECKING:
    from howsure.stats.sequential import StoppingDecision

__all__ = ["Rounds", "Until", "Verdict", "next_look"]

#: Rounds before the first look: the fewest that tell of the variance.
FIRST = 2
Ended = Literal["narrow", "different", "unreachable", "all", "alone"]


def next_look(rounds: int, needed: float, generations: int) -> int:
    """Rounds at the next look, more than `rounds` and at most `generations`, which must be more.

    Parameters
    ----------
    needed
        Rounds expected to be needed (`stopping.rounds_needed`); NaN where nothing is known yet.

    >>> next_look(2, 133, 50), next_look(32, 47, 50), next_look(32, 10, 50), next_look(32, 133, 50)
    (4, 47, 33, 50)
    """
    expected = 2 * rounds if math.isnan(needed) else math.ceil(min(needed, 2 * rounds) - 1e-9)
    return min(max(rounds + 1, expected), generations)


class Rounds:
    """The plans of all lanes of a run, and what became of them.

    Parameters
    ----------
    stages
        Of the same lanes, where generations are allocated adaptively.
    reference
        Results of other models on all questions, where `until` borrows from them.

    Attributes
    ----------
    verdicts
        One for each model, or for the pair, as they end. A model that was given up or interrupted has none.
    """

    def __init__(
        self,
        until: Until,
        lanes: Sequence[Lane],
        *,
        benchmark: str,
        stages: Stages | None = None,
        reference: Sequence[Cells] | None = None,
    ) -> None:
        self.until, self.benchmark, self.stages = until, benchmark, stages
        self.lanes = {lane.entry.label: lane for lane in lanes}
        generations = {label: lane.entry.generations for label, lane in self.lanes.items()}
        self.pair = until.pair(generations)
        self._is_sampled = max(generations.values(), default=1) > 1
        self.verdicts: list[Verdict] = []
        self._meeting = _Meeting() if self.pair else None
        self.reference = None if until.borrow is None else self._reference(reference)

    def _reference(self, known: Sequence[Cells] | None) -> Cells:
        """The reference of this benchmark; InputError where there is none, or it lacks questions that are asked."""
        from howsure.stats.borrowing import FEWEST_QUESTIONS, extract_factors, match_reference

        where = f"until: borrow: {self.until.borrow}"
        if known is None:
            raise InputError("the reference was not read", where=where, remedy="give it to `run` as reference")
        reference = match_reference(self.benchmark, known)
        extract_factors(reference)
        for lane in self.lanes.values():
            asked, there = lane.tally.questions, set(reference.questions)
            if absent := [question for question in asked if question not in there]:
                what = f"{len(absent)} of {len(asked)} questions are not in the reference, such as {absent[0]!r}"
                raise InputError(what, where=where, remedy="give a reference of the same benchmark")
            if len(asked) < FEWEST_QUESTIONS:
                remedy = f"ask at least {FEWEST_QUESTIONS}, or remove borrow"
                raise InputError(f"{len(asked)} questions are too few to borrow", where=where, remedy=remedy)
        return reference

    def rounds(self, label: str) -> int | None:
        """Rounds at which a model was stopped, None while it was not: what it still owes beyond is not wanted."""
        for verdict in self.verdicts:
            if label in verdict.models:
                return min(verdict.rounds, self.lanes[label].entry.generations)
        return None

    async def plan(self, label: str, units: Units) -> AsyncGenerator[Unit, None]:
        """The units of one lane, block by block; between blocks it waits for the lane, and for the other of a pair.

        Close it (`contextlib.aclosing`) where the lane ends before it does, or the other of the pair would wait.

        Parameters
        ----------
        units
            `units(first, last)`: what is still owed of rounds first to last.
        """
        try:
            lane = self.lanes[label]
            generations = lane.entry.generations
            # A greedy generation beside sampled ones has no noise that more of its kind could lessen.
            is_greedy = self._is_sampled and generations == 1
            if label not in self.pair if self.pair is not None else is_greedy:
                async for unit in self._rest(label, units, 0):
                    yield unit
                return
            group = self.pair or (label,)
            most = max(self.lanes[each].entry.generations for each in group)
            done, rounds = 0, min(FIRST, most)
            while True:
                for unit in self._block(label, units, done, min(rounds, generations)):
                    yield unit
                await lane.drained()
                found = await self._look(group, rounds, most)
                done = min(self._end(label, rounds), generations)
                if found is None:
                    break  # the other one was given up
                if isinstance(found, Verdict):
                    return
                rounds = found
            async for unit in self._rest(label, units, done):
                yield unit
            await lane.drained()
            self.verdicts.append(self._verdict((label,), "alone", generations, generations))
        finally:
            self.leave(label)

    def leave(self, label: str) -> None:
        """Say that a lane has ended, in whichever way: the other of a pair waits for it no longer. May be repeated."""
        if self._meeting is not None and self.pair is not None and label in self.pair:
            self._meeting.end()

    def _block(self, label: str, units: Units, done: int, rounds: int) -> Iterator[Unit]:
        return units(done + 1, rounds) if self.stages is None else self.stages.block(label, units, done, rounds)

    async def _rest(self, label: str, units: Units, done: int) -> AsyncGenerator[Unit, None]:
        """All that is owed after `done` rounds, without a look."""
        if self.stages is None:
            for unit in units(done + 1, self.lanes[label].entry.generations):
                yield unit
            return
        async for unit in self.stages.plan(label, units, done=done):
            yield unit

    def _whole(self, group: tuple[str, ...], rounds: int, ahead: int) -> int:
        """At most the end of the pilot, while that is not over: the first stage is planned from all of it."""
        assert self.stages is not None
        pilots = [self.stages.pilot(label) for label in group]
        return min([ahead, *(each for each in pilots if rounds < each)])

    def _end(self, label: str, rounds: int) -> int:
        """Rounds that a lane is at once it was asked for so many: a stage that the folder had may hold more."""
        return rounds if self.stages is None else self.stages.end(label, rounds)

    async def _look(self, group: tuple[str, ...], rounds: int, most: int) -> Verdict | int | None:
        """The verdict, or the rounds of the next look; None when the other of the pair is gone."""

        def decide() -> Verdict | int:
            found = self._decide(group, rounds, most)
            if isinstance(found, Verdict):
                self.verdicts.append(found)
            return found

        return decide() if self._meeting is None else await self._meeting.meet(decide)

    def _decide(self, group: tuple[str, ...], rounds: int, most: int) -> Verdict | int:
        look = self._stop(group, rounds)
        rounds = max(self._end(label, rounds) for label in group)
        score, half = float(look.score[0]), float(look.half[0])
        # An interval that holds at all looks may be read at any of them; those of the other rules may not.
        is_different = len(group) == 2 and self.until.rule == "sequence" and abs(score) > half
        ended: Ended
        if look.stop[0]:
            ended = "narrow"
        elif is_different:
            ended = "different"
        elif not look.reachable[0]:
            ended = "unreachable"
        elif rounds == most:
            ended = "all"
        else:
            # Failures leave fewer round values than rounds, and will go on doing so.
            needed = float(look.needed[0] * rounds / look.rounds[0])
            if self.stages is None:
                return next_look(rounds, needed, most)
            saving = max(self.stages.saving(label, rounds) for label in group)
            return self._whole(group, rounds, next_look(rounds, rounds + (needed - rounds) * saving, most))
        return self._verdict(group, ended, rounds, most, look)

    def _stop(self, group: tuple[str, ...], rounds: int) -> StoppingDecision:
        """`stopping.stop` on the rounds so far."""
        from howsure.stats.core.claims import STOPPING_RULES, check_choice, check_claim
        from howsure.stats.sequential import check_stopping, merge_stages

        until, tallies = self.until, {label: self.lanes[label].tally for label in group}
        results: Cells | list[Cells]
        if self.stages is not None:
            results = reduce(add, [merge_stages(self.stages.cells(label, rounds)) for label in group])
        elif until.rule in {"run-means", "prediction"}:
            each = [tally.runs(self.benchmark, label, rounds) for label, tally in tallies.items()]
            results = [reduce(add, together) for together in zip(*each, strict=True)]
        else:
            results = reduce(add, [tally.cells(self.benchmark, label, rounds) for label, tally in tallies.items()])
        seen = {label: rounds if self.stages is None else self.stages.longest(label, rounds) for label in group}
        return check_stopping(
            results,
            until.target,
            level=until.level,
            rule=check_choice("rule", until.rule, STOPPING_RULES),
            claim=check_claim(until.claim),
            pair=None if len(group) == 1 else (group[0], group[1]),
            floor=min(tally.floor(seen[label]) for label, tally in tallies.items()),
            reference=self.reference,
        )

    def _verdict(
        self, group: tuple[str, ...], ended: Ended, rounds: int, most: int, look: StoppingDecision | None = None
    ) -> Verdict:
        def known(name: str) -> float | None:
            value = math.nan if look is None else float(getattr(look, name)[0])
            return value if math.isfinite(value) else None

        return Verdict(
            models=group,
            ended=ended,
            rounds=rounds,
            generations=most,
            width=self.until.target,
            score=known("score"),
            half=known("half"),
            least=known("least"),
            needed=known("needed"),
            rule=self.until.rule,
            level=self.until.level,
            claim=self.until.claim,
            n_questions=0 if look is None else int(look.n_questions[0]),
            borrowed=0 if self.reference is None else len(self.reference.questions),
            is_adaptive=self.stages is not None,
        )


class _Meeting:
    """Where two lanes wait for each other after the same round; what the second decides is told to both."""

    def __init__(self) -> None:
        self._is_ended = False
        self._waiting: asyncio.Future[Verdict | int | None] | None = None

    async def meet(self, decide: Callable[[], Verdict | int]) -> Verdict | int | None:
        """What `decide()` says once both are here; None when the other has ended."""
        if self._is_ended:
            return None
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().create_future()
            return await self._waiting
        first, self._waiting = self._waiting, None
        found: Verdict | int | None = None
        try:
            found = decide()
        finally:
            if not first.done():
                first.set_result(found)
        return found

    def end(self) -> None:
        """Nobody is waited for any longer."""
        self._is_ended = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
