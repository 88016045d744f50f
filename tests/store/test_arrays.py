"""Columns by their buffers. Kind of truth: another program's output, pyarrow's own conversions."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from helpers.stored_rows import NAMES

from howsure.store import arrays
from howsure.store.arrays import to_arrow, to_numpy, valid_mask

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
    assert np.array_equal(valid_mask(part), [value is not None for value in values[size // 3 :]])
    if kind != pa.string():
        there = valid_mask(part)
        assert to_numpy(part)[there].tolist() == [value for value in part.to_pylist() if value is not None]


def test_texts_beyond_one_chunk_come_whole(monkeypatch):
    monkeypatch.setattr(arrays, "MAX_BYTES", 10)
    assert to_arrow(["abcdef", None, "ghijkl"], pa.string()).to_pylist() == ["abcdef", None, "ghijkl"]


@pytest.mark.parametrize("value", [1.5, 2**63])
def test_what_is_no_integer_of_64_bits_is_not_made_one(value):
    with pytest.raises((TypeError, OverflowError)):
        to_arrow([value], pa.int64())


WITHOUT_PANDAS = """
import sys, tempfile
from pathlib import Path
from howsure.sample.resume import read_stored_cells
from howsure.sample.tally import Tally
from howsure.store.responses import RunFolder
from howsure.store.schema import Response

rows = [Response(benchmark="b", model="m", question=f"{q}", variant="v", generation=1, score=1.0) for q in range(9)]
with tempfile.TemporaryDirectory() as folder:
    for some in (rows[:4], rows[3:8], rows):
        with RunFolder(Path(folder)) as run:
            run.append(some)
            read_stored_cells(Path(folder), "b", {"m": Tally([row.question for row in rows], 1, 1)}, ["v"])
            run.compact()
sys.exit("pandas" in sys.modules)
"""


def test_a_run_takes_no_memory_for_pandas():
    pytest.importorskip("pandas")
    assert subprocess.run([sys.executable, "-c", WITHOUT_PANDAS], check=False).returncode == 0
