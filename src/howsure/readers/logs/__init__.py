"""Readers of the logs of other evaluation programs, and the registry that finds the reader of a file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from howsure.readers.logs.base import LogReader
from howsure.readers.logs.file_head import FileHead

__all__ = ["READERS", "find_reader"]

#: Modules of this package, in the order in which they are tried.
READERS = (
    *("inspect", "lm_eval", "helm", "lighteval", "promptfoo", "openai_evals", "simple_evals"),
    *("swe_bench", "terminal_bench", "deepeval", "every_eval_ever"),
)


def find_reader(path: Path) -> LogReader | None:
    """Return the reader of the file or folder; None if it is not a known log."""
    head = FileHead(path)
    for name in READERS:
        reader: LogReader = import_module(f"{__name__}.{name}")
        if reader.recognises(head):
            return reader
    return None
