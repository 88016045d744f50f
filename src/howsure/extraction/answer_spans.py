"""List the parts of a completion that may be the answer to an open question, as spans of its sentences.

A span begins and ends where an answer can: at an end of the sentence, a mark, a function word, a word of the question,
or a change between capitals and small letters; names, dates and amounts are not divided. A part that its sentence
denies, doubts or reports is no span, nor is one of two that "or" joins. The target is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from howsure.extraction.languages import is_reported
from howsure.extraction.open_candidates import match_stems

__all__ = [
    "CONTRASTS",
    "Sentence",
    "Span",
    "is_negative",
    "list_content",
    "list_spans",
    "parse_sentence",
    "parse_sentences",
]

WordKind = Literal["be", "article", "place", "by", "called", "other", "mark", "question", "digit", "capital", "small"]

#: Most sentences at the beginning and at the end of a text that are searched, most words of a sentence and of a span,
#: and most spans of a text.
MOST_SENTENCES, MOST_SENTENCE_WORDS, MOST_SPAN_WORDS, MOST_SPANS = 4, 60, 8, 400

_TOKEN = re.compile(
    r"\*\*|[*_`]+|[$€£¥]?\d+(?:,\d{3})*(?:[./:]\d+)*(?:st|nd|rd|th)?[%°]?|(?:[A-Z]\.)+(?=[\sA-Z]|$)|(?:Dr|Mrs?|Ms|St|Mt|Prof)\.(?=\s)"
    r"|[^\W_]+(?:['’.-][^\W_]+)*['’]?s?|[^\s\w]"
)
_WORDS: dict[WordKind, str] = {
    "be": """is are was were be been being am remains remained became becomes 's est ist e era war fue è é foi
    wurde wird été stato stata hat ha sido""",
    "article": "the a an la le el der die das il lo les los las l'",
    "place": "in on at near within en im am à au nel",
    "by": "by por par von da",
    "called": "called named known titled",
    "other": """of to from during since for with into as than that which who whom whose where when while because and or
    but so if it this he she they its his her their there i we you not no have has had do does did can could will would
    should may might must also just only very most more about around over between after before through until though
    although however yet both then thus therefore hence es""",
}
_KINDS: dict[str, WordKind] = {word: kind for kind, words in _WORDS.items() for word in words.split()}
#: Kinds of words at which a span neither begins nor ends.
FUNCTION_KINDS: frozenset[WordKind] = frozenset({"be", "place", "by", "called", "other", "mark"})
# "it's", "that'd": a pronoun with a form of "be".
_CONTRACTED = re.compile(r"(?:it|that|this|he|she|there|here|what|who|they|we|you|i|c|qu)['’](?:s|d|re|ll|m|est)")
_QUESTION_WORDS = frozenset(
    {"what", "which", "who", "when", "where", "how", "many", "much", "name", "did", "whose", "why"}
)
_POSSESSIVE = re.compile(r"['’]s$")
_YEAR = re.compile(r"(?:1\d{3}|20\d{2})")
_MONTH_NAMES = "january february march april may june july august september october november december"
MONTHS = frozenset(_MONTH_NAMES.split())
_DIGIT = re.compile(r"\d")

_PARTICLES = frozenset(
    {"de", "da", "di", "du", "la", "le", "van", "von", "der", "den", "del", "dos", "bin", "al", "ibn", "y"}
)
_OFFICE_TEXT = """president vice king queen emperor pope saint sir dr mr mrs ms prof professor captain general duke
prince princess chancellor minister senator"""
_OFFICES = frozenset(_OFFICE_TEXT.split())
_NATIONALITY = ("'s", "’s", "ish", "ian", "ese")
_INNER_MARKS = frozenset({",", "-", "–", "'", "’", "/", "&", ".", "%", "°", "+", "^", "(", ")"})
_INNER_TEXT = "of and the a in to for or on an la le is no as by from with der die da von de di del"
_INNER_WORDS = frozenset(_INNER_TEXT.split())

_NEGATIVE = frozenset({"not", "never", "neither", "nor", "cannot", "no", "unlike", "rather", "instead"})
_DOUBT_TEXT = """if whether perhaps maybe possibly might unclear wrongly mistakenly unless rumoured rumored
misconception myth contrary nobody none nothing only cannot"""
_DOUBTS = frozenset(_DOUBT_TEXT.split())
_REMARKS = frozenset({"rather", "unlike", "instead"})
#: Words behind which a sentence says something else than before them.
CONTRASTS = frozenset(
    {"but", "though", "although", "while", "whereas", "however", "yet", "before", "after", "followed", "unlike"}
)
_BOUNDARIES = frozenset({";", ":", "–", "—", "but", "while", "whereas", "although", "though", "however", "then"})
_AFTER_COMMA_TEXT = """it he she they that so and which who because since not the this when where as with rather unlike
instead nor"""
_AFTER_COMMA = frozenset(_AFTER_COMMA_TEXT.split()) | _BOUNDARIES
_PARTLY = re.compile(
    r"\b(?:only in part|partly|allegedly|supposedly|wrongly|mistakenly|according to some|give or take"
    r"|also [a-z]+(?:ed|ote|ade))\b",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\s*\([^()]*\)")
# A title in quotation marks or in italics, of which a part is no answer.
_TITLE = re.compile(r"[\"“«](?P<quoted>[^\"”»]{2,80})[\"”»]|(?<!\*)\*(?P<slanted>[^*\n]{2,80})\*(?!\*)")
# Words before what is another thing than the answer: "after 1945", "followed by Sydney".
_BEFORE_OTHER = re.compile(
    r"\b(?:than|between|prior to|later|after|before|until|since|around|about|circa|not"
    r"|by (?:an?|his|her|one) [a-z]+ of|followed by|compared (?:to|with)|unlike|instead of|overtaken)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_AFTER_YEAR = frozenset({"bc", "bce", "b.c", "b.c.", "ago", "years"})


class Span(NamedTuple):
    """A part of a sentence that may be the answer: its text, and its first word and the one behind its last word."""

    text: str
    sentence: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its words and marks.

    Attributes
    ----------
    text
        The sentence.
    index, is_first, is_last
        Its place among the sentences that are searched.
    words, lower, kinds, clauses
        Of each word or mark its match, its text in lower case, its kind, and the number of its clause.
    share
        Share of the content words of the question that it has, 0 to 1.
    denied
        Places of words that deny or doubt.
    """

    text: str
    index: int
    is_first: bool
    is_last: bool
    words: list[re.Match[str]]
    lower: list[str]
    kinds: list[WordKind]
    clauses: list[int]
    share: float
    denied: list[int]


def list_content(question: str) -> list[str]:
    """Return the words of a question that say what it is about, in lower case and their order.

    >>> list_content("What is the capital of Australia?")
    ['capital', 'australia']
    """
    words = (token[0].lower() for token in _TOKEN.finditer(question) if token[0][0].isalnum())
    return list(dict.fromkeys(word for word in words if word not in _KINDS and word not in _QUESTION_WORDS))


def parse_sentences(sentences: Sequence[str], content: Sequence[str]) -> list[Sentence]:
    """Return the first and the last sentences of a completion with the kinds of their words."""
    chosen = list(sentences)
    if len(chosen) > 2 * MOST_SENTENCES:
        chosen = chosen[:MOST_SENTENCES] + chosen[-MOST_SENTENCES:]
    return [parse_sentence(text, content, i, len(chosen)) for i, text in enumerate(chosen)]


def parse_sentence(text: str, content: Sequence[str], index: int = 0, count: int = 1) -> Sentence:
    """Return a sentence with the kind of each word; `content` are the content words of the question."""
    words = list(_TOKEN.finditer(text))[:MOST_SENTENCE_WORDS]
    lower = [word[0].lower() for word in words]
    matched: set[str] = set()
    kinds = [_find_word_kind(word[0], low, content, matched) for word, low in zip(words, lower, strict=True)]
    denied = [i for i, low in enumerate(lower) if is_negative(low) or low in _DOUBTS]
    share = len(matched) / len(content) if content else 0.0
    return Sentence(
        text, index, index == 0, index == count - 1, words, lower, kinds, _number_clauses(lower), share, denied
    )


def _find_word_kind(word: str, low: str, content: Sequence[str], matched: set[str]) -> WordKind:
    """Return the kind of a word, and add the words of the question that it repeats to `matched`."""
    if not (word[0].isalnum() or word[0] in "$€£¥"):
        return "mark"
    if _CONTRACTED.fullmatch(low):
        return "be"
    if (kind := _KINDS.get(low)) is not None and word != "May":
        return kind
    bare = _POSSESSIVE.sub("", low)
    if repeated := [other for other in content if match_stems(bare, other)]:
        matched.update(repeated)
        return "question"
    if _DIGIT.search(low):
        return "digit"
    return "capital" if word[0].isupper() else "small"


def _number_clauses(lower: Sequence[str]) -> list[int]:
    """Return the number of the clause of each word."""
    clauses, number = [], 0
    for i, low in enumerate(lower):
        after = lower[i + 1] if i + 1 < len(lower) else ""
        after = after.replace("’", "'").partition("'")[0]
        if low in _BOUNDARIES or (low == "," and after in _AFTER_COMMA) or (low == "and" and after.endswith("ed")):
            number += 1
        clauses.append(number)
    return clauses


def is_negative(word: str) -> bool:
    """Return whether a word in lower case denies what stands beside it."""
    return word in _NEGATIVE or word.endswith(("n't", "n’t"))


def list_spans(sentences: Sequence[Sentence]) -> list[Span]:
    """Return the parts of sentences that may be an answer, without those that are denied or doubted.

    >>> sentence = parse_sentence("The capital is Ottawa, not Toronto.", ["capital"])
    >>> [span.text for span in list_spans([sentence])]
    ['The capital is Ottawa', 'capital', 'capital is Ottawa', 'Ottawa']
    """
    spans: list[Span] = []
    for sentence in sentences:
        if not _is_doubted(sentence):
            spans += (span for span in _list_sentence_spans(sentence) if not _is_denied(span, sentence))
    return spans[:MOST_SPANS]


def _list_sentence_spans(sentence: Sentence) -> Iterator[Span]:
    """Yield the spans of a sentence, denied ones too."""
    for i in range(len(sentence.words)):
        if not _can_begin(sentence, i):
            continue
        size = 0
        for j in range(i, min(len(sentence.words), i + 2 * MOST_SPAN_WORDS)):
            kind, low = sentence.kinds[j], sentence.lower[j]
            inner = _INNER_MARKS if kind == "mark" else _INNER_WORDS
            size += kind != "mark"
            if (kind in FUNCTION_KINDS and low not in inner) or size > MOST_SPAN_WORDS:
                break
            if not _can_end(sentence, j) or _is_repeated(sentence.kinds[i : j + 1]):
                continue
            if sentence.lower[j + 1 : j + 2] == [")"] and "(" in sentence.lower[i:j]:
                continue
            start, end = sentence.words[i].start(), sentence.words[j].end()
            yield Span(sentence.text[start:end], sentence.index, i, j + 1)


def _is_repeated(kinds: Sequence[WordKind]) -> bool:
    """Return whether words are an article and words of the question only."""
    return kinds[0] == "article" and all(kind in {"article", "question"} for kind in kinds)


def _can_begin(sentence: Sentence, i: int) -> bool:
    """Return whether a span can begin with a word."""
    kind = sentence.kinds[i]
    if kind in FUNCTION_KINDS or _is_within_name(sentence, i) or _is_within_amount(sentence, i):
        return False
    before = sentence.kinds[i - 1] if i else "mark"
    return before in FUNCTION_KINDS or before in {"article", "question", "small"} or before != kind


def _can_end(sentence: Sentence, i: int) -> bool:
    """Return whether a span can end with a word."""
    kind = sentence.kinds[i]
    if kind in FUNCTION_KINDS or kind == "article" or _is_within_name(sentence, i + 1):
        return False
    if sentence.lower[i + 1 : i + 2] and sentence.lower[i + 1] in _PARTICLES and _is_within_name(sentence, i + 2):
        return False
    after = sentence.kinds[i + 1] if i + 1 < len(sentence.kinds) else "mark"
    if kind == "capital" and after == "small" and sentence.lower[i].endswith(_NATIONALITY):
        return False  # "the British author NAME"
    return after in FUNCTION_KINDS or after in {"article", "question"} or after != kind or kind == "small"


def _is_name_word(sentence: Sentence, i: int) -> bool:
    """Return whether a word is written with a capital and is no function word."""
    if not 0 <= i < len(sentence.words):
        return False
    return sentence.kinds[i] in {"capital", "question"} and sentence.words[i][0][:1].isupper()


def _is_within_name(sentence: Sentence, i: int) -> bool:
    """Return whether a name goes on from the word before to a word: "da" and "Vinci" in "Leonardo da Vinci"."""
    if not _is_name_word(sentence, i):
        return False
    before = i - 1
    if _is_name_word(sentence, before):
        low = sentence.lower[before]
        return low.rstrip(".") not in _OFFICES and not low.endswith(_NATIONALITY)
    return before > 0 and sentence.lower[before] in _PARTICLES and _is_name_word(sentence, before - 1)


def _is_within_amount(sentence: Sentence, i: int) -> bool:
    """Return whether a word belongs to a number or a date that the word before begins: "seconds", "14" behind May."""
    if i < 1 or sentence.kinds[i] == "mark":
        return False
    if sentence.lower[i - 1] in MONTHS and sentence.lower[i][0].isdigit():
        return _YEAR.fullmatch(sentence.lower[i]) is None
    is_unit = sentence.kinds[i] in {"small", "capital"} and sentence.lower[i] not in MONTHS
    return is_unit and sentence.kinds[i - 1] == "digit"


def _is_doubted(sentence: Sentence) -> bool:
    """Return whether a sentence only supposes or reports what it says."""
    first = sentence.lower[0] if sentence.lower else ""
    # "If you mean the novel, it is by James Joyce."
    is_condition = first == "if" and sentence.lower[1:2] not in [["you"], ["you're"], ["you’re"]]
    is_guess = first in _DOUBTS - {"only", "contrary", "if"}
    is_guess = is_guess or is_reported(_BRACKETS.sub("", sentence.text))
    return is_condition or is_guess or _PARTLY.search(sentence.text) is not None


def _is_denied(span: Span, sentence: Sentence) -> bool:
    """Return whether a clause denies or doubts a span, makes it another one, or gives it as one of two."""
    i, j, lower = span.start, span.end, sentence.lower
    around = {lower[i - 1] if i else "", lower[j] if j < len(lower) else ""}
    if "or" in around or "/" in around or lower[j : j + 2] == [",", "or"]:
        return True
    for k in sentence.denied:
        if sentence.clauses[k] != sentence.clauses[i] or i <= k < j:
            continue
        # "Canberra, not Sydney", "green rather than blue": what stands before is not denied.
        is_remark = k >= j and (lower[k] in _REMARKS or (lower[k] == "not" and lower[k - 1] in {",", "and", "("}))
        if not is_remark:
            return True
    start, end = sentence.words[i].start(), sentence.words[j - 1].end()
    for title in _TITLE.finditer(sentence.text):
        inside = title.span(title.lastgroup or 0)
        if inside[0] <= start and end <= inside[1] and (start, end) != inside and end - start < len(title[0]) - 3:
            return True
    if lower[j : j + 1] and lower[j] in _AFTER_YEAR and _YEAR.fullmatch(lower[j - 1]):
        return True
    return _BEFORE_OTHER.search(sentence.text[: sentence.words[i].start()]) is not None
