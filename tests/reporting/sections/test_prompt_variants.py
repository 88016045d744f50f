"""The page's sections on prompts: what is there, with the numbers of stats, and what is said to be left out."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.long_cases import mark_long
from helpers.parsed_page import HOSTILE, Page
from helpers.planted_prompts import planted

from howsure.reporting.benchmark_report import BenchmarkReport
from howsure.reporting.elements import ElementBuilder
from howsure.reporting.page import build_page
from howsure.reporting.prompt_analysis import PromptAnalysis
from howsure.reporting.report_data import BenchmarkData, ReportData, ReportOptions
from howsure.reporting.sections.noise import build_prompt_noise_figures
from howsure.reporting.sections.prompt_variants import build_spread_items, draw_spread
from howsure.reporting.sections.sample_sizes import build_sample_size_items, draw_convergence
from howsure.stats.core.cube import Cube
from howsure.stats.prompts import VariantAnswers
from howsure.stats.prompts.moments import summarize_variants
from howsure.stats.prompts.rank_flips import estimate_rank_flips


@pytest.fixture(scope="module")
def asked():
    return planted(effect=0.1, failing=0.6, models=3)


@pytest.fixture(scope="module")
def parsed(asked):
    cube, lost = asked
    return Page(build_page(ReportData([cube.cells()], cubes=[cube], unparsed={"b": lost})).html)


def _figures(parsed):
    return [a["id"].removeprefix("b1-") for tag, a in parsed.tags if tag == "figure"]


def _column(parsed, table, name):
    return np.array([np.nan if v is None else v for v in parsed.json(f"table-b1-{table}")[name]], float)


def test_sections_stand_in_the_reader_s_order(parsed):
    assert _figures(parsed) == [
        *("score-intervals", "forest", "matrix", "errors", "disagreement", "sources", "effect-1", "effect-2"),
        *("spread", "unparsed", "unparsed-values", "convergence-mean", "convergence-variance"),
        *("growing", "errors-k", "frontier", "difficulty", "densities", "cumulative"),
    ]
    listings = [a["id"] for _, a in parsed.tags if a.get("class") == "listing"]
    assert listings == ["b1-dimensions", "b1-swaps", "b1-enough"]
    links = [a["href"] for tag, a in parsed.tags if tag == "a"]
    assert "#b1-prompts-part" in links
    assert "#b1-enough-part" in links
    assert "Which values of enumerator score higher?" in parsed.text
    assert "With roman more answers could not be read than with the others" in parsed.text
    left = parsed.text.split("Left out, because the data do not allow it: ")[1]
    assert left.startswith("data map and suspected labels (answers are not recorded); repeated runs")


def test_tables_hold_the_numbers_of_stats(asked, parsed):
    cube, lost = asked
    found = summarize_variants(cube)
    # by hand: no cell is missing
    np.testing.assert_allclose(_column(parsed, "variants", "score"), cube.mean.mean(axis=1).ravel(), rtol=1e-8)
    assert parsed.json("table-b1-variants")["default"] == [s == 0 for _ in range(3) for s in range(20)]
    np.testing.assert_allclose(
        _column(parsed, "components", "variance"), found.components.columns()["variance"], rtol=1e-8
    )
    order = parsed.json("table-b1-swaps")["model_a"][0], *parsed.json("table-b1-swaps")["model_b"][:2]
    np.testing.assert_allclose(
        _column(parsed, "swaps", "swapped_true"), estimate_rank_flips(cube.select(order)).swapped_true, rtol=1e-8
    )
    np.testing.assert_allclose(_column(parsed, "enough", "n_star"), found.sample_size.n_star.ravel())
    # by hand
    np.testing.assert_allclose(
        _column(parsed, "variants", "unparsed"), (lost.sum(axis=1) / cube.n.sum(axis=1)).ravel(), rtol=1e-8
    )
    assert parsed.json("table-b1-variants")["value_of_enumerator"][:4] == ["roman", "capitals", "greek", "lower"]


def test_effects_are_drawn_as_they_are(asked, parsed):
    cube, _ = asked
    ((data,),) = [rows for rows in parsed.json("b1-effect-1-spec")["datasets"].values() if "effect" in rows[0]]
    # by hand: enumerators are nearly balanced: an effect is the mean of its variants less the mean over enumerators
    scores = cube.mean.mean(axis=1)[:, 1:]
    means = np.stack([scores[:, start::4].mean(axis=1) for start in (3, 0, 1, 2)], axis=1)
    by_hand = means - means.mean(axis=1, keepdims=True)
    names = ["roman", "capitals", "greek", "lower"]
    for model, value, effect in zip(data["model"], data["value"], data["effect"], strict=True):
        assert effect == pytest.approx(by_hand[int(model[1]), names.index(value)], abs=0.03)
    assert set(data["text"]) == {"enough"}


def test_default_is_marked_and_points_are_scores(asked, parsed):
    spec = parsed.json("b1-spread-spec")
    boxes, points = sorted((rows[0] for rows in spec["datasets"].values()), key=lambda one: len(one["model"]))
    # by hand: the default prompt is a diamond, and no part of the box
    default, scores = np.split(asked[0].mean.mean(axis=1), [1], axis=1)
    for i, model in enumerate(boxes["model"]):
        row = scores[int(model[1])]
        assert boxes["default"][i] == pytest.approx(default[int(model[1]), 0], rel=1e-6)
        assert (boxes["min"][i], boxes["max"][i]) == pytest.approx((row.min(), row.max()), rel=1e-6)
        assert boxes["median"][i] == pytest.approx(np.median(row), rel=1e-6)
    assert len(points["score"]) == scores.size
    assert "v00" not in points["variant"]
    default = spec["layer"][-1]
    assert default["encoding"]["x"]["field"] == "default"
    # a legend of both marks, told apart by colour and shape
    for channel in ("color", "shape"):
        assert default["encoding"][channel]["scale"]["domain"] == ["one prompt", "default prompt"]
        assert default["encoding"][channel]["legend"] is not None
    without = draw_spread(summarize_variants(replace(asked[0], default=None)), ["m0"])
    assert len(without["layer"]) == len(spec["layer"]) - 1
    assert not [layer for layer in without["layer"] if "field" in layer["encoding"].get("color", {})]


def test_convergence_ends_at_zero_and_crosses_epsilon_at_n_star(asked):
    found = summarize_variants(asked[0], epsilon=0.05).sample_size
    spec = draw_convergence(found, "mean", ["m0"])
    curve = next(rows[0] for rows in spec["datasets"].values() if len(rows[0].get("n", ())) > 1)
    assert curve["n"] == list(range(1, 20))
    assert curve["deviation"][-1] == pytest.approx(0, abs=1e-9)
    star = int(found.n_star[0, 0])
    assert 1 < star < 19
    assert curve["deviation"][star - 1] <= 0.05 + 0.01  # both are estimated from their own seeded orders

    def stars(enough):
        layers = draw_convergence(enough, "mean", ["m0"])["layer"]
        return [layer["mark"]["filled"] for layer in layers if layer["mark"]["type"] == "point"]

    assert stars(found) == [True]
    assert stars(summarize_variants(asked[0], epsilon=1e-6).sample_size) == [False]  # hollow, where all are needed


def _report(cells, **data):
    return BenchmarkReport(BenchmarkData(cells=cells, **data), "b1", ReportOptions())


def _left(cells, **data):
    """What is left out of what prompts say; of answers, runs and texts the sections of their own tell."""
    parts = _report(cells, **data).list_left_out()
    others = ("data map", "repeated runs", "prompts and generations")
    return "; ".join(part for part in parts if not part.startswith(others))


def test_what_is_missing_is_named(asked):
    cube, lost = asked[0].select(["m0", "m1"]), asked[1][:2]
    bare = replace(cube, values={})
    assert _left(bare.cells(), cube=bare) == (
        "effects of the dimensions of the prompt (the values of the variants are not recorded); "
        "answers that could not be read, by prompt (not recorded)"
    )
    nested = replace(cube, values={}, default=None, nested=True)
    left = _left(nested.cells(), cube=nested)
    assert "spread over prompts and how many prompts are enough (each question has variants of its own)" in left
    numbers = PromptAnalysis(nested, None, nested.models, 0.95, 0.01, 0.1)
    assert [figure.id for figure in build_prompt_noise_figures(numbers, ElementBuilder("b1"))] == ["b1-sources"]
    assert not list(build_spread_items(numbers, ElementBuilder("b1")))
    one = cube.select(["m1"])
    left = _left(one.cells(), cube=one, unparsed=lost[1:2])
    assert left == "who beats whom (only one model); order of models under each prompt (only one model)"
    assert "(scores by prompt variant are not known)" in _left(cube.cells())
    single = Cube("b", cube.models, cube.questions, ("v",), *(a[:, :, :1] for a in (cube.n, cube.total, cube.total_sq)))
    assert "(one prompt variant)" in _left(single.cells(), cube=single)


def test_one_generation_and_scores_without_questions_say_what_they_do_not_tell(asked):
    cube, _ = asked
    once = replace(cube, n=np.minimum(cube.n, 1), total=np.minimum(cube.total, 1), total_sq=np.minimum(cube.total, 1))
    once = once.select(["m1"])
    left = _left(once.cells(), cube=once)
    assert "what more generations would buy (one generation per question and prompt, or no noise was seen)" in left
    spread, *_ = build_spread_items(PromptAnalysis(once, None, once.models, 0.95, 0.01, 0.1), ElementBuilder("b1"))
    assert "How much of this is the noise of sampling is not known" in spread.caption


def test_shuffles_are_left_out_and_answers_that_were_all_read_are_not_drawn(asked):
    cube, lost = asked
    shuffles = {"order": tuple(f"shuffle-{s}" for s in range(20)), "wrapper": cube.values["wrapper"]}
    made = replace(cube, values=shuffles, default=None)
    assert _left(made.cells(), cube=made, unparsed=lost * 0) == "effects of order (20 values in 20 variants)"
    spread, *others = build_spread_items(
        PromptAnalysis(made, lost * 0, made.models, 0.95, 0.01, 0.1), ElementBuilder("b1")
    )
    assert "Every answer could be read" in spread.caption
    assert [item.id for item in others] == ["b1-swaps"]


def test_hostile_names_are_text_here_too():
    rng = np.random.default_rng(4)
    n = np.full((5, 6, 10), 2)
    total = rng.binomial(n, 0.5).astype(float)
    styles = tuple(HOSTILE[s % 2] for s in range(10))
    made = Cube("b", tuple(HOSTILE), tuple(map(str, range(6))), tuple(f"<v{s}>" for s in range(10)), n, total, total)
    made = Cube(
        *(getattr(made, f) for f in ("benchmark", "models", "questions", "variants", "n", "total", "total_sq")),
        {HOSTILE[0]: styles, "b'": tuple("xxyyxxyyxx")},
        0,
    )
    html = build_page(
        ReportData([made.cells()], cubes=[made], unparsed={"b": rng.binomial((n - total).astype(int), 0.3)})
    ).html
    read = Page(html)  # asserts that tags are balanced
    assert sum(tag == "script" for tag, _ in read.tags) == html.count("<script")
    assert not [tag for tag, _ in read.tags if tag in {"img", "v0"}]
    assert f"Which values of {HOSTILE[0]} score higher?" in read.text


@pytest.mark.parametrize("missing", mark_long([0.6, 0.0, 0.95], after=1))
def test_missing_cells_and_single_generations_make_a_page(missing):
    rng = np.random.default_rng(7)
    n = (rng.random((3, 12, 6)) >= missing).astype(int)
    n[2, :, 1:] = 0  # a model that was asked in one variant
    total = rng.binomial(n, 0.5).astype(float)
    values = {"style": tuple("aabbcc")}
    made = Cube("b", ("x", "y", "z"), tuple(map(str, range(12))), tuple("123456"), n, total, total, values)
    read = Page(build_page(ReportData([made.cells()], cubes=[made], unparsed={"b": n - total.astype(int)})).html)
    assert "nan" not in read.text.lower().split()


def test_many_models_are_cut_and_the_section_says_so():
    cube, _ = planted(models=25)
    numbers = PromptAnalysis(cube, None, cube.models, 0.95, 0.01, 0.1)
    sources, *effects = build_prompt_noise_figures(numbers, ElementBuilder("b1"))
    assert "Drawn for 20 of 25 models" in sources.caption
    assert all("Drawn for 4 of 25 models" in figure.caption for figure in effects)
    assert numbers.pick_models(4) == ["m0", "m8", "m16", "m24"]


def test_dimensions_that_go_together_are_left_out_by_name():
    cube, _ = planted(models=2)
    same = {"style": ("a", "b") * 10, "tone": ("x", "y") * 10}
    made = Cube("b", cube.models, cube.questions, cube.variants, cube.n, cube.total, cube.total_sq, same)
    why = "their values cannot be separated from those of other dimensions in 20 variants: draw more"
    assert _left(made.cells(), cube=made).startswith(f"effects of style and tone ({why}); ")
    numbers = PromptAnalysis(made, None, made.models, 0.95, 0.01, 0.1)
    assert [figure.id for figure in build_prompt_noise_figures(numbers, ElementBuilder("b1"))] == ["b1-sources"]


def test_with_few_prompts_each_dimension_has_a_figure_that_says_how_it_was_fitted():
    """By hand: 1 + 3 x 5 coefficients of 3 x 6 values, and 14 prompts: a mean of a value less the mean over values."""
    cube, _ = planted(models=1)
    rng = np.random.default_rng(1)
    drawn = {name: rng.permutation(np.arange(14) % 6) for name in "abc"}
    values = {name: (*map(str, each), *[""] * 6) for name, each in drawn.items()}
    made = replace(cube, values=values, default=None)
    numbers = PromptAnalysis(made, None, cube.models, 0.95, 0.01, 0.1)
    assert not list(numbers.list_missing_dimensions())
    _, table, *figures = build_prompt_noise_figures(numbers, ElementBuilder("b1"))
    assert len(table.rows) == len(figures) == 3
    score = cube.mean[0].mean(axis=0)[:14]
    means = np.array([score[drawn["b"] == v].mean() for v in range(6)])
    at = [i for i, name in enumerate(numbers.effects.dimensions) if name == "b"]
    np.testing.assert_allclose(numbers.effects.effect[0, at], means - means.mean(), atol=1e-12)


def test_one_prompt_beside_the_default_one_is_no_spread():
    cube, lost = planted(models=2)
    two = replace(
        cube,
        variants=cube.variants[:2],
        values={},
        **{name: getattr(cube, name)[:, :, :2] for name in ("n", "total", "total_sq")},
    )
    benchmark = _report(two.cells(), cube=two, unparsed=lost[:, :, :2])
    assert "(one prompt variant beside the default prompt)" in "; ".join(benchmark.list_left_out())
    assert dict(benchmark.list_facts())["Prompt variants"] == "1, and the default prompt"
    assert "see Spread over prompts" not in " ".join(benchmark.warnings)


def test_scores_of_whole_benchmarks_have_no_section_on_questions():
    """By hand, and theory: Student's t over four prompts; no error of a question, pair or generation is shown."""
    scores = np.array([[0.2, 0.4, 0.9, 0.5], [0.3, 0.3, 0.4, np.nan], [np.nan] * 4])
    made = Cube.from_means("b", ["x", "y", "z"], ["v1", "v2", "v3", "v4"], scores)
    read = Page(build_page(ReportData([made.cells()], cubes=[made])).html)
    assert _figures(read) == [
        "score-intervals",
        "forest",
        "matrix",
        "spread",
        "convergence-mean",
        "convergence-variance",
    ]
    benchmark = _report(made.cells(), cube=made)
    by_name = {row.model: row for row in benchmark.score_table.rows}
    half = 3.182446 * scores[0].std(ddof=1) / 2
    assert by_name["x"].score == "0.50"
    assert by_name["x"].interval == f"{max(0.5 - half, 0):.2f} to {min(0.5 + half, 1):.2f}"
    assert {(row.se, row.rank, row.n_questions, row.n_generations) for row in by_name.values()} == {("–", *"–––")}
    facts = dict(benchmark.list_facts())
    assert (facts["Questions"], facts["Prompt variants"]) == ("not recorded", "4")
    assert "Generations scored" not in facts
    assert benchmark.warnings[0] == "No score at all: z."
    assert "in no error or interval of this page" in benchmark.warnings[1]
    left = benchmark.list_left_out()
    assert left[-1] == "everything on single questions (scores of the whole benchmark)"
    assert not any("who beats whom" in reason for reason in left)
    assert benchmark.describe_methods() == "Student's t over the prompts"
    assert "one question" not in read.text.lower().split("methods and data")[0]


def test_models_of_a_wide_table_are_compared_prompt_by_prompt():
    """Theory: a paired t test over 40 prompts, which vary together, where two separate intervals overlap."""
    rng = np.random.default_rng(5)
    shared = rng.normal(0.5, 0.1, 40)
    scores = np.stack([shared + rng.normal(0.02, 0.01, 40), shared])
    made = Cube.from_means("b", ["better", "worse"], [f"v{i}" for i in range(40)], scores)
    benchmark = _report(made.cells(), cube=made)
    difference = scores[0] - scores[1]
    t = difference.mean() / (difference.std(ddof=1) / np.sqrt(40))
    assert t > 3
    half = 2.022691 * scores[0].std(ddof=1) / np.sqrt(40)
    mean = scores[0].mean()
    assert (
        f"better has the highest score, {mean:.3f} (95% interval {mean - half:.3f} to {mean + half:.3f})."
        in benchmark.verdict
    )
    assert "). Intervals and tests are for the mean score in new prompts" in (benchmark.verdict)
    assert "cannot" not in benchmark.verdict


def test_n_star_stands_as_the_command_prints_it(asked):
    numbers = PromptAnalysis(asked[0], None, asked[0].models, 0.95, 0.01, 0.1)
    *_, listing = build_sample_size_items(numbers, ElementBuilder("b1"))
    of_moments = [f"{what}, {moment}" for moment in ("mean", "variance") for what in ("n*", "Space", "Noise-free")]
    assert listing.headings == ("Model", "Prompts", *of_moments)
    assert {row[2] for row in listing.rows} == {"not reached"}
    assert all(0 < int(row[5]) < 20 for row in listing.rows)


def test_swaps_are_those_of_the_command_whatever_the_order_of_the_page(asked):
    cube, lost = asked
    numbers = PromptAnalysis(cube, lost, cube.models[::-1], 0.95, 0.01, 0.1)
    np.testing.assert_array_equal(numbers.rank_flips.true_low, estimate_rank_flips(cube, rng=0).true_low)
    *_, listing = build_spread_items(numbers, ElementBuilder("b1"))
    means = dict(zip(cube.models, summarize_variants(cube).moments.mean, strict=True))
    assert all(means[better] >= means[other] for better, other, *_ in listing.rows)


def test_a_default_prompt_alone_has_values_of_no_dimension():
    cube, _ = planted(models=2)
    empty = {"style": ("",) * 20}
    made = Cube("b", cube.models, cube.questions, cube.variants, cube.n, cube.total, cube.total_sq, empty, 0)
    assert PromptAnalysis(made, None, cube.models, 0.95, 0.01, 0.1).estimated_dimensions == []


def consistency_table(*strings):
    """The table of models a, b, ... with one answer for each of four questions and two prompts (AB: they differ)."""
    n = np.ones((len(strings), 4, 2), dtype=np.int64)
    places = np.array([(m, q, v) for m in range(len(strings)) for q in range(4) for v in range(2)]).T
    answers = np.array(["ABCD".index(answer) for answer in "".join(strings)])
    models = tuple("abc"[: len(strings)])
    given = VariantAnswers("demo", models, tuple("pqrs"), ("v0", "v1"), n, *places, answers, n.ravel())
    cube = Cube("demo", models, tuple("pqrs"), ("v0", "v1"), n, n * 1.0, n * 1.0)
    numbers = PromptAnalysis(cube, None, models[::-1], 0.95, 0.01, 0.1, given)
    [listing] = [item for item in build_spread_items(numbers, ElementBuilder("b1")) if item.id.endswith("consistency")]
    return listing


def test_the_page_has_the_consistency_rate():
    """By hand: of four questions under two prompts, model a answers three alike and model b all."""
    listing = consistency_table("AABBCCAB", "AABBCCDD")
    assert [(row[0], row[2], row[5]) for row in listing.rows] == [("b", "100%", "100%"), ("a", "75%", "75%")]
    assert [row[4] for row in listing.rows] == ["–", "–"]  # one generation per prompt
    assert "alike in 75% to 100% of the cases" in listing.caption


def test_no_number_is_given_where_epsilon_is_not_below_the_variance():
    # by hand: scores .42 and .58 in halves have the variance .0064; epsilon is .01 by default
    made = Cube.from_means("b", ["x", "y"], [f"v{i}" for i in range(12)], [[0.42, 0.58] * 6, [0.1, 0.9] * 6])
    numbers = PromptAnalysis(made, None, made.models, 0.95, 0.01, 0.1)
    *_, listing = build_sample_size_items(numbers, ElementBuilder("b1"))
    column = listing.headings.index("n*, variance")
    assert {row[0]: row[column] for row in listing.rows}["x"] == "ε too large"
    assert {row[0]: row[column] for row in listing.rows}["y"] != "ε too large"
