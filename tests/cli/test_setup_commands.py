"""`howsure init`, `run --check` and completion as a user types them. Kind of truth: written by hand, and bash itself."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from howsure.cli import cli, main
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


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_options(tmp_path):
    """bash evaluates the printed lines, and its own completion of two command lines is read back."""
    program = tmp_path / "howsure"
    program.write_text(f"#!{sys.executable}\nfrom howsure.cli import main\n\nmain()\n")
    program.chmod(0o755)
    script = """
eval "$(_HOWSURE_COMPLETE=bash_source howsure)"
COMP_WORDS=(howsure sco); COMP_CWORD=1; _howsure_completion howsure; echo "${COMPREPLY[@]}"
COMPREPLY=(); COMP_WORDS=(howsure score --lev); COMP_CWORD=2; _howsure_completion howsure; echo "${COMPREPLY[@]}"
"""
    environ = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["score", "--level"]


@pytest.mark.parametrize(
    ("words", "beginning", "names"),
    [
        (["compare", "t.csv", "--a"], "", ["big model", "small"]),
        (["report", "t.csv", "--reference"], "s", ["small"]),
        (["score", "t.csv", "--columns", "score=ok?", "--benchmark"], "", ["sums"]),
        (["compare", "absent.csv", "--a"], "", []),
        (["score", "t.csv", "--columns"], "qu", ["question="]),
        (["explain"], "se_d", ["se_data", "se_difference"]),
        (["explain"], "data n", ["data noise"]),
    ],
)
def test_names_of_the_results_and_of_columns_are_completed(tmp_path, monkeypatch, words, beginning, names):
    monkeypatch.chdir(tmp_path)
    rows = ["benchmark,model,question,ok?", "sums,big model,1,1", "sums,small,1,0"]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    if "--columns" not in words and words[0] != "explain":
        (tmp_path / "t.csv").write_text("\n".join(rows).replace("ok?", "score"))
    complete = ShellComplete(cli, {}, "howsure", "_HOWSURE_COMPLETE")
    assert [item.value for item in complete.get_completions(words, beginning)] == names
