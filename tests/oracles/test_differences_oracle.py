"""Two models that differ on few questions: the oracles as printed elsewhere, and `compare` against the oracles."""

import math
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import differences as oracle
from scipy import optimize, stats

import howsure as hs

# Models that answer alike are what many of these tests are about, which `compare` says in a line.
pytestmark = pytest.mark.filterwarnings("ignore:a and b have the same scores on every question")

#: Questions that only the first model answers, only the second, and all.
TABLES = [
    (0, 0, 10),
    (1, 0, 10),
    (3, 0, 100),
    (0, 5, 30),
    (2, 2, 20),
    (6, 16, 161),
    (10, 0, 10),
    (4, 6, 10),
    (7, 1, 21),
]


def answers_of(b, c, n):
    """b questions that only the first answers, c that only the second does; the others are answered by both in turn."""
    first, second = [1.0] * b + [0.0] * c, [0.0] * b + [1.0] * c
    rest = [float(i % 2) for i in range(n - b - c)]
    return np.array([first + rest, second + rest])


def cells_of(total, k=1):
    models, questions = ("a", "b"), tuple(map(str, range(total.shape[1])))
    return hs.Cells("differences", models, questions, np.full(total.shape, k), total, total)


def compared(total, k=1, **choices):
    return {name: values[0] for name, values in hs.compare(cells_of(total, k), "a", "b", **choices).columns().items()}


# ---- the oracles themselves


def test_intervals_as_another_program_prints_them():
    """Complete response before and after consolidation therapy, 6 and 16 of 161: tests of R's contingencytables."""
    assert oracle.tango(6, 16, 161, 0.95) == pytest.approx((-0.1240, -0.0054), abs=5e-5)


def test_tango_in_closed_form_where_no_question_differs():
    """difference^2 n = z^2 difference (1 - difference) at p21 = 0, so that the limit is z^2/(n + z^2)."""
    z2 = NormalDist().inv_cdf(0.975) ** 2
    assert oracle.tango(0, 0, 50, 0.95) == pytest.approx((-z2 / (50 + z2), z2 / (50 + z2)), rel=1e-12)


@pytest.mark.parametrize(("b", "c", "n"), TABLES)
@pytest.mark.parametrize("difference", [-0.7, -0.05, 0.0, 0.2, 0.9])
def test_most_likely_chances_against_the_published_root(b, c, n, difference):
    """Tango (1998): the larger root of 2 n p^2 + (-b - c + (2 n - b + c) difference) p - c difference (1 - difference)."""
    B, C = -b - c + (2 * n - b + c) * difference, -c * difference * (1 - difference)
    root = (math.sqrt(max(B**2 - 8 * n * C, 0.0)) - B) / (4 * n)
    assert oracle.restricted_chance(b, c, n, difference) == pytest.approx(max(root, 0.0, -difference), abs=1e-9)


@pytest.mark.parametrize(("b", "c", "n"), TABLES)
def test_tango_by_another_root_finder_and_mirrored(b, c, n):
    low, high = oracle.tango(b, c, n, 0.9)
    assert oracle.tango(c, b, n, 0.9) == pytest.approx((-high, -low), abs=1e-9)
    if b < n:
        z = NormalDist().inv_cdf(0.95)
        root = optimize.brentq(lambda x: oracle.score_statistic(b, c, n, x) + z, (b - c) / n + 1e-9, 1 - 1e-9)
        assert high == pytest.approx(root, abs=1e-7)


# ---- the public function, methods by name


@pytest.mark.parametrize(("b", "c", "n"), TABLES)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_tango_by_name(b, c, n, level):
    row = compared(answers_of(b, c, n), level=level, method="tango")
    assert row["method"] == "tango"
    assert (row["low"], row["high"]) == pytest.approx(oracle.tango(b, c, n, level), abs=1e-7)


@pytest.mark.long
@settings(max_examples=40)
@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 40))
def test_tango_on_any_table(b, c, rest):
    n = b + c + rest
    if n < 2:
        return
    row = compared(answers_of(b, c, n), method="tango")
    assert (row["low"], row["high"]) == pytest.approx(oracle.tango(b, c, n, 0.95), abs=1e-7)
    assert (row["p_value"] < 0.05) == (row["low"] > 0 or row["high"] < 0)


def test_p_value_of_tango_is_mcnemars_score_test():
    for b, c, n in ((6, 16, 161), (7, 1, 21), (2, 2, 20)):
        z = (b - c) / math.sqrt(b + c)
        row = compared(answers_of(b, c, n), method="tango")
        assert row["p_value"] == pytest.approx(2 * NormalDist().cdf(-abs(z)), rel=1e-9)


def test_tango_refuses_several_generations_and_partial_credit():
    with pytest.raises(hs.InputError, match="generation"):
        compared(np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 2.0]]), k=2, method="tango")
    partial = np.array([[0.5, 1.0, 0.0], [0.0, 1.0, 0.0]])
    questions = tuple("123")
    cells = hs.Cells("differences", ("a", "b"), questions, np.ones((2, 3), dtype=int), partial, partial**2)
    with pytest.raises(hs.InputError, match="0 or 1|0 and 1|binary"):
        hs.compare(cells, "a", "b", method="tango")


# ---- the default, by what it must keep


@pytest.mark.parametrize("n", [10, 30, 1000])
@pytest.mark.parametrize("k", [1, 5])
def test_models_that_answer_alike_have_an_interval_but_no_detectable_difference_of_zero(n, k):
    total = np.tile(np.arange(n) % 2 * float(k), (2, 1))
    row = compared(total, k)
    assert -1 < row["low"] < 0 < row["high"] < 1
    assert row["high"] == pytest.approx(-row["low"], rel=1e-9)
    assert row["p_value"] == pytest.approx(1.0)
    assert row["detectable"] != 0


def test_interval_of_identical_answers_shrinks_with_the_number_of_questions():
    widths = []
    for n in (10, 100, 1000):
        row = compared(answers_of(0, 0, n))
        widths.append(row["high"] - row["low"])
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] < 0.02


@pytest.mark.parametrize("method", [None, "t"])
def test_p_value_agrees_with_the_interval_at_every_level(method):
    for (b, c), level in product([(3, 0), (5, 0), (5, 1), (8, 2)], [0.8, 0.9, 0.95, 0.99]):
        row = compared(answers_of(b, c, 60), level=level, method=method)
        if not math.isnan(row["p_value"]):
            assert (row["p_value"] < 1 - level) == (row["low"] > 0 or row["high"] < 0), (b, c, level)


@pytest.mark.parametrize("k", [1, 3])
def test_swapping_the_models_mirrors_the_interval(k):
    rng = np.random.default_rng(k)
    total = rng.binomial(k, 0.3, (2, 15)).astype(float)
    one, other = compared(total, k), compared(total[::-1], k)
    assert (one["low"], one["high"]) == pytest.approx((-other["high"], -other["low"]), rel=1e-10)


@pytest.mark.parametrize(("b", "c"), [(2, 0), (3, 0), (5, 0), (3, 1), (10, 0)])
@pytest.mark.parametrize("n", [30, 100])
def test_default_covers_where_few_questions_differ(b, c, n):
    """Exact coverage at the true difference (b - c)/n, by enumeration; Student's t covers .80 at 3, 0."""
    covered = 0.0
    most_b, most_c = (25, 12) if b == 10 else (18, 9 if c else 0)
    log_factorial = [math.lgamma(i + 1) for i in range(n + 1)]
    for B, C in product(range(most_b + 1), range(most_c + 1 if c else 1)):
        if n < B + C:
            continue
        log_chance = log_factorial[n] - log_factorial[B] - log_factorial[C] - log_factorial[n - B - C]
        log_chance += B * math.log(b / n) + (C * math.log(c / n) if c else 0) + (n - B - C) * math.log1p(-(b + c) / n)
        row = compared(answers_of(B, C, n))
        covered += math.exp(log_chance) * (row["low"] <= (b - c) / n <= row["high"])
    assert covered >= 0.93


def test_student_t_by_name_is_that_of_scipy():
    total = answers_of(5, 2, 40)
    row = compared(total, method="t")
    interval = stats.ttest_rel(*total).confidence_interval(0.95)
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), rel=1e-9)
