"""Read the rows of a csv, jsonl or Parquet file one by one, each with its place in the file.

Benchmarks are read with this: an error names the line, and a csv cell stays the text that is written ("007"). Results
of many rows are read by `table_files`, with the column types that DuckDB finds.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from howsure.errors import InputError

__all__ = ["PlacedRow", "read_rows"]

PlacedRow = tuple[str, dict[str, object]]
"""Place ("line 3") and fields of a row."""


def read_rows(path: Path, content: bytes, *, where: str, what: str) -> Iterator[PlacedRow]:
    """Return the rows of a file by its suffix: .jsonl, .csv or .parquet.

    Parameters
    ----------
    path
        The file, for its suffix.
    content
        Bytes of the file.
    where
        Name of the file in errors.
    what
        Name of the kind of file in errors, such as "benchmark".

    Raises
    ------
    InputError
        When the suffix is another one, or, while rows are read, when the file is not of its type.
    """
    if path.suffix not in _READERS:
        remedy = "give " + ", ".join(_READERS)
        raise InputError(f"{what} in an unknown format {path.suffix!r}", where=where, remedy=remedy)
    return _READERS[path.suffix](content, where)


def _decode(content: bytes, file: str) -> str:
    """Return the text of a file in UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = content.count(b"\n", 0, e.start) + 1
        raise InputError("not UTF-8 text", where=f"{file}, line {line}", remedy="save it as UTF-8") from None


def _read_jsonl(content: bytes, file: str) -> Iterator[PlacedRow]:
    """Yield the objects of JSON lines."""
    for number, line in enumerate(_decode(content, file).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as e:
            why = f"{e.msg}, column {e.colno}" if isinstance(e, json.JSONDecodeError) else str(e)
            raise InputError(f"not JSON: {why}", where=where, remedy="correct or remove the line") from None
        if not isinstance(row, dict):
            raise InputError("not a JSON object", where=where, remedy='each line is {"field": value, ...}')
        yield f"line {number}", row


def _read_csv(content: bytes, file: str) -> Iterator[PlacedRow]:
    """Yield the rows of a csv file, whose first row is the header."""
    reader = csv.reader(io.StringIO(_decode(content, file), newline=""), strict=True)
    header: list[str] = []
    try:
        for values in reader:
            place = f"line {reader.line_num}"
            if not values:
                continue
            if not header:
                header = values
            elif len(values) != len(header):
                what = f"{len(values)} fields where the header has {len(header)}"
                raise InputError(what, where=f"{file}, {place}", remedy="quote fields that hold commas or line breaks")
            else:
                yield place, dict(zip(header, values, strict=True))
    except csv.Error as e:
        raise InputError(f"not CSV: {e}", where=f"{file}, line {reader.line_num}", remedy="correct the line") from None


def _read_parquet(content: bytes, file: str) -> Iterator[PlacedRow]:
    """Yield the rows of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as e:
        why = str(e).splitlines()[0] if str(e) else type(e).__name__
        raise InputError(f"not a whole parquet file: {why}", where=file, remedy="write or download it again") from None
    yield from ((f"row {number}", row) for number, row in enumerate(table.to_pylist(), start=1))


_READERS: dict[str, Callable[[bytes, str], Iterator[PlacedRow]]] = {
    ".jsonl": _read_jsonl,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}
