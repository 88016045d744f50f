"""Define the scorer `choice`, which reads the choice that a completion gives."""

from __future__ import annotations

import json
import string
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from howsure.benchmarks.choice_fields import TARGETS
from howsure.errors import InputError, UnknownNameError
from howsure.extraction.multiple_choice import extract_choice, read_choice
from howsure.scorers.scorer_parts import RunContext, ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.store.responses import read_prompts

__all__ = ["PromptChoices", "PromptIndex", "build_choice_scorer"]

_LETTERS = string.ascii_uppercase


class PromptChoices(NamedTuple):
    """The choices of one prompt, in the order in which it shows them."""

    labels: tuple[str, ...]
    texts: tuple[str, ...]
    """Texts of the choices; empty if the run stores only their labels."""
    order: tuple[int, ...]
    """Original index of each choice; the letters of targets and answers refer to original indices."""
    record: dict[str, Any]
    """The prompt as the run stores it."""


class PromptIndex:
    """Prompts of a run folder by (benchmark, question, variant); the texts of messages are not read."""

    def __init__(self, path: Path) -> None:
        table = read_prompts(path, ["benchmark", "question", "variant", "target", "record"])
        names = zip(*(table[name].to_pylist() for name in ("benchmark", "question", "variant")), strict=True)
        self._rows = {name: i for i, name in enumerate(names)}
        self._targets = table["target"].to_pylist()
        self._records = table["record"].to_pylist()

    def __iter__(self) -> Iterator[tuple[tuple[str, str, str], str | None]]:
        for name, row in self._rows.items():
            yield name, self._targets[row]

    def find_choices(self, benchmark: str, question: str, variant: str) -> PromptChoices | None:
        """Return the choices of a prompt; None if the run does not store them."""
        row = self._rows.get((benchmark, question, variant))
        record = None if row is None else self._records[row]
        return None if record is None else _parse_record(record)


@lru_cache(maxsize=4096)
def _parse_record(text: str) -> PromptChoices | None:
    """Return the choices in the stored record of a prompt."""
    record = json.loads(text)
    texts = tuple(map(str, record.get("choices") or ()))
    labels = record.get("labels")
    if isinstance(labels, dict):
        return PromptChoices(tuple(labels), texts, tuple(labels.values()), record)
    names = tuple(map(str, labels or ())) or tuple(_LETTERS[: len(texts)])
    if not 2 <= len(texts) == len(names):
        return None
    return PromptChoices(names, texts, tuple(range(len(texts))), record)


def build_choice_scorer(spec: str, context: RunContext) -> Scorer:
    """Return the scorer `choice` or `choice:KIND`, where KIND is a key of `choice_fields.TARGETS`.

    Raises
    ------
    UnknownNameError
        When there is no such kind of target.
    InputError
        When the targets of a benchmark can be read in several ways that disagree.
    """
    _, _, kind = spec.partition(":")
    if kind and kind not in TARGETS:
        raise UnknownNameError("kind of target", kind, TARGETS, where="--scorer")
    prompts = PromptIndex(context.run)
    kinds = _find_kinds(prompts, kind)

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        choices = prompts.find_choices(item.benchmark, item.question, item.variant)
        if choices is None:
            answer, target = extract_choice(completion), extract_choice(item.target)
            if target is None:
                raise ValueError(f"no choices are stored, and the target {item.target[:60]!r} is not a letter")
            return ScoredAnswer(float(answer == target), answer, "letter" if answer is not None else "no letter")
        expected = _target_index(kinds[item.benchmark], item.target, choices)
        if expected is None:
            raise ValueError(f"the target {item.target[:60]!r} is none of the choices")
        texts = choices.texts or ("",) * len(choices.labels)
        place, rule = read_choice(completion, choices.labels, texts, expects_label=True)
        if place is None:
            return ScoredAnswer(0.0, None, rule)
        original = choices.order[place]
        return ScoredAnswer(float(original == expected), _LETTERS[original], rule)

    return Scorer(spec, hash_code("extraction", "scorers.choice_scorer"), score)


def _target_index(kind: str, target: str, choices: PromptChoices) -> int | None:
    """Return the original index of the choice that a target names."""
    n = len(choices.labels)
    texts = [""] * n
    for place, original in enumerate(choices.order):
        texts[original] = choices.texts[place] if choices.texts else f"\0{original}"
    labels = choices.labels if choices.order == tuple(range(n)) else ()
    return TARGETS[kind](target.strip(), labels, texts)


def _find_kinds(prompts: PromptIndex, kind: str) -> dict[str, str]:
    """Return the kind of the targets of each benchmark: the given one, or the one that fits most of its targets."""
    targets: defaultdict[str, list[tuple[str, PromptChoices]]] = defaultdict(list)
    for (benchmark, question, variant), target in prompts:
        choices = prompts.find_choices(benchmark, question, variant)
        if choices is not None:
            targets[benchmark].append((target or "", choices))
    return {benchmark: kind or _best_kind(rows, benchmark) for benchmark, rows in targets.items()}


def _best_kind(rows: Sequence[tuple[str, PromptChoices]], benchmark: str) -> str:
    """Return the kind that fits most targets of a benchmark."""
    indices = {kind: [_target_index(kind, target, choices) for target, choices in rows] for kind in TARGETS}
    fits = {kind: sum(index is not None for index in of_kind) for kind, of_kind in indices.items()}
    best = [kind for kind in indices if fits[kind] == max(fits.values())]
    if any(indices[kind] != indices[best[0]] for kind in best):
        what = "the targets can be read in several ways: " + ", ".join(best)
        raise InputError(what, where=benchmark, remedy=f"say which: --scorer choice:{best[0]}")
    return best[0]
