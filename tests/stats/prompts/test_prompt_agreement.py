"""Agreement of prompts: scipy, loops over pairs, values by hand, seeded simulation."""

from itertools import combinations
from math import factorial
from statistics import mean

import numpy as np
import pytest
from scipy import stats

from howsure.errors import InputError
from howsure.stats.prompts.prompt_agreement import VariantAnswers, estimate_concordance, estimate_prompt_consistency


@pytest.mark.parametrize(("M", "S", "levels"), [(3, 5, 1000), (6, 12, 1000), (6, 12, 4)])
def test_concordance_against_scipy(M, S, levels):
    """Another program: Friedman's statistic is S (M - 1) W, with its correction for ties; Spearman's correlations."""
    rng = np.random.default_rng(M)
    scores = rng.integers(0, levels, (M, S)) / levels + np.linspace(0, 0.5, M)[:, None]
    scores = scores.round(2)
    found = estimate_concordance("b", tuple("abcdef"[:M]), scores)
    assert found.kendall_w * S * (M - 1) == pytest.approx(stats.friedmanchisquare(*scores).statistic)
    if levels == 1000:  # without ties the mean of Spearman's correlations is a function of W
        pairs = [stats.spearmanr(scores[:, s], scores[:, t]).statistic for s, t in combinations(range(S), 2)]
        assert found.mean_correlation == pytest.approx(np.mean(pairs))
        # the interval by leaving out one variant after the other
        each = []
        for s in range(S):
            rest = [t for t in range(S) if t != s]
            pairs = [stats.spearmanr(scores[:, a], scores[:, b]).statistic for a, b in combinations(rest, 2)]
            each.append(np.arctanh(np.mean(pairs)))
        se = np.sqrt((S - 1) / S * np.sum((each - np.mean(each)) ** 2))
        middle, half = np.arctanh(found.mean_correlation), stats.t.ppf(0.975, S - 1) * se
        between = found.interval()
        for end, sign in ((between.low[0], -1), (between.high[0], 1)):
            assert end == pytest.approx(np.clip((1 + (S - 1) * np.tanh(middle + sign * half)) / S, 0, 1))


def test_concordance_by_hand():
    """Ranks 1 2 3, 2 1 3 and 1 2 3: sums 4, 5, 9, so W = (12 * 122 - 3 * 9 * 3 * 16) / (9 * 3 * 8) = 168/216."""
    scores = [[0.9, 0.5, 0.8], [0.7, 0.6, 0.7], [0.1, 0.2, 0.3]]
    found = estimate_concordance("b", ("a", "b", "c"), scores)
    assert found.kendall_w == pytest.approx(168 / 216)
    same = estimate_concordance("b", ("a", "b", "c"), [[0.9, 0.8, 0.9, np.nan], [0.5] * 4, [0.4] * 4])
    assert same.kendall_w == 1
    assert same.ranks.shape == (3, 3)  # the variant without a score of one model is left out
    assert same.p_value == pytest.approx(factorial(3) ** -2)
    assert np.isnan(same.interval().low[0])
    assert same.columns()["note"][0] == "all variants give the same order: no interval"
    tied = estimate_concordance("b", ("a", "b"), [[0.5, 0.6, 0.5, 0.6], [0.6, 0.5, 0.6, 0.5]]).columns()
    assert (tied["kendall_w"][0], tied["note"][0]) == (0, "too few different orders for an interval")
    eight = estimate_concordance("b", ("a", "b"), [[0.5] * 8, [0.6] * 7 + [0.4]]).columns()
    assert (eight["kendall_w"][0], eight["note"][0]) == (
        (6 / 8) ** 2,  # of two models: the share of variants of one order less that of the other, squared
        "all variants but one give the same order: no interval",
    )
    two = estimate_concordance("b", ("a", "b"), [[0.5, 0.6], [0.6, 0.5]]).columns()
    assert (two["kendall_w"][0], two["note"][0]) == (0, "two variants: no interval")
    no_order = estimate_concordance("b", ("a", "b"), [[0.5] * 3] * 2).columns()
    assert (no_order["n_variants"][0], no_order["note"][0]) == (3, "all variants tie all models: no order")
    one = estimate_concordance("b", ("a",), [[0.5, 0.6]]).columns()
    assert np.isnan(one["kendall_w"][0])
    assert "fewer than two models" in one["note"][0]
    with pytest.raises(InputError, match="for 3 models"):
        estimate_concordance("b", ("a", "b", "c"), [[0.5, 0.6]])


@pytest.mark.parametrize(("M", "S", "sd"), [(3, 10, 0.5), (10, 20, 2.0)])
def test_concordance_covers_and_keeps_its_level(M, S, sd):
    """A guarantee by seeded simulation: the mean rank correlation of 4,000 other variants, 500 draws of S."""
    rng, models = np.random.default_rng(1), tuple(map(str, range(M)))

    def draw(count, of_models):
        return rng.normal(0, sd, (M, count)) + of_models[:, None]

    ability = np.linspace(0, 1, M)
    truth = estimate_concordance("b", models, draw(4000, ability)).mean_correlation
    covered, level = [], []
    for _ in range(500):
        found = estimate_concordance("b", models, draw(S, ability))
        between = found.interval()
        if not np.isnan(between.low[0]):
            covered.append(between.low[0] <= (1 + (S - 1) * truth) / S <= between.high[0])
        level.append(estimate_concordance("b", models, draw(S, 0 * ability)).p_value < 0.05)
    assert len(covered) > 450
    assert np.mean(covered) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 500)
    assert np.mean(level) < 0.05 + 3 * np.sqrt(0.95 * 0.05 / 500)


def answers_of(given):
    """Counts of `given[model][question][variant]`, a list of answers; None could not be parsed."""
    M, N, S = len(given), len(given[0]), len(given[0][0])
    n = np.array([[[len(cell) for cell in row] for row in model] for model in given])
    names = sorted({a for model in given for row in model for cell in row for a in cell if a is not None})
    entries = [
        (m, q, s, names.index(a), given[m][q][s].count(a))
        for m in range(M)
        for q in range(N)
        for s in range(S)
        for a in sorted({a for a in given[m][q][s] if a is not None})
    ]
    axes = (tuple(f"{kind}{i}" for i in range(count)) for kind, count in zip("mqs", (M, N, S), strict=True))
    return VariantAnswers("b", *axes, n, *np.array(entries).reshape(-1, 5).T)


def test_consistency_by_hand():
    """Model 1: questions A A B (1 of 3 pairs), C C C (3 of 3), unparsed twice and D (0 of 3); model 2: two generations."""
    single = [[["A"], ["A"], ["B"]], [["C"], ["C"], ["C"]], [[None], [None], ["D"]]]
    # halves of A and B in one prompt, all A in another: they agree with probability 1/2; the third is missing
    double = [[["A", "B"], ["A", "A"], []], [["C", "C"], ["C", "C"], ["C", "C"]], [["D", "D"], [], []]]
    found = estimate_prompt_consistency(answers_of([single, double]))
    assert found.rate == pytest.approx([(1 / 3 + 1 + 0) / 3, (1 / 2 + 1) / 2])
    assert found.unanimous == pytest.approx([1 / 3, 1 / 2])
    assert found.n_questions.tolist() == [3, 2]
    assert np.isnan(found.same_prompt[0])
    assert found.same_prompt[1] == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert "one generation per prompt" in found.columns()["note"][0]
    nothing = estimate_prompt_consistency(answers_of([[[["A"], []]]])).columns()
    assert np.isnan(nothing["consistency_rate"][0])
    assert nothing["note"][0] == "no question was answered under two variants"


def test_consistency_against_all_pairs():
    """A slow version: every pair of prompts, every pair of generations; the jackknife by leaving prompts out."""
    rng = np.random.default_rng(2)
    letters = ["A", "B", "C", None]
    given = [[[rng.choice(letters, rng.integers(0, 4)).tolist() for _ in range(6)] for _ in range(8)] for _ in range(2)]

    def rate(model):
        each = []
        for row in model:
            pairs = [
                mean(float(a == b and a is not None) for a in one for b in other)
                for one, other in combinations([cell for cell in row if cell], 2)
            ]
            if pairs:
                each.append(mean(pairs))
        return mean(each), each

    found = estimate_prompt_consistency(answers_of(given))
    assert found.rate == pytest.approx([rate(model)[0] for model in given])
    complete = [[[["A", "B", "C"][i] for i in rng.integers(0, 3, 2)] for _ in range(6)] for _ in range(9)]
    one = estimate_prompt_consistency(answers_of([complete]))
    center, each = rate(complete)
    left_out = [rate([[cell for i, cell in enumerate(row) if i != s] for row in complete])[0] for s in range(6)]
    jackknife = 5 / 6 * sum((x - center) ** 2 for x in left_out)
    assert one.se[0] ** 2 == pytest.approx(np.var(each, ddof=1) / 9 + jackknife)


@pytest.mark.long
def test_consistency_is_covered():
    """A guarantee by seeded simulation: new questions and new prompts, which make answers sharper or vaguer."""
    rng = np.random.default_rng(3)

    def probabilities(M, N, S):
        p = rng.dirichlet([0.5] * 4, (M, N))[:, :, None, :] ** np.exp(rng.normal(0, 0.5, (M, 1, S, 1)))
        return p / p.sum(axis=3, keepdims=True)

    pairs = probabilities(20000, 10, 2)
    truth = np.mean(np.sum(pairs[:, :, 0] * pairs[:, :, 1], axis=2))
    counts = rng.multinomial(2, probabilities(500, 60, 12))
    m, q, s, a = np.nonzero(counts)
    axes = (tuple(map(str, range(size))) for size in counts.shape[:3])
    n = np.full(counts.shape[:3], 2)
    between = estimate_prompt_consistency(VariantAnswers("b", *axes, n, m, q, s, a, counts[m, q, s, a])).interval()
    assert np.mean((between.low <= truth) & (truth <= between.high)) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 500)


@pytest.mark.parametrize(("first", "n"), [(7, 8), (12, 14), (13, 14), (9, 11), (4, 5), (5, 5), (3, 6)])
def test_p_of_two_models_is_that_of_the_sign_test(first, n):
    """Theory: which of two models is ahead is a fair coin for each variant; a variant with a tie says nothing."""
    scores = np.array([[1.0] * first + [0.0] * (n - first) + [0.5], [0.0] * first + [1.0] * (n - first) + [0.5]])
    result = estimate_concordance("b", ("a", "b"), scores)
    expected = stats.binomtest(first, n, 0.5).pvalue
    assert result.p_value == pytest.approx(expected)


def test_two_prompts_have_no_interval():
    between = estimate_concordance("b", ("x", "y", "z"), [[0.9, 0.8], [0.5, 0.6], [0.1, 0.2]]).interval()
    assert np.isnan([between.low, between.high]).all()
