"""The body of a chat completion to a `Reply`, whatever is in it: memory stays within a few times the body's own size.

A hostile body of 64 MB holds 20 million empty choices, each of which would cost a struct of 60 bytes. So lists are
read as structs with a fixed number of places, what is not needed is skipped by the parser, and nothing is handed to
`json`, which would build it all.
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
from howsure.models.failures import LARGEST_ERROR, refusal, shorten
from howsure.models.model import Choice, Reply

__all__ = ["blanked", "counted", "decoded", "filled", "ident", "named", "places", "reply_of"]

#: Parts that the text of one choice may come in.
PARTS = 64
ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
#: Characters of a model's name, a fingerprint or a reason that are kept.
LONGEST_NAME = 200
#: Bytes of a body that is mended, at most: it takes 50 ns for each.
MENDED = 8 << 20
#: Half of a surrogate pair, written as an escape: JSON allows it, Unicode does not.
HALF_CHARACTER = re.compile(
    rb"(?<!\\)((?:\\\\)*)(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)


class _Part(msgspec.Struct):
    text: str | None = None


def places(kind: type, most: int, *, whole: bool = False) -> type:
    """A list of at most so many of a kind; what is beyond them is skipped, or where `whole` is wanted an error.

    `filled` gives what came.
    """
    fields = [(f"place{i}", kind | msgspec.UnsetType, msgspec.UNSET) for i in range(most)]
    return msgspec.defstruct("_Places", fields, array_like=True, forbid_unknown_fields=whole)


def filled(list_: Any) -> list[Any]:
    """What came of a list of `places`; nothing where there was no list."""
    return [] if list_ is None else [one for one in msgspec.structs.astuple(list_) if one is not msgspec.UNSET]


_Parts = places(_Part, PARTS, whole=True)


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
def _decoder(most: int) -> Callable[[bytes | bytearray], Any]:
    """Decoder of a body of which so many choices are kept."""
    choices = places(_Choice, most)
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


def reply_of(body: bytes | bytearray, n: int, *, key: str = "") -> Reply:
    """Read the body of an answer with status 200 to a request for `n` generations.

    Of surplus choices at least `3 n` are counted, the others skipped.

    Raises
    ------
    EndpointError
        When it is no completion: malformed, empty, or an error in disguise.
    """
    told = decoded(body, _decoder(4 << n.bit_length()), key)
    if told.choices is None and bytes(told.error) != b"null":
        # Some gateways answer 200 and put what went wrong into the body.
        raise refusal(200, {}, b'{"error":' + bytes(told.error)[:LARGEST_ERROR] + b"}", n=n, key=key)
    if told.choices is None:
        raise EndpointError("the reply has no choices field", reason="malformed", status=200)
    choices = filled(told.choices)
    if not choices:
        raise EndpointError("the list of choices is empty", reason="empty", status=200)
    usage = counted(told.usage, _decode_usage) or _Usage()
    return Reply(
        choices=tuple([_choice(choice, key) for choice in choices[:n]]),
        request=ident(told.id, key),
        model=named(told.model, key),
        fingerprint=named(told.system_fingerprint, key),
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        surplus=max(0, len(choices) - n),
    )


def blanked(text: str, key: str) -> str:
    """A text without the key, which JSON can write in more ways than one."""
    return text.replace(key, "***") if key and key in text else text


def named(name: str | None, key: str) -> str | None:
    """A model's name, a fingerprint or a reason: cut, and without the key."""
    return None if name is None else blanked(name, key)[:LONGEST_NAME]


def ident(told: str | None, key: str) -> str:
    """The id of a reply; one of our own where it has none, or no reasonable one."""
    return blanked(told, key) if told and len(told) <= LONGEST_NAME else uuid.uuid4().hex


def _choice(choice: _Choice, key: str) -> Choice:
    message = choice.message
    if message is None:
        return Choice(None, named(choice.finish_reason, key))
    text: Any = message.content
    if text is not None and not isinstance(text, str):
        text = "".join(part.text or "" for part in filled(text))
    if text is None and message.refusal:
        # The model declined in a field of its own: that is its completion.
        return Choice(blanked(message.refusal, key), "refusal")
    return Choice(None if text is None else blanked(text, key), named(choice.finish_reason, key))


def counted(raw: msgspec.Raw, decode: Callable[[msgspec.Raw], Any]) -> Any:
    """Tokens, each None where it is no count, or all where they cannot be read: that loses nothing generated."""
    try:
        told = decode(raw)
    except msgspec.MsgspecError:
        return None
    if told is None:
        return None
    counts = msgspec.structs.astuple(told)
    return type(told)(*[count if count is not None and 0 <= count < 2**53 else None for count in counts])


def decoded(body: bytes | bytearray, decode: Callable[[bytes | bytearray], Any], key: str) -> Any:
    """What `decode` makes of a body. `EndpointError` where it is not JSON, or not of the expected shape."""
    try:
        return decode(body)
    except msgspec.ValidationError:
        why = "is not of the expected shape"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        why = "is not whole JSON"
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            # Half a character, in bytes or as an escape, is no reason to lose a generation.
            if len(body) <= MENDED:
                return decode(HALF_CHARACTER.sub(rb"\1\\ufffd", body.decode("utf-8", "replace").encode()))
    start = body[:1000].decode("utf-8", "replace").replace("\\/", "/")
    shown = shorten(ESCAPE.sub(lambda found: chr(int(found[1], 16)), start), key, 80)
    raise EndpointError(f"the reply {why}: {shown!r}", reason="malformed", status=200)
