"""Exceptions of the package: one tree in one module, usable as Python's own, and whole after pickling."""

import ast
import inspect
import pickle
import re
from pathlib import Path

import pytest

from howsure import errors
from howsure.errors import (
    BudgetSpentError,
    EmptyShardError,
    EndpointError,
    FatalEndpointError,
    HowsureError,
    InputError,
    ResourceLimitError,
    SamplingStoppedError,
    StoreError,
    UnknownNameError,
)

ONE_OF_EACH = [
    InputError("level is 95", where="score", remedy="did you mean 0.95?"),
    UnknownNameError("model", "medum", ["small", "medium"], where="--a"),
    EmptyShardError("sums", 2, shard=3),
    StoreError("the folder is locked"),
    EndpointError("too many requests", reason="rate_limit", status=429, retry_after=2.0),
    FatalEndpointError("wrong key", reason="unauthorized", status=401),
    BudgetSpentError("calls", "50 of 50 calls made"),
    SamplingStoppedError(),
    ResourceLimitError("it took more than 2 s"),
]


def test_there_is_one_of_each():
    classes = {value for _, value in inspect.getmembers(errors, inspect.isclass) if issubclass(value, Exception)}
    assert {type(error) for error in ONE_OF_EACH} == {
        one for one in classes if one.__module__ == errors.__name__ and issubclass(one, HowsureError)
    } - {HowsureError}


def test_each_is_in_the_tree_of_the_documentation():
    classes = [type(error).__name__ for error in ONE_OF_EACH]
    assert all(name in errors.__doc__ for name in [*classes, "HowsureError", "HowsureWarning"])


@pytest.mark.parametrize("error", ONE_OF_EACH, ids=lambda error: type(error).__name__)
def test_it_is_the_same_after_pickling(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_wrong_input_is_a_value_error():
    with pytest.raises(ValueError, match="^score: level is 95; did you mean 0.95\\?$"):
        raise ONE_OF_EACH[0]


def test_no_other_module_defines_a_public_exception():
    """Private ones may stay where they are; the sandbox has no package howsure to import its exception from."""
    found = []
    for file in Path(errors.__file__).parent.rglob("*.py"):
        if file.name == "guest_process.py":
            continue
        text = file.read_text()
        if not re.search(r"class\s+\w+\([^)]*(Error|Exception|Warning)", text):  # parsing all files takes seconds
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and file.name != "errors.py":
                bases = [ast.unparse(base) for base in node.bases]
                found += [f"{file}: {node.name}" for base in bases if base.endswith(("Error", "Exception", "Warning"))]
    assert not found


def test_a_name_is_proposed_only_where_it_is_near():
    """A transposed, a missing or a wrong letter is near; two common letters of four are not."""
    names = ["drop", "numeric", "choice", "maths"]
    assert UnknownNameError("scorer", "nope", names).remedy == "known: choice, drop, maths, numeric"
    for typed, meant in (("dorp", "drop"), ("nummeric", "numeric"), ("math", "maths"), ("choise", "choice")):
        assert UnknownNameError("scorer", typed, names).remedy == f"did you mean {meant!r}?"
