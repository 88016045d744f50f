"""Files of instructions: reviewed phrasings that ask for the same thing, each with an id."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from howsure.benchmarks.question import Message
from howsure.errors import InputError, UnknownNameError
from howsure.extraction.statements import remove_reasoning
from howsure.perturb.rendering import FIELD

__all__ = ["FILES", "Instruction", "Paraphrases", "packaged", "paraphrases", "parse", "request", "reviewed", "written"]

#: Name -> file, of those that ship with the package.
FILES = {"multiple-choice": "multiple_choice.toml", "open": "open.toml", "maths": "maths.toml"}

_KEYS = ("id", "text", "style", "asks", "reviewed")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One phrasing."""

    id: str
    text: str
    style: str = ""
    asks: str = ""
    """"label" when it asks for the label of a choice; empty when it leaves the form open."""
    reviewed: bool = False


@lru_cache
def packaged(name: str) -> tuple[Instruction, ...]:
    """The reviewed phrasings that ship with the package.

    Raises
    ------
    UnknownNameError
        When there is no such file.
    """
    if name not in FILES:
        raise UnknownNameError("instruction file", name, FILES)
    return parse((Path(__file__).parent / "phrasings" / FILES[name]).read_text(encoding="utf-8"), where=FILES[name])


def parse(text: str, *, where: str = "instructions") -> tuple[Instruction, ...]:
    """The phrasings of a TOML file; `where` names it in errors.

    Raises
    ------
    InputError
        When it is not TOML, an entry lacks its id or text, or two have the same one.
    UnknownNameError
        When an entry has a key that does not exist.
    """
    try:
        tables = tomllib.loads(text).get("instruction", [])
    except tomllib.TOMLDecodeError as e:
        raise InputError(f"not TOML: {e}", where=where, remedy="correct the line") from None
    found: list[Instruction] = []
    for i, table in enumerate(tables if isinstance(tables, list) else [], start=1):
        place = f"{where}, instruction {i}"
        entry = _entry(table, place)
        for other in found:
            if entry.id == other.id or _same(entry.text, other.text):
                raise InputError(f"the same as {other.id!r}", where=place, remedy="remove one, or give it another id")
        found.append(entry)
    if not found:
        raise InputError("no instructions", where=where, remedy='write [[instruction]], id = "...", text = "..."')
    return tuple(found)


def _entry(table: dict[str, Any], place: str) -> Instruction:
    for key in table:
        if key not in _KEYS:
            raise UnknownNameError("key", key, _KEYS, where=place)
    for key in ("id", "text"):
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise InputError(f"it has no {key}", where=place, remedy=f'write {key} = "..."')
    if table.get("asks", "") not in ("", "label"):
        raise InputError(f"asks is {table['asks']!r}", where=place, remedy='write asks = "label", or leave it out')
    return Instruction(**table)


def reviewed(entries: Iterable[Instruction], *, where: str = "instructions") -> tuple[Instruction, ...]:
    """The entries, when all of them were reviewed.

    Raises
    ------
    InputError
        When some were not: no run asks what nobody has read.
    """
    entries = tuple(entries)
    if waiting := [entry.id for entry in entries if not entry.reviewed]:
        remedy = "read them and set reviewed = true, or remove them"
        raise InputError(f"not reviewed: {', '.join(waiting)}", where=where, remedy=remedy)
    return entries


def written(entries: Iterable[Instruction]) -> str:
    """The entries as a TOML file, which `parse` reads back."""
    return "\n".join(_table(entry) for entry in entries)


def _table(entry: Instruction) -> str:
    keys = {"id": entry.id, "style": entry.style, "asks": entry.asks, "text": entry.text}
    lines = [f"{key} = {_quoted(text)}" for key, text in keys.items() if text]
    return "\n".join(["[[instruction]]", *lines, f"reviewed = {str(entry.reviewed).lower()}", ""])


def _quoted(text: str) -> str:
    """A string of JSON is one of TOML, but for the one control character that JSON leaves alone."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _same(a: str, b: str) -> bool:
    return a.casefold().split() == b.casefold().split()


#: Longest phrasing that is taken, in characters.
LONGEST = 600
_NUMBERED = re.compile(r"\s*(?:[-*•]|\(?\d{1,3}[.):])\s+(?P<text>\S.*?)\s*")


@dataclass(frozen=True)
class Paraphrases:
    """New phrasings, and why others of the reply were refused."""

    entries: tuple[Instruction, ...]
    refused: tuple[str, ...]


def request(instruction: str, n: int) -> list[Message]:
    """Messages that ask a model for n further phrasings.

    Raises
    ------
    InputError
        When n is not from 1 to 100, or there is no instruction.
    """
    if not 1 <= n <= 100:
        raise InputError(f"{n} phrasings", where="paraphrase", remedy="ask for 1 to 100")
    if not instruction.strip():
        raise InputError("the instruction is empty", where="paraphrase", remedy="give the text to rephrase")
    fields = sorted(set(FIELD.findall(instruction)))
    kept = f" Keep {' and '.join(f'{{{field}}}' for field in fields)} as it stands, in braces." if fields else ""
    asked = (
        f"Here is an instruction that stands before test questions:\n\n<instruction>\n{instruction}\n</instruction>\n\n"
        f"Write {n} other ways to say it. Each must ask for exactly the same thing, and for an answer in the same "
        f"form: add nothing, leave nothing out, and give no hint of how to solve a question.{kept} Let them differ in "
        "wording, tone and sentence structure. Reply with a numbered list, one phrasing on each line, and nothing else."
    )
    return [{"role": "user", "content": asked}]


def paraphrases(reply: str, of: Instruction, known: Sequence[Instruction] = ()) -> Paraphrases:
    """The phrasings in a model's reply, for a person to review.

    Parameters
    ----------
    of
        The instruction that was rephrased; its style and what it asks for are taken over.
    known
        Further entries that no phrasing may repeat.

    Raises
    ------
    InputError
        When the reply has no phrasing that can be taken.
    """
    taken = {_said(entry.text) for entry in (of, *known)}
    ids = {entry.id for entry in (of, *known)}
    fields = sorted(set(FIELD.findall(of.text)))
    entries, refused = [], []
    for line in remove_reasoning(reply).splitlines():
        found = _NUMBERED.fullmatch(line)
        if not found:
            if line.strip():
                refused.append(f"not a line of the list: {line.strip()[:80]!r}")
            continue
        text = _unquoted(found["text"])
        identity = f"{of.id}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"
        if _said(text) in taken or identity in ids:
            refused.append(f"there already: {text[:80]!r}")
        elif len(text) > LONGEST:
            refused.append(f"longer than {LONGEST} characters: {text[:80]!r}")
        elif sorted(set(FIELD.findall(text))) != fields:
            refused.append(f"its fields in braces differ: {text[:80]!r}")
        elif not text.isprintable():
            refused.append(f"it has characters that cannot be seen: {text[:80]!r}")
        else:
            taken.add(_said(text))
            entries.append(Instruction(identity, text, style=of.style, asks=of.asks, reviewed=False))
    if not entries:
        why = refused[0] if refused else "it is empty"
        raise InputError(
            f"the reply has no new phrasing: {why}", where="paraphrase", remedy="ask again, or another model"
        )
    return Paraphrases(tuple(entries), tuple(refused))


def _unquoted(text: str) -> str:
    for start, end in (('"', '"'), ("“", "”"), ("**", "**")):
        if len(text) > len(start + end) and text.startswith(start) and text.endswith(end):
            inner = text[len(start) : -len(end)]
            if start not in inner:
                return inner.strip()
    return text


def _said(text: str) -> str:
    """A text without case, spaces and punctuation, to know it again."""
    return "".join(re.findall(r"\w+", text.casefold()))
