"""What a user's pattern finds in a completion."""

from __future__ import annotations

import re
from collections import deque

__all__ = ["search"]


def search(pattern: str, text: str, place: str) -> str | None:
    r"""What the "first" or "last" match of a pattern says: its first group that is not empty, or all of it.

    >>> search(r"(-?[0-9]+)", "9 * 2 = 18", "last"), search(r"#### (\w+)", "no mark", "first")
    ('18', None)
    """
    matches = re.finditer(pattern, text)
    found = next(matches, None)
    if place == "last":
        found = next(iter(deque(matches, maxlen=1)), found)
    if found is None:
        return None
    return next(filter(None, found.groups()), "") if found.groups() else found[0]
