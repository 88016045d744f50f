"""Read HELM's run folders: run_spec.json, per_instance_stats.json and, for texts, scenario_state.json.

A question is an instance. Its perturbation and its draw of examples ("trial") are a prompt variant and never a
generation: the same id occurs under each. HELM scores the first completion of a request; the others are generations
without a score.

The record of `--columns` is a request state: `instance.extra_data.topic`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.logs.base import (
    COUNTED_AS_WRONG,
    ONLY_FIRST_SCORED,
    UNSCORED,
    LogInfo,
    LogReader,
    LogRow,
    Note,
    PromptFields,
    RowBuilder,
    RowKey,
    ScoreFields,
    UsageFields,
)
from howsure.logs.file_formats import FileHead, open_file, read_json, read_json_array
from howsure.safe_text import inflect_text
from howsure.store.manifest import ModelRecord

_SPEC, _STATS, _STATE = "run_spec.json", "per_instance_stats.json", "scenario_state.json"
_TOTALS = "stats.json"
#: The split that HELM reports, and those that it scores beside it.
_SPLIT = "test"
_SETTINGS = ("temperature", "max_tokens", "stop_sequences", "num_outputs", "random", "model_deployment", "method")
#: Parts of the name of a run that describe the model and the number of repeats, and not the questions.
_NOT_BENCHMARK = re.compile(r"[:,](?:model|model_deployment|data_augmentation|num_outputs|num_train_trials)=[^,]*")
_FAILED = re.compile(rb'"success": ?false')
_CHUNK = 1 << 20

#: The key of a cell: question and variant.
_Cell = tuple[str, str]
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


class _ReplyFields(ScoreFields, UsageFields, total=False):
    """Fields of a row that the stats and the reply state."""

    answer: str | None
    finish_reason: str | None


class HelmReader(LogReader):
    """Reads a run folder of HELM, one row for each completion."""

    name = "HELM"

    def recognises(self, head: FileHead) -> bool:
        """Return whether it is a folder with these files, or the stats within it."""
        if head.kind == "folder":
            return {_SPEC, _STATS} <= head.keys
        return head.kind == "json" and {"instance_id", "train_trial_index", "stats"} <= head.keys

    def members(self, path: Path) -> Sequence[Path]:
        """Return the folder of the run."""
        return [path if path.is_dir() else path.parent]

    def describe(self, path: Path) -> LogInfo:
        """Return model, settings and metrics, from the spec and the stats."""
        folder = self.members(path)[0]
        spec, adapter = _read_spec(folder / _SPEC)
        with open_file(folder / _SPEC) as file:
            run = hashlib.sha256(file.read() + str((folder / _STATS).stat().st_size).encode()).hexdigest()[:16]
        settings = {key: spec.adapter_spec[key] for key in _SETTINGS if key in spec.adapter_spec}
        model = ModelRecord(name=adapter.model, kind=self.name, settings=settings, generations=adapter.n_completions)
        source = {"run_spec": spec.name, "scenario": spec.scenario_spec, "groups": spec.groups}
        return LogInfo(
            run=run,
            models={adapter.model: model},
            benchmarks={_name_benchmark(spec): source},
            scorers=list_scorers(folder / _STATS),
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield one row for each completion; if no texts are read and no request failed, only the stats are read."""
        folder, options = self.members(path)[0], build.options
        spec, adapter = _read_spec(folder / _SPEC)
        scorer = build.choose_scorer(list_scorers(folder / _STATS))
        all_scores = _read_scores(folder / _STATS, scorer, build.note)
        scores = _select_split(all_scores, build.note)
        left_out = frozenset(all_scores.keys() - scores.keys())
        split = next((score.split for score in scores.values() if score.split), None)
        if "benchmark" not in options.columns:
            build.expect_mean(scorer, _find_mean(folder / _TOTALS, scorer, split), variants=_is_unperturbed)
        state = folder / _STATE
        if options.columns and not state.is_file():
            raise InputError(f"--columns names fields of {_STATE}, which does not exist", where=str(path))
        if build.texts and not state.is_file():
            build.note(f"there are no texts: {_STATE} is missing")
        if adapter.n_completions > 1:
            build.note(
                f"{adapter.n_completions} completions of each question were requested, and {ONLY_FIRST_SCORED}: "
                "howsure rescore scores the others"
            )
        key = RowKey(_name_benchmark(spec), adapter.model, "")
        if state.is_file() and (build.texts or options.columns or _has_failures(state)):
            scores = yield from _read_states(state, key, scores, left_out, build)
        for (question, variant), score in scores.items():
            yield build.row(key._replace(question=question, variant=variant), **_score_fields(score))


def _name_benchmark(spec: RunSpec) -> str:
    """Return the name of a run without its model, which is equal for runs of the same questions.

    `mmlu:subject=anatomy,model=a_b,data_augmentation=canonical` is `mmlu:subject=anatomy`.
    """
    name = _NOT_BENCHMARK.sub("", spec.name)
    return name if ":" in name else name.replace(",", ":", 1)


def _has_failures(state: Path) -> bool:
    """Return whether any request failed, which HELM scores as an empty answer; searches the bytes, which is fast."""
    rest = b""
    try:
        with open_file(state) as file:
            while chunk := file.read(_CHUNK):
                if _FAILED.search(rest + chunk):
                    return True
                rest = chunk[-32:]
    except (OSError, EOFError):
        return False
    return False


def _score_fields(score: _InstanceScore) -> _ReplyFields:
    """Return the fields of a row that the stats state."""
    return {
        "score": score.score,
        "status": "error" if score.score is None else "length" if score.was_cut else "ok",
        "error": "scoring: the log has no score here" if score.score is None else None,
        "prompt_tokens": score.prompt_tokens,
        "completion_tokens": score.completion_tokens,
        "seconds": score.seconds,
    }


def _read_states(
    path: Path,
    run_key: RowKey,
    scores: dict[_Cell, _InstanceScore],
    left_out: frozenset[_Cell],
    build: RowBuilder,
) -> Generator[LogRow, None, dict[_Cell, _InstanceScore]]:
    """Yield rows in the order of the requests, without those left out; return the scores that have no request."""
    remaining = dict(scores)
    n_unmatched = 0
    for record in read_json_array(path, dict[str, Any], build.note, under="request_states"):
        try:
            state = msgspec.convert(record, _RequestState)
        except msgspec.ValidationError:
            n_unmatched += 1
            continue
        cell = (state.instance.id, name_variant(state.instance.perturbation, state.train_trial_index))
        if cell in left_out:
            continue
        score = remaining.pop(cell, None)
        if score is None and state.reference_index is not None:
            continue  # this is one of several requests, each of which is for one choice
        n_unmatched += score is None and cell not in scores
        key = build.map_columns(run_key._replace(question=cell[0], variant=cell[1]), record)
        yield from _read_completions(key, state, _score_fields(score or _InstanceScore()), build)
    if n_unmatched:
        build.count(f"[request of {_STATE} is|requests of {_STATE} are] not in {_STATS} or cannot be read", n_unmatched)
    if remaining:
        build.note(
            f"{len(remaining)} of {len(scores)} instances have no request in {_STATE}: they are read without texts"
        )
    return remaining


def _read_completions(key: RowKey, state: _RequestState, fields: _ReplyFields, build: RowBuilder) -> Iterator[LogRow]:
    """Yield the completion that was scored and, if texts are read, the other completions of the request."""
    result = state.result or _RequestResult()
    created = result.request_datetime
    fields["created"] = float(created) if isinstance(created, (int, float)) else None
    if not result.success:
        build.count(f"[error|errors] that HELM scored as empty answers and {COUNTED_AS_WRONG}")
        message = " ".join(str(result.error or "no answer").split())[:300]
        fields |= {"score": None, "status": "error", "error": f"request: {message}"}
    prompt = _prompt_fields(state) if build.texts else PromptFields()
    if not build.texts or not result.success or state.reference_index is not None:
        yield build.row(key, **fields, **prompt)
        return
    choices = state.output_mapping or {}
    for completion in result.completions or [_Completion()]:
        answer = completion.text.strip()
        reason = completion.finish_reason.get("reason") if isinstance(completion.finish_reason, dict) else None
        fields |= {
            "answer": answer if answer in choices else None,
            "finish_reason": reason if isinstance(reason, str) else None,
        }
        yield build.row(key, completion=completion.text, **fields, **prompt)
        fields |= {"score": None, "status": UNSCORED, "error": None, "prompt_tokens": None, "completion_tokens": None}


def _prompt_fields(state: _RequestState) -> PromptFields:
    """Return target, choices and messages of a request."""
    choices, request = state.output_mapping or {}, state.request
    target = next((each.output.text for each in state.instance.references if "correct" in each.tags), None)
    messages = request.messages or [{"role": "user", "content": request.prompt}]
    return {
        "target": next((letter for letter, text in choices.items() if text == target), target),
        "choices": tuple(choices.values()),
        "messages": tuple({key: str(value) for key, value in message.items()} for message in messages),
    }


class _Adapter(msgspec.Struct):
    """How questions were turned into requests."""

    model: str
    num_outputs: int = 1
    method: str = ""

    @property
    def n_completions(self) -> int:
        """Number of completions of a request; a method that compares choices makes one, whatever num_outputs is."""
        return 1 if self.method.startswith(("multiple_choice", "ranking")) else self.num_outputs


class RunSpec(msgspec.Struct):
    """The content of run_spec.json."""

    name: str
    adapter_spec: dict[str, Any]
    scenario_spec: object = None
    groups: object = None


class _Output(msgspec.Struct):
    text: str = ""


class _Reference(msgspec.Struct):
    output: _Output
    tags: list[str] = []


class _Instance(msgspec.Struct):
    id: str
    perturbation: dict[str, Any] | None = None
    references: list[_Reference] = []


class _Request(msgspec.Struct):
    prompt: str = ""
    messages: list[dict[str, Any]] | None = None


class _Completion(msgspec.Struct):
    """One completion of a request."""

    text: str = ""
    finish_reason: object = None


class _RequestResult(msgspec.Struct):
    """The reply to a request."""

    success: bool = True
    completions: list[_Completion] = []
    error: object = None
    request_datetime: object = None


class _RequestState(msgspec.Struct):
    """A request that was made for an instance, or for one of its references."""

    instance: _Instance
    train_trial_index: int = 0
    reference_index: int | None = None
    output_mapping: dict[str, str] | None = None
    request: _Request = msgspec.field(default_factory=_Request)
    result: _RequestResult | None = None


class _StatName(msgspec.Struct):
    name: str
    split: str | None = None


class _Stat(msgspec.Struct):
    name: _StatName
    count: int = 0
    mean: float | None = None


class _TotalName(_StatName):
    perturbation: object = None


class _Total(msgspec.Struct):
    """A stat over all instances."""

    name: _TotalName
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
    was_cut: bool = False
    prompt_tokens: int | None = None
    completion_tokens: float | None = None
    seconds: float | None = None


def _read_spec(path: Path) -> tuple[RunSpec, _Adapter]:
    """Return the content of run_spec.json, and its adapter."""
    spec = read_json(path, RunSpec)
    try:
        return spec, msgspec.convert(spec.adapter_spec, _Adapter)
    except msgspec.ValidationError as error:
        raise InputError(f"adapter_spec: {error}", where=str(path), remedy="is the file complete?") from error


def list_scorers(path: Path) -> tuple[str, ...]:
    """Return the names of the metrics, HELM's headline first; bookkeeping only if there is no other metric."""
    names = dict.fromkeys(
        stat.name.name
        for record in read_json_array(path, _InstanceStats, lambda _: None)
        for stat in record.stats
        if stat.count
    )
    proper = [name for name in names if not _BOOKKEEPING.fullmatch(name)] or list(names)
    headline = next((name for name in _HEADLINES if name in proper), None)
    if headline is None:
        headline = next((name for name in proper if "@" not in name), None)
    return tuple(sorted(proper, key=lambda name: name != headline))


def _read_scores(path: Path, scorer: str, note: Note) -> dict[tuple[str, str], _InstanceScore]:
    """Return the scores by question and variant, in the order of the file."""
    scores: dict[tuple[str, str], _InstanceScore] = {}
    n_repeated = 0
    for record in read_json_array(path, _InstanceStats, note):
        key = (record.instance_id, name_variant(record.perturbation, record.train_trial_index))
        score = scores.setdefault(key, _InstanceScore())
        for stat in record.stats:
            if stat.name.name == scorer and stat.mean is not None:
                n_repeated += score.count > 0
                score.score, score.count, score.split = stat.mean, stat.count, stat.name.split
            elif stat.mean is not None:
                _add_usage(score, stat.name.name, stat.mean)
    if n_repeated:
        note(
            f"{n_repeated} {inflect_text('[instance has|instances have]', n_repeated)} {scorer!r} "
            "twice: the last value is read"
        )
    if n := sum(score.count > 1 for score in scores.values()):
        what = inflect_text("[score is a mean|scores are means] over several completions or references", n)
        note(f"{n} {what}, not of one generation")
    if n := sum(score.score is None for score in scores.values()):
        note(f"{n} of {len(scores)} instances have no {scorer!r}: they are missing")
    if "@" in scorer:
        note(f"{scorer!r} is the best of several completions, not the score of one generation")
    return scores


def _select_split(scores: dict[_Cell, _InstanceScore], note: Note) -> dict[_Cell, _InstanceScore]:
    """Return the scores of the split that HELM reports, where there are several."""
    splits = sorted({score.split for score in scores.values() if score.split})
    if len(splits) < 2:
        return scores
    if _SPLIT in splits:
        selected = {key: score for key, score in scores.items() if score.split in (_SPLIT, None)}
        others = ", ".join(split for split in splits if split != _SPLIT)[:80]
        n = len(scores) - len(selected)
        what = inflect_text(f"[instance of another split|instances of other splits] ({others}) [is|are] left out", n)
        note(f"{n} {what}: HELM reports the split {_SPLIT!r}")
        return selected
    names = ", ".join(splits)[:80]
    note(f"instances of {len(splits)} splits ({names}) are read together: HELM reports each one separately")
    return scores


def _find_mean(path: Path, scorer: str, split: str | None) -> float | None:
    """Return the mean that stats.json states for a metric and a split, without perturbation."""
    if not path.is_file():
        return None
    try:
        totals = read_json(path, list[_Total])
    except InputError:
        return None
    return next(
        (
            total.mean
            for total in totals
            if total.name.name == scorer and total.name.split == split and total.name.perturbation is None
        ),
        None,
    )


def _is_unperturbed(variant: str) -> bool:
    """Return whether a variant is the original prompt, with any draw of examples."""
    return variant == "default" or variant.startswith("trial ")


def _add_usage(score: _InstanceScore, name: str, mean: float) -> None:
    """Add a stat of the request, such as its tokens."""
    if name == "finish_reason_length":
        score.was_cut = mean == 1
    elif name == "num_prompt_tokens":
        score.prompt_tokens = round(mean)
    elif name == "num_output_tokens":
        score.completion_tokens = mean
    elif name == "inference_runtime":
        score.seconds = mean


def name_variant(perturbation: Mapping[str, object] | None, trial: int) -> str:
    """Return a name for the form of the prompt.

    >>> name_variant(None, 0), name_variant({"name": "typos", "robustness": True, "prob": 0.1}, 2)
    ('default', 'typos prob=0.1, trial 3')
    """
    parts = []
    if perturbation is not None:
        plain = {"name", "robustness", "fairness", "computed_on"}
        settings = [f"{key}={value}" for key, value in sorted(perturbation.items()) if key not in plain]
        parts.append(" ".join([str(perturbation.get("name", "perturbed")), *settings]))
    if trial:
        parts.append(f"trial {trial + 1}")
    return ", ".join(parts) or "default"
