"""The answer first: the table of scores, each with its interval and its share of noise, as text and lengths."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from howsure.report.sentences.formatting import choose_decimals, format_number
from howsure.stats.comparisons import Ranking
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.core.results import Columns
from howsure.stats.prompts import PromptComponents
from howsure.stats.scores import Scores, score

#: A model decoded greedily is another model, by this end of its label.
GREEDY = ":greedy"

#: Where the error of a score comes from, and what would be drawn again.
_SOURCES = {"data": "which questions", "prompt": "which prompts", "prediction": "sampling the model again"}


@dataclass(frozen=True)
class Row:
    """One model. Lengths are shares of the drawing's width, in [0, 1], or None where unknown."""

    model: str
    beside: bool  # a greedy run drawn under the model that it belongs to
    rank: str  # with its confidence set; "–" where there is none
    score: str
    interval: str
    se: str
    se_prompts: str  # of new questions in new prompts
    n_questions: str
    n_generations: str
    x: float | None
    x_low: float | None
    x_high: float | None
    shares: tuple[float, ...] | None  # of the squared standard error, one for each of the answer's sources
    marks: tuple[int, ...]  # numbers of the notes below the table

    @property
    def data(self) -> float | None:
        """Share of the squared standard error that is data noise."""
        return None if self.shares is None else self.shares[0]


@dataclass(frozen=True)
class Answer:
    """The rows, the ends of the axis that they share, and the notes that they point at.

    Attributes
    ----------
    sources
        What the error comes from and what would be drawn again: data, prompt and prediction where prompts are known,
        else data and prediction.
    ranked
        Whether rows have a rank.
    joined
        Whether, for want of a second generation, prediction holds what prompts do to single questions.
    """

    rows: tuple[Row, ...]
    low: str
    high: str
    notes: tuple[str, ...]
    sources: dict[str, str]
    ranked: bool
    joined: bool = False

    @property
    def split(self) -> bool:
        """Whether the sources of the error are known for any row."""
        return any(row.shares is not None for row in self.rows)


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


def table(
    scores: Scores,
    order: list[str],
    *,
    ranking: Ranking | None = None,
    prompts: PromptComponents | None = None,
    limits: tuple[FloatArray, FloatArray] | None = None,
) -> Answer:
    """Rows of the table, best first.

    Parameters
    ----------
    ranking
        Ranks of the same models; None for one model.
    prompts
        Components over several prompts of all or some of the models.
    limits
        Intervals of scores of the whole benchmark: notes and counts are of questions, so that there are none.
    """
    columns = scores.columns()
    lows, highs = (scores.interval().low, scores.interval().high) if limits is None else limits
    # Rows of columns() have an order of their own.
    note_of = dict(zip(columns["model"].tolist(), columns["note"].tolist(), strict=True))
    se = np.sqrt(scores.variance)
    places = choose_decimals(se if limits is None else (limits[1] - limits[0]) / 4)
    ends = np.concatenate([scores.score, lows, highs])
    ends = ends[np.isfinite(ends)]
    low, high = (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 1.0)
    span = (high - low) or 1.0

    def along(value: float) -> float | None:
        return (value - low) / span if np.isfinite(value) else None

    over_prompts = {} if prompts is None else _over_prompts(prompts)
    crossed = any(shares for shares, _ in over_prompts.values())
    # Data noise of the score over its squared standard error: what more generations cannot remove.
    with np.errstate(divide="ignore", invalid="ignore"):
        sampling = score(scores.cells, claim="these-questions").variance  # clusters are in the rest
        data = np.clip(1 - sampling / scores.variance, 0, 1)
    numbers: dict[str, int] = {}
    following = count(1)
    rows = []
    for model in order:
        i = scores.models.index(model)
        notes = [note for note in note_of[model].split("; ") if note and limits is None]
        for note in notes:
            if note not in numbers:
                numbers[note] = next(following)
        known = np.isfinite(lows[i])
        shares, se_prompts = over_prompts.get(model, (None, np.nan))
        if not crossed and np.isfinite(data[i]):
            shares = (float(data[i]), 1 - float(data[i]))
        rows.append(
            Row(
                model=model,
                beside=_beside(model, scores.models),
                rank=_rank(ranking, model),
                score=format_number(float(scores.score[i]), places),
                interval=f"{format_number(float(lows[i]), places)} to {format_number(float(highs[i]), places)}"
                if known
                else "–",
                se=format_number(float(se[i]), places),
                se_prompts=format_number(se_prompts, places),
                n_questions=f"{int(scores.n_questions[i]):,}" if limits is None else "–",
                n_generations=f"{int(scores.n_generations[i]):,}" if limits is None else "–",
                x=along(float(scores.score[i])),
                x_low=along(float(lows[i])),
                x_high=along(float(highs[i])),
                shares=shares,
                marks=tuple(numbers[note] for note in notes),
            )
        )
    return Answer(
        rows=tuple(rows),
        low=format_number(low, places),
        high=format_number(high, places),
        notes=tuple(numbers),
        sources={name: text for name, text in _SOURCES.items() if crossed or name != "prompt"},
        ranked=ranking is not None,
        joined=crossed and prompts is not None and _joined(prompts),
    )


def _rank(ranking: Ranking | None, model: str) -> str:
    """A rank and the first and last that it may be: "2 (1–4)"."""
    if ranking is None or np.isnan(ranking.rank[i := ranking.models.index(model)]):
        return "–"
    first, last = int(ranking.rank_low[i]), int(ranking.rank_high[i])
    return (
        f"{int(ranking.rank[i]):,} ({first:,})" if first == last else f"{int(ranking.rank[i]):,} ({first:,}–{last:,})"
    )


def _joined(found: PromptComponents) -> bool:
    """Whether what a prompt does to single questions cannot be told from sampling for some model."""
    return not found.layout.nested and bool(np.any(np.isnan(found.generation) & ~np.isnan(found.mean)))


def _over_prompts(found: PromptComponents) -> dict[str, tuple[tuple[float, ...] | None, float]]:
    """Shares of data, prompt and prediction in the squared error for new questions in new prompts, and its root.

    What a prompt does to single questions is the prompt's, where it can be told from sampling; then it is in the error
    as vQS/(NS). Parts below 0, which are lost in the noise, count as 0.
    """
    question, variant, interaction, generation = np.maximum(found.parts, 0)
    joined = np.isnan(generation)
    if found.layout.nested:
        variant = np.where(joined, np.nan, variant)  # with that of sampling, and not to be told from it
    parts = np.stack(
        [
            question,
            variant + np.where(joined, 0, interaction),
            np.where(joined, interaction, generation),
        ]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = parts / parts.sum(axis=0)
    return {
        model: (tuple(shares[:, m].tolist()) if np.all(np.isfinite(shares[:, m])) else None, float(root))
        for m, (model, root) in enumerate(zip(found.layout.names, np.sqrt(found.variance()).tolist(), strict=True))
    }
