"""One question of a run folder, found among millions of rows without reading them.

Rows are sorted by benchmark, model, question: each model has those of a question in one place, and the bounds of the
row groups say where. The footer is read by the first call in a process and remembered, also for other questions.
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
from howsure.store import database, live, parquet
from howsure.store.arrays import arrow
from howsure.store.database import PROMPTS, RESPONSES, Table, telling
from howsure.store.responses import is_run, read_prompts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["clusters", "generations", "prompt"]


def generations(
    path: Path,
    benchmark: str,
    question: str,
    *,
    models: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """All generations of one question, sorted by key; none where there are none.

    Parameters
    ----------
    path
        A run folder, compacted or not, or being written.
    models
        Labels; None is all that there are.
    columns
        Of `schema.COLUMNS`, in the order wanted; None is all.

    Raises
    ------
    StoreError
        When the folder is not a run, or a file of it is torn or missing.
    """
    wanted = None if models is None else set(models)
    return _found(path, RESPONSES, benchmark, question, wanted, columns)


def prompt(path: Path, benchmark: str, question: str) -> pa.Table:
    """What one question was asked as: a row per variant, with the columns of `responses.read_prompts`."""
    return _found(path, PROMPTS, benchmark, question, None, None)


class _Recorded(msgspec.Struct):
    """What a prompt's record says of its question."""

    cluster: str | None = None


def clusters(path: Path) -> dict[tuple[str, str], str]:
    """Cluster of each (benchmark, question) that has one: `cluster` in the record of its prompts.

    Raises
    ------
    InputError
        When the prompts of a question name two clusters.
    """
    from pyarrow import compute

    found: dict[tuple[str, str], str] = {}
    prompts = read_prompts(path, ["benchmark", "question", "record"])
    prompts = prompts.filter(compute.match_substring(prompts["record"], '"cluster"'))
    for benchmark, question, record in zip(*prompts.to_pydict().values(), strict=True):
        cluster = msgspec.json.decode(record, type=_Recorded).cluster
        if cluster is not None and found.setdefault((benchmark, question), cluster) != cluster:
            what = f"question {question!r} is in cluster {found[benchmark, question]!r} and in {cluster!r}"
            raise InputError(what, where=str(path), remedy="a question has one cluster")
    return found


def _found(
    path: Path, table: Table, benchmark: str, question: str, models: set[str] | None, columns: Sequence[str] | None
) -> pa.Table:
    for name in columns or ():
        if name not in table.types:
            raise UnknownNameError("column", name, table.types)
    if not is_run(path):
        raise StoreError(f"{path}: not a run folder; give a folder that howsure run or convert made")
    shown = list(table.types) if columns is None else list(columns)
    names = [*shown, *(name for name in table.key if name not in shown)]
    only = {"benchmark": benchmark, "question": question}
    # The database first: what a compaction moves after this is still in the snapshot.
    with telling(path / database.NAME), closing(database.open_to_read(path)) as connection:
        newer = list(_live(connection, table, only, models, names))
        file = parquet.opened(path, table, moved=database.moved(connection, table))
        older = [] if file is None else [_compacted(file, table, only, models, names)]
    schema = parquet.arrow_schema(table, names)
    both = [part.cast(schema) for part in parquet.merged(iter(newer), (part for part in older if len(part)), table.key)]
    import pyarrow as pa

    return (pa.concat_tables(both) if both else schema.empty_table()).select(shown).combine_chunks()


def _compacted(
    file: parquet.File, table: Table, only: dict[str, str], models: set[str] | None, names: list[str]
) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    each = [only] if models is None else [only | {"model": model} for model in models]
    groups = sorted({group for one in each for group in parquet.holding(file, one)})
    values = {name: [value] for name, value in only.items()} | ({} if models is None else {"model": sorted(models)})
    parts = []
    for part in parquet.row_groups(file, names, groups):
        wanted = (pc.is_in(part[name], value_set=arrow(some, pa.string())) for name, some in values.items())
        parts.append(part.filter(reduce(pc.and_, wanted)))
    return pa.concat_tables(parts) if parts else parquet.arrow_schema(table, names).empty_table()


def _live(
    connection: Connection, table: Table, only: dict[str, str], models: set[str] | None, names: list[str]
) -> Iterator[pa.Table]:
    """The rows of the database as Arrow tables, sorted by key."""
    asked = [only]
    if table is RESPONSES:
        there = live.models(connection, only["benchmark"])
        asked = [only | {"model": model} for model in there if models is None or model in models]
    for values in asked:
        yield from parquet.tables(live.scan(connection, table, names, values), table, names)
