"""Rows in blocks come back as they went in.

The truth is the rows themselves, written by a generator that is seeded, and the plain dictionary of `stored_rows`.
"""

from __future__ import annotations

import enum
import random
import sqlite3

import numpy as np
import pytest
from helpers.stored_rows import expected, held, row
from msgspec.structs import astuple

from howsure.errors import InputError
from howsure.store import database_rows
from howsure.store.responses import RunFolder, read
from howsure.store.row_blocks import ROW_COLUMNS, SHARED_KEY, RowBlock, block_decoder, block_encoder, merge_blocks

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
    shared, completion = block_encoder()(values)
    unpack = block_decoder()
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
    monkeypatch.setattr(database_rows, "FETCHED", fetched)
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
        block_decoder()(torn, None)
