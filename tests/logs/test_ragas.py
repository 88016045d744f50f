"""ragas: columns as published files of two generations of it have them; its means leave out what has no value."""

from pathlib import Path

import pandas as pd
import pytest

from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.results.evaluations import read

FOLDER = Path(__file__).parent / "examples" / "ragas" / "my-rag"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def test_metrics_are_scorers_and_gaps_are_missing():
    path = FOLDER / "ragas_results.csv"
    for scorer in ("faithfulness", "answer_relevancy"):
        scores = [row.score for row in rows(path, scorer=scorer)[0]]
        assert sum(score is None for score in scores) == 1
        known = [score for score in scores if score is not None]
        assert sum(known) / len(known) == pytest.approx(pd.read_csv(path)[scorer].mean())
    read_rows, notes = rows(path, texts=True)
    assert (read_rows[1].completion, read_rows[1].target) == ("It is 1.", "1.")
    assert {row.model for row in read_rows} == {"ragas_results"}
    assert "1 generation has no score of 'faithfulness' and is missing" in notes


def test_the_older_names_of_columns_as_json():
    read_rows, _ = rows(FOLDER / "ragas_results.json", texts=True)
    assert [row.score for row in read_rows] == [1.0, None, 0.5]
    assert (read_rows[0].completion, read_rows[0].target) == ("It is 0.", "0.")


def test_questions_agree_between_files():
    questions = [[row.question for row in rows(file)[0]][:3] for file in sorted(FOLDER.iterdir())]
    assert questions[0] == questions[1]


def test_a_published_header(tmp_path):
    path = tmp_path / "gpt-4o.csv"
    path.write_text(
        ",question,ground_truth,answer,contexts,faithfulness_with_hhem,faithfulness,answer_relevancy,latency_s\n"
        "0,Why?,So.,Because.,\"['a'\n 'b']\",1.0,0.5,0.77,3.2\n"
    )
    assert find_reader(path).describe(path).scorers == ("faithfulness_with_hhem", "faithfulness", "answer_relevancy")


def test_a_column_of_models_is_used(tmp_path):
    path = tmp_path / "all.csv"
    path.write_text("model,user_input,response,faithfulness\na,Why?,So.,1\nb,Why?,No.,0\n")
    (cells,) = read(path)
    assert (cells.models, cells.total.tolist()) == (("a", "b"), [[1.0], [0.0]])


def test_other_tables_of_questions_and_answers_are_no_results_of_ragas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("model,question,answer,score\na,q,x,1\n")
    assert find_reader(path) is None
