"""What a run folder has already: one pass over its rows, for a run that goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.sample.tally import Tally
from howsure.store import responses
from howsure.store.arrays import is_valid, numbers

__all__ = ["MOST", "Recalled", "recall"]

#: The largest generation that is looked at; a bit of memory for each smaller one.
MOST = 1 << 17


class Recalled(NamedTuple):
    """What is there of one model."""

    present: dict[tuple[str, str], int]
    """(question, variant) to the generations that have a row, bit g for generation g."""
    failed: dict[tuple[str, str], int]
    """Of those, the generations that failed."""
    calls: int
    """Requests that brought the rows, as far as the rows say."""
    prompt_tokens: int
    completion_tokens: int


def recall(
    folder: Path,
    benchmark: str,
    tallies: Mapping[str, Tally],
    variants: Sequence[str],
    *,
    costs: bool = True,
) -> dict[str, Recalled]:
    """What is there of each model in `tallies`, whose scores are added to its tally.

    Parameters
    ----------
    tallies
        By label; all of the same questions.
    variants
        Ids of the run's variants. Rows of other questions and variants count only for what they cost.
    costs
        Whether calls and tokens are wanted; without, they are 0, and the rows are read in half the time.
    """
    questions = next(iter(tallies.values())).questions
    places = {name: i for i, name in enumerate(questions)}, {name: i for i, name in enumerate(variants)}
    labels = {label: i for i, label in enumerate(tallies)}
    columns = ["benchmark", "model", "question", "variant", "generation", "score", "error"]
    columns += ["prompt_tokens", "completion_tokens", "request", "created", "attempts"] if costs else []
    found: dict[str, Recalled] = {label: Recalled({}, {}, 0, 0, 0) for label in tallies}
    before: object = None
    for batch in responses.stream(folder, columns):
        ours = _places(batch, "benchmark", {benchmark: 0}) == 0
        model = np.where(ours, _places(batch, "model", labels), -1)
        question, variant = (_places(batch, name, at) for name, at in zip(("question", "variant"), places, strict=True))
        generation, score = numbers(batch["generation"]), numbers(batch["score"])
        # As the store has it: what failed is what a later row may replace.
        lost = ~is_valid(batch["score"]) | is_valid(batch["error"])
        if costs:
            begins, before = _begins(batch, before)
            calls = np.where(begins, _numbers(batch, "attempts"), 0)
            tokens = [_numbers(batch, name) for name in ("prompt_tokens", "completion_tokens")]
        for label, i in labels.items():
            rows = model == i
            old = found[label]
            if costs:
                found[label] = old._replace(
                    calls=old.calls + int(calls[rows].sum()),
                    prompt_tokens=old.prompt_tokens + round(tokens[0][rows].sum()),
                    completion_tokens=old.completion_tokens + round(tokens[1][rows].sum()),
                )
            rows &= (question >= 0) & (variant >= 0) & (generation >= 1) & (generation < MOST)
            tallies[label].load(*(each[rows & ~lost] for each in (question, generation, score)))
            for chosen, masks in ((rows, old.present), (rows & lost, old.failed)):
                _mark(masks, question[chosen], variant[chosen], generation[chosen], questions, variants)
    return found


def _places(batch: Any, column: str, at: Mapping[str, int]) -> NDArray[np.int64]:
    """Place of each row's value, -1 where it has none."""
    encoded = batch[column].dictionary_encode()
    each = np.array([at.get(name, -1) for name in encoded.dictionary.to_pylist()], dtype=np.int64)
    return each[numbers(encoded.indices)] if len(each) else np.zeros(0, np.int64)


def _numbers(batch: Any, column: str) -> NDArray[np.float64]:
    """The column with 0 for null."""
    return np.where(is_valid(batch[column]), numbers(batch[column]), 0).astype(float)


def _begins(batch: Any, before: object) -> tuple[NDArray[np.bool_], object]:
    """Which rows came with another request than the row before them, and the last row's request.

    Rows that failed together have no request but the moment in common.
    """
    request = batch["request"].dictionary_encode()
    code = np.where(is_valid(request.indices), numbers(request.indices), -1)
    created = _numbers(batch, "created")
    if not len(code):
        return np.zeros(0, bool), before
    names = request.dictionary
    ends = [(names[int(code[i])].as_py() if code[i] >= 0 else None, float(created[i])) for i in (0, -1)]
    begins = np.concatenate([[ends[0] != before], (code[1:] != code[:-1]) | (created[1:] != created[:-1])])
    return begins, ends[1]


def _mark(
    masks: dict[tuple[str, str], int],
    question: NDArray[np.int64],
    variant: NDArray[np.int64],
    generation: NDArray[np.int64],
    questions: Sequence[str],
    variants: Sequence[str],
) -> None:
    """Set bit g of each (question, variant); rows of one lie together, sorted by generation."""
    starts = np.flatnonzero(np.diff(question, prepend=-1) | np.diff(variant, prepend=-1))
    ends = [*starts[1:].tolist(), len(question)]
    for start, end in zip(starts.tolist(), ends, strict=False):
        first, last = int(generation[start]), int(generation[end - 1])
        if last - first == end - start - 1:
            mask = (1 << end - start) - 1 << first
        else:
            mask = sum(1 << g for g in generation[start:end].tolist())
        key = questions[question[start]], variants[variant[start]]
        masks[key] = masks.get(key, 0) | mask
