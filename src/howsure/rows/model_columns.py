"""Find the columns of models in a table with a column per model, or refuse it by the first check that fails.

Each check is a function that returns a refusal or None; `_CHECKS` is their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from howsure.errors import InputError
from howsure.rows.columns import NAMED, ColumnValues, MatchedColumns, TableOptions, describe_columns
from howsure.rows.mapping import write_map
from howsure.rows.sql import parse_number_sql, quote_name, read_column_types, write_text_sql
from howsure.rows.words import (
    ALIASES,
    FAILURE_COLUMNS,
    MEASURE_WORDS,
    METRIC_NAMES,
    TASK_NAMES,
    TEXTS,
    find_alias,
    normalise_name,
    split_repeat,
    split_words,
)

if TYPE_CHECKING:
    import duckdb

#: Normalised names of texts, which are never scores of a model.
_TEXTS = {normalise_name(name) for names in TEXTS.values() for name in names}
#: Whole names of numbers beside scores; as words they also occur in names of models.
_MEASURES = frozenset(
    {"n", "count", "min", "max", "low", "high", "lower", "upper", "mean", "average", "avg", "total", "sum", "overall"}
)
#: Words in the names of scores of right and wrong, which are suggested before others.
_OF_RIGHT = frozenset({"correct", "accuracy", "acc", "exact", "em"})
_MOST_LISTED = 300


@dataclass
class _Candidates:
    """The columns of a table that have none of our names, and what they may be."""

    rows: duckdb.DuckDBPyRelation
    matched: MatchedColumns
    where: str
    names: list[str]
    values: Mapping[str, ColumnValues]
    n_rows: int
    named: Mapping[str, Sequence[str]]
    """Columns that the user named."""
    scores: list[str] = field(default_factory=list)
    """Columns of numbers, or of words that are scores."""
    texts: list[str] = field(default_factory=list)
    """Columns whose names say that they are no scores, such as a category: they are not read."""
    others: list[str] = field(default_factory=list)
    """All other columns with values."""
    answers: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)
    """Scores that are called like a measure or a metric."""

    def refuse(self, what: str, remedy: str, code: str, options: Sequence[str] = ()) -> InputError:
        """Return a refusal of the table."""
        return InputError(what, where=self.where, remedy=remedy, code=code, options=options)

    @property
    def scales(self) -> set[str]:
        """The scales of the models."""
        return {self.values[name].scale for name in self.models}


def find_models(
    rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, where: str, options: TableOptions
) -> Sequence[str]:
    """Return the columns of a table with a column per model, and name its question in `matched`.

    Raises
    ------
    InputError
        When the ids repeat, when a column is called like an answer, a measure or a metric, or when scales differ.
    """
    beside = {*matched.taken, *options.dimensions}
    names = [name for name in rows.columns if name not in beside]
    n_rows = int(rows.aggregate("count(*)").fetchall()[0][0])
    table = _Candidates(rows, matched, where, names, describe_columns(rows, names), n_rows, options.map.columns)
    _sort_columns(table)
    for check in _CHECKS:
        if (error := check(table)) is not None:
            raise error
    return table.models


def _sort_columns(table: _Candidates) -> None:
    """Sort the columns into scores, texts and others, and the scores into models and the rest."""
    values = table.values
    table.scores = [name for name in table.names if values[name].is_score]
    left_out = _TEXTS | TASK_NAMES | FAILURE_COLUMNS
    table.texts = [n for n in table.names if normalise_name(n) in left_out and n not in table.scores]
    table.others = [n for n in table.names if n not in table.scores and n not in table.texts and values[n].n]
    if "question" not in table.matched.columns and len(table.scores) > 1:
        unique = [name for name in table.others if values[name].n_distinct == values[name].n == table.n_rows]
        if len(unique) == 1:
            table.matched.columns["question"] = (unique[0],)
            table.matched.reasons["question"] = "the only column of texts, and each is another"
            table.others.remove(unique[0])
    table.answers = [name for name in table.scores if _is_answer(name)]
    scores = [name for name in table.scores if name not in table.answers]
    parent = find_parent(scores)
    for name in scores:
        bare = name.removeprefix(parent)
        if any(map(str.isalpha, name)) and not _is_measure(bare) and METRIC_NAMES.isdisjoint(split_words(bare)):
            table.models.append(name)
    table.rest = [name for name in table.scores if name not in table.models]


def _check_fractions(table: _Candidates) -> InputError | None:
    """Refuse cells such as 8/10."""
    names = [name for name in table.names if table.values[name].n_fractions == table.values[name].n > 0]
    if not names:
        return None
    remedy = "read them as shares with the mapping key fraction"
    return table.refuse(f"column {names[0]!r} has cells such as 8/10", remedy, "fraction", write_map(fraction=names))


def _check_numbers(table: _Candidates) -> InputError | None:
    """Refuse columns that are called 1, 2, 3: generations of one model, or anything else."""
    numbers = sorted(int(name) for name in table.scores if name.strip().isdecimal())
    if len(numbers) < max(2, len(table.scores)) or numbers[0] > 1 or numbers[-1] - numbers[0] != len(numbers) - 1:
        return None
    remedy = "if each is a generation of one model, add --shape repeats"
    return table.refuse(f"columns {list_names(table.scores)} are numbers", remedy, "repeats", ("--shape", "repeats"))


def _check_grades(table: _Candidates) -> InputError | None:
    """Refuse columns of scores between 0 and 1 or above: they may be benchmarks or metrics, with a mean in each row."""
    types = read_column_types(table.rows)
    numbers = [parse_number_sql(write_text_sql(name, types))[1] for name in table.models]
    counts = ", ".join(f"count(*) FILTER ({number} NOT IN (0, 1, 100))" for number in numbers)
    if not counts or 2 * max(table.rows.aggregate(counts).fetchall()[0]) <= min(table.n_rows, 4):  # but for last rows
        return None
    what = f"columns {list_names(table.models)} may be models, benchmarks or metrics, as their scores are not 0 and 1"
    return table.refuse(what, "if each column is a model, add --shape models", "no-models", ("--shape", "models"))


def _check_scores(table: _Candidates) -> InputError | None:
    """Refuse a table without two columns of models."""
    if "model" in table.matched.columns or len(table.models) < 2:
        counts = _check_counts(table)
        return counts or _build_no_score(table.rows, table.matched, table.values, table.where, table.named)
    return None


def _check_counts(table: _Candidates) -> InputError | None:
    """Refuse whole numbers that are nowhere above those of another column, which is called like a total."""
    words, types = {normalise_name(alias) for alias in ALIASES["total"]}, read_column_types(table.rows)
    numbers = [
        n for n in table.scores if n not in table.answers and table.values[n].is_whole and table.values[n].n_large
    ]
    words_of = {name: set(split_words(name)) - {"n", "count"} for name in numbers}
    totals = [
        n for n in numbers if (normalise_name(n) in words or words & words_of[n]) and not words_of[n] & MEASURE_WORDS
    ]
    for right, total in ((one, two) for two in totals for one in numbers if one != two and not _is_measure(one)):
        above, below = (parse_number_sql(write_text_sql(name, types))[1] for name in (right, total))
        if table.rows.aggregate(f"bool_and({above} BETWEEN 0 AND {below} AND {below} >= 1)").fetchall()[0][0]:
            what = f"{right!r} may count the right answers among {total!r}"
            option = ("--columns", f"right={right}", "--columns", f"total={total}")
            return table.refuse(what, "say so, or name the score with --columns score=COLUMN", "counts", option)
    return None


def _check_benchmarks(table: _Candidates) -> InputError | None:
    """Refuse a row per benchmark."""
    if "benchmark" not in table.matched.columns or "question" in table.matched.columns:
        return None
    what = "each row is a benchmark with a mean of each model, and error bars need the score of each question"
    return table.refuse(what, "give a row per question", "totals")


def _check_runs(table: _Candidates) -> InputError | None:
    """Refuse gpt-4o_1, gpt-4o_2, llama-3_1, llama-3_2: runs have a word, and models may end in a number."""
    stems = [name.rstrip("0123456789") for name in table.models if split_repeat(name) is None]
    if len(set(stems)) < 2 or not all(stems.count(one) > 1 and one[-1:] in "_-. " for one in stems):
        return None
    what = f"columns {list_names(table.models)} may be runs of {len(set(stems))} models"
    remedy = "name runs with a word: MODEL_run1, MODEL_run2; or add --shape models if each is a model"
    return table.refuse(what, remedy, "repeats")


def _check_answers(table: _Candidates) -> InputError | None:
    """Refuse numbers beside the right answer, which may be answers."""
    gold = [name for name in table.scores if _is_gold(name)]
    is_alike = any(table.values[name].scale == "unit" for name in gold)
    if not is_alike and not (table.answers and table.scales != {"unit"}):
        return None
    what = f"column {(table.answers or gold)[0]!r} is called like an answer, and the others may be answers of models"
    remedy = "compare them with it first, and give a table of scores"
    return table.refuse(what, remedy, "answers")


def _check_unread(table: _Candidates) -> InputError | None:
    """Refuse columns that are no models by their names or values, with the key that leaves them out."""
    values, names_of_ids = table.values, {normalise_name(alias) for alias in ALIASES["question"]}
    unread = [
        name
        for name in (*table.rest, *table.others)
        if normalise_name(name) not in names_of_ids or values[name].n_distinct < table.n_rows
    ]
    ids = [
        name for name in unread if values[name].n_distinct == values[name].n == table.n_rows and values[name].is_whole
    ]
    if unread and unread == ids == table.names[:1] and "question" not in table.matched.columns:
        is_prompt = not {"prompt", "paraphrase", "template", "variant", "instruction"}.isdisjoint(split_words(ids[0]))
        option = ("--shape", "variants") if is_prompt else ("--columns", f"question={ids[0]}")
        what = f"{ids[0]!r} numbers the rows beside {len(table.models)} columns that may be models"
        remedy = f"say whether a row is a question or a prompt variant: the columns are {list_names(table.models)}"
        return table.refuse(what, remedy, "no-question", option)
    if not unread:
        return None
    what = f"{list_names(unread)} beside columns that may be models ({list_names(table.models)})"
    remedy = "leave out what is no model with the mapping key drop"
    return table.refuse(what, remedy, "no-models", write_map(drop=unread))


def _check_scales(table: _Candidates) -> InputError | None:
    """Refuse scores on several scales."""
    highs = [table.values[name].high or 0 for name in table.models]
    if len(table.scales) == 1 and (table.scales != {"other"} or max(highs) <= 2 * min(highs)):
        return None
    percent = [name for name in table.models if table.values[name].scale == "percent"]
    first = {table.values[name].scale: name for name in reversed(table.models)}
    ends = {max(table.models, key=highs_of.__getitem__) for highs_of in [dict(zip(table.models, highs, strict=True))]}
    listed = ", ".join(
        f"{name!r} up to {table.values[name].high or 0:g}" for name in dict.fromkeys((*first.values(), *ends))
    )
    option: tuple[str, ...] = write_map(percent=percent) if percent and "other" not in table.scales else ()
    remedy = "say which are percent, drop what is no score, or name the score with --columns score=COLUMN"
    return table.refuse(f"columns of scores have different scales: {listed}", remedy, "scales", option)


def _check_question(table: _Candidates) -> InputError | None:
    """Refuse rows without a name, and rows with one name; other names may tell them apart."""
    if "question" not in table.matched.columns:
        what = f"no column names the question beside {len(table.models)} columns of scores ({list_names(table.models)})"
        shape, row = ("variants", "prompt variant") if "variant" in table.matched.columns else ("models", "question")
        remedy = f"if each column is a model and each row a {row}, add --shape {shape}"
        return table.refuse(what, remedy, "no-question", ("--shape", shape))
    question, columns = table.matched.columns["question"][0], table.matched.columns
    name = f"nullif(trim(CAST({quote_name(question)} AS VARCHAR)), '')"
    n_values, n_named = table.rows.aggregate(f"count(DISTINCT {name}), count({name})").fetchall()[0]
    if n_values >= n_named or {"benchmark", "variant", "generation"} & columns.keys():
        return None
    tasks = [n for n in table.rows.columns if normalise_name(n) in TASK_NAMES and n not in table.matched.taken]
    pairs = [f"{question},{name}" for name in tasks if _count_pairs(table.rows, question, name) == table.n_rows]
    what = f"the names in column {question!r} repeat ({n_values} in {n_named} rows)"
    remedy = "a table with a column per model has a row per question; name what tells its rows apart, or say its shape"
    option = ("--columns", f"question={pairs[0]}") if pairs else ("--shape", "models")
    return table.refuse(what, remedy, "repeated-key", option)


#: The checks of a table with a column per model, in their order.
_CHECKS: tuple[Callable[[_Candidates], InputError | None], ...] = (
    _check_fractions,
    _check_numbers,
    _check_scores,
    _check_benchmarks,
    _check_runs,
    _check_answers,
    _check_unread,
    _check_scales,
    _check_question,
    _check_grades,
)


def _build_no_score(
    rows: duckdb.DuckDBPyRelation,
    matched: MatchedColumns,
    values: Mapping[str, ColumnValues],
    where: str,
    named: Mapping[str, Sequence[str]],
) -> InputError:
    """Return the refusal of a table without a column for the score, with the column that may be one."""
    names = list(rows.columns)
    pair = {name: named[name][0] if name in named else find_alias(name, names) for name in ("completion", "target")}
    answer = find_alias("answer", names)
    if {"model_a", "model_b"} <= {name.lower() for name in names}:
        what = "each row compares two models, and has no score of one"
        return InputError(what, where=where, remedy="howsure rank --battles ranks the models", code="battles")
    if {"precision", "recall", "support"} <= {normalise_name(name) for name in names}:
        what = "a report of a classifier has a mean of each class, and error bars need the score of each question"
        return InputError(what, where=where, remedy="give a row per question", code="totals")
    candidates = [name for name in values if values[name].is_score and not _is_answer(name) and not _is_measure(name)]
    ids = {normalise_name(alias) for alias in ALIASES["question"]}
    candidates = [name for name in candidates if normalise_name(name) not in ids]
    candidates = [name for name in candidates if values[name].scale != "other"] or candidates
    completion = pair["completion"] or (answer if pair["target"] or "model" in matched.columns else None)
    if completion is not None and not candidates:
        what = f"no column for the score; {completion!r} has answers"
        remedy = "howsure rescore scores them, and howsure preview names a scorer"
        return InputError(what, where=where, remedy=remedy, code="no-score", options=("preview", where))
    if not candidates and "question" in matched.columns and (pair["target"] or answer) and not pair["completion"]:
        what = f"questions and answers ({pair['target'] or answer!r}), and no score"
        remedy = "these are questions to ask: howsure init writes the experiment"
        return InputError(what, where=where, remedy=remedy, code="no-score", options=("init", "--benchmark", where))
    what = f"no column for the score among {list_names(names)}"
    if not candidates:
        remedy = "error bars need the score of each question: name it with --columns score=COLUMN"
        return InputError(what, where=where, remedy=remedy, code="no-score")
    preferred = [name for name in candidates if not _OF_RIGHT.isdisjoint(split_words(name))]
    preferred = preferred or [name for name in candidates if not METRIC_NAMES.isdisjoint(split_words(name))]
    ends = {normalise_name(alias) for alias in ALIASES["score"]}
    lasts = {name.rpartition("_")[2] for name in candidates if "_" in name} & ends
    of_last = [name for name in candidates if lasts and name.endswith(f"_{min(lasts)}")]
    others = [name for name, one in values.items() if name not in candidates and one.n / 2 < one.n_numbers < one.n]
    best = ""
    if len(lasts) == len(of_last) == 1:  # MODEL_correct, of another model in each file
        best = f"*_{min(lasts)}"
    elif preferred:  # gpt_acc and llama_acc are of two models
        best = preferred[0] if len({split_words(one)[-1] for one in preferred}) >= min(len(preferred), 2) else ""
    elif len(candidates) == 1 and ("model" in matched.columns or not others):
        best = candidates[0]
    remedy = f"it may be {list_names(candidates)}: name it with --columns score=COLUMN"
    if "model" not in matched.columns and len(candidates) > 1 and candidates != preferred:
        remedy += ", or add --shape models if each is a model"
    return InputError(
        what, where=where, remedy=remedy, code="no-score", options=("--columns", f"score={best}") if best else ()
    )


def build_no_question(rows: duckdb.DuckDBPyRelation, matched: MatchedColumns, where: str) -> InputError:
    """Return the refusal of a table with scores and without a column for the question."""
    prompts = {*matched.columns.get("variant", ())} if matched.reasons.get("variant") != NAMED else set()
    names = [name for name in rows.columns if name not in matched.taken - prompts]
    values = describe_columns(rows, names)
    n_rows = int(rows.aggregate("count(*)").fetchall()[0][0])
    models = [write for column in matched.columns.get("model", ()) if (write := quote_name(column))]
    n_models = 1
    if models:
        [[n_models]] = rows.aggregate(f"count(DISTINCT ({', '.join(models)}))").fetchall()
    if n_models == n_rows and n_rows > 1:
        what = "each row is the mean of a model, and error bars need the score of each question"
        return InputError(
            what, where=where, remedy="give a row per model and question, or the logs of the evaluation", code="totals"
        )
    left_out = TASK_NAMES | FAILURE_COLUMNS
    names = [n for n in names if values[n].n == n_rows and values[n].n_distinct > 2 and not _is_measure(n)]
    names = [n for n in names if normalise_name(n).removesuffix("s") not in left_out]
    ids = [n for n in names if not values[n].is_score or values[n].counts]
    candidates = [n for n in ids if values[n].n_distinct * n_models >= n_rows]
    candidates = [n for n in candidates if n_models == 1 or values[n].n_distinct < n_rows]
    if not candidates:  # questions that several systems answered
        repeated = [n for n in names if not values[n].is_score and values[n].n_distinct <= n_rows / 2]
        candidates = sorted(repeated, key=lambda name: -values[name].n_distinct)[:1]
    what = f"no column for the question among {list_names(rows.columns)}"
    remedy = "name it with --columns question=COLUMN"
    option = ("--columns", f"question={candidates[0]}") if candidates else ()
    return InputError(what, where=where, remedy=remedy, code="no-question", options=option)


def _count_pairs(rows: duckdb.DuckDBPyRelation, one: str, two: str) -> int:
    """Return the number of different pairs of values of two columns."""
    return int(rows.aggregate(f"count(DISTINCT ({quote_name(one)}, {quote_name(two)}))").fetchall()[0][0])


def find_suffix(names: Sequence[str]) -> str:
    """Return the name of a metric that all names end with, with the underscore before it; else an empty text.

    >>> find_suffix(["gpt_acc", "llama_acc"]), find_suffix(["gpt-4", "llama-4"])
    ('_acc', '')
    """
    ends = {name.rpartition("_")[2] if name.rpartition("_")[0] else "" for name in names}
    return f"_{min(ends)}" if len(ends) == 1 and min(ends).lower() in METRIC_NAMES else ""


def find_parent(names: Sequence[str]) -> str:
    """Return the field of a nested record that all names are inside of, with its dot; else an empty text.

    >>> find_parent(["scores.gpt-4o", "scores.llama"]), find_parent(["gpt-4.5", "llama-3.1"])
    ('scores.', '')
    """
    parents = {name.partition(".")[0] for name in names if "." in name}
    is_one = len(parents) == 1 and len(names) > 1 and all("." in name for name in names)
    return f"{parents.pop()}." if is_one else ""


def _is_gold(name: str) -> bool:
    """Return whether a name is that of the right answer."""
    words = {"label", "gold", "target", "truth", "expected", "actual", "true", "reference"}
    return not words.isdisjoint(split_words(name)) or normalise_name(name) == "answer"


def _is_measure(name: str) -> bool:
    """Return whether a name is that of a cost, a time, a length, an error or a rater."""
    return normalise_name(name) in _MEASURES or not MEASURE_WORDS.isdisjoint(split_words(name))


def _is_answer(name: str) -> bool:
    """Return whether a name is that of an answer or another text."""
    return normalise_name(name) in _TEXTS


def list_names(names: Iterable[str]) -> str:
    """Return names with commas, cut where they are many."""
    text = ", ".join(str(name).strip() or "(no name)" for name in names)
    return text if len(text) <= _MOST_LISTED else f"{text[:_MOST_LISTED]}, ..."
