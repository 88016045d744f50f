"""Frames of other libraries: the same cells from each, and each way they can be wrong."""

import functools

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.tables import read_cells, read_cubes, read_runs

from howsure.errors import HowsureWarning, InputError
from howsure.rows.frames import is_frame

ROWS = {
    "benchmark_id": ["b", "b", "b", "b", "c"],
    "model_name": ["m", "m", "m", "n", "m"],
    "id": [1, 1, 2, 2, 1],
    "template": ["v", "w", "v", "v", "v"],
    "run": [1, 1, 1, 1, 1],
    "score": [1.0, 0.0, None, 0.5, 1.0],
    "text": ["not read"] * 5,
}

FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "batches": lambda rows: pa.table(rows).to_reader(max_chunksize=2),
    "narwhals": lambda rows: nw.from_native(pl.DataFrame(rows)),
    "duckdb": lambda rows: connection().from_arrow(pa.table(rows)),
}


@functools.cache
def connection():
    return duckdb.connect()


@pytest.mark.parametrize("kind", FRAMES)
def test_the_same_cells_of_every_frame(kind):
    """Counted by hand."""
    frame = FRAMES[kind](ROWS)
    assert is_frame(frame)
    b, c = read_cells(frame)
    assert (b.benchmark, b.models, b.questions, b.variants) == ("b", ("m", "n"), ("1", "2"), ("v", "w"))
    assert (b.n.tolist(), b.total.tolist(), b.failed.tolist()) == (
        [[2, 0], [0, 1]],
        [[1, 0], [0, 0.5]],
        [[0, 1], [0, 0]],
    )
    assert (c.benchmark, c.n.tolist()) == ("c", [[1]])


@pytest.mark.parametrize("kind", FRAMES)
def test_runs_and_cubes_of_every_frame(kind):
    runs = read_runs(FRAMES[kind]({**ROWS, "run": [1, 2, 1, 1, 1]}))
    assert [int(run.n.sum()) for run in runs["b"]] == [2, 1]
    rows = {**ROWS, "tone": ["kind", None, "kind", "kind", "kind"], "shots": [0, 4, 0, 0, 0]}
    b, _ = read_cubes(FRAMES[kind](rows), dimensions=["tone", "shots"])
    assert (b.variants, b.n.tolist()) == (("v", "w"), [[[1, 1], [0, 0]], [[0, 0], [1, 0]]])
    assert dict(b.values) == {"tone": ("kind", "(empty)"), "shots": ("0", "4")}
    del rows["template"]
    b, _ = read_cubes(FRAMES[kind](rows), dimensions=["tone", "shots"])
    assert b.variants == ("tone=(empty), shots=4", "tone=kind, shots=0")
    b, _ = read_cubes(FRAMES[kind](rows), dimensions=["shots"])
    assert b.variants == ("0", "4")


@pytest.mark.parametrize("kind", FRAMES)
def test_names_of_our_own_and_without_a_benchmark_or_a_generation(kind):
    rows = {"who": ["m", "m"], "what": [1.5, 1.5], "points": [1.0, float("nan")]}
    columns = {"model": "who", "question": "what", "score": "points"}
    with pytest.warns(HowsureWarning, match="the frame: 1 cell has several rows"):
        [cells] = read_cells(FRAMES[kind]({**rows, "points": [1.0, 0.0]}), columns)
    assert (cells.questions, cells.n.tolist()) == (("1.5",), [[2]])
    [cells] = read_cells(FRAMES[kind](rows), columns)
    assert (cells.benchmark, cells.n.tolist(), cells.failed.tolist()) == ("the frame", [[1]], [[1]])


@pytest.mark.parametrize("kind", FRAMES)
def test_a_row_per_cell_and_a_column_per_model(kind):
    counted = {"model": ["m", "m"], "example_id": [1, 2], "pass1": [0.5, 1.0], "count": [4, 2]}
    [cells] = read_cells(FRAMES[kind](counted))
    assert (cells.n.tolist(), cells.total.tolist()) == ([[4, 2]], [[2.0, 2.0]])
    wide = {"prompt": ["v", "w"], "m_acc": [0.5, 0.25], "n_acc": [1.0, 0.0]}
    [cube] = read_cubes(FRAMES[kind](wide), shape="variants")
    assert (cube.models, cube.total.tolist()) == (("m", "n"), [[[0.5, 0.25]], [[1.0, 0.0]]])
    whole = {"model": ["m", "m"], "prompt": ["v", "w"], "score": [0.5, 0.25]}
    [cube] = read_cubes(FRAMES[kind](whole))
    assert cube.questions == ("all",)


BAD = {
    "no column of scores": ({"score": None}, "the frame: no column for the score among benchmark_id, model_name,"),
    "a score that is infinite": ({"score": [1.0, 0, 0, float("inf"), 0]}, "(a score is not|'inf' is not a score, which is) a finite number"),
    "a score that is no number": ({"score": ["1", "0", "good", "0", "0"]}, "good"),
    "a score that is a list": ({"score": [[1]] * 5}, "the frame.*(column 'score' is of type List|'.1.' is not a score)"),
    "a model without a name": ({"model_name": ["m", "m", " ", "m", "m"]}, "the frame.*: the model is empty"),
    "a question that is null": ({"id": [1, None, 2, 2, 1]}, "the frame.*: the question is empty"),
    "the same key twice": ({"template": ["v"] * 5}, "the frame: rows have the same benchmark, model, question, .*and no column tells them apart|differ in"),
    "no rows": ({name: values[:0] for name, values in ROWS.items()}, "the frame: no rows"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("case", BAD)
def test_bad_frames_are_told_in_one_line(kind, case):
    wrong, message = BAD[case]
    rows = {name: values for name, values in {**ROWS, **wrong}.items() if values is not None}
    with pytest.raises(InputError, match=message) as told:
        read_cells(FRAMES[kind](rows))
    assert "\n" not in str(told.value)


def test_columns_of_mixed_types_and_names_that_are_numbers():
    mixed = pd.DataFrame({**ROWS, "id": [1, "x", 2, 2, 1]})
    with pytest.raises(
        InputError, match=r"the frame: a column of mixed types, or of a type .*'x'.*give each column values of one"
    ):
        read_cells(mixed)
    with pytest.raises(InputError, match="column 0 has no name of letters; rename it to text"):
        read_cells(pd.DataFrame([[1, 2]]))


def test_frames_of_pandas_that_arrow_or_duckdb_do_not_read_are_told_in_one_line():
    frame = pd.DataFrame(ROWS)
    with pytest.raises(InputError, match="the frame: two columns have the name 'score'; rename one"):
        read_cells(pd.concat([frame, frame[["score"]]], axis=1))
    for values in (pd.arrays.SparseArray(frame["score"]), frame["score"].astype(complex)):
        with pytest.raises(InputError, match="the frame: a column of mixed types, or of a type that is not supported"):
            read_cells(frame.assign(score=values))


def test_scores_in_two_bytes_are_read_as_others():
    frame = pd.DataFrame(ROWS)
    halves, full = read_cells(frame.astype({"score": "float16"})), read_cells(frame)
    assert [cells.total.tolist() for cells in halves] == [cells.total.tolist() for cells in full]


def test_what_is_no_frame():
    for thing in ("rows.csv", ["rows.csv"], ("a", "b"), {"a": [1]}, 3, iter(["a"]), None):
        assert not is_frame(thing)
    with pytest.raises(InputError, match="data of type int cannot be read; give paths or frames"):
        read_cells([3])
