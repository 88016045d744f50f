"""Define the scorer `python:MODULE.FUNCTION`, a function that the user wrote.

The function takes the completion and the target, and further arguments if it has parameters of their names; it returns
a number from 0 to 1, or a pair of it and the answer that it read, or None where it could not read one::

    def mentions(completion: str, target: str) -> float:
        return float(target.lower() in completion.lower())

It runs in this process with all rights of the user, since the user wrote it.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import numbers
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FunctionType

from howsure.errors import InputError
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code

#: Parameter of a function -> what it receives of an item, besides the completion and the target.
_EXTRA: dict[str, Callable[[ScoringItem], object]] = {
    "question": lambda item: item.context.question,
    "choices": lambda item: item.context.choices,
    "question_id": lambda item: item.question,
    "benchmark": lambda item: item.benchmark,
}


def build_python_scorer(spec: str, where: str) -> Scorer:
    """Return the scorer `python:MODULE.FUNCTION`.

    Its version is the hash of the module's file, and of the code that removes thoughts from completions; other files
    that the module imports are not part of it.

    Parameters
    ----------
    spec
        Such as `python:my_scorers.mentions`; the module is searched in the working folder, then among installed ones.

    Raises
    ------
    InputError
        When the module cannot be imported, or has no such function, or the function takes other arguments.
    """
    path = spec.partition(":")[2]
    module_name, _, name = path.rpartition(".")
    if not all(part.isidentifier() for part in path.split(".")) or not module_name:
        remedy = "write python:MODULE.FUNCTION, such as python:my_scorers.mentions"
        raise InputError(f"{path!r} names no function of a module", where=where, remedy=remedy)
    function = _import_function(module_name, name, where)
    extra = _find_extra(function, path, where)
    source = inspect.getsourcefile(function)
    assert source is not None

    lock = threading.Lock()

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        given = {key: _EXTRA[key](item) for key in extra}
        with lock:  # the function need not be written for several threads
            result = function(completion, item.target, **given)
        return _read_result(result, path)

    # The function may be slow, so that a live run waits for it in a thread.
    version = hashlib.sha256(Path(source).read_bytes() + hash_code().encode()).hexdigest()[:8]
    return Scorer(spec, version, score, in_subprocess=True)


def _import_function(module_name: str, name: str, where: str) -> FunctionType:
    """Return a function of a module, which may lie in the working folder."""
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        module = import_module(module_name)
    except Exception as error:  # a module of the user may raise anything
        what = f"the module {module_name} cannot be imported: {type(error).__name__}: {error}"
        remedy = f"run it from the folder of {module_name.partition('.')[0]}.py, or correct the module"
        raise InputError(" ".join(what.split())[:300], where=where, remedy=remedy) from error
    finally:
        sys.path.remove(folder)
    function = inspect.unwrap(getattr(module, name, None))  # type: ignore[arg-type]  # None is returned as it is
    if not isinstance(function, FunctionType) or inspect.iscoroutinefunction(function):
        present = [key for key, value in vars(module).items() if isinstance(value, FunctionType) and key[0] != "_"]
        remedy = f"name one of its functions: {', '.join(present[:10]) or 'it has none'}"
        raise InputError(f"{module_name} has no function {name!r} written in Python", where=where, remedy=remedy)
    return function


def _find_extra(function: FunctionType, path: str, where: str) -> list[str]:
    """Return the parameters of a function that get more than the completion and the target."""
    parameters = list(inspect.signature(function).parameters.values())
    extra = [one.name for one in parameters[2:] if one.name in _EXTRA]
    try:
        inspect.signature(function).bind("", "", **dict.fromkeys(extra, ""))
    except TypeError as error:
        remedy = f"give it the parameters completion and target, and if wanted {', '.join(_EXTRA)}"
        raise InputError(f"{path} cannot be called: {error}", where=where, remedy=remedy) from None
    return extra


def _read_result(result: object, path: str) -> ScoredAnswer:
    """Return the score that a function gave, with its answer.

    Raises
    ------
    ValueError
        When it is no number from 0 to 1, nor a pair of one and an answer.
    """
    if result is None:
        return ScoredAnswer(0.0, None, "no answer")
    value, answer = result if isinstance(result, tuple) and len(result) == 2 else (result, ...)
    if not isinstance(value, numbers.Real) and not hasattr(value, "__float__"):
        raise ValueError(f"{path} returned {str(result)[:60]!r}, which is no number from 0 to 1")
    score = float(value)
    if not (math.isfinite(score) and 0 <= score <= 1):
        raise ValueError(f"{path} returned {score:g}, which is no number from 0 to 1")
    if answer is None:
        return ScoredAnswer(0.0, None, "no answer")
    return ScoredAnswer(score, f"{score:g}" if answer is ... else str(answer), "function")
