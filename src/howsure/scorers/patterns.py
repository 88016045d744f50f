"""Define the scorers `regex` and `regex-first`, which read an answer with a pattern of the user."""

from __future__ import annotations

import re
from collections import deque

from howsure.errors import InputError, ResourceLimitError
from howsure.sandbox.call_pool import CallPool
from howsure.scorers.numerals import canonical_number
from howsure.scorers.open_answers import normalize_text
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.scorers.targets import parse_targets

#: Processor time that a pattern may take on one completion, in seconds.
SECONDS = 1.0
#: Number of completions on which a pattern may take too long before it is refused.
MAX_TIMEOUTS = 5


def search_pattern(pattern: str, text: str, place: str) -> str | None:
    r"""Return the "first" or the "last" match of a pattern: its first group that is not empty, or all of it.

    >>> search_pattern(r"(-?[0-9]+)", "9 * 2 = 18", "last"), search_pattern(r"#### (\w+)", "no mark", "first")
    ('18', None)
    """
    matches = re.finditer(pattern, text)
    match = next(matches, None)
    if place == "last":
        match = next(iter(deque(matches, maxlen=1)), match)
    if match is None:
        return None
    return next(filter(None, match.groups()), "") if match.groups() else match[0]


def build_regex_scorer(spec: str, where: str) -> Scorer:
    """Return the scorer `regex:PATTERN` or `regex-first:PATTERN`.

    Raises
    ------
    InputError
        When the pattern is missing or is not valid.
    """
    name, _mark, pattern = spec.partition(":")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise InputError(f"the pattern {pattern!r} cannot be read: {error}", where=where) from None
    if not pattern:
        remedy = "write regex:PATTERN, such as 'regex:#### (-?[0-9.,]+)'"
        raise InputError("no pattern", where=where, remedy=remedy)
    place = "first" if name == "regex-first" else "last"
    pool = CallPool(SECONDS)
    timeouts = 0

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        nonlocal timeouts
        try:
            answer = pool.call(search_pattern, pattern, completion, place)
        except ResourceLimitError as error:
            timeouts += 1
            if timeouts < MAX_TIMEOUTS:
                raise
            what = f"the pattern {pattern!r} takes more than {SECONDS:g} s on {timeouts} completions"
            remedy = "write it without repeats inside repeats, or with possessive ones (a++)"
            raise InputError(what, where=where, remedy=remedy) from error
        if not isinstance(answer, str):
            return ScoredAnswer(0.0, None, "no match")
        right = any(_equals_target(answer, target) for target in parse_targets(item.target))
        return ScoredAnswer(float(right), answer, "match")

    version = hash_code("scorers.patterns", "scorers.scorer_parts", "scorers.numerals")
    return Scorer(spec, version, score, pool.close, in_subprocess=True)


def _equals_target(answer: str, target: str) -> bool:
    """Return whether an answer is the target as a text or as a number."""
    target = target.rpartition("####")[2].strip()
    if normalize_text(answer) == normalize_text(target):
        return True
    number = canonical_number(answer)
    return number is not None and number == canonical_number(target)
