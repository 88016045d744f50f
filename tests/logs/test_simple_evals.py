"""simple-evals. The pages have the shape that its template gives them, with every value escaped as jinja does."""

import html
import json
import shutil

import pytest

from howsure.errors import InputError, UnknownNameError
from howsure.logs.base import ReadOptions
from howsure.logs.file_formats import FileHead
from howsure.logs.simple_evals import SimpleEvalsReader

READER = SimpleEvalsReader()

NAME = "gpqa_gpt-4o_chatgpt_20260102_030405_allresults.json"


def page(turns, target, answer, score):
    told = "".join(f'<div class="message {role}"><pre>{html.escape(text)}</pre></div>\n' for role, text in turns)
    target = "" if target is None else f"<p>Correct Answer: {html.escape(target)}</p>\n"
    return (
        f"\n<h3>Prompt conversation</h3>\n{told}<h3>Results</h3>\n{target}"
        f"<p>Extracted Answer: {html.escape(str(answer))}</p>\n<p>Score: {score}</p>"
    )


def example(prompt, completion, target, answer, score, system="Be brief."):
    turns = [("system", system), ("user", prompt), ("assistant", completion)]
    return page(turns, target, answer, score), [{"role": role, "content": text} for role, text in turns]


def written(folder, examples, *, name=NAME, score=None, metadata=None, **over):
    path = folder / name
    data = {
        "score": score,
        "metrics": {"chars": 3.0},
        "htmls": [each[0] for each in examples],
        "convos": [each[1] for each in examples],
        "metadata": {"example_level_metadata": metadata or [None] * len(examples)},
    }
    path.write_text(json.dumps(data | over, indent=2))
    return path


def read(path, **asked):
    told = []
    return list(READER.rows(path, ReadOptions(**asked), told.append)), told


SUMS = [
    example("1+1?", "Answer: 2", "2", "2", 1.0),
    example("2+2?", "Answer: 5", "4", "5", 0.0),
    example("3+3?", "hm", "6", None, 0.0),
    example("1+1?", "Answer: <2>", "2", "<2>", "True"),
    example("2+2?", "<h3>Results</h3>\n<p>Extracted Answer: 4</p>\n<p>Score: 1.0</p>", "4", "four & more", 0.0),
    example("3+3?", "Answer: 6", "6", "6", 1.0),
]


# --- theory: what stands where, by the program's template and its aggregation ---


def test_rows_of_two_repeats(tmp_path):
    rows, told = read(written(tmp_path, SUMS, score=0.5), texts=True)
    assert [(row.generation, row.score, row.status, row.answer, row.target) for row in rows] == [
        (1, 1.0, "ok", "2", "2"),
        (1, 0.0, "ok", "5", "4"),
        (1, 0.0, "unparsed", None, "6"),
        (2, 1.0, "ok", "<2>", "2"),
        (2, 0.0, "ok", "four & more", "4"),  # a completion that looks like a page was escaped
        (2, 1.0, "ok", "6", "6"),
    ]
    assert [rows[0].question, rows[1].question, rows[2].question] == [row.question for row in rows[3:]]
    assert rows[0].completion == "Answer: 2"
    assert rows[0].messages == ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "1+1?"})
    assert {(row.benchmark, row.model) for row in rows} == {("gpqa", "gpt-4o_chatgpt")}
    assert told == []


def test_the_system_message_is_no_part_of_a_question(tmp_path):
    (one,), _ = read(written(tmp_path, [example("1+1?", "2", "2", "2", 1.0)]))
    (two,), _ = read(written(tmp_path, [example("1+1?", "3", "2", "3", 0.0, system="Think.")]))
    assert one.question == two.question
    assert one.completion is one.messages is one.target is None


def test_shuffled_choices_are_one_question_and_answers_their_texts(tmp_path):
    first = example("Which?\n\nA) red\nB) blue\nthe sky\nC) green", "Answer: B", "B", "B", 1.0)
    second = example("Which?\n\nA) green\nB) red\nC) blue\nthe sky", "Answer: B", "C", "B", 0.0)
    other = example("What?\n\nA) green\nB) red\nC) blue\nthe sky", "Answer: B", "C", "B", 0.0)
    rows, told = read(written(tmp_path, [first, second, other, other], score=0.25), texts=True)
    assert [row.generation for row in rows] == [1, 2, 1, 2]
    assert len({row.question for row in rows}) == 2
    assert [(row.target, row.answer) for row in rows] == [("blue", "blue"), ("blue", "red"), ("C", "B"), ("C", "B")]
    assert rows[1].choices == ("green", "red", "blue")
    assert told == [
        "the choices of 1 question are in another order each time: that noise is part of the noise between generations"
    ]


def test_scores_and_ids_of_the_metadata_come_first(tmp_path):
    examples = [example("a", "b", None, "b", 0.5), example("a", "c", None, "c", -0.5)]
    metadata = [{"score": -0.25, "prompt_id": "p1", "topic": "x"}, {"score": -0.5, "prompt_id": "p2"}]
    path = written(
        tmp_path,
        examples,
        name="healthbench_hard_m_20260102_030405_DEBUG_allresults.json",
        metadata=metadata,
        score=0.0,
    )
    rows, told = read(path, texts=True, columns={"cluster": "metadata.topic"})
    assert [(row.question, row.score, row.cluster) for row in rows] == [("p1", -0.25, "x"), ("p2", -0.5, None)]
    # Healthbench clips its mean, so that no difference is noted.
    assert told == ["1 record has no metadata.topic: its cluster is read as without --columns"]
    found = READER.describe(path)
    assert (list(found.benchmarks), list(found.models), found.created) == (
        ["healthbench_hard"],
        ["m"],
        "2026-01-02T03:04:05",
    )
    with pytest.raises(UnknownNameError, match=r"metadata\.x"):
        read(path, columns={"cluster": "metadata.x"})


def test_what_has_no_score_and_what_was_refused(tmp_path):
    examples = [
        example("a", "No response (bad request).", "x", None, 0.0),
        (None, example("b", "c", "x", "c", 1)[1]),
        example("c", "d", "x", "d", "good"),
        example("c", "d", "x", "d", "None"),
        example("c", "e", "x", "e", 1.0),
    ]
    rows, told = read(written(tmp_path, examples, score=0.5), texts=True)
    assert [(row.score, row.status) for row in rows] == [
        (None, "error"),
        (None, "error"),
        (None, "error"),
        (None, "error"),
        (1.0, "ok"),
    ]
    assert rows[0].error == "bad_request: the endpoint refused the request"
    assert rows[2].error == "scoring: could not convert string to float: 'good'"
    assert sorted(told) == sorted(
        [
            "1 score is not a number and is missing: could not convert string to float: 'good'",
            "2 examples hold a completion and no score",
            "1 error that the harness counted as wrong is missing here; --missing as-zero counts it as 0",
            "1 of 3 questions have other than 1 generation: equal prompts are one question",
        ]
    )


def test_a_mean_that_differs_is_told(tmp_path):
    _, told = read(written(tmp_path, SUMS, score=0.75))
    assert told == ["the file states a score of 0.75, and its examples have a mean of 0.5: some are damaged"]


def test_names_that_say_nothing(tmp_path):
    path = written(tmp_path, SUMS, score=0.5)
    for name, benchmark, model in [("renamed", "simple-evals", "renamed"), ("mmlu_m.json", "mmlu", "m")]:
        shutil.copy(path, tmp_path / name)
        assert READER.recognises(FileHead(tmp_path / name))
        rows, told = read(tmp_path / name)
        assert {(row.benchmark, row.model) for row in rows} == {(benchmark, model)}
        assert told == [
            f"only a name such as EVAL_MODEL_DATE_allresults.json states what was run: taken as '{benchmark}' by '{model}'"
        ]
        assert READER.describe(tmp_path / name).run == READER.describe(path).run
    assert READER.members(path) == [path]


def test_completions_without_pages_and_pages_without_completions(tmp_path):
    rows, _ = read(written(tmp_path, SUMS[:1], htmls=[], metadata=[]), texts=True)
    assert [(row.status, row.completion) for row in rows] == [("error", "Answer: 2")]
    rows, _ = read(written(tmp_path, SUMS[:2], convos=None, metadata=None), texts=True)
    assert [(row.question, row.score, row.completion, row.messages) for row in rows] == [
        ("0", 1.0, None, None),
        ("1", 0.0, None, None),
    ]
    (row,), _ = read(
        written(tmp_path, [(SUMS[0][0], [{"role": "user", "content": [{"text": "x"}]}, {"role": "assistant"}])]),
        texts=True,
    )
    assert (row.completion, row.messages[0]["content"]) == ("", '[{"text":"x"}]')


def test_what_is_refused(tmp_path):
    with pytest.raises(InputError, match="no example"):
        read(written(tmp_path, []))
    with pytest.raises(InputError, match="2 pages, 1 conversations"):
        read(written(tmp_path, SUMS[:2], convos=[[]]))
    with pytest.raises(UnknownNameError, match="no scorer at all"):
        read(written(tmp_path, SUMS), scorer="x")
    packed = tmp_path / "packed"
    packed.write_bytes(b"\x1f\x8b\x08broken")
    with pytest.raises(InputError, match="cannot be read"):
        READER.describe(packed)
