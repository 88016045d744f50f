"""Charts of prompt variants: scores under each variant, answers that could not be parsed, and sufficient prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from howsure.reporting.charts.chart_elements import (
    BLUE,
    GREY,
    Chart,
    chart_of_columns,
    count_axis,
    facet_by_model,
    finish_chart,
    round_values,
    series_channels,
    tooltips,
    x_channel,
    y_names,
)
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.claims import MOMENTS
from howsure.stats.prompts import SampleSize, UnparsedByValue, UnparsedEffect, VariantSummary

#: Kinds of points in the legend of `draw_spread`.
_MARKS = ("one prompt", "default prompt")


def draw_spread(summary: VariantSummary, order: Sequence[str]) -> Chart:
    """Draw the score of each model under each variant: points, a box from quartile to quartile, and the default."""
    moments, variants = summary.moments, summary.cube.drawn.variants
    at = [moments.models.index(model) for model in order]
    x = moments.scores[at]
    M, S = x.shape
    # Multiples of the golden ratio keep the points separate without random numbers.
    height = np.tile((np.arange(S) * 0.6180339887) % 1 - 0.5, M)
    middle = alt.YOffset(field="height", type="quantitative", scale=alt.Scale(domain=[-0.8, 0.8]))
    available = ~np.isnan(x).ravel()
    has_default = bool(np.any(~np.isnan(moments.default[at])))
    channels = (
        series_channels("part", _MARKS) if has_default else {"color": alt.value(BLUE), "shape": alt.value("circle")}
    )
    points = (
        chart_of_columns(
            model=np.repeat(np.array(order, dtype=object), S)[available],
            variant=np.tile(np.array(variants, dtype=object), M)[available],
            score=x.ravel()[available],
            height=height[available],
        )
        .transform_calculate(part=f"'{_MARKS[0]}'")
        .mark_point(size=22, filled=True, opacity=0.75)
        .encode(
            x=x_channel("score", "Score under one prompt", scale=alt.Scale(zero=False, nice=False, padding=8)),
            y=y_names("model", order),
            yOffset=middle,
            tooltip=tooltips(model="Model", variant="Variant", score="Score"),
            **channels,
        )
    )
    names = {"min": 0.0, "low": 0.25, "median": 0.5, "high": 0.75, "max": 1.0}
    quantiles = {name: moments.quantile(q)[at] for name, q in names.items()}
    box = chart_of_columns(
        model=list(order), **quantiles, default=moments.default[at], part=[_MARKS[1]] * M, height=[0] * M
    )
    band = 40 if M <= 12 else 26
    y: dict[str, Any] = {"y": y_names("model", order), "yOffset": middle}
    tips = tooltips(model="Model", min="Lowest", low="Lower quartile", median="Median", high="Upper quartile")
    tips += tooltips(max="Highest", default="Default prompt")
    layers = [
        box.mark_rule(color=GREY).encode(x=x_channel("min", ""), x2=alt.X2(field="max"), **y),
        box.mark_bar(color=GREY, opacity=0.35, size=0.55 * band).encode(
            x=x_channel("low", ""), x2=alt.X2(field="high"), **y, tooltip=tips
        ),
        box.mark_tick(color=GREY, thickness=3, size=0.55 * band).encode(x=x_channel("median", ""), **y, tooltip=tips),
        points,
    ]
    if has_default:
        mark = box.mark_point(filled=True, size=130, opacity=1)
        layers.append(mark.encode(x=x_channel("default", ""), **y, tooltip=tips, **channels))
    return finish_chart(alt.layer(*layers), height=band * M, legend=_MARKS if has_default else ())


def draw_unparsed(effect: UnparsedEffect, order: Sequence[str]) -> Chart:
    """Draw the share of unparsed answers under each variant against the score under it, for a few models."""
    at = [effect.cube.models.index(model) for model in order]
    S = len(effect.cube.variants)
    share, score = effect.share[at].ravel(), effect.score[at].ravel()
    available = ~np.isnan(share) & ~np.isnan(score)
    return finish_chart(
        chart_of_columns(
            model=np.repeat(np.array(order, dtype=object), S)[available],
            variant=np.tile(np.array(effect.cube.variants, dtype=object), len(at))[available],
            unparsed=share[available],
            score=score[available],
        )
        .mark_point(filled=True, size=60, opacity=0.85)
        .encode(
            x=x_channel("unparsed", "Unread answers under one prompt", **_from_zero(share)),
            y=alt.Y(field="score", type="quantitative", title="Score", scale=alt.Scale(zero=False, padding=8)),
            tooltip=tooltips(model="Model", variant="Variant", unparsed="Unread share", score="Score"),
            **series_channels("model", order),
        ),
        height=280,
        legend=order,
    )


def draw_unparsed_values(values: UnparsedByValue, keys: Sequence[int]) -> Chart:
    """Draw the share of unparsed answers with each value of each dimension: all models, and a tick for each model."""
    names = [values.name(i) for i in keys]
    M = values.shares.shape[0]
    pooled = chart_of_columns(value=names, unparsed=values.pooled[list(keys)], n_variants=values.n_variants[list(keys)])
    x = x_channel("unparsed", "Unread answers with this value", **_from_zero(values.shares[:, list(keys)]))
    shared: dict[str, Any] = {"x": x, "y": y_names("value", names)}
    tips = tooltips(value="Value", unparsed="Unread share", n_variants="Variants")
    layers = [pooled.mark_point(filled=True, size=70, color=BLUE, opacity=1).encode(tooltip=tips, **shared)]
    if M > 1:
        by_model = chart_of_columns(
            value=np.repeat(np.array(names, dtype=object), M),
            model=np.tile(np.array(values.models, dtype=object), len(names)),
            unparsed=values.shares[:, list(keys)].T.ravel(),
        )
        tips = tooltips(value="Value", model="Model", unparsed="Unread share")
        ticks = by_model.mark_tick(color=GREY, thickness=2, height={"band": 0.6})
        layers.insert(0, ticks.encode(tooltip=tips, **shared))
    return finish_chart(alt.layer(*layers), height=22 * len(names))


def _from_zero(shares: FloatArray) -> dict[str, Any]:
    """Return an axis of percentages that starts at 0, with space for a point there."""
    most = max(float(np.nanmax(shares, initial=0)), 0.001)
    scale = alt.Scale(domain=[0, most], nice=False, padding=8)
    return {"axis": alt.Axis(format="~%", tickCount=6), "scale": scale}


def draw_convergence(sizes: SampleSize, moment: str, order: Sequence[str]) -> Chart:
    """Draw the percentile of |moment of n - moment of all| against n for a few models, with n* and epsilon.

    A filled point on a curve marks n*; a hollow point at its end means that n* is not reached.
    """
    row = MOMENTS.index(moment)
    curves = [sizes.convergence(model)[row] for model in order]
    numbers = np.concatenate([np.arange(1, len(curve) + 1) for curve in curves])
    base = chart_of_columns(
        model=np.repeat(np.array(order, dtype=object), [len(curve) for curve in curves]),
        n=numbers,
        deviation=np.concatenate(curves),
    )
    x = x_channel("n", "Prompt variants", axis=count_axis(numbers))
    title = f"|{moment} of n − {moment} of all|"
    # Without a precision Vega takes one from the ticks, and may write .12 as 0.1.
    y = alt.Y(field="deviation", type="quantitative", title=title, axis=alt.Axis(format=".4~g"))
    tips = tooltips(model="Model", n="Variants", deviation="Deviation")
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, tooltip=tips, **series_channels("model", order, dashes=True))
    line = alt.Chart(alt.InlineData(values=[{"epsilon": sizes.epsilon, "text": f"ε = {sizes.epsilon:g}"}]))
    here = alt.Y(field="epsilon", type="quantitative", title=title)
    rule = line.mark_rule(color=GREY, strokeWidth=1.5).encode(y=here)
    # The label is where no curve is: before the first n, unless that is too near.
    is_short = len(sizes.scores[0]) <= 40
    text = line.mark_text(
        align="left" if is_short else "right", baseline="bottom", dx=4 if is_short else -4, dy=-3
    ).encode(x=alt.value(0 if is_short else "width"), y=here, text=alt.Text(field="text", type="nominal"))
    layers = [rule, lines, text]
    rows = {model: sizes.models.index(model) for model in order}
    available = {model: m for model, m in rows.items() if not np.isnan(sizes.n_star[m, row])}
    for reached in (True, False):
        stars = [
            (model, curve, int(sizes.n_star[available[model], row]))
            for model, curve in zip(order, curves, strict=True)
            if model in available and sizes.reached[available[model], row] == reached
        ]
        if stars:
            color = series_channels("model", order, dashes=True)["color"]
            layers.append(_stars(stars, reached=reached).encode(x=x, y=y, tooltip=tips, color=color))
    return finish_chart(alt.layer(*layers), height=260, legend=order)


def _stars(stars: Sequence[tuple[str, FloatArray, int]], *, reached: bool) -> alt.Chart:
    """Return a point on each curve at its n*."""
    at = chart_of_columns(
        model=[model for model, _, _ in stars],
        n=[n for _, _, n in stars],
        deviation=[float(curve[n - 1]) for _, curve, n in stars],
    )
    points: alt.Chart = at.mark_point(filled=reached, size=80, opacity=1, strokeWidth=2)
    return points


def draw_deviation_bands(curves: Mapping[str, tuple[SampleSize, str]], moment: str) -> Chart:
    """Draw the mean deviation of a moment of n variants, its central band, and n* of each curve.

    Parameters
    ----------
    curves
        Results and name of the model of each curve, by the name of the curve.
    moment
        One of `MOMENTS`.
    """
    row, order = MOMENTS.index(moment), list(curves)
    bands = {name: sizes.bands(model)[:, row] for name, (sizes, model) in curves.items()}
    lengths = [band.shape[1] for band in bands.values()]
    mean, low, high = np.concatenate(list(bands.values()), axis=1)
    numbers = np.concatenate([np.arange(1, length + 1) for length in lengths])
    base = chart_of_columns(
        model=np.repeat(np.array(order, dtype=object), lengths),
        n=numbers,
        deviation=mean,
        low=low,
        high=high,
    )
    x = x_channel("n", "Prompt variants", axis=count_axis(numbers))
    title = f"|{moment} of n − {moment} of all|"
    y = alt.Y(field="deviation", type="quantitative", title=title, axis=alt.Axis(format=".4~g"))
    tips = tooltips(model="Curve", n="Variants", deviation="Mean deviation", low="Low", high="High")
    channels = series_channels("model", order, dashes=True)
    area = base.mark_area(opacity=0.18).encode(
        x=x,
        y=alt.Y(field="low", type="quantitative", title=title),
        y2=alt.Y2(field="high"),
        color=channels["color"],
        tooltip=tips,
    )
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, tooltip=tips, **channels)
    layers = [area, lines]
    for reached in (True, False):
        stars = []
        for name, (sizes, model) in curves.items():
            m = sizes.models.index(model)
            n_star = sizes.n_star[m, row]
            if not np.isnan(n_star) and sizes.reached[m, row] == reached:
                stars.append((name, bands[name][0], int(n_star)))
        if stars:
            layers.append(_stars(stars, reached=reached).encode(x=x, y=y, color=channels["color"]))
    chart: Chart = finish_chart(alt.layer(*layers), height=260, legend=order)
    chart.config.legend.symbolOpacity = 1  # and not that of the bands
    return chart


def draw_spreads(summaries: Sequence[VariantSummary], order: Sequence[str]) -> Chart:
    """Draw a box of the scores over the variants for each benchmark and model, a row of boxes per benchmark.

    A box goes from quartile to quartile, its line to the lowest and highest score.
    """
    quantiles = {"min": 0.0, "low": 0.25, "median": 0.5, "high": 0.75, "max": 1.0}
    rows = [
        (place, summary, model)
        for place, summary in enumerate(summaries)
        for model in order
        if model in summary.moments.models and not np.isnan(summary.moments.scores[summary.cube.index(model)]).all()
    ]
    columns: dict[str, Any] = {
        "benchmark": np.array([summary.cube.benchmark for _, summary, _ in rows], dtype=object),
        "model": np.array([model for *_, model in rows], dtype=object),
        "place": np.array([place for place, *_ in rows]),
    }
    for name, q in quantiles.items():
        columns[name] = np.array([summary.moments.quantile(q)[summary.cube.index(model)] for _, summary, model in rows])
    base = alt.Chart(alt.InlineData(values=[{name: round_values(values) for name, values in columns.items()}]))
    y = y_names("model", order)
    tips = tooltips(benchmark="Benchmark", model="Model", min="Lowest", low="Lower quartile", median="Median")
    tips += tooltips(high="Upper quartile", max="Highest")
    title, scale = "Score under one prompt", alt.Scale(zero=False, nice=False, padding=8)
    layers = [
        base.mark_rule(color=GREY).encode(x=x_channel("min", title, scale=scale), x2=alt.X2(field="max"), y=y),
        base.mark_bar(color=BLUE, opacity=0.4, size=12).encode(
            x=x_channel("low", title), x2=alt.X2(field="high"), y=y, tooltip=tips
        ),
        base.mark_tick(color=BLUE, thickness=3, size=14).encode(x=x_channel("median", title), y=y, tooltip=tips),
    ]
    chart = alt.layer(*layers).properties(width=560, height=20 * max(len(order), 1))
    return finish_chart(facet_by_model(chart, columns, field="benchmark"))
