"""Build scorers by name; a scorer reads the answer of a completion and compares it with the target.

Every scorer gets completions without the thoughts of thinking models and without further questions
(`completion_text`), and its version is the hash of the code that computes the score.

docs/answers.md lists the scorers and what each reads; their modules say how.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from howsure.errors import InputError, UnknownNameError
from howsure.scorers.directions import build_direction_scorer
from howsure.scorers.drop import build_drop_scorer
from howsure.scorers.ifeval import build_ifeval_scorer
from howsure.scorers.item_list import build_list_scorer
from howsure.scorers.maths import build_maths_scorer
from howsure.scorers.numbers import extract_number, read_number
from howsure.scorers.numerals import canonical_number
from howsure.scorers.open_answers import (
    build_contains_scorer,
    build_exact_scorer,
    build_f1_scorer,
    build_normalised_scorer,
)
from howsure.scorers.patterns import build_regex_scorer
from howsure.scorers.python_function import build_python_scorer
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, clean_first, hash_code
from howsure.scorers.unit_tests import build_unit_test_scorer
from howsure.scorers.yes_no import build_yes_no_scorer


def build_scorer(spec: str, where: str, names: Iterable[str] = ()) -> Scorer:
    r"""Return a scorer by its name, such as `numeric` or `regex:answer: (\w+)`.

    Parameters
    ----------
    spec
        A key of `SCORERS`, and after a colon its argument.
    where
        Where the name was written, for errors: an option of the command line, or a key of an experiment.
    names
        Names of further scorers that could have been written there, for suggestions.

    Raises
    ------
    UnknownNameError
        When no scorer has this name.
    InputError
        When a pattern is not valid or a package is missing.
    """
    name, _, argument = spec.partition(":")
    if name not in SCORERS:
        raise UnknownNameError("scorer", name, sorted({*SCORERS, *names}), where=where)
    if argument and not name.startswith(("regex", "list", "drop", "ifeval", "unit-tests", "python")):
        raise InputError(f"{name} has no argument, got {argument!r}", where=where, remedy=f"write {name}")
    return clean_first(SCORERS[name](spec, where))


def _build_numeric_scorer(spec: str, _: str) -> Scorer:
    """Return the scorer `numeric`."""

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        answer, rule = read_number(completion, item.context)
        return ScoredAnswer(float(answer == _parse_number(item.target)), answer, rule)

    return Scorer(spec, hash_code("scorers.numbers", "scorers.numerals", "scorers.open_answers"), score)


@lru_cache(maxsize=4096)
def _parse_number(target: str) -> str:
    """Return the number of a target in canonical form."""
    number = canonical_number(target) or extract_number(target)
    if number is None:
        raise ValueError(f"the target {_quote_short(target)} gives no number")
    return number


def _quote_short(text: str) -> str:
    """Return a text in quotation marks, cut to 60 characters."""
    text = " ".join(text.split())
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _build_judge_scorer(spec: str, where: str) -> Scorer:
    """Return the scorer `judge`, which has no rule of its own: a model gives the verdicts."""

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        del completion, item
        remedy = "name the model: judge: {model: ...} in the experiment, or howsure rescore --judge FILE"
        raise InputError("a judge is a model, and none is named", where=where, remedy=remedy)

    return Scorer(spec, "0", score)


#: Mapping from the name before the colon to a function of the whole name and the context.
SCORERS: dict[str, Callable[[str, str], Scorer]] = {
    "numeric": _build_numeric_scorer,
    "direction": build_direction_scorer,
    "normalised": build_normalised_scorer,
    "f1": build_f1_scorer,
    "drop": build_drop_scorer,
    "list": build_list_scorer,
    "yes-no": build_yes_no_scorer,
    "contains": build_contains_scorer,
    "exact": build_exact_scorer,
    "regex": build_regex_scorer,
    "regex-first": build_regex_scorer,
    "maths": build_maths_scorer,
    "ifeval": build_ifeval_scorer,
    "unit-tests": build_unit_test_scorer,
    "python": build_python_scorer,
    "judge": _build_judge_scorer,
}
