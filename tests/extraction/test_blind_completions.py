"""Completions that were judged before they were read (846 of 959 of them). Kind of truth: those readings.

The set `KINDS` is described below. The others are four: written by hand in the styles of many models, with traps
(`awkward`); completions of two small models; and a further written set that was read after the code was changed (`unseen`); and one of kinds that are in none of these,
written after the code had been seen and before it read them (`later`). A row with
`misread` is not read yet as the person read it: the test fails when it is, so that the mark goes.
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
#: Written and judged by somebody who had not read the code, in nine kinds, with the completions of two small models. One
#: half was looked at when rules were added, the other ("held out") was only read again, but for one rule that a row of it
#: led to.
KINDS = load("blind_kinds.jsonl")
#: Written and judged before they were read, in the styles of 66 benchmarks, one half looked at when rules were added, the
#: other one ("held out") after it had been read; and completions of two further small models, judged and looked at.
BENCHMARKS = load("blind_benchmarks.jsonl")
#: Written and judged twice by a language model that had not read the code. One half was looked at when rules were changed,
#: the other one ("held out") was read once before and once after, and no rule was changed for it.
ANSWERS = load("blind_answers.jsonl")
COMPASS = ["North", "South", "East", "West"]
#: More realistic completions than this share must not be misread.
SHARE_MISREAD = 0.05
#: More completions of each half of `KINDS` than these shares must not be misread.
SHARES_OF_HALVES = {"looked at": 0.195, "held out": 0.285}
#: More completions of each part of `BENCHMARKS` than these shares must not be misread.
PARTS = {
    "looked at": "the half looked at first",
    "held out": "the other half",
    "small models": "two small models, looked at",
}
SHARES_OF_BENCHMARKS = {"looked at": 0.15, "held out": 0.17, "small models": 0.23}
#: Row of the table of `docs/answers.md` -> the kind of its completions.
TABLE = {
    "free multiple choice": "1_choice",
    "word problems": "2_gsm",
    "mathematics": "3_math",
    "BBH": "4_bbh",
    "open answers": "5_open",
    "other languages": "6_languages",
    "completions that run on": "7_base",
    "thinking models": "8_think",
    "small base model, choices": "real_base_mc",
    "small base model, numbers": "real_base_num",
    "small base model, open answers": "real_base_open",
    "small chat model, choices": "real_chat_mc",
    "small chat model, numbers": "real_chat_num",
    "small chat model, open answers": "real_chat_open",
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


def marked(rows):
    """Return the rows as parameters; those that are misread are expected to fail."""
    parameters = []
    for row in rows:
        marks = [pytest.mark.xfail(strict=True, reason=row["misread"])] if "misread" in row else []
        parameters.append(pytest.param(row, marks=marks, id=row["id"]))
    return parameters


@pytest.mark.parametrize("row", marked(ROWS + KINDS + BENCHMARKS + ANSWERS))
def test_completion_is_read_as_a_person_reads_it(row, scorers):
    assert read_as_person(row, scorers), row["text"]


def test_most_realistic_completions_are_read_and_misread_ones_are_few():
    """The shares that `docs/answers.md` prints, so that no mark is added in silence."""
    realistic = [row for row in ROWS if not row["awkward"]]
    assert len(realistic) > 600
    assert sum("misread" in row for row in realistic) / len(realistic) < SHARE_MISREAD


@pytest.mark.parametrize("half", SHARES_OF_HALVES)
def test_misread_completions_of_each_half_are_few(half):
    rows = [row for row in KINDS if row["half"] == half]
    assert len(rows) > 400
    assert sum("misread" in row for row in rows) / len(rows) <= SHARES_OF_HALVES[half]


@pytest.mark.parametrize("part", SHARES_OF_BENCHMARKS)
def test_the_documentation_has_the_share_of_each_part_of_the_benchmarks(part):
    rows = [row for row in BENCHMARKS if row["half"] == part]
    share = sum("misread" not in row for row in rows) / len(rows)
    assert len(rows) > 140
    assert share >= 1 - SHARES_OF_BENCHMARKS[part]
    page = (Path(__file__).parents[2] / "docs" / "answers.md").read_text("utf-8")
    line = next(line for line in page.split("\n") if line.startswith(f"| {PARTS[part]} ({len(rows)}) |"))
    assert line.endswith(f"| {100 * share:.0f} % |")


def test_documentation_has_the_share_of_each_kind():
    """The table of `docs/answers.md` has every kind of the half that was not looked at, as the marks count it."""
    page = (Path(__file__).parents[2] / "docs" / "answers.md").read_text("utf-8")
    rows = [row for row in KINDS if row["half"] == "held out"]
    assert {row["kind"] for row in rows} == set(TABLE.values())
    for name, kind in TABLE.items():
        reads = ["misread" not in row for row in rows if row["kind"] == kind]
        assert f"| {name} ({len(reads)}) | {100 * sum(reads) / len(reads):.0f} % |" in page


@pytest.mark.parametrize("half", ["looked at", "held out"])
@pytest.mark.parametrize("is_awkward", [False, True])
def test_the_documentation_has_the_counts_of_each_half_of_the_answers(half, is_awkward):
    """Kind of truth: the marks of the file, counted."""
    page = (Path(__file__).parents[2] / "docs" / "answers.md").read_text("utf-8")
    rows = [row for row in ANSWERS if row["half"] == half and row["awkward"] is is_awkward]
    marks = [row.get("misread") for row in rows]
    right, unread = marks.count(None), marks.count("not read")
    name = f"{half}, {'awkward' if is_awkward else 'realistic'} ({len(rows)})"
    assert re.search(
        rf"(?m)^\| {re.escape(name)} \| [\d.]+ % \| {100 * right / len(rows):.1f} % "
        rf"\| {len(rows) - right - unread} \| {unread} \|$",
        page,
    )


def test_each_mark_says_what_is_read():
    marks = [row["misread"] for row in KINDS + ANSWERS if "misread" in row]
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
