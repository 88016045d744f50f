"""P(correct), its density and stability, Beta curves, the 1PL model, Kendall's tau: scipy, slow versions, simulation."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers.strategies import score_grids
from hypothesis import example, given, settings
from oracles import difficulty as slow
from scipy import optimize, special, stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells
from howsure.stats.questions.difficulty import (
    estimate_density,
    estimate_p_correct,
    estimate_stability,
    evaluate_beta_curves,
)
from howsure.stats.questions.items import compute_question_tau, fit_one_parameter
from howsure.stats.scores.beta import fit_beta

PUBLISHED = Path(__file__).parents[3] / "bench" / "data" / "published_results.npz"


def counted(correct, n):
    total = np.asarray(correct, float)
    names = (tuple(f"{letter}{i}" for i in range(size)) for letter, size in zip("mq", total.shape, strict=True))
    return Cells("counted", *names, np.broadcast_to(np.asarray(n), total.shape).copy(), total, total)


def drawn(rng, p, k):
    return counted(rng.binomial(k, p), k)


def cells_of(grid):
    return Cells.from_scores("g", [f"m{i}" for i in range(len(grid))], [f"q{j}" for j in range(len(grid[0]))], grid)


# ---- P(correct)


def test_p_correct_under_the_fitted_prior_is_the_slow_one():
    """A slow version written differently, at the fit's parameters; missing questions stay unknown."""
    rng = np.random.default_rng(1)
    n = rng.integers(0, 9, (2, 30))
    n[0, :2] = [0, 5]
    cells = counted(rng.binomial(n, rng.beta(0.7, 0.9, (2, 30))), n)
    fit = fit_beta(cells)
    found = estimate_p_correct(cells, prior="fitted", level=0.8)
    columns = found.columns()
    assert columns["note"][0] == "no generation"
    assert np.isnan([columns[name][0] for name in ("score", "p_correct", "low", "high", "logit")]).all()
    for j in range(1, 30):
        if n[0, j]:
            arguments = int(cells.total[0, j]), int(n[0, j]), fit.a[0], fit.b[0]
            assert found.p_correct[0, j] == pytest.approx(slow.posterior_mean(*arguments))
            expected = slow.posterior_interval(*arguments, 0.8)
            assert (columns["low"][j], columns["high"][j]) == pytest.approx(expected, abs=1e-9)
    assert columns["model"][31] == "m1"
    assert columns["question"][31] == "q1"
    assert columns["level"].tolist() == [0.8] * 60
    assert special.expit(columns["logit"][31]) == pytest.approx(columns["p_correct"][31])


def test_a_model_whose_prior_is_unknown_says_so():
    columns = estimate_p_correct(counted([[0, 0, 0]], 4), prior="fitted").columns()
    assert columns["note"].tolist() == ["Jeffreys' prior: the data do not know the model's own"] * 3
    assert columns["p_correct"].tolist() == pytest.approx([0.1] * 3)
    with pytest.raises(UnknownNameError, match="unknown prior 'flat'"):
        estimate_p_correct(counted([[1]], 2), prior="flat")
    with pytest.raises(InputError, match=r"P\(correct\) needs scores of 0 and 1"):
        estimate_p_correct(cells_of([[[0.5]]]), prior="uniform")


def posterior_by_integration(correct, n, c, k):
    """Posterior mean and 95 % limits of a question with c of k, on a brute-force grid of (mean, correlation) of all."""
    m = np.sin((np.arange(400) + 0.5) / 400 * math.pi / 2)[:, None] ** 2  # Jeffreys' prior: the angle is uniform
    r = (np.arange(400) + 0.5) / 400
    a, b = m * (1 / r - 1), (1 - m) * (1 / r - 1)
    weight = np.log1p(-r) + sum(stats.betabinom.logpmf(x, y, a, b) for x, y in zip(correct, n, strict=True))
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    laws = stats.beta(a + c, b + k - c)
    limits = [
        optimize.brentq(lambda x, tail=tail: np.sum(weight * laws.cdf(x)) - tail, 0, 1) for tail in (0.025, 0.975)
    ]
    return [np.sum(weight * laws.mean()), *limits]


@pytest.mark.long
def test_the_hierarchical_posterior_is_that_of_brute_force():
    """Another way: integration over 160,000 pairs of parameters, with scipy's Beta-binomial law."""
    correct, n = [0, 3, 5, 1, 4, 2, 5, 4], [4, 5, 5, 3, 4, 5, 5, 4]
    cells = counted([[*correct, 0]], [[*n, 0]])
    found = estimate_p_correct(cells)
    for j in (0, 1, 2, 3):
        mean, low, high = posterior_by_integration(correct, n, correct[j], n[j])
        low, high = (0 if correct[j] == 0 else low), (1 if correct[j] == n[j] else high)
        assert found.p_correct[0, j] == pytest.approx(mean, abs=0.003)
        assert (found.low[0, j], found.high[0, j]) == pytest.approx((low, high), abs=0.006)
    assert found.columns()["note"].tolist() == [""] * 8 + ["no generation"]
    assert np.isnan(found.low[0, 8])


def test_hierarchical_posteriors_where_little_is_known():
    one = estimate_p_correct(counted([[1, 0, 1], [0, 0, 0]], [[1, 1, 1], [0, 0, 0]]))
    assert "how much questions differ is unknown" in one.columns()["note"][0]
    assert one.columns()["note"][3:].tolist() == ["no generation"] * 3
    assert np.isnan(one.p_correct[1]).all()
    never = estimate_p_correct(counted([[0, 0, 0]], 4))
    assert never.low.tolist() == [[0, 0, 0]]
    assert 0 < never.p_correct[0, 0] < never.high[0, 0] < 0.5
    nobody = estimate_p_correct(counted([[0, 0]], 0))
    assert np.isnan(nobody.p_correct).all()
    # beyond 30 generations the parameters are taken at their mean: hardly a difference
    rng = np.random.default_rng(3)
    p = rng.beta(0.6, 0.9, 40)
    near, far = (estimate_p_correct(counted([[*rng.binomial(k, p)]], k)) for k in (30, 31))
    assert np.mean(far.high - far.low) == pytest.approx(np.mean(near.high - near.low), rel=0.05)


@pytest.mark.parametrize("k", [2, 5])
def test_p_correct_of_published_results_covers(k):
    """Guarantee on published data: k of the 1,100 generations of 30 questions, question means as the truth."""
    with np.load(PUBLISHED) as data:
        n, total = data["aime2024_cot/n"].astype(int), data["aime2024_cot/total"].astype(int)
    many = np.all(n >= 1000, axis=1)
    n, total = n[many], total[many]
    rng = np.random.default_rng(6)
    covered, fitted = [], []
    for _ in range(3):
        cells = counted(rng.hypergeometric(total, n - total, k), k)
        for shares, prior in ((covered, "hierarchical"), (fitted, "fitted")):
            found = estimate_p_correct(cells, prior=prior)
            shares.append(np.mean((found.low <= total / n) & (total / n <= found.high), axis=1))
    assert np.mean(covered) == pytest.approx(0.96, abs=0.02)
    assert np.mean(covered, axis=0).min() > 0.8  # the worst model
    assert np.mean(fitted) < 0.6  # why it is not the default


# ---- density and stability


def test_density_is_the_mean_of_the_posteriors():
    """Another program: scipy's Beta law of each question, summed."""
    cells = counted([[0, 3, 5, 0]], [[4, 5, 5, 0]])
    found = estimate_density(cells, bins=7, prior="uniform")
    edges = np.linspace(0, 1, 8)
    laws = [stats.beta(c + 1, k - c + 1) for c, k in ((0, 4), (3, 5), (5, 5))]
    np.testing.assert_allclose(found.mass[0], np.diff(np.mean([law.cdf(edges) for law in laws], axis=0)), atol=1e-12)
    columns = found.columns()
    assert columns["density"] == pytest.approx(found.mass[0] * 7)
    assert columns["from"][1] == columns["to"][0] == pytest.approx(1 / 7)
    ends = estimate_stability(cells, margin=0.2, prior="uniform").columns()
    assert ends["near_0"][0] == pytest.approx(np.mean([law.cdf(0.2) for law in laws]))
    assert ends["near_1"][0] == pytest.approx(np.mean([law.sf(0.8) for law in laws]))
    assert ends["stability"][0] == pytest.approx(ends["near_0"][0] + ends["near_1"][0])


def test_stability_from_few_generations_is_that_of_the_truth():
    """Guarantee by simulation: 3 generations tell the mass near 0 and 1 that shares of 0/3 and 3/3 overstate."""
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 0.5, (3, 4000))
    cells = drawn(rng, p, 3)
    found = estimate_stability(cells, margin=0.1)
    true = np.mean((p <= 0.1) | (p >= 0.9), axis=1)
    assert found.near_0 + found.near_1 == pytest.approx(true, abs=0.04)
    plain = [slow.mass_near_ends(row, 0.1) for row in cells.mean]
    assert min(plain - true) > 0.15


@settings(max_examples=40)
@given(score_grids(kind="binary"))
def test_densities_sum_to_one(grid):
    cells = cells_of(grid)
    for method in ("posterior", "kernel"):
        found = estimate_density(cells, bins=9, method=method)
        np.testing.assert_allclose(found.mass.sum(axis=1), 1)
        assert np.all(found.mass >= -1e-12)


def test_the_kernel_density_by_hand():
    """Theory: Gaussian kernels of Scott's width, what leaves [0, 1] is folded back."""
    p = np.array([0.0, 0.5, 0.9, 1.0])
    width = p.std(ddof=1) * 4**-0.2
    edges = np.linspace(0, 1, 5)

    def mass(low, high):
        folded = [(low, high), (-high, -low), (2 - high, 2 - low)]
        return np.mean([sum(stats.norm.cdf(b, x, width) - stats.norm.cdf(a, x, width) for a, b in folded) for x in p])

    expected = np.array([mass(a, b) for a, b in pairwise(edges)])
    found = estimate_density(counted([[0, 5, 9, 10]], 10), bins=4, method="kernel")
    np.testing.assert_allclose(found.mass[0], expected / expected.sum(), atol=1e-12)


def test_densities_say_what_is_wrong():
    cells = counted([[1, 0], [0, 0]], [[2, 2], [0, 0]])
    assert estimate_density(cells, bins=2).columns()["note"].tolist() == ["", "", "no scores", "no scores"]
    assert estimate_density(cells, bins=1, method="kernel").mass[0].tolist() == [1]
    assert np.isnan(estimate_density(cells, method="kernel").mass[1]).all()
    assert estimate_stability(cells).columns()["note"].tolist() == ["", "no scores"]
    assert estimate_density(counted([[1]], 2), bins=2, method="kernel").mass[0] == pytest.approx([0.5, 0.5])
    with pytest.raises(InputError, match="bins is 0"):
        estimate_density(cells, bins=0)
    with pytest.raises(UnknownNameError, match="did you mean 'kernel'"):
        estimate_density(cells, method="kernal")
    with pytest.raises(InputError, match=r"margin is 0.6; allowed: above 0 up to 0.5"):
        estimate_stability(cells, margin=0.6)


# ---- the fit beside the data


def test_curves_by_scipy():
    """Another program: scipy's betabinom for what the fit lets expect; the share of means at or below by counting."""
    rng = np.random.default_rng(3)
    n = rng.integers(0, 7, (2, 50))
    p = rng.beta(1, 1, (2, 50)) * (rng.random((2, 50)) > 0.4)
    cells = counted(rng.binomial(n, p), n)
    fit = fit_beta(cells, zero=True)
    x = [0, 0.2, 1 / 3, 0.5, 1]
    found = evaluate_beta_curves(cells, fit, x)
    for i in range(2):
        used = n[i] > 0
        for j, point in enumerate(x):
            assert found.empirical[i, j] == pytest.approx(np.mean(cells.mean[i, used] <= point + 1e-12))
            below = stats.betabinom.cdf(np.floor(point * n[i, used] + 1e-9), n[i, used], fit.a[i], fit.b[i])
            assert found.expected[i, j] == pytest.approx(np.mean(fit.zero[i] + (1 - fit.zero[i]) * below))
            whole = fit.zero[i] + (1 - fit.zero[i]) * stats.beta.cdf(point, fit.a[i], fit.b[i])
            assert found.fitted[i, j] == pytest.approx(whole)
    assert found.distance == pytest.approx(np.abs(found.empirical - found.expected).max(axis=1))
    assert found.columns()["p"].tolist() == x * 2
    assert evaluate_beta_curves(cells, fit).points == pytest.approx([i / 100 for i in range(101)])
    unknown = counted([[0, 0]], 3)
    assert set(evaluate_beta_curves(unknown, fit_beta(unknown)).columns()["note"]) == {"no Beta fit"}
    with pytest.raises(InputError, match="the fit is of other models"):
        evaluate_beta_curves(unknown, fit)


# ---- the 1PL model


def test_one_model_alone_is_p_correct_on_another_scale():
    """Theory, GEN appendix B: difficulty = -logit of p, that of maximum likelihood as pseudo goes to 0."""
    cells = counted([[0, 3, 5, 0]], [[5, 5, 5, 0]])
    found = fit_one_parameter(cells)
    assert found.difficulty == pytest.approx(
        [-math.log(0.5 / 5.5), -math.log(3.5 / 2.5), -math.log(11), math.nan], nan_ok=True
    )
    assert found.se[1] == pytest.approx(math.sqrt(1 / (6 * (3.5 / 6) * (2.5 / 6))))
    assert found.ability.tolist() == [0]
    assert found.columns()["note"].tolist() == ["", "", "", "no scores"]
    assert fit_one_parameter(cells, pseudo=1e-9).difficulty[1] == pytest.approx(-math.log(3 / 2))


def test_the_joint_fit_by_scipy():
    """Another program: scipy's minimiser on the same likelihood; standard errors by the inverse Hessian."""
    rng = np.random.default_rng(4)
    n = rng.integers(0, 5, (3, 8))
    n[:, 0] = 3
    cells = counted(rng.binomial(n, 0.6), n)
    found = fit_one_parameter(cells)
    share = 0.5 / np.maximum((n > 0).sum(axis=0), 1) * (n > 0)

    def minus_log_likelihood(x):
        odds = np.r_[x[:2], -x[:2].sum()][:, None] - x[2:]
        right, wrong = cells.total + share, n - cells.total + share
        return np.sum(right * np.logaddexp(0, -odds) + wrong * np.logaddexp(0, odds))

    best = optimize.minimize(minus_log_likelihood, np.zeros(10), method="BFGS", options={"gtol": 1e-8})
    assert found.ability[:2] == pytest.approx(best.x[:2], abs=1e-5)
    assert found.difficulty == pytest.approx(best.x[2:], abs=1e-5)
    step = 1e-4
    axes = step * np.eye(10)
    hessian = np.array(
        [
            [
                minus_log_likelihood(best.x + u + v) - minus_log_likelihood(best.x + u - v)
                - minus_log_likelihood(best.x - u + v) + minus_log_likelihood(best.x - u - v)
                for v in axes
            ]
            for u in axes
        ]
    ) / (4 * step**2)  # fmt: skip
    assert found.se == pytest.approx(np.sqrt(np.diag(np.linalg.inv(hessian)))[2:], rel=1e-3)


def test_one_model_whose_information_is_rounding_has_errors():
    """Theory: of one model alone, se is 1/sqrt(n p (1 - p)); eight questions once gave the root of a negative number."""
    found = fit_one_parameter(counted([[0, 0, 0, 1, 0, 1, 1, 0]], 2))
    p = (np.array([0, 0, 0, 1, 0, 1, 1, 0]) + 0.5) / 3
    assert found.se == pytest.approx(1 / np.sqrt(3 * p * (1 - p)))


@settings(max_examples=60, deadline=None)
@given(score_grids(kind="binary"))
def test_the_joint_fit_is_a_maximum_on_nasty_grids(grid):
    """Theory: right answers, with the pseudo ones, are as many as expected, for each question and each model."""
    cells = cells_of(grid)
    found = fit_one_parameter(cells)
    share = cells.answered * 0.5 / np.maximum(cells.answered.sum(axis=0), 1)
    expected = np.nan_to_num((cells.n + 2 * share) * special.expit(found.ability[:, None] - found.difficulty))
    if found.n_scales == 1:
        for axis in (0, 1):
            np.testing.assert_allclose(expected.sum(axis=axis), (cells.total + share).sum(axis=axis), atol=1e-6)


def test_difficulties_are_found_and_their_errors_cover():
    """Guarantee by simulation: 6 models, 300 questions, 20 generations."""
    rng = np.random.default_rng(5)
    ability, hard = np.linspace(-1, 1, 6), rng.normal(0, 1, 300)
    found = fit_one_parameter(drawn(rng, special.expit(ability[:, None] - hard), 20))
    assert found.ability == pytest.approx(ability, abs=0.15)
    off = (found.difficulty - hard) / found.se
    assert np.mean(np.abs(off) < 1.96) == pytest.approx(0.95, abs=0.04)


def test_scales_extremes_and_bad_input():
    apart = counted([[1, 2, 0, 0], [0, 0, 2, 2]], [[2, 2, 0, 0], [0, 0, 2, 2]])
    found = fit_one_parameter(apart)
    assert found.n_scales == 2
    assert "own scale" in found.columns()["note"][0]
    assert np.isfinite(found.difficulty).all()
    assert found.ability == pytest.approx([0, 0])
    missing = fit_one_parameter(counted([[1, 2], [0, 0]], [[2, 2], [0, 0]]))
    assert missing.n_scales == 1
    assert np.isnan(missing.ability[1])
    with pytest.raises(InputError, match="pseudo is 0"):
        fit_one_parameter(apart, pseudo=0)
    with pytest.raises(InputError, match="the 1PL model needs scores of 0 and 1"):
        fit_one_parameter(cells_of([[[0.5]]]))


# ---- Kendall's tau of a question


@settings(max_examples=60, deadline=None)
@given(score_grids(min_models=2, kind="binary"))
@example([[[0, 1, 1], [0, 0, 0]], [[0], []], [[0], [0]], [[0, 0, 0, 0, 1, 1], []]])  # equal abilities of unequal sums
def test_tau_with_the_question_among_the_ability_is_the_slow_one(grid):
    """A slow version written differently: pair by pair."""
    found = compute_question_tau(cells_of(grid), ability="all")
    for j, tau in enumerate(found.tau):
        assert tau == pytest.approx(slow.question_tau(grid, j), nan_ok=True)


def test_tau_and_p_value_by_scipy():
    """Another program: scipy's kendalltau, asymptotic, with ties; ability over the other questions."""
    rng = np.random.default_rng(6)
    cells = drawn(rng, special.expit(rng.normal(0, 1, (12, 1)) - rng.normal(0, 1, 9)), 4)
    found = compute_question_tau(cells)
    for j in range(9):
        others = np.delete(cells.mean, j, axis=1).mean(axis=1)
        expected = stats.kendalltau(cells.mean[:, j], others.round(12), method="asymptotic")
        assert (found.tau[j], found.p_value[j]) == pytest.approx((expected.statistic, expected.pvalue))
    columns = found.columns()
    assert np.all(np.diff(columns["tau"]) >= 0)
    assert columns["score"][0] == pytest.approx(cells.mean.mean(axis=0)[np.argmin(found.tau)])


def test_a_wrong_label_has_the_lowest_tau():
    """Guarantee by simulation: of 40 questions, one is scored the wrong way round."""
    rng = np.random.default_rng(7)
    p = special.expit(np.linspace(-2, 2, 15)[:, None] - rng.normal(0, 0.7, 40))
    p[:, 11] = 1 - p[:, 11]
    columns = compute_question_tau(drawn(rng, p, 10)).columns()
    assert columns["question"][0] == "q11"
    assert columns["tau"][0] < -0.5
    assert columns["p_value"][0] < 0.01


def test_what_tau_cannot_say():
    note = compute_question_tau(counted([[1, 1, 0], [0, 1, 0]], [[2, 1, 0], [2, 1, 0]])).columns()["note"]
    assert note.tolist() == ["all models alike on this question or on the others"] * 2 + [
        "fewer than two models to compare"
    ]
    assert np.isnan(compute_question_tau(counted([[1], [0]], 2)).tau[0])  # no other question to tell ability by
    with pytest.raises(UnknownNameError, match="unknown ability"):
        compute_question_tau(counted([[1], [0]], 2), ability="some")


def test_an_unknown_prior_is_refused():
    with pytest.raises(UnknownNameError, match="unknown prior 'flat'"):
        estimate_stability(Cells.from_scores("b", ["a"], ["p"], [[[1, 0]]]), prior="flat")
