"""Run a coroutine to its end from code that is not asynchronous, also where an event loop already runs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def run_coroutine(coroutine: Coroutine[object, object, T]) -> T:
    """Return the result of a coroutine.

    If an event loop runs in this thread, as in a notebook, the coroutine runs in a loop of its own in another thread. A
    KeyboardInterrupt in this thread then cancels it, and what it raises in return is raised here.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[object]]] = Future()

    async def run_in_thread() -> T:
        task = asyncio.current_task()
        assert task is not None
        started.set_result((asyncio.get_running_loop(), task))
        return await coroutine

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="howsure-run") as pool:
        result = pool.submit(asyncio.run, run_in_thread())
        try:
            return result.result()
        except KeyboardInterrupt:
            loop, task = started.result()
            loop.call_soon_threadsafe(task.cancel)
            return result.result()
