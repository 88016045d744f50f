"""More scores beside the rows of a run: one Parquet file for each scorer and version, and no row is ever changed.

::

    run/
      scores/
        numeric@1.parquet            key, score, status, answer, rule, error, created; sorted by key
        regex-5f0c3a91@1.parquet     of a name that no file can have; the file itself says which

A score belongs to the row whose key and `created` it has: a row that was sampled again since has none here.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import operator
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from howsure.errors import InputError, StoreError, UnknownNameError
from howsure.store import parquet, responses
from howsure.store.arrays import arrow
from howsure.store.atomic import Lock, leftover, replacing
from howsure.store.database import RESPONSES, Table
from howsure.store.schema import COLUMNS, UNSCORED, VERSION

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FOLDER", "UNSCORED", "Rescored", "names", "stream", "write"]

FOLDER = "scores"

#: Rows that are held at once while a file is written; each is its key and a few short texts.
_ROWS = 16_384
_SCORED = ("score", "status", "answer", "rule", "error")
_TYPES = {name: RESPONSES.types[name] for name in (*RESPONSES.key, *_SCORED, "created")}
_NAME, _VERSION, _WRITTEN = b"howsure.scorer", b"howsure.scorer_version", b"howsure.written"


class Rescored(NamedTuple):
    """What a scorer says of one row; the columns mean what they mean in `schema.Response`."""

    benchmark: str
    model: str
    question: str
    variant: str
    generation: int
    score: float | None = None
    status: str = "ok"
    answer: str | None = None
    rule: str | None = None
    error: str | None = None
    created: float | None = None
    """Of the row."""


class _Column(NamedTuple):
    """A file of scores."""

    scorer: str
    version: str
    written: float
    file: Path

    @property
    def name(self) -> str:
        return f"{self.scorer}@{self.version}"


def write(
    path: Path, scorer: str, version: str, rows: Iterator[Rescored], *, clock: Callable[[], float] = time.time
) -> int:
    """Write the scores of one scorer and version in a run folder, at once and durably; returns the number of rows.

    What other scorers and versions wrote stays. The same version written again takes the place of what it wrote
    before: that is how rows that came since get their scores. When `rows` raises, nothing is written.

    Parameters
    ----------
    path
        A run folder, also one that is being sampled.
    rows
        Sorted by key, each key once, as `responses.stream` has them.
    clock
        Seconds since the epoch; the newest version is the one that was written last.

    Raises
    ------
    StoreError
        When the folder is not a run, cannot be written, or another process is writing scores in it.
    InputError
        When the rows are not sorted by key.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    _check_run(path)
    folder = path / FOLDER
    table = _table(f"{_safe(scorer)}@{_safe(version)}")
    about = {
        parquet.MARK: str(VERSION).encode(),
        _NAME: scorer.encode(),
        _VERSION: version.encode(),
        _WRITTEN: repr(clock()).encode(),
    }
    schema = parquet.arrow_schema(table, list(table.types)).with_metadata(about)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}; give a run folder that can be written") from error
    lock = Lock(folder)
    try:
        for file in leftover(folder):
            file.unlink()
        count = 0
        file = folder / f"{table.name}.parquet"
        with replacing(file) as new, pq.ParquetWriter(new, schema, compression="zstd") as writer:
            for batch in _batches(rows, path):
                values = dict(zip(Rescored._fields, zip(*batch, strict=True), strict=True))
                arrays = [arrow(values[column.name], column.type) for column in schema]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
                count += len(batch)
        return count
    finally:
        lock.release()


def names(path: Path) -> list[str]:
    """The score columns of a run folder as NAME@VERSION, those that were written last first."""
    return [column.name for column in _columns(path)]


def stream(path: Path, columns: Sequence[str] | None, scorer: str) -> pa.RecordBatchReader:
    """All rows of a run as `responses.stream` has them, with what a scorer says in place of what they came with.

    That is score, status, answer, rule and error. A row that the scorer has not seen has score None and status
    "unscored". Memory is bounded by a few batches.

    Parameters
    ----------
    scorer
        NAME@VERSION, or NAME: then the version that was written last.

    Raises
    ------
    UnknownNameError
        When the folder has no such column of scores, or a column does not exist.
    StoreError
        When the folder is not a run, or a file of it is torn.
    """
    import pyarrow as pa

    wanted = list(COLUMNS) if columns is None else list(columns)
    for name in wanted:
        if name not in RESPONSES.types:
            raise UnknownNameError("column", name, RESPONSES.types)
    found = _find(path, scorer)
    kept = [name for name in (*RESPONSES.key, "created", *wanted) if name not in _SCORED]
    rows = responses.stream(path, list(dict.fromkeys(kept)))
    scored = _tables(found)
    schema = parquet.arrow_schema(RESPONSES, wanted)

    def batches() -> Iterator[pa.RecordBatch]:
        with rows:
            for part in _joined(rows, scored):
                yield from part.select(wanted).cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def _check_run(path: Path) -> None:
    if not responses.is_run(path):
        raise StoreError(f"{path}: not a run folder; give a folder that howsure run or convert made")


def _table(name: str) -> Table:
    return Table(name, RESPONSES.key, _TYPES)


def _safe(name: str) -> str:
    """The name where every file system takes it, else what it begins with and its hash."""
    if re.fullmatch(r"[a-z0-9][a-z0-9.+_-]{0,59}", name):
        return name
    start = re.match(r"[a-z0-9_-]{0,20}", name)
    assert start is not None
    return f"{start[0] or 'scorer'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _batches(rows: Iterator[Rescored], path: Path) -> Iterator[list[Rescored]]:
    key = operator.itemgetter(*map(Rescored._fields.index, RESPONSES.key))
    last: list[Any] = []
    while batch := list(itertools.islice(rows, _ROWS)):
        keys = [*last, *map(key, batch)]
        for before, after in itertools.pairwise(keys):
            if not before < after:
                raise InputError(f"the score of {after} comes after that of {before}", where=str(path), remedy="sort")
        last = keys[-1:]
        yield batch


def _columns(path: Path) -> list[_Column]:
    _check_run(path)
    found = []
    for file in sorted((path / FOLDER).glob("*.parquet")):
        opened = parquet.opened(file.parent, _table(file.stem))
        about = opened.parquet.metadata.metadata if opened else {}
        if _NAME not in about:
            raise StoreError(f"{file}: no scores of a scorer; move it away")
        scorer, version = about[_NAME].decode(), about[_VERSION].decode()
        found.append(_Column(scorer, version, float(about[_WRITTEN]), file))
    return sorted(found, key=lambda column: (-column.written, column.name))


def _find(path: Path, scorer: str) -> _Column:
    columns = _columns(path)
    # A pattern may have an @ of its own: the whole name is tried first.
    for column in [c for c in columns if c.name == scorer] + [c for c in columns if c.scorer == scorer]:
        return column
    raise UnknownNameError("scorer", scorer, [column.name for column in columns], where=str(path))


def _tables(column: _Column) -> Iterator[pa.Table]:
    table = _table(column.file.stem)
    opened = parquet.opened(column.file.parent, table)
    assert opened is not None
    return parquet.row_groups(opened, list(table.types))


def _joined(rows: pa.RecordBatchReader, scored: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Each batch of rows with its scores; both streams are sorted by key, and one batch of each is held."""
    import pyarrow as pa

    waiting = next(scored, None)
    for batch in rows:
        if not len(batch):
            continue
        part = pa.Table.from_batches([batch])
        end = _key(part, len(part) - 1)
        near = []
        while waiting is not None and len(waiting):
            count = bisect.bisect_right(range(len(waiting)), end, key=partial(_key, waiting))
            near.append(waiting[:count])
            if count < len(waiting):
                waiting = waiting[count:]
                break
            waiting = next(scored, None)
        yield _with_scores(part, near)


def _key(table: pa.Table, row: int) -> tuple[Any, ...]:
    return tuple(table[name][row].as_py() for name in RESPONSES.key)


def _with_scores(part: pa.Table, near: list[pa.Table]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    scores = pa.concat_tables(near) if near else _nothing()
    place = arrow(range(len(part)), pa.int64())
    asked = part.select(list(RESPONSES.key)).append_column("place", place).append_column("made", part["created"])
    both = asked.join(scores, keys=list(RESPONSES.key), join_type="left outer").sort_by("place")
    # Sampled again since: what is here was said of another completion.
    same = pc.or_(
        pc.fill_null(pc.equal(both["created"], both["made"]), False),
        pc.and_(both["created"].is_null(), both["made"].is_null()),
    )
    seen = pc.and_(both["status"].is_valid(), same)
    for name in _SCORED:
        nothing = pa.scalar(UNSCORED if name == "status" else None, both[name].type)
        part = part.append_column(name, pc.if_else(seen, both[name], nothing))
    return part


def _nothing() -> pa.Table:
    return parquet.arrow_schema(_table(""), list(_TYPES)).empty_table()
