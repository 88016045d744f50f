"""How a run stands: a snapshot to text, for a person who waits."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TextIO

import msgspec
import numpy as np

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["ModelProgress", "Progress", "Snapshot", "line", "mean_and_half_width", "table"]

HEADINGS = ("model", "done", "score", "failed", "per s", "left", "")


class ModelProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far one model is."""

    label: str
    wanted: int
    """Generations in all."""
    there: int = 0
    """Of those, there before this session."""
    done: int = 0
    """Arrived in this session."""
    failed: int = 0
    """Failed for good in this session."""
    mean: float = math.nan
    """Mean of question means."""
    half_width: float = math.nan
    """Of its 95 % interval for new questions; NaN where the data cannot say."""
    trouble: str = ""
    """What is going wrong now, or why the model was stopped."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """How a run stands after so many seconds of this session."""

    seconds: float
    models: tuple[ModelProgress, ...]
    final: bool = False


def mean_and_half_width(n: list[int], total: list[float]) -> tuple[float, float]:
    """Mean of question means, and 1.96 sd / sqrt(N) of them, over the N questions with at least one score.

    Parameters
    ----------
    n, total
        Scored generations of each question, and the sum of their scores.

    >>> mean_and_half_width([2, 0, 1], [1.0, 0.0, 1.0])
    (0.75, 0.49)
    """
    counts = np.asarray(n)
    asked = counts > 0
    means = np.asarray(total)[asked] / counts[asked]
    if not len(means):
        return math.nan, math.nan
    sd = float(means.std(ddof=1)) if len(means) > 1 else math.nan
    # No variation seen: a width of 0 would claim certainty.
    return float(means.mean()), round(1.96 * sd / math.sqrt(len(means)), 12) if sd > 0 else math.nan


def _cells(model: ModelProgress, seconds: float) -> tuple[str, ...]:
    """One model's row under `HEADINGS`."""
    got = model.there + model.done
    rate = (model.done + model.failed) / seconds if seconds > 0 else 0.0
    owed = model.wanted - got - model.failed
    if model.wanted and owed:
        # Never "100%" before the last one: rounded down.
        share = f"{math.floor(100 * got / model.wanted)}%"
    else:
        share = "100%" if not model.failed else "all tried"
    score = "" if math.isnan(model.mean) else f"{model.mean:.4f}"
    if not math.isnan(model.half_width):
        score += f" ± {model.half_width:.4f}"
    left = "" if not owed else duration(owed / rate) if rate > 0 else "?"
    return (
        model.label,
        f"{got:,}/{model.wanted:,} {share}",
        score,
        f"{model.failed:,}" if model.failed else "",
        "" if not owed or not rate else f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}",
        left,
        model.trouble,
    )


def duration(seconds: float) -> str:
    """A time to wait, in two units at most.

    >>> duration(7), duration(80), duration(7260), duration(200000)
    ('7s', '1m 20s', '2h 1m', '2d 7h')
    """
    s = math.ceil(seconds)
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if s >= size:
            return f"{s // size}{unit} {s % size // part}{smaller}"
    return f"{s}s"


def line(snapshot: Snapshot) -> str:
    """The run on lines of plain text, one per model.

    >>> print(line(Snapshot(seconds=10, models=(ModelProgress(label="m", wanted=100, done=50, mean=0.5),))))
    m  50/100 50%  score 0.5000  5.0 per s  10s left
    """
    lines = []
    for model in snapshot.models:
        label, done, score, failed, rate, left, trouble = _cells(model, snapshot.seconds)
        parts = [
            label,
            done,
            score and f"score {score}",
            failed and f"{failed} failed",
            rate and f"{rate} per s",
            left and left != "?" and f"{left} left",
            trouble and f"({trouble})",
        ]
        lines.append("  ".join(part for part in parts if part))
    return "\n".join(lines)


def table(snapshot: Snapshot) -> Table:
    """The run as a table for a terminal."""
    from rich.markup import escape
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="dim")
    for heading in HEADINGS:
        made.add_column(heading, justify="left" if heading in {"model", ""} else "right", no_wrap=heading != "")
    for model in snapshot.models:
        # A label and an error are foreign text, not markup.
        made.add_row(*map(escape, _cells(model, snapshot.seconds)))
    return made


class Progress:
    """Shows snapshots: a table that stays in place on a terminal, else plain lines, every `every` seconds at most.

    Plain lines tell of the models that have moved; the last snapshot (`final`) tells of all. A context manager.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        live: bool | None = None,
        every: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty() if live is None else live
        self.every, self.clock = every, clock
        self._next = -math.inf
        self._told: dict[str, ModelProgress] = {}
        self._table: Any = None

    def __enter__(self) -> Self:
        if self.live:
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self.stream, force_terminal=True)
            self._table = Live(console=console, auto_refresh=False)
            self._table.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._table is not None:
            self._table.stop()
            self._table = None

    def __call__(self, snapshot: Snapshot) -> None:
        """Show it, unless one was shown just now."""
        if self._table is not None:
            self._table.update(table(snapshot), refresh=True)
            return
        now = self.clock()
        if snapshot.final or now >= self._next:
            self._next = now + self.every
            moved = tuple(m for m in snapshot.models if snapshot.final or self._told.get(m.label) != m)
            self._told = {model.label: model for model in snapshot.models}
            if moved:
                print(line(msgspec.structs.replace(snapshot, models=moved)), file=self.stream, flush=True)
