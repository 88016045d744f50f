"""Tell rows of one model and question apart by a further column: of tasks, scorers or settings of the model.

Several rows of a cell are generations if nothing says otherwise. A column of subjects beside ids that are counted anew
in each, a column of metrics, or one of temperatures says that they are none.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from howsure.rows.columns import (
    TEXT_ALIASES,
    TableColumns,
    TableOptions,
    find_question_columns,
    find_setting_columns,
    normalise_name,
)
from howsure.rows.sql import ROW, quote_name, quote_text, read_column_types, write_text_sql
from howsure.rows.wide import is_metric

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "MODEL_SETTING",
    "find_scorer_column",
    "find_scores_of_traces",
    "find_shared_question",
    "has_value",
    "note_repeated_rows",
    "separate_settings",
]

#: A column that is added to a table: the model with its settings.
MODEL_SETTING = "model and settings"
#: Columns of texts, which tell no rows apart.
_TEXTS = frozenset(normalise_name(name) for names in TEXT_ALIASES.values() for name in names)
#: Normalised names of columns that number rows, also those of models that answered other questions.
_RUNNING_NUMBERS = frozenset({"idx", "index", "questionno", "questionnumber"})
#: Normalised names of columns of what was scored, and of the scorer, where each score is a row with an id of its own.
_TRACES = frozenset({"traceid", "spanid", "observationid", "runid", "recordid", "datasetitemid"})
_SCORE_NAMES = frozenset({"name", "scorename", "evaluatorname", "metricname", "feedbackkey"})
#: Largest number of values of a column that tells rows apart, and of their characters.
_MOST_VALUES, _MOST_CHARACTERS = 50, 60
#: Number of rows in which columns with few values are looked for, and in which repeats are counted.
_FEW_ROWS, _MOST_ROWS = 10_000, 5_000_000
#: Smallest share of all pairs of models and values that are there, where a column says how a table was made.
_SHARE_OF_PAIRS = 0.9
#: Largest number of values that a note lists.
_N_NAMED = 3


class _Label(NamedTuple):
    """A column with few short values, and these."""

    column: str
    values: tuple[str, ...]

    @property
    def listed(self) -> str:
        return ", ".join(self.values[:_N_NAMED]) + ", ..." * (len(self.values) > _N_NAMED)


def find_shared_question(
    rows: duckdb.DuckDBPyRelation, table_columns: TableColumns, options: TableOptions, notes: list[str]
) -> TableColumns:
    """Return the columns with another one of questions where each row has an id of its own, as spans of traces have.

    The other column has the name of one of questions, and each of several models has a row for each of its values.
    """
    columns = table_columns.columns
    if normalise_name(columns.get("question", "")) != "id":
        return table_columns
    others = [
        column
        for column in find_question_columns(_list_unused(rows, table_columns))
        if normalise_name(column.rpartition(".")[2]) not in _RUNNING_NUMBERS
    ]
    if not others or "question" in options.columns or not {"model", "question"} <= columns.keys() or _is_large(rows):
        return table_columns
    types = read_column_types(rows)
    model, question = (write_text_sql(columns[name], types) for name in ("model", "question"))
    n_rows, n_questions, n_models = _count(rows, question, model)
    if n_questions < n_rows or n_models < 2:
        return table_columns
    for column in others:
        text = write_text_sql(column, types)
        _, n_values, n_pairs = _count(rows, text, f"({model}, {text})")
        if n_pairs == n_rows >= _SHARE_OF_PAIRS * n_models * n_values:
            notes.append(
                f"column {columns['question']!r} has another value in each row, and is no question that two models "
                f"answered: the questions are in column {column!r} (--columns question=COLUMN names another)"
            )
            return table_columns._replace(columns={**columns, "question": column})
    return table_columns


def find_scores_of_traces(
    rows: duckdb.DuckDBPyRelation, table_columns: TableColumns, options: TableOptions, notes: list[str]
) -> TableColumns:
    """Return the columns with those of traces and of scorers where each score is a row with an id of its own.

    No trace has two scores of one name. Each score would be a question, and scorers would be averaged.
    """
    columns = table_columns.columns
    if "question" in options.columns or "scorer" in columns or normalise_name(columns.get("question", "")) != "id":
        return table_columns
    unused = _list_unused(rows, table_columns)
    traces = [column for column in unused if normalise_name(column.rpartition(".")[2]) in _TRACES]
    names = [column for column in unused if normalise_name(column.rpartition(".")[2]) in _SCORE_NAMES]
    if not traces or not names or _is_large(rows):
        return table_columns
    types = read_column_types(rows)
    question = write_text_sql(columns["question"], types)
    for trace, name in product(traces, names):
        texts = [write_text_sql(column, types) for column in (trace, name)]
        n_rows, n_ids, n_traces, n_names, n_pairs = _count(rows, question, *texts, f"({', '.join(texts)})")
        if n_ids == n_pairs == n_rows > n_traces > 1 < n_names <= _MOST_VALUES:
            notes.append(
                f"column {columns['question']!r} has another value in each row, and column {name!r} names the scorer: "
                f"the questions are in column {trace!r} (--columns question=COLUMN names another)"
            )
            return table_columns._replace(columns={**columns, "question": trace, "scorer": name})
    return table_columns


def find_scorer_column(rows: duckdb.DuckDBPyRelation, table_columns: TableColumns) -> TableColumns:
    """Return the columns with one of scorers where a column of another name has names of metrics for each question."""
    columns = table_columns.columns
    if "scorer" in columns or "question" not in columns:
        return table_columns
    for label in _list_labels(rows, table_columns):
        n_metrics = sum(map(is_metric, label.values))
        if (
            2 * n_metrics >= len(label.values) > 1
            and _has_repeats(rows, table_columns)
            and _distinguishes(rows, table_columns, label.column)
        ):
            return table_columns._replace(columns={**columns, "scorer": label.column})
    return table_columns


def has_value(rows: duckdb.DuckDBPyRelation, name: str) -> bool:
    """Return whether a column of text has a name among its values, as `normalise_name` compares them."""
    columns = [column for column, kind in read_column_types(rows).items() if kind == "VARCHAR" and column != ROW]
    key = quote_text(normalise_name(name))
    terms = [f"regexp_replace(lower({quote_name(column)}), '[\\s_-]+', '', 'g') = {key}" for column in columns]
    return bool(terms) and bool(rows.filter(" OR ".join(terms)).limit(1).fetchall())


def separate_settings(
    rows: duckdb.DuckDBPyRelation, table_columns: TableColumns, notes: list[str]
) -> tuple[duckdb.DuckDBPyRelation, TableColumns]:
    """Return rows in which a model at several settings is several models, and note the settings."""
    columns = table_columns.columns
    settings = find_setting_columns(_list_unused(rows, table_columns))
    if not settings or not {"model", "question"} <= columns.keys() or not _has_repeats(rows, table_columns):
        return rows, table_columns
    labels = [label for label in _list_labels(rows, table_columns) if label.column in settings]
    labels = [label for label in labels if _varies(rows, table_columns, label.column)]
    if not labels:
        return rows, table_columns
    types = read_column_types(rows)
    texts = {
        label.column: f"coalesce(nullif(trim({write_text_sql(label.column, types)}), ''), 'default')"
        for label in labels
    }
    inside = " || ', ' || ".join(f"{quote_text(f'{column}=')} || {text}" for column, text in texts.items())
    model = write_text_sql(columns["model"], types)
    rows = rows.project(f"*, trim({model}) || ' (' || {inside} || ')' AS {quote_name(MODEL_SETTING)}")
    listed = " and ".join(f"{label.column!r} ({label.listed})" for label in labels)
    notes.append(
        f"questions were answered by one model with several values of {listed}, which are read as models of their own: "
        f"--columns {shlex.quote(f'generation={labels[0].column}')} reads generations of one model"
    )
    return rows, table_columns._replace(columns={**columns, "model": MODEL_SETTING})


def note_repeated_rows(rows: duckdb.DuckDBPyRelation, table_columns: TableColumns, notes: list[str]) -> None:
    """Note columns that tell rows of one model and question apart although they are read as generations."""
    if {"generation", "question"} & table_columns.columns.keys() != {"question"}:
        return
    labels = _list_labels(rows, table_columns)
    if not labels or not _has_repeats(rows, table_columns):
        return
    for label in labels:
        if _distinguishes(rows, table_columns, label.column):
            name = shlex.quote(label.column)
            notes.append(
                f"column {label.column!r} ({label.listed}) tells rows of one model and question apart, which are read "
                f"as generations: if its values are prompts, --columns variant={name}; if they are scorers, --columns "
                f"scorer={name}; if they are benchmarks, or questions are numbered anew in each, --columns "
                f"benchmark={name}; if runs, --columns generation={name}"
            )


def _list_unused(rows: duckdb.DuckDBPyRelation, table_columns: TableColumns) -> list[str]:
    """Return the columns that are not read."""
    used = {*table_columns.columns.values(), *table_columns.dimensions.values(), ROW}
    return [column for column in rows.columns if column not in used]


def _list_labels(rows: duckdb.DuckDBPyRelation, table_columns: TableColumns) -> list[_Label]:
    """Return the columns that are not read and have few short values, with these."""
    types = read_column_types(rows)
    columns = [
        column
        for column in _list_unused(rows, table_columns)
        if normalise_name(column.rpartition(".")[2]) not in _TEXTS and "[" not in types[column]
    ]
    for few, n_rows in ((rows.limit(_FEW_ROWS), _FEW_ROWS), (rows, _MOST_ROWS)):
        if not columns:
            return []
        texts = [f"nullif(trim({write_text_sql(column, types)}), '')" for column in columns]
        terms = ", ".join(f"count(DISTINCT {text}), max(length({text}))" for text in texts)
        counts = few.limit(n_rows).aggregate(terms).fetchall()[0]
        columns = [
            column
            for column, n, length in zip(columns, counts[::2], counts[1::2], strict=True)
            if n <= _MOST_VALUES and (length or 0) <= _MOST_CHARACTERS
        ]
    if not columns:
        return []
    texts = [f"nullif(trim({write_text_sql(column, types)}), '')" for column in columns]
    listed = rows.aggregate(", ".join(f"list_sort(list(DISTINCT {text}))" for text in texts)).fetchall()[0]
    return [
        _Label(column, tuple(value for value in values or () if value is not None))
        for column, values in zip(columns, listed, strict=True)
        if len(values or ()) > 1
    ]


def _write_key(rows: duckdb.DuckDBPyRelation, table_columns: TableColumns, more: Sequence[str] = ()) -> str:
    """Return SQL for what tells rows apart: our columns of names, and more columns."""
    types = read_column_types(rows)
    names = ("benchmark", "model", "question", "variant", "generation", "scorer", "turn")
    columns = [table_columns.columns[name] for name in names if name in table_columns.columns]
    columns += [*table_columns.dimensions.values(), *more]
    parts = ", ".join(f"coalesce({write_text_sql(column, types)}, '')" for column in columns)
    return f"row({parts})"


def _has_repeats(rows: duckdb.DuckDBPyRelation, table_columns: TableColumns) -> bool:
    """Return whether a model has several rows of a question that none of our columns tells apart."""
    if "question" not in table_columns.columns or table_columns.is_aggregated or _is_large(rows):
        return False
    n_rows, n_keys = _count(rows, _write_key(rows, table_columns))
    return n_keys < n_rows


def _distinguishes(rows: duckdb.DuckDBPyRelation, table_columns: TableColumns, column: str) -> bool:
    """Return whether a column tells all rows of a model and question apart, and most models have most of its values."""
    n_rows, n_keys = _count(rows, _write_key(rows, table_columns, [column]))
    if n_keys < n_rows:
        return False
    types = read_column_types(rows)
    model = write_text_sql(table_columns.columns["model"], types) if "model" in table_columns.columns else "''"
    text = write_text_sql(column, types)
    _, n_models, n_values, n_pairs = _count(rows, model, text, f"({model}, {text})")
    return n_pairs >= _SHARE_OF_PAIRS * n_models * n_values


def _varies(rows: duckdb.DuckDBPyRelation, table_columns: TableColumns, column: str) -> bool:
    """Return whether rows of a model and question have several values of a column."""
    _, n_keys, n_with = _count(rows, _write_key(rows, table_columns), _write_key(rows, table_columns, [column]))
    return n_with > n_keys


def _is_large(rows: duckdb.DuckDBPyRelation) -> bool:
    """Return whether a table has so many rows that its repeats are not counted."""
    [(n_rows,)] = rows.limit(_MOST_ROWS + 1).aggregate("count(*)").fetchall()
    return bool(n_rows > _MOST_ROWS)


def _count(rows: duckdb.DuckDBPyRelation, *expressions: str) -> tuple[int, ...]:
    """Return the number of rows, and the number of different values of each expression."""
    counts = rows.aggregate(", ".join(["count(*)", *(f"count(DISTINCT {one})" for one in expressions)])).fetchall()[0]
    return tuple(map(int, counts))
