"""Read a table, a file or a frame, as canonical rows, and these as cells, runs and cubes.

One way for all of them: find our columns by their names, find the shape, melt it to a row per score, read the scores,
check the rows, and group them. Where that needs a guess, the table is refused with the options that read it.
"""

from __future__ import annotations

import contextlib
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from howsure.errors import InputError, UnknownNameError, first_line
from howsure.notes import Note
from howsure.rows.columns import NAMED, MatchedColumns, TableOptions, find_columns
from howsure.rows.formats import find_format, is_glob, is_remote, name_row, name_table, open_database, open_rows
from howsure.rows.mapping import Shape, TableMap, write_map
from howsure.rows.model_columns import list_names
from howsure.rows.repeated_keys import refuse_repeats, refuse_two_targets, write_filter
from howsure.rows.score_column import find_failures, read_score_column, scale_scores
from howsure.rows.shapes import LongRows, find_shape, melt
from howsure.rows.sql import (
    FIRST_ROWS,
    ColumnTypes,
    RowCheck,
    name_sql,
    quote_name,
    quote_text,
    read_column_types,
    refuse_rows,
    shorten_whole_numbers,
    write_cell_sums_sql,
    write_text_sql,
)
from howsure.rows.words import ALIASES, METRIC_NAMES, RUN_WORDS, TASK_NAMES, TEXTS, find_alias, normalise_name
from howsure.stats.core.cube import ALL_QUESTIONS, Cube

if TYPE_CHECKING:
    import duckdb

    from howsure.rows.frames import FrameLike

T = TypeVar("T")
#: A function that is called with each note.
Noter = Callable[[Note], None]
#: Largest depth of nested columns whose fields are columns.
_MAX_DEPTH = 4
#: Names of a row, in the order of the key.
_NAMES = ("benchmark", "model", "question", "variant", "generation")
#: Largest number of options that one refusal names together.
_MOST_STEPS = 4
#: Largest number of questions called tasks that may be benchmarks.
_MOST_TASKS = 50
#: Characters of a prompt on average, below which it is a name of a prompt and no text.
_PROMPT_NAME = 20
#: Largest size in bytes of a file whose rows are kept in memory.
_SMALL = 1 << 23
#: Largest number of characters of an example.
_MAX_EXAMPLE = 40
#: Columns with the text of a question; and those of them that stand beside its id.
_TEXTS_OF_QUESTION = frozenset({"input", "question", "problem", "query", "prompt"})
_TEXTS_OF_ID = frozenset({"question", "questiontext", "problem", "prompt"})
#: Columns that every table has after it is read, so a dimension cannot have one of these names.
_RESERVED = frozenset({*_NAMES, "score", "n", "total", "total_sq", "cluster"})
#: Texts that may also have another of our names.
_SHARED_TEXTS = {"text": {"question", "variant"}, "answer": {"answer"}}


class TableLayout(NamedTuple):
    """A table under our names.

    Attributes
    ----------
    rows
        Rows with our columns: `score`, or `n`, `total` and `total_sq`.
    long
        The same rows with the columns of the table.
    key
        SQL of the names in the key, over the columns of the table.
    checks
        Checks of the scores for when grouping fails.
    """

    rows: duckdb.DuckDBPyRelation
    long: LongRows
    key: Mapping[str, str]
    checks: tuple[RowCheck, ...]

    @property
    def has_generation(self) -> bool:
        """Whether each row has the number of its generation, or is a cell."""
        return bool({"n", "generation"} & set(self.rows.columns))

    def check_names(self, where: str, options: TableOptions) -> None:
        """Raise InputError for the first row without a name, or with a score that is none."""
        rows, columns = self.long.rows, self.long.matched.columns
        types = read_column_types(rows)
        names = [
            _check_filled(name, column, types)
            for name in (*_NAMES, "cluster")
            if name in columns and (name != "variant" or options.by_variant)
            for column in columns[name]
        ]
        refuse_rows(rows, where, [*names, *self.checks], place=name_row)

    def refuse_repeats(self, where: str) -> None:
        """Raise InputError where rows of one key differ in a column that may be a name."""
        has_generation = "generation" in self.long.matched.columns
        refuse_repeats(self.long.rows, self.key, self.long.matched, where, has_generation=has_generation)


def lay_out(rows: duckdb.DuckDBPyRelation, where: str, options: TableOptions, note: Noter) -> TableLayout:
    """Find the columns and the shape of a table, and return its rows under our names.

    Raises
    ------
    InputError
        When the table has no declared shape, or a row cannot be used.
    """
    long = _read_canonical(rows, options)
    if long is None:
        long, options = _find_rows(rows, where, options, note)
    rows, matched = long.rows, long.matched
    names = [
        column for name in (*_NAMES, "cluster") for column in matched.columns.get(name, ()) if column in rows.columns
    ]
    rows, shortened = shorten_whole_numbers(rows, names)
    for column in shortened:
        note(Note("whole-numbers", where, facts={"column": column}))
    if "model" not in matched.columns and options.is_model_of_file:
        note(Note("file-names-model", where, facts={"model": options.model}))
    if "model" not in matched.columns and options.model is None:
        remedy = f"the columns are {list_names(rows.columns)}: name it with --columns model=COLUMN, or --model NAME"
        raise InputError("no column for the model", where=where, remedy=remedy, code="no-model")
    return _name_rows(long._replace(rows=rows), where, options, note)


def _read_canonical(rows: duckdb.DuckDBPyRelation, options: TableOptions) -> LongRows | None:
    """Return a table with a row per generation whose columns have our own names; None for any other."""
    names = set(rows.columns)
    if not {"model", "question", "score"} <= names <= {*_NAMES, "score"} or options.scorer or options.dimensions:
        return None
    if options.map != TableMap() or any(kind.id in {"struct", "list"} for kind in rows.types):
        return None
    reasons = {name: f"its name is one of those for the {name}" for name in rows.columns}
    matched = MatchedColumns({name: (name,) for name in rows.columns}, reasons)
    if "generation" in names:
        _drop_names_of_runs(rows, matched)
    return None if _has_others(rows, matched) else LongRows(rows, matched)


def _find_rows(
    rows: duckdb.DuckDBPyRelation, where: str, options: TableOptions, note: Noter
) -> tuple[LongRows, TableOptions]:
    """Return a table as a row per score with the columns that have our names, and options with the scorer's column."""
    rows = _apply_map(_flatten(rows), options.map, where)
    options, scorer = _choose_scorer(rows, where, options)
    matched = find_columns(rows.columns, where, options)
    _drop_prompt_texts(rows, matched)
    if _has_others(rows, matched):
        _refuse_lists(rows, matched, where)
    _drop_names_of_runs(rows, matched)
    shape, melted = find_shape(rows, matched, where, options)
    if shape == "generations" and _has_others(rows, matched):
        _check_ids_of_rows(rows, matched, note, where)
    long = melt(rows, shape, melted, matched, options)
    if scorer is not None:
        long = long._replace(rows=_filter_scorer(long.rows, long.matched, scorer, where))
    return long, options


def _has_others(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns) -> bool:
    """Return whether a column has none of our names, which may raise a doubt about those that have."""
    return not matched.taken.issuperset(rows.columns)


def _apply_map(rows: duckdb.DuckDBPyRelation, table_map: TableMap, where: str) -> duckdb.DuckDBPyRelation:
    """Return the rows without columns that are dropped, and with blank cells filled from above."""
    for name in (*table_map.drop, *table_map.fill, *table_map.percent, *table_map.fraction):
        if name not in rows.columns:
            raise UnknownNameError("column", name, rows.columns, where=where)
    if table_map.fill:
        types = read_column_types(rows)
        complete = ", ".join(
            f"last_value(nullif(trim({write_text_sql(name, types)}), '') IGNORE NULLS) OVER (ORDER BY howsure_row) "
            f"AS {quote_name(name)}"
            for name in table_map.fill
        )
        rows = rows.project("*, row_number() OVER () AS howsure_row").project(f"* REPLACE ({complete})")
        rows = rows.project("* EXCLUDE (howsure_row)")
    if table_map.fraction:
        types = read_column_types(rows)
        shares = []
        for name in table_map.fraction:
            text = write_text_sql(name, types)
            above, below = (f"TRY_CAST(split_part({text}, '/', {i}) AS DOUBLE)" for i in (1, 2))
            # Any other cell stays as it is, for the check of scores to refuse.
            shares.append(f"coalesce(CAST({above} / {below} AS VARCHAR), {text}) AS {quote_name(name)}")
        rows = rows.project(f"* REPLACE ({', '.join(shares)})")
    if table_map.drop:
        rows = rows.project(f"* EXCLUDE ({', '.join(map(quote_name, table_map.drop))})")
    return rows


def _refuse_lists(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, where: str) -> None:
    """Raise InputError where a column has lists of records with scores, such as the runs of a task, or of scores."""
    for name, kind in zip(rows.columns, rows.types, strict=True):
        if kind.id != "list" or name in matched.taken or matched.reasons.get("score") == NAMED:
            continue
        if "score" in matched.columns and find_alias("score", [name]):
            what = f"column {name!r} has lists beside the scores in {matched.first('score')!r}, which may be their mean"
            option = ("--columns", f"score={name}")
            raise InputError(what, where=where, remedy="read the lists", code="lists", options=option)
        inner: Any = kind.children[0]
        if inner[1].id == "struct" and find_alias("score", [str(field) for field, _ in inner[1].children]):
            what = f"column {name!r} has lists of records with scores of their own"
            raise InputError(what, where=where, remedy="write a row for each of these records", code="lists")


def _flatten(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return the rows with the fields of nested columns as columns, such as meta.model."""
    if not any(kind.id == "struct" for kind in rows.types):
        return rows
    parts: dict[str, str] = {}

    def add_fields(name: str, expression: str, kind: Any, depth: int) -> None:
        if kind.id != "struct" or depth == _MAX_DEPTH:
            parts.setdefault(name, expression)
            return
        for inner_name, inner in kind.children:
            add_fields(f"{name}.{inner_name}", f"{expression}.{quote_name(str(inner_name))}", inner, depth + 1)

    for column, kind in zip(rows.columns, rows.types, strict=True):
        add_fields(column, quote_name(column), kind, 0)
    return rows.project(", ".join(f"{expression} AS {quote_name(name)}" for name, expression in parts.items()))


def _choose_scorer(rows: duckdb.DuckDBPyRelation, where: str, options: TableOptions) -> tuple[TableOptions, str | None]:
    """Return options that name the column of the scorer, or the scorer whose rows are read."""
    if options.scorer is None:
        return options, None
    column = next((one for one in rows.columns if normalise_name(one) == normalise_name(options.scorer)), None)
    if column is not None and "scorer" not in options.map.columns:
        return replace(options, map=options.map.with_columns({"score": column})), None
    named = options.map.columns.get("scorer", ())
    names = [*named] or [one for one in rows.columns if normalise_name(one) in map(normalise_name, ALIASES["scorer"])]
    for name in names:
        if rows.filter(write_filter(name, rows, options.scorer)).limit(1).fetchall():
            return replace(options, map=options.map.with_columns({"scorer": name})), options.scorer
    raise UnknownNameError("scorer", options.scorer, rows.columns, where=where)


def _filter_scorer(
    rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, scorer: str, where: str
) -> duckdb.DuckDBPyRelation:
    """Return the rows of one scorer."""
    column = matched.columns["scorer"][0]
    if matched.first("score") == column:
        raise InputError(
            f"column {column!r} names scorers and no scores", where=where, remedy="name --columns score=COLUMN"
        )
    return rows.filter(write_filter(column, rows, scorer))


def _drop_prompt_texts(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns) -> None:
    """Remove a prompt from the names that is the text of its question, and no variant of it."""
    prompt, question = matched.first("variant"), matched.first("question")
    if prompt is None or matched.reasons["variant"] == NAMED or normalise_name(prompt) != "prompt":
        return
    if question is None:
        return
    both = f"({quote_name(question)}, {quote_name(prompt)})"
    counts = f"count(DISTINCT {quote_name(question)}), count(DISTINCT {quote_name(prompt)}), count(DISTINCT {both})"
    length = f"avg(length({quote_name(prompt)}::VARCHAR))"
    n_questions, n_prompts, n_pairs, size = rows.aggregate(f"{counts}, {length}").fetchall()[0]
    is_name = (size or 0) < _PROMPT_NAME  # of a prompt, and no text
    # A variant is the prompt of several questions.
    if n_prompts > 1 and ((n_pairs > n_questions and (is_name or n_pairs > n_prompts)) or 2 * n_prompts <= n_questions):
        return
    del matched.columns["variant"]


def _drop_names_of_runs(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns) -> None:
    """Remove a column from the generations whose values are names: runs are told apart by numbers only."""
    column = matched.first("generation")
    types = read_column_types(rows)
    if column is None or matched.reasons["generation"] == NAMED or types[column] not in {"VARCHAR", "JSON"}:
        return
    text = f"lower(trim({write_text_sql(column, types)}))"
    words = "|".join(RUN_WORDS)
    is_number = f"regexp_full_match({text}, '(({words})[ _-]?)?[0-9]+([.]0)?')"
    first = rows.limit(FIRST_ROWS)  # a name further down is refused
    if not first.aggregate(f"coalesce(bool_and({is_number} OR {text} = ''), true)").fetchall()[0][0]:
        del matched.columns["generation"]


def _check_ids_of_rows(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, note: Noter, where: str) -> None:
    """Take the text for the question where each row has an id of its own; refuse another id that repeats."""
    question = matched.columns.get("question", ())
    others = [name for name in rows.columns if name not in matched.taken and _may_name_questions(name, question)]
    if len(question) != 1 or not others or matched.reasons["question"] == NAMED:
        return
    parts = ", ".join(f"count(DISTINCT {quote_name(name)})" for name in (*question, *others))
    n_rows, n_ids, *n_others = rows.aggregate(f"count(*), {parts}").fetchall()[0]
    repeated = {name: n for name, n in zip(others, n_others, strict=True) if 0 < n <= n_rows / 2}
    if n_ids == n_rows and repeated:
        name, n = max(repeated.items(), key=lambda one: one[1])
        if n > 1 and normalise_name(name) in _TEXTS_OF_QUESTION:
            matched.columns["question"] = (name,)
            matched.reasons["question"] = f"each row has its own {question[0]}, and these texts repeat"
            note(Note("row-ids", where, facts={"id": question[0], "column": name}))
            return
        what = f"each row has its own {question[0]!r}, and {name!r} repeats"
        remedy = f"say which one names the question: --columns question={name}, or question={question[0]}"
        option = ("--columns", f"question={name if n > 1 else question[0]}")
        raise InputError(what, where=where, remedy=remedy, code="row-ids", options=option)


def _may_name_questions(name: str, question: Sequence[str]) -> bool:
    """Return whether a column may name the question beside an id of the row: its text, or another id."""
    is_number = normalise_name(question[0]) in {"id", "idx", "index"} if question else False
    key = normalise_name(name)
    return key in _TEXTS_OF_QUESTION or (is_number and key.endswith("id"))


def _name_rows(long: LongRows, where: str, options: TableOptions, note: Noter) -> TableLayout:
    """Return the rows of a table, a row per score or cell, under our names."""
    rows, matched, shape = long.rows, long.matched, long.shape
    columns, types = matched.columns, read_column_types(rows)
    expressions = {
        "benchmark": quote_text(options.benchmark or name_table(where)),
        "model": quote_text(options.model or ""),
        "question": quote_text(ALL_QUESTIONS),
    }
    for name in ("benchmark", "model", "question", "cluster", "variant", "generation"):
        if name in columns:
            expressions[name] = _write_name_sql(columns[name], types)
    expressions |= _write_dimensions_sql(columns, options.dimensions, types) if options.dimensions else {}
    if "generation" in columns and len(columns["generation"]) == 1:
        expressions["generation"] = _write_generation_sql(rows, columns["generation"][0], types)
    key = {name: expressions[name] for name in _NAMES if name in expressions and name in columns}
    checks: list[RowCheck] = []
    rows, numbers, limits = _write_numbers(rows, matched, shape, where, options, note, checks)
    if _has_others(rows, matched):
        _check_unread(rows, matched, key, where, options, note)
    if options.texts:
        expressions |= _write_texts_sql(rows, matched, options, types)
    table = rows.project(", ".join([f"{sql} AS {quote_name(name)}" for name, sql in expressions.items()] + numbers))
    if shape == "generations":
        _refuse_totals(table, matched, where)
    score = matched.first("score")
    if score is not None and shape != "cells":
        table = scale_scores(table, score, where, options, note, long, limits)
    if "question" not in columns and not options.texts:
        _refuse_repeated_wholes(table, where)
        table = table if "generation" in table.columns else table.project("*, 1 AS generation")
    return TableLayout(table, long._replace(rows=rows), key, tuple(check for check in checks if check.late))


def _write_numbers(
    rows: duckdb.DuckDBPyRelation,
    matched: MatchedColumns,
    shape: Shape,
    where: str,
    options: TableOptions,
    note: Noter,
    checks: list[RowCheck],
) -> tuple[duckdb.DuckDBPyRelation, list[str], tuple[float, float] | None]:
    """Return the rows, SQL of their scores or sums, and the limits of the scores; add to `checks`."""
    columns, types = matched.columns, read_column_types(rows)
    score, limits = matched.first("score"), None
    if shape == "cells":
        if "mean" in columns:
            ours = {"mean": "mean", "count": "count", "correct": "right"}
            cell = {name: columns[one][0] for name, one in ours.items() if one in columns}
        else:
            rows, cell = (
                _add_shares(rows, matched, where),
                {"mean": "share of right answers", "count": columns["total"][0]},
            )
        types = read_column_types(rows)
        numbers = write_cell_sums_sql(cell, types, checks)
    elif score is None:
        numbers = ["CAST(NULL AS DOUBLE) AS score"]
    else:
        read = read_score_column(rows, score, where, options, note)
        checks += read.checks
        limits = read.limits
        has_failures = shape == "generations" and _has_others(rows, matched)
        failed = find_failures(rows, matched, read.sql, where, note) if has_failures else ""
        numbers = [f"{f'CASE WHEN {failed} THEN NULL ELSE {read.sql} END' if failed else read.sql} AS score"]
    refuse_rows(rows, where, [check for check in checks if not check.late], place=name_row)
    return rows, numbers, limits


def _check_unread(
    rows: duckdb.DuckDBPyRelation,
    matched: MatchedColumns,
    key: Mapping[str, str],
    where: str,
    options: TableOptions,
    note: Noter,
) -> None:
    """Refuse a question with several targets or texts; note columns that are called like a score too."""
    free = [name for name in rows.columns if name not in matched.taken]
    if "question" in matched.columns:
        names = {name: key[name] for name in ("benchmark", "question") if name in key}
        texts = [name for name in free if normalise_name(name) in _TEXTS_OF_ID and "variant" not in matched.columns]
        for column in (find_alias("target", free), *texts[:1]):
            if column is not None:
                refuse_two_targets(rows, names, column, matched, where)
    aliases = {normalise_name(alias) for alias in ALIASES["score"]} | METRIC_NAMES
    others = [name for name in free if normalise_name(name) in aliases]
    if others and options.scorer is None and matched.reasons.get("score", NAMED) != NAMED:
        facts = {"column": matched.first("score"), "others": ", ".join(others), "first": others[0]}
        note(Note("other-scores", where, facts=facts))


def _refuse_totals(table: duckdb.DuckDBPyRelation, matched: MatchedColumns, where: str) -> None:
    """Raise InputError where the questions are called tasks and the scores are means: benchmarks, and no questions."""
    question = matched.first("question")
    if question is None or normalise_name(question) not in TASK_NAMES | {"test"}:
        return
    if matched.reasons["question"] == NAMED:
        return
    n, n_fractions, n_questions, n_cells = table.aggregate(
        "count(score), count(*) FILTER (score <> floor(score) OR score > 1), count(DISTINCT question), "
        "count(DISTINCT (model, question))"
    ).fetchall()[0]
    if 2 * n_fractions > n == n_cells and n_questions <= _MOST_TASKS:
        what = f"the {n_questions} values of {question!r} may be benchmarks, with a mean score each"
        remedy = f"error bars need the score of each question; if they are questions, add --columns question={question}"
        raise InputError(what, where=where, remedy=remedy, code="totals")


def _write_name_sql(columns: Sequence[str], types: ColumnTypes) -> str:
    """Return SQL for a name, which may be made of several columns."""
    is_text = set(types.values()) <= {"VARCHAR", "BIGINT"}  # a csv, whose names may have blanks around them
    if len(columns) > 1:
        parts = ", ".join(f"nullif(trim({write_text_sql(column, types)}), '')" for column in columns)
        return f"concat_ws(' ', {parts})"
    name = name_sql(columns[0], types)
    return f"trim({name})" if is_text and types.get(columns[0]) == "VARCHAR" else name


def _check_filled(ours: str, column: str, types: ColumnTypes) -> RowCheck:
    """Return the check that a name is not empty."""
    wrong = f"coalesce(trim({write_text_sql(column, types)}), '') = ''"
    remedy = f"fill it in; if a blank cell has the value above, add {shlex.join(write_map(fill=[column]))}"
    return RowCheck(wrong, column, f"the {ours} is empty", remedy)


def _write_dimensions_sql(
    columns: Mapping[str, Sequence[str]], dimensions: Sequence[str], types: ColumnTypes
) -> dict[str, str]:
    """Return SQL for the values of the variants; without a column for it, each combination of values is a variant."""
    by_key = {normalise_name(name): name for name in reversed(list(types))}
    values = {}
    for one in dimensions:
        column = one if one in types else by_key.get(normalise_name(one))
        if column is None:
            raise UnknownNameError("column", one, types, where="--dimension")
        if normalise_name(one) in _RESERVED:
            remedy = "name a column with the values of the prompts"
            raise InputError("it is not a dimension of a prompt", where=f"--dimension {one!r}", remedy=remedy)
        values[one] = f"coalesce(nullif(trim({write_text_sql(column, types)}), ''), '(empty)')"
    if not values or "variant" in columns:
        return values
    parts = [value if len(values) == 1 else f"{quote_text(one + '=')} || {value}" for one, value in values.items()]
    return {"variant": " || ', ' || ".join(parts), **values}


def _write_generation_sql(rows: duckdb.DuckDBPyRelation, column: str, types: ColumnTypes) -> str:
    """Return SQL for the generation; whole numbers that are written as text become numbers, which have an order."""
    name = name_sql(column, types)
    if types.get(column) != "VARCHAR":
        return name
    name = f"trim({name})"
    number = f"TRY_CAST({name} AS BIGINT)"
    others = rows.aggregate(f"count({name}) - count(CASE WHEN CAST({number} AS VARCHAR) = {name} THEN 1 END)")
    return name if others.fetchall()[0][0] else number


def _add_shares(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, where: str) -> duckdb.DuckDBPyRelation:
    """Return the rows with the share of right answers, after a check that there are not more than answers."""
    right, total = (matched.columns[name][0] for name in ("right", "total"))
    types = read_column_types(rows)
    one, every = (f"TRY_CAST({write_text_sql(name, types)} AS DOUBLE)" for name in (right, total))
    wrong = f"coalesce({one} > {every} OR {one} < 0 OR {one} <> floor({one}), {one} IS NULL)"
    remedy = f"fix the row, or read a score with --columns score={right}"
    refuse_rows(rows, where, [RowCheck(wrong, right, f"no number of right answers of {total!r}", remedy)], name_row)
    return rows.project(f'*, {one} / {every} AS "share of right answers"')


def _write_texts_sql(
    rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, options: TableOptions, types: ColumnTypes
) -> dict[str, str]:
    """Return SQL for the texts that are kept beside the scores; lists are JSON, and absent texts are left out."""
    expressions = {}
    for name, column in find_texts(rows.columns, matched, options.map).items():
        is_list = types[column].endswith("[]")
        expressions[name] = (
            f"CAST(to_json({quote_name(column)}) AS VARCHAR)" if is_list else write_text_sql(column, types)
        )
    return expressions


def find_texts(names: Sequence[str], matched: MatchedColumns, table_map: TableMap) -> dict[str, str]:
    """Return the texts of a table with their columns; an answer beside no target may be the right one, and is none."""
    texts: dict[str, str] = {}
    for name in TEXTS:
        if name in table_map.columns:
            texts[name] = next(
                one for one in names if normalise_name(one) == normalise_name(table_map.columns[name][0])
            )
            continue
        shared = {one for ours in _SHARED_TEXTS.get(name, ()) for one in matched.columns.get(ours, ())}
        taken = (matched.taken - shared) | {*texts.values()}
        column = find_alias(name, names, taken)
        if column is not None and not (
            name == "answer" and normalise_name(column) == "answer" and "target" not in texts
        ):
            texts[name] = column
    return texts


def _refuse_repeated_wholes(table: duckdb.DuckDBPyRelation, where: str) -> None:
    """Raise InputError when a model has two scores of a whole benchmark: the questions may have been overlooked."""
    key = ", ".join(one for one in ("benchmark", "model", "variant", "generation") if one in table.columns)
    repeated = table.aggregate(f"{key}, count(*) AS times", key).filter("times > 1").order(key).limit(1).fetchall()
    if repeated:
        *names, times = repeated[0]
        of = ", ".join(f"{one} {str(value)!r}" for one, value in zip(key.split(", "), names, strict=True))
        remedy = "name it with --columns question=COLUMN, or number the repeats in a column 'generation'"
        raise InputError(
            f"{times} scores of {of}, and no column for the question", where=where, remedy=remedy, code="no-question"
        )


def _has_options(error: InputError) -> bool:
    """Return whether a refusal names options, and no other command."""
    return bool(error.options) and error.options[0].startswith("-")


def _collect_options(
    read: Callable[[TableOptions, Noter], object], options: TableOptions, error: InputError
) -> tuple[str, ...]:
    """Return the options that read a table after one or more refusals; none where they do not suffice."""
    collected: tuple[str, ...] = ()
    codes: list[str] = []
    for _ in range(_MOST_STEPS):
        # After one column was left out, nobody can say whether the others are models.
        if not _has_options(error) or (error.options == ("--shape", "models") and "no-models" in codes):
            return ()
        collected += error.options
        codes.append(error.code)
        options = apply_options(options, error.options)
        try:
            read(options, lambda _: None)
        except InputError as refusal:
            error = refusal
        else:
            return merge_options(collected)
    return ()


def merge_options(options: Sequence[str]) -> tuple[str, ...]:
    """Return options of the command line with several mappings as one.

    >>> merge_options(["--map", "drop: [a]", "--scale", "1", "--map", "fill: [b]"])
    ('--scale', '1', '--map', 'drop: [a], fill: [b]')
    """
    pairs = list(zip(options[::2], options[1::2], strict=True))
    import yaml

    rest = [part for pair in pairs if pair[0] != "--map" for part in pair]
    merged: dict[str, Any] = {}
    for content in (yaml.safe_load(f"{{{value}}}") for name, value in pairs if name == "--map"):
        for key, value in content.items():
            merged[key] = [*merged.get(key, []), *value] if isinstance(value, list) else value
    return (*rest, *(write_map(**merged) if merged else ()))


def apply_options(options: TableOptions, given: Sequence[str]) -> TableOptions:
    """Return table options with options of the command line, such as `("--columns", "model=method")`."""
    from howsure.rows.mapping import read_map

    for name, value in zip(given[::2], given[1::2], strict=True):
        if name == "--columns":
            ours, _, column = value.partition("=")
            options = replace(options, map=options.map.with_columns({ours: column}))
        elif name == "--scorer":
            options = replace(options, scorer=value)
        elif name == "--scale":
            options = replace(options, scale=float(value))
        elif name in {"--shape", "--map"}:
            given_map = f"shape: {value}" if name == "--shape" else value
            options = replace(options, map=options.map.merge(read_map(given_map)))
    return options


def group_rows(
    rows: duckdb.DuckDBPyRelation, where: str, options: TableOptions, group: Callable[..., T], note: Noter
) -> T:
    """Group the rows of a table.

    Parameters
    ----------
    rows
        Any columns; ours are found by `options`.
    where
        Name of the table, for messages.
    options
        How the table is read.
    group
        A function of canonical rows and `where`, such as those of `to_cells`.
    note
        Function that is called with each note.

    Raises
    ------
    InputError
        With the first row that cannot be used; or with the options that read the table.
    """
    collected: list[Note] = []
    layout = lay_out(rows, where, options, collected.append)
    more = {"dimensions": options.dimensions} if options.by_variant else {}
    try:
        groups = group(layout.rows, where=where, **more)
    except InputError:
        if (complete := _drop_blank_rows(rows, where, note)) is not None:
            return group_rows(complete, where, options, group, note)
        layout.check_names(where, options)
        if layout.has_generation and layout.long.shape != "cells":
            layout.refuse_repeats(where)
        raise
    if not layout.has_generation and (n := _count_repeated(groups)):
        layout.refuse_repeats(where)
        collected.append(Note("rows-are-generations", where, n=n))
    for one in collected:
        note(one)
    return groups


def _drop_blank_rows(rows: duckdb.DuckDBPyRelation, where: str, note: Noter) -> duckdb.DuckDBPyRelation | None:
    """Return the rows in which a column has a value, as spreadsheets have others below a table; None if all have."""
    types = read_column_types(rows)
    is_filled = " OR ".join(f"coalesce(trim({write_text_sql(column, types)}), '') <> ''" for column in rows.columns)
    n_blank = int(rows.aggregate(f"count(*) FILTER (NOT ({is_filled}))").fetchall()[0][0])
    if not n_blank:
        return None
    note(Note("blank-rows", where, n=n_blank))
    return rows.filter(is_filled)


def _count_repeated(groups: Any) -> int:
    """Return the number of cells that have several rows, of cells or of canonical rows."""
    if hasattr(groups, "aggregate"):
        key = ", ".join(name for name in _NAMES if name in groups.columns)
        return len(groups.aggregate(f"{key}, count(*) AS times", key).filter("times > 1"))
    n = 0
    parts = list(groups.values()) if isinstance(groups, Mapping) else groups if isinstance(groups, list) else []
    for one in (one for each in parts for one in (each.values() if isinstance(each, Mapping) else [each])):
        if hasattr(one, "n") and hasattr(one, "models"):
            # Cells of several prompt variants have a row of each.
            most = 1 if isinstance(one, Cube) else np.array([[max(1, one.count_variants(name))] for name in one.models])
            n += int((one.n > most).sum())
    return n


def read_table(
    table: str | Path | FrameLike, make: Callable[..., T], where: str, options: TableOptions, note: Noter
) -> T:
    """Return what a function of `to_cells` makes of the rows of a table of one of the declared shapes.

    Parameters
    ----------
    table
        A csv, tsv, parquet, jsonl, json or xlsx file; a glob of files of one type, which are one table; an address that
        the user's DuckDB reads (`s3://...`); or a frame of pandas, polars, pyarrow, DuckDB, PySpark, or any other that
        narwhals reads.
    make, where, options, note
        As for `group_rows`.

    Raises
    ------
    InputError
        When the table cannot be read; names the row and the column, or all options that read it.
    """

    def read(options: TableOptions, note: Noter) -> T:
        with open_table(table, options.map) as rows:
            return group_rows(rows, where, options, make, note)

    try:
        return read(options, note)
    except InputError as error:
        if _has_options(error):
            error.options = _collect_options(read, options, error)
        raise


@contextlib.contextmanager
def open_table(table: str | Path | FrameLike, table_map: TableMap | None = None) -> Iterator[duckdb.DuckDBPyRelation]:
    """Open a file, a glob of files, an address or a frame as rows in DuckDB; text columns of a csv stay text.

    Raises
    ------
    InputError
        When it does not exist, is empty or damaged, also while the rows are read.
    """
    import duckdb

    if not isinstance(table, (str, Path)):
        from howsure.rows.frames import open_frame

        with open_frame(table) as frame:
            yield frame
        return
    where, table_map = str(table), table_map or TableMap()
    if not is_remote(where) and not is_glob(where):
        if not Path(table).is_file():
            raise InputError("no such file", where=where)
        if Path(table).stat().st_size == 0:
            remedy = "give a table with a header and at least one row"
            raise InputError("the file is empty", where=where, remedy=remedy)
    with tempfile.TemporaryDirectory(prefix="howsure-") as scratch, open_database() as connection:
        try:
            rows = open_rows(connection, table, Path(scratch), header=table_map.header, sheet=table_map.sheet)
            yield _keep_small(connection, rows, where)
        except (duckdb.Error, UnicodeDecodeError, EOFError, OSError) as error:
            what = first_line(str(error).replace(f' in file "{where}"', ""))
            remedy = "is the file whole, and of the type its name says?"
            if isinstance(error, UnicodeDecodeError):
                remedy = "save it as UTF-8"
            raise InputError(f"cannot be read: {what}", where=where, remedy=remedy) from error


def _keep_small(
    connection: duckdb.DuckDBPyConnection, rows: duckdb.DuckDBPyRelation, where: str
) -> duckdb.DuckDBPyRelation:
    """Return the rows of a small file in memory, so that each question to them does not read the file again."""
    if is_remote(where) or is_glob(where) or find_format(where) == "csv" or Path(where).stat().st_size > _SMALL:
        return rows
    rows.query("opened", "CREATE OR REPLACE TEMP TABLE small_table AS SELECT * FROM opened")
    return connection.table("small_table")


class TableContent(NamedTuple):
    """What a table holds, as far as its columns and names say.

    Attributes
    ----------
    shape
        The shape that it is read as.
    columns
        Our column names to the table's, those of texts too.
    reasons
        Why each was taken, by our name.
    every
        All columns of the table with an example of their values.
    notes
        What was decided while it was read.
    n_rows
        Number of rows.
    benchmarks, models, questions
        The names in its columns; empty where it has no such column.
    keys
        Question, variant and generation of the rows; empty where no column has variants or generations.
    targets, inputs
        Pairs of a question and its target, or its text; empty where no column has them.
    constants
        Columns that are not read and have one value in all rows, such as a setting.
    melted
        Columns of scores, one for each model, generation or question.
    needs_scores
        Whether it has completions and no scores.
    """

    shape: Shape
    columns: Mapping[str, tuple[str, ...]]
    reasons: Mapping[str, str]
    every: Mapping[str, str]
    notes: tuple[Note, ...]
    n_rows: int
    benchmarks: tuple[str, ...]
    models: tuple[str, ...]
    questions: tuple[str, ...]
    keys: frozenset[tuple[str, ...]]
    targets: frozenset[tuple[str, str]]
    inputs: frozenset[tuple[str, str]]
    constants: Mapping[str, str]
    melted: tuple[str, ...]
    needs_scores: bool


def describe_table(table: str | Path, options: TableOptions | None = None) -> TableContent:
    """Return what the columns of a table are taken for, and the names that they hold; it needs no scores.

    Raises
    ------
    InputError
        When the table cannot be read.
    """
    where, collected = str(table), list[Note]()
    options = replace(options or TableOptions(), texts=True)
    if options.model is None:
        options = replace(options, model="")
    with open_table(table, options.map) as rows:
        example = rows.limit(1).to_arrow_table().to_pylist()
        every = {column: _shorten(example[0].get(column)) if example else "" for column in rows.columns}
        layout = lay_out(rows, where, options, collected.append)
        source, matched = layout.long.rows, layout.long.matched
        texts = find_texts(source.columns, matched, options.map)
        types = read_column_types(source)

        def list_names(name: str) -> tuple[str, ...]:
            if name not in matched.columns:
                return ()
            values = source.project(f"CAST({layout.key[name]} AS VARCHAR) AS name").distinct().order("name").fetchall()
            return tuple(value for (value,) in values if value is not None)

        def list_pairs(name: str) -> frozenset[tuple[str, str]]:
            if name not in texts or "question" not in matched.columns or texts[name] in matched.taken:
                return frozenset()
            both = f"CAST({layout.key['question']} AS VARCHAR), trim({write_text_sql(texts[name], types)})"
            return frozenset(row for row in source.project(both).distinct().fetchall() if None not in row)

        parts = [name for name in ("question", "variant", "generation") if name in layout.key]
        texts_of_key = ", ".join(f"CAST({layout.key[name]} AS VARCHAR)" for name in parts)
        keys = source.project(texts_of_key).distinct().fetchall() if "question" in parts and len(parts) > 1 else []
        return TableContent(
            shape=layout.long.shape,
            columns={
                **matched.columns,
                **{name: (column,) for name, column in texts.items() if name not in matched.columns},
            },
            reasons=matched.reasons,
            every=every,
            notes=tuple(collected),
            n_rows=int(rows.aggregate("count(*)").fetchall()[0][0]),
            benchmarks=list_names("benchmark"),
            models=list_names("model"),
            questions=list_names("question"),
            keys=frozenset(keys),
            targets=list_pairs("target"),
            inputs=list_pairs("text"),
            constants=_find_constants(source, matched),
            melted=layout.long.melted,
            needs_scores=matched.columns.keys().isdisjoint({"score", "mean", "right"}),
        )


def _find_constants(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns) -> dict[str, str]:
    """Return the columns that are not read and have one short value in all rows."""
    names = [name for name in rows.columns if name not in matched.taken]
    if not names:
        return {}
    types = read_column_types(rows)
    texts = [write_text_sql(name, types) for name in names]
    parts = [f"min({text}), count(DISTINCT coalesce({text}, ''))" for text in texts]
    values = rows.aggregate(", ".join(parts)).fetchall()[0]
    return {
        name: str(low or "")
        for name, low, n in zip(names, values[::2], values[1::2], strict=True)
        if n == 1 and len(str(low or "")) <= _MAX_EXAMPLE
    }


def _shorten(value: object) -> str:
    """Return a value as a short text on one line."""
    text = " ".join(str("" if value is None else value).split())
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= _MAX_EXAMPLE else text[: _MAX_EXAMPLE - 1] + "…"
