"""A key occurs once: where it repeats, say which columns tell its rows apart, and the option for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from howsure.errors import InputError
from howsure.rows.columns import MatchedColumns, describe_columns
from howsure.rows.mapping import write_map
from howsure.rows.sql import ROW, quote_name, quote_text, read_column_types, write_text_sql
from howsure.rows.words import (
    ALIASES,
    FAILURE_COLUMNS,
    JUDGE_WORDS,
    MEASURE_WORDS,
    METRIC_NAMES,
    RUN_WORDS,
    STEP_NAMES,
    TASK_NAMES,
    TEXTS,
    TURN_NAMES,
    normalise_name,
    split_words,
)
from howsure.safe_text import inflect_text

if TYPE_CHECKING:
    import duckdb

#: Number of repeated keys whose rows are compared.
_MOST_KEYS = 5000
#: Share of keys whose rows a column must tell apart.
_CROSSES = 0.9
#: Largest number of values that a message names.
_N_NAMED = 4
#: Columns of texts, which tell no rows apart, and those of scorers.
_QUESTION_TEXTS = {normalise_name(name) for name in TEXTS["text"]} - {"text"}
_TEXTS = {normalise_name(name) for names in TEXTS.values() for name in names} - _QUESTION_TEXTS
_TEXTS |= {"reason", "explanation", "finishreason", "stopreason"}
_SCORERS = {normalise_name(name) for name in ALIASES["scorer"]}
_TEXTS |= {normalise_name(name) for name in ALIASES["score"]} - _SCORERS  # other scores of the same generation


class _Label(NamedTuple):
    """A column that tells rows of one key apart."""

    name: str
    values: tuple[str, ...]
    crosses: bool
    is_words: bool
    counts: bool
    """Whether its values are whole numbers one after the other, from 0 or 1."""
    is_sure: bool
    """Whether it tells all rows of nearly every key apart, or each of its values has nearly every key."""


def refuse_repeats(
    rows: duckdb.DuckDBPyRelation, key: Mapping[str, str], matched: MatchedColumns, where: str, *, has_generation: bool
) -> None:
    """Raise InputError where rows of one key differ in a column that may be a name; return where none does.

    Parameters
    ----------
    rows
        The rows with the columns of the table.
    key
        SQL of our names in the key.
    matched
        The columns that have one of our names.
    where
        Name of the table.
    has_generation
        Whether the key has a generation, so that it may never repeat.

    Raises
    ------
    InputError
        With the code "repeated-key", and the options that read the table.
    """
    names = [quote_name(f"key {i}") for i in range(len(key))]
    keyed = rows.project(", ".join(["*", *(f"{sql} AS {name}" for sql, name in zip(key.values(), names, strict=True))]))
    listed = ", ".join(names)
    same = " AND ".join(f"t.{name} IS NOT DISTINCT FROM k.{name}" for name in names)
    times = keyed.aggregate(f"{listed}, count(*) AS times", listed).filter("times > 1").limit(_MOST_KEYS)
    repeated = keyed.set_alias("t").join(times.set_alias("k"), same).project("t.*")
    if not repeated.limit(1).fetchall():
        return
    columns = [name for name in rows.columns if name not in matched.taken and not _is_beside(name)]
    labels = _find_labels(repeated, columns, listed)
    chosen = _choose(repeated, labels, listed)
    if chosen:
        has_steps = any(normalise_name(name) in STEP_NAMES for name in columns)
        raise _build_error(chosen, matched, where, has_steps=has_steps)
    if has_generation:
        column = matched.columns["generation"][0]
        what = f"rows have the same {', '.join(key)}, and no column tells them apart"
        remedy = f"drop the repeats; or leave column {column!r} out, so that rows are generations in their order"
        raise InputError(what, where=where, remedy=remedy, code="repeated-key", options=write_map(drop=[column]))


def _is_beside(name: str) -> bool:
    """Return whether a column is a text, a failure or the number of a row, which tell no rows apart."""
    return name == ROW or normalise_name(name) in _TEXTS | FAILURE_COLUMNS


def _find_labels(rows: duckdb.DuckDBPyRelation, names: Sequence[str], key: str) -> list[_Label]:
    """Return the columns that tell rows of one key apart and cross the questions, as systems or runs do."""
    values = describe_columns(rows, names)
    n_rows = int(rows.aggregate("count(*)").fetchall()[0][0])
    n_values = {name: values[name].n_distinct + (values[name].n < n_rows) for name in names}  # a blank is a value
    names = [
        name for name in names if 2 <= n_values[name] <= (max(2, n_rows // 2) if values[name].is_score else n_rows)
    ]
    if not names:
        return []
    types = read_column_types(rows)
    texts = [f"coalesce(trim({write_text_sql(name, types)}), '')" for name in names]
    counts = ", ".join(f"count(DISTINCT {text}) AS d{i}" for i, text in enumerate(texts))
    inner = rows.aggregate(f"count(*) AS n, {counts}", key)
    parts = [f"avg((d{i} > 1)::INT), avg((d{i} = n)::INT), sum(d{i})" for i in range(len(names))]
    n_keys, most, *flat = inner.aggregate(f"count(*), max(n), {', '.join(parts)}").fetchall()[0]
    result = []
    for i, name in enumerate(names):
        differs, distinguishes, n_pairs = flat[3 * i : 3 * i + 3]
        one = values[name]
        is_measure = not MEASURE_WORDS.isdisjoint(split_words(name)) and normalise_name(name) not in _QUESTION_TEXTS
        crosses = n_pairs >= (1 if is_measure else _CROSSES) * n_keys * n_values[name]
        is_words = not one.is_score and not is_measure and (one.n_distinct < max(3, n_rows) or n_keys == 1)  # no ids
        few = n_values[name] <= 1.5 * most and not is_measure
        if crosses or (is_words and differs > 0) or (distinguishes >= _CROSSES and few):
            matched = (
                rows.aggregate(f"{texts[i]} AS value, count(*) AS n", "1").order("n DESC, value").limit(_N_NAMED + 1)
            )
            listed = tuple(str(value) or "(blank)" for value, _ in matched.fetchall())
            are_counted = one.counts and (distinguishes >= _CROSSES or normalise_name(name) in RUN_WORDS)
            is_sure = crosses or distinguishes >= _CROSSES
            result.append(_Label(name, listed, crosses, is_words, are_counted, is_sure))
    return sorted(result, key=lambda one: (not one.crosses, not one.is_words, values[one.name].n_distinct))


def _choose(rows: duckdb.DuckDBPyRelation, labels: Sequence[_Label], key: str) -> list[_Label]:
    """Return the fewest columns, in their order, with each of which fewer rows have the same names."""
    types = read_column_types(rows)
    chosen: list[_Label] = []
    before = _count_distinct(rows, [key])
    n_rows = int(rows.aggregate("count(*)").fetchall()[0][0])
    for one in labels:
        if before == n_rows:
            break
        parts = [key, *(write_text_sql(each.name, types) for each in (*chosen, one))]
        if (now := _count_distinct(rows, parts)) > before:
            chosen.append(one)
            before = now
    return chosen


def _count_distinct(rows: duckdb.DuckDBPyRelation, parts: Sequence[str]) -> int:
    """Return the number of different values of several expressions together."""
    return int(rows.project(", ".join(parts)).distinct().aggregate("count(*)").fetchall()[0][0])


def _build_error(chosen: Sequence[_Label], matched: MatchedColumns, where: str, *, has_steps: bool) -> InputError:
    """Return the refusal with the option for each column."""
    joined: dict[str, list[str]] = {}
    options: list[str] = []
    for one in chosen:
        key = normalise_name(one.name)
        is_judge = key in _SCORERS or not JUDGE_WORDS.isdisjoint(split_words(one.name))
        is_judge |= all(not METRIC_NAMES.isdisjoint(split_words(value)) for value in one.values)
        if is_judge and one.crosses and not one.counts:
            options += ["--scorer", _prefer_scorer(one.values)]
            if key not in _SCORERS:
                options += ["--columns", f"scorer={one.name}"]
        elif key in TASK_NAMES or key in TURN_NAMES or key in _QUESTION_TEXTS:
            joined.setdefault("question", []).append(one.name)
        elif one.counts:
            is_run = "generation" not in matched.columns and not joined.get("generation")
            joined.setdefault("generation" if is_run else "question", []).append(one.name)
        else:
            joined.setdefault("model", []).append(one.name)
    for name, columns in joined.items():
        # A turn or a task of its own is part of the name of its question.
        own = [] if name == "generation" else [one for one in matched.columns.get(name, ()) if one not in columns]
        options += ["--columns", f"{name}={','.join([*own, *columns])}"]
    if has_steps or not all(one.is_sure for one in chosen):
        options = []  # a column such as the action of an agent's step: nobody can say what it is but the user
    values = "; ".join(
        f"{one.name!r} ({', '.join(one.values[:_N_NAMED])}{', ...' if len(one.values) > _N_NAMED else ''})"
        for one in chosen
    )
    what = f"several rows have the same benchmark, model and question, and differ in {values}"
    name = chosen[0].name
    remedy = (
        f"say what {name!r} is with --columns: model={name} for systems, variant={name} for prompts, "
        f"generation={name} for repeats, question=ID,{name} for questions, or --scorer for one of several scores"
    )
    return InputError(what, where=where, remedy=remedy, code="repeated-key", options=options)


def _prefer_scorer(values: Sequence[str]) -> str:
    """Return the scorer that a command names: one that is called like a score, else the first."""
    preferred = ("accuracy", "acc", "correct", "correctness", "exactmatch", "em", "score", "pass")
    by_key = {normalise_name(value): value for value in reversed(values)}
    return next((by_key[key] for key in preferred if key in by_key), values[0])


def refuse_two_targets(
    rows: duckdb.DuckDBPyRelation, question: Mapping[str, str], target: str, matched: MatchedColumns, where: str
) -> None:
    """Raise InputError where one question has several targets, or texts.

    Parameters
    ----------
    rows
        The rows with the columns of the table.
    question
        SQL of the names of a question: of its benchmark, and its own.
    target
        Column of the targets or texts.
    matched
        The columns that have one of our names.
    where
        Name of the table.
    """
    text = f"nullif(trim({write_text_sql(target, read_column_types(rows))}), '')"
    keys = list(question.values())
    grouped = rows.aggregate(f"{', '.join(keys)}, min({text}) AS low, max({text}) AS high", ", ".join(keys)).filter(
        "low <> high"
    )
    first = grouped.limit(1).fetchall()
    if not first:
        return
    n = int(grouped.aggregate("count(*)").fetchall()[0][0])
    *_, name, low, high = first[0]
    own = matched.columns.get("question", ())
    letters = len(str(low)) == len(str(high)) == 1
    have = inflect_text("[question has|questions have]", n)
    what = f"{n} {have} several values in {target!r}: {name} has {str(low)[:40]!r} and {str(high)[:40]!r}"
    remedy = f"one id should be one question: read id and target as its name, or leave column {target!r} out"
    options = write_map(drop=[target]) if letters or not own else ("--columns", f"question={','.join([*own, target])}")
    raise InputError(what, where=where, remedy=remedy, code="two-targets", options=options)


def write_filter(column: str, rows: duckdb.DuckDBPyRelation, value: str) -> str:
    """Return SQL that is true of the rows in which a column has a value, whatever its case."""
    text = write_text_sql(column, read_column_types(rows))
    return f"lower(trim({text})) = {quote_text(value.strip().lower())}"
