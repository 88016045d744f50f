"""lighteval. Its package needs torch, so most details are made with pyarrow in the columns that its code writes.

`examples/lighteval/details.parquet` was written by the dataclasses of lighteval 0.13.0 and by datasets 5.2.0, as its tracker
uses them: 4 questions with 3 completions.
"""

import json
import shutil

import pyarrow as pa
import pytest
from pyarrow import parquet

from howsure.errors import InputError, UnknownNameError
from howsure.logs import find_reader
from howsure.logs.base import ReadOptions
from howsure.logs.file_formats import FileHead
from howsure.logs.lighteval import LightevalReader

READER = LightevalReader()

DATE = "2026-02-03T04-05-06.000007"
TASK = "lighteval|sums|5"


def read(path, **asked):
    told = []
    return list(READER.rows(path, ReadOptions(**asked), lambda note: told.append(note.text))), told


def detail(i=0, texts=("four",), metric=None, **doc):
    return {
        "doc": {
            "query": f"q{i}",
            "choices": ["4"],
            "gold_index": [0],
            "id": str(i),
            "task_name": TASK,
            "num_samples": len(texts),
            "specific": {"subject": "sums"},
        }
        | doc,
        "metric": {"em": float(i % 2)} if metric is None else metric,
        "model_response": {"input": f"Answer: q{i}", "input_tokens": [1, 2], "text": list(texts), "logprobs": []},
    }


def choice(i, logs, gold, score):
    found = detail(i, (), {"acc": score}, choices=[" x", " y", " z"], gold_index=[gold])
    found["model_response"]["logprobs"] = logs
    return found


def written(folder, details, name=f"details_{TASK}_{DATE}.parquet", **options):
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(details), folder / name, **options)
    return folder / name


def totals(folder, name=f"results_{DATE}.json", n=None, settings=None, model="org/m", task=TASK):
    folder.mkdir(parents=True, exist_ok=True)
    general = {"lighteval_sha": "abc", "start_time": 1.5, "model_name": model}
    general |= {"model_config": {"generation_parameters": settings or {"temperature": 0.6, "max_new_tokens": 9}}}
    config = {"effective_num_docs": n, "hf_repo": "org/sums"}
    found = {"config_general": general, "results": {task: {"em": 0.5}, "all": {}}, "config_tasks": {task: config}}
    (folder / name).write_text(json.dumps(found))
    return folder / name


def tree(out, details, **options):
    """The layout of an output folder: details and totals apart."""
    return written(out / "details/org/m" / DATE, details), totals(out / "results/org/m", **options)


# Truth: another program's output.


# Truth: a log that was made by hand, and what it must say.


def test_one_completion_has_the_score_of_its_question(tmp_path):
    path, _ = tree(tmp_path, [detail(i) for i in range(4)])
    rows, told = read(path, texts=True)
    assert [(r.question, r.generation, r.score, r.completion, r.target) for r in rows] == [
        (str(i), 1, float(i % 2), "four", "4") for i in range(4)
    ]
    assert {(r.benchmark, r.model, r.choices) for r in rows} == {("lighteval|sums", "org/m", ())}
    assert rows[2].messages == ({"role": "user", "content": "Answer: q2"},)
    assert told == []
    lean, _ = read(path)
    assert {(r.completion, r.messages, r.target) for r in lean} == {(None, None, None)}
    assert [(r.question, r.score) for r in lean] == [(r.question, r.score) for r in rows]


def test_who_and_what_it_is_about(tmp_path):
    path, results = tree(tmp_path, [detail(0, ["a", "b"], {"avg@n:n=2": 0.5, "pass@k:k=1&n=2": 0.5})])
    found = READER.describe(path)
    assert found.models["org/m"].settings == {"temperature": 0.6, "max_tokens": 9}
    assert (found.models["org/m"].generations, found.models["org/m"].kind) == (2, "lighteval")
    assert found.benchmarks == {
        "lighteval|sums": {"hf_repo": "org/sums", "task": TASK, "lighteval": "abc", "num_fewshot": 5}
    }
    assert found.scorers == ("avg@n:n=2", "pass@k:k=1&n=2")
    assert found.created == "2026-02-03T04:05:06.000007"
    assert list(READER.members(results)) == [path]
    assert list(READER.members(path)) == [path]
    with pytest.raises(InputError, match="totals without details"):
        READER.members(totals(tmp_path / "elsewhere"))


def test_choices_are_letters_where_the_score_agrees(tmp_path):
    details = [choice(0, [-1.0, -2.0, -3.0], 0, 1.0), choice(1, [-1.0, -2.0, -3.0], 1, 0.0)]
    details += [choice(2, [-1.0, -2.0, -3.0], 1, 1.0)]  # it was normalised: the log does not show how
    path, _ = tree(tmp_path, details)
    rows, _ = read(path, texts=True)
    assert [(r.answer, r.target, r.score) for r in rows] == [("A", "A", 1.0), ("A", "B", 0.0), (None, "B", 1.0)]
    assert rows[0].choices == ("x", "y", "z")
    assert rows[0].completion is None


def test_underscores_and_parts_as_text_read_the_same(tmp_path):
    details = [detail(i, ["it's", "b"], {"avg@n:n=2": 0.5}) for i in range(3)]
    plain, _ = tree(tmp_path / "a", details)
    for place, said in {"b": json.dumps, "c": str}.items():
        parts = [{f"__{name}__": said(value) for name, value in each.items()} for each in details]
        path, _ = tree(tmp_path / place, parts)
        assert isinstance(find_reader(path), LightevalReader)
        assert read(path, texts=True) == read(plain, texts=True)
    parts = [{f"__{name}__": value for name, value in each.items()} for each in details]
    assert read(tree(tmp_path / "d", parts)[0], texts=True) == read(plain, texts=True)


def test_a_renamed_log_reads_the_same(tmp_path):
    path, results = tree(tmp_path / "a", [detail(i) for i in range(3)])
    folder = tmp_path / "b"
    folder.mkdir()
    shutil.copy(path, folder / "x")
    shutil.copy(results, folder / "y.json")
    assert isinstance(find_reader(folder / "x"), LightevalReader)
    assert isinstance(find_reader(folder / "y.json"), LightevalReader)
    assert read(folder / "x", texts=True) == read(path, texts=True)


def test_chat_prompts_and_fields_of_the_row(tmp_path):
    chat = json.dumps([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}])
    details = [detail(0), detail(1, specific={"subject": None})]
    details[0]["model_response"]["input"] = chat
    details[1]["model_response"]["input"] = None
    path, _ = tree(tmp_path, details)
    columns = {"cluster": "doc.specific.subject", "variant": "doc.num_samples"}
    rows, told = read(path, texts=True, columns=columns)
    assert rows[0].messages == ({"role": "system", "content": "s"}, {"role": "user", "content": "u"})
    assert rows[1].messages == ({"role": "user", "content": "q1"},)
    assert [(r.cluster, r.variant) for r in rows] == [("sums", "1"), (None, "1")]
    assert told == ["1 record has no doc.specific.subject: its cluster is read as without --columns"]
    with pytest.raises(UnknownNameError, match="unknown field 'doc.subject'"):
        read(path, columns={"cluster": "doc.subject"})


def test_other_and_unreadable_files(tmp_path):
    other = written(tmp_path, [{"a": 1}], "other.parquet")
    assert not READER.recognises(FileHead(other))
    (tmp_path / "a.json").write_text('{"results": {}, "configs": {}}')
    assert not READER.recognises(FileHead(tmp_path / "a.json"))
    empty = written(tmp_path, pa.Table.from_pylist([detail(0)]).slice(0, 0).to_pylist() or [], "empty.parquet")
    with pytest.raises(InputError, match="there is no question in it"):
        read(empty)
