"""Scores that are words, percent or marks of a failed judge, and columns of other programs: values set by hand."""

from __future__ import annotations

import json
import warnings

import pytest

import howsure as hs
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.rows.score_values import match_words


def write(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def column(values):
    return "model,question,score\n" + "".join(f"a,q{i},{value}\n" for i, value in enumerate(values))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["pass", "FAIL", " Passed "], [1, 0, 1]),
        (["yes", "no", "Y"], [1, 0, 1]),
        (["C", "I", "P"], [1, 0, 0.5]),
        (["correct", "incorrect", "incorrect"], [1, 0, 0]),
        (["pass", "error", "fail"], [1, None, 0]),
        (["T", "F", "F"], [1, 0, 0]),
        (["✅", "❌", "❌"], [1, 0, 0]),
        (["true", "no", "1"], [1, 0, 1]),
        (["correct", "FALSE", "0"], [1, 0, 0]),
        (["1", "ERROR", "0"], [1, None, 0]),
    ],
)
def test_words_are_read_and_said(tmp_path, values, expected):
    with pytest.warns(HowsureWarning, match="words are read as scores"):
        [cells] = hs.read(write(tmp_path, column(values)))
    assert [total if n else None for total, n in zip(cells.total[0], cells.n[0], strict=True)] == expected


@pytest.mark.parametrize("missing", ["NA", "null", "None", "n/a", "#N/A", "", "nan", "-"])
def test_texts_for_a_missing_value(tmp_path, missing):
    [cells] = hs.read(write(tmp_path, column(["1", missing, "0"])))
    assert cells.n.tolist() == [[1, 0, 1]]
    assert cells.failed.tolist() == [[0, 1, 0]]


def test_letter_grades_are_no_scores(tmp_path):
    assert match_words(["A", "B", "C", "D"]) is None
    with pytest.raises(InputError, match="is not a score, which is a finite number"):
        list(hs.read(write(tmp_path, column(["A", "B", "C", "D"]))))


def test_percent_is_divided_once_and_said(tmp_path):
    path = write(tmp_path, column([0, 100, 57.5]))
    with pytest.warns(HowsureWarning, match="read as percent: divided by 100"):
        [cells] = hs.read(path)
    assert cells.total.tolist() == [[0, 1, 0.575]]


@pytest.mark.parametrize("form", ["file", "lazy frame"])
@pytest.mark.parametrize(
    ("values", "expected", "line"),
    [
        ([0, 100, 50], [0, 1, 0.5], "percent: scores are from 0 to 100"),
        ([3, 5, 4], [3, 5, 4], "percent: scores are from 3 to 5"),
    ],
)
def test_the_scale_of_one_benchmark_changes_no_score_of_another(tmp_path, form, values, expected, line):
    """By hand: the other benchmark has the scores 1, 0 and 1; divided by 100 they were .01 and 0."""
    polars = pytest.importorskip("polars")
    rows = [("units", 1), ("units", 0), ("units", 1), *(("percent", value) for value in values)]
    columns = {"benchmark": [name for name, _ in rows], "model": ["a"] * 6, "question": [f"q{i % 3}" for i in range(6)]}
    frame = polars.DataFrame({**columns, "score": [float(value) for _, value in rows]})
    frame.write_csv(tmp_path / "t.csv")
    with pytest.warns(HowsureWarning, match=line):
        cells = hs.read(tmp_path / "t.csv" if form == "file" else frame.lazy()).cells()
    assert {one.benchmark: one.total.tolist() for one in cells} == {"units": [[1, 0, 1]], "percent": [expected]}


def test_many_benchmarks_of_another_scale_are_counted(tmp_path):
    rows = [f"b{i},a,q,{score}\nb{i},a,r,0" for i, score in enumerate([1, *[50] * 7])]
    path = write(tmp_path, "\n".join(["benchmark,model,question,score", *rows]) + "\n")
    with pytest.warns(HowsureWarning, match="t.csv: 7 benchmarks: scores are from 0 to 50, such as 50"):
        cells = hs.read(path).cells()
    assert [one.total[0, 0] for one in cells] == [1, *[0.5] * 7]


@pytest.mark.parametrize(("unit", "scale"), [(1, 1), (100, 100)])
@pytest.mark.parametrize("name", ["TOTAL", "Sum"])
def test_the_sum_of_all_questions_does_not_choose_the_unit(tmp_path, unit, scale, name):
    """Written by hand: 12 right of 20; the sum 12 would make the others hundredths."""
    values = [unit] * 12 + [0] * 8
    path = tmp_path / "t.csv"
    rows = [f"m,q{i:02},{value}" for i, value in enumerate(values)]
    path.write_text("\n".join(["model,question,score", *rows, f"m,{name},{12 * unit}"]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        [cells] = hs.read(path)
    assert any(f"the question '{name}' sums up the others" in str(warning.message) for warning in caught)
    assert cells.total.tolist() == [[value / scale for value in values]]


def test_a_score_of_the_whole_in_percent_is_divided(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("model,question,score\na,overall,57.5\nb,overall,60\n")
    with pytest.warns(HowsureWarning, match="read as percent: divided by 100"):
        [cells] = hs.read(path)
    assert cells.total.tolist() == [[0.575], [0.6]]


def test_minus_one_beside_ratings_is_a_judge_that_failed(tmp_path):
    with pytest.warns(HowsureWarning, match="1 score of -1 is missing, because -1 marks a judge that failed"):
        [cells] = hs.read(write(tmp_path, column([7, -1, 9])))
    assert cells.n.tolist() == [[1, 0, 1]]
    with pytest.warns(HowsureWarning, match="scores are from -1 to 1.*if -1 marks a judge that failed"):
        [cells] = hs.read(write(tmp_path, column([1, -1, 0])))
    assert cells.total.tolist() == [[1, -1, 0]]


LONG = "id,model,metric,score\n" + "".join(
    f"q{i},{model},{metric},{value}\n"
    for i in (1, 2)
    for model, accuracy, safety in (("baseline", 0, i % 2), ("candidate", 1, 1))
    for metric, value in (("safety", safety), ("accuracy", accuracy))
)


def test_a_column_of_metrics_is_the_scorer_and_no_generation(tmp_path):
    path = write(tmp_path, LONG)
    with pytest.warns(HowsureWarning, match="2 scorers in column 'metric': accuracy is read.*safety"):
        cells = list(hs.read(path))
    result = hs.score(cells)
    assert dict(zip(result["model"], result["score"], strict=True)) == {"baseline": 0, "candidate": 1}
    assert result["n_generations"].tolist() == [2, 2]
    result = hs.score(hs.read(path, scorer="safety"))
    assert dict(zip(result["model"], result["score"], strict=True)) == {"baseline": 0.5, "candidate": 1}
    with pytest.raises(UnknownNameError, match="unknown scorer 'saftey'; did you mean 'safety'"):
        list(hs.read(path, scorer="saftey"))


def test_a_scorer_may_be_a_column(tmp_path):
    path = write(tmp_path, "model,question,score,f1\na,1,1,0.5\na,2,0,0.25\n")
    [cells] = hs.read(path, scorer="F1")
    assert cells.total.tolist() == [[0.5, 0.25]]


def test_two_turns_are_questions_in_one_cluster(tmp_path):
    rows = [{"question_id": q, "model": "a", "turn": t, "score": q + t} for q in (1, 2, 3) for t in (1, 2)]
    path = write(tmp_path, "\n".join(map(json.dumps, rows)), "t.jsonl")
    with pytest.warns(HowsureWarning) as caught:
        [cells] = hs.read(path)
    assert any("each turn is a question of its own" in str(one.message) for one in caught)
    assert cells.n.tolist() == [[1] * 6]
    assert len(set(cells.clusters)) == 3


def test_a_count_without_a_mean_is_no_count_of_generations(tmp_path):
    [cells] = hs.read(write(tmp_path, "model,question,score,count\na,1,1,512\na,2,0,77\n"))
    assert cells.n.tolist() == [[1, 1]]


def test_lists_of_scores_are_generations(tmp_path):
    rows = [{"model": "a", "question": q, "score": [1, 0, q]} for q in (0, 1)]
    [cells] = hs.read(write(tmp_path, "\n".join(map(json.dumps, rows)), "t.jsonl"))
    assert cells.n.tolist() == [[3, 3]]
    assert cells.total.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    "row",
    [
        {"task_id": 1, "Model Name": "m", "passed": True},
        {"problem_id": 1, "model-id": "m", "reward": 1.0},
        {"instance_id": 1, "modelName": "m", "accuracy": 1},
        {"doc_id": 1, "llm": "m", "score_binarized": 1, "run_id": "x"},
        {"doc": {"id": 1}, "meta": {"model": "m"}, "metrics": {"acc": 1}},
        {"Prompt ID": 1, "model": "m", "score": {"value": 1}},
        {"example": {"id": 1}, "model": {"name": "m"}, "is correct": "true"},
    ],
)
def test_names_of_other_programs(tmp_path, row):
    [cells] = hs.read(write(tmp_path, json.dumps(row) + "\n", "t.jsonl"))
    assert (cells.models, cells.questions, cells.total.tolist()) == (("m",), ("1",), [[1]])


def test_a_row_that_is_wrong_is_named_by_its_line(tmp_path):
    text = 'model,question,score\na,"one\ntwo",1\n\na,3,much\n'
    with pytest.raises(InputError, match=r"t.csv, line 5, column 'score': 'much'"):
        list(hs.read(write(tmp_path, text)))


def test_names_with_blanks_around_them_are_one(tmp_path):
    [cells] = hs.read(write(tmp_path, "model, question, score\na, q1, 1\na , q2, 0\n"))
    assert (cells.models, cells.questions) == (("a",), ("q1", "q2"))


def test_zeros_of_rows_with_an_error_are_named(tmp_path):
    rows = "model,id,score,error\na,1,1,\na,2,0,TimeoutError\na,3,0,\na,4,0,None\n"
    with pytest.warns(HowsureWarning, match="1 row has a text in column 'error' and a score of 0"):
        [cells] = hs.read(write(tmp_path, rows))
    assert cells.total.tolist() == [[1, 0, 0, 0]]


@pytest.mark.parametrize("rows", ["a,1,1,low\na,2,0,low\n", "a,1,1,\na,2,0,\n"])
def test_columns_of_errors_beside_right_answers_and_empty_ones_are_not(tmp_path, rows, recwarn):
    hs.read(write(tmp_path, f"model,id,score,error\n{rows}")).cells()
    assert not recwarn.list


def test_means_of_tasks_may_be_no_scores_of_questions(tmp_path):
    with pytest.warns(HowsureWarning, match="column 'task' is read as the questions; if its 2 values are benchmarks"):
        hs.read(write(tmp_path, "task,model,accuracy\ngsm,a,.5\nmmlu,a,.7\n")).cells()
