"""Parse the body of a chat completion into a `Reply`, with memory bounded by a few times the size of the body.

A hostile body of 64 MB can hold 20 million empty choices, each of which would cost a struct of 60 bytes. So lists are
decoded as structs with a fixed number of fields, the decoder skips what is not needed, and nothing is passed to `json`,
which would build all of it.
"""

from __future__ import annotations

import contextlib
import functools
import re
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from howsure.errors import EndpointError
from howsure.models.failures import LARGEST_ERROR, build_http_error, shorten
from howsure.models.model import Choice, Reply

__all__ = [
    "bounded_list",
    "build_error_in_body",
    "clean_id",
    "clean_name",
    "decode_body",
    "decode_usage",
    "list_items",
    "parse_reply",
    "redact",
]

#: Parts that the text of one choice may consist of.
PARTS = 64
ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
#: Characters of a model's name, a fingerprint or a finish reason that are kept.
LONGEST_NAME = 200
#: Bytes up to which the characters of a body are repaired, which takes 50 ns for each.
LARGEST_REPAIRED = 8 << 20
#: Half of a surrogate pair, written as an escape: JSON allows it, Unicode does not.
HALF_CHARACTER = re.compile(
    rb"(?<!\\)((?:\\\\)*)(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)


class _Part(msgspec.Struct):
    text: str | None = None


def bounded_list(kind: type, most: int, *, strict: bool = False) -> type:
    """Return the type of a list of at most `most` items; further items are skipped, or an error if `strict`.

    `list_items` returns the items of a decoded list.
    """
    fields = [(f"place{i}", kind | msgspec.UnsetType, msgspec.UNSET) for i in range(most)]
    return msgspec.defstruct("_BoundedList", fields, array_like=True, forbid_unknown_fields=strict)


def list_items(struct: Any) -> list[Any]:
    """Return the items of a decoded `bounded_list`; none where there was no list."""
    return [] if struct is None else [item for item in msgspec.structs.astuple(struct) if item is not msgspec.UNSET]


_Parts = bounded_list(_Part, PARTS, strict=True)


class _Message(msgspec.Struct):
    content: str | _Parts | None = None  # type: ignore[valid-type]  # mypy cannot see that it is a class
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@functools.cache
def _body_decoder(most: int) -> Callable[[bytes | bytearray], Any]:
    """Return the decoder of a body of which at most `most` choices are kept."""
    choices = bounded_list(_Choice, most)
    body = msgspec.defstruct(
        "_Body",
        [
            ("choices", choices | None, None),
            ("id", str | None, None),
            ("model", str | None, None),
            ("system_fingerprint", str | None, None),
            ("usage", msgspec.Raw, msgspec.Raw(b"null")),
            ("error", msgspec.Raw, msgspec.Raw(b"null")),
        ],
    )
    return msgspec.json.Decoder(body).decode


_decode_usage = msgspec.json.Decoder(_Usage | None).decode


def parse_reply(body: bytes | bytearray, n: int, *, key: str = "") -> Reply:
    """Parse the body of a response with status 200 to a request for `n` generations.

    Of surplus choices at least `3 n` are counted, the others skipped.

    Raises
    ------
    EndpointError
        When it is no completion: malformed, empty, or an error sent with status 200.
    """
    completion = decode_body(body, _body_decoder(4 << n.bit_length()), key)
    if completion.choices is None and bytes(completion.error) != b"null":
        raise build_error_in_body(completion.error, n, key)
    if completion.choices is None:
        raise EndpointError("the reply has no choices field", reason="malformed", status=200)
    choices = list_items(completion.choices)
    if not choices:
        raise EndpointError("the list of choices is empty", reason="empty", status=200)
    usage = decode_usage(completion.usage, _decode_usage) or _Usage()
    return Reply(
        choices=tuple([_parse_choice(choice, key) for choice in choices[:n]]),
        request=clean_id(completion.id, key),
        model=clean_name(completion.model, key),
        fingerprint=clean_name(completion.system_fingerprint, key),
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        surplus=max(0, len(choices) - n),
    )


def build_error_in_body(error: msgspec.Raw, n: int, key: str) -> EndpointError:
    """Return the error that a gateway has put into the body of a response with status 200."""
    return build_http_error(200, {}, b'{"error":' + bytes(error)[:LARGEST_ERROR] + b"}", n=n, key=key)


def redact(text: str, key: str) -> str:
    """Return a decoded text without the key: JSON can write the key in more ways than one."""
    return text.replace(key, "***") if key and key in text else text


def clean_name(name: str | None, key: str) -> str | None:
    """Return a model's name, a fingerprint or a finish reason, cut and without the key."""
    return None if name is None else redact(name, key)[:LONGEST_NAME]


def clean_id(reply_id: str | None, key: str) -> str:
    """Return the id of a reply, or a random one where it has none of reasonable length."""
    return redact(reply_id, key) if reply_id and len(reply_id) <= LONGEST_NAME else uuid.uuid4().hex


def _parse_choice(choice: _Choice, key: str) -> Choice:
    """Return one choice with its text, or the text in which the model refused."""
    message = choice.message
    if message is None:
        return Choice(None, clean_name(choice.finish_reason, key))
    text: Any = message.content
    if text is not None and not isinstance(text, str):
        text = "".join(part.text or "" for part in list_items(text))
    if text is None and message.refusal:
        # The model refused in a field of its own: that is its completion.
        return Choice(redact(message.refusal, key), "refusal")
    return Choice(None if text is None else redact(text, key), clean_name(choice.finish_reason, key))


def decode_usage(raw: msgspec.Raw, decode: Callable[[msgspec.Raw], Any]) -> Any:
    """Return token counts, None where a value is no count; None for all if they cannot be decoded.

    An unreadable usage is no reason to lose the generations.
    """
    try:
        usage = decode(raw)
    except msgspec.MsgspecError:
        return None
    if usage is None:
        return None
    counts = msgspec.structs.astuple(usage)
    return type(usage)(*[count if count is not None and 0 <= count < 2**53 else None for count in counts])


def decode_body(body: bytes | bytearray, decode: Callable[[bytes | bytearray], Any], key: str) -> Any:
    """Decode a body; raise EndpointError where it is not JSON or not of the expected shape."""
    try:
        return decode(body)
    except msgspec.ValidationError:
        why = "is not of the expected shape"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        why = "is not whole JSON"
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            # Half a character, in bytes or as an escape, is no reason to lose a generation.
            if len(body) <= LARGEST_REPAIRED:
                return decode(HALF_CHARACTER.sub(rb"\1\\ufffd", body.decode("utf-8", "replace").encode()))
    start = body[:1000].decode("utf-8", "replace").replace("\\/", "/")
    excerpt = shorten(ESCAPE.sub(lambda match: chr(int(match[1], 16)), start), key, 80)
    raise EndpointError(f"the reply {why}: {excerpt!r}", reason="malformed", status=200)
