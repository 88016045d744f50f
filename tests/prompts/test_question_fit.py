"""Kinds of truth: a table of cases as public exams have them, read by hand; properties of every order and every label."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.prompt_questions import benchmark
from hypothesis import given
from hypothesis import strategies as st

from howsure.benchmarks.question import Question
from howsure.errors import HowsureWarning, InputError
from howsure.prompts import draw_variants
from howsure.prompts.dimensions import BUILT_IN_VALUES
from howsure.prompts.question_fit import find_misfit, find_pins

ALL, LAST = "all", "last"
#: Choices, the text of the question, which choices keep their place (None, the last one, or all), and the labels or not.
REFERENCES = [
    (("Rome", "Oslo", "Bern"), "Which is in Italy?", None, False),
    (("Rome", "Milan", "All of the above"), "Which are in Italy?", LAST, False),
    (("12", "14", "None of these"), "How many?", LAST, False),
    (("Rome", "Milan", "None"), "Which are in Norway?", LAST, False),
    (("Rome", "None of the above", "Oslo"), "Which is it?", ALL, False),
    (("All of the options given are correct", "Rome", "Oslo"), "Which?", ALL, False),
    (("Rome", "Oslo", "Both A and B"), "Which are cities?", ALL, True),
    (("Rome", "Oslo", "neither (a) nor (b)"), "Which are cities?", ALL, True),
    (("first value in the list", "Rome", "Oslo"), "Which?", ALL, True),
    (("Rome", "Oslo", "Bern"), "Why is option B wrong?", ALL, True),
    (("Vitamin A", "Vitamin B", "Zinc"), "Which is a metal?", None, False),
    (("One", "Two", "Three"), "How many?", None, False),
    (("talk to each other", "sleep", "run"), "What do friends do?", None, False),
    (("I only", "II only", "I and II only"), "Which of I and II holds?", None, False),
]
#: Dimension, value, choices, and whether the value fits them.
VALUES = [
    ("enumerator", "digits", ("84", "21", "24"), True),
    ("enumerator", "digits", ("3", "2", "7"), False),
    ("enumerator", "digits", ("1 and 2", "4 apples", "5"), False),
    ("enumerator", "roman", ("I only", "II only", "I and II only"), False),
    ("enumerator", "roman", ("World War I", "World War II", "neither war"), True),
    ("enumerator", "lowercase", ("A", "B", "O"), False),
    ("enumerator", "lowercase", ("a cat", "a dog", "vitamin b"), True),
    ("enumerator", "greek", ("α-helix", "β-sheet", "coil"), False),
    ("enumerator", "keyboard", ("$12", "$14", "$20"), True),  # the three labels are !, @ and #
    ("enumerator", "keyboard", ("#include", "main", "if"), False),
    ("enumerator", "lowercase", ("Rome", "Oslo", "Both A and B"), False),
    ("enumerator", "lowercase", ("(a) 5 m, (b) 3 s", "(a) 7 m, (b) 2 s", "no"), False),
    ("enumerator", "greek", ("(a) 5 m, (b) 3 s", "(a) 7 m, (b) 2 s", "no"), True),
    ("enumerator", "capitals", ("A", "B", "Both A and B"), True),
    ("separator", "comma", ("red, white", "blue", "green"), True),
    ("separator", "pipe", ("|x|", "x", "y"), False),
    ("separator", "spaces", ("a  b", "x", "y"), False),
    ("separator", "semicolon", ("a = 1\nb = 2", "c", "d"), False),
    ("separator", "newline", ("a = 1\nb = 2", "c", "d"), True),
]


@pytest.mark.parametrize(("choices", "text", "pinned", "are_labels_pinned"), REFERENCES)
def test_choices_that_refer_to_others_keep_their_place(choices, text, pinned, are_labels_pinned):
    pins = find_pins(Question("q", text, "A", choices=choices))
    n = len(choices)
    assert pins.choices == {None: (), LAST: (n - 1,), ALL: tuple(range(n))}[pinned]
    assert pins.are_labels_pinned == are_labels_pinned
    assert bool(pins.reason) == bool(pins.choices)


@given(order=st.permutations(range(5)), n=st.integers(0, 4))
def test_pinned_choices_stay_and_the_others_follow_the_drawn_order(order, n):
    choices = (
        tuple(f"city {i}" for i in range(5 - n)) + ("None of these", "Both of these", "All of these", "Neither")[:n]
    )
    pinned = find_pins(Question("q", "Which?", "A", choices=choices)).order(order)
    assert sorted(pinned) == list(range(5))
    assert pinned[5 - n :] == tuple(range(5 - n, 5))
    assert [i for i in pinned if i < 5 - n] == [i for i in order if i < 5 - n]


@pytest.mark.parametrize(("dimension", "name", "choices", "fits"), VALUES)
def test_values_fit_choices(dimension, name, choices, fits):
    (value,) = (value for value in BUILT_IN_VALUES[dimension] if value.name == name)
    assert (find_misfit(dimension, value, Question("q", "Which?", "A", choices=choices)) == "") == fits


def with_misfits(n):
    """Twenty questions of which the first n have choices that are numbers from 1 to 3."""
    texts = [("3", "2", "1") if i < n else ("Rome", "Oslo", "Bern") for i in range(20)]
    return replace(
        benchmark(), questions=[Question(f"q{i}", f"Which {i}?", "B", choices=c) for i, c in enumerate(texts)]
    )


DIGITS = {"space": "multiple-choice", "sample": 12, "seed": 2, "dimensions": {"enumerator": ["capitals", "digits"]}}


def test_a_question_keeps_its_original_labels_where_others_do_not_fit_and_is_counted():
    asked = with_misfits(2)  # half of the prompts of one question in ten
    with pytest.warns(HowsureWarning, match=r"the original enumerator stands in place of digits \(2\)"):
        drawn = draw_variants(DIGITS, asked)
    for variant in drawn.variants:
        is_drawn = variant.values["enumerator"] == "digits"
        for place, question in enumerate(asked.questions):
            record = variant.record(question)
            assert ("replaced" in record) == (is_drawn and place < 2)
            assert set(record["labels"]) == (set("123") if is_drawn and place > 1 else set("ABC"))
            assert variant.read(question, variant.write_answer(question, "B")).answer == "B"


def test_a_space_that_too_many_questions_do_not_fit_is_refused_with_the_values_that_fit():
    with pytest.raises(InputError) as raised:
        draw_variants(DIGITS, with_misfits(3))
    assert "7.5% of the prompts" in raised.value.what
    assert raised.value.remedy == "draw values that fit, dimensions: {enumerator: [capitals]}"
    draw_variants(DIGITS | {"dimensions": {"enumerator": ["capitals"]}}, with_misfits(3))


@pytest.mark.parametrize("place", ["space", "benchmark"])
def test_a_pin_keeps_the_order_and_the_labels_of_choices(place):
    asked = with_misfits(20)
    if place == "benchmark":
        asked, spec = replace(asked, pin="choices"), DIGITS
    else:
        spec = DIGITS | {"pin": "choices"}
    for variant in draw_variants(spec, asked).variants:
        record = variant.record(asked.questions[0])
        assert (record["labels"], record["order"]) == ({"A": 0, "B": 1, "C": 2}, [0, 1, 2])
        assert {"enumerator", "order"}.isdisjoint(variant.values)
