"""A coroutine that runs where no loop runs, beside a loop, and until it is interrupted."""

import asyncio
import signal
import threading

import pytest

from howsure.sample.run import run_coroutine


async def double(x):
    await asyncio.sleep(0)
    return 2 * x


def in_a_loop(function):
    """Call a function in a running loop that leaves Ctrl-C as it is, as notebooks do."""

    async def call():
        return function()

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(call())
    finally:
        loop.close()


def test_it_returns_the_result_with_and_without_a_loop():
    assert run_coroutine(double(4)) == 8
    assert in_a_loop(lambda: run_coroutine(double(4))) == 8
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("howsure-run")]


def test_an_interrupt_cancels_what_runs_in_the_other_thread():
    ended = []

    async def wait():
        try:
            main = threading.main_thread().ident
            threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT)).start()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with pytest.raises((asyncio.CancelledError, KeyboardInterrupt)):
        in_a_loop(lambda: run_coroutine(wait()))
    assert ended == ["cancelled"]


def test_errors_are_raised_here():
    async def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        in_a_loop(lambda: run_coroutine(fail()))
