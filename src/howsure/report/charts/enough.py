"""How many prompt variants are enough: how fast a moment over some of them comes near that over all."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np

from howsure.report.charts.base import GREY, Chart, along, finish, flat, looks, tooltip
from howsure.stats.core.cells import FloatArray
from howsure.stats.prompts import MOMENTS, SampleSize

__all__ = ["convergence"]


def convergence(found: SampleSize, moment: str, order: Sequence[str]) -> Chart:
    """Percentile of |moment of n - moment of N| against n for a few models, n* of each, and a line at epsilon.

    A point on a curve is its n*; a hollow one at its end says that n* is not reached.
    """
    row = MOMENTS.index(moment)
    curves = [found.convergence(model)[row] for model in order]
    base = flat(
        model=np.repeat(np.array(order, dtype=object), [len(curve) for curve in curves]),
        n=np.concatenate([np.arange(1, len(curve) + 1) for curve in curves]),
        deviation=np.concatenate(curves),
    )
    x = along("n", "Prompt variants", axis=alt.Axis(tickMinStep=1, tickCount=7, format="d"))
    title = f"|{moment} of n − {moment} of all|"
    # Without a precision Vega takes one from the ticks, and may write .12 as 0.1.
    y = alt.Y(field="deviation", type="quantitative", title=title, axis=alt.Axis(format=".4~g"))
    told = tooltip(model="Model", n="Variants", deviation="Deviation")
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, tooltip=told, **looks("model", order, dashes=True))
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
            look = {"color": looks("model", order, dashes=True)["color"]}
            layers.append(_stars(stars, reached=reached).encode(x=x, y=y, tooltip=told, **look))
    return finish(alt.layer(*layers), height=260, legend=order)


def _stars(stars: Sequence[tuple[str, FloatArray, int]], *, reached: bool) -> alt.Chart:
    """A point on each curve at its n*."""
    at = flat(
        model=[model for model, _, _ in stars],
        n=[n for _, _, n in stars],
        deviation=[float(curve[n - 1]) for _, curve, n in stars],
    )
    points: alt.Chart = at.mark_point(filled=reached, size=80, opacity=1, strokeWidth=2)
    return points
