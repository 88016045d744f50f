"""What all designs share: how one is declared, what a table holds, and which claims are checked.

A design is a function with a declaration: its tables (title and columns) and its sizes, for a quick run and for a full
one. It simulates data whose truth it knows, adds rows to its tables, and says there what has to hold. A claim that
fails does not end the run: all that failed are reported at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["ALPHA", "DESIGNS", "LEVEL", "LOWEST", "Design", "Table", "guarantee", "monte_carlo_error", "slack"]

#: Nominal level of every interval, and of every test.
LEVEL, ALPHA = 0.95, 0.05

#: Coverage that a documented interval must reach, up to three Monte-Carlo standard errors.
LOWEST = 0.93


def monte_carlo_error(covered: ArrayLike) -> float:
    """Return the standard error of a mean coverage; `covered` holds the share of each independent draw."""
    shares = np.asarray(covered, float)
    return float(shares.std(ddof=1) / np.sqrt(shares.size)) if shares.size > 1 else 0.0


def slack(share: float, n: int, errors: float = 3) -> float:
    """Return so many Monte-Carlo standard errors of a share that n draws are expected to have."""
    return float(errors * np.sqrt(share * (1 - share) / n))


@dataclass
class Table:
    """Rows of one table, what is said below it, and the claims that do not hold."""

    title: str
    columns: list[str]
    rows: list[list[object]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    note: str = ""

    def add(self, *values: object) -> None:
        """Add a row: numbers are printed with three decimals, NaN as a dash, strings and integers as they are."""
        self.rows.append(list(values))

    def check(self, holds: object, claim: str) -> None:
        """Note a claim that does not hold."""
        if not holds:
            self.failed.append(f"{self.title}: {claim}")

    def covers(self, name: str, covered: ArrayLike, lowest: float = LOWEST) -> None:
        """Check that the mean coverage is at most three of its Monte-Carlo standard errors below the claim."""
        mean, error = float(np.mean(np.asarray(covered, float))), monte_carlo_error(covered)
        self.check(mean >= lowest - 3 * error, f"{name}: covers {mean:.3f} (standard error {error:.3f}) < {lowest}")

    def texts(self) -> list[list[str]]:
        """Return the cells as they are printed."""
        return [[_print_value(value) for value in row] for row in self.rows]


def _print_value(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return "–" if np.isnan(value) else f"{value:.3f}"


@dataclass(frozen=True)
class Design:
    """A declared design: its module, tables (title to columns, divided by " | "), sizes, and what simulates it."""

    module: str
    tables: Mapping[str, str]
    simulate: Callable[..., None]
    quick: Mapping[str, Any]
    full: Mapping[str, Any]

    def parts(self, *, quick: bool) -> list[dict[str, Any]]:
        """Return sizes by part: `parts` among the sizes holds values of `part`, which are simulated side by side."""
        sizes = dict(self.quick if quick else self.full)
        return [{**sizes, "part": part} for part in sizes.pop("parts")] if "parts" in sizes else [sizes]

    def run(self, sizes: dict[str, Any]) -> list[Table]:
        """Return the tables of one part; a title may name a size."""
        tables = [
            Table(title.format(**sizes), columns.format(**sizes).split(" | ")) for title, columns in self.tables.items()
        ]
        self.simulate(*tables, **sizes)
        return tables


DESIGNS: list[Design] = []


def guarantee(
    tables: Mapping[str, str], *, quick: Mapping[str, Any], full: Mapping[str, Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a design: the function gets its tables in their order, and its sizes by name."""

    def declare(simulate: Callable[..., None]) -> Callable[..., None]:
        module = simulate.__module__.rpartition(".")[2]
        DESIGNS.append(Design(module, tables, simulate, quick, quick if full is None else full))
        return simulate

    return declare
