"""`howsure init`, `run --check` and completion as a user types them. Kind of truth: written by hand, and bash itself."""

import json
import os
import subprocess
import sys

import pytest

from howsure.cli import main
from howsure.sample.experiment import load_experiment


def howsure(*arguments, cwd, stdin="", **environ):
    return subprocess.run(
        [sys.executable, "-m", "howsure", *arguments],
        input=stdin,
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_three_answers_make_an_experiment(tmp_path):
    done = howsure("init", "my exp.yaml", cwd=tmp_path, stdin="directions-large\nsimulated/strong, simulated/weak\n7\n")
    assert (done.returncode, done.stdout) == (0, "my exp.yaml\n")
    experiment = load_experiment(tmp_path / "my exp.yaml")
    assert experiment.benchmark == "directions-large"
    assert [config.label for config in experiment.models] == ["simulated/strong", "simulated/weak"]
    assert experiment.models[0].generations == 7
    assert 'howsure run "my exp.yaml"' in done.stderr


def test_options_ask_nothing_and_the_check_accepts_the_file(tmp_path, capsys):
    path = str(tmp_path / "exp.yaml")
    arguments = ["--benchmark", "directions-small", "--model", "simulated/medium", "--generations", "2"]
    with pytest.raises(SystemExit) as ended:
        main(["init", path, *arguments])
    assert ended.value.code == 0
    with pytest.raises(SystemExit) as ended:
        main(["run", path, "--check", "--format", "json"])
    assert ended.value.code == 0
    rows = json.loads(capsys.readouterr().out.split("\n", 1)[1])
    assert {row["state"] for row in rows} == {"ok"}


def test_a_check_ends_with_1_where_a_run_would_not_start(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "exp.yaml").write_text("{benchmark: directions-small, models: [openai/gpt-4o-mini]}")
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "exp.yaml"), "--check"])
    assert ended.value.code == 1
    assert "1 problem" in capsys.readouterr().out


@pytest.mark.parametrize("answer", ["many", "0", "-3", "2.5"])
def test_generations_that_are_no_number(tmp_path, answer):
    done = howsure("init", "exp.yaml", cwd=tmp_path, stdin=f"\n\n{answer}\n")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()[-1:]) == 1
    assert "whole number" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "exp.yaml").exists()
