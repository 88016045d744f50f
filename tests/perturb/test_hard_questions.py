"""Prompts of every space over hard questions.

Kinds of truth: identities that must hold for every draw (properties), with the choices and the words of the questions as
the file has them; the file was written by hand without a look at the rules.
"""

from __future__ import annotations

import re
import warnings

import pytest
from helpers.hard_questions import hard_benchmark, load_hard_questions, load_judged_questions
from helpers.long_cases import mark_long
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.errors import HowsureWarning
from howsure.perturb import draw_variants
from howsure.perturb.option_references import find_option_references
from howsure.perturb.surface_noise import add_typos, apply_spacing, is_about_spelling

CHOICES = load_hard_questions(with_choices=True)
OPEN = load_hard_questions(with_choices=False)
#: Dimensions that are drawn in no built-in space by themselves.
MORE = {
    "order": ["original", "shuffle", "shuffle-each", "length", "alphabetical", "reversed", "length-reversed"],
    "typos": [0, 0.3],
    "spacing": ["as-is", "double"],
    "casing": ["as-is", "lower", "upper"],
    "markers": ["none", "Question/Answer", "lines"],
}


def draw(spec, *, with_choices):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # values that do not fit are what is tested
        return draw_variants(spec, hard_benchmark(with_choices=with_choices))


@pytest.mark.parametrize("seed", mark_long(range(40), after=3))
def test_every_prompt_with_choices_can_be_answered(seed):
    """Labels differ and stand in no choice, separators stand in none, the right choice follows the right label."""
    drawn = draw({"space": "multiple-choice", "sample": 1, "seed": seed, "dimensions": MORE}, with_choices=True)
    (variant,) = drawn.variants
    for question in drawn.benchmark.questions:
        record, prompt = variant.record(question), variant.messages(question)[-1]["content"]
        labels = record["labels"]
        assert len(labels) == len(question.choices)
        label = next(label for label, original in labels.items() if original == ord(question.target) - ord("A"))
        assert variant.read(question, variant.write_answer(question, question.target)).answer == question.target
        assert re.search(
            rf"{re.escape(label)}[.)\]]{{1,2}} {re.escape(question.choices[ord(question.target) - 65])}", prompt
        )
        assert prompt.endswith(tuple(question.choices)) or variant.values["markers"] != "none"
        if not question.id.startswith(("labels", "positions", "embedded", "statements")):
            texts = {choice.strip(" .").casefold() for choice in question.choices}
            assert not texts & {label.casefold() for label in labels}


@pytest.mark.parametrize("seed", mark_long(range(25), after=3))
def test_choices_that_refer_to_others_mean_the_same(seed):
    drawn = draw({"space": "multiple-choice", "sample": 1, "seed": seed, "dimensions": MORE}, with_choices=True)
    (variant,) = drawn.variants
    for question in drawn.benchmark.questions:
        order = variant.record(question)["order"]
        kind = question.id.split("-")[0]
        if kind == "above":
            for i, choice in enumerate(question.choices):
                if re.search("above", choice):
                    assert set(order[: order.index(i)]) == set(range(i))
        if kind == "others":
            assert order[-1] == len(order) - 1 or question.choices[-1] not in ("None of these", "None", "Neither")
        if kind in ("labels", "positions", "embedded"):
            assert order == sorted(order)
        if kind == "labels":
            first = next(iter(variant.record(question)["labels"]))
            assert first == {"Options 1 and 3": "1", "(a) and (c)": "a"}.get(question.choices[-1], "A")


@pytest.mark.parametrize(
    "question", [q for q in CHOICES + OPEN if "code" in q.id or "formula" in q.id], ids=lambda q: q.id
)
def test_code_and_formulas_stay_as_they_are(question):
    """By hand: what stands in fences, backquotes, dollars and lines with brackets is in the noisy text as it was."""
    kept = re.findall(
        r"(?s:```.*?```)|`[^`]+`|\$[^$]+\$|\\\[.*?\\\]|\\\(.*?\\\)|(?m:^.*(?:\w\(|for \w+ in \w+\().*$)", question.text
    )
    for j in range(20):
        noisy = apply_spacing(add_typos(question.text, 0.5, j), "double")
        assert all(part in noisy for part in kept)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), space=st.sampled_from(["open", "maths"]))
def test_noise_keeps_what_an_answer_hangs_on(seed, space):
    noise = {name: MORE[name] for name in ("typos", "spacing", "casing")}
    drawn = draw({"space": space, "sample": 1, "seed": seed, "dimensions": noise}, with_choices=False)
    plain = {question.id: question.text for question in drawn.benchmark.questions}
    hangs_on = re.compile(
        r"\b(?:\d+|seven\w*|three|nine|twelve|forty|half|quarters?|hundred|two|all|neither|nor|but|not|warfarin|metformin"
        r"|Rose|Mark|SELECT|FROM|WHERE|number|total|print|item)\b|\"[^\"]*\"|'[^']*'|\|[^|]*\|"
    )
    (variant,) = drawn.variants
    for question in drawn.benchmark.questions:
        prompt = variant.messages(question)[-1]["content"]
        for part in hangs_on.findall(plain[question.id]):
            if part not in ("number", "total", "item", "print") or "code" in question.id:
                assert part in prompt, (part, prompt)
        if question.id.startswith(("open-spelling", "open-quote")):
            assert question.text in prompt


def test_demonstrations_answer_in_the_form_that_is_asked_for():
    spec = {"space": "multiple-choice", "sample": 40, "seed": 3, "hold_out": 6, "dimensions": {"demonstrations": [3], "answer": ["label", "text", "label-text"], "turns": ["chat"]}}  # fmt: skip
    drawn = draw(spec, with_choices=True)
    for variant in drawn.variants:
        for question in drawn.benchmark.questions[:8]:
            labels = variant.record(question)["labels"]
            answers = [m["content"] for m in variant.messages(question) if m["role"] == "assistant"]
            assert len(answers) == 3
            assert all(len(answer) <= 4 for answer in answers), (answers, labels)
            assert ("answer" in variant.record(question).get("replaced", {})) == (variant.values["answer"] != "label")


JUDGED = load_judged_questions()


def test_what_a_setter_of_exams_says_must_stay():
    """By hand: each question was written, and its places and labels judged, before the rules were read."""
    for question, row in JUDGED:
        if not question.choices:
            continue
        found = find_option_references(question)
        shuffled = found.pin_order(range(len(question.choices) - 1, -1, -1))
        assert all(shuffled[place] == place for place in row.get("pinned", ())), question
        if row.get("fixed_order") or row.get("fixed_labels"):
            assert shuffled == tuple(range(len(question.choices))), question
        if row.get("fixed_labels"):
            assert found.label_kind in ("capitals", "lowercase"), question


def test_noise_leaves_what_a_setter_of_exams_marked():
    """By hand, as above. Between plain words a second space is allowed."""
    for question, row in JUDGED:
        for j in range(10):
            noisy = question.text if is_about_spelling(question.text) else add_typos(question.text, 0.5, j)
            noisy = apply_spacing(noisy, "as-is" if is_about_spelling(question.text) else "double")
            for part in row.get("unchanged", ()):
                plain = re.sub(r" +", " ", noisy) if part.replace(" ", "").isalpha() else noisy
                assert part in noisy or part in plain, (question.id, noisy)


@pytest.mark.parametrize("n_variants", mark_long([1, 12], after=1))
def test_a_compliant_reply_is_read_as_the_right_answer_and_no_other_is(n_variants):
    questions = [question for question, _ in JUDGED if question.choices]
    benchmark = Benchmark(
        "exam", questions, Prompt(template="{question}\n{choices}"), extract=lambda text: text or None
    )
    answer_forms = {"answer_form": ["unstated", "line", "json"]}
    spec = {"space": "multiple-choice", "sample": n_variants, "seed": 5, "dimensions": MORE | answer_forms}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = draw_variants(spec, benchmark)
    templates = {
        "unstated": ("{label}", "({label}) {text}", "The correct answer is **{label}) {text}**"),
        "line": ("Answer: {label}",),
        "json": ('{{"answer": "{label}"}}',),
    }
    for variant in drawn.variants:
        for question in questions:
            for label, original in variant.record(question)["labels"].items():
                for template in templates[variant.values["answer_form"]]:
                    reply = template.format(label=label, text=question.choices[original])
                    answer = variant.read(question, reply).answer
                    if answer is None and (
                        question.choices[original][1:2] == ")" or "\n" in question.choices[original]
                    ):
                        continue  # a choice that begins with a label, or has several lines, may be unread: it is counted
                    assert (answer == question.target) == ("ABCDEFGHIJ"[original] == question.target), (reply, answer)


def draw_judged(space, dimensions, *, with_choices):
    """Return 12 variants of the judged questions, and these."""
    questions = [question for question, _ in JUDGED if bool(question.choices) == with_choices]
    benchmark = Benchmark("exam", questions, Prompt(template="{question}"), extract=lambda text: text or None)
    spec = {"space": space, "sample": 12, "seed": 2, "dimensions": dimensions}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return draw_variants(spec, benchmark).variants, questions


def test_no_choice_has_two_labels_and_no_question_two_markers():
    """By hand: one question has choices with labels of their own ("a) closes the door."), one begins with "Q:"."""
    variants, questions = draw_judged("multiple-choice", MORE, with_choices=True)
    (labelled,) = [question for question in questions if question.choices[0].startswith("a)")]
    for variant in variants:
        prompt = variant.messages(labelled)[-1]["content"]
        assert not re.search(r"[.)\]] [a-d]\) ", prompt)
        assert not any(text[1:2] == ")" for text in variant.record(labelled)["choices"])
        assert variant.read(labelled, variant.write_answer(labelled, "C")).answer == "C"
    variants, questions = draw_judged("open", {"markers": MORE["markers"]}, with_choices=False)
    (marked,) = [question for question in questions if question.text.startswith("Q:")]
    for variant in variants:
        has_own = "Q: If it" in variant.messages(marked)[-1]["content"]
        assert has_own == (variant.values["markers"] == "none")


def test_no_prompt_demands_another_form_than_the_question_does():
    """By hand: a question that ends with "Respond in JSON." and one that has JSON in its text."""
    own = Question("own", "Name two rivers of Egypt and their length. Respond in JSON.", "Nile")
    other = Question("given", 'Given the JSON {"a": 3}, what is a?', "3")
    benchmark = Benchmark("forms", [own, other], Prompt(template="{question}"), extract=lambda text: text or None)
    dimensions = {"answer_form": ["unstated", "bare", "line", "json", "boxed"], "reasoning": ["none", "plan"]}
    with pytest.warns(HowsureWarning, match=r"no form of the answer is demanded where the question demands one \(1\)"):
        variants = draw_variants(
            {"space": "open", "sample": 40, "seed": 3, "dimensions": dimensions}, benchmark
        ).variants
    for variant in variants:
        prompt = variant.messages(own)[-1]["content"]
        assert not re.search(r"alone|short|brief|few words|Answer: <|boxed|nothing else|in this form", prompt)
        replaced = variant.record(own).get("replaced", {})
        assert ("answer_form" in replaced) == (variant.values["answer_form"] != "unstated")
        assert "replaced" not in variant.record(other)


@pytest.mark.parametrize("space", ["open", "maths"])
def test_no_prompt_asks_for_reasoning_that_the_question_rules_out(space):
    variants, questions = draw_judged(space, {"reasoning": ["none", "step-by-step", "plan"]}, with_choices=False)
    (forbidding,) = [question for question in questions if question.text.endswith("Explain nothing.")]
    for variant in variants:
        prompt = variant.messages(forbidding)[-1]["content"]
        assert not re.search(r"step|plan|reason|working|show|explain how", prompt, re.IGNORECASE)
        replaced = variant.record(forbidding).get("replaced", {})
        assert ("reasoning" in replaced) == (variant.values["reasoning"] != "none")
        assert ("instruction" in replaced) == (space == "maths")


@pytest.mark.parametrize(
    ("text", "is_demanded"),
    [
        ("Which of these is a prime? Explain briefly.", True),
        ("Which drug is given first? Justify your choice.", True),
        ("Name the river and explain why it floods.", True),
        ("Which law explains the tides?", False),
        ("How many edges does a cube have? Explain nothing.", False),
    ],
)
def test_no_instruction_asks_for_a_label_alone_where_the_question_demands_an_explanation(text, is_demanded):
    question = Question("q", text, "B", choices=("red", "green", "blue"))
    benchmark = Benchmark("drawn", [question], Prompt(template="{question}"), extract=lambda text: text or None)
    variants = draw_variants({"space": "multiple-choice", "sample": 30, "seed": 3}, benchmark).variants
    replaced = [variant.record(question).get("replaced", {}) for variant in variants]
    assert any("instruction" in record for record in replaced) is is_demanded
    for record in replaced:
        assert record.get("instruction", {}).get("used", "none") == "none"
