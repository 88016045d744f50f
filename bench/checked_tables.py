"""Markdown tables whose claims are checked: every failed claim is collected, and all are raised together at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LEVEL",
    "LOWEST",
    "Checks",
    "as_floats",
    "below_claim",
    "markdown",
    "markdown_table",
    "monte_carlo_error",
    "print_sections",
]

#: Nominal level of every interval.
LEVEL = 0.95

#: Coverage that a documented interval must reach, up to three Monte-Carlo standard errors.
LOWEST = 0.93


class Checks:
    """Claims that were checked; `finish` raises AssertionError with all that failed."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def check(self, holds: object, claim: str) -> None:
        """Note a claim that does not hold."""
        if not holds:
            self.failed.append(claim)

    def finish(self) -> None:
        """Raise AssertionError where a claim failed."""
        assert not self.failed, f"{len(self.failed)} claims do not hold:\n" + "\n".join(self.failed)


def markdown(columns: Sequence[str], rows: Iterable[Sequence[object]], text_columns: int = 1) -> str:
    """Return a table with the first columns aligned as text and the others as numbers."""
    rule = ["---" if i < text_columns else "---:" for i in range(len(columns))]
    lines = [columns, rule, *([str(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def print_sections(sections: Callable[..., Iterator[tuple[str, str]]]) -> None:
    """Print each section as soon as it is there, and what does not hold; the command line may say `--quick`."""
    start = time.perf_counter()
    try:
        for title, text in sections(quick="--quick" in sys.argv):
            print(f"## {title}\n\n{text}\n", flush=True)
    except AssertionError as error:
        sys.exit(str(error))
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


def monte_carlo_error(covered: NDArray[np.float64]) -> float:
    """Return the standard error of the mean coverage; `covered` holds the share of each independent draw."""
    return float(covered.std(ddof=1) / np.sqrt(covered.size)) if covered.size > 1 else 0.0


def below_claim(name: str, covered: NDArray[np.float64]) -> list[str]:
    """Return one line if the mean coverage is more than three Monte-Carlo standard errors below the claim."""
    mean, error = float(covered.mean()), monte_carlo_error(covered)
    if mean >= LOWEST - 3 * error:
        return []
    return [f"{name}: covers {mean:.3f} (standard error {error:.3f}), claimed {LOWEST}"]


def as_floats(*values: float | np.floating) -> list[float]:
    """Return numbers for `markdown_table`."""
    return [float(value) for value in values]


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a markdown table: strings are left-aligned; numbers have three decimals, and NaN is a dash."""
    body = [list(row) for row in rows]
    left = [all(isinstance(row[i], str) for row in body) for i in range(len(header))]
    lines = [list(header), ["---" if text else "---:" for text in left]]
    lines += [[_print_value(value) for value in row] for row in body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _print_value(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return "–" if np.isnan(value) else f"{value:.3f}"
