"""Group the rows of frames that users hold: pandas, polars, pyarrow, DuckDB, PySpark, and what else narwhals reads.

A frame in memory goes to DuckDB through Arrow and is read like a file. A lazy frame, above all of PySpark, is reduced
by its own engine with the expressions of `rows.to_cells`, where it has a row per generation under names that we know.
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
from howsure.rows.columns import TableOptions, find_columns
from howsure.rows.formats import find_format, name_table, open_database
from howsure.rows.table import group_rows
from howsure.rows.words import TEXTS, find_alias

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa

T = TypeVar("T")

#: Our columns of names.
_NAMES = ("benchmark", "model", "question", "cluster", "variant", "generation")


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
    import narwhals as nw

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
            if isinstance(wrapped, nw.LazyFrame) and not wrapped.implementation.is_polars():
                return _group_lazily(wrapped, options, group, name)
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


def _group_lazily(frame: nw.LazyFrame[Any], options: TableOptions, group: Callable[..., T], name: str) -> T:
    """Return the groups of a frame that its own engine reduces: a row per generation, with known names."""
    import narwhals as nw

    schema = frame.collect_schema()
    matched = find_columns(list(schema), name, options)
    needed = [
        one
        for one in ("model", "question", "score")
        if one not in matched.columns and (one, options.model) != ("model", None)
    ]
    needed = [one for one in needed if one != "model" or options.model is None]
    if needed or options.scorer is not None or any(len(each) > 1 for each in matched.columns.values()):
        what = (
            f"no column for the {needed[0]}" if needed else "joined columns and scorers cannot be read where they lie"
        )
        remedy = "name it with --columns, or collect the frame (frame.toPandas()), which is read in all shapes"
        raise InputError(what, where=name, remedy=remedy)

    def text(column: str) -> nw.Expr:
        kind, value = schema[column], nw.col(column)
        return value if kind == nw.String or kind.is_integer() else value.cast(nw.String)

    ours: dict[str, nw.Expr] = {"benchmark": nw.lit(options.benchmark), "model": nw.lit(options.model or "")}
    ours |= {one: text(matched.columns[one][0]) for one in _NAMES if one in matched.columns}
    values: dict[str, nw.Expr] = {}
    for dimension in options.dimensions:
        value = nw.col(dimension).cast(nw.String)
        values[dimension] = nw.when(value.str.strip_chars() != "").then(value).otherwise(nw.lit("(empty)"))
    if values and "variant" not in matched.columns:
        parts = [one if len(values) == 1 else nw.concat_str(nw.lit(f"{key}="), one) for key, one in values.items()]
        ours["variant"] = nw.concat_str(*parts, separator=", ") if len(parts) > 1 else parts[0]
    rows = frame.select(**ours, **values, score=_write_score(schema, matched.columns["score"][0], name))
    if options.scale is None:
        limits = (
            rows.select(low=nw.col("score").min(), high=nw.col("score").max()).collect(backend="pyarrow").to_native()
        )
        low, high = (limits[one][0].as_py() for one in ("low", "high"))
        if low is not None and not (low >= 0 and high <= 1) and high != float("inf"):
            remedy = "add --scale 100 for percent, or --scale 1 to take them as they are"
            raise InputError(f"scores are from {low:g} to {high:g}", where=name, remedy=remedy, code="scales")
    elif options.scale != 1:
        rows = rows.with_columns(score=nw.col("score") / options.scale)
    more = {"dimensions": options.dimensions} if options.by_variant else {}
    return group(rows.to_native(), where=name, **more)


def _write_score(schema: Any, column: str, name: str) -> nw.Expr:
    """Return a column as numbers: NaN is null, true and false are 1 and 0; a text must be a number."""
    import narwhals as nw

    kind, score = schema[column], nw.col(column)
    if kind.is_float():
        return nw.when(~score.is_nan()).then(score.cast(nw.Float64))
    if kind.is_numeric() or kind in {nw.Boolean, nw.Unknown, nw.String}:  # a column of nulls is of unknown type
        return score.cast(nw.Float64)
    remedy = "a score is a number, true or false"
    raise InputError(f"column {column!r} is of type {kind}", where=name, remedy=remedy)


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
