"""Items that completions list. Kind of truth: what each completion says, judged by hand; `test_item_list.py` has more."""

from __future__ import annotations

import pytest

from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.listed_items import read_items


@pytest.mark.parametrize(
    ("completion", "items", "rule"),
    [
        ("- iron ✅\n- lead ❌\n- tin ✅", ["iron", "tin"], "lines"),
        ("- lead ❌\n- zinc: no", [], "denied"),
        ("Not found:\n- lead\n- zinc", [], "denied"),
        ("1. iron\n   - heavy\n2. tin\n   - soft", ["iron", "tin"], "lines"),
        ("1. iron\n- heavy\n- grey\n2. tin\n- soft", ["iron", "tin"], "lines"),
        ("| Metal | Found |\n|---|---|\n| iron | yes |\n| lead | no |", ["iron"], "lines"),
        ("- tin: soft\n- iron: hard\n\nSo the order is iron, tin", ["iron", "tin"], "sentence"),
        ("1. iron 2. tin 3. gold", ["iron", "tin", "gold"], "line"),
        ("The answer is iron and tin. No lead.", ["iron", "tin"], "statement"),
        ("There is no text here. Please paste it.", [], "refused"),
    ],
)
def test_items_and_the_rule_by_which_they_are_read(completion, items, rule):
    assert read_items(completion, CompletionContext("Which metals were found?")) == (items, rule)


def test_headings_that_deny_are_kept_where_a_question_asks_for_them():
    completion = "Not found:\n- lead\n- zinc"
    assert read_items(completion, CompletionContext("Which metals were not found?")) == (["lead", "zinc"], "lines")


def test_the_last_line_of_a_completion_that_was_cut_is_left_out():
    context = CompletionContext("Which metals were found?", truncated=True)
    assert read_items("- iron\n- tin\n- go", context)[0] == ["iron", "tin"]


@pytest.mark.parametrize("unit", ["a, ", "** ", "a is ", "x\t", "who, ", "A. ", "❌ a\n", "yes: no\n"])
def test_long_completions_are_read_to_a_first_part(unit):
    """Kind of truth: the reading ends; patterns whose time grows faster than the text took minutes of these."""
    items, _ = read_items(unit * 20_000, CompletionContext("Which metals were found?"))
    assert len(items) <= 200


def test_a_list_before_a_further_question_is_whole_though_the_completion_was_cut():
    context = CompletionContext("Name the four seasons.", truncated=True, stops=("\nQuestion:",))
    items, _ = read_items("Spring, summer, autumn and winter.\n\nQuestion: What is", context)
    assert items == ["Spring", "summer", "autumn", "winter"]
    assert read_items("Spring, summer, autumn and winter, and then", context) == ([], "cut")


@pytest.mark.parametrize(
    ("question", "completion", "items"),
    [
        ("List the even numbers from 1 to 5.", "1 + 2 + 3 + 4 + 5 = 15\n\nThe even numbers are 2 and 4.", ["2", "4"]),
        (
            "Name the states of matter.",
            "The states of matter are known as solid, liquid and gas.",
            ["solid", "liquid", "gas"],
        ),
    ],
)
def test_a_sum_is_no_list_and_known_as_is_no_item(question, completion, items):
    assert read_items(completion, CompletionContext(question))[0] == items
