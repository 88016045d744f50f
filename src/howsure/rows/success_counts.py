"""Read tables whose rows state how many answers were right, and of how many, such as `correct` and `total`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from howsure.errors import InputError
from howsure.rows.columns import TableOptions, match_aliases, match_columns, normalise_name
from howsure.rows.formats import name_row
from howsure.rows.sql import (
    RowCheck,
    parse_number_sql,
    quote_name,
    read_column_types,
    refuse_rows,
    write_text_sql,
)

if TYPE_CHECKING:
    import duckdb

__all__ = ["CountColumns", "find_count_columns", "may_count_right_answers", "read_success_counts"]

#: Names of the number of right answers that are no names of a score; `n_` also stands for `num_` and `number_of_`.
_RIGHT = (
    *("n_correct", "n_right", "n_pass", "n_passed", "n_passes", "n_success", "n_successes", "n_succeeded", "n_solved"),
    *("n_resolved", "n_hits", "passes", "successes", "hits", "correct_count", "pass_count", "success_count"),
    "total_correct",
)
#: Names of the number of right answers that are as often those of a score of 0 or 1.
_RIGHT_OR_SCORE = ("correct", "passed", "success", "succeeded", "solved", "resolved", "right")
#: Names of the number of all answers; `n_` also stands for `num_` and `number_of_`.
_ALL = (
    *("total", "attempts", "trials", "samples", "n_total", "n_attempts", "n_trials", "n_samples", "n_generations"),
    *("n_completions", "n_responses", "n_answers", "n_runs", "n_repeats", "total_count", "sample_count"),
    *("attempt_count", "trial_count", "total_attempts", "total_samples", "total_trials", "out_of"),
)
#: Names of the number of all answers that are as often those of other numbers: tokens, raters, or the row.
_ALL_OR_OTHER = ("count", "n")


class CountColumns(NamedTuple):
    """The columns of right answers and of all answers.

    Attributes
    ----------
    right
        Column of the number of right answers.
    total
        Column of the number of all answers; None where there is none.
    is_right_certain
        Whether `right` is no name of a score.
    is_total_certain
        Whether `total` is no name of another number.

    Examples
    --------
    >>> find_count_columns(["model", "question", "passes", "attempts"], "rows.csv", TableOptions())
    CountColumns(right='passes', total='attempts', is_right_certain=True, is_total_certain=True)
    """

    right: str
    total: str | None
    is_right_certain: bool
    is_total_certain: bool

    @property
    def share(self) -> str:
        """Name of the column of the share of right answers, which is added."""
        return f"{self.right}/{self.total}"


def may_count_right_answers(column: str) -> bool:
    """Return whether a column is named like a score of 0 or 1 and like a number of right answers.

    >>> may_count_right_answers("Correct"), may_count_right_answers("score")
    (True, False)
    """
    return normalise_name(column) in {normalise_name(name) for name in _RIGHT_OR_SCORE}


def _extend(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, and those that begin with n_ also with the word that it stands for."""
    words = (f"{word}_{name[2:]}" for name in names if name.startswith("n_") for word in ("num", "number_of"))
    return (*names, *words)


def find_count_columns(names: Sequence[str], where: str, options: TableOptions) -> CountColumns | None:
    """Find the columns of right and of all answers by their names.

    Parameters
    ----------
    names
        Columns of the table.
    where
        Name of the table, for messages.
    options
        How it is read. Columns `correct` and `count` that the user named are certain.

    Returns
    -------
    CountColumns or None
        None where the user named a score, where a column holds the mean of the generations, and where no column is
        named like a number of right answers, or only one named like a score without a column of all answers beside it.
    """
    if "score" in options.columns or options.scorer is not None or "completion" in options.texts:
        return None
    matched = match_columns(names, where, options.columns, options.dimensions)
    if "mean" in matched:
        return None
    taken = {matched[name] for name in ("model", "question", "benchmark", "variant", "cluster") if name in matched}
    aliases = {"right": _extend(_RIGHT), "either": _RIGHT_OR_SCORE, "total": _extend(_ALL), "other": _ALL_OR_OTHER}
    by_name = match_aliases(names, aliases, taken=taken)
    is_named = {name: name in options.columns for name in ("correct", "count")}
    right = matched["correct"] if is_named["correct"] else by_name.get("right", by_name.get("either"))
    total = matched["count"] if is_named["count"] else by_name.get("total", by_name.get("other"))
    if right is None or right == total:
        return None
    is_right_certain = is_named["correct"] or "right" in by_name
    # A score under another name stands for itself; a share beside the counts says the same as they.
    score = normalise_name(matched.get("score", right))
    if score not in {normalise_name(right), "accuracy", "acc"} and not is_named["correct"]:
        return None
    if total is None and not (is_right_certain and "score" not in matched):
        return None
    return CountColumns(right, total, is_right_certain, is_named["count"] or "total" in by_name)


def read_success_counts(
    rows: duckdb.DuckDBPyRelation, where: str, options: TableOptions, notes: list[str]
) -> tuple[duckdb.DuckDBPyRelation, TableOptions]:
    """Return the rows with the share of right answers as a column, and options that name it, where rows are counts.

    They are counts where the names of two columns and their numbers say so: whole numbers, of which the right answers
    are 0 or more and nowhere more than all answers. A column such as `correct`, which may be a score of 0 or 1, has to
    be above 1 in a row. Where a column numbers the generations, or no column names the question, the share is the score
    of the row.

    Parameters
    ----------
    rows
        The table.
    where
        Its name, for messages.
    options
        How it is read.
    notes
        Is extended by a line on what was decided.

    Raises
    ------
    InputError
        Where only right answers are counted, and for a row with more right answers than answers.
    """
    counts = find_count_columns(rows.columns, where, options)
    if counts is None:
        return rows, options
    if counts.total is None:
        what = f"column {counts.right!r} counts right answers, and no column says of how many"
        remedy = f"name it with --columns count=COLUMN; --columns score={counts.right} reads it as a score"
        raise InputError(what, where=where, remedy=remedy)
    types = read_column_types(rows)
    texts = [write_text_sql(column, types) for column in (counts.right, counts.total)]
    (right_text, right), (total_text, total) = (parse_number_sql(text) for text in texts)
    n_right, n_total, n_wrong, most_right, n_more, fewest, most = rows.aggregate(
        f"count({right_text}), count({total_text}), "
        + " + ".join(
            f"count(*) FILTER ({text} IS NOT NULL AND coalesce({number} < 0 OR {number} <> floor({number}), true))"
            for text, number in ((right_text, right), (total_text, total))
        )
        + f", max({right}), count(*) FILTER ({right} > {total}), min({total}), max({total})"
    ).fetchall()[0]
    if not n_right or not n_total or n_wrong or (most_right <= 1 and not counts.is_right_certain):
        if n_right and n_total and not n_wrong and fewest > 1 and counts.is_total_certain:
            line = f"column {counts.right!r} is 0 or 1 everywhere and is read as the score of one answer"
            more = f"if it counts right answers of {counts.total!r}"
            notes.append(f"{line}; {more}, add --columns correct={counts.right},count={counts.total}")
        return rows, options
    if n_more:
        what = f"more right answers than {counts.total!r} says there are"
        remedy = f"fix the row, or add --columns score={counts.right} if it is a score"
        refuse_rows(
            rows, where, [RowCheck(f"coalesce({right} > {total}, false)", counts.right, what, remedy)], name_row
        )
    share = f"{right} / {total}"
    rows = rows.project(f"*, {share} AS {quote_name(counts.share)}")
    matched = match_columns(rows.columns, where, options.columns, options.dimensions)
    line = f"{counts.right!r} counts right answers among {counts.total!r} ({_describe_range(fewest, most)})"
    others = {name: column for name, column in options.columns.items() if name not in {"correct", "count"}}
    if "generation" in matched or "question" not in matched:
        notes.append(f"{line}: the score of a row is its share of right answers")
        return rows, options._replace(columns={**others, "score": counts.share})
    notes.append(f"{line}: each row is read as so many generations of its question")
    columns = {**others, "mean": counts.share, "count": counts.total, "correct": counts.right}
    return rows, options._replace(columns=columns)


def _describe_range(low: float, high: float) -> str:
    """Return the range of a number of answers.

    >>> _describe_range(3, 3), _describe_range(1, 9)
    ('3', '1 to 9')
    """
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
