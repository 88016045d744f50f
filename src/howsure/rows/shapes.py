"""The declared shapes of tables: which one a table has, and its rows as a row per score.

1. `generations`: a row per generation, with columns for question and score. 2. `cells`: a row per cell, with mean and
count or right and total. 3. `models`: a column per model. 4. `repeats`: a column per generation of one model.
5. `variants`: a row per prompt variant and a column per model. 6. nested records, whose fields have dots, and lists of
scores: they are read as one of the others. `questions`, a row per model and a column per question, is read only where
the user says so. Anything else is refused with the option that reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from howsure.errors import InputError
from howsure.rows.columns import NAMED, MatchedColumns, TableOptions, describe_columns
from howsure.rows.mapping import Shape
from howsure.rows.model_columns import build_no_question, find_models, find_parent, find_suffix, list_names
from howsure.rows.sql import (
    ROW,
    number_rows,
    parse_number_sql,
    quote_name,
    quote_text,
    read_column_types,
    write_text_sql,
)
from howsure.rows.words import (
    are_repeat_names,
    find_alias,
    normalise_name,
    split_repeat,
)

if TYPE_CHECKING:
    import duckdb

#: The names that the rows of a melted table give the columns of the name, and of its run.
NAME, RUN = "name of the column", "run in the name of the column"
#: What the columns of a shape are, and what its rows are.
_ROLES: Mapping[Shape, tuple[str, str]] = {
    "models": ("model", "question"),
    "repeats": ("generation", "question"),
    "variants": ("model", "variant"),
    "questions": ("question", "model"),
}
#: The names that are kept of those for numbers, by what a row states.
_NUMBER_NAMES = {"score": ("score",), "mean": ("mean", "count", "right"), "right": ("right", "total"), "": ()}

#: Names of how many points a question has.
_MAXIMA = frozenset({"total", "max", "maxscore", "maxpoints", "maxmarks", "maximum", "outof"})


class LongRows(NamedTuple):
    """A table as a row per score, with the columns of the table."""

    rows: duckdb.DuckDBPyRelation
    matched: MatchedColumns
    shape: Shape = "generations"
    melted: tuple[str, ...] = ()
    """Columns of scores, one for each model, generation or question."""
    percent: tuple[str, ...] = ()
    """Names of the melted columns whose scores are percent."""


def find_shape(
    rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, where: str, options: TableOptions
) -> tuple[Shape, Sequence[str]]:
    """Return the shape of a table, and the columns that are melted.

    Raises
    ------
    InputError
        When the table has none of the shapes; with the options that read it, where there are any.
    """
    names = list(rows.columns)
    columns = matched.columns
    if options.map.shape is not None and options.map.shape in _ROLES:
        return options.map.shape, _list_melted(rows, matched, options.map.shape, where)
    numbers = _choose_numbers(rows, matched, where)
    repeats = _find_repeats(rows, matched)
    if "question" in columns and repeats and "generation" not in columns and matched.reasons.get("score") != NAMED:
        if numbers == "score":
            what = f"{list_names(repeats)} may be runs, and {matched.first('score')!r} another score or their mean"
            remedy = f"say which are the scores: --shape repeats, or --columns score={matched.first('score')}"
            raise InputError(what, where=where, remedy=remedy, code="repeats", options=("--shape", "repeats"))
        return "repeats", repeats
    if "question" in columns and numbers:
        _refuse_points(rows, matched, where, options)
        if _are_rows_models(rows, matched):
            raise build_no_question(rows, matched, where)
        return ("generations" if numbers == "score" else "cells"), ()
    if numbers == "score" and options.by_variant:
        return "generations", ()
    if options.texts and ("completion" in columns or find_alias("completion", names)):
        if "question" in columns:
            return "generations", ()
        raise build_no_question(rows, matched, where)
    if not numbers:
        return "models", find_models(rows, matched, where, options)
    raise build_no_question(rows, matched, where)


def _choose_numbers(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, where: str) -> str:
    """Return which numbers a row states: "score", "mean" of a cell with its count, "right" of total, or "" for none.

    The names of the others are removed from `matched`.

    Raises
    ------
    InputError
        When right answers are counted and nothing says of how many, or when both readings are possible.
    """
    columns = matched.columns
    named = {name for name in columns if matched.reasons[name] == NAMED}
    remaining = _decide_numbers(rows, matched, where, named)
    for name in {"score", "mean", "count", "right", "total"} - set(_NUMBER_NAMES[remaining]):
        columns.pop(name, None)
    if remaining == "mean" and "count" not in columns:  # the mean of one score is that score
        columns["score"], matched.reasons["score"] = columns.pop("mean"), matched.reasons["mean"]
        return "score"
    return remaining


def _decide_numbers(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, where: str, named: set[str]) -> str:
    """Return which of the numbers of a row are read; see `_choose_numbers`."""
    columns, score, right, total = (
        matched.columns,
        matched.first("score"),
        matched.first("right"),
        matched.first("total"),
    )
    if "score" in named:
        return "score"
    if "mean" in named or ("mean" in columns and "count" in columns and "right" not in named):
        return "mean"
    if right is None or (score not in {None, right} and "right" not in named):
        if score is not None:
            _refuse_counted(rows, score, total or matched.first("count"), where)
        return "score" if score is not None else ""
    values = describe_columns(rows, [name for name in (right, total) if name is not None])
    one, is_flag = values[right], score == right and "right" not in named
    counts = one.n_numbers == one.n > 0 and one.scale != "unit"
    option = ("--columns", f"score={right}")
    if total is None or values[total].n_numbers < values[total].n:
        if is_flag and not (counts and one.scale == "other" and one.is_whole):
            return "score"
        what = f"column {right!r} counts right answers, and no column says of how many"
        remedy = f"name it with --columns total=COLUMN; --columns score={right} reads scores as they are"
        raise InputError(what, where=where, remedy=remedy, code="counts")
    if is_flag and not counts and (values[total].high or 0) > 1:
        what = f"column {right!r} is 0 or 1 everywhere beside {total!r} up to {values[total].high:g}"
        remedy = (
            f"it is a score or a count: --columns score={right}, or --columns right={right} --columns total={total}"
        )
        raise InputError(what, where=where, remedy=remedy, code="counts", options=option)
    return "score" if is_flag and not counts else "right"


def _refuse_counted(rows: duckdb.DuckDBPyRelation, score: str, count: str | None, where: str) -> None:
    """Raise InputError where scores are fractions of a count beside them, which may be that of their generations."""
    if count is None:
        return
    types = read_column_types(rows)
    one, n = (parse_number_sql(write_text_sql(name, types))[1] for name in (score, count))
    tests = f"bool_or({one} > 0 AND {one} < 1), bool_and({n} BETWEEN 2 AND 10000 AND {n} = floor({n}))"
    share = f"avg((abs({one} * {n} - round({one} * {n})) <= 0.02)::INT)"
    [[has_fractions, are_counts, fits]] = rows.aggregate(f"{tests}, {share}").fetchall()
    if has_fractions and are_counts and fits is not None and fits >= 0.95:
        what = f"{score!r} may be the mean of as many generations as {count!r} says"
        remedy = f"read it so, or say that it is one score: --columns score={score}"
        option = ("--columns", f"mean={score}", "--columns", f"count={count}")
        raise InputError(what, where=where, remedy=remedy, code="counts", options=option)


def _refuse_points(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, where: str, options: TableOptions) -> None:
    """Raise InputError where a column beside scores above 1 may say how many points there are."""
    score = matched.first("score")
    named = [name for name in rows.columns if name not in matched.taken and normalise_name(name) in _MAXIMA]
    if score is None or not named or options.scale is not None:
        return
    values = describe_columns(rows, [score, *named])
    points = values.pop(score)
    for name, one in values.items():
        if one.is_score and one.is_whole and points.is_score and 1 < (points.high or 0) <= (one.high or 0):
            what = f"scores in {score!r} are up to {points.high:g}, and {name!r} may say of how many points"
            is_one = one.n_distinct == 1
            remedy = "add --scale 1 to take scores as they are" + f", or --scale {one.high:g} for shares" * is_one
            option = ("--scale", f"{one.high:g}" if is_one else "1")
            raise InputError(what, where=where, remedy=remedy, code="counts", options=option)


def _are_rows_models(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns) -> bool:
    """Return whether a column without a name only numbers the rows, and each row is another model."""
    question, model = matched.first("question"), matched.first("model")
    if question is None or model is None or not question.startswith("#"):
        return False
    counts = f"count(*), count(DISTINCT {quote_name(question)}), count(DISTINCT {quote_name(model)})"
    n_rows, n_questions, n_models = rows.aggregate(counts).fetchall()[0]
    return bool(n_rows == n_questions == n_models > 1)


def _find_repeats(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, *, numbers: bool = False) -> list[str]:
    """Return columns that are numbered runs of one model, such as run1 and run2; with `numbers` also 1 and 2."""
    if numbers and (bare := [name for name in rows.columns if name.strip().isdecimal()]):
        return sorted(bare, key=int)
    stems: dict[str, list[str]] = {}
    for name in rows.columns:
        if name not in matched.taken and name[-1:].isdecimal():
            stems.setdefault(name.rstrip("0123456789"), []).append(name)
    repeats = [names for names in stems.values() if are_repeat_names(names)]
    if len(repeats) != 1 or not all(one.is_score for one in describe_columns(rows, repeats[0]).values()):
        return []
    return sorted(repeats[0], key=lambda name: int(name[len(name.rstrip("0123456789")) :]))


def _list_melted(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, shape: Shape, where: str) -> list[str]:
    """Return the columns of a shape that the user named: all scores that are no names."""
    if shape == "repeats" and (repeats := _find_repeats(rows, matched, numbers=True)):
        return repeats
    row_name = _ROLES[shape][1]
    names = [name for name in rows.columns if name not in matched.taken]
    for ours in ("score", "mean", "count", "right", "total"):  # a column called so is a model here
        names += [column for column in matched.columns.pop(ours, ()) if column not in names]
    names = [name for name in rows.columns if name in names]
    values = describe_columns(rows, names)
    if row_name not in matched.columns and row_name != "question":
        is_id = "question" in matched.columns and matched.reasons["question"] != NAMED
        matched.columns[row_name] = matched.columns.pop("question") if is_id else (names.pop(0),)
        matched.reasons[row_name] = f"the {'id' if is_id else 'first column'}, as each row is a {row_name}"
    melted = [name for name in names if values[name].is_score]
    if not melted:
        raise InputError("no column has scores", where=where, remedy=f"the columns are {list_names(rows.columns)}")
    return melted


def melt(
    rows: duckdb.DuckDBPyRelation, shape: Shape, melted: Sequence[str], matched: MatchedColumns, options: TableOptions
) -> LongRows:
    """Return a row per score of a table with several scores in a row; other tables as they are."""
    if shape not in _ROLES:
        return _unnest_scores(LongRows(rows, matched, shape))
    column_name, row_name = _ROLES[shape]
    rows = number_rows(rows)
    columns, reasons = dict(matched.columns), dict(matched.reasons)
    types = read_column_types(rows)
    values = describe_columns(rows, melted)
    percent = [name for name in melted if name in options.map.percent or values[name].scale == "percent"]
    parent, suffix = find_parent(melted), "" if column_name == "generation" else find_suffix(melted)
    names = [name.removeprefix(parent).removesuffix(suffix).strip() for name in melted]
    if column_name == "generation":
        names = [str(int(name[len(name.rstrip("0123456789")) :] or i)) for i, name in enumerate(melted, 1)]
    if row_name not in columns and row_name == "question":
        columns["question"], reasons["question"] = (ROW,), "each row is a question"
    runs = [split_repeat(name) for name in names] if column_name == "model" and "generation" not in columns else []
    run_sql = ""
    if any(run is not None and run[0] for run in runs):  # a column of a model without a run is its first
        pairs = [run if run is not None and run[0] else (name, 1) for name, run in zip(names, runs, strict=True)]
        names = [name for name, _ in pairs]
        run_sql = f", unnest([{', '.join(str(number) for _, number in pairs)}]) AS {quote_name(RUN)}"
        columns["generation"], reasons["generation"] = (RUN,), "the run in the name of its column"
    labels = dict(zip(melted, names, strict=True))
    others = ", ".join(quote_name(name) for name in rows.columns if name not in melted)
    texts = ", ".join(write_text_sql(name, types) for name in melted)
    listed = ", ".join(map(quote_text, names))
    score = list_names(melted)
    unnested = f"unnest([{listed}]) AS {quote_name(NAME)}, unnest([{texts}]) AS {quote_name(score)}{run_sql}"
    rows = rows.project(f"{others}, {unnested}" if others else unnested)
    columns |= {column_name: (NAME,), "score": (score,)}
    reasons |= {column_name: f"shape {shape}: the name of its column", "score": f"shape {shape}: a cell"}
    percent_labels = tuple(labels[name] for name in percent)
    return LongRows(rows, MatchedColumns(columns, reasons), shape, tuple(melted), percent_labels)


def _unnest_scores(long: LongRows) -> LongRows:
    """Return a row per score where a row has the list of the scores of its generations."""
    rows, matched = long.rows, long.matched
    score = matched.first("score")
    kinds = dict(zip(rows.columns, rows.types, strict=True))
    if score is None or kinds[score].id != "list" or "generation" in matched.columns:
        return long
    others = ", ".join(quote_name(column) for column in rows.columns if column != score)
    name, number = quote_name(score), "number in the list"
    rows = rows.project(f"{others}, unnest({name}) AS {name}, generate_subscripts({name}, 1) AS {quote_name(number)}")
    columns = {**matched.columns, "generation": (number,)}
    reasons = {**matched.reasons, "generation": "its place in the list of scores"}
    return long._replace(rows=rows, matched=MatchedColumns(columns, reasons))
