"""lighteval. Its package needs torch, so most details are made with pyarrow in the columns that its code writes.

`examples/lighteval/details.parquet` was written by the dataclasses of lighteval 0.13.0 and by datasets 5.2.0, as its
tracker uses them: 4 questions with 3 completions.
"""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from howsure.errors import InputError
from howsure.logs import get_reader
from howsure.logs.base import ReadOptions
from howsure.logs.file_formats import FileHead

READER = get_reader("lighteval")
DATE = "2026-02-03T04-05-06.000007"
TASK = "lighteval|sums|5"


def read(path, **options):
    notes = []
    return list(READER.rows(path, ReadOptions(**options), notes.append)), [note.code for note in notes]


def detail(i=0, texts=("four",), metric=None, prompt="Answer", **doc):
    own = {"query": f"q{i}", "choices": ["4"], "gold_index": [0], "id": str(i), "task_name": TASK}
    own |= {"num_samples": len(texts), "specific": {"subject": "sums"}, **doc}
    reply = {"input": prompt, "input_tokens": [1, 2], "text": list(texts), "logprobs": []}
    return {"doc": own, "metric": metric or {"em": float(i % 2)}, "model_response": reply}


def write_tree(out, details, n=None):
    """The layout of an output folder: details and totals apart."""
    general = {"lighteval_sha": "abc", "start_time": 1.5, "model_name": "org/m"}
    general["model_config"] = {"generation_parameters": {"temperature": 0.0, "max_new_tokens": 9}}
    config = {"effective_num_docs": n, "hf_repo": "org/sums"}
    content = {"config_general": general, "results": {TASK: {"em": 0.5}}, "config_tasks": {TASK: config}}
    path, results = out / "details/org/m" / DATE / f"details_{TASK}_{DATE}.parquet", out / "results/org/m"
    for folder in (path.parent, results):
        folder.mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist(details), path)
    results /= f"results_{DATE}.json"
    results.write_text(json.dumps(content))
    return path, results


def test_what_the_totals_state_and_what_they_stand_for(tmp_path):
    path, results = write_tree(tmp_path, [detail(0, ["a", "b"], {"avg@n:n=2": 0.5, "pass@k:k=1&n=2": 0.5})], n=2)
    info = READER.describe(path)
    assert info.models["org/m"].settings == {"temperature": 0.0, "max_tokens": 9}
    source = {"hf_repo": "org/sums", "task": TASK, "lighteval": "abc", "num_fewshot": 5}
    assert info.benchmarks == {"lighteval|sums": source}
    assert (info.scorers, info.created) == (("avg@n:n=2", "pass@k:k=1&n=2"), "2026-02-03T04:05:06.000007")
    assert list(READER.members(results)) == list(READER.members(path)) == [path]
    assert {"log-scores-of-all", "log-greedy", "log-planned"} <= set(read(path)[1])
    path.unlink()
    with pytest.raises(InputError, match="totals without details"):
        READER.members(results)


def test_choices_are_letters(tmp_path):
    details = [detail(i, (), {"acc": 1.0}, choices=[" x", " y"], gold_index=[i]) for i in range(2)]
    rows, _ = read(write_tree(tmp_path, details)[0], texts=True)
    assert [(row.target, row.score, row.choices) for row in rows] == [("A", 1, ("x", "y")), ("B", 1, ("x", "y"))]


def test_columns_between_underscores_read_the_same(tmp_path):
    details = [detail(i, ["it's", "b"], {"avg@n:n=2": 0.5}) for i in range(3)]
    parts = [{f"__{name}__": value for name, value in each.items()} for each in details]
    plain, other = (write_tree(tmp_path / name, each)[0] for name, each in (("a", details), ("b", parts)))
    assert READER.recognises(FileHead(other))
    assert read(other, texts=True) == read(plain, texts=True)


def test_prompts_and_fields_of_the_row(tmp_path):
    path, _ = write_tree(tmp_path, [detail(0), detail(1, prompt=None, specific={"subject": None})])
    rows, codes = read(path, texts=True, columns={"cluster": "doc.specific.subject", "variant": "doc.num_samples"})
    assert [row.messages[0]["content"] for row in rows] == ["Answer", "q1"]
    assert [(row.cluster, row.variant) for row in rows] == [("sums", "1"), (None, "1")]
    assert codes == ["log-no-field"]


def test_other_and_unreadable_files(tmp_path):
    parquet.write_table(pa.Table.from_pylist([{"a": 1}]), tmp_path / "other.parquet")
    assert not READER.recognises(FileHead(tmp_path / "other.parquet"))
    parquet.write_table(pa.Table.from_pylist([detail(0)]).slice(0, 0), tmp_path / "empty.parquet")
    with pytest.raises(InputError, match="there is no question in it"):
        read(tmp_path / "empty.parquet")
