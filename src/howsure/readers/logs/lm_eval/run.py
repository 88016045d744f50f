"""Which run of lm-evaluation-harness a file of samples belongs to: its results json, task, model and settings.

A samples file names neither its task nor its model. `task_hashes` of the results json does, from the hashes of all its
rows, so a renamed file is found by content; the name is looked at first because it is the cheaper of the two.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.file_head import FileHead
from howsure.readers.logs.json_files import read_json

__all__ = ["TOTALS", "Run", "Totals", "run_of"]

#: Keys of a results json; that of lighteval has neither.
TOTALS = frozenset({"results", "configs"})
_NAMED = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl(?:\.gz)?")
#: Model arguments that name the model, in the harness's own order.
_NAMES = ("peft", "delta", "pretrained", "model", "path", "engine")
#: What it calls settings that have another name here, and what belongs to the task and not to the decoding.
_RENAMED = {"max_gen_toks": "max_tokens", "max_new_tokens": "max_tokens"}
_OF_TASK = ("until",)


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """A results json, as far as it is needed."""

    results: dict[str, Any]
    configs: dict[str, Any]
    config: Any = None
    versions: Any = None
    n_samples: Any = msgspec.field(name="n-samples", default=None)
    task_hashes: Any = None
    model_name: Any = None
    date: Any = None
    lm_eval_version: Any = None

    @property
    def model(self) -> str | None:
        """The model's name, None where it is not told."""
        config = _mapping(self.config)
        arguments = _arguments(config.get("model_args"))
        names = (self.model_name, *(arguments.get(name) for name in _NAMES), config.get("model"))
        return next((name for name in names if isinstance(name, str) and name), None)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a run."""

    task: str
    model: str
    totals: Totals | None = None
    told: tuple[str, ...] = ()
    """What had to be guessed."""
    date: str = ""
    """As the file's name has it."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The task's configuration; empty where it is not known."""
        return _mapping(self.totals.configs.get(self.task)) if self.totals else {}

    @property
    def settings(self) -> dict[str, object]:
        """Decoding settings: those of the task, and over them those of the command line."""
        given = dict(_mapping(self.config.get("generation_kwargs")))
        given |= _arguments(_mapping(self.totals.config).get("gen_kwargs")) if self.totals else {}
        return {_RENAMED.get(name, name): value for name, value in given.items() if name not in _OF_TASK}

    @property
    def is_greedy(self) -> bool:
        """Whether decoding was told to be deterministic."""
        temperature = self.settings.get("temperature")
        return self.settings.get("do_sample") is False or (temperature is not None and str(temperature) in ("0", "0.0"))

    @property
    def repeats(self) -> int:
        """Completions of each question that were asked for; 0 where that is not known."""
        repeats = self.config.get("repeats")
        return repeats if isinstance(repeats, int) else 0

    @property
    def n_questions(self) -> int:
        """Questions that were evaluated; 0 where that is not known."""
        if self.totals is None:
            return 0
        effective = _mapping(_mapping(self.totals.n_samples).get(self.task)).get("effective")
        return effective if isinstance(effective, int) else 0

    @property
    def scorers(self) -> tuple[str, ...]:
        """`metric,filter` of every number among the results, in their order, filters that vote last."""
        results = _mapping(self.totals.results.get(self.task)) if self.totals else {}
        names = [
            name
            for name, value in results.items()
            if "," in name and "_stderr," not in name and isinstance(value, (int, float))
        ]
        return tuple(sorted(names, key=lambda name: self.votes(name.split(",", 1)[1])))

    def votes(self, filtered: str) -> bool:
        """Whether this filter makes one answer of several completions, so that its score is no completion's."""
        for known in _list(self.config.get("filter_list")):
            if _mapping(known).get("name") == filtered:
                return any(_mapping(step).get("function") == "majority_vote" for step in _list(known.get("filter")))
        return re.fullmatch(r"maj(ority)?[@_-]?\d*", filtered) is not None

    @property
    def task_hash(self) -> str:
        """The harness's hash of the file's rows; empty where it is not told."""
        found = _mapping(self.totals.task_hashes).get(self.task) if self.totals else None
        return found if isinstance(found, str) else ""

    @property
    def source(self) -> dict[str, object]:
        """What is told of the benchmark's source."""
        version = _mapping(self.totals.versions).get(self.task) if self.totals else None
        told = {name: self.config.get(name) for name in ("dataset_path", "dataset_name", "test_split", "num_fewshot")}
        told |= {"until": _mapping(self.config.get("generation_kwargs")).get("until"), "version": version}
        told["lm_eval"] = self.totals.lm_eval_version if self.totals else None
        return {name: value for name, value in told.items() if value is not None}

    @property
    def created(self) -> str:
        """When it was run, as ISO 8601; empty where that is not told."""
        if self.totals and isinstance(self.totals.date, (int, float)) and 0 < self.totals.date < 1e11:
            return datetime.fromtimestamp(self.totals.date, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        day, _, clock = self.date.partition("T")
        return f"{day}T{clock.replace('-', ':')}" if clock else ""

    def id(self, task_hash: str) -> str:
        """A hash of what identifies it: the harness makes no id."""
        dates = (self.totals.date if self.totals else "", self.date if self.told else "")
        parts = [self.task, self.model, task_hash, dates, self.settings]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def run_of(path: Path, task_hash: Callable[[], str]) -> Run:
    """The run of a samples file.

    Parameters
    ----------
    task_hash
        The harness's hash of the file's rows; asked for only where the name does not settle it.
    """
    named = _NAMED.fullmatch(path.name)
    task, date = (named["task"], named["date"]) if named else ("", "")
    if named:
        for totals in _totals(path.parent, f"*{date}.json*"):
            if task in totals.configs or task in totals.results:
                return _run(path, totals, task, date)
    beside = list(_totals(path.parent, "*"))
    found = [(totals, task) for totals in beside if named and task in totals.configs]
    if beside and len(found) != 1:
        own = task_hash()
        found = [
            (totals, name) for totals in beside for name, known in _mapping(totals.task_hashes).items() if known == own
        ] or found
    if not found and len(beside) == 1 and len(beside[0].configs) == 1:
        found = [(beside[0], next(iter(beside[0].configs)))]
    if len({(totals.model, name) for totals, name in found}) == 1:
        run = _run(path, *found[0], date)
        told = list(run.told)
        if len(found) > 1:
            told.append(f"{len(found)} results json could be those of this file: settings are read from the first")
        elif date:
            told.append(
                "no results json of its date lies beside it: model and settings are read from the one that does"
            )
        return msgspec.structs.replace(run, told=tuple(told))
    why = f"{len(found)} results json could be its own" if found else "no results json of it lies beside it"
    task = task or path.name.removesuffix(".gz").removesuffix(".jsonl").removeprefix("samples_")
    model = path.resolve().parent.name or "model"
    return Run(
        task=task,
        model=model,
        date=date,
        told=(f"{why}: the benchmark {task!r} is the file's name, the model {model!r} its folder's",),
    )


def _run(path: Path, totals: Totals, task: str, date: str) -> Run:
    model = totals.model
    if model:
        return Run(task=task, model=model, totals=totals, date=date)
    model = path.resolve().parent.name or "model"
    told = (f"the results json names no model: {model!r} is its folder's name",)
    return Run(task=task, model=model, totals=totals, date=date, told=told)


def _totals(folder: Path, pattern: str) -> Iterator[Totals]:
    """Every results json of a folder; damaged ones are passed by, as those of other programs are."""
    for file in sorted(folder.glob(pattern)):
        if ".jsonl" in file.suffixes or not file.is_file():
            continue
        head = FileHead(file)
        if head.kind == "json" and head.keys >= TOTALS:
            try:
                yield read_json(file, Totals)
            except InputError:
                continue


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _arguments(value: Any) -> dict[str, Any]:
    """Arguments as they are told: a mapping, or `name=value,name=value` of older versions."""
    if isinstance(value, str):
        pairs = (part.partition("=") for part in value.split(",") if "=" in part)
        return {name.strip(): _value(text) for name, _, text in pairs}
    return dict(_mapping(value))


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text.lower() if text in ("True", "False") else text)
    except msgspec.DecodeError:
        return text
