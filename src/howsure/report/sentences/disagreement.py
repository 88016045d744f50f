"""What the difference of two models says beside how often they disagree."""

from __future__ import annotations

import numpy as np

from howsure.report.sentences.words import are, plural, share
from howsure.stats.comparisons.pairs import Pairs
from howsure.stats.core.cells import FloatArray

__all__ = ["disagreement"]


def disagreement(pairs: Pairs, needed: FloatArray, *, every: int = 1) -> str:
    """How many pairs one generation per question tells apart, of pairs some of which disagree.

    `needed` is the difference that it takes, shape (P,).
    """
    known = ~np.isnan(pairs.disagreement) & ~np.isnan(needed)
    count = int(known.sum())
    above = int(np.sum(np.abs(pairs.difference[known]) >= needed[known]))
    none = int(np.sum(pairs.disagreement[known] <= 0))
    middle = int(np.argsort(pairs.disagreement[known], kind="stable")[count // 2])
    text = (
        f"{above:,} of {plural(count, 'pair')} {are(above)} on or above the curve: a difference of that size in one "
        f"generation per question has p ≤ {1 - pairs.level:.2g}, for this pair alone. "
    )
    of = share(float(pairs.disagreement[known][middle]))
    text += (
        f"Models that differ on {of} of the questions, as a typical pair here, need a difference of "
        f"{needed[known][middle]:.2g}. "
    )
    if none:
        text += f"{plural(none, 'pair')} never disagreed. "
    text += "More questions lower the curve; more generations per question find smaller differences than it says."
    if len(np.unique(pairs.n_questions[known])) > 1:
        text += " Pairs have different numbers of common questions: the curve is for the median, the count for each."
    if every > 1:
        text += f" Drawn for one pair in {every:,}."
    return text
