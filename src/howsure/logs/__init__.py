"""Readers of the logs of other evaluation programs, and the registry that finds the reader of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

from howsure.logs.base import LogReader
from howsure.logs.file_formats import FileHead
from howsure.logs.spec import Form, SpecReader, list_specs
from howsure.notes import Note, warn

__all__ = ["ENTRY_POINTS", "find_reader", "get_reader", "is_companion", "list_readers"]

#: Packages add readers by entry points of this group.
ENTRY_POINTS = "howsure.log_readers"
#: Endings of tables, and the columns that a table of ours has; such a file is no log of a program.
_TABLES = frozenset({".csv", ".tsv", ".parquet", ".xlsx", ".json", ".jsonl"})
_OWN_COLUMNS = frozenset({"question", "score"})

#: Names of files that belong to logs and are none themselves, by the names of the logs that they lie beside.
_COMPANIONS = {
    "run_metadata.json": ("results.json",),
    "metadata.json": ("results.jsonl",),
    "*-metrics.json": ("*-predictions.jsonl",),
    "*-requests.jsonl": ("*-predictions.jsonl",),
    "*-recorded-inputs.jsonl": ("*-predictions.jsonl",),
    "eval-set.json": ("*.eval", "*.json"),
    "logs.json": ("*.eval",),
    "listing.json": ("*.eval",),
}


def is_companion(path: Path) -> bool:
    """Return whether a file belongs to a log beside it, whose reader uses it, or which does not need it.

    >>> is_companion(Path("results.json"))
    False
    """
    if path.parent.parent.name == "predictions":
        # OpenCompass: details of the results have the predictions too, which may be in parts.
        results = path.parent.parent.parent / "results" / path.parent.name
        names = {path.name, re.sub(r"_\d+\.json$", ".json", path.name)}
        return any("details" in FileHead(results / name).keys for name in names if (results / name).is_file())
    patterns = next((beside for name, beside in _COMPANIONS.items() if path.match(name)), ())
    return any(other != path for pattern in patterns for other in path.parent.glob(pattern))


def find_reader(path: Path) -> LogReader | None:
    """Return the reader of a file or folder; None if no reader recognises it, or it is a table with our columns."""
    head = FileHead(path)
    if path.suffix.lower() in _TABLES and head.keys >= _OWN_COLUMNS:
        return None
    forms = _index_forms()
    for key in ("", *sorted(head.keys & forms.keys())):
        for program, form in forms[key]:
            if form.matches(head):
                return get_reader(program)
    return next((reader for place in _list_plugins().values() if (reader := _load(place)).recognises(head)), None)


def list_readers() -> Iterator[LogReader]:
    """Yield one reader of each program: those of howsure, then those of other installed packages."""
    yield from map(get_reader, list_specs())
    yield from map(_load, _list_plugins().values())


@cache
def get_reader(program: str) -> LogReader:
    """Return the reader of a program, by the name of its file in `specs/`."""
    spec = list_specs()[program]
    if not spec.reader:
        return SpecReader(spec)
    reader = _load(spec.reader)
    reader.forms = spec.forms
    return reader


@cache
def _index_forms() -> dict[str, list[tuple[str, Form]]]:
    """Return program and form by the first key that files of the form have; empty where it has no certain one."""
    forms: dict[str, list[tuple[str, Form]]] = {"": []}
    for program, spec in list_specs().items():
        for form in spec.forms:
            forms.setdefault(form.keys[0] if form.keys else "", []).append((program, form))
    return forms


@cache
def _load(place: str) -> LogReader:
    """Return an instance of the class at `module:name`."""
    reader: LogReader = resolve_name(place)()
    return reader


@cache
def _list_plugins() -> dict[str, str]:
    """Return the places of the readers of other packages, without those that cannot be imported."""
    from importlib.metadata import entry_points  # this takes 30 ms, and most files are recognised before it is needed

    places = {}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            _load(entry.value)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            facts = {"name": entry.name, "place": entry.value, "why": error}
            warn(Note("log-reader-unloadable", facts=facts), stacklevel=4)
        else:
            places[entry.name] = entry.value
    return places
