"""The intervals for one score: printed tables, other programs, complete enumeration."""

import math
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.strategies import score_grids
from hypothesis import given
from oracles import components, pairs
from oracles import score_intervals as oracle
from scipy import integrate, stats

F = Fraction
SKEWED = [[0], [0], [1, 0], [0], [1], [0], [1, 0, 0], [0], []]


# ---- a printed table: Newcombe (1998), table I


@pytest.mark.parametrize(
    ("correct", "n", "wilson", "exact"),
    [
        (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
        (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
        (0, 20, (0.0, 0.1611), (0.0, 0.1684)),
        (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
    ],
)
def test_wilson_and_clopper_pearson_as_printed(correct, n, wilson, exact):
    assert oracle.wilson(correct, n, 0.95) == pytest.approx(wilson, abs=5.1e-5)
    assert oracle.clopper_pearson(correct, n, 0.95) == pytest.approx(exact, abs=5.1e-5)
    low, high = oracle.wilson(n - correct, n, 0.95)
    assert (1 - high, 1 - low) == pytest.approx(wilson, abs=5.1e-5)


# ---- another program's output


@pytest.mark.parametrize(("correct", "n"), [(0, 1), (1, 1), (3, 7), (7, 7), (0, 50), (199, 200), (600, 1319)])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_wilson_and_clopper_pearson_against_scipy(correct, n, level):
    result = stats.binomtest(correct, n)
    got, expected = oracle.wilson(correct, n, level), result.proportion_ci(level, "wilson")
    assert got == pytest.approx((expected.low, expected.high), rel=1e-10, abs=1e-12)
    got, expected = oracle.clopper_pearson(correct, n, level), result.proportion_ci(level, "exact")
    assert got == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-12)


def resamples_of(n, times=199):
    """Index lists that anyone can make again: a linear congruence."""
    state, lists = 12345, []
    for _ in range(times):
        picks = []
        for _ in range(n):
            state = (1103515245 * state + 12345) % 2**31
            picks.append((state >> 16) % n)
        lists.append(picks)
    return lists


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(
    ("method", "interval"), [("percentile", oracle.percentile_interval), ("BCa", oracle.bca_interval)]
)
@pytest.mark.parametrize("questions", [SKEWED, [[0.5], [0.125, 0.875], [2.5], [-1.0], [0.25], [0.75]], [[1], [0]]])
def test_bootstrap_against_scipy(questions, method, interval, level):
    p = [float(x) for x in components.question_means(questions)]
    resamples = resamples_of(len(p))

    def exact_mean(x):  # so that means which tie exactly tie as floats too
        return float(sum(map(F, x)) / len(x))

    ours = SimpleNamespace(bootstrap_distribution=np.array([exact_mean([p[q] for q in picks]) for picks in resamples]))
    theirs = stats.bootstrap(
        (p,),
        exact_mean,
        vectorized=False,
        n_resamples=0,
        method=method,
        confidence_level=level,
        bootstrap_result=ours,
    ).confidence_interval
    assert interval(questions, resamples, level) == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-12)


def test_posterior_with_single_generations_is_a_beta():
    """Theory: each question is one Bernoulli(mu), whatever the concentration, so mu ~ Beta(1 + right, 1 + wrong)."""
    for right, wrong in [(0, 5), (3, 4), (20, 1)]:
        questions = [[1]] * right + [[0]] * wrong + [[]]
        got = oracle.beta_binomial_interval(questions, 0.9, n_mu=400, n_s=3)
        assert got == pytest.approx(stats.beta(1 + right, 1 + wrong).interval(0.9), abs=1e-4)


def test_posterior_against_quadrature():
    """Another program's output: scipy's adaptive quadrature over mu and log s, with its own Beta-binomial law."""
    counts = [(2, 2), (0, 2), (1, 3), (3, 3)]
    questions = [[1] * c + [0] * (k - c) for c, k in counts]

    def density(log_s, mu):
        s = math.exp(log_s)
        return math.prod(stats.betabinom._pmf(c, k, mu * s, (1 - mu) * s) for c, k in counts)

    def mass(low, high):
        return integrate.dblquad(density, low, high, math.log(0.1), math.log(100), epsabs=1e-7, epsrel=1e-5)[0]

    low, high = oracle.beta_binomial_interval(questions, 0.8, n_mu=100, n_s=40)
    total = mass(1e-9, low) + mass(low, high) + mass(high, 1 - 1e-9)
    assert mass(1e-9, low) / total == pytest.approx(0.1, abs=2e-4)
    assert mass(high, 1 - 1e-9) / total == pytest.approx(0.1, abs=2e-4)


@pytest.mark.long
def test_default_grid_is_fine_enough():
    questions = [[1, 1, 1], [0, 0, 1], [1, 0, 1], [1, 1], [0, 1]] * 4
    default = oracle.beta_binomial_interval(questions, 0.95)
    assert oracle.beta_binomial_interval(questions, 0.95, n_mu=700, n_s=100) == pytest.approx(default, abs=5e-5)


# ---- theory


def test_clopper_pearson_covers_at_every_p():
    """Guarantee by complete enumeration: every outcome of 12 questions at every hundredth."""
    n, level = 12, 0.9
    intervals = [oracle.clopper_pearson(c, n, level) for c in range(n + 1)]
    wilson = [oracle.wilson(c, n, level) for c in range(n + 1)]
    least, average = 1.0, 0.0
    for i in range(1, 100):
        p = i / 100
        chances = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
        covered = [
            sum(ch for ch, (low, high) in zip(chances, ends, strict=True) if low <= p <= high)
            for ends in (intervals, wilson)
        ]
        least = min(least, covered[0])
        average += covered[1] / 99
    assert least >= level
    assert average == pytest.approx(level, abs=0.02)


def test_all_resamples_have_the_plugin_variance():
    """All N^N resamples: mean of the means is the mean, their variance is var(p, ddof=0)/N, the CLT's SE^2."""
    questions = [[1, 0], [1, 1, 0], [1], []]
    values = oracle.bootstrap_means(questions, list(product(range(3), repeat=3)))
    assert sum(values) / 27 == components.mean_score(questions)
    variance = sum((v - components.mean_score(questions)) ** 2 for v in values) / 27
    assert variance == components.variance_of_means(questions) / 3


def test_bootstrap_of_equal_questions_is_a_point_and_one_sided_is_unknown():
    assert oracle.bca_interval([[1], [1]], [[0, 0], [0, 1], [1, 1]], 0.9) == (1.0, 1.0)
    assert all(math.isnan(end) for end in oracle.bca_interval([[1], [0]], [[0, 0], [0, 0]], 0.9))
    assert oracle.acceleration([F(1, 2)]) == 0.0


def test_quantile_by_hand():
    assert [oracle.grid_quantile([0.25, 0.75], p) for p in (0.125, 0.25, 0.625)] == [0.25, 0.5, 0.75]
    assert oracle.grid_quantile([0.5, 0.4999], 1.0) == 1.0  # what rounding has lost is at the upper end
    assert [oracle.quantile([4, 1, 2], p) for p in (0, 0.25, 0.5, 0.75, 1)] == [1, 1.5, 2, 3, 4]


def test_default_method():
    assert oracle.default_method([[1]] * 300) == "clt"
    assert oracle.default_method([[1]] * 299 + [[]]) == "beta-binomial"
    assert oracle.default_method([[1], [0.5]]) == "t"


# ---- clusters


def test_clusters_by_hand():
    questions = [[1], [1, 0], [], [0], [0, 1]]  # p = 1, 1/2, 0, 1/2: deviations 1/2, 0, -1/2, 0
    assert oracle.clustered_se(questions, "aazbb") == pytest.approx(math.sqrt(2 * F(1, 4)) / 4, rel=1e-15)
    assert oracle.clustered_se(questions, "abzab") == 0.0  # +1/2 and -1/2 in one cluster
    assert oracle.clustered_interval(questions, "aazbb", 0.95) == pytest.approx(
        (0.5 - 1.959964 * 0.1767767, 0.5 + 1.959964 * 0.1767767), abs=1e-6
    )


@given(score_grids(min_models=2, max_models=2, kind="partial"))
def test_clusters_are_the_sum_over_pairs_of_one_cluster(scores):
    """Miller's own form: SE^2 = (1/N^2) sum over q, r in the same cluster of (p_q - mean)(p_r - mean)."""
    a, b = scores
    names = [q % 3 for q in range(len(a))]
    p = components.question_means(a)
    kept = [name for name, row in zip(names, a, strict=True) if row]
    center = components.mean_score(a)
    total = sum((p[q] - center) * (p[r] - center) for q, r in product(range(len(p)), repeat=2) if kept[q] == kept[r])
    assert oracle.clustered_se(a, names) == pytest.approx(math.sqrt(total) / len(p), rel=1e-12)
    alone = list(range(len(a)))
    assert oracle.clustered_se(a, alone) == pytest.approx(components.se_new_questions(a), rel=1e-12)
    if pairs.differences(a, b):
        assert oracle.clustered_paired_se(a, b, alone) == pytest.approx(pairs.summary(a, b)["se"], rel=1e-12)
        assert oracle.clustered_paired_se(a, b, names) == oracle.clustered_paired_se(b, a, names)


def test_clustered_variance_over_every_draw_of_clusters():
    """C clusters of two questions drawn from three kinds: E[SE^2] = (1 - 1/C) Var(mean), every draw enumerated."""
    kinds, C = [(F(0), F(0)), (F(1), F(1)), (F(1), F(0))], 3
    draws = list(product(kinds, repeat=C))
    means = [sum(sum(c) for c in draw) / (2 * C) for draw in draws]
    center = sum(means) / len(means)
    variance = sum((m - center) ** 2 for m in means) / len(means)
    squares = [
        oracle.clustered_se([[x] for c in draw for x in c], [i for i in range(C) for _ in range(2)]) ** 2
        for draw in draws
    ]
    assert sum(squares) / len(squares) == pytest.approx(float((1 - F(1, C)) * variance), rel=1e-12)
