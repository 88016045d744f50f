"""The rows that a run's database holds, in the order of their key and each key once.

Responses are kept in packs, and in folders that versions 1 and 2 began row by row too: of those nothing is rewritten,
they come before the packs of their prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby, repeat
from operator import itemgetter
from sqlite3 import Connection
from typing import Any

from howsure.store.database import RESPONSES, Table, columns_of, held
from howsure.store.packs import OWN, PROMPT, Pack, latest
from howsure.store.packs import unpacker as pack_reader
from howsure.store.schema import KEY
from howsure.store.text import unpacker

__all__ = ["generations", "models", "scan"]

#: A batch of rows ends soon after so many characters of long texts or so many rows: what bounds memory.
BATCH_TEXT, BATCH_ROWS = 16 << 20, 8192
#: Rows that are fetched at once.
FETCHED = 64


def scan(
    connection: Connection, table: Table, columns: Sequence[str], only: Mapping[str, str] | None = None
) -> Iterator[list[list[Any]]]:
    """Rows in the order of the key, each key once, by column, in batches; packed texts are unpacked.

    A batch ends with the prompt that fills it, so what there is of the largest prompt bounds memory too.

    Parameters
    ----------
    only
        Values that columns of the key have in all rows that are wanted.
    """
    parts = _responses if table is RESPONSES else _rows
    batch: list[list[Any]] = [[] for _ in columns]
    size = 0
    for characters, values in parts(connection, table, columns, only or {}):
        size += characters
        for column, more in zip(batch, values, strict=True):
            column.extend(more)
        if size >= BATCH_TEXT or len(batch[0]) >= BATCH_ROWS:
            yield batch
            batch, size = [[] for _ in columns], 0
    if batch[0]:
        yield batch


def _rows(
    connection: Connection, table: Table, columns: Sequence[str], only: Mapping[str, str]
) -> Iterator[tuple[int, list[Sequence[Any]]]]:
    """Some rows of a table at a time, by column and sorted by key, and how many characters of packed texts they had."""
    there = columns_of(connection, table)
    wanted = ", ".join(name if name in there else f"NULL AS {name}" for name in columns)
    where, order = _where(only), ", ".join(table.key)
    cursor = connection.execute(f"SELECT {wanted} FROM {table.name}{where} ORDER BY {order}", only)
    texts = [i for i, name in enumerate(columns) if table.types[name] == "TEXT" and name not in table.key]
    unpack = unpacker()
    while rows := cursor.fetchmany(min(FETCHED, BATCH_ROWS)):
        values: list[Sequence[Any]] = list(zip(*rows, strict=True))
        size = 0
        for i in texts:
            # What is not packed is short, and bounded by the number of rows.
            if bytes in set(map(type, values[i])):
                values[i] = [unpack(value) for value in values[i]]
                size += sum(map(len, filter(None, values[i])))
        yield size, values


def _responses(
    connection: Connection, _: Table, columns: Sequence[str], only: Mapping[str, str]
) -> Iterator[tuple[int, list[Sequence[Any]]]]:
    """The rows of one prompt at a time, by column and sorted by generation, and how many characters they hold."""
    names = [*PROMPT, *OWN]
    places = [names.index(name) for name in columns]
    # Characters of completions are counted where they are wanted.
    text = columns.index("completion") if "completion" in columns else None

    def part(values: list[Sequence[Any]]) -> tuple[int, list[Sequence[Any]]]:
        return 0 if text is None else sum(map(len, filter(None, values[text]))), values

    single: list[list[Any]] = []
    for key, packs in _prompts(connection, only, columns):
        pack = latest(packs)
        generations, *rest = pack.columns
        rows = len(generations)
        if rows == 1:
            # Prompts with one row come together: by themselves they take three times as long.
            single.append([*key, *generations, *rest])
        if single and (rows > 1 or len(single) >= FETCHED):
            table = list(zip(*single, strict=True))
            yield part([table[i] for i in places])
            single = []
        if rows > 1:
            first = len(PROMPT)
            yield part([[key[i]] * rows if i < first else pack.column(i - first) for i in places])
    if single:
        table = list(zip(*single, strict=True))
        yield part([table[i] for i in places])


def _prompts(
    connection: Connection, only: Mapping[str, str], columns: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], list[Pack]]]:
    """What there is of each prompt, in the order in which it came."""
    readers = {"responses": _old_packs, "packs": _packs}
    parts = [readers[name](connection, only, columns) for name in held(connection, RESPONSES)]
    for key, packs in groupby(merge(*parts, key=itemgetter(0)), key=itemgetter(0)):
        yield key, [pack for _, pack in packs]


def _packs(
    connection: Connection, only: Mapping[str, str], columns: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], Pack]]:
    unpack = pack_reader()
    names = f"{', '.join(PROMPT)}, shared, {'completion' if 'completion' in columns else 'NULL'}"
    order = f"ORDER BY {', '.join(PROMPT)}, serial"
    for *key, shared, completion in connection.execute(f"SELECT {names} FROM packs{_where(only)} {order}", only):
        yield tuple(key), unpack(shared, completion)


def _old_packs(
    connection: Connection, only: Mapping[str, str], columns: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], Pack]]:
    """What versions 1 and 2 kept row by row."""
    wanted = {*columns, *KEY, "score", "error"}
    names = [name for name in RESPONSES.types if name in wanted]
    for _, values in _rows(connection, RESPONSES, names, only):
        rows = zip(
            *(values[names.index(name)] if name in wanted else repeat(None) for name in RESPONSES.types), strict=False
        )
        for key, some in groupby(rows, key=itemgetter(slice(len(PROMPT)))):
            yield key, Pack.of([row[len(PROMPT) :] for row in some])


def _where(only: Mapping[str, str]) -> str:
    return " WHERE " + " AND ".join(f"{name} = :{name}" for name in only) if only else ""


def models(connection: Connection, benchmark: str) -> list[str]:
    """The models of a benchmark, sorted, by steps along the key: the rows between are not looked at."""
    found: set[str] = set()
    for table in held(connection, RESPONSES):
        sql = f"SELECT min(model) FROM {table} WHERE benchmark = ?"
        (model,) = connection.execute(sql, (benchmark,)).fetchone()
        while model is not None:
            found.add(model)
            (model,) = connection.execute(f"{sql} AND model > ?", (benchmark, model)).fetchone()
    return sorted(found)


def generations(connection: Connection, benchmark: str, model: str, *, failed: bool) -> Iterator[tuple[str, str, int]]:
    """(question, variant, generation) of each row of a benchmark and model."""
    names = ["question", "variant", "generation", "score", "error"]
    for batch in scan(connection, RESPONSES, names, {"benchmark": benchmark, "model": model}):
        for question, variant, generation, score, error in zip(*batch, strict=True):
            if failed or (score is not None and error is None):
                yield question, variant, generation
