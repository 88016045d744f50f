"""Width of printed results: statistics know of no terminal, so the package that has one sets the function.

A module of its own, which imports no numpy: `howsure.api` sets the function before it imports any other module.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["find_printed_width", "set_printed_width"]

_functions: list[Callable[[], int | None]] = []


def set_printed_width(find: Callable[[], int | None]) -> None:
    """Set the function that `find_printed_width` calls from now on.

    Parameters
    ----------
    find
        Returns the largest number of characters of a printed line, or None for lines of any length.
    """
    _functions[:] = [find]


def find_printed_width() -> int | None:
    """Return the largest number of characters of a line of a printed result; None for any length.

    Examples
    --------
    >>> find_printed_width() is None
    True
    """
    return _functions[0]() if _functions else None
