"""kill -9 in the middle of a run. Kind of truth: a guarantee by seeded simulation, against what was acknowledged."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from endpoint import Faults, serve
from killed import EXPERIMENT

from errorbar.benchmarks import load
from errorbar.sample.experiment import parse_experiment
from errorbar.sample.run import run
from errorbar.store.responses import is_run, read

TRIALS = 20
CELLS = 100 * 6


def rows_of(folder):
    if not is_run(folder):
        return {}
    table = read(folder, ["question", "generation", "request"]).to_pylist()
    times = Counter((row["question"], row["generation"]) for row in table)
    assert not [cell for cell, count in times.items() if count > 1]
    return {(row["question"], row["generation"]): row["request"] for row in table}


def test_twenty_kills_lose_nothing_that_was_acknowledged(tmp_path):
    rng = np.random.default_rng(20)
    script = Path(__file__).with_name("killed.py")
    questions = load("directions-small").questions
    partial = 0
    with (
        serve(questions, faults=Faults(latency=0.01, most=2)) as server,
        subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as runner,
    ):

        def live(name, after):
            paths = {"folder": str(tmp_path / name), "acknowledged": str(tmp_path / f"{name}.txt")}
            print(json.dumps({**paths, "base_url": server.base_url, "after": after}), file=runner.stdin, flush=True)
            return float(runner.stdout.readline())

        whole = live("whole", None)
        assert len(rows_of(tmp_path / "whole")) == CELLS
        for trial in range(TRIALS):
            name = f"trial-{trial}"
            folder, acknowledged = tmp_path / name, tmp_path / f"{name}.txt"
            live(name, rng.uniform(0.05, 1.0) * whole)
            kept = {}
            for line in acknowledged.read_text().splitlines() if acknowledged.exists() else []:
                question, generation, request = line.rsplit(" ", 2)
                assert (question, int(generation)) not in kept
                kept[question, int(generation)] = request
            after_kill = rows_of(folder)
            assert kept.items() <= after_kill.items()
            partial += 0 < len(after_kill) < CELLS

            experiment = parse_experiment(EXPERIMENT.format(base_url=server.base_url))
            outcome = asyncio.run(run(experiment, folder))
            assert outcome.is_complete
            resumed = rows_of(folder)
            assert len(resumed) == CELLS
            assert after_kill.items() <= resumed.items()
            assert outcome.done == CELLS - len(after_kill)
        runner.stdin.close()
    # Otherwise the kills missed the run, and this test said nothing.
    assert partial >= TRIALS // 3
