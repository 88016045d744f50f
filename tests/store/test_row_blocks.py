"""Rows in blocks come back as they went in.

The truth is the rows themselves, written by a generator that is seeded, and the plain dictionary of `stored_rows`.
"""

from __future__ import annotations

import enum
import random
import sqlite3
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from helpers.stored_rows import NAMES, expected, held, row
from msgspec.structs import astuple

from howsure.errors import InputError
from howsure.store import database, row_blocks
from howsure.store.responses import RunFolder, read
from howsure.store.row_blocks import (
    ROW_COLUMNS,
    SHARED_KEY,
    RowBlock,
    build_block_decoder,
    build_block_encoder,
    find_valid,
    merge_blocks,
    to_arrow,
    to_numpy,
)

TEXTS = [None, "", "a", "a\0b", "é \U0001f600", "word " * 200, "x" * 5000]


def some_rows(rng: random.Random, generations: list[int]) -> list:
    """Rows of one prompt, of which some columns are alike and some are not."""
    alike = rng.random() < 0.5
    text = rng.choice(TEXTS)
    return [
        row(
            generation=generation,
            score=rng.choice([None, 0.0, 1.0, 0.25]),
            completion=text if alike else rng.choice(TEXTS),
            answer=rng.choice(TEXTS[:5]),
            error=rng.choice([None, None, "timeout: x"]),
            attempts=rng.choice([1, 2**63 - 1]),
            prompt_tokens=rng.choice([None, -(2**63), 7]),
            completion_tokens=rng.choice([None, 2.5]),
            created=1.5,
        )
        for generation in generations
    ]


@pytest.mark.parametrize("seed", range(30))
def test_rows_come_back_as_they_were(seed):
    rng = random.Random(seed)
    rows = some_rows(rng, [rng.randint(1, 200) for _ in range(rng.choice([1, 2, 3, 50]))])
    values = [astuple(one)[len(SHARED_KEY) :] for one in rows]
    shared, completion = build_block_encoder()(values)
    unpack = build_block_decoder()
    assert list(unpack(shared, completion).rows()) == values
    at = ROW_COLUMNS.index("completion")
    assert list(unpack(shared, None).rows()) == [(*one[:at], None, *one[at + 1 :]) for one in values]


@pytest.mark.parametrize("seed", range(20))
def test_the_first_that_did_not_fail_counts_else_the_last(seed):
    rng = random.Random(seed)
    parts = [some_rows(rng, [rng.randint(1, 9) for _ in range(rng.randint(1, 6))]) for _ in range(rng.randint(1, 5))]
    block = merge_blocks([RowBlock.from_rows([astuple(one)[len(SHARED_KEY) :] for one in part]) for part in parts])
    found = [dict(zip(ROW_COLUMNS, one, strict=True)) for one in block.rows()]
    assert found == [
        {name: one[name] for name in ROW_COLUMNS} for one in expected(one for part in parts for one in part)
    ]


@pytest.mark.parametrize("fetched", [1, 2, 64])
def test_prompts_with_one_row_and_with_several_are_read_in_the_order_of_their_key(tmp_path, monkeypatch, fetched):
    monkeypatch.setattr(database, "FETCHED", fetched)
    rng = random.Random(fetched)
    rows = [row(f"q{i:02d}", g, score=i / 4) for i in range(12) for g in range(1, rng.choice([2, 2, 4]))]
    rng.shuffle(rows)
    with RunFolder(tmp_path) as run:
        for start in range(0, len(rows), 5):
            run.append(rows[start : start + 5])
        run.append([])
        assert held(tmp_path) == expected(rows)
        assert read(tmp_path, ["generation", "question"]).num_rows == len(rows)


class Word(enum.StrEnum):
    YES = "yes"


def test_values_of_other_kinds_are_cast_as_a_database_does(tmp_path):
    odd = row(score=np.float64(0.5), answer=Word.YES, completion_tokens=3, prompt_tokens=60.0, attempts=True)
    with RunFolder(tmp_path) as run:
        run.append([odd, row(generation=2, answer=42, completion=np.str_("text"), score=1)])
        rows = held(tmp_path)
        run.compact()
    assert held(tmp_path) == rows
    first, second = rows
    kept = [first[name] for name in ("score", "answer", "completion_tokens", "prompt_tokens", "attempts")]
    assert kept == [0.5, "yes", 3.0, 60, 1]
    assert [second[name] for name in ("score", "answer", "completion")] == [1.0, "42", "text"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"prompt_tokens": 1.5}, "prompt_tokens is 1.5; give a whole number, or None"),
        ({"answer": ["a"]}, r"answer is \['a'\]; give text, or None"),
        ({"seconds": "soon"}, "seconds is 'soon'; give a number, or None"),
    ],
)
def test_values_that_no_column_holds_are_refused_and_nothing_is_added(tmp_path, wrong, told):
    with RunFolder(tmp_path) as run:
        with pytest.raises(InputError, match=told):
            run.append([row(), row(generation=2, **wrong)])
        assert held(tmp_path) == []


@pytest.mark.parametrize("torn", [b"", b"\x28\xb5\x2f\xfd\x00", b"\xc1", b"\x93\x01"])
def test_a_value_that_is_torn_is_told(torn):
    with pytest.raises(sqlite3.DatabaseError, match="malformed text"):
        build_block_decoder()(torn, None)


MAKE = {
    pa.string(): lambda rng: rng.choice([*NAMES, "x" * 500]),
    pa.int64(): lambda rng: rng.choice([0, -1, 2**63 - 1, -(2**63), rng.randint(-9, 9)]),
    pa.float64(): lambda rng: rng.choice([0.0, -0.0, 1e300, rng.random()]),
}


@pytest.mark.parametrize("kind", MAKE, ids=str)
@pytest.mark.parametrize("nulls", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("size", [0, 1, 8, 9, 1000])
def test_values_become_what_pyarrow_makes_of_them(kind, nulls, size):
    rng = random.Random(f"{kind} {nulls} {size}")
    values = [None if rng.random() < nulls else MAKE[kind](rng) for _ in range(size)]
    made, wanted = to_arrow(values, kind), pa.array(values, kind)
    made.validate(full=True)
    assert made.equals(wanted)
    assert made.null_count == wanted.null_count
    part = made[size // 3 :]
    assert np.array_equal(find_valid(part), [value is not None for value in values[size // 3 :]])
    if kind != pa.string():
        there = find_valid(part)
        assert to_numpy(part)[there].tolist() == [value for value in part.to_pylist() if value is not None]


def test_texts_beyond_one_chunk_come_whole(monkeypatch):
    monkeypatch.setattr(row_blocks, "MAX_BYTES", 10)
    assert to_arrow(["abcdef", None, "ghijkl"], pa.string()).to_pylist() == ["abcdef", None, "ghijkl"]


@pytest.mark.parametrize("value", [1.5, 2**63])
def test_what_is_no_integer_of_64_bits_is_not_made_one(value):
    with pytest.raises((TypeError, OverflowError)):
        to_arrow([value], pa.int64())


WITHOUT_PANDAS = """
import sys, tempfile
from pathlib import Path
from howsure.sample.resume import WantedCells, read_stored_cells
from howsure.sample.snapshot import Tally
from howsure.store.responses import RunFolder
from howsure.store.schema import Response

rows = [Response(benchmark="b", model="m", question=f"{q}", variant="v", generation=1, score=1.0) for q in range(9)]
with tempfile.TemporaryDirectory() as folder:
    for some in (rows[:4], rows[3:8], rows):
        with RunFolder(Path(folder)) as run:
            run.append(some)
            read_stored_cells(Path(folder), {"b": WantedCells({"m": Tally([row.question for row in rows], 1, 1)}, ["v"])})
            run.compact()
sys.exit("pandas" in sys.modules)
"""


def test_a_run_takes_no_memory_for_pandas():
    pytest.importorskip("pandas")
    assert subprocess.run([sys.executable, "-c", WITHOUT_PANDAS], check=False).returncode == 0
