"""Section 6 of the page: which questions are hard, and for which models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts import (
    GREY,
    Chart,
    PlotData,
    across,
    columns_of,
    down_names,
    draw,
    finish_chart,
    number,
    tooltips,
)
from howsure.reporting.elements import ElementBuilder, Figure, Section
from howsure.reporting.formatting import format_count
from howsure.reporting.sections.score_table import mean_question_scores
from howsure.stats.core.cells import Cells, FloatArray

#: Largest number of marks in a figure.
MAX_MARKS = 50_000

#: A heatmap cell is one character: 21 levels, 0 to 20; "-" where there is no score.
LEVELS = "0123456789ABCDEFGHIJK"


def build_heatmap_section(cells: Cells, order: Sequence[str], builder: ElementBuilder) -> Section:
    """Build the section with the heatmap of questions and models; without any score it has no figure."""
    mean = "P(correct) is the" if cells.binary else "The figure shows the"
    bins = bin_questions(mean_question_scores(cells), len(cells.models))
    figures: tuple[Figure, ...] = ()
    if bins.max() >= 0:
        figure = builder.build_figure(
            "difficulty",
            describe_heatmap(cells, bins),
            draw_heatmap(cells, order),
            table="questions",
            marks=len(cells.models) * (int(bins.max()) + 1),
        )
        figures = (figure,)
    lead = f"{mean} mean score of a model on a question over its generations."
    return Section("questions-part", "The questions", "Questions", lead, figures)


def describe_heatmap(cells: Cells, bins: NDArray[np.int64]) -> str:
    """Describe how many questions all models fail or solve, and what a column is."""
    answered = cells.answered
    has_answer = answered.any(axis=0)
    n_questions = int(has_answer.sum())
    if cells.unit:
        n_unsolved = int(np.sum(has_answer & np.all((cells.total <= 0) | ~answered, axis=0)))
        n_solved = int(np.sum(has_answer & np.all((cells.mean >= 1 - 1e-9) | ~answered, axis=0)))
        count = format_count(n_questions, "question")
        text = (
            f"Every generation of every model that answered scored 0 on {n_unsolved:,} of {count}, "
            f"and 1 on {n_solved:,}."
            if n_unsolved or n_solved
            else f"On none of {count} did all generations of all models score 0, and on none did all score 1."
        )
    else:
        text = f"{format_count(n_questions, 'question')}, from the lowest mean score to the highest."
    if (groups := int(bins.max(initial=-1)) + 1) < n_questions:
        text += (
            f" {len(cells.models):,} × {n_questions:,} cells are too many to draw: questions are grouped by difficulty "
            "into "
            f"{groups:,} groups of nearly equal size, and a cell is the mean over its group."
        )
    if not answered[:, has_answer].all():
        text += " Where a model has no score the cell is grey."
    return text + " Colours are rounded to 21 levels."


def bin_questions(difficulty: FloatArray, n_models: int, *, most: int = MAX_MARKS) -> NDArray[np.int64]:
    """Return the bin of each question, hardest first: one per question, or quantiles of difficulty; -1 without answers.

    >>> bin_questions(np.array([0.9, 0.1, 0.5, np.nan]), 2).tolist()
    [2, 0, 1, -1]
    >>> bin_questions(np.array([0.9, 0.1, 0.5, 0.4]), 2, most=4).tolist()
    [1, 0, 1, 0]
    """
    available = np.flatnonzero(~np.isnan(difficulty))
    bins = np.full(len(difficulty), -1)
    count = min(len(available), max(most // n_models, 1))
    bins[available[np.argsort(difficulty[available], kind="stable")]] = (
        np.arange(len(available)) * count // max(len(available), 1)
    )
    return bins


def average_by_bin(scores: FloatArray, bins: NDArray[np.int64]) -> FloatArray:
    """Return the mean of each row's scores in each bin, shape (M, B); NaN for a bin in which a row has no score.

    Memory grows with the number of questions and the number of bins, not with their product.

    Examples
    --------
    >>> average_by_bin(np.array([[0.0, 1.0, 0.5], [np.nan, 1.0, np.nan]]), np.array([0, 0, 1])).tolist()
    [[0.5, 0.5], [1.0, nan]]
    """
    B = int(bins.max(initial=-1)) + 1
    means = np.full((len(scores), B), np.nan)
    for row, target in zip(scores, means, strict=True):
        available = ~np.isnan(row) & (bins >= 0)
        n = np.bincount(bins[available], minlength=B)
        total = np.bincount(bins[available], weights=row[available], minlength=B)
        np.divide(total, n, out=target, where=n > 0)
    return means


def encode_digits(means: FloatArray, low: float, high: float) -> list[str]:
    """Return each row of means, shape (M, B), as a string of `LEVELS`, from `low` (first) to `high` (last).

    >>> encode_digits(np.array([[0.0, 0.5, 1.0, np.nan]]), 0, 1)
    ['0AK-']
    """
    level = np.floor((means - low) / ((high - low) or 1) * (len(LEVELS) - 1) + 0.5)
    letters = np.array([*LEVELS, "-"])
    return ["".join(row) for row in letters[np.where(np.isnan(level), -1, level).astype(int)]]


def draw_heatmap(cells: Cells, order: Sequence[str], *, at_scores: FloatArray | None = None) -> Chart:
    """Draw the mean score of every model on every question, models by skill and questions from hard to easy.

    With the scores of the models in `order`, each row is drawn at the score of its model, as in NOISE's figure 3, and
    models of nearly equal score cover each other. Where each column is one question, its place is the row of the table
    of questions, which a click opens (`usermeta.click`).
    """
    bins = bin_questions(mean_question_scores(cells), len(order))
    B = int(bins.max(initial=-1)) + 1
    means = average_by_bin(cells.mean[[cells.index(m) for m in order]], bins)
    low, high = (0.0, 1.0) if cells.unit else (float(np.nanmin(means)), float(np.nanmax(means)))
    step = (high - low) / (len(LEVELS) - 1)
    data: PlotData = columns_of(model=list(order), digits=encode_digits(means, low, high))
    if at_scores is not None:
        data |= columns_of(at=np.asarray(at_scores, float))
        half = 0.008 * (float(np.nanmax(at_scores)) - float(np.nanmin(at_scores)) or 1.0)
    expressions = {
        "score": f"datum.digit === '-' ? {low!r} : indexof('{LEVELS}', datum.digit) * {step!r} + {low!r}",
        "end": "datum.place + 1.2",
        "rank": "datum.place + 1",
        "text": "datum.digit === '-' ? 'no score' : format(datum.score, '.3~f')",
    }
    if at_scores is not None:
        expressions |= {"bottom": f"datum.at - {half!r}", "top": f"datum.at + {half!r}"}
    steps: list[Mapping[str, object]] = [
        {"flatten": list(data)},
        {"calculate": "split(datum.digits, '')", "as": "digit"},
        {"calculate": f"sequence({B})", "as": "place"},
        {"flatten": ["digit", "place"]},
        *({"calculate": expression, "as": name} for name, expression in expressions.items()),
    ]
    is_whole = int(np.sum(bins >= 0)) == B
    each = "Question, hardest first" if is_whole else "Group of questions, hardest first"
    # Viridis, not cividis: the middle of cividis is grey, which here means no score.
    colour = number(
        "score",
        title="mean score",
        scale={"scheme": "viridis", "domain": [low, high if high > low else low + 1]},
        legend={"orient": "top", "gradientLength": {"expr": "min(200, 0.8 * width)"}},
    )
    rows: dict[str, Any] = {"y": {**down_names("model", order, inner=0)}}
    if at_scores is not None:
        scale = {"zero": False, "nice": False, "padding": 6}
        rows = {"y": number("bottom", title="Score of the model", scale=scale, axis={"grid": False}), "y2": "top"}
    axis = {"grid": False, "tickMinStep": 1, "tickCount": 7}
    # Cells overlap a little: edges that only touch leave seams on a canvas.
    layer = draw(
        data,
        "rect",
        {"clip": True},
        steps=steps,
        x=across("place", each, scale={"domain": [0, B], "nice": False}, axis=axis),
        x2="end",
        color={"condition": {"test": "datum.digit === '-'", "value": GREY}, **colour},
        tooltip=tooltips(model="Model", rank=each, text="Mean score, rounded to 21 levels"),
        **rows,
    )
    height = 380 if at_scores is not None else len(order) * (14 if len(order) > 12 else 20)
    return finish_chart(layer, height=height, **({"click": "place"} if is_whole else {}))
