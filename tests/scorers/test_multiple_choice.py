"""Choices: cases judged by hand, by the rule that reads them."""

from __future__ import annotations

import pytest
from helpers.cpu_time import LONGEST, measure_best

from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.multiple_choice import extract_choice, read_choice

CITIES = ["Rome", "Paris", "Oslo", "Bern"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("B", (1, "last line")),
        ("(b)", (1, "last line")),
        ("**B. Paris**", (1, "last line")),
        ("Let me think.\n\nParis (B)", (1, "last line")),
        ("Paris", (1, "last line")),
        ("The answer is (B).", (1, "statement")),
        ("Answer: B, because it is the capital.", (1, "statement")),
        ("The answer is Paris.", (1, "statement")),
        ("The answer is not A but B.", (None, "denied")),
        ("The answer is perhaps B.", (1, "statement")),
        ("\\boxed{\\text{B}} is what I get.", (1, "statement")),
        ('{"reasoning": "A?", "answer": "B"}', (1, "statement")),
        ("The correct option is **B**, I am sure.", (1, "statement")),
        ("Ответ: В) Paris", (1, "statement")),
        ("La respuesta correcta es (B).", (1, "statement")),
        ("The answer is A. No, wait: the answer is B.", (1, "statement")),
        ("The city that fits best is **B. Paris**, which is a capital.\nIt lies on a river.", (1, "claim")),
        ("Looking at all of them, I would go with (B) Paris here.\nIt is large.", (1, "claim")),
        ("One of them stands out.\nI mean **B**, the others are small.\nThey are.", (1, "bold")),
        ("B) Paris\n\nIt is the largest of them.", (1, "first line")),
        ("That would be Paris.", (1, "claim")),
        ("The answer is (A) and (B).", (None, "several")),
        ("The answer is Rome or Paris.", (None, "several")),
        ("(A) Rome (B) Paris (C) Oslo", (None, "several")),
        ("The answer is not B.", (None, "denied")),
        ("The answer is none of the above.", (None, "denied")),
        ("The answer is (A) Paris.", (None, "contradiction")),
        ("A. Rome\nB. Paris\nC. Oslo\nD. Bern", (None, "none")),
        ("I do not think the answer is B.", (None, "none")),
        ("A dog barks.", (None, "none")),
        ("", (None, "empty")),
        ("<think>The answer is B", (None, "unfinished")),
    ],
)
def test_what_is_read_and_by_which_rule(text, wanted):
    assert read_choice(text, "ABCD", CITIES, expects_label=True) == wanted


def test_a_label_that_is_the_text_of_another_choice_needs_a_mark():
    labels, choices = "1234", ["4", "5", "6", "3"]
    assert read_choice("3", labels, choices) == (None, "ambiguous")
    assert read_choice("(3)", labels, choices)[0] == 2
    assert read_choice("3", labels, choices, expects_label=True)[0] == 2


def test_a_cut_completion_is_read_by_its_statement_only():
    context = CompletionContext(truncated=True)
    assert read_choice("We look at\nB", "AB", context=context) == (None, "none")
    assert read_choice("The answer is B.\nThis is", "AB", context=context) == (1, "statement")


def test_a_letter():
    assert extract_choice("The answer is (C).") == "C"
    assert extract_choice("The answer is (C).", context=CompletionContext(choices=("x", "y"))) is None


@pytest.mark.parametrize("part", ["answer: A ", "A. ", "it is (A) ", "**A**", "\\boxed{", "Rome ", " ", "<think>"])
def test_reading_takes_linear_time(part):
    text = part * (20_000 // len(part))
    assert measure_best(lambda part: read_choice(part, "ABCD", CITIES), text) < LONGEST
