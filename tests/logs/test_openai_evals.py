"""OpenAI evals. `examples/openai_evals/` was written by evals 3.0.1 itself, with a completion function that answers by rote."""

import json
from pathlib import Path

import pytest

from howsure.errors import UnknownNameError
from howsure.logs.base import ReadOptions
from howsure.logs.openai_evals import OpenAIEvalsReader

READER = OpenAIEvalsReader()

OUT = Path(__file__).parent / "examples" / "openai_evals"
MATCH, FUZZY, JOKE = (OUT / f"{name}.jsonl" for name in ("test-match", "test-fuzzy-match", "joke-fruits"))

SPEC = {
    "completion_fns": ["m/a"],
    "eval_name": "sums.dev.v0",
    "base_eval": "sums",
    "split": "dev",
    "run_config": {"eval_spec": {"cls": "x:Match", "args": {}}, "seed": 7, "max_samples": None, "command": "oaieval"},
    "run_id": "R1",
    "created_at": "2026-01-02 03:04:05.000006",
}


def read(path, **asked):
    told = []
    return list(READER.rows(path, ReadOptions(**asked), lambda note: told.append(note.text))), told


def report_of(path):
    lines = map(json.loads, path.read_text().splitlines())
    return next(line["final_report"] for line in lines if "final_report" in line)


def mean(rows):
    return sum(row.score for row in rows) / len(rows)


def log(folder, *events, spec=SPEC, report=None):
    """Events are (sample, type, data)."""
    lines = [{"spec": spec}] if spec else []
    lines += [] if report is None else [{"final_report": report}]
    for at, (sample, kind, data) in enumerate(events):
        lines.append(
            {
                "run_id": "R1",
                "event_id": at,
                "sample_id": sample,
                "type": kind,
                "data": data,
                "created_at": "2026-01-02 03:04:05+00:00",
            }
        )
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def sampling(prompt, *sampled, **more):
    return {"prompt": prompt, "sampled": list(sampled), **more}


# --- another program's output ---


def test_rows_of_a_real_run():
    rows, told = read(MATCH, texts=True)
    assert [(row.question, row.score, row.answer, row.completion, row.target) for row in rows] == [
        ("2", 0.0, None, "16", "15"),
        ("1", 1.0, "George Washington", "George Washington.", "George Washington"),
        ("0", 1.0, "time", "time, long ago", "time"),
    ]
    assert rows[0].messages == (
        {"role": "system", "content": "Complete the phrase as concisely as possible."},
        {"role": "user", "content": "OpenAI was founded in 20"},
    )
    first = rows[0]
    assert (first.benchmark, first.model, first.variant, first.generation) == (
        "test-match.s1.simple-v0",
        "tiny",
        "default",
        1,
    )
    assert (first.prompt_tokens, first.completion_tokens, first.endpoint_model) == (12, 3.0, "tiny-1")
    assert first.created == pytest.approx(1795248383.505216)  # 2026-11-21 08:06:23.505216 UTC
    assert told == []


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
    rows, _ = read(path, scorer=scorer)
    assert mean(rows) == pytest.approx(report_of(path)[key], abs=1e-12)


def test_several_scores_are_a_choice():
    rows, told = read(FUZZY, texts=True)
    assert told == ["3 scorers, of which 'match' is read: --scorer reads another ('accuracy', 'f1_score')"]
    assert {row.question: (row.answer, row.target) for row in rows} == {
        "2": (None, "Evangeline Lilly"), "1": ("It was 11", "Season 11 | 11"), "0": ("Millie Bobby Brown", "Millie Bobby Brown"),
    }  # fmt: skip
    with pytest.raises(UnknownNameError, match="f1_score"):
        read(FUZZY, scorer="f2")


def test_the_judge_is_not_what_was_scored():
    rows, told = read(JOKE, texts=True)
    assert {row.question for row in rows} == {str(n) for n in range(10)}
    assert {row.model for row in rows} == {"tiny"}
    assert all("funny?" not in row.messages[0]["content"] for row in rows)
    assert told == ["10 sampled texts are steps or calls of a judge, and no generations"]


def test_what_is_described():
    found = READER.describe(FUZZY)
    assert found.run == json.loads(FUZZY.read_text().splitlines()[0])["spec"]["run_id"]
    assert found.benchmarks["test-fuzzy-match.s1.simple-v0"] == {
        "eval": "test-fuzzy-match", "split": "s1", "class": "evals.elsuite.basic.fuzzy_match:FuzzyMatch",
        "samples": "test_fuzzy_match/samples.jsonl", "seed": 20220722,
    }  # fmt: skip
    assert found.scorers == ("match", "accuracy", "f1_score")
    assert found.models["tiny"].kind == "OpenAI evals"
    assert found.created.startswith("2026-11-21T08:06:27")


# --- theory: what the events mean, by the harness's code ---


def test_the_same_prompt_sampled_again_is_another_generation(tmp_path):
    pair = [
        ("sums.dev.3", "sampling", sampling("2+2", "4")),
        ("sums.dev.3", "match", {"correct": True, "expected": "4"}),
    ]
    rows, told = read(log(tmp_path, *pair, *pair, report={"accuracy": 1.0}))
    assert [(row.question, row.generation) for row in rows] == [("3", 1), ("3", 2)]
    assert told == []


def test_other_prompts_and_other_checks_are_parts(tmp_path):
    path = log(
        tmp_path,
        ("sums.dev.3", "sampling", sampling("2+2", "4")),
        ("sums.dev.3", "match", {"correct": True}),
        ("sums.dev.3", "match", {"correct": False}),
        ("sums.dev.3", "sampling", sampling("3+3", "6")),
        ("sums.dev.3", "match", {"correct": True}),
        report={"accuracy": 2 / 3},
    )
    rows, told = read(path, columns={"cluster": "sample_id"})
    assert [(row.question, row.generation, row.score) for row in rows] == [
        ("3", 1, 1.0),
        ("3/2", 1, 0.0),
        ("3/3", 1, 1.0),
    ]
    assert {row.cluster for row in rows} == {"sums.dev.3"}
    assert len(told) == 1
    assert "2 scores are of another prompt" in told[0]


def test_odd_values_are_read_as_far_as_they_go(tmp_path):
    spec = {**SPEC, "run_config": {"command": "oaieval 'open"}, "created_at": None}
    path = log(
        tmp_path,
        ("sums.dev.0", "sampling", {"prompt": None, "sampled": {"name": "f"}, "usage": 7}),
        ("sums.dev.0", "metrics", ["no object"]),
        ("sums.dev.0", "metrics", {"score": 0.25}),
        ("sums.dev.1", "sampling", {"prompt": {"q": 1}, "sampled": "4"}),
        ("sums.dev.1", "metrics", {"score": 0.5}),
        ("sums.dev.2", "sampling", ["no object"]),
        ("sums.dev.2", "metrics", {"score": 0.75, "expected": 4}),
        ("sums.dev.2", "sampling", sampling("late", "5")),
        spec=spec,
        report=["odd"],
    )
    path.write_text(path.read_text().replace("2026-01-02 03:04:05+00:00", "soon"))
    rows, told = read(path, texts=True, scorer="score")
    assert [(row.score, row.completion, row.messages, row.target, row.created) for row in rows] == [
        (0.25, '{"name":"f"}', None, None, None),
        (0.5, "4", ({"role": "user", "content": '{"q":1}'},), None, None),
        (0.75, None, None, "4", None),
    ]
    assert told == ["1 sampled text is a step or a call of a judge, and no generation"]
    assert READER.describe(path).created == ""


def test_columns_name_fields_of_the_event(tmp_path):
    path = log(tmp_path, ("sums.dev.0", "match", {"correct": True, "topic": "a"}), report={"accuracy": 1})
    (row,), _ = read(path, columns={"question": "data.topic", "model": "spec.run_id"})
    assert (row.question, row.model) == ("a", "R1")
    with pytest.raises(UnknownNameError, match=r"data\.subject"):
        read(path, columns={"cluster": "data.subject"})
