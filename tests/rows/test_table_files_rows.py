"""Rows with their places, and errors that name the line; more in the tests of benchmarks from files."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from howsure.errors import InputError
from howsure.rows.table_files import read_rows


def rows_of(name: str, content: bytes):
    return list(read_rows(Path(name), content, where=name, what="benchmark"))


def test_cells_of_csv_are_text_and_empty_lines_count():
    assert rows_of("t.csv", b'a,b\n007,x\n\n1.0,"y\nz"\n') == [
        ("line 2", {"a": "007", "b": "x"}),
        ("line 5", {"a": "1.0", "b": "y\nz"}),
    ]


def test_a_field_of_csv_may_be_longer_than_the_module_csv_allows():
    """A question with a long context: csv.field_size_limit is 131,072 characters, and stays so for others."""
    limit = csv.field_size_limit()
    assert rows_of("t.csv", b"a,b\n" + b"x" * (limit + 1) + b",1\n") == [("line 2", {"a": "x" * (limit + 1), "b": "1"})]
    assert csv.field_size_limit() == limit


def test_values_of_json_keep_their_types():
    assert rows_of("t.jsonl", b'{"a": 1}\n\n{"a": [true]}\n') == [("line 1", {"a": 1}), ("line 3", {"a": [True]})]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.txt", b"", r"t\.txt: benchmark in an unknown format '\.txt'; give \.jsonl, \.csv, \.parquet"),
        ("t.jsonl", b"{}\n[1]\n", r"t\.jsonl, line 2: not a JSON object"),
        ("t.csv", b"a,b\n1\n", r"t\.csv, line 2: 1 fields where the header has 2"),
        ("t.csv", b"\na,b,a\n1,2,3\n", r"t\.csv, line 2: two columns are called 'a'; rename one of them"),
        ("t.csv", b"a\n\xff\n", r"t\.csv, line 2: not UTF-8"),
        ("t.parquet", b"PAR1", r"t\.parquet: not a whole parquet file"),
    ],
)
def test_what_is_not_of_its_type_is_refused(name, content, message):
    with pytest.raises(InputError, match=message):
        rows_of(name, content)
