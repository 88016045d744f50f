"""Parts of which all charts are made: columns, marks, channels, style of series, and the settings of all figures.

A chart is a Vega-Lite specification, a plain dictionary. Each dataset is one datum whose fields are columns, flattened
by the chart itself: an array of rows would repeat every field name in every row. Names of models and questions are
values in it, never part of an expression. Charts only draw; statistics are computed in `howsure.stats`.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Chart = dict[str, Any]
Layer = dict[str, Any]
Channel = dict[str, Any]
Settings = dict[str, Any]
PlotData = dict[str, list[Any]]

#: Vega-Lite's version that the charts are written for.
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.1.0.json"

#: Okabe and Ito's colours, which no common colour blindness confuses; blue and orange also differ in lightness.
BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#8a8f98"

#: Colours, shapes and dashes of series; series never differ in colour alone.
_COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", GREY)
_SHAPES = ("circle", "diamond", "square", "triangle-up", "cross")
_DASHES: Sequence[object] = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4])

#: Largest number of series in a figure.
MAX_SERIES = len(_COLOURS) - 1

#: Fields whose values are text.
_TEXT_FIELDS = (
    " benchmark better component day generations kind model model_a model_b part question row run column setting text"
    " value variant verdict "
)

#: Formats of fields in tooltips that differ from four decimals.
_FORMATS = {"p_holm": ".2~g", "share": ".1%", "expected": ".1%", "p_correct_bin": ".3~f", "spent": ",.4~f"}
_FORMATS |= dict.fromkeys(("n_questions", "n_generations", "n_here", "rank"), ",d")


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


#: What axes of names have where there is room, and names inside of a drawing; narrower drawings cut more.
SHORT_LABEL = shorten_label(36)
SHORT_NAME = SHORT_LABEL.replace("datum.label", "datum.model")


def columns_of(**columns: Sequence[object] | NDArray[np.generic]) -> PlotData:
    """Return columns of equal length as the data of layers; NaN becomes null."""
    return {name: round_values(values) for name, values in columns.items()}


def round_values(values: Sequence[object] | NDArray[np.generic], digits: int = 7) -> list[object]:
    """Return the values with 7 significant digits, which is exact enough for drawings and tables."""
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [(float(f"{v:.{digits}g}") if math.isfinite(v) else None) if isinstance(v, float) else v for v in listed]


def repeat_names(names: Sequence[str], times: int | Sequence[int]) -> NDArray[np.object_]:
    """Return each name, repeated."""
    return np.repeat(np.array(names, dtype=object), times)


def draw(
    data: Mapping[str, object] | None,
    mark: str,
    style: Mapping[str, object] | None = None,
    *,
    only: tuple[str, Sequence[str]] | None = None,
    steps: Sequence[Mapping[str, object]] | None = None,
    **channels: Channel | Sequence[Channel] | str,
) -> Layer:
    """Return a layer: a mark for each row of the data, or of the rows whose field `only[0]` is one of `only[1]`.

    `data` is None in a chart with panels, which holds the data of all layers; `steps` replace the flattening of the
    columns; a channel given as text is that field.
    """
    transform: list[Mapping[str, object]] = (
        list(steps) if steps is not None else [{"flatten": list(data)}] if data else []
    )
    if only:
        transform.append({"filter": {"field": only[0], "oneOf": list(only[1])}})
    encoding = {name: {"field": one} if isinstance(one, str) else one for name, one in channels.items()}
    layer: Layer = {"mark": {"type": mark, **(style or {})}, "encoding": encoding}
    return layer | ({"data": data} if data else {}) | ({"transform": transform} if transform else {})


def number(field: str, **more: object) -> Channel:
    """Return the channel of a number."""
    return {"field": field, "type": "quantitative", **more}


def across(field: str, title: str = "", **more: object) -> Channel:
    """Return the channel of a number from left to right, with seven ticks unless `more` has an axis."""
    return number(field, title=title, **{"axis": {"tickCount": 7}, **more})


def style_values(
    field: str, names: Sequence[str], *, symbol: str | None = None, least: int = 2, **style: Sequence[object]
) -> Settings:
    """Return channels of a text with a look for each of its values, in one legend where there are `least` values."""
    legend = {"orient": "top", **({"symbolType": symbol} if symbol else {})} if len(names) >= least else None
    return {
        channel: {
            "field": field,
            "type": "nominal",
            "title": None,
            "scale": {"domain": list(names), "range": list(each[: len(names)])},
            "legend": legend,
        }
        for channel, each in style.items()
    }


def style_series(field: str, order: Sequence[str], *, dashes: bool = False) -> Settings:
    """Return colour and shape (or dash) of up to five series."""
    if dashes:
        return style_values(field, order, symbol="stroke", color=_COLOURS, strokeDash=_DASHES)
    return style_values(field, order, color=_COLOURS, shape=_SHAPES)


def style_curves(field: str, colours: Mapping[str, str], *, dashed: str) -> Settings:
    """Return the colour of each curve by its name and dashes for one of them, with one legend for both."""
    dashes: list[object] = [[6, 4] if name == dashed else [1, 0] for name in colours]
    return style_values(field, list(colours), symbol="stroke", color=list(colours.values()), strokeDash=dashes)


def down_names(field: str, order: Sequence[str], *, inner: float = 0.25) -> Channel:
    """Return the channel of names from top to bottom."""
    scale = {"type": "band", "domain": list(order), "paddingInner": inner}
    axis = {"domain": False, "ticks": False, "grid": False, "labelExpr": SHORT_LABEL}
    return {"field": field, "type": "nominal", "title": None, "scale": scale, "axis": axis}


def dodge(count: int, **scale: object) -> Channel:
    """Return a vertical offset for series 0, 1, ... within a row."""
    return {"field": "place", "type": "ordinal", "scale": {"domain": list(range(count)), **scale}}


def tooltips(**titles: str) -> list[Channel]:
    """Return tooltips for fields with their titles; fields of `_TEXT_FIELDS` are text, p-values are never 0."""
    return [
        {"field": field, "type": "nominal", "title": title}
        if f" {field} " in _TEXT_FIELDS
        else number(field, title=title, format=_FORMATS.get(field, ".4~f"))
        for field, title in titles.items()
    ]


def scale_without_zero(values: Sequence[float] | NDArray[np.generic], **more: object) -> Settings:
    """Return the scale of an axis that need not begin at 0, around the value where all values are one.

    An axis from a number to itself has that number as its only tick, rounded to a whole one.

    >>> scale_without_zero([0.5, 0.5])["domain"], scale_without_zero([0.5, 0.6])
    ([0.45, 0.55], {'zero': False})
    """
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers) or np.ptp(numbers) > 1e-9 * np.max(np.abs(numbers)):
        return {"zero": False, **more}
    margin = 0.1 * abs(float(numbers[0])) or 0.1
    return {"zero": False, "domain": [float(f"{numbers[0] + sign * margin:.7g}") for sign in (-1, 1)], **more}


def count_axis(numbers: Sequence[int] | NDArray[np.integer]) -> Settings:
    """Return the axis of whole numbers, with a tick at each where these are few.

    Vega puts a tick between 1 and 2, which a format of whole numbers writes as 2.
    """
    few = np.unique(np.asarray(numbers)).tolist()
    return {"values": few, "format": "d"} if len(few) <= 7 else {"tickMinStep": 1, "tickCount": 7, "format": "d"}


def draw_zero(title: str = "") -> Layer:
    """Return a vertical rule at 0."""
    return draw({"zero": [0]}, "rule", {"color": GREY}, x=across("zero", title))


def finish_chart(*layers: Layer, height: float, legend: Sequence[str] = (), **hints: object) -> Chart:
    """Return the layers as a chart with the width of the page, a height in pixels, and the axes of all figures.

    `legend` are names in a legend, of which the page lays out as many beside each other as fit; `hints` are what else
    page.js needs.
    """
    names: dict[int, str] = {}
    datasets: dict[str, list[object]] = {}
    parts = []
    for layer in layers:
        name = names.setdefault(id(layer["data"]), f"data-{len(names)}")
        datasets[name] = [layer["data"]]
        parts.append({**layer, "data": {"name": name}})
    # A height in pixels, not a step: a step makes Vega-Lite complain about fitting the width alone.
    size = {"width": "container", "height": height, "autosize": {"type": "fit-x", "contains": "padding"}}
    drawing = parts[0] if len(parts) == 1 else {"layer": parts}
    return _complete({**drawing, **size, "datasets": datasets}, legend, hints)


def finish_panels(
    *layers: Layer,
    data: PlotData,
    height: int,
    spacing: int = 8,
    field: str = "model",
    own_scales: bool = True,
    legend: Sequence[str] = (),
) -> Chart:
    """Return a panel for each model, or value of another field, in the order of the column `place`.

    `own_scales`: whether each panel has a vertical scale of its own.
    """
    header = {"labelAngle": 0, "labelAlign": "left", "labelOrient": "top", "labelAnchor": "start", "labelPadding": 2}
    # The narrowest figures have room for 36 characters.
    header |= {"labelLimit": 400, "labelExpr": shorten_label(36, list(dict.fromkeys(data[field])))}
    row = {"field": field, "type": "nominal", "title": None, "sort": {"field": "place", "op": "min"}, "header": header}
    chart = {
        "datasets": {"data-0": [data]},
        "data": {"name": "data-0"},
        "transform": [{"flatten": list(data)}],
        "facet": {"row": row},
        "spec": {**(layers[0] if len(layers) == 1 else {"layer": list(layers)}), "width": 560, "height": height},
        "spacing": spacing,
        **({"resolve": {"scale": {"y": "independent"}}} if own_scales else {}),
    }
    return _complete(chart, legend, {})


def _complete(chart: Chart, legend: Sequence[str], hints: Mapping[str, object]) -> Chart:
    """Return a chart with the fonts, colours and limits that all figures share, and the hints for page.js."""
    longest = {"longest": max(map(len, legend))} if len(legend) > 1 else {}
    usermeta = {"usermeta": {**longest, **hints}} if longest or hints else {}
    child = "child_" if "facet" in chart else ""
    text = {"labelFontSize": 12, "titleFontSize": 12}
    config = {
        "background": "transparent",
        "font": "system-ui, sans-serif",
        "view": {"continuousWidth": 300, "continuousHeight": 300, "stroke": None},
        # The page describes the drawing as a whole; a description of each mark is an expression with the titles of
        # axes, and so names, in it.
        "mark": {"aria": False},
        "axis": {
            **dict.fromkeys(("domainColor", "tickColor", "gridColor"), GREY),
            "gridOpacity": 0.25,
            **text,
            "titleFontWeight": 500,
        },
        # A title longer than its axis would be cut at the edge of the drawing, at its beginning too.
        "axisX": {"titleLimit": {"expr": f"{child}width"}, "labelSeparation": 6},
        "axisY": {"titleLimit": {"expr": f"{child}height"}},
        "legend": {"orient": "top", "title": None, **text, "titleFontWeight": 500, "labelLimit": 0, "titleLimit": 0},
        "header": {"labelFontSize": 12},
        "text": {"fontSize": 12},
    }
    return {"$schema": _SCHEMA, **chart, "config": config, **usermeta}
