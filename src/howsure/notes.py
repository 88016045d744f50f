"""What should be known when numbers are read, as values: a code, where, how many, and the facts of its sentence.

Each code has a template in `notes.toml`, with a severity and an explanation (`howsure explain CODE`). Tests, JSON and
the report use codes and facts; the sentence is written when a person reads it.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from howsure.errors import HowsureWarning
from howsure.safe_text import inflect_text

__all__ = ["Note", "NoteTemplate", "read_templates", "warn"]


class NoteTemplate(NamedTuple):
    """What all notes of a code have in common."""

    severity: int
    """3: the number may not be what it seems; 2: it limits what may be said; 1: good to know."""
    text: str
    """The sentence, with facts in braces; `[is|are]` follows the number n (`safe_text.inflect_text`)."""
    help: str
    """What it means and what to do, for `howsure explain CODE`."""


@dataclass(frozen=True)
class Note:
    """One thing that should be known.

    Parameters
    ----------
    code
        Key of its template in `notes.toml`.
    where
        File, folder or frame that it is about; empty for all of them.
    benchmarks
        Names of the benchmarks that it is about; () for all that are read.
    n
        Number of generations, rows or files that it is about; 0 where nothing is counted.
    facts
        Values of the words in braces of its template.

    Examples
    --------
    >>> note = Note("file-names-model", "runs/a.csv", facts={"model": "a"})
    >>> note.where, note.text
    ('runs/a.csv', "no column names the model: it is called 'a', after its file or folder (--model names it)")
    """

    code: str
    where: str = ""
    benchmarks: tuple[str, ...] = ()
    n: int = 0
    facts: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def template(self) -> NoteTemplate:
        """The template of its code."""
        return read_templates()[self.code]

    @property
    def text(self) -> str:
        """The sentence, without the place."""
        return inflect_text(self.template.text, self.n).format(n=f"{self.n:,}", **self.facts)

    def __str__(self) -> str:
        return f"{self.where}: {self.text}" if self.where else self.text


@cache
def read_templates() -> Mapping[str, NoteTemplate]:
    """Return the template of each code."""
    content = tomllib.loads(files("howsure").joinpath("notes.toml").read_text(encoding="utf-8"))
    return {code: NoteTemplate(**fields) for code, fields in content.items()}


def warn(note: Note, *, stacklevel: int = 2) -> None:
    """Issue a note as a `HowsureWarning`, whose attribute `note` is the value."""
    warnings.warn(HowsureWarning(str(note), benchmarks=note.benchmarks, note=note), stacklevel=stacklevel + 1)
