"""A budget: who waits, who is refused, and what is said. That it holds, test_run_property.py shows."""

import asyncio

import pytest
from helpers.scripted_model import VirtualTime
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.errors import BudgetSpentError
from howsure.sample.budget import Budget, Spending


def reserved(budget):
    """Calls, tokens and cost of the open reservations."""
    return budget.reserved.calls, budget.reserved.tokens, budget.reserved.cost


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(1, 10), st.integers(1, 5)), min_size=2, max_size=15))
def test_first_come_first_served(tasks):
    clock = VirtualTime()
    # Everything fits in the end, since all is released; only ten at a time.
    budget = Budget(tokens=10, clock=clock.clock)
    order = []

    async def one(i, tokens, takes):
        held = await budget.reserve(tokens, 0)
        order.append(i)
        await clock.sleep(takes)
        budget.release(held)

    async def everybody():
        await asyncio.gather(*(one(i, *task) for i, task in enumerate(tasks)))

    clock.run(everybody())
    assert order == list(range(len(tasks)))


def run(coroutine):
    return asyncio.run(coroutine)


def test_at_once_when_it_fits_then_waits_then_is_refused():
    async def main():
        budget = Budget(tokens=100)
        first = await budget.reserve(60, 0)
        second = asyncio.create_task(budget.reserve(60, 0))
        third = asyncio.create_task(budget.reserve(30, 0))
        await asyncio.sleep(0)
        assert not second.done()
        assert budget.fits(40, 10**20)
        assert not budget.fits(41, 0)
        budget.settle(first, 50, 0)
        with pytest.raises(BudgetSpentError, match="^50 of 100 tokens spent; the next request may take up to 60$") as e:
            await second
        assert e.value.what == "tokens"
        # A smaller one behind it still fits.
        budget.settle(await third, 30, 0)
        assert budget.spent == Spending(2, 80, 0)

    run(main())


def test_all_who_wait_are_refused_when_nothing_can_fit():
    async def main():
        budget = Budget(cost=100)
        held = await budget.reserve(1, 90)
        waiting = [asyncio.create_task(budget.reserve(1, 20)) for _ in range(5)]
        await asyncio.sleep(0)
        budget.forfeit(held)
        told = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(t) for t in told] == [BudgetSpentError] * 5
        assert reserved(budget) == (0, 0, 0)

    run(main())


def test_messages_tell_the_numbers():
    async def refused(budget, tokens=1, cost=0):
        with pytest.raises(BudgetSpentError) as e:
            await budget.reserve(tokens, cost)
        return e.value.what, str(e.value)

    money = Budget(cost=5 * 10**12, spent=Spending(9, 0, 4_980_000_000_000))
    assert run(refused(money, 1, 40_000_000_000)) == (
        "cost",
        "$4.98 of $5.00 spent; the next request may cost up to $0.04",
    )
    assert run(refused(Budget(calls=1000, spent=Spending(1000, 0, 0)))) == ("calls", "1,000 of 1,000 calls made")
    assert run(refused(Budget(minutes=0))) == ("minutes", "the 0 minutes of this session are over")


def test_minutes_are_of_this_session_and_refuse_those_who_wait():
    clock = VirtualTime()
    clock.now = 1000.0
    budget = Budget(minutes=1, tokens=10, clock=clock.clock)

    async def main():
        held = await budget.reserve(10, 0)
        waiting = asyncio.create_task(budget.reserve(1, 0))
        await clock.sleep(59)
        assert not waiting.done()
        await clock.sleep(1)
        assert not budget.fits(0, 0)
        budget.settle(held, 0, 0)
        with pytest.raises(BudgetSpentError, match="the 1 minutes"):
            await waiting
        with pytest.raises(BudgetSpentError):
            await budget.reserve(0, 0)

    clock.run(main())


def test_usage_beyond_the_reservation_counts_in_full_and_never_negative():
    async def main():
        budget = Budget(tokens=100, cost=100)
        budget.settle(await budget.reserve(10, 10), 150, 170)
        assert budget.spent == Spending(1, 150, 170)
        assert not budget.fits(1, 0)
        free = Budget()
        free.settle(await free.reserve(10, 10), -5, -5)
        assert free.spent == Spending(1, 0, 0)
        assert free.fits(10**30, 10**30)

    run(main())


def test_a_reservation_ends_once():
    async def main():
        budget = Budget()
        held = await budget.reserve(1, 2)
        budget.settle(held, 1, 1)
        for again in (lambda: budget.settle(held, 1, 1), lambda: budget.release(held), lambda: budget.forfeit(held)):
            with pytest.raises(ValueError, match=r"Reservation\(1, 2, is_open=False\) was closed before"):
                again()
        assert budget.spent == Spending(1, 1, 1)

    run(main())


@pytest.mark.parametrize("used", [0, 10])
def test_cancelled_in_the_moment_it_was_granted_or_refused(used):
    async def main():
        budget = Budget(tokens=10)
        held = await budget.reserve(10, 0)
        waiting = asyncio.create_task(budget.reserve(10, 0))
        behind = asyncio.create_task(budget.reserve(10, 0))
        await asyncio.sleep(0)
        budget.settle(held, used, 0)  # answers `waiting`, which has not run yet
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        if used:
            with pytest.raises(BudgetSpentError):
                await behind
        else:
            budget.release(await behind, sent=False)
        assert reserved(budget) == (0, 0, 0)

    run(main())


def test_a_cancelled_head_lets_the_next_pass():
    async def main():
        budget = Budget(tokens=10)
        held = await budget.reserve(5, 0)
        large = asyncio.create_task(budget.reserve(10, 0))
        small = asyncio.create_task(budget.reserve(5, 0))
        await asyncio.sleep(0)
        large.cancel()
        budget.release(await asyncio.wait_for(small, 5))
        budget.release(held)
        assert budget.spent == Spending(2, 0, 0)
        assert reserved(budget) == (0, 0, 0)

    run(main())
