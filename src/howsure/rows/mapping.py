"""The mapping of a table or a folder: which column is what, in YAML that `preview -o` writes and `--map` reads.

It is used only where the user names it. Parts of paths count from the file: 0 is its name without ending, 1 its folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from howsure.errors import InputError, UnknownNameError
from howsure.rows.words import ALIASES, TEXTS

Shape: TypeAlias = Literal["generations", "cells", "models", "repeats", "variants", "questions"]
"""What a row and a column of a table are; docs/formats.md has an example of each."""
SHAPES: tuple[Shape, ...] = get_args(Shape)

GivenMap: TypeAlias = "str | Path | Mapping[str, object] | Sequence[str]"
"""A mapping as the user gives it: YAML, a file of it, a dict, or several texts."""

#: Names that the user may give to columns, beside those of texts.
NAMES = (*ALIASES, *(name for name in TEXTS if name not in ALIASES))
#: Names of which several columns make one.
_JOINED = ("benchmark", "model", "question", "variant", "generation", "cluster")


@dataclass(frozen=True)
class TableMap:
    """What the user said of a table; each field is a key of the YAML.

    Examples
    --------
    >>> read_map("{model: [strategy, method], percent: [score]}").columns
    {'model': ('strategy', 'method')}
    """

    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Our names to columns of the table; several columns make one name."""
    files: Mapping[str, int | str | tuple[int, ...]] = field(default_factory=dict)
    """Parts of paths: `{model: 1, benchmark: 2, generation: 0}`."""
    shape: Shape | None = None
    percent: tuple[str, ...] = ()
    """Columns of scores that are percent."""
    fraction: tuple[str, ...] = ()
    """Columns of scores such as 8/10."""
    drop: tuple[str, ...] = ()
    """Columns that are not read."""
    fill: tuple[str, ...] = ()
    """Columns whose blank cells have the value above."""
    missing: tuple[str, ...] = ()
    """Texts in a column of scores that mean that there is none."""
    header: tuple[int, ...] | None = None
    """Rows of the header, from 0."""
    sheet: str | None = None
    """The sheet of a workbook."""
    text: str = ""
    """The YAML itself, which the report keeps."""

    @property
    def digest(self) -> str:
        """The first 12 digits of the SHA-256 of the YAML; empty where there is none."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12] if self.text else ""

    def merge(self, other: TableMap) -> TableMap:
        """Return the mapping with what another says: lists of both, else the value of the other where it has one."""
        values: dict[str, Any] = {}
        for one in fields(self):
            own, new = getattr(self, one.name), getattr(other, one.name)
            if one.name in {"columns", "files"}:
                values[one.name] = {**own, **new}
            elif one.name in {"percent", "fraction", "drop", "fill", "missing"}:
                values[one.name] = tuple(dict.fromkeys((*own, *new)))
            else:
                values[one.name] = ", ".join(filter(None, (own, new))) if one.name == "text" else new or own
        return TableMap(**values)

    def with_columns(self, columns: Mapping[str, str | Sequence[str]]) -> TableMap:
        """Return the mapping with further columns, which count more than its own."""
        if not columns:
            return self
        own = {**self.columns, **parse_columns(columns)}
        return TableMap(**{**{one.name: getattr(self, one.name) for one in fields(self)}, "columns": own})


def parse_columns(columns: Mapping[str, str | Sequence[str]], where: str = "--columns") -> dict[str, tuple[str, ...]]:
    """Return our names with the columns of each; a text may name several, with commas between.

    Raises
    ------
    UnknownNameError
        When a name is none of ours.
    """
    result: dict[str, tuple[str, ...]] = {}
    for name, value in columns.items():
        if name not in NAMES:
            raise UnknownNameError("column", name, NAMES, where=where)
        parts = (
            value.split(",")
            if isinstance(value, str) and name in _JOINED
            else [value]
            if isinstance(value, str)
            else value
        )
        result[name] = tuple(part.strip() for part in parts)
        if len(result[name]) > 1 and name not in _JOINED:
            raise InputError(f"{len(result[name])} columns for the {name}", where=where, remedy="name one column")
    return result


def read_map(given: GivenMap) -> TableMap:
    """Return a mapping of a YAML file, of YAML text, of a dict, or of several of these texts.

    Raises
    ------
    InputError
        When it is no YAML, has an unknown key, or a value of another form.

    Examples
    --------
    >>> read_map("header: [0, 1]").header
    (0, 1)
    """
    import yaml

    where, text = "--map", ""
    if isinstance(given, (list, tuple)):
        maps = [read_map(one) for one in given]
        merged = maps[0] if maps else TableMap()
        for one in maps[1:]:
            merged = merged.merge(one)
        return merged
    if isinstance(given, Mapping):
        content: object = dict(given)
    else:
        text = str(given)
        if ":" not in text or Path(text).is_file():
            where = text
            try:
                text = Path(text).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                remedy = "howsure preview FILE -o map.yaml writes one"
                raise InputError(f"cannot be read: {error}", where=where, remedy=remedy) from error
        try:
            content = yaml.safe_load(
                text if where != "--map" or text.lstrip().startswith("{") or "\n" in text else f"{{{text}}}"
            )
        except yaml.YAMLError as error:
            raise InputError(f"no YAML: {' '.join(str(error).split())[:120]}", where=where) from error
    if not isinstance(content, dict):
        raise InputError("the mapping has no keys", where=where, remedy="write pairs such as model: COLUMN")
    return _decode(content, where)


def write_map(**values: object) -> tuple[str, str]:
    """Return keys of a mapping as an option of the command line.

    >>> write_map(drop=["cost", "a: b"])
    ('--map', "drop: [cost, 'a: b']")
    """
    import yaml

    text = yaml.safe_dump(values, default_flow_style=True, allow_unicode=True, width=10**9, sort_keys=False).strip()
    return "--map", text[1:-1]


def _decode(content: Mapping[Any, Any], where: str) -> TableMap:
    """Return the mapping with checked values."""
    allowed = [one.name for one in fields(TableMap) if one.name not in {"columns", "text"}]
    columns: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key in NAMES:
            columns[key] = [str(one) for one in value] if isinstance(value, list) else str(value)
        elif key not in allowed:
            raise UnknownNameError("key", str(key), [*NAMES, *allowed], where=where)
        elif key in {"percent", "fraction", "drop", "fill", "missing"}:
            values[key] = tuple(map(str, value)) if isinstance(value, list) else (str(value),)
        elif key == "header":
            rows = value if isinstance(value, list) else [value]
            if not all(isinstance(row, int) and row >= 0 for row in rows) or not rows:
                raise InputError(f"header {value!r}", where=where, remedy="give rows from 0: header: 2, header: [0, 1]")
            values[key] = tuple(rows)
        elif key == "files":
            values[key] = _decode_files(value, where)
        elif key == "shape":
            if value not in SHAPES:
                raise UnknownNameError("shape", str(value), SHAPES, where=where)
            values[key] = value
        else:
            values[key] = str(value)
    return TableMap(columns=parse_columns(columns, where), text=write_map(**content)[1], **values)


def _decode_files(value: object, where: str) -> dict[str, int | str | tuple[int, ...]]:
    """Return the parts of paths that names are taken from."""
    names = ("benchmark", "model", "generation")
    if not isinstance(value, dict) or not set(value) <= set(names):
        raise InputError(
            f"files {value!r}", where=where, remedy="give parts of paths: files: {model: 1, generation: 0}"
        )
    result: dict[str, int | str | tuple[int, ...]] = {}
    for name, part in value.items():
        result[name] = tuple(part) if isinstance(part, list) else part
    return result
