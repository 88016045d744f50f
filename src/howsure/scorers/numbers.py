"""Read the number that a completion gives as its answer, in canonical form (`numerals`).

The last explicit statement (`statements`) decides, else one of the last two sentences: its number behind "=", or its
only number besides those of the question (and years, in a sentence). Of a text of few sentences without a calculation,
else the first sentence does. A completion that was cut and states nothing has no answer, and neither has a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from howsure.scorers.completion_text import CompletionContext, clean_completion
from howsure.scorers.language_words import DECIMAL_COMMA
from howsure.scorers.numerals import (
    canonical_number,
    convert_decimal_commas,
    find_numbers,
    format_number,
    parse_words,
    rewrite_numerals,
)
from howsure.scorers.open_answers import is_refusal
from howsure.scorers.statements import find_statements, split_sentences

_DIGIT = re.compile(r"\d")
_EQUALS = re.compile(r"=|≈|\\approx|\bequals\b")
# Most texts end so, and are read in a twentieth of the time that other statements take.
_PLAIN_END = re.compile(
    r"^(?:####|Answer:|(?:So |Therefore, )?[Tt]he answer is) ?(-?[1-9]\d{0,14}|0)\.?\s*\Z", re.ASCII | re.MULTILINE
)
#: Characters at the end of a text in which such a statement is searched.
NEAR = 60
# Numbers that stand side by side or in a calculation, of which none is the answer by itself.
_JOINED = re.compile(r"\b(?:and|or|step)\b\W*\d|[*+×÷()]|\d\s*[-/]\s*\d", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|no longer|isn['’]t)\s*$", re.IGNORECASE)
#: Numbers that are dates where a sentence has another number: "34 goals from 2012 to 2019".
_YEARS = frozenset(map(Fraction, range(1900, 2100)))
#: Most sentences of a text without a calculation that answers in its first sentence.
MOST_SHORT = 4
#: Longest text that may be a number and nothing else, in characters.
LONGEST_BARE = 80


def read_number(text: str, context: CompletionContext | None = None) -> tuple[str | None, str]:
    """Return the canonical form of the number that a completion gives and the rule, or None and the reason.

    Examples
    --------
    >>> read_number("16 - 3 - 4 = 9, and 9 * 2 = 18. The answer is $18.00.")
    ('18', 'statement')
    >>> read_number("That is 12. The answer is 5 or 6.")
    (None, 'several')
    """
    text, context, parts = clean_completion(text, context)
    if not context.truncated and (plain := _PLAIN_END.search(text, max(0, len(text) - NEAR))):
        return plain[1], "statement"
    is_bare = len(text) <= LONGEST_BARE and not (context.truncated and "\\" in text)
    bare = canonical_number(text.strip().removesuffix("."), context.language) if is_bare else None
    if bare is not None:
        return bare, "bare"  # also where the limit of tokens cut it: some prompts allow only a number
    if not text.strip():
        return None, "empty" if parts.is_finished else "unfinished"
    value, why = _read_statement(text, context)
    if value is None and why == "none":
        value, why = (None, "cut") if context.truncated else _read_end(text, context)
    return (None, why) if value is None else (format_number(value), why)


def _read_statement(text: str, context: CompletionContext) -> tuple[Fraction | None, str]:
    """Return the value of the last statement; or None and the reason, which is "none" where there is no statement."""
    for statement in find_statements(text):
        end = text.find(statement.text, statement.content) + len(statement.text)
        if context.truncated and not text[end:].strip(" \n\t*_$"):
            continue
        if "\n" in text[statement.content : end - len(statement.text)].lstrip(" ") and text[end:].strip():
            break  # the words announce what stands in the lines below
        value, why = _read_phrase(statement.text, context)
        return (value, "statement") if value is not None else (None, "no number" if why == "none" else why)
    return None, "none"


def _read_end(text: str, context: CompletionContext) -> tuple[Fraction | None, str]:
    """Return the value of the last sentence with a number, or of the first one of a short text; or None and why."""
    if is_refusal(text):
        return None, "refused"
    sentences = split_sentences(text)
    value, why = _read_first(sentences[:-3:-1], context)
    if value is None and len(sentences) <= MOST_SHORT and "=" not in text:
        value, _ = _read_first(sentences, context)
        return value, why if value is None else "first sentence"
    return value, why if value is None else "last sentence"


def _read_first(sentences: Sequence[str], context: CompletionContext) -> tuple[Fraction | None, str]:
    """Return the value of the first of some sentences that has a number; or None and the reason."""
    for sentence in sentences:
        if sentence.endswith("?"):
            return None, "refused"
        value, why = _read_phrase(sentence, context, is_sentence=True)
        if value is not None or why != "none":
            return value, why
    return None, "none"


def extract_number(text: str, *, context: CompletionContext | None = None) -> str | None:
    """Return the canonical form of the number that a completion gives as its answer, or None when it gives none.

    >>> extract_number("16 - 3 - 4 = 9, and 9 * 2 = 18. So she makes $18.00 every day.")
    '18'
    """
    return read_number(text, context)[0]


def _read_phrase(phrase: str, context: CompletionContext, *, is_sentence: bool = False) -> tuple[Fraction | None, str]:
    """Return the value of a phrase with one number, or of the number behind its last "="; or None and the reason."""
    if context.language.lower()[:2] in DECIMAL_COMMA:
        phrase = convert_decimal_commas(phrase)
    written = rewrite_numerals(phrase)
    if equals := list(_EQUALS.finditer(written)):
        behind = written[equals[-1].end() :]
        written = behind if _DIGIT.search(behind) else written
    numbers = list(find_numbers(written))
    if not numbers:
        value = None if _DIGIT.search(written) else parse_words(phrase)
        return value, "none"
    values = {number.value for number in numbers}
    if len(values) > 1 and None not in values and not _JOINED.search(written):
        stated = {number.value for number in find_numbers(rewrite_numerals(context.question))}
        numbers = [number for number in numbers if number.value not in stated] or numbers
    if is_sentence and len(numbers) > 1:
        numbers = [number for number in numbers if number.value not in _YEARS] or numbers
    values = {one.value for one in numbers if not _DENIED.search(written[max(0, one.start - 20) : one.start])}
    if len(values) == 1:
        return values.pop(), "unreadable"
    return None, "several" if values else "denied"
