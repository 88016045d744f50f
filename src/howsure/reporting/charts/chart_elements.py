"""Colours, channels, axes and tooltips that all charts share.

Each chart carries one datum whose fields are columns, flattened by the chart itself: an array of rows would repeat
every field name in every row. Names of models and questions are values in it, never part of an expression.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, Required, Self, TypedDict

import altair as alt
import numpy as np
from altair.utils.schemapi import UndefinedType
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


def shorten_label(most: int, names: Sequence[str] = ()) -> str:
    """Return the expression that cuts the middle of a name of more than `most` characters: names differ at both ends.

    Of the places where it can be cut it takes the one that leaves most of `names` different, near the middle.

    >>> shorten_label(36)
    "length(datum.label) > 36 ? slice(datum.label, 0, 16) + '…' + slice(datum.label, -19) : datum.label"
    >>> shorten_label(18, ["simulated llama-3.1-70b-instruct", "simulated llama-3.1-7b-instruct"])
    "length(datum.label) > 18 ? slice(datum.label, 0, 4) + '…' + slice(datum.label, -13) : datum.label"
    """
    middle = (most - 1) * 19 // 35
    long = [name for name in names if len(name) > most]

    def count_different(last: int, margin: int) -> int:
        return len({(name[: max(most - 1 - last - margin, 0)], name[margin - last :]) for name in long})

    # What tells names apart stands two characters from the cut, where that is possible.
    last = middle
    if long:
        last = max(
            range(3, max(most - 3, 4)),
            key=lambda last: (count_different(last, 0), count_different(last, 2), -abs(last - middle)),
        )
    return (
        f"length(datum.label) > {most} ? slice(datum.label, 0, {most - 1 - last}) + '…' + "
        f"slice(datum.label, -{last}) : datum.label"
    )


def count_fitting(width: float, size: float, names: Sequence[str]) -> int:
    """Return how many characters of names fit a width, of letters of a size; capitals and Chinese take more of it.

    >>> count_fitting(260, 12, ["qwen-2.5"]), count_fitting(260, 12, ["QWEN-2.5"]), count_fitting(260, 12, ["千问"])
    (39, 36, 21)
    """
    each = [
        sum(1 if unicodedata.east_asian_width(c) in "FW" else 0.7 if c.isupper() else 0.5 for c in name) / len(name)
        for name in names
        if name
    ]
    return int(width / (max(0.55, sum(each) / max(len(each), 1)) * size))


#: Characters of the name above a panel, which the narrowest figures have room for.
_MAX_HEADING = 36

#: What axes of names have where there is room; narrower drawings cut more.
SHORT_LABEL = shorten_label(36)

#: The same for names inside of a drawing.
SHORT_NAME = SHORT_LABEL.replace("datum.label", "datum.model")

Chart = alt.Chart | alt.LayerChart | alt.FacetChart


class SeriesChannels(TypedDict, total=False):
    """Colour of each series, and its shape or dash; the keys are the parameters of `Chart.encode`."""

    color: Required[alt.Color]
    shape: alt.Shape
    strokeDash: alt.StrokeDash


def chart_of_columns(**columns: Sequence[object] | NDArray[np.generic]) -> alt.Chart:
    """Return a chart on columns of equal length; NaN becomes null."""
    lists = {name: round_values(values) for name, values in columns.items()}
    return alt.Chart(_SharedData(values=[lists])).transform_flatten(list(lists))


class _SharedData(alt.InlineData):
    """Data that all copies of a chart share; Altair copies a chart, value by value, in most of its methods."""

    def __deepcopy__(self, memo: object) -> Self:
        return self


def round_values(values: Sequence[object] | NDArray[np.generic], digits: int = 7) -> list[object]:
    """Return the values with 7 significant digits, which is exact enough for drawings and tables."""
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [(float(f"{v:.{digits}g}") if math.isfinite(v) else None) if isinstance(v, float) else v for v in listed]


def scale_without_zero(
    values: Sequence[float] | NDArray[np.generic],
    *,
    kind: Literal["linear", "log"] = "linear",
    nice: bool = True,
    padding: float = 0,
) -> alt.Scale:
    """Return the scale of an axis that need not begin at 0, around the value where all values are one.

    An axis from a number to itself has that number as its only tick, rounded to a whole one.

    >>> scale_without_zero([0.5, 0.5]).domain, scale_without_zero([0.5, 0.6]).domain
    ([0.45, 0.55], Undefined)
    """
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    domain: list[float] | UndefinedType = alt.Undefined
    if len(numbers) and np.ptp(numbers) <= 1e-9 * np.max(np.abs(numbers)):
        margin = 0.1 * abs(float(numbers[0])) or 0.1
        domain = [float(f"{float(numbers[0]) + sign * margin:.7g}") for sign in (-1, 1)]
    return alt.Scale(type=kind, zero=False, domain=domain, nice=nice, padding=padding)


def count_axis(numbers: Sequence[int] | NDArray[np.integer]) -> alt.Axis:
    """Return the axis of whole numbers, with a tick at each where these are few.

    Vega puts a tick between 1 and 2, which a format of whole numbers writes as 2.
    """
    few = np.unique(np.asarray(numbers)).tolist()
    return alt.Axis(values=few, format="d") if len(few) <= 7 else alt.Axis(tickMinStep=1, tickCount=7, format="d")


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
        # Not by from_dict, which hashes the schemas of all classes of Altair anew.
        symbol = "stroke" if dashes else alt.Undefined
        legend = alt.Legend(orient="top", symbolType=symbol) if len(order) > 1 else None
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
                labelAngle=0,
                labelAlign="left",
                labelOrient="top",
                labelAnchor="start",
                labelPadding=2,
                labelLimit=400,
                labelExpr=shorten_label(_MAX_HEADING, list(dict.fromkeys(columns[field].tolist()))),
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
    # Set on the chart itself, which the caller has just made: Altair copies all layers for each `configure_*`.
    if len(legend) > 1:
        chart.usermeta = {"longest": max(map(len, legend))}
    if not isinstance(chart, alt.FacetChart):
        # A height in pixels, not a step: a step makes Vega-Lite complain about fitting the width alone.
        chart.width, chart.height = "container", height
        chart.autosize = alt.AutoSizeParams(type="fit-x", contains="padding")
    chart.config = _build_config(is_faceted=isinstance(chart, alt.FacetChart))
    return chart


@cache
def _build_config(*, is_faceted: bool) -> alt.Config:
    """Return the fonts, colours and limits that all figures share."""
    prefix = "child_" if is_faceted else ""
    return alt.Config(
        background="transparent",
        font="system-ui, sans-serif",
        view=alt.ViewConfig(stroke=None),
        # The page describes the drawing as a whole; a description of each mark is an expression with the titles of
        # axes, and so names, in it.
        mark=alt.MarkConfig(aria=False),
        axis=alt.AxisConfig(
            domainColor=GREY,
            tickColor=GREY,
            gridColor=GREY,
            gridOpacity=0.25,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight=500,
        ),
        # A title longer than its axis would be cut at the edge of the drawing, at its beginning too.
        axisX=alt.AxisConfig(titleLimit=alt.ExprRef(f"{prefix}width"), labelSeparation=6),
        axisY=alt.AxisConfig(titleLimit=alt.ExprRef(f"{prefix}height")),
        legend=alt.LegendConfig(
            orient="top",
            title=None,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight=500,
            labelLimit=0,
            titleLimit=0,
        ),
        header=alt.HeaderConfig(labelFontSize=12),
        text=alt.MarkConfig(fontSize=12),
    )
