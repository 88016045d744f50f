"""The generations of a question as a reader meets them: grouped by answer, the most frequent first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from howsure.review.queue import is_right
from howsure.store.schema import Response

__all__ = ["OPEN", "SHOWN", "TEXT_LENGTH", "Group", "Shown", "grouped"]

#: Generations that are open at first, generations shown of each answer, and characters shown of a completion.
OPEN, SHOWN, TEXT_LENGTH = 3, 12, 20_000


@dataclass(frozen=True, slots=True)
class Shown:
    """One generation, its completion cut to `TEXT_LENGTH`."""

    row: Response
    text: str | None
    more: int
    """Characters that were cut off."""
    is_open: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Generations with the same answer."""

    title: str
    answer: str | None
    is_right: bool
    n: int
    share: float
    """Mean over models of the share of their generations that are here."""
    models: tuple[tuple[str, int, int], ...]
    """Model, its generations here, and all of its generations; the most convinced first."""
    favourite_of: int
    """Models that gave no other answer more often."""
    shown: tuple[Shown, ...]


def grouped(rows: Iterable[Response], target: str | None, *, whole: int | None = None) -> list[Group]:
    """Groups of equal answers by share; then what has no answer, and what failed, which has no share.

    Parameters
    ----------
    rows
        Generations of one question.
    target
        Its target, where it is known: answers without a score are right if they equal it.
    whole
        Index of the group that is shown whole.
    """
    parts: dict[tuple[int, str | None], list[Response]] = defaultdict(list)
    for row in rows:
        kind = 2 if row.status == "error" else 1 if row.answer is None else 0
        parts[kind, row.answer if kind == 0 else None].append(row)
    counts = {part: Counter(row.model for row in own) for part, own in parts.items()}
    totals = sum((count for (kind, _), count in counts.items() if kind < 2), Counter[str]())
    most = {model: max(count[model] for (kind, _), count in counts.items() if kind < 2) for model in totals}

    def share(part: tuple[int, str | None]) -> float:
        if part[0] == 2:
            return 0.0
        return sum(n / totals[model] for model, n in counts[part].items()) / len(totals)

    order = sorted(parts, key=lambda part: (part[0], -share(part), part[1] or ""))
    opened = _opened([len(parts[part]) for part in order])
    groups = []
    for i, part in enumerate(order):
        kind, answer = part
        own, count = parts[part], counts[part]
        scores = [row.score for row in own if row.score is not None]
        models = [(model, n, n if kind == 2 else totals[model]) for model, n in count.items()]
        limit = len(own) if whole == i else SHOWN
        groups.append(
            Group(
                title=(str(answer), "no answer was read", "the request failed")[kind],
                answer=answer,
                is_right=kind == 0 and is_right(answer, target, scored=len(scores), total=sum(scores)),
                n=len(own),
                share=share(part),
                models=tuple(sorted(models, key=lambda one: (-one[1] / one[2], one[0]))),
                favourite_of=sum(n == most[model] for model, n in count.items()) if kind < 2 else 0,
                shown=tuple(_shown(row, is_open=j < opened[i]) for j, row in enumerate(own[:limit])),
            )
        )
    return groups


def _opened(sizes: list[int]) -> list[int]:
    """How many generations of each group are open: one of each in turn, as long as there are some to open."""
    opened = [0] * len(sizes)
    for _ in range(min(OPEN, sum(sizes))):
        i = min((i for i, size in enumerate(sizes) if opened[i] < size), key=lambda i: (opened[i], i))
        opened[i] += 1
    return opened


def _shown(row: Response, *, is_open: bool) -> Shown:
    text = row.completion
    return Shown(row, text and text[:TEXT_LENGTH], max(0, len(text or "") - TEXT_LENGTH), is_open)
