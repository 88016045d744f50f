"""Build SQL for the columns of a table in DuckDB, and the checks that refuse a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from howsure.errors import InputError
from howsure.rows.words import MISSING_TEXTS

if TYPE_CHECKING:
    import duckdb

#: Column with the numbers of the rows.
ROW = "row number"
#: A mean of several 0/1 scores may have been rounded to two decimals.
_ROUNDING = 0.005
#: Rows at the beginning of a table in which a name such as 1.0 is looked for before all rows are.
FIRST_ROWS = 100_000
#: A whole number, perhaps with zeros after its point.
_WHOLE_NUMBER = "^[+-]?[0-9]+([.]0+)?$"
#: Types of whole numbers.
INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"})

#: Columns to the names of their types.
ColumnTypes = Mapping[str, str]


class RowCheck(NamedTuple):
    """A SQL condition that holds for rows that must be refused."""

    wrong: str
    column: str
    what: str
    remedy: str
    late: bool = False
    """Whether grouping fails for such rows too, so that the rows are searched only after it failed."""


def quote_name(column: str) -> str:
    """Return the name of a column as SQL writes it.

    >>> print(quote_name('5" disk'))
    "5"" disk"
    """
    return '"' + column.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Return a text as SQL writes it.

    >>> print(quote_text("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def number_rows(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return the rows with their numbers, from 1, in a column `ROW` before all others."""
    return rows.project(f'row_number() OVER () AS "{ROW}", *')


def read_column_types(rows: duckdb.DuckDBPyRelation) -> ColumnTypes:
    """Return the type of each column."""
    return dict(zip(rows.columns, map(str, rows.types), strict=True))


def write_text_sql(column: str, types: ColumnTypes) -> str:
    """Return SQL for a column as text."""
    kind = types.get(column)
    if kind == "VARCHAR":
        return quote_name(column)
    return f"({quote_name(column)} ->> '$')" if kind == "JSON" else f"CAST({quote_name(column)} AS VARCHAR)"


def name_sql(column: str, types: ColumnTypes) -> str:
    """Return SQL for a column of names: text, or whole numbers, which become text once they are grouped."""
    return quote_name(column) if types.get(column) in INTEGERS else write_text_sql(column, types)


def shorten_whole_numbers(
    rows: duckdb.DuckDBPyRelation, columns: Sequence[str]
) -> tuple[duckdb.DuckDBPyRelation, list[str]]:
    """Return the rows with names such as 1.0 as 1, and the columns that had them.

    pandas writes a column of whole numbers with a missing value as 1.0, 2.0, ... A column with any other name, such as
    1.5 or a text, stays as it is: 1.0 may be the number of a version or of a section there.

    Parameters
    ----------
    rows
        A table.
    columns
        Its columns of names.

    >>> import duckdb
    >>> rows = duckdb.sql("SELECT * FROM VALUES ('1.0', 'a'), ('2', '3.0') AS t(x, y)")
    >>> rows, shortened = shorten_whole_numbers(rows, ["x", "y"])
    >>> rows.fetchall(), shortened
    ([('1', 'a'), ('2', '3.0')], ['x'])
    """
    types = read_column_types(rows)
    texts = {
        column: f"nullif(trim({write_text_sql(column, types)}), '')"
        for column in dict.fromkeys(columns)
        if types[column] in {"VARCHAR", "JSON", "FLOAT", "DOUBLE"}
    }
    has_zeros = {column: f"coalesce(bool_or(suffix({text}, '.0')), false)" for column, text in texts.items()}
    columns_with = _list_true(rows.limit(FIRST_ROWS), has_zeros)
    # NaN is a name that is missing; larger numbers of doubles are no names that are exact.
    are_whole = {
        column: f"bool_and(coalesce(regexp_matches({text}, '{_WHOLE_NUMBER}') OR lower({text}) = 'nan', true))"
        for column, text in texts.items()
        if column in columns_with
    }
    are_shortened = _list_true(rows, are_whole)
    if not are_shortened:
        return rows, []
    parts = (
        f"CASE WHEN lower({texts[column]}) <> 'nan' THEN regexp_replace({texts[column]}, '[.]0+$', '') END "
        f"AS {quote_name(column)}"
        for column in are_shortened
    )
    return rows.project(f"* REPLACE ({', '.join(parts)})"), are_shortened


def _list_true(rows: duckdb.DuckDBPyRelation, conditions: Mapping[str, str]) -> list[str]:
    """Return the columns whose condition, an aggregate, is true of the rows."""
    if not conditions:
        return []
    values = rows.aggregate(", ".join(conditions.values())).fetchall()[0]
    return [column for column, is_true in zip(conditions, values, strict=True) if is_true]


def number_sql(
    column: str, types: ColumnTypes, what: str, checks: list[RowCheck], words: Mapping[str, float | None] | None = None
) -> str:
    """Return SQL for a column as a number, and add to `checks` what refuses other values.

    Empty and NaN are null, true and false are 1 and 0. In text, 57.2% is 0.572, and a comma is a decimal point. `words`
    are further texts, in lower case, and the numbers that they are; see `score_column.read_score_column`.
    """
    kind, wrong, remedy = types[column], f"not {what}, which is a finite number", "fix the value, or leave it empty"
    if words is not None and kind in {"VARCHAR", "JSON"}:
        remedy += "; of words, pairs such as pass and fail, yes and no, true and false, C and I are read"
    quoted = quote_name(column)
    if kind in INTEGERS or kind.startswith("DECIMAL"):
        return f"CAST({quoted} AS DOUBLE)"
    if kind == "BOOLEAN":
        return f"CAST(CAST({quoted} AS TINYINT) AS DOUBLE)"
    if kind in {"FLOAT", "DOUBLE"}:
        checks.append(RowCheck(f"coalesce(isinf({quoted}), false)", column, wrong, remedy, late=True))
        return f"CASE WHEN isnan({quoted}) THEN NULL ELSE CAST({quoted} AS DOUBLE) END"
    text, value = parse_number_sql(write_text_sql(column, types), words)
    checks.append(RowCheck(f"{text} IS NOT NULL AND coalesce(isinf({value}), true)", column, wrong, remedy))
    return value


def parse_number_sql(text: str, words: Mapping[str, float | None] | None = None) -> tuple[str, str]:
    """Return SQL for a text without spaces around it, and for the number that it is; missing values are null.

    >>> import duckdb
    >>> values = [parse_number_sql(f"'{text}'")[1] for text in (" .5", "57,5 %", "0,5", "true", "5/10", "NA")]
    >>> duckdb.sql("SELECT " + ", ".join(values)).fetchall()
    [(0.5, 0.575, 0.5, 1.0, None, None)]
    >>> duckdb.sql("SELECT " + parse_number_sql("'Pass'", {"pass": 1.0})[1]).fetchall()
    [(1.0,)]
    """
    # Short SQL: DuckDB plans an expression anew in each place where it stands, which takes longer than a small table.
    lower = f"trim(lower({text}))"
    numbers = {"true": 1.0, "false": 0.0, "": None, **dict.fromkeys(MISSING_TEXTS), **(words or {})}
    missing = ", ".join(quote_text(word) for word, number in numbers.items() if number is None)
    cases = " ".join(f"WHEN {lower} = {quote_text(word)} THEN '{n:g}'" for word, n in numbers.items() if n is not None)
    text = f"(CASE WHEN {lower} IN ({missing}) THEN NULL {cases} ELSE {lower} END)"
    plain = f"TRY_CAST(replace(rtrim({text}, '% '), ',', '.') AS DOUBLE)"
    # Most texts are numbers as they are; the other forms are tried for the rest only.
    unit = f"(CASE WHEN suffix({lower}, '%') THEN 100 ELSE 1 END)"
    return text, f"coalesce(TRY_CAST({text} AS DOUBLE), {plain} / {unit})"


def write_cell_sums_sql(columns: Mapping[str, str], types: ColumnTypes, checks: list[RowCheck]) -> list[str]:
    """Return SQL for n, total and total_sq of rows that are cells, and add to `checks` what refuses a row.

    Parameters
    ----------
    columns
        Our names mean, count and, where it is there, correct to the table's columns.
    types
        Types of the table's columns.
    checks
        Is extended.
    """
    mean = number_sql(columns["mean"], types, "a mean score", checks)
    checks.append(
        RowCheck(f"({mean}) IS NULL", columns["mean"], "the mean is empty", "leave the row out if nothing was scored")
    )
    mean = f"({mean})"
    count = f"({number_sql(columns['count'], types, 'a count', checks)})"
    checks.append(
        RowCheck(
            f"{count} IS NULL OR {count} < 1 OR {count} <> floor({count})",
            columns["count"],
            "the count is not a whole number of at least 1",
            "count the generations behind the mean",
        )
    )
    if "correct" in columns:
        correct = f"({number_sql(columns['correct'], types, 'a number of correct answers', checks)})"
        wrong = f"abs({correct} / {count} - {mean}) > {_ROUNDING}"
        what = f"correct / count is not {columns['mean']}"
        checks.append(RowCheck(wrong, columns["correct"], what, "fix whichever is wrong"))
    # The sum of squares is known of one score, and of several that are 0 or 1, where sum y^2 = sum y.
    wrong = f"abs(round({mean} * {count}) / {count} - {mean}) > {_ROUNDING} OR NOT {mean} BETWEEN 0 AND 1"
    checks.append(
        RowCheck(
            f"{count} > 1 AND ({wrong})",
            columns["mean"],
            "a mean of several scores that are not 0 or 1, whose spread is lost",
            "give one row per generation with its score",
        )
    )
    square = f"CASE WHEN {count} > 1 THEN {mean} * {count} ELSE {mean} * {mean} END"
    return [f"CAST({count} AS BIGINT) AS n", f"{mean} * {count} AS total", f"{square} AS total_sq"]


def refuse_rows(
    rows: duckdb.DuckDBPyRelation,
    where: str,
    checks: Sequence[RowCheck],
    place: Callable[[str, int], str] = "{}, row {}".format,
) -> None:
    """Raise InputError for the first row that a check refuses; one pass when none does.

    `place` returns what messages call a row of `where`, by its number from 1.
    """
    if not checks:
        return
    refused = rows.aggregate(", ".join(f"bool_or({check.wrong})" for check in checks)).fetchall()[0]
    for check in (check for check, is_wrong in zip(checks, refused, strict=True) if is_wrong):
        numbered = rows if ROW in rows.columns else number_rows(rows)
        value = write_text_sql(check.column, read_column_types(rows)) if check.column in rows.columns else "NULL"
        bad = numbered.filter(check.wrong).project(f'"{ROW}", {value}').order(f'"{ROW}"').limit(1).fetchall()
        row, text = bad[0]
        what = check.what
        if text:
            what = f"{text[:60]!r} is {what}" if what.startswith("not") else f"{what}: {text[:60]!r}"
        raise InputError(what, where=f"{place(where, row)}, column {check.column!r}", remedy=check.remedy, code="value")
