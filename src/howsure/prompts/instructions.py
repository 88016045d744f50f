"""Read and write files of reviewed phrasings of an instruction, and read those of reviewed paraphrases of questions.

A run does not use a phrasing of a model before a person has reviewed it: each new entry has `reviewed = false`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from howsure.errors import InputError, UnknownNameError
from howsure.prompts.prompt_texts import LANGUAGES
from howsure.rows.formats import read_regular_file, read_rows

#: Mapping from name to the file of the phrasings that are part of the package.
FILES = {"multiple-choice": "multiple_choice.toml", "open": "open.toml", "maths": "maths.toml"}

_KEYS = ("id", "text", "style", "asks", "after", "reviewed", "translations", "of", "marks")
#: What an instruction may ask for besides an answer: the label of a choice, working before the answer, a brief answer.
DEMANDS = ("", "label", "working", "brief")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One phrasing of an instruction.

    Examples
    --------
    >>> one = Instruction("short", "Give the label.", asks="label", reviewed=True)
    >>> one.id, one.asks
    ('short', 'label')
    """

    id: str
    text: str
    style: str = ""
    asks: str = ""
    """One of `DEMANDS`: "label" of a choice, "working" before the answer, a "brief" answer, or nothing of these."""
    after: str = ""
    """The text for a prompt in which it stands after the question, where `text` says that the question follows."""
    translations: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Texts in other languages by the code of the language; each fits before and after the question."""
    reviewed: bool = False
    of: str = ""
    """Id of the instruction that a model rephrased to this one."""
    marks: tuple[str, ...] = ()
    """Reasons why a phrasing of a model may not ask for the same as the instruction that it rephrases."""


@lru_cache
def load_packaged(name: str) -> tuple[Instruction, ...]:
    """Return the reviewed phrasings of a file that is part of the package.

    Raises
    ------
    UnknownNameError
        When there is no such file.
    """
    if name not in FILES:
        raise UnknownNameError("instruction file", name, FILES)
    file = Path(__file__).parent / "phrasings" / FILES[name]
    return parse_instructions(file.read_text(encoding="utf-8"), where=file.name)


def parse_instructions(text: str, *, where: str = "instructions") -> tuple[Instruction, ...]:
    """Return the phrasings of a TOML file; `where` names it in errors.

    Raises
    ------
    InputError
        When it is not TOML, an entry has no id or text, or two entries have the same id or text.
    UnknownNameError
        When an entry has a key that does not exist.
    """
    try:
        tables = tomllib.loads(text).get("instruction", [])
    except tomllib.TOMLDecodeError as e:
        raise InputError(f"not TOML: {e}", where=where, remedy="correct the line") from None
    phrasings: list[Instruction] = []
    for i, table in enumerate(tables if isinstance(tables, list) else [], start=1):
        place = f"{where}, instruction {i}"
        entry = _parse_entry(table, place)
        for other in phrasings:
            if entry.id == other.id or list_words(entry.text) == list_words(other.text):
                raise InputError(f"the same as {other.id!r}", where=place, remedy="remove one, or give it another id")
        phrasings.append(entry)
    if not phrasings:
        raise InputError("no instructions", where=where, remedy='write [[instruction]], id = "...", text = "..."')
    return tuple(phrasings)


def _parse_entry(table: dict[str, Any], place: str) -> Instruction:
    """Return the phrasing of one table of the file."""
    for key in table:
        if key not in _KEYS:
            raise UnknownNameError("key", key, _KEYS, where=place)
    for key in ("id", "text"):
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise InputError(f"it has no {key}", where=place, remedy=f'write {key} = "..."')
    if table.get("asks", "") not in DEMANDS:
        remedy = f"write one of {', '.join(filter(None, DEMANDS))}, or leave it out"
        raise InputError(f"asks is {table['asks']!r}", where=place, remedy=remedy)
    translations = table.get("translations", {})
    if not isinstance(translations, dict) or not all(isinstance(text, str) for text in translations.values()):
        raise InputError("translations is no table of texts", where=place, remedy='write translations.de = "..."')
    for code in translations:
        if code not in LANGUAGES[1:]:
            raise UnknownNameError("language", code, LANGUAGES[1:], where=place)
    marks = table.get("marks", [])
    if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
        raise InputError("marks is no list of texts", where=place, remedy='write marks = ["..."], or leave it out')
    return Instruction(**{**table, "marks": tuple(marks)})


def require_reviewed(phrasings: Iterable[Instruction], *, where: str = "instructions") -> tuple[Instruction, ...]:
    """Return the phrasings if all of them were reviewed.

    Raises
    ------
    InputError
        When some were not: a run must not use phrasings that nobody has read.
    """
    phrasings = tuple(phrasings)
    if waiting := [entry.id for entry in phrasings if not entry.reviewed]:
        remedy = "read them and set reviewed = true, or remove them"
        raise InputError(f"not reviewed: {', '.join(waiting)}", where=where, remedy=remedy)
    return phrasings


def list_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return text.casefold().split()


_REVIEWED = {"true": True, "false": False, "1": True, "0": False}


def load_question_paraphrases(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the paraphrases of each question, by the id of the question.

    Parameters
    ----------
    path
        A file (jsonl, csv or parquet) with a row for each paraphrase: `id` of the question, `text`, and `reviewed`.

    Raises
    ------
    InputError
        When the file cannot be read, a row has no id or text, nobody has reviewed a paraphrase, or a question has the
        same one twice.
    """
    where = path.name
    try:
        read_regular_file(path)
    except OSError as e:
        remedy = "give a file with id, text and reviewed"
        raise InputError(f"cannot read the paraphrases: {e.strerror}", where=str(path), remedy=remedy) from None
    paraphrases: dict[str, tuple[str, ...]] = {}
    for place, row in read_rows(path, where):
        for key in ("id", "text"):
            if not str(row.get(key) or "").strip():
                raise InputError(f"the row has no {key}", where=f"{where}, {place}", remedy=f"add {key}")
        identity, text = str(row["id"]), str(row["text"]).strip()
        if _REVIEWED.get(str(row.get("reviewed")).lower()) is not True:
            remedy = "read it and set reviewed to true, or remove the row"
            what = f"nobody has reviewed this paraphrase of question {identity}"
            raise InputError(what, where=f"{where}, {place}", remedy=remedy)
        if text in paraphrases.get(identity, ()):
            what = f"question {identity} has this paraphrase twice"
            raise InputError(what, where=f"{where}, {place}", remedy="remove one")
        paraphrases[identity] = (*paraphrases.get(identity, ()), text)
    if not paraphrases:
        raise InputError("no paraphrases in the file", where=where, remedy="give a row for each, or leave it out")
    return paraphrases
