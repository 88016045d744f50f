"""The table of right answers that reviewers gave. Kind of truth: hand-written verdicts, and the table that was meant."""

import csv
import json

import pytest

import howsure as hs
from howsure.errors import InputError
from howsure.review.corrections import write_corrections
from howsure.review.queue import RunTexts
from howsure.review.verdicts import Verdict, append, moment


@pytest.fixture
def run(tmp_path):
    rows = [
        {"id": f"q{i}", "question": f"Which is {i}?", "choices": ["=1+1", "two", "three"], "answer": "B"}
        for i in range(6)
    ]
    (tmp_path / "exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = "id: id, question: question, choices: choices, target: answer"
    (tmp_path / "exp.yaml").write_text(
        f"{{benchmark: {{file: exam.jsonl, {fields}}}, models: [simulated/medium], generations: 1}}"
    )
    hs.run(tmp_path / "exp.yaml")
    return tmp_path / "exp"


def review(run, *verdicts):
    views = {one.question: one for one in RunTexts([run]).questions()}
    for question, verdict, answer, reviewer in verdicts:
        about = {"benchmark": views[question].benchmark, "question": question, "key": views[question].key}
        one = Verdict(**about, verdict=verdict, answer=answer, reviewer=reviewer, when=moment(0))
        append(run.parent / "v.jsonl", one)


def test_each_question_that_is_not_fine_has_a_row(run, tmp_path):
    review(
        run,
        ("q0", "fine", "", "ada"),
        ("q1", "mislabeled", "A", "ada"),
        ("q2", "ambiguous", "", "ada"),
        ("q3", "mislabeled", "C", "ada"),
        ("q3", "fine", "", "bob"),
    )
    assert write_corrections(run, tmp_path / "v.jsonl", tmp_path / "new.csv") == {
        "corrected": 1,
        "rejected": 1,
        "disputed": 1,
    }
    with (tmp_path / "new.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["benchmark", "question", "decision", "target", "right_answer"],
        ["exam", "q1", "corrected", "two", "'=1+1"],  # no formula for a spreadsheet
        ["exam", "q2", "rejected", "two", ""],
        ["exam", "q3", "disputed", "two", ""],
    ]


def test_what_cannot_be_written(run, tmp_path):
    (tmp_path / "v.jsonl").write_text("")
    with pytest.raises(InputError, match=r"no verdict in .*v\.jsonl is on a question here"):
        write_corrections(run, tmp_path / "v.jsonl", tmp_path / "new.csv")
    (tmp_path / "new.csv").touch()
    with pytest.raises(InputError, match=r"new\.csv: the file exists already"):
        write_corrections(run, tmp_path / "v.jsonl", tmp_path / "new.csv")
