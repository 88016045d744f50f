"""Scores with what is missing counted. Kinds of truth: written by hand (small cells); theory (bounds hold whatever the
missing scores are); scipy (the critical value); simulation (coverage)."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.long_cases import mark_long
from scipy import optimize, stats

import howsure as hs
from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import Cells
from howsure.stats.scores import score
from howsure.stats.scores.missing import _critical_value, _interpolate, count_missing, fill_missing, score_with_missing


def cells(failed=((0, 1, 2, 0), (0, 0, 0, 0))):
    # model a: 2 of 2 right, 1 of 1 with one failed, nothing but two failures, never asked; model b: all there
    n = np.array([[2, 1, 0, 0], [2, 2, 2, 2]])
    total = np.array([[2.0, 1.0, 0.0, 0.0], [1.0, 0.0, 2.0, 1.0]])
    failed = None if failed is None else np.array(failed)
    return Cells("bench", ("a", "b"), ("q1", "q2", "q3", "q4"), n, total, total.copy(), failed)


def test_what_failed_and_what_was_never_asked_is_missing():
    # q4 of model a was never asked: it counts as many generations as the middle one of its other questions, two
    assert count_missing(cells()).tolist() == [[0, 1, 2, 2], [0, 0, 0, 0]]
    assert count_missing(cells(None)).tolist() == [[0, 0, 1, 1], [0, 0, 0, 0]]  # nobody says that anything failed


def test_counted_as_wrong_and_as_right():
    wrong, right = fill_missing(cells(), 0.0), fill_missing(cells(), 1.0)
    assert wrong.mean[0].tolist() == [1.0, 0.5, 0.0, 0.0]
    assert right.mean[0].tolist() == [1.0, 1.0, 1.0, 1.0]
    assert wrong.mean[1].tolist() == right.mean[1].tolist() == cells().mean[1].tolist()
    assert wrong.n[0].tolist() == [2, 2, 2, 2]
    assert not wrong.failed.any()
    whole = cells().select(["b"])
    assert fill_missing(whole, 0.0) is whole


def test_the_three_rules():
    answered = hs.score(cells()).columns()
    as_zero = hs.score(cells(), missing="as-zero").columns()
    bounds = hs.score(cells(), missing="bounds").columns()
    assert dict(zip(answered["model"], answered["score"], strict=True)) == {"a": 1.0, "b": 0.5}
    assert dict(zip(as_zero["model"], as_zero["score"], strict=True)) == {"a": 0.375, "b": 0.5}
    # the questions without an answer are still counted, and a note says what was scored 0
    assert as_zero["n_missing"].tolist()[::-1] == answered["n_missing"].tolist() == [2, 0]
    assert [note.count("generations without a score, scored 0") for note in as_zero["note"]] == [0, 1]
    assert as_zero["model"].tolist() == ["b", "a"]  # another order than that of what was answered
    row = {model: i for i, model in enumerate(bounds["model"])}
    a, b = row["a"], row["b"]
    assert (bounds["score_low"][a], bounds["score"][a], bounds["score_high"][a]) == (0.375, 1.0, 1.0)
    assert bounds["score_low"][b] == bounds["score_high"][b] == 0.5
    # b lacks nothing: its interval is that of its score
    answered_b = answered["model"].tolist().index("b")
    assert [bounds[end][b] for end in ("low", "high")] == [answered[end][answered_b] for end in ("low", "high")]
    # the lower limit of a is that of its lower bound at a level between the one-sided and the two-sided
    lowest, highest = (
        hs.score(fill_missing(cells(), 0.0), level=level).parts[0].interval().low[0] for level in (0.95, 0.9)
    )
    assert lowest < bounds["low"][a] <= highest
    assert list(bounds)[:6] == ["benchmark", "model", "n_questions", "n_generations", "score", "score_low"]


def test_bounds_do_not_say_that_they_leave_out_what_they_score():
    """By hand: a lacks one generation of two questions, and the third, which had two as the others."""
    made = Cells.from_scores("b", ["a", "b"], ["1", "2", "3"], [[[1], [0], []], [[1], [1], [0]]])
    rows = hs.score(replace(made, failed=np.array([[1, 1, 0], [0, 0, 0]])), missing="bounds").columns()
    note = dict(zip(rows["model"], rows["note"], strict=True))
    assert "4 generations without a score, which score leaves out and its bounds score 0 and 1" in note["a"]
    assert "left out" not in note["a"]
    assert "without a score" not in note["b"]


def test_bounds_hold_whatever_is_missing():
    rng = np.random.default_rng(0)
    n, failed = rng.integers(1, 5, (1, 40)), rng.integers(0, 3, (1, 40))
    total = rng.binomial(n, 0.6).astype(float)
    given = Cells("b", ("m",), tuple(f"q{j}" for j in range(40)), n, total, total.copy(), failed)
    bounds = hs.score(given, missing="bounds").columns()
    for _ in range(20):
        lost = rng.binomial(failed, rng.uniform())
        whole = ((total + lost) / (n + failed)).mean()
        assert bounds["score_low"][0] - 1e-12 <= whole <= bounds["score_high"][0] + 1e-12


def test_what_cannot_be_bounded():
    n, total = np.array([[1, 1]]), np.array([[3.0, -1.0]])
    given = Cells("b", ("m",), ("q1", "q2"), n, total, total**2, np.array([[1, 0]]))
    with pytest.raises(InputError, match="missing scores cannot be bounded: scores are not in"):
        fill_missing(given, 0.0)
    with pytest.raises(UnknownNameError, match="unknown rule for what is missing 'as-one'"):
        score_with_missing(given, "as-one", lambda one: one)


def test_the_critical_value_solves_its_equation():
    """Another program: scipy's root of Imbens and Manski's eq. (6)."""
    for level in (0.8, 0.95, 0.999):
        for ratio in (0, 0.03, 0.4, 1, 3, 50):
            root = optimize.brentq(lambda c, r=ratio, at=level: stats.norm.cdf(c + r) - stats.norm.cdf(-c) - at, 0, 9)
            assert _critical_value(np.array(ratio), level) == pytest.approx(root, abs=1e-9)
    assert np.isnan(_critical_value(np.array(np.nan), 0.95))


@pytest.mark.filterwarnings("ignore:.*has a higher score:howsure.errors.HowsureWarning")  # its models are draws
@pytest.mark.parametrize("kind", ["binary", "partial"])
@pytest.mark.parametrize("share", mark_long([0.1, 0.01, 0.5], after=1))
@pytest.mark.parametrize("lost", ["wrong", "right", "any"])
def test_bounds_cover_the_score_whatever_is_missing(kind, share, lost):
    """Simulation: new questions of expected score .8, of which the lost ones are all wrong, all right, or any."""
    rng = np.random.default_rng(9)
    draws, questions, mean = 1500, 100, 0.8
    p = rng.beta(1.6, 0.4, (draws, questions))
    y = (rng.random(p.shape) < p).astype(float) if kind == "binary" else p
    chance = {"wrong": share * (1 - y) / (1 - mean), "right": share * y / mean, "any": np.full(y.shape, share)}[lost]
    gone = rng.random(y.shape) < np.minimum(chance, 1)
    weight = np.ones(draws)
    if kind == "binary":  # draws with the same counts have the same interval
        counts = np.stack([np.sum(y * ~gone, axis=1), gone.sum(axis=1)], axis=1)
        _, first, weight = np.unique(counts, axis=0, return_index=True, return_counts=True)
        y, gone = y[first], gone[first]
    n, total = (~gone).astype(int), np.where(gone, 0, y)
    names = tuple(map(str, range(len(y)))), tuple(map(str, range(questions)))
    result = hs.score(Cells("b", *names, n, total, total**2, gone.astype(int)), missing="bounds").parts[0]
    low, high = result.interval().low, result.interval().high
    covered = np.average((low <= mean) & (mean <= high), weights=weight)
    assert covered > 0.93 - 2.5 * np.sqrt(0.93 * 0.07 / draws)
    if kind == "binary" and lost != "any":  # then a bound is the truth: two-sided intervals cover .97 and more
        assert covered < 0.97


def test_added_generations_have_no_order():
    cells = Cells.from_scores("b", ["x", "y"], ["1", "2"], [[[1], []], [[1], [0]]])
    assert cells.outcomes is not None
    assert fill_missing(cells, 0).outcomes is None
    assert fill_missing(cells.select(["y"]), 0).outcomes is not None


@pytest.mark.parametrize("level", [0.01, 0.3, 0.5, 0.8])
def test_bounds_of_complete_scores_are_their_intervals_at_any_level(level):
    """Theory: with half of the questions missing the one-sided quantile counts, where it is above 0."""
    n = np.repeat([[1, 0], [1, 1]], 50, axis=1)
    right = n * np.tile([1.0, 0.0], 50)
    given = Cells("b", ("half", "all"), tuple(f"q{i}" for i in range(100)), n, right, right, failed=1 - n)
    ours = score_with_missing(given, "bounds", lambda each: score(each, level=level)).interval()
    whole = score(given.select(["all"]), level=level).interval()
    assert (ours.low[1], ours.high[1]) == pytest.approx((whole.low[0], whole.high[0]))
    beyond = max(stats.norm.ppf(level), 0) * np.sqrt(0.25 * 0.75 / 100)
    assert ours.low[0] == pytest.approx(0.25 - beyond, abs=0.005)
    assert ours.high[0] == pytest.approx(0.75 + beyond, abs=0.005)


def test_interpolation_by_hand():
    """Of rows 0, 1 and 2: at their ends, between them, and beyond."""
    values = np.array([[0.0, 10.0], [1.0, 20.0], [4.0, 40.0]])
    for place, expected in ((2.0, [4, 40]), (5.0, [4, 40]), (0.0, [0, 10]), (-1.0, [0, 10]), (1.25, [1.75, 25])):
        assert _interpolate(values, np.full(2, place)) == pytest.approx(expected)
