"""Exact tests against enumeration of every arrangement of the right generations, against scipy, and by simulation."""

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from scipy import stats

from howsure.stats.gate import compare_means_exactly, compare_questions_exactly


def _enumerate(n, right_n, k, right_k):
    """Yield the difference of the means for every arrangement of the right generations, all equally likely."""
    choices = []
    for baseline, old, candidate, new in zip(n, right_n, k, right_k, strict=True):
        generations = [1] * (old + new) + [0] * (baseline + candidate - old - new)
        places = range(baseline + candidate)
        mine = [sum(generations[i] for i in chosen) for chosen in combinations(places, candidate)]
        choices.append([x / candidate - (old + new - x) / baseline for x in mine])
    for one in product(*choices):
        yield sum(one)


def _observe(n, right_n, k, right_k):
    return sum(new / b - old / a for a, old, b, new in zip(n, right_n, k, right_k, strict=True))


@pytest.mark.parametrize(
    ("n", "right_n", "k", "right_k"),
    [
        ([2, 2, 2], [2, 1, 1], [2, 2, 2], [0, 1, 0]),
        ([3, 3], [3, 2], [3, 3], [1, 2]),
        ([1, 1, 1, 1, 1], [1, 1, 1, 0, 1], [1, 1, 1, 1, 1], [0, 0, 1, 1, 0]),
        ([4, 4], [4, 4], [2, 2], [1, 0]),
        ([3, 3, 3], [0, 1, 2], [3, 3, 3], [1, 3, 3]),
    ],
)
def test_the_mean_of_equal_numbers_is_the_share_of_arrangements(n, right_n, k, right_k):
    differences = np.array(list(_enumerate(n, right_n, k, right_k)))
    expected = np.mean(differences <= _observe(n, right_n, k, right_k) + 1e-9)
    arrays = [np.array(values) for values in (n, right_n, k, right_k)]
    assert compare_means_exactly(*arrays) == pytest.approx(expected, abs=1e-12)


def _convolve_whole_numbers(n, k, margins):
    """Return the numbers of arrangements with each sum of right generations of the candidate, in whole numbers."""
    ways = [1]
    for m in margins:
        own = [comb(k, x) * comb(n, m - x) if m - x >= 0 else 0 for x in range(k + 1)]
        longer = [0] * (len(ways) + k)
        for i, count in enumerate(ways):
            for x, more in enumerate(own):
                longer[i + x] += count * more
        ways = longer
    return ways


@pytest.mark.parametrize(("n", "k"), [(30, 30), (12, 24), (40, 3)])
def test_the_mean_of_many_generations_is_the_share_of_arrangements_in_whole_numbers(n, k):
    """The transform is shorter than the possible sums here; what it leaves out is less than 1e-14."""
    rng = np.random.default_rng(n)
    margins = rng.binomial(n + k, rng.beta(0.7, 0.7, 30))
    margins = margins[(margins > 0) & (margins < n + k)]
    ways = _convolve_whole_numbers(n, k, margins.tolist())
    below = np.cumsum(np.array(ways, dtype=object))
    lows, highs = np.maximum(margins - n, 0), np.minimum(margins, k)
    for observed in np.linspace(lows.sum(), highs.sum(), 40).astype(int):
        # Numbers of right generations of the candidate with this sum, one question after the other.
        x, left = lows.copy(), observed - lows.sum()
        for i in range(len(x)):
            more = min(left, highs[i] - lows[i])
            x[i], left = x[i] + more, left - more
        p = compare_means_exactly(np.full(len(x), n), margins - x, np.full(len(x), k), x)
        expected = float(Fraction(int(below[observed]), int(below[-1])))
        assert p == pytest.approx(max(expected, 1e-12), rel=1e-9, abs=3e-13)


def test_the_mean_of_unequal_numbers_is_drawn_close_to_the_share_of_arrangements():
    n, right_n, k, right_k = [3, 2, 4], [3, 1, 2], [2, 3, 3], [1, 0, 1]
    differences = np.array(list(_enumerate(n, right_n, k, right_k)))
    expected = np.mean(differences <= _observe(n, right_n, k, right_k) + 1e-9)
    arrays = [np.array(values) for values in (n, right_n, k, right_k)]
    assert compare_means_exactly(*arrays) == pytest.approx(expected, abs=5 * np.sqrt(expected / 20_000))


@pytest.mark.parametrize(("worse", "better"), [(8, 0), (9, 2), (30, 12), (3, 5)])
def test_one_generation_of_each_is_the_sign_test(worse, better):
    right_n = np.array([1] * worse + [0] * better + [1] * 50 + [0] * 20)
    right_k = np.array([0] * worse + [1] * better + [1] * 50 + [0] * 20)
    one = np.ones(len(right_n), int)
    expected = stats.binomtest(better, worse + better, 0.5, alternative="less").pvalue
    assert compare_means_exactly(one, right_n, one, right_k) == pytest.approx(expected, rel=1e-9)


def test_nothing_that_varies_shows_nothing():
    five = np.full(3, 5)
    assert compare_means_exactly(five, five, five, five) == 1
    assert compare_questions_exactly(five, five, five, five).p_value.tolist() == [1, 1, 1]
    none = np.zeros(3, int)
    assert np.isnan(compare_means_exactly(five, five, none, none))
    result = compare_questions_exactly(five, five, none, none)
    assert np.isnan(result.p_value).all()
    assert (result.smallest, result.least) == (1, 1)


def test_single_questions_are_fishers_test():
    rng = np.random.default_rng(1)
    n, k = rng.integers(1, 12, 60), rng.integers(1, 12, 60)
    right_n, right_k = rng.binomial(n, 0.7), rng.binomial(k, 0.4)
    result = compare_questions_exactly(n, right_n, k, right_k)
    for i in range(60):
        table = [[right_k[i], k[i] - right_k[i]], [right_n[i], n[i] - right_n[i]]]
        assert result.p_value[i] == pytest.approx(stats.fisher_exact(table, alternative="less").pvalue, rel=1e-7)


def test_the_smallest_p_value_is_adjusted_as_its_distribution_says():
    """The distribution of the smallest p-value by drawing 40,000 arrangements, with scipy's hypergeometric."""
    rng = np.random.default_rng(2)
    n, k = np.full(12, 6), np.full(12, 4)
    right_n, right_k = np.array([6, 5, 3, 2, 6, 6, 0, 1, 4, 4, 5, 6]), np.array([0, 2, 1, 2, 4, 3, 0, 0, 3, 2, 4, 1])
    result = compare_questions_exactly(n, right_n, k, right_k)
    m = right_n + right_k
    x = rng.hypergeometric(m, 10 - m, 4, size=(40_000, 12))
    drawn = stats.hypergeom(10, m, 4).cdf(x)
    for p, adjusted in zip(np.sort(result.p_value)[:1], np.sort(result.p_adjusted)[:1], strict=True):
        share = np.mean(drawn.min(axis=1) <= p + 1e-9)
        assert adjusted == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / 40_000))
    # The second smallest is adjusted for those that are left, and never below the first.
    order = np.argsort(result.p_value, kind="stable")
    share = np.mean(drawn[:, order[1:]].min(axis=1) <= result.p_value[order[1]] + 1e-9)
    assert result.p_adjusted[order[1]] == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / 40_000))
    assert np.all(np.diff(result.p_adjusted[order]) >= 0)
    assert np.all(result.p_adjusted >= result.p_value - 1e-12)


def _step_down(n, right_n, k, right_k):
    """Return the adjusted p-values of Westfall and Wolfinger by loops over scipy's hypergeometric distribution."""
    tests = [stats.hypergeom(a + b, x + y, b) for a, x, b, y in zip(n, right_n, k, right_k, strict=True)]
    attained = [test.cdf(np.arange(test.support()[0], test.support()[1] + 1)) for test in tests]
    p = [float(test.cdf(y)) for test, y in zip(tests, right_k, strict=True)]
    adjusted, largest = np.ones(len(p)), 0.0
    for i in np.argsort(p, kind="stable"):
        none = 1.0
        for j in range(len(p)):
            if p[j] >= p[i] - 1e-9:
                none *= 1 - max([value for value in attained[j] if value <= p[i] + 1e-9], default=0.0)
        adjusted[i] = largest = max(largest, 1 - none)
    return adjusted


@pytest.mark.parametrize(
    ("m", "right_k"), [([12, 28] * 6, [0, 8] * 3 + [2, 10] * 3), ([11] * 6 + [29] * 6, [0] * 3 + [2] * 3 + [9] * 6)]
)
def test_equal_p_values_that_differ_by_rounding_are_one_level(m, right_k):
    """Margins m and 2K - m have the same p-values, apart from the last digit."""
    m, right_k, K = np.array(m), np.array(right_k), np.full(len(m), 20)
    result = compare_questions_exactly(K, m - right_k, K, right_k)
    expected = _step_down(K, m - right_k, K, right_k)
    assert np.all(result.p_adjusted >= result.p_value - 1e-12)
    # Once the smallest p-value that is left is nearly certain to be met, no more is computed: 1.
    np.testing.assert_allclose(result.p_adjusted, expected, atol=1e-6)


def test_one_generation_of_each_can_show_no_single_question():
    one = np.ones(40, int)
    result = compare_questions_exactly(one, one, one, np.zeros(40, int))
    assert result.least > 0.99
    assert result.smallest > 0.99


@pytest.mark.long
def test_the_level_holds_at_every_size():
    rng = np.random.default_rng(3)
    for questions, generations in ((3, 2), (10, 1), (10, 5), (40, 3)):
        means, singles = [], []
        for _ in range(250):
            p = rng.beta(0.8, 0.6, questions)
            k = np.full(questions, generations)
            counts = k, rng.binomial(k, p), k, rng.binomial(k, p)
            means.append(compare_means_exactly(*counts))
            singles.append(compare_questions_exactly(*counts).smallest)
        for values in (means, singles):
            rejected = int(np.sum(np.array(values) <= 0.05))
            assert stats.binomtest(rejected, 250, 0.05, alternative="greater").pvalue > 1e-4


def test_questions_that_one_side_did_not_answer_are_left_out_of_the_mean():
    """The distribution is that of the questions that both answered, to the last digit: it is not drawn."""
    n, right_n, k, right_k = [3, 3, 0, 3], [3, 2, 0, 3], [2, 2, 2, 0], [1, 1, 2, 0]
    expected = np.mean(
        np.array(list(_enumerate(n[:2], right_n[:2], k[:2], right_k[:2])))
        <= _observe(n[:2], right_n[:2], k[:2], right_k[:2]) + 1e-9
    )
    arrays = [np.array(values) for values in (n, right_n, k, right_k)]
    assert compare_means_exactly(*arrays) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("sides", [("n", "k"), ("k", "n")])
def test_the_mean_where_only_one_side_has_equal_numbers_weighs_each_question(sides):
    """By enumeration: a generation of a question with fewer of them counts more."""
    numbers = {sides[0]: ([2, 2, 2], [2, 1, 2]), sides[1]: ([1, 4, 3], [0, 3, 1])}
    (n, right_n), (k, right_k) = numbers["n"], numbers["k"]
    differences = np.array(list(_enumerate(n, right_n, k, right_k)))
    expected = np.mean(differences <= _observe(n, right_n, k, right_k) + 1e-9)
    arrays = [np.array(values) for values in (n, right_n, k, right_k)]
    assert compare_means_exactly(*arrays) == pytest.approx(expected, abs=5 * np.sqrt(expected / 20_000))


def test_a_drawn_p_value_is_never_zero_and_repeats_with_its_seed():
    """Phipson and Smyth (2010): (1 + b)/(1 + B), here with none of the 20,000 draws as low as what was observed."""
    n, k = np.array([12, 11, 12, 12]), np.array([12, 12, 12, 11])
    assert compare_means_exactly(n, n, k, np.zeros(4)) == 1 / 20_001
    right_n, right_k = np.array([7, 6, 9, 5]), np.array([6, 5, 8, 6])
    first, second, third = (compare_means_exactly(n, right_n, k, right_k, seed=seed) for seed in (0, 1, 2))
    assert compare_means_exactly(n, right_n, k, right_k) == first
    assert compare_means_exactly(n, right_n, k, right_k, seed=1) == second
    assert len({first, second, third}) > 1


def _step_down(n, right_n, k, right_k):
    """Return the adjusted p-values of Westfall and Wolfinger (1997) by loops over questions and tables of scipy."""
    tables = []
    for a, x, b, y in zip(n, right_n, k, right_k, strict=True):
        distribution = stats.hypergeom(a + b, x + y, b)
        tables.append(
            (
                [distribution.cdf(i) for i in range(b + 1)],
                [distribution.pmf(i) for i in range(b + 1)],
                distribution.cdf(y),
            )
        )
    adjusted, largest = [0.0] * len(tables), 0.0
    for level in sorted({own for *_, own in tables}):
        none = 1.0
        for cumulative, probability, own in tables:
            if own >= level - 1e-9:
                none *= 1 - sum(p for c, p in zip(cumulative, probability, strict=True) if c <= level + 1e-9)
        largest = max(largest, 1 - none)
        for i, (*_, own) in enumerate(tables):
            if abs(own - level) <= 1e-9:
                adjusted[i] = largest
    return adjusted


@pytest.mark.parametrize("seed", range(6))
def test_all_questions_are_adjusted_step_by_step(seed):
    """Several questions have the same p-value, and some cannot differ at all: those are adjusted to 1."""
    rng = np.random.default_rng(seed)
    n, k = rng.integers(3, 7, 8), rng.integers(3, 7, 8)
    right_n, right_k = rng.binomial(n, 0.8), rng.binomial(k, 0.3)
    right_n[0], right_k[0], n[1:4], k[1:4], right_n[1:4], right_k[1:4] = n[0], k[0], 5, 5, 5, 1
    result = compare_questions_exactly(n, right_n, k, right_k)
    expected = _step_down(n.tolist(), right_n.tolist(), k.tolist(), right_k.tolist())
    assert result.p_adjusted == pytest.approx(expected, abs=1e-9)
    assert result.p_adjusted[0] == 1
