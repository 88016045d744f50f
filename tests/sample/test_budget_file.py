"""What a folder's sessions have spent together, when replies are cut and requests refused.

Kind of truth: an independent account, that of the endpoint, which counts what it was asked and what it wrote.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time

import pytest
from helpers.endpoint import Faults, serve

from howsure.benchmarks import load
from howsure.errors import InputError, StoreError
from howsure.sample import session as run_session
from howsure.sample.budget import SPENT_FILE, Budget, Spending, SpendingFile, load_spending
from howsure.sample.experiment import parse_experiment
from howsure.sample.run import run

LARGE, SMALL = load("directions-large"), load("directions-small")
TEXT = """
benchmark: directions-large
generations: 3
concurrency: 512
budget: {{{budget}}}
models:
  - {{model: a, base_url: "{url}", timeout: 3600, max_tokens: 5, price: {{prompt: 1, completion: 2}}}}
  - {{model: b, base_url: "{url}", timeout: 3600, max_tokens: 5, price: {{prompt: 1, completion: 2}}}}
"""

BUDGETS = ["calls: 700", *(pytest.param(limit, marks=pytest.mark.long) for limit in ("tokens: 100_000", "cost: 0.1"))]


def quick(seconds):
    return asyncio.sleep(seconds / 20)


def session(folder, server, budget):
    experiment = parse_experiment(TEXT.format(budget=budget, url=server.base_url))
    return asyncio.run(run(experiment, folder, sleep=quick))


def list_bills(server):
    """What the endpoint bills: 10 tokens for a prompt and 5 for each completion, whether its reply was cut or not."""
    return {
        "calls": len(server.bodies),
        "tokens": sum((10 + 5 * n) * count for n, count in server.asked.items()),
        "cost": sum((10 + 2 * 5 * n) * count for n, count in server.asked.items()) / 1e6,
    }


def test_the_account_holds_what_is_in_flight_until_it_is_settled(tmp_path):
    async def main():
        budget = Budget(tokens=1000, spent=Spending(1, 100, 7))
        account = SpendingFile(tmp_path, budget)
        account.update()
        assert not (tmp_path / SPENT_FILE).exists()
        held = await budget.reserve(50, 5)
        assert not (tmp_path / SPENT_FILE).exists()
        budget.record(held)
        # Once more what was set aside since the last update, for the next requests.
        assert load_spending(tmp_path) == Spending(3, 200, 17)
        account.update(final=True)
        assert load_spending(tmp_path) == Spending(2, 150, 12)
        budget.settle(held, 20, 2)
        account.update()
        assert load_spending(tmp_path) == Spending(2, 120, 9)

    asyncio.run(main())


def test_what_the_next_session_sets_aside_again_is_not_in_the_account():
    async def main():
        budget = Budget(tokens=1000)
        batch = await budget.reserve(300, 3)
        other = await budget.reserve(20, 2)
        budget.record(other)
        assert budget.recorded_spending == Spending(1, 20, 2)
        budget.leave(batch)
        assert (budget.spent, budget.recorded_spending) == (Spending(1, 300, 3), Spending(1, 20, 2))
        budget.release(other)
        assert budget.recorded_spending == Spending(1, 0, 0)
        settled = await budget.reserve(300, 3)
        budget.settle(settled, 40, 1)
        assert budget.recorded_spending == Spending(2, 40, 1)

    asyncio.run(main())


@pytest.mark.parametrize("budget", ["calls: 40", "tokens: 600", "cost: 0.0008"])
def test_a_budget_that_cannot_be_recorded_sends_nothing(tmp_path, monkeypatch, budget):
    """The first request needs the file: none is sent without it, and what the budget allows once it can be written."""
    obstacle = tmp_path / "r" / f".{SPENT_FILE}.new"  # a folder under the name to which the file is written first

    def obstruct(folder, of):
        obstacle.mkdir()
        return SpendingFile(folder, of)

    text = TEXT.replace("directions-large", "directions-small")
    with serve(SMALL.questions) as server:
        experiment = parse_experiment(text.format(budget=budget, url=server.base_url))
        monkeypatch.setattr(run_session, "SpendingFile", obstruct)
        with pytest.raises(StoreError, match=r"spent\.json: .*run again: what was there is kept"):
            asyncio.run(run(experiment, tmp_path / "r", sleep=quick))
        monkeypatch.undo()
        assert not server.bodies
        obstacle.rmdir()
        asyncio.run(run(experiment, tmp_path / "r", sleep=quick))
    kind, bound = budget.split(": ")
    assert 0 < list_bills(server)[kind] <= float(bound)


@pytest.mark.long
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_budget_that_cannot_be_recorded_any_more_ends_the_run(tmp_path, budget):
    """A file that cannot be written during the run: nothing is sent beyond what was recorded, then and afterwards."""
    kind, bound = budget.split(": ")
    folder = tmp_path / "r"
    obstacle = folder / f".{SPENT_FILE}.new"  # a folder under the name to which the file is written first

    def obstruct():
        while not obstacle.is_dir():
            time.sleep(0.001)
            if len(server.bodies) > 50:
                with contextlib.suppress(FileExistsError):
                    obstacle.mkdir()

    with serve(LARGE.questions, faults=Faults(latency=0.05)) as server:
        experiment = parse_experiment(TEXT.format(budget=budget, url=server.base_url))
        threading.Thread(target=obstruct, daemon=True).start()
        with pytest.raises(StoreError, match=r"spent\.json: .*run again: what was there is kept"):
            asyncio.run(run(experiment, folder, sleep=quick))
        sent = len(server.bodies)
        recorded = load_spending(folder)
        of_kind = {"calls": recorded.calls, "tokens": recorded.tokens, "cost": recorded.cost / 1e12}
        assert sent > 50
        assert list_bills(server)[kind] <= of_kind[kind]
        obstacle.rmdir()
        session(folder, server, budget)
    billed = list_bills(server)
    assert sent < len(server.bodies)
    # What was in flight and set aside is forfeited, and nothing that only waited for its turn: more than half of it.
    assert 0.5 * float(bound) < billed[kind] <= float(bound)


def test_without_bounds_nothing_is_written(tmp_path):
    async def main():
        budget = Budget(minutes=5)
        budget.forfeit(await budget.reserve(3, 4))
        SpendingFile(tmp_path, budget).update()

    asyncio.run(main())
    assert not list(tmp_path.iterdir())
    assert load_spending(tmp_path) == Spending()


def test_an_account_that_cannot_be_read_says_what_to_do(tmp_path):
    (tmp_path / SPENT_FILE).write_text('{"calls": 3')
    with pytest.raises(StoreError, match=r"spent\.json: cannot be read .*; restore it, or remove it"):
        load_spending(tmp_path)


def test_no_request_is_sent_before_the_file_includes_it(tmp_path):
    """10,000 requests of random sizes, many open at a time; an update after every 200th. The file is read each time."""

    async def main():
        rng = random.Random(8)
        budget = Budget(calls=9_000, tokens=10**6, cost=10**6)
        account = SpendingFile(tmp_path, budget)
        held, writes, last = [], 0, None
        for i in range(8_000):
            held.append(await budget.reserve(rng.randrange(1, 100), rng.randrange(1, 100)))
            budget.record(held[-1])
            recorded, spent = load_spending(tmp_path), budget.recorded_spending
            assert recorded.calls >= spent.calls
            assert recorded.tokens >= spent.tokens
            assert recorded.cost >= spent.cost
            assert recorded.calls <= 9_000
            assert recorded.tokens <= 10**6
            writes += recorded != last
            last = recorded
            while len(held) > rng.randrange(1, 64):
                budget.settle(held.pop(0), rng.randrange(0, 50), rng.randrange(0, 50))
            if i % 200 == 199:
                account.update()
                # At most what 200 requests spent is set aside beyond what is open.
                assert load_spending(tmp_path).calls <= budget.recorded_spending.calls + 200
        assert writes < 8_000 / 20

    asyncio.run(main())


@pytest.mark.parametrize(
    "extra",
    [
        "best_of: 20",
        "best_of: '20'",
        "num_return_sequences: 3",
        "num_beams: 2",
        "extra_body: {n: 5}",
        "sampling_params: {best_of: 3}",
        "options: {n: 2}",
    ],
)
def test_options_that_multiply_completions_have_no_budget(extra):
    model = '{model: m, base_url: "http://localhost:1/v1", max_tokens: 5, extra: {' + extra + "}}"
    for budget in ("tokens: 1000", "cost: 1"):
        with pytest.raises(InputError, match=r"multiplies what a request costs"):
            parse_experiment(f"{{benchmark: directions-small, budget: {{{budget}}}, models: [{model}]}}")
    parse_experiment(f"{{benchmark: directions-small, budget: {{calls: 10}}, models: [{model}]}}")


@pytest.mark.parametrize(
    "extra", ["n_predict: -1", "max_completion_tokens: 0", "max_new_tokens: unlimited", "options: {num_predict: -2}"]
)
def test_a_limit_that_is_lifted_has_no_budget(extra):
    model = '{model: m, base_url: "http://localhost:1/v1", max_tokens: 5, extra: {' + extra + "}}"
    with pytest.raises(InputError, match="have no bound"):
        parse_experiment(f"{{benchmark: directions-small, budget: {{tokens: 1000}}, models: [{model}]}}")


@pytest.mark.parametrize("extra", ["n: 5", "generationConfig: {candidateCount: 5}", "max_tokens: 1000"])
def test_what_the_sampler_sets_cannot_be_set_beside_it(extra):
    model = '{model: m, base_url: "http://localhost:1/v1", max_tokens: 5, extra: {' + extra + "}}"
    with pytest.raises(InputError, match="extra cannot set"):
        parse_experiment(f"{{benchmark: directions-small, models: [{model}]}}")


@pytest.mark.parametrize("name", ["max_completion_tokens", "max_new_tokens", "max_output_tokens", "num_predict"])
def test_of_two_limits_of_a_completion_the_larger_is_set_aside(tmp_path, name):
    """The endpoint heeds the one in extra: 100,000 tokens for a request, of a budget of 5,000."""
    text = """
benchmark: directions-small
budget: {{tokens: 5000}}
models: [{{model: m, base_url: "{url}", max_tokens: 10, extra: {{{name}: 100000}}}}]
"""
    with serve(load("directions-small").questions) as server:
        experiment = parse_experiment(text.format(url=server.base_url, name=name))
        outcome = asyncio.run(run(experiment, tmp_path / "r", sleep=quick))
    assert server.bodies == []
    assert "may take up to 100," in outcome.models[0].spent
