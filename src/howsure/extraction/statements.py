"""Where a completion states its answer; reading what stands there is each benchmark's own.

A statement is explicit when the completion marks it: `#### 18`, a box in LaTeX, `the answer is 18`,
`<answer>18</answer>`, or a line that starts with `A:`. The last one wins: models correct themselves
forwards. What a model says while it reasons, between `<think>` tags, is no part of its answer. Every pattern takes
linear time on any text.
"""

from __future__ import annotations

import re

__all__ = ["concluded", "stated"]

#: Longest statement that is read, in characters.
LONGEST = 400

# "answer" and a verb, with at most "to/for/of ..." or a parenthesis between: "To answer this, note that ..." is none.
_MARKER = re.compile(
    r"""
      (?P<hashes>\#{4}(?!\#))
    | (?P<box>\\(?:boxed|fbox)\s{0,3}\{)
    | <answer>
    | ^[ \t]{0,4}[*_]{0,2}(?-i:A)[*_]{0,2}:
    | (?<!wrong[ ])(?<!incorrect[ ])\banswers?\b (?:[ ]\([^()\n]{0,40}\)|[ ](?:to|for|of)(?:[ ][\w'’]{1,20}){1,5}?)?
      [\s*_"'”’)]{0,4} (?:[:=]|\b(?:is|are|was|would[ ]be|should[ ]be|must[ ]be|will[ ]be|(?P<not>is[ ]?n['’]t))\b)
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
# Where a marker can begin, save the markup before an "A:"; an "answer" is found by its w, the rarest of its letters. A
# branch begins with one letter and no flag: that lets the search pass over all other text at once, which it cannot do
# for the pattern above.
_START = re.compile(
    r"""
      \#(?=\#{3}(?!\#))
    | \\(?=(?i:boxed|fbox))
    | <(?=(?i:answer>))
    | w(?=(?i:er))(?<=(?i:answ))(?<!\w(?i:answ))
    | W(?=(?i:er))(?<=(?i:answ))(?<!\w(?i:answ))
    | A(?=[*_]{0,2}:)(?<![^\s*_]A)
    """,
    re.VERBOSE,
)
_REASONING = r"(?:think|thinking|thought|reasoning)>"
_REASONED = re.compile(f"</{_REASONING}", re.IGNORECASE)
_REASONS = re.compile(f"<{_REASONING}", re.IGNORECASE)
#: Longest marker, in characters, longest markup before an "A:", and what `_START` needs of it.
WIDEST, INDENT, AHEAD = 200, 6, 11
#: How much of the end of a text is searched first, in characters.
NEAR = 100
# The commonest end of a completion, from its "answer" or hashes on: one word is stated, and nothing else can be.
_PLAIN = re.compile(
    r"(?:(?<!\w)(?<!(?i:wrong) )(?<!(?i:incorrect) )answer(?: is|:)|\#{4}) ([A-Za-z0-9(),$%-]{1,40})\.?\s{0,9}"
)
# A heading of markdown is four hashes too: words, or "1. Words", with more text below.
_HEADING = re.compile(r"[^\w\n]{0,8}(?:[^\W\d]|\d{1,3}[.)][ ]+[^\W\d])")
# A full stop ends a statement, not when a number follows ("Rs. 500").
_SENTENCE_END = re.compile(r"[.!?](?=[*_\"')\]}$]{0,4}(?:\s+(?![\s\d$€£¥₹])|\s*$))|\n|</")
# Between a marker and what it marks: markup, line breaks, the start of a displayed formula.
_BEFORE = re.compile(r"(?:[\s*_:=`]|\\[\[(]|\$\$)*+")


def concluded(text: str) -> str:
    """What a completion says once it has reasoned: nothing of it when the reasoning was cut off.

    The template of some models opens `<think>` in the prompt, so the closing tag may stand alone.

    >>> concluded("<think>The answer is 3? No.</think>The answer is 4."), concluded("<think>The answer is 3")
    ('The answer is 4.', '')
    """
    if ">" not in text:
        return text
    text = text[max((closed.end() for closed in _REASONED.finditer(text)), default=0) :]
    opened = _REASONS.search(text)
    return text[: opened.start()] if opened else text


def stated(text: str) -> str | None:
    """Text of the last explicit statement, without its marker; None when there is no statement.

    >>> stated("First 3 + 4. So the answer is 7 eggs. Well done!")
    '7 eggs'
    >>> stated("Perhaps 7.") is None
    True
    """
    end = max(text.rfind("answer", -NEAR), text.rfind("####", -NEAR))
    if end >= 0 and (plain := _PLAIN.fullmatch(text, end)):
        return plain[1]
    last = _last_marker(text)
    if last is None:
        return None
    rest = text[last.end() : last.end() + LONGEST]
    if last.end() + LONGEST < len(text):
        rest = rest[: max(rest.rfind(" "), rest.rfind("\n")) + 1]  # a number cut in the middle would be another number
    if last["box"]:
        return _inside(rest)
    if last["not"]:
        return "not " + _sentence(rest)
    return _sentence(rest)


def _last_marker(text: str) -> re.Match[str] | None:
    """The last of the markers that follow one another from the left, found from the right."""
    end, near = len(text), text.rfind("answer", -NEAR)
    size = NEAR if near < 0 else end - near
    while end > 0:
        begin = max(0, end - size)
        for start in _starts(text, begin, end + AHEAD):
            last = _marker(text, start)
            if last is None or _is_heading(text, last):
                continue
            if _is_within(text, start, last.start()):
                # Only the way from the left tells which of them count.
                return [marker for marker in _MARKER.finditer(text) if not _is_heading(text, marker)][-1]
            return last
        if begin and end == len(text) and not _may_hold(text):
            break
        end, size = begin, 4 * NEAR if size < NEAR else 4 * size
    return None


def _is_within(text: str, start: int, begin: int) -> bool:
    """Whether the marker that begins there is within another."""
    first = max(0, start - WIDEST)
    return _may_hold(text[first:start]) and any(
        (marker := _marker(text, other)) is not None and marker.end() > begin for other in _starts(text, first, start)
    )


def _may_hold(text: str) -> bool:
    """Whether a text may have what markers cannot do without."""
    if not text.isascii():
        return True  # other alphabets have letters that match ours: "anſwer"
    lower = text.lower()
    return "answ" in lower or "box" in lower or "####" in text or "A:" in text or "A*" in text or "A_" in text


def _starts(text: str, begin: int, end: int) -> list[int]:
    """Where markers can begin in a part of a text, from the right."""
    return [at.start() - 3 if at[0] in "wW" else at.start() for at in _START.finditer(text, begin, end)][::-1]


def _marker(text: str, start: int) -> re.Match[str] | None:
    if text.startswith(("A:", "A*", "A_"), start):
        line = text.rfind("\n", max(0, start - INDENT - 1), start) + 1
        return _MARKER.match(text, line) if line or start <= INDENT else None
    return _MARKER.match(text, start)


def _is_heading(text: str, marker: re.Match[str]) -> bool:
    if not marker["hashes"]:
        return False
    line, _, below = text[marker.end() : marker.end() + LONGEST].partition("\n")
    return bool(_HEADING.match(line)) and bool(below.strip())


def _inside(rest: str) -> str:
    """Up to the brace that closes the box; all of it when the completion was cut."""
    depth = 1
    for i, character in enumerate(rest):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return rest[:i]
    return rest


def _sentence(rest: str) -> str:
    """The rest of the sentence; what stands on the next line when nothing but punctuation is left on this one."""
    rest = rest[_BEFORE.match(rest).end() :]  # type: ignore[union-attr]  # it matches nothing too
    end = _SENTENCE_END.search(rest)
    return (rest[: end.start()] if end else rest).strip()
