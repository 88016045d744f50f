"""JSON files of logs: whole, or a record per line with what is torn told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.head import opened
from howsure.readers.logs.row import Tell

__all__ = ["json_lines", "whole", "without_nan"]

T = TypeVar("T")
_SHOWN = 120
#: What Python writes for floats that JSON has no word for, outside of texts.
_NO_JSON = re.compile(rb'"(?:[^"\\]|\\.)*+"|-?\b(?:NaN|Infinity)\b')


def json_lines(path: Path, shape: type[T], tell: Tell) -> Iterator[T]:
    """Each line's record; lines that are no such record are left out and told, with the first one's fault.

    Raises
    ------
    InputError
        When there is no record at all, or the file cannot be read to its end.
    """
    decoder = msgspec.json.Decoder(shape)
    good, bad, first = 0, 0, ""
    try:
        with opened(path) as file:
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


def whole(path: Path, shape: type[T]) -> T:
    """The file's one JSON value."""
    try:
        with opened(path) as file:
            return _decoded(msgspec.json.Decoder(shape), file.read())
    except (OSError, EOFError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(path, error) from error


def _decoded(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """The value; NaN and Infinity, which Python's json writes as they are, become null: no number is there."""
    try:
        return decoder.decode(data)
    except msgspec.DecodeError:
        mended = without_nan(data)
        if mended is data:
            raise
        return decoder.decode(mended)


def without_nan(data: bytes) -> bytes:
    """The same JSON with null for NaN and Infinity; the very same object where it has neither.

    >>> without_nan(b'{"value": NaN, "why": "NaN"}')
    b'{"value": null, "why": "NaN"}'
    """
    if b"NaN" not in data and b"Infinity" not in data:
        return data
    return _NO_JSON.sub(lambda found: found[0] if found[0][:1] == b'"' else b"null", data)


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(
        f"cannot be read: {' '.join(str(error).split())[:_SHOWN]}", where=str(path), remedy="is the file whole?"
    )
