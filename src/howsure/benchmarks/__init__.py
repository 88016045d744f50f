"""Benchmarks: built in, from a file of questions, or from recorded results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

from howsure.benchmarks.built_in import directions_large, directions_small, population
from howsure.benchmarks.question import Benchmark, Message, Prompt, Question
from howsure.benchmarks.question_file import from_file
from howsure.benchmarks.recorded import from_record
from howsure.errors import InputError, UnknownNameError

__all__ = ["BENCHMARKS", "Benchmark", "Message", "Prompt", "Question", "load"]

#: Name -> function that returns the benchmark; its keyword arguments are the options in a spec.
BENCHMARKS: dict[str, Callable[..., Benchmark]] = {
    "directions-small": directions_small,
    "directions-large": directions_large,
    "population": population,
}


def load(spec: str | Mapping[str, object], *, base: Path = Path()) -> Benchmark:
    """Return a benchmark by name, by name with options, or from a file.

    Parameters
    ----------
    spec
        As in an experiment: `directions-small`, `{name: population, size: 2000, seed: 3}`,
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
    options = dict(spec)
    name = options.pop("name", None)
    if not isinstance(name, str):
        remedy = "write a name, {file: PATH, question: FIELD, target: FIELD}, or {replay: PATH}"
        raise InputError("the benchmark has neither a name nor a file", where="benchmark", remedy=remedy)
    if name not in BENCHMARKS:
        if Path(name).suffix in {".jsonl", ".csv", ".parquet"}:
            remedy = f"name the fields with its questions and targets: {{file: {name}, question: FIELD, target: FIELD}}"
            raise InputError(f"{name!r} is a file, not a name", where="benchmark", remedy=remedy)
        raise UnknownNameError("benchmark", name, BENCHMARKS)
    parameters = inspect.signature(BENCHMARKS[name]).parameters
    for option in options:
        if option not in parameters:
            raise UnknownNameError(f"option of benchmark {name}", str(option), parameters)
    return BENCHMARKS[name](**options)
