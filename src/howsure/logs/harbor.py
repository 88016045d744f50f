"""Read a job of Harbor, which runs Terminal-Bench 2: a folder with `result.json` and a folder for each trial.

A trial has a `result.json` of its own with its task, its agent and model, and the rewards that the verifier gave, each
of which is a scorer. A trial without rewards counts as 0 for Harbor, and is missing here, with its exception. Several
trials of a task are generations. The record of `--columns` is a trial: `agent_info.version`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from howsure.errors import InputError
from howsure.logs.base import RowBuilder, UsageFields, as_mapping, get_field
from howsure.logs.file_formats import FileHead, read_json
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    ReportedMean,
    get_number,
    get_text,
    parse_records,
)

_RESULT = "result.json"
_JOB_KEYS = {"id", "n_total_trials", "stats"}
_TRIAL_KEYS = {"task_name", "trial_name", "agent_info"}
_REWARD = "reward"


class HarborReader(RecordReader):
    """Reads a job of Harbor, or a single trial, one row for each trial."""

    name = "Harbor"

    def recognises(self, head: FileHead) -> bool:
        """Return whether it is the folder of a job, its result.json, or that of a trial."""
        if head.kind == "folder":
            return _RESULT in head.keys and FileHead(head.path / _RESULT).keys >= _JOB_KEYS
        return head.kind == "json" and (head.keys >= _JOB_KEYS or head.keys >= _TRIAL_KEYS)

    def members(self, path: Path) -> Sequence[Path]:
        """Return the folder of the job, or the file of a trial outside of a job."""
        is_job_file = path.is_file() and FileHead(path).keys >= _JOB_KEYS
        return [path.parent] if is_job_file and path.name == _RESULT else [path]

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the trials of a job."""
        job, trials = _read_job(path, build)
        names: Counter[str] = Counter()
        records = []
        for trial in trials:
            task = get_text(trial, "task_name")
            if task is None:
                build.count("[trial names|trials name] no task and [is|are] left out")
                continue
            rewards = as_mapping(get_field(trial, "verifier_result.rewards"))
            names.update(rewards.keys())
            records.append(
                Record(
                    benchmark=get_text(trial, "source", "config.task.source") or "harbor",
                    model=_label_model(trial),
                    question=task,
                    scores=rewards,
                    source=trial,
                    failure="" if rewards else _describe_failure(trial),
                    usage=_usage_fields(trial),
                )
            )
        if not records:
            raise InputError("it holds no trial", where=str(path), remedy="give the folder of a job, with its trials")
        planned = get_number(job, "n_total_trials")
        if planned is not None and planned > len(records):
            build.note(f"{planned - len(records):g} of the {planned:g} trials of the job are not there")
        return RecordedRun(
            benchmark=records[0].benchmark,
            model=records[0].model,
            records=records,
            scorers=tuple(sorted(names, key=lambda name: (name != _REWARD, -names[name]))) or (_REWARD,),
            reported=_list_reported(job, records),
            run=get_text(job, "id") or "",
            created=get_text(job, "started_at") or "",
        )


def _read_job(path: Path, build: RowBuilder) -> tuple[Mapping[str, object], list[Mapping[str, object]]]:
    """Return what the job states, and its trials."""
    if path.is_file():
        content = read_json(path, dict[str, object])
        if content.keys() >= _TRIAL_KEYS:
            return {}, [content]
        return content, list(parse_records(content.get("trial_results"), build))
    job = read_json(path / _RESULT, dict[str, object])
    if not job.keys() >= _JOB_KEYS:
        raise InputError(
            "its result.json is not that of a job", where=str(path), remedy="give the result.json of trials"
        )
    trials: list[Mapping[str, object]] = []
    for file in sorted(path.glob(f"*/{_RESULT}")):
        try:
            trials.append(read_json(file, dict[str, object]))
        except InputError:
            build.count(
                "[trial has|trials have] a result.json that cannot be read, and [is|are] left out",
                example=file.parent.name,
            )
    return job, trials or list(parse_records(job.get("trial_results"), build))


def _label_model(trial: Mapping[str, object]) -> str:
    """Return agent and model: the same model under another agent is another model."""
    agent = get_text(trial, "agent_info.name", "config.agent.name")
    provider, model = get_text(trial, "agent_info.model_info.provider"), get_text(trial, "agent_info.model_info.name")
    if provider and model:
        model = f"{provider}/{model}"
    model = model or get_text(trial, "config.agent.model_name")
    return " ".join(filter(None, [agent, model])) or "unknown"


def _describe_failure(trial: Mapping[str, object]) -> str:
    """Return the exception of a trial that has no reward; empty where it has none."""
    kind, message = (
        get_text(trial, "exception_info.exception_type"),
        get_text(trial, "exception_info.exception_message"),
    )
    return ": ".join(filter(None, [kind, message]))


def _usage_fields(trial: Mapping[str, object]) -> UsageFields:
    """Return the tokens and the time of a trial."""
    n_read = get_number(trial, "agent_result.n_input_tokens")
    start, end = (_parse_time(trial.get(name)) for name in ("started_at", "finished_at"))
    return {
        "prompt_tokens": None if n_read is None else int(n_read),
        "completion_tokens": get_number(trial, "agent_result.n_output_tokens"),
        "created": end,
        "seconds": end - start if start is not None and end is not None else None,
    }


def _parse_time(text: object) -> float | None:
    """Return an ISO time as seconds since the epoch."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _list_reported(job: Mapping[str, object], records: Sequence[Record]) -> list[ReportedMean]:
    """Return the mean reward of a job with one agent, one model and one data set."""
    evaluations = as_mapping(get_field(job, "stats.evals"))
    if len(evaluations) != 1 or len({(record.model, record.benchmark) for record in records}) != 1:
        return []
    (content,) = evaluations.values()
    value = get_number(content, "metrics.0.mean")
    return [] if value is None else [ReportedMean(name="mean", value=value, scorer=_REWARD)]
