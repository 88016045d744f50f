"""Which run of lighteval a file of details belongs to: its results json, task, model and settings.

Details lie in `details/MODEL/DATE/`, totals in `results/MODEL/`; in a repository of details on the Hub, which has the
model in its name, totals lie above the folders with dates. Files that were put together in one folder are found too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.file_head import FileHead
from howsure.readers.logs.json_files import read_json

__all__ = ["TOTALS", "Run", "folders", "run_of"]

#: Keys of a results json; that of lm-evaluation-harness has no config_general.
TOTALS = frozenset({"config_general", "results"})
_DATE = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_NAMED = re.compile(rf"details_(?P<task>.+)_(?P<date>{_DATE})\.parquet")
_RENAMED = {"max_new_tokens": "max_tokens"}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a run."""

    task: str
    """With the number of examples shown: `gsm8k|5`."""
    model: str
    results: Path | None = None
    totals: Mapping[str, Any] = {}
    date: str = ""
    told: tuple[str, ...] = ()
    """What had to be guessed."""

    @property
    def benchmark(self) -> str:
        """The task without the number of examples shown, and without the flag that older versions added to it."""
        return re.sub(r"(\|\d+)+$", "", self.task) or self.task

    @property
    def source(self) -> dict[str, object]:
        """What is told of the benchmark's source."""
        known = ("hf_repo", "hf_subset", "evaluation_splits", "version")
        told = {name: self._config.get(name) for name in known}
        told |= {"task": self.task, "lighteval": _mapping(self.totals.get("config_general")).get("lighteval_sha")}
        if shots := re.search(r"\|(\d+)", self.task.removeprefix(self.benchmark)):
            told["num_fewshot"] = int(shots[1])
        return {name: value for name, value in told.items() if value is not None}

    @property
    def settings(self) -> dict[str, object]:
        """Decoding settings that were given."""
        general = _mapping(self.totals.get("config_general"))
        given = _mapping(_mapping(general.get("model_config")).get("generation_parameters"))
        given = given or _mapping(general.get("generation_parameters"))
        return {_RENAMED.get(name, name): value for name, value in given.items() if value is not None}

    @property
    def is_greedy(self) -> bool:
        """Whether decoding was told to be deterministic."""
        return self.settings.get("temperature") in (0, 0.0)

    @property
    def n_questions(self) -> int:
        """Questions that were evaluated; 0 where that is not known."""
        n = self._config.get("effective_num_docs")
        return n if isinstance(n, int) else 0

    @property
    def created(self) -> str:
        """When it was run, as ISO 8601; empty where that is not told."""
        day, _, clock = self.date.partition("T")
        return f"{day}T{clock.replace('-', ':')}" if clock else ""

    @property
    def id(self) -> str:
        """A hash of what identifies it: the harness makes no id."""
        general = _mapping(self.totals.get("config_general"))
        parts = [self.task, self.model, general.get("start_time"), self.date, sorted(self.settings.items(), key=str)]
        return hashlib.sha256(repr(parts).encode(errors="replace")).hexdigest()[:16]

    @property
    def _config(self) -> Mapping[str, Any]:
        known = _mapping(self.totals.get("config_tasks"))
        return _mapping(known.get(self.task) or known.get(self.benchmark))


def run_of(path: Path, task: str) -> Run:
    """The run of a file of details.

    Parameters
    ----------
    task
        As the details say it; empty where they do not.
    """
    named = _NAMED.fullmatch(path.name)
    dated = re.fullmatch(_DATE, path.resolve().parent.name)
    date = named["date"] if named else dated[0] if dated else ""
    found = list(_totals(path))
    found = [pair for pair in found if date and date in pair[0].name] or found
    name = task or (named["task"] if named else "")
    found = [pair for pair in found if not name or name in _tasks(pair[1])]
    told = []
    results, totals = found[0] if found and len({_model(totals) for _, totals in found}) == 1 else (None, {})
    if len(found) > 1:
        told.append(f"{len(found)} results json could be its own{': the first is read' if results else ''}")
    if not name and results and len(_tasks(totals)) == 1:
        name = next(iter(_tasks(totals)))
    if not name:
        name = path.stem
        told.append(f"no task is named: the benchmark {name!r} is the file's name")
    model = _model(totals)
    if not model:
        model = _placed(path.resolve())
        told.append(f"no results json names the model: {model!r} is what its folders are called")
    return Run(task=name, model=model, results=results, totals=totals, date=date, told=tuple(told))


def folders(path: Path) -> Iterator[Path]:
    """Where totals of these details may lie: beside them, above the date, or in the mirrored tree of results."""
    path = path.resolve()
    yield path.parent
    yield path.parent.parent
    for above in path.parents:
        if above.name == "details":
            yield above.parent / "results" / path.parent.parent.relative_to(above)
            return


def _totals(path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Every results json that may be its own; damaged ones are passed by, as those of other programs are."""
    for folder in folders(path):
        for file in sorted(folder.glob("*.json")):
            head = FileHead(file)
            if head.kind == "json" and head.keys >= TOTALS:
                try:
                    yield file, read_json(file, dict[str, Any])
                except InputError:
                    continue


def _tasks(totals: Mapping[str, Any]) -> set[str]:
    return {name for part in ("results", "config_tasks") for name in _mapping(totals.get(part))} - {"all"}


def _model(totals: Mapping[str, Any]) -> str:
    general = _mapping(totals.get("config_general"))
    names = (general.get("model_name"), _mapping(general.get("model_config")).get("model_name"))
    return next((name for name in names if isinstance(name, str) and name), "")


def _placed(path: Path) -> str:
    """The model as the path has it: `details/ORG/MODEL/DATE/`, or `details_ORG__MODEL`."""
    for above in path.parents:
        if above.name == "details" and path.parent.parent != above.parent:
            inside = path.parent.relative_to(above)
            return str(inside.parent if re.fullmatch(_DATE, inside.name) else inside)
        if above.name.startswith("details_"):
            return above.name.removeprefix("details_").removesuffix("_private").replace("__", "/")
    return path.parent.name or "model"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
