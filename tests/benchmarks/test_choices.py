"""Kind of truth: hand-read cases."""

from __future__ import annotations

import pytest

from errorbar.benchmarks.choices import extract_choice
from errorbar.benchmarks.file import extract_exact


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
        ("A or B", None),
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


def test_exact_answers_ignore_case_and_spaces():
    assert extract_exact("  New \n YORK ") == extract_exact("new york") == "new york"
    assert extract_exact(" \n") is None
