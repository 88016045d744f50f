"""What becomes of a response that is no completion.

Kinds of truth: the texts that vendors are known to send, and theory (the forms of Retry-After in RFC 9110).
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, formatdate

import pytest

from howsure.errors import FatalEndpointError
from howsure.models.failures import build_http_error, parse_retry_after, shorten

KEY = "sk-planted-0123456789"


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
    (400, {"message": "Value for n should not exceed 3"}, "n_rejected", 3, "Value"),
    (422, {"detail": [{"msg": "Input should be less than or equal to 5"}]}, "n_rejected", 5, "["),
    (400, {"message": "max_tokens must be at most 8"}, "bad_request", None, "max_tokens"),
    (404, {"detail": "Not Found"}, "not_found", None, "Not Found; is the base_url right?"),
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
    error = build_http_error(status, {}, raw, n=9)
    assert (error.reason, error.most, error.status) == (reason, most, status)
    assert isinstance(error, FatalEndpointError) == (reason in FATAL)
    assert str(error).startswith(f"HTTP {status}: {told}" if told else f"HTTP {status}")
    # With one generation asked for it cannot be about their number.
    assert build_http_error(status, {}, raw, n=1).reason == ("bad_request" if reason == "n_rejected" else reason)


def test_a_redirect_is_told_and_not_followed():
    error = build_http_error(308, {"Location": "https://elsewhere/v1"}, b"", n=1)
    assert (type(error), str(error)) == (FatalEndpointError, "HTTP 308: moved to https://elsewhere/v1")


def test_a_page_of_html_is_cut_to_one_line():
    error = build_http_error(502, {}, b"<html>\n\x1b[31m" + b"x" * 10_000 + b"\xff", n=1)
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
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({"Retry-After": "9" * 400}, None),
    ],
)
def test_retry_after(headers, seconds):
    assert parse_retry_after(headers) == seconds


def test_retry_after_as_a_date():
    now = datetime.now(UTC)
    date, then = (format_datetime(one, usegmt=True) for one in (now, now + timedelta(seconds=60)))
    assert parse_retry_after({"Date": date, "Retry-After": then}) == pytest.approx(60, abs=5)


def test_the_key_goes_before_the_text_is_cut():
    assert "planted" not in shorten("x" * 290 + KEY, KEY)


@pytest.mark.parametrize("skew", [-400 * 86400, -3600, 0, 3600])
def test_a_date_to_wait_for_is_by_the_clock_of_the_endpoint(skew):
    """The endpoint says what time it is, and to come back 7 seconds later."""
    now = time.time() + skew
    headers = {"Date": formatdate(now, usegmt=True), "Retry-After": formatdate(now + 7, usegmt=True)}
    assert 6 <= parse_retry_after(headers) <= 8
    # Without a readable Date, the clocks may differ by any time.
    assert parse_retry_after({"Date": "now", "Retry-After": formatdate(time.time() + 7, usegmt=True)}) is None
