"""What all figures share: colours, columns, axes, tooltips and the finish.

Each chart carries one datum whose fields are columns, flattened by the chart itself: an array of rows would repeat
every field name in every row. Names of models and questions are values in it, never part of an expression.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

#: Okabe and Ito's colours, which no common colour blindness confuses; blue and orange also differ in lightness.
BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#8a8f98"

#: The looks of what a few things are told apart by, which is never colour alone.
_COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", GREY)
_SHAPES = ("circle", "diamond", "square", "triangle-up", "cross")
_DASHES = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (4, 4))

#: Models that a figure tells apart at most.
MAX_SERIES = len(_COLOURS) - 1

#: Fields whose values are words.
_TEXT = {"component", "model", "model_a", "model_b", "part", "row", "column", "told", "value", "variant", "verdict"}

#: A name too long for an axis loses its middle: what tells models apart is at both ends.
SHORT_LABEL = "length(datum.label) > 36 ? slice(datum.label, 0, 16) + '…' + slice(datum.label, -19) : datum.label"

Chart = alt.Chart | alt.LayerChart | alt.FacetChart


def chart_of_columns(**columns: Sequence[Any] | NDArray[Any]) -> alt.Chart:
    """A chart on equally long columns; NaN becomes null."""
    lists = {name: round_values(values) for name, values in columns.items()}
    return alt.Chart(alt.InlineData(values=[lists])).transform_flatten(list(lists))


def round_values(values: Sequence[Any] | NDArray[Any], digits: int = 7) -> list[Any]:
    """Numbers at 7 significant digits, which no pixel and no reader of a figure's table can tell from the double."""
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [(float(f"{v:.{digits}g}") if math.isfinite(v) else None) if isinstance(v, float) else v for v in listed]


def x_channel(field: str, title: str, **more: Any) -> alt.X:
    """A number from left to right."""
    return alt.X(field=field, type="quantitative", title=title, **{"axis": alt.Axis(tickCount=7), **more})


def y_names(field: str, order: Sequence[str], **more: Any) -> alt.Y:
    """Models from top to bottom. A domain, not a sort: a sort would write the names into an expression."""
    return alt.Y(
        field=field,
        type="nominal",
        title=None,
        scale=alt.Scale(type="band", domain=list(order), paddingInner=0.25),
        axis=alt.Axis(domain=False, ticks=False, grid=False, labelExpr=SHORT_LABEL),
        **more,
    )


def series_channels(field: str, order: Sequence[str], *, dashes: bool = False) -> dict[str, Any]:
    """Colour and shape (or dash) of up to five things, and their legend, which is left out for one alone."""

    def each(kind: Any, range_: Sequence[Any]) -> Any:
        scale = alt.Scale(domain=list(order), range=list(range_[: len(order)]))
        kinds = {"symbolType": "stroke"} if dashes else {}
        legend = alt.Legend.from_dict({"orient": "top", **kinds}) if len(order) > 1 else None
        return kind(field=field, type="nominal", title=None, scale=scale, legend=legend)

    second = each(alt.StrokeDash, _DASHES) if dashes else each(alt.Shape, _SHAPES)
    return {"color": each(alt.Color, _COLOURS), "strokeDash" if dashes else "shape": second}


def curve_channels(field: str, colours: Mapping[str, str], *, dashed: str) -> dict[str, Any]:
    """Colour of each curve, by its name, and dashes for one of them, with one legend for both."""

    def scale(range_: Sequence[Any]) -> alt.Scale:
        return alt.Scale(domain=list(colours), range=list(range_))

    dashes = [[6, 4] if name == dashed else [1, 0] for name in colours]
    legend = alt.Legend(orient="top", symbolType="stroke")
    told: dict[str, Any] = {"field": field, "type": "nominal", "title": None}
    return {
        "color": alt.Color(**told, scale=scale(list(colours.values())), legend=legend),
        "strokeDash": alt.StrokeDash(**told, scale=scale(dashes), legend=alt.Legend(orient="top")),
    }


def tooltips(**titles: str) -> list[alt.Tooltip]:
    """Fields with their titles; those of `_TEXT` are words, the others numbers."""
    return [
        alt.Tooltip(field=field, type="nominal", title=title)
        if field in _TEXT
        else alt.Tooltip(field=field, type="quantitative", title=title, format=".4~f")
        for field, title in titles.items()
    ]


def finish_chart(chart: Chart, *, height: float = 0, legend: Sequence[str] = ()) -> Chart:
    """Width of the page, a height in pixels, and the quiet look of all figures; the sheet adds the description.

    `legend` are names in a legend, of which the page lays out as many beside each other as fit.
    """
    if len(legend) > 1:
        chart = chart.properties(usermeta={"longest": max(map(len, legend))})
    if not isinstance(chart, alt.FacetChart):
        # A height in pixels, not a step: a step makes Vega-Lite complain about fitting the width alone.
        fit = alt.AutoSizeParams(type="fit-x", contains="padding")
        chart = chart.properties(width="container", height=height, autosize=fit)
    quiet = {"domainColor": GREY, "tickColor": GREY, "gridColor": GREY, "gridOpacity": 0.25, "titleFontWeight": 500}
    side = "child_" if isinstance(chart, alt.FacetChart) else ""
    finished: Chart = (
        chart.configure(background="transparent", font="system-ui, sans-serif")
        .configure_view(stroke=None)
        # The page describes the drawing as a whole; a description of each mark is an expression with the titles of
        # axes, and so names, in it.
        .configure_mark(aria=False)
        .configure_axis(labelFontSize=12, titleFontSize=12, **quiet)
        # A title longer than its axis would be cut at the edge of the drawing, at its beginning too.
        .configure_axisX(titleLimit=alt.ExprRef(f"{side}width"))
        .configure_axisY(titleLimit=alt.ExprRef(f"{side}height"))
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
    )
    return finished
