"""Cells, tables and adjusted p-values: small cases by hand."""

import math
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import howsure
import howsure as hs
from howsure.errors import InputError, UnknownNameError
from howsure.results.merging import merge_cubes
from howsure.stats.core.cells import Cells, drop_rounding, is_unit
from howsure.stats.core.cube import Cube
from howsure.stats.core.intervals import interval
from howsure.stats.core.results import Results, format_table


@pytest.mark.parametrize("center", [0.4, 1.0, 40.0])
def test_only_what_rounding_leaves_is_dropped(center):
    """By hand: deviations of three times 1e-15 of the center are rounding, of 1e-12 of it they are not."""
    n, rounding, real = 3, 3 * (1e-15 * center) ** 2, 3 * (1e-12 * center) ** 2
    assert drop_rounding(np.array([rounding, real, 0.0]), n, center).tolist() == [0, real, 0]
    assert np.isnan(drop_rounding(np.array([np.nan]), 0, np.nan)) == [False]


def test_models_on_many_questions_are_joined_in_a_time_that_grows_with_their_number():
    """20,000 questions took half a minute, as each looked through all others; they take a tenth of a second."""
    questions = [f"q{q}" for q in range(20_000)]
    first, second = (Cells.from_scores("b", [model], questions, [[[1]] * 20_000]) for model in "xy")
    start = time.process_time()
    joined = first + second
    assert time.process_time() - start < 5
    assert joined.outcomes is not None
    assert joined.n.shape == (2, 20_000)


@pytest.fixture
def cells():
    return Cells.from_scores("b", ["x", "y"], ["1", "2"], [[[1, 0], [1, 1]], [[0], []]])


def test_cells_by_hand(cells):
    assert repr(cells) == "Cells('b', 2 models x 2 questions, 5 generations)"
    assert cells.mean.tolist()[0] == [0.5, 1.0]
    assert math.isnan(cells.mean[1, 1])
    assert cells.within.tolist()[0] == [0.5, 0.0]
    assert np.isnan(cells.within[1]).all()
    assert cells.binary
    assert cells.select(["y"]).models == ("y",)


def test_a_part_of_the_cells(cells):
    part = cells.select(questions=["2", "1"])
    assert (part.models, part.questions, part.n.tolist()) == (("x", "y"), ("2", "1"), [[2, 2], [0, 1]])
    assert cells.select(["y", "x"], ["2"]).total.tolist() == [[0.0], [2.0]]
    with pytest.raises(UnknownNameError, match="unknown question '3'"):
        cells.select(questions=["3"])


def of(*scores):
    return Cells.from_scores("b", ["x"], ["1"], [[list(scores)]])


def of_sums(*scores):
    """The same as a source of counts says it: without minimum and maximum."""
    return replace(of(*scores), minimum=None, maximum=None)


def test_unit_and_binary():
    assert (of(0.5, 1).unit, of(0.5, 1).binary) == (True, False)
    assert (of(2, 0).unit, of(2, 0).binary) == (False, False)
    assert (of(1, 0, 1).unit, of(1, 0, 1).binary) == (True, True)
    assert not of(-1, 1).unit


#: Scores outside [0, 1] whose sums are as those inside: 0 <= sum y^2 <= sum y, and sum y^2 = sum y.
FOOLING = {"unit": (-0.2, 0.6), "binary": (2 / 3, 2 / 3, -1 / 3), "above 1": (1.2, 0.4, 0.4)}


@pytest.mark.parametrize("scores", FOOLING.values(), ids=FOOLING)
def test_sums_are_fooled_and_extremes_are_not(scores):
    assert of_sums(*scores).unit
    assert not of(*scores).unit
    assert not of(*scores).binary
    assert of_sums(*FOOLING["binary"]).binary


@pytest.mark.filterwarnings("ignore:.*are taken as they are")
@pytest.mark.parametrize("scores", FOOLING.values(), ids=FOOLING)
def test_extremes_outlive_every_reduction(scores, tmp_path):
    """By construction: however the rows are read, selected, merged or pooled, the scores leave [0, 1]."""
    from howsure.rows import to_cells
    from howsure.stats.repeats.runs import align_runs

    whole = of(*scores)
    plain = Cells.from_scores("b", ["x", "y"], ["1", "2"], [[[], [1]], [[0], [1]]])
    runs = [of(score) for score in scores]
    table = {"benchmark": "b", "model": "x", "question": "1", "generation": range(len(scores)), "score": scores}
    rows = pd.DataFrame(table)
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    [read], [cube] = (
        to_cells.make_cells(rows),
        to_cells.make_cubes(rows.assign(variant=list("vwvwv")[: len(scores)])),
    )
    [pooled] = to_cells.make_cells(rows.assign(variant=list("vwvwv")[: len(scores)]))
    every = [
        whole + plain, plain + whole, (whole + plain).select(["x"]), runs[0] + runs[1] + runs[-1], align_runs(runs)[0],
        *align_runs([whole, plain])[1][:1], read, pooled, cube.cells(), cube.select(["x"]).cells(), *howsure.read(path),
        *to_cells.merge_cells([read, plain]), *(one.cells() for one in merge_cubes([cube, cube])),
    ]  # fmt: skip
    assert [one.unit for one in every] == [False] * len(every)
    assert not cube.unit
    assert not hs.score(whole + plain).parts[0].unit
    known = of(*scores) + of_sums(0, 1)
    assert not known.unit
    assert (known.minimum.tolist(), known.maximum.tolist()) == ([[min(scores)]], [[max(scores)]])


def test_cells_of_two_days_are_the_cells_of_both(cells):
    more = Cells.from_scores("b", ["y", "z"], ["2", "3"], [[[1], [1]], [[], [0]]])
    both = cells + more
    assert both.models == ("x", "y", "z")
    assert both.n.tolist() == [[2, 2, 0], [1, 1, 1], [0, 0, 1]]
    assert both.failed is None
    with pytest.raises(InputError, match="'b' and 'c' do not add up"):
        cells + Cells.from_scores("c", ["y"], ["2"], [[[1]]])
    with pytest.raises(TypeError):
        cells + 1


def test_cells_check_their_shapes_and_names():
    one = np.ones((1, 1), int)
    with pytest.raises(InputError, match=r"total has shape \(2, 1\), not \(models, questions\) = \(1, 1\)"):
        Cells("b", ("x",), ("1",), one, np.ones((2, 1)), np.ones((1, 1)))
    with pytest.raises(InputError, match="model 'x' is there twice"):
        Cells.from_scores("b", ["x", "x"], ["1"], [[[1]], [[1]]])


def test_table_for_a_person(cells):
    text = str(hs.score(cells))
    assert any(line.split()[:3] == ["model", "n_questions", "n_generations"] for line in text.splitlines())
    assert "benchmark b" in text
    assert "claim new-questions" in text
    assert "[1] " in text
    assert " –" in text
    upright = str(hs.compare(cells, "x", "y"))
    assert ["model_a", "x"] in [line.split() for line in upright.splitlines()]
    assert format_table({"model": []}) == "no rows"
    assert format_table({"p_value": [0.2, 1e-9], "z": [1.234, 2.0], "score": [12345.678, 0.1]}).splitlines() == [
        "p_value     z   score",
        "  0.200  1.23   12346",
        " < .001  2.00  0.1000",
    ]


def test_frames_of_three_libraries(cells):
    result = hs.score(cells)
    for backend in ("pandas", "polars", "pyarrow"):
        frame = result.to_frame(backend)
        assert list(getattr(frame, "column_names", frame.columns))[:2] == ["benchmark", "model"]
        assert frame.shape[0] == 2
    with pytest.raises(InputError, match="backend 'excel'; known: pandas"):
        result.to_frame("excel")


def test_a_frame_library_that_is_missing(cells, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(
        InputError, match=r'; pip install pandas, or call to_frame\("polars"\) or to_frame\("pyarrow"\)$'
    ):
        hs.score(cells).to_frame()


def test_several_benchmarks_are_one_result(cells):
    other = Cells.from_scores("c", ["x"], ["1", "2"], [[[1], [0]]])
    both = hs.score([cells, other]).columns()
    assert both["benchmark"].tolist() == ["b", "b", "c"]
    assert hs.pairs([cells, other]).columns()["benchmark"].tolist() == ["b"]
    assert hs.compare([cells, other], "x", "y").columns()["benchmark"].tolist() == ["b"]
    with pytest.raises(InputError, match="only one model: x"):
        hs.pairs([other])
    with pytest.raises(UnknownNameError, match="unknown model 'q'"):
        hs.compare([cells, other], "x", "q")
    apart = Cells.from_scores("d", ["w"], ["1"], [[[1]]])
    with pytest.raises(InputError, match="no benchmark has both 'w' and 'x'"):
        hs.compare([cells, apart], "w", "x")
    with pytest.raises(InputError, match="no benchmark"):
        Results(()).columns()


def test_interval_arguments():
    with pytest.raises(UnknownNameError, match="unknown interval method 'wald'"):
        interval(0.5, 0.1, 10, method="wald")
    by_df = interval(0.0, 1.0, 10, df=4, method="t", level=0.95)
    assert by_df.high == pytest.approx(2.776, abs=1e-3)  # a printed table: t, 4 degrees of freedom, .975
    assert math.isnan(interval(0.0, 1.0, 1).high)  # one question has no t interval


@pytest.mark.parametrize("offset", [1e4, 1e6, -1e6])
def test_a_large_offset_changes_no_error(offset):
    scores = np.random.default_rng(1).normal(0, 1, (1, 50, 4))
    plain, moved = (
        Cells.from_scores("b", ["m"], list(map(str, range(50))), (scores + x).tolist()) for x in (0, offset)
    )
    assert np.nanmean(moved.within) == pytest.approx(np.nanmean(plain.within), rel=1e-3)


@pytest.mark.parametrize("offset", [1e7, 1e8, -1e8, 1e12])
def test_generations_whose_squares_lose_their_spread_are_refused(offset):
    """At 1e8 the variance within questions was 0, and `se_data` the whole error, in silence."""
    scores = offset + np.random.default_rng(1).normal(0, 1, (1, 50, 4))
    with pytest.raises(InputError, match="squares lose that; subtract a constant"):
        Cells.from_scores("b", ["m"], list(map(str, range(50))), scores.tolist())


def test_scores_that_differ_by_rounding_are_read():
    scores = [[[np.float64(np.float32(0.3)), 0.3], [1e8, 1e8]]]
    assert Cells.from_scores("b", ["m"], ["p", "q"], scores).within.tolist() == [[pytest.approx(0, abs=1e-15), 0]]


@pytest.mark.parametrize("score", [1e308, -1e308, 1e51])
def test_scores_whose_powers_are_no_floats_are_refused(score):
    with pytest.raises(InputError, match=r"b: a score of 'm' on 'q2' is larger than 1e\+50 in size; divide the scores"):
        Cells.from_scores("b", ["m"], ["q1", "q2"], [[[1.0], [score]]])


def test_the_largest_scores_are_compared():
    models, questions = ["m", "n"], ["q1", "q2", "q3"]
    cells = Cells.from_scores("b", models, questions, [[[9e49], [1.0], [-9e49]], [[-9e49], [1.0], [2.0]]])
    assert np.isfinite(hs.score(cells)["score"]).all()
    assert hs.pairs(cells)["n_questions"].tolist() == [3]


def test_clusters_and_questions_of_a_cube_are_checked():
    cube = Cube.from_scores("b", ["a"], ["p", "q"], ["v"], [[[[1]], [[0]]]])
    assert cube.select(questions=["q"]).n.tolist() == [[[1]]]
    with pytest.raises(UnknownNameError, match="unknown question 'r'"):
        cube.select(questions=["p", "r"])
    with pytest.raises(InputError, match="1 clusters for 2 questions"):
        replace(cube, clusters=("x",))


def test_scores_from_0_to_1_by_sums_and_by_extremes():
    """By hand: scores .5, 2, -1, the pair -.2 and .6, which sums cannot tell, and a pair whose extremes are unknown."""
    n, total = np.array([[1, 1, 1, 2, 2]]), np.array([[0.5, 2, -1, 0.4, 3]])
    square = np.array([[0.25, 4, 1, 0.4, 5]])
    assert is_unit(n, total, square, None, None).tolist() == [[True, False, False, True, False]]
    low, high = np.array([[0.5, 2, -1, -0.2, np.nan]]), np.array([[0.5, 2, -1, 0.6, np.nan]])
    assert is_unit(n, total, square, low, high).tolist() == [[True, False, False, False, False]]


def test_cells_without_some_scores_by_hand():
    cells = Cells.from_scores("b", ["a"], ["p", "q", "r"], [[[1, 3], [5], [0.5, 0.25]]])
    left = cells.without(np.array([[False, True, False]]))
    assert left.n.tolist() == [[2, 0, 2]]
    assert left.total.tolist() == [[4, 0, 0.75]]
    np.testing.assert_array_equal(left.minimum, [[1, np.nan, 0.25]])
    np.testing.assert_array_equal(left.maximum, [[3, np.nan, 0.5]])


def test_variants_and_clusters_of_a_cube_stay_with_their_questions():
    """By hand: model a answered in v and w, b in w only; questions in another order have their own clusters."""
    scores = [[[[1], [0]], [[1], [1]]], [[[], [1]], [[], [0]]]]
    cube = replace(Cube.from_scores("b", ["a", "b"], ["p", "q"], ["v", "w"], scores), clusters=("x", "y"))
    assert cube.select(questions=["q", "p"]).clusters == ("y", "x")
    assert cube.cells().variants_of == {"a": frozenset("vw"), "b": frozenset("w")}
    means = Cube.from_means("b", ["a", "b"], ["v", "w"], np.array([[0.5, 0.25], [np.nan, 1.0]]))
    assert means.cells().variants_of == {"a": frozenset("vw"), "b": frozenset("w")}


def test_a_difference_of_cells_has_twice_the_smaller_degrees_of_freedom():
    """By hand: 3 and 2 generations have 2 and 1, so 2; variances 1/3 and 1/2 add up; what one lacks has none."""
    cube = Cube.from_scores("b", ["a", "b"], ["p"], ["v", "w"], [[[[1, 0, 0], [1, 1]]], [[[1, 0], []]]])
    layout = cube.difference("a", "b")
    assert layout.df.tolist() == [[[2, 0]]]
    assert layout.variance[0, 0, 0] == pytest.approx(1 / 3 + 1 / 2)
    assert layout.mean_variance[0, 0, 0] == pytest.approx(1 / 9 + 1 / 4)


@pytest.mark.parametrize("nothing", [None, math.nan])
def test_scores_that_are_not_there_are_failed_generations(nothing):
    """By hand: of q the second of three failed, of r all did; the order keeps a failure beside wrong answers."""
    made = Cells.from_scores("b", ["m"], ["p", "q", "r"], [[[1, 0], [1, nothing, 0], [nothing]]])
    assert made.n.tolist() == [[2, 2, 0]]
    assert made.failed.tolist() == [[0, 1, 1]]
    assert made.outcomes.tolist() == [[2 + 4, 2 + 4 + 16, 1]]
    result = hs.score(made)
    assert (result["score"][0], result["n_missing"][0]) == (0.5, 1)
    assert "2 generations without a score, left out" in result["note"][0]
    assert Cells.from_scores("b", ["m"], ["p"], [[[1, 0]]]).failed is None
