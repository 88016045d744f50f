"""Run a task of Inspect for each model of an experiment, and add the rows of its growing logs to the run folder.

The logs stay in ``inspect_logs/LABEL`` of the run folder. A run that is started again keeps their samples: Inspect
continues a log that was cut off, and adds epochs where there are more than before.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import msgspec

from howsure.errors import HowsureError, InputError
from howsure.inspect_runs.task_request import build_request, check_experiment, name_source
from howsure.inspect_runs.task_worker import TaskReply
from howsure.logs.base import ReadOptions
from howsure.logs.inspect.reader import InspectReader
from howsure.safe_text import escape_control_characters
from howsure.sample.experiment import Experiment
from howsure.sample.model_config import ModelConfig
from howsure.store import manifest
from howsure.store.manifest import Manifest, ModelRecord
from howsure.store.responses import RunFolder, iterate_rows, stream
from howsure.store.schema import COLUMNS, KEY, UNSCORED, Response

#: Folder of the logs in a run folder.
LOGS = "inspect_logs"
#: Seconds between two looks at the logs of a running worker, at least.
PERIOD = 2.0
#: Exit codes: a model could not be run, and an interrupt.
FAILED, INTERRUPTED = 2, 130
#: Rows in a transaction.
_BATCH = 500


def run_inspect_task(
    experiment: Experiment,
    folder: Path,
    *,
    retry: bool = False,
    stream: TextIO | None = None,
    lines: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Run a task of Inspect for each model, and return the exit code.

    The code is 0 if Inspect ran every sample of every model, 2 if it could not, and 130 after an interrupt.

    Parameters
    ----------
    experiment
        Whose benchmark is a task of Inspect; `generations` are the epochs.
    folder
        Run folder; created if it is missing.
    retry
        Run samples again that failed in earlier sessions.
    stream
        Where text for a person is printed; stderr by default.
    lines
        Where JSON lines for a program are printed; Inspect then prints nothing.
    clock
        Function that returns the time in seconds.

    Raises
    ------
    InputError
        When the experiment has keys that have no effect, Inspect or the task does not exist, or a key is missing.
    StoreError
        When the folder cannot be written, or belongs to another experiment.
    """
    check_experiment(experiment)
    _, scorer = name_source(experiment)
    _check_keys(experiment)
    start = clock()
    with RunFolder(folder) as run, _raise_at_signals():
        followers = [LogFollower(run, config, scorer) for config in experiment.models]
        code, notes = _run_models(experiment, followers, retry=retry, lines=lines)
        for follower in followers:
            follower.update()
            notes += follower.read_notes()
        if code == 0:
            run.compact()
        if (folder / manifest.NAME).exists():
            # What the logs of a model say counts their samples, those of earlier sessions too.
            manifest.finish(folder, warnings=notes, replaced_prefixes=[f"{one.label}: " for one in experiment.models])
    n_new, n_there = sum(one.n_new for one in followers), sum(one.n_there for one in followers)
    out = stream or sys.stderr
    for note in dict.fromkeys(notes):
        print(f"howsure: warning: {escape_control_characters(note)}", file=out)
    if lines is not None:
        end = {"event": "end", "exit_code": code, "folder": str(folder), "generations": n_new, "there": n_there}
        print(json.dumps(end), file=lines, flush=True)
    elif code == INTERRUPTED:
        print(f"howsure: interrupted; what arrived is kept in {folder}, run again to continue", file=out)
    else:
        there = f", {n_there:,} were there" if n_there else ""
        print(f"howsure: {n_new:,} generations in {clock() - start:.1f} s{there}: {folder}", file=out)
    return code


def _check_keys(experiment: Experiment) -> None:
    """Raise InputError if the key of a model is not in the environment."""
    for config in experiment.models:
        if config.key_env and not os.environ.get(config.key_env, "").strip():
            remedy = f"export {config.key_env}=..., or name another variable with key_env"
            raise InputError(f"the environment variable {config.key_env} has no key", where=config.label, remedy=remedy)


def _run_models(
    experiment: Experiment, followers: list[LogFollower], *, retry: bool, lines: TextIO | None
) -> tuple[int, list[str]]:
    """Run the models one after the other; return the exit code, and a line for each that could not be run."""
    code = 0
    notes: list[str] = []
    try:
        for config, follower in zip(experiment.models, followers, strict=True):
            follower.update()
            request = build_request(experiment, config, follower.logs, is_quiet=lines is not None, retry=retry)
            reply = _run_worker(msgspec.json.encode(request), follower, lines)
            if reply.status == "cancelled":
                return INTERRUPTED, notes
            if reply.status != "success":
                code = FAILED
                notes.append(f"{config.label}: {reply.error or 'Inspect ended the task with an error'}")
                if not follower.n_rows and config is experiment.models[0]:
                    raise InputError(notes[0])
    except KeyboardInterrupt:
        code = INTERRUPTED
    return code, notes


class LogFollower:
    """Add the samples of the logs of a model to the run folder as they arrive.

    Parameters
    ----------
    run
        The open run folder.
    config
        The model.
    scorer
        Scorer that is read; None for the first one.

    Attributes
    ----------
    logs
        Folder of the logs.
    n_rows, n_new, n_there
        Generations with a score, those of this session, and those that were there before it.
    """

    def __init__(self, run: RunFolder, config: ModelConfig, scorer: str | None) -> None:
        safe = re.sub(r"[^A-Za-z0-9._-]+", "_", config.label)[:60]
        digest = hashlib.sha256(config.label.encode()).hexdigest()[:8]
        self.logs = run.path / LOGS / f"{safe}-{digest}"
        self._run, self._config, self._reader = run, config, InspectReader()
        self._options = ReadOptions(scorer=scorer, texts=True)
        self._done: set[tuple[str, int]] = set()
        self._states: dict[Path, tuple[int, int]] = {}
        self._prompts: set[str] = set()
        self._before: set[tuple[str, int]] | None = None
        self._stored = self._read_scores()
        self._rescored: set[tuple[str, int]] = set()
        self._has_begun = self._has_choices = False

    @property
    def n_rows(self) -> int:
        """Return the number of generations with a score."""
        return len(self._done)

    @property
    def n_there(self) -> int:
        """Return the number of generations that were there before this session."""
        return len(self._before or ())

    @property
    def n_new(self) -> int:
        """Return the number of generations that this session added."""
        return len(self._done) - self.n_there

    def update(self) -> None:
        """Read what the logs have that the run folder lacks; a log that is being written is read later."""
        for path in self._list_changed():
            try:
                self._begin(path)
                self._append(path)
            except HowsureError:
                self._states.pop(path, None)  # it is being written; the last update reads it
        if self._before is None:
            self._before = set(self._done)

    def read_notes(self) -> list[str]:
        """Return what the latest log says about its data."""
        logs = sorted(self.logs.glob("*.eval"))
        notes: list[str] = []
        if logs:
            try:
                options = msgspec.structs.replace(self._options, texts=False)
                for _ in self._reader.rows(logs[-1], options, lambda note: notes.append(note.text)):
                    pass
            except HowsureError as error:
                notes.append(str(error))
        if self._rescored:
            notes.append(
                f"{len(self._rescored)} samples have another score in the log than when they were read, and the run "
                f"folder keeps the first one: howsure score {shlex.quote(str(self.logs))} reads the log"
            )
        return [f"{self._config.label}: {note}" for note in notes]

    def _read_scores(self) -> dict[tuple[str, int], float]:
        """Return the scores that the run folder has of the model, by question and generation."""
        rows = iterate_rows(stream(self._run.path, [*KEY, "score"]))
        return {
            (row.question, row.generation): row.score
            for row in rows
            if row.model == self._config.label and row.score is not None
        }

    def _list_changed(self) -> list[Path]:
        """Return the logs that have changed since they were read, the earliest first."""
        changed = []
        for path in sorted(self.logs.glob("*.eval")):
            stat = path.stat()
            state = (stat.st_size, stat.st_mtime_ns)
            if self._states.get(path) != state:
                self._states[path] = state
                changed.append(path)
        return changed

    def _begin(self, path: Path) -> None:
        """Write the manifest from the first log that can be read."""
        if self._has_begun:
            return
        info, config = self._reader.describe(path), self._config
        settings = msgspec.to_builtins(config.settings)
        record = ModelRecord(
            name=config.name,
            kind="Inspect",
            base_url=config.base_url,
            settings=settings,
            key_env=config.key_env,
            generations=config.generations,
        )
        stable = ("dataset", "location", "task", "task_version", "task_args")
        sources = {
            name: {key: source[key] for key in stable if key in source} for name, source in info.benchmarks.items()
        }
        manifest.begin(self._run.path, Manifest(benchmarks=sources, models={config.label: record}))
        self._has_begun = True

    def _append(self, path: Path) -> None:
        """Append the rows of a log that are not there yet."""
        # With several choices for each request, a generation is no epoch, and everything is read again.
        done = frozenset() if self._has_choices else frozenset(self._done)
        options = msgspec.structs.replace(self._options, superseded=done)
        rows: list[Response] = []
        for row in self._reader.rows(path, options, lambda _: None):
            if row.question not in self._prompts and row.messages:
                self._prompts.add(row.question)
                record = {"choices": list(row.choices)} if row.choices else None
                prompt = (row.benchmark, row.question, row.variant, list(row.messages), row.target or "", record)
                self._run.put_prompts([prompt])
            values = {name: getattr(row, name) for name in COLUMNS}
            rows.append(Response(**{**values, "model": self._config.label}))
            self._has_choices |= row.status == UNSCORED
            key = row.question, row.generation
            if row.score is not None:
                self._done.add(key)
                if self._stored.setdefault(key, row.score) != row.score:
                    self._rescored.add(key)
            if len(rows) >= _BATCH:
                self._run.append(rows)
                rows = []
        if rows:
            self._run.append(rows)


def _run_worker(request: bytes, follower: LogFollower, lines: TextIO | None) -> TaskReply:
    """Run a worker to its end, and follow its logs meanwhile; an interrupt is passed on, a second one kills it."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "request.json"), Path(folder, "reply.json")
        files[0].write_bytes(request)
        command = [sys.executable, "-m", "howsure.inspect_runs.task_worker", *map(str, files)]
        # Of its own session, so that Ctrl-C reaches it once: from here.
        worker = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603  # our own command
        is_interrupted = False
        pause = PERIOD
        while True:
            try:
                worker.wait(timeout=pause)
                break
            except subprocess.TimeoutExpired:
                start = time.monotonic()
                follower.update()
                pause = max(PERIOD, time.monotonic() - start)  # at most half of the time goes into reading
                if lines is not None:
                    print(json.dumps({"event": "progress", "generations": follower.n_rows}), file=lines, flush=True)
            except KeyboardInterrupt:
                if is_interrupted:
                    worker.kill()
                is_interrupted = True
                worker.send_signal(signal.SIGINT)
        follower.update()
        if is_interrupted:
            return TaskReply("cancelled")
        if not files[1].exists():
            return TaskReply("failed", f"the process of Inspect ended with code {worker.returncode}")
        return msgspec.json.decode(files[1].read_bytes(), type=TaskReply)


@contextmanager
def _raise_at_signals() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP as an interrupt while the context lasts, where this is the main thread."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        try:
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, interrupt)
        except ValueError:  # another thread
            break
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
