"""What lies at and below paths: run folders, other programs' logs and tables, known by what they hold."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from howsure.errors import HowsureWarning, InputError
from howsure.readers.logs import find_reader
from howsure.readers.logs.base import ReadOptions
from howsure.readers.logs.file_head import FileHead
from howsure.readers.logs.log_source import LogSource, label_models
from howsure.readers.run import Run
from howsure.readers.table import Frame, Table
from howsure.store.responses import is_run
from howsure.tables import frames
from howsure.tables.table_files import SUFFIXES, is_glob, is_remote, is_table

if TYPE_CHECKING:
    from howsure.stats.core.cells import Cells
    from howsure.stats.core.cube import Cube

__all__ = ["Given", "Source", "find", "sources"]

#: What can be read: a path, a glob or address, a frame, or several of them.
Given = Any

#: Kinds of file that might have been a log; what else lies in a folder is nobody's business.
_LIKELY = ("json", "zip", "parquet")
_NAMED = 3


class Source(Protocol):
    """One run folder, log, table or frame."""

    heard: int
    """Lines of `told` that were passed on."""

    @property
    def path(self) -> str | Path:
        """Where it is, or what messages call it."""

    @property
    def told(self) -> list[str]:
        """What the numbers should be read with, a line each, once they have been read."""

    def cells(self) -> list[Cells]:
        """Cells, one per benchmark."""

    def runs(self) -> dict[str, list[Cells]]:
        """Cells of each run of the same thing, by benchmark."""

    def cubes(self, dimensions: Sequence[str] = (), *, wide: bool = False) -> list[Cube]:
        """Cells of each prompt variant, one cube per benchmark."""

    def manifest(self) -> dict[str, object] | None:
        """What it says of itself; None where it says nothing."""


def sources(
    given: Given,
    *,
    columns: Mapping[str, str] | None = None,
    scorer: str | None = None,
    generations: int | None = None,
    engine: str | None = None,
    master: str | None = None,
) -> list[Source]:
    """What there is to read, each once, in the order given.

    Parameters
    ----------
    given
        Paths and frames. A folder that is no run and no log is searched for both and for tables.
    columns
        Our names to the columns of tables and to the fields of logs.
    scorer
        Which of several scores is read, of logs and of run folders that were scored again.
    generations
        Only the first so many generations of each question are read, those with the lowest numbers in a source; None
        is all.
    engine, master
        "spark" reads every name through Spark, with its master; None is DuckDB and what reads logs.
    """
    columns = columns or {}
    how = _How(columns, scorer, generations)
    each = [given] if isinstance(given, (str, Path)) or frames.is_frame(given) else list(given)
    if engine == "spark":
        from howsure.tables.spark import frame_of, session

        spark = session(master)
        return [Frame(frame_of(spark, str(name)), columns, str(name), generations) for name in each]
    found: list[Source] = []
    seen: set[Path] = set()
    for one in each:
        if frames.is_frame(one):
            found.append(Frame(one, columns, generations=generations))
        elif is_remote(str(one)) or is_glob(str(one)):
            found.append(Table(str(one), columns, generations))
        else:
            here = (source for source in _at(Path(one), how))
            found += [source for source in here if _new(Path(source.path), seen)]
    return _once(found)


def find(paths: Given) -> list[Path]:
    """Paths of all run folders, logs and tables at or below the paths."""
    return [Path(source.path) for source in sources(paths)]


def _new(path: Path, seen: set[Path]) -> bool:
    known = path.resolve() in seen
    seen.add(path.resolve())
    return not known


def _once(found: list[Source]) -> list[Source]:
    """Without logs of a run that another log has told, and with a label for each model at its settings."""
    runs: dict[tuple[str, str], LogSource] = {}
    kept: list[Source] = []
    for source in found:
        if isinstance(source, LogSource):
            first = runs.setdefault((source.reader.NAME, source.info.run), source)
            if first is not source:
                line = f"{source.path}: the same run as {first.path}: left out"
                warnings.warn(line, HowsureWarning, stacklevel=4)
                continue
        kept.append(source)
    for log, labels in zip(runs.values(), label_models([log.info for log in runs.values()]), strict=True):
        log.labels = labels
    folders = [source for source in kept if isinstance(source, Run)]
    for i, folder in enumerate(folders):
        folder.before = folders[:i]
    return kept


class _How(NamedTuple):
    """How everything is to be read: see `sources`."""

    columns: Mapping[str, str]
    scorer: str | None
    generations: int | None


def _at(path: Path, how: _How) -> Iterable[Source]:
    if path.is_dir():
        unknown: list[str] = []
        here = list(_below(path, how, unknown))
        if unknown:
            shown = ", ".join(unknown[:_NAMED]) + (", ..." if len(unknown) > _NAMED else "")
            line = f"{path}: {len(unknown)} file{'s' * (len(unknown) > 1)} of no log that is known: {shown}"
            warnings.warn(line, HowsureWarning, stacklevel=4)
        if not here:
            remedy = f"give a run folder, logs, or tables ({', '.join(SUFFIXES)})"
            raise InputError("no run folder, no log and no table here", where=str(path), remedy=remedy)
        return here
    if not path.exists():
        remedy = f"give a run folder, logs, or tables ({', '.join(SUFFIXES)})"
        raise InputError("no such file or folder", where=str(path), remedy=remedy)
    logs = _logs(path, how)
    if logs is not None:
        return logs
    if is_table(path):
        return [Table(path, how.columns, how.generations)]
    remedy = f"give a run folder, a log, or a table ({', '.join(SUFFIXES)})"
    raise InputError("no log that is known, and no table by its name", where=str(path), remedy=remedy)


def _below(path: Path, how: _How, unknown: list[str]) -> Iterator[Source]:
    """In the order of names; hidden files and folders are not looked at."""
    if is_run(path):
        yield Run(path, columns=how.columns, scorer=how.scorer, generations=how.generations)
        return
    if path.is_dir():
        if logs := _logs(path, how):
            yield from logs
            return
        for child in sorted(path.iterdir()):
            if not child.name.startswith("."):
                yield from _below(child, how, unknown)
    elif logs := _logs(path, how):
        yield from logs
    elif is_table(path):
        yield Table(path, how.columns, how.generations)
    elif FileHead(path).kind in _LIKELY:
        unknown.append(path.name)


def _logs(path: Path, how: _How) -> list[LogSource] | None:
    """The logs that a file or folder stands for; None where nobody reads it."""
    reader = find_reader(path)
    if reader is None:
        return None
    asked = ReadOptions(scorer=how.scorer, columns=how.columns)
    return [
        LogSource(member, reader, asked, reader.describe(member), most_generations=how.generations)
        for member in reader.members(path)
    ]
