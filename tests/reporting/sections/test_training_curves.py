"""The figure of a training run: its numbers are those of the curve, and its sentences are false where data make them so.

Each score is planted by hand; the tests of the sentences compute their counts from `compare` and `holm` again.
"""

import itertools
import re

import numpy as np
import pytest

import howsure as hs
from howsure.errors import InputError
from howsure.reporting.page import build_page
from howsure.reporting.report_data import ReportData
from howsure.reporting.sections.training_curves import describe_curve, draw_curve
from howsure.stats.comparisons import curve
from howsure.stats.core.cells import Cells
from howsure.stats.core.multiplicity import holm

STEPS = (10, 200, 3000, 40000)


def plant(shares, *, generations=4, questions=120, seed=3, steps=STEPS):
    """Cells whose checkpoints solve each question with these probabilities, shifted for each question."""
    draw = np.random.default_rng(seed)
    shift = draw.uniform(-0.1, 0.1, questions)
    scores = [
        (draw.random((questions, generations)) < np.clip(share + shift, 0, 1)[:, None]).astype(int) for share in shares
    ]
    names = [f"lab/m step {step}" for step in steps[: len(shares)]]
    return Cells.from_scores("demo", names, [f"q{i}" for i in range(questions)], [one.tolist() for one in scores])


def read_data(chart, field):
    spec = chart if isinstance(chart, dict) else chart.to_dict()
    return next(rows[0] for rows in spec["datasets"].values() if field in rows[0])


def test_the_figure_has_the_numbers_of_the_curve():
    cells = plant([0.2, 0.5, 0.5, 0.3])
    table = hs.curve(cells)
    drawn = read_data(hs.figures.curve(cells), "low_prediction")
    assert drawn["position"] == list(STEPS)
    for name in ("score", "low", "high", "low_prediction", "high_prediction", "difference"):
        assert drawn[name] == pytest.approx(table[name].tolist(), rel=1e-6), name
    kinds = [re.match(r"\w+", kind)[0] for kind in drawn["kind"]]
    verdicts = table["verdict"].tolist()
    expected = ["first", *("rise" if c > 0 else "fall" for c in table["change"][1:])]
    assert kinds == [e if "beyond" in v else "first" for e, v in zip(expected, verdicts, strict=True)]
    assert {"rise", "fall"} <= set(kinds)
    assert hs.figures.curve(table).to_dict()["title"] == hs.figures.curve(cells).to_dict()["title"]


@pytest.mark.parametrize(
    "shares", [[0.2, 0.5, 0.5, 0.3], [0.5] * 4, [0.1, 0.4, 0.7, 0.95], [0.9, 0.6, 0.4, 0.1], [0.3, 0.35, 0.4, 0.4]]
)
def test_the_counts_of_the_sentences_are_those_of_tests_one_by_one(shares):
    cells = plant(shares)
    names = cells.models
    steps = [hs.compare(cells, b, a, claim="these-questions") for a, b in itertools.pairwise(names)]
    changes = holm(np.array([one["p_value"][0] for one in steps])) < 0.05
    differences = [hs.compare(cells, name, names[-1]) for name in names[:-1]]
    distinct = holm(np.array([one["p_value"][0] for one in differences])) < 0.05
    lower = sum(d and one["difference"][0] < 0 for d, one in zip(distinct, differences, strict=True))
    text = describe_curve(curve(cells))
    if changes.any():
        assert f"{changes.sum()} of 3 changes from a checkpoint to the next" in text
        for name, is_beyond, one in zip(names[1:], changes, steps, strict=True):
            part = text.partition("orange): ")[2].partition(". On other")[0]
            rises, _, falls = part.partition("falls at")
            assert (name in rises) == (is_beyond and one["difference"][0] > 0)
            assert (name in falls) == (is_beyond and one["difference"][0] < 0)
    else:
        assert "None of 3 changes from a checkpoint to the next is beyond" in text
    if distinct.any():
        assert f"{distinct.sum()} of 3 other checkpoints" in text
        assert f": {lower} lower, {distinct.sum() - lower} higher. " in text
    else:
        assert "none of 3 other checkpoints can be told apart" in text
    assert ("no difference is shown" in text) == (0 < distinct.sum() < 3)
    assert ("For the other one no" in text) == (distinct.sum() == 2)
    score = hs.score(cells)
    highest = score["model"][np.argmax(score["score"])]
    assert re.search(rf"The highest score, 0\.\d+, is that of {highest}\b", text)
    is_selected = highest != names[-1] and not distinct[names.index(highest)]
    assert ("too high on average" in text) == is_selected


def test_the_first_checkpoint_is_not_marked_as_compared_with_one_before_and_the_words_fit_a_column():
    """At 3.3 inches a name of the legend has 148 pixels and the title of the axis about 185, at 6.2 a letter."""
    chart = draw_curve(curve(plant([0.1, 0.5, 0.9])))
    assert read_data(chart, "kind")["kind"][0] == "first, or no change shown"
    spec = chart
    points = spec["layer"][-1]["encoding"]
    assert max(map(len, points["color"]["scale"]["domain"])) <= 26
    assert len(points["x"]["title"]) <= 30


def test_one_generation_says_nothing_of_sampling_noise():
    text = describe_curve(curve(plant([0.1, 0.5, 0.9], generations=1)))
    assert "unknown, because a test takes several generations per question of both checkpoints" in text
    assert "thick line" not in text
    assert "orange" not in text
    assert "2 of 2 other checkpoints can be told apart" in text
    chart = draw_curve(curve(plant([0.1, 0.5, 0.9], generations=1)))
    assert len(set(read_data(chart, "kind")["kind"])) == 1


def test_a_checkpoint_with_one_generation_among_others_with_more_is_not_said_to_be_like_all():
    scores = [[[1, 1], [0, 0], [1, 0]], [[0], [1], [0]], [[1, 1], [1, 0], [1, 1]]]
    cells = Cells.from_scores("demo", ["m step 1", "m step 2", "m step 3"], ["p", "q", "r"], scores)
    text = describe_curve(curve(cells))
    assert "unknown, because a test takes several generations per question of both checkpoints" in text


def test_a_curve_without_any_variation_shows_no_change():
    text = describe_curve(curve(plant([1.2] * 3)))
    assert "None of 2 changes from a checkpoint to the next is beyond the noise of sampling" in text
    assert "none of 2 other checkpoints can be told apart from lab/m step 3000" in text
    assert "3000 together with lab/m step 10 and lab/m step 200." in text


def test_checkpoints_on_other_questions_are_not_compared():
    scores = [[[1, 0] if i // 4 == j else [] for i in range(12)] for j in range(3)]
    cells = Cells.from_scores("demo", ["step 1", "step 2", "step 3"], [f"q{i}" for i in range(12)], scores)
    text = describe_curve(curve(cells))
    assert "unknown, because neighbours have no question in common" in text
    assert text.endswith("No difference to step 3 can be tested.")


def test_equal_highest_scores_are_all_named():
    scores = [[[0]] * 5 + [[1]] * 15, [[1]] * 15 + [[0]] * 5, [[0]] * 8 + [[1]] * 12]
    cells = Cells.from_scores("demo", ["step 1", "step 2", "step 3"], [f"q{i}" for i in range(20)], scores)
    assert "0.750, is that of step 1 and step 2, which cannot be told apart from step 3" in describe_curve(curve(cells))
    last = describe_curve(curve(cells, ["step 3", "step 2", "step 1"]))
    assert "0.750, is that of step 1 together with step 2." in last


def test_the_report_draws_training_runs_and_nothing_for_sizes_or_temperatures():
    cells = plant([0.2, 0.5, 0.5, 0.3])
    page = build_page(ReportData([cells]))
    [figure] = [one for one in page.figures if "curve" in one.id]
    assert figure.id == "b1-curve-1"
    assert "Checkpoints of a training run" in page.html
    assert figure.caption == describe_curve(curve(cells))
    for names in (["m-7b", "m-13b", "m-70b", "n"], [f"m:temperature={t}" for t in (0.1, 0.4, 0.7, 1)]):
        scores = plant([0.2, 0.5, 0.5, 0.3])
        other = Cells("demo", tuple(names), scores.questions, scores.n, scores.total, scores.total_sq)
        assert not [f for f in build_page(ReportData([other])).figures if "curve" in f.id]


def test_steps_that_grow_by_factors_have_a_logarithmic_axis():
    """Of the four steps three are below a tenth of the last one; evenly spaced ones, and a step 0, have a linear axis."""
    scores = [0.2, 0.5, 0.5, 0.3]
    for steps, kind in ((STEPS, "log"), ((100, 200, 300, 400), "linear"), ((0, 2, 30, 4000), "linear")):
        spec = hs.figures.curve(plant(scores, steps=steps)).to_dict()
        axes = [layer["encoding"]["x"] for layer in spec["layer"] if "x" in layer["encoding"]]
        assert {axis["scale"]["type"] for axis in axes} == {kind}
        assert {"log scale" in axis["title"] for axis in axes} == {kind == "log"}


def test_a_figure_of_one_training_run():
    cells = plant([0.2, 0.5, 0.5, 0.3])
    order = [*cells.models[:3]]
    result = hs.figures.curve(cells, order, level=0.8)
    assert read_data(result, "low_prediction")["model"] == order
    assert "80% interval" in " ".join(result.to_dict()["title"]["subtitle"])
    names = ["a step 1", "a step 2", "b step 1", "b step 2"]
    two = Cells("demo", tuple(names), cells.questions, cells.n, cells.total, cells.total_sq)
    for given in (two, hs.curve(two)):
        with pytest.raises(InputError, match="2 training runs"):
            hs.figures.curve(given)
    with pytest.raises(InputError, match="has its own"):
        hs.figures.curve(hs.curve(cells), level=0.9)
    assert read_data(hs.figures.curve(two, names[2:]), "low_prediction")["model"] == names[2:]
    words = Cells("demo", ("base", "sft", "dpo", "rl"), cells.questions, cells.n, cells.total, cells.total_sq)
    assert read_data(hs.figures.curve(words, words.models), "low_prediction")["position"] == [1, 2, 3, 4]
    with pytest.raises(InputError, match="0 training runs"):
        hs.figures.curve(words)
