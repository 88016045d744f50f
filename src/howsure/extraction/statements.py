"""Find where a completion states its answer.

A statement is explicit when the completion marks it: `#### 18`, a box in LaTeX, `the answer is 18`,
`<answer>18</answer>`, `{"answer": 18}`, `[[18]]`, `Final: 18`, or a line that starts with `A:`. The last statement with
content counts, because models correct themselves as they write. Text between `<think>` tags is reasoning and not part
of the answer. Every pattern takes linear time on any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from howsure.extraction.completion_context import CompletionContext, remove_next_question
from howsure.extraction.languages import find_foreign_markers, translate_labels

__all__ = [
    "Statement",
    "ends_undecided",
    "extract_text",
    "find_statement",
    "find_statements",
    "match_plain_end",
    "read_line",
    "read_sentence",
    "remove_courtesy",
    "remove_reasoning",
]

#: Longest statement that is read, in characters.
LONGEST = 400

# "answer" and a verb, with at most "to/for/of ..." or a parenthesis between: "To answer this, note that ..." is none.
_MARKER = re.compile(
    r"""
      (?P<hashes>\#{4}(?!\#))
    | (?P<box>\\(?:boxed|fbox)\s{0,3}\{)
    | <(?P<tag>answer|choice|final|final_answer)>
    | \[\[(?=[^\[\]\n]{1,40}\]\])
    | \b(?-i:[Aa]ns|[Ff]inal):
    | ^[ \t]{0,4}[*_]{0,2}(?-i:A)[*_]{0,2}:
    | (?<!wrong[ ])(?<!incorrect[ ])(?:\b|(?<=final_))answers?\b
      (?:[ ]\((?!(?-i:[A-Z])\)[ ](?:is|are|was|would|should|must|will)\b)[^()\n]{0,40}\)
      |[ ](?:to|for|of)(?:[ ][\w'’]{1,20}){1,5}?
      |,[ ](?:however|therefore|then|thus|of[ ]course),)?
      [\s*_"'”’)]{0,4} (?:[-=]>|→|[:=]
          |\b(?:is|are|was|would[ ]be|should[ ]be|must[ ]be|will[ ]be|(?P<not>is[ ]?n['’]t))\b)
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
# The places where a marker can begin, except for the markup before an "A:". Each branch begins with one letter and
# without a flag, and "answer" is found by its rarest letter, so that the search skips all other text at once. Without
# it the reading of numbers takes three times as long and that of choices a quarter longer (bench/reading.py).
_START = re.compile(
    r"""
      \#(?=\#{3}(?!\#))
    | \\(?=(?i:boxed|fbox))
    | <(?=(?i:answer|choice|final|final_answer)>)
    | \[(?=\[)
    | :(?<=\b[aA]ns:)
    | :(?<=\b[fF]inal:)
    | w(?=(?i:er))(?<=(?i:answ))(?:(?<!\w(?i:answ))|(?<=(?i:final_answ)))
    | W(?=(?i:er))(?<=(?i:answ))(?:(?<!\w(?i:answ))|(?<=(?i:final_answ)))
    | A(?=[*_]{0,2}:)(?<![^\s*_]A)
    """,
    re.VERBOSE,
)
# The most common end of a completion, from its "answer" or hashes on: a statement of one word, and nothing after it.
# It is tried before the search for markers, and saves a sixth of the time for numbers and directions.
_PLAIN = re.compile(
    r"(?:(?<!\w)(?<!(?i:wrong) )(?<!(?i:this|that|your) )(?<!(?i:incorrect) )"
    r"[aA]nswer(?: is|:)|\#{4}) ([A-Za-z0-9(),$%-]{1,40})\.?\s{0,9}"
)
#: How much of the end of a text is searched for it, in characters.
NEAR = 100
# "This answer is correct because ...": a remark on an answer above it.
_POINTS_BACK = re.compile(r"\b(?:this|that|your)\s$", re.IGNORECASE)
_JUDGED = re.compile(
    r"[\s*_]*(?:(?:also|indeed|not|therefore|clearly|definitely|absolutely)\s)?(?:correct|incorrect|right|wrong|accurate"
    r"|inaccurate|valid|invalid|based|consistent|supported)\b",
    re.IGNORECASE,
)
#: Longest markup before an "A:", in characters.
INDENT = 6
_REASONING = r"(?:think|thinking|thought|reasoning)>"
_REASONING_END = re.compile(f"</{_REASONING}", re.IGNORECASE)
_REASONING_START = re.compile(f"<{_REASONING}", re.IGNORECASE)
# What has none of these characters states nothing: "The answer is ...".
_CONTENT = re.compile(r"[^\s.…*_\"'`$:=(){}\[\]\\-]")
# The value of a field in JSON: a text in quotes, or what stands before the next field.
_JSON_FIELD = re.compile(r"[\"']\s{0,3}:$")
_JSON_VALUE = re.compile(r"\s*+(?:\"(?P<text>[^\"\\\n]*+)\"|(?P<bare>[^,}\n\"]++)(?=[,}\n]))")
# Four hashes are a heading of markdown where words follow, or "1. Words", and more text below.
_HEADING = re.compile(r"[^\w\n]{0,8}(?:[^\W\d]|\d{1,3}[.)][ ]+[^\W\d])")
# A full stop ends a statement, except before a number ("Rs. 500").
_SENTENCE_END = re.compile(r"[.!?](?=[*_\"')\]}$]{0,4}(?:\s+(?![\s\d$€£¥₹])|\s*$))|[。！？।]|\n|</|\]\]")
# One amount of money, whose dollar sign opens no formula.
_AMOUNT = re.compile(r"[^$]*(?<!\\)\$[ ]?-?\d[\d,.]*(?:[^$\\^_{}+*=]*)")
# Markup, line breaks and the start of a displayed formula, which may stand between a marker and what it marks.
# The dots of "The answer is ... B" too, but not where a line ends with them: nothing is stated there.
_BEFORE = re.compile(r"(?:[\s*_:：=`]|\\[\[(]|\$\$|(?:\.\.\.|…)(?![ \t]*\n))*+")

#: Characters at the end of a text in which `ends_undecided` looks for its last sentence.
_TAIL = 250
_TAIL_SENTENCE = re.compile(r"[.!?][*_\"')]{0,3}\s+|\n")
# Each part of `_UNDECIDED` has one of these.
_UNDECIDED_HINTS = ("ither", "oth ", "sure", "decide", "tell", "determine", "say wh", "uncertain")
_CANNOT = r"(?:can['’]?t|cannot|can not|could ?n['’]t|could not|unable to|not able to|hard to|impossible to)"
_UNDECIDED = re.compile(
    r"\b(?:it|that|this|answer)(?:['’]s| is| was| must be| could be| may be| might be| can be) either\s+"
    r"(?:option )?[*(\\$\"'“]*(?:(?-i:[A-J])\b|[-−]?\d|yes\b|no\b|true\b|false\b)[^.;]{0,80}?\bor\b"
    r"|\b(?:is|be|take|choose|accept|pick) either(?: one)? of (?:the two|them|these)\b"
    r"|\beither(?: one)? of (?:the two|them|these)(?: answers| values| numbers)?"
    r" (?:could|may|might|can|is|works|would|will)\b"
    r"|\b[Bb]oth (?:answers|readings|values|results|interpretations) (?:are|seem|appear)(?: to be)? (?:equally )?"
    r"(?:possible|plausible|defensible|acceptable)\b"
    rf"|\b(?:not(?: \w+)? sure|unsure|uncertain|{_CANNOT} (?:decide|tell|say|determine))\b[^.;]{{0,20}}?"
    r"\b(?:which|between the two|whether (?:it|the answer))\b"
    r"|\b(?:and|or) (?:one|you|i|we) (?:can['’]t|cannot|can not) tell$",
    re.IGNORECASE,
)
# Words after it that choose: "I'm not sure which, but I'd go with 28".
_DECIDED = re.compile(
    r"\b(?:but|so|thus|hence|therefore|then|however|since|because|though|guess|answer is)\b", re.IGNORECASE
)


# "Yes, I can help with that!", "No, I'd rather not answer.", "Yes, that is a good question."
_COURTESY = re.compile(
    r"\A\W*(?:yes|yeah|no|sure|of course|certainly|absolutely)\b[,!.:]?\s+"
    r"(?:that(?:['’]s|\s+is)\s+an?\s+(?:\w+\s+){0,2}question\b"
    r"|i(?:\s+(?:can|could|will|would|am)|['’](?:ll|d|m))(?:\s+not|n['’]t)?\s+(?:\w+\s+){0,3}?"
    r"(?:help|assist|answer|rather|comment)\b(?!\s+(?:but|say)\b)|answer\W*\Z)[^.!?:\n]*(?:[.!?]+\s*|\Z)",
    re.IGNORECASE,
)


def ends_undecided(text: str) -> bool:
    """Return whether the last sentence of a completion leaves open which of several answers it gives.

    >>> ends_undecided("The answer is 28. But I'm not sure, it is either 11 or 28.")
    True
    >>> ends_undecided("It is either 11 or 28. There are rows, so it is 28.")
    False
    """
    tail = text[-_TAIL:].rstrip(' \n\t*_.!)"')
    if not any(map(tail.__contains__, _UNDECIDED_HINTS)):
        return False
    sentence = _TAIL_SENTENCE.split(tail)[-1]
    match = _UNDECIDED.search(sentence)
    return match is not None and not _DECIDED.search(sentence, match.end())


def remove_reasoning(text: str) -> str:
    """Return a completion without its reasoning; an empty text where the reasoning was cut off.

    The template of some models opens `<think>` in the prompt, so that the completion may have the closing tag only.

    >>> remove_reasoning("<think>The answer is 3? No.</think>The answer is 4."), remove_reasoning("<think>It is 3")
    ('The answer is 4.', '')
    """
    if ">" not in text:
        return text
    text = text[max((end.end() for end in _REASONING_END.finditer(text)), default=0) :]
    start = _REASONING_START.search(text)
    return text[: start.start()] if start else text


def remove_courtesy(text: str) -> str:
    """Return a text without a first sentence that begins with yes or no and is only about answering.

    >>> remove_courtesy("Yes, I can help with that! Parking rules vary."), remove_courtesy("Yes, it is.")
    ('Parking rules vary.', 'Yes, it is.')
    """
    return _COURTESY.sub("", text, count=1)


def extract_text(text: str, *, context: CompletionContext | None = None) -> str | None:
    """Return the whole completion in lower case and with single spaces; None when it is empty.

    >>> extract_text("  Yes,  INDEED ")
    'yes, indeed'
    """
    return " ".join(remove_next_question(remove_reasoning(text), context).split()).casefold() or None


class Statement(NamedTuple):
    """An explicit statement: its text without its marker, and the places where its marker and its text begin."""

    text: str
    start: int
    content: int
    is_cut: bool
    """Whether the completion ends within it: a bracket or a formula is still open."""


def find_statement(text: str) -> str | None:
    r"""Return the text of the last explicit statement, without its marker; None when there is no statement.

    A statement without content, or one that was cut, does not count if there is another before it.

    >>> find_statement("First 3 + 4. So the answer is 7 eggs. Well done!")
    '7 eggs'
    >>> find_statement("The answer is 7.\nThe answer is ...")
    '7'
    >>> find_statement("Perhaps 7.") is None
    True
    """
    if plain := match_plain_end(text):
        return plain[1]
    last = None
    for statement in find_statements(text):
        if _CONTENT.search(statement.text) and not statement.is_cut:
            return statement.text
        if last is None or (not _CONTENT.search(last) and statement.text):
            last = statement.text
    return last


def match_plain_end(text: str) -> re.Match[str] | None:
    """Return the match of a statement of one word that ends a text, with the word as its group 1; None without one."""
    end = max(text.rfind("nswer", -NEAR) - 1, text.rfind("####", -NEAR))
    return _PLAIN.fullmatch(text, end) if end >= 0 else None


def find_statements(text: str) -> Iterator[Statement]:
    """Yield the explicit statements of a text, the last one first."""
    markers = _find_markers(text)
    for foreign in reversed(find_foreign_markers(text, markers[-1].end() if markers else 0)):
        stated, is_cut = _read_sentence(text, foreign.end)
        stated = translate_labels(stated)
        yield Statement(f"not {stated}" if foreign.is_denied else stated, foreign.start, foreign.end, is_cut)
    for marker in reversed(markers):
        content = marker.end()
        if marker["box"]:
            rest = _text_after(text, content)
            stated = _box_content(rest)
            is_cut = len(stated) == len(text) - content
        elif _JSON_FIELD.search(marker[0]) and (value := _JSON_VALUE.match(text, content, content + LONGEST)):
            stated, is_cut = value["text"] if value["text"] is not None else value["bare"], False
        else:
            stated, is_cut = _read_sentence(text, content)
        yield Statement(f"not {stated}" if marker["not"] else stated, marker.start(), content, is_cut)


def _read_sentence(text: str, start: int) -> tuple[str, bool]:
    """Return the sentence after a marker, and whether the text ends within its brackets or its formula."""
    rest = _text_after(text, start)
    sentence = _first_sentence(rest)
    is_cut = start + len(rest) == len(text) and rest.endswith(sentence)
    return sentence, is_cut and _is_open(sentence)


def read_sentence(text: str, start: int) -> str:
    """Return the sentence that begins at a place of a text, after any markup and line breaks."""
    return _first_sentence(_text_after(text, start))


def read_line(text: str, start: int) -> str:
    """Return the line that begins at a place of a text, after any markup and line breaks."""
    return _BEFORE.sub("", _text_after(text, start), count=1).partition("\n")[0].strip()


def _text_after(text: str, end: int) -> str:
    """Return the text after a marker, up to `LONGEST` characters in whole words."""
    rest = text[end : end + LONGEST]
    if end + LONGEST < len(text):
        rest = rest[: max(rest.rfind(" "), rest.rfind("\n")) + 1]  # a cut number has another value
    return rest


def _is_open(text: str) -> bool:
    """Return whether a text opens more brackets than it closes, or a formula that it does not close."""
    opened, closed = (sum(map(text.count, brackets)) for brackets in ("([", ")]"))  # (0, 1] is closed
    if text.count("{") > text.count("}") or opened > closed:
        return True
    return (text.count("$") - text.count("\\$")) % 2 == 1 and not _AMOUNT.fullmatch(text)


def _find_markers(text: str) -> list[re.Match[str]]:
    """Return the markers of a text that are no headings or remarks, in order; a match within another is no marker."""
    markers = []
    end = 0
    for match in _START.finditer(text):
        start, first = match.start(), match[0]
        if first in "wW":
            start -= len("ans")
        elif first == ":":
            start -= len("ans") if text[start - 1] == "s" else len("final")
        if start >= end and (marker := _match_marker(text, start)) and not _is_no_marker(text, marker):
            markers.append(marker)
            end = marker.end()
    return markers


def _match_marker(text: str, start: int) -> re.Match[str] | None:
    """Return the marker that begins at a match of `_START`."""
    if text.startswith(("A:", "A*", "A_"), start):
        line = text.rfind("\n", max(0, start - INDENT - 1), start) + 1
        return _MARKER.match(text, line) if line or start <= INDENT else None
    return _MARKER.match(text, start)


def _is_no_marker(text: str, marker: re.Match[str]) -> bool:
    """Return whether words are a heading, or a remark on an answer above them: "This answer is correct"."""
    start = marker.start()
    is_remark = _POINTS_BACK.search(text, max(0, start - 5), start) and _JUDGED.match(text, marker.end())
    return bool(is_remark) or _is_heading(text, marker)


def _is_heading(text: str, marker: re.Match[str]) -> bool:
    """Return whether four hashes are a heading of markdown and no marker."""
    if not marker["hashes"]:
        return False
    line, _, below = text[marker.end() : marker.end() + LONGEST].partition("\n")
    return bool(_HEADING.match(line)) and bool(below.strip())


def _box_content(rest: str) -> str:
    """Return the text up to the brace that closes the box; all of it when the completion was cut."""
    depth = 1
    for i, character in enumerate(rest):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return rest[:i]
    return rest


def _first_sentence(rest: str) -> str:
    """Return the first sentence of a text, after any markup and line breaks."""
    rest = _BEFORE.sub("", rest, count=1)
    end = _SENTENCE_END.search(rest)
    return (rest[: end.start()] if end else rest).strip()
