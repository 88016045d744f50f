"""Post requests over connections of our own: an asyncio protocol on httptools, for plain HTTP/1.1 without a proxy.

Of the CPU time of a run with one generation per request, aiohttp takes a quarter; this takes a third of that. What it
does not do (proxies, a user and password in the address) aiohttp does, see `client.py`.

A connection carries one request at a time. It is used again only if its reply was whole, said nothing against it, and
was followed by nothing: neither by bytes that would be taken for the reply to the next request, nor by the end of the
connection. A request is never sent twice, because an endpoint may have billed the first one.
"""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import zlib
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import aiohappyeyeballs
    from yarl import URL

__all__ = ["ConnectionPool", "HttpResponse"]

#: Seconds for which a connection waits for its next request; servers commonly close it after 5 s.
CONNECTION_SECONDS = 4.0
#: Seconds for which the addresses of a host are remembered.
ADDRESS_SECONDS = 10.0
#: Most bytes of heads, trailers and chunk sizes of a reply: a constant, and an amount for each byte of its body.
LARGEST_HEAD, HEAD_PER_BYTE = 64 << 10, 16
#: Largest number of bytes that are decompressed at once.
PIECE = 256 << 10
#: Forms of compression that are requested, and the window sizes that make zlib read them.
ENCODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
#: First bytes of a gzip stream.
GZIP_MARK = b"\x1f\x8b"


class _ConnectionFailedError(ConnectionError):
    """No connection was made, or it ended without a reply; `is_late` if it was not made in time."""

    def __init__(self, message: str, os_error: OSError | None = None, *, is_late: bool = False) -> None:
        super().__init__(message)
        self.os_error, self.is_late = os_error, is_late


class _BrokenReplyError(ValueError):
    """The reply broke off, or is not HTTP."""


class HttpResponse:
    """A response, of which the body may not have been read to its end."""

    __slots__ = ("_connection", "body", "headers", "status")

    def __init__(
        self, status: int, headers: Mapping[str, str], body: bytes | bytearray, connection: _Connection | None
    ) -> None:
        self.status, self.headers, self.body = status, headers, body
        self._connection = connection

    @property
    def is_whole(self) -> bool:
        """Whether `body` is the whole body."""
        return self._connection is None

    async def read(self, limit: int) -> bytes | bytearray:
        """Return the whole body, or `limit` bytes of it or somewhat more; close the connection in the latter case."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self.body = (await connection.read_on(limit)).body
        return self.body

    def discard(self) -> None:
        """Do without the rest of the body: close the connection if there is any."""
        if self._connection is not None:
            self._connection.abort()


class ConnectionPool:
    """Connections to the host of one URL, which are kept open for further requests.

    Parameters
    ----------
    url
        Address of the call, http or https.
    headers
        Headers of all requests.
    connect_timeout
        Seconds to get a connection.
    first_bytes
        So many bytes of a body are read at first; `HttpResponse.read` reads the others.
    """

    def __init__(self, url: str, headers: Mapping[str, str], *, connect_timeout: float, first_bytes: int) -> None:
        from yarl import URL

        self.first_bytes, self._connect_timeout = first_bytes, connect_timeout
        self._url = URL(url)
        self._head = _build_head(self._url, headers)
        self._tls: ssl.SSLContext | None = None
        self._idle: deque[_Connection] = deque()
        self._all: set[_Connection] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._lookup: asyncio.Future[list[aiohappyeyeballs.AddrInfoType]] | None = None
        self._looked_up = 0.0

    async def post(self, body: bytes, *, seconds: float) -> HttpResponse:
        """Post a body and return the response.

        Raises
        ------
        _ConnectionFailedError, _BrokenReplyError
            When there is no response, or not a whole one.
        TimeoutError
            When the response is not whole after so many seconds, including the rest that `HttpResponse.read` reads.
        """
        deadline = asyncio.get_running_loop().time() + seconds
        connection = self._take_idle() or await self._connect(min(seconds, self._connect_timeout))
        return await connection.post(b"%s%d\r\n\r\n%s" % (self._head, len(body), body), deadline)

    async def close(self) -> None:
        """Close all connections; requests that wait for a response fail."""
        self._idle.clear()
        if self._timer is not None:
            self._timer.cancel()
        for connection in tuple(self._all):
            connection.abort()
        for _ in range(20):  # the loop closes each socket in one of its next rounds
            if self._all:
                await asyncio.sleep(0)

    def keep(self, connection: _Connection) -> None:
        """Keep a connection for further requests."""
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle.append(connection)
        if self._timer is None:
            self._timer = loop.call_later(CONNECTION_SECONDS, self._close_old)

    def forget(self, connection: _Connection) -> None:
        """Remove a connection that was closed."""
        self._all.discard(connection)

    def _take_idle(self) -> _Connection | None:
        """Return an idle connection, the one that was used last, or None."""
        oldest = asyncio.get_running_loop().time() - CONNECTION_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.idle_since >= oldest and connection.is_silent():
                return connection
            connection.abort()
        return None

    def _close_old(self) -> None:
        """Close the connections that were idle for long, and come again while there are others."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - CONNECTION_SECONDS
        while self._idle and self._idle[0].idle_since <= oldest:
            self._idle.popleft().abort()
        self._timer = None
        if self._idle:
            self._timer = loop.call_at(self._idle[0].idle_since + CONNECTION_SECONDS, self._close_old)

    async def _connect(self, seconds: float) -> _Connection:
        """Return a new connection; of the addresses of a host the first that answers is used."""
        import aiohappyeyeballs

        loop = asyncio.get_running_loop()
        tls = self._build_tls() if self._url.scheme == "https" else None
        try:
            async with asyncio.timeout(seconds):
                held = await aiohappyeyeballs.start_connection(
                    await self._find_addresses(), happy_eyeballs_delay=0.25, interleave=1
                )
                _, connection = await loop.create_connection(
                    lambda: _Connection(self), sock=held, ssl=tls, server_hostname=self._url.raw_host if tls else None
                )
        except TimeoutError as error:
            raise _ConnectionFailedError("not in time", is_late=True) from error
        except OSError as error:
            raise _ConnectionFailedError(str(error) or type(error).__name__, error) from error
        self._all.add(connection)
        return connection

    async def _find_addresses(self) -> list[aiohappyeyeballs.AddrInfoType]:
        """Return the addresses of the host; requests that need them at the same time look them up once."""
        loop = asyncio.get_running_loop()
        if self._lookup is None or self._looked_up < loop.time() - ADDRESS_SECONDS or _has_failed(self._lookup):
            host, port = self._url.raw_host, self._url.port
            task = asyncio.ensure_future(loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))
            self._lookup = cast("asyncio.Future[list[aiohappyeyeballs.AddrInfoType]]", task)
            self._looked_up = loop.time()
        return await asyncio.shield(self._lookup)

    def _build_tls(self) -> ssl.SSLContext:
        """Return the TLS context, which verifies certificates and host names."""
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


class _Connection(asyncio.Protocol):
    """One connection, which carries one request at a time."""

    def __init__(self, pool: ConnectionPool) -> None:
        self.idle_since = 0.0
        self._pool = pool
        self._waiter: asyncio.Future[HttpResponse] | None = None
        self._is_busy = False
        self._error: Exception | None = None
        self._body: bytes | bytearray = b""
        self._packed = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Prepare to read replies."""
        import httptools
        from multidict import CIMultiDict

        self._transport = cast("asyncio.Transport", transport)
        self._parser = httptools.HttpResponseParser(self)
        self._parse, self._errors = self._parser.feed_data, (httptools.HttpParserError, httptools.HttpParserUpgrade)
        self._new_headers = CIMultiDict
        self._poll: select.poll | None = None
        if transport.get_extra_info("sslcontext") is None:
            self._poll = select.poll()
            self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def is_silent(self) -> bool:
        """Return whether an idle connection is open and has received nothing, not even its end.

        The event loop may not have looked at the socket yet. With TLS, what waits there may be a new session ticket.
        """
        return not self._transport.is_closing() and (self._poll is None or not self._poll.poll(0))

    def abort(self) -> None:
        """Close the connection at once; a request that waits for its response fails."""
        if self._is_busy:
            self._error = self._error or _ConnectionFailedError("the connection was closed before the reply")
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_exception(self._error)
        self._stop_waiting()
        self._transport.abort()

    async def post(self, data: bytes, deadline: float) -> HttpResponse:
        """Send a request and return its response, of whose body at least `first_bytes` or all were read."""
        loop = asyncio.get_running_loop()
        waiter = self._waiter = loop.create_future()
        self._timer = loop.call_at(deadline, self._fail, TimeoutError())
        self._is_busy, self._is_complete, self._is_paused, self._may_keep = True, False, False, False
        self._error = None
        self._status, self._fields = 0, list[tuple[str, str]]()
        self._body = b""
        self._n_read = self._n_body = 0
        self._limit = self._pool.first_bytes
        self._inflater: zlib._Decompress | None = None
        self._is_raw_deflate_possible, self._packed = False, b""
        self._transport.write(data)
        return await self._wait(waiter)

    async def read_on(self, limit: int) -> HttpResponse:
        """Return the response with its whole body or at least `limit` bytes of it."""
        if self._error is not None:
            raise self._error
        waiter = self._waiter = asyncio.get_running_loop().create_future()
        self._limit = limit
        if self._packed or self._inflater is not None:
            self._inflate(b"")
        if not self._advance():
            self._transport.resume_reading()
        return await self._wait(waiter)

    async def _wait(self, waiter: asyncio.Future[HttpResponse]) -> HttpResponse:
        """Return the response; a cancelled request closes its connection, on which the reply may still come."""
        try:
            return await waiter
        except asyncio.CancelledError:
            self.abort()
            raise

    def data_received(self, data: bytes) -> None:
        """Read bytes of a reply; bytes for which no request waits close the connection."""
        if not self._is_busy:
            self._transport.abort()
            return
        self._n_read += len(data)
        try:
            self._parse(data)
        except self._errors as error:
            # After the end of the reply they are no part of it.
            self._may_keep = False
            if not self._is_complete:
                # The text of an upgrade is the place of the byte after it.
                is_upgrade = isinstance(error, self._errors[1])
                why = "it switches to another protocol" if is_upgrade else str(error)
                self._error = self._error or _BrokenReplyError(why)
        self._advance()

    def eof_received(self) -> None:
        """End the reply, or the request without one; the transport then closes itself."""
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the reply, or the request without one."""
        self._pool.forget(self)
        self._end(exc)
        # The parser and the connection hold each other, and with them a body that may be long.
        del self._parser, self._parse
        self._body = self._packed = b""

    def on_message_begin(self) -> None:
        """Note that something follows the reply."""
        if self._is_complete:
            self._may_keep = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header; trailers are skipped."""
        if not self._status:
            self._fields.append((name.decode("latin-1"), value.decode("utf-8", "replace")))

    def on_headers_complete(self) -> None:
        """Store the status, and see how the body is encoded."""
        if self._is_complete:
            return
        self._status = self._parser.get_status_code()
        self._headers = self._new_headers(self._fields)
        encoding = self._headers.get("content-encoding", "").strip().lower()
        if encoding in ENCODINGS:
            self._inflater = zlib.decompressobj(ENCODINGS[encoding])
            self._is_raw_deflate_possible = encoding == "deflate"
        elif encoding not in {"", "identity"}:
            self._error = _BrokenReplyError(f"its encoding is {encoding}, which was not requested")

    def on_body(self, data: bytes) -> None:
        """Add to the body."""
        if self._is_complete:
            return
        self._n_body += len(data)
        if self._inflater is not None:
            self._inflate(data)
        else:
            self._add(data)

    def on_message_complete(self) -> None:
        """Note the end of the reply; one with a status 1xx precedes the reply."""
        if self._is_complete:
            return
        if self._status < 200:
            self._status, self._fields = 0, []
            return
        self._is_complete, self._may_keep = True, self._parser.should_keep_alive()

    def _add(self, data: bytes) -> None:
        """Add decoded bytes to the body."""
        if not self._body:
            self._body = data
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += data

    def _inflate(self, data: bytes) -> None:
        """Decompress as much as the limit allows, and keep the rest compressed."""
        assert self._inflater is not None
        data = self._packed + data
        if self._is_raw_deflate_possible and data:
            # Some servers send "deflate" without the header of zlib, whose first byte ends in 8.
            self._is_raw_deflate_possible = False
            if data[0] & 0x0F != 8:
                self._inflater = zlib.decompressobj(-15)
        self._packed = data
        try:
            # Pieces bound the memory of a reply that explodes.
            while (most := min(PIECE, self._limit - len(self._body))) > 0:
                piece = self._inflater.decompress(self._packed, most)
                self._packed = self._inflater.unconsumed_tail
                if piece:
                    self._add(piece)
                elif self._inflater.unused_data[:2] == GZIP_MARK:
                    # Several gzip streams in a row are one body (RFC 1952, section 2.2).
                    self._packed = self._inflater.unused_data
                    self._inflater = zlib.decompressobj(ENCODINGS["gzip"])
                else:
                    break
        except zlib.error as error:
            self._error = _BrokenReplyError(f"it is not compressed as it says ({error})")

    def _advance(self) -> bool:
        """Hand over the response, or the failure, if there is one now; return whether there was."""
        is_full = len(self._body) >= self._limit
        if self._error is not None:
            self._fail(self._error)
        elif self._is_complete and not (is_full and self._inflater is not None and not self._inflater.eof):
            self._finish()
        elif is_full and self._is_paused:
            # So much is too long, and the rest is not read.
            self._may_keep = False
            self._finish()
        elif is_full:
            self._is_paused = True
            self._transport.pause_reading()
            self._hand_over(HttpResponse(self._status, self._headers, self._body, self))
        elif self._n_read - HEAD_PER_BYTE * self._n_body > LARGEST_HEAD:
            self._fail(_BrokenReplyError(f"its head is longer than {LARGEST_HEAD:,} bytes"))
        else:
            return False
        return True

    def _end(self, error: Exception | None) -> None:
        """End a reply, or a request without one, as the connection has ended."""
        if not self._is_busy or self._is_complete:
            return
        has_length = self._status and ("content-length" in self._headers or "transfer-encoding" in self._headers)
        if self._status and not has_length and error is None:
            self._is_complete = True
            self._advance()
        elif self._n_read:
            self._fail(_BrokenReplyError("the connection ended before it"))
        else:
            cause = error if isinstance(error, OSError) else None
            self._fail(_ConnectionFailedError("it closed the connection without an answer", cause))

    def _finish(self) -> None:
        """Hand over a whole response; the connection is kept for other requests if nothing speaks against it."""
        self._stop_waiting()
        if self._may_keep and not self._transport.is_closing():
            if self._is_paused:
                self._transport.resume_reading()
            self._pool.keep(self)
        else:
            self._transport.abort()
        response = HttpResponse(self._status, self._headers, self._body, None)
        self._body = b""
        self._hand_over(response)

    def _hand_over(self, response: HttpResponse) -> None:
        """Give the response to the request, unless that was cancelled."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(response)

    def _fail(self, error: Exception) -> None:
        """Close the connection, and raise the error where the response is awaited, now or later."""
        self._error = error
        self.abort()

    def _stop_waiting(self) -> None:
        """Expect no more bytes."""
        if self._is_busy:
            self._is_busy = False
            self._timer.cancel()


def _has_failed(lookup: asyncio.Future[list[aiohappyeyeballs.AddrInfoType]]) -> bool:
    """Return whether the lookup of a host has ended without addresses."""
    return lookup.done() and (lookup.cancelled() or lookup.exception() is not None)


def _build_head(url: URL, headers: Mapping[str, str]) -> bytes:
    """Return the head of all requests, up to the number of bytes of the body."""
    fields = {"Host": url.host_port_subcomponent, **headers, "Accept-Encoding": "gzip, deflate"}
    if any(character in f"{name}{value}" for name, value in fields.items() for character in "\r\n\0"):
        raise _ConnectionFailedError("the key has a line break, and cannot be sent")
    lines = [f"POST {url.raw_path_qs} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "Content-Length: "]).encode()
