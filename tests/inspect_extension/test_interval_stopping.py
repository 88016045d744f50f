"""Early stopping of tasks of Inspect.

Kind of truth: a decision recomputed with plain loops from the scores that were given, a seeded simulation, and runs of
Inspect itself whose accuracy is planted.
"""

import asyncio
import inspect
import json
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("inspect_ai", reason="the extra inspect is not installed")

from helpers.planted_task import draw_score
from inspect_ai.scorer import SampleScore, Score
from inspect_ai.util import EarlyStopping
from inspect_ai.util._early_stopping import EarlyStoppingSummary

from howsure.errors import InputError
from howsure.inspect_extension.interval_stopping import IntervalStopping
from howsure.stats.core.cells import Cells
from howsure.stats.sequential import check_stopping, confidence_boundary


def drive(stopping, scores, *, scorer="s", lost=()):
    """Send scores (epochs, samples) epoch by epoch, as Inspect does; return the number that ran, and the metadata."""
    epochs, n = scores.shape

    async def run():
        ran = 0
        samples = [SimpleNamespace(id=f"q{i}") for i in range(n)]
        await stopping.start_task(SimpleNamespace(eval_id="e"), samples, epochs)
        for epoch in range(1, epochs + 1):
            for i in range(n):
                if await stopping.schedule_sample(f"q{i}", epoch) is not None:
                    continue
                ran += 1
                if (i, epoch) in lost:
                    stopping.lose_sample(f"q{i}", epoch)
                    continue
                one = SampleScore(score=Score(value=float(scores[epoch - 1, i])), sample_id=f"q{i}")
                await stopping.complete_sample(f"q{i}", epoch, {scorer: one})
        return ran, await stopping.complete_task()

    return asyncio.run(run())


def draw(p, epochs, seed):
    return (np.random.default_rng(seed).random((epochs, len(p))) < p).astype(float)


def test_it_stops_after_the_first_epoch_at_which_the_sequence_is_narrow():
    p = np.random.default_rng(1).beta(0.6, 0.4, 80)
    scores = draw(p, 60, 2)
    ran, found = drive(IntervalStopping(0.12), scores)
    expected = None
    for t in range(2, 61):
        s2 = scores[:t].var(axis=0, ddof=1)
        half = float(confidence_boundary(t)) * np.sqrt(s2.mean() / 80)
        if 2 * half < 0.12:
            expected = t
            break
    assert expected is not None
    assert ran == 80 * expected
    assert found["after"] == f"{expected} of 60 epochs"
    assert found["score"] == pytest.approx(scores[:expected].mean(), abs=1e-6)
    assert found["samples_left_out"] == 80 * 60 - ran


def test_its_decision_is_that_of_check_stopping_with_new_questions():
    p = np.random.default_rng(3).beta(0.6, 0.4, 300)
    scores = draw(p, 10, 4)
    stopping = IntervalStopping(0.2, claim="new-questions")
    ran, found = drive(stopping, scores)
    t = ran // 300
    cells = Cells.from_scores("x", ["m"], [f"q{i}" for i in range(300)], [scores[:t].T.tolist()])
    decision = check_stopping(cells, 0.2, rule="sequence", claim="new-questions")
    assert decision.stop[0]
    assert found["low"] == pytest.approx(decision.low[0], abs=1e-6)


def test_samples_that_fail_do_not_hold_the_epochs_up():
    p = np.full(50, 0.5)
    scores = draw(p, 80, 5)
    lost = {(3, 1), (7, 2), (7, 3), (9, 1), (9, 2)}
    ran, found = drive(IntervalStopping(0.2), scores, lost=lost)
    assert found["stopped"]
    assert ran < 50 * 80


def test_scores_that_never_vary_stop_and_one_epoch_is_said(caplog):
    ran, found = drive(IntervalStopping(0.1), np.ones((40, 100)))
    assert found["stopped"]
    assert ran < 100 * 40
    _, found = drive(IntervalStopping(0.1), np.ones((1, 100)))
    assert not found["stopped"]
    assert any("one epoch" in note for note in found["notes"])
    assert "one epoch" in caplog.text


def test_over_samples_the_first_epoch_is_cut_short():
    p = np.random.default_rng(6).beta(0.6, 0.4, 3000)
    stopping = IntervalStopping(0.1, over="samples")
    ran, found = drive(stopping, draw(p, 2, 7))
    assert found["stopped"]
    assert 300 < ran < 3000
    assert found["claim"] == "new-questions"
    assert max(stopping.seconds) < 0.5


def write_reference(path, p, epochs, seed, models=("old",)):
    scores = draw(p, epochs, seed)
    rows = ["model,question,generation,score"]
    rows += [
        f"{model},q{i},{k + 1},{scores[k, i]:.0f}" for model in models for k in range(epochs) for i in range(len(p))
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return scores


def test_the_difference_to_a_log_stops_and_is_the_difference(tmp_path):
    p = np.random.default_rng(8).beta(0.6, 0.4, 200)
    old = write_reference(tmp_path / "old.csv", p, 20, 9)
    scores = draw(p, 60, 10)
    ran, found = drive(IntervalStopping(0.14, compare_to=tmp_path / "old.csv"), scores)
    t = ran // 200
    assert found["stopped"]
    assert found["difference"] == pytest.approx(scores[:t].mean() - old.mean(), abs=1e-6)


def test_a_reference_with_one_epoch_supports_new_questions_only(tmp_path):
    p = np.random.default_rng(8).beta(0.6, 0.4, 200)
    write_reference(tmp_path / "old.csv", p, 1, 9)
    scores = draw(p, 4, 10)
    _, found = drive(IntervalStopping(0.9, compare_to=tmp_path / "old.csv"), scores)
    assert not found["stopped"]
    assert any("reference has one generation" in note for note in found["notes"])
    _, found = drive(IntervalStopping(0.9, claim="new-questions", compare_to=tmp_path / "old.csv"), scores)
    assert found["stopped"]


def test_what_is_wrong_is_said_before_anything_runs(tmp_path):
    write_reference(tmp_path / "two.csv", np.full(5, 0.5), 2, 1, models=("a", "b"))
    with pytest.raises(InputError, match="2 models"):
        IntervalStopping(0.1, compare_to=tmp_path / "two.csv")
    for arguments in ({"width": 0}, {"width": 0.1, "level": 2}, {"width": 0.1, "claim": "x"}, {"width": 1, "over": ""}):
        with pytest.raises(InputError):
            IntervalStopping(**arguments)


def test_one_manager_for_two_tasks_at_once_is_refused():
    stopping = IntervalStopping(0.1)

    def start():
        asyncio.run(stopping.start_task(SimpleNamespace(eval_id="e"), [SimpleNamespace(id="q")], 3))

    start()
    with pytest.raises(InputError, match="already watches"):
        start()
    asyncio.run(stopping.complete_task())
    start()
    asyncio.run(stopping.complete_task())


@pytest.mark.parametrize(
    ("scorer", "value", "note"),
    [
        (None, {"a": 1, "b": 0}, "several values"),
        ("s/a", {"a": 1, "b": 0}, ""),
        ("missing", 1, "no scorer 'missing'"),
        (None, [1, 0], "lists"),
    ],
)
def test_values_that_are_no_numbers_are_said_once(scorer, value, note):
    stopping = IntervalStopping(0.5, scorer=scorer)

    async def run():
        await stopping.start_task(SimpleNamespace(eval_id="e"), [SimpleNamespace(id="q")], 30)
        for epoch in range(1, 31):
            await stopping.complete_sample("q", epoch, {"s": SampleScore(score=Score(value=value), sample_id="q")})
        return await stopping.complete_task()

    found = asyncio.run(run())
    assert sum(bool(note) and note in one for one in found["notes"]) == bool(note)


def test_the_log_of_inspect_takes_its_name_its_reasons_and_its_analysis():
    """Inspect calls a manager by the arguments of its protocol, and validates what it stores."""
    names = ("start_task", "schedule_sample", "complete_sample", "complete_task")
    for name in names:
        expected, own = (inspect.signature(getattr(of, name)).parameters for of in (EarlyStopping, IntervalStopping))
        assert list(own) == list(expected)
    stopping = IntervalStopping(0.5)
    samples = [SimpleNamespace(id=f"q{i}") for i in range(20)]

    async def run():
        manager = await stopping.start_task(SimpleNamespace(eval_id="e"), samples, 12)
        for epoch in range(1, 13):
            for one in samples:
                if await stopping.schedule_sample(one.id, epoch) is None:
                    score = SampleScore(score=Score(value=draw_score(1, one.id, epoch)), sample_id=one.id)
                    await stopping.complete_sample(one.id, epoch, {"s": score})
        stops = [
            stop for epoch in range(1, 13) for one in samples if (stop := await stopping.schedule_sample(one.id, epoch))
        ]
        return manager, stops, await stopping.complete_task()

    manager, stops, metadata = asyncio.run(run())
    summary = EarlyStoppingSummary(manager=manager, early_stops=stops, metadata=metadata)
    stored = json.loads(summary.model_dump_json())
    assert (stored["manager"], stored["metadata"]["stopped"]) == ("howsure interval stopping", True)
    epochs = int(stored["metadata"]["after"].split()[0])
    expected = [draw_score(1, f"q{i}", e) for i in range(20) for e in range(1, epochs + 1)]
    assert stored["metadata"]["score"] == pytest.approx(np.mean(expected), abs=1e-6)
    assert {stop["reason"] for stop in stored["early_stops"]} == {stored["early_stops"][0]["reason"]} != {None}


RUN = """
import json, sys
sys.path.insert(0, sys.argv[2])
import inspect_ai
from helpers.planted_task import build_planted_task
from howsure.inspect_extension.interval_stopping import IntervalStopping
task = build_planted_task(20, seed=1, early_stopping=IntervalStopping(0.5), failing={"q3"})
[log] = inspect_ai.eval(task, model="mockllm/model", epochs=12, log_dir=sys.argv[1], display="none", fail_on_error=False)
summary = log.results.early_stopping
errors, scored = sum(one.error is not None for one in log.samples), sum(bool(one.scores) for one in log.samples)
found = {"manager": summary.manager, "left_out": len(summary.early_stops), "errors": errors, "scored": scored}
print("FOUND" + json.dumps({**found, **summary.metadata, "status": log.status}))
"""


@pytest.mark.long
def test_inspect_stops_and_stores_why(tmp_path):
    # In a process of its own: Inspect leaves streams open, which are warnings here.
    tests = str(Path(__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path), tests], capture_output=True, text=True, timeout=300, check=True
    )
    found = json.loads(run.stdout.partition("FOUND")[2].splitlines()[0])
    assert (found["status"], found["manager"], found["stopped"]) == ("success", "howsure interval stopping", True)
    assert found["scored"] + found["left_out"] + found["errors"] == 20 * 12
    epochs = int(found["after"].split()[0])
    expected = [draw_score(1, f"q{i}", e) for i in range(20) for e in range(1, epochs + 1) if i != 3]
    assert found["score"] == pytest.approx(np.mean(expected), abs=1e-6)


@pytest.mark.long
def test_the_interval_covers_and_saves():
    rng = random.Random(0)
    missed = saved = 0
    for seed in range(40):
        p = np.random.default_rng(seed).beta(0.6, 0.4, 60)
        ran, found = drive(IntervalStopping(0.2), draw(p, 60, rng.randrange(10**6)))
        missed += not found["low"] <= p.mean() <= found["high"]
        saved += ran < 60 * 60
    assert missed <= 4  # P(5 or more of 40) is below .05 at a miss rate of 5 %; the sequence misses less
    assert saved == 40
