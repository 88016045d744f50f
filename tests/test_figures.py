"""Charts for notebooks: the numbers of stats in them, drawn without a browser, and wrong use told."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import vl_convert
from helpers.long_cases import mark_long
from helpers.planted_prompts import planted
from helpers.stored_rows import open_run
from scipy import stats

import howsure
from howsure import figures
from howsure.errors import InputError, UnknownNameError
from howsure.reporting import figure_files
from howsure.stats.comparisons.pairs import pairs
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Results
from howsure.stats.planning import ModelUsage, compare_costs
from howsure.stats.prompts.moments import summarize_variants
from howsure.store.schema import Response


def cells(models=("a", "b", "c"), benchmark="bench"):
    scores = [[[int((q * 7 + m * 3 + g) % 5 < 2 + m) for g in range(4)] for q in range(12)] for m in range(len(models))]
    return Cells.from_scores(benchmark, models, [f"q{i}" for i in range(12)], scores)


@pytest.fixture(scope="module")
def cube():
    return planted(effect=0.1, failing=0.6, models=3)[0]


def drawn(chart):
    spec = chart.to_dict()
    svg = figure_files.render_spec(spec, file_format="svg").decode()
    assert spec["title"]["text"][0].endswith("?") or len(spec["title"]["text"]) > 1
    assert spec["title"]["subtitle"]
    assert spec["config"]["background"] == "white"
    assert len(svg) > 2000
    return spec


@pytest.mark.parametrize(
    "name", ["scores", "forest", "matrix", "pair_errors", "components", "difficulty", "distributions"]
)
def test_charts_of_cells_are_drawn(name):
    spec = drawn(getattr(figures, name)(cells()))
    assert "container" not in str(spec.get("width"))


@pytest.mark.parametrize("name", ["sources", "spread", "convergence"])
def test_charts_of_prompts_are_drawn(name, cube):
    one = drawn(getattr(figures, name)(cube))
    same = drawn(getattr(figures, name)(Results((summarize_variants(cube),))))
    assert one["datasets"] == same["datasets"]
    assert one["title"] == same["title"]


def test_beta_fits_are_drawn_per_range_of_scores_and_per_model():
    """Twelve questions of four generations; models a, b and c have mean scores of .42, .60 and .81."""
    spec = drawn(figures.beta_fits(cells(), edges=(0, 0.7, 1)))
    (data,) = [rows[0] for rows in spec["datasets"].values() if "share" in rows[0]]
    assert sorted(set(data["model"])) == ["0 to 0.7 (2 models)", "0.7 to 1 (1 model)"]
    spec = drawn(figures.beta_fits(cells(), ["c"], by="model", zero=True))
    (data,) = [rows[0] for rows in spec["datasets"].values() if "share" in rows[0]]
    assert set(data["model"]) == {"c"}
    fit = howsure.beta_fits(cells(), zero=True)
    fitted = np.array(
        [
            y
            for x, y, kind in zip(data["p"], data["share"], data["curve"], strict=True)
            if kind == "fitted Beta" and x == 0.5
        ]
    )
    expected = fit["zero"][2] + (1 - fit["zero"][2]) * stats.beta.cdf(0.5, fit["a"][2], fit["b"][2])
    assert fitted == pytest.approx([expected], abs=1e-4)


def test_forest_has_the_differences_of_pairs():
    found = pairs(cells())
    spec = figures.forest(cells(), reference="b").to_dict()
    (data,) = [rows[0] for rows in spec["datasets"].values() if "difference" in rows[0]]
    difference = {
        (found.models[a], found.models[b]): d for a, b, d in zip(found.a, found.b, found.difference, strict=True)
    }
    told = dict(zip(data["model"], data["difference"], strict=True))
    assert told == pytest.approx({"a": difference["a", "b"], "c": -difference["b", "c"]}, rel=1e-6)
    assert spec["title"]["text"] == ["How far is each model from b?"]


def test_results_and_cells_give_the_same_chart():
    several = [cells(), cells(benchmark="other")]
    result = howsure.pairs(several, level=0.9)
    one = figures.forest(result, benchmark="other").to_dict()
    two = figures.forest(several, benchmark="other", level=0.9).to_dict()
    assert one["datasets"] == two["datasets"]
    wide = figures.forest(result, benchmark="other", level=0.99).to_dict()
    assert wide["datasets"] != two["datasets"]
    scored = figures.components(howsure.score(cells())).to_dict()
    assert scored["datasets"] == figures.components(cells()).to_dict()["datasets"]


def test_every_figure_of_the_report():
    found = figures.every(cells(("a", "b")), level=0.9)
    assert {"forest", "noise", "difficulty"} <= set(found)
    for chart in found.values():
        assert len(figure_files.render_spec(chart.to_dict(), file_format="svg")) > 2000


@pytest.mark.parametrize(
    "name",
    mark_long(
        ["scores", "forest", "matrix", "pair_errors", "components", "difficulty", "distributions", "beta_fits"], after=3
    ),
)
@pytest.mark.parametrize("inches", mark_long([3.3, 5], after=1))
def test_a_figure_has_the_width_of_a_column_with_its_title(name, inches):
    """The drawing is as wide as was said, to the 20 pixels that panels leave, and no line of its title is wider."""
    chart = figures.resize(getattr(figures, name)(cells()), inches)
    spec = chart.to_dict()
    svg = figure_files.render_spec(spec, file_format="svg", style=figure_files.FigureStyle(width=inches)).decode()
    assert float(re.search(r'width="([\d.]+)"', svg)[1]) == pytest.approx(72 * inches, abs=20)
    saved = vl_convert.vegalite_to_svg(spec)
    assert float(re.search(r'width="([\d.]+)"', saved)[1]) == pytest.approx(72 * inches, abs=20)
    whole = getattr(figures, name)(cells()).to_dict()["title"]
    for part in ("text", "subtitle"):
        assert " ".join(spec["title"][part]) == " ".join(whole[part])
    assert len(spec["title"]["subtitle"]) > len(whole["subtitle"])


def test_names_of_a_legend_fit_a_narrow_figure():
    """By hand: of three names in two columns the second was cut at 3.3 inches."""
    assert figures.resize(figures.forest(cells()), 3.3).to_dict()["config"]["legend"]["columns"] == 1
    with pytest.raises(InputError, match="give 2 to 40 inches"):
        figures.resize(figures.forest(cells()), 238)


@pytest.mark.long
def test_every_figure_of_a_table_has_those_of_its_generations():
    """The figure of runs needs what cells do not have, and is drawn of what read returns."""
    rows = [
        (m, f"q{q}", g, (q * 7 + i * 3 + g) % 5 < 2 + i)
        for i, m in enumerate("abc")
        for q in range(12)
        for g in (1, 2, 3)
    ]
    columns = dict(zip(("model", "question", "generation", "score"), map(list, zip(*rows, strict=True)), strict=True))
    columns["score"] = [int(score) for score in columns["score"]]
    table = pa.table(columns)
    given = figures.every(howsure.read(table, benchmark="bench"))
    assert "runs" in given
    assert "runs" not in figures.every(howsure.read(table, benchmark="bench").cells())


@pytest.mark.long
def test_every_figure_of_a_run_with_prompts_is_that_of_its_report(tmp_path):
    """Answers cannot be read under two of six prompts, so that a figure shows what they do to the spread."""
    rows = [
        Response(
            benchmark="bench",
            model=model,
            question=f"q{q}",
            variant=f"v{v}",
            generation=g,
            score=0.0 if v < 2 and q % 2 else float((q * 7 + g + v) % 5 < 3),
            answer=None if v < 2 and q % 2 else "x",
        )
        for model, q, v, g in itertools.product("ab", range(20), range(6), (1, 2))
    ]
    with open_run(tmp_path / "run") as folder:
        folder.append(rows)
    howsure.report(tmp_path / "run", tmp_path / "r.html", figures=tmp_path / "figures", static_figures=False)
    written = {path.stem for path in (tmp_path / "figures").glob("*.svg")}
    assert "unparsed" in written
    assert set(figures.every(tmp_path / "run")) == written


def test_chosen_models_and_moments(cube):
    spec = figures.convergence(cube, ["m1"], moment="variance").to_dict()
    assert "variance" in spec["title"]["text"][0]
    assert len(figures.distributions(cells(), ["b"]).to_dict()["datasets"]) == 1


def test_wrong_use_is_told(cube):
    with pytest.raises(InputError, match="2 benchmarks; name one with benchmark=: x, y"):
        figures.matrix([cells(benchmark="x"), cells(benchmark="y")])
    with pytest.raises(InputError, match="0 benchmarks; read some results"):
        figures.matrix([])
    with pytest.raises(UnknownNameError, match="unknown benchmark 'z'"):
        figures.matrix([cells(benchmark="x")], benchmark="z")
    with pytest.raises(InputError, match="Scores where Pairs or Cells is needed"):
        figures.forest(howsure.score(cells()))
    with pytest.raises(InputError, match="Cells where VariantSummary or Cube is needed"):
        figures.spread(cells())
    with pytest.raises(UnknownNameError, match="reference: unknown model 'z'"):
        figures.forest(cells(), "z")
    with pytest.raises(InputError, match="only one model"):
        figures.forest(cells(("a",)))
    with pytest.raises(UnknownNameError, match="unknown moment 'mode'"):
        figures.convergence(cube, moment="mode")
    with pytest.raises(UnknownNameError, match="unknown model 'z'"):
        figures.convergence(cube, ["z"])
    with pytest.raises(InputError, match="0 models; name 1 to 4"):
        figures.convergence(cube, [])


@pytest.mark.filterwarnings("ignore:.*several rows:howsure.errors.HowsureWarning")
def test_frames_paths_and_what_read_returns(tmp_path):
    rows = [(m, q, v, (q * 3 + m * 7 + v * 5) % 4 < 2) for m in range(2) for q in range(6) for v in range(3)]
    frame = pa.table(
        {name: [row[i] for row in rows] for i, name in enumerate(("model", "question", "variant", "score"))}
    )
    path = tmp_path / "scores.parquet"
    pq.write_table(frame, path)
    results = howsure.read(path)
    for draw, own in ((figures.forest, results.cells()), (figures.spread, results.cubes())):
        expected = draw(own).to_dict()["datasets"]
        for given in (results, str(path), path, [path], frame, [frame]):
            assert draw(given).to_dict()["datasets"] == expected
    assert len(figures.spreads(frame).to_dict()["datasets"]) == len(figures.spreads(results).to_dict()["datasets"])
    for wrong in (3, [3], howsure.variants(results)):
        with pytest.raises(InputError, match=r"give what howsure\.read returns"):
            figures.scores(wrong)
    with pytest.raises(InputError, match=r"give what howsure\.cost_scores returns"):
        figures.costs(path)


def test_completion_offers_the_figures_alone():
    assert dir(figures) == sorted(figures.__all__)


def test_without_scores_there_is_no_chart():
    nothing = Cells.from_scores("none", ["a", "b"], ["q"], [[[]], [[]]])
    with pytest.raises(InputError, match="none: nothing was scored"):
        figures.difficulty(nothing)
    with pytest.raises(InputError, match="none: one generation per question"):
        figures.distributions(nothing)
    real = Cells.from_scores("real", ["a"], ["q"], [[[7.0]]])
    with pytest.raises(InputError, match="scores are not in"):
        figures.distributions(real)


def test_cubes_are_cells_of_all_prompts(cube):
    assert figures.forest(cube).to_dict()["datasets"] == figures.forest([cube.cells()]).to_dict()["datasets"]


def test_prompts_without_two_scores_have_no_spread(cube):
    n = np.where(np.arange(len(cube.variants)) == 0, cube.n, 0)
    one = replace(cube, n=n, total=cube.total * (n > 0), total_sq=cube.total_sq * (n > 0))
    with pytest.raises(InputError, match="no model has scores under two prompts"):
        figures.spread(one)


def test_widths_by_the_number_of_runs_are_drawn():
    """By hand: the runs of b are all alike, so its interval narrows as 1/n; a dashed line stands at the first below .2."""
    runs = [
        Cells.from_scores(
            "demo", ["a", "b"], [f"q{i}" for i in range(20)], [[[(i + r) % 2] for i in range(20)], [[1]] * 20]
        )
        for r in range(4)
    ]
    result = howsure.run_widths({"demo": runs}, goal=0.2)
    spec = drawn(figures.run_widths(result))
    caption = " ".join(spec["title"]["subtitle"])
    width = {row["n_runs"]: row["width"] for row in result if row["model"] == "b"}
    first = min(n for n, value in width.items() if value < 0.2)
    assert f"b: below 0.2 after {first} runs" in caption
    assert "a: never below 0.2" in caption
    with pytest.raises(InputError, match="run_widths"):
        figures.run_widths(result, benchmark="other")
    with pytest.raises(InputError, match=r"figures.run_widths\(howsure.run_widths\(results\)\)"):
        figures.run_widths(howsure.score(cells()))


def test_parts_of_the_error_of_close_pairs_and_of_all():
    """By numpy: D and E of each pair from its scores; close pairs differ by at most two standard errors."""
    rng = np.random.default_rng(3)
    p = np.array([0.3, 0.35, 0.9])[:, None, None]
    scores = (rng.random((3, 50, 4)) < p).astype(int)
    data = Cells.from_scores("bench", ["a", "b", "c"], [f"q{i}" for i in range(50)], scores.tolist())
    mean, within = scores.mean(axis=2), scores.var(axis=2, ddof=1)
    expected, close = {}, set()
    for i, j in ((0, 1), (0, 2), (1, 2)):
        d, E = mean[i] - mean[j], (within[i] + within[j]).mean()
        D = max(d.var() - E / 4, 0)
        expected[i, j] = np.sqrt(E / 50), np.sqrt(D / 50)
        if abs(d.mean()) <= 2 * np.sqrt((d.var() - E / 4 + E) / 50):
            close.add((i, j))
    assert 0 < len(close) < 3
    for errors, pairs_drawn in ((None, set(expected)), (2.0, close)):
        spec = drawn(figures.pair_parts(data, errors=errors))
        (rows,) = [rows[0] for rows in spec["datasets"].values() if "part" in rows[0]]
        n = len(pairs_drawn)
        assert len(rows["se"]) == 2 * n
        assert sorted(rows["se"][:n]) == pytest.approx(sorted(expected[one][0] for one in pairs_drawn), rel=1e-5)
        assert sorted(rows["se"][n:]) == pytest.approx(sorted(expected[one][1] for one in pairs_drawn), rel=1e-5)
        assert f"{n} of 3 pairs are drawn" in " ".join(spec["title"]["subtitle"])
    single = Cells.from_scores("one", ["a", "b"], ["p", "q"], [[[1], [0]], [[0], [1]]])
    with pytest.raises(InputError, match="several generations"):
        figures.pair_parts(single)


def rows_of(spec, column):
    """The longest columns of a chart that hold this one."""
    return max((rows[0] for rows in spec["datasets"].values() if column in rows[0]), key=lambda rows: len(rows[column]))


def test_bands_over_models_are_the_mean_and_percentiles_of_single_orders(cube):
    """Kind of truth: a slow version, subset by subset."""
    scores = [0.5, 0.62, 0.48, 0.55, 0.71, 0.59, 0.4]
    few = Cube.from_means("few", ["m"], [f"v{i}" for i in range(7)], np.array([scores]))
    sizes = summarize_variants(few).sample_size
    bands = sizes.bands("m", draws=40_000)
    for n in range(1, 8):
        subsets = list(itertools.combinations(scores, n))
        far = [abs(sum(each) / n - sum(scores) / 7) for each in subsets]
        spread = [abs(np.var(each) - np.var(scores)) for each in subsets]
        assert bands[0, 0, n - 1] == pytest.approx(np.mean(far), abs=0.001)
        assert bands[0, 1, n - 1] == pytest.approx(np.mean(spread), abs=0.0005)
        assert min(far) - 1e-9 <= bands[1, 0, n - 1] <= np.quantile(far, 0.06, method="higher") + 1e-9
        assert np.quantile(far, 0.94, method="lower") - 1e-9 <= bands[2, 0, n - 1] <= max(far) + 1e-9
    spec = drawn(figures.convergence_bands(cube))
    data = rows_of(spec, "low")
    summary = summarize_variants(cube).sample_size
    for model in cube.models:
        mine = [i for i, name in enumerate(data["model"]) if name == model]
        np.testing.assert_allclose(np.array(data["deviation"])[mine], summary.bands(model)[0, 0], rtol=1e-5)
        np.testing.assert_allclose(np.array(data["high"])[mine], summary.bands(model)[2, 0], rtol=1e-5)


def test_bands_over_benchmarks_have_a_curve_for_each(cube):
    other = replace(cube, benchmark="other")
    spec = drawn(figures.convergence_bands([cube, other], ["m0"], moment="variance"))
    assert set(rows_of(spec, "low")["model"]) == {cube.benchmark, "other"}
    assert "of m0" in " ".join(spec["title"]["text"])
    with pytest.raises(InputError, match="2 benchmarks without one model"):
        figures.convergence_bands([cube, other])
    with pytest.raises(UnknownNameError, match="nobody"):
        figures.convergence_bands([cube, other], ["nobody"])
    with pytest.raises(InputError, match="0 benchmarks"):
        figures.convergence_bands([])


def test_boxes_over_benchmarks_and_models_have_the_quantiles(cube):
    other = replace(cube.select(["m1", "m2"]), benchmark="other")
    spec = drawn(figures.spreads([cube, other]))
    data = rows_of(spec, "median")
    assert list(zip(data["benchmark"], data["model"], strict=True)).count(("other", "m0")) == 0
    assert len(data["model"]) == 5
    for name, model, median, low in zip(*(data[c] for c in ("benchmark", "model", "median", "low")), strict=True):
        assert name in {cube.benchmark, "other"}
        scores = summarize_variants(cube).moments.scores[cube.index(model)]
        assert (median, low) == (pytest.approx(np.median(scores)), pytest.approx(np.quantile(scores, 0.25)))
    assert rows_of(drawn(figures.spreads(cube, ["m2"])), "median")["model"] == ["m2"]
    with pytest.raises(UnknownNameError, match="nobody"):
        figures.spreads(cube, ["nobody"])


def test_the_widest_box_is_named_only_if_it_is_alone(cube):
    alone = " ".join(figures.spreads(cube).to_dict()["title"]["subtitle"])
    assert f" on {cube.benchmark}." in alone
    both = " ".join(figures.spreads([cube, replace(cube, benchmark="other")]).to_dict()["title"]["subtitle"])
    assert " on " not in both.partition("widest")[2]


def test_rows_of_the_heatmap_stand_at_the_scores():
    spec = drawn(figures.difficulty(cells(), at_scores=True))
    data = rows_of(spec, "digits")
    scores = dict(zip("abc", [np.mean(one) for one in cells().mean], strict=True))
    assert dict(zip(data["model"], data["at"], strict=True)) == {m: pytest.approx(s) for m, s in scores.items()}
    assert "cover each other" in " ".join(spec["title"]["subtitle"])
    assert "at" not in rows_of(figures.difficulty(cells()).to_dict(), "digits")


def read_axis(chart):
    """Position and label of each tick of the axis from left to right, as the drawing has them."""
    svg = vl_convert.vegalite_to_svg(chart.to_dict())
    axis = re.search(r"role-axis-label.*?role-axis-(?:domain|title)", svg, re.DOTALL)
    found = re.findall(r'translate\(([-.0-9]+),[-.0-9]+\)"[^>]*>([^<>]*)</text>', axis[0])
    return {float(at): label for at, label in found}


def test_axes_of_few_numbers_have_their_labels():
    """By hand: two checkpoints, one pair of models, 115 and 265 tokens, three generations."""
    labels = read_axis(figures.curve(cells(("lab/m step 1", "lab/m step 2"))))
    assert set(labels.values()) <= {"1", "2"}
    assert len(labels) == 2
    labels = [float(label) for label in read_axis(figures.pair_parts(cells(("a", "b")))).values()]
    assert len(labels) > 1
    assert max(labels) - min(labels) < 0.2
    usage = {name: ModelUsage(48, 48, tokens=48 * mean) for name, mean in (("a", 115), ("b", 265))}
    axis = read_axis(figures.costs(compare_costs(cells(("a", "b")), usage)))
    assert all(label.isdecimal() for label in axis.values())
    assert "150" in axis.values()
    two = Cube.from_means("b", ["m", "n"], ["v", "w"], np.array([[0.4, 0.6], [0.5, 0.7]]))
    for draw in (figures.convergence, figures.convergence_bands):
        assert list(read_axis(draw(two)).values()) == ["1", "2"]
