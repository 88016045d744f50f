"""What clusters of questions do beyond a score and a pair: many models at once, plans, variants, several benchmarks."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.long_cases import mark_long
from scipy import special, stats

from howsure.stats.comparisons.combine import combine
from howsure.stats.comparisons.pairs import compare, pairs
from howsure.stats.comparisons.ranking import range_ranks, rank, wrong_order
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.core.intervals import interval
from howsure.stats.planning.pilot import components_from_cells, components_from_cube
from howsure.stats.prompts.components import estimate_components
from howsure.stats.repeats.resampling import convergence
from howsure.stats.scores.clusters import (
    ONE_CLUSTER,
    add_cluster_variance,
    cluster_excess,
    cluster_means,
    clustered_pairs,
    df_of_skewed,
)
from howsure.stats.scores.score import score

#: Questions of SWE-bench Lite by repository.
REPOSITORIES = (114, 77, 23, 23, 17, 16, 6, 6, 6, 5, 4, 3)


def names_of(sizes):
    return tuple(f"c{i}" for i, size in enumerate(sizes) for _ in range(size))


def counted(correct, clusters, k=1):
    total = np.asarray(correct, float)
    M, N = total.shape
    names = tuple(f"m{i}" for i in range(M)), tuple(f"q{j}" for j in range(N))
    return Cells("counted", *names, np.full((M, N), k), total, total, clusters=clusters)


def evaluations(number, models, sizes, *, sd, rng, k=1):
    """Counts of right answers (number, models, N), and the true score: questions and repositories of random difficulty."""
    repository = rng.normal(0, sd, (number, 1, len(sizes)))
    own = rng.normal(0, sd / 2, (number, models, len(sizes)))
    question = rng.normal(0, 1, (number, 1, sum(sizes)))
    logit = -0.5 + np.repeat(repository + own, sizes, axis=2) + question
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    spread = math.sqrt(1 + sd**2 + sd**2 / 4)
    truth = weights @ special.expit(-0.5 + spread * nodes) / weights.sum()
    return rng.binomial(k, special.expit(logit)), truth


@pytest.mark.parametrize(
    ("sizes", "df"), mark_long([(REPOSITORIES, 3.51), ((120, 40, 20, 10, 10), 1.86), ((25,) * 12, 11)], after=1)
)
def test_intervals_cover_with_clusters_of_unequal_size(sizes, df):
    """Guarantee, 3,000 evaluations. The variance of Miller (2024) with t on G - 1 covers less than .87 of unequal ones."""
    correct, truth = evaluations(3000, 2, sizes, sd=0.7, rng=np.random.default_rng(1))
    many = counted(correct[:, 0], names_of(sizes))
    for method in (None, "t"):
        between = score(many, method=method).interval()
        assert 0.925 < np.mean((between.low <= truth) & (truth <= between.high)) < 0.98
        # the kurtosis of the residuals may leave the default fewer
        assert np.median(between.df) == pytest.approx(df, abs=0.01)
        assert np.all(between.df <= df + 0.01)
    differences = cluster_means(correct[:, 0] - correct[:, 1], names_of(sizes))
    half = special.stdtrit(differences.df, 0.975) * np.sqrt(differences.variance / sum(sizes))
    assert 0.935 < np.mean(np.abs(np.mean(correct[:, 0] - correct[:, 1], axis=1)) <= half) < 0.98
    # Miller's variance with t on G - 1, which equal sizes still have, is too short for the others
    y, G = correct[:, 0].astype(float), len(sizes)
    sums = np.add.reduceat(y - y.mean(axis=1, keepdims=True), np.cumsum((0, *sizes[:-1])), axis=1)
    half = special.stdtrit(G - 1, 0.975) * np.sqrt(np.sum(sums**2, axis=1) * G / (G - 1)) / sum(sizes)
    covered = np.mean(np.abs(y.mean(axis=1) - truth) <= half)
    assert covered > 0.93 if len(set(sizes)) == 1 else covered < 0.87


@pytest.mark.long
def test_ranks_of_equal_models_are_kept_where_clusters_are_told():
    """Guarantee: 5 equal models on 60 passages of 5 questions, 500 evaluations; any rank ruled out, nominal .05."""
    sizes, rng = (5,) * 60, np.random.default_rng(8)
    wrong = {True: 0, False: 0}
    for _ in range(500):
        passage = rng.normal(0, 1, 60) + rng.normal(0, 0.7, (5, 60))
        correct = rng.random((5, 300)) < special.expit(np.repeat(passage, sizes, axis=1) + rng.normal(0, 1, 300))
        cells = counted(correct, names_of(sizes))
        for clustered in (True, False):
            ranks = range_ranks(pairs(cells if clustered else replace(cells, clusters=None)))
            wrong[clustered] += bool(np.any((ranks.low_all > 1) | (ranks.high_all < 5)))
    assert wrong[True] / 500 < 0.08
    assert wrong[False] / 500 > 0.09


def test_scores_near_1_in_few_clusters_are_covered():
    """Guarantee: 20 clusters of 5 questions of mean .9, 5 generations; Satterthwaite's df alone cover too little."""
    rng = np.random.default_rng(21)
    p = np.repeat(rng.beta(1.8, 0.2, (4000, 20)), 5, axis=1)
    n = np.full(p.shape, 5)
    total = rng.binomial(n, p).astype(float)
    models, questions = (tuple(map(str, range(size))) for size in p.shape)
    cells = Cells("b", models, questions, n, total, total, clusters=tuple(str(j // 5) for j in range(100)))
    found = score(cells)
    ours = found.interval()
    by_size = interval(
        found.score, np.sqrt(found.variance), found.df + 1, method="wilson-effective", df=found.df, bounds=(0, 1)
    )
    covered = [np.mean((each.low <= 0.9) & (each.high >= 0.9)) for each in (ours, by_size)]
    assert covered[0] > 0.93
    assert covered[0] > covered[1] + 0.01
    assert np.all(ours.df <= 19 + 1e-9)
    assert np.nanmin(df_of_skewed(cells.mean, cells.clusters)) > 2


def test_the_df_that_skewed_residuals_leave_by_hand():
    """Squares over sizes are 3/4 and three times 1/12: 8/(7/3 - 1) degrees of freedom; 1 and twice 1/3: 6/(33/25 - 1)."""
    assert df_of_skewed([[1, 0, 0, 0]], list("abcd")) == pytest.approx(6)
    assert df_of_skewed([[1, 1, 0, 0]], list("aabc")) == pytest.approx(18.75)
    assert df_of_skewed([[1, 1, 0, 0, math.nan]], list("aabcd")) == pytest.approx(18.75)  # nobody answered cluster d


def test_ranks_say_that_they_are_for_new_clusters():
    correct, _ = evaluations(1, 3, REPOSITORIES, sd=1, rng=np.random.default_rng(3))
    cells = counted(correct[0], names_of(REPOSITORIES))
    note = rank(cells).columns()["note"][0]
    assert "questions in clusters: ranks are those on new clusters" in note
    assert "fewer than 5 degrees of freedom" in note
    assert "clusters" not in rank(cells, claim="these-questions").columns()["note"][0]


def test_what_clusters_add_is_the_sum_of_products_within_them():
    """By hand: twice the sum over pairs of one cluster, where sizes are equal and the mean is taken off."""
    y = np.array([[1.0, 0.5, 0.0, 0.25]])
    off = y[0] - y.mean()
    clustered = ((off[0] + off[1]) ** 2 + (off[2] + off[3]) ** 2) / 4 * 2  # G/(G - 1) = 2
    assert cluster_excess(y, list("aabb"))[0] == pytest.approx(clustered - off @ off / 3)
    assert cluster_excess(y, list("abcd"))[0] == pytest.approx(0, abs=1e-15)
    assert np.isnan(cluster_excess(y, ["a"] * 4)).all()


def test_a_plan_from_a_clustered_pilot_has_the_clustered_error():
    correct, _ = evaluations(1, 2, REPOSITORIES, sd=1, rng=np.random.default_rng(6), k=4)
    cells = counted(correct[0], names_of(REPOSITORIES), k=4)
    N = len(cells.questions)
    for models in (("m0",), ("m0", "m1")):
        found = components_from_cells(cells, *models)
        ask = score(cells.select(["m0"])) if len(models) == 1 else compare(cells, *models)
        single = components_from_cells(replace(cells, clusters=None), *models)
        assert float(found.variance(N, 4)) == pytest.approx(ask.variance[0], rel=1e-9)
        assert found.question > 2 * single.question
        assert found.note.startswith("questions in clusters: planned for new clusters of the same sizes")
        these = components_from_cells(cells, *models, claim="these-questions")
        assert these.question == pytest.approx(single.question)
    apart = components_from_cells(cells, "m0", "m1", paired=False)
    assert apart.question == pytest.approx(sum(components_from_cells(cells, model).question for model in ("m0", "m1")))
    alone = components_from_cells(replace(cells, clusters=("c",) * N), "m0")
    assert math.isnan(alone.question)
    assert ONE_CLUSTER in alone.note


def test_wrong_orders_have_the_clustered_error():
    correct, _ = evaluations(1, 2, REPOSITORIES, sd=1, rng=np.random.default_rng(9), k=4)
    cells = counted(correct[0], names_of(REPOSITORIES), k=4)
    expected = components_from_cells(cells, "m0", "m1", paired=True).variance(len(cells.questions), [1, 4])
    for k, square in zip((1, 4), expected, strict=True):
        assert wrong_order(pairs(cells), k)[0] ** 2 == pytest.approx(square)
        assert wrong_order(pairs(cells), k)[0] > wrong_order(pairs(replace(cells, clusters=None)), k)[0]


def test_growing_runs_end_at_the_clustered_error():
    correct, _ = evaluations(1, 1, REPOSITORIES, sd=1, rng=np.random.default_rng(10), k=50)
    cells = counted(correct[0], names_of(REPOSITORIES), k=50)
    found = convergence(cells, (50,), trials=200)
    assert found.se[0, 0] == pytest.approx(np.sqrt(score(cells).variance[0]), rel=0.02)


@pytest.mark.parametrize("nested", [False, True])
def test_the_mean_over_variants_is_for_new_clusters(nested):
    """In these variants the error is that of the question means over variants; components are those of questions."""
    rng, sizes = np.random.default_rng(12), (9, 6, 3, 2)
    clusters = names_of(sizes)
    logit = np.repeat(rng.normal(0, 1.5, 4), sizes)[:, None] + rng.normal(0, 0.5, (20, 1)) + rng.normal(0, 0.2, (1, 6))
    y = rng.binomial(2, special.expit(logit)).astype(float)[None]
    names = ("m",), tuple(f"q{j}" for j in range(20)), tuple(str(s) for s in range(6))
    square = np.where(y == 1, 1.0, y)
    plain = Cube("b", *names, np.full(y.shape, 2), y, square, nested=nested)
    cube = replace(plain, clusters=clusters)
    assert cube.cells().clusters == cube.select(questions=names[1]).clusters == cube.drawn.clusters == clusters
    mine, usual = estimate_components(cube), estimate_components(plain)
    expected = cluster_means(y.mean(axis=2) / 2, clusters)
    assert mine.variance("new-questions")[0] == pytest.approx(expected.variance[0] / 20)
    assert mine.interval("new-questions").df[0] == pytest.approx(expected.df[0])
    for name in ("question", "variant", "interaction", "generation"):
        assert getattr(mine, name)[0] == pytest.approx(getattr(usual, name)[0], nan_ok=True)
    assert np.ptp([mine.interval().low[0], mine.interval().high[0]]) > np.ptp(
        [usual.interval().low[0], usual.interval().high[0]]
    )
    assert "the interval of the mean is for new clusters" in mine.note[0]
    planned = components_from_cube(cube, "m")
    assert planned.question == pytest.approx(usual.question[0] + cluster_excess(y.mean(axis=2) / 2, clusters)[0])
    assert "planned for new clusters of the same sizes" in planned.note
    one = estimate_components(replace(plain, clusters=("c",) * 20))
    assert np.isnan(one.interval().low[0])
    assert ONE_CLUSTER in one.note[0]


def test_benchmarks_with_clusters_are_combined_by_their_clustered_tests():
    rows = []
    for seed, sizes in enumerate([(10,) * 8, (30, 20, 10, 10), (1,) * 40]):
        correct, _ = evaluations(1, 2, sizes, sd=1, rng=np.random.default_rng(20 + seed))
        cells = replace(counted(correct[0], names_of(sizes)), benchmark=f"b{seed}")
        rows.append(compare(cells, "m0", "m1"))
    found = combine(rows)
    for row, z in zip(rows, found.z, strict=True):
        t = row.difference[0] / np.sqrt(row.variance[0])
        assert z == pytest.approx(stats.norm.isf(stats.t.sf(t, row.df[0])))
    # Welch's test of one common difference, with the degrees of freedom of the clusters
    w = np.array([1 / row.variance[0] for row in rows])
    d = np.array([row.difference[0] for row in rows])
    df = np.array([row.df[0] for row in rows])
    q = w @ (d - w @ d / w.sum()) ** 2
    lam = np.sum((1 - w / w.sum()) ** 2 / df)
    f = q / 2 / (1 + 2 * (3 - 2) / (3**2 - 1) * lam)
    assert found.q == pytest.approx(q)
    assert found.q_p == pytest.approx(stats.f.sf(f, 2, (3**2 - 1) / (3 * lam)))
    assert "questions in clusters" in found.columns()["note"][0]


def test_no_question_has_no_clusters():
    nothing = cluster_means(np.zeros((2, 0)), [])
    assert nothing.n_clusters.tolist() == [0, 0]
    assert np.isnan([nothing.variance, nothing.df]).all()


def test_clusters_of_equal_means_are_not_questions_of_equal_scores():
    """By hand: the clusters have means of 1/2, so that nothing is known of their spread, and the questions differ."""
    notes = [
        score(counted([right], ["c", "c", "d", "d"])).columns()["note"][0] for right in ([1, 0, 1, 0], [1, 1, 1, 1])
    ]
    assert "the clusters have equal means: no interval" in notes[0]
    assert "no variation was seen" not in notes[0]
    assert "the clusters have equal means" not in notes[1]


def test_the_error_of_a_clustered_pilot_leads_to_the_upper_limit_of_its_variance():
    """By the definition: V exp(z_.8 error / V) is V df/q, q the 20 % quantile of chi-squared; errors add as squares."""
    rng = np.random.default_rng(4)
    scores = rng.integers(0, 2, (2, 12, 3)).tolist()
    cells = replace(
        Cells.from_scores("b", ["x", "y"], list(map(str, range(12))), scores), clusters=tuple("aaabbbccccdd")
    )
    alone = cluster_means(cells.mean, cells.clusters)
    errors = []
    for row, name in enumerate("xy"):
        _, _, error, _ = add_cluster_variance(cells, [name], 0.1, 0.2, paired=True)
        V, df = alone.variance[row], alone.df[row]
        assert V * np.exp(stats.norm.ppf(0.8) * error / V) == pytest.approx(V * df / stats.chi2.ppf(0.2, df))
        errors.append(error)
    _, _, both, _ = add_cluster_variance(cells, ["x", "y"], 0.1, 0.2, paired=False)
    assert both == pytest.approx(np.hypot(*errors))


def test_clustered_differences_of_small_scores_are_those_of_scaled_ones():
    """Scores of 1e-12: what rounding leaves of a variance is relative to the scores."""
    rng = np.random.default_rng(5)
    scores = rng.random((2, 12, 1))
    large, small = (
        replace(
            Cells.from_scores("b", ["x", "y"], list(map(str, range(12))), (scale * scores).tolist()),
            clusters=tuple("aaabbbccccdd"),
        )
        for scale in (1, 1e-12)
    )
    first, second = np.array([0]), np.array([1])
    expected = clustered_pairs(large, first, second).variance * 1e-24
    assert clustered_pairs(small, first, second).variance == pytest.approx(expected, rel=1e-9, abs=0)
