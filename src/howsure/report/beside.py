"""What is known of a benchmark beside its cells, and the room that its texts have; any of it may be absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from howsure.report.question_section import BUDGET, Said
from howsure.report.texts import Texts
from howsure.stats.core.cells import Cells, IntArray
from howsure.stats.core.cube import Cube
from howsure.stats.questions import AnswerCounts

__all__ = ["Beside", "Room"]


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Of one benchmark.

    Attributes
    ----------
    cube
        Its cells by prompt variant.
    unparsed
        Answers that could not be read, in the shape of the cube; they are among its `n` and score 0.
    runs
        Runs of the same thing, in order.
    answers
        How often each model gave each answer.
    texts
        Where prompts and generations of single questions come from.
    verdicts
        What reviewers said, by question.
    whole
        The cells with the questions that a review rejected, where they were left out.
    """

    cube: Cube | None = None
    unparsed: IntArray | None = None
    runs: Sequence[Cells] = ()
    answers: AnswerCounts | None = None
    texts: Texts | None = None
    verdicts: Mapping[str, Said] = field(default_factory=dict)
    whole: Cells | None = None


@dataclass(frozen=True, kw_only=True)
class Room:
    """Bytes of texts that the page may hold, its file's name, and how many pages beside it there may be."""

    budget: int = BUDGET
    page: str = "report.html"
    most_siblings: int = 0
