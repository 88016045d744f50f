"""Convert the logs of other programs to a run folder, with all texts that they contain.

The folder is written under a temporary name and renamed when it is complete. So a conversion that was killed leaves no
incomplete run folder of this name, and the next conversion removes its temporary files.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError, StoreError
from howsure.logs.base import LogInfo, LogReader, LogRow, ReadOptions
from howsure.logs.log_names import DistinctLog, distinguish_logs
from howsure.notes import Note, note_omission
from howsure.results.evaluations import build_benchmarks_error
from howsure.results.table_log import TABLES
from howsure.stats.core.results import Columns, Result
from howsure.store import manifest
from howsure.store.atomic import FolderLock, build_temporary_path, flush_folder
from howsure.store.manifest import LogIdentity, Manifest, ModelRecord
from howsure.store.responses import RunFolder, stream
from howsure.store.schema import COLUMNS, UNSCORED, Response

#: Largest number of rows, and of characters of completions, in a transaction.
_MAX_ROWS, _MAX_TEXT = 1000, 4 << 20

#: A day at the beginning of a time; the times of some logs are no such text.
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

#: Function that takes a note on the log at a path, or on several logs.
_PathNote = Callable[[Path | None, Note], None]


@dataclass(frozen=True)
class ConversionSummary(Result):
    """Counts of a run folder after a conversion; all arrays have one value per benchmark and model, (R,)."""

    benchmark: NDArray[np.object_]
    model: NDArray[np.object_]
    n_questions: NDArray[np.int64]
    n_variants: NDArray[np.int64]
    n_generations: NDArray[np.int64]
    """Number of rows: the sum of the scored, the failed and the unscored ones."""
    n_scored: NDArray[np.int64]
    n_failed: NDArray[np.int64]
    n_unscored: NDArray[np.int64]

    def columns(self) -> Columns:
        """Return the columns by name."""
        return dict(vars(self))


def convert_logs(
    logs: Sequence[tuple[LogReader, Path]],
    output: Path,
    *,
    options: ReadOptions,
    note: Callable[[Note], None],
    benchmark: str | None = None,
) -> ConversionSummary:
    """Write all generations of logs to a run folder, with their texts and clusters.

    Where two logs of one benchmark have the same model, the generations of the second one continue the numbers of the
    first. A model at other decoding settings is another model, with the settings in its label.

    Parameters
    ----------
    logs
        Reader and path of each log; `results.table_log.TableLogReader` reads tables.
    output
        A folder that does not exist or is empty.
    options
        Options of the readers; texts are read in any case.
    note
        Function that is called with each note on data that a log does not contain or that were left out. The manifest
        also stores the notes.
    benchmark
        One name for the benchmark of all logs; None keeps their own.

    Raises
    ------
    InputError
        When `output` is not empty, when the logs hold no generation, or when a log cannot be read; nothing is left at
        `output` then.
    StoreError
        When the folder cannot be written, or another process is writing it.
    """
    notes: list[Note] = []
    benchmarks_of: dict[Path, tuple[str, ...]] = {}

    def add_note(path: Path | None, one: Note) -> None:
        if path is None:  # such notes were issued when the logs were found
            notes.append(one)
            return
        one = replace(one, benchmarks=one.benchmarks or benchmarks_of.get(path, ()))
        notes.append(replace(one, where=path.name))
        note(replace(one, where=str(path)))

    distinct = _drop_copies(logs, msgspec.structs.replace(options, texts=True), add_note)
    if benchmark is not None:
        distinct = [_rename_benchmark(log, benchmark) for log in distinct]
    benchmarks_of |= {log.path: tuple(sorted(log.describe_benchmarks())) for log in distinct}
    with write_folder(output) as folder:
        with RunFolder(folder) as run:
            manifest.begin(folder, _build_manifest(distinct, add_note))
            _append_rows(run, distinct, add_note)
            run.compact()
            manifest.finish(folder, source_notes=notes)
        return _count_rows(folder)


@contextlib.contextmanager
def write_folder(output: Path) -> Iterator[Path]:
    """Yield a temporary folder, which becomes `output` at the end and is removed after an error.

    Raises
    ------
    InputError
        When `output` is not empty.
    StoreError
        When the folder cannot be written, or another process is writing it.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        what = "there is already a file or a folder here"
        raise InputError(what, where=str(output), remedy="name another folder, or remove it")
    folder = build_temporary_path(output.absolute())
    _remove_leftover(folder)
    try:
        folder.mkdir(parents=True)
        yield folder
        folder.replace(output)
        flush_folder(output.absolute().parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"{output}: {reason}; free space, or name a folder that can be written") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_leftover(folder: Path) -> None:
    """Remove the folder of a conversion that was killed; raise if another process writes it."""
    if folder.exists():
        FolderLock(folder).release()
        shutil.rmtree(folder)


def _drop_copies(logs: Sequence[tuple[LogReader, Path]], options: ReadOptions, note: _PathNote) -> list[DistinctLog]:
    """Return each log once, with the names under which it is read."""
    distinct: dict[LogIdentity, tuple[LogReader, Path, LogInfo]] = {}
    for reader, given in logs:
        for path in reader.members(given):
            info = reader.describe(path)
            key = info.identify(reader.name)
            if key in distinct:
                other = distinct[key][1]
                same = path.resolve() == other.resolve()
                note(path, Note("given-twice") if same else Note("same-run", facts={"other": other.name}))
            else:
                distinct[key] = reader, path, info
    named, notes = distinguish_logs([DistinctLog(*log, options) for log in distinct.values()])
    for one in notes:
        note(None, one)
    return named


def _rename_benchmark(log: DistinctLog, benchmark: str) -> DistinctLog:
    """Return a log whose only benchmark has this name."""
    names = sorted(log.describe_benchmarks())
    if len(names) > 1:
        raise build_benchmarks_error(names, log.path, may_select=False)
    benchmarks = dict.fromkeys(log.info.benchmarks, benchmark)
    return log._replace(names=replace(log.names, benchmarks=benchmarks))


def _build_manifest(logs: Sequence[DistinctLog], note: _PathNote) -> Manifest:
    """Return the manifest with the benchmarks and models of all logs; where logs differ, the first one counts."""
    benchmarks: dict[str, dict[str, object]] = {}
    models: dict[str, ModelRecord] = {}
    generations: Counter[tuple[str, str]] = Counter()
    for log in logs:
        for name, source in log.describe_benchmarks().items():
            first_source = benchmarks.setdefault(name, dict(source))
            _note_differences(f"benchmark {name}", _drop_tables(first_source), _drop_tables(source), log, note)
            files = [one for of in (first_source, source) for one in cast("list[object]", of.get(TABLES, []))]
            if TABLES in source:  # a benchmark may be in a file per model
                first_source[TABLES] = [one for i, one in enumerate(files) if one not in files[:i]]
        for old, model in log.info.models.items():
            label = log.names.models.get(old, old)
            first = models.setdefault(label, model)
            _note_differences(f"model {label}", first.settings, model.settings, log, note)
            generations.update({(name, label): model.generations for name in log.describe_benchmarks()})
    for label, model in models.items():
        most = max((n for (_, of), n in generations.items() if of == label), default=1)
        models[label] = msgspec.structs.replace(model, generations=most)
    days = sorted({match[0] for log in logs if (match := _DAY.match(log.info.created))})
    sampled = tuple(dict.fromkeys([*days[:1], *days[-1:]]))
    converted = tuple(log.info.identify(log.reader.name) for log in logs)
    notes = tuple(map(_describe_log, logs))
    return Manifest(sampled=sampled, converted=converted, benchmarks=benchmarks, models=models, notes=notes)


def _describe_log(log: DistinctLog) -> str:
    """Return the note of the manifest on one log."""
    when = f", made {log.info.created}" if log.info.created else ""
    return f"converted from {log.path.name}: {log.reader.name}, run {log.info.run}{when}"


def _drop_tables(source: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of a benchmark, without the files that it was read from."""
    return {name: value for name, value in source.items() if name != TABLES}


def _note_differences(
    what: str, first: Mapping[str, object], other: Mapping[str, object], log: DistinctLog, note: _PathNote
) -> None:
    """Note the settings of a log that differ from those of a log before it."""
    for name in sorted(first.keys() | other.keys()):
        if first.get(name) != other.get(name):
            stated, before = (_describe_setting(of.get(name)) for of in (other, first))
            facts = {"what": what, "name": name, "value": stated, "before": before}
            note(log.path, Note("other-settings", facts=facts))


def _describe_setting(value: object) -> str:
    """Return the value of a setting, or that a log does not state it."""
    return "not stated" if value is None else repr(value)


def _append_rows(run: RunFolder, logs: Sequence[DistinctLog], note: _PathNote) -> None:
    """Append the rows and prompts of all logs; memory holds one batch and the names of cells.

    One of several logs that cannot be read is left out with a note; the error is raised where no log can be read.
    """
    last: defaultdict[tuple[str, ...], int] = defaultdict(int)
    prompts: dict[tuple[str, str, str], bool] = {}
    faults: list[InputError] = []
    for log in logs:
        before = dict(last) if len(logs) > 1 else {}
        notes: list[Note] = []
        n_rows = 0
        try:
            for batch in _batches(map(log.names.rename, log.reader.rows(log.path, log.options, notes.append))):
                rows = []
                n_rows += len(batch)
                for row in batch:
                    cell = row.benchmark, row.model, row.question, row.variant
                    values = {name: getattr(row, name) for name in COLUMNS}
                    values["generation"] = before.get(cell, 0) + row.generation
                    rows.append(Response(**values))
                    if len(logs) > 1:
                        last[cell] = max(last[cell], values["generation"])
                run.put_prompts(list(_new_prompts(batch, prompts)))
                run.append(rows)
        except InputError as error:
            faults.append(error)
            if len(faults) == len(logs):
                raise faults[0] from error
            note(log.path, note_omission(error))
        else:
            if not n_rows and not log.options.superseded:
                notes.append(Note("no-samples"))
        for one in notes:
            note(log.path, one)


def _batches(rows: Iterable[LogRow]) -> Iterator[list[LogRow]]:
    """Yield the rows in batches, each of which is one transaction."""
    batch: list[LogRow] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row.completion or "")
        if len(batch) >= _MAX_ROWS or size >= _MAX_TEXT:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _new_prompts(batch: Sequence[LogRow], written: dict[tuple[str, str, str], bool]) -> Iterator[tuple[Any, ...]]:
    """Yield the prompts of a batch that are new, or that are the first with messages.

    `written` has the prompts that were yielded before, and whether they had messages; it is updated.
    """
    for row in batch:
        key = row.benchmark, row.question, row.variant
        has_messages = row.messages is not None
        before = written.get(key)
        if before or (before is False and not has_messages):
            continue
        record: dict[str, Any] = {"choices": list(row.choices)} if row.choices else {}
        if row.cluster is not None:
            record["cluster"] = row.cluster
        if has_messages or record or row.target is not None:
            written[key] = has_messages
            yield *key, list(row.messages or ()), row.target or "", record or None


def _count_rows(folder: Path) -> ConversionSummary:
    """Return the counts of the rows in a run folder."""
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
        raise InputError("the logs hold no generation", remedy="give the logs of a run that was finished")
    benchmark, model, *numbers = zip(*counts, strict=True)
    arrays = (np.array(n, np.int64) for n in numbers)
    return ConversionSummary(np.array(benchmark, object), np.array(model, object), *arrays)
