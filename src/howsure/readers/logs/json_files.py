"""Read the JSON files of logs: one value, a record per line, or the records of a large array one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import Note
from howsure.readers.logs.file_head import open_file

__all__ = ["DECODE_ERRORS", "decode_json", "read_json", "read_json_array", "read_json_lines", "replace_nan"]

T = TypeVar("T")
#: Errors that msgspec raises for damaged JSON; it raises RecursionError for JSON that is nested too deeply.
DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
#: Largest number of characters of an error's message in an `InputError` or a note.
_MESSAGE_LENGTH = 120
_CHUNK = 1 << 20
_REMEDY = "is the file complete?"
#: Words that Python writes, outside of texts, for floats that do not exist in JSON.
_NO_JSON = re.compile(rb'"(?:[^"\\]|\\.)*+"|-?\b(?:NaN|Infinity)\b')


def read_json(path: Path, shape: type[T]) -> T:
    """Return the one JSON value of a file.

    Raises
    ------
    InputError
        When the file cannot be read, or its value has another shape.
    """
    try:
        with open_file(path) as file:
            return _decode(msgspec.json.Decoder(shape), file.read())
    except (OSError, EOFError, *DECODE_ERRORS) as error:
        raise _unreadable(path, error) from error


def read_json_lines(path: Path, shape: type[T], note: Note) -> Iterator[T]:
    """Yield the record of each line; lines without such a record are left out and counted in a note.

    Raises
    ------
    InputError
        When there is no record at all.
    """
    decoder = msgspec.json.Decoder(shape)
    good, bad, first = 0, 0, ""
    try:
        with open_file(path) as file:
            for number, line in enumerate(file, 1):
                if line.isspace():
                    continue
                try:
                    record = _decode(decoder, line)
                except DECODE_ERRORS as error:
                    bad += 1
                    first = first or f"line {number}: {str(error)[:_MESSAGE_LENGTH]}"
                    continue
                good += 1
                yield record
    except (OSError, EOFError) as error:
        if not good:
            raise _unreadable(path, error) from error
        note(f"{path.name} breaks off after {good} records ({str(error)[:_MESSAGE_LENGTH]}): the rest is lost")
    if not good:
        what = f"no record can be read; {first}" if bad else "the file is empty"
        raise InputError(what, where=str(path), remedy=_REMEDY)
    if bad:
        note(f"{bad} of {good + bad} lines cannot be read and are left out; {first}")


def read_json_array(path: Path, shape: type[T], note: Note, *, under: str = "") -> Iterator[T]:
    """Yield each element of the array of a file, in constant memory; those that cannot be read are left out.

    The file was written with an indentation of two. No JSON text contains a bare line break, so the line that closes
    an element is found without parsing the element. A file that was written in another way is read as one value.

    Parameters
    ----------
    path
        The file.
    shape
        The type of an element.
    note
        Function that is called with a line about records that could not be read.
    under
        The key of the array; empty where the file is the array.

    Raises
    ------
    InputError
        When there is no element that can be read.
    """
    decoder = msgspec.json.Decoder(shape)
    good, bad, first = 0, 0, ""
    for part in _split_array(path, b"    " if under else b"  ", under, note):
        try:
            record = msgspec.convert(part, shape) if isinstance(part, dict) else decoder.decode(part)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            bad, first = bad + 1, first or " ".join(str(error).split())[:_MESSAGE_LENGTH]
            continue
        good += 1
        yield record
    if not good:
        what = f"no record can be read; {first or 'there is none'}"
        raise InputError(what, where=str(path), remedy=_REMEDY)
    if bad:
        note(f"{path.name}: {bad} parts cannot be read, and the records there are left out; {first}")


def _split_array(path: Path, indent: bytes, under: str, note: Note) -> Iterator[bytes | dict[str, Any]]:
    """Yield the text of each element, or the elements themselves where the file has another indentation."""
    start, end = b"[\n" + indent + b"{", b"\n" + indent + b"}"
    if under:
        start = b'"' + under.encode() + b'": ' + start
    try:
        with open_file(path) as file:
            rest = file.read(_CHUNK)
            at = rest.find(start)
            if at < 0:
                yield from _read_array(path, under)
                return
            rest = rest[at + len(start) - len(indent) - 1 :]
            while chunk := file.read(_CHUNK):
                *parts, rest = (rest + chunk).split(end + b",\n")
                yield from (part + end for part in parts)
    except (OSError, EOFError) as error:
        note(f"{path.name} breaks off ({str(error)[:80]}): the rest is lost")
    *parts, rest = rest.split(end + b",\n")
    yield from (part + end for part in parts)
    last, closed, _ = rest.rpartition(end)
    yield last + end if closed else rest


def _read_array(path: Path, under: str) -> list[dict[str, Any]]:
    """Return the array of a file that is read as one value; elements that are no objects become empty ones."""
    value = read_json(path, dict[str, Any] if under else list[dict[str, Any]])
    records = value.get(under) if isinstance(value, dict) else value
    if not isinstance(records, list):
        raise InputError(f"there is no list of {under!r}", where=str(path), remedy=_REMEDY)
    return [record if isinstance(record, dict) else {} for record in records]


def _decode(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """Return the value, with null for NaN and Infinity, which Python's json module writes as they are."""
    try:
        return decoder.decode(data)
    except msgspec.DecodeError:
        repaired = replace_nan(data)
        if repaired is data:
            raise
        return decoder.decode(repaired)


def decode_json(data: bytes | msgspec.Raw | None) -> object:
    """Return a JSON value; None where there is none, or it cannot be read."""
    try:
        return msgspec.json.decode(data) if data else None
    except DECODE_ERRORS:
        return None


def replace_nan(data: bytes) -> bytes:
    """Return JSON with null for NaN and Infinity; the same object if it contains neither.

    >>> replace_nan(b'{"value": NaN, "why": "NaN"}')
    b'{"value": null, "why": "NaN"}'
    """
    if b"NaN" not in data and b"Infinity" not in data:
        return data
    return _NO_JSON.sub(lambda match: match[0] if match[0][:1] == b'"' else b"null", data)


def _unreadable(path: Path, error: Exception) -> InputError:
    """Return the `InputError` for a file that cannot be read."""
    return InputError(
        f"cannot be read: {' '.join(str(error).split())[:_MESSAGE_LENGTH]}", where=str(path), remedy=_REMEDY
    )
