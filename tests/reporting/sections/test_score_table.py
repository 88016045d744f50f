"""The table of scores: ranks with their sets, where the error comes from, and the disagreement of pairs."""

import numpy as np
import pytest
from helpers.parsed_page import HOSTILE
from helpers.planted_prompts import planted

from howsure.reporting.elements import ElementBuilder
from howsure.reporting.sections import score_table
from howsure.reporting.sections.comparisons import (
    build_disagreement_figure,
    describe_disagreement,
    describe_pair_errors,
    draw_disagreement,
    significant_difference,
)
from howsure.stats.comparisons import pairs, range_ranks
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.prompts.components import estimate_components
from howsure.stats.scores.score import score


def cells(*rows, models=None):
    """Single generations of 0 and 1, one string per model."""
    scores = [[[float(c)] if c in "01" else [] for c in row] for row in rows]
    models = models or [f"m{i}" for i in range(len(rows))]
    return Cells.from_scores("b", models, [f"q{i}" for i in range(len(rows[0]))], scores)


def rows_of(made, **more):
    scores = score(made)
    found = score_table.build_score_table(scores, score_table.order_models(scores), **more)
    return found, {row.model: row for row in found.rows}


def test_ranks_stand_with_their_sets():
    # theory: 60 right answers against 60 wrong ones are told apart by any test, equal strings by none
    made = cells("1" * 58 + "00", "1" * 57 + "000", "0" * 58 + "11", "-" * 60)
    found, rows = rows_of(made, ranks=range_ranks(pairs(made)))
    assert found.has_ranks
    assert (rows["m0"].rank, rows["m1"].rank, rows["m2"].rank) == ("1 (1–3)", "2 (1–3)", "3 (3–4)")
    assert rows["m3"].rank == "–"
    assert not rows_of(made)[0].has_ranks
    assert rows_of(made)[1]["m0"].rank == "–"
    alone = cells("1" * 60 + "0", "0" * 60 + "1")
    assert [row.rank for row in rows_of(alone, ranks=range_ranks(pairs(alone)))[0].rows] == ["1 (1)", "2 (2)"]


def test_the_figure_of_scores_draws_each_score_between_the_ends_of_its_interval():
    # Wilson's interval by hand: 30 of 60 at level 0.95 is 0.5 -+ 0.1232, with z^2 = 3.8415
    made = cells("1" * 30 + "0" * 30, "1" * 45 + "0" * 15, "-" * 60, models=["half", "most", "none"])
    scores = score(made, method="wilson")
    figure = score_table.build_score_figure(
        scores, score_table.order_models(scores), ElementBuilder("b1"), claim="new questions"
    )
    drawn = figure.columns
    assert drawn["model"] == ["most", "half"]
    assert drawn["score"] == [0.75, 0.5]
    half = 1.959964 * np.sqrt(0.25 / 60 + 3.841459 / 4 / 60**2) / (1 + 3.841459 / 60)
    assert [drawn["low"][1], drawn["high"][1]] == pytest.approx([0.5 - half, 0.5 + half], abs=0.002)
    assert "Drawn for 2 of 3 models" in figure.caption
    assert not figure.is_folded
    alone = score(cells("10", models=["one"]))
    assert score_table.build_score_figure(alone, ["one"], ElementBuilder("b1"), claim="new questions") is None


def test_three_sources_of_error_are_the_parts_of_the_mean_square():
    # an independent version by loops: expected mean squares of a balanced two-way layout
    cube, _ = planted(effect=0.1, models=2)
    found, rows = rows_of(cube.cells(), prompts=estimate_components(cube))
    assert list(found.sources) == ["data", "prompt", "prediction"]
    M, N, S = cube.n.shape
    for m in range(M):
        y, K = cube.mean[m], cube.n[m, 0, 0]
        grand = y.mean()
        ms_q = S * sum((y[q].mean() - grand) ** 2 for q in range(N)) / (N - 1)
        ms_s = N * sum((y[:, s].mean() - grand) ** 2 for s in range(S)) / (S - 1)
        ms_r = sum((y[q, s] - y[q].mean() - y[:, s].mean() + grand) ** 2 for q in range(N) for s in range(S)) / (
            (N - 1) * (S - 1)
        )
        error = np.mean([y[q, s] * (1 - y[q, s]) * K / (K - 1) for q in range(N) for s in range(S)]) / K
        parts = [(ms_q - ms_r) / S / N, (ms_s - ms_r) / N / S + max(ms_r - error, 0) / N / S, error / N / S]
        np.testing.assert_allclose(rows[f"m{m}"].shares, np.array(parts) / sum(parts), rtol=1e-6)
        square = (ms_q - ms_r) / (N * S) + (ms_s - ms_r) / (N * S) + ms_r / (N * S)
        assert float(rows[f"m{m}"].se_prompts) == pytest.approx(np.sqrt(square), abs=1e-3)
    assert not found.prediction_has_interaction


def _joined(cube, **more):
    n = np.minimum(cube.n, 1)
    total = (cube.total > 1).astype(float)
    return Cube(cube.benchmark, cube.models, cube.questions, cube.variants, n, total, total, **more)


def test_single_generations_join_what_cannot_be_told_apart():
    cube = _joined(planted(effect=0.1, models=1)[0])
    found, rows = rows_of(cube.cells(), prompts=estimate_components(cube))
    assert found.prediction_has_interaction
    assert sum(rows["m0"].shares) == pytest.approx(1)
    assert rows["m0"].shares[1] > 0.2  # the planted effect of the prompt is seen all the same
    nested = _joined(planted(effect=0.1, models=1)[0], nested=True)
    found, rows = rows_of(nested.cells(), prompts=estimate_components(nested))
    assert list(found.sources) == ["data", "prediction"]  # the prompt's share is one with sampling: two bars as before


def test_without_prompts_there_are_two_sources_or_none():
    made = Cells.from_scores("b", ["a", "b"], ["q1", "q2", "q3"], [[[1, 0], [1, 1], [0, 0]], [[1], [0], [1]]])
    found, rows = rows_of(made)
    assert list(found.sources) == ["data", "prediction"]
    # by hand: p = .5, 1, 0; E = (.5 + 0 + 0)/3, var p = 1/6, D = 1/6 - E/2 = 1/12, SE^2 N = 1/6
    assert rows["a"].shares == pytest.approx((0.5, 0.5))
    assert rows["b"].shares is None
    assert found.has_shares
    assert not rows_of(cells("10", "01"))[0].has_shares


# Disagreement of pairs


def test_the_parabola_is_where_the_test_turns_significant():
    # an independent version: differences of single generations, one by one, tested by the normal law
    N = 200
    for disagreeing in (8, 30, 120):
        for ahead in range(disagreeing // 2, disagreeing + 1):
            d = np.array([1.0] * ahead + [-1.0] * (disagreeing - ahead) + [0.0] * (N - disagreeing))
            if d.mean() / np.sqrt(d.var() / N) >= 1.959964:
                break
        turns = ahead
        curve = float(significant_difference(disagreeing / N, N, 0.95))
        assert (2 * (turns - 1) - disagreeing) / N < curve <= (2 * turns - disagreeing) / N


def test_pairs_are_counted_against_the_curve():
    # by hand: m0 and m2 differ on all 60 questions in one direction; m0 and m1 on two
    made = cells("1" * 60, "1" * 58 + "00", "0" * 60)
    sheet = ElementBuilder("b1")
    sheet.add_table("pairs", pairs(made).columns())
    (figure,) = build_disagreement_figure(pairs(made), sheet, max_pairs=10)
    assert figure.caption.startswith("2 of 3 pairs are on or above the curve")
    spec = draw_disagreement(pairs(made))
    data = [rows[0] for rows in spec["datasets"].values()]
    points = next(rows for rows in data if "distance" in rows)
    assert sorted(points["disagreement"]) == pytest.approx([2 / 60, 58 / 60, 1])
    assert points["distance"] == pytest.approx(points["disagreement"])  # all of it in one direction
    ragged = cells("1" * 60, "1" * 40 + "0" * 18 + "--", "0" * 58 + "11", "1" * 60)
    (figure,) = build_disagreement_figure(pairs(ragged), sheet, max_pairs=3)
    assert "Pairs have different numbers of common questions" in figure.caption
    assert "Drawn for one pair in 2" in figure.caption


def test_models_that_never_disagree_are_not_above_the_curve():
    # by hand: two models all right, two all wrong; 4 pairs differ on all 40 questions, 2 on none
    made = pairs(cells("1" * 40, "1" * 40, "0" * 40, "0" * 40))
    text = describe_disagreement(made, significant_difference(made.disagreement, 40, 0.95))
    assert text.startswith("4 of 6 pairs are on or above the curve")


def test_differences_that_do_not_vary_have_no_known_error():
    made = pairs(cells("1" * 40, "1" * 40, "0" * 40))
    text = describe_pair_errors(made, binary=True)
    assert text.startswith("In 3 of 3 pairs no variation was seen, so that the error is unknown.")
    assert "median" not in text
    # by hand: 10 of 40 questions differ: sqrt((1/4 - 1/16)/40) = .068 for two pairs; the third never differs
    made = pairs(cells("1" * 40, "1" * 40, "0" * 10 + "1" * 30))
    text = describe_pair_errors(made, binary=True)
    assert "the median standard error of a difference is 0.068. In 1 of 3 pairs no variation was seen" in text


def test_without_disagreement_there_is_no_figure():
    sheet = ElementBuilder("b1")
    assert not list(build_disagreement_figure(pairs(cells("10", "01")), sheet, max_pairs=10))  # one pair
    assert not list(build_disagreement_figure(pairs(cells("1", "1", "1")), sheet, max_pairs=10))
    real = Cells.from_scores("b", ["a", "b", "c"], ["q"], [[[2.5]], [[3.0]], [[4.0]]])
    assert not list(build_disagreement_figure(pairs(real), sheet, max_pairs=10))
    apart = cells("10--", "--01", "10--")
    assert not list(build_disagreement_figure(pairs(apart), sheet, max_pairs=10))


def test_hostile_names_are_data():
    made = cells("110", "011", "101", models=HOSTILE[:3])
    spec = draw_disagreement(pairs(made))
    assert all(HOSTILE[0] not in str(layer) for layer in spec["layer"])
