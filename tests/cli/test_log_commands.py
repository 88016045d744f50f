"""Logs through the commands, as a new user would type them. Kind of truth: written by hand."""

import json
import shlex

import pytest
from helpers.lm_eval_log import harness

from howsure.review.verdicts import Verdict, append, moment


@pytest.fixture
def log(tmp_path):
    # The first completion is scored: right, wrong, right. Of the second, which nobody scored, all are wrong but one.
    harness(tmp_path / "log", texts=(("18", "7"), ("7", "18"), ("18", "9")))
    return tmp_path / "log"


def rows(out):
    return {row["model"]: row for row in json.loads(out)}


def test_a_log_is_scored_reported_and_compared_like_anything_else(howsure, log, tmp_path):
    code, out, err = howsure("score", log, "--format", "json")
    assert (code, rows(out)["m"]["score"], rows(out)["m"]["n_generations"]) == (0, pytest.approx(2 / 3), 3)
    [note] = json.loads(err)["notes"]
    assert note["where"].startswith(str(log))
    assert "2 completions of each question are kept and only the first was scored" in note["text"]
    code, out, _ = howsure("report", log, "--no-static", "-o", tmp_path / "page.html")
    assert code == 0
    assert "only the first was scored" in (tmp_path / "page.html").read_text()


def test_rescore_counts_what_was_kept_and_changes_nothing(howsure, log, tmp_path):
    run = tmp_path / "run"
    code, out, _ = howsure("rescore", log, "--scorer", "numeric", "-o", run, "--format", "json")
    agreement = json.loads(out)[0]
    assert (code, agreement["n_scored"], agreement["n_both"], agreement["n_agree"]) == (0, 6, 3, 3)
    before = rows(howsure("score", run, "--format", "json", "--scorer", "run")[1])["m"]
    after = rows(howsure("score", run, "--format", "json", "--scorer", "numeric")[1])["m"]
    assert (before["score"], before["n_generations"]) == (pytest.approx(2 / 3), 3)
    assert (after["score"], after["n_generations"]) == (0.5, 6)
    code, out, _ = howsure("rescore", run, "--scorer", "exact", "--each")
    assert code == 0
    assert "no rows" in out  # the two agree everywhere
    code, _, err = howsure("score", run, "--scorer", "f1")
    assert (code, "unknown scorer 'f1'" in err) == (2, True)


def test_the_command_that_rescore_names_is_one_for_the_shell(howsure, log, tmp_path):
    scorer = r"regex:(\d+)"
    _, out, _ = howsure("rescore", log, "--scorer", scorer, "-o", tmp_path / "a run")
    start, _, rest = out.splitlines()[-1].partition(": ")
    program, *command = shlex.split(rest.removesuffix(" reads these scores"))
    assert (start, program, command) == (str(tmp_path / "a run"), "howsure", ["score", start, "--scorer", scorer])
    assert howsure(*command)[0] == 0


def test_logs_are_rescored_in_a_folder_of_their_own(howsure, log):
    code, _, err = howsure("rescore", log, "--scorer", "numeric")
    assert code == 2
    assert (
        "logs and tables are not changed; name the run folder that they are converted to first, with -o FOLDER" in err
    )


def test_every_form_gives_the_same_cells(howsure, log, tmp_path):
    run = tmp_path / "run"
    assert howsure("convert", log, "-o", run)[0] == 0
    score = rows(howsure("score", run, "--format", "json")[1])["m"]["score"]
    for form, name in (("parquet", "rows.parquet"), ("eval-arena", "counts.jsonl")):
        code, out, _ = howsure("convert", run, "--to", form, "-o", tmp_path / name)
        assert (code, out.splitlines()[-1]) == (0, str(tmp_path / name))
    for name in ("rows.parquet", "counts.jsonl"):
        assert rows(howsure("score", tmp_path / name, "--format", "json")[1])["m"]["score"] == pytest.approx(score)
    code, _, err = howsure("convert", log, "--to", "parquet", "-o", tmp_path / "other.parquet")
    assert code == 2
    assert "give one run folder: howsure convert makes one of logs" in err
    code, _, err = howsure("convert", run, "-o", tmp_path / "again")
    assert (code, "a run folder already" in err) == (2, True)
    code, _, err = howsure("convert", log, "-o", run)
    assert (code, "there is already a file or a folder here" in err) == (2, True)


def test_a_table_becomes_a_run_folder(howsure, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("model,question,score,topic\nm,q1,1,a\nm,q2,,b\n")
    assert howsure("convert", table, "-o", tmp_path / "run", "--cluster", "topic")[0] == 0
    code, out, _ = howsure("score", tmp_path / "run", "--cluster", "cluster", "--format", "json")
    assert (code, rows(out)["m"]["n_missing"]) == (0, 1)
    code, _, err = howsure("score", tmp_path / "run", "--cluster", "topic")
    assert (code, "a run folder has no column 'topic'" in err) == (2, True)


def test_what_is_missing_bounds_the_score(howsure, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("model,question,score\nm,q1,1\nm,q2,\nm,q3,1\nm,q4,0\nn,q1,1\nn,q2,1\nn,q3,1\nn,q4,0\n")
    answers = {how: rows(howsure("score", table, "--format", "json", "--missing", how)[1]) for how in
               ("as-missing", "as-zero", "bounds")}  # fmt: skip
    assert answers["as-missing"]["m"]["score"] == pytest.approx(2 / 3)
    assert answers["as-zero"]["m"]["score"] == 0.5
    bounds = answers["bounds"]["m"]
    assert (bounds["score_low"], bounds["score_high"]) == (0.5, 0.75)
    assert bounds["low"] < answers["as-missing"]["m"]["low"]
    assert answers["bounds"]["n"]["score_low"] == answers["bounds"]["n"]["score_high"] == 0.75


def test_rejected_questions_are_left_out_of_everything(howsure, tmp_path):
    table, verdicts = tmp_path / "t.csv", tmp_path / "verdicts.jsonl"
    lines = [f"{m},q{q},{v},{int((q + ord(m)) % 3 == 0)}" for m in "mn" for q in range(6) for v in ("x", "y")]
    table.write_text("model,question,variant,score\n" + "\n".join(lines) + "\n")
    for q in (0, 3):
        append(verdicts, Verdict(benchmark="t", question=f"q{q}", key=f"k{q}", verdict="mislabeled", when=moment(q)))
    code, out, err = howsure("score", table, "--exclude", verdicts, "--format", "json")
    assert (code, rows(out)["m"]["n_questions"]) == (0, 4)
    assert [(one["code"], one["where"], one["n"]) for one in json.loads(err)["notes"]] == [
        ("questions-excluded", "t", 2)
    ]
    assert json.loads(howsure("compare", table, "--exclude", verdicts, "--format", "json")[1])[0]["n_questions"] == 4
    variants = json.loads(howsure("variants", table, "--exclude", verdicts, "--format", "json")[1])
    assert {row["n_variants"] for row in variants} == {2}
    code, out, _ = howsure("repeats", table, "--exclude", verdicts)
    assert code == 0
    code, _, err = howsure("report", table, "--exclude", verdicts, "--no-static", "-o", tmp_path / "page.html")
    assert code == 0
    assert "2 of 6 questions left out" in (tmp_path / "page.html").read_text()


def test_what_is_not_there_is_one_line(howsure, tmp_path):
    code, _, err = howsure("review", tmp_path / "nothing", "--no-browser", "--port", "0")
    assert (code, err.count("\n")) == (2, 1)
