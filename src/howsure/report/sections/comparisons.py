"""Section 2 of the page: differences between models, all pairs, and the errors of differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from howsure.report.charts.comparisons import (
    draw_disagreement,
    draw_forest,
    draw_matrix,
    draw_pair_errors,
    significant_difference,
)
from howsure.report.elements import Figure, Sheet
from howsure.report.sentences.comparisons import (
    describe_disagreement,
    describe_forest,
    describe_matrix,
    describe_pair_errors,
)
from howsure.report.sentences.summary import judge_pairs
from howsure.stats.comparisons import Pairs
from howsure.stats.core.cells import Cells

#: Models that a figure with a row per model shows at most; the tables hold all.
DRAWN = 60

#: Pairs that a page carries and a scatter plot draws at most.
PAIRS = 12_000


def comparisons(
    cells: Cells, pairs: Pairs, order: Sequence[str], reference: str, sheet: Sheet, *, most: int
) -> Iterator[Figure]:
    """Differences to the reference, all pairs, and the errors of at most `most` of them."""
    words, shown = judge_pairs(pairs), order[:DRAWN]
    others = [m for m in order if m != reference][:DRAWN]
    caption = describe_forest(pairs, reference)
    if len(others) < len(order) - 1:
        caption += f" Drawn for the first {len(others)} of {len(order) - 1:,} other models; the counts are over all."
    yield sheet.figure(
        "forest",
        f"How far is each model from {reference}?",
        caption,
        draw_forest(pairs, reference, others, verdicts=words),
        looks=f"Points with intervals: difference in score of each model from {reference}",
        marks=3 * len(others),
    )
    if len(order) > 2:
        yield sheet.figure(
            "matrix",
            "Which pairs of models can be told apart?",
            describe_matrix(pairs, len(shown)),
            draw_matrix(pairs, shown, verdicts=words),
            looks="Grid of pairs of models",
            table="pairs",
            marks=len(shown) ** 2,
        )
    if len(pairs.a) > 2:
        every = -(-len(pairs.a) // most)
        yield sheet.figure(
            "errors",
            "How large is the error of a difference, and what does theory expect?",
            describe_pair_errors(pairs, binary=cells.binary, every=every),
            draw_pair_errors(pairs, binary=cells.binary, every=every),
            looks="Scatter plot, one point per pair of models",
            table="pairs",
            marks=len(pairs.a),
        )


def disagreement_figure(pairs: Pairs, sheet: Sheet, *, most: int) -> Iterator[Figure]:
    """Differences against disagreement, at most `most` pairs; nothing unless scores are 0 and 1 and some differ.

    The sheet has the table `pairs`.
    """
    if len(pairs.a) < 3 or not np.any(pairs.disagreement > 0):
        return
    every = -(-len(pairs.a) // most)
    common = np.where(pairs.n_questions > 0, pairs.n_questions, np.nan)
    needed = significant_difference(pairs.disagreement, common, pairs.level)
    yield sheet.figure(
        "disagreement",
        "Which differences would one generation per question find?",
        describe_disagreement(pairs, needed, every=every),
        draw_disagreement(pairs, every=every),
        looks="Scatter plot, one point per pair of models, with a parabola",
        table="pairs",
        marks=len(pairs.a),
    )
