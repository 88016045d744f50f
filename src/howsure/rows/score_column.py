"""Read a column of scores: words, percent, decimal commas, failures and rows that sum up others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from howsure.errors import InputError
from howsure.notes import Note
from howsure.rows.columns import MOST_WORDS, MatchedColumns, TableOptions, describe_columns, find_scale
from howsure.rows.mapping import write_map
from howsure.rows.sql import (
    ColumnTypes,
    RowCheck,
    number_sql,
    parse_number_sql,
    quote_text,
    read_column_types,
    write_text_sql,
)
from howsure.rows.to_cells import map_parts
from howsure.rows.words import (
    FAILED_WORDS,
    FAILURE_COLUMNS,
    SUMMARY_WORDS,
    WORD_SCORES,
    match_words,
    normalise_name,
    split_words,
)

if TYPE_CHECKING:
    import duckdb

    from howsure.rows.shapes import LongRows
    from howsure.stats.core.cells import Cells
    from howsure.stats.core.cube import Cube

P = TypeVar("P", "Cells", "Cube")
T = TypeVar("T")

#: Largest difference of a mean that was rounded.
_TOLERANCE = 0.006
#: Words of rows beside a row of means.
_SPREADS = frozenset({"std", "sd", "se", "stderr", "median", "min", "max", "count"})
#: Texts in a column of errors that mean that there was none.
_NO_ERROR = ("", "none", "null", "nan", "n/a", "na", "false", "0", "0.0", "no", "ok", "success", "[]", "{}")


class ScoreColumn(NamedTuple):
    """SQL of a column of scores, and the checks that refuse a row."""

    sql: str
    checks: tuple[RowCheck, ...] = ()
    limits: tuple[float, float] | None = None
    """The lowest and the highest score of a column of texts that are all finite numbers; None where not known."""


def read_score_column(
    rows: duckdb.DuckDBPyRelation, column: str, where: str, options: TableOptions, note: Callable[[Note], None]
) -> ScoreColumn:
    """Return SQL of the scores in a column, and note how words, percent signs and commas are read.

    Raises
    ------
    InputError
        Where only some scores have a percent sign.
    """
    types, checks = read_column_types(rows), list[RowCheck]()
    missing: Mapping[str, float | None] = dict.fromkeys(text.strip().lower() for text in options.map.missing)
    words: Mapping[str, float | None] = {}
    limits = None
    if types[column] in {"VARCHAR", "JSON"}:
        words, limits = _read_words(rows, column, where, options, note, types, missing)
    sql = number_sql(column, types, "a score", checks, {**words, **missing})
    if missing and types[column] not in {"VARCHAR", "JSON"}:
        listed = ", ".join(map(quote_text, missing))
        sql = f"CASE WHEN lower(trim({write_text_sql(column, types)})) IN ({listed}) THEN NULL ELSE {sql} END"
    return ScoreColumn(sql, () if limits else tuple(checks), limits)


def _read_words(
    rows: duckdb.DuckDBPyRelation,
    column: str,
    where: str,
    options: TableOptions,
    note: Callable[[Note], None],
    types: ColumnTypes,
    missing: Mapping[str, float | None],
) -> tuple[Mapping[str, float | None], tuple[float, float] | None]:
    """Return the scores of the words in a column, in lower case, or else the lowest and the highest number."""
    text = write_text_sql(column, types)
    clean, number = parse_number_sql(text, missing)
    values = rows.project(f"{text} AS text, {clean} AS clean, {number} AS number")
    n_percent, highest, percent, comma, n_words, low, high = values.aggregate(
        "count(*) FILTER (contains(text, '%')), max(TRY_CAST(text AS DOUBLE)), "
        "min(clean) FILTER (contains(text, '%') AND number IS NOT NULL), "
        "min(clean) FILTER (contains(text, ',') AND number IS NOT NULL), count(clean) - count(number), "
        "min(number), max(number)"
    ).fetchall()[0]
    if n_percent and highest is not None and highest > 1 and column not in options.map.percent:
        what = f"some scores have a percent sign, and others such as {highest:g} have none"
        option = write_map(percent=[column])
        remedy = "write the sign after all of them, or say that all are percent"
        raise InputError(what, where=where, remedy=remedy, code="percent-signs", options=option)
    for code, example in (("percent-signs", percent), ("decimal-commas", comma)):
        if example is not None:
            value = float(example.rstrip("% ").replace(",", ".")) / (100 if "%" in example else 1)
            note(Note(code, where, facts={"text": example, "value": value}))
    if not n_words:
        return {}, (low, high) if low is not None and isfinite(low) and isfinite(high) else None
    if describe_columns(rows, [column])[column].n_fractions == n_words:
        what, remedy = f"column {column!r} has cells such as 8/10", "read them as shares with the mapping key fraction"
        raise InputError(what, where=where, remedy=remedy, code="fraction", options=write_map(fraction=[column]))
    word_counts = values.filter("clean IS NOT NULL AND number IS NULL").aggregate("clean, count(*) AS times", "1")
    counts = dict(word_counts.order("times DESC, clean").limit(MOST_WORDS).fetchall())
    words = match_words(counts)
    if words is None:  # the checks of the rows refuse the word that is none beside most others
        return max(WORD_SCORES, key=lambda scores: sum(counts[word] for word in counts if word in scores)), None
    listed = ", ".join(f"{word} {'is missing' if words[word] is None else f'is {words[word]:g}'}" for word in counts)
    note(Note("word-scores", where, n=n_words, facts={"words": listed}))
    return words, None


def find_failures(
    rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, score: str, where: str, note: Callable[[Note], None]
) -> str:
    """Return SQL that is true of rows whose generation or judge failed by a column of flags or errors; empty for none.

    A flag that is the opposite of the score is no failure. Where a failed row has a score above 0, all scores stay.

    Raises
    ------
    InputError
        Where texts of errors stand beside all scores but those that are 1.
    """
    types = read_column_types(rows)
    conditions = []
    for name in rows.columns:
        key = normalise_name(name.rpartition(".")[2])
        if name in matched.taken or key not in FAILURE_COLUMNS:
            continue
        text = f"lower(trim(coalesce({write_text_sql(name, types)}, '')))"
        if key == "status":
            words = sorted({*FAILED_WORDS, "crashed", "cancelled", "canceled", "infrastructure_error"})
            is_http = f"coalesce(TRY_CAST({text} AS DOUBLE) BETWEEN 400 AND 599, false)"
            conditions.append((name, False, f"({text} IN ({', '.join(map(quote_text, words))}) OR {is_http})"))
            continue
        is_flag = rows.aggregate(f"bool_and({text} IN ('', 'true', 'false', '0', '1', '0.0', '1.0'))").fetchall()[0][0]
        if key.startswith(("error", "exception", "failurereason")) or key.endswith("error") or is_flag:
            conditions.append((name, is_flag, f"{text} NOT IN ({', '.join(map(quote_text, _NO_ERROR))})"))
    failed = []
    for name, is_flag, condition in conditions:
        n, n_scored, n_other, n_full = rows.aggregate(
            f"count(*) FILTER ({condition} AND ({score}) IS NOT NULL), "
            f"count(*) FILTER ({condition} AND ({score}) > 0), "
            f"count(*) FILTER (NOT ({condition}) AND ({score}) IS NOT NULL), "
            f"count(*) FILTER (NOT ({condition}) AND ({score}) = 1)"
        ).fetchall()[0]
        if n_scored:
            note(Note("failures-with-scores", where, n=n_scored, facts={"column": name}))
        elif n and n_other == n_full > 0 and "judge" not in name.lower():
            if not is_flag:
                what = f"all rows without a failure in {name!r} score 1, so it may say what was wrong with an answer"
                remedy = f"leave {name!r} out to score those rows 0, or leave their scores empty"
                raise InputError(what, where=where, remedy=remedy, code="failures", options=write_map(drop=[name]))
            note(Note("failures-as-wrong", where, n=n, facts={"column": name}))  # the opposite of the score
        elif n:
            note(Note("failures", where, n=n, facts={"column": name}))
            failed.append(condition)
    return " OR ".join(failed)


def scale_scores(
    table: duckdb.DuckDBPyRelation,
    column: str,
    where: str,
    options: TableOptions,
    note: Callable[[Note], None],
    long: LongRows,
    limits: tuple[float, float] | None = None,
) -> duckdb.DuckDBPyRelation:
    """Return rows whose scores that are percent are divided by 100.

    Parameters
    ----------
    table
        Rows with our columns.
    column
        Name of the column of scores in the table.
    long
        The table as a row per score, with the names of melted columns that are percent.
    limits
        The lowest and the highest score, where they are known.

    Raises
    ------
    InputError
        Where most scores above 0 are 1 and others are far larger.
    """
    scale = options.scale
    if scale is not None and not (isfinite(scale) and scale > 0):
        raise InputError(f"--scale {scale:g}", where=where, remedy="give a number above 0, such as 100 for percent")
    if scale is not None:
        return table if scale == 1 else table.project(f"* REPLACE (score / {scale!r} AS score)")
    if column in options.map.percent:
        return table.project("* REPLACE (score / 100.0 AS score)")
    if long.percent and options.map.percent:
        listed = ", ".join(map(quote_text, long.percent))
        name = "model" if long.shape in {"models", "variants"} else "question"
        share = f"CASE WHEN {name} IN ({listed}) THEN score / 100.0 ELSE score END"
        return table.project(f"* REPLACE ({share} AS score)")
    if limits is not None and limits[0] >= 0 and limits[1] <= 1:
        return table
    ranges = [one for one in _read_ranges(table) if one[1] is not None and isfinite(one[1]) and isfinite(one[2])]
    return (
        table if all(find_scale(*one[1:]) == "unit" for one in ranges) else _scale_by_range(table, column, where, note)
    )


def _scale_by_range(
    table: duckdb.DuckDBPyRelation, column: str, where: str, note: Callable[[Note], None]
) -> duckdb.DuckDBPyRelation:
    """Return rows without those that sum up others, whose scores that are percent by their range are divided by 100."""
    table = _drop_summary_rows(table, where, note)
    ranges = [one for one in _read_ranges(table) if one[1] is not None]
    percent = [benchmark for benchmark, *limits in ranges if find_scale(*limits) == "percent"]
    for benchmark, *limits in ranges:
        if find_scale(*limits) == "other":
            _refuse_doubtful_range(column, where, *limits)
        if find_scale(*limits) != "unit":
            code = "percent" if benchmark in percent else "scores-beyond-1"
            about = (str(benchmark),) if len(ranges) > 1 else ()
            note(Note(code, where, about, facts={"column": column, "low": limits[0], "high": limits[1]}))
    _refuse_two_scales(table, [name for name, *limits in ranges if find_scale(*limits) != "unit"], where)
    if not percent:
        return table
    listed = ", ".join(quote_text(str(name)) for name in percent)
    is_all = len(percent) == len(ranges)
    scaled = "score / 100.0" if is_all else f"CASE WHEN benchmark IN ({listed}) THEN score / 100.0 ELSE score END"
    return table.project(f"* REPLACE ({scaled} AS score)")


def _refuse_doubtful_range(column: str, where: str, low: float, high: float, n_ones: float, n_large: float) -> None:
    """Raise InputError where a few numbers are far from the others, or the scale has two readings."""
    if low >= 0 and high > 10 and n_ones >= n_large:
        what = f"most scores in {column!r} are 0 or 1, and others go up to {high:g}"
        remedy = "remove rows that are no scores, or add --scale 1 to take them as they are"
        raise InputError(what, where=where, remedy=remedy, code="scales")
    if low >= 0 and 10 < high <= 20:
        what = f"scores in {column!r} go from {low:g} to {high:g}"
        remedy = "add --scale 1 to take them as they are, or --scale 100 for percent"
        raise InputError(what, where=where, remedy=remedy, code="scales", options=("--scale", "1"))
    if low == -1 and high >= 1:
        what = f"scores in {column!r} are -1 and up to {high:g}"
        remedy = "if -1 marks a judge that failed, say that it is missing; or add --scale 1"
        raise InputError(what, where=where, remedy=remedy, code="scales", options=write_map(missing=["-1", "-1.0"]))


def _refuse_two_scales(table: duckdb.DuckDBPyRelation, beyond: Sequence[str], where: str) -> None:
    """Raise InputError where the scores of one model go up to 1, and those of others far beyond."""
    limits = table.aggregate("CAST(model AS VARCHAR), max(score), CAST(benchmark AS VARCHAR)", "model, benchmark")
    highs = [(name, high) for name, high, benchmark in limits.fetchall() if benchmark in beyond and high is not None]
    units = [name for name, high in highs if 0 < high <= 1]
    if units and max(high for _, high in highs) > 2:
        what = f"scores of {units[0]} go up to 1, and those of other models up to {max(high for _, high in highs):g}"
        remedy = "write the scores of all models on one scale, or add --scale 1 to take them as they are"
        raise InputError(what, where=where, remedy=remedy, code="scales")


def _read_ranges(table: duckdb.DuckDBPyRelation) -> list[tuple[str, float, float, int, int]]:
    """Return benchmark, lowest and highest score, and the number of scores that are 1 and above 1."""
    parts = "min(score), max(score), count(*) FILTER (score = 1), count(*) FILTER (score > 1)"
    return table.aggregate(f"CAST(benchmark AS VARCHAR), {parts}", "benchmark").fetchall()


def _drop_summary_rows(
    table: duckdb.DuckDBPyRelation, where: str, note: Callable[[Note], None]
) -> duckdb.DuckDBPyRelation:
    """Return rows without questions that by name and content sum up the others, in percent or as a sum too."""
    if "question" not in table.columns:
        return table
    question = "CAST(question AS VARCHAR)"
    ends = " OR ".join(f"contains(lower({question}), {quote_text(word)})" for word in sorted(SUMMARY_WORDS))
    names = [str(name) for (name,) in table.filter(ends).project(question).distinct().limit(100).fetchall()]
    candidates = [name for name in names if is_summary_name(name)]
    for name in candidates:
        own = f"{question} = {quote_text(name)}"
        grouped = table.aggregate(
            f"benchmark, model, avg(score) FILTER (NOT ({own})), sum(score) FILTER (NOT ({own})), "
            f"max(score) FILTER ({own})",
            "benchmark, model",
        ).fetchall()
        pairs = [(mean, total, value) for _, _, mean, total, value in grouped if value is not None and mean is not None]
        if pairs and all(
            any(abs(value - expected) <= _TOLERANCE * unit for expected, unit in ((m, 1), (t, 1), (100 * m, 100)))
            for m, t, value in pairs
        ):
            note(Note("summary-row", where, facts={"kind": "question", "name": name}))
            table = table.filter(f"NOT ({own})")
    return table


def is_summary_name(name: str) -> bool:
    """Return whether a row is called like a sum or a mean of others.

    >>> is_summary_name("Total correct"), is_summary_name("Score (%)"), is_summary_name("q1"), is_summary_name("")
    (True, True, False, False)
    """
    words = split_words(name)
    return bool(words) and SUMMARY_WORDS.issuperset(words)


def drop_summaries(parts: T, where: str, note: Callable[[Note], None]) -> T:
    """Return cells, runs or cubes without questions and models that by name and content sum up the others."""
    return map_parts(
        parts, lambda part: _drop_summary(_drop_summary(part, "question", where, note), "model", where, note)
    )


def _drop_summary(part: P, kind: str, where: str, note: Callable[[Note], None]) -> P:
    """Return a part without the questions or models that sum up the others; note one that only has such a name."""
    names = part.questions if kind == "question" else part.models
    candidates = [name for name in names if is_summary_name(name)]
    others = [name for name in names if name not in candidates]
    if not candidates or not others:
        return part
    axis = 1 if kind == "question" else 0
    n, total = (np.moveaxis(values.reshape(*values.shape[:2], -1).sum(-1), axis, 0) for values in (part.n, part.total))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(n > 0, total / n, np.nan)
    is_other = np.array([name in others for name in names])
    counts = np.maximum((~np.isnan(means[is_other])).sum(axis=0), 1)
    sums = np.nansum(means[is_other], axis=0)
    left_out = []
    for name in candidates:
        own = means[names.index(name)]
        matches = [np.isnan(own) | (np.abs(own - value) <= _TOLERANCE) for value in (sums / counts, sums)]
        if not np.isnan(own).all() and any(one.all() for one in matches):
            left_out.append(name)
    if left_out:  # a row of deviations below one of means
        left_out += [name for name in candidates if not _SPREADS.isdisjoint(split_words(name)) and name not in left_out]
    for name in candidates:
        code = "summary-row" if name in left_out else "summary-name"
        note(Note(code, where, (part.benchmark,), facts={"kind": kind, "name": name}))
    rest = [name for name in names if name not in left_out]
    if not left_out:
        return part
    return part.select(questions=rest) if kind == "question" else part.select(models=rest)
