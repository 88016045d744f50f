"""Plans with assurance: the limit of D by hand and by simulation, and the plans of the public function against it."""

import math
from statistics import mean

import numpy as np
import pytest
from oracles import assurance as oracle

import howsure
from howsure.stats.core.cells import Cells

#: Questions of the two models by turns: equal, and one better.
SCORES = [
    [[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 0.0]],
    [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
]


def test_limit_by_hand():
    # d = .5, 0, 0, .5; v = .25, .5, 0, .25; (d - .25)^2 = .0625
    noise = oracle.pair_noise(SCORES)
    assert pytest.approx(4 * 0.0625 / 3 - 0.25) == noise.D
    u = [0.0625 - 0.25, 0.0625 - 0.5, 0.0625, 0.0625 - 0.25]
    squares = sum((x - mean(u)) ** 2 for x in u)
    assert noise.se == pytest.approx(math.sqrt(squares / 3 / 4))
    assert pytest.approx((0.5 + 1.0 + 0.0 + 0.5) / 4) == noise.E
    assert oracle.upper_limit(noise, 0.8) == pytest.approx(noise.D + 0.8416212335729143 * noise.se)
    assert oracle.upper_limit(noise, 0.5) == pytest.approx(noise.D)


def test_fewest_calls_by_hand():
    # k = 1 is the cheapest wherever D > 0; with D = 0, N = 30 takes the k that E needs.
    design = oracle.fewest_calls(1 / 9, 1 / 3, 0.1)
    assert design.k == 1
    assert math.ceil((1.959963984540054 + 0.8416212335729143) ** 2 * 4 / 9 / 0.01) == design.N


def drawn(p, k, rng):
    return [[[float(y) for y in rng.random(k) < chance] for chance in row] for row in p]


@pytest.mark.long
def test_limit_is_above_the_truth_in_about_four_of_five_pilots():
    rng, above, trials = np.random.default_rng(3), 0, 400
    estimates = []
    for _ in range(trials):
        easy = rng.beta(2, 2, 60)
        p = [easy, np.clip(easy + rng.normal(0, 0.2, 60), 0, 1)]
        noise = oracle.pair_noise(drawn(p, 3, rng))
        estimates.append(noise.D)
        above += oracle.upper_limit(noise, 0.8) >= TRUE_D
    assert mean(estimates) == pytest.approx(TRUE_D, abs=4 * np.std(estimates) / math.sqrt(trials))
    assert 0.70 < above / trials < 0.87  # D is skewed, so a normal limit is a little below .8


def _true_d():
    rng = np.random.default_rng(0)
    easy = rng.beta(2, 2, 2_000_000)
    return float(np.var(easy - np.clip(easy + rng.normal(0, 0.2, easy.size), 0, 1)))


TRUE_D = _true_d()


def pilot(scores):
    N = len(scores[0])
    return Cells.from_scores("pilot", ["a", "b"], [f"q{i}" for i in range(N)], scores)


def designs(cells, **more):
    rows = howsure.plan(cells, a="a", b="b", detect=0.05, available=10**6, max_generations=50, **more).columns()
    return int(rows["n_questions"][0]), int(rows["n_generations"][0]), float(rows["calls"][0])


@pytest.mark.parametrize("seed", range(6))
def test_the_plain_plan_is_the_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    easy = rng.beta(2, 2, 60)
    scores = drawn([easy, np.clip(easy + rng.normal(0, 0.2, 60), 0, 1)], 3, rng)
    noise = oracle.pair_noise(scores)
    assert designs(pilot(scores), assurance=None)[2] == oracle.fewest_calls(noise.D, noise.E, 0.05).calls


@pytest.mark.parametrize("seed", range(6))
def test_more_assurance_never_costs_less(seed):
    rng = np.random.default_rng(seed)
    easy = rng.beta(2, 2, 60)
    cells = pilot(drawn([easy, np.clip(easy + rng.normal(0, 0.2, 60), 0, 1)], 3, rng))
    calls = [designs(cells, assurance=assurance)[2] for assurance in (None, 0.8, 0.95)]
    assert calls == sorted(calls)
    assert calls[0] < calls[2]
    assert designs(cells)[2] == calls[1]


def test_assurance_matters_less_with_a_larger_pilot():
    ratios = []
    for N in (30, 1000):
        rng = np.random.default_rng(N)
        easy = rng.beta(2, 2, N)
        cells = pilot(drawn([easy, np.clip(easy + rng.normal(0, 0.2, N), 0, 1)], 5, rng))
        ratios.append(designs(cells, assurance=0.8)[2] / designs(cells, assurance=None)[2])
    assert 1 < ratios[1] < ratios[0]
    assert ratios[1] < 1.2
