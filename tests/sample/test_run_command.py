"""What `howsure run` says and which exit code it gives. Kind of truth: written by hand."""

from __future__ import annotations

import io
import os
import resource
import signal
import subprocess
import sys
import threading

import pytest
from helpers.endpoint import Faults, serve

from howsure.benchmarks import load
from howsure.errors import InputError
from howsure.sample.run import load_shard, run_experiment
from howsure.store.responses import read

SMALL = load("directions-small")


def go(tmp_path, text):
    (tmp_path / "e.yaml").write_text(text)
    stream = io.StringIO()
    code = run_experiment(load_shard(tmp_path / "e.yaml"), tmp_path / "r", stream=stream)
    return code, stream.getvalue()


def test_a_run_that_is_done_is_0(tmp_path):
    text = "{benchmark: directions-small, models: [simulated/medium]}"
    code, said = go(tmp_path, text)
    assert code == 0
    *_, progress, last = said.splitlines()
    assert progress.startswith("simulated/medium  500/500 100%  score 0.")
    assert last.startswith("howsure: 500 generations in ")
    assert last.endswith(f"s: {tmp_path / 'r'}")
    code, said = go(tmp_path, text)
    assert code == 0
    assert "howsure: 0 generations in " in said
    assert ", 500 were there: " in said


def test_a_model_that_was_given_up_is_2_and_the_rest_is_kept(tmp_path):
    with serve(SMALL.questions, faults=Faults(model="good", refuses=SMALL.questions[0].text)) as server:
        models = ", ".join(f'{{model: {name}, base_url: "{server.base_url}"}}' for name in ("bad", "good"))
        code, said = go(tmp_path, f"{{benchmark: directions-small, models: [{models}]}}")
    assert code == 2
    rows = read(tmp_path / "r", ["prompt_tokens"]).to_pylist()
    saved = 4 * sum(row["prompt_tokens"] or 0 for row in rows)
    assert said.splitlines()[-4:] == [
        "howsure: bad: HTTP 404: The model `bad` does not exist",
        "howsure: 5 generations failed; their rows say why, --retry failed tries them again",
        f"howsure: {saved:,} prompt tokens saved by asking for several generations at once",
        f"howsure: what arrived is kept in {tmp_path / 'r'}, run again to continue",
    ]


def test_warnings_are_said(tmp_path):
    with serve(SMALL.questions, faults=Faults(ignores_n=True)) as server:
        code, said = go(
            tmp_path, f'{{benchmark: directions-small, models: [{{model: m, base_url: "{server.base_url}"}}]}}'
        )
    assert code == 0
    assert "howsure: warning: m: the endpoint sends one generation per request; more requests are made" in said


def test_a_wrong_file_is_told_by_the_caller(tmp_path):
    with pytest.raises(InputError, match="e.yaml:1: no 'models'"):
        go(tmp_path, "{benchmark: directions-small}")


def test_ctrl_c_is_130_and_loses_nothing_that_arrived(tmp_path):
    with serve(SMALL.questions, faults=Faults(latency=0.05)) as server:
        model = f'{{model: m, base_url: "{server.base_url}"}}'
        text = f"{{benchmark: directions-small, generations: 3, concurrency: 2, models: [{model}]}}"
        timer = threading.Timer(0.6, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        code, said = go(tmp_path, text)
        timer.join()
        assert code == 130
        assert said.splitlines()[-1] == (
            f"howsure: interrupted; what arrived is kept in {tmp_path / 'r'}, run again to continue"
        )
        kept = read(tmp_path / "r").num_rows
        # Those in flight are awaited.
        assert kept == len(server.log)
        assert "howsure: 2 requests in flight are awaited; interrupt again to drop them" in said
        assert 0 < kept < 300
    with serve(SMALL.questions) as server:
        port_moved = text.replace(model, f'{{model: m, base_url: "{server.base_url}"}}')
        with pytest.raises(InputError, match="model m: base_url was"):
            go(tmp_path, port_moved)


@pytest.mark.parametrize("megabytes", [250, 400, 750])
def test_too_little_address_space_is_one_line(tmp_path, megabytes):
    limit = megabytes << 20
    done = subprocess.run(
        [sys.executable, "-m", "howsure", "run", "exp.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "ulimit" in done.stderr
