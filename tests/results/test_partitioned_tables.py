"""Folders in which Spark or Dask wrote one table in parts.

Kind of truth: the same rows in one file. The names of the parts have the form of Spark's and Dask's.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import howsure as hs
from howsure.errors import HowsureWarning, InputError

ROWS = [
    {"model": model, "question": f"q{q}", "score": int((q * 7 + len(model)) % 3 > 0)}
    for model in ("007", "llama")
    for q in range(40)
]
TABLE = pa.Table.from_pylist(ROWS)


def write_parts(folder, table=TABLE, n=3, name="part-{:05d}-4a52ab8b-c000.snappy.parquet"):
    folder.mkdir(parents=True)
    size = -(-table.num_rows // n)
    for i in range(n):
        pq.write_table(table.slice(i * size, size), folder / name.format(i))
        (folder / f".{name.format(i)}.crc").write_bytes(b"crc\0\0\0\0")
    (folder / "_SUCCESS").touch()
    return folder


@pytest.fixture
def whole(tmp_path):
    """What the same rows in one file give."""
    pq.write_table(TABLE, tmp_path / "table.parquet")
    return read_counts(tmp_path / "table.parquet")


def read_counts(path):
    [cells] = hs.read(path)
    return cells.models, sorted(cells.questions), cells.n.sum(axis=1).tolist(), cells.total.sum(axis=1).tolist()


@pytest.mark.parametrize("name", ["part-{:05d}-4a52ab8b-c000.snappy.parquet", "part.{}.parquet", "part-{:05d}"])
def test_the_parts_are_one_table(tmp_path, whole, name):
    folder = tmp_path / "scores [1]"
    if name.endswith("parquet"):
        write_parts(folder, name=name)
    else:  # text, as Spark writes it: JSON lines
        folder.mkdir()
        lines = [
            f'{{"model":"{row["model"]}","question":"{row["question"]}","score":{row["score"]}}}\n' for row in ROWS
        ]
        for i in range(4):
            (folder / f"{name.format(i)}-8c1d-c000.json").write_text("".join(lines[i::4]))
    assert read_counts(folder) == whole
    [cells] = hs.read(folder)
    assert cells.benchmark == "scores [1]"


def test_a_folder_for_each_value_is_a_column(tmp_path, whole):
    for model in ("007", "llama"):
        rows = TABLE.filter(pc.equal(TABLE["model"], model)).drop_columns(["model"])
        write_parts(tmp_path / "table" / f"model={model}", rows, n=2)
    assert read_counts(tmp_path / "table") == whole


def test_several_tables_in_one_folder(tmp_path):
    """Each table is of one model, which its folder names, as files of one model each are."""
    for model in ("007", "llama"):
        rows = TABLE.filter(pc.equal(TABLE["model"], model)).drop_columns(["model"])
        write_parts(tmp_path / "exam" / model, rows, n=2)
    with pytest.warns(HowsureWarning, match="2 files are named by their paths: .*models 007, llama"):
        [cells] = hs.read(tmp_path / "exam", benchmark="exam")
    assert (cells.models, cells.n.sum(axis=1).tolist()) == (("007", "llama"), [40, 40])


def test_a_write_that_has_not_finished_is_named(tmp_path):
    """Two of three parts are there; the third lies where Spark keeps what a task has not committed."""
    folder = write_parts(tmp_path / "table")
    late = folder / "_temporary/0/task_1"
    late.mkdir(parents=True)
    (folder / "_SUCCESS").unlink()
    last = max(folder.glob("part-*"))
    last.rename(late / last.name)
    with pytest.warns(HowsureWarning, match=r"has not finished writing this table \(_temporary\)"):
        [cells] = hs.read(folder)
    assert cells.n.sum() == 54


@pytest.mark.parametrize(("damage", "message"), [("delta", "its log has removed"), ("types", "files of several types")])
def test_parts_that_are_not_one_table_are_refused(tmp_path, damage, message):
    folder = write_parts(tmp_path / "table")
    if damage == "delta":
        (folder / "_delta_log").mkdir()
    else:
        (folder / "part-00009-c000.csv").write_text("model,question,score\na,q1,1\n")
    with pytest.raises(InputError, match=message):
        hs.read(folder)


def test_names_that_only_look_like_parts_stay_tables_of_their_own(tmp_path):
    """Files named by a person, part-1 and part-2 with other questions, may be one benchmark or two."""
    for i in (1, 2):
        (tmp_path / f"part-{i}.csv").write_text(f"model,question,score\na,q{i},1\na,r{i},0\n")
    with pytest.raises(InputError, match="part-1, part-2 may be models or benchmarks"):
        hs.read(tmp_path)
    with pytest.warns(HowsureWarning, match="are they the same benchmark"):
        assert len(hs.read(tmp_path, benchmark="whole").cells()[0].questions) == 4
