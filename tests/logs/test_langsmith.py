"""LangSmith: the columns are those that its `to_pandas` writes."""

import json
from pathlib import Path

from howsure.logs import find_reader
from howsure.logs.base import ReadOptions

EXAMPLE = Path(__file__).parent / "examples" / "langsmith" / "exp-gpt-x.csv"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def test_runs_of_an_example_are_generations():
    read_rows, notes = rows(EXAMPLE, texts=True)
    assert [(row.question, row.generation, row.score) for row in read_rows] == [
        ("ex-0", 1, 1), ("ex-1", 1, 0), ("ex-2", 1, None), ("ex-3", 1, 1), ("ex-0", 2, 1), ("ex-1", 2, 1),
    ]  # fmt: skip
    assert (read_rows[0].completion, read_rows[0].target, read_rows[0].seconds) == ("It is 0.", "0", 1.25)
    assert read_rows[0].messages == ({"role": "user", "content": "What is 0?"},)
    assert read_rows[2].error == "RateLimitError('429')"
    assert {row.model for row in read_rows} == {"exp-gpt-x"}
    assert any("1 generation failed and is missing" in note for note in notes)


def test_each_feedback_is_a_scorer():
    assert find_reader(EXAMPLE).describe(EXAMPLE).scorers == ("correctness", "conciseness")
    assert rows(EXAMPLE, scorer="conciseness")[0][0].score == 0.9


def test_json_records_and_a_score_beside_an_error(tmp_path):
    path = tmp_path / "exp.json"
    row = {"inputs.a": "x", "inputs.b": 2, "outputs.o": "y", "error": "late", "feedback.ok": True, "example_id": "e"}
    path.write_text(json.dumps([row]))
    (read_row,), _ = rows(path, texts=True)
    assert (read_row.score, read_row.status) == (1.0, "ok")
    assert read_row.messages == ({"role": "user", "content": '{"a":"x","b":2}'},)
