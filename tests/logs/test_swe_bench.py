"""SWE-bench: submissions, details and reports. Kind of truth: the lists that the files hold, and their own counts."""

import json
from pathlib import Path

import pytest

from howsure.errors import InputError
from howsure.logs import find_reader, get_reader
from howsure.logs.base import ReadOptions
from howsure.logs.file_formats import FileHead

EXAMPLES = Path(__file__).parent / "examples/swe_bench"
REPORT, STAGES = (json.loads((EXAMPLES / f"{name}.json").read_text()) for name in ("report", "stages"))
A = REPORT["completed_ids"]


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def read(path):
    notes = []
    [file] = find_reader(path).members(path)
    rows = list(find_reader(path).rows(file, ReadOptions(), notes.append))
    return {row.question: row for row in rows}, {note.code: note for note in notes}


def test_a_submission_has_the_names_of_its_folders_and_what_its_metadata_state(tmp_path):
    folder = write(tmp_path / "lite/20240402_agent/results/results.json", STAGES).parents[1]
    (folder / "metadata.yaml").write_text("tags:\n  model: [m-1]\n  system: {attempts: 2+}\n")
    rows, notes = read(folder)
    assert {(row.benchmark, row.model) for row in rows.values()} == {("swe-bench-lite", "20240402_agent")}
    assert notes["log-unnamed-questions"].n == 292
    info = get_reader("swe_bench").describe(folder / "results/results.json")
    assert info.models["20240402_agent"].settings == {"models": ["m-1"], "attempts": "2+"}


def test_counts_that_the_lists_do_not_give_are_noted(tmp_path):
    odd = {"total_instances": 9, "infra_failure_ids": [A[2]], "ambiguous_failure_ids": [A[3]]}
    rows, notes = read(write(tmp_path / "r.json", REPORT | odd))
    assert (notes["log-counts-differ"].facts["stated"], notes["log-ambiguous"].n) == (9, 1)
    assert (rows[A[2]].status, rows[A[3]].score) == ("error", 0.0)
    assert {row.model for row in rows.values()} == {"r"}


def test_a_report_of_one_question(tmp_path):
    path = write(tmp_path / "run1/model-x" / A[0] / "report.json", {A[0]: {"resolved": True, "tests_status": {}}})
    assert [(row.model, row.score) for row in read(path)[0].values()] == [("model-x", 1.0)]


def test_lists_that_do_not_say_which_were_not_resolved_are_refused(tmp_path):
    with pytest.raises(InputError, match="nothing lists which were not resolved") as refused:
        read(write(tmp_path / "verified/x/results/results.json", {"no_logs": [], "resolved": A}).parents[1])
    assert "per_instance_details.json" in refused.value.remedy
    with pytest.raises(InputError, match="'resolved' is no list of questions"):
        read(write(tmp_path / "results.json", {**STAGES, "resolved": [1]}))


def test_what_is_none_of_them(tmp_path):
    for name, content in {"a": {"resolved": []}, "b": {"resolved_ids": []}, "c": {"x": {}}, "d": {}}.items():
        assert not get_reader("swe_bench").recognises(FileHead(write(tmp_path / name, content)))
