"""Folders of versions 1 and 2, made here as they made them: read as they are, and migrated when they are written.

The truth is a plain dictionary of the rows (`stored_rows.expected`), and SQL and zstd written here word for word.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from helpers.stored_files import every_state, sealed
from helpers.stored_rows import batch, expected, held, row

from howsure.store import database, live, parquet
from howsure.store.lookup import generations
from howsure.store.responses import RunFolder, read, read_prompts
from howsure.store.schema import COLUMNS

# versions 1 and 2, word for word: nothing of them may follow the code of today
FIRST = {
    "responses": (
        "benchmark TEXT NOT NULL, model TEXT NOT NULL, question TEXT NOT NULL, variant TEXT NOT NULL, "
        "generation INTEGER NOT NULL, score REAL, status TEXT, answer TEXT, completion TEXT, target TEXT, error TEXT, "
        "attempts INTEGER, prompt_tokens INTEGER, completion_tokens REAL, finish_reason TEXT, endpoint_model TEXT, "
        "fingerprint TEXT, request TEXT, created REAL, seconds REAL, "
        "PRIMARY KEY (benchmark, model, question, variant, generation)"
    ),
    "prompts": (
        "benchmark TEXT NOT NULL, question TEXT NOT NULL, variant TEXT NOT NULL, messages TEXT, target TEXT, "
        "PRIMARY KEY (benchmark, question, variant)"
    ),
    "moved": "name TEXT PRIMARY KEY, rows INTEGER NOT NULL",
}
SECOND = FIRST | {
    "responses": FIRST["responses"].replace("answer TEXT,", "answer TEXT, rule TEXT,"),
    "prompts": FIRST["prompts"].replace("target TEXT,", "target TEXT, record TEXT,"),
}
PROMPT = {"benchmark": "b", "question": "q", "variant": "v", "messages": "[]", "target": "t"}
OLD = [*batch(1), *(row("one", g, completion=f"{g} " * g) for g in range(1, 90)), row("failed", score=None, error="t")]


def without_rule(rows):
    return [{name: value for name, value in one.items() if name != "rule"} for one in expected(rows)]


def make_database(path: Path, rows=(), moved=(), *, version=1) -> None:
    path.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path / "responses.sqlite", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN")
        for name, columns in (FIRST if version == 1 else SECOND).items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.execute("PRAGMA application_id = 1701995122")
        connection.execute(f"PRAGMA user_version = {version}")
        for one in without_rule(rows) if version == 1 else expected(rows):
            if len(one["completion"] or "") > 120:
                one["completion"] = zstandard.compress(one["completion"].encode(), 1)
            connection.execute(f"INSERT INTO responses VALUES ({', '.join('?' * len(one))})", list(one.values()))
        if rows:
            prompt = [*PROMPT.values(), *[None] * (version - 1)]
            connection.execute(f"INSERT INTO prompts VALUES ({', '.join('?' * len(prompt))})", prompt)
        connection.executemany("INSERT INTO moved VALUES (?, ?)", moved)
        connection.execute("COMMIT")


def make_parquet(path: Path, rows) -> None:
    text, whole, real = pa.string(), pa.int64(), pa.float64()
    types = [text] * 4 + [whole, real] + [text] * 5 + [whole, whole, real] + [text] * 4 + [real, real]
    names = [one.strip().split()[0] for one in FIRST["responses"].partition(", PRIMARY")[0].split(",")]
    mark = {"howsure.schema": "1"}
    schema = pa.schema(list(zip(names, types, strict=True)), metadata=mark)
    pq.write_table(pa.Table.from_pylist(without_rule(rows), schema), path / "responses.parquet")
    prompts = pa.schema([(name, text) for name in PROMPT], metadata=mark)
    pq.write_table(pa.Table.from_pylist([PROMPT], prompts), path / "prompts.parquet")


def made(path: Path, kind: str) -> Path:
    """A folder of version 1 that holds `OLD`: live (also one of version 2), compacted, half of each, or Parquet that travelled alone."""
    if kind in {"live", "live 2"}:
        make_database(path, OLD, version=1 if kind == "live" else 2)
        return path
    if kind == "both":
        make_database(path, OLD[10:], moved=[("responses", 12), ("prompts", 1)])
        make_parquet(path, OLD[:12])
        return path
    if kind == "compacted":
        make_database(path, moved=[("responses", len(OLD)), ("prompts", 1)])
    path.mkdir(exist_ok=True)
    make_parquet(path, OLD)
    (path / "manifest.json").write_text("{}")
    return path


def versions(path: Path) -> tuple[int, bool, bool]:
    """Version of the database, and whether its tables have what came with versions 3 and 2."""
    with closing(sqlite3.connect(path / "responses.sqlite")) as connection:
        names = [{one[1] for one in connection.execute(f"PRAGMA table_info({name})")} for name in ("packs", "prompts")]
        return connection.execute("PRAGMA user_version").fetchone()[0], "shared" in names[0], "record" in names[1]


KINDS = pytest.mark.parametrize("kind", ["live", "live 2", "both", "compacted", "travelled"])


@KINDS
def test_older_versions_read_as_if_the_new_columns_were_null(tmp_path, kind):
    path = made(tmp_path / "run", kind)
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    assert held(path) == expected(OLD)
    assert tuple(read(path).column_names) == COLUMNS
    assert generations(path, "b", "one").to_pylist() == expected(one for one in OLD if one.question == "one")
    rules = read(path, ["rule", "question"])
    assert rules["rule"].null_count == len(OLD)
    assert rules.schema.field("rule").type == pa.string()
    assert read_prompts(path).to_pylist() == [{**PROMPT, "record": None}]
    assert read_prompts(path, ["record"]).to_pylist() == [{"record": None}]
    after = {file.name: file.read_bytes() for file in path.iterdir() if file.name in before}
    assert after == before, "a reader changes nothing"
    with sealed(path) as folder:
        assert held(folder) == expected(OLD)


@KINDS
def test_older_versions_go_on_as_version_3(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(live, "BATCH_ROWS", 5)
    monkeypatch.setattr(parquet, "GROUP_ROWS", 7)
    monkeypatch.setattr(parquet, "READ_ROWS", 7)
    path = made(tmp_path / "run", kind)
    newer = [
        row("failed", score=1.0, rule="last number"),
        row("new", rule="boxed"),
        row("none", score=0.0, rule="no"),
        *(row("one", g, score=0.25) for g in (3, 90, 91)),
    ]
    with RunFolder(path) as run:
        assert versions(path) == (3, True, True)
        assert held(path) == expected(OLD)
        run.append(newer)
        run.put_prompts([("b", "r", "v", [], "t", {"labels": {"A": 1}})])
        assert held(path) == expected(OLD + newer)
        for name in ("one", "failed"):
            found = generations(path, "b", name, models=["m"]).to_pylist()
            assert found == expected(one for one in OLD + newer if one.question == name)
        present = run.present("b", "m", failed=False)
        assert present["one", "v"] == set(range(1, 92))
        assert present["failed", "v"] == {1}
        run.compact()
        assert held(path) == expected(OLD + newer)
    assert read_prompts(path, ["question", "record"]).to_pylist() == [
        {"question": "q", "record": None},
        {"question": "r", "record": '{"labels": {"A": 1}}'},
    ]
    for name, rows in (("responses", len(OLD) + 4), ("prompts", 2)):
        file = pq.ParquetFile(path / f"{name}.parquet")
        assert file.metadata.metadata[b"howsure.schema"] == b"2"
        assert file.metadata.num_rows == rows
    assert pq.read_table(path / "responses.parquet").to_pylist() == expected(OLD + newer)


def test_reader_that_began_before_the_migration_reads_on(tmp_path):
    path = made(tmp_path / "run", "live")
    connection = database.open_to_read(path)
    with RunFolder(path) as run:
        run.append([row("new", rule="boxed")])
        names = ["question", "rule"]
        seen = [
            tuple(one) for some in live.scan(connection, database.RESPONSES, names) for one in zip(*some, strict=True)
        ]
        assert len(seen) == len(OLD)
        assert {rule for _, rule in seen} == {None}
    connection.close()


def test_killed_between_any_two_steps_of_the_migration(tmp_path):
    """Every state on the way is one version or the other, reads the same, and can be opened."""
    path = made(tmp_path / "run", "live")
    opened = []
    states = every_state(path, tmp_path, lambda: opened.append(RunFolder(path)))
    opened[0].close()
    found = [versions(Path(shutil.copytree(state, tmp_path / f"copy {state.name}"))) for state in states]
    assert set(found) == {(1, False, False), (3, True, True)}
    for state in states:
        assert held(state) == expected(OLD)
        with RunFolder(state) as run:
            run.append([row("new", rule="boxed")])
        assert held(state) == expected([*OLD, row("new", rule="boxed")])


MIGRATE = """
import os, signal, sqlite3, sys
from pathlib import Path
from howsure.store import database

left = int(sys.argv[2])

def look(frame, event, argument):
    global left
    if event == "c_call" and isinstance(getattr(argument, "__self__", None), sqlite3.Connection):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.setprofile(look)
database.open_to_write(Path(sys.argv[1]))
"""


@pytest.mark.parametrize("call", [6, 9, 10, 12, 13])
def test_killed_in_the_migration_by_the_system(tmp_path, call):
    path = made(tmp_path / "run", "live")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", MIGRATE, path, str(call)], env=environment, check=False)
    assert done.returncode == -9, "it is killed before it ends"
    assert versions(path) in {(1, False, False), (3, True, True)}
    assert held(path) == expected(OLD)
    RunFolder(path).close()
    assert versions(path) == (3, True, True)
    assert held(path) == expected(OLD)
