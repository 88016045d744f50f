"""The page of a run while it is sampled: served on this machine, made again when rows have come.

The page is built by another process, so that the run keeps its processor; a browser that watches it asks for its number
every two seconds and changes the page beneath the reader when there is a new one. Nothing is written.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import signal
import socketserver
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from howsure.errors import HowsureError, InputError
from howsure.reporting.assets import build_policy, read_template

__all__ = ["Live", "serving"]

#: Seconds between two questions of a browser, at most, and without one after which it is gone.
_POLL, _GONE = 2.0, 7.0

_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Live:
    """The last page of a run folder, and who watches it.

    Parameters
    ----------
    folder
        What is watched: a page is built when a file in it has changed.
    build
        Makes the page, as HTML.
    worker
        Where it is called.
    """

    def __init__(
        self,
        folder: Path,
        build: Callable[[], str],
        worker: Executor,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._build, self._worker, self._clock = folder, build, worker, clock
        self._seen: tuple[tuple[str, int, int], ...] | None = None
        self._asked = -_GONE
        self.all_seen = threading.Event()  # a watcher has the last page
        self.page, self.number, self.is_over = b"", 0, False
        self.told = "Waiting for the first answers."

    def look(self) -> float:
        """Build the page again if there is news; the seconds that it took."""
        found, start = _files(self._folder), self._clock()
        if not found or found == self._seen:
            return 0
        self._seen = found
        try:
            self.page = self._worker.submit(self._build).result().encode()
        except HowsureError as error:  # no answer yet, most likely
            self.told = str(error)
        except Exception as error:  # noqa: BLE001  whatever befalls the page, the run goes on
            self.told = f"This page could not be made: {type(error).__name__}: {error}"
        else:
            self.told, self.number = "", self.number + 1
        return self._clock() - start

    def finish(self) -> None:
        """The page of all rows, and the word that no more will come."""
        self.look()
        self.is_over = True

    def state(self) -> bytes:
        """What a watching browser asks for."""
        self._asked = self._clock()
        state = {"number": self.number, "told": self.told, "over": self.is_over}
        if self.is_over and not self.number:
            self.all_seen.set()
        return json.dumps(state).encode()

    def taken(self) -> bytes:
        """The page, to a watching browser."""
        if self.is_over:
            self.all_seen.set()
        return self.page

    @property
    def is_watched(self) -> bool:
        """Whether a browser has asked of late."""
        return self._clock() - self._asked < _GONE


@contextmanager
def serving(
    folder: str | Path,
    build: Callable[[], str],
    *,
    port: int = 0,
    every: float = 5.0,
    linger: float = 6.0,
    worker: Executor | None = None,
) -> Iterator[str]:
    """Serve the page of a run folder on 127.0.0.1 while the context lasts.

    Parameters
    ----------
    folder
        The run folder, which need not be there yet.
    build
        Makes the page of what is in it now, as HTML. It is called in another process: a function of a module, or a
        `functools.partial` of one.
    port
        Any that is free by default.
    every
        Seconds between two looks at the folder, at least; a page that takes long is built less often.
    linger
        Seconds that a watching browser has, in the end, to fetch the last page.
    worker
        Where `build` is called in place of a process of its own.

    Yields
    ------
    str
        The address, with the secret that makes it this user's alone.

    Raises
    ------
    InputError
        When the port is taken.
    """
    own = ProcessPoolExecutor(1, get_context("spawn"), _quiet) if worker is None else None
    if own is not None:
        own.submit(os.getpid)  # it starts, and imports, while nothing is there to be drawn
    live = Live(Path(folder), build, worker or own)  # type: ignore[arg-type]  # one of the two is there
    token, stop = secrets.token_urlsafe(24), threading.Event()
    with _bound(port, live, token, min(every, _POLL)) as server:
        threads = [
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True),
            threading.Thread(target=_watch, args=(live, every, stop), daemon=True),
        ]
        for thread in threads:
            thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/{token}/"
            stop.set()
            threads[1].join()
            if live.is_watched:
                live.finish()
                live.all_seen.wait(linger)
        finally:
            stop.set()
            server.shutdown()
            if own is not None:
                own.shutdown(wait=False, cancel_futures=True)


def _watch(live: Live, every: float, stop: threading.Event) -> None:
    pause = 0.0
    while not stop.wait(pause):
        pause = max(every, live.look())  # at most half of the time goes into pages


def _quiet() -> None:
    """Of the process that builds pages: behind the run, deaf to Ctrl-C, silent beside its progress, and ready."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(5)
    warnings.simplefilter("ignore")
    import_module("howsure.reporting.charts")


def _files(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, size and time of every file; but of the one that SQLite's readers change."""
    found = []
    with suppress(OSError):  # not there yet
        for file in folder.iterdir():
            with suppress(OSError):  # just gone
                stat = file.stat()
                if not file.name.endswith("-shm"):
                    found.append((file.name, stat.st_size, stat.st_mtime_ns))
    return tuple(sorted(found))


class _Server(socketserver.ThreadingTCPServer):
    """Not `http.server.HTTPServer`, which asks the network for this machine's name."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, live: Live, token: str, poll: float) -> None:
        self.live, self.token, self.poll = live, token.encode(), poll
        super().__init__(("127.0.0.1", port), _Request)
        number = self.server_address[1]
        self.hosts = {f"127.0.0.1:{number}", f"localhost:{number}"}

    def handle_error(self, *_: Any) -> None:
        """A browser that went away is no news."""


def _bound(port: int, live: Live, token: str, poll: float) -> _Server:
    try:
        return _Server(port, live, token, poll)
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"port {port}: {why}", where="--live", remedy="leave it out for any that is free") from error


class _Request(BaseHTTPRequestHandler):
    """Answers whoever has the secret, reached by the name of this machine's loopback: three addresses, nothing else."""

    server: _Server
    server_version, sys_version, timeout = "howsure", "", 20

    def do_GET(self) -> None:
        """The frame, the state, or the page."""
        live = self.server.live
        if self.headers.get_all("Host") is None or not self.server.hosts.issuperset(self.headers.get_all("Host", [])):
            self._answer(b"This page answers on 127.0.0.1 only.", "text/plain", HTTPStatus.MISDIRECTED_REQUEST)
            return
        _, given, *rest = self.path.partition("?")[0].split("/", 2) if self.path.count("/") > 1 else ("", "", "")
        if not hmac.compare_digest(given.encode("latin-1", "replace"), self.server.token) or rest[0] not in _PLACES:
            self._answer(b"Open the address that howsure printed.", "text/plain", HTTPStatus.NOT_FOUND)
        elif rest[0] == "state":
            self._answer(live.state(), "application/json")
        elif rest[0] == "page":
            self._answer(live.taken(), "text/html", policy="frame-ancestors 'self'")
        else:
            frame, policy = _frame(self.server.poll)
            self._answer(frame, "text/html", policy=policy)

    def _answer(
        self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK, *, policy: str = "default-src 'none'"
    ) -> None:
        self.send_response(status)
        headers = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": len(body)}
        for name, value in {**headers, "Content-Security-Policy": policy, **_HEADERS}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """The terminal is the run's."""


#: What there is below the secret.
_PLACES = ("", "state", "page")


def _frame(poll: float) -> tuple[bytes, str]:
    """What surrounds the page, and its policy: it alone may ask this server, for the state."""
    style, script = read_template("live.css"), read_template("live.js")
    html = read_template("live.html").replace("/*STYLE*/", style).replace("/*SCRIPT*/", script)
    html = html.replace("<body>", f'<body data-poll="{1000 * poll:.0f}">', 1)
    more = ("connect-src 'self'", "frame-src 'self'", "frame-ancestors 'none'")
    return html.encode(), build_policy([style], [script], *more)
