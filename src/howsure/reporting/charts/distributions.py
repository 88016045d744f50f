"""Distributions of P(correct) over questions: what was seen, what a fitted Beta expects, and what is left of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts.base import (
    BLUE,
    GREY,
    ORANGE,
    Chart,
    chart_of_columns,
    curve_channels,
    finish_chart,
    tooltips,
    x_channel,
)
from howsure.stats.core.cells import FloatArray
from howsure.stats.questions import BetaCurves, DifficultyDensity

#: The looks of models that differ in a setting alone, which also stand in a fixed order beside each other.
_COLOURS = (BLUE, ORANGE, "#009E73", GREY)

#: Models without settings, where others have them; and what a fit expects.
_PLAIN, _EXPECTED = "#56B4E9", "#CC79A7"

#: Settings of one model that are drawn beside each other at most.
MAX_SETTINGS = len(_COLOURS)

#: The curves of `cumulative`.
_SEEN, _LEFT, _FITTED = "observed", "less sampling noise", "fitted Beta"


def draw_histograms(
    curves: BetaCurves | None, shares: FloatArray, levels: FloatArray, rows: Mapping[str, Mapping[str, int]]
) -> Chart:
    """Share of questions near each level of the mean score, and what the Beta fit expects there.

    Parameters
    ----------
    curves
        Cumulative shares at the ends of the bins; None without a fit.
    shares
        Of the questions of each model in each bin, shape (M, L).
    levels
        Middles of the bins, equally spaced from 0 to 1, shape (L,).
    rows
        Heading of each row of the figure to what is drawn in it side by side: setting ("" for one alone) to the model's
        row in `shares`.
    """
    L, step = len(levels), float(levels[1] - levels[0])
    expected = np.full(shares.shape, np.nan) if curves is None else np.diff(curves.expected, axis=1, prepend=0)
    settings = list(dict.fromkeys(setting for members in rows.values() for setting in members))
    bars = [
        (heading, setting, model, place, len(members))
        for heading, members in rows.items()
        for place, (setting, model) in enumerate(members.items())
    ]
    each = np.array([model for *_, model, _, _ in bars], dtype=int)
    left, right = np.zeros((2, len(bars), L))
    for i, (*_, place, count) in enumerate(bars):
        width = 0.84 * step / count
        left[i] = levels - 0.42 * step + place * width
        right[i] = left[i] + 0.94 * width
    headings = list(rows)
    columns = {
        "model": _repeated([heading for heading, *_ in bars], L),
        "setting": _repeated([setting for _, setting, *_ in bars], L),
        "p_correct": np.tile(levels, len(bars)),
        "left": left.ravel(),
        "right": right.ravel(),
        "share": shares[each].ravel(),
        "expected": expected[each].ravel(),
        "place": np.repeat([headings.index(heading) for heading, *_ in bars], L),
    }
    named = [setting for setting in settings if setting]
    colour = dict(zip(named, _COLOURS, strict=False)) | {"": _PLAIN if named else BLUE}
    told = [
        *tooltips(model="Model"),
        *([alt.Tooltip(field="setting", type="nominal", title="Setting")] if named else []),
        alt.Tooltip(field="p_correct", type="quantitative", title="Mean score near", format=".3~f"),
        alt.Tooltip(field="share", type="quantitative", title="Share of questions", format=".1%"),
        alt.Tooltip(field="expected", type="quantitative", title="Expected by the Beta", format=".1%"),
    ]
    x = x_channel(
        "left",
        "Mean score of a question over its generations",
        scale=alt.Scale(domain=[-0.5 * step - 0.01, 1.01 + 0.5 * step], nice=False),
        axis=alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1], format=".1f", grid=False),
    )
    y = alt.Y(field="share", type="quantitative", title=None, axis=alt.Axis(format="%", tickCount=3))
    bare = alt.Chart(_data(columns))
    fill = alt.Color(
        field="setting",
        type="nominal",
        title=None,
        scale=alt.Scale(domain=settings, range=[colour[setting] for setting in settings]),
        legend=alt.Legend(orient="top", values=named) if named else None,
    )
    blocks = bare.mark_bar().encode(x=x, x2=alt.X2(field="right"), y=y, y2=alt.Y2(datum=0), color=fill, tooltip=told)
    layers = [blocks]
    if not np.all(np.isnan(expected)):
        line = bare.mark_rule(strokeWidth=3, color=_EXPECTED, opacity=1).encode(
            x=alt.X(field="left", type="quantitative"),
            x2=alt.X2(field="right"),
            y=alt.Y(field="expected", type="quantitative"),
            tooltip=told,
        )
        layers.append(line)
    # as high as it can be in each row: where nearly all questions are at 0, others would be flat
    chart = _rows(alt.layer(*layers).properties(width=560, height=64), columns).resolve_scale(y="independent")
    return finish_chart(chart, legend=named)


def draw_cumulative(curves: BetaCurves, left: DifficultyDensity, order: Sequence[str]) -> Chart:
    """Share of questions at or below each P(correct): observed, less sampling noise, and the fitted Beta."""
    below = np.concatenate([np.zeros((len(left.mass), 1)), np.cumsum(left.mass, axis=1)], axis=1)
    kinds = {
        _SEEN: (curves.points, curves.empirical),
        _LEFT: (left.edges, below),
        _FITTED: (curves.points, curves.fitted),
    }
    at = [curves.models.index(model) for model in order]
    parts = [
        (model, kind, *(_corners(points, values[m]) if kind == _SEEN else (points, values[m])), place)
        for place, (model, m) in enumerate(zip(order, at, strict=True))
        for kind, (points, values) in kinds.items()
        if not np.all(np.isnan(values[m]))
    ]
    sizes = [len(points) for _, _, points, _, _ in parts]
    columns = {
        "model": _repeated([model for model, *_ in parts], sizes),
        "curve": _repeated([kind for _, kind, *_ in parts], sizes),
        "p": np.concatenate([np.zeros(0), *(points for _, _, points, _, _ in parts)]),
        "share": np.concatenate([np.zeros(0), *(values for *_, values, _ in parts)]),
        "place": np.repeat([place for *_, place in parts], sizes),
    }
    names, colours = list(kinds), [GREY, BLUE, ORANGE]
    lines = (
        alt.Chart(_data(columns))
        .mark_line(strokeWidth=2)
        .encode(
            x=x_channel("p", "P(correct)", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5, format=".1f")),
            y=alt.Y(
                field="share",
                type="quantitative",
                title=None,
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", values=[0, 0.5, 1]),
            ),
            **curve_channels("curve", dict(zip(names, colours, strict=True)), dashed=_FITTED),
        )
        .properties(width=560, height=96)
    )
    return finish_chart(_rows(lines, columns), legend=names)


def _corners(x: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points of a line that stays flat up to each step."""
    steps = np.flatnonzero(np.diff(values)) + 1
    kept = np.unique(np.concatenate([[0], steps, [len(x) - 1]]))
    return np.repeat(x[kept], 2)[1:], np.repeat(values[kept], 2)[:-1]


def _rows(chart: Chart, columns: Mapping[str, NDArray[np.generic]]) -> alt.FacetChart:
    """One row per model, in order; the data are flattened before they are split."""
    facet = chart.facet(
        row=alt.Row(
            field="model",
            type="nominal",
            title=None,
            sort=alt.EncodingSortField(field="place", op="min"),
            header=alt.Header(
                labelAngle=0, labelAlign="left", labelOrient="top", labelAnchor="start", labelPadding=2, labelLimit=400
            ),
        ),
        spacing=8,
    )
    facet.transform = [alt.FlattenTransform(flatten=list(columns))]
    return facet


def _data(columns: Mapping[str, NDArray[np.generic]]) -> alt.InlineData:
    data: alt.InlineData = chart_of_columns(**columns).data
    return data


def _repeated(names: Sequence[str], times: int | Sequence[int]) -> NDArray[np.object_]:
    return np.repeat(np.array(names, dtype=object), times)
