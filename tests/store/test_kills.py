"""Killed at any moment: nothing that was acknowledged is lost, nothing is there twice. Guarantees by seeded trials."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers.stored_files import every_state
from helpers.stored_rows import batch, expected, held, row

from howsure.errors import StoreError
from howsure.store import database, parquet_files
from howsure.store.responses import RunFolder, read_prompts

TESTS = Path(__file__).resolve().parents[1]

APPEND = """
import sys
from pathlib import Path
from helpers.stored_rows import batch
from howsure.store.responses import RunFolder

with RunFolder(Path(sys.argv[1])) as run:
    for number in range(10_000):
        run.append(batch(number))
        print(number, flush=True)
"""


def python(script: str, *args: object, **rest) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", script, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, **rest)


def killed_while_appending(path: Path, seed: int) -> int:
    """Kill a writer at a random moment; returns how many batches it had acknowledged."""
    rng = random.Random(seed)
    with python(APPEND, path) as process:
        wanted = rng.randint(1, 40)
        acknowledged = sum(1 for _, line in zip(range(wanted), process.stdout, strict=False) if line)
        sum(range(rng.randint(0, 200_000)))  # up to a few milliseconds further, somewhere in a later batch
        process.send_signal(signal.SIGKILL)
        acknowledged += sum(1 for line in process.stdout if line.endswith("\n"))
    assert process.returncode == -signal.SIGKILL
    return acknowledged


@pytest.mark.long
def test_killed_while_appending_at_twenty_random_moments(tmp_path):
    with ThreadPoolExecutor(3) as pool:
        paths = [tmp_path / str(seed) for seed in range(20)]
        acknowledged = list(pool.map(killed_while_appending, paths, range(20)))
    unacknowledged = 0
    for path, count in zip(paths, acknowledged, strict=True):
        rows = held(path)
        whole, rest = divmod(len(rows), 20)
        assert rest == 0, "a batch is there in part"
        assert whole in {count, count + 1}
        assert rows == expected(one for number in range(whole) for one in batch(number))
        unacknowledged += whole - count
        with RunFolder(path) as run:
            present = run.present("b", "m")
            assert sum(map(len, present.values())) == len(rows)
            for number in range(whole + 2):
                run.append(batch(number))
        assert held(path) == expected(one for number in range(whole + 2) for one in batch(number))
    assert len(set(acknowledged)) > 5, "the moments should differ"


@pytest.mark.parametrize("before", ["database only", pytest.param("parquet too", marks=pytest.mark.long)])
def test_killed_between_any_two_steps_of_compaction(tmp_path, monkeypatch, before):
    monkeypatch.setattr(database, "BATCH_ROWS", 8)
    monkeypatch.setattr(parquet_files, "GROUP_ROWS", 8)
    monkeypatch.setattr(parquet_files, "READ_ROWS", 8)
    rows = [*batch(1), row("retried", score=None, error="timeout: x"), row("failed", score=None, error="server: x")]
    prompts = [("b", f"q{i}", "v", [{"role": "user", "content": f"{i}"}], "t", {"i": i}) for i in range(12)]
    run = RunFolder(tmp_path / "run")
    run.append(rows)
    run.put_prompts(prompts[:9])
    if before == "parquet too":
        run.compact()
        rows += [*batch(2), row("retried", score=0.5)]
        run.append(rows[-21:])
        run.put_prompts(prompts[6:])
    else:
        run.put_prompts(prompts[9:])
    wanted = expected(rows)

    states = every_state(tmp_path / "run", tmp_path, run.compact)
    run.close()
    assert len(states) >= 10
    names = [{file.name for file in path.iterdir()} for path in states]
    assert any(".responses.parquet.new" in found for found in names), "killed with a temporary file"
    for path in [*states, tmp_path / "run"]:
        assert held(path) == wanted, path
        with RunFolder(path) as again:
            assert not list(path.glob(".*.new")), "what was begun is cleaned away"
            again.append([*batch(1), *batch(3), row("failed", score=0.25)])
            again.compact()
            assert database.is_empty(again._connection, database.RESPONSES)
        assert held(path) == expected([*rows, *batch(3), row("failed", score=0.25)])
        assert read_prompts(path)["question"].to_pylist() == sorted(name for _, name, *_ in prompts)


def test_killed_while_the_folder_is_made(tmp_path):
    """Every state in the making of a run folder opens, and reads as empty once it is a run."""
    (tmp_path / "run").mkdir()
    opened = []
    states = every_state(tmp_path / "run", tmp_path, lambda: opened.append(RunFolder(tmp_path / "run")))
    opened[0].close()
    assert len(states) >= 3
    for path in states:
        if (path / "responses.sqlite").exists():
            assert held(path) == []
        with RunFolder(path) as run:
            run.append([row()])
        assert held(path) == expected([row()])


COMPACT = """
import os, signal, sys
from pathlib import Path
import pyarrow.parquet
from howsure.store import responses
from howsure.store import atomic

left = int(sys.argv[2])

def look(frame, event, argument):
    global left
    if event.startswith("c_") and "howsure" in frame.f_code.co_filename:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

with responses.RunFolder(Path(sys.argv[1])) as run:
    sys.setprofile(look)
    run.compact()
    sys.setprofile(None)
print(left)
"""


@pytest.mark.long
def test_killed_in_compaction_by_the_system(tmp_path):
    wanted = expected(one for number in range(3) for one in batch(number))

    def trial(events: int) -> tuple[Path, int]:
        path = tmp_path / str(events)
        with RunFolder(path) as run:
            for number in range(3):
                run.append(batch(number))
        with python(COMPACT, path, events) as process:
            left = process.stdout.read()
        assert process.returncode == (0 if left else -signal.SIGKILL)
        return path, 10**9 - int(left or 0)

    _, total = trial(10**9)
    with ThreadPoolExecutor(3) as pool:
        trials = list(pool.map(trial, random.Random(3).sample(range(1, total), 6)))
    for path, _ in trials:
        assert held(path) == wanted
        with RunFolder(path) as run:
            run.compact()
        assert held(path) == wanted


LEAVE_A_CHILD = """
import os, sys
from pathlib import Path
from howsure.store.responses import RunFolder

run = RunFolder(Path(sys.argv[1]))
if os.fork() == 0:
    print("ready", flush=True)  # it lives, and what it does after a fork is done
    sys.stdin.read()
    os._exit(0)
sys.stdin.read()
"""


def test_lock_is_the_processs_and_dies_with_it_though_its_children_live(tmp_path):
    with python(LEAVE_A_CHILD, tmp_path, stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(StoreError, match=rf"process {process.pid} is writing this run; wait for it"):
            RunFolder(tmp_path)
        assert held(tmp_path) == [], "a reader is welcome"
        process.kill()
        process.wait()
        RunFolder(tmp_path).close()  # while the child still waits for its standard input
