"""P(correct): a printed fit, other programs, complete enumeration."""

import math
from fractions import Fraction
from itertools import pairwise, product
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import difficulty as oracle
from scipy import optimize, stats

F = Fraction

# Ten questions that split into never and nearly always, five generations each, and one that was missed.
COUNTS = [(0, 5)] * 4 + [(5, 5)] * 3 + [(4, 5), (3, 5), (1, 5), (0, 0)]


# ---- a printed table


@pytest.mark.long
def test_fit_of_the_families_of_saxony():
    """Boys among the first 12 children of 6115 families of 13 (Geissler): a = 34.0956, b = 31.5715, logL = -12492.9."""
    families = [3, 24, 104, 286, 670, 1033, 1343, 1112, 829, 478, 181, 45, 7]
    counts = [(boys, 12) for boys, times in enumerate(families) for _ in range(times)]
    got = oracle.fit(counts)
    assert (got["a"], got["b"]) == pytest.approx((34.09558, 31.5715), rel=5e-4)
    assert got["log_likelihood"] == pytest.approx(-12492.9, abs=0.05)


# ---- another program's output


def test_law_against_scipy():
    for (c, k), (a, b) in product([(0, 0), (0, 5), (3, 7), (10, 10), (550, 1100)], [(1, 1), (0.05, 0.2), (30, 3)]):
        assert oracle.log_beta_binomial(c, k, a, b) == pytest.approx(
            stats.betabinom.logpmf(c, k, a, b), rel=1e-9, abs=1e-11
        )


@pytest.mark.parametrize(
    "counts",
    [COUNTS, [(1, 3), (2, 3), (3, 3), (0, 2), (1, 1), (5, 9)], [(0, 8)] * 6 + [(5, 8), (6, 8), (7, 8), (6, 8)]],
)
@pytest.mark.parametrize("zero_inflated", [False, True])
def test_fit_against_scipy(counts, zero_inflated):
    got = oracle.fit(counts, zero_inflated=zero_inflated)

    def loss(x):
        return -oracle.log_likelihood(counts, *oracle.parameters(x))

    box = [*oracle.BOX, (0.0, 0.999)] if zero_inflated else oracle.BOX
    starts = [[m, s, z] for m in (-1, 1) for s in (-1, 3) for z in (0.05, 0.5)]
    best = min(optimize.minimize(loss, x[: len(box)], bounds=box, method="L-BFGS-B").fun for x in starts)
    assert got["log_likelihood"] == pytest.approx(-best, abs=1e-7)
    assert got["log_likelihood"] == oracle.log_likelihood(counts, got["a"], got["b"], got["zero"])


def test_beta_cdf_and_quantile_against_scipy():
    for (a, b), x in product(
        [(1, 1), (0.05, 0.3), (12, 3), (0.5, 1100.5), (551, 551)], [0, 1e-9, 0.01, 0.3, 0.5, 0.97, 1]
    ):
        assert oracle.beta_cdf(x, a, b) == pytest.approx(stats.beta.cdf(x, a, b), rel=1e-9, abs=1e-13)
    for (a, b), p in product([(1, 1), (0.5, 0.5), (12, 3), (551, 551)], [0.025, 0.4, 0.975]):
        assert oracle.beta_quantile(p, a, b) == pytest.approx(stats.beta.ppf(p, a, b), rel=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=2, max_size=12))
def test_kendall_against_scipy(points):
    x, y = [p for p, _ in points], [p for _, p in points]
    got, expected = oracle.kendall_tau_b(x, y), stats.kendalltau(x, y, variant="b").statistic
    assert got == pytest.approx(float(expected), rel=1e-12, abs=1e-12, nan_ok=True)


# ---- theory


def test_the_law_sums_to_one_and_zero_inflation_moves_mass():
    for zero in (0.0, 0.3):
        chances = [math.exp(oracle.log_likelihood([(c, 6)], 0.4, 1.7, zero)) for c in range(7)]
        assert sum(chances) == pytest.approx(1, rel=1e-12)
        assert chances[3] == pytest.approx((1 - zero) * math.exp(oracle.log_beta_binomial(3, 6, 0.4, 1.7)), rel=1e-12)


def test_missed_questions_say_nothing():
    assert oracle.fit(COUNTS) == oracle.fit(COUNTS[:-1])


def test_questions_that_are_never_answered_are_found():
    counts = [(0, 20)] * 30 + [(c, 20) for c in (12, 13, 14, 15, 16, 17, 18)] * 10
    got = oracle.fit(counts, zero_inflated=True)
    assert got["zero"] == pytest.approx(0.3, abs=1e-3)
    assert got["a"] / (got["a"] + got["b"]) == pytest.approx(0.75, abs=0.01)
    assert got["log_likelihood"] > oracle.fit(counts)["log_likelihood"] + 10


def test_posterior_interval_by_hand():
    assert oracle.posterior_interval(0, 1, 1, 1, 0.8) == pytest.approx(
        (1 - math.sqrt(0.9), 1 - math.sqrt(0.1)), rel=1e-9
    )
    assert oracle.posterior_interval(2, 2, 1, 1, 0.9) == pytest.approx((0.05 ** (1 / 3), 0.95 ** (1 / 3)), rel=1e-9)
    # half of all questions are never answered: after 0 of 1 that is 2/3, the rest is Beta(1, 2)
    assert oracle.posterior_at_zero(0, 1, 1, 1, 0.5) == pytest.approx(2 / 3)
    assert oracle.posterior_interval(0, 1, 1, 1, 0.8, zero=0.5) == pytest.approx((0, 1 - math.sqrt(0.3)), rel=1e-9)
    assert oracle.posterior_mean(0, 1, 1, 1, 0.5) == pytest.approx(1 / 9)
    assert oracle.posterior_mean(1, 1, 1, 1, 0.5) == pytest.approx(2 / 3)


def test_posterior_means_average_to_the_prior_mean():
    """Theory: over the counts that the prior predicts, enumerated."""
    a, b, zero, k = 0.3, 0.9, 0.2, 5
    chances = [math.exp(oracle.log_likelihood([(c, k)], a, b, zero)) for c in range(k + 1)]
    average = sum(ch * oracle.posterior_mean(c, k, a, b, zero) for c, ch in enumerate(chances))
    assert average == pytest.approx((1 - zero) * a / (a + b), rel=1e-12)


def test_kendall_by_hand():
    assert oracle.kendall_tau_b([1, 2, 3], [1, 3, 2]) == pytest.approx(1 / 3)
    assert oracle.kendall_tau_b([1, 1, 2], [1, 2, 2]) == pytest.approx(1 / 2)  # one concordant of two and two
    assert math.isnan(oracle.kendall_tau_b([1, 1], [0, 1]))


def test_question_that_better_models_fail():
    models = [[[1], [0], [0]], [[1], [1], [0]], [[0], [1], [1]], [[], [1], [1]]]
    # ability of the first three: 1/3, 2/3, 2/3; on question 0: 1, 1, 0
    assert oracle.question_tau(models, 0) == pytest.approx(-1 / 2)
    assert oracle.combined_counts(models) == [(2, 3), (3, 4), (2, 4)]


def test_runs_by_hand():
    questions = [[1, 0, 1], [1, 0, 0], []]
    assert oracle.delta_one(questions) == 1.0
    assert oracle.delta_one([[1, 0], [0, 1]]) == 0.0
    assert oracle.resampled_score(questions, [[0, 0], [1]]) == 0.5
    assert oracle.mass_near_ends([0, 0.05, 0.5, 0.96], 0.05) == 0.75


def test_resampling_with_replacement_over_every_draw():
    """Mean of the draws is the score, their variance mean(plain variance)/k/N: (k_all - 1)/k_all of s2."""
    questions, k = [[1, 0, 1], [1, 0, 0]], 2
    draws = list(product(product(range(3), repeat=k), repeat=2))
    values = [oracle.resampled_score(questions, d) for d in draws]
    assert mean(values) == pytest.approx(0.5)
    assert mean([(v - 0.5) ** 2 for v in values]) == pytest.approx(float(F(2, 9) / k / 2))


def test_more_prior_pulls_the_interval_to_the_prior():
    ends = [oracle.posterior_interval(5, 5, s / 2, s / 2, 0.9) for s in (1, 4, 16, 64)]
    assert all(later[0] < earlier[0] or later[1] < earlier[1] for earlier, later in pairwise(ends))
