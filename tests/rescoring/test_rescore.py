"""A run folder is scored again: what is there stays, and what was never scored gets a score."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from helpers.long_cases import mark_long
from helpers.scored_runs import response, run_of

import howsure as hs
from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.cli import cli
from howsure.errors import HowsureWarning, InputError, StoreError, UnknownNameError
from howsure.rescoring.rescore import choose_scorer, rescore
from howsure.scorers import patterns
from howsure.store import scorer_files
from howsure.store.responses import RunFolder, read
from howsure.store.schema import KEY

SAID = ("score", "status", "answer", "rule", "error")


def said(path, scorer):
    rows = scorer_files.stream_rows(path, ["question", "generation", *SAID], scorer).read_all().to_pylist()
    return {(row["question"], row["generation"]): tuple(row[name] for name in SAID) for row in rows}


def kept_completions(path):
    """As lm-eval logs: K completions, of which the first was scored; the harness misreads one."""
    texts = {"q1": ["#### 18", "#### 18", "no idea"], "q2": ["#### 7.", "It is 18", "#### 1"]}
    rows = [
        response(
            question,
            k + 1,
            completion=text,
            target="x\n#### 18" if question == "q1" else "7",
            score=float(question == "q1") if k == 0 else None,
            status="ok" if k == 0 else "unscored",
        )
        for question, each in texts.items()
        for k, text in enumerate(each)
    ]
    return run_of(path, rows)


# theory: cases that anybody can count


def test_completions_that_were_never_scored_get_scores_and_the_first_are_compared(tmp_path):
    path = kept_completions(tmp_path)
    before = read(path).to_pylist()
    found = rescore(path, "numeric")
    assert said(path, "numeric") == {
        ("q1", 1): (1.0, "ok", "18", "statement", None),
        ("q1", 2): (1.0, "ok", "18", "statement", None),
        ("q1", 3): (0.0, "unparsed", None, "none", None),
        ("q2", 1): (1.0, "ok", "7", "statement", None),
        ("q2", 2): (0.0, "ok", "18", "last sentence", None),
        ("q2", 3): (0.0, "ok", "1", "statement", None),
    }
    columns = found.columns()
    counts = ("n_scored", "n_unread", "n_missing", "n_both", "n_agree", "only_ours", "only_theirs")
    assert [int(columns[name][0]) for name in counts] == [6, 1, 0, 2, 1, 1, 0]
    assert columns["scorer"][0] == scorer_files.list_scorers(path)[0]
    examples = found.of("disagreements").columns()
    assert [examples[name][0] for name in ("question", "kind", "our_answer", "target", "completion")] == [
        "q2",
        "only ours",
        "7",
        "7",
        "#### 7.",
    ]
    assert read(path).to_pylist() == before


@pytest.mark.parametrize("compacted", [False, True])
def test_nothing_that_is_stored_changes(tmp_path, compacted):
    path = kept_completions(tmp_path)
    if compacted:
        with RunFolder(path) as run:
            run.compact()
    # SQLite makes an index beside its log for whoever reads
    names = [file.name for file in path.iterdir()]
    before = {name: (path / name).read_bytes() for name in names}
    rescore(path, "numeric")
    rescore(path, "exact")
    first = (path / "scores").glob("numeric@*.parquet")
    kept = next(first).read_bytes()
    rescore(path, "regex:#### ([0-9.]+)")
    assert {name: (path / name).read_bytes() for name in names} == before
    assert next((path / "scores").glob("numeric@*.parquet")).read_bytes() == kept
    assert {name.partition("@")[0] for name in scorer_files.list_scorers(path)} == {
        "numeric",
        "exact",
        "regex:#### ([0-9.]+)",
    }


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ({"completion": "18", "status": "ok", "score": 1.0}, (1.0, "ok", "18", "bare", None)),
        ({"completion": "?", "status": "unparsed", "score": 0.0}, (0.0, "unparsed", None, "refused", None)),
        ({"completion": "18", "status": "unparsed", "score": 0.0}, (1.0, "ok", "18", "bare", None)),
        ({"completion": "18", "status": "length", "score": 0.0}, (1.0, "length", "18", "bare", None)),
        # a number in a sentence that the limit of tokens cut is not the answer
        ({"completion": "18 and", "status": "length", "score": 0.0}, (0.0, "length", None, "cut", None)),
        ({"completion": "so", "status": "length", "score": 0.0}, (0.0, "length", None, "cut", None)),
        ({"completion": None, "status": "filtered", "score": 0.0}, (0.0, "filtered", None, None, None)),
        ({"completion": None, "status": "length", "score": 1.0}, (None, "unscored", None, None, None)),
        ({"completion": None, "status": "ok", "score": 1.0}, (None, "unscored", None, None, None)),
        (
            {"completion": None, "status": "error", "error": "timeout: no answer"},
            (None, "error", None, None, "timeout: no answer"),
        ),
        (
            {"completion": "18", "status": "error", "error": "server: broke off"},
            (None, "error", None, None, "server: broke off"),
        ),
        (
            {"completion": "18", "status": "error", "error": "scoring: ValueError: old fault"},
            (1.0, "ok", "18", "bare", None),
        ),
        (
            {"completion": "18", "status": "ok", "target": None, "score": 1.0},
            (None, "error", None, None, "scoring: no target is kept"),
        ),
        (
            {"completion": "18", "status": "ok", "target": "blue", "score": 1.0},
            (None, "error", None, None, "scoring: the target 'blue' gives no number"),
        ),
    ],
)
def test_what_becomes_of_each_kind_of_row(tmp_path, row, wanted):
    path = run_of(tmp_path, [response("q1", **row), response("q2", completion="18")])
    found = rescore(path, "numeric")
    assert said(path, "numeric")["q1", 1] == wanted
    assert int(found.columns()["n_missing"][0]) == (wanted[0] is None)


def test_benchmarks_and_models_have_lines_of_their_own(tmp_path):
    rows = [
        response(f"q{i}", completion=str(i % 2), target="1", score=float(i % 3 == 0), benchmark=b, model=m)
        for b in ("one", "two")
        for m in ("x", "y")
        for i in range(6)
    ]
    columns = rescore(run_of(tmp_path, rows), "numeric", level=0.9).columns()
    assert list(columns["benchmark"]) == ["one", "one", "two", "two"]
    assert list(columns["model"]) == ["x", "y", "x", "y"]
    # right for us at 1, 3, 5, for them at 0, 3
    assert columns["n_agree"].tolist() == [3] * 4
    assert (columns["only_ours"].tolist(), columns["only_theirs"].tolist()) == ([2] * 4, [1] * 4)


def test_rows_that_came_since_are_scored_when_it_is_run_again(tmp_path):
    path = run_of(tmp_path, [response("q1", completion="18", score=1.0)])
    rescore(path, "numeric", clock=lambda: 1.0)
    run_of(path, [response("q2", completion="17", score=0.0)])
    assert said(path, "numeric")["q2", 1] == (None, "unscored", None, None, None)
    rescore(path, "numeric", clock=lambda: 2.0)
    assert said(path, "numeric")["q2", 1] == (0.0, "ok", "17", "bare", None)
    assert len(scorer_files.list_scorers(path)) == 1


def test_how_many_examples_are_kept_is_said(tmp_path):
    path = run_of(tmp_path, [response(f"q{i}", completion="1", score=1.0) for i in range(9)])
    for most in (0, 3):
        assert (
            rescore(path, "numeric", examples=most).of("disagreements").columns()["kind"].tolist()
            == ["only theirs"] * most
        )


# what cannot be scored


def test_where_no_row_can_be_scored_the_first_reason_is_told_and_nothing_written(tmp_path):
    cases = {
        "texts": ([response(completion=None, score=1.0)], "no completion is kept"),
        "kind": ([response(completion="18", target="blue")], "scoring: the target 'blue' gives no number"),
        "failed": ([response(completion=None, status="error", error="timeout: x")], "timeout: x"),
    }
    for name, (rows, told) in cases.items():
        path = run_of(tmp_path / name, rows)
        with pytest.raises(InputError, match=f"no row can be scored by numeric; {told}"):
            rescore(path, "numeric")
        assert scorer_files.list_scorers(path) == []
    with pytest.raises(InputError, match="the run has no rows"):
        rescore(run_of(tmp_path / "empty", []), "numeric")
    with pytest.raises(StoreError, match="not a run folder"):
        rescore(tmp_path / "absent", "numeric")
    with pytest.raises(UnknownNameError, match="unknown scorer"):
        rescore(tmp_path / "texts", "nummeric")


def test_a_benchmark_whose_own_code_fails_is_an_error_of_the_row(tmp_path):
    def grade(answer, _):
        return {"nan": float("nan"), "18": 1.0}[answer]

    mine = Benchmark("b", [Question("q", "?", "18")], Prompt(), extract=lambda text: text or None, grade=grade)
    texts = ["18", "nan", "other", ""]
    path = run_of(tmp_path, [response(f"q{i}", completion=text) for i, text in enumerate(texts)])
    with pytest.raises(InputError, match="the manifest does not state how answers to 'b' are read"):
        rescore(path, "own")
    rescore(path, "own", benchmarks={"b": mine})
    found = said(path, "own")
    assert found["q0", 1] == (1.0, "ok", "18", "benchmark", None)
    assert found["q1", 1] == (None, "error", "nan", "benchmark", "scoring: the score is nan")
    assert found["q2", 1] == (None, "error", None, None, "scoring: KeyError: 'other'")
    assert found["q3", 1] == (0.0, "unparsed", None, "empty", None)


def test_a_pattern_that_never_ends_is_refused_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(patterns, "SECONDS", 0.1)
    monkeypatch.setattr(patterns, "MAX_TIMEOUTS", 2)
    path = run_of(tmp_path, [response(f"q{i}", completion="a" * 40 + "b") for i in range(9)])
    with pytest.raises(InputError, match="takes more than"):
        rescore(path, "regex:(a+)+$")
    assert scorer_files.list_scorers(path) == []


# another program's output: the scores of lm-eval on its first completions


@pytest.mark.shared
@pytest.mark.parametrize("scorer", mark_long(["numeric", r"regex-first:#### (\-?[0-9\.\,]+)", "maths"], after=2))
def test_lm_evals_own_scores_are_ours_on_the_first_and_the_others_get_theirs(tmp_path, scorer):
    if scorer == "maths":
        pytest.importorskip("math_verify")
    logs = Path(__file__).resolve().parents[2] / "../shared/data/logs/lm_eval"
    if not logs.exists():
        pytest.skip("needs ../shared/data/logs/lm_eval")
    rows, right = [], {}
    for file in sorted(logs.glob("*/samples_*.jsonl")):
        for record in map(json.loads, file.read_text().splitlines()):
            if record["filter"] != "strict-match":
                continue
            gold = re.findall(r"#### (\S+)", record["target"])[0].replace(",", "")
            for k, text in enumerate(record["resps"][0]):
                first = {"score": record["exact_match"]} if k == 0 else {"status": "unscored"}
                one = response(
                    record["doc_hash"],
                    k + 1,
                    completion=text,
                    target=record["target"],
                    model=file.parent.name,
                    **first,
                )
                rows.append(one)
                last = re.findall(r"#### (\S+)", text)[0].replace(",", "")
                right[tuple(getattr(one, name) for name in KEY)] = float(last == gold)
    columns = rescore(run_of(tmp_path, rows), scorer).columns()
    assert columns["n_scored"].tolist() == [150, 150]
    assert columns["n_both"].tolist() == columns["n_agree"].tolist() == [30, 30]
    found = scorer_files.stream_rows(tmp_path, [*KEY, "score"], scorer).read_all().to_pylist()
    assert {tuple(row[name] for name in KEY): row["score"] for row in found} == right


@pytest.mark.parametrize(
    ("targets", "name"),
    [
        (["18", "x\n#### 1,000"], "numeric"),
        (["yes", "False"], "yes-no"),
        (["yes", "18"], "contains"),
        (["Paris", '["USA", "US"]'], "contains"),
    ],
)
def test_the_scorer_follows_from_the_targets(tmp_path, targets, name):
    rows = [response(f"q{i}", completion="", target=target) for i, target in enumerate(targets)]
    assert choose_scorer(run_of(tmp_path, rows)) == name


def test_choices_of_the_prompts_decide_before_the_targets(tmp_path):
    prompt = ("b", "q", "default", [], "1", {"choices": ["Rome", "Oslo"]})
    assert choose_scorer(run_of(tmp_path, [response(completion="A", target="1")], [prompt])) == "choice"


def test_benchmarks_that_need_different_scorers_are_told(tmp_path):
    rows = [response(completion="", target="18"), response(completion="", target="Paris", benchmark="c")]
    with pytest.raises(InputError, match="need different scorers: numeric for b, contains for c; name the scorer"):
        choose_scorer(run_of(tmp_path, rows))


def test_thoughts_that_never_end_are_unfinished(tmp_path):
    rows = [
        response(q, completion="<think>The answer is 18", target="18", status=status, score=1.0)
        for q, status in (("q1", "ok"), ("q2", "length"))
    ]
    path = run_of(tmp_path, rows)
    rescore(path, "numeric")
    assert said(path, "numeric") == {(q, 1): (0.0, "unfinished", None, "unfinished", None) for q in ("q1", "q2")}


def test_a_rescored_folder_is_read_with_its_newest_scores_row_by_row(tmp_path):
    path = run_of(
        tmp_path, [response("q1", completion="The answer is 18", score=0.0), response("q2", completion=None, score=1.0)]
    )
    assert hs.score(path)["score"].tolist() == [0.5]
    rescore(path, "numeric", clock=lambda: 1.0)
    with pytest.warns(
        HowsureWarning,
        match=r"scores are those of numeric@\w+, written last \(rows that keep the score of the run: 1\)",
    ):
        assert hs.score(path)["score"].tolist() == [1.0]
    rescore(path, "regex:(19)", clock=lambda: 2.0)
    with pytest.warns(HowsureWarning, match="regex"):
        assert hs.score(path)["score"].tolist() == [0.5]
    assert hs.score(hs.read(path, scorer="run"))["score"].tolist() == [0.5]


def test_each_folder_is_named_with_its_own_scorer(tmp_path, capsys):
    targets = {"numbers": "18", "names": "Paris"}
    folders = {
        name: run_of(tmp_path / name, [response(completion=target, target=target)]) for name, target in targets.items()
    }
    cli.main(["rescore", *map(str, folders.values())], standalone_mode=False)
    out, err = capsys.readouterr()
    for name, scorer in (("numbers", "numeric"), ("names", "contains")):
        assert f"{folders[name]}: scored by {scorer}" in err
        assert f"howsure score {folders[name]} --scorer {scorer} reads" in out
