"""OpenAI evals: a jsonl with the run's spec, its final report, and its events in the order in which they happened.

A sample's events are `sampling` (a prompt and what was sampled), then `match` or `metrics`, which score it; with
several threads the events of samples interleave. The number in a sample's id is its place in the data file, the same
in every run, and is the question here. K repeats are K files with the same spec, each a run of its own.

Dots of `--columns` start at the event that scored, with the run's `spec` beside its fields, as in `data.expected`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import msgspec

from howsure.readers.logs.base import LogInfo, LogRow, Note, ReadOptions, choose_scorer, get_field
from howsure.readers.logs.file_head import FileHead, open_file
from howsure.readers.logs.json_files import read_json_lines
from howsure.readers.logs.openai_evals.events import Line, Reading, Spec, decoded
from howsure.store.manifest import Model

__all__ = ["NAME", "describe", "members", "recognises", "rows"]

NAME = "OpenAI evals"

#: Lines that are looked at for the names of the scores.
_LOOKED = 5000
_EVENT = {"run_id", "event_id", "sample_id", "type", "data"}
#: Settings that decide what a model writes; what else is on the command line may be a key.
_SETTINGS = ("temperature", "top_p", "max_tokens", "n", "seed", "stop", "presence_penalty", "frequency_penalty")


class _First(msgspec.Struct):
    spec: Spec


def recognises(head: FileHead) -> bool:
    """Whether the first line is a run's spec, or an event of a log that lost its first line."""
    if head.kind != "json":
        return False
    if head.keys >= _EVENT:
        return True
    if head.keys != {"spec"}:
        return False
    try:
        with open_file(head.path) as file:
            msgspec.json.decode(file.readline(), type=_First)
    except (OSError, EOFError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def members(path: Path) -> Sequence[Path]:
    """The file itself."""
    return [path]


def describe(path: Path) -> LogInfo:
    """Who and what, from the spec and the first events."""
    spec, scorers = _look(path)
    source = {
        "eval": spec.base_eval,
        "split": spec.split,
        "class": get_field(spec.run_config, "eval_spec.cls"),
        "samples": get_field(spec.run_config, "eval_spec.args.samples_jsonl"),
        "seed": get_field(spec.run_config, "seed"),
        "max_samples": get_field(spec.run_config, "max_samples"),
    }
    return LogInfo(
        run=spec.run_id,
        models={spec.model: Model(name=spec.model, kind=NAME, settings=_settings(spec))},
        benchmarks={spec.eval_name: {key: value for key, value in source.items() if value not in (None, "")}},
        scorers=tuple(scorers),
        created=_iso(spec.created_at),
    )


def rows(path: Path, asked: ReadOptions, tell: Note) -> Iterator[LogRow]:
    """A row for each text that was scored, and for what was sampled and never scored.

    Raises
    ------
    InputError
        When the file cannot be read, holds no event, or holds several runs.
    """
    spec, scorers = _look(path)
    where = str(path)
    scorer = (
        choose_scorer(scorers, asked.scorer, where=where, tell=tell) if scorers or asked.scorer is not None else None
    )
    reading = Reading(spec, scorer, asked, where)
    for line in read_json_lines(path, Line, tell):
        yield from reading.take(line)
    yield from reading.rest()
    for text in reading.told():
        tell(text)


def _look(path: Path) -> tuple[Spec, list[str]]:
    """The run's spec and the names of its scores, `match` first."""
    spec, event = None, Line()
    names: dict[str, None] = {}
    for line in islice(read_json_lines(path, Line, lambda _: None), _LOOKED):
        spec = spec or line.spec
        event = event if event.sample_id is not None else line
        if line.type == "match":
            names = {"match": None} | names
        elif line.type == "metrics":
            names |= {
                key: None for key, value in decoded(line.data).items() if not isinstance(value, (str, list, dict))
            }
    if spec is None:
        benchmark = str(event.sample_id or "").rpartition(".")[0] or path.stem
        spec = Spec([], benchmark, run_id=str(event.run_id or path.stem))
    return spec, list(names)


def _settings(spec: Spec) -> dict[str, object]:
    """What the eval's arguments and the command line state."""
    said: dict[str, object] = {}
    try:
        words = shlex.split(str(get_field(spec.run_config, "command") or ""))
    except ValueError:
        words = []
    for name, value in pairwise(words):
        if name == "--completion_args":
            said |= dict(pair.split("=", 1) for pair in value.split(",") if "=" in pair)
    given = get_field(spec.run_config, "eval_spec.args.sample_kwargs")
    said |= given if isinstance(given, dict) else {}
    return {key: said[key] for key in _SETTINGS if key in said}


def _iso(text: Any) -> str:
    """A time of the log as ISO 8601; it is UTC where it names no zone."""
    try:
        when = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return ""
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).isoformat()
