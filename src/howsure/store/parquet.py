"""The Parquet files of a run that is finished: sorted by key, replaced whole, merged with what came later.

Row groups are small, so that one question is found by the bounds of their keys and read without its neighbours; whoever
reads everything reads many of them at once. Footers are read once in a process.
"""

from __future__ import annotations

import bisect
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from howsure.errors import StoreError
from howsure.store.arrays import arrow, numbers
from howsure.store.atomic import replacing
from howsure.store.database import Table, check_version
from howsure.store.schema import VERSION

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["File", "arrow_schema", "generations", "holding", "merged", "opened", "row_groups", "tables", "write"]

#: A row group ends at so many bytes or rows, and at twice as many after each `GROUPS`, up to what is read at once:
#: what a footer takes (9 kB of memory per group) stays bounded however long the file becomes.
GROUP_BYTES, GROUP_ROWS, GROUPS = 2 << 20, 2048, 4096
#: Row groups are read together up to so many bytes or rows: readers and compaction hold that at a time.
READ_BYTES, READ_ROWS = 8 << 20, 32_768
#: Footers that a process remembers.
FOOTERS = 8

MARK = b"howsure.schema"
REMEDY = "restore it from a copy of this run"


class Footer:
    """What is known of a Parquet file once it was opened: its metadata, and the bounds of its row groups by column."""

    def __init__(self) -> None:
        self.metadata: pq.FileMetaData | None = None
        self.bounds: dict[str, tuple[pa.Array, pa.Array]] = {}


class File(NamedTuple):
    """A Parquet file that is open."""

    path: Path
    parquet: pq.ParquetFile
    footer: Footer


def arrow_schema(table: Table, columns: Sequence[str]) -> pa.Schema:
    """The columns as an Arrow schema: string, int64 and double."""
    import pyarrow as pa

    types = {"TEXT": pa.string(), "INTEGER": pa.int64(), "REAL": pa.float64()}
    return pa.schema([pa.field(name, types[table.types[name]]) for name in columns])


def opened(folder: Path, table: Table, *, moved: int = 0) -> File | None:
    """The table's file, or None when nothing was ever moved to it.

    Raises
    ------
    StoreError
        When the file is torn, foreign, of a newer schema, or has fewer rows than the `moved` that the database counted.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"{table.name}.parquet"
    if not path.exists():
        if moved:
            raise StoreError(f"{path}: missing, with {moved:,} rows; {REMEDY}")
        return None
    try:
        source = pa.OSFile(str(path))
        about = os.fstat(source.fileno())
        footer = _footer(str(path), about.st_ino, about.st_size, about.st_mtime_ns)
        file = pq.ParquetFile(source, metadata=footer.metadata)
        footer.metadata = file.metadata
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path}: torn or unreadable ({_first_line(error)}); {REMEDY}") from error
    mark = (file.metadata.metadata or {}).get(MARK, b"")
    if not mark.isdigit():
        raise StoreError(f"{path}: not written by howsure; move it away, or read it as a table of its own")
    check_version(int(mark), path)
    if file.metadata.num_rows < moved:
        raise StoreError(f"{path}: an older copy, {file.metadata.num_rows:,} of {moved:,} rows; {REMEDY}")
    return File(path, file, footer)


@lru_cache(maxsize=FOOTERS)
def _footer(path: str, inode: int, size: int, changed: int) -> Footer:  # noqa: ARG001  what tells a file from its heir
    return Footer()


def tables(batches: Iterable[Sequence[Sequence[Any]]], table: Table, columns: list[str]) -> Iterator[pa.Table]:
    """Batches of rows, by column, as Arrow tables."""
    import pyarrow as pa

    schema = arrow_schema(table, columns)
    for values in batches:
        arrays = [arrow(column, kind) for column, kind in zip(values, schema.types, strict=True)]
        yield pa.Table.from_arrays(arrays, schema=schema)


def row_groups(file: File, columns: list[str], groups: Iterable[int] | None = None) -> Iterator[pa.Table]:
    """The rows of row groups, several of them at a time; columns that the file's version does not have are null."""
    import pyarrow as pa

    held = set(file.parquet.schema_arrow.names)
    there = [name for name in columns if name in held]
    for some in _runs(file, range(file.parquet.num_row_groups) if groups is None else groups):
        try:
            part = file.parquet.read_row_groups(some, columns=there)
        except (pa.ArrowException, OSError) as error:
            which = f"s {some[0]} to {some[-1]} are" if len(some) > 1 else f" {some[0]} is"
            told = f"row group{which} unreadable ({_first_line(error)})"
            raise StoreError(f"{file.path}: {told}; {REMEDY}") from error
        for name in columns:
            if name not in held:
                part = part.append_column(name, pa.nulls(part.num_rows, pa.string()))
        yield part.select(columns)


def _runs(file: File, groups: Iterable[int]) -> Iterator[list[int]]:
    """The row groups, as many together as are read at once."""
    some: list[int] = []
    size = rows = 0
    for group in groups:
        about = file.parquet.metadata.row_group(group)
        if some and (size + about.total_byte_size > READ_BYTES or rows + about.num_rows > READ_ROWS):
            yield some
            some, size, rows = [], 0, 0
        some.append(group)
        size, rows = size + about.total_byte_size, rows + about.num_rows
    if some:
        yield some


def holding(file: File, values: Mapping[str, str]) -> list[int]:
    """Row groups whose bounds leave room for rows with these values in these columns of the key."""
    import pyarrow as pa
    import pyarrow.compute as pc

    room = []
    for name, text in values.items():
        low, high = _bounds(file, name)
        value = arrow([text], pa.string())[0]
        within = pc.and_(pc.less_equal(low, value), pc.greater_equal(high, value))
        room.append(pc.coalesce(within, low.is_null()))
    return [int(group) for group in numbers(pc.indices_nonzero(reduce(pc.and_, room)))]


def _bounds(file: File, name: str) -> tuple[pa.Array, pa.Array]:
    """Lowest and highest value of a column in each row group; null where its statistics do not say."""
    import pyarrow as pa

    if name not in file.footer.bounds:
        about, i = file.parquet.metadata, file.parquet.schema_arrow.get_field_index(name)
        known = [about.row_group(group).column(i).statistics for group in range(about.num_row_groups)]
        ends = [(one.min, one.max) if one is not None and one.has_min_max else (None, None) for one in known]
        low, high = zip(*ends, strict=True) if ends else ((), ())
        file.footer.bounds[name] = arrow(low, pa.string()), arrow(high, pa.string())
    return file.footer.bounds[name]


def generations(file: File, benchmark: str, model: str, *, failed: bool) -> defaultdict[tuple[str, str], set[int]]:
    """Generations of a benchmark and model, by (question, variant)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    columns = ["benchmark", "model", "question", "variant", "generation", *([] if failed else ["score", "error"])]
    names = [("benchmark", arrow([benchmark], pa.string())), ("model", arrow([model], pa.string()))]
    for group in row_groups(file, columns, holding(file, {"benchmark": benchmark, "model": model})):
        wanted = pc.and_(*(pc.is_in(group[name], value_set=only) for name, only in names))
        if not failed:
            wanted = pc.and_(wanted, pc.and_(group["score"].is_valid(), group["error"].is_null()))
        part = group.filter(wanted).combine_chunks()
        if not len(part):
            continue
        starts = [0, *(numbers(pc.indices_nonzero(_changes(part, ("question", "variant")))) + 1).tolist()]
        ends = [*starts[1:], len(part)]
        there = part["generation"].to_pylist()
        firsts = part.select(["question", "variant"]).take(arrow(starts, pa.int64())).to_pydict().values()
        for question, variant, start, end in zip(*firsts, starts, ends, strict=True):
            cells[question, sys.intern(variant)].update(there[start:end])
    return cells


def _changes(part: pa.Table, columns: Sequence[str]) -> Any:
    """For each row but the first: whether any of the columns differs from the row before."""
    import pyarrow.compute as pc

    held = [part[name].combine_chunks() for name in columns]
    return reduce(pc.or_, (pc.not_equal(column[1:], column[:-1]) for column in held))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]


def merged(newer: Iterator[pa.Table], older: Iterator[pa.Table], key: Sequence[str]) -> Iterator[pa.Table]:
    """Two streams of Arrow tables, each sorted and unique by `key`, as one that is; newer wins where a key is in both.

    Holds one table of each stream.
    """
    new, old = next(newer, None), next(older, None)
    while new is not None and old is not None:
        # Up to the nearer of the two ends nothing more can come from either stream.
        end = min(_key(new, len(new) - 1, key), _key(old, len(old) - 1, key))
        i, j = _count(new, end, key), _count(old, end, key)
        yield _latest(new[:i], old[:j], key)
        new = new[i:] if i < len(new) else next(newer, None)
        old = old[j:] if j < len(old) else next(older, None)
    for table in (new, old):
        if table is not None:
            yield table
    yield from newer
    yield from older


def _key(table: pa.Table, row: int, key: Sequence[str]) -> tuple[Any, ...]:
    return tuple(table.column(name)[row].as_py() for name in key)


def _count(table: pa.Table, end: tuple[Any, ...], key: Sequence[str]) -> int:
    """How many rows have a key up to and including `end`."""
    return bisect.bisect_right(range(len(table)), end, key=lambda row: _key(table, row, key))


def _latest(new: pa.Table, old: pa.Table, key: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    if not len(new) or not len(old):
        return new if len(new) else old
    both = pa.concat_tables([new, old])
    age = arrow([0] * len(new) + [1] * len(old), pa.int64())
    both = both.append_column("", age).sort_by([(name, "ascending") for name in (*key, "")])
    first = pa.concat_arrays([both[""].combine_chunks()[:1].is_valid(), _changes(both, key)])
    return both.drop_columns([""]).filter(first)


def write(folder: Path, table: Table, rows: Iterator[pa.Table]) -> int:
    """Replace the table's file, durably and at once, by the rows of a sorted stream; returns their number."""
    import pyarrow.parquet as pq

    schema = arrow_schema(table, list(table.types)).with_metadata({MARK: str(VERSION).encode()})
    # A dictionary pays for what repeats; completions do not. Bounds are asked of the key only.
    repeated = [name for name in table.types if name not in {"completion", "messages"}]
    with replacing(folder / f"{table.name}.parquet") as new:
        with pq.ParquetWriter(
            new, schema, compression="zstd", use_dictionary=repeated, write_statistics=list(table.key)
        ) as writer:
            for group in _groups(rows):
                # Not a cast where none is needed: it imports pyarrow.compute, for 30 ms.
                writer.write_table(group if group.schema.equals(schema) else group.cast(schema))
        return int(pq.read_metadata(new).num_rows)


def _groups(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of the size of a row group."""
    import pyarrow as pa

    held: list[pa.Table] = []
    size = rows = number = 0
    for table in tables:
        held.append(table)
        size, rows = size + table.nbytes, rows + len(table)
        while rows and (size >= _most(GROUP_BYTES, READ_BYTES, number) or rows >= _most(GROUP_ROWS, READ_ROWS, number)):
            whole = pa.concat_tables(held)
            share = _most(GROUP_BYTES, READ_BYTES, number) * rows // max(size, 1)
            end = max(1, min(share, _most(GROUP_ROWS, READ_ROWS, number)))
            yield whole[:end]
            held, number = [whole[end:]], number + 1
            size, rows = held[0].nbytes, len(held[0])
    if rows:
        yield pa.concat_tables(held)


def _most(first: int, last: int, number: int) -> int:
    """Of row group `number`: twice as much after every `GROUPS`."""
    return min(first << min(number // GROUPS, 16), last)
