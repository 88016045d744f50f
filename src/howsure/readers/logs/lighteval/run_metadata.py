"""Find the run of lighteval that a file of details belongs to: its results json, task, model and settings.

Details are in `details/MODEL/DATE/`, totals in `results/MODEL/`. In a repository of details on the Hub, which has the
model in its name, totals are above the folders with dates. Files in one folder are found too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import as_mapping
from howsure.readers.logs.file_head import FileHead
from howsure.readers.logs.json_files import read_json

#: Keys of a results json; that of lm-evaluation-harness has no config_general.
TOTALS_KEYS = frozenset({"config_general", "results"})
_DATE = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_FILE_NAME = re.compile(rf"details_(?P<task>.+)_(?P<date>{_DATE})\.parquet")
_RENAMED = {"max_new_tokens": "max_tokens"}


class LightevalRun(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of one task of a run."""

    task: str
    """With the number of examples in the prompt: `gsm8k|5`."""
    model: str
    results: Path | None = None
    totals: Mapping[str, Any] = {}
    date: str = ""
    notes: tuple[str, ...] = ()
    """Lines about metadata that had to be guessed."""

    @property
    def benchmark(self) -> str:
        """Return the task without the number of examples in the prompt and the flag that older versions added to it."""
        return re.sub(r"(\|\d+)+$", "", self.task) or self.task

    @property
    def source(self) -> dict[str, object]:
        """Return the metadata of the source of the benchmark."""
        names = ("hf_repo", "hf_subset", "evaluation_splits", "version")
        source = {name: self._config.get(name) for name in names}
        source |= {"task": self.task, "lighteval": as_mapping(self.totals.get("config_general")).get("lighteval_sha")}
        if shots := re.search(r"\|(\d+)", self.task.removeprefix(self.benchmark)):
            source["num_fewshot"] = int(shots[1])
        return {name: value for name, value in source.items() if value is not None}

    @property
    def settings(self) -> dict[str, object]:
        """Decoding settings of the results json."""
        general = as_mapping(self.totals.get("config_general"))
        parameters = as_mapping(as_mapping(general.get("model_config")).get("generation_parameters"))
        parameters = parameters or as_mapping(general.get("generation_parameters"))
        return {_RENAMED.get(name, name): value for name, value in parameters.items() if value is not None}

    @property
    def is_greedy(self) -> bool:
        """Whether decoding was set to be deterministic."""
        return self.settings.get("temperature") in (0, 0.0)

    @property
    def n_questions(self) -> int:
        """Number of questions that were evaluated; 0 where it is not known."""
        n = self._config.get("effective_num_docs")
        return n if isinstance(n, int) else 0

    @property
    def created(self) -> str:
        """When the run was started, as ISO 8601; empty where it is not stated."""
        day, _, clock = self.date.partition("T")
        return f"{day}T{clock.replace('-', ':')}" if clock else ""

    @property
    def id(self) -> str:
        """A hash of what identifies the run, since the harness makes no id."""
        general = as_mapping(self.totals.get("config_general"))
        parts = [self.task, self.model, general.get("start_time"), self.date, sorted(self.settings.items(), key=str)]
        return hashlib.sha256(repr(parts).encode(errors="replace")).hexdigest()[:16]

    @property
    def _config(self) -> Mapping[str, Any]:
        """The configuration of the task."""
        configs = as_mapping(self.totals.get("config_tasks"))
        return as_mapping(configs.get(self.task) or configs.get(self.benchmark))


def find_run(path: Path, task: str) -> LightevalRun:
    """Return the run of a file of details.

    Parameters
    ----------
    path
        The file.
    task
        The task as the details name it; empty where they do not.
    """
    match = _FILE_NAME.fullmatch(path.name)
    dated = re.fullmatch(_DATE, path.resolve().parent.name)
    date = match["date"] if match else dated[0] if dated else ""
    candidates = list(_read_totals(path))
    candidates = [pair for pair in candidates if date and date in pair[0].name] or candidates
    name = task or (match["task"] if match else "")
    candidates = [pair for pair in candidates if not name or name in _list_tasks(pair[1])]
    notes = []
    results, totals = candidates[0] if len({_find_model(totals) for _, totals in candidates}) == 1 else (None, {})
    if len(candidates) > 1:
        notes.append(f"{len(candidates)} results json could be its own{': the first is read' if results else ''}")
    if not name and results and len(_list_tasks(totals)) == 1:
        name = next(iter(_list_tasks(totals)))
    if not name:
        name = path.stem
        notes.append(f"no task is named: the benchmark {name!r} is the file's name")
    model = _find_model(totals)
    if not model:
        model = _model_of_path(path.resolve())
        notes.append(f"no results json names the model: {model!r} is what its folders are called")
    return LightevalRun(task=name, model=model, results=results, totals=totals, date=date, notes=tuple(notes))


def _list_folders(path: Path) -> Iterator[Path]:
    """Yield where totals of these details may be: beside them, above the date, or in the parallel tree of results."""
    path = path.resolve()
    yield path.parent
    yield path.parent.parent
    for above in path.parents:
        if above.name == "details":
            yield above.parent / "results" / path.parent.parent.relative_to(above)
            return


def _read_totals(path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield every results json that may be its own, without damaged ones and those of other programs."""
    for folder in _list_folders(path):
        for file in sorted(folder.glob("*.json")):
            head = FileHead(file)
            if head.kind == "json" and head.keys >= TOTALS_KEYS:
                try:
                    yield file, read_json(file, dict[str, Any])
                except InputError:
                    continue


def _list_tasks(totals: Mapping[str, Any]) -> set[str]:
    """Return the tasks of a results json."""
    return {name for part in ("results", "config_tasks") for name in as_mapping(totals.get(part))} - {"all"}


def _find_model(totals: Mapping[str, Any]) -> str:
    """Return the model that a results json names; empty where it names none."""
    general = as_mapping(totals.get("config_general"))
    names = (general.get("model_name"), as_mapping(general.get("model_config")).get("model_name"))
    return next((name for name in names if isinstance(name, str) and name), "")


def _model_of_path(path: Path) -> str:
    """Return the model that the path names: `details/ORG/MODEL/DATE/`, or `details_ORG__MODEL`."""
    for above in path.parents:
        if above.name == "details" and path.parent.parent != above.parent:
            inside = path.parent.relative_to(above)
            return str(inside.parent if re.fullmatch(_DATE, inside.name) else inside)
        if above.name.startswith("details_"):
            return above.name.removeprefix("details_").removesuffix("_private").replace("__", "/")
    return path.parent.name or "model"
