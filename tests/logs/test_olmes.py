"""OLMES: the means of its metrics file follow from the predictions."""

import json
import shutil
from pathlib import Path

from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.results.sources import find_sources

FOLDER = Path(__file__).parent / "examples" / "olmes"
NAME = "task-000-arc_challenge-predictions.jsonl"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def test_the_primary_metric_is_the_default():
    scorers = find_reader(FOLDER / NAME).describe(FOLDER / NAME).scorers
    assert scorers[0] == "acc_per_char"
    assert set(scorers) == {"acc_raw", "acc_per_token", "acc_per_char", "acc_uncond"}
    read_rows, notes = rows(FOLDER / NAME, texts=True)
    assert [row.score for row in read_rows] == [1, 1, 0, 1, 0]
    assert [(row.answer, row.target) for row in read_rows] == [
        ("C", "C"),
        ("C", "C"),
        ("B", "C"),
        ("C", "C"),
        ("A", "C"),
    ]
    assert read_rows[0].messages == ({"role": "user", "content": "Question: 0?\nAnswer:"},)
    assert {(row.benchmark, row.model) for row in read_rows} == {("arc_challenge", "OLMo-2-0425-1B")}
    assert not any("the log says" in note for note in notes)


def test_each_mean_of_the_metrics_file_follows():
    for scorer in ("acc_raw", "acc_per_token", "acc_per_char", "acc_uncond"):
        assert not any("the log says" in note for note in rows(FOLDER / NAME, scorer=scorer)[1])


def test_a_difference_from_the_metrics_file_is_noted(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "run")
    file = tmp_path / "run" / "task-000-arc_challenge-metrics.json"
    totals = json.loads(file.read_text())
    totals["metrics"]["acc_per_char"] = 0.8
    file.write_text(json.dumps(totals))
    assert "the log says acc_per_char 0.8, and its scores give 0.6" in rows(tmp_path / "run" / NAME)[1]


def test_without_the_metrics_file_the_folder_names_the_model(tmp_path):
    path = tmp_path / "OLMo-1B" / NAME
    path.parent.mkdir()
    shutil.copy(FOLDER / NAME, path)
    read_rows, notes = rows(path)
    assert {(row.benchmark, row.model) for row in read_rows} == {("arc_challenge", "OLMo-1B")}
    assert any("no metrics file beside it" in note for note in notes)


def test_generated_answers(tmp_path):
    path = tmp_path / "m" / "task-003-gsm8k-predictions.jsonl"
    path.parent.mkdir()
    line = {
        "doc_id": 0, "native_id": 0, "metrics": {"exact_match": 1.0}, "label": "18",
        "model_output": [{"continuation": "So 18.", "model_answer": "18", "num_tokens": 4}],
    }  # fmt: skip
    path.write_text(json.dumps(line))
    (row,), _ = rows(path, texts=True)
    assert (row.score, row.answer, row.completion, row.target) == (1.0, "18", "So 18.", "18")


def test_the_files_beside_the_predictions_are_no_logs_of_their_own():
    assert [source.path.name for source in find_sources(FOLDER)] == [NAME]
