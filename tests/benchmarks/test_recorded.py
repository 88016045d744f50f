"""Recorded results as a benchmark: what is read from a table, and what is refused. Kind of truth: tables by hand."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from howsure.benchmarks import load
from howsure.benchmarks.recorded import RecordedBenchmark, extract_score
from howsure.errors import InputError, UnknownNameError

ROWS = """question,model,score,text
q1,a,1,What is 1+1?
q1,a,0,What is 1+1?
q1,a,1,
q2,a,true,What is 2+2?
q1,b,0.25,What is 1+1?
q3,b,,What is 3+3?
"""


def write(tmp_path, text, name="t.csv"):
    (tmp_path / name).write_text(text)
    return {"replay": name}


def test_generations_are_counted(tmp_path):
    found = load(write(tmp_path, ROWS), base=tmp_path)
    assert isinstance(found, RecordedBenchmark)
    assert found.name == "t"
    assert [(q.id, q.text) for q in found.questions] == [
        ("q1", "What is 1+1?"),
        ("q2", "What is 2+2?"),
        ("q3", "What is 3+3?"),
    ]
    assert found.outcomes["a"]["q1"].scores == (0.0, 1.0)
    assert found.outcomes["a"]["q1"].cumulative == pytest.approx((1 / 3, 1))
    assert found.outcomes["a"]["q1"].mean == pytest.approx(2 / 3)
    assert found.outcomes["b"]["q1"].mean == 0.25
    assert set(found.outcomes["b"]) == {"q1"}
    assert found.source["kind"] == "replay"
    assert len(found.source["sha256"]) == 64


def test_questions_that_all_of_some_models_have(tmp_path):
    spec = write(tmp_path, ROWS)
    assert [q.id for q in load(spec | {"models": ["replay/a", "b"]}, base=tmp_path).questions] == ["q1"]
    with pytest.raises(UnknownNameError, match=r"t\.csv: unknown model 'c'; known: a, b"):
        load(spec | {"models": ["c"]}, base=tmp_path)
    with pytest.raises(InputError, match="no question is left"):
        load(write(tmp_path, ROWS + "q4,c,1,x\n") | {"models": ["a", "c"]}, base=tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "question,model,attempts,right\nq,a,4,1\nq,a,4,3\nq,b,8,0\n",
        "example_id,model,pass1,count,correct\nq,a,.25,4,1\nq,a,.75,4,3\nq,b,0,8,0\n",
        "id,model_name,n,num_correct\nq,a,2,1\nq,b,3,0\n",
        "id,model_name,n,mean\nq,a,2,.5\nq,b,3,0\n",
    ],
)
def test_rates_are_drawn_as_0_or_1(tmp_path, text):
    found = load(write(tmp_path, text), base=tmp_path)
    assert found.outcomes["a"]["q"] == ((0.0, 1.0), (0.5, 1.0))
    assert found.outcomes["b"]["q"] == ((0.0,), (1.0,))


def test_other_formats_and_columns(tmp_path):
    pq.write_table(
        pa.table({"question": [1, 2], "model": ["a", "a"], "score": [0.5, math.nan]}), tmp_path / "t.parquet"
    )
    found = load({"replay": "t.parquet"}, base=tmp_path)
    assert found.outcomes == {"a": {"1": ((0.5,), (1.0,))}}
    spec = write(tmp_path, "id,model,n,correct\nq,a,5,2\n") | {"columns": {"right": "correct", "total": "n"}}
    assert load(spec, base=tmp_path).outcomes["a"]["q"].mean == pytest.approx(0.4)
    spec = write(tmp_path, '{"Task": "q", "who": "a", "acc": 1, "pass1": 0.5}\n', "t.jsonl")
    spec |= {"columns": {"question": "task", "model": "who", "score": "acc"}, "name": "mine"}
    found = load(spec, base=tmp_path)
    assert (found.name, found.outcomes["a"]["q"].scores) == ("mine", (1.0,))


def test_one_of_several_benchmarks(tmp_path):
    spec = write(tmp_path, "benchmark,question,model,score\nx,q,a,1\ny,r,a,0\n")
    with pytest.raises(InputError, match=r"t\.csv: several benchmarks: x, y; name one: {replay"):
        load(spec, base=tmp_path)
    found = load(spec | {"benchmark": "y"}, base=tmp_path)
    assert (found.name, [q.id for q in found.questions]) == ("y", ["r"])
    with pytest.raises(UnknownNameError, match=r"unknown benchmark 'z'"):
        load(spec | {"benchmark": "z"}, base=tmp_path)
    assert load(write(tmp_path, "benchmark,question,model,score\nx,q,a,1\n"), base=tmp_path).name == "x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question,score\nq,1\n", r"t\.csv: no column for the model"),
        ("question,model,n\nq,a,1\n", "no column for the score"),
        ("question,model,score\n,a,1\n", "the question is empty"),
        ("question,model,score\nq,a,good\n", "'good' is not a score"),
        ("question,model,score\nq,a,inf\n", "'inf' is not a score"),
        ("question,model,attempts,right\nq,a,2,3\n", "no number of right answers"),
        ("question,model,attempts,right\nq,a,-2,-1\n", "no number of right answers"),
        ("question,model,attempts,right\nq,a,5,3.7\n", "no number of right answers"),
        ("question,model,n,correct\nq,a,5,1\nr,a,5,0\n", "0 or 1 everywhere beside 'n'"),
        ("question,model,score\n", "no rows|no question is left"),
    ],
)
def test_tables_that_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        load(write(tmp_path, text), base=tmp_path)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"replay": "none.csv"}, "no such file"),
        ({"replay": 3}, "replay is 3; give the path"),
        ({"replay": "t.xlsx"}, "the file is empty"),
        ({"replay": "t.csv", "model": "a"}, "unknown key 'model'; did you mean 'models'"),
        ({"replay": "t.csv", "models": "a"}, "models is 'a'; list the names"),
        ({"replay": "t.csv", "columns": ["a"]}, r"columns is \['a'\]; write"),
        ({"replay": "t.csv", "columns": {"points": "score"}}, "unknown column 'points'"),
        ({"replay": "t.csv", "columns": {"score": "points"}}, "unknown column 'points'"),
    ],
)
def test_specs_that_are_refused(tmp_path, spec, message):
    write(tmp_path, ROWS)
    write(tmp_path, "", "t.xlsx")
    with pytest.raises(InputError, match=message):
        load(spec, base=tmp_path)


def test_a_completion_is_a_number(tmp_path):
    found = load(write(tmp_path, ROWS), base=tmp_path)
    assert [extract_score(text) for text in ("1", " -0.5\n", "nan", "inf", "", "1 or 2")] == ["1.0", "-0.5"] + [
        None
    ] * 4
    assert found.grade(found.extract("0.25"), "1.0") == 0.25
    right = found.questions[0]
    assert found.extract(right.target) == right.target
    assert [found.grade(answer, right.target) for answer in (right.target, *right.alternatives)] == [1.0, 0.0]


def test_columns_have_the_names_that_they_have_in_every_table(tmp_path):
    spec = write(tmp_path, "original_row_index,model_id,is_correct\n7,a,true\n")
    assert load(spec, base=tmp_path).outcomes["a"]["7"].scores == (1.0,)
