"""EvalPlus: a sample is right where it passes the base tests and the additional ones, as its evaluate.py counts."""

import json
from pathlib import Path

import pytest

from howsure.errors import HowsureWarning
from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.results.evaluations import read

EXAMPLE = next((Path(__file__).parent / "examples" / "evalplus").glob("*/eval_results.json"))


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def test_both_sets_of_tests_are_scorers():
    for scorer, mean in (("plus", 3 / 8), ("base", 5 / 8)):
        read_rows, notes = rows(EXAMPLE, scorer=scorer)
        assert sum(row.score for row in read_rows) / len(read_rows) == mean
        assert not notes
    assert rows(EXAMPLE)[0] == rows(EXAMPLE, scorer="plus")[0]


def test_a_pass_of_the_additional_tests_alone_is_no_pass():
    # HumanEval/3, sample 1, of the example: base "fail", plus "pass".
    scores = {(row.question, row.generation): row.score for row in rows(EXAMPLE)[0]}
    assert scores["HumanEval/3", 1] == 0.0
    assert scores["HumanEval/0", 1] == 1.0


def test_model_and_temperature_are_in_the_name_of_the_folder():
    info = find_reader(EXAMPLE).describe(EXAMPLE)
    assert {name: model.settings for name, model in info.models.items()} == {"Qwen/Qwen2.5-0.5B": {"temperature": 0.8}}
    assert info.benchmarks.keys() == {"humanevalplus"}


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Qwen--Qwen2.5-0.5B_vllm_temp_0.0-sanitized_eval_results.json", "Qwen/Qwen2.5-0.5B"),
        ("my-model-sanitized_eval_results.json", "my-model"),
    ],
)
def test_a_file_beside_its_samples(tmp_path, name, model):
    path = tmp_path / name
    path.write_text(EXAMPLE.read_text())
    assert list(find_reader(path).describe(path).models) == [model]


def test_base_tests_alone(tmp_path):
    path = tmp_path / "m_eval_results.json"
    samples = {f"Mbpp/{i}": [{"base_status": status, "plus_status": None}] for i, status in enumerate(["pass", "fail"])}
    path.write_text(json.dumps({"date": "2024-01-01", "hash": "x", "eval": samples}))
    with pytest.warns(HowsureWarning, match="called 'm'"):
        (cells,) = read(path)
    assert (cells.benchmark, cells.total.tolist()) == ("mbppplus", [[1.0, 0.0]])


def test_the_form_before_2024(tmp_path):
    path = tmp_path / "old_eval_results.json"
    task = {"nfiles": 2, "base": [["success", []], ["failed", [False]]], "plus": [["success", []], None]}
    path.write_text(json.dumps({"date": "2023-05-01", "hash": "x", "eval": {"HumanEval/0": task}}))
    assert [row.score for row in rows(path, scorer="base")[0]] == [1.0, 0.0]
    assert [row.score for row in rows(path)[0]] == [1.0, None]


def test_a_difference_from_its_own_number_is_noted(tmp_path):
    value = json.loads(EXAMPLE.read_text())
    value["pass_at_k"]["plus"]["pass@1"] = 0.5
    path = tmp_path / "m_eval_results.json"
    path.write_text(json.dumps(value))
    assert "the log says pass@1 (plus) 0.5, and its scores give 0.375" in rows(path)[1]
