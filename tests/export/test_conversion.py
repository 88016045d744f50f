"""From a run folder to other programs' forms, and back."""

from __future__ import annotations

import csv
import json

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from helpers.exported_runs import row, same, stored, write_run
from helpers.noted import noted
from helpers.tables import read_cells, read_runs

import howsure as hs
from howsure.errors import InputError
from howsure.export import conversion
from howsure.logs.base import UNSCORED
from howsure.notes import Note
from howsure.stats.core.cells import Cells
from howsure.store import scorer_files
from howsure.store.responses import RunFolder, read
from howsure.store.schema import COLUMNS


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run")


def test_the_tidy_table_reads_as_the_run_does(run, tmp_path):
    with noted() as notes:
        assert conversion.write_table(run, tmp_path / "rows.parquet", "parquet") == 144
    assert notes == []
    there = pq.read_table(tmp_path / "rows.parquet")
    assert there.column_names == [*COLUMNS, "cluster"]
    assert there.drop_columns("cluster").to_pylist() == read(run).to_pylist()
    of = {row["question"]: row["cluster"] for row in there.to_pylist() if row["benchmark"] == "sums"}
    assert of == {f"q{i}": f"c{i % 2}" for i in range(6)}
    for one in read_cells(tmp_path / "rows.parquet"):
        same(one, stored(run)[one.benchmark], "n", "total", "total_sq", "failed")
        assert one.variants == ("v", "w")
    assert [len(runs) for runs in read_runs(tmp_path / "rows.parquet").values()] == [3, 3]


def test_completions_without_a_score_are_left_out_of_a_table_and_told(tmp_path):
    with RunFolder(tmp_path / "run") as folder:
        folder.append([row("q"), row("q", 2, score=None, status=UNSCORED), row("q", 3, score=None, error="e: x")])
    with noted() as notes:
        assert conversion.write_table(tmp_path / "run", tmp_path / "rows.parquet", "parquet") == 2
    assert notes == [Note("unscored-not-exported", n=1)]
    assert "cluster" not in pq.read_schema(tmp_path / "rows.parquet").names
    again = [scorer_files.RescoredRow("b", "m", "q", "v", n, score=0.25) for n in (1, 2, 3)]
    scorer_files.write_scores(tmp_path / "run", "mine", "1", iter(again))
    table = tmp_path / "rows.parquet"
    assert conversion.write_table(tmp_path / "run", table, "parquet", scorer="mine") == 3
    assert pq.read_table(table)["score"].to_pylist() == [0.25] * 3


def test_a_csv_reads_as_the_run_does_and_runs_no_formula(tmp_path):
    """Third parts, failures and texts with quotes, line breaks and a formula, by Python's csv and by the reader."""
    texts = ['It is "4",\nI say; or 5', "=HYPERLINK(1)", "-0.5", ""]
    rows = [
        msgspec.structs.replace(row(f"q{q}", g, score=(q + g) / 7), completion=texts[q], answer="a")
        for q in range(4)
        for g in (1, 2)
    ]
    failed = row("q1", 3, score=None, error="timeout: x")
    with RunFolder(tmp_path / "run") as folder:
        folder.append([*rows, failed])
    assert conversion.write_table(tmp_path / "run", tmp_path / "rows.csv", "csv") == 9
    with (tmp_path / "rows.csv").open(newline="") as file:
        there = list(csv.DictReader(file))
    assert list(there[0]) == list(COLUMNS)
    assert {one["question"]: one["completion"] for one in there if one["generation"] == "1"} == {
        "q0": texts[0],
        "q1": "'=HYPERLINK(1)",
        "q2": "-0.5",
        "q3": "",
    }
    (again,) = read_cells(tmp_path / "rows.csv")
    same(again, stored(tmp_path / "run")[again.benchmark], "n", "total", "total_sq", "failed")


def test_the_ending_of_the_output_says_the_form(run, tmp_path):
    for ending, form in ((".csv", "csv"), (".CSV", "csv"), (".parquet", "parquet")):
        output = tmp_path / f"{form}{ending}"
        assert conversion.convert_sources(hs.read(run), output, None).columns()["form"] == [form]
        assert output.is_file()
    (tmp_path / "rows.csv").touch()
    with pytest.raises(InputError, match=r"rows.csv: the file exists"):
        conversion.convert_sources(hs.read(run), tmp_path / "rows.csv", None)
    with pytest.raises(InputError, match="a run folder already"):
        conversion.convert_sources(hs.read(run), tmp_path / "again", None)


def test_large_tables_have_row_groups_of_one_size(run, tmp_path, monkeypatch):
    monkeypatch.setattr(conversion, "ROW_GROUP", 40)
    conversion.write_table(run, tmp_path / "rows.parquet", "parquet")
    about = pq.read_metadata(tmp_path / "rows.parquet")
    assert max(about.row_group(i).num_rows for i in range(about.num_row_groups)) == 40
    assert about.num_rows == 144


def test_eval_arena_reads_as_the_run_does(run, tmp_path):
    cells = stored(run)["sums"]
    with noted() as notes:
        assert conversion.write_eval_arena([cells], tmp_path / "arena.jsonl") == 12
    assert notes == [Note("failed-not-exported", "sums", ("sums",), 4)]
    lines = [json.loads(line) for line in (tmp_path / "arena.jsonl").read_text().splitlines()]
    # of x (ord 120) and q0 the generations 1, 2, 3 of v and w score 1, 0, 1
    assert lines[0] == {
        "benchmark_id": "sums",
        "model": "x",
        "example_id": "q0",
        "pass1": 4 / 6,
        "count": 6,
        "correct": 4,
    }
    (back,) = read_cells(tmp_path / "arena.jsonl")
    same(back, cells, "n")
    same(back, cells, "total", "total_sq", exactly=False)


def test_eval_arena_says_what_it_cannot_hold(tmp_path):
    cells = Cells.from_scores("b", ["x", "y"], ["q1", "q2"], [[[0.5, 0.25], [1.0, 1.0]], [[0.5], []]])
    with noted() as notes:
        assert conversion.write_eval_arena([cells], tmp_path / "arena.jsonl") == 3
    lines = [json.loads(line) for line in (tmp_path / "arena.jsonl").read_text().splitlines()]
    assert [line.get("correct") for line in lines] == [None, 2, None]
    assert [line["count"] for line in lines] == [2, 2, 1]
    missing = Note("cells-without-score", "b", ("b",), 1, {"total": 4})
    assert notes == [missing, Note("graded-cells", "b", ("b",), 1)]
    nothing = np.zeros((1, 1))
    empty = Cells("b", ("x",), ("q1",), nothing.astype(int), nothing, nothing)
    with noted(), pytest.raises(InputError, match="there is no score to export"):
        conversion.write_eval_arena([empty], tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()
