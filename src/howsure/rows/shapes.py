"""The declared shapes of tables: which one a table has, and its rows as a row per score.

1. `generations`: a row per generation, with columns for question and score. 2. `cells`: a row per cell, with mean and
count or right and total. 3. `models`: a column per model. 4. `repeats`: a column per generation of one model.
5. `variants`: a row per prompt variant and a column per model. 6. nested records, whose fields have dots, and lists of
scores: they are read as one of the others. `questions`, a row per model and a column per question, is read only where
the user says so. Anything else is refused with the option that reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from howsure.errors import InputError
from howsure.rows.columns import ColumnValues, FoundColumns, TableOptions, describe_columns
from howsure.rows.mapping import Shape, write_map
from howsure.rows.sql import parse_number_sql, quote_name, quote_text, read_column_types, write_text_sql
from howsure.rows.words import (
    ALIASES,
    FAILURE_COLUMNS,
    MEASURE_WORDS,
    METRIC_NAMES,
    TASK_NAMES,
    TEXTS,
    are_repeat_names,
    find_alias,
    normalise_name,
    split_repeat,
    split_words,
)

if TYPE_CHECKING:
    import duckdb

__all__ = ["LongRows", "find_shape", "melt", "refuse_no_score"]

#: The name that the rows of a melted table give the column of the name, and of the score.
NAME, SCORE, RUN = "name of the column", "score in the column", "run in the name of the column"
#: What the columns of a shape are, and what its rows are.
_ROLES: Mapping[Shape, tuple[str, str]] = {
    "models": ("model", "question"),
    "repeats": ("generation", "question"),
    "variants": ("model", "variant"),
    "questions": ("question", "model"),
}
#: Words behind names of metrics as often as behind names of models.
_OF_METRICS = frozenset({"score", "scores", "rating", "grade", "quality", "rate"})
#: The names that are kept of those for numbers, by what a row states.
_KEPT = {"score": ("score",), "mean": ("mean", "count", "right"), "right": ("right", "total"), "": ()}
#: Normalised names of texts, which are never scores of a model.
_TEXTS = {normalise_name(name) for names in TEXTS.values() for name in names}
#: Whole names of numbers beside scores; as words they also occur in names of models.
_MEASURES = frozenset(
    {"n", "count", "min", "max", "low", "high", "lower", "upper", "mean", "average", "avg", "total", "sum", "overall"}
)
_MOST_LISTED = 300


class LongRows(NamedTuple):
    """A table as a row per score."""

    rows: duckdb.DuckDBPyRelation
    found: FoundColumns
    percent: tuple[str, ...] = ()
    """Names of the melted columns whose scores are percent."""


def find_shape(
    rows: duckdb.DuckDBPyRelation, found: FoundColumns, where: str, options: TableOptions
) -> tuple[Shape, Sequence[str]]:
    """Return the shape of a table, and the columns that are melted.

    Raises
    ------
    InputError
        When the table has none of the shapes; with the options that read it, where there are any.
    """
    names = list(rows.columns)
    columns = found.columns
    if options.map.shape is not None and options.map.shape in _ROLES:
        return options.map.shape, _list_melted(rows, found, options.map.shape, where)
    numbers = _choose_numbers(rows, found, where)
    repeats = _find_repeats(rows, found)
    if "question" in columns and repeats and "generation" not in columns:
        score = found.first("score") if found.reasons.get("score") != "you named it" else None
        if score is None and numbers != "score":
            return "repeats", repeats
        if score is not None and _is_mean_of(rows, score, repeats):
            del columns["score"]
            return "repeats", repeats
    if "question" in columns and numbers:
        return ("generations" if numbers == "score" else "cells"), ()
    if numbers == "score" and options.by_variant:
        return "generations", ()
    if options.texts and ("completion" in columns or find_alias("completion", names)):
        if "question" in columns:
            return "generations", ()
        raise _refuse_no_question(rows, found, where)
    if not numbers:
        return "models", _find_models(rows, found, where, options)
    raise _refuse_no_question(rows, found, where)


def _choose_numbers(rows: duckdb.DuckDBPyRelation, found: FoundColumns, where: str) -> str:
    """Return which numbers a row states: "score", "mean" of a cell with its count, "right" of total, or "" for none.

    The names of the others are removed from `found`.

    Raises
    ------
    InputError
        When right answers are counted and nothing says of how many, or when both readings are possible.
    """
    columns = found.columns
    named = {name for name in columns if found.reasons[name] == "you named it"}
    kept = _decide_numbers(rows, found, where, named)
    for name in {"score", "mean", "count", "right", "total"} - set(_KEPT[kept]):
        columns.pop(name, None)
    if kept == "mean" and "count" not in columns:  # the mean of one score is that score
        columns["score"], found.reasons["score"] = columns.pop("mean"), found.reasons["mean"]
        return "score"
    return kept


def _decide_numbers(rows: duckdb.DuckDBPyRelation, found: FoundColumns, where: str, named: set[str]) -> str:
    """Return which of the numbers of a row are read; see `_choose_numbers`."""
    columns, score, right, total = found.columns, found.first("score"), found.first("right"), found.first("total")
    if "score" in named:
        return "score"
    if "mean" in named or ("mean" in columns and "count" in columns and "right" not in named):
        return "mean"
    if right is None or (score not in {None, right} and "right" not in named):
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


def _find_repeats(rows: duckdb.DuckDBPyRelation, found: FoundColumns, *, numbers: bool = False) -> list[str]:
    """Return columns that are numbered runs of one model, such as run1 and run2; with `numbers` also 1 and 2."""
    if numbers and (bare := [name for name in rows.columns if name.strip().isdecimal()]):
        return sorted(bare, key=int)
    stems: dict[str, list[str]] = {}
    for name in rows.columns:
        if name not in found.taken and name[-1:].isdecimal():
            stems.setdefault(name.rstrip("0123456789"), []).append(name)
    repeats = [names for names in stems.values() if are_repeat_names(names)]
    if len(repeats) != 1 or not all(one.is_score for one in describe_columns(rows, repeats[0]).values()):
        return []
    return sorted(repeats[0], key=lambda name: int(name[len(name.rstrip("0123456789")) :]))


def _is_mean_of(rows: duckdb.DuckDBPyRelation, column: str, others: Sequence[str]) -> bool:
    """Return whether a column is the mean of others in nearly all rows."""
    types = read_column_types(rows)
    numbers = [parse_number_sql(write_text_sql(name, types))[1] for name in (column, *others)]
    mean = f"({' + '.join(numbers[1:])}) / {len(others)}.0"
    [[share]] = rows.aggregate(f"avg((abs({numbers[0]} - {mean}) <= 0.006)::INT)").fetchall()
    return share is not None and share >= 0.95


def _find_models(  # noqa: C901  # one check after the other
    rows: duckdb.DuckDBPyRelation, found: FoundColumns, where: str, options: TableOptions
) -> Sequence[str]:
    """Return the columns of a table with a column per model, and name its question in `found`.

    Raises
    ------
    InputError
        When the ids repeat, when a column is called like an answer, a measure or a metric, or when scales differ.
    """
    beside = {*found.taken, *options.dimensions}
    names = [name for name in rows.columns if name not in beside]
    values = describe_columns(rows, names)
    fractions = [name for name in names if values[name].n_fractions == values[name].n > 0]
    if fractions:
        options_ = write_map(fraction=fractions)
        what = f"column {fractions[0]!r} has cells such as 8/10"
        remedy = "read them as shares with the mapping key fraction"
        raise InputError(what, where=where, remedy=remedy, code="fraction", options=options_)
    scores = [name for name in names if values[name].is_score]
    ignored = [
        name
        for name in names
        if normalise_name(name) in _TEXTS | TASK_NAMES | FAILURE_COLUMNS and not values[name].is_score
    ]
    others = [name for name in names if name not in scores and name not in ignored and values[name].n]
    n_rows = int(rows.aggregate("count(*)").fetchall()[0][0])
    if "question" not in found.columns:
        unique = [name for name in others if values[name].n_distinct == values[name].n == n_rows]
        if len(unique) == 1 and len(scores) > 1:
            found.columns["question"] = (unique[0],)
            found.reasons["question"] = "the only column of texts, and each is another"
            others.remove(unique[0])
    numbered = [name for name in scores if name.strip().isdecimal()]
    if len(numbered) > 1 and sorted(map(int, numbered)) in (
        list(range(len(numbered))),
        list(range(1, len(numbered) + 1)),
    ):
        if numbered == scores:
            what = f"columns {_list(numbered)} are numbers"
            remedy = "if each is a generation of one model, add --shape repeats"
            raise InputError(what, where=where, remedy=remedy, code="repeats", options=("--shape", "repeats"))
    if "model" in found.columns or len(scores) < 2:
        raise refuse_no_score(rows, found, values, where, options)
    answers = [name for name in scores if _is_answer(name)]
    kept, dropped = _split_grid([name for name in names if name not in answers and name not in ignored])
    if kept and dropped:
        what = f"several columns of each model: {_list(kept)} and {_list(dropped)}"
        remedy = "leave out what is no score with the mapping key drop"
        raise InputError(what, where=where, remedy=remedy, code="no-models", options=write_map(drop=dropped))
    suffix = _find_suffix([name for name in scores if name not in answers])
    parent = _find_parent([name for name in scores if name not in answers])
    bare = {name: name.removeprefix(parent).removesuffix(suffix) for name in scores}
    measures = [name for name in scores if name in answers or _is_measure(bare[name])]
    metrics = [name for name in scores if name not in measures and not METRIC_NAMES.isdisjoint(split_words(bare[name]))]
    models = [name for name in scores if name not in measures and name not in metrics and _has_letters(name)]
    models = [name for name in models if name.endswith(suffix)]
    metrics = [name for name in scores if name not in measures and name not in models]
    if len(models) < 2:
        raise refuse_no_score(rows, found, values, where, options)
    if suffix.lstrip("_-. ").lower() in _OF_METRICS and not any(
        c.isdigit() or c == "-" for name in models for c in bare[name]
    ):
        raise refuse_no_score(rows, found, values, where, options)  # quality_score may be a model or a metric
    if "benchmark" in found.columns and "question" not in found.columns:
        what = "each row is a benchmark with a mean of each model, and error bars need the score of each question"
        raise InputError(what, where=where, remedy="give a row per question", code="totals")
    stems = [name.rstrip("0123456789") for name in models if split_repeat(name) is None]
    if len(set(stems)) > 1 and all(stems.count(one) > 1 and one[-1:] in "_-. " for one in stems):
        what = f"columns {_list(models)} may be runs of {len(set(stems))} models"
        remedy = "name runs with a word: MODEL_run1, MODEL_run2; or add --shape models if each is a model"
        raise InputError(what, where=where, remedy=remedy, code="repeats")
    scales = {values[name].scale for name in models}
    is_gold = any(values[name].scale == "unit" for name in scores if _is_gold(name))
    if is_gold or (answers and scales != {"unit"}):
        answers = answers or [name for name in scores if _is_gold(name)]
        what = f"column {answers[0]!r} is called like an answer, and the others are not scores from 0 to 1"
        remedy = "they may be answers of models: compare them with it first, and give a table of scores"
        raise InputError(what, where=where, remedy=remedy, code="answers")
    unread = [*measures, *metrics, *others]
    ids = [name for name in unread if values[name].n_distinct == values[name].n == n_rows and values[name].is_whole]
    if unread == ids == names[:1] and "question" not in found.columns:
        is_prompt = not {"prompt", "paraphrase", "template", "variant", "instruction"}.isdisjoint(split_words(ids[0]))
        option = ("--shape", "variants") if is_prompt else ("--columns", f"question={ids[0]}")
        what = f"{ids[0]!r} numbers the rows beside {len(models)} columns that may be models ({_list(models)})"
        remedy = "say whether a row is a question or a prompt variant"
        raise InputError(what, where=where, remedy=remedy, code="no-question", options=option)
    if unread:
        what = f"{_list(unread)} beside columns that may be models ({_list(models)})"
        remedy = "leave out what is no model with the mapping key drop"
        raise InputError(what, where=where, remedy=remedy, code="no-models", options=write_map(drop=unread))
    highs = [values[name].high or 0 for name in models]
    if scales == {"other"} and max(highs) > 2 * min(highs):
        what = f"columns of numbers have different scales: {_list(models)} go up to {min(highs):g} and {max(highs):g}"
        remedy = "a table with a column per model has scores on one scale: name the score with --columns score=COLUMN"
        raise InputError(what, where=where, remedy=remedy, code="scales")
    if len(scales) > 1:
        percent = [name for name in models if values[name].scale == "percent"]
        what = f"columns of scores have different scales: {_describe_scales(models, values)}"
        scaled: tuple[str, ...] = write_map(percent=percent) if percent and "other" not in scales else ()
        raise InputError(
            what, where=where, remedy="say which are percent, or drop what is no score", code="scales", options=scaled
        )
    if "question" not in found.columns:
        what = f"no column names the question beside {len(models)} columns of scores ({_list(models)})"
        remedy = "if each column is a model and each row a question, add --shape models"
        raise InputError(what, where=where, remedy=remedy, code="no-question", options=("--shape", "models"))
    question = found.columns["question"][0]
    [[n_values]] = rows.aggregate(f"count(DISTINCT {quote_name(question)})").fetchall()
    if n_values < n_rows and len(models) > 1 and not {"benchmark", "variant", "generation"} & found.columns.keys():
        tasks = [name for name in rows.columns if normalise_name(name) in TASK_NAMES and name not in found.taken]
        pairs = [f"{question},{name}" for name in tasks if _count_pairs(rows, question, name) == n_rows]
        option = ("--columns", f"question={pairs[0]}") if pairs else ("--shape", "models")
        what = f"the names in column {question!r} repeat ({n_values} in {n_rows} rows), beside {_list(models)}"
        remedy = (
            "a table with a column per model has a row per question; name what tells its rows apart, or say its shape"
        )
        raise InputError(what, where=where, remedy=remedy, code="repeated-key", options=option)
    return models


def _list_melted(rows: duckdb.DuckDBPyRelation, found: FoundColumns, shape: Shape, where: str) -> list[str]:
    """Return the columns of a shape that the user named: all scores that are no names."""
    if shape == "repeats" and (repeats := _find_repeats(rows, found, numbers=True)):
        return repeats
    row_name = _ROLES[shape][1]
    names = [name for name in rows.columns if name not in found.taken]
    for ours in ("score", "mean", "count", "right", "total"):  # a column called so is a model here
        names += [column for column in found.columns.pop(ours, ()) if column not in names]
    names = [name for name in rows.columns if name in names]
    values = describe_columns(rows, names)
    if row_name not in found.columns and row_name != "question":
        is_id = "question" in found.columns and found.reasons["question"] != "you named it"
        found.columns[row_name] = found.columns.pop("question") if is_id else (names.pop(0),)
        found.reasons[row_name] = f"the {'id' if is_id else 'first column'}, as each row is a {row_name}"
    melted = [name for name in names if values[name].is_score]
    if not melted:
        raise InputError("no column has scores", where=where, remedy=f"the columns are {_list(rows.columns)}")
    return melted


def melt(
    rows: duckdb.DuckDBPyRelation, shape: Shape, melted: Sequence[str], found: FoundColumns, options: TableOptions
) -> LongRows:
    """Return a row per score of a table with several scores in a row; other tables as they are."""
    if shape not in _ROLES:
        return _unnest_scores(LongRows(rows, found))
    column_name, row_name = _ROLES[shape]
    columns, reasons = dict(found.columns), dict(found.reasons)
    types = read_column_types(rows)
    values = describe_columns(rows, melted)
    percent = [name for name in melted if name in options.map.percent or values[name].scale == "percent"]
    suffix = "" if column_name == "generation" else _find_suffix(melted)
    parent = _find_parent(melted)
    names = [name.removeprefix(parent).removesuffix(suffix).strip() or name for name in melted]
    if column_name == "generation":
        names = [str(int(name[len(name.rstrip("0123456789")) :] or i)) for i, name in enumerate(melted, 1)]
    if row_name not in columns and row_name == "question":
        rows = rows.project('*, row_number() OVER () AS "row of the table"')
        columns["question"], reasons["question"] = ("row of the table",), "each row is a question"
    runs = [split_repeat(name) for name in names] if column_name == "model" and "generation" not in columns else []
    labels = dict(zip(melted, names, strict=True))
    run_sql = ""
    if runs and all(run is not None and run[0] for run in runs):
        names = [run[0] for run in runs if run is not None]
        run_sql = f", unnest([{', '.join(str(run[1]) for run in runs if run is not None)}]) AS {quote_name(RUN)}"
        columns["generation"], reasons["generation"] = (RUN,), "the run in the name of its column"
    others = ", ".join(quote_name(name) for name in rows.columns if name not in melted)
    texts = ", ".join(write_text_sql(name, types) for name in melted)
    listed = ", ".join(map(quote_text, names))
    unnested = f"unnest([{listed}]) AS {quote_name(NAME)}, unnest([{texts}]) AS {quote_name(SCORE)}{run_sql}"
    rows = rows.project(f"{others}, {unnested}" if others else unnested)
    columns |= {column_name: (NAME,), "score": (SCORE,)}
    reasons |= {column_name: f"shape {shape}: the name of its column", "score": f"shape {shape}: a cell"}
    return LongRows(rows, FoundColumns(columns, reasons), tuple(labels[name] for name in percent))


def _unnest_scores(long: LongRows) -> LongRows:
    """Return a row per score where a row has the list of the scores of its generations."""
    rows, found = long.rows, long.found
    score = found.first("score")
    kinds = dict(zip(rows.columns, rows.types, strict=True))
    if score is None or kinds[score].id != "list" or "generation" in found.columns:
        return long
    others = ", ".join(quote_name(column) for column in rows.columns if column != score)
    name, number = quote_name(score), "number in the list"
    rows = rows.project(f"{others}, unnest({name}) AS {name}, generate_subscripts({name}, 1) AS {quote_name(number)}")
    columns = {**found.columns, "generation": (number,)}
    reasons = {**found.reasons, "generation": "its place in the list of scores"}
    return LongRows(rows, FoundColumns(columns, reasons))


def refuse_no_score(
    rows: duckdb.DuckDBPyRelation,
    found: FoundColumns,
    values: Mapping[str, ColumnValues],
    where: str,
    options: TableOptions,
) -> InputError:
    """Return the refusal of a table without a column for the score, with the column that may be one."""
    names = list(rows.columns)
    named = options.map.columns
    pair = {name: named[name][0] if name in named else find_alias(name, names) for name in ("completion", "target")}
    answer = find_alias("answer", names)
    if {"model_a", "model_b"} <= {name.lower() for name in names}:
        what = "each row compares two models, and has no score of one"
        return InputError(what, where=where, remedy="pairwise verdicts are not read as scores", code="battles")
    if {"precision", "recall", "support"} <= {normalise_name(name) for name in names}:
        what = "a report of a classifier has a mean of each class, and error bars need the score of each question"
        return InputError(what, where=where, remedy="give a row per question", code="totals")
    candidates = [name for name in values if values[name].is_score and not _is_answer(name) and not _is_measure(name)]
    ids = {normalise_name(alias) for alias in ALIASES["question"]}
    candidates = [name for name in candidates if normalise_name(name) not in ids]
    candidates = [name for name in candidates if values[name].scale != "other"] or candidates
    completion = pair["completion"] or (answer if pair["target"] or "model" in found.columns else None)
    if completion is not None and not candidates:
        what = f"no column for the score; {completion!r} has answers"
        remedy = "howsure rescore scores them, and howsure preview names a scorer"
        return InputError(what, where=where, remedy=remedy, code="no-score", options=("preview", where))
    if not candidates and "question" in found.columns and (pair["target"] or answer) and not pair["completion"]:
        what = f"questions and answers ({pair['target'] or answer!r}), and no score"
        remedy = "these are questions to ask: howsure init writes the experiment"
        return InputError(what, where=where, remedy=remedy, code="no-score", options=("init", "--benchmark", where))
    right = {"correct", "accuracy", "acc", "exact", "em", "pass", "passed", "success"}
    preferred = [name for name in candidates if not right.isdisjoint(split_words(name))]
    preferred = preferred or [name for name in candidates if not METRIC_NAMES.isdisjoint(split_words(name))]
    what = f"no column for the score among {_list(names)}"
    if not candidates:
        remedy = "error bars need the score of each question: name it with --columns score=COLUMN"
        return InputError(what, where=where, remedy=remedy, code="no-score")
    ends = {normalise_name(alias) for alias in ALIASES["score"]}
    scored = [name for name in candidates if "_" in name and normalise_name(name.rpartition("_")[2]) in ends]
    best = candidates[0] if candidates[0] in preferred or not preferred else preferred[0]
    if scored and len({name.rpartition("_")[2] for name in scored}) == len(scored) == 1:
        best = f"*_{scored[0].rpartition('_')[2]}"
    remedy = f"it may be {_list(candidates)}: name it with --columns score=COLUMN"
    if "model" not in found.columns and len(candidates) > 1 and candidates != preferred:
        remedy += ", or add --shape models if each is a model"
    return InputError(what, where=where, remedy=remedy, code="no-score", options=("--columns", f"score={best}"))


def _refuse_no_question(rows: duckdb.DuckDBPyRelation, found: FoundColumns, where: str) -> InputError:
    """Return the refusal of a table with scores and without a column for the question."""
    names = [name for name in rows.columns if name not in found.taken]
    values = describe_columns(rows, names)
    n_rows = int(rows.aggregate("count(*)").fetchall()[0][0])
    models = [write for column in found.columns.get("model", ()) if (write := quote_name(column))]
    n_models = 1
    if models:
        [[n_models]] = rows.aggregate(f"count(DISTINCT ({', '.join(models)}))").fetchall()
    if n_models == n_rows and n_rows > 1:
        what = "each row is the mean of a model, and error bars need the score of each question"
        return InputError(
            what, where=where, remedy="give a row per model and question, or the logs of the evaluation", code="totals"
        )
    candidates = [
        name for name in names
        if values[name].n == n_rows and values[name].n_distinct * n_models >= n_rows and not _is_measure(name)
        and (not values[name].is_score or _counts(values[name])) and values[name].n_distinct > 2 and (n_models == 1 or values[name].n_distinct < n_rows)
        and normalise_name(name) not in TASK_NAMES | FAILURE_COLUMNS
    ]  # fmt: skip
    if not candidates:  # questions that several systems answered
        others = [
            name for name in names if not values[name].is_score and not _is_measure(name) and values[name].n == n_rows
        ]
        others = [
            name
            for name in others
            if normalise_name(name) not in TASK_NAMES | FAILURE_COLUMNS and 2 < values[name].n_distinct <= n_rows / 2
        ]
        candidates = sorted(others, key=lambda name: -values[name].n_distinct)[:1]
    what = f"no column for the question among {_list(rows.columns)}"
    remedy = "name it with --columns question=COLUMN"
    option = ("--columns", f"question={candidates[0]}") if candidates else ()
    return InputError(what, where=where, remedy=remedy, code="no-question", options=option)


def _count_pairs(rows: duckdb.DuckDBPyRelation, one: str, two: str) -> int:
    """Return the number of different pairs of values of two columns."""
    return int(rows.aggregate(f"count(DISTINCT ({quote_name(one)}, {quote_name(two)}))").fetchall()[0][0])


def _find_suffix(names: Sequence[str]) -> str:
    """Return the last word that names share, where it names a score, with its separator; else an empty text.

    >>> _find_suffix(["n", "gpt_acc", "llama_acc"]), _find_suffix(["gpt-4", "llama-4"])
    ('_acc', '')
    """
    counts: dict[str, int] = {}
    for name in names:
        word = name[len(name.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) :]
        before = name[: len(name) - len(word)]
        if word.lower() in METRIC_NAMES and before.strip("_-. ") and before[-1:] in "_-. ":
            counts[before[-1] + word] = counts.get(before[-1] + word, 0) + 1
    return next((suffix for suffix, n in counts.items() if n > 1 and n >= len(names) - 1), "")


def _find_parent(names: Sequence[str]) -> str:
    """Return the field of a nested record that all names are inside of, with its dot; else an empty text.

    >>> _find_parent(["scores.gpt-4o", "scores.llama"]), _find_parent(["gpt-4.5", "llama-3.1"])
    ('scores.', '')
    """
    parents = {name.partition(".")[0] for name in names if "." in name}
    is_one = len(parents) == 1 and len(names) > 1 and all("." in name for name in names)
    return f"{parents.pop()}." if is_one else ""


def _split_grid(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return columns with the score of each model, and those with other things of each, where names form a grid.

    >>> _split_grid(["a_score", "a_latency", "b_score", "b_latency"])
    (['a_score', 'b_score'], ['a_latency', 'b_latency'])
    """
    ends: dict[str, list[str]] = {}
    for name in names:
        for mark in ("_", " ", ".", "-", "/"):
            before, found, last = name.rpartition(mark)
            if found and before and last.isalpha():
                ends.setdefault(mark + last, []).append(before)
                break
    shared = {end: starts for end, starts in ends.items() if len(starts) > 1}
    metrics = [end for end in shared if end[1:].lower() in METRIC_NAMES]
    same = [end for end in shared if metrics and set(shared[end]) == set(shared[metrics[0]])]
    if len(same) < 2 or not metrics:
        return [], []
    kept = [name for name in names if name.endswith(metrics[0])]
    return kept, [name for name in names if any(name.endswith(end) for end in same) and name not in kept]


def _is_gold(name: str) -> bool:
    """Return whether a name is that of the right answer."""
    words = {"label", "gold", "target", "truth", "expected", "actual", "true", "reference"}
    return not words.isdisjoint(split_words(name)) or normalise_name(name) == "answer"


def _is_measure(name: str) -> bool:
    """Return whether a name is that of a cost, a time, a length, an error or a rater."""
    return normalise_name(name) in _MEASURES or not MEASURE_WORDS.isdisjoint(split_words(name))


def _counts(values: ColumnValues) -> bool:
    """Return whether values are whole numbers one after the other, from 0 or 1."""
    if values.words is not None or values.low is None or values.low not in {0, 1}:
        return False
    return values.is_whole and values.high == values.low + values.n_distinct - 1


def _has_letters(name: str) -> bool:
    """Return whether a name has a letter: a column that is called 3 is no model."""
    return any(character.isalpha() for character in name)


def _is_answer(name: str) -> bool:
    """Return whether a name is that of an answer or another text."""
    return normalise_name(name) in _TEXTS


def _describe_scales(names: Sequence[str], values: Mapping[str, ColumnValues]) -> str:
    """Return the range of the first column of each scale."""
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(values[name].scale, name)
    return ", ".join(
        f"{name!r} {values[name].low:g} to {values[name].high:g}"
        for name in first.values()
        if values[name].low is not None
    )


def _list(names: Iterable[str]) -> str:
    """Return names with commas, cut where they are many."""
    text = ", ".join(str(name).strip() or "(no name)" for name in names)
    return text if len(text) <= _MOST_LISTED else f"{text[:_MOST_LISTED]}, ..."
