"""The queue of a review: questions whose label contradicts the models first, and the reviewer's selection of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import urlencode

from howsure.readers.answers import AnswerGroup, AnswerKind, group_answers
from howsure.review.verdicts import VERDICTS, Verdict
from howsure.stats import questions as statistic
from howsure.stats.questions import AnswerCounts
from howsure.store.schema import Response

__all__ = ["SHOWS", "STATES", "Count", "Entry", "QueueFilter", "Suspect", "listed", "neighbours", "rank_label_errors"]

if TYPE_CHECKING:
    from howsure.review.review_texts import QuestionView, Texts


class Count(NamedTuple):
    """Number of generations of one model that gave the same answer to a question, without failed ones."""

    model: str
    question: str
    answer: str | None
    """The answer; None if no answer could be read."""
    n: int
    scored: int
    total: float
    """Sum of the scores."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A question and the evidence against its label; numbers that are not known are NaN."""

    benchmark: str
    question: str
    target: str | None
    answer: str | None
    """The wrong answer with the most evidence; None if every answer is right, or no answer could be read."""
    p_correct: float
    consistency: float
    n_sets: int
    n_models: int
    models_agreeing: int
    """Number of models that gave `answer` more often than any other answer."""
    suspicion: float
    """Weighted votes for `answer` minus those for the target; it is used for sorting and is no log of odds."""
    is_on_map: bool
    """Whether GEN's rule selects the question: it is rarely answered right and nearly always in the same way."""
    is_suspect: bool
    """Whether to review the question: GEN's rule selects it, or most models (at least two) prefer another answer."""


def rank_label_errors(benchmark: str, counts: Iterable[Count], targets: Mapping[str, str | None]) -> list[Suspect]:
    """Return all questions of a benchmark, the most suspicious first.

    Parameters
    ----------
    counts
        Counts of each model, question and answer, in any order.
    targets
        Target of each question, where it is known.
    """
    errors = statistic.find_label_errors(_answers(benchmark, list(counts), targets))
    columns = (
        errors.questions,
        errors.target,
        errors.answer,
        errors.p_correct.tolist(),
        errors.consistency.tolist(),
        errors.n_sets.tolist(),
        errors.n_models.tolist(),
        errors.models_agreeing.tolist(),
        errors.evidence.tolist(),
        errors.on_map.tolist(),
        errors.suspected.tolist(),
    )
    return [Suspect(benchmark, *row) for row in zip(*columns, strict=True)]


def _answers(benchmark: str, counts: list[Count], targets: Mapping[str, str | None]) -> AnswerCounts:
    models, questions = sorted({one.model for one in counts}), sorted({one.question for one in counts})
    answers = sorted({one.answer for one in counts if one.answer is not None})
    places: list[dict[str | None, int]] = [
        {x: i for i, x in enumerate(names)} for names in (models, questions, answers)
    ]
    return AnswerCounts.of(
        benchmark,
        (models, questions, answers),
        (
            [places[0][one.model] for one in counts],
            [places[1][one.question] for one in counts],
            [places[2].get(one.answer, -1) for one in counts],
        ),
        n=[one.n for one in counts],
        scored=[one.scored for one in counts],
        total=[one.total for one in counts],
        targets={question: target for question, target in targets.items() if target is not None},
    )


#: The questions and the verdicts that a reviewer can select.
SHOWS = ("suspects", "all")
STATES = ("open", "any", *VERDICTS)


class Entry(NamedTuple):
    """A question of the queue, as the reviewer sees it and with the evidence against its label."""

    view: QuestionView
    suspect: Suspect


class QueueFilter(NamedTuple):
    """The selection of questions, which is part of every address of the review."""

    show: str = "suspects"
    state: str = "open"
    within: str = ""
    """Name of a benchmark; empty for all benchmarks."""
    find: str = ""
    """Text that the id or the question must contain; empty for all questions."""

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Self:
        """Return the selection of an address or a form; unknown values are replaced by the default."""
        show, state = fields.get("show", ""), fields.get("state", "")
        return cls(
            show if show in SHOWS else SHOWS[0],
            state if state in STATES else STATES[0],
            fields.get("within", ""),
            fields.get("find", "").strip()[:200],
        )

    def fields(self) -> dict[str, str]:
        """Return the fields that differ from the default."""
        return {name: value for name, value in self._asdict().items() if value != self._field_defaults[name]}

    def address(self, path: str, **more: str) -> str:
        """Return an address within the application that keeps the selection."""
        query = urlencode(more | self.fields())
        return f"{path}?{query}" if query else path

    def takes(self, entry: Entry, verdicts: Mapping[str, Verdict]) -> bool:
        """Return whether the question is selected."""
        return self.holds(entry) and self.state in {"any", state(entry, verdicts)}

    def holds(self, entry: Entry) -> bool:
        """Return whether the question is selected, whatever its verdict."""
        if (self.show == "suspects" and not entry.suspect.is_suspect) or self.within not in {"", entry.view.benchmark}:
            return False
        find = self.find.casefold()
        return find in entry.view.question.casefold() or find in entry.view.text.casefold()


def state(entry: Entry, verdicts: Mapping[str, Verdict]) -> str:
    """Return the verdict on a question, or "open"."""
    return verdicts[entry.view.key].verdict if entry.view.key in verdicts else "open"


def listed(texts: Texts) -> list[Entry]:
    """Return every question, the most suspicious first."""
    views = {(view.benchmark, view.question): view for view in texts.questions()}
    queue: list[Entry] = []
    for benchmark in sorted({benchmark for benchmark, _ in views}):
        targets = {view.question: view.target for view in views.values() if view.benchmark == benchmark}
        queue += [
            Entry(views[benchmark, suspect.question], suspect)
            for suspect in rank_label_errors(benchmark, texts.counts(benchmark), targets)
        ]
    return sorted(queue, key=lambda entry: -entry.suspect.suspicion)


def neighbours(
    queue: Sequence[Entry], place: int, choice: QueueFilter, verdicts: Mapping[str, Verdict]
) -> tuple[Entry | None, Entry | None]:
    """Return the nearest selected questions before and after a place in the queue."""
    before = (entry for entry in reversed(queue[:place]) if choice.takes(entry, verdicts))
    after = (entry for entry in queue[place + 1 :] if choice.takes(entry, verdicts))
    return next(before, None), next(after, None)


#: Number of generations that are open at first, number listed for each answer, and characters of a completion.
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
