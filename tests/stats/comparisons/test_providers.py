"""`providers`: other programs, a printed table, the slow oracle, guarantees by simulation, what runs cannot say."""

import math

import numpy as np
import pytest
from helpers.strategies import score_grids
from hypothesis import assume, given
from oracles import repeats as oracle
from scipy import stats

from howsure.errors import InputError, UnknownNameError
from howsure.stats.comparisons.providers import providers
from howsure.stats.core.cells import Cells


def run_of(scores, model="m"):
    scores = np.atleast_2d(np.asarray(scores, float))
    names = (model,) if len(scores) == 1 else tuple(f"{model}{i}" for i in range(len(scores)))
    questions = tuple(f"q{j:03}" for j in range(scores.shape[1]))
    return Cells("drawn", names, questions, np.ones(scores.shape, int), scores, scores**2)


def drawn(rng, p, n):
    return [run_of(rng.random(p.shape) < p) for _ in range(n)]


def as_cells(questions, model="m"):
    return Cells.from_scores("grid", [model], [f"q{j}" for j in range(len(questions))], [questions])


@pytest.mark.parametrize(("method", "equal"), [("run-means", True), ("welch", False)])
def test_run_means_against_scipy(method, equal):
    """Another program's output: ttest_ind on the run means, its interval included."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.6, 0.4, (1, 90))
    a, b = drawn(rng, p, 7), drawn(rng, np.clip(p - 0.05, 0, 1), 4)
    theirs = stats.ttest_ind([r.mean.mean() for r in a], [r.mean.mean() for r in b], equal_var=equal)
    row = providers(a, b, method=method).columns()
    assert (row["t"][0], row["p_value"][0], row["df"][0]) == pytest.approx((theirs.statistic, theirs.pvalue, theirs.df))
    assert (row["low"][0], row["high"][0]) == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    assert row["method"][0] == method


def test_the_printed_result_of_the_paper():
    """A printed table: PI section 4, means .833 and .840 of 90 runs each, t = 2.51, p = 0.013."""
    # 100 questions; run means alternate around the printed means with the spread that gives t = 2.51.
    s = 0.007 / 2.51 * math.sqrt(90 / 2) * math.sqrt(89 / 90)
    a = [run_of([0.840 + s * (-1) ** r] * 100) for r in range(90)]
    b = [run_of([0.833 + s * (-1) ** r] * 100) for r in range(90)]
    row = providers(a, b, method="run-means").columns()
    assert row["t"][0] == pytest.approx(2.51, abs=0.005)
    assert row["p_value"][0] == pytest.approx(0.013, abs=5e-4)


@given(score_grids(min_models=2, max_models=2))
def test_stratified_against_the_oracle(grid):
    """A slow version by somebody else; it takes the normal law, so the statistic is compared and not the tail."""
    assume(any(a and b for a, b in zip(*grid, strict=True)))
    ours = providers([as_cells(grid[0])], [as_cells(grid[1])])
    theirs = oracle.stratified_test(*grid)
    assert ours.difference[0] == pytest.approx(theirs["difference"], rel=1e-9, abs=1e-9)
    assert ours.variance[0] == pytest.approx(theirs["se"] ** 2, nan_ok=True, rel=1e-9, abs=1e-11)
    if theirs["se"] > 1e-5:
        assert ours.columns()["t"][0] == pytest.approx(theirs["z"], rel=1e-6)
    else:
        assert math.isnan(ours.columns()["p_value"][0]) or ours.difference[0] == 0


@given(score_grids(min_models=2, max_models=2))
def test_swapping_the_sides_flips_the_sign(grid):
    one = providers([as_cells(grid[0])], [as_cells(grid[1])]).columns()
    other = providers([as_cells(grid[1])], [as_cells(grid[0])]).columns()
    assert one["difference"] == pytest.approx(-other["difference"], nan_ok=True)
    for name in ("se", "df", "p_value"):
        assert one[name] == pytest.approx(other[name], nan_ok=True), name
    assert one["low"] == pytest.approx(-other["high"], nan_ok=True)


def test_freedom_of_two_equal_sides_by_hand():
    """Theory: each side s2 = 1/2 on 4 questions, k = 2: df 4 each, equal variances: Satterthwaite gives 8."""
    side = as_cells([[1, 0]] * 4)
    result = providers([side], [side])
    assert result.df.tolist() == [8]
    assert result.variance == pytest.approx([2 * 0.5 / 2 / 4])
    assert result.columns()["p_value"][0] == 1


@pytest.mark.long
def test_size_and_power_of_the_stratified_test():
    """Guarantee: the same model at both ends, 3 runs against 8, N = 60; 1,000 pairs. And more power than run means."""
    rng = np.random.default_rng(2)
    p = rng.beta(0.6, 0.4, (1000, 60))
    a = drawn(rng, p, 3)
    size = np.mean(providers(a, drawn(rng, p, 8), alpha=0).columns()["p_value"] < 0.05)
    assert size == pytest.approx(0.05, abs=3.3 * math.sqrt(0.05 * 0.95 / 1000))
    size = np.mean(providers(a, drawn(rng, p, 8)).columns()["p_value"] < 0.05)
    assert size < 0.05 + 3.3 * math.sqrt(0.05 * 0.95 / 1000)
    worse = drawn(rng, p * 0.85, 3)
    power = {m: np.mean(providers(a, worse, method=m, alpha=0).columns()["p_value"] < 0.05)
             for m in ("stratified", "run-means", "welch")}  # fmt: skip
    assert power["stratified"] > power["run-means"] + 0.1 > power["welch"] + 0.1


def test_drift_on_a_side_falls_back_to_welch():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.3, 0.7, (1, 200))
    moving = drawn(rng, p, 3) + drawn(rng, p - 0.3, 3)
    steady = drawn(rng, p, 3)
    result = providers(moving, steady)
    assert result.method[0] == "welch"
    assert result.drift_p_a[0] < 1e-3
    assert "tested on run means" in result.columns()["note"][0]
    assert providers(moving, steady, alpha=0).method[0] == "stratified"
    alone = providers(moving, [steady[0] + steady[1]])
    assert alone.method[0] == "stratified"
    assert "too few to allow for it" in alone.columns()["note"][0]


def test_which_models_are_compared():
    two = run_of([[1, 0, 1], [0, 0, 1]], "m")
    other = run_of([[1, 1, 1], [0, 1, 1]], "m")
    assert providers([two] * 2, [other] * 2).models_a == ("m0", "m1")
    assert providers([run_of([1, 0], "azure")], [run_of([1, 1], "openai")]).models_b == ("openai",)
    chosen = providers([two], [other], "m1", "m0")
    assert (chosen.models_a, chosen.models_b) == (("m1",), ("m0",))
    assert providers([two], [other], "m1").models_b == ("m1",)
    with pytest.raises(UnknownNameError, match="unknown model 'm2'"):
        providers([two], [other], "m2")
    with pytest.raises(InputError, match="drawn: no model is on both sides; name one on each side"):
        providers([two], [run_of([[1, 1, 1], [0, 1, 1]], "x")])


def test_only_common_questions_count_and_that_is_told():
    a = Cells.from_scores("b", ["m"], ["1", "2", "3"], [[[1, 0], [1, 1], [0, 1]]])
    b = Cells.from_scores("b", ["m"], ["3", "1", "9"], [[[0, 0], [1, 0], [1, 1]]])
    result = providers([a], [b])
    assert result.n_questions.tolist() == [2]
    assert result.difference == pytest.approx(0.5 - 0.25)
    assert result.variance == pytest.approx((0.25 + 0.25 + 0 + 0.25) / 4)
    assert "on the questions that both answered" in result.columns()["note"][0]
    means = providers([a, a], [b, b], method="welch").columns()["note"][0]
    assert "run means of different questions" in means


@pytest.mark.parametrize("method", ["run-means", "welch"])
def test_runs_of_a_side_that_lack_questions_are_noted(method):
    """Two sides of the same scores; the later runs of b lack the ten questions that nobody answers right."""
    scores = np.array([[1, 0] * 10 + [0] * 10, [0, 1] * 10 + [0] * 10, [1, 1] * 10 + [0] * 10])
    short = [run_of(scores[0])] + [run_of(row[:20]) for row in scores[1:]]
    row = providers([run_of(one) for one in scores], short, method=method).columns()
    assert row["score_a"][0] < row["score_b"][0]
    assert "some runs of b lack questions, and their means differ for that too" in row["note"][0]
    assert "some runs of a lack" not in row["note"][0]
    assert "lack" not in providers([run_of(one) for one in scores], short, alpha=0).columns()["note"][0]  # by question


def test_what_two_sides_cannot_say():
    once = providers([run_of([1, 0, 1])], [run_of([1, 1, 1])]).columns()
    assert math.isnan(once["p_value"][0])
    assert once["difference"][0] == pytest.approx(-1 / 3)
    assert "one generation per question on a side" in once["note"][0]
    one_run = providers([run_of([1, 0, 1])], [run_of([1, 1, 1])] * 2, method="welch").columns()
    assert "one run on a side" in one_run["note"][0]
    assert math.isnan(one_run["low"][0])
    same = providers([run_of([1, 0, 1])] * 2, [run_of([1, 0, 1])] * 2).columns()
    assert "no variation was seen" in same["note"][0]
    assert same["p_value"][0] == 1
    apart = providers([as_cells([[1, 0], []])], [as_cells([[], [1, 1]])]).columns()
    assert "no question in common" in apart["note"][0]
    assert math.isnan(apart["difference"][0])


def test_the_row_of_two_sides_by_hand():
    """Generations 1, 0 | 1, 1 and 0, 0 | 1, 0: within-variances 1/2 | 0 and 0 | 1/2, so (1/4 + 1/4)/4.

    Each side has df 2, its sum of k - 1 and also 2 (1/4)^2 over the variance 2 x 2 (1/8)^2 of the sum of its two parts;
    sides of equal variance have 2 + 2.
    """
    a, b = as_cells([[1, 0], [1, 1]], "x"), as_cells([[0, 0], [1, 0]], "y")
    result = providers([a], [b], level=0.9)
    columns = {name: values.tolist() for name, values in result.columns().items()}
    half = stats.t.ppf(0.95, 4) * math.sqrt(1 / 8)
    p_value = 2 * stats.t.sf(0.5 / math.sqrt(1 / 8), 4)
    expected = {
        "benchmark": "grid",
        "model_a": "x",
        "model_b": "y",
        "n_questions": 2,
        "n_runs_a": 1,
        "n_runs_b": 1,
        "score_a": 0.75,
        "score_b": 0.25,
        "difference": 0.5,
        "se": math.sqrt(1 / 8),
        "df": 4,
        "low": 0.5 - half,
        "high": 1.0,
        "t": 0.5 / math.sqrt(1 / 8),
        "p_value": p_value,
        "drift_p_a": math.nan,
        "drift_p_b": math.nan,
    }
    assert columns.pop("method") == ["stratified"]
    assert columns.pop("note") == [""]
    assert columns.pop("benchmark") == [expected.pop("benchmark")]
    assert [columns.pop(name) for name in ("model_a", "model_b")] == [
        [expected.pop("model_a")],
        [expected.pop("model_b")],
    ]
    assert {name: values[0] for name, values in columns.items()} == pytest.approx(expected, nan_ok=True)


def test_other_models_of_the_runs_do_not_change_a_row():
    """Models m0 and m1 in every run, of which m0 lacks a question; m1 alone is compared."""
    rng = np.random.default_rng(4)
    both = []
    for _ in range(6):
        run = run_of(rng.random((2, 8)) < 0.5)
        n = np.ones((2, 8), int)
        n[0, 3] = 0
        both.append(Cells("drawn", run.models, run.questions, n, run.total * n, run.total_sq * n))
    alone = [run.select(["m1"]) for run in both]
    for method in ("stratified", "run-means"):
        ours = providers(both[:3], both[3:], "m1", "m1", method=method).columns()
        theirs = providers(alone[:3], alone[3:], method=method).columns()
        assert ours.keys() == theirs.keys()
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name])


@pytest.mark.parametrize("method", ["stratified", "run-means", "welch"])
def test_a_model_without_a_score_has_no_difference(method):
    nothing = Cells("drawn", ("m",), ("q000", "q001"), *(np.zeros((1, 2), kind) for kind in (int, float, float)))
    row = providers([nothing] * 2, [run_of([1, 0]), run_of([1, 1])], method=method)
    assert np.isnan([row.difference[0], row.variance[0]]).all()
    assert "no question in common" in row["note"][0]


def test_wrong_use():
    run = run_of([1, 0])
    with pytest.raises(UnknownNameError, match="unknown method 't'"):
        providers([run], [run], method="t")
    with pytest.raises(InputError, match="alpha is -1"):
        providers([run], [run], alpha=-1)
    with pytest.raises(InputError, match="runs of 'drawn' and 'grid' do not compare"):
        providers([run], [as_cells([[1]])])


def test_a_side_with_one_question_that_varies_shows_no_drift():
    """By hand: the only right answer of side b may be in any of its runs; side a has two questions that vary."""
    a, b = ([run_of([run]) for run in side] for side in ([[1, 0], [0, 0], [1, 1]], [[0, 0], [1, 0], [0, 0]]))
    columns = providers(a, b).columns()
    assert 0 < columns["drift_p_a"][0] < 1
    assert np.isnan(columns["drift_p_b"][0])
    assert "drift between the runs of b cannot be tested on these questions" in columns["note"][0]
    assert "runs of a cannot" not in columns["note"][0]
