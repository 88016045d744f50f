r"""Build scorers by name; a scorer reads the answer of a completion and compares it with the target.

numeric
    The number that a completion gives (`extraction.numbers`), compared exactly: 18, 18.0 and $18 are one answer. A
    target may be a number, or a solution that states one ("... #### 18").
choice, choice:letter, choice:index, choice:number, choice:text
    The choice that a completion gives, by its label or its text (`extraction.multiple_choice`). The target may be a
    letter, a place counted from 0 (index) or from 1 (number), or the text of a choice. Name the kind where the targets
    of a benchmark can be read in several ways.
exact
    The whole completion, in any case, with any spaces and in any width of letters (NFKC).
regex:PATTERN, regex-first:PATTERN
    The last, or the first, match of a pattern: its first group that is not empty, or all of it. It is right where it
    equals the target as in `exact`, or as a number.
maths
    The expression that math-verify reads, where it is equal to the target: 1/2, 0.5 and \frac12; x+1 and 1+x.
own
    The benchmark's own extraction and grading in its present version, for run folders that howsure sampled.

The version of a scorer is the hash of the code that computes the score, so that a corrected rule has a new version.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from howsure.errors import InputError, UnknownNameError
from howsure.extraction.numbers import canonical_number, extract_number
from howsure.scorers.choice_scorer import build_choice_scorer
from howsure.scorers.maths import build_maths_scorer
from howsure.scorers.own_benchmark import build_own_scorer
from howsure.scorers.patterns import build_regex_scorer
from howsure.scorers.scorer_parts import RunContext, ScoredAnswer, Scorer, ScoringItem, hash_code, normalize_text

__all__ = ["SCORERS", "build_scorer"]


def build_scorer(spec: str, context: RunContext) -> Scorer:
    r"""Return a scorer by its name on the command line, such as `numeric` or `regex:answer: (\w+)`.

    Raises
    ------
    UnknownNameError
        When no scorer has this name.
    InputError
        When a pattern is not valid, a package is missing, or the folder lacks what the scorer needs.
    """
    name, _, argument = spec.partition(":")
    if name not in SCORERS:
        raise UnknownNameError("scorer", name, SCORERS)
    if argument and not name.startswith(("regex", "choice")):
        raise InputError(f"{name} has no argument, got {argument!r}", where="--scorer", remedy=f"write {name}")
    return SCORERS[name](spec, context)


def _build_numeric_scorer(spec: str, _: RunContext) -> Scorer:
    """Return the scorer `numeric`."""

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        target, answer = _parse_number(item.target), extract_number(completion)
        return ScoredAnswer(float(answer == target), answer, "number" if answer is not None else "no number")

    return Scorer(spec, hash_code("extraction.numbers", "extraction.statements"), score)


@lru_cache(maxsize=4096)
def _parse_number(target: str) -> str:
    """Return the number of a target in canonical form."""
    number = canonical_number(target) or extract_number(target)
    if number is None:
        text = " ".join(target.split())
        raise ValueError(f"the target {text if len(text) <= 60 else text[:57] + '...'!r} gives no number")
    return number


def _build_exact_scorer(spec: str, _: RunContext) -> Scorer:
    """Return the scorer `exact`."""

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        answer = normalize_text(completion) or None
        rule = "exact" if answer is not None else "empty"
        return ScoredAnswer(float(answer == normalize_text(item.target)), answer, rule)

    return Scorer(spec, hash_code("scorers.registry", "scorers.scorer_parts"), score)


#: Mapping from the name before the colon to a function of the whole name and the context.
SCORERS: dict[str, Callable[[str, RunContext], Scorer]] = {
    "numeric": _build_numeric_scorer,
    "choice": build_choice_scorer,
    "exact": _build_exact_scorer,
    "regex": build_regex_scorer,
    "regex-first": build_regex_scorer,
    "maths": build_maths_scorer,
    "own": build_own_scorer,
}
