"""A web server on 127.0.0.1 that runs until it is interrupted, or in a thread beside other work."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from howsure.errors import InputError


def bind_port(port: int, *, where: str = "", remedy: str) -> socket.socket:
    """Return a socket bound to a port of the loopback address; port 0 chooses a free one.

    Parameters
    ----------
    port
        Port number.
    where, remedy
        Parts of the message if the port cannot be bound.

    Raises
    ------
    InputError
        If the port is in use or out of range.
    """
    bound = socket.socket()
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        bound.close()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"port {port}: {reason}", where=where, remedy=remedy) from error
    return bound


class _Server(uvicorn.Server):
    """A server that calls a function once it answers requests."""

    def __init__(self, app: ASGIApp, on_start: Callable[[], None], *, log_level: str) -> None:
        # Only HTTP is served: proxies, websockets and other event loops are not needed.
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                log_level=log_level,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=5,
            )
        )
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer requests."""
        await super().startup(sockets)
        self._on_start()


def serve_until_interrupted(app: ASGIApp, bound: socket.socket, on_start: Callable[[], None]) -> None:
    """Serve an application until Ctrl-C; KeyboardInterrupt is raised then.

    Parameters
    ----------
    app
        The application.
    bound
        Socket of `bind_port`.
    on_start
        Called once the server answers requests.
    """
    _Server(app, on_start, log_level="warning").run(sockets=[bound])


@contextmanager
def serve_in_thread(app: ASGIApp, bound: socket.socket) -> Iterator[None]:
    """Serve an application in a thread, without any output, while the context lasts.

    Parameters
    ----------
    app
        The application.
    bound
        Socket of `bind_port`.
    """
    started = threading.Event()
    server = _Server(app, started.set, log_level="critical")
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    started.wait(30)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10)
