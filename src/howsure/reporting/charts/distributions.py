"""Charts of the distribution of P(correct) over questions: observed, expected by a fitted Beta, and without noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts.chart_elements import (
    BLUE,
    GREY,
    ORANGE,
    Chart,
    chart_of_columns,
    curve_channels,
    facet_by_model,
    finish_chart,
    tooltips,
    x_channel,
)
from howsure.stats.core.cells import FloatArray
from howsure.stats.questions import BetaCurves, DifficultyDensity

#: Colours of models that differ in a setting only, which also have a fixed order.
_COLOURS = (BLUE, ORANGE, "#009E73", GREY)

#: Colours of models without a setting, and of the expected shares.
_PLAIN, _EXPECTED = "#56B4E9", "#CC79A7"

#: Largest number of settings of one model that are drawn side by side.
MAX_SETTINGS = len(_COLOURS)

#: The curves of `cumulative`.
_OBSERVED, _DENOISED, _FITTED = "observed", "less sampling noise", "fitted Beta"


def draw_histograms(
    curves: BetaCurves | None, shares: FloatArray, levels: FloatArray, rows: Mapping[str, Mapping[str, int]]
) -> Chart:
    """Draw the share of questions near each level of the mean score, and the share that the fitted Beta expects.

    Parameters
    ----------
    curves
        Cumulative shares at the ends of the bins; None without a fit.
    shares
        Of the questions of each model in each bin, shape (M, L).
    levels
        Middles of the bins, equally spaced from 0 to 1, shape (L,).
    rows
        For each heading of the figure, the models drawn side by side: setting ("" without one) to the model's row in
        `shares`.
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
    tips = [
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
    base = alt.Chart(_data(columns))
    fill = alt.Color(
        field="setting",
        type="nominal",
        title=None,
        scale=alt.Scale(domain=settings, range=[colour[setting] for setting in settings]),
        legend=alt.Legend(orient="top", values=named) if named else None,
    )
    histogram = base.mark_bar().encode(x=x, x2=alt.X2(field="right"), y=y, y2=alt.Y2(datum=0), color=fill, tooltip=tips)
    layers = [histogram]
    if not np.all(np.isnan(expected)):
        line = base.mark_rule(strokeWidth=3, color=_EXPECTED, opacity=1).encode(
            x=alt.X(field="left", type="quantitative"),
            x2=alt.X2(field="right"),
            y=alt.Y(field="expected", type="quantitative"),
            tooltip=tips,
        )
        layers.append(line)
    # as high as it can be in each row: where nearly all questions are at 0, others would be flat
    chart = facet_by_model(alt.layer(*layers).properties(width=560, height=64), columns).resolve_scale(y="independent")
    return finish_chart(chart, legend=named)


def draw_cumulative(curves: BetaCurves, density: DifficultyDensity, order: Sequence[str]) -> Chart:
    """Draw the share of questions at or below each P(correct): observed, without noise, and the fitted Beta."""
    denoised = np.concatenate([np.zeros((len(density.mass), 1)), np.cumsum(density.mass, axis=1)], axis=1)
    kinds = {
        _OBSERVED: (curves.points, curves.empirical),
        _DENOISED: (density.edges, denoised),
        _FITTED: (curves.points, curves.fitted),
    }
    at = [curves.models.index(model) for model in order]
    parts = [
        (model, kind, *(_corners(points, values[m]) if kind == _OBSERVED else (points, values[m])), place)
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
    return finish_chart(facet_by_model(lines, columns), legend=names)


def _corners(x: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the points of a line that is flat up to each step."""
    steps = np.flatnonzero(np.diff(values)) + 1
    points = np.unique(np.concatenate([[0], steps, [len(x) - 1]]))
    return np.repeat(x[points], 2)[1:], np.repeat(values[points], 2)[:-1]


def _data(columns: Mapping[str, NDArray[np.generic]]) -> alt.InlineData:
    """Return columns as data of a chart."""
    data: alt.InlineData = chart_of_columns(**columns).data
    return data


def _repeated(names: Sequence[str], times: int | Sequence[int]) -> NDArray[np.object_]:
    """Return each name, repeated."""
    return np.repeat(np.array(names, dtype=object), times)
