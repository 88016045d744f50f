"""Logs of Inspect. Truths: the logs that it wrote itself (shared), its own package where installed, and made logs."""

import importlib.util
import json
import re
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest
from helpers.zstd_zip import zipped

from howsure.errors import InputError, UnknownNameError
from howsure.logs import find_reader
from howsure.logs.base import UNSCORED, ReadOptions
from howsure.logs.file_formats import FileHead
from howsure.logs.inspect.reader import InspectReader

READER = InspectReader()

SHARED = Path(__file__).resolve().parents[2] / "../shared/data/logs/inspect"
LONG = "what was thought on the way, step by step; " * 8


def score(value, answer="4", **more):
    return {"value": value, "answer": answer, "explanation": "", "history": [], **more}


def sample(question, epoch=1, *, scores=None, texts=None, stop="stop", **more):
    """A sample as Inspect writes it, whole."""
    texts = [f"{LONG}{question} {epoch} ANSWER: 4"] if texts is None else texts
    choices = [
        {"message": {"id": f"a{i}", "role": "assistant", "content": text, "source": "generate"}, "stop_reason": stop}
        for i, text in enumerate(texts)
    ]
    asked = {"id": "m", "role": "user", "content": f"What is 2+2? ({question})", "source": "input"}
    return {
        "id": question, "epoch": epoch, "input": f"What is 2+2? ({question})", "target": "4",
        "messages": [asked, *(choice["message"] for choice in choices[:1])],
        "output": {"model": "m-1", "choices": choices, "completion": texts[0] if texts else ""},
        "scores": {"match": score("C")} if scores is None else scores,
        "metadata": {"passage": f"p{str(question)[-1]}", "level": 3}, "events": [{"event": "model", "at": [1, {"b": 2}]}],
        "model_usage": {"mock/m": {"input_tokens": 7, "output_tokens": 6}}, "total_time": 1.5,
        "completed_at": "2026-11-20T21:11:14+00:00", "error_retries": [], "attachments": {}, "uuid": f"{question}-{epoch}",
        **more,
    }  # fmt: skip


def summary(whole):
    """What Inspect keeps of it in summaries.json: no texts, and of an error the message, of a limit the kind."""
    kept = {key: whole[key] for key in ("id", "epoch", "input", "target", "scores", "metadata", "model_usage", "uuid")}
    kept |= {"total_time": whole["total_time"], "completed_at": whole["completed_at"], "retries": 0, "completed": True}
    if whole.get("error"):
        kept["error"] = whole["error"]["message"]
    if whole.get("limit"):
        kept["limit"] = whole["limit"]["type"]
    return kept


def header(samples, *, status="success", epochs=1, scorers=("match",), config=None, **more):
    ids = list(dict.fromkeys(one["id"] for one in samples))
    spec = {
        "eval_id": "E1", "run_id": "R1", "created": "2026-11-20T21:11:12+00:00", "task": "inspect_evals/sums",
        "task_version": 2, "task_args": {"template": "plain", "shots": 5}, "model": "mock/m",
        "dataset": {"name": "sums", "location": "sums.csv", "samples": len(ids), "sample_ids": ids, "shuffled": False},
        "model_generate_config": {"temperature": 1.0, "max_connections": 9, "extra_headers": {"key": "secret"}},
        "model_args": {}, "config": {"epochs": epochs, **more.pop("run", {})},
    }  # fmt: skip
    reported = [{"name": name.rpartition("/")[2], "scorer": name.split("/")[0], "metrics": {}} for name in scorers]
    results = {"total_samples": len(ids) * epochs, "completed_samples": len(samples), "scores": reported}
    return {
        "version": 2, "status": status, "eval": spec,
        "plan": {"name": "plan", "steps": [], "config": {"temperature": 0.7, "seed": None, **(config or {})}},
        "results": results, "stats": {}, "invalidated": False, **more,
    }  # fmt: skip


def encoded(record):
    return json.dumps(record).encode()


def packed(samples, head, *, done=True, batch=2, journal=True, **how):
    """A .eval file: finished, or as it lies while the run goes on."""
    start = {"version": 2, "eval": head["eval"], "plan": head["plan"]}
    members = [("_journal/start.json", encoded(start))]
    for i in range(0, len(samples), batch):
        some = samples[i : i + batch]
        members += [(f"samples/{one['id']}_epoch_{one['epoch']}.json", encoded(one)) for one in some]
        if journal:
            members.append((f"_journal/summaries/{i // batch + 1}.json", encoded([summary(one) for one in some])))
    if done:
        members += [("summaries.json", encoded([summary(one) for one in samples])), ("header.json", encoded(head))]
    return zipped(members, **how)


def whole(samples, head):
    """A .json file."""
    return encoded({**head, "samples": samples})


WRITERS = {"eval": packed, "json": whole}


@pytest.fixture(params=sorted(WRITERS))
def log(request, tmp_path):
    """A function from samples to the path of their log, once as .eval and once as .json; neither by its name."""

    def written(samples, **how):
        path = tmp_path / "some file"
        path.write_bytes(WRITERS[request.param](samples, header(samples, **how)))
        return path

    return written


def read(path, **asked):
    told = []
    return list(READER.rows(path, ReadOptions(**asked), lambda note: told.append(note.text))), told


KEY = ("benchmark", "model", "question", "variant", "generation")


def keys(rows):
    return [tuple(getattr(row, name) for name in KEY) for row in rows]


def both(path, **asked):
    """Rows with texts, and what was told; without texts they have the same keys, scores, answers and errors."""
    lean, told = read(path, **asked)
    rows, told_too = read(path, texts=True, **asked)
    same = [(row.score, row.answer, row.error, row.cluster, row.created, row.attempts) for row in rows]
    assert keys(lean) == keys(rows)
    assert same == [(row.score, row.answer, row.error, row.cluster, row.created, row.attempts) for row in lean]
    assert {row.completion for row in lean} <= {None}
    assert {row.messages for row in lean} <= {None}
    assert told == told_too
    return rows, told


# A made log: by construction.


def test_a_log_is_read_to_its_last_field(log):
    path = log([sample("a"), sample(7, scores={"match": score("I", "5")})])
    assert isinstance(find_reader(path), InspectReader)
    assert READER.members(path) == [path]
    rows, told = both(path)
    assert told == []
    first, second = rows
    assert keys(rows) == [("sums", "mock/m", "a", "default", 1), ("sums", "mock/m", "7", "default", 1)]
    assert msgspec.structs.asdict(first) == {
        "benchmark": "sums", "model": "mock/m", "question": "a", "variant": "default", "generation": 1,
        "score": 1.0, "status": "ok", "answer": "4", "rule": None, "completion": f"{LONG}a 1 ANSWER: 4", "target": "4",
        "error": None, "attempts": 1, "prompt_tokens": 7, "completion_tokens": 6.0, "finish_reason": "stop",
        "endpoint_model": "m-1", "fingerprint": None, "request": None, "created": 1795209074.0, "seconds": 1.5,
        "messages": ({"role": "user", "content": "What is 2+2? (a)"},), "choices": (), "cluster": None,
    }  # fmt: skip
    assert (second.score, second.status, second.answer) == (0.0, "ok", "5")


def test_who_and_what_it_is_about(log):
    described = READER.describe(log([sample("a", epoch) for epoch in (1, 2)], epochs=2))
    model = described.models["mock/m"]
    assert (described.run, described.created) == ("E1", "2026-11-20T21:11:12+00:00")
    assert (model.name, model.kind, model.generations) == ("mock/m", "Inspect", 2)
    # The task's settings go before the model's, and a header with a secret never enters.
    assert model.settings == {"temperature": 0.7}
    assert described.benchmarks == {
        "sums": {
            "dataset": "sums", "location": "sums.csv", "samples": 1, "task": "inspect_evals/sums", "task_version": 2,
            "task_args": {"template": "plain", "shots": 5},
        }
    }  # fmt: skip
    assert described.scorers == ("match",)


def test_a_log_without_ids_is_known_by_what_it_is(log):
    samples = [sample("a")]
    path = log(samples)
    anonymous = header(samples)
    anonymous["eval"] |= {"eval_id": "", "run_id": "", "task": "/"}
    path.write_bytes(whole(samples, anonymous))
    described = READER.describe(path)
    assert re.fullmatch(r"[0-9a-f]{16}", described.run)
    assert list(described.benchmarks) == ["/"]


@pytest.mark.parametrize(
    ("stop", "limit", "expected"),
    [
        ("stop", None, "ok"),
        ("max_tokens", None, "length"),
        ("model_length", None, "length"),
        ("content_filter", None, "filtered"),
        ("stop", "token", "length"),
        ("stop", "message", "ok"),
    ],
)
def test_why_a_text_ends(log, stop, limit, expected):
    more = {"limit": {"type": limit, "limit": 5.0}} if limit else {}
    (row,), told = both(log([sample("a", stop=stop, **more)]))
    assert (row.status, row.score, row.finish_reason) == (expected, 1.0, stop)
    said = "1 sample reached a limit (tokens, messages, time) and was scored without being complete"
    assert told == ([said] if limit else [])
    if limit:  # the summary says it too
        assert read(log([sample("a", stop=stop, **more)]))[0][0].status == expected


def test_an_error_without_a_message_is_one_too(tmp_path):
    path = tmp_path / "log"
    samples = [sample("a", error={"traceback": "t"}, scores={}), sample("b")]
    path.write_bytes(whole(samples, header(samples)))
    assert read(path)[0][0].error == "error: None"


def test_letter_grades_are_no_scores(log):
    # Inspect reads C as right and A, B and D as wrong, so that its own accuracy here is 0.25.
    rows, told = both(log([sample(letter, scores={"match": score(letter)}) for letter in "ABCD"]))
    assert [(row.score, row.status) for row in rows] == [(None, "error")] * 4
    assert told == [
        "4 scores are letter grades (A, B, C, D), not numbers: they are errors here; --scorer may read another"
    ]
    rows, told = both(log([sample(letter, scores={"match": score(letter)}) for letter in "CIPN"]))
    assert [row.score for row in rows] == [1.0, 0.0, 0.5, 0.0]


# Several scorers: by construction; the order is that of the harness's own report.

SEVERAL = {
    "judge": score({"style": 0.5, "facts": "C"}, "x"),
    "list": score([1, "I"], None),
    "match": score("I"),
}


def test_several_scorers_are_a_choice(log):
    path = log([sample("a", scores=SEVERAL)], scorers=("match", "judge/facts", "judge/style"))
    assert READER.describe(path).scorers == ("match", "judge/facts", "judge/style", "list/0", "list/1")
    (row,), told = both(path)
    assert (row.score, row.answer) == (0.0, "4")
    assert told == [
        "5 scorers, of which 'match' is read: --scorer reads another ('judge/facts', 'judge/style', 'list/0', ...)"
    ]
    for name, expected in {"judge/facts": 1.0, "style": 0.5, "list/0": 1.0, "list/1": 0.0}.items():
        (row,), told = both(path, scorer=name)
        assert (row.score, told) == (expected, [])
    with pytest.raises(UnknownNameError, match="did you mean 'judge/facts'"):
        read(path, scorer="judge/fact")


def test_the_headline_of_the_harness_comes_first(log):
    path = log([sample("a", scores=SEVERAL)], scorers=("match", "judge/style"))
    samples = [sample("a", scores=SEVERAL)]
    head = header(samples, scorers=("match", "judge/style"))
    head["results"]["headline"] = {"scorer": "judge", "score": "style", "metric": "mean"}
    path.write_bytes(packed(samples, head))
    assert READER.describe(path).scorers[:2] == ("judge/style", "match")


def test_the_one_score_of_an_old_log(tmp_path):
    samples = [sample("a", scores={})]
    del samples[0]["scores"]
    samples[0]["score"] = score("C")
    path = tmp_path / "log"
    path.write_bytes(whole(samples, header(samples)))
    assert READER.describe(path).scorers == ("match",)
    assert read(path)[0][0].score == 1.0


# Epochs and completions.


def test_a_failed_sample_among_several_completions_is_one_row(log):
    failed = sample("b", scores={}, texts=[], error={"message": "ValueError('no')"})
    rows, _ = both(log([sample("a", texts=["x", "y"]), failed], config={"num_choices": 2}))
    assert [(row.question, row.generation, row.status) for row in rows] == [
        ("a", 1, "ok"),
        ("a", 2, UNSCORED),
        ("b", 1, "error"),
    ]


def test_completions_beyond_what_was_asked_for_are_left_out_and_said(log):
    rows, told = read(log([sample("a", texts=["x"]), sample("b", texts=["x", "y"])]), texts=True)
    assert len(rows) == 2
    assert told == ["1 completion beyond the 1 of each request is left out"]


def test_copies_are_said_with_and_without_texts(log):
    copied = [sample(i, epoch, texts=[f"{LONG}{i}"]) for epoch in (1, 2, 3) for i in range(5)]
    _, told = both(log(copied, epochs=3))
    assert len(told) == 1
    assert told[0].startswith("all generations of 5 of 5 questions compared are the same text")
    assert both(log([sample(i, epoch) for epoch in (1, 2, 3) for i in range(9)], epochs=3))[1] == []


def test_epochs_that_were_reduced_otherwise_are_said(log):
    _, told = both(log([sample("a")], run={"epochs_reducer": ["pass_at_2", "max"]}))
    assert told == ["the harness reduced epochs by pass_at_2, max: its own result is not the mean of these scores"]
    assert both(log([sample("a")], run={"epochs_reducer": ["mean"]}))[1] == []


# Logs that did not end well.


def test_a_log_that_was_marked_as_invalid(log):
    assert both(log([sample("a")], invalidated=True))[1] == [
        "the log is marked as invalidated: somebody found that some of its samples should not count"
    ]


def test_a_log_without_samples(log):
    samples = [sample("a")]
    path = log(samples)
    head = header(samples, run={"log_samples": False})
    for data in (packed([], head), encoded(head)):
        path.write_bytes(data)
        rows, told = both(path)
        assert rows == []
        assert told == ["the log contains no samples (log_samples was off): there is nothing to read"]


@pytest.mark.parametrize(
    "data",
    [b"{}", b'{"eval": 1}', b"[" * 100_000, b'{"eval": {"task": "a", "model": "\\ud800 NaN"}}', b"{NaN", b"\xff{"],
)
def test_json_that_is_no_log_is_one_clear_line(tmp_path, data):
    path = tmp_path / "log"
    path.write_bytes(data)
    with pytest.raises(InputError, match="the header cannot be read: .*; is the file complete"):
        READER.describe(path)
    with pytest.raises(InputError, match="the header cannot be read"):
        read(tmp_path / "none")


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"results": {}, "configs": {}}', b"PK\x03\x04", zipped([("a", b"b")]), b"text"]
)
def test_other_files_are_no_logs_of_inspect(tmp_path, data):
    path = tmp_path / "log.eval"
    path.write_bytes(data)
    assert not READER.recognises(FileHead(path))


# Texts: by construction.


def test_messages_are_plain_text_and_attachments_are_put_back(log):
    parts = [
        {"type": "text", "text": "attachment://aa"},
        {"type": "image", "image": "attachment://bb"},
        {"type": "text", "text": "Which?"},
        "bare",
        3,
    ]
    call = {"id": "c", "function": "add", "arguments": {}}
    turns = [
        {"role": "system", "content": "attachment://cc", "id": "s"},
        {"role": "user", "content": parts, "id": "u"},
        {"role": "assistant", "content": "", "tool_calls": [call], "id": "t"},
        {"role": "tool", "content": "4", "id": "r"},
        {"role": "assistant", "content": "attachment://dd", "id": "a0"},
    ]
    kept = {"aa": "a picture " * 30, "bb": "data:...", "cc": "be brief", "dd": "what I wrote"}
    more = {"messages": turns, "attachments": kept, "choices": ["attachment://aa", "no"], "target": ["4", "four"]}
    (row,), _ = both(log([sample("a", texts=["attachment://dd"], **more)]))
    assert row.completion == "what I wrote"
    assert row.messages == (
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "a picture " * 30 + "\n[image]\nWhich?\nbare"},
        {"role": "assistant", "content": "[tool call: add]"},
        {"role": "tool", "content": "4"},
    )
    assert row.choices == ("a picture " * 30, "no")
    assert row.target == '["4","four"]'


def test_a_prompt_whose_answer_has_no_id_and_one_that_was_never_sent(log):
    asked = {"role": "user", "content": "Hi"}
    written = {
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "A"}],
    }
    output = {"choices": [{"message": written, "stop_reason": "stop"}], "completion": ""}
    (row,), _ = both(log([sample("a", messages=[asked, written], output=output)]))
    assert row.messages == ({"role": "user", "content": "Hi"},)
    assert row.completion == "A"
    nothing = {"choices": [{"message": {"role": "assistant", "content": 3}}], "completion": ""}
    (row,), _ = both(log([sample("a", messages=[], input=[asked | {"id": "x"}], output=nothing)]))
    assert row.messages == ({"role": "user", "content": "Hi"},)
    assert row.completion == ""


def test_ids_of_messages_that_are_no_texts(log):
    asked, written = ({"id": [i], "role": role, "content": "Hi"} for i, role in enumerate(("user", "assistant")))
    output = {"choices": [{"message": written, "stop_reason": "stop"}], "completion": ""}
    (row,), _ = both(log([sample("a", messages=[asked, written], output=output)]))
    assert row.messages == ({"role": "user", "content": "Hi"},)


def test_tokens_of_other_models_and_times_that_are_none(log):
    usage = {"judge": {"input_tokens": 1, "output_tokens": 1}, "other": {"input_tokens": 9, "output_tokens": 9}}
    more = {"completed_at": "soon", "total_time": None}
    rows, _ = both(log([sample("a", model_usage=usage, **more), sample("b", model_usage={"m": usage["other"]})]))
    assert [(row.prompt_tokens, row.completion_tokens) for row in rows] == [(None, None), (9, 9.0)]
    assert (rows[0].created, rows[0].seconds) == (None, None)


# Columns.


def test_columns_map_fields_of_the_sample_and_of_the_header(log):
    path = log([sample("a1"), sample("a2")])
    columns = {"cluster": "metadata.passage", "variant": "eval.task_args.template", "benchmark": "eval.dataset.name"}
    rows, told = both(path, columns=columns)
    assert [(row.cluster, row.variant, row.benchmark, row.question) for row in rows] == [
        ("p1", "plain", "sums", "a1"),
        ("p2", "plain", "sums", "a2"),
    ]
    assert told == []
    rows, _ = both(path, columns={"variant": "metadata.level", "model": "eval.task_args.shots"})
    assert [(row.variant, row.model) for row in rows] == [("3", "5")] * 2


def test_samples_that_are_one_question_become_its_generations(log):
    samples = [sample(f"{question}{i}", epoch) for epoch in (1, 2) for i in range(2) for question in "ab"]
    for one in samples:
        one["metadata"] = {"base": one["id"][0]}
    rows, told = both(log(samples, epochs=2), columns={"question": "metadata.base"})
    assert sorted((row.question, row.generation) for row in rows) == [(q, g) for q in "ab" for g in (1, 2, 3, 4)]
    # Of each question the second sample's two epochs, and the first one's second, whose number is taken by then.
    assert told == ["6 generations have another number than in the log: several samples are one question"]
    rows, _ = both(log(samples[:1]), columns={"question": "eval.task_args.template"})
    assert rows[0].question == "plain"


def test_long_fields_are_those_of_the_sample_and_not_of_its_summary(tmp_path):
    path = tmp_path / "log"
    one = sample("a")
    one["metadata"] = {"template": "line\nby line " * 200, "kept": "attachment://aa"}
    one["attachments"] = {"aa": "a long one"}
    thinned = encoded([summary(one) | {"metadata": {"template": "line by line..."}}])
    members = [("header.json", encoded(header([one]))), ("summaries.json", thinned)]
    path.write_bytes(zipped([*members, ("samples/a_epoch_1.json", encoded(one))]))
    assert both(path, columns={"variant": "metadata.template"})[0][0].variant == "line\nby line " * 200
    assert both(path, columns={"variant": "metadata.kept"})[0][0].variant == "a long one"


def test_fields_that_are_not_there(log):
    path = log([sample("a"), sample("b") | {"metadata": {}}])
    with pytest.raises(UnknownNameError, match=r"unknown field 'metadata.pasage'.*did you mean 'metadata.passage'"):
        read(path, columns={"cluster": "metadata.pasage"})
    with pytest.raises(UnknownNameError, match=r"unknown field 'eval.task_args.tmplate'.*'eval.task_args.template'"):
        read(path, columns={"variant": "eval.task_args.tmplate"})
    with pytest.raises(UnknownNameError, match="unknown field 'nothing'"):
        read(path, columns={"variant": "nothing"})
    with pytest.raises(UnknownNameError, match="unknown column 'prompt'"):
        read(path, columns={"prompt": "input"})
    rows, told = both(path, columns={"cluster": "metadata.passage"})
    assert [row.cluster for row in rows] == ["pa", None]
    assert told == ["1 record has no metadata.passage: its cluster is read as without --columns"]


# The logs that Inspect 0.3.285 wrote.

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the shared logs are not here")


def shared():
    return sorted(SHARED.glob("*.*")) if SHARED.exists() else [SHARED]


def harness(path):
    """Header and samples by Inspect's own words: an independent, slow reading."""
    import zstandard

    if path.suffix == ".json":
        log = json.loads(path.read_text())
        return log, log["samples"]
    from zipfile import ZipFile

    members = {}
    with ZipFile(path) as archive, path.open("rb") as file:
        for info in archive.infolist():
            file.seek(info.header_offset + 26)
            file.seek(sum(int.from_bytes(file.read(2), "little") for _ in range(2)), 1)
            members[info.filename] = zstandard.decompress(file.read(info.compress_size), max_output_size=1 << 24)
    return json.loads(members["header.json"]), [
        json.loads(data) for name, data in members.items() if name.startswith("samples/")
    ]


@needs_shared
@pytest.mark.shared
@pytest.mark.parametrize("path", shared(), ids=lambda path: path.name[-8:])
def test_a_log_of_inspect_itself_to_the_last_text_and_its_headline(path):
    log, samples = harness(path)
    assert isinstance(find_reader(path), InspectReader)
    rows, told = both(path)
    truth = {(str(one["id"]), one["epoch"]): one for one in samples}
    assert len(rows) == len(truth) == log["results"]["total_samples"]
    for row in rows:
        one = truth[row.question, row.generation]
        value = one["scores"][log["results"]["scores"][0]["name"]]
        assert row.score == {"C": 1.0, "I": 0.0}[value["value"]]
        assert row.answer == value["answer"]
        assert row.completion == one["output"]["completion"]
        assert row.target == one["target"]
        assert row.messages == tuple({"role": m["role"], "content": m["content"]} for m in one["messages"][:-1])
        assert row.choices == tuple(one.get("choices", ()))
    by_question = defaultdict(list)
    for row in rows:
        by_question[row.question].append(row.score)
    mean = sum(sum(scores) / len(scores) for scores in by_question.values()) / len(by_question)
    assert mean == pytest.approx(log["results"]["scores"][0]["metrics"]["accuracy"]["value"], abs=1e-12)
    # Of one of the four logs every answer is the same letter each time.
    letters = len({(row.question, row.completion) for row in rows}) == len(by_question)
    assert len(told) == letters
    assert not letters or "answers too short to differ" in told[0]


@needs_shared
@pytest.mark.shared
def test_the_shared_logs_are_what_they_are_known_to_be():
    assert [(len(rows), sum(row.score for row in rows)) for rows, _ in map(read, shared())] == [
        (240, 148),
        (48, 45),
        (240, 185),
        (48, 48),
    ]


# Its own package, where it is installed.


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is None, reason="inspect_ai is not installed")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("log_format", ["eval", "json"])
def test_equal_to_the_frame_of_inspect_itself(tmp_path, log_format):
    import numpy as np
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.analysis import SampleSummary, samples_df
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import includes, match
    from inspect_ai.solver import generate, system_message

    rng = np.random.default_rng(5)

    def answered(messages, *_):
        output = ModelOutput.from_content("m", f"{rng.random()} {messages[-1].text} ANSWER: {rng.choice([3, 4])}" * 2)
        output.usage = ModelUsage(input_tokens=3, output_tokens=4, total_tokens=7)
        return output

    data = MemoryDataset([Sample(id=i if i % 2 else f"q/{i}", input=f"2+2? {i} " * 40, target="4") for i in range(7)])
    task = Task(dataset=data, solver=[system_message("Be brief."), generate()], scorer=[match(), includes()], epochs=3)
    model = get_model("mockllm/m", custom_outputs=answered)
    (log,) = evaluate(task, model=model, log_dir=str(tmp_path), log_format=log_format, display="none")
    (path,) = tmp_path.glob(f"*.{log_format}")
    frame = samples_df(str(path), columns=SampleSummary, quiet=True)
    whole_log = read_eval_log(str(path), resolve_attachments=True)
    texts = {(str(one.id), one.epoch): one for one in whole_log.samples}
    values = {"C": 1.0, "I": 0.0}
    for scorer in ("match", "includes"):
        rows, _ = read(path, scorer=scorer, texts=True)
        lean, _ = read(path, scorer=scorer)
        assert [(*key, row.score) for key, row in zip(keys(lean), lean, strict=True)] == [
            (*key, row.score) for key, row in zip(keys(rows), rows, strict=True)
        ]
        truth = sorted((str(r["id"]), r["epoch"], values[r[f"score_{scorer}"]]) for r in frame.to_dict("records"))
        assert sorted((row.question, row.generation, row.score) for row in rows) == truth
        assert len(rows) == 21
        for row in rows:
            one = texts[row.question, row.generation]
            assert row.completion == one.output.completion
            assert row.messages == tuple({"role": m.role, "content": m.text} for m in one.messages[:-1])
            assert (row.prompt_tokens, row.completion_tokens) == (3, 4)
        mean = sum(row.score for row in rows) / len(rows)
        (own,) = [one.metrics["accuracy"].value for one in log.results.scores if one.name == scorer]
        assert mean == pytest.approx(own, abs=1e-12)
