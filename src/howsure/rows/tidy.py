"""Rename the columns of any table to howsure's names, check its rows, and group them.

A row is a generation with its score, or a cell with its mean and count, as in the form of eval-arena: `benchmark_id,
model, example_id, pass1, count[, correct]`.
"""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, cast

import numpy as np

from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.rows import dove
from howsure.rows.columns import (
    ALIASES,
    TEXTS_OF_QUESTIONS,
    TableColumns,
    TableOptions,
    find_columns,
    find_task_columns,
    match_aliases,
    match_columns,
    normalise_name,
)
from howsure.rows.formats import name_row
from howsure.rows.repeated_rows import (
    MODEL_SETTING,
    find_scorer_column,
    find_scores_of_traces,
    find_shared_question,
    has_value,
    note_repeated_rows,
    separate_settings,
)
from howsure.rows.score_values import SUMMARY_NAMES, ScoreTexts, list_doubtful_scores, read_score_texts, scale_scores
from howsure.rows.sql import (
    ROW,
    ColumnTypes,
    RowCheck,
    name_sql,
    number_sql,
    parse_number_sql,
    quote_name,
    quote_text,
    read_column_types,
    refuse_rows,
    shorten_whole_numbers,
    write_cell_sums_sql,
    write_text_sql,
)
from howsure.rows.success_counts import may_count_right_answers, read_success_counts
from howsure.rows.wide import (
    COLUMNS_BESIDE_SCORES,
    LongTable,
    find_repeats,
    is_metric,
    melt_models,
    melt_questions,
    melt_repeats,
)
from howsure.safe_text import inflect_text
from howsure.stats.core.cube import ALL_QUESTIONS, Cube

if TYPE_CHECKING:
    import duckdb
    from duckdb.sqltypes import DuckDBPyType

    from howsure.stats.core.cells import Cells

__all__ = ["TableLayout", "drop_summaries", "group_rows", "lay_out", "match_texts", "warn_repeats"]

T = TypeVar("T")
Part = TypeVar("Part", "Cells", "Cube")

#: Largest difference of a rounded mean.
_SUMMARY_TOLERANCE = 0.006

#: Columns that are added to a table: the generation of a score in a list, a turn of a question, and its question.
GENERATION, QUESTION_TURN, TURN_CLUSTER = "generation in list", "question and turn", "question of the turn"
#: The same of a question whose id is counted in its task.
QUESTION_TASK = "question and task"
#: Largest depth of nested columns whose fields are columns.
_MAX_DEPTH = 4
#: Largest number of scorers in a column, and of turns of a question.
_MOST_SCORERS, _MOST_TURNS = 50, 20
#: Smallest mean length of prompts that may be the texts of questions, and no names of variants.
_PROMPT_LENGTH = 20
#: Largest number of short prompts, with questions in one each, that are names of variants and not texts of questions.
_MOST_VARIANTS = 10
#: The name of a column of models that is as often that of system prompts, and the longest name of a model.
_SYSTEM, _MODEL_LENGTH = "system", 80
#: Largest number of tasks that a note lists.
_N_TASKS_NAMED = 3
#: Smallest share of a model's questions that are in each task in which any model has them, where ids are counted anew.
_SHARE_OF_TASKS = 0.9
#: Our columns of names, in which 1.0 is 1 where all of them are whole numbers.
_NAME_COLUMNS = ("question", "model", "variant", "generation", "cluster")
#: Number of rows in which the numbers of columns that may be scores are looked for.
_FEW_ROWS = 1000
#: Scorers that are read before others, by their normalised names.
_PREFERRED_SCORERS = (
    "accuracy",
    "acc",
    "correct",
    "iscorrect",
    "correctness",
    "exactmatch",
    "em",
    "score",
    "pass",
    "passed",
)


def warn_repeats(where: str, parts: Sequence[Cells] | Sequence[Cube]) -> None:
    """Warn if cells have several rows and no column `generation` distinguishes them, of several benchmarks each."""
    has_several = len({part.benchmark for part in parts}) > 1
    for part in parts:
        # Cells of several prompt variants have a row of each.
        most = 1 if isinstance(part, Cube) else np.array([[max(1, part.count_variants(name))] for name in part.models])
        is_repeated = part.n > most
        if not (number := int(is_repeated.sum())):
            continue
        i, j, *variant = np.argwhere(is_repeated)[0].tolist()
        example = f"model {part.models[i]!r}"
        if part.questions != (ALL_QUESTIONS,):
            example += f", question {part.questions[j]!r}"
        if isinstance(part, Cube) and len(part.variants) > 1:
            example += f", variant {part.variants[variant[0]]!r}"
        of = f"{part.benchmark}: " if has_several else ""
        line = (
            f"{where}: {of}{number} {inflect_text('[cell has|cells have] several rows', number)} and there is no "
            f"column 'generation': each row is taken as an independent generation. The first is {example}. If a column "
            "has the number of the generation, name it with --columns generation=COLUMN; if rows repeat, drop the "
            "repeats"
        )
        warnings.warn(HowsureWarning(line, benchmarks=[part.benchmark]), stacklevel=3)


def drop_summaries(where: str, parts: list[Part]) -> list[Part]:
    """Return cells or cubes without rows that sum up others, such as a question or a model called "mean", and say so.

    A question is left out if it has the mean or the sum of the other questions for every model; one that only has such
    a name is a question, which a line says. A model is left out if its scores are those of the other models on average.
    """
    return [_drop_summary(where, _drop_summary(where, part, "question"), "model") for part in parts]


def _drop_summary(where: str, part: Part, what: Literal["question", "model"]) -> Part:
    """Return a part without the questions or models that sum up the others."""
    names = part.questions if what == "question" else part.models
    candidates = [name for name in names if name.strip().lower() in SUMMARY_NAMES]
    others = [name for name in names if name not in candidates]
    if not candidates or not others:
        return part
    axis = 1 if what == "question" else 0
    n, total = (np.moveaxis(values.reshape(*values.shape[:2], -1).sum(-1), axis, 0) for values in (part.n, part.total))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(n > 0, total / n, np.nan)
    is_other = np.array([name in others for name in names])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a model without scores
        expected = np.nanmean(means[is_other], axis=0)
        sums = np.nansum(means[is_other], axis=0)
    left_out = []
    for name in candidates:
        own = means[names.index(name)]
        is_mean, is_sum = (np.isnan(own) | (np.abs(own - value) <= _SUMMARY_TOLERANCE) for value in (expected, sums))
        if not np.isnan(own).all() and (is_mean.all() or is_sum.all()):
            left_out.append(name)
    others_called_so = [name for name in candidates if name not in left_out]
    if left_out:
        line = f"the {what} {left_out[0]!r} sums up the others and is left out"
        warnings.warn(f"{where}: {line}", HowsureWarning, stacklevel=4)
    if others_called_so:
        line = (
            f"a {what} is called {others_called_so[0]!r} and is read as one; remove its rows if they sum up the others"
        )
        warnings.warn(f"{where}: {line}", HowsureWarning, stacklevel=4)
    if not left_out:
        return part
    rest = [name for name in names if name not in left_out]
    return part.select(questions=rest) if what == "question" else part.select(models=rest)


def group_rows(
    rows: duckdb.DuckDBPyRelation, where: str, benchmark: str, options: TableOptions, group: Callable[..., T]
) -> tuple[T, bool]:
    """Group the rows of a table.

    Parameters
    ----------
    rows
        Any columns; ours are table_columns by `options`.
    where
        Name of the table, for messages.
    benchmark
        Name of the benchmark where no column states it.
    options
        How the table is read.
    group
        A function of canonical rows, `where` and, if `options.by_variant`, the dimensions; such as those of
        `rows_to_cells`.

    Returns
    -------
    groups
        What `group` returned.
    is_unique
        Whether rows are distinguished: by a generation, or since each is a cell.

    Raises
    ------
    InputError
        With the first row that cannot be used. Rows are numbered and searched only when there is one.
    """
    is_dove = not options.wide and not options.columns and dove.is_dove(rows.columns)
    if is_dove:

        def warn(line: str) -> None:
            warnings.warn(f"{where}: {line}", HowsureWarning, stacklevel=3)

        rows, dimensions = dove.to_tidy(rows, warn)
        options = options._replace(dimensions=options.dimensions or dimensions) if options.by_variant else options
    every_row = rows
    table, rows, checks, notes = _rename_columns(rows, where, benchmark, options)
    more = {"dimensions": options.dimensions} if options.by_variant else {}
    try:
        is_unique = is_dove or bool({"n", "generation"} & set(table.columns))
        groups = group(table, where=where, **more)
    except InputError:
        with_values = every_row.filter(_write_filled_sql(every_row))
        if n_empty := _count_rows(every_row) - _count_rows(with_values):
            # Spreadsheets write such rows below a table. They are looked for only where a name is missing.
            what = inflect_text("[row without any value is|rows without any value are] left out", n_empty)
            warnings.warn(f"{where}: {n_empty} {what}", HowsureWarning, stacklevel=3)
            return group_rows(with_values, where, benchmark, options, group)
        refuse_rows(rows, where, [check for check in checks if check.late], place=name_row)
        raise
    for note in notes:
        warnings.warn(f"{where}: {note}", HowsureWarning, stacklevel=3)
    return groups, is_unique


def _count_rows(rows: duckdb.DuckDBPyRelation) -> int:
    """Return the number of rows."""
    return int(rows.aggregate("count(*)").fetchall()[0][0])


def _write_filled_sql(rows: duckdb.DuckDBPyRelation) -> str:
    """Return SQL that is true of rows in which a column has a value."""
    types = read_column_types(rows)
    texts = (write_text_sql(column, types) for column in _list_columns(rows))
    return " OR ".join(f"coalesce(trim({text}), '') <> ''" for text in texts)


class TableLayout(NamedTuple):
    """The rows of a table with a row per score or cell, and what its columns are.

    Attributes
    ----------
    rows
        Nested columns are columns of their fields; of a table with a column per model, a row per score.
    table_columns
        The columns that are read.
    notes
        What was decided for the reader of the table, one line each.
    name_notes
        Columns of names in which 1.0 is read as 1, one line each: of interest once all names are read.
    meanings
        Of a table with a column per model or question: what each of its columns that is read holds.
    sources
        Columns that were added to the table, with the column of the file that each was made of.
    """

    rows: duckdb.DuckDBPyRelation
    table_columns: TableColumns
    notes: tuple[str, ...]
    name_notes: tuple[str, ...] = ()
    meanings: Mapping[str, str] = MappingProxyType({})
    sources: Mapping[str, str] = MappingProxyType({})


def lay_out(rows: duckdb.DuckDBPyRelation, where: str, options: TableOptions) -> TableLayout:
    """Find the columns and the shape of a table.

    Parameters
    ----------
    rows
        The table; not of DOVE.
    where
        Name of the table, for messages.
    options
        How it is read.

    Raises
    ------
    InputError
        When there is no column for the model, the question or the score.
    """
    nested = [column for column, kind in zip(rows.columns, rows.types, strict=True) if kind.id == "struct"]
    rows = _flatten(rows)
    if options.wide:
        long = melt_models(rows, where, options.columns, options.dimensions)
        table_columns = find_columns(_list_columns(long.rows), where, options, long.columns)
        layout = TableLayout(long.rows, table_columns, (long.note,) if long.note else (), meanings=long.meanings)
        return _shorten_names(layout)
    options, rows = _choose_score_column(rows, where, options)
    notes: list[str] = []
    rows, options = read_success_counts(rows, where, options, notes)
    if (repeats := _melt_repeats(rows, where, options, nested)) is not None:
        return _take_long_table(repeats, where, options)
    try:
        table_columns = _find_columns_of_models(rows, where, options)
    except InputError:
        is_long = "completion" in options.texts or _has_means(rows, where, options)
        melted = None if is_long else melt_questions(rows, where, options, nested)
        if melted is None:
            raise
        return _take_long_table(melted, where, options)
    if table_columns.columns.get("variant", "").lower() == "prompt" and "variant" not in options.columns:
        table_columns = _take_prompts_of_questions(rows, table_columns)
    rows, table_columns = _unnest_scores(rows, table_columns)
    notes += _list_other_repeats(rows, options)
    if options.scorer is None and "score" not in options.columns:
        notes += _list_other_scores(rows, table_columns)
    table_columns = find_shared_question(rows, table_columns, options, notes)
    if options.scorer is None or "score" not in options.columns:
        table_columns = find_scores_of_traces(rows, table_columns, options, notes)
        table_columns = find_scorer_column(rows, table_columns)
        if options.scorer is not None and "scorer" not in table_columns.columns:
            raise UnknownNameError("scorer", options.scorer, rows.columns, where=where)
    rows, table_columns = _choose_scorer(rows, where, table_columns, options, notes)
    shortened = _shorten_names(TableLayout(rows, table_columns, ()))
    rows, table_columns = shortened.rows, shortened.table_columns
    sources = {name: table_columns.columns.get("question", "") for name in (QUESTION_TASK, QUESTION_TURN)}
    sources[MODEL_SETTING] = table_columns.columns.get("model", "")
    if "benchmark" not in table_columns.columns and not options.is_one_benchmark:
        rows, table_columns = _separate_tasks(rows, table_columns, notes)
    rows, table_columns = _separate_turns(rows, table_columns, options, notes)
    rows, table_columns = separate_settings(rows, table_columns, notes)
    note_repeated_rows(rows, table_columns, notes)
    notes += list_doubtful_scores(rows, table_columns, options)
    return TableLayout(rows, table_columns, tuple(notes), shortened.name_notes, sources=sources)


def _melt_repeats(
    rows: duckdb.DuckDBPyRelation, where: str, options: TableOptions, nested: Sequence[str]
) -> LongTable | None:
    """Return the rows of a table whose columns are generations, perhaps beside their mean; None for other tables."""
    names = _list_columns(rows)
    named = {"score", "mean", "correct", "count", "generation"} & options.columns.keys()
    if named or options.scorer is not None or "completion" in options.texts or not find_repeats(names, nested):
        return None
    matched = match_columns(names, where, options.columns, options.dimensions)
    if "variant" in options.columns and "question" not in matched:
        return None  # a row is a prompt variant
    columns = {name: column for name, column in matched.items() if name in COLUMNS_BESIDE_SCORES}
    return melt_repeats(rows, columns, options, nested, has_score=bool({"score", "mean"} & matched.keys()))


def _list_other_repeats(rows: duckdb.DuckDBPyRelation, options: TableOptions) -> list[str]:
    """Return a note on columns of further generations where the user named that of one as the score."""
    column = options.columns.get("score", "")
    repeats = find_repeats(_list_columns(rows))
    if column not in repeats:
        return []
    listed = ", ".join(other for other in repeats if other != column)
    option = f"--columns {shlex.quote(f'score={column}')}"
    return [f"only column {column!r} is read, and not {listed}: without {option} each column is a generation"]


def _take_long_table(long: LongTable, where: str, options: TableOptions) -> TableLayout:
    """Return the layout of a table that had a column for each score."""
    if "model" in long.columns and "generation" not in long.columns:
        options = options._replace(model=None)
    table_columns = find_columns(_list_columns(long.rows), where, options, long.columns)
    notes = (long.note,) if long.note else ()
    return _shorten_names(TableLayout(long.rows, table_columns, notes, meanings=long.meanings))


def _shorten_names(layout: TableLayout) -> TableLayout:
    """Return the layout with names such as 1.0 as 1 where a column has whole numbers only, and a note of it."""
    rows, columns = layout.rows, layout.table_columns.columns
    names = [columns[one] for one in _NAME_COLUMNS if one in columns]
    rows, shortened = shorten_whole_numbers(rows, [column for column in names if column in rows.columns])
    notes = tuple(
        f"column {column!r} has whole numbers written as 1.0: they are read as 1, the names that other files may have"
        for column in shortened
    )
    return layout._replace(rows=rows, name_notes=notes)


def _list_other_scores(rows: duckdb.DuckDBPyRelation, table_columns: TableColumns) -> list[str]:
    """Return a note on columns of other numbers that are called like scores, of which the one that is read is first."""
    score = table_columns.columns.get("mean" if table_columns.is_aggregated else "score")
    used = {*table_columns.columns.values(), *table_columns.dimensions.values()}
    names = {normalise_name(alias) for alias in ALIASES["score"]}
    others = [
        column
        for column in _list_columns(rows)
        if column not in used and (normalise_name(name := column.rpartition(".")[2]) in names or is_metric(name))
    ]
    if score is None or not others or score not in rows.columns:
        return []
    types = read_column_types(rows)
    few = rows.limit(_FEW_ROWS)
    _, expected = parse_number_sql(write_text_sql(score, types))
    conditions = []
    for column in others:
        text, number = parse_number_sql(write_text_sql(column, types))
        are_numbers = f"count({text}) > 0 AND count({text}) = count({number})"
        conditions.append(f"{are_numbers} AND bool_or(({number}) IS DISTINCT FROM ({expected}))")
    is_score = few.aggregate(", ".join(conditions)).fetchall()[0]
    others = [column for column, is_true in zip(others, is_score, strict=True) if is_true]
    if not others:
        return []
    listed, ours = ", ".join(map(repr, others)), "mean" if table_columns.is_aggregated else "score"
    command = f"--columns {shlex.quote(f'{ours}={others[0]}')}"
    return [f"the score is read from column {score!r}, not from {listed}: {command} reads that one"]


def _separate_tasks(
    rows: duckdb.DuckDBPyRelation, table_columns: TableColumns, notes: list[str]
) -> tuple[duckdb.DuckDBPyRelation, TableColumns]:
    """Return rows in which ids that are counted anew in each task are different questions, and note columns of tasks.

    The questions of all tasks are read as those of one benchmark.
    """
    used = {*table_columns.columns.values(), *table_columns.dimensions.values()}
    columns = [column for column in find_task_columns(_list_columns(rows)) if column not in used]
    if "question" not in table_columns.columns:
        return rows, table_columns
    types = read_column_types(rows)
    question = write_text_sql(table_columns.columns["question"], types)
    model = write_text_sql(table_columns.columns["model"], types) if "model" in table_columns.columns else "''"
    generation = table_columns.columns.get("generation")
    number = write_text_sql(generation, types) if generation else "''"
    tasks: dict[str, tuple[list[str], bool]] = {}
    for column in columns:
        task = f"nullif(trim({write_text_sql(column, types)}), '')"
        counts = ", ".join(
            f"count(DISTINCT {one})"
            for one in (
                question,
                f"({question}, {task})",
                f"({model}, {question}, {task})",
                model,
                f"({model}, {task})",
            )
        )
        table = rows.filter(f"{task} IS NOT NULL").aggregate(f"list_sort(list(DISTINCT {task})), {counts}")
        names, n_questions, n_pairs, n_triples, n_models, n_of_models = table.fetchall()[0]
        # A value per question is no task, and one per model is a property of the model.
        is_task = 2 <= len(names or ()) <= n_pairs / 2 and (n_of_models > n_models or n_models == 1)
        # Where a question has several values, each is a task if the models have them alike, else of a completion.
        if is_task and (n_pairs == n_questions or n_triples >= _SHARE_OF_TASKS * n_models * n_pairs):
            tasks[column] = names, n_pairs > n_questions
    if not tasks:
        return rows, table_columns
    (column, (names, is_repeated)), *others = tasks.items()
    task = write_text_sql(column, types)
    if is_repeated:
        # Generations of a question whose task is what a grader says of each have other numbers in each task.
        each = rows.aggregate(f"count(*) AS n, count(DISTINCT {number}) AS m", f"{model}, {question}, {task}")
        fewest, most, n_different = each.aggregate("min(n), max(n), min(m)").fetchall()[0]
        is_counted_anew = fewest == most and (generation is None or n_different == most)
    listed = ", ".join(names[:_N_TASKS_NAMED]) + ", ..." * (len(names) > _N_TASKS_NAMED)
    line = f"column {column!r} has {len(names)} values ({listed})"
    line += "".join(f" and {other!r} {len(others_names)}" for other, (others_names, _) in others)
    line += ", read as one benchmark"
    if is_repeated and is_counted_anew:
        line += ", and equal ids in several of them as different questions"
        rows = rows.project(f"*, coalesce({task}, '') || '/' || {question} AS {quote_name(QUESTION_TASK)}")
        table_columns = table_columns._replace(columns={**table_columns.columns, "question": QUESTION_TASK})
    elif is_repeated:
        line += ", and equal ids in several of them as one question"
    remedy = f"--columns {shlex.quote(f'benchmark={column}')} reads each as a benchmark of its own"
    notes.append(f"{line}: {remedy}")
    return rows, table_columns


def _find_columns_of_models(rows: duckdb.DuckDBPyRelation, where: str, options: TableOptions) -> TableColumns:
    """Return our columns; a column `system` that holds prompts, or nothing, names no model."""
    table_columns = find_columns(rows.columns, where, options)
    column = table_columns.columns.get("model", "")
    if normalise_name(column) != _SYSTEM or "model" in options.columns:
        return table_columns
    text = f"trim({write_text_sql(column, read_column_types(rows))})"
    # Prompts are sentences, long, or of several lines.
    is_prompt = f"length({text}) > {_MODEL_LENGTH} OR regexp_matches({text}, '[.!?:]$|\\n')"
    n_names, n_prompts = rows.aggregate(
        f"count(nullif({text}, '')), count(*) FILTER ({is_prompt})",
    ).fetchall()[0]
    if n_names and not n_prompts:
        return table_columns
    return find_columns([name for name in rows.columns if name != column], where, options)


def _has_means(rows: duckdb.DuckDBPyRelation, where: str, options: TableOptions) -> bool:
    """Return whether a table without one of the columns that are needed has scores all the same."""
    return bool({"score", "mean"} & match_columns(rows.columns, where, options.columns, options.dimensions).keys())


def _list_columns(rows: duckdb.DuckDBPyRelation) -> list[str]:
    """Return the columns without the number of the row."""
    return [column for column in rows.columns if column != ROW]


def _flatten(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return the rows with the fields of nested columns as columns, such as meta.model."""
    if not any(kind.id == "struct" for kind in rows.types):
        return rows
    parts: dict[str, str] = {}

    def add_fields(name: str, expression: str, kind: DuckDBPyType, depth: int) -> None:
        if kind.id != "struct" or depth == _MAX_DEPTH:
            parts.setdefault(name, expression)
            return
        for field, inner in cast("list[tuple[str, DuckDBPyType]]", kind.children):
            add_fields(f"{name}.{field}", f"{expression}.{quote_name(field)}", inner, depth + 1)

    for column, kind in zip(rows.columns, rows.types, strict=True):
        add_fields(column, quote_name(column), kind, 0)
    return rows.project(", ".join(f"{expression} AS {quote_name(name)}" for name, expression in parts.items()))


def _choose_score_column(
    rows: duckdb.DuckDBPyRelation, where: str, options: TableOptions
) -> tuple[TableOptions, duckdb.DuckDBPyRelation]:
    """Return options that name the column of the requested scorer, where no column names scorers.

    A name that stands in a column is that of a scorer in it, see `find_scorer_column`.
    """
    if options.scorer is None or "score" in options.columns:
        return options, rows
    if "scorer" in match_columns(rows.columns, where, options.columns):
        return options, rows
    by_key = {normalise_name(column): column for column in rows.columns}
    column = by_key.get(normalise_name(options.scorer))
    if column is None and not has_value(rows, options.scorer):
        raise UnknownNameError("scorer", options.scorer, rows.columns, where=where)
    return options if column is None else options._replace(columns={**options.columns, "score": column}), rows


def _take_prompts_of_questions(rows: duckdb.DuckDBPyRelation, table_columns: TableColumns) -> TableColumns:
    """Return the columns without a prompt that is the text of its question, and no variant of it."""
    if "question" not in table_columns.columns:
        return table_columns
    question, prompt = (quote_name(table_columns.columns[name]) for name in ("question", "variant"))
    n_questions, n_prompts, n_pairs, length = rows.aggregate(
        f"count(DISTINCT {question}), count(DISTINCT {prompt}), count(DISTINCT ({question}, {prompt})), "
        f"avg(length(CAST({prompt} AS VARCHAR)))"
    ).fetchall()[0]
    is_text = length >= _PROMPT_LENGTH or n_prompts > max(n_questions / 2, _MOST_VARIANTS)
    if n_pairs > n_questions or n_prompts == 1 or not is_text:
        return table_columns
    columns = {name: column for name, column in table_columns.columns.items() if name != "variant"}
    return table_columns._replace(columns=columns)


def _unnest_scores(
    rows: duckdb.DuckDBPyRelation, table_columns: TableColumns
) -> tuple[duckdb.DuckDBPyRelation, TableColumns]:
    """Return a row per score where a row has the list of the scores of its generations."""
    score = table_columns.columns.get("score")
    kinds = dict(zip(rows.columns, rows.types, strict=True))
    if (
        score is None
        or table_columns.is_aggregated
        or kinds[score].id != "list"
        or "generation" in table_columns.columns
    ):
        return rows, table_columns
    others = [quote_name(column) for column in rows.columns if column != score]
    name = quote_name(score)
    number = f"generate_subscripts({name}, 1) AS {quote_name(GENERATION)}"
    unnested = rows.project(", ".join([*others, f"unnest({name}) AS {name}", number]))
    return unnested, table_columns._replace(columns={**table_columns.columns, "generation": GENERATION})


def _choose_scorer(
    rows: duckdb.DuckDBPyRelation, where: str, table_columns: TableColumns, options: TableOptions, notes: list[str]
) -> tuple[duckdb.DuckDBPyRelation, TableColumns]:
    """Return the rows of one scorer, where a column names several, and note which."""
    column = table_columns.columns.get("scorer")
    kinds = dict(zip(rows.columns, rows.types, strict=True))
    if column is None or kinds[column].id in {"list", "double", "float"}:
        return rows, table_columns
    text = write_text_sql(column, read_column_types(rows))
    counts = rows.aggregate(f"{text} AS scorer, count(*) AS n", text).order("n DESC, scorer").limit(_MOST_SCORERS + 1)
    n_of = {str(name): n for name, n in counts.fetchall() if name is not None}
    is_key = len(n_of) > _MOST_SCORERS or not n_of or max(n_of.values()) == 1
    if is_key and "scorer" not in options.columns:
        return rows, table_columns
    if options.scorer is not None:
        chosen = next((name for name in n_of if normalise_name(name) == normalise_name(options.scorer)), None)
        if chosen is None:
            raise UnknownNameError("scorer", options.scorer, n_of, where=where)
    else:
        preferred = {normalise_name(name): name for name in reversed(n_of)}
        chosen = next((preferred[name] for name in _PREFERRED_SCORERS if name in preferred), next(iter(n_of)))
        if len(n_of) > 1:
            others = ", ".join(name for name in n_of if name != chosen)
            notes.append(
                f"{len(n_of)} scorers in column {column!r}: {chosen} is read; --scorer reads another ({others})"
            )
    return (rows.filter(f"{text} = {quote_text(chosen)}") if len(n_of) > 1 else rows), table_columns


def _separate_turns(
    rows: duckdb.DuckDBPyRelation, table_columns: TableColumns, options: TableOptions, notes: list[str]
) -> tuple[duckdb.DuckDBPyRelation, TableColumns]:
    """Return each turn of a question as a question of its own, in the cluster of its question."""
    if "turn" not in table_columns.columns or "question" not in table_columns.columns:
        return rows, table_columns
    types = read_column_types(rows)
    turn, question = (write_text_sql(table_columns.columns[name], types) for name in ("turn", "question"))
    n_turns, n_questions, n_pairs = rows.aggregate(
        f"count(DISTINCT {turn}), count(DISTINCT {question}), count(DISTINCT ({question}, {turn}))"
    ).fetchall()[0]
    if not 1 < n_turns <= _MOST_TURNS or ("turn" not in options.columns and n_pairs < 1.5 * n_questions):
        return rows, table_columns
    pair = f"{question} || ' (turn ' || {turn} || ')'"
    rows = rows.project(f'*, {pair} AS "{QUESTION_TURN}", {question} AS "{TURN_CLUSTER}"')
    columns = {"cluster": TURN_CLUSTER, **table_columns.columns, "question": QUESTION_TURN}
    line = "each turn is a question of its own, and the turns of a question are a cluster"
    notes.append(f"column {table_columns.columns['turn']!r}: {line}")
    return rows, table_columns._replace(columns=columns)


def _rename_columns(
    rows: duckdb.DuckDBPyRelation, where: str, benchmark: str, options: TableOptions
) -> tuple[duckdb.DuckDBPyRelation, duckdb.DuckDBPyRelation, list[RowCheck], tuple[str, ...]]:
    """Return the rows under our names, the rows with their own names, the checks of these, and notes on names.

    Rows that are cells have `n`, `total` and `total_sq`, others `score`. Checks that only the rows can show have been
    made; the late ones are for when grouping fails.
    """
    layout = lay_out(rows, where, options)
    rows, name_notes = layout.rows, layout.name_notes
    columns, dimensions, is_whole, is_aggregated = layout.table_columns
    for note in layout.notes:
        warnings.warn(f"{where}: {note}", HowsureWarning, stacklevel=4)
    types = read_column_types(rows)
    is_text = set(types.values()) <= {"VARCHAR", "BIGINT"}  # a csv, whose names may have blanks around them
    expressions = {"question": quote_text(ALL_QUESTIONS), "benchmark": quote_text(benchmark)}
    if options.model is not None and "model" not in columns:
        expressions["model"] = quote_text(options.model)
        if options.is_model_of_file:
            line = f"no column names the model: it is called {options.model!r}, after its file or folder"
            warnings.warn(f"{where}: {line} (--model names it)", HowsureWarning, stacklevel=4)
    key = ("model", "question", "benchmark", "cluster")
    for one in (one for one in key if one in columns):
        name = name_sql(columns[one], types)
        expressions[one] = f"trim({name})" if is_text and types.get(columns[one]) == "VARCHAR" else name
    expressions |= _write_variant_sql(columns, dimensions, types)
    texts = ScoreTexts()
    required = [one for one in (*key, *(["variant"] if options.by_variant else []), "generation") if one in columns]
    checks = [_check_filled(one, columns[one], types) for one in required]
    if is_aggregated:
        numbers = write_cell_sums_sql(columns, types, checks)
    elif "score" not in columns:
        numbers = ["CAST(NULL AS DOUBLE) AS score"]
    else:
        texts = read_score_texts(rows, columns["score"], where, types)
        own_checks: list[RowCheck] = []
        numbers = [f"{number_sql(columns['score'], types, 'a score', own_checks, texts.words)} AS score"]
        checks += [] if texts.are_numbers else own_checks
    if "generation" in columns and not is_aggregated:
        numbers.append(f"{_write_generation_sql(rows, columns['generation'], types)} AS generation")
    refuse_rows(rows, where, [check for check in checks if not check.late], place=name_row)
    expressions |= _write_texts_sql(rows, columns, options.texts, types)
    names = [f"{expression} AS {quote_name(one)}" for one, expression in expressions.items()]
    table = rows.project(", ".join([*names, *numbers]))
    if not is_aggregated:
        column = columns.get("score", "")
        is_flag = "score" not in options.columns and options.scorer is None and may_count_right_answers(column)
        flag = column if is_flag else None
        table = scale_scores(table, where, options.scale, flag=flag, extremes=texts.extremes)
    if is_whole and "generation" not in columns:
        _refuse_repeated_wholes(table, where)
        table = table.project("*, 1 AS generation")
    return table, rows, checks, name_notes


def match_texts(
    names: Sequence[str], columns: Mapping[str, str], texts: Mapping[str, tuple[str, ...]]
) -> dict[str, str]:
    """Return the texts that are kept beside the scores, with their columns.

    Parameters
    ----------
    names
        Columns of the table, and fields of nested ones.
    columns
        Our column names to the table's.
    texts
        Texts to the names of their columns; see `columns.find_texts`.
    """
    of_both = {"question", "answer"} if texts.get("text") == TEXTS_OF_QUESTIONS else {"question", "variant", "answer"}
    taken = [column for name, column in columns.items() if name not in of_both]
    # A field of a column is no text of that name by chance: the text of choices is not that of the question.
    matched = match_aliases([name for name in names if "." not in name], texts, taken=taken)
    fields = match_aliases(names, {name: of for name, of in texts.items() if name != "text"}, taken=taken)
    return fields | matched


def _write_texts_sql(
    rows: duckdb.DuckDBPyRelation, columns: Mapping[str, str], texts: Mapping[str, tuple[str, ...]], types: ColumnTypes
) -> dict[str, str]:
    """Return SQL for the texts that are kept beside the scores; lists are JSON, and absent texts are left out."""
    expressions = {}
    for name, column in match_texts(rows.columns, columns, texts).items():
        is_list = types[column].endswith("[]")
        text = f"CAST(to_json({quote_name(column)}) AS VARCHAR)" if is_list else write_text_sql(column, types)
        expressions[name] = text
    return expressions


def _write_generation_sql(rows: duckdb.DuckDBPyRelation, column: str, types: ColumnTypes) -> str:
    """Return SQL for the generation; whole numbers that are written as text become numbers, which have an order."""
    name = name_sql(column, types)
    if types.get(column) != "VARCHAR":
        return name
    name = f"trim({name})"
    number = f"TRY_CAST({name} AS BIGINT)"
    others = rows.aggregate(f"count({name}) - count(CASE WHEN CAST({number} AS VARCHAR) = {name} THEN 1 END)")
    return name if others.fetchall()[0][0] else number


def _check_filled(ours: str, column: str, types: ColumnTypes) -> RowCheck:
    """Return the check that a name is not empty."""
    wrong = f"coalesce(trim({write_text_sql(column, types)}), '') = ''"
    return RowCheck(wrong, column, f"the {ours} is empty", "fill it in", late=True)


def _write_variant_sql(columns: Mapping[str, str], dimensions: Mapping[str, str], types: ColumnTypes) -> dict[str, str]:
    """Return SQL for the variant and its values; without a column, each combination of values is a variant."""
    values = {
        one: f"coalesce(nullif(trim({write_text_sql(column, types)}), ''), '(empty)')"
        for one, column in dimensions.items()
    }
    if "variant" in columns:
        return {"variant": name_sql(columns["variant"], types), **values}
    parts = [value if len(values) == 1 else f"{quote_text(one + '=')} || {value}" for one, value in values.items()]
    return {"variant": " || ', ' || ".join(parts), **values} if values else {}


def _refuse_repeated_wholes(table: duckdb.DuckDBPyRelation, where: str) -> None:
    """Raise InputError when a model has two scores of a whole benchmark: the questions may have been overlooked."""
    key = ", ".join(one for one in ("benchmark", "model", "variant") if one in table.columns)
    repeated = table.aggregate(f"{key}, count(*) AS times", key).filter("times > 1").order(key).limit(1).fetchall()
    if repeated:
        *names, times = repeated[0]
        of = ", ".join(f"{one} {str(value)!r}" for one, value in zip(key.split(", "), names, strict=True))
        remedy = "name it with --columns question=COLUMN, or number the repeats in a column 'generation'"
        raise InputError(f"{times} scores of {of}, and no column for the question", where=where, remedy=remedy)
