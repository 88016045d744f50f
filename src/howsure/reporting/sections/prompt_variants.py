"""Sections 4 and 5 of the page: the spread of scores over prompt variants, and how many prompts are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from howsure.reporting.charts import (
    BLUE,
    GREY,
    Chart,
    Layer,
    PlotData,
    across,
    columns_of,
    down_names,
    draw,
    finish_chart,
    finish_panels,
    number,
    repeat_names,
    style_series,
    tooltips,
)
from howsure.reporting.elements import ElementBuilder, Figure, Section, TextTable
from howsure.reporting.formatting import (
    describe_drawn,
    format_count,
    format_each,
    format_level,
    format_number,
    format_share,
    format_shares,
)
from howsure.reporting.prompt_analysis import MAX_TESTED_MODELS, PromptAnalysis
from howsure.reporting.sections.heatmap import MAX_MARKS
from howsure.reporting.sections.unparsed_answers import build_unparsed_figures
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Columns
from howsure.stats.core.text_table import choose_decimals
from howsure.stats.prompts import Concordance, PromptConsistency, RankFlips, UnparsedEffect, VariantSummary

#: Pairs with a row in the table of rank flips, at most.
_MAX_PAIRS = 12


def build_spread_section(
    prompts: PromptAnalysis | None, builder: ElementBuilder, cells: Cells, cube: Cube | None
) -> Section:
    """Build the section with box plots, unparsed answers by prompt, and rank flips of the closest pairs."""
    items = [] if prompts is None else list(build_spread_items(prompts, builder))
    title = "Spread over prompts"
    return Section(
        "prompts-part",
        title,
        title,
        "The same questions in other words. A prompt's score is the mean over the questions; missing ones are "
        "filled in from question and prompt.",
        tuple(items),
        tuple(_list_missing_spread(prompts, items, cells, cube)),
    )


def _list_missing_spread(
    prompts: PromptAnalysis | None, items: Sequence[Figure | TextTable], cells: Cells, cube: Cube | None
) -> Iterator[str]:
    """Yield what the data do not say about the spread over prompts, each with the reason."""
    if prompts is None:
        one = cube is not None or len(cells.variants) == 1
        reason = "one prompt variant" if one else "scores by prompt variant are not known"
        reason += " beside the default prompt" if cube is not None and len(cube.variants) > 1 else ""
        yield f"effects of the prompt, spread over prompts and how many prompts are enough ({reason})"
        return
    if not items:
        reason = "each question has variants of its own" if prompts.cube.nested else "no model has two scores"
        yield f"spread over prompts and how many prompts are enough ({reason})"
    elif prompts.unparsed is None:
        yield "answers that could not be read, by prompt (not recorded)"
    if len(prompts.scored_models) == 1:
        yield "order of models under each prompt (only one model)"


def build_spread_items(prompts: PromptAnalysis, builder: ElementBuilder) -> Iterator[Figure | TextTable]:
    """Yield the items of the section on the spread over prompts; none without a model under two prompts."""
    scored = prompts.scored_models
    if not scored:
        return
    effect, n_variants = prompts.unparsed_effect, len(prompts.cube.drawn.variants)
    builder.add_table("variants", _tabulate_variants(prompts))
    models = scored[: min(MAX_TESTED_MODELS, max(MAX_MARKS // n_variants, 1))]
    yield builder.build_figure(
        "spread",
        describe_spread(prompts.summary, len(models) + len(prompts.cube.models) - len(scored), effect),
        draw_spread(prompts.summary, models),
        table="variants",
        marks=len(models) * n_variants,
    )
    if effect is not None and effect.counts.any():
        yield from build_unparsed_figures(prompts, effect, builder)
    if prompts.consistency is not None and np.any(~np.isnan(prompts.consistency.rate)):
        yield _build_consistency_table(prompts, prompts.consistency, builder)
    if len(scored) > 1:
        yield _build_rank_flip_table(prompts, builder)


def _tabulate_variants(prompts: PromptAnalysis) -> Columns:
    """Return one row per model and variant, with score, share of unparsed answers and values of the variant."""
    cube, scores = prompts.cube, prompts.summary.all_scores
    M, S = scores.shape
    columns: Columns = {
        "model": np.repeat(np.array(cube.models, dtype=object), S),
        "variant": np.tile(np.array(cube.variants, dtype=object), M),
        "default": np.tile([s == cube.default for s in range(S)], M),
        "score": scores.ravel(),
        "n_questions": np.sum(cube.n > 0, axis=1).ravel(),
        "n_generations": cube.n.sum(axis=1).ravel(),
    }
    if prompts.unparsed_effect is not None:
        columns["unparsed"] = prompts.unparsed_effect.share.ravel()
    for name, values in cube.values.items():
        columns[f"value_of_{name}"] = np.tile(np.array(values, dtype=object), M)
    return columns


def _build_consistency_table(
    prompts: PromptAnalysis, consistency: PromptConsistency, builder: ElementBuilder
) -> TextTable:
    """Return the table of how often two prompts give the same answer to a question."""
    builder.add_table("consistency", consistency.columns())
    between = consistency.interval()
    answered = [model for model in prompts.order if model in consistency.models]
    rows_of = [consistency.models.index(model) for model in answered[:MAX_TESTED_MODELS]]
    rows = {
        "Model": [consistency.models[i] for i in rows_of],
        "Questions": format_each(consistency.n_questions[rows_of]),
        "Same answer": format_shares(consistency.rate[rows_of]),
        f"{format_level(between.level)} interval": [
            format_share_interval(float(between.low[i]), float(between.high[i])) for i in rows_of
        ],
        "Same prompt": format_shares(consistency.same_prompt[rows_of]),
        "All alike": format_shares(consistency.unanimous[rows_of]),
    }
    caption = describe_consistency(consistency)
    title = "How often do two prompts give the same answer?"
    return builder.build_text_table("consistency", title, caption, rows, text_columns=1, table="consistency")


def _build_rank_flip_table(prompts: PromptAnalysis, builder: ElementBuilder) -> TextTable:
    """Return the table of rank flips of the pairs with the smallest differences."""
    flips = prompts.rank_flips
    builder.add_table("swaps", flips.columns())
    distance = np.where(flips.n_variants > 0, np.abs(flips.difference), np.inf)
    closest = np.argsort(distance, kind="stable")[:_MAX_PAIRS]
    order = closest.tolist()
    places = min(choose_decimals(np.abs(flips.difference[closest])), 4)
    pairs = [(flips.models_a[i], flips.models_b[i])[:: -1 if flips.difference[i] < 0 else 1] for i in order]
    rows = {
        "Model": [better for better, _ in pairs],
        "Other model": [other for _, other in pairs],
        "Difference": format_each(np.abs(flips.difference[order]), places, sign=True),
        "Flipped, seen": format_shares(flips.swapped[order]),
        "By noise alone": format_shares(flips.swapped_by_noise[order]),
        "Flipped, true": format_shares(flips.swapped_true[order]),
        f"{format_level(flips.level)} interval": [
            format_share_interval(float(flips.true_low[i]), float(flips.true_high[i])) for i in order
        ],
    }
    return builder.build_text_table(
        "swaps",
        "Under how many prompts does the order of two models flip?",
        describe_rank_flips(flips, len(order)) + describe_concordance(prompts.concordance),
        rows,
        text_columns=2,
        table="swaps",
    )


#: Kinds of points in the legend of `draw_spread`.
_MARKS = ("one prompt", "default prompt")

#: Quantiles of a box.
_BOX = {"min": 0.0, "low": 0.25, "median": 0.5, "high": 0.75, "max": 1.0}


def _draw_boxes(data: PlotData | None, colour: str, opacity: float, size: float, **shared: Any) -> list[Layer]:
    """Return boxes from quartile to quartile with the median, on a line from the lowest to the highest score."""
    line = {name: one for name, one in shared.items() if name != "tooltip"}
    scale = {"zero": False, "nice": False, "padding": 8}
    title = "Score under one prompt"
    tick = {"color": colour, "thickness": 3, "size": size}
    return [
        draw(data, "rule", {"color": GREY}, x=across("min", title, scale=scale), x2="max", **line),
        draw(data, "bar", {"color": colour, "opacity": opacity, "size": size}, x=across("low"), x2="high", **shared),
        draw(data, "tick", tick, x=across("median"), **shared),
    ]


def draw_spread(summary: VariantSummary, order: Sequence[str]) -> Chart:
    """Draw the score of each model under each variant: points, a box from quartile to quartile, and the default."""
    moments, variants = summary.moments, summary.cube.drawn.variants
    at = [moments.models.index(model) for model in order]
    scores, (M, S) = moments.scores[at].ravel(), moments.scores[at].shape
    available, has_default = ~np.isnan(scores), bool(np.any(~np.isnan(moments.default[at])))
    style = style_series("part", _MARKS) if has_default else {"color": {"value": BLUE}, "shape": {"value": "circle"}}
    points = columns_of(
        model=repeat_names(order, S)[available],
        variant=np.tile(np.array(variants, dtype=object), M)[available],
        score=scores[available],
        # Multiples of the golden ratio keep the points separate without random numbers.
        height=np.tile((np.arange(S) * 0.6180339887) % 1 - 0.5, M)[available],
        part=[_MARKS[0]] * int(available.sum()),
    )
    quantiles = {name: moments.quantile(q)[at] for name, q in _BOX.items()}
    box = columns_of(model=list(order), **quantiles, default=moments.default[at], part=[_MARKS[1]] * M, height=[0] * M)
    band = 40 if M <= 12 else 26
    place: dict[str, Any] = {
        "y": down_names("model", order),
        "yOffset": number("height", scale={"domain": [-0.8, 0.8]}),
    }
    tips = tooltips(model="Model", min="Lowest", low="Lower quartile", median="Median", high="Upper quartile")
    tips += tooltips(max="Highest", default="Default prompt")
    layers = [
        *_draw_boxes(box, GREY, 0.35, 0.55 * band, tooltip=tips, **place),
        draw(
            points,
            "point",
            {"size": 22, "filled": True, "opacity": 0.75},
            x=across("score"),
            tooltip=tooltips(model="Model", variant="Variant", score="Score"),
            **style,
            **place,
        ),
    ]
    if has_default:
        mark = {"filled": True, "size": 130, "opacity": 1}
        layers.append(draw(box, "point", mark, x=across("default"), tooltip=tips, **style, **place))
    return finish_chart(*layers, height=band * M, legend=_MARKS if has_default else ())


def draw_spreads(summaries: Sequence[VariantSummary], order: Sequence[str]) -> Chart:
    """Draw a box of the scores over the variants for each benchmark and model, a row of boxes per benchmark."""
    rows = [
        (place, summary, model)
        for place, summary in enumerate(summaries)
        for model in order
        if model in summary.moments.models and not np.isnan(summary.moments.scores[summary.cube.index(model)]).all()
    ]
    data = columns_of(
        benchmark=[summary.cube.benchmark for _, summary, _ in rows],
        model=[model for *_, model in rows],
        place=[place for place, *_ in rows],
        **{
            name: [float(summary.moments.quantile(q)[summary.cube.index(model)]) for _, summary, model in rows]
            for name, q in _BOX.items()
        },
    )
    tips = tooltips(benchmark="Benchmark", model="Model", min="Lowest", low="Lower quartile", median="Median")
    tips += tooltips(high="Upper quartile", max="Highest")
    layers = _draw_boxes(None, BLUE, 0.4, 12, y=down_names("model", order), tooltip=tips)
    height = 20 * max(len(order), 1)
    return finish_panels(*layers, data=data, height=height, field="benchmark", own_scales=False)


#: Differences of scores that are rounding.
_ROUNDING = 1e-12


def describe_spread(summary: VariantSummary, n_drawn: int, unread: UnparsedEffect | None) -> str:
    """Describe how far the score depends on the prompt."""
    m = summary.moments
    if m.scores.shape[1] < 2:
        return ""
    low, high = m.quantile(0), m.quantile(1)
    range_of = np.where(high - low > _ROUNDING, high - low, 0 * (high - low))  # NaN stays
    most = int(np.nanargmax(range_of))
    places = choose_decimals(np.sqrt(np.where(m.variance > _ROUNDING**2, m.variance, 0)))
    prompts = format_count(int(np.sum(~np.isnan(m.scores[most]))), "prompt")
    parts = [f"Over {prompts} the score of every model is the same under each of them."]
    if range_of[most] > 0:
        first, last = format_each((low[most], high[most]), places)
        widest = ", the widest range of all models" if np.sum(~np.isnan(range_of)) > 1 else ""
        text = (
            f"Over {prompts} the score of {m.models[most]} goes from {first} to {last}{widest}; a range grows with the "
        )
        parts = [f"{text}number of prompts."]
    true = np.sqrt(np.maximum(m.corrected, 0))
    true = true[~np.isnan(true)]
    if len(true):
        parts.append(
            "The standard deviation over prompts, without the noise of sampling, is "
            f"{format_number(float(np.median(true)), choose_decimals(true))}"
            f"{' (median over models)' if len(m.models) > 1 else ''}."
        )
    elif np.any(summary.components.fit.questions > 1):
        parts.append(
            "How much of this is the noise of sampling is not known from one generation per question and prompt."
        )
    count = np.sum(~np.isnan(m.scores), axis=1)
    if (available := ~np.isnan(m.default) & (count > 0)).any():
        below = np.sum(m.scores < m.default[:, None], axis=1)[available]
        better = int(np.sum(below > count[available] / 2))
        parts.append(
            "The default prompt (diamond), which was chosen and not drawn, scores higher than half of those that were "
            f"drawn for {better:,} of {format_count(len(below), 'model')}."
        )
    if unread is not None and not unread.counts.any():
        parts.append("Every answer could be read: none of this spread is the parser's.")
    parts.append("Boxes go from quartile to quartile, with the median; lines to the extremes.")
    return " ".join(parts) + describe_drawn(
        n_drawn, len(m.models), ", the first of their order; the numbers are over all"
    )


def describe_rank_flips(flips: RankFlips, n_rows: int) -> str:
    """Describe how often the prompt decides which of two models scores higher."""
    pairs, level = format_count(len(flips.difference), "pair"), format_level(flips.level)
    n_flipped = int(np.sum(flips.swapped > 0))
    n_sure = int(np.sum(flips.columns()["p_swap_holm"] < 1 - flips.level))
    text = f"The order of {n_flipped:,} of {pairs} flips, or is a tie, under at least one prompt. "
    if np.any(~np.isnan(flips.swapped_by_noise)):
        text += (
            f"Noise flips orders, too: a true flip is sure for {n_sure:,} of {pairs} (test of Gail and Simon, adjusted "
            f"for all pairs by Holm, at {level}). True: the share of the space's prompts, noise of questions and "
            "generations taken out, with its interval; for effects of the prompt that are normal."
        )
    else:
        text += (
            "The noise of one prompt's score is unknown here, so true flips and flips by chance cannot be separated."
        )
    n_pairs = len(flips.difference)
    return text + (f" The {n_rows} closest of {n_pairs:,} pairs; the download has all." if n_rows < n_pairs else "")


def describe_concordance(concordance: Concordance) -> str:
    """Describe how far the prompts agree on the order of more than two models."""
    w, M = concordance.kendall_w, len(concordance.models)
    if np.isnan(w) or M < 3:
        return ""
    between = concordance.interval()
    low, high = float(between.low[0]), float(between.high[0])
    interval = "" if np.isnan(low) else f", {format_level(between.level)} interval {low:.2f} to {high:.2f}"
    return (
        f" Over all {M:,} models Kendall's W is {w:.2f} (1: every prompt gives the same order{interval}); the mean "
        f"rank correlation of two prompts is {format_number(concordance.mean_correlation, 2)}."
    )


def describe_consistency(consistency: PromptConsistency) -> str:
    """Describe how often two prompts give the same answer to a question, and what the columns of the table mean."""
    rate = consistency.rate[~np.isnan(consistency.rate)]
    low, high = format_shares((rate.min(), rate.max()))
    cases = f"{high} of the cases" if low == high else f"{low} to {high} of the cases, depending on the model"
    same = "the same for two generations under one prompt, which is what sampling alone changes"
    if np.all(np.isnan(consistency.same_prompt)):
        same = "unknown, because each prompt has one generation per question"
    return (
        f"Under two prompts the same question is answered alike in {cases}; the interval is for new "
        f"questions and new prompts. Same prompt: {same}. All alike: questions with one answer under all prompts. An "
        "answer that could not be parsed is equal to no other."
    )


def format_share_interval(low: float, high: float) -> str:
    """Format the limits of a share; an en dash if they are unknown."""
    return "–" if np.isnan(low + high) else f"{format_share(low)} to {format_share(high)}"
