"""Limit how fast one model is called: requests in flight, requests per minute and tokens per minute.

Four mechanisms delay requests:

- The *search* (`concurrency.py`) starts with one request in flight and allows more as long as throughput grows.
- The *window* is the number of requests that rejections allow in flight. It starts at the user's maximum. It shrinks
  by a fifth, at most once per round trip, when a tenth of 64 requests were answered with 429 or timed out (a single 429
  has no effect). While such a congested period lasts, each further rejection shrinks it to the number of requests in
  flight, because those are the requests that the endpoint accepted. It doubles per round trip up to the size before the
  rejections, then grows by one request or one hundredth. If the slower rate has not reduced the share of rejections,
  the window returns to its earlier size (`RejectionHistory`). Server errors (5xx) only pause the growth.
- The *token buckets* enforce a rate that is known from the user or from the endpoint's headers, from the first request
  on. Their burst is one second: the endpoint would reject a burst that was saved up over more seconds.
- The *learned rate* handles a limit per minute that no header reports, which rejects requests whatever the window is.
  It is the number of successes between two congested periods, divided by the time between them, whatever the period of
  the limit is. From there it grows slowly.

While many requests are rejected, all new requests of the model wait as long as a rejection asks. How long a rejected
request itself waits is decided in `retry.py`.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from howsure.errors import EndpointError
from howsure.models.model import RateLimits
from howsure.sample.concurrency import ConcurrencySearch

#: Factor of the window after many rejections; relative growth of the window per round trip, if that exceeds one.
DECREASE, INCREASE = 0.8, 0.01
#: Number of successes without growth after a server error, and number of successes that end a congested period.
CALM_SUCCESSES, RECOVERY_SUCCESSES = 10, 8
#: Relative growth of a learned rate per second.
LEARNED_RATE_GROWTH = 0.02
#: Seconds and successes that are needed to learn a rate, and the seconds after which older successes lose weight.
LEARN_SECONDS, LEARN_SUCCESSES, MEMORY_SECONDS = 5.0, 8, 120.0
#: Seconds for which a rejection that names no time delays new requests: the first delay, which doubles each time, and
#: the longest one.
FIRST_HOLD, LONGEST_HOLD = 0.1, 4.0
#: The allowance of so many seconds may be used at once.
BURST_SECONDS = 1.0
#: Rejections count as many if `MANY` of `SPAN` consecutive requests were rejected, which is a tenth.
SPAN, MANY = 64, 7
#: Rejections mean congestion again if they exceed the permanent share by so many standard deviations.
DEVIATIONS = 4.0
#: The largest share of rejections that can be permanent; the ratio to the earlier rate below which a rate is slower.
LARGEST_PERMANENT_SHARE, SLOWER = 0.5, 0.9
#: Rejections are concentrated at the end of a period if their mean relative place (1 is the end) is at least this.
CONCENTRATED = 0.75
#: The share of a period is used only if it has at least so many rejections.
FEWEST_REJECTIONS = 5


def per_second(per_minute: float | None) -> float | None:
    """Return the rate per second that does not exceed a limit per minute, even with a burst."""
    return None if per_minute is None else per_minute / (60 + BURST_SECONDS)


class RateAllowance:
    """Allow `rate` per second with a burst of `BURST_SECONDS`; a rate of None allows everything.

    `full_at` is the time at which the bucket will be full again.

    Examples
    --------
    >>> allowance = RateAllowance(2.0)
    >>> allowance.consume(2, now=0.0)
    >>> allowance.seconds_until(1, now=0.0)
    0.5
    """

    def __init__(self, rate: float | None) -> None:
        self.rate = rate
        self.full_at = 0.0

    def seconds_until(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` is allowed; a larger amount than the burst needs a full bucket."""
        if self.rate is None:
            return 0.0
        return self.full_at - max(0.0, BURST_SECONDS - amount / self.rate) - now

    def consume(self, amount: float, now: float) -> None:
        """Consume `amount`; a negative amount returns unused allowance."""
        if self.rate is not None:
            self.full_at = max(self.full_at, now) + amount / self.rate

    def set_rate(self, rate: float, now: float) -> None:
        """Change the rate per second; consumed allowance stays consumed."""
        if self.rate is not None:
            self.full_at = now + max(0.0, self.full_at - now) * self.rate / rate
        self.rate = rate


@dataclass(slots=True)
class _Period:
    """Requests that were sent at one rate: those numbered above `first`, since `began`, with this `window`."""

    first: int
    began: float
    window: float
    n_rejected: int = 0
    last: int = 0
    """Place of the last rejection in the period."""
    place_sum: int = 0
    """Sum of the places of the rejections."""
    rate: float = 0.0
    """Requests per second, set when the period ends."""

    @property
    def share(self) -> float:
        return self.n_rejected / self.last if self.last else 0.0

    @property
    def is_steady(self) -> bool:
        """Whether rejections are spread over the period; a rate limit rejects at the end, or nearly all."""
        is_spread_out = self.place_sum < CONCENTRATED * self.n_rejected * self.last
        return self.n_rejected >= FEWEST_REJECTIONS and is_spread_out and self.share <= LARGEST_PERMANENT_SHARE


class RejectionHistory:
    """Decide whether rejections mean that requests are sent too fast, or do not depend on the rate.

    Rejections are counted among 64 requests in the order in which these were *sent*. Rejections return sooner than
    generations, so the share of rejections among recent outcomes would be too large whenever the rate changes.

    Some endpoints reject a share of the requests at any rate, such as a gateway with one failing host behind it.
    Slowing down would never end at such an endpoint. So two periods are compared, one before the slowdown and one after
    it: under a limit of r requests per second, the rejected share of a requests per second is 1 - r / a, but a
    permanent share stays the same. The prediction that is nearer to the observed share decides.

    Parameters
    ----------
    window, now
        Requests allowed in flight, and the time in seconds, at the start.

    Examples
    --------
    >>> history = RejectionHistory(window=64, now=0.0)
    >>> for number in range(1, MANY + 1):
    ...     history.add(number)
    >>> history.are_many
    True
    """

    def __init__(self, window: float, now: float) -> None:
        self._permanent: tuple[float, int] | None = None
        self._many = MANY
        self._recent: deque[int] = deque(maxlen=SPAN)
        self._period = _Period(0, now, window)
        self._previous: _Period | None = None

    def add(self, number: int) -> None:
        """Count the rejection of the request with this number; requests are numbered from 1 as they are sent."""
        self._recent.append(number)
        if (place := number - self._period.first) > 0:
            self._period.n_rejected += 1
            self._period.place_sum += place
            self._period.last = max(self._period.last, place)

    @property
    def permanent_share(self) -> float:
        """Share of requests that is rejected at any rate, as far as it is known."""
        return 0.0 if self._permanent is None else self._permanent[0]

    @property
    def are_many(self) -> bool:
        """Whether the latest rejections are so frequent that they mean congestion."""
        return len(self._recent) >= self._many and self._recent[-1] - self._recent[-self._many] < SPAN

    def are_few(self, n_sent: int) -> bool:
        """Return whether the last requests were rejected no more often than the permanent share."""
        few = 2 + int(self.permanent_share * SPAN)
        return len(self._recent) < few or self._recent[-few] <= n_sent - SPAN

    def start_period(self, n_sent: int, window: float, now: float) -> None:
        """Start a period: from now on requests are sent at another rate."""
        self._recent.clear()
        self._period = _Period(n_sent, now, window)

    def end_period(self, n_sent: int, now: float) -> float | None:
        """Return the earlier window if slowing down had no effect, or None if the limiter must slow down (further).

        This is called when rejections are many. In both cases the rejections counted so far are not used again.
        """
        previous, period, permanent = self._previous, self._period, self._permanent
        period.rate = (n_sent - period.first) / max(now - period.began, 1e-3)
        # Rejections are not counted until `start_period` is called.
        self._recent.clear()
        self._period = _Period(sys.maxsize, now, period.window)
        if not period.is_steady:
            # A rate limit was reached, so the rejections do not measure the permanent share.
            self._previous = period
            return None
        if permanent is not None:
            # Estimate the share again, because there are more requests now.
            p, n = permanent
            if abs(period.share - p) < DEVIATIONS * math.sqrt(p * (1 - p) / n):
                return self._set_permanent(n * p + period.n_rejected, n + period.last, period)
        elif previous is not None and previous.is_steady:
            if period.rate > SLOWER * previous.rate:
                # The rate has changed too little for a decision.
                return None
            expected = max(0.0, 1 - (1 - previous.share) * previous.rate / period.rate)
            if period.share > (expected + previous.share) / 2:
                return self._set_permanent(
                    previous.n_rejected + period.n_rejected, previous.last + period.last, previous
                )
        self._previous, self._permanent, self._many = period, None, MANY
        return None

    def _set_permanent(self, n_rejected: float, n_requests: int, returned: _Period) -> float:
        """Record a permanent share of rejections and return the window of the period to go back to."""
        share = n_rejected / n_requests
        self._permanent = share, n_requests
        self._many = max(MANY, math.ceil(SPAN * share + DEVIATIONS * math.sqrt(SPAN * share * (1 - share))))
        return returned.window


@dataclass(eq=False, slots=True)
class Permit:
    """Permission to send one request.

    `tokens` are reserved for it, `number` counts requests, `congestion` and `measurement` are the numbers of the
    congested period and of the measurement of the learned rate in which it was given.
    """

    tokens: int
    number: int
    congestion: int
    measurement: int
    stage: int = 0
    """Number of the stage of the search for the best number of requests in flight."""
    sent_at: float = 0.0


class RateLimiter:
    """Limit how fast one model is called.

    Call `acquire` before each request and `release` after it, whatever its outcome. Waiting requests are admitted in
    their order. The limiter belongs to one event loop and is not safe for threads.

    Parameters
    ----------
    max_in_flight
        Largest number of requests in flight.
    requests_per_minute, tokens_per_minute
        Limits that the user gives. Limits that the endpoint reports can only lower them.
    timeout
        Seconds that a request may take. With a timeout, the limiter starts with one request in flight and searches for
        the number that is fastest; with None, it starts with the largest number.
    clock, sleep
        Functions that return the time in seconds, and that wait.

    Attributes
    ----------
    in_flight
        Requests that were sent and have no outcome yet.
    search
        Searches for the best number of requests in flight; None after the search, or without it.

    Examples
    --------
    >>> import time
    >>> async def send_one(limiter):
    ...     permit = await limiter.acquire()
    ...     limiter.release(permit)
    ...     return limiter.in_flight
    >>> asyncio.run(send_one(RateLimiter(8, clock=time.monotonic, sleep=asyncio.sleep)))
    0
    """

    def __init__(
        self,
        max_in_flight: int,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        timeout: float | None = None,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.max_in_flight, self.clock, self.sleep = max_in_flight, clock, sleep
        self.in_flight = 0
        self.search = None if timeout is None else ConcurrencySearch(max_in_flight, timeout=timeout, clock=clock)
        self._user_limits = RateLimits(requests_per_minute, tokens_per_minute)
        self._reported_limits: RateLimits | None = None
        self._request_allowance = RateAllowance(per_second(requests_per_minute))
        self._token_allowance = RateAllowance(per_second(tokens_per_minute))
        self._learned_allowance = RateAllowance(None)
        self._window = self._window_before = float(max_in_flight)
        self._n_sent = 0
        self._rejections = RejectionHistory(self._window, clock())
        self._calm_successes = 0
        self._congestion, self._successes_since_congestion = 0, RECOVERY_SUCCESSES
        self._hold_until, self._n_holds = 0.0, 0
        self._measurement, self._measured_since, self._measured_successes = 0, clock(), 0.0
        self._last_measured_seconds, self._grown_at = 0.0, 0.0
        self._queue: deque[tuple[asyncio.Future[Permit], int]] = deque()
        self._timer: asyncio.Task[None] | None = None
        self._timer_at = 0.0

    @property
    def window(self) -> int:
        """The number of requests that may be in flight now."""
        return int(self._window) if self.search is None else min(int(self._window), self.search.window)

    @property
    def note(self) -> str:
        """A remark for the progress display, or ""."""
        return "" if self.search is None else self.search.note

    @property
    def learned_rate(self) -> float | None:
        """The learned limit in requests per minute, or None while none was learned."""
        return None if self._learned_allowance.rate is None else 60 * self._learned_allowance.rate

    @property
    def permanent_rejection_share(self) -> float:
        """Share of requests that is rejected at any rate, as far as it is known."""
        return self._rejections.permanent_share

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens per minute are limited, so that `acquire` needs their number."""
        return self._token_allowance.rate is not None

    async def acquire(self, tokens: int = 0) -> Permit:
        """Wait until a request with this number of tokens is allowed; a cancelled wait consumes nothing."""
        if not self._queue and self.in_flight < self.window and self._seconds_until(tokens) <= 0:
            return self._admit(tokens)
        future: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        self._queue.append((future, tokens))
        self._admit_waiting()
        try:
            return await future
        except asyncio.CancelledError:
            if not future.cancelled():
                self._give_back(future.result())
            self._admit_waiting()
            raise

    def release(
        self,
        permit: Permit,
        *,
        error: EndpointError | None = None,
        tokens: int | None = None,
        limits: RateLimits | None = None,
        work: float = 1.0,
    ) -> None:
        """Record the outcome of a request and admit the requests that wait for it.

        Parameters
        ----------
        error
            Why it failed, or None. Its `retry_after` delays new requests while rejections are many.
        tokens
            Tokens that it used, as the endpoint reported; None keeps the reserved ones consumed.
        limits
            Limits that the endpoint reported.
        work
            Completion tokens of the reply, or its generations where no tokens are reported.
        """
        if self.search is not None:
            self._update_search(self.search, permit, error, work)
        self.in_flight -= 1
        if limits is not None and limits is not self._reported_limits:
            self._apply_limits(limits)
        if tokens is not None and self._token_allowance.rate is not None:
            self._token_allowance.consume(tokens - permit.tokens, self.clock())
        if error is None:
            self._succeed(permit)
        elif error.reason in {"rate_limit", "timeout"}:
            self._reject(permit, error)
        elif error.reason in {"server", "connection"}:
            self._calm_successes = CALM_SUCCESSES
        if self._queue:
            self._admit_waiting()

    def _update_search(
        self, search: ConcurrencySearch, permit: Permit, error: EndpointError | None, work: float
    ) -> None:
        """Record an outcome in the search for the best number of requests in flight."""
        now = self.clock()
        if error is None:
            search.record_answer(permit.stage, seconds=now - permit.sent_at, work=work, now=now)
        elif error.reason == "timeout":
            search.record_timeout(permit.stage, now)
        if search.state == "open":
            self.search = None

    def _seconds_until(self, tokens: int) -> float:
        """Return the seconds until the buckets and the delay after a rejection allow a request with these tokens."""
        if (
            self._request_allowance.rate is self._token_allowance.rate is self._learned_allowance.rate is None
            and not self._hold_until
        ):
            return 0.0
        now = self.clock()
        if self._hold_until <= now:
            self._hold_until = 0.0
        return max(
            self._request_allowance.seconds_until(1, now),
            self._learned_allowance.seconds_until(1, now),
            self._token_allowance.seconds_until(tokens, now),
            self._hold_until - now,
        )

    def _admit(self, tokens: int) -> Permit:
        """Count one more request as sent and return its permit."""
        self.in_flight += 1
        self._n_sent += 1
        if not self._request_allowance.rate is self._token_allowance.rate is self._learned_allowance.rate is None:
            self._consume(1, tokens)
        permit = Permit(tokens, self._n_sent, self._congestion, self._measurement)
        if self.search is not None:
            permit.sent_at = self.clock()
            permit.stage = self.search.record_sent(in_flight=self.in_flight, now=permit.sent_at)
        return permit

    def _give_back(self, permit: Permit) -> None:
        """Undo `_admit` for a request that was never sent."""
        self.in_flight -= 1
        self._consume(-1, -permit.tokens)

    def _consume(self, requests: int, tokens: int) -> None:
        now = self.clock()
        self._request_allowance.consume(requests, now)
        self._learned_allowance.consume(requests, now)
        self._token_allowance.consume(tokens, now)

    def _admit_waiting(self) -> None:
        """Admit the waiting requests that are allowed; set a timer if the first one only has to wait for some time."""
        while self._queue:
            future, tokens = self._queue[0]
            if not future.done():
                if self.in_flight >= self.window:
                    return
                if (wait := self._seconds_until(tokens)) > 0:
                    self._set_timer(wait)
                    return
                future.set_result(self._admit(tokens))
            self._queue.popleft()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self, wait: float) -> None:
        """Call `_admit_waiting` after this many seconds, unless an existing timer fires as early."""
        timer_at = self.clock() + wait
        if self._timer is not None:
            if timer_at > self._timer_at - 0.005:
                return
            self._timer.cancel()
        self._timer_at = timer_at
        self._timer = asyncio.get_running_loop().create_task(self._admit_after(wait))

    async def _admit_after(self, wait: float) -> None:
        await self.sleep(wait)
        self._timer = None
        self._admit_waiting()

    def _apply_limits(self, limits: RateLimits) -> None:
        """Apply the limits that the endpoint reported, where they are lower than those of the user."""
        self._reported_limits = limits
        now = self.clock()
        for allowance, user_limit, reported in (
            (self._request_allowance, self._user_limits.requests, limits.requests),
            (self._token_allowance, self._user_limits.tokens, limits.tokens),
        ):
            rate = per_second(reported if user_limit is None or reported is None else min(user_limit, reported))
            if rate:
                allowance.set_rate(rate, now)

    def _succeed(self, permit: Permit) -> None:
        """Count a success: it may end a congested period, and it lets the window and the learned rate grow."""
        if permit.measurement == self._measurement:
            self._measured_successes += 1
        if permit.congestion == self._congestion:
            self._successes_since_congestion += 1
            if self._successes_since_congestion == RECOVERY_SUCCESSES:
                self._rejections.start_period(self._n_sent, self._window, self.clock())
            self._n_holds = max(0, self._n_holds - 1)
        if self._learned_allowance.rate is not None:
            self._grow_learned_rate(permit, self._learned_allowance.rate)
        if self._calm_successes:
            self._calm_successes -= 1
        elif self._window < self.max_in_flight and self.in_flight + 1 >= int(self._window):
            growth = 1 if self._window < self._window_before else max(INCREASE, 1 / self._window)
            self._window = min(float(self.max_in_flight), self._window + growth)

    def _grow_learned_rate(self, permit: Permit, rate: float) -> None:
        now = self.clock()
        if permit.measurement == self._measurement - 1:
            # The request was sent before the last measurement ended, so it belongs to that measurement.
            rate += 1 / self._last_measured_seconds
            self._learned_allowance.set_rate(rate, now)
        elapsed, self._grown_at = min(now - self._grown_at, 1.0), now
        # Grow only if this rate is what delays requests, and the requests that it allows are not rejected.
        if self._rejections.are_few(self._n_sent) and self._learned_allowance.seconds_until(1, now) > 0:
            self._learned_allowance.set_rate(rate * (1 + LEARNED_RATE_GROWTH * elapsed), now)
        if (age := now - self._measured_since) > MEMORY_SECONDS:
            self._measured_since = now - MEMORY_SECONDS / 2
            self._measured_successes *= MEMORY_SECONDS / 2 / age

    def _reject(self, permit: Permit, error: EndpointError) -> None:
        """Count a rejection (429 or timeout); if there are many, shrink the window and delay new requests.

        New requests wait as long as the rejection asks, or else for a time that doubles with each delay.
        """
        self._rejections.add(permit.number)
        is_congested = self._successes_since_congestion < RECOVERY_SUCCESSES
        begins = not is_congested and permit.congestion == self._congestion and self._rejections.are_many
        if begins:
            window = self._rejections.end_period(self._n_sent, self.clock())
            if window is not None:
                self._undo_slowdown(window)
                return
            self._congestion += 1
            self._successes_since_congestion = 0
            # From now on rejections decide how many requests may be in flight.
            self._window, self.search = float(self.window), None
            self._window_before = self._window = max(1.0, self._window * DECREASE)
        if not (begins or is_congested):
            return
        self._window = max(1.0, min(self._window, float(self.in_flight)))
        if error.reason == "timeout":
            return
        now = self.clock()
        self._learn_rate(now)
        hold = error.retry_after
        if hold is None and self._hold_until <= now:
            hold = min(LONGEST_HOLD, FIRST_HOLD * 2.0**self._n_holds)
            self._n_holds = min(self._n_holds + 1, 10)
        if hold is not None:
            self._hold_until = max(self._hold_until, now + hold)

    def _undo_slowdown(self, window: float) -> None:
        """Restore an earlier window, because slowing down had no effect: neither window nor rate was too high."""
        now = self.clock()
        self._window, self._window_before = max(self._window, window), float(self.max_in_flight)
        self._learned_allowance = RateAllowance(None)
        self._hold_until, self._n_holds = 0.0, 0
        self._rejections.start_period(self._n_sent, self._window, now)

    def _learn_rate(self, now: float) -> None:
        """Set the learned rate to the successes per second since the last measurement, once there are enough."""
        elapsed = now - self._measured_since
        if elapsed >= LEARN_SECONDS and self._measured_successes >= LEARN_SUCCESSES:
            self._learned_allowance.set_rate(self._measured_successes / elapsed, now)
            self._measurement += 1
            self._measured_since, self._measured_successes = now, 0.0
            self._last_measured_seconds, self._grown_at = elapsed, now
