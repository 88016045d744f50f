"""Thoughts and further questions are removed before every scorer. Kind of truth: cases judged by hand, an identity."""

from __future__ import annotations

import json

import pytest
from helpers.scored_runs import judged

from howsure.benchmarks.question import Prompt, Question
from howsure.scorers.completion_text import (
    CompletionContext,
    clean_completion,
    parse_context,
    split_thoughts,
    write_context,
)
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import ScoringItem

THOUGHTS = "Is it 17, No, or Rome? The answer is 17. ```python\ndef f(x): return 0\n```"
#: The five forms of thoughts, with a place for the text behind them.
FORMS = {
    "tags": "<think>{thoughts}</think>{text}",
    "end tag only": "{thoughts}\n</think>\n\n{text}",
    "other tags": "<reasoning>\n{thoughts}\n</reasoning>\n{text}",
    "marks of harmony": "<|channel|>analysis<|message|>{thoughts}<|end|><|start|>assistant"
    "<|channel|>final<|message|>{text}<|return|>",
    "harmony without marks": "analysis{thoughts}assistantfinal{text}",
}
UNFINISHED = (
    "<think>{thoughts}",
    "\n<thinking>\n{thoughts}",
    "<|channel|>analysis<|message|>{thoughts}",
    "analysisWe ask: {thoughts}",
)
IFEVAL = json.dumps({"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]})
CASES = [
    ("numeric", "So it is 18.", "18"),
    ("yes-no", "Yes.", "yes"),
    ("contains", "It is Paris.", "Paris"),
    ("normalised", "Paris", "Paris"),
    ("f1", "Paris", "Paris"),
    ("exact", "Paris", "Paris"),
    ("drop", "Paris", "Paris"),
    ("list", "red, blue", '["blue", "red"]'),
    ("direction", "west", "west"),
    ("regex:(\\w+)", "Paris", "Paris"),
    ("maths", "$x + 1$", "1 + x"),
    ("ifeval", "No marks at all", IFEVAL),
    ("unit-tests", "```python\ndef f(x):\n    return x\n```", '{"test_list": ["assert f(2) == 2"]}'),
]


@pytest.mark.parametrize(("spec", "text", "target"), CASES, ids=[case[0] for case in CASES])
def test_every_scorer_gives_the_same_score_behind_all_forms_of_thoughts(spec, text, target):
    if spec == "maths":
        pytest.importorskip("math_verify")
    if spec == "ifeval":
        pytest.importorskip("langdetect")
    scorer = build_scorer(spec, "test")
    try:
        item = ScoringItem("b", "q", "v", target)
        bare = scorer.score(text, item)
        assert bare.score == 1
        for form in FORMS.values():
            assert scorer.score(form.format(thoughts=THOUGHTS, text=text), item) == bare
        for form in UNFINISHED:
            unfinished = scorer.score(form.format(thoughts=THOUGHTS), item)
            assert (unfinished.score, unfinished.answer, unfinished.rule) == (0.0, None, "unfinished")
    finally:
        scorer.close()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_thoughts_are_kept_beside_the_text(form):
    parts = split_thoughts(form.format(thoughts=THOUGHTS, text="18"))
    assert (parts.text.strip(), parts.is_finished) == ("18", True)
    assert THOUGHTS in parts.thoughts


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        ("<think>a</think>part 1 <think>b</think>part 2", "part 1 part 2"),
        ("<think>a <think> b</think> c</think> 18", " 18"),
        ("Put it between <think> tags.", "Put it between <think> tags."),
        ("analysis of the data shows 18", "analysis of the data shows 18"),
        ("1 < 2", "1 < 2"),
    ],
)
def test_what_is_text(completion, text):
    assert split_thoughts(completion) == split_thoughts(completion)._replace(text=text, is_finished=True)


def test_many_tags_take_linear_time():
    assert split_thoughts("<think>" * 50_000).is_finished is False
    assert split_thoughts("</think>" * 50_000).text == ""


@pytest.mark.parametrize(
    ("completion", "text", "is_truncated"),
    [
        ("So the answer is (B).\nNow all answers.\nThe answer is (C).", "So the answer is (B).", False),
        ("4\n\nQuestion: What is 3 + 3?\nAnswer: 6", "4\n", False),
        ("4", "4", True),
        ("Question: What is 2 + 2?\nAnswer: 4", "Question: What is 2 + 2?\nAnswer: 4", True),
        (
            "Let me repeat the whole thing.\nQuestion: What is 2 + 2, my friend?\nAnswer: 4\nQuestion: And 3?",
            " What is 2 + 2, my friend?\nAnswer: 4",
            False,
        ),
        (
            "As I see it, the answer is 5.\nQuestion: What is 2 + 2, my friend?\n",
            "As I see it, the answer is 5.",
            False,
        ),
    ],
)
def test_a_completion_ends_before_a_further_question(completion, text, is_truncated):
    context = CompletionContext("What is 2 + 2, my friend?", truncated=True, stops=("\nQuestion:",))
    cleaned, context, _ = clean_completion(completion, context)
    assert (cleaned, context.truncated) == (text, is_truncated)


def test_a_stop_of_the_prompt_ends_the_text_of_a_scorer():
    context = CompletionContext("Which city?", stops=("\nQ:",))
    assert judged("contains", "Rome\nQ: Which other city?\nParis", "Paris", known=context) == (0.0, "rome")


def test_the_stored_context_of_a_prompt_is_that_of_the_run():
    prompt = Prompt(template="Question: {question}\nAnswer:")
    question = Question("q", "What is 2 + 2?", target="4")
    context = CompletionContext(question.text, stops=prompt.stops, language="de")
    stored = parse_context(write_context(context), prompt.messages(question)[-1]["content"])
    assert (stored.stops, stored.language) == (context.stops, "de")
    assert stored.question.startswith("What is 2 + 2?")
