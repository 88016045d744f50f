"""How near a run comes to the ideal where an endpoint refuses: by chance, beyond a rate, or beyond its places.

Simulated in virtual time: `sample.rate_limit` with the backoff of a worker, against endpoints written from what a limit
means. Ideal is the time that the generations would take were nothing refused: requests in flight over latency, or the
limit. Each row is the mean of three seeds; refused is the share of all requests.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from howsure.errors import EndpointError
from howsure.sample.rate_limit import RateLimiter
from howsure.sample.retry import compute_backoff
from howsure.stats.core.results import format_table

#: Seconds of a reply, on average, and of a refusal.
LATENCY, REFUSAL = 1.5, 0.02
SEEDS = 3


class Time:
    """A clock that jumps to the next moment anybody waits for."""

    def __init__(self) -> None:
        self.now = 0.0
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def clock(self) -> float:
        """Seconds."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Wait until then."""
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self.now + seconds, next(self._order), future))
        await future

    async def drive(self, task: asyncio.Task[None]) -> None:
        """Let time pass until the task has ended."""
        while not task.done():
            for _ in range(20):
                await asyncio.sleep(0)
            if self._waiting and not task.done():
                self.now, _, future = heapq.heappop(self._waiting)
                if not future.done():
                    future.set_result(None)
        task.result()


@dataclass
class Endpoint:
    """Refuses a share by chance, what exceeds `per_minute` (a bucket, full at first), and what finds no place."""

    share: float = 0.0
    per_minute: float = 0.0
    places: int = 0
    retry_after: float | None = None
    _level: float = field(default=0.0, init=False)
    _at: float = field(default=0.0, init=False)
    _busy: list[float] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._level = self.per_minute

    def ask(self, now: float, rng: np.random.Generator) -> float | None:
        """Seconds until the reply, or None for a refusal."""
        if rng.random() < self.share:
            return None
        if self.per_minute:
            self._level = min(self.per_minute, self._level + (now - self._at) * self.per_minute / 60)
            self._at = now
            if self._level < 1:
                return None
            self._level -= 1
        while self._busy and self._busy[0] <= now:
            heapq.heappop(self._busy)
        if self.places and len(self._busy) >= self.places:
            return None
        took = LATENCY * (0.8 + 0.4 * float(rng.random()))
        heapq.heappush(self._busy, now + took)
        return took

    def ideal(self, requests: int, in_flight: int) -> float:
        """Seconds that so many requests take at best."""
        seconds = requests * LATENCY / min(in_flight, self.places or in_flight)
        return max(seconds, (requests - self.per_minute) / self.per_minute * 60) if self.per_minute else seconds


def sampled(endpoint: Endpoint, requests: int, in_flight: int, limit: float | None, seed: int) -> tuple[float, float]:
    """(share of the ideal speed, share refused) of a run."""
    time, rng = Time(), np.random.default_rng(seed)
    rate_limiter = RateLimiter(in_flight, requests_per_minute=limit, clock=time.clock, sleep=time.sleep)
    left, refused = iter(range(requests)), 0

    async def work() -> None:
        nonlocal refused
        for _ in left:
            for attempt in itertools.count(1):
                ticket = await rate_limiter.acquire()
                took = endpoint.ask(time.now, rng)
                await time.sleep(REFUSAL if took is None else took)
                if took is not None:
                    rate_limiter.release(ticket)
                    break
                refused += 1
                error = EndpointError("slow down", reason="rate_limit", status=429, retry_after=endpoint.retry_after)
                rate_limiter.release(ticket, error=error)
                await time.sleep((endpoint.retry_after or 0.0) + compute_backoff(attempt, rng))

    async def all_of_it() -> None:
        # As many prompts are open in a lane.
        await asyncio.gather(*(work() for _ in range(2 * in_flight)))

    async def go() -> None:
        await time.drive(asyncio.create_task(all_of_it()))

    asyncio.run(go())
    return endpoint.ideal(requests, in_flight) / time.now, refused / (requests + refused)


#: What the endpoint does, and what the user knows of its limit.
CASES: list[tuple[str, dict[str, Any], float | None]] = [
    *((f"{share:.0%} by chance", {"share": share}, None) for share in (0.0, 0.02, 0.05, 0.09, 0.2, 0.4)),
    ("5% by chance, Retry-After 1 s", {"share": 0.05, "retry_after": 1.0}, None),
    ("20% by chance, Retry-After 1 s", {"share": 0.2, "retry_after": 1.0}, None),
    ("600 a minute, known (no burst)", {"per_minute": 600}, 600.0),
    ("600 a minute, not told", {"per_minute": 600}, None),
    ("600 a minute, not told, and 5% by chance", {"share": 0.05, "per_minute": 600}, None),
    ("half as many places", {"places": 32}, None),
    ("half as many places, and 5% by chance", {"share": 0.05, "places": 32}, None),
]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--requests", type=int, default=6_000)
    given = parser.parse_args()
    columns: dict[str, list[str]] = {"the endpoint refuses": [], "of the ideal": [], "refused": []}
    for name, faults, limit in CASES:
        runs = [sampled(Endpoint(**faults), given.requests, given.in_flight, limit, seed) for seed in range(SEEDS)]
        speed, refused = np.mean(runs, axis=0)
        for column, text in zip(columns, (name, f"{speed:.0%}", f"{refused:.1%}"), strict=True):
            columns[column].append(text)
    print(f"{given.requests:,} requests of {LATENCY:g} s, {given.in_flight} in flight")
    print(format_table(columns))


if __name__ == "__main__":
    main()
