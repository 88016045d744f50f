"""One function per figure: results in, an Altair chart out. Figures only draw; statistics come from `stats`.

Each chart carries one datum whose fields are columns, flattened by the chart itself: an array of rows would repeat
every field name in every row. Names of models and questions are values in it, never part of an expression.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from errorbar.stats.beta import expected_error, independent_error
from errorbar.stats.cells import Cells, FloatArray
from errorbar.stats.components import Scores
from errorbar.stats.pairs import Pairs

__all__ = [
    "LEVELS",
    "MARKS",
    "components",
    "difficulty",
    "digits",
    "distributions",
    "forest",
    "matrix",
    "pair_errors",
    "question_bins",
]

#: Okabe and Ito's colours, which no common colour blindness confuses; blue and orange also differ in lightness.
BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#8a8f98"

#: The most marks that a figure draws.
MARKS = 50_000

#: A heatmap cell is one character: 21 levels, 0 to 20; "-" where there is no score.
LEVELS = "0123456789ABCDEFGHIJK"

Chart = alt.Chart | alt.LayerChart | alt.FacetChart


def _columns(**columns: Sequence[Any] | NDArray[Any]) -> alt.Chart:
    """A chart on equally long columns; NaN becomes null."""
    lists = {name: _plain(values) for name, values in columns.items()}
    return alt.Chart(alt.InlineData(values=[lists])).transform_flatten(list(lists))


def _plain(values: Sequence[Any] | NDArray[Any]) -> list[Any]:
    """Numbers at 7 significant digits, which no pixel and no reader of a figure's table can tell from the double."""
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [(float(f"{v:.7g}") if math.isfinite(v) else None) if isinstance(v, float) else v for v in listed]


def _x(field: str, title: str, **more: Any) -> alt.X:
    return alt.X(field=field, type="quantitative", title=title, **{"axis": alt.Axis(tickCount=7), **more})


def _names(field: str, order: Sequence[str], **more: Any) -> alt.Y:
    """Models from top to bottom. A domain, not a sort: a sort would write the names into an expression."""
    return alt.Y(
        field=field,
        type="nominal",
        title=None,
        scale=alt.Scale(domain=list(order), paddingInner=0.25),
        axis=alt.Axis(domain=False, ticks=False, grid=False),
        **more,
    )


def _tooltip(**titles: str) -> list[alt.Tooltip]:
    text = {"model", "row", "column", "verdict", "model_a", "model_b", "part", "told"}
    return [
        alt.Tooltip(field=field, type="nominal", title=title)
        if field in text
        else alt.Tooltip(field=field, type="quantitative", title=title, format=".4~f")
        for field, title in titles.items()
    ]


def _finish(chart: Chart, *, description: str, height: float = 0) -> Chart:
    chart = chart.properties(description=description)
    if not isinstance(chart, alt.FacetChart):
        # A height in pixels, not a step: a step makes Vega-Lite complain about fitting the width alone.
        fit = alt.AutoSizeParams(type="fit-x", contains="padding")
        chart = chart.properties(width="container", height=height, autosize=fit)
    quiet = {"domainColor": GREY, "tickColor": GREY, "gridColor": GREY, "gridOpacity": 0.25, "titleFontWeight": 500}
    finished: Chart = (
        chart.configure(background="transparent", font="system-ui, sans-serif")
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12, **quiet)
        .configure_legend(
            orient="top",
            title=None,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight=500,
            labelLimit=0,
            titleLimit=0,
        )
        .configure_header(labelFontSize=12)
    )
    return finished


def forest(pairs: Pairs, reference: str, order: Sequence[str], *, verdicts: Sequence[str], description: str) -> Chart:
    """Differences of the models in `order` to the reference, with their intervals.

    Parameters
    ----------
    verdicts
        One per row of `pairs`: `"distinguishable"`, `"not distinguishable"` or `"not testable"`.
    """
    between, at = pairs.interval(), pairs.models.index(reference)
    place = {pairs.models.index(m): i for i, m in enumerate(order)}
    rows = [i for i, (a, b) in enumerate(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)) if at in {a, b}]
    other = {i: int(pairs.b[i] if pairs.a[i] == at else pairs.a[i]) for i in rows}
    rows = sorted((i for i in rows if other[i] in place), key=lambda i: place[other[i]])
    # Rows are a - b with a < b; here every row is model - reference.
    sign = np.array([-1.0 if pairs.a[i] == at else 1.0 for i in rows])
    one, two = sign * between.low[rows], sign * between.high[rows]
    base = _columns(
        model=[pairs.models[other[i]] for i in rows],
        difference=sign * pairs.difference[rows],
        low=np.minimum(one, two),
        high=np.maximum(one, two),
        n_questions=pairs.n_questions[rows],
        p_holm=pairs.p_holm[rows],
        verdict=[verdicts[i] for i in rows],
    )
    y = _names("model", [pairs.models[other[i]] for i in rows])
    told = _tooltip(
        model="Model",
        difference="Difference",
        low="Low",
        high="High",
        n_questions="Common questions",
        p_holm="p, Holm",
        verdict="Verdict",
    )
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=GREY).encode(x=_x("zero", ""))
    bars = base.mark_rule(color=BLUE, strokeWidth=2).encode(
        x=_x("low", f"Difference in score from {_short(reference)}"), x2=alt.X2(field="high"), y=y, tooltip=told
    )
    points = base.mark_point(size=60, color=BLUE, strokeWidth=2, opacity=1).encode(
        x=_x("difference", ""),
        y=y,
        fill=alt.Fill(field="verdict", type="nominal", scale=_verdict_scale(BLUE, "transparent", "transparent")),
        stroke=alt.Stroke(field="verdict", type="nominal", scale=_verdict_scale(BLUE, BLUE, BLUE)),
        shape=alt.Shape(field="verdict", type="nominal", scale=_verdict_scale("circle", "circle", "cross")),
        tooltip=told,
    )
    return _finish(alt.layer(zero, bars, points), description=description, height=20 * max(len(rows), 1))


def _verdict_scale(*looks: str) -> alt.Scale:
    return alt.Scale(domain=["distinguishable", "not distinguishable", "not testable"], range=list(looks))


def _short(name: str, most: int = 32) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def matrix(pairs: Pairs, order: Sequence[str], *, verdicts: Sequence[str], description: str) -> Chart:
    """Row minus column for every two of the models in `order`: coloured where distinguishable, else a grey dot."""
    place = {pairs.models.index(m): i for i, m in enumerate(order)}
    kept = [
        (i, a, b)
        for i, (a, b) in enumerate(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
        if a in place and b in place
    ]
    rows = [i for i, _, _ in kept] * 2
    names = pairs.models
    base = _columns(
        row=[names[a] for _, a, _ in kept] + [names[b] for _, _, b in kept],
        column=[names[b] for _, _, b in kept] + [names[a] for _, a, _ in kept],
        difference=np.concatenate([pairs.difference[[i for i, _, _ in kept]] * s for s in (1, -1)]),
        p_holm=pairs.p_holm[rows],
        verdict=[verdicts[i] for i in rows],
    )
    # Names in an axis of columns take more room than the cells: the rows carry them, the columns are in their order.
    x = alt.X(
        field="column",
        type="nominal",
        title="the same models, in the order of the rows",
        scale=alt.Scale(domain=list(order), paddingInner=0.06),
        axis=alt.Axis(labels=False, ticks=False, domain=False, orient="top"),
    )
    y = _names("row", order)
    told = _tooltip(row="Row", column="Column", difference="Row − column", p_holm="p, Holm", verdict="Verdict")
    sure = alt.FieldOneOfPredicate(field="verdict", oneOf=["distinguishable"])
    rest = alt.FieldOneOfPredicate(field="verdict", oneOf=["not distinguishable", "not testable"])
    most = float(np.nanmax(np.abs(pairs.difference), initial=0)) or 1.0
    cells = (
        base.transform_filter(sure)
        .mark_rect()
        .encode(
            x=x,
            y=y,
            tooltip=told,
            color=alt.Color(
                field="difference",
                type="quantitative",
                title="row − column, where distinguishable",
                scale=alt.Scale(
                    domain=[most, 0.02 * most, 0, -0.02 * most, -most],
                    range=["#084a91", "#93c4e6", "#d5d5d5", "#f5bd75", "#a04a00"],
                ),
                legend=alt.Legend(orient="bottom", gradientLength=240, format="+.2~f"),
            ),
        )
    )
    dots = (
        base.transform_filter(rest)
        .mark_point(filled=True, size=10, color=GREY, opacity=1)
        .encode(x=x, y=y, tooltip=told)
    )
    # Square cells for few models, too: the page keeps the drawing this narrow.
    chart = alt.layer(cells, dots).properties(usermeta={"widest": 280 + 26 * len(order)})
    return _finish(chart, description=description, height=20 * len(order))


def pair_errors(pairs: Pairs, *, binary: bool, every: int = 1, description: str) -> Chart:
    """Standard error of each difference (one generation per question) against the pair's mean score.

    For scores of 0 and 1 with two curves: sqrt(p(1-p)/N), when difficulty is Beta(p, 1-p) and shared by both models,
    and sqrt(2p(1-p)/N), when predictions are independent; N is the median number of common questions.
    """
    some = slice(None, None, every)
    base = _columns(
        model_a=[pairs.models[a] for a in pairs.a[some]],
        model_b=[pairs.models[b] for b in pairs.b[some]],
        score=((pairs.score_a + pairs.score_b) / 2)[some],
        se_total=np.sqrt(pairs.total / np.where(pairs.n_questions > 0, pairs.n_questions, np.nan))[some],
    )
    few = len(pairs.a) < 300
    points = base.mark_circle(size=40 if few else 18, color=BLUE, opacity=0.9 if few else 0.45).encode(
        x=_x("score", "Mean score of the two models", scale=alt.Scale(zero=False)),
        y=alt.Y(field="se_total", type="quantitative", title="Standard error of the difference"),
        tooltip=_tooltip(model_a="Model", model_b="Model, other", score="Mean score", se_total="Standard error"),
    )
    if not binary:
        return _finish(points, description=description, height=320)
    p = np.linspace(0, 1, 101)
    common = pairs.n_questions[pairs.n_questions > 0]
    N = np.median(common) if len(common) else np.nan
    errors = np.concatenate([expected_error(p, N), independent_error(p, N)])
    names = ["Beta difficulty, shared", "independent"]
    lines = (
        _columns(p=np.tile(p, 2), se=errors, curve=np.repeat(names, len(p)))
        .mark_line(strokeWidth=2)
        .encode(
            x=_x("p", ""),
            y=alt.Y(field="se", type="quantitative"),
            color=alt.Color(
                field="curve",
                type="nominal",
                title=None,
                scale=alt.Scale(domain=names, range=[ORANGE, GREY]),
                legend=alt.Legend(orient="top", symbolType="stroke"),
            ),
            strokeDash=alt.StrokeDash(
                field="curve",
                type="nominal",
                title=None,
                scale=alt.Scale(domain=names, range=[[1, 0], [6, 4]]),
                legend=alt.Legend(orient="top"),
            ),
        )
    )
    return _finish(alt.layer(points, lines), description=description, height=320)


def components(scores: Scores, order: Sequence[str], *, description: str) -> Chart:
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
    base = _columns(
        model=list(order) * len(shown),
        part=[name for name, _ in shown for _ in order],
        place=[i for i in range(len(shown)) for _ in order],
        variance=np.concatenate([np.zeros(0), *(values for _, values in shown)]),
    )
    bars = base.mark_bar(height={"band": 0.8}).encode(
        x=_x("variance", "Variance per question", stack="zero"),
        y=_names("model", order),
        order=alt.Order(field="place", type="ordinal"),
        color=alt.Color(
            field="part",
            type="nominal",
            title=None,
            scale=alt.Scale(domain=[name for name, _ in shown], range=[colours[name] for name, _ in shown]),
            legend=alt.Legend(orient="top"),
        ),
        tooltip=_tooltip(model="Model", part="Noise", variance="Variance"),
    )
    return _finish(bars, description=description, height=20 * len(order))


def question_bins(difficulty: FloatArray, n_models: int, *, most: int = MARKS) -> NDArray[np.int64]:
    """Bin of each question, hardest first: one each, or quantiles of difficulty when the cells would be too many.

    Parameters
    ----------
    difficulty
        Mean score of each question over the models, shape (N,); NaN where nobody answered, and that bin is -1.

    >>> question_bins(np.array([0.9, 0.1, 0.5, np.nan]), 2).tolist()
    [2, 0, 1, -1]
    >>> question_bins(np.array([0.9, 0.1, 0.5, 0.4]), 2, most=4).tolist()
    [1, 0, 1, 0]
    """
    known = np.flatnonzero(~np.isnan(difficulty))
    bins = np.full(len(difficulty), -1)
    count = min(len(known), max(most // n_models, 1))
    bins[known[np.argsort(difficulty[known], kind="stable")]] = np.arange(len(known)) * count // max(len(known), 1)
    return bins


def digits(means: FloatArray, low: float, high: float) -> list[str]:
    """Each row of means, shape (M, B), as a string of `LEVELS`; `low` and `high` are the first and the last level.

    >>> digits(np.array([[0.0, 0.5, 1.0, np.nan]]), 0, 1)
    ['0AK-']
    """
    level = np.floor((means - low) / ((high - low) or 1) * (len(LEVELS) - 1) + 0.5)
    letters = np.array([*LEVELS, "-"])
    return ["".join(row) for row in letters[np.where(np.isnan(level), -1, level).astype(int)]]


def difficulty(cells: Cells, order: Sequence[str], *, description: str) -> Chart:
    """Mean score of every model on every question, models by skill and questions from hard to easy."""
    rows = [cells.index(m) for m in order]
    p, answered = cells.mean[rows], cells.answered[rows]
    count = answered.sum(axis=0)
    bins = question_bins(np.nansum(p, axis=0) / np.where(count > 0, count, np.nan), len(order))
    B = int(bins.max(initial=-1)) + 1
    member = (bins[:, None] == np.arange(B)).astype(float)
    n = answered @ member
    means = np.where(answered, p, 0) @ member / np.where(n > 0, n, np.nan)
    low, high = (0.0, 1.0) if cells.unit else (float(np.nanmin(means)), float(np.nanmax(means)))
    step = (high - low) / (len(LEVELS) - 1)
    base = (
        _columns(model=list(order), digits=digits(means, low, high))
        .transform_calculate(digit="split(datum.digits, '')", place=f"sequence({B})")
        .transform_flatten(["digit", "place"])
        .transform_calculate(
            score=f"datum.digit === '-' ? {low!r} : indexof('{LEVELS}', datum.digit) * {step!r} + {low!r}",
            end="datum.place + 1.2",
            rank="datum.place + 1",
            told="datum.digit === '-' ? 'no score' : format(datum.score, '.3~f')",
        )
    )
    each = "Question, hardest first" if int(np.sum(bins >= 0)) == B else "Group of questions, hardest first"
    # Viridis, not cividis: the middle of cividis is grey, which here means no score.
    # Cells overlap a little: edges that only touch leave seams on a canvas.
    chart = base.mark_rect(clip=True).encode(
        x=_x(
            "place",
            each,
            scale=alt.Scale(domain=[0, B], nice=False),
            axis=alt.Axis(grid=False, tickMinStep=1, tickCount=7),
        ),
        x2=alt.X2(field="end"),
        y=alt.Y(
            field="model",
            type="nominal",
            title=None,
            scale=alt.Scale(domain=list(order), paddingInner=0),
            axis=alt.Axis(domain=False, ticks=False, grid=False),
        ),
        color=alt.condition(
            "datum.digit === '-'",
            alt.value(GREY),
            alt.Color(
                field="score",
                type="quantitative",
                title="mean score",
                scale=alt.Scale(scheme="viridis", domain=[low, high if high > low else low + 1]),
                legend=alt.Legend(orient="top", gradientLength=200),
            ),
        ),
        tooltip=_tooltip(model="Model", rank=each, told="Mean score, rounded to 21 levels"),
    )
    return _finish(chart, description=description, height=len(order) * (14 if len(order) > 12 else 20))


def distributions(cells: Cells, order: Sequence[str], *, description: str) -> Chart:
    """Share of questions at each mean score, to the nearest tenth; one row per model. For scores in [0, 1]."""
    tenths = np.arange(11)
    shares = []
    for model in order:
        p = cells.mean[cells.index(model)]
        nearest = np.floor(p[~np.isnan(p)] * 10 + 0.5)
        shares.append((nearest[:, None] == tenths).mean(axis=0))
    base = _columns(
        model=np.repeat(np.array(order, dtype=object), 11),
        p_correct=np.tile(tenths / 10, len(order)),
        share=np.concatenate(shares),
        place=np.repeat(np.arange(len(order)), 11),
    )
    bars = (
        base.mark_rect(color=BLUE)
        .transform_calculate(left="datum.p_correct - 0.042", right="datum.p_correct + 0.042", zero="0")
        .encode(
            x=_x(
                "left",
                "P(correct) of a question" if cells.binary else "Mean score of a question",
                scale=alt.Scale(domain=[-0.06, 1.06], nice=False),
                axis=alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1], format=".1f", grid=False),
            ),
            x2=alt.X2(field="right"),
            y=alt.Y(field="share", type="quantitative", title=None, axis=alt.Axis(format="%", tickCount=2)),
            y2=alt.Y2(field="zero"),
            tooltip=[
                *_tooltip(model="Model", p_correct="Nearest tenth"),
                alt.Tooltip(field="share", type="quantitative", title="Share of questions", format=".1%"),
            ],
        )
        .properties(width=560, height=48)
    )
    chart = bars.facet(
        row=alt.Row(
            field="model",
            type="nominal",
            title=None,
            sort=alt.EncodingSortField(field="place", op="min"),
            header=alt.Header(
                labelAngle=0, labelAlign="left", labelOrient="top", labelAnchor="start", labelPadding=2, labelLimit=400
            ),
        ),
        spacing=8,
    )
    return _finish(chart, description=description)
