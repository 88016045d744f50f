"""Files of instructions: reviewed phrasings that ask for the same thing, each with an id."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from howsure.errors import InputError, UnknownNameError

__all__ = ["FILES", "Instruction", "packaged", "parse", "reviewed", "written"]

#: Name -> file, of those that ship with the package.
FILES = {"multiple-choice": "multiple_choice.toml", "open": "open.toml", "maths": "maths.toml"}

_KEYS = ("id", "text", "style", "asks", "reviewed")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One phrasing."""

    id: str
    text: str
    style: str = ""
    asks: str = ""
    """"label" when it asks for the label of a choice; empty when it leaves the form open."""
    reviewed: bool = False


@lru_cache
def packaged(name: str) -> tuple[Instruction, ...]:
    """The reviewed phrasings that ship with the package.

    Raises
    ------
    UnknownNameError
        When there is no such file.
    """
    if name not in FILES:
        raise UnknownNameError("instruction file", name, FILES)
    return parse(Path(__file__).with_name(FILES[name]).read_text(encoding="utf-8"), where=FILES[name])


def parse(text: str, *, where: str = "instructions") -> tuple[Instruction, ...]:
    """The phrasings of a TOML file; `where` names it in errors.

    Raises
    ------
    InputError
        When it is not TOML, an entry lacks its id or text, or two have the same one.
    UnknownNameError
        When an entry has a key that does not exist.
    """
    try:
        tables = tomllib.loads(text).get("instruction", [])
    except tomllib.TOMLDecodeError as e:
        raise InputError(f"not TOML: {e}", where=where, remedy="correct the line") from None
    found: list[Instruction] = []
    for i, table in enumerate(tables if isinstance(tables, list) else [], start=1):
        place = f"{where}, instruction {i}"
        entry = _entry(table, place)
        for other in found:
            if entry.id == other.id or _same(entry.text, other.text):
                raise InputError(f"the same as {other.id!r}", where=place, remedy="remove one, or give it another id")
        found.append(entry)
    if not found:
        raise InputError("no instructions", where=where, remedy='write [[instruction]], id = "...", text = "..."')
    return tuple(found)


def _entry(table: dict[str, Any], place: str) -> Instruction:
    for key in table:
        if key not in _KEYS:
            raise UnknownNameError("key", key, _KEYS, where=place)
    for key in ("id", "text"):
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise InputError(f"it has no {key}", where=place, remedy=f'write {key} = "..."')
    if table.get("asks", "") not in ("", "label"):
        raise InputError(f"asks is {table['asks']!r}", where=place, remedy='write asks = "label", or leave it out')
    return Instruction(**table)


def reviewed(entries: Iterable[Instruction], *, where: str = "instructions") -> tuple[Instruction, ...]:
    """The entries, when all of them were reviewed.

    Raises
    ------
    InputError
        When some were not: no run asks what nobody has read.
    """
    entries = tuple(entries)
    if waiting := [entry.id for entry in entries if not entry.reviewed]:
        remedy = "read them and set reviewed = true, or remove them"
        raise InputError(f"not reviewed: {', '.join(waiting)}", where=where, remedy=remedy)
    return entries


def written(entries: Iterable[Instruction]) -> str:
    """The entries as a TOML file, which `parse` reads back."""
    return "\n".join(_table(entry) for entry in entries)


def _table(entry: Instruction) -> str:
    keys = {"id": entry.id, "style": entry.style, "asks": entry.asks, "text": entry.text}
    lines = [f"{key} = {_quoted(text)}" for key, text in keys.items() if text]
    return "\n".join(["[[instruction]]", *lines, f"reviewed = {str(entry.reviewed).lower()}", ""])


def _quoted(text: str) -> str:
    """A string of JSON is one of TOML, but for the one control character that JSON leaves alone."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _same(a: str, b: str) -> bool:
    return a.casefold().split() == b.casefold().split()
