"""Read a number that is written in English words, "twenty-seven" or "three quarters", or in Chinese numerals."""

from __future__ import annotations

import re
from fractions import Fraction

from howsure.extraction.numerals import LONGEST

__all__ = ["SMALL_NUMBERS", "parse_chinese", "parse_words"]

_ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_ONES += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
#: English word -> its number, for numbers of one word below a hundred.
SMALL_NUMBERS = {word: i for i, word in enumerate(_ONES)} | {word: 10 * i for i, word in enumerate(_TENS, 2)}
_SMALL = SMALL_NUMBERS | {"fourty": 40}
_LARGE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_PARTS = {"half": 2, "halves": 2, "third": 3, "thirds": 3, "fourth": 4, "fourths": 4, "quarter": 4, "quarters": 4}
_PARTS |= {"fifth": 5, "fifths": 5, "sixth": 6, "sixths": 6, "eighth": 8, "eighths": 8, "tenth": 10, "tenths": 10}
_WORD = "|".join(sorted([*_SMALL, *_LARGE], key=len, reverse=True))
_PART_WORD = "|".join(sorted(_PARTS, key=len, reverse=True))
_WORD_RUN = re.compile(
    rf"(?<![\w-])(?P<minus>(?:minus|negative)\s)?(?P<words>(?:a\s(?=hundred|thousand|million))?(?:{_WORD})"
    rf"(?:(?:\s|-|,\s|\sand\s|-and-)(?:{_WORD}))*)(?:[\s-](?P<part>{_PART_WORD}))?"
    rf"(?:\spoint(?P<decimals>(?:\s(?:{_WORD}))+))?(?![\w-])",
    re.IGNORECASE,
)
_AND_A_PART = re.compile(r"\sand\sa\s(half|third|quarter)\b", re.IGNORECASE)
_CENTS = re.compile(r"\s(?:dollars?|euros?|pounds?)\s(?:and\s)?$", re.IGNORECASE)


def parse_words(text: str, *, alone: bool = False) -> Fraction | None:
    """Return the only number that a text without digits has in English words; None when it has none or several.

    "one" counts only where it is not a pronoun: at the beginning, and not in "one of them". With `alone`, the text must
    be the number and nothing else.

    >>> parse_words("five hundred fifty-five dollars"), parse_words("two thirds"), parse_words("the second one")
    (Fraction(555, 1), Fraction(2, 3), None)
    """
    text = text.strip(" \t\n*_`\"'“”‘’().$")
    runs = list(_WORD_RUN.finditer(text))
    if alone and not (len(runs) == 1 and runs[0][0] == text):
        return None
    if len(runs) == 2 and _CENTS.fullmatch(text, runs[0].end(), runs[1].start()) and "cent" in text[runs[1].end() :]:
        dollars, cents = (_parse_run(run) for run in runs)
        return None if dollars is None or cents is None else dollars + cents / 100
    if len(runs) == 1 and (mixed := _AND_A_PART.match(text, runs[0].end())) and not runs[0]["part"]:
        integer = _parse_run(runs[0])
        return None if integer is None else integer + Fraction(1, _PARTS[mixed[1].lower()])
    if len(runs) != 1:
        part = re.fullmatch(r"(?:an? |one )?(half|third|quarter)(?: of .{0,60}| an? \w+)?", text, re.IGNORECASE)
        return Fraction(1, _PARTS[part[1].lower()]) if part and not runs else None
    if runs[0]["words"].lower() == "one" and not runs[0]["part"]:
        pronoun_free = re.fullmatch(r"(?:exactly |only |just )?one(?! of\b)(?: [a-z-]+){0,3}", text, re.IGNORECASE)
        return Fraction(1) if pronoun_free else None
    return _parse_run(runs[0])


def _parse_run(run: re.Match[str]) -> Fraction | None:
    """Return the value of number words in the order of English; None for another order, or too many of them."""
    words = re.findall(_WORD, run["words"].lower())
    if len(words) + len((run["decimals"] or "").split()) > LONGEST:
        return None
    total = group = 0
    last = 0  # the last word's value, to refuse "two three" and "twenty thirty"
    for word in words or ["one"]:
        if word in _SMALL:
            value = _SMALL[word]
            if last and not (last in _LARGE.values() or (20 <= last < 100 and 0 < value < 10)):
                return None
            group += value
        elif word == "hundred":
            group, value = (group or 1) * 100, 100
        else:
            value = _LARGE[word]
            total, group = total + (group or 1) * value, 0
        last = value or -1
    number = Fraction(total + group)
    if run["part"]:
        number /= _PARTS[run["part"].lower()]
    if run["decimals"]:
        digits = [_SMALL.get(word.lower(), 10) for word in run["decimals"].split()]
        if max(digits) > 9:
            return None
        number += Fraction(int("".join(map(str, digits))), 10 ** len(digits))
    return -number if run["minus"] else number


_HAN_DIGITS = {digit: i for i, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
_HAN_RUN = re.compile(f"[{''.join(_HAN_DIGITS)}十百千万亿萬億]+")
#: Words with a numeral that count nothing: altogether, some, the same, each other, very, first, once.
_HAN_WORDS = re.compile(
    "一共|一些|一样|一樣|一起|一定|一般|一个个|十分|万一|第[一二三四五六七八九十]|一下|一次性|统一|唯一|之一|每一|一半"
)


def parse_chinese(text: str) -> Fraction | None:
    """Return the last number of a text in Chinese numerals; None if it has none, or one that cannot be read.

    >>> parse_chinese("三天一共读三十六页。"), parse_chinese("两千零五元"), parse_chinese("一些")
    (Fraction(36, 1), Fraction(2005, 1), None)
    """
    runs = _HAN_RUN.findall(_HAN_WORDS.sub(" ", text))
    return _parse_han(runs[-1]) if runs and len(runs[-1]) <= LONGEST else None


def _parse_han(run: str) -> Fraction | None:
    """Return the value of Chinese numerals; None where their order is none of a number."""
    for large, value in (("亿", 10**8), ("億", 10**8), ("万", 10**4), ("萬", 10**4)):
        if large in run:
            head, _, tail = run.partition(large)
            high, low = _parse_han(head) if head else None, _parse_han(tail) if tail else Fraction(0)
            return None if high is None or low is None else high * value + low
    total, digit, last = 0, None, 10**4
    for character in run:
        if character in _HAN_DIGITS:
            if digit is not None and digit != 0:
                return None
            digit = _HAN_DIGITS[character]
        else:
            unit = _HAN_UNITS[character]
            if unit >= last or digit == 0:
                return None
            total, digit, last = total + (1 if digit is None else digit) * unit, None, unit
    return Fraction(total + (digit or 0))
