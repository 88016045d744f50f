"""OpenCompass: details in the forms of its evaluators; its accuracy is in percent."""

import json
from pathlib import Path

import pytest

from howsure.errors import InputError
from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.results.evaluations import read
from howsure.results.sources import find_sources

FOLDER = Path(__file__).parent / "examples" / "opencompass" / "results" / "internlm2-1.8b"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def test_details_are_questions():
    read_rows, notes = rows(FOLDER / "gsm8k.json", texts=True)
    assert {row.question: row.score for row in read_rows} == {"0": 1, "1": 0, "2": 1, "3": 1, "4": 0}
    assert {(row.benchmark, row.model) for row in read_rows} == {("gsm8k", "internlm2-1.8b")}
    assert (read_rows[1].answer, read_rows[1].completion, read_rows[1].target) == ("1", "The answer is 1", "2")
    assert read_rows[1].messages == ({"role": "user", "content": "Q1?"},)
    assert notes == []


def test_repeats_are_generations():
    read_rows, notes = rows(FOLDER / "aime2024.json", texts=True)
    assert [(row.question, row.generation, row.score) for row in read_rows] == [
        ("aime2024_0", 1, 1), ("aime2024_0", 2, 0), ("aime2024_1", 1, 0), ("aime2024_1", 2, 0), ("aime2024_2", 1, 1),
        ("aime2024_2", 2, 1),
    ]  # fmt: skip
    assert notes == []


def test_another_accuracy_is_noted(tmp_path):
    content = json.loads((FOLDER / "gsm8k.json").read_text())
    path = write(tmp_path / "results" / "m" / "gsm8k.json", {**content, "accuracy": 61.0})
    assert "the log says accuracy 61, and its scores give 0.6" in rows(path)[1]


def test_totals_are_refused(tmp_path):
    path = write(tmp_path / "results" / "m" / "gsm8k.json", {"accuracy": 61.0})
    with pytest.raises(InputError, match=r"totals without details.*predictions/"):
        find_reader(path).describe(path)


def test_predictions_have_no_score(tmp_path):
    content = {str(n): {"origin_prompt": "Q?", "prediction": "So 3.", "gold": "3"} for n in range(3)}
    path = write(tmp_path / "predictions" / "m" / "gsm8k.json", content)
    read_rows, _ = rows(path, texts=True)
    assert [(row.score, row.status, row.completion, row.target) for row in read_rows] == [
        (None, "unscored", "So 3.", "3")
    ] * 3
    with pytest.raises(InputError, match="howsure rescore"):
        read(path).cells()


def test_parts_of_a_large_data_set_are_one_benchmark_of_other_questions(tmp_path):
    folder = tmp_path / "predictions" / "m"
    for part in range(2):
        write(folder / f"mmlu_{part}.json", {"0": {"origin_prompt": f"Q{part}?", "prediction": "So 3.", "gold": "3"}})
    read_rows = [rows(folder / f"mmlu_{part}.json")[0][0] for part in range(2)]
    assert [(row.benchmark, row.question) for row in read_rows] == [("mmlu", "0/0"), ("mmlu", "1/0")]


def test_other_objects_with_numbers_as_keys_are_no_predictions(tmp_path):
    for content in ({"0": 1}, {"0": {"score": 1}}):
        assert find_reader(write(tmp_path / "x.json", content)) is None


def test_predictions_are_read_where_no_results_have_their_details(tmp_path):
    predictions = {"0": {"origin_prompt": "Q?", "prediction": "So 3.", "gold": "3"}}
    for model in ("a", "b"):
        write(tmp_path / "predictions" / model / "gsm8k_0.json", predictions)
    write(tmp_path / "results" / "a" / "gsm8k.json", json.loads((FOLDER / "gsm8k.json").read_text()))
    places = [source.path.relative_to(tmp_path).as_posix() for source in find_sources(tmp_path)]
    assert places == ["predictions/b/gsm8k_0.json", "results/a/gsm8k.json"]
