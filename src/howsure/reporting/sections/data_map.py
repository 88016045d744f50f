"""Section 7 of the page: the data map, and the questions whose label may be wrong."""

from __future__ import annotations

import numpy as np

from howsure.reporting.charts.data_map import MAX_POINTS, draw_data_map, is_dense
from howsure.reporting.elements import ElementBuilder, Figure, Section, TextTable
from howsure.reporting.sentences.data_map import (
    LEAD,
    describe_data_map,
    describe_few_generations,
    describe_label_errors,
)
from howsure.reporting.sentences.formatting import format_number
from howsure.stats.core.results import Columns
from howsure.stats.questions import AnswerCounts, LabelErrors, find_label_errors

#: Rows of the table on the page and of the table behind it, at most.
_MAX_ROWS, _MAX_STORED_ROWS = 50, 1_000

#: Characters of an answer in these two tables, at most.
_MAX_CHARACTERS, _MAX_STORED_CHARACTERS = 48, 200

#: Heading and meaning of the columns of this section's tables.
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
    "part": ("Kind", "Suspected label error, or another question."),
    "n_here": ("Questions here", "Questions at this place of the map; the first by name is named."),
}


def build_data_map_section(answers: AnswerCounts | None, builder: ElementBuilder) -> Section:
    """Build the section with the data map and the suspected label errors; it needs recorded answers."""
    title = "Which labels may be wrong"
    name = "map-part"
    if answers is None or not answers.parsed.any():
        reason = "answers are not recorded" if answers is None else "no answer was read"
        return Section(name, title, title, LEAD, left_out=(f"data map and suspected labels ({reason})",))
    errors = find_label_errors(answers)
    items: list[Figure | TextTable] = []
    left_out: list[str] = []
    if np.any(~np.isnan(errors.consistency) & ~np.isnan(errors.p_correct)):
        items.append(_build_map(errors, answers, builder))
    else:
        left_out.append("data map (no model has two generations with an answer to a question)")
    if errors.suspected.any():
        items.append(_build_table(errors, builder))
    elif not items:
        left_out.append("suspected labels (there is none)")
    return Section(name, title, title, LEAD, tuple(items), tuple(left_out))


def _build_map(errors: LabelErrors, answers: AnswerCounts, builder: ElementBuilder) -> Figure:
    """Return the figure of consistency against P(correct)."""
    binned = is_dense(errors)
    return builder.build_figure(
        "map",
        "Which questions are answered alike, and wrong?",
        describe_data_map(errors, binned=binned) + describe_few_generations(answers),
        draw_data_map(errors),
        kind="Density of questions, suspected label errors as points"
        if binned
        else "Scatter plot, one point per question",
        marks=min(len(errors.questions), MAX_POINTS),
    )


def _build_table(errors: LabelErrors, builder: ElementBuilder) -> TextTable:
    """Return the table of suspected label errors, the strongest evidence first."""
    suspected = errors.select(errors.suspected)
    builder.add_table("suspects", _tabulate_errors(suspected.select(slice(_MAX_STORED_ROWS))))
    rows = suspected.select(slice(_MAX_ROWS))
    columns = rows.columns()
    return builder.build_text_table(
        "suspects",
        "Which labels contradict the models?",
        describe_label_errors(errors, len(rows.questions)),
        {
            "Question": list(rows.questions),
            "Target": [_shorten(text, _MAX_CHARACTERS) for text in rows.target],
            "Other answer": [_shorten(text, _MAX_CHARACTERS) for text in rows.answer],
            "P(correct)": [format_number(p, 2) for p in rows.p_correct.tolist()],
            "Consistency": [format_number(s, 2) for s in rows.consistency.tolist()],
            "Answers": [f"{n:,}" for n in rows.n_sets.tolist()],
            "Models agreeing": [
                f"{a} of {n}" for a, n in zip(rows.models_agreeing.tolist(), rows.n_models.tolist(), strict=True)
            ],
            "Evidence": [format_number(value, 1) for value in columns["evidence"].tolist()],
            "P(wrong) at most": [format_number(value, 2) for value in columns["p_wrong_max"].tolist()],
        },
        text_columns=3,
        table="suspects",
        link_questions=True,
    )


def _tabulate_errors(errors: LabelErrors) -> Columns:
    """Return the columns of the suspected label errors, with long answers shortened."""
    columns = errors.columns()
    del columns["benchmark"], columns["note"]
    for name in ("target", "answer"):
        texts = [None if text is None else _shorten(text, _MAX_STORED_CHARACTERS) for text in columns[name]]
        columns[name] = np.array(texts, dtype=object)
    return columns


def _shorten(text: str | None, length: int) -> str:
    """Return the text on one line, with at most `length` characters."""
    line = "–" if text is None else " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
