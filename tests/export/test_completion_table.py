"""Tables with completions, scored as they are. Kind of truth: values anybody can tell."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import howsure as hs
from howsure.cli import main
from howsure.errors import InputError

ROWS = [
    {"model": "a", "question": "q1", "completion": "The answer is Jane Austen.", "target": "Jane Austen", "score": 0},
    {"model": "a", "question": "q2", "completion": "**Paris**", "target": "Paris", "score": 1},
    {"model": "b", "question": "q1", "completion": "Charlotte Brontë", "target": "Jane Austen", "score": 0},
    {"model": "b", "question": "q2", "completion": None, "target": "Paris", "score": None},
]


def write(path, rows):
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        lines = [",".join(rows[0])] + [
            ",".join("" if v is None else '"' + str(v).replace('"', '""') + '"' for v in row.values()) for row in rows
        ]
        path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_completions_of_a_table_are_scored(tmp_path, suffix):
    path = write(tmp_path / f"t{suffix}", ROWS)
    result = hs.rescore(path, "normalised", tmp_path / "run")
    assert result["n_scored"].tolist() == [2, 1]
    assert result["only_ours"].tolist() == [1, 0]
    [scores] = hs.read(tmp_path / "run", scorer="normalised").cells()
    assert scores.total.tolist() == [[1, 1], [0, 0]]


def test_scores_are_not_needed(tmp_path):
    rows = [{name: value for name, value in row.items() if name != "score"} for row in ROWS[:3]]
    result = hs.rescore(write(tmp_path / "t.csv", rows), "exact", tmp_path / "run")
    assert result["n_scored"].tolist() == [2, 1]
    assert result["n_both"].tolist() == [0, 0]


def test_columns_with_other_names_are_given(tmp_path):
    rows = [{"system": "a", "nr": 1, "reply": "red and blue", "right": ["blue", "red"]}]
    path = write(tmp_path / "t.jsonl", rows)
    arguments = [
        a for name in ("model=system", "question=nr", "completion=reply", "target=right") for a in ("--columns", name)
    ]
    with pytest.raises(SystemExit) as end:
        main(["rescore", str(path), "-o", str(tmp_path / "run"), "--scorer", "list", *arguments])
    assert end.value.code in {0, None}
    [scores] = hs.read(tmp_path / "run", scorer="list").cells()
    assert scores.total.tolist() == [[1]]


def test_a_column_that_is_missing_is_named(tmp_path):
    path = write(tmp_path / "t.csv", [{"model": "a", "nr": 1, "response": "x", "target": "y"}])
    with pytest.raises(InputError, match="no column for the question among model, nr, response, target") as caught:
        hs.rescore(path, "exact", tmp_path / "run")
    assert caught.value.code == "no-question"


def test_a_try_that_failed_leaves_no_folder(tmp_path):
    path = write(tmp_path / "t.csv", ROWS)
    with pytest.raises(InputError, match="no row can be scored by numeric"):
        hs.rescore(path, "numeric", tmp_path / "run")
    with pytest.raises(InputError, match="unknown scorer"):
        hs.rescore(path, "normalized", tmp_path / "run")
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]
    hs.rescore(path, "normalised", tmp_path / "run")


def test_choices_and_generations_of_a_table(tmp_path):
    rows = [
        {"model": "a", "question": "q", "run": i, "completion": text, "target": "Rome", "options": ["Paris", "Rome"]}
        for i, text in enumerate(["The answer is B.", "It is Rome.", "A"])
    ]
    result = hs.rescore(write(tmp_path / "t.jsonl", rows), "choice", tmp_path / "run")
    assert result["n_scored"].tolist() == [3]
    [scores] = hs.read(tmp_path / "run", scorer="choice").cells()
    assert (scores.n.tolist(), scores.total.tolist()) == ([[3]], [[2]])
