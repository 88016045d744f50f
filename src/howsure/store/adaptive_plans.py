"""`stages.json` of a run folder: which generations of each question belong to which stage of adaptive sampling.

The counts of a stage depend on the answers of earlier stages. They are written before its first request, so that a run
that was killed continues with the same plan, and a reader can weigh each stage as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path

import msgspec

from howsure.errors import StoreError
from howsure.store.atomic import replace_file

__all__ = ["NAME", "AdaptivePlan", "Plans", "StageBasis", "load_plans", "save_plan"]

NAME = "stages.json"
VERSION = 1


class StageBasis(msgspec.Struct, frozen=True, kw_only=True):
    """What a stage was computed from: the scores of earlier stages, and the budget."""

    n: int
    """Round values, over all questions."""
    total: float
    total_sq: float
    budget: int
    """Generations of the stage, of each variant."""


class AdaptivePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The stages of one model."""

    generations: int
    """Per question and variant, on average, over all stages."""
    allocations: tuple[dict[str, int], ...] = msgspec.field(name="stages")
    """Question to generations of each variant, for each stage: the pilot, then each allocation."""
    basis: tuple[StageBasis, ...] = ()
    """Of each stage after the pilot, in their order."""

    def ends(self, question: str) -> tuple[int, ...]:
        """Return the last generation of each stage: the next stage begins with the one after it.

        >>> AdaptivePlan(generations=4, allocations=({"q": 2}, {"q": 5})).ends("q")
        (2, 7)
        """
        return tuple(accumulate(stage.get(question, 0) for stage in self.allocations))


Plans = Mapping[str, Mapping[str, AdaptivePlan]]
"""Benchmark to model label to its plan."""


class _PlansFile(msgspec.Struct, kw_only=True):
    version: int = VERSION
    plans: dict[str, dict[str, AdaptivePlan]] = {}


def load_plans(folder: Path) -> Plans:
    """Read the plans of a run folder; empty where no model was sampled adaptively.

    Raises
    ------
    StoreError
        When the file cannot be read, or a newer howsure wrote it.
    """
    path = folder / NAME
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}; without it the run cannot be weighed by its stages") from error
    try:
        file = msgspec.json.decode(text, type=_PlansFile)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        remedy = "restore it from a copy: without it the run cannot be weighed by its stages"
        raise StoreError(f"{path}: not a plan of stages ({error}); {remedy}") from error
    if file.version > VERSION:
        raise StoreError(f"{path}: version {file.version}, this howsure knows {VERSION}; use a newer howsure")
    return file.plans


def save_plan(folder: Path, benchmark: str, label: str, plan: AdaptivePlan) -> None:
    """Write the plan of one model, atomically and durably, beside those of other models; for the folder's writer only.

    Raises
    ------
    StoreError
        When the folder cannot be written.
    """
    plans = {name: dict(models) for name, models in load_plans(folder).items()}
    plans.setdefault(benchmark, {})[label] = plan
    with replace_file(folder / NAME) as new:
        new.write_bytes(msgspec.json.encode(_PlansFile(plans=plans)) + b"\n")
