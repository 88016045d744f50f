"""Swaps of models over prompts, effects of values, PromptEval: slow versions, theory, seeded simulation."""

import numpy as np
import pytest
from oracles import variants as oracle

from howsure.errors import InputError
from howsure.stats.core.cube import Cube
from howsure.stats.prompts.components import estimate_components
from howsure.stats.prompts.effects import estimate_effects
from howsure.stats.prompts.prompteval import draw_balanced_cells, prompteval
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
    assert "cannot be told apart" in one.columns()["note"][0]
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
        "no variant in common"
        in estimate_rank_flips(Cube.from_means("b", "ab", "uvw", apart, questions="qrst")).columns()["note"][0]
    )


def test_effects_against_least_squares_and_planted_values():
    rng = np.random.default_rng(3)
    values = {
        "separator": rng.choice(["comma", "line", "tab"], 60).tolist(),
        "enumerator": rng.choice(["A", "1"], 60).tolist(),
    }
    planted = np.array([{"comma": -0.03, "line": 0.0, "tab": 0.03}[v] for v in values["separator"]])
    x = np.stack([0.6 + planted + rng.normal(0, 0.01, 60), 0.6 + rng.normal(0, 0.01, 60)])
    found = estimate_effects("b", ["a", "b"], x, values)
    slow = oracle.effects(x[0].tolist(), values)
    ours = dict(zip(zip(found.dimensions, found.values, strict=True), found.effect[0], strict=True))
    assert ours == pytest.approx(slow)
    between = found.interval()
    assert between.low[0, found.values.index("tab")] > 0
    assert found.share[0, 0] > 0.7
    assert abs(found.share[1, 0]) < 0.2
    assert found.columns()["effect"].shape == (10,)


def test_coverage_of_effects():
    """A guarantee by seeded simulation."""
    rng = np.random.default_rng(4)
    values = {"d": rng.choice(["a", "b"], 20).tolist()}
    x = rng.normal(0, 1, (500, 20)) + np.array([{"a": 0.3, "b": -0.3}[v] for v in values["d"]])
    found = estimate_effects("b", [str(i) for i in range(500)], x, values).interval()
    assert np.mean((found.low[:, 0] <= 0.3) & (found.high[:, 0] >= 0.3)) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 500)


def test_effects_that_are_none_are_rarely_claimed():
    """A guarantee by seeded simulation: any of three dimensions' values, 400 models that no value matters to."""
    rng = np.random.default_rng(5)
    values = {name: rng.choice(list("abc"), 40).tolist() for name in ("d", "e", "f")}
    columns = estimate_effects("b", [str(i) for i in range(400)], rng.normal(0, 1, (400, 40)), values).columns()
    share = {name: np.mean(columns[name].reshape(400, 9).min(axis=1) < 0.05) for name in ("p_value", "p_holm")}
    assert share["p_holm"] < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)
    assert share["p_value"] > 0.15


SPACE = {"enumerator": 6, "wrapper": 4, "separator": 7, "order": 5}


def points(S, rng):
    """S points of a space of the size of multiple-choice's, as they are drawn: uniform and independent."""
    return {name: [f"{name}{v}" for v in rng.integers(0, size, S)] for name, size in SPACE.items()}


def test_few_draws_are_fitted_by_each_dimension_itself():
    """A slow version: one-way analysis of variance, a dimension at a time; one model lacks variants."""
    rng = np.random.default_rng(8)
    values, x = points(20, rng), rng.normal(0.6, 0.05, (2, 20))
    x[1, 3] = np.nan
    found = estimate_effects("b", ["m", "n"], x, values)
    assert found.separate.tolist() == [True, True]
    for m in range(2):
        there = ~np.isnan(x[m])
        for name, each in values.items():
            slow = oracle.effects_alone(x[m, there].tolist(), [v for v, seen in zip(each, there, strict=True) if seen])
            at = [i for i, of in enumerate(found.dimensions) if of == name and found.n_variants[m, i] > 0]
            if len(at) < sum(of == name for of in found.dimensions):
                assert np.isnan(found.effect[m, at]).all()  # a value that it lacks is in the mean over values
                continue
            expected = np.array([slow[found.values[i]] for i in at])
            assert found.effect[m, at] == pytest.approx(expected[:, 0])
            assert found.variance[m, at] == pytest.approx(expected[:, 1])
            assert found.df[m, at].tolist() == expected[:, 2].tolist()
    told = found.columns()["note"]
    assert all(
        "dimension fitted by itself: the others are noise" in note for note in told[~np.isnan(found.effect.ravel())]
    )
    # theory: a mean and 18 coefficients; from 37 draws on as many degrees of freedom as these are left
    for S, alone in ((36, True), (37, False)):
        many = {name: rng.permutation(np.arange(S) % size).astype(str).tolist() for name, size in SPACE.items()}
        assert estimate_effects("b", ["m"], rng.normal(0, 1, (1, S)), many).separate.tolist() == [alone]


def test_effects_from_twenty_draws_are_unbiased_and_covered():
    """A guarantee by seeded simulation: planted effects in four dimensions, 500 samples of 20 points each."""
    rng, samples = np.random.default_rng(9), 500
    planted = {name: rng.normal(0, 0.03, size) for name, size in SPACE.items()}
    truth_of = {f"{name}{v}": effect for name, each in planted.items() for v, effect in enumerate(each)}
    off, covered, share = {name: [] for name in truth_of}, [], []
    for _ in range(samples):
        values = points(20, rng)
        x = 0.6 + sum(np.array([truth_of[v] for v in each]) for each in values.values()) + rng.normal(0, 0.02, 20)
        found = estimate_effects("b", ["m"], x, values, total=[0.01])
        assert found.separate.all()
        raw, of = np.array([truth_of[v] for v in found.values]), np.array(found.dimensions)
        truth = raw - np.array([raw[of == name].mean() for name in of])
        for name, error in zip(found.values, found.effect[0] - truth, strict=True):
            off[name].append(error)
        between = found.interval()
        covered.append(np.mean((between.low[0] <= truth) & (truth <= between.high[0])))
        squares = np.mean(truth[of == "wrapper"] ** 2)
        share.append(found.share[0, of == "wrapper"][0] * 0.01 - squares)
    for each in (*off.values(), share, np.array(covered) - 0.95):
        assert abs(np.mean(each)) < 4 * np.std(each) / np.sqrt(len(each))


def test_effects_that_cannot_be_told():
    x = np.array([[0.1, 0.2, 0.3, np.nan, 0.5, 0.4, 0.3, 0.2], [np.nan] * 8])
    same = ["a", "b", "b", "a", "a", "b", "b", "b"]
    found = estimate_effects(
        "b", ["m", "n"], x, {"one": ["x"] * 8, "own": list("12345678"), "d": same, "twin": same}, total=[0.01, 0.01]
    )
    assert found.left_out == {"one": "it has one value", "own": "8 values in 8 variants"}
    assert np.isnan(found.effect).all()
    notes = found.columns()["note"]
    assert "cannot be told from other values" in notes[0]
    assert "drawn fewer than 3 times" in notes[0]
    assert "own left out: 8 values" in notes[0]
    assert len(estimate_effects("b", ["m"], x[:1], {"one": ["x"] * 8}).values) == 0
    with pytest.raises(InputError, match="scores have shape"):
        estimate_effects("b", ["m"], x, {})


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
    [(0.1, 0.1, 0.6, 0.075), (0.3, 0.1, 0.65, 0.052), (0.3, 0.3, 0.6, 0.032), (0.6, 0.3, 0.95, 0.027)],
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
    with pytest.raises(InputError, match="budget is 10; allowed: from 0 to 9"):
        draw_balanced_cells(3, 3, 10)
