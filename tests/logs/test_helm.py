"""HELM's runs. `made/helm.json` is what HELM 0.5.16 wrote for a scripted client, with most bookkeeping stats cut out."""

import json
from pathlib import Path
from statistics import fmean

import pytest

from howsure.errors import InputError, UnknownNameError
from howsure.logs import file_formats, find_reader, helm
from howsure.logs.base import UNSCORED, ReadOptions
from howsure.logs.file_formats import FileHead
from howsure.logs.helm import HelmReader, RunSpec, list_scorers, name_variant

READER = HelmReader()

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
    told = []
    return list(READER.rows(folder, ReadOptions(**asked), lambda note: told.append(note.text))), told


def by_key(rows):
    return {(row.question, row.variant, row.generation): row for row in rows}


def test_headline_of_helm_is_reproduced_on_each_perturbation(run):
    # Another program's output: HELM's own stats.json. It averages the instances of a trial, then the trials, and
    # counts failed requests as 0, which is what --missing as-zero does.
    folder, made = run
    rows, told = read(folder)
    assert len(made["headline"]) == 2
    for stat in made["headline"]:
        variant = name_variant(stat["name"].get("perturbation"), 0)
        trials = [variant, name_variant(stat["name"].get("perturbation"), 1)]
        means = [fmean(row.score or 0.0 for row in rows if row.variant == trial) for trial in trials]
        assert fmean(means) == pytest.approx(stat["mean"])
    assert any("errors that HELM scored as empty answers" in line for line in told)


def test_counts_variants_and_errors_of_a_run_with_three_completions(tmp_path):
    # Another program's output, counted by hand: 5 instances x 2 perturbations x 2 trials, 3 requests refused.
    folder = written(tmp_path, MADE["gen"])
    rows, told = read(folder)
    assert len(rows) == 20
    assert {row.variant for row in rows} == {"default", "trial 2", "typos prob=0.3", "typos prob=0.3, trial 2"}
    assert [row.error for row in rows if row.status == "error"] == ["request: content policy: refused"] * 3
    assert sum(row.score == 1.0 for row in rows) == 5
    assert "3 completions of each question were requested" in " ".join(told)

    with_texts, _ = read(folder, texts=True)
    assert len(with_texts) == 17 * 3 + 3
    assert sum(row.status == UNSCORED for row in with_texts) == 17 * 2
    scores = {key: row.score for key, row in by_key(rows).items()}
    assert {key: row.score for key, row in by_key(with_texts).items() if key[2] == 1} == scores


def test_texts_are_those_of_the_requests(tmp_path):
    # Independent slow version: straight from the JSON.
    folder = written(tmp_path, MADE["gen"])
    rows = by_key(read(folder, texts=True)[0])
    for state in MADE["gen"]["scenario_state"]["request_states"]:
        variant = name_variant(state["instance"].get("perturbation"), state["train_trial_index"])
        right = next(one["output"]["text"] for one in state["instance"]["references"] if "correct" in one["tags"])
        kept = state["result"]["completions"] if state["result"]["success"] else [{"text": None}]
        for place, completion in enumerate(kept, 1):
            row = rows[state["instance"]["id"], variant, place]
            assert row.completion == completion["text"]
            assert row.target == right
            assert row.messages == ({"role": "user", "content": state["request"]["prompt"]},)
            if place == 1 and row.status != "error":
                assert row.finish_reason == completion["finish_reason"]["reason"]
                assert row.status == {"stop": "ok", "length": "length"}[row.finish_reason]


def test_multiple_choice_has_letters_and_choices(tmp_path):
    rows, told = read(written(tmp_path, MADE["mcqa"]), texts=True)
    assert len(rows) == 20  # one completion, though num_outputs is 5
    assert not any("completions of each question" in line for line in told)
    assert {row.choices for row in rows} == {("Even", "Odd")}
    for row in rows:
        if row.status != "error":
            # Theory: HELM's exact match on the mapped letter.
            assert row.score == float(row.answer == row.target)
            assert row.answer == (row.completion.strip() if row.completion in (" A", " B") else None)


def test_description(tmp_path):
    folder = written(tmp_path, MADE["gen"])
    found = READER.describe(folder)
    assert found.models["simple/model1"].settings["temperature"] == 0.0
    assert found.models["simple/model1"].generations == 3
    assert list(found.benchmarks) == ["gen_qa"]
    assert found.scorers == ("exact_match", "exact_match@3", "quasi_exact_match")


def test_found_by_content(tmp_path):
    folder = written(tmp_path / "any name", MADE["gen"])
    assert isinstance(find_reader(folder), HelmReader)
    assert READER.recognises(FileHead(folder / "per_instance_stats.json"))
    assert READER.members(folder / "per_instance_stats.json") == [folder]
    assert not READER.recognises(FileHead(folder / "run_spec.json"))
    assert not READER.recognises(FileHead(tmp_path))
    (tmp_path / "text").write_text("hello")
    assert not READER.recognises(FileHead(tmp_path / "text"))


def test_another_scorer_and_what_best_of_three_is(tmp_path):
    rows, told = read(written(tmp_path, MADE["gen"]), scorer="exact_match@3")
    assert "best of several completions" in " ".join(told)
    assert sum(row.score or 0 for row in rows) == 13  # HELM: (1.0 + 1.6) / 2 trials, times 5 instances x 2 trials
    with pytest.raises(UnknownNameError, match="unknown scorer 'bleu'"):
        read(tmp_path, scorer="bleu")


def test_without_the_requests_there_are_scores_and_no_texts(tmp_path):
    folder = written(tmp_path, MADE["gen"], scenario_state=None)
    rows, told = read(folder, texts=True)
    assert len(rows) == 20
    assert all(row.score is not None and row.completion is None for row in rows)
    assert "there are no texts" in " ".join(told)
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


def test_records_of_several_metrics_are_one_instance(tmp_path):
    more = [stat("num_output_tokens", 2.0), stat("inference_runtime", 0.5)]
    stats = [
        {
            "instance_id": "id1",
            "train_trial_index": 0,
            "stats": [stat("num_prompt_tokens", 7), *more, stat("toxic_frac", 0.5)],
        },
        {"instance_id": "id1", "train_trial_index": 0, "stats": [stat("toxic_frac", 0.25, count=4)]},
        {"instance_id": "id2", "train_trial_index": 0, "stats": [stat("toxic_frac", None, count=0)]},
        {"instance_id": "id3", "train_trial_index": 0, "stats": [stat("toxic_frac", 1.0)]},
    ]
    rows, told = read(written(tmp_path, MADE["gen"], per_instance_stats=stats, scenario_state=None))
    assert [(row.question, row.score, row.status, row.prompt_tokens) for row in rows] == [
        ("id1", 0.25, "ok", 7),
        ("id2", None, "error", None),
        ("id3", 1.0, "ok", None),
    ]
    assert (rows[0].completion_tokens, rows[0].seconds) == (2.0, 0.5)
    said = " ".join(told)
    assert "1 instance has 'toxic_frac' twice" in said
    assert "1 score is a mean over several" in said
    assert "1 of 3 instances have no 'toxic_frac'" in said


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
    assert "2 instances of other splits (valid) are left out: HELM reports the split 'test'" in told
    only_valid = [record for record in stats if record["stats"][0]["name"]["split"] == "valid"]
    for record, split in zip(only_valid, ("valid", "train"), strict=True):
        record["stats"][0]["name"]["split"] = split
    rows, told = read(written(tmp_path / "b", MADE["gen"], per_instance_stats=only_valid, scenario_state=None))
    assert len(rows) == 2
    assert "2 splits (train, valid) are read together" in " ".join(told)


def stat(name, mean, count=1, split="test"):
    return {"name": {"name": name, "split": split}, "count": count, **({} if mean is None else {"mean": mean})}


def test_first_scorer(tmp_path):
    def first(*names):
        path = tmp_path / "stats.json"
        record = {"instance_id": "a", "train_trial_index": 0, "stats": [stat(name, 1) for name in names]}
        path.write_text(json.dumps([record], indent=2))
        return list_scorers(path)

    assert first("num_bytes", "bleu_1", "f1_score") == ("f1_score", "bleu_1")
    assert first("num_bytes", "exact_match@5", "odd", "even") == ("odd", "exact_match@5", "even")
    assert first("num_bytes", "logprob") == ("num_bytes", "logprob")
    assert first("best@2") == ("best@2",)


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


def test_requests_and_stats_that_do_not_meet_are_told(tmp_path):
    states = MADE["gen"]["scenario_state"]["request_states"]
    other = {**states[0], "instance": {**states[0]["instance"], "id": "elsewhere"}}
    folder = written(tmp_path, MADE["gen"], scenario_state={"request_states": [*states[1:], other, {"odd": 1}]})
    rows, told = read(folder, texts=True)
    found = by_key(rows)
    assert found["id60", "default", 1].completion is None
    assert found["id60", "default", 1].score == 0.0
    assert found["elsewhere", "default", 1].status == "error"
    assert "2 requests of scenario_state.json" in " ".join(told)
    assert "1 of 20 instances have no request" in " ".join(told)


def test_names_of_benchmarks_leave_the_model_out():
    def named(name):
        return helm._name_benchmark(RunSpec(name=name, adapter_spec={}))

    assert named("mmlu:subject=anatomy,model=a_b,data_augmentation=canonical") == "mmlu:subject=anatomy"
    assert named("mmlu:model=a_b,subject=anatomy") == "mmlu:subject=anatomy"
    assert named("boolq:model=a_b") == "boolq"


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


@pytest.mark.parametrize("under", ["", "states"])
def test_a_list_that_is_cut_anywhere_says_so(tmp_path, under):
    """Also behind a record and its comma, where all that is left can be read."""
    records = [{"a": place} for place in range(3)]
    whole = json.dumps({under: records} if under else records, indent=2)
    path = tmp_path / "array.json"
    for length in range(len(whole)):
        path.write_text(whole[:length])
        told = []
        try:
            found = list(file_formats.read_json_array(path, dict, told.append, under=under))
        except InputError:
            continue
        assert told or found == records, whole[:length]


def test_a_torn_gzip_breaks_off_and_says_so(tmp_path, monkeypatch):
    import gzip

    monkeypatch.setattr(file_formats, "_CHUNK", 512)
    packed = gzip.compress(json.dumps([{"a": place} for place in range(2000)], indent=2).encode())
    path = tmp_path / "stats.json"
    path.write_bytes(packed[:-200])
    told = []
    found = list(file_formats.read_json_array(path, dict, lambda note: told.append(note.text)))
    assert 0 < len(found) < 2000
    assert "breaks off" in told[0]
    assert not helm._has_failures(path)


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
