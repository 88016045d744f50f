"""lighteval. Its package needs torch, so most details are made with pyarrow in the columns that its code writes.

`examples/lighteval/details.parquet` was written by the dataclasses of lighteval 0.13.0 and by datasets 5.2.0, as its tracker
uses them: 4 questions with 3 completions.
"""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from howsure.errors import InputError, UnknownNameError
from howsure.logs import find_reader
from howsure.logs.base import UNSCORED, ReadOptions
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


def test_details_as_the_package_writes_them():
    rows, told = read(Path(__file__).parent / "examples/lighteval/details.parquet", texts=True)
    assert [(r.question, r.generation, r.completion) for r in rows] == [
        (str(i), k, text) for i in range(4) for k, text in enumerate((f"a{i}", "b", "c"), 1)
    ]
    assert {(r.benchmark, r.score, r.status, r.target, r.choices) for r in rows} == {("sums", None, UNSCORED, "4", ())}
    assert rows[3].messages == ({"role": "user", "content": "q1"},)
    assert told[-1] == "only avg@n:n=3 of 3 completions is kept: howsure rescore scores each"
    rows, _ = read(Path(__file__).parent / "examples/lighteval/details.parquet", scorer="avg@n:n=3")
    assert [r.score for r in rows] == pytest.approx([0, 1 / 3, 2 / 3, 1])


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


def test_scores_of_several_completions_are_nobodys(tmp_path):
    details = [detail(i, [f"a{i}", "b"], {"avg@n:n=2": 0.5}) for i in range(3)]
    path, _ = tree(tmp_path, details)
    rows, told = read(path, texts=True)
    assert [(r.generation, r.score, r.status, r.completion) for r in rows[:2]] == [
        (1, None, UNSCORED, "a0"),
        (2, None, UNSCORED, "b"),
    ]
    assert len(rows) == 6
    assert told == ["only avg@n:n=2 of 2 completions is kept: howsure rescore scores each"]
    rows, told = read(path, scorer="avg@n:n=2", texts=True)
    assert [(r.generation, r.score, r.completion) for r in rows] == [(1, 0.5, None)] * 3
    assert told == ["3 scores (avg@n:n=2) are of all completions: each is read as one generation"]


def test_a_metric_of_one_beside_others_is_of_the_first_completion(tmp_path):
    path, _ = tree(tmp_path, [detail(0, ["a", "b"], {"avg@n:n=1": 1.0, "avg@n:n=2": 0.5})])
    rows, told = read(path)
    assert [(r.score, r.status) for r in rows] == [(1.0, "ok"), (None, UNSCORED)]
    assert told[1] == "only the first of 2 completions was scored: howsure rescore scores the others"


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


def test_the_flat_layout_of_earlier_years(tmp_path):
    flat = [
        {
            "example": f"q{i}", "full_prompt": f"Answer: q{i}", "choices": "['4']", "gold": "['4']", "gold_index": "[0]",
            "predictions": "['four']", "metrics": "{'em': 1.0}",
        }
        for i in (0, 1)
    ]  # fmt: skip
    folder = tmp_path / "details_org__m_private" / DATE
    path = written(folder, flat)
    totals(tmp_path / "details_org__m_private")
    rows, _ = read(path, texts=True)
    assert [(r.score, r.completion, r.target, r.benchmark) for r in rows] == [(1.0, "four", "4", "lighteval|sums")] * 2
    assert rows[0].messages == ({"role": "user", "content": "Answer: q0"},)
    assert len({r.question for r in rows}) == 2
    (tmp_path / "details_org__m_private" / f"results_{DATE}.json").unlink()
    rows, told = read(path)
    assert {r.model for r in rows} == {"org/m"}
    assert told == ["no results json names the model: 'org/m' is what its folders are called"]
    likelihoods = [each | {"predictions": [-1.0, -2.0], "metrics": {"acc": 1.0}} for each in flat]
    rows, _ = read(written(tmp_path / "flat", likelihoods))
    assert [r.answer for r in rows] == ["A", "A"]


def test_a_renamed_log_reads_the_same(tmp_path):
    path, results = tree(tmp_path / "a", [detail(i) for i in range(3)])
    folder = tmp_path / "b"
    folder.mkdir()
    shutil.copy(path, folder / "x")
    shutil.copy(results, folder / "y.json")
    assert isinstance(find_reader(folder / "x"), LightevalReader)
    assert isinstance(find_reader(folder / "y.json"), LightevalReader)
    assert read(folder / "x", texts=True) == read(path, texts=True)


def test_a_run_that_cannot_be_told_apart_is_not_guessed(tmp_path):
    path, _ = tree(tmp_path, [detail(0)])
    path = path.rename(path.parent / "x.parquet")
    path.parent.rename(path.parent.parent / "renamed")
    path = path.parent.parent / "renamed/x.parquet"
    totals(tmp_path / "results/org/m", "results_2027-01-01T00-00-00.json", model="org/n")
    (tmp_path / "results/org/m/torn.json").write_text('{"config_general": {}, "results": {')
    _, told = read(path)
    assert told == [
        "2 results json could be its own",
        "no results json names the model: 'org/m/renamed' is what its folders are called",
    ]


def test_a_task_that_nobody_names(tmp_path):
    flat = [{"full_prompt": "q", "predictions": ["a"], "metrics": {"em": 1.0}, "sample_id": "7"}]
    path = written(tmp_path, flat, "some.parquet")
    rows, told = read(path)
    assert [(r.benchmark, r.question, r.model) for r in rows] == [("some", "7", tmp_path.name)]
    assert told[0] == "no task is named: the benchmark 'some' is the file's name"
    totals(tmp_path, "t.json")
    assert read(path)[0][0].benchmark == "lighteval|sums"


def test_what_is_missing_is_told(tmp_path):
    same = "x" * 300
    details = [detail(i, [same, same], {"avg@n:n=2": 1.0}) for i in range(5)]
    details += [detail(5, [None], {"avg@n:n=2": None}), detail(5, [""], {"avg@n:n=2": 1.0})]
    path, _ = tree(tmp_path, details, n=9, settings={"temperature": 0.0})
    rows, told = read(path)
    assert (rows[10].status, rows[10].error, rows[10].score) == ("error", "empty: no completion was kept", None)
    assert (rows[11].question, rows[11].score) == ("5-2", 1.0)
    assert sorted(told) == sorted(
        [
            "1 question has no 'avg@n:n=2' that is a number: it is an error",
            "1 completion is missing, which the harness scored all the same: it is an error",
            "1 question has the name of an earlier one: it is called NAME-2, NAME-3, ...",
            "1 completion is empty; a failed request looks the same in this log",
            "only avg@n:n=2 of 2 completions is kept: howsure rescore scores each",
            "2 of 7 questions have fewer than 2 completions",
            "decoding was greedy: the 2 completions of a question are copies",
            (
                "all generations of 5 of 5 questions compared are the same text: a fixed seed, a cache or temperature 0; "
                "copies are no generations of their own, and --generations 1 reads the first only"
            ),
            "2 of the 9 questions of the run are not in it",
        ]
    )


def test_metrics_that_are_no_numbers(tmp_path):
    path, _ = tree(tmp_path, [detail(0, metric={"bleu": {"sys": 1, "ref": 2}, "em": 1.0})])
    assert READER.describe(path).scorers == ("em",)
    path, _ = tree(tmp_path, [detail(0, metric={"bleu": [1, 2]})])
    with pytest.raises(InputError, match="no metric that is a number"):
        read(path)
    mixed = [{"doc": d["doc"], "model_response": d["model_response"], "metric": json.dumps({"em": em})}
             for d, em in ((detail(0), 1.0), (detail(1), [1]))]  # fmt: skip
    rows, _ = read(tree(tmp_path, mixed)[0])
    assert [(r.score, r.error) for r in rows] == [(1.0, None), (None, "scoring: em: [1] is no score")]


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


def test_a_file_that_breaks_off_says_how_much_was_lost(tmp_path):
    path, _ = tree(tmp_path, [detail(i, [f"{i} " + "x" * 50]) for i in range(600)])
    written(path.parent, [detail(i, [f"{i} {'x' * 50}"]) for i in range(600)], path.name,
            row_group_size=300, compression="none", use_dictionary=False)  # fmt: skip
    data = bytearray(path.read_bytes())
    start = parquet.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    data[start : start + 40] = b"\xff" * 40
    path.write_bytes(data)
    rows, told = read(path)
    assert len(rows) < 600
    assert any("it breaks off after" in line and "of 600 questions" in line for line in told), told
