"""Where the noise comes from: data and prediction, the four components, and the values of each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

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
    y_names,
)
from howsure.stats.prompts import COMPONENTS, MIN_VARIANTS, Effects, PromptComponents
from howsure.stats.scores import Scores


def draw_noise_parts(scores: Scores, order: Sequence[str]) -> Chart:
    """Data and prediction variance of each model, stacked: they add up to the variance of a single run."""
    at = [scores.models.index(m) for m in order]
    known = ~np.isnan(scores.prediction[at])
    parts = {
        "data": np.where(known, np.maximum(scores.data[at], 0), np.nan),
        "prediction": np.where(known, scores.prediction[at], np.nan),
        "both together": np.where(known, np.nan, scores.total[at]),
    }
    shown = [(name, values) for name, values in parts.items() if not np.all(np.isnan(values))]
    colours = dict(zip(parts, (BLUE, ORANGE, GREY), strict=True))
    base = chart_of_columns(
        model=list(order) * len(shown),
        part=[name for name, _ in shown for _ in order],
        place=[i for i in range(len(shown)) for _ in order],
        variance=np.concatenate([np.zeros(0), *(values for _, values in shown)]),
    )
    bars = base.mark_bar(height={"band": 0.8}).encode(
        x=x_channel("variance", "Variance per question", stack="zero"),
        y=y_names("model", order),
        order=alt.Order(field="place", type="ordinal"),
        color=alt.Color(
            field="part",
            type="nominal",
            title=None,
            scale=alt.Scale(domain=[name for name, _ in shown], range=[colours[name] for name, _ in shown]),
            legend=alt.Legend(orient="top"),
        ),
        tooltip=tooltips(model="Model", part="Noise", variance="Variance"),
    )
    return finish_chart(bars, height=20 * len(order))


#: Components in the words of the page.
_PARTS = {
    "question": "question",
    "variant": "prompt",
    "interaction": "question × prompt",
    "generation": "generation",
}


def draw_variance_components(found: PromptComponents, order: Sequence[str]) -> Chart:
    """Components of the variance with their intervals, on a scale where distance from 0 is a standard deviation."""
    at = [found.layout.names.index(model) for model in order]
    known = found.layout.split[at]
    limits = {name: found.limits(name) for name in COMPONENTS}
    nothing = np.full(len(at), np.nan)
    both = "prompt and generation" if found.layout.nested else "question × prompt and generation"
    rows = [(_PARTS[name], getattr(found, name)[at], *(end[at] for end in limits[name])) for name in COMPONENTS]
    rows.append((both, np.where(known, np.nan, found.residual[at]), nothing, nothing))
    rows = [row for row in rows if not np.all(np.isnan(row[1]))]
    value, low, high = (np.concatenate([np.zeros(0), *(row[i] for row in rows)]) for i in (1, 2, 3))
    parts = [row[0] for row in rows]
    base = chart_of_columns(
        model=list(order) * len(rows),
        component=np.repeat(np.array(parts, dtype=object), len(order)),
        place=np.repeat(np.arange(len(rows)), len(order)),
        variance=value,
        drawn=np.maximum(value, 0),
        low=low,
        high=high,
    )
    shared: dict[str, Any] = {
        "y": y_names("model", order),
        "yOffset": _dodge(len(rows)),
        "tooltip": tooltips(model="Model", component="Component", variance="Variance", low="Low", high="High"),
    }
    look = series_channels("component", parts)
    # No wider than twice the largest estimate: one interval from few variants would hide all others.
    widest = max(2 * float(np.nanmax(value, initial=0)), 1e-12)
    widest = min(widest, max(float(np.nanmax(high, initial=0)), float(np.nanmax(value, initial=0)) * 1.05, 1e-12))
    scale = alt.Scale(type="sqrt", domain=[0, widest], nice=False)
    bars = base.mark_rule(strokeWidth=2, clip=True).encode(
        x=x_channel("low", "Variance", scale=scale), x2=alt.X2(field="high"), color=look["color"], **shared
    )
    points = base.mark_point(filled=True, size=55, opacity=1).encode(x=x_channel("drawn", ""), **look, **shared)
    return finish_chart(alt.layer(bars, points), height=len(order) * (8 + 10 * len(rows)), legend=parts)


def draw_effects(found: Effects, dimension: str, order: Sequence[str], values: Sequence[str], *, reach: float) -> Chart:
    """Effects of the values of one dimension on a few models, from the value that helps most to the one that hurts.

    Parameters
    ----------
    reach
        The scale goes from -reach to reach, the same for all dimensions; intervals beyond it are cut.
    """
    between = found.interval()
    at = np.flatnonzero([of == dimension for of in found.dimensions])
    rows = np.repeat([found.models.index(model) for model in order], len(at))
    columns = np.tile(at, len(order))
    times = found.n_variants[rows, columns]
    base = chart_of_columns(
        model=[found.models[m] for m in rows],
        place=np.repeat(np.arange(len(order)), len(at)),
        value=[found.values[i] for i in columns],
        effect=found.effect[rows, columns],
        low=between.low[rows, columns],
        high=between.high[rows, columns],
        n_variants=times,
        told=np.where(times < MIN_VARIANTS, f"drawn fewer than {MIN_VARIANTS} times", "enough").tolist(),
    )
    shared: dict[str, Any] = {
        "y": y_names("value", values),
        "yOffset": _dodge(len(order)),
        "tooltip": tooltips(
            model="Model", value="Value", effect="Effect", low="Low", high="High", n_variants="Variants", told="Draws"
        ),
    }
    look, scale = series_channels("model", order), alt.Scale(domain=[-reach, reach], nice=False)
    title = "Effect on the score"
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=GREY).encode(x=x_channel("zero", title))
    bars = base.mark_rule(strokeWidth=2, clip=True).encode(
        x=x_channel("low", title, scale=scale), x2=alt.X2(field="high"), color=look["color"], **shared
    )
    points = [
        base.transform_filter(alt.FieldOneOfPredicate(field="told", oneOf=[word]))
        .mark_point(filled=filled, size=55, opacity=1, clip=True)
        .encode(x=x_channel("effect", ""), **look, **shared)
        for word, filled in (("enough", True), (f"drawn fewer than {MIN_VARIANTS} times", False))
    ]
    return finish_chart(alt.layer(zero, bars, *points), height=len(values) * (10 + 10 * len(order)), legend=order)


def _dodge(count: int) -> alt.YOffset:
    """Places 0, 1, ... below each other within a row."""
    scale = alt.Scale(domain=list(range(count)))
    return alt.YOffset(field="place", type="ordinal", scale=scale)
