"""The generations of a question as a reader meets them: group_generations by answer, the most frequent first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from howsure.readers.answers import AnswerGroup, AnswerKind, group_answers
from howsure.store.schema import Response

#: Numbers of generations that are open at first and that are listed for each answer, and characters of a completion.
MAX_OPEN, MAX_GENERATIONS, MAX_TEXT = 3, 12, 20_000

_TITLES: dict[AnswerKind, str] = {
    "unparsed": "no answer was read",
    "unscored": "not scored yet",
    "failed": "the request failed",
}


@dataclass(frozen=True, slots=True)
class ReviewGeneration:
    """One generation, with its completion cut to `MAX_TEXT` characters."""

    row: Response
    text: str | None
    n_cut: int
    """Number of characters that were cut off."""
    is_open: bool


@dataclass(frozen=True, slots=True)
class ReviewGroup:
    """Generations with the same answer."""

    title: str
    answer: str | None
    is_correct: bool
    n: int
    share: float
    """Mean over models of the share of their generations in this group."""
    models: tuple[tuple[str, int, int], ...]
    """Model, its generations here, and all of its generations; the largest share first."""
    n_favourite: int
    """Number of models that gave no other answer more often."""
    generations: tuple[ReviewGeneration, ...]


def group_generations(
    rows: Iterable[Response], target: str | None, *, expanded: int | None = None
) -> list[ReviewGroup]:
    """Return the generations of one question in groups of equal answers; see `readers.answers.group_answers`.

    Parameters
    ----------
    rows
        Generations of one question.
    target
        Its target, where it is known.
    expanded
        Index of the group that is listed completely.
    """
    groups = group_answers(rows, target)
    n_open = _count_open([len(group.rows) for group in groups])
    return [
        ReviewGroup(
            title=str(group.answer) if group.kind == "answer" else _TITLES[group.kind],
            answer=group.answer,
            is_correct=group.is_correct,
            n=len(group.rows),
            share=group.share,
            models=_order_models(group),
            n_favourite=group.n_favourite,
            generations=tuple(
                _shorten_generation(row, is_open=j < n_open[i])
                for j, row in enumerate(group.rows if expanded == i else group.rows[:MAX_GENERATIONS])
            ),
        )
        for i, group in enumerate(groups)
    ]


def _order_models(group: AnswerGroup) -> tuple[tuple[str, int, int], ...]:
    """Return each model with its generations here and in all groups that count, the largest share first."""
    counts = group.kind in {"answer", "unparsed"}
    models = [(model, n, group.n_by_model[model] if counts else n) for model, n in group.models.items()]
    return tuple(sorted(models, key=lambda one: (-one[1] / one[2], one[0])))


def _count_open(sizes: list[int]) -> list[int]:
    """Return how many generations of each group are open at first: one of each group in turn."""
    n_open = [0] * len(sizes)
    for _ in range(min(MAX_OPEN, sum(sizes))):
        i = min((i for i, size in enumerate(sizes) if n_open[i] < size), key=lambda i: (n_open[i], i))
        n_open[i] += 1
    return n_open


def _shorten_generation(row: Response, *, is_open: bool) -> ReviewGeneration:
    """Return a generation with its completion cut."""
    text = row.completion
    return ReviewGeneration(row, text and text[:MAX_TEXT], max(0, len(text or "") - MAX_TEXT), is_open)
