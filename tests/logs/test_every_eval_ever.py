"""Every Eval Ever: rows as its schema (instance level, 0.2.1 and 0.3.0) and its converters write them."""

import json
import shutil

import pytest

from howsure.errors import InputError, UnknownNameError
from howsure.logs.base import UNSCORED, ReadOptions
from howsure.logs.every_eval_ever import EveryEvalEverReader
from howsure.logs.file_formats import FileHead

READER = EveryEvalEverReader()


def line(sample, score, text="t", *, epoch=None, **over):
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "gsm8k/m/1",
        "model_id": "dev/m",
        "evaluation_name": "gsm8k",
        "sample_id": sample,
        "interaction_type": "single_turn",
        "input": {"raw": "2+2", "formatted": None, "reference": ["4", "four"], "choices": ["4", "5"]},
        "output": {"raw": [text], "reasoning_trace": []},
        "messages": None,
        "answer_attribution": [
            {"extracted_value": "3", "is_terminal": False},
            {"extracted_value": text[:1], "is_terminal": True},
        ],
        "evaluation": {"score": score, "is_correct": bool(score)},
        "token_usage": {"input_tokens": 7, "output_tokens": 2},
        "performance": {"latency_ms": 1500.0},
        "error": None,
        "metadata": None if epoch is None else {"epoch": str(epoch), "subject": "sums"},
        **over,
    }


def written(folder, *lines, name="u_samples.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def totals(folder, name="u.json", rows=None):
    args = {"temperature": 0.5, "max_tokens": None, "sandbox": "x"}
    path = folder / name
    path.write_text(json.dumps({
        "schema_version": "0.3.0", "evaluation_id": "gsm8k/m/1", "model_info": {}, "eval_library": {"name": "lm_eval"},
        "detailed_evaluation_results": {"total_rows": rows},
        "evaluation_results": [{"generation_config": {"generation_args": args}}],
    }))  # fmt: skip
    return path


def read(path, **asked):
    told = []
    return list(READER.rows(path, ReadOptions(**asked), told.append)), told


# --- theory: what the fields mean, by the schema and the converters ---


def test_rows(tmp_path):
    rows, told = read(written(tmp_path, line("a", 1.0, "4"), line("b", 0.0, "5")), texts=True)
    assert [(row.benchmark, row.model, row.question, row.variant, row.generation, row.score) for row in rows] == [
        ("gsm8k", "dev/m", "a", "default", 1, 1.0),
        ("gsm8k", "dev/m", "b", "default", 1, 0.0),
    ]
    first = rows[0]
    assert (first.answer, first.completion, first.target, first.choices) == ("4", "4", "4 | four", ("4", "5"))
    assert first.messages == ({"role": "user", "content": "2+2"},)
    assert (first.prompt_tokens, first.completion_tokens, first.seconds) == (7, 2, 1.5)
    assert told == []
    lean, _ = read(written(tmp_path, line("a", 1.0, "4")))
    assert lean[0].completion is lean[0].messages is lean[0].target is None


def test_totals_lead_to_their_samples_and_settings(tmp_path):
    path, samples = totals(tmp_path), written(tmp_path, line("a", 1.0))
    assert READER.recognises(FileHead(path))
    assert READER.recognises(FileHead(samples))
    assert READER.members(path) == READER.members(samples) == [samples]
    found = READER.describe(samples)
    assert found.models["dev/m"].settings == {"temperature": 0.5}
    assert found.benchmarks == {"gsm8k": {"library": "lm_eval"}}
    assert found.run == "gsm8k/m/1"
    assert read(path) == read(samples)
    renamed = tmp_path / "renamed.json"
    shutil.copy(samples, renamed)
    assert read(renamed) == read(samples)
    assert READER.describe(renamed).models["dev/m"].settings == {}
    shutil.copy(totals(tmp_path), tmp_path / "renamed.json")
    path.write_text(path.read_text()[:-1])
    assert READER.describe(samples).models["dev/m"].settings == {}
    with pytest.raises(InputError, match="the score of each question is not known"):
        READER.describe(renamed)


def test_metrics_are_a_choice_and_never_repeats(tmp_path):
    pair = [line(s, v, evaluation_result_id=m) for s in "ab" for m, v in (("acc", 1.0), ("f1", 0.5))]
    path = written(tmp_path, *pair, line("x", 0.25, evaluation_name="law", evaluation_result_id="law-acc"))
    rows, told = read(path)
    assert [(row.question, row.generation, row.score) for row in rows] == [("a", 1, 1.0), ("b", 1, 1.0), ("x", 1, 0.25)]
    assert told == ["2 scorers, of which 'acc' is read: --scorer reads another ('f1')"]
    assert [row.score for row in read(path, scorer="f1")[0]] == [0.5, 0.5, 0.25]
    with pytest.raises(UnknownNameError, match="f2"):
        read(path, scorer="f2")
    rows, told = read(written(tmp_path, line("a", 1.0), line("a", 0.5)))
    assert [row.score for row in rows] == [1.0]
    assert told == ["1 row repeats a sample with the same text: its first score is read"]


def test_epochs_are_generations(tmp_path):
    lines = [line(s, float(k == 1), f"{s}{k}", epoch=k) for s in "abc" for k in (1, 2)]
    rows, told = read(written(tmp_path, *lines), columns={"cluster": "metadata.subject"})
    assert [(row.question, row.generation, row.score, row.cluster) for row in rows] == [
        (s, k, float(k == 1), "sums") for s in "abc" for k in (1, 2)
    ]
    assert told == []
    with pytest.raises(UnknownNameError, match=r"metadata\.x"):
        read(written(tmp_path, *lines), columns={"cluster": "metadata.x"})


def test_reduced_scores_are_no_scores(tmp_path):
    lines = [line(s, 2 / 3, f"{s}{k}", epoch=k) for s in "abc" for k in (1, 2, 3)]
    rows, told = read(written(tmp_path, *lines))
    assert {(row.status, row.score) for row in rows} == {(UNSCORED, None)}
    assert len(rows) == 9
    assert told[0] == "9 generations are kept without a score of their own"
    assert told[1].startswith("each repeat carries the mean of its sample's repeats")


def test_scores_that_may_be_reduced_are_told(tmp_path):
    lines = [line(s, 1.0, f"{s}{k}", epoch=k) for s in "abc" for k in (1, 2)]
    rows, told = read(written(tmp_path, *lines, line("d", "odd", epoch=1), line("e", None, epoch=1)))
    assert [row.score for row in rows] == [1.0] * 6 + [None, None]
    assert [row.status for row in rows[-2:]] == ["error", "error"]
    assert any(text.startswith("all repeats of each of 3 samples have the same score") for text in told)


def test_errors_and_further_completions(tmp_path):
    path = written(
        tmp_path,
        line("a", 0.0, error="timeout"),
        line("b", 1.0, output={"raw": ["x", "y"]}),
        line(
            "c",
            1.0,
            output=None,
            messages=[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}],
            answer_attribution=None,
        ),
        line("d", 1.0, output={"raw": "text"}, input=None, token_usage=None, performance=None),
    )
    rows, told = read(path, texts=True)
    assert [(row.question, row.generation, row.status, row.score, row.completion) for row in rows] == [
        ("a", 1, "error", None, "t"),
        ("b", 1, "ok", 1.0, "x"),
        ("b", 2, UNSCORED, None, "y"),
        ("c", 1, "ok", 1.0, "yo"),
        ("d", 1, "ok", 1.0, "text"),
    ]
    assert rows[0].error == "harness: timeout"
    assert rows[3].messages == ({"role": "user", "content": "hi"},)
    assert (rows[4].messages, rows[4].target, rows[4].prompt_tokens) == (None, None, None)
    assert sorted(told) == sorted(
        [
            "1 of 4 samples do not have 1 generation",
            "1 error that the harness counted as wrong is missing here; --missing as-zero counts it as 0",
            "1 generation is kept without a score of its own",
        ]
    )


def test_rows_that_are_gone_are_told(tmp_path):
    totals(tmp_path, rows=4)
    lines = [line(s, float(k == 1), f"{s}{k}", epoch=k) for s in "ab" for k in (1, 2)]
    assert read(written(tmp_path, *lines))[1] == []
    _, told = read(written(tmp_path, *lines[:3]))
    assert told == [
        "there are 3 rows, but the totals count 4: some are lost",
        "1 of 2 samples do not have 2 generations",
    ]


def test_copies_are_told(tmp_path):
    lines = [line(s, float(s > "b"), "same", epoch=k) for s in "abcd" for k in (1, 2)]
    assert read(written(tmp_path, *lines))[1][-1].startswith("all generations of 4 of 4 questions")
