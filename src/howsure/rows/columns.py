"""Find howsure's columns in a table, by the names that they have in other programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from howsure.errors import InputError, UnknownNameError

__all__ = [
    "ALIASES",
    "TEXTS_OF_QUESTIONS",
    "TEXT_ALIASES",
    "TableColumns",
    "TableOptions",
    "find_columns",
    "find_needed_columns",
    "find_question_columns",
    "find_setting_columns",
    "find_task_columns",
    "find_texts",
    "match_aliases",
    "match_columns",
    "normalise_name",
    "separate_texts",
]

#: Maps each column of howsure to its names in other programs; the first name that is present is used. Case, blanks,
#: hyphens and underscores do not count: "Model Name" is model_name. A nested field is found by its last part too.
ALIASES: dict[str, tuple[str, ...]] = {
    "benchmark": ("benchmark", "benchmark_id", "benchmark_name", "dataset", "dataset_name"),
    "model": (
        "model",
        "model_id",
        "model_name",
        "model_label",
        "model_key",
        "model_name_or_path",
        "llm",
        "llm_name",
        "engine",
        "system_name",
        "checkpoint",
        "agent",
        "agent_name",
        "candidate",
        "submission",
        "system",
    ),
    "question": (
        "question_id",
        "question",
        "example_id",
        "original_row_index",
        "item_id",
        "item",
        "example",
        "task_id",
        "doc_id",
        "problem_id",
        "instance_id",
        "case_id",
        "test_id",
        "prompt_id",
        "query_id",
        "qid",
        "question_no",
        "question_number",
        "sample_id",
        "id",
        "idx",
        "index",
        "input",
        "input_label",
        "problem",
        "query",
        "question_text",
        "task",
        "test_case",
        "test",
    ),
    "variant": ("variant", "variation_index", "prompt", "template", "prompt_template"),
    "generation": (
        "generation",
        "epoch",
        "run",
        "run_number",
        "run_id",
        "repeat",
        "replicate",
        "trial",
        "trial_id",
        "attempt",
        "iteration",
        "seed",
    ),
    "score": (
        "score",
        "is_correct",
        "score_binarized",
        "value",
        "passed",
        "is_passed",
        "result",
        "correct",
        "pass",
        "success",
        "succeeded",
        "resolved",
        "solved",
        "reward",
        "accuracy",
        "acc",
        "exact_match",
        "em",
        "grade",
        "rating",
        "judgment",
        "judgement",
        "verdict",
        "outcome",
        "metric",
        "acc@1",
        "accuracy@1",
        "pass@1",
        "scores",
    ),
    "mean": ("pass1",),
    "count": ("count",),
    "correct": ("correct",),
    "scorer": (
        "scorer",
        "scorer_name",
        "metric",
        "metric_name",
        "grader",
        "evaluator",
        "eval_name",
        "judge",
        "rater",
        "key",
    ),
    "turn": ("turn", "turn_id", "turn_number"),
    "answer": ("extracted_answer", "parsed_answer", "pred", "predicted_answer", "predicted", "answer"),
    "cluster": (),  # used only if the user names it
}

#: Normalised names of columns whose values may be benchmarks of their own.
_TASK_NAMES = frozenset(
    {
        "task",
        "taskname",
        "subtask",
        "subject",
        "category",
        "subset",
        "domain",
        "topic",
        "dataset",
        "datasetname",
        "suite",
    }
)
#: Normalised names of columns of settings, with which a model is another one.
_SETTING_NAMES = frozenset(
    {
        *("temperature", "temp", "topp", "topk", "maxtokens", "reasoningeffort", "effort", "thinking", "reasoning"),
        *("thinkingbudget", "reasoningtokens", "provider", "endpoint", "quantization", "quantisation", "precision"),
        *("dtype", "revision", "scaffold", "harness", "agent", "solver", "step", "trainingstep", "modelversion"),
    }
)
#: Columns of texts to their names in other programs.
TEXT_ALIASES: dict[str, tuple[str, ...]] = {
    "completion": (
        "completion",
        "model_response",
        "response",
        "model_output",
        "output",
        "generated_text",
        "prediction",
    ),
    "target": ("target", "gold_answer", "gold", "reference", "expected", "ground_truth", "correct_answer", "targets"),
    "choices": ("choices", "options", "choices_text"),
    "text": ("text", "question_text", "prompt_text", "input_text"),
    "answer": ALIASES["answer"],
}
#: Columns that hold the text of a question where no column has a name of `TEXT_ALIASES`: a prompt that is no variant.
TEXTS_OF_QUESTIONS = ("prompt", "question")
#: The name of an answer that is as often that of the right one.
_AMBIGUOUS_ANSWER = "answer"

#: Columns that every table has after it is read, so a dimension cannot have one of these names.
_RESERVED = frozenset(
    {"benchmark", "model", "question", "variant", "generation", "score", "n", "total", "total_sq", "cluster"}
)
#: Normalised names of columns beside mean scores of models: none of them names a question.
_BESIDE_MEANS = frozenset(
    {
        *("n", "se", "sd", "std", "stddev", "sem", "stderr", "stderror", "ci", "ci95", "cilow", "cihigh", "cilower"),
        *("ciupper", "low", "high", "lower", "upper", "rank", "place", "count", "nquestions", "nsamples", "samples"),
        *("date", "organization", "organisation", "license", "params", "size", "total", "url", "link", "version"),
    }
)
#: Largest number of characters of the names of columns in a message.
_MAX_LISTED = 300
#: Characters of a name that do not count.
_SEPARATORS = re.compile(r"[\s_\-]+")


class TableOptions(NamedTuple):
    """Options for reading a table.

    Attributes
    ----------
    columns
        Our column names to the table's, where it has other names than `ALIASES`.
    dimensions
        Columns with the values of the variants.
    by_variant
        Whether each variant has its own cells; rows may then be scores of whole benchmarks, without a question.
    wide
        Whether a row is a variant and a column a model.
    model
        Label of all rows where no column names the model; None refuses such a table.
    is_model_of_file
        Whether that label is the name of the file, which is said.
    is_one_benchmark
        Whether the user named the benchmark of all rows; if not, a column that may name several is said.
    scorer
        Which of several scores is read; None takes the first.
    scale
        Number that scores are divided by, such as 100 for percent; None divides percent by 100 and nothing else.
    texts
        Columns of texts that are kept beside the scores, with their names in other programs, such as `completion`. A
        table with texts needs no score.

    Examples
    --------
    >>> TableOptions({"model": "system"}, by_variant=True).columns
    {'model': 'system'}
    """

    columns: Mapping[str, str] = {}
    dimensions: tuple[str, ...] = ()
    by_variant: bool = False
    wide: bool = False
    model: str | None = None
    is_model_of_file: bool = False
    is_one_benchmark: bool = False
    scorer: str | None = None
    scale: float | None = None
    texts: Mapping[str, tuple[str, ...]] = {}


class TableColumns(NamedTuple):
    """The columns of a table that are read, and the shape of its rows.

    Attributes
    ----------
    columns
        Our column names to the table's.
    dimensions
        Dimensions to the table's columns.
    is_whole
        Whether a row is a score of the whole benchmark, without a question.
    is_aggregated
        Whether a row is the mean of a cell.

    Examples
    --------
    >>> find_columns(["model_name", "question_id", "score"], "rows.csv", TableOptions()).columns["model"]
    'model_name'
    """

    columns: dict[str, str]
    dimensions: dict[str, str]
    is_whole: bool
    is_aggregated: bool


def normalise_name(name: str) -> str:
    """Return the name of a column without what does not count: case, blanks, hyphens and underscores.

    >>> normalise_name(" Model-Name"), normalise_name("model_name")
    ('modelname', 'modelname')
    """
    return _SEPARATORS.sub("", name).lower()


def find_columns(
    names: Sequence[str], where: str, options: TableOptions, columns: Mapping[str, str] | None = None
) -> TableColumns:
    """Find our columns among those of a table.

    Parameters
    ----------
    names
        Columns of the table.
    where
        Name of the table, for messages.
    options
        How it is read.
    columns
        Our column names to the table's instead of those of `options`.

    Raises
    ------
    InputError
        When there is no column for the model, the question or the score.
    """
    dimensions = _find_dimensions(names, where, options.dimensions)
    columns = options.columns if columns is None else columns
    matched = match_columns(names, where, columns, dimensions.values())
    # A row per cell has a mean and a count; a row per generation has a score. A count without a mean counts tokens.
    is_aggregated = "count" in columns or ("mean" in matched and "score" not in columns)
    if is_aggregated and "mean" not in matched and "score" in matched:
        matched["mean"] = matched["score"]
    for name in () if is_aggregated else ("mean", "count", "correct"):
        matched.pop(name, None)
    is_whole = options.by_variant and not is_aggregated and "question" not in matched
    needed = [
        *([] if options.model is not None else ["model"]),
        *([] if is_whole else ["question"]),
        *([] if "completion" in options.texts else ["mean" if is_aggregated else "score"]),
    ]
    if missing := [name for name in needed if name not in matched]:
        raise InputError(
            f"no column for the {missing[0]}"
            if "completion" in options.texts
            else f"no column for {' and '.join(map(repr, missing))}",
            where=where,
            remedy=_suggest_column(names, missing, matched, by_variant=options.by_variant),
        )
    return TableColumns(matched, dimensions, is_whole, is_aggregated)


def _suggest_column(
    names: Sequence[str], missing: Sequence[str], matched: Mapping[str, str], *, by_variant: bool
) -> str:
    """Return how columns that were not found can be named."""
    text = ", ".join(name.strip() or "(no name)" for name in names)
    text = text if len(text) <= _MAX_LISTED else text[:_MAX_LISTED] + ", ..."
    named = " ".join(f"--columns {name}=COLUMN" for name in missing)
    remedy = f"the columns are {text}: name {'one' if len(missing) == 1 else 'them'} with {named}"
    others = {normalise_name(name) for name in names if name not in matched.values()}
    if missing == ["question"] and others <= _BESIDE_MEANS:
        what = "error bars need the score of each question, and not the mean of a model"
        return f"{what}: the columns are {text}: give a row per model and question, or the logs of the evaluation"
    if by_variant:
        remedy += ", or add --wide if each column is a model"
    text_columns = match_aliases(names, TEXT_ALIASES)
    if "score" in missing and "model" not in matched and {"answer", "completion"}.isdisjoint({*matched, *text_columns}):
        fields = "{file: NAME, question: COLUMN, target: COLUMN}"
        remedy += f"; questions without scores are the benchmark of an experiment: {fields}"
    if missing == ["score"] and {"answer", "question"} <= matched.keys():
        answers = f"answers of models in {matched['answer']!r} are scored by howsure rescore"
        if "model" not in matched:
            questions = "to ask a model the questions of a file: howsure init --benchmark FILE"
            has_target = "target" in text_columns  # without one, the answers are the right ones
            return f"{questions}{f'; {answers}' * has_target}; if there are scores, {remedy.partition(': ')[2]}"
        remedy += f"; {answers}"
    elif missing == ["score"] and (completion := text_columns.get("completion")) is not None:
        rescore = f"howsure rescore scores the completions in {completion!r}"
        return f"{rescore}; if there are scores, {remedy.partition(': ')[2]}"
    return remedy


def separate_texts(columns: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns that the user named for names and scores, and those for texts.

    >>> separate_texts({"model": "llm", "completion": "reply"})
    ({'model': 'llm'}, {'completion': 'reply'})
    """
    others = {name: column for name, column in columns.items() if name in ALIASES and name not in TEXT_ALIASES}
    return others, {name: column for name, column in columns.items() if name not in others}


def find_texts(names: Sequence[str], where: str, columns: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the texts of a table with the names of their columns, for `TableOptions.texts`.

    Parameters
    ----------
    names
        Columns of the table.
    where
        Name of the table, for messages.
    columns
        Names of texts to the table's columns, as the user named them.

    Returns
    -------
    dict
        Only answer and target where the table has no completions, so that it needs scores.

    Raises
    ------
    UnknownNameError
        When there is no such text or column.
    """
    by_key = {normalise_name(name): name for name in names}
    for name, column in columns.items():
        if name not in TEXT_ALIASES:
            raise UnknownNameError("column", name, [*ALIASES, *TEXT_ALIASES], where="--columns")
        if normalise_name(column.partition(".")[0]) not in by_key:
            raise UnknownNameError("column", column, names, where=where)
    texts = TEXT_ALIASES | {name: (column,) for name, column in columns.items()}
    matched = match_aliases(names, texts)
    is_ambiguous = normalise_name(matched.get("answer", "")) == _AMBIGUOUS_ANSWER
    if is_ambiguous and "answer" not in columns and "target" not in matched:
        del texts["answer"]  # it may be the right answer
    if "text" not in matched:
        texts["text"] = TEXTS_OF_QUESTIONS
    if "completion" in matched:
        return texts
    return {name: of for name, of in texts.items() if name in {"answer", "target"}}


def find_needed_columns(names: Iterable[str], where: str, options: TableOptions) -> set[str]:
    """Return those columns that reading the table needs; all of a wide table."""
    every = list(names)
    if options.wide:
        return set(every)
    try:
        matched = find_columns(every, where, options)
    except InputError:
        return set(every)  # the columns may be models, or fields of these columns may be ours
    tasks = [] if "benchmark" in matched.columns or options.is_one_benchmark else find_task_columns(every)
    others = [] if "question" in options.columns else find_question_columns(every)
    return {*matched.columns.values(), *matched.dimensions.values(), *tasks, *others, *find_setting_columns(every)}


def find_task_columns(names: Iterable[str]) -> list[str]:
    """Return the columns whose names are those of tasks or subjects, which may be benchmarks of their own.

    >>> find_task_columns(["Task Name", "question_id", "subject"])
    ['Task Name', 'subject']
    """
    return [name for name in names if normalise_name(name) in _TASK_NAMES]


def find_setting_columns(names: Iterable[str]) -> list[str]:
    """Return the columns whose names are those of settings, with which a model is another one.

    >>> find_setting_columns(["Temperature", "config.reasoning_effort", "latency"])
    ['Temperature', 'config.reasoning_effort']
    """
    return [name for name in names if normalise_name(name.rpartition(".")[2]) in _SETTING_NAMES]


def find_question_columns(names: Iterable[str]) -> list[str]:
    """Return the columns whose names, or the last parts of these, are those of questions.

    >>> find_question_columns(["inputs.example.id", "span_id", "input"])
    ['inputs.example.id', 'input']
    """
    questions = {normalise_name(name) for name in ALIASES["question"]}
    return [name for name in names if normalise_name(name.rpartition(".")[2]) in questions]


def match_aliases(
    names: Iterable[str], aliases: Mapping[str, tuple[str, ...]] = ALIASES, *, taken: Iterable[str] = ()
) -> dict[str, str]:
    """Return our column names to those of the table which have one of their aliases; see `normalise_name`.

    Parameters
    ----------
    names
        Columns of the table; "a.b" is a field of a nested column.
    aliases
        Our column names to their names in other programs.
    taken
        Columns of the table that are something else.

    >>> match_aliases(["Model_ID", "item", "is_correct"])
    {'model': 'Model_ID', 'question': 'item', 'score': 'is_correct'}
    >>> match_aliases(["meta.model", "doc.id", "metrics.acc"])
    {'model': 'meta.model', 'question': 'doc.id', 'score': 'metrics.acc'}
    """
    every, excluded = list(dict.fromkeys(names)), set(taken)
    exact, last = _index_names([name for name in every if name not in excluded])
    matched: dict[str, str] = {}
    for ours, names_elsewhere in aliases.items():
        used = {column for one, column in matched.items() if {one, ours} != {"score", "correct"}}
        for index in (exact, last):
            columns = (index.get(normalise_name(alias)) for alias in names_elsewhere)
            match = next((column for column in columns if column is not None and column not in used), None)
            if match is not None:
                matched[ours] = match
                break
    return matched


def _index_names(names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns by their whole names, and nested ones by their last part where only one column has it."""
    exact: dict[str, str] = {}
    for name in sorted(names, key=lambda name: "." in name):  # stable: fields come last
        exact.setdefault(normalise_name(name.replace(".", "_")), name)
    parts = Counter(normalise_name(name.rpartition(".")[2]) for name in names if "." in name)
    nested = {normalise_name(name.rpartition(".")[2]): name for name in names if "." in name}
    return exact, {part: name for part, name in nested.items() if parts[part] == 1}


def _find_dimensions(names: Sequence[str], where: str, dimensions: Sequence[str]) -> dict[str, str]:
    """Return the column of each dimension, by the name that the user gave."""
    by_lower_name = {name.strip().lower(): name for name in names}
    for name in dimensions:
        if name.strip().lower() not in by_lower_name:
            raise UnknownNameError("column", name, names, where=where)
        if name.lower() in _RESERVED:
            remedy = "give the column another name, or leave it out"
            raise InputError(f"--dimension {name!r}: it is not a dimension of a prompt", where=where, remedy=remedy)
    return {name: by_lower_name[name.strip().lower()] for name in dimensions}


def match_columns(
    names: Sequence[str], where: str, columns: Mapping[str, str], taken: Iterable[str] = ()
) -> dict[str, str]:
    """Return the columns that the user named, and those found by their aliases.

    Parameters
    ----------
    names
        Columns of the table.
    where
        Name of the table, for messages.
    columns
        Our column names to the table's, as the user named them.
    taken
        Columns of the table that are something else.

    Raises
    ------
    UnknownNameError
        When there is no such column.
    """
    by_lower_name = {name.strip().lower(): name for name in names}
    by_key = {normalise_name(name): name for name in names}
    named = {}
    for name, column in columns.items():
        if name not in ALIASES:
            if name in TEXT_ALIASES:
                what = f"{name!r} is a column of texts, and scores are read without it"
                raise InputError(what, where="--columns", remedy="leave it out; howsure show and howsure audit read it")
            raise UnknownNameError("column", name, ALIASES, where="--columns")
        match = by_lower_name.get(column.strip().lower()) or by_key.get(normalise_name(column))
        if match is None and "," in column and "=" in column:
            remedy = "give --columns NAME=COLUMN once for each column"
            raise InputError(f"unknown column {column!r}", where=where, remedy=remedy)
        if match is None:
            raise UnknownNameError("column", column, names, where=where)
        named[name] = match
    aliased = match_aliases(names, taken={*named.values(), *taken})
    if "correct" in aliased and "score" in named:
        del aliased["correct"]
    return named | {name: column for name, column in aliased.items() if name not in named}
