"""Group the rows of frames that users hold: pandas, polars, pyarrow, DuckDB, PySpark, and what else narwhals reads.

A frame in memory goes to DuckDB through Arrow and is read like a file. A lazy frame, above all of PySpark, is reduced
by its own engine with the expressions of `rows.grouping`: only cells come back. For rows that do not fit on one
machine, a Spark session is started here, and its files and tables are opened as frames.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar

from howsure.errors import HowsureWarning, InputError, first_line
from howsure.rows.columns import TableColumns, TableOptions, find_columns, find_needed_columns
from howsure.rows.formats import SUFFIXES, find_format, name_table, open_database
from howsure.rows.score_values import (
    MIN_PERCENT,
    describe_number_forms,
    match_words,
    name_other_benchmarks,
    refuse_lone_counts,
)
from howsure.rows.sql import MISSING_TEXTS
from howsure.rows.success_counts import CountColumns, find_count_columns, may_count_right_answers
from howsure.rows.tidy import group_rows

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FrameLike", "group_frame", "is_frame", "read_spark_table", "start_session"]

T = TypeVar("T")

#: A number as text, perhaps with a percent sign or a decimal comma.
_NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)(e[+-]?[0-9]+)?\s*%?$"
#: Largest number of different words of a column of scores.
_MOST_WORDS = 50
#: Our columns of names, in which 1.0 is 1 where all of them are whole numbers: such a number or none at all, looked
#: for in the first rows of a frame.
_NAME_COLUMNS = ("model", "question", "cluster", "variant", "generation")
_WHOLE_NUMBER, _FIRST_ROWS = r"^[+-]?[0-9]+([.]0+)?$|^$", 1000


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
    frame: FrameLike, options: TableOptions, group: Callable[..., T], name: str, benchmark: str | None = None
) -> tuple[T, bool]:
    """Group the rows of a frame; see `tidy.group_rows`.

    Parameters
    ----------
    frame
        Any frame that `is_frame` accepts.
    options, group
        As for `tidy.group_rows`.
    name
        What messages call the frame; and its benchmark, where no column states it: of a path, as of a file.
    benchmark
        The benchmark, where no column states it; None takes the name.
    """
    import duckdb

    benchmark = benchmark or _name_benchmark(name)

    with _translate_errors(name):
        if isinstance(frame, duckdb.DuckDBPyRelation):
            return group_rows(frame, name, benchmark, options, group)
        if _is_batch_reader(frame):
            table = _read_batches(frame, options, name)
        else:
            wrapped = _wrap(frame)
            if wrapped is None:
                remedy = "give a pandas, polars, pyarrow, DuckDB or PySpark frame, or a path"
                raise InputError(f"a {type(frame).__name__} is no frame", where=name, remedy=remedy)
            import narwhals as nw

            if isinstance(wrapped, nw.LazyFrame) and (columns := _find_reducible(wrapped, options, name)):
                return _group_lazily(wrapped, columns, options, group, name, benchmark)
            table = _collect(wrapped, options, name)
        with open_database() as connection:
            return group_rows(connection.from_arrow(table), name, benchmark, options, group)


def _name_benchmark(name: str) -> str:
    """Return the benchmark of a frame of this name."""
    return name_table(name) if "/" in name or find_format(name) else name


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


def _find_needed(names: list[str], name: str, options: TableOptions) -> set[str]:
    """Return the columns that reading the table needs, those of numbers of right answers too."""
    needed = find_needed_columns(names, name, options)
    counts = None if options.wide else find_count_columns(names, name, options)
    return needed.union(name for name in (counts.right, counts.total) if name) if counts else needed


def _read_batches(reader: pa.RecordBatchReader, options: TableOptions, name: str) -> pa.Table:
    """Return batches that can be read once, without the columns that are not needed."""
    import pyarrow as pa

    needed = _find_needed(reader.schema.names, name, options)
    columns = [column for column in reader.schema.names if column in needed]
    schema = pa.schema([reader.schema.field(column) for column in columns])
    return pa.Table.from_batches([batch.select(columns) for batch in reader], schema=schema)


def _collect(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], options: TableOptions, name: str) -> pa.Table:
    """Return the columns of a frame that are needed, as Arrow."""
    import pyarrow as pa

    names = frame.collect_schema().names()
    if odd := [column for column in names if not isinstance(column, str)]:
        raise InputError(f"column {odd[0]!r} has no name of letters", where=name, remedy="rename it to text")
    needed = _find_needed(names, name, options)
    part = frame.select([column for column in names if column in needed])
    try:
        table = part.lazy().collect(backend="pyarrow").to_native()
    except (pa.ArrowException, TypeError) as error:  # TypeError: a sparse column of pandas
        remedy = "give each column values of one type, such as frame['question'].astype(str)"
        what = f"a column of mixed types, or of a type that is not supported ({first_line(error)})"
        raise InputError(what, where=name, remedy=remedy) from error
    # DuckDB reads no numbers of two bytes.
    fields = [field.with_type(pa.float32()) if pa.types.is_float16(field.type) else field for field in table.schema]
    return table.cast(pa.schema(fields))


def _find_reducible(frame: nw.LazyFrame[Any], options: TableOptions, name: str) -> TableColumns | None:
    """Return our columns if the frame's engine can reduce it; None if it is better read into memory.

    Raises
    ------
    InputError
        When it can be neither, since it may be of any size.
    """
    names = list(frame.collect_schema())
    columns = None
    if not options.wide and not _has_counts(frame, find_count_columns(names, name, options)):
        columns = find_columns(names, name, options)
    if columns and not columns.is_aggregated and not columns.is_whole:
        return columns
    if frame.implementation.is_polars():
        return None
    what = "a column per model cannot" if options.wide else "scores of whole cells or benchmarks cannot"
    raise InputError(f"{what} be reduced where they lie", where=name, remedy="collect them: frame.toPandas()")


def _has_counts(frame: nw.LazyFrame[Any], counts: CountColumns | None) -> bool:
    """Return whether columns named like counts of right answers are no scores of 0 or 1."""
    import narwhals as nw

    if counts is None or counts.is_right_certain:
        return counts is not None
    if not frame.collect_schema()[counts.right].is_numeric():
        return False
    highest = frame.select(highest=nw.col(counts.right).max()).collect(backend="pyarrow").to_native()
    return bool((highest["highest"][0].as_py() or 0) > 1)


def _group_lazily(
    frame: nw.LazyFrame[Any],
    columns: TableColumns,
    options: TableOptions,
    group: Callable[..., T],
    name: str,
    benchmark: str,
) -> tuple[T, bool]:
    """Return the groups of a frame that its own engine reduces."""
    import narwhals as nw

    schema = frame.collect_schema()

    named = [columns.columns[one] for one in _NAME_COLUMNS if one in columns.columns]
    numbers = _find_whole_numbers(frame, named)

    def text(column: str) -> nw.Expr:
        kind, value = schema[column], nw.col(column)
        if column in numbers and kind.is_float():
            return nw.when(~value.is_nan()).then(value).cast(nw.Int64)
        if column in numbers:
            return value.str.strip_chars().str.replace("[.]0+$", "")
        return value if kind == nw.String or kind.is_integer() else value.cast(nw.String)

    ours: dict[str, nw.Expr] = {"benchmark": nw.lit(benchmark)}
    ours |= {"model": nw.lit(options.model)} if options.model is not None else {}
    ours |= {one: text(columns.columns[one]) for one in ("benchmark", *_NAME_COLUMNS) if one in columns.columns}
    values: dict[str, nw.Expr] = {}
    for dimension, column in columns.dimensions.items():
        value = nw.col(column).cast(nw.String)
        values[dimension] = nw.when(value.str.strip_chars() != "").then(value).otherwise(nw.lit("(empty)"))
    if values and "variant" not in columns.columns:
        parts = [
            value if len(values) == 1 else nw.concat_str(nw.lit(f"{one}="), value) for one, value in values.items()
        ]
        ours["variant"] = nw.concat_str(*parts, separator=", ") if len(parts) > 1 else parts[0]
    rows = frame.select(**ours, **values, score=_score_expression(frame, columns.columns["score"], name))
    column = columns.columns["score"]
    is_flag = "score" not in options.columns and options.scorer is None and may_count_right_answers(column)
    rows = _scale_lazily(rows, options.scale, name, flag=column if is_flag else None)
    more = {"dimensions": options.dimensions} if options.by_variant else {}
    groups = group(rows.to_native(), where=name, **more)
    for column in numbers:
        line = f"column {column!r} has whole numbers written as 1.0: they are read as 1"
        warnings.warn(f"{name}: {line}, the names that other files may have", HowsureWarning, stacklevel=3)
    return groups, "generation" in ours


def _find_whole_numbers(frame: nw.LazyFrame[Any], columns: list[str]) -> list[str]:
    """Return columns of whole numbers, some written as 1.0; see `sql.shorten_whole_numbers`."""
    import narwhals as nw

    schema = frame.collect_schema()
    floats = [column for column in columns if schema[column].is_float()]
    texts = [column for column in columns if schema[column] == nw.String]

    def list_true(rows: nw.LazyFrame[Any], conditions: dict[str, nw.Expr]) -> list[str]:
        if not conditions:
            return []
        # The number of rows for which a condition does not hold; without a value it holds.
        # Spark adds up no truth values.
        wrong = {column: (~condition).cast(nw.Int64).sum() for column, condition in conditions.items()}
        counts = rows.select(**wrong).collect(backend="pyarrow").to_native().to_pylist()[0]
        return [column for column, n in counts.items() if not n]

    first = frame.head(_FIRST_ROWS)
    no_zeros = list_true(first, {column: ~nw.col(column).str.ends_with(".0") for column in texts})
    conditions = {column: (nw.col(column) % 1 == 0) | nw.col(column).is_nan() for column in floats} | {
        column: nw.col(column).str.strip_chars().str.contains(_WHOLE_NUMBER)
        for column in texts
        if column not in no_zeros
    }
    return list_true(frame, conditions)


def _score_expression(frame: nw.LazyFrame[Any], column: str, name: str) -> nw.Expr:
    """Return a column as numbers: empty and NaN are null, true and false are 1 and 0, other text is refused."""
    import narwhals as nw

    kind, score = frame.collect_schema()[column], nw.col(column)
    if kind.is_float():
        return nw.when(~score.is_nan()).then(score.cast(nw.Float64))
    if kind.is_numeric() or kind in {nw.Boolean, nw.Unknown}:  # the type of a column of nulls is unknown
        return score.cast(nw.Float64)
    if kind != nw.String:
        remedy = "a score is a number, true or false"
        raise InputError(f"column {column!r} is of type {kind}", where=name, remedy=remedy)
    text = score.str.strip_chars().str.to_lowercase()
    text = nw.when(~text.is_in(["", *MISSING_TEXTS])).then(text)
    texts = frame.select(text=text)
    no_number = texts.filter(~nw.col("text").str.contains(_NUMBER))
    distinct = no_number.unique().head(_MOST_WORDS).collect(backend="pyarrow").to_native()["text"].to_pylist()
    words = match_words(word for word in distinct if word not in {"true", "false"}) or {}
    unknown = no_number.filter(~nw.col("text").is_in([*words, "true", "false"])).select(n=nw.col("text").count())
    if n_wrong := unknown.collect(backend="pyarrow").to_native()["n"][0].as_py():
        example = next(word for word in distinct if word not in {*words, "true", "false"})
        remedy = f"fix or empty them, such as {str(example)[:60]!r}"
        raise InputError(f"{n_wrong} values of column {column!r} are no numbers", where=name, remedy=remedy)
    plain = text.str.replace_all("%", "", literal=True).str.strip_chars().str.replace_all(",", ".", literal=True)
    number = nw.when(text == "true").then(nw.lit("1")).when(text == "false").then(nw.lit("0"))
    for word, value in words.items():
        number = number.when(text == word).then(nw.lit("nan" if value is None else f"{value:g}"))
    score = number.otherwise(plain).cast(nw.Float64)
    score = nw.when(~score.is_nan()).then(score)
    is_percent = text.str.ends_with("%")
    sums = {
        "n": nw.col("percent").cast(nw.Int64).sum(),
        "percent_text": nw.when(nw.col("percent")).then(nw.col("text")).min(),
        "comma_text": nw.when(nw.col("text").str.contains(",")).then(nw.col("text")).min(),
        "highest": nw.when(~nw.col("percent")).then(nw.col("score")).max(),
    }
    parts = frame.select(text=text, score=score, percent=is_percent).select(**sums)
    counts = parts.collect(backend="pyarrow").to_native().to_pylist()[0]
    if counts["n"] and (counts["highest"] or 0) > 1:
        what = f"some scores have a percent sign, and others such as {counts['highest']:g} have none"
        raise InputError(what, where=name, remedy="write the sign after all of them, or after none")
    lines = describe_number_forms(counts["percent_text"], counts["comma_text"])
    if words:
        listed = ", ".join(f"{word} {'is missing' if of is None else f'is {of:g}'}" for word, of in words.items())
        lines.append(f"words are read as scores: {listed}")
    if lines:
        warnings.warn(f"{name}: {'; '.join(lines)}", HowsureWarning, stacklevel=2)
    return nw.when(is_percent).then(score / 100).otherwise(score) if counts["n"] else score


def _scale_lazily(
    rows: nw.LazyFrame[Any], scale: float | None, name: str, *, flag: str | None = None
) -> nw.LazyFrame[Any]:
    """Return rows whose scores that are percent are divided by 100; see `score_values.scale_scores`."""
    import narwhals as nw

    score = nw.col("score")
    if scale is not None:
        if not (math.isfinite(scale) and scale > 0):
            raise InputError(f"--scale {scale:g}", where=name, remedy="give a number above 0, such as 100 for percent")
        return rows if scale == 1 else rows.with_columns(score=score / scale)
    by = rows.group_by("benchmark").agg(low=score.min(), high=score.max())
    ranges = [tuple(one.values()) for one in by.collect(backend="pyarrow").to_native().to_pylist()]
    lowest = min((one[1] for one in ranges if one[1] is not None), default=0)
    named, others, unit = name_other_benchmarks(ranges) if lowest != -1 else ("", [], [])
    bounds = [one for one in ranges if one[0] not in unit and one[1] is not None]
    low, high = min((one[1] for one in bounds), default=0), max((one[2] for one in bounds), default=0)
    if not (math.isfinite(low) and math.isfinite(high)) or (low >= 0 and high <= 1):
        return rows
    is_other = ~nw.col("benchmark").is_in(unit)
    if flag is not None and low >= 0:
        scaled = rows.filter(is_other)
        n_fractions = scaled.select(n=(score % 1 != 0).sum()).collect(backend="pyarrow").to_native()["n"][0].as_py()
        refuse_lone_counts(flag, high, n_fractions, name)
    line = f"{name}: {named}scores are from {low:g} to {high:g}"
    if low >= 0 and MIN_PERCENT < high <= 100:
        line += ", and are read as percent: divided by 100 (--scale 1 takes them as they are)"
        rows = rows.with_columns(score=nw.when(is_other).then(score / 100).otherwise(score))
    else:
        line += ", not from 0 to 1; they are taken as they are, and differences and n* have their unit"
        line += "; if -1 marks a judge that failed, leave it empty" if low == -1 else ""
    warnings.warn(HowsureWarning(line, benchmarks=others), stacklevel=3)
    return rows


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


def start_session(master: str | None = None) -> SparkSession:
    """Return the session of this process, or start one.

    Parameters
    ----------
    master
        Such as spark://host:7077 or local[4]; None takes what Spark is configured with, else this machine.

    Raises
    ------
    InputError
        When PySpark or its Java is missing, or the master cannot be reached.
    """
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        remedy = "pip install 'howsure[spark]', and Java 17 or newer"
        raise InputError("PySpark is not installed", where="--engine spark", remedy=remedy) from error
    builder = SparkSession.builder.appName("howsure").config("spark.ui.showConsoleProgress", "false")
    try:
        session: SparkSession = (builder.master(master) if master else builder).getOrCreate()
        if master and session.sparkContext.master != master:
            what = f"a session on {session.sparkContext.master} is there already"
            raise InputError(what, where=f"--master {master}", remedy="stop it first, or leave the master out")
    except (PySparkException, Py4JError, RuntimeError, OSError) as error:
        where = f"--master {master}" if master else "--engine spark"
        remedy = "is Java 17 or newer installed, and the master running?"
        raise InputError(f"Spark does not start: {first_line(error)}", where=where, remedy=remedy) from error
    return session


def read_spark_table(session: SparkSession, name: str) -> DataFrame:
    """Return the rows of a file, folder, glob or address that the cluster reaches, or of a table of its catalogue.

    Parameters
    ----------
    session
        As `start_session` returns it.
    name
        A path if it ends in .parquet, .csv, .tsv, .jsonl or .ndjson (text also with .gz behind it), or has a slash:
        then it is Parquet unless it ends otherwise. Any other name is that of a table.

    Raises
    ------
    InputError
        When Spark finds nothing there.
    """
    from pyspark.errors import PySparkException

    kind = find_format(name)
    try:
        if kind == "parquet" or (kind is None and "/" in name):
            return session.read.parquet(name)
        if kind == "csv":
            reader = session.read.option("header", True).option("mode", "FAILFAST").option("multiLine", True)
            return reader.option("sep", "\t" if ".tsv" in name else ",").option("escape", '"').csv(name)
        if kind == "json":
            return session.read.option("mode", "FAILFAST").json(name)
        return session.table(name)
    except PySparkException as error:
        remedy = f"give a table of Spark, or a path that its workers reach ({', '.join(SUFFIXES)})"
        raise InputError(f"cannot be read by Spark: {first_line(error)}", where=name, remedy=remedy) from error
