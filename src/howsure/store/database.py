"""The SQLite file of a run that is being written: its tables, and rows in and out."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from howsure.errors import StoreError
from howsure.store.packs import PROMPT
from howsure.store.schema import KEY, VERSION, Response

__all__ = [
    "NAME",
    "PROMPTS",
    "RESPONSES",
    "Table",
    "add",
    "check_version",
    "columns_of",
    "empty",
    "held",
    "is_empty",
    "moved",
    "open_to_read",
    "open_to_write",
    "shrink",
    "telling",
    "transaction",
    "upsert",
]

NAME = "responses.sqlite"
#: Version of the file: 1 and 2 had the versions of the schema, and a table of responses row by row; 3 has packs.
FORMAT = 3
#: Marks the file as ours in its header: "erbr".
APPLICATION = 0x65726272


@dataclass(frozen=True)
class Table:
    """A table of a run: its key, and the SQLite type of each column."""

    name: str
    key: tuple[str, ...]
    types: dict[str, str]


_TYPES = {"str": "TEXT", "int": "INTEGER", "float": "REAL"}

RESPONSES = Table(
    "responses",
    KEY,
    {name: _TYPES[Response.__annotations__[name].removesuffix(" | None")] for name in Response.__struct_fields__},
)
PROMPTS = Table(
    "prompts",
    ("benchmark", "question", "variant"),
    dict.fromkeys(("benchmark", "question", "variant", "messages", "target", "record"), "TEXT"),
)


@contextlib.contextmanager
def telling(path: Path) -> Iterator[None]:
    """Translate SQLite's errors to one line that names the file."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.DatabaseError as error:
        told = str(error)
        if "full" in told:
            remedy = "free space and run again: what was acknowledged is kept"
        elif "malformed" in told or "not a database" in told:
            remedy = "restore it from a copy, or use another folder"
        else:
            remedy = "check that the folder can be read and written, and run again"
        raise StoreError(f"{path}: {told}; {remedy}") from error


def open_to_write(folder: Path) -> sqlite3.Connection:
    """Open or create the database; every commit is durable before it returns."""
    with telling(folder / NAME):
        connection = sqlite3.connect(folder / NAME, timeout=30, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
            with transaction(connection):
                if _is_made(connection, folder / NAME):
                    _migrate(connection)
                else:
                    _make(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def open_to_read(folder: Path) -> sqlite3.Connection:
    """What is committed now, as one snapshot, also while a writer lives and on a medium that cannot be written.

    A database that is absent, or that a writer was killed in making, reads as an empty one. Columns that its version
    does not have read as null.
    """
    path = folder / NAME
    with telling(path):
        if path.exists():
            connection = _connect(path)
            try:
                connection.execute("BEGIN")
                if _is_made(connection, path):
                    return connection
            except BaseException:
                connection.close()
                raise
            connection.close()
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        _make(connection)
        return connection


def _connect(path: Path) -> sqlite3.Connection:
    try:
        return _attempt(path, "mode=ro")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}:
            raise
        # Where nothing can be written SQLite cannot make the index that it needs beside its log.
        log = path.with_name(path.name + "-wal")
        if not log.exists() or log.stat().st_size == 0:
            return _attempt(path, "mode=ro&immutable=1")
        # An immutable database passes over its log, and with it over rows that were acknowledged: read a copy.
        with tempfile.TemporaryDirectory(prefix="howsure-") as place:
            for file in (path, log):
                shutil.copyfile(file, Path(place, file.name))
            return _attempt(Path(place, path.name), "mode=rw")


def _attempt(path: Path, options: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{options}"
    connection = sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _is_made(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the tables are there; False for a database in whose making a writer was killed."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (tables or version):
        raise StoreError(f"{path}: a database of another program; use another folder")
    check_version(version, path, FORMAT)
    return bool(tables)


def check_version(version: int, path: Path, known: int = VERSION) -> None:
    """Refuse what a newer howsure wrote."""
    if version > known:
        raise StoreError(
            f"{path}: its schema version {version} is newer than {known}, the one known here; upgrade howsure"
        )


def _make(connection: sqlite3.Connection) -> None:
    columns = ", ".join(f"{name} TEXT{' NOT NULL' * (name in PROMPTS.key)}" for name in PROMPTS.types)
    connection.execute(f"CREATE TABLE prompts ({columns}, PRIMARY KEY ({', '.join(PROMPTS.key)}))")
    # How many rows each Parquet file had when rows were last moved to it: fewer means that it was lost.
    connection.execute("CREATE TABLE moved (name TEXT PRIMARY KEY, rows INTEGER NOT NULL)")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    _add_packs(connection)


def _add_packs(connection: sqlite3.Connection) -> None:
    columns = ", ".join(f"{name} TEXT NOT NULL" for name in PROMPT)
    # In the order of `serial`: of two rows with one key that says which came first.
    connection.execute(f"CREATE TABLE packs (serial INTEGER PRIMARY KEY, {columns}, shared BLOB, completion BLOB)")
    connection.execute(f"CREATE INDEX prompt ON packs ({', '.join(PROMPT)})")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _migrate(connection: sqlite3.Connection) -> None:
    """Add what an older version did not have; the caller's transaction makes it all or nothing.

    Rows stay in their table until they are moved to Parquet.
    """
    if connection.execute("PRAGMA user_version").fetchone() == (FORMAT,):
        return
    there = columns_of(connection, PROMPTS)
    for name in PROMPTS.types:
        if name not in there:
            connection.execute(f"ALTER TABLE prompts ADD COLUMN {name} TEXT")
    _add_packs(connection)


def columns_of(connection: sqlite3.Connection, table: Table) -> set[str]:
    """The table's columns; none where there is no such table."""
    return {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table.name})")}


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; durable when it is left."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def upsert(connection: sqlite3.Connection, table: Table, rows: Iterable[Sequence[object]]) -> None:
    """Add rows in one transaction; a row whose key is there is replaced."""
    # By name: columns that came with a migration are the last ones of their table.
    names, values = ", ".join(table.types), ", ".join("?" * len(table.types))
    with transaction(connection):
        connection.executemany(f"INSERT OR REPLACE INTO {table.name} ({names}) VALUES ({values})", rows)


def add(connection: sqlite3.Connection, packs: Iterable[tuple[object, ...]]) -> None:
    """Add packs of responses in one transaction, each with the key that its rows share."""
    insert = f"INSERT INTO packs ({', '.join(PROMPT)}, shared, completion) VALUES (?, ?, ?, ?, ?, ?)"
    with transaction(connection):
        connection.executemany(insert, packs)


def is_empty(connection: sqlite3.Connection, table: Table) -> bool:
    """Whether the table has no row."""
    looks = [f"SELECT 1 FROM {name} LIMIT 1" for name in held(connection, table)]
    return all(connection.execute(look).fetchone() is None for look in looks)


def held(connection: sqlite3.Connection, table: Table) -> list[str]:
    """The tables of SQLite that hold its rows."""
    names = ["responses", "packs"] if table is RESPONSES else [table.name]
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    return [name for name in names if name in there]


def moved(connection: sqlite3.Connection, table: Table) -> int:
    """How many rows the table's Parquet file had when rows were last moved to it."""
    found = connection.execute("SELECT rows FROM moved WHERE name = ?", (table.name,)).fetchone()
    return int(found[0]) if found else 0


def empty(connection: sqlite3.Connection, table: Table, *, moved: int) -> None:
    """Forget the rows, which are in Parquet now, `moved` in all."""
    with transaction(connection):
        for name in held(connection, table):
            connection.execute(f"DELETE FROM {name}")
        connection.execute("INSERT OR REPLACE INTO moved VALUES (?, ?)", (table.name, moved))


def shrink(connection: sqlite3.Connection) -> None:
    """Give the space of deleted rows back; readers that still look at them put that off, and are not waited for."""
    connection.execute("VACUUM")
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.execute("PRAGMA busy_timeout = 30000")
