"""Section 9 of the page: repeated runs, where a future one may fall, drift, and copies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.reporting.charts import (
    BLUE,
    GREY,
    MAX_SERIES,
    ORANGE,
    Chart,
    across,
    columns_of,
    count_axis,
    dodge,
    down_names,
    draw,
    finish_chart,
    finish_panels,
    number,
    scale_without_zero,
    style_series,
    style_values,
    tooltips,
)
from howsure.reporting.elements import ElementBuilder, Figure, Section, TextTable
from howsure.reporting.formatting import (
    describe_drawn,
    format_count,
    format_each,
    format_level,
    format_number,
    format_p_value,
    format_ranges,
    join_names,
)
from howsure.reporting.sections.score_table import pick_spaced
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.text_table import choose_decimals
from howsure.stats.repeats import DailyScores, Repeats, RunWidths, compare_days, repeats

#: Models with a row in the figure and in the table, at most.
_MAX_ROWS = 20


#: Notes of `Repeats` on copies and on run means.
_COPIES, _TOO_SIMILAR = "copies are not runs", "agree more than independent generations would"

_SAME = "no variation was seen"

#: Number of places, one above the other, for dots of runs with nearly the same score.
_STACK = 5

#: Dots nearer than this share of the axis are drawn one above the other.
_NEAR = 1 / 70

_KINDS = ("run", "best", "worst")


def compute_repeats(runs: Sequence[Cells], *, level: float) -> Repeats | None:
    """Return the prediction interval for the next run; None if no model is in two runs."""
    if len(runs) < 2:
        return None
    result = repeats(runs, n_future=1, level=level, alpha=1 - level)
    return result if np.any(result.n_runs > 1) else None


def build_repeats_section(
    result: Repeats | None, runs: Sequence[Cells], cells: Cells, order: Sequence[str], builder: ElementBuilder
) -> Section:
    """Build the section on run means, their order and the prediction interval."""
    title, link = "Repeated runs", "Repeats"
    lead = describe_a_run(runs)
    if result is None:
        has_counts_only = len(runs) < 2 and int(cells.n.max(initial=0)) > max(len(cells.variants), 1)
        reason = "which run each generation belongs to is not recorded" if has_counts_only else "one run of each model"
        return Section("repeats-part", title, link, lead, (), (f"repeated runs ({reason})",))
    models = [model for model in order if model in result.models and result.n_runs[result.models.index(model)] > 1]
    builder.add_table("runs", result.runs.columns())
    builder.add_table("repeats", result.columns())
    daily = compare_days(runs, level=result.level)
    reasons = {model: daily.reasons[model] for model in models if model in daily.reasons}
    left_out: tuple[str, ...] = ()
    if not daily.models:
        left_out = (f"scores by date ({'; '.join(dict.fromkeys(reasons.values()))})",)
    return Section("repeats-part", title, link, lead, tuple(_build_items(result, daily, models, builder)), left_out)


def describe_a_run(runs: Sequence[Cells]) -> str:
    """Describe what a run is: one generation per question, or one in each of several prompts."""
    most = max((int(run.n.max(initial=0)) for run in runs), default=0)
    if most > 1:
        return (
            "The g-th generations of all questions in all prompts make the g-th run: a run here averages up to "
            f"{most:,} generations of each question, one in each prompt. A run in a single prompt varies more, with "
            "the sampling and with the prompt: see Spread over prompts."
        )
    return (
        "The g-th generations of all questions make the g-th run: what an evaluation with one generation per question "
        "would have reported. On these questions again, runs differ by sampling alone, unless something drifts."
    )


def _build_items(
    result: Repeats, daily: DailyScores, models: Sequence[str], builder: ElementBuilder
) -> list[Figure | TextTable]:
    """Return the figures of runs, of drift and of days, and the table, for models with several runs."""
    rows, series = models[:_MAX_ROWS], pick_spaced(models, MAX_SERIES)
    most_runs = int(result.n_runs.max())
    first, some = (describe_drawn(len(drawn), len(models)) for drawn in (rows, series))
    drift = builder.build_figure(
        "drift",
        describe_drift(result) + some,
        draw_drift(result, series),
        table="runs",
        marks=2 * most_runs * len(series),
    )
    dated = [model for model in models if model in daily.models]
    figures = [drift]
    if daily.repeats is not None:
        drawn = pick_spaced(dated, MAX_SERIES)
        more = describe_drawn(len(drawn), len(dated))
        by_day = builder.build_figure(
            "days", describe_days(daily, models) + more, draw_days(daily, drawn), marks=5 * len(daily.days) * len(drawn)
        )
        # Where each day of all models has one run, days are the runs in their order.
        figures = [by_day] if len(dated) == len(models) and daily.n_runs.max() == 1 else [drift, by_day]
    return [
        builder.build_figure(
            "runs",
            describe_runs(result, models) + first,
            draw_runs(result, rows),
            table="runs",
            marks=(most_runs + 2) * len(rows),
        ),
        *figures,
        _build_table(result, models, builder),
    ]


def _build_table(result: Repeats, models: Sequence[str], builder: ElementBuilder) -> TextTable:
    """Return the table of run means and prediction intervals."""
    at = [result.models.index(model) for model in models[:_MAX_ROWS]]
    interval = result.interval()
    places = choose_decimals(result.sd[at])
    rows = {
        "Model": list(models[:_MAX_ROWS]),
        "Runs": format_each(result.n_runs[at]),
        "Mean": format_each(result.mean[at], places),
        "SD of runs": format_each(result.sd[at], places),
        "Worst": format_each(result.worst[at], places),
        "Best": format_each(result.best[at], places),
        f"Next run, {format_level(result.level)}": format_ranges(interval.low[at], interval.high[at], places),
        "p, drift (Holm)": [format_p_value(float(p)) for p in holm(result.drift_p)[at]],
    }
    caption = "The mean of all runs, and where a single further run of the same questions will fall."
    if len(at) < len(models):
        caption += f" The first {len(at)} of {len(models):,} models; the download has all."
    return builder.build_text_table(
        "repeats", "What will the next run score?", caption, rows, text_columns=1, table="repeats"
    )


def describe_runs(result: Repeats, models: Sequence[str]) -> str:
    """Describe the best and the worst run of one model, the interval for the next one, and the most luck."""
    interval = result.interval()
    rows = [result.models.index(model) for model in models]
    i, places = rows[0], choose_decimals(np.sqrt(result.variance))
    worst, best = format_each((result.worst[i], result.best[i]), places)
    sizes = result.runs.n_questions[:, i]
    least, most = int(sizes[sizes > 0].min()), int(sizes.max())
    which = "of the same questions"
    if result.runs.lack_questions[i]:
        some = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        which = f"that have {some} of {int(result.runs.n_distinct[i]):,} questions each"
    ends = f"from {worst} to {best}" if worst != best else worst
    text = f"{models[0]} scored {ends} in {format_count(int(result.n_runs[i]), 'run')} {which}"
    if np.isnan(interval.low[i]):
        text += "; no interval for the next run is known. "
    else:
        low, high = format_each((interval.low[i], interval.high[i]), places)
        text += (
            f"; the next run will fall between {low} and {high} with {format_level(result.level)} probability (bar). "
        )
    luck = result.luck[rows]
    if luck.max() > 1e-12:  # the mean of equal runs can differ from them by rounding
        luckiest = [model for model, value in zip(models, luck, strict=True) if math.isclose(value, luck.max())]
        are_alike = len(luckiest) == len(models)
        whose = f" of {'each of ' if len(luckiest) > 1 else ''}{join_names(luckiest)}" if not are_alike else ""
        whose = " of each model" if are_alike and len(models) > 1 else whose
        text += (
            f"The best run{whose} lies {format_number(float(luck.max()), places)} above the mean of all its runs: to "
            f"report only the best run adds that much luck{'' if are_alike else ', the most of all models'}. "
        )
    if result.runs.lack_questions[rows].any():
        text += "Runs with different questions differ by those, too, and not by luck alone. "
    return text.rstrip()


def describe_days(daily: DailyScores, models: Sequence[str]) -> str:
    """Describe what `draw_days` draws, drift between days, and what is not compared; empty if nothing is drawn."""
    if daily.repeats is None:
        return ""
    result, level = daily.repeats, format_level(daily.repeats.level)
    has_lines = not np.all(np.isnan(daily.low))
    line = f", its line the {level} interval for the same questions asked again on that day" if has_lines else ""
    text = (
        f"A point is the score of the runs of one day (UTC){line}; the band is where the score of one further day like "
        f"these falls with {level} probability if days go on as these did. "
    )
    text += describe_drift(result, by_day=True)
    common = np.max(result.runs.n_questions, axis=0)
    for model, n, n_any in zip(result.models, common.tolist(), daily.n_questions.tolist(), strict=True):
        if n < n_any:
            text += f" Scores of {model} are on the {n:,} of {format_count(n_any, 'question')} that every day has."
    groups: dict[str, list[str]] = {}
    for model in models:
        if model in daily.reasons:
            groups.setdefault(daily.reasons[model], []).append(model)
    for reason, names in groups.items():
        text += f" {join_names(names)} {'are' if len(names) > 1 else 'is'} not compared by day: {reason}."
    return text


def describe_drift(result: Repeats, *, by_day: bool = False) -> str:
    """Describe whether runs, or days, differ by more than sampling explains."""
    what, where = ("scores", " from day to day") if by_day else ("runs", "")
    adjusted, alpha = holm(result.drift_p), 1 - result.level
    available = ~np.isnan(adjusted)
    if not available.any():
        where = "on two days" if by_day else "in two runs"
        return f"No question was answered differently {where}, so drift cannot be tested."
    drifted = [result.models[i] for i in np.flatnonzero(adjusted < alpha)]
    count = int(available.sum())
    usual = "than is usual for independent generations"
    if drifted:
        test = _describe_drift_test(adjusted, alpha, count)
        text = (
            f"The {what} of {join_names(drifted)} differ{where} by more {usual} ({test}): something may have changed "
            f"between them. A mean over such {'days' if by_day else 'runs'} may mix different conditions. "
        )
    else:
        smallest = format_p_value(float(np.nanmin(adjusted)))
        text = (
            f"For none of {format_count(count, 'model')} do {what} differ{where} by more {usual} (smallest p, adjusted "
            f"by Holm: {smallest}). "
        )
    return text + "The test is Cochran's Q, with questions as strata, which tests for any difference, not for a trend."


def _describe_drift_test(adjusted: FloatArray, alpha: float, count: int) -> str:
    """Return the largest p-value below alpha, and for how many models it is adjusted."""
    p = adjusted[adjusted < alpha]
    most = float(p.max())
    value = f"at most {format_p_value(most)}" if len(p) > 1 and most >= 0.001 else _equals(most)
    return f"p {value}, adjusted for {format_count(count, 'model')} (Holm)" if count > 1 else f"p {value}"


def _equals(p: float) -> str:
    """Return a p-value after an equals sign or a less-than sign."""
    return format_p_value(p).replace("<", "< ") if p < 0.001 else f"= {format_p_value(p)}"


def collect_repeat_warnings(result: Repeats) -> Iterator[str]:
    """Yield warnings about runs that are copies, agree too much, or drift."""
    for reason, text in (
        (
            _SAME,
            (
                "All runs of {names} are the same score for score: either each question is always right or always "
                "wrong, or they are copies of one run (a cache, a fixed seed, no sampling), say no more than it does, "
                "and only with --generations 1 are the intervals of the scores right."
            ),
        ),
        (_COPIES, "Some runs of {names} are the same score for score: copies are not further generations."),
        (_TOO_SIMILAR, "The runs of {names} agree more than independent generations would: a shared seed, or a cache?"),
    ):
        if names := [model for model, note in zip(result.models, result.reasons, strict=True) if reason in str(note)]:
            yield text.format(names=join_names(names))
    adjusted: FloatArray = holm(result.drift_p)
    if drifted := [result.models[i] for i in np.flatnonzero(adjusted < 1 - result.level)]:
        test = _describe_drift_test(adjusted, 1 - result.level, int(np.sum(~np.isnan(adjusted))))
        yield (
            f"The runs of {join_names(drifted)} differ by more than sampling usually explains ({test}): something may "
            "have changed between them."
        )


def draw_runs(result: Repeats, order: Sequence[str]) -> Chart:
    """Draw a dot for each run, the best and the worst marked, over the interval for the mean of a future run."""
    at = [result.models.index(model) for model in order]
    between = result.interval()
    model, run = np.nonzero(result.runs.n_questions[:, at].T)
    means = result.runs.mean[:, at].T[model, run]
    drawn_values = np.concatenate([means, between.low[at], between.high[at]])
    width = float(np.nanmax(drawn_values, initial=0) - np.nanmin(drawn_values, initial=1)) or 1.0
    ends = np.array([result.worst, result.best])[:, at][:, model]
    kind = np.select([means == ends[1], means == ends[0]], ["best", "worst"], "run")
    band = columns_of(
        model=order,
        low=between.low[at],
        high=between.high[at],
        mean=result.mean[at],
        sd=result.sd[at],
        n_runs=result.n_runs[at],
    )
    dots = columns_of(
        model=np.array(order, dtype=object)[model],
        run=np.array(result.runs.runs, dtype=object)[run],
        mean=means,
        kind=np.where(ends[0] == ends[1], "run", kind).tolist(),
        place=_stacked(means / width, model),
    )
    y, scale = down_names("model", order), {"zero": False}
    low, mean = (across(field, "Score of a run", scale=scale) for field in ("low", "mean"))
    tips = tooltips(model="Model", mean="Mean", low="Low", high="High", sd="SD of runs", n_runs="Runs")
    style = style_values(
        "kind", _KINDS, color=(BLUE, ORANGE, ORANGE), shape=("circle", "triangle-right", "triangle-left")
    )
    return finish_chart(
        draw(band, "bar", {"size": 26, "color": BLUE, "opacity": 0.22}, x=low, x2="high", y=y, tooltip=tips),
        draw(band, "tick", {"color": BLUE, "thickness": 2, "size": 26}, x=mean, y=y, tooltip=tips),
        draw(
            dots,
            "point",
            {"filled": True, "size": 46, "opacity": 0.95},
            x=mean,
            y=y,
            yOffset=dodge(_STACK, paddingOuter=0.3),
            tooltip=tooltips(model="Model", run="Run", kind="Which", mean="Score"),
            **style,
        ),
        height=34 * len(order),
        legend=_KINDS,
    )


def _stacked(x: FloatArray, model: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the place of each dot among near dots of its model: the middle first, then above and below."""
    place = np.zeros(len(x), dtype=np.int64)
    for m in np.unique(model):
        rows = np.flatnonzero(model == m)
        last = np.full(_STACK, -np.inf)
        for i in rows[np.argsort(x[rows], kind="stable")]:
            free = np.flatnonzero(x[i] - last >= _NEAR)
            place[i] = int(free[0]) if len(free) else int(np.argmin(last))
            last[place[i]] = x[i]
    # 0, 1, 2, ... from the middle outwards
    outwards = np.argsort(np.abs(np.arange(_STACK) - _STACK // 2), kind="stable")
    return outwards[place]


def draw_drift(result: Repeats, order: Sequence[str]) -> Chart:
    """Draw the score of each run in the order of the runs, for a few models, with the mean of each model as a rule."""
    at = [result.models.index(model) for model in order]
    model, run = np.nonzero(result.runs.n_questions[:, at].T)
    data = columns_of(
        model=np.array(order, dtype=object)[model],
        n=np.arange(len(model)) - np.searchsorted(model, model) + 1,  # of the model: logs have a model each
        run=np.array(result.runs.runs, dtype=object)[run],
        mean=result.runs.mean[:, at].T[model, run],
    )
    axis = count_axis(np.arange(1, np.bincount(model).max() + 1))
    place: dict[str, Any] = {
        "x": across("n", "Run, in the order they were made", axis=axis),
        "y": number("mean", title="Score of the run", scale=scale_without_zero(result.runs.mean[:, at])),
    }
    style = style_series("model", order)
    rule = style["color"] if len(order) > 1 else {"value": GREY}
    centers = columns_of(model=order, center=result.runs.center[at])
    tips = tooltips(model="Model", run="Run", mean="Score")
    return finish_chart(
        draw(centers, "rule", {"strokeWidth": 1, "strokeDash": [2, 3]}, y=number("center"), color=rule),
        draw(data, "line", {"strokeWidth": 1.5}, color=style["color"], **place),
        draw(data, "point", {"filled": True, "size": 50, "opacity": 1}, tooltip=tips, **style, **place),
        height=260,
        legend=order,
    )


def draw_days(daily: DailyScores, order: Sequence[str]) -> Chart:
    """Draw the score of each day with its interval over the band for a further day, a row for each model."""
    if daily.repeats is None:
        raise InputError("no model has runs of two days and common questions", where=daily.benchmark)
    table, between = daily.columns(), daily.repeats.interval()
    place = np.array([order.index(model) if model in order else -1 for model in table["model"].tolist()])
    rows = np.flatnonzero(place >= 0)
    at = np.array([daily.models.index(model) for model in table["model"][rows].tolist()])
    data = columns_of(
        **{name: table[name][rows] for name in ("model", "day", "n_runs", "mean", "low", "high")},
        # milliseconds since 1970: a browser would show a date without a time as the day before, west of Greenwich
        time=table["day"][rows].astype("datetime64[ms]").astype(np.int64),
        center=daily.repeats.mean[at],
        next_low=between.low[at],
        next_high=between.high[at],
        place=place[rows],
    )
    x = {
        "field": "time",
        "type": "temporal",
        "title": "Day of the runs (UTC)",
        "scale": {"type": "utc", "padding": 12},
        "axis": {"format": "%d %b %y", "tickCount": 5, "labelOverlap": True},
    }
    scale = {"zero": False, "padding": 6}
    low, mean, center, next_low = (
        number(name, title=None, scale=scale) for name in ("low", "mean", "center", "next_low")
    )
    tips = tooltips(model="Model", day="Day", mean="Score", low="Low", high="High", n_runs="Runs")
    tips += tooltips(next_low="Next day, low", next_high="Next day, high")
    return finish_panels(
        draw(None, "area", {"opacity": 0.2, "color": BLUE}, x=x, y=next_low, y2="next_high"),
        draw(None, "line", {"strokeWidth": 1, "strokeDash": [2, 3], "color": GREY}, x=x, y=center),
        draw(None, "rule", {"strokeWidth": 2, "color": BLUE}, x=x, y=low, y2="high", tooltip=tips),
        draw(None, "point", {"filled": True, "size": 60, "opacity": 1, "color": BLUE}, x=x, y=mean, tooltip=tips),
        data=data,
        height=110,
        spacing=10,
    )


def draw_run_widths(widths: RunWidths) -> Chart:
    """Draw the prediction interval after 2, 3, ... runs, and the first number of runs at which it is narrow enough."""
    table, first = widths.columns(), find_narrow_runs(widths)
    data = columns_of(
        **{name: table[name] for name in ("model", "n_runs", "mean", "low", "high", "width")},
        narrow_at=np.array([first[model] or np.nan for model in table["model"].tolist()]),
        place=[list(first).index(model) for model in table["model"].tolist()],
    )
    x = across("n_runs", "Runs", axis=count_axis(table["n_runs"]))
    y = number("low", title=None, scale={"zero": False, "padding": 5})
    tips = tooltips(n_runs="Runs", mean="Mean", low="From", high="To", width="Width")
    dashed = {"strokeDash": [6, 4], "color": ORANGE, "strokeWidth": 2}
    return finish_panels(
        draw(None, "area", {"opacity": 0.35, "color": BLUE}, x=x, y=y, y2="high", tooltip=tips),
        draw(None, "line", {"strokeWidth": 2, "color": BLUE}, x=x, y=number("mean")),
        draw(None, "rule", dashed, x=number("narrow_at", aggregate="min")),
        data=data,
        height=110,
        spacing=10,
    )


def find_narrow_runs(widths: RunWidths) -> dict[str, int | None]:
    """Return after how many runs the interval of each model is first narrow enough; None if it never is."""
    table = widths.columns()
    first: dict[str, int | None] = dict.fromkeys(table["model"].tolist())
    for model, n, is_narrow in zip(table["model"], table["n_runs"].tolist(), table["is_narrow"], strict=True):
        if is_narrow and first[model] is None:
            first[model] = n
    return first
