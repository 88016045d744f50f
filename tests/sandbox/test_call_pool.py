"""Calls in a subprocess: they return, they fail with a message, and they end."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import threading

import pytest

from howsure.errors import ResourceLimitError
from howsure.sandbox.call_pool import CallProcess, serve_calls
from howsure.scorers.patterns import search_pattern

ENDLESS = (r"(a+)+$", "a" * 40 + "b", "last")


def test_what_never_ends_is_ended_and_the_next_call_is_answered():
    with CallProcess(0.2) as work:
        with pytest.raises(ResourceLimitError, match=r"more than 0\.2 s"):
            work.call(search_pattern, *ENDLESS)
        assert work.call(search_pattern, r"\d+", "7 and 8", "last") == "8"
        with pytest.raises(ResourceLimitError):
            work.call(search_pattern, *ENDLESS)
        assert work.call(search_pattern, r"\d+", "7 and 8", "first") == "7"


def test_it_works_in_any_thread_and_leaves_the_signals_of_the_program_alone():
    before = signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGPROF)
    found: list[object] = []

    def run():
        with CallProcess(0.2) as work:
            try:
                work.call(search_pattern, *ENDLESS)
            except ResourceLimitError as error:
                found.append(error)
            found.append(work.call(search_pattern, "b", "abc", "last"))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [one for one in found if isinstance(one, str)] == ["b", "b"]
    assert sum(isinstance(one, ResourceLimitError) for one in found) == 2
    assert (signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGPROF)) == before


def test_a_program_that_ignores_the_signal_does_not_keep_the_work_alive():
    # a signal that is ignored stays so in the processes that a program starts
    program = (
        "import signal; signal.signal(signal.SIGPROF, signal.SIG_IGN)\n"
        "from howsure.sandbox.call_pool import CallProcess\n"
        "from howsure.scorers.patterns import search_pattern\n"
        "from howsure.errors import ResourceLimitError\n"
        "with CallProcess(0.2) as work:\n"
        "    try: work.call(search_pattern, r'(a+)+$', 'a' * 40 + 'b', 'last')\n"
        "    except ResourceLimitError: print('ended')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "ended\n"


def test_a_failure_is_told_in_words_and_the_process_lives_on():
    with CallProcess(1.0) as work:
        with pytest.raises(ValueError, match="unterminated subpattern"):
            work.call(search_pattern, "(", "a", "last")
        process = work._process
        assert work.call(search_pattern, "a", "a", "last") == "a"
        assert work._process is process


def test_a_process_that_was_ended_by_somebody_else_is_told_and_replaced():
    with CallProcess(1.0) as work:
        assert work.call(search_pattern, "a", "a", "last") == "a"
        work._process.kill()
        work._process.wait()
        with pytest.raises(ResourceLimitError):
            work.call(search_pattern, "a", "a", "last")
        assert work.call(search_pattern, "a", "a", "last") == "a"


def test_closing_ends_the_process_and_twice_does_nothing():
    work = CallProcess(1.0)
    assert work.call(search_pattern, "a", "a", "last") == "a"
    process = work._process
    work.close()
    work.close()
    assert process.poll() is not None


def test_texts_of_any_length_and_letters_come_through():
    text = "é\n\0😀" * 200_000
    with CallProcess(5.0) as work:
        assert work.call(search_pattern, "(?s).*", text, "first") == text


def test_the_other_side_sets_the_timer_for_each_call():
    search = "howsure.scorers.patterns:search_pattern"
    calls = [
        [2.5, search, ["b", "abc", "last"]],
        [1, "os:environ.__getitem__", ["no"]],
        [1, search, ["(", "a", "last"]],
    ]
    replies, timer = io.BytesIO(), []
    serve_calls(io.BytesIO(b"".join(json.dumps(call).encode() + b"\n" for call in calls)), replies, timer.append)
    answers = [json.loads(line) for line in replies.getvalue().splitlines()]
    assert answers[0] == {"value": "b"}
    assert answers[1] == {"failed": "KeyError: 'no'"}
    assert "unterminated" in answers[2]["failed"]
    assert timer == [2.5, 0, 1, 0, 1, 0]
