"""How far the models of a run are: what the sampler hands to those who show it."""

from __future__ import annotations

import math
from collections import deque

import msgspec
import numpy as np

__all__ = ["ModelOutcome", "ModelProgress", "Outcome", "Recent", "Snapshot", "mean_and_half_width"]

#: Seconds that the rate is taken over.
WINDOW = 30.0


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
    tokens: int = 0
    """Of prompts and completions in this session."""
    cost: int | None = None
    """Picodollars of this session; None where the price is unknown."""
    requests: int = 0
    """Requests answered or failed in this session."""
    in_flight: int = 0
    """Requests without an answer yet."""
    window: int = 0
    """Requests in flight that are allowed now."""
    note: str = ""
    """Where it is, such as "round 6"."""
    may_stop: bool = False
    """Whether it may be done before all that is wanted is there: `wanted` is then the most."""
    is_over: bool = False
    """Whether it asks for nothing more: all is tried, it is good enough, or it was given up."""
    rate: float = math.nan
    """Generations per second of late, see `Recent`; NaN stands for the average of the session."""

    @property
    def owed(self) -> int:
        """Generations that have neither arrived nor failed; 0 where no more are asked for."""
        return 0 if self.is_over else self.wanted - self.there - self.done - self.failed

    def per_second(self, seconds: float) -> float:
        """Generations per second of late, or else on average after so many seconds; 0 before any time has passed."""
        if not math.isnan(self.rate):
            return self.rate
        return (self.done + self.failed) / seconds if seconds > 0 else 0.0

    def left(self, seconds: float) -> float:
        """Seconds until nothing is owed, NaN where it does not move."""
        rate = self.per_second(seconds)
        return 0.0 if not self.owed else self.owed / rate if rate > 0 else math.nan


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """How a run stands after so many seconds of this session."""

    seconds: float
    models: tuple[ModelProgress, ...]
    final: bool = False


class Recent:
    """Gives snapshots their rates: of the last 30 s, because a slow start or a pause is not how fast it goes now."""

    def __init__(self, window: float = WINDOW) -> None:
        self.window = window
        self._past: deque[tuple[float, dict[str, int]]] = deque([(0.0, {})])

    def __call__(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with `rate` of each model; the last one has the average of the session."""
        counts = {model.label: model.done + model.failed for model in snapshot.models}
        while len(self._past) > 1 and self._past[1][0] <= snapshot.seconds - self.window:
            self._past.popleft()
        then, before = (0.0, {}) if snapshot.final else self._past[0]
        passed = snapshot.seconds - then
        # One a second is kept: the window stays small however often one looks.
        if snapshot.seconds >= self._past[-1][0] + 1:
            self._past.append((snapshot.seconds, counts))
        if passed <= 0:
            return snapshot
        rated = (
            msgspec.structs.replace(model, rate=(counts[model.label] - before.get(model.label, 0)) / passed)
            for model in snapshot.models
        )
        return msgspec.structs.replace(snapshot, models=tuple(rated))


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


class ModelOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one model: `wanted` generations, `there` before, `done` and `failed` in this session."""

    label: str
    wanted: int
    there: int
    """Of these `lost` had failed, and were not tried again."""
    done: int
    failed: int
    lost: int = 0
    stopped: str | None = None
    """Why it was given up, or None. What it still owes has no rows; running again continues."""
    spent: str | None = None
    """Which bound of the budget ended it, or None."""
    is_enough: bool = False
    """Whether it was stopped early because its answer is good enough."""
    tokens: int = 0
    saved_tokens: int = 0
    """Prompt tokens that were not billed since several generations came with one request."""
    cost: int | None = None
    """Picodollars of this session; None where the price is unknown."""

    @property
    def is_complete(self) -> bool:
        """Whether every generation that is wanted has arrived, now or earlier."""
        return self.is_enough or self.there - self.lost + self.done == self.wanted


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a run."""

    models: tuple[ModelOutcome, ...]
    verdicts: tuple[str, ...] = ()
    """Where and why models were stopped early, or not."""
    warnings: tuple[str, ...] = ()
    """What the numbers should be read with."""
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
