"""Completions that were judged before they were read, but for 113 of the first set. Kind of truth: those readings.

Each set was written, or taken from small models, and judged by somebody who had not read the code or before the code read
it. The faults of one half were looked at when rules were changed; the other half ("held out") was read once before and once
after. Later its faults were looked at, too. Of `blind_conclusions`, for which no weights were fitted, only the faults of
word problems, lists, yes and no, other languages and, by their causes, mathematics were looked at. `blind_small_models`
are completions of two small models, of which all faults were looked at and no weights fitted. A row with `misread` is not read yet as the person read it: the test fails when
it is, so that the mark goes.
"""

from __future__ import annotations

import json
import re
import string
from pathlib import Path

import pytest
from helpers.awkward_answers import count_cases

from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.directions import extract_direction
from howsure.extraction.multiple_choice import read_choice
from howsure.extraction.numbers import canonical_number, extract_number
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import ScoringItem
from howsure.scorers.yes_no import read_yes_no


def load(name):
    """Return the rows of a file of this folder."""
    return [json.loads(line) for line in Path(__file__).with_name(name).read_text("utf-8").split("\n") if line]


ROWS = load("blind_completions.jsonl")
KINDS = load("blind_kinds.jsonl")
BENCHMARKS = load("blind_benchmarks.jsonl")
ANSWERS = load("blind_answers.jsonl")
CONCLUSIONS = load("blind_conclusions.jsonl")
SMALL_MODELS = load("blind_small_models.jsonl")
COMPASS = ["North", "South", "East", "West"]
#: Row of the table of `docs/answers.md` -> its completions, and the lowest share that is read as the person read it.
SETS = {
    "`blind_completions`": ([row for row in ROWS if not row["awkward"]], 0.97),
    "`blind_completions`, awkward": ([row for row in ROWS if row["awkward"]], 0.81),
    "`blind_kinds`": (KINDS, 0.82),
    "`blind_benchmarks`": (BENCHMARKS, 0.85),
    "`blind_answers`": ([row for row in ANSWERS if not row["awkward"]], 0.85),
    "`blind_answers`, awkward": ([row for row in ANSWERS if row["awkward"]], 0.43),
    "`blind_conclusions`": (CONCLUSIONS, 0.78),
    "`blind_small_models`": (SMALL_MODELS, 0.8),
}
FILES = {
    "completions": ROWS,
    "kinds": KINDS,
    "benchmarks": BENCHMARKS,
    "answers": ANSWERS,
    "conclusions": CONCLUSIONS,
    "small_models": SMALL_MODELS,
}
#: Longest reading in a mark, in characters.
LONGEST_READING = 60
#: Each kind of answer has at least so many judged completions.
LEAST_CASES = 300
#: Kind of an answer -> the scorer whose verdict is compared.
SCORERS = {"open": "normalised", "words": "list:ordered", "list": "list", "maths": "maths"}


@pytest.fixture(scope="module")
def scorers():
    """The scorers by kind of answer."""
    pytest.importorskip("math_verify")
    built = {kind: build_scorer(name, "test") for kind, name in SCORERS.items()}
    built |= {"normalised": build_scorer("normalised", "test"), "exact": build_scorer("exact", "test")}
    yield built
    for scorer in built.values():
        scorer.close()


def build_context(row):
    """Return what a scorer knows of the completion of a row."""
    choices, stops = tuple(row.get("options", [])), tuple(row.get("stops", ()))
    return CompletionContext(row["question"], choices, row.get("truncated", False), stops, row["language"])


def read_answer(row, scorers):
    """Return what is read from a completion: a choice, a number, yes or no, or what its scorer read."""
    choices, text, context = row.get("options", []), row["text"], build_context(row)
    if row["type"] == "class" and choices == COMPASS:
        return (extract_direction(text, context=context) or "").capitalize() or None
    if row["type"] in {"choice", "class"}:
        labels = row.get("labels") or string.ascii_uppercase[: len(choices)]
        place, _ = read_choice(text, labels, choices, expects_label=row["type"] == "choice", context=context)
        names = labels if row["type"] == "choice" else choices
        return None if place is None else names[place]
    if row["type"] == "number":
        return extract_number(text, context=context)
    if row["type"] == "yesno":
        return read_yes_no(text, context)[0]
    return score_answer(row, scorers).answer or None


def read_as_person(row, scorers):
    """Return whether a completion is read as the person read it."""
    if row["type"] in SCORERS:
        scored = score_answer(row, scorers)
        if row.get("right") is not None:
            return bool(scored.score) == row["right"]
        return scored.answer in {None, "", "[]"} if row["reads"] is None else scored.score == 1
    reading = row["reads"]
    if row["type"] == "number":
        reading = reading and canonical_number(reading)
    return read_answer(row, scorers) == (reading or None)


def score_answer(row, scorers):
    """Return the score of a completion against what the person read, or against the target."""
    context, text = build_context(row), row["text"]
    if row.get("right") is not None:
        return scorers["open"].score(text, ScoringItem("b", "q", "v", row["target"], context))
    target = row["reads"] if row["reads"] is not None else row["target"]
    items = target if isinstance(target, str) else json.dumps(target)
    if row["type"] == "words":
        items = json.dumps([part.strip() for part in target.split("," if "," in target else None)])
    scored = scorers[row["type"]].score(text, ScoringItem("b", "q", "v", items, context))
    if row["type"] == "words" and not scored.score and "," not in target:
        name = "normalised" if any(map(str.isalnum, target)) else "exact"
        scored = scorers[name].score(text, ScoringItem("b", "q", "v", target, context))
    return scored


def describe_reading(row, scorers):
    """Return what is read from a completion and what the person read, as a mark says it."""
    answer = read_answer(row, scorers)
    if row.get("right") is not None:
        return "right, scored as wrong" if row["right"] else "wrong, scored as right"
    if answer in {None, "[]"}:
        return "not read"
    answer, reads = (" ".join(str(part).split())[:LONGEST_READING] for part in (answer, row["reads"] or "nothing"))
    return f"read as {answer}, not as {reads}"


@pytest.mark.parametrize("rows", FILES.values(), ids=FILES)
def test_completions_are_read_as_a_person_reads_them(rows, scorers):
    """All but those that are marked, as their ids and texts say."""
    marked = {(row["id"], row["text"]) for row in rows if "misread" in row}
    assert {(row["id"], row["text"]) for row in rows if not read_as_person(row, scorers)} == marked


@pytest.mark.parametrize("name", SETS)
def test_the_documentation_has_the_share_of_each_set(name):
    """The share that `docs/answers.md` prints is that of the marks, so that no mark is added in silence."""
    rows, lowest = SETS[name]
    page = (Path(__file__).parents[2] / "docs" / "answers.md").read_text("utf-8")
    share = sum("misread" not in row for row in rows) / len(rows)
    assert share >= lowest
    section = page.partition("## How often it is right")[2]
    line = next(line for line in section.split("\n") if line.startswith(f"| {name} |"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert [cells[2], cells[4]] == [str(len(rows)), f"{100 * share:.0f} %"]


def test_each_mark_says_what_is_read():
    marks = [row["misread"] for row in KINDS + ANSWERS + CONCLUSIONS + SMALL_MODELS if "misread" in row]
    assert [mark for mark in marks if not mark.startswith(("read as ", "not read", "right, ", "wrong, "))] == []
    assert "not read as a person reads it" not in marks


@pytest.mark.long
def test_the_docs_say_how_many_judged_completions_there_are_of_each_kind():
    """Kind of truth: the files themselves, counted."""
    counts = count_cases()
    page = (Path(__file__).resolve().parents[2] / "docs" / "answers.md").read_text("utf-8")
    printed = {kind: int(number) for kind, number in re.findall(r"(?m)^\| (\w+) \| (\d+) \|$", page)}
    assert {kind: printed.get(kind) for kind in counts} == counts
    assert all(number >= LEAST_CASES for kind, number in counts.items() if kind != "f1")
