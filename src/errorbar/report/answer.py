"""The answer first: the table of scores, each with its interval and its share of noise, as text and lengths."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from errorbar.report.sentences import decimals, number
from errorbar.stats.cells import Cells, FloatArray
from errorbar.stats.components import Scores
from errorbar.stats.results import Columns

__all__ = ["GREEDY", "Answer", "Row", "difficulty", "ordered", "questions", "table"]

#: A model decoded greedily is another model, by this end of its label.
GREEDY = ":greedy"


@dataclass(frozen=True)
class Row:
    """One model. Lengths are shares of the drawing's width, in [0, 1], or None where unknown."""

    model: str
    beside: bool  # a greedy run drawn under the model that it belongs to
    score: str
    interval: str
    se: str
    n_questions: str
    n_generations: str
    x: float | None
    x_low: float | None
    x_high: float | None
    data: float | None  # share of the squared standard error that is data noise
    marks: tuple[int, ...]  # numbers of the notes below the table


@dataclass(frozen=True)
class Answer:
    """The rows, the ends of the axis that they share, and the notes that they point at."""

    rows: tuple[Row, ...]
    low: str
    high: str
    notes: tuple[str, ...]

    @property
    def split(self) -> bool:
        """Whether data noise is known for any row."""
        return any(row.data is not None for row in self.rows)


def ordered(scores: Scores) -> list[str]:
    """Models from the highest score to the lowest; a greedy run follows the model it belongs to."""
    by_score = sorted(
        zip(scores.models, scores.score.tolist(), strict=True),
        key=lambda pair: (-pair[1] if pair[1] == pair[1] else np.inf, pair[0]),
    )
    out: list[str] = []
    for model, _ in by_score:
        if not _beside(model, scores.models):
            out += [model, *([model + GREEDY] if model + GREEDY in scores.models else [])]
    return out


def _beside(model: str, models: tuple[str, ...]) -> bool:
    return model.endswith(GREEDY) and model.removesuffix(GREEDY) in models


def difficulty(cells: Cells) -> FloatArray:
    """Mean over the models of the mean score of each question, shape (N,); NaN where nobody answered."""
    answered = cells.answered.sum(axis=0)
    mean: FloatArray = np.nansum(cells.mean, axis=0) / np.where(answered > 0, answered, np.nan)
    return mean


def questions(cells: Cells) -> Columns:
    """One row per question, hardest first."""
    mean = difficulty(cells)
    order = np.argsort(mean, kind="stable")
    return {
        "question": np.array(cells.questions, dtype=object)[order],
        "score": mean[order],
        "n_models": cells.answered.sum(axis=0)[order],
        "n_generations": cells.n.sum(axis=0)[order],
    }


def table(scores: Scores, order: list[str]) -> Answer:
    """Rows of the table, best first."""
    columns, between = scores.columns(), scores.interval()
    # Rows of columns() have an order of their own.
    note_of = dict(zip(columns["model"].tolist(), columns["note"].tolist(), strict=True))
    se = np.sqrt(scores.variance)
    places = decimals(se)
    ends = np.concatenate([scores.score, between.low, between.high])
    ends = ends[np.isfinite(ends)]
    low, high = (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 1.0)
    span = (high - low) or 1.0

    def along(value: float) -> float | None:
        return (value - low) / span if np.isfinite(value) else None

    # Data noise of the score over its squared standard error: what more generations cannot remove.
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(scores.data / scores.n_questions / scores.variance, 0, 1)
    numbers: dict[str, int] = {}
    following = count(1)
    rows = []
    for model in order:
        i = scores.models.index(model)
        notes = [note for note in note_of[model].split("; ") if note]
        for note in notes:
            if note not in numbers:
                numbers[note] = next(following)
        known = np.isfinite(between.low[i])
        rows.append(
            Row(
                model=model,
                beside=_beside(model, scores.models),
                score=number(float(scores.score[i]), places),
                interval=f"{number(float(between.low[i]), places)} to {number(float(between.high[i]), places)}"
                if known
                else "–",
                se=number(float(se[i]), places),
                n_questions=f"{int(scores.n_questions[i]):,}",
                n_generations=f"{int(scores.n_generations[i]):,}",
                x=along(float(scores.score[i])),
                x_low=along(float(between.low[i])),
                x_high=along(float(between.high[i])),
                data=float(share[i]) if np.isfinite(share[i]) else None,
                marks=tuple(numbers[note] for note in notes),
            )
        )
    return Answer(tuple(rows), number(low, places), number(high, places), tuple(numbers))
