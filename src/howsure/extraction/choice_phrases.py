"""Read one phrase or sentence about choices: the labels in it, what marks one, and what it is as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from howsure.extraction.vocabulary import CLOSE, CLOSED, OPTION_NOUNS, SPACE, Vocabulary, any_of, normalize

__all__ = [
    "BE",
    "BEFORE_LABEL",
    "CONFLICTS",
    "HEDGE",
    "JOINED",
    "LONGEST",
    "MARKUP",
    "NAMED_BEFORE",
    "NEAR",
    "REFUSED",
    "SENTENCE_START",
    "Claim",
    "find_marked",
    "find_mentions",
    "is_considered",
    "lists_choices",
    "read_before",
    "read_phrase",
    "read_word_before",
    "remove_asides",
]

#: Pattern of the markup around a label.
MARKUP = r"[*\"'_`$“”]{0,8}"
#: Words with which a text doubts or refuses.
HEDGE = re.compile(
    any_of(
        *("maybe", "might", "may", "could", "perhaps", "possibly", "either", "unsure", "guess", "depends", "unclear"),
        *("unknown", "refuse", "sorry", "unable", "cannot", "can not", "do not", "not (?:sure|certain|enough)"),
        *("no idea", "can['’]t", "won['’]t", "don['’]t", "doesn['’]t", "isn['’]t", "aren['’]t"),
        *("whether", "hard to (?:say|tell|know|decide)", "difficult to (?:say|tell|know|determine)"),
    )
    + r"\b"
)
#: Words after which a sentence considers a choice and does not give it.
_CONSIDERED = re.compile(
    r"\b(?:if|whether|suppose|supposing|assum\w+|unless|(?<!that['’]s )(?<!that is )why|how|doubt|may|might"
    r"|could|perhaps|possibly|maybe"
    r"|let['’]s|(?:we|to|i)\s+(?:consider|check|compare|evaluate|examine|determine|decide|(?:find|see)(?!\s+that\b))"
    r"|(?:determine|decide|see|know|ask)\s+(?:what|which))\b"
    r"|\b(?:do|does|did|can|could|would)(?:\s+not|n['’]t)\b",
    re.IGNORECASE,
)
# A sentence on what would be the case: "Were the planet solid, its day would be shorter."
_HYPOTHETICAL = re.compile(
    r"(?:^|[.!]\s)\W*(?:had|were|imagine|provided\s+that|suppose|assume|if\b[^.]{3,80}?\b(?:were|had))\b", re.IGNORECASE
)
# The start of a sentence. The search for the first character skips all others at once.
SENTENCE_START = re.compile(r"[.!?;\n](?:(?<=\n)|(?<=;)\s|(?<=[.!?])[*_\"')\]]{0,4}\s)")
_ASIDE_FORM = r"\((?:or|and|also|same\s+as|equivalently|which|confidence|certainty|\d+\s?%)(?!\w)[^()\n]{0,120}\)"
_ASIDE = re.compile(rf"(?<=[\w)*])\s*{_ASIDE_FORM}", re.IGNORECASE)
_ASIDE_START = re.compile(_ASIDE_FORM, re.IGNORECASE)
#: Markup and brackets before a label.
BEFORE_LABEL = " \t\n([{*\"'_`$“”"
_NOUNS, _ARTICLE = frozenset((*OPTION_NOUNS.split("|"), "answer", "number")), frozenset(("the",))
#: Reasons for which a phrase gives no choice although it names one.
CONFLICTS = ("ambiguous", "contradiction")
#: Characters before a place that are searched for the start of its sentence.
NEAR = 300
#: Most mentions of labels that are looked at.
_MOST = 1000
#: Longest line that is tried as an answer as a whole.
LONGEST = 2000


@lru_cache(maxsize=256)
def _mention_pattern(one: str) -> re.Pattern[str]:
    """Return the pattern of a label and the markup after it, from the pattern of one label."""
    return re.compile(rf"(?P<label>{one})(?![\w'’%°])(?P<after>{MARKUP}{CLOSE}?[.:]?{MARKUP})")


def find_mentions(text: str, words: Vocabulary) -> Iterator[re.Match[str]]:
    """Yield the labels of a text that are no part of a word or a number."""
    matches = _mention_pattern(words.labels.one).finditer(text)
    for match in islice(matches, _MOST):
        before = text[match.start() - 1 : match.start()]
        if not before.isalnum() and (not before or before not in "'’\\-−"):
            yield match


def is_considered(text: str) -> bool:
    """Return whether a part of a sentence considers a choice and does not give it: "if", "whether", "let's check"."""
    return _CONSIDERED.search(text) is not None


def is_hypothetical(text: str) -> bool:
    """Return whether a sentence of a text says what would be the case: "Had it been red, it would be Mars."."""
    return _HYPOTHETICAL.search(text) is not None


def read_before(text: str, place: int) -> str:
    """Return the part of a sentence before a place, up to `NEAR` characters."""
    before = text[max(0, place - NEAR) : place]
    return before[max((cut.end() for cut in SENTENCE_START.finditer(before)), default=0) :]


def read_word_before(text: str, markup: str = BEFORE_LABEL) -> str:
    """Return the last word of a text, in lower case, before an article and a noun such as "option" at its end."""
    parts = text.rstrip(markup).lower().split()
    for nouns in (_NOUNS, _NOUNS, _ARTICLE):
        if parts and parts[-1].strip(markup) in nouns:
            parts.pop()
        while parts and not parts[-1].strip(markup):
            parts.pop()
    return parts[-1].rstrip(markup) if parts else ""


def lists_choices(line: str, words: Vocabulary) -> bool:
    """Return whether a line has several labels with the texts of their choices: "A. Rome | B. Paris"."""
    places = set()
    for mention in find_mentions(line, words):
        place = words.labels.exact_index(mention["label"])
        if place is not None and words.starts_choice(line[mention.end("label") :], place):
            places.add(place)
    return len(places) > 1


def remove_asides(text: str) -> str:
    """Return a text without remarks in brackets such as "(or 3.5)"."""
    return _ASIDE.sub("", text) if _ASIDE_START.search(text) else text


#: Words after the text of a choice and before its label: "3 signals (A)".
MOST_UNITS = 2
# The text of a choice before its label: "0.48 eV (B)".
_CITED = re.compile(r"[\s*_]*(?P<text>[^()\n]{1,300}?)[\s*_]*[(\[](?P<label>\w{1,4})[)\]][\s*_.]*")
_AFTER_CITED = SPACE + "*_."


def _read_cited(phrase: str, words: Vocabulary) -> int | None:
    """Return the choice whose text a phrase is before its label in brackets; None for another phrase."""
    cited = _CITED.fullmatch(phrase) if phrase.rstrip(_AFTER_CITED).endswith((")", "]")) else None
    place = words.labels.exact_index(cited["label"]) if cited else None
    if cited is None or place is None:
        return None
    if words.match_text(cited["text"]) == place:
        return place
    amount = words.folded[place] if place < len(words.folded) else ""
    if not amount.isdigit() or not words.starts_choice(cited["text"].lstrip(), place):
        return None
    return place if len(cited["text"].split()) <= 1 + MOST_UNITS else None


def read_phrase(phrase: str, words: Vocabulary, expects_label: bool) -> tuple[int | None, str]:
    """Return the choice that a phrase as a whole is, and "label" or "choice"; or None and the reason."""
    if len(phrase) > LONGEST:
        return None, "none"
    phrase = words.without_latex(phrase)
    text = words.match_text(phrase)
    form = words.labels.form.fullmatch(phrase)
    label = words.labels.index(form["label"]) if form else None
    if label is not None and form is not None:
        closed = CLOSED.search(phrase) and normalize(phrase) not in words.texts
        if text is None or text == label or expects_label or form["word"] or closed:
            return label, "label"
        return None, "ambiguous"
    if (place := _read_cited(phrase, words)) is not None:
        text = place
    for part in words.labels.split_label(phrase):
        label, rest = words.labels.index(part.label), words.match_text(part.text)
        if label is not None and rest == label:
            return label, "choice"
        if label is not None and rest is not None and text is None and part.is_marked:
            return None, "contradiction"
    return (text, "choice") if text is not None else (None, "none")


BE = r"(?:is|was|are|(?:would|must|should|will|has\s+to|seems\s+to|appears\s+to|to)\s+be|remains|being)"
JOINED = re.compile(
    r"\b(?:and|or|nor|through|both|between)\s*[*(\[\"']*\Z|(?-i:\b[A-Z])[)*]*\s*(?:to|[–—-])\s*[*(\[]*\Z", re.IGNORECASE
)
REFUSED = re.compile(
    r"\b(?:not|never|neither|nor|cannot|none|wrong|incorrect|false|eliminat\w*|rul(?:e|ed|ing)\s+out|unlikely|except|excluded?"
    r"|rather|instead|if|whether|between|might|may|could|but|however|although|though|unless|than)\b|n['’]t\b|\?",
    re.IGNORECASE,
)
RANGE = re.compile(r"\s*(?:[-–—]|through|to|thru)\s*[*(\[]?")
NAMED_BEFORE = re.compile(
    rf"\b(?:{OPTION_NOUNS}|alternativa|opci[óo]n|opç[ãa]o|opzione|letra|antwort)\s+{MARKUP}$", re.IGNORECASE
)


class Claim(NamedTuple):
    """A sentence that gives a choice as the answer."""

    start: int
    place: int | None
    """Index of the choice; None if it names several."""
    is_definite: bool
    """Whether its words say that the choice is the one that is asked for."""


def find_marked(text: str, mention: re.Match[str], words: Vocabulary, *, is_ended: bool = False) -> int | None:
    """Return the index of a label that is marked; `is_ended`: the end of a sentence marks a capital letter too."""
    place = words.labels.exact_index(mention["label"])
    start, after = mention.start(), mention["after"]
    before = text[max(0, start - 24) : start]
    is_closed = any(mark in after for mark in ")]")
    through = RANGE.match(text, mention.end())
    if (through and words.labels.label.match(text, through.end())) or JOINED.search(before):
        return None
    bare = before.rstrip("*_\"'`$")
    if bare[-1:] in {"(", "["}:  # "(B)", and not P(B) or "(B is"
        return place if is_closed and not bare[-2:-1].isalnum() else None
    if NAMED_BEFORE.search(before) or (is_closed and (not bare or bare[-1].isspace())):
        return place
    rest = text[mention.end() : mention.end() + words.longest].partition("\n")[0].lstrip(" \t*_\"'")
    is_bold = before.endswith("**") and ("**" in after or "." in after or ":" in after)
    if place is not None and (is_bold or words.starts_choice(rest, place)):
        return place
    is_end = (
        not rest
        or ":" in after
        or ("." in after and rest[:1].isupper())
        or text[mention.end() : mention.end() + 1] in {",", "!", ";"}
        or text.startswith((" — ", " – "), mention.end())
    )
    return place if is_ended and is_end and len(mention["label"]) == 1 and mention["label"].isupper() else None
