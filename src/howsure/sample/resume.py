"""Which generations are wanted, and which are there already."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.benchmarks.question import Question
from howsure.sample.tally import Tally
from howsure.store import responses
from howsure.store.arrays import to_numpy, valid_mask

__all__ = ["MOST", "Missing", "Recalled", "Unit", "find_missing_cells", "order_key", "recall", "sample_questions"]


class Unit(NamedTuple):
    """The generations that one model still owes for one prompt."""

    question: int
    """Place among the run's questions."""
    variant: int
    """Place among the run's variants."""
    generations: tuple[int, ...]


class Missing(NamedTuple):
    """What one model still owes, and how much."""

    wanted: int
    """Generations in all, there or not."""
    there: int
    """Of those, the ones that need not be asked for."""
    masks: dict[tuple[str, str], int]
    """(question, variant) to the generations that are there, bit g for generation g; absent where none is."""
    failed: int = 0
    """Of those there, the ones that failed and are not tried again."""

    def units(
        self, questions: Sequence[str], variants: Sequence[str], generations: int, *, first: int = 1
    ) -> Iterator[Unit]:
        """Lazily, question by question in their order; the variants of a question lie together.

        Parameters
        ----------
        generations, first
            Only the generations first, ..., generations are given.
        """
        every = tuple(range(first, generations + 1))
        for i, question in enumerate(questions):
            for j, variant in enumerate(variants):
                mask = self.masks.get((question, variant), 0)
                owed = tuple(g for g in every if not mask >> g & 1) if mask else every
                if owed:
                    yield Unit(i, j, owed)


def find_missing_cells(
    questions: Sequence[str],
    variants: Sequence[str],
    generations: int,
    present: Mapping[tuple[str, str], int],
    failed: Mapping[tuple[str, str], int] | None = None,
    *,
    retry: bool = False,
    is_even: bool = True,
) -> Missing:
    """What is owed when `present` is there; what is there and not wanted is left alone.

    Parameters
    ----------
    present, failed
        (question, variant) to the generations that are there, and to those of them that failed; bit g is generation g.
    retry
        Whether what failed is owed again.
    is_even
        Whether every question gets as many; if not, `generations` is their mean, and each that is there counts.

    >>> list(find_missing_cells(["q"], ["v", "w"], 2, {("q", "v"): 0b10000010}).units(["q"], ["v", "w"], 2))
    [Unit(question=0, variant=0, generations=(2,)), Unit(question=0, variant=1, generations=(1, 2))]
    """
    asked, worded = set(questions), set(variants)
    wanted = (1 << generations + 1) - 2 if is_even else -2
    masks = {key: mask for key, mask in present.items() if key[0] in asked and key[1] in worded}
    lost = {key: mask for key, mask in (failed or {}).items() if key in masks}
    if retry:
        masks = {key: mask & ~lost.get(key, 0) for key, mask in masks.items()}
        lost = {}
    there, gone = (sum((mask & wanted).bit_count() for mask in each.values()) for each in (masks, lost))
    return Missing(len(asked) * len(worded) * generations, there, masks, gone)


def order_key(question: str, *, seed: int) -> bytes:
    """Sort key of a question id in the seeded random order in which questions are asked."""
    return hashlib.blake2b(f"{seed}\0{question}".encode(), digest_size=16).digest()


def sample_questions(
    questions: Sequence[Question], *, seed: int, limit: int | None = None, shard: tuple[int, int] = (1, 1)
) -> list[Question]:
    """The questions in a seeded random order, at most `limit` of them, and of those the i-th of n parts, shard (i, n).

    A run that stops early has asked a fair sample. The place of a question depends on nothing but the seed and its
    id: a larger limit adds questions and drops none. Every part is a fair sample too, and together they are all.
    """
    i, n = shard
    return sorted(questions, key=lambda question: order_key(question.id, seed=seed))[:limit][i - 1 :: n]


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
        generation, score = to_numpy(batch["generation"]), to_numpy(batch["score"])
        # As the store has it: what failed is what a later row may replace.
        lost = ~valid_mask(batch["score"]) | valid_mask(batch["error"])
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
    return each[to_numpy(encoded.indices)] if len(each) else np.zeros(0, np.int64)


def _numbers(batch: Any, column: str) -> NDArray[np.float64]:
    """The column with 0 for null."""
    return np.where(valid_mask(batch[column]), to_numpy(batch[column]), 0).astype(float)


def _begins(batch: Any, before: object) -> tuple[NDArray[np.bool_], object]:
    """Which rows came with another request than the row before them, and the last row's request.

    Rows that failed together have no request but the moment in common.
    """
    request = batch["request"].dictionary_encode()
    code = np.where(valid_mask(request.indices), to_numpy(request.indices), -1)
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
