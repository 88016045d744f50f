"""Kinds of truth: hand-read cases; completions of known meaning (an independent oracle)."""

from __future__ import annotations

import random

import pytest
from helpers.composed_completions import completion

from howsure.benchmarks.question_file import extract_exact
from howsure.extraction.choices import extract_choice


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(B)", "B"),
        ("**B**.", "B"),
        ("It is Paris.\n\nB", "B"),
        ("The answer is (B).", "B"),
        ("The answer is B because A is wrong.", "B"),
        ("Answer: **B) Paris**", "B"),
        ("The answer is B, not C.", "B"),
        ("The answer is A. No: the answer is D", "D"),
        ("\\boxed{C}", "C"),
        ("\\boxed{\\text{C}}", "C"),
        ("B) Paris", "B"),
        ("(B) Paris", "B"),
        ("B. Paris", "B"),
        ("B because it lies on the Seine.", "B"),
        ("The correct option is C", "C"),
        ("I looked at both. It is C.", "C"),
        ("I choose (D).", "D"),
        ("The answer is A. No: option D is correct.", "D"),
        ("<think>The answer is B.</think>\nC", "C"),
        ("It is Paris, I would say: **B**.\nNothing else fits.", "B"),
        ("Ｂ", "B"),
        ("I think the answer is B, I would say.", "B"),
        ("A or B", None),
        ("<think>The answer is B.", None),
        ("I do not think the answer is B.", None),
        ("**A** or **B**", None),
        ("A. Rome or B. Paris", None),
        ("The answer is A or B", None),
        ("The answer is Paris", None),
        ("I think Paris", None),
        ("A dog", None),
        ("A) Paris\nB) Rome and more", None),
        ("", None),
    ],
)
def test_reads_as_a_person_does(text, choice):
    assert extract_choice(text) == choice


def test_letters_are_read_as_they_are_where_the_choices_are_known():
    rng = random.Random(7)
    texts = ("Rome", "Paris", "Oslo", "Bern")
    read = 0
    for _ in range(1500):
        said = completion(rng, "ABCD", ["A)", "B)", "C)", "D)"], texts)
        if not any(text in said.text for text in texts):  # whose letter only the choices tell
            assert extract_choice(said.text) == (None if said.place is None else "ABCD"[said.place]), said.text
            read += said.place is not None
    assert read > 300


def test_exact_answers_ignore_case_and_spaces():
    assert extract_exact("  New \n YORK ") == extract_exact("new york") == "new york"
    assert extract_exact(" \n") is None
