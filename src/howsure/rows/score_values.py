"""Read scores that are words (pass and fail, yes and no, C and I), percent, or -1 where a judge failed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from howsure.errors import HowsureWarning, InputError
from howsure.rows.columns import TableColumns, TableOptions, normalise_name
from howsure.rows.sql import ColumnTypes, parse_number_sql, quote_name, quote_text, read_column_types, write_text_sql
from howsure.safe_text import inflect_text

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "SUMMARY_NAMES",
    "WORD_SCORES",
    "ScoreTexts",
    "describe_number_forms",
    "list_doubtful_scores",
    "match_words",
    "name_other_benchmarks",
    "read_score_texts",
    "refuse_lone_counts",
    "scale_scores",
]

#: Scores by word. All words of a column must be in one of these: the C of letter grades A to D is no score.
WORD_SCORES: tuple[Mapping[str, float], ...] = (
    {
        **dict.fromkeys(("pass", "passed", "success", "succeeded", "correct", "right", "solved", "resolved"), 1.0),
        **dict.fromkeys(("fail", "failed", "failure", "incorrect", "wrong", "unsolved", "unresolved"), 0.0),
        "yes": 1.0,
        "true": 1.0,
        "no": 0.0,
        "false": 0.0,
        **dict.fromkeys(("not attempted", "not_attempted"), 0.0),
        **dict.fromkeys(("partial", "partially correct", "partially_correct"), 0.5),
    },
    {"yes": 1.0, "y": 1.0, "no": 0.0, "n": 0.0},
    {"true": 1.0, "t": 1.0, "false": 0.0, "f": 0.0},
    {"p": 1.0, "f": 0.0},
    {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0},
    {"✓": 1.0, "✔": 1.0, "✅": 1.0, "✗": 0.0, "✘": 0.0, "❌": 0.0},
)
#: Words of a generation that failed: it has no score.
_FAILED = frozenset({"error", "errored", "timeout", "timed out", "skipped", "skip", "not run", "unscored"})
#: Names of rows that may sum up the others.
SUMMARY_NAMES = frozenset({"mean", "average", "avg", "avg.", "total", "sum", "overall", "macro avg", "micro avg"})
#: Normalised names of columns with the error of a generation that failed.
_ERRORS = frozenset({"error", "errormessage", "errormsg", "exception", "failurereason"})
#: Normalised names of columns that may name benchmarks rather than questions, and of mean scores.
_MEANS_OF, _MEANS = frozenset({"task", "test", "testcase"}), frozenset({"accuracy", "acc", "exactmatch", "em"})
#: Largest number of different words of a column of scores.
_MOST_WORDS = 50
#: Largest number of benchmarks whose names a message has.
_MOST_NAMED = 6
#: Scores with a larger maximum, up to 100, are percent.
MIN_PERCENT = 10


def match_words(words: Iterable[str]) -> dict[str, float | None] | None:
    """Return the score of each word, None for a generation that failed; None where a word is no score.

    >>> match_words(["Pass", "fail", "error"])
    {'Pass': 1.0, 'fail': 0.0, 'error': None}
    >>> match_words(["C", "I"]), match_words(["A", "B", "C"]), match_words(["error"])
    ({'C': 1.0, 'I': 0.0}, None, {'error': None})
    """
    lower = {word: word.strip().lower() for word in words}
    for scores in WORD_SCORES:
        matched = [word for word, key in lower.items() if key in scores]
        if matched and all(key in scores or key in _FAILED for key in lower.values()):
            return {word: scores.get(key) for word, key in lower.items()}
    return dict.fromkeys(lower) if lower and _FAILED.issuperset(lower.values()) else None


class ScoreTexts(NamedTuple):
    """What the texts in a column of scores are.

    Attributes
    ----------
    words
        Scores of the words in it, in lower case, None where a generation failed. Where a word is no score, those of the
        others: the checks of rows refuse that one.
    are_numbers
        Whether each text is a finite number, or stands for a missing value.
    extremes
        The lowest and the highest score; None where they are not known, also because there is none.
    """

    words: Mapping[str, float | None] = MappingProxyType({})
    are_numbers: bool = False
    extremes: tuple[float, float] | None = None


def read_score_texts(rows: duckdb.DuckDBPyRelation, column: str, where: str, types: ColumnTypes) -> ScoreTexts:
    """Return what the texts in a column are, and say how words, percent signs and commas are read.

    Parameters
    ----------
    rows
        The table.
    column
        Its column of scores; nothing is known of one that is not of text.
    where
        Name of the table, for messages.
    types
        Types of its columns.

    Raises
    ------
    InputError
        Where only some scores have a percent sign.
    """
    if types.get(column) not in {"VARCHAR", "JSON"}:
        return ScoreTexts()
    text = write_text_sql(column, types)
    clean, number = parse_number_sql(text)
    values = rows.project(f"{text} AS text, {clean} AS clean, {number} AS number")
    n_percent, highest_text, percent, comma, n_words, lowest, highest = values.aggregate(
        "count(*) FILTER (contains(text, '%')), max(TRY_CAST(text AS DOUBLE)), "
        "min(clean) FILTER (contains(text, '%') AND number IS NOT NULL), "
        "min(clean) FILTER (contains(text, ',') AND number IS NOT NULL), count(clean) - count(number), "
        "min(number), max(number)"
    ).fetchall()[0]
    if n_percent and highest_text is not None and highest_text > 1:
        what = f"some scores have a percent sign, and others such as {highest_text:g} have none"
        raise InputError(what, where=where, remedy="write the sign after all of them, or after none")
    lines = describe_number_forms(percent, comma)
    counts: dict[str, int] = {}
    if n_words:
        word_counts = values.filter("clean IS NOT NULL AND number IS NULL").aggregate("clean, count(*) AS times", "1")
        counts = dict(word_counts.order("times DESC, clean").limit(_MOST_WORDS).fetchall())
    words = match_words(counts)
    if words:
        texts = [f"{word} {_describe_score(words[word])} ({n})" for word, n in counts.items()]
        lines.append(f"words are read as scores: {', '.join(texts)}")
    if lines:
        warnings.warn(f"{where}: {'; '.join(lines)}", HowsureWarning, stacklevel=2)
    extremes = None if lowest is None else (lowest, highest)
    are_numbers = not n_words and all(map(isfinite, extremes or ()))
    words = _match_most_words(counts) if words is None else words
    return ScoreTexts(words, are_numbers, extremes if are_numbers else None)


def list_doubtful_scores(
    rows: duckdb.DuckDBPyRelation, table_columns: TableColumns, options: TableOptions
) -> list[str]:
    """Return notes on scores that may not be what they are read as: of errors, and means of whole benchmarks."""
    columns = table_columns.columns
    score = columns.get("score")
    if score is None or score not in rows.columns:
        return []
    notes = []
    types = read_column_types(rows)
    _, number = parse_number_sql(write_text_sql(score, types))
    for column in [column for column in rows.columns if column not in {*columns.values()}]:
        if normalise_name(column.rpartition(".")[2]) in _ERRORS:
            text = f"lower(trim({write_text_sql(column, types)}))"
            is_error = f"{text} NOT IN ('', 'none', 'null', 'nan', 'n/a', 'na', 'false', '0', 'no')"
            [(n_zeros, n_others)] = rows.aggregate(
                f"count(*) FILTER ({number} = 0 AND {is_error}), count(*) FILTER ({number} <> 0 AND {is_error})"
            ).fetchall()
            if n_zeros and not n_others:
                what = inflect_text("[row has|rows have] a text in", n_zeros)
                notes.append(
                    f"{n_zeros} {what} column {column!r} and a score of 0, which counts as wrong: leave the score "
                    "empty where a generation failed"
                )
    question = columns.get("question", "")
    may_be_means = normalise_name(question) in _MEANS_OF and normalise_name(score) in _MEANS
    if may_be_means and "question" not in options.columns:
        name = write_text_sql(question, types)
        [(n_fractions, n_rows, n_questions)] = rows.aggregate(
            f"count(*) FILTER ({number} <> floor({number})), count(*), count(DISTINCT {name})"
        ).fetchall()
        if 2 * n_fractions > n_rows and n_questions <= _MOST_WORDS:
            notes.append(
                f"column {question!r} is read as the questions; if its {n_questions} values are benchmarks, and the "
                "scores are means over their questions, error bars need the score of each question"
            )
    return notes


def _match_most_words(counts: Mapping[str, int]) -> dict[str, float | None]:
    """Return the scores of the words that mean one together, most times, where others are none."""
    lower = {word: word.strip().lower() for word in counts}

    def count_matches(scores: Mapping[str, float]) -> int:
        return sum(n for word, n in counts.items() if lower[word] in scores)

    scores = max(WORD_SCORES, key=count_matches)
    return {word: scores[key] for word, key in lower.items() if key in scores}


def describe_number_forms(percent: str | None, comma: str | None) -> list[str]:
    """Return the line that says how scores with a percent sign or a decimal comma are read, given one of each.

    >>> describe_number_forms("57.5%", None)
    ['percent signs are read (57.5% as 0.575)']
    >>> describe_number_forms("57,5 %", "0,2")
    ['percent signs are read (57,5 % as 0.575) and decimal commas are read (0,2 as 0.2)']
    """
    texts = {"percent signs": percent, "decimal commas": comma}
    forms = [
        f"{form} are read ({text} as {float(text.rstrip('% ').replace(',', '.')) / (100 if '%' in text else 1):g})"
        for form, text in texts.items()
        if text is not None
    ]
    return [" and ".join(forms)] if forms else []


def _describe_score(score: float | None) -> str:
    """Return what a word stands for."""
    return "is missing" if score is None else f"is {score:g}"


def scale_scores(
    table: duckdb.DuckDBPyRelation,
    where: str,
    scale: float | None,
    *,
    flag: str | None = None,
    extremes: tuple[float, float] | None = None,
) -> duckdb.DuckDBPyRelation:
    """Return rows whose scores that are percent are divided by 100, without scores of -1 that mark a failed judge.

    Benchmarks whose scores are all from 0 to 1 stay as they are, whatever those of the other benchmarks are.

    Parameters
    ----------
    table
        Rows with our columns model and score, and perhaps benchmark.
    where
        Name of the table, for messages.
    scale
        What scores are divided by; None divides scores from 0 to more than `MIN_PERCENT` and at most 100 by 100.
    flag
        Name of the column of the scores where it is one such as `correct`, of 0 and 1; larger whole numbers in it are
        refused if `scale` is None, because they count right answers, and no column says of how many.
    extremes
        The lowest and the highest score, where they are known.

    Warns
    -----
    HowsureWarning
        With the range of scores that are not from 0 to 1, and what was done with them.
    """
    if scale is not None and not (isfinite(scale) and scale > 0):
        raise InputError(f"--scale {scale:g}", where=where, remedy="give a number above 0, such as 100 for percent")
    lowest, highest = extremes or table.aggregate("min(score), max(score)").fetchall()[0]
    if lowest is None or not (isfinite(lowest) and isfinite(highest)):
        return table
    if scale is not None and scale != 1:
        return _divide(table, scale)
    if lowest >= 0 and highest <= 1:
        return table
    # Scores of -1 are judged beside all others.
    named, others, is_other = _find_other_benchmarks(table) if lowest != -1 else ("", [], "")
    rows = table.filter(is_other) if is_other else table
    singles = _drop_summary_rows(rows)
    range_of_singles = singles.aggregate("min(score), max(score)").fetchall()[0]
    if None in range_of_singles:
        singles = rows
    else:
        lowest, highest = range_of_singles
    if lowest >= 0 and highest <= 1:
        return table
    n_fractions = singles.aggregate("count(*) FILTER (score < 0 OR score <> floor(score))").fetchall()[0][0]
    refuse_lone_counts(flag if scale is None else None, highest, n_fractions, where)
    line, change = _choose_scale(singles, lowest, highest, takes_percent=scale is None)
    warnings.warn(HowsureWarning(f"{where}: {named}{line}", benchmarks=others), stacklevel=2)
    return _replace_score(table, f"CASE WHEN {is_other} THEN {change} ELSE score END" if is_other else change)


def _choose_scale(
    rows: duckdb.DuckDBPyRelation, lowest: float, highest: float, *, takes_percent: bool
) -> tuple[str, str]:
    """Return what is said of scores that are not all from 0 to 1, and the SQL of the scores that they are read as."""
    line, change = "", "score"
    if lowest == -1 and highest > 1 and takes_percent:
        others, n_failed = rows.aggregate("min(score) FILTER (score <> -1), count(*) FILTER (score = -1)").fetchall()[0]
        if others > 0:  # ratings from 1
            change = "nullif(score, -1)"
            what = inflect_text("[score of -1 is|scores of -1 are] missing", n_failed)
            line += f"{n_failed} {what}, because -1 marks a judge that failed; "
            lowest = others
    model, score = rows.filter("score < 0 OR score > 1").project("model, score").limit(1).fetchall()[0]
    line += f"scores are from {lowest:g} to {highest:g}, such as {score:g} of {str(model)!r}"
    if takes_percent and lowest >= 0 and MIN_PERCENT < highest <= 100:
        line += ", and are read as percent: divided by 100 (--scale 1 takes them as they are)"
        change = f"{change} / 100.0"
    else:
        line += ", not from 0 to 1; they are taken as they are, and differences and n* have their unit"
        line += "; if -1 marks a judge that failed, leave it empty" if lowest == -1 else ""
    return line, change


def _find_other_benchmarks(table: duckdb.DuckDBPyRelation) -> tuple[str, list[str], str]:
    """Return what `name_other_benchmarks` says of them, and the SQL of the rows of benchmarks with other scores."""
    if "benchmark" not in table.columns:
        return "", [], ""
    named, others, unit = name_other_benchmarks(table.aggregate("benchmark, min(score), max(score)").fetchall())
    return named, others, f"(benchmark IN ({', '.join(map(quote_text, unit))})) IS NOT TRUE" if unit else ""


def name_other_benchmarks(
    ranges: Iterable[tuple[str | None, float | None, float | None]],
) -> tuple[str, list[str], list[str]]:
    """Return how a message on benchmarks with other scores than 0 to 1 begins, their names, and those of all others.

    All are empty where all benchmarks are alike.

    Parameters
    ----------
    ranges
        Name, lowest and highest score of each benchmark; None where it has no score.

    Examples
    --------
    >>> name_other_benchmarks([("x", 0, 1), ("y", 25, 75), ("z", None, None)])
    ('y: ', ['y'], ['x', 'z'])
    """
    of_unit = {str(name): low is None or high is None or (low >= 0 and high <= 1) for name, low, high in ranges}
    unit = sorted(name for name, is_unit in of_unit.items() if is_unit)
    others = sorted(of_unit.keys() - set(unit))
    if not unit or not others:
        return "", [], []
    named = f"{', '.join(others)}: " if len(others) <= _MOST_NAMED else f"{len(others)} benchmarks: "
    return named, others, unit


def refuse_lone_counts(flag: str | None, highest: float, n_fractions: int, where: str) -> None:
    """Raise InputError if a column such as `correct` has whole numbers above 1, which count answers of unknown number.

    Parameters
    ----------
    flag
        Name of the column; None for any other column.
    highest
        Its largest number.
    n_fractions
        Number of its numbers that are not whole, or below 0.
    where
        Name of the table, for messages.
    """
    if flag is not None and not n_fractions and highest > 1:
        what = f"column {flag!r} has whole numbers up to {highest:g}, such as counts, and no column says of how many"
        remedy = f"name it with --columns count=COLUMN; --columns score={flag} reads scores, and --scale divides them"
        raise InputError(what, where=where, remedy=remedy)


def _drop_summary_rows(table: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return the rows without those that by their names sum up others; the sum of all scores has another unit."""
    listed = ", ".join(quote_text(name) for name in sorted(SUMMARY_NAMES))
    names = [name for name in ("question", "model") if name in table.columns]
    is_summary = " OR ".join(f"lower(trim(CAST({name} AS VARCHAR))) IN ({listed})" for name in names)
    return table.filter(f"({is_summary}) IS NOT TRUE") if names else table


def _divide(table: duckdb.DuckDBPyRelation, scale: float) -> duckdb.DuckDBPyRelation:
    """Return the rows with scores divided by a number."""
    return _replace_score(table, f"score / {scale!r}")


def _replace_score(table: duckdb.DuckDBPyRelation, score: str) -> duckdb.DuckDBPyRelation:
    """Return the rows with other scores."""
    names = ", ".join(f"{score} AS score" if name == "score" else quote_name(name) for name in table.columns)
    return table.project(names)
