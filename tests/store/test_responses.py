"""Append, resume, compact, read."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import threading

import msgspec
import pyarrow.parquet as pq
import pytest
from helpers.long_cases import mark_long
from helpers.stored_rows import NAMES, batch, expected, held, row

from howsure.errors import InputError, StoreError, UnknownNameError
from howsure.store import database, parquet_files, row_blocks
from howsure.store.responses import RunFolder, is_run, read, read_prompts, stream
from howsure.store.schema import COLUMNS, Response


@pytest.fixture
def tiny(monkeypatch):
    """Batches and row groups of a few rows, so that little data takes every turn."""
    monkeypatch.setattr(database, "BATCH_ROWS", 5)
    monkeypatch.setattr(parquet_files, "GROUP_ROWS", 7)
    monkeypatch.setattr(parquet_files, "READ_ROWS", 7)


def some_rows(rng: random.Random, count: int):
    for _ in range(count):
        failed = rng.random() < 0.3
        yield row(
            rng.choice(NAMES),
            rng.randint(1, 3),
            benchmark=rng.choice(["b", "a\0b", "é"]),
            model=rng.choice(NAMES[:4]),
            variant=rng.choice(["default", "\U0001f600"]),
            score=None if failed else rng.random(),
            error="timeout: no answer" if failed or rng.random() < 0.1 else None,
            completion=rng.choice([None, "", "no", "long " * 100, NAMES[2] * 90]),
            answer=rng.choice(NAMES),
            rule=rng.choice([None, "last", "no number"]),
            prompt_tokens=rng.choice([None, 0, 2**40]),
            created=rng.random() * 1e9,
        )


# an independent slow version: a dictionary


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("seed", mark_long(range(12), after=1))
def test_any_order_of_append_compact_and_reopen_holds_what_a_dictionary_would(tmp_path, seed):
    rng = random.Random(seed)
    rows = []
    run = RunFolder(tmp_path / "run")
    for _ in range(12):
        step = rng.random()
        if step < 0.25:
            run.compact()
        elif step < 0.4:
            run.close()
            run = RunFolder(tmp_path / "run")
        else:
            more = list(some_rows(rng, rng.randint(0, 40)))
            run.append(more)
            rows += more
        wanted = expected(rows)
        assert held(tmp_path / "run") == wanted
        for benchmark, model in {(one["benchmark"], one["model"]) for one in wanted} | {("no", "such")}:
            for failed in (True, False):
                cells: dict[tuple[str, str], set[int]] = {}
                for one in wanted:
                    settled = one["score"] is not None and one["error"] is None
                    if (one["benchmark"], one["model"]) == (benchmark, model) and (failed or settled):
                        cells.setdefault((one["question"], one["variant"]), set()).add(one["generation"])
                assert run.present(benchmark, model, failed=failed) == cells
    run.close()


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("compacted", [False, True])
def test_columns_come_in_the_order_asked_and_rows_sorted(tmp_path, compacted):
    rows = list(some_rows(random.Random(5), 200))
    with RunFolder(tmp_path) as run:
        run.append(rows[:100])
        if compacted:
            run.compact()
        run.append(rows[100:])
    wanted = expected(rows)
    names = ["score", "model", "completion"]
    assert read(tmp_path, names).to_pylist() == [{name: one[name] for name in names} for one in wanted]
    assert read(tmp_path, names).column_names == names
    assert tuple(read(tmp_path).column_names) == COLUMNS
    with stream(tmp_path, ["question"]) as batches:
        assert sum(len(part) for part in batches) == len(wanted)


@pytest.mark.usefixtures("tiny")
def test_parquet_is_sorted_by_key_for_any_other_reader(tmp_path):
    # another program's output: pyarrow reads the file with no help from the store
    rows = list(some_rows(random.Random(6), 150))
    with RunFolder(tmp_path) as run:
        run.append(rows)
        run.compact()
    assert pq.read_table(tmp_path / "responses.parquet").to_pylist() == expected(rows)
    assert pq.ParquetFile(tmp_path / "responses.parquet").metadata.row_group(0).column(0).compression == "ZSTD"


# what is kept of a text


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\0b" * 200, "a\0b" * 200),
        ("\0", "\0"),
        ("", ""),
        ("\U0001f600é" * 300, "\U0001f600é" * 300),
        ("half \ud83d", "half \\ud83d"),
        ("\udfff" + "x" * 200, "\\udfff" + "x" * 200),
        ("\ud83d\ude00", "\U0001f600"),
        ("</script><b>' OR 1=1; DROP TABLE responses --", "</script><b>' OR 1=1; DROP TABLE responses --"),
        ("0123456789" * 1_000_000, "0123456789" * 1_000_000),
    ],
    ids=["nul", "one nul", "empty", "emoji", "lone surrogate", "long with one", "pair", "hostile", "10 MB"],
)
def test_text_comes_back(tmp_path, text, kept, compacted):
    with RunFolder(tmp_path) as run:
        run.append([row(completion=text, answer=text, error=text, fingerprint=text, score=None)])
        run.put_prompts([("b", "q", "v", [{"role": "user", "content": text}], text, {"text": text})])
        if compacted:
            run.compact()
    one = held(tmp_path)[0]
    assert {one[name] for name in ("completion", "answer", "error", "fingerprint")} == {kept}
    prompts = read_prompts(tmp_path)
    assert prompts["target"].to_pylist() == [kept]
    assert json.loads(prompts["record"][0].as_py())["text"].replace("\ud83d\ude00", "\U0001f600") in {text, kept}


def test_long_texts_take_less_room_than_they_have(tmp_path):
    with RunFolder(tmp_path) as run:
        run.append([row(generation=g, completion="the quick brown fox jumps " * 100) for g in range(1, 1001)])
    assert (tmp_path / "responses.sqlite").stat().st_size < 1000 * 2600 / 5


# what is refused


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf")])
def test_score_that_is_not_finite_is_refused_with_its_key_and_its_batch(tmp_path, score):
    with RunFolder(tmp_path) as run:
        with pytest.raises(InputError, match=r"benchmark 'b', model 'm', question 'q', .*generation 2: .*finite"):
            run.append([row(), row(generation=2, score=score)])
        assert run.present("b", "m") == {}


def test_keys_that_no_file_can_hold_are_refused(tmp_path):
    with RunFolder(tmp_path) as run:
        with pytest.raises(InputError, match="lone surrogate.*rename it"):
            run.append([row("q\ud83d")])
        with pytest.raises(InputError, match="lone surrogate.*rename it"):
            run.put_prompts([("b", "q", "v", [], "t", None), ("b", "\udfff", "v", [], "t", None)])
        assert read_prompts(tmp_path).num_rows == 0
        with pytest.raises(InputError, match="generation must be 1 or more, got 0"):
            run.append([row(generation=0)])
        with pytest.raises(InputError, match="more than 64 bits"):
            run.append([row(), row(generation=2, prompt_tokens=10**30)])
        assert held(tmp_path) == []


def test_column_that_does_not_exist_is_named(tmp_path):
    RunFolder(tmp_path).close()
    with pytest.raises(UnknownNameError, match=r"unknown column 'scor'; did you mean 'score'"):
        read(tmp_path, ["scor"])


def test_a_bug_is_not_told_as_a_fault_of_the_folder(tmp_path):
    run = RunFolder(tmp_path)
    run.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        run.append([row()])


# folders


def test_folder_is_made_and_then_is_a_run(tmp_path):
    path = tmp_path / "deep" / "run"
    assert not is_run(path)
    RunFolder(path).close()
    assert is_run(path)
    assert held(path) == []
    (tmp_path / "manifest.json").write_text("{}")
    assert not is_run(tmp_path)


def test_strangers_folders_are_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("all of it")
    with pytest.raises(StoreError, match="not empty and not a run; name another folder"):
        RunFolder(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(StoreError, match="a file, not a folder"):
        RunFolder(tmp_path / "thesis.tex")
    with pytest.raises(StoreError, match=r"Not a directory; name a folder that can be written"):
        RunFolder(tmp_path / "thesis.tex" / "run")
    with pytest.raises(StoreError, match="not a run folder"):
        read(tmp_path)


def test_one_writer_at_a_time_in_one_process(tmp_path):
    with RunFolder(tmp_path) as run:
        with pytest.raises(StoreError, match=f"process {os.getpid()} is writing this run"):
            RunFolder(tmp_path)
        run.append([row()])
    with RunFolder(tmp_path) as again:
        again.close()
        again.close()


@pytest.mark.parametrize(
    ("version", "message"),
    [(99, "schema version 99 is newer than 4, .*upgrade howsure"), (2, "schema version 2 was never released")],
)
def test_database_of_another_howsure_is_refused(tmp_path, version, message):
    RunFolder(tmp_path).close()
    with sqlite3.connect(tmp_path / "responses.sqlite") as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    for attempt in (RunFolder, read):
        with pytest.raises(StoreError, match=message):
            attempt(tmp_path)


def test_database_of_another_program_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "responses.sqlite") as connection:
        connection.execute("CREATE TABLE responses (score)")
    connection.close()
    for attempt in (RunFolder, read):
        with pytest.raises(StoreError, match=r"responses\.sqlite: a database of another program"):
            attempt(tmp_path)


# readers and threads beside a writer


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("compacted", [False, True])
def test_reader_sees_what_was_acknowledged_when_it_began(tmp_path, compacted):
    first, second = batch(1), batch(2)
    with RunFolder(tmp_path) as run:
        run.append(first)
        if compacted:
            run.compact()
        before = stream(tmp_path)
        run.append(second)
        run.compact()  # moves rows from under the reader
        assert before.read_all().to_pylist() == expected(first)
        assert held(tmp_path) == expected(first + second)


@pytest.mark.usefixtures("tiny")
def test_reader_that_is_let_go_half_way_lets_go_of_the_files(tmp_path):
    with RunFolder(tmp_path) as run:
        run.append(batch(1))
        half = stream(tmp_path)
        half.read_next_batch()
        del half
        run.compact()
    assert sorted(file.name for file in tmp_path.iterdir()) == [".lock", "responses.parquet", "responses.sqlite"]


def test_threads_may_share_the_writer(tmp_path):
    batches = [batch(i) for i in range(12)]
    with RunFolder(tmp_path) as run:
        threads = [threading.Thread(target=run.append, args=(one,)) for one in batches]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert held(tmp_path) == expected(one for some in batches for one in some)


def test_compaction_empties_the_database(tmp_path):
    with RunFolder(tmp_path) as run:
        run.append([one for i in range(20) for one in batch(i)])
        run.compact()
        assert (tmp_path / "responses.sqlite").stat().st_size < 50_000
        run.compact()
    assert len(held(tmp_path)) == 400


def test_compacted_run_travels_as_manifest_and_parquet(tmp_path):
    with RunFolder(tmp_path / "run") as run:
        run.append(batch(1))
        run.compact()
    copy = tmp_path / "copy"
    copy.mkdir()
    (tmp_path / "run" / "responses.parquet").rename(copy / "responses.parquet")
    (copy / "manifest.json").write_text("{}")
    assert is_run(copy)
    assert held(copy) == expected(batch(1))
    with RunFolder(copy) as run:
        run.append(batch(1) + batch(2))
    assert held(copy) == expected(batch(1) + batch(2))


@pytest.mark.usefixtures("tiny")
def test_prompts_are_kept_once_and_the_newest_stays(tmp_path):
    hello = [{"role": "system", "content": "x"}, {"role": "user", "content": "hello \ud83d"}]
    with RunFolder(tmp_path) as run:
        run.put_prompts(("b", f"q{i}", "v", hello, "42", None) for i in range(20))
        run.compact()
        run.put_prompts([("b", "q3", "v", [], "43", {"order": [0, 1]}), ("b", "q3", "v", [], "44", {"order": [1, 0]})])
        assert read_prompts(tmp_path, ["question", "target"]).to_pylist() == [
            {"question": q, "target": "44" if q == "q3" else "42"} for q in sorted(f"q{i}" for i in range(20))
        ]
        run.compact()
    table = read_prompts(tmp_path)
    assert table.num_rows == 20
    assert [name for name in table["record"].to_pylist() if name is not None] == ['{"order": [1, 0]}']
    # JSON's own escape: a lone surrogate in a message comes back as it was
    assert table["messages"][0].as_py() == (
        '[{"role": "system", "content": "x"}, {"role": "user", "content": "hello \\ud83d"}]'
    )


def test_a_folder_of_the_version_without_reasoning_is_read(tmp_path):
    """Its texts lie alone in their block, and its Parquet file lacks the column."""
    kept = Response("b", "m", "q1", "default", 1, score=1.0, completion="4", reasoning="2 + 2")
    with RunFolder(tmp_path) as folder:
        folder.append([kept])
        assert read(tmp_path, ["completion", "reasoning"]).to_pylist() == [{"completion": "4", "reasoning": "2 + 2"}]
        folder.compact()
    file = tmp_path / "responses.parquet"
    table = pq.read_table(file)
    assert table["reasoning"].to_pylist() == ["2 + 2"]
    pq.write_table(table.drop_columns(["reasoning"]).replace_schema_metadata({parquet_files.MARK: b"2"}), file)
    assert read(tmp_path, ["reasoning", "completion"]).to_pylist() == [{"reasoning": None, "completion": "4"}]
    assert read(tmp_path, ["reasoning"]).to_pylist() == [{"reasoning": None}]
    shared, texts = row_blocks.build_block_encoder()([(1, 1.0, *(None,) * (len(row_blocks.ROW_COLUMNS) - 2))])
    old = [msgspec.msgpack.encode(msgspec.msgpack.decode(part)[:-1]) for part in (shared, texts)]
    assert next(row_blocks.build_block_decoder()(*old).rows())[-1] is None
