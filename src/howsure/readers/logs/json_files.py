"""JSON files of logs: whole, or a record per line with what is torn told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import Note
from howsure.readers.logs.file_head import open_file

__all__ = ["read_json", "read_json_array", "read_json_lines", "replace_nan"]

T = TypeVar("T")
_SHOWN = 120
#: What Python writes for floats that JSON has no word for, outside of texts.
_NO_JSON = re.compile(rb'"(?:[^"\\]|\\.)*+"|-?\b(?:NaN|Infinity)\b')


def read_json_lines(path: Path, shape: type[T], tell: Note) -> Iterator[T]:
    """Each line's record; lines that are no such record are left out and told, with the first one's fault.

    Raises
    ------
    InputError
        When there is no record at all, or the file cannot be read to its end.
    """
    decoder = msgspec.json.Decoder(shape)
    good, bad, first = 0, 0, ""
    try:
        with open_file(path) as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    record = _decoded(decoder, line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    bad += 1
                    first = first or f"line {number}: {str(error)[:_SHOWN]}"
                    continue
                good += 1
                yield record
    except (OSError, EOFError) as error:
        if not good:
            raise _unreadable(path, error) from error
        tell(f"it breaks off after {good} records ({str(error)[:_SHOWN]}): the rest is lost")
    if not good:
        what = f"no record can be read; {first}" if bad else "the file is empty"
        raise InputError(what, where=str(path), remedy="is the file whole?")
    if bad:
        tell(f"{bad} of {good + bad} lines cannot be read and are left out; {first}")


def read_json(path: Path, shape: type[T]) -> T:
    """The file's one JSON value."""
    try:
        with open_file(path) as file:
            return _decoded(msgspec.json.Decoder(shape), file.read())
    except (OSError, EOFError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(path, error) from error


def _decoded(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """The value; NaN and Infinity, which Python's json writes as they are, become null: no number is there."""
    try:
        return decoder.decode(data)
    except msgspec.DecodeError:
        mended = replace_nan(data)
        if mended is data:
            raise
        return decoder.decode(mended)


def replace_nan(data: bytes) -> bytes:
    """The same JSON with null for NaN and Infinity; the very same object where it has neither.

    >>> replace_nan(b'{"value": NaN, "why": "NaN"}')
    b'{"value": null, "why": "NaN"}'
    """
    if b"NaN" not in data and b"Infinity" not in data:
        return data
    return _NO_JSON.sub(lambda found: found[0] if found[0][:1] == b'"' else b"null", data)


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(
        f"cannot be read: {' '.join(str(error).split())[:_SHOWN]}", where=str(path), remedy="is the file whole?"
    )


_CHUNK = 1 << 20


def read_json_array(path: Path, shape: type[T], tell: Note, *, under: str = "") -> Iterator[T]:
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


def _parts(path: Path, indent: bytes, under: str, tell: Note) -> Iterator[bytes | dict[str, Any]]:
    start, end = b"[\n" + indent + b"{", b"\n" + indent + b"}"
    if under:
        start = b'"' + under.encode() + b'": ' + start
    try:
        with open_file(path) as file:
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
    found = read_json(path, dict[str, Any] if under else list[dict[str, Any]])
    records = found.get(under) if isinstance(found, dict) else found
    if not isinstance(records, list):
        raise InputError(f"there is no list of {under!r}", where=str(path), remedy="is the file whole?")
    return [record if isinstance(record, dict) else {} for record in records]
