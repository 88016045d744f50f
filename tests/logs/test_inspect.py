"""Logs of Inspect. Truths: the logs that it wrote itself (shared), its own package where installed, and made logs."""

import importlib.util
import json
from collections import defaultdict
from pathlib import Path

import pytest
from helpers.zstd_zip import zipped

from howsure.errors import UnknownNameError
from howsure.logs import get_reader
from howsure.logs.base import ReadOptions
from howsure.logs.file_formats import FileHead

READER = get_reader("inspect")

SHARED = Path(__file__).resolve().parents[2] / "../shared/data/logs/inspect"
LONG = "what was thought on the way, step by step; " * 8


def score(value, answer="4", **more):
    return {"value": value, "answer": answer, "explanation": "", "history": [], **more}


def sample(question, epoch=1, *, scores=None, texts=None, stop="stop", **more):
    """A sample as Inspect writes it, whole."""
    texts = [f"{LONG}{question} {epoch} ANSWER: 4"] if texts is None else texts
    replies = [{"id": f"a{i}", "role": "assistant", "content": text} for i, text in enumerate(texts)]
    choices = [{"message": reply, "stop_reason": stop} for reply in replies]
    wanted = f"What is 2+2? ({question})"
    return {
        "id": question, "epoch": epoch, "input": wanted, "target": "4",
        "messages": [{"id": "m", "role": "user", "content": wanted}, *replies[:1]],
        "output": {"model": "m-1", "choices": choices, "completion": texts[0]},
        "scores": {"match": score("C")} if scores is None else scores,
        "metadata": {"passage": f"p{str(question)[-1]}", "level": 3}, "events": [{"event": "model", "at": [1, {"b": 2}]}],
        "model_usage": {"mock/m": {"input_tokens": 7, "output_tokens": 6}}, "total_time": 1.5,
        "completed_at": "2026-11-20T21:11:14+00:00", "error_retries": [], "attachments": {}, "uuid": f"{question}-{epoch}",
        **more,
    }  # fmt: skip


def summary(whole):
    """What Inspect keeps of it in summaries.json: no texts, and of an error the message, of a limit the kind."""
    names = (
        "id",
        "epoch",
        "input",
        "target",
        "scores",
        "metadata",
        "model_usage",
        "uuid",
        "total_time",
        "completed_at",
    )
    error, limit = whole.get("error"), whole.get("limit")
    return {name: whole[name] for name in names} | {
        "retries": 0,
        **({"error": error["message"]} if error else {}),
        **({"limit": limit["type"]} if limit else {}),
    }


def header(samples, *, epochs=1, scorers=("match",), run=None, **more):
    ids = list(dict.fromkeys(one["id"] for one in samples))
    spec = {
        "eval_id": "E1", "run_id": "R1", "created": "2026-11-20T21:11:12+00:00", "task": "inspect_evals/sums",
        "task_args": {"template": "plain"}, "model": "mock/m", "dataset": {"name": "sums", "sample_ids": ids},
        "model_generate_config": {"temperature": 1.0}, "config": {"epochs": epochs, **(run or {})},
    }  # fmt: skip
    reported = [{"name": name.rpartition("/")[2], "scorer": name.split("/")[0], "metrics": {}} for name in scorers]
    results = {"total_samples": len(ids) * epochs, "scores": reported}
    plan = {"steps": [], "config": {"temperature": 0.7, "seed": None}}
    return {"version": 2, "status": "success", "eval": spec, "plan": plan, "results": results, **more}


def encode(record):
    return json.dumps(record).encode()


def write_eval(samples, head):
    """A finished .eval file."""
    members = [(f"samples/{one['id']}_epoch_{one['epoch']}.json", encode(one)) for one in samples]
    ends = [("summaries.json", encode([summary(one) for one in samples])), ("header.json", encode(head))]
    return zipped([*members, *ends])


def write_json(samples, head):
    return encode({**head, "samples": samples})


WRITERS = {"eval": write_eval, "json": write_json}


@pytest.fixture(params=sorted(WRITERS))
def log(request, tmp_path):
    """A function from samples to the path of their log, once as .eval and once as .json; neither by its name."""

    def written(samples, **how):
        path = tmp_path / "some file"
        path.write_bytes(WRITERS[request.param](samples, header(samples, **how)))
        return path

    return written


def read(path, **asked):
    notes = []
    return list(READER.rows(path, ReadOptions(**asked), notes.append)), [note.code for note in notes]


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
    assert told == (["log-limit"] if limit else [])
    if limit:  # the summary says it too
        assert read(log([sample("a", stop=stop, **more)]))[0][0].status == expected


def test_letter_grades_are_no_scores(log):
    # Inspect reads C as right and A, B and D as wrong, so that its own accuracy here is 0.25.
    rows, told = both(log([sample(letter, scores={"match": score(letter)}) for letter in "ABCD"]))
    assert [(row.score, row.status) for row in rows] == [(None, "error")] * 4
    assert told == ["log-grades"]
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
    assert told == ["log-several-scorers"]
    for name, expected in {"judge/facts": 1.0, "style": 0.5, "list/0": 1.0, "list/1": 0.0}.items():
        (row,), told = both(path, scorer=name)
        assert (row.score, told) == (expected, [])
    with pytest.raises(UnknownNameError, match="did you mean 'judge/facts'"):
        read(path, scorer="judge/fact")


def test_what_the_header_says_of_the_scores_and_what_was_not_read_are_noted(log):
    run = {"epochs_reducer": ["pass_at_2", "max"]}
    assert both(log([sample("a")], run=run, invalidated=True))[1] == ["log-invalidated", "log-reducer"]
    assert read(log([sample("b", texts=["x", "y"])]), texts=True)[1] == ["log-extra"]
    (row,), told = both(log([sample("a", error={"message": "ValueError('no')"}, scores={})]))
    assert (row.status, row.error, told) == ("error", "ValueError: no", ["log-failed"])


def test_copies_are_said_with_and_without_texts(log):
    copied = [sample(i, epoch, texts=[f"{LONG}{i}"]) for epoch in (1, 2, 3) for i in range(5)]
    _, told = both(log(copied, epochs=3))
    assert told == ["log-copies"]
    assert both(log([sample(i, epoch) for epoch in (1, 2, 3) for i in range(9)], epochs=3))[1] == []


# Logs that did not end well.


def test_a_log_without_samples(log):
    samples = [sample("a")]
    path = log(samples)
    head = header(samples, run={"log_samples": False})
    for data in (write_eval([], head), encode(head)):
        path.write_bytes(data)
        rows, told = both(path)
        assert rows == []
        assert told == ["log-no-samples"]


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


# Columns.


def test_long_fields_are_those_of_the_sample_and_not_of_its_summary(tmp_path):
    path = tmp_path / "log"
    one = sample("a")
    one["metadata"] = {"template": "line\nby line " * 200, "kept": "attachment://aa"}
    one["attachments"] = {"aa": "a long one"}
    thinned = encode([summary(one) | {"metadata": {"template": "line by line..."}}])
    members = [("header.json", encode(header([one]))), ("summaries.json", thinned)]
    path.write_bytes(zipped([*members, ("samples/a_epoch_1.json", encode(one))]))
    assert both(path, columns={"variant": "metadata.template"})[0][0].variant == "line\nby line " * 200
    assert both(path, columns={"variant": "metadata.kept"})[0][0].variant == "a long one"


# The logs that Inspect 0.3.285 wrote.

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the shared logs are not here")


def shared():
    return sorted(SHARED.glob("*.*")) if SHARED.exists() else [SHARED]


def harness(path):
    """Header and samples by Inspect's own words: an independent, slow reading."""
    from backports import zstd

    if path.suffix == ".json":
        log = json.loads(path.read_text())
        return log, log["samples"]
    from zipfile import ZipFile

    members = {}
    with ZipFile(path) as archive, path.open("rb") as file:
        for info in archive.infolist():
            file.seek(info.header_offset + 26)
            file.seek(sum(int.from_bytes(file.read(2), "little") for _ in range(2)), 1)
            members[info.filename] = zstd.decompress(file.read(info.compress_size))
    return json.loads(members["header.json"]), [
        json.loads(data) for name, data in members.items() if name.startswith("samples/")
    ]


@needs_shared
@pytest.mark.shared
@pytest.mark.parametrize("path", shared(), ids=lambda path: path.name[-8:])
def test_a_log_of_inspect_itself_to_the_last_text_and_its_headline(path):
    log, samples = harness(path)
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
    assert told == ["log-copies"] * letters


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
