"""Limit how fast one model is called: requests in flight, requests per minute and tokens per minute.

- *Token buckets* enforce a rate that the user or the endpoint's headers state, from the first request on. Their burst
  is one second, because the endpoint would reject what was saved up over more seconds.
- `ThroughputSearch` starts with one request in flight and allows more as long as throughput grows. A local server may
  answer one request at a time, so that of 64 requests 63 wait until they time out; a large endpoint answers hundreds.
- *Additive increase, multiplicative decrease* handles limits that nobody states: where a tenth of 64 requests were
  answered with 429 or timed out, a fifth fewer are allowed in flight, or as many as are left in flight if these are
  fewer. Server errors (5xx) only pause the growth. If no smaller share is rejected after the decrease, from its start
  on, rejections do not depend on the pace (a gateway with one failing host): the window is restored.
- *Retry-After* delays all new requests of the model while many are rejected. How long a rejected request itself waits
  is decided in `retry.py`.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from howsure.errors import EndpointError
from howsure.models.model import RateLimits

#: Rejections are many if `MANY` of `SPAN` consecutive requests were rejected, a tenth, or so many standard deviations
#: more than the share that is rejected at any pace. With a full window it is decided after so many requests.
SPAN, MANY, DEVIATIONS, FEWEST = 64, 7, 4.0, 32
#: A share is rejected at any pace only if it is at most the first number; rejections of a limit have at least such a
#: mean place in a period; a pace is slower if it is less than such a part of another one.
LARGEST_SHARE, CONCENTRATED, SLOWER = 0.5, 0.75, 0.9
#: Factor of the window after many rejections, and its growth per success: one per round trip, within these limits.
DECREASE, LEAST_GROWTH, MOST_GROWTH = 0.8, 0.01, 1 / 64
#: In a full window such a share of it is in flight.
FULL = 0.9
#: Number of successes without growth after a server error, and number of successes that end a congested period.
CALM_SUCCESSES, RECOVERY_SUCCESSES = 10, 8
#: Seconds for which a rejection that names no time delays new requests: at first, doubled each time, and at most.
FIRST_HOLD, LONGEST_HOLD = 0.25, 4.0
#: The allowance of so many seconds may be used at once.
BURST_SECONDS = 1.0
#: Smallest gain of throughput for a doubled window that counts as growth, and the largest growth of the window at once.
GAIN_PER_DOUBLING, FASTEST_GROWTH = 1.3, 8.0
#: No search where all would be answered one by one in so many seconds; else so much of the timeout is used at once.
SHORT_QUEUE, TIMEOUT_SHARE = 12.0, 0.5
#: Requests wait in a queue where their latency is so large a part of that of the first one, times the window; and the
#: window that was found is somewhat larger than the throughput needs, so that the endpoint is never idle.
QUEUE, SLACK = 0.75, 1.25
#: Answers after which a double window is tried, and with which it is compared: at first, and at most, as they double.
FIRST_TRIAL, LAST_TRIAL = 8, 128


class RateAllowance:
    """Allow `rate` per second with a burst of `BURST_SECONDS`; a rate of None allows everything.

    Examples
    --------
    >>> allowance = RateAllowance(122.0)  # per minute: with its burst never more than 122
    >>> allowance.consume(2, now=0.0)
    >>> allowance.seconds_until(1, now=0.0)
    0.5
    """

    def __init__(self, per_minute: float | None = None) -> None:
        self.rate = None if per_minute is None else per_minute / (60 + BURST_SECONDS)
        self._full_at = 0.0

    def seconds_until(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` is allowed; a larger amount than the burst needs a full bucket."""
        return 0.0 if self.rate is None else self._full_at - max(0.0, BURST_SECONDS - amount / self.rate) - now

    def consume(self, amount: float, now: float) -> None:
        """Consume `amount`; a negative amount returns unused allowance."""
        if self.rate is not None:
            self._full_at = max(self._full_at, now) + amount / self.rate

    def set_rate(self, rate: float, now: float) -> None:
        """Change the rate per second; consumed allowance stays consumed."""
        if self.rate is not None:
            self._full_at = now + max(0.0, self._full_at - now) * self.rate / rate
        self.rate = rate


@dataclass(slots=True)
class _Stage:
    """Requests that were sent with one window; the throughput is computed after the answers that are `needed`."""

    number: int = 0
    window: int = 1
    needed: int = 1
    began: float = math.nan
    answered: int = 0
    work: float = 0.0
    latencies: float = 0.0
    is_full: bool = False


class ThroughputSearch:
    """Choose the number of requests in flight by the throughput that it brings.

    The first request is sent alone. The window grows, at most eightfold for each round trip, while throughput grows by
    30 % for a doubled window; it only doubles where requests might time out if they were answered one by one. Then it
    is what the throughput needs, and a double window is tried from time to time, because servers change.
    """

    def __init__(self, most: int, *, timeout: float) -> None:
        self.most, self.timeout = most, timeout
        self.is_over, self.note = most <= 1, ""
        self._stage = _Stage()
        self._before: tuple[int, tuple[float, float]] | None = None  # the window before this one, and its throughput
        self._is_settled = self._is_trial = False
        self._trial_size, self._largest_trial = FIRST_TRIAL, LAST_TRIAL
        self._alone = 0.0  # latency of a request that was sent alone

    @property
    def window(self) -> int:
        """The number of requests allowed in flight."""
        return self._stage.window

    def record_sent(self, in_flight: int, now: float) -> int:
        """Count a request as sent, and return the number of its stage for `record_answer`."""
        if math.isnan(self._stage.began):
            self._stage.began = now
        self._stage.is_full |= in_flight >= self._stage.window
        return self._stage.number

    def record_answer(self, number: int, *, seconds: float, work: float, now: float) -> None:
        """Count an answer with its latency and its completion tokens; after enough of them the window may change."""
        stage = self._stage
        if number != stage.number:
            return
        stage.answered, stage.work, stage.latencies = stage.answered + 1, stage.work + work, stage.latencies + seconds
        if stage.answered < stage.needed or not stage.is_full:
            return
        latency = stage.latencies / stage.answered
        # Work per second as it came, and by Little's law: the queue that builds up makes one of them too large.
        rates = stage.work / max(now - stage.began, 1e-6), stage.work * stage.window / max(stage.latencies, 1e-6)
        self._alone = self._alone or latency
        if self._before is None and latency * self.most <= min(SHORT_QUEUE, self.timeout * TIMEOUT_SHARE):
            self.is_over = True
        elif self._is_settled and not self._is_trial:
            self._grow(2.0, stage.window, latency, rates, is_trial=True)
        elif self._before is None:
            self._grow(FASTEST_GROWTH, 1, latency, rates)
        else:
            self._compare(*self._before, latency, rates)

    def record_timeout(self, number: int) -> None:
        """Halve the window after a timeout of one of its requests."""
        if number == self._stage.number and self.window > 1:
            self._largest_trial *= 2
            self._settle(self.window // 2, f"with {self.window:,} a request timed out")

    def _compare(
        self, earlier: int, earlier_rates: tuple[float, float], latency: float, rates: tuple[float, float]
    ) -> None:
        """Compare the throughput of this window with that of the one before, and grow, settle or end the search."""
        growth = self.window / earlier
        gain = min(rate / max(before, 1e-9) for rate, before in zip(rates, earlier_rates, strict=True))
        needed = math.ceil(earlier * gain * SLACK)
        if gain < GAIN_PER_DOUBLING ** math.log2(growth):
            self._settle(earlier if self._is_trial else needed, f"{self.window:,} were no faster")
        elif self.window >= self.most:
            self.is_over = True
        else:
            is_clean = gain >= growth / 2
            base = self.window if is_clean else min(self.window, max(earlier + 1, needed))
            factor = FASTEST_GROWTH if is_clean and not self._is_trial else 2.0
            self._is_settled, self._trial_size = False, FIRST_TRIAL
            self._grow(factor, base, latency, rates)

    def _grow(
        self, factor: float, base: int, latency: float, rates: tuple[float, float], *, is_trial: bool = False
    ) -> None:
        """Begin a stage with a larger window, if its requests would not time out when they are answered one by one."""
        possible = self.timeout * TIMEOUT_SHARE / max(latency, 1e-9)
        if base == 1 or latency < QUEUE * self.window * self._alone:  # nothing says that they wait in a queue
            possible = max(possible, 2.0)  # a timeout halves it again
        window = min(self.most, math.ceil(base * min(factor, possible)))
        if base >= self.most:
            self.is_over = True
        elif window <= base:
            self._settle(base, "more might time out")
        else:
            self._before, self._is_trial = (base, rates), is_trial
            self._begin_stage(window, max(window, self._trial_size) if is_trial else 1)

    def _settle(self, window: int, why: str) -> None:
        """Stay at a window."""
        if self._is_trial:
            self._trial_size = min(2 * self._trial_size, self._largest_trial)
        self._is_settled, self._is_trial = True, False
        window = max(1, min(window, self.most))
        self._begin_stage(window, max(window, self._trial_size))
        self.note = f"{window:,} in flight: {why}"

    def _begin_stage(self, window: int, needed: int) -> None:
        # The requests that are sent at once as the window grows return together.
        self._stage = _Stage(self._stage.number + 1, window, max(needed, window - self.window + 1))


@dataclass(slots=True)
class _Period:
    """Requests numbered above `first`, which were sent since `began` with about the same window, and rejections."""

    first: int
    began: float
    window: float
    rate: float = 0.0
    """Requests per second, set when the period ends."""
    n: int = 0
    places: int = 0
    """Sum of the places of the rejections in the period."""
    last: int = 0
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=SPAN))

    def add(self, number: int) -> None:
        if (place := number - self.first) > 0:
            self.n, self.places, self.last = self.n + 1, self.places + place, max(self.last, place)
            self.recent.append(number)

    def are_many(self, most: int) -> bool:
        return len(self.recent) >= most and self.recent[-1] - self.recent[-most] < SPAN

    @property
    def share(self) -> float:
        """The share of requests that was rejected; 0 if these came at the end, or were nearly all, as at a limit."""
        share = self.n / max(self.last, 1)
        return share if self.places < CONCENTRATED * self.n * self.last and share <= LARGEST_SHARE else 0.0

    def was_slowed_in_vain(self, before: _Period) -> bool:
        """Return whether the share is nearer to that of a faster period than to what a limit would reject now.

        Under a limit of r requests per second, a share 1 - r / a of a requests per second is rejected.
        """
        expected = max(0.0, 1 - (1 - before.share) * before.rate / self.rate)
        return self.rate < SLOWER * before.rate and self.share > (expected + before.share) / 2 > 0


@dataclass(eq=False, slots=True)
class Permit:
    """Permission to send one request: the tokens reserved for it, and its number and stage."""

    tokens: int
    number: int
    stage: int = 0
    sent_at: float = 0.0


class RateLimiter:
    """Limit how fast one model is called: `acquire` before each request, `release` after it, whatever its outcome.

    Waiting requests are admitted in their order. The limiter belongs to one event loop and is not safe for threads.

    Parameters
    ----------
    max_in_flight
        Largest number of requests in flight.
    requests_per_minute, tokens_per_minute
        Limits that the user gives. Limits that the endpoint reports can only lower them.
    timeout
        Seconds that a request may take; with None, no search is made, and the largest number is in flight at once.
    clock, sleep
        Functions that return the time in seconds, and that wait.

    Examples
    --------
    >>> import time
    >>> async def send_one(limiter):
    ...     limiter.release(await limiter.acquire())
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
        self.in_flight = self._n_sent = 0
        self._search = None if timeout is None else ThroughputSearch(max_in_flight, timeout=timeout)
        self._window = self._window_before = float(max_in_flight)
        self._user_limits, self._reported = RateLimits(requests_per_minute, tokens_per_minute), RateLimits()
        self._requests, self._tokens = RateAllowance(requests_per_minute), RateAllowance(tokens_per_minute)
        self._period = self._period_before = _Period(0, clock(), self._window)
        self._tolerated = MANY
        self._congested_at, self._recovered, self._calm = 0, RECOVERY_SUCCESSES, 0
        self._hold_until, self._n_holds = 0.0, 0
        self._queue: deque[tuple[asyncio.Future[Permit], int]] = deque()
        self._timer: asyncio.Task[None] | None = None
        self._timer_at = 0.0

    @property
    def window(self) -> int:
        """The number of requests that may be in flight now."""
        return int(self._window) if self._search is None else min(int(self._window), self._search.window)

    @property
    def note(self) -> str:
        """A remark for the progress display, or ""."""
        return "" if self._search is None else self._search.note

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens per minute are limited, so that `acquire` needs their number."""
        return self._tokens.rate is not None

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
                self.in_flight -= 1
                self._consume(-1, -tokens)
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
        self.in_flight -= 1
        if (search := self._search) is not None:
            now = self.clock()
            if error is None:
                search.record_answer(permit.stage, seconds=now - permit.sent_at, work=work, now=now)
            elif error.reason == "timeout":
                search.record_timeout(permit.stage)
            self._search = None if search.is_over else search
        if limits is not None and limits != self._reported:
            self._apply_limits(limits)
        if tokens is not None and self.counts_tokens:
            self._tokens.consume(tokens - permit.tokens, self.clock())
        if error is None:
            self._succeed(permit)
        elif error.reason in {"rate_limit", "timeout"}:
            self._reject(permit, error)
        elif error.reason in {"server", "connection"}:
            self._calm = CALM_SUCCESSES
        if self._queue:
            self._admit_waiting()

    def _seconds_until(self, tokens: int) -> float:
        """Return the seconds until the buckets and the delay after a rejection allow a request with these tokens."""
        if self._requests.rate is self._tokens.rate is None and not self._hold_until:
            return 0.0
        now = self.clock()
        if self._hold_until <= now:
            self._hold_until = 0.0
        allowed = self._requests.seconds_until(1, now), self._tokens.seconds_until(tokens, now)
        return max(*allowed, self._hold_until - now)

    def _admit(self, tokens: int) -> Permit:
        """Count one more request as sent and return its permit."""
        self.in_flight, self._n_sent = self.in_flight + 1, self._n_sent + 1
        self._consume(1, tokens)
        permit = Permit(tokens, self._n_sent)
        if self._search is not None:
            permit.sent_at = self.clock()
            permit.stage = self._search.record_sent(self.in_flight, permit.sent_at)
        return permit

    def _consume(self, requests: int, tokens: int) -> None:
        if not self._requests.rate is self._tokens.rate is None:
            now = self.clock()
            self._requests.consume(requests, now)
            self._tokens.consume(tokens, now)

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
        self._reported, user = limits, self._user_limits
        for allowance, reported, stated in (
            (self._requests, limits.requests, user.requests),
            (self._tokens, limits.tokens, user.tokens),
        ):
            if reported:
                allowance.set_rate(min(reported, stated or math.inf) / (60 + BURST_SECONDS), self.clock())

    def _succeed(self, permit: Permit) -> None:
        """Count a success: it may end a congested period, and it lets the window grow."""
        if permit.number > self._congested_at:
            self._recovered += 1
            if self._recovered == RECOVERY_SUCCESSES:
                self._period = _Period(self._n_sent, self.clock(), self._window)
            self._n_holds = max(0, self._n_holds - 1)
        if self._calm:
            self._calm -= 1
        elif self._window < self.max_in_flight and self.in_flight + 1 >= int(self._window):
            slow = max(LEAST_GROWTH, min(1 / self._window, MOST_GROWTH))
            growth = 1 if self._window < self._window_before else slow
            self._window = min(float(self.max_in_flight), self._window + growth)

    def _reject(self, permit: Permit, error: EndpointError) -> None:
        """Count a rejection (429 or timeout); while there are many, shrink the window and delay new requests.

        New requests wait as long as the rejection asks, or else for a time that doubles with each delay.
        """
        self._period.add(permit.number)
        is_full = self.in_flight >= FULL * self._window - 1
        if self._recovered >= RECOVERY_SUCCESSES:
            period, before = self._period, self._period_before
            is_early = permit.number <= self._congested_at or (is_full and period.last < FEWEST)
            if is_early or not period.are_many(self._tolerated):
                return
            period.rate = (self._n_sent - period.first) / max(self.clock() - period.began, 1e-3)
            if period.was_slowed_in_vain(before):
                self._restore(before.window, period.share)
                return
            if not (period.share and before.share) or period.rate < SLOWER * before.rate:
                self._period_before = period
            self._congested_at, self._recovered = self._n_sent, 0
            self._window, self._search = float(self.window), None
            self._window_before = self._window = max(1.0, self._window * DECREASE)
        if self.in_flight < FULL * self._window - 1:
            self._window = max(1.0, float(self.in_flight))  # these are the requests that the endpoint accepted
        if error.reason == "timeout":
            return
        now, hold = self.clock(), error.retry_after
        if hold is None and self._hold_until <= now:
            hold = min(LONGEST_HOLD, FIRST_HOLD * 2.0**self._n_holds)
            self._n_holds = min(self._n_holds + 1, 10)
        self._hold_until = max(self._hold_until, now + (hold or 0.0))

    def _restore(self, window: float, share: float) -> None:
        """Return to an earlier window, as fewer in flight made no difference, and tolerate such a share."""
        self._tolerated = max(MANY, math.ceil(SPAN * share + DEVIATIONS * math.sqrt(SPAN * share * (1 - share))))
        self._window, self._window_before = max(self._window, window), float(self.max_in_flight)
        self._hold_until, self._n_holds = 0.0, 0
        self._period = _Period(self._n_sent, self.clock(), self._window)
