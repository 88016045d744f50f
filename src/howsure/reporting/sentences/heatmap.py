"""Caption of the heatmap of questions and models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howsure.reporting.sentences.formatting import format_count
from howsure.stats.core.cells import Cells


def describe_heatmap(cells: Cells, bins: NDArray[np.int64]) -> str:
    """Describe how many questions all models fail or solve, and what a column is."""
    answered = cells.answered
    has_answer = answered.any(axis=0)
    n_questions = int(has_answer.sum())
    if cells.unit:
        n_unsolved = int(np.sum(has_answer & np.all((cells.total <= 0) | ~answered, axis=0)))
        n_solved = int(np.sum(has_answer & np.all((cells.mean >= 1 - 1e-9) | ~answered, axis=0)))
        text = (
            f"Every generation of every model that answered scored 0 on {n_unsolved:,} of "
            f"{format_count(n_questions, 'question')}, "
            f"and 1 on {n_solved:,}."
        )
    else:
        text = f"{format_count(n_questions, 'question')}, from the lowest mean score to the highest."
    if (groups := int(bins.max(initial=-1)) + 1) < n_questions:
        text += (
            f" {len(cells.models):,} × {n_questions:,} cells are too many to draw: questions are grouped by difficulty "
            "into "
            f"{groups:,} groups of nearly equal size, and a cell is the mean over its group."
        )
    if not answered[:, has_answer].all():
        text += " Where a model has no score the cell is grey."
    return text + " Colours are rounded to 21 levels."
