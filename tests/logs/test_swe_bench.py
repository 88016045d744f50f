"""SWE-bench: submissions, details and reports. REPORT is what swebench 5.0.2's make_run_report wrote for made runs."""

import json
import warnings

import pytest

import howsure as hs
from howsure.errors import HowsureWarning, InputError
from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.logs.file_formats import FileHead
from howsure.logs.swe_bench import SweBenchReader

READER = SweBenchReader()

A = [f"astropy__astropy-{n}" for n in (12907, 13033, 13236, 13398)]
D = [f"django__django-{n}" for n in (10097, 10554, 10880, 10914)]
REPORT = {
    "total_instances": 8, "submitted_instances": 6, "completed_instances": 4, "resolved_instances": 2,
    "unresolved_instances": 2, "infra_failure_instances": 0, "ambiguous_failure_instances": 0,
    "empty_patch_instances": 1, "error_instances": 1, "completed_ids": A, "incomplete_ids": D[2:],
    "empty_patch_ids": [D[1]], "submitted_ids": [*A, *D[:2]], "resolved_ids": A[:2], "unresolved_ids": A[2:],
    "infra_failure_ids": [], "ambiguous_failure_ids": [], "failure_reasons": {}, "error_ids": [D[0]],
    "schema_version": 2,
}  # fmt: skip
#: The older results.json, with a list per stage of the evaluation.
STAGES = {
    "no_generation": [D[0]], "generated": [*A, *D[1:]], "with_logs": [*A, *D[1:]], "install_fail": [D[1]],
    "reset_failed": [], "no_apply": [D[2]], "applied": [*A, D[3]], "test_errored": [], "test_timeout": [A[3]],
    "resolved": A[:2],
}  # fmt: skip
METADATA = "info:\n  name: My Agent + Model\ntags:\n  model: [m-1]\n  system:\n    attempts: {attempts}\n"


def submission(folder, results=None, *, details=None, attempts="1", metadata=METADATA, predictions=()):
    folder.mkdir(parents=True, exist_ok=True)
    if metadata is not None:
        (folder / "metadata.yaml").write_text(metadata.replace("{attempts}", attempts))
    if results is not None:
        (folder / "results").mkdir()
        (folder / "results" / "results.json").write_text(json.dumps(results, indent=4))
    if details is not None:
        (folder / "per_instance_details.json").write_text(json.dumps(details, indent=4))
    if predictions:
        lines = (
            json.dumps({"instance_id": name, "model_patch": f"diff {name}", "model_name_or_path": "m"})
            for name in predictions
        )
        (folder / "all_preds.jsonl").write_text("\n".join(lines))
    return folder


def read(path, **asked):
    told = []
    rows = list(READER.rows(path, ReadOptions(**asked), lambda note: told.append(note.text)))
    return {row.question: row for row in rows}, " | ".join(told)


def scores(rows):
    return {question: row.score for question, row in rows.items()}


def test_reports_of_one_name_go_by_the_part_of_the_path_that_differs(tmp_path):
    for n, name in enumerate(("acr-run-1", "acr-run-2", "acr-val-sbfl")):
        path = tmp_path / name / "new_eval_results/report.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({**REPORT, "note": n}))
        assert {row.model for row in read(path)[0].values()} == {"report"}  # nothing tells a file alone apart
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        [cells] = hs.read(tmp_path).cells()
    assert (cells.models, cells.n.max(axis=1).tolist()) == (("acr", "acr-val-sbfl"), [2, 1])


def test_the_share_that_a_report_states_is_compared(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**REPORT, "total_instances": 10}))
    assert "the log says a resolved share of 0.2, and its scores give 0.5" in read(path)[1]


def test_a_report_that_does_not_add_up_is_told(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(
        json.dumps(
            {
                **REPORT,
                "total_instances": 9,
                "resolved_instances": 3,
                "infra_failure_ids": [A[2]],
                "ambiguous_failure_ids": [A[3]],
            }
        )
    )
    rows, told = read(path)
    assert "counts 9 questions and names 8" in told
    assert "counts 3 resolved questions and names 2" in told
    assert "1 failure may be the environment's" in told
    assert rows[A[2]].error.startswith("infra_failure")
    assert rows[A[3]].score == 0.0
    assert {row.model for row in rows.values()} == {"r"}


def test_a_report_whose_ambiguous_failures_are_no_list(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(REPORT | {"ambiguous_failure_ids": 7}))
    assert len(read(path)[0]) == 8


def test_lists_of_stages_name_everything(tmp_path):
    folder = submission(tmp_path / "lite" / "20240402_agent", STAGES)
    assert isinstance(find_reader(folder), SweBenchReader)
    rows, told = read(folder)
    assert scores(rows) == {A[0]: 1, A[1]: 1, A[2]: 0, A[3]: 0, D[0]: None, D[1]: None, D[2]: 0, D[3]: 0}
    assert rows[D[1]].error.startswith("install_fail")
    assert rows[D[0]].error == "no_generation: no patch was submitted"
    assert {(row.benchmark, row.model) for row in rows.values()} == {("swe-bench-lite", "20240402_agent")}
    assert "292 of the 300 questions of SWE-bench lite are named nowhere" in told


def test_the_newer_lists_need_the_predictions(tmp_path):
    # Only what was resolved is listed: the rest of the predictions were not.
    results = {"no_generation": [D[0]], "no_logs": [D[1]], "resolved": A[:2]}
    folder = submission(tmp_path / "verified" / "x", results, predictions=[*A, *D[1:]])
    rows, told = read(folder, texts=True)
    assert scores(rows) == {A[0]: 1, A[1]: 1, A[2]: 0, A[3]: 0, D[0]: None, D[1]: None, D[2]: 0, D[3]: 0}
    assert "4 unresolved ones are named by all_preds.jsonl" in told
    assert rows[A[0]].completion == f"diff {A[0]}"
    assert rows[D[0]].completion is None


@pytest.mark.parametrize("place", ["logs", "trajs"])
def test_or_its_logs(tmp_path, place):
    folder = submission(tmp_path / "verified" / "x", {"no_logs": [], "resolved": A[:2]})
    for name in (*A, "notes"):
        (folder / place / f"{name}.log").mkdir(parents=True)
    rows, told = read(folder)
    assert scores(rows) == {A[0]: 1, A[1]: 1, A[2]: 0, A[3]: 0}
    assert f"2 unresolved ones are named by {place}/" in told


def test_resolved_alone_has_no_score(tmp_path):
    folder = submission(tmp_path / "x", {"no_generation": [], "resolved": A})
    with pytest.raises(InputError, match="nothing lists what was not: its score is unknown; put all_preds.jsonl"):
        read(folder)


def test_a_question_of_its_own(tmp_path):
    path = tmp_path / "run1" / "model-x" / A[0] / "report.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({A[0]: {"patch_is_None": False, "resolved": True, "tests_status": {}}}))
    rows, _ = read(path)
    assert [(row.model, row.score) for row in rows.values()] == [("model-x", 1.0)]
    other = path.with_name("renamed.json")
    other.write_text(json.dumps({name: {"resolved": True} for name in A}))
    assert {row.model for row in read(other)[0].values()} == {"renamed"}


def test_description(tmp_path):
    folder = submission(tmp_path / "lite" / "x", STAGES, attempts="2+")
    found = READER.describe(folder)
    assert found.models["x"].name == "My Agent + Model"
    assert found.models["x"].settings == {"models": ["m-1"], "attempts": "2+"}
    assert READER.members(folder) == [folder / "results" / "results.json"]
    assert list(found.benchmarks) == ["swe-bench-lite"]
    older = submission(tmp_path / "lite" / "y", STAGES, metadata="name: Old\ntags: {model: m}\noss: true\n")
    assert (READER.describe(older).models["y"].name, READER.describe(older).models["y"].settings["models"]) == (
        "Old",
        ["m"],
    )
    bare = submission(tmp_path / "lite" / "z", STAGES, metadata="- a list")
    assert READER.describe(bare).models["z"].name == "z"


def test_what_is_none_of_them(tmp_path):
    for name, content in {"a": {"resolved": []}, "b": {"resolved_ids": []}, "c": {"x": {}}, "d": {}}.items():
        (tmp_path / name).write_text(json.dumps(content))
        assert not READER.recognises(FileHead(tmp_path / name))
    assert not READER.recognises(FileHead(tmp_path))
    with pytest.raises(InputError, match="'resolved' is no list of questions"):
        read(submission(tmp_path / "x", {**STAGES, "resolved": [1]}))


def test_a_report_of_multi_swe_bench(tmp_path):
    # The keys of published submissions: their resolved questions are under "resolved".
    ids = [f"fasterxml__jackson-core-{n}" for n in (1016, 1053, 174, 729)]
    report = {
        "total_instances": 4, "submitted_instances": 4, "completed_instances": 2, "resolved_instances": 1,
        "unresolved_instances": 1, "empty_patch_instances": 1, "error_instances": 1, "unstopped_instances": 0,
        "completed_ids": ids[:2], "incomplete_ids": [], "empty_patch_ids": ids[2:3], "submitted_ids": ids,
        "resolved": ids[:1], "unresolved_ids": ids[1:2], "error_ids": ids[3:], "unstopped_containers": [],
    }  # fmt: skip
    folder = submission(tmp_path / "verified" / "20240825_agent_model", report)
    for path in (folder, folder / "results" / "results.json"):
        rows, _ = read(path)
        assert scores(rows) == {ids[0]: 1, ids[1]: 0, ids[2]: None, ids[3]: None}
        assert {row.model for row in rows.values()} == {"20240825_agent_model"}


def test_a_final_report_of_resolved_questions(tmp_path):
    # The keys of a published final_report.json; 300 questions were attempted, and the resolved ones are listed.
    path = tmp_path / "agent" / "final_report.json"
    path.parent.mkdir()
    stats = {"generated": 4, "with_logs": 4, "applied": 3, "resolved": 2}
    path.write_text(json.dumps({"stats": stats, "resolved": A[:2], "resolved_per_project": {"astropy/astropy": A[:2]}}))
    assert isinstance(find_reader(path), SweBenchReader)
    with pytest.raises(InputError, match=r"2 of 4 questions as resolved \(0\.5\).*all_preds\.jsonl"):
        read(path)
    (path.parent / "all_preds.jsonl").write_text(
        "".join(json.dumps({"instance_id": name, "model_patch": "diff"}) + "\n" for name in A)
    )
    rows, told = read(path)
    assert scores(rows) == {**dict.fromkeys(A[:2], 1.0), **dict.fromkeys(A[2:], 0.0)}
    assert {row.model for row in rows.values()} == {"agent"}
    assert "unresolved ones are named by all_preds.jsonl" in told
