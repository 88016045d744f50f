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
from howsure.store.row_blocks import SHARED_KEY
from howsure.store.schema import KEY, VERSION, Response

__all__ = [
    "NAME",
    "PROMPTS",
    "RESPONSES",
    "TableSchema",
    "check_version",
    "clear_rows",
    "count_moved",
    "insert_blocks",
    "is_empty",
    "open_to_read",
    "open_to_write",
    "replace_rows",
    "shrink_file",
    "translate_errors",
]

NAME = "responses.sqlite"
#: Version of the file.
FORMAT = 3
#: Marks the file as one of howsure in its header: "erbr".
APPLICATION = 0x65726272


@dataclass(frozen=True)
class TableSchema:
    """A table of a run: its key, and the SQLite type of each column."""

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
#: The table of SQLite that holds the rows: responses as blocks.
_TABLE_OF = {RESPONSES.name: "packs", PROMPTS.name: "prompts"}


@contextlib.contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Raise an error of SQLite as StoreError, in one line that names the file."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "full" in text:
            remedy = "free space and run again: what was acknowledged is kept"
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
                if not _has_tables(connection, folder / NAME):
                    _create_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def open_to_read(folder: Path) -> sqlite3.Connection:
    """Open what is committed now, as one snapshot, also while a writer is active and on a read-only medium.

    A database that is absent, or whose tables were not created before its writer was killed, reads as an empty one.
    """
    path = folder / NAME
    with translate_errors(path):
        if path.exists():
            connection = _connect(path)
            try:
                connection.execute("BEGIN")
                if _has_tables(connection, path):
                    return connection
            except BaseException:
                connection.close()
                raise
            connection.close()
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        _create_tables(connection)
        return connection


def _connect(path: Path) -> sqlite3.Connection:
    """Return a connection that reads the file, or a copy of it where SQLite cannot open it in place."""
    try:
        return _try_connect(path, "mode=ro")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}:
            raise
        # Where nothing can be written SQLite cannot make the index that it needs beside its log.
        log = path.with_name(path.name + "-wal")
        if not log.exists() or log.stat().st_size == 0:
            return _try_connect(path, "mode=ro&immutable=1")
        # An immutable database ignores its log, and with it rows that were acknowledged: read a copy.
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
    """Return whether the database has its tables; not if a writer was killed while it created them."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (tables or version):
        raise StoreError(f"{path}: a database of another program; use another folder")
    if tables:
        check_version(version, path, FORMAT)
    return bool(tables)


def check_version(version: int, path: Path, supported: int = VERSION) -> None:
    """Raise StoreError for a version that another howsure wrote: a newer one, or one from before the first release."""
    if version < supported:
        raise StoreError(f"{path}: its schema version {version} was never released; run again in another folder")
    if version > supported:
        raise StoreError(
            f"{path}: its schema version {version} is newer than {supported}, the one known here; upgrade howsure"
        )


def _create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty database."""
    columns = ", ".join(f"{name} TEXT{' NOT NULL' * (name in PROMPTS.key)}" for name in PROMPTS.types)
    connection.execute(f"CREATE TABLE prompts ({columns}, PRIMARY KEY ({', '.join(PROMPTS.key)}))")
    # The number of rows of each Parquet file when rows were last moved to it: a file with fewer is an old copy.
    connection.execute("CREATE TABLE moved (name TEXT PRIMARY KEY, rows INTEGER NOT NULL)")
    columns = ", ".join(f"{name} TEXT NOT NULL" for name in SHARED_KEY)
    # In the order of `serial`: of two rows with one key it says which was written first.
    connection.execute(f"CREATE TABLE packs (serial INTEGER PRIMARY KEY, {columns}, shared BLOB, completion BLOB)")
    connection.execute(f"CREATE INDEX prompt ON packs ({', '.join(SHARED_KEY)})")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


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
    """Add rows in one transaction; a row whose key is present is replaced."""
    names, values = ", ".join(table.types), ", ".join("?" * len(table.types))
    with transaction(connection):
        connection.executemany(f"INSERT OR REPLACE INTO {table.name} ({names}) VALUES ({values})", rows)


def insert_blocks(connection: sqlite3.Connection, blocks: Iterable[tuple[object, ...]]) -> None:
    """Add blocks of responses in one transaction, each with the key that its rows share."""
    insert = f"INSERT INTO packs ({', '.join(SHARED_KEY)}, shared, completion) VALUES (?, ?, ?, ?, ?, ?)"
    with transaction(connection):
        connection.executemany(insert, blocks)


def is_empty(connection: sqlite3.Connection, table: TableSchema) -> bool:
    """Return whether the table has no row."""
    return connection.execute(f"SELECT 1 FROM {_TABLE_OF[table.name]} LIMIT 1").fetchone() is None


def count_moved(connection: sqlite3.Connection, table: TableSchema) -> int:
    """Return the number of rows of the table's Parquet file when rows were last moved to it."""
    row = connection.execute("SELECT rows FROM moved WHERE name = ?", (table.name,)).fetchone()
    return int(row[0]) if row else 0


def clear_rows(connection: sqlite3.Connection, table: TableSchema, *, moved: int) -> None:
    """Delete the rows, which are in the Parquet file now; it has `moved` rows in all."""
    with transaction(connection):
        connection.execute(f"DELETE FROM {_TABLE_OF[table.name]}")
        connection.execute("INSERT OR REPLACE INTO moved VALUES (?, ?)", (table.name, moved))


def shrink_file(connection: sqlite3.Connection) -> None:
    """Release the space of deleted rows; readers that still use it delay that, and are not waited for."""
    connection.execute("VACUUM")
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.execute("PRAGMA busy_timeout = 30000")
