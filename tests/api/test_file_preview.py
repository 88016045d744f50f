"""What `preview` says of files: set by hand, as a person would describe them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import howsure as hs
from howsure.cli import cli
from howsure.errors import InputError

EXAMPLES = Path(__file__).parents[1] / "readers/logs/examples/promptfoo"


def test_each_column_is_taken_for_something_or_not_used(tmp_path):
    path = tmp_path / "t.jsonl"
    rows = [{"task_id": i, "llm": "m", "metrics": {"acc": i % 2}, "tokens": 7} for i in range(4)]
    path.write_text("\n".join(map(json.dumps, rows)))
    result = hs.preview(path)
    assert dict(zip(result["column"], result["taken_as"], strict=True)) == {
        "task_id": "question",
        "llm": "model",
        "metrics": "score",
        "tokens": "-",
    }
    text = str(result)
    assert "benchmark t: 1 model (m), 4 questions (0, 1, 2, 3), 4 scores with mean 0.5" in text
    assert text.endswith(f"howsure score {path}")


def test_the_command_line_prints_it(tmp_path):
    path = tmp_path / "wide table.csv"
    path.write_text("id,a,b\n1,1,0\n2,1,1\n")
    result = CliRunner().invoke(cli, ["preview", str(path)])
    assert result.exit_code == 0
    assert "2 models (a, b), 2 questions (1, 2), 4 scores with mean 0.75" in " ".join(result.output.split())
    assert "a column per model" in result.output
    assert f"howsure score '{path}'" in result.output


def test_what_cannot_be_read_is_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,colour\nx,red\n")
    with pytest.raises(InputError, match="no column for"):
        hs.preview(path)


def test_run_folders_and_logs_are_described_in_a_few_lines(tmp_path):
    (tmp_path / "t.csv").write_text("model,question,score\na,1,1\na,2,0\nb,1,1\nb,2,1\n")
    hs.convert(tmp_path / "t.csv", tmp_path / "run")
    result = hs.preview(tmp_path / "run")
    assert result.taken_as == ()
    assert result.lines == ("a run folder", "benchmark t: 2 models (a, b), 2 questions (1, 2), 4 scores with mean 0.75")
    assert result.command == f"howsure score {tmp_path / 'run'}"
    result = hs.preview(next(EXAMPLES.glob("*.json")))
    assert result.lines[0].startswith("a log of ")
    assert any(line.startswith("benchmark ") for line in result.lines)


@pytest.mark.parametrize(
    ("target", "action"),
    [
        ("18", "--scorer numeric"),
        ("$1,200.50", "--scorer numeric"),
        ("B", "--scorer choice"),
        ("Paris", "--scorer normalised"),
        (None, "--judge judge.yaml"),
    ],
)
def test_completions_without_scores_are_to_be_rescored(tmp_path, target, action):
    path = tmp_path / "gpt.jsonl"
    rows = [{"id": f"q{i}", "completion": "So it is.", **({"target": target} if target else {})} for i in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)))
    result = hs.preview(path)
    taken = dict(zip(result["column"], result["taken_as"], strict=True))
    assert taken == {"id": "question", "completion": "completion", **({"target": "target"} if target else {})}
    assert result.command == f"howsure rescore {path} -o run {action}"
    what = "benchmark gpt: 1 model (gpt), 3 questions (q0, q1, q2), completions in column 'completion', and no score"
    assert what in result.lines
    assert any("no column for the target" in line for line in result.lines) == (target is None)
    assert any("it is called 'gpt', after its file or folder" in line for line in result.lines)
    with pytest.raises(InputError, match="howsure rescore scores the completions in 'completion'; if there are scores"):
        hs.score(path)


def test_completions_under_another_name_are_previewed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("system,id,reply,gold\na,1,It is 4.,4\nb,1,It is 5.,4\n")
    result = hs.preview(path, columns={"completion": "reply"}, benchmark="sums")
    assert (
        "benchmark sums: 2 models (a, b), 1 question (1), completions in column 'reply', and no score" in result.lines
    )
    expected = f"howsure rescore {path} -o run --scorer numeric --columns completion=reply --benchmark sums"
    assert result.command == expected
