"""Find the names of the columns in the first rows of a csv or a sheet; refuse what is no header, or not one row."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from howsure.errors import InputError

#: The row of the header, from 0, or several, whose names are joined; None where the user has not said it.
Header: TypeAlias = int | Sequence[int] | None


def choose_header(rows: Sequence[Sequence[str]], header: Header, where: str) -> tuple[tuple[str, ...], int]:
    """Return the names of the columns, and which of the rows, which are not blank, is the last of the header.

    A first column without a name is `#`. Other columns without a name and without a value and, where the user says
    which rows are the header, all others and names that stand twice, have their number behind them: `score #3`.
    """
    levels = [0] if header is None else [header] if isinstance(header, int) else list(header)
    if not levels or not 0 <= min(levels) <= max(levels) < len(rows):
        raise InputError("no header", where=where, remedy="give a table with a header and at least one row")
    *above, names = [list(rows[level]) for level in levels]
    if above:  # a blank cell above goes on with the one before it
        rows_above = [list(itertools.accumulate(map(str.strip, row), _continue)) for row in above]
        parts = itertools.zip_longest(*rows_above, map(str.strip, names), fillvalue="")
        joined = [" ".join(filter(None, part)) for part in parts]
        # pandas writes the name of the index alone into the last row, below the names of the levels.
        names = [names[0], *joined[1:]] if names[0] and not any(names[1:]) else joined
    counts = Counter(name.strip().casefold() for name in names)
    unclear = [i for i, name in enumerate(names) if not name.strip() or counts[name.strip().casefold()] > 1]
    if header is None:  # a column without a name and without a value is no reason to refuse
        in_use = [i for i in unclear if any(row[i : i + 1] and row[i].strip() for row in rows)]
        _refuse_other_header(rows, [i for i in in_use if i or names[0].strip()], where)
    renamed = {i: f"{names[i]} #{i + 1}".strip() if i or names[0].strip() else "#" for i in unclear}
    return tuple(renamed.get(i, name) for i, name in enumerate(names)), max(levels)


def _continue(left: str, cell: str) -> str:
    """Return a cell, or the one on its left if it is blank."""
    return cell or left


def _refuse_other_header(rows: Sequence[Sequence[str]], unclear: Sequence[int], where: str) -> None:
    """Raise if the first row is a title or one of several rows of a header, holds values, or has unclear names."""
    first, *below = [[cell.strip() for cell in row] for row in rows]
    n_filled = [sum(map(bool, row)) for row in (first, *below)]
    numbers = [_is_number(cell) for cell in first if cell]
    are_whole = all(map(str.isdigit, first[1:]))  # years
    second, third = (*below, [], [])[:2]
    is_second = all(second) and bool(second) and not _is_number(second[0])
    is_second = is_second and not (first[0] and any(map(_is_number, second)))
    if n_filled[0] == 1 and first[0] and len(below) > 1 and max(n_filled) > 1:
        place = n_filled.index(max(n_filled))
        what, mapping = f"the first line is no header, but {first[0][:60]!r}", f"header: {place}"
    elif all(numbers) or (sum(numbers) == len(numbers) - 1 > 0 and not numbers[0] and not are_whole):
        what = f"the first line holds values and no names of columns: {', '.join(first)[:60]}"
        raise InputError(what, where=where, remedy="add a first line with the names", code="header")
    elif unclear and any(third) and not any(third[1:]):
        what, mapping = "the names of the columns stand in several lines", "header: [0, 1, 2]"
    elif unclear and is_second:
        what, mapping = "the names of the columns stand in several lines", "header: [0, 1]"
    elif unclear:
        name = first[unclear[0]]
        what = f"two columns are called {name!r}" if name else f"column {unclear[0] + 1} has no name"
        remedy = "name each column, or read them with their numbers behind their names by --map 'header: 0'"
        raise InputError(what, where=where, remedy=remedy, code="column-names")
    else:
        return
    remedy = f"say which rows it is, from 0, without counting blank ones: --map '{mapping}'"
    raise InputError(what, where=where, remedy=remedy, code="header", options=("--map", mapping))


def _is_number(text: str) -> bool:
    """Return whether a text is a number, perhaps in percent."""
    try:
        return math.isfinite(float(text.rstrip("% ").replace(",", ".")))
    except ValueError:
        return False
