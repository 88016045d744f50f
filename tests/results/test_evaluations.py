"""Run folders and tables together: found, read and added up."""

import json
import warnings

import numpy as np
import pytest
from helpers.lm_eval_log import harness
from helpers.scored_runs import run_of
from helpers.stored_rows import open_run

import howsure as hs
from howsure.errors import HowsureWarning, InputError
from howsure.results.sources import find_sources
from howsure.store.manifest import AdaptivePlan, save_plan
from howsure.store.schema import Response


def response(question, generation, score, **more):
    key = {"benchmark": "b", "model": "m", "question": question, "variant": "v", "generation": generation}
    return Response(**(key | {"score": score} | more))


@pytest.fixture
def run(tmp_path):
    with open_run(tmp_path / "logs" / "run") as folder:
        folder.append([
            response("q1", 1, 1.0, answer="A"),
            response("q1", 2, 0.0, status="length"),
            response("q2", 1, None, status="error", error="timeout: no answer"),
        ])  # fmt: skip
    return tmp_path / "logs"


def test_a_run_folder_counts_what_failed_and_what_was_unparsed(run):
    [cells] = hs.read(run / "run")
    assert (cells.models, cells.questions, cells.variants) == (("m",), ("q1", "q2"), ("v",))
    assert cells.n.tolist() == [[2, 0]]
    assert cells.failed.tolist() == [[0, 1]]
    assert cells.unparsed.tolist() == [[1, 0]]


def test_a_folder_is_searched_and_the_same_benchmark_adds_up(run):
    (run / "more").mkdir()
    (run / "more" / "other.csv").write_text("benchmark,model,question,run,score\nb,m,q1,x,1\nb,n,q1,x,0\n")
    (run / "notes.txt").write_text("not a table")
    [cells] = hs.read(run)
    assert cells.n.tolist() == [[3, 0], [1, 0]]
    again = hs.read([run, run / "run"])  # the same folder twice is read once
    assert np.array_equal(again[0].n, cells.n)
    assert [source.path.name for source in find_sources(run)] == ["other.csv", "run"]


def test_shards_of_a_run_are_the_run(tmp_path):
    """Theory: cells of two folders add up to the cells of one."""
    rows = [response(f"q{q}", g, float((q * g) % 3 == 0)) for q in range(5) for g in range(1, 5)]
    for name, part in (("whole", rows), ("shards/1", rows[::2]), ("shards/2", rows[1::2])):
        with open_run(tmp_path / name) as folder:
            folder.append(part)
    [whole], [shards] = hs.read(tmp_path / "whole"), hs.read(tmp_path / "shards")
    assert str(hs.score(whole)) == str(hs.score(shards))


def test_a_run_killed_at_its_start_has_no_manifest_to_show(run):
    (run / "run" / "manifest.json").unlink()
    assert hs.read(run).manifests() == []


def test_runs_by_generation_and_by_folder(run, tmp_path):
    runs = hs.read(run).runs()
    assert [int(cells.n.sum()) for cells in runs["b"]] == [1, 1]
    table = tmp_path / "t.csv"
    rows = [f"b,m,q{q},{g},1" for g in (10, 9, 2) for q in range(g)]
    table.write_text("benchmark,model,question,generation,score\n" + "\n".join(rows))
    runs = hs.read([run, table]).runs()
    assert [int(cells.n.sum()) for cells in runs["b"]] == [1, 1, 2, 9, 10]  # generations by number, not by name


def test_clusters_are_of_tables(run, tmp_path):
    with pytest.raises(
        InputError, match="a run folder has no column 'topic'; clusters are read from tables, and from folders"
    ):
        hs.read(run, columns={"cluster": "topic"}).cells()
    table = tmp_path / "t.csv"
    table.write_text("model,question,topic,score\na,1,x,1\nb,1,y,1\n")
    with pytest.raises(InputError, match="question '1' is in cluster 'x' and in 'y'; a question has one cluster"):
        hs.read(table, columns={"cluster": "topic"}).cells()


def test_nothing_there(tmp_path):
    with pytest.raises(InputError, match="no run folder, no log and no table here; give a run folder, logs, or tables"):
        find_sources(tmp_path)
    with pytest.raises(InputError, match="absent: no such file or folder"):
        find_sources(tmp_path / "absent")
    with pytest.raises(InputError, match="no data is given; give paths, frames or cells"):
        hs.read([])


def test_a_folder_with_stages_says_so(tmp_path):
    """The weighing itself is in tests/rows/test_to_cells.py."""
    with open_run(tmp_path / "run") as folder:
        folder.append([response(q, g, float(g % 2)) for q, k in (("q1", 3), ("q2", 5)) for g in range(1, k + 1)])
        save_plan(
            tmp_path / "run",
            "b",
            "m",
            AdaptivePlan(generations=4, allocations=({"q1": 2, "q2": 2}, {"q1": 1, "q2": 3})),
        )
    with pytest.warns(HowsureWarning, match=r"run: m sampled in stages .*n is the effective number of generations"):
        [cells] = hs.read(tmp_path / "run")
    assert cells.n.sum() <= 8
    assert cells.binary
    with pytest.warns(HowsureWarning, match="a run is a generation that every question has"):
        runs = hs.read(tmp_path / "run").runs()
    assert [int(run.n.sum()) for run in runs["b"]] == [2, 2, 2]
    for label in "nopq":
        save_plan(tmp_path / "run", "b", label, AdaptivePlan(generations=1, allocations=({"q1": 1},)))
    with pytest.warns(HowsureWarning, match="m, n, o and 2 more sampled in stages"):
        hs.read(tmp_path / "run").cells()


def test_first_generations_are_those_of_each_question(tmp_path):
    """Questions whose generations are numbered from 1 and from 5 have their first two each, in every form."""
    with open_run(tmp_path / "run") as folder:
        folder.append([response("q1", g, 1.0, answer="A") for g in (1, 2, 3)])
        folder.append([response("q2", g, 0.0, answer="B") for g in (5, 6, 7)])
    evaluations = hs.read(tmp_path / "run", generations=2)
    [cells], [cube] = evaluations.cells(), evaluations.cubes()
    assert cells.n.tolist() == cube.n[:, :, 0].tolist() == [[2, 2]]
    assert [int(run.n.sum()) for run in evaluations.runs()["b"]] == [1, 1, 1, 1]
    assert evaluations.answers()["b"].n.tolist() == [2, 2]
    table = tmp_path / "t.csv"
    rows = [f"m,q{q},{g},1" for q, numbers in ((1, (1, 2, 3)), (2, (5, 6, 7))) for g in numbers]
    table.write_text("model,question,generation,score\n" + "\n".join(rows))
    [of_table] = hs.read(table, generations=2).cells()
    assert of_table.n.tolist() == [[2, 2]]


def test_a_run_that_was_scored_again_keeps_no_note_on_the_scores_of_its_logs(tmp_path):
    """Two logs of two completions each, of which the program scored one; both are scored by another scorer, and read."""
    for name, texts in (("one", (("18", "18"), ("7", "9"))), ("two", (("18", "7"), ("9", "9")))):
        harness(tmp_path / "logs" / name, name, texts=texts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        hs.rescore(tmp_path / "logs", "numeric", tmp_path / "run")
    [cells] = (of_new := hs.read(tmp_path / "run", scorer="numeric"))
    assert cells.n.tolist() == [[2, 2], [2, 2]]
    assert not [note for note in of_new.notes() if "first was scored" in note.text]
    # The scores of the logs themselves are of the first completions, which one line says of one folder.
    with pytest.warns(HowsureWarning):
        [cells] = (of_logs := hs.read(tmp_path / "run", scorer="run"))
    assert cells.n.tolist() == [[1, 1], [1, 1]]
    [note] = [note for note in of_logs.notes() if "first was scored" in note.text]
    assert note.where.startswith(f"{tmp_path / 'run'}: ")


def test_one_name_in_place_of_a_list_of_benchmarks_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"the text 'demo'; give a list: \['demo'\]"):
        hs.read(tmp_path, benchmarks="demo")


def test_a_model_that_is_called_as_a_benchmark_hides_no_note(tmp_path):
    """A run of the benchmarks b and c with a model c; the folder states of which benchmark a line is, or of none."""
    with open_run(tmp_path / "run") as folder:
        folder.append([response("q1", 1, 1.0, model="c"), response("q1", 1, 0.0, model="c", benchmark="c")])
    lines = ["c: asked for c, answered as d", "c, b: cut", "c, c: slow", "b: the text begins with the other name"]
    stated = dict(zip(lines[1:], (["b"], ["c"], ["c"]), strict=True))
    (tmp_path / "run/manifest.json").write_text(
        json.dumps({"schema": 2, "benchmarks": {"b": {}, "c": {}}, "warnings": lines, "warned_benchmarks": stated})
    )
    notes = {}
    for name in "bc":
        results = hs.read(tmp_path / "run", benchmarks=[name])
        with pytest.warns(HowsureWarning):
            results.cells()
        notes[name] = [note.text for note in results.notes()]
    assert notes == {"b": lines[:2], "c": [lines[0], *lines[2:]]}
    both = hs.read(tmp_path / "run")
    assert len(both.notes()) == 4  # before it is read
    with pytest.warns(HowsureWarning):
        both.cells()
    assert (len(both.notes()), len(both.notes("b"))) == (4, 2)


def test_notes_on_the_range_of_scores_and_on_copies_are_those_of_their_benchmark(tmp_path):
    """A table of scores of 0 and 1, of ratings, and of copies: the page of each benchmark has its own notes only."""
    rows = [f"plain,m,{q},{g},{(q + g) % 2}" for q in range(30) for g in (1, 2)]
    rows += [f"rated,m,r{q},1,{q % 5 + 1}" for q in range(30)]
    rows += [f"copied,m,c{q},{g},{int(q % 10 < 6)}" for q in range(200) for g in (1, 2, 3, 4)]
    (tmp_path / "t.csv").write_text("\n".join(["benchmark,model,question,generation,score", *rows]) + "\n")
    results = hs.read(tmp_path / "t.csv")
    with pytest.warns(HowsureWarning):
        results.cells()
    assert results.notes("plain") == []
    assert [note.code for note in results.notes("rated")] == ["scores-beyond-1"]
    assert [note.code for note in results.notes("copied")] == ["equal-generations"]


def test_files_with_other_questions_of_a_model_are_parts_of_the_same_runs(tmp_path):
    """By hand: a table in two files by its questions has the runs of one file, and repeats in files of their own stay."""
    rows = [("m", q, g, (i + g) % 2) for i, q in enumerate("abcd") for g in range(3) if (q, g) != ("b", 2)]
    texts = {name: [f"{m},{q},{g},{s}" for m, q, g, s in rows if q in name] for name in ("ab", "cd", "abcd")}
    for name, lines in texts.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(["model,question,generation,score", *lines]))

    def list_runs(*names):
        runs = hs.read([tmp_path / f"{name}.csv" for name in names], benchmark="x").runs()["x"]
        return [
            {question: total for question, total, n in zip(run.questions, run.total[0], run.n[0], strict=True) if n}
            for run in runs
        ]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no question is in both files: is it one benchmark?
        parts = list_runs("ab", "cd")
    whole = list_runs("abcd")
    assert [sum(run.values()) for run in whole] == [2, 2, 1]
    assert parts == whole
    with pytest.raises(InputError, match="generation: 0"):
        list_runs("abcd", "ab")  # both have answers to a and b
    (tmp_path / "other.csv").write_text("model,question,generation,score\nn,c,0,1\nn,c,1,0")
    assert len(list_runs("ab", "other")) == 5  # no model is in both


def test_a_run_that_was_killed_before_its_first_row_is_to_be_run_again(tmp_path):
    path = run_of(tmp_path / "run", [])
    with pytest.raises(InputError, match="the run has no generations yet; run its experiment again to sample them"):
        hs.score(path)
