"""Other programs' logs to our rows; one file per program, pure functions, found by what a file holds."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from howsure.readers.logs.head import Head
from howsure.readers.logs.row import Reader

__all__ = ["READERS", "reader_of"]

#: Modules of this room, in the order in which they are asked.
READERS = (
    *("inspect", "lm_eval", "helm", "lighteval", "promptfoo", "openai_evals", "simple_evals"),
    *("swe_bench", "terminal_bench", "deepeval", "every_eval_ever"),
)


def reader_of(head: Head) -> Reader | None:
    """Who reads this file or folder; None where it is no log that is known."""
    for name in READERS:
        reader: Reader = import_module(f"{__name__}.{name}")
        if reader.recognises(head):
            return reader
    return None


def named(path: Path) -> Reader | None:
    """The same of a path."""
    return reader_of(Head(path))
