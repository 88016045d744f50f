"""Which generations are wanted, and which are there already."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from howsure.benchmarks.question import Question

__all__ = ["Missing", "Unit", "missing", "place", "sampled"]


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


def missing(
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

    >>> list(missing(["q"], ["v", "w"], 2, {("q", "v"): 0b10000010}).units(["q"], ["v", "w"], 2))
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


def place(question: str, *, seed: int) -> bytes:
    """Sort key of a question id in the seeded random order in which questions are asked."""
    return hashlib.blake2b(f"{seed}\0{question}".encode(), digest_size=16).digest()


def sampled(
    questions: Sequence[Question], *, seed: int, limit: int | None = None, shard: tuple[int, int] = (1, 1)
) -> list[Question]:
    """The questions in a seeded random order, at most `limit` of them, and of those the i-th of n parts, shard (i, n).

    A run that stops early has asked a fair sample. The place of a question depends on nothing but the seed and its
    id: a larger limit adds questions and drops none. Every part is a fair sample too, and together they are all.
    """
    i, n = shard
    return sorted(questions, key=lambda question: place(question.id, seed=seed))[:limit][i - 1 :: n]
