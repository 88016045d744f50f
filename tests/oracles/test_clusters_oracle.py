"""Clusters: the oracle against closed forms, and `score`, `compare`, `pairs` and `rank` against the oracle."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import clusters as oracle
from oracles import score_intervals
from scipy import stats

import howsure as hs

REPOSITORIES = (114, 77, 23, 23, 17, 16, 6, 6, 6, 5, 4, 3)
SIZES = [(5, 3, 1), (20, 2, 2, 2), (1, 1, 1, 1), (4, 4, 4), (7, 1), REPOSITORIES]


def names_of(sizes):
    return [f"c{g}" for g, size in enumerate(sizes) for _ in range(size)]


def values_of(sizes, seed=0):
    """Question means that leave [0, 1], so that no interval is cut: each cluster has a part of its own."""
    rng = np.random.default_rng([seed, *sizes])
    return 3 * np.repeat(rng.normal(size=len(sizes)), sizes) + rng.normal(size=sum(sizes))


def cells_of(rows, clusters, counts=None):
    """One score per model and question; `counts` 0 where a model missed the question."""
    y = np.atleast_2d(np.asarray(rows, dtype=float))
    n = np.ones(y.shape, dtype=int) if counts is None else np.asarray(counts)
    models, questions = (tuple(map(str, range(size))) for size in y.shape)
    y = np.where(n > 0, y, 0)
    return hs.Cells("clusters", models, questions, n, y, y**2, clusters=tuple(clusters))


def first_row(result):
    return {name: values[0] for name, values in result.columns().items()}


# ---- the oracle itself


@pytest.mark.parametrize("sizes", SIZES)
def test_variance_and_df_in_closed_form(sizes):
    """The formulas for a mean that clubSandwich tests itself against: residual sums divided by sqrt(1 - n/N)."""
    y, clusters, N, n = values_of(sizes), names_of(sizes), sum(sizes), np.array(sizes)
    sums = [sum(y[i] - y.mean() for i in range(N) if clusters[i] == name) for name in dict.fromkeys(clusters)]
    variance = sum(s**2 / (1 - size / N) for s, size in zip(sums, sizes, strict=True)) / N**2
    third = np.sum(n**3 / (N - n) ** 2)
    df = N**2 / (N**2 * np.sum(n**2 / (N - n) ** 2) - 2 * N * third + np.sum(n**2 / (N - n)) ** 2)
    assert oracle.cr2(y, clusters) == pytest.approx((variance, df), rel=1e-9)


def test_equal_clusters_are_the_sandwich_with_one_df_less_than_clusters():
    sizes = (4,) * 6
    y, clusters = values_of(sizes), names_of(sizes)
    plain = score_intervals.clustered_se([[value] for value in y], clusters) ** 2
    assert oracle.cr2(y, clusters) == pytest.approx((plain * 6 / 5, 5), rel=1e-12)


def test_clusters_of_one_question_are_student_t():
    y = values_of((1,) * 9)
    assert oracle.cr2_interval(y, range(9), 0.9) == pytest.approx(
        stats.t.interval(0.9, 8, loc=y.mean(), scale=stats.sem(y)), rel=1e-12
    )


def test_degrees_of_freedom_of_swe_bench_lite():
    assert oracle.cr2(values_of(REPOSITORIES), names_of(REPOSITORIES))[1] == pytest.approx(3.51, abs=0.005)


def test_variance_is_unbiased_for_independent_questions():
    """E[V] = sigma^2/N over every outcome of seven fair coins in clusters of 4, 2 and 1."""
    clusters = names_of((4, 2, 1))
    expected = np.mean([oracle.cr2(coins, clusters)[0] for coins in product((0, 1), repeat=7)])
    assert expected == pytest.approx(0.25 / 7, rel=1e-12)


def test_covariance_gives_the_variance_of_a_difference():
    x, y, clusters = values_of((5, 3, 1), 1), values_of((5, 3, 1), 2), names_of((5, 3, 1))
    covariance = oracle.cr2_covariance([x, y], clusters)
    difference = covariance[0][0] + covariance[1][1] - 2 * covariance[0][1]
    assert difference == pytest.approx(oracle.cr2(x - y, clusters)[0], rel=1e-10)


# ---- the public functions


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_score(sizes, level):
    y, clusters = values_of(sizes), names_of(sizes)
    row = first_row(hs.score(cells_of(y, clusters), level=level, method="t"))
    assert (row["low"], row["high"]) == pytest.approx(oracle.cr2_interval(y, clusters, level), rel=1e-9)
    assert row["df"] == pytest.approx(oracle.cr2(y, clusters)[1], rel=1e-9)


@pytest.mark.parametrize("sizes", SIZES)
def test_score_on_shuffled_questions_of_which_some_are_missing(sizes):
    y, clusters = values_of(sizes), names_of(sizes)
    rng = np.random.default_rng(3)
    order = rng.permutation(len(y))
    y, clusters = y[order], [clusters[i] for i in order]
    there = rng.random(len(y)) < 0.8
    there[[clusters.index("c0"), clusters.index("c1")]] = True
    row = first_row(hs.score(cells_of(y, clusters, [there.astype(int)]), method="t"))
    kept = [name for name, use in zip(clusters, there, strict=True) if use]
    assert (row["low"], row["high"]) == pytest.approx(oracle.cr2_interval(y[there], kept, 0.95), rel=1e-9)
    assert row["df"] == pytest.approx(oracle.cr2(y[there], kept)[1], rel=1e-9)


@pytest.mark.parametrize("sizes", SIZES)
def test_compare(sizes):
    a, b, clusters = values_of(sizes, 1), values_of(sizes, 2), names_of(sizes)
    row = first_row(hs.compare(cells_of([a, b], clusters), "0", "1", method="t"))
    variance, df = oracle.cr2(a - b, clusters)
    assert (row["low"], row["high"]) == pytest.approx(oracle.cr2_interval(a - b, clusters, 0.95), rel=1e-9)
    assert row["df"] == pytest.approx(df, rel=1e-9)
    t = np.mean(a - b) / math.sqrt(variance)
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-8)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 9), min_size=2, max_size=6))
def test_all_pairs_on_the_questions_that_both_answered(seed, sizes):
    clusters, N = names_of(sizes), sum(sizes)
    rng = np.random.default_rng(seed)
    y = np.array([values_of(sizes, model) for model in range(4)])
    there = rng.random((4, N)) < 0.7
    columns = hs.pairs(cells_of(y, clusters, there.astype(int)), method="t").columns()
    for i in range(len(columns["model_a"])):
        a, b = int(columns["model_a"][i]), int(columns["model_b"][i])
        both = there[a] & there[b]
        kept = [name for name, use in zip(clusters, both, strict=True) if use]
        if len(set(kept)) < 2:
            assert math.isnan(columns["low"][i])
            assert math.isnan(columns["p_value"][i])
            continue
        d = (y[a] - y[b])[both]
        if oracle.cr2(d, kept)[0] < 1e-12:
            continue
        expected = oracle.cr2_interval(d, kept, 0.95)
        assert (columns["low"][i], columns["high"][i]) == pytest.approx(expected, rel=1e-7)


def test_scores_in_the_unit_interval_have_the_degrees_of_freedom_too():
    """Of the same cluster means, unequal clusters must give a wider interval than t on G - 1 gives."""
    clusters = names_of(REPOSITORIES)
    rng = np.random.default_rng(5)
    answers = (rng.random(300) < np.repeat(rng.uniform(0.2, 0.8, 12), REPOSITORIES)).astype(float)
    row = first_row(hs.score(cells_of(answers, clusters)))
    variance, df = oracle.cr2(answers, clusters)
    t_width = 2 * stats.t.ppf(0.975, df) * math.sqrt(variance)
    assert row["df"] == pytest.approx(df, rel=1e-9)
    assert 0 <= row["low"] < answers.mean() < row["high"] <= 1
    assert row["high"] - row["low"] == pytest.approx(t_width, rel=0.25)


def test_few_degrees_of_freedom_are_noted():
    y = values_of(REPOSITORIES)
    many = values_of((5,) * 20)
    assert "degrees of freedom" in first_row(hs.score(cells_of(y, names_of(REPOSITORIES)), method="t"))["note"]
    assert "degrees of freedom" not in first_row(hs.score(cells_of(many, names_of((5,) * 20)), method="t"))["note"]


def test_one_cluster_has_no_interval_and_a_reason():
    row = first_row(hs.score(cells_of(values_of((6,)), ["all"] * 6), method="t"))
    assert math.isnan(row["low"])
    assert math.isnan(row["high"])
    assert "cluster" in row["note"]


def test_clusters_do_not_enter_the_claim_of_these_questions():
    rng = np.random.default_rng(6)
    total = rng.binomial(4, 0.6, (2, 12)).astype(float)
    n, questions = np.full((2, 12), 4), tuple(map(str, range(12)))
    alone = hs.Cells("clusters", ("0", "1"), questions, n, total, total)
    together = hs.Cells("clusters", ("0", "1"), questions, n, total, total, clusters=tuple("aaaaaabbbbcc"))
    for result in (
        lambda cells: hs.score(cells, claim="these-questions"),
        lambda cells: hs.compare(cells, "0", "1", claim="these-questions"),
    ):
        one, other = first_row(result(alone)), first_row(result(together))
        assert (one["low"], one["high"]) == pytest.approx((other["low"], other["high"]), rel=1e-12)
