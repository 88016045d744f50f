"""Descriptions of programs: how files are recognised, what tells systems apart, and what is refused."""

import json
import shutil
from pathlib import Path

import msgspec
import pytest

import howsure as hs
from howsure.errors import HowsureWarning, InputError
from howsure.logs import find_reader, get_reader
from howsure.logs.base import ReadOptions
from howsure.logs.log_names import label_models
from howsure.logs.settings import is_harmless, list_conditions
from howsure.logs.spec import Spec

EXAMPLES = Path(__file__).parent / "examples"
HARBOR = EXAMPLES / "harbor" / "2025-12-01__10-00-00"


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = isinstance(value, list) and path.suffix == ".jsonl"
    path.write_text("\n".join(map(json.dumps, value)) if lines else json.dumps(value, indent=2))
    return path


def read(path, **options):
    notes = []
    reader = find_reader(path)
    return list(reader.rows(path, ReadOptions(**options), notes.append)), notes


def label(*paths):
    infos = [find_reader(path).describe(path) for path in paths]
    return [new for labels in label_models(infos) for new in labels.values()]


def test_a_word_that_no_spec_has_is_refused():
    """A field without a place in a row was ignored, and left out in silence."""
    for wrong in ({"fields": {"colour": "prompt"}}, {"benchmrk": "b"}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({"name": "p", "forms": [], **wrong}, Spec)


# --- who reads a file ---


def test_a_run_and_the_file_of_the_latest_run_are_one_run():
    """They differ in their bytes; both were counted, each question twice."""
    with pytest.warns(HowsureWarning) as caught:
        [[cells], [alone]] = [hs.read(EXAMPLES / "deepeval" / name) for name in ("", "test_run.json")]
    assert cells.n.tolist() == alone.n.tolist()
    assert "same-run" in [one.message.note.code for one in caught]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", "model,question,score\nm,q,1\n"),
        ("r.jsonl", '{"model": "m", "question": "q", "score": 1, "example_id": 2, "feedback.x": 3}\n'),
        ("r.json", '[{"question": "q", "answer": "a", "faithfulness": 1, "score": 1}]'),
    ],
)
def test_a_table_with_our_columns_is_no_log_of_a_program(tmp_path, name, text, monkeypatch):
    (tmp_path / name).write_text(text)
    monkeypatch.setattr("howsure.logs.get_reader", lambda program: pytest.fail(f"{program} was asked"))
    assert find_reader(tmp_path / name) is None


# --- what tells systems apart ---


def test_settings_that_are_not_known_to_be_harmless_are_conditions():
    config = {"message_limit": 5, "seed": 3, "agent": {"kwargs": {"depth": 2}, "env": {"KEY": "s"}}, "api_key": "s"}
    config |= {"timeout_multiplier": 1.0, "agent_timeout_multiplier": 2.0, "log_dir": "x", "empty": None}
    assert list_conditions(config) == {"message_limit": 5, "agent.kwargs.depth": 2, "agent_timeout_multiplier": 2.0}
    assert is_harmless("agent.random_seed")
    assert not is_harmless("system_prompt")


def harbor_job(folder, **config):
    shutil.copytree(HARBOR, folder)
    for file in folder.glob("*/result.json"):
        trial = json.loads(file.read_text())
        trial["config"] = {**trial.get("config", {}), **config}
        file.write_text(json.dumps(trial))
    return folder


def test_harbor_jobs_with_other_timeouts_are_of_two_systems(tmp_path):
    one, two = harbor_job(tmp_path / "a"), harbor_job(tmp_path / "b", agent_timeout_multiplier=2.0)
    labels = label(one, two)
    assert {label.partition(" (")[2] for label in labels} == {
        "agent_timeout_multiplier=default)",
        "agent_timeout_multiplier=2.0)",
    }


def test_trials_of_one_folder_with_other_timeouts_are_of_two_systems(tmp_path):
    folder = harbor_job(tmp_path / "a")
    file = next(folder.glob("sqlite*/result.json"))
    trial = json.loads(file.read_text())
    trial["config"] = {**trial.get("config", {}), "agent_timeout_multiplier": 2.0}
    file.write_text(json.dumps(trial))
    rows, _ = read(folder)
    assert sum("agent_timeout_multiplier=2.0" in row.model for row in rows) == 1


# --- what is refused, and what failed ---


def test_what_waza_states_of_a_task_is_no_model(tmp_path):
    with pytest.warns(HowsureWarning):
        (cells,) = hs.read(EXAMPLES / "waza" / "results.json").cells()
    assert set(cells.models) == {"claude-x", "claude-x (baseline)"}
    content = json.loads((EXAMPLES / "waza" / "results.json").read_text())
    for task in content["tasks"]:
        task["runs"] = []
    del content["baseline_outcome"]
    with pytest.raises(InputError, match="no record that can be read"):
        hs.read(write(tmp_path / "results.json", content)).cells()


@pytest.mark.parametrize("flag", [{"failed": True}, {"judge_failed": True}, {"status": "error"}, {"error": "boom"}])
def test_a_flag_of_failure_makes_a_score_missing(tmp_path, flag):
    lines = [json.loads(line) for line in (EXAMPLES / "ifeval" / "eval_results_strict.jsonl").read_text().splitlines()]
    rows, notes = read(write(tmp_path / "eval_results_strict.jsonl", [lines[0] | flag, lines[1] | {"failed": False}]))
    assert [(row.score, row.status) for row in rows] == [(None, "error"), (0.0, "ok")]
    assert [(note.code, note.n) for note in notes if note.code == "log-failed"] == [("log-failed", 1)]


@pytest.mark.parametrize(
    "path", sorted(path for path in (EXAMPLES / "refused").rglob("*.*") if path.is_file()), ids=str
)
def test_what_has_no_scores_of_questions_is_refused_in_one_line(path):
    def read_all(reader):
        for member in reader.members(path):
            reader.describe(member)
            list(reader.rows(member, ReadOptions(), lambda _: None))

    with pytest.raises(InputError) as refused:
        read_all(find_reader(path))
    assert "\n" not in str(refused.value)
    assert refused.value.remedy


# --- one case each of what descriptions say ---


def test_tau2_keeps_simulations_in_files_beside_an_index(tmp_path):
    content = json.loads((EXAMPLES / "tau2_bench" / "results.json").read_text())
    index = [
        {"task_id": one["task_id"], "trial": one["trial"], "reward": (one.get("reward_info") or {}).get("reward")}
        for one in content["simulations"]
    ]
    path = write(tmp_path / "results.json", content | {"simulations": [], "simulation_index": index})
    assert len(read(path)[0]) == len(index)


def test_a_preference_of_zero_is_a_draw_and_others_are_refused(tmp_path):
    one = {"instruction": "i", "output_1": "a", "output_2": "b", "generator_2": "m", "annotator": "x"}
    values = [1, 2, 0, 1.25, -1, None]
    records = [one | {"instruction": str(i), "preference": value} for i, value in enumerate(values)]
    assert [row.score for row in read(write(tmp_path / "a.json", records))[0]] == [0, 1, 0.5, 0.25, None, None]


def test_scores_of_two_judges_are_one_generation(tmp_path):
    one = {"question_id": 81, "model": "m", "turn": 1, "judge": ["gpt-4", "p"], "score": 8}
    records = [
        one,
        one | {"judge": ["claude", "p"], "score": 6},
        one | {"judge": ["claude", "p"], "score": -1, "turn": 2},
    ]
    path = write(tmp_path / "x_single.jsonl", records)
    assert get_reader("mt_bench").describe(path).scorers == ("claude", "gpt-4")
    assert [row.score for row in read(path, scorer="gpt-4")[0]] == [8, None]
    assert [(row.score, row.cluster) for row in read(path, scorer="claude")[0]] == [(6, "81"), (None, "81")]


def test_evalplus_counts_both_sets_of_tests(tmp_path):
    samples = [{"base_status": "pass", "plus_status": "fail"}, {"base_status": "fail", "plus_status": "pass"}]
    path = write(tmp_path / "org--m_vllm_temp_0.8_eval_results.json", {"eval": {"Mbpp/1": samples}})
    rows, _ = read(path)
    assert [(row.score, row.benchmark, row.model) for row in rows] == [(0, "mbppplus", "org/m")] * 2
    assert [row.score for row in read(path, scorer="base")[0]] == [1, 0]


def test_predictions_of_opencompass_are_unscored(tmp_path):
    content = {str(i): {"origin_prompt": "p", "prediction": "x", "gold": "y"} for i in range(2)}
    rows, _ = read(write(tmp_path / "predictions" / "m" / "gsm8k.json", content))
    assert [(row.benchmark, row.model, row.status) for row in rows] == [("gsm8k", "m", "unscored")] * 2


def test_further_texts_of_a_row_are_generations_that_nobody_scored(tmp_path):
    lines = (EXAMPLES / "every_eval_ever" / "u_samples.jsonl").read_text().splitlines()
    line = json.loads(lines[0]) | {"output": {"raw": ["x", "y", "z"]}, "error": None}
    rows, _ = read(write(tmp_path / "u_samples.jsonl", [line]), texts=True)
    assert [(row.completion, row.status) for row in rows] == [("x", "ok"), ("y", "unscored"), ("z", "unscored")]
