"""Greedy decoding beside sampled generations. Kind of truth: values by hand."""

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.stats.comparisons.greedy import compare_greedy
from howsure.stats.comparisons.pairs import compare
from howsure.stats.core.cells import Cells
from howsure.stats.repeats import run_gap
from howsure.stats.scores import score


def test_each_model_and_its_greedy_run_on_common_questions_by_hand():
    """Sampled 1/2 and 1 of the two questions that both answered, greedy 1 and 1; b has no greedy run."""
    scores = [[[1, 0], [1, 1], [0, 0]], [[1], [1], []], [[0, 1], [0, 0], [1, 1]]]
    cells = Cells.from_scores("demo", ["a", "a:greedy", "b"], ["p", "q", "r"], scores)
    table = compare_greedy(cells, [("a", "a:greedy"), ("b", None)])
    assert table["difference"] == pytest.approx([0.25, np.nan], nan_ok=True)
    common = cells.select(questions=["p", "q"])
    assert table.sampled.score.tolist() == [0.75, 0.5]
    assert table.sampled.variance[0] == pytest.approx(score(common.select(["a"])).variance[0])
    between = compare(common, "a:greedy", "a").interval()
    assert table.differences[1] is None
    assert table.differences[0].interval().low == pytest.approx(between.low)
    assert table.is_common.tolist() == [True, False]


def test_the_table_has_the_best_sampled_model_first():
    """By hand, and the gap of `runs` runs by the function that computes it for one model."""
    scores = [
        [[0, 1], [0, 0], [1, 1], [0, 1]],
        [[1], [1], [1], []],
        [[1, 0, 1], [1, 1, 0], [1, 1, 1], [0, 1, 1]],
        [[1, 1], [0, 1], [1, 0], []],
        [[], [], [], [1]],
    ]
    cells = Cells.from_scores("demo", ["low", "low:greedy", "none", "apart", "apart:greedy"], list("pqrs"), scores)
    twins = [("low", "low:greedy"), ("none", None), ("apart", "apart:greedy")]
    columns = {
        name: values.tolist() for name, values in compare_greedy(cells, twins, runs=5, level=0.9).columns().items()
    }
    assert columns["model"] == ["none", "low", "apart"]
    assert columns["n_questions"] == [4, 3, 0]
    assert columns["n_generations"] == [3, 2, 0]
    assert columns["greedy"] == pytest.approx([np.nan, 1, np.nan], nan_ok=True)
    assert columns["se_greedy"] == pytest.approx([np.nan, 0, np.nan], nan_ok=True)
    assert columns["sampled"] == pytest.approx([(2 / 3 + 2 / 3 + 1 + 2 / 3) / 4, 0.5, np.nan], nan_ok=True)
    # question means of .5, 0 and 1 of the model, which differ from 1 by .5, 1 and 0: both have the variance 1/6
    assert columns["se_sampled"][1] == pytest.approx(np.sqrt(1 / 6 / 3))
    assert columns["difference"] == pytest.approx([np.nan, 0.5, np.nan], nan_ok=True)
    between = compare(cells, "low:greedy", "low", level=0.9).interval()
    assert (columns["low"][1], columns["high"][1]) == pytest.approx((between.low[0], between.high[0]))
    common = cells.select(["low"], ["p", "q", "r"])
    gaps = [run_gap(one, runs=5).gap[0] for one in (cells.select(["none"]), common)]
    assert columns["gap"] == pytest.approx([*gaps, np.nan], nan_ok=True)
    assert columns["level"] == [0.9] * 3
    for text, is_said in (
        ("no greedy run", [True, False, False]),
        ("on the questions that both answered", [False, True, True]),
        ("no question in common", [False, False, True]),
    ):
        assert [text in note.split("; ") for note in columns["note"]] == is_said


def test_a_comparison_of_no_model_is_refused():
    cells = Cells.from_scores("demo", ["a"], ["p"], [[[1, 0]]])
    with pytest.raises(InputError, match="no sampled model"):
        compare_greedy(cells, [])


def test_models_without_any_greedy_run():
    table = compare_greedy(
        Cells.from_scores("demo", ["a", "b"], ["p"], [[[1, 0]], [[1, 1]]]), [("a", None), ("b", None)]
    )
    columns = table.columns()
    assert columns["sampled"].tolist() == [1, 0.5]
    assert np.isnan(columns["greedy"]).tolist() == np.isnan(columns["se_greedy"]).tolist() == [True, True]
