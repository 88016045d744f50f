"""What harnesses write as a score, as a number; and which of several scores is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from howsure.errors import UnknownNameError
from howsure.readers.logs.row import Tell

__all__ = ["choose", "number"]

#: Inspect's letters (correct, incorrect, partial, no answer), and words that graders write.
_WORDS = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


def number(value: Any) -> float | None:
    """A score as a number, or None where there is none: null, NaN, infinite, an empty text.

    Raises
    ------
    ValueError
        When it is something else, such as a word or a list: there is no score to read in it.

    >>> number("C"), number(True), number("0.5"), number(float("nan"))
    (1.0, 1.0, 0.5, None)
    """
    if isinstance(value, str):
        text = value.strip().lower()
        if text in _WORDS:
            return _WORDS[text]
        value = float(text) if text else None
    if value is None:
        return None
    if not isinstance(value, (bool, int, float)):
        raise ValueError(f"{value!r} is no score")  # noqa: TRY004  whatever it is, the caller tells the same
    try:
        score = float(value)
    except OverflowError as error:
        raise ValueError("an integer beyond all floating-point numbers is no score") from error
    return score if math.isfinite(score) else None


def choose(scorers: Sequence[str], asked: str | None, *, where: str, tell: Tell) -> str:
    """The scorer that is read: the one asked for, by its name or a part of it that no other has, or the first.

    >>> choose(["exact_match,strict-match", "exact_match,flexible-extract"], "strict-match", where="", tell=print)
    'exact_match,strict-match'
    """
    if asked is None:
        if len(scorers) > 1:
            others = ", ".join(repr(name) for name in scorers[1:4]) + (", ..." if len(scorers) > 4 else "")
            tell(f"{len(scorers)} scorers, of which {scorers[0]!r} is read: --scorer reads another ({others})")
        return scorers[0]
    near = [asked] if asked in scorers else [name for name in scorers if asked in name.replace("/", ",").split(",")]
    if len(near) != 1:
        raise UnknownNameError("scorer", asked, scorers, where=where)
    return near[0]
