"""The comparison without pairing where the standard error of a model is 0."""

import numpy as np
import pytest

from howsure.stats.comparisons import compare_unpaired
from howsure.stats.core.cells import Cells
from howsure.stats.scores import score


def two(right_a, n_a, right_b, n_b):
    """Return two models with one generation each on questions of their own, scored 0 or 1."""
    n = np.zeros((2, n_a + n_b), int)
    n[0, :n_a] = n[1, n_a:] = 1
    total = np.zeros(n.shape)
    total[0, :right_a] = total[1, n_a : n_a + right_b] = 1
    return Cells("b", ("a", "b"), tuple(map(str, range(n_a + n_b))), n, total, total)


def test_two_right_answers_are_no_certainty():
    """The limits are those of both scores: with scores of 100/200 and 2/2, nothing is known of the difference."""
    cells = two(100, 200, 2, 2)
    result = compare_unpaired(cells, "a", "b")
    each = score(cells).interval(0.95)
    below = np.hypot(0.5 - each.low[0], each.high[1] - 1)
    above = np.hypot(each.high[0] - 0.5, 1 - each.low[1])
    assert result["low"][0] == pytest.approx(-0.5 - below)
    assert result["high"][0] == pytest.approx(-0.5 + above)
    assert result["high"][0] > 0.1
    assert "limits are combined" in result["note"][0]


@pytest.mark.parametrize(("right", "n"), [(2, 2), (8, 8), (20, 20)])
def test_p_is_the_level_at_which_the_limits_reach_0(right, n):
    result = compare_unpaired(two(60, 120, right, n), "a", "b")
    p = result["p_value"][0]
    assert (p < 0.05) == (result["high"][0] < 0)
    assert result.interval(1 - p).high[0] == pytest.approx(0, abs=2e-3)


@pytest.mark.long
def test_equal_models_are_seldom_called_different():
    """Guarantee by simulation: P(correct) is 1/2 for both; one has 2 questions, which are alike every second time."""
    rng = np.random.default_rng(3)
    false = [
        compare_unpaired(two(rng.binomial(60, 0.5), 60, rng.binomial(2, 0.5), 2), "a", "b").interval().p_value[0] < 0.05
        for _ in range(120)
    ]
    assert np.mean(false) <= 0.1


def test_scores_of_another_scale_without_variation_have_no_interval():
    cells = two(30, 60, 5, 5)
    result = compare_unpaired(
        Cells("b", cells.models, cells.questions, cells.n, 9 * cells.total, 81 * cells.total), "a", "b"
    )
    assert np.isnan([result["low"][0], result["high"][0], result["p_value"][0]]).all()
    assert "no variation was seen" in result["note"][0]
