"""Charts of more generations: ranges of runs, standard errors against k, and the best design for each budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import altair as alt
import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts.chart_elements import (
    BLUE,
    GREY,
    ORANGE,
    Chart,
    chart_of_columns,
    count_axis,
    facet_by_model,
    finish_chart,
    series_channels,
    tooltips,
    x_channel,
)
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.intervals import Limits
from howsure.stats.planning import StudyDesign
from howsure.stats.repeats import Convergence, RunWidths

#: A channel of the looks of bands and lines.
Channel = TypeVar("Channel", alt.Fill, alt.Stroke, alt.StrokeDash)

#: Names in the legend of `draw_run_ranges`.
_NEW, _AGAIN, _ALL, _GREEDY = "interval for new questions", "runs on these questions", "all generations", "greedy"

#: Colours of the bands, visible on a light and on a dark background.
_BANDS = ("rgba(58, 151, 211, 0.3)", "rgba(58, 151, 211, 0.6)")


def draw_run_ranges(ranges: Convergence, new: Limits, ends: Mapping[str, int], greedy: Mapping[str, float]) -> Chart:
    """Draw the range of scores of runs with k generations, their interval for new questions, and the greedy score.

    Parameters
    ----------
    ranges
        Result of `howsure.stats.repeats.convergence`.
    ends
        Number of generations up to which each model is drawn, in the order of the models.
    new
        Limits of the score on new questions, shape (M, len(k)).
    greedy
        Greedy score of the models that have one.
    """
    columns = _tabulate_run_ranges(ranges, new, ends, greedy)
    tips = [
        alt.Tooltip(field="part", type="nominal", title="What"),
        alt.Tooltip(field="k", type="quantitative", title="Generations"),
        *tooltips(low="From", high="To"),
    ]
    first, last = int(ranges.k[0]), int(ranges.k[-1])
    x = x_channel(
        "k",
        "Generations per question",
        axis=alt.Axis(values=_choose_ticks(last), format="d"),
        scale=alt.Scale(type="log", domain=[first, max(last, 2)], nice=False),
    )
    y = alt.Y(
        field="low", type="quantitative", title=None, scale=alt.Scale(zero=False, padding=5), axis=alt.Axis(tickCount=4)
    )
    base = alt.Chart(chart_of_columns(**columns).data)
    bands = (
        base.transform_filter(alt.FieldOneOfPredicate(field="part", oneOf=[_NEW, _AGAIN]))
        .mark_area()
        .encode(x=x, y=y, y2=alt.Y2(field="high"), fill=_part_channel(alt.Fill, [_NEW, _AGAIN], _BANDS), tooltip=tips)
    )
    names = [_ALL, _GREEDY] if any(model in greedy for model in ends) else [_ALL]
    lines = (
        base.transform_filter(alt.FieldOneOfPredicate(field="part", oneOf=names))
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=y,
            stroke=_part_channel(alt.Stroke, names, (BLUE, ORANGE)),
            strokeDash=_part_channel(alt.StrokeDash, names, ([1, 0], [6, 4])),
            tooltip=tips,
        )
    )
    chart = facet_by_model(alt.layer(bands, lines).properties(width=560, height=110), columns, spacing=10)
    return finish_chart(chart.resolve_scale(y="independent"), legend=[_NEW, _AGAIN])


def _tabulate_run_ranges(
    ranges: Convergence, new: Limits, ends: Mapping[str, int], greedy: Mapping[str, float]
) -> dict[str, NDArray[np.generic]]:
    """Return the columns of the figure: lower and upper end of each band or line at each number of generations."""
    parts: list[tuple[str, str, FloatArray, FloatArray]] = []
    for model in ends:
        i = ranges.models.index(model)
        mean_of_all = np.full(len(ranges.k), ranges.all_score[i])
        parts += [
            (model, _NEW, new.low[i], new.high[i]),
            (model, _AGAIN, ranges.low[i], ranges.high[i]),
            (model, _ALL, mean_of_all, mean_of_all),
        ]
        if model in greedy:
            line = np.full(len(ranges.k), greedy[model])
            parts.append((model, _GREEDY, line, line))
    K = len(ranges.k)
    places = {model: place for place, model in enumerate(ends)}
    columns: dict[str, NDArray[np.generic]] = {
        "model": np.repeat(np.array([model for model, *_ in parts], dtype=object), K),
        "part": np.repeat(np.array([part for _, part, _, _ in parts], dtype=object), K),
        "k": np.tile(ranges.k, len(parts)),
        "low": np.concatenate([low for _, _, low, _ in parts]),
        "high": np.concatenate([high for *_, high in parts]),
        "place": np.repeat([places[model] for model, *_ in parts], K),
    }
    drawn = columns["k"] <= np.repeat([ends[model] for model, *_ in parts], K)
    return {name: values[drawn] for name, values in columns.items()}


def _part_channel(channel: type[Channel], names: Sequence[str], styles: Sequence[str | Sequence[float]]) -> Channel:
    """Return the channel from the name of a band or line to its look, with a legend."""
    symbol = "square" if channel is alt.Fill else "stroke"
    return channel(
        field="part",
        type="nominal",
        title=None,
        scale=alt.Scale(domain=list(names), range=list(styles[: len(names)])),
        legend=alt.Legend(orient="top", symbolType=symbol),
    )


def draw_standard_errors(
    k: FloatArray, se: Mapping[str, FloatArray], points_at: Mapping[str, tuple[float, float]]
) -> Chart:
    """Draw the standard error of each model against generations per question, with a point at the data."""
    order = list(se)
    base = chart_of_columns(
        model=np.repeat(np.array(order, dtype=object), len(k)),
        k=np.tile(k, len(order)),
        se=np.concatenate(list(se.values())),
    )
    x = x_channel(
        "k",
        "Generations per question",
        scale=alt.Scale(type="log", nice=False, domain=[float(k[0]), float(k[-1])]),
        axis=alt.Axis(values=_choose_ticks(float(k[-1])), format="d"),
    )
    y = alt.Y(field="se", type="quantitative", title="Standard error of the score", scale=alt.Scale(domainMin=0))
    tips = [
        *tooltips(model="Model", se="Standard error"),
        alt.Tooltip(field="k", type="quantitative", title="Generations", format=".3~f"),
    ]
    channels = series_channels("model", order, dashes=True)
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, tooltip=tips, **channels)
    layers = [lines]
    if points_at:
        points = chart_of_columns(
            model=list(points_at), k=[at for at, _ in points_at.values()], se=[error for _, error in points_at.values()]
        )
        layers.append(
            points.mark_point(filled=True, size=80, opacity=1).encode(x=x, y=y, tooltip=tips, color=channels["color"])
        )
    return finish_chart(alt.layer(*layers), height=280, legend=order)


def draw_run_widths(widths: RunWidths) -> Chart:
    """Draw the prediction interval after 2, 3, ... runs, and the first number of runs at which it is narrow enough.

    Parameters
    ----------
    widths
        Result of `howsure.stats.repeats.measure_widths`.
    """
    table = widths.columns()
    columns = {name: table[name] for name in ("model", "n_runs", "mean", "low", "high", "width")}
    first = find_narrow_runs(widths)
    columns["narrow_at"] = np.array([first[model] or np.nan for model in columns["model"].tolist()])
    base = alt.Chart(chart_of_columns(**columns).data)
    x = x_channel("n_runs", "Runs", axis=count_axis(table["n_runs"]))
    y = alt.Y(field="low", type="quantitative", title=None, scale=alt.Scale(zero=False, padding=5))
    tips = [
        alt.Tooltip(field="n_runs", type="quantitative", title="Runs"),
        *tooltips(mean="Mean", low="From", high="To", width="Width"),
    ]
    band = base.mark_area(opacity=0.35, color=BLUE).encode(x=x, y=y, y2=alt.Y2(field="high"), tooltip=tips)
    line = base.mark_line(strokeWidth=2, color=BLUE).encode(x=x, y=alt.Y(field="mean", type="quantitative"))
    rule = base.mark_rule(strokeDash=[6, 4], color=ORANGE, strokeWidth=2).encode(
        x=alt.X(field="narrow_at", type="quantitative", aggregate="min")
    )
    chart = facet_by_model(alt.layer(band, line, rule).properties(width=560, height=110), columns, spacing=10)
    return finish_chart(chart.resolve_scale(y="independent"))


def find_narrow_runs(widths: RunWidths) -> dict[str, int | None]:
    """Return after how many runs the interval of each model is first narrow enough; None if it never is."""
    table = widths.columns()
    first: dict[str, int | None] = dict.fromkeys(table["model"].tolist())
    for model, n, is_narrow in zip(table["model"], table["n_runs"].tolist(), table["is_narrow"], strict=True):
        if is_narrow and first[model] is None:
            first[model] = n
    return first


def draw_frontier(designs: Mapping[str, Sequence[StudyDesign]], unit: str, pilot: tuple[float, float] | None) -> Chart:
    """Draw the standard error of the best design against its cost, one line for each kind of design.

    Parameters
    ----------
    designs
        By kind, such as "one prompt"; cheapest first.
    unit
        The field of `Design` that is the cost.
    pilot
        Cost and standard error of what was run.
    """
    kinds = list(designs)
    rows = [(kind, design) for kind in kinds for design in designs[kind]]
    base = chart_of_columns(
        part=[kind for kind, _ in rows],
        spent=[float(getattr(design, unit)) for _, design in rows],
        se=[design.se for _, design in rows],
        n_questions=[design.n_questions for _, design in rows],
        n_variants=[design.n_variants for _, design in rows],
        n_generations=[design.n_generations for _, design in rows],
    )
    titles = {"calls": "Calls", "tokens": "Tokens", "cost": "Cost"}
    x = x_channel(
        "spent",
        titles[unit],
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~s" if unit != "cost" else ",.6~g", values=_choose_cost_ticks(rows, unit)),
    )
    y = alt.Y(field="se", type="quantitative", title="Standard error of the score", scale=alt.Scale(domainMin=0))
    tips = [
        *tooltips(part="Designs", se="Standard error"),
        *(
            alt.Tooltip(field=field, type="quantitative", title=title, format=",.4~f")
            for field, title in (
                ("spent", titles[unit]),
                ("n_questions", "Questions"),
                ("n_variants", "Prompts"),
                ("n_generations", "Generations"),
            )
        ),
    ]
    channels = series_channels("part", kinds)
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=channels["color"])
    points = base.mark_point(filled=True, size=45, opacity=1).encode(x=x, y=y, tooltip=tips, **channels)
    layers = [lines, points]
    if pilot is not None:
        run = alt.Chart(alt.InlineData(values=[{"spent": pilot[0], "se": pilot[1], "text": "this run"}]))
        cross = run.mark_point(shape="cross", filled=True, size=130, color=GREY, opacity=1).encode(
            x=x, y=y, tooltip=[*tooltips(text="Design", se="Standard error"), *tips[2:3]]
        )
        text = run.mark_text(align="left", baseline="bottom", dx=8, dy=-4).encode(
            x=x, y=y, text=alt.Text(field="text", type="nominal")
        )
        layers += [cross, text]
    return finish_chart(alt.layer(*layers), height=280, legend=kinds)


def _choose_ticks(most: float) -> list[int]:
    """Return the numbers of generations that have a tick: round ones, and the last one.

    >>> _choose_ticks(3), _choose_ticks(11), _choose_ticks(20)
    ([1, 2, 3], [1, 2, 5, 11], [1, 2, 5, 10, 20])
    """
    return [*(k for k in (1, 2, 5, 10, 20, 50, 100, 200) if 1.25 * k <= most), int(most)]


def _choose_cost_ticks(rows: Sequence[tuple[str, StudyDesign]], unit: str) -> list[float]:
    """Return 1, 2 and 5 times the powers of ten that the designs span."""
    spent = [float(getattr(design, unit)) for _, design in rows]
    powers = range(math.floor(math.log10(min(spent))), math.ceil(math.log10(max(spent))) + 1)
    return [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
