"""OpenAI evals. `examples/openai_evals/` was written by evals 3.0.1 itself; other events mean what its code says."""

import json
from pathlib import Path

import pytest

from howsure.errors import UnknownNameError
from howsure.logs import get_reader
from howsure.logs.base import ReadOptions

OUT = Path(__file__).parent / "examples" / "openai_evals"
MATCH, FUZZY, JOKE = (OUT / f"{name}.jsonl" for name in ("test-match", "test-fuzzy-match", "joke-fruits"))
SPEC = {
    "completion_fns": ["m/a"],
    "eval_name": "sums.dev.v0",
    "base_eval": "sums",
    "split": "dev",
    "run_config": {"eval_spec": {"cls": "x:Match", "args": {}}, "command": "oaieval 'open"},
    "run_id": "R1",
}
REPORT = {"final_report": {"accuracy": 2 / 3}}


def read(path, **options):
    notes = []
    return list(get_reader("openai_evals").rows(path, ReadOptions(**options), notes.append)), notes


def log(folder, *events, head=({"spec": SPEC}, REPORT)):
    """Events are (type, data) of one sample."""
    names = ("run_id", "event_id", "sample_id", "type", "data")
    events = (dict(zip(names, ("R1", at, "sums.dev.3", *event), strict=True)) for at, event in enumerate(events))
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [*head, *events]))
    return path


def sampling(prompt, text):
    return "sampling", {"prompt": prompt, "sampled": [text]}


@pytest.mark.parametrize(
    ("path", "scorer", "key"),
    [
        (MATCH, None, "accuracy"),
        (FUZZY, "match", "accuracy"),
        (FUZZY, "accuracy", "accuracy"),
        (FUZZY, "f1_score", "f1_score"),
        (JOKE, None, "score"),
    ],
)
def test_the_final_report_is_reproduced(path, scorer, key):
    rows, notes = read(path, scorer=scorer)
    [report] = [one["final_report"] for one in map(json.loads, path.read_text().splitlines()) if "final_report" in one]
    assert sum(row.score for row in rows) / len(rows) == pytest.approx(report[key], abs=1e-12)
    assert not [note for note in notes if note.code == "log-mean-differs"]


def test_the_judge_is_not_what_was_scored():
    rows, notes = read(JOKE, texts=True)
    assert {row.model for row in rows} == {"tiny"}
    assert all("funny?" not in row.messages[0]["content"] for row in rows)
    assert [(note.code, note.n) for note in notes] == [("log-steps", 10)]


def test_the_same_prompt_sampled_again_is_another_generation_and_another_one_a_part(tmp_path):
    right, wrong = ("match", {"correct": True}), ("match", {"correct": False})
    again = log(tmp_path, sampling("2+2", "4"), right, sampling("2+2", "5"), wrong)
    assert [(row.question, row.generation, row.score) for row in read(again)[0]] == [("3", 1, 1.0), ("3", 2, 0.0)]
    parts = log(tmp_path, sampling("2+2", "4"), right, wrong, sampling("3+3", "6"), right)
    rows, notes = read(parts, columns={"cluster": "sample_id"})
    assert [(row.question, row.score) for row in rows] == [("3", 1.0), ("3/2", 0.0), ("3/3", 1.0)]
    assert {row.cluster for row in rows} == {"sums.dev.3"}
    assert [(note.code, note.n) for note in notes] == [("log-parts", 2)]


def test_what_a_log_does_not_say_is_noted(tmp_path):
    lost = log(tmp_path, sampling("2+2", "4"), ("match", {"correct": True}), head=())
    rows, notes = read(lost)
    assert [(row.benchmark, row.model, row.score) for row in rows] == [("sums.dev", "unknown", 1.0)]
    assert [note.code for note in notes] == ["log-no-report", "log-no-spec"]
    unscored, _ = read(log(tmp_path, sampling("2+2", "4")))
    assert [row.status for row in unscored] == ["unscored"]
    failed, _ = read(log(tmp_path, sampling("2+2", "4"), ("error", {"type": "Timeout", "message": "m"})))
    assert [(row.status, row.error) for row in failed] == [("error", "Timeout: m")]


def test_columns_name_fields_of_the_event(tmp_path):
    path = log(tmp_path, ("match", {"correct": True, "topic": "a"}))
    (row,), _ = read(path, columns={"question": "data.topic", "model": "spec.run_id"})
    assert (row.question, row.model) == ("a", "R1")
    with pytest.raises(UnknownNameError, match=r"data\.subject"):
        read(path, columns={"cluster": "data.subject"})
