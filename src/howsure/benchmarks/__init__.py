"""What to ask: questions, prompt, answer extraction; one small file per benchmark."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

from howsure.benchmarks.built_in import large, population, small
from howsure.benchmarks.question import Benchmark, Message, Prompt, Question
from howsure.benchmarks.question_file import from_file
from howsure.benchmarks.recorded import from_record
from howsure.errors import InputError, UnknownNameError

__all__ = ["BENCHMARKS", "Benchmark", "Message", "Prompt", "Question", "load"]

#: Name -> function that returns the benchmark; its keyword arguments are the options of a spec.
BENCHMARKS: dict[str, Callable[..., Benchmark]] = {
    "directions-small": small,
    "directions-large": large,
    "population": population,
}


def load(spec: str | Mapping[str, object], *, base: Path = Path()) -> Benchmark:
    """A benchmark by name, by name with options, or from a file.

    Parameters
    ----------
    spec
        As it stands in an experiment: `directions-small`, `{name: population, size: 2000, seed: 3}`,
        `{file: test.jsonl, question: question, target: answer, ...}` (see `question_file.from_file`), or
        `{replay: results.csv}` (see `benchmarks.recorded.from_record`).
    base
        Folder that a relative file starts from: the experiment's.

    Raises
    ------
    UnknownNameError
        When there is no benchmark, option or field of that name.
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
            remedy = f"say where its questions and targets are: {{file: {name}, question: FIELD, target: FIELD}}"
            raise InputError(f"{name!r} is a file, not a name", where="benchmark", remedy=remedy)
        raise UnknownNameError("benchmark", name, BENCHMARKS)
    for option in options:
        if option not in (known := list(inspect.signature(BENCHMARKS[name]).parameters)):
            raise UnknownNameError(f"option of benchmark {name}", str(option), known)
    return BENCHMARKS[name](**options)
