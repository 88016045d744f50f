"""Reducing rows where they lie: duplicates found in the same pass, and rows that no cell can be made of."""

import functools

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.errors import InputError
from howsure.rows import to_cells


def rows(generations, **more):
    size = len(generations)
    names = {"benchmark": ["b"] * size, "model": ["m"] * size, "question": ["q"] * size}
    return {**names, "generation": generations, "score": [1.0] * size, **more}


@pytest.fixture
def passes(monkeypatch):
    """How often rows are grouped by their whole key, which is what the one pass saves."""
    counted = []
    monkeypatch.setattr(to_cells, "_check_unique", lambda _rows, key, _where: counted.append(tuple(key)))
    return counted


@settings(deadline=None, max_examples=300)
@given(st.lists(st.integers(0, 52), min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_a_sum_of_powers_has_as_many_bits_as_terms_only_where_all_differ(generations, random):
    """Theory, by cases: in double precision and any order of adding, carries past the last bit among them."""
    terms = [2.0**g for g in generations]
    while len(terms) > 1:  # a random tree of additions, as an engine's threads make one
        terms.append(terms.pop(random.randrange(len(terms))) + terms.pop(random.randrange(len(terms))))
    [bits] = to_cells._count_bits(np.array(terms))
    assert (bits == len(generations)) == (len(set(generations)) == len(generations))


def test_powers_of_two_are_exact():
    """Independent: Python's integers."""
    with duckdb.connect() as connection:
        frame = connection.from_arrow(pa.table(rows(list(range(5, 215)))))
        words = to_cells._write_marks(frame)
        powers = frame.project(", ".join(words.values())).fetchall()
    assert len(words) == 4
    for i, column in enumerate(zip(*powers, strict=True)):
        expected = [2 ** (k - 53 * i) if 0 <= k - 53 * i < 53 else 0 for k in range(210)]
        assert [int(value) for value in column] == expected


@pytest.mark.parametrize("generations", [[1, 2, 3], [53, 1, 52], list(range(7, 219)), [-3, 0, 4], [42]])
def test_different_generations_need_no_second_pass(generations, passes):
    [cells] = to_cells.make_cells(pa.table(rows(generations)))
    assert cells.n.tolist() == [[len(generations)]]
    assert passes == []


@pytest.mark.parametrize(
    "generations", [[1, 2, 1], [1, 53, 53], [*range(60), 55], [52, 52, 0], [0, 0, 10**12], ["x", "y", "x"]]
)
def test_duplicates_are_refused(generations):
    with pytest.raises(InputError, match="the table: 1 duplicate key, the first benchmark 'b', model 'm', quest"):
        to_cells.make_cells(pa.table(rows(generations)))


def test_generations_that_are_no_small_numbers_are_grouped_by_their_key(passes):
    for generations in (["1", "2"], [0, 10**12], [1.5, 2.5]):
        to_cells.make_cells(pa.table(rows(generations)))
    assert passes == [("benchmark", "model", "question", "generation")] * 3


def test_a_generation_that_is_null_is_one():
    [cells] = to_cells.make_cells(pa.table(rows([1, None, 2])))
    assert cells.n.tolist() == [[3]]
    with pytest.raises(InputError, match="1 duplicate key.*generation None; it occurs 2 times"):
        to_cells.make_cells(pa.table(rows([1, None, None])))
    [cells] = to_cells.make_cells(pa.table(rows(pa.array([None, None], pa.int64()), variant=["v", "w"])))
    assert cells.n.tolist() == [[2]]


def test_variants_are_pooled():
    """The expectation is counted by hand."""
    many = rows([1, 1, 2, 1], variant=["v", "w", "w", "x"], answer=["A", None, "B", "C"])
    many["question"], many["score"] = ["q", "q", "q", "r"], [1.0, 0.0, 1.0, None]
    [cells] = to_cells.make_cells(pa.table(many))
    assert (cells.n.tolist(), cells.total.tolist()) == ([[3, 0]], [[2.0, 0.0]])
    assert (cells.failed.tolist(), cells.unparsed.tolist()) == ([[0, 1]], [[1, 0]])
    assert cells.variants == ("v", "w", "x")
    with pytest.raises(InputError, match="1 duplicate key.*variant 'w', generation 2"):
        to_cells.make_cells(pa.table({**many, "generation": [1, 2, 2, 1]}))


def test_runs_and_cubes_find_duplicates_too():
    twice = pa.table(rows([1, 2, 2]))
    for read in (to_cells.make_runs, to_cells.make_cubes):
        with pytest.raises(InputError, match="1 duplicate key"):
            read(twice)
    cells = {**rows([1, 1]), "n": [1, 2], "total": [1.0, 1.0], "total_sq": [1.0, 1.0]}
    with pytest.raises(InputError, match="1 duplicate key.*question 'q'; it occurs 2 times"):
        to_cells.make_cells(pa.table(cells))


BAD = {
    "a name that is null": ({"model": ["m", None]}, "t: the model is empty; fill it in"),
    "a name of spaces": ({"question": ["  ", "q"]}, "t: the question is empty; fill it in"),
    "a cluster of nothing": ({"cluster": ["", ""]}, "t: the cluster is empty; fill it in"),
    "an infinite score": ({"score": [1.0, float("inf")]}, "t: a score is not a finite number; fix the value"),
    "two infinite scores": ({"score": [-float("inf"), float("inf")]}, "t: a score is not a finite number"),
}


@pytest.mark.parametrize("case", BAD)
def test_rows_of_which_no_cell_can_be_made(case):
    wrong, message = BAD[case]
    with pytest.raises(InputError, match=message):
        to_cells.make_cells(pa.table({**rows([1, 2]), **wrong}), where="t")


def test_an_empty_variant_is_refused_where_variants_are_told_apart():
    frame = pa.table(rows([1, 2], variant=["v", ""]))
    assert functools.reduce(lambda a, b: a + b, to_cells.make_cells(frame)).variants == ("", "v")
    with pytest.raises(InputError, match="the variant is empty"):
        to_cells.make_cubes(frame)
