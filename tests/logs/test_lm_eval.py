"""lm-evaluation-harness. `examples/lm_eval/` was written by lm_eval 0.4.13 itself, with a model that answers at random:

tiny_gen has 3 completions and two filters, of which maj@3 votes; tiny_mc has 7 documents of which two are the same, and
two metrics; tiny_roll has no metric that is a number of each document.
"""

import json
import shutil
from pathlib import Path

import pytest

from howsure.errors import InputError
from howsure.logs import get_reader
from howsure.logs.base import UNSCORED, ReadOptions
from howsure.logs.file_formats import FileHead
from howsure.logs.lm_eval.run_metadata import LmEvalRun, Totals

READER = get_reader("lm_eval")
OUT = Path(__file__).parent / "examples" / "lm_eval"
SHARED = Path(__file__).resolve().parents[2] / "../shared/data/logs/lm_eval"
GEN, MC, ROLL = (next(OUT.glob(f"samples_tiny_{name}_*.jsonl")) for name in ("gen", "mc", "roll"))
RESULTS = next(OUT.glob("results_*.json"))


def read(path, **options):
    notes = []
    return list(READER.rows(path, ReadOptions(**options), notes.append)), [note.code for note in notes]


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(folder, *lines):
    path = folder / "samples_made_2026-01-02T03-04-05.000006.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def line(i=0, **fields):
    return {
        "doc_id": i,
        "doc": {"q": f"q{i}", "subject": "sums"},
        "target": "4",
        "arguments": {"gen_args_0": {"arg_0": f"q{i}", "arg_1": {"temperature": 1.0}}},
        "resps": [["four", f"five {i}"]],
        "filtered_resps": ["four"],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": f"hash{i}",
        "exact_match": 1.0,
        **fields,
    }


# Truth: another program's output. Its own headline metric comes out of the rows that were read from its log.


def check_mean(path, results, scorer, n, n_unscored):
    rows, _ = read(path, scorer=scorer)
    stated = json.loads(results.read_text())["results"][rows[0].benchmark]
    names = [name for name in stated if "," in name and "_stderr" not in name]
    name = next(name for name in names if scorer is None or scorer in (name, *name.split(",")))
    scores = [row.score for row in rows if row.score is not None]
    assert sum(scores) / len(scores) == pytest.approx(stated[name], abs=1e-12)
    assert (len(rows), sum(row.status == UNSCORED for row in rows)) == (n, n_unscored)


@pytest.mark.parametrize(
    ("path", "scorer", "n", "n_unscored"),
    [
        (GEN, None, 12, 8),
        (GEN, "score-first", 12, 8),
        (GEN, "exact_match,maj@3", 4, 0),
        (MC, None, 7, 0),
        (MC, "acc_norm", 7, 0),
    ],
)
def test_the_number_of_the_harness_follows_from_the_rows(path, scorer, n, n_unscored):
    check_mean(path, RESULTS, scorer, n, n_unscored)


@pytest.mark.shared
@pytest.mark.parametrize("model", ["atlas-8b", "atlas-70b"])
@pytest.mark.parametrize("name", ["strict-match", "flexible-extract"])
def test_shared_logs_of_gsm8k(model, name):
    if not SHARED.exists():
        pytest.skip("the logs of ../shared/data are not here")
    [path], [results] = (list((SHARED / model).glob(pattern)) for pattern in ("samples_*.jsonl", "results_*.json"))
    check_mean(path, results, name, 150, 120)
    texts = [text for one in lines_of(path) if one["filter"] == name for text in one["resps"][0]]
    assert [row.completion for row in read(path, scorer=name, texts=True)[0]] == texts


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
def test_the_likeliest_choice_is_right_where_the_harness_says_so(metric):
    rows, codes = read(MC, scorer=metric, texts=True)
    assert [float(row.answer == row.target) for row in rows] == [one[metric] for one in lines_of(MC)]
    assert rows[6].question == rows[2].question + "-2"
    assert codes == ["log-renamed"]


def test_sums_over_documents_are_no_score_of_one():
    with pytest.raises(InputError, match="no metric that is a number for each question"):
        read(ROLL)


# Truth: the layout of the harness, and lines that were made by hand.


def test_totals_stand_for_their_samples(tmp_path):
    assert list(READER.members(RESULTS)) == [GEN, MC, ROLL]
    with pytest.raises(InputError, match="totals without samples; run lm-eval with --log_samples"):
        READER.members(Path(shutil.copy(RESULTS, tmp_path)))


def test_a_copy_of_a_log_is_the_same_run_and_a_file_alone_has_the_names_of_its_path(tmp_path):
    folder = shutil.copytree(OUT, tmp_path / "copy")
    assert READER.describe(folder / GEN.name).run == READER.describe(GEN).run != READER.describe(MC).run
    alone = Path(shutil.copy(GEN, tmp_path / "b.log"))
    rows, codes = read(alone)
    assert {(row.benchmark, row.model) for row in rows} == {("b.log", tmp_path.name)}
    assert "log-metadata" in codes


def test_older_versions_have_an_array_no_filter_no_hash_and_lists_of_arguments(tmp_path):
    old = {"arguments": [["q", " a"], ["q", " b"]], "target": " b", "resps": [[["-1", "x"]], [["-2", "x"]]], "acc": 0.0}
    lines = [line(i, **old) for i in range(2)]
    for one in lines:
        for name in ("filter", "metrics", "doc_hash", "exact_match"):
            del one[name]
    path = tmp_path / "org__m_made.jsonl"
    path.write_text(json.dumps(lines, indent=2))
    rows, codes = read(path, texts=True)
    assert [(row.question, row.score, row.answer, row.target) for row in rows] == [
        ("0", 0, "A", "B"),
        ("1", 0, "A", "B"),
    ]
    assert codes == ["log-metadata", "log-by-number"]


def test_an_answer_that_the_log_does_not_show_is_none(tmp_path):
    empty = {"a": {"arg_0": "q", "arg_1": ""}, "b": {"arg_0": "q", "arg_1": "y"}}
    likely = [[["-1", "x"]], [["-2", "x"]]]
    for resps, arguments, metric in (
        ([[["-1", "x"]], [["?", "x"]]], None, "acc"),
        (likely, empty, "acc_norm"),
        (likely, None, "acc_mutual_info"),
    ):
        path = write(tmp_path, line(resps=resps, arguments=arguments, metrics=[metric], **{metric: 1.0}))
        assert [(row.score, row.answer) for row in read(path)[0]] == [(1.0, None)]


def test_choices_that_are_contexts_and_messages_of_a_chat(tmp_path):
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    contexts = {"a": {"arg_0": "He won", "arg_1": " so"}, "b": {"arg_0": "She won", "arg_1": " so"}}
    likely = [[["-1", "x"]], [["-2", "x"]]]
    first = line(0, arguments={"gen_args_0": {"arg_0": [json.dumps(chat)], "arg_1": {}}}, target=["4", "5"])
    rows, _ = read(write(tmp_path, first, line(1, arguments=contexts, resps=likely, target="She won")), texts=True)
    assert (rows[0].messages, rows[0].target) == (tuple(chat), '["4","5"]')
    assert (rows[2].choices, rows[2].target, rows[2].answer) == (("He won", "She won"), "B", "A")


def test_fields_of_the_line_become_ours(tmp_path):
    columns = {"question": "doc.q", "variant": "prompt_hash", "cluster": "doc.subject", "benchmark": "doc_id"}
    path = write(
        tmp_path, line(prompt_hash="p"), line(1), line(2, doc={"q": "q0", "subject": "x"}, doc_id=0, prompt_hash="p")
    )
    rows, codes = read(path, columns=columns)
    assert [(row.question, row.variant, row.cluster, row.benchmark) for row in rows[::2]] == [
        ("q0", "p", "sums", "0"),
        ("q1", "default", "sums", "1"),
        ("q0-2", "p", "x", "0"),
    ]
    assert "log-no-field" in codes


def test_a_filter_votes_by_its_steps_or_by_its_name():
    steps = [{"name": "a", "filter": [{"function": "majority_vote"}]}, {"name": "maj@1", "filter": None}]
    run = LmEvalRun(task="t", model="m", totals=Totals(results={}, configs={"t": {"filter_list": steps}}))
    votes = {"a": True, "maj@1": False, "maj@64": True, "majority": True, "score-first": False}
    assert {name: run.is_majority_vote(name) for name in votes} == votes


def test_other_files_are_not_taken(tmp_path):
    for name, text in {"a.json": '{"results": 1, "config_general": 2}', "b.jsonl": '{"doc": 1}', "c": "text"}.items():
        (tmp_path / name).write_text(text)
        assert not READER.recognises(FileHead(tmp_path / name))
