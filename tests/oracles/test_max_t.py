"""Rank sets: the step-down method by hand, and the public `rank` between what is surely claimed and what never is."""

import numpy as np
import pytest
from oracles import max_t as oracle
from oracles import pairs as holm_oracle
from scipy import stats

import howsure as hs

# ---- the oracle itself


def test_one_pair_is_the_test_of_signs():
    """Five equal differences: all 32 sign choices; |T*| = |T| in 2 of 32, so that the exact level is 1/16."""
    means = [[1.0, 1.1, 0.9, 1.0, 1.05], [0.0] * 5]
    observed, drawn = oracle.statistics_of_pairs(means, range(5), oracle.signs(5))
    assert list(observed) == [(0, 1)]
    assert observed[0, 1] > oracle.quantile_of_largest(drawn, observed, 30 / 32)
    assert oracle.rejected_pairs(observed, drawn, 0.9) == {(0, 1)}


def test_step_down_by_hand():
    observed = {(0, 1): 5.0, (0, 2): 2.5, (1, 2): 0.4}
    drawn = [{(0, 1): x, (0, 2): y, (1, 2): 0.5} for x in (0.0, 3.0, -4.0, 1.0) for y in (0.0, 1.0, 2.0, -2.0, 1.5)]
    # largest |T*| is 4 in five of twenty draws: (0, 2) is rejected only after (0, 1) is gone
    assert oracle.quantile_of_largest(drawn, observed, 0.9) == 4.0
    assert oracle.quantile_of_largest(drawn, [(0, 2), (1, 2)], 0.9) == 2.0
    assert oracle.rejected_pairs(observed, drawn, 0.9) == {(0, 1), (0, 2)}
    assert oracle.rank_sets(observed, {(0, 1), (0, 2)}, 3) == [(1, 1), (2, 3), (2, 3)]


def test_a_pair_without_variation_claims_nothing():
    observed, _ = oracle.statistics_of_pairs([[1.0, 0.0], [1.0, 0.0], [0.0, 0.5]], range(2), oracle.signs(2))
    assert (0, 1) not in observed


@pytest.mark.long
def test_size_of_the_step_down_method():
    """Four equal models on 40 questions, Gaussian multipliers: a false claim in about one of twenty evaluations."""
    rng = np.random.default_rng(1)
    false = 0
    for _ in range(150):
        means = (rng.normal(size=40) + rng.normal(size=(4, 40))).tolist()
        draws = rng.normal(size=(120, 40)).tolist()
        observed, drawn = oracle.statistics_of_pairs(means, range(40), draws)
        false += bool(oracle.rejected_pairs(observed, drawn, 0.95))
    assert stats.binomtest(false, 150, 0.06).pvalue > 1e-3


# ---- the public function


def holm_rejected(means, clusters, level):
    """Pairs that Holm's method claims with t on the number of clusters less one."""
    observed, _ = oracle.statistics_of_pairs(means, clusters, [])
    df = len(set(clusters)) - 1
    p = {pair: 2 * stats.t.sf(abs(t) * np.sqrt(df / (df + 1)), df) for pair, t in observed.items()}
    adjusted = holm_oracle.holm(list(p.values()))
    return observed, {pair for pair, value in zip(p, adjusted, strict=True) if value <= 1 - level}


def public_sets(means, clusters):
    y = np.array(means)
    models, questions = (tuple(map(str, range(size))) for size in y.shape)
    names = tuple(map(str, clusters))
    cells = hs.Cells("ranks", models, questions, np.ones(y.shape, dtype=int), y, y**2, clusters=names)
    columns = hs.rank(cells).columns()
    rows = zip(columns["model"], columns["rank_low_all"], columns["rank_high_all"], strict=True)
    sets = {int(model): (int(low), int(high)) for model, low, high in rows}
    return [sets[m] for m in range(len(sets))]


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("seed", range(6))
def test_sets_lie_between_holm_at_a_higher_level_and_max_t_at_a_lower_one(seed, size):
    """Six models a few standard errors apart; questions alone, and in equal clusters that vary together."""
    rng = np.random.default_rng([seed, size])
    G = 60
    common = np.repeat(rng.normal(size=(1, G)) + 0.7 * rng.normal(size=(6, G)), size, axis=1)
    means = common + 0.5 * rng.normal(size=(6, G * size)) + np.linspace(0.9, 0, 6)[:, None]
    clusters = np.repeat(np.arange(G), size).tolist()
    observed, surely = holm_rejected(means.tolist(), clusters, 0.995)
    _, drawn = oracle.statistics_of_pairs(means.tolist(), clusters, rng.normal(size=(400, G)).tolist())
    widest = oracle.rank_sets(observed, surely, 6)
    narrowest = oracle.rank_sets(observed, oracle.rejected_pairs(observed, drawn, 0.75), 6)
    for (low, high), (low_w, high_w), (low_n, high_n) in zip(
        public_sets(means, clusters), widest, narrowest, strict=True
    ):
        assert low_w <= low <= low_n
        assert high_n <= high <= high_w
