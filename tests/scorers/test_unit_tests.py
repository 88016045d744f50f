"""Unit tests of completions: solutions pass and broken ones fail, on problems of the published forms.

Kind of truth: problems with solutions that were written and broken by hand; what plain Python says about them.
"""

import json

import pytest
from helpers.code_problems import PROBLEMS, needs_isolation
from helpers.long_cases import mark_long

from howsure.errors import InputError, UnknownNameError
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import ScoringItem
from howsure.scorers.unit_tests import parse_code_question

pytestmark = needs_isolation

#: Problems that are tried in each run of the tests; the others are marked long.
N_EVERYDAY = 2


@pytest.fixture(scope="module")
def scorer():
    scorer = build_scorer("unit-tests", "test")
    yield scorer
    scorer.close()


@pytest.fixture(scope="module")
def scorers_of_values():
    scorers = {form: build_scorer(f"unit-tests:{form}", "test") for form in ("output", "input")}
    yield scorers
    for one in scorers.values():
        one.close()


def give(scorer, completion, target):
    return scorer.score(completion, ScoringItem("b", "q", "v", json.dumps(target)))


def test_the_problems_say_what_they_mean():
    """Plain Python, without a sandbox: each solution passes and each broken one fails."""
    for problem in PROBLEMS:
        namespace = {}
        exec(problem.prompt + problem.solution + problem.test + f"\ncheck({problem.entry_point})", namespace)


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(problem, id=problem.entry_point, marks=pytest.mark.long if i >= N_EVERYDAY else [])
        for i, problem in enumerate(PROBLEMS)
    ],
)
def test_solutions_pass_and_broken_ones_fail(scorer, problem):
    target = {key: problem.row[key] for key in ("prompt", "test", "entry_point")}
    forms = [problem.solution, f"```python\n{problem.prompt}{problem.solution}```"]
    assert [give(scorer, form, target)[:2] for form in forms] == [(1.0, "passed")] * 2
    for broken in problem.broken:
        if "while True" in broken:
            continue  # below
        assert give(scorer, broken, target)[:2] == (0.0, "failed"), broken


@pytest.mark.long
def test_what_never_ends_fails(scorer):
    problem = next(problem for problem in PROBLEMS if problem.entry_point == "roman")
    target = {key: problem.row[key] for key in ("prompt", "test", "entry_point")}
    result = give(scorer, problem.broken[1], target)
    assert result.score == 0
    assert result.rule == "continuation, time limit"


MBPP = {
    "code": "import math\ndef sum(a, b):\n    return a + b\nclass Pair:\n    def __init__(self, a): self.a = a",
    "test_imports": ["import math"],
    "test_list": ["assert sum(1, 2) == 3", "assert math.isclose(sum(.1, .2), .3)", "assert sum(Pair(1).a, 1) == 2"],
}
SOLUTION = "class Pair:\n    def __init__(self, a):\n        self.a = a\n\ndef sum(a, b):\n    return a + b\n"


@pytest.mark.parametrize(
    ("completion", "score"),
    mark_long(
        [
            (f"```python\n{SOLUTION}```", 1),
            (SOLUTION, 1),
            (f"Text.\n```python\n{SOLUTION}\nprint(sum(1, 2))\n```\nText.", 1),
            (SOLUTION.replace("a + b", "math.fsum([a, b])"), 1),
            (SOLUTION.replace("a + b", "a - b"), 0),
            (SOLUTION.replace("def sum", "def total"), 0),
            ("def sum(a, b): return a + b", 0),
            ("def sum(a, b)\n    return a + b", 0),
            ("I do not know.", 0),
            ("math.isclose = lambda a, b: True\n" + SOLUTION.replace("a + b", "int(a + b)"), 0),
        ],
        after=5,
    ),
)
def test_assertions_as_mbpp_has_them(scorer, completion, score):
    assert give(scorer, completion, MBPP).score == score
    text = MBPP | {"test_imports": "['import math']", "test_list": str(MBPP["test_list"])}
    assert give(scorer, completion, text).score == score


def test_assertions_without_a_solution_name_what_they_call():
    question = parse_code_question(json.dumps({"test_list": ["assert len(f(1)) == g(2)"]}))
    assert set(question.names) == {"f", "g"}


CRUXEVAL = {
    "code": "def f(text, n):\n    return {text[:n]: [n, (1,)]}",
    "input": "'hello', 2",
    "output": "{'he': [2, (1,)]}",
}


@pytest.mark.parametrize(
    ("form", "completion", "score"),
    mark_long(
        [
            ("output", "Answer: {'he': [2, (1,)]}", 1),
            ("output", '[ANSWER]assert f("hello", 2) == {"he": [2, (1,)]}[/ANSWER]', 1),
            ("output", "```python\n{'he': [2, (1,)]}\n```", 1),
            ("output", "f('hello', 2) == {'he': [2, (1,)]}", 1),
            ("output", "Answer: {'he': [2, [1]]}", 0),
            ("output", "Answer: f('hello', 2)", 0),
            ("output", "Answer: type('A', (), {'__eq__': lambda s, o: True})()", 0),
            ("output", "", 0),
            ("input", "Answer: f('hello', 2)", 1),
            ("input", "Answer: f('help', n=2)", 1),
            ("input", "[ANSWER]assert f('he', 2) == {'he': [2, (1,)]}[/ANSWER]", 1),
            ("input", "Answer: 'hey', 2", 1),
            ("input", "Answer: f('hello', 3)", 0),
            ("input", "Answer: f()", 0),
            ("input", "Answer: f(type('A', (), {'__getitem__': lambda s, i: 'he'})(), 2)", 0),
            ("input", "No.", 0),
            ("input", "Answer: f(*(['he'], 2))", 0),
            ("input", "Answer: f('h' + 'ex', 2 * 1)", 1),
        ],
        after=10,
    ),
)
def test_values_as_cruxeval_has_them(scorers_of_values, form, completion, score):
    assert give(scorers_of_values[form], completion, CRUXEVAL).score == score


@pytest.mark.parametrize(
    "argument",
    [
        "type('A', (), {'upper': lambda s: 'HE'})()",
        "__import__('types').SimpleNamespace(upper=lambda: 'HE')",
        "type('A', (str,), {'upper': lambda s: 'HE'})('no')",
        "type('A', (str,), {'upper': str.upper, '__new__': lambda c, v: 'no'})('no')",
    ],
)
def test_an_argument_whose_methods_give_the_output_is_no_input(argument):
    scorer = build_scorer("unit-tests:input", "test")
    target = {"code": "def f(text):\n    return text.upper()", "input": "'he'", "output": "'HE'"}
    try:
        assert give(scorer, f"Answer: f({argument})", target).score == 0
        assert give(scorer, "Answer: f('hE')", target).score == 1
    finally:
        scorer.close()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("18", "holds no tests"),
        ('{"a": 1}', "neither test_list nor prompt"),
        ('{"test_list": []}', "test_list is empty"),
        ('{"test_list": ["assert ("]}', "test_list of the target is no Python"),
        ('{"test_list": ["assert 1"]}', "call no function"),
        ('{"prompt": "", "test": "def (", "entry_point": "f"}', "test of the target is no Python"),
    ],
)
def test_targets_that_hold_no_tests(target, message):
    with pytest.raises(ValueError, match=message):
        parse_code_question(target)


def test_forms_and_names():
    with pytest.raises(InputError, match="unknown form 'x'"):
        build_scorer("unit-tests:x", "test")
    with pytest.raises(UnknownNameError, match="did you mean 'unit-tests'"):
        build_scorer("unit_tests", "test")
    with pytest.raises(ValueError, match="lacks code, input or output"):
        parse_code_question('{"code": "x"}', "output")


def test_the_same_code_is_run_once_and_a_completion_without_code_is_not_run(scorer, monkeypatch):
    target = {key: PROBLEMS[0].row[key] for key in ("prompt", "test", "entry_point")}
    first = give(scorer, PROBLEMS[0].solution, target)
    monkeypatch.setattr("howsure.sandbox.code_pool.CodePool.judge", None)
    assert give(scorer, PROBLEMS[0].solution, target) == first
    assert give(scorer, "", target) == (0.0, None, "empty")
