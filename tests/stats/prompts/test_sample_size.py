"""How many prompt variants are enough: n* as published, exactly and by seeded orders, and for the space itself."""

import math
from itertools import combinations

import numpy as np
import pytest
from helpers.long_cases import mark_long
from oracles import variants as oracle

from howsure.errors import InputError
from howsure.stats.core.cube import Cube
from howsure.stats.prompts import subset_moments
from howsure.stats.prompts.moments import summarize_variants
from howsure.stats.prompts.sample_size import check_proxy, required_for_space, required_variants
from howsure.stats.prompts.subset_moments import deviation_chance, draw_orders, find_required_sizes


@pytest.mark.parametrize("seed", mark_long(range(4), after=1))
def test_against_all_subsets(seed):
    """A slow version: every subset of every size."""
    x = np.random.default_rng(seed).normal(0.6, 0.03, 11)
    for epsilon in (0.011, 0.0005):
        ours = required_variants(("m",), x, epsilon=epsilon)
        assert ours.n_star[0].tolist() == oracle.n_star(x.tolist(), epsilon, 0.1)
        assert ours.exact.all()


def test_the_exact_law_of_the_mean_agrees_with_enumeration_and_orders():
    """A slow version for 20 counts, and seeded orders within their error for 100."""
    x = np.random.default_rng(1).integers(40, 70, 20) / 100
    order = draw_orders(20, 400, 0)
    counts = subset_moments._as_counts(x)
    law, exact = np.zeros(20), np.zeros(20, dtype=bool)
    subset_moments._set_exact_means(law, exact, np.arange(1, 20), *counts, 0.02)
    slow = [np.mean([abs(np.mean(s) - x.mean()) > 0.02 + 1e-12 for s in combinations(x, n)]) for n in (1, 3, 5, 16, 19)]
    assert law[[0, 2, 4, 15, 18]] == pytest.approx(slow, abs=1e-12)
    big = np.random.default_rng(2).integers(50, 65, 100) / 100
    far, known = deviation_chance(big, draw_orders(100, 20_000, 0), 0.01, 0.05)
    rough = np.mean(
        np.abs(np.cumsum(big[draw_orders(100, 20_000, 3)], axis=1) / np.arange(1, 101) - big.mean()) > 0.01, axis=0
    )
    assert np.abs(far[0] - rough).max() < 0.02
    assert known[0].any()
    assert order.shape == (400, 20)


@pytest.mark.parametrize(("sd", "published", "space"), [(0.02, 13, 16), (0.03, 26, 35), (0.05, 48, 97)])
def test_the_bias_of_the_published_number(sd, published, space):
    """A table of the design: N = 100."""
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (12, 100))
    x = 0.5 + sd * (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, ddof=1, keepdims=True)
    ours = required_variants(tuple(map(str, range(12))), x)
    assert ours.n_star[:, 0].mean() == pytest.approx(published, abs=1.5)
    assert set(ours.n_star_space[:, 0]) == {space}
    low, high = ours.space_limits()
    assert np.all((low <= ours.n_star_space) & (ours.n_star_space <= high))


@pytest.mark.long
def test_the_number_for_the_space_with_and_without_noise():
    """Guarantee by simulation: prompts of sd .02, 50 questions of one generation; each number keeps its own promise."""
    rng = np.random.default_rng(3)
    M, N, S = 80, 50, 80
    of_question, of_variant = rng.beta(2, 2, (M, N, 1)), rng.normal(0, 0.02, (M, 1, S))
    y = (rng.random((M, N, S)) < np.clip(of_question + of_variant, 0, 1)).astype(float)
    cube = Cube("b", *(tuple(map(str, range(size))) for size in y.shape), np.ones(y.shape, int), y, y)
    found = summarize_variants(cube).sample_size
    plain, corrected = found.n_star_space[:, 0], found.n_star_space_corrected[:, 0]
    # theory: each score adds mean p(1-p)/50 to .02^2
    of_score = 0.02**2 + np.mean(of_question * (1 - of_question)) / N
    assert np.mean(plain) == pytest.approx(required_for_space(of_score, 0.01, 0.1), rel=0.06)
    assert np.mean(plain) > 8 * 16
    # 16 are needed of noise-free scores; where the variants' variance is lost in the noise, the note says so
    assert np.mean((found.corrected_low[:, 0] <= 16) & (found.corrected_high[:, 0] >= 16)) > 0.9
    lost = np.isnan(corrected)
    assert np.median(corrected[~lost]) < 50
    assert 0 < np.sum(lost) < M
    notes = found.columns()["note"].reshape(M, 2)[:, 0]
    assert all(("differ by no more than the noise" in note) == gone for note, gone in zip(notes, lost, strict=True))
    table = summarize_variants(cube).columns()
    assert table["n_star_space_corrected"] == pytest.approx(np.fmax(*found.n_star_space_corrected.T), nan_ok=True)


def test_the_corrected_number_is_that_of_the_space_from_more_questions():
    """Guarantee by simulation: 300 questions of three generations, sd .03, which take 35; intervals cover."""
    rng = np.random.default_rng(4)
    M, N, S, k = 30, 300, 40, 3
    p = np.clip(rng.beta(2, 2, (M, N, 1)) + rng.normal(0, 0.03, (M, 1, S)), 0, 1)
    total = rng.binomial(k, p).astype(float)
    cube = Cube("b", *(tuple(map(str, range(size))) for size in p.shape), np.full(p.shape, k), total, total)
    found = summarize_variants(cube).sample_size
    assert np.mean(found.n_star_space_corrected[:, 0]) == pytest.approx(35, rel=0.1)
    assert np.mean(found.n_star_space[:, 0]) > 40
    covered = (found.corrected_low[:, 0] <= 35) & (found.corrected_high[:, 0] >= 35)
    assert np.mean(covered) > 0.85
    # of normal variants the variance needs 2 sd^4, which is one variant for an epsilon of .01
    assert found.n_star_space_corrected[:, 1].tolist() == [1] * M


def test_corrected_numbers_need_one_variance_for_each_model():
    with pytest.raises(InputError, match=r"variance and limits have shapes \(2,\), \(1,\) and \(1,\)"):
        required_variants(("m",), [[0.5, 0.6]], variance=[0.1, 0.2])


def test_variants_that_do_not_matter_need_one_and_a_variance_two():
    result = required_variants(("same", "wild"), [[0.5] * 20, [0, 1] * 10])
    assert result.n_star[0].tolist() == [1, 2]
    columns = result.columns()
    assert columns["moment"].tolist() == ["mean", "variance"] * 2
    flat, unknown = columns["note"][0].split("; ")
    assert flat == "no two variants differ in score, which is no certainty: no interval"
    assert unknown == "n_star_space_corrected is unknown: what questions add to the noise of each score is not known"
    assert np.isnan(columns["low"]).tolist() == [True, True, False, True]  # 0 and 1: no variance of the variance
    assert "no smaller number of these variants" in columns["note"][2] or "biased low" in columns["note"][2]


def test_not_reached_is_said():
    """Theory: at n = N the deviation is 0 by construction."""
    result = required_variants(("wild",), [[0.1, 0.9, 0.4]])
    assert result.n_star[0, 0] == 3
    assert not result.reached[0, 0]
    assert "no smaller number" in result.note[0, 0]
    assert "for the whole space more" in result.note[0, 0]


def test_the_interval_of_what_the_space_needs():
    """A slow version: Bonett's limits of the variance, and the jackknife of what the variance needs."""
    x = np.random.default_rng(7).normal(0.5, 0.15, 14).tolist()
    result = required_variants(("m", "two", "three"), [x, x[:2] + [np.nan] * 12, x[:3] + [np.nan] * 11])
    low, high = result.space_limits(0.9)
    for j, limits in enumerate((oracle.variance_limits, oracle.spread_limits)):
        assert (low[0, j], high[0, j]) == tuple(required_for_space(limits(x, 0.9), 0.01, 0.1))
    assert result.n_star_space[0, 0] == np.ceil(1.959964**2 * np.var(x, ddof=1) / 0.01**2)
    assert np.isnan(result.n_star_space).tolist() == [[False, False], [False, True], [False, False]]
    assert np.isnan(low).tolist() == [[False, False], [False, True], [False, True]]
    assert "two variants say nothing of how the variance varies" in result.note[1, 1]
    outlier = required_variants(("m",), [[0.5, 0.51] * 10 + [0.9]])
    assert np.isnan(outlier.space_limits()[1][0]).tolist() == [False, True]


def test_no_interval_leaves_out_its_number():
    """Scores in two narrow groups: m4 - sd^4 is nearly 0, and the jackknife moved the interval away from it."""
    rng = np.random.default_rng(2)
    x = np.where(np.arange(12) % 2, 0.33, 0.8) + rng.normal(0, 0.035, (40, 12))
    size = required_variants(tuple(map(str, range(40))), x)
    low, high = size.space_limits()
    known = ~np.isnan(low)
    assert np.all((low <= size.n_star_space) & (size.n_star_space <= high) | ~known)
    assert known[:, 0].all()
    assert not known[:, 1].all()


def test_missing_and_single_variants():
    result = required_variants(("one", "some", "none"), [[0.5, np.nan, np.nan], [0.5, 0.6, np.nan], [np.nan] * 3])
    assert result.n_variants.tolist() == [1, 2, 0]
    assert np.isnan(result.n_star[[0, 2]]).all()
    assert "how many are enough is unknown" in result.note[0, 0]
    assert np.isnan(result.columns()["n_star"][0])


def test_convergence_falls_to_nothing():
    result = required_variants(("m",), np.random.default_rng(0).normal(0, 0.1, 30))
    curve = result.convergence("m")
    assert curve.shape == (2, 30)
    assert curve[:, -1] == pytest.approx([0, 0], abs=1e-12)
    first = np.flatnonzero(curve[0] <= 0.01)[0] + 1
    assert abs(first - result.n_star[0, 0]) <= 1


def test_proxy_bounds_only_a_steadier_model():
    """Theory: half the spread needs fewer variants, twice the spread more."""
    x = np.random.default_rng(0).normal(0, 1, 60)
    result = required_variants(("cheap", "calm", "wild"), [0.5 + 0.03 * x, 0.5 + 0.015 * x, 0.5 + 0.06 * x])
    calm, wild = check_proxy(result, "cheap", "calm"), check_proxy(result, "cheap", "wild")
    assert calm.bounded
    assert calm.n_star_costly < calm.n_star_cheap < wild.n_star_costly
    assert not wild.bounded
    assert wild.chance > 0.05
    apart = np.full((2, 60), np.nan)
    apart[0, :40], apart[1, 20:] = 0.5 + 0.03 * x[:40], 0.5 + 0.015 * x[20:]
    part = check_proxy(required_variants(("cheap", "calm"), apart), "cheap", "calm")
    common = required_variants(("cheap", "calm"), apart[:, 20:40])
    assert (part.n_variants, part.n_star_cheap, part.n_star_costly) == (20, *common.n_star.max(axis=1))
    assert (part.n_variants_cheap, calm.n_variants_cheap) == (40, 60)
    with pytest.raises(InputError, match="no model 'x'; known: cheap"):
        check_proxy(result, "cheap", "x")
    with pytest.raises(InputError, match="a and b have fewer than two variants in common"):
        check_proxy(required_variants(("a", "b"), [[1.0], [2.0]]), "a", "b")


def test_space_size_of_nothing():
    assert required_for_space(0.0, 0.01, 0.1) == 1


def test_wrong_use():
    with pytest.raises(InputError, match=r"scores have shape \(1, 3\); allowed: finite or NaN, .* = \(2, any\)"):
        required_variants(("a", "b"), [[1, 2, 3]])
    for name, value in (("epsilon", 0), ("delta", 1), ("draws", 0)):
        with pytest.raises(InputError, match=f"{name} is {value}; allowed"):
            required_variants(("a",), [[1, 2]], **{name: value})


@pytest.mark.parametrize("seed", range(24))
def test_required_sizes_are_those_from_which_all_are_sufficient(seed):
    """Leaving out sizes that the orders exclude gives the size that all probabilities, computed one by one, give."""
    rng = np.random.default_rng(seed)
    N, K = int(rng.integers(2, 40)), int(rng.integers(5, 200))
    x = rng.binomial(K, rng.uniform(0.45, 0.55, N)) / K if seed % 2 else rng.normal(0.5, 10 ** rng.uniform(-3, -0.7), N)
    order, epsilon = draw_orders(N, 1000, seed), 10 ** rng.uniform(-2.5, -1.3)
    far, exact = deviation_chance(x, order, epsilon, 0.05)
    first = [max(next(n for n in range(N) if np.all(far[i, n:] <= 0.05)), min(i, N - 1)) for i in range(2)]
    sizes, are_exact = find_required_sizes(x, order, epsilon, 0.05)
    assert sizes.tolist() == [n + 1 for n in first]
    assert are_exact.tolist() == [exact[i, n] for i, n in enumerate(first)]


def test_a_curve_that_leaves_the_band_again_is_not_sufficient_before():
    """By hand: of 19 equal scores and one far off, the variance .0475 of one and two values is 0, near .0475."""
    x = np.array([0.0] * 19 + [1.0])
    size = required_variants(("m",), x, epsilon=0.05)
    assert size.moment[0, 1] == pytest.approx(0.0475)
    # two values: variance 0 (deviation .0475, near) or .25 with probability 2/20 = .1 > .05: far, so n = 1 was no answer
    assert size.n_star[0, 1] > 2
    assert size.exceeds_variance.tolist() == [True]
    assert "epsilon is as large as the variance" in size.columns()["note"][1]
    assert "epsilon is as large" not in size.columns()["note"][0]


def test_a_model_with_one_variant_does_not_end_the_search():
    """By hand: the first model has one score, of the second |.4 - .5| > .05 until both variants are taken."""
    size = required_variants(("one", "two"), [[0.5, np.nan], [0.4, 0.6]], epsilon=0.05)
    assert size.n_variants.tolist() == [1, 2]
    assert np.isnan(size.n_star[0]).all()
    assert size.n_star[1, 0] == 2
    assert size.moment.tolist() == [[0.5, 0.0], [0.5, pytest.approx(0.01)]]


def test_equal_scores_have_no_unit_and_many_large_counts_take_the_orders():
    assert subset_moments._as_counts(np.full(5, 0.3)) is None
    x = np.random.default_rng(1).integers(0, 10**6, 400) / 10**6
    far, exact = np.full(400, 0.5), np.zeros(400, dtype=bool)
    subset_moments._set_exact_means(far, exact, np.arange(1, 400), *subset_moments._as_counts(x), 0.01)
    assert not exact.any()
    assert (far == 0.5).all()


def test_sizes_that_the_orders_leave_open_are_computed_exactly():
    """Of counts over 60 prompts: all sizes with few subsets, and for the mean those within five standard errors of 5 %."""
    rng = np.random.default_rng(2)
    x = rng.binomial(40, 0.5, 60) / 40
    order, chance = draw_orders(60, 400, 3), 0.05
    far, exact = deviation_chance(x, order, 0.02, chance)
    is_enumerated = np.array([math.comb(60, n) * n <= 500_000 for n in range(1, 61)])
    error = 5 * math.sqrt(chance * (1 - chance) / 400) + 1 / 400
    centered = x - x.mean()
    by_orders = np.array([np.mean(np.abs(centered[order[:, :n]].mean(axis=1)) > 0.02 + 1e-12) for n in range(1, 61)])
    is_open = ~is_enumerated & (np.abs(by_orders - chance) <= error)
    assert 0 < is_open.sum() < (~is_enumerated).sum()
    assert exact.tolist() == [(is_enumerated | is_open).tolist(), is_enumerated.tolist()]
    decided = ~is_enumerated & ~is_open
    assert far[0, decided] == pytest.approx(by_orders[decided])
