"""What HELM scored: per_instance_stats.json, in which every metric has records of its own for the same instance."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from howsure.readers.logs.base import Note
from howsure.readers.logs.json_files import read_json_array

__all__ = ["Scored", "Stats", "scorers_of", "scores", "variant_of"]

#: Headline metrics of HELM's scenarios, the narrower first; where none is there, the first that is no bookkeeping.
_HEADLINES = (
    "ifeval_strict_accuracy", "wildbench_score_rescaled", "omni_math_accuracy", "chain_of_thought_correctness",
    "math_equiv_chain_of_thought", "math_equiv", "final_number_exact_match", "code_eval_acc", "exact_match",
    "quasi_exact_match", "quasi_prefix_exact_match", "prefix_exact_match", "f1_score", "f1_set_match", "rouge_2",
    "rouge_l", "bleu_4", "exact_match_indicator",
)  # fmt: skip
#: Stats of a request, and not of its answer.
_BOOKKEEPING = re.compile(
    r"num_.*|training_.*|inference_.*|finish_reason_.*|batch_size|prompt_truncated|max_prob|predicted_index|logprob"
    r"|logprob_per_byte|.*_cost"
)


class _Name(msgspec.Struct):
    name: str
    split: str | None = None


class _Stat(msgspec.Struct):
    name: _Name
    count: int = 0
    mean: float | None = None


class Stats(msgspec.Struct):
    """Stats that one metric computed of one instance under one perturbation and one draw of examples."""

    instance_id: str
    stats: list[_Stat]
    train_trial_index: int = 0
    perturbation: dict[str, Any] | None = None


class Scored(msgspec.Struct):
    """What the stats say of one answer."""

    score: float | None = None
    count: int = 0
    """How many values the score is the mean of."""
    split: str | None = None
    was_cut: bool = False
    prompt_tokens: int | None = None
    completion_tokens: float | None = None
    seconds: float | None = None


def scorers_of(path: Path) -> tuple[str, ...]:
    """Names of the metrics, HELM's headline first; bookkeeping only where there is nothing else."""
    names = dict.fromkeys(
        stat.name.name for record in read_json_array(path, Stats, lambda _: None) for stat in record.stats if stat.count
    )
    proper = [name for name in names if not _BOOKKEEPING.fullmatch(name)] or list(names)
    headline = next((name for name in _HEADLINES if name in proper), None)
    if headline is None:
        headline = next((name for name in proper if "@" not in name), None)
    return tuple(sorted(proper, key=lambda name: name != headline))


def scores(path: Path, scorer: str, tell: Note) -> dict[tuple[str, str], Scored]:
    """By question and variant, in the order of the file."""
    found: dict[tuple[str, str], Scored] = {}
    again = 0
    for record in read_json_array(path, Stats, tell):
        key = (record.instance_id, variant_of(record.perturbation, record.train_trial_index))
        scored = found.setdefault(key, Scored())
        for stat in record.stats:
            if stat.mean is None:
                continue
            if stat.name.name == scorer:
                again += scored.count > 0
                scored.score, scored.count, scored.split = stat.mean, stat.count, stat.name.split
            elif stat.name.name == "finish_reason_length":
                scored.was_cut = stat.mean == 1
            elif stat.name.name == "num_prompt_tokens":
                scored.prompt_tokens = round(stat.mean)
            elif stat.name.name == "num_output_tokens":
                scored.completion_tokens = stat.mean
            elif stat.name.name == "inference_runtime":
                scored.seconds = stat.mean
    for line in _told(found.values(), scorer, again):
        tell(line)
    return found


def variant_of(perturbation: Mapping[str, Any] | None, trial: int) -> str:
    """A name of how the instance was shown.

    >>> variant_of(None, 0), variant_of({"name": "typos", "robustness": True, "prob": 0.1}, 2)
    ('default', 'typos prob=0.1, trial 3')
    """
    parts = []
    if perturbation is not None:
        plain = {"name", "robustness", "fairness", "computed_on"}
        facts = [f"{key}={value}" for key, value in sorted(perturbation.items()) if key not in plain]
        parts.append(" ".join([str(perturbation.get("name", "perturbed")), *facts]))
    if trial:
        parts.append(f"trial {trial + 1}")
    return ", ".join(parts) or "default"


def _told(found: Collection[Scored], scorer: str, again: int) -> Iterable[str]:
    if again:
        yield f"{again} instances have {scorer!r} twice: the last is read"
    if n := sum(scored.count > 1 for scored in found):
        yield f"{n} scores are means over several completions or references, not of one generation"
    if n := sum(scored.score is None for scored in found):
        yield f"{n} of {len(found)} instances have no {scorer!r}: they are kept without a score"
    if "@" in scorer:
        yield f"{scorer!r} is the best of several completions, not the score of one generation"
    splits = sorted({scored.split for scored in found if scored.split})
    if len(splits) > 1:
        yield f"instances of {len(splits)} splits ({', '.join(splits)[:80]}) are read together: HELM reports each apart"
