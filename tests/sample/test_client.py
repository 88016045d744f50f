"""One request over real HTTP to a server that misbehaves on command.

Kinds of truth: another program's output (the server's own log of what it wrote) and, for the texts of errors, what
vendors are known to send.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from endpoint import Faults, serve

from errorbar.benchmarks import Question
from errorbar.errors import EndpointError, FatalEndpointError
from errorbar.sample.client import Endpoint, time_allowed
from errorbar.sample.failures import refusal, retry_after, shorten
from errorbar.sample.model import Request, Settings

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
    started = time.perf_counter()
    error = failure(Faults({"hang": 1.0}), timeout=0.2)
    assert (error.reason, str(error)) == ("timeout", "no whole reply within 0.2 s")
    assert time.perf_counter() - started < 3


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
        assert ask(server.base_url).choices[0].text == "good ?"


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


REFUSALS = [
    (
        400,
        {"error": {"message": "Invalid value for 'n'", "param": "n"}},
        "n_rejected",
        None,
        "Invalid value for 'n' (n)",
    ),
    (400, {"error": {"message": "'n' : number must be at most 1"}}, "n_rejected", 1, "'n' : number must be at most 1"),
    (400, {"detail": "Invalid n value (currently only n = 1 is supported)"}, "n_rejected", 1, "Invalid n value"),
    (400, {"error": {"message": "Multiple candidates is not enabled for this model"}}, "n_rejected", None, "Multiple"),
    (
        422,
        {"detail": [{"loc": ["body", "n"], "msg": "ensure this value is less than or equal to 8"}]},
        "n_rejected",
        8,
        "[",
    ),
    (400, {"message": "n must be between 1 and 16"}, "n_rejected", 16, "n must be between"),
    (400, {"error": {"message": "you can't do that in London"}}, "bad_request", None, "you can't do that in London"),
    (400, {"error": "context length exceeded"}, "bad_request", None, "context length exceeded"),
    (400, {"error": {"message": "no such model", "code": "model_not_found"}}, "not_found", None, "no such model"),
    (402, {"error": {"message": "pay"}}, "quota", None, "pay"),
    (403, {"error": {"message": "country"}}, "unauthorized", None, "country"),
    (404, None, "not_found", None, ""),
    (405, None, "not_found", None, ""),
    (408, None, "timeout", None, ""),
    (409, None, "server", None, ""),
    (413, None, "too_large", None, ""),
    (429, {"error": {"message": "empty", "code": "insufficient_quota"}}, "quota", None, "empty"),
    (429, {"error": {"message": "empty", "type": "insufficient_quota"}}, "quota", None, "empty"),
    (429, {"error": {"message": "slow"}}, "rate_limit", None, "slow"),
    (500, [{"error": {"message": "first of a list"}}], "server", None, "first of a list"),
    (502, ["odd"], "server", None, '["odd"]'),
    (503, None, "server", None, ""),
    (504, None, "timeout", None, ""),
    (
        529,
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        "server",
        None,
        "Overloaded",
    ),
]
FATAL = {"quota", "unauthorized", "not_found"}


@pytest.mark.parametrize(("status", "body", "reason", "most", "told"), REFUSALS)
def test_what_vendors_say_when_they_refuse(status, body, reason, most, told):
    raw = b"" if body is None else json.dumps(body).encode()
    error = refusal(status, {}, raw, n=9)
    assert (error.reason, error.most, error.status) == (reason, most, status)
    assert isinstance(error, FatalEndpointError) == (reason in FATAL)
    assert str(error).startswith(f"HTTP {status}: {told}" if told else f"HTTP {status}")
    # With one generation asked for it cannot be about their number.
    assert refusal(status, {}, raw, n=1).reason == ("bad_request" if reason == "n_rejected" else reason)


def test_a_redirect_is_told_and_not_followed():
    error = refusal(308, {"Location": "https://elsewhere/v1"}, b"", n=1)
    assert (type(error), str(error)) == (FatalEndpointError, "HTTP 308: moved to https://elsewhere/v1")


def test_a_page_of_html_is_cut_to_one_line():
    error = refusal(502, {}, b"<html>\n\x1b[31m" + b"x" * 10_000 + b"\xff", n=1)
    assert len(str(error)) <= 320
    assert str(error).isprintable()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3"}, 3.0),
        ({"Retry-After": " 0.25 "}, 0.25),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "soon"}, None),
        ({"retry-after-ms": "nan"}, None),
        ({"retry-after-ms": "inf"}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"Retry-After": "9" * 400}, None),
    ],
)
def test_retry_after(headers, seconds):
    assert retry_after(headers) == seconds


def test_retry_after_as_a_date():
    then = datetime.now(UTC) + timedelta(seconds=60)
    assert retry_after({"Retry-After": format_datetime(then, usegmt=True)}) == pytest.approx(60, abs=5)


def test_retry_after_comes_with_the_failure():
    assert failure(Faults({"rate_limit": 1.0}, retry_after="7")).retry_after == 7.0


def test_the_key_goes_before_the_text_is_cut():
    assert "planted" not in shorten("x" * 290 + KEY, KEY)


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
    assert time_allowed(settings) == seconds
