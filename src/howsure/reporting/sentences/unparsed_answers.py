"""Whether a spread over prompts is the prompt's or the parser's, in words."""

from __future__ import annotations

import numpy as np

from howsure.reporting.sentences.formatting import format_count, format_share, join_names
from howsure.stats.prompts import UnparsedByValue, UnparsedEffect


def describe_parser_effect(found: UnparsedEffect) -> str:
    """Whether the spread over prompts is the prompt's or the parser's."""
    models, count = found.cube.models, int(found.varies.sum())
    whole = float(found.counts.sum() / max(found.cube.n.sum(), 1))
    text = f"{format_share(whole)} of all answers could not be read and score 0. "
    if not count:
        told = (
            "Whether their share differs between prompts by more than chance, these data do not tell."
            if np.isnan(found.p_share).all()
            else "Their share differs between prompts by no more than chance: nothing says that the spread over "
            "prompts is the parser's."
        )
        return f"{text}{told} {_both(found, int(np.argmax(np.nan_to_num(found.share).mean(axis=1))))}."
    who = "by more than chance" if len(models) == 1 else f"for {count:,} of {format_count(len(models), 'model')}"
    text += f"Their share differs between prompts {who}"
    gone = found.variance - np.maximum(found.variance_parsed, 0)
    known = found.varies & ~np.isnan(gone)
    if not known.any():
        return f"{text}: part of the spread may be the parser's; these data do not tell how much."
    worst = int(np.argmax(np.where(known, gone, -np.inf)))
    if gone[worst] <= 0:
        return f"{text}, but the spread does not shrink when they are left out. {_both(found, worst)}."
    text += (
        f": part of the spread goes with them. {_both(found, worst)}: "
        f"{format_share(float(found.parser_share[worst]))} of it goes with the unread answers. {_left(found, worst)}"
    )
    if known.sum() > 1:
        parts = found.parser_share[known]
        low, high = format_share(float(parts.min())), format_share(float(parts.max()))
        between = low if low == high else f"{low} to {high}"
        text += f" For the {format_count(int(known.sum()), 'model')} that part is {between}."
    return (
        f"{text} This takes the unread answers to be right as often as those that were read under the same prompt; "
        "where fewer are, less of the spread is theirs. Whether the parser failed, or the model gave no answer, is "
        "seen in their texts."
    )


def describe_parser_warning(found: UnparsedEffect) -> str:
    """The same, short, for the top of the page."""
    models = [model for model, varies in zip(found.cube.models, found.varies.tolist(), strict=True) if varies]
    return (
        f"For {join_names(models)} the share of answers that could not be read differs between prompts, and so do "
        "scores, "
        "whatever the models answered; see Spread over prompts."
    )


def _both(found: UnparsedEffect, m: int) -> str:
    """Share over prompts and both variances of one model."""
    model, cube = found.cube.models[m], found.cube
    seen = np.flatnonzero(~np.isnan(found.share[m]))
    low, high = (int(seen[pick(found.share[m, seen])]) for pick in (np.argmin, np.argmax))
    ends = format_share(float(found.share[m, low])), format_share(float(found.share[m, high]))
    of_low, of_high = (" (the default)" if s == cube.default else "" for s in (low, high))
    between = (
        f"is {ends[0]} under each prompt"
        if ends[0] == ends[1]
        else f"goes from {ends[0]} under one prompt{of_low} to {ends[1]} under another{of_high}"
    )
    over = "prompts" if cube.drawn is cube else "the prompts that were drawn"
    return (
        f"For {model} the unread share {between}, and the variance over {over} is {_small(found.variance[m])} with "
        f"all answers and {_small(found.variance_parsed[m])} with the unread left out"
    )


def _left(found: UnparsedEffect, m: int) -> str:
    """What the spread is without the unread answers."""
    if np.isnan(found.p_parsed[m]):
        return "Whether what is left is more than noise, these data do not tell."
    if not found.prompt_effect[m]:
        return "What is left cannot be told from noise."
    return "What is left is more than noise: an effect of the prompt itself."


def _small(variance: float) -> str:
    """Two significant digits, and the standard deviation."""
    if np.isnan(variance):
        return "unknown"
    return "0" if variance <= 0 else f"{variance:.2g} (standard deviation {np.sqrt(variance):.2g})"


def describe_unparsed_values(found: UnparsedEffect, shown: int) -> str:
    """Which value's answers are read least often, if any; `shown` values are drawn."""
    by = found.values
    if not found.varies.any():
        text = "The share differs between prompts by no more than chance, and so do these."
    elif not by.blamed:
        text = "No dimension explains more of how the share differs between prompts than chance would."
    else:
        first = by.blamed[0]
        same = [i for i in by.order if by.dimensions[i] == by.dimensions[first] and i != first]
        text = (
            f"With {join_blamed_values(by)}, {format_share(float(by.pooled[first]))} of the answers could not be read, "
            "against "
            f"{format_share(float(np.median(by.pooled[same])))} with "
            f"{'the other value' if len(same) == 1 else 'its other values (median)'}."
        )
    if len(by.models) > 1:
        text += " A point is all models together, a tick one model."
    return text + (f" The first {shown} of {len(by.order):,} values are drawn." if shown < len(by.order) else "")


def join_blamed_values(by: UnparsedByValue) -> str:
    """The values whose answers are read least often; several, where they were always drawn together."""
    names = [f"{by.values[i]} as {by.dimensions[i]}" for i in by.blamed]
    return names[0] if len(names) == 1 else f"{join_names(names)} (always drawn together)"
