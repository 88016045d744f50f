"""Statements of a choice in other words than "the answer is": "I choose B", "it is B", "the right option is B".

They are put as "answer: B", so that the last statement of a completion wins whatever its words are. Only the end of a
completion is looked at, from the end of a sentence on; more of it while no statement is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from howsure.benchmarks.labelled import DENIED, any_of
from howsure.benchmarks.statement import stated
from howsure.benchmarks.vocabulary import LOOSE, Vocabulary

__all__ = ["HEDGE", "statement"]

HEDGE = re.compile(
    any_of(
        *("maybe", "might", "may", "could", "perhaps", "possibly", "either", "unsure", "guess", "depends", "unclear"),
        *("unknown", "refuse", "sorry", "unable", "cannot", "can not", "do not", "not (?:sure|certain|enough)"),
        *("no idea", "can['’]t", "won['’]t", "don['’]t", "doesn['’]t", "isn['’]t", "aren['’]t"),
    )
    + r"\b"
)
# What names the answer without the word: "the correct option is ...", "my choice: ..."
_MARKED = re.compile(
    r"(?:\b(?:correct|right|best|final|my|chosen|selected)\s+(?:option|choice|label|letter|symbol|numeral|alternative)"
    r"|\b(?:label|letter|symbol|numeral|number)\s+(?:of|for)\s+(?:the|my)\s+"
    r"(?:(?:correct|right|best)\s+)?(?:choice|option|answer|alternative)"
    r"|^[ \t>*_]*(?:option|choice|label|letter))[*_]*\s*(?::|=|(?:is|would\s+be|must\s+be|should\s+be)\b(?!\s+not\b))",
    re.IGNORECASE | re.MULTILINE,
)
# What no marked statement can do without.
_MARKS = re.compile(
    r"(?:o(?i:ption)|O(?i:ption)|c(?i:hoice)|C(?i:hoice)|l(?i:abel|etter)|L(?i:abel|etter)|s(?i:ymbol)|S(?i:ymbol)"
    r"|n(?i:umeral|umber)|N(?i:umeral|umber)|a(?i:lternative)|A(?i:lternative))"
    r"(?:[*_]*\s*(?::|=|(?i:is|would|must|should)\b)|\s+(?i:of|for)\b)"
)
# A statement within these is none, up to the next punctuation.
_UNSAID = re.compile(
    any_of(
        *("whether", "can(?:not|['’]t| not) (?:say|tell|determine|confirm|be sure)"),
        *("do(?: not|n['’]t) (?:think|know|believe)", "doubt", "unable to"),
    )
    + r"\b[^.,;:!?\n]{0,80}"
)
#: How much of the end of a completion is looked at first, in characters, and how far before it a sentence may end.
NEAR, BACK = 60, 320
_END = re.compile(r"[.!?]\s")
# What may make a statement in the next sentence none: so far before it, whatever `_UNSAID` leaves out between.
_OPEN = (
    *("may", "might", "could", "perhaps", "possibly", "either", "unsure", "guess", "depends", "unclear", "unknown"),
    *("refuse", "sorry", "unable", "cannot", "can not", "do not", "not sure", "not certain", "not enough", "no idea"),
    *("n't", "n’t", "whether", "doubt"),
)
HEDGED = 160


def statement(text: str, words: Vocabulary) -> str | None:
    """Text of the last explicit statement in a masked text, as `stated`; None when there is none."""
    return next((said for end in _ends(text, words) if (said := stated(_plain(end, words))) is not None), None)


def _ends(text: str, words: Vocabulary) -> Iterator[str]:
    """Ends of a text that read as they do within it, longer and longer."""
    size = NEAR
    while 2 * size < len(text) and not words.labels.have_ends:
        cut = len(text) - size
        for end in reversed([found.start() for found in _END.finditer(text, max(0, cut - BACK), cut)]):
            if text[end + 1] == "\n" or not _is_open(text, end, words):
                yield text[end:]
                break
        size *= 4
    yield text


def _is_open(text: str, end: int, words: Vocabulary) -> bool:
    """Whether what comes next on the line belongs to what is there, or may be hedged by it."""
    if words.labels.dot.match(text, end) and _is_before_choice(text, end + 1, words):
        return True
    before = text[max(0, end - HEDGED) : end].rpartition("\n")[2].lower()
    return any(word in before for word in _OPEN) or "ı" in before or "i̇" in before


def _is_before_choice(text: str, place: int, words: Vocabulary) -> bool:
    """Whether the rest of the line is the text of a choice: "The answer is A. Rome" is one sentence."""
    below = text[place : place + words.longest + 1]
    rest, line_ends, _ = below.partition("\n")
    return bool(line_ends or len(below) <= words.longest) and words.text(rest.lstrip(" \t")) is not None


def _plain(text: str, words: Vocabulary) -> str:
    """A text with its statements in other words as "answer: LABEL"."""
    labels = words.labels
    text = _UNSAID.sub(" ", text)

    def one_sentence(dotted: re.Match[str]) -> str:
        return f"{dotted['label']})" if _is_before_choice(dotted.string, dotted.end(), words) else dotted[0]

    def marked(found: re.Match[str]) -> str:
        rest = found.string[found.end() : found.end() + 400]
        told = rest.casefold().lstrip(LOOSE + "\n")
        choice = told.startswith(tuple(filter(None, words.loose_texts)))
        return "\nanswer:" if choice or labels.begins.match(rest) else found[0]

    def chosen(found: re.Match[str]) -> str:
        before = found.string[max(0, found.start() - 40) : found.start()].rpartition("\n")[2]
        if DENIED.search(before) or (found["label3"] and HEDGE.search(before)):
            return found[0]
        word = found["word"] or found["word2"] or found["word3"] or ""
        return f"\nanswer: {word}{found['label'] or found['label2'] or found['label3']}\n"

    if labels.dot.search(text):
        text = labels.dotted.sub(one_sentence, text)
    if _MARKS.search(text):
        text = _MARKED.sub(marked, text)
    if labels.alone.search(text) and (labels.choosing.search(text) or labels.correct.search(text)):
        text = labels.chosen.sub(chosen, text)
    return text
