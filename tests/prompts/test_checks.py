"""Kind of truth: hand-written spaces that do not go with the questions, and what people should see."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.prompt_questions import benchmark, open_benchmark

from howsure.benchmarks.question import Question
from howsure.errors import HowsureWarning, InputError
from howsure.prompts import Dimension, Value, bind_space, draw_variants, parse_space

MC = {"space": "multiple-choice", "sample": 1}


def with_choices(*choices, target="A"):
    return replace(benchmark(), questions=[Question("q", "?", target, choices=choices)])


def only(**dimensions):
    return MC | {"dimensions": {"separator": ["newline"], **dimensions}}


CASES = [
    (only(enumerator=[{"twice": ["a", "b", "a", "c"]}]), benchmark(), "dimension enumerator, twice: two choices would be labelled 'a.'; give labels that differ"),
    (only(enumerator=[{"wide": "ABＡC"}]), benchmark(), "dimension enumerator, wide: two choices would be labelled"),
    (only(enumerator=[{"few": "αβγ"}]), benchmark(), "dimension enumerator, few: 3 labels for questions of up to 4 choices; give more labels"),
    (only(enumerator=[{"odd": "!@)("}]), benchmark(), r"label '\)' cannot be distinguished from the wrapper of labels"),
    (only(), with_choices("Rome", "Oslo", target="Oslo"), "question q: target 'Oslo' is none of its choices; give a letter from A to B"),
    (only(), replace(benchmark(), questions=[*benchmark().questions, Question("z", "?", "A")]), "question z: it has no choices, as others have"),
    (MC, open_benchmark(), "dimension enumerator: the questions have no choices; use a space for open questions"),
    (only(demonstrations=[2]), benchmark(), r"2 demonstrations from a pool of 0; hold questions out \(hold_out: N\)"),
    (only() | {"layout": "{question}"}, benchmark(), "layout 'own' has no place for {choices}; write {choices} where it goes"),
    (only() | {"layout": "{question} {choices} {hint}"}, benchmark(), "layout 'own': there is no field {hint}; use {question}, {choices}"),
    (only(markers=["Q/A"]) | {"layout": "{question}{choices}"}, benchmark(), "no place for {question_marker}"),
    (only() | {"head": "Hello."}, benchmark(), "dimension instruction: no template has a place for it; write {instruction} into head"),
    (only() | {"head": "{instructions}"}, benchmark(), "system and head: there is no field {instructions}; use {instruction}"),
    (MC | {"pin": "choice"}, benchmark(), "unknown pin 'choice'; did you mean 'choices'"),
    (only(instruction=[{"x": "Give {label}"}]), benchmark(), "instruction 'x': there is no field {label}; use {labels}"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "asked", "message"), CASES)
def test_told_before_anything_is_asked(spec, asked, message):
    with pytest.raises(InputError, match=message) as raised:
        draw_variants(spec, asked)
    assert "\n" not in str(raised.value)


def test_a_dimension_that_no_template_uses():
    own = replace(
        parse_space("open"), dimensions=(*parse_space("open").dimensions, Dimension("tone", (Value("a", "a"),)))
    )
    with pytest.raises(InputError, match="dimension tone: no template has a place for it; write {tone} into head"):
        bind_space(own, open_benchmark())


@pytest.mark.parametrize("change", [{}, {"id": "other"}, {"text": "Something else?"}])
def test_demonstrations_among_the_questions(change):
    asked = open_benchmark()
    shown = replace(asked.questions[2], **change)
    with pytest.raises(InputError, match=rf"demonstration '{shown.id}' is one of the questions; take it out"):
        draw_variants({"space": "open", "sample": 1, "dimensions": {"demonstrations": [1]}}, asked, pool=[shown])


def test_questions_with_equal_choices_are_kept_and_told():
    with pytest.warns(
        HowsureWarning, match=r"1 question has two equal choices \(q\): an answer that gives only the text"
    ):
        draw_variants(only() | {"sample": 2}, with_choices("Rome", " rome."))
