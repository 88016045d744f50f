"""Find out what a file is by its content, and write JSON of any shape, spreadsheets and other encodings as JSON lines.

JSON is an array of records, records one below the other, records in a field of an object ({"results": [...]}), or
columns by name, as data frames are written. A spreadsheet is read sheet by sheet.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from howsure.errors import HowsureWarning, InputError
from howsure.rows.words import ALIASES, find_alias
from howsure.rows.words import TEXTS as TEXT_ALIASES


def match_aliases(names, aliases=ALIASES, *, taken=()):
    names = list(names)
    return {o: c for o in aliases for c in [find_alias(o, names)] if c}


if TYPE_CHECKING:
    from python_calamine import CalamineSheet

__all__ = [
    "decode_text",
    "find_content_format",
    "find_encoding",
    "list_records",
    "read_sheets",
    "write_records",
]

#: Bytes to which an archive may always expand, and the largest multiple of its size.
FREE_EXPANSION, MOST_EXPANSION = 1 << 28, 200
#: Number of bytes at the start of a file that show what it is.
_HEAD = 1 << 16
#: Byte order marks with the encodings that they announce.
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
#: Encoding of text that is not UTF-8: that of Windows, whose letters are those of latin-1.
_FALLBACK = "cp1252"
#: Fields of an object that hold its records, before any other list of records.
_RECORD_FIELDS = ("results", "samples", "examples", "data", "records", "rows", "items", "scores")
#: What `zipfile` raises when it reads a damaged or an unusual archive.
_ZIP_ERRORS = (
    zipfile.BadZipFile,  # its directory or a checksum is wrong
    zlib.error,  # compressed bytes are damaged
    EOFError,  # a file inside it ends too early
    NotImplementedError,  # a file inside it is compressed in a form that zipfile does not know
    RuntimeError,  # a file inside it is encrypted
    UnicodeDecodeError,  # the name of a file inside it is damaged
    OSError,  # the archive cannot be read from the disk
)
#: A sheet of a workbook, and the place of a cell in its XML.
_SHEET, _CELL = re.compile(r"^xl/worksheets/[^/]*\.xml$"), re.compile(rb'<c\b[^>]{0,16}?\br="([A-Z]{1,3})(\d{1,7})"')
#: Our columns by which sheets are recognised as parts of one table, whatever other columns they have.
_SHEET_ROLES = frozenset({"model", "benchmark", "question", "variant", "generation", "score"})
#: Names of columns that number generations.
_NUMBERED = re.compile(
    r"(?:^|[ _.-])(?:run|seed|trial|rep(?:eat)?|sample|attempt|generation|score)[ _-]*\d+$|^\d+$", re.IGNORECASE
)
#: Largest number of cells of a sheet.
_MOST_CELLS = 20_000_000


def find_content_format(path: Path) -> str | None:
    """Return csv, parquet, json or xlsx by the first bytes of a file; None for anything else.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "scores.txt")
    ...     _ = file.write_text("model,question,score")
    ...     find_content_format(file)
    'csv'
    """
    head = _read_head(path)
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:4] == b"PK\x03\x04":
        return "xlsx" if _is_spreadsheet(path) else None
    encoding = find_encoding(head)
    text = head.decode(encoding, errors="replace").lstrip()
    if text[:1] in {"{", "["}:
        return "json"
    line = text.partition("\n")[0]
    if "\0" not in text and len(line) < _HEAD and any(mark in line for mark in ",;\t|"):
        return "csv"
    return None


def find_encoding(head: bytes) -> str:
    """Return the encoding of text by its first bytes; one that never fails where they are not UTF-8.

    >>> find_encoding("é".encode()), find_encoding("é".encode("utf-16")), find_encoding("é".encode("latin-1"))
    ('utf-8', 'utf-16', 'cp1252')
    """
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) < _HEAD)
    except UnicodeDecodeError:
        return _FALLBACK
    return "utf-8"


def decode_text(content: bytes, where: str) -> str:
    """Return the text of a file, and say which encoding it has where that is not UTF-8."""
    encoding = find_encoding(content)
    if encoding not in {"utf-8", "utf-8-sig"}:
        name = "UTF-16" if encoding == "utf-16" else "no UTF-8, and is read as Windows-1252 (latin-1)"
        warnings.warn(
            f"{where}: the text is {name}: save it as UTF-8 if names look wrong", HowsureWarning, stacklevel=2
        )
    try:
        return content.decode(encoding, errors="replace" if encoding == _FALLBACK else "strict")
    except UnicodeDecodeError as error:
        raise InputError(f"cannot be read: {error}", where=where, remedy="save it as UTF-8") from error


def list_records(content: bytes, where: str) -> list[dict[str, object]]:
    """Return the records of a JSON file of any shape.

    Parameters
    ----------
    content
        Bytes of the file.
    where
        Its name, for messages.

    Raises
    ------
    InputError
        When it is no JSON, or holds no records.
    """
    text = decode_text(content, where)
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return list(_decode_lines(text, where))
    records = _read_questions(value) if isinstance(value, dict) else None
    if records is not None and _KEY in records[0]:
        listed = f"{', '.join(list(value)[:2])}{', ...' * (len(value) > 2)}"
        line = f"{where}: its keys ({listed}) are read as ids of questions"
        warnings.warn(line, HowsureWarning, stacklevel=2)
    records = _find_records(value) if records is None else records
    if not records and isinstance(value, dict) and where.endswith((".jsonl", ".ndjson")):
        return [value]  # JSON lines with one line
    if not records:
        what = "JSON without a list of records such as [{...}, {...}]"
        raise InputError(what, where=where, remedy="write a record for each score, with model, question and score")
    return records


def _decode_lines(text: str, where: str) -> Iterator[dict[str, object]]:
    """Yield the records of JSON lines."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)  # which reads NaN
        except (ValueError, RecursionError) as error:
            remedy = "fix the line or leave it out; the last one is torn where a program was stopped"
            what = f"cannot be read: line {number} is no JSON ({error})"
            raise InputError(what, where=where, remedy=remedy) from error
        if isinstance(record, dict):
            yield record


def _find_records(value: object) -> list[dict[str, object]]:
    """Return the records that a JSON value holds; empty if there are none."""
    if isinstance(value, list):
        return [one for one in value if isinstance(one, dict)]
    if not isinstance(value, dict):
        return []
    columns, rows = value.get("columns"), value.get("data")
    if isinstance(columns, list) and isinstance(rows, list) and all(isinstance(row, list) for row in rows):
        return [dict(zip(map(str, columns), row, strict=False)) for row in rows]  # a frame, split
    if (by_column := _read_columns(value)) is not None:
        return by_column
    lists = {
        name: each for name, each in value.items() if isinstance(each, list) and each and isinstance(each[0], dict)
    }
    name = next((name for name in (*_RECORD_FIELDS, *lists) if name in lists), None)
    if name is None:
        return [value] if "score" in match_aliases(value) else []
    shared = {key: one for key, one in value.items() if isinstance(one, str | int | float | bool)}
    common = {key: shared[key] for key in match_aliases(shared).values() if key in shared}
    # A model or benchmark that stands once, beside the records, is that of all of them.
    common = {key: one for key, one in common.items() if key in match_aliases(common, _COMMON).values()}
    return [{**common, **record} for record in lists[name] if isinstance(record, dict)]


#: Columns that may stand once beside all records.
_COMMON = {
    "benchmark": ("benchmark", "benchmark_id", "benchmark_name", "dataset", "dataset_name", "task", "task_name"),
    "model": ("model", "model_id", "model_name"),
}


#: Column for the keys of an object that are ids of questions.
_KEY = "question_id"


def _read_questions(value: Mapping[str, object]) -> list[dict[str, object]] | None:
    """Return the records of an object whose keys are ids of questions; None for any other object.

    Its values are records with a score, lists of them, or scores by model: of 0 and 1, under more ids than models.
    """
    groups = {key: each if isinstance(each, list) else [each] for key, each in value.items()}
    records = [record for group in groups.values() for record in group]
    fields = dict.fromkeys(name for record in records if isinstance(record, dict) for name in record)
    if len(groups) < 2 or not fields or not all(isinstance(record, dict) for record in records):
        return None
    is_frame = "score" in match_aliases(value) or {"model", "question"} <= match_aliases(value).keys()
    has_ids = "question" in match_aliases(fields)
    if is_frame or not value.keys().isdisjoint(_RECORD_FIELDS) or (has_ids and len(records) > len(groups)):
        return None  # the keys are columns, or names of lists of records
    has_scores = "score" in match_aliases(fields)
    cells = [cell for record in records if isinstance(record, dict) for cell in record.values()]
    are_models = (
        len(groups) > len(fields) and len(records) == len(groups) and all(cell in (0, 1, None) for cell in cells)
    )
    if not (has_scores or are_models):
        return None
    if has_scores and has_ids and all(key.isdecimal() for key in groups):
        return [record for record in records if isinstance(record, dict)]  # the keys number the rows
    return [{_KEY: key, **record} for key, group in groups.items() for record in group if isinstance(record, dict)]


def _read_columns(value: Mapping[str, object]) -> list[dict[str, object]] | None:
    """Return the records of a frame that was written column by column; None for any other object."""
    each = list(value.values())
    if (
        each
        and all(isinstance(one, list) for one in each)
        and len({len(one) for one in each if isinstance(one, list)}) == 1
    ):
        rows = zip(*(one for one in each if isinstance(one, list)), strict=True)
        return [dict(zip(value, row, strict=True)) for row in rows]
    if len(each) < 2 or not all(isinstance(one, dict) and one for one in each):
        return None
    if any(isinstance(cell, dict | list) for one in each if isinstance(one, dict) for cell in one.values()):
        return None
    index = list(dict.fromkeys(key for one in each if isinstance(one, dict) for key in one))
    key = "question" if "question" not in match_aliases(value) else "index"
    return [{key: row, **{name: one.get(row) for name, one in value.items() if isinstance(one, dict)}} for row in index]


def read_sheets(path: Path) -> list[dict[str, object]]:
    """Return the rows of a spreadsheet as records.

    Sheets with the same columns are one table: where no column names the model the sheet does, else the benchmark. So
    are sheets with a question and a score, under any of their names, if they have the same of our columns. Of other
    sheets the first with a question and a score is read, and the others are named.

    Raises
    ------
    InputError
        When the file is damaged, or no sheet has rows.
    """
    from python_calamine import CalamineError, CalamineWorkbook

    _check_workbook(path)
    try:
        with CalamineWorkbook.from_path(str(path)) as book:
            sheets = {name: _read_sheet(book.get_sheet_by_name(name)) for name in book.sheet_names}
    except (CalamineError, OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path), remedy="save it as csv") from error
    tables = {name: rows for name, rows in sheets.items() if rows}
    if not tables:
        raise InputError("no sheet has a header and a row", where=str(path), remedy="save the table as csv")
    headers = {name: tuple(rows[0]) for name, rows in tables.items()}
    matched = {name: match_aliases(header) for name, header in headers.items()}
    first = max(tables, key=lambda name: ("score" in matched[name]) + ("question" in matched[name]))
    roles = matched[first].keys() & _SHEET_ROLES
    is_long = {"question", "score"} <= roles
    same = [
        name
        for name in tables
        if headers[name] == headers[first] or (is_long and matched[name].keys() & _SHEET_ROLES == roles)
    ]
    if others := [name for name in tables if name not in same]:
        line = f"{path}: sheet {first!r} is read; other sheets have other columns: {', '.join(others)}"
        warnings.warn(line, HowsureWarning, stacklevel=2)
    if len(same) == 1:
        return tables[first]
    # A sheet with a column for each model is of a benchmark, one with the generations of a model of a model.
    is_of_models = {"score", "mean"}.isdisjoint(matched[first]) and not (
        match_aliases(headers[first], TEXT_ALIASES).get("completion") or any(map(_NUMBERED.search, headers[first]))
    )
    order = ("benchmark", "model") if is_of_models else ("model", "benchmark")
    role = next((role for role in order if role not in matched[first]), "sheet")
    warnings.warn(f"{path}: {len(same)} sheets are one table, with the {role} of each", HowsureWarning, stacklevel=2)
    merged: list[dict[str, object]] = []
    for name in same:
        ours = {matched[name][key]: matched[first][key] for key in roles if key in matched[name]}
        merged += [
            {role: name, **{ours.get(column, column): cell for column, cell in row.items()}} for row in tables[name]
        ]
    return merged


def _check_workbook(path: Path) -> None:
    """Raise InputError for a workbook that expands beyond the limits of an archive, or has a cell far from all others.

    A sheet is read as a rectangle of cells, so that a single cell in the last row and column would fill the memory.
    """
    n_bytes, size = 0, path.stat().st_size
    try:
        with zipfile.ZipFile(path) as book:
            for entry in book.infolist():
                n_cells, tail = [1, 1], b""
                is_sheet = _SHEET.search(entry.filename) is not None
                with book.open(entry) as file:
                    while block := file.read(1 << 20):
                        n_bytes += len(block)
                        if n_bytes > FREE_EXPANSION and n_bytes > MOST_EXPANSION * size:
                            what = f"expands to more than {FREE_EXPANSION >> 20} MB and {MOST_EXPANSION} times its size"
                            raise InputError(what, where=str(path), remedy="save the table as csv")
                        for column, row in _CELL.findall(tail + block) if is_sheet else ():
                            n_cells = [max(n_cells[0], _number_column(column)), max(n_cells[1], int(row))]
                        tail = block[-32:]
                if n_cells[0] * n_cells[1] > _MOST_CELLS:
                    what = f"a sheet of {n_cells[1]:,} rows and {n_cells[0]:,} columns, most of them empty"
                    raise InputError(
                        what, where=str(path), remedy="remove what stands far from the table, or save it as csv"
                    )
    except _ZIP_ERRORS as error:
        raise InputError(f"cannot be read: {error}", where=str(path), remedy="save it as csv") from error


def _number_column(letters: bytes) -> int:
    """Return the number of a column of a spreadsheet, from 1: A is 1 and AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _read_sheet(sheet: CalamineSheet) -> list[dict[str, object]]:
    """Return the rows of a sheet below its header, which is the first row with two values.

    A value of merged cells is that of each of them.
    """
    rows = [[_convert_cell(cell) for cell in row] for row in sheet.to_python()]
    start = next((i for i, row in enumerate(rows) if sum(cell is not None for cell in row) > 1), len(rows))
    if start + 1 >= len(rows):
        return []
    top, left = sheet.start or (0, 0)
    n_left = len(rows) * len(rows[start])  # ranges that overlap are not merged cells, and may be without number
    for (first_row, first_column), (last_row, last_column) in sheet.merged_cell_ranges or ():
        merged_rows = range(max(first_row - top, start), min(last_row - top + 1, len(rows)))
        merged_columns = range(max(first_column - left, 0), min(last_column - left + 1, len(rows[start])))
        if (n_left := n_left - len(merged_rows) * len(merged_columns)) < 0 or not (merged_rows and merged_columns):
            continue
        value = rows[merged_rows[0]][merged_columns[0]]
        for i in merged_rows:
            rows[i][merged_columns[0] : merged_columns[-1] + 1] = [value] * len(merged_columns)
    header = [str(name).strip() if name is not None else " " * (i + 1) for i, name in enumerate(rows[start])]
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        remedy = "give each column its own name in one row, such as gpt-4_run1"
        raise InputError(f"two columns have the same name, {twice!r}", remedy=remedy)
    body = [dict(zip(header, row, strict=False)) for row in rows[start + 1 :]]
    return [row for row in body if any(cell is not None for cell in row.values())]


def _convert_cell(cell: object) -> object:
    """Return the value of a cell: whole numbers as such, dates as text, None for an empty cell."""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, str):
        return cell.strip() or None
    return cell if isinstance(cell, int | float | bool) else None if cell is None else str(cell)


def write_records(records: Iterable[Mapping[str, object]], path: Path) -> None:
    """Write records as JSON lines."""
    with path.open("wb") as file:
        for record in records:
            file.write(msgspec.json.encode(record) + b"\n")


def _read_head(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed if it is gzip."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head[:2] != b"\x1f\x8b":
        return head
    with gzip.open(path) as file:
        return file.read(_HEAD)


def _is_spreadsheet(path: Path) -> bool:
    """Return whether a zip file is a workbook."""
    try:
        with zipfile.ZipFile(path) as file:
            names = set(file.namelist())
    except (zipfile.BadZipFile, OSError):
        return False
    return "xl/workbook.xml" in names or "content.xml" in names
