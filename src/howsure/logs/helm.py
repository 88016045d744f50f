"""Read HELM's run folders: run_spec.json, per_instance_stats.json and, for texts, scenario_state.json.

A question is an instance. Its perturbation and its draw of examples ("trial") are a prompt variant and never a
generation: the same id occurs under each. HELM scores the first completion of a request; the others are generations
without a score.

The record of `--columns` is a request state: `instance.extra_data.topic`.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.logs.base import LogInfo, LogReader, LogRow, RowBuilder, RowFields, RowKey, mark_missing
from howsure.logs.file_formats import AddNote, hash_file, ignore_note, read_json, read_json_array
from howsure.logs.settings import list_conditions
from howsure.logs.values import (
    Record,
    as_mapping,
    get_field,
    get_number,
    get_text,
    hash_text,
    is_list,
    list_messages,
    parse_records,
)
from howsure.rows.formats import open_unpacked
from howsure.store.manifest import ModelRecord
from howsure.store.schema import UNSCORED

_SPEC, _STATS, _STATE = "run_spec.json", "per_instance_stats.json", "scenario_state.json"
#: The split that HELM reports, and those that it scores beside it.
_SPLIT = "test"
_SETTINGS = ("temperature", "max_tokens", "stop_sequences", "num_outputs", "random", "model_deployment", "method")
#: Parts of the name of a run that describe the model and the number of repeats, and not the questions.
_NOT_BENCHMARK = re.compile(r"[:,](?:model|model_deployment|data_augmentation|num_outputs|num_train_trials)=[^,]*")
_FAILED = re.compile(rb'"success": ?false')
_CHUNK = 1 << 20
#: Headline metrics of HELM's scenarios, narrower ones first; without them, the first non-bookkeeping metric is used.
# Not formatted: one name a line would fill a page.
_HEADLINES = (
    "ifeval_strict_accuracy", "wildbench_score_rescaled", "omni_math_accuracy", "chain_of_thought_correctness",
    "math_equiv_chain_of_thought", "math_equiv", "final_number_exact_match", "code_eval_acc", "exact_match",
    "quasi_exact_match", "quasi_prefix_exact_match", "prefix_exact_match", "f1_score", "f1_set_match", "rouge_2",
    "rouge_l", "bleu_4", "exact_match_indicator",
)  # fmt: skip
#: Stats that describe a request and not its answer.
_BOOKKEEPING = re.compile(
    r"num_.*|training_.*|inference_.*|finish_reason_.*|batch_size|prompt_truncated|max_prob|predicted_index|logprob"
    r"|logprob_per_byte|.*_cost"
)

#: Stats that are fields of a row.
_USAGE = {
    "finish_reason_length": "was_cut",
    "num_prompt_tokens": "prompt_tokens",
    "num_output_tokens": "completion_tokens",
    "inference_runtime": "seconds",
}

#: The key of a cell: question and variant.
_Cell = tuple[str, str]


class _RunSpec(msgspec.Struct):
    name: str
    adapter_spec: dict[str, Any]
    scenario_spec: object = None
    groups: object = None

    @property
    def model(self) -> str:
        """The model."""
        return str(self.adapter_spec["model"])

    @property
    def n_completions(self) -> int:
        """Number of completions of a request; a method that compares choices makes one, whatever num_outputs is."""
        n = self.adapter_spec.get("num_outputs")
        is_compared = str(self.adapter_spec.get("method")).startswith(("multiple_choice", "ranking"))
        return n if isinstance(n, int) and not is_compared else 1

    @property
    def benchmark(self) -> str:
        """The name of the run without its model, which is equal for runs of the same questions.

        `mmlu:subject=anatomy,model=a_b,data_augmentation=canonical` is `mmlu:subject=anatomy`.
        """
        name = _NOT_BENCHMARK.sub("", self.name)
        return name if ":" in name else name.replace(",", ":", 1)


class _StatName(msgspec.Struct):
    name: str
    split: str | None = None
    perturbation: object = None


class _Stat(msgspec.Struct):
    """A stat of one instance, or over all instances."""

    name: _StatName
    count: int = 0
    mean: float | None = None


class _InstanceStats(msgspec.Struct):
    """Stats that one metric computed for one instance under one perturbation and one draw of examples."""

    instance_id: str
    stats: list[_Stat]
    train_trial_index: int = 0
    perturbation: dict[str, Any] | None = None


class _InstanceScore(msgspec.Struct):
    """The score and the usage of one answer, from the stats."""

    score: float | None = None
    count: int = 0
    """Number of values that the score is the mean of."""
    split: str | None = None
    was_cut: float = 0
    """1 where the answer reached the limit of tokens."""
    prompt_tokens: int | None = None
    completion_tokens: float | None = None
    seconds: float | None = None

    @property
    def fields(self) -> RowFields:
        """The fields of a row that the stats state."""
        fields: RowFields = mark_missing("the log has no score here")
        if self.score is not None:
            fields = {"score": self.score, "status": "length" if self.was_cut == 1 else "ok"}
        fields["prompt_tokens"], fields["completion_tokens"] = self.prompt_tokens, self.completion_tokens
        fields["seconds"] = self.seconds
        return fields


class HelmReader(LogReader):
    """Reads a run folder of HELM, one row for each completion."""

    name = "HELM"

    def members(self, path: Path) -> Sequence[Path]:
        """Return the folder of the run."""
        return [path if path.is_dir() else path.parent]

    def describe(self, path: Path) -> LogInfo:
        """Return model, settings and metrics, from the spec and the stats."""
        folder = self.members(path)[0]
        spec = _read_spec(folder)
        adapter = spec.adapter_spec
        settings = {key: adapter[key] for key in _SETTINGS if key in adapter}
        model = ModelRecord(name=spec.model, kind=self.name, settings=settings, generations=spec.n_completions)
        source = {"run_spec": spec.name, "scenario": spec.scenario_spec, "groups": spec.groups}
        return LogInfo(
            run=hash_text(hash_file(folder / _SPEC), (folder / _STATS).stat().st_size),
            models={spec.model: model},
            benchmarks={spec.benchmark: source},
            scorers=_list_scorers(folder / _STATS),
            conditions={name: adapter[name] for name in ("model_deployment", "method") if adapter.get(name)},
            prompts=list_conditions(adapter, without=["model", *_SETTINGS]),
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield one row for each completion; if no texts are read and no request failed, only the stats are read."""
        folder = self.members(path)[0]
        spec = _read_spec(folder)
        scorer = build.choose_scorer(_list_scorers(folder / _STATS))
        all_scores = _read_scores(folder / _STATS, scorer, build.note)
        scores = _select_split(all_scores, build.note)
        split = next((score.split for score in scores.values() if score.split), None)
        if "benchmark" not in build.options.columns:
            mean = _find_mean(folder / "stats.json", scorer, split)
            build.expect_mean(scorer, mean, variants=lambda name: name == "default" or name.startswith("trial "))
        state = folder / _STATE
        if build.options.columns and not state.is_file():
            raise InputError(f"--columns names fields of {_STATE}, which does not exist", where=str(path))
        if build.texts and not state.is_file():
            build.note("log-no-texts", file=_STATE)
        if spec.n_completions > 1:
            build.note("log-first-scored", completions=spec.n_completions)
        key = RowKey(spec.benchmark, spec.model, "")
        if state.is_file() and (build.texts or build.options.columns or _has_failures(state)):
            left_out = frozenset(all_scores.keys() - scores.keys())
            scores = yield from _read_states(state, key, scores, left_out, build)
        for (question, variant), score in scores.items():
            yield build.row(key._replace(question=question, variant=variant), **score.fields)


def _read_spec(folder: Path) -> _RunSpec:
    """Return the content of run_spec.json."""
    spec = read_json(folder / _SPEC, _RunSpec)
    if not isinstance(spec.adapter_spec.get("model"), str):
        what = "adapter_spec names no model"
        raise InputError(what, where=str(folder / _SPEC), remedy="is the file complete?")
    return spec


def _has_failures(state: Path) -> bool:
    """Return whether any request failed, which HELM scores as an empty answer; searches the bytes, which is fast."""
    rest = b""
    try:
        with open_unpacked(state) as file:
            while chunk := file.read(_CHUNK):
                if _FAILED.search(rest + chunk):
                    return True
                rest = chunk[-32:]
    except (OSError, EOFError):
        pass
    return False


def _read_states(
    path: Path, run_key: RowKey, scores: dict[_Cell, _InstanceScore], left_out: frozenset[_Cell], build: RowBuilder
) -> Generator[LogRow, None, dict[_Cell, _InstanceScore]]:
    """Yield rows in the order of the requests, without those left out; return the scores that have no request."""
    remaining = dict(scores)
    for state in read_json_array(path, dict[str, Any], build.note, under="request_states"):
        trial, instance = state.get("train_trial_index", 0), as_mapping(state.get("instance"))
        if not isinstance(instance.get("id"), str) or not isinstance(trial, int):
            build.note("log-requests", 1, file=_STATE)
            continue
        cell = (str(instance["id"]), name_variant(as_mapping(instance.get("perturbation")), trial))
        score = remaining.pop(cell, None)
        is_of_reference = state.get("reference_index") is not None
        # A request may be one of several, each of which is for one choice.
        if cell in left_out or (score is None and is_of_reference):
            continue
        if score is None and cell not in scores:
            build.note("log-requests", 1, file=_STATE)
        key = build.map_columns(run_key._replace(question=cell[0], variant=cell[1]), state)
        yield from _read_completions(key, state, (score or _InstanceScore()).fields, build)
    if remaining:
        build.note("log-no-request", len(remaining), total=len(scores), file=_STATE)
    return remaining


def _read_completions(key: RowKey, state: Record, fields: RowFields, build: RowBuilder) -> Iterator[LogRow]:
    """Yield the completion that was scored and, if texts are read, the other completions of the request."""
    fields["created"] = get_number(state, "result.request_datetime")
    is_failed = get_field(state, "result.success") is False
    if is_failed:
        build.note("log-failed-as-wrong", 1, program="HELM")
        message = " ".join((get_text(state, "result.error") or "no answer").split())[:300]
        fields |= {"score": None, "status": "error", "error": f"request: {message}"}
    choices = {letter: str(text) for letter, text in as_mapping(state.get("output_mapping")).items()}
    references = parse_records(get_field(state, "instance.references"), ignore_note)
    right = (one for one in references if is_list(one.get("tags")) and "correct" in one["tags"])
    target = next((get_text(one, "output.text") for one in right), None)
    fields["target"] = next((letter for letter, text in choices.items() if text == target), target)
    if build.texts:
        fields["choices"] = tuple(choices.values())
        wanted = get_field(state, "request.messages") or get_text(state, "request.prompt") or ""
        fields["messages"] = list_messages(wanted)
    completions = list(parse_records(get_field(state, "result.completions"), ignore_note)) or [{}]
    if not build.texts or is_failed or state.get("reference_index") is not None:
        yield build.row(key, **fields)
        return
    for completion in completions:
        text = get_text(completion, "text") or ""
        fields["answer"] = text.strip() if text.strip() in choices else None
        fields["finish_reason"] = get_text(completion, "finish_reason.reason")
        yield build.row(key, completion=text, **fields)
        fields |= {"score": None, "status": UNSCORED, "error": None, "prompt_tokens": None, "completion_tokens": None}


def _list_scorers(path: Path) -> tuple[str, ...]:
    """Return the names of the metrics, HELM's headline first; bookkeeping only if there is no other metric."""
    stats = (stat for record in read_json_array(path, _InstanceStats, ignore_note) for stat in record.stats)
    names = dict.fromkeys(stat.name.name for stat in stats if stat.count)
    proper = [name for name in names if not _BOOKKEEPING.fullmatch(name)] or list(names)
    plain = [name for name in proper if "@" not in name]
    headline = next((name for name in (*_HEADLINES, *plain) if name in proper), None)
    return tuple(sorted(proper, key=lambda name: name != headline))


def _read_scores(path: Path, scorer: str, note: AddNote) -> dict[_Cell, _InstanceScore]:
    """Return the scores by question and variant, in the order of the file."""
    scores: dict[_Cell, _InstanceScore] = {}
    for record in read_json_array(path, _InstanceStats, note):
        key = (record.instance_id, name_variant(record.perturbation, record.train_trial_index))
        score = scores.setdefault(key, _InstanceScore())
        for stat in record.stats:
            name, mean = stat.name.name, stat.mean
            if mean is None:
                continue
            if name == scorer:
                if score.count:
                    note("log-again", 1, what=f"{scorer!r} of an instance")
                score.score, score.count, score.split = mean, stat.count, stat.name.split
            elif name in _USAGE:
                setattr(score, _USAGE[name], round(mean) if name == "num_prompt_tokens" else mean)
    if n := sum(score.count > 1 for score in scores.values()):
        note("log-means", n)
    if n := sum(score.score is None for score in scores.values()):
        note("log-no-score", n, of=f" of {scorer!r}")
    if "@" in scorer:
        note("log-best-of", scorer=scorer)
    return scores


def _select_split(scores: dict[_Cell, _InstanceScore], note: AddNote) -> dict[_Cell, _InstanceScore]:
    """Return the scores of the split that HELM reports, where there are several."""
    splits = sorted({score.split for score in scores.values() if score.split})
    if len(splits) < 2:
        return scores
    if _SPLIT not in splits:
        note("log-splits", count=len(splits), splits=", ".join(splits)[:80])
        return scores
    selected = {key: score for key, score in scores.items() if score.split in (_SPLIT, None)}
    others = ", ".join(split for split in splits if split != _SPLIT)[:80]
    note("log-split", len(scores) - len(selected), splits=others, split=_SPLIT)
    return selected


def _find_mean(path: Path, scorer: str, split: str | None) -> float | None:
    """Return the mean that stats.json states for a metric and a split, without perturbation."""
    try:
        totals = read_json(path, list[_Stat]) if path.is_file() else []
    except InputError:
        return None
    names = (scorer, split, None)
    return next((one.mean for one in totals if (one.name.name, one.name.split, one.name.perturbation) == names), None)


def name_variant(perturbation: Mapping[str, object] | None, trial: int) -> str:
    """Return a name for the form of the prompt.

    >>> name_variant(None, 0), name_variant({"name": "typos", "robustness": True, "prob": 0.1}, 2)
    ('default', 'typos prob=0.1, trial 3')
    """
    parts = []
    if perturbation:
        plain = {"name", "robustness", "fairness", "computed_on"}
        settings = [f"{key}={value}" for key, value in sorted(perturbation.items()) if key not in plain]
        parts.append(" ".join([str(perturbation.get("name", "perturbed")), *settings]))
    if trial:
        parts.append(f"trial {trial + 1}")
    return ", ".join(parts) or "default"
