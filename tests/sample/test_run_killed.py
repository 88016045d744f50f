"""kill -9 in the middle of a run. Kind of truth: a guarantee by seeded simulation, against what was acknowledged."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers.endpoint import Faults, serve

from howsure.benchmarks import load
from howsure.sample.experiment import parse_experiment
from howsure.sample.run import run
from howsure.store.responses import is_run, read

CELLS = 100 * 6
LONG = """
benchmark: directions-large
limit: {questions}
generations: 20
concurrency: {concurrency}
models: [{{model: m, base_url: "{base_url}"}}]
"""
#: A fifth of all requests fails; those for questions with these words always do.
FAULTS = {
    "rate_limit": 0.01,
    "rate_limit_bare": 0.01,
    "server": 0.05,
    "hang": 0.005,
    "cut": 0.04,
    "reset": 0.03,
    "malformed": 0.03,
    "fewer": 0.025,
}
REFUSED = "I am walking"


@contextmanager
def runner():
    """A process that runs and kills; returns a function from an order to what became of it."""
    script = Path(__file__).resolve().parents[1] / "helpers/killed_run.py"
    tests = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:

        def live(experiment, folder, acknowledged, after, *, timeout=None, send=signal.SIGKILL, running=False):
            paths = {"folder": str(folder), "acknowledged": str(acknowledged)}
            order = {**paths, "experiment": experiment, "after": after, "timeout": timeout, "signal": send}
            order["running"] = running
            print(json.dumps(order), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield live
        process.stdin.close()


def rows_of(folder):
    """(question, generation) to (request, score), each cell once."""
    if not is_run(folder):
        return {}
    table = read(folder, ["question", "generation", "request", "score"]).to_pylist()
    times = Counter((row["question"], row["generation"]) for row in table)
    assert not [cell for cell, count in times.items() if count > 1]
    return {(row["question"], row["generation"]): (row["request"], row["score"]) for row in table}


def acknowledged_in(file):
    """What `append` had returned for: (question, generation) to (request, score), in its order, as often as it was."""
    for line in file.read_text().splitlines() if file.exists() else []:
        question, generation, request, score = line.rsplit(" ", 3)
        yield (question, int(generation)), (request, None if score == "None" else float(score))


SIMULATED = "{benchmark: directions-small, generations: 6, concurrency: 16, models: [simulated/medium]}"
#: Runs an experiment, prints the cells of each batch that the store acknowledged, and kills itself after the third.
KILL_ITSELF = """
import asyncio, os, signal, sys
from pathlib import Path
from howsure.sample import run, scored_rows
from howsure.sample.experiment import parse_experiment
from howsure.store.responses import RunFolder

append, count = RunFolder.append, 0

def append_or_die(folder, rows):
    global count
    append(folder, rows)
    print("".join(f"{row.question} {row.generation}\\n" for row in rows), end="", flush=True)
    count += 1
    if count == 3:
        os.kill(os.getpid(), signal.SIGKILL)

RunFolder.append = append_or_die
scored_rows.BATCH = 25
asyncio.run(run.run(parse_experiment(sys.argv[1]), Path(sys.argv[2])))
"""


def test_a_run_that_is_killed_once_is_continued_with_every_row_as_it_would_have_been(tmp_path):
    """One kill -9 at a known point: against the same run without it, since simulated models repeat themselves."""
    assert asyncio.run(run(parse_experiment(SIMULATED), tmp_path / "whole")).is_complete
    whole = {cell: score for cell, (_, score) in rows_of(tmp_path / "whole").items()}
    command = [sys.executable, "-c", KILL_ITSELF, SIMULATED, str(tmp_path / "killed")]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert process.returncode == -signal.SIGKILL
    acknowledged = {(question, int(n)) for question, n in (line.rsplit(" ", 1) for line in process.stdout.splitlines())}
    left = rows_of(tmp_path / "killed")
    assert acknowledged <= left.keys()
    assert 0 < len(acknowledged) <= len(left) < CELLS == len(whole)
    outcome = asyncio.run(run(parse_experiment(SIMULATED), tmp_path / "killed"))
    assert (outcome.is_complete, outcome.done) == (True, CELLS - len(left))
    resumed = rows_of(tmp_path / "killed")
    assert left.items() <= resumed.items()
    assert {cell: score for cell, (_, score) in resumed.items()} == whole


@pytest.mark.parametrize(
    ("questions", "concurrency", "latency", "every", "kills"),
    [
        pytest.param(200, 32, 0.05, 0.9, 3, marks=pytest.mark.long),
        pytest.param(1000, 32, 0.15, 3.0, 6, marks=pytest.mark.slow),
    ],
)
def test_killed_until_it_completes(tmp_path, questions, concurrency, latency, every, kills):
    """At a fifth of faults, killed about so often: every cell once, as the endpoint knows it."""
    rng = np.random.default_rng(9)
    benchmark = load("directions-large")
    faults = Faults(FAULTS, latency=latency, retry_after="0.5", most=4, refuses=REFUSED)
    folder, file = tmp_path / "r", tmp_path / "r.txt"
    killed = 0
    with serve(benchmark.questions, seed=4, faults=faults) as server, runner() as live:
        text = LONG.format(base_url=server.base_url, questions=questions, concurrency=concurrency)
        before = {}
        while True:
            told = live(text, folder, file, every * rng.uniform(0.7, 1.3), timeout=1.0)
            after = rows_of(folder)
            kept = {}
            for cell, (request, score) in acknowledged_in(file):
                # What has a score is never asked for again; what failed may be tried again.
                assert kept.get(cell, (None, None))[1] is None
                kept[cell] = (request, score)
            for known in (kept, before):
                assert known.keys() <= after.keys()
                assert {c: r for c, r in known.items() if r[1] is not None}.items() <= after.items()
            before = after
            if not told["killed"]:
                break
            killed += 1
    assert killed >= kills
    struck = server.struck.total() - server.struck[""]
    assert 0.16 < struck / server.struck.total() < 0.24

    refused = {q.id for q in benchmark.questions if REFUSED in q.text}
    assert len(before) == questions * 20
    assert {cell for cell, row in before.items() if row[1] is None} == {cell for cell in before if cell[0] in refused}
    assert all(row[1] == server.is_right(*cell) for cell, row in before.items() if cell[0] not in refused)


BUSY = """
benchmark: directions-large
generations: 40
concurrency: 64
budget: {{calls: {calls}}}
models: [{{model: m, base_url: "{base_url}", choices: 1}}]
"""
#: Seconds between two writes to the disk, and what a busy machine may add.
UNWRITTEN, DELAY = 0.5, 0.5


def requests_in(folder):
    """The ids of the replies that the rows of a folder came with."""
    table = read(folder, ["request"]).to_pylist() if is_run(folder) else []
    return {row["request"] for row in table}


@pytest.mark.parametrize("kills", [pytest.param(4, marks=pytest.mark.long), pytest.param(200, marks=pytest.mark.slow)])
def test_kills_lose_replies_of_the_last_half_second_only(tmp_path, kills):
    """kill -9 at random moments of a busy run that is continued each time, with an account of the endpoint."""
    rng = np.random.default_rng(kills)
    sent_ages, lost_ages, rows = [], [], {}
    with serve(load("directions-large").questions, faults=Faults(latency=0.05)) as server, runner() as live:
        text = BUSY.format(base_url=server.base_url, calls=10**6)
        for trial in range(kills):
            if trial % 20 == 0:
                folder, rows = tmp_path / f"r{trial}", {}
            while server.in_flight:  # replies to a run that was killed before arrive nowhere, and are nobody's loss
                time.sleep(0.01)
            begun = len(server.log)
            told = live(text, folder, tmp_path / "ack.txt", rng.uniform(0.0, 1.0), running=True)
            assert told["killed"]
            after, kept = rows_of(folder), requests_in(folder)
            assert rows.items() <= after.items()
            rows = after
            sent = [one for one in server.log[begun:] if one.at < told["at"]]
            sent_ages += [told["at"] - one.at for one in sent]
            lost_ages += [told["at"] - one.at for one in sent if f"r-{one.request}" not in kept]
    n_sent, oldest = len(sent_ages), max(lost_ages, default=0.0)
    print(
        f"{kills} kills: {len(lost_ages):,} of {n_sent:,} replies were lost, the oldest sent {oldest:.2f} s before its kill"
    )
    for low, high in pairwise((0, 0.1, 0.25, 0.5, 1, 2, 10)):
        lost, of = (sum(low <= age < high for age in ages) for ages in (lost_ages, sent_ages))
        print(f"  sent {low:g} to {high:g} s before: {lost:,} of {of:,} lost")
    assert n_sent > 20 * kills
    if kills > 4:  # the short form runs beside other tests, where the kill itself may be late
        assert oldest < UNWRITTEN + DELAY


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["SIGTERM", pytest.param("SIGHUP", marks=pytest.mark.long)])
def test_a_signal_to_end_loses_nothing(tmp_path, name, times):
    """What is in flight is awaited, so that everything that the endpoint ever wrote has its row, once."""
    rng = np.random.default_rng(times)
    n_sent = 0
    with serve(load("directions-large").questions, faults=Faults(latency=0.3)) as server, runner() as live:
        text = BUSY.format(base_url=server.base_url, calls=10**6)
        for trial in range(times):
            folder = tmp_path / f"r{trial}"
            begun = len(server.log)
            told = live(
                text, folder, tmp_path / "ack.txt", rng.uniform(0.0, 1.0), send=getattr(signal, name), running=True
            )
            assert not told["killed"]
            assert requests_in(folder) == {f"r-{one.request}" for one in server.log[begun:]}
            assert json.loads((folder / "manifest.json").read_text())["sessions"][-1]["finished"]
            n_sent += len(server.log) - begun
    print(f"{times} x {name}: none of {n_sent:,} replies was lost")
    assert n_sent > 20 * times


@pytest.mark.parametrize("kills", [pytest.param(3, marks=pytest.mark.long), pytest.param(12, marks=pytest.mark.slow)])
def test_a_budget_of_calls_holds_under_kills(tmp_path, kills):
    """By the endpoint's own account, with 64 in flight and kill -9 at random moments until the budget is spent."""
    rng = np.random.default_rng(kills)
    bound = 250 * kills
    with serve(load("directions-large").questions, faults=Faults(latency=0.1)) as server, runner() as live:
        text = BUSY.format(base_url=server.base_url, calls=bound)
        for _ in range(kills):
            live(text, tmp_path / "r", tmp_path / "ack.txt", rng.uniform(0.0, 0.7), running=True)
            assert len(server.bodies) <= bound
        before = len(server.bodies)
        live(text, tmp_path / "r", tmp_path / "ack.txt", None)
        spent = len(server.bodies)
    print(f"{kills} kills: {before} calls before the last session, {spent} of {bound} in all")
    # A kill takes what was in flight, and a tenth of what was left at most.
    assert bound - kills * (64 + bound / 10) <= spent <= bound


DEAR = """
benchmark: directions-large
generations: 40
concurrency: 64
budget: {{{budget}}}
models:
  - {{model: m, base_url: "{base_url}", choices: 4, max_tokens: 10, extra: {{max_completion_tokens: 200}},
      price: {{prompt: 1.0, completion: 10.0}}}}
"""


@pytest.mark.parametrize("kills", [pytest.param(2, marks=pytest.mark.long), pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "limit"), [("tokens", 400_000), ("cost", 4.0)])
def test_a_budget_of_tokens_or_money_holds_under_kills(tmp_path, kills, name, limit):
    """The endpoint heeds the larger of two limits, writes so many tokens each time, and bills what it was asked for."""
    rng = np.random.default_rng(kills)
    faults = Faults({"hang": 0.01, "cut": 0.02, "reset": 0.02, "server": 0.02}, latency=0.1, spends_all=True)
    with serve(load("directions-large").questions, faults=faults) as server, runner() as live:
        text = DEAR.format(base_url=server.base_url, budget=f"{name}: {limit}")

        def bill():
            prompt, completion = server.billed["prompt"], server.billed["completion"]
            return prompt + completion if name == "tokens" else (prompt * 1.0 + completion * 10.0) / 1e6

        for _ in range(kills):
            live(text, tmp_path / "r", tmp_path / "ack.txt", rng.uniform(0.0, 0.5), running=True)
            assert bill() <= limit
        before = bill()
        live(text, tmp_path / "r", tmp_path / "ack.txt", None, timeout=2.0)
    print(f"{kills} kills: {before:g} {name} before the last session, {bill():g} of {limit:g} in all")
    assert 0 < before <= bill() <= limit
