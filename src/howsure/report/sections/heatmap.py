"""Section 6 of the page: which questions are hard, and for which models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from howsure.report.charts.heatmap import bin_questions, draw_heatmap
from howsure.report.elements import Figure, Sheet
from howsure.report.sections import score_table
from howsure.report.sentences.heatmap import describe_heatmap
from howsure.stats.core.cells import Cells


def questions(cells: Cells, order: Sequence[str], sheet: Sheet) -> Iterator[Figure]:
    """Which questions are hard for whom."""
    bins = bin_questions(score_table.difficulty(cells), len(cells.models))
    if bins.max() >= 0:
        yield sheet.figure(
            "difficulty",
            "Which questions are hard, and for whom?",
            describe_heatmap(cells, bins),
            draw_heatmap(cells, order),
            looks="Heatmap of scores, models by skill and questions by difficulty",
            table="questions",
            marks=len(cells.models) * (int(bins.max()) + 1),
        )
