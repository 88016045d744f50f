"""The HTTP client of an endpoint against servers that break off, lie, drip, and say more than they were asked.

Kind of truth: theory (RFC 9112 and 9110) and the server's own account. The servers are sockets that write given bytes,
so nothing of them is shared with the client.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import ssl
import struct
import threading
import time
import zlib

import brotli
import pytest
from backports import zstd

from howsure.errors import EndpointError
from howsure.models.client import Endpoint
from howsure.models.model import Request, Settings

KEY = "sk-planted-0123456789"
KB = 1 << 10


def completion(text="#### 18", **more):
    return json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}], **more}).encode()


def response(body, *headers, status="200 OK", length=None):
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *headers]
    if length is not False:
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunked(*pieces, end=b"0\r\n\r\n"):
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + end


CHUNKED = "Transfer-Encoding: chunked"


class Raw:
    """A server: `answer(connection, n)` writes the reply to the n-th request of all, and may close or wait.

    It counts connections and whole requests, and keeps the heads and bodies.
    """

    def __init__(self, answer, *, tls=None):
        self.answer, self.tls = answer, tls
        self.connections, self.heads, self.bodies = 0, [], []
        self.writers = []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.talk, "127.0.0.1", 0, ssl=self.tls)
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}/v1"
        return self

    async def __aexit__(self, *_):
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()
        await asyncio.sleep(0.01)

    async def talk(self, reader, writer):
        self.connections += 1
        self.writers.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(next(x for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:"))[15:])
                self.bodies.append(json.loads(await reader.readexactly(length)))
                self.heads.append(head.decode())
                if await self.answer(writer, len(self.heads)) is False:
                    return


def request(n=1, **extra):
    message = [{"role": "user", "content": "What is 9+9?"}]
    return Request("b", "q1", "v", message, tuple(range(1, n + 1)), Settings(extra=extra))


async def outcome(endpoint, n=1, **extra):
    """The texts of a reply, or its failure."""
    failure = None
    try:
        return [choice.text for choice in (await endpoint.generate(request(n, **extra))).choices]
    except EndpointError as error:
        failure = error
    assert failure.__cause__ is None
    assert "\n" not in str(failure)
    assert len(str(failure)) < 500
    return failure


def talk(answer, *, times=1, at_once=False, n=1, **keys):
    """The outcomes of so many requests and the server."""

    async def go():
        async with Raw(answer) as server:
            endpoint = Endpoint(server.url, "m", **{"timeout": 10, **keys})
            try:
                if at_once:
                    return await asyncio.gather(*(outcome(endpoint, n) for _ in range(times))), server
                return [await outcome(endpoint, n) for _ in range(times)], server
            finally:
                await endpoint.close()

    return asyncio.run(asyncio.wait_for(go(), 60))


def always(*pieces, pause=0.0, close=False, abort=False):
    """Write these pieces to each request."""

    async def answer(writer, _):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            if pause:
                await asyncio.sleep(pause)
        if abort:
            # RST, not FIN.
            held = writer.get_extra_info("socket")
            held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        if close:
            writer.close()
            return False
        return True

    return answer


def pack(data):
    """Compress, without the time of day."""
    return gzip.compress(data, mtime=0)


WHOLE = completion()


# Forms of a whole reply.


@pytest.mark.parametrize(
    "pieces",
    [
        [response(WHOLE)],
        [bytes([byte]) for byte in response(WHOLE)],
        [response(chunked(WHOLE), CHUNKED, length=False)],
        [response(chunked(*(bytes([byte]) for byte in WHOLE)), CHUNKED, length=False)],
        [response(chunked(WHOLE, end=b"0\r\nX-Sum: 1\r\n\r\n"), CHUNKED, length=False)],
        [response(chunked(b"", end=b"").replace(b"0\r\n\r\n", b"") + b"%x;name=value\r\n" % len(WHOLE) + WHOLE + b"\r\n0\r\n\r\n", CHUNKED, length=False)],
        [response(pack(WHOLE), "Content-Encoding: gzip")],
        [response(pack(WHOLE[:20]) + pack(b"") + pack(WHOLE[20:]), "Content-Encoding: gzip")],
        [bytes([byte]) for byte in response(pack(WHOLE[:20]) + pack(WHOLE[20:]), "Content-Encoding: gzip")],
        [response(zlib.compress(WHOLE), "Content-Encoding: deflate")],
        [response(zlib.compress(WHOLE)[2:-4], "content-encoding: DEFLATE")],
        [response(chunked(pack(WHOLE)[:9], pack(WHOLE)[9:]), CHUNKED, "Content-Encoding: gzip", length=False)],
        [response(brotli.compress(WHOLE), "Content-Encoding: br")],
        [response(zstd.compress(WHOLE), "Content-Encoding: zstd")],
        [response(WHOLE, "Content-Encoding: identity")],
        [b"HTTP/1.1 100 Continue\r\n\r\n", response(WHOLE)],
        [b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 3 + response(WHOLE)],
        [b"HTTP/1.1 102 Processing\r\n\r\n", response(chunked(WHOLE), CHUNKED, length=False)],
        [response(WHOLE, "X-Empty:", "X-Long: " + "a" * 4000)],
        [response(WHOLE).replace(b" OK", b"")],
    ],
    ids=lambda pieces: f"{len(pieces)}-{pieces[0][:20]!r}",
)  # fmt: skip
def test_a_whole_reply_keeps_its_connection(pieces):
    outcomes, server = talk(always(*pieces), times=3)
    assert outcomes == [["#### 18"]] * 3
    assert (server.connections, len(server.heads)) == (1, 3)


@pytest.mark.parametrize(
    "reply",
    [
        response(WHOLE, length=False),
        response(WHOLE, length=False).replace(b"1.1", b"1.0"),
        response(WHOLE).replace(b"1.1", b"1.0"),
        response(WHOLE, "Connection: close"),
        response(pack(WHOLE), "Content-Encoding: gzip", length=False),
    ],
)
def test_a_reply_that_ends_with_its_connection(reply):
    outcomes, server = talk(always(reply, close=True), times=3)
    assert outcomes == [["#### 18"]] * 3
    assert (server.connections, len(server.heads)) == (3, 3)


def test_many_requests_at_once_share_no_connection_and_later_ones_use_them_again():
    async def answer(writer, number):
        await asyncio.sleep(0.01)
        writer.write(response(completion(f"#### {number}")))

    async def go():
        async with Raw(answer) as server:
            endpoint = Endpoint(server.url, "m", timeout=10)
            texts = []
            for _ in range(4):
                texts += [text for (text,) in await asyncio.gather(*(outcome(endpoint) for _ in range(30)))]
            await endpoint.close()
            return texts, server

    texts, server = asyncio.run(go())
    assert sorted(texts, key=lambda text: int(text[5:])) == [f"#### {i + 1}" for i in range(120)]
    assert 30 <= server.connections <= 31


def test_what_is_sent():
    outcomes, server = talk(always(response(WHOLE)), times=2, key=KEY)
    assert outcomes == [["#### 18"]] * 2
    for head in server.heads:
        lines = head.rstrip().split("\r\n")
        assert lines[0] == "POST /v1/chat/completions HTTP/1.1"
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        assert fields["host"] == f"127.0.0.1:{server.port}"
        assert fields["authorization"] == f"Bearer {KEY}"
        assert fields["content-type"] == fields["accept"] == "application/json"
        assert {"gzip", "deflate"} <= {one.strip() for one in fields["accept-encoding"].split(",")}
        assert fields["user-agent"]
        assert not {"cookie", "expect", "transfer-encoding"} & set(fields)
    assert server.bodies == [{"model": "m", "messages": [{"role": "user", "content": "What is 9+9?"}]}] * 2


def test_headers_reach_the_failure_and_the_reply_whatever_their_case():
    refusal = response(b'{"error": {"message": "slow"}}', "X-Empty:", "rEtRy-AfTeR: 7", status="429 Too Many Requests")
    (error,), _ = talk(always(refusal))
    assert (error.reason, error.retry_after) == ("rate_limit", 7.0)
    moved = response(b"", "LOCATION: https://elsewhere/v1", status="308 Permanent Redirect")
    (error,), server = talk(always(moved))
    assert str(error) == "HTTP 308: moved to https://elsewhere/v1"
    assert len(server.heads) == 1

    async def go():
        async with Raw(always(response(WHOLE, "X-CACHE: hit"))) as server:
            endpoint = Endpoint(server.url, "m", timeout=10)
            reply = await endpoint.generate(request())
            await endpoint.close()
            return reply

    assert asyncio.run(go()).cached


# Replies that break off, and bytes that are no reply.


@pytest.mark.parametrize("abort", [False, True])
@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ([], "connection"),
        ([b"HTTP/1.1 20"], "malformed"),
        ([b"HTTP/1.1 200 OK\r\nContent-Len"], "malformed"),
        ([response(WHOLE)[:-1]], "malformed"),
        ([response(WHOLE, length=10**6)], "malformed"),
        ([response(chunked(WHOLE, end=b""), CHUNKED, length=False)], "malformed"),
        ([response(b"ff\r\n" + WHOLE, CHUNKED, length=False)], "malformed"),
        ([b"HTTP/1.1 100 Continue\r\n\r\n"], "malformed"),
    ],
)
def test_a_reply_that_breaks_off(pieces, reason, abort):
    outcomes, server = talk(always(*pieces, close=True, abort=abort, pause=0.02), times=2)
    for error in outcomes:
        # A cut head is a failed connection, too.
        is_body = pieces and b"\r\n\r\n" in pieces[0] and not abort and b" 100 " not in pieces[0]
        assert error.reason in ({reason} if is_body else {reason, "connection"})
        assert error.status is None
    assert (server.connections, len(server.heads)) == (2, 2)


@pytest.mark.parametrize(
    "piece",
    [
        b"220 mail.example ESMTP\r\n",
        b"SSH-2.0-OpenSSH_9.7\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"HTTP/9.9.9 OK\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 99999 OK\r\n\r\n",
        b"\x00" * 100,
        WHOLE,
        response(WHOLE, "Bad Name: x"),
        response(WHOLE, "X: a\x00b"),
        response(WHOLE, f"Content-Length: {len(WHOLE) + 1}"),
        response(WHOLE, "Content-Length: -5", length=False),
        response(WHOLE, "Content-Length: 0x10", length=False),
        response(chunked(WHOLE), CHUNKED),
        response(b"zz\r\n" + WHOLE, CHUNKED, length=False),
        response(b"-1\r\n" + WHOLE, CHUNKED, length=False),
        response(b"f" * 40 + b"\r\n" + WHOLE, CHUNKED, length=False),
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n" + WHOLE,
    ],
)
def test_bytes_that_are_no_reply(piece):
    # The connection stays open, so that only the bytes can show that they are none.
    outcomes, server = talk(always(piece), times=2, timeout=3)
    assert len(server.heads) == 2
    for error in outcomes:
        assert error.reason in ({"malformed", "not_found"} if b" 101 " in piece else {"malformed"})
    assert server.connections == 2


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (pack(WHOLE)[:-20], "gzip"),
        (b"no gzip at all", "gzip"),
        (pack(WHOLE)[:20] + b"\xff" * 40, "gzip"),
        (WHOLE, "gzip"),
        (WHOLE, "br"),
        (WHOLE, "zstd"),
        (pack(pack(WHOLE)), "gzip"),
    ],
    ids=["cut", "text", "damaged", "plain", "br", "zstd", "twice"],
)
def test_an_encoding_that_is_none(body, encoding):
    (error,), _ = talk(always(response(body, f"Content-Encoding: {encoding}")))
    assert error.reason == "malformed"


@pytest.mark.parametrize("gap", [None, 0.02])
@pytest.mark.parametrize(
    "junk", [response(completion("#### 99")), b"HTTP/1.1 408 Request Timeout\r\n\r\n", b"junk\r\n"]
)
def test_bytes_after_a_reply_are_for_no_request(junk, gap):
    """A second answer belongs to nobody: in one piece with the first, or while the connection waits."""

    async def answer(writer, number):
        reply = response(completion(f"#### {number}"))
        if gap is None:
            writer.write(reply + junk)
        else:
            writer.write(reply)
            await asyncio.sleep(gap)
            writer.write(junk)

    async def go():
        async with Raw(answer) as server:
            endpoint = Endpoint(server.url, "m", timeout=10)
            outcomes = []
            for _ in range(4):
                outcomes.append(await outcome(endpoint))
                await asyncio.sleep(0.05 if gap else 0)
            await endpoint.close()
            return outcomes, server

    outcomes, server = asyncio.run(go())
    if gap is None and junk.startswith(b"junk"):  # of one piece nothing is believed
        assert [error.reason for error in outcomes] == ["malformed"] * 4
    else:
        assert outcomes == [[f"#### {i + 1}"] for i in range(4)]
    assert (server.connections, len(server.heads)) == (4, 4)


def test_a_connection_that_was_closed_while_it_waited_is_not_used():
    """Early close with keep-alive: each request arrives once, and none fails for a connection that had ended."""

    async def answer(writer, number):
        writer.write(response(completion(f"#### {number}")))
        await writer.drain()
        writer.close()
        return False

    async def go(pause):
        async with Raw(answer) as server:
            endpoint = Endpoint(server.url, "m", timeout=10)
            outcomes = []
            for _ in range(5):
                outcomes.append(await outcome(endpoint))
                await asyncio.sleep(pause)
            await endpoint.close()
            return outcomes, server

    outcomes, server = asyncio.run(go(0.02))
    assert outcomes == [[f"#### {i + 1}"] for i in range(5)]
    assert (server.connections, len(server.heads)) == (5, 5)
    # Without a pause a request may meet the close on its way; then it fails, and is never sent twice.
    outcomes, server = asyncio.run(go(0))
    failed = [error for error in outcomes if isinstance(error, EndpointError)]
    assert {error.reason for error in failed} <= {"connection"}
    assert len(server.heads) == 5 - len(failed)


def test_a_close_that_nobody_has_looked_at_yet():
    """The loop was busy when the server closed: the end of the connection waits in the socket as the next request is sent."""
    listening = socket.create_server(("127.0.0.1", 0))
    heads = []

    def serve():
        while True:
            try:
                held, _ = listening.accept()
            except OSError:
                return
            with held:
                received = b""
                while not received.endswith(b"}"):
                    received += held.recv(65536)
                heads.append(received)
                held.sendall(response(completion(f"#### {len(heads)}")))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()

    async def go():
        endpoint = Endpoint(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", "m")
        outcomes = []
        for _ in range(5):
            outcomes.append(await outcome(endpoint))
            time.sleep(0.05)  # noqa: ASYNC251  the event loop is busy, as with the rows of a large reply
        await endpoint.close()
        return outcomes

    outcomes = asyncio.run(go())
    listening.close()
    assert outcomes == [[f"#### {i + 1}"] for i in range(5)]
    assert len(heads) == 5


@pytest.mark.long  # it waits for the four seconds
def test_idle_connections_are_closed_after_four_seconds():
    """Servers close after five seconds, so a request sent a moment later would meet the close on its way."""

    async def go():
        async with Raw(always(response(WHOLE))) as server:
            endpoint = Endpoint(server.url, "m", timeout=10)
            await asyncio.gather(*(outcome(endpoint) for _ in range(3)))
            first = server.connections
            await asyncio.sleep(4.3)
            open_still = [writer for writer in server.writers if not writer.is_closing()]
            assert await outcome(endpoint) == ["#### 18"]
            await endpoint.close()
            return first, server.connections, open_still

    first, connections, _ = asyncio.run(go())
    assert connections == first + 1


# Endless and slow replies.


def endless(start, piece):
    async def answer(writer, _):
        with contextlib.suppress(ConnectionError):
            writer.write(start)
            while not writer.transport.is_closing():
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
        return False

    return answer


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (HEAD, b"X-Header: x\r\n" * 1000),
        (HEAD + b"X-Header: ", b"x" * 16 * KB),
        (HEAD + b"Xxxxx", b"x" * 16 * KB),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500),
        (HEAD + CHUNKED.encode() + b"\r\n\r\n", b"1;" + b"e" * 16 * KB),
        (HEAD + CHUNKED.encode() + b"\r\n\r\n0\r\n", b"X-Trailer: x\r\n" * 1000),
        (HEAD + CHUNKED.encode() + b"\r\n\r\n0\r\nX-Trailer: ", b"x" * 16 * KB),
        (b"HTTP/1.1 200 ", b"O" * 16 * KB),
    ],
    ids=["headers", "header", "name", "100", "extension", "trailers", "trailer", "reason"],
)
def test_heads_and_trailers_without_end(start, piece):
    (error,), server = talk(endless(start, piece), timeout=3)
    assert error.reason in {"malformed", "timeout"}
    assert server.connections == 1


@pytest.mark.parametrize(
    "start",
    [b"", HEAD, HEAD + b"Content-Length: 10\r\n\r\n", HEAD + CHUNKED.encode() + b"\r\n\r\n", HEAD + b"\r\n"],
)
def test_a_reply_that_stops_in_the_middle_times_out(start):
    async def answer(writer, _):
        writer.write(start)

    outcomes, server = talk(answer, times=2, timeout=0.3)
    assert {(error.reason, str(error)) for error in outcomes} == {("timeout", "no whole reply within 0.3 s")}
    assert (server.connections, len(server.heads)) == (2, 2)


def test_a_slow_trickle_is_read_and_does_not_stretch_the_time_allowed():
    reply = response(WHOLE)
    (slow,), _ = talk(always(*(reply[i : i + 8] for i in range(0, len(reply), 8)), pause=0.005), timeout=30)
    assert slow == ["#### 18"]
    (error,), _ = talk(always(*(reply[i : i + 1] for i in range(len(reply))), pause=0.02), timeout=0.5)
    assert error.reason == "timeout"


def test_a_half_closed_connection():
    """The server says that it will write no more in the middle of a reply, and keeps its side open."""

    async def answer(writer, _):
        writer.write(response(WHOLE)[:-1])
        writer.write_eof()
        await asyncio.sleep(1)
        return False

    (error,), _ = talk(answer, timeout=20)
    assert error.reason == "malformed"

    async def whole(writer, _):
        writer.write(response(WHOLE, length=False))
        writer.write_eof()
        await asyncio.sleep(1)
        return False

    (texts,), _ = talk(whole, timeout=20)
    assert texts == ["#### 18"]


@pytest.mark.parametrize("size", [255, 256, 257, 1000, 3000])
@pytest.mark.parametrize("packed", [False, True])
def test_long_replies_are_whole_around_each_bound(size, packed):
    """More are requested at once than long replies are read at once."""
    text = "0123456789abcdef" * (size * KB // 16)
    body = completion(text)
    reply = response(pack(body), "Content-Encoding: gzip") if packed else response(body)
    outcomes, server = talk(always(reply), times=9, at_once=True)
    assert [texts == [text] for texts in outcomes] == [True] * 9
    assert server.connections == 9


def test_a_reply_that_is_too_long_and_an_error_that_is_longer():
    (error,), _ = talk(always(response(completion("x" * 5_000_000))))
    assert (error.reason, str(error)) == ("too_large", "the reply is longer than 4,194,304 bytes")
    (error,), _ = talk(always(response(b"no " * 3_000_000, status="500 No")))
    assert error.reason == "server"
    # Neither spoils the next request.
    outcomes, server = talk(always(response(b"no " * 100_000, status="500 No")), times=3)
    assert [error.reason for error in outcomes] == ["server"] * 3
    assert len(server.heads) == 3


def test_a_refusal_keeps_its_connection():
    outcomes, server = talk(always(response(b'{"error": "slow"}', status="429 Slow")), times=3)
    assert [error.reason for error in outcomes] == ["rate_limit"] * 3
    assert server.connections == 1


def test_an_answer_before_the_request_was_sent_whole():
    """A server that refuses a long body at its head closes before it has read it."""

    async def go():
        ended = asyncio.Event()

        async def early(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(response(b'{"error": "too long"}', "Connection: close", status="413 No"))
            await asyncio.sleep(0.05)
            writer.transport.abort()
            ended.set()

        server = await asyncio.start_server(early, "127.0.0.1", 0)
        endpoint = Endpoint(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", "m")
        result = await outcome(endpoint, padding="x" * 20_000_000)
        await endpoint.close()
        await ended.wait()
        server.close()
        await asyncio.sleep(0.01)
        return result

    error = asyncio.run(go())
    assert error.reason in {"too_large", "connection", "malformed"}


# What a request leaves behind.


def test_a_request_that_is_cancelled_gives_its_reply_to_nobody():
    async def answer(writer, number):
        await asyncio.sleep(0.1)
        writer.write(response(completion(f"#### {number}")))

    async def go():
        async with Raw(answer) as server:
            endpoint = Endpoint(server.url, "m", timeout=10)
            first = asyncio.create_task(outcome(endpoint))
            while not server.heads:  # noqa: ASYNC110  the server is a list of what it received
                await asyncio.sleep(0.001)
            first.cancel()
            later = [await outcome(endpoint) for _ in range(2)]
            await endpoint.close()
            return later, server

    later, server = asyncio.run(go())
    assert later == [["#### 2"], ["#### 3"]]
    assert server.connections == 2


def test_close_ends_what_is_in_flight_and_what_waits():
    async def answer(writer, number):
        if number > 3:
            await asyncio.sleep(30)
        writer.write(response(WHOLE))

    async def go():
        async with Raw(answer) as server:
            endpoint = Endpoint(server.url, "m", timeout=10)
            await asyncio.gather(*(outcome(endpoint) for _ in range(3)))
            flying = asyncio.create_task(outcome(endpoint))
            await asyncio.sleep(0.05)
            flying.cancel()
            await asyncio.gather(flying, return_exceptions=True)
            await endpoint.close()
            await endpoint.close()
            await asyncio.sleep(0.05)
            return [
                writer.transport.is_closing() or writer.transport.get_write_buffer_size() for writer in server.writers
            ]

    asyncio.run(go())


def test_nothing_of_the_key_is_in_any_failure():
    """Echoed in a status line, a header, a body, and by a server that speaks something else."""
    for piece in (
        f"HTTP/1.1 200 {KEY}\r\nContent-Length: 999\r\nX: {KEY}\r\n\r\n{KEY}",
        f"{KEY}\r\n\r\n",
        f"HTTP/1.1 {KEY}\r\n\r\n",
        f"HTTP/1.1 500 {KEY}\r\nContent-Length: 21\r\n\r\n{KEY}",
        f"HTTP/1.1 302 Found\r\nLocation: http://x/{KEY}\r\nContent-Length: 0\r\n\r\n",
        f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n",
        f"HTTP/1.1 200 OK\r\n{CHUNKED}\r\n\r\n{KEY}\r\n",
        f"HTTP/1.1 200 OK\r\nContent-Encoding: {KEY}\r\nContent-Length: 21\r\n\r\n{KEY}",
    ):
        (error,), _ = talk(always(piece.encode(), close=True), key=KEY)
        shown, causes = f"{error!r} {error}", [error]
        while (error := error.__context__) is not None:
            causes.append(error)
        assert "planted" not in shown
        assert "planted" not in repr(causes)


@pytest.mark.parametrize("key", ["sk-a\r\nX-Evil: 1", "sk-a\nb", "sk-\0a"])
def test_a_key_with_a_line_break_sends_no_header(key):
    async def go():
        async with Raw(always(response(WHOLE))) as server:
            endpoint = Endpoint(server.url, "m", key=key)
            try:
                return await outcome(endpoint), server
            finally:
                await endpoint.close()

    error, server = asyncio.run(go())
    assert isinstance(error, EndpointError)
    assert server.heads == []


# Names, addresses and TLS.


def test_names_and_paths_with_odd_characters():
    async def go():
        async with Raw(always(response(WHOLE))) as server:
            for path in ("/v1/ä b", "/v1/a%20b", "/v1?api-version=2&x=ä"):
                endpoint = Endpoint(f"http://localhost:{server.port}{path}", "m")
                assert await outcome(endpoint) == ["#### 18"]
                await endpoint.close()
            return server.heads

    paths = [head.split(" ")[1] for head in asyncio.run(go())]
    assert paths == [
        "/v1/%C3%A4%20b/chat/completions",
        "/v1/a%20b/chat/completions",
        "/v1?api-version=2&x=%C3%A4/chat/completions",
    ]


def certificate(tmp_path):
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "model.example")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    path = tmp_path / "server.pem"
    path.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


def test_tls_is_checked_and_the_key_is_not_sent_to_a_stranger(tmp_path, monkeypatch):
    path = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)

    async def go():
        async with Raw(always(response(WHOLE)), tls=context) as server:
            endpoint = Endpoint(server.url, "m", key=KEY)
            outcomes = [await outcome(endpoint) for _ in range(3)]
            await endpoint.close()
            wrong_name = Endpoint(server.url.replace("127.0.0.1", "localhost"), "m", key=KEY)
            outcomes.append(await outcome(wrong_name))
            await wrong_name.close()
            return outcomes, server

    with monkeypatch.context() as trusting:
        trusting.setenv("SSL_CERT_FILE", str(path))
        outcomes, server = asyncio.run(go())
    if isinstance(outcomes[0], EndpointError):
        # aiohttp makes its context when it is imported; a stranger it stays.
        assert "certificate" in str(outcomes[0]).lower()
    else:
        assert outcomes[:3] == [["#### 18"]] * 3
        assert server.connections == 1
    assert outcomes[3].reason == "connection"
    outcomes, server = asyncio.run(go())
    assert {error.reason for error in outcomes[:3]} == {"connection"}
    assert "certificate" in str(outcomes[0]).lower()
    assert server.heads == []


def test_tls_to_a_plain_port_and_plain_to_a_tls_port(tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(tmp_path))

    async def go():
        async with Raw(always(response(WHOLE)), tls=context) as server:
            endpoint = Endpoint(server.url.replace("https", "http"), "m")
            first = await outcome(endpoint)
            await endpoint.close()

        async def plain(_, writer):
            writer.write(b"220 hello\r\n")
            await writer.drain()
            writer.close()
            await asyncio.sleep(0)

        server = await asyncio.start_server(plain, "127.0.0.1", 0)
        endpoint = Endpoint(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", "m")
        second = await outcome(endpoint)
        await endpoint.close()
        server.close()
        await asyncio.sleep(0.05)
        return first, second

    first, second = asyncio.run(go())
    assert first.reason in {"connection", "malformed"}
    assert second.reason == "connection"


def test_a_connection_that_is_never_made():
    """A host that does not answer: the time for a connection is separate from that for a reply."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        waiting = []
        for _ in range(8):  # the queue of the socket is filled, so that further connections stay unanswered
            one = socket.socket()
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                one.connect(address)
            waiting.append(one)

        async def go():
            endpoint = Endpoint(f"http://127.0.0.1:{address[1]}/v1", "m", connect_timeout=0.3)
            result = await outcome(endpoint)
            await endpoint.close()
            return result

        error = asyncio.run(go())
        for one in waiting:
            one.close()
    assert (error.reason, str(error)) == ("connection", f"no connection to http://127.0.0.1:{address[1]}/v1 in time")
