r"""Find the numbers in a text, in digits of any script, in LaTeX or in English words, and write them canonically.

The canonical form is an integer or a finite decimal without trailing zeros, else a fraction in lowest terms. Two texts
have the same value exactly when their canonical forms are equal: 3/4 is 0.75, 18.0 is 18, 1,000 is 1000.

Not read are times, dates and versions (10:30, 2024-01-05, 1.2.3), digits in another grouping (1,5 or 70 000, unless
the language groups them so), powers, roots and variables (2^5, 3x), parts of an expression (R + 6), bounds (18+, more
than 5) and ordinals (4th).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from howsure.scorers.language_words import DECIMAL_COMMA

#: Longest number that is read, in characters, and largest exponent; what exceeds them is no number.
LONGEST, LARGEST_EXPONENT = 60, 60
#: An integer and nothing else, which most targets and many answers are.
_BARE = re.compile(r"\s*(-?(?:0|[1-9]\d{0,17}))\.?\s*", re.ASCII)

#: The last character that may be a digit: a search of all of Unicode takes a tenth of a second of each command.
_LAST_DIGIT = 0x1FFFF
_CHARACTERS: dict[int, str] = {
    **{code: str(unicodedata.decimal(chr(code))) for code in range(128, _LAST_DIGIT + 1) if chr(code).isdecimal()},
    **{ord(wide): plain for wide, plain in zip("＋－．，％＄／：−﹣٫٬＝", "+-.,%$/:--.,=", strict=True)},
    **{ord(half): f" {a}/{b}" for half, a, b in zip("½¼¾⅓⅔⅛", "113121", "244338", strict=True)},
    0x00A0: " ",
    0x2009: " ",
    0x202F: ",",
    0x00B0: "",  # the narrow space groups thousands
}
__PART = r"(?:\{\s{0,2}(-?\d{1,20})\s{0,2}\}|\s?(\d))"
_FRACTION = re.compile(rf"((?<=\d))?[ ]?\\[dtc]?frac\s{{0,2}}{__PART}\s{{0,2}}{__PART}")
_UNIT_POWER = re.compile(
    r"(?<=\d)\s?((?:square |cubic )?(?:[kcmd]?m|ft|in|inches|units?))\s?\}?\s?\^\s?(?:[23]\b|\{[23]\})"
)
# Each rewrite: the characters of which a text has one, the pattern, and what replaces it.
_REWRITES: list[tuple[str, re.Pattern[str], str]] = [
    ("\\{", re.compile(r"\{,\}|,?\\[,!](?=\d{3})"), ","),
    ("^", _UNIT_POWER, r" \1 "),
    ("\\~%", re.compile(r"\\[!;, ]|~|\\?%|\\(?:left|right|quad|displaystyle)\b"), " "),
    ("\\", _FRACTION, ""),
    ("^", re.compile(r"(?<=\d)[ ]?(?:x|×|\*|\\times|\\cdot)[ ]?10[ ]?\^[ ]?\{?([-+]?\d{1,4})\}?"), r"e\1"),
    ("\\{}", re.compile(r"\\(?:text(?:bf|it|rm)?|mathrm|mathbf|mbox|boxed)\s{0,2}\{|\\[()\[\]]|[{}]"), " "),
]
# Scripts whose words are not separated from numbers by spaces.
_SCRIPT = "\u0590-\u07ff\u0900-\u10ff\u1780-\u17ff\u2e80-\u3000\u3003-\ud7ff\uf900-\ufaff\uff61-\uffef"
_GLUED = re.compile(rf"(?<=[{_SCRIPT}])(?=[\d$€£¥+-])|(?<=\d)(?=[{_SCRIPT}])")

_SCALES: dict[str, int] = {
    word: 10**power
    for power, words in (
        (2, "hundred 百 백"),
        (3, "thousand тысяч тысячи тысяча тыс Tausend mille mil mila ألف آلاف 千 천"),
        (4, "万 萬 만"),
        (6, "million миллион миллиона миллионов млн Million Millionen millions millón millones milioni milione ล้าน"),
        (6, "milhão milhões miljoen مليون ملايين"),
        (8, "亿 億 억"),
        (9, "billion milliard milliards Milliarde Milliarden miliardi miliardo miljard миллиард млрд"),
        (12, "trillion"),
    )
    for word in words.split()
}
# Words are matched so that digits glued to them are skipped. Long repeats are possessive, to prevent backtracking.
_TOKEN = re.compile(
    rf"""
      [^\W\d]\w*+ (?: -\d[\w.]*+ | (?<=\d)\.\d[\w.]*+ )?+
    | (?=[-+\d.\\$€£¥₹]) (?P<number>
        (?P<sign> (?<![\w)\]%.])[-+] )?
        (?P<currency> \\?[$€£¥₹][ ]? (?P<inner> [-+] )? )?
        (?P<integer> \d{{1,9}}[ ](?=\d{{1,4}}/\d{{1,4}}(?![\d/.,]*\d)) )?
        (?P<run> (?: \d | (?<![\w.])\.\d ) [\d.,:/–—-]*+ (?: (?<=[\d.])[eE][-+]?\d++ )?+ )
        (?P<after> [^\W\d]\w*+ )?
        (?: [ ]? (?P<scale> {"|".join(sorted(_SCALES, key=len, reverse=True))} )(?![a-zа-я克米分]) )?
      )
    """,
    re.VERBOSE,
)
_TRAILING = ".,:/–—-"
_PLAIN = re.compile(r"(?=[\d.])([1-9]\d{0,2}(?:,\d{3})+|[1-9]\d?(?:,\d\d)+,\d{3}|\d*)(\.\d+)?(?:[eE]([-+]?\d{1,4}))?")
_UNIT_WORDS = "g m s h l F C V W d p kg km cm mm mg ml mL lb oz ft in yd mi hr am pm AM PM kW GB MB KB Hz ct"
#: Short words glued to a number that are units; other short ones change its value (3x, 5C2, 10k).
_UNITS = frozenset(_UNIT_WORDS.split())
# Text before or after a number that changes its value or leaves it open.
_OPEN_BEFORE = re.compile(
    r"(?:\bthan|\bat (?:least|most)|\bup to|[<>≤≥^√]|\\(?:sqrt|leq?|geq?|log|ln|sin|cos|tan|binom)\b)\s{0,3}$"
    r"|\\(?:frac|pi)\D{0,8}$|(?:(?<![A-Za-z])[A-Za-z]|[)\]])[ ]?[-−][ ]$|(?:[A-Za-z)\]](?:[ ][+*×·][ ]|[+×·]))$",
    re.IGNORECASE,
)
_OPEN_AFTER = re.compile(
    r"[ ]?(?:\^|!(?=\s*[-+*/=$)}])|\\?pi\b|[π√]|sqrt\b|\\(?!text|right|quad|approx|times|cdot|div|[lg]eq?\b)[a-z]"
    r"|\s{0,3}[\[(]\s{0,3}\\[a-z]|\+(?!\s*[\d$(])|or (?:more|fewer|less)\b"
    r"|(?:[+*/×·÷]|\\cdot|\\times)[ ]?(?:[A-Za-z](?![A-Za-z])|\\[a-z]|\()"
    r"|[-−][ ]?(?:[b-zB-HJ-Z](?![A-Za-z'’])|\\[a-z]))"
)


class Number(NamedTuple):
    """A number at its place in a rewritten text; its value is None where it cannot be read."""

    value: Fraction | None
    start: int
    end: int


def rewrite_numerals(text: str) -> str:
    r"""Return a text with its numbers in ASCII digits and without LaTeX and markup.

    >>> rewrite_numerals("答案是１，２００元"), rewrite_numerals(r"$\frac34$"), rewrite_numerals("18 cm^2")
    ('答案是 1,200 元', '$3/4$', '18 cm ')
    """
    if not text.isascii():
        text = _GLUED.sub(" ", text.translate(_CHARACTERS))
    for needed, pattern, replacement in _REWRITES:
        if any(character in text for character in needed):
            text = pattern.sub(_write_fraction if pattern is _FRACTION else replacement, text)
    return text


def _write_fraction(match: re.Match[str]) -> str:
    """Return a LaTeX fraction as a/b, after a space where it follows an integer."""
    space = " " if match[1] is not None else match[0][: match[0].index("\\")]
    return f"{space}{match[2] or match[3]}/{match[4] or match[5]}"


def find_numbers(text: str) -> Iterator[Number]:
    """Yield the numbers of a rewritten text, also those that cannot be read.

    >>> [number.value for number in find_numbers("GPT4 made $1,250.50 and 3 million in 2x.")]
    [Fraction(2501, 2), Fraction(3000000, 1), None]
    """
    for token in _TOKEN.finditer(text):
        if (written := token["run"]) is None:
            continue
        run = written.rstrip(_TRAILING)
        after = token["after"]
        if run == written and after is not None and after.lower() in {"st", "nd", "rd", "th"} and "/" not in run:
            continue
        end = token.end() if run == written else token.start("run") + len(run)
        yield Number(_parse_token(text, token, run, end), token.start(), end)


def _parse_token(text: str, token: re.Match[str], run: str, end: int) -> Fraction | None:
    """Return the value of one token, whose digits are `run` and which ends at `end`; None when it cannot be read."""
    is_complete = run == token["run"]
    after = token["after"] if is_complete else None
    value = _parse_digits(run)
    if value is not None and after in _SCALES:
        value, after = value * _SCALES[after], None
    is_variable = after == "π" or (after is not None and after.isascii() and len(after) <= 2 and after not in _UNITS)
    start = token.start()
    is_open = _OPEN_AFTER.match(text, end) or _OPEN_BEFORE.search(text, max(0, start - 20), start)
    if value is None or is_variable or (after is not None and not after.isalpha()) or is_open:
        return None
    if token["integer"]:
        if value >= 1:
            return None
        value += int(token["integer"])
    if is_complete and (scale := token["scale"]):
        if text[end : end + 2].lstrip()[:1].isdigit():
            return None  # 1万2000
        value *= _SCALES[scale]
    is_minus = text[max(0, start - 9) : start].lower().endswith(("negative ", "minus "))
    return -value if (token["sign"] == "-") ^ (token["inner"] == "-") ^ is_minus else value


def _parse_digits(run: str) -> Fraction | None:
    """Return the exact value of digits with commas, a point, an exponent, or one slash; None for anything else."""
    if len(run) > LONGEST:
        return None
    values = []
    for text in run.split("/"):
        part = _PLAIN.fullmatch(text)
        if part is None or abs(exponent := int(part[3] or 0)) > LARGEST_EXPONENT or not any(map(str.isdigit, text)):
            return None
        decimals = (part[2] or "")[1:]
        digits, exponent = int(f"{part[1].replace(',', '')}{decimals}"), exponent - len(decimals)
        values.append(Fraction(digits * 10**exponent) if exponent >= 0 else Fraction(digits, 10**-exponent))
    if len(values) == 1:
        return values[0]
    return values[0] / values[1] if len(values) == 2 and values[1] else None


def format_number(value: Fraction) -> str:
    """Return the canonical form of a value.

    >>> format_number(Fraction(3, 4)), format_number(Fraction(1, 3)), format_number(Fraction(18))
    ('0.75', '1/3', '18')
    """
    places, power = 0, 1
    while power % value.denominator:
        if places > 2 * (LONGEST + LARGEST_EXPONENT):
            return f"{value.numerator}/{value.denominator}"  # no finite decimal
        places, power = places + 1, power * 10
    if not places:
        return str(value.numerator)
    digits = str(abs(value.numerator) * (power // value.denominator)).zfill(places + 1)
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def canonical_number(text: str, language: str = "") -> str | None:
    """Return the canonical form of a text that is one number, such as a target; None when it is anything else.

    With the code of a language in which the comma separates decimals, 3,5 and 1.234 are read as it writes them. A comma
    before three digits, which has two readings, groups them.

    >>> canonical_number("$1,250.50"), canonical_number("6/8"), canonical_number("1/3"), canonical_number("5 apples")
    ('1250.5', '0.75', '1/3', None)
    """
    if bare := _BARE.fullmatch(text):
        return None if text.strip() != bare[1] else "0" if bare[1] == "-0" else bare[1]
    if language.lower()[:2] in DECIMAL_COMMA:
        text = convert_decimal_commas(text).replace(",,", ",")
    text = rewrite_numerals(text).strip()
    token = _TOKEN.fullmatch(text)
    if token is None or token["run"] is None or token["after"]:
        return None
    run = token["run"].rstrip(_TRAILING)
    value = _parse_token(text, token, run, len(text)) if run == token["run"] else None
    return None if value is None else format_number(value)


_COMMA_STYLE = re.compile(r"(?<![\w.,])\d[\d.,]*(?:[ \u00a0\u202f\u2009]\d{3}(?!\d)(?:,\d+)?)*(?:,\d+)?")
_GROUPED = re.compile(r"\d{1,3}(?:([. \u00a0\u202f\u2009])\d{3})(?:\1\d{3})*(,\d+)?")


def convert_decimal_commas(text: str) -> str:
    """Return a text in which numbers with a decimal comma have a decimal point and no grouping.

    A point before three digits groups them, and so does a comma before three zeros. A comma before three other digits
    is doubled, which no reading takes for a number, because the number has two readings.

    >>> convert_decimal_commas("1.234,50 und 70 000 und 3,5 und 70,000 und 1,234")
    '1234.50 und 70000 und 3.5 und 70,000 und 1,,234'
    """
    return _COMMA_STYLE.sub(_convert_number, text)


def _convert_number(match: re.Match[str]) -> str:
    """Return a number with a decimal comma in the form with a point; with two commas where it has two readings."""
    run = match[0]
    end = run.rstrip(".,")
    tail = run[len(end) :]
    if grouped := _GROUPED.fullmatch(end):
        digits = re.sub(r"\D", "", end[: grouped.start(2)] if grouped[2] else end)
        return digits + (grouped[2] or "").replace(",", ".") + tail
    integer, comma, decimals = end.partition(",")
    if not comma or not (integer + decimals).isdigit():
        return run
    if len(decimals) == 3 and integer != "0" and len(integer) <= 3:
        return end + tail if decimals == "000" else f"{integer},,{decimals}{tail}"
    return f"{integer}.{decimals}{tail}"


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
#: English word -> its number, for numbers of one word below a hundred.
SMALL_NUMBERS = {word: i for i, word in enumerate(f"{_ONES} seventeen eighteen nineteen".split())}
SMALL_NUMBERS |= {word: 10 * i for i, word in enumerate(_TENS.split(), 2)}
_LARGE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_WORD = "|".join(sorted([*SMALL_NUMBERS, *_LARGE], key=len, reverse=True))
_WORD_RUN = re.compile(
    rf"(?<![\w-])(?P<minus>minus |negative )?(?P<words>(?:{_WORD})(?:(?:\s|-|,\s|\sand\s)(?:{_WORD}))*)(?![\w-])",
    re.IGNORECASE,
)


#: Words that make another number of one beside them: "two thirds", "five and a half".
_PART = re.compile(r"\b(?:half|halves|thirds?|quarters?|fifths?|tenths?|dozens?|twice)\b", re.IGNORECASE)


def parse_words(text: str) -> Fraction | None:
    """Return the only number that a text without digits has in English words; None when it has none or several.

    >>> parse_words("five hundred fifty-five dollars"), parse_words("the second one"), parse_words("two or three")
    (Fraction(555, 1), None, None)
    """
    runs = list(_WORD_RUN.finditer(text))
    if _PART.search(text) or len(runs) != 1 or (runs[0]["words"].lower() == "one" and runs[0].start() > 2):
        return None
    total = group = last = 0
    for word in re.findall(_WORD, runs[0]["words"].lower()):
        value = SMALL_NUMBERS.get(word) or _LARGE.get(word, 0)
        if word in SMALL_NUMBERS:
            if last and not (last >= 100 or (20 <= last < 100 and 0 < value < 10)):
                return None  # "two three", "twenty thirty"
            group += value
        elif word == "hundred":
            group = (group or 1) * 100
        else:
            total, group = total + (group or 1) * value, 0
        last = value or -1
    return Fraction(-(total + group) if runs[0]["minus"] else total + group)
