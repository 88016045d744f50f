"""A table of scores with a row per prompt variant and a column per model, as papers publish them, to one score per row.

The first column names the variant, every other column of numbers is a model, and the ending that all models share and
that names a metric (`falcon-7b_acc`, `t0pp_acc`) is no part of their names. Columns of text are left out, and told so.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.tables.sql import identifier, quoted, text, types

if TYPE_CHECKING:
    import duckdb

__all__ = ["METRICS", "melted"]

#: Endings of a model's column that name what was measured.
METRICS = ("acc", "accuracy", "em", "exact_match", "f1", "mean", "pass1", "score")

_ENDING = re.compile(rf"[ _./:-]({'|'.join(METRICS)})$", re.IGNORECASE)


def melted(
    rows: duckdb.DuckDBPyRelation, where: str, columns: Mapping[str, str], dimensions: Sequence[str], row: str
) -> tuple[duckdb.DuckDBPyRelation, dict[str, str]]:
    """The table with columns `row`, variant, model, score and the others that were named, and where each of ours is.

    Parameters
    ----------
    columns
        Our names to the table's: variant, where it is not the first column, and benchmark.
    dimensions
        Columns that are no models but say the variants' values.
    row
        Name of the column that numbers the rows.
    """
    there = {column.lower(): column for column in rows.columns if column != row}
    named = {"variant": next(iter(there.values())), **columns}
    for name, column in named.items():
        if name not in {"variant", "benchmark"}:
            raise UnknownNameError("column", name, ("variant", "benchmark"), where="--columns with --wide")
        if column.lower() not in there:
            raise UnknownNameError("column", column, there.values(), where=where)
    known = {column.lower() for column in (*named.values(), *dimensions)}
    models = _models(rows, where, [column for lower, column in there.items() if lower not in known])
    label, kinds = _labels(models), types(rows)
    kept = {name: there[column.lower()] for name, column in named.items()}
    kept |= {name: there[name.lower()] for name in dimensions if name.lower() in there}
    names = ", ".join(quoted(label[column]) for column in models)
    scores = ", ".join(text(column, kinds) for column in models)
    fixed = ", ".join([f'"{row}"', *(f"{text(column, kinds)} AS {identifier(name)}" for name, column in kept.items())])
    long = rows.project(f"{fixed}, unnest([{names}]) AS model, unnest([{scores}]) AS score")
    return long, {name: name for name in (*named, "model", "score")}


def _models(rows: duckdb.DuckDBPyRelation, where: str, candidates: Sequence[str]) -> list[str]:
    """The columns of numbers; one that only begins so is refused."""
    models: list[str] = []
    left_out: list[str] = []
    kinds = types(rows)
    for column in filter(str.strip, candidates):  # a column without a name is the index of some program
        value = f"nullif(trim({text(column, kinds)}), '')"
        number = f"TRY_CAST({value} AS DOUBLE)"
        given, numbers, odd = rows.aggregate(
            f"count({value}), count({number}), min(CASE WHEN {number} IS NULL THEN {value} END)"
        ).fetchall()[0]
        if 0 < numbers < given:
            remedy = f"mend it, or say --dimension {column!r} if it is no model"
            raise InputError(f"{odd!r} is no score", where=f"{where}, column {column!r}", remedy=remedy)
        (models if numbers else left_out).append(column)
    if not models:
        raise InputError("no column of numbers", where=where, remedy="with --wide each model is a column")
    if left_out:
        told = f"{where}: {', '.join(left_out)} left out: not numbers, so no model"
        warnings.warn(told, HowsureWarning, stacklevel=2)
    return models


def _labels(models: Sequence[str]) -> dict[str, str]:
    endings = {match.group().lower() if (match := _ENDING.search(model)) else "" for model in models}
    shared = len(endings) == 1
    return {model: _ENDING.sub("", model) if shared else model for model in models}
