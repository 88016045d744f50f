"""Captions of the figures that compare models."""

from __future__ import annotations

import numpy as np

from howsure.reporting.sentences.formatting import format_count, format_level, format_share, is_or_are
from howsure.reporting.sentences.summary import group_by_verdict, judge_pairs
from howsure.stats.comparisons import POWER, Pairs
from howsure.stats.core.cells import FloatArray


def describe_forest(pairs: Pairs, reference: str) -> str:
    """Describe the differences of the models from the reference."""
    groups = group_by_verdict(pairs, reference)
    parts = [
        f"{format_count(len(names), 'model')} {phrase if len(names) > 1 else single}"
        for names, phrase, single in (
            (groups["below"], "are distinguishably below it", "is distinguishably below it"),
            (groups["above"], "are distinguishably above it", "is distinguishably above it"),
            (
                groups["open"],
                "are not distinguishable from it at this sample size",
                "is not distinguishable from it at this sample size",
            ),
            (groups["untestable"], "cannot be tested against it", "cannot be tested against it"),
        )
        if names
    ]
    r = pairs.models.index(reference)
    detectable = pairs.detectable[(pairs.a == r) | (pairs.b == r)]
    detectable = detectable[detectable > 0]
    detectable_text = (
        f" Against it, a true difference of about {np.median(detectable):.2g} (median over pairs) would be detected "
        "with "
        f"{POWER:.0%} power by a single test at level {format_level(pairs.level)}."
        if len(detectable)
        else ""
    )
    return (
        f"Compared with {reference}: {'; '.join(parts)}.{detectable_text} "
        f"Bars are {format_level(pairs.level)} intervals of single differences; verdicts are adjusted for all pairs "
        "(Holm)."
    )


def describe_matrix(pairs: Pairs, n_drawn: int) -> str:
    """Describe how many pairs are distinguishable; `n_drawn` models are drawn."""
    words = judge_pairs(pairs)
    decided, untestable = words.count("distinguishable"), words.count("not testable")
    text = (
        f"{decided:,} of {format_count(len(words), 'pair')} {is_or_are(decided)} distinguishable, adjusted for all "
        "pairs (Holm)"
    )
    text += f"; {untestable:,} cannot be tested." if untestable else "."
    text += " Blue: the row's model scores higher; orange: lower; a grey dot: not distinguishable or not testable."
    if n_drawn < len(pairs.models):
        text += f" Drawn for the first {n_drawn} of {len(pairs.models):,} models; the counts are over all."
    return text


def describe_pair_errors(pairs: Pairs, *, binary: bool, every: int = 1) -> str:
    """Describe how large the standard errors of differences are, and whether pairing reduces them."""
    se = np.sqrt(pairs.total / np.where(pairs.n_questions > 0, pairs.n_questions, np.nan))
    available = se[~np.isnan(se)]
    if len(available) == 0:
        return "No two models have a question in common."
    text = f"With one generation per question the median standard error of a difference is {np.median(available):.2g}."
    correlation = pairs.correlation[np.isfinite(pairs.correlation)]
    if len(correlation):
        helped = int(np.sum(correlation > 0))
        text += (
            f" In {helped:,} of {format_count(len(correlation), 'pair')} the scores of the two models are positively "
            "correlated over questions: there, pairing gives the difference a smaller error than two separate sets of "
            "questions would."
        )
    if binary and len(np.unique(pairs.n_questions)) > 1:
        text += " Pairs have different numbers of common questions; the curves are drawn for the median number."
    if every > 1:
        text += f" Drawn for every {every}{'nd' if every == 2 else 'rd' if every == 3 else 'th'} pair."
    return text


def describe_disagreement(pairs: Pairs, thresholds: FloatArray, *, every: int = 1) -> str:
    """Describe how many pairs one generation per question can distinguish.

    Parameters
    ----------
    pairs
        All pairs, some of which disagree.
    thresholds
        Smallest significant difference of each pair, shape (P,).
    every
        One pair in `every` is drawn.
    """
    available = ~np.isnan(pairs.disagreement) & ~np.isnan(thresholds)
    count = int(available.sum())
    n_above = int(np.sum(np.abs(pairs.difference[available]) >= thresholds[available]))
    n_equal = int(np.sum(pairs.disagreement[available] <= 0))
    middle = int(np.argsort(pairs.disagreement[available], kind="stable")[count // 2])
    text = (
        f"{n_above:,} of {format_count(count, 'pair')} {is_or_are(n_above)} on or above the curve: a difference of "
        "that "
        "size in one "
        f"generation per question has p ≤ {1 - pairs.level:.2g}, for this pair alone. "
    )
    share = format_share(float(pairs.disagreement[available][middle]))
    text += (
        f"Models that differ on {share} of the questions, as a typical pair here, need a difference of "
        f"{thresholds[available][middle]:.2g}. "
    )
    if n_equal:
        text += f"{format_count(n_equal, 'pair')} never disagreed. "
    text += "More questions lower the curve; with more generations per question smaller differences are detected."
    if len(np.unique(pairs.n_questions[available])) > 1:
        text += " Pairs have different numbers of common questions: the curve is for the median, the count for each."
    if every > 1:
        text += f" Drawn for one pair in {every:,}."
    return text
