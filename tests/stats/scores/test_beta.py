"""Beta fits, posteriors of questions and of the mean: scipy, slow versions, printed theory, guarantees by simulation."""

import math
from pathlib import Path

import numpy as np
import pytest
from helpers.long_cases import mark_long
from helpers.strategies import score_grids
from hypothesis import given, settings
from oracles import difficulty as slow
from scipy import integrate, optimize, special, stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells
from howsure.stats.scores.beta import (
    BetaFit,
    expected_error,
    fit_beta,
    independent_error,
    pool_by_score,
    posterior,
    require_binary,
)
from howsure.stats.scores.beta_likelihood import LIMITS, distinct_counts, make_beta_grid
from howsure.stats.scores.score_intervals import posterior_of_mean

SHARED = Path(__file__).resolve().parents[3] / "../shared/data/all_the_noises/highk_temp0.7"


def counted(correct, n):
    """Cells of counts (M, N)."""
    total = np.asarray(correct, float)
    names = (tuple(f"{letter}{i}" for i in range(size)) for letter, size in zip("mq", total.shape, strict=True))
    return Cells("counted", *names, np.broadcast_to(np.asarray(n), total.shape).copy(), total, total)


def drawn(rng, p, k):
    return counted(rng.binomial(k, p), k)


def pairs_of(cells, i):
    return list(zip(cells.total[i].astype(int).tolist(), cells.n[i].tolist(), strict=True))


# ---- counts and theory


@given(score_grids(kind="binary"))
def test_distinct_counts_lead_back_to_every_question(grid):
    """Theory: compression loses nothing."""
    cells = Cells.from_scores("g", [f"m{i}" for i in range(len(grid))], [f"q{j}" for j in range(len(grid[0]))], grid)
    counts = distinct_counts(cells.total, cells.n)
    np.testing.assert_array_equal(np.take_along_axis(counts.correct, counts.place, axis=1), cells.total)
    np.testing.assert_array_equal(np.take_along_axis(counts.wrong, counts.place, axis=1), cells.n - cells.total)
    np.testing.assert_array_equal(counts.weight.sum(axis=1), cells.answered.sum(axis=1))


def test_errors_of_the_beta_theory():
    """Theory, NOISE eq. 29: the integral of 2x(1-x) against Beta(p, 1-p)."""
    for p in (0.1, 0.5, 0.83):
        square, _ = integrate.quad(lambda u, p=p: 2 * (x := stats.beta.ppf(u, p, 1 - p)) * (1 - x), 0, 1)
        assert expected_error(p, 250) == pytest.approx(math.sqrt(square / 250), rel=1e-5)
        assert independent_error(p, 250) == pytest.approx(math.sqrt(2 * p * (1 - p) / 250))


# ---- fits


@pytest.mark.parametrize("zero", mark_long([False, True], after=1))
def test_fits_are_the_slow_ones(zero):
    """A slow version written differently: a shrinking grid; unequal counts and missing questions."""
    rng = np.random.default_rng(4)
    p = rng.beta([[0.5], [0.8]], [[1], [0.6]], (2, 25)) * (rng.random((2, 25)) > 0.3 * zero)
    n = rng.integers(0, 8, (2, 25))
    cells = counted(rng.binomial(n, p), n)
    fit = fit_beta(cells, zero=zero)
    for i in range(2):
        expected = slow.fit(pairs_of(cells, i), zero_inflated=zero)
        assert fit.log_likelihood[i] == pytest.approx(expected["log_likelihood"], abs=1e-5)
        ours = slow.log_likelihood(pairs_of(cells, i), fit.a[i], fit.b[i], fit.zero[i])
        assert ours == pytest.approx(fit.log_likelihood[i], abs=1e-8)
        assert fit.log_likelihood[i] >= expected["log_likelihood"] - 1e-7
        assert fit.n_questions[i] == np.sum(n[i] > 0)


def test_no_point_nearby_is_more_likely_by_scipy():
    """Another program's likelihood: scipy's betabinom around the fit, fifty models at once."""
    rng = np.random.default_rng(5)
    a, b = np.exp(rng.normal(0, 1, (2, 50, 1)))
    cells = drawn(rng, rng.beta(a, b, (50, 300)), 20)
    fit = fit_beta(cells)
    at = stats.betabinom.logpmf(cells.total, 20, fit.a[:, None], fit.b[:, None]).sum(axis=1)
    np.testing.assert_allclose(fit.log_likelihood, at, rtol=1e-10)
    for up_a, up_b in ((1.01, 1), (0.99, 1), (1, 1.01), (1, 0.99), (1.01, 1.01), (0.99, 0.99)):
        near = stats.betabinom.logpmf(cells.total, 20, fit.a[:, None] * up_a, fit.b[:, None] * up_b).sum(axis=1)
        assert np.all(near < at)


def test_the_fit_finds_what_was_drawn():
    """Guarantee by simulation: 4,000 questions with a point mass of .25, and without."""
    rng = np.random.default_rng(6)
    p = rng.beta(1.5, 0.5, (2, 4000))
    p[0] *= rng.random(4000) > 0.25
    fit = fit_beta(drawn(rng, p, 30), zero=True)
    assert fit.a == pytest.approx([1.5, 1.5], rel=0.12)
    assert fit.b == pytest.approx([0.5, 0.5], rel=0.12)
    assert fit.zero == pytest.approx([0.25, 0], abs=0.02)


def test_the_share_near_the_ends_by_hand():
    """Theory: Beta(1, 1) is uniform, Beta(2, 1) has the distribution function x^2; a point mass at 0 is near 0."""
    a, b, zero = np.array([1.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0]), np.array([0.0, 0.5, 0.2])
    fit = BetaFit("b", ("m", "n", "o"), np.full(3, 9), a / (a + b), a + b, zero, zero, np.full(3, "", object))
    assert fit.share_near_ends(0.1) == pytest.approx([0.2, 1 - 0.5 * 0.8, 1 - 0.8 * (0.9**2 - 0.1**2)])


def test_what_the_counts_do_not_know_is_told():
    n = np.full((6, 8), 5)
    n[1] = 1
    n[2] = 0
    n[3] = [5, 0, 0, 0, 0, 0, 0, 0]
    correct = np.zeros((6, 8))
    correct[1, :3] = 1
    correct[3, 0] = 2
    correct[4, :4] = 5
    correct[5] = [2, 3, 2, 3, 2, 3, 2, 3]
    fit = fit_beta(counted(correct, n))
    assert fit.mean == pytest.approx([0, 3 / 8, math.nan, 0.4, 0.5, 0.5], nan_ok=True, abs=1e-6)
    assert np.isnan(fit.concentration).tolist() == [True, True, True, True, False, False]
    assert fit.concentration[4] == pytest.approx(math.exp(LIMITS[1, 0]))
    assert fit.concentration[5] == pytest.approx(math.exp(LIMITS[1, 1]))
    note = fit.columns()["note"]
    for text, reason in zip(
        note,
        ["scored alike", "one generation", "no scores", "one question", "always or never", "by chance"],
        strict=True,
    ):
        assert reason in text
    assert str(fit).startswith("model")
    two = fit_beta(counted([[0, 1, 2, 0, 1]], 2), zero=True)
    assert "mass at 0 cannot be estimated" in two.reasons[0]


def test_scores_between_0_and_1_have_no_beta_fit():
    partial = Cells.from_scores("b", ["a"], ["1", "2"], [[[0.5], [1.0]]])
    with pytest.raises(InputError, match="b: a Beta fit needs scores of 0 and 1"):
        fit_beta(partial)
    with pytest.raises(InputError, match=r"pass@k needs"):
        require_binary(partial, "pass@k")


def test_pooling_adds_the_generations_of_each_range():
    """A slow version written differently: the counts of all models of a range, question by question."""
    rng = np.random.default_rng(7)
    p = np.array([[0.1], [0.15], [0.5], [1.0]]) * np.ones((4, 40))
    n = rng.integers(0, 5, (5, 40))
    n[4] = 0
    cells = counted(np.vstack([rng.binomial(n[:4], p), n[4:]]), n)
    pooled = pool_by_score(cells, (0, 0.3, 0.4, 0.7, 1))
    assert pooled.models == (
        "0 to 0.3 (2 models)",
        "0.4 to 0.7 (1 model)",
        "0.7 to 1 (1 model)",
    )
    for i, members in enumerate(([0, 1], [2], [3])):
        grid = [
            [[1.0] * int(c) + [0.0] * int(k - c) for c, k in zip(cells.total[m], cells.n[m], strict=True)]
            for m in members
        ]
        assert pairs_of(pooled, i) == slow.combined_counts(grid)
    with pytest.raises(InputError, match="leave out 'm3' with score 1"):
        pool_by_score(cells, (0, 0.9))
    with pytest.raises(InputError, match="numbers that increase"):
        pool_by_score(cells, (0.5, 0.5))


# ---- posterior of each question


@pytest.mark.parametrize("zero", mark_long([0.0, 0.3], after=1))
def test_posteriors_of_questions_are_the_slow_ones(zero):
    """A slow version written differently: series, bisection, and the mixture with a mass at 0."""
    n = np.array([[0, 1, 5, 5, 5, 40]])
    cells = counted([[0, 0, 0, 2, 5, 0]], n)
    fit = fit_beta(counted([[0, 0, 0, 0, 9, 8, 10, 7]], 10), zero=zero > 0)
    assert (fit.zero[0] > 0) == (zero > 0)
    prior = fit if zero else "jeffreys"
    a, b = (fit.a[0], fit.b[0]) if zero else (0.5, 0.5)
    found = posterior(cells, prior, level=0.9)
    for j, (c, k) in enumerate(pairs_of(cells, 0)):
        mass = fit.zero[0] if zero else 0.0
        assert found.mean[0, j] == pytest.approx(slow.posterior_mean(c, k, a, b, mass))
        expected = slow.posterior_interval(c, k, a, b, 0.9, mass)
        assert (found.low[0, j], found.high[0, j]) == pytest.approx(expected, abs=1e-9)


def test_hierarchical_posteriors_are_mixtures_over_the_grid():
    """By scipy, question by question: from 31 generations on, one Beta distribution at the mean of the parameters."""
    cells = counted(
        [[3, 0, 12, 22, 4, 0], [0] * 6, [5, 5, 2, 1, 31, 17]], [[5, 4, 30, 35, 4, 0], [0] * 6, [5, 6, 7, 8, 32, 30]]
    )
    found = posterior(cells, "hierarchical", level=0.9)
    assert np.isnan([part[1] for part in found]).all()
    for i in (0, 2):
        counts = distinct_counts(cells.total[[i]], cells.n[[i]])
        grid = make_beta_grid(counts.correct, counts.wrong, counts.weight, correlation=(1, 2))
        for j, (c, n) in enumerate(pairs_of(cells, i)):
            a, b, weight = grid.a[0], grid.b[0], grid.probability[0]
            if n > 30:
                a, b, weight = np.array([weight @ a]), np.array([weight @ b]), np.ones(1)
            laws = stats.beta(a + c, b + n - c)
            low, high = (
                optimize.brentq(lambda x, laws=laws, weight=weight, tail=tail: weight @ laws.cdf(x) - tail, 0, 1)
                for tail in (0.05, 0.95)
            )
            assert found.mean[i, j] == pytest.approx(weight @ laws.mean())
            assert found.low[i, j] == pytest.approx(0 if c == 0 < n else low, abs=1e-7)
            assert found.high[i, j] == pytest.approx(1 if c == n > 0 else high, abs=1e-7)


def test_posterior_by_name_and_its_errors():
    cells = counted([[2, 0]], 3)
    assert posterior(cells, "uniform").mean[0].tolist() == pytest.approx([3 / 5, 1 / 5])
    single = counted([[1, 0, 1]], 1)  # concentration unknown: Jeffreys
    assert posterior(single, fit_beta(single)).mean[0].tolist() == pytest.approx([0.75, 0.25, 0.75])
    with pytest.raises(UnknownNameError, match="did you mean 'jeffreys'"):
        posterior(cells, "jeffries")
    with pytest.raises(InputError, match="the fit is of other models"):
        posterior(counted([[1], [1]], 2), fit_beta(cells))
    with pytest.raises(InputError, match="level is 95"):
        posterior(cells, level=95)


def test_empirical_bayes_intervals_cover_on_average():
    """Guarantee by simulation: over questions of the population, 90 % intervals hold 90 %."""
    rng = np.random.default_rng(8)
    p = rng.beta(0.6, 0.9, (4, 1500))
    cells = drawn(rng, p, 6)
    found = posterior(cells, fit_beta(cells), level=0.9)
    covered = np.mean((found.low <= p) & (p <= found.high))
    assert covered == pytest.approx(0.9, abs=0.015)
    assert np.mean(found.mean - p) == pytest.approx(0, abs=0.01)


# ---- posterior of the mean


def test_one_generation_per_question_gives_jeffreys_interval():
    """Another program: scipy's quantiles of Beta(c + 1/2, n - c + 1/2), and 0 and 1 at the ends."""
    n = 23
    total = np.tril(np.ones((n + 1, n)), -1)  # 0, 1, ..., n right
    for method in ("variance", "beta-binomial"):
        low, high = posterior_of_mean(total, np.ones(total.shape, int), 0.9, method=method)
        c = np.arange(n + 1)
        slack = 1e-9 if method == "variance" else 1e-3
        np.testing.assert_allclose(low[1:], stats.beta.ppf(0.05, c + 0.5, n - c + 0.5)[1:], atol=slack)
        np.testing.assert_allclose(high[:-1], stats.beta.ppf(0.95, c + 0.5, n - c + 0.5)[:-1], atol=slack)
        assert low[0] == 0
        assert high[-1] == 1


@pytest.mark.parametrize(("N", "k", "m", "s"), [(10, 5, 0, 1), (25, 7, 0.4, 2), (1, 3, 0.5, 1)])
def test_the_full_likelihood_against_a_plain_grid(N, k, m, s):
    """A slow version written differently: a fine fixed grid in m itself and the correlation."""
    rng = np.random.default_rng(N)
    n = rng.integers(1, k + 1, N)
    c = rng.binomial(n, rng.beta(m * s, (1 - m) * s, N)) if m else np.zeros(N)
    x, t = (np.arange(1200) + 0.5) / 1200 * np.pi / 2, np.linspace(-12, 12, 121)
    mean, size = np.sin(x)[:, None] ** 2, np.exp(-t)
    log_post = np.broadcast_to(-np.logaddexp(0, t) - np.logaddexp(0, -t), (1200, 121)).copy()
    for ci, ni in zip(c, n, strict=True):
        a, b = mean * size, (1 - mean) * size
        log_post += special.gammaln(a + ci) - special.gammaln(a) + special.gammaln(b + ni - ci) - special.gammaln(b)
        log_post += special.gammaln(a + b) - special.gammaln(a + b + ni)
    mass = np.exp(log_post - log_post.max()).sum(axis=1)
    expected = np.sin(np.interp([0.025, 0.975], np.cumsum(mass) / mass.sum(), x + np.pi / 4800)) ** 2
    low, high = posterior_of_mean(c[None].astype(float), n[None], method="beta-binomial")
    slack = 0.004 * (expected[1] - expected[0])
    assert high[0] == pytest.approx(expected[1], abs=slack)
    assert low[0] == pytest.approx(expected[0] if c.any() else 0, abs=slack)


def test_the_variance_form_by_quadrature():
    """A slow version written differently: the mixture over r by scipy's adaptive quadrature, unequal counts."""
    n = np.array([3, 4, 5, 6, 3, 5, 7, 2])
    c = np.array([0, 1, 5, 2, 0, 3, 6, 2])
    p, N = c / n, len(n)
    score, h = p.mean(), np.mean(1 / n)
    ratio = np.var(p, ddof=1) / (score * (1 - score))
    freedom = min(N - 1, 2 * N / (stats.kurtosis(p, fisher=False) - 1))

    def weight(r):
        f = r + (1 - r) * h
        return f ** (-freedom / 2) * math.exp(-freedom * ratio / (2 * f))

    def cdf(m):
        def inner(r):
            f = r + (1 - r) * h
            return weight(r) * stats.beta.cdf(m, score * N / f + 0.5, (1 - score) * N / f + 0.5)

        return integrate.quad(inner, 0, 1)[0] / integrate.quad(weight, 0, 1)[0]

    low, high = posterior_of_mean(c[None].astype(float), n[None])
    assert cdf(low[0]) == pytest.approx(0.025, abs=2e-5)
    assert cdf(high[0]) == pytest.approx(0.975, abs=2e-5)


def test_all_right_all_wrong_alike_and_missing():
    n = np.full((5, 10), 4)
    n[4] = 0
    total = np.array([np.zeros(10), np.full(10, 4), np.full(10, 2), [4, *np.zeros(9)], np.zeros(10)])
    low, high = posterior_of_mean(total, n)
    assert low[0] == 0
    assert high[1] == 1
    assert high[0] == pytest.approx(1 - low[1])
    assert 0.05 < high[0] < 0.22  # between 40 and 10 trials without a success
    assert low[2] < 0.5 < high[2]
    assert high[2] - low[2] > 0.1
    assert low[3] < 0.1 < high[3]
    assert np.isnan([low[4], high[4]]).all()
    with pytest.raises(UnknownNameError, match="unknown posterior"):
        posterior_of_mean(total, n, method="gibbs")
    with pytest.raises(InputError, match="level is 0"):
        posterior_of_mean(total, n, 0)


@settings(max_examples=40)
@given(score_grids(kind="binary"))
def test_right_and_wrong_are_mirror_images_and_the_score_is_inside(grid):
    """Theory: exchanging right and wrong exchanges low and 1 - high; a higher level is wider."""
    cells = Cells.from_scores("g", [f"m{i}" for i in range(len(grid))], [f"q{j}" for j in range(len(grid[0]))], grid)
    low, high = posterior_of_mean(cells.total, cells.n)
    flipped_low, flipped_high = posterior_of_mean(cells.n - cells.total, cells.n)
    np.testing.assert_allclose(low, 1 - flipped_high, atol=1e-9)
    np.testing.assert_allclose(high, 1 - flipped_low, atol=1e-9)
    wide_low, wide_high = posterior_of_mean(cells.total, cells.n, 0.99)
    assert np.all((wide_low <= low + 1e-9) & (high <= wide_high + 1e-9) & (low < high))
    score = np.array([p[k].mean() for p, k in zip(cells.mean, cells.answered, strict=True)])
    assert np.all((low <= score) & (score <= high))


def coverage(population, mu, N, k, trials=1500, seed=0, **options):
    rng = np.random.default_rng([seed, N, k])
    low, high = posterior_of_mean(
        rng.binomial(k, population(rng, (trials, N))).astype(float), np.full((trials, N), k), **options
    )
    return np.mean((low <= mu) & (mu <= high))


@pytest.mark.parametrize("k", [1, 5, 50])
@pytest.mark.parametrize("mu", [0.05, 0.5, 0.9])
def test_coverage_for_beta_populations(mu, k):
    """Guarantee by simulation: nominal 95 %, few questions, concentrations .5 and 5; the t interval falls to 22 %."""
    found = [
        coverage(lambda rng, size, s=s: rng.beta(mu * s, (1 - mu) * s, size), mu, N, k, trials=200)
        for N in (5, 20, 100)
        for s in (0.5, 5)
    ]
    assert min(found) > 0.84  # lowest for 5 questions of which hardly one differs from the others
    assert np.mean(found) > 0.93


def never_or_beta(rng, size):
    return (rng.random(size) > 0.3) * rng.beta(2, 1, size)


@pytest.mark.long
def test_coverage_where_difficulty_is_no_beta_distribution():
    """Guarantee by simulation: 30 % of questions never answered, N = 100, 50 generations of each."""
    mu = 0.7 * 2 / 3
    assert coverage(never_or_beta, mu, 100, 50) == pytest.approx(0.955, abs=0.02)
    # The reason for the default: the full likelihood is sure of the wrong thing here.
    assert coverage(never_or_beta, mu, 100, 50, trials=150, method="beta-binomial") < 0.6


@pytest.mark.shared
def test_coverage_on_questions_of_math500():
    """Guarantee by simulation: 30 questions drawn from the 500 of a benchmark whose means are the truth."""
    if not SHARED.is_dir():
        pytest.skip("the tables of ../shared/data/all_the_noises are not here")
    from howsure.rows.table import read_cells

    [cells] = read_cells(SHARED / "input_table_math500_cot.csv")
    found = [
        coverage(lambda rng, size, p=p: rng.choice(p, size), p.mean(), 30, k, trials=200)
        for p in cells.mean[::12]
        for k in (1, 10, 100)
    ]
    assert np.mean(found) > 0.94
    assert min(found) > 0.87
