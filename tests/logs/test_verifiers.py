"""verifiers: the means of metadata.json follow from the rollouts, those that failed as 0."""

import json
import shutil
from pathlib import Path

import pytest

from howsure.logs import find_reader
from howsure.logs.base import ReadOptions

FOLDER = Path(__file__).parent / "examples" / "verifiers"
RESULTS = FOLDER / "sums--gpt-x" / "results.jsonl"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def test_rollouts_are_generations():
    read_rows, notes = rows(RESULTS, texts=True)
    assert [(row.question, row.generation, row.score) for row in read_rows] == [
        ("0", 1, 1.2), ("0", 2, 0.2), ("1", 1, 0.0), ("1", 2, 1.2), ("2", 1, 1.2), ("2", 2, 1.2), ("3", 1, None), ("3", 2, 1.0),
    ]  # fmt: skip
    assert {(row.benchmark, row.model) for row in read_rows} == {("sums", "gpt-x")}
    assert (read_rows[2].completion, read_rows[4].target) == ("<answer>0</answer>", "4")
    assert (read_rows[6].status, read_rows[6].error) == ("error", "ModelError('429')")
    assert any("counted as wrong is missing here" in note for note in notes)


@pytest.mark.parametrize(("scorer", "mean"), [("reward", 0.75), ("correct", 5 / 8), ("format", 5 / 8)])
def test_each_mean_of_the_metadata_follows(scorer, mean):
    read_rows, notes = rows(RESULTS, scorer=scorer)
    assert sum(row.score or 0 for row in read_rows) / 8 == pytest.approx(mean)
    assert not any("the log says" in note and "counts 1 missing generation as 0" not in note for note in notes)


def test_settings_are_those_of_the_metadata():
    info = find_reader(RESULTS).describe(RESULTS)
    assert info.models["gpt-x"].settings == {"temperature": 0.7, "max_tokens": 512}
    assert info.models["gpt-x"].generations == 2
    assert info.scorers == ("reward", "correct", "format")


def test_without_metadata_the_file_is_the_model(tmp_path):
    path = tmp_path / "sums--gpt-y" / "results.jsonl"
    path.parent.mkdir()
    shutil.copy(RESULTS, path)
    read_rows, notes = rows(path)
    assert {(row.benchmark, row.model) for row in read_rows} == {("sums", "results")}
    assert any("no metadata.json" in note for note in notes)


def test_tasks_of_a_group_number_their_examples_from_0(tmp_path):
    path = tmp_path / "results.jsonl"
    line = {"example_id": 0, "prompt": "?", "completion": "!", "reward": 1.0}
    path.write_text("\n".join(json.dumps({**line, "task": task}) for task in ("a", "b")))
    assert [(row.question, row.generation) for row in rows(path)[0]] == [("a/0", 1), ("b/0", 1)]


def test_newer_metrics_errors_and_tokens(tmp_path):
    path = tmp_path / "results.jsonl"
    line = {
        "example_id": 0, "prompt": [], "completion": "!", "reward": 0.0, "task": "t", "metrics": {"correct": 0.0},
        "error": {"error": "TimeoutError", "error_chain_repr": "TimeoutError -> ModelError"},
        "timing": {"generation_ms": 250.0}, "token_usage": {"input_tokens": 10.0, "output_tokens": 3.0},
    }  # fmt: skip
    path.write_text(json.dumps({**line, "error": None}) + "\n" + json.dumps({**line, "example_id": 1}))
    (good, failed), _ = rows(path, scorer="correct")
    assert (good.score, good.prompt_tokens, good.completion_tokens, good.seconds) == (0.0, 10, 3.0, 0.25)
    assert failed.error == "TimeoutError -> ModelError"


def test_episodes_of_newer_versions():
    read_rows, _ = rows(FOLDER / "traces.jsonl", texts=True)
    assert [(row.question, row.generation, row.score) for row in read_rows] == [
        ("0", 1, 1.1), ("0", 2, 0.1), ("1", 1, 1.1), ("1", 2, 1.1), ("2", 1, 0.1), ("2", 2, None),
    ]  # fmt: skip
    assert {(row.benchmark, row.model) for row in read_rows} == {("primeintellect/sums", "gpt-x")}
    assert read_rows[0].completion == "It is 0."
    assert read_rows[-1].error == "429 Too Many Requests"
    assert [row.score for row in rows(FOLDER / "traces.jsonl", scorer="correct")[0]] == [1, 0, 1, 1, 0, None]
