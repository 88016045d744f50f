"""Find one question of a run folder among millions of rows, without reading the other rows.

Rows are sorted by benchmark, model and question. So the rows of a model and a question are adjacent, and the bounds of
the row groups show where they are. The first call in a process reads the footer and caches it for later calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import reduce
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING

import msgspec

from howsure.errors import InputError, StoreError, UnknownNameError
from howsure.store import database, parquet_files
from howsure.store.database import PROMPTS, RESPONSES, TableSchema, translate_errors
from howsure.store.responses import is_run, read_prompts
from howsure.store.row_blocks import to_arrow

if TYPE_CHECKING:
    import pyarrow as pa


def find_generations(
    path: Path,
    benchmark: str,
    question: str,
    *,
    models: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Return all generations of one question, sorted by key.

    Parameters
    ----------
    path
        A run folder, compacted or not; it may be written at the same time.
    models
        Labels; None takes all models.
    columns
        Of `schema.COLUMNS`, in the order wanted; None takes all columns.

    Raises
    ------
    StoreError
        When the folder is not a run, or one of its files is damaged or missing.
    """
    wanted = None if models is None else set(models)
    return _find_rows(path, RESPONSES, benchmark, question, wanted, columns)


def find_prompts(path: Path, benchmark: str, question: str) -> pa.Table:
    """Return the prompts of one question: a row per variant, with the columns of `responses.read_prompts`."""
    return _find_rows(path, PROMPTS, benchmark, question, None, None)


class _PromptRecord(msgspec.Struct):
    """The part of a prompt's record that this module reads."""

    cluster: str | None = None


def read_clusters(path: Path) -> dict[tuple[str, str], str]:
    """Return the cluster of each (benchmark, question) that has one: `cluster` in the record of its prompts.

    Raises
    ------
    InputError
        When the prompts of a question name two clusters.
    """
    from pyarrow import compute

    cluster_of: dict[tuple[str, str], str] = {}
    prompts = read_prompts(path, ["benchmark", "question", "record"])
    prompts = prompts.filter(compute.match_substring(prompts["record"], '"cluster"'))
    for benchmark, question, record in zip(*prompts.to_pydict().values(), strict=True):
        cluster = msgspec.json.decode(record, type=_PromptRecord).cluster
        if cluster is not None and cluster_of.setdefault((benchmark, question), cluster) != cluster:
            what = f"question {question!r} is in cluster {cluster_of[benchmark, question]!r} and in {cluster!r}"
            raise InputError(what, where=str(path), remedy="a question has one cluster")
    return cluster_of


def _find_rows(
    path: Path,
    table: TableSchema,
    benchmark: str,
    question: str,
    models: set[str] | None,
    columns: Sequence[str] | None,
) -> pa.Table:
    """Return the rows of one question, of the database and of Parquet, sorted by key."""
    for name in columns or ():
        if name not in table.types:
            raise UnknownNameError("column", name, table.types)
    if not is_run(path):
        raise StoreError(f"{path}: not a run folder; give a folder that howsure run or convert made")
    wanted = list(table.types) if columns is None else list(columns)
    names = [*wanted, *(name for name in table.key if name not in wanted)]
    only = {"benchmark": benchmark, "question": question}
    # Open the database first: its snapshot still has the rows that a compaction moves to Parquet after this.
    with translate_errors(path / database.NAME), closing(database.open_to_read(path)) as connection:
        newer = list(_read_database(connection, table, only, models, names))
        file = parquet_files.open_file(path, table, moved=database.count_moved(connection, table))
        older = [] if file is None else [_read_parquet(file, table, only, models, names)]
    schema = parquet_files.build_arrow_schema(table, names)
    both = [
        part.cast(schema)
        for part in parquet_files.merge_sorted(iter(newer), (part for part in older if len(part)), table.key)
    ]
    import pyarrow as pa

    return (pa.concat_tables(both) if both else schema.empty_table()).select(wanted).combine_chunks()


def _read_parquet(
    file: parquet_files.OpenFile, table: TableSchema, only: dict[str, str], models: set[str] | None, names: list[str]
) -> pa.Table:
    """Return the rows of one question that a Parquet file holds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    each = [only] if models is None else [only | {"model": model} for model in models]
    groups = sorted({group for one in each for group in parquet_files.find_row_groups(file, one)})
    values = {name: [value] for name, value in only.items()} | ({} if models is None else {"model": sorted(models)})
    parts = []
    for part in parquet_files.read_row_groups(file, names, groups):
        wanted = (pc.is_in(part[name], value_set=to_arrow(some, pa.string())) for name, some in values.items())
        parts.append(part.filter(reduce(pc.and_, wanted)))
    return pa.concat_tables(parts) if parts else parquet_files.build_arrow_schema(table, names).empty_table()


def _read_database(
    connection: Connection, table: TableSchema, only: dict[str, str], models: set[str] | None, names: list[str]
) -> Iterator[pa.Table]:
    """Yield the rows of one question that the database holds as Arrow tables, sorted by key."""
    each = [only]
    if table is RESPONSES:
        all_models = database.read_models(connection, only["benchmark"])
        each = [only | {"model": model} for model in all_models if models is None or model in models]
    for values in each:
        yield from parquet_files.convert_batches(database.read_batches(connection, table, names, values), table, names)
