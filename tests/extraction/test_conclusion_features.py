"""What the sentences of a completion say of each choice. Kind of truth: counted by hand."""

from __future__ import annotations

import pytest

from howsure.extraction.conclusion_features import (
    CHOICE_FEATURES,
    DECAY,
    LONGEST_END,
    LONGEST_START,
    TEXT_FEATURES,
    describe_conclusion,
)
from howsure.extraction.vocabulary import build_vocabulary

WORDS = build_vocabulary(tuple("ABCD"), ("Venus", "Mars", "Jupiter", "Saturn"))
QUESTION = "Which planet has the shortest day?"


def describe(text, question=QUESTION):
    """Return the features of a text."""
    return describe_conclusion(text, WORDS, question)


def test_names_are_those_of_the_tables():
    features = describe("So it is Mars.")
    assert all(list(row) == list(CHOICE_FEATURES) for row in features.choices)
    assert list(features.text) == list(TEXT_FEATURES)


@pytest.mark.parametrize(
    "text",
    [
        "So it is Mars.",
        "Venus, Mars, Jupiter and Saturn are planets. If so, Mars is not one.",
        "A and C are wrong. B is right!\n\n**Answer:** B\n\nLet me know.",
        "1. Venus is hot.\n2. Mars is red.\nSo it would be the last of these.",
    ],
)
def test_each_number_is_between_0_and_1(text):
    features = describe(text)
    for row in (*features.choices, features.text):
        assert all(0 <= value <= 1 for value in row.values())


def test_a_sentence_counts_less_for_each_choice_that_it_mentions_and_for_each_sentence_after_it():
    venus, mars, *_ = describe("Therefore Venus or Mars turns quickly.\nNobody can change this fact.").choices
    assert venus["concluded"] == mars["concluded"] == pytest.approx(DECAY / 2)
    assert venus["last_sentence"] == 0.5
    assert venus["sentences_after"] == 0.5 / 4
    assert venus["begins_sentence"] == 1
    assert mars["begins_sentence"] == 0


def test_denied_choices_are_counted_by_their_last_mention():
    venus, mars, jupiter, saturn = describe("Venus fits best.\nVenus is not it.\nMars is wrong.\nJupiter fits.").choices
    assert venus["share_denied"] == 0.5
    assert mars["share_denied"] == 1
    assert jupiter["others_denied"] == pytest.approx(2 / 3)
    assert jupiter["supported"] == 1
    assert venus["supported"] == pytest.approx(DECAY**3)
    assert saturn["not_mentioned"] == 1


def test_a_list_of_the_choices_and_remarks_at_the_end_are_no_sentences():
    plain = describe("Therefore it is Mars.")
    text = "A. Venus\nB. Mars\nC. Jupiter\nD. Saturn\nTherefore it is Mars.\n\nI hope this helps!"
    assert describe(text).choices == plain.choices
    assert describe("A. Venus\nB. Mars\nC. Jupiter\nD. Saturn") is None


def test_a_heading_belongs_to_the_sentence_below_it():
    _, mars, *_ = describe("Some planets turn slowly.\n\n## Conclusion\n\nMars turns quickly.").choices
    assert mars["concluded"] == 1
    _, mars, *_ = describe("Some planets turn slowly.\n\nMars turns quickly.").choices
    assert mars["concluded"] == 0


def test_an_exception_is_odd_where_the_question_asks_for_one():
    _, mars, *_ = describe("Venus is hot.\nMars is not hot.", "Which planet is NOT hot?").choices
    assert mars["odd_one"] == 1
    assert mars["share_denied"] == 0
    _, mars, *_ = describe("Venus is hot.\nMars is not hot.", "Which planet is hot?").choices
    assert mars["odd_one"] == 0
    assert mars["share_denied"] == 1


def test_only_the_start_and_the_end_of_a_text_are_read():
    """The time is bounded because what is between does not matter, whatever it is and however long."""
    start, end = "Mars is a planet. " * 40, "\nVenus is hot. So I'd go with Mars." * 100
    middles = ["", "Jupiter is the answer. " * 10, "(" * 200_000, "So Saturn, " * 50_000]
    features = [describe(start[:LONGEST_START] + middle + end[-LONGEST_END:]) for middle in middles]
    assert all(one.choices == features[0].choices for one in features)


@pytest.mark.parametrize(
    "text",
    [
        "Mars turns quickly. Shall I go on?",
        "Mars turns quickly. I cannot tell which one is meant.",
        "Mars turns quickly. None of the options is right.",
        "Mars turns quickly, as many other bodies in the system of planets around the Sun do, and therefore it can",
        "Mars turns quickly.\n\n### Answer\nPluto.",
        "B turns quickly.",
    ],
)
def test_a_text_that_asks_refuses_breaks_off_or_concludes_otherwise_has_no_features(text):
    assert describe("Mars turns quickly. It is small.") is not None
    assert describe(text) is None


def test_a_text_without_sentences_or_a_question_without_choices_has_no_features():
    assert describe(" \n ... \n") is None
    assert describe_conclusion("So it is A.", build_vocabulary(("A",), ("Mars",)), QUESTION) is None
