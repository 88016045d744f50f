"""Benchmarks: published ones by name, built in, from a file of questions, or from recorded results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

from howsure.benchmarks import catalogue
from howsure.benchmarks.built_in import directions_large, directions_small, population
from howsure.benchmarks.lm_eval_tasks import describe_task, is_task_name, load_task
from howsure.benchmarks.question import Benchmark, Message, Prompt, Question
from howsure.benchmarks.question_file import from_file
from howsure.benchmarks.recorded import from_record
from howsure.errors import InputError, UnknownNameError

__all__ = [
    "BENCHMARKS",
    "INSPECT_PREFIX",
    "Benchmark",
    "Message",
    "Prompt",
    "Question",
    "describe_benchmarks",
    "is_inspect_task",
    "load",
]

#: What the name of a task of Inspect begins with in an experiment.
INSPECT_PREFIX = "inspect/"
#: Name -> function that returns the benchmark; its keyword arguments are the options in a spec.
BENCHMARKS: dict[str, Callable[..., Benchmark]] = {
    "directions-small": directions_small,
    "directions-large": directions_large,
    "population": population,
}

#: Number of questions, scorer and title of the built-in benchmarks.
_BUILT_IN = {
    "directions-small": (
        100,
        "direction",
        "Directions of the compass: own questions, after Cohn and Blackwell 2024",
    ),
    "directions-large": (
        5760,
        "direction",
        "Directions along an edge: own questions, after Cohn and Blackwell 2024",
    ),
    "population": (1000, "numeric", "Sums of two numbers; `size`: how many"),
}


def describe_benchmarks(name: str | None = None, *, path: str | None = None) -> list[dict[str, object]]:
    """Return what is known about the benchmarks that can be named, or about one of them.

    Parameters
    ----------
    name
        Name of a benchmark; None for all.
    path
        Folder with further tasks for names that begin with `lm_eval/`.

    Returns
    -------
    list
        A row for each benchmark: `name`, number of `questions`, `scorer`, whether it is `on_disk`, `title`, `citation`,
        `licence`, `data` (id on the hub, or address), `revision` and `remark`.

    Raises
    ------
    UnknownNameError
        When there is no benchmark of this name.

    Examples
    --------
    >>> describe_benchmarks("gsm8k")[0]["scorer"]
    'numeric'
    """
    if name is not None and is_task_name(name):
        return [describe_task(name, include_paths=[Path(path)] if path else [])]
    names = [*BENCHMARKS, *catalogue.list_names()]
    if name is not None and name not in names:
        raise UnknownNameError("benchmark", name, names)
    rows = []
    for one in names if name is None else [name]:
        if one in BENCHMARKS:
            questions, scorer, title = _BUILT_IN[one]
            rows.append({"name": one, "questions": questions, "scorer": scorer, "on_disk": True, "title": title})
        else:
            rows.append(catalogue.describe(one))
    return rows


def is_inspect_task(spec: str | dict[str, object]) -> bool:
    """Return whether the benchmark of an experiment is a task of Inspect: its name begins with `inspect/`.

    Parameters
    ----------
    spec
        As in an experiment.

    Examples
    --------
    >>> is_inspect_task("inspect/inspect_evals/gsm8k"), is_inspect_task({"name": "gsm8k"})
    (True, False)
    """
    name = spec if isinstance(spec, str) else spec.get("name")
    return isinstance(name, str) and name.startswith(INSPECT_PREFIX)


def load(spec: str | Mapping[str, object], *, base: Path = Path()) -> Benchmark:
    """Return a benchmark by name, by name with options, or from a file.

    Parameters
    ----------
    spec
        As in an experiment: `gsm8k`, `{name: mmlu, shots: 5, where: {subject: anatomy}}` (see
        `catalogue.load_published`), `lm_eval/gsm8k` (see `lm_eval_tasks.load_task`), `directions-small`,
        `{name: population, size: 2000, seed: 3}`,
        `{file: test.jsonl, question: question, target: answer, ...}` (see `question_file.from_file`), or
        `{replay: results.csv}` (see `benchmarks.recorded.from_record`).
    base
        Folder to which a relative file refers: that of the experiment.

    Raises
    ------
    UnknownNameError
        When there is no benchmark, option or field with a name of the spec.
    InputError
        When the spec or the file cannot be read.

    >>> len(load("directions-large").questions)
    5760
    """
    if isinstance(spec, str):
        spec = {"name": spec}
    if "file" in spec:
        return from_file(spec, base=base)
    if "replay" in spec:
        return from_record(spec, base=base)
    if is_inspect_task(dict(spec)):
        remedy = "howsure run runs it; it has no dry run and no prompts of ours"
        raise InputError("a task of Inspect is run by Inspect", where="benchmark", remedy=remedy)
    options = dict(spec)
    name = options.pop("name", None)
    if not isinstance(name, str):
        remedy = "write a name, {file: PATH, question: FIELD, target: FIELD}, or {replay: PATH}"
        raise InputError("the benchmark has neither a name nor a file", where="benchmark", remedy=remedy)
    if is_task_name(name):
        return load_task(name, options, base=base)
    if name in catalogue.list_names():
        return catalogue.load_published(name, options, base=base)
    if name not in BENCHMARKS:
        if Path(name).suffix in {".jsonl", ".csv", ".parquet"}:
            remedy = f"name the fields with its questions and targets: {{file: {name}, question: FIELD, target: FIELD}}"
            raise InputError(f"{name!r} is a file, not a name", where="benchmark", remedy=remedy)
        raise UnknownNameError("benchmark", name, [*BENCHMARKS, *catalogue.list_names()])
    return _load_built_in(name, options)


def _load_built_in(name: str, options: Mapping[str, object]) -> Benchmark:
    """Return a built-in benchmark with its options."""
    parameters = inspect.signature(BENCHMARKS[name]).parameters
    for option in options:
        if option not in parameters:
            raise UnknownNameError(f"option of benchmark {name}", str(option), parameters)
    return BENCHMARKS[name](**options)
