"""The state of a run while it samples (`Snapshot`) and when it has ended (`Outcome`)."""

from __future__ import annotations

import math
from collections import deque

import msgspec

__all__ = ["ModelOutcome", "ModelProgress", "Outcome", "RecentRate", "Snapshot"]

#: Seconds over which the rate is measured.
WINDOW = 30.0


class ModelProgress(msgspec.Struct, frozen=True, kw_only=True):
    """What one model has sampled so far."""

    label: str
    wanted: int
    """Generations in all."""
    there: int = 0
    """Of those, the ones of earlier sessions."""
    done: int = 0
    """Generations that arrived in this session."""
    failed: int = 0
    """Generations that failed for good in this session."""
    mean: float = math.nan
    """Mean of question means."""
    low: float = math.nan
    high: float = math.nan
    """Limits of its 95 % interval for new questions, as `howsure score` prints it; NaN where it does not exist."""
    trouble: str = ""
    """The current failure, or why the model was given up."""
    tokens: int = 0
    """Tokens of prompts and completions in this session."""
    cost: int | None = None
    """Picodollars of this session; None where the price is unknown."""
    requests: int = 0
    """Requests answered or failed in this session."""
    in_flight: int = 0
    """Requests without an answer yet."""
    window: int = 0
    """Requests in flight that are allowed now."""
    note: str = ""
    """A remark, such as "round 6"."""
    may_stop: bool = False
    """Whether it may stop early: `wanted` is then the most."""
    is_over: bool = False
    """Whether it sends no more requests: all are done, it stopped early, or it was given up."""
    rate: float = math.nan
    """Recent generations per second, see `RecentRate`; NaN for the average of the session."""

    @property
    def missing(self) -> int:
        """Generations that have neither arrived nor failed; 0 once no more are requested."""
        return 0 if self.is_over else self.wanted - self.there - self.done - self.failed

    def per_second(self, seconds: float) -> float:
        """Return the recent generations per second, or else the average after so many seconds; 0 at the start."""
        if not math.isnan(self.rate):
            return self.rate
        return (self.done + self.failed) / seconds if seconds > 0 else 0.0

    def seconds_left(self, seconds: float) -> float:
        """Return the seconds until nothing is missing; NaN if nothing arrives."""
        rate = self.per_second(seconds)
        return 0.0 if not self.missing else self.missing / rate if rate > 0 else math.nan


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a run after so many seconds of this session."""

    seconds: float
    models: tuple[ModelProgress, ...]
    final: bool = False


class RecentRate:
    """Adds to snapshots the rate of the last 30 s, so that a slow start or a pause does not distort it."""

    def __init__(self, window: float = WINDOW) -> None:
        self.window = window
        self._past: deque[tuple[float, dict[str, int]]] = deque([(0.0, {})])

    def add_rates(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the `rate` of each model; the last one has the average of the session."""
        counts = {model.label: model.done + model.failed for model in snapshot.models}
        while len(self._past) > 1 and self._past[1][0] <= snapshot.seconds - self.window:
            self._past.popleft()
        then, before = (0.0, {}) if snapshot.final else self._past[0]
        elapsed = snapshot.seconds - then
        # Keep one per second, so that the list stays small.
        if snapshot.seconds >= self._past[-1][0] + 1:
            self._past.append((snapshot.seconds, counts))
        if elapsed <= 0:
            return snapshot
        models = (
            msgspec.structs.replace(model, rate=(counts[model.label] - before.get(model.label, 0)) / elapsed)
            for model in snapshot.models
        )
        return msgspec.structs.replace(snapshot, models=tuple(models))


class ModelOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How one model ended: `wanted` generations, `there` before, `done` and `failed` in this session."""

    label: str
    wanted: int
    there: int
    """Of these, `lost` had failed and were not tried again."""
    done: int
    failed: int
    lost: int = 0
    stopped: str | None = None
    """Why it was given up, or None. Missing generations have no rows; running again continues."""
    spent: str | None = None
    """Which limit of the budget ended it, or None."""
    is_stopped_early: bool = msgspec.field(default=False, name="is_enough")
    """Whether it was stopped early because its interval is narrow enough."""
    tokens: int = 0
    saved_tokens: int = 0
    """Prompt tokens that were not billed because several generations came with one request."""
    cost: int | None = None
    """Picodollars of this session; None where the price is unknown."""

    @property
    def is_complete(self) -> bool:
        """Whether every generation that is wanted has arrived, now or earlier."""
        return self.is_stopped_early or self.there - self.lost + self.done == self.wanted


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    models: tuple[ModelOutcome, ...]
    verdicts: tuple[str, ...] = ()
    """Where and why models were stopped early, or not."""
    warnings: tuple[str, ...] = ()
    """Sentences that a reader of the scores should know."""
    seconds: float = 0.0
    is_interrupted: bool = False

    @property
    def done(self) -> int:
        """Generations that arrived in this session."""
        return sum(model.done for model in self.models)

    @property
    def failed(self) -> int:
        """Generations that failed for good in this session."""
        return sum(model.failed for model in self.models)

    @property
    def is_complete(self) -> bool:
        """Whether every wanted generation has arrived, now or earlier."""
        return all(model.is_complete for model in self.models)

    @property
    def is_stopped(self) -> bool:
        """Whether a model was given up."""
        return any(model.stopped for model in self.models)

    @property
    def exit_code(self) -> int:
        """0 when every model did what it could within its budget, 2 when one was given up, 130 when interrupted."""
        return 130 if self.is_interrupted else 2 if self.is_stopped else 0
