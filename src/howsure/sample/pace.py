"""How fast one model may be asked: requests in flight, requests per minute, tokens per minute.

Three things hold a request back, each for its own reason:

- The *window*, requests in flight. It begins at the most that the user allows, since a slow start costs a healthy
  endpoint's time. It falls by a fifth, at most once per round trip, when a tenth of 64 requests were answered by 429
  or timeouts (one stray 429 says nothing), and then with each further refusal to what is in flight: those are the
  requests that were taken. It doubles per round trip up to where it fell, then grows by one or a hundredth. Where as
  many are refused at the slower pace, it returns to where it was (`refusals`). Failures of the server only pause its
  growth.
- The *buckets*. A rate that is known, from the user or from the endpoint's headers, is kept from the first request,
  with a burst of one second: saved-up seconds would be refused all at once.
- The *learned rate*. A limit per minute that nobody tells refuses whatever the window is. The successes between two
  spells of refusals, over the time between, are the rate it lets pass, whatever its period; from there it creeps up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from howsure.errors import EndpointError
from howsure.models.model import Limits
from howsure.sample.bucket import Bucket, per_second
from howsure.sample.refusals import Refusals

__all__ = ["Pace", "Ticket"]

#: What is left of the window after many refusals, and what it grows by per round trip, if that is more than one.
DECREASE, INCREASE = 0.8, 0.01
#: Successes without growth after a failure of the server, and successes that end a spell of refusals.
CALM, RECOVERED = 10, 8
#: Growth of a learned rate per second; seconds and successes that make one, and the longest memory.
CREEP, LEARN_SECONDS, LEARN_SUCCESSES, MEMORY = 0.02, 5.0, 8, 120.0
#: Seconds that a refusal in a spell holds back new requests: the first, doubled with each, and the longest.
HOLD, LONGEST_HOLD = 0.1, 4.0


@dataclass(eq=False, slots=True)
class Ticket:
    """Leave to send one request: `tokens` reserved, its `number`, and in which `spell` and `measure` it began."""

    tokens: int
    number: int
    spell: int
    measure: int


class Pace:
    """How fast one model may be asked.

    `enter` before a request and `leave` after it, whatever became of it; first come, first served. Not for threads.

    Parameters
    ----------
    most
        Requests in flight at most.
    requests_per_minute, tokens_per_minute
        Limits the user knows. What the endpoint tells can only lower them.
    clock, sleep
        Seconds, and how to wait for them.
    """

    def __init__(
        self,
        most: int,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.most, self.clock, self.sleep = most, clock, sleep
        self.in_flight = 0
        self._given = Limits(requests_per_minute, tokens_per_minute)
        self._told: Limits | None = None
        self._requests, self._tokens = (
            Bucket(per_second(requests_per_minute)),
            Bucket(per_second(tokens_per_minute)),
        )
        self._learned = Bucket(None)
        self._window = self._fell = float(most)
        self._sent = 0
        self._refusals = Refusals(self._window, clock())
        self._calm = 0
        self._spell, self._since_spell = 0, RECOVERED
        self._hold_until, self._holds = 0.0, 0
        self._measure, self._mark, self._successes, self._before = 0, clock(), 0.0, 0.0
        self._crept = 0.0
        self._queue: deque[tuple[asyncio.Future[Ticket], int]] = deque()
        self._timer: asyncio.Task[None] | None = None
        self._alarm = 0.0

    @property
    def window(self) -> int:
        """Requests in flight allowed now."""
        return int(self._window)

    @property
    def learned(self) -> float | None:
        """Requests per minute that a limit nobody told lets pass, or None."""
        return None if self._learned.rate is None else 60 * self._learned.rate

    @property
    def noise(self) -> float:
        """Share of requests that is refused whatever the pace, as far as was found out."""
        return self._refusals.noise

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens per minute are limited, so that `enter` should be told of them."""
        return self._tokens.rate is not None

    async def enter(self, tokens: int = 0) -> Ticket:
        """Wait for a place and for so many tokens; a cancelled wait takes nothing."""
        if not self._queue and self.in_flight < int(self._window) and self._wait(tokens) <= 0:
            return self._take(tokens)
        future: asyncio.Future[Ticket] = asyncio.get_running_loop().create_future()
        self._queue.append((future, tokens))
        self._admit()
        try:
            return await future
        except asyncio.CancelledError:
            if not future.cancelled():
                self._give_back(future.result())
            self._admit()
            raise

    def leave(
        self,
        ticket: Ticket,
        *,
        error: EndpointError | None = None,
        tokens: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        """The request is back.

        Parameters
        ----------
        error
            Why it failed, or None.
        tokens
            What it used, where the endpoint said so; the reserved ones stay taken otherwise.
        limits
            What the endpoint says of its limits.
        """
        self.in_flight -= 1
        if limits is not None and limits is not self._told:
            self._obey(limits)
        if tokens is not None and self._tokens.rate is not None:
            self._tokens.take(tokens - ticket.tokens, self.clock())
        if error is None:
            self._succeeded(ticket)
        elif error.reason in {"rate_limit", "timeout"}:
            self._refused(ticket, error)
        elif error.reason in {"server", "connection"}:
            self._calm = CALM
        if self._queue:
            self._admit()

    def _wait(self, tokens: int) -> float:
        """Seconds until the buckets let such a request pass."""
        if self._requests.rate is self._tokens.rate is self._learned.rate is None and not self._hold_until:
            return 0.0
        now = self.clock()
        if self._hold_until <= now:
            self._hold_until = 0.0
        return max(
            self._requests.wait(1, now),
            self._learned.wait(1, now),
            self._tokens.wait(tokens, now),
            self._hold_until - now,
        )

    def _take(self, tokens: int) -> Ticket:
        self.in_flight += 1
        self._sent += 1
        if not self._requests.rate is self._tokens.rate is self._learned.rate is None:
            self._pay(1, tokens)
        return Ticket(tokens, self._sent, self._spell, self._measure)

    def _give_back(self, ticket: Ticket) -> None:
        self.in_flight -= 1
        self._pay(-1, -ticket.tokens)

    def _pay(self, requests: int, tokens: int) -> None:
        now = self.clock()
        self._requests.take(requests, now)
        self._learned.take(requests, now)
        self._tokens.take(tokens, now)

    def _admit(self) -> None:
        """Let in who may enter; where time holds back the first in the queue, come again then."""
        while self._queue:
            future, tokens = self._queue[0]
            if not future.done():
                if self.in_flight >= int(self._window):
                    return
                if (wait := self._wait(tokens)) > 0:
                    self._come_again(wait)
                    return
                future.set_result(self._take(tokens))
            self._queue.popleft()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _come_again(self, wait: float) -> None:
        alarm = self.clock() + wait
        if self._timer is not None:
            if alarm > self._alarm - 0.005:
                return
            self._timer.cancel()
        self._alarm = alarm
        self._timer = asyncio.get_running_loop().create_task(self._ring(wait))

    async def _ring(self, wait: float) -> None:
        await self.sleep(wait)
        self._timer = None
        self._admit()

    def _obey(self, limits: Limits) -> None:
        self._told = limits
        now = self.clock()
        for bucket, given, told in (
            (self._requests, self._given.requests, limits.requests),
            (self._tokens, self._given.tokens, limits.tokens),
        ):
            rate = per_second(told if given is None or told is None else min(given, told))
            if rate:
                bucket.become(rate, now)

    def _succeeded(self, ticket: Ticket) -> None:
        if ticket.measure == self._measure:
            self._successes += 1
        if ticket.spell == self._spell:
            self._since_spell += 1
            if self._since_spell == RECOVERED:
                self._refusals.follow(self._sent, self._window, self.clock())
            self._holds = max(0, self._holds - 1)
        if self._learned.rate is not None:
            self._creep(ticket, self._learned.rate)
        if self._calm:
            self._calm -= 1
        elif self._window < self.most and self.in_flight + 1 >= int(self._window):
            grown = self._window + (1 if self._window < self._fell else max(INCREASE, 1 / self._window))
            self._window = min(float(self.most), grown)

    def _creep(self, ticket: Ticket, rate: float) -> None:
        now = self.clock()
        if ticket.measure == self._measure - 1:
            # It was let pass before the last measure ended, and belongs to that.
            rate += 1 / self._before
            self._learned.become(rate, now)
        elapsed, self._crept = min(now - self._crept, 1.0), now
        # Grow only where this rate is what holds back, and what it lets pass is not refused.
        if self._refusals.are_few(self._sent) and self._learned.wait(1, now) > 0:
            self._learned.become(rate * (1 + CREEP * elapsed), now)
        if (old := now - self._mark) > MEMORY:
            self._mark, self._successes = now - MEMORY / 2, self._successes * MEMORY / 2 / old

    def _refused(self, ticket: Ticket, error: EndpointError) -> None:
        self._refusals.add(ticket.number)
        in_spell = self._since_spell < RECOVERED
        begins = not in_spell and ticket.spell == self._spell and self._refusals.are_many
        if begins:
            window = self._refusals.unmoved(self._sent, self.clock())
            if window is not None:
                self._return_to(window)
                return
            self._spell += 1
            self._since_spell = 0
            self._fell = self._window = max(1.0, self._window * DECREASE)
        if not (begins or in_spell):
            return
        self._window = max(1.0, min(self._window, float(self.in_flight)))
        if error.reason == "timeout":
            return
        now = self.clock()
        self._learn(now)
        hold = error.retry_after
        if hold is None and self._hold_until <= now:
            hold = min(LONGEST_HOLD, HOLD * 2.0**self._holds)
            self._holds = min(self._holds + 1, 10)
        if hold is not None:
            self._hold_until = max(self._hold_until, now + hold)

    def _return_to(self, window: float) -> None:
        """Going slower has changed nothing: neither the window nor a rate was too high."""
        now = self.clock()
        self._window, self._fell = max(self._window, window), float(self.most)
        self._learned = Bucket(None)
        self._hold_until, self._holds = 0.0, 0
        self._refusals.follow(self._sent, self._window, now)

    def _learn(self, now: float) -> None:
        elapsed = now - self._mark
        if elapsed >= LEARN_SECONDS and self._successes >= LEARN_SUCCESSES:
            self._learned.become(self._successes / elapsed, now)
            self._measure += 1
            self._mark, self._successes, self._before, self._crept = now, 0.0, elapsed, now
