"""A run folder: append, resume, compact, read; kill -9 at any moment loses nothing that was acknowledged.

::

    run/
      manifest.json        what it takes to repeat the run (`store.manifest`)
      responses.sqlite     rows, in packs (`store.packs`), and prompts while the run lives, with -wal and -shm beside it
      responses.parquet    rows once compacted, sorted by benchmark, model, question, variant, generation
      prompts.parquet      prompts once compacted, sorted by benchmark, question, variant

A row lives in the database until a complete Parquet file that holds it has taken the old file's place, and only then
leaves the database. Killed in between, it is in both: readers and the next compaction take the one in the database.
"""

from __future__ import annotations

import json
import math
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import astuple

from howsure.errors import InputError, StoreError, UnknownNameError
from howsure.store import database, live, parquet
from howsure.store.atomic import Lock, leftover, ours, sync_folder
from howsure.store.database import PROMPTS, RESPONSES, Table, telling
from howsure.store.packs import PROMPT
from howsure.store.packs import packer as pack_writer
from howsure.store.schema import KEY, Response
from howsure.store.text import packer

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RunFolder", "is_run", "read", "read_prompts", "stream"]

_json = json.JSONEncoder(ensure_ascii=False).encode
#: What SQLite and Arrow call an integer.
_LARGEST = 2**63
_INTEGERS = [i for i, kind in enumerate(RESPONSES.types.values()) if kind == "INTEGER"]


def is_run(path: Path) -> bool:
    """Whether the folder is a run: it has a database, or a manifest beside Parquet."""
    if (path / database.NAME).is_file():
        return True
    return (path / "manifest.json").is_file() and (path / "responses.parquet").is_file()


class RunFolder:
    """The one writer of a run folder; readers are welcome meanwhile, and threads may share it.

    Creates the folder when it is missing. Open it before `Manifest.save`: it holds the lock of the folder.

    Raises
    ------
    StoreError
        When another process writes it, when it has files but is not a run, or when its schema is newer. A folder of an
        older schema is brought to this one at once; its Parquet files follow when rows are next moved to them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = threading.RLock()
        self._pack, self._pack_rows = packer(), pack_writer()
        self._settled: dict[tuple[str, str], dict[tuple[str, str], set[int]]] = {}
        _claim(path)
        self._lock = Lock(path)
        try:
            for file in leftover(path):
                file.unlink()
            self._connection = database.open_to_write(path)
        except BaseException:
            self._lock.release()
            raise
        try:
            sync_folder(path)
            with telling(path / database.NAME):
                for table in (RESPONSES, PROMPTS):
                    _file(self._connection, path, table)
        except BaseException:
            self.close()
            raise

    def append(self, rows: Sequence[Response]) -> None:
        """Add rows in one transaction; when this returns they are on the disk.

        A key that is there is left alone, except that a failed row (`score` is None or `error` is not) is replaced.
        NUL is kept, lone surrogates are escaped (`store.text`). Batches of 200 to 1,000 rows in which those
        of one prompt lie together are fastest.

        Raises
        ------
        InputError
            When a score is not finite or a key is not sound; it names the key, and nothing of the batch is added.
        """
        with self._turn, telling(self.path / database.NAME):
            values = list(map(astuple, rows))
            columns = list(zip(*values, strict=True))
            _check(rows, columns)
            if any(self._settled_of(*name) for name in set(zip(*columns[:2], strict=True))):
                values = [astuple(row) for row in rows if not self._is_settled(row)]
            prompts: defaultdict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
            for value in values:
                prompts[value[: len(PROMPT)]].append(value[len(PROMPT) :])
            packs = [key + self._pack_rows(some) for key, some in prompts.items()]
            database.add(self._connection, packs)

    def put_prompts(
        self, rows: Iterable[tuple[str, str, str, list[dict[str, str]], str, dict[str, Any] | None]]
    ) -> None:
        """Keep (benchmark, question, variant, messages, target, record), once per key: the newest stays. All or none.

        `record` is what rebuilds the prompt of this question under this variant, or None; it must be JSON's.
        """

        def values() -> Iterator[tuple[object, ...]]:
            for benchmark, question, variant, messages, target, record in rows:
                _check_names(benchmark, question, variant)
                text = _json(messages)
                noted = None if record is None else _json(record)
                yield benchmark, question, variant, self._pack(text), self._pack(target), self._pack(noted)

        with self._turn, telling(self.path / database.NAME):
            database.upsert(self._connection, PROMPTS, values())

    def present(self, benchmark: str, model: str, *, failed: bool = True) -> dict[tuple[str, str], set[int]]:
        """Generations that are there, by (question, variant); `failed=False` leaves failed rows out."""
        with self._turn, telling(self.path / database.NAME):
            cells = self._compacted(benchmark, model, failed=failed)
            newer = live.generations(self._connection, benchmark, model, failed=failed)
            for question, variant, generation in newer:
                cells[question, sys.intern(variant)].add(generation)
            return dict(cells)

    def compact(self) -> None:
        """Move the database's rows to Parquet; memory is bounded by a few row groups.

        Each step leaves a run that reads the same, so a kill between any two loses and doubles nothing.
        """
        with self._turn, telling(self.path / database.NAME):
            for table in (PROMPTS, RESPONSES):
                if not database.is_empty(self._connection, table):
                    file = _file(self._connection, self.path, table)
                    rows = _stream(self._connection, file, table, list(table.types))
                    database.empty(self._connection, table, moved=parquet.write(self.path, table, rows))
            self._settled.clear()
            database.shrink(self._connection)

    def close(self) -> None:
        """Let another process write; a second call does nothing."""
        with self._turn:
            self._connection.close()
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_settled(self, row: Response) -> bool:
        """Whether Parquet has the row's key, and not as a failure."""
        return row.generation in self._settled_of(row.benchmark, row.model).get((row.question, row.variant), ())

    def _settled_of(self, benchmark: str, model: str) -> dict[tuple[str, str], set[int]]:
        if (benchmark, model) not in self._settled:
            self._settled[benchmark, model] = dict(self._compacted(benchmark, model, failed=False))
        return self._settled[benchmark, model]

    def _compacted(self, benchmark: str, model: str, *, failed: bool) -> defaultdict[tuple[str, str], set[int]]:
        file = _file(self._connection, self.path, RESPONSES)
        return parquet.generations(file, benchmark, model, failed=failed) if file else defaultdict(set)


def read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a run as an Arrow table, sorted by key; see `stream`, which does not hold them all in memory."""
    return stream(path, columns).read_all()


def read_prompts(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """All prompts as an Arrow table, sorted by key.

    Columns: benchmark, question, variant, messages (JSON text), target, record (JSON text or null: what rebuilds the
    prompt of one question under one variant, as its label map, order, demonstration ids and hash).
    """
    return _opened(path, PROMPTS, columns).read_all()


def stream(path: Path, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
    """All rows of a run as Arrow batches, sorted by key: what was acknowledged when this was called.

    Parameters
    ----------
    path
        A run folder, compacted or not, also while a writer lives, after a kill, or where nothing can be written.
    columns
        Of `schema.COLUMNS`, in the order wanted; None is all. Only these are read and decompressed (and the key, when
        there are rows in the database and in Parquet). Types are string, int64 and double; None is null.

    Raises
    ------
    StoreError
        When the folder is not a run, or a file of it is torn or missing: names the file and the remedy.
    """
    return _opened(path, RESPONSES, columns)


def _opened(path: Path, table: Table, columns: Sequence[str] | None) -> pa.RecordBatchReader:
    import pyarrow as pa

    for name in columns or ():
        if name not in table.types:
            raise UnknownNameError("column", name, table.types)
    if not is_run(path):
        raise StoreError(f"{path}: not a run folder; give a folder that howsure run or convert made")
    names = list(table.types) if columns is None else list(columns)
    # The database first: what a compaction moves after this is still in the snapshot.
    connection = database.open_to_read(path)
    schema = parquet.arrow_schema(table, names)
    try:
        with telling(path / database.NAME):
            rows = _stream(connection, _file(connection, path, table), table, names)
    except BaseException:
        connection.close()
        raise
    batches = _batches(connection, path, rows, schema)
    next(batches)  # now it holds the connection, and closes it whatever happens
    return pa.RecordBatchReader.from_batches(schema, batches)


def _batches(connection: Connection, path: Path, rows: Iterator[pa.Table], schema: pa.Schema) -> Iterator[Any]:
    with closing(connection), telling(path / database.NAME):
        yield None
        for part in rows:
            yield from part.cast(schema).to_batches()


def _file(connection: Connection, path: Path, table: Table) -> parquet.File | None:
    return parquet.opened(path, table, moved=database.moved(connection, table))


def _stream(connection: Connection, file: parquet.File | None, table: Table, columns: list[str]) -> Iterator[pa.Table]:
    """Rows of the database and of Parquet as Arrow tables, sorted by key, each key once."""
    if file is None:
        return parquet.tables(live.scan(connection, table, columns), table, columns)
    if database.is_empty(connection, table):
        return parquet.row_groups(file, columns)
    names = [*columns, *(name for name in table.key if name not in columns)]
    newer = parquet.tables(live.scan(connection, table, names), table, names)
    both = parquet.merged(newer, parquet.row_groups(file, names), table.key)
    return (part.select(columns) for part in both)


def _claim(path: Path) -> None:
    """Make the folder, or see that it is a run or empty."""
    if path.exists() and not path.is_dir():
        raise StoreError(f"{path}: a file, not a folder; name another folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not is_run(path) and any(not ours(file) for file in path.iterdir()):
            raise StoreError(f"{path}: not empty and not a run; name another folder")
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}; name a folder that can be written") from error


def _check(rows: Sequence[Response], columns: Sequence[Sequence[Any]]) -> None:
    """Refuse a key that is not sound and a score that is not finite, by the different values of each column."""
    if not rows:
        return
    *names, generations, scores = columns[: len(KEY) + 1]
    _check_names(*set().union(*names))
    for generation in set(generations):
        if generation < 1:
            where = _where(rows[generations.index(generation)])
            raise InputError(f"generation must be 1 or more, got {generation}", where=where)
    for score in set(scores) - {None}:
        if not math.isfinite(score):
            remedy = "a row that has nothing to score has score None and says why in error"
            where = _where(rows[scores.index(score)])
            raise InputError(f"score must be finite, got {score}", where=where, remedy=remedy)
    for i in _INTEGERS:
        for value in set(columns[i]) - {None}:
            if not -_LARGEST <= value < _LARGEST:
                where = _where(rows[columns[i].index(value)])
                raise InputError("a row has an integer of more than 64 bits", where=where)


def _where(row: Response) -> str:
    return ", ".join(f"{name} {getattr(row, name)!r}" for name in KEY)


def _check_names(*names: str) -> None:
    # Escaping would make two keys one, and a resumed run would never find the key that it asks for.
    for name in names:
        if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name):
            raise InputError(f"{name!r} has a lone surrogate, which no file can hold", remedy="rename it")
