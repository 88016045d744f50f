"""Right answers of reviewers in the place of wrong targets. Truth: scores counted by hand."""

from __future__ import annotations

import time

import pytest
from helpers.noted import noted

import howsure as hs
from howsure.api.result_selection import open_results
from howsure.errors import HowsureWarning, InputError
from howsure.review.verdicts import Verdict, append, content_key, moment
from howsure.store.manifest import Manifest
from howsure.store.responses import RunFolder
from howsure.store.schema import Response
from howsure.store.scorer_files import RescoredRow, write_scores

#: Question, stored target, and the completions of four generations; the right answer of "sum" is 4.
QUESTIONS = {"sum": ("5", "4445"), "product": ("6", "6667"), "rest": ("1", "1111")}


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run"
    with RunFolder(path) as folder:
        Manifest().save(path)
        messages = [{"role": "user", "content": ""}]
        folder.put_prompts(
            ("maths", name, "v", [messages[0] | {"content": f"What is the {name}?"}], target, None)
            for name, (target, _) in QUESTIONS.items()
        )
        folder.append(
            [
                Response(
                    "maths", "m", name, "v", g, float(c == target), answer=c, completion=f"It is {c}.", target=target
                )
                for name, (target, completions) in QUESTIONS.items()
                for g, c in enumerate(completions, 1)
            ]
        )
    return path


@pytest.fixture
def verdicts(tmp_path):
    def write(question, verdict, answer="", *, reviewer="ada", target=None, **fields):
        key = content_key(f"What is the {question}?", target or QUESTIONS[question][0])
        here = {"benchmark": "maths", "question": question, "key": key, "verdict": verdict, "answer": answer}
        append(tmp_path / "v.jsonl", Verdict(**here, reviewer=reviewer, **{"when": moment(0), **fields}))
        return tmp_path / "v.jsonl"

    return write


def scores(run, scorer):
    cells = hs.read(run, scorer=scorer).cells()[0]
    return dict(zip(cells.questions, cells.total[0].tolist(), strict=True))


def test_right_answers_replace_wrong_targets(run, verdicts):
    verdicts("sum", "mislabeled", "4")
    verdicts("product", "fine")
    file = verdicts("rest", "ambiguous")
    with noted() as notes:
        agreement = hs.rescore(run, "numeric", override=file)
    codes = ("targets-replaced", "rejected-without-answer", "rejected-keep-target")
    assert [(note.code, note.where, note.n) for note in notes] == [(code, str(run), 1) for code in codes]
    assert scores(run, "numeric+corrected") == {"sum": 3, "product": 3, "rest": 4}
    assert agreement["n_agree"].tolist() == [8]  # each generation of "sum" has another score
    hs.rescore(run, "numeric")
    assert scores(run, "numeric") == {"sum": 1, "product": 3, "rest": 4}
    assert scores(run, "numeric+corrected")["sum"] == 3


def test_questions_left_out_of_corrected_scores_are_those_without_a_right_answer(run, verdicts):
    """By hand: "sum" is corrected, "rest" has no right answer; an answer newer than the scores is not in them."""
    verdicts("sum", "mislabeled", "4")
    file = verdicts("rest", "ambiguous")
    with noted() as notes:
        hs.rescore(run, "numeric", override=file)
    assert ("rejected-keep-target", 1) in [(note.code, note.n) for note in notes]
    with pytest.warns(HowsureWarning) as caught:
        cells = open_results(hs.read(run, scorer="numeric+corrected"), file).cells()[0]
    assert dict(zip(cells.questions, cells.total[0].tolist(), strict=True)) == {"sum": 3, "product": 3}
    assert any("1 mislabeled question not left out" in str(one.message) for one in caught)
    with pytest.warns(HowsureWarning, match="2 of 3 questions left out"):
        assert open_results(hs.read(run, scorer="run"), file).cells()[0].questions == ("product",)
    verdicts("product", "mislabeled", "7", when=moment(time.time() + 60))
    with pytest.warns(HowsureWarning) as caught:
        assert open_results(hs.read(run, scorer="numeric+corrected"), file).cells()[0].questions == ("sum",)
    assert any("2 of 3 questions left out" in str(one.message) for one in caught)


def test_answers_on_which_reviewers_differ_replace_nothing(run, verdicts):
    verdicts("sum", "mislabeled", "4")
    file = verdicts("sum", "mislabeled", "9", reviewer="bob")
    with pytest.raises(InputError, match="no mislabeled question has a right answer that is agreed on"):
        hs.rescore(run, "numeric", override=file)
    verdicts("sum", "mislabeled", "4", reviewer="eve", role="adjudication")
    with pytest.warns(HowsureWarning, match="1 of 3 targets replaced") as caught:
        hs.rescore(run, "numeric", override=file)
    assert not any("--adjudicate" in str(one.message) for one in caught)
    assert scores(run, "numeric+corrected")["sum"] == 3


def test_questions_on_which_reviewers_differ_are_named_beside_the_replaced_ones(run, verdicts):
    """By hand: one with two answers, which is rejected, and one that only one of two reviewers rejects, which is not."""
    verdicts("sum", "mislabeled", "4")
    verdicts("product", "mislabeled", "5")
    verdicts("product", "mislabeled", "6", reviewer="bob")
    verdicts("rest", "mislabeled", "7")
    file = verdicts("rest", "fine", reviewer="bob")
    with noted() as notes:
        hs.rescore(run, "numeric", override=file)
    assert {("reviewers-differ-in-answer", 2), ("rejected-keep-target", 1)} <= {(note.code, note.n) for note in notes}


def test_an_answer_to_another_content_replaces_nothing(run, verdicts):
    file = verdicts("sum", "mislabeled", "4", target="8")
    with pytest.raises(InputError, match="no right answer in .* is for a question here"):
        hs.rescore(run, "numeric", override=file)
    verdicts("product", "mislabeled", "7")
    with noted() as notes:
        hs.rescore(run, "numeric", override=file)
    assert ("answers-elsewhere", 1) in [(note.code, note.n) for note in notes]
    assert scores(run, "numeric+corrected") == {"sum": 1, "product": 1, "rest": 4}


def test_a_line_on_excluded_questions_stays_with_its_benchmark(tmp_path):
    """By hand: the line of maths500 was also on the page of maths, whose name begins alike."""
    for name in ("maths", "maths500"):
        rows = "".join(f"{name},m,q{i},{i % 2}\n" for i in range(6))
        (tmp_path / f"{name}.csv").write_text(f"benchmark,model,question,score\n{rows}")
        line = {"benchmark": name, "question": "q1", "key": f"{name} q1", "verdict": "mislabeled"}
        append(tmp_path / "v.jsonl", Verdict(**line, when=moment(0)))
    results = open_results(hs.read([tmp_path / "maths.csv", tmp_path / "maths500.csv"]), tmp_path / "v.jsonl")
    with pytest.warns(HowsureWarning, match="1 of 6 questions left out"):
        results.cells()
    [line] = [str(note) for note in results.notes("maths") if note.code == "questions-excluded"]
    assert line.startswith("maths: 1 of 6 questions left out (1 mislabeled; 1 on one vote)")
    assert line.endswith("the mean score of the models goes from 0.500 to 0.400")  # by hand: 3 of 6, and 2 of 5


def test_the_report_says_when_scores_beside_the_rows_were_written(run, tmp_path):
    """By hand: the manifest of the folder as it is read has the scorer and the time of its file, and the page the day."""
    assert "scored" not in hs.read(run).manifests()[0]
    assert "Scores written" not in hs.report(hs.read(run), tmp_path / "plain.html", static_figures=False).read_text()
    rows = [RescoredRow("maths", "m", name, "v", g, score=1.0) for name in sorted(QUESTIONS) for g in range(1, 5)]
    write_scores(run, "mine", "7", iter(rows), clock=lambda: 86_400.0)
    results = hs.read(run, scorer="mine")
    assert results.manifests()[0]["scored"] == {"by": "mine@7", "at": "1970-01-02T00:00:00Z"}
    page = hs.report(results, tmp_path / "mine.html", static_figures=False).read_text()
    assert "<dt>Scores written</dt><dd>1970-01-02</dd>" in page
    assert "<dt>Scorer</dt><dd>mine</dd>" in page
    assert "Targets replaced" not in page


def test_the_report_says_how_many_targets_were_replaced_for_its_scores(run, verdicts, tmp_path):
    """By hand: one of three in maths, and none of the one in facts."""
    with RunFolder(run) as folder:
        folder.append([Response("facts", "m", "one", "v", 1, 1.0, answer="1", completion="It is 1.", target="1")])
    file = verdicts("sum", "mislabeled", "4")
    with pytest.warns(HowsureWarning, match="1 of 4 targets replaced"):
        hs.rescore(run, "numeric", override=file)
    results = hs.read(run, scorer="numeric+corrected")
    assert results.manifests()[0]["scored"]["replaced_targets"] == {
        "facts": {"n_replaced": 0, "n_questions": 1},
        "maths": {"n_replaced": 1, "n_questions": 3},
    }
    index = hs.report(results, tmp_path / "both", static_figures=False)
    pages = {name: (index.parent / f"{name}.html").read_text() for name in ("facts", "maths")}
    assert all("<dt>Scorer</dt><dd>numeric+corrected</dd>" in page for page in pages.values())
    assert "Targets replaced" not in pages["facts"]
    assert "<dt>Targets replaced after a review</dt><dd>1 of 3</dd>" in pages["maths"]
    maths = hs.read(run, scorer="numeric+corrected", benchmarks=["maths"])
    page = hs.report(maths, tmp_path / "maths.html", static_figures=False).read_text()
    assert "<dt>Scorer</dt><dd>numeric+corrected</dd>" in page
    assert "<dt>Targets replaced after a review</dt><dd>1 of 3</dd>" in page
    assert (
        "Targets replaced"
        not in hs.report(hs.read(run, scorer="run", benchmarks=["maths"]), tmp_path / "plain.html").read_text()
    )
