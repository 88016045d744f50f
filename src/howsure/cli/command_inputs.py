"""Read the results of a command as its options specify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from howsure.errors import InputError

if TYPE_CHECKING:
    from howsure.readers.evaluations import Evaluations
    from howsure.stats.core.cells import Cells


@dataclass(frozen=True)
class CommandInputs:
    """Paths, and the options with which they are read; nothing is read before it is used.

    Attributes
    ----------
    paths
        Run folders, logs and tables.
    columns
        Columns of tables or fields of logs, by our column names.
    scorer, generations, engine, master, dimensions, wide
        As for `howsure.read`.
    exclude
        File of verdicts whose rejected questions are left out.
    """

    paths: Sequence[str]
    columns: Mapping[str, str] = field(default_factory=dict)
    scorer: str | None = None
    generations: int | None = None
    engine: str | None = None
    master: str | None = None
    exclude: Path | None = None
    dimensions: Sequence[str] = ()
    wide: bool = False

    @cached_property
    def results(self) -> Evaluations:
        """Return the results at the paths, without the questions that a review rejected."""
        from howsure.api.result_selection import open_results
        from howsure.readers.evaluations import read

        results = read(
            self.paths,
            columns=self.columns,
            scorer=self.scorer,
            generations=self.generations,
            dimensions=self.dimensions,
            wide=self.wide,
            engine=self.engine,
            master=self.master,
        )
        return open_results(results, self.exclude)

    def read_reference(self, paths: Sequence[str]) -> list[Cells]:
        """Return the cells at other paths, read with the same options but without clusters."""
        reference = CommandInputs(
            paths,
            columns={name: column for name, column in self.columns.items() if name != "cluster"},
            scorer=self.scorer,
            engine=self.engine,
            master=self.master,
            exclude=self.exclude,
        ).results.cells()
        if self.exclude is not None and self.paths:
            names = {cells.benchmark for cells in self.results.cells()}
            if other := [cells.benchmark for cells in reference if cells.benchmark not in names]:
                what = f"--exclude: the reference is of {other[0]!r}, the results are of {', '.join(sorted(names))}"
                raise InputError(what, remedy="name the benchmark alike, or leave the questions out of both")
        return reference


def parse_columns(pairs: Sequence[str]) -> dict[str, str]:
    """Return the columns of the values of --columns, NAME=COLUMN each, by name."""
    columns = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        if not equals or not column:
            raise InputError(f"--columns {pair!r}", remedy="write NAME=COLUMN, such as --columns question=task_id")
        columns[name] = column
    return columns
