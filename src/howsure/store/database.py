"""Create the SQLite file of a run that is being written, and write and read its rows."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from howsure.errors import StoreError
from howsure.store.atomic import LOCK, read_count
from howsure.store.row_blocks import (
    ROW_COLUMNS,
    SHARED_KEY,
    RowBlock,
    build_block_decoder,
    build_text_decoder,
    merge_blocks,
)
from howsure.store.schema import KEY, OLDEST, TEXTS, VERSION, Response

NAME = "responses.sqlite"
#: Version of the file format.
FORMAT = 4
#: Application id "erbr" in the header, which marks the file as written by howsure.
APPLICATION = 0x65726272


@dataclass(frozen=True)
class TableSchema:
    """A table of a run, with its key and the SQLite type of each column."""

    name: str
    key: tuple[str, ...]
    types: dict[str, str]


_TYPES = {"str": "TEXT", "int": "INTEGER", "float": "REAL"}

RESPONSES = TableSchema(
    "responses",
    KEY,
    {name: _TYPES[Response.__annotations__[name].removesuffix(" | None")] for name in Response.__struct_fields__},
)
PROMPTS = TableSchema(
    "prompts",
    ("benchmark", "question", "variant"),
    dict.fromkeys(("benchmark", "question", "variant", "messages", "target", "record"), "TEXT"),
)
#: Name of the SQLite table that holds the rows; responses are stored as blocks.
_TABLE_OF = {RESPONSES.name: "packs", PROMPTS.name: "prompts"}


@contextlib.contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Convert an error of SQLite to StoreError, with a message of one line that names the file."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "full" in text:
            remedy = "free space and run again: rows that were acknowledged are kept"
        elif "malformed" in text or "not a database" in text:
            remedy = "restore it from a copy, or use another folder"
        else:
            remedy = "check that the folder can be read and written, and run again"
        raise StoreError(f"{path}: {text}; {remedy}") from error


def open_to_write(folder: Path) -> sqlite3.Connection:
    """Open or create the database; every commit is durable before it returns."""
    with translate_errors(folder / NAME):
        connection = sqlite3.connect(folder / NAME, timeout=30, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
            with transaction(connection):
                has_tables = _has_tables(connection, folder / NAME)
                _check_count(connection, folder, read_count(folder), has_tables=has_tables)
                if not has_tables:
                    _create_tables(connection)
                connection.execute(f"PRAGMA user_version = {FORMAT}")
        except BaseException:
            connection.close()
            raise
        return connection


def open_to_read(folder: Path) -> sqlite3.Connection:
    """Open a snapshot of the committed rows; a writer may be active, and the medium may be read-only.

    If the database is absent, or its writer was killed before it created the tables, an empty one is returned.
    """
    path, acknowledged = folder / NAME, read_count(folder)
    with translate_errors(path):
        if path.exists():
            connection = _connect(path)
            try:
                connection.execute("BEGIN")
                has_tables = _has_tables(connection, path)
                _check_count(connection, folder, acknowledged, has_tables=has_tables)
                if has_tables:
                    return connection
            except BaseException:
                connection.close()
                raise
            connection.close()
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        _create_tables(connection)
        return connection


def _check_count(connection: Connection, folder: Path, acknowledged: int, *, has_tables: bool) -> None:
    """Raise StoreError if fewer blocks are there than were acknowledged before the connection read any."""
    serial = connection.execute("SELECT max(serial) FROM packs").fetchone()[0] if has_tables else 0
    # A compaction at the same time takes the number back.
    if (serial or 0) < acknowledged <= read_count(folder):
        what = "rows that were acknowledged are missing: the file or its -wal is damaged, cut or an older copy"
        remedy = f"restore both from a copy, or remove {LOCK} to go on with the rows that are left"
        raise StoreError(f"{folder / NAME}: {what}; {remedy}")


def _connect(path: Path) -> sqlite3.Connection:
    """Return a connection that reads the file, or a copy of it if SQLite cannot open it in place."""
    try:
        return _try_connect(path, "mode=ro")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}:
            raise
        # On a read-only medium SQLite cannot create the index that it needs beside its log.
        log = path.with_name(path.name + "-wal")
        if not log.exists() or log.stat().st_size == 0:
            return _try_connect(path, "mode=ro&immutable=1")
        # With the option immutable SQLite ignores the log, which has acknowledged rows, so read a copy.
        with tempfile.TemporaryDirectory(prefix="howsure-") as folder:
            for file in (path, log):
                shutil.copyfile(file, Path(folder, file.name))
            return _try_connect(Path(folder, path.name), "mode=rw")


def _try_connect(path: Path, options: str) -> sqlite3.Connection:
    """Return a connection with these options, after reading from it."""
    uri = f"{path.absolute().as_uri()}?{options}"
    connection = sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _has_tables(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether the database has its tables; they are missing if a writer was killed before it created them."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (tables or version):
        raise StoreError(f"{path}: a database of another program; use another folder")
    if tables:
        check_version(version, path, FORMAT, FORMAT - 1)
    return bool(tables)


def check_version(version: int, path: Path, supported: int = VERSION, oldest: int = OLDEST) -> None:
    """Raise StoreError for a version that another howsure wrote: a newer one, or one from before the first release."""
    if version < oldest:
        raise StoreError(f"{path}: its schema version {version} was never released; run again in another folder")
    if version > supported:
        raise StoreError(
            f"{path}: its schema version {version} is newer than {supported}, the one known here; upgrade howsure"
        )


def _create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty database."""
    columns = ", ".join(f"{name} TEXT{' NOT NULL' * (name in PROMPTS.key)}" for name in PROMPTS.types)
    connection.execute(f"CREATE TABLE prompts ({columns}, PRIMARY KEY ({', '.join(PROMPTS.key)}))")
    # The number of rows of each Parquet file when rows were last moved to it; a file with fewer rows is an old copy.
    connection.execute("CREATE TABLE moved (name TEXT PRIMARY KEY, rows INTEGER NOT NULL)")
    columns = ", ".join(f"{name} TEXT NOT NULL" for name in SHARED_KEY)
    # `serial` is the order of writing: of two rows with the same key it says which was written first.
    connection.execute(f"CREATE TABLE packs (serial INTEGER PRIMARY KEY, {columns}, shared BLOB, completion BLOB)")
    connection.execute(f"CREATE INDEX prompt ON packs ({', '.join(SHARED_KEY)})")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run statements in one transaction, which is durable when the context is left."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def replace_rows(connection: sqlite3.Connection, table: TableSchema, rows: Iterable[Sequence[object]]) -> None:
    """Add rows in one transaction; a row replaces an existing row with the same key."""
    names, values = ", ".join(table.types), ", ".join("?" * len(table.types))
    with transaction(connection):
        connection.executemany(f"INSERT OR REPLACE INTO {table.name} ({names}) VALUES ({values})", rows)


def insert_blocks(connection: sqlite3.Connection, blocks: Iterable[tuple[object, ...]]) -> int:
    """Add blocks of responses in one transaction, each with its shared key; return the serial of the last block."""
    insert = f"INSERT INTO packs ({', '.join(SHARED_KEY)}, shared, completion) VALUES (?, ?, ?, ?, ?, ?)"
    with transaction(connection):
        connection.executemany(insert, blocks)
    return connection.execute("SELECT max(serial) FROM packs").fetchone()[0] or 0


def is_empty(connection: sqlite3.Connection, table: TableSchema) -> bool:
    """Return whether the table has no row."""
    return connection.execute(f"SELECT 1 FROM {_TABLE_OF[table.name]} LIMIT 1").fetchone() is None


def count_moved(connection: sqlite3.Connection, table: TableSchema) -> int:
    """Return the number of rows of the table's Parquet file when rows were last moved to it."""
    row = connection.execute("SELECT rows FROM moved WHERE name = ?", (table.name,)).fetchone()
    if row is None:
        return 0
    if not isinstance(row[0], int):
        raise sqlite3.DatabaseError("malformed count of rows")
    return row[0]


def clear_rows(connection: sqlite3.Connection, table: TableSchema, *, moved: int) -> None:
    """Delete the rows, which are in the Parquet file now; that file has `moved` rows in total."""
    with transaction(connection):
        connection.execute(f"DELETE FROM {_TABLE_OF[table.name]}")
        connection.execute("INSERT OR REPLACE INTO moved VALUES (?, ?)", (table.name, moved))


def shrink_file(connection: sqlite3.Connection) -> None:
    """Release the space of deleted rows, unless a reader still uses the file; do not wait for readers."""
    connection.execute("VACUUM")
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.execute("PRAGMA busy_timeout = 30000")


#: A batch ends soon after so many characters of completions or so many rows, which bounds memory.
BATCH_TEXT, BATCH_ROWS = 16 << 20, 8192
#: Rows that are fetched at once.
FETCHED = 64

#: A part of the rows by column, and the number of characters of their long texts.
_Part = tuple[int, list[Sequence[Any]]]


def read_batches(
    connection: Connection, table: TableSchema, columns: Sequence[str], only: Mapping[str, str] | None = None
) -> Iterator[list[list[object]]]:
    """Yield rows in the order of the key, each key once, by column, in batches; compressed texts are decompressed.

    A batch contains all rows of its last prompt, so memory also depends on the rows of the largest prompt.

    Parameters
    ----------
    connection
        A connection from `database.open_to_read`.
    table
        Responses or prompts.
    columns
        Columns of the table, in the order wanted.
    only
        Values that columns of the key have in all rows that are wanted.
    """
    read_parts = _read_responses if table is RESPONSES else _read_prompts
    batch: list[list[object]] = [[] for _ in columns]
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
    decode = build_text_decoder()
    while rows := cursor.fetchmany(min(FETCHED, BATCH_ROWS)):
        values: list[Sequence[Any]] = list(zip(*rows, strict=True))
        size = 0
        for i in texts:
            # Texts that are not compressed are short, so the number of rows bounds their memory.
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
    texts = [i for i, name in enumerate(columns) if name in TEXTS]

    def part(values: list[Sequence[Any]]) -> _Part:
        return sum(len(text) for i in texts for text in values[i] if text), values

    single: list[list[Any]] = []
    for key, blocks in _read_blocks(connection, columns, only):
        block = merge_blocks(blocks)
        generations, *rest = block.columns
        n_rows = len(generations)
        if n_rows == 1:
            # Prompts with one row are yielded together, because one by one they take three times as long.
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
    decode = build_block_decoder()
    key_names = ", ".join(SHARED_KEY)
    completion = "completion" if set(TEXTS) & set(columns) else "NULL"
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
    """Return the models of a benchmark, sorted; each is found by a search in the index, without reading the rows."""
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
    """Yield (question, variant, generation) of each row of a benchmark and model; include failed rows if `failed`."""
    names = ["question", "variant", "generation", "score", "error"]
    for _, values in _read_responses(connection, RESPONSES, names, {"benchmark": benchmark, "model": model}):
        for question, variant, generation, score, error in zip(*values, strict=True):
            if failed or (score is not None and error is None):
                yield question, variant, generation
