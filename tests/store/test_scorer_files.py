"""More scores beside the rows: joined as a dictionary would, replaced whole, and never told of another completion."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.long_cases import mark_long
from helpers.stored_rows import NAMES, row

from howsure.errors import InputError, StoreError, UnknownNameError
from howsure.store import database, parquet_files, scorer_files
from howsure.store.atomic import FolderLock
from howsure.store.responses import RunFolder, read
from howsure.store.schema import COLUMNS, KEY
from howsure.store.scorer_files import RescoredRow

SAID = ("score", "status", "answer", "rule", "error")


@pytest.fixture
def tiny(monkeypatch):
    """Batches and row groups of a few rows, so that little data takes every turn."""
    monkeypatch.setattr(database, "BATCH_ROWS", 5)
    monkeypatch.setattr(parquet_files, "GROUP_ROWS", 7)
    monkeypatch.setattr(scorer_files, "_ROWS", 4)


def run_of(path, rows):
    with RunFolder(path) as run:
        run.append(rows)
    return path


def rescored(response, **said):
    return RescoredRow(*(getattr(response, name) for name in KEY), created=response.created, **said)


def in_order(rows):
    return iter(sorted(rows, key=lambda one: tuple(getattr(one, name) for name in KEY)))


def some_rows(rng, count):
    keys = {
        (rng.choice(["b", "a\0b", "é"]), rng.choice(NAMES[:4]), rng.choice(NAMES), "v", rng.randint(1, 3))
        for _ in range(count)
    }
    for benchmark, model, question, variant, generation in keys:
        yield row(
            question,
            generation,
            benchmark=benchmark,
            model=model,
            variant=variant,
            score=rng.choice([None, 0.0, 1.0]),
            completion=rng.choice(["no", "long " * 100]),
            created=rng.choice([None, 1.5]),
        )


# an independent slow version: a dictionary


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("seed", mark_long(range(10), after=3))
def test_the_stream_is_what_a_dictionary_of_the_scores_would_say(tmp_path, seed):
    rng = random.Random(seed)
    rows = list(some_rows(rng, 60))
    said = {}
    for one in rows:
        if rng.random() < [0.0, 0.3, 0.8, 1.0][seed % 4]:
            answer = rng.choice([None, "18", NAMES[-1]])
            status = rng.choice(["ok", "unparsed", "error"])
            score = None if status == "error" else rng.random()
            said[one] = {"score": score, "status": status, "answer": answer, "rule": "r", "error": None}
    with RunFolder(tmp_path) as run:
        run.append(rows[:30])
        if seed % 2:
            run.compact()
        run.append(rows[30:])
        scorer_files.write_scores(tmp_path, "s", "1", in_order(rescored(one, **values) for one, values in said.items()))
    unseen = {"score": None, "status": "unscored", "answer": None, "rule": None, "error": None}
    by_key = {tuple(getattr(one, name) for name in KEY): values for one, values in said.items()}
    before = read(tmp_path).to_pylist()
    wanted = [one | by_key.get(tuple(one[name] for name in KEY), unseen) for one in before]
    assert scorer_files.stream_rows(tmp_path, None, "s").read_all().to_pylist() == wanted
    assert tuple(scorer_files.stream_rows(tmp_path, None, "s").schema.names) == COLUMNS
    some = scorer_files.stream_rows(tmp_path, ["answer", "score", "question"], "s@1").read_all()
    assert some.to_pylist() == [{name: one[name] for name in ("answer", "score", "question")} for one in wanted]
    assert read(tmp_path).to_pylist() == before


# theory: what a score is of


def test_a_row_that_was_sampled_again_loses_the_score_of_its_old_completion(tmp_path):
    old = row("q1", score=None, error="scoring: no", completion="18", created=1.0)
    kept = row("q2", completion="7", created=None)
    run_of(tmp_path, [old, kept])
    scorer_files.write_scores(tmp_path, "s", "1", iter([rescored(old, score=1.0), rescored(kept, score=1.0)]))
    run_of(tmp_path, [row("q1", score=0.0, completion="19", created=2.0), row("q3", completion="3", created=2.0)])
    found = (
        scorer_files.stream_rows(tmp_path, ["question", "completion", "score", "status"], "s").read_all().to_pylist()
    )
    assert [tuple(one.values()) for one in found] == [
        ("q1", "19", None, "unscored"),
        ("q2", "7", 1.0, "ok"),
        ("q3", "3", None, "unscored"),
    ]


def test_a_name_means_the_version_written_last_and_a_full_name_its_own(tmp_path):
    one = row()
    run_of(tmp_path, [one])
    assert scorer_files.list_scorers(tmp_path) == []
    for version, score, when in [("2", 0.2, 5.0), ("10", 0.1, 9.0), ("1", 0.0, 3.0)]:
        scorer_files.write_scores(
            tmp_path, "numeric", version, iter([rescored(one, score=score)]), clock=lambda when=when: when
        )
    assert scorer_files.list_scorers(tmp_path) == ["numeric@10", "numeric@2", "numeric@1"]
    for name, score in [("numeric", 0.1), ("numeric@2", 0.2), ("numeric@1", 0.0)]:
        assert scorer_files.stream_rows(tmp_path, ["score"], name).read_all()["score"].to_pylist() == [score]
    # Written again it takes its own place only, and is the newest now.
    scorer_files.write_scores(tmp_path, "numeric", "2", iter([rescored(one, score=0.5)]), clock=lambda: 11.0)
    assert scorer_files.list_scorers(tmp_path) == ["numeric@2", "numeric@10", "numeric@1"]
    assert scorer_files.stream_rows(tmp_path, ["score"], "numeric").read_all()["score"].to_pylist() == [0.5]


@pytest.mark.parametrize("name", ["regex:a@b", "regex:../../x", "Regex:\\", "é" * 300, "regex:" + "x" * 300, "."])
def test_any_name_is_a_file_in_the_folder_and_is_found_again(tmp_path, name):
    one = row()
    run_of(tmp_path, [one])
    scorer_files.write_scores(tmp_path, name, "1", iter([rescored(one, score=0.25)]))
    scorer_files.write_scores(tmp_path, name + "?", "1", iter([rescored(one, score=0.75)]))
    assert set(scorer_files.list_scorers(tmp_path)) == {f"{name}@1", f"{name}?@1"}
    assert scorer_files.stream_rows(tmp_path, ["score"], name).read_all()["score"].to_pylist() == [0.25]
    assert scorer_files.stream_rows(tmp_path, ["score"], f"{name}?@1").read_all()["score"].to_pylist() == [0.75]
    files = {file.name for file in (tmp_path / "scores").iterdir()}
    assert len(files - {".lock"}) == 2
    assert all(len(file) < 80 and file.isascii() for file in files)


def test_any_other_reader_finds_the_rows_sorted_by_key(tmp_path):
    # another program's output: pyarrow reads the file with no help from the store
    rows = list(some_rows(random.Random(3), 40))
    run_of(tmp_path, rows)
    count = scorer_files.write_scores(tmp_path, "s", "1", in_order(rescored(one, score=1.0) for one in rows))
    table = pq.read_table(tmp_path / "scores" / "s@1.parquet")
    keys = list(zip(*(table[name].to_pylist() for name in KEY), strict=True))
    assert keys == sorted(tuple(getattr(one, name) for name in KEY) for one in rows)
    assert count == len(rows)
    assert table.schema.metadata[b"howsure.scorer"] == b"s"


def test_empty_batches_are_passed_over():
    schema = parquet_files.build_arrow_schema(database.RESPONSES, [*KEY, "created"])
    rows = pa.RecordBatchReader.from_batches(schema, [_empty(schema)])
    assert list(scorer_files._join_scores(rows, iter(()))) == []


def _empty(schema):
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)


# what goes wrong


def test_a_scorer_that_fails_midway_leaves_what_was_there(tmp_path):
    rows = [row(f"q{i:02d}") for i in range(40)]
    run_of(tmp_path, rows)
    scorer_files.write_scores(tmp_path, "s", "1", (rescored(one, score=1.0) for one in rows))

    def broken():
        yield rescored(rows[0], score=0.0)
        raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        scorer_files.write_scores(tmp_path, "s", "1", broken())
    assert set(scorer_files.stream_rows(tmp_path, ["score"], "s").read_all()["score"].to_pylist()) == {1.0}
    assert {file.name for file in (tmp_path / "scores").iterdir()} == {".lock", "s@1.parquet"}


def test_what_a_killed_writer_left_is_removed(tmp_path):
    one = row()
    run_of(tmp_path, [one])
    (tmp_path / "scores").mkdir()
    torn = tmp_path / "scores" / ".s@1.parquet.new"
    torn.write_bytes(b"half")
    assert scorer_files.list_scorers(tmp_path) == []
    scorer_files.write_scores(tmp_path, "t", "1", iter([rescored(one, score=1.0)]))
    assert not torn.exists()


def test_rows_out_of_order_or_twice_are_refused(tmp_path):
    a, b = row("a"), row("b")
    run_of(tmp_path, [a, b])
    for rows in ([b, a], [a, a]):
        with pytest.raises(InputError, match="comes after"):
            scorer_files.write_scores(tmp_path, "s", "1", (rescored(one, score=1.0) for one in rows))
    assert scorer_files.list_scorers(tmp_path) == []


@pytest.mark.usefixtures("tiny")
def test_order_is_checked_from_one_batch_to_the_next(tmp_path):
    rows = [row(f"q{i}") for i in (1, 2, 3, 4, 0)]
    run_of(tmp_path, rows)
    with pytest.raises(InputError, match="comes after"):
        scorer_files.write_scores(tmp_path, "s", "1", (rescored(one, score=1.0) for one in rows))


def test_a_folder_that_is_no_run_or_has_no_such_scores_is_told(tmp_path):
    for call in (
        lambda: scorer_files.write_scores(tmp_path, "s", "1", iter(())),
        lambda: scorer_files.list_scorers(tmp_path),
        lambda: scorer_files.stream_rows(tmp_path, None, "s"),
    ):
        with pytest.raises(StoreError, match="not a run folder"):
            call()
    run_of(tmp_path, [row()])
    with pytest.raises(UnknownNameError, match="there is no scorer at all"):
        scorer_files.stream_rows(tmp_path, None, "s")
    scorer_files.write_scores(tmp_path, "numeric", "1", iter(()))
    with pytest.raises(UnknownNameError, match="did you mean 'numeric@1'"):
        scorer_files.stream_rows(tmp_path, None, "numeric@2")
    with pytest.raises(UnknownNameError, match="unknown column 'scor'"):
        scorer_files.stream_rows(tmp_path, ["scor"], "numeric")
    found = scorer_files.stream_rows(tmp_path, ["score", "status"], "numeric").read_all().to_pylist()
    assert found == [{"score": None, "status": "unscored"}]


def test_damaged_and_foreign_files_are_told(tmp_path):
    run_of(tmp_path, [row()])
    folder = tmp_path / "scores"
    scorer_files.write_scores(tmp_path, "s", "1", iter([rescored(row(), score=1.0)]))
    whole = (folder / "s@1.parquet").read_bytes()
    (folder / "s@1.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match=r"s@1\.parquet: damaged"):
        scorer_files.list_scorers(tmp_path)
    pq.write_table(pa.table({"score": pa.array([1.0])}), folder / "s@1.parquet")
    with pytest.raises(StoreError, match="not written by howsure"):
        scorer_files.stream_rows(tmp_path, None, "s")
    (folder / "s@1.parquet").unlink()
    with RunFolder(tmp_path) as run:
        run.compact()
    (folder / "rows.parquet").write_bytes((tmp_path / "responses.parquet").read_bytes())
    with pytest.raises(StoreError, match="no scores of a scorer"):
        scorer_files.list_scorers(tmp_path)


def test_two_writers_and_a_folder_that_cannot_be_made_are_told(tmp_path):
    run_of(tmp_path, [row()])
    (tmp_path / "scores").mkdir()
    lock = FolderLock(tmp_path / "scores")
    with pytest.raises(StoreError, match="is writing this run"):
        scorer_files.write_scores(tmp_path, "s", "1", iter(()))
    lock.release()
    (tmp_path / "scores" / ".lock").unlink()
    (tmp_path / "scores").rmdir()
    (tmp_path / "scores").write_text("a file")
    with pytest.raises(StoreError, match="scores: File exists"):
        scorer_files.write_scores(tmp_path, "s", "1", iter(()))


def test_scores_are_not_written_through_a_link(tmp_path):
    run_of(tmp_path / "run", [row()])
    (tmp_path / "mine").mkdir()
    (tmp_path / "run" / "scores").symlink_to(tmp_path / "mine")
    with pytest.raises(StoreError, match="a link"):
        scorer_files.write_scores(tmp_path / "run", "s", "1", iter(()))
    assert not list((tmp_path / "mine").iterdir())


def test_a_run_that_is_being_sampled_can_be_scored(tmp_path):
    with RunFolder(tmp_path) as run:
        run.append([row("q1")])
        scorer_files.write_scores(tmp_path, "s", "1", iter([rescored(row("q1"), score=0.5)]))
        run.append([row("q2")])
        found = scorer_files.stream_rows(tmp_path, ["score"], "s").read_all()["score"].to_pylist()
    assert found == [0.5, None]
