"""Append, compact and read the rows of a run folder; a kill at any moment loses no acknowledged row.

::

    run/
      manifest.json        what is needed to repeat the run (`store.manifest`)
      responses.sqlite     rows, in blocks (`store.row_blocks`), and prompts, with -wal and -shm
      responses.parquet    rows once compacted, sorted by benchmark, model, question, variant, generation
      prompts.parquet      prompts once compacted, sorted by benchmark, question, variant

A row is in the database until a complete Parquet file with it has replaced the old file, and is deleted from the
database after that. After a kill in between it is in both; readers and the next compaction then use the row in the
database.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import astuple

from howsure.errors import HowsureError, InputError, StoreError, UnknownNameError, first_line
from howsure.store import database, parquet_files
from howsure.store.atomic import FolderLock, find_leftovers, flush_folder, is_own_file
from howsure.store.database import PROMPTS, RESPONSES, TableSchema, translate_errors
from howsure.store.row_blocks import SHARED_KEY, build_block_encoder, build_text_encoder
from howsure.store.schema import KEY, Response

if TYPE_CHECKING:
    import pyarrow as pa

_to_json = json.JSONEncoder(ensure_ascii=False).encode
#: Integers in SQLite and Arrow have 64 bits.
_LARGEST = 2**63
_INTEGERS = [i for i, kind in enumerate(RESPONSES.types.values()) if kind == "INTEGER"]


def is_run(path: Path) -> bool:
    """Return whether the folder is a run: it has a database, or a manifest and a Parquet file."""
    if (path / database.NAME).is_file():
        return True
    return (path / "manifest.json").is_file() and (path / "responses.parquet").is_file()


class RunFolder:
    """The only writer of a run folder; threads may share it, and readers do not wait for it.

    It creates a missing folder. Open it before `Manifest.save`, because it holds the lock of the folder.

    Raises
    ------
    StoreError
        When another process writes the folder, when it has files but is not a run, or when it has another schema.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as base:
    ...     folder = RunFolder(Path(base, "run"))
    ...     folder.append([Response("sums", "m", "q1", "default", generation=1, score=1.0)])
    ...     folder.close()
    ...     read(Path(base, "run"), ["model", "score"]).to_pylist()
    [{'model': 'm', 'score': 1.0}]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn, self._files = threading.RLock(), [f"{path / database.NAME}{end}" for end in ("", "-shm")]
        self._encode_text, self._encode_block = build_text_encoder(), build_block_encoder()
        self._settled: dict[tuple[str, str], dict[tuple[str, str], set[int]]] = {}
        _claim_folder(path)
        self._lock = FolderLock(path)
        try:
            for file in find_leftovers(path):
                file.unlink()
            self._connection = database.open_to_write(path)
        except BaseException:
            self._lock.release()
            raise
        try:
            flush_folder(path)
            with translate_errors(path / database.NAME):
                for table in (RESPONSES, PROMPTS):
                    _open_file(self._connection, path, table)
        except BaseException:
            self.close()
            raise

    def append(self, rows: Sequence[Response]) -> None:
        """Add rows in one transaction; they are on disk when this returns.

        If a key exists already, the new row is ignored, unless the old row failed (`score` is None or `error` is not).
        NUL is kept, lone surrogates are escaped (`store.row_blocks`). Batches of 200 to 1,000 rows in which the rows
        of a prompt are adjacent are fastest.

        Raises
        ------
        InputError
            When a score is not finite or a key is not allowed; no row of the batch is added.
        """
        with self._turn, translate_errors(self.path / database.NAME):
            values = list(map(astuple, rows))
            columns = list(zip(*values, strict=True))
            _check_rows(rows, columns)
            if any(self._find_settled(*name) for name in set(zip(*columns[:2], strict=True))):
                values = [astuple(row) for row in rows if not self._is_settled(row)]
            prompts: defaultdict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
            for value in values:
                prompts[value[: len(SHARED_KEY)]].append(value[len(SHARED_KEY) :])
            blocks = [key + self._encode_block(some) for key, some in prompts.items()]
            if any(os.access(file, os.F_OK) and not os.access(file, os.W_OK) for file in self._files):
                # SQLite would be ended without a word, as its mapped file cannot grow.
                raise StoreError(f"{self.path}: cannot be written any more; make it writable and run again")
            self._lock.record_count(database.insert_blocks(self._connection, blocks))

    def put_prompts(
        self, rows: Iterable[tuple[str, str, str, list[dict[str, str]], str, Mapping[str, object] | None]]
    ) -> None:
        """Store prompts in one transaction; a prompt replaces an existing one with the same key.

        Parameters
        ----------
        rows
            Benchmark, question, variant, messages, target, and record: JSON data from which the prompt can be built
            again, or None.
        """

        def values() -> Iterator[tuple[object, ...]]:
            for benchmark, question, variant, messages, target, record in rows:
                _check_names(benchmark, question, variant)
                texts = (_to_json(messages), target, None if record is None else _to_json(record))
                yield (benchmark, question, variant, *map(self._encode_text, texts))

        with self._turn, translate_errors(self.path / database.NAME):
            database.replace_rows(self._connection, PROMPTS, values())

    def present(self, benchmark: str, model: str, *, failed: bool = True) -> dict[tuple[str, str], set[int]]:
        """Return the stored generations by (question, variant); `failed=False` omits failed rows."""
        with self._turn, translate_errors(self.path / database.NAME):
            cells = self._read_parquet(benchmark, model, failed=failed)
            newer = database.read_generations(self._connection, benchmark, model, failed=failed)
            for question, variant, generation in newer:
                cells[question, sys.intern(variant)].add(generation)
            return dict(cells)

    def compact(self) -> None:
        """Move the rows of the database to Parquet; memory is bounded by a few row groups.

        Readers see the same rows after each step, so a kill between two steps neither loses nor doubles a row.
        """
        with self._turn, translate_errors(self.path / database.NAME):
            for table in (PROMPTS, RESPONSES):
                if not database.is_empty(self._connection, table):
                    file = _open_file(self._connection, self.path, table)
                    rows = _stream(self._connection, file, table, list(table.types))
                    if table is RESPONSES:
                        self._lock.record_count(0)
                    database.clear_rows(self._connection, table, moved=parquet_files.write_file(self.path, table, rows))
            self._settled.clear()
            database.shrink_file(self._connection)

    def close(self) -> None:
        """Release the lock of the folder; a second call has no effect."""
        with self._turn:
            self._connection.close()
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_settled(self, row: Response) -> bool:
        """Return whether the Parquet file has a row with this key that did not fail."""
        return row.generation in self._find_settled(row.benchmark, row.model).get((row.question, row.variant), ())

    def _find_settled(self, benchmark: str, model: str) -> dict[tuple[str, str], set[int]]:
        """Return the generations in Parquet that did not fail, by (question, variant)."""
        if (benchmark, model) not in self._settled:
            self._settled[benchmark, model] = dict(self._read_parquet(benchmark, model, failed=False))
        return self._settled[benchmark, model]

    def _read_parquet(self, benchmark: str, model: str, *, failed: bool) -> defaultdict[tuple[str, str], set[int]]:
        """Return the generations in Parquet, by (question, variant)."""
        file = _open_file(self._connection, self.path, RESPONSES)
        return parquet_files.read_generations(file, benchmark, model, failed=failed) if file else defaultdict(set)


def read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return all rows of a run as an Arrow table, sorted by key; use `stream` if they do not fit in memory."""
    return stream(path, columns).read_all()


def read_prompts(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return all prompts as an Arrow table, sorted by key.

    The columns are benchmark, question, variant, messages (JSON text), target, and record (JSON text or null), from
    which the prompt can be built again: its label map, order, demonstration ids and hash.
    """
    return _open_rows(path, PROMPTS, columns).read_all()


def stream(path: Path, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
    """Return the rows of a run that were acknowledged before this call as Arrow batches, sorted by key.

    Parameters
    ----------
    path
        A run folder, compacted or not. It may be written at the same time, or be on a read-only medium.
    columns
        Names from `schema.COLUMNS`, in the desired order; None takes all. Only these columns are read and decompressed,
        and the key if there are rows both in the database and in Parquet. Types are string, int64 and double.

    Raises
    ------
    StoreError
        When the folder is not a run, or one of its files is damaged or missing.
    """
    return _open_rows(path, RESPONSES, columns)


def iterate_batches(reader: pa.RecordBatchReader) -> Iterator[list[Response]]:
    """Yield the rows of each batch, and close the reader at the end.

    Parameters
    ----------
    reader
        What `stream` or `scorer_files.stream_rows` returned for columns that include those of `schema.KEY`. The other
        columns have their defaults.
    """
    with reader:
        for batch in reader:
            names = batch.schema.names
            columns = (column.to_pylist() for column in batch.columns)
            yield [Response(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)]


def iterate_rows(reader: pa.RecordBatchReader) -> Iterator[Response]:
    """Yield the rows of all batches one after the other, and close the reader at the end; see `iterate_batches`."""
    for batch in iterate_batches(reader):
        yield from batch


def _open_rows(path: Path, table: TableSchema, columns: Sequence[str] | None) -> pa.RecordBatchReader:
    """Open the rows of a table of a run, sorted by key."""
    import pyarrow as pa

    for name in columns or ():
        if name not in table.types:
            raise UnknownNameError("column", name, table.types)
    if not is_run(path):
        raise StoreError(f"{path}: not a run folder; give a folder that howsure run or convert made")
    names = list(table.types) if columns is None else list(columns)
    # Open the database first: its snapshot still has the rows that a compaction moves to Parquet after this.
    connection = database.open_to_read(path)
    schema = parquet_files.build_arrow_schema(table, names)
    try:
        with translate_errors(path / database.NAME):
            rows = _stream(connection, _open_file(connection, path, table), table, names)
    except BaseException:
        connection.close()
        raise
    batches = _stream_batches(connection, path, rows, schema)
    next(batches)  # from now on the generator closes the connection, also after an error
    return pa.RecordBatchReader.from_batches(schema, batches)


def _stream_batches(connection: Connection, path: Path, rows: Iterator[pa.Table], schema: pa.Schema) -> Iterator[Any]:
    """Yield None once, and then the rows as Arrow batches; close the connection at the end."""
    with closing(connection), translate_errors(path / database.NAME):
        yield None
        try:
            for part in rows:
                yield from part.cast(schema).to_batches()
        except (TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
            if isinstance(error, HowsureError):
                raise
            # The values are of another type or number than any that were written here.
            what = f"malformed rows ({first_line(error)})"
            raise StoreError(
                f"{path / database.NAME}: {what}; restore it from a copy, or use another folder"
            ) from error


def _open_file(connection: Connection, path: Path, table: TableSchema) -> parquet_files.OpenFile | None:
    """Open the Parquet file of a table; None when there is none."""
    return parquet_files.open_file(path, table, moved=database.count_moved(connection, table))


def _stream(
    connection: Connection, file: parquet_files.OpenFile | None, table: TableSchema, columns: list[str]
) -> Iterator[pa.Table]:
    """Return the rows of the database and of Parquet as Arrow tables, sorted by key, each key once."""
    if file is None:
        return parquet_files.convert_batches(database.read_batches(connection, table, columns), table, columns)
    if database.is_empty(connection, table):
        return parquet_files.read_row_groups(file, columns)
    names = [*columns, *(name for name in table.key if name not in columns)]
    newer = parquet_files.convert_batches(database.read_batches(connection, table, names), table, names)
    both = parquet_files.merge_sorted(newer, parquet_files.read_row_groups(file, names), table.key)
    return (part.select(columns) for part in both)


def _claim_folder(path: Path) -> None:
    """Create the folder, or check that it is empty or a run."""
    if path.exists() and not path.is_dir():
        raise StoreError(f"{path}: a file, not a folder; name another folder")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)  # prompts and answers are the user's own
        if not is_run(path) and any(not is_own_file(file) for file in path.iterdir()):
            raise StoreError(f"{path}: not empty and not a run; name another folder")
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}; name a folder that can be written") from error


def _check_rows(rows: Sequence[Response], columns: Sequence[Sequence[Any]]) -> None:
    """Raise InputError for a key that is not allowed or a score that is not finite."""
    if not rows:
        return
    *names, generations, scores = columns[: len(KEY) + 1]
    _check_names(*set().union(*names))
    for generation in set(generations):
        if generation < 1:
            where = _describe_key(rows[generations.index(generation)])
            raise InputError(f"generation must be 1 or more, got {generation}", where=where)
    for score in set(scores) - {None}:
        if not math.isfinite(score):
            remedy = "a row that has nothing to score has score None and says why in error"
            where = _describe_key(rows[scores.index(score)])
            raise InputError(f"score must be finite, got {score}", where=where, remedy=remedy)
    for i in _INTEGERS:
        for value in set(columns[i]) - {None}:
            if not -_LARGEST <= value < _LARGEST:
                where = _describe_key(rows[columns[i].index(value)])
                raise InputError("a row has an integer of more than 64 bits", where=where)


def _describe_key(row: Response) -> str:
    """Return the key of a row, for messages."""
    return ", ".join(f"{name} {getattr(row, name)!r}" for name in KEY)


def _check_names(*names: str) -> None:
    """Raise InputError for a name with a lone surrogate."""
    # Such a name is not escaped, because two keys could become equal and a resumed run would not find its key.
    for name in names:
        if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name):
            raise InputError(f"{name!r} has a lone surrogate, which no file can hold", remedy="rename it")
