"""Kind of truth: templates as unitxt and DOVE write them (field names and forms)."""

from __future__ import annotations

import pytest
from helpers.perturb_questions import CITIES

from howsure.errors import InputError
from howsure.perturb import (
    bind_space,
    from_templates,
)


def template(**changes):
    return {
        "__type__": "multiple_choice_template",
        "input_format": "Context: {context}\n\nChoices: {choices}\nAnswer:",
        "choices_field": "choices",
        "target_field": "answer",
        "choices_separator": "\n",
        "enumerator": "capitals",
        "source_choice_format": "{choice_numeral}. {choice_text}",
        "target_choice_format": "{choice_numeral}. {choice_text}",
        "postprocessors": ["processors.match_closest_option"],
        "shuffle_choices": False,
        "sort_choices_by_length": False,
        "reverse_choices": False,
        "place_correct_choice_position": None,
    } | changes


def test_a_catalogue_becomes_a_space():
    from helpers.perturb_questions import benchmark

    found = from_templates(
        {
            "a": template(),
            "b": template(enumerator="αβγδεζηθικ", choices_separator=" OR ", sort_choices_by_length=True, reverse_choices=True),
            "c": template(enumerator="numbers", shuffle_choices=True, choices_separator="\\s"),
            "d": template(place_correct_choice_position=-1),
            "e": {"type": "templates_list", "items": ["templates.qa.open", template(enumerator=["x", "y", "z", "w"], source_choice_format="({choice_numeral}) {choice_text}", target_choice_format="{choice_numeral}")]},
        }
    )  # fmt: skip
    drawn = {d.name: [v.name for v in d.values] for d in found.space.dimensions}
    assert drawn["enumerator"] == ["capitals", "αβγδεζηθικ", "digits", "x y z w"]
    assert drawn["order"] == ["original", "length-reversed", "shuffle-each"]
    assert drawn["separator"] == ["newline", " OR ", "\\s"]
    assert drawn["wrapper"] == ["A.", "(A)"]
    assert drawn["answer"] == ["label-text", "label"]
    assert drawn["layout"] == ["Context: {question} Choices: {choices} Answer:"]
    told = "\n".join(found.notes)
    for note in (
        "skipped: place_correct_choice_position, which gives the right answer away (d)",
        "skipped: a reference to another file, which is not followed (e 1)",
        "field 'postprocessors' is not used (a, b, c and 1 more)",
        "field {context} is taken as the question",
        r"'\s' is taken as it stands",
        "4 different templates were given; the space of their values has 144 points",
    ):
        assert note in told
    bound = bind_space(found.space, benchmark())
    point = next(p for p in bound.sample(50, 1) if p.values["separator"] == " OR " and p.values["order"] == "original")
    assert " OR " in point.messages(benchmark().questions[0])[0]["content"]
    assert CITIES[3] in point.messages(benchmark().questions[0])[0]["content"]


def test_an_open_template():
    given = {"type": "input_output_template", "input_format": "Question: {question}", "target_prefix": "Answer: ", "output_format": "{answer} .", "instruction": "Be brief."}  # fmt: skip
    found = from_templates({"simple": given})
    assert {d.name: d.values[0].content for d in found.space.dimensions} == {"layout": "Question: {question}Answer:", "instruction": "Be brief.", "demonstrations": 0}  # fmt: skip
    assert found.notes == ("output_format '{answer} .' is not used: the target is (simple)",)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"__type__": {"module": "unitxt.templates", "name": "YesNoTemplate"}}, "a template of type 'YesNoTemplate'"),
        ({"input_format": "{topic} {question} {choices}"}, "field {topic}, which our questions do not have"),
        ({"input_format": "{question}"}, "no place for the choices"),
        ({"enumerator": 3}, "enumerator 3"),
        ({"source_choice_format": "{choice_text}"}, "source_choice_format '{choice_text}'"),
        ({"target_choice_format": "<{choice_text}>"}, "target_choice_format"),
    ],
)
def test_templates_that_cannot_be_taken_over(change, why):
    with pytest.raises(InputError, match=f"imported: no template can be imported; skipped: {why}"):
        from_templates({"a": template(**change)})


def test_two_kinds_of_templates():
    open_one = {"__type__": "input_output_template", "input_format": "{question}"}
    with pytest.raises(InputError, match="a has choices, b has none; import the two kinds separately"):
        from_templates({"a": template(), "b": open_one, "c": 3})
