"""Read a sheet of a workbook, with bounds on what it expands to."""

from __future__ import annotations

import re
import zipfile
import zlib
from pathlib import Path

from howsure.errors import InputError
from howsure.rows import formats

#: What `zipfile` raises when it reads a damaged or an unusual archive.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError, OSError)
#: The place of a cell in the XML of a sheet.
_CELL = re.compile(rb'<c\b[^>]{0,16}?\br="([A-Z]{1,3})(\d{1,7})"')
#: Largest number of cells of a sheet.
_MOST_CELLS = 20_000_000
_REMEDY = "save the table as csv"


def read_sheet(path: Path, where: str, sheet: str | None) -> dict[int, list[object]]:
    """Return the rows of the only sheet that has rows, or of the one that is named, by their numbers from 1.

    Blank rows are left out. Raises InputError when the workbook is damaged or too large, or when none or several sheets
    have rows and none is named.
    """
    from python_calamine import CalamineError, CalamineWorkbook

    _check_size(path, where)
    tables: dict[str, dict[int, list[object]]] = {}
    try:
        with CalamineWorkbook.from_path(str(path)) as book:
            names = book.sheet_names
            for name in [sheet] if sheet in names else names:
                one = book.get_sheet_by_name(name)
                rows = enumerate(one.to_python(), one.start[0] + 1 if one.start else 1)
                converted = {number: list(map(_convert, row)) for number, row in rows}
                tables[name] = {number: row for number, row in converted.items() if row.count(None) < len(row)}
    except (CalamineError, OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", where=where, remedy=_REMEDY) from error
    if sheet is not None and sheet not in names:
        raise InputError(f"no sheet {sheet!r}", where=where, remedy=f"its sheets are {', '.join(names)}")
    n_wide = {name: sum(len(row) - row.count(None) > 1 for row in rows.values()) for name, rows in tables.items()}
    with_rows = [name for name, n in n_wide.items() if n > 1]
    if not with_rows:
        raise InputError("no sheet has a header and a row", where=where, remedy=_REMEDY)
    if len(with_rows) > 1:
        what = f"{len(with_rows)} sheets have rows: {', '.join(with_rows)}"
        raise InputError(what, where=where, remedy="name the one to read with --map 'sheet: NAME'", code="sheets")
    return tables[with_rows[0]]


def _convert(cell: object) -> object:
    """Return the value of a cell: whole numbers as such, None for an empty cell."""
    if isinstance(cell, str):
        return cell.strip() or None
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _check_size(path: Path, where: str) -> None:
    """Raise InputError for a workbook that expands beyond the limits of an archive, or has a cell far from all others.

    A sheet is read as a rectangle of cells, so that a single cell in the last row and column would fill the memory.
    """
    n_bytes, most = 0, max(formats.FREE_EXPANSION, formats.MOST_EXPANSION * path.stat().st_size)
    try:
        with zipfile.ZipFile(path) as book:
            for entry in book.infolist():
                n_rows, n_columns, tail = 1, 1, b""
                with book.open(entry) as file:
                    while block := file.read(1 << 20):
                        n_bytes += len(block)
                        if n_bytes > most:
                            what = f"expands to more than {formats.MOST_EXPANSION} times its size"
                            raise InputError(what, where=where, remedy=_REMEDY)
                        for letters, row in _CELL.findall(tail + block):
                            column = sum((letter - 64) * 26**i for i, letter in enumerate(reversed(letters)))
                            n_columns, n_rows = max(n_columns, column), max(n_rows, int(row))
                        tail = block[-32:]
                if n_rows * n_columns > _MOST_CELLS:
                    what = f"a sheet of {n_rows:,} rows and {n_columns:,} columns, most of them empty"
                    raise InputError(what, where=where, remedy="remove what stands far from the table")
    except _ZIP_ERRORS as error:
        raise InputError(f"cannot be read: {error}", where=where, remedy=_REMEDY) from error
