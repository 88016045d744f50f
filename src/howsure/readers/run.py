"""A run folder as the cells, cubes and runs of it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from howsure.errors import InputError, StoreError
from howsure.readers import cubes, together
from howsure.store import adaptive_plans, manifest, responses, scores
from howsure.store.lookup import clusters
from howsure.tables import grouping, rows_to_cells

if TYPE_CHECKING:
    import pyarrow as pa

    from howsure.stats.core.cells import Cells
    from howsure.stats.core.cube import Cube

__all__ = ["Run"]

_COLUMNS = ("benchmark", "model", "question", "variant", "generation", "score", "answer")
#: What the column of the clusters that a run folder keeps is called.
_CLUSTER = "cluster"
#: Models that were stopped early of which so many are told in full.
SHOWN = 3


class Run:
    """One run folder.

    Attributes
    ----------
    path
        The folder.
    columns
        Of our names only `cluster` means something here: `cluster=cluster` asks for the clusters that the folder keeps,
        which are used without being asked for too.
    scorer
        Whose scores are read; None is those that the run was made with.
    generations
        Only the first so many of each question are read; None is all.
    before
        Run folders that are read before this one: generations that are copies of theirs are left out.
    told, heard
        What the numbers should be read with, a line each, once they have been read; and how many were passed on.
    """

    def __init__(
        self, path: Path, *, columns: Mapping[str, str], scorer: str | None, generations: int | None = None
    ) -> None:
        self.path, self.columns, self.scorer, self.generations = path, columns, scorer, generations
        self.plans = adaptive_plans.load(path)
        self.told: list[str] = self._kept()
        self.before: Sequence[Run] = ()
        self.heard = 0

    def cells(self) -> list[Cells]:
        """See `store.tables.cells`."""
        if self.plans:
            self._tell_stages("each stage is weighed as a whole, and n is the effective number of generations")
        rows = self.rows()
        return [] if self._is_copy(rows) else rows_to_cells.cells(rows, where=str(self.path), plans=self.plans)

    def runs(self) -> dict[str, list[Cells]]:
        """Each generation is a run."""
        if self.plans:
            self._tell_stages("only generations that every question has are runs; the others are left out")
        rows = self.rows()
        return {} if self._is_copy(rows) else rows_to_cells.cells_by_run(rows, where=str(self.path), plans=self.plans)

    def cubes(self, dimensions: Sequence[str] = (), *, wide: bool = False) -> list[Cube]:
        """Cells of each prompt variant, with what the manifest says of them."""
        del wide  # of tables only
        if self.plans:
            self._tell_stages("each stage is weighed as a whole")
        rows = self.rows()
        if self._is_copy(rows):
            return []
        return cubes.described(rows_to_cells.cubes(rows, where=str(self.path), plans=self.plans), self.path, dimensions)

    def manifest(self) -> dict[str, object] | None:
        """What the folder says of itself; one that was killed at its start says nothing."""
        import msgspec

        if not (self.path / manifest.NAME).is_file():
            return None
        return dict(msgspec.to_builtins(manifest.load(self.path)))

    @functools.cached_property
    def marks(self) -> pa.Array:
        """What tells its generations from others, each once."""
        return together.marks(self.path)

    def rows(self) -> pa.Table:
        """Rows that were scored or failed; completions that nobody scored are neither, and are told."""
        from pyarrow import compute

        names = [*_COLUMNS, "status"]
        table = self._once(self._stream([*names, *together.MARKS] if self.before else names).read_all())
        unscored = compute.equal(table["status"], scores.UNSCORED)
        if number := compute.sum(unscored).as_py():
            table = table.filter(compute.invert(unscored))
            self._tell(f"{number} completions have no score: howsure rescore scores them")
            if not table.num_rows:
                raise InputError("no row is scored", where=str(self.path), remedy="howsure rescore scores them")
        table = grouping.first_rows(table.drop_columns("status"), self.generations, str(self.path))
        return self._clustered(table)

    def _is_copy(self, rows: pa.Table) -> bool:
        """Whether nothing is left of what was there: a folder that was empty is told as such."""
        return not rows.num_rows and bool(self.before) and len(self.marks) > 0

    def _once(self, table: pa.Table) -> pa.Table:
        """The rows that no folder before this one has."""
        from pyarrow import compute

        for other in self.before:
            copies = compute.is_in(together.mark(table), other.marks, skip_nulls=True)
            if number := compute.sum(copies).as_py():
                table = table.filter(compute.invert(copies))
                self._tell(f"{number} of its generations are copies of those in {other.path}: each counts once")
        return table.drop_columns(list(together.MARKS)) if self.before else table

    def _stream(self, names: Sequence[str]) -> pa.RecordBatchReader:
        if self.scorer is None:
            return responses.stream(self.path, names)
        return scores.stream(self.path, names, self.scorer)

    def _clustered(self, table: pa.Table) -> pa.Table:
        """The rows with the cluster of their question, where the folder keeps one for each question of a benchmark."""
        import pyarrow as pa
        from pyarrow import compute

        of = clusters(self.path)
        if _CLUSTER in self.columns and (self.columns[_CLUSTER] != _CLUSTER or not of):
            what = f"a run folder has no column {self.columns[_CLUSTER]!r}"
            remedy = (
                "clusters are read from tables, and from folders of benchmarks with `cluster:` in their field map or "
                "that howsure convert made with --cluster; these use them by themselves"
            )
            raise InputError(what, where=str(self.path), remedy=remedy)
        if not of:
            return table
        key = compute.binary_join_element_wise(table["benchmark"], table["question"], "\0").combine_chunks()
        place = compute.index_in(key, pa.array(["\0".join(names) for names in of]))
        cluster = pa.array(list(of.values())).take(place)
        for benchmark in sorted({benchmark for benchmark, _ in of}):
            mine = compute.equal(table["benchmark"], benchmark)
            if compute.any(compute.and_(mine, compute.is_null(cluster))).as_py():
                cluster = compute.if_else(mine, pa.scalar(None, pa.string()), cluster)
                self._tell(f"{benchmark}: the clusters of some questions only are known: left out")
        return table.append_column(_CLUSTER, cluster) if cluster.null_count < len(cluster) else table

    def _kept(self) -> list[str]:
        """What the run was warned of, such as copies among its generations; and, on one line, what was stopped early.

        Of the latter with the interval that allows for having looked.
        """
        if not (self.path / manifest.NAME).is_file():
            return []
        try:
            told = manifest.load(self.path)
        except StoreError as error:
            return [f"what it was warned of and whether it was stopped early is unknown: {error}"]
        several = len(told.benchmarks) > 1
        early = [f"{one.benchmark}: {one.said}" if several else one.said for one in told.stopped if one.is_early]
        more = f"; and {len(early) - SHOWN} more, see {manifest.NAME}" if len(early) > SHOWN else ""
        return [*told.warnings, *(["; ".join(early[:SHOWN]) + more] if early else [])]

    def _tell_stages(self, what: str) -> None:
        labels = sorted({label for models in self.plans.values() for label in models})
        shown = ", ".join(labels[:3]) + (f" and {len(labels) - 3} more" if len(labels) > 3 else "")
        self._tell(f"{shown} sampled in stages (allocate: adaptive): {what}")

    def _tell(self, line: str) -> None:
        if line not in self.told:
            self.told.append(line)
