"""What a plan, by rounds or by stages, needs of the lanes that it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from howsure.sample.grid import Unit
from howsure.sample.tally import Tally

__all__ = ["Entry", "Lane", "Units"]

#: The units of rounds first to last that one model still owes.
Units = Callable[[int, int], Iterator[Unit]]


class Entry(Protocol):
    """What a plan reads of a model's entry."""

    @property
    def label(self) -> str:
        """Its name in tables."""
        ...

    @property
    def generations(self) -> int:
        """Of each question under each variant."""
        ...


class Lane(Protocol):
    """What a plan needs of a lane."""

    @property
    def entry(self) -> Entry:
        """The model."""
        ...

    @property
    def tally(self) -> Tally:
        """Its scores so far, those that were there before included."""
        ...

    async def drained(self) -> None:
        """Return once all units drawn so far have their rows."""
        ...
