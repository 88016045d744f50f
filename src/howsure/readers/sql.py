"""Names and texts as SQL writes them."""

from __future__ import annotations

__all__ = ["identifier", "quoted"]


def identifier(column: str) -> str:
    """A column's name.

    >>> print(identifier('5" disk'))
    "5"" disk"
    """
    return '"' + column.replace('"', '""') + '"'


def quoted(text: str) -> str:
    """A text.

    >>> print(quoted("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"
