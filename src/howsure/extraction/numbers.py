"""Read the number that a completion gives as its answer.

`extract_number` returns the canonical form of a number (see `numerals`). Two texts have the same value exactly when
their canonical forms are equal, so comparing strings is exact arithmetic: 3/4 is 0.75, 18.0 is 18, 1,000 is 1000.

An explicit statement decides; without one, the last number of the text does. What cannot be read as one number is
unparsed, and so is a number that is not given as the answer: in a sentence that the limit of tokens cut, in a refusal,
in the numeral of a list, or in a copy of the question. The answer is never guessed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from howsure.extraction.completion_context import (
    CompletionContext,
    complete_context,
    remove_next_question,
    remove_run_on,
)
from howsure.extraction.languages import DECIMAL_COMMA
from howsure.extraction.last_number import FACTORIAL, NUMERAL, read_last_number
from howsure.extraction.number_sentences import BARE, DIGIT, EQUALS, read_sentence
from howsure.extraction.number_words import parse_words
from howsure.extraction.numerals import (
    convert_decimal_commas,
    find_numbers,
    format_number,
    parse_single_number,
    rewrite_numerals,
)
from howsure.extraction.statements import Statement, ends_undecided, find_statements, match_plain_end, remove_reasoning

__all__ = ["canonical_number", "extract_number"]

#: So many statements are tried, from the last one on, where those after it are empty or cut.
MAX_STATEMENTS = 5
#: Longest completion that may be nothing but a number in words, in characters.
LONGEST_WORDS = 80

#: Longest text that `BARE` matches, in characters.
LONGEST_BARE = 32

# "2 dozen" is 24 where the question counts pieces: "How many eggs are left?", but not "How many dozen eggs ...?".
_DOZENS = re.compile(r"(?<![\d.,/])(\d{1,6})[ -]dozens?\b")
_COUNTS_PIECES = re.compile(
    r"\bhow many (?!dozen)(?!.*\b(?:how many|in|full|whole) dozens?\b)", re.IGNORECASE | re.DOTALL
)
_FACTORIAL_RESULT = re.compile(r"![ ]?=([^\n]*)")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[,;]\s")
# "No, it's 40." after a statement takes it back; what follows the verb replaces it.
_RETRACTED = re.compile(
    r"[\s.!?;,–—*_)\]$-]*(?:no|oops|sorry|correction|actually|wait|hold on|scratch that|my mistake)\b[ ,.:;!—–-]*"
    r"(?P<rest>[^\n]{0,200})",
    re.IGNORECASE,
)
_REPLACED_BY = re.compile(
    r"(?:^|.*\b)(?:it['’]s|it is|that['’]s|should be|must be|is actually|actually|make that|should have been|I meant)\b"
    r"(?!\s+(?:not|wrong|incorrect))|^(?=[\d$€£*-])",
    re.IGNORECASE,
)
_WRONG = re.compile(r"\b(?:wrong|incorrect|mistake|not right|not correct)\b", re.IGNORECASE)
_IN_WORDS = re.compile(r"\b(?:words?|english|letters)\b[^()\n]{0,20}\)?", re.IGNORECASE)
_AS_FRACTION = re.compile(r"\bas an? (?:fraction|decimal|percentage|percent|mixed number)\)", re.IGNORECASE)
_BEFORE_STEPWISE = (" ", "*", "_", "-")
_STEPWISE = re.compile(r"(?:step|detailed|pas à pas|sample)[ *_-]{1,3}$", re.IGNORECASE)

# "If there had been 5 more guests, the answer would be 84."
_HYPOTHETICAL = re.compile(r"\bif\b[^.!?\n]{1,150}\bwould(?: have been| be)\b[\s*_:]*$", re.IGNORECASE)

# "$65,000" above an explanation, and "So, Tom has 5 pens." at the end of a text that was cut.
_FIRST_LINE = re.compile(r"[$€£]?(?P<number>-?\d[\d,]*(?:\.\d+)?)(?:[ ]?(?:[a-z]{1,12}|%))?\.?")
_HAS_WORDS = re.compile(r"\s*[^\n]*[^\W\d_]{2}")
_LAST_CONCLUSION = re.compile(
    r"(?:^|\n|[.!]\s)(?:so|thus|therefore|hence)\b,?\s([^.!?\n=:]{3,100})[.!]\s*$", re.IGNORECASE
)
_TAGGED = re.compile(r"<(result|solution|output|final)>\s*([^<>\n]{1,80}?)\s*</\1>", re.IGNORECASE)


def extract_number(text: str, *, context: CompletionContext | None = None) -> str | None:
    """Return the canonical form of the number that a completion gives as its answer, or None when it gives none.

    An explicit statement decides (`statements.find_statements`) and must hold one value, in digits or in English words.
    A statement that is empty or cut does not count, and one that is taken back is replaced ("No, it's 40"). Without a
    statement the last number of the text decides, unless the completion was cut, refuses to answer, or copies the
    question.

    Parameters
    ----------
    text
        The completion.
    context
        What else is known: `truncated`, `question` and `language` decide what is read; see `CompletionContext`.

    Returns
    -------
    str or None
        The number as `numerals.format_number` writes it.

    Examples
    --------
    >>> extract_number("16 - 3 - 4 = 9, and 9 * 2 = 18. So she makes $18.00 every day.")
    '18'
    >>> extract_number("The answer is 27. No, it's forty.")
    '40'
    >>> extract_number("That is 12. The answer is 5 or 6.") is None
    True
    """
    if len(text) <= LONGEST_BARE and (bare := BARE.fullmatch(text)):
        return bare[1]  # also where the limit of tokens cut it: some prompts ask for a number and allow no more tokens
    completion = remove_reasoning(text)
    text = remove_next_question(completion, context).rstrip()
    context = complete_context(completion, text, context)
    if (first := remove_run_on(text, context)) != text:
        text, context = first.rstrip(), context and replace(context, truncated=False)
    if context is not None and "dozen" in text and _COUNTS_PIECES.search(context.question):
        text = _DOZENS.sub(lambda match: str(12 * int(match[1])), text)
    is_cut = context is not None and context.truncated
    if not is_cut and (plain := match_plain_end(text)) and (number := _read_plain_number(plain)) is not None:
        return number
    if ends_undecided(text):
        return None
    value = _read(text, context or CompletionContext())
    return None if value is None else format_number(value)


def canonical_number(text: str, language: str = "") -> str | None:
    """Return the canonical form of a text that is one number, such as a target; None when it is anything else.

    With the code of a language in which the comma separates decimals, 3,5 and 1.234 are read as it writes them. A comma
    before three digits, which has two readings, groups them.

    >>> canonical_number("$1,250.50"), canonical_number("6/8"), canonical_number("1/3"), canonical_number("5 apples")
    ('1250.5', '0.75', '1/3', None)
    """
    if (bare := BARE.fullmatch(text)) and bare[1] == text.strip():
        return bare[1]
    if language.lower()[:2] in DECIMAL_COMMA:
        text = convert_decimal_commas(text).replace(",,", ",")
    value = parse_single_number(rewrite_numerals(text).strip())
    return None if value is None else format_number(value)


def _read_plain_number(plain: re.Match[str]) -> str | None:
    """Return the integer of the most common statement, "The answer is 18." at the end of a text; None for others.

    The general reading gives the same and takes 20 times as long.
    """
    bare = BARE.fullmatch(plain[1])
    if bare is None:
        return None
    text, start = plain.string, plain.start()
    is_stepwise = text[start - 1 : start] in _BEFORE_STEPWISE and _STEPWISE.search(text, max(0, start - 12), start)
    return None if is_stepwise else bare[1]


def _read(text: str, context: CompletionContext) -> Fraction | None:
    """Return the value that a completion without reasoning gives."""
    in_words: Fraction | None = None
    cut: tuple[Statement, int] | None = None
    is_stated = False
    for statement, end in _list_statements(text):
        is_stated = True
        is_would = "would" in text[statement.start : statement.content]
        if (
            is_would
            and _HYPOTHETICAL.search(text, max(0, statement.start - 200), statement.content)
            and _is_repeated(statement, text)
        ):
            continue
        if _is_unfinished(statement, end, text, context):
            cut = cut or ((statement, end) if statement.is_cut else None)
            continue
        value = _resolve(statement, end, text, context)
        if _repeats_in_words(statement, text):
            in_words = value if in_words is None else in_words
            continue
        return in_words if value is None else value
    if cut and in_words is None and not context.truncated:
        return _read_statement(*cut, text, context)
    if is_stated or context.truncated:
        return _read_before_cut(text) if in_words is None and not is_stated else in_words
    if len(text) <= LONGEST_WORDS and not DIGIT.search(text) and (words := parse_words(text, alone=True)) is not None:
        return words
    if tagged := _TAGGED.search(text):
        return read_sentence(tagged[2], text, context)
    return read_last_number(text, context)


def _read_before_cut(text: str) -> Fraction | None:
    """Return the number that a cut text has as its whole first line, or concludes with in a complete last sentence."""
    first, _, rest = text.strip().partition("\n")
    if _HAS_WORDS.match(rest) and (alone := _FIRST_LINE.fullmatch(first)) and not NUMERAL.match(f"{first} a"):
        return parse_single_number(alone["number"].replace(",", ""))
    sentence = _LAST_CONCLUSION.search(text)
    numbers = [] if sentence is None else list(find_numbers(rewrite_numerals(sentence[1])))
    return numbers[0].value if len(numbers) == 1 else None


def _list_statements(text: str) -> Iterator[tuple[Statement, int]]:
    """Yield the last statements, the last one first, and where each ends."""
    for statement in itertools.islice(find_statements(text), MAX_STATEMENTS):
        if not _STEPWISE.search(text, max(0, statement.start - 12), statement.start):
            stated = statement.text.removeprefix("not ")
            yield statement, max(text.find(stated, statement.content), statement.content) + len(stated)


def _is_unfinished(statement: Statement, end: int, text: str, context: CompletionContext) -> bool:
    """Return whether a statement is empty or cut, so that one before it counts."""
    if statement.is_cut or not any(character.isalnum() for character in statement.text):
        return True
    return context.truncated and not text[end:].strip(" \n\t*_$")


def _is_repeated(statement: Statement, text: str) -> bool:
    """Return whether a statement with a number stands before this one."""
    return any(DIGIT.search(other.text) for other in itertools.islice(find_statements(text[: statement.start]), 2))


def _repeats_in_words(statement: Statement, text: str) -> bool:
    """Return whether a statement repeats the answer in words or in another form."""
    if DIGIT.search(statement.text):
        return _AS_FRACTION.search(text, statement.start, statement.content) is not None
    return _IN_WORDS.search(text, max(0, statement.start - 25), statement.content) is not None


def _resolve(statement: Statement, end: int, text: str, context: CompletionContext) -> Fraction | None:
    """Return the value of a statement, or of what follows it and replaces it."""
    is_box_or_hashes = text.startswith(("####", "\\"), statement.start)
    if (retracted := _RETRACTED.match(text, end)) and not is_box_or_hashes:
        if replaced := _REPLACED_BY.match(retracted["rest"]):
            replacement = _SENTENCE_END.split(retracted["rest"][replaced.end() :], maxsplit=1)[0]
            return read_sentence(replacement, text, context)
        if _WRONG.search(retracted["rest"]):
            return None
    if result := _FACTORIAL_RESULT.match(text, end):
        return read_sentence(result[1], text, context)
    is_factorial = text[end : end + 1] == "!" and FACTORIAL.fullmatch(f"{statement.text}!")
    if is_factorial and text[statement.content - 1] == ":":
        return None
    return _read_statement(statement, end, text, context)


def _read_statement(statement: Statement, end: int, text: str, context: CompletionContext) -> Fraction | None:
    """Return the value of a statement, which may be the last of several lines below its marker."""
    begin = end - len(statement.text.removeprefix("not "))
    is_below = "\n" in text[statement.content : begin] and not text.startswith("\\", statement.start)
    if is_below and (EQUALS.search(statement.text) or NUMERAL.match(text, begin)) and text[end:].strip():
        if not DIGIT.search(text, end) and text.endswith((".", "!")):
            return read_sentence(statement.text, text, context)
        has_number = DIGIT.search(text.rpartition("\n")[2])
        return read_last_number(text[begin:], context) if has_number else None
    return read_sentence(statement.text, text, context)
