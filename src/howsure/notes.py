"""What should be known when numbers are read, as values: a code, where, how many, and the facts of its sentence.

Each code has a template in `notes.toml`, with a severity and an explanation (`howsure explain CODE`). Tests, JSON and
the report use codes and facts; the sentence is written when a person reads it.
"""

from __future__ import annotations

import tomllib
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import NamedTuple

from howsure.errors import HowsureWarning, InputError
from howsure.safe_text import inflect_text

#: A fact that is one of several: notes that differ in it alone have one sentence.
_EXAMPLE = "example"


class NoteTemplate(NamedTuple):
    """What all notes of a code have in common."""

    severity: int
    """3: the number may not be what it seems; 2: it limits what may be said; 1: good to know."""
    text: str
    """The sentence, with facts in braces; `[is|are]` follows the number n (`safe_text.inflect_text`)."""
    help: str
    """What it means and what to do, for `howsure explain CODE`."""

    @property
    def fields(self) -> list[str]:
        """The words in braces of its sentence."""
        return [name for _, name, _, _ in Formatter().parse(self.text) if name]

    def describe(self) -> str:
        """Return its explanation, with its sentence, in which words in braces are capitals."""
        parts = Formatter().parse(inflect_text(self.text, 2))
        return f"{self.help} The note: {''.join(text + (name or '').upper() for text, name, _, _ in parts)}"


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
        Values of the words in braces of its template: texts and numbers. `example` is one of several.
    parts
        The notes of one code that it stands for; see `merge_notes`.

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
    parts: tuple[Note, ...] = ()

    @property
    def template(self) -> NoteTemplate:
        """The template of its code."""
        return read_templates()[self.code]

    @property
    def text(self) -> str:
        """The sentence, without the place; of several notes with other facts, that of the first."""
        if self._differs:
            return self.parts[0].text
        return inflect_text(self.template.text, self.n).format(n=f"{self.n:,}", **self.facts)

    def __str__(self) -> str:
        n_places, n_more = len({part.where for part in self.parts}), len(self.parts) - 1
        more = f" and {n_places - 1} more" if n_places > 1 else ""
        which = " (in the first)" if more else f" (and {n_more} more of this kind)"
        where = f"{self.where}{more}: " if self.where else ""
        return f"{where}{self.text}{which * self._differs}"

    @property
    def _differs(self) -> bool:
        """Whether the notes that it stands for have other facts, so that one sentence does not hold of all."""
        facts = [{name: value for name, value in part.facts.items() if name != _EXAMPLE} for part in self.parts]
        return any(one != facts[0] for one in facts)

    def to_record(self) -> dict[str, object]:
        """Return what JSON has of it: code, where, benchmarks, n, facts and text."""
        names = ("code", "where", "benchmarks", "n", "facts", "text")
        return {name: getattr(self, name) for name in names}


@cache
def read_templates() -> Mapping[str, NoteTemplate]:
    """Return the template of each code."""
    content = tomllib.loads(files("howsure").joinpath("notes.toml").read_text(encoding="utf-8"))
    return {code: NoteTemplate(**fields) for code, fields in content.items()}


def merge_notes(notes: Iterable[Note]) -> list[Note]:
    """Return one note for each code: its numbers are added, its place and facts are those of the first.

    A code whose template is a text of another writer has a note for each text.

    Examples
    --------
    >>> [note] = merge_notes(Note("file-names-model", f"{name}.csv", facts={"model": name}) for name in "abc")
    >>> str(note).partition(", after ")[0]
    "a.csv and 2 more: no column names the model: it is called 'a'"
    >>> len(note.parts)
    3
    """
    same: defaultdict[tuple[str, object], dict[Note, None]] = defaultdict(dict)
    for note in notes:
        same[note.code, note.facts.get("text")].update(dict.fromkeys(note.parts or (note,)))
    return [_merge(list(parts)) for parts in same.values()]


def _merge(parts: list[Note]) -> Note:
    """Return one note for notes of one code."""
    if len(parts) == 1:
        return parts[0]
    names = [name for part in parts for name in part.benchmarks] if all(part.benchmarks for part in parts) else []
    n = sum(part.n for part in parts)
    return replace(parts[0], benchmarks=tuple(dict.fromkeys(names)), n=n, parts=tuple(parts))


def note_omission(error: InputError) -> Note:
    """Return the note on one of several files that cannot be read and is left out.

    >>> note_omission(InputError("no column 'score'", where="a.csv", remedy="name it")).text
    "left out: no column 'score'; name it"
    """
    return Note("left-out", facts={"why": "; ".join(filter(None, (error.what, error.remedy)))})


def warn(note: Note, *, stacklevel: int = 2) -> None:
    """Issue a note as a `HowsureWarning`, whose attribute `note` is the value."""
    warnings.warn(HowsureWarning(str(note), benchmarks=note.benchmarks, note=note), stacklevel=stacklevel + 1)


@contextmanager
def ignore_notes(code: str | None = None, texts: set[str] | None = None) -> Iterator[None]:
    """Issue no note of this code and no text of `texts`, which takes the new ones; warnings come at the block's end."""
    caught, texts = list[warnings.WarningMessage](), set() if texts is None else texts
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield
    finally:
        for one in caught:
            is_other = code is None or getattr(getattr(one.message, "note", None), "code", None) != code
            if is_other and str(one.message) not in texts:
                texts.add(str(one.message))
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def list_warned(caught: Iterable[warnings.WarningMessage]) -> list[Note]:
    """Return the notes that were issued as warnings while `warnings.catch_warnings` recorded them."""
    return [note for one in caught if isinstance(note := getattr(one.message, "note", None), Note)]
