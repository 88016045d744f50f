"""The data map: how often a question is answered right against whether it is answered alike."""

from __future__ import annotations

import altair as alt
import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts.base import (
    BLUE,
    GREY,
    Chart,
    chart_of_columns,
    finish_chart,
    series_channels,
    tooltips,
    x_channel,
)
from howsure.stats.questions import MAX_P_CORRECT, MIN_CONSISTENCY, LabelErrors

#: Points up to which each is drawn; above, squares that are coloured by how many questions they hold.
MAX_POINTS = 5_000
#: What a point is.
KINDS = ("Other question", "Suspect")
#: Squares across and down.
_ACROSS, _DOWN = 40, 30


def is_dense(found: LabelErrors, *, most: int = MAX_POINTS) -> bool:
    """Whether there are too many places for points."""
    return len(_places(_known(found))[3]) > most


def draw_data_map(found: LabelErrors, *, most: int = MAX_POINTS) -> Chart:
    """A point for each place on the map, larger where several questions lie there; suspects stand out.

    A click on a point opens its question, the first of them by name (`usermeta.click`).
    """
    drawn = _known(found)
    places, kind, first, count = _places(drawn)
    dense = len(count) > most
    shown = kind == 1 if dense else np.ones(len(count), bool)
    low = float(places[:, 1].min(initial=MIN_CONSISTENCY))
    right = (min(0.0, float(places[:, 0].min(initial=0))), max(1.0, float(places[:, 0].max(initial=1))))
    x = x_channel("p_correct", "P(correct)", scale=alt.Scale(domain=right, nice=False, padding=8))
    y = alt.Y(
        field="consistency",
        type="quantitative",
        title="Consistency (0: always alike)",
        scale=alt.Scale(domain=[low, 0], nice=False, padding=8),
        axis=alt.Axis(tickCount=6),
    )
    corner = chart_of_columns(
        p_correct=[right[0]], p_end=[MAX_P_CORRECT], consistency=[MIN_CONSISTENCY], s_end=[0.0]
    ).mark_rect(fill=GREY, fillOpacity=0.14, stroke=GREY, strokeDash=[4, 3])
    points = chart_of_columns(
        question=[drawn.questions[i] for i in first[shown].tolist()],
        p_correct=places[shown, 0],
        consistency=places[shown, 1],
        part=[KINDS[i] for i in kind[shown].tolist()],
        n_here=count[shown],
    ).mark_point(filled=True, opacity=0.7, cursor="pointer")
    told = {"question": "Question", "p_correct": "P(correct)", "consistency": "Consistency", "n_here": "Questions here"}
    size = alt.Size(
        field="n_here", type="quantitative", legend=None, scale=alt.Scale(type="sqrt", range=[40, 700], domainMin=1)
    )
    layers: list[alt.Chart] = [corner.encode(x=x, x2="p_end:Q", y=y, y2="s_end:Q")]
    if dense:
        layers.append(_density(drawn.select(~drawn.suspected), right, low).encode(x=x, x2="p_end:Q", y=y, y2="s_end:Q"))
    layers.append(points.encode(x=x, y=y, size=size, tooltip=tooltips(**told), **series_channels("part", KINDS)))
    made: Chart = finish_chart(alt.layer(*layers), height=380)
    clicked: Chart = made.properties(usermeta={"click": "question"})
    return clicked


def _known(found: LabelErrors) -> LabelErrors:
    return found.select(~np.isnan(found.p_correct) & ~np.isnan(found.consistency))


def _places(found: LabelErrors) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Different places of suspects and of others, whether of suspects, the first question there, and how many."""
    kind = found.suspected.astype(float)
    at = np.column_stack([np.round(found.p_correct, 4), np.round(found.consistency, 4), kind])
    by_name = np.argsort(np.array(found.questions, dtype=object), kind="stable")
    places, first, count = np.unique(at[by_name], axis=0, return_index=True, return_counts=True)
    order = np.argsort(places[:, 2], kind="stable")  # suspects on top
    return places[order, :2] + 0.0, places[order, 2].astype(int), by_name[first[order]], count[order]


def _density(found: LabelErrors, right: tuple[float, float], low: float) -> alt.Chart:
    """Squares with their numbers of questions."""
    edges = np.linspace(*right, _ACROSS + 1), np.linspace(low, 0, _DOWN + 1)
    counts, _, _ = np.histogram2d(found.p_correct, found.consistency, bins=edges)
    i, j = np.nonzero(counts)
    squares = chart_of_columns(
        p_correct=edges[0][i],
        p_end=edges[0][i + 1],
        consistency=edges[1][j],
        s_end=edges[1][j + 1],
        n_here=counts[i, j],
    )
    colour = alt.FillOpacity(
        field="n_here", type="quantitative", legend=None, scale=alt.Scale(type="log", range=[0.15, 1])
    )
    made: alt.Chart = squares.mark_rect(fill=BLUE).encode(
        fillOpacity=colour,
        tooltip=tooltips(p_correct="P(correct) from", consistency="Consistency from", n_here="Questions"),
    )
    return made
