"""Read Terminal-Bench's results.json: a record for each trial; several trials of a task are its generations.

The model and the data set are in run_metadata.json beside it. The record of `--columns` is a trial: `failure_mode`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
    COUNTED_AS_WRONG,
    LogInfo,
    LogReader,
    LogRow,
    RowBuilder,
    RowKey,
    ScoreFields,
    UsageFields,
    as_mapping,
    mark_missing,
)
from howsure.logs.file_formats import FileHead, read_json
from howsure.rows.naming import name_alone
from howsure.store.manifest import ModelRecord

_METADATA = "run_metadata.json"
_DATASET = "terminal-bench"
#: Failures of the harness, in contrast to those of the agent; such a trial has no score.
_HARNESS_FAILURES = ("unknown", "unknown_harness_error", "parse_error", "agent_installation_failed")


class _Trial(msgspec.Struct):
    task_id: str
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
    accuracy: object = None


class _Metadata(msgspec.Struct):
    run_id: str = ""
    uuid: str = ""
    dataset_name: str | None = None
    dataset_version: str | None = None
    agent_name: str = ""
    model_name: str | None = None
    start_time: str | None = None
    n_attempts: int = 1

    @property
    def benchmark(self) -> str:
        """The data set and its version."""
        name = self.dataset_name or _DATASET
        return f"{name}@{self.dataset_version}" if self.dataset_version else name


class TerminalBenchReader(LogReader):
    """Reads a run of Terminal-Bench, one row for each trial."""

    name = "Terminal-Bench"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the keys are those of the totals, or of the file of one trial."""
        totals, trial = {"results", "n_resolved", "n_unresolved"}, {"task_id", "trial_name", "is_resolved"}
        return head.kind == "json" and (head.keys >= totals or head.keys >= trial)

    def describe(self, path: Path) -> LogInfo:
        """Return the agent, the model and the data set as run_metadata.json states them."""
        results, metadata = _read_results(path), _read_metadata(path)
        label = _label_model(path, metadata)
        model = ModelRecord(
            name=metadata.model_name or label,
            kind=self.name,
            settings={"agent": metadata.agent_name} if metadata.agent_name else {},
            generations=metadata.n_attempts,
        )
        return LogInfo(
            run=metadata.uuid or results.id or metadata.run_id or path.parent.name,
            models={label: model},
            benchmarks={metadata.benchmark: {"version": metadata.dataset_version}},
            created=metadata.start_time or "",
            is_named_by_path=not metadata.model_name,
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield one row for each trial; of several records of one trial, the last."""
        results, metadata = _read_results(path), _read_metadata(path)
        label = _label_model(path, metadata)
        if not _find_metadata(path):
            build.note(f"there is no {_METADATA}: the model is called {label!r} after the folder or file")
        elif not metadata.model_name:
            build.note(f"{_METADATA} names no model: it is called {label!r} after the folder or file")
        build.expect_mean("accuracy", results.accuracy)
        last = {_trial_name(record, place): place for place, record in enumerate(results.results)}
        for place, record in enumerate(results.results):
            if last[_trial_name(record, place)] != place:
                build.count("[trial has|trials have] the name of a later one: the last of each name is read")
                continue
            try:
                trial = msgspec.convert(record, _Trial)
            except msgspec.ValidationError:
                build.count("[record is no trial|records are no trials] and [is|are] left out")
                continue
            key = build.map_columns(RowKey(metadata.benchmark, label, trial.task_id), record)
            prompt = trial.instruction if build.texts else None
            messages = ({"role": "user", "content": prompt},) if isinstance(prompt, str) else None
            yield build.row(key, messages=messages, **_score_trial(trial, build), **_usage_fields(trial))
        counts = [n for n in (results.n_resolved, results.n_unresolved) if isinstance(n, int)]
        if len(counts) == 2 and sum(counts) != len(results.results):
            build.note(f"it counts {sum(counts)} trials and holds {len(results.results)}")


def _score_trial(trial: _Trial, build: RowBuilder) -> ScoreFields:
    """Return whether the task was resolved; an error where the harness failed."""
    if not trial.is_resolved and trial.failure_mode in _HARNESS_FAILURES:
        build.count(f"[error|errors] that the harness {COUNTED_AS_WRONG}")
        return {"status": "error", "error": f"{trial.failure_mode}: the harness failed"}
    if trial.is_resolved is None:
        build.count(
            "[trial was|trials were] not judged, and the harness counts [it|them] as wrong; "
            "--missing as-zero counts [it|them] as 0"
        )
        return mark_missing("the trial was not judged")
    return {"score": float(trial.is_resolved)}


def _usage_fields(trial: _Trial) -> UsageFields:
    """Return the tokens and times of a trial."""
    n_read, n_written = trial.total_input_tokens, trial.total_output_tokens
    start, end = _parse_time(trial.trial_started_at), _parse_time(trial.trial_ended_at)
    return {
        "prompt_tokens": n_read if isinstance(n_read, int) else None,
        "completion_tokens": float(n_written) if isinstance(n_written, int) else None,
        "created": end,
        "seconds": end - start if start is not None and end is not None else None,
    }


def _parse_time(text: object) -> float | None:
    """Return an ISO time as seconds since the epoch."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _read_results(path: Path) -> _Results:
    """Return the trials of a results.json, or the only one of a trial's own file."""
    record = read_json(path, dict[str, Any])
    if "results" not in record:
        return _Results([record])
    try:
        results = msgspec.convert(record, _Results)
    except msgspec.ValidationError as error:
        raise InputError(str(error), where=str(path), remedy="is the file complete?") from error
    if not results.results:
        raise InputError("it holds no trial", where=str(path), remedy="did the run finish?")
    return results


def _trial_name(record: Any, place: int) -> str | int:
    """Return the name of a trial; its place where it has none, so that it equals no other."""
    name = as_mapping(record).get("trial_name")
    return name if isinstance(name, str) and name else place


def _find_metadata(path: Path) -> Path | None:
    """Return run_metadata.json: beside the results, or above the folders of a task and a trial."""
    return next((folder / _METADATA for folder in path.parents[:3] if (folder / _METADATA).is_file()), None)


def _read_metadata(path: Path) -> _Metadata:
    """Return what run_metadata.json states."""
    file = _find_metadata(path)
    return read_json(file, _Metadata) if file else _Metadata()


def _label_model(path: Path, metadata: _Metadata) -> str:
    """Return agent and model: the same model under another agent is another model.

    An agent that names no model may run any, which the paths of several logs name then.
    """
    if metadata.model_name:
        return f"{metadata.agent_name} {metadata.model_name}".strip()
    return metadata.agent_name or name_alone(path)
