"""Choose the part of a completion that is most probably its answer to an open question, by a logistic model.

The candidates are the spans of `answer_spans`, what the rules of `open_answers` read, and no answer. A multinomial
logistic model gives their probabilities from features that say where a candidate stands, and what it looks like beside
what the question asks for. Its weights are the table `answer_weights`, fitted with a ridge penalty to judged
completions by ``python bench/open_answers.py --write``. No feature knows the target.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from howsure.extraction.answer_spans import (
    CONTRASTS,
    MONTHS,
    Sentence,
    Span,
    is_negative,
    list_content,
    list_spans,
    parse_sentence,
    parse_sentences,
)
from howsure.extraction.answer_weights import WEIGHTS
from howsure.extraction.languages import is_reported
from howsure.extraction.number_words import SMALL_NUMBERS
from howsure.extraction.open_candidates import AnswerKind, find_deed, find_kind, is_plausible, match_stems, names_deed

__all__ = ["Candidate", "choose_answer", "list_candidates"]

Features = dict[str, float]

#: Words before and behind a span that are searched for the word of the question.
NEAR = 5

_CONCLUDES = re.compile(
    r"\W*(?:so|thus|therefore|hence|in short|in conclusion|in summary|overall|finally|conclusion|response|answer"
    r"|final answer)\b",
    re.IGNORECASE,
)
_IT_IS = re.compile(
    r"\W*(?:it|that|this|he|she|they)(?:\s+(?:is|was|were|are|would|will|must)\b|['’](?:s|d|re|ll)\b)", re.IGNORECASE
)
_REFUSES = re.compile(
    r"\b(?:not sure|don['’]t know|do not know|cannot|can['’]t|unable|no (?:\w+ )?(?:information|record|evidence)"
    r"|unknown|does(?:n['’]t| not) (?:say|mention|state|specify)|isn['’]t known|impossible)\b",
    re.IGNORECASE,
)
_ASKS_SEVERAL = re.compile(
    r"^(?:name|list)\b(?! the (?:capital|author|person|man|woman|city|country)\b)|\b(?:what|which|who) (?:are|were)\b"
    r"|\b(?:two|three|four|five|six|seven)\b|\b(?:which|what) (?:[a-z]+(?:ies|[^s]s)) (?!is\b|was\b)|\bwho founded\b"
    r"|\bcountries\b",
    re.IGNORECASE,
)
_ASKS_FORMAT = re.compile(r"\bMM/DD|\bDD/MM")
_DATE_IN_DIGITS = re.compile(r"\d+/\d+/\d+")
_TIME = re.compile(r"\d+:\d\d")
_YEAR = re.compile(r"(?:1\d{3}|20\d{2})")
_EDGE = frozenset({"**", "*", "_", "__", '"', "“", "«", "”", "»", "'"})
_MARKS = dict.fromkeys("–—-", "a dash") | dict.fromkeys("=→", "an equals sign")
_MARKS |= {":": "a colon", ",": "a comma", ";": "a semicolon", "(": "a bracket", ")": "a closing bracket"}
_LINK_TEXT = "and of to from with as than for about around after before between not"
_LINKS_BEFORE, _LINKS_BEHIND = frozenset(_LINK_TEXT.split()), frozenset({"and", "of", "who", "which", "that"})
#: Kinds of words behind which answers stand.
_LEADS = frozenset({"be", "called", "by", "place", "a colon"})
_WORD = re.compile(r"[^\W_]+")
_NUMBER_WORDS = frozenset(SMALL_NUMBERS) | {"hundred", "half"}


class Candidate(NamedTuple):
    """A possible answer, None for no answer, with its features."""

    text: str | None
    features: Features


class _Request(NamedTuple):
    """What a question asks for: the kind of its answer, its first content word, and the form it wants."""

    kind: AnswerKind
    word: str
    asks_several: bool
    asks_format: bool
    deed: str | None


def choose_answer(answer: str | None, rule: str, sentences: Sequence[str], question: str) -> tuple[str | None, float]:
    """Return the most probable answer of a completion to a question, and its probability.

    Parameters
    ----------
    answer, rule
        What rules for the form of the completion read, and which rule; None where they read nothing.
    sentences
        The sentences of the completion, in their order.
    question
        Text of the question.

    Returns
    -------
    answer
        Words of the completion; None where it most probably gives no answer.
    probability
        Sum over all candidates with the same words, 0 to 1.

    Examples
    --------
    >>> choose_answer(None, "none", ["Japan uses the Japanese yen (JPY)."], "What currency is used in Japan?")[0]
    'the Japanese yen'
    """
    candidates = list_candidates(answer, rule, sentences, question)
    scores = [sum(WEIGHTS.get(name, 0.0) * value for name, value in each.features.items()) for each in candidates]
    highest = max(scores)
    masses = [math.exp(score - highest) for score in scores]
    totals: dict[str | None, float] = {}
    for candidate, mass in zip(candidates, masses, strict=True):
        form = _find_form(candidate.text)
        totals[form] = totals.get(form, 0.0) + mass
    best = max(totals, key=lambda form: totals[form])
    same = [i for i, candidate in enumerate(candidates) if _find_form(candidate.text) == best]
    return candidates[max(same, key=lambda i: masses[i])].text, totals[best] / sum(masses)


def list_candidates(answer: str | None, rule: str, sentences: Sequence[str], question: str) -> list[Candidate]:
    """Return the possible answers of a completion with their features; see `choose_answer`."""
    content = list_content(question)
    parsed = parse_sentences(sentences, content)
    word = next((low for low in content if re.search(rf"\b{re.escape(low)}\b", question)), "")
    request = _Request(
        find_kind(question),
        word,
        bool(_ASKS_SEVERAL.search(question)),
        bool(_ASKS_FORMAT.search(question)),
        find_deed(question),
    )
    spans = list_spans(parsed)
    if "first" in content and "last" not in content:
        spans = [span for span in spans if not _is_last(span, parsed[span.sentence])]
    state = "plausible" if is_plausible(answer, question) else "not plausible"
    read, forms = _find_form(answer), [_find_form(span.text) for span in spans]
    most = max((sentence.share for sentence in parsed), default=0.0)
    places: dict[str | None, set[int]] = {}
    for form, span in zip(forms, spans, strict=True):
        places.setdefault(form, set()).add(span.sentence)
    candidates = []
    for form, span in zip(forms, spans, strict=True):
        sentence = parsed[span.sentence]
        features = _describe_form(span, sentence, request)
        features |= _describe_edges(span, sentence, request)
        features |= _describe_place(span, sentence, request, most)
        features |= _compare_with_read(form or "", read, rule, state)
        features["further sentences with the same words"] = min(3.0, len(places[form]) - 1.0)
        candidates.append(Candidate(span.text, features))
    if answer is not None:
        candidates.append(Candidate(answer, _describe_read(answer, rule, state, request, content, len(parsed))))
    candidates.append(Candidate(None, _describe_none(answer, rule, state, sentences)))
    return candidates


def _is_last(span: Span, sentence: Sentence) -> bool:
    """Return whether a span is what a sentence names as the last: "1972" in "and the last in 1972"."""
    return "last" in sentence.lower[max(0, span.start - 3) : span.start]


def _find_form(text: str | None) -> str | None:
    """Return a text in lower case without its article and marks; None stays None."""
    if text is None:
        return None
    words: list[str] = _WORD.findall(text.lower())
    if len(words) > 1 and words[0] in {"the", "a", "an"}:
        words = words[1:]
    return " ".join(words) or text


def _describe_form(span: Span, sentence: Sentence, request: _Request) -> Features:
    """Return what a span looks like beside what the question asks for."""
    i, j = span.start, span.end
    kinds, lower = sentence.kinds[i:j], sentence.lower[i:j]
    size = sum(kind not in {"mark", "article"} for kind in kinds)
    repeated = kinds.count("question")
    features: Features = {
        "words": float(size),
        "words over 4": max(0.0, size - 4.0),
        "share of question words": repeated / max(size, 1),
        "only question words": float(repeated > 0 and repeated == size),
        f"asks {request.kind}: {_find_look(span, sentence)}": 1.0,
        "begins with an article": float(kinds[0] == "article"),
        "has a comma": float("," in lower),
        "has a bracket": float("(" in lower),
        "has of": float("of" in lower),
        "has and": float("and" in lower),
    }
    if request.kind == "name":
        features["words where a name is asked"] = float(size)
    if _DATE_IN_DIGITS.fullmatch(span.text):
        features["date in digits, asked" if request.asks_format else "date in digits, not asked"] = 1.0
    first = next((k for k in range(i, j) if sentence.kinds[k] not in {"mark", "article"}), i)
    goes_on = _goes_on(span, sentence, first)
    is_later = (
        i > 1
        and sentence.lower[i - 1] in {"and", "&", ","}
        and sentence.kinds[i - 2] == sentence.kinds[first] == "capital"
    )
    part = "part of several" if goes_on or is_later else "several" if "and" in lower else "one"
    features[f"asks {'several' if request.asks_several else 'one'}: {part}"] = 1.0
    if i > 1 and _YEAR.fullmatch(span.text) and not MONTHS.isdisjoint(sentence.lower[max(0, i - 3) : i]):
        features[f"asks {request.kind}: year of a date"] = 1.0
    features["list goes on"] = float(goes_on and "," in lower)
    return features


def _find_look(span: Span, sentence: Sentence) -> str:
    """Return what a span is by its looks: a date, a time, a number, a proper name or words."""
    i, j = span.start, span.end
    if _DATE_IN_DIGITS.fullmatch(span.text):
        return "date in digits"
    if _TIME.match(span.text):
        return "time"
    if _YEAR.fullmatch(span.text):
        return "year"
    if not MONTHS.isdisjoint(sentence.lower[i:j]):
        return "date"
    first = next((k for k in range(i, j) if sentence.kinds[k] not in {"mark", "article"}), i)
    low = sentence.lower[first]
    if low.lstrip("$€£¥")[:1].isdigit() or low.partition("-")[0] in _NUMBER_WORDS:
        return "number"
    capitals = sum(
        sentence.words[k][0][:1].isupper() and sentence.kinds[k] in {"capital", "question"} for k in range(i, j)
    )
    size = sum(kind not in {"mark", "article"} for kind in sentence.kinds[i:j])
    return "proper name" if capitals and (i > 0 or capitals > 1 or size == 1) else "words"


def _goes_on(span: Span, sentence: Sentence, first: int) -> bool:
    """Return whether a span is followed by a comma or "and" and by another one that looks like it."""
    j, lower = span.end, sentence.lower
    if j + 1 >= len(lower) or lower[j] not in {",", "and", "&"}:
        return False
    if lower[j] == "," and "and" not in lower[j + 1 : j + 9]:
        return False
    behind = (kind for kind in sentence.kinds[j + 1 :] if kind not in {"mark", "article", "other"})
    return next(behind, None) == sentence.kinds[first]


def _describe_edges(span: Span, sentence: Sentence, request: _Request) -> Features:
    """Return what stands before and behind a span."""
    features, left = _describe_left(span, sentence, request)
    lower, behind = sentence.lower, span.end
    while behind < len(lower) and lower[behind] in _EDGE:
        features["marked behind"] = 1.0
        behind += 1
    is_end = behind >= len(lower) or (lower[behind] in {".", "!", "?"} and behind >= len(lower) - 2)
    right = "the end" if is_end else _MARKS.get(lower[behind], sentence.kinds[behind])
    features[f"before {right}"] = 1.0
    if right == "other" and lower[behind] in _LINKS_BEHIND:
        features[f"before {lower[behind]}"] = 1.0
    if left == "the start" and right == "a comma" and (verb := _find_verb_behind(sentence, behind)) is not None:
        features["subject before an apposition"], behind, right = 1.0, verb, "be"
    if left == "the start" and right in {"be", "question"}:
        features["subject of question words"] = float("question" in sentence.kinds[behind : behind + 6])
    features["whole sentence"] = float(left == "the start" and right == "the end")
    features["in brackets"] = float(lower[: span.start].count("(") > lower[: span.start].count(")"))
    features["in bold"] = float(lower[: span.start].count("**") % 2)
    return features


def _describe_left(span: Span, sentence: Sentence, request: _Request) -> tuple[Features, str]:
    """Return the features of what stands before a span, and the kind of the word or mark before it."""
    lower, kinds, before = sentence.lower, sentence.kinds, span.start - 1
    features: Features = {}
    if before >= 0 and kinds[before] == "article" and kinds[span.start] != "article":
        features["behind an article"] = 1.0
        before -= 1
    while before >= 0 and lower[before] in _EDGE:
        features["marked before"] = 1.0
        before -= 1
    if before >= 0 and kinds[before] == "article":
        before -= 1
    left = "the start" if before < 0 else _MARKS.get(lower[before], kinds[before])
    if left != "by":
        features[f"behind {left}"] = 1.0
    if left == "other" and lower[before] in _LINKS_BEFORE:
        features[f"behind {lower[before]}"] = 1.0
    if left in _LEADS:
        features[f"asks {request.kind}: behind {left}"] = 1.0
        if "question" in kinds[max(0, before - 6) : before]:
            features[f"behind question words and {left}"] = 1.0
    if left == "by" and request.kind == "person" and before and kinds[before - 1] in {"small", "question"}:
        is_same = names_deed(lower[before - 1], request.deed) if request.deed else kinds[before - 1] == "question"
        features["by, of what is asked" if is_same else "by, of something else"] = 1.0
    if left in {"be", "by", "place", "called", "the start"} and _IT_IS.match(sentence.text):
        features["behind it is"] = 1.0
    return features, left


def _find_verb_behind(sentence: Sentence, comma: int) -> int | None:
    """Return the place of the form of "be" behind the second comma, as in "NAME, in Siberia, is"; else None."""
    for k in range(comma + 2, min(len(sentence.lower) - 1, comma + 12)):
        if sentence.lower[k] == "," and sentence.kinds[k + 1] == "be":
            return k + 1
    return None


def _describe_place(span: Span, sentence: Sentence, request: _Request, most: float) -> Features:
    """Return where a span stands, and how its sentence repeats the question; `most` is the largest share of one."""
    i, j, lower = span.start, span.end, sentence.lower
    features: Features = {
        "first sentence": float(sentence.is_first),
        "last sentence": float(sentence.is_last),
        "only sentence": float(sentence.is_first and sentence.is_last),
        "share of the question in the sentence": sentence.share,
        "sentence with most of the question": float(sentence.share == most > 0),
        "place in the sentence": i / max(len(lower), 1),
        "concluding sentence": float(_CONCLUDES.match(sentence.text) is not None),
        "sentence begins with it is": float(_IT_IS.match(sentence.text) is not None),
        "sentence asks": float(sentence.text.rstrip(" *_").endswith("?")),
        "denied before": float(any(is_negative(low) for low in lower[:i])),
        "denied behind": float(any(is_negative(low) for low in lower[j:])),
        "contrast before": float(not CONTRASTS.isdisjoint(lower[:i])),
        "contrast behind": float(not CONTRASTS.isdisjoint(lower[j:])),
    }
    clause = [k for k, number in enumerate(sentence.clauses) if number == sentence.clauses[i]]
    own = sentence.kinds[i:j].count("question")
    features["question words in the clause"] = min(3, sum(sentence.kinds[k] == "question" for k in clause) - own) / 3
    if request.word:
        places = [k for k, low in enumerate(lower) if match_stems(low, request.word)]
        features["asked word before"] = float(any(i - NEAR <= k < i for k in places))
        features["asked word behind"] = float(any(j <= k < j + NEAR for k in places))
        in_clause = not set(places).isdisjoint(clause)
        features["asked word in the clause"] = float(in_clause)
        features["asked word in another clause"] = float(bool(places) and not in_clause)
        features["asked word missing"] = float(not places)
    return features


def _compare_with_read(form: str, read: str | None, rule: str, state: str) -> Features:
    """Return how the words of a span lie to those that the rules read."""
    if read is None:
        return {f"nothing read: {rule}": 1.0}
    if form == read:
        return {f"read by {rule}": 1.0, f"read, {state}": 1.0}
    if f" {form} " in f" {read} ":
        return {f"part of what {rule} read": 1.0, f"part of what is read, {state}": 1.0}
    if f" {read} " in f" {form} ":
        return {f"more than is read, {state}": 1.0}
    return {f"other than {rule} read": 1.0, f"other than is read, {state}": 1.0}


def _describe_read(
    answer: str, rule: str, state: str, request: _Request, content: Sequence[str], sentences: int
) -> Features:
    """Return the features of what the rules read."""
    parsed = parse_sentence(answer, content)
    words = [kind for kind in parsed.kinds if kind != "mark"]
    size = max(1, len(words))
    starts_with_question = words[:1] == ["question"] or words[:2] == ["article", "question"]
    features: Features = {
        "reading": 1.0,
        f"reading by {rule}": 1.0,
        f"reading, {state}": 1.0,
        f"asks {request.kind}: reading, {state}": 1.0,
        "reading, words": min(8.0, len(words)),
        "reading, share of question words": words.count("question") / size,
        "reading, begins with question words": float(starts_with_question),
        "reading, share of function words": sum(kind in {"be", "other", "by", "called"} for kind in words) / size,
        "reading, has a comma": float("," in parsed.lower),
        "reading, only sentence": float(sentences == 1),
    }
    if rule == "whole":
        features["whole, has question words"] = float("question" in words)
        features["whole, has be"] = float("be" in words)
        features["whole, words"] = min(10.0, len(words))
        features["whole, denied"] = float(bool(parsed.denied) or is_reported(answer))
    return features


def _describe_none(answer: str | None, rule: str, state: str, sentences: Sequence[str]) -> Features:
    """Return the features of no answer."""
    features: Features = {
        "none": 1.0,
        f"none, {rule}": 1.0,
        "none, sentences": min(4.0, len(sentences)),
        "none, words of a refusal": float(_REFUSES.search(" ".join(sentences[:3])) is not None),
    }
    if answer is not None:
        features[f"none, {state}"] = 1.0
    return features
