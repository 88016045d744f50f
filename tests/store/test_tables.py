"""Rows to cells: the same cells on every engine."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from errorbar.errors import InputError
from errorbar.store import tables

ROWS = {
    "benchmark": ["b", "b", "b", "a", "b", "b"],
    "model": ["m2", "m1", "m1", "x", "m1", "m1"],
    "question": ["q1", "q1", "q1", "q1", "q2", "q2"],
    "variant": ["v1", "v1", "v2", "v1", "v1", "v1"],
    "generation": [1, 1, 1, 1, 1, 2],
    "score": [1.0, 0.5, 1.0, 0.25, None, 0.0],
    "answer": ["A", "B", "A", "A", None, None],
}


ENGINES = {
    "pyarrow": pa.table,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "duckdb": pa.table,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_cells_on_every_engine(engine):
    frame = ENGINES[engine](ROWS)
    with duckdb.connect() as connection:
        a, b = tables.cells(connection.from_arrow(frame) if engine == "duckdb" else frame)
    assert (a.benchmark, a.models, a.total.tolist()) == ("a", ("x",), [[0.25]])
    assert (b.benchmark, b.models, b.questions, b.variants) == ("b", ("m1", "m2"), ("q1", "q2"), ("v1", "v2"))
    assert b.n.tolist() == [[2, 1], [1, 0]]
    assert b.total.tolist() == [[1.5, 0.0], [1.0, 0.0]]
    assert b.total_sq.tolist() == [[1.25, 0.0], [1.0, 0.0]]
    assert b.failed.tolist() == [[0, 1], [0, 0]]
    assert b.unparsed.tolist() == [[0, 1], [0, 0]]


def test_duplicate_keys_are_refused():
    twice = ROWS | {"variant": ["v1"] * 6, "generation": [1] * 6}
    with pytest.raises(InputError, match="rows: 2 duplicate keys, the first benchmark 'b', model 'm1', question 'q1'"):
        tables.cells(pa.table(twice), where="rows")


def test_no_rows():
    with pytest.raises(InputError, match="the table: no rows"):
        tables.cells(pa.table(ROWS).slice(0, 0))


def test_whole_number_scores_do_not_overflow_and_merge_adds():
    rows = {name: ROWS[name][:2] for name in ("benchmark", "model", "question")} | {"score": [4_000_000_000, 1]}
    [cells] = tables.cells(pa.table(rows))
    assert cells.total_sq.max() == 1.6e19
    [both] = tables.merge([cells, cells])
    assert np.array_equal(both.n, 2 * cells.n)
