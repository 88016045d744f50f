"""Read a table of scores with a row per prompt variant and a column per model, as papers publish them.

The first column names the variant; every other column of numbers is a model. An ending that all models share and that
names a metric (`falcon-7b_acc`, `t0pp_acc`) is removed from their names. Columns of text are left out with a warning.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.tables.sql import column_types, quote_name, quote_text, text_sql

if TYPE_CHECKING:
    import duckdb

__all__ = ["METRICS", "melt_models"]

#: Endings of a model's column that name what was measured.
METRICS = ("acc", "accuracy", "em", "exact_match", "f1", "mean", "pass1", "score")

_ENDING = re.compile(rf"[ _./:-]({'|'.join(METRICS)})$", re.IGNORECASE)


def melt_models(
    rows: duckdb.DuckDBPyRelation, where: str, columns: Mapping[str, str], dimensions: Sequence[str], row: str
) -> tuple[duckdb.DuckDBPyRelation, dict[str, str]]:
    """Turn a table with a column per model into one with a row per score.

    Parameters
    ----------
    rows
        The table.
    where
        Its name, for messages.
    columns
        Our names to the table's: variant, where it is not the first column, and benchmark.
    dimensions
        Columns that are no models but values of the variants.
    row
        Name of the column with the numbers of the rows.

    Returns
    -------
    rows
        With columns `row`, variant, model, score and the others that were named.
    columns
        Our names to its columns.
    """
    by_lower_name = {column.lower(): column for column in rows.columns if column != row}
    named = {"variant": next(iter(by_lower_name.values())), **columns}
    for name, column in named.items():
        if name not in {"variant", "benchmark"}:
            raise UnknownNameError("column", name, ("variant", "benchmark"), where="--columns with --wide")
        if column.lower() not in by_lower_name:
            raise UnknownNameError("column", column, by_lower_name.values(), where=where)
    excluded = {column.lower() for column in (*named.values(), *dimensions)}
    candidates = [column for lower, column in by_lower_name.items() if lower not in excluded]
    models = _find_models(rows, where, candidates)
    labels, types = _label_models(models), column_types(rows)
    fixed_columns = {name: by_lower_name[column.lower()] for name, column in named.items()}
    fixed_columns |= {name: by_lower_name[name.lower()] for name in dimensions if name.lower() in by_lower_name}
    names = ", ".join(quote_text(labels[column]) for column in models)
    scores = ", ".join(text_sql(column, types) for column in models)
    fixed = [f"{text_sql(column, types)} AS {quote_name(name)}" for name, column in fixed_columns.items()]
    long = rows.project(f'"{row}", {", ".join(fixed)}, unnest([{names}]) AS model, unnest([{scores}]) AS score')
    return long, {name: name for name in (*named, "model", "score")}


def _find_models(rows: duckdb.DuckDBPyRelation, where: str, candidates: Sequence[str]) -> list[str]:
    """Return the columns of numbers; a column with numbers and other text is refused."""
    models: list[str] = []
    left_out: list[str] = []
    types = column_types(rows)
    for column in filter(str.strip, candidates):  # a column without a name is the index of some program
        value = f"nullif(trim({text_sql(column, types)}), '')"
        number = f"TRY_CAST({value} AS DOUBLE)"
        n_values, n_numbers, other = rows.aggregate(
            f"count({value}), count({number}), min(CASE WHEN {number} IS NULL THEN {value} END)"
        ).fetchall()[0]
        if 0 < n_numbers < n_values:
            remedy = f"fix it, or say --dimension {column!r} if it is no model"
            raise InputError(f"{other!r} is no score", where=f"{where}, column {column!r}", remedy=remedy)
        (models if n_numbers else left_out).append(column)
    if not models:
        raise InputError("no column of numbers", where=where, remedy="with --wide each model is a column")
    if left_out:
        line = f"{where}: {', '.join(left_out)} left out: not numbers, so no model"
        warnings.warn(line, HowsureWarning, stacklevel=2)
    return models


def _label_models(columns: Sequence[str]) -> dict[str, str]:
    """Return the label of each model's column: without the metric that all of them name."""
    endings = {match.group().lower() if (match := _ENDING.search(column)) else "" for column in columns}
    is_shared = len(endings) == 1
    return {column: _ENDING.sub("", column) if is_shared else column for column in columns}
