"""Display the progress of a run: bars on a terminal, plain lines elsewhere, or JSON lines for a program."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any, Self, TextIO, cast

import msgspec

from howsure.errors import first_line
from howsure.sample.prices import PICO_PER_DOLLAR, format_dollars
from howsure.sample.snapshot import ModelState, Outcome, RecentRate, Snapshot

#: What a plain line says of the half-width; bars have no room for it.
NEW_QUESTIONS = " (new questions, 95 %)"


class LastingStream:
    """Write to a stream until nobody reads it, and drop what comes later: a run does not end with its reader.

    Parameters
    ----------
    stream
        The stream; None for one that was closed before the program started.

    Attributes
    ----------
    failure
        Why the stream cannot be written any more; empty while it can.

    Examples
    --------
    >>> import io
    >>> closed = io.StringIO()
    >>> closed.close()
    >>> stream = LastingStream(closed)
    >>> print("a line", file=stream)
    >>> stream.failure
    'it is closed'
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.failure = "" if stream is not None else "it is closed"

    def write(self, text: str) -> int:
        """Write a text; return its length also if it is dropped."""
        safe = text.encode(self.encoding, "backslashreplace").decode(self.encoding)
        self._try(lambda stream: stream.write(safe))
        return len(text)

    def flush(self) -> None:
        """Flush what was written."""
        self._try(lambda stream: stream.flush())

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream is not None and not self.failure and self._stream.isatty()

    @property
    def encoding(self) -> str:
        """Encoding of the stream."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def _try(self, call: Callable[[TextIO], object]) -> None:
        """Call a function of the stream, and note if it fails."""
        if self._stream is None or self.failure:
            return
        try:
            call(self._stream)
        except ValueError:
            self.failure = "it is closed"
        except OSError as error:
            self.failure = first_line(error.strerror or str(error))


def _describe(model: ModelState, seconds: float) -> str:
    """Return what is shown beside the label of a model."""
    n_arrived, rate, left = model.there + model.done, model.per_second(seconds), model.seconds_left(seconds)
    # The share is rounded down, so that "100%" means that all generations have arrived.
    share = f"{math.floor(100 * n_arrived / model.wanted)}%" if model.wanted else "100%"
    if n_arrived < model.wanted <= n_arrived + model.failed:
        share = "all tried"
    interval = "" if math.isnan(model.low) else f" ± {(model.high - model.low) / 2:.4f}{NEW_QUESTIONS}"
    parts = [
        f"{n_arrived:,}/{model.wanted:,} {share}",
        "" if math.isnan(model.mean) else f"score {model.mean:.4f}{interval}",
        f"{model.failed:,} failed" if model.failed else "",
        f"{rate:,.0f} per s" if rate >= 10 else f"{rate:.1f} per s" if rate else "",
        "" if math.isnan(left) else f"{'at most ' * model.may_stop}{format_duration(left)} left",
        format_dollars(model.cost) if model.cost else "",
        _clean(model.note),
        f"({_clean(model.trouble)})" if model.trouble else "",
    ]
    if not model.missing:
        parts[3] = parts[4] = ""
    return "  ".join(part for part in parts if part)


def _sum_up(snapshot: Snapshot) -> str:
    """Return the line of all models together; the remaining time is that of the slowest."""
    models, seconds = snapshot.models, snapshot.seconds
    names = [
        len({name for name in each if name}) for each in ([m.label for m in models], [m.benchmark for m in models])
    ]
    label = f"{names[0]} model{'s' * (names[0] > 1)}" + (f", {names[1]} benchmarks" if names[1] > 1 else "")
    arrived, wanted = sum(m.there + m.done for m in models), sum(m.wanted for m in models)
    failed, costs = sum(m.failed for m in models), [m.cost for m in models if m.cost is not None]
    left = max((m.seconds_left(seconds) for m in models), default=0.0)
    at_least = "at least " * (len(costs) < len(models))
    parts = [
        label,
        f"{arrived:,}/{wanted:,} {math.floor(100 * arrived / max(wanted, 1))}%",
        f"{failed:,} failed" if failed else "",
        f"at most {format_duration(left)} left" if left > 0 else "",
        f"{at_least}{format_dollars(sum(costs))}" if any(costs) else "",
    ]
    return "  ".join(part for part in parts if part)


def format_duration(seconds: float) -> str:
    """Return a time in at most two units.

    >>> format_duration(7), format_duration(80), format_duration(7260), format_duration(200000)
    ('7s', '1m 20s', '2h 1m', '2d 7h')
    """
    s = math.ceil(seconds)
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if s >= size:
            return f"{s // size}{unit} {s % size // part}{smaller}"
    return f"{s}s"


def _clean(text: str) -> str:
    """Return text of an endpoint on one line, without control characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def format_lines(snapshot: Snapshot) -> str:
    """Return lines of plain text, one per model, and at the end one for several models together.

    >>> print(format_lines(Snapshot(seconds=10, models=(ModelState(label="m", wanted=100, done=50, mean=0.5),))))
    m  50/100 50%  score 0.5000  5.0 per s  10s left
    """
    lines = [
        "  ".join(part for part in (model.label, model.benchmark, _describe(model, snapshot.seconds)) if part)
        for model in snapshot.models
    ]
    return "\n".join([*lines, _sum_up(snapshot)] if snapshot.final and len(lines) > 1 else lines)


class Progress:
    """Display snapshots: bars on a terminal, else plain lines, at most once in `every` seconds.

    Plain lines show the models that have changed; those of the last snapshot (`final`) show all models, unless these
    are the lines above. The object is a context manager.
    """

    def __init__(
        self,
        stream: TextIO | LastingStream | None = None,
        *,
        live: bool | None = None,
        every: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stream = stream if isinstance(stream, LastingStream) else LastingStream(stream or sys.stderr)
        self.live = self.stream.isatty() if live is None else live
        self.every, self.clock = every, clock
        self._next = -math.inf
        self._last_states: dict[tuple[str, str], tuple[object, ...]] = {}
        self._last_lines: list[str] = []
        self._recent_rate = RecentRate()
        self._bars: Any = None
        self._tasks: dict[tuple[str, str], Any] = {}

    def __enter__(self) -> Self:
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bars
            from rich.table import Column

            # Labels and errors may contain characters that rich reads as markup.
            one_line: Any = {"no_wrap": True, "overflow": "ellipsis"}
            label = TextColumn("{task.description}", markup=False, table_column=Column(**one_line))
            text = TextColumn("{task.fields[text]}", markup=False, table_column=Column(**one_line, ratio=1))
            console = Console(file=cast("TextIO", self.stream), force_terminal=True)
            columns = label, BarColumn(10), text
            self._bars = Bars(*columns, console=console, auto_refresh=False, redirect_stdout=False, expand=True)
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def __call__(self, snapshot: Snapshot) -> None:
        """Display a snapshot, unless the last one was displayed just now."""
        snapshot = self._recent_rate.add_rates(snapshot)
        if self._bars is not None:
            for model in snapshot.models:
                key = model.label, model.benchmark
                if key not in self._tasks:
                    self._tasks[key] = self._bars.add_task("  ".join(filter(None, key)), text="")
                text = _describe(model, snapshot.seconds).replace(NEW_QUESTIONS, "")
                n_done = model.there + model.done
                self._bars.update(self._tasks[key], total=model.wanted, completed=n_done, text=text)
            self._bars.refresh()
            return
        now = self.clock()
        if snapshot.final or now >= self._next:
            self._next = now + self.every
            states = {(model.benchmark, model.label): _state(model) for model in snapshot.models}
            before, self._last_states = self._last_states, states
            changed = tuple(
                model
                for model, (name, state) in zip(snapshot.models, states.items(), strict=True)
                if snapshot.final or before.get(name) != state
            )
            if not changed:
                return
            lines = format_lines(msgspec.structs.replace(snapshot, models=changed)).splitlines()
            n_same = len(self._last_lines) if lines[: len(self._last_lines)] == self._last_lines else 0
            self._last_lines = lines
            for line in lines[n_same:]:
                print(line, file=self.stream, flush=True)


def _state(model: ModelState) -> tuple[object, ...]:
    """Return the values whose change causes a new line; the rate is not one of them."""
    return model.done, model.failed, model.there, model.mean, model.trouble, model.note, model.is_over


class JsonLines:
    """Write snapshots as one JSON object per line, at most once in `every` seconds; unknown values are null.

    {"event": "progress", "seconds", "final", "models": [...]} and in the end {"event": "end", "exit_code", ...}.
    It has the methods of `Progress`, including those of a context manager.
    """

    def __init__(self, stream: TextIO | None = None, *, every: float = 2.0) -> None:
        self.stream, self.every = LastingStream(stream or sys.stdout), every
        self._next = -math.inf
        self._recent_rate = RecentRate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, snapshot: Snapshot) -> None:
        """Write a snapshot, unless the last one was written just now."""
        snapshot = self._recent_rate.add_rates(snapshot)
        if snapshot.final or snapshot.seconds >= self._next:
            self._next = snapshot.seconds + self.every
            models = [_encode_model(model, snapshot.seconds) for model in snapshot.models]
            self._write(event="progress", seconds=snapshot.seconds, final=snapshot.final, models=models)

    def end(self, exit_code: int, outcome: Outcome | None = None, **more: object) -> None:
        """Write the last line, which says how the run ended.

        Parameters
        ----------
        outcome
            None if the run raised an exception. The line then says "interrupted" (exit code 130) or "error";
            otherwise "interrupted", "complete" (which includes stopping early), "stopped" (a model was given up),
            "spent" (the budget) or "incomplete" (something failed).
        more
            Further fields, such as `folder` or `error`.
        """
        word = "interrupted" if exit_code == 130 else "error"
        details: dict[str, object] = {}
        if outcome is not None:
            word = _classify(outcome)
            details = {
                "seconds": outcome.seconds,
                "done": outcome.done,
                "failed": outcome.failed,
                "models": [_encode_model(model, outcome.seconds) for model in outcome.models],
                "verdicts": outcome.verdicts,
                "warnings": outcome.warnings,
            }
        self._write(event="end", outcome=word, exit_code=exit_code, **details, **more)

    def _write(self, **fields: object) -> None:
        print(msgspec.json.encode(fields).decode(), file=self.stream, flush=True)


def _classify(outcome: Outcome) -> str:
    """Return how a run ended, in one word."""
    if outcome.is_interrupted:
        return "interrupted"
    if outcome.is_complete:
        return "complete"
    if outcome.is_stopped:
        return "stopped"
    return "spent" if any(model.spent for model in outcome.models) else "incomplete"


def _encode_model(model: ModelState, seconds: float) -> dict[str, object]:
    """Return the state of one model as JSON values, with its cost in dollars; NaN becomes null."""
    fields: dict[str, object] = msgspec.to_builtins(model)
    fields |= {
        "cost": None if model.cost is None else model.cost / PICO_PER_DOLLAR,
        "rate": model.per_second(seconds),
        "left_seconds": model.seconds_left(seconds),
    }
    return {name: value for name, value in fields.items() if name != "benchmark" or value}
