"""Spread over prompts: the score under each variant, and the share of answers that could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from howsure.reporting.charts.base import (
    BLUE,
    GREY,
    Chart,
    chart_of_columns,
    finish_chart,
    series_channels,
    tooltips,
    x_channel,
    y_names,
)
from howsure.stats.core.cells import FloatArray
from howsure.stats.prompts import MOMENTS, SampleSize, UnparsedByValue, UnparsedEffect, VariantSummary

#: What a point of `spread` is, as its legend says.
_MARKS = ("one prompt", "default prompt")


def draw_spread(found: VariantSummary, order: Sequence[str]) -> Chart:
    """Score of each model under each variant: points, a box from quartile to quartile, a diamond for the default."""
    moments, variants = found.moments, found.cube.drawn.variants
    at = [moments.models.index(model) for model in order]
    x = moments.scores[at]
    M, S = x.shape
    # Low-discrepancy heights keep the points apart without chance: the golden ratio's multiples.
    height = np.tile((np.arange(S) * 0.6180339887) % 1 - 0.5, M)
    middle = alt.YOffset(field="height", type="quantitative", scale=alt.Scale(domain=[-0.8, 0.8]))
    there = ~np.isnan(x).ravel()
    several = bool(np.any(~np.isnan(moments.default[at])))
    look = series_channels("part", _MARKS) if several else {"color": alt.value(BLUE), "shape": alt.value("circle")}
    points = (
        chart_of_columns(
            model=np.repeat(np.array(order, dtype=object), S)[there],
            variant=np.tile(np.array(variants, dtype=object), M)[there],
            score=x.ravel()[there],
            height=height[there],
        )
        .transform_calculate(part=f"'{_MARKS[0]}'")
        .mark_point(size=22, filled=True, opacity=0.75)
        .encode(
            x=x_channel("score", "Score under one prompt", scale=alt.Scale(zero=False, nice=False, padding=8)),
            y=y_names("model", order),
            yOffset=middle,
            tooltip=tooltips(model="Model", variant="Variant", score="Score"),
            **look,
        )
    )
    names = {"min": 0.0, "low": 0.25, "median": 0.5, "high": 0.75, "max": 1.0}
    quantiles = {name: moments.quantile(q)[at] for name, q in names.items()}
    box = chart_of_columns(
        model=list(order), **quantiles, default=moments.default[at], part=[_MARKS[1]] * M, height=[0] * M
    )
    band = 40 if M <= 12 else 26
    y: dict[str, Any] = {"y": y_names("model", order), "yOffset": middle}
    told = tooltips(model="Model", min="Lowest", low="Lower quartile", median="Median", high="Upper quartile")
    told += tooltips(max="Highest", default="Default prompt")
    layers = [
        box.mark_rule(color=GREY).encode(x=x_channel("min", ""), x2=alt.X2(field="max"), **y),
        box.mark_bar(color=GREY, opacity=0.35, size=0.55 * band).encode(
            x=x_channel("low", ""), x2=alt.X2(field="high"), **y, tooltip=told
        ),
        box.mark_tick(color=GREY, thickness=3, size=0.55 * band).encode(x=x_channel("median", ""), **y, tooltip=told),
        points,
    ]
    if several:
        mark = box.mark_point(filled=True, size=130, opacity=1)
        layers.append(mark.encode(x=x_channel("default", ""), **y, tooltip=told, **look))
    return finish_chart(alt.layer(*layers), height=band * M, legend=_MARKS if several else ())


def draw_unparsed(found: UnparsedEffect, order: Sequence[str]) -> Chart:
    """Share of unread answers under each variant against the score under it, for a few models."""
    at = [found.cube.models.index(model) for model in order]
    S = len(found.cube.variants)
    share, score = found.share[at].ravel(), found.score[at].ravel()
    there = ~np.isnan(share) & ~np.isnan(score)
    return finish_chart(
        chart_of_columns(
            model=np.repeat(np.array(order, dtype=object), S)[there],
            variant=np.tile(np.array(found.cube.variants, dtype=object), len(at))[there],
            unparsed=share[there],
            score=score[there],
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


def draw_unparsed_values(found: UnparsedByValue, keys: Sequence[int]) -> Chart:
    """Share of unread answers with each value of each dimension: all models together, and a tick for each."""
    names = [found.name(i) for i in keys]
    M = found.shares.shape[0]
    whole = chart_of_columns(value=names, unparsed=found.pooled[list(keys)], n_variants=found.n_variants[list(keys)])
    x = x_channel("unparsed", "Unread answers with this value", **_from_zero(found.shares[:, list(keys)]))
    shared: dict[str, Any] = {"x": x, "y": y_names("value", names)}
    told = tooltips(value="Value", unparsed="Unread share", n_variants="Variants")
    layers = [whole.mark_point(filled=True, size=70, color=BLUE, opacity=1).encode(tooltip=told, **shared)]
    if M > 1:
        each = chart_of_columns(
            value=np.repeat(np.array(names, dtype=object), M),
            model=np.tile(np.array(found.models, dtype=object), len(names)),
            unparsed=found.shares[:, list(keys)].T.ravel(),
        )
        told = tooltips(value="Value", model="Model", unparsed="Unread share")
        ticks = each.mark_tick(color=GREY, thickness=2, height={"band": 0.6})
        layers.insert(0, ticks.encode(tooltip=told, **shared))
    return finish_chart(alt.layer(*layers), height=22 * len(names))


def _from_zero(shares: FloatArray) -> dict[str, Any]:
    """An axis of percentages from 0, with room for a point there."""
    most = max(float(np.nanmax(shares, initial=0)), 0.001)
    scale = alt.Scale(domain=[0, most], nice=False, padding=8)
    return {"axis": alt.Axis(format="~%", tickCount=6), "scale": scale}


def draw_convergence(found: SampleSize, moment: str, order: Sequence[str]) -> Chart:
    """Percentile of |moment of n - moment of N| against n for a few models, n* of each, and a line at epsilon.

    A point on a curve is its n*; a hollow one at its end says that n* is not reached.
    """
    row = MOMENTS.index(moment)
    curves = [found.convergence(model)[row] for model in order]
    base = chart_of_columns(
        model=np.repeat(np.array(order, dtype=object), [len(curve) for curve in curves]),
        n=np.concatenate([np.arange(1, len(curve) + 1) for curve in curves]),
        deviation=np.concatenate(curves),
    )
    x = x_channel("n", "Prompt variants", axis=alt.Axis(tickMinStep=1, tickCount=7, format="d"))
    title = f"|{moment} of n − {moment} of all|"
    # Without a precision Vega takes one from the ticks, and may write .12 as 0.1.
    y = alt.Y(field="deviation", type="quantitative", title=title, axis=alt.Axis(format=".4~g"))
    told = tooltips(model="Model", n="Variants", deviation="Deviation")
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, tooltip=told, **series_channels("model", order, dashes=True))
    line = alt.Chart(alt.InlineData(values=[{"epsilon": found.epsilon, "told": f"ε = {found.epsilon:g}"}]))
    here = alt.Y(field="epsilon", type="quantitative", title=title)
    rule = line.mark_rule(color=GREY, strokeWidth=1.5).encode(y=here)
    # where the curves are not: before the first n, unless that is too near
    left = len(found.scores[0]) <= 40
    text = line.mark_text(
        align="left" if left else "right", baseline="bottom", dx=4 if left else -4, dy=-3, fontSize=12
    ).encode(x=alt.value(0 if left else "width"), y=here, text=alt.Text(field="told", type="nominal"))
    layers = [rule, lines, text]
    rows = {model: found.models.index(model) for model in order}
    known = {model: m for model, m in rows.items() if not np.isnan(found.n_star[m, row])}
    for reached in (True, False):
        stars = [
            (model, curve, int(found.n_star[known[model], row]))
            for model, curve in zip(order, curves, strict=True)
            if model in known and found.reached[known[model], row] == reached
        ]
        if stars:
            look = {"color": series_channels("model", order, dashes=True)["color"]}
            layers.append(_stars(stars, reached=reached).encode(x=x, y=y, tooltip=told, **look))
    return finish_chart(alt.layer(*layers), height=260, legend=order)


def _stars(stars: Sequence[tuple[str, FloatArray, int]], *, reached: bool) -> alt.Chart:
    """A point on each curve at its n*."""
    at = chart_of_columns(
        model=[model for model, _, _ in stars],
        n=[n for _, _, n in stars],
        deviation=[float(curve[n - 1]) for _, curve, n in stars],
    )
    points: alt.Chart = at.mark_point(filled=reached, size=80, opacity=1, strokeWidth=2)
    return points
