"""Greedy decoding beside sampled generations. Kind of truth: values by hand."""

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.stats.comparisons.greedy import compare_greedy
from howsure.stats.comparisons.pairs import compare
from howsure.stats.core.cells import Cells
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


def test_a_comparison_of_no_model_is_refused():
    cells = Cells.from_scores("demo", ["a"], ["p"], [[[1, 0]]])
    with pytest.raises(InputError, match="no sampled model"):
        compare_greedy(cells, [])
