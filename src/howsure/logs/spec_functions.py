"""Functions that descriptions of programs in `specs/` name: of a field, of a file's first bytes, and of a path.

A function of a field takes the value of a path, and `.` gives it the whole record. The functions that make records of
records are in `record_functions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from howsure.logs.file_formats import FileHead
from howsure.logs.values import (
    Record,
    as_mapping,
    encode_text,
    get_field,
    hash_text,
    is_list,
    list_messages,
    parse_number,
)
from howsure.rows.to_cells import read_time

# --- functions of a field ---


def messages(value: object) -> tuple[dict[str, str], ...] | None:
    """Return the messages of a prompt; a prompt of another shape is one message of the user."""
    if isinstance(value, Mapping):
        return list_messages(encode_text(value))
    return list_messages(value)


def reply(value: object) -> str | None:
    """Return a text, or the last text of the assistant in a list of messages."""
    if isinstance(value, str):
        return value
    replies = [one for one in value if get_field(one, "role") == "assistant"] if is_list(value) else []
    texts = (get_field(one, "content") for one in reversed(replies))
    return next((text for text in texts if isinstance(text, str)), None)


def hashed(value: object) -> str | None:
    """Return the hash of a text."""
    return None if value is None else hash_text(encode_text(value))


def thousandth(value: object) -> float | None:
    """Return milliseconds as seconds."""
    milliseconds = parse_number(value)
    return None if milliseconds is None else milliseconds / 1000


def time(value: object) -> float | None:
    """Return an ISO time as seconds since the epoch, of UTC where it names no zone.

    >>> time("1970-01-01T00:01:00"), time("1970-01-01T01:01:00+01:00"), time("yesterday")
    (60.0, 60.0, None)
    """
    return read_time(str(value))


def duration(record: Record) -> float | None:
    """Return the seconds between the start and the end of a trial."""
    for start, end in (("trial_started_at", "trial_ended_at"), ("started_at", "finished_at")):
        first, last = time(record.get(start)), time(record.get(end))
        if first is not None and last is not None:
            return last - first
    return None


def single(value: object) -> str | None:
    """Return the only value of a mapping as a text, or several with their names."""
    values = {name: one for name, one in as_mapping(value).items() if one is not None}
    if not values:
        return None
    return encode_text(next(iter(values.values())) if len(values) == 1 else values)


def mean(value: object) -> float | None:
    """Return the mean of a list of verdicts."""
    each = value if isinstance(value, list) else []
    return sum(map(bool, each)) / len(each) if each else None


def preference(value: object) -> object:
    """Return AlpacaEval's preference minus 1, where 0 was a draw in older versions."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return 0.5 if value == 0 else value - 1 if 1 <= value <= 2 else ValueError(f"{value} is no preference from 1 to 2")


def terminal_bench_failure(trial: Record) -> str | None:
    """Return a failure of the harness, in contrast to those of the agent."""
    mode = trial.get("failure_mode")
    is_harness = mode in ("unknown", "unknown_harness_error", "parse_error", "agent_installation_failed")
    return f"{mode}: the harness failed" if is_harness and not trial.get("is_resolved") else None


# --- checks of a file, and the logs at a path ---

#: Keys of the result of a job of Harbor, and of a trial.
HARBOR_JOB, _HARBOR_TRIAL = {"id", "n_total_trials", "stats"}, {"task_name", "trial_name", "agent_info"}


def is_ragas(head: FileHead) -> bool:
    """Return whether there are questions and answers."""
    names = {name.strip() for name in head.keys}
    return not names.isdisjoint(("user_input", "question")) and not names.isdisjoint(("response", "answer"))


def is_numbered(head: FileHead) -> bool:
    """Return whether the keys are numbers of questions, as of the predictions of OpenCompass."""
    return bool(head.keys) and all(name.isdecimal() for name in head.keys) and not head.has_text("[")


def is_in_results(head: FileHead) -> bool:
    """Return whether a file lies in the folder of a model in one of results."""
    return head.path.resolve().parent.parent.name == "results"


def is_harbor_job(head: FileHead) -> bool:
    """Return whether a folder has the result of a job."""
    return FileHead(head.path / "result.json").keys >= HARBOR_JOB


def has_harbor_trials(head: FileHead) -> bool:
    """Return whether the folders in a folder, which has no result of a job, are trials."""
    first = next((one for one in sorted(head.path.glob("*__*/result.json"))), None)
    return first is not None and FileHead(first).keys >= _HARBOR_TRIAL


def find_harbor_logs(path: Path) -> Sequence[Path]:
    """Return the folder of a job, or the file of a trial outside of a job."""
    return [path.parent] if path.name == "result.json" and FileHead(path).keys >= HARBOR_JOB else [path]


def find_deepeval_logs(path: Path) -> Sequence[Path]:
    """Return the file itself; of the folder `.deepeval`, the file of the latest run, the complete one first."""
    names = (".latest_run_full.json", ".latest_test_run.json")
    return [next(path / name for name in names if (path / name).is_file())] if path.is_dir() else [path]


def find_every_eval_logs(path: Path) -> Sequence[Path]:
    """Return the file of samples; for a file of totals, that beside it if it exists."""
    beside = path.with_name(f"{path.name.removesuffix('.json')}_samples.jsonl")
    is_totals = "sample_id" not in FileHead(path).keys
    return [beside] if is_totals and beside.is_file() else [path]
