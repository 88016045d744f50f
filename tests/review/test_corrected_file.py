"""The file of a benchmark with right answers: by hand, and read back as the benchmark that was meant."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import howsure as hs
from howsure.benchmarks.question_file import from_file
from howsure.errors import InputError
from howsure.review.corrected_file import write_corrected_file
from howsure.review.queue import RunTexts
from howsure.review.verdicts import Verdict, append, moment


@pytest.fixture
def review(tmp_path):
    """Return a function that runs a benchmark of a file, and stores verdicts on its questions."""

    def write(name, content, fields, *verdicts):
        if name.endswith(".parquet"):
            pq.write_table(content, tmp_path / name)
        else:
            (tmp_path / name).write_text(content, newline="")
        spec = {"file": name, **fields}
        experiment = {"benchmark": spec, "models": ["simulated/medium"], "generations": 1}
        (tmp_path / "exp.yaml").write_text(yaml.safe_dump(experiment))
        hs.run(tmp_path / "exp.yaml")
        views = {one.question: one for one in RunTexts([tmp_path / "exp"]).questions()}
        for question, verdict, answer, reviewer in verdicts:
            view = views[question]
            letter = chr(ord("A") + view.choices.index(answer)) if view.choices and answer else answer
            about = {"benchmark": view.benchmark, "question": question, "key": view.key, "verdict": verdict}
            append(tmp_path / "v.jsonl", Verdict(**about, answer=letter, reviewer=reviewer, when=moment(0)))
        output = tmp_path / f"new{(tmp_path / name).suffix}"
        result = write_corrected_file(tmp_path / "exp", tmp_path / "v.jsonl", output)
        return result, output, from_file({**spec, "file": output.name}, base=tmp_path)

    return write


def test_a_table_keeps_its_form_and_loses_questions_without_a_right_answer(review):
    rows = [f'q{i};"What is {i} + {i}; really?";{2 * i + (i == 3)}' for i in range(8)]
    result, output, _ = review(
        "sums.csv",
        "\r\n".join(["id;Frage;Antwort", *rows, ""]),
        {"question": "Frage", "target": "Antwort", "id": "id", "scorer": "numeric"},
        ("q3", "mislabeled", "6", "ada"),
        ("q4", "ambiguous", "", "ada"),
        ("q5", "mislabeled", "1", "ada"),
        ("q5", "mislabeled", "2", "bob"),
        ("q6", "mislabeled", "7", "ada"),
        ("q6", "fine", "", "bob"),
    )
    expected = ["id;Frage;Antwort", *rows[:3], 'q3;"What is 3 + 3; really?";6', *rows[6:], ""]
    assert output.read_bytes().decode() == "\r\n".join(expected)
    assert (result.corrected, result.left_out, result.disputed) == (("q3",), ("q4", "q5"), ("q6",))
    assert (result.n_questions, result.n_other_answers) == (8, 1)
    text = "\n".join(result.describe())
    assert text.count("--adjudicate") == 2
    assert text.startswith(f"{output}: 1 of 8 targets")


def _find_right(benchmark):
    return {one.text: one.choices[ord(one.target) - ord("A")] for one in benchmark.questions}


@pytest.mark.parametrize(
    ("fields", "first", "changed"),
    [
        ({"target": "key"}, {"choices": ["red", "green", "blue"], "key": "B"}, {"key": "C"}),
        ({"target": "key", "shuffle": 3}, {"choices": ["red", "green", "blue"], "key": 0}, {"key": 2}),
        ({"target": "key"}, {"choices": ["red", "green", "blue"], "key": "green"}, {"key": "blue"}),
    ],
)
def test_keys_of_choices_keep_their_form(review, fields, first, changed):
    """A letter, a place and a text, the second with choices that the reviewer sees in another order."""
    questions = [{"id": f"q{i}", "q": f"Which colour is number {i}?", **first} for i in range(4)]
    _, output, benchmark = review(
        "colours.jsonl",
        "".join(f"{json.dumps(one)}\n" for one in questions),
        {"question": "q", "id": "id", "choices": "choices", **fields},
        ("q2", "mislabeled", "blue", "ada"),
    )
    assert [json.loads(line) for line in output.read_text().splitlines()] == [
        {**one, **(changed if one["id"] == "q2" else {})} for one in questions
    ]
    right = _find_right(benchmark)
    assert right["Which colour is number 2?"] == "blue"
    assert "blue" not in {right[one["q"]] for one in questions if one["id"] != "q2"}


def test_the_field_of_the_right_choice_is_exchanged_with_that_of_the_wrong_one(review):
    rows = [f"Is {i} even?,yes {i},no {i},maybe {i}" for i in range(4)]
    _, output, benchmark = review(
        "even.csv",
        "\n".join(["id,q,right,wrong,other", *(f"{i},{row}" for i, row in enumerate(rows)), ""]),
        {"question": "q", "id": "id", "correct": "right", "incorrect": ["wrong", "other"]},
        ("1", "mislabeled", "maybe 1", "ada"),
    )
    assert output.read_text().splitlines()[2] == "1,Is 1 even?,maybe 1,no 1,yes 1"
    assert _find_right(benchmark) == {f"Is {i} even?": "maybe 1" if i == 1 else f"yes {i}" for i in range(4)}


def test_a_parquet_file_keeps_its_types(review):
    table = pa.table({"id": pa.array([1, 2, 3], pa.int16()), "q": ["1 + 1?", "2 + 2?", "3 + 3?"], "a": [3, 4, 6]})
    fields = {"question": "q", "id": "id", "target": "a", "scorer": "numeric"}
    _, output, _ = review("sums.parquet", table, fields, ("1", "mislabeled", "2", "ada"), ("2", "ambiguous", "", "ada"))
    new = pq.read_table(output)
    assert new.schema.equals(table.schema)
    assert new.to_pydict() == {"id": [1, 3], "q": ["1 + 1?", "3 + 3?"], "a": [2, 6]}


@pytest.mark.parametrize("answer", ["about 2", "2.5", "9" * 30])
def test_an_answer_that_does_not_fit_the_type_of_its_column_is_refused(review, answer):
    """Arrow makes 2 of 2.5 in a column of integers."""
    table = pa.table({"id": ["1", "2"], "q": ["1 + 1?", "2 + 2?"], "a": [3, 4]})
    fields = {"question": "q", "id": "id", "target": "a", "scorer": "exact"}
    with pytest.raises(InputError, match=r"sums\.parquet: a right answer does not fit the column 'a'"):
        review("sums.parquet", table, fields, ("1", "mislabeled", answer, "ada"))


def test_truth_values_stay_truth_values(review):
    table = pa.table({"id": ["1", "2"], "q": ["Is 1 even?", "Is 2 even?"], "a": [True, True]})
    fields = {"question": "q", "id": "id", "target": "a", "scorer": "exact"}
    _, output, _ = review("even.parquet", table, fields, ("1", "mislabeled", "False", "ada"))
    assert pq.read_table(output)["a"].to_pylist() == [False, True]


def test_the_text_before_the_target_stays(review):
    lines = [json.dumps({"id": str(i), "q": f"{i} + 1?", "a": f"We add 1. #### {i}"}) for i in range(3)]
    _, output, benchmark = review(
        "sums.jsonl",
        "\n".join(lines),
        {"question": "q", "id": "id", "target": "a", "target_after": "####", "scorer": "numeric"},
        ("0", "mislabeled", "1", "ada"),
    )
    assert json.loads(output.read_text().splitlines()[0])["a"] == "We add 1. #### 1"
    assert output.read_text().splitlines()[1:] == lines[1:]
    assert benchmark.questions[0].target == "1"


def test_what_cannot_be_written_is_one_line(review, tmp_path):
    fields = {"question": "q", "id": "id", "target": "a", "scorer": "numeric"}
    review("sums.csv", "id,q,a\n1,1 + 1?,3\n2,2 + 2?,4\n", fields, ("1", "mislabeled", "2", "ada"))
    run, verdicts = tmp_path / "exp", tmp_path / "v.jsonl"
    with pytest.raises(InputError, match="exists already"):
        write_corrected_file(run, verdicts, tmp_path / "new.csv")
    with pytest.raises(InputError, match=r"end it in .csv"):
        write_corrected_file(run, verdicts, tmp_path / "new.jsonl")
    verdicts.write_text(verdicts.read_text().replace('"key":"', '"key":"0'))
    with pytest.raises(InputError, match="no verdict in"):
        write_corrected_file(run, verdicts, tmp_path / "more.csv")
    (tmp_path / "sums.csv").write_text("id,q,a\n1,1 + 1?,2\n")
    with pytest.raises(InputError, match="changed after the run"):
        write_corrected_file(run, verdicts, tmp_path / "more.csv")
    assert not (tmp_path / "more.csv").exists()
