"""Directions: cases judged by hand."""

from __future__ import annotations

import pytest
from helpers.scored_runs import judged

from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.directions import DIRECTIONS, SHORT, extract_direction


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_each_direction_is_read_in_words_and_initials(direction):
    for text in (
        direction,
        direction.upper(),
        SHORT[direction].upper(),
        f"The answer is **{direction}**.",
        f"You walk {direction}.",
    ):
        assert extract_direction(text) == direction


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("You start in the east. So you end up west.", "west"),
        ("It is not north. It is south.", "south"),
        ("The answer is southeast.", "south-east"),
        ("It is north or east.", None),
        ("It lies in the Middle East.", None),
        ("The northern one.", None),
        ("<think>north", None),
        ("", None),
    ],
)
def test_what_is_read(text, wanted):
    assert extract_direction(text) == wanted


def test_a_cut_completion_is_read_by_its_statement_only():
    assert extract_direction("You walk north and", context=CompletionContext(truncated=True)) is None
    assert extract_direction("The answer is north. So", context=CompletionContext(truncated=True)) == "north"


def test_a_target_that_is_none_is_refused():
    with pytest.raises(ValueError, match="the target 'up' is not one of the eight directions"):
        judged("direction", "north", "up")
