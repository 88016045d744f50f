"""Options that several commands share. Kind of truth: files that were written by hand between two readings."""

import json

import pytest
from helpers.inspect_log import write_inspect_log

import howsure as hs
from howsure.cli.options import CommandInputs, follow_files
from howsure.errors import InputError


class Writer:
    """Another program: it takes one step each time the reader waits, and Ctrl-C comes after the last one."""

    def __init__(self, *steps):
        self.steps = list(steps)

    def __call__(self, _):
        if not self.steps:
            raise KeyboardInterrupt
        self.steps.pop(0)()


def add_epoch(path, epoch, scores):
    """Add an epoch to a log, and state that it was planned."""
    log = json.loads(path.read_text())
    first = [one for one in log["samples"] if one["epoch"] == 1]
    new = [
        one | {"epoch": epoch, "uuid": f"{one['uuid']}-{epoch}", "scores": {"match": {"value": scores[one["id"]]}}}
        for one in first
    ]
    log["samples"] += new
    log["eval"]["config"] = {"epochs": epoch}
    path.write_text(json.dumps(log))


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_logs_are_read_again_whenever_one_changes(tmp_path, capsys):
    folder = tmp_path / "logs"
    folder.mkdir()
    log = folder / "log.json"
    scores = {"q1": 1, "q2": 0, "q3": 1, "q4": 1}
    seen = []

    def show(inputs):
        rows = {row["model"]: row for row in hs.score(inputs.results)}
        row = rows["lab/model"]
        seen.append((len(rows), row["n_questions"], row["n_generations"], row["score"]))

    def write_half():
        write_inspect_log(tmp_path / "whole.json", scores)
        log.write_bytes((tmp_path / "whole.json").read_bytes()[:700])

    writer = Writer(
        write_half,
        lambda: log.write_bytes((tmp_path / "whole.json").read_bytes()),
        lambda: None,
        lambda: write_inspect_log(log, scores | {"q2": 1}),
        lambda: add_epoch(log, 2, dict.fromkeys(scores, 0)),
        lambda: (folder / ".lock").write_text("no result"),
        lambda: write_inspect_log(folder / "other.json", scores, model="lab/other"),
    )
    follow_files(CommandInputs([str(folder)]), show, wait=writer)
    # The empty folder, half a file, and then: the log, its rewritten form, two epochs, and two models.
    assert seen == [(1, 4, 4, 0.75), (1, 4, 4, 1.0), (1, 4, 8, 0.5), (2, 4, 8, 0.5)]
    assert not writer.steps
    first, *others = capsys.readouterr().err.splitlines()
    assert "no run folder, no log and no table here" in first
    assert len(others) == 1, "a file that cannot be read yet is said once"


def test_a_problem_is_printed_once_as_long_as_it_lasts(tmp_path, capsys):
    table = tmp_path / "scores.csv"
    header = "question,model,score\n"
    table.write_text(header)
    writer = Writer(
        lambda: table.write_text(f"{header}q1,m,first\n"),
        lambda: table.write_text(f"{header}q1,m,first\nq2,m,1\n"),
        lambda: table.write_text(f"{header}q1,m,1\nq2,m,1\n"),
    )
    shown = []
    follow_files(CommandInputs([str(table)]), lambda inputs: shown.append(inputs.results.cells()), wait=writer)
    assert len(shown) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(set(lines))


def test_a_path_that_does_not_exist_is_no_file_to_wait_for(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        follow_files(CommandInputs([str(tmp_path / "log")]), print, wait=Writer())


def test_a_change_during_the_reading_is_read_the_next_time(tmp_path):
    log = write_inspect_log(tmp_path / "log.json", {"q1": 1, "q2": 0})
    seen = []

    def show(inputs):
        seen.append(hs.score(inputs.results)[0]["n_generations"])
        if len(seen) == 1:
            write_inspect_log(log, {"q1": 1, "q2": 0, "q3": 1})

    follow_files(CommandInputs([str(log)]), show, wait=Writer(lambda: None, lambda: None))
    assert seen == [2, 3]


@pytest.mark.parametrize("more", [("--scorer", "f1", "--scorer", "accuracy"), ("--level", ".9", "--level=.8")])
def test_an_option_with_one_value_is_given_once(howsure, tmp_path, more):
    path = tmp_path / "t.csv"
    path.write_text("model,id,accuracy,f1\na,1,1,.9\na,2,0,.3\n")
    code, out, err = howsure("score", path, *more)
    assert (code, out, err) == (2, "", f"howsure: {more[0]} is given twice, and holds one value: give it once\n")
    code, out, _ = howsure("score", path, *more[:2], "--columns", "model=model", "--columns", "question=id")
    assert code == 0
    assert "a" in out
