"""Stopping and allocation: the martingale behind the formula, other programs, greedy allocation, seeded simulation."""

import math
import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import stopping as oracle
from oracles.difficulty import log_beta
from scipy import special, stats

F = Fraction


# ---- the confidence sequence


def test_half_width_by_hand():
    # t r^2 = 3: sqrt(2 * 4 / (12 * 3) ... ) with t = 12, r = 1/2: 2 * 4 / (144 / 4) * log(2 / 0.05)
    assert oracle.half_width(0.5, 12, 0.05, 0.5) == pytest.approx(0.5 * math.sqrt(8 / 36 * math.log(40)), rel=1e-14)


@pytest.mark.parametrize(("t", "alpha", "r"), [(1, 0.05, 1.0), (10, 0.1, 0.3), (400, 0.01, 0.05)])
def test_half_width_is_where_the_mixture_martingale_reaches_one_over_alpha(t, alpha, r):
    """Theory: integral of exp(l S - t l^2/2) over l ~ N(0, r^2) is 1/alpha at S = t * half width (Ville)."""
    S = t * oracle.half_width(1.0, t, alpha, r)
    center, sd = S * r * r / (t * r * r + 1), r / math.sqrt(t * r * r + 1)  # where the integrand is large

    def integrand(value):
        return math.exp(value * S - t * value * value / 2) * stats.norm._pdf(value / r) / r

    assert oracle.simpson(integrand, center - 12 * sd, center + 12 * sd, 2000) == pytest.approx(1 / alpha, rel=1e-9)


@pytest.mark.parametrize(("t", "alpha"), [(1, 0.05), (30, 0.05), (500, 0.2)])
def test_best_r_against_its_closed_form(t, alpha):
    """Another program's function: y = t r^2 + 1 solves y - log y = 1 - 2 log alpha, so y = -W_{-1}(-alpha^2/e)."""
    y = -special.lambertw(-(alpha**2) / math.e, -1).real
    assert oracle.best_r(t, alpha) == pytest.approx(math.sqrt((y - 1) / t), rel=1e-6)


def test_confidence_sequence_holds_at_every_look():
    """Guarantee by seeded simulation: normal steps of known sd, 150 looks; a fixed-n interval fails far more often."""
    rng, alpha, r, walks, looks = random.Random(3), 0.1, 0.25, 800, 150
    widths = [oracle.half_width(1.0, t, alpha, r) for t in range(1, looks + 1)]
    fixed = [stats.norm.isf(alpha / 2) / math.sqrt(t) for t in range(1, looks + 1)]
    left = {"sequence": 0, "fixed": 0}
    for _ in range(walks):
        total, means = 0.0, []
        for t in range(1, looks + 1):
            total += rng.gauss(0, 1)
            means.append(abs(total) / t)
        left["sequence"] += any(m > w for m, w in zip(means, widths, strict=True))
        left["fixed"] += any(m > w for m, w in zip(means, fixed, strict=True))
    assert 0.01 < left["sequence"] / walks < alpha + 4 * math.sqrt(alpha * (1 - alpha) / walks)
    assert left["fixed"] / walks > 3 * alpha


# ---- rules


def test_run_mean_rule_by_hand():
    runs = [F(1, 2), F(3, 4), F(1, 2), F(1, 2)]
    # n = 2: s = sqrt(1/32), t_1 = 12.706; n = 3: s^2 = 1/48, t_2 = 4.3027; n = 4: s^2 = 1/64, t_3 = 3.1824
    widths = [2 * 12.7062 * math.sqrt(1 / 32), 2 * 4.30265 * math.sqrt(2 / 144), 2 * 3.18245 * math.sqrt(2 / 256)]
    assert widths[0] > widths[1] > widths[2]
    for n, width in zip((2, 3, 4), widths, strict=True):
        assert oracle.run_mean_rule(runs, width * 1.0001, 0.95) == n
    assert oracle.run_mean_rule(runs, widths[2] * 0.9999, 0.95) is None
    assert oracle.run_mean_rule(runs, widths[2] / math.sqrt(2) * 1.0001, 0.95, math.inf) == 4
    assert oracle.run_mean_rule([F(1, 2), F(1, 2)], 1e-9, 0.95) == 2  # two equal runs stop it whatever the width


def test_pooled_rule_by_hand():
    questions = [[1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]]
    # n = 2: s2 = 1/2, 0, 0, 1/2, E/N = 1/16, df = 4; n = 3: E/N = 1/16, df = 8
    widths = [2 * 2.776445 * math.sqrt(1 / 16), 2 * 2.306004 * math.sqrt(1 / 24)]
    assert oracle.pooled_rule(questions, widths[0] * 1.0001, 0.95) == 2
    assert oracle.pooled_rule(questions, widths[1] * 1.0001, 0.95) == 3
    assert oracle.pooled_rule(questions, widths[1] * 0.9999, 0.95) is None


# ---- allocation


@pytest.mark.parametrize(
    ("s2", "budget", "cost", "winners"),
    [
        ([F(1, 4), F(1, 4)], 5, F(5, 24), [[2, 3], [3, 2]]),
        ([4, 1], 3, F(3), [[2, 1]]),
        ([4, 1], 6, F(3, 2), [[4, 2]]),  # k proportional to s: 2 to 1
        ([0, F(1, 4)], 4, F(1, 12), [[1, 3]]),
        ([F(1, 4)], 7, F(1, 28), [[7]]),
    ],
)
def test_allocation_by_hand(s2, budget, cost, winners):
    assert oracle.best_allocations(s2, budget) == (cost, winners)


def test_allocation_on_top_of_what_is_there():
    assert oracle.best_allocations([1, 1], 8, [6, 1]) == (F(2, 3), [[6, 2]])
    with pytest.raises(ValueError, match="budget"):
        oracle.best_allocations([1, 1], 3, [2, 2])
    with pytest.raises(ValueError, match="budget"):
        oracle.best_allocations([1], 1, [2])


def test_every_allocation_is_tried():
    for budget, N in product(range(1, 9), range(1, 5)):
        found = list(oracle.allocations(budget, [1] * N))
        assert len(found) == len({tuple(counts) for counts in found}) == math.comb(budget - 1, N - 1)
        assert all(sum(counts) == budget and min(counts) >= 1 for counts in found)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=4), st.integers(0, 6))
def test_allocation_against_greedy(quarters, extra):
    """A slow version written differently: give each next generation where it lowers the cost most (the sum is convex)."""
    s2 = [F(v, 20) for v in quarters]
    counts = [1] * len(s2)
    for _ in range(extra):
        gains = [v / k - v / (k + 1) for v, k in zip(s2, counts, strict=True)]
        counts[gains.index(max(gains))] += 1
    cost, winners = oracle.best_allocations(s2, len(s2) + extra)
    assert oracle.allocation_cost(s2, counts) == cost
    assert float(cost) >= oracle.bound([float(v) for v in s2], len(s2) + extra) * (1 - 1e-12)
    assert all(oracle.allocation_cost(s2, winner) == cost for winner in winners)


@pytest.mark.parametrize(("correct", "k", "a", "b"), [(0, 0, 1, 1), (0, 5, 0.5, 0.5), (5, 5, 0.05, 0.1), (3, 40, 2, 7)])
def test_posterior_mean_sd_against_its_closed_form(correct, k, a, b):
    """Theory: E[sqrt(p(1-p))] = B(alpha + 1/2, beta + 1/2)/B(alpha, beta); uniform: pi/8."""
    alpha, beta = a + correct, b + k - correct
    closed = math.exp(log_beta(alpha + 0.5, beta + 0.5) - log_beta(alpha, beta))
    assert oracle.posterior_mean_sd(correct, k, a, b) == pytest.approx(closed, rel=1e-8)
    assert oracle.posterior_mean_sd(0, 0, 1, 1) == pytest.approx(math.pi / 8, rel=1e-10)
