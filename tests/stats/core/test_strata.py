"""Means over benchmarks and subjects, and their errors: by numpy and scipy alone, and by simulation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import howsure as hs
from howsure.errors import InputError
from howsure.stats.comparisons import compare, pairs, rank
from howsure.stats.core.cells import Cells, Strata
from howsure.stats.core.strata import join_strata
from howsure.stats.scores import score

RNG = np.random.default_rng(91)


def draw(name, N, k, models=("a", "b", "c"), shift=0.1, rng=RNG):
    """Right or wrong answers, of which the models share the difficulty of each question."""
    p = np.clip(rng.beta(1, 1, N) + shift * np.arange(len(models))[:, None], 0, 1)
    right = rng.random((len(models), N, k)) < p[..., None]
    return Cells.from_scores(name, models, [f"q{i}" for i in range(N)], right.astype(float).tolist())


THREE = [draw("x", 60, 3), draw("y", 25, 2), draw("z", 9, 5)]


def parts_by_hand(values, noise, claim):
    """Mean and squared error of each stratum from its question means and what sampling adds to each, s2/k and s2."""
    N = len(values)
    between = {
        "new-questions": values.var(ddof=1),
        "these-questions": noise[0].mean(),
        "single-run": values.var(ddof=1) + (noise[1] - noise[0]).mean(),
    }
    return values.mean(), between[claim] / N, N


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("claim", ["new-questions", "these-questions", "single-run"])
def test_scores_and_differences_by_hand(average, claim):
    """Theory: sum w^2 SE^2 and Satterthwaite's degrees of freedom, of scores and of paired differences."""
    joined = join_strata(THREE, average)
    both = pairs(joined, claim=claim, method="t")
    for found, rows in ((score(joined, claim=claim, method="t"), ((0,), (1,), (2,))), (both, ((0, 1), (0, 2), (1, 2)))):
        interval = found.interval()
        for i, row in enumerate(rows):
            sign = np.array([1, -1])[: len(row), None]
            mean, square, n = np.transpose(
                [
                    parts_by_hand(
                        np.sum(sign * x.mean[list(row)], axis=0),
                        [np.sum(each[list(row)], axis=0) for each in (x.within / x.n, x.within)],
                        claim,
                    )
                    for x in THREE
                ]
            )
            weight = np.full(3, 1 / 3) if average == "macro" else n / n.sum()
            value = (found.score if len(row) == 1 else found.difference)[i]
            assert value == pytest.approx(weight @ mean, rel=1e-12)
            assert found.variance[i] == pytest.approx(weight**2 @ square, rel=1e-12)
            if claim != "these-questions" or len(row) == 2:
                df = found.variance[i] ** 2 / np.sum((weight**2 * square) ** 2 / (n - 1))
                low, high = stats.t.interval(0.95, df, value, np.sqrt(found.variance[i]))
                assert (interval.low[i], interval.high[i]) == pytest.approx((low, high), rel=1e-9)


def test_the_mean_of_one_stratum_is_the_plain_one():
    """Property: estimates, intervals and tests of a difference; a variance of scores divides by N - 1, not N."""
    x = THREE[0]
    one = replace(x, strata=Strata(("all",) * 60, "macro"))
    for method in (None, "t"):
        alone, found = (compare(cells, "a", "b", method=method) for cells in (x, one))
        for name in ("difference", "low", "high", "p_value", "z", *(["detectable"] if method is None else [])):
            assert found[name] == pytest.approx(alone[name], rel=1e-9)
    assert score(one).variance == pytest.approx(score(x).variance * 60 / 59)
    assert rank(one).p_best == pytest.approx(rank(replace(x, strata=Strata(("all",) * 60, "micro"))).p_best)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_names_and_order_of_strata_change_nothing(average):
    joined, turned = (join_strata(each, average) for each in (THREE, THREE[::-1]))
    renamed = join_strata([replace(x, benchmark=f"other {x.benchmark}") for x in THREE], average)
    for other in (turned, renamed):
        for compute in (score, pairs, rank):
            first, second = compute(joined), compute(other)
            for name in first.columns():
                if first[name].dtype.kind == "f":
                    assert second[name] == pytest.approx(first[name], rel=1e-9, nan_ok=True), name


def test_new_benchmarks_are_a_test_over_the_means_of_benchmarks():
    """Theory: scipy's paired t test and t interval of the means of six benchmarks."""
    parts = [draw(name, N, 2) for name, N in zip("uvwxyz", (30, 60, 20, 45, 10, 90), strict=True)]
    joined = join_strata(parts, "macro")
    means = np.array([x.mean.mean(axis=1) for x in parts])
    found = pairs(joined, claim="new-benchmarks")
    test = stats.ttest_rel(means[:, 0], means[:, 2])
    assert found.interval().p_value[1] == pytest.approx(test.pvalue)
    assert (found["low"][1], found["high"][1]) == pytest.approx(tuple(test.confidence_interval()))
    scores = score(joined, claim="new-benchmarks").interval()
    assert (scores.low[0], scores.high[0]) == pytest.approx(
        stats.t.interval(0.95, 5, means[:, 0].mean(), stats.sem(means[:, 0]))
    )
    difference = means[:, 0] - means[:, 1]
    two = rank(join_strata([x.select(["a", "b"]) for x in parts], "macro"), claim="new-benchmarks")
    chance = stats.t.cdf(difference.mean() / stats.sem(difference), 5)
    assert sorted(two.p_best.tolist()) == pytest.approx(sorted([chance, 1 - chance]), abs=1e-3)


def test_subjects_are_strata_and_not_clusters():
    """Simulation: of 57 subjects without noise of their own, the printed error is the spread of the macro average.

    The error for new subjects, which the spread of the subjects' difficulty makes, is four times as large.
    """
    rng = np.random.default_rng(5)
    sizes = rng.integers(20, 60, 57)
    subject = np.repeat(np.arange(57), sizes)
    level = rng.uniform(0.2, 0.95, 57)[subject]
    found, errors, clustered = [], [], []
    for _ in range(300):
        right = (rng.random((1, len(subject))) < level).astype(float)
        names = tuple(f"s{i}" for i in subject)
        cells = Cells("mmlu", ("m",), tuple(map(str, range(len(subject)))), np.ones(right.shape, int), right, right)
        one = score(join_strata([replace(cells, clusters=names)], "macro"))
        found.append(one.score[0])
        errors.append(one.variance[0])
        clustered.append(score(replace(cells, clusters=names)).variance[0])
    assert np.sqrt(np.mean(errors)) == pytest.approx(np.std(found), rel=0.12)
    assert np.sqrt(np.mean(clustered)) > 3 * np.std(found)


def test_clusters_within_benchmarks_stay_clusters():
    """Theory: CR2 of each benchmark, whose variance is unbiased as it is."""
    parts = [replace(x, clusters=tuple(str(i % 5) for i in range(len(x.questions)))) for x in THREE]
    found = score(join_strata(parts, "macro"))
    assert found.variance == pytest.approx(np.sum([score(x).variance for x in parts], axis=0) / 9)
    assert "the error is for new clusters" in found["note"][0]
    assert pairs(join_strata(parts, "macro")).n_clusters.tolist() == [15] * 3


def test_ranks_and_win_rates_by_hand():
    right = {"x": [[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0]], "y": [[0, 0, 1], [1, 1, 1], [0, 1, 1]]}
    parts = [
        Cells.from_scores(name, ["a", "b", "c"], list("pqrs")[: len(rows[0])], [[[s] for s in row] for row in rows])
        for name, rows in right.items()
    ]
    found = rank(join_strata(parts, "macro"))
    # on x a is above both, which tie; on y the order is b, c, a
    assert dict(zip(found["model"], found["win_rate"], strict=True)) == {"a": 0.5, "b": 0.625, "c": 0.375}
    assert found["model"].tolist() == ["b", "c", "a"]
    micro = rank(join_strata(parts, "micro"))
    assert micro["score"].tolist() == pytest.approx([5 / 7, 4 / 7, 4 / 7])
    lacking = rank(join_strata([parts[0], parts[1].select(["a", "b"])], "macro"))
    assert np.isnan(dict(zip(lacking["model"], lacking["win_rate"], strict=True))["c"])
    assert "win_rate" not in rank(parts[0]).columns()


def test_the_bound_of_unread_answers_weighs_as_the_score_does():
    unread = [
        replace(x, unparsed=np.minimum(x.n - x.total, share).astype(int))
        for x, share in zip(THREE, (0, 1, 2), strict=True)
    ]
    joined = join_strata(unread, "macro")
    shares = [np.mean(x.unparsed / x.n, axis=1) for x in unread]
    assert score(joined).score_bound == pytest.approx(score(joined).score + np.mean(shares, axis=0))
    assert set(pairs(joined).verdict) <= {"distinguishable", "not distinguishable", "undecided"}


def cells_of(name, rows, **more):
    return replace(Cells.from_scores(name, ["a", "b"], [f"q{i}" for i in range(len(rows[0]))], rows), **more)


SPREAD = [[[1], [0], [1], [0]] * 8, [[0], [1], [1], [0]] * 8]
TWICE = [[[1, 0], [0, 0], [1, 1], [0, 1]] * 8, [[0, 1], [1, 0], [1, 1], [0, 0]] * 8]
SOME_TWICE = [[[1], *row] for row in TWICE]
LACKS = [[[1], [0], [1], [0]] * 8, [[], [], [], []] * 8]
NOTES = [
    # a part of the sentence, the benchmarks of which it is true of the pair, those of which it is false
    ("no question differs", [SPREAD[:1] * 2] * 2, [[[[1]] * 9, [[0]] * 9], [[[0]] * 9, [[1]] * 9]]),
    ("all questions of a stratum differ alike", [[[[1]] * 9, [[0]] * 9], [[[0]] * 9, [[1]] * 9]], [SPREAD[:1] * 2] * 2),
    ("one generation per question of a stratum", [SPREAD, TWICE], [TWICE, TWICE]),
    ("a stratum has one question", [SPREAD, [[[1]], [[0]]]], [SPREAD, SPREAD]),
    ("the mean of 1 of 2 strata", [SPREAD, LACKS], [SPREAD, SPREAD]),
    ("fewer than 5 degrees of freedom", [[[[1], [0], [1]], [[0], [1], [1]]]] * 2, [SPREAD, SPREAD]),
]


@pytest.mark.parametrize(("text", "true", "false"), NOTES)
def test_notes_on_differences_hold_where_they_are_made(text, true, false):
    method = "t" if "degrees" in text else None
    for parts, holds in ((true, True), (false, False)):
        joined = join_strata([cells_of(f"b{i}", rows) for i, rows in enumerate(parts)], "macro")
        assert (text in compare(joined, "a", "b", method=method)["note"][0]) == holds


@pytest.mark.parametrize(
    ("text", "true", "false", "options"),
    [
        ("the model has no score in some of the strata", [SPREAD, LACKS], [SPREAD, SPREAD], {}),
        ("a stratum has one question", [SPREAD, [[[1]], [[0]]]], [SPREAD, SPREAD], {}),
        ("no variation was seen in some strata", [SPREAD, [[[1]] * 9] * 2], [SPREAD, [[[1]] * 200] * 2], {}),
        ("one generation per question of a stratum", [SPREAD, TWICE], [SPREAD, SPREAD], {}),
        ("prediction noise from", [SOME_TWICE, TWICE], [SOME_TWICE, SPREAD], {}),
        ("no variation was seen within strata", [[[[1]] * 9] * 2, [[[0]] * 9] * 2], [SPREAD, [[[0]] * 9] * 2], {}),
        ("the strata have equal means", [SPREAD, SPREAD], [SPREAD, [[[1]] * 9] * 2], {"claim": "new-benchmarks"}),
    ],
)
def test_notes_on_scores_hold_where_they_are_made(text, true, false, options):
    for parts, holds in ((true, True), (false, False)):
        cells = [cells_of(f"b{i}", rows) for i, rows in enumerate(parts)]
        notes = score(join_strata(cells, "macro"), **options).to_dicts()
        assert any(text in row["note"] for row in notes if row["model"] == "b") == holds


def test_what_is_no_average_is_refused():
    one, subjects = THREE[0], replace(THREE[0], clusters=tuple("uvw" * 20))
    assert hs.score(subjects, average="macro")["benchmark"][0] == "x, macro mean of 3 clusters"
    percent = Cells.from_scores("percent", ["a", "b"], ["1", "2"], [[[50], [40]], [[30], [10]]])
    refused = [
        (lambda: hs.score(one, average="macro"), "x is one stratum"),
        (lambda: hs.score(THREE, average="mean"), "unknown average"),
        (lambda: hs.score([one, percent], average="micro"), "average over percent: scores are not in \\[0, 1\\]"),
        (lambda: hs.score(THREE, average="macro", borrow=[one]), "average with borrow"),
        (lambda: hs.compare(THREE, "a", "b", average="macro", paired=False), "average with unpaired"),
        (lambda: hs.rank(THREE, average="macro", k=2), "average with k"),
        (lambda: hs.score(THREE, claim="new-benchmarks"), "claim new-benchmarks is of macro averages"),
        (lambda: hs.pairs(THREE, claim="new-benchmarks", average="micro"), "claim new-benchmarks is of macro averages"),
        (lambda: hs.attempts(THREE, claim="new-benchmarks"), "claim new-benchmarks is of macro averages"),
        (lambda: hs.score(THREE, average="macro", method="bayesian-bootstrap"), "does not know means over strata"),
        (lambda: hs.compare(THREE, "a", "b", average="macro", method="tango"), "without clusters or strata"),
        (lambda: join_strata(THREE, "macro") + replace(join_strata(THREE, "macro"), strata=None), "other strata"),
        (lambda: replace(one, strata=Strata(("s",), "macro")), "1 strata for 60 questions"),
    ]
    for call, message in refused:
        with pytest.raises(InputError, match=message):
            call()


def test_a_subset_keeps_its_strata():
    joined = join_strata(THREE, "macro")
    some = joined.select(["b"], joined.questions[50:70])
    assert some.strata.names == ("x",) * 10 + ("y",) * 10
    by_hand = np.mean([THREE[0].mean[1, 50:].mean(), THREE[1].mean[1, :10].mean()])
    assert some.average_questions().tolist() == pytest.approx([by_hand])
