r"""Read the choice that the last explicit statement of a completion gives.

Besides the statements of `statements.find_statements` there are those about "the correct option is" and the like, and
*picks*, which choose a label: "I choose B", "so it is B", "Actually, C.". A statement that is in doubt, quoted or about
another case does not count; what follows it may correct it or take it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from howsure.extraction.choice_amounts import match_amount
from howsure.extraction.choice_claims import find_claims
from howsure.extraction.choice_phrases import (
    CONFLICTS,
    HEDGE,
    NEAR,
    is_considered,
    read_before,
    read_phrase,
    remove_asides,
)
from howsure.extraction.choice_picks import OTHER_PERSON, find_picks
from howsure.extraction.languages import is_reported
from howsure.extraction.statements import find_statements, match_plain_end, read_line, read_sentence
from howsure.extraction.vocabulary import DENIED, LOOSE, Vocabulary, any_of

__all__ = ["find_position", "read_plain_label", "read_stated"]

# What a statement says where there is no answer. Statements before it do not count.
_NO_ANSWER = re.compile(
    r"\b(?:none|neither|nothing|unknown|unclear|undetermined|ambiguous|impossible|missing|maybe|perhaps|possibly|unsure"
    r"|cannot|could|might|may|both|all\s+of|not\s+(?:clear|sure|certain|given|listed|known|possible|determin\w+|present)"
    r"|no\s+(?:answer|correct|option|choice))\b|\bno(?:ne)?\W*$|n['’]t\b",
    re.IGNORECASE,
)
# A statement that does not use the word "answer": "the correct option is ...", "my choice: ...", '"choice": ...'. The
# noun is searched first, then what stands after it and before it.
_STATED_NOUNS = (
    *("option", "choice", "label", "letter", "symbol", "numeral", "number", "alternative", "match", "selection"),
    *("verdict", "conclusion", "correct"),
)
_AFTER_NOUN = re.compile(
    r"(?:\s+(?:here|among\s+[^.:\n]{1,40}|from\s+[^.:\n]{1,40}))?[*_\"']{0,4}\s{0,3}"
    r"(?:[:=]|(?:is|to\s+be|would\s+be|must\s+be|should\s+be)\b(?!\s+not\b)\s{0,3}:?)",
    re.IGNORECASE,
)
_OPTION_ADJECTIVE = re.compile(
    r"\b(?:correct|right|best|final|my|chosen|selected|closest|appropriate|suitable|likely|accurate|matching|fitting"
    r"|plausible|valid|only|answer)\s+(?:answer\s+)?$|(?:^|\n)[ \t>*_\"'{]*(?:the\s+)?$",
    re.IGNORECASE,
)
_UNDECIDED = re.compile(
    any_of(
        *("whether", "if", "can(?:not|['’]t| not) (?:say|tell|determine|confirm|be sure)"),
        *("do(?: not|n['’]t) (?:think|know|believe)", "doubt", "unable to", "i thought", "we thought"),
    )
    + r"\b[^.,;:!?\n]{0,80}$"
)
_CLAUSE = re.compile(r"[.,;:!?]\s")
_REASON = re.compile(
    r"\b(?:because|since|as|when|given|if|but not|instead of|rather than|although|though|even though|while|whereas)\b",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\(?\b(\w{1,4})\s*(?:[-–—]|through|thru)\s*(\w{1,4})\b\)?")
_FORMULA = re.compile(r"[\\^=+\u0370-\u03ff]|\d\s*[/*]")
_APPROXIMATE = re.compile(r"^\W*(?:therefore|thus|then|about|approximately|roughly|exactly|just)\s+", re.IGNORECASE)
# "thus the one given in B", "therefore clearly B"
_ADVERBS = re.compile(
    r"\W{0,4}(?:(?:thus|therefore|hence|then|clearly|likely|probably|indeed|also|somit|daher|donc|quindi|portanto)\s+)+(?:the\s+one\s+(?:\w+\s+){0,2}(?:in|as|by)\s+)?|\W{0,4}the\s+one\s+(?:\w+\s+){0,2}(?:in|as|by)\s+",
    re.IGNORECASE,
)
_CITED = re.compile(r"[\s*_]*(?P<text>[^()\n]{1,300}?)[\s*_]*\((?P<label>\w{1,4})\)")
_QUOTES = "\"'“‘«"
_QUOTED = re.compile(
    r"\b(?:say|says|said|saying|think|thinks|claims?|argues?|believes?|writes?|answers?|answering)\s*,?:?\s*[\"'“‘«]+"
    r"(?:(?:that\s+)?the\s+)?(?:correct\s+|right\s+)?$",
    re.IGNORECASE,
)
_COUNTERFACTUAL = re.compile(r"\b(?:if|had|were)\b[^.!?]*\b(?:had|were|was|asked)\b", re.IGNORECASE)
_IF_THEN = re.compile(r"\bif\b[^.;:=]{3,80},\s+then\s+the\s+(?:correct\s+)?answer\s+is\b", re.IGNORECASE)
_WITHDRAWN_HINTS = ("sure", "certain", "decide", "tell", "say")
_WITHDRAWN = re.compile(
    r"\b(?:no\s+longer|not)\s+(?:so\s+)?(?:sure|certain)\b(?!\s+(?:about\s+)?why)"
    r"|\b(?:can(?:not|['’]t)|could(?:\s+not|n['’]t))\s+(?:decide|tell|say)\b",
    re.IGNORECASE,
)
_CORRECTED = re.compile(
    r"\b(?:no|wait|actually|sorry|correction|hmm+|oops|scratch\s+that|my\s+mistake|i\s+was\s+wrong|on\s+second\s+thought)"
    r"\b\s*[,.:;!–—-]|\bactually\b|\bwait\b",
    re.IGNORECASE,
)
_ANSWER_HEADING = re.compile(
    r"^[ \t]{0,3}(?:#{1,6}[ \t]*[*_]{0,2}|[*_]{2})(?:(?:final|correct)[ ])?answer[*_:]{0,3}[ \t]*\n",
    re.IGNORECASE | re.MULTILINE,
)
# "Let's calculate the answer:" announces a calculation below it.
_ANNOUNCES = re.compile(
    r"\b(?:calculate|find|determine|compute|work out|derive)\s+(?:the\s+|our\s+)?(?:final\s+)?$", re.IGNORECASE
)
# "The answer is the second option."
_ORDINAL = re.compile(
    r"\W*(?:the\s+)?(?P<ordinal>first|second|third|fourth|fifth|last)\s+(?:one|option|choice|alternative|ending|solution)\W*"
    r"|\W*the\s+(?P<of>first|second|third|fourth|fifth|last)\s+of\s+the\s+(?:options|choices|alternatives)\W*",
    re.IGNORECASE,
)
# "It must be the last one.", "r = k[A], the second of the choices.", "so the first ending fits best".
_POSITION = re.compile(
    r"(?:\b(?:it|this|that|answer)\s+(?:is|must\s+be|has\s+to\s+be|would\s+be)|[,:]|\bso)\s+(?P<claim>the\s+(?:first|second|third|fourth|fifth|last)"
    r"\s+(?:one|option|choice|alternative|ending|solution|of\s+the\s+(?:options|choices|alternatives)))"
    r"(?:\s+(?:fits\s+best|is\s+(?:the\s+)?(?:best|right|correct)(?:\s+(?:one|option|choice|answer))?))?[\s.!*_]*$",
    re.IGNORECASE,
)
_ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
# "A:" begins the talk about option A, and not an answer, where "B:" begins another line.
_TALK_OF_A = re.compile(r"[ \t*_]{0,6}A[*_]{0,2}:")
_TALK_OF_B = re.compile(r"^[ \t*_]{0,6}B[*_]{0,2}:", re.MULTILINE)
#: The end of a completion that is searched for statements first, in characters.
ENDING = 160
#: Characters before a statement that may doubt it.
BEFORE = 120
#: Characters after a statement that may correct it or take it back.
TAIL = 160
#: Most explicit statements, from the end, that are read.
MOST_STATEMENTS = 64


class _Candidate(NamedTuple):
    """An explicit statement of a choice: where it begins, its text, and where its text begins."""

    start: int
    text: str
    content: int
    is_cut: bool


def read_plain_label(text: str, words: Vocabulary) -> int | None:
    """Return the label that a text of the most common form ends with, "The answer is (B)."; None for other texts.

    The general reading gives the same and takes three times as long.
    """
    plain = match_plain_end(text)
    if plain is None or words.mentions_answer:
        return None
    label = plain[1][1:-1] if plain[1][0] == "(" and plain[1][-1] == ")" else plain[1]
    index = words.labels.index(label) if plain[0][0] != "#" else None
    return None if index is None or _is_in_doubt(text, plain.start(), plain.start(1)) else index


def read_stated(text: str, words: Vocabulary, expects_label: bool) -> tuple[int | None, str]:
    """Return the choice of the last explicit statement, and "statement"; or None and the reason.

    The reason is "none" if there is no statement, and "other" if all are about something else than the choices.
    """
    near = text.rfind("\n", 0, max(0, len(text) - ENDING)) + 1
    reason = "none"
    for first in dict.fromkeys((near, 0)):
        part = text[first:]
        for candidate in _find_candidates(part, words):
            if _is_in_doubt(part, candidate.start, candidate.content) or _is_announced(part, candidate):
                continue
            index, why = _read_candidate(candidate, part, words, expects_label)
            if index is not None:
                tail = part[candidate.content + len(candidate.text) :][:TAIL]
                if any(map(tail.lower().__contains__, _WITHDRAWN_HINTS)) and _WITHDRAWN.search(tail):
                    return None, "unclear"
                if is_corrected(tail):
                    claims = find_claims(tail, words)
                    claims = [claim for claim in claims if claim.is_definite] or claims
                    index = claims[-1].place if claims else index
                return index, "statement"
            if why in {*CONFLICTS, "several"}:
                return None, why
            if why == "denied" or _NO_ANSWER.search(candidate.text):
                return None, "unclear"
            reason = "other"
    return None, reason


def _is_in_doubt(text: str, start: int, content: int) -> bool:
    """Return whether the words before a statement doubt it, quote it or suppose something else."""
    before = text[max(0, start - BEFORE) : start].rpartition("\n")[2]
    if _UNDECIDED.search(before) or _is_quoted(before) or is_reported(_CLAUSE.split(before)[-1]):
        return True
    near = text[max(0, start - BEFORE) : content]
    if "then" in near and _IF_THEN.search(near) and len(_IF_THEN.findall(text)) > 1:
        return True  # "If Li is a teacher, then the answer is A."
    return "would" in text[start:content] and _COUNTERFACTUAL.search(before) is not None


def _is_announced(text: str, candidate: _Candidate) -> bool:
    """Return whether a statement is the heading of a calculation: "Let's find the answer:" above other lines."""
    is_above = text[candidate.content : candidate.content + 4].lstrip(" *_").startswith("\n")
    return is_above and _ANNOUNCES.search(text, max(0, candidate.start - 40), candidate.start) is not None


def _is_quoted(before: str) -> bool:
    """Return whether the text before a statement makes it a quotation: 'Some say "the answer is B".'."""
    return any(map(before.__contains__, _QUOTES)) and _QUOTED.search(before) is not None


def is_corrected(tail: str) -> bool:
    """Return whether the text after a statement takes it back: "No, ...", "Wait, ..."."""
    return _CORRECTED.search(tail) is not None


def _find_candidates(text: str, words: Vocabulary) -> Iterator[_Candidate]:
    """Yield the explicit statements of a text, the last one first."""
    if plain := match_plain_end(text):
        yield _Candidate(plain.start(), plain[1], plain.start(1), is_cut=False)
    candidates = [
        _Candidate(statement.start, statement.text, statement.content, statement.is_cut)
        for statement in islice(find_statements(text), MOST_STATEMENTS)
    ]
    candidates += [_Candidate(pick.start, pick.label, len(text), is_cut=False) for pick in find_picks(text, words)]
    texts = tuple(filter(None, words.loose_texts))
    for start, place in _find_option_statements(text):
        adverbs = _ADVERBS.match(text, place)
        content = adverbs.end() if adverbs else place
        rest = words.without_latex(text[content : content + 400])
        if words.labels.begins.match(rest) or rest.casefold().lstrip(LOOSE + "\n").startswith(texts):
            candidates.append(_Candidate(start, read_sentence(text, content), content, is_cut=False))
    for heading in _ANSWER_HEADING.finditer(text) if "**" in text or "#" in text or "__" in text else ():
        below = read_line(text, heading.end())
        if words.labels.leading_label(below) is not None or _starts_cited(below, words):
            candidates.append(_Candidate(heading.start(), read_line(text, heading.end()), heading.end(), is_cut=False))
    has_list = words.labels.index("A") is not None and words.labels.index("B") is not None
    talks = {one for one in candidates if _TALK_OF_A.match(text, one.start)} if has_list else set()
    if talks and _TALK_OF_B.search(text):
        candidates = [one for one in candidates if one not in talks]
    yield from sorted(candidates, reverse=True)


def _starts_cited(line: str, words: Vocabulary) -> bool:
    """Return whether a line begins with the text of a choice and its label: "Lorazepam (D). Phenytoin (A) is ..."."""
    cited = _CITED.match(line)
    place = words.labels.exact_index(cited["label"]) if cited else None
    return place is not None and cited is not None and words.match_text(cited["text"]) == place


def _find_option_statements(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places where statements about "the correct option" and the like begin, and where their text begins."""
    lower = text.lower()
    for noun in _STATED_NOUNS:
        place = lower.find(noun)
        while place >= 0:
            end = place + len(noun)
            after = _AFTER_NOUN.match(text, end)
            if after and _OPTION_ADJECTIVE.search(text, max(0, place - 40), place):
                yield place, after.end()
            place = lower.find(noun, end)


def _read_candidate(candidate: _Candidate, text: str, words: Vocabulary, expects_label: bool) -> tuple[int | None, str]:
    """Return the choice that an explicit statement names, and the rule; or None and the reason."""
    statement = words.without_latex(remove_asides(candidate.text))
    claim = _REASON.split(statement, maxsplit=1)[0].rstrip(" ,;:")
    line = "" if candidate.text.startswith("not ") else words.without_latex(read_line(text, candidate.content))
    for phrase in dict.fromkeys((line, statement, claim, claim.partition("(")[0].rstrip() or claim)):
        if len(phrase) > words.longest + len(statement):
            continue
        index, why = read_phrase(phrase, words, expects_label)
        if index is not None:
            return index, "statement"
        if why in CONFLICTS:
            return None, why
    if (place := _read_ordinal(claim, words)) is not None:
        return place, "statement"
    affirmed = words.labels.remove_denied(_RANGE.sub(" ", claim) if _names_range(claim, words) else claim)
    labels = words.find_labels(affirmed)
    if labels and _has_formula(affirmed, words) and not words.labels.begins.match(affirmed):
        labels = set()
    if labels:
        return (labels.pop(), "statement") if len(labels) == 1 else (None, "several")
    if words.find_labels(claim) or HEDGE.search(affirmed):
        return None, "denied" if words.find_labels(claim) else "unclear"
    index, why = words.find_text(affirmed, "statement")
    if why == "none":
        index, why = match_amount(_APPROXIMATE.sub("", affirmed).strip(" *_$\\()"), words), "unclear"
    return index, why


def _read_ordinal(claim: str, words: Vocabulary) -> int | None:
    """Return the choice that a claim names by its position: "the second option"."""
    ordinal = _ORDINAL.fullmatch(claim)
    if ordinal is None or not words.folded:
        return None
    place = _ORDINALS[(ordinal["ordinal"] or ordinal["of"]).lower()]
    place = len(words.folded) - 1 if place < 0 else place
    return place if place < len(words.folded) else None


def find_position(text: str, words: Vocabulary) -> int | None:
    """Return the choice that the last sentence of a text gives by its position: "It must be the last one."."""
    near = text[-NEAR:]
    position = _POSITION.search(near) if any(map(near.lower().__contains__, _ORDINALS)) else None
    if position is None:
        return None
    before = read_before(near, position.start())
    is_open = is_considered(before) or is_reported(before) or DENIED.search(before) or OTHER_PERSON.search(before)
    return None if is_open else _read_ordinal(position["claim"], words)


def _has_formula(text: str, words: Vocabulary) -> bool:
    """Return whether a text has a part of a formula besides its labels, which may be Greek letters."""
    return _FORMULA.search(text if words.labels.has_digits else words.labels.label.sub(" ", text)) is not None


def _names_range(text: str, words: Vocabulary) -> bool:
    """Return whether a text names all labels from one to another: "(A through J)"."""
    match = _RANGE.search(text)
    return match is not None and words.labels.index(match[1]) is not None and words.labels.index(match[2]) is not None
