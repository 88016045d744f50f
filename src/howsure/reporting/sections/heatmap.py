"""Section 6 of the page: which questions are hard, and for which models."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.reporting.charts.heatmap import bin_questions, draw_heatmap
from howsure.reporting.elements import ElementBuilder, Figure, Section
from howsure.reporting.sections.score_table import mean_question_scores
from howsure.reporting.sentences.heatmap import describe_heatmap
from howsure.stats.core.cells import Cells


def build_heatmap_section(cells: Cells, order: Sequence[str], builder: ElementBuilder) -> Section:
    """Build the section with the heatmap of questions and models; without any score it has no figure."""
    mean = "P(correct) is the" if cells.binary else "The figure shows the"
    bins = bin_questions(mean_question_scores(cells), len(cells.models))
    figures: tuple[Figure, ...] = ()
    if bins.max() >= 0:
        figure = builder.build_figure(
            "difficulty",
            "Which questions are hard, and for whom?",
            describe_heatmap(cells, bins),
            draw_heatmap(cells, order),
            kind="Heatmap of scores, models by skill and questions by difficulty",
            table="questions",
            marks=len(cells.models) * (int(bins.max()) + 1),
        )
        figures = (figure,)
    lead = f"{mean} mean score of a model on a question over its generations."
    return Section("questions-part", "The questions", "Questions", lead, figures)
