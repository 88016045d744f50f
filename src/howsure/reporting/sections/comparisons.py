"""Section 2 of the page: differences between models, all pairs, and the errors of differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from howsure.reporting.charts.comparisons import (
    draw_disagreement,
    draw_forest,
    draw_matrix,
    draw_pair_errors,
    significant_difference,
)
from howsure.reporting.elements import ElementBuilder, Figure, Section
from howsure.reporting.sentences.comparisons import (
    describe_disagreement,
    describe_forest,
    describe_matrix,
    describe_pair_errors,
)
from howsure.reporting.sentences.summary import judge_pairs
from howsure.stats.comparisons import Pairs

#: Largest number of models in a figure with one row per model; tables contain all models.
MAX_MODELS = 60

#: Largest number of pairs in the table of pairs and in a scatter plot.
MAX_PAIRS = 12_000


def build_comparison_section(
    pairs: Pairs | None, order: Sequence[str], reference: str, builder: ElementBuilder, *, has_questions: bool
) -> Section:
    """Build the section on differences between models.

    Parameters
    ----------
    pairs
        Comparisons of all pairs; None for one model.
    order
        Models in the order of the page.
    reference
        Model that the others are compared with.
    builder
        Collects the figures and their numbers; its table "pairs" exists.
    has_questions
        Whether scores of single questions are known.
    """
    figures: list[Figure] = []
    if pairs is not None and has_questions:
        figures = [*_build_pair_figures(pairs, order, reference, builder), *build_disagreement_figure(pairs, builder)]
    reason = "only one model" if pairs is None else "their scores on single questions are not known"
    title = "Who beats whom"
    return Section(
        "pairs",
        title,
        title,
        "Two models are compared on the questions that both answered, question by question. When the models find the "
        "same questions hard, the difference has a smaller error than two separate scores suggest.",
        tuple(figures),
        () if figures else (f"who beats whom ({reason})",),
    )


def _build_pair_figures(
    pairs: Pairs, order: Sequence[str], reference: str, builder: ElementBuilder
) -> Iterator[Figure]:
    """Yield the differences from the reference, the matrix of pairs, and the errors of differences."""
    verdicts, rows = judge_pairs(pairs), order[:MAX_MODELS]
    others = [model for model in order if model != reference][:MAX_MODELS]
    caption = describe_forest(pairs, reference)
    if len(others) < len(order) - 1:
        caption += f" Drawn for the first {len(others)} of {len(order) - 1:,} other models; the counts are over all."
    yield builder.build_figure(
        "forest",
        f"How far is each model from {reference}?",
        caption,
        draw_forest(pairs, reference, others, verdicts=verdicts),
        kind=f"Points with intervals: difference in score of each model from {reference}",
        marks=3 * len(others),
    )
    if len(order) > 2:
        yield builder.build_figure(
            "matrix",
            "Which pairs of models are distinguishable?",
            describe_matrix(pairs, len(rows)),
            draw_matrix(pairs, rows, verdicts=verdicts),
            kind="Grid of pairs of models",
            table="pairs",
            marks=len(rows) ** 2,
        )
    if len(pairs.a) > 2:
        every, binary = -(-len(pairs.a) // MAX_PAIRS), pairs.cells.binary
        yield builder.build_figure(
            "errors",
            "How large is the error of a difference, and what does theory expect?",
            describe_pair_errors(pairs, binary=binary, every=every),
            draw_pair_errors(pairs, binary=binary, every=every),
            kind="Scatter plot, one point per pair of models",
            table="pairs",
            marks=len(pairs.a),
        )


def build_disagreement_figure(
    pairs: Pairs, builder: ElementBuilder, *, max_pairs: int | None = None
) -> Iterator[Figure]:
    """Yield the plot of differences against disagreement, if scores are 0 and 1 and some pair of models disagrees.

    Parameters
    ----------
    max_pairs
        Largest number of pairs that are drawn; default: `MAX_PAIRS`.
    """
    if len(pairs.a) < 3 or not np.any(pairs.disagreement > 0):
        return
    every = -(-len(pairs.a) // (max_pairs or MAX_PAIRS))
    common = np.where(pairs.n_questions > 0, pairs.n_questions, np.nan)
    thresholds = significant_difference(pairs.disagreement, common, pairs.level)
    yield builder.build_figure(
        "disagreement",
        "Which differences would one generation per question detect?",
        describe_disagreement(pairs, thresholds, every=every),
        draw_disagreement(pairs, every=every),
        kind="Scatter plot, one point per pair of models, with a parabola",
        table="pairs",
        marks=len(pairs.a),
    )
