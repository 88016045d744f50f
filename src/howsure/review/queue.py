"""Which questions to look at first: those where models contradict the label; see `stats.suspects`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from howsure.stats import questions as statistic
from howsure.stats.questions import AnswerCounts

__all__ = ["Count", "Suspect", "is_right", "suspects"]


class Count(NamedTuple):
    """Generations of one model that gave the same answer to a question; failed ones are not among them."""

    model: str
    question: str
    answer: str | None
    """None: no answer was read."""
    n: int
    scored: int
    total: float
    """Sum of the scores."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A question and the evidence against its label; what is not known is NaN."""

    benchmark: str
    question: str
    target: str | None
    answer: str | None
    """The answer that speaks most against the target; None where every answer is right, or none was read."""
    p_correct: float
    consistency: float
    n_sets: int
    n_models: int
    models_agreeing: int
    """Models that gave `answer` more often than anything else."""
    suspicion: float
    """Evidence of `stats.suspects`: weighted votes for `answer` less those for the target; an order, no log of odds."""
    is_on_map: bool
    """Whether GEN's rule picks it: rarely right, and nearly always the same."""
    is_suspect: bool
    """Whether it is worth a look: GEN's rule picks it, or most models, two at least, prefer the other answer."""


def is_right(answer: str | None, target: str | None, *, scored: int, total: float) -> bool:
    """Whether an answer counts as right: by the scores that it got, or by the target where it got none."""
    return total >= scored / 2 if scored else answer is not None and answer == target


def suspects(benchmark: str, counts: Iterable[Count], targets: Mapping[str, str | None]) -> list[Suspect]:
    """All questions of a benchmark, the most suspicious first.

    Parameters
    ----------
    counts
        One per model, question and answer, in any order.
    targets
        Target of each question, where it is known.
    """
    found = statistic.find_label_errors(_answers(benchmark, list(counts), targets))
    columns = (
        found.questions,
        found.target,
        found.answer,
        found.p_correct.tolist(),
        found.consistency.tolist(),
        found.n_sets.tolist(),
        found.n_models.tolist(),
        found.models_agreeing.tolist(),
        found.evidence.tolist(),
        found.on_map.tolist(),
        found.suspected.tolist(),
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
