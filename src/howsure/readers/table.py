"""A table, or a frame that somebody holds, as the cells, cubes and runs of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howsure.tables import frames, tidy

if TYPE_CHECKING:
    from howsure.stats.core.cells import Cells
    from howsure.stats.core.cube import Cube

__all__ = ["Frame", "Table"]


class Table:
    """A file, a glob of files or an address, with our column names to its columns; `generations` of each question."""

    def __init__(self, path: str | Path, columns: Mapping[str, str], generations: int | None = None) -> None:
        self.path, self.columns, self.generations = path, columns, generations
        self.told: list[str] = []  # tidy warns of itself
        self.heard = 0

    def cells(self) -> list[Cells]:
        """See `tidy.read_table`."""
        return tidy.read_table(self.path, self.columns, generations=self.generations)

    def runs(self) -> dict[str, list[Cells]]:
        """See `tidy.read_table_by_run`."""
        return tidy.read_table_by_run(self.path, self.columns, generations=self.generations)

    def cubes(self, dimensions: Sequence[str] = (), *, wide: bool = False) -> list[Cube]:
        """See `tidy.read_table_cubes`."""
        return tidy.read_table_cubes(
            self.path, self.columns, dimensions=dimensions, wide=wide, generations=self.generations
        )

    def manifest(self) -> None:
        """A table says nothing of itself."""


class Frame:
    """The same of a frame; `path` is what messages call it."""

    def __init__(
        self, frame: Any, columns: Mapping[str, str], path: str = "the frame", generations: int | None = None
    ) -> None:
        self.frame, self.columns, self.path, self.generations = frame, columns, path, generations
        self.told: list[str] = []
        self.heard = 0

    def cells(self) -> list[Cells]:
        """See `frames.read_frame`."""
        return frames.read_frame(self.frame, self.columns, name=self.path, generations=self.generations)

    def runs(self) -> dict[str, list[Cells]]:
        """See `frames.read_frame_by_run`."""
        return frames.read_frame_by_run(self.frame, self.columns, name=self.path, generations=self.generations)

    def cubes(self, dimensions: Sequence[str] = (), *, wide: bool = False) -> list[Cube]:
        """See `frames.read_frame_cubes`."""
        return frames.read_frame_cubes(
            self.frame,
            self.columns,
            dimensions=dimensions,
            wide=wide,
            name=self.path,
            generations=self.generations,
        )

    def manifest(self) -> None:
        """A frame says nothing of itself."""
