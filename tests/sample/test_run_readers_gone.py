"""Runs whose reader goes away, whose output is full or closed, and which are killed while their page is served.

Kind of truth: a guarantee, shown by trying: the command in a process of its own, and the rows that it leaves.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.long_cases import mark_long
from helpers.servers import until

from howsure.cli import main
from howsure.store.responses import read

ROOT = Path(__file__).resolve().parents[2]
TEXT = "{benchmark: directions-small, models: [simulated/medium], generations: 4, limit: 50}"
COMMAND = f"{sys.executable} -m howsure run experiment.yaml -o run"
ENVIRON = os.environ | {"PYTHONPATH": str(ROOT / "src")}


@pytest.mark.parametrize(
    "how",
    [
        "{} --json-lines | true",
        *(
            pytest.param(how, marks=pytest.mark.long)
            for how in (
                "{} > /dev/full 2>&1",
                "{} --json-lines >&-",
                "{} --json-lines 2>&1 | true",
                "{} 2>&1 | true",
                "{} --json-lines > /dev/full",
                "{} 2> /dev/full",
                "{} 2>&-",
                "{} >&- 2>&-",
            )
        ),
    ],
)
def test_a_run_goes_on_when_nobody_reads_it(tmp_path, how):
    (tmp_path / "experiment.yaml").write_text(TEXT)
    shell = ["bash", "-o", "pipefail", "-c", how.format(COMMAND)]
    done = subprocess.run(shell, cwd=tmp_path, env=ENVIRON, capture_output=True, text=True, timeout=300, check=False)
    assert read(tmp_path / "run", ["score"]).num_rows == 200
    assert "Traceback" not in done.stderr + done.stdout
    assert "Exception ignored" not in done.stderr
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["sessions"][-1]["finished"]
    if "json" in how:  # without it the table of scores cannot be printed, which is another failure
        assert done.returncode == 0


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """A folder with the run of the experiment."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "experiment.yaml").write_text(TEXT)
    with pytest.raises(SystemExit, match="0"):
        main(["run", str(folder / "experiment.yaml"), "-o", str(folder / "run"), "--json-lines"])
    return folder


@pytest.mark.parametrize(
    "how", mark_long(["score run > /dev/full", "--help > /dev/full", "score run --format csv > /dev/full"], after=2)
)
def test_a_full_output_is_one_line(finished_run, how):
    shell = ["bash", "-c", f"{sys.executable} -m howsure {how}"]
    done = subprocess.run(
        shell, cwd=finished_run, env=ENVIRON, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "howsure: the output cannot be written: No space left on device; check the path and the space on the disk"
    ]


def descendants(root):
    """Ids of the processes that this one started, and those that they started."""
    found, level = set(), {root}
    while level:
        stats = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                stats[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has just ended
        level = {child for child, parent in stats.items() if parent in level} - found
        found |= level
    return found


def test_a_killed_run_with_a_live_page_leaves_no_process(tmp_path):
    text = TEXT.replace("generations: 4", "generations: 2000000").replace("limit: 50", "limit: 1")
    (tmp_path / "experiment.yaml").write_text(text)
    command = [sys.executable, "-m", "howsure", "run", "experiment.yaml", "-o", "run", "--live"]
    with subprocess.Popen(command, cwd=tmp_path, env=ENVIRON, stderr=subprocess.PIPE, text=True) as process:
        assert "the report as it grows: http://127.0.0.1:" in process.stderr.readline()
        until(lambda: len(descendants(process.pid)) >= 2)
        children = descendants(process.pid)
        process.kill()
        process.wait()
        until(lambda: not any(is_running(child) for child in children))


def is_running(process):
    """Whether a process exists and is no zombie that its new parent has not waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
