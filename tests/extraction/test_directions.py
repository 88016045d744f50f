"""Kinds of truth: hand-read cases, some in a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.cpu_time import LONGEST, measure_best

from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.directions import DIRECTIONS, extract_direction

AWKWARD = Path(__file__).with_name("awkward_directions.tsv")
READ = [
    ("West", "west"),
    ("North-east.", "north-east"),
    ("NORTH EAST", "north-east"),
    ("northeast", "north-east"),
    ("the lake is NE of you", "north-east"),
    ("It must be South\u2011East", "south-east"),
    ("N", "north"),
    ("$\\boxed{NW}$", "north-west"),
    ("\\boxed{\\text{south-west}}", "south-west"),
    ("**W**", "west"),
    ("The answer is N.", "north"),
    ('The correct answer is "north".', "north"),
    ("Answer: SE", "south-east"),
    ("**Answer:** East", "east"),
    ("Final answer: **South-East**", "south-east"),
    ("A: south", "south"),
    ("#### north", "north"),
    ("Answer:\n\nWest", "west"),
    ("North.\nNorth.\n", "north"),
    # the last explicit statement wins
    ("The answer is north. Wait: the answer is south.", "south"),
    ("So x is east.\n\nSouth", "south"),
    ("The answer is east.\nSouth", "south"),
    # reasons and bold
    ("The answer is west because you are on the east shore.", "west"),
    ("You are walking south along the east shore; so **west**", "west"),
    ("West.\n\nExplanation: walking along the east shore.", "west"),
    ("<answer>west</answer>", "west"),
    # denials
    ("It is not north, it is south.", "south"),
    ("It isn't north; west", "west"),
    ("Neither north nor south, but east.", "east"),
    ("answer: not north but south", "south"),
    ("west, opposite of east", "west"),
    ("no, west", "west"),
    # words that are not directions
    ("The northern lake is to the west", "west"),
    ("Looking at the North Star you face north", "north"),
]
NOT_READ = [
    "",
    "I can't say",
    "not north",
    "not to the north",
    "The answer is not north.",
    "The answer is unknown. north",
    "northern",
    "southwestern",
    "westwards",
    "nor'easter",
    "North Star",
    "north-north-east",
    "north northeast",
    "The answer is north-north-east",
    "north/south",
    "south,east",
    "NE or SW",
    "Answer: north or south",
    "The answer is: north, or possibly south",
    "You are walking south along the east shore",
    "**north** or **south**",
    "North\nSouth\nor so",
    "North\nSouth\nEast or none of these",
    "the direction is (E)",
    "East" * 20,
]


@pytest.mark.parametrize(("text", "direction"), READ)
def test_reads_as_a_person_does(text, direction):
    assert extract_direction(text) == direction


@pytest.mark.parametrize("text", NOT_READ)
def test_unparsed_rather_than_a_guess(text):
    assert extract_direction(text) is None


def read_awkward_cases():
    """The lines of the table: a direction or "-", a question, and a completion."""
    lines = AWKWARD.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def read_awkward_case(question, text):
    """Return the direction that is read from a completion of the table, or "-"."""
    context = CompletionContext(question=question, truncated=text.startswith("cut:"))
    direction = extract_direction(text.removeprefix("cut:").replace("⏎", "\n"), context=context)
    return "-" if direction is None else direction


def test_awkward_cases_are_read_as_a_person_reads_them():
    readings = [(case, read_awkward_case(*case[1:])) for case in read_awkward_cases()]
    assert [(case, got) for case, got in readings if got != case[0]] == []


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_spelling_of_every_direction(direction):
    words = direction.split("-")
    spellings = {sep.join(words) for sep in ("-", " ", "", "‑")}
    for spelling in spellings | {s.upper() for s in spellings} | {s.title() for s in spellings}:
        for text in (spelling, f"{spelling}.", f"It is {spelling}", f"The answer is {spelling}.", f"**{spelling}**"):
            assert extract_direction(text) == direction
        assert extract_direction(f"not {spelling}") is None
    assert extract_direction(f"To the {''.join(w[0] for w in words).upper()}!") == (
        direction if len(words) == 2 else None
    )


@pytest.mark.parametrize("unit", ["north ", "not north ", "north-", "**", "**north**", "the answer is ", "\n", "no "])
def test_hostile_text_takes_bounded_time(unit):
    assert measure_best(extract_direction, unit * (100_000 // len(unit))) < LONGEST


# Large


def test_a_direction_before_a_further_question_is_whole_though_the_completion_was_cut():
    context = CompletionContext("Which direction is it?", truncated=True, stops=("\nQuestion:",))
    text = "You went north and then you turned, so you face west.\n"
    assert extract_direction(f"{text}\nQuestion: Where is", context=context) == "west"
    assert extract_direction(f"{text}\nThen you", context=context) is None
