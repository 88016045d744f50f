"""Work that may never end, done in a process of its own, which the system ends when it takes too long.

A pattern that backtracks without end and an expression such as 9^(9^9) hold Python where no exception reaches it, and a
timer of ours would need the main thread and a signal that belongs to the user's program. Beside it, in a process that
reads one line of JSON, [function, arguments], and writes one, the timer's signal is left to the system: it ends the
process whatever that does. The timer counts processor time, so a busy machine changes no score.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import IO, Any, Self

import msgspec

from howsure.errors import ResourceLimitError
from howsure.scorers.maths import judge, ready
from howsure.scorers.patterns import search

__all__ = ["FUNCTIONS", "Apart", "serve"]

#: What the other process can be asked for.
FUNCTIONS: dict[str, Callable[..., Any]] = {"search": search, "judge": judge, "ready": ready}

#: Bytes of memory that the process may take: a number with a billion digits fails instead of filling the machine.
MEMORY = 4 << 30

_BEGIN = "import sys; sys.path[:] = sys.argv[1:]; from howsure.scorers.sandbox import begin; begin()"


class Apart:
    """A process that does one thing at a time; started when it is first asked, and again after it was ended.

    Parameters
    ----------
    seconds
        Of processor time that one call may take.
    first
        Function that makes a new process ready, such as by an import that takes long: no call pays for it.
    """

    def __init__(self, seconds: float, *, first: str = "") -> None:
        self.seconds, self._first = seconds, first
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, function: str, *arguments: object) -> Any:
        """What the function returns.

        Raises
        ------
        ResourceLimitError
            When the call ended the process; the next one has a new process.
        ValueError
            When the function failed; says how.
        """
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603  our own code
                [sys.executable, "-c", _BEGIN, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            if self._first:
                self._ask(self._process, 0, self._first, ())
        return self._ask(self._process, self.seconds, function, arguments)

    def _ask(
        self, process: subprocess.Popen[bytes], seconds: float, function: str, arguments: tuple[object, ...]
    ) -> Any:
        asked, told = process.stdin, process.stdout
        assert asked is not None
        assert told is not None
        line = b""
        with contextlib.suppress(BrokenPipeError):
            asked.write(msgspec.json.encode((seconds, function, arguments)) + b"\n")
            asked.flush()
            line = told.readline()
        if not line.endswith(b"\n"):
            self.close()
            raise ResourceLimitError(f"it took more than {self.seconds:g} s, or more memory than there is")
        answer = msgspec.json.decode(line)
        if "failed" in answer:
            raise ValueError(answer["failed"])
        return answer["value"]

    def close(self) -> None:
        """End the process; a second call does nothing."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with contextlib.suppress(BrokenPipeError):
                process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(asked: IO[bytes], told: IO[bytes], timer: Callable[[float], object]) -> None:
    """Answer calls until there are no more; `timer` is set to the seconds of each, 0 is no bound, and to 0 after it."""
    for line in asked:
        seconds, name, arguments = msgspec.json.decode(line)
        answer: dict[str, Any]
        timer(seconds)
        try:
            answer = {"value": FUNCTIONS[name](*arguments)}
        except Exception as error:  # noqa: BLE001  whatever it is, the caller hears of it
            told_of = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
            answer = {"failed": " ".join(told_of.split())[:300]}
        timer(0)
        told.write(msgspec.json.encode(answer) + b"\n")
        told.flush()


def begin() -> None:  # pragma: no cover  in the other process, which is ended while it is measured
    """Be the other process."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # Whatever the program that started us does with the signal.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    serve(sys.stdin.buffer, told, lambda seconds: signal.setitimer(signal.ITIMER_PROF, seconds))
