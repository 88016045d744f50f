"""The choices that each prompt of a run showed, and the scorer that reads which of them a completion gives."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from howsure.benchmarks.choice_fields import TARGETS
from howsure.errors import InputError, UnknownNameError
from howsure.extraction.choices import extract_choice, read_choice
from howsure.scorers.base import Asked, Place, Scored, Scorer, rules
from howsure.store.responses import read_prompts

__all__ = ["Prompts", "Shown", "choice"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Shown(NamedTuple):
    """The choices of one prompt; lists in the order shown."""

    labels: tuple[str, ...]
    texts: tuple[str, ...]
    """Empty where only the labels are kept."""
    order: tuple[int, ...]
    """Original place of each: the letters of targets and answers count from it."""
    record: dict[str, Any]


class Prompts:
    """Prompts of a run folder by (benchmark, question, variant); texts of messages are not read."""

    def __init__(self, path: Path) -> None:
        table = read_prompts(path, ["benchmark", "question", "variant", "target", "record"])
        names, self._targets, self._records = (
            list(zip(*(table[name].to_pylist() for name in ("benchmark", "question", "variant")), strict=True)),
            table["target"].to_pylist(),
            table["record"].to_pylist(),
        )
        self._places = {name: i for i, name in enumerate(names)}

    def __iter__(self) -> Iterator[tuple[tuple[str, str, str], str | None]]:
        for name, place in self._places.items():
            yield name, self._targets[place]

    def shown(self, benchmark: str, question: str, variant: str) -> Shown | None:
        """What a prompt showed; None where no choices are kept of it."""
        place = self._places.get((benchmark, question, variant))
        record = None if place is None else self._records[place]
        return None if record is None else _shown(record)


@lru_cache(maxsize=4096)
def _shown(text: str) -> Shown | None:
    record = json.loads(text)
    texts = tuple(map(str, record.get("choices") or ()))
    labels = record.get("labels")
    if isinstance(labels, dict):
        return Shown(tuple(labels), texts, tuple(labels.values()), record)
    named = tuple(map(str, labels or ())) or tuple(_LETTERS[: len(texts)])
    if not 2 <= len(texts) == len(named):
        return None
    return Shown(named, texts, tuple(range(len(texts))), record)


def choice(spec: str, place: Place) -> Scorer:
    """The scorer `choice`; after a colon it may say how targets name their choice (a key of `fields.TARGETS`).

    Raises
    ------
    InputError
        When the targets of a benchmark can be read in several ways that disagree.
    """
    _, _, told = spec.partition(":")
    if told and told not in TARGETS:
        raise UnknownNameError("kind of target", told, TARGETS, where="--scorer")
    prompts = Prompts(place.run)
    ways = _ways(prompts, told)

    def score(completion: str, asked: Asked) -> Scored:
        shown = prompts.shown(asked.benchmark, asked.question, asked.variant)
        if shown is None:
            answer, target = extract_choice(completion), extract_choice(asked.target)
            if target is None:
                raise ValueError(f"no choices are kept, and the target {asked.target[:60]!r} is no letter")
            return Scored(float(answer == target), answer, "letter" if answer is not None else "no letter")
        wanted = _place(ways[asked.benchmark], asked.target, shown)
        if wanted is None:
            raise ValueError(f"the target {asked.target[:60]!r} is none of the choices")
        texts = shown.texts or ("",) * len(shown.labels)
        at, rule = read_choice(completion, shown.labels, texts, labels_asked=True)
        given = None if at is None else shown.order[at]
        return Scored(float(given == wanted), None if given is None else _LETTERS[given], rule)

    return Scorer(spec, rules("extraction", "scorers.choice_scorer"), score)


def _place(way: str, target: str, shown: Shown) -> int | None:
    """Original place of the choice that a target names."""
    n = len(shown.labels)
    texts = [""] * n
    for at, original in enumerate(shown.order):
        texts[original] = shown.texts[at] if shown.texts else f"\0{original}"
    labels = shown.labels if shown.order == tuple(range(n)) else ()
    return TARGETS[way](target.strip(), labels, texts)


def _ways(prompts: Prompts, told: str) -> dict[str, str]:
    """For each benchmark how its targets name choices: the way that fits most of them."""
    named: defaultdict[str, list[tuple[str, Shown]]] = defaultdict(list)
    for (benchmark, question, variant), target in prompts:
        shown = prompts.shown(benchmark, question, variant)
        if shown is not None:
            named[benchmark].append((target or "", shown))
    return {benchmark: told or _way(rows, benchmark) for benchmark, rows in named.items()}


def _way(rows: Sequence[tuple[str, Shown]], benchmark: str) -> str:
    found = {way: [_place(way, target, shown) for target, shown in rows] for way in TARGETS}
    fits = {way: sum(place is not None for place in places) for way, places in found.items()}
    best = [way for way in found if fits[way] == max(fits.values())]
    if any(found[way] != found[best[0]] for way in best):
        what = "the targets can be read in several ways: " + ", ".join(best)
        raise InputError(what, where=benchmark, remedy=f"say which: --scorer choice:{best[0]}")
    return best[0]
