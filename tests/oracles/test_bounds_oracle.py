"""Missing generations between bounds: the oracle in closed form, and `score(missing="bounds")` against it."""

from statistics import NormalDist

import numpy as np
import pytest
from oracles import bounds as oracle
from scipy import stats

import howsure as hs

Z = NormalDist().inv_cdf


def rows_of(answers, lost, **choices):
    """Scores with the lost answers left out, and the same with all of them wrong and with all of them right."""
    N = len(answers)
    questions = tuple(map(str, range(N)))
    kept, failed = (~lost).astype(int)[None], lost.astype(int)[None]
    total = (answers * ~lost).astype(float)[None]
    cells = hs.Cells("bounds", ("a",), questions, kept, total, total, failed=failed)
    wrong = hs.Cells("bounds", ("a",), questions, np.ones((1, N), dtype=int), total, total)
    right = hs.Cells("bounds", ("a",), questions, np.ones((1, N), dtype=int), total + failed, total + failed)
    results = (hs.score(cells, missing="bounds", **choices), hs.score(wrong, **choices), hs.score(right, **choices))
    return [{name: values[0] for name, values in result.columns().items()} for result in results]


def draw(N, share, seed=0):
    rng = np.random.default_rng([N, int(1000 * share), seed])
    return rng.random(N) < 0.55, rng.random(N) < share


# ---- the oracle itself


def test_a_point_has_the_two_sided_quantile_and_a_wide_set_the_one_sided():
    assert oracle.critical_value(0.0, 0.1, 0.95) == pytest.approx(Z(0.975), rel=1e-12)
    assert oracle.critical_value(10.0, 0.1, 0.95) == pytest.approx(Z(0.95), rel=1e-12)
    between = [oracle.critical_value(width, 0.1, 0.95) for width in (0.0, 0.05, 0.1, 0.2, 0.4)]
    assert between == sorted(between, reverse=True)


def test_coverage_at_an_end_of_the_set_is_the_level():
    """With known and equal errors that are perfectly correlated, the chance to cover an end is exactly nominal."""
    for width in (0.0, 0.3, 1.0, 4.0):
        c = oracle.critical_value(width, 1.0, 0.9)
        assert stats.norm.cdf(c + width) - stats.norm.cdf(-c) == pytest.approx(0.9, rel=1e-10)


# ---- the public function


@pytest.mark.parametrize("method", ["clt", "t"])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_wide_set_has_one_sided_ends(share, method):
    """The identified set is many standard errors wide: both ends have the one-sided quantile."""
    [row, wrong, right] = rows_of(*draw(800, share), method=method)
    low, high = oracle.imbens_manski(wrong["score"], wrong["se"], right["score"], right["se"], 0.95)
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize("method", ["clt", "t", None])
@pytest.mark.parametrize("share", [0.002, 0.01, 0.05, 0.3])
def test_no_wider_than_manski_and_no_narrower_than_one_sided(share, method):
    [row, wrong, right] = rows_of(*draw(400, share), method=method)
    [_, one_sided_low, one_sided_high] = rows_of(*draw(400, share), method=method, level=0.9)
    tolerance = 1e-3 if method is None else 1e-9
    assert wrong["low"] - tolerance <= row["low"] <= one_sided_low["low"] + tolerance
    assert one_sided_high["high"] - tolerance <= row["high"] <= right["high"] + tolerance
    if share >= 0.05:
        assert row["high"] - row["low"] < right["high"] - wrong["low"] - 1e-3


def test_nothing_missing_is_the_plain_score():
    for method in (None, "clt", "t"):
        [row, wrong, right] = rows_of(*draw(120, 0.0), method=method)
        assert (row["low"], row["high"]) == pytest.approx((wrong["low"], wrong["high"]), abs=1e-9)
        assert (row["low"], row["high"]) == pytest.approx((right["low"], right["high"]), abs=1e-9)


# ---- scores that are not between 0 and 1


@pytest.mark.parametrize("scores", [[-0.2, 0.6], [1.2, 0.4], [1.2, 0.5], [-0.01, *[0.5] * 20]])
def test_scores_beyond_the_unit_interval_are_told_by_their_ends_and_not_by_their_sums(scores):
    cells = hs.Cells.from_scores("bounds", ["a"], ["1", "2", "3"], [[scores, [0.5, 0.5], [0.4, 0.6]]])
    assert not cells.unit
    assert not cells.binary
    assert hs.score(cells).columns()["method"][0] == "t"
    missing = hs.Cells.from_scores("bounds", ["a"], ["1", "2", "3"], [[scores, [0.5, 0.5], []]])
    with pytest.raises(hs.InputError, match=r"\[0, 1\]"):
        hs.score(missing, missing="bounds")


def test_merged_and_selected_cells_remember_the_ends():
    ends = hs.Cells.from_scores("bounds", ["a"], ["1", "2"], [[[-0.2, 0.6], [0.5, 0.5]]])
    inside = hs.Cells.from_scores("bounds", ["a"], ["1", "2"], [[[0.5, 0.6], [0.5, 0.5]]])
    assert inside.unit
    assert not (ends + inside).unit
    assert not (inside + ends).unit
    assert not ends.select(questions=["1"]).unit
    assert ends.select(questions=["2"]).unit


# ---- future runs where nothing varied


@pytest.mark.parametrize("answer", [0.0, 1.0])
@pytest.mark.parametrize("runs", [2, 3])
def test_future_runs_have_an_interval_where_nothing_varied(answer, runs):
    one = hs.Cells(
        "bounds", ("a",), tuple(map(str, range(30))), np.ones((1, 30), dtype=int), *[np.full((1, 30), answer)] * 2
    )
    columns = hs.repeats({"bounds": [one] * runs}, n_future=1).columns()
    low, high = columns["low"][0], columns["high"][0]
    assert 0 <= low <= answer <= high <= 1
    assert 1 / 30 <= high - low < 0.5  # one question of the next run may differ
