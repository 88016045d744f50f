"""Servers of the tests' own: in a thread, on the loopback, and no connection outlives them, whoever still pours."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from weakref import WeakSet

from aiohttp import web
from aiohttp.typedefs import Handler

#: Seconds after which something never happens, on a machine however busy.
LONG = 120


def until(condition: Callable[[], object]) -> None:
    """Wait for what another thread or process does."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


async def listen(app: web.Application, port: int = 0) -> tuple[web.AppRunner, str]:
    """Start it; return what ends it, and its base URL."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    host, port = runner.addresses[0][:2]
    return runner, f"http://{host}:{port}/v1"


@contextlib.contextmanager
def serving(app: web.Application, port: int = 0) -> Iterator[str]:
    """Run it on an event loop in a thread until the block ends; yields its base URL."""
    loop = asyncio.new_event_loop()
    transports: WeakSet[asyncio.Transport] = WeakSet()

    @web.middleware
    async def remember(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.transport is not None:
            transports.add(request.transport)
        return await handler(request)

    app.middlewares.append(remember)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner, base_url = asyncio.run_coroutine_threadsafe(listen(app, port), loop).result(LONG)
    try:
        yield base_url
    finally:
        asyncio.run_coroutine_threadsafe(_end(runner, transports), loop).result(LONG)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(LONG)
        loop.close()


async def _end(runner: web.AppRunner, transports: WeakSet[asyncio.Transport]) -> None:
    await runner.cleanup()
    # aiohttp only closes, and forgets: a transport with bytes that nobody reads stays open, and is found as garbage in
    # some later test.
    for transport in list(transports):
        transport.abort()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
