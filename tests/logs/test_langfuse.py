"""Langfuse: scores in the form of its API; a score belongs to a trace."""

import json
from pathlib import Path

from howsure.logs import find_reader
from howsure.logs.base import ReadOptions

FOLDER = Path(__file__).parent / "examples" / "langfuse"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def score(**fields):
    return {"id": "s", "traceId": "t", "name": "ok", "value": 1, "dataType": "NUMERIC", "stringValue": None, **fields}


def test_items_of_a_data_set_are_questions_and_traces_generations():
    read_rows, notes = rows(FOLDER / "scores.json", texts=True)
    assert [(row.question, row.generation, row.score) for row in read_rows] == [
        ("item-0", 1, 1), ("item-1", 1, 0), ("item-2", 1, 1), ("item-0", 2, 1), ("item-1", 2, 1), ("item-2", 2, 0.5),
    ]  # fmt: skip
    assert {row.model for row in read_rows} == {"gpt-x"}
    assert read_rows[0].completion == "It is 0."
    assert not any("cannot be paired" in note for note in notes)


def test_each_name_is_a_scorer():
    assert [row.score for row in rows(FOLDER / "scores.json", scorer="helpful")[0]] == [1, 1, 0, 1, 1, None]


def test_without_items_each_trace_is_a_question(tmp_path):
    path = tmp_path / "gpt-y.json"
    path.write_text(json.dumps([score(traceId=f"t{n}", value=n % 2) for n in range(4)]))
    read_rows, notes = rows(path)
    assert [row.question for row in read_rows] == ["t0", "t1", "t2", "t3"]
    assert {row.model for row in read_rows} == {"gpt-y"}
    assert any("4 of 4 scored traces name no item of a data set" in note for note in notes)


def test_categories_are_words(tmp_path):
    path = tmp_path / "m.json"
    values = ["correct", "yes", "no", "somewhat"]
    path.write_text(
        json.dumps([score(traceId=v, dataType="CATEGORICAL", value=n, stringValue=v) for n, v in enumerate(values)])
    )
    assert [row.score for row in rows(path)[0]][1:] == [1.0, 0.0, None]


def test_pages_that_are_not_there_are_noted(tmp_path):
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"data": [score()], "meta": {"page": 1, "totalPages": 3}}))
    assert any("one of 3 pages" in note for note in rows(path)[1])


def test_a_score_that_comes_again_is_read_once(tmp_path):
    path = tmp_path / "m.json"
    path.write_text(json.dumps([score(value=0), score(value=1)]))
    read_rows, notes = rows(path)
    assert [row.score for row in read_rows] == [1.0]
    assert any("1 score comes again for the same trace" in note for note in notes)
