"""The lines of a batch's files: a request as it is asked for, and what a line of results says of it."""

from __future__ import annotations

import msgspec

from howsure.errors import EndpointError
from howsure.models.failures import refusal
from howsure.models.model import Reply, Request
from howsure.models.reply import reply_of

__all__ = ["Line", "asked", "read", "reply"]


class _Answer(msgspec.Struct):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Trouble(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class Line(msgspec.Struct):
    """A line of results."""

    custom_id: str
    response: _Answer | None = None
    error: _Trouble | None = None


_decode = msgspec.json.Decoder(Line).decode


def asked(custom_id: str, model: str, request: Request) -> bytes:
    """The line that asks for `len(request.generations)` generations of a model."""
    settings = request.settings
    body: dict[str, object] = {"model": model, "messages": request.messages}
    for field in ("temperature", "top_p", "max_tokens", "stop"):
        if (value := getattr(settings, field)) is not None:
            body[field] = value
    if len(request.generations) > 1:
        body["n"] = len(request.generations)
    line = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body | settings.extra}
    return msgspec.json.encode(line) + b"\n"


def read(line: bytes) -> Line | None:
    """A line of results, or None where it cannot be read."""
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def reply(told: Line, n: int) -> Reply:
    """The reply in a line of results to a request for n generations. EndpointError when there is none."""
    if told.response is None or not told.response.status_code:
        trouble = told.error or _Trouble("empty", "neither a response nor an error")
        raise EndpointError(trouble.message or "no message", reason=trouble.code or "empty")
    body = bytes(told.response.body)
    if told.response.status_code != 200:
        raise refusal(told.response.status_code, {}, body, n=n)
    return reply_of(body, n)
