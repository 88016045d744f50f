"""Several benchmarks: cases worked by hand, another program, identities."""

import math

import pytest
from oracles import combining as oracle
from oracles.pairs import normal_p
from scipy import stats


def test_weighted_z_by_hand():
    assert oracle.weighted_z([1, 2], [1, 1])["z"] == pytest.approx(3 / math.sqrt(2))
    assert oracle.weighted_z([3, -1], [3, 4])["z"] == pytest.approx(1)
    assert oracle.weighted_z([3, -1], [3, 4])["p_value"] == pytest.approx(0.3173105, rel=1e-6)
    assert oracle.weighted_z([2.5], [7])["z"] == pytest.approx(2.5)
    assert math.isnan(oracle.weighted_z([1, math.nan], [1, 1])["p_value"])


def test_weights():
    assert oracle.weights("benchmarks", [0.1, 0.2], [100, 25]) == [1, 1]
    assert oracle.weights("questions", [0.1, 0.2], [100, 25]) == [10, 5]
    assert oracle.weights("precision", [0.1, 0.2], [100, 25]) == pytest.approx([10, 5])
    with pytest.raises(ValueError, match="median"):
        oracle.weights("median", [], [])


@pytest.mark.parametrize("w", [[1, 1, 1], [10, 5, 2.5]])
def test_weighted_z_against_scipy(w):
    """Another program's output: Stouffer's method on the upper tails."""
    z = [1.2, -0.4, 2.2]
    theirs = stats.combine_pvalues(stats.norm.sf(z), method="stouffer", weights=w)
    assert oracle.weighted_z(z, w)["z"] == pytest.approx(theirs.statistic, rel=1e-10)


def test_precision_weights_give_the_z_of_the_pooled_difference():
    """Theory: with w = 1/SE the combined z is dbar/SE(dbar) of the inverse-variance mean."""
    d, se = [0.02, -0.01, 0.05], [0.01, 0.02, 0.04]
    z = [x / s for x, s in zip(d, se, strict=True)]
    row = oracle.cochran_q(d, se)
    combined = oracle.weighted_z(z, oracle.weights("precision", se, [1, 1, 1]))["z"]
    assert combined == pytest.approx(row["mean"] / row["se"], rel=1e-12)
    assert row["q"] == pytest.approx(sum(x * x for x in z) - combined**2, rel=1e-12)


def test_cochran_by_hand():
    row = oracle.cochran_q([1, 2, 3], [1, 1, 1])
    assert (row["q"], row["df"], row["mean"], row["i_squared"]) == (2, 2, 2, 0)
    assert row["p_value"] == pytest.approx(math.exp(-1))
    assert oracle.cochran_q([0, 4], [1, 1])["i_squared"] == pytest.approx(7 / 8)
    assert oracle.cochran_q([1, 1], [1, 2])["i_squared"] == 0
    assert math.isnan(oracle.cochran_q([1], [1])["p_value"])


def test_cochran_of_two_is_their_z_test():
    row = oracle.cochran_q([0.03, 0.01], [0.01, 0.02])
    assert row["p_value"] == pytest.approx(normal_p(0.02 / math.hypot(0.01, 0.02)), rel=1e-10)
