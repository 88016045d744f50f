"""What `preview` says of files: set by hand, as a person would describe them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

import howsure as hs
from howsure.api import file_preview
from howsure.cli import cli
from howsure.errors import InputError

NAMED_BY_PATHS = pytest.mark.filterwarnings("ignore:.*are named by their paths:howsure.errors.HowsureWarning")
EXAMPLES = Path(__file__).parents[1] / "logs/examples/promptfoo"


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
    assert "shape models" in result.output
    assert f"howsure score '{path}'" in result.output


def test_the_columns_of_a_wide_table_are_what_they_hold(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("id,gpt-4,llama,remark\nq1,1,0,x\nq2,0,0,y\nq3,1,1,z\nq4,0,1,z\n")
    result = hs.preview(path)
    expected = ["question", "score of a model", "score of a model", "-"]
    assert result["taken_as"].tolist() == expected
    assert result["reason"].tolist()[1:] == ["shape models", "shape models", "drop: by --map"]
    assert "4 rows of a table" in result.lines
    path.write_text("model,q1,q2\na,1,0\nb,1,1\nc,0,0\n")
    result = hs.preview(path, shape="questions")
    assert result["taken_as"].tolist() == ["model", "score of a question", "score of a question"]
    assert result.lines[0] == "3 rows of a table"


def test_the_question_of_a_turn_is_taken_as_the_question(tmp_path):
    """The preview shows the table as the command of its refusal reads it."""
    path = tmp_path / "turns.csv"
    path.write_text("model,id,turn,score\nm,1,1,9\nm,1,2,7\nm,2,1,8\nm,2,2,3\n")
    shown = hs.preview(path)
    assert dict(zip(shown["column"], shown["taken_as"], strict=True)) == {
        "model": "model",
        "id": "question",
        "turn": "question",
        "score": "score",
    }
    assert "4 questions" in str(shown)
    assert "you named it" not in list(shown["reason"])  # nobody named the turn: the refusal proposes it
    named = hs.preview(path, columns={"question": ["id", "turn"]})
    assert list(named["reason"]).count("you named it") == 2


def test_a_file_of_questions_is_to_be_asked_and_an_experiment_to_be_run(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text(
        '{"id": "a", "question": "2 + 2?", "answer": "4"}\n{"id": "b", "question": "3 + 3?", "answer": "6"}\n'
    )
    with pytest.raises(InputError, match="howsure init") as caught:
        hs.preview(path)
    assert (caught.value.code, caught.value.options) == ("no-score", ("init", "--benchmark", str(path)))
    # Where models are named, the answers are theirs.
    path.write_text('{"model": "m", "question": "2 + 2?", "answer": "4"}\n')
    with pytest.raises(InputError, match="howsure rescore") as caught:
        hs.preview(path)
    assert "init" not in str(caught.value)
    experiment = hs.init(tmp_path / "exp.yaml")
    for function in (hs.preview, hs.score):
        with pytest.raises(InputError, match=r"howsure run \S*exp.yaml runs an experiment, .*; then give \S*/exp$"):
            function(experiment)


def test_what_cannot_be_read_is_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,colour\nx,red\n")
    with pytest.raises(InputError, match="no column for"):
        hs.preview(path)


def test_a_table_of_a_folder_that_cannot_be_read_is_left_out_with_a_line(tmp_path):
    """It ended the preview, where score leaves it out; alone in its folder, or named itself, it is an error."""
    (tmp_path / "a.csv").write_text("model,score\nx,.4\ny,.5\n")
    for path in (tmp_path, tmp_path / "a.csv"):
        with pytest.raises(InputError) as caught:
            hs.preview(path)
        assert caught.value.code == "totals"
    (tmp_path / "b.csv").write_text("model,question,score\nx,1,1\ny,1,0\n")
    shown = hs.preview(tmp_path)
    assert "a.csv: left out: each row is the mean of a model" in " ".join(str(shown).split())
    assert "benchmark b: 2 models" in str(shown)


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


@NAMED_BY_PATHS
def test_a_folder_is_described_as_a_whole(tmp_path):
    (tmp_path / "a.csv").write_text("benchmark,model,question,score\nsums,a,1,1\nsums,a,2,0\n")
    (tmp_path / "b.csv").write_text("benchmark,model,question,score\nsums,b,1,1\nsums,b,2,1\n")
    (tmp_path / "other.csv").write_text("benchmark,model,question,score\nother,b,x,1\n")
    shutil.copy(next(EXAMPLES.glob("*.json")), tmp_path / "log.json")
    result = hs.preview(tmp_path)
    assert result.lines[0] == "a folder of 4: 3 tables, 1 log of promptfoo"
    assert "5 rows of 3 tables" in result.lines
    assert f"the columns are those of {tmp_path / 'a.csv'}" in result.lines
    assert any("2 models (a, b), 2 questions (1, 2), 4 scores with mean 0.75" in line for line in result.lines)
    assert any("benchmark other: 1 model (b), 1 question (x), 1 score" in line for line in result.lines)
    assert result.command == f"howsure score {tmp_path}"


@NAMED_BY_PATHS
def test_a_folder_of_completions_is_to_be_rescored_and_one_with_scores_is_scored(tmp_path):
    (tmp_path / "b.csv").write_text("model,question,completion,target\nb,1,12,12\nb,2,3,4\n")
    (tmp_path / "c.csv").write_text("model,question,completion,target\nc,1,12,12\nc,2,3,4\n")
    assert hs.preview(tmp_path).command == f"howsure rescore {tmp_path} -o run --scorer numeric"
    (tmp_path / "a.csv").write_text("model,question,score\na,1,1\na,2,0\n")
    result = hs.preview(tmp_path)
    assert result.command == f"howsure score {tmp_path}"
    assert sum("and no score" in line for line in result.lines) == 2


@NAMED_BY_PATHS
@pytest.mark.parametrize("limit", [4, pytest.param(100, marks=pytest.mark.long)])
def test_of_a_large_folder_the_first_hundred_files_are_read(tmp_path, monkeypatch, limit):
    assert file_preview._N_READ == 100
    monkeypatch.setattr(file_preview, "_N_READ", limit)
    for i in range(limit + 1):
        (tmp_path / f"{i:03}.csv").write_text(f"model,question,score\nm{i:03},1,1\n")
    result = hs.preview(tmp_path)
    n = limit + 1
    assert result.lines[:2] == (f"a folder of {n}: {n} tables", f"the first {limit} were read for what follows")
    assert f"{limit} rows of {limit} tables" in result.lines


@pytest.mark.parametrize(
    ("target", "action"),
    [
        ("18", "--scorer numeric"),
        ("$1,200.50", "--scorer numeric"),
        ("B", "--scorer choice"),
        ("Paris", "--scorer contains"),
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
    assert any("no column names the model: it is called 'gpt'" in line for line in result.lines)
    with pytest.raises(InputError, match="howsure rescore") as caught:
        hs.score(path)
    assert caught.value.code == "no-score"


def test_completions_under_another_name_are_previewed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("system,id,reply,gold\na,1,It is 4.,4\nb,1,It is 5.,4\n")
    result = hs.preview(path, columns={"completion": "reply"}, benchmark="sums")
    assert (
        "benchmark sums: 2 models (a, b), 1 question (1), completions in column 'reply', and no score" in result.lines
    )
    expected = f"howsure rescore {path} -o run --scorer numeric --columns completion=reply --as-benchmark sums"
    assert result.command == expected


def test_names_are_in_the_order_of_their_numbers_and_hashes_are_short(tmp_path):
    path = tmp_path / "t.csv"
    ids = [f"{i:064x}" for i in (11, 2, 163)]
    rows = [f"step-{step},{one},1" for step in (10000, 500, 3000) for one in ids]
    path.write_text("\n".join(["model,id,score", *rows]) + "\n")
    line = next(line for line in hs.preview(path).lines if line.startswith("benchmark"))
    assert "3 models (step-500, step-3000, step-10000)" in line
    assert f"3 questions ({', '.join(['000000000000…'] * 3)})" in line


def test_a_column_prompt_with_a_text_for_each_question_is_its_text(tmp_path):
    """A short text for each of 300 questions: neither a prompt variant nor unused, and what a judge reads."""
    path = tmp_path / "judged.jsonl"
    rows = [
        {"model": m, "question": f"q{i}", "prompt": f"Topic {i}", "completion": "It is 4.", "target": "4"}
        for m in "ab"
        for i in range(300)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    result = hs.preview(path)
    assert dict(zip(result["column"], result["taken_as"], strict=True))["prompt"] == "text"
    hs.rescore(path, "numeric", tmp_path / "run")
    [cube] = hs.read(tmp_path / "run", scorer="numeric").cubes()
    assert len(cube.variants) == 1
    assert "Topic 7" in str(hs.show(tmp_path / "run", question="q7", prompts=True))
    # wordings, which each question has
    rows = [row | {"prompt": wording} for row in rows[:6] for wording in ("short", "long")]
    path.write_text("\n".join(map(json.dumps, rows)))
    result = hs.preview(path)
    assert dict(zip(result["column"], result["taken_as"], strict=True))["prompt"] == "variant"


def test_a_frame_is_no_path():
    with pytest.raises(InputError, match=r"preview: a frame is no path; .* howsure\.read takes frames"):
        hs.preview(pa.table({"model": ["m"], "question": ["q"], "score": [1]}))
