"""What the page shows of answers: the data map, and the questions whose label may be wrong."""

from __future__ import annotations

import numpy as np

from howsure.report.charts.data_map import MAX_POINTS, draw_data_map, is_dense
from howsure.report.elements import Figure, Listing, Section, Sheet
from howsure.report.sentences.data_map import LEAD, describe_data_map, describe_few_generations, describe_label_errors
from howsure.report.sentences.formatting import format_number
from howsure.stats.core.results import Columns
from howsure.stats.questions import AnswerCounts, LabelErrors, find_label_errors

#: Rows of the table on the page, of the one behind it, and characters of an answer in each.
_ROWS, _KEPT, _SHORT, _LONG = 50, 1_000, 48, 200

#: Column to its heading and its meaning.
COLUMNS: dict[str, tuple[str, str]] = {
    "target": ("Target", "The answer that the benchmark takes to be right."),
    "answer": ("Other answer", "The answer that speaks most against the target: that of most models, the better ones."),
    "p_correct": ("P(correct)", "Mean score of a question over generations and models."),
    "consistency": (
        "Consistency",
        "Sum of p log p over a model's sets of equal answers; 0: always alike. Too high from few generations.",
    ),
    "n_sets": ("Answers", "Different answers of all models."),
    "models_agreeing": ("Models agreeing", "Models that gave the other answer more often than anything else."),
    "evidence": (
        "Evidence",
        "Weighted votes for the other answer less those for the target, better models counting more: no probability.",
    ),
    "p_wrong_max": (
        "P(wrong) at most",
        "Upper limit of the probability that the label is wrong; the lower limit is 0.",
    ),
    "suspected_by": (
        "Suspected by",
        "Data map: rarely right, nearly always alike. Models: most of them give the same other answer.",
    ),
    "part": ("Kind", "Suspect, or another question."),
    "n_here": ("Questions here", "Questions at this place of the map; the first by name is named."),
}


def map_section(answers: AnswerCounts | None, sheet: Sheet) -> Section:
    """Data map and suspects of a benchmark; None where its sources keep no answers."""
    title = "Which labels may be wrong"
    name = "map-part"
    if answers is None or not answers.read.any():
        why = "answers are not recorded" if answers is None else "no answer was read"
        return Section(name, title, title, LEAD, left_out=(f"data map and suspected labels ({why})",))
    found = find_label_errors(answers)
    items: list[Figure | Listing] = []
    left_out: list[str] = []
    if np.any(~np.isnan(found.consistency) & ~np.isnan(found.p_correct)):
        items.append(_map(found, answers, sheet))
    else:
        left_out.append("data map (no model has two generations with an answer to a question)")
    if found.suspected.any():
        items.append(_suspects(found, sheet))
    elif not items:
        left_out.append("suspected labels (there is none)")
    return Section(name, title, title, LEAD, tuple(items), tuple(left_out))


def _map(found: LabelErrors, answers: AnswerCounts, sheet: Sheet) -> Figure:

    dense = is_dense(found)
    return sheet.figure(
        "map",
        "Which questions are answered alike, and wrong?",
        describe_data_map(found, dense=dense) + describe_few_generations(answers),
        draw_data_map(found),
        looks="Scatter plot, one point per question" if not dense else "Density of questions, suspects as points",
        marks=min(len(found.questions), MAX_POINTS),
    )


def _suspects(found: LabelErrors, sheet: Sheet) -> Listing:
    kept = found.select(found.suspected)
    sheet.table("suspects", _rows(kept.select(slice(_KEPT))))
    shown = kept.select(slice(_ROWS))
    columns = shown.columns()
    return sheet.listing(
        "suspects",
        "Which labels contradict the models?",
        describe_label_errors(found, len(shown.questions)),
        {
            "Question": list(shown.questions),
            "Target": [_cut(one, _SHORT) for one in shown.target],
            "Other answer": [_cut(one, _SHORT) for one in shown.answer],
            "P(correct)": [format_number(p, 2) for p in shown.p_correct.tolist()],
            "Consistency": [format_number(s, 2) for s in shown.consistency.tolist()],
            "Answers": [f"{n:,}" for n in shown.n_sets.tolist()],
            "Models agreeing": [
                f"{a} of {n}" for a, n in zip(shown.models_agreeing.tolist(), shown.n_models.tolist(), strict=True)
            ],
            "Evidence": [format_number(one, 1) for one in columns["evidence"].tolist()],
            "P(wrong) at most": [format_number(one, 2) for one in columns["p_wrong_max"].tolist()],
        },
        text=3,
        table="suspects",
        opens=True,
    )


def _rows(found: LabelErrors) -> Columns:
    columns = found.columns()
    del columns["benchmark"], columns["note"]
    for name in ("target", "answer"):
        columns[name] = np.array([None if one is None else _cut(one, _LONG) for one in columns[name]], dtype=object)
    return columns


def _cut(text: str | None, most: int) -> str:
    """On one line, and not longer than this."""
    line = "–" if text is None else " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
