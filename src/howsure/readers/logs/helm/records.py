"""Records of HELM's run folders, and the scores in per_instance_stats.json, where each metric has its own records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.readers.logs.base import Note
from howsure.readers.logs.json_files import read_json, read_json_array

#: Headline metrics of HELM's scenarios, narrower ones first; without them, the first non-bookkeeping metric is used.
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


class Adapter(msgspec.Struct):
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


class Completion(msgspec.Struct):
    """One completion of a request."""

    text: str = ""
    finish_reason: object = None


class RequestResult(msgspec.Struct):
    """The reply to a request."""

    success: bool = True
    completions: list[Completion] = []
    error: object = None
    request_datetime: object = None


class RequestState(msgspec.Struct):
    """A request that was made for an instance, or for one of its references."""

    instance: _Instance
    train_trial_index: int = 0
    reference_index: int | None = None
    output_mapping: dict[str, str] | None = None
    request: _Request = msgspec.field(default_factory=_Request)
    result: RequestResult | None = None


class _StatName(msgspec.Struct):
    name: str
    split: str | None = None


class _Stat(msgspec.Struct):
    name: _StatName
    count: int = 0
    mean: float | None = None


class _InstanceStats(msgspec.Struct):
    """Stats that one metric computed for one instance under one perturbation and one draw of examples."""

    instance_id: str
    stats: list[_Stat]
    train_trial_index: int = 0
    perturbation: dict[str, Any] | None = None


class InstanceScore(msgspec.Struct):
    """The score and the usage of one answer, from the stats."""

    score: float | None = None
    count: int = 0
    """Number of values that the score is the mean of."""
    split: str | None = None
    was_cut: bool = False
    prompt_tokens: int | None = None
    completion_tokens: float | None = None
    seconds: float | None = None


def read_spec(path: Path) -> tuple[RunSpec, Adapter]:
    """Return the content of run_spec.json, and its adapter."""
    spec = read_json(path, RunSpec)
    try:
        return spec, msgspec.convert(spec.adapter_spec, Adapter)
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


def read_scores(path: Path, scorer: str, note: Note) -> dict[tuple[str, str], InstanceScore]:
    """Return the scores by question and variant, in the order of the file."""
    scores: dict[tuple[str, str], InstanceScore] = {}
    n_repeated = 0
    for record in read_json_array(path, _InstanceStats, note):
        key = (record.instance_id, name_variant(record.perturbation, record.train_trial_index))
        score = scores.setdefault(key, InstanceScore())
        for stat in record.stats:
            if stat.name.name == scorer and stat.mean is not None:
                n_repeated += score.count > 0
                score.score, score.count, score.split = stat.mean, stat.count, stat.name.split
            elif stat.mean is not None:
                _add_usage(score, stat.name.name, stat.mean)
    if n_repeated:
        note(f"{n_repeated} instances have {scorer!r} twice: the last value is read")
    if n := sum(score.count > 1 for score in scores.values()):
        note(f"{n} scores are means over several completions or references, not of one generation")
    if n := sum(score.score is None for score in scores.values()):
        note(f"{n} of {len(scores)} instances have no {scorer!r}: they are kept without a score")
    if "@" in scorer:
        note(f"{scorer!r} is the best of several completions, not the score of one generation")
    splits = sorted({score.split for score in scores.values() if score.split})
    if len(splits) > 1:
        names = ", ".join(splits)[:80]
        note(f"instances of {len(splits)} splits ({names}) are read together: HELM reports each one separately")
    return scores


def _add_usage(score: InstanceScore, name: str, mean: float) -> None:
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
