"""lm-evaluation-harness's results with samples inside: the shared file is what version 0.4.13's simple_evaluate returned."""

from pathlib import Path

import pytest

from howsure.logs import find_reader
from howsure.logs.base import ReadOptions

EXAMPLE = Path(__file__).parent / "examples" / "lm_eval_api" / "results.json"
SHARED = Path(__file__).resolve().parents[2] / "../shared/data/logs_cases/lm_eval/api/results.json"


def rows(path, **options):
    notes = []
    return list(find_reader(path).rows(path, ReadOptions(**options), notes.append)), notes


def scores(read_rows, benchmark):
    return [row.score for row in read_rows if row.benchmark == benchmark and row.generation == 1]


def test_each_task_is_a_benchmark_with_a_first_scorer_of_its_own():
    read_rows, notes = rows(EXAMPLE)
    assert scores(read_rows, "gsm") == [1, 0, 0, 1]
    assert scores(read_rows, "mcq") == [1, 0, 1]
    assert {row.model for row in read_rows} == {"org/tiny"}
    assert any("left out: wiki" in note for note in notes)
    assert any("the first of each benchmark is read" in note for note in notes)
    assert not any("the log says" in note for note in notes)


def test_a_named_scorer_is_read_where_a_task_has_it():
    read_rows, notes = rows(EXAMPLE, scorer="flexible-extract")
    assert scores(read_rows, "gsm") == [1, 1, 0, 1]
    assert scores(read_rows, "mcq") == []
    assert any("without 'flexible-extract' are left out" in note for note in notes)


def test_completions_after_the_first_were_not_scored():
    read_rows, notes = rows(EXAMPLE, texts=True)
    gsm = [row for row in read_rows if row.benchmark == "gsm"]
    assert [(row.generation, row.completion, row.status) for row in gsm[:2]] == [
        (1, "It is 0.", "ok"),
        (2, "Hm.", "unscored"),
    ]
    assert any("4 completions after the first" in note for note in notes)
    assert gsm[0].messages == ({"role": "user", "content": "Q: What is 0+0?\nA:"},)


def test_the_likeliest_choice_is_the_answer():
    mcq = [row for row in rows(EXAMPLE, texts=True)[0] if row.benchmark == "mcq"]
    assert [(row.answer, row.target, row.choices) for row in mcq] == [
        ("A", "A", ("a", "bb")), ("B", "A", ("a", "bb")), ("A", "A", ("a", "bb")),
    ]  # fmt: skip


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="needs the data folder ../shared")
def test_what_simple_evaluate_returned():
    # It was cut to 6 questions of each task after the run, which its own means show.
    read_rows, notes = rows(SHARED)
    assert {row.benchmark for row in read_rows} == {"gsm1", "mcq"}
    assert len(scores(read_rows, "gsm1")) == len(scores(read_rows, "mcq")) == 6
    assert any("the log says acc,none 0.2375, and its scores give 0.3333" in note for note in notes)
