"""Terminal-Bench's results.json, in the shape of its pydantic models (BenchmarkResults, TrialResults)."""

import json

import pytest

import howsure as hs
from howsure.errors import InputError, UnknownNameError
from howsure.logs.base import ReadOptions
from howsure.logs.file_formats import FileHead
from howsure.logs.terminal_bench import TerminalBenchReader

READER = TerminalBenchReader()


def trial(task, n, resolved, failure="unset"):
    return {
        "id": f"{task}-{n}", "trial_name": f"{task}.{n}-of-3.2025-09-05__16-26-44", "task_id": task,
        "instruction": f"Do {task}.", "is_resolved": resolved, "failure_mode": failure,
        "parser_results": {"test_outputs": "passed" if resolved else "failed"}, "recording_path": "sessions/agent.cast",
        "total_input_tokens": 1000, "total_output_tokens": 50, "trial_started_at": "2025-09-05T23:33:51.000000+00:00",
        "trial_ended_at": "2025-09-05T23:34:33.500000+00:00",
    }  # fmt: skip


TRIALS = [
    trial("a", 1, True), trial("b", 1, False), trial("a", 2, True), trial("b", 2, False, "agent_timeout"),
    trial("a", 3, False), trial("b", 3, None, "unknown_harness_error"), trial("c", 1, None), trial("c", 2, True, "parse_error"),
]  # fmt: skip
RESULTS = {
    "id": "run-uuid", "results": TRIALS, "accuracy": 3 / 8, "n_resolved": 3, "n_unresolved": 5,
    "pass_at_k": {"2": 1.0}, "resolved_ids": ["a", "a", "c"], "unresolved_ids": ["b", "b", "a", "b", "c"],
}  # fmt: skip
METADATA = {
    "run_id": "2025-09-05__16-26-44", "uuid": "u-1", "dataset_name": "terminal-bench-core", "dataset_version": "0.1.1",
    "agent_name": "terminus", "model_name": "anthropic/claude", "start_time": "2025-09-05T23:26:44", "n_attempts": 3,
}  # fmt: skip


def written(folder, results=RESULTS, metadata=METADATA):
    folder.mkdir(parents=True, exist_ok=True)
    if metadata:
        (folder / "run_metadata.json").write_text(json.dumps(metadata))
    (folder / "results.json").write_text(json.dumps(results, indent=4))
    return folder / "results.json"


def read(path, **asked):
    told = []
    return list(READER.rows(path, ReadOptions(**asked), told.append)), " | ".join(told)


def test_trials_are_generations_and_the_accuracy_is_theirs(tmp_path):
    # Theory: its accuracy is resolved trials over all, what was not judged counting as wrong.
    rows, told = read(written(tmp_path))
    assert sum(row.score or 0 for row in rows) / len(rows) == RESULTS["accuracy"]
    assert [(row.question, row.generation, row.score, row.status) for row in rows] == [
        ("a", 1, 1.0, "ok"), ("b", 1, 0.0, "ok"), ("a", 2, 1.0, "ok"), ("b", 2, 0.0, "ok"), ("a", 3, 0.0, "ok"),
        ("b", 3, None, "error"), ("c", 1, None, "error"), ("c", 2, 1.0, "ok"),
    ]  # fmt: skip
    assert rows[5].error == "unknown_harness_error: the harness failed"
    assert (rows[0].prompt_tokens, rows[0].completion_tokens, rows[0].seconds) == (1000, 50.0, 42.5)
    assert "1 error that the harness counted as wrong" in told
    assert "1 trial was not judged" in told
    assert {(row.benchmark, row.model) for row in rows} == {("terminal-bench-core@0.1.1", "terminus anthropic/claude")}


def test_description(tmp_path):
    found = READER.describe(written(tmp_path))
    model = found.models["terminus anthropic/claude"]
    assert (found.run, found.created, model.name, model.generations) == (
        "u-1",
        "2025-09-05T23:26:44",
        "anthropic/claude",
        3,
    )
    assert model.settings == {"agent": "terminus"}


def test_without_metadata_the_file_names_the_model(tmp_path):
    rows, told = read(written(tmp_path / "20250905_agent_model", metadata=None), texts=True)
    assert {row.model for row in rows} == {"results"}
    assert rows[0].messages == ({"role": "user", "content": "Do a."},)
    assert "there is no run_metadata.json" in told
    renamed = tmp_path / "mine.json"
    renamed.write_text(json.dumps(RESULTS))
    assert {row.model for row in read(renamed)[0]} == {"mine"}
    assert READER.describe(renamed).run == "run-uuid"


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_an_agent_that_names_no_model_goes_by_the_folder_that_differs(tmp_path):
    for model in ("large", "small"):
        for run in ("2025-09-24__19-28-24", "run-2"):
            metadata = {**METADATA, "model_name": None, "uuid": f"{model} {run}"}
            rows, told = read(written(tmp_path / f"agent_{model}" / run, metadata=metadata))
            assert {row.model for row in rows} == {"terminus"}
            assert "names no model" in told
    [cells] = hs.read(tmp_path).cells()
    assert cells.models == ("agent_large", "agent_small")


def test_a_trial_of_its_own_finds_the_metadata_above(tmp_path):
    written(tmp_path / "run")
    path = written(tmp_path / "run" / "a" / "a.1-of-3", TRIALS[0], metadata=None)
    rows, told = read(path)
    assert [(row.model, row.question, row.score) for row in rows] == [("terminus anthropic/claude", "a", 1.0)]
    assert not told


def test_what_does_not_add_up_is_told(tmp_path):
    again = {**TRIALS[0], "is_resolved": False, "trial_started_at": "never"}
    path = written(tmp_path, {**RESULTS, "results": [*TRIALS, again, {"task_id": 3}, "text"]})
    rows, told = read(path)
    assert len(rows) == 8
    assert rows[-1].question == "a"
    assert rows[-1].score == 0.0
    assert rows[-1].seconds is None
    assert "1 trial has the name of a later one" in told
    assert "2 records are no trials" in told
    assert "it counts 8 trials and holds 11" in told
    with pytest.raises(InputError, match="holds no trial"):
        read(written(tmp_path, {**RESULTS, "results": []}))
    with pytest.raises(InputError, match="Expected `array`"):
        read(written(tmp_path, {**RESULTS, "results": 3}))


def test_columns(tmp_path):
    rows, _ = read(written(tmp_path), columns={"cluster": "failure_mode", "model": "parser_results.test_outputs"})
    assert rows[3].cluster == "agent_timeout"
    assert {row.model for row in rows} == {"passed", "failed"}
    with pytest.raises(UnknownNameError, match="unknown field 'category'"):
        read(tmp_path / "results.json", columns={"cluster": "category"})


def test_metadata_and_folders_are_no_logs(tmp_path):
    written(tmp_path)
    assert not READER.recognises(FileHead(tmp_path / "run_metadata.json"))
    assert not READER.recognises(FileHead(tmp_path))
