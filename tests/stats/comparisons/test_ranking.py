"""Ranks, rank sets, chances of order: slow versions, scipy, theory, a joint guarantee by simulation."""

import itertools
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.strategies import score_grids
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import ranking as slow
from scipy import stats

import howsure as hs
from howsure.errors import UnknownNameError
from howsure.notes import list_warned
from howsure.stats.comparisons.pairs import pairs
from howsure.stats.comparisons.ranking import (
    chance_best,
    count_moved_models,
    fit_common_scores,
    list_reversed,
    range_ranks,
    rank,
    wrong_order,
)
from howsure.stats.core.cells import Cells
from howsure.stats.core.intervals import compute_normal_error
from howsure.stats.scores.score import score


def cells_of(grid):
    return Cells.from_scores("g", [f"m{i}" for i in range(len(grid))], [f"q{j}" for j in range(len(grid[0]))], grid)


def counted(correct, n):
    total = np.asarray(correct, float)
    names = (tuple(f"{letter}{i}" for i in range(size)) for letter, size in zip("mq", total.shape, strict=True))
    return Cells("counted", *names, np.broadcast_to(np.asarray(n), total.shape).copy(), total, total)


def in_order(result):
    """Columns in the order of the models."""
    columns = result.columns()
    order = [columns["model"].tolist().index(model) for model in result.compared.models]
    return {name: values[order] for name, values in columns.items()}


# ---- chance of an order


@settings(max_examples=60, deadline=None)
@given(score_grids(min_models=2, max_models=4))
def test_chances_of_a_wrong_order_are_the_slow_ones(grid):
    """A slow version written differently, with k generations."""
    cells = cells_of(grid)
    compared = pairs(cells)
    wrong = {k: wrong_order(compared, k) for k in (1, 7)}
    for row, (i, j) in enumerate(zip(compared.a.tolist(), compared.b.tolist(), strict=True)):
        a, b = grid[i], grid[j]
        if sum(bool(x and y) for x, y in zip(a, b, strict=True)) < 2:  # one question says nothing of the spread
            assert np.isnan(compared.variance[row])
            continue
        for k, (ses, p_wrong) in wrong.items():
            difference, se = slow.difference_and_se(a, b, paired=True, k=k)
            if not math.isnan(se):
                assert ses[row] ** 2 == pytest.approx(se**2, rel=1e-8, abs=1e-12)
            if se > 1e-7 and abs(difference) > 1e-9:
                expected = slow.chance_wrong_order(a, b, paired=True, k=k)
                assert p_wrong[row] == pytest.approx(expected, abs=1e-7)


@pytest.mark.long
def test_the_chance_of_a_wrong_order_is_that_of_fresh_runs():
    """Guarantee by simulation: two models that share difficulty, k = 1 and 5, 120 new questions."""
    rng = np.random.default_rng(1)
    odds = rng.normal(0, 1.5, 200_000)
    p = 1 / (1 + np.exp(-np.array([odds + 0.35, odds])))
    cells = counted(rng.binomial(50, p[:, :4000]), 50)
    truth = p.mean(axis=1)
    for k in (1, 5):
        picks = rng.integers(0, 200_000, (8000, 120))
        runs = rng.binomial(k, p[:, picks]).mean(axis=2) / k
        seen = np.mean(runs[0] < runs[1]) + np.mean(runs[0] == runs[1]) / 2
        # Our SE is for the 4,000 questions there are: for 120, larger by sqrt(4000/120)
        se = wrong_order(pairs(cells), k)[0][0] * math.sqrt(4000 / 120)
        assert stats.norm.cdf(-(truth[0] - truth[1]) / se) == pytest.approx(seen, abs=0.012)


def test_wrong_order_of_single_generations_and_on_these_questions():
    single = pairs(counted([[1, 0, 1, 1], [0, 0, 1, 0]], 1))
    assert wrong_order(single, 1)[0][0] == pytest.approx(math.sqrt(single.total[0] / 3))  # var() divides by N - 1
    assert math.isnan(wrong_order(single, 2)[0][0])
    cells = counted([[1, 0, 3, 3], [0, 0, 2, 1]], 3)
    these = wrong_order(pairs(cells, claim="these-questions"), 6)[0]
    assert these[0] == pytest.approx(math.sqrt(pairs(cells).prediction[0] / 6 / 4))
    se, p_wrong = wrong_order(pairs(counted([[2, 2], [0, 0]], 2)), 1)
    assert se[0] == 0
    assert math.isnan(p_wrong[0])
    with pytest.raises(UnknownNameError, match="unknown claim"):
        wrong_order(pairs(cells, claim="single-run"), 1)


# ---- rank sets


@settings(max_examples=60, deadline=None)
@given(score_grids(min_models=2, max_models=5))
def test_rank_sets_from_the_same_p_values_are_the_slow_ones(grid):
    """A slow version written differently: Holm and counting, from the p-values of `pairs`."""
    cells = cells_of(grid)
    compared = pairs(cells)
    keys = list(zip(compared.a.tolist(), compared.b.tolist(), strict=True))
    p_values = dict(zip(keys, compared.interval().p_value.tolist(), strict=True))
    differences = dict(zip(keys, compared.difference.tolist(), strict=True))
    M = len(grid)
    found = range_ranks(compared)
    expected = slow.rank_sets(differences, p_values, M, 0.05)
    assert list(zip(found.low_all.tolist(), found.high_all.tolist(), strict=True)) == expected
    for m in range(M):
        family = {key: p if m in key else math.nan for key, p in p_values.items()}
        own = slow.rank_sets(differences, family, M, 0.05)[m]
        assert (found.low[m], found.high[m]) == own
        ahead = [key for key, d in differences.items() if (key[1] == m and d > 1e-12) or (key[0] == m and d < -1e-12)]
        assert found.rank[m] == 1 + len(ahead)
        assert own[0] <= found.rank[m] <= own[1]
        assert expected[m][0] <= own[0]
        assert own[1] <= expected[m][1]


@pytest.mark.long
@pytest.mark.parametrize("ability", [[0, 0, 0, 0, 0, 0], [0, 0, 0.4, 0.4, 0.8, 0.8], [0, 0.3, 0.6, 0.9, 1.2, 1.5]])
def test_rank_sets_hold_all_true_ranks_at_once(ability):
    """Guarantee by simulation: joint coverage of at least 95 %, ties, groups and a chain of models."""
    rng = np.random.default_rng(2)
    trials, N, k = 300, 150, 3
    ability = np.array(ability)
    # With equal models, every rank of the group is true: the sets hold the best and the worst of it.
    first, last = 1 + (ability > ability[:, None]).sum(axis=1), (ability >= ability[:, None]).sum(axis=1)
    held = 0
    for _ in range(trials):
        odds = ability[:, None] + rng.normal(0, 1.5, N) + rng.normal(0, 0.5, (6, N))
        ranges = range_ranks(pairs(counted(rng.binomial(k, 1 / (1 + np.exp(-odds))), k)))
        held += np.all((ranges.low_all <= first) & (last <= ranges.high_all))
    assert held / trials > 0.95 - 2.3 * math.sqrt(0.05 * 0.95 / trials)


# ---- the law of ranks


@settings(max_examples=60)
@given(score_grids(min_models=2, missing=False))
def test_fitted_differences_and_their_errors_are_those_of_pairs(grid):
    """Theory: where all models answered all questions, each claim has the differences and p-values of `pairs`."""
    cells = cells_of(grid)
    for claim in ("new-questions", "these-questions", "single-run"):
        compared = pairs(cells, claim=claim)
        theta, covariance = fit_common_scores(compared)
        a, b, p = compared.a, compared.b, compared.interval().p_value
        variance = covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]
        known = ~np.isnan(p) & ~np.isnan(variance)
        np.testing.assert_allclose((theta[a] - theta[b])[known], compared.difference[known], atol=1e-9)
        seen = known & (variance > 1e-12)
        z = np.abs(compared.difference[seen]) / np.sqrt(variance[seen])
        np.testing.assert_allclose(2 * stats.norm.sf(z), p[seen], rtol=1e-6, atol=1e-12)


@settings(max_examples=60)
@given(score_grids(min_models=2, max_models=2, missing=True), st.integers(0, 3))
def test_one_of_two_models_is_the_best_as_often_as_its_test_says(grid, n_clusters):
    """Theory: P(rank 1) of two models is 1 - p/2 of the one that is ahead, whatever the claim, method and clusters."""
    cells = cells_of(grid)
    if n_clusters:
        cells = replace(cells, clusters=tuple(str(q % n_clusters) for q in range(len(cells.questions))))
    for claim, method in itertools.product(("new-questions", "these-questions", "single-run"), (None, "t", "clt")):
        compared, found = pairs(cells, claim=claim, method=method), rank(cells, claim=claim, method=method)
        p, difference = compared.interval().p_value[0], compared.difference[0]
        above = 1 - p / 2 if difference > 0 else p / 2
        np.testing.assert_allclose(found.p_best, [above, 1 - above], atol=4e-6)  # none beyond 4.5 standard errors
        if not np.isnan(found.scores.score).any():
            np.testing.assert_allclose(found.columns()["p_above_next"][0], max(above, 1 - above), atol=1e-9)


def test_scores_of_ragged_data_are_those_of_least_squares():
    """A slow version written differently: numpy's least squares with a row per pair, and a path where none is tested."""
    rng = np.random.default_rng(8)
    n = rng.integers(0, 2, (4, 30)) * 3
    n[0, n[1] > 0] = 0  # 0 and 1 share no question
    compared = pairs(counted(rng.binomial(n, 0.6), n))
    theta, covariance = fit_common_scores(compared)
    weight = np.sqrt(compared.n_questions)
    design = np.zeros((6, 4))
    design[range(6), compared.a], design[range(6), compared.b] = weight, -weight
    slow_theta = np.linalg.lstsq(design, weight * np.nan_to_num(compared.difference))[0]
    np.testing.assert_allclose(theta - theta[0], slow_theta - slow_theta[0], atol=1e-9)
    variance = np.diag(covariance)[:, None] + np.diag(covariance) - 2 * covariance
    between = compute_normal_error(compared.interval()) ** 2
    np.testing.assert_allclose(variance[compared.a, compared.b][1:], between[1:], atol=1e-9)
    paths = [(0, 2, 1), (0, 3, 1), (0, 2, 3, 1), (0, 3, 2, 1)]
    shortest = min(sum(variance[i, j] for i, j in itertools.pairwise(path)) for path in paths)
    assert variance[0, 1] == pytest.approx(shortest)


def test_the_chance_to_be_the_best_by_quadrature():
    """A slow version written differently: Simpson's rule for independent normals; these questions share no noise."""
    cells = counted([[2, 5, 8, 3], [4, 4, 9, 1], [1, 7, 7, 6], [0, 2, 9, 9]], 10)
    alone = score(cells, claim="these-questions")
    expected = slow.rank_law_of_independent_normals(alone.score.tolist(), np.sqrt(alone.variance).tolist())
    found = chance_best(alone.score, np.diag(alone.variance))
    np.testing.assert_allclose(found, [row[0] for row in expected], atol=0.001)
    assert found.sum() == pytest.approx(1)


@settings(max_examples=30, deadline=None)
@given(score_grids(min_models=2, max_models=5, missing=True))
def test_chances_to_be_the_best_add_up_and_do_not_depend_on_the_order(grid):
    theta, covariance = fit_common_scores(pairs(cells_of(grid)))
    found = chance_best(theta, covariance)
    if not np.isnan(found).all():
        assert np.nansum(found) == pytest.approx(1)
    turned = chance_best(theta[::-1], covariance[::-1, ::-1])
    np.testing.assert_allclose(turned[::-1], found, atol=0.002)


def test_a_system_that_left_out_hard_questions_is_not_the_best():
    """By hand: ahead on all of its questions, because the hard fifth is missing; behind on those of both."""
    n = np.ones((2, 100), int)
    n[0, 80:] = 0
    right = np.zeros((2, 100))
    right[0, :53], right[1, :55] = 1, 1
    right[1, 55:58], right[0, 58:60] = 1, 1
    found = rank(counted(right, n))
    columns = in_order(found)
    assert columns["score"][0] > columns["score"][1]
    assert columns["score_common"].tolist() == [55 / 80, 58 / 80]
    assert columns["rank"].tolist() == [2, 1]
    # by Bonett and Price, with Satterthwaite's degrees of freedom: 7 of 80 questions differ
    spread = 7 - 9 / 80
    whole = spread + 2 + 2 * 9 / 80 / 82
    chance = stats.t.cdf(-3 / 82 / math.sqrt(whole / 82 / 81), 79 * (whole / spread) ** 2)
    assert columns["p_best"][0] == pytest.approx(chance)
    assert found["model"].tolist() == ["m1", "m0"]
    assert "score_common" in hs.rank(counted(right, n)).fit_text(80)
    assert "score_common" not in hs.rank(counted(right, 1)).fit_text(80)


def test_twins_share_the_first_rank():
    """Theory: two models with the same scores on every question tie in every draw."""
    row = [3, 0, 2, 1, 3, 2, 0, 1]
    columns = in_order(rank(counted([row, row, [0, 0, 1, 0, 1, 0, 0, 0]], 3)))
    assert columns["rank"].tolist() == [1, 1, 3]
    assert columns["p_best"][:2] == pytest.approx([0.5, 0.5], abs=0.005)


def test_what_ranks_cannot_say():
    n = np.array([[3, 3, 3, 3], [0, 0, 0, 0], [3, 0, 0, 0], [3, 3, 3, 0], [3, 3, 3, 3]])
    cells = counted([[3, 3, 3, 3], [0, 0, 0, 0], [2, 0, 0, 0], [1, 2, 0, 0], [1, 0, 1, 2]], n)
    result = rank(cells)
    columns = in_order(result)
    assert columns["rank"].tolist()[0] == 1
    assert math.isnan(columns["rank"][1])
    assert columns["note"][1] == "no scores"
    assert (columns["rank_low"][1], columns["rank_high"][1]) == (1, 5)
    assert "no chance to be the best" in columns["note"][2]
    assert "on fewer questions than there are" in columns["note"][3]
    assert "cannot be tested" in columns["note"][4]
    assert np.isnan(columns["p_best"][[1, 2]]).all()
    assert np.nansum(columns["p_best"]) == pytest.approx(1)
    assert result.columns()["model"].tolist()[0] == "m0"
    assert result.columns()["model"].tolist()[-1] == "m1"
    assert "rank_high" in str(result)
    nobody = rank(counted([[1], [0]], 1))
    assert np.isnan(nobody.p_best).all()
    with pytest.raises(UnknownNameError, match="unknown claim"):
        rank(cells, claim="new")
    apart = np.kron(np.eye(2, dtype=int), np.ones((2, 3), int))  # two models each on questions of their own
    divided = in_order(rank(counted(np.zeros((4, 6)) + apart * [0, 1, 1, 1, 0, 1], apart)))
    assert np.isnan(divided["p_best"]).tolist() == [False, False, True, True]


def test_wrong_order_of_questions_in_clusters_by_hand():
    """Sums of residuals of four clusters of two are 1.5, -.5, 1.5, -2.5: SE^2 = 4/3 x 11/64; none on these questions."""
    first, second = [1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0, 1, 1]
    clusters = tuple("aabbccdd")
    single = replace(counted([first, second], 1), clusters=clusters)
    assert wrong_order(pairs(single), 1)[0][0] == pytest.approx(math.sqrt(4 / 3 * 11 / 64))
    several = counted([[1, 2, 1, 2, 1, 2, 0, 0], [0, 0, 1, 1, 0, 2, 1, 1]], 2)
    these = [
        wrong_order(pairs(each, claim="these-questions"), 3)[0]
        for each in (several, replace(several, clusters=clusters))
    ]
    assert these[0].tolist() == these[1].tolist()


def test_a_printed_rank_has_the_decimals_of_a_printed_score():
    """The score of each model as `howsure score` prints it, beside its standard error."""
    rng = np.random.default_rng(4)
    cells = Cells.from_scores("b", ["x", "y"], [f"q{i}" for i in range(60)], rng.integers(0, 2, (2, 60, 4)).tolist())
    printed = {line.split()[0]: line.split()[1] for line in str(rank(cells)).splitlines()[1:3]}
    assert printed == {line.split()[0]: line.split()[1] for line in str(score(cells)).splitlines()[1:3]}
    assert all(len(one) == len("0.585") for one in printed.values())


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ([3, 2, 1], [1, 2, 3], 3),
        ([3, 2, 1], [3, 1, 2], 2),
        ([2, 2, 1], [1, 2, 1], 0),  # equal before, or equal after
        ([2, 1, np.nan], [1, 2, 3], 2),
        ([0.1 + 0.2, 0.3], [0, 1], 0),  # equal but for rounding
    ],
)
def test_models_that_moved_by_hand(before, after, moved):
    assert count_moved_models(np.array(before), np.array(after)) == moved
    assert count_moved_models(np.array(after), np.array(before)) == moved


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ([[[1, 1, 0]], [[0, 0, 1, 0]]], "fewer than two questions in common with the next"),
        ([[[1, 0], []], [[], [0, 1]]], "fewer than two questions in common with the next"),
        ([[[1, 1], [1, 1]], [[0, 0], [0, 0]]], "no variation was seen between it and the next"),
        ([[[1], [1]], [[0], [1]]], "one generation per question of it or of the next"),
        ([[[1, 0], [1, 1]], [[0, 0], [1, 0]]], None),
    ],
)
def test_the_reason_for_an_unknown_chance_of_a_wrong_order_is_the_true_one(scores, why):
    """By hand: several generations of one common question, of none, of equal scores, and one generation of two."""
    columns = in_order(rank(cells_of(scores), k=5))
    assert math.isnan(columns["p_wrong_next"][0]) is (why is not None)
    reasons = [part for part in columns["note"][0].split("; ") if "p_wrong_next is unknown" in part]
    assert [{*part.split(": ")} for part in reasons] == ([] if why is None else [{"p_wrong_next is unknown", why}])
    assert "p_wrong_next" not in columns["note"][1]  # the last has no next one


@pytest.mark.parametrize(("lost", "is_said"), [("none", False), ("at random", False), ("hard", True)])
def test_pairs_in_another_order_on_common_questions_are_said_where_no_chance_made_them(lost, is_said):
    """Six models that know alike, of which three lose a third of the questions: the hardest, or any."""
    said, n_reversed = [], 0
    for seed in range(20):
        rng = np.random.default_rng([18, seed])
        p = np.linspace(0.95, 0.05, 120)
        y = (rng.random((6, 120)) < p).astype(int)
        gone = {"none": p < 0, "at random": rng.random((6, 120)) < 1 / 3, "hard": p < 0.35}[lost]
        there = ~gone | (np.arange(6) >= 3)[:, None]
        right = np.where(there, y, 0)
        cells = Cells("demo", tuple("abcdef"), tuple(map(str, range(120))), there.astype(int), right, right)
        found, mean = list_reversed(cells), np.nanmean(cells.mean, axis=1)
        for i, j in itertools.permutations(range(6), 2):
            both = there[i] & there[j]
            is_reversed = mean[i] > mean[j] + 1e-9 and y[i, both].sum() < y[j, both].sum()
            assert is_reversed or (cells.models[i], cells.models[j]) not in found
            n_reversed += is_reversed
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            hs.score(cells)
        assert [x.n for x in list_warned(caught) if x.code == "other-questions-scored"] == [len(found)] * bool(found)
        said += [bool(found)]
    assert (np.mean(said) >= 0.8) if is_said else (np.mean(said) <= 0.1)
    assert bool(n_reversed) == (lost != "none")
