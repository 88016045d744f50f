"""How many requests are in flight at servers of every size.

Kind of truth: theory. Servers with a known number of slots, in virtual time, and the number of requests that keeps them
busy; the time that a run takes is compared with the time that the best fixed number takes.
"""

from __future__ import annotations

import asyncio
import heapq

import numpy as np
import pytest
from helpers.long_cases import mark_long
from helpers.scripted_model import VirtualTime

from howsure.errors import EndpointError
from howsure.sample.rate_limit import RateLimiter, ThroughputSearch


class Slots:
    """A server with so many slots, first come first served; `tokens` of each request are written at one speed."""

    def __init__(self, time, slots, *, seconds, spread, rng):
        self.time, self.slots, self.seconds, self.spread, self.rng = time, slots, seconds, spread, rng
        self.free = [0.0] * slots

    async def answer(self):
        """Return the tokens of the answer, once it is written."""
        tokens = max(1.0, 100 * (1 + self.spread * self.rng.standard_normal()))
        started = max(self.time.now, heapq.heappop(self.free))
        ended = started + self.seconds * tokens / 100
        heapq.heappush(self.free, ended)
        await self.time.sleep(ended - self.time.now)
        return tokens


class Batching(Slots):
    """A server that writes up to `slots` answers together, each slower the more there are: 1 + share per other one."""

    def __init__(self, *args, share, **keys):
        super().__init__(*args, **keys)
        self.share, self.busy = share, 0

    async def answer(self):
        self.busy += 1
        slowness = 1 + self.share * (self.busy - 1)
        tokens = max(1.0, 100 * (1 + self.spread * self.rng.standard_normal()))
        await self.time.sleep(self.seconds * slowness * tokens / 100)
        self.busy -= 1
        return tokens


def sample(build, count, most, *, timeout=65.0, reports_tokens=True):
    """Send `count` requests; return the time, the requests that timed out, and the limiter."""
    time, timed_out = VirtualTime(), 0

    async def go():
        server = build(time)
        limiter = RateLimiter(most, timeout=timeout, clock=time.clock, sleep=time.sleep)
        left = count

        async def worker():
            nonlocal left, timed_out
            while left > 0:
                left -= 1
                while True:
                    permit = await limiter.acquire()
                    sent = time.now
                    tokens = await server.answer()
                    if time.now - sent <= timeout:
                        break
                    timed_out += 1
                    limiter.release(permit, error=EndpointError("late", reason="timeout"))
                limiter.release(permit, work=tokens if reports_tokens else 1)

        await asyncio.gather(*[worker() for _ in range(2 * most)])
        return limiter

    limiter = time.run(go())
    return time.now, timed_out, limiter


@pytest.mark.parametrize("spread", [0.0, 0.5])
@pytest.mark.parametrize("seconds", [0.63, 5.0, 20.0, 40.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_server_with_one_slot(seconds, spread, seed):
    """As many answers a minute as with two in flight, and few timeouts; with 64 in flight 64 would wait."""

    def build(time):
        return Slots(time, 1, seconds=seconds, spread=spread, rng=np.random.default_rng(seed))

    took, timed_out, limiter = sample(build, 200, 64, timeout=100.0)
    best = seconds * 200
    print(f"{seconds} s, spread {spread}: {took / best:.2f} of the best time, {limiter.window} in flight")
    # Two in flight are tried less and less often; with a spread some requests take longer by themselves.
    assert timed_out <= (8 if spread and seconds >= 20 else 0)
    assert took < 1.15 * best
    assert limiter.window <= 8


@pytest.mark.parametrize("timeout", [3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 20.0])
def test_a_timeout_below_four_times_the_latency(timeout):
    """Whatever is in flight, an answer takes 2 s: nothing keeps the window small."""

    def build(time):
        return Slots(time, 64, seconds=2.0, spread=0.0, rng=np.random.default_rng(1))

    took, timed_out, _ = sample(build, 250, 16, timeout=timeout)
    assert took <= 45
    assert not timed_out


@pytest.mark.parametrize("slots", mark_long([16, 2, 4, 64, 300], after=2))
@pytest.mark.parametrize("spread", [0.0, 0.4])
@pytest.mark.parametrize("reports_tokens", mark_long([True, False], after=1))
def test_a_server_with_several_slots(slots, spread, reports_tokens):
    def build(time):
        return Slots(time, slots, seconds=1.5, spread=spread, rng=np.random.default_rng(slots))

    count = 60 * slots
    took, timed_out, limiter = sample(build, count, 256, reports_tokens=reports_tokens)
    ideal = 1.5 * count / min(slots, 256)
    print(f"{slots} slots, spread {spread}: {ideal / took:.2f} of the speed, {limiter.window} in flight")
    assert timed_out == 0
    assert ideal / took > 0.7
    # No request waits longer than half the timeout; with tokens the number is found more exactly.
    assert 1.5 * limiter.window / slots <= 65 / 2
    assert limiter.window <= 8 * slots or not reports_tokens


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05])
def test_a_server_that_batches(share):
    """Latency grows with the number in flight, but throughput too: 64 in flight are the fastest of all up to 64."""

    def build(time):
        return Batching(time, 64, seconds=2.0, spread=0.3, rng=np.random.default_rng(5), share=share)

    took, timed_out, limiter = sample(build, 3000, 64)
    ideal = 3000 * 2.0 * (1 + 63 * share) / 64
    print(f"share {share}: {ideal / took:.2f} of the speed of 64 in flight, {limiter.window} in flight")
    assert timed_out == 0
    assert ideal / took > 0.8


def test_a_fast_server_is_not_searched():
    """All 64 would be answered one by one in a third of a second."""

    def build(time):
        return Slots(time, 64, seconds=0.005, spread=0.2, rng=np.random.default_rng(1))

    took, _, limiter = sample(build, 2000, 64)
    assert limiter._search is None
    assert limiter.window == 64
    assert took < 1.1 * 2000 * 0.005 / 64 + 0.02


def test_a_large_endpoint_is_reached_in_four_round_trips():
    def build(time):
        return Slots(time, 512, seconds=0.75, spread=0.0, rng=np.random.default_rng(1))

    took, _, limiter = sample(build, 20 * 512, 512)
    assert limiter.window == 512
    assert took < (20 + 3.5) * 0.75


def test_a_server_that_gains_slots_is_noticed():
    """One slot for ten minutes, then 32."""

    class Growing(Slots):
        async def answer(self):
            if self.time.now > 600 and len(self.free) == 1:
                self.free = self.free + [self.time.now] * 31
                heapq.heapify(self.free)
            return await super().answer()

    def build(time):
        return Growing(time, 1, seconds=1.0, spread=0.3, rng=np.random.default_rng(2))

    took, _, limiter = sample(build, 20_000, 64)
    print(f"{limiter.window} in flight at the end, {took:.0f} s")
    assert limiter.window >= 24
    assert took < 600 + 2.5 * 20_000 / 32


def test_one_request_at_a_time_is_no_search():
    search = ThroughputSearch(1, timeout=60.0)
    assert (search.window, search.is_over, search.note) == (1, True, "")


def test_what_was_found_is_said():
    def build(time):
        return Slots(time, 1, seconds=1.0, spread=0.0, rng=np.random.default_rng(2))

    _, _, limiter = sample(build, 50, 64)
    assert limiter.note == f"{limiter.window} in flight: 4 were no faster"
