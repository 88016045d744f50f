"""One question of a run folder, found without reading the others."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from helpers.long_cases import mark_long
from helpers.stored_rows import NAMES, batch, expected, row

from howsure.errors import InputError, StoreError, UnknownNameError
from howsure.store import parquet_files
from howsure.store.lookup import find_generations, find_prompts, read_clusters
from howsure.store.responses import RunFolder, read


@pytest.fixture
def tiny(monkeypatch):
    """Row groups of a few rows that soon grow, so that little data takes every turn."""
    monkeypatch.setattr(parquet_files, "GROUP_ROWS", 3)
    monkeypatch.setattr(parquet_files, "GROUPS", 5)
    monkeypatch.setattr(parquet_files, "READ_ROWS", 11)


def random_rows(rng: random.Random, count: int):
    return [
        row(
            rng.choice(NAMES),
            rng.randint(1, 4),
            benchmark=rng.choice(["b", "a\0b", "é"]),
            model=rng.choice(NAMES[:5]),
            variant=rng.choice(["default", "\U0001f600"]),
            score=rng.choice([None, 0.0, 1.0]),
            completion=rng.choice([None, "", "no", f"{rng.random()} " * 30]),
        )
        for _ in range(count)
    ]


# an independent slow version: every row, filtered in Python


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("seed", mark_long(range(3), after=1))
@pytest.mark.parametrize("state", ["live", "compacted", "mixed"])
def test_a_question_is_what_a_filter_of_all_rows_would_find(tmp_path, seed, state):
    rng = random.Random(seed)
    rows = random_rows(rng, 300)
    with RunFolder(tmp_path / "run") as run:
        run.append(rows[:200])
        if state != "live":
            run.compact()
        run.append(rows[200:])
        if state == "compacted":
            run.compact()
        whole = expected(rows)
        for benchmark in ["b", "a\0b", "é", "no"]:
            for question in [*NAMES[::3], "a\0b", "no such"]:
                for models in (None, NAMES[:1], NAMES[1:4], [], ["no such"]):
                    wanted = [
                        one
                        for one in whole
                        if (one["benchmark"], one["question"]) == (benchmark, question)
                        and (models is None or one["model"] in models)
                    ]
                    assert find_generations(tmp_path / "run", benchmark, question, models=models).to_pylist() == wanted


@pytest.mark.usefixtures("tiny")
def test_columns_come_in_the_order_asked_and_none_is_all(tmp_path):
    with RunFolder(tmp_path) as run:
        run.append([row("q", 2, score=0.0), row("q", 1), row("r")])
        run.compact()
        run.append([row("q", 3)])
    some = find_generations(tmp_path, "b", "q", columns=["score", "generation"])
    assert some.to_pydict() == {"score": [1.0, 0.0, 1.0], "generation": [1, 2, 3]}
    assert find_generations(tmp_path, "b", "q").schema == read(tmp_path).schema
    empty = find_generations(tmp_path, "b", "none", columns=["score"])
    assert empty.num_rows == 0
    assert empty.column_names == ["score"]
    with pytest.raises(UnknownNameError, match="unknown column 'scor'; did you mean 'score'"):
        find_generations(tmp_path, "b", "q", columns=["scor"])


def test_a_failed_row_that_was_asked_again_is_found_once_and_newest(tmp_path):
    with RunFolder(tmp_path) as run:
        run.append([row("q", score=None, error="timeout: x"), row("q", 2)])
        run.compact()
        run.append([row("q", score=1.0)])
        found = find_generations(tmp_path, "b", "q", columns=["generation", "score", "error"]).to_pylist()
    assert found == [{"generation": 1, "score": 1.0, "error": None}, {"generation": 2, "score": 1.0, "error": None}]


def test_the_prompt_of_a_question_is_found_in_every_state(tmp_path):
    def asked(question, variant, text):
        return ("b", question, variant, [{"role": "user", "content": text}], "4", {"hash": text})

    with RunFolder(tmp_path) as run:
        run.put_prompts([asked(f"q{i}", v, f"{i}{v}") for i in range(20) for v in "xy"])
        run.compact()
        run.put_prompts([asked("q7", "y", "new"), asked("q7", "z", "more")])
        found = find_prompts(tmp_path, "b", "q7")
    assert found["variant"].to_pylist() == ["x", "y", "z"]
    assert found["record"].to_pylist() == ['{"hash": "7x"}', '{"hash": "new"}', '{"hash": "more"}']
    assert found["messages"][0].as_py() == '[{"role": "user", "content": "7x"}]'
    assert find_prompts(tmp_path, "b", "q20").num_rows == 0
    assert find_prompts(tmp_path, "c", "q7").num_rows == 0


def test_clusters_are_those_that_prompts_record(tmp_path):
    with RunFolder(tmp_path) as run:
        run.put_prompts(
            [
                ("b", "q1", "v", [], "", {"cluster": "passage 1"}),
                ("b", "q1", "w", [], "", {"cluster": "passage 1", "choices": ["x"]}),
                ("b", "q2", "v", [], "", {"choices": ['"cluster"']}),
                ("b", "q3", "v", [], "", None),
            ]
        )
        assert read_clusters(tmp_path) == {("b", "q1"): "passage 1"}
        run.put_prompts([("b", "q1", "w", [], "", {"cluster": "passage 2"})])
        with pytest.raises(InputError, match="question 'q1' is in cluster 'passage 1' and in 'passage 2'"):
            read_clusters(tmp_path)


def test_what_is_no_run_and_what_is_torn_is_one_line(tmp_path):
    with pytest.raises(StoreError, match="not a run folder"):
        find_generations(tmp_path, "b", "q")
    with RunFolder(tmp_path / "run") as run:
        run.append(batch(1))
        run.compact()
    file = tmp_path / "run" / "responses.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(StoreError, match=r"responses\.parquet: damaged .*; restore it from a copy"):
        find_generations(tmp_path / "run", "b", "q")


# theory: what is read is what the bounds of the row groups leave


@pytest.mark.usefixtures("tiny")
def test_only_row_groups_that_may_hold_the_question_are_read(tmp_path, monkeypatch):
    rows = [row(f"q{i:03d}", g, model=m) for m in "xyz" for i in range(30) for g in (1, 2, 3)]
    with RunFolder(tmp_path) as run:
        run.append(rows)
        run.compact()
    about = pq.read_metadata(tmp_path / "responses.parquet")
    sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    # 3 rows each, after five groups 6, after ten the 11 that are read at once: 15 + 30 + 20 * 11 + 5
    assert sizes == [3] * 5 + [6] * 5 + [11] * 20 + [5]
    seen: list[int] = []
    real = parquet_files.read_row_groups

    def watched(file, columns, groups=None):
        seen.extend(groups)
        return real(file, columns, groups)

    monkeypatch.setattr(parquet_files, "read_row_groups", watched)
    assert find_generations(tmp_path, "b", "q002", models=["x"]).num_rows == 3
    # the second is where one model ends and the next begins: its bounds leave room for any question
    assert seen == [2, 14]
    seen.clear()
    assert find_generations(tmp_path, "b", "q015").num_rows == 9
    assert 3 <= len(seen) <= 6


def test_a_footer_is_read_once_and_again_when_the_file_was_replaced(tmp_path, monkeypatch):
    with RunFolder(tmp_path) as run:
        run.append(batch(1))
        run.compact()
    given = []
    real = pq.ParquetFile
    monkeypatch.setattr(
        pq, "ParquetFile", lambda *args, **named: given.append(named["metadata"]) or real(*args, **named)
    )
    question = batch(1)[0].question
    find_generations(tmp_path, "b", question)
    find_generations(tmp_path, "b", question)
    assert given[1] is not None
    with RunFolder(tmp_path) as run:
        run.append(batch(2))
        run.compact()
    given.clear()
    assert find_generations(tmp_path, "b", batch(2)[3].question).num_rows == 1
    assert given[0] is None


def test_a_folder_of_large_row_groups_and_full_statistics_is_read_and_then_made_new(tmp_path):
    rows = batch(3, 200)
    with RunFolder(tmp_path) as run:
        run.append(rows)
        run.compact()
        file = tmp_path / "responses.parquet"
        table = pq.read_table(file)
        pq.write_table(table, file, row_group_size=32_768, compression="zstd")  # as version 2 was first written
        assert pq.read_metadata(file).num_row_groups == 1
        for one in rows[::50]:
            assert find_generations(tmp_path, "b", one.question).to_pylist() == expected([one])
        pq.write_table(table, file, write_statistics=False)
        assert find_generations(tmp_path, "b", rows[7].question).to_pylist() == expected([rows[7]])
        run.append(batch(4))
        run.compact()
        assert find_generations(tmp_path, "b", rows[7].question).to_pylist() == expected([rows[7]])


WITHOUT_PANDAS = """
import sys
from pathlib import Path
from howsure.store.lookup import find_generations
assert find_generations(Path(sys.argv[1]), "b", "q", models=["m"]).num_rows == 2
sys.exit("pandas" in sys.modules)
"""


def test_a_lookup_does_not_import_pandas(tmp_path):
    pytest.importorskip("pandas")
    with RunFolder(tmp_path) as run:
        run.append([row("q")])
        run.compact()
        run.append([row("q", 2)])
    done = subprocess.run([sys.executable, "-c", WITHOUT_PANDAS, os.fspath(tmp_path)], check=False)
    assert done.returncode == 0
