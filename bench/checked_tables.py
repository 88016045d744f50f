"""Markdown tables whose claims are checked: every failed claim is collected, and all are raised together at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["Checks", "markdown", "print_sections"]


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


def print_sections(sections: Callable[..., Iterator[tuple[str, str]]], *, quick: bool) -> None:
    """Print each section as soon as it is there."""
    for title, text in sections(quick=quick):
        print(f"## {title}\n\n{text}\n", flush=True)
