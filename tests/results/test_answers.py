"""How often each model gave each answer: counted by hand, and as the source has them."""

import json
from pathlib import Path

import numpy as np
import pytest

from howsure.errors import HowsureWarning
from howsure.results.answers import count_answers
from howsure.results.evaluations import read
from howsure.results.sources import find_sources
from howsure.store import responses as stored
from howsure.store import scorer_files
from howsure.store.responses import RunFolder
from howsure.store.schema import Response

SHARED = Path(__file__).resolve().parents[2] / "../shared"


def run(folder, rows, *, prompts=(), benchmark="b", compact=False, first=1):
    """Rows are (model, question, answer, score, status, target); a failed one has status error."""
    with RunFolder(folder) as held:
        held.append(
            [
                Response(
                    benchmark=benchmark,
                    model=m,
                    question=q,
                    variant="v",
                    generation=first + i,
                    answer=a,
                    score=s,
                    status=status,
                    target=t,
                )
                for i, (m, q, a, s, status, t) in enumerate(rows)
            ]
        )
        held.put_prompts([(benchmark, q, "v", [], t, None) for q, t in prompts])
        if compact:
            held.compact()
    return folder


ROWS = [
    ("m", "q1", "A", 1.0, "ok", "A"),
    ("m", "q1", "A", 1.0, "ok", "A"),
    ("m", "q1", None, 0.0, "unparsed", "A"),
    ("m", "q1", None, None, "error", "A"),
    ("n", "q1", "B", 0.0, "ok", "A"),
    ("n", "q2", "C", 0.5, "ok", None),
]


def entries(answers):
    """{(model, question, answer): (n, scored, total)}."""
    return {
        (answers.models[m], answers.questions[q], answers.answers[a] if a >= 0 else None): (n, scored, total)
        for m, q, a, n, scored, total in zip(
            *(getattr(answers, name).tolist() for name in ("model", "question", "answer", "n", "scored", "total")),
            strict=True,
        )
    }


# by hand


@pytest.mark.parametrize("compact", [False, True])
def test_answers_of_a_run_are_counted_failures_apart(tmp_path, compact):
    folder = run(tmp_path / "run", ROWS, compact=compact)
    found = count_answers(find_sources(folder))
    assert list(found) == ["b"]
    assert entries(found["b"]) == {
        ("m", "q1", "A"): (2, 2, 2.0),
        ("m", "q1", None): (1, 1, 0.0),
        ("n", "q1", "B"): (1, 1, 0.0),
        ("n", "q2", "C"): (1, 1, 0.5),
    }
    assert found["b"].targets == ("A", None)


def test_benchmarks_stand_apart_and_folders_add_up(tmp_path):
    folders = [
        run(tmp_path / "1", ROWS),
        run(tmp_path / "2", [("m", "q2", "D", 1.0, "ok", "D")], first=9),
        run(tmp_path / "3", ROWS[:1], benchmark="a"),
    ]
    found = count_answers(find_sources(folders))
    assert list(found) == ["a", "b"]
    assert found["a"].n.sum() == 1
    assert found["b"].n.sum() == 6
    assert found["b"].targets == ("A", "D")
    assert found["b"].answers == ("A", "B", "C", "D")


def test_prompts_say_the_target_before_the_rows_and_the_first_source_before_the_second(tmp_path):
    first = run(tmp_path / "1", ROWS, prompts=[("q1", "P"), ("q2", "")])
    second = run(tmp_path / "2", [("m", "q1", "A", 1.0, "ok", "Z")], first=9)
    with pytest.warns(HowsureWarning, match="1 question has another target than before"):
        found = count_answers(find_sources([first, second]))
    assert found["b"].targets == ("P", None)


def test_rows_that_nobody_scored_are_none_and_tables_say_nothing(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("model,question,score\nm,q1,1\n")
    assert count_answers(find_sources([table])) == {}
    empty = run(tmp_path / "run", [("m", "q", None, None, "error", "A")])
    assert count_answers(find_sources([empty])) == {}


def test_answers_are_those_of_the_scorer_that_is_asked_for(tmp_path):
    folder = run(tmp_path / "run", ROWS)
    kept = stored.read(folder).to_pylist()
    rescored = [
        scorer_files.RescoredRow(
            "b", r["model"], r["question"], "v", r["generation"], 1.0, "ok", "Z", "again", None, r["created"]
        )
        for r in kept[:2]
    ]
    scorer_files.write_scores(folder, "mine", "1", iter(rescored))
    found = count_answers(find_sources(folder, scorer="mine"))["b"]
    assert found.answers == ("Z",)
    assert found.n.sum() == found.total.sum() == 2


# the source itself


@pytest.mark.shared
@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
def test_logs_say_answers_and_targets():
    log = SHARED / "data/logs/inspect"
    if not log.exists():
        pytest.skip("no ../shared/data/logs")
    found = count_answers(find_sources([log, SHARED / "data/logs/lm_eval"]))
    cells = {one.benchmark: one for one in read([log, SHARED / "data/logs/lm_eval"])}
    for name, answers in found.items():
        one = cells[name]
        assert (answers.models, answers.questions) == (one.models, one.questions)
        np.testing.assert_array_equal(answers.at_cells(answers.scored), one.n)
        np.testing.assert_allclose(answers.at_cells(answers.total), one.total)
        assert None not in answers.targets
    questions = [json.loads(line) for line in (SHARED / "data/gsm8k/test.jsonl").read_text().splitlines()]
    known = {f"gsm8k-{i}": row["answer"].split("####")[-1].strip() for i, row in enumerate(questions)}
    assert {q: known[q] for q in found["gsm8k"].questions} == found["gsm8k"].known_targets


def test_many_rows_are_read(tmp_path):
    rng = np.random.default_rng(0)
    rows = 60_000
    said = rng.integers(0, 50, rows)
    each = [(f"m{i % 10}", f"q{i // 10 % 500}", f"{a}", float(a == 7), "ok", "7") for i, a in enumerate(said.tolist())]
    folder = run(tmp_path / "run", each, prompts=[(f"q{i}", "7") for i in range(500)], compact=True)
    found = count_answers(find_sources(folder))["b"]
    assert found.n.sum() == rows
    right = np.array([found.answers[a] == "7" for a in found.answer])
    assert found.n[right].sum() == (said == 7).sum()
