"""`howsure run --model M --benchmark B` writes the file that it runs. Kind of truth: the file, run again."""

import json

import pytest


def ask(howsure, *arguments):
    code, out, err = howsure("run", *arguments, "--format", "json")
    return code, json.loads(out) if code == 0 else out, err


def test_the_written_file_is_the_experiment_that_ran(howsure, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--model", "simulated/small", "--benchmark", "directions-small", "-n", "2")
    code, rows, err = ask(howsure, *options, "-o", "out/first")
    assert code == 0
    assert "wrote out/first.yaml" in err.replace("\\", "/")
    assert [(row["model"], row["n_generations"]) for row in rows] == [("simulated/small", 200)]
    assert ask(howsure, "out/first.yaml", "-o", "again")[:2] == (0, rows)
    written = (tmp_path / "out/first.yaml").read_bytes()
    code, out, err = ask(howsure, *options, "-o", "out/first")
    assert (code, out) == (2, "")
    assert "exists already; howsure run" in err
    assert (tmp_path / "out/first.yaml").read_bytes() == written
    assert howsure("run", *options, "--dry-run")[0] == 0
    assert "simulated/small" in (tmp_path / "exp.yaml").read_text()


WRONG = {
    "nothing": ([], "run: nothing says what to run; give a file, or --model NAME and --benchmark NAME"),
    "no benchmark": (["--model", "simulated/small"], "nothing says what to run"),
    "beside a file": (["e.yaml", "-n", "3"], "e.yaml: --model, --benchmark or --generations beside a file"),
    "unknown benchmark": (["--model", "simulated/small", "--benchmark", "gsm9k"], "gsm9k"),
    "no endpoint": (["--model", "llama", "--benchmark", "directions-small"], "howsure init --base-url"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_run_is_refused_and_nothing_is_written(howsure, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    arguments, message = WRONG[case]
    code, out, err = howsure("run", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert list(tmp_path.iterdir()) == []
