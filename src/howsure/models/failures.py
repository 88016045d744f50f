"""Translate failures of an endpoint (HTTP errors, broken connections) into `EndpointError`, with the wait asked for."""

from __future__ import annotations

import asyncio
import email.utils
import errno
import json
import math
import re
from collections.abc import Mapping

from howsure.errors import EndpointError, FatalEndpointError
from howsure.safe_text import mask_address, redact

#: Number of bytes of an error response that are read.
LARGEST_ERROR = 64 << 10
#: Texts of a response with status 400 that concerns `n`, and the limit in such a text. A wrong match costs one request.
ABOUT_N = re.compile(r"\bn\b|multiple (candidates|choices|completions)|num_choices|candidate_?count", re.IGNORECASE)
UPPER_LIMIT = re.compile(
    r"(?:at most|not exceed|no more than|not be (?:greater|larger|more) than) ?(\d+)"
    r"|(?:<=|≤|up to|less than or equal to|maximum(?: value)?(?: of| is|:)?|only n ?=) ?(\d+)"
    r"|(?:between|\[) ?1(?: and|,| to) ?(\d+)",
    re.IGNORECASE,
)
#: Texts whose limit concerns something other than `n`.
ABOUT_OTHERS = re.compile(
    r"token|length|context|character|temperature|top_|penalt|logprobs|messages|stop", re.IGNORECASE
)
#: Reason for each status, unless an error code is more precise. Other statuses: 3xx not_found, 4xx bad_request, else
#: server.
REASONS = {
    401: "unauthorized",
    402: "quota",
    403: "unauthorized",
    404: "not_found",
    405: "not_found",
    408: "timeout",
    409: "server",
    410: "not_found",
    413: "too_large",
    425: "server",
    429: "rate_limit",
    504: "timeout",
}
FATAL = ("unauthorized", "quota", "not_found")
#: Error codes of an account without credit, for which waiting does not help.
QUOTA = ("insufficient_quota", "insufficient_balance", "billing_hard_limit_reached", "credit_balance_too_low")
UNKNOWN_MODEL = ("model_not_found", "model_not_exist", "unknown_model")


def build_http_error(
    status: int, headers: Mapping[str, str], body: bytes | bytearray, *, n: int, key: str = ""
) -> EndpointError:
    """Return the error of an HTTP response that is not a completion.

    Parameters
    ----------
    status, headers, body
        The HTTP response. If the status is 200, the `error.code` in the body is used.
    n
        Generations that were requested.
    key
        Redacted from the message.
    """
    text, codes = _parse_error_body(body)
    if status == 200:
        status = next((int(code) for code in codes if code.isdigit() and 400 <= int(code) < 600), 500)
    reason = _find_reason(status, codes)
    most = None
    if status in {400, 422} and n > 1 and reason == "bad_request":
        bound = _find_upper_limit(text)
        if ABOUT_N.search(text) or (bound is not None and 0 < bound < n and not ABOUT_OTHERS.search(text)):
            reason, most = "n_rejected", bound
    if 300 <= status < 400:
        text = f"moved to {headers.get('Location', 'elsewhere')}"
    message = f"HTTP {status}: {shorten(text, key)}" if text.strip() else f"HTTP {status}"
    if status in {404, 405} and not codes and "model" not in text.lower():
        # The path is wrong, because for an unknown model vendors state the model in the message.
        message += "; is the base_url right? Most end in /v1"
    kind = FatalEndpointError if reason in FATAL else EndpointError
    return kind(message, reason=reason, status=status, retry_after=parse_retry_after(headers), most=most)


def _find_upper_limit(text: str) -> int | None:
    """Return the first upper limit in a text, or None."""
    match = UPPER_LIMIT.search(text)
    return int(next(group for group in match.groups() if group)) if match else None


def _find_reason(status: int, codes: list[str]) -> str:
    """Return the reason of an HTTP error from its codes, else from its status."""
    if any(code in QUOTA for code in codes):
        return "quota"
    if any(code in UNKNOWN_MODEL for code in codes):
        return "not_found"
    if status in REASONS:
        return REASONS[status]
    return "not_found" if status < 400 else "bad_request" if status < 500 else "server"


def build_connection_error(error: Exception, base_url: str, seconds: float, *, key: str = "") -> EndpointError:
    """Return the error of a request whose response is missing, cut or too late, such as after a reset connection."""
    import aiohttp

    base_url = mask_address(base_url)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return EndpointError(f"no connection to {base_url} in time", reason="connection")
    if isinstance(error, asyncio.TimeoutError):
        return EndpointError(f"no whole reply within {seconds:g} s", reason="timeout")
    if isinstance(error, aiohttp.ClientOSError | aiohttp.ServerDisconnectedError | ConnectionError):
        why = shorten(_describe_cause(error), key)
        return EndpointError(f"no connection to {base_url}: {why}", reason="connection")
    return EndpointError(f"the reply broke off or is not HTTP: {shorten(str(error), key)}", reason="malformed")


def _describe_cause(error: Exception) -> str:
    """Return a short phrase that says why a connection failed."""
    os_error = getattr(error, "os_error", None)
    if isinstance(os_error, OSError) and os_error.strerror:
        # asyncio joins the errors of all addresses: "[Errno 111] Connect call failed ('127.0.0.1', 1)".
        return "connection refused" if os_error.errno == errno.ECONNREFUSED else os_error.strerror
    if type(error).__name__ == "ServerDisconnectedError":
        return "it closed the connection without an answer"
    return str(error) or type(error).__name__


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, from `retry-after-ms` or `Retry-After` (seconds or a date); None if there are none.

    A date is compared with the `Date` of the same response, because the clock of this machine may differ; without one
    it is not used.

    >>> parse_retry_after({"Retry-After": "1.5"})
    1.5
    """
    try:
        if "retry-after-ms" in headers:
            wait = float(headers["retry-after-ms"]) / 1000
        elif "Retry-After" not in headers:
            return None
        elif re.fullmatch(r"\s*\d+(\.\d*)?\s*", headers["Retry-After"]):
            wait = float(headers["Retry-After"])
        else:
            wait = _parse_date(headers["Retry-After"]) - _parse_date(headers["Date"])
    except (KeyError, ValueError, OverflowError):
        return None
    return max(wait, 0.0) if math.isfinite(wait) else None


def _parse_date(text: str) -> float:
    """Return the seconds since the epoch of a date in a header."""
    return email.utils.parsedate_to_datetime(text).timestamp()


def shorten(text: str, key: str = "", most: int = 300) -> str:
    """Return a text of an endpoint on one line, with the key and the user and password of a proxy redacted.

    >>> shorten("wrong key:   sk-0123456789", "sk-0123456789")
    'wrong key: ***'
    """
    text = redact(text, key)
    text = re.sub(r"//[^/@\s]{1,300}@", "//***@", text)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= most else text[: most - 3] + "..."


def _parse_error_body(body: bytes | bytearray) -> tuple[str, list[str]]:
    """Return the text of an error (from `error`, `detail` or `message`, or else the whole body) and its codes."""
    plain = body.decode("utf-8", "replace")
    try:
        value = json.loads(plain)
    except (ValueError, RecursionError):
        return plain, []
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return plain, []
    inner = value.get("error")
    codes: list[str] = []
    for level in (inner, value):
        if isinstance(level, dict):
            codes += [str(level[k]) for k in ("code", "type", "param", "status") if level.get(k) is not None]
    inside = inner.get("message") if isinstance(inner, dict) else inner
    for text in (inside, value.get("detail"), value.get("message")):
        if text:
            # Add the name of the parameter to the message, as in {"message": "invalid value", "param": "n"}.
            message = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
            return (f"{message} (n)" if "n" in codes else message), codes
    return plain, codes
