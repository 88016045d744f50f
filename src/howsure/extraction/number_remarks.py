"""Remove what follows the answer in the last sentence of a calculation: a check, another form, a difference, a remark.

"So each gets 5, 15 in all", "2.5 hours, or 2 hours and 30 minutes", "$120, a saving of $30", "350 grams (0.35 kg) were
used", "6 m long, so 3 parts x 6 m = 18 m", "9 years old, because 9 + 4 = 13". What the question asks for by its noun
("How many eggs ...?") is never removed: "3 dozen, or 36 eggs".
"""

from __future__ import annotations

import re

__all__ = ["remove_remarks"]

#: Fewest names in a question that asks for the share of one of them.
LEAST_NAMES = 2
#: How much of the end of a text is searched, in characters.
WINDOW = 400
#: How much of the text before a sentence may have the number that it adds up.
NEAR = 80
_QUESTION_END = re.compile(r"[.!?]\s+|[。！？]")
_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
_SENTENCE_END = re.compile(r"(?<=[a-z%)\]*\d])[.!]\s+(?=[\"(*A-Z])|\n")
_HOW_MANY = re.compile(
    r"\bhow (?:many|much)(?: (?:more|fewer|less|total|other|whole|full))? ([a-z]{3,})|\bin ([a-z]{3,})\s*[?,]",
    re.IGNORECASE,
)
_ASKS_ALL = re.compile(r"\b(?:in all|in total|altogether|total|together)\b", re.IGNORECASE)
# A remark in brackets at the end of a clause, and an operator before it, with which it is a factor.
_BRACKET = re.compile(r"(?<=[\w%*])\s?\((?P<inside>[^()]*\d[^()]*)\)(?=[^\d=]*$)")
_OPERATOR_BEFORE = re.compile(r"[-+*/×·÷=^]\s*$")
# What begins another form of the number before it, or a remark on it.
_REMARK = re.compile(
    r"[,;]\s(?:or|in other words,?|equivalently,?|an?\s(?:saving|savings|discount|profit|loss|gain|increase"
    r"|decrease|drop|difference)\sof|saving|leaving\s(?:him|her|them|it)\s(?:with\s)?)(?=\s?[^,;]*\d)"
    r"|[,;]\s(?:though|although|but)\s(?:if\b|by the way\b)|,\s(?=\$?\d[\d.,]*\s(?:in all|in total|altogether)\b)",
    re.IGNORECASE,
)
# A calculation behind the answer that begins with it and ends with a number of the question.
_CHECK = re.compile(
    r",?\s(?:so|because|since|as|and)\s(?P<left>[^=,;]*\d[^=,;]*)=\s?(?P<right>[^=,;]*\d[^=,;]*)$",
    re.IGNORECASE,
)
# "480 + 240, or 720", "35% of the bikes, or 105 bikes": the other form is the result.
_UNRESOLVED = re.compile(r"[-+*/×÷]\s?[$€£]?\d[\d.,]*(?:\s[a-z]+)?$|%[^\d=]*$", re.IGNORECASE)
# A last line in brackets: "(With compound interest it would be $1,102.50.)".
_LINE_IN_BRACKETS = re.compile(r"\n\s*\([^()\n]*\)[\s.]*$")
# A sentence that adds up what was given: "And each friend has 11, so 33 + 7 = 40 in all."
_ADDS = re.compile(r"\W*(?:and|check|this|that)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(
    r"[;,]\s+(?:and\s+|but\s+|while\s+|whereas\s+)?|\s(?:and|e|y|et|und|и)\s(?=[A-ZÀ-ÝА-Я])|[\uff0c\uff1b\u3001,](?=[甲乙丙丁])"
)
_NAME = re.compile(r"(?<![\w'’])[A-ZÀ-ÝА-Я][a-zà-ÿа-я]{1,15}(?![\w])|[甲乙丙丁]")
_WORDS = """How What Who When Where Which Why The If In On At There Wie Wieviel Quantos Quantas Cuántos Cuántas
Combien Сколько"""
_QUESTION_WORDS = frozenset(_WORDS.split())
# Sentences about something else than what is asked for.
_ASIDE = re.compile(
    r"\b(?:by the way|incidentally|for comparison|for reference|as an aside|as a side note)\b"
    r"|^\W*(?:if|had)\b[^,]*\binstead\b"
    r"|^\W*(?:if|had) (?:it|they|he|she) (?:then|also|again)\b",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(
    r"^\W*\(?(?:the next|another|other|in other words|equivalently|that is the same as|that['’]s the same as)\b",
    re.IGNORECASE,
)


def remove_remarks(text: str, question: str) -> str:
    """Return a text without the remarks behind the answer in its last sentence; the text itself if it has none.

    >>> remove_remarks("So each gets 5, 15 in all.", "How many does each of the three get?")
    'So each gets 5'
    >>> remove_remarks("That is 3 dozen, or 36 eggs.", "How many eggs are there?")
    'That is 3 dozen, or 36 eggs.'
    """
    start = max(0, len(text) - WINDOW)
    head, tail = text[:start], text[start:]
    noun = _find_noun(question)
    while True:
        shorter = _remove_aside(tail)
        shorter = _remove_others(shorter, question)
        shorter = _remove_clause(shorter, question, noun)
        shorter = _remove_bracket(shorter, noun)
        if shorter == tail:
            return head + tail
        tail = shorter


def _find_noun(question: str) -> str:
    """Return the noun that the last "how many" of a question asks for, without its plural; empty if there is none."""
    matches = list(_HOW_MANY.finditer(question))
    noun = (matches[-1][1] or matches[-1][2]).lower() if matches else ""
    return noun[:-1] if noun.endswith("s") and len(noun) > 3 else noun


def _remove_others(text: str, question: str) -> str:
    """Return a text without what its last sentence says of others than the person in the question."""
    start = _last_sentence(text)
    names = [name for name in _NAME.findall(question) if name not in _QUESTION_WORDS]
    if not names or len(set(names)) < LEAST_NAMES:
        return text
    last = [name for name in _NAME.findall(_QUESTION_END.split(question.rstrip(" ?\n"))[-1]) if name in names]
    name = last[0] if last else names[0]
    if len(set(last)) > 1:
        return text
    ends = [0, *(end.end() for end in _CLAUSE_END.finditer(text[start:]))]
    clauses = [text[start:][a:b] for a, b in zip(ends, [*ends[1:], len(text)], strict=True)]
    own = [i for i, clause in enumerate(clauses) if name in clause and _NUMBER.search(clause)]
    if len(own) != 1 or own[0] == len(clauses) - 1 or "=" in text[start:]:
        return text
    others = clauses[own[0] + 1 :]
    is_other = all(not _NUMBER.search(clause) or any(other in clause for other in names) for clause in others)
    return text[: start + ends[own[0]]] + clauses[own[0]].rstrip(" ,;、") if is_other else text


def _remove_aside(text: str) -> str:
    """Return a text without a last sentence that is about something else, where a number stands before it."""
    line = _LINE_IN_BRACKETS.search(text)
    if line is not None and _NUMBER.search(text, 0, line.start()):
        return text[: line.start()]
    ends = list(_SENTENCE_END.finditer(text.rstrip()))
    if not ends or not _NUMBER.search(text, 0, ends[-1].start()):
        return text
    last = text[ends[-1].end() :]
    is_aside = _NUMBER.search(last) and (_ASIDE.search(last) or _ALTERNATIVE.match(last))
    return text[: ends[-1].start()] if is_aside else text


def _last_sentence(text: str) -> int:
    """Return the place where the last sentence of a text begins."""
    return max((end.end() for end in _SENTENCE_END.finditer(text.rstrip())), default=0)


def _has_noun(text: str, noun: str) -> bool:
    """Return whether a noun follows a number within two words."""
    return (
        bool(noun) and re.search(rf"\d\W{{0,3}}(?:[\w-]+\s){{0,1}}{re.escape(noun)}", text, re.IGNORECASE) is not None
    )


def _remove_clause(text: str, question: str, noun: str) -> str:
    """Return a text without the clause that repeats the number before it in another form, or checks it."""
    start = _last_sentence(text)
    sentence = text[start:].rstrip(" .!*\n")
    for remark in _REMARK.finditer(sentence):
        before, after = sentence[: remark.start()], sentence[remark.start() :]
        if (
            not _NUMBER.search(before)
            or _UNRESOLVED.search(before)
            or (_has_noun(after, noun) and not _has_noun(before, noun))
        ):
            continue
        if re.search(r"in all|in total|altogether", after, re.IGNORECASE) and _ASKS_ALL.search(question):
            continue
        return text[:start] + before
    check = _CHECK.search(sentence)
    if check is not None:
        is_sum = start > 0 and _ADDS.match(sentence) is not None
        earlier = set(_NUMBER.findall(text[:start][-NEAR:] if is_sum else sentence[: check.start()]))
        question_numbers = set(_NUMBER.findall(question))
        results = set(_NUMBER.findall(check["right"]))
        if (earlier - question_numbers) & set(_NUMBER.findall(check["left"])) and results <= question_numbers:
            return text[:start].rstrip() if is_sum else text[:start] + sentence[: check.start()]
    return text


def _remove_bracket(text: str, noun: str) -> str:
    """Return a text without a remark in brackets behind the last other number of its last sentence."""
    start = _last_sentence(text)
    sentence = text[start:]
    bracket = _BRACKET.search(sentence)
    if bracket is None:
        return text
    before = sentence[: bracket.start()]
    is_factor = _OPERATOR_BEFORE.search(before.rstrip("* ")) is not None
    is_amount = re.search(r"\d[\d.,]*(?:\s?[^\W\d]+\W{0,2}){0,4}$", before) is not None and "%" not in before[-12:]
    if is_factor or not is_amount or (_has_noun(bracket["inside"], noun) and not _has_noun(before, noun)):
        return text
    return text[:start] + before + sentence[bracket.end() :]
