"""Terminal-Bench: the results.json of a run, with a record per trial; several trials of a task are its generations.

The model and the data set are in run_metadata.json beside it. `columns` names fields of a trial, such as
`failure_mode`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import UNSCORED, LogInfo, LogRow, MappedColumns, Note, ReadOptions
from howsure.readers.logs.file_head import FileHead
from howsure.readers.logs.json_files import read_json
from howsure.store.manifest import Model

__all__ = ["NAME", "describe", "members", "recognises", "rows"]

NAME = "Terminal-Bench"

_METADATA = "run_metadata.json"
_DATASET = "terminal-bench"
#: Failures of the harness and not of the agent: the trial says nothing of it.
_BROKEN = ("unknown", "unknown_harness_error", "parse_error", "agent_installation_failed")


class _Trial(msgspec.Struct):
    task_id: str
    trial_name: str = ""
    is_resolved: bool | None = None
    failure_mode: object = None
    instruction: object = None
    total_input_tokens: object = None
    total_output_tokens: object = None
    trial_started_at: object = None
    trial_ended_at: object = None


class _Results(msgspec.Struct):
    results: list[Any]
    id: str = ""
    n_resolved: object = None
    n_unresolved: object = None


class _Metadata(msgspec.Struct):
    run_id: str = ""
    uuid: str = ""
    dataset_name: str | None = None
    dataset_version: str | None = None
    agent_name: str = ""
    model_name: str | None = None
    start_time: str | None = None
    n_attempts: int = 1


def recognises(head: FileHead) -> bool:
    """By the keys of the totals, or of one trial's own file."""
    if head.kind != "json":
        return False
    return {"results", "n_resolved", "n_unresolved"} <= head.keys or {
        "task_id",
        "trial_name",
        "is_resolved",
    } <= head.keys


def members(path: Path) -> Sequence[Path]:
    """The file itself."""
    return [path]


def describe(path: Path) -> LogInfo:
    """Agent and model as run_metadata.json has them."""
    results, metadata = _load(path), _metadata(path)
    settings = {"agent": metadata.agent_name} if metadata.agent_name else {}
    label = _label(path, metadata)
    return LogInfo(
        run=metadata.uuid or results.id or metadata.run_id or path.parent.name,
        models={
            label: Model(
                name=metadata.model_name or label, kind=NAME, settings={**settings}, generations=metadata.n_attempts
            )
        },
        benchmarks={_benchmark(metadata): {"version": metadata.dataset_version}},
        created=metadata.start_time or "",
    )


def rows(path: Path, asked: ReadOptions, tell: Note) -> Iterator[LogRow]:
    """A row per trial.

    Raises
    ------
    InputError
        When the file cannot be read, or holds no trial.
    """
    results, metadata = _load(path), _metadata(path)
    mapped = MappedColumns(asked.columns, where=str(path))
    if not _beside(path):
        tell(f"there is no {_METADATA}: the model is called {_label(path, metadata)!r} after the folder or file")
    drawn: Counter[tuple[str, ...]] = Counter()
    count: Counter[str] = Counter()
    newest = {_name(record, place): place for place, record in enumerate(results.results)}
    for place, record in enumerate(results.results):
        if newest[_name(record, place)] != place:
            count["again"] += 1
            continue
        try:
            trial = msgspec.convert(record, _Trial)
        except msgspec.ValidationError:
            count["unread"] += 1
            continue
        row = _row(trial, mapped.of(record, "benchmark") or _benchmark(metadata), _label(path, metadata))
        row = msgspec.structs.replace(
            row,
            model=mapped.of(record, "model") or row.model,
            question=mapped.of(record, "question") or row.question,
            variant=mapped.of(record, "variant") or row.variant,
            cluster=mapped.of(record, "cluster"),
            messages=({"role": "user", "content": trial.instruction},)
            if asked.texts and isinstance(trial.instruction, str)
            else None,
        )
        cell = (row.benchmark, row.model, row.question, row.variant)
        drawn[cell] += 1
        count[row.status] += 1
        yield msgspec.structs.replace(row, generation=drawn[cell])
    _say(results, count, tell)


def _say(results: _Results, count: Counter[str], tell: Note) -> None:
    if n := count["again"]:
        tell(f"{n} trials are there twice by their name: the last of each is read")
    if n := count["unread"]:
        tell(f"{n} records are no trials and are left out")
    if n := count["error"]:
        tell(f"{n} errors that the harness counted as wrong are missing here; --missing as-zero counts them as 0")
    if n := count[UNSCORED]:
        tell(f"{n} trials were not judged, and the harness counts them as wrong; --missing as-zero counts them as 0")
    counted = [n for n in (results.n_resolved, results.n_unresolved) if isinstance(n, int)]
    if len(counted) == 2 and sum(counted) != len(results.results):
        tell(f"it counts {sum(counted)} trials and holds {len(results.results)}")


def _row(trial: _Trial, benchmark: str, label: str) -> LogRow:
    broken = trial.is_resolved is not True and trial.failure_mode in _BROKEN
    judged = trial.is_resolved is not None and not broken
    prompt, completion = trial.total_input_tokens, trial.total_output_tokens
    start, end = _when(trial.trial_started_at), _when(trial.trial_ended_at)
    return LogRow(
        benchmark=benchmark,
        model=label,
        question=trial.task_id,
        variant="default",
        generation=1,
        score=float(bool(trial.is_resolved)) if judged else None,
        status="ok" if judged else "error" if broken else UNSCORED,
        error=f"{trial.failure_mode}: the harness failed" if broken else None,
        prompt_tokens=prompt if isinstance(prompt, int) else None,
        completion_tokens=float(completion) if isinstance(completion, int) else None,
        created=end,
        seconds=end - start if start is not None and end is not None else None,
    )


def _when(said: object) -> float | None:
    try:
        return datetime.fromisoformat(str(said)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _load(path: Path) -> _Results:
    found = read_json(path, dict[str, Any])
    if "results" not in found:
        return _Results([found])
    try:
        results = msgspec.convert(found, _Results)
    except msgspec.ValidationError as error:
        raise InputError(str(error), where=str(path), remedy="is the file whole?") from error
    if not results.results:
        raise InputError("it holds no trial", where=str(path), remedy="did the run finish?")
    return results


def _name(record: Any, place: int) -> str | int:
    """What two records of one trial share; a record without a name is one of its own."""
    name = record.get("trial_name") if isinstance(record, dict) else None
    return name if isinstance(name, str) and name else place


def _beside(path: Path) -> Path | None:
    """run_metadata.json of the run: beside its results, or above the folders of a task and a trial."""
    return next((folder / _METADATA for folder in path.parents[:3] if (folder / _METADATA).is_file()), None)


def _metadata(path: Path) -> _Metadata:
    file = _beside(path)
    return read_json(file, _Metadata) if file else _Metadata()


def _label(path: Path, metadata: _Metadata) -> str:
    """Agent and model: the same model under another agent is another model."""
    if metadata.model_name or metadata.agent_name:
        return " ".join(filter(None, [metadata.agent_name, metadata.model_name]))
    return path.stem if path.stem != "results" else path.resolve().parent.name


def _benchmark(metadata: _Metadata) -> str:
    name = metadata.dataset_name or _DATASET
    return f"{name}@{metadata.dataset_version}" if metadata.dataset_version else name
