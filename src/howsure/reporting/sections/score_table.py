"""Section 1 of the page: the table of scores with intervals, ranks and the sources of each error.

Where a review rejected questions, a second section shows the scores with and without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

import numpy as np

from howsure.reporting.charts import (
    BLUE,
    Chart,
    across,
    columns_of,
    down_names,
    draw,
    finish_chart,
    scale_without_zero,
    tooltips,
)
from howsure.reporting.elements import ElementBuilder, Figure, Section
from howsure.reporting.formatting import (
    describe_drawn,
    format_count,
    format_each,
    format_error,
    format_level,
    format_number,
    format_range,
    format_significant,
    is_or_are,
)
from howsure.stats.comparisons import Pairs, RankRanges, count_moved_models, range_ranks
from howsure.stats.core.cells import GREEDY_SUFFIX, Cells, FloatArray, list_greedy_runs
from howsure.stats.core.results import Columns, RowNotes
from howsure.stats.core.text_table import choose_decimals, choose_row_decimals
from howsure.stats.prompts import PromptComponents
from howsure.stats.scores import Scores, score

T = TypeVar("T")

#: Largest number of models in a figure with one row per model; tables contain all models.
MAX_MODELS = 60

#: Largest number of models whose figures of second rank are open at first: the table of scores has the intervals, too,
#: and captions say what the figures of all pairs show.
MAX_OPEN_MODELS = 12

#: Most rows of a table of scores that is shown whole, and the rows that are shown of a longer one.
MOST_ROWS, N_FIRST = 15, 12

#: Largest difference of two scores that is rounding.
_ROUNDING = 1e-12

#: What the change of the scores without rejected questions does not say.
_REJECTED_CAVEAT = (
    "A review that begins with suspected labels sees mostly questions that models fail: leaving those out raises "
    "scores, whether their labels are wrong or not. How many labels are wrong is said by the verdicts on random "
    "questions (howsure review, Questions: random)."
)

#: Sources of the error of a score, and what would be drawn again.
_SOURCES = {"data": "which questions", "prompt": "which prompts", "prediction": "sampling the model again"}


@dataclass(frozen=True)
class ScoreRow:
    """Formatted numbers of one model, empty or "–" where unknown.

    `x`, `x_greedy`, `x_low` and `x_high` are places on the shared axis, in [0, 1], `shares` the shares of the squared
    standard error from each source of the table, and `note_numbers` those of the notes below it; None where unknown.
    """

    model: str
    greedy: str
    rank: str
    score: str
    interval: str
    se: str
    se_prompts: str
    n_questions: str
    n_generations: str
    judge_score: str
    x: float | None
    x_greedy: float | None
    x_low: float | None
    x_high: float | None
    shares: tuple[float, ...] | None
    note_numbers: tuple[int, ...]


@dataclass(frozen=True)
class ScoreTable:
    """Rows of the table of scores, the ends of their axis, and the notes.

    Attributes
    ----------
    low, high
        Ends of the axis of intervals.
    near
        Ends of the axis on which a long table draws its first rows, as shares of the axis of all, and their texts.
    sources
        Sources of the error and what would be drawn again: data, prompt and prediction where prompts are known, else
        data and prediction.
    has_ranks
        Whether rows have a rank.
    table
        Name of the table with the numbers.
    prediction_has_interaction
        Whether the prediction share includes the interaction of question and prompt, because there is only one
        generation per question and prompt.
    """

    rows: tuple[ScoreRow, ...]
    low: str
    high: str
    notes: tuple[str, ...]
    sources: dict[str, str]
    has_ranks: bool
    table: str = "scores"
    prediction_has_interaction: bool = False
    near: tuple[float, float, str, str] | None = None

    @property
    def has_shares(self) -> bool:
        """Whether the sources of the error are known for any row."""
        return any(row.shares is not None for row in self.rows)

    @property
    def has_judge_scores(self) -> bool:
        """Whether the scores are those of a judge corrected by people's labels, with the judge's own beside them."""
        return any(row.judge_score for row in self.rows)


def order_models(scores: Scores, pairs: Pairs | None = None) -> list[str]:
    """Return the models by score, or by rank in these pairs, the best first; a greedy run follows its model."""
    ranks = np.zeros(len(scores.models)) if pairs is None else range_ranks(pairs).rank
    sizes = np.nan_to_num(-scores.score, nan=np.inf).tolist()
    by_score = sorted(zip(np.isinf(sizes).tolist(), ranks.tolist(), sizes, scores.models, strict=True))
    order: list[str] = []
    greedy = list_greedy_runs(scores.models)
    for *_, model in by_score:
        if model not in greedy:
            order += [model, *([model + GREEDY_SUFFIX] if model + GREEDY_SUFFIX in scores.models else [])]
    return order


def split_greedy_runs(cells: Cells) -> tuple[Cells, dict[str, float]]:
    """Return the cells without greedy runs of other models, and the score of the greedy run of each model with one."""
    greedy = list_greedy_runs(cells.models)
    if not greedy:
        return cells, {}
    scores = score(cells).score
    sampled = [model for model in cells.models if model not in greedy]
    return cells.select(sampled), {
        run.removesuffix(GREEDY_SUFFIX): float(scores[cells.index(run)])
        for run in greedy
        if np.isfinite(scores[cells.index(run)])
    }


def pick_spaced(items: Sequence[T], count: int) -> list[T]:
    """Return at most `count` items, evenly spaced from the first to the last.

    >>> pick_spaced("abcdefg", 3)
    ['a', 'd', 'g']
    """
    return [items[i] for i in np.unique(np.linspace(0, len(items) - 1, min(count, len(items))).astype(int))]


def mean_question_scores(cells: Cells) -> FloatArray:
    """Return the mean over models of each question's mean score, shape (N,); NaN without any answer."""
    answered = cells.answered.sum(axis=0)
    mean: FloatArray = np.nansum(cells.mean, axis=0) / np.where(answered > 0, answered, np.nan)
    return mean


def tabulate_questions(cells: Cells) -> Columns:
    """Return one row per question, the hardest first."""
    mean = mean_question_scores(cells)
    order = np.argsort(mean, kind="stable")
    return {
        "question": np.array(cells.questions, dtype=object)[order],
        "score": mean[order],
        "n_models": cells.answered.sum(axis=0)[order],
        "n_generations": cells.n.sum(axis=0)[order],
    }


def build_score_table(
    scores: Scores,
    order: Sequence[str],
    *,
    ranks: RankRanges | None = None,
    prompts: PromptComponents | None = None,
    limits: tuple[FloatArray, FloatArray] | None = None,
    greedy: Mapping[str, float] | None = None,
    judge_scores: Mapping[str, float] | None = None,
) -> ScoreTable:
    """Build the table of scores, best model first."""
    has_questions = limits is None or judge_scores is not None
    columns = scores.columns()
    lows, highs = (scores.interval().low, scores.interval().high) if limits is None else limits
    # The rows of columns() have an order of their own.
    note_of = dict(zip(columns["model"].tolist(), columns["note"].tolist(), strict=True))
    se = np.sqrt(scores.variance)
    error = se if limits is None else (limits[1] - limits[0]) / 4
    places, row_places = choose_decimals(error), choose_row_decimals(error)
    greedy = greedy or {}
    ends = np.concatenate([scores.score, lows, highs, list(greedy.values())])
    ends = ends[np.isfinite(ends)]
    low, high = (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 1.0)
    span = (high - low) or 1.0

    def position(value: float) -> float | None:
        return (value - low) / span if np.isfinite(value) else None

    prompt_shares = {} if prompts is None else _error_shares(prompts)
    has_prompts = any(shares for shares, _ in prompt_shares.values())
    data_share = scores.data_share
    numbers: dict[str, int] = {}
    following = count(1)
    rows = []
    for model in order:
        i = scores.models.index(model)
        notes = RowNotes(note_of[model]).sentences if has_questions else ()
        for note in notes:
            if note not in numbers:
                numbers[note] = next(following)
        digits, greedy_score = row_places[i], greedy.get(model, np.nan)
        shares, se_prompts = prompt_shares.get(model, (None, np.nan))
        if not has_prompts and judge_scores is None and np.isfinite(data_share[i]):
            shares = (float(data_share[i]), 1 - float(data_share[i]))
        rows.append(
            ScoreRow(
                model=model,
                greedy="" if np.isnan(greedy_score) else format_number(greedy_score, digits),
                rank=_format_rank(ranks, i, scores),
                score=format_number(float(scores.score[i]), digits),
                interval=format_range(float(lows[i]), float(highs[i]), digits),
                se=format_error(float(se[i]), places),
                se_prompts=format_error(se_prompts, places),
                n_questions=f"{int(scores.n_questions[i]):,}" if has_questions else "–",
                n_generations=f"{int(scores.n_generations[i]):,}" if has_questions else "–",
                judge_score="" if judge_scores is None else format_number(judge_scores[model], digits),
                x=position(float(scores.score[i])),
                x_greedy=position(greedy_score),
                x_low=position(float(lows[i])),
                x_high=position(float(highs[i])),
                shares=shares,
                note_numbers=tuple(numbers[note] for note in notes),
            )
        )
    first = [x for row in rows[:N_FIRST] for x in (row.x_low, row.x_high, row.x, row.x_greedy) if x is not None]
    near = (min(first), max(first)) if len(rows) > MOST_ROWS and first and min(first) < max(first) else None
    return ScoreTable(
        rows=tuple(rows),
        near=near and (*near, format_number(low + span * near[0], places), format_number(low + span * near[1], places)),
        low=format_number(low, places),
        high=format_number(high, places),
        notes=tuple(numbers),
        sources={name: text for name, text in _SOURCES.items() if has_prompts or name != "prompt"},
        has_ranks=ranks is not None,
        table="scores" if judge_scores is None else "judge",
        prediction_has_interaction=has_prompts and prompts is not None and _has_joined_components(prompts),
    )


def _format_rank(ranks: RankRanges | None, i: int, scores: Scores) -> str:
    """Return the rank of model i with the first and last rank of its own range: "2 (1–4)"."""
    if ranks is None or np.isnan(scores.score[i]):
        return "–"
    rank, first, last = (int(each[i]) for each in ranks[:3])
    return f"{rank:,} ({first:,})" if first == last else f"{rank:,} ({first:,}–{last:,})"


def _has_joined_components(components: PromptComponents) -> bool:
    """Return whether interaction and generation noise cannot be separated for some model."""
    joined = np.isnan(components.generation) & ~np.isnan(components.mean)
    return not components.layout.nested and bool(np.any(joined))


def _error_shares(components: PromptComponents) -> dict[str, tuple[tuple[float, ...] | None, float]]:
    """Return each model's shares of data, prompt and prediction noise, and its standard error for new prompts.

    The shares are of the squared error for new questions in new prompts. The interaction of question and prompt, which
    enters it as vQS/(NS), counts as prompt noise where it is separate from sampling. Negative components count as 0.
    """
    question, variant, interaction, generation = np.maximum(components.parts, 0)
    joined = np.isnan(generation)
    if components.layout.nested:
        variant = np.where(joined, np.nan, variant)  # with one generation it includes the sampling noise
    parts = np.stack(
        [
            question,
            variant + np.where(joined, 0, interaction),
            np.where(joined, interaction, generation),
        ]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = parts / parts.sum(axis=0)
    errors = np.sqrt(components.variance()).tolist()
    return {
        model: (tuple(shares[:, m].tolist()) if np.all(np.isfinite(shares[:, m])) else None, float(error))
        for m, (model, error) in enumerate(zip(components.layout.names, errors, strict=True))
    }


def build_score_figure(
    scores: Scores,
    order: Sequence[str],
    builder: ElementBuilder,
    *,
    claim: str,
    limits: tuple[FloatArray, FloatArray] | None = None,
) -> Figure | None:
    """Build the figure of the scores with their intervals; None for a single model."""
    drawn = [model for model in order if np.isfinite(scores.score[scores.models.index(model)])][:MAX_MODELS]
    if len(drawn) < 2:
        return None
    return builder.build_figure(
        "score-intervals",
        describe_scores(scores, drawn, claim=claim, limits=limits),
        draw_scores(scores, drawn, limits),
        marks=2 * len(drawn),
        is_folded=len(drawn) > MAX_OPEN_MODELS,
    )


def describe_scores(
    scores: Scores, drawn: Sequence[str], *, claim: str, limits: tuple[FloatArray, FloatArray] | None = None
) -> str:
    """Describe the widths of the intervals of the models in `drawn`, and what they are not for."""
    low, high = (scores.interval().low, scores.interval().high) if limits is None else limits
    rows = [scores.models.index(model) for model in drawn]
    widths = (high - low)[rows]
    available = widths[np.isfinite(widths)]
    text = ""
    if len(available):
        narrow, wide = format_significant(float(available.min())), format_significant(float(available.max()))
        width = f"{narrow} wide" if narrow == wide else f"{narrow} to {wide} wide"
        text = f"Bars are {format_level(scores.level)} intervals for {claim}, {width}."
    if without := len(widths) - len(available):
        text += f" {format_count(without, 'model')} {'has' if without == 1 else 'have'} no interval."
    text += " Bars of two models that overlap do not mean that the models are alike: see their difference."
    return (text + describe_drawn(len(drawn), len(scores.models))).strip()


def build_rejected_section(
    cells: Cells, scores: Scores, unreviewed_cells: Cells | None, order: Sequence[str], builder: ElementBuilder
) -> Section:
    """Build the section on rejected questions; without any it has no items."""
    name, title = "rejected-part", "Without the rejected questions"
    lead = (
        "A review found questions mislabeled or ambiguous. All scores, differences, noise and answers on this page are "
        "without them; tokens and costs are those of all generations."
    )
    if unreviewed_cells is None or len(unreviewed_cells.questions) == len(cells.questions):
        return Section(name, title, "Rejected", lead)
    unreviewed_scores = score(unreviewed_cells, level=scores.level)
    models = [model for model in order if model in unreviewed_cells.models]
    new = np.array([scores.score[cells.index(model)] for model in models])
    old = np.array([unreviewed_scores.score[unreviewed_cells.index(model)] for model in models])
    builder.add_table(
        "rejected", {"model": np.array(models, dtype=object), "score": new, "score_of_all": old, "change": new - old}
    )
    places = choose_decimals(np.sqrt(scores.variance))
    n_rejected = len(unreviewed_cells.questions) - len(cells.questions)
    moved = count_moved_models(old, new)
    largest = float(np.nanmax(np.abs(new - old), initial=0))
    order_change = f"{moved:,} models change places" if moved else "no two models change places"
    size = format_number(largest, places) if largest >= 0.5 * 10**-places else format_significant(largest)
    change = f"scores change by at most {size}" if largest > _ROUNDING else "no score changes"
    if n_lost := int(np.sum(np.isfinite(old) & np.isnan(new))):
        change += f", {format_count(n_lost, 'model')} {'has' if n_lost == 1 else 'have'} no score any more"
    caption = (
        f"{format_count(n_rejected, 'question')} of {len(unreviewed_cells.questions):,} {is_or_are(n_rejected)} left "
        f"out; {change}, and {order_change}. {_REJECTED_CAVEAT}"
    )
    rows = {
        "Model": models,
        "Score": format_each(new, places),
        "All questions": format_each(old, places),
        "Change": format_each(new - old, places, sign=True),
    }
    item = builder.build_text_table(
        "rejected", "What do the rejected questions change?", caption, rows, text_columns=1, table="rejected"
    )
    return Section(name, title, "Rejected", lead, (item,))


def draw_scores(scores: Scores, order: Sequence[str], limits: tuple[FloatArray, FloatArray] | None = None) -> Chart:
    """Draw the score of each model in `order` with its interval; a model without a score has an empty row."""
    low, high = limits or (scores.interval().low, scores.interval().high)
    rows = [scores.models.index(model) for model in order]
    data = columns_of(
        model=list(order),
        score=scores.score[rows],
        low=low[rows],
        high=high[rows],
        se=np.sqrt(scores.variance)[rows],
        n_questions=scores.n_questions[rows],
        n_generations=scores.n_generations[rows],
    )
    tips = tooltips(model="Model", score="Score", low="Low", high="High", se="Standard error", n_questions="Questions")
    shared: dict[str, Any] = {
        "y": down_names("model", order),
        "tooltip": tips + tooltips(n_generations="Generations"),
    }
    # An axis from 0 would leave a few per cent of the width for differences that the intervals are about.
    scale = scale_without_zero(
        np.concatenate([data_end[rows] for data_end in (scores.score, low, high)]), nice=False, padding=8
    )
    axis = {"tickCount": 7, "labelBound": True}  # a number that begins beyond the axis would be cut
    x, point = (across(field, "Score", axis=axis, scale=scale) for field in ("low", "score"))
    mark = {"filled": True, "size": 60, "color": BLUE, "opacity": 1}
    return finish_chart(
        draw(data, "rule", {"color": BLUE, "strokeWidth": 2}, x=x, x2="high", **shared),
        draw(data, "point", mark, x=point, **shared),
        height=20 * max(len(rows), 1),
    )
