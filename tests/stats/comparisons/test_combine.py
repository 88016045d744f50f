"""`combine` and `curve`: closed forms, an independent slow version, scipy, size and coverage by simulation."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.strategies import score_grids
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import combining as oracle
from scipy import integrate, special, stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.comparisons.combine import (
    COMBINED,
    combine,
)
from howsure.stats.comparisons.curve import curve
from howsure.stats.comparisons.pairs import compare, pairs
from howsure.stats.core.cells import Cells
from howsure.stats.scores import score

NOISES = Path(__file__).resolve().parents[3] / "../shared/data/all_the_noises"


def cells_of(totals, K, benchmark="b", models=("a", "b")):
    """Binary scores, K generations each: totals of shape (M, N)."""
    totals = np.asarray(totals, float)
    questions = tuple(f"q{j}" for j in range(totals.shape[1]))
    return Cells(benchmark, tuple(models), questions, np.full(totals.shape, K), totals, totals)


def benchmark(rng, name, N, K=2, gain=0.0):
    p = rng.beta(0.6, 0.4, N)
    other = rng.beta(0.6, 0.4, N)
    return cells_of([rng.binomial(K, np.clip(p + gain, 0, 1)), rng.binomial(K, other)], K, name)


def compared(rng, sizes, **options):
    return [compare(benchmark(rng, f"bench{i}", N, gain=0.05 * i), "a", "b", **options) for i, N in enumerate(sizes)]


def meta(result):
    return dict(zip(result.columns(), (values[-1] for values in result.columns().values()), strict=True))


@pytest.mark.parametrize(
    ("ours", "theirs"), [("equal", "benchmarks"), ("questions", "questions"), ("precision", "precision")]
)
def test_weighted_z_and_q_against_the_slow_version(ours, theirs):
    """An independent slow version, by formula, on normal z."""
    rows = compared(np.random.default_rng(1), [40, 300, 700, 90], method="clt")
    result = combine(rows, weights=ours)
    z = [float(row.difference[0] / math.sqrt(row.variance[0])) for row in rows]
    ses = [math.sqrt(row.variance[0]) for row in rows]
    weights = oracle.weights(theirs, ses, [40, 300, 700, 90])
    expected = oracle.weighted_z(z, weights)
    assert (result.z_meta, result.p_meta) == pytest.approx((expected["z"], expected["p_value"]), rel=1e-9)
    assert result.weight == pytest.approx(np.array(weights) / math.sqrt(sum(w * w for w in weights)))
    q = oracle.cochran_q([float(row.difference[0]) for row in rows], ses)
    assert (result.q, result.q_df, result.q_p, result.i2) == pytest.approx(
        (q["q"], q["df"], q["p_value"], q["i_squared"]), rel=1e-8
    )
    named = combine(rows, weights=dict(zip(result.benchmarks, 7 * np.array(weights), strict=True)))
    assert named.z_meta == pytest.approx(result.z_meta)


@pytest.mark.parametrize("weights", ["equal", "questions"])
def test_stouffer_against_scipy(weights):
    """Another program's output: Stouffer's method on one-sided p-values, t tests of few questions included."""
    rows = compared(np.random.default_rng(2), [12, 30, 500])
    result = combine(rows, weights=weights)
    one_sided = [
        p / 2 if row.difference[0] > 0 else 1 - p / 2
        for row, p in ((row, replace(row, method="t").interval().p_value[0]) for row in rows)
    ]
    root_n = np.sqrt([12, 30, 500])
    z, p = stats.combine_pvalues(one_sided, method="stouffer", weights=root_n if weights == "questions" else None)
    assert result.z_meta == pytest.approx(z, rel=1e-9)
    assert min(result.p_meta / 2, 1 - result.p_meta / 2) == pytest.approx(min(p, 1 - p), rel=1e-9)


def test_precision_weights_are_the_fixed_effect_of_the_differences():
    """Theory: with w = 1/SE, z_meta is the inverse-variance mean difference over its standard error."""
    rows = compared(np.random.default_rng(3), [400, 600, 350], method="clt")
    d, v = (np.array([getattr(row, name)[0] for row in rows]) for name in ("difference", "variance"))
    assert combine(rows).z_meta == pytest.approx(np.sum(d / v) / math.sqrt(np.sum(1 / v)), rel=1e-12)


@given(
    st.lists(score_grids(min_models=2, max_models=2, missing=False), min_size=1, max_size=4),
    st.sampled_from(["equal", "questions", "precision"]),
)
def test_swapping_the_models_flips_the_sign_and_order_does_not_matter(grids, weights):
    runs = [
        Cells.from_scores(f"b{i}", ["a", "b"], [f"q{j}" for j in range(len(grid[0]))], grid)
        for i, grid in enumerate(grids)
    ]
    there = combine([compare(run, "a", "b") for run in runs], weights=weights)
    back = combine([compare(run, "b", "a") for run in reversed(runs)], weights=weights)
    assert back.z_meta == pytest.approx(-there.z_meta, nan_ok=True, abs=1e-9)
    assert back.q == pytest.approx(there.q, nan_ok=True, abs=1e-7)
    used = there.weight > 0
    assert np.all(used == ~np.isnan(there.z))
    assume(used.any())
    assert np.sum(there.weight**2) == pytest.approx(1)
    assert there.weight[used] @ there.z[used] == pytest.approx(there.z_meta)
    printed = there.columns()
    assert np.sum(printed["weight"][:-1]) == pytest.approx(1)
    assert printed["weight"][:-1] @ np.where(used, there.difference, 0) == pytest.approx(printed["difference"][-1])


@pytest.mark.long
@pytest.mark.parametrize(("weights", "N"), [("equal", 12), ("precision", 60)])
def test_the_meta_test_and_q_keep_their_size(weights, N):
    """Guarantee: 8 benchmarks whose models are equal in expectation, 800 evaluations, size .05.

    The published form, difference / SE, rejects more often than it says where questions are few.
    """
    rng = np.random.default_rng(4)
    trials, rejected, published, uneven = 800, 0, 0, 0
    for _ in range(trials):
        rows = [compare(benchmark(rng, f"b{i}", N), "a", "b") for i in range(8)]
        result = combine(rows, weights=weights)
        rejected += result.p_meta < 0.05
        uneven += result.q_p < 0.05
        published += abs(result.weight @ (result.difference / result.se)) > 1.96
    noise = 3.3 * math.sqrt(0.05 * 0.95 / trials)
    assert abs(rejected / trials - 0.05) < noise
    assert abs(uneven / trials - 0.05) < noise
    assert published / trials > rejected / trials
    assert N > 12 or published / trials > 0.05 + noise


def test_a_difference_that_changes_its_sign_is_told():
    rng = np.random.default_rng(5)
    rows = [compare(benchmark(rng, name, 500, 4, gain), "a", "b") for name, gain in (("up", 0.3), ("down", -0.3))]
    result = combine(rows)
    assert result.q_p < 1e-6
    assert result.i2 > 0.9
    assert "not the same on all benchmarks" in meta(result)["note"]
    same = [compare(benchmark(rng, name, 500, 4, 0.1), "a", "b") for name in ("one", "two")]
    assert "no test shows that the difference varies over the benchmarks" in meta(combine(same))["note"]


def test_a_plain_mean_of_the_opposite_sign_is_said():
    """By hand: a small sure loss and a large unsure gain."""
    rng = np.random.default_rng(11)
    rows = [
        compare(benchmark(rng, name, N, 4, gain), "a", "b") for name, N, gain in (("s", 2000, -0.07), ("t", 25, 0.5))
    ]
    mean = np.mean([row.difference[0] for row in rows])
    assert f"the plain mean of the differences is {mean:+.3f}" in meta(combine(rows, weights="equal"))["note"]
    by_mean = combine(rows, weights={row.benchmark: float(np.sqrt(row.variance[0])) for row in rows})
    assert by_mean.difference_meta == pytest.approx(mean, rel=1e-12)
    assert "plain mean" not in meta(by_mean)["note"]


@pytest.mark.parametrize(("method", "test"), [(None, "Welch's test"), ("clt", "chi-squared")])
def test_the_test_of_heterogeneity_is_named_with_its_p(method, test):
    """Both tests by hand."""
    rng = np.random.default_rng(12)
    rows = [
        compare(benchmark(rng, n, 30, 2, g), "a", "b", method=method) for n, g in (("x", 0.1), ("y", 0.0), ("z", 0.1))
    ]
    result = combine(rows)
    chi_squared = stats.chi2.sf(result.q, 2)
    assert (abs(result.q_p - chi_squared) < 1e-12) == (test == "chi-squared")
    notes = meta(result)["note"].split("; ")
    assert f"p {result.q_p:#.2g} of {test})" in notes[0]
    assert [note.count("(") for note in notes] == [note.count(")") for note in notes]


def test_p_values_that_differ_from_those_of_compare_are_explained():
    """The two tests themselves: where their p-values are not the same, the note says so."""
    rng = np.random.default_rng(7)
    each = [benchmark(rng, name, 60, 1, 0.15) for name in ("one", "two")]
    notes = {}
    for method in (None, "adjusted-t", "t", "clt"):
        rows = [compare(cells, "a", "b", method=method) for cells in each]
        columns = combine(rows).columns()
        alike = [float(row.interval().p_value[0]) for row in rows] == pytest.approx(columns["p_value"][:2].tolist())
        notes[method] = (columns["note"][-1], alike)
    for note, alike in notes.values():
        assert ("without the two pseudo-questions of compare" in note) == (not alike)
    assert not notes[None][1]
    assert notes["t"][1]
    q_p = combine([compare(cells, "a", "b") for cells in each]).q_p
    assert f"p {q_p:.2f}" in notes[None][0] or f"p {q_p:.3f}" in notes[None][0]


def test_the_p_value_of_q_has_two_digits():
    rng = np.random.default_rng(6)
    result = combine([compare(benchmark(rng, name, 60), "a", "b") for name in ("one", "two")])
    for p, text in ((0.2, "p 0.20"), (0.0996, "p 0.10"), (0.0908, "p 0.091")):
        assert f"{text} of Welch's test" in meta(replace(result, q_p=p))["note"]


def test_what_has_no_z_is_left_out_and_told():
    rng = np.random.default_rng(6)
    whole = compare(benchmark(rng, "whole", 400), "a", "b")
    flat = compare(cells_of(np.ones((2, 5)), 1, "flat"), "a", "b")
    single = compare(cells_of([[1], [0]], 1, "single"), "a", "b")
    result = combine([whole, flat, single])
    assert math.isnan(result.z[1])
    assert math.isnan(result.z[2])
    assert result.weight.tolist() == [1, 0, 0]
    assert result.z_meta == result.z[0]
    assert math.isnan(result.q)
    assert math.isnan(result.i2)
    columns = result.columns()
    assert columns["benchmark"].tolist() == ["whole", "flat", "single", COMBINED]
    assert columns["n_questions"].tolist() == [400, 5, 1, 400]
    assert [note.partition(":")[0] for note in columns["note"]] == [
        "",
        "no variation was seen",
        "left out",
        "fewer than two benchmarks",
    ]
    assert "no variation" in columns["note"][1]
    assert "too few questions" in columns["note"][2]
    nothing = combine([flat])
    assert math.isnan(nothing.z_meta)
    assert math.isnan(nothing.p_meta)
    weighted = combine([whole, compare(benchmark(rng, "other", 400), "a", "b")], weights={"whole": 2, "other": 0})
    assert weighted.z_meta == weighted.z[0]
    assert "its weight is 0" in weighted.columns()["note"][1]
    assert "(combined)" in str(weighted)


def test_the_combined_difference_is_that_of_the_inverse_variances():
    """By hand: with weights by precision it is sum(d / SE^2) / sum(1 / SE^2), and its z by CLT is the combined one."""
    rows = compared(np.random.default_rng(12), [40, 90, 300], method="clt")
    result = combine(rows)
    inverse = 1 / result.se**2
    expected = float(inverse @ result.difference / np.sum(inverse))
    both = meta(result)
    assert both["difference"] == pytest.approx(expected)
    assert both["se"] == pytest.approx(1 / math.sqrt(np.sum(inverse)))
    assert both["difference"] / both["se"] == pytest.approx(both["z"])


def test_equal_benchmarks_have_no_excess_spread():
    cells = benchmark(np.random.default_rng(7), "one", 400)
    twins = [
        compare(Cells(name, cells.models, cells.questions, cells.n, cells.total, cells.total_sq), "a", "b")
        for name in ("one", "two")
    ]
    result = combine(twins)
    assert result.q == pytest.approx(0, abs=1e-12)
    assert result.i2 == 0
    assert result.z_meta == pytest.approx(math.sqrt(2) * result.z[0])


def test_far_tails_agree_with_quadrature():
    """Another program's output: log P(T > t) by quadrature of the density, where P itself is below any float."""
    rng = np.random.default_rng(12)
    N, K = 2000, 1000
    totals = np.stack([rng.integers(900, 1001, N), rng.integers(0, 101, N)])
    row = compare(cells_of(totals, K), "a", "b")
    (t,) = replace(row, method="t").interval().statistic
    df = N - 1
    log_density = stats.t.logpdf(t, df)
    area, _ = integrate.quad(
        lambda x: math.exp(stats.t.logpdf(x, df) - log_density), t, t + 200, epsrel=1e-10, points=[t + 1]
    )
    z = special.ndtri_exp(log_density + math.log(area))
    assert row.interval().p_value[0] == 0
    assert combine([row]).z_meta == pytest.approx(-z, rel=1e-3)
    assert combine([compare(cells_of(totals, K), "b", "a")]).z_meta == pytest.approx(z, rel=1e-3)


def test_welch_against_scipy():
    """Another program's output: a Welch analysis of variance of the question differences, one group per benchmark."""
    rng = np.random.default_rng(13)
    runs = [benchmark(rng, f"b{i}", N, gain=0.1 * i) for i, N in enumerate((9, 25, 60))]
    found = combine([compare(run, "a", "b") for run in runs])
    theirs = stats.f_oneway(*(run.mean[0] - run.mean[1] for run in runs), equal_var=False)
    assert found.q_p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_clusters_of_one_size_against_scipy():
    """Another program's output: the cluster means are the observations, of a t test and of Welch's analysis of variance."""
    rng = np.random.default_rng(14)
    runs = []
    for i, G in enumerate((3, 8, 20)):
        run = benchmark(rng, f"b{i}", 3 * G, gain=0.1 * i)
        runs.append(replace(run, clusters=tuple(f"c{j // 3}" for j in range(3 * G))))
    means = [(run.mean[0] - run.mean[1]).reshape(-1, 3).mean(axis=1) for run in runs]
    found = combine([compare(run, "a", "b") for run in runs], weights="equal")
    assert found.q_p == pytest.approx(stats.f_oneway(*means, equal_var=False).pvalue, rel=1e-9)
    tests = [stats.ttest_1samp(each, 0) for each in means]
    z = [np.sign(each.mean()) * stats.norm.isf(test.pvalue / 2) for each, test in zip(means, tests, strict=True)]
    assert found.z == pytest.approx(z)
    assert ["which few clusters tell" in note for note in found.remarks] == [True, False, False]
    assert all("the error is for new clusters" in note for note in found.remarks)


def test_wrong_use_of_combine():
    rng = np.random.default_rng(8)
    one, two = (compare(benchmark(rng, name, 40), "a", "b") for name in ("one", "two"))
    with pytest.raises(InputError, match="no benchmark to combine"):
        combine([])
    with pytest.raises(InputError, match="benchmark 'one' is there twice"):
        combine([one, one])
    with pytest.raises(InputError, match="two: compares \\('b', 'a'\\), not \\('a', 'b'\\)"):
        combine([one, compare(benchmark(rng, "two", 40), "b", "a")])
    with pytest.raises(InputError, match="two: claims these-questions, not new-questions"):
        combine([one, compare(benchmark(rng, "two", 40), "a", "b", claim="these-questions")])
    three = Cells.from_scores("b", ["x", "y", "z"], ["1", "2"], [[[1], [0]], [[0], [1]], [[1], [1]]])
    with pytest.raises(InputError, match="b: 3 pairs; combine takes one pair"):
        combine([pairs(three)])
    with pytest.raises(UnknownNameError, match="unknown weights 'equals'; did you mean 'equal'"):
        combine([one, two], weights="equals")
    with pytest.raises(UnknownNameError, match="weights: unknown benchmark 'tow'; did you mean 'two'"):
        combine([one, two], weights={"one": 1, "two": 1, "tow": 1})
    with pytest.raises(InputError, match="weights: no weight for 'two'"):
        combine([one, two], weights={"one": 1})
    with pytest.raises(InputError, match="weights: weight of 'two' is -1; allowed: 0 or more"):
        combine([one, two], weights={"one": 1, "two": -1})


def test_why_p_values_differ_from_those_of_compare_is_said_of_new_questions_only():
    """Two pseudo-questions are in the tests of new questions; those of these questions have half of one."""
    rng = np.random.default_rng(4)
    cells = [benchmark(rng, name, 30) for name in ("one", "two")]
    notes = {
        claim: str(combine([compare(one, "a", "b", claim=claim) for one in cells]))
        for claim in ("new-questions", "these-questions")
    }
    assert "too careful" in " ".join(notes["new-questions"].split())
    assert "too careful" not in " ".join(notes["these-questions"].split())


@pytest.mark.long
def test_bands_of_a_curve_cover_what_they_claim_and_the_difference_too():
    """Guarantee: three checkpoints, N = 50, K = 4, 800 runs; fixed questions for the inner band, new ones for the others."""
    rng = np.random.default_rng(9)
    trials, inner, outer, difference = 800, 0, 0, 0
    bank = rng.beta(0.6, 0.4, 50)
    for _ in range(trials):
        steps = rng.beta(np.array([[0.5], [0.6], [0.7]]) * 2, np.array([[0.5], [0.4], [0.3]]) * 2, (3, 50))
        steps[0] = bank
        columns = curve(cells_of(rng.binomial(4, steps), 4, models=("s1", "s2", "s3"))).columns()
        inner += columns["low_prediction"][0] <= bank.mean() <= columns["high_prediction"][0]
        outer += columns["low"][1] <= 0.6 <= columns["high"][1]
        difference += columns["low_difference"][1] <= -0.1 <= columns["high_difference"][1]
    noise = 3.3 * math.sqrt(0.05 * 0.95 / trials)
    assert abs(inner / trials - 0.95) < noise
    assert abs(outer / trials - 0.95) < noise
    assert abs(difference / trials - 0.95) < noise


def test_a_curve_is_made_of_scores_and_paired_differences():
    """Another program's output (scipy's paired t test), and theory for the order of the bands."""
    rng = np.random.default_rng(10)
    p = rng.beta(1, 1, 80)
    totals = rng.binomial(5, [np.clip(p - gap, 0, 1) for gap in (0.2, 0.1, 0)])
    cells = cells_of(totals, 5, models=("late", "early", "final"))
    result = curve(cells, ["early", "late", "final"], reference="late", level=0.9)
    columns = result.columns()
    assert result.checkpoints == ("early", "late", "final")
    assert columns["checkpoint"].tolist() == ["early", "late", "final"]
    assert columns["score"] == pytest.approx(totals[[1, 0, 2]].mean(axis=1) / 5)
    assert np.all(columns["low"] < columns["low_prediction"])
    assert np.all(columns["high"] > columns["high_prediction"])
    for row, model in ((0, 1), (2, 2)):
        test = stats.ttest_rel(totals[model] / 5, totals[0] / 5)
        plain = replace(result.differences[row], method="t").interval(0.9)
        low, high = test.confidence_interval(0.9)
        assert [plain.low[0], plain.high[0], plain.p_value[0]] == pytest.approx([low, high, test.pvalue], rel=1e-9)
        found = [columns[name][row] for name in ("low_difference", "high_difference", "p_value")]
        between = result.differences[row].interval(0.9)
        assert found == [between.low[0], between.high[0], between.p_value[0]]
    assert columns["difference"][1] == 0
    assert math.isnan(columns["p_value"][1])
    assert columns["p_change"][1] < 0.1
    assert columns["note"][1] == "the reference; the change since the checkpoint before is beyond sampling noise"
    assert columns["p_holm"][2] >= columns["p_value"][2]
    assert curve(cells).reference == 2


@pytest.mark.parametrize("method", [None, "clt"])
def test_the_bands_and_steps_of_a_curve_are_those_of_score_and_compare(method):
    """By hand: a step of no change, one of a third, and one that no common question shows; the first has no step."""
    scores = [[[1, 0], [1, 0], [0, 0]], [[1, 0], [0, 1], [0, 0]], [[1, 1], [1, 0], [1, 0]], [[], [1, 0], []]]
    cells = Cells.from_scores("b", ["s1", "s2", "s3", "s4"], ["1", "2", "3"], scores)
    columns = curve(cells, reference="s3", method=method).columns()
    for claim, low, high in (
        ("these-questions", "low_prediction", "high_prediction"),
        ("new-questions", "low", "high"),
    ):
        between = score(cells, claim=claim, method=method).interval()
        np.testing.assert_array_equal(columns[low], between.low)
        np.testing.assert_array_equal(columns[high], between.high)
    assert columns["change"] == pytest.approx([np.nan, 0, 1 / 3, 0], nan_ok=True)
    assert columns["difference"] == pytest.approx([-1 / 3, -1 / 3, 0, 0])
    assert columns["verdict"].tolist() == ["", *["within sampling noise"] * 3]
    assert "the difference is on the questions that both answered" in columns["note"][3]
    assert not any("that both answered" in note for note in columns["note"][:3])


def test_a_curve_tells_what_it_cannot_say():
    once = curve(cells_of([[1, 0, 1], [1, 1, 0]], 1, models=("s1", "s2"))).columns()
    assert np.all(np.isnan(once["low_prediction"]))
    assert "data and prediction noise cannot be separated" in once["note"][0]
    same = curve(cells_of([[1, 0, 1], [1, 0, 1]], 1, models=("s1", "s2"))).columns()
    assert "no variation was seen in the difference" in same["note"][0]
    rng = np.random.default_rng(11)
    data = rng.binomial(50, rng.beta(0.1, 0.1, (2, 60)))
    told = curve(cells_of(data, 50, models=("s1", "s2"))).columns()["note"]
    assert "most noise of the difference is data noise" in told[0]
    assert told[1].startswith("the reference")
    assert "data noise" not in told[1]
    gaps = Cells.from_scores("b", ["s1", "s2", "s3"], ["1", "2", "3"], [[[1], [], []], [[1], [0], [1]], [[], [0], [1]]])
    notes = curve(gaps).columns()["note"]
    assert "no question in common with the reference" in notes[0]
    assert "the difference is on the questions that both answered" in notes[1]


def test_wrong_use_of_curve():
    cells = cells_of([[1, 0], [0, 1]], 1)
    with pytest.raises(InputError, match="b: 1 checkpoints; give two or more"):
        curve(cells, ["a"])
    with pytest.raises(InputError, match="a checkpoint is named twice"):
        curve(cells, ["a", "b", "a"])
    with pytest.raises(InputError, match="a checkpoint is named twice"):
        curve(cells, ["a", "a"])
    with pytest.raises(UnknownNameError, match="unknown model 'c'"):
        curve(cells, reference="c")


@pytest.mark.shared
def test_published_pairs_combine():
    """A printed table: z of NOISE's single-run total error for one pair on two benchmarks, combined by hand."""
    folder = NOISES / "highk_temp0.7"
    if not folder.exists():
        pytest.skip("needs the data folder ../shared")
    import csv

    from howsure import read as read_cells

    a, b = "deepseek_r1_distill_llama_70b", "deepseek_r1_distill_llama_8b"
    rows, z, weights = [], [], []
    for name in ("aime2024_cot", "math500_cot"):
        (cells,) = read_cells(folder / f"input_table_{name}.csv")
        rows.append(compare(cells, a, b, claim="single-run", method="clt"))
        with (folder / f"summary_{name}.csv").open() as file:
            (published,) = (row for row in csv.DictReader(file) if (row["model_a"], row["model_b"]) == (a, b))
        se = float(published["SE(A-B)"])
        z.append((float(published["accA"]) - float(published["accB"])) / se)
        weights.append(1 / se)
    expected = (z[0] * weights[0] + z[1] * weights[1]) / math.hypot(*weights)
    result = combine(rows)
    assert result.z == pytest.approx(z, rel=1e-6)
    assert result.z_meta == pytest.approx(expected, rel=1e-6)
