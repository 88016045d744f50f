"""Read and write `stages.json`, which says which generations of each question belong to which adaptive stage.

The counts of a stage depend on the answers of earlier stages. They are written before the first request of the stage,
so that a killed run continues with the same plan, and the analysis can give each stage one weight.
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
    """The numbers from which a stage was planned: the scores of earlier stages, and the budget."""

    n: int
    """Number of round values, over all questions."""
    total: float
    total_sq: float
    budget: int
    """Number of generations of the stage for each variant."""


class AdaptivePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The stages of one model."""

    generations: int
    """Average number of generations per question and variant, over all stages."""
    allocations: tuple[dict[str, int], ...] = msgspec.field(name="stages")
    """For each stage (first the pilot), maps the question to its generations of each variant."""
    basis: tuple[StageBasis, ...] = ()
    """The basis of each stage after the pilot, in order."""

    def ends(self, question: str) -> tuple[int, ...]:
        """Return the last generation of each stage; the next stage begins with the following generation.

        >>> AdaptivePlan(generations=4, allocations=({"q": 2}, {"q": 5})).ends("q")
        (2, 7)
        """
        return tuple(accumulate(stage.get(question, 0) for stage in self.allocations))


Plans = Mapping[str, Mapping[str, AdaptivePlan]]
"""Maps the benchmark and then the label of a model to its plan."""


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
        raise StoreError(f"{path}: {error.strerror}; without it the stages of the run cannot be weighted") from error
    try:
        file = msgspec.json.decode(text, type=_PlansFile)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        remedy = "restore it from a copy: without it the stages of the run cannot be weighted"
        raise StoreError(f"{path}: not a plan of stages ({error}); {remedy}") from error
    if file.version > VERSION:
        raise StoreError(f"{path}: version {file.version}, this howsure reads {VERSION}; use a newer howsure")
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
