"""A tidy table (csv, parquet, jsonl) to cells: one row per generation, or one per cell with its count.

Column names of neighbouring tools are understood (`ALIASES`); the eval-arena shape, `benchmark_id, model, example_id,
pass1, count[, correct]`, is a table with a row per cell.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from errorbar.errors import ErrorbarWarning, InputError, UnknownNameError
from errorbar.store import tables

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from errorbar.stats.cells import Cells

__all__ = ["ALIASES", "SUFFIXES", "is_table", "read_table", "read_table_by_run"]

#: Our column to the names it goes by elsewhere, the first one present wins.
ALIASES: dict[str, tuple[str, ...]] = {
    "benchmark": ("benchmark", "benchmark_id"),
    "model": ("model", "model_id", "model_name", "model_label"),
    "question": ("question", "question_id", "example_id", "item", "example", "input", "input_label", "sample_id", "id"),
    "variant": ("variant", "prompt", "template", "prompt_template"),
    "generation": ("generation", "epoch", "run", "run_id", "repeat", "trial", "seed"),
    "score": ("score", "value", "result", "metric", "correct"),
    "mean": ("pass1",),
    "count": ("count",),
    "correct": ("correct",),
    "cluster": (),  # only where it is asked for
}

SUFFIXES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".jsonl": "json", ".ndjson": "json"}

_ROW = "row number"

#: A mean of several 0/1 scores may have been rounded to two decimals.
_ROUNDING = 0.005


T = TypeVar("T")


def read_table(path: Path, columns: Mapping[str, str] | None = None) -> list[Cells]:
    """Cells of a table in a file; the benchmark is the file's name where no column says it.

    Parameters
    ----------
    path
        A csv, tsv, parquet, jsonl or ndjson file, or such a text file with `.gz` behind its name.
    columns
        Our column names to the file's, where `ALIASES` would not find them.
    """
    found, told_apart = _grouped(path, columns, tables.cells)
    if not told_apart and (repeated := sum(int((cells.n > 1).sum()) for cells in found)):
        warnings.warn(
            f"{path}: {repeated} cells have several rows and there is no column 'generation': each row is taken as an "
            "independent generation",
            ErrorbarWarning,
            stacklevel=2,
        )
    return found


def read_table_by_run(path: Path, columns: Mapping[str, str] | None = None) -> dict[str, list[Cells]]:
    """The same with each generation alone, which is one run; by benchmark. Without such a column the file is one."""
    return _grouped(path, columns, tables.cells_by_run)[0]


def _grouped(path: Path, columns: Mapping[str, str] | None, group: Callable[..., T]) -> tuple[T, bool]:
    """The table's groups, and whether its rows are told apart: by a generation, or since each is a cell."""
    import duckdb
    import pyarrow as pa

    if not path.is_file():
        raise InputError("no such file", where=str(path))
    if path.stat().st_size == 0:
        raise InputError("the file is empty", where=str(path), remedy="give a table with a header and at least one row")
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = true")
        try:
            rows = _canonical(_open(connection, path), path, columns or {})
            return group(rows, where=str(path)), bool({"n", "generation"} & set(rows.columns))
        except (duckdb.Error, pa.ArrowInvalid, UnicodeDecodeError, EOFError, OSError) as error:
            what = " ".join(str(error).split("\n")[0].split())[:200]
            raise InputError(
                f"cannot be read: {what}", where=str(path), remedy="is the file whole, and of the type its name says?"
            ) from error


def is_table(path: Path) -> bool:
    """Whether a file's name says that it is a table."""
    return _kind(path) is not None


def _kind(path: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"] and SUFFIXES.get(suffixes[-2] if len(suffixes) > 1 else "") != "parquet":
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1] if suffixes else "")


def _open(connection: duckdb.DuckDBPyConnection, path: Path) -> duckdb.DuckDBPyRelation:
    """The file as text columns (csv) or typed ones (parquet, jsonl), with its row number, from 1."""
    kind = _kind(path)
    if kind is None:
        raise UnknownNameError("file type", path.suffix, SUFFIXES, where=str(path))
    name = str(path)
    if kind == "csv":
        rows = connection.from_arrow(_csv(path))
    elif kind == "parquet":
        rows = connection.read_parquet(name)
    else:
        rows = connection.read_json(name, format="newline_delimited", sample_size=-1)
    return rows.project(f'row_number() OVER () AS "{_ROW}", *')


def _csv(path: Path) -> pa.Table:
    """A delimited text file as text columns; refuses a line with another number of fields than the header."""
    import gzip

    import pyarrow as pa
    from pyarrow import csv

    with (
        gzip.open(path, "rt", encoding="utf-8-sig") if path.suffix == ".gz" else path.open(encoding="utf-8-sig") as file
    ):
        header = file.readline()
    delimiter = max("\t,;|", key=header.count)
    names = [name.strip().strip('"') for name in header.split(delimiter)]
    return csv.read_csv(
        str(path),
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )


class _Check(NamedTuple):
    """A SQL condition that holds for rows that must be refused."""

    wrong: str
    column: str
    what: str
    remedy: str


def _canonical(rows: duckdb.DuckDBPyRelation, path: Path, columns: Mapping[str, str]) -> duckdb.DuckDBPyRelation:
    """The same rows under our names, checked; `n, total, total_sq` where each row is a cell, else `score`."""
    found = _find_columns(rows, path, columns)
    # A cell per row: a mean and a count. One row per generation: a score.
    aggregated = "count" in found or ("mean" in found and "score" not in columns)
    needed = ["model", "question", "mean" if aggregated else "score"]
    if missing := [name for name in needed if name not in found]:
        wanted = ", ".join(f"{name!r} ({' or '.join(ALIASES[name])})" for name in missing)
        there = ", ".join(c for c in rows.columns if c != _ROW)
        raise InputError(
            f"no column for {wanted}",
            where=str(path),
            remedy=f"the columns are {there}: name one with --columns {missing[0]}=COLUMN",
        )
    checks: list[_Check] = []
    stem = path.name.split(".")[0] if path.suffix == ".gz" else path.stem
    text = {name: f'CAST("{found[name]}" AS VARCHAR)' for name in ("model", "question")}
    text["benchmark"] = f'CAST("{found["benchmark"]}" AS VARCHAR)' if "benchmark" in found else _quoted(stem)
    for name, expression in text.items():
        checks.append(
            _Check(
                f"coalesce(trim({expression}), '') = ''", found.get(name, name), f"the {name} is empty", "fill it in"
            )
        )
    if aggregated:
        values = _aggregated(found, checks)
    else:
        values = [f"{_number(found['score'], 'a score', checks)} AS score"]
        values += [f'CAST("{found[n]}" AS VARCHAR) AS {n}' for n in ("variant", "generation") if n in found]
    if "cluster" in found:
        text["cluster"] = f'CAST("{found["cluster"]}" AS VARCHAR)'
        wrong = f"coalesce(trim({text['cluster']}), '') = ''"
        checks.append(_Check(wrong, found["cluster"], "the cluster is empty", "fill it in"))
    _refuse(rows, path, checks)
    return rows.project(", ".join([f"{expression} AS {name}" for name, expression in text.items()] + values))


def _find_columns(rows: duckdb.DuckDBPyRelation, path: Path, columns: Mapping[str, str]) -> dict[str, str]:
    there = {c.lower(): c for c in rows.columns}
    found = {}
    for name, given in columns.items():
        if name not in ALIASES:
            raise UnknownNameError("column", name, ALIASES, where="--columns")
        if given.lower() not in there:
            raise UnknownNameError("column", given, rows.columns[1:], where=str(path))
        found[name] = there[given.lower()]
    taken = set(found.values())
    for name, aliases in ALIASES.items():
        match = next((there[a] for a in aliases if a in there and there[a] not in taken), None)
        if name not in found and match is not None:
            found[name] = match
    return found


def _aggregated(found: Mapping[str, str], checks: list[_Check]) -> list[str]:
    """SQL for n, total and total_sq from a mean, a count and, where it is there, a number of correct answers."""
    mean = _number(found["mean"], "a mean score", checks)
    checks.append(
        _Check(f"{mean} IS NULL", found["mean"], "the mean is empty", "leave the row out if nothing was scored")
    )
    if "count" not in found:
        return ["1 AS n", f"{mean} AS total", f"{mean} * {mean} AS total_sq"]
    count = _number(found["count"], "a count", checks)
    checks.append(
        _Check(
            f"{count} IS NULL OR {count} < 1 OR {count} <> floor({count})",
            found["count"],
            "the count is not a whole number of at least 1",
            "count the generations behind the mean",
        )
    )
    if "correct" in found:
        correct = _number(found["correct"], "a number of correct answers", checks)
        wrong = f"abs({correct} / {count} - {mean}) > {_ROUNDING}"
        checks.append(
            _Check(wrong, found["correct"], f"correct / count is not {found['mean']}", "mend whichever is wrong")
        )
    # Sums of squares are known for one score, and for several that are 0 or 1: sum y^2 = sum y.
    wrong = f"abs(round({mean} * {count}) / {count} - {mean}) > {_ROUNDING} OR NOT {mean} BETWEEN 0 AND 1"
    checks.append(
        _Check(
            f"{count} > 1 AND ({wrong})",
            found["mean"],
            "a mean of several scores that are not 0 or 1, whose spread is lost",
            "give one row per generation with its score",
        )
    )
    square = f"CASE WHEN {count} > 1 THEN {mean} * {count} ELSE {mean} * {mean} END"
    return [f"CAST({count} AS BIGINT) AS n", f"{mean} * {count} AS total", f"{square} AS total_sq"]


def _number(column: str, what: str, checks: list[_Check]) -> str:
    """SQL for a column as a number: empty and NaN are null, true and false are 1 and 0, anything else is refused."""
    text = f"nullif(trim(lower(CAST(\"{column}\" AS VARCHAR))), '')"
    text = f"(CASE {text} WHEN 'true' THEN '1' WHEN 'false' THEN '0' WHEN 'nan' THEN NULL ELSE {text} END)"
    number = f"TRY_CAST({text} AS DOUBLE)"
    wrong = f"{text} IS NOT NULL AND ({number} IS NULL OR isinf({number}))"
    checks.append(_Check(wrong, column, f"not {what}, which is a finite number", "mend the value, or leave it empty"))
    return number


def _refuse(rows: duckdb.DuckDBPyRelation, path: Path, checks: list[_Check]) -> None:
    """Raise for the first row that a check refuses; one pass when all is well."""
    found = rows.aggregate(", ".join(f"bool_or({check.wrong})" for check in checks)).fetchall()[0]
    for check in (check for check, wrong in zip(checks, found, strict=True) if wrong):
        value = f'CAST("{check.column}" AS VARCHAR)' if check.column in rows.columns else "NULL"
        row, shown = rows.filter(check.wrong).project(f'"{_ROW}", {value}').order(f'"{_ROW}"').limit(1).fetchall()[0]
        what = check.what
        if shown:
            what = f"{shown[:60]!r} is {what}" if what.startswith("not") else f"{what}: {shown[:60]!r}"
        raise InputError(what, where=f"{path}, row {row}, column {check.column!r}", remedy=check.remedy)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
