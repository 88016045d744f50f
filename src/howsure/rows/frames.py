"""Open frames as rows in DuckDB: those of pandas, polars, pyarrow, DuckDB, PySpark, and what else narwhals reads.

A frame goes to DuckDB through Arrow, a lazy one after it was collected, and is read like a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from howsure.errors import InputError, first_line
from howsure.rows.formats import open_database
from howsure.rows.words import find_alias

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw
    import pyarrow as pa


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


@contextmanager
def open_frame(frame: FrameLike, name: str = "the frame") -> Iterator[duckdb.DuckDBPyRelation]:
    """Open a frame that `is_frame` accepts as rows in DuckDB; messages call it by its name."""
    import duckdb

    with _translate_errors(name):
        if isinstance(frame, duckdb.DuckDBPyRelation):
            yield frame
            return
        wrapped = None if _is_batch_reader(frame) else _wrap(frame)
        table = _read_batches(frame) if wrapped is None else _collect(wrapped, name)
        with open_database() as connection:
            yield connection.from_arrow(table)


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


def _read_batches(reader: Any) -> pa.Table:
    """Return batches that can be read once, without columns of long texts, which are not needed."""
    import pyarrow as pa

    names = reader.schema.names
    left_out = {find_alias(name, names) for name in ("completion", "choices")}
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
