"""Open a table by its name (a file, a glob, an address) as rows in DuckDB, or read the rows of a file one by one.

DuckDB reads Parquet and JSON lines itself. A csv is parsed by pyarrow, which refuses a line with another number of
fields than the header; a large csv goes through a temporary Parquet file, so that memory does not grow with it.

Benchmarks are read row by row: an error names the line, and a csv cell stays the text that is written ("007").
"""

from __future__ import annotations

import atexit
import codecs
import contextlib
import csv
import errno
import functools
import gzip
import io
import itertools
import json
import os
import re
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from howsure.errors import InputError, UnknownNameError
from howsure.rows.file_contents import (
    FREE_EXPANSION,
    MOST_EXPANSION,
    decode_text,
    find_content_format,
    find_encoding,
    list_records,
    read_sheets,
    write_records,
)
from howsure.rows.sql import quote_text

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = [
    "SUFFIXES",
    "PlacedRow",
    "escape_file_name",
    "find_delimiter",
    "find_file_format",
    "find_table_parts",
    "is_glob",
    "is_remote",
    "is_table",
    "match_pattern",
    "name_row",
    "name_table",
    "open_database",
    "open_rows",
    "open_unpacked",
    "read_regular_file",
    "read_rows",
]


SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "records",
    ".xlsx": "xlsx",
}

#: A number in the first line, which should hold names.
_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)\s?%?")
#: What DuckDB takes for a pattern, or for an escape, in the name of a file.
_PATTERN_MARK = re.compile(r"([*?\[])")
#: Names of the files in which Spark and Dask write one table: part-00000-3f2a-c000.snappy.parquet, part.0.parquet.
_PART = re.compile(r"part-\d{5}.*|part\.\d+\..*")
_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]+)://")
#: Schemes with the DuckDB extension that reads them; the extension of all others is httpfs.
_EXTENSIONS = {"az": "azure", "azure": "azure", "abfss": "azure"}
#: Bytes of csv that are read into memory; a compressed file counts eightfold.
_MAX_IN_MEMORY = 1 << 28
#: Bytes that the csv parser reads at a time; a row cannot be longer.
_BLOCK_SIZE = 1 << 24
#: Bytes at the start of a file that show its form and encoding.
_HEAD = 1 << 16
#: Delimiters of fields, and what messages call them; of equally frequent ones the first is taken.
_DELIMITERS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
#: Largest number of characters of a header.
_MAX_HEADER = 1 << 20
#: Number of lines in which a title and the header below it are looked for.
_N_TITLE_LINES = 10
#: Types that JSON does not have. DuckDB infers them where all texts of a column look alike, which changes ids.
_INFERRED = re.compile("DATE|TIME|INTERVAL|UUID")
#: Place ("line 3") and fields of a row.
PlacedRow = tuple[str, dict[str, object]]


def is_table(path: Path) -> bool:
    """Return whether the ending of a file's name is that of a table."""
    return find_file_format(path.name) is not None


def is_remote(name: str) -> bool:
    """Return whether a name is an address such as s3://bucket/rows.parquet, which DuckDB reads by an extension.

    >>> is_remote("hf://datasets/a/b/*.parquet"), is_remote("C:/rows.csv")
    (True, False)
    """
    return bool(_SCHEME.match(name))


def is_glob(name: str) -> bool:
    """Return whether a name is a pattern of files, rather than the name of a file.

    >>> is_glob("rows/*.parquet"), is_glob("rows/a.parquet")
    (True, False)
    """
    return any(mark in name for mark in "*?[") and not is_remote(name) and not Path(name).exists()


def name_table(name: str | Path) -> str:
    """Return the name of a table that states no benchmark: that of its file, or of the folder of several files.

    >>> name_table("logs/gsm8k.csv.gz"), name_table("logs/gsm8k/*.parquet")
    ('gsm8k', 'gsm8k')
    >>> name_table("https://host/gsm8k.csv?download=true")
    'gsm8k'
    """
    text = str(name)
    parts = [part for part in _strip_address(text).split("/") if not any(mark in part for mark in "*?[=")]
    last = Path(parts[-1] if parts else "") if is_remote(text) or is_glob(text) else Path(text)
    if not parts and is_glob(text):
        last = Path.cwd()
    return (last.name.split(".")[0] if last.suffix == ".gz" else last.stem) or "table"


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


def open_rows(connection: duckdb.DuckDBPyConnection, name: str | Path, scratch: Path) -> duckdb.DuckDBPyRelation:
    """Open a table with text columns (csv) or typed columns (parquet, jsonl).

    Parameters
    ----------
    connection
        The connection that the rows belong to.
    name
        A file, a glob of files of one type, or an address.
    scratch
        A folder for copies in a form that DuckDB reads; it must exist as long as the rows are used.
    """
    text = str(name)
    if is_remote(text):
        _load_extension(connection, text)
        kind, files = find_file_format(_strip_address(text)), [text]
    else:
        files = match_pattern(text) if is_glob(text) else [text]
        # A name with another ending is what its content is.
        kinds = {
            find_file_format(one) or (_find_other_format(Path(one)) if Path(one).is_file() else None) for one in files
        }
        if len(kinds) > 1:
            remedy = "name one type, such as *.parquet"
            raise InputError(f"files of several types: {', '.join(sorted(map(str, kinds)))}", where=text, remedy=remedy)
        if not files:
            raise InputError("no table here", where=text, remedy=f"tables are {', '.join(SUFFIXES)}")
        kind = kinds.pop()
    if kind is None:
        raise UnknownNameError("file type", Path(_strip_address(text)).suffix, SUFFIXES, where=text)
    if kind == "parquet":
        # Folders such as model=007 are columns of text: 007 is a name, not a number.
        options = "union_by_name = true, hive_types_autocast = false"
        return connection.sql(f"FROM read_parquet({_list_sql(files)}, {options})")
    if kind in {"json", "records", "xlsx"} and not is_remote(text):
        files = [_rewrite_records(Path(one), kind, scratch, number) for number, one in enumerate(files)]
    if kind in {"json", "records", "xlsx"}:
        return _open_json(connection, files)
    local = [_download(connection, one, scratch) for one in files] if is_remote(text) else [Path(one) for one in files]
    copies = [_rewrite_text(one, scratch, number) for number, one in enumerate(local)]
    return _open_csv(connection, copies, files, scratch)


def _find_other_format(path: Path) -> str | None:
    """Return the format of a file by its content."""
    kind = find_content_format(path)
    return "records" if kind == "json" else kind


def _read_unpacked(path: Path) -> bytes:
    """Return the bytes of a file, unpacked if it is gzip."""
    with open_unpacked(path) as file:
        return file.read()


def _rewrite_records(path: Path, kind: str, scratch: Path, number: int) -> str:
    """Return the name of a file of JSON lines in UTF-8: the file itself, or a new one with its records."""
    if kind == "json":
        with _FileBytes(path) as file:
            head = file.read(_HEAD) or b""
        if find_encoding(head) == "utf-8" and _are_lines(head):
            return str(path)
    records = read_sheets(path) if kind == "xlsx" else list_records(_read_unpacked(path), str(path))
    copy = scratch / f"records-{number}.jsonl"
    write_records(records, copy)
    return str(copy)


def _are_lines(head: bytes) -> bool:
    """Return whether a file that begins like this has a JSON object in each line."""
    first, _, rest = head.lstrip().partition(b"\n")
    if len(head) == _HEAD and not rest:
        return first[:1] == b"{"
    try:
        value = msgspec.json.decode(first)
    except (msgspec.DecodeError, RecursionError):
        # A record that runs over several lines begins with a line of one bracket.
        return first.strip() not in {b"{", b"["} and first[:1] == b"{"
    return isinstance(value, dict) and (bool(rest.strip()) or not any(isinstance(one, list) for one in value.values()))


def _rewrite_text(path: Path, scratch: Path, number: int) -> Path:
    """Return a file of text in UTF-8: the file itself, or a copy in that encoding."""
    with _FileBytes(path) as file:
        head = file.read(_HEAD) or b""
        encoding = find_encoding(head)
        if encoding == "utf-8" and (first := _find_other_bytes(file, head)) is not None:
            encoding = find_encoding(first)
    if encoding in {"utf-8", "utf-8-sig"}:
        return path
    copy = scratch / f"text-{number}{path.suffix.removesuffix('.gz') or '.csv'}"
    copy.write_text(decode_text(_read_unpacked(path), str(path)), encoding="utf-8", newline="")
    return copy


def _find_other_bytes(file: io.RawIOBase, head: bytes) -> bytes | None:
    """Return the first part of a file that is not UTF-8; None where all of it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    data: bytes | None = head
    while data:
        try:
            decoder.decode(data)
        except UnicodeDecodeError:
            return b"\xff"
        data = file.read(_BLOCK_SIZE)
    return None


def name_row(where: str, row: int) -> str:
    """Return the place of a row in a file, counted from 1: its line in a text file, else its number.

    >>> name_row("rows.parquet", 7)
    'rows.parquet, row 7'
    """
    kind = find_file_format(where)
    path = Path(where)
    if kind not in {"csv", "json"} or is_remote(where) or not path.is_file():
        return f"{where}, row {row}"
    with contextlib.suppress(OSError, EOFError, ValueError, csv.Error), _open_text(path) as file:
        if kind == "json":
            lines = (number for number, line in enumerate(file, 1) if line.strip())
        else:
            delimiter, _ = _read_header(path)
            reader = csv.reader(file, delimiter=delimiter)
            next(reader)
            lines = (reader.line_num for values in reader if values)
        if (line := next(itertools.islice(lines, row - 1, None), None)) is not None:
            return f"{where}, line {line}"
    return f"{where}, row {row}"


def _open_text(path: Path) -> io.TextIOWrapper:
    """Return the text of a file that may be compressed."""
    return io.TextIOWrapper(io.BufferedReader(_FileBytes(path)), encoding="utf-8-sig", newline="")


def match_pattern(pattern: str) -> list[str]:
    """Return the tables that a pattern of file names matches, sorted."""
    matches = glob(pattern, recursive=True)  # noqa: PTH207  # Path.glob accepts no absolute pattern
    return sorted(one for one in matches if find_file_format(one) and Path(one).is_file())


def find_table_parts(folder: Path) -> str | None:
    """Return the pattern of the files in which Spark or Dask wrote one table to a folder; None if there are none.

    Folders such as `model=a` are columns. Files of a task that was not committed (`_temporary`) and checksums
    (`.part-00000.crc`) are not of the table.

    Raises
    ------
    InputError
        When the files are of several types or depths, or when the folder is a table of Delta Lake, which also holds
        files that its log has removed.
    """
    parts = sorted(_iterate_table_parts(folder))
    if not parts:
        return None
    if (folder / "_delta_log").is_dir():
        remedy = "write it as plain Parquet, or give its frame to howsure.read"
        raise InputError("a Delta table may hold files that its log has removed", where=str(folder), remedy=remedy)
    endings = sorted({"".join(re.findall(r"\.[a-z]+$|\.[a-z]+\.gz$", part.name)) for part in parts})
    depths = {len(part.relative_to(folder).parts) for part in parts}
    if len(endings) > 1 or len(depths) > 1:
        what = f"files of several types: {', '.join(endings)}" if len(endings) > 1 else "parts at several depths"
        raise InputError(f"{what} in one table", where=str(folder), remedy="give the files of one write, by a pattern")
    return "/".join([escape_file_name(str(folder)), *["*=*"] * (depths.pop() - 1), f"part[-.][0-9]*{endings[0]}"])


def _iterate_table_parts(folder: Path) -> Iterator[Path]:
    """Yield the files of a table that was written in parts to a folder, and to folders below it such as model=a."""
    for one in folder.iterdir():
        if _PART.fullmatch(one.name) and is_table(one) and one.is_file():
            yield one
        elif "=" in one.name and one.is_dir() and not one.is_symlink():
            yield from _iterate_table_parts(one)


def _strip_address(name: str) -> str:
    """Return an address without its scheme and its query."""
    return _SCHEME.sub("", name).partition("?")[0] if is_remote(name) and "://" in name else name


def find_file_format(name: str) -> str | None:
    """Return csv, parquet or json, by the ending of a name; None for any other ending."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if suffixes[-1:] == [".gz"] and SUFFIXES.get(suffixes[-2] if len(suffixes) > 1 else "") != "parquet":
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1] if suffixes else "")


def _load_extension(connection: duckdb.DuckDBPyConnection, address: str) -> None:
    """Load the extension that reads an address; it is not downloaded where the user does not have it."""
    import duckdb

    match = _SCHEME.match(address)
    assert match
    extension = _EXTENSIONS.get(match[1].lower(), "httpfs")
    try:
        connection.execute(f"LOAD {extension}")
    except duckdb.Error as error:
        what = f"{match[1]}:// needs DuckDB's extension {extension}, which is not installed"
        remedy = f"install it once: python -c \"import duckdb; duckdb.sql('INSTALL {extension}')\""
        raise InputError(what, where=address, remedy=f"{remedy}, or download the files") from error


def _download(connection: duckdb.DuckDBPyConnection, address: str, scratch: Path) -> Path:
    """Return a local copy of a text file at an address."""
    contents = connection.execute("SELECT filename, content FROM read_blob(?)", [address]).fetchall()
    if len(contents) != 1:
        raise InputError(f"{len(contents)} files", where=address, remedy="a csv is read one at a time from an address")
    copy = scratch / Path(_strip_address(contents[0][0])).name
    copy.write_bytes(contents[0][1])
    return copy


def _open_json(connection: duckdb.DuckDBPyConnection, files: Sequence[str]) -> duckdb.DuckDBPyRelation:
    """Return the rows of JSON lines; dates and similar texts stay text."""
    import duckdb

    for name in files:
        if not is_remote(name):
            with _FileBytes(Path(name)) as file:  # DuckDB unpacks the file itself
                file.check_expansion()
    options = "format = 'newline_delimited', sample_size = -1, union_by_name = true, hive_types_autocast = false"
    source = f"FROM read_json({_list_sql(files)}, {options}"
    try:
        rows = connection.sql(f"{source})")
    except duckdb.InvalidInputException:
        _refuse_torn(files)
        raise
    kinds = {column: str(kind) for column, kind in zip(rows.columns, rows.types, strict=True)}
    if not any(map(_INFERRED.match, kinds.values())):
        return rows
    columns = ", ".join(
        f"{quote_text(column)}: {quote_text('VARCHAR' if _INFERRED.match(kind) else kind)}"
        for column, kind in kinds.items()
        if f"/{column}=" not in files[0]
    )
    return connection.sql(f"{source}, columns = {{{columns}}})")


def _refuse_torn(files: Sequence[str]) -> None:
    """Raise InputError for the first line that is no JSON."""
    for name in files:
        if is_remote(name):
            continue
        with io.BufferedReader(_FileBytes(Path(name))) as file:
            for number, line in enumerate(file, 1):
                try:
                    if line.strip():
                        msgspec.json.decode(line)
                except (msgspec.DecodeError, RecursionError) as error:
                    remedy = "fix the line or leave it out; the last one is torn where a program was stopped"
                    what = f"cannot be read: line {number} is no JSON ({error})"
                    raise InputError(what, where=name, remedy=remedy) from error


def _open_csv(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Path], names: Sequence[str], scratch: Path
) -> duckdb.DuckDBPyRelation:
    """Return the rows of delimited text, with columns of text; errors have the names in place of the files."""
    import pyarrow as pa
    from pyarrow import parquet

    batches = _parse_files(files, names)
    first = next(batches)
    if sum(path.stat().st_size * (8 if path.suffix == ".gz" else 1) for path in files) <= _MAX_IN_MEMORY:
        return connection.from_arrow(pa.Table.from_batches([first, *batches]))
    copy = scratch / "rows.parquet"
    with parquet.ParquetWriter(copy, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)
    return connection.sql(f"FROM read_parquet({_list_sql([str(copy)])})")


def _parse_files(files: Sequence[Path], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all files, whose columns must be those of the first; one batch or more.

    Errors have the names in place of the files, which may be copies in another encoding.
    """
    import pyarrow as pa

    schema: pa.Schema | None = None
    for path, name in zip(files, names, strict=True):
        try:
            for batch in _parse_csv(path):
                schema = schema or batch.schema
                if set(batch.schema.names) != set(schema.names):
                    what = f"columns {', '.join(batch.schema.names)}, but {', '.join(schema.names)} in {names[0]}"
                    raise InputError(what, where=name, remedy="read them one at a time")
                yield pa.RecordBatch.from_arrays([batch.column(name) for name in schema.names], schema=schema)
        except pa.ArrowInvalid:
            _refuse_other_widths(path, name)
            raise


def _parse_csv(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one file; first a batch without rows."""
    import pyarrow as pa
    from pyarrow import csv as parser

    delimiter, names = _read_header(path)
    with _FileBytes(path) as file:
        reader = parser.open_csv(
            file,
            read_options=parser.ReadOptions(block_size=_BLOCK_SIZE),
            parse_options=parser.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=parser.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
        # A column without a name, such as the index of a program, keeps it: DuckDB would invent one.
        schema = pa.schema([(name or " " * (i + 1), pa.string()) for i, name in enumerate(reader.schema.names)])
        last = pa.RecordBatch.from_arrays([pa.array([], pa.string()) for _ in schema], schema=schema)
        yield last
        for batch in reader:
            last = batch
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
    if last.num_rows and "\n" in (last.column(-1)[-1].as_py() or "") and not file.end.rstrip(b"\r\n").endswith(b'"'):
        raise InputError("cannot be read: a quote never ends", where=str(path), remedy="is the file whole?")


def _refuse_other_widths(path: Path, name: str) -> None:
    """Raise for the first row with another number of fields than the header; return where there is none."""
    delimiter, names = _read_header(path)
    with contextlib.suppress(OSError, EOFError, UnicodeDecodeError, csv.Error), _open_text(path) as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)  # an error where a quote never ends
        for values in reader:
            if values and len(values) != len(names):
                what = f"cannot be read: {len(values)} fields where the header has {len(names)}"
                remedy = "is the file whole? Each row has a field, which may be empty, for each column"
                if len(values) > len(names):
                    remedy = f"quote fields that hold {_DELIMITERS[delimiter]} or line breaks"
                raise InputError(what, where=f"{name}, line {reader.line_num}", remedy=remedy)


def _read_header(path: Path) -> tuple[str, list[str]]:
    """Return the delimiter and the names of the columns."""
    with io.TextIOWrapper(io.BufferedReader(_FileBytes(path)), encoding="utf-8-sig", newline="") as file:
        line = file.readline(_MAX_HEADER)
        while line.count('"') % 2 and len(line) < _MAX_HEADER and (more := file.readline(_MAX_HEADER)):
            line += more  # a quoted name contains line breaks
    delimiter = find_delimiter(line)
    try:
        names = next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter), [])
    except csv.Error as error:
        raise InputError(f"cannot be read: {error}", where=f"{path}, line 1", remedy="is it a table?") from error
    _refuse_title(path, line, len(names), delimiter)
    _check_header(path, names)
    return delimiter, names


def _refuse_title(path: Path, line: str, n_names: int, delimiter: str) -> None:
    """Raise if the first line is no header, since rows of other fields, which agree, follow: a spreadsheet's title."""
    with io.TextIOWrapper(io.BufferedReader(_FileBytes(path)), encoding="utf-8-sig", newline="") as file:
        places = [
            (number, one) for number, one in enumerate(itertools.islice(file, _N_TITLE_LINES), 1) if one.strip(" \r\n")
        ]
    if len(places) < 3 or places[0][1].rstrip() != line.rstrip():
        return
    (_, title), (number, header), (_, row) = places[:3]
    own = find_delimiter(header)
    if n_names > 1 and n_names == row.count(delimiter) + 1:
        return
    try:
        counts = [len(next(csv.reader([one], delimiter=own, strict=True), [])) for one in (title, header, row)]
    except csv.Error:
        return
    if counts[0] == 1 < counts[1] == counts[2]:
        what = f"line 1 is no header: it is {title.strip()[:60]!r}, and {counts[1]} columns begin in line {number}"
        raise InputError(what, where=str(path), remedy=f"remove what stands above line {number}")


def find_delimiter(heading: str) -> str:
    """Return the delimiter that a first line has most often outside of quotation marks; a tab where it has none."""
    return max(_DELIMITERS, key=re.sub(r'"[^"]*"', "", heading).count)


def _check_header(path: Path, names: Sequence[str]) -> None:
    """Raise if the first line holds values, or one name twice."""
    numbers = [name for name in map(str.strip, names) if _NUMBER.fullmatch(name)]
    n_named = sum(bool(name.strip()) for name in names)
    is_first_other = len(numbers) == n_named - 1 and n_named > 1 and not _NUMBER.fullmatch(names[0].strip())
    if numbers and (len(numbers) == n_named or (is_first_other and not all(map(str.isdigit, numbers)))):
        what = f"the first line holds values and no names of columns: {', '.join(names)[:60]}"
        raise InputError(what, where=str(path), remedy="add a first line with the names")
    places: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        first = places.setdefault(name.strip().lower(), place)
        if first != place and name.strip():
            what = f"columns {first} and {place} have the same name, {name!r}"
            raise InputError(what, where=str(path), remedy="give each column its own name")


def open_unpacked(path: Path) -> io.BufferedReader:
    """Open a file as bytes, unpacked if it is gzip, whatever its name.

    Reading raises OSError when the gzip is damaged or expands like none that holds results; see `MOST_EXPANSION`.
    """
    return io.BufferedReader(_FileBytes(path), 1 << 20)


class _FileBytes(io.RawIOBase):
    """The bytes of a file, decompressed if it is gzip, whatever its name.

    Reading raises OSError when the gzip is damaged, or expands beyond `FREE_EXPANSION` bytes and `MOST_EXPANSION` times
    its size, which results of evaluations do not.

    Attributes
    ----------
    end
        The last bytes that were read.
    """

    def __init__(self, path: Path) -> None:
        self._raw = path.open("rb")
        is_gzip = self._raw.read(2) == b"\x1f\x8b"
        self._raw.seek(0)
        self._file = gzip.GzipFile(fileobj=self._raw) if is_gzip else self._raw
        self._most = max(FREE_EXPANSION, MOST_EXPANSION * path.stat().st_size) if is_gzip else None
        self._n_read = 0
        self.end = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer until it is full or the file ends; return their number."""
        n = 0
        while n < len(buffer):
            try:
                data = self._file.read1(len(buffer) - n)
            except (zlib.error, EOFError, OSError) as error:
                if n:
                    break  # what comes before a damaged part is not lost with it
                if isinstance(error, zlib.error):
                    raise OSError(f"damaged gzip: {error}") from error
                raise
            if not data:
                break
            self._n_read += len(data)
            if self._most is not None and self._n_read > self._most:
                raise OSError(f"it expands to more than {MOST_EXPANSION} times its size; unpack it if you trust it")
            buffer[n : n + len(data)] = data
            self.end = (self.end + data[-64:])[-64:]
            n += len(data)
        return n

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._raw.close()
        super().close()

    def check_expansion(self) -> None:
        """Read as far as it takes to see that the file does not expand too much; raise OSError if it does."""
        buffer = bytearray(1 << 20)
        while self._most is not None and self.readinto(buffer):
            if self._n_read > FREE_EXPANSION and self._n_read < MOST_EXPANSION / 2 * self._raw.tell():
                break


def _list_sql(files: Sequence[str]) -> str:
    """Return SQL for a list of file names and addresses."""
    return f"[{', '.join(quote_text(name if is_remote(name) else escape_file_name(name)) for name in files)}]"


def escape_file_name(name: str) -> str:
    """Return the name of an existing file so that DuckDB, which takes every name for a pattern, reads that file only.

    >>> escape_file_name("run[1].parquet")
    'run[[]1].parquet'
    """
    # DuckDB takes a tilde at the start for the home of the user.
    return _PATTERN_MARK.sub(r"[\1]", str(Path(name).absolute()) if name.startswith("~") else name)


def read_regular_file(path: Path) -> bytes:
    """Return the bytes of a file; raise OSError also for a pipe or a device, which may have no end."""
    try:
        mode = path.stat().st_mode
    except ValueError as error:
        raise OSError(errno.EINVAL, "the name contains a character that no file name has") from error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "a pipe or a device, not a file")
    return path.read_bytes()


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
    if path.suffix not in _ROW_READERS:
        remedy = "give " + ", ".join(_ROW_READERS)
        raise InputError(f"{what} in an unknown format {path.suffix!r}", where=where, remedy=remedy)
    return _ROW_READERS[path.suffix](content, where)


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
    """Yield the rows of a csv file, whose first row is the header, between commas, semicolons, tabs or bars."""
    text = _decode(content, file)
    heading = text.lstrip("\r\n").partition("\n")[0]
    delimiter = find_delimiter(heading)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    try:
        while (values := _read_long_fields(reader, len(text))) is not None:
            place = f"line {reader.line_num}"
            if not values:
                continue
            if not header:
                header = values
                if repeated := next((name for name in header if header.count(name) > 1 and name), ""):
                    where = f"{file}, {place}"
                    raise InputError(f"two columns are called {repeated!r}", where=where, remedy="rename one of them")
            elif len(values) != len(header):
                what = f"{len(values)} fields where the header has {len(header)}"
                raise InputError(
                    what,
                    where=f"{file}, {place}",
                    remedy=f"quote fields that hold {_DELIMITERS[delimiter]} or line breaks",
                )
            else:
                yield place, dict(zip(header, values, strict=True))
    except csv.Error as e:
        raise InputError(f"not CSV: {e}", where=f"{file}, line {reader.line_num}", remedy="correct the line") from None


def _read_long_fields(reader: Iterator[list[str]], longest: int) -> list[str] | None:
    """Return the next row, whose fields may be longer than the 131,072 characters that csv allows, or None."""
    limit = csv.field_size_limit(min(max(longest, 1), 2**31 - 1))
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(limit)


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


_ROW_READERS: dict[str, Callable[[bytes, str], Iterator[PlacedRow]]] = {
    ".jsonl": _read_jsonl,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}
