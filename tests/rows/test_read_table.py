"""Tables that were damaged on their way. Kind of truth: a guarantee, shown by trying.

A flipped digit is another number, and a csv that is cut at the end of a line is a shorter table: nobody can know. What
is owed is one clear line or cells, never a traceback, and no more generations than there were unless bytes were doubled.
"""

import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.damage import damaged
from helpers.long_cases import mark_long
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import howsure as hs
from howsure.errors import HowsureError

ROWS = {
    "benchmark": ["b"] * 12,
    "model": ["m", "n"] * 6,
    "question": [f"q{i // 4}, {i // 4}" for i in range(12)],
    "generation": [1 + i // 2 % 2 for i in range(12)],
    "score": [float(i % 3 == 0) for i in range(12)],
}


def whole(folder, form):
    path = folder / f"whole.{form}"
    if form == "parquet":
        pq.write_table(pa.table(ROWS), path, compression="zstd")
    elif form == "csv":
        rows = zip(*ROWS.values(), strict=True)
        quoted = (",".join(f'"{value}"' if "," in str(value) else str(value) for value in row) for row in rows)
        path.write_text("\n".join([",".join(ROWS), *quoted]) + "\n")
    else:
        pa_rows = pa.table(ROWS).to_pylist()
        path.write_text("".join(str(row).replace("'", '"') + "\n" for row in pa_rows))
    return path


def survives(path, data):
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = hs.read(path).cells()
        except HowsureError as raised:
            assert "\n" not in str(raised)  # noqa: PT017  most cases end here, and all must be one line
            return
    assert all(one.n.sum() > 0 or one.failed.sum() > 0 for one in found)


@pytest.mark.parametrize("form", mark_long(["jsonl", "csv", "parquet"], after=1))
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_table_is_one_line_or_cells(tmp_path_factory, form, data):
    folder = tmp_path_factory.getbasetemp()
    survives(folder / f"hurt.{form}", data.draw(damaged(whole(folder, form).read_bytes())))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_thousand_damaged_tables(tmp_path_factory, form, data):
    folder = tmp_path_factory.getbasetemp()
    survives(folder / f"hurt.{form}", data.draw(damaged(whole(folder, form).read_bytes())))
