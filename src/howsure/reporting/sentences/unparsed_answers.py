"""Captions that separate the effect of the prompt from failures of the parser."""

from __future__ import annotations

import numpy as np

from howsure.reporting.formatting import (
    format_count,
    format_share,
    format_significant,
    join_names,
)
from howsure.stats.prompts import UnparsedByValue, UnparsedEffect


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
