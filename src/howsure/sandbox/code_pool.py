"""Run the tests of a question on the code of a completion, each time in two new processes that start ahead of time.

The tester executes the tests and writes the verdict; the candidate executes the code of the completion (see
`guest_process`). Both are started while earlier jobs run, are used once, and are ended with all that they started.
"""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

from howsure.errors import ResourceLimitError
from howsure.sandbox.isolation import (
    SCRATCH_FOLDER,
    Isolation,
    ProcessLimits,
    build_command,
    choose_isolation,
    find_library_folders,
)

#: Most pairs of processes that wait for a job.
_MOST_WAITING = 4
#: Seconds in which two processes have to start.
_START_SECONDS = 60.0
#: Longest verdict, in bytes.
_LONGEST_VERDICT = 1 << 16
#: What the processes get instead of the environment of this one.
_GUEST_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "HOME": SCRATCH_FOLDER,
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}

Outcome = Literal["passed", "failed", "time limit", "memory limit", "ended"]
"""What became of a job; "ended" where the process of the code ended before the tests did."""


@dataclass(frozen=True)
class CodeJob:
    """Code and the tests that decide about it.

    Attributes
    ----------
    code
        The code under test. Nothing in it is trusted.
    names
        Names that the code has to define; the tests call those of the candidate.
    tests
        A program that raises an exception when a test fails.
    prelude
        A program that runs before the tests in their process, such as imports and helpers of the question.
    """

    code: str
    names: tuple[str, ...]
    tests: str
    prelude: str = ""


class CodeVerdict(NamedTuple):
    """What the tests say about the code."""

    passed: bool
    outcome: Outcome
    error: str = ""
    """The exception that ended the tests, or why the code could not be called."""


class _ProcessPair:
    """A candidate and a tester that have started and wait for a job."""

    def __init__(self, isolation: Isolation, limits: ProcessLimits) -> None:
        ends = socket.socketpair()
        self._processes: list[subprocess.Popen[bytes]] = []
        settings = json.dumps({"limits": limits.list_resources(isolation), "path": find_library_folders()})
        try:
            for role, end in zip(("candidate", "tester"), ends, strict=True):
                command = build_command(isolation, limits, [role, str(end.fileno()), settings])
                process = subprocess.Popen(  # noqa: S603  # our own command
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE if role == "tester" else subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(end.fileno(),),
                    # The first process of a namespace shows its environment to the others.
                    env=_GUEST_ENVIRONMENT,
                    cwd="/",
                    # Ctrl-C is for the program that waits for the verdict, or it would be scored as a failure.
                    start_new_session=True,
                )
                self._processes.append(process)
        except BaseException:
            self.end()
            raise
        finally:
            for end in ends:
                end.close()

    def judge(self, job: CodeJob, limits: ProcessLimits) -> CodeVerdict:
        """Return the verdict on a job."""
        candidate, tester = self._processes
        if self._read_line(time.monotonic() + _START_SECONDS) != {"started": True}:
            raise ResourceLimitError("the processes of the sandbox did not start")
        deadline = time.monotonic() + limits.wall_seconds
        _write_job(candidate, {"code": job.code, "names": job.names})
        _write_job(tester, {"prelude": job.prelude, "tests": job.tests, "names": job.names})
        content = self._read_line(deadline)
        if content is None:
            # A process that was ended for its processor time has used no more than that.
            return CodeVerdict(False, "time limit", f"no verdict within {limits.cpu_seconds} s of processor time")
        if "unusable" in content:
            raise ValueError(f"the tests cannot be run: {content['unusable']}")
        error = str(content.get("error", ""))
        if content.get("passed") is True:
            return CodeVerdict(True, "passed")
        if error.startswith("ended"):
            return self._explain_end(deadline, limits)
        return CodeVerdict(False, "memory limit" if "MemoryError" in error[:30] else "failed", error)

    def _explain_end(self, deadline: float, limits: ProcessLimits) -> CodeVerdict:
        """Return why the candidate ended before the tests did."""
        try:
            status = self._processes[0].wait(max(0.0, min(5.0, deadline - time.monotonic())))
        except subprocess.TimeoutExpired:
            status = 0
        # 9 and 24 are SIGKILL and SIGXCPU, as the status of the process itself or of bubblewrap. unshare says 1.
        has_used_time = deadline - time.monotonic() <= limits.wall_seconds - limits.cpu_seconds
        if status in (-9, -24, 128 + 9, 128 + 24) or (status == 1 and has_used_time):
            return CodeVerdict(False, "time limit", f"more than {limits.cpu_seconds} s of processor time")
        return CodeVerdict(False, "ended", "the process of the code ended before the tests did")

    def _read_line(self, deadline: float) -> dict[str, object] | None:
        """Return the next line of the tester; None if it ends, or says nothing until the deadline."""
        output = self._processes[1].stdout
        assert output is not None
        line = b""
        while not line.endswith(b"\n") and len(line) < _LONGEST_VERDICT:
            waiting, _, _ = select.select([output], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(output.fileno(), 1) if waiting else b""
            if not part:
                return None
            line += part
        try:
            content = json.loads(line)
        except ValueError:
            return None
        return content if isinstance(content, dict) else None

    def end(self) -> None:
        """End both processes with all that they started.

        Each is killed with its group: a child of bubblewrap that waits for it while it starts would wait for ever.
        """
        for process in self._processes:
            if process.returncode is None:  # otherwise the number may be that of another process by now
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
        for process in self._processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()


def _write_job(process: subprocess.Popen[bytes], job: dict[str, object]) -> None:
    """Send a job to a process; one that has ended shows in its verdict."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(job).encode())
    with suppress(BrokenPipeError):
        process.stdin.close()


class CodePool:
    """Processes that wait for code, for calls from several threads at a time.

    Parameters
    ----------
    limits
        What each process may use.
    isolation
        How they are isolated; None for the best way that works on this machine.
    waiting
        Number of pairs of processes that are started ahead; by default that of the processors, at most 4.

    Raises
    ------
    InputError
        At the first job, when nothing isolates code on this machine and that is not allowed.

    Examples
    --------
    >>> with CodePool() as pool:  # doctest: +SKIP
    ...     pool.judge(CodeJob("def double(x): return 2 * x", ("double",), "assert double(2) == 4")).passed
    True
    """

    def __init__(
        self, limits: ProcessLimits | None = None, *, isolation: Isolation | None = None, waiting: int | None = None
    ) -> None:
        self.limits = limits or ProcessLimits()
        self._isolation = isolation
        self._ready: queue.Queue[_ProcessPair | OSError] = queue.Queue(
            waiting or min(os.cpu_count() or 1, _MOST_WAITING)
        )
        self._lock = threading.Lock()
        self._starter: threading.Thread | None = None
        self._stopped = threading.Event()

    def judge(self, job: CodeJob) -> CodeVerdict:
        """Return the verdict on a job.

        Raises
        ------
        InputError
            When nothing isolates code on this machine and that is not allowed.
        ResourceLimitError
            When the processes could not be started.
        ValueError
            When the tests themselves cannot be run.
        """
        self._start()
        pair = self._ready.get()
        if isinstance(pair, OSError):
            raise ResourceLimitError(f"the processes of the sandbox cannot be started: {pair.strerror}")
        try:
            return pair.judge(job, self.limits)
        finally:
            pair.end()

    def prepare(self) -> Isolation:
        """Return how code is isolated.

        Raises
        ------
        InputError
            When nothing isolates code on this machine and that is not allowed.
        """
        with self._lock:
            if self._isolation is None:
                self._isolation = choose_isolation()
            return self._isolation

    def _start(self) -> None:
        """Start the thread that starts processes."""
        isolation = self.prepare()
        with self._lock:
            if self._starter is None:
                self._stopped = threading.Event()
                self._starter = threading.Thread(target=self._fill, args=(isolation, self._stopped), daemon=True)
                self._starter.start()

    def _fill(self, isolation: Isolation, stopped: threading.Event) -> None:
        """Keep the queue full of processes.

        All processes start in this thread, which lives as long as the pool: they end with the thread that started them.
        """
        while not stopped.is_set():
            pair: _ProcessPair | OSError
            try:
                pair = _ProcessPair(isolation, self.limits)
            except OSError as error:
                pair = error
            while not stopped.is_set():
                with suppress(queue.Full):
                    self._ready.put(pair, timeout=0.1)
                    break
            else:
                if isinstance(pair, _ProcessPair):
                    pair.end()

    def close(self) -> None:
        """End all processes; a later job starts others."""
        with self._lock:
            starter, self._starter = self._starter, None
            self._stopped.set()
        if starter is not None:
            starter.join()
        with suppress(queue.Empty):
            while True:
                pair = self._ready.get_nowait()
                if isinstance(pair, _ProcessPair):
                    pair.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
