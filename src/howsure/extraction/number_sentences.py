"""Read the number that one sentence gives.

A sentence must give exactly one value. Where it has several numbers, the one after its verb counts ("the remainder when
10 is divided by 9 is 1"), the one after "there are", and the one of its main clause.
"""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.languages import has_decimal_commas
from howsure.extraction.number_words import parse_chinese, parse_words
from howsure.extraction.numerals import Number, convert_decimal_commas, find_numbers, rewrite_numerals

__all__ = ["BARE", "DIGIT", "EQUALS", "are_joined", "is_for_unknown", "read_sentence", "write_decimal_points"]

#: An integer in canonical form, the most common completion, which is read three times as fast.
BARE = re.compile(r"\s?(?:\*\*)?(0|-?[1-9][0-9]{0,17})(?:\*\*)?\.?\s?")
DIGIT = re.compile("[\\d½¼¾⅓⅔⅛]")
# Two digits with a separator or a space between them, which languages read differently.
_AMBIGUOUS = re.compile(r"\d[.,\u00a0\u202f\u2009 ]\d")
_DENIED = re.compile(r"(?:\bnot|n['’]t(?: be)?|\brather than|\binstead of)\s{1,3}$", re.IGNORECASE)
# Text between two numbers of a range, a choice, an unfinished sum, or digits in groups.
_JOINED = re.compile(
    r"[ ]?(?:[-–—+*×÷/·'’±]{1,3}|to|or|x|minus|plus|times|\\times|\\cdot|\\div)?[ ]?"
    r"|\$?[ ]or[ ]\$?(?:[a-z][ ]?=[ ]?)?"
)
_SYMBOLIC = re.compile(
    r"\\(?:[dtc]?frac|sqrt|pi)\b|[√π^]|^[-–—]\s"
    r"|(?<![A-Za-z])(?:sin|cos|tan|cot|sec|log|ln|exp)(?![A-Za-z])(?=\s?(?:[({\\_^\d]|[a-zθα]\b))"
)
_LISTED = re.compile(r"[,;]\s|\b(?:or|and)\b")
EQUALS = re.compile(r"=|≈|≃|\\approx\b")
# An equation for an unknown: "x - 10 = 50", "3x = 12", but neither "x = 5" nor "a + b = 12".
_UNKNOWN = re.compile(
    r"(?<![A-Za-z])[a-zA-Z][ ]?[-+*/×][ ]?\d|(?<![\^\d])\d++[ ]?[-+*/×][ ]?[a-zA-Z](?![a-zA-Z])"
    r"|(?<![\^\d.])\d++[a-fijknpqrt-zA-KM-Z](?![a-zA-Z\d])|[-+*/×][ ]?\d++[ ]?\(?(?:sin|cos|tan|cot|sec|log|exp|sqrt)"
)
_SUBSCRIPT = re.compile(r"_(?:\w|[ ][^\s=+-]{1,5}(?:[-+]\d)?[ ])")
# The verb of a statement, and what may stand between it and its number.
_VERB = re.compile(r"\b(?:is|are|was|were|be|equals?|becomes|totals|makes|made|makes up)\b|:(?!\d)")
_LEAD = re.compile(
    r"(?:\s|[*_$:\"'‘“(\[\\]|\b(?:about|approximately|around|roughly|exactly|equal to|equivalent to|only|just|then|now"
    r"|therefore|thus|indeed|simply|worth|a total of|the number|the value|given by|USD|Rs\.?|[a-zA-Z] =)(?![\w]))*"
)
_THERE = re.compile(r"(?:[\w ]{0,30}, )?there (?:are|is|were|was|will be|would be|must be|can be)\b", re.IGNORECASE)
# The end of the main clause, and a clause before it.
_CLAUSE = re.compile(
    r",?\s(?:if|when|because|since|given|assuming|where|which|who|that|rounded|so that|while|averaging|as|after"
    r"|before)\b|,\s(?:with|or|for|based|es decir|das heißt|d\. ?h\.|c['’]est-à-dire|cioè|ou seja|то есть)(?!\w)",
    re.IGNORECASE,
)
_LEADING_CLAUSE = re.compile(
    r"(?:after|in|if|when|since|with|given|for|because|by|at|on|over|during|out of)\b[^,:]{1,200},\s(?!\d)",
    re.IGNORECASE,
)
# A remark at the end, which is not another form of the value.
_ASIDE = re.compile(r"\s*\((?!or\b|=|≈|about\b|approx)[^()\n]{2,120}\)[\s*.]*$")
_TAKEN_BACK = re.compile(r"[,;–—]\s(?:no|wait|sorry|or rather|actually|correction)\b[,:]?\s", re.IGNORECASE)


def read_sentence(sentence: str, text: str, context: CompletionContext) -> Fraction | None:
    """Return the only value of an explicit statement; None when it holds none, several, or one that cannot be read."""
    if bare := BARE.fullmatch(sentence):
        return Fraction(int(bare[1]))
    if not DIGIT.search(sentence):
        return parse_words(sentence) if sentence.isascii() else parse_chinese(sentence)
    sentence = write_decimal_points(sentence, text, context)
    return _single_value(rewrite_numerals(sentence).strip())


def _single_value(statement: str) -> Fraction | None:
    """Return the value of a rewritten statement with digits."""
    statement = _TAKEN_BACK.split(statement)[-1]
    verbs = list(_VERB.finditer(statement))
    if 0 < len(verbs) <= 10 and not EQUALS.search(statement, verbs[-1].end()):
        subject, rest = statement[: verbs[-1].start()], statement[verbs[-1].end() :]
        if not _names_values(subject) and (value := _leading_value(rest)) is not None:
            return value
    *chain, result = EQUALS.split(statement)
    if chain and not any(_LISTED.search(link) for link in chain):
        if is_for_unknown(chain[-1]):
            return None
        if "≈" in statement and "/" in chain[-1] and (exact := _only_value(chain[-1].strip())) is not None:
            return exact  # 22/7 ≈ 3.14
        statement = result.strip()  # 5 + 3 = 8 states 8
    value = _only_value(statement)
    if value is not None:
        return value
    main = _LEADING_CLAUSE.sub("", statement, count=1)
    main = _CLAUSE.split(main, maxsplit=1)[0].rstrip(" ,")
    if (value := _value_after_there(main)) is not None:
        return value
    return _value_beside_clauses(statement, main)


def _value_after_there(main: str) -> Fraction | None:
    """Return the number soon after "there are" in a clause without a list; None for another clause."""
    if (there := _THERE.match(main)) and not _LISTED.search(main, there.end()):
        numbers = list(find_numbers(main[there.end() :]))
        leads = numbers and len(main[there.end() : there.end() + numbers[0].start].split()) <= 3
        if leads and not any(are_joined(main[there.end() :], *pair) for pair in itertools.pairwise(numbers)):
            return numbers[0].value
    return None


def _value_beside_clauses(statement: str, main: str) -> Fraction | None:
    """Return the only value of the main clause, or of what stands before a remark in brackets at the end."""
    value = _only_value(main) if main != statement and DIGIT.search(main) else None
    aside = _ASIDE.search(statement) if value is None else None
    if aside is not None and DIGIT.search(statement, 0, aside.start()):
        return _only_value(statement[: aside.start()].rstrip("* "))  # 18 (3 rolls and 15 muffins)
    return value


def _names_values(subject: str) -> bool:
    """Return whether the words before the last verb give a value themselves: "x is 5 and y"."""
    return any(
        (lead := _LEAD.match(subject, verb.end())) and DIGIT.match(subject, lead.end())
        for verb in _VERB.finditer(subject)
    )


def _leading_value(rest: str) -> Fraction | None:
    """Return the only value of the words after a verb if they begin with it."""
    numbers = list(find_numbers(rest))
    if not numbers or _SYMBOLIC.search(rest.strip()):
        return None
    lead = _LEAD.match(rest)
    if len(numbers) != 1 or lead is None or lead.end() < numbers[0].start:
        return None
    return numbers[0].value


def _only_value(statement: str) -> Fraction | None:
    """Return the only value of a text; None when it has none, several, or a formula."""
    if _SYMBOLIC.search(statement):
        return None
    numbers = list(find_numbers(statement))
    if any(are_joined(statement, *pair) for pair in itertools.pairwise(numbers)):
        return None
    values = {n.value for n in numbers if not _DENIED.search(statement, max(0, n.start - 20), n.start)}
    return values.pop() if len(values) == 1 else None


def is_for_unknown(side: str) -> bool:
    """Return whether the left side of an equation is a formula with an unknown, such as "x - 10"."""
    return _UNKNOWN.search(_SUBSCRIPT.sub("", side)) is not None


def are_joined(text: str, first: Number, second: Number) -> bool:
    """Return whether two numbers are a range, a choice or an unfinished sum."""
    return _JOINED.fullmatch(text, first.end, second.start) is not None


def write_decimal_points(piece: str, text: str, context: CompletionContext) -> str:
    """Return a piece of a completion with decimal points, also where the completion has decimal commas."""
    if _AMBIGUOUS.search(piece) and has_decimal_commas(text, context.question, context.language):
        return convert_decimal_commas(piece)
    return piece
