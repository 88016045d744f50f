"""Read the cells, runs and cubes of a table: of a file, a glob of files, an address, or a frame."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from howsure.errors import InputError, first_line
from howsure.rows import dove, rows_to_cells
from howsure.rows.columns import TableOptions, find_texts, separate_texts
from howsure.rows.formats import is_glob, is_remote, name_table, open_database, open_rows
from howsure.rows.frames import FrameLike, group_frame
from howsure.rows.sql import quote_name, read_column_types, write_text_sql
from howsure.rows.tidy import drop_summaries, group_rows, lay_out, match_texts, warn_repeats

if TYPE_CHECKING:
    import duckdb

    from howsure.stats.core.cells import Cells
    from howsure.stats.core.cube import Cube

__all__ = [
    "UNNAMED",
    "TableContent",
    "TableNames",
    "describe_table",
    "open_table",
    "read_cells",
    "read_cubes",
    "read_numbered_runs",
    "read_runs",
]

T = TypeVar("T")


class TableNames(NamedTuple):
    """What the columns of a table do not state.

    Attributes
    ----------
    benchmark
        Benchmark of rows without one; None takes the name of the file.
    model
        Model of rows without one; None refuses such a table.
    scorer
        Which of several scores is read; None takes the first.
    scale
        What scores are divided by; see `score_values.scale_scores`.
    is_model_of_file
        Whether the model has the name of the file.
    is_one_benchmark
        Whether the user named the benchmark of all rows, so that a column of tasks is no reason for a line.

    Examples
    --------
    >>> TableNames(model="a").extend(TableOptions({"score": "points"})).model
    'a'
    """

    benchmark: str | None = None
    model: str | None = None
    scorer: str | None = None
    scale: float | None = None
    is_model_of_file: bool = False
    is_one_benchmark: bool = False

    def extend(self, options: TableOptions) -> TableOptions:
        """Return options for reading a table with these names."""
        return options._replace(**{name: getattr(self, name) for name in self._fields if name != "benchmark"})


#: Largest number of characters of an example.
_MAX_EXAMPLE = 40
#: Names of a table whose columns state everything.
UNNAMED = TableNames()


def read_cells(
    table: str | Path | FrameLike,
    columns: Mapping[str, str] | None = None,
    *,
    name: str | None = None,
    generations: int | None = None,
    names: TableNames = UNNAMED,
) -> list[Cells]:
    """Read the cells of a table with a row per generation, or per cell with its count.

    Parameters
    ----------
    table
        A csv, tsv, parquet, jsonl or ndjson file, or such a text file with `.gz` behind its name; a glob of files of
        one type, which are one table (`rows/*.parquet`); an address that the user's DuckDB reads (`s3://...`); or a
        frame: pandas, polars (eager or lazy), a pyarrow table or reader of batches, a DuckDB relation, PySpark, or any
        other that narwhals reads.
    columns
        Our column names to the table's, where it has other names than `columns.ALIASES`.
    name
        What messages call a frame; and its benchmark, where no column states it.
    generations
        Only the first so many generations are read of each model, question and variant; None reads all. Needs a column
        with their numbers.
    names
        What no column states: benchmark and model; and which of several scores is read.

    Returns
    -------
    list of Cells
        One per benchmark; the name of the file is the benchmark where no column states it.

    Raises
    ------
    InputError
        When the table cannot be read; names the row and the column.
    """
    options = names.extend(TableOptions(columns or {}))
    group = partial(rows_to_cells.make_cells, generations=generations)
    cells, is_unique = _group(table, options, group, name, names.benchmark)
    cells = drop_summaries(_name(table, name), cells)
    if not is_unique:
        warn_repeats(_name(table, name), cells)
    return cells


def read_runs(
    table: str | Path | FrameLike,
    columns: Mapping[str, str] | None = None,
    *,
    name: str | None = None,
    generations: int | None = None,
    names: TableNames = UNNAMED,
) -> dict[str, list[Cells]]:
    """Read the cells of each generation, which is one run, by benchmark; parameters as for `read_cells`.

    A table without a column for the generation is one run.
    """
    group = partial(rows_to_cells.make_runs, generations=generations)
    runs = _group(table, names.extend(TableOptions(columns or {})), group, name, names.benchmark)[0]
    return {benchmark: drop_summaries(_name(table, name), each) for benchmark, each in runs.items()}


def read_numbered_runs(
    table: str | Path | FrameLike,
    columns: Mapping[str, str] | None = None,
    *,
    name: str | None = None,
    generations: int | None = None,
    names: TableNames = UNNAMED,
) -> dict[str, list[tuple[str, Cells]]]:
    """Read the cells of each generation with its number or name, by benchmark; parameters as for `read_cells`."""
    group = partial(rows_to_cells.make_numbered_runs, generations=generations)
    runs = _group(table, names.extend(TableOptions(columns or {})), group, name, names.benchmark)[0]
    return {
        benchmark: [(number, drop_summaries(_name(table, name), [run])[0]) for number, run in each]
        for benchmark, each in runs.items()
    }


def read_cubes(
    table: str | Path | FrameLike,
    columns: Mapping[str, str] | None = None,
    *,
    dimensions: Sequence[str] = (),
    wide: bool = False,
    name: str | None = None,
    generations: int | None = None,
    names: TableNames = UNNAMED,
) -> list[Cube]:
    """Read the cells of each prompt variant; without a column for the question, scores of the whole benchmark.

    Parameters
    ----------
    table, columns, name, generations, names
        As for `read_cells`. Without a column for the variant there is one, or each combination of `dimensions` is one.
    dimensions
        Columns with the values of the variants.
    wide
        Whether a row is a variant and a column a model; see `rows.tidy.melt_models`.
    """
    options = names.extend(TableOptions(columns or {}, tuple(dimensions), by_variant=True, wide=wide))
    group = partial(rows_to_cells.make_cubes, generations=generations)
    cubes, is_unique = _group(table, options, group, name, names.benchmark)
    cubes = drop_summaries(_name(table, name), cubes)
    if not is_unique:
        warn_repeats(_name(table, name), cubes)
    return cubes


def _name(table: str | Path | FrameLike, name: str | None) -> str:
    """Return what messages call a table."""
    return name or (str(table) if isinstance(table, (str, Path)) else "the frame")


def _group(
    table: str | Path | FrameLike,
    options: TableOptions,
    group: Callable[..., T],
    name: str | None,
    benchmark: str | None,
) -> tuple[T, bool]:
    """Return the groups of a table, and whether no two of its rows have the same key."""
    if not isinstance(table, (str, Path)):
        return group_frame(table, options, group, _name(table, name), benchmark)
    with open_table(table) as rows:
        return group_rows(rows, str(table), benchmark or name_table(table), options, group)


class TableContent(NamedTuple):
    """What a table holds, as far as its columns and names say.

    Attributes
    ----------
    columns
        Our column names to the table's, those of texts too.
    every
        All columns of the table with an example of their values.
    notes
        What was decided while its columns were found, a line each.
    n_rows
        Number of rows.
    benchmarks, models, questions
        The names in its columns; empty where it has no such column.
    targets
        Pairs of a question and its target; empty where no column has the targets.
    needs_scores
        Whether it has completions and no scores.
    meanings
        Of a table with a column per model or question: what each of its columns that is read holds.
    """

    columns: Mapping[str, str]
    every: Mapping[str, str]
    notes: tuple[str, ...]
    n_rows: int
    benchmarks: tuple[str, ...]
    models: tuple[str, ...]
    questions: tuple[str, ...]
    targets: frozenset[tuple[str, str]]
    needs_scores: bool
    meanings: Mapping[str, str]


def describe_table(
    table: str | Path, columns: Mapping[str, str] | None = None, names: TableNames = UNNAMED
) -> TableContent:
    """Return what the columns of a table are taken for, and the names that they hold.

    A table of completions needs no scores.

    Parameters
    ----------
    table, columns, names
        As for `read_cells`; columns of texts too.

    Raises
    ------
    InputError
        When the table cannot be read.
    """
    where = str(table)
    others, named_texts = separate_texts(columns or {})
    options = names.extend(TableOptions(others))
    with open_table(table) as rows:
        texts = find_texts(rows.columns, where, named_texts)
        example = rows.limit(1).to_arrow_table().to_pylist()
        every = {column: _shorten(example[0].get(column)) if example else "" for column in rows.columns}
        tidy = dove.to_tidy(rows, lambda _: None)[0] if dove.is_dove(rows.columns) else rows
        try:
            layout = lay_out(tidy, where, options)
        except InputError:
            if "completion" not in texts:
                raise
            layout = lay_out(tidy, where, options._replace(texts=texts))
        matched = layout.table_columns.columns
        every_match = matched | match_texts(layout.rows.columns, matched, texts)
        types = read_column_types(layout.rows)

        def list_values(*names: str) -> list[tuple[str, ...]]:
            if any(name not in every_match for name in names):
                return []
            parts = [f"trim({write_text_sql(every_match[name], types)}) AS {quote_name(name)}" for name in names]
            values = (
                layout.rows.project(", ".join(parts)).distinct().order(", ".join(map(quote_name, names))).fetchall()
            )
            return [row for row in values if None not in row]

        def list_names(name: str) -> tuple[str, ...]:
            return tuple(str(value) for (value,) in list_values(name)) if name in matched else ()

        return TableContent(
            columns={name: layout.sources.get(column, column) for name, column in every_match.items()},
            every=every,
            notes=(*layout.notes, *layout.name_notes),
            n_rows=int(rows.aggregate("count(*)").fetchall()[0][0]),
            benchmarks=list_names("benchmark"),
            models=list_names("model"),
            questions=list_names("question"),
            targets=frozenset((str(question), str(target)) for question, target in list_values("question", "target")),
            needs_scores=matched.keys().isdisjoint({"score", "mean"}),
            meanings=layout.meanings,
        )


def _shorten(value: object) -> str:
    """Return a value as a short text on one line."""
    text = " ".join(str("" if value is None else value).split())
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= _MAX_EXAMPLE else text[: _MAX_EXAMPLE - 1] + "…"


@contextlib.contextmanager
def open_table(path: str | Path) -> Iterator[duckdb.DuckDBPyRelation]:
    """Open a file, a glob of files or an address as rows in DuckDB; text columns of a csv stay text.

    Raises
    ------
    InputError
        When it does not exist, is empty or damaged, also while the rows are read.
    """
    import duckdb
    import pyarrow as pa

    where = str(path)
    if not is_remote(where) and not is_glob(where):
        if not Path(path).is_file():
            raise InputError("no such file", where=where)
        if Path(path).stat().st_size == 0:
            remedy = "give a table with a header and at least one row"
            raise InputError("the file is empty", where=where, remedy=remedy)
    with tempfile.TemporaryDirectory(prefix="howsure-") as scratch, open_database() as connection:
        try:
            yield open_rows(connection, path, Path(scratch))
        except (duckdb.Error, pa.ArrowInvalid, UnicodeDecodeError, EOFError, OSError) as error:
            what = first_line(str(error).replace(f' in file "{where}"', ""))
            remedy = "is the file whole, and of the type its name says?"
            if isinstance(error, UnicodeDecodeError):
                remedy = "save it as UTF-8"
            raise InputError(f"cannot be read: {what}", where=where, remedy=remedy) from error
