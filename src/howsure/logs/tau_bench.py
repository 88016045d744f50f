"""Read tau-bench's results: a JSON array with the reward of each trial of each task.

The file names neither the model nor the domain inside. tau-bench calls it
`STRATEGY-MODEL-TEMPERATURE_range_FIRST-LAST_user-USERMODEL-USERSTRATEGY_TIME.json`; the domain is that of the tools in
the expected actions, or in the name of the file. A trial that ended in an exception has a reward of 0 there and is
missing here. The record of `--columns` is a trial: `info.source`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from howsure.logs.base import PromptFields, RowBuilder, get_field
from howsure.logs.file_formats import FileHead, read_json_array
from howsure.logs.record_reader import (
    Record,
    RecordedRun,
    RecordReader,
    find_last_reply,
    get_number,
    get_text,
    list_messages,
    name_by_place,
)

_FILE_NAME = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>\d+(?:\.\d+)?)_range_-?\d+--?\d+"
    r"_user-(?P<user>.+)_\d+"
)
#: Words in the names of the tools of each domain.
_DOMAINS = {
    "airline": ("reservation", "flight", "send_certificate"),
    "retail": ("order", "modify_user_address", "find_user_id_by_"),
}


class _RunName(NamedTuple):
    """What the name of a file states."""

    label: str
    model: str
    settings: dict[str, object]


class TauBenchReader(RecordReader):
    """Reads the trials of tau-bench, one row for each."""

    name = "tau-bench"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the first record is a trial with its reward."""
        return head.kind == "json" and {"task_id", "reward", "trial"} <= head.keys

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the trials, by their number."""
        trials = list(read_json_array(path, dict[str, object], build.note))
        domain = _find_domain(trials) or next((name for name in _DOMAINS if name in str(path).lower()), "")
        if not domain:
            build.note("it does not name the domain, so that the benchmark is called 'tau-bench'")
        run = _parse_name(path, build)
        records = []
        for trial in sorted(trials, key=lambda one: get_number(one, "trial") or 0.0):
            task = get_text(trial, "task_id")
            if task is None:
                build.count("[trial names|trials name] no task and [is|are] left out")
                continue
            failure = get_text(trial, "info.error") or ""
            records.append(
                Record(
                    question=task,
                    scores={"reward": trial.get("reward")},
                    source=trial,
                    failure=failure,
                    completion=find_last_reply(trial.get("traj")),
                    prompt=_read_prompt(trial) if build.texts else {},
                )
            )
        return RecordedRun(
            benchmark=f"tau-bench-{domain}" if domain else "tau-bench",
            model=run.label,
            model_name=run.model,
            settings=run.settings,
            records=records,
            scorers=("reward",),
            source={"domain": domain} if domain else {},
            generations=1 + max((int(get_number(trial, "trial") or 0) for trial in trials), default=0),
        )


def _parse_name(path: Path, build: RowBuilder) -> _RunName:
    """Return label, model and settings from the name of the file."""
    match = _FILE_NAME.fullmatch(path.name.removesuffix(".gz").removesuffix(".json"))
    if match is None:
        label = name_by_place(path, build)
        return _RunName(label, label, {})
    # The same model with another agent or another simulated user is another system.
    label = f"{match['model']} ({match['strategy']}, user {match['user']})"
    settings = {"temperature": float(match["temperature"]), "agent": match["strategy"], "user": match["user"]}
    return _RunName(label, match["model"], settings)


def _find_domain(trials: list[dict[str, object]]) -> str:
    """Return the domain whose tools the expected actions of the first tasks call; empty where none is known."""
    for name in (name for trial in trials[:50] for name in _list_actions(trial)):
        for domain, words in _DOMAINS.items():
            if any(word in name for word in words):
                return domain
    return ""


def _list_actions(trial: Mapping[str, object]) -> Iterator[str]:
    """Yield the names of the expected actions of a trial."""
    actions = get_field(trial, "info.task.actions")
    for action in actions if isinstance(actions, list) else ():
        name = get_field(action, "name")
        if isinstance(name, str):
            yield name


def _read_prompt(trial: Mapping[str, object]) -> PromptFields:
    """Return the instruction of the simulated user."""
    return {"messages": list_messages(get_field(trial, "info.task.instruction"))}
