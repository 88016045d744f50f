"""Define the scorer `unit-tests`, which runs the tests of a question on the code of a completion, in the sandbox.

The target is a JSON object with the fields of the published benchmark:

- `prompt`, `test` and `entry_point`, as HumanEval has them: `test` defines `check(candidate)`;
- `test_list` with assertions, and perhaps `test_imports` and `code` (a solution), as MBPP has them;
- `code`, `input` and `output`, as CRUXEval has them, for the forms `unit-tests:output` and `unit-tests:input`.
"""

from __future__ import annotations

import ast
import builtins
import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from howsure.errors import InputError
from howsure.sandbox.code_pool import CodeJob, CodePool
from howsure.scorers.code_blocks import CodeAnswer, defined_names, extract_code, extract_expression, parse_python
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.scorers.targets import parse_items

#: What the completion gives: functions, the result of a call, or the arguments of one.
FORMS = ("functions", "output", "input")
#: Name under which the sandbox has the value of a completion.
_VALUE = "_value_of_the_completion"
#: Raises where an argument is an object of the completion: its methods could return what the function should compute.
_REQUIRE_PLAIN = """
def require_plain(value):
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            require_plain(item)
    elif value is not None and not isinstance(value, (int, float, complex, str, bytes, range)):
        raise TypeError("an argument is no plain value")
require_plain([args, kwargs])"""


class CodeQuestion(NamedTuple):
    """How a completion becomes a program, and the tests of that program."""

    names: tuple[str, ...]
    """Names that the tests use of the completion."""
    tests: str
    prelude: str
    """What the tests need besides: imports, and helpers of the prompt."""
    extract: Callable[[str], CodeAnswer]
    """Function from a completion to its program."""


def build_unit_test_scorer(spec: str, where: str) -> Scorer:
    """Return the scorer `unit-tests`, with its form after a colon.

    Raises
    ------
    InputError
        When the form is none of `FORMS`.
    """
    form = spec.partition(":")[2] or FORMS[0]
    if form not in FORMS:
        raise InputError(f"unknown form {form!r}", where=where, remedy=f"write unit-tests:{'|'.join(FORMS)}")
    pool = CodePool()

    @lru_cache(maxsize=4096)
    def run(code: str, target: str) -> tuple[bool, str]:
        question = parse_code_question(target, form)
        verdict = pool.judge(CodeJob(code, question.names, question.tests, question.prelude))
        return verdict.passed, _describe(verdict.outcome, verdict.error)

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        answer = parse_code_question(item.target, form).extract(completion)
        if answer.code is None:
            return ScoredAnswer(0.0, None, answer.rule)
        passed, reason = run(answer.code, item.target)
        return ScoredAnswer(float(passed), "passed" if passed else "failed", f"{answer.rule}, {reason}")

    version = hash_code("scorers.unit_tests", "scorers.code_blocks", "sandbox.guest_process", "sandbox.code_pool")
    return Scorer(spec, version, score, pool.close, in_subprocess=True, prepare=pool.prepare)


def _describe(outcome: str, error: str) -> str:
    """Return what became of the tests in a few words, such as "failed: TypeError"."""
    kind = error.partition(":")[0]
    return f"failed: {kind}" if outcome == "failed" and kind.isidentifier() else outcome


@lru_cache(maxsize=4096)
def parse_code_question(target: str, form: str = "functions") -> CodeQuestion:
    """Return the tests of a target.

    Parameters
    ----------
    target
        A JSON object; see the module.
    form
        One of `FORMS`.

    Raises
    ------
    ValueError
        When the target has other fields, or its code is no Python.

    Examples
    --------
    >>> parse_code_question('{"test_list": ["assert double(2) == 4"]}').names
    ('double',)
    """
    content = json.loads(target) if target.lstrip().startswith("{") else None
    if not isinstance(content, dict):
        raise ValueError("the target holds no tests")  # noqa: TRY004  # the value is wrong, not the caller's type
    if form != "functions":
        return _parse_assertion(content, form)
    if {"prompt", "test", "entry_point"} <= content.keys():
        return _parse_check(*(str(content[key]) for key in ("prompt", "test", "entry_point")))
    if "test_list" in content:
        return _parse_assertions(content)
    raise ValueError("the target has neither test_list nor prompt, test and entry_point")


def _parse_check(prompt: str, test: str, entry_point: str) -> CodeQuestion:
    """Return the question of a prompt that a function continues, with a test that defines `check`."""
    _require_python(test, "test")
    # The prompt without its body is a program only if its function has a documentation.
    prelude = prompt if parse_python(prompt) else _keep_imports(prompt)
    tests = f"{test}\n\ncheck({entry_point})\n"
    return CodeQuestion((entry_point,), tests, prelude, lambda text: extract_code(text, [entry_point], prompt))


def _parse_assertions(content: Mapping[str, object]) -> CodeQuestion:
    """Return the question of a list of assertions."""
    tests = "\n".join(_read_lines(content["test_list"]))
    if not tests.strip():
        raise ValueError("test_list is empty")
    _require_python(tests, "test_list")
    imports = "\n".join(_read_lines(content.get("test_imports")))
    solution = str(content.get("code") or "")
    names = tuple(defined_names(solution)) or tuple(_find_called(tests))
    prelude = "\n".join(filter(None, (_keep_imports(solution), imports)))

    def extract(text: str) -> CodeAnswer:
        answer = extract_code(text, names)
        return answer if answer.code is None else answer._replace(code=f"{imports}\n\n{answer.code}")

    return CodeQuestion(names, tests, prelude, extract)


def _parse_assertion(content: Mapping[str, object], form: str) -> CodeQuestion:
    """Return the question of a function whose output, or input, the completion gives."""
    if not {"code", "input", "output"} <= content.keys():
        raise ValueError("the target lacks code, input or output")
    code, output = str(content["code"]), str(content["output"])  # any input with this output is right
    for name, text in (("code", code), ("output", output)):
        _require_python(text, name)
    if form == "output":
        tests = f"assert {_VALUE}() == ({output})"
        return CodeQuestion((_VALUE,), tests, "", lambda text: _write_value(text, _read_output))
    tests = f"args, kwargs = {_VALUE}()\n{_REQUIRE_PLAIN}\nassert f(*args, **kwargs) == ({output})"
    return CodeQuestion((_VALUE,), tests, code, lambda text: _write_value(text, _read_arguments))


def _write_value(completion: str, read: Callable[[str], str | None]) -> CodeAnswer:
    """Return a program that defines a function with the value of a completion."""
    expression = extract_expression(completion, "f")
    value = None if expression is None else read(expression)
    if value is None:
        return CodeAnswer(None, "no expression")
    # The function of the question is not defined there: a completion that calls it has not computed the value.
    return CodeAnswer(f"def {_VALUE}():\n    return {value}", "expression")


def _read_output(expression: str) -> str | None:
    """Return the other side of a comparison with a call of the function, or the expression itself."""
    node = ast.parse(expression, mode="eval").body
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        sides = [node.left, node.comparators[0]]
        calls = [_is_call(side) for side in sides]
        if any(calls):
            return ast.unparse(sides[calls.index(True) - 1])
    return expression


def _read_arguments(expression: str) -> str | None:
    """Return the arguments of the call of the function, or the expression itself as arguments."""
    node = ast.parse(expression, mode="eval").body
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node]
    arguments = expression
    for side in sides:
        if isinstance(side, ast.Call) and _is_call(side):
            arguments = ", ".join(map(ast.unparse, [*side.args, *side.keywords]))
            break
    else:
        if isinstance(node, ast.Tuple) and not expression.startswith("("):
            arguments = ", ".join(map(ast.unparse, node.elts))
    call = f"(lambda *args, **kwargs: (args, kwargs))({arguments})"
    return call if parse_python(call) else None


def _is_call(node: ast.expr) -> bool:
    """Return whether a node calls the function of the question."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "f"


def _read_lines(value: object) -> list[str]:
    """Return a list of texts, which may be written as one text."""
    if isinstance(value, str):
        # A file of delimited text has a list as Python or JSON writes it.
        return [name for names in parse_items(value) for name in names] if value.startswith("[") else value.split("\n")
    return [str(line) for line in value] if isinstance(value, Iterable) else []


def _find_called(tests: str) -> Iterable[str]:
    """Return the names that tests call and that are neither built in nor defined by themselves."""
    present = {*dir(builtins), *defined_names(tests)}
    nodes = [node.func for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.Call)]
    names = [node.id for node in nodes if isinstance(node, ast.Name) and node.id not in present]
    if not names:
        raise ValueError("the tests call no function")
    return dict.fromkeys(names)


def _keep_imports(code: str) -> str:
    """Return the imports at the top level of a program."""
    if parse_python(code) is None:
        return "\n".join(line for line in code.split("\n") if line.startswith(("import ", "from ")))
    nodes = [node for node in ast.parse(code).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return "\n".join(map(ast.unparse, nodes))


def _require_python(code: str, name: str) -> None:
    """Raise if a field of the target is no Python."""
    if parse_python(code) is None:
        raise ValueError(f"{name} of the target is no Python")
