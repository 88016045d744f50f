"""What is read of the body and the headers of a reply.

Kinds of truth: the forms that endpoints are known to send, and theory (what must become of each).
"""

from __future__ import annotations

import json

import pytest
from multidict import CIMultiDict

from howsure.errors import EndpointError
from howsure.models.model import RateLimits
from howsure.models.reply import RateLimitHeaders, is_cached, parse_duration, parse_reply

MB = 1 << 20


@pytest.mark.parametrize(
    ("message", "finish", "choice"),
    [
        ({"content": None, "refusal": "I cannot help"}, "stop", ("I cannot help", "refusal")),
        ({"content": "fine", "refusal": None}, "stop", ("fine", "stop")),
        ({"content": "so far", "refusal": "no further"}, "stop", ("so far", "refusal")),
        ({"content": None, "refusal": ""}, "content_filter", (None, "content_filter")),
    ],
)
def test_a_refusal_is_a_completion(message, finish, choice):
    body = json.dumps({"choices": [{"message": message, "finish_reason": finish}]})
    (got,) = parse_reply(body.encode(), 1).choices
    assert (got.text, got.finish_reason) == choice


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"", "the reply is empty"),
        (b"\r\n <!DOCTYPE html><title>Sign in</title>", "the reply is a page of HTML or XML, not JSON"),
        (
            b'data: {"choices": [{"index": 0, "delta": {"content": "4"}}]}\n\n',
            "the stream ended before its choices did",
        ),
        (b'data: {"choices": [}\n\n', "the reply is not whole JSON"),
        (b'{"choices": [{"message": ', "the reply is not whole JSON"),
        (b"<", "the reply is a page of HTML or XML, not JSON"),
        (b'"The answer is B."', "the reply is not of the expected shape"),
    ],
)
@pytest.mark.parametrize("form", [bytes, bytearray])
def test_what_came_in_place_of_json_is_said(body, what, form):
    with pytest.raises(EndpointError, match=what) as raised:
        parse_reply(form(body), 1)
    assert raised.value.reason == "malformed"


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3}}, (3, 4)),
        ({"prompt_tokens": "3"}, (None, None)),
        ([], (None, None)),
        ({"prompt_tokens": 10**30, "completion_tokens": -1}, (None, None)),
        ({"prompt_tokens": 2**60, "completion_tokens": 5}, (None, 5)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (None, None)),  # nobody counted them
        ({"prompt_tokens": 9, "completion_tokens": 0}, (9, None)),
    ],
)
def test_usage_that_cannot_be_read_loses_nothing(usage, tokens):
    reply = parse_reply(json.dumps({"choices": [{"message": {"content": "x"}}], "usage": usage}).encode(), 1)
    assert (reply.choices[0].text, reply.prompt_tokens, reply.completion_tokens) == ("x", *tokens)
    assert not reply.cached  # a prompt that was cached is no answer that was


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (rb"pair \ud83d\ude00", "pair \U0001f600"),
        (rb"half \ud83d.", "half \ufffd."),
        (rb"half \ude00.", "half \ufffd."),
        (rb"no escape \\ud83d, half \ud83d", r"no escape \ud83d, half " + "\ufffd"),
        (b"cut \xe2\x82", "cut \ufffd"),
    ],
)
def test_half_characters(sent, text):
    assert parse_reply(b'{"choices": [{"message": {"content": "' + sent + b'"}}]}', 1).choices[0].text == text


# As vendors, proxies and gateways write them in their documents and in answers that users show.
@pytest.mark.parametrize(
    ("headers", "cached"),
    [
        ({}, False),
        ({"X-Cache": "HIT"}, True),
        ({"X-Cache": "Hit from cloudfront"}, True),
        ({"X-Cache": "MISS, HIT"}, True),
        ({"X-Cache": "TCP_HIT from a.example"}, True),
        ({"X-Cache": "MISS"}, False),
        ({"X-Cache": "RefreshHit from cloudfront"}, False),
        ({"X-Cache": "white"}, False),
        ({"CF-Cache-Status": "DYNAMIC"}, False),
        ({"CF-Cache-Status": "HIT"}, True),
        ({"cf-aig-cache-status": "HIT"}, True),
        ({"cf-aig-cache-status": "MISS"}, False),
        ({"Helicone-Cache": "HIT"}, True),
        ({"Cache-Status": "ExampleCache; hit; ttl=376"}, True),
        ({"Cache-Status": "ExampleCache; fwd=uri-miss; stored"}, False),
        ({"x-litellm-cache-hit": "True"}, True),
        ({"x-litellm-cache-hit": "False"}, False),
        ({"x-litellm-cache-key": "586bf3f3c1bf5aec"}, False),
        ({"x-portkey-cache-status": "SEMANTIC HIT"}, True),
        ({"x-portkey-cache-status": "DISABLED"}, False),
        ({"X-OpenRouter-Cache-Status": "HIT"}, True),
        ({"Age": "12"}, True),
        ({"Age": "0"}, False),
        ({"Age": "-5"}, False),
        ({"Age": "soon"}, False),
    ],
)
def test_an_answer_from_a_cache(headers, cached):
    assert is_cached(CIMultiDict(headers)) == cached


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("6ms", 0.006), ("1s", 1.0), ("1m0s", 60.0), ("2h3m", 7380.0), ("2m59.56s", 179.56), ("370ms", 0.37)],
        *[("250µs", 0.00025), ("33.023", 33.023), ("", None), ("1m0", None), ("-1s", None), ("s", None), (None, None)],
        *[("2026-11-21T05:00:00Z", None), ("1e9", None), ("9" * 400, None), ("1.2.3s", None)],
    ],
)
def test_durations(text, value):
    assert parse_duration(text) == (value if value is None else pytest.approx(value))


def told(limit, remaining, reset, kind="requests"):
    names = (f"x-ratelimit-limit-{kind}", f"x-ratelimit-remaining-{kind}", f"x-ratelimit-reset-{kind}")
    pairs = zip(names, (limit, remaining, reset), strict=True)
    return {name: value for name, value in pairs if value is not None}


@pytest.mark.parametrize(
    ("headers", "requests", "tokens"),
    [
        # Answers that users of OpenAI show: a bucket of a minute, where 1 of 5000 is 12 ms.
        (told("5000", "4999", "12ms"), 5000, None),
        (told("160000", "159976", "9ms", "tokens"), None, 160_000),
        (told("500", "0", "1m0s"), 500, None),
        # 10,000 a day: 8.64 s for each; 200 a day: 7m12s.
        (told("10000", "9999", "8.64s"), None, None),
        (told("200", "199", "7m12s"), None, None),
        # Groq: requests of a day, tokens of a minute, under the same names.
        (told("14400", "14370", "2m59.56s") | told("6000", "5963", "370ms", "tokens"), None, 6000),
        (told("14400", "14393", "42s"), None, None),
        (told("1000", "942", "1h23m31s"), None, None),
        # The rest of a minute on a clock, and what may be the rest of any other.
        (told("60", "58", "59"), 60, None),
        (told("60", "58", "1m0s"), 60, None),
        (told("1000", "990", "3"), None, None),
        (told("10", "9", "1"), None, None),
        # An hour that fills steadily.
        (told("1000", "990", "36s"), None, None),
        # Nothing used, nothing said, nonsense.
        (told("5000", "5000", "0s"), None, None),
        (told("5000", None, None), None, None),
        (told("5000", "9000", "1m"), None, None),
        (told("0", "0", "1m"), None, None),
        (told("many", "few", "soon"), None, None),
        (told("9" * 400, "1", "1m"), None, None),
        # Those that say so.
        (
            {"Anthropic-RateLimit-Requests-Limit": "1000", "anthropic-ratelimit-tokens-limit": "96000"},
            1000,
            96_000,
        ),
        ({"x-ratelimit-limit-req-minute": "50", "x-ratelimit-limit-tokens-minute": "50000"}, 50, 50_000),
        ({"x-ratelimit-limit-req-minute": "0"}, None, None),
        ({"x-ratelimit-limit-requests-day": "1000"}, None, None),
    ],
)
def test_limits_per_minute(headers, requests, tokens):
    expected = None if requests is tokens is None else RateLimits(requests, tokens)
    assert RateLimitHeaders().read(CIMultiDict(headers)) == expected


def test_limits_are_remembered_and_followed():
    reader = RateLimitHeaders()
    assert reader.read({}) is None
    first = reader.read(told("5000", "4999", "12ms"))
    assert (
        reader.read(told("5000", "5000", "0s")) is first
    )  # the same limit, though this answer does not show its period
    assert reader.read({}) is first
    assert reader.read(told("5000", "4000", "12s") | told("60000", "30000", "30s", "tokens")) == RateLimits(
        5000, 60_000
    )
    assert reader.read(told("9000", "8999", "7ms")) == RateLimits(9000, 60_000)
    assert reader.read(told("14400", "14370", "3m")) == RateLimits(9000, 60_000)


def test_names_of_megabytes_are_cut():
    long = "x" * MB
    choice = {"message": {"content": long}, "finish_reason": long}
    reply = parse_reply(
        json.dumps({"id": long, "model": long, "system_fingerprint": long, "choices": [choice]}).encode(), 1
    )
    assert (reply.model, reply.fingerprint, reply.choices[0].finish_reason) == ("x" * 200,) * 3
    assert len(reply.request) == 32
    assert reply.choices[0].text == long


def test_10_000_choices():
    body = json.dumps({"choices": [{"message": {"content": f"c{i}"}} for i in range(10_000)]}).encode()
    reply = parse_reply(body, 3)
    assert [choice.text for choice in reply.choices] == ["c0", "c1", "c2"]
    assert 9 <= reply.surplus <= 9_997


def test_a_stream_is_read_as_one_reply():
    events = [
        {"id": "x", "model": "m", "choices": [{"index": 1, "delta": {"role": "assistant", "content": "fo"}}]},
        {"choices": [{"index": 0, "delta": {"reasoning_content": "2 + 2", "content": None}}]},
        {"choices": [{"index": 0, "delta": {"content": "4"}, "finish_reason": "stop"}], "usage": None},
        {"choices": [{"index": 1, "delta": {"content": "ur"}}]},
        {"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]},
        {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}, "provider": "Far"},
    ]
    body = b": ping\r\n\r\n" + b"".join(b"data: %s\r\n\r\n" % json.dumps(event).encode() for event in events)
    reply = parse_reply(body + b"data: [DONE]\n\n", 2)
    assert [(c.text, c.finish_reason, c.reasoning) for c in reply.choices] == [
        ("4", "stop", "2 + 2"),
        ("four", "length", None),
    ]
    assert (reply.prompt_tokens, reply.completion_tokens, reply.model) == (5, 3, "m")
    assert (reply.request, reply.fingerprint) == ("x", "provider Far")
    with pytest.raises(EndpointError, match="overloaded"):
        parse_reply(body + b'data: {"error": {"message": "overloaded", "code": 502}}\n\n', 2)


@pytest.mark.parametrize(
    ("provider", "fingerprint", "expected"),
    [
        ('"Far"', "fp", "provider Far fp"),
        ('{"a": 1}', "fp", "fp"),
        ("null", None, None),
        ('"Far"', None, "provider Far"),
    ],
)
def test_the_provider_of_a_router_is_kept_beside_the_fingerprint(provider, fingerprint, expected):
    body = f'{{"choices": [{{"message": {{"content": "4"}}}}], "provider": {provider}, "system_fingerprint": {json.dumps(fingerprint)}}}'
    assert parse_reply(body.encode(), 1).fingerprint == expected
