"""Repeats: a printed result, other programs, exact expectations over every outcome, coverage by seeded simulation."""

import math
import random
from fractions import Fraction
from itertools import product
from statistics import mean, variance

import pytest
from oracles import components, repeats
from oracles.enumeration import bernoulli, expectation, law_mean, law_variance, outcomes
from scipy import stats

F = Fraction
RUNS = [0.83, 0.85, 0.84, 0.80]
BALANCED = [[1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]]  # run means 1/2, 1/2, 3/4


def test_provider_result_as_printed():
    """A printed table: PI section 4, n = 90 each: t = 2.51, p = 0.013."""
    assert repeats.t_two_sided(2.51, 178) == pytest.approx(0.013, abs=5e-4)


@pytest.mark.parametrize(("df", "x"), [(1, 3.841), (2, 5.991), (3, 7.815), (10, 18.307), (29, 42.557), (30, 43.773)])
def test_chi_square_against_the_printed_table(df, x):
    assert repeats.chi_square_tail(x, df) == pytest.approx(0.05, abs=5e-5)


# ---- another program's output


def test_tails_against_scipy():
    for df, x in product([1, 2, 3, 7, 20, 41], [0.0, 0.1, 3.0, 40.0]):
        assert repeats.chi_square_tail(x, df) == pytest.approx(stats.chi2.sf(x, df), rel=1e-11)
    for df, t in product([1, 1.3, 2, 2.7, 5.5, 30, 177.4], [0.0, 0.4, -2.1, 9.0]):
        assert repeats.t_two_sided(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_prediction_interval_against_the_code_printed_in_the_paper(level):
    n = len(RUNS)
    theirs = stats.t.interval(level, n - 1, loc=mean(RUNS), scale=math.sqrt(variance(RUNS) * 2 / n))
    assert repeats.prediction_interval(RUNS, level) == pytest.approx(theirs, rel=1e-10)
    one = stats.t.interval(level, n - 1, loc=mean(RUNS), scale=math.sqrt(variance(RUNS) * (1 + 1 / n)))
    assert repeats.prediction_interval(RUNS, level, 1) == pytest.approx(one, rel=1e-10)
    forever = stats.t.interval(level, n - 1, loc=mean(RUNS), scale=stats.sem(RUNS))
    assert repeats.prediction_interval(RUNS, level, math.inf) == pytest.approx(forever, rel=1e-10)


@pytest.mark.parametrize("b", [[0.84, 0.86, 0.85, 0.81], [0.9, 0.7], [0.75, 0.75, 0.8125]])
def test_two_sample_t_against_scipy(b):
    for pooled in (True, False):
        got, theirs = repeats.two_sample_t(RUNS, b, pooled=pooled), stats.ttest_ind(RUNS, b, equal_var=pooled)
        assert (got["t"], got["df"]) == pytest.approx((theirs.statistic, theirs.df), rel=1e-9)
        assert got["p_value"] == pytest.approx(theirs.pvalue, rel=1e-8)
    assert math.isnan(repeats.two_sample_t([0.5, 0.5], [0.25, 0.25], pooled=True)["t"])


# ---- theory: cases worked by hand


def test_runs_and_drift_by_hand():
    assert repeats.run_means(BALANCED) == [F(1, 2), F(1, 2), F(3, 4)]
    # s^2 of runs = (2 (1/12)^2 + (1/6)^2)/2 = 1/48; s2 = 1/3, 0, 1/3, 1/3, so E/N = (1/4)/4 = 1/16
    row = repeats.drift(BALANCED)
    assert row == {"statistic": pytest.approx(2 / 3), "df": 2, "p_value": pytest.approx(math.exp(-1 / 3))}
    with pytest.raises(ValueError, match="same number"):
        repeats.run_means([[1, 0], [1]])


def test_pooled_interval_by_hand():
    # E/N = 1/16, n = n' = 3, df = 8: half = t_8 sqrt(1/16 * 2/3)
    low, high = repeats.pooled_interval(BALANCED, 0.95)
    assert (low + high) / 2 == pytest.approx(7 / 12)
    assert (high - low) / 2 == pytest.approx(2.306004 * math.sqrt(2 / 48), rel=1e-6)
    # unequal: s2 = 1/2, 1/3 (E = 5/12), var of the mean (1/4 + 1/9)/4, one future run E/2, df = 3
    low, high = repeats.pooled_interval([[1, 0], [1, 1, 0]], 0.95, 1)
    assert (high - low) / 2 == pytest.approx(3.182446 * math.sqrt(13 / 144 + 5 / 24), rel=1e-6)


def test_what_one_run_cannot_say():
    one = [[1], [0]]
    assert all(math.isnan(end) for end in repeats.prediction_interval([F(1, 2)], 0.95))
    assert all(math.isnan(end) for end in repeats.pooled_interval(one, 0.95, 1))
    assert math.isnan(repeats.drift(one)["p_value"])
    assert math.isnan(repeats.drift([[1, 1], [0, 0]])["p_value"])
    assert math.isnan(repeats.stratified_test(one, one)["z"])
    assert math.isnan(repeats.satterthwaite_df([[1, 1], [0, 0]]))


def test_satterthwaite_is_the_plain_sum_when_questions_are_alike():
    assert repeats.satterthwaite_df([[1, 0], [0, 1], [1, 0], [1]]) == 3
    assert repeats.satterthwaite_df([[1, 0], [1, 1], [0, 0]]) == 1  # a question without noise says nothing


def test_stratified_test_by_hand():
    a, b = [[1, 0], [1, 1, 0], [1, 1], []], [[0, 0], [0, 1], [1, 0], [0, 1]]
    row = repeats.stratified_test(a, b)
    # p: 1/2, 2/3, 1 and 0, 1/2, 1/2; s2/k: 1/4, 1/9, 0 and 0, 1/4, 1/4
    assert row["difference"] == pytest.approx(7 / 18)
    assert row["se"] == pytest.approx(math.sqrt(31 / 36) / 3)
    assert row["z"] == pytest.approx((7 / 18) / (math.sqrt(31 / 36) / 3))
    assert row["p_value"] == pytest.approx(2 * stats.norm.sf(row["z"]))
    same = [[1, 1], [0, 0]]
    assert repeats.stratified_test(same, same)["se"] == 0.0
    assert math.isnan(repeats.stratified_test(same, same)["z"])


# ---- theory: exact expectations over every outcome


def test_run_means_and_pooled_variance_estimate_the_same_thing():
    """For fixed questions and independent generations both s_runs^2 and E/N have expectation sum(v_q)/N^2."""
    laws = [bernoulli(F(1, 4)), bernoulli(F(2, 3)), {F(0): F(1, 2), F(1, 2): F(1, 2)}]
    truth = sum(law_variance(law) for law in laws) / 9
    assert expectation(lambda q: variance(repeats.run_means(q)), laws, (2, 2, 2)) == truth
    assert expectation(lambda q: components.prediction_variance(q) / 3, laws, (2, 2, 2)) == truth


def test_stratified_square_is_unbiased():
    laws, counts = [bernoulli(F(1, 4)), bernoulli(F(2, 3)), bernoulli(F(1, 2)), bernoulli(F(1, 3))], (2, 2, 3, 2)
    p = [law_mean(law) for law in laws]
    truth = (p[0] + p[1] - p[2] - p[3]) / 2
    squares = found = 0.0
    for chance, rows in outcomes(laws, counts):
        row = repeats.stratified_test(rows[:2], rows[2:])
        squares += float(chance) * row["se"] ** 2
        found += float(chance) * (row["difference"] - float(truth)) ** 2
    assert squares == pytest.approx(found, rel=1e-12)


# ---- a guarantee by seeded simulation


@pytest.mark.long
def test_coverage_of_both_prediction_intervals_and_size_of_drift():
    rng, trials, N, n = random.Random(5), 600, 25, 3
    p = [(q + 0.5) / N for q in range(N)]
    hits = {"runs": 0, "pooled": 0, "drift": 0}
    for _ in range(trials):
        now, later = ([[int(rng.random() < x) for _ in range(n)] for x in p] for _ in range(2))
        future = float(components.mean_score(later))
        low, high = repeats.prediction_interval(repeats.run_means(now), 0.9)
        hits["runs"] += low <= future <= high
        low, high = repeats.pooled_interval(now, 0.9)
        hits["pooled"] += low <= future <= high
        hits["drift"] += repeats.drift(now)["p_value"] > 0.1
    for share in hits.values():
        assert share / trials == pytest.approx(0.9, abs=4 * math.sqrt(0.09 / trials))


def test_drift_is_seen():
    questions = [[1, 0]] * 12  # the second run got everything wrong that the first got right
    assert repeats.drift(questions)["p_value"] == pytest.approx(math.erfc(math.sqrt(6)), rel=1e-9)
