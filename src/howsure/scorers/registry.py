r"""Scorers by name: how an answer is read from a completion, and what it is worth beside the target.

numeric
    The number that a completion gives (`extraction.numbers`), exact: 18, 18.0 and $18 are one answer. A target may be a
    number, or a solution that states one ("... #### 18").
choice, choice:letter, choice:index, choice:number, choice:text
    The choice that a completion gives, by its label or its text (`extraction.choices`). The target may be a letter, a
    place counted from 0 (index) or from 1 (number), or the text of a choice; where that is open, say which.
exact
    The whole completion, whatever its case and spaces and the width of its letters (NFKC).
regex:PATTERN, regex-first:PATTERN
    The last, or the first, match of a pattern: its first group that is not empty, or all of it. Right where it is the
    target by the rule of `exact`, or the same number.
maths
    What math-verify makes of a completion and finds equal to the target: 1/2, 0.5 and \frac12; x+1 and 1+x.
own
    The benchmark's own reading as it is now, for run folders that howsure sampled before a rule was mended.

A scorer's version is the hash of the code that decides, so that a mended rule never passes for the old one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from importlib import metadata, util

from howsure.errors import InputError, ResourceLimitError, UnknownNameError
from howsure.extraction.numbers import canonical_number, extract_number
from howsure.scorers.base import Asked, Place, Scored, Scorer, rules

__all__ = ["SCORERS", "scorer"]

#: Seconds that a pattern, and an expression, may take on one completion.
SEARCHING, COMPARING = 1.0, 5.0
#: So many completions may be too much for a pattern before it is refused.
STUCK = 5


def scorer(spec: str, place: Place) -> Scorer:
    r"""A scorer by its name as it stands on the command line, such as `numeric` or `regex:answer: (\w+)`.

    Raises
    ------
    UnknownNameError
        When there is none of this name.
    InputError
        When a pattern cannot be read, a package is missing, or the folder does not have what the scorer needs.
    """
    name, _, argument = spec.partition(":")
    if name not in SCORERS:
        raise UnknownNameError("scorer", name, SCORERS)
    if argument and not name.startswith(("regex", "choice")):
        raise InputError(f"{name} takes nothing after it, got {argument!r}", where="--scorer", remedy=f"write {name}")
    return SCORERS[name](spec, place)


def normal(text: str) -> str:
    """A text as `exact` compares it."""
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()


@lru_cache(maxsize=4096)
def _number(target: str) -> str:
    number = canonical_number(target) or extract_number(target)
    if number is None:
        raise ValueError(f"the target {_short(target)} gives no number")
    return number


def _numeric(spec: str, _: Place) -> Scorer:
    def score(completion: str, asked: Asked) -> Scored:
        target, answer = _number(asked.target), extract_number(completion)
        return Scored(float(answer == target), answer, "number" if answer is not None else "no number")

    return Scorer(spec, rules("extraction.numbers", "extraction.statements"), score)


def _exact(spec: str, _: Place) -> Scorer:
    def score(completion: str, asked: Asked) -> Scored:
        answer = normal(completion) or None
        return Scored(float(answer == normal(asked.target)), answer, "exact" if answer is not None else "empty")

    return Scorer(spec, rules("scorers.registry"), score)


def _regex(spec: str, _: Place) -> Scorer:
    from howsure.scorers.sandbox import Apart

    name, _mark, pattern = spec.partition(":")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise InputError(f"the pattern {pattern!r} cannot be read: {error}", where="--scorer") from None
    if not pattern:
        raise InputError(
            "no pattern", where="--scorer", remedy="write regex:PATTERN, such as 'regex:#### (-?[0-9.,]+)'"
        )
    match = "first" if name == "regex-first" else "last"
    search = Apart(SEARCHING)
    stuck = 0

    def score(completion: str, asked: Asked) -> Scored:
        nonlocal stuck
        try:
            found = search("search", pattern, completion, match)
        except ResourceLimitError as error:
            stuck += 1
            if stuck < STUCK:
                raise
            what = f"the pattern {pattern!r} takes more than {SEARCHING:g} s on {stuck} completions"
            remedy = "write it without repeats inside repeats, or with possessive ones (a++)"
            raise InputError(what, where="--scorer", remedy=remedy) from error
        if found is None:
            return Scored(0.0, None, "no match")
        return Scored(float(_same(found, asked.target)), found, "match")

    return Scorer(spec, rules("scorers.registry", "scorers.patterns", "extraction.numbers"), score, search.close)


def _same(answer: str, target: str) -> bool:
    wanted = target.rpartition("####")[2].strip()
    if normal(answer) == normal(wanted):
        return True
    number = canonical_number(answer)
    return number is not None and number == canonical_number(wanted)


def _maths(spec: str, _: Place) -> Scorer:
    from howsure.scorers.sandbox import Apart

    if util.find_spec("math_verify") is None:
        remedy = 'pip install "howsure[maths]"'
        raise InputError("the scorer maths needs math-verify, which is not installed", where="--scorer", remedy=remedy)
    compare = Apart(COMPARING, first="ready")

    @lru_cache(maxsize=4096)
    def judged(completion: str, target: str) -> Scored:
        answer, score = compare("judge", completion, target)
        return Scored(score, answer, "math-verify" if answer is not None else "no mathematics")

    def score(completion: str, asked: Asked) -> Scored:
        return judged(completion, asked.target)

    version = f"math-verify-{metadata.version('math-verify')}-{rules('scorers.maths')}"
    return Scorer(spec, version, score, compare.close)


def _choice(spec: str, place: Place) -> Scorer:
    from howsure.scorers.choice_scorer import choice

    return choice(spec, place)


def _own(spec: str, place: Place) -> Scorer:
    from howsure.scorers.own_benchmark import own

    return own(spec, place)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 60 else text[:57] + "...")


#: Name before the colon -> function of the whole name and the place.
SCORERS: dict[str, Callable[[str, Place], Scorer]] = {
    "numeric": _numeric,
    "choice": _choice,
    "exact": _exact,
    "regex": _regex,
    "regex-first": _regex,
    "maths": _maths,
    "own": _own,
}
