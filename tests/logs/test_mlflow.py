"""MLflow: a published evaluation table has these columns, and a failed judge writes why in the justification."""

import json
from pathlib import Path

from howsure.logs import find_reader
from howsure.logs.base import ReadOptions

EXAMPLE = Path(__file__).parent / "examples" / "mlflow" / "my-model" / "eval_results_table.json"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def test_a_judgment_is_the_default_and_what_failed_is_missing_with_its_reason():
    read_rows, notes = rows(EXAMPLE, texts=True)
    assert [row.score for row in read_rows] == [5, 2, None, 4]
    assert read_rows[2].error == "Failed to score model on payload. Error: 429"
    assert (read_rows[0].completion, read_rows[0].target) == ("It is 0.", "0")
    assert {row.model for row in read_rows} == {"eval_results_table"}
    assert any("called 'eval_results_table'" in note for note in notes)


def test_metrics_of_the_text_come_last_and_have_no_failures():
    scorers = find_reader(EXAMPLE).describe(EXAMPLE).scorers
    assert scorers == ("answer_correctness/v1", "flesch_kincaid_grade_level/v1", "ari_grade_level/v1")
    assert [row.score for row in rows(EXAMPLE, scorer="ari_grade_level/v1")[0]] == [6.2] * 4


def test_a_table_of_columns_and_data_without_scores_is_no_evaluation(tmp_path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"columns": ["inputs", "outputs"], "data": [["a", "b"]]}))
    assert find_reader(path) is None
