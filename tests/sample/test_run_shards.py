"""One experiment on four machines: four runs, a folder each, read together; one of them in a process of its own.

Kind of truth: theory. The simulated model draws each cell by itself, so the shards' cells are those of a whole run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.servers import until

import howsure as hs
from howsure.cli import main
from howsure.errors import HowsureWarning
from howsure.store.responses import read

EXPERIMENT = """
benchmark: directions-small
generations: 7
limit: 90
greedy: true
seed: 5
variants: [{}, {template: "{question} Answer with one word."}]
models: [simulated/small, simulated/large]
"""
SHARDS = 4
CELLS = 90 * 2 * 2 * (7 + 1)


def start(*arguments):
    command = [sys.executable, "-m", "howsure", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_here(*arguments):
    """Run the command in this process."""
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    assert ended.value.code == 0


def printed(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The whole run and its four parts."""
    place = tmp_path_factory.mktemp("shards")
    (place / "e.yaml").write_text(EXPERIMENT)
    parts = [place / f"part-{i}" for i in range(1, SHARDS + 1)]
    # Another process has another seed of hashes, on which no shard may depend.
    first = start("run", place / "e.yaml", "-o", parts[0], "--shard", f"1/{SHARDS}")
    for i, part in enumerate(parts[1:], start=2):
        run_here("run", place / "e.yaml", "-o", part, "--shard", f"{i}/{SHARDS}")
    run_here("run", place / "e.yaml", "-o", place / "whole")
    printed(first)
    return place / "whole", parts


def cells(folder):
    names = ["benchmark", "model", "question", "variant", "generation", "score", "completion"]
    return [tuple(row.values()) for row in read(folder, names).to_pylist()]


def test_each_cell_is_in_one_part(folders):
    whole, parts = folders
    there = [cells(part) for part in parts]
    assert sorted(cell for part in there for cell in part) == cells(whole)
    assert len(cells(whole)) == CELLS
    # By question: the parts of a question's generations lie together, and no part is left with nothing to do.
    questions = [{cell[2] for cell in part} for part in there]
    assert sum(map(len, questions)) == len(set().union(*questions)) == 90
    assert all(10 <= len(part) <= 40 for part in questions)


@pytest.mark.parametrize("command", ["score", "compare"])
def test_they_are_read_together(folders, command, howsure):
    whole, parts = folders
    wanted = json.loads(howsure(command, whole, "--format", "json")[1])
    code, out, err = howsure(command, *parts, "--format", "json")
    assert code == 0
    assert wanted
    assert json.loads(out) == wanted
    assert not err, "parts of one run are no strangers to each other"
    # One part alone says something else: the table does come from all four.
    assert json.loads(howsure(command, parts[0], "--format", "json")[1]) != wanted


def test_a_part_that_is_there_twice_counts_once(folders, tmp_path):
    whole, parts = folders
    shutil.copytree(parts[2], tmp_path / "again")
    alone = str(hs.score(hs.read(whole)).columns())
    size = len(cells(parts[2]))
    with pytest.warns(HowsureWarning, match=f"again: {size} of its generations are copies of those in .*part-3"):
        assert str(hs.score(hs.read([*parts, tmp_path / "again"])).columns()) == alone
    # The simulated model's draws are those of the whole run, whenever they were made.
    with pytest.warns(HowsureWarning, match=f"part-3: {size} of its generations are copies"):
        assert str(hs.score(hs.read([whole, parts[2]])).columns()) == alone


@pytest.mark.long
def test_a_report_of_all_parts(folders, tmp_path, howsure):
    whole, parts = folders
    pages = [tmp_path / "whole.html", tmp_path / "parts.html"]
    for page, paths in zip(pages, ([whole], parts), strict=True):
        assert howsure("report", *paths, "--no-static", "-o", page)[0] == 0
    assert all(page.stat().st_size > 10_000 for page in pages)


def test_a_part_that_is_run_again_owes_nothing(folders):
    _, parts = folders
    before = cells(parts[1])
    place = parts[1].parent
    run_here("run", place / "e.yaml", "-o", parts[1], "--shard", f"2/{SHARDS}")
    assert cells(parts[1]) == before


@pytest.mark.long
def test_the_job_file_runs_a_shard_in_each_task_and_continues_one_that_was_killed(folders, tmp_path):
    """Tasks of the Slurm array, started with the variables that Slurm sets; the second is killed and run again."""
    whole, _ = folders
    job = Path(__file__).resolve().parents[2] / "examples/machines/shards.sbatch"
    variables = {"EXPERIMENT": str(whole.parent / "e.yaml"), "OUT": str(tmp_path), "SHARDS": str(SHARDS)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def start_task(i):
        own = {**os.environ, **variables, "SLURM_ARRAY_TASK_ID": str(i), "PATH": path}
        return subprocess.Popen(["bash", job], env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    killed = start_task(2)
    until(lambda: (tmp_path / f"shard-2-of-{SHARDS}/responses.sqlite").exists() or killed.poll() is not None)
    killed.kill()  # with exec the process of the task is howsure itself
    killed.communicate()
    assert killed.returncode == -9
    for process in [start_task(i) for i in range(1, SHARDS + 1)]:
        printed(process)
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names == [f"shard-{i}-of-{SHARDS}" for i in range(1, SHARDS + 1)]
    assert sorted(cell for name in names for cell in cells(tmp_path / name)) == cells(whole)


@pytest.mark.parametrize("shard", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4", "2/4/8"])
def test_a_shard_that_is_none(tmp_path, shard, howsure):
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    code, _, err = howsure("run", tmp_path / "e.yaml", "-o", tmp_path / "r", "--shard", shard)
    assert code == 2
    assert "shard" in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "r").exists()
