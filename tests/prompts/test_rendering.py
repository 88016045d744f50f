"""Kind of truth: identities between the prompts of variants with noise and of the same variants without it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.prompt_questions import open_benchmark

from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.errors import InputError
from howsure.prompts import draw_variants, parse_space


def test_noise_in_prompts_is_of_the_question_and_instruction_alone():
    spec = {"space": "open", "sample": 40, "seed": 3, "hold_out": 2}
    dimensions = {"typos": [0, 0.5], "spacing": ["as-is", "double"], "demonstrations": [2], "markers": ["Question/Answer"], "casing": ["as-is"]}  # fmt: skip
    questions = [Question(f"o{i}", f"A farmer owns {i} green apples and buys {i} others: what is the amount of fruit?", str(2 * i)) for i in range(6)]  # fmt: skip
    asked = replace(open_benchmark(), questions=questions)
    found = draw_variants(spec | {"dimensions": dimensions}, asked)
    plain = draw_variants(spec | {"dimensions": dimensions | {"typos": [0], "spacing": ["as-is"]}}, asked)
    question = found.benchmark.questions[0]
    for variant, other in zip(found.variants, plain.variants, strict=True):
        said, without = variant.messages(question)[0]["content"], other.messages(question)[0]["content"]
        assert said.count("Question: ") == without.count("Question: ") == 3
        noisy = variant.values["typos"] != "0" or variant.values["spacing"] == "double"
        assert (said != without) == noisy
        assert (variant.id != other.id) == noisy
        if variant.values["typos"] == "0":
            assert said.replace("  ", " ") == without
        assert f"{question.text.split()[3]}" in said  # the number


def test_more_slips_than_words():
    with pytest.raises(InputError, match="typos at a rate of 0.6; give the share of words with a typo, 0 to 0.5"):
        parse_space({"space": "open", "dimensions": {"typos": [0.6]}})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Question: Who? \nAnswer:", "Who?"),
        ("Q: 1 + 1?\nA:", "1 + 1?"),
        ("What does FAQ: mean?", "What does FAQ: mean?"),
        ("A: All rise.\nB: Who is it?", "A: All rise.\nB: Who is it?"),
    ],
)
def test_a_question_is_shown_without_markers_of_its_own(text, shown):
    """Kind of truth: what a person would leave out of a question that is asked with other markers."""
    asked = replace(open_benchmark(), questions=[Question("q", text, "2")])
    spec = {"space": "open", "sample": 1, "dimensions": {"markers": ["Question/Answer"], "casing": ["as-is"]}}
    (variant,) = draw_variants(spec, asked).variants
    assert f"\n\nQuestion: {shown}\nAnswer:" in variant.messages(asked.questions[0])[0]["content"]


@pytest.mark.parametrize(("placement", "listed"), [("before", "A, B, C or D"), ("system", "A, B, C or D")])
def test_labels_before_demonstrations_are_those_of_the_question_with_most_choices(placement, listed):
    """Kind of truth: a case read by hand, in which an example answers D and the question has two choices."""
    cities = ("Rome", "Oslo", "Bern", "Bonn")
    questions = [Question(f"q{i}", f"Which city is number {i}?", "D", choices=cities) for i in range(3)]
    short = Question("short", "Is Rome a city?", "A", choices=("Yes", "No"))
    asked = Benchmark("cities", [*questions, short], Prompt(), extract=str.strip)
    dimensions = {"placement": [placement], "demonstrations": [1], "enumerator": ["capitals"], "separator": ["newline"]}
    found = draw_variants(
        {"space": "multiple-choice", "sample": 40, "seed": 1, "hold_out": 2, "dimensions": dimensions}, asked
    )
    (short,) = (question for question in found.benchmark.questions if question.id == "short")
    prompts = ["\n".join(message["content"] for message in one.messages(short)) for one in found.variants]
    naming = [prompt for prompt in prompts if " or D" in prompt or "A or B" in prompt]
    assert naming
    assert all(listed in prompt and "A or B" not in prompt for prompt in naming)
