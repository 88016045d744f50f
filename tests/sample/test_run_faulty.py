"""A run over HTTP in which a fifth of all requests fails, against the same run without faults.

Kind of truth: theory. The endpoint is deterministic per cell (`endpoint.Telling`), so the two runs must agree cell by
cell; what it knows of each cell (`Server.is_right`) is a third, independent account.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import numpy as np
import pytest
from helpers.endpoint import Faults, Telling, serve

import howsure as hs
from howsure.benchmarks import load
from howsure.errors import HowsureWarning
from howsure.models.client import Endpoint
from howsure.results.evaluations import read as read_cells
from howsure.sample.experiment import parse_experiment
from howsure.sample.run import run
from howsure.store.responses import read

LARGE = load("directions-large")
#: One fifth in all; few are such that fewer requests in flight are the answer to them (429, no answer).
RATES = {
    "rate_limit": 0.01,
    "rate_limit_bare": 0.01,
    "server": 0.05,
    "hang": 0.005,
    "cut": 0.03,
    "reset": 0.025,
    "malformed": 0.025,
    "shape": 0.01,
    "fewer": 0.015,
    "extra": 0.005,
    "twice": 0.005,
    "empty": 0.01,
}
#: Questions with these words are always refused: their cells are recorded failures, in both runs.
REFUSED = "I am walking"
KEPT = ("question", "generation", "score", "status", "answer", "completion", "error")


#: Waits take a tenth of their time, on a clock that is ten times as fast: the server needs none of them.
FASTER = 10


def quick(seconds):
    return asyncio.sleep(seconds / FASTER)


def hurried():
    return time.monotonic() * FASTER


def sample(folder, server, questions, generations, *, timeout):
    experiment = parse_experiment(
        f"{{benchmark: directions-large, limit: {questions}, generations: {generations}, seed: 7, "
        f'models: [{{model: truth-1, base_url: "{server.base_url}"}}]}}'
    )

    def opened(entry, _):
        return Telling(Endpoint(entry.base_url, entry.name, timeout=timeout))

    return asyncio.run(run(experiment, folder, sleep=quick, clock=hurried, open_model=opened))


def cells_of(folder):
    """(question, generation) to what the row says, each once."""
    table = read(folder, list(KEPT)).to_pylist()
    cells = {(row["question"], row["generation"]): tuple(row[name] for name in KEPT[2:]) for row in table}
    assert len(cells) == len(table)
    return cells


@pytest.mark.long
def test_a_fifth_of_faults_changes_none_of_20_000_cells(tmp_path):
    questions, generations = 1000, 20
    faults = Faults(RATES, retry_after="0.5", spread=0.01, slow_start=(0.2, 0.1), most=4, refuses=REFUSED)
    with serve(LARGE.questions, seed=3, faults=faults) as server:
        outcome = sample(tmp_path / "faulty", server, questions, generations, timeout=1.0)
    with serve(LARGE.questions, seed=3, faults=Faults(refuses=REFUSED)) as calm:
        whole = sample(tmp_path / "calm", calm, questions, generations, timeout=30.0)

    struck = server.struck.total() - server.struck[""]
    assert 0.17 < struck / server.struck.total() < 0.23
    assert set(server.struck) == {"", *RATES}
    # Some were hard: a request that never fails would not show that it is tried again.
    attempts = Counter(read(tmp_path / "faulty", ["attempts"])["attempts"].to_pylist())
    assert max(attempts) >= 3

    cells, calmly = cells_of(tmp_path / "faulty"), cells_of(tmp_path / "calm")
    assert len(cells) == questions * generations
    assert cells == calmly
    refused = {q.id for q in LARGE.questions if REFUSED in q.text}
    failures = {key for key, cell in cells.items() if cell[0] is None}
    assert failures == {key for key in cells if key[0] in refused}
    assert 0 < len(failures) < len(cells) / 20
    assert all(cells[key][4].startswith("bad_request: HTTP 400: This model's maximum context") for key in failures)
    assert (outcome.done, outcome.failed) == (whole.done, whole.failed) == (len(cells) - len(failures), len(failures))
    for (question, generation), cell in cells.items():
        if question not in refused:
            assert cell[0] == server.is_right(question, generation)
    with pytest.warns(HowsureWarning, match="more generations than requested"):
        faulty_cells = read_cells([tmp_path / "faulty"]).cells()
    calm_columns = hs.score(read_cells([tmp_path / "calm"])).columns()
    for name, column in hs.score(faulty_cells).columns().items():
        np.testing.assert_array_equal(column, calm_columns[name], err_msg=name)


def test_an_endpoint_that_starts_slowly_is_waited_for(tmp_path):
    with serve(LARGE.questions, seed=3, faults=Faults(slow_start=(0.5, 0.6))) as server:
        # Whatever it is asked in the first half second takes longer than we wait.
        outcome = sample(tmp_path / "r", server, 50, 5, timeout=0.3)
    assert (outcome.done, outcome.failed, outcome.is_complete) == (250, 0, True)
    assert all(cell[0] == server.is_right(*key) for key, cell in cells_of(tmp_path / "r").items())
    assert server.asked.total() > 50
