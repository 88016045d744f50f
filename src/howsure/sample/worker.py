"""One model of a run: its requests in flight, and what follows from each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NoReturn, Unpack

from howsure.benchmarks.question import Benchmark, Question, Variant
from howsure.errors import BudgetSpentError, EndpointError, FatalEndpointError, SamplingStoppedError
from howsure.models.model import Model, Reply, Request
from howsure.sample.budget import Reservation
from howsure.sample.model_config import ModelEntry
from howsure.sample.model_job import Asking, AskingKeys
from howsure.sample.prices import likely
from howsure.sample.rate_limit import Pace, Ticket
from howsure.sample.resume import Unit
from howsure.sample.retry import LONGEST_WAIT, Patience, Work, backoff
from howsure.sample.scoring import failed
from howsure.store.schema import Response

__all__ = ["Lane"]

#: Reasons that a second attempt does not mend.
LASTING = ("bad_request", "too_large")
#: Reasons after which nobody knows whether the generations were made, and billed.
UNKNOWN_FATE = ("timeout", "malformed", "empty", "too_large", "cancelled")
#: Seconds that the first request for several generations has to show what the endpoint takes, before others follow.
PROBE = 10.0
#: Tokens of a completion that are expected while none has come and nothing bounds them.
TOKENS = 512


class _NoneLeft(Exception):  # noqa: N818  no error: it ends a lane in which every request has its rows
    """All that was owed has arrived or failed."""


class Lane(Asking):
    """All that one model still owes, by requests of which many are in flight. Parameters are those of `Asking`."""

    def __init__(
        self,
        entry: ModelEntry,
        model: Model,
        benchmark: Benchmark,
        questions: Sequence[Question],
        variants: Sequence[Variant],
        keep: Callable[[list[Response]], None],
        **keys: Unpack[AskingKeys],
    ) -> None:
        super().__init__(entry, benchmark, questions, variants, keep, **keys)
        self.model = model
        self.pace = Pace(
            entry.concurrency,
            requests_per_minute=entry.requests_per_minute,
            tokens_per_minute=entry.tokens_per_minute,
            clock=self.clock,
            sleep=self.sleep,
        )
        self._room = asyncio.Semaphore(2 * entry.concurrency)
        self._patience = Patience(self.clock)
        self._open = 0
        self._empty, self._probed = asyncio.Event(), asyncio.Event()
        self._resting: set[asyncio.Task[None]] = set()
        self._refused: list[tuple[Work, EndpointError]] = []
        self._tired: dict[Work, EndpointError] = {}
        self._is_drawn = self._is_over = False

    @property
    def requests(self) -> int:
        """Requests sent."""
        return self._patience.started

    async def run(self, units: AsyncIterator[Unit]) -> None:
        """Sample the units; returns when each has its rows, or the model was stopped, or `finish` was called."""
        self._patience.heard = self.clock()
        try:
            async with asyncio.TaskGroup() as self._group:
                async for unit in units:
                    for start in range(0, len(unit.generations), size := self.sizes.most):
                        await self._room.acquire()
                        self._begin(Work(unit._replace(generations=unit.generations[start : start + size])), room=True)
                        if len(unit.generations) > 1 and not self._probed.is_set():
                            await self._probe()
                    if self._is_over:
                        break
                self._is_drawn = True
            if self._refused and not self._is_over:
                self._stop("every request was refused", self._refused[-1][1])
        except* FatalEndpointError as group:
            self.stopped = str(group.exceptions[0])
        except* (_NoneLeft, SamplingStoppedError):
            pass

    async def drained(self) -> None:
        """Return once all units drawn so far have their rows, or were refused together; never where some never will."""
        if self._open:
            self._empty.clear()
            await self._empty.wait()
        if self._is_over:
            # A plan must not decide by a round that is not whole.
            raise SamplingStoppedError

    def finish(self) -> None:
        """Send no more: requests in flight bring their rows, those that wait for another attempt are dropped."""
        self._is_over = True
        self._probed.set()
        for task in self._resting - {asyncio.current_task()}:
            task.cancel()

    def _begin(self, work: Work, *, room: bool = False) -> None:
        self._open += 1
        task = self._group.create_task(self._finish(work))
        self._resting.add(task)
        # Not in the task itself: one that is cancelled before its first step never runs.
        task.add_done_callback(self._ended_with_room if room else self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._resting.discard(task)
        self._open -= 1
        if not self._open:
            self._empty.set()

    def _ended_with_room(self, task: asyncio.Task[None]) -> None:
        self._ended(task)
        self._room.release()

    async def _probe(self) -> None:
        """Wait for what becomes of the first request, but not for long."""
        patience = asyncio.ensure_future(self.sleep(PROBE))
        told = asyncio.ensure_future(self._probed.wait())
        try:
            await asyncio.wait({patience, told}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            patience.cancel()
            told.cancel()
            self._probed.set()

    async def _finish(self, work: Work) -> None:
        while (wait := await self._attempt(work)) is not None:
            if wait > 0:
                await self.sleep(wait)

    async def _attempt(self, work: Work) -> float | None:
        """One request; seconds until the next one, or None when no other is needed."""
        self._split(work, self.sizes.most)
        if self._is_over or (reservation := await self._reserve(work)) is None:
            return None
        try:
            ticket = await self.pace.enter(self._expected(work.unit) if self.pace.counts_tokens else 0)
        except asyncio.CancelledError:
            self.budget.release(reservation, sent=False)
            raise
        request = self.request(work.unit)
        outcome = await self._send(work, request, ticket, reservation)
        if isinstance(outcome, EndpointError):
            return self._failure(work, request, outcome)
        self._success(work, request, outcome)
        return None

    async def _send(
        self, work: Work, request: Request, ticket: Ticket, reservation: Reservation
    ) -> Reply | EndpointError:
        task = asyncio.current_task()
        assert task is not None
        self._patience.sent(work)
        self._resting.discard(task)
        outcome: Reply | EndpointError = EndpointError("dropped in flight", reason="cancelled")
        try:
            outcome = await self.model.generate(request)
            if not outcome.choices:
                outcome = EndpointError("a reply without choices", reason="empty")
        except EndpointError as error:
            outcome = error
        finally:
            self._resting.add(task)
            self._patience.back(work)
            self._probed.set()
            if isinstance(outcome, EndpointError):
                self.pace.leave(ticket, error=outcome)
                # Nothing is billed for a refusal; of what broke off nobody knows.
                (self.budget.forfeit if outcome.reason in UNKNOWN_FATE else self.budget.release)(reservation)
            else:
                self.pace.leave(ticket, tokens=_used(outcome), limits=outcome.limits)
                self.bill(reservation, outcome)
        return outcome

    async def _reserve(self, work: Work) -> Reservation | None:
        """Room in the budget for the worst case, with fewer generations when all do not fit; None: it is spent."""
        while True:
            try:
                return await self.budget.reserve(*self.worst(work.unit))
            except BudgetSpentError as spent:
                if spent.what not in {"tokens", "cost"} or len(work.unit.generations) == 1:
                    self.spent = str(spent)
                    self.finish()
                    return None
                self._split(work, (len(work.unit.generations) + 1) // 2)

    def _expected(self, unit: Unit) -> int:
        """Tokens that endpoints count against a limit per minute before they know."""
        messages = self.variants[unit.variant].messages(self.questions[unit.question])
        each = self.entry.longest or (self.completion_tokens // self.done if self.done else TOKENS)
        return likely(messages) + len(unit.generations) * each

    def _split(self, work: Work, most: int) -> None:
        """Leave at most so many generations in `work`; the others become work of their own."""
        generations = work.unit.generations
        for start in range(most, len(generations), most):
            rest = work.unit._replace(generations=generations[start : start + most])
            self._begin(Work(rest, work.attempts, work.since))
        if len(generations) > most:
            work.unit = work.unit._replace(generations=generations[:most])

    def _success(self, work: Work, request: Request, reply: Reply) -> None:
        self._patience.succeeded()
        self.trouble = None
        self._tired.pop(work, None)
        self.count(work.unit.question, self.read(work.unit, request, reply, attempts=work.attempts))
        if rest := request.generations[len(reply.choices) :]:
            self._begin(Work(work.unit._replace(generations=rest)))
        refused, self._refused = self._refused, []
        for other, error in refused:
            # Others succeed, so it was these requests that were wrong.
            self._fail(other, self.request(other.unit), error)

    def _failure(self, work: Work, request: Request, error: EndpointError) -> float | None:
        asked = len(request.generations)
        if error.reason == "n_rejected" and asked > 1:
            self.sizes.rejected(asked, error.most)
            work.attempts -= 1
            return 0.0
        # A 403 among successes is about this prompt (moderation), not about the key.
        if isinstance(error, FatalEndpointError) and not (error.status == 403 and self._patience.successes):
            self.stopped = self.stopped or str(error)
            self.finish()
            return None
        self.trouble = f"{error.reason}: {error}"
        if error.reason in LASTING or error.status == 403:
            self._lasting(work, request, error)
            return None
        self._patience.failed(error)
        self.trouble += self._patience.told
        if (error.retry_after or 0) > LONGEST_WAIT:
            self._stop(f"the endpoint asks to wait {error.retry_after:,.0f} s", error)
        if self._patience.is_tried_enough(work, error):
            if not self._patience.may_be_outage(work):
                self._tired.pop(work, None)
                self._fail(work, request, error)
                return None
            self._tired[work] = error
        if self._patience.is_over(self._open):
            self._give_up(error)
        if error.reason == "timeout" and asked > 1:
            # It may have been paid for; half as many may come in time.
            self._split(work, (asked + 1) // 2)
        return (error.retry_after or 0.0) + backoff(work.attempts, self.rng)

    def _lasting(self, work: Work, request: Request, error: EndpointError) -> None:
        """A refusal that trying again does not mend: of this request, or of every one while none has succeeded."""
        if self._patience.successes:
            self._fail(work, request, error)
            return
        self._refused.append((work, error))
        if self._patience.is_refused(len(self._refused)):
            self._stop("every request was refused", error)

    def _give_up(self, error: EndpointError) -> NoReturn:
        """End the lane; what was tried often enough while others succeeded has failed, the rest is still owed."""
        self._is_over = True
        for work, last in self._tired.items():
            self._fail(work, self.request(work.unit), last)
        if self._is_drawn and len(self._tired) == self._open:
            raise _NoneLeft
        self._stop(f"no success for {self._patience.silent:.0f} s and {self._patience.failures} failed requests", error)

    def _stop(self, what: str, error: EndpointError) -> NoReturn:
        self._is_over = True
        raise FatalEndpointError(f"{what}: {error}", reason=error.reason, status=error.status) from None

    def _fail(self, work: Work, request: Request, error: EndpointError) -> None:
        question = self.questions[work.unit.question]
        rows = failed(question, self.entry.label, request, error, attempts=work.attempts, created=time.time())
        self.count(work.unit.question, rows)


def _used(reply: Reply) -> int | None:
    """Tokens of a request and its reply; None where it does not say."""
    if reply.prompt_tokens is None or reply.completion_tokens is None:
        return None
    return reply.prompt_tokens + reply.completion_tokens
