"""Runs of the same thing: dots, prediction interval, drift, copies."""

import re
from dataclasses import replace

import numpy as np
import pytest
import vl_convert
from helpers.parsed_page import HOSTILE
from helpers.planted_runs import drawn, pooled, runs_of

from howsure.reporting.elements import ElementBuilder, Figure, TextTable
from howsure.reporting.glossary import list_report_columns
from howsure.reporting.sections.repeats import (
    _stacked,
    build_repeats_section,
    collect_repeat_warnings,
    compute_repeats,
    draw_drift,
    draw_runs,
)
from howsure.stats.core.cells import Cells
from howsure.stats.repeats.prediction_intervals import repeats

RNG = np.random.default_rng(2)
P = RNG.beta(0.8, 0.8, (3, 60))


def section_of(scores, models=None, **more):
    runs = runs_of(scores, models)
    sheet = ElementBuilder("b1")
    result = compute_repeats(runs, level=0.95)
    return build_repeats_section(result, runs, pooled(runs), runs[0].models, sheet, **more), sheet


def data_of(chart, field):
    spec = chart
    return next(rows[0] for rows in spec["datasets"].values() if field in rows[0])


def section_by_day(scores, days):
    runs = [replace(run, days=dict.fromkeys(run.models, day)) for run, day in zip(runs_of(scores), days, strict=True)]
    result = compute_repeats(runs, level=0.95)
    return build_repeats_section(result, runs, pooled(runs), runs[0].models, ElementBuilder("b1"))


def test_scores_by_day_take_the_place_of_the_order_of_runs():
    days = ["2026-11-02", "2026-11-04", "2026-11-09", "2026-11-10"]
    section = section_by_day(drawn(P, 4), days)
    assert [item.id for item in section.items] == ["b1-runs", "b1-days", "b1-repeats"]
    figure = section.items[1]
    assert "For none of 3 models do scores differ from day to day by more than is usual" in figure.caption
    assert [time / 86_400_000 for time in sorted(set(figure.columns["time"]))] == [
        (np.datetime64(day) - np.datetime64("1970-01-01")).astype(int) for day in days
    ]
    result = repeats(runs_of(drawn(P, 4)), n_future=1)
    assert sorted(set(figure.columns["next_low"])) == pytest.approx(sorted(result.interval().low), rel=1e-6)
    assert section.left_out == ()


def test_days_without_any_variation_have_points_without_lines():
    days = ["2026-11-02", "2026-11-04", "2026-11-09", "2026-11-10"]
    still, moving = (section_by_day(scores, days).items[1].caption for scores in (np.ones((3, 60, 4)), drawn(P, 4)))
    assert "A point is the score of the runs of one day (UTC); the band" in still
    assert "A point is the score of the runs of one day (UTC), its line the 95% interval" in moving


def test_a_change_between_days_is_not_one_within_them():
    """Two runs on each of two days: a fall by .4 between the days, and a fall by .4 within each of them."""
    low = np.clip(P[:1] - 0.4, 0, 1)
    high, fallen = drawn(P[:1], 2, seed=3), drawn(low, 2, seed=4)
    days = ["2026-11-02", "2026-11-02", "2026-11-03", "2026-11-03"]
    between = section_by_day(np.concatenate([high, fallen], axis=2), days)
    assert [item.id for item in between.items] == ["b1-runs", "b1-drift", "b1-days", "b1-repeats"]
    assert "The scores of m0 differ from day to day by more than is usual" in between.items[2].caption
    order = [0, 2, 1, 3]
    within = section_by_day(np.concatenate([high, fallen], axis=2)[:, :, order], days)
    assert "The runs of m0 differ by more than is usual" in within.items[1].caption
    assert "For none of 1 model do scores differ from day to day by more than is usual" in within.items[2].caption


def test_dots_are_the_means_of_the_runs():
    # an independent version: plain means over the questions
    scores = drawn(P, 6)
    found = compute_repeats(runs_of(scores), level=0.9)
    dots = data_of(draw_runs(found, ["m2", "m0"]), "run")
    for model, run, mean, kind in zip(dots["model"], dots["run"], dots["mean"], dots["kind"], strict=True):
        means = scores[int(model[1])].mean(axis=0)
        assert mean == pytest.approx(means[int(run) - 1], rel=1e-6)
        expected = "best" if mean >= means.max() - 1e-6 else "worst" if mean <= means.min() + 1e-6 else "run"
        assert kind == expected
    band = data_of(draw_runs(found, ["m2", "m0"]), "low")
    whole = repeats(runs_of(scores), n_future=1, level=0.9)  # what the command prints
    assert band["low"][1] == pytest.approx(whole.interval().low[0], rel=1e-6)
    line = data_of(draw_drift(found, ["m1"]), "n")
    assert line["n"] == [1, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(line["mean"], scores[1].mean(axis=0), rtol=1e-6)


def test_luck_is_the_best_run_less_the_mean_and_not_less_the_worst():
    # by hand: runs of .5, .5, .5 and .9: the best lies .3 above the mean .6, and .4 above the worst
    scores = np.zeros((1, 10, 4))
    scores[0, :5] = 1
    scores[0, :9, 3] = 1
    section, _ = section_of(scores)
    assert (
        "The best run lies 0.30 above the mean of all its runs: to report only the best run adds that much luck."
        in (section.items[0].caption)
    )


def test_a_run_over_several_prompts_is_no_run_of_one_generation():
    # two prompts: each run has two generations of each question
    runs = [run + run for run in runs_of(drawn(P, 3))]
    section = build_repeats_section(
        compute_repeats(runs, level=0.95), runs, pooled(runs), runs[0].models, ElementBuilder("b1")
    )
    assert "a run here averages up to 2 generations of each question" in section.lead
    assert "with one generation per question would have reported" not in section.lead
    assert "with one generation per question would have reported" in section_of(drawn(P, 3))[0].lead


def test_counts_without_runs_are_not_called_one_run():
    whole = pooled(runs_of(drawn(P, 8)))
    section = build_repeats_section(None, [], whole, whole.models, ElementBuilder("b1"))
    assert section.left_out == ("repeated runs (which run each generation belongs to is not recorded)",)
    once = runs_of(drawn(P, 1))
    section = build_repeats_section(None, once, once[0], once[0].models, ElementBuilder("b1"))
    assert section.left_out == ("repeated runs (one run of each model)",)


def test_near_dots_are_stacked_and_far_ones_are_not():
    x, model = np.array([0.0, 0.001, 0.5, 0.002, *[0.9] * 7]), np.zeros(11, dtype=np.intp)
    place = _stacked(x, model)
    assert len({place[0], place[1], place[3]}) == 3
    assert place[2] == place[0] == 2  # the middle of five
    assert set(place[4:].tolist()) == {0, 1, 2, 3, 4}


def test_the_page_shows_two_figures_and_a_table():
    section, sheet = section_of(drawn(P, 5))
    assert [type(item) for item in section.items] == [Figure, Figure, TextTable]
    assert section.left_out == ("scores by date (no run has a date)",)
    assert section.items[2].headings[-2:] == ("Next run, 95%", "p, drift (Holm)")
    assert set(sheet.tables) == {"b1-runs", "b1-repeats"}
    assert {"n_runs", "drift_p", "run"} <= set(list_report_columns())
    for chart in (draw_runs, draw_drift):
        found = compute_repeats(runs_of(drawn(P, 5)), level=0.95)
        png = vl_convert.vegalite_to_png(chart(found, ["m0", "m1", "m2"]))
        assert png.startswith(b"\x89PNG")
        assert len(png) > 3000  # a blank one is smaller


def test_drift_is_found_where_it_was_planted():
    # theory: chances that fall by .4 after half of the runs; the other models do not change
    scores = drawn(P, 8)
    scores[1, :, 4:] = drawn(np.clip(P[1:2] - 0.4, 0, 1), 4, seed=7)[0]
    section, _ = section_of(scores)
    runs, drift, table = section.items
    assert (
        "The runs of m1 differ by more than is usual for independent generations (p < 0.001, adjusted for 3 models (Holm))"
        in drift.caption
    )
    means = scores.mean(axis=1)
    luck = means.max(axis=1) - means.mean(axis=1)
    said = runs.caption.partition(f"The best run of m{np.argmax(luck)} lies ")[2]
    assert float(said.split()[0]) == pytest.approx(luck.max(), abs=0.0006)
    assert any(note.startswith("m1: ") and "the interval is from run means" in note for note in table.notes)
    found = compute_repeats(runs_of(scores), level=0.95)
    assert any("The runs of m1 differ by more than sampling" in text for text in collect_repeat_warnings(found))
    alone, _ = section_of(scores[1:2])
    assert (
        "The runs of m0 differ by more than is usual for independent generations (p < 0.001)" in alone.items[1].caption
    )
    steady, _ = section_of(drawn(P, 8))
    assert "For none of 3 models" in steady.items[1].caption
    single, _ = section_of(drawn(P[:1], 8))
    assert "For none of 1 model do runs differ by more" in single.items[1].caption


def test_a_drift_test_near_its_level_is_no_proof_of_a_change():
    """Independent generations whose test happens to reject: of 60 simulated data sets the first with p below .05."""
    for seed in range(60):
        runs = runs_of(drawn(P[:1], 6, seed=seed))
        result = compute_repeats(runs, level=0.95)
        if 0.01 < result.drift_p[0] < 0.05:
            break
    (warning,) = collect_repeat_warnings(result)
    assert warning.startswith("The runs of m0 differ by more than sampling usually explains (p = 0.0")
    section = build_repeats_section(result, runs, pooled(runs), ["m0"], ElementBuilder("b1"))
    for text in (warning, *(item.caption for item in section.items)):
        assert "something changed" not in text
        assert "mixes different" not in text


def test_the_bar_of_the_next_run_has_the_error_of_the_mean_too():
    """By hand: the band of a run is the mean -+ 1.96 sqrt(E/N); that of the next run has sqrt(E/N (1 + 1/n))."""
    scores = drawn(P[:1], 4)
    result = compute_repeats(runs_of(scores), level=0.95)
    E = scores[0].var(axis=1, ddof=1).mean()
    assert result.variance[0] == pytest.approx(E / scores.shape[1] * (1 + 1 / 4))


def test_copies_are_told():
    scores = drawn(P[:2], 6)
    scores[0, :, 3] = scores[0, :, 1]
    scores[0, :, 5] = scores[0, :, 2]
    found = compute_repeats(runs_of(scores), level=0.95)
    told = list(collect_repeat_warnings(found))
    assert told[0].startswith("Some runs of m0 are the same score for score")
    assert not any("m1" in text for text in told)
    same = np.repeat(drawn(P[:1], 1), 4, axis=2)  # what a cache gives
    section, _ = section_of(same)
    assert "cannot be tested" in section.items[1].caption
    # alike by chance or by a cache: the interval holds for the first, the warning is of the second
    assert "the next run will fall between 0.450 and 0.483" in section.items[0].caption
    (cached,) = collect_repeat_warnings(compute_repeats(runs_of(same), level=0.95))
    assert cached.startswith("All runs of m0 are the same score for score")
    # exactly half of the questions right in every run, each time others: independent runs would differ
    alike = np.stack([RNG.permutation(np.repeat([0.0, 1.0], 30)) for _ in range(10)], axis=1)[None]
    (told,) = collect_repeat_warnings(compute_repeats(runs_of(alike), level=0.95))
    assert told.startswith("The runs of m0 agree more than independent generations would")


def test_one_run_says_nothing():
    section, sheet = section_of(drawn(P, 1))
    assert not section.items
    assert section.left_out == ("repeated runs (one run of each model)",)
    assert not sheet.tables
    once = drawn(P, 3)
    once[:, :, 1:] = np.nan
    assert compute_repeats(runs_of(once), level=0.95) is None


def test_models_of_one_run_are_left_out_and_many_are_cut():
    scores = drawn(P, 4)
    scores[1, :, 1:] = np.nan  # a greedy run
    section, _ = section_of(scores)
    assert [row[0] for row in section.items[2].rows] == ["m0", "m2"]
    many, _ = section_of(drawn(np.tile(P[:1], (25, 1)), 3))
    assert "Drawn for 20 of 25 models." in many.items[0].caption
    assert "Drawn for 4 of 25 models." in many.items[1].caption
    assert "The first 20 of 25 models" in many.items[2].caption
    assert len(many.items[2].rows) == 20


def test_hostile_names_are_data():
    found = compute_repeats(runs_of(drawn(P, 3), HOSTILE[:3]), level=0.95)
    for chart in (draw_runs, draw_drift):
        spec = chart(found, HOSTILE[:3])
        assert not any("expr" in str(layer.get("transform", "")) for layer in spec["layer"])


def test_luck_of_runs_with_different_questions_is_measured_from_the_mean_of_the_runs():
    # by hand: runs of 2/4 and 2/2; the score, the mean of the questions, is .5, the mean of the runs .75
    scores = np.array([[[1, 1], [1, 1], [0, np.nan], [0, np.nan]]], float)
    caption = section_of(scores)[0].items[0].caption
    assert "The best run lies 0.250 above the mean of all its runs: to report only the best run" in caption


def test_runs_that_differ_by_rounding_are_one_number():
    """By hand: .1 and .2 in one run, .3 and 0 in the other; the text was "from 0.15 to 0.15"."""
    text = section_of(np.array([[[0.1, 0.3], [0.2, 0.0]]]))[0].items[0].caption
    assert re.match(r"m0 scored 0\.150* in 2 runs", text)


def test_of_models_with_equal_luck_none_has_the_most():
    scores = np.zeros((3, 10, 4))
    scores[:, :5] = 1
    scores[:2, :9, 3] = 1  # two models have a run of .9 beside three of .5
    text = section_of(scores)[0].items[0].caption
    assert "The best run of each of m0 and m1 lies 0.30 above" in text
    assert "that much luck, the most of all models." in text
    text = section_of(scores[:2])[0].items[0].caption
    assert "The best run of each model lies 0.30 above" in text
    assert "the most" not in text


def test_runs_with_other_questions_are_not_called_runs_of_the_same_questions():
    runs = runs_of(drawn(P[:1], 3))
    short = runs[2]
    keep = np.arange(60) < 40
    cut = Cells(
        short.benchmark,
        short.models,
        short.questions,
        *(np.where(keep, x, 0) for x in (short.n, short.total, short.total_sq)),
    )
    runs = [*runs[:2], cut]
    result = compute_repeats(runs, level=0.95)
    section = build_repeats_section(result, runs, pooled(runs), runs[0].models, ElementBuilder("b1"))
    text = section.items[0].caption
    assert "in 3 runs that have 40 to 60 of 60 questions each;" in text
    assert "Runs with different questions differ by those, too" in text
    text = section_of(drawn(P[:1], 3))[0].items[0].caption
    assert "in 3 runs of the same questions;" in text
    assert "by those, too" not in text
