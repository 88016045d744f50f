"""The best of many for fresh questions. Kind of truth: values by hand, scipy's truncated normal, and simulation."""

import numpy as np
import pytest
from scipy import optimize, stats

from howsure.errors import InputError
from howsure.stats.comparisons import pick_winner
from howsure.stats.core.cells import Cells


def make_cells(y, *, clusters=None, n=None):
    """Return cells of the scores y, shape (k, N); NaN where there is none."""
    y = np.asarray(y, float)
    there = (~np.isnan(y)).astype(int) if n is None else n
    models, questions = ([str(i) for i in range(size)] for size in y.shape)
    filled = np.nan_to_num(y)
    names = None if clusters is None else tuple(clusters)
    return Cells("demo", tuple(models), tuple(questions), there, filled * there, filled**2 * there, clusters=names)


def draw(k, N, seed, *, ahead=0.0):
    """Return right and wrong answers of k models, the last of which is ahead by so many standard deviations."""
    rng = np.random.default_rng(seed)
    ability = np.append(np.zeros(k - 1), ahead)[:, None]
    return (ability - rng.normal(0, 1, N) + rng.normal(0, 1, (k, N)) > 0).astype(float)


def test_the_estimate_is_the_mean_over_questions_that_the_pick_did_not_see():
    """By hand: without question i, the model that is best on the other three is scored on question i alone."""
    y = np.array([[3, 2, 2, 0], [1, 2, 1, 2.5]])
    # without q0: 4/3 and 5.5/3, b: 1; without q1: a: 2; without q2: b (5.5 > 5): 1; without q3: a: 0
    best = pick_winner(make_cells(y))
    assert best["model"].tolist() == ["0"]
    assert best.corrected[0] == pytest.approx((1 + 2 + 1 + 0) / 4)
    assert best.lead_corrected[0] == pytest.approx((1 - 3 + 2 - 2 + 1 - 2 + 0 - 2.5) / 4)
    assert best.lead[0] == pytest.approx((7 - 6.5) / 4)


def test_limits_are_those_of_the_cut_normal_law():
    """Limits of scores beyond 1 by scipy's truncated normal and a root search, in place of our halving."""
    y = 3 * draw(6, 80, 2, ahead=0.3)
    y += np.random.default_rng(1).normal(0, 0.01, (6, 1))  # no ties
    best = pick_winner(make_cells(y), level=0.9)
    w, N = int(best.models[0]), y.shape[1]
    covariance = np.cov(y) / N
    e = np.sqrt(covariance[w, w])
    own = covariance[w, w] - covariance[w]
    others = np.arange(6) != w
    assert np.all(own[others] > 0)
    x = y[w].mean()
    cut = x - np.min(e**2 * (x - y.mean(axis=1)[others]) / own[others])
    c = stats.norm.isf(0.01 / 12)

    def quantile(m):
        low, high = max((cut - m) / e, -c), c
        return stats.truncnorm.cdf((x - m) / e, low, high)

    tail = (0.1 - 0.01) / (1 - 0.01) / 2
    for limit, at in ((best.low[0], 1 - tail), (best.high[0], tail)):
        m = optimize.brentq(lambda m, at=at: quantile(m) - at, x - c * e + 1e-9, x + c * e - 1e-9)
        factor = stats.t.isf(tail, N - 1) / stats.norm.isf(tail)
        assert limit - x == pytest.approx((m - x) * factor, abs=1e-7)


def test_a_winner_far_ahead_keeps_its_score_and_nearly_the_usual_interval():
    y = draw(5, 400, 3, ahead=2.0)
    best = pick_winner(make_cells(y))
    assert best.luck[0] == pytest.approx(0, abs=1e-12)
    usual = stats.t.isf(0.025, 399) * y[-1].std(ddof=1) / 20
    assert best.high[0] - best.low[0] == pytest.approx(2 * usual, rel=0.06)


@pytest.mark.parametrize("k", [2, 20])
def test_of_equal_models_the_luck_is_found_and_the_interval_covers(k):
    """300 evaluations of 60 questions: three standard errors around no bias, and coverage of .95."""
    found = [pick_winner(make_cells(draw(k, 60, [k, i]))) for i in range(300)]
    errors = np.array([best.corrected[0] - 0.5 for best in found])
    assert abs(errors.mean()) < 3 * errors.std() / np.sqrt(300)
    assert np.mean([best.score[0] for best in found]) > 0.5 + 10 * errors.std() / np.sqrt(300) * (k > 2)
    covered = np.mean([best.low[0] <= 0.5 <= best.high[0] for best in found])
    assert covered > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 300)
    assert all(best.low[0] <= best.corrected[0] <= best.high[0] for best in found)


def test_the_order_of_the_candidates_does_not_matter():
    y = draw(7, 50, 4) + np.arange(7)[:, None] * 1e-6
    first, second = (pick_winner(make_cells(rows)) for rows in (y, y[::-1]))
    assert first.models != second.models
    for name in ("score", "corrected", "low", "high", "lead", "lead_corrected"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), abs=1e-9)


def test_questions_asked_twice_say_nothing_more():
    """Clusters of a question and its copy have the limits of the questions alone."""
    y = 2 * draw(4, 40, 5, ahead=0.4)
    y[3] += 0.01
    alone, doubled = (
        pick_winner(make_cells(each, clusters=names))
        for each, names in ((y, None), (np.repeat(y, 2, axis=1), [str(i // 2) for i in range(80)]))
    )
    assert (doubled.low[0], doubled.high[0]) == pytest.approx((alone.low[0], alone.high[0]), abs=1e-9)
    assert doubled.n_units.tolist() == [40]
    assert pick_winner(make_cells(np.repeat(y, 2, axis=1))).low[0] > doubled.low[0]


def test_failed_generations_leave_their_questions_out():
    y = draw(3, 60, 6)
    y[0, :10] = np.nan
    best, complete = pick_winner(make_cells(y)), pick_winner(make_cells(y[:, 10:]))
    assert (best.n_questions[0], best.n_left_out[0]) == (50, 10)
    assert best["low"] == pytest.approx(complete["low"])
    assert "left out" in best["note"][0]


@pytest.mark.parametrize(
    ("y", "unknown"),
    [
        pytest.param([[1], [0]], True, id="one question"),
        pytest.param(np.full((3, 25), 2.0), True, id="no variation of graded scores"),
        pytest.param(np.ones((3, 25)), False, id="all right"),
        pytest.param(np.zeros((3, 25)), False, id="all wrong"),
        pytest.param(np.tile([0.0, 1], (3, 20)), False, id="the same answers"),
        pytest.param([[1.0] * 20, [0.0] * 20], False, id="all right and all wrong"),
    ],
)
def test_degenerate_results_have_honest_limits(y, unknown):
    best = pick_winner(make_cells(y))
    assert np.isnan(best.low[0]) == np.isnan(best.corrected[0]) == unknown
    if unknown:
        assert best["note"][0]
    else:
        assert 0 <= best.low[0] <= best.corrected[0] <= best.high[0] <= 1
        assert best.high[0] - best.low[0] > 0.05


def test_without_a_common_question_nobody_is_the_best():
    best = pick_winner(make_cells([[1, np.nan], [np.nan, 0]]))
    assert np.isnan(best["score"][0])
    assert "no question" in best["note"][0]


def test_the_best_of_one_is_refused():
    with pytest.raises(InputError):
        pick_winner(make_cells([[1, 0]]))
