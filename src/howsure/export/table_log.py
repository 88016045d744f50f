"""Read a tidy table as a log: a row per generation, without texts."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from howsure.errors import InputError
from howsure.readers.logs.base import LogInfo, LogReader, LogRow, Note, RowBuilder
from howsure.readers.logs.file_head import FileHead
from howsure.store.manifest import Model
from howsure.tables import rows_to_cells
from howsure.tables.columns import TableOptions
from howsure.tables.read_table import open_table
from howsure.tables.table_files import is_table, name_table
from howsure.tables.tidy import group_rows

if TYPE_CHECKING:
    import duckdb

__all__ = ["TableLogReader"]

_ERROR = "missing: the table has no score here"


class TableLogReader(LogReader):
    """Reader of tables with the columns that `tables.tidy` finds.

    Generations that are whole numbers keep them, counted from 1; other names are numbered in their order. Without a
    column for generations, the rows of a cell are its generations.

    Parameters
    ----------
    columns
        Our column names to those of the tables.
    """

    name = "table"

    def __init__(self, columns: Mapping[str, str] | None = None) -> None:
        self.columns = columns or {}

    def recognises(self, head: FileHead) -> bool:
        """Return whether the name of a file is that of a table."""
        return head.kind not in {"folder", "empty"} and is_table(head.path)

    def describe(self, path: Path) -> LogInfo:
        """Return the models and benchmarks of a table, which has no other information about them."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with self._open(path) as rows:
            models = sorted(str(name) for (name,) in rows.project("model").distinct().fetchall())
            benchmarks = sorted(str(name) for (name,) in rows.project("benchmark").distinct().fetchall())
        return LogInfo(
            run=digest[:16],
            models={name: Model(name=name, kind=self.name) for name in models},
            benchmarks={name: {"table": path.name, "table_sha256": digest} for name in benchmarks},
        )

    def read(self, path: Path, build: RowBuilder) -> Iterator[LogRow]:
        """Yield each generation once; a missing score is a failure."""
        import pyarrow as pa

        with self._open(path) as rows:
            generation = _generation_sql(rows, build.note)
            variant = "variant" if "variant" in rows.columns else "'default'"
            cluster = "cluster" if "cluster" in rows.columns else "NULL"
            scored = rows.project(f"benchmark, model, question, {variant}, {generation}, score, {cluster}")
            for batch in pa.RecordBatchReader.from_stream(scored):
                columns = (column.to_pylist() for column in batch.columns)
                for benchmark, model, question, variant_id, number, score, group in zip(*columns, strict=True):
                    yield LogRow(
                        benchmark=str(benchmark),
                        model=str(model),
                        question=str(question),
                        variant=str(variant_id),
                        generation=number,
                        score=score,
                        cluster=None if group is None else str(group),
                        status="ok" if score is not None else "error",
                        error=None if score is not None else _ERROR,
                    )

    @contextlib.contextmanager
    def _open(self, path: Path) -> Iterator[duckdb.DuckDBPyRelation]:
        """Yield the rows with our column names, after the checks of every table."""

        def check_rows(rows: duckdb.DuckDBPyRelation, where: str) -> duckdb.DuckDBPyRelation:
            if "n" in rows.columns:
                what = "each row is a cell, and there are no generations to convert"
                remedy = "read the table as it is: nobody knows which of its generations were right"
                raise InputError(what, where=where, remedy=remedy)
            rows_to_cells.make_cells(rows, where=where)
            return rows

        with open_table(path) as rows:
            yield group_rows(rows, str(path), name_table(path), TableOptions(self.columns), check_rows)[0]


def _generation_sql(rows: duckdb.DuckDBPyRelation, note: Note) -> str:
    """Return SQL for the number of a row's generation, from 1."""
    cell = ", ".join(name for name in ("benchmark", "model", "question", "variant") if name in rows.columns)
    if "generation" not in rows.columns:
        most = rows.aggregate("count(*) AS n", cell).aggregate("max(n)").fetchall()[0][0]
        if most > 1:
            note("cells have several rows and there is no column 'generation': each row is taken as a generation")
        return f"row_number() OVER (PARTITION BY {cell})"
    number = "TRY_CAST(CAST(generation AS VARCHAR) AS BIGINT)"
    are_whole, low, high = rows.aggregate(
        f"bool_and(coalesce({number} >= 0, false)), min({number}), max({number})"
    ).fetchall()[0]
    if are_whole and high < 1 << 31:
        return f"{number} + 1" if low == 0 else number
    note("generations are not numbered 0 or 1 and so on: they are numbered in the order of their names")
    return "dense_rank() OVER (PARTITION BY benchmark, model ORDER BY generation)"
