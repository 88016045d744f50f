"""A tidy table (csv, parquet, jsonl) to cells: one row per generation, or one per cell with its count.

Column names of neighbouring tools are understood (`readers.columns`); the eval-arena shape, `benchmark_id, model,
example_id, pass1, count[, correct]`, is a table with a row per cell.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from howsure.errors import HowsureWarning, InputError
from howsure.stats.core.cube import WHOLE
from howsure.tables import dove, rows_to_cells
from howsure.tables.columns import ALIASES, Asked, find
from howsure.tables.sql import (
    ROW,
    Check,
    Types,
    aggregated,
    identifier,
    name,
    number,
    numbered,
    quoted,
    refuse,
    text,
    types,
)
from howsure.tables.table_files import is_glob, is_remote, opened, stem
from howsure.tables.wide import melted

if TYPE_CHECKING:
    import duckdb

    from howsure.stats.core.cells import Cells
    from howsure.stats.core.cube import Cube

__all__ = ["ALIASES", "read_table", "read_table_by_run", "read_table_cubes", "reduced", "tell_repeats"]

T = TypeVar("T")


def read_table(
    path: str | Path, columns: Mapping[str, str] | None = None, *, generations: int | None = None
) -> list[Cells]:
    """Cells of a table; the benchmark is the file's name where no column says it.

    Parameters
    ----------
    path
        A csv, tsv, parquet, jsonl or ndjson file, or such a text file with `.gz` behind its name; a glob of files of
        one type, which are one table (`rows/*.parquet`); or an address that the user's DuckDB reads (`s3://...`).
    columns
        Our column names to the table's, where `ALIASES` would not find them.
    generations
        Only the first so many generations of each question are read; None: all. Needs a column of their numbers.
    """
    found, told_apart = _grouped(path, Asked(columns or {}), partial(rows_to_cells.cells, generations=generations))
    if not told_apart:
        tell_repeats(str(path), found)
    return found


def read_table_by_run(
    path: str | Path, columns: Mapping[str, str] | None = None, *, generations: int | None = None
) -> dict[str, list[Cells]]:
    """The same with each generation alone, which is one run; by benchmark. Without such a column the file is one."""
    return _grouped(path, Asked(columns or {}), partial(rows_to_cells.cells_by_run, generations=generations))[0]


def read_table_cubes(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    dimensions: Sequence[str] = (),
    wide: bool = False,
    generations: int | None = None,
) -> list[Cube]:
    """The same with each prompt variant alone; without a column for the question, scores of the whole benchmark.

    Parameters
    ----------
    path, columns, generations
        As for `read_table`. Without a column for the variant there is one, or each combination of `dimensions` is one.
    dimensions
        Columns that say the variants' values.
    wide
        Whether a row is a variant and a column a model; see `readers.wide`.
    """
    asked = Asked(columns or {}, tuple(dimensions), by_variant=True, wide=wide)
    found, told_apart = _grouped(path, asked, partial(rows_to_cells.cubes, generations=generations))
    if not told_apart:
        tell_repeats(str(path), found)
    return found


def tell_repeats(where: str, found: Sequence[Cells] | Sequence[Cube]) -> None:
    """Warn of cells with several rows that no generation tells apart."""
    if repeated := sum(int((one.n > 1).sum()) for one in found):
        warnings.warn(
            f"{where}: {repeated} cells have several rows and there is no column 'generation': each row is taken as an "
            "independent generation",
            HowsureWarning,
            stacklevel=3,
        )


def _grouped(path: str | Path, asked: Asked, group: Callable[..., T]) -> tuple[T, bool]:
    """The table's groups, and whether its rows are told apart: by a generation, or since each is a cell."""
    import duckdb
    import pyarrow as pa

    where = str(path)
    if not is_remote(where) and not is_glob(where):
        if not Path(path).is_file():
            raise InputError("no such file", where=where)
        if Path(path).stat().st_size == 0:
            remedy = "give a table with a header and at least one row"
            raise InputError("the file is empty", where=where, remedy=remedy)
    with tempfile.TemporaryDirectory(prefix="howsure-") as scratch, duckdb.connect() as connection:
        connection.execute(f"SET temp_directory = {quoted(scratch)}")
        connection.execute("SET preserve_insertion_order = true")
        try:
            return reduced(opened(connection, path, Path(scratch)), where, stem(path), asked, group)
        except (duckdb.Error, pa.ArrowInvalid, UnicodeDecodeError, EOFError, OSError) as error:
            what = " ".join(str(error).split("\n")[0].replace(f' in file "{where}"', "").split())[:200]
            raise InputError(
                f"cannot be read: {what}", where=where, remedy="is the file whole, and of the type its name says?"
            ) from error


def reduced(
    rows: duckdb.DuckDBPyRelation, where: str, benchmark: str, asked: Asked, group: Callable[..., T]
) -> tuple[T, bool]:
    """Groups of a table that DuckDB holds, and whether its rows are told apart.

    Parameters
    ----------
    rows
        Any columns; ours are found by `asked`.
    where, benchmark
        Name of the source, for messages, and of the benchmark where no column says it.
    group
        Of `store.tables`: canonical rows, where they are from, and if `asked.by_variant` the dimensions, to cells.

    Raises
    ------
    InputError
        With the first row that cannot be used. Rows are numbered and searched only when there is one.
    """
    deduplicated = not asked.wide and not asked.columns and dove.recognises(rows.columns)
    if deduplicated:
        rows, known = dove.as_tidy(rows, lambda told: warnings.warn(f"{where}: {told}", HowsureWarning, stacklevel=2))
        asked = asked._replace(dimensions=asked.dimensions or known) if asked.by_variant else asked
    table, rows, checks = _canonical(rows, where, benchmark, asked)
    more = {"dimensions": asked.dimensions} if asked.by_variant else {}
    try:
        told_apart = deduplicated or bool({"n", "generation"} & set(table.columns))
        return group(table, where=where, **more), told_apart
    except InputError:
        refuse(rows, where, [check for check in checks if check.late])
        raise


def _canonical(
    rows: duckdb.DuckDBPyRelation, where: str, benchmark: str, asked: Asked
) -> tuple[duckdb.DuckDBPyRelation, duckdb.DuckDBPyRelation, list[Check]]:
    """The same rows under our names, `n, total, total_sq` where each is a cell, else `score`; and what they must pass.

    Checks that only the rows can show have been made; the late ones, of the second table, are for when grouping fails.
    """
    columns = None
    if asked.wide:
        rows, columns = melted(numbered(rows), where, asked.columns, asked.dimensions, ROW)
    there = types(rows)
    found, dimensions, whole, of_cells = find([c for c in rows.columns if c != ROW], where, asked, columns)
    expressions = {"question": quoted(WHOLE), "benchmark": quoted(benchmark)}
    key = ("model", "question", "benchmark", "cluster")
    expressions |= {one: name(found[one], there) for one in key if one in found}
    expressions |= _variant(found, dimensions, there)
    checks = [
        _filled(one, found[one], there) for one in (*key, *(["variant"] if asked.by_variant else [])) if one in found
    ]
    if of_cells:
        numbers = aggregated(found, there, checks)
    else:
        numbers = [f"{number(found['score'], there, 'a score', checks)} AS score"]
        numbers += [f"{_generation(rows, found['generation'], there)} AS generation"] if "generation" in found else []
    refuse(rows, where, [check for check in checks if not check.late])
    table = rows.project(", ".join([*(f"{held} AS {identifier(one)}" for one, held in expressions.items()), *numbers]))
    if whole and "generation" not in found:
        _check_whole(table, where)
        table = table.project("*, 1 AS generation")
    return table, rows, checks


def _generation(rows: duckdb.DuckDBPyRelation, column: str, there: Types) -> str:
    """SQL for the generation: whole numbers also where they are written as text, so that they have an order."""
    held = name(column, there)
    if there.get(column) != "VARCHAR":
        return held
    number = f"TRY_CAST({held} AS BIGINT)"
    odd = rows.aggregate(f"count({held}) - count(CASE WHEN CAST({number} AS VARCHAR) = {held} THEN 1 END)")
    return held if odd.fetchall()[0][0] else number


def _filled(ours: str, column: str, there: Types) -> Check:
    wrong = f"coalesce(trim({text(column, there)}), '') = ''"
    return Check(wrong, column, f"the {ours} is empty", "fill it in", late=True)


def _variant(found: Mapping[str, str], dimensions: Mapping[str, str], there: Types) -> dict[str, str]:
    """SQL for the variant and its values; each combination of values is one where no column says it."""
    values = {
        one: f"coalesce(nullif(trim({text(column, there)}), ''), '(empty)')" for one, column in dimensions.items()
    }
    if "variant" in found:
        return {"variant": name(found["variant"], there), **values}
    said = [value if len(values) == 1 else f"{quoted(one + '=')} || {value}" for one, value in values.items()]
    return {"variant": " || ', ' || ".join(said), **values} if values else {}


def _check_whole(table: duckdb.DuckDBPyRelation, where: str) -> None:
    """Scores of whole benchmarks: one of each model under each variant, or their questions have been overlooked."""
    key = ", ".join(one for one in ("benchmark", "model", "variant") if one in table.columns)
    twice = table.aggregate(f"{key}, count(*) AS times", key).filter("times > 1").order(key).limit(1).fetchall()
    if twice:
        *names, times = twice[0]
        of = ", ".join(f"{one} {str(value)!r}" for one, value in zip(key.split(", "), names, strict=True))
        remedy = "name it with --columns question=COLUMN, or tell repeats apart by a column 'generation'"
        raise InputError(f"{times} scores of {of}, and no column for the question", where=where, remedy=remedy)
