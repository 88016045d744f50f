"""Find the numbers in a text, in digits of any script or in LaTeX, and write them in canonical form.

The canonical form is an integer or a finite decimal without trailing zeros, else a fraction in lowest terms.

A number is written as digits with thousands commas, a sign, a currency before, a unit after, `3/4`, `2 1/2`, `1.5e3`,
`3 x 10^4`, `5 million`, `5万`, or a LaTeX fraction. Digits glued to a Latin word before them (GPT4, Q2, COVID-19) and
ordinals (4th) are skipped. Some numbers cannot be read: times, dates, versions and ratios (10:30, 2024-01-05, 1.2.3),
digits in another grouping (1,5 or 70 000, unless the language groups them so), powers, roots and variables (2^5, 3x),
parts of an expression (R + 6), 10k, bounds (more than 5, 18+).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

__all__ = [
    "LONGEST",
    "Number",
    "convert_decimal_commas",
    "find_last_numbers",
    "find_numbers",
    "format_number",
    "parse_single_number",
    "rewrite_numerals",
]

#: Longest number that is read, in characters, and largest exponent; what exceeds them is no number.
LONGEST = 60
LARGEST_EXPONENT = 60
_TRAILING = ".,:/–—-"

#: The last character that may be a digit: a search of all of Unicode takes a tenth of a second of each command.
_LAST_DIGIT = 0x1FFFF

_CHARACTERS: dict[int, str] = {
    **{code: str(unicodedata.decimal(chr(code))) for code in range(128, _LAST_DIGIT + 1) if chr(code).isdecimal()},
    **{ord(wide): ascii_form for wide, ascii_form in zip("＋－．，％＄／：−﹣٫٬،＝", "+-.,%$/:--.,,=", strict=True)},
    **{ord(half): f" {a}/{b}" for half, a, b in zip("½¼¾⅓⅔⅛", "113121", "244338", strict=True)},
    0x00A0: " ",
    0x2009: " ",
    0x202F: ",",  # the narrow space that groups thousands
}
_REPLACED = re.compile(f"[{re.escape(''.join(map(chr, _CHARACTERS)))}]")
_PART = r"(?:\{\s{0,2}(-?\d{1,20})\s{0,2}\}|\s?(\d))"
_FRACTION = re.compile(rf"((?<=\d))?[ ]?\\[dtc]?frac\s{{0,2}}{_PART}\s{{0,2}}{_PART}")


def _write_fraction(match: re.Match[str]) -> str:
    """Return a LaTeX fraction as a/b, after a space where it follows an integer."""
    space = " " if match[1] is not None else match[0][: match[0].index("\\")]
    return f"{space}{match[2] or match[3]}/{match[4] or match[5]}"


_UNIT = r"units?|inch(?:es)?|in|ft|feet|foot|yd|yards?|mi|miles?|[kcmd]?m|met(?:er|re)s?|centimet(?:er|re)s?|sec|s"
# What each rewrite needs, of which one must be in the text, its pattern and its replacement.
_REWRITES: list[tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    ("<", re.compile(r"<<[^<>\n]{0,200}>>"), ""),  # GSM8K's notes for a calculator: <<9*2=18>>
    ("{\\", re.compile(r"\{,\}|,?\\[,!](?=\d{3})"), ","),
    ("^\\", re.compile(r"\s?\^\s?\{?\s?\\circ\b\s?\}?|\\degree\b"), ""),
    (
        "^",
        re.compile(rf"((?<=[\s{{])(?:{_UNIT})|(?<=\d)(?:[kcmd]m|ft|in))\s?\}}?\s?\^\s?(?:[23]\b|\{{[23]\}})"),
        r"\1 ",
    ),
    ("\\~%", re.compile(r"\\[!;, ]|~|\\?%|\\(?:left|right|quad|displaystyle)\b"), " "),
    ("\\", _FRACTION, _write_fraction),
    ("^", re.compile(r"(?<=\d)[ ]?(?:x|×|\*|\\times|\\cdot)[ ]?10[ ]?\^[ ]?\{?([-+]?\d{1,4})\}?"), r"e\1"),
    ("\\{}", re.compile(r"\\(?:text(?:bf|it|rm)?|mathrm|mathbf|mbox)\s{0,2}\{|\\[()\[\]]|[{}]"), " "),
    ("/", re.compile(r"(?<=\d)[ ]?/[ ]?(?=\d)"), "/"),
    ("_", re.compile(r"(?<!\w)_{1,3}(?=[\d$-])|(?<=\d)_{1,3}(?!\w)"), ""),
    ("*", re.compile(r"\*\*"), ""),
]
# The apostrophe that groups thousands: 1'234'567.
_SWISS = re.compile(r"(?<=\d)['’](?=\d{3}(?!\d))")
# "4 degrees below zero", and millions with spaces, which are no list of numbers: 1 250 000.
_BELOW_ZERO = re.compile(
    r"(?<![-\d.,])(\d+(?:\.\d+)?)(\s?(?:°\s?[CF]?|degrees?(?:\s(?:celsius|fahrenheit|[CF]))?)?)\s+below zero\b",
    re.IGNORECASE,
)
_SPACED = re.compile(r"(?<![\d.,])(?<![\d.,] )\d{1,3}(?: \d{3})+ 000(?![\d.,]*\d)(?! \d)")
# The search for any of these characters, and that for the characters replaced, saves most of the rewrites.
_REWRITTEN = re.compile(r"[\\{}~%_<*/^]")
# Scripts whose words are not separated by spaces, or whose numbers have suffixes. They are no part of a number.
_SCRIPT = "\u0590-\u07ff\u0900-\u10ff\u1780-\u17ff\u2e80-\u3000\u3003-\ud7ff\uf900-\ufaff\uff61-\uffef"
_GLUED = re.compile(rf"(?<=[{_SCRIPT}])(?=[\d$€£¥+-])|(?<=\d)(?=[{_SCRIPT}])")
_SCRIPTS = re.compile(f"[{_SCRIPT}]")

_SCALES: dict[str, int] = {
    word: 10**power
    for power, words in (
        (2, "hundred"),
        (3, "thousand тысяч тысячи тысяча тыс Tausend mille mil mila ألف آلاف হাজার हजार हज़ार వేల వేలు"),
        (5, "lakh lakhs লাখ লক্ষ लाख లక్షల లక్షలు"),
        (6, "million миллион миллиона миллионов млн Million Millionen millions millón millones milioni milione"),
        (6, "milhão milhões مليون ملايين"),
        (7, "crore crores কোটি करोड़ కోట్ల"),
        (9, "billion milliard milliards Milliarde Milliarden"),
        (12, "trillion"),
    )
    for word in words.split()
}
_SCALES_GLUED: dict[str, int] = {
    word: 10**power
    for power, words in (
        (2, "百 백"),
        (3, "千 천 พัน"),
        (4, "万 萬 만 หมื่น"),
        (5, "แสน"),
        (6, "ล้าน"),
        (8, "亿 億 억"),
    )
    for word in words.split()
}
_ALL_SCALES = _SCALES | _SCALES_GLUED
_SCALE_STARTS = "".join(sorted({scale[0] for scale in _ALL_SCALES}))
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
        (?: [ ] (?=[{_SCALE_STARTS}])
            (?P<scale> (?:{"|".join(_SCALES)})(?!\w) | (?:{"|".join(_SCALES_GLUED)})(?![克米分瓦]) ) )?
      )
    """,
    re.VERBOSE,
)
_PLAIN = re.compile(r"(?=[\d.])([1-9]\d{0,2}(?:,\d{3})+|[1-9]\d?(?:,\d\d)+,\d{3}|\d*)(\.\d+)?(?:[eE]([-+]?\d{1,4}))?")
_ORDINALS = {"st", "nd", "rd", "th"}
# Letters glued to a number: of these, one or two are units; others change its value (3x, 5C2, 10k).
_SHORT_UNITS = {
    *"gmshlLCFVWdp",
    "kg",
    "km",
    "cm",
    "mm",
    "mg",
    "ml",
    "mL",
    "dL",
    "cl",
    "lb",
    "oz",
    "ft",
    "in",
    "yd",
    "mi",
}
_SHORT_UNITS |= {"hr", "am", "pm", "AM", "PM", "kW", "GB", "MB", "KB", "Hz", "mA", "kJ", "cc", "ct"}
#: Letters after an amount of money: $150k.
_AMOUNTS = {"k": 1000, "K": 1000, "m": 10**6, "M": 10**6, "mn": 10**6, "bn": 10**9, "B": 10**9}
_NOT_UNITS = {"bn", "mn", "π", *_SCALES}

# Text before or after a number that changes its value or leaves it open.
_OPEN_BEFORE = re.compile(
    r"(?:\bthan|\bat (?:least|most)|\bup to|[<>≤≥^√]|\b(?:sqrt|log)\("
    r"|\\(?:sqrt|leq?|geq?|g?log|ln|sin|cos|tan|exp|binom)\b)\s{0,3}$"
    r"|\\(?:[dtc]?frac|pi)\D{0,8}$"
    r"|(?:(?<![A-Za-z])[A-Za-z]|[)\]])[ ]?[-−][ ]$|(?:[A-Za-z)\]](?:[ ][+*×·][ ]|[+×·]))$",
    re.IGNORECASE,
)
#: Ends of the text before a number, one of which it has where `_OPEN_BEFORE` or `_WORD_MINUS` match; or it has LaTeX.
_OPEN_ENDS = ("than", "least", "most", "to", *"<>≤≥^√(-−+*×·")
_WORD_MINUS = re.compile(r"[+=*(].*[A-Za-z][ ][-−][ ]$")
_OPEN_AFTER = re.compile(
    r"[ ]?(?:\^|!(?=\s*[-+*/=$)}])|and (?:a|one|three)[ -](?:half|third|quarter)|\\?pi\b|[π√]|\\sqrt|sqrt\b"
    r"|\+(?!\s*[\d$(])|or (?:more|fewer|less)\b"
    r"|(?:[+*/×·÷]|\\cdot|\\times)[ ]?(?:[A-Za-z](?![A-Za-z])|\\[a-z]|\()"
    r"|[-−][ ]?(?:[b-zB-HJ-Z](?![A-Za-z'’])|\\[a-z]))"
)
_NEGATIVE = re.compile(r"\b(?:negative|minus)\s{1,3}$", re.IGNORECASE)


class Number:
    """A number at its place in a rewritten text.

    Its value is computed when it is asked for, because of most texts only the last number counts.
    """

    __slots__ = ("_run", "_text", "_token", "end", "start")

    def __init__(self, text: str, token: re.Match[str], run: str) -> None:
        self._text, self._token, self._run = text, token, run
        self.start = token.start()
        self.end = token.end() if run == token["run"] else token.start("run") + len(run)

    @property
    def value(self) -> Fraction | None:
        """Return the value; None when it cannot be read."""
        return _parse_number(self._text, self._token, self._run, self.end)


def rewrite_numerals(text: str) -> str:
    r"""Return a text with its numbers in ASCII digits and without LaTeX and markup.

    >>> rewrite_numerals("答案是１，２００元"), rewrite_numerals(r"$\frac34$"), rewrite_numerals("18 cm^2")
    ('答案是 1,200 元', '$3/4$', '18 cm ')
    """
    if not text.isascii():
        if _REPLACED.search(text):
            text = text.translate(_CHARACTERS)
        if _SCRIPTS.search(text):
            text = _GLUED.sub(" ", text)
        text = text.replace("°", "")
    if "below zero" in text:
        text = _BELOW_ZERO.sub(r"-\1\2", text)
    if " 000" in text:
        text = _SPACED.sub(lambda match: match[0].replace(" ", ","), text)
    if "'" in text or "’" in text:
        text = _SWISS.sub(",", text)
    if _REWRITTEN.search(text):
        for needed, pattern, replacement in _REWRITES:
            if any(character in text for character in needed):
                text = pattern.sub(replacement, text)
    return text


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
        integer = end[: grouped.start(2)] if grouped[2] else end
        digits = re.sub(r"\D", "", integer)
        return digits + (grouped[2] or "").replace(",", ".") + tail
    if re.fullmatch(r"\d+,\d+", end):
        integer, _, decimals = end.partition(",")
        if len(decimals) == 3 and integer != "0" and len(integer) <= 3:
            return end + tail if decimals == "000" else f"{integer},,{decimals}{tail}"
        return f"{integer}.{decimals}{tail}"
    return run


def find_numbers(text: str) -> Iterator[Number]:
    """Yield the numbers of a rewritten text, also those that cannot be read."""
    return _yield_numbers(text, _TOKEN.finditer(text))


def find_last_numbers(text: str, count: int) -> list[Number]:
    """Return the last `count` numbers of a rewritten text, or fewer where ordinals are among them."""
    tokens = [token for token in _TOKEN.finditer(text) if token["run"] is not None]
    return list(_yield_numbers(text, tokens[-count:]))


def _yield_numbers(text: str, tokens: Iterable[re.Match[str]]) -> Iterator[Number]:
    """Yield the numbers of tokens."""
    for token in tokens:
        if (written := token["run"]) is not None:
            run = written.rstrip(_TRAILING)
            if run != written or not _is_ordinal(run, token["after"]):
                yield Number(text, token, run)


def parse_single_number(text: str) -> Fraction | None:
    """Return the value of a rewritten text that is one number and nothing else; otherwise None."""
    token = _TOKEN.fullmatch(text)
    if token is None or not token["number"] or token["after"]:
        return None
    number = Number(text, token, token["run"].rstrip(_TRAILING))
    return None if number.end != len(text) else number.value


def _is_ordinal(run: str, after: str | None) -> bool:
    """Return whether letters glued to a number make it an ordinal."""
    return after is not None and after.lower() in _ORDINALS and "/" not in run


def _parse_number(text: str, token: re.Match[str], run: str, end: int) -> Fraction | None:
    """Return the value of one token, whose digits are `run` and which ends at `end`; None when it cannot be read."""
    is_complete = run == token["run"]
    after = token["after"] if is_complete else None
    start = token.start()
    value = _parse_digits(run)
    if value is not None and after in _AMOUNTS and token["currency"]:
        value, after = value * _AMOUNTS[after], None
    if (after and _changes_value(after)) or _OPEN_AFTER.match(text, end) or _is_open_before(text, start):
        return None
    if value is not None and token["integer"]:
        value = value + int(token["integer"]) if value < 1 else None
    if value is None:
        return None
    if is_complete and (scale := token["scale"]):
        if scale in _SCALES_GLUED and text[end : end + 2].lstrip()[:1].isdigit():
            return None  # 1万2000
        value *= _ALL_SCALES[scale]
    is_negated = text[start - 1 : start].isspace() and _NEGATIVE.search(text, max(0, start - 20), start) is not None
    return -value if (token["sign"] == "-") ^ (token["inner"] == "-") ^ is_negated else value


def _is_open_before(text: str, start: int) -> bool:
    """Return whether the text before a number makes it a bound, a root or a part of an expression."""
    before = text[max(0, start - 20) : start]
    if "\\" not in before and not before.casefold().rstrip().endswith(_OPEN_ENDS):
        return False
    if _OPEN_BEFORE.search(text, max(0, start - 20), start):
        return True
    has_minus = text[max(0, start - 2) : start] in {"- ", "− "}
    return has_minus and _WORD_MINUS.search(text, max(0, start - 100), start) is not None


def _changes_value(after: str) -> bool:
    """Return whether letters glued to a number are a variable or a multiplier, and no unit."""
    if after in _NOT_UNITS or not after[0].isalpha():
        return True
    return after.isascii() and (not after.isalpha() or (len(after) <= 2 and after not in _SHORT_UNITS))


def _parse_digits(run: str) -> Fraction | None:
    """Return the exact value of digits with commas, a point, an exponent, or one slash; None for anything else."""
    if len(run) > LONGEST:
        return None
    if run.isdecimal():
        return Fraction(int(run))
    parts = [_PLAIN.fullmatch(part) for part in run.split("/")]
    if len(parts) > 2:
        return None
    values = []
    for part in parts:
        if part is None or abs(exponent := int(part[3] or 0)) > LARGEST_EXPONENT:
            return None
        decimals = (part[2] or "")[1:]
        exponent -= len(decimals)
        digits = int(f"{part[1].replace(',', '')}{decimals}")
        values.append(Fraction(digits * 10**exponent) if exponent >= 0 else Fraction(digits, 10**-exponent))
    if len(values) == 1:
        return values[0]
    return values[0] / values[1] if values[1] else None


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
