"""Completions that are hard to read. Kind of truth: readings by hand, of invented texts and of real ones (shared)."""

from __future__ import annotations

import json
import re
import string
from pathlib import Path

import pytest
from helpers.awkward_answers import read_table

from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.multiple_choice import read_choice

AWKWARD = [
    json.loads(line) for line in Path(__file__).with_name("awkward_choices.jsonl").read_text("utf-8").splitlines()
]
#: Written before the code that reads them was seen.
BLIND = [json.loads(line) for line in Path(__file__).with_name("blind_choices.jsonl").read_text("utf-8").splitlines()]
#: Texts that name a choice and give no answer, and further ones to the same questions that give one. No model is fitted
#: to them.
UNANSWERED = Path(__file__).with_name("unanswered_choices.tsv")
COMPLETIONS = Path(__file__).resolve().parents[2] / "../shared/data/completions"
#: With which text the prompts of a kind begin a further question.
STOPS = {"mmlu_pro": ("\nQuestion:",), "bbh_choice": ("\nQ:",)}


def read(row, labels):
    """Return the label that is read."""
    context = CompletionContext(
        row.get("question", ""), tuple(row["choices"]), row.get("truncated", False), tuple(row.get("stops", ()))
    )
    place, _ = read_choice(row["text"], labels, row["choices"], expects_label=True, context=context)
    return None if place is None else labels[place]


def test_invented_completions_are_read_as_a_person_reads_them():
    readings = [(row, read(row, row.get("labels", ["A", "B", "C", "D"]))) for row in AWKWARD]
    assert [(got, row) for row, got in readings if got != row["answer"]] == []


def test_completions_written_without_reading_the_code_are_read_as_a_person_reads_them():
    """A row that is marked `unread` is too hard to read so far, but is never read as another choice."""
    readings = [(row, read(row, row["labels"])) for row in BLIND]
    assert [
        (got, row) for row, got in readings if got != row["answer"] and not (row.get("unread") and got is None)
    ] == []


def read_reply(question, choices, text):
    """Return the label that is read from a text, or "-"."""
    row = {"question": question, "choices": choices.split(" ¦ "), "text": text}
    return read(row, string.ascii_uppercase[: len(row["choices"])]) or "-"


def test_a_text_that_gives_no_answer_is_not_read():
    """A row with a fifth column is misread so far, as that column says."""
    rows = read_table(UNANSWERED, 4)
    assert {row for row in rows if read_reply(*row[1:4]) != row[0]} == {row for row in rows if row[4]}


def test_the_documentation_has_the_counts_of_texts_without_an_answer():
    """Kind of truth: the marks of the file, counted; each says what is read."""
    rows = [line.split("\t") for line in UNANSWERED.read_text("utf-8").split("\n") if line and not line.startswith("#")]
    marked = [row for row in rows if len(row) > 4]
    assert [
        row for row in marked if f"read as {read_reply(*row[1:4])}".replace("read as -", "not read") != row[4]
    ] == []
    without, answered = ([row for row in rows if (row[0] == "-") is is_none] for is_none in (True, False))
    counts = (
        len(without),
        sum(row in marked for row in without),
        len(answered),
        sum(row in marked for row in answered),
    )
    page = (Path(__file__).parents[2] / "docs" / "answers.md").read_text("utf-8")
    printed = re.search(
        r"Of (\d+) texts that name a choice and give no answer (\d+) are still read .*?of (\d+) answers to\s"
        r"the same questions (\d+) are not read",
        page,
        re.DOTALL,
    )
    assert printed is not None
    assert tuple(map(int, printed.groups())) == counts


@pytest.mark.shared
@pytest.mark.skipif(not COMPLETIONS.exists(), reason="needs the data folder ../shared")
def test_every_judged_completion_is_read_as_the_judge_read_it():
    kinds = ("bbh_choice", "mmlu_pro", "mmlu_stated")
    rows = [json.loads(line) for line in (COMPLETIONS / "judged.jsonl").read_text("utf-8").split("\n") if line]
    wrong = []
    for i, row in enumerate(rows):
        if row["kind"] in kinds:
            labels = list(string.ascii_uppercase[: len(row["choices"])])
            given = {"text": row["completion"], "choices": row["choices"], "stops": STOPS.get(row["kind"], ())}
            truth = (row["truth"] or "").strip("()") or None
            if read(given, labels) != truth:
                wrong.append((i, row["cause"], truth))
    assert wrong == []
