"""One request over real HTTP to a server that misbehaves on command.

Kinds of truth: another program's output (the server's own log of what it wrote) and, for the texts of errors, what
vendors are known to send.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import zlib

import pytest
from helpers.endpoint import Faults, serve
from helpers.long_cases import mark_long

from howsure.benchmarks import Question
from howsure.errors import EndpointError, FatalEndpointError
from howsure.models.client import Endpoint, compute_timeout, find_proxy
from howsure.models.model import RateLimits, Request, Settings

KEY = "sk-planted-0123456789"
QUESTIONS = [Question("q1", "What is 9+9?", "18")]


def ask(base_url, *, n=1, settings=None, question="What is 9+9?", name="m", times=1, **keys):
    async def go():
        endpoint = Endpoint(base_url, name, **keys)
        messages = [{"role": "user", "content": question}]
        request = Request("b", "q1", "v", messages, tuple(range(1, n + 1)), settings or Settings())
        try:
            return [await endpoint.generate(request) for _ in range(times)][-1]
        finally:
            await endpoint.close()

    return asyncio.run(go())


def failure(faults, **keys):
    with serve(QUESTIONS, faults=faults) as server, pytest.raises(EndpointError) as caught:
        ask(server.base_url, **keys)
    error = caught.value
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    return error


def test_a_reply():
    with serve(QUESTIONS) as server:
        reply = ask(server.base_url, n=3)
        assert [choice.text.endswith("#### 18") for choice in reply.choices] == [sent.right for sent in server.log]
        assert {choice.finish_reason for choice in reply.choices} == {"stop"}
        assert (reply.request, reply.model, reply.fingerprint) == ("r-1", "truth-1", "fp-1")
        assert (reply.prompt_tokens, reply.completion_tokens, reply.surplus) == (10, 15, 0)
        assert 0 < reply.seconds < 5


def test_what_is_sent():
    settings = Settings(temperature=0.5, top_p=0.9, max_tokens=7, stop=("a", "b"), extra={"min_p": 0.1})
    with serve(QUESTIONS) as server:
        ask(server.base_url, settings=settings, n=2)
        ask(server.base_url + "/")
    message = [{"role": "user", "content": "What is 9+9?"}]
    assert server.bodies == [
        {"model": "m", "messages": message, "temperature": 0.5, "top_p": 0.9, "max_tokens": 7, "stop": ["a", "b"]}
        | {"min_p": 0.1, "n": 2},
        {"model": "m", "messages": message},
    ]


def test_more_choices_than_asked_for_are_counted_and_dropped():
    with serve(QUESTIONS, faults=Faults(extra_choices=2)) as server:
        reply = ask(server.base_url, n=3)
    assert (len(reply.choices), reply.surplus) == (3, 2)


@pytest.mark.parametrize(("fault", "n", "count"), [("fewer", 5, 2), ("fewer", 1, 1)])
def test_fewer_choices_are_a_reply(fault, n, count):
    with serve(QUESTIONS, faults=Faults({fault: 1.0})) as server:
        assert len(ask(server.base_url, n=n).choices) == count


def test_a_filtered_choice_is_a_reply_without_text():
    with serve(QUESTIONS, faults=Faults({"filtered": 1.0})) as server:
        (choice,) = ask(server.base_url).choices
    assert (choice.text, choice.finish_reason) == (None, "content_filter")


@pytest.mark.parametrize(
    ("kind", "reason", "told"),
    [
        ("rate_limit", "rate_limit", "HTTP 429: Rate limit reached"),
        ("server", "server", "HTTP 500: The server had an error"),
        ("malformed", "malformed", "the reply is not whole JSON: '{\"choices\": ['"),
        ("shape", "malformed", "the reply is not of the expected shape"),
        ("empty", "empty", "the list of choices is empty"),
        ("cut", "malformed", "the reply broke off"),
        ("huge", "too_large", "the reply is longer than 4,194,304 bytes"),
    ],
)
def test_each_fault_has_its_reason(kind, reason, told):
    error = failure(Faults({kind: 1.0}))
    assert (error.reason, type(error)) == (reason, EndpointError)
    assert told in str(error)


def test_a_reset_connection():
    error = failure(Faults({"reset": 1.0}))
    assert error.reason == "connection"
    assert error.status is None


def test_a_hung_socket_times_out():
    error = failure(Faults({"hang": 1.0}), timeout=0.2)
    assert (error.reason, str(error)) == ("timeout", "no whole reply within 0.2 s")


def test_a_port_where_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(EndpointError, match="connection refused") as caught:
            ask(url)
    assert (caught.value.reason, caught.value.__cause__) == ("connection", None)
    assert url in str(caught.value)


def test_a_host_that_does_not_exist():
    with pytest.raises(EndpointError, match="no connection to http://nowhere.invalid/v1") as caught:
        ask("http://nowhere.invalid/v1")
    assert caught.value.reason == "connection"


def test_a_server_that_does_not_speak_http():
    async def go():
        async def talk(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"220 mail.example ESMTP\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        endpoint = Endpoint(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "m")
        try:
            await endpoint.generate(Request("b", "q", "v", [], (1,), Settings()))
        finally:
            await endpoint.close()
            server.close()

    with pytest.raises(EndpointError) as caught:
        asyncio.run(go())
    assert caught.value.reason == "malformed"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("echo", ["error", "reply"])
def test_the_key_is_sent_and_blanked_out_of_whatever_comes_back(echo):
    if echo == "error":
        error = failure(Faults(key="another"), key=KEY)
        assert isinstance(error, FatalEndpointError)
        assert error.reason == "unauthorized"
        assert str(error) == "HTTP 401: Incorrect API key provided: Bearer ***"
        shown = str(error) + repr(error)
    else:
        body = json.dumps({"id": KEY, "model": KEY, "choices": [{"message": {"content": f"it is {KEY}"}}]})
        with serve(QUESTIONS, faults=Faults(always=(200, body))) as server:
            reply = ask(server.base_url, key=KEY)
        assert reply.choices[0].text == "it is ***"
        shown = repr(reply)
    assert "planted" not in shown


def test_the_right_key_is_let_in():
    with serve(QUESTIONS, faults=Faults(key=KEY)) as server:
        assert len(ask(server.base_url, key=KEY).choices) == 1


def test_an_unknown_model_is_fatal():
    error = failure(Faults(model="other"))
    assert (type(error), error.reason, error.status) == (FatalEndpointError, "not_found", 404)


def test_n_rejected_with_the_most_that_is_allowed():
    error = failure(Faults(most=4), n=9)
    assert (type(error), error.reason, error.most) == (EndpointError, "n_rejected", 4)


def test_connections_are_used_again():
    with serve(QUESTIONS) as server:
        ask(server.base_url, times=5)
        assert len(server.bodies) == 5


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ({"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}, [""]),
        ({"choices": [{"message": {"content": None}}, {"message": None}, {}]}, [None, None, None]),
        ({"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}, {}]}}]}, ["ab"]),
        ({"choices": [{"message": {"content": "x", "reasoning": "y"}, "logprobs": None}], "usage": None}, ["x"]),
        ({"error": None, "choices": [{"message": {"content": "x"}}]}, ["x"]),
    ],
)
def test_shapes_that_endpoints_send(body, texts):
    with serve(QUESTIONS, faults=Faults(always=(200, json.dumps(body)))) as server:
        reply = ask(server.base_url, n=3)
    assert [choice.text for choice in reply.choices] == texts
    assert len(reply.request) == 32  # an id of our own, where the endpoint gives none


def test_half_a_character_is_no_reason_to_lose_a_generation():
    body = '{"choices": [{"message": {"content": "good \\ud83d"}}]}'
    with serve(QUESTIONS, faults=Faults(always=(200, body))) as server:
        assert ask(server.base_url).choices[0].text == "good \ufffd"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "malformed"),
        ("null", "malformed"),
        ("[]", "malformed"),
        ("{}", "malformed"),
        ('{"choices": null}', "malformed"),
        ('{"choices": "x"}', "malformed"),
        ('{"choices": [1]}', "malformed"),
        ('{"choices": [{"message": {"content": 3}}]}', "malformed"),
        ("[" * 5000, "malformed"),
        ("<html>welcome</html>", "malformed"),
        ('{"error": {"message": "overloaded", "code": 529}}', "server"),
        ('{"error": {"message": "slow down", "code": 429}}', "rate_limit"),
        ('{"error": {"message": "who?", "code": 401}}', "unauthorized"),
        ('{"error": "broken"}', "server"),
    ],
)
def test_a_200_that_is_no_completion(body, reason):
    error = failure(Faults(always=(200, body)))
    assert error.reason == reason
    assert "\n" not in str(error)
    assert len(str(error)) < 400


def test_retry_after_comes_with_the_failure():
    assert failure(Faults({"rate_limit": 1.0}, retry_after="7")).retry_after == 7.0


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        (Settings(max_tokens=100), 70),
        (Settings(max_tokens=1_000_000), 1800),
        (Settings(), 469.6),
        (Settings(extra={"max_completion_tokens": 2000}), 260),
        (Settings(extra={"max_completion_tokens": "x"}), 469.6),
    ],
)
def test_time_allowed(settings, seconds):
    assert compute_timeout(settings) == seconds


# What a reply says beside its choices.


# An endpoint that means harm: one connection, raw bytes.


async def raw_server(pieces, *, pause=0.0, seen=None):
    """Answers each request with the pieces, whatever it asks."""

    async def talk(reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = await reader.readuntil(b"\r\n\r\n")
            if seen is not None:
                seen.append(head.decode())
            for piece in pieces():
                writer.write(piece)
                await writer.drain()
                if pause:
                    await asyncio.sleep(pause)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


def ask_raw(pieces, *, n=1, times=1, pause=0.0, **keys):
    """What came of so many requests at once."""

    async def go():
        server, port = await raw_server(pieces, pause=pause)
        endpoint = Endpoint(f"http://127.0.0.1:{port}/v1", "m", **keys)
        request = Request("b", "q1", "v", [], tuple(range(1, n + 1)), Settings())
        try:
            return await asyncio.gather(*[endpoint.generate(request) for _ in range(times)], return_exceptions=True)
        finally:
            await endpoint.close()
            server.close()

    return asyncio.run(go())


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
GZIP = HEAD + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n"


def bomb(block, times, *, before=b"", after=b""):
    """A gzip stream of so many times a block, made by repeating one compressed block."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    first = packer.compress(before) + packer.flush(zlib.Z_FULL_FLUSH)
    packer_raw = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer_raw.compress(block) + packer_raw.flush(zlib.Z_FULL_FLUSH)

    def pieces():
        yield GZIP + first
        for _ in range(times):
            yield packed
        if after:
            end = zlib.compressobj(9, zlib.DEFLATED, -15)
            crc = zlib.crc32(after, zlib.crc32(block * times, zlib.crc32(before)))
            size = (len(before) + len(block) * times + len(after)) & 0xFFFFFFFF
            yield end.compress(after) + end.flush() + crc.to_bytes(4, "little") + size.to_bytes(4, "little")

    return pieces


@contextlib.contextmanager
def grows_less_than(megabytes):
    """The most memory that this process holds meanwhile, beyond what it held."""
    try:
        with open("/proc/self/clear_refs", "w") as f:  # noqa: PTH123  a file of the kernel
            f.write("5")
    except OSError:
        pytest.skip("the peak of memory can only be reset on Linux")
    before = peak()
    yield
    grown = peak() - before
    print(f"memory grew by {grown:.0f} MB")
    assert grown < megabytes


def peak():
    with open("/proc/self/status") as f:  # noqa: PTH123
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith("VmHWM"))


MB = 1 << 20


@pytest.mark.parametrize(
    ("n", "times", "most"), [(1, 1, 40), (50, 1, 150), pytest.param(50, 12, 450, marks=pytest.mark.long)]
)
def test_a_gzip_bomb_of_a_gigabyte(n, times, most):
    pieces = bomb(bytes(16 * MB), 64)
    with grows_less_than(most):
        errors = ask_raw(pieces, n=n, times=times)
    assert {error.reason for error in errors} == {"too_large"}


def test_millions_of_empty_choices():
    pieces = bomb(b"{}," * MB, 20, before=b'{"choices":[', after=b'{}],"model":"m"}')
    with grows_less_than(200):
        (reply,) = ask_raw(pieces, n=50)
    assert len(reply.choices) == 50
    assert reply.surplus >= 3 * 50


@pytest.mark.parametrize(
    ("before", "block", "after"),
    mark_long(
        [
            (b'{"choices":[{"message":{"content":[', b"{},", b"{}]}}]}"),
            (b'{"error":[', b"[],", b"[]]}"),
            (b'{"x":[', b"[],", b'[]],"choices":[{"message":{"content":"\\ud83d"}},'),
            (b'{"usage":[', b"[],", b'[]],"choices":[1]}'),
        ],
        after=1,
    ),
)
def test_lists_in_every_other_place(before, block, after):
    pieces = bomb(block * MB, 20, before=before, after=after)
    with grows_less_than(300):
        (error,) = ask_raw(pieces, n=50)
    assert error.reason in {"malformed", "server"}
    assert len(str(error)) < 400


@pytest.mark.parametrize("opening", [b'{"x":' * 100_000, b'{"choices":[{"message":{"y":' + b"[" * 200_000])
def test_deep_nesting(opening):
    (error,) = ask_raw(lambda: [HEAD + b"Connection: close\r\n\r\n" + opening])
    assert error.reason == "malformed"


def test_a_body_without_end():
    def pieces():
        yield HEAD + b"\r\n"
        while True:
            yield b" " * MB

    with grows_less_than(60):
        (error,) = ask_raw(pieces)
    assert (error.reason, str(error)) == ("too_large", "the reply is longer than 4,194,304 bytes")


@pytest.mark.parametrize("line", [b"X-Header: x\r\n", b"x" * MB, b"Set-Cookie: a=" + b"b" * 4000 + b"\r\n"])
def test_headers_without_end(line):
    def pieces():
        yield HEAD
        while True:
            yield line * 10

    with grows_less_than(60):
        (error,) = ask_raw(pieces, timeout=5)
    assert error.reason == "malformed"


def test_a_slow_drip_does_not_stretch_the_time_allowed():
    def pieces():
        yield HEAD + b"\r\n"
        while True:
            yield b" "  # without end, as the test would be

    (error,) = ask_raw(pieces, pause=0.02, timeout=0.3)
    assert error.reason == "timeout"


def test_a_long_reply_is_read_whole():
    text = "0123456789" * 100_000
    body = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
    head = HEAD + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n"
    for answer in (HEAD + b"Connection: close\r\n\r\n" + body, head + gzip.compress(body)):
        replies = ask_raw(
            lambda answer=answer: [answer[i : i + 10_000] for i in range(0, len(answer), 10_000)], times=9
        )
        assert [reply.choices[0].text == text for reply in replies] == [True] * 9


def test_an_error_of_any_length_is_cut():
    head = b"HTTP/1.1 500 No\r\nConnection: close\r\n\r\n"
    with grows_less_than(40):
        (error,) = ask_raw(lambda: [head, *[b"x" * MB] * 30])
    assert error.reason == "server"
    assert len(str(error)) < 400


def test_what_headers_say_reaches_the_reply():
    extra = b"x-cache: HIT\r\nx-ratelimit-limit-requests: 60\r\nx-ratelimit-remaining-requests: 30\r\nx-ratelimit-reset-requests: 30s\r\n"
    body = b'{"choices":[{"message":{"content":"x"}}]}'
    (reply,) = ask_raw(lambda: [HEAD + extra + b"Connection: close\r\n\r\n" + body])
    assert (reply.cached, reply.limits) == (True, RateLimits(60, None))


# Proxies.


PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture
def environment(monkeypatch):
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("variables", "url", "proxy"),
    [
        ({}, "https://model.example/v1", None),
        ({"HTTPS_PROXY": "http://p.example:3128"}, "https://model.example/v1", "http://p.example:3128"),
        ({"HTTPS_PROXY": "http://p.example:3128"}, "http://model.example/v1", None),
        ({"ALL_PROXY": "p.example:3128"}, "http://model.example/v1", "http://p.example:3128"),
        ({"http_proxy": "http://u:p%40ss@p.example"}, "http://model.example/v1", "http://u:p%40ss@p.example"),
        ({"HTTP_PROXY": "http://p", "NO_PROXY": ".example"}, "http://model.example/v1", None),
        ({"HTTP_PROXY": "http://p"}, "http://localhost:8000/v1", None),
        ({"HTTP_PROXY": "http://p"}, "http://127.0.0.1:8000/v1", None),
        ({"HTTP_PROXY": "http://p"}, "http://10.0.0.1:8000/v1", "http://p"),
    ],
)
def test_the_proxy_of_the_environment(environment, variables, url, proxy):
    for name, value in variables.items():
        environment.setenv(name, value)
    assert find_proxy(url) == proxy


def test_a_proxy_that_is_not_http(environment):
    environment.setenv("ALL_PROXY", "socks5://user:secret@p.example:1080")
    with pytest.raises(FatalEndpointError, match="names a socks5 proxy") as caught:
        find_proxy("https://model.example/v1")
    assert "secret" not in str(caught.value)
    with pytest.raises(FatalEndpointError, match="only HTTP proxies can be used"):
        ask("http://model.invalid/v1")


def test_a_request_goes_through_the_proxy_and_nothing_of_netrc_goes_with_it(environment, tmp_path):
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine model.invalid login thief password stolen\ndefault login any password planted\n")
    netrc.chmod(0o600)
    environment.setenv("NETRC", str(netrc))
    environment.setenv("HOME", str(tmp_path))
    seen = []

    async def go(key):
        body = b'{"choices":[{"message":{"content":"x"}}]}'
        server, port = await raw_server(lambda: [HEAD + b"Connection: close\r\n\r\n" + body], seen=seen)
        environment.setenv("HTTP_PROXY", f"http://u:p@127.0.0.1:{port}")
        endpoint = Endpoint("http://model.invalid/v1", "m", key=key)
        try:
            return await endpoint.generate(Request("b", "q1", "v", [], (1,), Settings()))
        finally:
            await endpoint.close()
            server.close()

    for key in ("", KEY):
        assert asyncio.run(go(key)).choices[0].text == "x"
    without, with_key = seen
    assert without.startswith("POST http://model.invalid/v1/chat/completions HTTP/1.1")
    assert "\r\nAuthorization:" not in without
    assert f"\r\nAuthorization: Bearer {KEY}\r\n" in with_key
    assert "\r\nProxy-Authorization: Basic dTpw\r\n" in without  # u:p


def test_a_proxy_that_refuses_shows_no_secret(environment):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        environment.setenv("HTTP_PROXY", f"http://u:planted-password@127.0.0.1:{free.getsockname()[1]}")
        with pytest.raises(EndpointError) as caught:
            ask("http://model.invalid/v1", key=KEY)
    assert caught.value.reason == "connection"
    assert "planted" not in str(caught.value)


def test_cookies_are_not_kept():
    seen = []

    async def go():
        body = b'{"choices":[{"message":{"content":"x"}}]}'
        head = HEAD + b"Set-Cookie: a=b\r\nConnection: close\r\n\r\n"
        server, port = await raw_server(lambda: [head + body], seen=seen)
        endpoint = Endpoint(f"http://localhost:{port}", "m")
        for _ in range(2):
            await endpoint.generate(Request("b", "q1", "v", [], (1,), Settings()))
        await endpoint.close()
        server.close()

    asyncio.run(go())
    assert "ookie" not in seen[1]


@pytest.mark.parametrize(
    "key", ["none", "EMPTY", "content", "tokens", "1", "answer", "sk-no-key-required", "token-abc123"]
)
def test_a_placeholder_key_leaves_the_reply_as_it_came(key):
    """A local server is given any key; what the model says, its usage and its ids are not touched."""
    text = f"none of these; the answer is {key} 1"
    body = {
        "id": "r-1",
        "model": "content-1",
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 1},
    }
    with serve(QUESTIONS, faults=Faults(always=(200, json.dumps(body)))) as server:
        reply = ask(server.base_url, key=key)
    assert reply.choices[0].text == text
    assert (reply.request, reply.model, reply.prompt_tokens, reply.completion_tokens) == ("r-1", "content-1", 11, 1)
