"""Functions of the user as scorers: what they may return, what they receive, and how they are named."""

import textwrap

import pytest

from howsure.errors import InputError
from howsure.scorers.completion_text import CompletionContext
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import ScoringItem

MODULE = """
def mentions(completion, target):
    return target.lower() in completion.lower()

def share(completion, target, question="", choices=(), other=3):
    return (len(set(completion) & set(target)) / len(set(target)), f"{question}{len(choices)}")

def silent(completion, target): return None
def silent_answer(completion, target): return 1.0, None
def too_large(completion, target): return 1.5
def nothing(completion, target): return "yes"
def fails(completion, target): raise KeyError(target)
def needs_more(completion, target, grade): return 1
def everything(completion, target, **more): return 1
async def later(completion, target): return 1
class Judge: pass
"""


@pytest.fixture
def function(tmp_path, monkeypatch):
    (tmp_path / "own_scorers_for_a_test.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.chdir(tmp_path)

    def build(name):
        scorer = build_scorer(f"python:own_scorers_for_a_test.{name}", "test")
        context = CompletionContext("Which?", ("a", "b"))
        return lambda completion: scorer.score(completion, ScoringItem("b", "q", "v", "Paris", context))

    yield build
    import sys

    sys.modules.pop("own_scorers_for_a_test", None)


def test_scores_are_what_the_function_returns(function):
    assert function("mentions")("It is paris.") == (1.0, "1", "function")
    assert function("mentions")("Rome") == (0.0, "0", "function")
    assert function("share")("Pari") == (0.8, "Which?2", "function")
    assert function("silent")("Rome") == (0.0, None, "no answer")
    assert function("silent_answer")("Rome").answer is None
    assert function("everything")("Rome").score == 1
    for name in ("too_large", "nothing"):
        with pytest.raises(ValueError, match="which is no number from 0 to 1"):
            function(name)("Rome")
    with pytest.raises(KeyError):
        function("fails")("Rome")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("python:", "names no function of a module"),
        ("python:mentions", "names no function of a module"),
        ("python:a-b.c", "names no function of a module"),
        ("python:no_such_module.f", "no_such_module cannot be imported: ModuleNotFoundError"),
        ("python:own_scorers_for_a_test.mention", "no function 'mention'"),
        ("python:own_scorers_for_a_test.Judge", "no function 'Judge'"),
        ("python:own_scorers_for_a_test.later", "no function 'later'"),
        ("python:own_scorers_for_a_test.needs_more", "cannot be called: missing a required argument: 'grade'"),
        ("python:os.system", "no function 'system' written in Python"),
    ],
)
@pytest.mark.usefixtures("function")
def test_names_of_no_function_say_what_is_wrong(spec, message):
    with pytest.raises(InputError, match=message):
        build_scorer(spec, "test")


@pytest.mark.usefixtures("function")
def test_the_version_is_the_hash_of_the_file(tmp_path):
    first = build_scorer("python:own_scorers_for_a_test.mentions", "test").version
    assert build_scorer("python:own_scorers_for_a_test.share", "test").version == first
    file = tmp_path / "own_scorers_for_a_test.py"
    file.write_text(file.read_text() + "\n# changed\n")
    assert build_scorer("python:own_scorers_for_a_test.mentions", "test").version != first
