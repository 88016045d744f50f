"""tau-bench: files in the form of its run.py; the published file has a mean reward of 0.42, counted by hand."""

import json
from pathlib import Path

import pytest

from howsure.errors import HowsureWarning
from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.results.evaluations import read

EXAMPLE = next((Path(__file__).parent / "examples" / "tau_bench").glob("*.json"))
SHARED = Path(__file__).resolve().parents[2] / "../shared/data/logs_cases/tables"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def trial(**fields):
    return {"task_id": 0, "reward": 1.0, "info": {}, "traj": [], "trial": 0, **fields}


def test_trials_are_generations_in_their_order():
    read_rows, _ = rows(EXAMPLE, texts=True)
    scores = {(row.question, row.generation): row.score for row in read_rows}
    assert scores == {
        ("0", 1): 0.0, ("1", 1): 1.0, ("2", 1): 1.0, ("3", 1): 0.0,
        ("0", 2): 1.0, ("1", 2): 1.0, ("2", 2): None, ("3", 2): 1.0,
    }  # fmt: skip
    assert read_rows[0].completion == "Done 1 in trial 0: 1.0"
    assert read_rows[0].messages == ({"role": "user", "content": "You are user 1 and want to cancel reservation 1."},)


def test_an_exception_is_missing_with_its_reason():
    read_rows, notes = rows(EXAMPLE)
    (failed,) = [row for row in read_rows if row.status == "error"]
    assert failed.error == "litellm.RateLimitError: 429"
    assert any("counted as wrong is missing here" in note for note in notes)


def test_the_name_of_the_file_states_model_agent_and_user():
    info = find_reader(EXAMPLE).describe(EXAMPLE)
    assert info.benchmarks.keys() == {"tau-bench-airline"}
    (label,) = info.models
    assert label == "gpt-4o (tool-calling, user gpt-4o-llm)"
    assert info.models[label].name == "gpt-4o"
    assert info.models[label].settings == {"temperature": 0.0, "agent": "tool-calling", "user": "gpt-4o-llm"}


@pytest.mark.parametrize(
    ("action", "benchmark"),
    [
        ("exchange_delivered_order_items", "tau-bench-retail"),
        ("book_reservation", "tau-bench-airline"),
        (None, "tau-bench"),
    ],
)
def test_the_domain_is_that_of_the_expected_actions(tmp_path, action, benchmark):
    path = tmp_path / "r.json"
    path.write_text(json.dumps([trial(info={"task": {"actions": [{"name": action}]}})]))
    read_rows, notes = rows(path)
    assert read_rows[0].benchmark == benchmark
    assert any("does not name the domain" in note for note in notes) == (action is None)


def test_a_file_of_another_name_is_the_model(tmp_path):
    path = tmp_path / "gpt-4o-airline.json"
    path.write_text(json.dumps([trial(), trial(trial=1, reward=0.0)]))
    read_rows, notes = rows(path)
    assert {(row.model, row.benchmark) for row in read_rows} == {("gpt-4o-airline", "tau-bench-airline")}
    assert any("called 'gpt-4o-airline'" in note for note in notes)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="needs the data folder ../shared")
def test_a_published_file():
    with pytest.warns(HowsureWarning, match="names no model"):
        (cells,) = read(SHARED / "tau_bench_gpt4o_airline_trimmed.json")
    assert (cells.n.sum(), cells.n.shape[1]) == (200, 50)
    assert cells.total.sum() / cells.n.sum() == pytest.approx(0.42)
