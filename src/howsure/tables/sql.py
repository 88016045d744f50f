"""Names and texts as SQL writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from howsure.errors import InputError

__all__ = [
    "ROW",
    "Check",
    "Types",
    "aggregated",
    "identifier",
    "name",
    "number",
    "numbered",
    "quoted",
    "refuse",
    "text",
    "types",
]


def identifier(column: str) -> str:
    """A column's name.

    >>> print(identifier('5" disk'))
    "5"" disk"
    """
    return '"' + column.replace('"', '""') + '"'


def quoted(text: str) -> str:
    """A text.

    >>> print(quoted("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


if TYPE_CHECKING:
    import duckdb


#: Column that numbers the rows.
ROW = "row number"
#: A mean of several 0/1 scores may have been rounded to two decimals.
_ROUNDING = 0.005
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"})

#: Columns to their types.
Types = Mapping[str, str]


class Check(NamedTuple):
    """A SQL condition that holds for rows that must be refused."""

    wrong: str
    column: str
    what: str
    remedy: str
    late: bool = False
    """Whether grouped rows show it too, so that the rows are asked only when they do."""


def numbered(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The rows with their numbers, from 1, in a column `ROW` before all others."""
    return rows.project(f'row_number() OVER () AS "{ROW}", *')


def types(rows: duckdb.DuckDBPyRelation) -> Types:
    """Each column's type."""
    return dict(zip(rows.columns, map(str, rows.types), strict=True))


def text(column: str, there: Types) -> str:
    """SQL for a column as text."""
    kind = there.get(column)
    if kind == "VARCHAR":
        return identifier(column)
    return f"({identifier(column)} ->> '$')" if kind == "JSON" else f"CAST({identifier(column)} AS VARCHAR)"


def name(column: str, there: Types) -> str:
    """SQL for a column of names: text, or whole numbers, which are text once they are grouped."""
    return identifier(column) if there.get(column) in _WHOLE else text(column, there)


def number(column: str, there: Types, what: str, checks: list[Check]) -> str:
    """SQL for a column as a number: empty and NaN are null, true and false are 1 and 0, anything else is refused."""
    kind, told, mend = there[column], f"not {what}, which is a finite number", "mend the value, or leave it empty"
    held = identifier(column)
    if kind in _WHOLE or kind.startswith("DECIMAL"):
        return f"CAST({held} AS DOUBLE)"
    if kind == "BOOLEAN":
        return f"CAST(CAST({held} AS TINYINT) AS DOUBLE)"
    if kind in {"FLOAT", "DOUBLE"}:
        checks.append(Check(f"coalesce(isinf({held}), false)", column, told, mend, late=True))
        return f"CASE WHEN isnan({held}) THEN NULL ELSE CAST({held} AS DOUBLE) END"
    given = f"nullif(trim(lower({text(column, there)})), '')"
    given = f"(CASE {given} WHEN 'true' THEN '1' WHEN 'false' THEN '0' WHEN 'nan' THEN NULL ELSE {given} END)"
    value = f"TRY_CAST({given} AS DOUBLE)"
    checks.append(Check(f"{given} IS NOT NULL AND ({value} IS NULL OR isinf({value}))", column, told, mend))
    return value


def aggregated(found: Mapping[str, str], there: Types, checks: list[Check]) -> list[str]:
    """SQL for n, total and total_sq from a mean, a count and, where it is there, a number of correct answers."""
    mean = number(found["mean"], there, "a mean score", checks)
    checks.append(
        Check(f"({mean}) IS NULL", found["mean"], "the mean is empty", "leave the row out if nothing was scored")
    )
    if "count" not in found:
        return ["1 AS n", f"{mean} AS total", f"({mean}) * ({mean}) AS total_sq"]
    mean = f"({mean})"
    count = f"({number(found['count'], there, 'a count', checks)})"
    checks.append(
        Check(
            f"{count} IS NULL OR {count} < 1 OR {count} <> floor({count})",
            found["count"],
            "the count is not a whole number of at least 1",
            "count the generations behind the mean",
        )
    )
    if "correct" in found:
        correct = f"({number(found['correct'], there, 'a number of correct answers', checks)})"
        wrong = f"abs({correct} / {count} - {mean}) > {_ROUNDING}"
        checks.append(
            Check(wrong, found["correct"], f"correct / count is not {found['mean']}", "mend whichever is wrong")
        )
    # Sums of squares are known for one score, and for several that are 0 or 1: sum y^2 = sum y.
    wrong = f"abs(round({mean} * {count}) / {count} - {mean}) > {_ROUNDING} OR NOT {mean} BETWEEN 0 AND 1"
    checks.append(
        Check(
            f"{count} > 1 AND ({wrong})",
            found["mean"],
            "a mean of several scores that are not 0 or 1, whose spread is lost",
            "give one row per generation with its score",
        )
    )
    square = f"CASE WHEN {count} > 1 THEN {mean} * {count} ELSE {mean} * {mean} END"
    return [f"CAST({count} AS BIGINT) AS n", f"{mean} * {count} AS total", f"{square} AS total_sq"]


def refuse(rows: duckdb.DuckDBPyRelation, where: str, checks: Sequence[Check]) -> None:
    """Raise for the first row that a check refuses; one pass when all is well."""
    if not checks:
        return
    found = rows.aggregate(", ".join(f"bool_or({check.wrong})" for check in checks)).fetchall()[0]
    for check in (check for check, wrong in zip(checks, found, strict=True) if wrong):
        placed = rows if ROW in rows.columns else numbered(rows)
        value = text(check.column, types(rows)) if check.column in rows.columns else "NULL"
        bad = placed.filter(check.wrong).project(f'"{ROW}", {value}').order(f'"{ROW}"').limit(1).fetchall()
        row, shown = bad[0]
        what = check.what
        if shown:
            what = f"{shown[:60]!r} is {what}" if what.startswith("not") else f"{what}: {shown[:60]!r}"
        raise InputError(what, where=f"{where}, row {row}, column {check.column!r}", remedy=check.remedy)
