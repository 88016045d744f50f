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
import math
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from howsure.errors import EndpointError
from howsure.models.model import Limits

__all__ = ["Bucket", "Pace", "Refusals", "Ticket", "per_second"]

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


#: Seconds of a rate that may be used at once; saved-up seconds would be refused all at once.
BURST = 1.0


def per_second(per_minute: float | None) -> float | None:
    """A rate that keeps to the limit in every minute, its burst included."""
    return None if per_minute is None else per_minute / (60 + BURST)


class Bucket:
    """Lets pass `rate` per second and a burst of `BURST` seconds: `full` is when all that was taken is paid for."""

    def __init__(self, rate: float | None) -> None:
        self.rate = rate
        self.full = 0.0

    def wait(self, amount: float, now: float) -> float:
        """Seconds until so much may pass; more than a burst passes once the bucket is full."""
        if self.rate is None:
            return 0.0
        return self.full - max(0.0, BURST - amount / self.rate) - now

    def take(self, amount: float, now: float) -> None:
        """Let so much pass; a negative amount was not used after all."""
        if self.rate is not None:
            self.full = max(self.full, now) + amount / self.rate

    def become(self, rate: float, now: float) -> None:
        """Go on at another rate per second; what was taken stays taken."""
        if self.rate is not None:
            self.full = now + max(0.0, self.full - now) * self.rate / rate
        self.rate = rate


#: Of so many requests in a row, so many refusals are many: a tenth.
SPAN, MANY = 64, 7
#: Standard deviations above the share that is always refused, from which on refusals say something again.
DEVIATIONS = 4.0
#: A share that is always refused is believed up to here; and a slower pace is one below this part of the earlier one.
MOST_NOISE, SLOWER = 0.5, 0.9
#: Mean place of refusals in a stretch (1: at its end) from which on they are its end, not spread over it.
SPREAD = 0.75
#: Refusals in a stretch that say anything of its share.
LEAST = 5


@dataclass(slots=True)
class _Stretch:
    """Requests sent at one pace: those numbered above `first`, since `began`, with this many in flight allowed."""

    first: int
    began: float
    window: float
    refused: int = 0
    last: int = 0
    """Place of the last refusal in the stretch."""
    places: int = 0
    """Sum of the places of the refusals."""
    rate: float = 0.0
    """Requests per second, when it has ended."""

    @property
    def share(self) -> float:
        return self.refused / self.last if self.last else 0.0

    @property
    def is_steady(self) -> bool:
        """Whether refusals are spread over it: a limit that was reached refuses at the end, or nearly all."""
        is_spread = self.places < SPREAD * self.refused * self.last
        return self.refused >= LEAST and is_spread and self.share <= MOST_NOISE


class Refusals:
    """Refusals of one model's requests, which are numbered from 1 as they are sent.

    Parameters
    ----------
    window, now
        Requests in flight that are allowed, and seconds, at the beginning.
    """

    def __init__(self, window: float, now: float) -> None:
        self._always: tuple[float, int] | None = None
        self._many = MANY
        self._recent: deque[int] = deque(maxlen=SPAN)
        self._stretch = _Stretch(0, now, window)
        self._before: _Stretch | None = None

    def add(self, number: int) -> None:
        """Count the refusal of one request."""
        self._recent.append(number)
        if (place := number - self._stretch.first) > 0:
            self._stretch.refused += 1
            self._stretch.places += place
            self._stretch.last = max(self._stretch.last, place)

    @property
    def noise(self) -> float:
        """Share of requests that is refused however slowly they are sent, as far as was found out."""
        return 0.0 if self._always is None else self._always[0]

    @property
    def are_many(self) -> bool:
        """Whether the latest refusals lie so close together that they say something."""
        return len(self._recent) >= self._many and self._recent[-1] - self._recent[-self._many] < SPAN

    def are_few(self, sent: int) -> bool:
        """Whether no more of the last requests were refused than always are."""
        few = 2 + int(self.noise * SPAN)
        return len(self._recent) < few or self._recent[-few] <= sent - SPAN

    def follow(self, sent: int, window: float, now: float) -> None:
        """From here on requests are sent at another pace."""
        self._recent.clear()
        self._stretch = _Stretch(sent, now, window)

    def unmoved(self, sent: int, now: float) -> float | None:
        """The window to return to, when going slower has changed nothing; else None, and we should go slower.

        Called when refusals are many. Either way those so far have had their effect.
        """
        before, after, known = self._before, self._stretch, self._always
        after.rate = (sent - after.first) / max(now - after.began, 1e-3)
        # Nothing is counted until another pace is kept.
        self._recent.clear()
        self._stretch = _Stretch(sys.maxsize, now, after.window)
        if not after.is_steady:
            # A limit was reached; that says nothing of what is always refused.
            self._before = after
            return None
        if known is not None:
            # What was believed from few requests is now known from more.
            p, n = known
            if abs(after.share - p) < DEVIATIONS * math.sqrt(p * (1 - p) / n):
                return self._believe(n * p + after.refused, n + after.last, after)
        elif before is not None and before.is_steady:
            if after.rate > SLOWER * before.rate:
                # Too little has changed to tell.
                return None
            limited = max(0.0, 1 - (1 - before.share) * before.rate / after.rate)
            if after.share > (limited + before.share) / 2:
                return self._believe(before.refused + after.refused, before.last + after.last, before)
        self._before, self._always, self._many = after, None, MANY
        return None

    def _believe(self, refused: float, requests: int, returned: _Stretch) -> float:
        """So many of so many requests are refused at any pace; returns the window of this stretch."""
        share = refused / requests
        self._always = share, requests
        self._many = max(MANY, math.ceil(SPAN * share + DEVIATIONS * math.sqrt(SPAN * share * (1 - share))))
        return returned.window
