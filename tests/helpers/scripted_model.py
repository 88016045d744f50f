"""A model that answers by a script, and time that passes only when everybody waits."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from howsure.benchmarks import Benchmark, Prompt, Question
from howsure.models.model import Choice, Reply, Request


def sums(count: int) -> Benchmark:
    """Questions 1+1, 2+2, ..., read after "= "."""
    return Benchmark(
        name="sums",
        questions=[Question(f"q{i}", f"What is {i}+{i}?", str(2 * i)) for i in range(1, count + 1)],
        prompt=Prompt(),
        extract=lambda text: text.rpartition("= ")[2].strip() or None,
    )


def right(request: Request, count: int | None = None) -> Reply:
    """So many right choices (default: as many as asked for)."""
    answer = str(2 * int(request.question[1:]))
    n = len(request.generations) if count is None else count
    return Reply(tuple(Choice(f"= {answer}", "stop") for _ in range(n)), model="m-1", fingerprint="f")


class VirtualTime:
    """A clock that jumps to the next moment anybody waits for, once all others wait too."""

    def __init__(self) -> None:
        self.now = 0.0
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self.now + seconds, next(self._order), future))
        await future

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        async def drive() -> Any:
            task = asyncio.create_task(coroutine)
            due = asyncio.get_running_loop()._ready  # who has something to do at this moment; empty: all wait
            while not task.done():
                await asyncio.sleep(0)
                while due:  # noqa: ASYNC110  reason: it waits until nothing happens any more, which no event tells
                    await asyncio.sleep(0)
                if self._waiting and not task.done():
                    self.now, _, future = heapq.heappop(self._waiting)
                    if not future.done():
                        future.set_result(None)
            return task.result()

        return asyncio.run(drive())


class ScriptedModel:
    """Answers by `script(request)`, which returns or raises, perhaps after awaiting."""

    def __init__(self, script: Callable[[Request], Reply | Awaitable[Reply]]) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.in_flight = self.most_in_flight = 0
        self.closed = False

    async def generate(self, request: Request) -> Reply:
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            reply = self.script(request)
            return reply if isinstance(reply, Reply) else await reply
        finally:
            self.in_flight -= 1

    async def close(self) -> None:
        self.closed = True
