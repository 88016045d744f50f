"""Recognise a file by its first bytes (a zip, Parquet, JSON with certain keys, a table), and read the files of logs.

JSON is read as one value, as a record per line, or as the records of a large array one at a time.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from howsure.errors import InputError
from howsure.rows.formats import open_unpacked

#: Number of bytes that are searched for the keys of a JSON object at first, and the largest number.
_FIRST, _MOST = 1 << 16, 1 << 23
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)
T = TypeVar("T")
#: Errors that msgspec raises for damaged JSON; it raises RecursionError for JSON that is nested too deeply.
DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
#: Largest number of characters of an error's message in an `InputError` or a note.
_MESSAGE_LENGTH = 120
_CHUNK = 1 << 20
_REMEDY = "is the file complete?"
#: Largest number of characters in a field of a table.
_FIELD_LENGTH = 1 << 28
#: Words that Python writes, outside of texts, for floats that do not exist in JSON.
_NO_JSON = re.compile(rb'"(?:[^"\\]|\\.)*+"|-?\b(?:NaN|Infinity)\b')


class AddNote(Protocol):
    """A function that takes a note, such as `RowBuilder.note`."""

    def __call__(self, code: str, n: int = 0, **facts: object) -> None:
        """Add a note."""


def ignore_note(code: str, n: int = 0, **facts: object) -> None:
    """Drop a note, which another reading of the file gives."""


def list_zip_members(path: Path) -> list[zipfile.ZipInfo]:
    """Return the members of a zip file by its table of contents; BadZipFile where that is damaged.

    Parsing the table is the slowest part of reading a log with 25,000 members, so the table of the last file is cached.
    """
    state = path.stat()
    return _list_members(path, state.st_size, state.st_mtime_ns, state.st_ino)


@lru_cache(maxsize=1)
def _list_members(path: Path, *_: int) -> list[zipfile.ZipInfo]:
    """Return the members; the other arguments are the state of the file, so that a changed file is read again."""
    try:
        with zipfile.ZipFile(path) as file:
            return file.infolist()
    # What zipfile raises besides BadZipFile for a damaged table: for a version of the format that it does not read, a
    # name that is not UTF-8 or an offset below 0, an extra field that is too short, and a table that ends early.
    except (NotImplementedError, ValueError, struct.error, EOFError) as error:
        raise zipfile.BadZipFile(str(error)) from error


class FileHead:
    """The kind and the keys of a file or folder, each read when it is first used.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.json")
    ...     _ = path.write_text('{"status": "success", "eval": {"task": "sums"}}')
    ...     head = FileHead(path)
    ...     print(head.kind, sorted(head.keys))
    json ['eval', 'status']
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def kind(self) -> str:
        """One of folder, empty, zip, parquet, json (an object, an array of them, or one per line) and text."""
        if self.path.is_dir():
            return "folder"
        start = self._start
        if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            return "zip"
        if start[:4] == b"PAR1":
            return "parquet"
        stripped = start.removeprefix(b"\xef\xbb\xbf").lstrip()
        if not stripped:
            return "empty"
        return "json" if stripped[:1] in b"{[" and _find_keys(stripped)[0] else "text"

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of the first JSON object, names of the members of a zip or folder, or of the columns of a table."""
        list_names = {
            "folder": self._list_children,
            "zip": self._list_members,
            "parquet": self._list_columns,
            "json": self._list_json_keys,
            "text": self._list_header,
        }.get(self.kind)
        return frozenset(list_names()) if list_names else frozenset()

    def has_text(self, text: str) -> bool:
        """Return whether a text is among the first bytes, in which JSON has no spaces."""
        return text.encode() in self._start.translate(None, b" \n\r\t")

    def _list_children(self) -> Iterable[str]:
        """Return the names in a folder."""
        return [child.name for child in self.path.iterdir()]

    def _list_members(self) -> Iterable[str]:
        """Return the names of the members of a zip; no names if its table of contents is damaged."""
        try:
            return [info.filename for info in list_zip_members(self.path)]
        except (zipfile.BadZipFile, OSError):
            return ()

    def _list_columns(self) -> Iterable[str]:
        """Return the names of the columns of a Parquet file; no names if the file is damaged."""
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return list(parquet.read_schema(self.path).names)
        except (pa.ArrowException, OSError, ValueError):
            return ()

    def _list_json_keys(self) -> Iterable[str]:
        """Return the keys of the first object; more bytes are read if the object is long."""
        names, is_closed = _find_keys(self._start)
        if not is_closed and len(self._start) == _FIRST:
            names, _ = _find_keys(self._read(_MOST))
        return names

    def _list_header(self) -> Iterable[str]:
        """Return the names of the columns of a comma-separated file."""
        try:
            return next(iter(csv.reader(io.StringIO(self._start.decode("utf-8-sig", errors="ignore")))), ())
        except csv.Error:
            return ()

    @cached_property
    def _start(self) -> bytes:
        """The first bytes of the file."""
        return self._read(_FIRST)

    def _read(self, most: int) -> bytes:
        """Return up to `most` first bytes of the file; no bytes if it cannot be read."""
        try:
            with open_unpacked(self.path) as file:
                return file.read(most)
        except (OSError, EOFError):
            return b""


def _find_keys(start: bytes) -> tuple[frozenset[str], bool]:
    """Return the keys of the first JSON object in these bytes, and whether its end is among them."""
    names: set[str] = set()
    depth, before = 0, b""
    object_depth = 0  # 1, or 2 if the first object is inside an array
    for match in _TOKEN.finditer(start):
        token = match[0]
        if token in (b"{", b"["):
            depth += 1
            if token == b"{" and not object_depth:
                object_depth = depth
        elif token in (b"}", b"]"):
            depth -= 1
            if object_depth and depth < object_depth:
                return frozenset(names), True
        elif token == b":" and depth == object_depth and before[:1] == b'"':
            names.add(before[1:-1].decode(errors="replace"))
        before = token
    return frozenset(names), False


def read_json(path: Path, shape: type[T]) -> T:
    """Return the one JSON value of a file; raise InputError where it cannot be read or has another shape."""
    try:
        with open_unpacked(path) as file:
            return _decode(msgspec.json.Decoder(shape), file.read())
    except (OSError, EOFError, *DECODE_ERRORS) as error:
        raise _unreadable(path, error) from error


def read_totals(files: Iterable[Path], keys: frozenset[str], shape: type[T]) -> Iterator[tuple[Path, T]]:
    """Yield each JSON object with these keys, such as the totals of a run, without those that cannot be read."""
    for file in files:
        head = FileHead(file)
        if ".jsonl" not in file.suffixes and head.kind == "json" and head.keys >= keys:
            with contextlib.suppress(InputError):
                yield file, read_json(file, shape)


def read_records(path: Path, shape: type[T], note: AddNote) -> Iterator[T]:
    """Yield the records of a list of JSON objects, or of lines with an object each."""
    try:
        with open_unpacked(path) as file:
            is_array = file.read(1) == b"["
    except (OSError, EOFError) as error:
        raise _unreadable(path, error) from error
    return read_json_array(path, shape, note) if is_array else read_json_lines(path, shape, note)


def read_json_lines(path: Path, shape: type[T], note: AddNote) -> Iterator[T]:
    """Yield the record of each line; lines without one are left out and noted, and an error where there is none."""
    return _decode_parts(path, shape, note, _list_lines(path))


def read_json_array(path: Path, shape: type[T], note: AddNote, *, under: str = "") -> Iterator[T]:
    """Yield each element of the array of a file, in constant memory; those that cannot be read are left out.

    The file was written with an indentation of two. No JSON text contains a bare line break, so the line that closes
    an element is found without parsing the element. A file that was written in another way is read as one value. The
    array is the file, or what it has under the key `under`.
    """
    return _decode_parts(path, shape, note, _split_array(path, b"    " if under else b"  ", under, note))


def _list_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the place and the text of each line that is not blank."""
    with open_unpacked(path) as file:
        yield from ((f"line {number}: ", line) for number, line in enumerate(file, 1) if not line.isspace())


def _decode_parts(
    path: Path, shape: type[T], note: AddNote, parts: Iterable[tuple[str, bytes | dict[str, Any]]]
) -> Iterator[T]:
    """Yield the record of each part, which has its place; raise InputError where none can be read."""
    decoder = msgspec.json.Decoder(shape)
    good, bad, first = 0, 0, ""
    try:
        for place, part in parts:
            try:
                record = msgspec.convert(part, shape) if isinstance(part, dict) else _decode(decoder, part)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                bad, first = bad + 1, first or f"{place}{_shorten(error)}"
                continue
            good += 1
            yield record
    except (OSError, EOFError) as error:
        if not good:
            raise _unreadable(path, error) from error
        note("log-breaks-off", good, file=path.name, why=_shorten(error))
    if not good:
        what = f"no record can be read; {first or 'there is none'}"
        raise InputError(what, where=str(path), remedy=_REMEDY)
    if bad:
        note("log-records-lost", bad, file=path.name, total=good + bad, example=first)


def _split_array(path: Path, indent: bytes, under: str, note: AddNote) -> Iterator[tuple[str, bytes | dict[str, Any]]]:
    """Yield the text of each element, or the elements themselves where the file has another indentation."""
    start, end = b"[\n" + indent + b"{", b"\n" + indent + b"}"
    if under:
        start = b'"' + under.encode() + b'": ' + start
    rest = b""
    try:
        with open_unpacked(path) as file:
            rest = file.read(_CHUNK)
            at = rest.find(start)
            if at < 0:
                yield from (("", record) for record in _read_array(path, under))
                return
            rest = rest[at + len(start) - len(indent) - 1 :]
            while chunk := file.read(_CHUNK):
                *parts, rest = (rest + chunk).split(end + b",\n")
                yield from (("", part + end) for part in parts)
    except (OSError, EOFError) as error:
        note("log-breaks-off", file=path.name, why=_shorten(error))
    *parts, rest = rest.split(end + b",\n")
    yield from (("", part + end) for part in parts)
    last, closed, after = rest.rpartition(end)
    yield "", last + end if closed else rest
    if closed and not after.lstrip().startswith(b"]"):
        note("log-breaks-off", file=path.name, why="behind a record")


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
    return InputError(f"cannot be read: {_shorten(error)}", where=str(path), remedy=_REMEDY)


def _shorten(error: Exception) -> str:
    """Return the beginning of the message of an error, on one line."""
    return " ".join(str(error).split())[:_MESSAGE_LENGTH]


def read_csv(path: Path, note: AddNote) -> list[dict[str, object]]:
    """Return the rows of a comma-separated file; a row that is cut short is left out and noted."""
    limit = csv.field_size_limit(_FIELD_LENGTH)
    try:
        with open_unpacked(path) as file:
            text = file.read().decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        names = next(reader, [])
        if len(set(names)) < len(names):
            again = next(name for name in names if names.count(name) > 1)
            raise InputError(f"two columns are called {again!r}", where=str(path), remedy="rename one of them")
        rows: list[dict[str, object]] = []
        for values in reader:
            if len(values) == len(names):
                rows.append({name: value or None for name, value in zip(names, values, strict=True)})
            elif values:
                note("log-left-out", 1, what=f"{len(names)} values")
    except (OSError, EOFError, csv.Error, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    finally:
        csv.field_size_limit(limit)
    return rows


def hash_file(path: Path) -> str:
    """Return a hash of the content of a file, or of the JSON files of a folder."""
    digest = hashlib.sha256()
    try:
        for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
            with open_unpacked(file) as stream:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
    except (OSError, EOFError) as error:
        raise _unreadable(path, error) from error
    return digest.hexdigest()[:16]
