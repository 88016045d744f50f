"""`stages.json` of a run folder: which generations of each question belong to which stage of an adaptive run.

The counts of a stage follow from the answers of the stages before it. They are written before its first request: a run
that was killed continues the very same plan, and whoever reads the folder can weigh the stages as wholes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path

import msgspec

from howsure.errors import StoreError
from howsure.store.atomic import replacing

__all__ = ["NAME", "Basis", "Plan", "Plans", "keep", "load"]

NAME = "stages.json"
VERSION = 1


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """What a stage was computed from: the scores there were, and what was to be spent."""

    n: int
    """Round values, over all questions."""
    total: float
    total_sq: float
    budget: int
    """Generations of the stage, of each variant."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The stages of one model."""

    generations: int
    """Per question and variant, on average, over all stages."""
    stages: tuple[dict[str, int], ...]
    """Question to generations, of each variant, for each stage: the pilot, then each allocation."""
    basis: tuple[Basis, ...] = ()
    """Of each stage after the pilot."""

    def ends(self, question: str) -> tuple[int, ...]:
        """The last generation of each stage: the next stage begins with the one after it.

        >>> Plan(generations=4, stages=({"q": 2}, {"q": 5})).ends("q")
        (2, 7)
        """
        return tuple(accumulate(stage.get(question, 0) for stage in self.stages))


Plans = Mapping[str, Mapping[str, Plan]]
"""Benchmark to model label to its plan."""


class _File(msgspec.Struct, kw_only=True):
    version: int = VERSION
    plans: dict[str, dict[str, Plan]] = {}


def load(folder: Path) -> Plans:
    """The plans of a run folder; none where no model was sampled in stages.

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
        file = msgspec.json.decode(text, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        remedy = "restore it from a copy: without it the run cannot be weighed by its stages"
        raise StoreError(f"{path}: not a plan of stages ({error}); {remedy}") from error
    if file.version > VERSION:
        raise StoreError(f"{path}: version {file.version}, this howsure knows {VERSION}; use a newer howsure")
    return file.plans


def keep(folder: Path, benchmark: str, label: str, plan: Plan) -> None:
    """Write the plan of one model, at once and durably, beside those of the others. Only the folder's writer may.

    Raises
    ------
    StoreError
        When the folder cannot be written.
    """
    plans = {name: dict(models) for name, models in load(folder).items()}
    plans.setdefault(benchmark, {})[label] = plan
    with replacing(folder / NAME) as new:
        new.write_bytes(msgspec.json.encode(_File(plans=plans)) + b"\n")
