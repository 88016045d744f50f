"""What became of a run."""

from __future__ import annotations

import msgspec

__all__ = ["ModelOutcome", "Outcome"]


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
