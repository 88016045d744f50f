"""Logs of other programs to a run folder, with every text that they hold.

The folder is made beside its place under another name and is put there when it is whole: a conversion that was killed
leaves nothing that looks like a run of this name, and the next one clears it away.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError, StoreError
from howsure.readers.logs.base import UNSCORED, LogInfo, LogReader, LogRow, Note, ReadOptions
from howsure.readers.logs.log_source import label_models
from howsure.stats.core.results import Columns, Result
from howsure.store import manifest
from howsure.store.atomic import FolderLock, sync_folder, temporary_path
from howsure.store.manifest import Manifest, Model
from howsure.store.responses import RunFolder, stream
from howsure.store.schema import COLUMNS, Response

__all__ = ["Converted", "convert", "making"]

#: A transaction ends at so many rows or characters of completions.
_ROWS, _TEXT = 1000, 4 << 20


@dataclass(frozen=True)
class Converted(Result):
    """What a run folder holds after its conversion; all arrays have one value per benchmark and model, (R,)."""

    benchmark: NDArray[np.object_]
    model: NDArray[np.object_]
    n_questions: NDArray[np.int64]
    n_variants: NDArray[np.int64]
    n_generations: NDArray[np.int64]
    """Rows; of them scored, failed and unscored are a part each."""
    n_scored: NDArray[np.int64]
    n_failed: NDArray[np.int64]
    n_unscored: NDArray[np.int64]

    def columns(self) -> Columns:
        """Columns by name."""
        return dict(vars(self))


_Note = Callable[[Path, str], None]


class _Log(NamedTuple):
    """One log, what it says of itself, and our labels of its models."""

    reader: LogReader
    path: Path
    about: LogInfo
    labels: dict[str, str]

    def label(self, model: str) -> str:
        return self.labels.get(model, model)


def convert(logs: Sequence[tuple[LogReader, Path]], output: Path, *, asked: ReadOptions, tell: Note) -> Converted:
    """Write all generations of logs to a run folder, texts and clusters with them.

    The same model in two logs of one benchmark was run twice: generations of the second continue the numbers of the
    first. At other decoding settings it is another model, and they are part of its label.

    Parameters
    ----------
    logs
        Each with who reads it; `convert.table.Table` reads tables.
    output
        A folder that is not there or empty.
    asked
        How they are read; texts are read in any case.
    tell
        Hears what the logs cannot say and what was left out, with the path; the manifest keeps it.

    Raises
    ------
    InputError
        When there is something at `output`, when the logs hold no generation, or when one cannot be read: then nothing
        is left at `output`.
    StoreError
        When the folder cannot be written, or another process is making it.
    """
    told: list[str] = []

    def note(path: Path, line: str) -> None:
        told.append(f"{path.name}: {line}")
        tell(f"{path}: {line}")

    each = _distinct(logs, note)
    with making(output) as half:
        with RunFolder(half) as run:
            manifest.begin(half, _manifest(each, note))
            _fill(run, each, msgspec.structs.replace(asked, texts=True), note)
            run.compact()
            manifest.finish(half, warnings=told)
        return _counted(half)


@contextlib.contextmanager
def making(output: Path) -> Iterator[Path]:
    """Write in the folder that is yielded; on leaving it takes its place at `output`, or is removed where that failed.

    Raises
    ------
    InputError
        When there is something at `output`.
    StoreError
        When the folder cannot be written, or another process is making it.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        what = "there is something here already"
        raise InputError(what, where=str(output), remedy="name another folder, or remove it")
    half = temporary_path(output.absolute())
    _clear(half)
    try:
        half.mkdir(parents=True)
        yield half
        half.replace(output)
        sync_folder(output.absolute().parent)
    except OSError as error:
        told = error.strerror or str(error)
        raise StoreError(f"{output}: {told}; free space, or name a folder that can be written") from error
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _clear(half: Path) -> None:
    """Remove what a killed conversion left, unless one lives there."""
    if half.exists():
        FolderLock(half).release()
        shutil.rmtree(half)


def _distinct(logs: Sequence[tuple[LogReader, Path]], note: _Note) -> list[_Log]:
    """Each log once, with labels that tell the settings of models apart."""
    found: dict[object, tuple[LogReader, Path, LogInfo]] = {}
    for reader, given in logs:
        for path in reader.members(given):
            about = reader.describe(path)
            # Files of one run may hold a benchmark each.
            key = reader.name, about.run, tuple(sorted(about.benchmarks)), tuple(sorted(about.models))
            if key in found:
                other = found[key][1]
                same = path.resolve() == other.resolve()
                note(path, "given twice, and read once" if same else f"the same run as {other.name}, and left out")
            else:
                found[key] = reader, path, about
    labels = label_models([about for *_, about in found.values()])
    return [_Log(*log, labels=names) for log, names in zip(found.values(), labels, strict=True)]


def _manifest(logs: Sequence[_Log], note: _Note) -> Manifest:
    """What the logs say of where their rows are from; of what they say differently, the first."""
    benchmarks: dict[str, dict[str, object]] = {}
    models: dict[str, Model] = {}
    generations: Counter[tuple[str, str]] = Counter()
    for log in logs:
        for name, source in log.about.benchmarks.items():
            _same(f"benchmark {name}", benchmarks.setdefault(name, dict(source)), source, log, note)
        for old, model in log.about.models.items():
            label = log.label(old)
            first = models.setdefault(label, model)
            _same(f"model {label}", first.settings, model.settings, log, note)
            generations.update({(name, label): model.generations for name in log.about.benchmarks})
    for label, model in models.items():
        most = max((n for (_, of), n in generations.items() if of == label), default=1)
        models[label] = msgspec.structs.replace(model, generations=most)
    return Manifest(benchmarks=benchmarks, models=models, notes=tuple(map(_made, logs)))


def _made(log: _Log) -> str:
    when = f", made {log.about.created}" if log.about.created else ""
    return f"converted from {log.path.name}: {log.reader.name}, run {log.about.run}{when}"


def _same(what: str, first: Mapping[str, object], other: Mapping[str, object], log: _Log, note: _Note) -> None:
    for name in sorted(first.keys() | other.keys()):
        if first.get(name) != other.get(name):
            note(log.path, f"{what}: {name} is {other.get(name)!r} here and {first.get(name)!r} in a log before it")


def _fill(run: RunFolder, logs: Sequence[_Log], asked: ReadOptions, note: _Note) -> None:
    """Append the rows and prompts of all logs; memory is that of one batch and of the names of cells."""
    last: defaultdict[tuple[str, ...], int] = defaultdict(int)
    prompts: dict[tuple[str, str, str], bool] = {}
    for log in logs:
        before = dict(last) if len(logs) > 1 else {}
        told: list[str] = []
        for batch in _batches(log.reader.rows(log.path, asked, told.append)):
            rows = []
            for row in batch:
                cell = row.benchmark, log.label(row.model), row.question, row.variant
                values = {name: getattr(row, name) for name in COLUMNS}
                values |= {"model": cell[1], "generation": before.get(cell, 0) + row.generation}
                rows.append(Response(**values))
                if len(logs) > 1:
                    last[cell] = max(last[cell], values["generation"])
            run.put_prompts(list(_prompts(batch, prompts)))
            run.append(rows)
        for line in told:
            note(log.path, line)


def _batches(rows: Iterable[LogRow]) -> Iterator[list[LogRow]]:
    batch: list[LogRow] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row.completion or "")
        if len(batch) >= _ROWS or size >= _TEXT:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _prompts(batch: Sequence[LogRow], there: dict[tuple[str, str, str], bool]) -> Iterator[tuple[Any, ...]]:
    """What each question was asked as, once: the first that has its messages; `there` says whether one had."""
    for row in batch:
        key = row.benchmark, row.question, row.variant
        whole = row.messages is not None
        known = there.get(key)
        if known or (known is False and not whole):
            continue
        record: dict[str, Any] = {"choices": list(row.choices)} if row.choices else {}
        if row.cluster is not None:
            record["cluster"] = row.cluster
        if whole or record or row.target is not None:
            there[key] = whole
            yield *key, list(row.messages or ()), row.target or "", record or None


def _counted(folder: Path) -> Converted:
    """Counts of what the folder holds now."""
    import duckdb

    names = ["benchmark", "model", "question", "variant", "score", "status"]
    with duckdb.connect() as connection:
        rows = connection.from_arrow(stream(folder, names))
        counts = (
            rows.aggregate(
                "benchmark, model, count(DISTINCT question), count(DISTINCT variant), count(*), count(score), "
                f"count(*) FILTER (score IS NULL AND status <> '{UNSCORED}'), "
                f"count(*) FILTER (score IS NULL AND status = '{UNSCORED}')",
                "benchmark, model",
            )
            .order("benchmark, model")
            .fetchall()
        )
    if not counts:
        raise InputError("the logs hold no generation", remedy="is what was given the logs of a run that was finished?")
    benchmark, model, *numbers = zip(*counts, strict=True)
    return Converted(np.array(benchmark, object), np.array(model, object), *(np.array(n, np.int64) for n in numbers))
