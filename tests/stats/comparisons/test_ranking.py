"""Ranks, rank sets, chances of order: slow versions, scipy, theory, a joint guarantee by simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.strategies import score_grids
from hypothesis import given, settings
from oracles import ranking as slow
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.comparisons.pairs import pairs
from howsure.stats.comparisons.ranking import count_moved_models, covariance_of_means, p_above, rank, wrong_order
from howsure.stats.core.cells import Cells
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
    order = [columns["model"].tolist().index(model) for model in result.models]
    return {name: values[order] for name, values in columns.items()}


# ---- chance of an order


@settings(max_examples=60, deadline=None)
@given(score_grids(min_models=2, max_models=4))
def test_chances_of_order_are_the_slow_ones(grid):
    """A slow version written differently, paired and unpaired, now and with k generations."""
    cells = cells_of(grid)
    for paired in (True, False):
        above = p_above(cells, paired=paired)
        wrong = wrong_order(cells, (1, 7), paired=paired)
        for row, (i, j) in enumerate(zip(wrong.a.tolist(), wrong.b.tolist(), strict=True)):
            a, b = grid[i], grid[j]
            both = [q for q in range(len(a)) if a[q] and b[q]]
            enough = [both, both] if paired else [[q for q in range(len(x)) if x[q]] for x in (a, b)]
            if min(map(len, enough)) < 2:  # one question says nothing of the spread: ours is NaN
                assert np.isnan(above[i, j])
                continue
            difference, se = slow.difference_and_se(a, b, paired=paired)
            if se > 1e-7:
                assert above[i, j] + above[j, i] == pytest.approx(1)
                assert above[i, j] == pytest.approx(slow.chance_above(a, b, paired=paired), abs=1e-7)
            for column, k in enumerate((1, 7)):
                se = slow.difference_and_se(a, b, paired=paired, k=k)[1]
                if not math.isnan(se):
                    assert wrong.se[row, column] ** 2 == pytest.approx(se**2, rel=1e-8, abs=1e-12)
                if se > 1e-7 and abs(difference) > 1e-9:
                    expected = slow.chance_wrong_order(a, b, paired=paired, k=k)
                    assert wrong.p_wrong[row, column] == pytest.approx(expected, abs=1e-7)


@pytest.mark.long
def test_the_chance_of_a_wrong_order_is_that_of_fresh_runs():
    """Guarantee by simulation: two models that share difficulty, k = 1 and 5, 120 new questions."""
    rng = np.random.default_rng(1)
    odds = rng.normal(0, 1.5, 200_000)
    p = 1 / (1 + np.exp(-np.array([odds + 0.35, odds])))
    cells = counted(rng.binomial(50, p[:, :4000]), 50)
    found = wrong_order(cells, (1, 5))
    truth = p.mean(axis=1)
    for column, k in enumerate((1, 5)):
        picks = rng.integers(0, 200_000, (8000, 120))
        runs = rng.binomial(k, p[:, picks]).mean(axis=2) / k
        seen = np.mean(runs[0] < runs[1]) + np.mean(runs[0] == runs[1]) / 2
        # Our SE is for the 4,000 questions there are: for 120, larger by sqrt(4000/120)
        se = found.se[0, column] * math.sqrt(4000 / 120)
        assert stats.norm.cdf(-(truth[0] - truth[1]) / se) == pytest.approx(seen, abs=0.012)


def test_wrong_order_of_single_generations_and_on_these_questions():
    single = counted([[1, 0, 1, 1], [0, 0, 1, 0]], 1)
    found = wrong_order(single, (1, 2)).columns()
    assert found["se"][0] == pytest.approx(math.sqrt(pairs(single).total[0] / 3))  # var() divides by N - 1
    assert math.isnan(found["se"][1])
    assert found["note"][1] == "data and prediction noise cannot be separated"
    cells = counted([[1, 0, 3, 3], [0, 0, 2, 1]], 3)
    these = wrong_order(cells, (6,), claim="these-questions")
    assert these.se[0, 0] == pytest.approx(math.sqrt(pairs(cells).prediction[0] / 6 / 4))
    flat = wrong_order(counted([[2, 2], [0, 0]], 2)).columns()
    assert flat["note"][0] == "no variation was seen"
    assert math.isnan(flat["p_wrong"][0])
    with pytest.raises(InputError, match=r"k is \[1.5\]"):
        wrong_order(cells, (1.5,))
    with pytest.raises(UnknownNameError, match="unknown claim"):
        wrong_order(cells, claim="single-run")


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
    expected = slow.rank_sets(differences, p_values, len(grid), 0.05)
    columns = in_order(rank(cells, draws=10))
    assert list(zip(columns["rank_low"].tolist(), columns["rank_high"].tolist(), strict=True)) == expected
    scores = columns["score"].tolist()
    assert columns["rank"].tolist() == [1 + sum(other > mine for other in scores) for mine in scores]


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
        columns = in_order(rank(counted(rng.binomial(k, 1 / (1 + np.exp(-odds))), k), draws=1))
        held += np.all((columns["rank_low"] <= first) & (last <= columns["rank_high"]))
    assert held / trials > 0.95 - 2.3 * math.sqrt(0.05 * 0.95 / trials)


# ---- the law of ranks


@settings(max_examples=60)
@given(score_grids(min_models=2, missing=False))
def test_covariance_is_the_slow_one(grid):
    """A slow version written differently; a model with one question has no error to know."""
    found = covariance_of_means(cells_of(grid))
    if len(grid[0]) == 1:
        assert np.isnan(found).all()
    else:
        np.testing.assert_allclose(found, slow.covariance_of_means(grid), rtol=1e-7, atol=1e-10)


@settings(max_examples=60)
@given(score_grids(min_models=2, missing=True))
def test_covariance_of_ragged_data_is_a_covariance(grid):
    """Theory: no negative eigenvalue; by the definition, the variance of the difference of two means of own questions."""
    cells = cells_of(grid)
    found = covariance_of_means(cells)
    known = ~np.isnan(np.diag(found))
    inner = found[np.ix_(known, known)]
    assert np.isnan(found[~known]).all()
    if known.any():
        assert np.linalg.eigvalsh(inner).min() >= -1e-10 * max(1, np.abs(inner).max())
    # Each question's part in mean a - mean b; its square summed over questions is the variance.
    own = [[sum(row) / len(row) if row else math.nan for row in questions] for questions in grid]
    parts = [[0 if math.isnan(p) else (p - np.nanmean(row)) / np.sum(~np.isnan(row)) for p in row] for row in own]
    for i in np.flatnonzero(known):
        for j in np.flatnonzero(known):
            expected = sum((x - y) ** 2 for x, y in zip(parts[i], parts[j], strict=True))
            assert found[i, i] + found[j, j] - 2 * found[i, j] == pytest.approx(expected, abs=1e-9)


def test_ranks_of_independent_scores_by_quadrature():
    """A slow version written differently: Simpson's rule for independent normals; these questions share no noise."""
    cells = counted([[2, 5, 8, 3], [4, 4, 9, 1], [1, 7, 7, 6], [0, 2, 9, 9]], 10)
    alone = score(cells, claim="these-questions")
    expected = slow.rank_law_of_independent_normals(alone.score.tolist(), np.sqrt(alone.variance).tolist())
    found = rank(cells, claim="these-questions", draws=40_000)
    np.testing.assert_allclose(found.distribution, expected, atol=0.012)
    np.testing.assert_allclose(found.distribution.sum(axis=0), 1)
    np.testing.assert_allclose(found.distribution.sum(axis=1), 1)


def test_two_models_rank_as_p_above_says():
    """Theory: with the full covariance, P(rank 1) of two models is Phi(paired difference / SE)."""
    rng = np.random.default_rng(3)
    p = np.clip(rng.random(80) + np.array([[0.03], [0]]), 0, 1)
    cells = counted(rng.binomial(5, p), 5)
    assert rank(cells, draws=40_000).p_best[0] == pytest.approx(p_above(cells)[0, 1], abs=0.01)
    assert abs(p_above(cells, paired=False)[0, 1] - 0.5) < abs(p_above(cells)[0, 1] - 0.5)
    for claim in ("these-questions", "single-run"):
        assert rank(cells, claim=claim, draws=40_000).p_best[0] == pytest.approx(
            p_above(cells, claim=claim)[0, 1], abs=0.01
        )


def test_two_models_with_clusters_are_above_each_other_as_often_as_they_are_best():
    """Theory: of two models, to be the best is to be above the other; few clusters give Student's t to both."""
    rng = np.random.default_rng(3)
    made = replace(counted(rng.integers(0, 4, (2, 30)), 3), clusters=tuple("abcde" * 6))
    result = rank(made, draws=100_000)
    first = int(np.argmax(result.score))
    assert result.p_above_next[first] == pytest.approx(result.p_best[first], abs=0.005)
    z = abs(pairs(made).difference[0]) / np.sqrt(pairs(made).variance[0])
    assert result.p_above_next[first] == pytest.approx(stats.t.cdf(z, np.nanmin(score(made).df)))


def test_twins_share_the_first_rank():
    """Theory: two models with the same scores on every question tie in every draw."""
    row = [3, 0, 2, 1, 3, 2, 0, 1]
    columns = in_order(rank(counted([row, row, [0, 0, 1, 0, 1, 0, 0, 0]], 3)))
    assert columns["rank"].tolist() == [1, 1, 3]
    assert columns["p_best"][:2] == pytest.approx([0.5, 0.5], abs=0.03)


def test_what_ranks_cannot_say():
    n = np.array([[3, 3, 3, 3], [0, 0, 0, 0], [3, 0, 0, 0], [3, 3, 3, 0], [3, 3, 3, 3]])
    cells = counted([[3, 3, 3, 3], [0, 0, 0, 0], [2, 0, 0, 0], [1, 2, 0, 0], [1, 0, 1, 2]], n)
    result = rank(cells)
    columns = in_order(result)
    assert columns["rank"].tolist()[0] == 1
    assert math.isnan(columns["rank"][1])
    assert columns["note"][1] == "no scores"
    assert (columns["rank_low"][1], columns["rank_high"][1]) == (1, 5)
    assert "p_best takes its score as exact" in columns["note"][0]
    assert "the error of its score is unknown" in columns["note"][2]
    assert "on fewer questions than there are" in columns["note"][3]
    assert "cannot be tested" in columns["note"][4]
    assert np.isnan(columns["p_best"][[1, 2]]).all()
    assert np.nansum(columns["p_best"]) == pytest.approx(1)
    assert result.columns()["model"].tolist()[0] == "m0"
    assert result.columns()["model"].tolist()[-1] == "m1"
    assert "rank_high" in str(result)
    nobody = rank(counted([[1], [0]], 1))
    assert np.isnan(nobody.p_best).all()
    with pytest.raises(InputError, match="draws is 0"):
        rank(cells, draws=0)
    with pytest.raises(UnknownNameError, match="unknown claim"):
        rank(cells, claim="new")
    assert rank(cells, rng=5).p_best.tolist()[0] == rank(cells, rng=5).p_best.tolist()[0]


def test_wrong_order_of_models_that_are_not_paired_adds_up_both_errors():
    """By hand: E = .25 of each, so SE(k)^2 = (.25 + .25)/(2k) on two questions; the difference is .75 - .25."""
    cells = counted([[1, 2], [0, 1]], 2)
    result = wrong_order(cells, (1, 4), claim="these-questions", paired=False)
    assert result.difference.tolist() == [0.5]
    assert result.se[0] == pytest.approx([0.5, 0.25])
    assert result.p_wrong[0] == pytest.approx([0.15865525, 0.02275013])  # Phi(-1), Phi(-2)
    assert result.benchmark == cells.benchmark


def test_wrong_order_of_questions_in_clusters_by_hand():
    """Sums of residuals of four clusters of two are 1.5, -.5, 1.5, -2.5: SE^2 = 4/3 x 11/64; none on these questions."""
    first, second = [1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0, 1, 1]
    clusters = tuple("aabbccdd")
    single = replace(counted([first, second], 1), clusters=clusters)
    assert wrong_order(single, (1,)).se[0, 0] == pytest.approx(math.sqrt(4 / 3 * 11 / 64))
    several = counted([[1, 2, 1, 2, 1, 2, 0, 0], [0, 0, 1, 1, 0, 2, 1, 1]], 2)
    these = [
        wrong_order(each, (3,), claim="these-questions").se for each in (several, replace(several, clusters=clusters))
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
    reasons = [part for part in columns["note"][0].split("; ") if part.startswith("p_wrong_next is unknown")]
    assert reasons == ([] if why is None else [f"p_wrong_next is unknown: {why}"])
    assert "p_wrong_next" not in columns["note"][1]  # the last has no next one


def test_columns_of_wrong_orders_name_the_benchmark_the_models_and_the_claim():
    cells = Cells.from_scores("demo", ["a", "b"], ["1", "2", "3"], [[[1, 0], [1, 1], [0, 1]], [[0, 0], [1, 0], [0, 0]]])
    columns = wrong_order(cells, (1, 3), claim="these-questions").columns()
    assert [columns[name].tolist() for name in ("benchmark", "model_a", "model_b", "claim")] == [
        ["demo"] * 2, ["a"] * 2, ["b"] * 2, ["these-questions"] * 2,
    ]  # fmt: skip
