"""The noise of sampling in a score, and its degrees of freedom. Kind of truth: loops over questions; values by hand."""

import math

import numpy as np
import pytest

from howsure.stats.core.cells import Cells
from howsure.stats.scores.prediction_noise import fill_within_variances, sampling_df, unvaried_half_width

SCORES = [[[1, 0, 1], [1], [0, 1], [0, 0], []], [[1], [0], [1], [], [1]]]


def test_questions_of_one_generation_have_the_mean_variance_of_the_others():
    """By hand: 1/3, 1/2 and 0 within the questions of three and two generations; only those that are counted."""
    cells = Cells.from_scores("b", ["x", "y"], list("pqrst"), SCORES)
    every = np.ones(cells.n.shape, bool)
    mean = (1 / 3 + 1 / 2) / 3
    assert fill_within_variances(cells, every)[0] == pytest.approx([1 / 3, mean, 1 / 2, 0, mean])
    assert np.isnan(fill_within_variances(cells, every)[1]).all()
    some = every.copy()
    some[0, 0] = False
    assert fill_within_variances(cells, some)[0, 1] == pytest.approx((1 / 2 + 0) / 2)


@pytest.mark.parametrize("seed", range(3))
def test_degrees_of_freedom_by_a_loop(seed):
    rng = np.random.default_rng(seed)
    k = rng.integers(0, 5, (4, 9))
    parts = rng.random((4, 9)) ** 3
    expected = []
    for row, counts in zip(parts.tolist(), k.tolist(), strict=True):
        used = [part for part, n in zip(row, counts, strict=True) if n > 1]
        total = sum(used)
        spread = sum((part - total / len(used)) ** 2 for part in used) * len(used) / (len(used) - 1)
        expected.append(min(sum(n - 1 for n in counts if n > 1), 2 * total**2 / spread))
    assert sampling_df(parts, k) == pytest.approx(expected)


def test_degrees_of_freedom_of_parts_that_do_not_vary():
    """By hand: equal parts, parts of 0 and a single part say nothing of the variance: sum (k - 1) counts."""
    k = np.array([[3, 3, 1], [2, 4, 1], [5, 1, 0]])
    parts = np.array([[0.1, 0.1, 9], [0, 0, 9], [0.2, 9, 9]])
    assert sampling_df(parts, k).tolist() == [4, 4, 4]


@pytest.mark.parametrize("level", [0.75, 0.8, 0.95])
def test_distance_of_generations_that_never_varied_by_counting(level):
    """By a loop: the smallest u for which u + 1 of the future generations have at most the probability 1 - level."""
    for past in (0.5, 1, 2, 7):
        for future in (1, 2, 10):
            u = 0
            while (future / (past + future)) ** (u + 1) > 1 - level:
                u += 1
            found = unvaried_half_width(np.array([past]), np.array([future]), level)
            assert found[0] == pytest.approx(u / future)
        endless = unvaried_half_width(np.array([past]), np.array([math.inf]), level)
        assert endless[0] == pytest.approx(-math.log(1 - level) / past)
    assert np.isnan(unvaried_half_width(np.array([0.0, 0.0]), np.array([2, math.inf]), level)).all()
