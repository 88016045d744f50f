"""What more generations buy: runs that grow, standard errors against k, and the best design for each budget."""

from __future__ import annotations

import math
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
    finish_chart,
    series_channels,
    tooltips,
    x_channel,
)
from howsure.stats.core.cells import FloatArray
from howsure.stats.planning import StudyDesign
from howsure.stats.repeats import Convergence

#: What `growing` draws, as the legend calls it.
_NEW, _AGAIN, _ALL, _GREEDY = "interval for new questions", "runs on these questions", "all generations", "greedy"

#: Light and dark on any background.
_BANDS = ("rgba(58, 151, 211, 0.3)", "rgba(58, 151, 211, 0.6)")


def draw_run_ranges(found: Convergence, ends: Mapping[str, int], greedy: Mapping[str, float], *, unit: bool) -> Chart:
    """Scores of runs of k generations: where they fall, the interval they would print, and the greedy score.

    `ends`: the generations up to which each model is drawn, in the order of the models. `unit`: scores lie in [0, 1],
    and bands are cut there.
    """
    order = list(ends)
    parts: list[tuple[str, str, FloatArray, FloatArray]] = []
    for model in order:
        i = found.models.index(model)
        half, (least, most) = found.width[i] / 2, (0.0, 1.0) if unit else (-np.inf, np.inf)
        everything = np.full(len(found.k), found.all_score[i])
        parts += [
            (model, _NEW, np.maximum(found.score[i] - half, least), np.minimum(found.score[i] + half, most)),
            (model, _AGAIN, found.low[i], found.high[i]),
            (model, _ALL, everything, everything),
        ]
        if model in greedy:
            line = np.full(len(found.k), greedy[model])
            parts.append((model, _GREEDY, line, line))
    K = len(found.k)
    places = {model: place for place, model in enumerate(order)}
    columns: dict[str, NDArray[np.generic]] = {
        "model": np.repeat(np.array([model for model, *_ in parts], dtype=object), K),
        "part": np.repeat(np.array([part for _, part, _, _ in parts], dtype=object), K),
        "k": np.tile(found.k, len(parts)),
        "low": np.concatenate([low for _, _, low, _ in parts]),
        "high": np.concatenate([high for *_, high in parts]),
        "place": np.repeat([places[model] for model, *_ in parts], K),
    }
    drawn = columns["k"] <= np.repeat([ends[model] for model, *_ in parts], K)
    columns = {name: values[drawn] for name, values in columns.items()}
    told = [
        alt.Tooltip(field="part", type="nominal", title="What"),
        alt.Tooltip(field="k", type="quantitative", title="Generations"),
        *tooltips(low="From", high="To"),
    ]
    x = x_channel(
        "k",
        "Generations per question",
        axis=alt.Axis(values=_along(int(found.k[-1])), format="d"),
        scale=alt.Scale(type="log", domain=[int(found.k[0]), max(int(found.k[-1]), 2)], nice=False),
    )
    y = alt.Y(
        field="low", type="quantitative", title=None, scale=alt.Scale(zero=False, padding=5), axis=alt.Axis(tickCount=4)
    )
    bare = alt.Chart(chart_of_columns(**columns).data)
    bands = (
        bare.transform_filter(alt.FieldOneOfPredicate(field="part", oneOf=[_NEW, _AGAIN]))
        .mark_area()
        .encode(
            x=x,
            y=y,
            y2=alt.Y2(field="high"),
            fill=alt.Fill(
                field="part",
                type="nominal",
                title=None,
                scale=alt.Scale(domain=[_NEW, _AGAIN], range=list(_BANDS)),
                legend=alt.Legend(orient="top", symbolType="square"),
            ),
            tooltip=told,
        )
    )
    names = [_ALL, _GREEDY] if any(model in greedy for model in order) else [_ALL]
    lines = (
        bare.transform_filter(alt.FieldOneOfPredicate(field="part", oneOf=names))
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=y,
            stroke=alt.Stroke(
                field="part",
                type="nominal",
                title=None,
                scale=alt.Scale(domain=names, range=[BLUE, ORANGE][: len(names)]),
                legend=alt.Legend(orient="top", symbolType="stroke"),
            ),
            strokeDash=alt.StrokeDash(
                field="part",
                type="nominal",
                title=None,
                scale=alt.Scale(domain=names, range=[[1, 0], [6, 4]][: len(names)]),
                legend=alt.Legend(orient="top", symbolType="stroke"),
            ),
            tooltip=told,
        )
    )
    chart = (
        alt.layer(bands, lines)
        .properties(width=560, height=110)
        .facet(
            row=alt.Row(
                field="model",
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
                ),
            ),
            spacing=10,
        )
        .resolve_scale(y="independent")
    )
    chart.transform = [alt.FlattenTransform(flatten=list(columns))]
    return finish_chart(chart, legend=[_NEW, _AGAIN])


def draw_standard_errors(k: FloatArray, se: Mapping[str, FloatArray], here: Mapping[str, tuple[float, float]]) -> Chart:
    """Standard error of each model against generations per question, a point where the data are."""
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
        axis=alt.Axis(values=_along(float(k[-1])), format="d"),
    )
    y = alt.Y(field="se", type="quantitative", title="Standard error of the score", scale=alt.Scale(domainMin=0))
    told = [
        *tooltips(model="Model", se="Standard error"),
        alt.Tooltip(field="k", type="quantitative", title="Generations", format=".3~f"),
    ]
    look = series_channels("model", order, dashes=True)
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, tooltip=told, **look)
    layers = [lines]
    if here:
        points = chart_of_columns(
            model=list(here), k=[at for at, _ in here.values()], se=[error for _, error in here.values()]
        )
        layers.append(
            points.mark_point(filled=True, size=80, opacity=1).encode(x=x, y=y, tooltip=told, color=look["color"])
        )
    return finish_chart(alt.layer(*layers), height=280, legend=order)


def draw_frontier(designs: Mapping[str, Sequence[StudyDesign]], unit: str, pilot: tuple[float, float] | None) -> Chart:
    """Standard error of the best design against what it costs, one line for each kind of design.

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
        axis=alt.Axis(format="~s", values=_ticks(rows, unit)),
    )
    y = alt.Y(field="se", type="quantitative", title="Standard error of the score", scale=alt.Scale(domainMin=0))
    told = [
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
    look = series_channels("part", kinds)
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=look["color"])
    points = base.mark_point(filled=True, size=45, opacity=1).encode(x=x, y=y, tooltip=told, **look)
    layers = [lines, points]
    if pilot is not None:
        at = alt.Chart(alt.InlineData(values=[{"spent": pilot[0], "se": pilot[1], "told": "this run"}]))
        cross = at.mark_point(shape="cross", filled=True, size=130, color=GREY, opacity=1).encode(
            x=x, y=y, tooltip=[*tooltips(told="Design", se="Standard error"), *told[2:3]]
        )
        text = at.mark_text(align="left", baseline="bottom", dx=8, dy=-4, fontSize=12).encode(
            x=x, y=y, text=alt.Text(field="told", type="nominal")
        )
        layers += [cross, text]
    return finish_chart(alt.layer(*layers), height=280, legend=kinds)


def _along(most: float) -> list[int]:
    """Generations that have a tick."""
    return [k for k in (1, 2, 5, 10, 20, 50, 100, 200) if k <= most]


def _ticks(rows: Sequence[tuple[str, StudyDesign]], unit: str) -> list[float]:
    """1, 2 and 5 times the powers of ten that the designs span."""
    spent = [float(getattr(design, unit)) for _, design in rows]
    powers = range(math.floor(math.log10(min(spent))), math.ceil(math.log10(max(spent))) + 1)
    return [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
