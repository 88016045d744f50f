"""Charts of repeated runs: their means, the interval for a future one, and drift."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts.chart_elements import (
    BLUE,
    GREY,
    ORANGE,
    Chart,
    chart_of_columns,
    finish_chart,
    series_channels,
    tooltips,
    x_channel,
    y_names,
)
from howsure.stats.core.cells import FloatArray
from howsure.stats.repeats import Repeats

#: Number of places, one above the other, for dots of runs with nearly the same score.
_STACK = 5

#: Dots nearer than this share of the axis are drawn one above the other.
_NEAR = 1 / 70

_KINDS = ("run", "best", "worst")


def draw_runs(result: Repeats, order: Sequence[str]) -> Chart:
    """Draw a dot for each run, the best and the worst marked, over the interval for the mean of a future run."""
    at = [result.models.index(model) for model in order]
    between = result.interval()
    model, run = np.nonzero(result.runs.n_questions[:, at].T)
    means = result.runs.mean[:, at].T[model, run]
    drawn_values = np.concatenate([means, between.low[at], between.high[at]])
    width = float(np.nanmax(drawn_values, initial=0) - np.nanmin(drawn_values, initial=1)) or 1.0
    ends = np.array([result.worst, result.best])[:, at][:, model]
    kind = np.select([means == ends[1], means == ends[0]], ["best", "worst"], "run")
    kind = np.where(ends[0] == ends[1], "run", kind).astype(object)
    names = np.array(order, dtype=object)
    y = y_names("model", order)
    band = chart_of_columns(
        model=order,
        low=between.low[at],
        high=between.high[at],
        mean=result.mean[at],
        sd=result.sd[at],
        n_runs=result.n_runs[at],
    )
    tips = tooltips(model="Model", mean="Mean", low="Low", high="High", sd="SD of runs", n_runs="Runs")
    title = "Score of a run"
    scale = alt.Scale(zero=False)
    bars = band.mark_bar(size=26, color=BLUE, opacity=0.22).encode(
        x=x_channel("low", title, scale=scale), x2=alt.X2(field="high"), y=y, tooltip=tips
    )
    middle = band.mark_tick(color=BLUE, thickness=2, size=26).encode(
        x=x_channel("mean", title, scale=scale), y=y, tooltip=tips
    )
    dots = chart_of_columns(
        model=names[model],
        run=np.array(result.runs.runs, dtype=object)[run],
        mean=means,
        kind=kind,
        place=_stacked(means / width, model),
    )
    points = dots.mark_point(filled=True, size=46, opacity=0.95).encode(
        x=x_channel("mean", title, scale=scale),
        y=y,
        yOffset=alt.YOffset(
            field="place",
            type="ordinal",
            scale=alt.Scale(domain=list(range(_STACK)), paddingOuter=0.3),
        ),
        color=alt.Color(
            field="kind",
            type="nominal",
            title=None,
            scale=alt.Scale(domain=list(_KINDS), range=[BLUE, ORANGE, ORANGE]),
            legend=alt.Legend(orient="top"),
        ),
        shape=alt.Shape(
            field="kind",
            type="nominal",
            title=None,
            scale=alt.Scale(domain=list(_KINDS), range=["circle", "triangle-right", "triangle-left"]),
            legend=alt.Legend(orient="top"),
        ),
        tooltip=[
            *tooltips(model="Model"),
            alt.Tooltip(field="run", type="nominal", title="Run"),
            alt.Tooltip(field="kind", type="nominal", title="Which"),
            *tooltips(mean="Score"),
        ],
    )
    return finish_chart(alt.layer(bars, middle, points), height=34 * len(order), legend=_KINDS)


def _stacked(x: FloatArray, model: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the place of each dot among near dots of its model: the middle first, then above and below."""
    place = np.zeros(len(x), dtype=np.int64)
    for m in np.unique(model):
        rows = np.flatnonzero(model == m)
        last = np.full(_STACK, -np.inf)
        for i in rows[np.argsort(x[rows], kind="stable")]:
            free = np.flatnonzero(x[i] - last >= _NEAR)
            place[i] = int(free[0]) if len(free) else int(np.argmin(last))
            last[place[i]] = x[i]
    # 0, 1, 2, ... from the middle outwards
    outwards = np.argsort(np.abs(np.arange(_STACK) - _STACK // 2), kind="stable")
    return outwards[place]


def draw_drift(result: Repeats, order: Sequence[str]) -> Chart:
    """Draw the score of each run in the order of the runs, for a few models, with the mean of each model as a rule."""
    at = [result.models.index(model) for model in order]
    model, run = np.nonzero(result.runs.n_questions[:, at].T)
    base = chart_of_columns(
        model=np.array(order, dtype=object)[model],
        n=np.arange(len(model)) - np.searchsorted(model, model) + 1,  # of the model: logs have a model each
        run=np.array(result.runs.runs, dtype=object)[run],
        mean=result.runs.mean[:, at].T[model, run],
    )
    x = x_channel("n", "Run, in the order they were made", axis=alt.Axis(tickMinStep=1, tickCount=7, format="d"))
    y = alt.Y(field="mean", type="quantitative", title="Score of the run", scale=alt.Scale(zero=False))
    tips = [*tooltips(model="Model"), alt.Tooltip(field="run", type="nominal", title="Run"), *tooltips(mean="Score")]
    channels = series_channels("model", order)
    lines = base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=channels["color"])
    points = base.mark_point(filled=True, size=50, opacity=1).encode(x=x, y=y, tooltip=tips, **channels)
    centers = chart_of_columns(model=order, center=result.runs.center[at])
    rules = centers.mark_rule(strokeWidth=1, strokeDash=[2, 3]).encode(
        y=alt.Y(field="center", type="quantitative"), color=channels["color"] if len(order) > 1 else alt.value(GREY)
    )
    return finish_chart(alt.layer(rules, lines, points), height=260, legend=order)
