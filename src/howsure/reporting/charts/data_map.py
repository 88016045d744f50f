"""Chart of the data map: consistency of the answers to a question against P(correct)."""

from __future__ import annotations

import altair as alt
import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts.chart_elements import (
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
#: Kinds of points.
KINDS = ("Other question", "Suspect")
#: Squares across and down.
_ACROSS, _DOWN = 40, 30


def is_dense(errors: LabelErrors, *, most: int = MAX_POINTS) -> bool:
    """Return whether there are too many places for one point each."""
    return len(_places(_select_available(errors))[3]) > most


def draw_data_map(errors: LabelErrors, *, most: int = MAX_POINTS) -> Chart:
    """Draw a point for each place on the map, larger with several questions; suspected label errors stand out.

    A click on a point opens the first question there by name (`usermeta.click`).
    """
    available = _select_available(errors)
    places, kind, first, count = _places(available)
    binned = len(count) > most
    selected = kind == 1 if binned else np.ones(len(count), bool)
    low = float(places[:, 1].min(initial=MIN_CONSISTENCY))
    p_range = (min(0.0, float(places[:, 0].min(initial=0))), max(1.0, float(places[:, 0].max(initial=1))))
    x = x_channel("p_correct", "P(correct)", scale=alt.Scale(domain=p_range, nice=False, padding=8))
    y = alt.Y(
        field="consistency",
        type="quantitative",
        title="Consistency (0: always alike)",
        scale=alt.Scale(domain=[low, 0], nice=False, padding=8),
        axis=alt.Axis(tickCount=6),
    )
    corner = chart_of_columns(
        p_correct=[p_range[0]], p_end=[MAX_P_CORRECT], consistency=[MIN_CONSISTENCY], s_end=[0.0]
    ).mark_rect(fill=GREY, fillOpacity=0.14, stroke=GREY, strokeDash=[4, 3])
    points = chart_of_columns(
        question=[available.questions[i] for i in first[selected].tolist()],
        p_correct=places[selected, 0],
        consistency=places[selected, 1],
        part=[KINDS[i] for i in kind[selected].tolist()],
        n_here=count[selected],
    ).mark_point(filled=True, opacity=0.7, cursor="pointer")
    tips = {"question": "Question", "p_correct": "P(correct)", "consistency": "Consistency", "n_here": "Questions here"}
    size = alt.Size(
        field="n_here", type="quantitative", legend=None, scale=alt.Scale(type="sqrt", range=[40, 700], domainMin=1)
    )
    layers: list[alt.Chart] = [corner.encode(x=x, x2="p_end:Q", y=y, y2="s_end:Q")]
    if binned:
        layers.append(
            _density(available.select(~available.suspected), p_range, low).encode(x=x, x2="p_end:Q", y=y, y2="s_end:Q")
        )
    layers.append(points.encode(x=x, y=y, size=size, tooltip=tooltips(**tips), **series_channels("part", KINDS)))
    chart: Chart = finish_chart(alt.layer(*layers), height=380)
    clicked: Chart = chart.properties(usermeta={"click": "question"})
    return clicked


def _select_available(errors: LabelErrors) -> LabelErrors:
    """Return the questions whose place on the map is known."""
    return errors.select(~np.isnan(errors.p_correct) & ~np.isnan(errors.consistency))


def _places(errors: LabelErrors) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the different places, whether they are of suspects, the first question of each, and their counts."""
    kind = errors.suspected.astype(float)
    at = np.column_stack([np.round(errors.p_correct, 4), np.round(errors.consistency, 4), kind])
    by_name = np.argsort(np.array(errors.questions, dtype=object), kind="stable")
    places, first, count = np.unique(at[by_name], axis=0, return_index=True, return_counts=True)
    order = np.argsort(places[:, 2], kind="stable")  # suspects on top
    return places[order, :2] + 0.0, places[order, 2].astype(int), by_name[first[order]], count[order]


def _density(errors: LabelErrors, p_range: tuple[float, float], low: float) -> alt.Chart:
    """Return squares coloured by their number of questions."""
    edges = np.linspace(*p_range, _ACROSS + 1), np.linspace(low, 0, _DOWN + 1)
    counts, _, _ = np.histogram2d(errors.p_correct, errors.consistency, bins=edges)
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
    drawing: alt.Chart = squares.mark_rect(fill=BLUE).encode(
        fillOpacity=colour,
        tooltip=tooltips(p_correct="P(correct) from", consistency="Consistency from", n_here="Questions"),
    )
    return drawing
