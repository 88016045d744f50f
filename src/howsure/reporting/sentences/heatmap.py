"""Caption of the heatmap of questions and models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howsure.reporting.sentences.formatting import format_count
from howsure.stats.core.cells import Cells


def describe_heatmap(cells: Cells, bins: NDArray[np.int64]) -> str:
    """Questions that all models fail or solve, and what a column is."""
    answered = cells.answered
    asked = answered.any(axis=0)
    count = int(asked.sum())
    if cells.unit:
        none = int(np.sum(asked & np.all((cells.total <= 0) | ~answered, axis=0)))
        full = int(np.sum(asked & np.all((cells.mean >= 1 - 1e-9) | ~answered, axis=0)))
        text = (
            f"Every generation of every model that answered scored 0 on {none:,} of {format_count(count, 'question')}, "
            f"and 1 on {full:,}."
        )
    else:
        text = f"{format_count(count, 'question')}, from the lowest mean score to the highest."
    if (groups := int(bins.max(initial=-1)) + 1) < count:
        text += (
            f" {len(cells.models):,} × {count:,} cells are too many to draw: questions are grouped by difficulty into "
            f"{groups:,} groups of nearly equal size, and a cell is the mean over its group."
        )
    if not answered[:, asked].all():
        text += " Where a model has no score the cell is grey."
    return text + " Colours are rounded to 21 levels."
