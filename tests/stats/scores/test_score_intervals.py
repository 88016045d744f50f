"""Wilson, exact, Bayesian bootstrap and clustered intervals, of scores and of differences."""

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

from howsure.errors import InputError, UnknownNameError
from howsure.stats.comparisons.pairs import compare, pairs
from howsure.stats.core.cells import Cells
from howsure.stats.scores import expected_error, independent_error
from howsure.stats.scores.clusters import cluster_means, clustered_pairs
from howsure.stats.scores.score import score
from howsure.stats.scores.score_intervals import bootstrap_limits, clopper_pearson, wilson


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


# ---- the Bayesian bootstrap


def limits_of(rows, level=0.95):
    """Limits of each list of question values, of models whose numbers of questions differ."""
    longest = max(map(len, rows))
    values = np.array([[*row, *[0.5] * (longest - len(row))] for row in rows], float)
    there = np.arange(longest) < np.array([len(row) for row in rows])[:, None]
    return np.array(bootstrap_limits(values, there, level)).T


def test_single_answers_have_jeffreys_interval_and_clopper_pearsons_at_the_ends():
    n, level = 23, 0.9
    found = limits_of([[1] * c + [0] * (n - c) for c in range(n + 1)], level)
    for c, (low, high) in enumerate(found):
        if c in {0, n}:
            exact = stats.binomtest(c, n).proportion_ci(level, method="exact")
            assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-12)
        else:
            assert (low, high) == pytest.approx(stats.beta.interval(level, c + 0.5, n - c + 0.5), abs=1e-12)
    between = score(cells_of([[[0]] * 300, [[1]] * 300, [[1]] * 150 + [[0]] * 150])).interval()
    assert between.high[0] == pytest.approx(0.0122, abs=5e-5)  # the exact limit of 0 of 300
    assert between.low[1] == pytest.approx(1 - between.high[0], abs=1e-12)
    assert set(between.method) == {"bayesian-bootstrap"}


def shapes_of_values():
    rng = np.random.default_rng(3)
    wavering = rng.binomial(8, rng.beta(0.6, 0.4, 60)) / 8
    return {
        "one": [0.4],
        "two": [0.31, 0.3],
        "both ends": [0, 0.5, 1],
        "small": [1e-3] * 10,
        "nearly all right": [1] * 40 + [0.875, 0.5],
        "narrow": np.clip(rng.normal(0.9, 0.05, 40), 0, 1),
        "a rare 0": [0, *np.clip(rng.normal(0.9, 0.05, 40), 0, 1)],
        "eight generations": wavering,
        "many values": rng.beta(0.6, 0.4, 300),
        "many narrow values and a 0": [0, *np.clip(rng.normal(0.9, 0.03, 299), 0, 1)],
        "many nearly all right": [1] * 298 + [0.9, 0.98],
    }


@pytest.mark.parametrize("values", shapes_of_values().values(), ids=shapes_of_values())
def test_the_bayesian_bootstrap_against_imhofs_integral_and_draws_of_weights(values):
    """Two slow versions: the same chance by another integral, on the real axis, and 40,000 draws of the weights."""
    rng = np.random.default_rng(4)
    points, shapes = np.array([*values, 0, 1]), [*[1] * len(values), 0.5, 0.5]
    weights = rng.standard_gamma(shapes, (40_000, len(points)))
    drawn = weights @ points / weights.sum(axis=1)
    for level in (0.5, 0.95, 0.999):
        tail = (1 - level) / 2
        [(low, high)] = limits_of([values], level)
        if len(values) > 9:  # with fewer, Imhof's integrand falls too slowly
            assert oracle.chance_above(low, points, shapes) == pytest.approx(1 - tail, abs=1e-3 * tail)
            assert oracle.chance_above(high, points, shapes) == pytest.approx(tail, abs=1e-3 * tail)
        error = math.sqrt(tail * (1 - tail) / len(drawn))
        assert np.mean(drawn < low) == pytest.approx(tail, abs=4 * error)
        assert np.mean(drawn > high) == pytest.approx(tail, abs=4 * error)


@given(score_grids(kind="partial"), st.randoms(use_true_random=False))
def test_the_bayesian_bootstrap_depends_on_the_values_of_a_model_alone(grid, random):
    """Another order of questions, other models beside it, right for wrong: the same limits; a higher level is wider."""
    rows = [[float(np.mean(scores)) for scores in questions if scores] for questions in grid]
    rows = [row for row in rows if row]
    if not rows:
        return
    found = limits_of(rows)
    assert limits_of([random.sample(row, len(row)) for row in rows]) == pytest.approx(found, abs=1e-10)
    assert np.vstack([limits_of([row]) for row in rows]) == pytest.approx(found, abs=1e-10)
    mirrored = limits_of([[1 - value for value in row] for row in rows])
    assert 1 - mirrored[:, ::-1] == pytest.approx(found, abs=1e-10)
    means = np.array([np.mean(row) for row in rows])
    wider = limits_of(rows, 0.99)
    assert np.all((wider[:, 0] <= found[:, 0]) & (found[:, 0] <= means + 1e-12))
    assert np.all((means <= found[:, 1] + 1e-12) & (found[:, 1] <= wider[:, 1]))


def test_the_bayesian_bootstrap_needs_scores_from_0_to_1_and_a_level():
    outside = score(cells_of([[[0.5], [2]]]), method="bayesian-bootstrap").columns()
    assert math.isnan(outside["low"][0])
    assert "it needs scores in [0, 1]" in outside["note"][0]
    with pytest.raises(InputError, match="level is 0"):
        limits_of([[0.5]], 0)
    assert np.isnan(np.array(bootstrap_limits(np.ones((2, 3)), np.zeros((2, 3), bool)))).all()


def draw_of(name, size, rng):
    """Question values of many evaluations, and their expectation; what the old intervals covered is in the names."""
    N = size[1]
    if name == "saturated with repeats":  # one or two questions that no generation gets right, others always right
        return (rng.random(size) > 1.5 / N).astype(float), 1 - 1.5 / N
    if name == "rare 0":
        return np.where(rng.random(size) < 0.03, 0, np.clip(rng.normal(0.9, 0.05, size), 0, 1)), 0.97 * 0.8996
    p = np.where(rng.random(size) < 0.9, 1, rng.random(size))
    right = rng.binomial(10, p)
    pairs_right = right * (right - 1) / 90
    return pairs_right, 0.9 + 0.1 / 3


@pytest.mark.parametrize(
    ("name", "N", "lowest"),
    [
        ("saturated with repeats", 100, 0.95),
        ("rare 0", 50, 0.94),
        ("rare 0", 100, 0.92),
        ("pass^2 of strong", 30, 0.93),
    ],
)
def test_the_bayesian_bootstrap_covers_where_few_questions_are_informative(name, N, lowest):
    """Guarantee by simulation, 2,000 evaluations; the intervals before covered .80, .79, .91 and .90."""
    values, true = draw_of(name, (2000, N), np.random.default_rng(6))
    low, high = bootstrap_limits(values, np.ones(values.shape, bool))
    assert np.mean((low <= true) & (true <= high)) > lowest


def test_graded_scores_that_reach_no_end_have_the_limits_of_t_in_a_note():
    rng = np.random.default_rng(5)
    narrow = [[float(x)] for x in np.clip(rng.normal(0.8, 0.03, 50), 0, 0.95)]
    table = score(cells_of([narrow, [[0.0], *narrow[1:]], [[0.0], [1.0], *narrow[2:]]]))
    by_t = score(table.cells, method="t").interval()
    note = table["note"][list(table["model"]).index("m0")]
    assert f"if no question can score 0 or 1, t has {by_t.low[0]:.4f} to {by_t.high[0]:.4f}" in note
    assert table.interval().low[0] < by_t.low[0]
    assert "no question can" not in table["note"][list(table["model"]).index("m2")]
    assert not any("no question can" in text for text in score(table.cells, method="t")["note"])


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
    with pytest.raises(InputError, match="method 'bayesian-bootstrap' does not know clusters; use 'clt' or 't'"):
        score(cells, method="bayesian-bootstrap")
    with pytest.raises(InputError, match="method 'wilson' makes the claim 'new-questions' only"):
        score(cells_of([[[1], [0]]]), method="wilson", claim="single-run")
    with pytest.raises(InputError, match="method 'tango' makes the claim"):
        pairs(cells, method="tango")
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


@pytest.mark.parametrize("k", [1, 3])
def test_these_questions_without_a_repeat_have_the_exact_interval_of_their_answers(k):
    """A sum of right answers of different probabilities varies less than a binomial one (Hoeffding 1956)."""
    table = score(cells_of([[[1] * k] * 15 + [[0] * k] * 5]), claim="these-questions").interval()
    exact = stats.binomtest(15, 20).proportion_ci(method="exact")
    assert (table.low[0], table.high[0]) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert table.method.tolist() == ["exact"]
