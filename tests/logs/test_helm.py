"""HELM's runs. `made/helm.json` is what HELM 0.5.16 wrote for a scripted client, with most bookkeeping stats cut out."""

import json
from pathlib import Path

import pytest

from howsure.errors import InputError, UnknownNameError
from howsure.logs import file_formats, find_reader, get_reader, helm
from howsure.logs.base import ReadOptions
from howsure.logs.file_formats import FileHead

READER = get_reader("helm")

MADE = json.loads((Path(__file__).parent / "examples" / "helm" / "made.json").read_text(encoding="utf-8"))
FILES = ("run_spec", "per_instance_stats", "scenario_state")


@pytest.fixture(params=["gen", "mcqa"])
def run(request, tmp_path):
    return written(tmp_path / request.param, MADE[request.param]), MADE[request.param]


def written(folder, made, **changed):
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        content = changed.get(name, made[name])
        if content is not None:
            (folder / f"{name}.json").write_text(json.dumps(content, indent=2), encoding="utf-8")
    return folder


def read(folder, **asked):
    notes = []
    return list(READER.rows(folder, ReadOptions(**asked), notes.append)), [note.code for note in notes]


def test_multiple_choice_has_letters_and_choices(tmp_path):
    rows, told = read(written(tmp_path, MADE["mcqa"]), texts=True)
    assert len(rows) == 20  # one completion, though num_outputs is 5
    assert "log-first-scored" not in told
    assert {row.choices for row in rows} == {("Even", "Odd")}
    for row in rows:
        if row.status != "error":
            # Theory: HELM's exact match on the mapped letter.
            assert row.score == float(row.answer == row.target)
            assert row.answer == (row.completion.strip() if row.completion in (" A", " B") else None)


def test_found_by_content(tmp_path):
    folder = written(tmp_path / "any name", MADE["gen"])
    assert find_reader(folder) is READER
    assert READER.recognises(FileHead(folder / "per_instance_stats.json"))
    assert READER.members(folder / "per_instance_stats.json") == [folder]
    assert not READER.recognises(FileHead(folder / "run_spec.json"))
    assert not READER.recognises(FileHead(tmp_path))
    (tmp_path / "text").write_text("hello")
    assert not READER.recognises(FileHead(tmp_path / "text"))


def test_another_scorer_and_what_best_of_three_is(tmp_path):
    rows, told = read(written(tmp_path, MADE["gen"]), scorer="exact_match@3")
    assert "log-best-of" in told
    assert sum(row.score or 0 for row in rows) == 13  # HELM: (1.0 + 1.6) / 2 trials, times 5 instances x 2 trials
    with pytest.raises(UnknownNameError, match="unknown scorer 'bleu'"):
        read(tmp_path, scorer="bleu")


def test_without_the_requests_there_are_scores_and_no_texts(tmp_path):
    folder = written(tmp_path, MADE["gen"], scenario_state=None)
    rows, told = read(folder, texts=True)
    assert len(rows) == 20
    assert all(row.score is not None and row.completion is None for row in rows)
    assert "log-no-texts" in told
    with pytest.raises(InputError, match="scenario_state.json, which does not exist"):
        read(folder, columns={"cluster": "instance.split"})


def test_columns_name_fields_of_the_requests(tmp_path):
    folder = written(tmp_path, MADE["mcqa"])
    rows, _ = read(folder, columns={"cluster": "instance.split", "question": "instance.input.text"})
    assert {row.cluster for row in rows} == {"test"}
    assert "Is 70 even or odd?" in {row.question for row in rows}
    with pytest.raises(UnknownNameError, match=r"unknown field 'instance.topic'"):
        read(folder, columns={"cluster": "instance.topic"})
    with pytest.raises(UnknownNameError, match="unknown column 'colour'"):
        read(folder, columns={"colour": "instance.id"})


@pytest.mark.parametrize("texts", [False, True])
def test_the_split_that_helm_reports_is_read_alone(tmp_path, texts):
    stats = [
        {"instance_id": f"id{i}", "train_trial_index": 0, "stats": [stat("toxic_frac", i / 4, split=split)]}
        for i, split in enumerate(("test", "valid", "test", "valid"), 1)
    ]
    states = {"request_states": [{"instance": {"id": f"id{i}"}} for i in range(1, 5)]}
    folder = written(tmp_path, MADE["gen"], per_instance_stats=stats, scenario_state=states)
    rows, told = read(folder, texts=texts)
    assert [(row.question, row.score) for row in rows] == [("id1", 0.25), ("id3", 0.75)]
    assert "log-split" in told
    only_valid = [record for record in stats if record["stats"][0]["name"]["split"] == "valid"]
    for record, split in zip(only_valid, ("valid", "train"), strict=True):
        record["stats"][0]["name"]["split"] = split
    rows, told = read(written(tmp_path / "b", MADE["gen"], per_instance_stats=only_valid, scenario_state=None))
    assert len(rows) == 2
    assert "log-splits" in told


def stat(name, mean, count=1, split="test"):
    return {"name": {"name": name, "split": split}, "count": count, **({} if mean is None else {"mean": mean})}


def test_a_choice_scored_by_a_request_for_each_reference(tmp_path):
    states = [
        {
            "instance": {"id": "q", "references": [{"output": {"text": "yes"}, "tags": ["correct"]}], "split": "test"},
            "reference_index": place,
            "train_trial_index": 0,
            "request": {"prompt": "?", "messages": [{"role": "user", "content": "hello"}]},
            "result": {"success": True, "completions": [{"text": "? yes"}]},
        }
        for place in range(2)
    ]
    stats = [{"instance_id": "q", "train_trial_index": 0, "stats": [stat("exact_match", 1)]}]
    folder = written(tmp_path, MADE["mcqa"], per_instance_stats=stats, scenario_state={"request_states": states})
    (row,), _ = read(folder, texts=True)
    assert (row.score, row.completion, row.target) == (1.0, None, "yes")
    assert row.messages == ({"role": "user", "content": "hello"},)


def test_a_file_written_without_indentation_reads_the_same(run):
    folder, made = run
    expected = read(folder, texts=True)
    for name in FILES:
        (folder / f"{name}.json").write_text(json.dumps(made[name]))
    assert read(folder, texts=True) == expected


def test_elements_across_chunks(tmp_path, monkeypatch):
    # Independent slow version: json.loads of the whole file, at every chunk size that cuts a mark in two.
    records = [{"a": [{"b": place}], "text": "x\n  },\n" * 3} for place in range(30)]
    path = tmp_path / "array.json"
    path.write_text(json.dumps(records, indent=2))
    for size in (64, 65, 66, 67, 101, 1 << 20):
        monkeypatch.setattr(file_formats, "_CHUNK", size)
        assert list(file_formats.read_json_array(path, dict, pytest.fail)) == records
    path.write_text("[]")
    with pytest.raises(InputError, match="no record can be read; there is none"):
        list(file_formats.read_json_array(path, dict, pytest.fail))
    path.write_text('{"other": 1}')
    with pytest.raises(InputError, match="no list of 'states'"):
        list(file_formats.read_json_array(path, dict, pytest.fail, under="states"))


def test_a_failure_is_found_across_chunks(tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    path.write_bytes(b"x" * 95 + b'"success": false' + b"y" * 200)
    for size in range(90, 115):
        monkeypatch.setattr(helm, "_CHUNK", size)
        assert helm._has_failures(path)
    path.write_bytes(b'"success\\": false"')
    assert not helm._has_failures(path)


def test_a_spec_without_a_model_is_an_error(tmp_path):
    folder = written(tmp_path, MADE["gen"], run_spec={"name": "x", "adapter_spec": {"temperature": 0}})
    with pytest.raises(InputError, match="adapter_spec"):
        READER.describe(folder)
