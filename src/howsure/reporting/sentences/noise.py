"""Captions of the figures on noise: data and prediction, variance components, and effects of prompt dimensions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howsure.reporting.sentences.formatting import (
    choose_decimals,
    format_count,
    format_number,
    format_share,
    join_names,
)
from howsure.stats.core.cells import FloatArray
from howsure.stats.prompts import COMPONENTS, MIN_VARIANTS, Effects, PromptComponents, UnparsedEffect
from howsure.stats.scores import Scores

Mask = NDArray[np.bool_]

_MEANING = {
    "question": "the question",
    "variant": "the prompt",
    "interaction": "prompts that suit one question and not another",
    "generation": "sampling again",
}

#: Added to the figure of data and prediction noise.
POOLED_PROMPTS = (
    "Generations are pooled over all prompts here, so that what the prompt changes is in the prediction part."
)


def describe_noise_parts(scores: Scores, shown: int) -> str:
    """Which noise is larger, for how many models."""
    known = ~np.isnan(scores.prediction) & ~np.isnan(scores.data)
    if not known.any():
        return (
            "The bars are the variance of one generation on one question. With one generation per question its parts, "
            "data and prediction, cannot be told apart."
        )
    data, prediction = scores.data[known], scores.prediction[known]
    larger, smaller = int(np.sum(data > prediction)), int(np.sum(data < prediction))
    count = int(known.sum())
    text = (
        f"Data noise (which questions) is the larger part for {larger:,} and prediction noise (sampling again) for "
        f"{smaller:,} of {format_count(count, 'model')}{' whose parts are known' if count < len(known) else ''}. "
        "More generations per question shrink the prediction part only."
    )
    if np.any(data < 0):
        text += " Data noise that is lost in the sampling noise is drawn as 0."
    if shown < len(known):
        text += f" Drawn for the first {shown} of {len(known):,} models; the counts are over all."
    return text


def describe_variance_components(found: PromptComponents) -> str:
    """Which component is the largest, and what the choice of prompts adds to the error of a mean."""
    each = np.stack([np.maximum(getattr(found, name), 0) for name in COMPONENTS])
    known = ~np.any(np.isnan(each), axis=0)
    if known.any():
        total = each[:, known].sum(axis=0)
        each = np.where(each < 1e-9 * each.sum(axis=0), 0, each)  # rounding is no noise
        parts = np.median(each[:, known] / np.where(total > 0, total, np.nan), axis=1)
        told = [f"{_MEANING[name]} {format_share(part)}" for name, part in zip(COMPONENTS, parts.tolist(), strict=True)]
        text = f"Of the variance of one generation (median over models): {join_names(told)}."
    elif found.layout.nested:
        text = "Each question has variants of its own: what the prompt adds is seen within questions only."
    elif np.any(~np.isnan(found.residual)):
        text = (
            "With one generation in each question and prompt, sampling again and prompts that suit one question and "
            "not another are one component."
        )
    else:
        text = "These data do not tell the components apart."
    lost = int(np.sum(found.limits("variant")[0] <= 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.maximum(found.parts[1], 0) / found.variance()
    weight = weight[np.isfinite(weight)]
    if len(weight):
        text += (
            f" In the squared error of the mean for new questions in new prompts, the choice of prompts is "
            f"{format_share(float(np.median(weight)))} (median)."
        )
    if lost:
        text += f" For {format_count(lost, 'model')} the interval of the prompt's variance starts at 0."
    return text + " Lines are intervals; the scale is of square roots, so that distance from 0 is a standard deviation."


def describe_effects(found: Effects, dimension: str, model_count: int, unread: UnparsedEffect | None = None) -> str:
    """What the values of a dimension do: which is best, which worst, which were drawn too few times.

    Parameters
    ----------
    model_count
        Models that are drawn.
    unread
        Answers that could not be read, where the source says.
    """
    at = [i for i, name in enumerate(found.dimensions) if name == dimension]
    between = found.interval()
    sure = (between.low[:, at] > 0) | (between.high[:, at] < 0)
    known = ~np.isnan(found.effect[:, at])
    text = ""
    if known.any():
        several = len(found.models) > 1
        text = _extremes(found, at, sure, known)
        text += (
            f"{int(sure.sum()):,} of {format_count(int(known.sum()), 'interval')} "
            f"{'leaves' if sure.sum() == 1 else 'leave'} "
            f"out 0, where about {known.sum() * (1 - found.level):.2g} would by chance alone. "
        )
        explained = found.share[:, at[0]]
        explained = np.clip(explained[~np.isnan(explained)], 0, 1)
        if len(explained):
            text += f"The dimension explains {format_share(float(np.median(explained)))} of the variance over prompts"
            text += " (median over models). " if several else ". "
    few = [found.values[i] for i in at if 0 < found.n_variants[:, i].max(initial=0) < MIN_VARIANTS]
    if few:
        text += f"Drawn fewer than {MIN_VARIANTS} times (hollow), so read with care: {join_names(few, most=6)}. "
    alone = found.separate & known.any(axis=1)
    if alone.any():
        whose = "" if alone.sum() == known.any(axis=1).sum() else f" for {format_count(int(alone.sum()), 'model')}"
        text += f"With so few draws the dimension is fitted by itself{whose}: what the others do is noise. "
    if not known.all():
        text += "An effect that cannot be told from others, for want of draws, is not drawn. "
    if unread is not None and unread.varies.any():
        guilty = [unread.values.values[i] for i in unread.values.blamed if unread.values.dimensions[i] == dimension]
        if guilty:
            text += (
                f"With {guilty[0]} more answers could not be read than with the others: is it the prompt, or the "
                "parser? See Spread over prompts. "
            )
    if model_count < len(found.models):
        text += f"Drawn for {model_count} of {len(found.models):,} models; the numbers are over all. "
    return text.strip()


def _extremes(found: Effects, at: list[int], sure: Mask, known: Mask) -> str:
    """Best and worst value; one drawn a few times counts where its interval leaves out 0 for half of the models."""
    mean = _mean(found.effect[:, at])
    some = ~np.isnan(mean)
    certain = (found.n_variants[:, at].max(axis=0) >= MIN_VARIANTS) | (2 * sure.sum(axis=0) >= known.sum(axis=0))
    kept = np.where(some & certain, mean, np.nan) if np.sum(some & certain) > 1 else mean
    if some.sum() < 2:
        return ""
    best, worst = int(np.nanargmax(kept)), int(np.nanargmin(kept))
    places = min(choose_decimals(np.sqrt(found.variance[:, at]).ravel()), 3)
    return (
        f"{found.values[at[best]]} scores highest ({format_number(float(mean[best]), places, sign=True)}"
        f"{', mean over models' if len(found.models) > 1 else ''}) and {found.values[at[worst]]} lowest "
        f"({format_number(float(mean[worst]), places, sign=True)})"
        f"{' of those drawn often enough' if np.any(some & np.isnan(kept)) else ''}. "
    )


def _mean(values: FloatArray) -> FloatArray:
    """Mean over models, NaN where none is known."""
    there = ~np.isnan(values)
    mean: FloatArray = np.sum(values, axis=0, where=there) / np.where(there.any(axis=0), there.sum(axis=0), np.nan)
    return mean
