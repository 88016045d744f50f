"""What is known about a completion: expectations written by hand, and the same reading in live and rescored runs."""

from dataclasses import replace

import pytest

from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.extraction.completion_context import (
    CompletionContext,
    accept_context,
    complete_context,
    parse_context,
    remove_next_question,
    write_context,
)
from howsure.extraction.multiple_choice import read_choice
from howsure.extraction.numbers import extract_number
from howsure.perturb.variants import FixedPrompt

SUM = "What is 2 + 2?"


def test_an_extractor_with_a_context_receives_it_and_another_is_called_with_the_text_alone():
    def with_context(text, *, context=None):
        return f"{text} {context.question}"

    context = CompletionContext(question=SUM)
    assert accept_context(with_context)("a", context=context) == f"a {SUM}"
    assert accept_context(lambda text: text)("a", context=context) == "a"
    assert accept_context(int)("7", context=context) == 7  # has no readable signature on some versions
    benchmark = Benchmark("b", [], Prompt(), extract=lambda text: text.strip() or None)
    assert benchmark.extract_in_context(" x ", context=context) == "x"


@pytest.mark.parametrize(
    ("template", "stops"),
    [
        ("{question}", ()),
        ("Question: {question}\nAnswer:", ("\nQuestion:",)),
        ("Answer with a number.\n\nQ: {question}\nA:", ("\nQ:",)),
        ("Question:\n{question}\nAnswer:", ("\nQuestion:",)),
        ("Solve this and show how you came to each of the steps: {question}", ()),
        ("Say it {question}", ()),
    ],
)
def test_the_marker_of_a_template_is_a_stop_string(template, stops):
    assert Prompt(template=template).stops == stops


def test_a_further_question_is_removed_and_a_repeated_one_is_kept():
    context = CompletionContext(question=SUM, stops=("\nQ:",))
    assert extract_number("4\n\nQ: What is 3 + 3?\nA: 6", context=context) == "4"
    assert extract_number("4\n\nQ: What is 3 + 3?\nA: 6") == "6"
    assert extract_number(f"Sure.\nQ: {SUM}\nA: 4", context=context) == "4"
    assert extract_number("\nQ: Two and two?\nA: 4", context=context) == "4"
    text = "The answer is (B).\n\nQ: Which is north?\nA: The answer is (C)."
    assert read_choice(text, "ABC", ("x", "y", "z"), context=context)[0] == 1
    assert remove_next_question("4\nQ: What is 3 + 3?", None) == "4\nQ: What is 3 + 3?"


def test_what_is_stored_with_a_prompt_gives_the_same_context_again():
    question = Question("q", SUM, "4")
    prompt = Prompt(template="Q: What is 1 + 1?\nA: 2\n\nQ: {question}\nA:")
    benchmark = Benchmark("b", [question], prompt, extract=extract_number, language="de")
    variant = FixedPrompt(benchmark, prompt)
    live = variant.build_context(question, truncated=True)
    assert live == CompletionContext(SUM, (), True, ("\nQ:",), "de")
    record = variant.record(question)
    stored = parse_context(record, prompt.messages(question)[-1]["content"], truncated=True)
    assert (stored.stops, stored.language, stored.truncated) == (live.stops, live.language, True)
    assert stored.question == f"{SUM}\nA:"
    assert write_context(CompletionContext()) == {}


def test_a_question_that_is_repeated_without_its_instruction_is_not_a_further_one():
    question = "In the following sentences, explain the pronoun.\nSentence: The lawyer called the cashier, because he had questions."
    context = CompletionContext(question=question, stops=("\nQ:",))
    given = " The lawyer called the cashier, because he had questions.\nThe lawyer asks. The answer is (A)."
    assert remove_next_question(f"Let me look.\nQ:{given}", context) == given
    assert remove_next_question(f"(B)\nQ: Another sentence, in which a clerk called a lawyer.{given}", context) == "(B)"


def test_a_first_answer_is_whole_though_the_cut_completion_ends_with_the_same_words():
    context = CompletionContext("What is the capital of Peru?", truncated=True, stops=("\nQuestion:",))
    text = "Lima.\n\nQuestion: What is the largest city of Peru?\nAnswer: Lima."
    part = remove_next_question(text, context)
    assert part == "Lima.\n"
    assert complete_context(text, part, context) == replace(context, truncated=False)
    assert complete_context(text, "Answer: Lima.", context) == context
    assert complete_context("Lima.", "Lima.", context) == context
