"""Read the rows that a run's database holds, in the order of their key and each key once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from sqlite3 import Connection
from typing import Any

from howsure.store.database import RESPONSES, TableSchema
from howsure.store.row_blocks import ROW_COLUMNS, SHARED_KEY, RowBlock, block_decoder, merge_blocks, text_decoder

__all__ = ["read_batches", "read_generations", "read_models"]

#: A batch ends soon after so many characters of completions or so many rows: this bounds memory.
BATCH_TEXT, BATCH_ROWS = 16 << 20, 8192
#: Rows that are fetched at once.
FETCHED = 64

#: Some rows by column, and the number of characters of their long texts.
_Part = tuple[int, list[Sequence[Any]]]


def read_batches(
    connection: Connection, table: TableSchema, columns: Sequence[str], only: Mapping[str, str] | None = None
) -> Iterator[list[list[Any]]]:
    """Yield rows in the order of the key, each key once, by column, in batches; compressed texts are decompressed.

    A batch ends with the prompt that fills it, so that the rows of the largest prompt bound memory too.

    Parameters
    ----------
    connection
        As `database.open_to_read` returns it.
    table
        Responses or prompts.
    columns
        Columns of the table, in the order wanted.
    only
        Values that columns of the key have in all rows that are wanted.
    """
    read_parts = _read_responses if table is RESPONSES else _read_prompts
    batch: list[list[Any]] = [[] for _ in columns]
    size = 0
    for characters, values in read_parts(connection, table, columns, only or {}):
        size += characters
        for column, more in zip(batch, values, strict=True):
            column.extend(more)
        if size >= BATCH_TEXT or len(batch[0]) >= BATCH_ROWS:
            yield batch
            batch, size = [[] for _ in columns], 0
    if batch[0]:
        yield batch


def _read_prompts(
    connection: Connection, table: TableSchema, columns: Sequence[str], only: Mapping[str, str]
) -> Iterator[_Part]:
    """Yield some prompts at a time, sorted by key."""
    where, order = _where_sql(only), ", ".join(table.key)
    cursor = connection.execute(f"SELECT {', '.join(columns)} FROM {table.name}{where} ORDER BY {order}", only)
    texts = [i for i, name in enumerate(columns) if name not in table.key]
    decode = text_decoder()
    while rows := cursor.fetchmany(min(FETCHED, BATCH_ROWS)):
        values: list[Sequence[Any]] = list(zip(*rows, strict=True))
        size = 0
        for i in texts:
            # Texts that are not compressed are short, and bounded by the number of rows.
            if bytes in set(map(type, values[i])):
                values[i] = [decode(value) for value in values[i]]
                size += sum(map(len, filter(None, values[i])))
        yield size, values


def _read_responses(
    connection: Connection, _: TableSchema, columns: Sequence[str], only: Mapping[str, str]
) -> Iterator[_Part]:
    """Yield the rows of one prompt at a time, sorted by generation."""
    names = [*SHARED_KEY, *ROW_COLUMNS]
    places = [names.index(name) for name in columns]
    completion = columns.index("completion") if "completion" in columns else None

    def part(values: list[Sequence[Any]]) -> _Part:
        return 0 if completion is None else sum(map(len, filter(None, values[completion]))), values

    single: list[list[Any]] = []
    for key, blocks in _read_blocks(connection, columns, only):
        block = merge_blocks(blocks)
        generations, *rest = block.columns
        n_rows = len(generations)
        if n_rows == 1:
            # Prompts with one row are yielded together: one by one they take three times as long.
            single.append([*key, *generations, *rest])
        if single and (n_rows > 1 or len(single) >= FETCHED):
            table = list(zip(*single, strict=True))
            yield part([table[i] for i in places])
            single = []
        if n_rows > 1:
            n_shared = len(SHARED_KEY)
            yield part([[key[i]] * n_rows if i < n_shared else block.column(i - n_shared) for i in places])
    if single:
        table = list(zip(*single, strict=True))
        yield part([table[i] for i in places])


def _read_blocks(
    connection: Connection, columns: Sequence[str], only: Mapping[str, str]
) -> Iterator[tuple[tuple[str, ...], list[RowBlock]]]:
    """Yield the key of each prompt and its blocks, in the order in which they were written."""
    decode = block_decoder()
    key_names = ", ".join(SHARED_KEY)
    completion = "completion" if "completion" in columns else "NULL"
    rows = connection.execute(
        f"SELECT {key_names}, shared, {completion} FROM packs{_where_sql(only)} ORDER BY {key_names}, serial", only
    )
    n_shared = len(SHARED_KEY)
    for key, group in groupby(rows, key=itemgetter(slice(n_shared))):
        yield key, [decode(*row[n_shared:]) for row in group]


def _where_sql(only: Mapping[str, str]) -> str:
    """Return the condition that columns have the given values."""
    return " WHERE " + " AND ".join(f"{name} = :{name}" for name in only) if only else ""


def read_models(connection: Connection, benchmark: str) -> list[str]:
    """Return the models of a benchmark, sorted, by steps along the key: the rows between are not read."""
    models: list[str] = []
    sql = "SELECT min(model) FROM packs WHERE benchmark = ?"
    (model,) = connection.execute(sql, (benchmark,)).fetchone()
    while model is not None:
        models.append(model)
        (model,) = connection.execute(f"{sql} AND model > ?", (benchmark, model)).fetchone()
    return models


def read_generations(
    connection: Connection, benchmark: str, model: str, *, failed: bool
) -> Iterator[tuple[str, str, int]]:
    """Yield (question, variant, generation) of each row of a benchmark and model; of failed rows if `failed`."""
    names = ["question", "variant", "generation", "score", "error"]
    for batch in read_batches(connection, RESPONSES, names, {"benchmark": benchmark, "model": model}):
        for question, variant, generation, score, error in zip(*batch, strict=True):
            if failed or (score is not None and error is None):
                yield question, variant, generation
