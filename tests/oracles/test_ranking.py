"""Ranks: cases worked by hand, other programs, enumeration."""

import math
import random
from fractions import Fraction
from itertools import combinations

import pytest
from helpers.strategies import score_grids
from hypothesis import given
from oracles import pairs
from oracles import ranking as oracle
from scipy import stats

F = Fraction
A = [[1, 1], [1, 0], [1, 1], [0, 0]]  # p = 1, 1/2, 1, 0
B = [[1, 0], [0, 0], [1, 1], [0, 0]]  # p = 1/2, 0, 1, 0


# ---- two models


def test_wrong_order_by_hand():
    # d = 1/2, 1/2, 0, 0: var 1/16, mean 1/4; E = 1/8 + 1/8, D = 1/16 * 4/3 - 1/8 < 0
    z = F(1, 4) / math.sqrt(F(1, 16) / 4)
    assert oracle.chance_above(A, B, paired=True) == pytest.approx(stats.norm.cdf(z))
    assert oracle.chance_wrong_order(B, A, paired=True) == pytest.approx(stats.norm.sf(z))
    assert oracle.difference_and_se(A, B, paired=True, k=1) == (0.25, pytest.approx(math.sqrt(F(1, 4) / 4)))
    assert oracle.difference_and_se(A, B, paired=True, k=4) == (0.25, pytest.approx(math.sqrt(F(1, 16) / 4)))
    # alone: var(A) = 11/64, var(B) = 11/64, E = 1/8 each, D = 11/64 * 4/3 - 1/16 = 32/192
    assert oracle.difference_and_se(A, B, paired=False)[1] == pytest.approx(math.sqrt(F(22, 64) / 4))
    assert oracle.difference_and_se(A, B, paired=False, k=8)[1] == pytest.approx(
        math.sqrt(2 * (F(32, 192) + F(1, 64)) / 4)
    )


def test_unpaired_uses_the_questions_of_each():
    difference, se = oracle.difference_and_se(
        [[1], [0], []],
        [
            [],
            [1],
            [1],
        ][:3],
        paired=False,
    )
    assert (difference, se) == (-0.5, pytest.approx(math.sqrt(1 / 8)))


def test_without_noise_or_repeats_there_is_no_chance_to_name():
    assert math.isnan(oracle.chance_above([[1], [1]], [[0], [0]], paired=True))
    assert math.isnan(oracle.chance_wrong_order([[1], [0]], [[0], [0]], paired=True, k=2))
    assert math.isnan(oracle.chance_wrong_order([[1], [0]], [[0], [0]], paired=False, k=2))


@given(score_grids(min_models=2, max_models=2, missing=False, kind="binary"))
def test_wrong_order_is_the_pairs_z_and_falls_with_k(scores):
    a, b = scores
    z = pairs.summary(a, b)["z"]
    if not math.isnan(z):
        assert oracle.chance_above(a, b, paired=True) == pytest.approx(stats.norm.cdf(z), abs=1e-12)
    chances = [oracle.chance_wrong_order(a, b, paired=False, k=k) for k in (1, 2, 8)]
    known = [c for c in chances if not math.isnan(c)]
    assert known == sorted(known, reverse=True)
    assert all(c <= 0.5 for c in known)


# ---- sets of ranks


def test_rank_sets_by_hand():
    differences = {(0, 1): 0.1, (0, 2): 0.3, (1, 2): 0.2}
    # Holm: .01 * 3, max(.03, .04), max(.04, .9)
    p = {(0, 1): 0.9, (0, 2): 0.01, (1, 2): 0.02}
    assert oracle.rank_sets(differences, p, 3, 0.05) == [(1, 2), (1, 2), (3, 3)]
    assert oracle.rank_sets(differences, p, 3, 0.035) == [(1, 2), (1, 3), (2, 3)]
    assert oracle.rank_sets(differences, p, 3, 0.01) == [(1, 3)] * 3
    assert oracle.rank_sets(differences, dict.fromkeys(p, math.nan), 3, 0.05) == [(1, 3)] * 3
    assert oracle.rank_sets({k: -d for k, d in differences.items()}, dict.fromkeys(p, 0.0), 3, 0.05) == [
        (3, 3),
        (2, 2),
        (1, 1),
    ]


def test_rank_sets_from_scores():
    best, middle, worst = [[1]] * 40, [[1]] * 20 + [[0]] * 20, [[1]] * 19 + [[0]] * 21
    assert oracle.rank_sets_of([middle, worst, best], 0.95) == [(2, 3), (2, 3), (1, 1)]


def test_rank_sets_hold_their_level():
    """Guarantee by seeded simulation: four equal models, all sets must be 1 to 4 (every order is true)."""
    rng, alpha, trials, wrong = random.Random(11), 0.2, 1500, 0
    keys = list(combinations(range(4), 2))
    for _ in range(trials):
        x = [rng.gauss(0, 1) for _ in range(4)]
        differences = {(i, j): x[i] - x[j] for i, j in keys}
        p = {key: pairs.normal_p(d / math.sqrt(2)) for key, d in differences.items()}
        wrong += oracle.rank_sets(differences, p, 4, alpha) != [(1, 4)] * 4
    assert 0.05 < wrong / trials < alpha + 4 * math.sqrt(alpha * (1 - alpha) / trials)


# ---- the law of the ranks


def test_rank_law_by_hand():
    coin = {0: F(1, 2), 1: F(1, 2)}
    assert oracle.rank_law_of_independent([coin, coin]) == [[0.5, 0.5], [0.5, 0.5]]
    law = oracle.rank_law_of_independent([coin, {0: F(1)}])
    assert law == [[0.75, 0.25], [0.25, 0.75]]
    assert oracle.rank_law_of_draws([[3, 1, 2], [3, 3, 2]]) == [[0.75, 0.25, 0], [0.25, 0.25, 0.5], [0, 0.5, 0.5]]
    assert sorted(oracle.orders([1, 2, 1])) == [(1, 0, 2), (1, 2, 0)]


def test_rank_law_of_normals():
    """Theory: two models by Phi, equal ones uniform; another program: scipy's bivariate normal for the best of three."""
    law = oracle.rank_law_of_independent_normals([0.6, 0.5], [0.03, 0.04])
    assert law[0][0] == pytest.approx(stats.norm.cdf(2), rel=1e-9)
    assert law[1] == pytest.approx([law[0][1], law[0][0]], rel=1e-9)
    for row in oracle.rank_law_of_independent_normals([1, 1, 1, 1], [0.5] * 4):
        assert row == pytest.approx([0.25] * 4, rel=1e-9)
    means, ses = [0.3, 0.2, 0.25], [0.1, 0.2, 0.05]
    law = oracle.rank_law_of_independent_normals(means, ses)
    for m in range(3):
        i, j = (x for x in range(3) if x != m)
        covariance = [[ses[m] ** 2 + ses[i] ** 2, ses[m] ** 2], [ses[m] ** 2, ses[m] ** 2 + ses[j] ** 2]]
        best = stats.multivariate_normal.cdf([means[m] - means[i], means[m] - means[j]], [0, 0], covariance)
        assert law[m][0] == pytest.approx(best, rel=1e-5)
        assert sum(law[m]) == pytest.approx(1) == pytest.approx(sum(row[m] for row in law))


def test_discrete_law_approaches_the_normal_one():
    """A slow version written differently: normals cut into 24 pieces, enumerated."""
    means, ses = [0.3, 0.2, 0.25], [0.1, 0.2, 0.05]
    normal = stats.norm
    pieces = [(i + 0.5) / 24 for i in range(24)]
    laws = [{m + s * float(normal.ppf(x)): 1 / 24 for x in pieces} for m, s in zip(means, ses, strict=True)]
    got, expected = oracle.rank_law_of_independent(laws), oracle.rank_law_of_independent_normals(means, ses)
    for row, other in zip(got, expected, strict=True):
        assert row == pytest.approx(other, abs=0.02)
