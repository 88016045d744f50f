"""Rank flips over prompts: slow versions, theory, seeded simulation."""

import numpy as np
import pytest
from oracles import variants as oracle
from scipy import stats

from howsure.errors import InputError
from howsure.stats.core.cube import Cube
from howsure.stats.prompts.components import estimate_components
from howsure.stats.prompts.rank_flips import estimate_rank_flips


def binary(p, K, rng, missing=0.0):
    n = np.where(rng.random(p.shape) < missing, 0, K)
    total = rng.binomial(n, np.clip(p, 0, 1)).astype(float)
    return Cube("b", *(tuple(map(str, range(size))) for size in p.shape), n, total, total)


def test_swaps_against_slow_versions():
    """Slow versions: counting signs, and the tail by random numbers."""
    rng = np.random.default_rng(1)
    cube = binary(0.5 + rng.normal(0, 0.1, (3, 40, 1)) + rng.normal(0, 0.05, (3, 1, 8)), 4, rng)
    found = estimate_rank_flips(cube)
    scores = cube.mean.mean(axis=1)
    for i, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        assert found.swapped[i] == pytest.approx(oracle.swapped(scores[a], scores[b]))
        of = estimate_components(cube.difference(str(a), str(b)))
        tau2 = (of.interaction[0] + of.fit.mean_error[0] * 320) / 40
        assert found.p_swap[i] == pytest.approx(oracle.gail_simon(scores[a] - scores[b], [tau2] * 8), abs=0.01)
        assert found.var_variant[i] == pytest.approx(of.variant[0])
    assert found.columns()["model_b"].tolist() == ["1", "2", "2"]
    assert np.all(found.true_low <= found.true_high)


def test_swaps_by_noise_alone_are_told_from_real_ones():
    """A guarantee by seeded simulation: pairs of equal prompts' effects, and pairs with effects of their own."""
    rng = np.random.default_rng(2)
    M, N, S = 24, 80, 12
    p = rng.uniform(0.3, 0.7, (1, N, 1)) + rng.normal(0, 0.05, (1, 1, S)) + np.zeros((M, 1, 1))
    same = estimate_rank_flips(binary(p, 1, rng))
    assert same.swapped.mean() > 0.2  # raw shares look alarming
    assert np.mean(same.p_prompt < 0.05) < 0.09
    assert np.mean(same.p_swap < 0.05) < 0.05
    differing = estimate_rank_flips(binary(p + rng.normal(0, 0.1, (M, 1, S)), 1, rng))
    assert np.mean(differing.p_prompt < 0.05) > 0.9
    assert np.mean(differing.p_swap < 0.05) > 0.5
    assert np.mean(differing.var_variant) == pytest.approx(0.02, abs=0.004)


def test_swaps_that_cannot_be_judged():
    rng = np.random.default_rng(0)
    one = estimate_rank_flips(Cube.from_means("b", ["a", "b"], ["v", "w"], rng.random((2, 2))))
    assert "cannot be separated" in one.columns()["note"][0]
    cube = binary(rng.random((2, 4, 3)), 2, rng)
    with pytest.raises(InputError, match="variants of its own"):
        estimate_rank_flips(
            Cube(
                cube.benchmark,
                cube.models,
                cube.questions,
                cube.variants,
                cube.n,
                cube.total,
                cube.total_sq,
                nested=True,
            )
        )
    assert len(estimate_rank_flips(cube.select(["0"])).difference) == 0
    apart = np.full((2, 4, 3), np.nan)
    apart[0, :2], apart[1, 2:] = 1.0, 0.5
    assert (
        estimate_rank_flips(Cube.from_means("b", "ab", "uvw", apart, questions="qrst")).columns()["note"][0]
        == "no variant in common"
    )


def test_equal_differences_in_three_prompts_have_no_interval_of_the_true_share():
    """By hand: a is 3 of 6 and b 2 of 6 under each of three prompts, on other questions each time."""
    a = [[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0]]
    b = [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]]
    n = np.ones((2, 6, 3), int)
    total = np.array([a, b], float)
    found = estimate_rank_flips(Cube("b", ("a", "b"), tuple("123456"), ("u", "v", "w"), n, total, total))
    assert (found.swapped[0], found.difference[0]) == (0, pytest.approx(1 / 6))
    assert 0 < found.swapped_by_noise[0] < 0.5
    assert np.isnan([found.true_low[0], found.true_high[0]]).all()
    assert "all variants have the same difference: no interval of the true share" in found.columns()["note"][0]
    total[1, 5, 1] = 0
    found = estimate_rank_flips(Cube("b", ("a", "b"), tuple("123456"), ("u", "v", "w"), n, total, total))
    assert found.true_low[0] < found.true_high[0]
    assert "same difference" not in found.columns()["note"][0]


def test_variants_with_few_questions_have_more_noise():
    """A guarantee by seeded simulation: no prompt has an effect, 3 are asked all questions and 40 two each."""
    rng = np.random.default_rng(3)
    M, N, S = 16, 30, 43
    asked = np.zeros((N, S), int)
    asked[:, :3] = 1
    asked[np.arange(80) % N, 3 + np.arange(80) // 2] = 1
    total = (rng.binomial(1, 0.5, (M, N, S)) * asked).astype(float)
    names = (tuple(map(str, range(size))) for size in (M, N, S))
    found = estimate_rank_flips(Cube("b", *names, np.broadcast_to(asked, total.shape), total, total))
    assert np.mean(found.p_swap < 0.05) < 0.05


def test_weights_of_the_cells_in_the_score_of_a_variant():
    """A slow version: each cell is raised by one in turn, and the squared changes of the scores are summed."""
    rng = np.random.default_rng(4)
    means = np.where(rng.random((7, 5)) < 0.4, np.nan, rng.random((7, 5)))
    means[0] = 0.5
    cells = np.argwhere(~np.isnan(means))
    raised = np.repeat(means[None], len(cells) + 1, axis=0)
    raised[np.arange(len(cells)), *cells.T] += 1
    names = [str(i) for i in range(len(raised))]
    fit = estimate_components(Cube.from_means("b", names, "uvwxy", raised, questions="qrstabc")).fit
    expected = np.sum((fit.variant_score[:-1] - fit.variant_score[-1]) ** 2, axis=0)
    assert fit.variant_weight[0] == pytest.approx(expected)


def test_unconnected_questions_have_no_test_of_a_flip():
    """By hand: two prompts are asked of two questions each, none of them in common; a is better there, b here."""
    scores = np.full((2, 4, 2), np.nan)
    scores[:, :2, 0] = [[1, 1], [0, 0]]
    scores[:, 2:, 1] = [[0, 0], [1, 1]]
    found = estimate_rank_flips(Cube.from_means("b", "ab", "uv", scores, questions="qrst"))
    assert np.isnan(found.p_swap[0])


def test_the_test_of_equal_differences_is_that_of_two_way_variance_analysis():
    """Theory: F = MS(variants)/MS(rest) of the differences of 6 questions by 4 variants, on 3 and 15 degrees."""
    d = np.random.default_rng(5).normal(0.1, 1, (6, 4))
    found = estimate_rank_flips(Cube.from_means("b", "ab", "uvwx", np.stack([d, 0 * d]), questions="123456"))
    of_variants, of_questions, mean = d.mean(axis=0), d.mean(axis=1), d.mean()
    between = 6 * np.sum((of_variants - mean) ** 2) / 3
    rest = np.sum((d - of_variants - of_questions[:, None] + mean) ** 2) / 15
    assert found.p_prompt[0] == pytest.approx(stats.f.sf(between / rest, 3, 15))


def test_the_true_share_is_withheld_where_one_prompt_in_ten_breaks_a_model():
    """Guarantee by seeded simulation: one prompt in ten costs one of two models 2 logits; its true share is about .1."""
    rng = np.random.default_rng(6)
    M, N, S = 200, 100, 20
    first = (np.arange(M) < M // 2)[:, None, None]
    broken = first & (rng.random((M, 1, S)) < 0.1)
    logit = 0.6 * first + 0.05 * rng.normal(size=(M, 1, S)) - 2 * broken + rng.normal(0, 1.5, (1, N, 1))
    p = 1 / (1 + np.exp(-logit))
    cube = binary(p, 1, rng)
    pairs = [estimate_rank_flips(cube.select([str(i), str(i + M // 2)])) for i in range(M // 2)]
    printed = np.array([[one.true_low[0], one.swapped_true[0], one.true_high[0]] for one in pairs])
    withheld = np.isnan(printed).all(axis=1)
    truth = np.mean([p[i].mean(axis=0) < p[i + M // 2].mean(axis=0) for i in range(M // 2)])
    assert truth == pytest.approx(0.1, abs=0.03)
    assert np.mean(withheld) > 0.7  # two of 20 draws have no broken prompt
    assert np.mean((printed[:, 0] > truth) | (printed[:, 2] < truth)) < 0.2  # without the test of fit it is .52
    assert "change the difference far more than the others" in pairs[int(np.argmax(withheld))].columns()["note"][0]


def test_a_tie_counts_half_as_a_flip():
    """By hand: differences of .5, 0, -.25 and .5, whose mean is above 0."""
    scores = np.array([[0.75, 0.5, 0.25, 0.75], [0.25, 0.5, 0.5, 0.25]])
    found = estimate_rank_flips(Cube.from_means("b", "ab", "uvwx", scores))
    assert found.swapped.tolist() == [1.5 / 4]
