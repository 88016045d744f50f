r"""Find where a completion states its answer.

A statement is marked: `#### 18`, a box in LaTeX, `the answer is 18`, `Answer: 18`, `<answer>18</answer>`,
`{"answer": 18}`, `[[18]]`, `Final: 18`, a line that starts with `A:`, `the correct option is (B)`, or the words for
"the answer is" of another language (`language_words`). The last statement with content counts, because models correct
themselves as they write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from howsure.scorers.language_words import LANGUAGES

#: Longest statement that is read, in characters.
LONGEST = 400
#: Characters of the end of a text that are searched for a statement before more of it is.
NEAR = (80, 400)

_GAP = r"[\s*_\"'”’)]{0,4}"
_BE = r"\b(?:is|are|was|would[ ]be|should[ ]be|must[ ]be|will[ ]be)\b"
# "answer" and a verb, with at most "to/for/of ..." or a parenthesis between: "To answer this, note that ..." is none.
_MARKER = re.compile(
    rf"""
      (?P<hashes>\#{{4}}(?!\#))
    | (?P<box>\\(?:boxed|fbox)\s{{0,3}}\{{)
    | <(?:answer|choice|final|final_answer)>
    | \[\[(?=[^\[\]\n]{{1,40}}\]\])
    | \b(?-i:[Aa]ns|[Ff]inal):
    | ^[ \t]{{0,4}}[*_]{{0,2}}(?-i:A)[*_]{{0,2}}:
    | (?<!wrong[ ])(?<!incorrect[ ])(?:\b|(?<=final_))answers?\b
      (?:[ ]\((?!(?-i:[A-Z])\)[ ](?:is|are|was|would|should|must|will)\b)[^()\n]{{0,40}}\)
        |[ ](?:to|for|of)(?:[ ][\w'’]{{1,20}}){{1,5}}?)?
      {_GAP} (?: (?P<field>(?<=")[:]) | [:=] | {_BE})
    | \b(?:correct|right|best|chosen|suitable|closest|appropriate|likely|accurate)[ ]
      (?:answer[ ])?(?:option|choice|alternative|statement)\b (?:[ ][\w'’]{{1,20}}){{0,5}}?
      {_GAP} (?: [:=] | {_BE})
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)


def _compile_foreign() -> tuple[tuple[str, ...], re.Pattern[str]]:
    """Return the nouns for an answer in other languages that are in ASCII, and the pattern of their statements."""
    nouns, verbs = set[str](), set[str]()
    for code, words in LANGUAGES.items():
        if code != "en":
            nouns |= {word.replace("_", " ") for word in words.answer.split()}
            verbs |= {word.replace("_", " ") for word in words.be.split()}

    def join(parts: set[str]) -> str:
        return "|".join(map(re.escape, sorted(parts, key=len, reverse=True)))

    spaced = join({verb for verb in verbs if verb.isascii()})
    glued = join({verb for verb in verbs if not verb.isascii()})
    pattern = (
        rf"(?:(?<![^\W_])(?:{join({noun for noun in nouns if ord(noun[0]) < 0x590})})(?!\w)"
        rf"|(?:{join({noun for noun in nouns if ord(noun[0]) >= 0x590})}))(?:[ ][^\W\d_]{{2,20}}){{0,3}}?{_GAP}"
        rf"(?:[:：=]|(?<=\s)(?:{spaced})(?!\w)|(?:{glued}))"
    )
    return tuple(sorted(filter(str.isascii, nouns))), re.compile(pattern, re.IGNORECASE)


_ASCII_NOUNS, _FOREIGN = _compile_foreign()
# "I do not think the answer is B": what is not stated.
_SUPPOSED = re.compile(r"(?:(?:\bnot|n['’]t)\s(?:think|believe|say|sure)|\bwhether)\b[^.!?,\n]{0,40}$", re.IGNORECASE)
# What has none of these characters states nothing: "The answer is ...".
_CONTENT = re.compile(r"[^\s.…*_\"'`$:=\\-]")
# The value of a field in JSON: a text in quotes, or what stands before the next field.
_JSON_VALUE = re.compile(r"\s*+(?:\"(?P<text>(?:[^\"\\]|\\.)*+)\"|(?P<bare>[^,}\n\"]++)(?=[,}\n]))", re.DOTALL)
# Four hashes are a heading of markdown where words follow and more text stands below.
_HEADING = re.compile(r"[^\w\n]{0,8}(?:\d{1,3}[.)][ ]+)?[^\W\d][^\n]*\n\s*\S")
# A full stop ends a statement, except before a number ("Rs. 500").
_SENTENCE_END = re.compile(r"[.!?](?=[*_\"')\]}$]{0,4}(?:\s+(?![\s\d$€£¥₹])|\s*$))|[。！？।]|\n|</|\]\]")
# Markup, line breaks and dots that may stand between a marker and what it marks.
_BEFORE = re.compile(r"(?:[\s*_:：=`]|\\[\[(]|\$\$|(?:\.\.\.|…)(?![ \t]*\n))*+")
_SENTENCE_SPLIT = re.compile(r"(?<=[.!?])[*_\"')\]]{0,3}\s+|(?<=[。！？।])|\n+")


class Statement(NamedTuple):
    """An explicit statement: its text without its marker, and the places where its marker and its text begin."""

    text: str
    start: int
    content: int


def find_statement(text: str) -> str | None:
    r"""Return the text of the last explicit statement, without its marker; None when there is no statement.

    A statement without content, or a box that is cut, does not count.

    >>> find_statement("First 3 + 4. So the answer is 7 eggs. Well done!")
    '7 eggs'
    >>> find_statement("The answer is 7.\nThe answer is ...")
    '7'
    >>> find_statement("Perhaps 7.") is None
    True
    """
    statement = next(find_statements(text), None)
    return None if statement is None else statement.text


def find_statements(text: str) -> Iterator[Statement]:
    """Yield the explicit statements of a text that have content, the last one first.

    Statements are searched in the end of the text first, because nearly all texts state their answer there.
    """
    first = len(text)
    for start in dict.fromkeys((*(max(0, len(text) - length) for length in NEAR), 0)):
        markers = [marker for marker in _find_markers(text, start) if marker.start() < first]
        for marker in reversed(markers):
            statement = _read_statement(text, marker)
            if statement is not None and _CONTENT.search(statement.text):
                yield statement
        first = markers[0].start() if markers else first


def _find_markers(text: str, start: int) -> list[re.Match[str]]:
    """Return the markers of a text from a place on, in order; a heading and a supposition are none."""
    markers = [marker for marker in _MARKER.finditer(text, start) if not _is_no_marker(text, marker)]
    part = text[start:].lower()
    if not part.isascii() or any(noun in part for noun in _ASCII_NOUNS):
        markers += _FOREIGN.finditer(text, start)
        markers.sort(key=lambda marker: marker.start())
    return markers


def _is_no_marker(text: str, marker: re.Match[str]) -> bool:
    """Return whether hashes are a heading of markdown, or words suppose an answer."""
    if marker["hashes"]:
        return _HEADING.match(text, marker.end(), marker.end() + LONGEST) is not None
    return _SUPPOSED.search(text, max(0, marker.start() - 60), marker.start()) is not None


def _read_statement(text: str, marker: re.Match[str]) -> Statement | None:
    """Return the statement after a marker; None for a box that the end of the text cuts."""
    start, content = marker.start(), marker.end()
    groups = marker.groupdict()
    rest = _text_after(text, content)
    if groups.get("box"):
        stated = _box_content(rest)
        is_cut = content + len(stated) == len(text)
        return None if is_cut else Statement(stated, start, content)
    if groups.get("field") and (value := _JSON_VALUE.match(rest)):
        stated = value["text"] if value["text"] is not None else value["bare"]
        return Statement(stated.replace('\\"', '"').replace("\\\\", "\\"), start, content)
    return Statement(_first_sentence(rest), start, content)


def read_line(text: str, start: int) -> str:
    """Return the line that begins at a place of a text, after any markup and line breaks."""
    return _BEFORE.sub("", _text_after(text, start), count=1).partition("\n")[0].strip()


def split_sentences(text: str) -> list[str]:
    r"""Return the sentences and lines of a text that have content.

    >>> split_sentences("It is 3. No!\nIt is 4.5 then.")
    ['It is 3.', 'No!', 'It is 4.5 then.']
    """
    return [part.strip() for part in _SENTENCE_SPLIT.split(text) if _CONTENT.search(part)]


def _text_after(text: str, end: int) -> str:
    """Return the text after a marker, up to `LONGEST` characters in whole words."""
    rest = text[end : end + LONGEST]
    if end + LONGEST < len(text):
        rest = rest[: max(rest.rfind(" "), rest.rfind("\n")) + 1]  # a cut number has another value
    return rest


def _first_sentence(rest: str) -> str:
    """Return the first sentence of a text, after any markup and line breaks."""
    rest = _BEFORE.sub("", rest, count=1)
    end = _SENTENCE_END.search(rest)
    return (rest[: end.start()] if end else rest).strip()


def _box_content(rest: str) -> str:
    """Return the text up to the brace that closes the box; all of it when the completion was cut."""
    depth = 1
    for place, character in enumerate(rest):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return rest[:place]
    return rest
