"""Lists: cases judged by hand."""

from __future__ import annotations

import json

import pytest
from helpers.cpu_time import LONGEST, measure_best
from helpers.scored_runs import judged

from howsure.errors import InputError
from howsure.scorers.item_list import read_items
from howsure.scorers.registry import build_scorer

METALS = json.dumps(["iron", "gold", "tin"])


@pytest.mark.parametrize(
    "completion",
    [
        "iron, gold, tin",
        "Tin; gold & iron.",
        "IRON\nGOLD\nTIN",
        "They are:\n- **Iron** – the most common\n- Gold (Au)\n- Tin: the softest\n\nI hope this helps!",
        "1. iron\n2. gold\n3. tin",
        "| Metal |\n|---|\n| iron |\n| gold |\n| tin |",
        "I looked them up. The answer is gold, iron and tin.",
        '{"answer": ["iron", "gold", "tin"]}',
        "\\boxed{iron, gold, tin}",
    ],
)
def test_all_items_in_any_order(completion):
    assert judged("list", completion, METALS)[0] == 1


@pytest.mark.parametrize(
    ("completion", "score"),
    [("iron, gold", 0), ("iron, gold, tin, lead", 0), ("iron, gold, gold, tin", 1)],
)
def test_items_that_are_missing_or_too_many(completion, score):
    assert judged("list", completion, METALS)[0] == score


def test_comparisons():
    assert judged("list:ordered", "gold, iron, tin", METALS) == (0.0, "gold, iron, tin")
    assert judged("list:share", "red, red, blue", '["red", "white", "blue"]')[0] == pytest.approx(2 / 3)
    assert judged("list", "the UK and the United States", '[["USA", "United States"], "UK"]') == (1.0, "uk, usa")
    assert judged("list", "Trinidad and Tobago, Cuba", '["Cuba", "Trinidad and Tobago"]')[0] == 1


def test_a_list_within_a_sentence_is_unparsed():
    text = "We went there and saw iron and gold, and then we came home again and slept."
    assert judged("list", f"{text}\nIt was a rather long and cold day in the end.", METALS) == (0.0, None)
    assert read_items("") == ([], "empty")
    assert read_items("<think>iron") == ([], "unfinished")


def test_a_comparison_that_is_none_is_refused():
    with pytest.raises(InputError, match="unknown comparison of lists 'order'; did you mean 'ordered'"):
        build_scorer("list:order", "benchmark, scorer")


@pytest.mark.parametrize("text", [f"tin,{' ' * 50_000}gold", "\t" * 50_000 + "tin, gold", "- a\n" * 10_000])
def test_reading_takes_linear_time(text):
    assert measure_best(read_items, text) < LONGEST
