"""Whether a completion's mathematics says the same as a target's: read and compared by math-verify."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from howsure.extraction.numbers import canonical_number

__all__ = ["judge", "ready"]

_MARKED = re.compile(r"\$|\\boxed|\\fbox|\\\(|\\\[|\\begin")


def ready() -> None:
    """Import what `judge` needs: a second, or more on a slow machine."""
    judge("$1$", "1")


def judge(completion: str, target: str) -> tuple[str | None, float]:
    """The answer that a completion gives, or None, and 1.0 where it equals the target, else 0.0.

    It bounds no time: `apart` does.

    Parameters
    ----------
    target
        LaTeX with or without its dollars, a number, or a solution whose answer stands in a box or after "####".

    Raises
    ------
    ValueError
        When the target is no mathematics.
    """
    from math_verify import verify

    wanted = _target(target)
    if not wanted:
        raise ValueError(f"the target {target[:60]!r} is no mathematics")
    given = _parsed(completion)
    if not given:
        return None, 0.0
    equal = verify(wanted, given, timeout_seconds=None, raise_on_error=False)
    # Beside what was understood stands the text that it was understood from.
    return str(given[-1]), float(equal)


@lru_cache(maxsize=4096)
def _target(text: str) -> list[Any]:
    text = text.rpartition("####")[2].strip()
    number = canonical_number(text)
    if number is None and _MARKED.search(text):
        return _parsed(text)
    return _parsed(f"${number or text}$")


def _parsed(text: str) -> list[Any]:
    from math_verify import parse

    found: list[Any] = parse(text, parsing_timeout=None, raise_on_error=False)
    return found
