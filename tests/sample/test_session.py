"""What ends a run before all is asked, and what the next session knows. Kind of truth: theory (requests are counted)."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal

import msgspec
import pytest
from helpers.endpoint import Faults, serve
from helpers.scripted_model import ScriptedModel, VirtualTime, right, sums

import howsure as hs
from howsure.benchmarks import load
from howsure.errors import EndpointError, HowsureWarning, InputError, StoreError
from howsure.models.model import Choice, Reply
from howsure.results.evaluations import read as read_cells
from howsure.sample.estimate import dry_run
from howsure.sample.experiment import parse_experiment
from howsure.sample.progress import format_lines
from howsure.sample.run import describe_outcome, run
from howsure.store.responses import read

SMALL = load("directions-small")


def sample(text, folder, **keys):
    return asyncio.run(run(parse_experiment(text), folder, **keys))


def rows(folder):
    return read(folder).to_pylist()


def cells(folder):
    found = [(r["model"], r["question"], r["variant"], r["generation"]) for r in rows(folder)]
    assert len(found) == len(set(found))
    return set(found)


def billed(request, *, prompt=10, completion=5):
    """A right reply with its usage."""
    n = len(request.generations)
    return msgspec.structs.replace(right(request), prompt_tokens=prompt, completion_tokens=completion * n)


def scripted(text, folder, script, questions=20, **keys):
    """A run of `sums` against one scripted model, and what it was asked."""
    model = ScriptedModel(script)
    outcome = sample(text, folder, benchmark=sums(questions), open_model=lambda *_: model, **keys)
    return outcome, model.requests


ONE = 'benchmark: x\nmodels: [{{model: m-1, label: m, base_url: "http://h/v1"{model}}}]\ngenerations: {generations}\n{more}'


def one(*, generations=4, model="", more=""):
    return ONE.format(generations=generations, model=model, more=more)


def test_what_an_endpoint_takes_is_known_to_the_next_session(tmp_path):
    text = 'benchmark: directions-small\nlimit: {limit}\ngenerations: 5\nmodels: [{{model: truth-1, label: m, base_url: "{url}"}}]'
    with serve(SMALL.questions, faults=Faults(most=2)) as server:
        first = sample(text.format(limit=10, url=server.base_url), tmp_path / "r")
        asked = dict(server.asked)
        # One request finds out, before any other is sent.
        assert asked == {5: 1, 2: 20, 1: 10}
        assert first.models[0].saved_tokens > 0
        sample(text.format(limit=20, url=server.base_url), tmp_path / "r")
        assert server.asked[5] == 1
    assert len(cells(tmp_path / "r")) == 100
    assert json.loads((tmp_path / "r/manifest.json").read_text())["models"]["m"]["choices"] == 2


def test_the_first_request_does_not_hold_up_the_others_for_long(tmp_path):
    def script(request):
        async def slow():
            await asyncio.sleep(0.5 if request.question == first else 0.0)
            return right(request)

        return slow()

    first = ""
    order = []

    async def sleep(seconds):
        await asyncio.sleep(min(seconds, 0.05))

    def noted(request):
        nonlocal first
        first = first or request.question
        order.append(request.question)
        return script(request)

    outcome, _ = scripted(one(), tmp_path / "r", noted, sleep=sleep)
    assert outcome.is_complete
    assert len(order) == 20


def test_a_request_is_made_smaller_before_a_budget_ends_a_run(tmp_path):
    # sums asks about 12 characters: at most 128 + 16 + 12 tokens of a prompt; with 4 x 100 of completions 556.
    text = one(model=", max_tokens: 100", more="budget: {tokens: 400}\nconcurrency: 1")
    outcome, requests = scripted(text, tmp_path / "r", billed)
    assert len(requests[0].generations) == 2
    assert 0 < outcome.models[0].tokens <= 400
    assert "tokens spent; the next request may take up to" in outcome.models[0].spent


def test_a_budget_of_money_needs_a_price_before_anything_is_sent(tmp_path):
    text = one(model=", max_tokens: 9", more="budget: {cost: 1}").replace("http://h/v1", "http://127.0.0.1:1/v1")
    with pytest.raises(InputError, match="m: a budget of money needs a price, and none is known; give it: price:"):
        scripted(text, tmp_path / "r", billed)
    assert not (tmp_path / "r").exists()


def test_minutes_end_a_session_and_not_the_run(tmp_path):
    now = [0.0]

    def script(request):
        now[0] += 10
        return right(request)

    text = one(more="budget: {minutes: 1}\nconcurrency: 1")
    outcome, requests = scripted(text, tmp_path / "r", script, clock=lambda: now[0])
    assert len(requests) == 6
    assert outcome.models[0].spent == "the 1 minutes of this session are over"
    assert describe_outcome(outcome, tmp_path / "r")[-1].endswith(f"kept in {tmp_path / 'r'}, run again to continue")
    outcome, _ = scripted(text, tmp_path / "r", script, clock=lambda: now[0])
    assert outcome.done == 24


UNTIL = "benchmark: directions-small\nmodels: [simulated/large]\ngenerations: 60\nuntil: {width: 0.06}"


def test_a_run_that_is_good_enough_stops_and_stays_stopped(tmp_path):
    outcome = sample(UNTIL, tmp_path / "r")
    (verdict,) = outcome.verdicts
    rounds = outcome.done // 100
    assert 2 < rounds < 60
    assert verdict.startswith(f"simulated/large: stopped after {rounds} of 60 rounds: 0.")
    assert (outcome.is_complete, outcome.exit_code) == (True, 0)
    assert {g for *_, g in cells(tmp_path / "r")} == set(range(1, rounds + 1))
    assert (tmp_path / "r/responses.parquet").exists()
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    assert manifest["stopped"] == [
        {"benchmark": "directions-small", "models": ["simulated/large"], "is_early": True, "said": verdict}
    ]
    # Whoever reads the folder later is told, once.
    with pytest.warns(HowsureWarning) as told:
        read_cells(tmp_path / "r").cells()
    assert [str(each.message).endswith(verdict) for each in told] == [True]
    assert "round by round until width 0.06, level 0.95, rule pooled, claim these-questions" in manifest["notes"]
    again = sample(UNTIL, tmp_path / "r")
    assert (again.done, again.verdicts, again.is_complete) == (0, outcome.verdicts, True)
    # Without the condition the rest is asked for.
    assert sample(UNTIL.partition("until")[0], tmp_path / "r").done == 6000 - outcome.done
    assert json.loads((tmp_path / "r/manifest.json").read_text())["stopped"] == []
    read_cells(tmp_path / "r").cells()


def test_a_pair_stops_together_and_a_dead_one_is_not_waited_for(tmp_path):
    text = "benchmark: directions-small\nmodels: [simulated/large, simulated/small, simulated/medium]\ngenerations: 6\n"
    outcome = sample(text + "until: {detect: 0.1, models: [simulated/large, simulated/small]}", tmp_path / "r")
    large, small, medium = (model.done for model in outcome.models)
    assert large == small < 600
    assert medium == 600
    assert "it excludes 0" in outcome.verdicts[0]
    assert outcome.is_complete
    with serve(SMALL.questions, faults=Faults(model="good")) as server:
        models = ", ".join(f'{{model: {name}, base_url: "{server.base_url}"}}' for name in ("bad", "good"))
        text = f"{{benchmark: directions-small, generations: 5, models: [{models}], until: {{detect: 0.2}}}}"
        outcome = sample(text, tmp_path / "s")
    assert [model.done for model in outcome.models] == [0, 500]
    assert any("the other model of the pair was given up" in verdict for verdict in outcome.verdicts)


ADAPTIVE = (
    "benchmark: directions-small\nmodels: [simulated/large, simulated/small]\ngenerations: 12\nallocate: adaptive"
)


@pytest.mark.long
def test_an_adaptive_run_that_is_interrupted_ends_as_one_that_is_not(tmp_path):
    whole = sample(ADAPTIVE, tmp_path / "whole")
    assert (whole.done, whole.is_complete) == (2400, True)
    counts = {}
    for model, question, _, generation in cells(tmp_path / "whole"):
        counts[model, question] = max(counts.get((model, question), 0), generation)
    assert len(set(counts.values())) > 3  # not asked alike
    for budget in (60, 130, 190, 240):
        outcome = sample(f"{ADAPTIVE}\nbudget: {{calls: {budget}}}", tmp_path / "parts")
        assert not outcome.is_complete
    outcome = sample(ADAPTIVE, tmp_path / "parts")
    assert outcome.is_complete
    assert not cells(tmp_path / "parts") ^ cells(tmp_path / "whole")
    parts, one = (json.loads((tmp_path / name / "stages.json").read_text()) for name in ("parts", "whole"))
    assert parts == one
    with pytest.warns(Warning, match="sampled in stages"):
        (found,) = read_cells(tmp_path / "parts")
    with pytest.warns(Warning, match="sampled in stages"):
        (expected,) = read_cells(tmp_path / "whole")
    assert found.mean.tolist() == expected.mean.tolist()


def test_an_adaptive_run_stops_when_it_is_good_enough(tmp_path):
    text = "benchmark: directions-small\nmodels: [simulated/large]\ngenerations: 60\nallocate: adaptive\ngreedy: true\n"
    outcome = sample(text + "until: {width: 0.04}", tmp_path / "r")
    assert (outcome.is_complete, outcome.exit_code, outcome.models[1].done) == (True, 0, 100)
    (verdict,) = outcome.verdicts
    rounds = outcome.models[0].done // 100
    assert verdict.startswith(f"simulated/large: stopped after {rounds} of 60 generations per question: 0.")
    assert sample(text + "until: {width: 0.04}", tmp_path / "r").done == 0
    with pytest.warns(HowsureWarning) as told:
        (found,) = read_cells(tmp_path / "r")
    assert [verdict in str(each.message) for each in told] == [True, False]
    assert f" {found.mean[found.index('simulated/large')].mean():.3f} ± " in verdict


@pytest.mark.filterwarnings("ignore::howsure.errors.HowsureWarning")
@pytest.mark.parametrize(
    "more",
    [
        "",
        "variants: [{}, {system: Be brief.}]",
        "allocate: adaptive",
        "until: {width: 0.12}",
        "limit: 7",
    ],
    ids=["one-prompt", "two-prompts", "adaptive", "stopped-early", "few-questions"],
)
def test_the_last_line_of_the_display_has_the_interval_that_score_prints(tmp_path, more):
    """An independent way: the folder read again."""
    text = f"benchmark: directions-small\nmodels: [simulated/small, simulated/large]\ngenerations: 12\n{more}"
    snapshots = []
    sample(text, tmp_path / "r", on_progress=snapshots.append)
    last = snapshots[-1]
    assert last.final
    columns = hs.score(read_cells(tmp_path / "r")).columns()
    expected = {
        row[0]: row[1:] for row in zip(*(columns[name] for name in ("model", "score", "low", "high")), strict=True)
    }
    for model in last.models:
        assert (model.mean, model.low, model.high) == pytest.approx(expected[model.label], abs=1e-12)
        half = (expected[model.label][2] - expected[model.label][1]) / 2
        assert f"score {model.mean:.4f} ± {half:.4f} (new questions, 95 %)" in format_lines(last)


def test_the_first_interrupt_waits_and_the_second_does_not(tmp_path):
    hanging = asyncio.Event
    told = []

    def interrupted_run(times):
        async def script(request):
            if len(told) == 0 and request.question == "q1":
                os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.2)
            if times == 2:
                # The first request is sent alone.
                for _ in range(2):
                    os.kill(os.getpid(), signal.SIGINT)
                    await asyncio.sleep(0.05)
                await hanging().wait()
            return right(request)

        told.clear()
        return scripted(
            one(more="concurrency: 3", model=", choices: 1", generations=1),
            tmp_path / f"r{times}",
            script,
            on_interrupt=told.append,
        )

    outcome, requests = interrupted_run(1)
    assert (outcome.is_interrupted, outcome.exit_code) == (True, 130)
    assert len(told) == 1
    assert 0 < outcome.done == len(requests) < 20
    assert len(cells(tmp_path / "r1")) == outcome.done
    with pytest.raises(asyncio.CancelledError):
        interrupted_run(2)
    assert json.loads((tmp_path / "r2/manifest.json").read_text())["sessions"][-1]["finished"]


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_a_folder_that_disappears_ends_the_run(tmp_path, how):
    """It is noticed at the next write, not after all 10,000 requests; nothing is written where it was."""
    folder = tmp_path / "r"

    async def script(request):
        await asyncio.sleep(0.05)
        if folder.exists() and (folder / "manifest.json").exists():
            if how == "removed":
                shutil.rmtree(folder)
            else:
                folder.rename(tmp_path / "elsewhere")
            if how == "replaced":
                folder.mkdir()
        return right(request)

    asked = []

    def counted(request):
        asked.append(request)
        return script(request)

    model = ScriptedModel(counted)
    with pytest.raises(StoreError, match=r"r: moved or removed during the run.*run again"):
        sample(one(generations=10), folder, benchmark=sums(10_000), open_model=lambda *_: model)
    assert 0 < len(asked) < 3_000
    assert not folder.exists() or not list(folder.iterdir())


def test_handlers_of_signals_are_as_they_were(tmp_path):
    """Also one that is ignored (nohup), which then does not end the run."""

    def mine(*_):
        raise AssertionError

    before = {name: signal.getsignal(getattr(signal, name)) for name in ("SIGINT", "SIGTERM", "SIGHUP")}
    try:
        signal.signal(signal.SIGTERM, mine)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

        def script(request):
            if request.question == "q3":
                os.kill(os.getpid(), signal.SIGHUP)
            return right(request)

        outcome, _ = scripted(one(generations=1), tmp_path / "r", script)
        assert (outcome.is_complete, outcome.is_interrupted) == (True, False)
        assert signal.getsignal(signal.SIGTERM) is mine
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is before["SIGINT"]
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def test_requests_that_failed_in_an_outage_are_sent_again_and_it_is_said(tmp_path):
    dead = True

    def script(request):
        if dead and int(request.question[1:]) > 15:
            raise EndpointError("no connection", reason="connection")
        return right(request)

    time = VirtualTime()
    keys = {"sleep": time.sleep, "clock": time.clock}
    model = ScriptedModel(script)

    def session():
        running = run(
            parse_experiment(one(generations=2)),
            tmp_path / "r",
            benchmark=sums(20),
            open_model=lambda *_: model,
            **keys,
        )
        return time.run(running)

    first = session()
    assert (first.done, first.failed) == (30, 10)
    assert [w for w in first.warnings if "the next run requests them again" in w]
    dead = False
    second = session()
    assert (second.done, second.failed, second.exit_code, second.is_complete) == (10, 0, 0, True)
    assert any(line.startswith("10 generations that had failed while") for line in describe_outcome(second, tmp_path))
    assert {row["score"] for row in rows(tmp_path / "r")} == {1.0}


def test_a_dry_run_tells_what_is_owed_and_touches_nothing(tmp_path):
    text = "benchmark: directions-small\nmodels: [simulated/large]\ngenerations: 4"
    (told,) = dry_run(parse_experiment(text), tmp_path / "r").models
    assert (told.cells, told.there, told.missing, told.requests) == (400, 0, 400, 100)
    assert not (tmp_path / "r").exists()
    sample(text + "\nlimit: 30", tmp_path / "r")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "r").iterdir()}
    (told,) = dry_run(parse_experiment(text), tmp_path / "r").models
    assert (told.cells, told.there, told.missing, told.requests) == (400, 120, 280, 70)
    # A reader of the database leaves its -wal and -shm beside it.
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_copies_and_other_models_are_warned_of(tmp_path):
    text = "the same long reasoning every time, about this and that, " * 12

    def script(request):
        choices = tuple(Choice(f"{request.question} {text} = 2", "stop") for _ in request.generations)
        return Reply(choices, model="another", request="always")

    outcome, _ = scripted(one(model=", temperature: 1"), tmp_path / "r", script)
    assert any("got the same text every time" in warning for warning in outcome.warnings)
    assert "m: asked for m-1, answered as another in 20 of 20 replies" in outcome.warnings
    assert json.loads((tmp_path / "r/manifest.json").read_text())["warnings"] == list(outcome.warnings)
