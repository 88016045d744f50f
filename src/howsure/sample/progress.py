"""Display the progress of a run: a table on a terminal, plain lines elsewhere, or JSON lines for a program."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, TextIO, cast

import msgspec

from howsure.errors import first_line
from howsure.sample.prices import PICO_PER_DOLLAR, format_dollars
from howsure.sample.snapshot import ModelOutcome, ModelProgress, Outcome, RecentRate, Snapshot

if TYPE_CHECKING:
    from rich.console import Group


#: The table's columns; the last one is the note.
HEADINGS = ("model", "benchmark", "done", "score", "failed", "per s", "left", "cost", "tokens", "in flight", "")
#: Columns that are omitted on a narrow terminal, in this order; after that "done" is replaced by shorter forms.
DROPPED_COLUMNS = ("in flight", "tokens", "per s", "", "done", "cost", "left", "failed", "of")
#: The shorter form that replaces a column.
SHORTER_FORMS = {"done": "of", "of": "%"}
#: Characters of a label that are shown before columns are omitted, the fewest that are ever shown, and the number of
#: failures that are displayed.
LABEL_WIDTH, MIN_LABEL_WIDTH, MOST_FAILURES = 20, 12, 5

Row = dict[str, str]


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


def _build_row(model: ModelProgress, seconds: float) -> Row:
    """Return the row of one model, by heading."""
    n_arrived, rate = model.there + model.done, model.per_second(seconds)
    left = model.seconds_left(seconds)
    if n_arrived >= model.wanted:
        share = "100%"
    else:
        # The share is rounded down, so that "100%" means that all generations have arrived.
        share = (
            "all tried"
            if n_arrived + model.failed >= model.wanted
            else f"{math.floor(100 * n_arrived / model.wanted)}%"
        )
    score = "" if math.isnan(model.mean) else f"{model.mean:.4f}"
    if not math.isnan(model.low):
        score += f" ± {(model.high - model.low) / 2:.4f}"
    return {
        "model": model.label,
        "benchmark": model.benchmark,
        "done": f"{n_arrived:,}/{model.wanted:,} {share}",
        "of": f"{share} of {_abbreviate(model.wanted) or 0}",
        "%": share,
        "score": score,
        "failed": f"{model.failed:,}" if model.failed else "",
        "per s": "" if not model.missing or not rate else f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}",
        "left": "" if not model.missing else "?" if math.isnan(left) else "≤ " * model.may_stop + format_duration(left),
        "cost": "" if not model.cost else format_dollars(model.cost),
        "tokens": _abbreviate(model.tokens),
        "in flight": f"{model.in_flight}/{model.window}" if model.window and model.missing else "",
        "": model.note,
    }


def _build_total(snapshot: Snapshot) -> Row:
    """Return the row of all models together; the remaining time is that of the slowest."""
    models, seconds = snapshot.models, snapshot.seconds
    priced = [model.cost for model in models if model.cost is not None]
    left = [model.seconds_left(seconds) for model in models]
    row = _build_row(
        ModelProgress(
            label=_count_models(models),
            wanted=sum(model.wanted for model in models),
            there=sum(model.there for model in models),
            done=sum(model.done for model in models),
            failed=sum(model.failed for model in models),
            tokens=sum(model.tokens for model in models),
            rate=sum(model.per_second(seconds) for model in models if model.missing),
            cost=sum(priced) if any(priced) else None,
            is_over=not any(model.missing for model in models),
        ),
        seconds,
    )
    if any(priced) and len(priced) < len(models):
        row["cost"] = f"≥ {row['cost']}"
    if row["left"]:
        at_most = "≤ " * any(model.may_stop for model in models if model.missing)
        row["left"] = "?" if any(map(math.isnan, left)) else at_most + format_duration(max(left))
    return row


def _count_models(models: Sequence[ModelProgress]) -> str:
    """Return the numbers of models and benchmarks."""
    n_models, n_benchmarks = (len(set(names)) for names in zip(*((m.label, m.benchmark) for m in models), strict=True))
    name = f"{n_models} model{'s' * (n_models > 1)}"
    return name if n_benchmarks == 1 else f"{name}, {n_benchmarks} benchmarks"


def _abbreviate(count: int) -> str:
    """Return a count in about three digits; "" for 0.

    >>> _abbreviate(999), _abbreviate(12345), _abbreviate(2500000), _abbreviate(12345678901234)
    ('999', '12.3k', '2.5M', '12,346G')
    """
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:,.0f}{unit}" if count >= 1000 * size else f"{count / size:.3g}{unit}"
    return str(count or "")


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

    >>> print(format_lines(Snapshot(seconds=10, models=(ModelProgress(label="m", wanted=100, done=50, mean=0.5),))))
    m  50/100 50%  score 0.5000  5.0 per s  10s left
    """
    rows = [(_build_row(model, snapshot.seconds), _clean(model.trouble)) for model in snapshot.models]
    if snapshot.final and len(rows) > 1:
        rows.append((_build_total(snapshot), ""))
    lines = []
    for row, trouble in rows:
        left = row["left"].replace("≤", "at most")
        parts = [
            row["model"],
            row["benchmark"],
            row["done"],
            row["score"] and f"score {row['score']}" + " (new questions, 95 %)" * ("±" in row["score"]),
            row["failed"] and f"{row['failed']} failed",
            row["per s"] and f"{row['per s']} per s",
            left and left != "?" and f"{left} left",
            row["cost"].replace("≥", "at least"),
            row[""],
            trouble and f"({trouble})",
        ]
        lines.append("  ".join(part for part in parts if part))
    return "\n".join(lines)


def build_table(snapshot: Snapshot, *, width: int = 120, height: int = 40) -> Group:
    """Return a table for a terminal of this size; less important columns and rows are omitted if they do not fit."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    troubles = list(dict.fromkeys((model.label, _clean(model.trouble)) for model in snapshot.models if model.trouble))
    several = len(snapshot.models) > 1
    n_rows = max(1, height - 3 - several - min(len(troubles), MOST_FAILURES + 1))
    # Models that still run come first.
    order = sorted(range(len(snapshot.models)), key=lambda i: not snapshot.models[i].missing)
    rows = [_build_row(snapshot.models[i], snapshot.seconds) for i in sorted(order[:n_rows])]
    for row in rows:
        row["benchmark"] = _shorten_label(row["benchmark"], LABEL_WIDTH)
    total = [_build_total(snapshot)] * several
    columns, label = _fit_columns([*rows, *total], width)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in columns:
        table.add_column(
            "done" if heading in SHORTER_FORMS.values() else heading,
            justify="left" if heading in {"model", "benchmark", ""} else "right",
            no_wrap=True,
        )
    for row in [*rows, *total]:
        # Cells are `Text` objects, because a label or an error may contain characters that rich reads as markup.
        cells = (_shorten_label(row[heading], label) if heading == "model" else row[heading] for heading in columns)
        table.add_row(*map(Text, cells), style="dim" if total and row is total[0] else "")
    below = [f"... and {len(snapshot.models) - n_rows} more models"] if len(snapshot.models) > n_rows else []
    below += [f"{_shorten_label(name, label)}: {trouble}" for name, trouble in troubles[:MOST_FAILURES]]
    below += [f"... and {len(troubles) - MOST_FAILURES} more with trouble"] if len(troubles) > MOST_FAILURES else []
    return Group(table, *(Text(text, style="yellow", no_wrap=True, overflow="ellipsis") for text in below))


def _fit_columns(rows: list[Row], width: int) -> tuple[list[str], int]:
    """Return the columns that fit, without empty ones, and the characters that remain for labels."""
    from rich.cells import cell_len

    widths = {heading: max(cell_len(row[heading]) for row in rows) for heading in (*HEADINGS, *SHORTER_FORMS.values())}
    columns = [heading for heading in HEADINGS if widths[heading] or heading == "score"]
    least = min(widths["model"], LABEL_WIDTH)
    for dropped in (None, *DROPPED_COLUMNS):
        if dropped in SHORTER_FORMS:
            columns[columns.index(dropped)] = SHORTER_FORMS[dropped]
        elif dropped in columns:
            columns.remove(dropped)
        others = sum(
            2 + max(widths[heading], len("done" if heading in SHORTER_FORMS.values() else heading))
            for heading in columns
            if heading != "model"
        )
        if others + least <= width:
            break
    return columns, max(width - others, MIN_LABEL_WIDTH)


def _shorten_label(label: str, cells: int) -> str:
    """Return a label; a long one loses its middle part, because labels often differ at the end."""
    if len(label) <= cells:
        return label
    return label[: cells // 2] + "…" + label[len(label) - (cells - cells // 2 - 1) :]


class Progress:
    """Display snapshots: a table on a terminal, else plain lines, at most once in `every` seconds.

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
        self._table: Any = None

    def __enter__(self) -> Self:
        if self.live:
            from rich.console import Console
            from rich.live import Live

            console = Console(file=cast("TextIO", self.stream), force_terminal=True)
            self._table = Live(console=console, auto_refresh=False, redirect_stdout=False)
            self._table.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._table is not None:
            self._table.stop()
            self._table = None

    def __call__(self, snapshot: Snapshot) -> None:
        """Display a snapshot, unless the last one was displayed just now."""
        snapshot = self._recent_rate.add_rates(snapshot)
        if self._table is not None:
            size = self._table.console.size
            self._table.update(build_table(snapshot, width=size.width, height=size.height), refresh=True)
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


def _state(model: ModelProgress) -> tuple[object, ...]:
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
            models = [_encode_progress(model, snapshot.seconds) for model in snapshot.models]
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
                "models": [_encode_outcome(model) for model in outcome.models],
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


def _encode_outcome(model: ModelOutcome) -> dict[str, object]:
    """Return how one model ended as JSON values, with its cost in dollars."""
    fields = dict(msgspec.to_builtins(model)) | {"cost": None if model.cost is None else model.cost / PICO_PER_DOLLAR}
    return {name: value for name, value in fields.items() if name != "benchmark" or value}


def _encode_progress(model: ModelProgress, seconds: float) -> dict[str, object]:
    """Return one model as JSON values; NaN becomes null."""
    left = model.seconds_left(seconds)
    return {
        "label": model.label,
        **({"benchmark": model.benchmark} if model.benchmark else {}),
        "wanted": model.wanted,
        "there": model.there,
        "done": model.done,
        "failed": model.failed,
        "mean": model.mean,
        "low": model.low,
        "high": model.high,
        "tokens": model.tokens,
        "requests": model.requests,
        "in_flight": model.in_flight,
        "window": model.window,
        "cost": None if model.cost is None else model.cost / PICO_PER_DOLLAR,
        "rate": model.per_second(seconds),
        "left_seconds": left,
        "may_stop": model.may_stop,
        "is_over": model.is_over,
        "note": model.note,
        "trouble": model.trouble,
    }
