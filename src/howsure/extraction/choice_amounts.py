"""Find the choice whose amount a completion gives: "The answer is 120.", "so four isomers", "= 2.02 × 10^30 kg".

An amount is one number with a unit. It is a choice if exactly one choice has its value, and their units agree or one of
them has none. The result of a calculation may be rounded: it is the choice that is nearer than `NEAREST` to it, where
no other one is nearer than `NEXT`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from howsure.extraction.number_words import parse_words
from howsure.extraction.numerals import parse_single_number, rewrite_numerals
from howsure.extraction.vocabulary import Vocabulary

__all__ = ["find_final_result", "find_stated_amount", "match_amount", "match_result"]

#: Most words of a sentence that is read as an amount, and longest amount in characters.
MOST_AMOUNT_WORDS, LONGEST_AMOUNT = 14, 60
#: Largest relative distance of a rounded result to its choice, and least one to any other.
NEAREST, NEXT = Fraction(15, 1000), Fraction(15, 100)

_LAST_SENTENCE = re.compile(r"^.*[a-z)][.!]\s+(?=[A-Z])", re.DOTALL)
_NUMERAL = re.compile(r"\s*\d{1,2}[.)]\s*")
_CLAUSE = re.compile(r"\b(?:so|thus|therefore|hence)\b,?", re.IGNORECASE)
_VERB = r"(?:is|are|equals|have|has|get|gets|gives|makes|becomes|recovers?)"
# "Three signals.", "The probability is 50%.", "we have four".
_SENTENCE = re.compile(
    rf"\W*(?:(?:the|it|this|that|there|we|you)\b[^.\d]{{0,80}}\s{_VERB}\s+)?"
    r"(?:(?:therefore|thus|then|about|approximately|roughly|exactly|only|just|a|an|in\s+total)\s+)*(?P<amount>[^,;:]{1,60})",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"[≈~=\s]*(?P<currency>[$€£])?\s?(?P<number>-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?:/[1-9]\d*)?)(?![\d.,/])\s*(?P<unit>[^\d]{0,30}(?:\d?))"
)
_IN_WORDS = re.compile(r"(?P<number>[a-z]+(?:-[a-z]+)?)(?P<unit>(?:\s[a-z]{3,15}){0,3})", re.IGNORECASE)
_UNIT_NAMES = """v: volt; a: ampere amp; w: watt; j: joule; n: newton; hz: hertz; pa: pascal; ω: ohm; m: metre meter
km: kilometre kilometer; cm: centimetre centimeter; mm: millimetre millimeter; nm: nanometre nanometer; kg: kilogram
g: gram; mg: milligram; s: second sec; min: minute; h: hour hr; m/s: metrespersecond meterspersecond; k: kelvin
ev: electronvolt; mol: mole; l: litre liter; °c: degreescelsius c; %: percent; $: dollar usd; €: euro; °: degree"""
#: Name of a unit -> its short form.
_UNITS = {
    name: entry.partition(":")[0]
    for entry in _UNIT_NAMES.replace("\n", "; ").split("; ")
    for name in entry.partition(": ")[2].split()
}
_PERCENT = re.compile(r"\\?%")
_COUNT_NOUN = re.compile(r"(?:\s?[a-z]{3,15}){1,3}")


# The end of an equation, and signs of LaTeX around it.
LONGEST_TAIL = 160
_LATEX_TEXT = re.compile(r"\\(?:text|mathrm|textbf|mathbf)\s*\{([^{}]*)\}")
_LATEX_SPACE = re.compile(r"\\[,;!:\[\]()]|\$|\*\*|\\(?=\s)")
_RESULT = re.compile(r"(?P<number>-?\d[\d,]*(?:\.\d+)?(?:/\d+)?)\s?(?:%|°?[A-Za-z]{1,8}(?:/[a-z]{1,4})?)?")
_CHECKS = re.compile(r"\b(?:check|verify|verification|if|test|option|choice|[A-Z][:)])\b", re.IGNORECASE)

_NOUN = re.compile(r"[^\W\d_]{4,}")
# "How many optical isomers does it have?"
_QUESTION_COUNT = re.compile(
    r"\b(?:how many|number of)(?P<nouns>(?:\s(?!(?:do|does|did|are|is|can|will|has|have|in|of|for)\b)[\w-]+){1,5})",
    re.IGNORECASE,
)


class _Amount(NamedTuple):
    """A number with its unit in short form; empty if it has none."""

    value: Fraction
    unit: str


def match_amount(text: str, words: Vocabulary) -> int | None:
    """Return the index of the only choice with the amount that a text is; None if there is none, or several.

    >>> from howsure.extraction.vocabulary import build_vocabulary
    >>> words = build_vocabulary(("A", "B"), ("120 V", "12 V"))
    >>> match_amount("120 volts", words), match_amount("12", words), match_amount("12 kV", words)
    (0, 1, None)
    """
    amount = _parse_amount(text) if len(text) <= LONGEST_AMOUNT else None
    if amount is None or words.labels.has_digits:
        return None
    choices = _parse_choices(tuple(words.folded))
    if amount.unit == "%" and not any(choice is not None and choice.unit == "%" for choice in choices):
        amount = _Amount(amount.value / 100, "")
    places = [
        place
        for place, choice in enumerate(choices)
        if choice is not None and choice.value == amount.value and _agree(amount.unit, choice.unit)
    ]
    return places[0] if len(places) == 1 else None


def match_result(text: str, words: Vocabulary) -> int | None:
    """Return the index of the choice that the result of a calculation is, perhaps rounded; None if there is none.

    >>> from howsure.extraction.vocabulary import build_vocabulary
    >>> words = build_vocabulary(("A", "B"), ("2 × 10^30 kg", "2 × 10^29 kg"))
    >>> match_result("2.02 × 10^30 kg", words), match_result("2.2 × 10^30 kg", words)
    (0, None)
    """
    place = match_amount(text, words)
    if place is not None or words.labels.has_digits or len(text) > LONGEST_AMOUNT:
        return place
    amount, choices = _parse_amount(text), _parse_choices(tuple(words.folded))
    if amount is None or not amount.value or None in choices or not amount.unit:
        return None
    distances = sorted(
        (abs(choice.value - amount.value) / abs(amount.value), place, choice.unit)
        for place, choice in enumerate(choices)
        if choice is not None
    )
    is_near = distances[0][0] <= NEAREST and all(distance > NEXT for distance, *_ in distances[1:])
    return distances[0][1] if is_near and distances[0][2] == amount.unit else None


def find_stated_amount(line: str, words: Vocabulary, question: str = "") -> int | None:
    """Return the choice that is the amount of the last sentence, which may be in words: "Three signals.".

    What the sentence counts must be what the question asks for: "The molecule has 6 carbon atoms" gives no number of
    isomers.
    """
    sentence = _LAST_SENTENCE.sub("", line).rstrip(" .!*_)\"'")
    if (
        words.labels.has_digits
        or len(sentence.split()) > MOST_AMOUNT_WORDS
        or "?" in sentence
        or _NUMERAL.fullmatch(line)
    ):
        return None
    clause = _CLAUSE.split(sentence)[-1]
    match = _SENTENCE.fullmatch(clause)
    place = None if match is None else match_amount(match["amount"].strip(" *_$\\()"), words)
    if place is None or match is None:
        return None
    choice = _parse_choices(tuple(words.folded))[place]
    has_unit = choice is not None and bool(choice.unit)
    return place if has_unit or _matches_question(match["amount"], question) else None


def find_final_result(text: str, words: Vocabulary) -> int | None:
    r"""Return the choice that is the result of the equation with which a text ends; None if there is none.

    >>> from howsure.extraction.vocabulary import build_vocabulary
    >>> words = build_vocabulary(("A", "B"), ("50", "60"))
    >>> find_final_result("Speed = 150 / 2.5 = 60 km/h", words), find_final_result("60 = 2 x 30", words)
    (1, None)
    """
    tail = text[-LONGEST_TAIL:]
    if "=" not in tail or words.labels.has_digits:
        return None
    line, _, result = tail.rpartition("=")
    result = " ".join(_LATEX_SPACE.sub(" ", _LATEX_TEXT.sub(r"\1", result)).split()).rstrip(" .$*_")
    left = line.rpartition("\n")[2]
    if (
        _CHECKS.search(left)
        or words.labels.exact_index(left.strip()) is not None
        or not (amount := _RESULT.fullmatch(result))
    ):
        return None
    choices = _parse_choices(tuple(words.folded))
    has_units = any(choice is None or choice.unit for choice in choices)
    return match_result(result if has_units else amount["number"], words)


def _matches_question(amount: str, question: str) -> bool:
    """Return whether the nouns of an amount are in what a question counts; true where one of both has none."""
    count = _QUESTION_COUNT.search(question)
    words = {word.removesuffix("s") for word in _NOUN.findall(amount.lower()) if parse_words(word) is None}
    scope = (count["nouns"] if count else question).lower()
    return not words or not scope.strip() or any(word in scope or _shares_end(word, scope) for word in words)


def _shares_end(word: str, scope: str) -> bool:
    """Return whether a word ends with a word of a text: "stereoisomer" where a question asks for isomers."""
    return any(word.endswith(noun.removesuffix("s")) for noun in _NOUN.findall(scope))


@lru_cache(maxsize=1024)
def _parse_choices(choices: tuple[str, ...]) -> tuple[_Amount | None, ...]:
    """Return the amounts of choices in lower case; None for those that are no amounts."""
    return tuple(_parse_amount(choice) for choice in choices)


@lru_cache(maxsize=4096)
def _parse_amount(text: str) -> _Amount | None:
    """Return the amount that a text is as a whole, in digits or in words; None if it is none."""
    plain = " ".join(rewrite_numerals(_PERCENT.sub(" percent", text)).split()).rstrip(" .$")
    plain = plain.lstrip(" $") if text.count("$") > 1 else plain
    match = _AMOUNT.fullmatch(plain)
    if match is not None:
        value = parse_single_number(match["number"])
        unit = match["currency"] or match["unit"]
        return None if value is None else _Amount(value, _shorten_unit(unit))
    in_words = _IN_WORDS.fullmatch(plain)
    value = parse_words(in_words["number"], alone=True) if in_words else None
    return None if value is None or in_words is None else _Amount(value, _shorten_unit(in_words["unit"]))


def _shorten_unit(unit: str) -> str:
    """Return a unit in lower case, without spaces, and in short form where it has one."""
    folded = unit.casefold().strip(" .*_")
    joined = re.sub(r"[\s^·*]", "", folded)
    singular = joined[:-1] if len(joined) > 3 and joined.endswith("s") else joined
    return _UNITS.get(
        joined, _UNITS.get(singular, folded if _COUNT_NOUN.fullmatch(folded) and " " in folded else singular)
    )


def _agree(unit: str, other: str) -> bool:
    """Return whether two units are one, or one of them is absent; a word may stand for what a choice counts."""
    return unit == other or not unit or (not other and _COUNT_NOUN.fullmatch(unit) is not None)
