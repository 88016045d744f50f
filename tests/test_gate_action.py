"""The steps of action.yml, run by bash as a workflow runs them, with the inputs as variables."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


def _write(path, broken):
    rows = [f"demo,m,q{q},{k},{int(q >= broken)}" for q in range(200) for k in range(5)]
    path.write_text("\n".join(["benchmark,model,question,generation,score", *rows]) + "\n")


def _run(folder, step, **inputs):
    """Return the exit code, the outputs and the summary of a step with these inputs, the others at their defaults."""
    values = {name: str(about.get("default", "")) for name, about in ACTION["inputs"].items()} | inputs
    environment = dict(os.environ, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    for name, value in step["env"].items():
        key = value.removeprefix("${{ ").removeprefix("inputs.").removesuffix(" }}")
        environment[name] = values[key]
    files = {name: folder / f"{name}.txt" for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for name, path in files.items():
        path.write_text("")
        environment[name] = str(path)
    # As GitHub runs `shell: bash`.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    output = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    return done.returncode, output, files["GITHUB_STEP_SUMMARY"].read_text(), done.stdout + done.stderr


@pytest.fixture
def gate(tmp_path):
    (step,) = [step for step in ACTION["runs"]["steps"] if step.get("id") == "gate"]
    for name, broken in (("base", 0), ("same", 0), ("worse", 1), ("with space", 0)):
        _write(tmp_path / f"{name}.csv", broken)
    return lambda **inputs: _run(tmp_path, step, **inputs)


@pytest.mark.parametrize(
    ("inputs", "code", "verdict"),
    [
        ({"candidate": "worse.csv"}, 1, "fail"),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                ({"candidate": "same.csv"}, 0, "pass"),
                ({"candidate": "same.csv", "margin": "0"}, 3, "inconclusive"),
                ({"candidate": "same.csv", "margin": "0", "inconclusive": "pass"}, 0, "inconclusive"),
                ({"candidate": "with space.csv"}, 0, "pass"),
                ({"candidate": "worse.csv", "options": "--alpha 0.1 --claim new-questions"}, 1, "fail"),
            )
        ),
    ],
)
def test_the_step_exits_and_outputs_as_the_verdict_says(gate, tmp_path, inputs, code, verdict):
    exit_code, output, summary, text = gate(baseline="base.csv", **inputs)
    assert (exit_code, output) == (code, {"verdict": verdict}), text
    assert f"howsure gate: {verdict}" in summary
    assert (tmp_path / "howsure-gate.md").read_text() == summary
    assert (tmp_path / "howsure-gate.xml").stat().st_size > 0


def test_what_cannot_be_read_is_an_error_and_no_old_verdict(gate, tmp_path):
    assert gate(baseline="base.csv", candidate="same.csv")[0] == 0
    code, output, summary, text = gate(baseline="base.csv", candidate="absent.csv")
    assert (code, output, summary) == (2, {"verdict": "error"}, "")
    assert "absent.csv" in text
    assert not [*tmp_path.glob("howsure-gate.*")]  # a later step would publish the passing JUnit file


def test_text_of_an_input_is_not_run(gate, tmp_path):
    gate(baseline="base.csv", candidate="$(touch ran) `touch ran`; touch ran", options="$(touch ran) *")
    assert not (tmp_path / "ran").exists()


def test_the_action_installs_its_own_checkout():
    """No index has the package."""
    (step,) = [step for step in ACTION["runs"]["steps"] if "INSTALL" in step.get("env", {})]
    assert step["working-directory"] == "${{ github.action_path }}"
    assert ACTION["inputs"]["install"]["default"] == "."


@pytest.mark.long
def test_a_baseline_with_a_space_is_quoted(gate):
    """Several baselines are separated by spaces, so a path with a space stands in a line of its own."""
    code, output, _, text = gate(baseline="with space.csv\n", candidate="same.csv")
    assert (code, output) == (0, {"verdict": "pass"}), text


def test_the_installation_is_one_argument(tmp_path):
    (step,) = [step for step in ACTION["runs"]["steps"] if "INSTALL" in step.get("env", {})]
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\nprintf "%s|" "$@" > arguments\n')
    program.chmod(0o755)
    environment = dict(os.environ, INSTALL="howsure; touch ran", PATH=f"{tmp_path}:{os.environ['PATH']}")
    subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "arguments").read_text().split("|")[-2] == "howsure; touch ran"
    assert not (tmp_path / "ran").exists()


def test_another_version_of_the_experiment_or_its_questions_needs_another_baseline(tmp_path):
    """The key of the cache in the workflow: that of a commit, as both of its jobs compute it with bash -e."""
    jobs = yaml.safe_load((ROOT / "examples/workflows/gate.yml").read_text())["jobs"]
    scripts = {step["run"] for job in jobs.values() for step in job["steps"] if step.get("id") == "version"}
    assert len(scripts) == 1 < len(jobs)
    script = scripts.pop()
    settings = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "commit.gpgsign=false",
    ]

    def git(*arguments: str) -> str:
        command = ["git", *settings, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()

    def find_key(files: str) -> str | None:
        """Return the key of what was committed last; None where the step fails."""
        output = tmp_path / "output.txt"
        output.write_text("")
        environment = {**os.environ, "BASE": git("rev-parse", "HEAD"), "FILES": files, "GITHUB_OUTPUT": str(output)}
        done = subprocess.run(
            ["bash", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=False
        )
        return output.read_text() if done.returncode == 0 else None

    git("init", "-q")
    git("remote", "add", "origin", str(tmp_path))
    keys = []
    for experiment, questions in (("a", "1"), ("a", "2"), ("b", "2"), ("a", "1")):
        (tmp_path / "evaluation.yaml").write_text(experiment)
        (tmp_path / "questions.jsonl").write_text(questions)
        git("add", "evaluation.yaml", "questions.jsonl")
        git("commit", "-q", "-m", "another version")
        keys.append(find_key("evaluation.yaml questions.jsonl"))
    assert None not in keys
    assert keys[3] == keys[0]
    assert len(set(keys)) == 3
    assert find_key("evaluation.yaml") not in {*keys, None}
    assert find_key("evaluation.yaml missing.jsonl") is None


def test_the_text_becomes_a_comment_of_the_pull_request(gate, tmp_path):
    """`gh` writes what it is given to a file; without the text of the gate it is not called."""
    step = next(step for step in ACTION["runs"]["steps"] if "gh pr comment" in step["run"])
    assert "inputs.comment != ''" in step["if"]
    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text('#!/bin/sh\nprintf "%s\\n" "$GH_TOKEN" "$@" > called\n')
    gh.chmod(0o755)
    where = {"comment": "secret", "github.event.pull_request.html_url": "https://example.com/pull/7"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{gh.parent}:{os.environ['PATH']}")
        assert _run(tmp_path, step, **where)[0] == 0
        assert not (tmp_path / "called").exists()
        gate(baseline="base.csv", candidate="worse.csv")
        assert _run(tmp_path, step, **where)[0] == 0
    token, *arguments = (tmp_path / "called").read_text().splitlines()
    assert token == "secret"
    assert arguments[:3] == ["pr", "comment", "https://example.com/pull/7"]
    assert arguments[-1] == "howsure-gate.md"
