"""How fast one model is asked, against simulated endpoints in virtual time.

Kinds of truth: an independent slow version (endpoints written from what a limit means, which count what they take and
what they refuse) and guarantees by seeded simulation, stated as bounds.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest
from helpers.long_cases import mark_long
from helpers.scripted_model import VirtualTime
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.errors import EndpointError
from howsure.models.model import RateLimits
from howsure.sample.rate_limit import MANY, RateLimiter

LATENCY = 1.5


def limited(retry_after=None):
    return EndpointError("slow down", reason="rate_limit", status=429, retry_after=retry_after)


@dataclass
class Run:
    """What an endpoint saw."""

    taken: int = 0
    refused: int = 0
    failed: int = 0
    end: float = 0.0
    starts: list[float] = field(default_factory=list)

    @property
    def share(self):
        return self.refused / (self.refused + self.taken)


def simulate(endpoint, count, *, most, seconds=np.inf, tokens=0, used=None, seed=0, **limits):
    """Ask `endpoint(now, rng)` -> (latency, error or None, Limits or None) until `count` requests were answered.

    Failed requests come again after full jitter, as those of a lane do.
    """
    time, run, rng = VirtualTime(), Run(), np.random.default_rng(seed)

    async def go():
        limiter = RateLimiter(most, clock=time.clock, sleep=time.sleep, **limits)
        left, in_flight = count, 0

        async def one():
            nonlocal in_flight
            attempts = 0
            while True:
                ticket = await limiter.acquire(tokens)
                run.starts.append(time.now)
                assert in_flight < most
                in_flight += 1
                latency, error, told = endpoint(time.now, rng)
                await time.sleep(latency)
                in_flight -= 1
                limiter.release(ticket, error=error, limits=told, tokens=None if error else used)
                if error is None:
                    run.taken += 1
                    return
                if error.reason == "rate_limit":
                    run.refused += 1
                else:
                    run.failed += 1
                attempts += 1
                await time.sleep((error.retry_after or 0) + rng.random() * min(30.0, 0.5 * 2 ** (attempts - 1)))

        async def worker():
            nonlocal left
            while left and time.now < seconds:
                left -= 1
                await one()

        await asyncio.gather(*[worker() for _ in range(min(2 * most, count))])
        run.end = time.now
        return limiter

    run.limiter = time.run(go())
    return run


def per_minute(rate, kind, *, period=60.0, offset=0.0, retry_after=False, headers=False):
    """A limit of `rate` requests a minute: a bucket that fills, a clock's minute, or the last 60 seconds."""
    level, at, window, log = rate, 0.0, -1, deque()

    def ask(now, rng):
        nonlocal level, at, window
        told = RateLimits(requests=float(rate)) if headers else None
        if kind == "bucket":
            level, at = min(rate, level + (now - at) * rate / period), now
            ok, wait = level >= 1, (1 - level) * period / rate
            level -= ok
        elif kind == "clock":
            here = int((now + offset) // period)
            if here != window:
                window, level = here, rate
            ok, wait = level >= 1, (here + 1) * period - offset - now
            level -= ok
        else:
            while log and log[0] <= now - period:
                log.popleft()
            ok = len(log) < rate
            wait = 0 if ok else log[0] + period - now
            if ok:
                log.append(now)
        if ok:
            return LATENCY * (0.8 + 0.4 * rng.random()), None, told
        return 0.02, limited(wait if retry_after else None), told

    return ask


def ceiling(most, latency=LATENCY):
    """A server that takes so many at once."""
    busy = []

    def ask(now, rng):
        while busy and busy[0] <= now:
            heapq.heappop(busy)
        if len(busy) >= most:
            return 0.02, limited(), None
        took = latency * (0.8 + 0.4 * rng.random())
        heapq.heappush(busy, now + took)
        return took, None, None

    return ask


def test_a_healthy_endpoint_is_asked_as_often_as_it_may_be_from_the_first_moment():
    # 600,000 generations at n = 50 are 12,000 requests: 23.4 rounds of 512, so 24 round trips at best.
    run = simulate(lambda _now, _rng: (LATENCY, None, None), 12_000, most=512)
    assert (run.taken, run.refused) == (12_000, 0)
    assert run.end == pytest.approx(24 * LATENCY)


# Limits of which nobody tells. Ideal: all that the limit lets pass in the time, and at most what the window can carry.
@pytest.mark.parametrize("kind", ["bucket", "clock", "sliding"])
@pytest.mark.parametrize(
    ("rate", "most", "retry_after"), mark_long([(600, 64, False), (600, 64, True), (1500, 128, False)], after=1)
)
def test_a_limit_per_minute_that_nobody_tells(kind, rate, most, retry_after):
    run = simulate(per_minute(rate, kind, offset=20, retry_after=retry_after), 10**9, most=most, seconds=240)
    ideal = min(most / LATENCY * run.end, rate * run.end / 60 + (rate if kind == "bucket" else 0))
    print(f"{kind} {rate} retry_after={retry_after}: refused {run.share:.1%}, {run.taken / ideal:.1%} of ideal")
    assert run.share < 0.11
    assert run.taken > 0.85 * ideal


@pytest.mark.parametrize("kind", ["bucket", "clock", "sliding"])
@pytest.mark.parametrize("told", ["header", "user"])
def test_a_limit_per_minute_that_is_known(kind, told):
    given = {"requests_per_minute": 600} if told == "user" else {}
    run = simulate(per_minute(600, kind, headers=told == "header"), 10**9, most=64, seconds=200, **given)
    print(f"{kind} {told}: refused {run.share:.2%}, {run.taken / (10 * run.end):.1%} of ideal")
    # A header comes with the first answer: what left before it may have been too much.
    assert run.refused <= (0 if told == "user" else 64)
    assert run.taken > 0.95 * 10 * run.end


@pytest.mark.parametrize(
    ("places", "most", "refused"), [(64, 512, 0.06), (64, 128, 0.04), (8, 64, 0.14), (100, 256, 0.05)]
)
def test_an_overloaded_server(places, most, refused):
    run = simulate(ceiling(places), places * 150, most=most)
    ideal = places * 150 * LATENCY / places
    print(f"{places} places for {most}: refused {run.share:.1%}, {ideal / run.end:.1%} of ideal")
    assert run.share < refused
    assert ideal / run.end > 0.84
    assert run.limiter.window < 1.5 * places + 8


@pytest.mark.parametrize("retry_after", [None, 30.0])
def test_a_stray_429_changes_nothing(retry_after):
    struck = 0

    def ask(_now, rng):
        nonlocal struck
        if rng.random() < 0.02:
            struck += 1
            return 0.02, limited(retry_after), None
        return LATENCY, None, None

    run = simulate(ask, 5000, most=64)
    assert struck > 50
    assert run.limiter.window == 64
    assert 5000 * LATENCY / 64 / run.end > 0.9 if retry_after is None else run.limiter._hold_until == 0


def by_chance(share, then=None, retry_after=None):
    """Refuses a share whatever it is asked; `then` is asked for the rest."""

    def ask(now, rng):
        if rng.random() < share:
            return 0.02, limited(retry_after), None
        return then(now, rng) if then else (LATENCY * (0.8 + 0.4 * rng.random()), None, None)

    return ask


@pytest.mark.parametrize("retry_after", mark_long([None, 1.0], after=1))
@pytest.mark.parametrize(
    ("share", "most", "ideal"),
    mark_long([(0.05, 64, 0.95), (0.4, 64, 0.65), (0.05, 128, 0.92), (0.2, 64, 0.92)], after=2),
)
def test_refusals_that_do_not_depend_on_the_pace_do_not_slow_it_down(share, most, ideal, retry_after):
    run = simulate(by_chance(share, retry_after=retry_after), 100 * most, most=most)
    print(f"{share:.0%} for {most}: {100 * LATENCY / run.end:.1%} of ideal")
    assert run.share == pytest.approx(share, abs=0.02)
    # At 40 % as many as are open wait for their next attempt at times.
    assert 100 * LATENCY / run.end > ideal


@pytest.mark.parametrize("seed", mark_long(range(3), after=1))
@pytest.mark.parametrize("share", [0.05, 0.2])
@pytest.mark.parametrize("kind", ["bucket", "clock"])
def test_a_limit_is_found_among_refusals_by_chance(kind, share, seed):
    run = simulate(by_chance(share, per_minute(600, kind, offset=20)), 10**9, most=64, seconds=240, seed=seed)
    print(f"{kind} and {share:.0%}: refused {run.share:.1%}, {run.taken / (10 * run.end):.1%} of ideal")
    assert run.taken > 0.9 * 10 * run.end
    assert run.share < share + 0.15


@pytest.mark.parametrize("seed", mark_long(range(3), after=1))
def test_places_are_found_among_refusals_by_chance(seed):
    # For so long that the backoff of the last few is not what is measured.
    run = simulate(by_chance(0.2, ceiling(32)), 10**9, most=128, seconds=400, seed=seed)
    ideal = run.taken / (32 / LATENCY * run.end)
    print(f"{ideal:.1%} of ideal, refused {run.share:.1%}, window {run.limiter.window}")
    # Two causes at once, neither told: what is lost is the search.
    assert ideal > 0.7
    assert run.limiter.window < 1.5 * 32


def test_a_limit_is_never_taken_for_chance():
    for ask in (per_minute(600, "bucket"), per_minute(600, "clock", offset=20), ceiling(20)):
        assert simulate(ask, 2500, most=64).limiter._tolerated == MANY


def test_a_slow_spell_of_500_leaves_the_window_alone():
    def ask(now, _rng):
        if 20 < now < 50:
            return 5.0, EndpointError("overloaded", reason="server", status=503), None
        return LATENCY, None, None

    run = simulate(ask, 5000, most=64)
    assert run.failed > 200
    assert run.limiter.window == 64
    # 117 s of work and 30 s of outage; what failed last comes again within its backoff.
    assert run.end < 1.2 * (5000 * LATENCY / 64 + 30)


def test_failures_of_the_server_pause_the_growth():
    async def go():
        time = VirtualTime()
        limiter = RateLimiter(8, clock=time.clock, sleep=time.sleep)
        await refuse(limiter, 7)
        limiter._hold_until = 0.0
        small = limiter.window
        assert small < 8
        for error in (EndpointError("x", reason="server"), EndpointError("x", reason="malformed")):
            limiter.release(await limiter.acquire(), error=error)
        for _ in range(10):
            limiter.release(await limiter.acquire())
            assert limiter.window == small
        for _ in range(100):
            tickets = [await limiter.acquire() for _ in range(limiter.window)]
            for ticket in tickets:
                limiter.release(ticket)
        assert limiter.window == 8

    asyncio.run(go())


async def refuse(limiter, count, reason="rate_limit"):
    tickets = [await limiter.acquire() for _ in range(count)]
    for ticket in tickets:
        limiter.release(ticket, error=EndpointError("no", reason=reason))


@pytest.mark.parametrize(("refused", "cut"), [(6, False), (7, True)])
@pytest.mark.parametrize("reason", ["rate_limit", "timeout"])
def test_a_tenth_of_64_outcomes_cuts_the_window(refused, cut, reason):
    async def go():
        time = VirtualTime()
        limiter = RateLimiter(100, clock=time.clock, sleep=time.sleep)
        for _ in range(57):
            limiter.release(await limiter.acquire())
        await refuse(limiter, refused, reason)
        assert (limiter.window < 100) == cut

    asyncio.run(go())


def test_six_in_64_do_not_add_up_over_hundreds():
    async def go():
        time = VirtualTime()
        limiter = RateLimiter(100, clock=time.clock, sleep=time.sleep)
        for _ in range(10):
            await refuse(limiter, 6)
            for _ in range(58):
                limiter.release(await limiter.acquire())
        assert limiter.window == 100

    asyncio.run(go())


def test_many_429_hold_everybody_back_as_long_as_they_say():
    time = VirtualTime()

    async def go():
        limiter = RateLimiter(64, clock=time.clock, sleep=time.sleep)
        tickets = [await limiter.acquire() for _ in range(10)]
        for ticket in tickets:
            limiter.release(ticket, error=limited(12.5))
        await limiter.acquire()
        assert time.now == 12.5

    time.run(go())


def test_tokens_are_taken_as_reserved_and_settled_as_used():
    time = VirtualTime()

    async def go():
        # 6,100 tokens a minute, of which a burst of a second: 100 a second.
        limiter = RateLimiter(64, tokens_per_minute=6100, clock=time.clock, sleep=time.sleep)
        first = await limiter.acquire(1000)  # more than a burst: only from a full bucket
        assert time.now == 0
        second = await limiter.acquire(50)
        assert time.now == pytest.approx(9.5)
        limiter.release(first, tokens=1000)
        third = await limiter.acquire(100)
        assert time.now == pytest.approx(10.5)
        limiter.release(second, tokens=550)  # 500 more than reserved: five seconds later
        await limiter.acquire(100)
        assert time.now == pytest.approx(16.5)
        waiting = asyncio.ensure_future(limiter.acquire(100))
        await asyncio.sleep(0)
        limiter.release(third, tokens=0)  # 100 not used: nobody needs to wait
        await waiting
        assert time.now == pytest.approx(16.5)

    time.run(go())


def test_a_limit_is_only_lowered_by_what_the_endpoint_tells():
    async def go():
        time = VirtualTime()
        limiter = RateLimiter(64, requests_per_minute=610, clock=time.clock, sleep=time.sleep)
        for told, rate in [(6100.0, 10.0), (305.0, 5.0), (None, 5.0), (0.0, 5.0)]:
            limiter.release(await limiter.acquire(), limits=RateLimits(requests=told))
            time.now += 10
            assert limiter._requests.rate == pytest.approx(rate)

    asyncio.run(go())


def test_first_come_first_served():
    time, order = VirtualTime(), []

    async def go():
        limiter = RateLimiter(2, requests_per_minute=6000, tokens_per_minute=61_000, clock=time.clock, sleep=time.sleep)

        async def one(i):
            ticket = await limiter.acquire(10 * (i % 7))
            order.append(i)
            await time.sleep(0.1 + (i % 3) / 10)
            limiter.release(ticket)

        await asyncio.gather(*[one(i) for i in range(40)])

    time.run(go())
    assert order == list(range(40))


STEPS = st.lists(
    st.tuples(
        st.integers(0, 400),  # tokens
        st.floats(0, 3),  # seconds until it is sent
        st.floats(0.01, 4),  # seconds that it takes
        st.sampled_from(["", "", "", "rate_limit", "timeout", "server"]),
        st.one_of(st.none(), st.floats(0, 3)),  # cancelled so many seconds after it was asked for
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=25, deadline=None)
@given(
    STEPS,
    st.integers(1, 6),
    st.one_of(st.none(), st.sampled_from([30.0, 300.0])),
    st.one_of(st.none(), st.sampled_from([6000.0, 30_000.0])),
)
def test_never_too_many_and_never_stuck(steps, most, per_minute_requests, per_minute_tokens):
    time, starts, spent = VirtualTime(), [], []
    in_flight = 0

    async def go():
        limiter = RateLimiter(
            most,
            requests_per_minute=per_minute_requests,
            tokens_per_minute=per_minute_tokens,
            clock=time.clock,
            sleep=time.sleep,
        )

        async def one(tokens, wait, takes, reason, _):
            nonlocal in_flight
            await time.sleep(wait)
            ticket = await limiter.acquire(tokens)
            in_flight += 1
            assert in_flight <= most
            assert limiter.in_flight >= in_flight
            starts.append(time.now)
            spent.append((time.now, tokens))
            try:
                await time.sleep(takes)
            finally:
                in_flight -= 1
                limiter.release(ticket, error=EndpointError("x", reason=reason) if reason else None)

        async def cancel(task, seconds):
            await time.sleep(seconds)
            task.cancel()

        tasks = [asyncio.ensure_future(one(*step)) for step in steps]
        others = [asyncio.ensure_future(cancel(t, s[4])) for t, s in zip(tasks, steps, strict=True) if s[4] is not None]
        for outcome in await asyncio.gather(*tasks, *others, return_exceptions=True):
            assert outcome is None or isinstance(outcome, asyncio.CancelledError), outcome
        # A place is free again, and nobody waits.
        assert (limiter.in_flight, in_flight) == (0, 0)
        assert not limiter._queue
        assert limiter._timer is None

    time.run(go())
    check_rate([(start, 1) for start in starts], per_minute_requests)
    check_rate(spent, per_minute_tokens)


def check_rate(taken, per_minute):
    """In every window no more than rate x window and a burst; the last may be larger than a burst, through a full bucket."""
    if per_minute is None:
        return
    rate = per_minute / 61
    most = max(rate, *(amount for _, amount in taken), 1)
    for i, (start, _) in enumerate(taken):
        total = 0
        for end, amount in taken[i:]:
            total += amount
            assert total <= rate * (end - start) + most + 1e-6


def test_a_cancelled_wait_takes_nothing_and_lets_the_next_in():
    async def go():
        time = VirtualTime()
        limiter = RateLimiter(1, tokens_per_minute=6100, clock=time.clock, sleep=time.sleep)
        ticket = await limiter.acquire(0)
        first, second = asyncio.ensure_future(limiter.acquire(50)), asyncio.ensure_future(limiter.acquire(100))
        await asyncio.sleep(0)
        limiter.release(ticket)
        first.cancel()  # its place was given to it, but it has not woken yet
        with pytest.raises(asyncio.CancelledError):
            await first
        await asyncio.sleep(0)
        assert second.done()  # with the whole burst of 100, so the 50 were given back
        assert limiter.in_flight == 1

    asyncio.run(go())


def test_a_timer_ends_with_the_last_who_waits():
    async def go():
        limiter = RateLimiter(4, requests_per_minute=1, clock=asyncio.get_running_loop().time, sleep=asyncio.sleep)
        await limiter.acquire()
        waiting = [asyncio.ensure_future(limiter.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        timer = limiter._timer
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await asyncio.sleep(0)
        assert timer.cancelled()
        assert limiter._timer is None

    asyncio.run(go())
