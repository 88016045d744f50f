"""What a reader of logs yields, is asked and says: one row per generation, and who and what the log is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from howsure.readers.logs.head import Head
from howsure.store.manifest import Model
from howsure.store.schema import UNSCORED, Response

__all__ = ["UNSCORED", "Asked", "Described", "Reader", "Row", "Tell"]

#: Says what the log cannot say, or what was left out: one line, without the path.
Tell = Callable[[str], None]


class Row(Response, frozen=True, kw_only=True, omit_defaults=False):
    """A generation of a log: a row of the store, and what the store keeps elsewhere.

    Completion, target, messages and choices are there only where texts were asked for.
    """

    messages: tuple[dict[str, str], ...] | None = None
    """The prompt: role and content of each message, as it was sent."""
    choices: tuple[str, ...] = ()
    """Of a multiple-choice question, in the order shown."""
    cluster: str | None = None
    """Where `columns` maps one."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """How a log is to be read."""

    scorer: str | None = None
    """Which of several scores; None is the first, or the one that the harness reports first."""
    texts: bool = False
    """Whether completions, targets and prompts are wanted, which may cost a slower read."""
    columns: Mapping[str, str] = {}
    """Our names (question, variant, cluster, model, benchmark) to fields of the log, with dots between the steps, such
    as `metadata.passage` or `doc.subject`; each reader says which it knows."""


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """Who and what a log is about; cheap to read."""

    run: str
    """What makes two logs the same run: an id that the harness made, or a hash of what identifies it."""
    models: dict[str, Model]
    """By label; `kind` is the reader's NAME, `settings` the decoding settings that the log states."""
    benchmarks: dict[str, dict[str, object]]
    """By name, with what the log says of its source: data set, version, arguments."""
    scorers: tuple[str, ...] = ()
    """Names that `Asked.scorer` takes, the harness's own first choice first; empty where its one score has no name."""
    created: str = ""
    """When it was run, as ISO 8601; empty where the log does not say."""


class Reader(Protocol):
    """A module of this room that reads one program's logs."""

    NAME: str
    """What messages call the program, such as "Inspect"."""

    def recognises(self, head: Head) -> bool:
        """Whether a file or folder is this program's, by its content."""

    def members(self, path: Path) -> Sequence[Path]:
        """The logs that a path stands for: itself, or, of a file of totals, the files with its samples."""

    def describe(self, path: Path) -> Described:
        """Who and what the log is about."""

    def rows(self, path: Path, asked: Asked, tell: Tell) -> Iterator[Row]:
        """Each generation once, in the order of the log; `tell` hears what could not be read, before the last row."""


def step(record: Any, field: str) -> Any:
    """The value at `a.b.c` inside nested mappings and lists; None where a step is not there.

    >>> step({"metadata": {"tags": ["x", "y"]}}, "metadata.tags.1")
    'y'
    """
    for name in field.split("."):
        if isinstance(record, Mapping) and name in record:
            record = record[name]
        elif (
            isinstance(record, Sequence)
            and not isinstance(record, str)
            and name.isdecimal()
            and int(name) < len(record)
        ):
            record = record[int(name)]
        else:
            return None
    return record
