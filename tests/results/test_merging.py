"""Run folders read together: copies, parts, strangers, and what each was warned of.

Kind of truth: theory (which generations there are is known, for they were made here).
"""

from __future__ import annotations

import json
import warnings

import pytest

import howsure as hs
from howsure.errors import HowsureWarning
from howsure.store.responses import RunFolder
from howsure.store.schema import Response


def folder(path, questions="ab", *, at=100.0, request="r", content="1", seed=0, warned=(), generations=2):
    """A run in which each question was asked once for all its generations, right in the first of them."""
    with RunFolder(path) as held:
        for i, question in enumerate(questions):
            name = None if request is None else f"{request}{question if request[-1] == '-' else ''}"
            rows = [
                Response(
                    benchmark="b",
                    model="m",
                    question=question,
                    variant="v",
                    generation=g,
                    score=float(g == 1),
                    request=name,
                    created=None if at is None else at + i,
                )
                for g in range(1, generations + 1)
            ]
            held.append(rows)
    manifest = {"schema": 2, "seed": seed, "benchmarks": {"b": {"sha256": content}}, "warnings": warned}
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def counted(*paths):
    """(questions, generations) of folders read together, and what was said of it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", HowsureWarning)
        [cells] = hs.read(paths)
    return (len(cells.questions), int(cells.n.sum())), [str(one.message) for one in said]


def test_a_copy_counts_once_and_what_was_added_to_it_counts(tmp_path):
    first, copy = folder(tmp_path / "first"), folder(tmp_path / "copy")
    assert counted(first, copy) == (
        (2, 4),
        [f"{copy}: 4 of its generations are copies of those in {first}: each counts once"],
    )
    more = folder(tmp_path / "more", "abc")
    size, [told] = counted(first, more)
    assert size == (3, 6)
    assert "4 of its generations are copies" in told
    assert counted(first, copy, more)[0] == (3, 6)


def test_copies_are_left_out_of_runs_and_cubes_too(tmp_path):
    first, copy = folder(tmp_path / "first"), folder(tmp_path / "copy")
    with pytest.warns(HowsureWarning, match="copies"):
        [runs] = hs.read([first, copy]).runs().values()
    assert len(runs) == 2
    with pytest.warns(HowsureWarning, match="copies"):
        [cube] = hs.read([first, copy]).cubes()
    assert cube.n.sum() == 4


@pytest.mark.parametrize("request_id", ["r", None])
def test_the_same_questions_asked_again_are_more_generations(tmp_path, request_id):
    # Also where an endpoint calls every request alike, or nobody kept its name.
    again = [folder(tmp_path / name, at=at, request=request_id) for name, at in (("one", 100.0), ("two", 200.0))]
    assert counted(*again) == ((2, 8), [])


def test_what_nobody_dated_or_named_is_no_copy(tmp_path):
    undated = [folder(tmp_path / name, at=None, request=None) for name in ("one", "two")]
    assert counted(*undated) == ((2, 8), [])


def test_a_draw_of_a_model_in_this_process_is_the_same_whenever_it_was_made(tmp_path):
    again = [folder(tmp_path / name, at=at, request="simulated-") for name, at in (("one", 100.0), ("two", 200.0))]
    assert counted(*again)[0] == (2, 4)


def test_parts_of_one_benchmark_are_no_strangers_and_others_are(tmp_path):
    part, rest = folder(tmp_path / "part", "ab"), folder(tmp_path / "rest", "cd", at=200.0)
    assert counted(part, rest) == ((4, 8), [])
    stranger = folder(tmp_path / "stranger", "ef", at=300.0, content="2")
    assert "no question of b occurs in" in counted(part, stranger)[1][0]


def test_other_content_and_other_seeds_are_said(tmp_path):
    first = folder(tmp_path / "first", "ab")
    [told] = counted(first, folder(tmp_path / "changed", "ab", at=200.0, content="2"))[1]
    assert "b has other questions or targets than in" in told
    [told] = counted(first, folder(tmp_path / "seed", "bc", at=300.0, seed=7))[1]
    assert "drawn with seed 7, those of" in told
    # All questions are the same ones, whatever order they were asked in.
    assert counted(first, folder(tmp_path / "order", "ab", at=400.0, seed=7))[1] == []


def test_what_a_run_was_warned_of_is_said_whenever_it_is_read(tmp_path):
    run = folder(tmp_path / "run", warned=["m: copies are not generations"])
    assert counted(run)[1] == [f"{run}: m: copies are not generations"]


def test_a_damaged_manifest_is_said_and_the_rows_are_read(tmp_path):
    run = folder(tmp_path / "run")
    (run / "manifest.json").write_text("{")
    size, told = counted(run)
    assert size == (2, 4)
    assert "the warnings of the run" in told[0]
