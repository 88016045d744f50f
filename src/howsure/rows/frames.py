"""Group the rows of frames that users hold: pandas, polars, pyarrow, DuckDB, PySpark, and what else narwhals reads.

A frame goes to DuckDB through Arrow, a lazy one after it was collected, and is read like a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar

from howsure.errors import InputError, first_line
from howsure.notes import Note
from howsure.rows.columns import TableOptions
from howsure.rows.formats import find_format, name_table, open_database
from howsure.rows.table import group_rows
from howsure.rows.words import TEXTS, find_alias

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa

T = TypeVar("T")


class FrameLike(Protocol):
    """A frame of pandas, polars, pyarrow, DuckDB, PySpark or another library that narwhals supports."""

    @property
    def columns(self) -> object:
        """Names or values of the columns."""


def is_frame(thing: object) -> TypeGuard[FrameLike]:
    """Return whether this is a frame, rather than a path or several.

    >>> import pyarrow as pa
    >>> is_frame(pa.table({"score": [1.0]})), is_frame("rows.csv"), is_frame(["rows.csv"])
    (True, False, False)
    """
    if isinstance(thing, (str, os.PathLike, list, tuple, dict)):
        return False
    return _is_batch_reader(thing) or _wrap(thing) is not None


def group_frame(
    frame: FrameLike, options: TableOptions, group: Callable[..., T], name: str, note: Callable[[Note], None]
) -> T:
    """Group the rows of a frame; see `table.group_rows`.

    Parameters
    ----------
    frame
        Any frame that `is_frame` accepts.
    options, group, note
        As for `table.group_rows`.
    name
        What messages call the frame; and its benchmark, where no column and no option states it.
    """
    import duckdb

    if options.benchmark is None:
        is_path = "/" in name or find_format(name) is not None
        options = replace(options, benchmark=name_table(name) if is_path else name)
    with _translate_errors(name):
        if isinstance(frame, duckdb.DuckDBPyRelation):
            return group_rows(frame, name, options, group, note)
        if _is_batch_reader(frame):
            table = _read_batches(frame, options)
        else:
            wrapped = _wrap(frame)
            if wrapped is None:
                remedy = "give a pandas, polars, pyarrow, DuckDB or PySpark frame, or a path"
                raise InputError(f"a {type(frame).__name__} is no frame", where=name, remedy=remedy)
            table = _collect(wrapped, name)
        with open_database() as connection:
            return group_rows(connection.from_arrow(table), name, options, group, note)


def _wrap(frame: object) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """Return the frame as one of narwhals; None where narwhals does not read it."""
    import narwhals as nw

    try:
        wrapped = nw.from_native(frame, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        names = list(getattr(frame, "columns", ()))
        twice = next((name for i, name in enumerate(names) if name in names[:i]), "")
        raise InputError(f"two columns have the name {twice!r}", where="the frame", remedy="rename one") from error
    return wrapped if isinstance(wrapped, (nw.DataFrame, nw.LazyFrame)) else None


def _is_batch_reader(thing: object) -> bool:
    return hasattr(thing, "read_next_batch") and hasattr(thing, "schema")


def _read_batches(reader: pa.RecordBatchReader, options: TableOptions) -> pa.Table:
    """Return batches that can be read once, without columns of long texts that are not needed."""
    import pyarrow as pa

    names = reader.schema.names
    left_out = {find_alias(name, names) for name in TEXTS if name in {"completion", "choices"} and not options.texts}
    columns = [column for column in names if column not in left_out]
    schema = pa.schema([reader.schema.field(column) for column in columns])
    return pa.Table.from_batches([batch.select(columns) for batch in reader], schema=schema)


def _collect(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], name: str) -> pa.Table:
    """Return a frame as Arrow; a column that Arrow has no type for is an error."""
    import pyarrow as pa

    names = frame.collect_schema().names()
    if odd := [column for column in names if not isinstance(column, str)]:
        raise InputError(f"column {odd[0]!r} has no name of letters", where=name, remedy="rename it to text")
    try:
        table = frame.lazy().collect(backend="pyarrow").to_native()
    except (pa.ArrowException, TypeError) as error:  # TypeError: a sparse column of pandas
        remedy = "give each column values of one type, such as frame['question'].astype(str)"
        what = f"a column of mixed types, or of a type that is not supported ({first_line(error)})"
        raise InputError(what, where=name, remedy=remedy) from error
    # DuckDB reads no numbers of two bytes.
    fields = [field.with_type(pa.float32()) if pa.types.is_float16(field.type) else field for field in table.schema]
    return table.cast(pa.schema(fields))


@contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    """Raise an error of an engine as InputError, in one line."""
    import duckdb
    import narwhals as nw

    foreign: list[type[Exception]] = [duckdb.Error, nw.exceptions.NarwhalsError]
    if "pyspark" in sys.modules:
        from pyspark.errors import PySparkException

        foreign.append(PySparkException)
    if "polars" in sys.modules:
        from polars.exceptions import PolarsError

        foreign.append(PolarsError)
    try:
        yield
    except tuple(foreign) as error:
        what = f"cannot be read: {first_line(error)}"
        raise InputError(what, where=name, remedy="does the frame show its rows?") from error
