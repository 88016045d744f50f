"""More phrasings of an instruction from a model: what to ask it, and what to make of its reply.

Nothing that comes back enters a run before a person has read it: each entry says `reviewed = false`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from howsure.benchmarks.question import Message
from howsure.benchmarks.statement import concluded
from howsure.errors import InputError
from howsure.perturb.instructions import Instruction
from howsure.perturb.render import FIELD

__all__ = ["Paraphrases", "paraphrases", "request"]

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
    for line in concluded(reply).splitlines():
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
