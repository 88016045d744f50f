"""Which generations are wanted, and which are there already."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from errorbar.benchmarks.question import Question

__all__ = ["Missing", "Unit", "missing", "sampled"]


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
    """Of those, the ones that are there."""
    masks: dict[tuple[str, str], int]
    """(question, variant) to the generations that are there, bit g for generation g; absent where none is."""

    def units(self, questions: Sequence[str], variants: Sequence[str], generations: int) -> Iterator[Unit]:
        """Lazily, question by question in their order; the variants of a question lie together."""
        every = tuple(range(1, generations + 1))
        for i, question in enumerate(questions):
            for j, variant in enumerate(variants):
                mask = self.masks.get((question, variant), 0)
                owed = tuple(g for g in every if not mask >> g & 1) if mask else every
                if owed:
                    yield Unit(i, j, owed)


def missing(
    questions: Sequence[str],
    variants: Sequence[str],
    generations: int,
    present: Mapping[tuple[str, str], AbstractSet[int]],
) -> Missing:
    """What is owed when `present` is there; what is there and not wanted is left alone.

    >>> list(missing(["q"], ["v", "w"], 2, {("q", "v"): {1, 7}}).units(["q"], ["v", "w"], 2))
    [Unit(question=0, variant=0, generations=(2,)), Unit(question=0, variant=1, generations=(1, 2))]
    """
    asked, worded = set(questions), set(variants)
    masks = {}
    there = 0
    for (question, variant), done in present.items():
        if question in asked and variant in worded:
            mask = sum(1 << g for g in done if 1 <= g <= generations)
            there += mask.bit_count()
            masks[question, variant] = mask
    return Missing(len(asked) * len(worded) * generations, there, masks)


def sampled(questions: Sequence[Question], *, seed: int, limit: int | None = None) -> list[Question]:
    """The questions in a seeded random order, at most `limit` of them.

    A run that stops early has asked a fair sample. The place of a question depends on nothing but the seed and its
    id: a larger limit adds questions and drops none.
    """

    def place(question: Question) -> bytes:
        return hashlib.blake2b(f"{seed}\0{question.id}".encode(), digest_size=16).digest()

    return sorted(questions, key=place)[:limit]
