"""Unread answers of run folders, in the shape of their cubes: counted by hand."""

import warnings

from helpers.stored_rows import open_run

from howsure.errors import HowsureWarning
from howsure.results.answers import count_unparsed, count_variant_answers
from howsure.results.evaluations import Evaluations
from howsure.results.sources import find_sources
from howsure.store.manifest import AdaptivePlan, save_plan
from howsure.store.schema import Response


def run(folder, rows, benchmark="b", generation=1):
    """Rows are (question, variant, score, answer); a score of None failed, an answer of None could not be read."""
    with open_run(folder) as held:
        held.append(
            [
                Response(
                    benchmark=benchmark, model="m", question=q, variant=v, generation=generation, score=s, answer=a
                )
                for q, v, s, a in rows
            ]
        )
    return folder


ROWS = [("q1", "v", 0.0, None), ("q1", "w", 1.0, "x"), ("q2", "v", 0.0, "y"), ("q2", "w", None, None)]


def test_unread_answers_are_scored_ones_without_an_answer(tmp_path):
    folders = [run(tmp_path / "1", ROWS), run(tmp_path / "2", ROWS, generation=2), run(tmp_path / "3", ROWS, "other")]
    there = find_sources(folders)
    cubes = Evaluations(there).cubes()
    found = count_unparsed(there, cubes)
    assert {name: counts.tolist() for name, counts in found.items()} == {
        "b": [[[2, 0], [0, 0]]],
        "other": [[[1, 0], [0, 0]]],
    }
    assert all((found[cube.benchmark] <= cube.n).all() for cube in cubes)
    assert list(count_unparsed(there, cubes[:1])) == ["b"]


def test_what_does_not_say_is_left_out(tmp_path):
    folder = run(tmp_path / "run", ROWS)
    table = tmp_path / "t.csv"
    table.write_text("model,question,variant,score\nm,q1,v,1\nm,q2,v,1\n")
    cubes = Evaluations(find_sources(folder)).cubes()
    assert count_unparsed(find_sources([folder, table]), cubes) == {}
    save_plan(folder, "b", "m", AdaptivePlan(generations=1, allocations=({"q1": 1, "q2": 1},)))
    assert count_unparsed(find_sources(folder), cubes) == {}
    nested = run(tmp_path / "nested", [("q1", "v1", 0.0, None), ("q2", "v2", 0.0, None)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)
        assert count_unparsed(find_sources(nested), Evaluations(find_sources(nested)).cubes()) == {}


def test_answers_under_each_variant(tmp_path):
    """By hand: a failed generation counts nowhere, an unparsed one among the generations only."""
    folders = [run(tmp_path / "1", ROWS), run(tmp_path / "2", ROWS, generation=2)]
    there = find_sources(folders)
    [cube] = Evaluations(there).cubes()
    found = count_variant_answers(there, [cube])["b"]
    assert found.n.tolist() == cube.n.tolist() == [[[2, 2], [2, 0]]]
    entries = zip(found.question.tolist(), found.variant.tolist(), found.count.tolist(), strict=True)
    assert sorted(entries) == [(0, 1, 2), (1, 0, 2)]
    assert len(set(found.answer.tolist())) == 2
    table = tmp_path / "t.csv"
    table.write_text("model,question,variant,score\nm,q1,v,1\nm,q2,v,1\n")
    assert count_variant_answers(find_sources([*folders, table]), [cube]) == {}


def test_a_run_of_a_table_without_answers_counts_none_as_unparsed(tmp_path):
    """By definition: a row that is `ok` was parsed; without its answer, the answers were not kept."""
    folder = run(tmp_path / "1", [("q1", "v", 1.0, None), ("q1", "w", 0.0, None)])
    there = find_sources([folder])
    evaluations = Evaluations(there)
    cubes = evaluations.cubes()
    assert (count_unparsed(there, cubes), count_variant_answers(there, cubes)) == ({}, {})
    assert evaluations[0].unparsed is None
