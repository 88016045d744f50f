"""lm-evaluation-harness. `examples/lm_eval/` was written by lm_eval 0.4.13 itself, with a model that answers at random:

tiny_gen has 3 completions and two filters, of which maj@3 votes; tiny_mc has 7 documents of which two are the same, and
two metrics; tiny_roll has no metric that is a number of each document.
"""

import json
import shutil
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from howsure.errors import InputError, UnknownNameError
from howsure.logs import find_reader
from howsure.logs.base import UNSCORED, ReadOptions
from howsure.logs.file_formats import FileHead
from howsure.logs.lm_eval import run_metadata as harness_run
from howsure.logs.lm_eval.reader import LmEvalReader
from howsure.logs.lm_eval.records import parse_prompt

READER = LmEvalReader()

OUT = Path(__file__).parent / "examples" / "lm_eval"
SHARED = Path(__file__).resolve().parents[2] / "../shared/data/logs/lm_eval"
GEN, MC, ROLL = (next(OUT.glob(f"samples_tiny_{name}_*.jsonl")) for name in ("gen", "mc", "roll"))
RESULTS = next(OUT.glob("results_*.json"))
TOTALS = json.loads(RESULTS.read_text())["results"]


def read(path, **asked):
    told = []
    return list(READER.rows(path, ReadOptions(**asked), lambda note: told.append(note.text))), told


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def mean(rows):
    scores = [row.score for row in rows if row.score is not None]
    return sum(scores) / len(scores)


def written(folder, lines, name="samples_made_2026-01-02T03-04-05.000006.jsonl"):
    path = folder / name
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    return path


def made(i=0, **over):
    line = {
        "doc_id": i,
        "doc": {"q": f"q{i}", "subject": "sums"},
        "target": "4",
        "arguments": {"gen_args_0": {"arg_0": f"q{i}", "arg_1": {"temperature": 1.0}}},
        "resps": [["four", f"five {i}"]],
        "filtered_resps": ["four"],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": f"hash{i}",
        "prompt_hash": "p",
        "target_hash": "t",
        "exact_match": 1.0,
    }
    line |= over
    return {name: value for name, value in line.items() if value is not ...}


def totals(folder, name="results_2026-01-02T03-04-05.000006.json", task="made", **over):
    config = {"repeats": 2, "output_type": "generate_until", "generation_kwargs": {"temperature": 1.0}}
    found = {"results": {task: {"exact_match,none": 1.0}}, "configs": {task: config}, "model_name": "org/m"} | over
    (folder / name).write_text(json.dumps(found))
    return folder / name


# Truth: another program's output. Its own headline metric comes out of the rows that were read from its log.


@pytest.mark.parametrize(
    ("path", "scorer", "n", "unscored"),
    [
        (GEN, None, 12, 8),
        (GEN, "score-first", 12, 8),
        (GEN, "exact_match,maj@3", 4, 0),
        (MC, None, 7, 0),
        (MC, "acc_norm", 7, 0),
    ],
)
def test_the_harness_own_number_comes_out(path, scorer, n, unscored):
    rows, _ = read(path, scorer=scorer)
    task = rows[0].benchmark
    names = [name for name in TOTALS[task] if "," in name and "_stderr" not in name]
    name = next(name for name in names if scorer is None or scorer in (name, *name.split(",")))
    assert mean(rows) == pytest.approx(TOTALS[task][name], abs=1e-12)
    assert len(rows) == n
    assert sum(row.status == UNSCORED for row in rows) == unscored
    assert {(row.model, row.benchmark, row.variant) for row in rows} == {("org/tiny", task, "default")}


def test_completions_scores_and_answers_are_those_of_the_file():
    rows, told = read(GEN, texts=True)
    first = [line for line in lines_of(GEN) if line["filter"] == "score-first"]
    assert [row.completion for row in rows] == [text for line in first for text in line["resps"][0]]
    assert [row.generation for row in rows] == [1, 2, 3] * 4
    scored = rows[::3]
    assert [row.question for row in scored] == [line["doc_hash"] for line in first]
    for row, line in zip(scored, first, strict=True):
        (made_of,) = line["filtered_resps"]
        assert (row.score, row.target) == (line["exact_match"], line["target"])
        assert (row.status, row.answer) == (("unparsed", None) if made_of == "[invalid]" else ("ok", made_of))
        assert row.messages == ({"role": "user", "content": line["doc"]["q"]},)
    assert any(row.status == "unparsed" for row in scored)
    assert told == [
        "2 scorers, of which 'exact_match,score-first' is read: --scorer reads another ('exact_match,maj@3')",
        "3 completions of each question are kept and only the first was scored: howsure rescore scores the others",
    ]


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
def test_the_likeliest_choice_is_right_exactly_where_the_harness_says_so(metric):
    rows, told = read(MC, scorer=metric, texts=True)
    assert [float(row.answer == row.target) for row in rows] == [line[metric] for line in lines_of(MC)]
    assert rows[1].choices == ("C", "a long wrong answer", "Z?", "1")
    assert [row.target for row in rows] == list("ABCDABC")
    assert {row.completion for row in rows} == {None}
    assert rows[6].question == rows[2].question + "-2"
    assert told == ["1 question has the name of an earlier one: it is called NAME-2, NAME-3, ..."]


def test_sums_over_documents_are_no_score_of_one():
    with pytest.raises(InputError, match="no metric that is a number for each question"):
        read(ROLL)


def test_who_and_what_it_is_about():
    found = READER.describe(GEN)
    assert list(found.models) == ["org/tiny"]
    model = found.models["org/tiny"]
    assert (model.kind, model.generations) == ("lm-evaluation-harness", 3)
    assert model.settings == {"do_sample": True, "temperature": 0.8, "max_tokens": 16}
    assert found.benchmarks["tiny_gen"]["until"] == ["\n"]
    assert found.benchmarks["tiny_gen"]["lm_eval"] == "0.4.13"
    assert found.scorers == ("exact_match,score-first", "exact_match,maj@3")
    assert found.created.startswith("2026-11-21T")
    assert len({found.run, READER.describe(MC).run}) == 2


def test_totals_stand_for_their_samples(tmp_path):
    assert list(READER.members(RESULTS)) == [GEN, MC, ROLL]
    assert list(READER.members(GEN)) == [GEN]
    alone = shutil.copy(RESULTS, tmp_path)
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(InputError, match="totals without samples; run lm-eval with --log_samples"):
        READER.members(Path(alone))


def test_a_renamed_log_reads_the_same(tmp_path):
    renamed = [(GEN, "b.log"), (MC, "a"), (RESULTS, "c.dat")]
    for path, name in renamed:
        shutil.copy(path, tmp_path / name)
    assert all(isinstance(find_reader(tmp_path / name), LmEvalReader) for _, name in renamed)
    for path, name in renamed[:2]:
        assert read(tmp_path / name, texts=True) == read(path, texts=True)
        assert READER.describe(tmp_path / name) == READER.describe(path)
    assert list(READER.members(tmp_path / "c.dat")) == [tmp_path / "a", tmp_path / "b.log"]


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="needs the data folder ../shared")
@pytest.mark.parametrize("model", ["atlas-8b", "atlas-70b"])
def test_shared_logs_of_gsm8k(model):
    (path,) = (SHARED / model).glob("samples_*.jsonl")
    (results,) = (SHARED / model).glob("results_*.json")
    own = json.loads(results.read_text())["results"]["gsm8k_30"]
    for name in ("strict-match", "flexible-extract"):
        rows, told = read(path, scorer=name, texts=True)
        assert mean(rows) == pytest.approx(own[f"exact_match,{name}"], abs=1e-12)
        assert Counter(row.status == UNSCORED for row in rows) == {False: 30, True: 120}
        assert [row.completion for row in rows] == [
            text for line in lines_of(path) if line["filter"] == name for text in line["resps"][0]
        ]
        assert {row.model for row in rows} == {model}
        assert rows[0].messages[0]["content"].startswith("Question: Janet")
        assert "5 completions of each question are kept" in told[-1]


# Truth: a log that was made by hand, and what it must say.


def test_older_versions_have_an_array_no_filter_no_hash_and_lists_of_arguments(tmp_path):
    lines = [
        made(i, filter=..., metrics=..., doc_hash=..., arguments=[["q", " a"], ["q", " b"]], target=" b",
             resps=[[["-1", "False"]], [["-2", "False"]]], acc=0.0, exact_match=...)
        for i in range(2)
    ]  # fmt: skip
    path = tmp_path / "org__m_made.jsonl"
    path.write_text(json.dumps(lines, indent=2))
    rows, told = read(path, texts=True)
    assert [(row.question, row.score, row.answer, row.target) for row in rows] == [
        ("0", 0, "A", "B"),
        ("1", 0, "A", "B"),
    ]
    assert told == [
        (
            f"no results json of it lies beside it: the benchmark 'org__m_made' is the file's name, the model "
            f"'{tmp_path.name}' its folder's"
        ),
        "2 questions have no doc_hash: they go by doc_id, their number in what was run",
    ]
    assert READER.describe(path).scorers == ("acc,none",)


@pytest.mark.parametrize(
    ("resps", "arguments", "metric"),
    [
        ([[["-1", "x"]], [["?", "x"]]], None, "acc"),
        (
            [[["-1", "x"]], [["-2", "x"]]],
            {"a": {"arg_0": "q", "arg_1": ""}, "b": {"arg_0": "q", "arg_1": "y"}},
            "acc_norm",
        ),
        ([[["-1", "x"]], [["-2", "x"]]], None, "acc_mutual_info"),
    ],
)
def test_an_answer_that_the_log_does_not_show_is_none(tmp_path, resps, arguments, metric):
    path = written(tmp_path, [made(0, resps=resps, arguments=arguments, metrics=[metric], **{metric: 1.0})])
    assert [(row.score, row.answer) for row in read(path)[0]] == [(1.0, None)]


def test_choices_that_are_contexts_and_messages_of_a_chat(tmp_path):
    chat = json.dumps([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}])
    arguments = {"gen_args_0": {"arg_0": [chat], "arg_1": {}}}
    contexts = {"a": {"arg_0": "He won", "arg_1": " so"}, "b": {"arg_0": "She won", "arg_1": " so"}}
    both = [["-1", "x"]], [["-2", "x"]]
    path = written(tmp_path, [
        made(0, arguments=arguments, target=["4", "5"]),
        made(1, arguments={"gen_args_0": {"arg_0": 7, "arg_1": {}}}),
        made(2, arguments=contexts, resps=both, target="She won"),
    ])  # fmt: skip
    rows, _ = read(path, texts=True)
    assert rows[0].messages == ({"role": "system", "content": "s"}, {"role": "user", "content": "u"})
    assert rows[0].target == '["4","5"]'
    assert rows[2].messages is None
    assert (rows[4].choices, rows[4].target, rows[4].answer) == (("He won", "She won"), "B", "A")


def test_fields_of_the_line_become_ours(tmp_path):
    totals(tmp_path)
    columns = {"question": "doc.q", "variant": "prompt_hash", "cluster": "doc.subject", "benchmark": "doc_id"}
    path = written(tmp_path, [made(0), made(1, prompt_hash=...), made(2, doc={"q": "q0", "subject": "x"}, doc_id=0)])
    rows, told = read(path, columns=columns)
    assert [(r.question, r.variant, r.cluster, r.benchmark) for r in rows[::2]] == [
        ("q0", "p", "sums", "0"),
        ("q1", "default", "sums", "1"),
        ("q0-2", "p", "x", "0"),
    ]
    assert "1 record has no prompt_hash: its variant is read as without --columns" in told
    with pytest.raises(UnknownNameError, match=r"unknown field 'doc.sub'; did you mean 'doc.subject'"):
        read(path, columns={"cluster": "doc.sub"})


def test_a_filter_votes_by_its_steps_or_by_its_name():
    steps = [{"name": "a", "filter": [{"function": "majority_vote"}]}, {"name": "maj@1", "filter": None}]
    run = harness_run.LmEvalRun(
        task="t", model="m", totals=harness_run.Totals(results={}, configs={"t": {"filter_list": steps}})
    )
    assert [run.is_majority_vote(name) for name in ("a", "maj@1", "maj@64", "majority", "score-first")] == [
        True,
        False,
        True,
        True,
        False,
    ]
    assert (run.repeats, run.n_questions, run.created) == (0, 0, "")


def test_other_files_are_not_taken(tmp_path):
    for name, text in {"a.json": '{"results": 1, "config_general": 2}', "b.jsonl": '{"doc": 1}', "c": "text"}.items():
        (tmp_path / name).write_text(text)
        assert not READER.recognises(FileHead(tmp_path / name))
    assert not READER.recognises(FileHead(tmp_path))


@pytest.mark.parametrize(
    ("document", "target", "expected"),
    [
        ({"choices": ["Paris", "Rome"]}, "(B)", (("Paris", "Rome"), "B")),
        ({"options": [" Paris", "Rome"]}, "A", (("Paris", "Rome"), "A")),
        ({"choices": {"text": ["Paris", "Rome"], "label": ["1", "2"]}}, "2", (("Paris", "Rome"), "B")),
        ({"choices": ["Paris", "Rome"]}, "Rome", (("Paris", "Rome"), "B")),
        ({"choices": ["2", "1"]}, "1", (("2", "1"), "1")),
        ({"choices": ["Paris", "Paris"]}, "A", ((), "A")),
        ({"choices": ["Paris", 3]}, "A", ((), "A")),
        ({"choices": "Paris"}, "A", ((), "A")),
        ({}, "A", ((), "A")),
    ],
)
def test_choices_of_a_generated_answer_are_those_of_its_document(document, target, expected):
    line = {
        "doc": document,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": "Which?", "arg_1": {"until": []}}},
    }
    prompt = parse_prompt({name: msgspec.Raw(json.dumps(value).encode()) for name, value in line.items()})
    assert (prompt["choices"], prompt["target"]) == expected
