"""What the figures on prompts say: components, effects, spread, swaps, how many are enough."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from howsure.report.sentences.words import decimals, listed, number, percent, plural, share
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.prompts import (
    COMPONENTS,
    MIN_VARIANTS,
    MOMENTS,
    Effects,
    PromptComponents,
    RankFlips,
    SampleSize,
    UnparsedEffect,
    VariantSummary,
)

__all__ = [
    "CLAIM",
    "POOLED",
    "between",
    "convergence",
    "count",
    "effects",
    "enough",
    "shown_of",
    "sources",
    "spread",
    "swaps",
    "whole",
]

Mask = NDArray[np.bool_]

_MEANING = {
    "question": "the question",
    "variant": "the prompt",
    "interaction": "prompts that suit one question and not another",
    "generation": "sampling again",
}


#: Added to the figure of data and prediction noise.
POOLED = "Generations are pooled over all prompts here, so that what the prompt changes is in the prediction part."


#: What intervals are of where a table holds scores of the whole benchmark.
CLAIM = "the mean score in new prompts of the same kind, on the questions that were asked"


def whole(cells: Cells) -> Iterator[str]:
    """What scores of the whole benchmark should be read with."""
    if silent := [model for model, row in zip(cells.models, cells.n, strict=True) if not row.any()]:
        yield f"No score at all: {listed(silent)}."
    yield (
        f"Scores are of the whole benchmark under {plural(len(cells.variants), 'prompt')}: what other questions would "
        "change is not known, and in no error or interval of this page."
    )


def shown_of(shown: int, count: int) -> str:
    """What a figure leaves out, if anything."""
    return f" Drawn for {shown} of {count:,} models, spread over their order." if shown < count else ""


def sources(found: PromptComponents) -> str:
    """Which component is the largest, and what the choice of prompts adds to the error of a mean."""
    each = np.stack([np.maximum(getattr(found, name), 0) for name in COMPONENTS])
    known = ~np.any(np.isnan(each), axis=0)
    if known.any():
        total = each[:, known].sum(axis=0)
        each = np.where(each < 1e-9 * each.sum(axis=0), 0, each)  # rounding is no noise
        parts = np.median(each[:, known] / np.where(total > 0, total, np.nan), axis=1)
        told = [f"{_MEANING[name]} {share(part)}" for name, part in zip(COMPONENTS, parts.tolist(), strict=True)]
        text = f"Of the variance of one generation (median over models): {listed(told)}."
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
            f"{share(float(np.median(weight)))} (median)."
        )
    if lost:
        text += f" For {plural(lost, 'model')} the interval of the prompt's variance starts at 0."
    return text + " Lines are intervals; the scale is of square roots, so that distance from 0 is a standard deviation."


def effects(found: Effects, dimension: str, model_count: int, unread: UnparsedEffect | None = None) -> str:
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
            f"{int(sure.sum()):,} of {plural(int(known.sum()), 'interval')} {'leaves' if sure.sum() == 1 else 'leave'} "
            f"out 0, where about {known.sum() * (1 - found.level):.2g} would by chance alone. "
        )
        explained = found.share[:, at[0]]
        explained = np.clip(explained[~np.isnan(explained)], 0, 1)
        if len(explained):
            text += f"The dimension explains {share(float(np.median(explained)))} of the variance over prompts"
            text += " (median over models). " if several else ". "
    few = [found.values[i] for i in at if 0 < found.times[:, i].max(initial=0) < MIN_VARIANTS]
    if few:
        text += f"Drawn fewer than {MIN_VARIANTS} times (hollow), so read with care: {listed(few, most=6)}. "
    alone = found.alone & known.any(axis=1)
    if alone.any():
        whose = "" if alone.sum() == known.any(axis=1).sum() else f" for {plural(int(alone.sum()), 'model')}"
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
    certain = (found.times[:, at].max(axis=0) >= MIN_VARIANTS) | (2 * sure.sum(axis=0) >= known.sum(axis=0))
    kept = np.where(some & certain, mean, np.nan) if np.sum(some & certain) > 1 else mean
    if some.sum() < 2:
        return ""
    best, worst = int(np.nanargmax(kept)), int(np.nanargmin(kept))
    places = min(decimals(np.sqrt(found.variance[:, at]).ravel()), 3)
    return (
        f"{found.values[at[best]]} scores highest ({number(float(mean[best]), places, sign=True)}"
        f"{', mean over models' if len(found.models) > 1 else ''}) and {found.values[at[worst]]} lowest "
        f"({number(float(mean[worst]), places, sign=True)})"
        f"{' of those drawn often enough' if np.any(some & np.isnan(kept)) else ''}. "
    )


def spread(found: VariantSummary, drawn: int, unread: UnparsedEffect | None) -> str:
    """How far the score depends on the prompt."""
    m, S = found.moments, found.moments.scores.shape[1]
    low, high = m.quantile(0), m.quantile(1)
    with np.errstate(invalid="ignore"):
        most = int(np.nanargmax(high - low))
    spread_ = np.sqrt(m.variance)
    places = decimals(spread_)
    text = (
        f"Over {plural(int(np.sum(~np.isnan(m.scores[most]))), 'prompt')} the score of {m.models[most]} goes from "
        f"{number(float(low[most]), places)} to {number(float(high[most]), places)}"
        f"{', the widest range of all models' if len(m.models) > 1 else ''}; a range grows with the number of prompts. "
    )
    true = np.sqrt(np.maximum(m.corrected, 0))
    true = true[~np.isnan(true)]
    if len(true):
        text += (
            f"The standard deviation over prompts, without the noise of sampling, is "
            f"{number(float(np.median(true)), decimals(true))}{' (median over models)' if len(m.models) > 1 else ''}. "
        )
    elif np.any(found.components.fit.questions > 1):
        text += "How much of this is the noise of sampling is not known from one generation per question and prompt. "
    count = np.sum(~np.isnan(m.scores), axis=1)
    if (known := ~np.isnan(m.default) & (count > 0)).any():
        below = np.sum(m.scores < m.default[:, None], axis=1)[known]
        text += "The default prompt (diamond), which was chosen and not drawn, scores higher than "
        if len(below) == 1:
            text += f"{int(below[0])} of the {int(count[known][0])} that were drawn. "
        else:
            better = int(np.sum(below > count[known] / 2))
            text += f"half of those that were drawn for {better:,} of {plural(len(below), 'model')}. "
    if unread is not None and not unread.counts.any():
        text += "Every answer could be read: none of this spread is the parser's. "
    text += "Boxes go from quartile to quartile, with the median; lines to the extremes."
    if drawn < len(m.models):
        text += f" Drawn for the first {drawn} of {len(m.models):,} models; the numbers are over all."
    return text if S > 1 else ""


def swaps(found: RankFlips, shown: int) -> str:
    """How often the prompt decides which of two models is better."""
    count = len(found.difference)
    flipped = int(np.sum(found.swapped > 0))
    sure = int(np.sum(found.columns()["p_swap_holm"] < 1 - found.level))
    if count == 1:
        text = (
            f"{found.models_a[0]} and {found.models_b[0]} are in the other order under "
            f"{share(float(found.swapped[0]))} of the {plural(int(found.n_variants[0]), 'prompt')}"
        )
        if not np.isnan(found.by_noise[0]):
            text += f"; the noise alone would do so under {share(float(found.by_noise[0]))}"
        text += ". "
    else:
        text = (
            f"The order of {flipped:,} of {plural(count, 'pair')} flips, or is a tie, under at least one prompt. "
            if flipped
            else f"No prompt flips the order of any of the {plural(count, 'pair')}. "
        )
    if np.any(~np.isnan(found.by_noise)):
        text += (
            f"Noise flips orders, too: a true flip is sure for {plural(sure, 'pair') if sure else 'none'} "
            f"(test of Gail and Simon, adjusted for all pairs by Holm, at {percent(found.level)}). "
            if count > 1
            else f"A true flip under some prompt is {'sure' if sure else 'not sure'} at {percent(found.level)} "
            "(test of Gail and Simon). "
        )
        text += (
            "True: the share of the space's prompts, noise of questions and generations taken out, with its "
            "interval; for effects of the prompt that are normal."
        )
    else:
        text += (
            "The noise of one prompt's score is unknown here, so true flips and flips by chance cannot be told apart."
        )
    return text + (f" The {shown} closest of {count:,} pairs; the download has all." if shown < count else "")


def convergence(found: SampleSize, moment: str, drawn: int) -> str:
    """How many variants bring a moment within epsilon of that over all."""
    row = MOMENTS.index(moment)
    n, N = found.n_star[:, row], found.n_variants
    known = ~np.isnan(n)
    reached = found.reached[:, row] & known
    each = f"with {percent(1 - found.delta / 2)} chance within {found.epsilon:g} of the {moment} over all"
    if not reached.any():
        text = (
            f"No number of prompts below all of them brings the {moment} {each}, "
            f"for {'any model' if len(found.models) > 1 else found.models[0]}: n* is not reached."
        )
    else:
        most = int(np.nanargmax(np.where(reached, n, np.nan)))
        brings = "brings" if n[most] == 1 else "bring"
        text = f"{int(n[most]):,} of {int(N[most]):,} prompts {brings} the {moment} {each} for "
        text += f"{_everyone(found, n, known, reached)} A point is n*."
    if np.any(known & ~reached):
        text += " A hollow point is all prompts, where n* is not reached."
    text += " A curve ends at 0 by construction, so that n* is too small where it is not far below all prompts."
    return text + shown_of(drawn, len(found.models))


def _everyone(found: SampleSize, n: FloatArray, known: Mask, reached: Mask) -> str:
    if len(found.models) == 1:
        return f"{found.models[0]}."
    if left := int(np.sum(known & ~reached)):
        enough_ = plural(int(reached.sum()), "model")
        return f"the {enough_} where fewer than all are enough; for {left:,} n* is not reached."
    who = "every model" if known.all() else "every model with two prompts or more"
    most = found.models[int(np.nanargmax(n))]
    return f"{who}." if np.ptp(n[known]) == 0 else f"{who}; {most} needs the most."


def enough(found: SampleSize, level: float = 0.95) -> str:
    """What the space needs, as against the variants that happened to be drawn."""
    space = np.fmax(*found.n_star_space.T)  # two prompts say nothing of the variance
    if np.all(np.isnan(space)):
        return "Two prompts or more are needed to say how many are enough."
    most = int(np.nanargmax(space))
    moment = int(np.nanargmax(found.n_star_space[most]))
    low, high = (end[most, moment] for end in found.space_limits(level))
    N = int(found.n_variants[most])
    text = (
        f"For new prompts from the same space, {found.models[most]} needs {between(space[most], low, high)} for both "
        f"moments{', the most of all models' if len(space) > 1 else ''}; "
        f"{N:,} were asked. "
    )
    short = int(np.sum(space > found.n_variants))
    if short:
        text += f"For {plural(short, 'model')} that is more than were asked. "
    text += _without_noise(found, most, moment)
    return text + (
        f"n*: the smallest number that is enough among the prompts at hand, as published. Space: what new prompts from "
        f"the space take, with {percent(level)} intervals, when each is scored on as many questions with as many "
        "generations as here. Noise-free: the same if the score of each prompt had no noise of its own; –: unknown. "
        f"ε = {found.epsilon:g}, δ = {found.delta:g}."
    )


def _without_noise(found: SampleSize, model: int, moment: int) -> str:
    """How many prompts it would take if their scores had no noise."""
    needed = found.n_star_space_corrected[model, moment]
    if not found.noise_known[model]:
        return "How many it would take without the noise of each prompt's score is unknown. "
    low, high = found.corrected_low[model, moment], found.corrected_high[model, moment]
    if np.isnan(needed):
        most = "" if np.isnan(high) else f", up to {count(high)}"
        return f"The prompts differ by no more than the noise of their scores, so how many they need is unknown{most}. "
    return (
        "If each prompt's score rested on so many questions and generations that it had no noise of its own, "
        f"{between(needed, low, high)} would be enough. "
    )


def between(value: float, low: float, high: float) -> str:
    """A number of prompts with its interval, where that is known."""
    return count(value) if np.isnan(low + high) else f"{count(value)} ({count(low)} to {count(high)})"


def count(value: float) -> str:
    """A number of prompts."""
    return "–" if np.isnan(value) else f"{int(value):,}"


def _mean(values: FloatArray) -> FloatArray:
    """Mean over models, NaN where none is known."""
    there = ~np.isnan(values)
    mean: FloatArray = np.sum(values, axis=0, where=there) / np.where(there.any(axis=0), there.sum(axis=0), np.nan)
    return mean
