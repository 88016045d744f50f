"""Elements of a large array in a JSON file that was written with indentation: one at a time, in flat memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.head import opened
from howsure.readers.logs.row import Tell
from howsure.readers.logs.text import whole

__all__ = ["elements"]

T = TypeVar("T")
_CHUNK = 1 << 20


def elements(path: Path, shape: type[T], tell: Tell, *, under: str = "") -> Iterator[T]:
    """Each element of the file's array, or of the array under a key; what cannot be read is left out and told.

    The file was written with an indentation of two. No JSON text holds a bare line break, so a line that closes an
    element can be found without reading what is in it. Written otherwise, the file is read as a whole.

    Raises
    ------
    InputError
        When there is no element that can be read.
    """
    indent = b"    " if under else b"  "
    decoder = msgspec.json.Decoder(shape)
    good, bad, first = 0, 0, ""
    for part in _parts(path, indent, under, tell):
        try:
            record = msgspec.convert(part, shape) if isinstance(part, dict) else decoder.decode(part)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            bad, first = bad + 1, first or " ".join(str(error).split())[:120]
            continue
        good += 1
        yield record
    if not good:
        raise InputError(f"no record can be read; {first or 'there is none'}", where=str(path), remedy="is it whole?")
    if bad:
        tell(f"{path.name}: {bad} places cannot be read, and the records there are left out; {first}")


def _parts(path: Path, indent: bytes, under: str, tell: Tell) -> Iterator[bytes | dict[str, Any]]:
    start, end = b"[\n" + indent + b"{", b"\n" + indent + b"}"
    if under:
        start = b'"' + under.encode() + b'": ' + start
    try:
        with opened(path) as file:
            rest = file.read(_CHUNK)
            at = rest.find(start)
            if at < 0:
                yield from _all(path, under)
                return
            rest = rest[at + len(start) - len(indent) - 1 :]
            while chunk := file.read(_CHUNK):
                *parts, rest = (rest + chunk).split(end + b",\n")
                yield from (part + end for part in parts)
    except (OSError, EOFError) as error:
        tell(f"{path.name} breaks off ({str(error)[:80]}): the rest is lost")
    *parts, rest = rest.split(end + b",\n")
    yield from (part + end for part in parts)
    last, closed, _ = rest.rpartition(end)
    yield last + end if closed else rest


def _all(path: Path, under: str) -> list[dict[str, Any]]:
    found = whole(path, dict[str, Any] if under else list[dict[str, Any]])
    records = found.get(under) if isinstance(found, dict) else found
    if not isinstance(records, list):
        raise InputError(f"there is no list of {under!r}", where=str(path), remedy="is the file whole?")
    return [record if isinstance(record, dict) else {} for record in records]
