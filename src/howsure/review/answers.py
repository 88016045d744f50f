"""The generations of a question as a reader meets them: grouped by answer, the most frequent first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from howsure.readers.answers import AnswerGroup, AnswerKind, group_answers
from howsure.store.schema import Response

__all__ = ["OPEN", "SHOWN", "TEXT_LENGTH", "Group", "Shown", "grouped"]

#: Generations that are open at first, generations shown of each answer, and characters shown of a completion.
OPEN, SHOWN, TEXT_LENGTH = 3, 12, 20_000

_TITLES: dict[AnswerKind, str] = {
    "unparsed": "no answer was read",
    "unscored": "not scored yet",
    "failed": "the request failed",
}


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
    """Return the generations of one question in groups of equal answers; see `readers.answers.group_answers`.

    Parameters
    ----------
    rows
        Generations of one question.
    target
        Its target, where it is known.
    whole
        Index of the group that is shown whole.
    """
    groups = group_answers(rows, target)
    n_open = _opened([len(group.rows) for group in groups])
    return [
        Group(
            title=str(group.answer) if group.kind == "answer" else _TITLES[group.kind],
            answer=group.answer,
            is_right=group.is_correct,
            n=len(group.rows),
            share=group.share,
            models=_order_models(group),
            favourite_of=group.n_favourite,
            shown=tuple(
                _shown(row, is_open=j < n_open[i])
                for j, row in enumerate(group.rows if whole == i else group.rows[:SHOWN])
            ),
        )
        for i, group in enumerate(groups)
    ]


def _order_models(group: AnswerGroup) -> tuple[tuple[str, int, int], ...]:
    """Return each model with its generations here and in all groups that count, the largest share first."""
    counts = group.kind in {"answer", "unparsed"}
    models = [(model, n, group.n_by_model[model] if counts else n) for model, n in group.models.items()]
    return tuple(sorted(models, key=lambda one: (-one[1] / one[2], one[0])))


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
