"""Section 5 of the page: how many prompts are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts import (
    GREY,
    MAX_SERIES,
    Chart,
    Layer,
    across,
    columns_of,
    count_axis,
    draw,
    finish_chart,
    number,
    repeat_names,
    style_series,
    tooltips,
)
from howsure.reporting.elements import ElementBuilder, Figure, Section, TextTable
from howsure.reporting.formatting import describe_drawn, format_level, join_names
from howsure.reporting.prompt_analysis import MAX_TESTED_MODELS, PromptAnalysis
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.claims import MOMENTS, Moment
from howsure.stats.prompts import SampleSize


def build_sample_size_section(prompts: PromptAnalysis | None, builder: ElementBuilder) -> Section:
    """Build the section on the number of prompts that is needed."""
    items = [] if prompts is None else list(build_sample_size_items(prompts, builder))
    lead = (
        "A sample of prompts is enough when the mean and the variance of the score over it are within ε of what "
        "they are over all, with probability 1 − δ."
    )
    return Section("enough-part", "How many prompts are enough", "How many prompts", lead, tuple(items))


def _format_n_star(sizes: SampleSize, model: int, moment: Moment) -> str:
    """Return n* of a model, or why there is none."""
    j = MOMENTS.index(moment)
    n = float(sizes.n_star[model, j])
    if np.isnan(n):
        return format_prompts(n)
    if moment == "variance" and sizes.exceeds_variance[model]:
        return "ε too large"
    return format_prompts(n) if sizes.reached[model, j] else "not reached"


def build_sample_size_items(prompts: PromptAnalysis, builder: ElementBuilder) -> Iterator[Figure | TextTable]:
    """Yield the convergence of the mean and the variance over prompts, and the table of n*."""
    if not prompts.scored_models:
        return
    sizes = prompts.summary.sample_size
    for moment in MOMENTS:
        models, neediest = prompts.pick_models(MAX_SERIES), find_neediest_model(sizes, moment)
        if neediest is not None and neediest not in models:
            models = [*models[:-1], neediest]
        yield builder.build_figure(
            f"convergence-{moment}",
            describe_convergence(sizes, moment, len(models)),
            draw_convergence(sizes, moment, models),
            marks=len(prompts.cube.drawn.variants) * len(models),
            figure="convergence",
            moment=moment,
        )
    builder.add_table("enough", sizes.columns())
    low, high = sizes.space_limits(prompts.level)
    rows_of = [sizes.models.index(model) for model in prompts.scored_models[:MAX_TESTED_MODELS]]
    rows = {
        "Model": [sizes.models[i] for i in rows_of],
        "Prompts": [f"{int(sizes.n_variants[i]):,}" for i in rows_of],
    }
    for j, moment in enumerate(MOMENTS):
        # as the command `variants` prints it
        rows[f"n*, {moment}"] = [_format_n_star(sizes, i, moment) for i in rows_of]
        rows[f"Space, {moment}"] = [
            format_prompts_interval(sizes.n_star_space[i, j], low[i, j], high[i, j]) for i in rows_of
        ]
        rows[f"Noise-free, {moment}"] = [
            format_prompts_interval(
                sizes.n_star_space_corrected[i, j], sizes.corrected_low[i, j], sizes.corrected_high[i, j]
            )
            for i in rows_of
        ]
    caption = describe_sample_sizes(sizes, prompts.level)
    yield builder.build_text_table(
        "enough", "How many prompts are enough?", caption, rows, text_columns=1, table="enough"
    )


def describe_convergence(sizes: SampleSize, moment: str, n_drawn: int) -> str:
    """Describe how many variants bring a moment within epsilon of that over all variants, the most needed first."""
    row = MOMENTS.index(moment)
    n, N = sizes.n_star[:, row], sizes.n_variants
    available = ~np.isnan(n)
    vague = available & sizes.exceeds_variance if moment == "variance" else np.zeros(len(n), bool)
    reached = sizes.reached[:, row] & available & ~vague
    parts = []
    if reached.any():
        most = [i for i in np.argsort(-n, kind="stable").tolist() if reached[i]]
        each = join_names([f"{sizes.models[i]} {int(n[i]):,} of {N[i]:,}" for i in most])
        parts.append(
            f"From n* prompts on (a point), the {moment} is with {format_level(1 - sizes.delta / 2)} chance within "
            f"{sizes.epsilon:g} of that over all: {each}."
        )
    if (missed := available & ~reached & ~vague).any():
        parts.append(f"The number n* is not reached (a hollow point) for {_join(sizes, missed)}.")
    if vague.any():
        parts.append(
            f"ε = {sizes.epsilon:g} is not below the variance of {_join(sizes, vague)}, so that n* says nothing there: "
            "choose a smaller ε."
        )
    parts.append("A curve ends at 0 by construction, so that n* is too small where it is not far below all prompts.")
    return " ".join(parts) + describe_drawn(n_drawn, len(sizes.models))


def _join(sizes: SampleSize, which: NDArray[np.bool_]) -> str:
    """Return the names of some models."""
    return join_names([model for model, is_one in zip(sizes.models, which, strict=True) if is_one])


def find_neediest_model(sizes: SampleSize, moment: str) -> str | None:
    """Return the model whose n* the sentence on a moment names as the largest; None where it names none."""
    row = MOMENTS.index(moment)
    n = np.where(sizes.reached[:, row], sizes.n_star[:, row], np.nan)
    if moment == "variance":
        n = np.where(sizes.exceeds_variance, np.nan, n)
    return None if np.all(np.isnan(n)) else sizes.models[int(np.nanargmax(n))]


def describe_sample_sizes(sizes: SampleSize, level: float = 0.95) -> str:
    """Describe how many new prompts from the space are needed, compared with the variants at hand."""
    space = np.fmax(*sizes.n_star_space.T)  # two prompts do not determine the variance
    if np.all(np.isnan(space)):
        return "Two prompts or more are needed to say how many are enough."
    most = int(np.nanargmax(space))
    low, high = (end[most, int(np.nanargmax(sizes.n_star_space[most]))] for end in sizes.space_limits(level))
    which = ", the most of all models" if len(space) > 1 else ""
    return (
        f"For new prompts from the same space, {sizes.models[most]} needs "
        f"{format_prompts_interval(space[most], low, high)} for both moments{which}; the data have "
        f"{int(sizes.n_variants[most]):,}. Column n*: the number from which on the prompts at hand are enough; ε too "
        "large: not below the variance itself. Space: what new prompts from the space take, with "
        f"{format_level(level)} intervals, when each is scored on as many questions with as many generations as here. "
        "Noise-free: the same if the score of each prompt had no noise of its own; –: unknown. "
        f"ε = {sizes.epsilon:g}, δ = {sizes.delta:g}."
    )


def format_prompts_interval(value: float, low: float, high: float) -> str:
    """Format a number of prompts with its interval, if that is known."""
    return (
        format_prompts(value)
        if np.isnan(low + high)
        else f"{format_prompts(value)} ({format_prompts(low)} to {format_prompts(high)})"
    )


def format_prompts(value: float) -> str:
    """Format a number of prompts; an en dash if it is unknown."""
    return "–" if np.isnan(value) else f"{int(value):,}"


def _draw_deviations(
    curves: Mapping[str, tuple[SampleSize, str, FloatArray]], moment: str, more: Mapping[str, FloatArray]
) -> tuple[list[Layer], list[Layer], dict[str, Any]]:
    """Return the lines of deviations against the number of variants, the points at n*, and the channels of both.

    `curves` has the results, the model and the deviations by the name of the curve; `more` further columns. A filled
    point marks n*; a hollow point at the end of a curve means that n* is not reached.
    """
    row, order = MOMENTS.index(moment), list(curves)
    lengths = [len(deviations) for *_, deviations in curves.values()]
    numbers = np.concatenate([np.arange(1, length + 1) for length in lengths])
    data = columns_of(
        model=repeat_names(order, lengths),
        n=numbers,
        deviation=np.concatenate([deviations for *_, deviations in curves.values()]),
        **more,
    )
    style = style_series("model", order, dashes=True)
    # Without a precision Vega takes one from the ticks, and may write .12 as 0.1.
    y = number("deviation", title=f"|{moment} of n − {moment} of all|", axis={"format": ".4~g"})
    tips = tooltips(model="Model", n="Variants", deviation="Deviation")
    tips += tooltips(low="Low", high="High") if more else []
    shared = {"x": across("n", "Prompt variants", axis=count_axis(numbers)), "y": y, "tooltip": tips, **style}
    stars: dict[bool, list[tuple[str, int, float]]] = {True: [], False: []}
    for name, (sizes, model, deviations) in curves.items():
        m = sizes.models.index(model)
        if not np.isnan(n_star := sizes.n_star[m, row]):
            stars[bool(sizes.reached[m, row])].append((name, int(n_star), float(deviations[int(n_star) - 1])))
    points = []
    for is_reached, each in stars.items():
        if each:
            names, at, deviation = zip(*each, strict=True)
            mark = {"filled": is_reached, "size": 80, "opacity": 1, "strokeWidth": 2}
            channels = {name: shared[name] for name in ("x", "y", "tooltip", "color")}
            points.append(draw(columns_of(model=names, n=at, deviation=deviation), "point", mark, **channels))
    return [draw(data, "line", {"strokeWidth": 2}, **shared)], points, shared


def draw_convergence(sizes: SampleSize, moment: str, order: Sequence[str]) -> Chart:
    """Draw the percentile of |moment of n - moment of all| against n for a few models, with n* and epsilon."""
    row = MOMENTS.index(moment)
    lines, points, shared = _draw_deviations(
        {model: (sizes, model, sizes.convergence(model)[row]) for model in order}, moment, {}
    )
    epsilon = columns_of(epsilon=[float(sizes.epsilon)], text=[f"ε = {sizes.epsilon:g}"])
    y = number("epsilon", title=shared["y"]["title"])
    # The label is where no curve is: before the first n, unless that is too near.
    is_short = len(sizes.scores[0]) <= 40
    label = {"align": "left" if is_short else "right", "baseline": "bottom", "dx": 4 if is_short else -4, "dy": -3}
    x, text = {"value": 0 if is_short else "width"}, {"field": "text", "type": "nominal"}
    return finish_chart(
        draw(epsilon, "rule", {"color": GREY, "strokeWidth": 1.5}, y=y),
        *lines,
        draw(epsilon, "text", label, x=x, y=y, text=text),
        *points,
        height=260,
        legend=order,
    )


def draw_deviation_bands(curves: Mapping[str, tuple[SampleSize, str]], moment: str) -> Chart:
    """Draw the mean deviation of a moment of n variants, its central band, and n* of each curve.

    `curves` has results and the name of the model, by the name of the curve.
    """
    bands = {name: sizes.bands(model)[:, MOMENTS.index(moment)] for name, (sizes, model) in curves.items()}
    low, high = np.concatenate(list(bands.values()), axis=1)[1:]
    with_mean = {name: (*curves[name], band[0]) for name, band in bands.items()}
    lines, points, shared = _draw_deviations(with_mean, moment, {"low": low, "high": high})
    low_end = number("low", title=shared["y"]["title"])
    channels = {name: shared[name] for name in ("x", "color", "tooltip")}
    area = draw(lines[0]["data"], "area", {"opacity": 0.18}, y=low_end, y2="high", **channels)
    chart = finish_chart(area, *lines, *points, height=260, legend=list(curves))
    chart["config"]["legend"]["symbolOpacity"] = 1  # and not that of the bands
    return chart
