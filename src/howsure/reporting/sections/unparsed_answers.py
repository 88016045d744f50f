"""Answers that could not be read, by prompt: what of the spread is the effect of the prompt, and what the parser's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from howsure.reporting.charts import (
    BLUE,
    GREY,
    MAX_SERIES,
    Channel,
    Chart,
    across,
    columns_of,
    down_names,
    draw,
    finish_chart,
    number,
    repeat_names,
    style_series,
    tooltips,
)
from howsure.reporting.elements import ElementBuilder, Figure
from howsure.reporting.formatting import describe_drawn, format_count, format_share, format_significant, join_names
from howsure.reporting.prompt_analysis import PromptAnalysis
from howsure.stats.core.cells import FloatArray
from howsure.stats.prompts import UnparsedByValue, UnparsedEffect

#: Values with a row in the figure of unparsed answers, at most.
_MAX_VALUES = 40


def build_unparsed_figures(
    prompts: PromptAnalysis, effect: UnparsedEffect, builder: ElementBuilder
) -> Iterator[Figure]:
    """Yield the figures of unparsed answers by prompt and by value of a dimension."""
    cube, models = prompts.cube, prompts.pick_models(MAX_SERIES)
    worst = cube.models[int(np.nanargmax(np.nan_to_num(effect.share).max(axis=1)))]
    if worst not in models:
        models = [*models[:-1], worst]
    yield builder.build_figure(
        "unparsed",
        describe_parser_effect(effect) + describe_drawn(len(models), len(cube.models), ", spread over their order"),
        draw_unparsed(effect, models),
        table="variants",
        marks=len(models) * len(cube.variants),
    )
    values = effect.values
    if np.any(values.pooled > 0):
        builder.add_table("unparsed-values", values.columns())
        order = values.order[:_MAX_VALUES]
        yield builder.build_figure(
            "unparsed-values",
            describe_unparsed_values(effect, len(order)),
            draw_unparsed_values(values, order),
            table="unparsed-values",
            marks=len(order) * (len(values.models) + 1),
        )


def draw_unparsed(effect: UnparsedEffect, order: Sequence[str]) -> Chart:
    """Draw the share of unparsed answers under each variant against the score under it, for a few models."""
    at = [effect.cube.models.index(model) for model in order]
    S = len(effect.cube.variants)
    share, score = effect.share[at].ravel(), effect.score[at].ravel()
    available = ~np.isnan(share) & ~np.isnan(score)
    points = draw(
        columns_of(
            model=repeat_names(order, S)[available],
            variant=np.tile(np.array(effect.cube.variants, dtype=object), len(at))[available],
            unparsed=share[available],
            score=score[available],
        ),
        "point",
        {"filled": True, "size": 60, "opacity": 0.85},
        x=_percentages("Unread answers under one prompt", share),
        y=number("score", title="Score", scale={"zero": False, "padding": 8}),
        tooltip=tooltips(model="Model", variant="Variant", unparsed="Unread share", score="Score"),
        **style_series("model", order),
    )
    return finish_chart(points, height=280, legend=order)


def draw_unparsed_values(values: UnparsedByValue, keys: Sequence[int]) -> Chart:
    """Draw the share of unparsed answers with each value of each dimension: all models, and a tick for each model."""
    names, (M, at) = [values.name(i) for i in keys], (values.shares.shape[0], list(keys))
    shared: dict[str, Any] = {
        "x": _percentages("Unread answers with this value", values.shares[:, at]),
        "y": down_names("value", names),
    }
    pooled = columns_of(value=names, unparsed=values.pooled[at], n_variants=values.n_variants[at])
    tips = tooltips(value="Value", unparsed="Unread share", n_variants="Variants")
    layers = [draw(pooled, "point", {"filled": True, "size": 70, "color": BLUE, "opacity": 1}, tooltip=tips, **shared)]
    if M > 1:
        by_model = columns_of(
            value=repeat_names(names, M),
            model=list(values.models) * len(names),
            unparsed=values.shares[:, at].T.ravel(),
        )
        style = {"color": GREY, "thickness": 2, "height": {"band": 0.6}}
        tips = tooltips(value="Value", model="Model", unparsed="Unread share")
        layers.insert(0, draw(by_model, "tick", style, tooltip=tips, **shared))
    return finish_chart(*layers, height=22 * len(names))


def _percentages(title: str, shares: FloatArray) -> Channel:
    """Return an axis of percentages that starts at 0, with space for a point there."""
    most = max(float(np.nanmax(shares, initial=0)), 0.001)
    axis = {"format": "~%", "tickCount": 6}
    return across("unparsed", title, axis=axis, scale={"domain": [0, most], "nice": False, "padding": 8})


def describe_parser_effect(effect: UnparsedEffect) -> str:
    """Describe whether the spread over prompts comes from the prompt or from the parser."""
    models, n_varying = effect.cube.models, int(effect.varies.sum())
    share = float(effect.counts.sum() / max(effect.cube.n.sum(), 1))
    text = f"{format_share(share)} of all answers could not be read and score 0. "
    if not n_varying:
        text_of_test = (
            "Whether their share differs between prompts by more than chance, these data do not show."
            if np.isnan(effect.p_share).all()
            else "Their share differs between prompts by no more than chance: nothing says that the spread over "
            "prompts is the parser's."
        )
        return (
            f"{text}{text_of_test} "
            f"{_describe_variances(effect, int(np.argmax(np.nan_to_num(effect.share).mean(axis=1))))}."
        )
    scope = "by more than chance" if len(models) == 1 else f"for {n_varying:,} of {format_count(len(models), 'model')}"
    text += f"Their share differs between prompts {scope}"
    removed = effect.variance - np.maximum(effect.variance_parsed, 0)
    available = effect.varies & ~np.isnan(removed)
    if not available.any():
        return f"{text}: part of the spread may be the parser's; these data do not show how much."
    worst = int(np.argmax(np.where(available, removed, -np.inf)))
    if removed[worst] <= 0:
        return f"{text}, but the spread does not shrink when they are left out. {_describe_variances(effect, worst)}."
    text += (
        f": part of the spread goes with them. {_describe_variances(effect, worst)}: "
        f"{format_share(float(effect.parser_share[worst]))} of it goes with the unread answers. "
        f"{_describe_rest(effect, worst)}"
    )
    if available.sum() > 1:
        parts = effect.parser_share[available]
        low, high = format_share(float(parts.min())), format_share(float(parts.max()))
        between = low if low == high else f"{low} to {high}"
        text += f" For the {format_count(int(available.sum()), 'model')} that part is {between}."
    return (
        f"{text} This takes the unread answers to be right as often as those that were read under the same prompt; "
        "where fewer are, less of the spread is theirs. Whether the parser failed, or the model gave no answer, is "
        "seen in their texts."
    )


def describe_parser_warning(effect: UnparsedEffect) -> str:
    """Return the same as a short warning for the top of the page."""
    models = [model for model, varies in zip(effect.cube.models, effect.varies.tolist(), strict=True) if varies]
    return (
        f"For {join_names(models)} the share of answers that could not be read differs between prompts, and so do "
        "scores, "
        "whatever the models answered; see Spread over prompts."
    )


def _describe_variances(effect: UnparsedEffect, m: int) -> str:
    """Describe the share of unparsed answers and both variances of one model."""
    model, cube = effect.cube.models[m], effect.cube
    available = np.flatnonzero(~np.isnan(effect.share[m]))
    low, high = (int(available[pick(effect.share[m, available])]) for pick in (np.argmin, np.argmax))
    shares = format_share(float(effect.share[m, low])), format_share(float(effect.share[m, high]))
    low_note, high_note = (" (the default)" if s == cube.default else "" for s in (low, high))
    between = (
        f"is {shares[0]} under each prompt"
        if shares[0] == shares[1]
        else f"goes from {shares[0]} under one prompt{low_note} to {shares[1]} under another{high_note}"
    )
    over = "prompts" if cube.drawn is cube else "the prompts that were drawn"
    return (
        f"For {model} the unread share {between}, and the variance over {over} is "
        f"{_format_variance(effect.variance[m])} with "
        f"all answers and {_format_variance(effect.variance_parsed[m])} with the unread left out"
    )


def _describe_rest(effect: UnparsedEffect, m: int) -> str:
    """Describe the spread without the unparsed answers."""
    if np.isnan(effect.p_parsed[m]):
        return "Whether what is left is more than noise, these data do not show."
    if not effect.prompt_effect[m]:
        return "What is left cannot be separated from noise."
    return "What is left is more than noise: an effect of the prompt itself."


def _format_variance(variance: float) -> str:
    """Return a variance with two significant digits and its standard deviation."""
    if np.isnan(variance):
        return "unknown"
    if variance <= 0:
        return "0"
    return f"{format_significant(variance)} (standard deviation {format_significant(float(np.sqrt(variance)))})"


def describe_unparsed_values(effect: UnparsedEffect, n_drawn: int) -> str:
    """Describe the value whose answers are parsed least often; `n_drawn` values are drawn."""
    values = effect.values
    if not effect.varies.any():
        text = "The share differs between prompts by no more than chance, and so do these."
    elif not values.blamed:
        text = "No dimension explains more of how the share differs between prompts than chance would."
    else:
        first = values.blamed[0]
        same = [i for i in values.order if values.dimensions[i] == values.dimensions[first] and i != first]
        text = (
            f"With {join_blamed_values(values)}, {format_share(float(values.pooled[first]))} of the answers could not "
            "be read, "
            "against "
            f"{format_share(float(np.median(values.pooled[same])))} with "
            f"{'the other value' if len(same) == 1 else 'its other values (median)'}."
        )
    if len(values.models) > 1:
        text += " A point is all models together, a tick one model."
    return text + (
        f" The first {n_drawn} of {len(values.order):,} values are drawn." if n_drawn < len(values.order) else ""
    )


def join_blamed_values(values: UnparsedByValue) -> str:
    """Return the values whose answers are parsed least often; several if they were always drawn together."""
    names = [f"{values.values[i]} as {values.dimensions[i]}" for i in values.blamed]
    return names[0] if len(names) == 1 else f"{join_names(names)} (always drawn together)"
