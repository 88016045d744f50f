"""A table by its name - a file, a glob, an address - to rows that DuckDB can ask.

Parquet and JSON lines are read where they lie. A csv has its own parser, which refuses a line with another number of
fields than the header; one that is large goes through a temporary Parquet file, so that memory stays flat.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from howsure.errors import InputError, UnknownNameError
from howsure.tables.sql import quote_text

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["SUFFIXES", "file_format", "is_glob", "is_remote", "is_table", "name_table", "open_rows"]

SUFFIXES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".jsonl": "json", ".ndjson": "json"}

_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]+)://")
#: Schemes that a DuckDB extension of another name reads; all others are httpfs.
_EXTENSIONS = {"az": "azure", "azure": "azure", "abfss": "azure"}
#: Bytes of csv that are held in memory at once; a compressed file counts eightfold.
_IN_MEMORY = 1 << 28
#: Bytes that the csv parser takes at a time: no row is longer.
_BLOCK = 1 << 24
#: Characters of a header at most.
_MOST = 1 << 20
#: Types that JSON does not have: DuckDB takes a text for one where all of a column look alike, and ids change.
_GUESSED = re.compile("DATE|TIME|INTERVAL|UUID")


def is_table(path: Path) -> bool:
    """Whether a file's name says that it is a table."""
    return file_format(path.name) is not None


def is_remote(name: str) -> bool:
    """Whether a name is an address such as s3://bucket/rows.parquet, which DuckDB reads by an extension.

    >>> is_remote("hf://datasets/a/b/*.parquet"), is_remote("C:/rows.csv")
    (True, False)
    """
    return bool(_SCHEME.match(name))


def is_glob(name: str) -> bool:
    """Whether a name is a pattern of files, rather than a file that is called so.

    >>> is_glob("rows/*.parquet"), is_glob("rows/a.parquet")
    (True, False)
    """
    return any(mark in name for mark in "*?[") and not is_remote(name) and not Path(name).exists()


def name_table(name: str | Path) -> str:
    """What a table is called that does not say its benchmark: its file, or of several their folder.

    >>> name_table("logs/gsm8k.csv.gz"), name_table("logs/gsm8k/*.parquet"), name_table("https://host/gsm8k.csv?download=true")
    ('gsm8k', 'gsm8k', 'gsm8k')
    """
    text = str(name)
    whole = [part for part in _plain(text).split("/") if not any(mark in part for mark in "*?[=")]
    last = Path(whole[-1] if whole else "") if is_remote(text) or is_glob(text) else Path(text)
    return (last.name.split(".")[0] if last.suffix == ".gz" else last.stem) or "table"


def open_rows(connection: duckdb.DuckDBPyConnection, name: str | Path, scratch: Path) -> duckdb.DuckDBPyRelation:
    """The table as text columns (csv) or typed ones (parquet, jsonl).

    Parameters
    ----------
    name
        A file, a glob of files of one type, or an address.
    scratch
        A folder that outlives the rows, for what does not fit in memory.
    """
    text = str(name)
    if is_remote(text):
        _load(connection, text)
        kind, files = file_format(_plain(text)), [text]
    else:
        files = _matching(text) if is_glob(text) else [text]
        kinds = {file_format(one) for one in files}
        if len(kinds) > 1:
            remedy = "name one type, such as *.parquet"
            raise InputError(f"files of several types: {', '.join(sorted(map(str, kinds)))}", where=text, remedy=remedy)
        if not files:
            raise InputError("no table here", where=text, remedy=f"tables are {', '.join(SUFFIXES)}")
        kind = kinds.pop()
    if kind is None:
        raise UnknownNameError("file type", Path(_plain(text)).suffix, SUFFIXES, where=text)
    if kind == "parquet":
        # folders such as model=007 are columns of text, not of what they look like
        options = "union_by_name = true, hive_types_autocast = false"
        return connection.sql(f"FROM read_parquet({_listed(files)}, {options})")
    if kind == "json":
        return _json(connection, files)
    local = [_fetched(connection, one, scratch) for one in files] if is_remote(text) else [Path(one) for one in files]
    return _csv(connection, local, scratch)


def _matching(pattern: str) -> list[str]:
    every = glob(pattern, recursive=True)  # noqa: PTH207  # Path's takes no absolute pattern
    return sorted(one for one in every if file_format(one) and Path(one).is_file())


def _plain(name: str) -> str:
    """An address without its scheme and what is asked of it."""
    return _SCHEME.sub("", name).partition("?")[0] if is_remote(name) and "://" in name else name


def file_format(name: str) -> str | None:
    """csv, parquet or json, by the ending of a name; None where it says none of them."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if suffixes[-1:] == [".gz"] and SUFFIXES.get(suffixes[-2] if len(suffixes) > 1 else "") != "parquet":
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1] if suffixes else "")


def _load(connection: duckdb.DuckDBPyConnection, address: str) -> None:
    """The extension that reads an address, where the user has it: nothing is downloaded that was not asked for."""
    import duckdb

    match = _SCHEME.match(address)
    assert match
    extension = _EXTENSIONS.get(match[1].lower(), "httpfs")
    connection.execute("SET autoinstall_known_extensions = false")
    try:
        connection.execute(f"LOAD {extension}")
    except duckdb.Error as error:
        what = f"{match[1]}:// needs DuckDB's extension {extension}, which is not installed"
        remedy = f"install it once: python -c \"import duckdb; duckdb.sql('INSTALL {extension}')\""
        raise InputError(what, where=address, remedy=f"{remedy}, or download the files") from error


def _fetched(connection: duckdb.DuckDBPyConnection, address: str, scratch: Path) -> Path:
    """A copy of a text file that lies elsewhere."""
    found = connection.execute("SELECT filename, content FROM read_blob(?)", [address]).fetchall()
    if len(found) != 1:
        raise InputError(f"{len(found)} files", where=address, remedy="a csv is read one at a time from an address")
    copy = scratch / Path(_plain(found[0][0])).name
    copy.write_bytes(found[0][1])
    return copy


def _json(connection: duckdb.DuckDBPyConnection, files: Sequence[str]) -> duckdb.DuckDBPyRelation:
    """JSON lines; dates and the like stay the texts that they are."""
    import duckdb

    options = "format = 'newline_delimited', sample_size = -1, union_by_name = true, hive_types_autocast = false"
    source = f"FROM read_json({_listed(files)}, {options}"
    try:
        rows = connection.sql(f"{source})")
    except duckdb.InvalidInputException:
        _refuse_torn(files)
        raise
    kinds = {column: str(kind) for column, kind in zip(rows.columns, rows.types, strict=True)}
    if not any(map(_GUESSED.match, kinds.values())):
        return rows
    columns = ", ".join(
        f"{quote_text(column)}: {quote_text('VARCHAR' if _GUESSED.match(kind) else kind)}"
        for column, kind in kinds.items()
        if f"/{column}=" not in files[0]
    )
    return connection.sql(f"{source}, columns = {{{columns}}})")


def _refuse_torn(files: Sequence[str]) -> None:
    """Raise for the first line that is no JSON."""
    for name in files:
        if is_remote(name):
            continue
        with io.BufferedReader(_Bytes(Path(name))) as file:
            for number, line in enumerate(file, 1):
                try:
                    if line.strip():
                        msgspec.json.decode(line)
                except (msgspec.DecodeError, RecursionError) as error:
                    remedy = "fix the line or leave it out; the last one is torn where a program was stopped"
                    what = f"cannot be read: line {number} is no JSON ({error})"
                    raise InputError(what, where=name, remedy=remedy) from error


def _csv(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], scratch: Path) -> duckdb.DuckDBPyRelation:
    """Delimited text as text columns."""
    import pyarrow as pa
    from pyarrow import parquet

    batches = _batches(files)
    first = next(batches)
    if sum(path.stat().st_size * (8 if path.suffix == ".gz" else 1) for path in files) <= _IN_MEMORY:
        return connection.from_arrow(pa.Table.from_batches([first, *batches]))
    copy = scratch / "rows.parquet"
    with parquet.ParquetWriter(copy, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)
    return connection.sql(f"FROM read_parquet({_listed([str(copy)])})")


def _batches(files: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    """Rows of all files, whose columns are those of the first; a batch at least."""
    import pyarrow as pa

    schema: pa.Schema | None = None
    for path in files:
        for batch in _parsed(path):
            schema = schema or batch.schema
            if set(batch.schema.names) != set(schema.names):
                what = f"columns {', '.join(batch.schema.names)}, but {', '.join(schema.names)} in {files[0]}"
                raise InputError(what, where=str(path), remedy="read them one at a time")
            yield pa.RecordBatch.from_arrays([batch.column(name) for name in schema.names], schema=schema)


def _parsed(path: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import csv as parser

    delimiter, names = _header(path)
    with _Bytes(path) as file:
        reader = parser.open_csv(
            file,
            read_options=parser.ReadOptions(block_size=_BLOCK),
            parse_options=parser.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=parser.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
        # the index of some program has no name; DuckDB would make one up
        schema = pa.schema([(name or " ", pa.string()) for name in reader.schema.names])
        last = pa.RecordBatch.from_arrays([pa.array([], pa.string()) for _ in schema], schema=schema)
        yield last
        for batch in reader:
            last = batch
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
    if last.num_rows and "\n" in (last.column(-1)[-1].as_py() or "") and not file.end.rstrip(b"\r\n").endswith(b'"'):
        raise InputError("cannot be read: a quote never ends", where=str(path), remedy="is the file whole?")


def _header(path: Path) -> tuple[str, list[str]]:
    """The delimiter and the names of the columns."""
    with io.TextIOWrapper(io.BufferedReader(_Bytes(path)), encoding="utf-8-sig", newline="") as file:
        line = file.readline(_MOST)
        while line.count('"') % 2 and len(line) < _MOST and (more := file.readline(_MOST)):
            line += more  # a name goes over several lines
    delimiter = max("\t,;|", key=line.count)
    try:
        return delimiter, next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter), [])
    except csv.Error as error:
        raise InputError(f"cannot be read: {error}", where=f"{path}, line 1", remedy="is it a table?") from error


class _Bytes(io.RawIOBase):
    """A file's bytes, unpacked if it is gzip, whatever its name; it remembers its end."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        self._file = gzip.GzipFile(path) if packed else path.open("rb")
        self.end = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            read = self._file.read(len(buffer))
        except zlib.error as error:
            raise OSError(f"damaged gzip: {error}") from error
        buffer[: len(read)] = read
        self.end = (self.end + read[-64:])[-64:]
        return len(read)

    def close(self) -> None:
        self._file.close()
        super().close()


def _listed(files: Sequence[str]) -> str:
    return f"[{', '.join(map(quote_text, files))}]"
