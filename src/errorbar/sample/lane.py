"""One model of a run: its requests in flight, what follows from each, and how many generations one asks for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NoReturn

import numpy as np

from errorbar.benchmarks.question import Benchmark, Prompt, Question
from errorbar.errors import EndpointError, FatalEndpointError
from errorbar.sample.experiment import ModelEntry
from errorbar.sample.grid import Unit
from errorbar.sample.model import Model, Reply, Request
from errorbar.sample.patience import LONGEST_WAIT, Patience, Work, backoff
from errorbar.sample.scoring import failed, scored
from errorbar.store.schema import Response

__all__ = ["Lane"]

#: Generations per request where the endpoint has not said what it takes.
MOST = 128
#: Replies in a row with fewer choices than asked for, after which fewer are asked for.
SHORT = 3
#: Reasons that a second attempt does not mend.
LASTING = ("bad_request", "too_large")


class _NoneLeft(Exception):  # noqa: N818  no error: it ends a lane in which every request has its rows
    """All that was owed has arrived or failed."""


class Lane:
    """All that one model still owes.

    Parameters
    ----------
    keep
        Takes rows as they arrive.
    sleep, clock, rng
        How retries wait, what they measure time with, and their jitter.

    Attributes
    ----------
    done, failed
        Generations that arrived, and those that failed for good.
    n, total
        Scored generations of each question and the sum of their scores: what progress is made of. Lists of length N.
    stopped
        Why the model was given up, or None.
    notes
        What the reader of the numbers should know, each said once.
    seen
        (model, fingerprint) as the endpoint told them.
    trouble
        The last failure since the last success, or None.
    """

    def __init__(
        self,
        entry: ModelEntry,
        model: Model,
        benchmark: Benchmark,
        questions: Sequence[Question],
        prompts: Sequence[Prompt],
        keep: Callable[[list[Response]], None],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        rng: np.random.Generator,
    ) -> None:
        self.entry, self.model, self.benchmark = entry, model, benchmark
        self.questions, self.prompts, self.ids = questions, prompts, [prompt.id for prompt in prompts]
        self.keep, self.sleep, self.clock, self.rng = keep, sleep, clock, rng
        self.done = self.failed = 0
        self.n = [0] * len(questions)
        self.total = [0.0] * len(questions)
        self.stopped: str | None = None
        self.notes: list[str] = []
        self.seen: set[tuple[str, str]] = set()
        self.trouble: str | None = None
        self._slots = asyncio.Semaphore(entry.concurrency)
        self._room = asyncio.Semaphore(2 * entry.concurrency)
        self._patience = Patience(clock)
        self._most = MOST
        self._short: list[int] = []
        self._open = 0
        self._refused: list[tuple[Work, EndpointError]] = []
        self._tired: dict[Work, EndpointError] = {}
        self._is_drawn = self._is_over = False

    async def run(self, units: Iterator[Unit]) -> None:
        """Sample the units; returns when each has its rows or the model was stopped."""
        self._patience.heard = self.clock()
        try:
            async with asyncio.TaskGroup() as self._group:
                for unit in units:
                    for start in range(0, len(unit.generations), most := self._most):
                        await self._room.acquire()
                        self._begin(Work(unit._replace(generations=unit.generations[start : start + most])), room=True)
                self._is_drawn = True
            if self._refused:
                self._stop("every request was refused", self._refused[-1][1])
        except* FatalEndpointError as group:
            self.stopped = str(group.exceptions[0])
        except* _NoneLeft:
            pass

    def _begin(self, work: Work, *, room: bool = False) -> None:
        self._open += 1
        self._group.create_task(self._finish(work, room=room))

    async def _finish(self, work: Work, *, room: bool) -> None:
        try:
            while (wait := await self._attempt(work)) is not None:
                if wait > 0:
                    await self.sleep(wait)
        finally:
            self._open -= 1
            if room:
                self._room.release()

    async def _attempt(self, work: Work) -> float | None:
        """One request; seconds until the next one, or None when no other is needed."""
        async with self._slots:
            if self._is_over:
                return None
            self._split(work, self._most)
            request = self._request(work.unit)
            self._patience.sent(work)
            failure: EndpointError | None = None
            try:
                reply = await self.model.generate(request)
            except EndpointError as error:
                # A 403 among successes is about this prompt (moderation), not about the key.
                if isinstance(error, FatalEndpointError) and not (error.status == 403 and self._patience.successes):
                    self._is_over = True
                    raise
                failure = error
            finally:
                self._patience.back(work)
            if failure is None and not reply.choices:
                failure = EndpointError("a reply without choices", reason="empty")
        if failure is not None:
            return self._failure(work, request, failure)
        self._success(work, request, reply)
        return None

    def _request(self, unit: Unit) -> Request:
        question = self.questions[unit.question]
        return Request(
            benchmark=self.benchmark.name,
            question=question.id,
            variant=self.ids[unit.variant],
            messages=self.prompts[unit.variant].messages(question),
            generations=unit.generations,
            settings=self.entry.settings,
        )

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
        asked, came = len(request.generations), len(reply.choices)
        question = self.questions[work.unit.question]
        rows = scored(
            self.benchmark, question, self.entry.label, request, reply, attempts=work.attempts, created=time.time()
        )
        self._keep(rows, work.unit.question)
        self.seen.add((reply.model or "", reply.fingerprint or ""))
        if reply.surplus:
            self._note("the endpoint sent more generations than asked for; those were dropped")
        if came < asked:
            self._begin(Work(work.unit._replace(generations=request.generations[came:])))
        if asked > 1:
            self._learn(asked, came)
        refused, self._refused = self._refused, []
        for other, error in refused:
            # Others succeed, so it was these requests that were wrong.
            self._fail(other, self._request(other.unit), error)

    def _learn(self, asked: int, came: int) -> None:
        """Ask for fewer per request when the endpoint keeps sending fewer; one short reply may be chance."""
        if came == asked:
            self._short.clear()
        elif asked <= self._most:
            self._short.append(came)
            if len(self._short) == SHORT:
                self._cap(max(self._short), "sends")
                self._short.clear()

    def _cap(self, most: int, verb: str) -> None:
        self._most = most
        self._note(
            f"the endpoint {verb} {'one generation' if most == 1 else f'at most {most} generations'} per request; "
            "more requests are made instead"
        )

    def _failure(self, work: Work, request: Request, error: EndpointError) -> float | None:
        asked = len(request.generations)
        if error.reason == "n_rejected" and asked > 1:
            if asked <= self._most:
                self._cap(error.most if error.most and error.most < asked else 1, "takes")
            work.attempts -= 1
            return 0.0
        self.trouble = f"{error.reason}: {error}"
        if error.reason in LASTING or error.status == 403:
            self._lasting(work, request, error)
            return None
        self._patience.failed(error)
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
            self._fail(work, self._request(work.unit), last)
        if self._is_drawn and len(self._tired) == self._open:
            raise _NoneLeft
        self._stop(f"no success for {self._patience.silent:.0f} s and {self._patience.failures} failed requests", error)

    def _stop(self, what: str, error: EndpointError) -> NoReturn:
        self._is_over = True
        raise FatalEndpointError(f"{what}: {error}", reason=error.reason, status=error.status) from None

    def _fail(self, work: Work, request: Request, error: EndpointError) -> None:
        question = self.questions[work.unit.question]
        rows = failed(question, self.entry.label, request, error, attempts=work.attempts, created=time.time())
        self._keep(rows, work.unit.question)

    def _keep(self, rows: list[Response], question: int) -> None:
        scores = [row.score for row in rows if row.score is not None]
        self.done += len(scores)
        self.failed += len(rows) - len(scores)
        self.n[question] += len(scores)
        self.total[question] += sum(scores)
        self.keep(rows)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
