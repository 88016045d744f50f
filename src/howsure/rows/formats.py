"""Read tables: csv, JSON, Parquet and workbooks. What a file is, its bytes say; what its columns mean is not asked.

`open_rows` opens a file, a pattern or an address as rows in DuckDB, which reads csv, JSON and Parquet itself. A file
that it cannot read as it is (a workbook, UTF-16, lines with different ends, an object that holds records) is written
as JSON lines by `read_rows` first, which names the line of what is wrong. `read_rows` also reads rows one by one, for
questions, labels and paraphrases: an error names their place, and a csv cell is the text that stands there ("007").
"""

from __future__ import annotations

import atexit
import codecs
import csv
import errno
import functools
import gzip
import io
import itertools
import json
import os
import stat
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from howsure.errors import InputError, UnknownNameError, first_line
from howsure.notes import Note, warn
from howsure.rows.headers import Header, choose_header
from howsure.rows.sql import quote_name, quote_text
from howsure.rows.words import ALIASES, find_alias

if TYPE_CHECKING:
    import duckdb

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".xlsx": "xlsx",
}
#: Bytes to which an archive may always expand, and the largest multiple of its size.
FREE_EXPANSION, MOST_EXPANSION = 1 << 28, 200
#: Place ("line 3") and fields of a row.
PlacedRow = tuple[str, dict[str, object]]

csv.field_size_limit(1 << 28)  # a question may have a long context

#: Rows in which the delimiter and the header are looked for.
_N_HEAD_ROWS = 12
#: Delimiters of csv, the first of equally good ones first, and what messages call them.
_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: Keys in folders such as model=007 are text: it is a name and no number.
_KEYS = "hive_types_autocast = false"
#: DuckDB's own buffer for csv takes a gigabyte of memory for a long table. It must not guess: it takes # for comments.
_CSV_OPTIONS = (
    "auto_detect = false, header = false, quote = '\"', escape = '\"', max_line_size = 2097152, buffer_size = 8388608"
)
#: Bytes of csv above which the rows are kept on the disk.
_MOST_IN_MEMORY = 1 << 26
#: Schemes with the DuckDB extension that reads them; the extension of all others is httpfs.
_EXTENSIONS = {"az": "azure", "azure": "azure", "abfss": "azure"}
#: Types that JSON does not have. DuckDB infers them where all texts look alike, which changes ids.
_INFERRED = ("date", "time", "timestamp", "interval", "uuid", "null")


class TableHeader(NamedTuple):
    """The names of the columns of a csv, and where they stand."""

    names: tuple[str, ...]
    delimiter: str
    n_skipped: int
    """Number of rows, blank ones too, up to the last row of the header."""
    is_plain: bool
    """Whether those are lines with one kind of end; DuckDB may lose rows below others."""


# names


def find_format(name: str) -> str | None:
    """Return csv, json, parquet or xlsx by the ending of a name; None for any other ending.

    >>> find_format("rows.tsv.gz"), find_format("rows.txt")
    ('csv', None)
    """
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if suffixes[-1:] == [".gz"] and SUFFIXES.get(suffixes[-2] if len(suffixes) > 1 else "") in {"csv", "json"}:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1] if suffixes else "")


def is_table(path: Path) -> bool:
    """Return whether the ending of a file's name is that of a table."""
    return find_format(path.name) is not None


def is_remote(name: str) -> bool:
    """Return whether a name is an address such as s3://bucket/rows.parquet, which DuckDB reads by an extension.

    >>> is_remote("hf://datasets/a/b/*.parquet"), is_remote("C:/rows.csv")
    (True, False)
    """
    scheme, mark, _ = name.partition("://")
    return bool(mark) and scheme.isalnum()


def is_glob(name: str) -> bool:
    """Return whether a name is a pattern of files, rather than the name of a file.

    >>> is_glob("rows/*.parquet"), is_glob("rows/a.parquet")
    (True, False)
    """
    return any(mark in name for mark in "*?[") and not is_remote(name) and not Path(name).exists()


def match_pattern(pattern: str) -> list[str]:
    """Return the tables that a pattern of file names matches, sorted."""
    matches = glob(pattern, recursive=True)  # noqa: PTH207  # Path.glob accepts no absolute pattern
    return sorted(one for one in matches if find_format(one) and Path(one).is_file())


def name_table(name: str | Path) -> str:
    """Return the name of a table that states no benchmark: that of its file, or of the folder of several files.

    >>> name_table("logs/llama-3.1.csv.gz"), name_table("logs/gsm8k/*.parquet")
    ('llama-3.1', 'gsm8k')
    >>> name_table("https://host/gsm8k.csv?download=true")
    'gsm8k'
    """
    text = str(name)
    parts = [part for part in _strip_address(text).split("/") if not any(mark in part for mark in "*?[=")]
    last = Path(parts[-1] if parts else "") if is_remote(text) or is_glob(text) else Path(text)
    if not parts and is_glob(text):
        last = Path.cwd()
    return Path(last.name.removesuffix(".gz")).stem or "table"


def name_row(where: str, row: int) -> str:
    """Return the place of a row in a file, counted from 1: its line in a text file, else its number.

    >>> name_row("rows.parquet", 7)
    'rows.parquet, row 7'
    """
    path = Path(where)
    if find_format(where) != "parquet" and not is_remote(where) and path.is_file():
        with suppress(InputError):
            for place, _ in itertools.islice(read_rows(path), row - 1, row):
                return f"{where}, {place}"
    return f"{where}, row {row}"


def find_table_parts(folder: Path) -> str | None:
    """Return the pattern of the files in which Spark or Dask wrote one table to a folder; None if there are none.

    Raises
    ------
    InputError
        When the files are of several types or depths, or when the folder is a table of Delta Lake, which also holds
        files that its log has removed.
    """
    names = (f"part-{'[0-9]' * 5}*", "part.[0-9]*")
    patterns = ["/".join(["*=*"] * depth + [name]) for depth in range(4) for name in names]
    kinds = {(one, "".join(part.suffixes[-1:])) for one in patterns for part in folder.glob(one) if is_table(part)}
    if not kinds:
        return None
    if (folder / "_delta_log").is_dir():
        remedy = "write it as plain Parquet, or give its frame to howsure.read"
        raise InputError("a Delta table may hold files that its log has removed", where=str(folder), remedy=remedy)
    if len(kinds) > 1:
        remedy = "give the files of one write, by a pattern"
        raise InputError("files of several types or depths in one table", where=str(folder), remedy=remedy)
    ((pattern, ending),) = kinds
    return f"{escape_file_name(str(folder))}/{pattern}{ending}"


def escape_file_name(name: str) -> str:
    """Return the name of an existing file so that DuckDB, which takes every name for a pattern, reads that file only.

    >>> escape_file_name("run[1].parquet")
    'run[[]1].parquet'
    """
    absolute = str(Path(name).absolute()) if name.startswith("~") else name  # a tilde is the home of the user
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in absolute)


def _strip_address(name: str) -> str:
    """Return an address without its scheme and its query."""
    return name.partition("://")[2].partition("?")[0] if is_remote(name) else name


# bytes


def sniff_format(path: Path) -> str | None:
    """Return csv, json, parquet or xlsx by the first bytes of a file; None for anything else.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "scores.txt")
    ...     _ = file.write_text("model,question,score")
    ...     sniff_format(file)
    'csv'
    """
    with open_unpacked(path) as file:
        head = file.read(1 << 16)
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:4] == b"PK\x03\x04":
        return "xlsx" if b"xl/workbook" in head or b"opendocument.spreadsheet" in head else None
    text = head.decode("utf-16" if head[:2] in _UTF16_MARKS else "utf-8-sig", errors="replace").lstrip()
    if text[:1] in {"{", "["}:
        return "json"
    return "csv" if "\0" not in text and any(mark in text.partition("\n")[0] for mark in _DELIMITERS) else None


def find_encoding(path: Path, *, is_whole: bool = True) -> str:
    """Return the encoding of a text: utf-8, utf-8-sig, utf-16, or cp1252 for all others.

    Where the whole file is looked at, a gzip that is damaged or expands too much raises OSError: see `open_unpacked`.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open_unpacked(path) as file:
        data = file.read(1 << 20)
        if data[:2] in _UTF16_MARKS:
            return "utf-16"
        is_marked = data.startswith(codecs.BOM_UTF8)
        try:
            while data:
                decoder.decode(data)
                data = file.read(1 << 20) if is_whole else b""
            decoder.decode(b"", final=is_whole)
        except UnicodeDecodeError:
            return "cp1252"
        return "utf-8-sig" if is_marked else "utf-8"


def open_unpacked(path: Path) -> io.BufferedReader:
    """Open a file as bytes, unpacked if it is gzip, whatever its name.

    Reading raises OSError when the gzip is damaged, or expands beyond `FREE_EXPANSION` bytes and `MOST_EXPANSION` times
    its size, which results of evaluations do not.
    """
    file = path.open("rb")
    is_gzip = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    return io.BufferedReader(_GzipBytes(file, path.stat().st_size), 1 << 20) if is_gzip else file


class _GzipBytes(io.RawIOBase):
    """The bytes that a gzip file of a size holds."""

    def __init__(self, raw: io.BufferedReader, size: int) -> None:
        self._raw, self._file = raw, gzip.GzipFile(fileobj=raw)
        self._left = max(FREE_EXPANSION, MOST_EXPANSION * size)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer; return their number."""
        try:
            data = self._file.read1(len(buffer))
        except zlib.error as error:
            raise OSError(f"damaged gzip: {error}") from error
        self._left -= len(data)
        if self._left < 0:
            raise OSError(f"it expands to more than {MOST_EXPANSION} times its size; unpack it if you trust it")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._raw.close()
        super().close()


def read_regular_file(path: Path) -> bytes:
    """Return the bytes of a file; raise OSError also for a pipe or a device, which may have no end."""
    try:
        mode = path.stat().st_mode
    except ValueError as error:
        raise OSError(errno.EINVAL, "the name contains a character that no file name has") from error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "a pipe or a device, not a file")
    return path.read_bytes()


# rows one by one


def read_rows(path: Path, where: str = "", *, header: Header = None, sheet: str | None = None) -> Iterator[PlacedRow]:
    """Yield the rows of a file with their places; errors call it `where`, and the rest is as for `open_rows`.

    Raises
    ------
    InputError
        While rows are read, when the file is not of its type; names the line.
    """
    where = where or str(path)
    if path.exists() and not path.is_file():
        raise InputError("a pipe or a device, not a file", where=where, remedy="write what it gives to a file")
    try:
        kind = _find_kind({path.name: path}, where)
        if kind == "csv":
            yield from _read_csv(path, where, header)
        elif kind == "json":
            yield from _read_json(path, where)
        elif kind == "parquet":
            yield from _read_parquet(path, where)
        else:
            yield from _read_workbook(path, where, header, sheet)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {first_line(error)}", where=where, remedy="is the file whole?") from error


def _open_text(path: Path, where: str = "") -> io.TextIOWrapper:
    """Open a text whose start is read or, where it has a name for notes, all of it."""
    encoding = find_encoding(path, is_whole=bool(where))
    if where and not encoding.startswith("utf-8"):
        name = "UTF-16" if encoding == "utf-16" else "Windows-1252"
        warn(Note("encoding", where, facts={"encoding": name}), stacklevel=4)
    errors = "strict" if where and encoding != "cp1252" else "replace"
    return io.TextIOWrapper(open_unpacked(path), encoding=encoding, errors=errors, newline="")


def _read_csv(path: Path, where: str, header: Header) -> Iterator[PlacedRow]:
    """Yield the rows of a csv, whose cells are texts."""
    names, delimiter, n_skipped, _ = read_header(path, where, header=header)
    with _open_text(path, where) as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            for values in itertools.islice(reader, n_skipped, None):
                if len(values) == len(names) + 1 and not values[-1]:
                    values.pop()  # a delimiter at the end of the line
                if values and len(values) != len(names):
                    what = f"{len(values)} fields where the header has {len(names)}"
                    remedy = "is the file whole? Each row has a field, which may be empty, for each column"
                    if len(values) > len(names):
                        remedy = f"quote fields that hold {_DELIMITERS[delimiter]} or line breaks"
                    raise InputError(what, where=f"{where}, line {reader.line_num}", remedy=remedy)
                if values:
                    yield f"line {reader.line_num}", dict(zip(names, values, strict=True))
        except csv.Error as error:
            place = f"{where}, line {reader.line_num}"
            raise InputError(f"not CSV: {error}", where=place, remedy="is a quote never closed?") from None


def read_header(path: Path, where: str = "", *, header: Header = None) -> TableHeader:
    """Return the names of the columns of a csv, its delimiter, and where its rows begin; see `read_rows`.

    Raises
    ------
    InputError
        When no line is a header, or its names do not tell the columns apart.
    """
    where = where or str(path)
    with _open_text(path) as file:
        head = file.read(1 << 20)
    heads = {
        delimiter: list(itertools.islice(csv.reader(io.StringIO(head, newline=""), delimiter=delimiter), _N_HEAD_ROWS))
        for delimiter in _DELIMITERS
    }
    delimiter = max(_DELIMITERS, key=lambda one: _rate_rows(heads[one]))
    rows = heads[delimiter]
    numbered = [(number, row) for number, row in enumerate(rows, 1) if any(map(str.strip, row))]
    names, last = choose_header([row for _, row in numbered], header, where)
    n_skipped = numbered[last][0]
    lines = itertools.islice(io.StringIO(head, newline=""), n_skipped + 1)
    ends = {line[len(line.rstrip("\r\n")) :] for line in lines} - {""}
    breaks = any(mark in cell for row in rows[:n_skipped] for cell in row for mark in "\r\n")
    return TableHeader(names, delimiter, n_skipped, is_plain=len(ends) < 2 and not breaks)


def _rate_rows(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return how many rows have the same number of fields, of two or more, and that number."""
    counts = Counter(len(row) for row in rows if len(row) > 1)
    return max(((n, n_fields) for n_fields, n in counts.items()), default=(0, 0))


def _read_json(path: Path, where: str) -> Iterator[PlacedRow]:
    """Yield the records of JSON lines, or of one value."""
    with _open_text(path, where) as file:
        if _find_json_form(path) == "newline_delimited":
            for number, line in enumerate(file, 1):
                place = f"{where}, line {number}"
                row = decode_json(line, place) if line.strip() else {}
                if not isinstance(row, dict):
                    raise InputError("not a JSON object", where=place, remedy='each line is {"field": value, ...}')
                if line.strip():
                    yield f"line {number}", row
        else:
            records = list_records(decode_json(file.read(), where), where)
            yield from ((f"record {number}", record) for number, record in enumerate(records, 1))


def _find_json_form(path: Path) -> str:
    """Return newline_delimited, array or object: whether a file of JSON has an object in each line, or is one value."""
    with _open_text(path) as file:
        first, second = (next(filter(str.strip, file), "").lstrip() for _ in range(2))
    if first.startswith("["):
        return "array"
    is_lines = second.startswith("{") or not first
    if not is_lines and not {".jsonl", ".ndjson"}.isdisjoint(path.suffixes):
        with suppress(ValueError, RecursionError):  # an object may be written over several lines
            is_lines = isinstance(json.loads(first), dict)
    return "newline_delimited" if is_lines else "object"


def decode_json(text: str, place: str) -> object:
    """Return a value of JSON; a key that stands twice is an error."""

    def make_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(result := dict(pairs)) < len(pairs):
            raise ValueError(f"duplicate key {Counter(key for key, _ in pairs).most_common(1)[0][0]!r}")
        return result

    try:
        return json.loads(text, object_pairs_hook=make_object)
    except (ValueError, RecursionError) as error:
        remedy = "correct or remove the line; the last one is torn where a program was stopped"
        raise InputError(f"not JSON: {first_line(error)}", where=place, remedy=remedy) from None


def list_records(value: object, where: str) -> list[dict[str, object]]:
    """Return the records of a JSON value.

    It is an array of records; an object with one such array, whose texts beside it are those of all records; an object
    of records by their ids; or an object of columns, as pandas writes it.

    Raises
    ------
    InputError
        When it is anything else.

    Examples
    --------
    >>> list_records({"model": "a", "mean": 1.0, "results": [{"id": 1, "score": 1}]}, "run.json")
    [{'model': 'a', 'id': 1, 'score': 1}]
    """
    if isinstance(value, list) and _are(value, dict):
        return value
    fields = value if isinstance(value, dict) else {}
    each = list(fields.values())
    lists = [key for key, one in fields.items() if _are(one, dict)]
    if isinstance(fields.get("columns"), list) and _are(fields.get("data"), list):  # a frame, split
        return [dict(zip(map(str, fields["columns"]), row, strict=False)) for row in fields["data"]]
    if len(lists) == 1:
        texts = {key: one for key, one in fields.items() if one is None or isinstance(one, str)}
        # What else has one of our names is about the file, and not about its records.
        ours = [name for name in ALIASES if name not in {"benchmark", "model"}]
        others = {key for key in texts if any(find_alias(name, [key]) for name in ours)}
        return [{**{key: texts[key] for key in texts if key not in others}, **row} for row in fields[lists[0]]]
    if _are(each, list) and not lists and len(set(map(len, each))) == 1:
        return [dict(zip(fields, row, strict=True)) for row in zip(*each, strict=True)]
    if _are(each, dict) and each[0]:
        if all(list(one) == [str(i) for i in range(len(each[0]))] for one in each):
            return [{name: one[row] for name, one in fields.items()} for row in each[0]]
        # Numbers alone do not say whether models or questions are the keys.
        if any(isinstance(cell, str | list | dict) for one in each for cell in one.values()):
            return [{"id": key, **one} for key, one in fields.items()]
    what = f"JSON of another shape, with the keys {', '.join(fields)[:80]}" if fields else "JSON without records"
    remedy = "write an array of records such as [{...}, {...}], each with model, question and score"
    raise InputError(what, where=where, remedy=remedy, code="json-shape")


def _are(values: object, kind: type) -> bool:
    """Return whether a value is a list of one or more values of this type."""
    return isinstance(values, list) and bool(values) and all(isinstance(one, kind) for one in values)


def _read_parquet(path: Path, where: str) -> Iterator[PlacedRow]:
    """Yield the rows of a Parquet file."""
    import duckdb

    try:
        with open_database() as connection:
            rows = connection.sql(f"FROM read_parquet({_list_sql([path])}, hive_partitioning = false)")
            names, values = rows.columns, rows.fetchall()
    except duckdb.Error as error:
        what = f"not a whole parquet file: {first_line(error)}"
        raise InputError(what, where=where, remedy="write or download it again") from None
    yield from ((f"row {number}", dict(zip(names, row, strict=True))) for number, row in enumerate(values, 1))


def _read_workbook(path: Path, where: str, header: Header, sheet: str | None) -> Iterator[PlacedRow]:
    """Yield the rows of a sheet of a workbook."""
    from howsure.rows.workbooks import read_sheet

    rows = read_sheet(path, where, sheet)
    texts = [["" if cell is None else str(cell) for cell in row] for row in list(rows.values())[:_N_HEAD_ROWS]]
    names, last = choose_header(texts, header, where)
    for number, row in list(rows.items())[last + 1 :]:
        yield f"row {number}", dict(zip(names, row, strict=False))


# rows in DuckDB


def open_database() -> duckdb.DuckDBPyConnection:
    """Return a connection to DuckDB, which installs and loads no extension because a file or a name asks for one.

    All connections of a process belong to one database in memory, because to start one takes longer than to read a
    small table.
    """
    import duckdb

    try:
        connection = _start_database(os.getpid()).cursor()
        connection.execute("SELECT 1").fetchall()
    except duckdb.Error:  # an internal error of DuckDB ends a database for good
        _start_database.cache_clear()
        connection = _start_database(os.getpid()).cursor()
    return connection


@functools.cache
def _start_database(_process: int) -> duckdb.DuckDBPyConnection:
    """Return the database of a process; that of a parent has lost its threads.

    What does not fit in memory goes to a temporary folder, which is removed when the process ends.
    """
    import duckdb

    scratch = tempfile.TemporaryDirectory(prefix="howsure-")
    atexit.register(scratch.cleanup)
    extensions = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    return duckdb.connect(config={**extensions, "temp_directory": scratch.name})


def open_rows(
    connection: duckdb.DuckDBPyConnection,
    name: str | Path,
    scratch: Path,
    *,
    header: Header = None,
    sheet: str | None = None,
) -> duckdb.DuckDBPyRelation:
    """Open a table with columns of text (csv) or of the types that it states.

    Parameters
    ----------
    connection
        The connection that the rows belong to.
    name
        A file, a glob of files of one type, or an address.
    scratch
        A folder for copies in a form that DuckDB reads; it must exist as long as the rows are used.
    header
        The row with the names of the columns, from 0, without counting blank ones, or several, whose names are joined.
    sheet
        The sheet of a workbook that is read.

    Raises
    ------
    InputError
        When it is no table, or one whose form must be said: its header ("header", "column-names"), its sheet
        ("sheets"), its records ("json-shape").
    """
    text = str(name)
    files = {one: Path(one) for one in (match_pattern(text) if is_glob(text) else [text])}
    kind = _find_kind(files, text)
    if is_remote(text):
        _load_extension(connection, text)
    if kind == "parquet":
        return connection.sql(f"FROM read_parquet({_list_sql(list(files))}, union_by_name = true, {_KEYS})")
    if is_remote(text):
        files = _download(connection, text, scratch)
    # DuckDB finds text that is not UTF-8 in a csv, but unpacks a gzip without bound.
    encodings = {find_encoding(path, is_whole=kind == "json" or path.suffix == ".gz") for path in files.values()}
    rows = None
    if kind == "csv" and encodings <= {"utf-8", "utf-8-sig"}:
        rows = _open_csv(connection, files, scratch, header)
    elif kind == "json" and encodings == {"utf-8"}:
        rows = _open_json(connection, list(files.values()))
    if rows is None:  # the reader of rows says where and why, or reads it
        copies = [scratch / f"{number}.jsonl" for number in range(len(files))]
        for copy, (where, path) in zip(copies, files.items(), strict=True):
            _write_lines(read_rows(path, where, header=header, sheet=sheet), path, copy)
        rows = _open_json(connection, copies)
    if rows is None:
        raise InputError("it has no rows that can be read", where=text, remedy="give a table with a row or more")
    return rows


def _find_kind(files: Mapping[str, Path], where: str) -> str:
    """Return the one format of files, by their names or else by their content; raise InputError if there is none."""
    kinds = {
        find_format(_strip_address(one)) or (sniff_format(path) if path.is_file() else None)
        for one, path in files.items()
    }
    if len(kinds) > 1:
        what = f"files of several types: {', '.join(sorted(map(str, kinds)))}"
        raise InputError(what, where=where, remedy="name one type, such as *.parquet")
    if not files:
        raise InputError("no table here", where=where, remedy=f"tables are {', '.join(SUFFIXES)}")
    if (kind := kinds.pop()) is None:
        raise UnknownNameError("file type", Path(_strip_address(where)).suffix, SUFFIXES, where=where)
    return kind


def _load_extension(connection: duckdb.DuckDBPyConnection, address: str) -> None:
    """Load the extension that reads an address; it is not downloaded where the user does not have it."""
    import duckdb

    scheme = address.partition("://")[0]
    extension = _EXTENSIONS.get(scheme.lower(), "httpfs")
    try:
        connection.execute(f"LOAD {extension}")
    except duckdb.Error as error:
        what = f"{scheme}:// needs DuckDB's extension {extension}, which is not installed"
        remedy = f"install it once: python -c \"import duckdb; duckdb.sql('INSTALL {extension}')\""
        raise InputError(what, where=address, remedy=f"{remedy}, or download the files") from error


def _download(connection: duckdb.DuckDBPyConnection, address: str, scratch: Path) -> dict[str, Path]:
    """Return local copies of the files at an address, by their own."""
    files = {}
    contents = connection.execute("SELECT filename, content FROM read_blob(?) ORDER BY filename", [address])
    for number, (name, content) in enumerate(contents.fetchall()):
        (scratch / str(number)).mkdir()
        files[str(name)] = scratch / str(number) / Path(_strip_address(name)).name
        files[str(name)].write_bytes(content)
    return files


def _open_csv(
    connection: duckdb.DuckDBPyConnection, files: Mapping[str, Path], scratch: Path, header: Header
) -> duckdb.DuckDBPyRelation | None:
    """Return the rows of csv files with the same columns; None where DuckDB cannot read them as they are."""
    import duckdb

    headers = [read_header(path, where, header=header) for where, path in files.items()]
    parts = []
    for one, where, path in zip(headers, files, files.values(), strict=True):
        if set(one.names) != set(headers[0].names):
            what = f"columns {', '.join(one.names)}, but {', '.join(headers[0].names)} in {next(iter(files))}"
            raise InputError(what, where=where, remedy="read them one at a time")
        if not one.is_plain:
            return None
        columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in one.names)
        parts.append(
            f"FROM read_csv({_list_sql([path])}, skip = {one.n_skipped}, "
            f"columns = {{{columns}}}, delim = {quote_text(one.delimiter)}, {_CSV_OPTIONS}, {_KEYS})"
        )
    rows = " UNION ALL BY NAME ".join(parts)
    try:
        # Parsed once, for several queries: into memory, or into Parquet, which has each text once.
        if sum(path.stat().st_size for path in files.values()) > _MOST_IN_MEMORY:
            copy = scratch / "rows.parquet"
            connection.execute(f"COPY ({rows}) TO {quote_text(str(copy))} (FORMAT parquet)")
            return connection.sql(f"FROM read_parquet({_list_sql([copy])}, hive_partitioning = false)")
        table = quote_name(f"rows of {scratch.name}")
        connection.execute(f"CREATE TEMP TABLE {table} AS {rows}")
        return connection.sql(f"FROM {table}")
    except duckdb.Error:
        return None


def _open_json(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> duckdb.DuckDBPyRelation | None:
    """Return records of JSON, whose texts stay texts; None where DuckDB cannot read them as they are."""
    import duckdb

    forms = {_find_json_form(path) for path in files}
    if len(forms) > 1 or forms == {"object"}:
        return None
    source = (
        f"FROM read_json({_list_sql(files)}, format = '{forms.pop()}', "
        f"records = true, sample_size = -1, map_inference_threshold = -1, union_by_name = true, {_KEYS}"
    )
    try:
        rows = connection.sql(f"{source})")
        kinds = dict(zip(rows.columns, rows.types, strict=True))
        if all(_write_type(kind) == str(kind) for kind in kinds.values()):
            return rows
        own = [name for name in kinds if name not in _list_keys(files[0])]
        columns = ", ".join(f"{quote_text(name)}: {quote_text(_write_type(kinds[name]))}" for name in own)
        return connection.sql(f"{source}, columns = {{{columns}}})")
    except duckdb.Error:
        return None


def _write_type(kind: Any) -> str:
    """Return a type as SQL writes it, with text for types that JSON does not have."""
    if kind.id == "list":
        return f"{_write_type(kind.children[0][1])}[]"
    if kind.id == "struct":
        return f"STRUCT({', '.join(f'{quote_name(name)} {_write_type(one)}' for name, one in kind.children)})"
    return "VARCHAR" if kind.id.startswith(_INFERRED) else str(kind)


def _list_keys(path: Path) -> dict[str, str]:
    """Return the keys in the names of the folders of a file, such as model=a."""
    return {key: unquote(value) for key, mark, value in (part.partition("=") for part in path.parts[:-1]) if mark}


def _write_lines(rows: Iterable[PlacedRow], path: Path, copy: Path) -> None:
    """Write rows as JSON lines, with the keys in the names of folders; blank cells of csv are null."""
    blank = None if _find_kind({path.name: path}, str(path)) == "csv" else ""
    with copy.open("w", encoding="utf-8") as file:
        for _, row in rows:
            cells = {name or "#": blank if cell == "" else cell for name, cell in row.items()}
            file.write(json.dumps({**cells, **_list_keys(path)}, default=str) + "\n")


def _list_sql(files: Sequence[str | Path]) -> str:
    """Return SQL for a list of file names and addresses."""
    names = map(str, files)
    return f"[{', '.join(quote_text(name if is_remote(name) else escape_file_name(name)) for name in names)}]"
