"""The running scores of one model, against loops over single scores: a slow version written differently."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.errors import InputError
from howsure.sample.snapshot import Tally
from howsure.stats.core.cells import Cells
from howsure.stats.sequential.stopping_rules import VARIANCE_FLOOR

QUESTIONS = ("q0", "q1", "q2")
# {(question, variant, generation): score}; sixteenths add up exactly in any order
ROWS = st.dictionaries(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(1, 5)), st.integers(0, 16).map(lambda x: x / 16)
)


def filled(rows, variants=2):
    tally = Tally(QUESTIONS, variants, 3)
    for (q, _, g), score in rows.items():
        tally.add_all(q, [g], [score])
    return tally


def round_values(rows, q, upto):
    """Values of the rounds that have both variants, by round."""
    both = {g: [rows.get((q, v, g)) for v in (0, 1)] for g in range(1, upto + 1)}
    return {g: (a + b) / 2 for g, (a, b) in both.items() if a is not None and b is not None}


@given(ROWS, st.integers(1, 6))
def test_cells_and_runs_against_a_loop(rows, upto):
    values = [round_values(rows, q, upto) for q in range(3)]
    expected = Cells.from_scores("b", ["m"], QUESTIONS, [[list(v.values()) for v in values]])
    tally = filled(rows)
    ours = tally.cells("b", "m", upto)
    assert (ours.questions, ours.models, ours.benchmark) == (QUESTIONS, ("m",), "b")
    for name in ("n", "total", "total_sq"):
        assert getattr(ours, name).tolist() == getattr(expected, name).tolist()
    runs = tally.runs("b", "m", upto)
    assert [run.n[0].tolist() for run in runs] == [[int(g in v) for v in values] for g in range(1, upto + 1)]
    assert [run.total[0].tolist() for run in runs] == [[v.get(g, 0) for v in values] for g in range(1, upto + 1)]


@given(ROWS)
def test_the_running_mean_counts_every_generation(rows):
    """Written out: the sums of each question over all its generations and variants."""
    cells = filled(rows).pooled_cells("b", "m")
    for q in range(3):
        scores = [score for (question, _, _), score in rows.items() if question == q]
        assert cells.n[0, q] == len(scores)
        assert cells.total[0, q] == pytest.approx(sum(scores))
        assert cells.total_sq[0, q] == pytest.approx(sum(score**2 for score in scores))


@given(ROWS)
def test_all_ways_in_are_one(rows):
    """Theory: adding commutes, one by one, by request, or at once; load adds to what is there."""
    one = filled(rows)
    by_request = Tally(QUESTIONS, 2, 3)
    for q in range(3):
        for v in range(2):
            by_request.add_all(q, range(1, 6), [rows.get((q, v, g)) for g in range(1, 6)])
    at_once = Tally(QUESTIONS, 2, 3)
    keys = list(rows)
    for part in (keys[::2], keys[1::2]):
        at_once.load([k[0] for k in part], [k[2] for k in part], [rows[k] for k in part])
    for other in (by_request, at_once):
        for name in ("n", "total", "total_sq"):
            ours, theirs = (getattr(tally.cells("b", "m"), name) for tally in (other, one))
            assert ours.tolist() == theirs.tolist()
            ours, theirs = (getattr(tally.pooled_cells("b", "m"), name) for tally in (other, one))
            assert ours == pytest.approx(theirs)


def test_how_hard_a_wording_is_does_not_count_as_sampling_noise():
    """Theory: variants that always score 1 and 0 leave round values without any spread; pooled they would vary."""
    tally = filled({(q, v, g): float(v) for q in range(3) for v in (0, 1) for g in (1, 2, 3)})
    assert tally.cells("b", "m").within.tolist() == [[0, 0, 0]]
    assert tally.cells("b", "m").mean.tolist() == [[0.5, 0.5, 0.5]]


def test_the_floor_is_in_units_of_round_values():
    """Theory: the mean of V scores has 1/V of their variance, and its sum of squares 1/V^2 of theirs."""
    assert filled({(0, 0, 1): 1.0, (0, 1, 1): 0.0}).variance_floor() == VARIANCE_FLOOR / 4
    assert filled({(0, 0, 1): 1.0}, variants=1).variance_floor() == VARIANCE_FLOOR
    partial = filled({(0, 0, 1): 1.0, (0, 0, 3): 0.5}, variants=1)
    assert (partial.variance_floor(), partial.variance_floor(2)) == (0, VARIANCE_FLOOR)
    assert filled({(0, 0, 1): 3.0}, variants=1).variance_floor() == 0


def test_memory_does_not_depend_on_variants_nor_on_the_largest_generation():
    """12 bytes per question and generation; a stray generation costs one pair of arrays."""
    tally = Tally([f"q{i}" for i in range(1000)], 20, 5)
    for g in (1, 2, 10**9):
        tally.add_all(999, [g], [1.0])
    held = [array for arrays in (tally._sum, tally._count) for array in arrays.values()]
    assert sum(len(array) * array.itemsize for array in held) == 3 * 12 * 1000


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([0, 1], [1], [1.0]), "shapes"),
        (([0], [0], [1.0]), "a row has no score"),
        (([3], [1], [1.0]), "a row has no score"),
        (([-1], [1], [1.0]), "a row has no score"),
        (([0], [1], [math.nan]), "a row has no score"),
        (([0, 0, 0], [1, 1, 1], [1.0, 0.0, 1.0]), "generation 1 of a question has more scores than the 2 variants"),
    ],
)
def test_what_cannot_be_loaded(rows, message):
    with pytest.raises(InputError, match=message):
        Tally(QUESTIONS, 2, 3).load(*rows)
