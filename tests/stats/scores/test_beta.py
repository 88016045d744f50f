"""Beta fits, posteriors of questions and of the mean: scipy, slow versions, printed theory, guarantees by simulation."""

import math
from pathlib import Path

import numpy as np
import pytest
from helpers.long_cases import mark_long
from helpers.strategies import score_grids
from hypothesis import given
from oracles import difficulty as slow
from scipy import integrate, optimize, stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells
from howsure.stats.scores.beta import (
    expected_error,
    fit_beta,
    independent_error,
    pool_by_score,
    posterior,
    require_binary,
)
from howsure.stats.scores.beta_likelihood import LIMITS, distinct_counts, make_beta_grid

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
