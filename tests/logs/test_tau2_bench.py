"""tau2-bench: results in the form of its data model; what it leaves out of its numbers is missing."""

import json
from pathlib import Path

import pytest

from howsure.errors import InputError
from howsure.logs import find_reader
from howsure.logs.base import ReadOptions

EXAMPLE = Path(__file__).parent / "examples" / "tau2_bench" / "results.json"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def edited(tmp_path, edit):
    value = json.loads(EXAMPLE.read_text())
    edit(value)
    path = tmp_path / "results.json"
    path.write_text(json.dumps(value))
    return path


def test_simulations_are_generations():
    read_rows, notes = rows(EXAMPLE, texts=True)
    assert {(row.question, row.generation): row.score for row in read_rows} == {
        ("0", 1): 1.0, ("1", 1): 0.0, ("2", 1): 1.0, ("0", 2): 0.0, ("1", 2): 1.0, ("2", 2): None,
    }  # fmt: skip
    assert {row.model for row in read_rows} == {"gpt-oss-120b (user gpt-4.1)"}
    assert {row.benchmark for row in read_rows} == {"tau2-bench-airline"}
    assert (read_rows[0].completion, read_rows[0].seconds) == ("Settled 0 (0).", 60.5)
    (failed,) = [row for row in read_rows if row.score is None]
    assert failed.error == "infrastructure_error: APIConnectionError"
    assert any("as in the program's own numbers" in note for note in notes)


def test_another_agent_is_another_model(tmp_path):
    path = edited(tmp_path, lambda value: value["info"]["agent_info"].update(implementation="my_agent"))
    assert list(find_reader(path).describe(path).models) == ["gpt-oss-120b my_agent (user gpt-4.1)"]


def test_a_run_kept_in_a_folder_is_read_from_its_index(tmp_path):
    def index(value):
        value["simulation_index"] = [
            {"id": one["id"], "task_id": one["task_id"], "trial": one["trial"],
             "reward": (one["reward_info"] or {}).get("reward"), "termination_reason": one["termination_reason"]}
            for one in value.pop("simulations")
        ]  # fmt: skip
        value["simulations"] = []

    found = {(row.question, row.generation): row.score for row in rows(edited(tmp_path, index))[0]}
    assert found == {(row.question, row.generation): row.score for row in rows(EXAMPLE)[0]}


def test_a_run_without_simulations_is_refused(tmp_path):
    path = edited(tmp_path, lambda value: value.update(simulations=[]))
    with pytest.raises(InputError, match="holds no simulation"):
        rows(path)
