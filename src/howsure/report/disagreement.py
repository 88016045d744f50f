"""A figure of section 2: the difference of two models beside how often they disagree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from howsure.report.figure import Figure, Sheet
from howsure.report.sentences import disagreement as sentences
from howsure.stats.comparisons.pairs import Pairs

__all__ = ["disagreement_figure"]


def disagreement_figure(pairs: Pairs, sheet: Sheet, *, most: int) -> Iterator[Figure]:
    """Differences against disagreement, at most `most` pairs; nothing unless scores are 0 and 1 and some differ.

    The sheet has the table `pairs`.
    """
    from howsure.report.charts import comparisons

    if len(pairs.a) < 3 or not np.any(pairs.disagreement > 0):
        return
    every = -(-len(pairs.a) // most)
    common = np.where(pairs.n_questions > 0, pairs.n_questions, np.nan)
    needed = comparisons.decisive(pairs.disagreement, common, pairs.level)
    yield sheet.figure(
        "disagreement",
        "Which differences would one generation per question find?",
        sentences.disagreement(pairs, needed, every=every),
        comparisons.disagreement(pairs, every=every),
        looks="Scatter plot, one point per pair of models, with a parabola",
        table="pairs",
        marks=len(pairs.a),
    )
