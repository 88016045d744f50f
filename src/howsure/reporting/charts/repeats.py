"""Runs of the same thing: where their means fall, where a future one may, and whether they drift."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts.base import (
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

#: Places for the dots of runs that score nearly the same, one above the other.
_STACK = 5

#: Dots nearer than this share of the axis are put one above the other.
_NEAR = 1 / 70

_KINDS = ("run", "best", "worst")


def draw_runs(found: Repeats, order: Sequence[str]) -> Chart:
    """A dot for each run, the best and the worst marked, over the interval in which a future mean will fall."""
    at = [found.models.index(model) for model in order]
    between = found.interval()
    model, run = np.nonzero(found.runs.n_questions[:, at].T)
    means = found.runs.mean[:, at].T[model, run]
    everything = np.concatenate([means, between.low[at], between.high[at]])
    wide = float(np.nanmax(everything, initial=0) - np.nanmin(everything, initial=1)) or 1.0
    ends = np.array([found.worst, found.best])[:, at][:, model]
    kind = np.select([means == ends[1], means == ends[0]], ["best", "worst"], "run")
    kind = np.where(ends[0] == ends[1], "run", kind).astype(object)
    names = np.array(order, dtype=object)
    y = y_names("model", order)
    band = chart_of_columns(
        model=order,
        low=between.low[at],
        high=between.high[at],
        mean=found.mean[at],
        sd=found.sd[at],
        n_runs=found.n_runs[at],
    )
    told = tooltips(model="Model", mean="Mean", low="Low", high="High", sd="SD of runs", n_runs="Runs")
    title = "Score of a run"
    scale = alt.Scale(zero=False)
    bars = band.mark_bar(size=26, color=BLUE, opacity=0.22).encode(
        x=x_channel("low", title, scale=scale), x2=alt.X2(field="high"), y=y, tooltip=told
    )
    middle = band.mark_tick(color=BLUE, thickness=2, size=26).encode(
        x=x_channel("mean", title, scale=scale), y=y, tooltip=told
    )
    dots = chart_of_columns(
        model=names[model],
        run=np.array(found.runs.runs, dtype=object)[run],
        mean=means,
        kind=kind,
        place=_stacked(means / wide, model),
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
    """Place of each dot among those of its model that are too near: the middle first, then above and below."""
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


def draw_drift(found: Repeats, order: Sequence[str]) -> Chart:
    """Score of each run in the order of the runs, for a few models, with the mean of each as a rule."""
    at = [found.models.index(model) for model in order]
    model, run = np.nonzero(found.runs.n_questions[:, at].T)
    base = chart_of_columns(
        model=np.array(order, dtype=object)[model],
        n=np.arange(len(model)) - np.searchsorted(model, model) + 1,  # of the model: logs have a model each
        run=np.array(found.runs.runs, dtype=object)[run],
        mean=found.runs.mean[:, at].T[model, run],
    )
    x = x_channel("n", "Run, in the order they were made", axis=alt.Axis(tickMinStep=1, tickCount=7, format="d"))
    y = alt.Y(field="mean", type="quantitative", title="Score of the run", scale=alt.Scale(zero=False))
    told = [*tooltips(model="Model"), alt.Tooltip(field="run", type="nominal", title="Run"), *tooltips(mean="Score")]
    look = series_channels("model", order)
    lines = base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=look["color"])
    points = base.mark_point(filled=True, size=50, opacity=1).encode(x=x, y=y, tooltip=told, **look)
    centers = chart_of_columns(model=order, center=found.runs.center[at])
    rules = centers.mark_rule(strokeWidth=1, strokeDash=[2, 3]).encode(
        y=alt.Y(field="center", type="quantitative"), color=look["color"] if len(order) > 1 else alt.value(GREY)
    )
    return finish_chart(alt.layer(rules, lines, points), height=260, legend=order)
