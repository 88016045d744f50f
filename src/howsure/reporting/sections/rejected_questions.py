"""Section of the page on scores with and without the questions that a review rejected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howsure.reporting.elements import ElementBuilder, Section
from howsure.reporting.sentences.formatting import choose_decimals, format_count, format_number
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.scores import Scores, score

#: Heading and meaning of the columns of this section's tables.
COLUMNS = {
    "score_of_all": ("All questions", "Score on all questions, also those that a review rejected."),
    "change": ("Change", "What leaving out the rejected questions does to the score."),
}


def build_rejected_section(
    cells: Cells, scores: Scores, unreviewed_cells: Cells | None, order: Sequence[str], builder: ElementBuilder
) -> Section:
    """Build the section on rejected questions; without any it has no items.

    Parameters
    ----------
    cells, scores
        Cells without the rejected questions, and the scores of the models on them.
    unreviewed_cells
        Cells with the rejected questions.
    order
        Models in the order of the page.
    """
    name, title = "rejected-part", "Without the rejected questions"
    lead = "A review found these questions mislabeled or ambiguous; nothing else on this page counts them."
    if unreviewed_cells is None or len(unreviewed_cells.questions) == len(cells.questions):
        return Section(name, title, "Rejected", lead)
    unreviewed_scores = score(unreviewed_cells, level=scores.level)
    models = [model for model in order if model in unreviewed_cells.models]
    new = np.array([scores.score[cells.index(model)] for model in models])
    old = np.array([unreviewed_scores.score[unreviewed_cells.index(model)] for model in models])
    builder.add_table(
        "rejected", {"model": np.array(models, dtype=object), "score": new, "score_of_all": old, "change": new - old}
    )
    places = choose_decimals(np.sqrt(scores.variance))
    rejected = len(unreviewed_cells.questions) - len(cells.questions)
    moved = int(np.sum(_rank_scores(new) != _rank_scores(old)))
    largest = float(np.nanmax(np.abs(new - old), initial=0))
    order_change = "the order of the models stays" if not moved else f"{format_count(moved, 'model')} change places"
    caption = (
        f"{format_count(rejected, 'question')} of {len(unreviewed_cells.questions):,} are left out; scores change by "
        f"at most {format_number(largest, places)}, and {order_change}."
    )
    rows = {
        "Model": models,
        "Score": [format_number(value, places) for value in new.tolist()],
        "All questions": [format_number(value, places) for value in old.tolist()],
        "Change": [format_number(value, places, sign=True) for value in (new - old).tolist()],
    }
    item = builder.build_text_table(
        "rejected", "What do the rejected questions change?", caption, rows, text_columns=1, table="rejected"
    )
    return Section(name, title, "Rejected", lead, (item,))


def _rank_scores(scores: FloatArray) -> IntArray:
    """Return the indices of the models from the highest score to the lowest."""
    order: IntArray = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
    return order
