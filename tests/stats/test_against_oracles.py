"""A slow version written differently, by somebody else: each number of `score` and `pairs` on nasty small grids."""

import math

import numpy as np
import pytest
from helpers.strategies import score_grids
from hypothesis import given
from oracles import components as one
from oracles import pairs as two

from howsure.stats.comparisons.pairs import compare, pairs
from howsure.stats.core.cells import Cells
from howsure.stats.core.multiplicity import benjamini_hochberg, holm
from howsure.stats.scores.score import score

#: Scores are at most 10 in size, so variances at most 100: rounding of sums of squares stays far below this.
TOLERANCE = {"rel": 1e-9, "abs": 1e-11}


def cells_of(grid):
    models = [f"m{i}" for i in range(len(grid))]
    return Cells.from_scores("grid", models, [f"q{j}" for j in range(len(grid[0]))], grid)


#: Of the spread over questions one question says nothing: the oracle's formula gives 0, we say NaN.
NEEDS_TWO_QUESTIONS = {"data", "total", "se", "se_new_questions", "se_single_run", "se_data", "se_total"}


def assert_same(ours, theirs):
    if theirs["n_questions"] == 1:
        assert all(math.isnan(ours[name]) for name in NEEDS_TWO_QUESTIONS & set(theirs))
        theirs = {name: value for name, value in theirs.items() if name not in NEEDS_TWO_QUESTIONS}
    # A standard error is a root: what is compared is its square, so that rounding near 0 is not blown up.
    for name, expected in theirs.items():
        power = 2 if name.startswith("se") else 1
        assert float(ours[name]) ** power == pytest.approx(expected**power, nan_ok=True, **TOLERANCE), name


@given(score_grids())
def test_scores(grid):
    cells = cells_of(grid)
    new = score(cells)
    columns = {"se_new_questions": np.sqrt(new.variance)}
    for claim in ("these-questions", "single-run"):
        columns["se_" + claim.replace("-", "_")] = np.sqrt(score(cells, claim=claim).variance)
    N = new.n_questions
    columns |= {"n_questions": N, "n_generations": new.n_generations, "mean": new.score, "prediction": new.prediction}
    columns |= {"data": new.data, "total": new.total, "se_prediction": np.sqrt(new.prediction / N)}
    columns |= {"se_data": np.sqrt(np.maximum(new.data, 0) / N), "se_total": np.sqrt(new.total / N)}
    for i, questions in enumerate(grid):
        assert_same({name: values[i] for name, values in columns.items()}, one.summary(questions))


@given(score_grids())
def test_intervals(grid):
    cells = cells_of(grid)
    for method, oracle in (("clt", one.clt_interval), ("t", one.t_interval)):
        found = score(cells, method=method).interval(0.9)
        for i, questions in enumerate(grid):
            low, high = oracle(questions, 0.9)
            # No variation, or one question: the oracle's interval has no width, ours is not there.
            if one.se_new_questions(questions) < 1e-7 or len(one.answered(questions)) == 1:
                continue
            slack = cells.unit == all(0 <= y <= 1 for row in questions for y in row)
            if slack:  # both cut at [0, 1] or neither: ours looks at all models, the oracle at one
                assert (found.low[i], found.high[i]) == pytest.approx((low, high), rel=1e-7, abs=1e-7)


@given(score_grids(kind="binary", ragged=False, missing=False))
def test_plain_and_plugin(grid):
    cells = cells_of(grid)
    plain = score(cells, method="plain")
    for i, questions in enumerate(grid):
        variances = one.plain_variances(questions)
        assert plain.prediction[i] == pytest.approx(variances["prediction"], abs=1e-12)
        if len(cells.questions) > 1:
            assert plain.data[i] == pytest.approx(variances["data"], abs=1e-12)
            se = one.gen_plugin_se(questions)
            assert score(cells, method="plugin").variance[i] == pytest.approx(se**2, abs=1e-12)


@given(score_grids(min_models=2))
def test_all_pairs(grid):
    cells = cells_of(grid)
    ours = pairs(cells)
    columns = ours.columns() | {"data": ours.data, "total": ours.total, "prediction": ours.prediction}
    oracle = two.all_pairs(grid)
    for row, (i, j) in enumerate(zip(ours.a.tolist(), ours.b.tolist(), strict=True)):
        expected = dict(oracle[i, j])
        expected.pop("z")
        expected.pop("p_value")
        if math.isnan(expected["correlation"]):
            expected.pop("correlation")  # a constant mean: 0/0, or rounding over rounding
        if not cells.binary:
            expected.pop("disagreement")
            expected.pop("p_sign")  # whether a pair is binary is asked of all cells
        assert_same({name: values[row] for name, values in columns.items()}, expected)


@given(score_grids(min_models=2, kind="binary"))
def test_z_and_p_by_the_normal_law(grid):
    ours = pairs(cells_of(grid), method="clt").columns()
    for row, key in enumerate((i, j) for i in range(len(grid)) for j in range(i + 1, len(grid))):
        expected = two.summary(grid[key[0]], grid[key[1]])
        if expected["se"] > 0:
            assert ours["z"][row] == pytest.approx(expected["z"], rel=1e-6)
            assert ours["p_value"][row] == pytest.approx(expected["p_value"], rel=1e-5, abs=1e-300)


@given(score_grids(max_models=1))
def test_a_model_with_itself(grid):
    cells = cells_of(grid)
    ours = compare(cells, "m0", "m0")
    columns = ours.columns() | {"data": ours.data, "total": ours.total, "prediction": ours.prediction}
    expected = two.against_itself(grid[0])
    if expected["n_questions"] > 1:  # with itself there is no spread over questions to miss
        assert_same({name: values[0] for name, values in columns.items()}, expected)


@given(score_grids(min_models=3, kind="binary"))
def test_adjusted_p_values(grid):
    p = pairs(cells_of(grid)).interval().p_value
    assert holm(p).tolist() == pytest.approx(two.holm(p.tolist()), nan_ok=True)
    assert benjamini_hochberg(p).tolist() == pytest.approx(two.benjamini_hochberg(p.tolist()), nan_ok=True)


@given(score_grids(min_models=2, max_models=2))
def test_swapping_the_models_flips_signs(grid):
    cells = cells_of(grid)
    ab, ba = compare(cells, "m0", "m1").columns(), compare(cells, "m1", "m0").columns()
    for name in ("difference", "z"):
        assert ab[name] == pytest.approx(-ba[name], nan_ok=True, rel=1e-9, abs=1e-9)
    assert ab["low"] == pytest.approx(-ba["high"], nan_ok=True, rel=1e-9, abs=1e-9)
    for name in ("se_total", "p_value", "detectable"):
        assert ab[name] == pytest.approx(ba[name], nan_ok=True, rel=1e-6, abs=1e-9)


@given(score_grids(min_models=2), score_grids(min_models=2))
def test_adding_cells_commutes_and_adds_up(first, second):
    a, b = cells_of(first), cells_of(second)
    ab, ba = a + b, b + a
    assert set(ab.models) == set(ba.models)
    order = [ba.index(model) for model in ab.models], [ba.questions.index(question) for question in ab.questions]
    for name in ("n", "total", "total_sq"):
        assert getattr(ab, name) == pytest.approx(getattr(ba, name)[np.ix_(*order)])
        assert getattr(ab, name).sum() == pytest.approx(getattr(a, name).sum() + getattr(b, name).sum())
