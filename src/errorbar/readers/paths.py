"""Paths to cells: run folders and tables, several at once, found by looking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from errorbar.errors import InputError
from errorbar.readers.tidy import SUFFIXES, is_table, read_table
from errorbar.store import tables
from errorbar.store.responses import is_run
from errorbar.store.responses import read as read_run

if TYPE_CHECKING:
    from errorbar.stats.cells import Cells

__all__ = ["find", "manifests", "read"]


def read(paths: str | Path | Iterable[str | Path], *, columns: Mapping[str, str] | None = None) -> list[Cells]:
    """Cells of run folders and tidy tables, one per benchmark; those of the same benchmark add up.

    Parameters
    ----------
    paths
        Files and folders; a folder that is not a run is searched for runs and tables.
    columns
        Our column names to the tables', where their usual names would not find them; see `readers.tidy.ALIASES`.
    """
    parts: list[Cells] = []
    for path in find(paths):
        if path.is_dir():
            table = read_run(path, ["benchmark", "model", "question", "variant", "score", "answer"])
            parts += tables.cells(table, where=str(path))
        else:
            parts += read_table(path, columns)
    return tables.merge(parts)


def manifests(paths: str | Path | Iterable[str | Path]) -> list[dict[str, object]]:
    """What the run folders among the paths say of themselves; one that was killed at its start says nothing."""
    import msgspec

    from errorbar.store.manifest import NAME, load

    runs = [path for path in find(paths) if path.is_dir() and (path / NAME).is_file()]
    return [msgspec.to_builtins(load(path)) for path in runs]


def find(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """Run folders and tables at or below the paths, each once, in the order given."""
    given = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(path) for path in paths]
    found: dict[Path, Path] = {}
    for path in given:
        here = [path] if path.is_file() else list(_below(path))
        if not here:
            raise InputError(
                "no run folder and no table here" if path.is_dir() else "no such file or folder",
                where=str(path),
                remedy=f"give a run folder, or tables ({', '.join(SUFFIXES)})",
            )
        for one in here:
            found.setdefault(one.resolve(), one)
    return list(found.values())


def _below(path: Path) -> Iterable[Path]:
    if is_run(path):
        yield path
    elif path.is_dir():
        for child in sorted(path.iterdir()):
            if child.is_dir():
                yield from _below(child)
            elif is_table(child):
                yield child
