"""Distributions of P(correct): histograms, the Beta beside them, temperatures side by side, cumulative curves."""

import json
import re

import numpy as np
import pytest
import vl_convert
from helpers.parsed_page import HOSTILE
from helpers.planted_runs import drawn, pooled, runs_of
from scipy import stats

from howsure.reporting.elements import ElementBuilder
from howsure.reporting.sections.distributions import (
    build_distributions_section,
    describe_cumulative,
    describe_models_left_out,
    draw_cumulative,
    group_by_setting,
)
from howsure.stats.core.cells import Cells
from howsure.stats.questions.difficulty import estimate_density, evaluate_beta_curves
from howsure.stats.scores.beta import fit_beta

RNG = np.random.default_rng(3)


def made(M=2, N=80, K=10, models=None):
    return pooled(runs_of(drawn(RNG.beta(0.6, 0.9, (M, N)), K), models))


def section_of(cells, order=None):
    sheet = ElementBuilder("b1")
    return build_distributions_section(cells, order or cells.models, sheet), sheet


def columns(sheet, name):
    return sheet.tables[f"b1-{name}"]


def test_bars_are_shares_of_questions():
    # by hand: ten generations, so that each mean is a tenth
    cells = made()
    section, sheet = section_of(cells)
    assert [figure.id for figure in section.items] == ["b1-densities", "b1-cumulative"]
    found = columns(sheet, "densities")
    for model, p, share in zip(found["model"], found["p_correct"], found["share"], strict=True):
        right = cells.total[cells.index(model)]
        assert share == pytest.approx(np.mean(right == round(10 * p)), rel=1e-6)
    assert sum(found["expected"]) == pytest.approx(2, rel=1e-5)


def test_expected_shares_are_those_of_a_beta_binomial():
    # another program: scipy's betabinom at the fitted parameters
    cells = made(M=1, K=10)
    fit = fit_beta(cells)
    _, sheet = section_of(cells)
    found = columns(sheet, "densities")
    np.testing.assert_allclose(found["expected"], stats.betabinom.pmf(np.arange(11), 10, fit.a[0], fit.b[0]), rtol=1e-5)


def test_few_generations_have_few_bars():
    _, sheet = section_of(made(M=1, K=4))
    assert columns(sheet, "densities")["p_correct"] == [0, 0.25, 0.5, 0.75, 1]


def test_curves_go_from_0_to_1_and_rise():
    cells = made(M=2)
    curves = evaluate_beta_curves(cells, fit_beta(cells))
    spec = draw_cumulative(curves, estimate_density(cells), cells.models)
    (data,) = [rows[0] for rows in spec["datasets"].values()]
    for model in cells.models:
        for kind in ("observed", "less sampling noise", "fitted Beta"):
            at = [i for i, both in enumerate(zip(data["model"], data["curve"], strict=True)) if both == (model, kind)]
            share, p = np.array(data["share"])[at], np.array(data["p"])[at]
            assert np.all(np.diff(share) >= -1e-9)
            assert np.all(np.diff(p) >= 0)
            assert share[-1] == pytest.approx(1)
            if kind == "observed":  # an independent version: the share of means at or below, at each corner
                upper = dict(zip(p, share, strict=True))
                for x, s in upper.items():
                    assert s == pytest.approx(np.mean(cells.mean[cells.index(model)] <= x + 1e-6), rel=1e-6)


def test_temperatures_of_an_experiment_stand_side_by_side():
    """Labels as `expand_model_line` writes them for a list of temperatures; other labels with colons stay whole."""
    names = [
        "org/m:temperature=1",
        "org/m:temperature=0.4",
        "org/m:temperature=0.7",
        "org/m:greedy",
        "x:temperature=hot",
    ]
    assert group_by_setting(names, max_settings=4) == {
        "org/m": {"temperature=0.4": 1, "temperature=0.7": 2, "temperature=1": 0},
        "org/m:greedy": {"": 3},
        "x:temperature=hot": {"": 4},
    }
    _, sheet = section_of(made(M=3, models=names[:3]))
    drawn = columns(sheet, "densities")
    assert set(drawn["setting"]) == {"temperature=0.4", "temperature=0.7", "temperature=1"}
    assert set(drawn["model"]) == {"org/m"}
    both = ["m:temperature=0.2,top_p=0.9", "m:temperature=0.2,top_p=1"]
    assert group_by_setting(both, max_settings=4) == {
        "m": {"temperature=0.2,top_p=0.9": 0, "temperature=0.2,top_p=1": 1}
    }


def test_temperatures_stand_side_by_side():
    names = ["a (temperature=1)", "b", "a (temperature=0.5)", "c (temperature=0.2)"]
    assert group_by_setting(names, max_settings=4) == {
        "a": {"temperature=0.5": 2, "temperature=1": 0},
        "b": {"": 1},
        "c (temperature=0.2)": {"": 3},
    }
    assert list(group_by_setting(names, max_settings=1)) == [
        "a (temperature=1)",
        "a (temperature=0.5)",
        "b",
        "c (temperature=0.2)",
    ]
    assert group_by_setting(["a", "a (temperature=1)"], max_settings=4) == {"a": {"": 0}, "a (temperature=1)": {"": 1}}
    odd = group_by_setting(["a (temperature=x)", "a (temperature=0.1, top_p=0.9)"], max_settings=4)
    assert list(odd["a"]) == ["temperature=0.1, top_p=0.9", "temperature=x"]
    section, sheet = section_of(made(M=4, models=names))
    found = columns(sheet, "densities")
    assert {(m, s) for m, s in zip(found["model"], found["setting"], strict=True)} == {
        ("a", "temperature=0.5"),
        ("a", "temperature=1"),
        ("b", ""),
        ("c (temperature=0.2)", ""),
    }
    left = {
        s: found["left"][i] for i, (m, s) in enumerate(zip(found["model"], found["setting"], strict=True)) if m == "a"
    }
    assert left["temperature=0.5"] < left["temperature=1"]
    assert "temperature=0.5" in section.items[0].page_spec


def test_pictures_are_drawn():
    cells = made(M=3, models=["a (temperature=1)", "a (temperature=0)", "b"])
    section, _ = section_of(cells)
    for figure in section.items:
        png = vl_convert.vegalite_to_png(json.dumps(figure.spec))
        assert len(png) > 5000  # a blank one is smaller


def test_captions_at_the_edges():
    always = Cells.from_scores("b", ["a", "b"], ["q1", "q2"], [[[1, 1], [1, 1]], [[0, 0], [0, 0]]])
    section, _ = section_of(always)
    assert "No Beta can be fitted for a and b." in section.items[0].caption
    assert "Pink" not in section.items[0].caption
    assert "No Beta distribution can be fitted to these scores, so that" in section.items[1].caption
    sure = pooled(runs_of(drawn(np.repeat([[0.0, 1.0]], 40, axis=1), 4)))
    text = section_of(sure)[0].items[0].caption
    assert text.startswith("m0 almost always fails ")
    twin = made(M=1)
    same = Cells(
        "b", ("a", "b"), twin.questions, *(np.repeat(x, 2, axis=0) for x in (twin.n, twin.total, twin.total_sq))
    )
    assert "Chance decides" not in section_of(same)[0].items[0].caption
    alike = pooled(runs_of((np.arange(60)[None, :, None] % 2 == np.arange(10) % 2).astype(float)))
    assert "For m0 all questions are about equally hard." in section_of(alike)[0].items[1].caption


def test_what_has_no_distribution_is_left_out():
    greedy = made(M=2)
    once = runs_of(drawn(RNG.random((1, 80)), 1), ["m0:greedy"])[0]
    section, sheet = section_of(greedy + once)
    assert "1 model with one generation per question is left out." in section.items[0].caption
    assert "m0:greedy" not in columns(sheet, "densities")["model"]
    assert section_of(once)[0].left_out == ("distributions over questions (one generation per question)",)
    real = Cells.from_scores("b", ["a"], ["q"], [[[2.5, 3.0]]])
    assert section_of(real)[0].left_out == ("distributions over questions (scores are not between 0 and 1)",)
    nothing = Cells.from_scores("b", ["a"], ["q"], [[[]]])
    assert section_of(nothing)[0].left_out == ("distributions over questions (no scores)",)


def test_scores_between_0_and_1_have_a_histogram_alone():
    cells = Cells.from_scores("b", ["a"], ["q1", "q2", "q3"], [[[0.25], [0.5], [0.9, 0.9]]])
    section, sheet = section_of(cells)
    assert [figure.id for figure in section.items] == ["b1-densities"]
    found = columns(sheet, "densities")
    # by hand: .25 belongs to the upper of two tenths
    assert [p for p, s in zip(found["p_correct"], found["share"], strict=True) if s] == pytest.approx([0.3, 0.5, 0.9])
    assert section.left_out == ("the Beta fit of P(correct) (scores are not 0 or 1)",)
    assert "below 0.05 on 0% of 3 questions" in section.items[0].caption


def test_many_models_are_cut():
    section, sheet = section_of(made(M=15, N=20, K=2))
    assert "Drawn for 12 of 15 models, spread over their order." in section.items[0].caption
    assert len(set(columns(sheet, "densities")["model"])) == 12
    assert describe_models_left_out(1, 1, 2) == " 2 models with one generation per question are left out."


def test_hostile_names_are_data():
    section, _ = section_of(made(M=5, N=12, K=3, models=HOSTILE))
    for figure in section.items:
        assert "<" not in figure.page_spec
        assert "calculate" not in figure.page_spec


def test_shares_of_stable_questions_are_left_out_where_they_are_those_of_the_prior():
    # every score of a is 1 and of b is 0: the data say nothing of how the chances vary
    flat = Cells.from_scores("b", ["a", "b"], [f"q{i}" for i in range(30)], [[[1, 1]] * 30, [[0, 0]] * 30])
    caption = section_of(flat)[0].items[0].caption
    assert "almost always" not in caption
    assert "Chance decides" not in caption
    one = Cells.from_scores("b", ["a"], ["q"], [[[1, 0, 0, 1]]])
    assert "almost always" not in section_of(one)[0].items[0].caption
    # beside models without variation the sentence is on the first that has some
    varied = made(M=1, models=["c"])
    mixed = Cells(
        "b",
        ("a", "c"),
        varied.questions,
        *(
            np.concatenate([first, x])
            for first, x in ((varied.n, varied.n), (varied.n, varied.total), (varied.n, varied.total_sq))
        ),
    )
    caption = section_of(mixed)[0].items[0].caption
    assert caption.startswith("c almost always fails")
    assert "Chance decides" not in caption


def test_no_curve_without_noise_is_drawn_where_no_beta_can_be_fitted():
    """Of a model that is always wrong the curve was that of a prior: half of its questions above a tenth."""
    scores = [[[0, 0]] * 30, [[1, 0], [1, 1], [0, 0]] * 10]
    cells = Cells.from_scores("demo", ["never", "sometimes"], [f"q{i}" for i in range(30)], scores)
    fit = fit_beta(cells)
    curves = evaluate_beta_curves(cells, fit)
    spec = draw_cumulative(curves, estimate_density(cells), cells.models)
    (data,) = [rows[0] for rows in spec["datasets"].values()]
    drawn = set(zip(data["model"], data["curve"], strict=True))
    assert {curve for model, curve in drawn if model == "never"} == {"observed"}
    assert {curve for model, curve in drawn if model == "sometimes"} == {
        "observed",
        "less sampling noise",
        "fitted Beta",
    }
    text = describe_cumulative(curves, fit, 2)
    assert "Only the observed means are drawn for never, to which no Beta can be fitted." in text
    assert "Some Beta fits nearly any means of two generations exactly" in text
    assert "never farther than" in describe_cumulative(curves, fit, 3)


def test_long_names_above_panels_lose_their_middle():
    """A name of 180 characters made a printed drawing several times as wide as its panel."""
    names = ["b" * 180 + "1", "b" * 180 + "2"]
    cells = made(M=2, models=names)
    curves = evaluate_beta_curves(cells, fit_beta(cells))
    svg = vl_convert.vegalite_to_svg(draw_cumulative(curves, estimate_density(cells), cells.models))
    shown = re.findall(r">(b[^<]+)</text>", svg)
    assert len(set(shown)) == 2
    assert max(map(len, shown)) == 36
