"""Charts of differences between models: to a reference, between all pairs, and their errors."""

from __future__ import annotations

import json
from collections.abc import Sequence

import altair as alt
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.reporting.charts.chart_elements import (
    BLUE,
    GREY,
    ORANGE,
    Chart,
    chart_of_columns,
    curve_channels,
    finish_chart,
    round_values,
    scale_without_zero,
    series_channels,
    tooltips,
    x_channel,
    y_names,
)
from howsure.stats.comparisons import Pairs, ReferenceComparisons
from howsure.stats.core.cells import FloatArray
from howsure.stats.scores import expected_error, independent_error


def draw_forest(compared: ReferenceComparisons, order: Sequence[str], *, verdicts: Sequence[str]) -> Chart:
    """Draw the differences of the models in `order` from the reference, with single and with simultaneous intervals.

    Parameters
    ----------
    compared
        Comparisons with the reference.
    order
        Models from top to bottom.
    verdicts
        One per row of `compared`: `"distinguishable"`, `"not distinguishable"`, `"not testable"` or
        `"undecided"`.
    """
    rows = [compared.models.index(model) for model in order]
    base = chart_of_columns(
        model=list(order),
        difference=-compared.difference[rows],
        low=-compared.high[rows],
        high=-compared.low[rows],
        low_all=-compared.high_all[rows],
        high_all=-compared.low_all[rows],
        n_questions=compared.n_questions[rows],
        p_value=compared.p_value[rows],
        p_holm=compared.p_holm[rows],
        verdict=[verdicts[i] for i in rows],
    )
    y = y_names("model", list(order))
    tips = tooltips(
        model="Model",
        difference="Difference",
        low="Low",
        high="High",
        n_questions="Common questions",
        p_value="p",
        p_holm="p, Holm",
        verdict="Verdict",
    )
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=GREY).encode(x=x_channel("zero", ""))
    bars = base.mark_rule(color=BLUE, strokeWidth=3).encode(
        x=x_channel("low", f"Difference in score from {_short(compared.reference)}"),
        x2=alt.X2(field="high"),
        y=y,
        tooltip=tips,
    )
    thin = base.mark_rule(color=BLUE, strokeWidth=0.8).encode(
        x=x_channel("low_all", ""), x2=alt.X2(field="high_all"), y=y, tooltip=tips
    )
    channels = ((BLUE, *["transparent"] * 3), (BLUE,) * 4, ("circle", "circle", "cross", "diamond"))
    fills, strokes, shapes = (_verdict_scale(verdicts, *styles) for styles in channels)
    points = base.mark_point(size=60, color=BLUE, strokeWidth=2, opacity=1).encode(
        x=x_channel("difference", ""),
        y=y,
        fill=alt.Fill(field="verdict", type="nominal", scale=fills),
        stroke=alt.Stroke(field="verdict", type="nominal", scale=strokes),
        shape=alt.Shape(field="verdict", type="nominal", scale=shapes),
        tooltip=tips,
    )
    return finish_chart(alt.layer(zero, thin, bars, points), height=20 * max(len(rows), 1))


_VERDICTS = ["distinguishable", "not distinguishable", "not testable", "undecided"]


def _verdict_scale(verdicts: Sequence[str], *styles: str) -> alt.Scale:
    """Return the scale from a verdict to a look; a legend names "undecided" only where it occurs."""
    n = len(_VERDICTS) if "undecided" in verdicts else len(_VERDICTS) - 1
    return alt.Scale(domain=_VERDICTS[:n], range=list(styles)[:n])


def _short(name: str, most: int = 32) -> str:
    """Return a name with at most `most` characters."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def draw_matrix(pairs: Pairs, order: Sequence[str], *, verdicts: Sequence[str]) -> Chart:
    """Draw row minus column for every two models: coloured if distinguishable, else a grey dot."""
    place = {pairs.models.index(m): i for i, m in enumerate(order)}
    rows = [
        i for i, (a, b) in enumerate(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)) if {a, b} <= place.keys()
    ]
    a, b = (np.array([place[int(side[i])] for i in rows], np.int64) for side in (pairs.a, pairs.b))
    difference, p_holm = np.full((2, len(order), len(order)), np.nan)
    difference[a, b], difference[b, a] = pairs.difference[rows], -pairs.difference[rows]
    p_holm[a, b] = p_holm[b, a] = pairs.p_holm[rows]
    code = np.full(p_holm.shape, -1)  # of a model with itself
    code[a, b] = code[b, a] = [_VERDICTS.index(verdicts[i]) for i in rows]
    # A datum with a row of cells for each model, and each name once: 48 models in 40 kB instead of 220.
    datum = {
        "row": list(order),
        "column": list(order),
        "difference": [round_values(row, 4) for row in difference],
        "p_holm": [round_values(row, 3) for row in p_holm],
        "code": code.tolist(),
    }
    base = (
        alt.Chart(alt.InlineData(values=[datum]))
        .transform_flatten(["row", "difference", "p_holm", "code"])
        .transform_flatten(["column", "difference", "p_holm", "code"])
        .transform_filter(alt.FieldGTEPredicate(field="code", gte=0))
        .transform_calculate(verdict=f"{json.dumps(_VERDICTS)}[datum.code]")
    )
    # Names in an axis of columns take more room than the cells: the rows carry them, the columns are in their order.
    x = alt.X(
        field="column",
        type="nominal",
        title="columns in the order of the rows",
        scale=alt.Scale(domain=list(order), paddingInner=0.06),
        axis=alt.Axis(labels=False, ticks=False, domain=False, orient="top"),
    )
    y = y_names("row", order)
    tips = tooltips(row="Row", column="Column", difference="Row − column", p_holm="p, Holm", verdict="Verdict")
    decided, undecided = alt.FieldEqualPredicate(field="code", equal=0), alt.FieldGTEPredicate(field="code", gte=1)
    most = float(np.nanmax(np.abs(pairs.difference), initial=0)) or 1.0
    cells = (
        base.transform_filter(decided)
        .mark_rect()
        .encode(
            x=x,
            y=y,
            tooltip=tips,
            color=alt.Color(
                field="difference",
                type="quantitative",
                title="row − column",
                scale=alt.Scale(
                    domain=[most, 0.02 * most, 0, -0.02 * most, -most],
                    range=["#084a91", "#93c4e6", "#d5d5d5", "#f5bd75", "#a04a00"],
                ),
                legend=alt.Legend(orient="bottom", gradientLength=alt.ExprRef("min(240, 0.8 * width)"), format="+.2~f")
                if np.any(code == 0)
                else None,
            ),
        )
    )
    dots = (
        base.transform_filter(undecided)
        .mark_point(filled=True, size=10, color=GREY, opacity=1)
        .encode(x=x, y=y, tooltip=tips)
    )
    # Square cells for few models, too: the page keeps the drawing this narrow.
    chart = alt.layer(cells, dots).properties(usermeta={"widest": 280 + 26 * len(order)})
    return finish_chart(chart, height=20 * len(order))


def draw_pair_errors(pairs: Pairs, *, binary: bool, every: int = 1) -> Chart:
    """Draw the standard error of each difference (one generation per question) against the mean score of the pair.

    Scores of 0 and 1 have two curves: sqrt(p(1-p)/N), when difficulty is Beta(p, 1-p) and shared by both models,
    and sqrt(2p(1-p)/N), when predictions are independent; N is the median number of common questions.
    """
    some = slice(None, None, every)
    base = chart_of_columns(
        model_a=[pairs.models[a] for a in pairs.a[some]],
        model_b=[pairs.models[b] for b in pairs.b[some]],
        score=((pairs.score_a + pairs.score_b) / 2)[some],
        se_total=np.sqrt(pairs.total / np.where(pairs.n_questions > 0, pairs.n_questions, np.nan))[some],
    )
    few = len(pairs.a) < 300
    scale = scale_without_zero((pairs.score_a + pairs.score_b)[some] / 2) if not binary else alt.Scale(zero=False)
    points = base.mark_circle(size=40 if few else 18, color=BLUE, opacity=0.9 if few else 0.45).encode(
        x=x_channel("score", "Mean score of the two models", scale=scale),
        y=alt.Y(field="se_total", type="quantitative", title="Standard error of the difference"),
        tooltip=tooltips(model_a="Model", model_b="Model, other", score="Mean score", se_total="Standard error"),
    )
    if not binary:
        return finish_chart(points, height=320)
    p = np.linspace(0, 1, 101)
    common = pairs.n_questions[pairs.n_questions > 0]
    N = np.median(common) if len(common) else np.nan
    errors = np.concatenate([expected_error(p, N), independent_error(p, N)])
    names = ["Beta difficulty, shared", "independent"]
    lines = (
        chart_of_columns(p=np.tile(p, 2), se=errors, curve=np.repeat(names, len(p)))
        .mark_line(strokeWidth=2)
        .encode(
            x=x_channel("p", ""),
            y=alt.Y(field="se", type="quantitative"),
            **curve_channels("curve", dict(zip(names, [ORANGE, GREY], strict=True)), dashed=names[1]),
        )
    )
    return finish_chart(alt.layer(points, lines), height=320)


def draw_pair_parts(pairs: Pairs, *, errors: float | None) -> Chart:
    """Draw the data and the prediction part of the standard error of each difference against the mean score.

    Parameters
    ----------
    pairs
        All pairs; those whose parts are unknown are left out.
    errors
        Pairs whose difference is at most this number of its standard errors are drawn; None draws all.
    """
    N = np.where(pairs.n_questions > 0, pairs.n_questions, np.nan)
    is_drawn = select_pairs(pairs, errors) & ~np.isnan(pairs.prediction)
    n = int(is_drawn.sum())
    names = ["prediction noise", "data noise"]
    base = chart_of_columns(
        model_a=[pairs.models[a] for a in pairs.a[is_drawn]] * 2,
        model_b=[pairs.models[b] for b in pairs.b[is_drawn]] * 2,
        score=np.tile((pairs.score_a + pairs.score_b)[is_drawn] / 2, 2),
        se=np.concatenate([np.sqrt(pairs.prediction / N)[is_drawn], np.sqrt(np.maximum(pairs.data, 0) / N)[is_drawn]]),
        part=np.repeat(names, n),
    )
    scale = scale_without_zero((pairs.score_a + pairs.score_b)[is_drawn] / 2)
    points = base.mark_point(filled=True, size=40 if n < 300 else 18, opacity=0.9 if n < 300 else 0.45).encode(
        x=x_channel("score", "Mean score of the two models", scale=scale),
        y=alt.Y(
            field="se", type="quantitative", title="Standard error of the difference", scale=alt.Scale(domainMin=0)
        ),
        tooltip=tooltips(model_a="Model", model_b="Model, other", score="Mean score", part="Part", se="Standard error"),
        **series_channels("part", names),
    )
    return finish_chart(points, height=320, legend=names)


def select_pairs(pairs: Pairs, errors: float | None) -> NDArray[np.bool_]:
    """Return whether the difference of each pair is at most this number of its standard errors; None selects all."""
    if errors is None:
        return np.ones(len(pairs.a), bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        se = np.sqrt(pairs.total / pairs.n_questions)
        return np.asarray(np.abs(pairs.difference) <= errors * se)


def significant_difference(disagreement: ArrayLike, n_questions: ArrayLike, level: float) -> FloatArray:
    """Return the smallest difference that is significant with one generation per question of each model.

    Scores of 0 and 1 that differ on a share s of N questions have d_q = +-1 there, so T = s - d^2 (pairs.py), and
    z = d / sqrt(T/N) reaches the quantile of the level at d = z sqrt(s / (N + z^2)).

    >>> float(significant_difference(0.25, 100, 0.95).round(4))
    0.0962
    """
    z = special.ndtri((1 + level) / 2)
    d: FloatArray = z * np.sqrt(np.asarray(disagreement, float) / (np.asarray(n_questions, float) + z**2))
    return d


def draw_disagreement(pairs: Pairs, *, every: int = 1) -> Chart:
    """Draw the size of each difference against the expected disagreement, with the parabola of p = 1 - level.

    Scores of 0 and 1. Below the parabola, for the median number of common questions, one generation per question does
    not distinguish two models; no pair can lie above the straight line, where all disagreement is of one direction.
    """
    some = slice(None, None, every)
    base = chart_of_columns(
        model_a=[pairs.models[a] for a in pairs.a[some]],
        model_b=[pairs.models[b] for b in pairs.b[some]],
        disagreement=pairs.disagreement[some],
        distance=np.abs(pairs.difference)[some],
        difference=pairs.difference[some],
    )
    few = len(pairs.a) < 300
    x = x_channel("disagreement", "Share of questions on which one generation of each differs")
    title = "Size of the difference in score"
    y = alt.Y(field="distance", type="quantitative", title=title)
    points = base.mark_circle(size=40 if few else 18, color=BLUE, opacity=0.9 if few else 0.45, clip=True).encode(
        x=x,
        y=y,
        tooltip=tooltips(model_a="Model", model_b="Model, other", difference="Difference", disagreement="Disagreement"),
    )
    common = pairs.n_questions[pairs.n_questions > 0]
    widest = float(np.nanmax(pairs.disagreement, initial=0)) * 1.03 or 1.0
    highest = float(np.nanmax(np.abs(pairs.difference), initial=0))
    positions = np.linspace(0, np.sqrt(widest), 61) ** 2  # a parabola is steep at 0
    curve = significant_difference(positions, np.median(common) if len(common) else np.nan, pairs.level)
    highest = max(highest * 1.05, float(np.nanmax(curve, initial=0)) * 1.3) or 1.0
    names = [f"p = {1 - pairs.level:.2g}, one generation each", "all disagreement in one direction"]
    lines = (
        chart_of_columns(
            s=np.concatenate([positions, positions]),
            d=np.concatenate([curve, positions]),
            curve=np.repeat(np.array(names, dtype=object), len(positions)),
        )
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x_channel("s", "", scale=alt.Scale(domain=[0, widest], nice=False)),
            y=alt.Y(field="d", type="quantitative", title=title, scale=alt.Scale(domain=[0, highest], nice=False)),
            **curve_channels("curve", dict(zip(names, [ORANGE, GREY], strict=True)), dashed=names[1]),
        )
    )
    return finish_chart(alt.layer(points, lines), height=320, legend=names)
