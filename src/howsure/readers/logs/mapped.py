"""Fields of a log that the user maps to our names: `--columns question=vars.id`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from howsure.errors import UnknownNameError
from howsure.readers.logs.row import step

__all__ = ["NAMES", "Mapped"]

#: Our names that a log's fields can be mapped to.
NAMES = ("benchmark", "model", "question", "variant", "cluster")


class Mapped:
    """Reads the mapped fields of one record after another; the first record must have them.

    >>> Mapped({"question": "vars.id"}, where="log.json").of({"vars": {"id": 7}}, "question")
    '7'
    """

    def __init__(self, columns: Mapping[str, str], *, where: str) -> None:
        for name in columns:
            if name not in NAMES:
                raise UnknownNameError("column", name, NAMES, where=where)
        self._columns, self._where, self._checked = columns, where, False

    def __bool__(self) -> bool:
        return bool(self._columns)

    def of(self, record: Any, name: str) -> str | None:
        """The value as text; None where nothing is mapped to the name, or this record has none."""
        if not self._columns:
            return None
        if not self._checked:
            self._check(record)
        value = step(record, self._columns[name]) if name in self._columns else None
        if value is None or isinstance(value, str):
            return value
        return msgspec.json.encode(value, order="sorted").decode()

    def _check(self, record: Any) -> None:
        for field in self._columns.values():
            if step(record, field) is None:
                parent = step(record, field.rpartition(".")[0]) if "." in field else None
                prefix = field.rpartition(".")[0] + "."
                known = [prefix + name for name in parent] if isinstance(parent, Mapping) else list(record)
                raise UnknownNameError("field", field, known, where=self._where)
        self._checked = True
