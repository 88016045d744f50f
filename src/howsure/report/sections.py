"""What the page shows of every benchmark: who beats whom, where the noise comes from, the questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from howsure.report import answer, sentences
from howsure.report.figure import Figure, Sheet
from howsure.stats.comparisons.pairs import Pairs
from howsure.stats.core.cells import Cells
from howsure.stats.scores.score import Scores

__all__ = ["DRAWN", "PAIRS", "comparisons", "noise", "questions"]

#: Models that a figure with a row per model shows at most; the tables hold all.
DRAWN = 60

#: Pairs that a page carries and a scatter plot draws at most.
PAIRS = 12_000


def comparisons(
    cells: Cells, pairs: Pairs, order: Sequence[str], reference: str, sheet: Sheet, *, most: int
) -> Iterator[Figure]:
    """Differences to the reference, all pairs, and the errors of at most `most` of them."""
    from howsure.report import charts

    words, shown = sentences.verdicts(pairs), order[:DRAWN]
    others = [m for m in order if m != reference][:DRAWN]
    caption = sentences.forest(pairs, reference)
    if len(others) < len(order) - 1:
        caption += f" Drawn for the first {len(others)} of {len(order) - 1:,} other models; the counts are over all."
    yield sheet.figure(
        "forest",
        f"How far is each model from {reference}?",
        caption,
        charts.forest(pairs, reference, others, verdicts=words),
        looks=f"Points with intervals: difference in score of each model from {reference}",
        marks=3 * len(others),
    )
    if len(order) > 2:
        yield sheet.figure(
            "matrix",
            "Which pairs of models can be told apart?",
            sentences.matrix(pairs, len(shown)),
            charts.matrix(pairs, shown, verdicts=words),
            looks="Grid of pairs of models",
            table="pairs",
            marks=len(shown) ** 2,
        )
    if len(pairs.a) > 2:
        every = -(-len(pairs.a) // most)
        yield sheet.figure(
            "errors",
            "How large is the error of a difference, and what does theory expect?",
            sentences.pair_errors(pairs, binary=cells.binary, every=every),
            charts.pair_errors(pairs, binary=cells.binary, every=every),
            looks="Scatter plot, one point per pair of models",
            table="pairs",
            marks=len(pairs.a),
        )


def noise(scores: Scores, order: Sequence[str], sheet: Sheet, *, pooled: bool = False) -> Iterator[Figure]:
    """Data and prediction noise of each model; `pooled`: over several prompts."""
    from howsure.report import charts

    if np.isnan(scores.total).all():  # one question, answered once: nothing to draw
        return
    shown = order[:DRAWN]
    yield sheet.figure(
        "noise",
        "How much noise comes from the questions, how much from sampling?",
        sentences.components(scores, len(shown)) + (f" {sentences.prompts.POOLED}" if pooled else ""),
        charts.components(scores, shown),
        looks="Stacked bars, one per model",
        table="scores",
        marks=2 * len(shown),
    )


def questions(cells: Cells, order: Sequence[str], sheet: Sheet) -> Iterator[Figure]:
    """Which questions are hard for whom."""
    from howsure.report import charts

    bins = charts.question_bins(answer.difficulty(cells), len(cells.models))
    if bins.max() >= 0:
        yield sheet.figure(
            "difficulty",
            "Which questions are hard, and for whom?",
            sentences.difficulty(cells, bins),
            charts.difficulty(cells, order),
            looks="Heatmap of scores, models by skill and questions by difficulty",
            table="questions",
            marks=len(cells.models) * (int(bins.max()) + 1),
        )
