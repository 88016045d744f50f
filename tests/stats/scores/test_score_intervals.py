"""Wilson, exact, Beta-binomial, bootstrap and clustered intervals, of scores and of differences."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.strategies import score_grids
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import pairs as paired_oracle
from oracles import score_intervals as oracle
from scipy import stats
from scipy.optimize import brentq

from howsure.errors import InputError, UnknownNameError
from howsure.stats.comparisons.pairs import compare, pairs
from howsure.stats.core.cells import Cells
from howsure.stats.scores import expected_error, independent_error, score_intervals
from howsure.stats.scores.clusters import cluster_means, clustered_pairs
from howsure.stats.scores.score import score
from howsure.stats.scores.score_intervals import clopper_pearson, wilson


def cells_of(grid, clusters=None):
    names = [f"q{j}" for j in range(len(grid[0]))]
    cells = Cells.from_scores("grid", [f"m{i}" for i in range(len(grid))], names, grid)
    return cells if clusters is None else replace(cells, clusters=tuple(clusters))


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.8, 0.95]))
def test_wilson_and_exact_against_the_oracle_and_scipy(counts, level):
    correct, n = counts
    for ours, theirs, name in ((wilson, oracle.wilson, "wilson"), (clopper_pearson, oracle.clopper_pearson, "exact")):
        low, high = (float(end) for end in ours(correct, n, level))
        assert (low, high) == pytest.approx(theirs(correct, n, level), abs=1e-7)
        scipys = stats.binomtest(correct, n).proportion_ci(level, method=name)
        assert (low, high) == pytest.approx((scipys.low, scipys.high), abs=1e-9)


def test_wilson_and_exact_are_for_single_right_or_wrong_answers():
    cells = cells_of([[[1], [0], [1], [1]], [[1], [0, 1], [1], [1]]])
    between = score(cells, method="wilson").interval()
    assert (between.low[0], between.high[0]) == pytest.approx(oracle.wilson(3, 4, 0.95), abs=1e-7)
    assert math.isnan(between.low[1])
    notes = score(cells, method="exact").columns()["note"]
    assert sum("no interval by exact for such scores" in note for note in notes) == 1
    assert sum("it needs one generation per question, scored 0 or 1" in note for note in notes) == 1
    for score_of_all in (0, 1):  # all alike, twice each: no limit on one side alone
        alike = score(cells_of([[[score_of_all] * 2] * 5]), method="exact").columns()
        assert np.isnan([alike["low"][0], alike["high"][0]]).all()
        assert "no interval by exact for such scores: it needs one" in alike["note"][0]


def test_beta_binomial_is_for_right_or_wrong_answers():
    between = score(cells_of([[[1], [0], [1, 1], [1, 0]]]), method="beta-binomial").interval()
    assert 0 < between.low[0] < 0.7 < between.high[0] < 1
    assert math.isnan(score(cells_of([[[0.5], [0]]]), method="beta-binomial").interval().low[0])


@given(score_grids(kind="binary", max_models=3, min_models=2))
def test_bootstrap_against_the_oracle_on_the_same_draws(grid):
    """A slow version: each draw's mean question by question, on the very draws that were made."""
    cells = cells_of(grid)
    counts = np.concatenate([c for _, c in score_intervals._counts(len(cells.questions), 40, 3)])
    values = score_intervals.draw_scores(cells, n_draws=40, seed=3)
    low, high = score_intervals.percentile_limits(cells, 0.9, n_draws=40, seed=3)
    accelerated = score_intervals.bca_limits(cells, 0.9, n_draws=40, seed=3)
    for m, questions in enumerate(grid):
        place = np.cumsum([bool(row) for row in questions]) - 1
        drawn = [np.repeat(place, c.astype(int) * [bool(row) for row in questions]).tolist() for c in counts]
        assert np.isnan(values[:, m]).tolist() == [not picks for picks in drawn]
        if all(drawn):
            assert values[:, m] == pytest.approx([float(x) for x in oracle.bootstrap_means(questions, drawn)])
            assert (low[m], high[m]) == pytest.approx(oracle.percentile_interval(questions, drawn, 0.9))
            if all(len(row) in {0, 1, 2, 4} for row in questions):  # means exact in binary: ties are ties
                expected = oracle.bca_interval(questions, drawn, 0.9)
                assert (accelerated[0][m], accelerated[1][m]) == pytest.approx(expected, nan_ok=True, abs=1e-9)


def test_bootstrap_errors_are_the_usual_ones_and_blocks_do_not_matter(monkeypatch):
    """Theory: the bootstrap variance of a mean is var(p)/N, of a difference var(d)/N."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 1, 200)
    grid = [[list(rng.binomial(1, q, 4)) for q in p] for _ in range(3)]
    cells = cells_of(grid)
    ours = pairs(cells)
    errors = score_intervals.paired_errors(cells)
    assert errors[ours.a, ours.b] == pytest.approx(np.sqrt(ours.variance), rel=0.03)
    se, low, high = score_intervals.paired_percentile_limits(cells, ours.a, ours.b, 0.95)
    assert se == pytest.approx(errors[ours.a, ours.b], rel=1e-3)
    assert (low, high) == (pytest.approx(ours.interval().low, abs=0.01), pytest.approx(ours.interval().high, abs=0.01))
    by_method = pairs(cells, method="bootstrap").interval()
    assert by_method.low == pytest.approx(low)
    assert set(by_method.method) == {"bootstrap"}
    whole = score_intervals.draw_scores(cells, n_draws=50, seed=1)
    monkeypatch.setattr(score_intervals, "_BLOCK", 1400)
    assert score_intervals.draw_scores(cells, n_draws=50, seed=1) == pytest.approx(whole)


def test_bootstrap_of_scores_that_do_not_vary_claims_nothing():
    cells = cells_of([[[1], [1]], [[1], [0]]])
    between = score(cells, method="bootstrap").interval()
    assert np.isnan(between.low).tolist() == [True, False]
    same = compare(cells_of([[[1], [0]], [[1], [0]]]), "m0", "m1", method="bootstrap").interval()
    assert math.isnan(same.low[0])


def test_bootstrap_of_ragged_models():
    grid = [[[1], [0], [], [1]], [[], [0], [1], [0]]]
    with pytest.raises(InputError, match="different missing questions"):
        score_intervals.paired_errors(cells_of(grid))
    whole = [[[1], [0], [1], [0]] * 10, [[0], [0], [1], [0]] * 9 + [[], [], [], []]]
    se, low, high = score_intervals.paired_percentile_limits(cells_of(whole), np.array([0]), np.array([1]), 0.95)
    assert low[0] < 0.25 < high[0]
    assert se[0] == pytest.approx(compare(cells_of(whole), "m0", "m1").columns()["se"][0], rel=0.05)
    with pytest.raises(InputError, match="n_draws is 1; allowed: 2 or more"):
        score_intervals.draw_scores(cells_of(grid), n_draws=1)


def expected_cr2(values, names):
    return oracle.cr2(values, names) if len(set(names)) > 1 else (math.nan, math.nan)


@given(score_grids(min_models=2, max_models=3), st.data())
def test_clustered_errors_against_the_oracle(grid, data):
    """Slow version: whole hat matrices and their roots, on the questions that are there."""
    N = len(grid[0])
    clusters = data.draw(st.lists(st.sampled_from("abc"), min_size=N, max_size=N))
    cells = cells_of(grid, clusters)
    ours, result = score(cells), pairs(cells)
    for i, questions in enumerate(grid):
        names = [c for c, row in zip(clusters, questions, strict=True) if row]
        variance, df = expected_cr2([np.mean(row) for row in questions if row], names)
        assert ours.variance[i] == pytest.approx(variance, abs=1e-10, nan_ok=True)
        assert ours.df[i] == pytest.approx(df, rel=1e-9, nan_ok=True)
        assert ours.n_clusters[i] == len(set(names))
    for row, (i, j) in enumerate(zip(result.a, result.b, strict=True)):
        both = [(c, np.mean(a) - np.mean(b)) for c, a, b in zip(clusters, grid[i], grid[j], strict=True) if a and b]
        names = [name for name, _ in both]
        variance, df = expected_cr2([d for _, d in both], names)
        assert result.variance[row] == pytest.approx(variance, abs=1e-10, nan_ok=True)
        assert result.df[row] == pytest.approx(df, rel=1e-9, nan_ok=True)
        assert result.n_clusters[row] == len(set(names))


@given(score_grids(min_models=2, max_models=3), st.data())
def test_all_pairs_at_once_are_the_pairs_one_by_one(grid, data):
    N = len(grid[0])
    cells = cells_of(grid, data.draw(st.lists(st.sampled_from("abcd"), min_size=N, max_size=N)))
    a, b = np.triu_indices(len(grid), 1)
    fast, slow = clustered_pairs(cells, a, b), cluster_means(cells.mean[a] - cells.mean[b], cells.clusters)
    for mine, theirs in zip(fast, slow, strict=True):
        assert mine == pytest.approx(theirs, nan_ok=True, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("G", "size"), [(2, 3), (5, 4), (12, 1)])
def test_clusters_of_equal_size_have_the_variance_of_miller_and_one_df_fewer_than_clusters(G, size):
    """SE^2 of Miller (2024) times G/(G - 1), and t on G - 1."""
    y = np.random.default_rng(G).random((1, G * size))
    names = [str(j // size) for j in range(G * size)]
    found = cluster_means(y, names)
    sums = (y - y.mean()).reshape(G, size).sum(axis=1)
    assert found.variance[0] == pytest.approx(np.sum(sums**2) / (G * size) * G / (G - 1), rel=1e-12)
    assert found.df[0] == pytest.approx(G - 1, rel=1e-12)


def test_one_cluster_with_nearly_all_questions_leaves_one_degree_of_freedom():
    cells = cells_of([[[1], [0], [1], [1], [0], [1], [0]]] * 2, ["a"] * 6 + ["b"])
    row = score(cells).columns()
    assert row["df"].tolist() == pytest.approx([1, 1])
    assert 0 <= row["low"][0] < row["score"][0] < row["high"][0] <= 1
    assert "fewer than 5 degrees of freedom: read the interval with care" in row["note"][0]
    alone = cells_of([[[1], [0], [1]], [[0], [0], [1]]], "aaa")
    for ask in (score, pairs):
        row = ask(alone).columns()
        assert np.isnan([row[name][0] for name in ("se", "low", "high", "df")]).all()
        assert "all questions in one cluster: the spread over clusters is unknown" in row["note"][0]
        assert "questions in clusters" not in row["note"][0]


def test_notes_on_clusters_say_what_they_do_to_the_error_of_each_claim():
    cells = cells_of([[[1, 0], [0], [1]], [[0], [0], [1]]], "abc")
    for ask in (score, pairs):
        for claim in ("new-questions", "single-run"):
            assert (
                "questions in clusters: the error is for new clusters" in ask(cells, claim=claim).columns()["note"][0]
            )
        note = ask(cells, claim="these-questions").columns()["note"][0]
        assert "clusters do not enter the error on these questions" in note
        assert "questions in clusters" not in note


def test_scores_that_are_all_right_have_wilsons_interval_for_as_many_clusters_as_the_degrees_of_freedom_say():
    sizes = (40, 5, 3, 2)
    names = [name for name, size in zip("abcd", sizes, strict=True) for _ in range(size)]
    whole = score(cells_of([[[1]] * 50], names))
    n, quantile = whole.df[0] + 1, stats.t.ppf(0.975, whole.df[0])
    assert 2 < n < 4
    between = whole.interval()
    assert (between.low[0], between.high[0]) == pytest.approx((n / (n + quantile**2), 1))


@example([[[0.0]], [[0.01, 0.01, 0.01]]])
@example([[[-0.01, 0.02]], [[1.0]]])
@given(score_grids(min_models=2, max_models=3))
def test_clusters_of_one_question_are_no_clusters(grid):
    """The same intervals; the squared error is the one that divides by N - 1, which t makes of the usual one."""
    alone = cells_of(grid, map(str, range(len(grid[0]))))
    for ask in (score, pairs):
        for claim in ("new-questions", "single-run", "these-questions"):
            mine, usual = ask(alone, claim=claim, method="t"), ask(cells_of(grid), claim=claim, method="t")
            N = np.where(usual.n_questions > 1, usual.n_questions, np.nan)
            expected = usual.variance
            if claim != "these-questions":
                of_questions = ask(cells_of(grid)).variance  # var(p_q) / N; a single run adds what sampling adds
                expected = of_questions * N / (N - 1) + (usual.variance - of_questions)
            assert mine.variance == pytest.approx(expected, nan_ok=True, abs=1e-10)
            if claim != "single-run":
                assert mine.interval().p_value == pytest.approx(usual.interval().p_value, nan_ok=True, abs=1e-6)
                assert mine.interval().low == pytest.approx(usual.interval().low, nan_ok=True, abs=1e-9)


def test_clustered_intervals_cover_where_the_usual_ones_do_not():
    """Guarantee: 30 clusters of 5 questions that are right or wrong together; 3,000 evaluations."""
    rng = np.random.default_rng(11)
    right = np.repeat(rng.random((3000, 30)) < 0.4, 5, axis=1).astype(float)
    names = tuple(map(str, range(150)))
    every = {"n": np.ones(right.shape, int), "total": right, "total_sq": right}
    models = tuple(map(str, range(3000)))
    plain = Cells("b", models, names, **every)
    clustered = Cells("b", models, names, **every, clusters=tuple(str(j // 5) for j in range(150)))
    covered = {}
    for cells in (plain, clustered):
        between = score(cells).interval()
        covered[cells.clusters is None] = np.mean((between.low <= 0.4) & (between.high >= 0.4))
    assert covered[True] < 0.75
    assert abs(covered[False] - 0.95) < 0.02  # thirty clusters, a discrete law
    assert "questions in clusters" in score(clustered).columns()["note"][0]


def test_clusters_merge_with_their_questions():
    first = cells_of([[[1], [0]]], ["a", "b"])
    assert (first + first).clusters == ("a", "b")
    other = Cells.from_scores("grid", ["m0"], ["q1", "q2"], [[[1], [0]]])
    with pytest.raises(InputError, match="only some of the results have clusters"):
        first + other
    moved = Cells("grid", ("m0",), ("q1",), np.ones((1, 1), int), *(np.ones((1, 1)),) * 2, clusters=("c",))
    with pytest.raises(InputError, match="question 'q1' is in cluster 'b' and in 'c'"):
        first + moved
    with pytest.raises(InputError, match="1 clusters for 2 questions"):
        cells_of([[[1], [0]]], ["a"])


def test_methods_that_do_not_fit_are_refused():
    cells = cells_of([[[1], [0]], [[1], [1]]], ["a", "b"])
    with pytest.raises(InputError, match="method 'bootstrap' does not know clusters; use 'clt' or 't'"):
        score(cells, method="bootstrap")
    with pytest.raises(InputError, match="method 'wilson' makes the claim 'new-questions' only"):
        score(cells_of([[[1], [0]]]), method="wilson", claim="single-run")
    with pytest.raises(InputError, match="method 'bootstrap' makes the claim"):
        pairs(cells, method="bootstrap")
    with pytest.raises(UnknownNameError, match="unknown method 'wilson'"):
        pairs(cells, method="wilson")
    with pytest.raises(InputError, match="the questions have no clusters"):
        cluster_means([[1.0, 0.0]], None)
    with pytest.raises(InputError, match="the questions have no clusters"):
        clustered_pairs(cells_of([[[1], [0]], [[1], [1]]]), np.array([0]), np.array([1]))


@given(score_grids(min_models=2, max_models=2, kind="binary", missing=False))
def test_wins_losses_and_ties(grid):
    row = compare(cells_of(grid), "m0", "m1")
    N = len(grid[0])
    expected = sum(np.mean(a) * (1 - np.mean(b)) for a, b in zip(*grid, strict=True)) / N
    assert row.wins_a[0] == pytest.approx(expected, abs=1e-12)
    assert row.wins_a[0] + row.wins_b[0] + row.ties[0] == pytest.approx(1)
    assert row.wins_a[0] + row.wins_b[0] == pytest.approx(float(paired_oracle.disagreement(*grid)), abs=1e-12)


def test_theory_beside_what_was_seen():
    row = compare(cells_of([[[1], [0], [1], [0]], [[1], [1], [0], [0]]]), "m0", "m1")
    assert expected_error((row.score_a + row.score_b) / 2, row.n_questions)[0] == pytest.approx(0.25)
    assert independent_error((row.score_a + row.score_b) / 2, row.n_questions)[0] == pytest.approx(0.25 * math.sqrt(2))


@pytest.mark.parametrize(("N", "k"), [(10, 5), (40, 2)])
def test_the_posterior_of_no_right_answer_by_quadrature(N, k):
    """Nothing is known of r, uniform on (0, 1): a mixture of Beta(1/2, N/f + 1/2) with f = r + (1 - r)/k."""
    r = (np.arange(4000) + 0.5) / 4000
    f = r + (1 - r) / k
    high = brentq(lambda m: stats.beta.cdf(m, 0.5, N / f + 0.5).mean() - 0.975, 0, 1)
    between = score(cells_of([[[0] * k] * N, [[1] * k] * N])).interval()
    assert between.high[0] == pytest.approx(high, abs=2e-4)
    assert between.low.tolist() == pytest.approx([0, 1 - high], abs=2e-4)


def test_a_bootstrap_has_two_draws_at_least():
    cells = cells_of([[[0], [1], [1]]])
    assert score_intervals.draw_scores(cells, n_draws=2).shape == (2, 1)
    with pytest.raises(InputError, match="n_draws is 1"):
        score_intervals.draw_scores(cells, n_draws=1)
