"""Captions of the figures on prompt variants, and warnings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from howsure.reporting.formatting import (
    format_count,
    format_level,
    format_number,
    format_share,
    format_significant,
    join_names,
)
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import MOMENTS
from howsure.stats.core.text_table import choose_decimals
from howsure.stats.prompts import (
    Concordance,
    DimensionShares,
    PromptConsistency,
    RankFlips,
    SampleSize,
    UnparsedEffect,
    VariantSummary,
)

Mask = NDArray[np.bool_]

#: Differences of scores that are rounding.
_ROUNDING = 1e-12

#: Meaning of the intervals when a table contains scores of the whole benchmark.
CLAIM_OVER_PROMPTS = "the mean score in new prompts of the same kind, on the questions at hand"


def collect_benchmark_score_warnings(cells: Cells) -> Iterator[str]:
    """Yield warnings about results that are scores of the whole benchmark."""
    if silent := [model for model, row in zip(cells.models, cells.n, strict=True) if not row.any()]:
        yield f"No score at all: {join_names(silent)}."
    yield (
        f"Scores are of the whole benchmark under {format_count(len(cells.variants), 'prompt')}: what other questions "
        "would "
        "change is not known, and in no error or interval of this page."
    )


def describe_omitted_models(n_drawn: int, n_models: int) -> str:
    """Describe how many models a figure leaves out; empty if none."""
    return f" Drawn for {n_drawn} of {n_models:,} models, spread over their order." if n_drawn < n_models else ""


def describe_spread(summary: VariantSummary, n_drawn: int, unread: UnparsedEffect | None) -> str:
    """Describe how far the score depends on the prompt."""
    m, S = summary.moments, summary.moments.scores.shape[1]
    low, high = m.quantile(0), m.quantile(1)
    range_of = np.where(high - low > _ROUNDING, high - low, 0 * (high - low))  # NaN stays
    most = int(np.nanargmax(range_of))
    sd = np.sqrt(np.where(m.variance > _ROUNDING**2, m.variance, 0))
    places = choose_decimals(sd)
    text = f"Over {format_count(int(np.sum(~np.isnan(m.scores[most]))), 'prompt')} the score of "
    if range_of[most] > 0:
        text += (
            f"{m.models[most]} goes from {format_number(float(low[most]), places)} to "
            f"{format_number(float(high[most]), places)}{_compare_with_others(range_of, most, 'the widest range')}; "
            "a range grows with the number of prompts. "
        )
    else:
        text += f"{'every model' if len(m.models) > 1 else m.models[most]} is the same under each of them. "
    true = np.sqrt(np.maximum(m.corrected, 0))
    true = true[~np.isnan(true)]
    if len(true):
        text += (
            f"The standard deviation over prompts, without the noise of sampling, is "
            f"{format_number(float(np.median(true)), choose_decimals(true))}"
            f"{' (median over models)' if len(m.models) > 1 else ''}. "
        )
    elif np.any(summary.components.fit.questions > 1):
        text += "How much of this is the noise of sampling is not known from one generation per question and prompt. "
    count = np.sum(~np.isnan(m.scores), axis=1)
    if (available := ~np.isnan(m.default) & (count > 0)).any():
        below = np.sum(m.scores < m.default[:, None], axis=1)[available]
        text += "The default prompt (diamond), which was chosen and not drawn, scores higher than "
        if len(below) == 1:
            text += f"{int(below[0])} of the {int(count[available][0])} that were drawn. "
        else:
            better = int(np.sum(below > count[available] / 2))
            text += f"half of those that were drawn for {better:,} of {format_count(len(below), 'model')}. "
    if unread is not None and not unread.counts.any():
        text += "Every answer could be read: none of this spread is the parser's. "
    text += "Boxes go from quartile to quartile, with the median; lines to the extremes."
    if n_drawn < len(m.models):
        text += f" Drawn for the first {n_drawn} of {len(m.models):,} models; the numbers are over all."
    return text if S > 1 else ""


def _compare_with_others(values: FloatArray, most: int, what: str) -> str:
    """Return ", WHAT of all models" of the largest value, or that others share it; empty for a single model."""
    available = values[~np.isnan(values)]
    if len(available) < 2:
        return ""
    n_equal = int(np.sum(np.abs(available - values[most]) <= _ROUNDING * max(1.0, abs(float(values[most])))))
    if n_equal == len(available):
        return ", as of every model"
    shared = f", with {format_count(n_equal - 1, 'other model')}" if n_equal > 1 else ""
    return f", {what} of all models{shared}"


def describe_share(shares: DimensionShares, dimension: str) -> str:
    """Describe how much of the variance over prompts one dimension explains, or that there are too few variants."""
    d = shares.dimensions.index(dimension)
    share, between = shares.share[:, d], shares.interval()
    tested = ~np.isnan(shares.p_value[:, d])
    if not tested.any() or not np.any(shares.variance[:, d] > _ROUNDING**2):
        return ""
    clear = ~np.isnan(share)
    is_noise = tested & ~clear & ~shares.unclear[:, d]
    if not clear.any():
        return "There are too few variants to tell how much of the variance over prompts the dimension explains. "
    if len(share) == 1:
        range_text = f"{format_share(float(between.low[0, d]))} to {format_share(float(between.high[0, d]))}"
        return (
            f"The dimension explains {format_share(float(share[0]))} of the variance over prompts "
            f"({format_level(between.level)} interval {range_text}). "
        )
    text = f"The dimension explains {format_share(float(np.median(share[clear])))} of the variance over prompts "
    if clear.all():
        return f"{text}(median over models). "
    n_clear = int(clear.sum())
    text += f"(median of {n_clear:,} models)" if n_clear > 1 else f"of {shares.effects.models[int(np.argmax(clear))]}"
    if n_unclear := int(np.sum(~clear & ~is_noise)):
        text += f"; for {n_unclear:,} of {len(share):,} models there are too few variants to tell"
    if n_noise := int(is_noise.sum()):
        text += f"; for {n_noise:,} of {len(share):,} models the prompts differ by no more than the noise of the scores"
    return f"{text}. "


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


def describe_rank_flips(flips: RankFlips, n_rows: int) -> str:
    """Describe how often the prompt decides which of two models scores higher."""
    n_pairs = len(flips.difference)
    n_flipped = int(np.sum(flips.swapped > 0))
    n_sure = int(np.sum(flips.columns()["p_swap_holm"] < 1 - flips.level))
    if n_pairs == 1:
        both = f"{flips.models_a[0]} and {flips.models_b[0]}"
        many = format_count(int(flips.n_variants[0]), "prompt")
        text = f"{both} are in the other order under {format_share(float(flips.swapped[0]))} of the {many}"
        text += " (a tie counts half)" if flips.swapped[0] > 0 else ""
        if not np.isnan(flips.swapped_by_noise[0]):
            text += f"; the noise alone would do so under {format_share(float(flips.swapped_by_noise[0]))}"
        text += ". "
    else:
        text = (
            f"The order of {n_flipped:,} of {format_count(n_pairs, 'pair')} flips, or is a tie, under at least one "
            "prompt. "
            if n_flipped
            else f"No prompt flips the order of any of the {format_count(n_pairs, 'pair')}. "
        )
    if np.any(~np.isnan(flips.swapped_by_noise)):
        text += (
            f"Noise flips orders, too: a true flip is sure for {format_count(n_sure, 'pair') if n_sure else 'none'} "
            f"(test of Gail and Simon, adjusted for all pairs by Holm, at {format_level(flips.level)}). "
            if n_pairs > 1
            else f"A true flip under some prompt is {'sure' if n_sure else 'not sure'} at {format_level(flips.level)} "
            "(test of Gail and Simon). "
        )
        text += (
            "True: the share of the space's prompts, noise of questions and generations taken out, with its "
            "interval; for effects of the prompt that are normal."
        )
    else:
        text += (
            "The noise of one prompt's score is unknown here, so true flips and flips by chance cannot be separated."
        )
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
    rate = consistency.rate
    available = np.flatnonzero(~np.isnan(rate))

    def name_rate(value: float) -> str:
        names = [consistency.models[i] for i in available if abs(rate[i] - value) <= _ROUNDING]
        return f"{join_names(names)} in {format_share(value)} of the cases"

    highest, lowest = float(rate[available].max()), float(rate[available].min())
    text = "Under two prompts the same question is answered alike by "
    if len(available) == 1:
        text += name_rate(highest)
    elif highest - lowest <= _ROUNDING:
        unknown = " that has answers under two" if len(available) < len(rate) else ""
        text += f"every model{unknown} in {format_share(highest)} of the cases"
    else:
        text += f"{name_rate(highest)} (the most) and by {name_rate(lowest)} (the least)"
    text += "; the interval is for new questions and new prompts. "
    if np.all(np.isnan(consistency.same_prompt)):
        text += "Same prompt: unknown, because each prompt has one generation per question. "
    else:
        text += "Same prompt: the same for two generations under one prompt, which is what sampling alone changes. "
    text += "All alike: questions with one answer under all prompts. "
    return text + "An answer that could not be parsed is equal to no other."


def describe_convergence(sizes: SampleSize, moment: str, n_drawn: int) -> str:
    """Describe how many variants bring a moment within epsilon of that over all variants."""
    row = MOMENTS.index(moment)
    drawn = f" Drawn for {n_drawn} of {len(sizes.models):,} models." if n_drawn < len(sizes.models) else ""
    n, N = sizes.n_star[:, row], sizes.n_variants
    available = ~np.isnan(n)
    vague = available & sizes.exceeds_variance if moment == "variance" else np.zeros(len(n), bool)
    reached = sizes.reached[:, row] & available & ~vague
    each = f"with {format_level(1 - sizes.delta / 2)} chance within {sizes.epsilon:g} of the {moment} over all"
    text = _describe_vague_epsilon(sizes, vague)
    if np.all(vague | ~available):
        return text + drawn
    clear = available & ~vague
    if not reached.any():
        whose = "any model" if len(sizes.models) > 1 and not vague.any() else ""
        whose = whose or (sizes.models[int(np.argmax(clear))] if clear.sum() == 1 else "any other model")
        text += f"No number of prompts below all of them brings the {moment} {each}, for {whose}: n* is not reached."
    else:
        most = reached & (n == np.max(n[reached]))
        text += f"{int(n[most][0]):,} or more of {_format_range(N[most])} prompts bring the {moment} {each} for "
        if np.ptp(N[reached]) > 0:  # "every model" would be of models that do not have as many prompts
            names = join_names([model for model, is_most in zip(sizes.models, most, strict=True) if is_most])
            text += f"{names}{_describe_fewer_prompts(N, most, reached, clear)}. "
        else:
            text += f"{_describe_models(sizes, np.where(clear, n, np.nan), clear, reached, vague=bool(vague.any()))} "
        text += "A point is n*."
    available = clear
    if np.any(available & ~reached):
        text += " A hollow point is all prompts, where n* is not reached."
    text += " A curve ends at 0 by construction, so that n* is too small where it is not far below all prompts."
    return text + drawn


def _format_range(counts: IntArray) -> str:
    """Return the smallest and the largest of some counts, or the only one."""
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _describe_fewer_prompts(N: IntArray, most: Mask, reached: Mask, clear: Mask) -> str:
    """Return how many models need fewer prompts than those with the most, and for how many n* is not reached."""
    text = ""
    if fewer := int(np.sum(reached & ~most)):
        has, needs = ("has", "needs") if fewer == 1 else ("have", "need")
        text = f"; {format_count(fewer, 'other model')} that {has} {_format_range(N[reached & ~most])} {needs} fewer"
    if left := int(np.sum(clear & ~reached)):
        text += f"; for {format_count(left, 'model')} n* is not reached"
    return text


def _describe_vague_epsilon(sizes: SampleSize, vague: Mask) -> str:
    """Describe for which models epsilon is not below the variance over prompts; empty for none."""
    count = int(vague.sum())
    if not count:
        return ""
    if len(vague) == 1:
        whose = f"the variance of {sizes.models[0]} over all prompts"
    elif count == len(vague):
        whose = "the variance over all prompts of every model"
    else:
        whose = f"the variance over all prompts of {format_count(count, 'model')}"
    largest = float(np.max(sizes.moment[vague, 1]))
    size = format_significant(largest if largest > _ROUNDING**2 else 0.0) + (" at most" if count > 1 else "")
    return f"ε = {sizes.epsilon:g} is not below {whose} ({size}), so that n* says nothing there: choose a smaller ε. "


def _describe_models(sizes: SampleSize, n: FloatArray, available: Mask, reached: Mask, *, vague: bool) -> str:
    """Return the models for which that number is sufficient; `vague`: n* says nothing for some other model."""
    if len(sizes.models) == 1:
        return f"{sizes.models[0]}."
    if left := int(np.sum(available & ~reached)):
        count_text = format_count(int(reached.sum()), "model")
        return f"the {count_text} where fewer than all are enough; for {left:,} n* is not reached."
    who = "every model" if available.all() else "every model with two prompts or more"
    who = f"the other {format_count(int(available.sum()), 'model')}" if vague else who
    most = [model for model, number in zip(sizes.models, n.tolist(), strict=True) if number == np.nanmax(n)]
    verb = "needs" if len(most) == 1 else "need"
    return f"{who}." if np.ptp(n[available]) == 0 else f"{who}; {join_names(most)} {verb} the most."


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
    moment = int(np.nanargmax(sizes.n_star_space[most]))
    low, high = (end[most, moment] for end in sizes.space_limits(level))
    N = int(sizes.n_variants[most])
    text = (
        f"For new prompts from the same space, {sizes.models[most]} needs "
        f"{format_prompts_interval(space[most], low, high)} for both "
        f"moments{_compare_with_others(space, most, 'the most')}; "
        f"the data have {N:,}. "
    )
    n_short = int(np.sum(space > sizes.n_variants))
    if len(space) > 1 and n_short:
        text += f"For {format_count(n_short, 'model')} the number is larger than in the data. "
    text += _without_noise(sizes, most, moment)
    return text + (
        "n*: the number from which on the prompts at hand are enough; ε too large: not below the variance itself. "
        "Space: what new prompts from "
        f"the space take, with {format_level(level)} intervals, when each is scored on as many questions with as many "
        "generations as here. Noise-free: the same if the score of each prompt had no noise of its own; –: unknown. "
        f"ε = {sizes.epsilon:g}, δ = {sizes.delta:g}."
    )


def _without_noise(sizes: SampleSize, model: int, moment: int) -> str:
    """Describe how many prompts would be needed if their scores had no noise."""
    if not sizes.noise_known[model]:
        return "How many it would take without the noise of each prompt's score is unknown. "
    if not np.all(np.isnan(sizes.n_star_space_corrected[model])):  # the other moment may need more without the noise
        moment = int(np.nanargmax(sizes.n_star_space_corrected[model]))
    needed = sizes.n_star_space_corrected[model, moment]
    low, high = sizes.corrected_low[model, moment], sizes.corrected_high[model, moment]
    if np.isnan(needed):
        most = "" if np.isnan(high) else f", up to {format_prompts(high)}"
        return f"The prompts differ by no more than the noise of their scores, so how many they need is unknown{most}. "
    return (
        "If each prompt's score rested on so many questions and generations that it had no noise of its own, "
        f"{format_prompts_interval(needed, low, high)} would be enough. "
    )


def format_prompts_interval(value: float, low: float, high: float) -> str:
    """Format a number of prompts with its interval, if that is known."""
    return (
        format_prompts(value)
        if np.isnan(low + high)
        else f"{format_prompts(value)} ({format_prompts(low)} to {format_prompts(high)})"
    )


def format_share_interval(low: float, high: float) -> str:
    """Format the limits of a share; an en dash if they are unknown."""
    return "–" if np.isnan(low + high) else f"{format_share(low)} to {format_share(high)}"


def format_prompts(value: float) -> str:
    """Format a number of prompts; an en dash if it is unknown."""
    return "–" if np.isnan(value) else f"{int(value):,}"
