"""Request further phrasings of an instruction from a model, read its reply, and review what it wrote.

A run does not use a phrasing of a model before a person has reviewed it. Phrasings that may ask for something else than
the original are marked with the reason, and the person decides.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from howsure.benchmarks.question import Message
from howsure.errors import InputError
from howsure.perturb.instructions import Instruction
from howsure.perturb.paraphrase_checks import find_meaning_marks
from howsure.perturb.rendering import FIELD
from howsure.scorers.completion_text import split_thoughts

Decision = Literal["accept", "edit", "remove", "later", "stop"]
"""What a person decides about one phrasing."""
DECISIONS: tuple[Decision, ...] = get_args(Decision)

#: Longest phrasing that is accepted, in characters.
LONGEST = 600
_NUMBERED = re.compile(r"\s*(?:[-*•]|\(?\d{1,3}[.):])\s+(?P<text>\S.*?)\s*")


@dataclass(frozen=True)
class Paraphrases:
    r"""New phrasings, and the reasons why others of the reply were refused.

    Examples
    --------
    >>> one = Instruction("short", "Give the label.", asks="label")
    >>> reply = "1. State the label.\n2. Name the label that is right."
    >>> [phrasing.text for phrasing in parse_paraphrases(reply, one).phrasings]
    ['State the label.', 'Name the label that is right.']
    """

    phrasings: tuple[Instruction, ...]
    refused: tuple[str, ...]


def build_paraphrase_request(instruction: str, n: int) -> list[Message]:
    """Return the messages that ask a model for n further phrasings.

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
    keep = f" Keep {' and '.join(f'{{{field}}}' for field in fields)} as it stands, in braces." if fields else ""
    prompt = (
        f"Here is an instruction that stands before test questions:\n\n<instruction>\n{instruction}\n</instruction>\n\n"
        f"Write {n} other ways to say it. Each must ask for exactly the same thing, and for an answer in the same "
        f"form: add nothing, leave nothing out, and give no hint of how to solve a question.{keep} Let them differ in "
        "wording, tone and sentence structure. Reply with a numbered list, one phrasing on each line, and nothing else."
    )
    return [{"role": "user", "content": prompt}]


def parse_paraphrases(reply: str, of: Instruction, others: Sequence[Instruction] = ()) -> Paraphrases:
    """Return the phrasings in a model's reply, for a person to review.

    Parameters
    ----------
    reply
        The completion of the model: a list with numbers or bullets, or JSON (a list of texts or of objects with a text,
        or an object that has one), also in a fence of code.
    of
        The instruction that was rephrased; its style and `asks` are copied, and phrasings that may ask for something
        else get marks (`find_meaning_marks`).
    others
        Other phrasings that none may repeat.

    Raises
    ------
    InputError
        When the reply has no phrasing that is accepted.
    """
    texts = {_fingerprint(entry.text) for entry in (of, *others)}
    ids = {entry.id for entry in (of, *others)}
    phrasings, refused = [], []
    for line, text in _split_reply(split_thoughts(reply).text):
        if text is None:
            refused.append(f"not a line of the list: {line[:80]!r}")
            continue
        identity = f"{of.id}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"
        if _fingerprint(text) in texts or identity in ids:
            refused.append(f"there already: {text[:80]!r}")
        elif len(text) > LONGEST:
            refused.append(f"longer than {LONGEST} characters: {text[:80]!r}")
        elif not text.isprintable():
            refused.append(f"it has characters that cannot be seen: {text[:80]!r}")
        else:
            texts.add(_fingerprint(text))
            marks = find_meaning_marks(of, text)
            entry = Instruction(identity, text, style=of.style, asks=of.asks, reviewed=False, of=of.id, marks=marks)
            phrasings.append(entry)
    if not phrasings:
        why = refused[0] if refused else "it is empty"
        what = f"the reply has no new phrasing: {why}"
        raise InputError(what, where="paraphrase", remedy="request phrasings again, or use another model")
    return Paraphrases(tuple(phrasings), tuple(refused))


def _split_reply(reply: str) -> Iterator[tuple[str, str | None]]:
    """Yield the items of a reply, each with its text; None for a line that is no item of the list."""
    if (items := _parse_json_items(reply)) is not None:
        yield from ((item, " ".join(item.split())) for item in items)
        return
    for line in reply.splitlines():
        if _EMPTY.fullmatch(line):
            continue
        match = _NUMBERED.fullmatch(line)
        yield line.strip(), _unquote(match["text"]) if match else _parse_json_line(line)


def _parse_json_line(line: str) -> str | None:
    """Return the text of a line of a JSON list that was cut: a string and perhaps a comma; None for another line."""
    try:
        value = json.loads(line.strip().removesuffix(","))
    except ValueError:
        return None
    return " ".join(value.split()) if isinstance(value, str) and value.strip() else None


#: A line of a reply that says nothing: empty, a fence of code, or a bracket of JSON.
_EMPTY = re.compile(r"\s*(?:```\w*|[\[\]{}],?)?\s*")
#: Keys under which an object of a reply may hold the text of a phrasing.
_TEXT_KEYS = ("text", "phrasing", "paraphrase", "instruction", "prompt", "rephrasing", "content")


def _parse_json_items(reply: str) -> list[str] | None:
    """Return the texts of the first JSON list or object in a reply; None if it has none."""
    decoder = json.JSONDecoder()
    for match in re.finditer(r"^[ \t]*(?=[\[{])|(?<=```json)\s*(?=[\[{])", reply, re.MULTILINE):
        try:
            value, _ = decoder.raw_decode(reply, match.end())
        except (ValueError, RecursionError):
            continue
        if items := _list_texts(value):
            return items
    return None


def _list_texts(value: object) -> list[str]:
    """Return the texts in a JSON value: of a list, of the values of an object, or of the list that an object holds."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, list):
        return [text for item in value for text in _list_texts(item)]
    if isinstance(value, dict):
        for key in _TEXT_KEYS:
            if isinstance(value.get(key), str):
                return _list_texts(value[key])
        return [text for item in value.values() for text in _list_texts(item)]
    return []


def format_side_by_side(original: Instruction | None, phrasing: Instruction, width: int | None = None) -> str:
    """Return an instruction and its phrasing in two columns, and a line for each mark below them.

    Parameters
    ----------
    original
        The instruction that was rephrased, or None if it is not in the file.
    phrasing
        The phrasing to review.
    width
        Width in characters, by default that of the terminal.

    Examples
    --------
    >>> one = Instruction("one", "Give the label.", asks="label")
    >>> new = Instruction("one-1", "Pick one.", of="one", marks=("it does not ask for a label",))
    >>> print(format_side_by_side(one, new, 40))
    one                | one-1
    Give the label.    | Pick one.
    ! it does not ask for a label
    """
    width = width or min(120, shutil.get_terminal_size().columns)
    column = max(10, (width - 3) // 2)
    name, text = (original.id, original.text) if original else (phrasing.of or "(no original)", "(not in this file)")
    columns = [[name, *textwrap.wrap(text, column)], [phrasing.id, *textwrap.wrap(phrasing.text, column)]]
    height = max(map(len, columns))
    rows = zip(*(lines + [""] * (height - len(lines)) for lines in columns), strict=True)
    lines = [f"{left:<{column}} | {right}".rstrip() for left, right in rows]
    return "\n".join([*lines, *(f"! {mark}" for mark in phrasing.marks)])


def review_phrasing(
    phrasings: Sequence[Instruction], phrasing: Instruction, decision: Decision, text: str = ""
) -> tuple[Instruction, ...]:
    """Return the phrasings of a file after a person has decided about one of them.

    Parameters
    ----------
    phrasings
        All phrasings of the file.
    phrasing
        The one that was decided about.
    decision
        "accept" marks it as reviewed; "edit" gives it another text, which is checked and stays to be reviewed; "remove"
        takes it out; "later" and "stop" leave it as it is.
    text
        The new text, for "edit".

    Raises
    ------
    InputError
        When the new text is empty, or that of another phrasing.

    Examples
    --------
    >>> new = Instruction("one-1", "Pick a label.", of="one")
    >>> review_phrasing([new], new, "accept")[0].reviewed, review_phrasing([new], new, "remove")
    (True, ())
    """
    if decision == "remove":
        return tuple(entry for entry in phrasings if entry.id != phrasing.id)
    changed = phrasing
    if decision == "accept":
        changed = replace(phrasing, reviewed=True)
    elif decision == "edit":
        text = " ".join(text.split())
        others = {_fingerprint(entry.text): entry.id for entry in phrasings if entry.id != phrasing.id}
        if not _fingerprint(text) or _fingerprint(text) in others:
            same = others.get(_fingerprint(text))
            what = f"the text is that of {same}" if same else "the text has no words"
            raise InputError(what, where=phrasing.id, remedy="write another text")
        original = next((entry for entry in phrasings if entry.id == phrasing.of), None)
        changed = replace(phrasing, text=text, marks=find_meaning_marks(original, text) if original else ())
    return tuple(changed if entry.id == phrasing.id else entry for entry in phrasings)


def _unquote(text: str) -> str:
    """Return a text without the quotation marks or the markup around it."""
    for start, end in (('"', '"'), ("“", "”"), ("**", "**")):
        if len(text) > len(start + end) and text.startswith(start) and text.endswith(end):
            inner = text[len(start) : -len(end)]
            if start not in inner:
                return inner.strip()
    return text


def _fingerprint(text: str) -> str:
    """Return a text in lower case without spaces and punctuation."""
    return "".join(re.findall(r"\w+", text.casefold()))
