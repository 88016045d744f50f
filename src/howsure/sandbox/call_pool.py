"""Call functions that may never return, in a subprocess that the system ends when a call takes too long.

A pattern that backtracks without end, or an expression such as 9^(9^9), runs in code that no exception can interrupt.
A timer in this process would need the main thread and a signal that the user's program may use. In the subprocess, the
signal of the timer has its default action, which ends the process. The timer counts processor time, so that the load
of the machine does not change a score.

A call is one line of JSON, [seconds, "module:function", arguments]; the reply is another line.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import IO, Any, Self

import msgspec

from howsure.errors import ResourceLimitError

#: Memory that the subprocess may use, in bytes: a number with a billion digits fails instead of filling the machine.
MEMORY = 4 << 30
#: Most subprocesses of a pool.
MAX_PROCESSES = 8

_CHILD = "import sys; sys.path[:] = sys.argv[1:]; from howsure.sandbox.call_pool import run_child; run_child()"


class CallProcess:
    """A subprocess that runs one call at a time; it starts with the first call, and again after a call was ended.

    Parameters
    ----------
    seconds
        Processor time that one call may take.
    warm_up
        Function that a new subprocess runs before its first call, such as a slow import. It has no time limit.
    """

    def __init__(self, seconds: float, *, warm_up: Callable[[], object] | None = None) -> None:
        self.seconds, self._warm_up = seconds, warm_up
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, function: Callable[..., object], *arguments: object) -> object:
        """Return the result of a function of a module; arguments and result must be JSON.

        Raises
        ------
        ResourceLimitError
            When the call took too much time or memory and ended the subprocess; the next call starts another one.
        ValueError
            When the function failed; with the message of the function.
        """
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603  # our own code
                [sys.executable, "-c", _CHILD, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            if self._warm_up is not None:
                self._send(self._process, 0, self._warm_up, ())
        return self._send(self._process, self.seconds, function, arguments)

    def _send(
        self,
        process: subprocess.Popen[bytes],
        seconds: float,
        function: Callable[..., object],
        arguments: tuple[object, ...],
    ) -> object:
        """Return the result of one call in the subprocess."""
        assert process.stdin is not None
        assert process.stdout is not None
        line = b""
        with contextlib.suppress(BrokenPipeError):
            name = f"{function.__module__}:{function.__qualname__}"
            process.stdin.write(msgspec.json.encode((seconds, name, arguments)) + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line.endswith(b"\n"):
            self.close()
            raise ResourceLimitError(f"it took more than {self.seconds:g} s, or more memory than there is")
        reply = msgspec.json.decode(line)
        if "failed" in reply:
            raise ValueError(reply["failed"])
        return reply["value"]

    def close(self) -> None:
        """End the subprocess; a second call does nothing."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with contextlib.suppress(BrokenPipeError):
                process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class CallPool:
    """Several processes, for calls from several threads at a time; each starts when all others are busy.

    Parameters
    ----------
    seconds, warm_up
        As of `CallProcess`.
    size
        Largest number of subprocesses; by default that of the processors, at most `MAX_PROCESSES`.

    Examples
    --------
    >>> from operator import add
    >>> with CallPool(1.0) as pool:
    ...     pool.call(add, 2, 3)
    5
    """

    def __init__(self, seconds: float, *, warm_up: Callable[[], object] | None = None, size: int | None = None) -> None:
        self._processes = [
            CallProcess(seconds, warm_up=warm_up) for _ in range(size or min(os.cpu_count() or 1, MAX_PROCESSES))
        ]
        # The process that was used last is used next, so that one thread starts one subprocess.
        self._free: queue.LifoQueue[CallProcess] = queue.LifoQueue()
        for process in self._processes:
            self._free.put(process)

    def call(self, function: Callable[..., object], *arguments: object) -> object:
        """Return the result of a function, as `CallProcess.call` does, from the first process that is free."""
        process = self._free.get()
        try:
            return process.call(function, *arguments)
        finally:
            self._free.put(process)

    def close(self) -> None:
        """End all subprocesses; a later call starts another one."""
        for process in self._processes:
            process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve_calls(calls: IO[bytes], replies: IO[bytes], set_timer: Callable[[float], object]) -> None:
    """Answer calls until there are no more; the timer is set to the seconds of each call (0 is no limit), then to 0."""
    for line in calls:
        seconds, name, arguments = msgspec.json.decode(line)
        module, _, path = name.partition(":")
        function = attrgetter(path)(import_module(module))
        reply: dict[str, Any]
        set_timer(seconds)
        try:
            reply = {"value": function(*arguments)}
        except Exception as error:  # noqa: BLE001  # the caller gets the message of any failure
            message = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
            reply = {"failed": " ".join(message.split())[:300]}
        set_timer(0)
        replies.write(msgspec.json.encode(reply) + b"\n")
        replies.flush()


def run_child() -> None:  # pragma: no cover  in the subprocess, which is ended while it is measured
    """Set the limits of the subprocess, and answer the calls of its standard input."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # The program that started this process may ignore or block the signal.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not be read as a reply
    serve_calls(sys.stdin.buffer, replies, lambda seconds: signal.setitimer(signal.ITIMER_PROF, seconds))
