"""Kinds of truth: hand-read cases; identities that must hold for every point, shuffle and enumerator (properties)."""

from __future__ import annotations

import itertools

import pytest
from helpers.prompt_questions import benchmark
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.prompts import draw_variants
from howsure.prompts.dimensions import ENUMERATORS
from howsure.scorers.multiple_choice import read_choice

CITIES = ["Rome", "Paris", "Oslo", "Bern"]
A, DIGITS, ROMAN = list("ABCD"), list("1234"), ["I", "II", "III", "IV", "V", "VI", "VII", "VIII"]
PHRASES = (
    "{label}", "({label})", "[{label}]", "{label}.", "{label})", "**{label}**", "{shown}", "{text}", "{label} {text}",
    "The answer is {label}.", "The answer is {label}", "The correct answer is ({label}).", "The answer is {text}.",
    "Answer: {label}", "**Answer:** {shown} {text}", "answer: {shown} {text}", "**Answer: {label}**", "{shown} {text}",
    "**{shown} {text}**", "\\boxed{{{label}}}", "$\\boxed{{\\text{{{label}}}}}$", "#### {label}", "<answer>{label}</answer>",
    "I looked at each of them.\n\n{label}", "I choose {label}.", "Option {label} is correct.", "The answer is option {label}: {text}",
    "The answer is {label}, because nothing else fits.", "{label}) {text} is the capital.", "{label}\n\nNothing else fits.",
    "The answer is {other}. No, wait: the answer is {label}.", "It is {text}.",
)  # fmt: skip


@pytest.mark.long
@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), choices=st.integers(2, 10))
def test_what_is_said_is_read_in_every_point(seed, choices):
    spec = {"space": "multiple-choice", "sample": 4, "seed": seed, "dimensions": {"order": ["original", "shuffle", "shuffle-each", "length", "alphabetical", "reversed"]}}  # fmt: skip
    asked = benchmark(n=2, choices=choices)
    for variant, question in itertools.product(draw_variants(spec, asked).variants, asked.questions):
        labels = variant.record(question)["labels"]
        prompt = variant.messages(question)[0]["content"]
        for label, original in labels.items():
            letter, text = "ABCDEFGHIJ"[original], question.choices[original]
            wrapped = variant.space.dimension("wrapper").values
            shown = next(
                str(w.content).replace("{label}", label) for w in wrapped if w.name == variant.values["wrapper"]
            )
            assert f"{shown} {text}" in prompt  # gold follows: the label stands before the original choice
            assert variant.write_answer(question, letter) == label
            other = next(o for o in labels if o != label)
            for phrase in PHRASES:
                said = phrase.format(label=label, text=text, shown=shown, other=other)
                assert variant.read(question, said).answer == letter, (said, variant.values)


@pytest.mark.parametrize("labels", [v[:4] for v in ENUMERATORS.values()], ids=ENUMERATORS)
def test_digits_or_letters_that_are_choices_too(labels):
    """Choices that are the labels of one another: what `say` gives is read, a bare one only where labels are asked for."""
    choices = [labels[1], labels[0], labels[3], labels[2]]
    for i, label in enumerate(labels):
        assert read_choice(label, labels, choices)[0] is None
        assert read_choice(label, labels, choices)[1] == "ambiguous"
        assert read_choice(label, labels, choices, expects_label=True)[0] == i
        assert read_choice(f"({label})", labels, choices)[0] == i
        assert read_choice(f"The answer is option {label}.", labels, choices)[0] == i
        assert read_choice(f"{label}) {choices[i]}", labels, choices)[0] == i


READ = [
    (ROMAN, list("pqrstuvw"), "VIII", 7, "last line"),
    (ROMAN, list("pqrstuvw"), "The answer is VIII.", 7, "statement"),
    (A, CITIES, "Neither A nor B. The answer is C.", 2, "statement"),
    (A, CITIES, "I'm not sure, but the answer is B.", 1, "statement"),
    (A, CITIES, "I think Paris", 1, "text"),
    (A, ["New York", "New York City", "Lima", "x"], "The answer is New York City", 1, "statement"),
    (A, ["New York", "New York City", "Lima", "x"], "I believe New York City.", 1, "text"),
    (DIGITS, CITIES, "1. First I think.\n2. Then I check.\nThe answer is 3.", 2, "statement"),
    (DIGITS, ["4", "3", "2", "1"], "3. 2", 2, "last line"),
    (DIGITS, ["0.5", "1.5", "2.5", "3.5"], "The answer is 1.5", 1, "statement"),
    (list("!@#$"), CITIES, "The answer is !", 0, "statement"),
    (list("!@#$"), CITIES, "Paris!", 1, "last line"),
    (A, CITIES, "Ｂ", 1, "last line"),
    (A, CITIES, "<think>The answer is B.</think>\nThe answer is C.", 2, "statement"),
    (A, CITIES, "So B? The answer is A\n</think>\n\nB", 1, "last line"),
    (A, CITIES, "B because it lies on the Seine.", 1, "text"),
    (A, CITIES, "The answer is B. The best option is to look it up.", 1, "statement"),
    (A, CITIES, "- B. Paris", 1, "last line"),
    (A, ["Both B and C", "Oslo", "Bern", "None of these"], "The answer is A, both B and C.", 0, "statement"),
    (A, ["B and C", "A only", "Neither A nor B", "not B"], "The answer is neither A nor B.", 2, "statement"),
    (list("abcd"), CITIES, "The answer is a.", 0, "statement"),
]  # fmt: skip
NOT_READ = [
    (A, CITIES, " \n**\n", "none"),
    (A, CITIES, "A or B", "several"),
    (A, CITIES, "The answer is A or B", "several"),
    (A, CITIES, "The answer is neither A nor B.", "denied"),
    (A, CITIES, "I cannot answer this question.", "none"),
    (A, CITIES, "I can't say whether the answer is A.", "none"),
    (A, CITIES, "I would not choose B.", "none"),
    (A, CITIES, "B) Rome", "contradiction"),
    (A, CITIES, "Maybe Paris", "none"),
    (A, CITIES, "Rome or Paris", "several"),
    (A, CITIES, "It is Pariss", "none"),
    (A, CITIES, "**A** or **B**", "several"),
    (list("abcd"), CITIES, "The answer is a bit unclear.", "none"),
    (A, CITIES, "The answer is B because A is wrong.", "several"),
    (DIGITS, CITIES, "1. First I think.\n2. Then I check.", "none"),
    (DIGITS, CITIES, "The answer is 1.5", "none"),
    (list("!@#$"), CITIES, "I do not know!", "none"),
    (ROMAN, list("pqrstuvw"), "IX", "none"),
    (ROMAN, list("pqrstuvw"), "I think it is V.", "ambiguous"),
    (A, CITIES, "<think>I think the answer is B.</think>\nI cannot decide.", "none"),
    (A, CITIES, "A. Rome or B. Paris", "none"),
    (A, CITIES, "The answer is Paris (A).", "contradiction"),
    (A, CITIES, "The answer is A (Paris).", "contradiction"),
    (A, CITIES, "The wrong answer is A.", "none"),
    (A, ["A", "B.", "c", "d"], "A or B", "several"),
    (list("abcd"), CITIES, "a dog is a good animal", "none"),
    (DIGITS, ["4", "3", "2", "1"], "I choose 3.", "ambiguous"),
    (DIGITS, ["4", "3", "2", "1"], "I thought about it.\n3", "ambiguous"),
]  # fmt: skip


@pytest.mark.parametrize(("labels", "choices", "text", "place", "rule"), READ)
def test_reads_as_a_person_does(labels, choices, text, place, rule):
    assert read_choice(text, labels, choices) == (place, rule)


@pytest.mark.parametrize(("labels", "choices", "text", "rule"), NOT_READ)
def test_unparsed_rather_than_a_guess(labels, choices, text, rule):
    assert read_choice(text, labels, choices) == (None, rule)


@pytest.mark.parametrize(
    "unit",
    [
        "A ",
        "(A) ",
        "not A or ",
        "**A",
        "((((",
        "I choose ",
        "\\text{",
        "*_",
        "A (",
        "(A",
        "*",
        "A. ",
        "it is A. ",
        "</think>",
    ],
)
def test_hostile_text_is_read_as_nothing(unit):
    """Patterns that backtrack would not return within the day."""
    assert read_choice(unit * (50_000 // len(unit)) + "?", A, CITIES)[0] in (None, 0)
    assert read_choice("(" * 999 + "x" + ")" * 999, A, CITIES) == (None, "none")
