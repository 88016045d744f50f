"""Write an experiment file from a few answers, and check that an experiment can run."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from howsure.errors import HowsureWarning, InputError
from howsure.notes import list_warned

if TYPE_CHECKING:
    from howsure.sample.experiment_checks import ExperimentChecks

__all__ = ["doctor", "init"]

_TEMPLATE = """\
# What `howsure run {name}` samples. All keys: docs/experiment_keys.md
benchmark: {benchmark}
models:
{models}
generations: {generations}          # sampled answers per question; raise it later and run again
# greedy: true          # and one generation at temperature 0, as a model of its own
# variants: {{space: open, sample: 10}}  # each question in 10 prompts; or space: multiple-choice, maths
# limit: 200            # only so many questions, a seeded sample
# until: {{width: 0.02}}  # stop as soon as the interval is this narrow
# budget: {{calls: 5000}} # or tokens, minutes, cost (dollars)
"""
#: What is added for the questions of a file.
_ANSWER_FORM = 'answer_form: line       # the reply is to end with a line "Answer: X"; or json, or none\n'


def init(
    path: str | PathLike[str],
    *,
    benchmark: str = "directions-small",
    models: Sequence[str] = ("simulated/medium",),
    generations: int = 5,
    base_url: str | None = None,
    key_env: str | None = None,
    replace: bool = False,
) -> Path:
    """Write an experiment file that `run` takes.

    Parameters
    ----------
    path
        The YAML file to write.
    benchmark
        Name of a benchmark, or path of a file of questions (jsonl, csv or parquet) whose fields have usual names.
    models
        Models as an experiment names them: ``simulated/medium``, ``openai/NAME``, or any name with `base_url`.
    generations
        Sampled answers per question, at least 1.
    base_url
        Address of an endpoint with OpenAI's API, of all `models`.
    key_env
        Environment variable with its key.
    replace
        True writes over a file that exists.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        If the file exists, a name is unknown, or the fields of the file of questions cannot be told apart.
    StoreError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> file = init(Path(tempfile.mkdtemp(), "exp.yaml"), generations=3)
    >>> [line for line in file.read_text().splitlines() if "generations" in line][0].split()[:2]
    ['generations:', '3']
    """
    from howsure.sample.experiment import parse_experiment, takes_answer_form
    from howsure.sample.sampling_plan import build_plans
    from howsure.store.atomic import replace_file

    path = Path(path)
    if path.is_dir():
        raise InputError("a folder, not a file", where=str(path), remedy="name a file, such as exp.yaml")
    if path.exists() and not replace:
        raise InputError("exists already", where=str(path), remedy="name another file, or write over it with --force")
    if not models:
        raise InputError("no model", where="models", remedy="name one, such as simulated/medium or openai/gpt-4o-mini")
    spec = _describe_benchmark(benchmark, path.parent)
    text = _TEMPLATE.format(
        name=path.name,
        benchmark=spec,
        models="\n".join(f"  - {_describe_model(model, base_url, key_env)}" for model in models),
        generations=generations,
    )
    try:
        experiment = parse_experiment(text, where=str(path), base=path.parent)
    except InputError as error:
        if not error.what.startswith("no endpoint is known"):
            raise
        # The file with the line of the message is not written.
        remedy = "give its base_url (howsure init --base-url http://localhost:8000/v1), or name it openai/NAME"
        raise InputError(error.what, where="models", remedy=remedy) from None
    if takes_answer_form(experiment):
        text += _ANSWER_FORM
    if spec.startswith("{"):
        build_plans(experiment)  # a file of questions is read, so that the experiment runs
    with replace_file(path) as new:
        new.write_text(text, encoding="utf-8")
    return path


def _describe_model(model: str, base_url: str | None, key_env: str | None) -> str:
    """Return a model as a line of YAML."""
    keys = {"model": model, "base_url": base_url, "key_env": key_env}
    given = {key: value for key, value in keys.items() if value is not None}
    return _write_value(model) if len(given) == 1 else _write_flow(given)


def _write_flow(spec: Mapping[str, str | list[str]]) -> str:
    """Return keys and values as a mapping of YAML on one line."""
    return "{" + ", ".join(f"{key}: {_write_value(value)}" for key, value in spec.items()) + "}"


def _write_value(text: str | Sequence[str]) -> str:
    """Return a text as a value of YAML: as it is where YAML reads it as that text, else in quotation marks as in JSON.

    >>> [_write_value(text) for text in ("openai/gpt-4o-mini", "no", "a: b", "a,b", ["A", "B"])]
    ['openai/gpt-4o-mini', '"no"', '"a: b"', '"a,b"', '[A, B]']
    """
    if not isinstance(text, str):
        return f"[{', '.join(map(_write_value, text))}]"
    is_plain = re.fullmatch(r"[A-Za-z][\w./-]*", text) and yaml.safe_load(text) == text
    return text if is_plain else json.dumps(text)


def _describe_benchmark(benchmark: str, base: Path) -> str:
    """Return a benchmark as a value of YAML: a name that exists, or a file with its fields."""
    from howsure.benchmarks import describe_benchmarks, is_inspect_task
    from howsure.benchmarks.question_file import find_fields, from_file, suggest_scorer
    from howsure.rows.formats import find_format

    if is_inspect_task(benchmark):
        return _write_value(benchmark)
    if find_format(benchmark) is None and not Path(benchmark).is_file():
        describe_benchmarks(benchmark)
        return _write_value(benchmark)
    file = Path(benchmark)
    spec = {"file": _name_from(file, base), **find_fields(file)}
    with warnings.catch_warnings(record=True) as caught:  # the experiment is read again, with the scorer
        warnings.simplefilter("always", HowsureWarning)
        questions = from_file(spec, base=base).questions
    if any(note.code == "text-scorer" for note in list_warned(caught)):
        spec["scorer"] = str(suggest_scorer(questions))
    return _write_flow(spec)


def _name_from(file: Path, base: Path) -> str:
    """Return a path as the experiment names it: relative to the folder of the experiment where it lies below it."""
    try:
        return file.resolve().relative_to(base.resolve()).as_posix()
    except ValueError:
        return str(file.resolve())


def doctor(
    experiment: str | PathLike[str], output: str | PathLike[str] | None = None, *, offline: bool = False
) -> ExperimentChecks:
    """Check whether an experiment can run: its file, benchmarks, disk, limits, keys, and one request to each model.

    Parameters
    ----------
    experiment
        YAML file of the experiment.
    output
        Run folder; None takes the name of the experiment without its suffix.
    offline
        True sends nothing to the models.

    Returns
    -------
    ExperimentChecks
        A row for each check, with what to do; `is_ready` is False where a check found a problem.

    Examples
    --------
    >>> import tempfile
    >>> file = init(Path(tempfile.mkdtemp(), "exp.yaml"))
    >>> doctor(file).is_ready
    True
    """
    from howsure.sample.experiment_checks import check_experiment

    return check_experiment(Path(experiment), Path(output) if output is not None else None, sends=not offline)
