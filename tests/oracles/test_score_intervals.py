"""The intervals for one score: printed tables, other programs, complete enumeration."""

import math
from fractions import Fraction
from itertools import product

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


def test_a_dirichlet_mean_of_right_and_wrong_answers_is_a_beta():
    for right, wrong in [(1, 4), (3, 4), (20, 1)]:
        values, shapes = [1] * right + [0] * (wrong + 1) + [1], [1] * (right + wrong) + [0.5, 0.5]
        for x in (0.1, 0.4, 0.9):
            expected = stats.beta.sf(x, right + 0.5, wrong + 0.5)
            assert oracle.chance_above(x, values, shapes) == pytest.approx(expected, abs=1e-8)


def test_a_dirichlet_mean_of_two_values_by_quadrature():
    """Another form: the density of W_1, times the chance that W_2 is large enough."""
    x, v = 0.3, 0.6

    def chance(w):  # of the rest 1 - w, a part B ~ Beta(1, 1/2) is the question's
        return stats.beta.sf((x - w) / (v * (1 - w)), 1, 0.5)

    expected = integrate.quad(lambda w: stats.beta.pdf(w, 0.5, 1.5) * chance(w), 0, 1, points=[x])[0]
    assert oracle.chance_above(x, [v, 0, 1], [1, 0.5, 0.5]) == pytest.approx(expected, abs=1e-6)


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
