"""Numbers as answers: the number that a completion gives.

`extract_number` returns the canonical form of a number: an integer or a finite decimal without trailing zeros, else a
fraction in lowest terms. Two texts have the same value exactly when their canonical forms are equal, so comparing
strings is exact arithmetic: 3/4 is 0.75, 18.0 is 18, 1,000 is 1000.

What is a number: digits with thousands commas, a sign, a currency before, a unit after, `3/4`, `2 1/2`, `1.5e3`,
`3 x 10^4`, `5 million`, LaTeX fractions. What is not: digits glued to a word before them (GPT4, Q2, COVID-19) and
ordinals (4th), which are passed over. What cannot be read: times, dates, versions and ratios (10:30, 2024-01-05,
1.2.3), digits in another grouping (1,5 or 70 000), powers, roots and variables (2^5, 3x), 10k, bounds (more than 5),
ranges and unfinished sums. A completion whose deciding number cannot be read is unparsed, never a guess.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from howsure.extraction.statements import concluded, stated

__all__ = ["canonical_number", "extract_number"]

#: Longest number that is read, in characters, and largest exponent: beyond both nobody meant a number.
LONGEST = 60
LARGEST_EXPONENT = 60
#: Where the last number of a text is looked for: so many characters around it, in so many of the last lines.
WINDOW = 500
FURTHEST = 100

_CHARACTERS: dict[int, str] = {
    **{
        ord(wide): plain
        for wide, plain in zip("０１２３４５６７８９＋－．，％＄／：−﹣", "0123456789+-.,%$/:--", strict=True)
    },
    **{ord(half): f" {a}/{b}" for half, a, b in zip("½¼¾⅓⅔⅛", "113121", "244338", strict=True)},
    0x00A0: " ",
    0x2009: " ",
    0x202F: ",",  # a space that only groups thousands
}
_REPLACED = re.compile(f"[{''.join(map(chr, _CHARACTERS))}]")
_FRACTION = r"\\[dt]?frac\s{0,2}\{\s{0,2}(\d{1,20})\s{0,2}\}\s{0,2}\{\s{0,2}(\d{1,20})\s{0,2}\}"
_REWRITES = [
    (re.compile(r"<<[^<>\n]{0,200}>>"), ""),  # GSM8K's notes for a calculator: <<9*2=18>>
    (re.compile(r"\{,\}|\\,(?=\d{3})"), ","),
    (re.compile(r"\\[!;, ]|~|\\?%|\\(?:left|right)\b"), " "),
    (re.compile(r"(?<=\d)[ ]?" + _FRACTION), r" \1/\2"),
    (re.compile(_FRACTION), r"\1/\2"),
    (re.compile(r"(?<=\d)[ ]?(?:x|×|\*|\\times|\\cdot)[ ]?10[ ]?\^[ ]?\{?([-+]?\d{1,4})\}?"), r"e\1"),
    (re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s{0,2}\{|\\[()\[\]]|[{}]"), " "),
    (re.compile(r"(?<=\d)[ ]?/[ ]?(?=\d)"), "/"),
    (re.compile(r"(?<!\w)_{1,3}(?=[\d$-])|(?<=\d)_{1,3}(?!\w)|\*\*"), ""),
]

_REWRITTEN = re.compile(r"[\\{}~%_<*/^]")  # what each of them needs
# An integer that is canonical as it stands, the commonest completion by far.
_BARE = re.compile(r"\s?(?:\*\*)?(0|-?[1-9][0-9]{0,17})(?:\*\*)?\.?\s?")
_DIGIT = re.compile("[\\d½¼¾⅓⅔⅛]")
# Words are matched only to be passed over with the digits glued to them. Long repeats are possessive: no backtracking.
_TOKEN = re.compile(
    r"""
      [^\W\d]\w*+ (?: -\d[\w.]*+ | (?<=\d)\.\d[\w.]*+ )?+
    | (?P<number>
        (?P<sign> (?<![\w)\]%.])[-+] )?
        (?: \\?[$€£¥₹][ ]? (?P<inner> [-+] )? )?
        (?P<whole> \d{1,9}[ ](?=\d{1,4}/\d{1,4}(?![\d/.,]*\d)) )?
        (?P<run> (?: \d | (?<![\w.])\.\d ) [\d.,:/–—-]*+ (?: (?<=[\d.])[eE][-+]?\d++ )?+ )
        (?P<after> [^\W\d]\w*+ )?
        (?: [ ](?P<scale>hundred|thousand|million|billion|trillion)\b )?
      )
    """,
    re.VERBOSE,
)
_PLAIN = re.compile(r"(?=[\d.])([1-9]\d{0,2}(?:,\d{3})+|\d*)(\.\d+)?(?:[eE]([-+]?\d{1,4}))?")
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ORDINALS = {"st", "nd", "rd", "th"}
# Letters glued to a number that change its value: they are no unit.
_NOT_UNITS = {"x", "y", "z", "n", "i", "k", "K", "M", "B", "bn", "mn", "π", *_SCALES}

# Before or after a number: what makes its value another one, or leaves it open.
_OPEN_BEFORE = re.compile(
    r"(?:\bthan|\bat (?:least|most)|\bup to|[<>≤≥^√]|\\(?:sqrt|leq?|geq?)\b)\s{0,3}$|\\(?:[dt]?frac|pi)\D{0,8}$",
    re.IGNORECASE,
)
_OPEN_AFTER = re.compile(r"[ ]?(?:\^|!(?=\s*[-+*/=])|and (?:a|one|three)[ -](?:half|third|quarter))")
_DENIED = re.compile(r"(?:\bnot|n['’]t(?: be)?|\brather than|\binstead of)\s{1,3}$", re.IGNORECASE)
_NEGATIVE = re.compile(r"\b(?:negative|minus)\s{1,3}$", re.IGNORECASE)
# Between two numbers: a range, a choice, a sum nobody finished, digits in groups.
_JOINED = re.compile(r"[ ]?(?:[-–—+*×÷/·'’±]{1,3}|to|or|x|minus|plus|times|\\times|\\cdot|\\div)?[ ]?")
_SYMBOLIC = re.compile(r"\\(?:[dt]?frac|sqrt|pi)\b|[√π^]|^[-–—]\s")
_LISTED = re.compile(r"[,;]\s|\b(?:or|and)\b")


class _Number(NamedTuple):
    start: int
    end: int
    value: Fraction | None
    """None when it cannot be read."""


def extract_number(text: str) -> str | None:
    """Canonical form of the number that a completion gives as its answer, or None when it gives none.

    An explicit statement decides (`statement.stated`), and must hold exactly one value; without a statement, the last
    number of the text does.

    >>> extract_number("16 - 3 - 4 = 9, and 9 * 2 = 18. So she makes $18.00 every day.")
    '18'
    >>> extract_number("That is 12. The answer is 5 or 6.") is None
    True
    """
    if bare := _BARE.fullmatch(text):
        return bare[1]
    text = concluded(text)
    statement = stated(text)
    if statement is not None and (bare := _BARE.fullmatch(statement)):
        return bare[1]
    value = _last(text) if statement is None else _only(_plain_text(statement).strip())
    return None if value is None else _canonical(value)


def canonical_number(text: str) -> str | None:
    """Canonical form of a text that is one number and nothing else, such as a target; None when it is not.

    >>> canonical_number("$1,250.50"), canonical_number("6/8"), canonical_number("1/3"), canonical_number("5 apples")
    ('1250.5', '0.75', '1/3', None)
    """
    if (bare := _BARE.fullmatch(text)) and bare[1] == text.strip():
        return bare[1]
    text = _plain_text(text).strip()
    token = _TOKEN.fullmatch(text)
    if token is None or not token["number"] or token["after"]:
        return None
    number = _read(text, token)
    return None if number is None or number.end != len(text) or number.value is None else _canonical(number.value)


def _plain_text(text: str) -> str:
    if not text.isascii() and _REPLACED.search(text):
        text = text.translate(_CHARACTERS)
    if _REWRITTEN.search(text):
        for pattern, replacement in _REWRITES:
            text = pattern.sub(replacement, text)
    return text


def _only(statement: str) -> Fraction | None:
    """The one value of an explicit statement; None when it holds none, several, or one that cannot be read."""
    *chain, result = statement.split("=")
    if not any(_LISTED.search(link) for link in chain):
        statement = result.strip()  # 5 + 3 = 8 states 8
    if _SYMBOLIC.search(statement):
        return None
    numbers = list(_numbers(statement))
    if any(_joined(statement, *pair) for pair in itertools.pairwise(numbers)):
        return None
    values = {n.value for n in numbers if not _DENIED.search(statement, max(0, n.start - 20), n.start)}
    return values.pop() if len(values) == 1 else None


def _last(text: str) -> Fraction | None:
    """The last number of a text; None when it cannot be read or is joined to the number before it."""
    lines = (line for line in reversed(text.split("\n")) if _DIGIT.search(line))
    for line in itertools.islice(lines, FURTHEST):
        if bare := _BARE.fullmatch(line):
            return Fraction(bare[1])
        start, end = _around_last_digit(line)
        tail = _plain_text(line[start:end])
        numbers = list(_numbers(tail))[-2:]
        if len(numbers) == 2 and _joined(tail, *numbers):
            return None
        if numbers or start:
            return numbers[-1].value if numbers else None
    return None


def _around_last_digit(line: str) -> tuple[int, int]:
    """Where to read in a line that has a digit: from the start of a word, to a little after the last digit."""
    digit = max(line.rfind(d) for d in set(_DIGIT.findall(line[-WINDOW:]) or _DIGIT.findall(line)))
    if digit < WINDOW:
        return 0, digit + WINDOW
    space = line.find(" ", digit - WINDOW, digit)
    return (digit + 1 if space < 0 else space), digit + WINDOW


def _joined(text: str, first: _Number, second: _Number) -> bool:
    return _JOINED.fullmatch(text, first.end, second.start) is not None


def _numbers(text: str) -> Iterator[_Number]:
    for token in _TOKEN.finditer(text):
        if token["number"] and (number := _read(text, token)):
            yield number


def _read(text: str, token: re.Match[str]) -> _Number | None:
    """One number of the text; None when the token is an ordinal."""
    run = token["run"].rstrip(".,:/–—-")
    whole_token = run == token["run"]
    after = (token["after"] or "") if whole_token else ""
    if after.lower() in _ORDINALS and "/" not in run:
        return None
    start, end = token.start(), token.end() if whole_token else token.start("run") + len(run)
    value = _value(run)
    lead = max(0, start - 20)
    if after in _NOT_UNITS or (after and not after[0].isalpha()):
        value = None
    if _OPEN_BEFORE.search(text, lead, start) or _OPEN_AFTER.match(text, end):
        value = None
    if value is not None and token["whole"]:
        value = value + int(token["whole"]) if value < 1 else None
    if value is not None:
        value *= _SCALES.get(token["scale"], 1) if whole_token else 1
        minuses = [token["sign"] == "-", token["inner"] == "-", bool(_NEGATIVE.search(text, lead, start))]
        value = -value if sum(minuses) % 2 else value
    return _Number(start, end, value)


def _value(run: str) -> Fraction | None:
    """Exact value of digits with commas, a point, an exponent, or one slash; None for anything else."""
    if len(run) > LONGEST:
        return None
    parts = [_PLAIN.fullmatch(part) for part in run.split("/")]
    if len(parts) > 2:
        return None
    values = []
    for part in parts:
        if part is None or abs(exponent := int(part[3] or 0)) > LARGEST_EXPONENT:
            return None
        digits = (part[1].replace(",", "") or "0") + (part[2] or "")
        values.append(Fraction(digits) * Fraction(10) ** exponent)
    if len(values) == 1:
        return values[0]
    return values[0] / values[1] if values[1] else None


def _canonical(value: Fraction) -> str:
    places, power = 0, 1
    while power % value.denominator:
        if places > 2 * (LONGEST + LARGEST_EXPONENT):
            return f"{value.numerator}/{value.denominator}"  # no finite decimal
        places, power = places + 1, power * 10
    if not places:
        return str(value.numerator)
    digits = str(abs(value.numerator) * (power // value.denominator)).zfill(places + 1)
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
