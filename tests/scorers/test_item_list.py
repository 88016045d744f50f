"""Lists: cases judged by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.awkward_answers import cases, read_table, score_or_none, scored

from howsure.errors import InputError
from howsure.scorers.registry import build_scorer

AWKWARD = Path(__file__).with_name("awkward_lists.tsv")


@pytest.mark.parametrize(("spec", "question", "target", "completion", "wanted"), cases("list"))
def test_awkward_answers(spec, question, target, completion, wanted):
    score = score_or_none(spec, completion, target, question)
    assert score is None if wanted is None else score == pytest.approx(wanted)


def is_read_as_a_person_reads_it(wanted, spec, items, question, completion):
    """Return whether a completion of the table has the score that a person gives it, or no answer where that is "-"."""
    target = [item.strip() for item in items.split(";")]
    text = completion.removeprefix("cut:").replace("⏎", "\n")
    result = scored(spec, text, target, question, truncated=completion.startswith("cut:"))
    if wanted == "-":
        return result.answer is None
    return (result.answer is not None, result.score) == (True, pytest.approx(float(wanted)))


def test_awkward_lists_are_read_as_a_person_reads_them():
    rows = read_table(AWKWARD, 5)
    assert {row for row in rows if not is_read_as_a_person_reads_it(*row[:5])} == {row for row in rows if row[5]}


def test_items_may_have_several_names():
    target = [["USA", "United States"], "UK"]
    assert scored("list", "the UK and the United States", target) == (1.0, "uk, usa", "whole")
    assert scored("list", "USA, United States", target).score == 0


def test_an_item_that_is_given_twice_counts_once():
    assert scored("list:share", "red, red, blue", ["red", "white", "blue"]).score == pytest.approx(2 / 3)


def test_a_comparison_that_is_none_is_refused():
    with pytest.raises(InputError, match="unknown comparison of lists 'order'; did you mean 'ordered'"):
        build_scorer("list:order", "benchmark, scorer")


def test_a_completion_with_many_spaces_takes_linear_time():
    """Kind of truth: the reading ends; 100,000 spaces once took hours."""
    for text in (f"tin,{' ' * 100_000}gold", f"{' x' * 3}{' ' * 100_000}.", "\t" * 100_000 + "tin, gold"):
        assert scored("list", text, ["tin", "gold"]).score == float("tin" in text)
