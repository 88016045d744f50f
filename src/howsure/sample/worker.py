"""Send the requests of one model, many at a time, and handle each reply or failure."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import NoReturn

import numpy as np

from howsure.errors import BudgetSpentError, EndpointError, FatalEndpointError, SamplingStoppedError
from howsure.models.client import TIMEOUT_LENGTHENED, compute_timeout
from howsure.models.model import Model, Reply, Request
from howsure.models.reply import drop_failed_choices
from howsure.safe_text import inflect_text
from howsure.sample.budget import Reservation
from howsure.sample.model_job import ModelJob
from howsure.sample.rate_limit import Permit, RateLimiter
from howsure.sample.resume import OUTAGE, PromptTask
from howsure.sample.retry import MAX_ATTEMPTS, PendingRequest, RetryPolicy, compute_wait, is_wait_too_long
from howsure.store.schema import Response

#: Reasons of failures that another attempt does not fix.
LASTING = ("bad_request", "too_large")
#: Reasons after which it is unknown whether the endpoint made and billed the generations.
UNKNOWN_OUTCOME = ("timeout", "malformed", "empty", "too_large", "cancelled", "failed_reply")
#: An endpoint that never took several generations is asked for one after so many failures with status 5xx.
ATTEMPTS_WITH_SEVERAL = 3
#: Other requests wait at most so many seconds for the first request for several generations, which shows what the
#: endpoint accepts.
PROBE_SECONDS = 10.0


class _AllRowsWrittenError(Exception):
    """Raised to end a worker that gives up while no open request lacks its rows."""


class Worker:
    """Send all requests of a `ModelJob`, many of them at a time.

    Parameters
    ----------
    job
        Builds the requests and receives the rows.
    model
        The model that answers.
    sleep, clock, rng
        Functions that wait and that return the time in seconds, and the generator of random waiting times.
    partner
        A worker of the same model on another benchmark, whose rate limiter and retry policy this one uses too.

    Attributes
    ----------
    n_requests
        The number of requests sent in this session.
    rate_limiter
        Limits how fast requests are sent.
    retry_policy
        Decides which requests are sent again, and when the model is given up.
    """

    def __init__(
        self,
        job: ModelJob,
        model: Model,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        rng: np.random.Generator,
        partner: Worker | None = None,
    ) -> None:
        self.job, self.model, self.sleep, self.rng = job, model, sleep, rng
        self.n_requests = 0
        config = job.config
        self.retry_policy: RetryPolicy = partner.retry_policy if partner else RetryPolicy(clock)
        self.rate_limiter: RateLimiter = (
            partner.rate_limiter
            if partner
            else RateLimiter(
                config.concurrency,
                requests_per_minute=config.requests_per_minute,
                tokens_per_minute=config.tokens_per_minute,
                # A model in this process has no queue.
                timeout=(config.timeout or compute_timeout(config.settings)) if config.is_billed else None,
                clock=clock,
                sleep=sleep,
            )
        )
        # Some tasks are fetched before a request can be sent, but not all tasks at once.
        self._slots = asyncio.Semaphore(2 * config.concurrency)
        self._n_open = 0
        self._idle, self._probed = asyncio.Event(), asyncio.Event()
        self._waiting: set[asyncio.Task[None]] = set()
        self._refused: list[tuple[PendingRequest, EndpointError]] = []
        self._exhausted: dict[PendingRequest, EndpointError] = {}
        self._all_drawn = self._is_stopped = self._accepts_several = False

    @property
    def in_flight(self) -> int:
        """The number of the model's requests without an outcome yet, those of a partner included."""
        return self.rate_limiter.in_flight

    @property
    def window(self) -> int:
        """The number of requests that may be in flight now."""
        return self.rate_limiter.window

    @property
    def note(self) -> str:
        """A remark for the progress display, or ""."""
        return self.rate_limiter.note

    async def run(self, tasks: AsyncIterator[PromptTask]) -> None:
        """Sample the tasks; return when each has its rows, the model was given up, or `stop` was called."""
        self.retry_policy.start()
        try:
            async with asyncio.TaskGroup() as self._group:
                async for task in tasks:
                    for start in range(0, len(task.generations), size := self.job.size.limit):
                        await self._slots.acquire()
                        part = task._replace(generations=task.generations[start : start + size])
                        self._start(PendingRequest(part), holds_slot=True)
                        if len(task.generations) > 1 and not self._probed.is_set():
                            await self._wait_for_probe()
                    if self._is_stopped:
                        break
                self._all_drawn = True
            if self._refused and not self._is_stopped:
                self._raise_fatal("every request was refused", self._refused[-1][1])
        except* FatalEndpointError as group:
            self.job.stopped = str(group.exceptions[0])
        except* (_AllRowsWrittenError, SamplingStoppedError):
            pass

    async def wait_until_idle(self) -> None:
        """Return when all tasks fetched so far have their rows, or were refused together.

        Raises
        ------
        SamplingStoppedError
            When some of the rows will never arrive, because an incomplete round does not allow a decision.
        """
        if self._n_open:
            self._idle.clear()
            await self._idle.wait()
        if self._is_stopped:
            raise SamplingStoppedError

    def stop(self) -> None:
        """Stop sending: the rows of requests in flight are still stored, requests that wait for a retry are dropped."""
        self._is_stopped = True
        self._probed.set()
        for task in self._waiting - {asyncio.current_task()}:
            task.cancel()

    def _start(self, pending: PendingRequest, *, holds_slot: bool = False) -> None:
        """Start an asyncio task that sends a request until it has an outcome."""
        self._n_open += 1
        task = self._group.create_task(self._send_until_done(pending))
        self._waiting.add(task)
        # A callback is used, because a task that is cancelled before its first step never runs its own code.
        task.add_done_callback(self._finish_with_slot if holds_slot else self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._waiting.discard(task)
        self._n_open -= 1
        if not self._n_open:
            self._idle.set()

    def _finish_with_slot(self, task: asyncio.Task[None]) -> None:
        self._finish(task)
        self._slots.release()

    async def _wait_for_probe(self) -> None:
        """Wait for the outcome of the first request, at most `PROBE_SECONDS`."""
        timeout = asyncio.ensure_future(self.sleep(PROBE_SECONDS))
        probed = asyncio.ensure_future(self._probed.wait())
        try:
            await asyncio.wait({timeout, probed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timeout.cancel()
            probed.cancel()
            self._probed.set()

    async def _send_until_done(self, pending: PendingRequest) -> None:
        while (wait := await self._attempt(pending)) is not None:
            if wait > 0:
                await self.sleep(wait)

    async def _attempt(self, pending: PendingRequest) -> float | None:
        """Send one request; return the seconds until its next attempt, or None if it needs no other."""
        self._split(pending, self.job.size.limit)
        if self._is_stopped or (reservation := await self._reserve(pending)) is None:
            return None
        tokens = self.job.estimate_tokens(pending.task) if self.rate_limiter.counts_tokens else 0
        try:
            permit = await self.rate_limiter.acquire(tokens)
        except asyncio.CancelledError:
            self.job.budget.release(reservation, sent=False)
            raise
        self.job.budget.record(reservation)
        request = self.job.build_request(pending.task)
        outcome = await self._send(pending, request, permit, reservation)
        if isinstance(outcome, EndpointError):
            return self._handle_failure(pending, outcome)
        self.job.record_reply(pending.task, request, outcome)
        try:
            request, reply, failed = drop_failed_choices(request, outcome)
        except EndpointError as error:
            return self._handle_failure(pending, error)
        rows = await self._build_rows(pending, request, reply)
        self._handle_reply(pending, request, reply, rows)
        if failed:
            return self._retry_failed_choices(pending, failed, outcome)
        return None

    def _retry_failed_choices(self, pending: PendingRequest, failed: tuple[int, ...], reply: Reply) -> float | None:
        """Leave the generations that failed in a reply in their request, and return the wait until its next attempt."""
        why = next(choice.error for choice in reply.choices if choice.error is not None)
        error = EndpointError(why, reason="failed_reply", status=200)
        pending.task = pending.task._replace(generations=failed)
        if pending.attempts >= MAX_ATTEMPTS:
            self._fail(pending, error)
            return None
        return compute_wait(error, pending.attempts, self.rng)

    async def _build_rows(self, pending: PendingRequest, request: Request, reply: Reply) -> list[Response]:
        """Return the scored rows of a reply; a scorer with a subprocess works in a thread."""
        job = self.job
        build = partial(job.build_rows, pending.task, request, reply, attempts=pending.attempts)
        if not job.is_scored_in_thread:
            return build()
        task = asyncio.current_task()
        assert task is not None
        self._waiting.discard(task)
        try:
            return await asyncio.to_thread(build)
        except asyncio.CancelledError:
            # The reply has arrived and was paid for, so its rows are written.
            self._handle_reply(pending, request, reply, build())
            raise
        finally:
            self._waiting.add(task)

    async def _send(
        self, pending: PendingRequest, request: Request, permit: Permit, reservation: Reservation
    ) -> Reply | EndpointError:
        """Return the reply or the failure of one request, and report it to the rate limiter and the budget."""
        task = asyncio.current_task()
        assert task is not None
        job, budget = self.job, self.job.budget
        self.n_requests += 1
        self.retry_policy.record_sent(pending)
        self._waiting.discard(task)
        outcome: Reply | EndpointError = EndpointError("dropped in flight", reason="cancelled")
        try:
            outcome = await self.model.generate(request)
            if not outcome.choices:
                outcome = EndpointError("a reply without choices", reason="empty")
        except EndpointError as error:
            outcome = error
        finally:
            self._waiting.add(task)
            self.retry_policy.record_returned(pending)
            self._probed.set()
            if isinstance(outcome, EndpointError):
                self.rate_limiter.release(permit, error=outcome)
                # A refused request is not billed; if the reply was cut off, the cost is unknown.
                (budget.forfeit if outcome.reason in UNKNOWN_OUTCOME else budget.release)(reservation)
            else:
                work = outcome.completion_tokens or len(outcome.choices)
                self.rate_limiter.release(permit, tokens=_count_tokens(outcome), limits=outcome.limits, work=work)
                job.bill(reservation, outcome)
        return outcome

    async def _reserve(self, pending: PendingRequest) -> Reservation | None:
        """Reserve the worst case, of fewer generations if not all fit; return None when the budget is spent."""
        while True:
            try:
                return await self.job.budget.reserve(*self.job.bound_cost(pending.task))
            except BudgetSpentError as error:
                n = len(pending.task.generations)
                if error.what not in {"tokens", "cost"} or n == 1:
                    self.job.spent = str(error)
                    self.stop()
                    return None
                self._split(pending, (n + 1) // 2)

    def _split(self, pending: PendingRequest, most: int) -> None:
        """Leave at most so many generations in a request; the others become requests of their own."""
        generations = pending.task.generations
        for start in range(most, len(generations), most):
            rest = pending.task._replace(generations=generations[start : start + most])
            self._start(PendingRequest(rest, pending.attempts, pending.first_sent))
        if len(generations) > most:
            pending.task = pending.task._replace(generations=generations[:most])

    def _handle_reply(self, pending: PendingRequest, request: Request, reply: Reply, rows: list[Response]) -> None:
        """Write the rows of a reply, and request the generations again that it did not contain."""
        job, task = self.job, pending.task
        self.retry_policy.record_success()
        job.trouble = None
        self._exhausted.pop(pending, None)
        job.add_rows(task.question, rows)
        if len(reply.choices) > 1:
            self._accepts_several = True
        if rest := request.generations[len(reply.choices) :]:
            self._start(PendingRequest(task._replace(generations=rest)))
        if pending.held:
            # One generation came where several were refused: another request shows whether it was their number.
            self._start(PendingRequest(task._replace(generations=pending.held), refused_n=pending.refused_n))
            pending.held = ()
        refused, self._refused = self._refused, []
        for other, error in refused:
            # Other requests succeed, so these requests are at fault and not the endpoint.
            self._fail(other, error)

    def _handle_failure(self, pending: PendingRequest, error: EndpointError) -> float | None:
        """Return the seconds until the next attempt, or None if there is none."""
        job, n = self.job, len(pending.task.generations)
        if error.reason == "n_rejected" and n > 1:
            job.size.record_rejection(n, error.most)
            pending.attempts -= 1
            return 0.0
        if self._may_refuse_several(pending, error):
            return self._ask_for_one(pending, error)
        if reason := self._find_reason_to_stop(error):
            # Requests in flight are still awaited, and their rows are stored.
            job.stopped = job.stopped or reason
            self.stop()
            return None
        job.trouble = f"{error.reason}: {error}"
        if error.reason == "timeout" and TIMEOUT_LENGTHENED in str(error):
            job.warn(
                "requests timed out that the endpoint was still working on; more time was allowed, and fewer in flight"
            )
        if error.reason in LASTING or error.status == 403:
            self._handle_lasting_failure(pending, error)
            return None
        self.retry_policy.record_failure(error, pending)
        job.trouble += self.retry_policy.describe_deadline()
        if self.retry_policy.is_tried_enough(pending, error):
            if self.retry_policy.is_exhausted(pending, error) and not self.retry_policy.may_be_outage(pending, error):
                self._exhausted.pop(pending, None)
                self._fail(pending, error)
                return None
            self._exhausted[pending] = error
        if self.retry_policy.should_give_up(self._n_open):
            self._give_up(error)
        if error.reason == "timeout" and n > 1:
            # The request may have been billed; half as many generations may arrive in time.
            self._split(pending, (n + 1) // 2)
        return compute_wait(error, pending.attempts, self.rng)

    def _find_reason_to_stop(self, error: EndpointError) -> str:
        """Return why no request of the model needs to be sent after this failure, or ""."""
        if isinstance(error, FatalEndpointError):
            # If other requests succeed, a 403 concerns this prompt (moderation) and not the key.
            is_moderated = error.status == 403 and self.retry_policy.n_successes > 0
            return "" if is_moderated or self.retry_policy.is_forgiven(error) else str(error)
        if is_wait_too_long(error):
            return f"the endpoint asks to wait {error.retry_after:,.0f} s: {error}"
        return ""

    def _may_refuse_several(self, pending: PendingRequest, error: EndpointError) -> bool:
        """Return whether a failure without an explanation may mean that the endpoint refuses `n`: it never took any."""
        if self._accepts_several or len(pending.task.generations) == 1:
            return False
        if pending.refused_n:
            return error.status in {400, 422} or error.reason == "server"
        return error.status in {400, 422} or (error.reason == "server" and pending.attempts == ATTEMPTS_WITH_SEVERAL)

    def _ask_for_one(self, pending: PendingRequest, error: EndpointError) -> float:
        """Ask for one generation of a refused request; if that came already, learn that it is the most."""
        generations = pending.task.generations
        if pending.refused_n:
            self.job.size.record_rejection(len(generations), None)
            pending.attempts -= 1
            return 0.0
        pending.refused_n, pending.held = len(generations), generations[1:]
        pending.task = pending.task._replace(generations=generations[:1])
        return 0.0 if error.status in {400, 422} else compute_wait(error, pending.attempts, self.rng)

    def _handle_lasting_failure(self, pending: PendingRequest, error: EndpointError) -> None:
        """Count a refused request as failed; while none has succeeded only collect it, as all may be refused."""
        if self.retry_policy.n_successes:
            self._fail(pending, error)
            return
        self._refused.append((pending, error))
        if self.retry_policy.refuses_all(len(self._refused)):
            self._raise_fatal("every request was refused", error)

    def _give_up(self, error: EndpointError) -> NoReturn:
        """End the worker: cells stay missing until the next session, which also samples rows that failed together."""
        self._is_stopped = True
        if self._all_drawn and len(self._exhausted) == self._n_open:
            # Nothing shows whether these requests or the endpoint are at fault.
            n = sum(len(pending.task.generations) + len(pending.held) for pending in self._exhausted)
            for pending, last_error in self._exhausted.items():
                self._fail(pending, EndpointError(f"{last_error.reason}: {last_error}", reason=OUTAGE))
            self.job.warn(
                inflect_text(
                    f"{n:,} [generation|generations] failed while no other request succeeded; the next run requests "
                    "[it|them] again",
                    n,
                )
            )
            raise _AllRowsWrittenError
        seconds, n_failures = self.retry_policy.seconds_without_success, self.retry_policy.n_failures
        self._raise_fatal(f"no success for {seconds:.0f} s and {n_failures} failed requests", error)

    def _raise_fatal(self, what: str, error: EndpointError) -> NoReturn:
        self._is_stopped = True
        raise FatalEndpointError(f"{what}: {error}", reason=error.reason, status=error.status) from None

    def _fail(self, pending: PendingRequest, error: EndpointError) -> None:
        """Write rows without a score for the generations of a request."""
        task = pending.task._replace(generations=pending.task.generations + pending.held)
        pending.held = ()
        self.job.add_rows(task.question, self.job.build_failed_rows(task, error, attempts=pending.attempts))


def _count_tokens(reply: Reply) -> int | None:
    """Return the tokens of a request and its reply, or None where the reply does not report them."""
    if reply.prompt_tokens is None or reply.completion_tokens is None:
        return None
    return reply.prompt_tokens + reply.completion_tokens
