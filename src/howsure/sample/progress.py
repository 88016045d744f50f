"""How a run stands, for a person who waits: a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TextIO

import msgspec

from howsure.sample.snapshot import ModelProgress, Recent, Snapshot, mean_and_half_width

__all__ = ["JsonLines", "ModelProgress", "Progress", "Snapshot", "line", "mean_and_half_width", "table"]

if TYPE_CHECKING:
    from rich.console import Group


#: The table's columns; the last one is the note.
HEADINGS = ("model", "done", "score", "failed", "per s", "left", "cost", "tokens", "in flight", "")
#: Columns that a narrow terminal does without, the first one first; "done" then stands in its short form.
DROPPED = ("in flight", "tokens", "per s", "", "done", "cost", "left", "failed", "of")
#: What stands for a column that has a shorter form.
SHORTER = {"done": "of", "of": "%"}
#: Cells of a label that stay before columns are dropped, and at all; lines of trouble that are shown.
LABEL, LEAST, TROUBLES = 20, 12, 5

Row = dict[str, str]


def _row(model: ModelProgress, seconds: float) -> Row:
    """One model under `HEADINGS`."""
    got, rate, left = model.there + model.done, model.per_second(seconds), model.left(seconds)
    if got >= model.wanted:
        share = "100%"
    else:
        # Never "100%" before the last one: rounded down.
        share = "all tried" if got + model.failed >= model.wanted else f"{math.floor(100 * got / model.wanted)}%"
    score = "" if math.isnan(model.mean) else f"{model.mean:.4f}"
    if not math.isnan(model.half_width):
        score += f" ± {model.half_width:.4f}"
    return {
        "model": model.label,
        "done": f"{got:,}/{model.wanted:,} {share}",
        "of": f"{share} of {_short(model.wanted) or 0}",
        "%": share,
        "score": score,
        "failed": f"{model.failed:,}" if model.failed else "",
        "per s": "" if not model.owed or not rate else f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}",
        "left": "" if not model.owed else "?" if math.isnan(left) else "≤ " * model.may_stop + duration(left),
        "cost": "" if not model.cost else _dollars(model.cost),
        "tokens": _short(model.tokens),
        "in flight": f"{model.in_flight}/{model.window}" if model.window and model.owed else "",
        "": model.note,
    }


def _total(snapshot: Snapshot) -> Row:
    """The row of all models together; they run side by side, so the slowest says what is left."""
    models, seconds = snapshot.models, snapshot.seconds
    priced = [model.cost for model in models if model.cost is not None]
    left = [model.left(seconds) for model in models]
    row = _row(
        ModelProgress(
            label=f"{len(models)} models",
            wanted=sum(model.wanted for model in models),
            there=sum(model.there for model in models),
            done=sum(model.done for model in models),
            failed=sum(model.failed for model in models),
            tokens=sum(model.tokens for model in models),
            rate=sum(model.per_second(seconds) for model in models if model.owed),
            cost=sum(priced) if any(priced) else None,
            is_over=not any(model.owed for model in models),
        ),
        seconds,
    )
    if any(priced) and len(priced) < len(models):
        row["cost"] = f"≥ {row['cost']}"
    if row["left"]:
        at_most = "≤ " * any(model.may_stop for model in models if model.owed)
        row["left"] = "?" if any(map(math.isnan, left)) else at_most + duration(max(left))
    return row


def _dollars(pico: int) -> str:
    from howsure.sample.prices import dollars

    return dollars(pico)


def _short(count: int) -> str:
    """A count in about three digits; nothing for 0.

    >>> _short(999), _short(12345), _short(2500000), _short(12345678901234)
    ('999', '12.3k', '2.5M', '12,346G')
    """
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:,.0f}{unit}" if count >= 1000 * size else f"{count / size:.3g}{unit}"
    return str(count or "")


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


def _plain(text: str) -> str:
    """Foreign text on one line, without what a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in text)


def line(snapshot: Snapshot) -> str:
    """The run on lines of plain text, one per model, and one for several together when it has ended.

    >>> print(line(Snapshot(seconds=10, models=(ModelProgress(label="m", wanted=100, done=50, mean=0.5),))))
    m  50/100 50%  score 0.5000  5.0 per s  10s left
    """
    rows = [(_row(model, snapshot.seconds), _plain(model.trouble)) for model in snapshot.models]
    if snapshot.final and len(rows) > 1:
        rows.append((_total(snapshot), ""))
    lines = []
    for row, trouble in rows:
        left = row["left"].replace("≤", "at most")
        parts = [
            row["model"],
            row["done"],
            row["score"] and f"score {row['score']}",
            row["failed"] and f"{row['failed']} failed",
            row["per s"] and f"{row['per s']} per s",
            left and left != "?" and f"{left} left",
            row["cost"].replace("≥", "at least"),
            row[""],
            trouble and f"({trouble})",
        ]
        lines.append("  ".join(part for part in parts if part))
    return "\n".join(lines)


def table(snapshot: Snapshot, *, width: int = 120, height: int = 40) -> Group:
    """The run as a table for a terminal of so many cells: what does not fit is left out by importance, not wrapped."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    troubles = list(dict.fromkeys((model.label, _plain(model.trouble)) for model in snapshot.models if model.trouble))
    several = len(snapshot.models) > 1
    room = max(1, height - 3 - several - min(len(troubles), TROUBLES + 1))
    # Those that still run are looked at.
    order = sorted(range(len(snapshot.models)), key=lambda i: not snapshot.models[i].owed)
    rows = [_row(snapshot.models[i], snapshot.seconds) for i in sorted(order[:room])]
    total = [_total(snapshot)] * several
    columns, label = _fitting([*rows, *total], width)
    made = Table(box=None, pad_edge=False, header_style="dim")
    for heading in columns:
        made.add_column(
            "done" if heading in SHORTER.values() else heading,
            justify="left" if heading in {"model", ""} else "right",
            no_wrap=True,
        )
    for row in [*rows, *total]:
        # A label and an error are foreign text, not markup.
        shown = (_cropped(row[heading], label) if heading == "model" else row[heading] for heading in columns)
        made.add_row(*map(Text, shown), style="dim" if total and row is total[0] else "")
    below = [f"... and {len(snapshot.models) - room} more models"] if len(snapshot.models) > room else []
    below += [f"{_cropped(name, label)}: {trouble}" for name, trouble in troubles[:TROUBLES]]
    below += [f"... and {len(troubles) - TROUBLES} more with trouble"] if len(troubles) > TROUBLES else []
    return Group(made, *(Text(text, style="yellow", no_wrap=True, overflow="ellipsis") for text in below))


def _fitting(rows: list[Row], width: int) -> tuple[list[str], int]:
    """The columns that fit, empty ones left out, and the cells that are left for labels."""
    from rich.cells import cell_len

    wide = {heading: max(cell_len(row[heading]) for row in rows) for heading in (*HEADINGS, *SHORTER.values())}
    columns = [heading for heading in HEADINGS if wide[heading] or heading == "score"]
    least = min(wide["model"], LABEL)
    for dropped in (None, *DROPPED):
        if dropped in SHORTER:
            columns[columns.index(dropped)] = SHORTER[dropped]
        elif dropped in columns:
            columns.remove(dropped)
        others = sum(
            2 + max(wide[heading], len("done" if heading in SHORTER.values() else heading))
            for heading in columns
            if heading != "model"
        )
        if others + least <= width:
            break
    return columns, max(width - others, LEAST)


def _cropped(label: str, cells: int) -> str:
    """A label without its middle where it is too long: what tells labels apart is often at the end."""
    if len(label) <= cells:
        return label
    return label[: cells // 2] + "…" + label[len(label) - (cells - cells // 2 - 1) :]


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
        self._told: dict[str, tuple[object, ...]] = {}
        self._recent = Recent()
        self._table: Any = None

    def __enter__(self) -> Self:
        if self.live:
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self.stream, force_terminal=True)
            self._table = Live(console=console, auto_refresh=False, redirect_stdout=False)
            self._table.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._table is not None:
            self._table.stop()
            self._table = None

    def __call__(self, snapshot: Snapshot) -> None:
        """Show it, unless one was shown just now."""
        snapshot = self._recent(snapshot)
        if self._table is not None:
            size = self._table.console.size
            self._table.update(table(snapshot, width=size.width, height=size.height), refresh=True)
            return
        now = self.clock()
        if snapshot.final or now >= self._next:
            self._next = now + self.every
            moved = tuple(m for m in snapshot.models if snapshot.final or self._told.get(m.label) != _what_moves(m))
            self._told = {model.label: _what_moves(model) for model in snapshot.models}
            if moved:
                print(line(msgspec.structs.replace(snapshot, models=moved)), file=self.stream, flush=True)


def _what_moves(model: ModelProgress) -> tuple[object, ...]:
    """All that is worth another line: not the rate alone."""
    return model.done, model.failed, model.there, model.mean, model.trouble, model.note, model.is_over


if TYPE_CHECKING:
    from howsure.sample.snapshot import ModelOutcome, Outcome


#: Picodollars to the dollar.
DOLLAR = 10**12


class JsonLines:
    """Writes snapshots as one JSON object per line, every `every` seconds at most; what is not known is null.

    {"event": "progress", "seconds", "final", "models": [...]} and in the end {"event": "end", "exit_code", ...}.
    Takes the place of `Progress`, as a context manager too.
    """

    def __init__(self, stream: TextIO | None = None, *, every: float = 2.0) -> None:
        self.stream, self.every = stream or sys.stdout, every
        self._next = -math.inf
        self._recent = Recent()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, snapshot: Snapshot) -> None:
        """Write it, unless one was written just now."""
        snapshot = self._recent(snapshot)
        if snapshot.final or snapshot.seconds >= self._next:
            self._next = snapshot.seconds + self.every
            models = [_told(model, snapshot.seconds) for model in snapshot.models]
            self._write(event="progress", seconds=snapshot.seconds, final=snapshot.final, models=models)

    def end(self, exit_code: int, outcome: Outcome | None = None, **more: object) -> None:
        """Write the last line: how it ended, in one word and whole.

        Parameters
        ----------
        outcome
            None where there is none: "interrupted" (exit code 130) or "error". Of one, "interrupted", "complete"
            (which includes stopping early because the answer is good enough), "stopped" (a model was given up),
            "spent" (the budget) or "incomplete" (something failed).
        more
            Further fields, such as `folder` or `error`.
        """
        word = "interrupted" if exit_code == 130 else "error"
        known: dict[str, object] = {}
        if outcome is not None:
            word = _word(outcome)
            known = {
                "seconds": outcome.seconds,
                "done": outcome.done,
                "failed": outcome.failed,
                "models": [_ended(model) for model in outcome.models],
                "verdicts": outcome.verdicts,
                "warnings": outcome.warnings,
            }
        self._write(event="end", outcome=word, exit_code=exit_code, **known, **more)

    def _write(self, **fields: object) -> None:
        print(msgspec.json.encode(fields).decode(), file=self.stream, flush=True)


def _word(outcome: Outcome) -> str:
    if outcome.is_interrupted:
        return "interrupted"
    if outcome.is_complete:
        return "complete"
    if outcome.is_stopped:
        return "stopped"
    return "spent" if any(model.spent for model in outcome.models) else "incomplete"


def _ended(model: ModelOutcome) -> dict[str, object]:
    """What became of one model, with its cost in dollars as in every other line."""
    told = msgspec.structs.asdict(model)
    return told | {"cost": None if model.cost is None else model.cost / DOLLAR}


def _told(model: ModelProgress, seconds: float) -> dict[str, object]:
    """One model for a program; NaN becomes null in JSON."""
    left = model.left(seconds)
    return {
        "label": model.label,
        "wanted": model.wanted,
        "there": model.there,
        "done": model.done,
        "failed": model.failed,
        "mean": model.mean,
        "low": model.mean - model.half_width,
        "high": model.mean + model.half_width,
        "tokens": model.tokens,
        "requests": model.requests,
        "in_flight": model.in_flight,
        "window": model.window,
        "cost": None if model.cost is None else model.cost / DOLLAR,
        "rate": model.per_second(seconds),
        "left_seconds": left,
        "may_stop": model.may_stop,
        "is_over": model.is_over,
        "note": model.note,
        "trouble": model.trouble,
    }
