"""How results are printed and drawn: statistics know of no terminal, so the package that has one sets the functions.

A module of its own, which imports no numpy: `howsure.api` sets the functions before it imports any other module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["PRINTING", "Description", "Printing"]


class Description(NamedTuple):
    """What stands above and below the printed tables, and their columns; None: the result's own table.

    `exported` are the columns of the tables in a document, without pictures.
    """

    above: list[str]
    tables: list[dict[str, Any]] | None
    below: list[str]
    exported: list[dict[str, Any]]


@dataclass
class Printing:
    """Functions for printed results: the width of a line (None for any), the description of a result, its chart."""

    find_width: Callable[[], int | None] = lambda: None
    describe: Callable[[Any], Description | None] = lambda _: None
    draw: Callable[[Any], object] = lambda _: None


PRINTING = Printing()
