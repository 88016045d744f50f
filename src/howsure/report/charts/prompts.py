"""Spread over prompts: the score under each variant, and the share of answers that could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from howsure.report.charts.base import BLUE, GREY, Chart, along, down, finish, flat, looks, tooltip
from howsure.stats.core.cells import FloatArray
from howsure.stats.prompts import UnparsedByValue, UnparsedEffect, VariantSummary

__all__ = ["spread", "unparsed", "unparsed_values"]


#: What a point of `spread` is, as its legend says.
_MARKS = ("one prompt", "default prompt")


def spread(found: VariantSummary, order: Sequence[str]) -> Chart:
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
    look = looks("part", _MARKS) if several else {"color": alt.value(BLUE), "shape": alt.value("circle")}
    points = (
        flat(
            model=np.repeat(np.array(order, dtype=object), S)[there],
            variant=np.tile(np.array(variants, dtype=object), M)[there],
            score=x.ravel()[there],
            height=height[there],
        )
        .transform_calculate(part=f"'{_MARKS[0]}'")
        .mark_point(size=22, filled=True, opacity=0.75)
        .encode(
            x=along("score", "Score under one prompt", scale=alt.Scale(zero=False, nice=False, padding=8)),
            y=down("model", order),
            yOffset=middle,
            tooltip=tooltip(model="Model", variant="Variant", score="Score"),
            **look,
        )
    )
    names = {"min": 0.0, "low": 0.25, "median": 0.5, "high": 0.75, "max": 1.0}
    quantiles = {name: moments.quantile(q)[at] for name, q in names.items()}
    box = flat(model=list(order), **quantiles, default=moments.default[at], part=[_MARKS[1]] * M, height=[0] * M)
    band = 40 if M <= 12 else 26
    y: dict[str, Any] = {"y": down("model", order), "yOffset": middle}
    told = tooltip(model="Model", min="Lowest", low="Lower quartile", median="Median", high="Upper quartile")
    told += tooltip(max="Highest", default="Default prompt")
    layers = [
        box.mark_rule(color=GREY).encode(x=along("min", ""), x2=alt.X2(field="max"), **y),
        box.mark_bar(color=GREY, opacity=0.35, size=0.55 * band).encode(
            x=along("low", ""), x2=alt.X2(field="high"), **y, tooltip=told
        ),
        box.mark_tick(color=GREY, thickness=3, size=0.55 * band).encode(x=along("median", ""), **y, tooltip=told),
        points,
    ]
    if several:
        mark = box.mark_point(filled=True, size=130, opacity=1)
        layers.append(mark.encode(x=along("default", ""), **y, tooltip=told, **look))
    return finish(alt.layer(*layers), height=band * M, legend=_MARKS if several else ())


def unparsed(found: UnparsedEffect, order: Sequence[str]) -> Chart:
    """Share of unread answers under each variant against the score under it, for a few models."""
    at = [found.cube.models.index(model) for model in order]
    S = len(found.cube.variants)
    share, score = found.share[at].ravel(), found.score[at].ravel()
    there = ~np.isnan(share) & ~np.isnan(score)
    return finish(
        flat(
            model=np.repeat(np.array(order, dtype=object), S)[there],
            variant=np.tile(np.array(found.cube.variants, dtype=object), len(at))[there],
            unparsed=share[there],
            score=score[there],
        )
        .mark_point(filled=True, size=60, opacity=0.85)
        .encode(
            x=along("unparsed", "Unread answers under one prompt", **_from_zero(share)),
            y=alt.Y(field="score", type="quantitative", title="Score", scale=alt.Scale(zero=False, padding=8)),
            tooltip=tooltip(model="Model", variant="Variant", unparsed="Unread share", score="Score"),
            **looks("model", order),
        ),
        height=280,
        legend=order,
    )


def unparsed_values(found: UnparsedByValue, keys: Sequence[int]) -> Chart:
    """Share of unread answers with each value of each dimension: all models together, and a tick for each."""
    names = [found.name(i) for i in keys]
    M = found.shares.shape[0]
    whole = flat(value=names, unparsed=found.pooled[list(keys)], n_variants=found.times[list(keys)])
    x = along("unparsed", "Unread answers with this value", **_from_zero(found.shares[:, list(keys)]))
    shared: dict[str, Any] = {"x": x, "y": down("value", names)}
    told = tooltip(value="Value", unparsed="Unread share", n_variants="Variants")
    layers = [whole.mark_point(filled=True, size=70, color=BLUE, opacity=1).encode(tooltip=told, **shared)]
    if M > 1:
        each = flat(
            value=np.repeat(np.array(names, dtype=object), M),
            model=np.tile(np.array(found.models, dtype=object), len(names)),
            unparsed=found.shares[:, list(keys)].T.ravel(),
        )
        told = tooltip(value="Value", model="Model", unparsed="Unread share")
        ticks = each.mark_tick(color=GREY, thickness=2, height={"band": 0.6})
        layers.insert(0, ticks.encode(tooltip=told, **shared))
    return finish(alt.layer(*layers), height=22 * len(names))


def _from_zero(shares: FloatArray) -> dict[str, Any]:
    """An axis of percentages from 0, with room for a point there."""
    most = max(float(np.nanmax(shares, initial=0)), 0.001)
    scale = alt.Scale(domain=[0, most], nice=False, padding=8)
    return {"axis": alt.Axis(format="~%", tickCount=6), "scale": scale}
