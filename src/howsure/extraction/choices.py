"""Statements of a choice in other words than "the answer is": "I choose B", "it is B", "the right option is B".

They are put as "answer: B", so that the last statement of a completion wins whatever its words are. Only the end of a
completion is looked at, from the end of a sentence on; more of it while no statement is found.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterator, Sequence

from howsure.extraction.statements import concluded, stated
from howsure.extraction.vocabulary import CLOSED, DENIED, LOOSE, Vocabulary, any_of, exact, vocabulary

__all__ = ["HEDGE", "extract_choice", "read", "statement"]

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


_REASON = re.compile(r"\b(?:because|since|as|when|given|if|but not|instead of|rather than)\b", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]{1,300})\*\*")
_SAID = re.compile(rf"[^\s{re.escape(LOOSE)}]")
_REFUSED = ("ambiguous", "contradiction")
#: Longest line that is tried as an answer as a whole.
LONGEST = 2000


def extract_choice(text: str) -> str | None:
    """The letter of the choice that a completion gives, in upper case; None when it gives none, or several.

    As `read` reads it where choices are lettered and nothing more is known of them.

    >>> extract_choice("Paris is the capital. The answer is (B)."), extract_choice("A or B")
    ('B', None)
    """
    place, _ = read(text, string.ascii_uppercase, (), labels_asked=True)
    return None if place is None else string.ascii_uppercase[place]


def read(
    completion: str, labels: Sequence[str], choices: Sequence[str], *, labels_asked: bool = False
) -> tuple[int | None, str]:
    """Place of the choice that a completion gives, and the rule that fired; None and why, when nothing can be read.

    Parameters
    ----------
    labels, choices
        As the prompt showed them, in the order of the places.
    labels_asked
        Whether the prompt asks for a label, or shows answers that are labels.

    Notes
    -----
    Rules of None: "empty", "none" (no answer is given), "several", "ambiguous", "contradiction" (a label with the text
    of another choice), "unclear" (a statement that names no choice).

    >>> read("It is Oslo. The answer is (II).", ["I", "II", "III"], ["Rome", "Oslo", "Bern"])
    (1, 'statement')
    >>> read("I cannot tell.", ["I", "II"], ["Rome", "Oslo"])
    (None, 'none')
    """
    words = vocabulary(tuple(labels), tuple(choices))
    text = words.labels.masked(unicodedata.normalize("NFKC", concluded(completion))).strip()
    every = text.split("\n")
    last = next((line for line in reversed(every) if _SAID.search(line)), None)
    if last is None:
        return None, "empty"
    place, why = _whole(last, words, labels_asked)
    if why == "label" or (why in {"choice", *_REFUSED} and not _is_listing(every, words)):
        if place is not None:
            return place, "last line"
        if sum(1 for line in every if _SAID.search(line)) == 1:
            return None, why
    said = statement(text, words)
    if said is not None:
        return _statement(said, words, labels_asked)
    return _unstated(text, every, words, labels_asked)


def _unstated(text: str, every: list[str], words: Vocabulary, labels_asked: bool) -> tuple[int | None, str]:
    """The choice that a completion gives without a statement."""
    if _is_listing(every, words):
        return None, "none"
    phrases = set(_BOLD.findall(text))
    bold = {place for phrase in phrases if (place := _whole(phrase, words, labels_asked)[0]) is not None}
    if bold:
        return (bold.pop(), "bold") if len(bold) == 1 else (None, "several")
    lines = [line for line in every if _SAID.search(line)]
    place, _ = _whole(lines[0], words, labels_asked)
    if place is not None:
        return place, "first line"
    if words.labels.leading(lines[0]) is not None:
        return _leading(lines[0], words)
    if len(lines) == 1 and not HEDGE.search(text):
        return words.mentioned(text, "text")
    return None, "none"


def _is_listing(lines: list[str], words: Vocabulary) -> bool:
    """Whether lines start with several labels: the choices repeated, or steps that are numbered."""
    first = None
    for line in lines:
        place = words.labels.leading(line) if _SAID.search(line) else None
        if place is not None and first not in {None, place}:
            return True
        first = first if place is None else place
    return False


def _whole(said: str, words: Vocabulary, labels_asked: bool) -> tuple[int | None, str]:
    """What a phrase is as a whole: "label" or "choice" (with or without its label), or why it is neither."""
    if len(said) > LONGEST:
        return None, "none"
    said = words.unwrapped(said)
    text = words.text(said)
    form = words.labels.form.fullmatch(said)
    label = words.labels.place(form["label"]) if form else None
    if label is not None and form is not None:
        closed = CLOSED.search(said) and exact(said) not in words.texts
        if text is None or text == label or labels_asked or form["word"] or closed:
            return label, "label"
        return None, "ambiguous"
    both = [found for found in (words.labels.labelled.fullmatch(said), words.labels.after(said)) if found]
    for found in both:
        label, rest = words.labels.place(found["label"]), words.text(found["rest"])
        if label is not None and rest == label:
            return label, "choice"
        if label is not None and rest is not None and text is None and found["mark"]:
            return None, "contradiction"
    return (text, "choice") if text is not None else (None, "none")


def _statement(said: str, words: Vocabulary, labels_asked: bool) -> tuple[int | None, str]:
    """The choice that an explicit statement names."""
    said = words.unwrapped(said)
    cut = _REASON.split(said, maxsplit=1)[0].rstrip(" ,;:")
    for phrase in dict.fromkeys((said, cut)):
        place, why = _whole(phrase, words, labels_asked)
        if place is not None:
            return place, "statement"
        if why in _REFUSED:
            return None, why
    kept = words.labels.undenied(cut)
    found = words.labels_in(kept)
    if len(found) > 1:
        return None, "several"
    if found:
        return found.pop(), "statement"
    if HEDGE.search(kept):
        return None, "unclear"
    place, why = words.mentioned(kept, "statement")
    return place, "unclear" if why == "none" else why


def _leading(line: str, words: Vocabulary) -> tuple[int | None, str]:
    """The label that a line starts with, unless it is followed by the text of another choice and nothing else."""
    followed = words.labels.labelled.match(line)
    other = words.text(followed["rest"]) if followed else None
    place = words.labels.leading(line)
    if words.labels.another.search(line):
        return None, "several"
    return (None, "contradiction") if other not in (None, place) else (place, "first line")
