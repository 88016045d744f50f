"""Who a sample of an Inspect log belongs to: benchmark, model, question, variant and cluster, by fields of the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from howsure.errors import UnknownNameError
from howsure.readers.logs.base import Note, get_field
from howsure.readers.logs.inspect.file import Log
from howsure.readers.logs.inspect.records import Key, decode
from howsure.readers.logs.inspect.texts import resolved

__all__ = ["Columns", "Named"]

_HEADER = "eval."
_Fields = dict[str, msgspec.Raw]


class Named(NamedTuple):
    """What identifies a sample, save its generation."""

    benchmark: str
    model: str
    question: str
    variant: str = "default"
    cluster: str | None = None


class Columns:
    """Reads the fields that our columns are mapped to; where none is, ids and names are as the log has them.

    Raises
    ------
    UnknownNameError
        When a column is none of ours, or a field is neither in the header nor in the first sample.
    """

    def __init__(self, log: Log, columns: Mapping[str, str], *, benchmark: str) -> None:
        self._log = log
        for column in columns:
            if column not in Named._fields:
                raise UnknownNameError("column", column, Named._fields, where=str(log.path))
        self._default = Named(benchmark, log.header.eval.model, "")
        stated = {column: field for column, field in columns.items() if field.startswith(_HEADER)}
        self._fields = {column: field for column, field in columns.items() if column not in stated}
        record = log.fields() if stated else {}
        for column, field in stated.items():
            value = _told(get_field(record, field))
            if value is None:
                raise UnknownNameError("field", field, _paths(record, _HEADER[:-1]), where=str(log.path))
            self._default = self._default._replace(**{column: value})
        self._by_question = "question" in stated
        self._is_mapped = bool(columns)
        self._taken: set[tuple[str, str, str, str, int]] = set()
        self._missing: Counter[str] = Counter()
        self._shared = 0
        self._is_first = True

    def of(self, key: Key) -> Named:
        """Of one sample."""
        named = self._default if self._by_question else self._default._replace(question=key[0])
        if not self._fields:
            return named
        record = self._log.read(key, _Fields) or {}
        for column, field in self._fields.items():
            value = _told(_value(record, field))
            if value is not None:
                named = named._replace(**{column: value})
            elif self._is_first and record:
                known = [*_names(record), *_paths(self._log.fields(), "eval")]
                raise UnknownNameError("field", field, known, where=str(self._log.path))
            else:
                self._missing[field] += 1
        self._is_first = self._is_first and not record
        return named

    def free(self, named: Named, generation: int) -> int:
        """The generation's number, or the next that is free where several samples are one question and variant."""
        if not self._is_mapped:
            return generation
        place = (*named[:4], generation)
        self._shared += place in self._taken
        while place in self._taken:
            generation += 1
            place = (*named[:4], generation)
        self._taken.add(place)
        return generation

    def told(self, tell: Note) -> None:
        """What could not be mapped."""
        for field, n in self._missing.items():
            tell(f"{n} samples have no field {field!r}: they are read as if it were not asked for")
        if self._shared:
            tell(f"{self._shared} generations are numbered on, since several samples have one question and variant")


def _value(record: _Fields, field: str) -> Any:
    """The value at `a.b.c` of a sample, of which only `a` is decoded."""
    root, _, rest = field.partition(".")
    if root not in record:
        return None
    try:
        value = decode(record[root], Any)
        value = get_field(value, rest) if rest else value
        if isinstance(value, str) and "attachments" in record:
            return resolved(value, decode(record["attachments"], dict[str, str]))
    except ValueError:
        return None
    return value


def _told(value: Any) -> str | None:
    """A value as a label."""
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()


def _names(record: _Fields) -> Iterable[str]:
    for name in record:
        if name == "metadata":
            yield from _paths({name: decode(record[name], Any)}, name)
        elif name not in ("events", "events_data", "attachments", "messages"):
            yield name


def _paths(record: Any, root: str) -> Iterable[str]:
    """`root.a` and `root.a.b` for what lies in it."""
    inside = record.get(root)
    if not isinstance(inside, dict):
        return
    for name, value in inside.items():
        yield f"{root}.{name}"
        if isinstance(value, dict):
            yield from (f"{root}.{name}.{deeper}" for deeper in value)
