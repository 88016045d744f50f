"""Read and write the Parquet files of a run, which are sorted by key, and merge them with rows of the database.

A file is never changed but replaced as a whole. Row groups are small, so that one question is found by the bounds of
the keys of each row group and read without many other rows; a reader of all rows reads many row groups at once. Footers
are read once in a process.

Row groups are selected here and not by pyarrow.dataset. Measured on 600,000 rows in 293 row groups: a question takes
0.10 s here, 0.09 to 0.14 s with a dataset that is kept open and 0.17 to 0.19 s with one that is opened for it, and
importing pyarrow.dataset takes 0.3 to 0.7 s more.
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

from howsure.errors import StoreError, first_line
from howsure.store.atomic import replace_file
from howsure.store.database import TableSchema, check_version
from howsure.store.row_blocks import to_arrow, to_numpy
from howsure.store.schema import TEXTS, VERSION

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

#: A row group ends at so many bytes or rows, and at twice as many after each `GROUPS` row groups, up to what is read at
#: once. This bounds the size of the footer (9 kB of memory per row group) for files of any length.
GROUP_BYTES, GROUP_ROWS, GROUPS = 2 << 20, 2048, 4096
#: Row groups are read together up to so many bytes or rows; readers and compaction hold this amount in memory.
READ_BYTES, READ_ROWS = 8 << 20, 32_768
#: Number of footers that a process caches.
FOOTERS = 8

MARK = b"howsure.schema"
REMEDY = "restore it from a copy of this run"
#: Columns that files of older versions lack.
_ADDED = frozenset({"reasoning"})


class Footer:
    """The metadata of a Parquet file, and the bounds of its row groups for the columns that were read."""

    def __init__(self) -> None:
        self.metadata: pq.FileMetaData | None = None
        self.bounds: dict[str, tuple[pa.Array, pa.Array]] = {}


class OpenFile(NamedTuple):
    """An open Parquet file."""

    path: Path
    parquet: pq.ParquetFile
    footer: Footer


def build_arrow_schema(table: TableSchema, columns: Sequence[str]) -> pa.Schema:
    """Return the columns as an Arrow schema: string, int64 and double."""
    import pyarrow as pa

    types = {"TEXT": pa.string(), "INTEGER": pa.int64(), "REAL": pa.float64()}
    return pa.schema([pa.field(name, types[table.types[name]]) for name in columns])


def open_file(folder: Path, table: TableSchema, *, moved: int = 0) -> OpenFile | None:
    """Open the file of a table; return None if no rows were ever moved to it.

    Raises
    ------
    StoreError
        When the file is damaged, comes from another program, has another schema, or has fewer rows than the database
        counted (`moved`).
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"{table.name}.parquet"
    if not path.exists():
        if moved:
            raise StoreError(f"{path}: missing, with {moved:,} rows; {REMEDY}")
        return None
    try:
        source, about = _open_source(path)
        footer = _read_footer(str(path), about.st_ino, about.st_size, about.st_mtime_ns)
        file = pq.ParquetFile(source, metadata=footer.metadata, page_checksum_verification=True)
        footer.metadata = file.metadata
        names = set(file.schema_arrow.names)
    except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: a name that is not UTF-8
        raise StoreError(f"{path}: damaged or unreadable ({first_line(error)}); {REMEDY}") from error
    mark = (file.metadata.metadata or {}).get(MARK, b"")
    if not mark.isdigit():
        raise StoreError(f"{path}: not written by howsure; move it away, or read it as a table of its own")
    check_version(int(mark), path)
    if missing := table.types.keys() - names - _ADDED:
        raise StoreError(f"{path}: damaged (no column {min(missing)!r}); {REMEDY}")
    if file.metadata.num_rows < moved:
        raise StoreError(f"{path}: an older copy, {file.metadata.num_rows:,} of {moved:,} rows; {REMEDY}")
    return OpenFile(path, file, footer)


def _open_source(path: Path) -> tuple[pa.OSFile, os.stat_result]:
    """Open a file and return it with its inode, size and time; again where it was replaced meanwhile."""
    import pyarrow as pa

    while True:
        # OSFile.fileno raises AttributeError in pyarrow 18 to 22, so the name is looked up before and after.
        about = path.stat()
        source = pa.OSFile(str(path))
        after = path.stat()
        if (about.st_ino, about.st_size, about.st_mtime_ns) == (after.st_ino, after.st_size, after.st_mtime_ns):
            return source, about
        source.close()


@lru_cache(maxsize=FOOTERS)
def _read_footer(path: str, inode: int, size: int, changed: int) -> Footer:
    """Return the footer of a file; the arguments distinguish the file from the one that replaces it."""
    del path, inode, size, changed  # the key of the cache
    return Footer()


def convert_batches(
    batches: Iterable[Sequence[Sequence[object]]], table: TableSchema, columns: list[str]
) -> Iterator[pa.Table]:
    """Yield batches of rows, by column, as Arrow tables."""
    import pyarrow as pa

    schema = build_arrow_schema(table, columns)
    for values in batches:
        arrays = [to_arrow(column, kind) for column, kind in zip(values, schema.types, strict=True)]
        yield pa.Table.from_arrays(arrays, schema=schema)


def read_row_groups(file: OpenFile, columns: list[str], groups: Iterable[int] | None = None) -> Iterator[pa.Table]:
    """Yield the rows of some row groups, or of all, several row groups at a time."""
    import pyarrow as pa

    names = file.parquet.schema_arrow.names
    present = [name for name in columns if name in names] or names[:1]
    for some in _join_row_groups(file, range(file.parquet.num_row_groups) if groups is None else groups):
        try:
            part = file.parquet.read_row_groups(some, columns=present)
        except (pa.ArrowException, OSError) as error:
            which = f"s {some[0]} to {some[-1]} are" if len(some) > 1 else f" {some[0]} is"
            what = f"row group{which} unreadable ({first_line(error)})"
            raise StoreError(f"{file.path}: {what}; {REMEDY}") from error
        for name in _ADDED.intersection(columns).difference(present):
            part = part.append_column(name, pa.nulls(len(part), pa.string()))
        yield part.select(columns)


def _join_row_groups(file: OpenFile, groups: Iterable[int]) -> Iterator[list[int]]:
    """Yield lists of row groups that are read together."""
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


def find_row_groups(file: OpenFile, values: Mapping[str, str]) -> list[int]:
    """Return the row groups whose bounds allow rows with these values in these columns of the key."""
    import pyarrow as pa
    import pyarrow.compute as pc

    possible = []
    for name, text in values.items():
        low, high = _find_bounds(file, name)
        value = to_arrow([text], pa.string())[0]
        within = pc.and_(pc.less_equal(low, value), pc.greater_equal(high, value))
        possible.append(pc.coalesce(within, low.is_null()))
    return [int(group) for group in to_numpy(pc.indices_nonzero(reduce(pc.and_, possible)))]


def _find_bounds(file: OpenFile, name: str) -> tuple[pa.Array, pa.Array]:
    """Return the lowest and highest value of a column in each row group; null where it has no statistics."""
    import pyarrow as pa

    if name not in file.footer.bounds:
        about, i = file.parquet.metadata, file.parquet.schema_arrow.get_field_index(name)
        statistics = [about.row_group(group).column(i).statistics for group in range(about.num_row_groups)]
        ends = [(one.min, one.max) if one is not None and one.has_min_max else (None, None) for one in statistics]
        low, high = zip(*ends, strict=True) if ends else ((), ())
        file.footer.bounds[name] = to_arrow(low, pa.string()), to_arrow(high, pa.string())
    return file.footer.bounds[name]


def read_generations(
    file: OpenFile, benchmark: str, model: str, *, failed: bool
) -> defaultdict[tuple[str, str], set[int]]:
    """Return the generations of a benchmark and model, by (question, variant); include failed ones if `failed`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    columns = ["benchmark", "model", "question", "variant", "generation", *([] if failed else ["score", "error"])]
    names = [("benchmark", to_arrow([benchmark], pa.string())), ("model", to_arrow([model], pa.string()))]
    for group in read_row_groups(file, columns, find_row_groups(file, {"benchmark": benchmark, "model": model})):
        wanted = pc.and_(*(pc.is_in(group[name], value_set=only) for name, only in names))
        if not failed:
            wanted = pc.and_(wanted, pc.and_(group["score"].is_valid(), group["error"].is_null()))
        part = group.filter(wanted).combine_chunks()
        if not len(part):
            continue
        starts = [0, *(to_numpy(pc.indices_nonzero(_find_changes(part, ("question", "variant")))) + 1).tolist()]
        ends = [*starts[1:], len(part)]
        generations = part["generation"].to_pylist()
        firsts = part.select(["question", "variant"]).take(to_arrow(starts, pa.int64())).to_pydict().values()
        for question, variant, start, end in zip(*firsts, starts, ends, strict=True):
            cells[question, sys.intern(variant)].update(generations[start:end])
    return cells


def _find_changes(part: pa.Table, columns: Sequence[str]) -> Any:
    """Return for each row but the first whether any of the columns differs from the row before."""
    import pyarrow.compute as pc

    held = [part[name].combine_chunks() for name in columns]
    return reduce(pc.or_, (pc.not_equal(column[1:], column[:-1]) for column in held))


def merge_sorted(newer: Iterator[pa.Table], older: Iterator[pa.Table], key: Sequence[str]) -> Iterator[pa.Table]:
    """Merge two streams of Arrow tables that are sorted and unique by `key`; where both have a key, take the newer row.

    One table of each stream is in memory.
    """
    new, old = next(newer, None), next(older, None)
    while new is not None and old is not None:
        # Neither stream can yield more rows up to the smaller of the two last keys.
        end = min(_key(new, len(new) - 1, key), _key(old, len(old) - 1, key))
        i, j = _count(new, end, key), _count(old, end, key)
        yield _merge_tables(new[:i], old[:j], key)
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
    """Return the number of rows with a key up to and including `end`."""
    return bisect.bisect_right(range(len(table)), end, key=lambda row: _key(table, row, key))


def _merge_tables(new: pa.Table, old: pa.Table, key: Sequence[str]) -> pa.Table:
    """Return the rows of both tables sorted by key; for equal keys take the new row."""
    import pyarrow as pa

    if not len(new) or not len(old):
        return new if len(new) else old
    both = pa.concat_tables([new, old])
    age = to_arrow([0] * len(new) + [1] * len(old), pa.int64())
    both = both.append_column("", age).sort_by([(name, "ascending") for name in (*key, "")])
    first = pa.concat_arrays([both[""].combine_chunks()[:1].is_valid(), _find_changes(both, key)])
    return both.drop_columns([""]).filter(first)


def write_file(folder: Path, table: TableSchema, rows: Iterator[pa.Table]) -> int:
    """Replace the file of a table, durably and at once, by the rows of a sorted stream; return their number."""
    import pyarrow.parquet as pq

    schema = build_arrow_schema(table, list(table.types)).with_metadata({MARK: str(VERSION).encode()})
    # Dictionaries are used only for values that repeat, so not for completions. Only the key needs bounds.
    repeated = [name for name in table.types if name not in {*TEXTS, "messages"}]
    with replace_file(folder / f"{table.name}.parquet") as new:
        with pq.ParquetWriter(
            new,
            schema,
            compression="zstd",
            use_dictionary=repeated,
            write_statistics=list(table.key),
            write_page_checksum=True,
        ) as writer:
            for group in _split_row_groups(rows):
                # A cast imports pyarrow.compute, which takes 30 ms.
                writer.write_table(group if group.schema.equals(schema) else group.cast(schema))
        return int(pq.read_metadata(new).num_rows)


def _split_row_groups(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield the same rows in tables of the size of a row group."""
    import pyarrow as pa

    waiting: list[pa.Table] = []
    size = rows = number = 0
    for table in tables:
        waiting.append(table)
        size, rows = size + table.nbytes, rows + len(table)
        while rows and (
            size >= _compute_size_limit(GROUP_BYTES, READ_BYTES, number)
            or rows >= _compute_size_limit(GROUP_ROWS, READ_ROWS, number)
        ):
            joined = pa.concat_tables(waiting)
            share = _compute_size_limit(GROUP_BYTES, READ_BYTES, number) * rows // max(size, 1)
            end = max(1, min(share, _compute_size_limit(GROUP_ROWS, READ_ROWS, number)))
            yield joined[:end]
            waiting, number = [joined[end:]], number + 1
            size, rows = waiting[0].nbytes, len(waiting[0])
    if rows:
        yield pa.concat_tables(waiting)


def _compute_size_limit(first: int, last: int, number: int) -> int:
    """Return the limit of row group `number`: `first`, twice as much after every `GROUPS`, and at most `last`."""
    return min(first << min(number // GROUPS, 16), last)
