"""Charts of the scores of single models: with their intervals, and against what a model costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import altair as alt
import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts.chart_elements import (
    BLUE,
    ORANGE,
    SHORT_NAME,
    Chart,
    chart_of_columns,
    finish_chart,
    scale_without_zero,
    tooltips,
    x_channel,
    y_names,
)
from howsure.stats.core.cells import FloatArray
from howsure.stats.planning import CostScores
from howsure.stats.scores import Scores


def draw_scores(scores: Scores, order: Sequence[str], limits: tuple[FloatArray, FloatArray] | None = None) -> Chart:
    """Draw the score of each model in `order` with its interval.

    Parameters
    ----------
    scores
        Scores of all models.
    order
        Models to draw, from top to bottom; those without a score have an empty row.
    limits
        Lower and upper ends of the intervals, shape (M,); default: those of `scores`.
    """
    between = scores.interval()
    low, high = (between.low, between.high) if limits is None else limits
    rows = [scores.models.index(model) for model in order]
    base = chart_of_columns(
        model=list(order),
        score=scores.score[rows],
        low=low[rows],
        high=high[rows],
        se=np.sqrt(scores.variance)[rows],
        n_questions=scores.n_questions[rows],
        n_generations=scores.n_generations[rows],
    )
    y = y_names("model", order)
    tips = tooltips(
        model="Model",
        score="Score",
        low="Low",
        high="High",
        se="Standard error",
        n_questions="Questions",
        n_generations="Generations",
    )
    # An axis from 0 would leave a few per cent of the width for differences that the intervals are about.
    ends = np.concatenate([scores.score[rows], low[rows], high[rows]])
    scale = scale_without_zero(ends, nice=False, padding=8)
    axis = alt.Axis(tickCount=7, labelBound=True)  # a number that begins beyond the axis would be cut
    bars = base.mark_rule(color=BLUE, strokeWidth=2).encode(
        x=x_channel("low", "Score", axis=axis, scale=scale), x2=alt.X2(field="high"), y=y, tooltip=tips
    )
    points = base.mark_point(filled=True, size=60, color=BLUE, opacity=1).encode(
        x=x_channel("score", "Score", axis=axis, scale=scale), y=y, tooltip=tips
    )
    return finish_chart(alt.layer(bars, points), height=20 * max(len(rows), 1))


#: Titles of the axis of costs.
_COST_TITLES = {
    "cost": "Dollars for 1,000 generations",
    "tokens": "Tokens of a generation, with its prompt",
    "calls": "Calls of a generation",
}

#: Whether another model is better for less.
_KINDS = ("no model is better for less", "another is better for less")

#: Room of a name in the figure of costs, as shares of its height and width.
_NAME_HEIGHT, _NAME_WIDTH = 0.08, 0.6


def draw_costs(result: CostScores, order: Sequence[str]) -> Chart:
    """Draw the score of each model in `order` with its interval against the mean cost of a generation."""
    rows = np.array([result.models.index(model) for model in order], dtype=int)
    cost = result.cost[rows] * (1000 if result.unit == "cost" else 1)
    is_beaten = np.array([bool(result.better_for_less[i]) for i in rows])
    base = chart_of_columns(
        model=list(order),
        cost=cost,
        score=result.score[rows],
        low=result.low[rows],
        high=result.high[rows],
        kind=np.array(_KINDS, dtype=object)[is_beaten.astype(int)],
        better=[", ".join(result.better_for_less[i]) or "–" for i in rows],
    )
    tips = [
        *tooltips(model="Model", score="Score", low="Low", high="High"),
        alt.Tooltip(field="cost", type="quantitative", title=_COST_TITLES[result.unit], format=",.4~g"),
        alt.Tooltip(field="better", type="nominal", title="Better for less"),
    ]
    positive = bool(np.all(cost > 0))
    kind: Literal["log", "linear"] = "log" if positive and cost.max() > 5 * cost.min() else "linear"
    scale = scale_without_zero(cost, kind=kind, nice=False, padding=24)
    # "~g" alone has as many digits as tell the ticks apart: 120 and 140 were 1.2e+2 and 1.4e+2.
    axis = alt.Axis(tickCount=5, format=",.6~g", labelOverlap="greedy", grid=False)
    x = x_channel("cost", _COST_TITLES[result.unit], axis=axis, scale=scale)
    ends = np.concatenate([getattr(result, name)[rows] for name in ("score", "low", "high")])
    y_scale = scale_without_zero(ends, padding=10)
    color = alt.Color(
        field="kind",
        type="nominal",
        title=None,
        scale=alt.Scale(domain=list(_KINDS), range=[BLUE, ORANGE]),
        legend=alt.Legend(orient="top"),
    )
    shape = alt.Shape(
        field="kind",
        type="nominal",
        title=None,
        scale=alt.Scale(domain=list(_KINDS), range=["circle", "diamond"]),
        legend=alt.Legend(orient="top"),
    )
    y = alt.Y(field="score", type="quantitative", title="Score", scale=y_scale)
    bars = base.mark_rule(strokeWidth=2).encode(
        x=x,
        y=alt.Y(field="low", type="quantitative", title="Score", scale=y_scale),
        y2=alt.Y2(field="high"),
        color=color,
        tooltip=tips,
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(x=x, y=y, color=color, shape=shape, tooltip=tips)
    layers = [bars, points]
    position = _scale_to_unit(np.log(cost) if kind == "log" else cost)
    has_name = _select_names(position, _scale_to_unit(result.score[rows]))
    label = alt.ExprRef(SHORT_NAME)
    # names stand on the side where the drawing goes on
    for on_left in (False, True):
        named = np.flatnonzero(has_name & ((position > 0.5) == on_left))
        if len(named):
            names = chart_of_columns(
                model=[order[int(i)] for i in named], cost=cost[named], score=result.score[rows][named]
            )
            align: Literal["left", "right"] = "right" if on_left else "left"
            layers.append(names.mark_text(align=align, dx=-8 if on_left else 8, dy=-7, text=label).encode(x=x, y=y))
    chart: Chart = finish_chart(alt.layer(*layers), height=300, legend=_KINDS)
    chart.usermeta["names"] = list(order)
    return chart


def _scale_to_unit(values: FloatArray) -> FloatArray:
    """Return the values on a scale from 0 to 1; 0 where all are equal."""
    width = float(np.ptp(values))
    scaled: FloatArray = (values - values.min()) / width if width > 0 else np.zeros(len(values))
    return scaled


def _select_names(x: FloatArray, y: FloatArray) -> NDArray[np.bool_]:
    """Return which points have a name that covers no earlier name; x and y are shares of the drawing."""
    has_name = np.zeros(len(x), bool)
    for i in range(len(x)):
        near = has_name & (np.abs(y - y[i]) < _NAME_HEIGHT) & (np.abs(x - x[i]) < _NAME_WIDTH)
        has_name[i] = not near.any()
    return has_name
