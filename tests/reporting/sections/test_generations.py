"""What more generations buy: runs that grow, standard errors against k, the budget frontier."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import vl_convert
from helpers.parsed_page import HOSTILE
from helpers.planted_prompts import planted
from helpers.planted_runs import drawn, pooled, runs_of

from howsure.reporting.elements import ElementBuilder
from howsure.reporting.sections.generations import (
    ModelPilot,
    build_generations_section,
    describe_frontier,
    find_best_designs,
)
from howsure.reporting.sections.score_table import order_models, split_greedy_runs
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.planning.cost import Cost
from howsure.stats.planning.variance_components import VarianceComponents
from howsure.stats.prompts.components import estimate_components
from howsure.stats.scores.score import score

RNG = np.random.default_rng(4)
P = RNG.beta(0.7, 0.7, (2, 100))


def section_of(cells, **more):
    cells, greedy = split_greedy_runs(cells)
    scores, sheet = score(cells), ElementBuilder("b1")
    return build_generations_section(cells, scores, order_models(scores), sheet, greedy=greedy, **more), sheet


def columns(sheet, name):
    return sheet.tables[f"b1-{name}"]


@pytest.fixture(scope="module")
def cells():
    greedy = runs_of((P[:1, :, None] > 0.5).astype(float), ["m0:greedy"])[0]
    return pooled(runs_of(drawn(P, 10))) + greedy


@pytest.fixture(scope="module")
def made(cells):
    return section_of(cells)


def test_three_figures_in_order(made):
    section, _ = made
    assert [figure.id for figure in section.items] == ["b1-growing", "b1-errors-k", "b1-frontier"]
    assert section.left_out == ()
    for figure in section.items:
        assert len(vl_convert.vegalite_to_png(json.dumps(figure.spec))) > 5000  # a blank one is smaller


def test_runs_that_grow_spread_as_sampling_does(cells, made):
    # theory: runs of k generations on these questions have variance mean p(1-p) / (N k)
    _, sheet = made
    found = columns(sheet, "growing")
    for model in ("m0", "m1"):
        p = cells.mean[cells.index(model)]
        rows = zip(found["model"], found["part"], found["k"], found["low"], found["high"], strict=True)
        bands = {k: high - low for m, part, k, low, high in rows if (m, part) == (model, "runs on these questions")}
        for k in (1, 5, 10):
            # p (1 - p) of 10 generations is 9/10 of what it is on average
            assert bands[k] == pytest.approx(2 * 1.96 * np.sqrt(np.mean(p * (1 - p)) * 10 / 9 / 100 / k), rel=1e-3)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_the_outer_band_ends_at_the_interval_of_the_table(k):
    # theory: the standard error with one generation is sqrt((D + E)/N), with k sqrt((D + E/k)/N), of the same width unit
    rng = np.random.default_rng(13)
    cells = pooled(runs_of(drawn(rng.beta(2, 2, (1, 150)), k)))
    section, sheet = section_of(cells)
    table = score(cells).interval()
    found = columns(sheet, "growing")
    rows = zip(found["part"], found["k"], found["low"], found["high"], strict=True)
    ends = {at: (low, high) for part, at, low, high in rows if part == "interval for new questions"}
    assert ends[k] == pytest.approx((table.low[0], table.high[0]), abs=1e-6)
    p = cells.mean[0]
    E = np.mean(p * (1 - p)) * k / (k - 1)
    ratio = np.sqrt((np.var(p) + E * (1 - 1 / k)) / np.var(p))
    assert ends[1][1] - ends[1][0] == pytest.approx(ratio * (table.high[0] - table.low[0]), rel=1e-3)
    assert f"{table.high[0] - table.low[0]:.3f}" in section.items[0].caption


@pytest.mark.parametrize("k", [2, 3, 10])
def test_mostly_data_noise_is_said_only_where_it_is(k):
    # half a chance for each question: no data noise at all, and by chance the widths are alike
    rng = np.random.default_rng(11)
    for p, said in ((np.full((1, 200), 0.5), False), (rng.beta(0.1, 0.1, (1, 200)), True)):
        section, _ = section_of(pooled(runs_of(drawn(p, k))))
        assert ("mostly data noise" in section.items[0].caption) == said


def test_no_range_of_runs_is_told_where_nothing_varies():
    """All right, or the same in each generation: that shows no width of 0."""
    for p in (np.ones((1, 20)), np.tile([[0.0, 1.0]], 10)):
        section, _ = section_of(pooled(runs_of(drawn(p, 3))))
        captions = [figure.caption for figure in section.items]
        assert not any("of the runs of m0 with one generation per question score from" in text for text in captions)


def test_no_more_generations_are_spoken_of_than_there_are():
    # another model has 12 generations, this one 3: its bands and its sentence end at 3
    rng = np.random.default_rng(12)
    n = np.array([[3] * 40, [12] * 40])
    right = rng.binomial(n, [[0.8], [0.4]]).astype(float)
    section, sheet = section_of(Cells("b", ("few", "many"), tuple(map(str, range(40))), n, right, right))
    assert ", with 3 from" in section.items[0].caption
    found = columns(sheet, "growing")
    most = {
        model: max(k for m, k in zip(found["model"], found["k"], strict=True) if m == model)
        for model in ("few", "many")
    }
    assert most == {"few": 3, "many": 12}


def test_greedy_is_a_line_where_it_was_run(cells, made):
    section, sheet = made
    found = columns(sheet, "growing")
    lines = [
        (model, low)
        for model, part, low in zip(found["model"], found["part"], found["low"], strict=True)
        if part == "greedy"
    ]
    greedy = float(cells.mean[cells.index("m0:greedy")].mean())
    assert {model for model, _ in lines} == {"m0"}
    assert lines[0][1] == lines[-1][1] == pytest.approx(greedy)
    assert f"Greedy decoding of m0 scores {greedy:.3f}" in section.items[0].caption


def test_the_error_of_the_run_is_that_of_the_table_of_scores():
    """Unequal generations and clusters: the page had two standard errors of the same run, by N and by N - 1."""
    rng = np.random.default_rng(5)
    hard = np.repeat([0.1, 0.9], 60)  # no data noise is estimated below 0
    scores = [[rng.binomial(1, p, rng.integers(1, 9)).tolist() for p in hard]]
    ragged = Cells.from_scores("bench", ["m0"], [f"q{i}" for i in range(120)], scores)
    for cells in (ragged, replace(ragged, clusters=tuple(f"c{i // 3}" for i in range(120)))):
        section, _ = section_of(cells)
        printed = float(np.sqrt(score(cells).variance[0]))
        said = re.search(r"for a standard error of (\S+) \(cross\)", section.items[2].caption)[1]
        assert float(said) == pytest.approx(printed, abs=0.0005)
        of_points = re.search(r", (\S+) with \S+ \(the point\)", section.items[1].caption)[1]
        assert float(of_points) == pytest.approx(printed, abs=0.00005)


def test_standard_errors_follow_the_decomposition(cells, made):
    # an independent version by loops: (D + E/k) / N, of which k = 10 is the standard error of the table of scores
    _, sheet = made
    found = columns(sheet, "errors-k")
    for model in ("m0", "m1"):
        right = cells.total[cells.index(model)]
        E = np.mean([c * (10 - c) / 90 for c in right])
        D = np.sum((right / 10 - np.mean(right / 10)) ** 2) / 100 - E / 10
        for m, k, se in zip(found["model"], found["k"], found["se"], strict=True):
            if m == model:
                assert se == pytest.approx(np.sqrt((D + E / k) / 100), rel=1e-5)
    assert max(found["k"]) == 50


def test_the_frontier_is_the_best_of_all_designs_tried():
    # an independent version: every design of the budget, one by one
    noise = VarianceComponents(question=0.04, generation=0.16, models=1)
    pilot = ModelPilot("m", noise, 60, 1, np.full(60, 8))
    found = find_best_designs(pilot, Cost(), "calls", 480.0)
    assert list(found) == ["at most 60 questions", "any number of questions"]
    budgets = [480 * 2.0**j for j in range(-5, 4)]
    for limit, designs in zip((60, 10**9), found.values(), strict=True):
        best = []
        for budget in budgets:
            tried = [
                (0.04 / n + 0.16 / (n * k)) ** 0.5
                for k in range(1, int(budget) + 1)
                for n in (min(limit, int(budget) // k),)
                if n >= 30
            ]
            best += [min(tried)] if tried else []
        assert sorted({round(d.se, 9) for d in designs}) == sorted({round(b, 9) for b in best})
    assert found["any number of questions"][0].calls <= 15 * 2


def test_several_prompts_are_planned_with_and_without():
    cube, _ = planted(effect=0.15, models=2)
    section, sheet = section_of(cube.cells(), cube=cube)
    assert "with one generation per question and prompt" in section.items[1].caption
    assert "only more questions and prompts go below" in section.items[1].caption
    assert "Generations of each model are from 20 prompts." in section.items[0].caption
    found = columns(sheet, "frontier")
    one = [se for part, se in zip(found["part"], found["se"], strict=True) if part == "one prompt"]
    # theory: with one prompt the error never falls below the standard deviation over prompts, here .15 at least
    assert min(one) > 0.13
    assert min(found["se"]) < 0.06
    assert max(found["n_variants"]) == 19  # the default prompt was not drawn


def test_the_run_has_the_error_of_the_table_in_new_prompts_and_of_its_cells():
    """The table's error is `variants`' for new questions and prompts, here of a model that lacks a fifth of the cells."""
    draw = np.random.default_rng(8)
    n = 3 * (draw.random((1, 30, 6)) < 0.8)
    p = np.clip(draw.beta(2, 2, (1, 30, 1)) + draw.normal(0, 0.1, (1, 1, 6)) + draw.normal(0, 0.2, (1, 30, 6)), 0, 1)
    total = draw.binomial(n, p).astype(float)
    cube = Cube("b", ("m",), tuple(map(str, range(30))), tuple(map(str, range(6))), n, total, total)
    estimated = estimate_components(cube)
    assert estimated.interaction[0] > 0
    errors, frontier = section_of(cube.cells(), cube=cube)[0].items[1:]
    error = math.sqrt(estimated.variance()[0])
    assert f", {error:.4f} with 3 (the point)" in errors.caption
    assert (
        f"{180 - (n > 0).sum()} of the 180 pairs of a question and a prompt have no generation of m: the error of these "
        "data takes that into account, the others are for generations in all pairs." in errors.caption
    )
    printed = float(re.search(r"for a standard error of (\S+) \(cross\)", frontier.caption)[1])
    assert printed == pytest.approx(error, rel=0.006)


def test_a_design_that_is_worse_than_the_run_is_not_called_the_best():
    # by hand: 90 questions once and 10 twice; with the same number for each, 100 x 1 has a larger error than the run
    noise = VarianceComponents(question=0.04, generation=0.16, models=1)
    pilot = ModelPilot("m", noise, 100, 1, np.array([1] * 90 + [2] * 10))
    few = find_best_designs(pilot, Cost(), "calls", 110.0)["at most 100 questions"]
    designs = {"one kind": few, "another": few}
    text = describe_frontier(designs, "calls", (110.0, float(pilot.standard_error(1.1))))
    assert "the best with equally many generations for every question is" in text
    run, best = np.sqrt(0.04 / 100 + 0.16 / 110), np.sqrt(0.2 / 100)
    assert f"a standard error of {run:.3g} (cross)" in text
    assert f"{best:.3g} with one kind (100 questions × 1 generation)" in text
    assert "No design of 30 questions is cheaper" in describe_frontier({"a": []}, "calls", (10.0, 0.1))


def test_costs_are_what_the_frontier_is_drawn_against(cells):
    cost = Cost(prompt_tokens=100, completion_tokens=50, input_price=1, output_price=2, generations_per_request=8)
    section, sheet = section_of(cells, cost=cost)
    # by hand: 100 questions x (2 requests of 100 prompt tokens + 10 x 50 completion tokens x 2) per million
    assert "This run took a cost of 0.12 for a standard error" in section.items[2].caption
    assert max(columns(sheet, "frontier")["spent"]) <= 8 * 0.12 + 1e-9
    tokens = section_of(cells, cost=Cost(prompt_tokens=100, completion_tokens=50))[0]
    assert "This run took 150,000 tokens" in tokens.items[2].caption


def test_what_cannot_be_said_is_left_out():
    once = pooled(runs_of(drawn(P, 1)))
    section, _ = section_of(once)
    assert not section.items
    assert section.left_out == ("how many generations are enough (one generation per question)",)
    flat = Cells.from_scores("b", ["a"], ["q1", "q2"], [[[1, 1], [1, 1]]])
    assert [figure.id for figure in section_of(flat)[0].items] == ["b1-growing"]  # no noise to plan with
    assert section_of(flat)[0].left_out[0].startswith("what more generations would buy (one generation per question")
    uneven = Cells.from_scores("b", ["a"], ["q1", "q2", "q3"], [[[1, 0], [1], [0, 0]]])
    section, sheet = section_of(uneven)
    assert [figure.id for figure in section.items] == ["b1-growing", "b1-errors-k", "b1-frontier"]
    assert set(columns(sheet, "growing")["k"]) == {1, 2}
    once_for_most = Cells.from_scores("b", ["a"], ["q1", "q2", "q3"], [[[1, 0], [1], [0]]])
    assert section_of(once_for_most)[0].items[0].id == "b1-errors-k"


def test_a_cube_without_a_model_falls_back_to_its_cells():
    cube, _ = planted(models=1)
    both = cube.cells() + pooled(runs_of(drawn(P[:, :80], 4), ["x", "y"]))
    section, sheet = section_of(both, cube=cube)
    assert set(columns(sheet, "errors-k")["model"]) == {"m0", "x", "y"}
    assert section.items


def test_many_models_are_cut():
    many = pooled(runs_of(drawn(RNG.random((6, 40)), 4)))
    section, sheet = section_of(many)
    assert "Drawn for 4 of 6 models." in section.items[0].caption
    assert "Drawn for 4 of 6 models." in section.items[1].caption
    assert len(set(columns(sheet, "errors-k")["model"])) == 4


def test_very_many_generations_are_cut_and_bands_stay_in_range():
    n = np.full((1, 30), 1200)
    right = np.random.default_rng(5).binomial(n, 0.003).astype(float)
    section, sheet = section_of(Cells("b", ("a",), tuple(map(str, range(30))), n, right, right))
    found = columns(sheet, "growing")
    assert max(found["k"]) == 50
    assert min(found["low"]) >= 0
    assert "with 1,200 and" in section.items[1].caption
    assert max(columns(sheet, "errors-k")["k"]) == 200


def test_real_scores_are_drawn_too():
    real = Cells.from_scores("b", ["a"], [f"q{i}" for i in range(8)], [[[i + 0.5, 2.0 * i] for i in range(8)]])
    section, _ = section_of(real)
    assert [figure.id for figure in section.items] == ["b1-growing", "b1-errors-k", "b1-frontier"]


def test_hostile_names_are_data():
    hostile = pooled(runs_of(drawn(RNG.random((3, 20)), 3), HOSTILE[:3]))
    section, _ = section_of(hostile)
    for figure in section.items:
        assert "<" not in figure.page_spec
        assert "calculate" not in figure.page_spec
