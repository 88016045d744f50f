"""A chat completions server on 127.0.0.1 that is never the limit: it reads `n` out of a body and answers at once.

Nothing is parsed beyond `Content-Length` and `"n"`, and replies are made before they are asked for: for each n a few
that differ in their answers, with an id of their own each time. Completions are `size` characters long and end in
"#### " and a number below 10.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import multiprocessing
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

#: Different replies for each n.
FORMS = 40
#: Stands in a prepared reply where the id of each answer goes; as long as what takes its place.
ID = b"id-0123456789abcdef"
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
MANY = re.compile(rb'"n": *(\d+)')


def text(number: int, size: int) -> str:
    """A completion of `size` characters (10 at least), no two alike for numbers below 10,000."""
    end = f" {number:04d}\n#### {number % 10}"
    return ("So we count on and add what is left. " * (size // 37 + 1))[: max(0, size - len(end))] + end


def prepared(n: int, form: int, size: int) -> tuple[bytes, bytes]:
    """One whole HTTP answer with n choices, before and after its id."""
    choices = [
        {"index": i, "message": {"role": "assistant", "content": text(form + FORMS * i, size)}, "finish_reason": "stop"}
        for i in range(n)
    ]
    usage = {"prompt_tokens": 60, "completion_tokens": n * size // 4, "total_tokens": 60 + n * size // 4}
    reply = {"id": ID.decode(), "object": "chat.completion", "model": "fast", "choices": choices, "usage": usage}
    body = json.dumps(reply).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    before, _, after = (head + body).partition(ID)
    return before, after


class Replies:
    """Answers by n, each made once."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._replies: dict[int, Iterator[tuple[bytes, bytes]]] = {}
        self._number = itertools.count()

    def next(self, n: int) -> bytes:
        """The next answer with n choices."""
        forms = self._replies.get(n)
        if forms is None:
            forms = self._replies[n] = itertools.cycle([prepared(n, form, self.size) for form in range(FORMS)])
        before, after = next(forms)
        return b"%sid-%016x%s" % (before, next(self._number), after)


class Fast(asyncio.Protocol):
    """One connection, kept alive; a request at a time."""

    def __init__(self, replies: Replies, latency: float) -> None:
        self.replies, self.latency = replies, latency
        self._later = asyncio.get_running_loop().call_later
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write."""
        assert isinstance(transport, asyncio.Transport)
        self._write: Callable[[bytes], None] = transport.write
        self._is_closing = transport.is_closing

    def data_received(self, data: bytes) -> None:
        """Answer once the request is whole."""
        data = self._buffer + data if self._buffer else data
        head = data.find(b"\r\n\r\n")
        length = LENGTH.search(data, 0, head) if head >= 0 else None
        if length is None or len(data) < head + 4 + int(length[1]):
            self._buffer = data
            return
        self._buffer = b""
        many = MANY.search(data, head)
        answer = self.replies.next(int(many[1]) if many else 1)
        if self.latency:
            self._later(self.latency, self._answer, answer)
        else:
            self._write(answer)

    def _answer(self, answer: bytes) -> None:
        if not self._is_closing():
            self._write(answer)


async def serve(latency: float, size: int, ready: Callable[[int], None]) -> None:
    """Serve until cancelled; `ready` is told the port."""
    replies = Replies(size)
    server = await asyncio.get_running_loop().create_server(
        lambda: Fast(replies, latency), "127.0.0.1", 0, backlog=2048
    )
    ready(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _process(latency: float, size: int, pipe: Connection) -> None:
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(latency, size, pipe.send))


@contextmanager
def endpoint(*, latency: float = 0.0, size: int = 100) -> Iterator[str]:
    """A server in another process; yields its base URL."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_process, args=(latency, size, there), daemon=True)
    process.start()
    try:
        assert here.poll(30), "the server did not start"
        yield f"http://127.0.0.1:{here.recv()}/v1"
    finally:
        process.terminate()
        process.join(10)
