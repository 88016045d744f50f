"""Files that are cut, garbled, lost, or where nothing can be written."""

from __future__ import annotations

import errno
import fcntl
import random
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from unittest.mock import Mock

import pytest
from helpers.stored_files import sealed
from helpers.stored_rows import batch, expected, held, row

from howsure.errors import StoreError
from howsure.store import database, parquet_files
from howsure.store.responses import RunFolder, read, read_prompts

BATCHES = 6


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> Path:
    """A run as kill -9 leaves it, with all its rows still in the log."""
    folder = tmp_path_factory.mktemp("torn")
    with RunFolder(folder / "live") as run:
        for number in range(BATCHES):
            run.append(batch(number))
        shutil.copytree(folder / "live", folder / "killed")
    assert (folder / "killed" / "responses.sqlite-wal").stat().st_size > 100_000
    return folder / "killed"


def rows(count: int) -> list[dict[str, object]]:
    return expected(one for number in range(count) for one in batch(number))


@pytest.mark.parametrize("index", ["kept", "lost"])
@pytest.mark.parametrize("seed", range(8))
def test_log_with_its_tail_cut_is_noticed_and_keeps_whole_batches(killed, tmp_path, seed, index):
    path = Path(shutil.copytree(killed, tmp_path / "run"))
    log = path / "responses.sqlite-wal"
    if index == "lost":
        (path / "responses.sqlite-shm").unlink()
    with log.open("r+b") as file:
        file.truncate(random.Random(seed).randint(1, log.stat().st_size - 1))
    for read_rows in (held, RunFolder):
        with pytest.raises(StoreError, match="acknowledged are missing"):
            read_rows(path)
    (path / ".lock").unlink()
    found = held(path)
    assert len(found) % 20 == 0
    assert found == rows(len(found) // 20)
    with RunFolder(path) as run:
        for number in range(BATCHES):
            run.append(batch(number))
        run.compact()
    assert held(path) == rows(BATCHES)


@pytest.mark.parametrize("seed", range(8))
def test_a_flipped_bit_in_the_log_is_noticed(killed, tmp_path, seed):
    path = Path(shutil.copytree(killed, tmp_path / "run"))
    (path / "responses.sqlite-shm").unlink()
    log, rng = path / "responses.sqlite-wal", random.Random(seed)
    content = bytearray(log.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    log.write_bytes(content)
    with pytest.raises(StoreError):
        held(path)


@pytest.mark.parametrize("seed", range(4))
def test_garbage_after_the_log_changes_nothing(killed, tmp_path, seed):
    path = Path(shutil.copytree(killed, tmp_path / "run"))
    with (path / "responses.sqlite-wal").open("ab") as file:
        file.write(random.Random(seed).randbytes(10_000 * seed + 5))
    assert held(path) == rows(BATCHES)
    with RunFolder(path) as run:
        run.append(batch(BATCHES))
    assert held(path) == rows(BATCHES + 1)


def compacted(path: Path) -> Path:
    with RunFolder(path) as run:
        run.append(batch(0))
        run.put_prompts([("b", "q", "v", [], "t", None)])
        run.compact()
    return path


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_parquet_that_is_cut_is_named_with_the_remedy(tmp_path, share):
    path = compacted(tmp_path)
    file = path / "responses.parquet"
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    for attempt in (read, RunFolder):
        with pytest.raises(StoreError, match=r"responses\.parquet: damaged .*; restore it from a copy") as caught:
            attempt(path)
        assert "\n" not in str(caught.value)
    assert read_prompts(path).num_rows == 1
    file.write_bytes(content)
    assert held(path) == rows(1)


def test_parquet_that_is_garbled_within_is_named(tmp_path):
    path = compacted(tmp_path)
    file = path / "responses.parquet"
    content = bytearray(file.read_bytes())
    content[4:2000] = bytes(1996)
    file.write_bytes(content)
    with pytest.raises(StoreError, match=r"responses\.parquet: row group 0 is unreadable .*; restore it from a copy"):
        read(path)


def test_parquet_that_is_lost_or_old_is_not_taken_for_an_empty_run(tmp_path):
    path = compacted(tmp_path / "run")
    old = (path / "responses.parquet").read_bytes()
    with RunFolder(path) as run:
        run.append(batch(1))
        run.compact()
    (path / "responses.parquet").write_bytes(old)
    with pytest.raises(StoreError, match=r"responses\.parquet: an older copy, 20 of 40 rows; restore it"):
        read(path)
    (path / "responses.parquet").unlink()
    for attempt in (read, RunFolder):
        with pytest.raises(StoreError, match=r"responses\.parquet: missing, with 40 rows; restore it"):
            attempt(path)


def test_parquet_of_others_and_of_later_versions_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    RunFolder(tmp_path).close()
    table = pa.table({"score": [1.0]})
    pq.write_table(table, tmp_path / "responses.parquet")
    with pytest.raises(StoreError, match=r"responses\.parquet: not written by howsure; move it away"):
        read(tmp_path)
    pq.write_table(table.replace_schema_metadata({"howsure.schema": "99"}), tmp_path / "responses.parquet")
    with pytest.raises(StoreError, match=r"responses\.parquet: its schema version 99 is newer .*upgrade howsure"):
        read(tmp_path)
    pq.write_table(table.replace_schema_metadata({"howsure.schema": "1"}), tmp_path / "responses.parquet")
    with pytest.raises(StoreError, match=r"responses\.parquet: its schema version 1 was never released"):
        read(tmp_path)


def test_database_that_is_garbled_is_named_with_the_remedy(tmp_path):
    with RunFolder(tmp_path) as run:
        run.append([one for number in range(40) for one in batch(number)])
    file = tmp_path / "responses.sqlite"
    content = bytearray(file.read_bytes())
    content[8192:200_000] = random.Random(1).randbytes(200_000 - 8192)
    file.write_bytes(content)
    with pytest.raises(StoreError, match=r"responses\.sqlite: .*malformed; restore it from a copy"):
        read(tmp_path)
    file.write_bytes(b"not a database, but long enough to be one" * 200)
    for attempt in (read, RunFolder):
        with pytest.raises(StoreError, match=r"responses\.sqlite: file is not a database; restore it from a copy"):
            attempt(tmp_path)


def test_only_the_columns_asked_are_decompressed(tmp_path):
    with RunFolder(tmp_path) as run:
        run.append([row(completion="word " * 100, answer="42")])
        run._connection.execute("UPDATE packs SET completion = x'28b52ffd00'")
    assert read(tmp_path, ["answer", "score"]).to_pylist() == [{"answer": "42", "score": 1.0}]
    with pytest.raises(StoreError, match=r"responses\.sqlite: malformed text .*restore it from a copy"):
        read(tmp_path, ["completion"])


def test_disk_that_is_full_is_told_with_the_remedy_and_keeps_what_was_acknowledged(tmp_path):
    with RunFolder(tmp_path) as run:
        run.append(batch(0))
        (pages,) = run._connection.execute("PRAGMA page_count").fetchone()
        run._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="disk is full; free space and run again"):
            run.append(batch(1))
        assert held(tmp_path) == rows(1)
        run._connection.execute("PRAGMA max_page_count = 1000000")
        run.append(batch(1))
    assert held(tmp_path) == rows(2)


@pytest.mark.parametrize(
    ("fault", "raised", "told"),
    [
        (OSError(28, "No space left on device"), StoreError, r"parquet: No space left on device; free space and run"),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)
def test_compaction_that_fails_leaves_nothing_begun(tmp_path, monkeypatch, fault, raised, told):
    with RunFolder(tmp_path) as run:
        run.append(batch(0))
        with monkeypatch.context() as patch:
            patch.setattr(parquet_files, "_split_row_groups", Mock(side_effect=fault))
            with pytest.raises(raised, match=told):
                run.compact()
        assert not list(tmp_path.glob(".*.new"))
        assert held(tmp_path) == rows(1)
        run.compact()
    assert held(tmp_path) == rows(1)


def test_folder_that_cannot_be_locked_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, "No locks available")))
    with pytest.raises(StoreError, match=r"files cannot be locked \(No locks available\); use a local folder"):
        RunFolder(tmp_path)


def test_reader_that_waits_in_vain_for_a_lock_does_not_take_it_for_a_sealed_folder(tmp_path, monkeypatch):
    RunFolder(tmp_path).close()
    locked = sqlite3.OperationalError("database is locked")
    locked.sqlite_errorcode = sqlite3.SQLITE_BUSY
    monkeypatch.setattr(database, "_try_connect", Mock(side_effect=locked))
    with pytest.raises(StoreError, match=r"responses\.sqlite: database is locked; check"):
        read(tmp_path)


# where nothing can be written


@pytest.mark.parametrize("index", ["kept", "lost"])
def test_killed_run_reads_whole_where_nothing_can_be_written(killed, tmp_path, index):
    path = Path(shutil.copytree(killed, tmp_path / "run"))
    if index == "lost":
        (path / "responses.sqlite-shm").unlink()
    with sealed(path) as folder:
        assert held(folder) == rows(BATCHES)
        assert read(folder, ["score"]).num_rows == 20 * BATCHES


def test_closed_and_compacted_runs_read_where_nothing_can_be_written(killed, tmp_path):
    path = Path(shutil.copytree(killed, tmp_path / "run"))
    RunFolder(path).close()
    with sealed(path) as folder:
        assert held(folder) == rows(BATCHES)
    with RunFolder(path) as run:
        run.compact()
    with sealed(path) as folder:
        assert held(folder) == rows(BATCHES)
        with pytest.raises(StoreError, match="Permission denied; name a folder that can be written"):
            RunFolder(folder)


def test_log_that_cannot_be_opened_is_told(tmp_path):
    RunFolder(tmp_path).close()
    (tmp_path / "responses.sqlite-wal").mkdir()
    with pytest.raises(StoreError, match=r"responses\.sqlite: .*; check that the folder can be read and written"):
        RunFolder(tmp_path)


def test_foreign_errors_keep_their_cause(tmp_path):
    (tmp_path / "responses.sqlite").write_bytes(b"x" * 5000)
    with pytest.raises(StoreError) as caught:
        read(tmp_path)
    assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)


def test_a_turned_bit_in_parquet_never_changes_a_row_unseen(tmp_path):
    """Every 37th byte turned: the same rows, or a line that names the file; without checksums a third changed texts."""
    path = compacted(tmp_path)
    file = path / "responses.parquet"
    whole, content = held(path), file.read_bytes()
    outcomes = Counter()
    for at in range(0, len(content), 37):
        damaged = bytearray(content)
        damaged[at] ^= 1 << (at % 8)
        file.write_bytes(damaged)
        try:
            outcomes["same" if held(path) == whole else "changed"] += 1
        except StoreError as error:
            outcomes["told" if "responses.parquet" in str(error) and "\n" not in str(error) else "unclear"] += 1
    assert outcomes["told"] > 0.5 * outcomes.total()
    assert outcomes["unclear"] == 0
    # What no checksum covers are the headers of pages and the footer, which Parquet does not protect.
    assert outcomes["changed"] <= 0.02 * outcomes.total()
