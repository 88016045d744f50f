"""Scores with and without the questions that a review rejected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howsure.report.elements import Section, Sheet
from howsure.report.sentences.formatting import choose_decimals, format_count, format_number
from howsure.stats.core.cells import Cells
from howsure.stats.scores import Scores, score

COLUMNS = {
    "score_of_all": ("All questions", "Score on all questions, also those that a review rejected."),
    "change": ("Change", "What leaving out the rejected questions does to the score."),
}


def rejected_section(kept: Cells, scores: Scores, whole: Cells | None, order: Sequence[str], sheet: Sheet) -> Section:
    """A row per model; nothing where no question was left out.

    Parameters
    ----------
    kept, scores
        The cells without the rejected questions, and what the models score on them.
    whole
        The cells with them.
    """
    name, title = "rejected-part", "Without the rejected questions"
    lead = "A review found these questions mislabeled or ambiguous; nothing else on this page counts them."
    if whole is None or len(whole.questions) == len(kept.questions):
        return Section(name, title, "Rejected", lead)
    before = score(whole, level=scores.level)
    models = [model for model in order if model in whole.models]
    new = np.array([scores.score[kept.index(model)] for model in models])
    old = np.array([before.score[whole.index(model)] for model in models])
    sheet.table(
        "rejected", {"model": np.array(models, dtype=object), "score": new, "score_of_all": old, "change": new - old}
    )
    places = choose_decimals(np.sqrt(scores.variance))
    out = len(whole.questions) - len(kept.questions)
    ranked = [models[i] for i in np.argsort(-np.nan_to_num(new, nan=-np.inf), kind="stable")]
    ranked_before = [models[i] for i in np.argsort(-np.nan_to_num(old, nan=-np.inf), kind="stable")]
    moved = sum(a != b for a, b in zip(ranked, ranked_before, strict=True))
    largest = float(np.nanmax(np.abs(new - old), initial=0))
    order_said = "the order of the models stays" if not moved else f"{format_count(moved, 'model')} change places"
    caption = (
        f"{format_count(out, 'question')} of {len(whole.questions):,} are left out; scores change by at most "
        f"{format_number(largest, places)}, and {order_said}."
    )
    rows = {
        "Model": models,
        "Score": [format_number(value, places) for value in new.tolist()],
        "All questions": [format_number(value, places) for value in old.tolist()],
        "Change": [format_number(value, places, sign=True) for value in (new - old).tolist()],
    }
    item = sheet.listing("rejected", "What do the rejected questions change?", caption, rows, text=1, table="rejected")
    return Section(name, title, "Rejected", lead, (item,))
