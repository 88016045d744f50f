"""Section 2 of the page: differences between models, all pairs, and the errors of differences."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from howsure.reporting.charts import (
    BLUE,
    GREY,
    ORANGE,
    SHORT_LABEL,
    Chart,
    across,
    columns_of,
    down_names,
    draw,
    draw_zero,
    finish_chart,
    number,
    repeat_names,
    round_values,
    scale_without_zero,
    style_curves,
    style_series,
    style_values,
    tooltips,
)
from howsure.reporting.elements import ElementBuilder, Figure, Section
from howsure.reporting.formatting import (
    describe_drawn,
    format_count,
    format_level,
    format_share,
    format_significant,
    is_or_are,
)
from howsure.reporting.sections.score_table import MAX_MODELS, MAX_OPEN_MODELS
from howsure.reporting.sections.summary import describe_adjustment, group_by_verdict, judge_reference
from howsure.stats.comparisons import POWER, Pairs, ReferenceComparisons, compare_with_reference
from howsure.stats.core.cells import FloatArray
from howsure.stats.scores import expected_error, independent_error

#: Largest number of models whose names stand above the columns of the matrix.
MAX_COLUMN_NAMES = 20

#: Largest number of pairs in the table of pairs and in a scatter plot.
MAX_PAIRS = 12_000


#: What a reader must know before the first figure, with and without scores of single questions.
LEAD = (
    "Two models are compared on the questions that both answered, question by question. When the models find the same "
    "questions hard, the difference has a smaller error than two separate scores suggest."
)
LEAD_OVER_PROMPTS = (
    "Two models are compared on the prompts that both were given, prompt by prompt: intervals and tests are for new "
    "prompts of the same kind on these questions. What other questions would change is not known and in no interval."
)


#: Said of figures that use the errors of single questions where questions come in clusters.
_COUNT_AS_INDEPENDENT = (
    "Here questions count as independent; the errors and tests for new clusters are in the table of pairs."
)


def build_comparison_section(
    pairs: Pairs | None,
    order: Sequence[str],
    reference: str,
    builder: ElementBuilder,
    *,
    chosen_by_scores: bool,
    over_prompts: bool = False,
) -> Section:
    """Build the section on differences between models."""
    figures: list[Figure] = []
    lead = LEAD_OVER_PROMPTS if over_prompts else LEAD
    if pairs is not None:
        figures = list(_build_verdict_figures(pairs, order, reference, builder, chosen_by_scores=chosen_by_scores))
        if not over_prompts:
            figures += [*_build_error_figure(pairs, builder), *build_disagreement_figure(pairs, builder)]
    left_out = () if figures else ("who beats whom (only one model)",)
    return Section("pairs", "Who beats whom", "Who beats whom", lead, tuple(figures), left_out)


#: Added where only the first models are drawn.
OF_ALL = ", the first of their order; the counts are over all"


def _build_verdict_figures(
    pairs: Pairs, order: Sequence[str], reference: str, builder: ElementBuilder, *, chosen_by_scores: bool
) -> Iterator[Figure]:
    """Yield the differences from the reference and the matrix of pairs."""
    verdicts, rows = list(pairs.verdict), order[:MAX_MODELS]
    others = [model for model in order if model != reference][:MAX_MODELS]
    compared = compare_with_reference(pairs, reference, chosen_by_scores=chosen_by_scores)
    caption = describe_forest(compared) + describe_drawn(len(others), len(order) - 1, OF_ALL)
    yield builder.build_figure(
        "forest",
        caption,
        draw_forest(compared, others, verdicts=judge_reference(compared)),
        marks=3 * len(others),
        reference=reference,
    )
    if len(order) > 2:
        yield builder.build_figure(
            "matrix",
            describe_matrix(pairs, len(rows)),
            draw_matrix(pairs, rows, verdicts=verdicts),
            table="pairs",
            marks=len(rows) ** 2,
            is_folded=len(order) > MAX_OPEN_MODELS,
        )


def _build_error_figure(pairs: Pairs, builder: ElementBuilder) -> Iterator[Figure]:
    """Yield the errors of differences against scores."""
    if len(pairs.a) > 2:
        every, binary = -(-len(pairs.a) // MAX_PAIRS), pairs.cells.binary
        yield builder.build_figure(
            "errors",
            describe_pair_errors(pairs, binary=binary, every=every),
            draw_pair_errors(pairs, binary=binary, every=every),
            table="pairs",
            marks=len(pairs.a),
            is_folded=len(pairs.models) > MAX_OPEN_MODELS,
        )


def build_disagreement_figure(
    pairs: Pairs, builder: ElementBuilder, *, max_pairs: int | None = None
) -> Iterator[Figure]:
    """Yield the plot of differences against disagreement, if scores are 0 and 1 and some pair of models disagrees."""
    if len(pairs.a) < 3 or not np.any(pairs.disagreement > 0):
        return
    every = -(-len(pairs.a) // (max_pairs or MAX_PAIRS))
    common = np.where(pairs.n_questions > 0, pairs.n_questions, np.nan)
    thresholds = significant_difference(pairs.disagreement, common, pairs.level)
    yield builder.build_figure(
        "disagreement",
        describe_disagreement(pairs, thresholds, every=every),
        draw_disagreement(pairs, every=every),
        table="pairs",
        marks=len(pairs.a),
        is_folded=len(pairs.models) > MAX_OPEN_MODELS,
    )


#: What the caption says of the models of each group, "BE" in their number.
_GROUPS = {
    "below": "BE clearly below it",
    "above": "BE clearly above it",
    "open": "cannot be told apart from it at this sample size",
    "undecided": "BE undecided, as unread answers decide whether it differs",
    "untestable": "cannot be tested against it",
}


def describe_forest(compared: ReferenceComparisons) -> str:
    """Describe the differences of the models from the reference."""
    groups = group_by_verdict(compared, compared.models)
    counts = {group: len(models) for group, models in groups.items() if models}
    words = {group: f"{format_count(n, 'model')} {_GROUPS[group]}" for group, n in counts.items()}
    parts = [words[group].replace("BE", is_or_are(counts[group])) for group in _GROUPS if group in counts]
    text = f"Compared with {compared.reference}: {'; '.join(parts)}."
    level, several = format_level(compared.level), compared.n_tests > 1
    if several:
        why = "the scores chose the reference" if compared.chosen_by_scores else "the reference was named beforehand"
        single = int(compared.differs_singly.sum())
        text += f" Verdicts are {describe_adjustment(compared)}, because {why}; each tested by itself, {single:,} "
        text += "differs." if single == 1 else "differ."
    detectable = compared.detectable[compared.detectable > 0]
    if len(detectable):
        median = " (median over models)" if len(detectable) > 1 else ""
        power = f"{POWER:.0%} power{' or more by these tests' if several else ' by this test'}"
        size = format_significant(float(np.median(detectable)))
        text += f" A true difference of {size}{median} would be found with {power}."
    if counts.get("untestable") == len(compared.models):
        return text
    bars = f"; thin bars hold for all {compared.n_tests:,} tests at once (Bonferroni)" if several else ""
    return f"{text} Thick bars are {level} intervals of single differences{bars}."


def describe_matrix(pairs: Pairs, n_drawn: int) -> str:
    """Describe how many pairs are distinguishable; `n_drawn` models are drawn."""
    n = Counter(pairs.verdict)
    text = (
        f"{n['distinguishable']:,} of {format_count(len(pairs.a), 'pair')} can be told apart, adjusted for all pairs "
    )
    text += "(Holm)" + (f"; {n['not testable']:,} cannot be tested" if n["not testable"] else "")
    text += f"; for {n['undecided']:,} unread answers decide" if n["undecided"] else ""
    text += ". Blue: the row's model scores higher; orange: lower; a grey dot: cannot be told apart or not tested"
    text += ", or undecided." if n["undecided"] else "."
    return text + describe_drawn(n_drawn, len(pairs.models), OF_ALL)


def describe_pair_errors(pairs: Pairs, *, binary: bool, every: int = 1) -> str:
    """Describe how large the standard errors of differences are, and whether pairing reduces them."""
    se = np.sqrt(pairs.total / np.where(pairs.n_questions > 0, pairs.n_questions, np.nan))
    available = se[se > 0]  # of equal differences the error is unknown, not 0
    n_equal = int(np.sum(se == 0))
    if len(available) + n_equal == 0:
        return "No two models have a question in common."
    parts = [_COUNT_AS_INDEPENDENT] if pairs.cells.clusters is not None else []
    if len(available):
        median = format_significant(float(np.median(available)))
        parts.append(f"With one generation per question the median standard error of a difference is {median}.")
    if n_equal:
        count = format_count(len(available) + n_equal, "pair")
        parts.append(f"In {n_equal:,} of {count} no variation was seen, so that the error is unknown.")
    correlation = pairs.correlation[np.isfinite(pairs.correlation)]
    if len(correlation):
        count = f"{int(np.sum(correlation > 0)):,} of {format_count(len(correlation), 'pair')}"
        parts.append(
            f"In {count} the scores of the two models are positively correlated over questions: there, pairing gives "
            "the difference a smaller error than two separate sets of questions would."
        )
    if binary and len(np.unique(pairs.n_questions[pairs.n_questions > 0])) > 1:
        parts.append("Pairs have different numbers of common questions; the curves are for the median number.")
    return " ".join(parts + _describe_every(every))


def describe_disagreement(pairs: Pairs, thresholds: FloatArray, *, every: int = 1) -> str:
    """Describe how many pairs one generation per question can distinguish; some of the pairs disagree.

    `thresholds` is the smallest significant difference of each pair, shape (P,).
    """
    available = ~np.isnan(pairs.disagreement) & ~np.isnan(thresholds)
    disagreement, limits = pairs.disagreement[available], thresholds[available]
    # of two models that never disagree nothing is significant
    n_above = int(np.sum((disagreement > 0) & (np.abs(pairs.difference[available]) >= limits)))
    middle = int(np.argsort(disagreement, kind="stable")[len(limits) // 2])
    parts = [_COUNT_AS_INDEPENDENT] if pairs.cells.clusters is not None else []
    parts.append(
        f"{n_above:,} of {format_count(len(limits), 'pair')} {is_or_are(n_above)} on or above the curve: a difference "
        f"of that size in one generation per question has p ≤ {1 - pairs.level:.2g} by the normal law, for this pair "
        "alone; with few questions that differ the test of the table needs more."
    )
    parts.append(
        f"Models that differ on {format_share(float(disagreement[middle]))} of the questions, as a typical pair here, "
        f"need a difference of {format_significant(float(limits[middle]))}."
    )
    if len(pairs.cells.variants) > 1:
        parts.append("The two generations are each in a prompt of its own.")
    if len(np.unique(pairs.n_questions[available])) > 1:
        parts.append(
            "Pairs have different numbers of common questions: the curve is for the median, the count for each."
        )
    return " ".join(parts + _describe_every(every))


def _describe_every(every: int) -> list[str]:
    """Return that only some of the pairs are drawn, if so."""
    return [f"Drawn for one pair in {every:,}."] if every > 1 else []


_VERDICTS = ["distinguishable", "not distinguishable", "not testable", "undecided"]


def draw_forest(compared: ReferenceComparisons, order: Sequence[str], *, verdicts: Sequence[str]) -> Chart:
    """Draw the differences of the models in `order` from the reference, with single and with simultaneous intervals.

    `verdicts` has one of `_VERDICTS` per row of `compared`.
    """
    rows = [compared.models.index(model) for model in order]
    data = columns_of(
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
    tips = tooltips(model="Model", difference="Difference", low="Low", high="High", n_questions="Common questions")
    shared: dict[str, Any] = {"y": down_names("model", order)}
    shared["tooltip"] = tips + tooltips(p_value="p", p_holm="p, Holm", verdict="Verdict")
    title = f"Difference in score from {_short(compared.reference)}"
    # The legend names "undecided" only where it occurs.
    names = _VERDICTS if "undecided" in verdicts else _VERDICTS[:3]
    styles = style_values(
        "verdict",
        names,
        fill=(BLUE, *["transparent"] * 3),
        stroke=(BLUE,) * 4,
        shape=("circle", "circle", "cross", "diamond"),
    )
    return finish_chart(
        draw_zero(),
        draw(data, "rule", {"color": BLUE, "strokeWidth": 0.8}, x=across("low_all"), x2="high_all", **shared),
        draw(data, "rule", {"color": BLUE, "strokeWidth": 3}, x=across("low", title), x2="high", **shared),
        draw(
            data,
            "point",
            {"size": 60, "color": BLUE, "strokeWidth": 2, "opacity": 1},
            x=across("difference"),
            **styles,
            **shared,
        ),
        height=20 * max(len(rows), 1),
    )


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
    data = {
        "row": list(order),
        "column": list(order),
        "difference": [round_values(row, 4) for row in difference],
        "p_holm": [round_values(row, 3) for row in p_holm],
        "code": code.tolist(),
    }
    cells = ["difference", "p_holm", "code"]
    steps: list[Mapping[str, object]] = [
        {"flatten": ["row", *cells]},
        {"flatten": ["column", *cells]},
        {"calculate": f"{json.dumps(_VERDICTS)}[datum.code]", "as": "verdict"},
    ]
    # Few names stand above their columns; more would take more room than the cells, which are in the order of the rows.
    has_names = len(order) <= MAX_COLUMN_NAMES
    axis = {"ticks": False, "domain": False, "orient": "top", "labels": has_names}
    axis |= (
        {"labelExpr": SHORT_LABEL, "labelAngle": -90, "labelAlign": "left", "labelLimit": 0, "maxExtent": 300}
        if has_names
        else {}
    )
    x = {
        "field": "column",
        "type": "nominal",
        "title": "compared with" if has_names else "columns in the order of the rows",
        "scale": {"domain": list(order), "paddingInner": 0.06},
        "axis": axis,
    }
    tips = tooltips(row="Row", column="Column", difference="Row − column", p_holm="p, Holm", verdict="Verdict")
    shared: dict[str, Any] = {"x": x, "y": down_names("row", order), "tooltip": tips}
    most = float(np.nanmax(np.abs(pairs.difference), initial=0)) or 1.0
    colours = ["#084a91", "#93c4e6", "#d5d5d5", "#f5bd75", "#a04a00"]
    legend = {"orient": "bottom", "gradientLength": {"expr": "min(240, 0.8 * width)"}, "format": "+.2~f"}
    scale = {"domain": [most, 0.02 * most, 0, -0.02 * most, -most], "range": colours}
    colour = number("difference", title="row − column", scale=scale, legend=legend if np.any(code == 0) else None)
    # Square cells for few models, too: the page keeps the drawing this narrow.
    return finish_chart(
        draw(data, "rect", steps=[*steps, {"filter": "datum.code === 0"}], color=colour, **shared),
        draw(
            data,
            "point",
            {"filled": True, "size": 10, "color": GREY, "opacity": 1},
            steps=[*steps, {"filter": "datum.code >= 1"}],
            **shared,
        ),
        height=20 * len(order),
        widest=280 + 26 * len(order),
        **({"above": "names"} if has_names else {}),
    )


def _dots_of_pairs(pairs: Pairs) -> dict[str, Any]:
    """Return the style of points, one for each pair: small and pale where there are many."""
    few = len(pairs.a) < 300
    return {"size": 40 if few else 18, "color": BLUE, "opacity": 0.9 if few else 0.45}


def _names_of_pairs(pairs: Pairs, which: slice | NDArray[np.bool_]) -> dict[str, list[str]]:
    """Return the columns with the two models of each pair."""
    return {f"model_{side}": [pairs.models[i] for i in getattr(pairs, side)[which]] for side in "ab"}


def draw_pair_errors(pairs: Pairs, *, binary: bool, every: int = 1) -> Chart:
    """Draw the standard error of each difference (one generation per question) against the mean score of the pair.

    Scores of 0 and 1 have two curves: sqrt(p(1-p)/N), when difficulty is Beta(p, 1-p) and shared by both models,
    and sqrt(2p(1-p)/N), when predictions are independent; N is the median number of common questions.
    """
    some, score = slice(None, None, every), (pairs.score_a + pairs.score_b) / 2
    se = np.sqrt(pairs.total / np.where(pairs.n_questions > 0, pairs.n_questions, np.nan))
    data = columns_of(**_names_of_pairs(pairs, some), score=score[some], se_total=se[some])
    scale = {"zero": False} if binary else scale_without_zero(score[some])
    layers = [
        draw(
            data,
            "circle",
            _dots_of_pairs(pairs),
            x=across("score", "Mean score of the two models", scale=scale),
            y=number("se_total", title="Standard error of the difference"),
            tooltip=tooltips(model_a="Model", model_b="Model, other", score="Mean score", se_total="Standard error"),
        )
    ]
    if binary:
        p, N = np.linspace(0, 1, 101), _median_common(pairs)
        names = ["Beta difficulty, shared", "independent"]
        errors = np.concatenate([expected_error(p, N), independent_error(p, N)])
        curves = columns_of(p=np.tile(p, 2), se=errors, curve=np.repeat(names, len(p)))
        styles = style_curves("curve", dict(zip(names, (ORANGE, GREY), strict=True)), dashed=names[1])
        layers.append(draw(curves, "line", {"strokeWidth": 2}, x=across("p"), y=number("se"), **styles))
    return finish_chart(*layers, height=320)


def _median_common(pairs: Pairs) -> float:
    """Return the median number of common questions of the pairs that have some; NaN without any."""
    common = pairs.n_questions[pairs.n_questions > 0]
    return float(np.median(common)) if len(common) else np.nan


def draw_pair_parts(pairs: Pairs, *, errors: float | None) -> Chart:
    """Draw the data and the prediction part of the error of each difference, which is at most `errors` of them."""
    N = np.where(pairs.n_questions > 0, pairs.n_questions, np.nan)
    is_drawn = select_pairs(pairs, errors) & ~np.isnan(pairs.prediction)
    score = ((pairs.score_a + pairs.score_b) / 2)[is_drawn]
    names = ["prediction noise", "data noise"]
    data = columns_of(
        **{name: each * 2 for name, each in _names_of_pairs(pairs, is_drawn).items()},
        score=np.tile(score, 2),
        se=np.concatenate([np.sqrt(np.maximum(part, 0) / N)[is_drawn] for part in (pairs.prediction, pairs.data)]),
        part=np.repeat(names, int(is_drawn.sum())),
    )
    few = int(is_drawn.sum()) < 300
    tips = tooltips(model_a="Model", model_b="Model, other", score="Mean score", part="Part", se="Standard error")
    points = draw(
        data,
        "point",
        {"filled": True, "size": 40 if few else 18, "opacity": 0.9 if few else 0.45},
        x=across("score", "Mean score of the two models", scale=scale_without_zero(score)),
        y=number("se", title="Standard error of the difference", scale={"domainMin": 0}),
        tooltip=tips,
        **style_series("part", names),
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
    distance = np.abs(pairs.difference)
    data = columns_of(
        **_names_of_pairs(pairs, some),
        disagreement=pairs.disagreement[some],
        distance=distance[some],
        difference=pairs.difference[some],
    )
    widest = float(np.nanmax(pairs.disagreement, initial=0)) * 1.03 or 1.0
    positions = np.linspace(0, np.sqrt(widest), 61) ** 2  # a parabola is steep at 0
    curve = significant_difference(positions, _median_common(pairs), pairs.level)
    highest = max(np.nanmax(distance, initial=0) * 1.05, float(np.nanmax(curve, initial=0)) * 1.3) or 1.0
    names = [f"p = {1 - pairs.level:.2g}, one generation each", "all disagreement in one direction"]
    curves = columns_of(
        s=np.tile(positions, 2), d=np.concatenate([curve, positions]), curve=repeat_names(names, len(positions))
    )
    title = "Size of the difference in score"
    tips = tooltips(model_a="Model", model_b="Model, other", difference="Difference", disagreement="Disagreement")
    return finish_chart(
        draw(
            data,
            "circle",
            {**_dots_of_pairs(pairs), "clip": True},
            x=across("disagreement", "Share of questions on which one generation of each differs"),
            y=number("distance", title=title),
            tooltip=tips,
        ),
        draw(
            curves,
            "line",
            {"strokeWidth": 2, "clip": True},
            x=across("s", scale={"domain": [0, widest], "nice": False}),
            y=number("d", title=title, scale={"domain": [0, float(highest)], "nice": False}),
            **style_curves("curve", dict(zip(names, (ORANGE, GREY), strict=True)), dashed=names[1]),
        ),
        height=320,
        legend=names,
    )
