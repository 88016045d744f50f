"""Tasks of Inspect as benchmarks of an experiment, by the command that a user types.

Kind of truth: scores that were planted, what Inspect's own log states, and a journal of the samples that were run.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="the extra inspect is not installed")

from helpers.planted_task import draw_score
from helpers.servers import until

import howsure as hs
from howsure.errors import InputError
from howsure.inspect_runs.task_request import TaskRequest
from howsure.inspect_runs.task_run import LogFollower
from howsure.inspect_runs.task_worker import run_request
from howsure.sample.experiment import load_experiment
from howsure.store import manifest
from howsure.store.responses import RunFolder, read

TASK = Path(__file__).parents[1] / "helpers" / "planted_task.py"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def describe(folder, *, generations, args, label="m", more=""):
    """Write the experiment of the planted task."""
    spec = {"name": f"inspect/{TASK}@planted_sums", "args": args}
    models = [{"model": "mockllm/model", "label": label, "temperature": 0.5}]
    text = {"benchmark": spec, "models": models, "generations": generations, "concurrency": 4}
    return write(folder / "exp.yaml", json.dumps(text)[:-1] + more + "}")


def start(experiment, *options):
    command = [sys.executable, "-m", "howsure", "run", str(experiment), "--json-lines", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, [json.loads(line) for line in out.splitlines()], err


@pytest.fixture(scope="module")
def failed_run(tmp_path_factory):
    """The folder of an experiment that was run once, of whose samples two failed, and what the run wrote."""
    folder = tmp_path_factory.mktemp("failed")
    args = {"n": 4, "failing": "q1,q2", "journal": str(folder / "journal")}
    return folder, args, *finish(start(describe(folder, generations=1, args=args)))


def check_rows(folder, n, epochs, *, label="m"):
    """Compare all rows with the planted scores."""
    rows = read(folder, ["model", "question", "generation", "score"]).to_pylist()
    expected = {(f"q{i}", e): float(draw_score(1, f"q{i}", e)) for i in range(n) for e in range(1, epochs + 1)}
    assert {(row["question"], row["generation"]): row["score"] for row in rows} == expected
    assert len(rows) == n * epochs
    assert {row["model"] for row in rows} == {label}


@pytest.mark.long
def test_a_run_that_is_killed_is_continued_and_epochs_are_added(tmp_path):
    journal = tmp_path / "journal.txt"
    args = {"n": 12, "journal": str(journal), "pause": 0.5}
    experiment = describe(tmp_path, generations=2, args=args)
    process = start(experiment)
    until(lambda: journal.exists() and len(journal.read_text().splitlines()) >= 8)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    folder = tmp_path / "exp"
    until(lambda: any((folder / "inspect_logs").rglob("*.eval")))
    code, lines, err = finish(start(experiment))
    assert code == 0, err
    check_rows(folder, 12, 2)
    n_run = len(journal.read_text().splitlines())
    assert 24 <= n_run < 24 + 12  # at most what was in flight or not written yet is run again
    assert manifest.load(folder).models["m"].kind == "Inspect"

    describe(tmp_path, generations=3, args=args)
    code, lines, err = finish(start(experiment))
    assert code == 0, err
    assert (lines[-1]["generations"], lines[-1]["there"]) == (12, 24)
    check_rows(folder, 12, 3)
    assert len(journal.read_text().splitlines()) == n_run + 12
    expected = sum(draw_score(1, f"q{i}", e) for i in range(12) for e in (1, 2, 3)) / 36
    assert hs.score(hs.read(folder))["score"][0] == pytest.approx(expected)


@pytest.mark.long
def test_a_log_that_grows_is_rewritten_and_gets_an_epoch_is_followed(tmp_path):
    """The rows are those of the log as Inspect itself reads it, at the end of each session."""
    from inspect_ai.log import read_eval_log, write_eval_log

    def run_task(epochs):
        folder = tmp_path / str(epochs)
        folder.mkdir()
        code, _, err = finish(start(describe(folder, generations=epochs, args={"n": 20, "failing": "q3"})))
        assert code == 0, err
        return next((folder / "exp" / "inspect_logs").rglob("*.eval"))

    def read_samples(file):
        return {
            (one.id, one.epoch): None if not one.scores else float(one.scores["planted"].value)
            for one in read_eval_log(str(file)).samples
        }

    def read_rows(run):
        rows = read(run, ["question", "generation", "score"]).to_pylist()
        by_key = {(row["question"], row["generation"]): row["score"] for row in rows}
        assert len(by_key) == len(rows)
        return by_key

    config = load_experiment(describe(tmp_path, generations=2, args={})).models[0]
    first, second = run_task(2), run_task(3)
    with RunFolder(tmp_path / "run") as run:
        follower = LogFollower(run, config, None)
        follower.logs.mkdir(parents=True)
        log = follower.logs / "log.eval"
        whole = first.read_bytes()
        n_rows = []
        # The first parts have no table of contents: Inspect was killed, or writes at this moment.
        for share in (0.02, 0.3, 0.6, 0.61, 0.95, 1):
            log.write_bytes(whole[: int(len(whole) * share)])
            follower.update()
            n_rows.append(follower.n_rows)
        assert n_rows == sorted(n_rows)
        assert 0 < n_rows[2] < n_rows[-1] == 38
        assert read_rows(run.path) == read_samples(first)
        log.write_bytes(second.read_bytes())
        follower.update()
        follower.update()
        assert (follower.n_rows, follower.n_new) == (57, 57)
        assert read_rows(run.path) == read_samples(second)

    rewritten = read_eval_log(str(log))
    for sample in rewritten.samples or []:
        if sample.scores:
            sample.scores["planted"].value = 1 - sample.scores["planted"].value
    write_eval_log(rewritten, str(log))
    with RunFolder(tmp_path / "run") as run:
        follower = LogFollower(run, config, None)
        follower.update()
        assert (follower.n_rows, follower.n_new) == (57, 0)
        assert read_rows(run.path) == read_samples(second)  # what is stored stays
        assert any("57 samples have another score in the log" in note for note in follower.read_notes())


@pytest.mark.long
def test_what_a_later_session_counts_replaces_the_counts_of_the_first(tmp_path, failed_run):
    folder, args, *_ = failed_run
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)

    def check(n_failed):
        failed = [line for line in manifest.load(tmp_path / "exp").warnings if re.search("generations? failed", line)]
        assert len(failed) == 1
        assert failed[0].startswith(f"m: {n_failed} generations failed")

    check(2)
    code, _, err = finish(start(describe(tmp_path, generations=3, args=args)))
    assert code == 0, err
    check(6)


def test_samples_that_fail_are_missing_and_said(failed_run):
    folder, _, code, _, err = failed_run
    assert code == 0, err
    assert "2 generations failed" in err
    rows = read(folder / "exp", ["question", "score", "error"]).to_pylist()
    assert len(rows) == 4
    assert {row["question"] for row in rows if row["score"] is None} == {"q1", "q2"}
    assert all("planted failure" in row["error"] for row in rows if row["score"] is None)


def test_a_worker_that_gets_a_misspelt_task_names_the_right_one(tmp_path):
    """What the worker replies is the line of the command."""
    request = TaskRequest(task=f"{TASK}@planted_sum", model="mockllm/model", log_folder=str(tmp_path), epochs=1)
    with pytest.raises(
        InputError, match=r"planted_task\.py: unknown task 'planted_sum'; did you mean 'planted_sums'\?"
    ):
        run_request(request)


@pytest.mark.long
def test_a_misspelt_task_has_one_line_with_the_right_name(tmp_path):
    experiment = write(tmp_path / "exp.yaml", f"benchmark: inspect/{TASK}@planted_sum\nmodels: [mockllm/model]\n")
    code, _, err = finish(start(experiment))
    assert code == 2
    assert "did you mean 'planted_sums'?" in err.splitlines()[-1]


@pytest.mark.long
def test_a_retry_runs_no_task_that_only_the_log_names(tmp_path):
    """A run folder of somebody else, whose log names his file; the experiment names ours."""
    theirs = write(tmp_path / "theirs.py", TASK.read_text())
    spec = {"name": f"inspect/{theirs}@planted_sums", "args": {"n": 3, "failing": "q1"}}
    text = {"benchmark": spec, "models": [{"model": "mockllm/model", "label": "m"}]}
    experiment = write(tmp_path / "exp.yaml", json.dumps(text))
    assert finish(start(experiment))[0] == 0
    mark = tmp_path / "executed"
    write(theirs, f"open({str(mark)!r}, 'w').close()\n" + TASK.read_text())
    text["benchmark"] = spec | {"name": f"inspect/{TASK}@planted_sums"}
    write(experiment, json.dumps(text))
    _, _, err = finish(start(experiment, "--retry", "failed"))
    assert not mark.exists()
    assert "theirs.py@planted_sums" in err
    assert "different: task)" in err

    text["benchmark"] = spec
    write(experiment, json.dumps(text))
    _, _, err = finish(start(experiment, "--retry", "failed"))
    assert mark.exists(), err
    assert "different" not in err


def test_a_worker_refuses_to_retry_a_log_of_another_task_before_it_loads_that(tmp_path, failed_run):
    """The log of a run folder of somebody else names a file that leaves a mark when it is loaded."""
    from inspect_ai.log import list_eval_logs, read_eval_log, write_eval_log

    mark = tmp_path / "loaded"
    theirs = write(tmp_path / "theirs.py", f"open({str(mark)!r}, 'w').close()\n" + TASK.read_text())
    logs = shutil.copytree(failed_run[0] / "exp" / "inspect_logs", tmp_path / "logs")
    (info,) = list_eval_logs(str(logs))
    log = read_eval_log(info)
    log.eval.task_file = str(theirs)
    write_eval_log(log)
    own = TaskRequest(
        task=f"{TASK}@planted_sums",
        model="mockllm/model",
        log_folder=str(Path(info.name.removeprefix("file://")).parent),
        epochs=1,
        args=log.eval.task_args,
        is_quiet=True,
        retry=True,
    )
    with pytest.raises(InputError, match=r"its log is of .*theirs\.py@planted_sums .*\(different: task\)"):
        run_request(own)
    assert not mark.exists()


@pytest.mark.long
@pytest.mark.parametrize(("change", "difference"), [("sandbox", "sandbox"), ("approval", "approval"), (None, None)])
def test_a_retry_takes_no_sandbox_and_no_approval_from_the_log(tmp_path, failed_run, change, difference):
    """A log of somebody else in which tools of the task run on this machine, or without being asked for."""
    from inspect_ai.log import list_eval_logs, read_eval_log, write_eval_log
    from inspect_ai.util import SandboxEnvironmentSpec

    folder, args, *_ = failed_run
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    experiment, journal = tmp_path / "exp.yaml", Path(args["journal"])
    (info,) = list_eval_logs(str(tmp_path / "exp" / "inspect_logs"))
    log = read_eval_log(info)
    if change == "sandbox":
        log.eval.sandbox = SandboxEnvironmentSpec("local")
    elif change == "approval":
        approval = {"approvers": [{"name": "auto", "tools": "*", "params": {}}]}
        log.eval.config = type(log.eval.config).model_validate(log.eval.config.model_dump() | {"approval": approval})
    write_eval_log(log)
    n_run = len(journal.read_text().splitlines())
    _, _, err = finish(start(experiment, "--retry", "failed"))
    retried = len(journal.read_text().splitlines()) - n_run
    assert retried == (0 if change else 2), err
    assert (difference is None) == ("different" not in err), err
    assert difference is None or f"different: {difference})" in err
