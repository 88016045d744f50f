"""Write the right answers that reviewers gave as a table, a row for each question that they do not call fine."""

from __future__ import annotations

import csv
from pathlib import Path

from howsure.errors import InputError
from howsure.review.queue import RunTexts
from howsure.review.verdicts import Decision, load
from howsure.safe_text import neutralise_formula
from howsure.store.atomic import replace_file

#: Columns of the table.
COLUMNS = ("benchmark", "question", "decision", "target", "right_answer")


def write_corrections(run: Path, verdicts: Path, output: Path) -> dict[str, int]:
    """Write the corrections of a run's questions as CSV, and return the number of rows of each decision.

    Parameters
    ----------
    run
        Run folder or log.
    verdicts
        Verdicts, as ``howsure review`` writes them.
    output
        The file to write. `decision` is "corrected" (with the right answer, for a choice its text), "rejected" (without
        one that is agreed on) or "disputed" (some reviewers reject the question and others do not).

    Raises
    ------
    InputError
        When the file exists, or no verdict is on a question of the run.
    """
    if output.exists():
        raise InputError("the file exists already", where=str(output), remedy="give a new name")
    decisions = load(verdicts)
    views = [view for view in RunTexts([run]).questions() if view.key in decisions]
    if not views:
        remedy = "is it the right file of verdicts? A question whose text or target has changed needs a new verdict"
        raise InputError(f"no verdict in {verdicts} is on a question here", where=str(run), remedy=remedy)
    counts: dict[str, int] = {}
    with replace_file(output) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for view in views:
            decision = decisions[view.key]
            if word := _describe_decision(decision):
                counts[word] = counts.get(word, 0) + 1
                answers = (_find_text(text, view.choices) for text in (view.target or "", decision.answer))
                writer.writerow(map(neutralise_formula, (view.benchmark, view.question, word, *answers)))
    return counts


def _describe_decision(decision: Decision) -> str:
    """Return the word of a decision; empty for a question that reviewers call fine, or are unsure of."""
    if decision.answer:
        return "corrected"
    return "rejected" if decision.is_rejected else "disputed" if decision.needs_adjudication else ""


def _find_text(answer: str, choices: tuple[str, ...]) -> str:
    """Return the text of the choice whose letter an answer is; the answer itself for questions without choices."""
    index = ord(answer.upper()) - ord("A") if len(answer) == 1 and answer.isascii() else -1
    return choices[index] if 0 <= index < len(choices) else answer
