"""PromptEval and the quantiles over prompts: slow versions, theory, seeded simulation."""

import numpy as np
import pytest
from helpers.long_cases import mark_long
from oracles import variants as oracle

from howsure.errors import InputError
from howsure.stats.core.cube import Cube
from howsure.stats.prompts.prompteval import prompteval


def binary(p, K, rng, missing=0.0):
    n = np.where(rng.random(p.shape) < missing, 0, K)
    total = rng.binomial(n, np.clip(p, 0, 1)).astype(float)
    return Cube("b", *(tuple(map(str, range(size))) for size in p.shape), n, total, total)


def draw_balanced_cells(N, S, budget, rng=0):
    """Choose cells at random, spread evenly over questions and over variants."""
    rng, i = np.random.default_rng(rng), np.arange(budget)
    chosen = np.zeros((N, S), dtype=bool)
    chosen[i % N, (i + i // np.lcm(N, S)) % S] = True
    return chosen[rng.permutation(N)][:, rng.permutation(S)]


def test_prompteval_against_gradient_ascent():
    """A slow version of the same likelihood."""
    rng = np.random.default_rng(5)
    y, asked = (rng.random((8, 10)) < 0.6).astype(int), draw_balanced_cells(10, 8, 50).T
    seen = [[int(y[i, j]) if asked[i, j] else None for j in range(10)] for i in range(8)]
    cells = [[[seen[i][j]] if asked[i, j] else [] for i in range(8)] for j in range(10)]
    cube = Cube.from_scores("b", ["m"], [str(j) for j in range(10)], [str(i) for i in range(8)], [cells])
    found = prompteval(cube, penalty=1)
    assert found.scores[0] == pytest.approx(oracle.prompteval(seen, 1.0), abs=1e-6)
    assert "what an interaction of prompts and questions adds" in found.columns()["note"][0]
    # the quantiles are those of the true scores, whatever the penalty
    assert found.values.tolist() == prompteval(cube).values.tolist()


def logistic(rng, shape, asked, sd, interaction=0.0, k=1):
    """A cube from the model of PromptEval, and the true score of each prompt on these questions."""
    M, N, S = shape
    logit = 0.5 + rng.normal(0, sd, (M, 1, S)) - rng.normal(0, 1.5, (M, N, 1)) + rng.normal(0, interaction, shape)
    p = 1 / (1 + np.exp(-logit))
    n = np.broadcast_to(k * draw_balanced_cells(N, S, round(asked * N * S), rng=rng).astype(int), shape)
    total = rng.binomial(n, p).astype(float)
    return Cube("b", *(tuple(map(str, range(size))) for size in shape), n, total, total), p.mean(axis=1)


def root_mean_square(x):
    return float(np.sqrt(np.mean(np.square(x))))


@pytest.mark.parametrize("interaction", [0.0, 0.7])
@pytest.mark.parametrize(
    # of the penalty 1: .13, .08, .05 and .03 from the truth
    ("sd", "asked", "least", "most"),
    mark_long(
        [(0.1, 0.1, 0.6, 0.075), (0.3, 0.1, 0.65, 0.052), (0.3, 0.3, 0.6, 0.032), (0.6, 0.3, 0.95, 0.027)], after=1
    ),
)
def test_quantiles_over_prompts_are_those_of_the_truth(sd, asked, least, most, interaction):
    """Guarantee by seeded simulation: 5 and 95 % quantiles of 100 prompts, against those of the true scores."""
    cube, scores = logistic(np.random.default_rng(8), (12, 100, 100), asked, sd, interaction)
    truth = np.quantile(scores, [0.05, 0.95], axis=1).T
    found = prompteval(cube, quantiles=(0.05, 0.95))
    published = np.quantile(prompteval(cube, penalty=1, draws=1).scores, [0.05, 0.95], axis=1).T
    error = root_mean_square(found.values - truth)
    assert error < most
    assert error < least * root_mean_square(published - truth)
    if sd >= 0.3:  # the distance of the two quantiles is that of the truth
        assert 0.75 < np.ptp(found.values, axis=1).mean() / np.ptp(truth, axis=1).mean() < 1.25
    assert np.mean((found.low <= truth) & (truth <= found.high)) > 0.75  # the least, at sd .1; of 24


@pytest.mark.long
def test_quantiles_over_prompts_of_which_one_in_ten_breaks_the_format():
    """Guarantee by seeded simulation: 60 prompts of sd .1 logit on 100 questions, six of them 2 logits lower."""
    rng = np.random.default_rng(11)
    covered, errors = [], []
    for _ in range(60):
        theta = rng.normal(0, 0.1, 60) - 2.0 * (np.arange(60) < 6)
        p = 1 / (1 + np.exp(-(0.5 + theta - rng.normal(0, 1.5, (100, 1)))))
        found, truth = prompteval(binary(p[None], 1, rng)), np.quantile(p.mean(axis=0), [0.05, 0.25, 0.5, 0.75, 0.95])
        covered.append((found.low[0] <= truth) & (truth <= found.high[0]))
        errors.append(found.values[0] - truth)
    share = np.mean(covered, axis=0)  # under one Beta law .42, 0, .88, .35 and 0
    assert share.mean() >= 0.9
    assert np.all(share[[0, 1, 4]] >= 0.9)
    assert np.all(np.abs(np.mean(errors, axis=0)) < 0.01)


def test_quantiles_of_all_cells_and_many_generations_are_those_of_the_scores():
    """Theory: no noise is left, though prompts and questions interact more than prompts differ."""
    cube, scores = logistic(np.random.default_rng(9), (3, 30, 15), 1.0, 0.3, 1.5, k=400)
    found = prompteval(cube, quantiles=(0.1, 0.5, 0.9))
    assert found.values == pytest.approx(np.quantile(scores, [0.1, 0.5, 0.9], axis=1).T, abs=0.008)
    assert np.all(found.high - found.low < 0.03)
    assert set(found.columns()["note"]) == {""}


def test_quantiles_where_little_is_known():
    rng = np.random.default_rng(10)
    right = np.ones((1, 20, 6, 1))
    all_right = prompteval(Cube.from_scores("b", ["m"], list("abcdefghijklmnopqrst"), list("123456"), right.tolist()))
    assert np.all(all_right.values > 0.95)
    assert all_right.low[0, 0] < 0.97  # 20 right answers are no certainty
    assert np.all(all_right.high <= 1)
    cube, _ = logistic(rng, (1, 40, 10), 0.3, 0.0)
    assert "noisier than the prompts differ" in prompteval(cube).columns()["note"][0]
    # a prompt that was never asked has the score of the others, with more noise
    n = cube.n.copy()
    n[:, :, 0] = 0
    left = prompteval(
        Cube("b", cube.models, cube.questions, cube.variants, n, cube.total * (n > 0), cube.total * (n > 0))
    )
    assert np.isfinite(left.values).all()
    for shape in ((1, 5, 1), (1, 1, 5)):
        one = prompteval(logistic(rng, shape, 1.0, 0.1)[0])
        assert np.isnan(one.values).all()
        assert "the noise of a prompt's score is unknown" in one.columns()["note"][0]
        assert np.isfinite(one.scores).all()


def test_prompteval_beats_the_mean_of_what_was_seen():
    """A guarantee by seeded simulation: no interaction on the logit scale, a fifth of the cells."""
    rng = np.random.default_rng(6)
    theta, beta = rng.normal(0, 0.7, (10, 1, 40)), rng.normal(0, 1.5, (10, 60, 1))
    p = 1 / (1 + np.exp(-(theta - beta)))
    asked = draw_balanced_cells(60, 40, 480)
    n = np.broadcast_to(asked.astype(int), p.shape)
    total = rng.binomial(n, p).astype(float)
    cube = Cube("b", *(tuple(map(str, range(size))) for size in p.shape), n, total, total)
    truth = p.mean(axis=1)
    raw = total.sum(axis=1) / n.sum(axis=1)
    off = root_mean_square(prompteval(cube).scores - truth)
    assert off < 0.85 * root_mean_square(raw - truth)
    assert off < root_mean_square(prompteval(cube, penalty=1).scores - truth)


def test_prompteval_refuses_what_it_cannot_take():
    with pytest.raises(InputError, match=r"needs scores in \[0, 1\]"):
        prompteval(Cube.from_means("b", ["m"], ["v"], np.array([[3.0]])))
    cube = binary(np.random.default_rng(7).random((1, 3, 3)), 1, np.random.default_rng(7))
    with pytest.raises(InputError, match="penalty 0"):
        prompteval(cube, penalty=0)
    with pytest.raises(InputError, match="level 1, draws 400; allowed: between 0 and 1, 1 or more"):
        prompteval(cube, level=1)


def test_each_quantile_has_its_benchmark_and_level():
    columns = prompteval(binary(np.full((2, 6, 5), 0.5), 2, np.random.default_rng(1)), level=0.9, draws=20).columns()
    assert columns["benchmark"].tolist() == ["b"] * 10
    assert columns["level"].tolist() == [0.9] * 10
    assert columns["model"].tolist() == ["0"] * 5 + ["1"] * 5


def test_a_prompt_whose_estimated_score_is_below_0_counts_as_one_of_0():
    """A prompt that was wrong on two questions of which others were right: least squares puts it at -0.6."""
    n = np.array([[[1, 1, 1, 1, 0, 0, 1, 0], [0, 0, 0, 1, 1, 0, 1, 1], [0, 0, 1, 0, 0, 1, 0, 1]]])
    total = np.zeros(n.shape)
    total[0, 1, [3, 6, 7]] = 1
    found = prompteval(Cube("b", ("m",), tuple("pqr"), tuple("stuvwxyz"), n, total, total), draws=20)
    assert np.all((found.low > 0) & (found.low < found.values) & (found.values < found.high) & (found.high < 1))
