"""promptfoo's results. `examples/promptfoo/made.json` is what promptfoo 0.121 wrote for scripted providers."""

import json
from collections import Counter
from pathlib import Path

import pytest

from howsure.errors import InputError
from howsure.logs import get_reader
from howsure.logs.base import ReadOptions

READER = get_reader("promptfoo")
MADE = json.loads((Path(__file__).parent / "examples" / "promptfoo" / "made.json").read_text(encoding="utf-8"))


def write(path, content):
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    return path


def read(path, **options):
    notes = []
    return list(READER.rows(path, ReadOptions(**options), notes.append)), {note.code: note.n for note in notes}


def result(**fields):
    """A row of version 3 with little in it."""
    return {
        "vars": {"q": "one"},
        "provider": {"id": "p"},
        "prompt": {"raw": "Q: one", "label": "Q: {{q}}"},
        "promptIdx": 0,
        "testIdx": 0,
        "score": 1,
        "success": True,
        "namedScores": {},
        "testCase": {"assert": [{"type": "equals", "value": "x"}]},
        "response": {"output": "x"},
        **fields,
    }


def read_results(folder, *results, **options):
    config = {"config": {"description": "d"}, "evalId": "eval-1"}
    return read(write(folder / "r.json", {"results": {"version": 3, "results": list(results)}, **config}), **options)


def test_repeats_are_generations_and_equal_tests_are_noted(tmp_path):
    path = write(tmp_path / "results.json", MADE["echo"])
    rows, notes = read(path)
    cells = Counter((row.model, row.variant, row.question) for row in rows)
    assert sorted(cells.values()) == [3] * 16 + [6] * 4  # five questions, of which one was written down twice
    assert notes["log-collisions"] == 1
    info = READER.describe(path)
    assert (info.models["prov-a"].settings, info.models["echo"].settings) == ({"temperature": 0.7}, {})


def test_a_cache_of_one_answer_per_repeat_gives_generations(tmp_path):
    path = write(tmp_path / "r.json", MADE["cached"])
    rows, _ = read(path, texts=True)
    assert [row.completion for row in rows] == ["two 1", "two 0"] * 3
    assert [row.status for row in rows] == ["ok", "length", "ok", "ok", "ok", "ok"]
    assert READER.describe(path).models["openai:chat:gpt-x"].settings == {"temperature": 0.7, "max_tokens": 50}


def test_answers_that_the_cache_replays_count_once(tmp_path):
    cached = {"response": {"output": "x", "cached": True}}
    rows, notes = read_results(
        tmp_path, result(**cached), result(**cached, testIdx=1), result(testIdx=2, vars={"q": "2"})
    )
    assert len(rows) == 2
    assert (notes["log-replayed-out"], notes["log-replayed"]) == (1, 1)


def test_columns_of_one_name_and_prompts_of_one_label_are_told_apart(tmp_path):
    other = {"prompt": {"raw": "2"}, "promptId": "other"}
    rows, _ = read_results(tmp_path, result(), result(promptIdx=1), result(promptIdx=2, **other))
    assert [row.model for row in rows] == ["p", "p (2)", "p"]
    same = [{"promptId": name, "prompt": {"raw": name, "label": "same"}} for name in ("aa", "bb")]
    long = {"promptId": "0123456789abcdef", "prompt": {"raw": "r", "label": "l" * 61}}
    rows, _ = read_results(tmp_path, *(result(promptIdx=i, **one) for i, one in enumerate([*same, long])))
    assert [row.variant for row in rows] == ["aa", "bb", "0123456789ab"]


def test_failures_are_missing_and_nothing_asserted_is_unscored(tmp_path):
    bare = {"testCase": None, "response": "plain", "vars": {"q": "3"}}
    failed = {"failureReason": 2, "error": "429", "response": None}
    rows, notes = read_results(
        tmp_path, result(score="great"), result(testIdx=1, **failed), result(testIdx=2, **bare), texts=True
    )
    assert [(row.status, row.score) for row in rows] == [("error", None), ("error", None), ("unscored", None)]
    assert (rows[1].error, rows[2].completion) == ("provider: 429", "plain")
    assert (notes["log-failed-as-wrong"], notes["log-no-assertion"]) == (1, 1)
    with pytest.raises(InputError, match="it holds no result"):
        read_results(tmp_path, {"odd": 1})


def test_questions_do_not_depend_on_what_a_run_adds(tmp_path):
    added = {"n": 1, "q": "a", "_conversation": [], "sessionId": "s"}
    rows, _ = read_results(
        tmp_path,
        result(vars={"q": "a", "n": 1}),
        result(testIdx=1, vars=added),
        result(testIdx=2, vars={"q": "a", "n": 2}),
    )
    first, again, other = (row.question for row in rows)
    assert first == again != other
