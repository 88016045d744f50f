"""AlpacaEval: the mean is the win rate as its metrics count it: 0 is a draw, null is left out."""

import json
from pathlib import Path

import pytest

from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.results.evaluations import read

EXAMPLE = Path(__file__).parent / "examples" / "alpaca_eval" / "annotations.json"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def annotation(**fields):
    return {
        "instruction": "Hi", "output_1": "a", "generator_1": "ref", "output_2": "b", "generator_2": "m",
        "annotator": "x", "preference": 2.0, **fields,
    }  # fmt: skip


def write(path, annotations):
    path.write_text(json.dumps(annotations))
    return path


def test_the_score_is_the_preference_minus_1():
    read_rows, notes = rows(EXAMPLE, texts=True)
    assert [row.score for row in read_rows] == [pytest.approx(0.9312), 0, 1, 0.5, 0.5, None, 0.25]
    assert {row.model for row in read_rows} == {"my-model"}
    assert {row.benchmark for row in read_rows} == {"alpaca_eval (against gpt4_1106_preview)"}
    assert read_rows[0].completion == "My haiku 0"
    assert read_rows[0].messages == ({"role": "user", "content": "Write a haiku about 0."},)
    assert notes == ["1 generation has no score of 'weighted_alpaca_eval_gpt4_turbo' and is missing"]


def test_models_agree_on_questions_and_references_do_not_mix(tmp_path):
    path = write(
        tmp_path / "annotations.json",
        [annotation(), annotation(generator_2="n"), annotation(generator_1="other", preference=1.0)],
    )
    cells = {one.benchmark: one for one in read(path)}
    assert cells["alpaca_eval (against ref)"].models == ("m", "n")
    assert cells["alpaca_eval (against ref)"].n.tolist() == [[1], [1]]
    assert cells["alpaca_eval (against other)"].total.tolist() == [[0.0]]


def test_annotators_are_scorers_and_no_generations(tmp_path):
    path = write(
        tmp_path / "a.json", [annotation(), annotation(annotator="y", preference=1.0), annotation(instruction="Yo")]
    )
    assert find_reader(path).describe(path).scorers == ("x", "y")
    assert [row.score for row in rows(path, scorer="x")[0]] == [1.0, 1.0]
    assert [row.score for row in rows(path, scorer="y")[0]] == [0.0, None]


def test_a_preference_that_is_none_is_missing(tmp_path):
    path = write(tmp_path / "a.json", [annotation(preference=-1), annotation(instruction="Yo")])
    read_rows, notes = rows(path)
    assert [row.score for row in read_rows] == [None, 1.0]
    assert "1 preference is not between 1 and 2 and is missing: -1" in notes
