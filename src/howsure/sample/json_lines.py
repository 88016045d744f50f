"""How a run stands, for a program: one JSON object on each line."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Self, TextIO

import msgspec

from howsure.sample.snapshot import ModelProgress, Recent, Snapshot

if TYPE_CHECKING:
    from howsure.sample.outcome import ModelOutcome, Outcome

__all__ = ["JsonLines"]

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
