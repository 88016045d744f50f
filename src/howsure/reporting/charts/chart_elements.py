"""Colours, channels, axes and tooltips that all charts share.

Each chart carries one datum whose fields are columns, flattened by the chart itself: an array of rows would repeat
every field name in every row. Names of models and questions are values in it, never part of an expression.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

import altair as alt
import numpy as np
from numpy.typing import NDArray

#: Okabe and Ito's colours, which no common colour blindness confuses; blue and orange also differ in lightness.
BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#8a8f98"

#: Colours, shapes and dashes of series; series never differ in colour alone.
_COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", GREY)
_SHAPES = ("circle", "diamond", "square", "triangle-up", "cross")
_DASHES = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (4, 4))

#: Largest number of series in a figure.
MAX_SERIES = len(_COLOURS) - 1

#: Fields whose values are text.
_TEXT_FIELDS = {
    "benchmark",
    "component",
    "model",
    "model_a",
    "model_b",
    "part",
    "question",
    "row",
    "column",
    "text",
    "value",
    "variant",
    "verdict",
}

#: Formats of fields in tooltips that differ from four decimals.
_TOOLTIP_FORMATS = {"p_holm": ".2~g", "n_questions": ",d", "n_generations": ",d", "n_here": ",d", "rank": ",d"}


def shorten_label(most: int) -> str:
    """Return the expression that cuts the middle of a name of more than `most` characters: names differ at both ends.

    >>> shorten_label(36)
    "length(datum.label) > 36 ? slice(datum.label, 0, 16) + '…' + slice(datum.label, -19) : datum.label"
    """
    last = (most - 1) * 19 // 35
    return (
        f"length(datum.label) > {most} ? slice(datum.label, 0, {most - 1 - last}) + '…' + "
        f"slice(datum.label, -{last}) : datum.label"
    )


#: What axes of names have where there is room; narrower drawings cut more.
SHORT_LABEL = shorten_label(36)

Chart = alt.Chart | alt.LayerChart | alt.FacetChart


class SeriesChannels(TypedDict, total=False):
    """Colour of each series, and its shape or dash; the keys are the parameters of `Chart.encode`."""

    color: Required[alt.Color]
    shape: alt.Shape
    strokeDash: alt.StrokeDash


def chart_of_columns(**columns: Sequence[object] | NDArray[np.generic]) -> alt.Chart:
    """Return a chart on columns of equal length; NaN becomes null."""
    lists = {name: round_values(values) for name, values in columns.items()}
    return alt.Chart(alt.InlineData(values=[lists])).transform_flatten(list(lists))


def round_values(values: Sequence[object] | NDArray[np.generic], digits: int = 7) -> list[object]:
    """Return the values with 7 significant digits, which is exact enough for drawings and tables."""
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [(float(f"{v:.{digits}g}") if math.isfinite(v) else None) if isinstance(v, float) else v for v in listed]


def x_channel(
    field: str,
    title: str,
    *,
    axis: alt.Axis | None = None,
    scale: alt.Scale | None = None,
    stack: Literal["zero"] | None = None,
) -> alt.X:
    """Return the channel of a number from left to right; None is the default of the charts."""
    return alt.X(
        field=field,
        type="quantitative",
        title=title,
        axis=axis or alt.Axis(tickCount=7),
        scale=scale or alt.Undefined,
        stack=stack or alt.Undefined,
    )


def y_names(field: str, order: Sequence[str]) -> alt.Y:
    """Return the channel of names from top to bottom."""
    return alt.Y(
        field=field,
        type="nominal",
        title=None,
        scale=alt.Scale(type="band", domain=list(order), paddingInner=0.25),
        axis=alt.Axis(domain=False, ticks=False, grid=False, labelExpr=SHORT_LABEL),
    )


def series_channels(field: str, order: Sequence[str], *, dashes: bool = False) -> SeriesChannels:
    """Return colour and shape (or dash) of up to five series; a single series has no legend."""

    def build_channel(channel: Any, range_: Sequence[Any]) -> Any:
        scale = alt.Scale(domain=list(order), range=list(range_[: len(order)]))
        symbol = {"symbolType": "stroke"} if dashes else {}
        legend = alt.Legend.from_dict({"orient": "top", **symbol}) if len(order) > 1 else None
        return channel(field=field, type="nominal", title=None, scale=scale, legend=legend)

    color = build_channel(alt.Color, _COLOURS)
    if dashes:
        return {"color": color, "strokeDash": build_channel(alt.StrokeDash, _DASHES)}
    return {"color": color, "shape": build_channel(alt.Shape, _SHAPES)}


def curve_channels(field: str, colours: Mapping[str, str], *, dashed: str) -> SeriesChannels:
    """Return the colour of each curve by its name and dashes for one of them, with one legend for both."""

    def scale(range_: Sequence[Any]) -> alt.Scale:
        return alt.Scale(domain=list(colours), range=list(range_))

    dashes = [[6, 4] if name == dashed else [1, 0] for name in colours]
    legend = alt.Legend(orient="top", symbolType="stroke")
    shared: dict[str, Any] = {"field": field, "type": "nominal", "title": None}
    return {
        "color": alt.Color(**shared, scale=scale(list(colours.values())), legend=legend),
        "strokeDash": alt.StrokeDash(**shared, scale=scale(dashes), legend=alt.Legend(orient="top")),
    }


def tooltips(**titles: str) -> list[alt.Tooltip]:
    """Return tooltips for fields with their titles; fields of `_TEXT_FIELDS` are text, p-values are never 0."""
    return [
        alt.Tooltip(field=field, type="nominal", title=title)
        if field in _TEXT_FIELDS
        else alt.Tooltip(field=field, type="quantitative", title=title, format=_TOOLTIP_FORMATS.get(field, ".4~f"))
        for field, title in titles.items()
    ]


def facet_by_model(
    chart: Chart, columns: Mapping[str, NDArray[np.generic]], *, spacing: int = 8, field: str = "model"
) -> alt.FacetChart:
    """Return one row of the figure per model, or value of another field, in the order of the column `place`.

    The data are flattened before they are split.
    """
    facet = chart.facet(
        row=alt.Row(
            field=field,
            type="nominal",
            title=None,
            sort=alt.EncodingSortField(field="place", op="min"),
            header=alt.Header(
                labelAngle=0, labelAlign="left", labelOrient="top", labelAnchor="start", labelPadding=2, labelLimit=400
            ),
        ),
        spacing=spacing,
    )
    facet.transform = [alt.FlattenTransform(flatten=list(columns))]
    return facet


def finish_chart(chart: Chart, *, height: float = 0, legend: Sequence[str] = ()) -> Chart:
    """Return the chart with the width of the page, a height in pixels, and the axes of all figures.

    `legend` are names in a legend, of which the page lays out as many beside each other as fit.
    """
    if len(legend) > 1:
        chart = chart.properties(usermeta={"longest": max(map(len, legend))})
    if not isinstance(chart, alt.FacetChart):
        # A height in pixels, not a step: a step makes Vega-Lite complain about fitting the width alone.
        fit = alt.AutoSizeParams(type="fit-x", contains="padding")
        chart = chart.properties(width="container", height=height, autosize=fit)
    axis = {"domainColor": GREY, "tickColor": GREY, "gridColor": GREY, "gridOpacity": 0.25, "titleFontWeight": 500}
    prefix = "child_" if isinstance(chart, alt.FacetChart) else ""
    finished: Chart = (
        chart.configure(background="transparent", font="system-ui, sans-serif")
        .configure_view(stroke=None)
        # The page describes the drawing as a whole; a description of each mark is an expression with the titles of
        # axes, and so names, in it.
        .configure_mark(aria=False)
        .configure_axis(labelFontSize=12, titleFontSize=12, **axis)
        # A title longer than its axis would be cut at the edge of the drawing, at its beginning too.
        .configure_axisX(titleLimit=alt.ExprRef(f"{prefix}width"), labelSeparation=6)
        .configure_axisY(titleLimit=alt.ExprRef(f"{prefix}height"))
        .configure_legend(
            orient="top",
            title=None,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight=500,
            labelLimit=0,
            titleLimit=0,
        )
        .configure_header(labelFontSize=12)
        .configure_text(fontSize=12)
    )
    return finished
