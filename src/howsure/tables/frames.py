"""Frames that users hold - pandas, polars, pyarrow, DuckDB, PySpark, and what else narwhals knows - to cells.

What is in memory goes to DuckDB through Arrow and is read like a file. What an engine will only compute when asked, a
PySpark DataFrame above all, is reduced where it lies, by the expression of `store.reduce`: only cells come back.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from howsure.errors import InputError
from howsure.tables import rows_to_cells
from howsure.tables.columns import Asked, Found, find, named
from howsure.tables.table_files import form_of, stem
from howsure.tables.tidy import reduced, tell_repeats

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa

    from howsure.stats.core.cells import Cells
    from howsure.stats.core.cube import Cube

__all__ = ["is_frame", "read_frame", "read_frame_by_run", "read_frame_cubes"]

T = TypeVar("T")


def is_frame(thing: object) -> bool:
    """Whether this is a frame that `read_frame` takes, rather than a path or several.

    >>> import pyarrow as pa
    >>> is_frame(pa.table({"score": [1.0]})), is_frame("rows.csv"), is_frame(["rows.csv"])
    (True, False, False)
    """
    if isinstance(thing, (str, os.PathLike, list, tuple, dict)):
        return False
    return _is_reader(thing) or _narwhals(thing) is not None


def read_frame(
    frame: Any,
    columns: Mapping[str, str] | None = None,
    *,
    name: str = "the frame",
    generations: int | None = None,
) -> list[Cells]:
    """Cells of a frame with a row per generation, or per cell with its count.

    Parameters
    ----------
    frame
        pandas, polars (eager or lazy), a pyarrow table or reader of batches, a DuckDB relation, PySpark, or any other
        frame that narwhals reads.
    columns
        Our column names to the frame's, where `readers.columns.ALIASES` would not find them.
    name
        What messages call it; and its benchmark, where no column says it: of a path, as of a file.
    generations
        Only the first so many generations of each question are read; None: all. Needs a column of their numbers.
    """
    found, told_apart = _grouped(
        frame, Asked(columns or {}), partial(rows_to_cells.cells, generations=generations), name
    )
    if not told_apart:
        tell_repeats(name, found)
    return found


def read_frame_by_run(
    frame: Any,
    columns: Mapping[str, str] | None = None,
    *,
    name: str = "the frame",
    generations: int | None = None,
) -> dict[str, list[Cells]]:
    """The same with each generation alone, which is one run; by benchmark. Without such a column the frame is one."""
    return _grouped(frame, Asked(columns or {}), partial(rows_to_cells.cells_by_run, generations=generations), name)[0]


def read_frame_cubes(
    frame: Any,
    columns: Mapping[str, str] | None = None,
    *,
    dimensions: Sequence[str] = (),
    wide: bool = False,
    name: str = "the frame",
    generations: int | None = None,
) -> list[Cube]:
    """The same with each prompt variant alone; parameters as of `readers.tidy.read_table_cubes`."""
    asked = Asked(columns or {}, tuple(dimensions), by_variant=True, wide=wide)
    found, told_apart = _grouped(frame, asked, partial(rows_to_cells.cubes, generations=generations), name)
    if not told_apart:
        tell_repeats(name, found)
    return found


def _grouped(frame: Any, asked: Asked, group: Callable[..., T], name: str) -> tuple[T, bool]:
    """The frame's groups, and whether its rows are told apart: by a generation, or since each is a cell."""
    import duckdb

    with _explained(name):
        if isinstance(frame, duckdb.DuckDBPyRelation):
            return reduced(frame, name, _benchmark(name), asked, group)
        if _is_reader(frame):
            held = _read(frame, asked, name)
        else:
            known = _narwhals(frame)
            if known is None:
                remedy = "give a pandas, polars, pyarrow, DuckDB or PySpark frame, or a path"
                raise InputError(f"a {type(frame).__name__} is no frame", where=name, remedy=remedy)
            import narwhals as nw

            if isinstance(known, nw.LazyFrame) and (there := _reducible(known, asked, name)):
                return _where_it_lies(known, there, asked, group, name)
            held = _arrow(known, asked, name)
        with duckdb.connect() as connection:
            return reduced(connection.from_arrow(held), name, _benchmark(name), asked, group)


def _benchmark(name: str) -> str:
    return stem(name) if "/" in name or form_of(name) else name


def _narwhals(frame: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    import narwhals as nw

    found = nw.from_native(frame, pass_through=True)
    return found if isinstance(found, (nw.DataFrame, nw.LazyFrame)) else None


def _is_reader(thing: object) -> bool:
    return hasattr(thing, "read_next_batch") and hasattr(thing, "schema")


def _read(reader: pa.RecordBatchReader, asked: Asked, name: str) -> pa.Table:
    """Batches that can be read once, without the columns that nobody asks for."""
    import pyarrow as pa

    wanted = named(reader.schema.names, name, asked)
    columns = [column for column in reader.schema.names if column in wanted]
    schema = pa.schema([reader.schema.field(column) for column in columns])
    return pa.Table.from_batches([batch.select(columns) for batch in reader], schema=schema)


def _arrow(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], asked: Asked, name: str) -> pa.Table:
    import pyarrow as pa

    names = frame.collect_schema().names()
    if odd := [column for column in names if not isinstance(column, str)]:
        raise InputError(f"column {odd[0]!r} has no name of letters", where=name, remedy="rename it to text")
    wanted = named(names, name, asked)
    part = frame.select([column for column in names if column in wanted])
    try:
        return part.lazy().collect(backend="pyarrow").to_native()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        remedy = "give each column values of one type, such as frame['question'].astype(str)"
        raise InputError(f"a column of mixed types ({error})", where=name, remedy=remedy) from error


def _reducible(frame: nw.LazyFrame[Any], asked: Asked, name: str) -> Found | None:
    """Where our columns are, if the frame can be reduced where it lies; None if it is rather read into memory.

    Raises
    ------
    InputError
        When it can be neither, since it may be of any size.
    """
    found = None if asked.wide else find(list(frame.collect_schema()), name, asked)
    if found and not found.aggregated and not found.whole:
        return found
    if frame.implementation.is_polars():
        return None
    what = "a column per model cannot" if asked.wide else "scores of whole cells or benchmarks cannot"
    raise InputError(f"{what} be reduced where they lie", where=name, remedy="collect them: frame.toPandas()")


def _where_it_lies(
    frame: nw.LazyFrame[Any], found: Found, asked: Asked, group: Callable[..., T], name: str
) -> tuple[T, bool]:
    import narwhals as nw

    schema = frame.collect_schema()

    def text(column: str) -> nw.Expr:
        kind = schema[column]
        return nw.col(column) if kind == nw.String or kind.is_integer() else nw.col(column).cast(nw.String)

    ours: dict[str, nw.Expr] = {"benchmark": nw.lit(_benchmark(name))}
    ours |= {
        one: text(found.columns[one])
        for one in ("benchmark", "model", "question", "cluster", "variant", "generation")
        if one in found.columns
    }
    values: dict[str, nw.Expr] = {}
    for one, column in found.dimensions.items():
        value = nw.col(column).cast(nw.String)
        values[one] = nw.when(value.str.strip_chars() != "").then(value).otherwise(nw.lit("(empty)"))
    if values and "variant" not in found.columns:
        said = [value if len(values) == 1 else nw.concat_str(nw.lit(f"{one}="), value) for one, value in values.items()]
        ours["variant"] = nw.concat_str(*said, separator=", ") if len(said) > 1 else said[0]
    rows = frame.select(**ours, **values, score=_score(frame, found.columns["score"], name))
    more = {"dimensions": asked.dimensions} if asked.by_variant else {}
    return group(rows.to_native(), where=name, **more), "generation" in ours


def _score(frame: nw.LazyFrame[Any], column: str, name: str) -> nw.Expr:
    """A column as numbers: empty and NaN are null, true and false are 1 and 0, anything else is refused."""
    import narwhals as nw

    kind, score = frame.collect_schema()[column], nw.col(column)
    if kind.is_float():
        return nw.when(~score.is_nan()).then(score.cast(nw.Float64))
    if kind.is_numeric() or kind in {nw.Boolean, nw.Unknown}:  # unknown: nothing but nulls
        return score.cast(nw.Float64)
    if kind != nw.String:
        remedy = "a score is a number, true or false"
        raise InputError(f"column {column!r} is of type {kind}", where=name, remedy=remedy)
    text = score.str.strip_chars().str.to_lowercase()
    given = nw.when(~text.is_in(["", "nan"])).then(text)
    number = nw.when(given == "true").then(nw.lit("1")).when(given == "false").then(nw.lit("0")).otherwise(given)
    number = number.cast(nw.Float64)  # an engine raises for what is no number, or makes it null
    counts = frame.select(given=given.count(), numbers=number.count()).collect(backend="pyarrow").to_native()
    if (wrong := counts["given"][0].as_py() - counts["numbers"][0].as_py()) > 0:
        raise InputError(f"{wrong} values of column {column!r} are no numbers", where=name, remedy="mend or empty them")
    return number


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """What an engine cannot do, as one line of ours."""
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
        what = " ".join(str(error).strip().split("\n")[0].split())[:200]
        raise InputError(f"cannot be read: {what}", where=name, remedy="does the frame show its rows?") from error
