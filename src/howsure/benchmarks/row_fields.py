"""Read values of the rows of a file by a field's name, or by a pattern with the names of several fields."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from howsure.errors import InputError, UnknownNameError
from howsure.rows.formats import PlacedRow

Row = Mapping[str, object]
"""A row of a file: value by name of the field."""

_PATTERN = re.compile(r"\{([^{}\n]{1,80})\}")


def find_pattern_fields(pattern: str) -> list[str]:
    """Return the names in braces of a pattern.

    >>> find_pattern_fields("{narrative}, {question}"), find_pattern_fields("Record ID")
    (['narrative', 'question'], [])
    """
    return _PATTERN.findall(pattern)


def get_value(row: Row, name: str, where: str) -> object:
    """Return the value of a field; a dot leads into a nested one, also where that is written as text.

    Raises
    ------
    UnknownNameError
        When the row has no such field.

    >>> get_value({"targets": {"labels": [1, 0]}}, "targets.labels", "line 1")
    [1, 0]
    """
    if name in row:
        return row[name]
    value: object = row
    for part in name.split("."):
        if isinstance(value, str):
            value = parse_list(value)
        if not isinstance(value, Mapping) or part not in value:
            raise UnknownNameError("field", name, map(str, row), where=where)
        value = value[part]
    return value


def read_text(row: Row, name: str, where: str) -> str:
    """Return a field, or a filled pattern, as text: numbers as they are written, true and false as in JSON.

    Raises
    ------
    InputError
        When the field is missing or empty, or holds no text.

    >>> read_text({"a": 3, "b": "x"}, "b", ""), read_text({"a": 3, "b": "x"}, "{b}: {a}", "")
    ('x', 'x: 3')
    """
    if name not in row and find_pattern_fields(name):
        return fill_pattern(row, name, where)
    value = get_value(row, name, where)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        what = f"empty field {name!r}" if value is None or isinstance(value, str) else f"field {name!r} holds no text"
        raise InputError(what, where=where, remedy="fill it in, remove the row, or name another field")
    return value


def fill_pattern(row: Row, pattern: str, where: str) -> str:
    """Return a pattern with the fields of a row in place of their names in braces; a list of texts gives its lines.

    >>> fill_pattern({"passage": "It rained.", "question": "Why {so}?"}, "{passage} {question}", "line 1")
    'It rained. Why {so}?'
    """
    return _PATTERN.sub(lambda match: _read_lines(row, match[1], where), pattern)


def _read_lines(row: Row, name: str, where: str) -> str:
    """Return a field as text, a list of texts with a line for each."""
    value = row.get(name)
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return read_text(row, name, where)


def parse_list(text: str) -> object:
    """Return the list or mapping that a text writes, in JSON or as Python writes it; None if it writes none.

    >>> parse_list('["a", "b"]'), parse_list("('a', 'b')"), parse_list("a, b")
    (['a', 'b'], ['a', 'b'], None)
    """
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, list | tuple | dict):
            return list(value) if isinstance(value, tuple) else value
    return None


def select_rows(rows: Iterable[PlacedRow], where: Mapping[str, Sequence[str]], *, file: str) -> Iterator[PlacedRow]:
    """Yield the rows whose fields have one of the values that are asked for.

    Parameters
    ----------
    rows
        Place and fields of each row.
    where
        Allowed values, as text, by the name of a field.
    file
        Name of the file in errors.

    Raises
    ------
    UnknownNameError
        When a row has no such field, or no row has one of the values.
    """
    present: dict[str, set[str]] = {name: set() for name in where}
    for place, row in rows:
        values = {name: str(get_value(row, name, f"{file}, {place}")) for name in where}
        for name, value in values.items():
            present[name].add(value)
        if all(value in where[name] for name, value in values.items()):
            yield place, dict(row)
    for name, allowed in where.items():
        for value in allowed:
            if value not in present[name]:
                raise UnknownNameError(f"value of {name}", value, sorted(present[name])[:200], where=file)


def order_by_hash(n: int, key: str) -> list[int]:
    """Return a permutation of n places that is determined by a key, on every machine.

    >>> sorted(order_by_hash(4, "0 question-1"))
    [0, 1, 2, 3]
    """
    return sorted(range(n), key=lambda i: hashlib.sha256(f"{key}\0{i}".encode()).digest())
