"""Section 3 of the page: where the noise of a score comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.reporting.charts import (
    BLUE,
    GREY,
    MAX_SERIES,
    ORANGE,
    Chart,
    across,
    columns_of,
    dodge,
    down_names,
    draw,
    draw_zero,
    finish_chart,
    repeat_names,
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
    format_p_value,
    format_share,
    format_shares,
    join_names,
)
from howsure.reporting.prompt_analysis import PromptAnalysis
from howsure.reporting.sections.score_table import MAX_MODELS, MAX_OPEN_MODELS
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.claims import PROMPT_COMPONENTS
from howsure.stats.core.text_table import choose_decimals
from howsure.stats.prompts import MIN_VARIANTS, DimensionShares, Effects, PromptComponents, UnparsedEffect
from howsure.stats.scores import Scores

#: Largest number of models with a row of variance components.
_MAX_COMPONENT_MODELS = 20

Mask = NDArray[np.bool_]

#: Components in the words of the caption.
_MEANINGS = {
    "question": "the question",
    "variant": "the prompt",
    "interaction": "prompts that suit one question and not another",
    "generation": "sampling again",
}

#: Added to the caption of data and prediction noise when there are several prompts.
POOLED_PROMPTS = (
    "Generations are pooled over all prompts here, so that what the prompt changes is in the prediction part."
)


def build_noise_section(
    scores: Scores,
    order: Sequence[str],
    prompts: PromptAnalysis | None,
    builder: ElementBuilder,
    *,
    has_questions: bool,
) -> Section:
    """Build the section on data and prediction noise and, with several prompts, on variance components and effects."""
    figures: list[Figure | TextTable] = []
    left_out: list[str] = []
    if prompts is None or np.all(np.isnan(prompts.summary.components.residual)):  # else prompts are a part of their own
        figures += _build_noise_figure(scores, order, builder, pooled=prompts is not None)
        reason = "one question" if has_questions else "scores of the whole benchmark"
        left_out = [] if figures else [f"noise of questions and sampling ({reason})"]
    lead = (
        "A score would change on other questions (data noise) and if the model were sampled again (prediction "
        "noise). Variances add up; standard errors do not."
    )
    if prompts is not None:
        figures += build_prompt_noise_figures(prompts, builder)
        lead += (
            " With several prompts the score would also change under other prompts. An effect is a change of the score "
            "over all questions. The effects of all dimensions are estimated together, or one at a time "
            "where prompts are too few for that."
        )
        left_out += _list_missing_effects(prompts)
    title = "Where the noise comes from"
    return Section("noise-part", title, title, lead, tuple(figures), tuple(left_out))


def _build_noise_figure(
    scores: Scores, order: Sequence[str], builder: ElementBuilder, *, pooled: bool
) -> Iterator[Figure]:
    """Yield the figure of data and prediction noise; `pooled`: generations are from several prompts."""
    if np.isnan(scores.total).all():  # one question
        return
    rows = order[:MAX_MODELS]
    yield builder.build_figure(
        "noise",
        describe_noise_parts(scores, len(rows)) + (f" {POOLED_PROMPTS}" if pooled else ""),
        draw_noise_parts(scores, rows),
        table="scores",
        marks=4 * len(rows),
        is_folded=len(rows) > MAX_OPEN_MODELS,
    )


def build_prompt_noise_figures(prompts: PromptAnalysis, builder: ElementBuilder) -> Iterator[Figure | TextTable]:
    """Yield the variance components, the table of dimensions, and the effects of each, the most important first."""
    components = prompts.summary.components
    available = [model for model in prompts.order if not np.isnan(components.residual[prompts.cube.index(model)])]
    if available:
        builder.add_table("components", components.columns())
        rows = available[:_MAX_COMPONENT_MODELS]
        caption = describe_variance_components(components)
        caption += describe_drawn(len(rows), len(available), ", the first of their order; the numbers are over all")
        yield builder.build_figure(
            "sources", caption, draw_variance_components(components, rows), table="components", marks=8 * len(rows)
        )
    if prompts.scored_models and prompts.estimated_dimensions:
        yield from _build_effect_figures(prompts, builder)


def _build_effect_figures(prompts: PromptAnalysis, builder: ElementBuilder) -> Iterator[Figure | TextTable]:
    """Yield the table of dimensions, and one figure for each dimension of the prompt with estimated effects."""
    effects = prompts.effects
    builder.add_table("effects", effects.columns())
    models = prompts.pick_models(MAX_SERIES)
    yield _build_share_table(prompts, models, builder)
    rows = [effects.models.index(model) for model in models]
    reach = _axis_reach(effects, rows)
    for place, name in enumerate(prompts.estimated_dimensions, 1):
        columns = [
            i
            for i, dimension in enumerate(effects.dimensions)
            if dimension == name and not np.all(np.isnan(effects.effect[rows, i]))
        ]
        if not columns:
            continue
        columns.sort(key=lambda i: -float(np.nanmean(effects.effect[rows, i])))
        caption = describe_effects(effects, name, len(models), prompts.unparsed_effect)
        yield builder.build_figure(
            f"effect-{place}",
            caption + _describe_cut_intervals(effects, rows, columns, reach),
            draw_effects(effects, name, models, [effects.values[i] for i in columns], reach=reach),
            table="effects",
            marks=3 * len(columns) * len(models),
            figure="effect",
            dimension=name,
        )


def _build_share_table(prompts: PromptAnalysis, models: Sequence[str], builder: ElementBuilder) -> TextTable:
    """Return the table with a row for each model and dimension, the dimension that explains most variance first."""
    shares = prompts.shares
    columns = shares.columns()
    columns["share_of_variance"] = columns.pop("share")
    builder.add_table("dimensions", columns)
    names = [*prompts.estimated_dimensions, *(d for d in shares.dimensions if d not in prompts.estimated_dimensions)]
    order = [
        shares.effects.models.index(model) * len(names) + shares.dimensions.index(name)
        for model in models
        for name in names
    ]
    effect = columns["effect"][order]
    places = min(choose_decimals(np.abs(effect[~np.isnan(effect)])), 3)
    low, high = (format_shares(columns[end][order]) for end in ("low", "high"))
    words = {"Dimension": "dimension", "Value with the largest effect": "value"}
    if len(shares.effects.models) > 1:
        words = {"Model": "model", **words}
    rows = {heading: [str(columns[name][i]) or "–" for i in order] for heading, name in words.items()}
    rows |= {
        "Effect": format_each(effect, places, sign=True),
        "Values": format_each(columns["n_values"][order]),
        "Share": format_shares(columns["share_of_variance"][order]),
        f"{format_level(shares.level)} interval": [
            a if a == b else f"{a} to {b}" for a, b in zip(low, high, strict=True)
        ],
        "p, Holm": [format_p_value(float(p)) for p in columns["p_holm"][order]],
        "Detectable": format_shares(columns["detectable_share"][order]),
    }
    return builder.build_text_table(
        "dimensions",
        "Which dimension of the prompt matters?",
        describe_shares(shares) + describe_drawn(len(models), len(shares.effects.models), ", spread over their order"),
        rows,
        text_columns=len(words),
        table="dimensions",
    )


def _axis_reach(effects: Effects, rows: Sequence[int]) -> float:
    """Return the end of the axis: three times the largest effect, or the farthest interval if that is nearer."""
    interval = effects.interval()
    largest = float(np.nanmax(np.abs(effects.effect[rows]), initial=0))
    ends = np.abs(np.stack([interval.low[rows], interval.high[rows]]))
    return max(min(3 * largest, float(np.nanmax(ends, initial=largest))), 1e-6) * 1.03


def _describe_cut_intervals(effects: Effects, rows: Sequence[int], columns: Sequence[int], reach: float) -> str:
    """Return a sentence if some interval extends beyond the axis."""
    interval, place = effects.interval(), np.ix_(rows, columns)
    beyond = (interval.high[place] > reach) | (interval.low[place] < -reach)
    return " Intervals that reach the edge of the figure are cut there." if beyond.any() else ""


def _list_missing_effects(prompts: PromptAnalysis) -> Iterator[str]:
    """Yield the effects of dimensions that cannot be estimated, each with the reason."""
    if not prompts.scored_models or not prompts.cube.values:
        reason = "the values of the variants are not recorded"
        if not prompts.scored_models:
            nested = prompts.cube.nested
            reason = "each question has variants of its own" if nested else "no model has two scores"
        yield f"effects of the dimensions of the prompt ({reason})"
    else:
        for names, why in prompts.list_missing_dimensions():
            yield f"effects of {join_names(names, most=len(names))} ({why})"


def describe_noise_parts(scores: Scores, n_drawn: int) -> str:
    """Describe which of data and prediction noise is larger, and for how many models; `n_drawn` are drawn."""
    available = ~np.isnan(scores.prediction) & ~np.isnan(scores.data)
    if not available.any():
        return (
            "The bars are the variance of one generation on one question. With one generation per question its parts, "
            "data and prediction, cannot be separated."
        )
    data, prediction = scores.data[available], scores.prediction[available]
    if available.all() and not np.any(data) and not np.any(prediction):
        return "No two scores of a model differ, so that there is no variance to draw."
    of_which = " whose parts are known" if not available.all() else ""
    text = (
        "Of the variance of one generation per question, data noise (which questions) is the larger part for "
        f"{int(np.sum(data > prediction)):,} and prediction noise (sampling again) for "
        f"{int(np.sum(data < prediction)):,} of {format_count(len(data), 'model')}{of_which}. More generations per "
        "question shrink the prediction part only."
    )
    if np.any(scores.cells.n > 1):
        text += " Thin bars: the same with the generations at hand, the shares of the table of scores."
    if np.any(data < 0):
        text += " A negative estimate of data noise is drawn as 0."
    return text + describe_drawn(n_drawn, len(available), ", the first of their order; the counts are over all")


def describe_variance_components(components: PromptComponents) -> str:
    """Describe which component is the largest, and the share of the choice of prompts in the error of a mean."""
    each = np.stack([np.maximum(getattr(components, name), 0) for name in PROMPT_COMPONENTS])
    total = each.sum(axis=0)  # NaN where a part is unknown, 0 where every answer scored the same
    available = total > 0
    if available.any():
        each = np.where(each < 1e-9 * total, 0, each)  # differences by rounding are not noise
        shares = format_shares(np.median(each[:, available] / total[available], axis=1))
        texts = [f"{_MEANINGS[name]} {share}" for name, share in zip(PROMPT_COMPONENTS, shares, strict=True)]
        median = " (median over models)" if available.sum() > 1 else ""
        text = f"Of the variance of one generation{median}: {join_names(texts)}."
    elif np.any(total == 0):
        text = "Every answer of a model scored the same: there is no variance to divide."
    elif components.layout.nested:
        text = "Each question has variants of its own: what the prompt adds is seen within questions only."
    elif np.any(~np.isnan(components.residual)):
        text = (
            "With one generation in each question and prompt, sampling again and prompts that suit one question and "
            "not another are one component."
        )
    else:
        text = "These data do not separate the components."
    prompt = np.maximum(components.parts, 0)[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = prompt / components.variance()
    if (alone := alone[np.isfinite(alone)]).size:
        median = " (median)" if alone.size > 1 else ""
        text += (
            " In the squared error of the mean for new questions in new prompts, the choice of prompts is "
            f"{format_share(float(np.median(alone)))}{median}."
        )
    return text + " Lines are intervals; the scale is of square roots, so that distance from 0 is a standard deviation."


def describe_effects(
    effects: Effects,
    dimension: str,
    n_drawn: int,
    unread: UnparsedEffect | None = None,
) -> str:
    """Describe the best and the worst value of a dimension, and the values with few draws; `n_drawn` models are drawn.

    `unread` are the answers that could not be read, where the source says.
    """
    columns = [i for i, name in enumerate(effects.dimensions) if name == dimension]
    interval = effects.interval()
    excludes_zero = (interval.low[:, columns] > 0) | (interval.high[:, columns] < 0)
    available = ~np.isnan(effects.effect[:, columns])
    parts = []
    if available.any():
        n_clear, n = int(excludes_zero.sum()), int(available.sum())
        parts += _extremes(effects, columns, excludes_zero, available)
        parts.append(
            f"{n_clear:,} of {format_count(n, 'interval')} {'leaves' if n_clear == 1 else 'leave'} out 0, where about "
            f"{n * (1 - effects.level):.2g} would by chance alone."
        )
    few = [effects.values[i] for i in columns if 0 < effects.n_variants[:, i].max(initial=0) < MIN_VARIANTS]
    if few:
        parts.append(
            f"Drawn fewer than {MIN_VARIANTS} times (hollow), to be read with care: {join_names(few, most=6)}."
        )
    if not available.all():
        parts.append("An effect that cannot be separated from others, because of too few draws, is not drawn.")
    if unread is not None and unread.varies.any():
        blamed = [unread.values.values[i] for i in unread.values.blamed if unread.values.dimensions[i] == dimension]
        if blamed:
            parts.append(
                f"With {blamed[0]} more answers could not be read than with the others: is it the prompt, or the "
                "parser? See Spread over prompts."
            )
    return " ".join(parts) + describe_drawn(n_drawn, len(effects.models), "; the numbers are over all")


def _extremes(effects: Effects, columns: list[int], excludes_zero: Mask, available: Mask) -> list[str]:
    """Describe the best and worst value of those drawn often enough, or whose interval mostly excludes 0."""
    mean = _mean(effects.effect[:, columns])
    some = ~np.isnan(mean)
    certain = (effects.n_variants[:, columns].max(axis=0) >= MIN_VARIANTS) | (
        2 * excludes_zero.sum(axis=0) >= available.sum(axis=0)
    )
    selected = np.where(some & certain, mean, np.nan) if np.sum(some & certain) > 1 else mean
    if some.sum() < 2:
        return []
    ends = [int(np.nanargmax(selected)), int(np.nanargmin(selected))]
    over = ", mean over models" if len(effects.models) > 1 else ""
    if mean[ends[0]] - mean[ends[1]] <= 1e-12:
        return [f"All of its values score alike{' in the mean over models' if over else ''}."]
    places = min(choose_decimals(np.sqrt(effects.variance[:, columns]).ravel()), 3)
    best, worst = (effects.values[columns[i]] for i in ends)
    high, low = format_each(mean[ends], places, sign=True)
    few = " of those drawn often enough" if np.any(some & np.isnan(selected)) else ""
    return [f"{best} scores highest ({high}{over}) and {worst} lowest ({low}){few}."]


def _mean(values: FloatArray) -> FloatArray:
    """Return the mean over models; NaN if none is known."""
    there = ~np.isnan(values)
    mean: FloatArray = np.sum(values, axis=0, where=there) / np.where(there.any(axis=0), there.sum(axis=0), np.nan)
    return mean


#: The two bars of a model in `draw_noise_parts`.
_ONE, _AT_HAND = "one generation per question", "the generations at hand"


def draw_noise_parts(scores: Scores, order: Sequence[str]) -> Chart:
    """Draw data and prediction variance of each model, stacked: of one generation, and of the generations at hand."""
    at = [scores.models.index(m) for m in order]
    unknown = np.full(len(at), np.nan)
    available = ~np.isnan(scores.prediction[at])
    data = np.where(available, np.maximum(scores.data[at], 0), np.nan)
    # N SE^2 of sampling these questions again is E/k
    sampling = (1 - scores.data_share[at]) * scores.variance[at] * scores.n_questions[at]
    has_several = np.any(scores.cells.n[at] > 1, axis=1)
    bars = {_ONE: np.where(available, scores.prediction[at], np.nan)}
    if has_several.any():
        bars[_AT_HAND] = np.where(available & has_several, sampling, np.nan)
    rows = [
        (bar, part, values)
        for bar, prediction in bars.items()
        for part, values in (
            ("data", data if bar == _ONE else np.where(np.isnan(prediction), np.nan, data)),
            ("prediction", prediction),
            ("both together", np.where(available, np.nan, scores.total[at]) if bar == _ONE else unknown),
        )
        if not np.all(np.isnan(values))
    ]
    colours = {"data": BLUE, "prediction": ORANGE, "both together": GREY}
    names = [name for name in colours if any(part == name for _, part, _ in rows)]
    columns = columns_of(
        model=list(order) * len(rows),
        generations=[bar for bar, _, _ in rows for _ in order],
        part=[part for _, part, _ in rows for _ in order],
        place=[names.index(part) for _, part, _ in rows for _ in order],
        variance=np.concatenate([np.zeros(0), *(values for _, _, values in rows)]),
    )
    several = len(bars) > 1
    style = style_values("part", names, least=1, color=[colours[name] for name in names])
    layers = [
        draw(
            columns,
            "bar",
            {"height": {"band": 0.5 if bar == _ONE and several else 0.8 if bar == _ONE else 0.2}, "yOffset": offset},
            only=("generations", [bar]),
            x=across("variance", "Variance per question", stack="zero"),
            y=down_names("model", order),
            order={"field": "place", "type": "ordinal"},
            tooltip=tooltips(model="Model", generations="Variance with", part="Noise", variance="Variance"),
            **style,
        )
        for bar, offset in zip(bars, (-4, 6) if several else (0,), strict=True)
    ]
    return finish_chart(*layers, height=24 * len(order))


#: Components in the words of the figure.
_PARTS = {"question": "question", "variant": "prompt", "interaction": "question × prompt", "generation": "generation"}


def draw_variance_components(components: PromptComponents, order: Sequence[str]) -> Chart:
    """Draw variance components with intervals, on a scale where distance from 0 is a standard deviation."""
    at = [components.layout.names.index(model) for model in order]
    unknown = np.full(len(at), np.nan)
    both = "prompt and generation" if components.layout.nested else "question × prompt and generation"
    rows = [
        (_PARTS[name], getattr(components, name)[at], *(end[at] for end in components.limits(name)))
        for name in PROMPT_COMPONENTS
    ]
    rows.append((both, np.where(components.layout.split[at], np.nan, components.residual[at]), unknown, unknown))
    rows = [row for row in rows if not np.all(np.isnan(row[1]))]
    value, low, high = (np.concatenate([np.zeros(0), *(row[i] for row in rows)]) for i in (1, 2, 3))
    parts = [row[0] for row in rows]
    data = columns_of(
        model=list(order) * len(rows),
        component=repeat_names(parts, len(order)),
        place=np.repeat(np.arange(len(rows)), len(order)),
        variance=value,
        drawn=np.maximum(value, 0),
        low=low,
        high=high,
    )
    shared: dict[str, Any] = {
        "y": down_names("model", order),
        "yOffset": dodge(len(rows)),
        "tooltip": tooltips(model="Model", component="Component", variance="Variance", low="Low", high="High"),
    }
    style = style_series("component", parts)
    # No wider than twice the largest estimate: one interval from few variants would hide all others.
    widest = max(2 * float(np.nanmax(value, initial=0)), 1e-12)
    widest = min(widest, max(float(np.nanmax(high, initial=0)), float(np.nanmax(value, initial=0)) * 1.05, 1e-12))
    x = across("low", "Variance", scale={"type": "sqrt", "domain": [0, widest], "nice": False})
    return finish_chart(
        draw(data, "rule", {"strokeWidth": 2, "clip": True}, x=x, x2="high", color=style["color"], **shared),
        draw(data, "point", {"filled": True, "size": 55, "opacity": 1}, x=across("drawn"), **style, **shared),
        height=len(order) * (8 + 10 * len(rows)),
        legend=parts,
    )


def draw_effects(
    effects: Effects, dimension: str, order: Sequence[str], values: Sequence[str], *, reach: float
) -> Chart:
    """Draw the effects of the values of one dimension on a few models, from top to bottom in the order of `values`.

    `reach` is the end of the axis, the same for all dimensions; intervals beyond it are cut.
    """
    between = effects.interval()
    at = np.flatnonzero([of == dimension for of in effects.dimensions])
    rows = np.repeat([effects.models.index(model) for model in order], len(at))
    columns = np.tile(at, len(order))
    times, few = effects.n_variants[rows, columns], f"drawn fewer than {MIN_VARIANTS} times"
    data = columns_of(
        model=[effects.models[m] for m in rows],
        place=np.repeat(np.arange(len(order)), len(at)),
        value=[effects.values[i] for i in columns],
        effect=effects.effect[rows, columns],
        low=between.low[rows, columns],
        high=between.high[rows, columns],
        n_variants=times,
        text=np.where(times < MIN_VARIANTS, few, "enough").tolist(),
    )
    tips = tooltips(model="Model", value="Value", effect="Effect", low="Low", high="High", n_variants="Variants")
    shared: dict[str, Any] = {
        "y": down_names("value", values),
        "yOffset": dodge(len(order)),
        "tooltip": tips + tooltips(text="Draws"),
    }
    style, title = style_series("model", order), "Effect on the score"
    x = across("low", title, scale={"domain": [-reach, reach], "nice": False})
    points = [
        draw(
            data,
            "point",
            {"filled": text == "enough", "size": 55, "opacity": 1, "clip": True},
            only=("text", [text]),
            x=across("effect"),
            **style,
            **shared,
        )
        for text in ("enough", few)
    ]
    return finish_chart(
        draw_zero(title),
        draw(data, "rule", {"strokeWidth": 2, "clip": True}, x=x, x2="high", color=style["color"], **shared),
        *points,
        height=len(values) * (10 + 10 * len(order)),
        legend=order,
    )


#: Differences of scores that are rounding.
_ROUNDING = 1e-12


def describe_shares(shares: DimensionShares) -> str:
    """Describe which dimensions have an effect, and what the columns of their table mean."""
    significant = shares.p_holm < 1 - shares.level
    unclear = shares.unclear & ~significant
    if not np.any(~np.isnan(shares.p_value)):
        return "The variants are too few to test any dimension."
    if len(shares.effects.models) == 1:
        names = [name for name, is_sure in zip(shares.dimensions, significant[0], strict=True) if is_sure]
        text = f"{join_names(names)} {'has' if len(names) == 1 else 'have'} an effect" if names else _NO_EFFECT
        text += f" (quasi F test, adjusted for all dimensions by Holm, at {format_level(shares.level)}). "
        if names := [name for name, is_unclear in zip(shares.dimensions, unclear[0], strict=True) if is_unclear]:
            text += f"For {join_names(names)} there are too few variants to tell. "
    else:
        counts = {
            name: int(count) for name, count in zip(shares.dimensions, significant.sum(axis=0), strict=True) if count
        }
        texts = [f"{name} has an effect for {format_count(count, 'model')}" for name, count in counts.items()]
        text = join_names(texts, most=len(texts)) if texts else _NO_EFFECT
        text += f" (quasi F test, adjusted for the dimensions of a model by Holm, at {format_level(shares.level)}). "
        if n_unclear := int(unclear.sum()):
            text += f"For {n_unclear:,} of {significant.size:,} rows there are too few variants to tell. "
    return text + (
        "Share: of the variance over prompts, without the noise of questions and generations, what the values of the "
        "dimension explain by themselves; –: too few variants to tell, or prompts that differ by no more than this "
        "noise. Detectable: the share that this test finds with a probability of 80%."
    )


#: Said where no dimension is significant.
_NO_EFFECT = "No dimension has a significant effect"
