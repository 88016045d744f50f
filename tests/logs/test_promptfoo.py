"""promptfoo's results. `made/promptfoo.json` is what promptfoo 0.121 wrote for scripted providers, with its token
counts and the texts of its assertions cut out."""

import json
from collections import Counter
from pathlib import Path

import pytest

from howsure.errors import UnknownNameError
from howsure.logs.base import ReadOptions
from howsure.logs.file_formats import FileHead
from howsure.logs.promptfoo import PromptfooReader

READER = PromptfooReader()

MADE = json.loads((Path(__file__).parent / "examples" / "promptfoo" / "made.json").read_text(encoding="utf-8"))


def written(path, content):
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    return path


def read(path, **asked):
    told = []
    return list(READER.rows(path, ReadOptions(**asked), lambda note: told.append(note.text))), " | ".join(told)


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


def log(*results, **fields):
    return {
        "evalId": "eval-1",
        "results": {"version": 3, "results": list(results)},
        "config": {"description": "d"},
        **fields,
    }


def test_repeats_are_generations_and_equal_tests_are_told(tmp_path):
    rows, told = read(written(tmp_path / "results.json", MADE["echo"]))
    cells = Counter((row.model, row.variant, row.question) for row in rows)
    assert sorted(cells.values()) == [3] * 16 + [6] * 4  # five questions, of which one was written down twice
    assert "1 question has more rows than 3 repeats" in told
    for cell, n in cells.items():
        numbers = [row.generation for row in rows if (row.model, row.variant, row.question) == cell]
        assert sorted(numbers) == list(range(1, n + 1))
    assert {row.question.rpartition(" ")[0] for row in rows} == {"first", "x fail", "throw it", "dup", "noassert"}


def test_description_keeps_settings_and_no_keys(tmp_path):
    found = READER.describe(written(tmp_path / "r.json", MADE["echo"]))
    assert found.run == MADE["echo"]["evalId"]
    assert found.models["prov-a"].settings == {"temperature": 0.7}
    assert found.models["echo"].generations == 3
    assert list(found.benchmarks) == ["my eval"]
    assert found.created == "2026-11-21T08:02:01.903Z"
    cached = READER.describe(written(tmp_path / "c.json", MADE["cached"]))
    assert cached.models["openai:chat:gpt-x"].settings == {"temperature": 0.7, "max_tokens": 50}


def test_texts(tmp_path):
    rows, _ = read(written(tmp_path / "r.json", MADE["cached"]), texts=True)
    assert [row.completion for row in rows] == ["two 1", "two 0", "two 1", "two 0", "two 1", "two 0"]
    assert [row.score for row in rows] == [1, 0, 1, 0, 1, 0]
    assert [row.status for row in rows] == ["ok", "length", "ok", "ok", "ok", "ok"]
    assert rows[0].messages == ({"role": "user", "content": "Q: one plus one"},)
    assert [row.finish_reason for row in rows][:2] == ["stop", "length"]


def test_folders_and_other_results_are_no_logs(tmp_path):
    assert not READER.recognises(FileHead(tmp_path))
    assert not READER.recognises(FileHead(written(tmp_path / "y", {"results": {}, "config": {}})))


def test_columns_of_one_name_and_prompt_are_told_apart(tmp_path):
    rows, _ = read(
        written(
            tmp_path / "r.json",
            log(
                result(),
                result(promptIdx=1),
                result(promptIdx=2, promptId="other"),
                result(promptIdx=3, promptId="other"),
            ),
        )
    )
    assert [row.model for row in rows] == ["p", "p (2)", "p", "p (2)"]


def test_prompts_with_long_or_equal_labels_go_by_their_hash(tmp_path):
    long = {"raw": "r", "label": "l" * 61}
    rows, _ = read(
        written(
            tmp_path / "r.json",
            log(
                result(promptId="0123456789abcdef", prompt=long),
                result(promptIdx=1, promptId="aa", prompt={"raw": "1", "label": "same"}),
                result(promptIdx=2, promptId="bb", prompt={"raw": "2", "label": "same"}),
            ),
        )
    )
    assert [row.variant for row in rows] == ["0123456789ab", "aa", "bb"]


def test_scores_that_are_no_numbers(tmp_path):
    rows, told = read(written(tmp_path / "r.json", log(result(score="great"), result(testIdx=1, score=None))))
    assert [(row.status, row.score) for row in rows] == [("error", None), ("error", None)]
    assert "1 score is not a number and is missing: could not convert" in told


def test_columns(tmp_path):
    path = written(
        tmp_path / "r.json", log(result(vars={"q": "a", "id": 7}), result(testIdx=1, vars={"q": "b", "id": 8}))
    )
    rows, _ = read(path, columns={"question": "vars.id", "cluster": "testCase.assert.0.type", "model": "provider.id"})
    assert [(row.question, row.cluster, row.model) for row in rows] == [("7", "equals", "p"), ("8", "equals", "p")]
    with pytest.raises(UnknownNameError, match="unknown field 'vars.no'; did you mean 'vars.q' or 'vars.id'"):
        read(path, columns={"question": "vars.no"})


def test_questions_do_not_depend_on_what_a_run_adds(tmp_path):
    rows, _ = read(
        written(
            tmp_path / "r.json",
            log(
                result(vars={"q": "a", "n": 1}),
                result(testIdx=1, vars={"n": 1, "q": "a", "_conversation": [], "sessionId": "s"}),
                result(testIdx=2, vars={"q": "a", "n": 2}),
                result(testIdx=3, vars={"n": 1}),
            ),
        )
    )
    first, again, other, bare = (row.question for row in rows)
    assert first == again != other
    assert first.startswith("a ")
    assert len(bare) == 8


def test_texts_of_chats_objects_and_targets(tmp_path):
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    rows, _ = read(
        written(
            tmp_path / "r.json",
            log(
                result(prompt={"raw": json.dumps(chat)}, response={"output": {"a": [1]}}),
                result(testIdx=1, prompt={"raw": "[not json"}, response="plain", testCase=None),
                result(
                    testIdx=2,
                    prompt={"raw": ""},
                    response={"output": None, "tokenUsage": {"prompt": 3}},
                    latencyMs=1500,
                ),
                result(testIdx=3, prompt={"raw": chat}),
            ),
        ),
        texts=True,
    )
    assert rows[0].messages == tuple(chat) == rows[3].messages
    assert [row.completion for row in rows] == ['{"a":[1]}', "plain", None, "x"]
    assert [row.target for row in rows] == ["x", None, "x", "x"]
    assert rows[1].messages == ({"role": "user", "content": "[not json"},)
    assert (rows[2].messages, rows[2].prompt_tokens, rows[2].seconds) == (None, 3, 1.5)


def test_copies_are_told(tmp_path):
    questions = [result(testIdx=3 * q + k, vars={"q": str(q)}) for q in range(4) for k in range(3)]
    _, told = read(written(tmp_path / "r.json", log(*questions)))
    assert "all generations of 4 of 4 questions compared are the same text" in told


def test_settings_of_providers_as_they_may_be_written(tmp_path):
    providers = [
        "echo",
        {"openai:x": {"config": {"temperature": 1, "apiKey": "k"}}},
        {"odd": 3},
        {"id": "p", "config": 5},
    ]
    content = log(result(provider={"id": "openai:x"}), result(promptIdx=1), config={"providers": providers})
    found = READER.describe(written(tmp_path / "r.json", content))
    assert {label: model.settings for label, model in found.models.items()} == {"openai:x": {"temperature": 1}, "p": {}}
    assert list(found.benchmarks) == ["r"]
