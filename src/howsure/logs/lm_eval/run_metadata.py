"""Find the run of lm-evaluation-harness that a file of samples belongs to: its results json, task, model and settings.

A samples file names neither its task nor its model; its name has the task and the date of its results json.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from howsure.logs.file_formats import AddNote, read_totals
from howsure.logs.settings import DECODING, list_conditions
from howsure.logs.values import as_mapping, format_file_time, get_field, hash_text

#: Keys of a results json; that of lighteval has no configs.
TOTALS_KEYS = frozenset({"results", "configs"})
_FILE_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl(?:\.gz)?")
#: Model arguments that name the model, in the harness's own order.
_MODEL_ARGUMENTS = ("peft", "delta", "pretrained", "model", "path", "engine")
#: Metrics that are means where a task does not state how they are aggregated.
_MEANS = ("acc", "acc_norm", "exact_match")
#: Settings that have another name here, and those that belong to the task and not to the decoding.
_RENAMED = {"max_gen_toks": "max_tokens", "max_new_tokens": "max_tokens"}
_OF_TASK = ("until",)


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """The needed part of a results json."""

    results: dict[str, Any]
    configs: dict[str, Any]
    config: Any = None
    versions: Any = None
    n_samples: Any = msgspec.field(name="n-samples", default=None)
    n_shot: Any = msgspec.field(name="n-shot", default=None)
    system_instruction: Any = None
    fewshot_as_multiturn: Any = None
    model_name: Any = None
    date: Any = None
    chat_template_sha: Any = None
    lm_eval_version: Any = None

    def find_model(self, path: Path, note: AddNote) -> str:
        """Return the name of the model; that of the folder of the log where it is not stated."""
        config = as_mapping(self.config)
        arguments = _parse_arguments(config.get("model_args"))
        names = (self.model_name, *(arguments.get(name) for name in _MODEL_ARGUMENTS), config.get("model"))
        if model := next((name for name in names if isinstance(name, str) and name), None):
            return model
        model = path.resolve().parent.name or "model"
        note("log-names-model", model=model)
        return model


class LmEvalRun(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of one task of a run."""

    task: str
    model: str
    totals: Totals | None = None
    date: str = ""
    """The date in the name of the file."""

    @property
    def config(self) -> Mapping[str, object]:
        """The task's configuration; empty where it is not known."""
        return as_mapping(self.totals.configs.get(self.task)) if self.totals else {}

    @property
    def settings(self) -> dict[str, object]:
        """Decoding settings: those of the task, and over them those of the command line."""
        given = dict(as_mapping(self.config.get("generation_kwargs")))
        given |= _parse_arguments(as_mapping(self.totals.config).get("gen_kwargs")) if self.totals else {}
        return {_RENAMED.get(name, name): value for name, value in given.items() if name not in _OF_TASK}

    @property
    def conditions(self) -> dict[str, object]:
        """What distinguishes the model from others of its name: arguments such as revision, and the program."""
        config = as_mapping(self.totals.config) if self.totals else {}
        arguments = _parse_arguments(config.get("model_args"))
        others = {name: value for name, value in self.settings.items() if name not in DECODING}
        named = [name for name, value in arguments.items() if value == self.model]
        return {"backend": config.get("model"), **list_conditions({**others, **arguments}, without=named)}

    @property
    def prompts(self) -> dict[str, object]:
        """What distinguishes the prompts: number of examples, system prompt, template."""
        if self.totals is None:
            return {}
        n_examples = as_mapping(self.totals.n_shot).get(self.task, self.config.get("num_fewshot"))
        return {
            "num_fewshot": n_examples,
            "system_instruction": self.totals.system_instruction,
            "fewshot_as_multiturn": self.totals.fewshot_as_multiturn or None,
            "chat_template": self.totals.chat_template_sha,
        }

    @property
    def is_greedy(self) -> bool:
        """Whether decoding was set to be deterministic."""
        temperature = self.settings.get("temperature")
        return self.settings.get("do_sample") is False or (temperature is not None and str(temperature) in ("0", "0.0"))

    @property
    def repeats(self) -> int:
        """Number of completions of each question; 0 where it is not known."""
        repeats = self.config.get("repeats")
        return repeats if isinstance(repeats, int) else 0

    @property
    def n_questions(self) -> int:
        """Number of questions that were evaluated; 0 where it is not known."""
        if self.totals is None:
            return 0
        effective = get_field(as_mapping(self.totals.n_samples).get(self.task), "effective")
        return effective if isinstance(effective, int) else 0

    @property
    def scorers(self) -> tuple[str, ...]:
        """`metric,filter` of every number among the results, in their order; majority votes are last."""
        results = as_mapping(self.totals.results.get(self.task)) if self.totals else {}
        names = [
            name
            for name, value in results.items()
            if "," in name and "_stderr," not in name and isinstance(value, (int, float))
        ]
        return tuple(sorted(names, key=lambda name: self.is_majority_vote(name.split(",", 1)[1])))

    def is_majority_vote(self, filter_name: str) -> bool:
        """Return whether a filter makes one answer of several completions, so that its score is of none of them."""
        for each in _list(self.config.get("filter_list")):
            if as_mapping(each).get("name") == filter_name:
                return any(as_mapping(step).get("function") == "majority_vote" for step in _list(each.get("filter")))
        return re.fullmatch(r"maj(ority)?[@_-]?\d*", filter_name) is not None

    def find_mean(self, metric: str, filter_name: str) -> object:
        """Return the number that the harness states for a metric, if it is a mean of the scores; None otherwise."""
        aggregations = {
            as_mapping(each).get("metric"): as_mapping(each).get("aggregation")
            for each in _list(self.config.get("metric_list"))
        }
        if self.totals is None or aggregations.get(metric, "mean" if metric in _MEANS else "") != "mean":
            return None
        return as_mapping(self.totals.results.get(self.task)).get(f"{metric},{filter_name}")

    @property
    def source(self) -> dict[str, object]:
        """The metadata of the source of the benchmark."""
        version = as_mapping(self.totals.versions).get(self.task) if self.totals else None
        source = {name: self.config.get(name) for name in ("dataset_path", "dataset_name", "test_split", "num_fewshot")}
        source |= {"until": as_mapping(self.config.get("generation_kwargs")).get("until"), "version": version}
        source["lm_eval"] = self.totals.lm_eval_version if self.totals else None
        return {name: value for name, value in source.items() if value is not None}

    @property
    def created(self) -> str:
        """When the run was started, as ISO 8601; empty where it is not stated."""
        if self.totals and isinstance(self.totals.date, (int, float)) and 0 < self.totals.date < 1e11:
            return datetime.fromtimestamp(self.totals.date, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return format_file_time(self.date)

    def identify(self, digest: str) -> str:
        """Return a hash of what identifies the run, since the harness makes no id; `digest` is that of the file."""
        return hash_text(self.task, self.model, digest, repr(self.totals and self.totals.date), repr(self.settings))


def find_run(path: Path, note: AddNote) -> LmEvalRun:
    """Return the run of a samples file, by its name and the results json beside it; what has to be guessed is noted."""
    match = _FILE_NAME.fullmatch(path.name)
    task, date = (match["task"], match["date"]) if match else ("", "")
    files = sorted(path.parent.glob(f"*{date}.json*")) if match else []
    for _, totals in read_totals(files, TOTALS_KEYS, Totals):
        if task in totals.configs or task in totals.results:
            return LmEvalRun(task=task, model=totals.find_model(path, note), totals=totals, date=date)
    task = task or path.name.removesuffix(".gz").removesuffix(".jsonl").removeprefix("samples_")
    model = path.resolve().parent.name or "model"
    names = f"the benchmark {task!r} is the file's name, the model {model!r} its folder's"
    note("log-metadata", what=f"no results json of it lies beside it: {names}")
    return LmEvalRun(task=task, model=model, date=date)


def _list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def _parse_arguments(value: Any) -> dict[str, Any]:
    """Return arguments by name, which are a mapping, or `name=value,name=value` in older versions."""
    if isinstance(value, str):
        pairs = (part.partition("=") for part in value.split(",") if "=" in part)
        return {name.strip(): _parse_value(text) for name, _, text in pairs}
    return dict(as_mapping(value))


def _parse_value(text: str) -> Any:
    """Return the value of an argument."""
    try:
        return msgspec.json.decode(text.lower() if text in ("True", "False") else text)
    except msgspec.DecodeError:
        return text
