"""Turn a table with a column for each model into one with a row for each score.

A row is a question, a prompt variant (`--wide`), or a model, whose columns are questions then. Of a table with a row
per model and question the columns are prompt variants, where these are studied. Columns such as run1 and run2 are
generations. The scores are moved in memory, as
text: a table with thousands of columns costs as much as a long one with as many scores.
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from howsure.errors import InputError, UnknownNameError
from howsure.rows.columns import TEXT_ALIASES, TableOptions, match_aliases, match_columns, normalise_name
from howsure.rows.formats import open_database
from howsure.rows.score_values import match_words
from howsure.rows.sql import (
    ROW,
    number_rows,
    parse_number_sql,
    quote_name,
    read_column_types,
    write_text_sql,
)

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = [
    "COLUMNS_BESIDE_SCORES",
    "METRICS",
    "LongTable",
    "find_repeats",
    "is_metric",
    "melt_models",
    "melt_questions",
    "melt_repeats",
]

#: Endings of a model's column that name what was measured.
METRICS = ("acc", "accuracy", "em", "exact_match", "f1", "mean", "pass1", "score", "correct", "is_correct", "passed")
#: A number from 0 to 1 with decimals, which is a score and no id.
_UNIT = re.compile(r"[01]?[.,]\d+|[01]")
#: Columns of nested tables, also where their fields are names such as "scores.gpt-4".
_NESTED = ("scores", "results", "models")
#: Largest number of names that a message lists.
_N_NAMED = 5
#: The sign of percent in the name of a column.
_PERCENT = re.compile(r"\s*[(\[]?\s*%\s*[)\]]?\s*$")
_ENDING = re.compile(rf"[ _./:-]({'|'.join(METRICS)})$", re.IGNORECASE)
_BEGINNING = re.compile(rf"^({'|'.join(METRICS)})[ _./:-]+(?=\D)", re.IGNORECASE)
#: Endings of columns that hold the error of a score, and no score.
_ERROR = re.compile(
    r"[ _./:-](std_?err|std_?error|stderr|std|sd|se|sem|ci|ci_?low|ci_?high|ci95|err|var|variance|n)$", re.IGNORECASE
)
#: Names of numbers that are no score of a model.
_OTHER_NUMBERS = re.compile(
    r"(?:^|[ _./:-])(?:count|difficulty|level|grade_level|year|length|len|tokens?|latency|duration|time|cost|price|"
    r"steps?|turns?|seed|weight|index|idx|id|row|number|no|size|timestamp|n|chars|words)$|^(?:prompt|completion|total)_tokens$|"
    r"^n_(?:wins|draws|losses|total|correct)(?:_base)?$|^standard_error$",
    re.IGNORECASE,
)
#: Names of metrics: several of them in a table without a model are scores of one model by several scorers.
_METRIC_NAMES = frozenset(
    {
        *("bleu", "rouge", "rouge1", "rouge2", "rougel", "rougelsum", "meteor", "bertscore", "f1", "f1score"),
        *("precision", "recall", "wer", "cer", "perplexity", "ppl", "loss", "accuracy", "acc", "em", "exactmatch"),
        *("score", "mean", "faithfulness", "relevance", "relevancy", "answerrelevancy", "contextprecision"),
        *("contextrecall", "helpfulness", "harmlessness", "correctness", "coherence", "fluency", "safety", "toxicity"),
        "similarity",
    }
)
#: Names of metrics where a number follows, as in recall@5.
_RANKED_METRICS = frozenset({"hit", "hits", "hitrate", "maj", "map", "mrr", "ndcg", "pass", "success", "top"})
_CUTOFF = re.compile(r"@\d+$")
#: Names of a first column, without digits, that may hold prompt variants rather than questions.
_VARIANTS = frozenset(
    {"prompt", "variant", "template", "wording", "phrasing", "instruction", "variation", "formulation", "paraphrase"}
    | {f"prompt{name}" for name in ("variant", "template", "wording", "name", "version", "style", "type", "format")}
)
#: Our columns that a table with a column for each score may have.
COLUMNS_BESIDE_SCORES = frozenset({"benchmark", "model", "question", "variant", "generation", "cluster"})
#: The end or the beginning of a column that numbers the generations of a model: run1, gpt-4_seed_42, trial-2.score.
_REPEAT = re.compile(
    r"^(?:(?P<before>.+?)[ _./:-]+)?"
    r"(?:run|seed|rep|repeat|repetition|replicate|trial|attempt|try|sample|gen|generation|completion|response|rollout)"
    r"[ _./:#-]*(?P<number>\d+)(?:[ _./:-]+(?P<after>.+))?$",
    re.IGNORECASE,
)
#: The same of prompt variants, also with a letter: prompt1, gpt-4_template_b.
_NUMBERED_VARIANT = re.compile(
    r"^(?:(?P<before>.+?)[ _./:-]+)?"
    r"(?P<variant>(?:prompt|variant|template|wording|phrasing|instruction|paraphrase)"
    r"(?:[ _./:#-]*\d+|[ _./:#-]+[a-z]))(?:[ _./:-]+(?P<after>.+))?$",
    re.IGNORECASE,
)
#: People or models that scored the same answers: rater1, annotator_b.
_RATER = re.compile(
    r"^(?:rater|annotator|judge|grader|coder|assessor|evaluator|labell?er|reviewer|human)"
    r"(?:[ _./:#-]*\d+|[ _./:#-]+[a-z])$",
    re.IGNORECASE,
)
#: A score with a number, and a number alone: generations where they count from 0 or 1.
_NUMBERED_SCORE = re.compile(rf"^(?:(?:{'|'.join(METRICS)}|result)[ _./:-]*)?(?P<number>\d+)$", re.IGNORECASE)
#: Names of rows that sum up the others.
_SUMMARIES = frozenset({"mean", "average", "avg", "total", "sum", "overall", "all", "median", "accuracy", "score"})
#: Names of rows beside these, which say how the others vary.
_SPREADS = frozenset(
    {
        "std",
        "stddev",
        "stdev",
        "sd",
        "se",
        "sem",
        "stderr",
        "stderror",
        "ci",
        "ci95",
        "var",
        "variance",
        "min",
        "max",
        "n",
    }
)


class LongTable(NamedTuple):
    """A table with a row per score, made from one with a column per model.

    Attributes
    ----------
    rows
        Columns `sql.ROW`, model, score and the others of `columns`, all of text.
    columns
        Our column names to its columns.
    note
        What was read, and what was left out, in one line.
    meanings
        What each column of the wide table that was read holds.
    """

    rows: duckdb.DuckDBPyRelation
    columns: dict[str, str]
    note: str | None
    meanings: dict[str, str]


class _Repeat(NamedTuple):
    """What a column of scores says: the model, empty where it names none, and the number of the generation."""

    model: str
    number: str

    @property
    def label(self) -> str:
        return f"{self.number} of {self.model}" if self.model else self.number


class _Values(NamedTuple):
    """Counts of the values of a column: all, numbers, numbers from 0 to 1, 0 or 1, and an example of another text."""

    n: int
    n_numbers: int
    n_units: int
    n_binary: int
    other: str | None

    @property
    def are_scores(self) -> bool:
        """Whether all values are numbers."""
        return 0 < self.n == self.n_numbers


def melt_models(
    rows: duckdb.DuckDBPyRelation, where: str, columns: Mapping[str, str], dimensions: Sequence[str]
) -> LongTable:
    """Turn a table with a row per prompt variant and a column per model into one with a row per score.

    Parameters
    ----------
    rows
        The table.
    where
        Its name, for messages.
    columns
        Our names to the table's: variant, where it is not the first column, and benchmark.
    dimensions
        Columns that are no models but values of the variants.

    Returns
    -------
    LongTable
        With columns variant, model, score and the others that were named.

    Raises
    ------
    InputError
        Where a row is not a variant, or no column holds scores.
    """
    by_lower_name = {column.strip().lower(): column for column in rows.columns}
    named = {"variant": next(iter(by_lower_name.values())), **columns}
    for name, column in named.items():
        if name not in {"variant", "benchmark"}:
            raise UnknownNameError("column", name, ("variant", "benchmark"), where="--columns with --wide")
        if column.strip().lower() not in by_lower_name:
            raise UnknownNameError("column", column, by_lower_name.values(), where=where)
    if "variant" not in columns:
        _refuse_other_rows(rows, where, named["variant"])
    fixed = {name: by_lower_name[column.strip().lower()] for name, column in named.items()}
    fixed |= {name: by_lower_name[name.lower()] for name in dimensions if name.lower() in by_lower_name}
    candidates = [column for column in rows.columns if column not in fixed.values()]
    table = _read_text(rows)
    models, left_out = _find_models(table, where, candidates)
    lines = [f"{', '.join(left_out)} left out: not numbers, so no model"] if left_out else []
    table, summaries = _drop_summaries(table, fixed["variant"], models)
    lines += summaries
    names = {name: name for name in (*named, "model", "score")}
    labels = _label_models(models, ())
    return LongTable(
        _melt(table, fixed, {"model": labels}), names, "; ".join(lines) or None, _list_meanings(fixed, labels)
    )


def _find_models(table: pa.Table, where: str, candidates: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the columns of numbers, and those left out; a column with numbers and other text is refused."""
    values = _count_values(table, candidates)
    models: list[str] = []
    left_out: list[str] = []
    for column in candidates:
        counts = values[column]
        if not column.strip():
            left_out.append("a column without a name")
        elif _ERROR.search(column) and counts.n_numbers:
            left_out.append(f"{column} (an error of a score)")
        elif 0 < counts.n_numbers < counts.n:
            remedy = f"fix it, or add --dimension {column!r} if it is not a model"
            raise InputError(f"{counts.other!r} is no score", where=f"{where}, column {column!r}", remedy=remedy)
        else:
            (models if counts.n_numbers else left_out).append(column)
    if not models and not table.num_rows:
        raise InputError("no rows below the header", where=where, remedy="give a row for each prompt variant")
    if not models:
        example = next((f": column {c!r} holds {values[c].other!r}" for c in candidates if values[c].other), "")
        remedy = "with --wide each model is a column of scores such as 0.57 or 57%"
        raise InputError(f"no column of numbers{example}", where=where, remedy=remedy)
    return models, left_out


def melt_questions(
    rows: duckdb.DuckDBPyRelation, where: str, options: TableOptions, nested: Collection[str] = ()
) -> LongTable | None:
    """Turn a table with a row per question and a column per model, or the reverse, into one with a row per score.

    Parameters
    ----------
    rows
        A table without a column for the score.
    where
        Its name, for messages.
    options
        How it is read; a column that the user named is no model.
    nested
        Columns whose fields are now columns such as scores.gpt-4.

    Returns
    -------
    LongTable or None
        None where the columns do not show that they are models or questions.

    Raises
    ------
    InputError
        Where the columns are scores of whole benchmarks.
    """
    if _is_row_per_variant(rows.columns, where, options):
        if not options.by_variant:
            what = f"column {options.columns['variant']!r} names prompt variants, and no column names the question"
            raise InputError(what, where=where, remedy="howsure variants --wide reads a row per variant")
        named = {name: column for name, column in options.columns.items() if name in {"variant", "benchmark"}}
        return melt_models(rows, where, named, options.dimensions)
    matched = match_columns(rows.columns, where, options.columns, options.dimensions)
    matched = {name: column for name, column in matched.items() if name in COLUMNS_BESIDE_SCORES}
    fixed = {name: column for name, column in matched.items() if name != "variant" or name in options.columns}
    is_long = {"model", "question"} <= fixed.keys() and (not options.by_variant or "variant" in fixed)
    if is_long or ("question" not in fixed and rows.columns[0] in find_repeats(rows.columns, nested)):
        return None  # the first column is a generation, and no column names the question
    if "model" not in fixed and "question" not in fixed:
        fixed = {"question": rows.columns[0], **{n: c for n, c in fixed.items() if c != rows.columns[0]}}
    fixed |= {name: name for name in options.dimensions}
    candidates = [column for column in rows.columns if column not in fixed.values() and column.strip()]
    table = _read_text(rows)
    values = _count_values(table, candidates)
    if "model" in fixed and "question" in fixed:
        return _melt_columns_of_variants(table, fixed, candidates, values)
    if "model" in fixed:
        return _melt_columns_of_questions(table, where, fixed, candidates, values, by_variant=options.by_variant)
    return _melt_columns_of_models(table, where, fixed, candidates, values, nested, options)


def _melt_columns_of_models(
    table: pa.Table,
    where: str,
    fixed: Mapping[str, str],
    candidates: Sequence[str],
    values: Mapping[str, _Values],
    nested: Collection[str],
    options: TableOptions,
) -> LongTable | None:
    """Return the rows of a table with a row per question, whose columns are models or prompt variants of models."""
    models, left_out = _choose_models(candidates, values, nested)
    if len(models) < 2 or not table.num_rows:
        return None
    _refuse_comparisons(where, candidates)
    _refuse_scores_of_completions(models, where, candidates)
    if others := _find_other_metrics(models, nested):
        models = [column for column in models if column not in others]
        left_out += others
    label = fixed["question"]
    if all(_RATER.match(column.strip().removeprefix(_find_parent(column, nested))) for column in models):
        what = f"the columns {_list_names(models)} are called as people or judges who score the same answers"
        remedy = f"--columns {shlex.quote(f'score={models[0]}')} reads one of them; columns of models have their names"
        raise InputError(what, where=where, remedy=remedy)
    table, summaries = _drop_summaries(table, label, models)
    if variants := _find_numbered_variants(models, nested):
        return _melt_numbered_variants(table, fixed, variants, left_out, summaries, options)
    name = repr(label) if label.strip() else "the first"
    labels = _label_models(models, nested)
    note = f"a column per model: the questions are in column {name}, the models are {_list_names(labels.values())}"
    lines = [note, *([f"left out: {_list_names(left_out)}"] if left_out else []), *summaries]
    if normalise_name(label) in _VARIANTS and any(values[column].n_binary < values[column].n for column in models):
        lines.append("if the rows are prompt variants with mean scores, and no questions: howsure variants --wide")
    names = {name: name for name in (*fixed, "model", "score") if name not in options.dimensions}
    return LongTable(_melt(table, fixed, {"model": labels}), names, "; ".join(lines), _list_meanings(fixed, labels))


def _refuse_comparisons(where: str, candidates: Sequence[str]) -> None:
    """Raise where a row compares two models, which columns name: its numbers are no scores of one model."""
    if {"modela", "modelb"} <= set(map(normalise_name, candidates)):
        what = "columns model_a and model_b: a row is a comparison of two models, and no score of one"
        remedy = "give a row for each model and question with a score, such as that of each of two answers"
        raise InputError(what, where=where, remedy=remedy)


def _refuse_scores_of_completions(models: Sequence[str], where: str, candidates: Sequence[str]) -> None:
    """Raise where columns of completions and targets say that the columns of scores are of one model."""
    matched = match_aliases(candidates, TEXT_ALIASES)
    scores = [column for column in models if column not in matched.values()]
    if {"completion", "target"} <= matched.keys() and scores:
        what = (
            f"the columns {_list_names(scores)} are scores of the completions in column {matched['completion']!r}, and "
            "none has the name of a score"
        )
        remedy = f"--columns {shlex.quote(f'score={scores[0]}')} reads one of them"
        raise InputError(what, where=where, remedy=remedy)


def _find_other_metrics(columns: Sequence[str], nested: Collection[str]) -> list[str]:
    """Return the columns of further metrics where each model has one for the same metrics: a_acc, b_acc, a_f1, b_f1."""
    models: dict[str, dict[str, str]] = {}
    for column in columns:
        name = column.removeprefix(_find_parent(column, nested)).strip()
        ending, beginning = _ENDING.search(name), _BEGINNING.match(name)
        match = ending or beginning
        if match is None:
            return []
        models.setdefault(match[1].lower(), {})[name[: match.start()] if ending else name[match.end() :]] = column
    first, *others = models.values()
    if not others or len(first) < 2 or any(each.keys() != first.keys() for each in others):
        return []
    return [column for each in others for column in each.values()]


def find_repeats(names: Sequence[str], nested: Collection[str] = (), *, has_numbers: bool = True) -> dict[str, _Repeat]:
    """Return the columns of scores that are named as generations of a model, in the order of the table.

    Parameters
    ----------
    names
        Columns of a table.
    nested
        Columns whose fields are now columns such as scores.run1.
    has_numbers
        Whether numbers alone, such as the columns 1 and 2, are generations too.

    Returns
    -------
    dict
        Empty where no model has two generations.

    Examples
    --------
    >>> {column: tuple(of) for column, of in find_repeats(["question", "gpt_run1", "gpt_run2"]).items()}
    {'gpt_run1': ('gpt', '1'), 'gpt_run2': ('gpt', '2')}
    >>> find_repeats(["question", "gpt4", "gpt5"])
    {}
    """
    repeats = {
        column: _Repeat(_name_model(match), str(int(match["number"])))
        for column in names
        if (match := _REPEAT.match(_remove_metric(column, nested)))
    }
    if not repeats and has_numbers:
        numbers = {
            column: int(match["number"])
            for column in names
            if (match := _NUMBERED_SCORE.match(column.strip().removeprefix(_find_parent(column, nested))))
        }
        ordered = sorted(numbers.values())
        if ordered in (list(range(len(ordered))), list(range(1, len(ordered) + 1))):
            repeats = {column: _Repeat("", str(number)) for column, number in numbers.items()}
    has_repeats = len({of.model for of in repeats.values()}) < len(repeats) == len(set(repeats.values()))
    return repeats if has_repeats else {}


def _remove_metric(column: str, nested: Collection[str]) -> str:
    """Return the name of a column without the nested column, the metric and the sign of percent."""
    return _PERCENT.sub("", _ENDING.sub("", column.strip().removeprefix(_find_parent(column, nested))))


def _name_model(match: re.Match[str]) -> str:
    """Return the model that the column of a generation or a prompt variant names; empty if it names none."""
    return " ".join(part for part in (match["before"], match["after"]) if part and part.lower() not in METRICS)


def _find_numbered_variants(columns: Sequence[str], nested: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the model, empty if none is named, and the variant of each column; empty unless all name variants."""
    matches = {column: _NUMBERED_VARIANT.match(_remove_metric(column, nested)) for column in columns}
    variants = {column: (_name_model(match), match["variant"]) for column, match in matches.items() if match}
    models = {model for model, _ in variants.values()}
    has_several = len(models) < len(variants) == len(set(variants.values())) and ("" not in models or len(models) == 1)
    return variants if has_several and len(variants) == len(columns) else {}


def _melt_numbered_variants(
    table: pa.Table,
    fixed: Mapping[str, str],
    variants: Mapping[str, tuple[str, str]],
    left_out: Sequence[str],
    summaries: Sequence[str],
    options: TableOptions,
) -> LongTable:
    """Return the rows of a table with a row per question whose columns are prompt variants, perhaps of several models.

    Parameters
    ----------
    table
        The table, of text.
    fixed
        Our names to the columns that each row keeps.
    variants
        The model and the variant of each column of scores.
    left_out
        Columns that are not read.
    summaries
        Lines on rows that were left out.
    options
        How the table is read.
    """
    models = list(dict.fromkeys(model for model, _ in variants.values() if model))
    lines = [f"a column per prompt variant{f' of {_list_names(models)}' if models else ''}: {_list_names(variants)}"]
    lines += [f"left out: {_list_names(left_out)}"] if left_out else []
    if not models:
        lines.append("if these are models, give the columns the names of the models")
    labels = {"variant": {column: variant for column, (_, variant) in variants.items()}}
    labels |= {"model": {column: model for column, (model, _) in variants.items()}} if models else {}
    names = {name: name for name in (*fixed, *labels, "score") if name not in options.dimensions}
    meanings = _list_meanings(fixed, {c: f"{v} of {m}" if m else v for c, (m, v) in variants.items()}, "variant")
    return LongTable(_melt(table, fixed, labels), names, "; ".join([*lines, *summaries]), meanings)


def melt_repeats(
    rows: duckdb.DuckDBPyRelation,
    matched: Mapping[str, str],
    options: TableOptions,
    nested: Collection[str] = (),
    *,
    has_score: bool = False,
) -> LongTable | None:
    """Turn a table whose columns are generations into one with a row per score; return None where they are not.

    Parameters
    ----------
    rows
        A table.
    matched
        Our column names to its columns.
    options
        How it is read.
    nested
        Columns whose fields are now columns such as scores.run1.
    has_score
        Whether another column has scores, perhaps the means of these: generations then have scores from 0 to 1.
    """
    first = rows.columns[0]
    fixed = {name: column for name, column in matched.items() if name != "variant" or column.lower() != "prompt"}
    if "question" not in fixed and "model" not in fixed:
        fixed = {"question": first, **{name: column for name, column in fixed.items() if column != first}}
    fixed |= {name: name for name in options.dimensions}
    candidates = [column for column in rows.columns if column not in fixed.values() and column.strip()]
    named = find_repeats(candidates, nested, has_numbers=not options.by_variant)
    if not named or "generation" in fixed or "question" not in fixed or first in find_repeats([first, *named], nested):
        return None
    table = _read_text(rows)
    values = _count_values(table, candidates)
    repeats = {column: of for column, of in named.items() if values[column].are_scores}
    models = list(dict.fromkeys(of.model for of in repeats.values() if of.model))
    if len(repeats) < 2 or not table.num_rows or ("model" in fixed and models):
        return None
    if has_score and any(values[column].n_units < values[column].n for column in repeats):
        return None
    left_out = [column for column in candidates if column not in repeats]
    table, summaries = _drop_summaries(table, fixed["question"], list(repeats))
    lines = [f"a column per generation{f' of {_list_names(models)}' if models else ''}: {_list_names(repeats)}"]
    lines += [f"left out: {_list_names(left_out)}"] if left_out else []
    if not models and "model" not in fixed:
        lines.append("if these are models, give the columns the names of the models")
    labels = {"generation": {column: of.number for column, of in repeats.items()}}
    labels |= {"model": {column: of.model for column, of in repeats.items()}} if models else {}
    names = {name: name for name in (*fixed, *labels, "score") if name not in options.dimensions}
    meanings = _list_meanings(fixed, {column: of.label for column, of in repeats.items()}, "generation")
    return LongTable(_melt(table, fixed, labels), names, "; ".join([*lines, *summaries]), meanings)


def _is_row_per_variant(names: Sequence[str], where: str, options: TableOptions) -> bool:
    """Return whether the user named the first column as that of the variants, and no column is a model or question."""
    if "variant" not in options.columns:
        return False
    matched = match_columns(names, where, options.columns, options.dimensions)
    return matched["variant"] == names[0] and matched.keys().isdisjoint({"model", "question"})


def _melt_columns_of_variants(
    table: pa.Table, fixed: Mapping[str, str], candidates: Sequence[str], values: Mapping[str, _Values]
) -> LongTable | None:
    """Return the rows of a table with a row per model and question, whose columns are prompt variants."""
    variants, left_out = _choose_models(candidates, values, ())
    if len(variants) < 2:
        return None
    note = (
        f"a row per model and question: the questions are in column {fixed['question']!r}, the prompt variants are the "
        f"columns {_list_names(variants)}"
    )
    if left_out:
        note += f"; left out: {_list_names(left_out)}"
    labels = {column: column.strip() for column in variants}
    names = {name: name for name in (*fixed, "variant", "score")}
    meanings = _list_meanings(fixed, labels, "variant")
    return LongTable(_melt(table, fixed, {"variant": labels}), names, note, meanings)


def _melt_columns_of_questions(
    table: pa.Table,
    where: str,
    fixed: Mapping[str, str],
    candidates: Sequence[str],
    values: Mapping[str, _Values],
    *,
    by_variant: bool,
) -> LongTable | None:
    """Return the rows of a table whose columns are questions; fractions are scores of variants or whole benchmarks."""
    questions = [column for column in candidates if values[column].are_scores and not _ERROR.search(column)]
    left_out = [column for column in candidates if column not in questions]
    if len(questions) < 2:
        return None
    label = _find_label(table, fixed["model"], candidates)
    if any(values[column].n_binary < values[column].n for column in questions):
        if label is not None and by_variant:
            others = [column for column in candidates if column != label]
            return _melt_columns_of_variants(table, {**fixed, "question": label}, others, values)
        what = f"a row per model with scores such as those in {_list_names(questions)}, and no column for the question"
        remedy = "error bars need the score of each question: give a row per model and question"
        if label is not None:
            scores = [column for column in questions if column != label]
            what = f"a row per model and {label!r} with scores in {_list_names(scores)}, and no column for the score"
            remedy = f"--columns question={shlex.quote(label)} --columns score=COLUMN reads one of them"
            remedy += "; howsure variants reads columns that are prompt variants"
            raise InputError(what, where=where, remedy=remedy)
        raise InputError(what, where=where, remedy=f"{remedy}, or the logs that the scores were computed from")
    note = f"a row per model: the questions are the columns {_list_names(questions)}"
    if left_out:
        note += f"; left out: {_list_names(left_out)}"
    if label is not None and label in left_out:
        name = shlex.quote(label)
        note += f"; if the columns are prompt variants: howsure variants --columns question={name}"
    labels = {column: column.strip() for column in questions}
    rows = _melt(table, fixed, {"question": labels})
    names = {name: name for name in (*fixed, "question", "score")}
    return LongTable(rows, names, note, _list_meanings(fixed, labels, "question"))


def _find_label(table: pa.Table, model: str, candidates: Sequence[str]) -> str | None:
    """Return the first column if it distinguishes the rows of each model, as the ids of questions do; else None."""
    label = candidates[0]
    models, names = table[model].to_pylist(), table[label].to_pylist()
    is_distinct = len(set(zip(models, names, strict=True))) == len(names) > len(set(models))
    return label if is_distinct and None not in names and not all(map(_UNIT.fullmatch, map(str.strip, names))) else None


def _list_meanings(fixed: Mapping[str, str], labels: Mapping[str, str], kind: str = "model") -> dict[str, str]:
    """Return what each column holds: a name, or the scores of a model or a question."""
    meanings = {column: name for name, column in fixed.items()}
    return meanings | {column: f"score of {kind} {label}" for column, label in labels.items()}


def is_metric(name: str) -> bool:
    """Return whether a column is called as a metric, perhaps with a number, and not as a model.

    >>> [is_metric(name) for name in ("F1 score", "acc@5", "ndcg@10", "gpt-4", "top")]
    [True, True, True, False, False]
    """
    key = normalise_name(name)
    metric = _CUTOFF.sub("", key)
    return metric in _METRIC_NAMES or (metric != key and metric in _RANKED_METRICS)


def _find_parent(column: str, nested: Collection[str]) -> str:
    """Return the nested column, with a dot, that a column is a field of; empty for any other column."""
    return next((f"{name}." for name in (*nested, *_NESTED) if column.startswith(f"{name}.")), "")


def _choose_models(
    candidates: Sequence[str], values: Mapping[str, _Values], nested: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return the columns that hold scores of models, and those that do not."""
    numbers = [column for column in candidates if values[column].are_scores]
    models = [
        column
        for column in numbers
        if not _ERROR.search(column)
        and not _OTHER_NUMBERS.search(column)
        and not is_metric(column.removeprefix(_find_parent(column, nested)))
    ]
    units = [column for column in models if values[column].n_units == values[column].n]
    models = units if len(units) * 2 > len(models) else models
    groups = [_find_parent(column, nested) for column in models]
    if groups and "" not in groups:
        first = max(dict.fromkeys(groups), key=groups.count)
        models = [column for column, group in zip(models, groups, strict=True) if group == first]
    return models, [column for column in candidates if column not in models]


def _refuse_other_rows(rows: duckdb.DuckDBPyRelation, where: str, column: str) -> None:
    """Raise if the first column does not name variants, but models, questions, or scores that are not whole."""
    key = normalise_name(column)
    if key in {"model", "models", "modelname"}:
        what = f"the first column, {column!r}, names models, and with --wide each model is a column"
        remedy = "transpose the table, or leave --wide out where a row is a question and each column a prompt variant"
        raise InputError(what, where=where, remedy=remedy)
    if key.startswith("question") or key in {"taskid", "exampleid", "docid", "problemid", "instanceid", "itemid"}:
        what = f"the first column, {column!r}, names questions, and with --wide a row is a prompt variant"
        remedy = f"leave --wide out, or name the variants with --columns variant={column}"
        raise InputError(what, where=where, remedy=remedy)
    text, number = parse_number_sql(write_text_sql(column, read_column_types(rows)))
    n_names, n_fractions, example = rows.aggregate(
        f"count({text}), count(*) FILTER ({number} <> floor({number}) AND {number} BETWEEN 0 AND 100), min({text})"
    ).fetchall()[0]
    if n_names and n_fractions == n_names:
        what = f"the first column, {column!r}, holds scores such as {example}, and not the names of variants"
        raise InputError(what, where=where, remedy="add a first column that names or numbers the prompt variants")


def _read_text(rows: duckdb.DuckDBPyRelation) -> pa.Table:
    """Return all columns as text; the number of the row first, where the rows do not have it."""
    types = read_column_types(rows)
    texts = [f"{write_text_sql(column, types)} AS {quote_name(column)}" for column in rows.columns]
    return number_rows(rows.project(", ".join(texts))).to_arrow_table()


def _count_values(table: pa.Table, columns: Sequence[str]) -> dict[str, _Values]:
    """Return the counts of the values of each column, in one pass over all of them."""
    if not columns or not table.num_rows:
        return dict.fromkeys(columns, _Values(0, 0, 0, 0, None))
    with open_database() as connection:
        long = connection.from_arrow(_stack(table, columns))
        words = _find_words(long)
        text, number = parse_number_sql("score", words)
        counts = long.project(f"place, {text} AS text, {number} AS number").aggregate(
            "place, count(text), count(number), count(*) FILTER (number BETWEEN 0 AND 1), "
            "count(*) FILTER (number IN (0, 1)), min(text) FILTER (number IS NULL)",
            "place",
        )
        return {columns[place]: _Values(*rest) for place, *rest in counts.fetchall()}


def _find_words(long: duckdb.DuckDBPyRelation) -> dict[str, float | None]:
    """Return the scores of the words that stand in columns of nothing else."""
    text, number = parse_number_sql("score")
    each = long.project(f"place, {text} AS text, {number} AS number").filter("text IS NOT NULL AND number IS NULL")
    words: dict[str, float | None] = {}
    few = each.aggregate("place, list(DISTINCT text) AS texts", "place").filter("len(texts) <= 8").project("texts")
    for (texts,) in few.fetchall():
        words |= match_words(texts) or {}
    return words


def _stack(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the values of all columns below each other, with the place of the column."""
    import pyarrow as pa

    scores = pa.chunked_array([chunk for column in columns for chunk in table[column].chunks], pa.string())
    return pa.table({"place": np.repeat(np.arange(len(columns)), table.num_rows), "score": scores})


def _melt(
    table: pa.Table, fixed: Mapping[str, str], labels: Mapping[str, Mapping[str, str]]
) -> duckdb.DuckDBPyRelation:
    """Return a row per value of the columns that `labels` label, with the fixed columns and one for each kind of label.

    Parameters
    ----------
    table
        The table, of text.
    fixed
        Our names to the columns that each row keeps.
    labels
        Our names, such as model, to the label of each column of scores.
    """
    import pyarrow as pa

    columns = list(next(iter(labels.values())))
    stacked = _stack(table, columns)
    codes = stacked["place"].to_numpy().astype(np.int32)
    row = np.tile(np.arange(table.num_rows), len(columns))
    percent = pa.array(["%" in column for column in columns]).take(pa.array(codes))

    def repeat_labels(of: Mapping[str, str]) -> pa.Array:
        every = pa.array([of[column] for column in columns])
        return pa.DictionaryArray.from_arrays(pa.array(codes), every).cast(pa.string())

    parts = {
        ROW: table[ROW].take(row),
        **{one: table[column].take(row) for one, column in fixed.items()},
        **{name: repeat_labels(of) for name, of in labels.items()},
        "score": stacked["score"],
        "percent": percent,
    }
    long = open_database().from_arrow(pa.table(parts))
    others = ", ".join(quote_name(column) for column in parts if column not in {"score", "percent"})
    # Scores are percent where the name of the column has the sign.
    sign = "CASE WHEN percent THEN nullif(rtrim(score, '% '), '') || '%' ELSE score END"
    return long.project(f"{others}, {sign if any('%' in column for column in columns) else 'score'} AS score")


def _drop_summaries(table: pa.Table, label: str, columns: Sequence[str]) -> tuple[pa.Table, list[str]]:
    """Return the table without last rows that are a mean or sum of the others, with rows beside it such as std."""
    names = [str(name or "").strip() for name in table[label].to_pylist()]
    end = len(names)
    while end > 2 and normalise_name(names[end - 1]) in _SUMMARIES | _SPREADS:
        end -= 1
    if end == len(names) or end < 2:
        return table, []
    numbers = np.array([[_parse_number(text) for text in table[column].to_pylist()] for column in columns])
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        rest = numbers[:, :end]
        sums = [np.nanmean(rest, axis=1), np.nansum(rest, axis=1), np.nanmedian(rest, axis=1)]
        is_summary = any(
            np.nanmax(np.abs(numbers[:, i] - each) / np.maximum(np.abs(each), 1)) < 0.01
            for i in range(end, len(names))
            for each in sums
            if normalise_name(names[i]) in _SUMMARIES
        )
    if not is_summary:
        return table, []
    left_out = names[end:]
    line = f"the last row, {left_out[0]!r}, sums up the others and is left out"
    if len(left_out) > 1:
        line = f"the last rows, {', '.join(map(repr, left_out))}, sum up the others and are left out"
    return table.slice(0, end), [line]


def _parse_number(text: str | None) -> float:
    """Return the number of a text, with a percent sign or not; NaN for any other text."""
    try:
        return float(str(text).strip().rstrip("% ").replace(",", "."))
    except ValueError:
        return np.nan


def _label_models(columns: Sequence[str], nested: Collection[str]) -> dict[str, str]:
    """Return the label of each model's column: without the metric and the nested column that all of them name."""
    parents = {_find_parent(column, nested) for column in columns}
    shared = parents.pop() if len(parents) == 1 else ""
    labels = {column: column.removeprefix(shared) for column in columns}
    endings = {match.group().lower() if (match := _ENDING.search(label)) else "" for label in labels.values()}
    if len(endings) == 1:
        labels = {column: _ENDING.sub("", label) for column, label in labels.items()}
    beginnings = {match.group().lower() if (match := _BEGINNING.match(label)) else "" for label in labels.values()}
    if len(beginnings) == 1:
        labels = {column: _BEGINNING.sub("", label) for column, label in labels.items()}
    return {column: _PERCENT.sub("", label).strip() or label for column, label in labels.items()}


def _list_names(names: Iterable[str]) -> str:
    """Return the first names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - _N_NAMED} more" if len(every) > _N_NAMED else ""
    return ", ".join(map(str.strip, every[:_N_NAMED])) + more
