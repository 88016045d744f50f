"""Tables as logs: answers, empty completions, and rows that sum up others. Kind of truth: set by hand."""

from __future__ import annotations

import json

import pytest

import howsure as hs
from howsure.errors import HowsureWarning
from howsure.store.responses import read


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_an_empty_completion_is_wrong_and_a_missing_one_failed(tmp_path):
    rows = [
        {"model": "a", "question": f"q{i}", "completion": text, "target": "4"}
        for i, text in enumerate(["4", "", " \n", None])
    ]
    path = write(tmp_path / "t.jsonl", rows)
    hs.rescore(path, "numeric", tmp_path / "run")
    [cells] = hs.read(tmp_path / "run", scorer="numeric").cells()
    assert (cells.questions, cells.n.tolist(), cells.total.tolist()) == (
        ("q0", "q1", "q2", "q3"),
        [[1, 1, 1, 0]],
        [[1, 0, 0, 0]],
    )
    stored = {row["question"]: (row["status"], row["score"]) for row in read(tmp_path / "run").to_pylist()}
    assert stored == {"q0": ("unscored", None), "q1": ("empty", 0), "q2": ("empty", 0), "q3": ("error", None)}


def test_an_empty_cell_of_a_csv_is_a_missing_completion(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("model,question,completion,target\na,q0,4,4\na,q1,,4\n")
    hs.rescore(path, "numeric", tmp_path / "run")
    assert [row["status"] for row in read(tmp_path / "run").to_pylist()] == ["unscored", "error"]


ANSWERS = [
    {"model": m, "question": q, "variant": v, "pred": answer, "gold": "A", "score": float(answer == "A")}
    for m, q, v, answer in [
        ("a", "q1", "x", "A"),
        ("a", "q1", "y", "A"),
        ("a", "q2", "x", "B"),
        ("a", "q2", "y", "C"),
        ("b", "q1", "x", "A"),
        ("b", "q1", "y", "B"),
        ("b", "q2", "x", "D"),
        ("b", "q2", "y", "D"),
    ]
]


@pytest.mark.parametrize("name", ["pred", "extracted_answer", "answer"])
def test_answers_of_a_table_are_compared_over_its_prompts(tmp_path, name):
    """Each model gives the same answer to one of its two questions under both prompts: a rate of one half."""
    rows = [{name if key == "pred" else key: value for key, value in row.items()} for row in ANSWERS]
    result = hs.variants(write(tmp_path / "t.jsonl", rows), show="order").tables["consistency"]
    assert result["consistency_rate"].tolist() == [0.5, 0.5]
    hs.convert(tmp_path / "t.jsonl", tmp_path / "run")
    result = hs.variants(tmp_path / "run", show="order").tables["consistency"]
    assert result["consistency_rate"].tolist() == [0.5, 0.5]
    assert {row["answer"] for row in read(tmp_path / "run").to_pylist()} == set("ABCD")


def test_a_column_answer_beside_no_target_may_be_the_right_one(tmp_path):
    rows = [
        {"answer" if key == "pred" else key: value for key, value in row.items() if key != "gold"} for row in ANSWERS
    ]
    path = write(tmp_path / "t.jsonl", rows)
    hs.convert(path, tmp_path / "run")
    assert {row["answer"] for row in read(tmp_path / "run").to_pylist()} == {None}
    hs.convert(hs.read(path, columns={"answer": "answer"}), tmp_path / "named")
    assert {row["answer"] for row in read(tmp_path / "named").to_pylist()} == set("ABCD")


def long_table(path, *summaries):
    rows = [("a", "q1", 1), ("a", "q2", 0), ("b", "q1", 1), ("b", "q2", 1), *summaries]
    path.write_text("model,question,score\n" + "".join(f"{m},{q},{s}\n" for m, q, s in rows))
    return path


@pytest.mark.parametrize(
    ("summaries", "message"),
    [
        (
            [("a", "mean", 0.5), ("b", "mean", 1)],
            "the question 'mean' is the mean or the sum of the others and is left out",
        ),
        (
            [("a", "Total", 1), ("b", "Total", 2)],
            "the question 'Total' is the mean or the sum of the others and is left out",
        ),
        (
            [("average", "q1", 1), ("average", "q2", 0.5)],
            "the model 'average' is the mean or the sum of the others and is left out",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*scores in")
@pytest.mark.filterwarnings("ignore:.*the mean or the sum of the others")
def test_rows_that_sum_up_others_are_left_out_and_said(tmp_path, summaries, message):
    path = long_table(tmp_path / "t.csv", *summaries)
    with pytest.warns(HowsureWarning, match=message):
        [cells] = hs.read(path).cells()
    assert (cells.models, cells.questions, cells.total.tolist()) == (("a", "b"), ("q1", "q2"), [[1, 0], [1, 1]])
    with pytest.warns(HowsureWarning, match=message):
        hs.convert(path, tmp_path / "run")
    [converted] = hs.read(tmp_path / "run").cells()
    assert (converted.models, converted.questions) == (cells.models, cells.questions)


def test_a_question_that_is_only_called_so_is_read_and_said(tmp_path):
    path = long_table(tmp_path / "t.csv", ("a", "sum", 1), ("b", "sum", 0))
    with pytest.warns(HowsureWarning, match="a question is called 'sum' and is read as one"):
        [cells] = hs.read(path).cells()
    assert cells.questions == ("q1", "q2", "sum")
