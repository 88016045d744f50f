"""Which choice a completion gives: its label or its text, never the nearest string.

What stands between `<think>` tags is left out. In this order, and the first that is there decides, whether or not it
can be read:

1. *last line*: a last line that is only a label, a label with its text, or the text of one choice;
2. *statement*: the last explicit statement (`benchmarks.statement.stated`, and "I choose B", "it is B", "the right
   option is B");
3. *bold*: phrases in bold that are a label or a choice, if they agree;
4. *first line*: a first line that is a label or a choice, or starts with a marked label ("B) ...", "B because ..."),
   if no other line does;
5. *text*: a completion of one line, without a hedge, in which one choice occurs.

Labels match the longest first. A label counts as itself or as the choice whose text it is when both are the same
choice; where they differ ("3" of the choices 1: 4, 2: 5, 3: 6, 4: 3), brackets ("(3)"), a word ("option 3"), or a
prompt that asks for labels make it a label, else it is *ambiguous* and nothing is read.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Sequence

from howsure.benchmarks.labelled import CLOSED
from howsure.benchmarks.phrases import HEDGE, statement
from howsure.benchmarks.statement import concluded
from howsure.benchmarks.vocabulary import LOOSE, Vocabulary, exact, vocabulary

__all__ = ["extract_choice", "read"]

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
