"""Captions of the data map and of the table of suspected label errors."""

from __future__ import annotations

import numpy as np

from howsure.reporting.sentences.formatting import format_count, format_level, format_number, format_share, is_or_are
from howsure.stats.questions import MAX_P_CORRECT, MIN_CONSISTENCY, AnswerCounts, LabelErrors, min_generations

#: Text before the figure.
LEAD = (
    "A model that is right mostly gives the same answer every time. A question that models answer alike, and wrong, is "
    "either one that they all misunderstand or one whose label is wrong: read these first. A click on a point opens "
    "its question."
)


def describe_data_map(errors: LabelErrors, *, binned: bool) -> str:
    """Describe how consistency depends on P(correct), and how many questions lie in the corner.

    >>> from howsure.stats.questions import AnswerCounts
    >>> from howsure.stats.questions import find_label_errors
    >>> given = {m: {"q1": ["4", "4"], "q2": ["7", "7"], "q3": ["2", "3"]} for m in "ab"}
    >>> answers = AnswerCounts.from_generations("s", given, {"q1": "4", "q2": "8", "q3": "3"})
    >>> print(describe_data_map(find_label_errors(answers), binned=False))
    On questions that are right more often than not consistency is 0.00 on average, on the others −0.50. The marked \
corner, P(correct) up to 0.1 and consistency of −0.8 at least, holds 1 of 3 questions. Means over 2 models.
    """
    available = ~np.isnan(errors.consistency) & ~np.isnan(errors.p_correct)
    right, s = errors.p_correct > 0.5, errors.consistency
    mostly, seldom = (s[available & which] for which in (right, ~right))
    if len(mostly) and len(seldom):
        text = (
            "On questions that are right more often than not consistency is "
            f"{format_number(float(mostly.mean()), 2)} on average, on the others "
            f"{format_number(float(seldom.mean()), 2)}."
        )
    else:
        which = "right" if len(mostly) else "wrong"
        text = (
            f"All questions are {which} at least half of the time: consistency is "
            f"{format_number(float(s[available].mean()), 2)}."
        )
    corner, N = int(errors.on_map.sum()), int(available.sum())
    text += (
        f" The marked corner, P(correct) up to {MAX_P_CORRECT:g} and consistency of "
        f"{format_number(MIN_CONSISTENCY, 1)} at least, "
        f"holds {f'{corner:,}' if corner else 'none'} of {format_count(N, 'question')}."
    )
    text += f" Means over {format_count(most, 'model')}." if (most := int(errors.n_models.max(initial=0))) > 1 else ""
    if binned:
        text += (
            " The stronger the colour of a square, the more questions lie in it; suspected label errors are drawn one "
            "by one."
        )
    if len(available) > N:
        left = len(available) - N
        text += (
            f" {format_count(left, 'question')} with fewer than two read answers of any model {is_or_are(left)} not "
            "drawn."
        )
    return text


def describe_few_generations(answers: AnswerCounts) -> str:
    """Describe cells with too few or too different numbers of generations; empty if there are none.

    >>> from howsure.stats.questions import AnswerCounts
    >>> describe_few_generations(AnswerCounts.from_generations("s", {"a": {"q1": ["4", "4"]}}, {}))
    ' 1 of 1 cell of a model and a question has fewer than 4 answers: there a single one that differs brings \
consistency below −0.8.'
    """
    n = answers.at_cells(answers.n * answers.parsed)
    n = n[n > 1]
    text, least = "", min_generations(MIN_CONSISTENCY)
    if few := int(np.sum(n < least)):
        text += (
            f" {few:,} of {format_count(n.size, 'cell')} of a model and a question {'has' if few == 1 else 'have'} "
            "fewer "
            f"than {least} answers: there a single one that differs brings consistency below "
            f"{format_number(MIN_CONSISTENCY, 1)}."
        )
    if n.size and n.max() > 2 * n.min():
        text += (
            f" Cells have {n.min():,.0f} to {n.max():,.0f} answers; consistency comes out too high where they are few, "
            "so compare questions with about as many."
        )
    return text


def describe_label_errors(errors: LabelErrors, n_rows: int) -> str:
    """Describe how many labels are suspected, why, and what the evidence means.

    Parameters
    ----------
    errors
        All questions.
    n_rows
        Rows of the table.
    """
    n_suspected, N = int(errors.suspected.sum()), len(errors.questions)
    text = (
        f"{n_suspected:,} of {format_count(N, 'question')} ({format_share(n_suspected / N)}) {is_or_are(n_suspected)} "
        "worth a "
        "look: "
    )
    parts = []
    if n_corner := int(errors.on_map.sum()):
        parts.append(f"{n_corner:,} in the corner of the data map (rarely right, nearly always alike)")
    if n_outvoted := int(errors.outvoted.sum()):
        parts.append(f"{n_outvoted:,} where most models, two at least, give the same other answer")
    text += ", and ".join(parts) + (", some for both reasons." if n_corner + n_outvoted > n_suspected else ".")
    text += (
        " The evidence puts them in order and is no probability: answers cannot tell a wrong target from a right one "
        "that all models miss in the same way. The probability that a target is wrong lies between 0 and the last "
        f"column, if at most {format_level(errors.max_share)} of all targets are wrong. Read the question."
    )
    return text + (f" The first {n_rows:,} are listed; the download has more." if n_rows < n_suspected else "")
