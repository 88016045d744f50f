"""Remove what follows the answer of a calculation, where it cannot be what the question asks for.

A clause behind a number is mostly the answer itself: "He spends $20, leaving him with $30", "It is sold for $150, a
profit of $30". It is removed only with a proof in the question and the numbers, and never without a question:

- the number before it in another unit, of equal amount: "350 grams (0.35 kg)", "2.5 hours, or 2 hours and 30 minutes";
- a reason that computes a number of the question: "9 years old, because 9 + 4 = 13";
- a total that the question gives, behind what each has: "each gets 5, 15 in all";
- a difference, or a sentence about something else, behind a statement of what is asked for by its name: "The perimeter
  is 40 meters. Its area, by the way, would be 96";
- a temperature on a scale that is not asked for, a number that is denied or only near, and a sentence that only
  supposes something: "100 °C (212 °F)", "in 5 minutes, not 100 minutes", "He has $64 left. If he liked, he could buy 8
  games";
- the same statement about other people than the one that is asked for: "Bob reads 18, Ann reads 12".
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

__all__ = ["remove_remarks"]

#: How much of the end of a text is searched, in characters.
WINDOW = 400
#: Largest relative distance of an amount to the same in another unit, which may be rounded.
ROUNDED = Fraction(1, 100)
_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
_SENTENCE_END = re.compile(r"(?<=[a-z%)\]*\d])[.!]\s+(?=[\"(*A-Z])|\n")
#: Characters at the end of a text that are searched for its last sentence first.
_NEAR = 200
_QUESTION_END = re.compile(r"(?<=[.!?])\s+")

_UNIT_SIZES = """1 second seconds sec s; 60 minute minutes min; 3600 hour hours hr hrs h; 86400 day days
1 mm millimeter millimeters millimetre millimetres; 10 cm centimeter centimeters centimetre centimetres
1000 m meter meters metre metres; 1000000 km kilometer kilometers kilometre kilometres
1 mg milligram milligrams; 1000 g gram grams; 1000000 kg kilogram kilograms; 1 ml milliliter milliliters millilitre
millilitres; 1000 l liter liters litre litres; 1 cent cents; 100 dollar dollars; 127/5 inch inches
1524/5 foot feet ft; 4572/5 yard yards; 1609344 mile miles mi; 45359237/100 pound pounds lb lbs
45359237/1600 ounce ounces oz"""
_DIMENSIONS = ("second minute hour day", "mm cm m km inch foot yard mile", "mg g kg pound ounce", "ml l", "cent dollar")


class _Unit(NamedTuple):
    """A unit: its first name, its dimension, and its size in the smallest unit of the dimension."""

    name: str
    dimension: str
    size: Fraction


def _build_units() -> dict[str, _Unit]:
    """Return the units by each of their names."""
    units: dict[str, _Unit] = {}
    for entry in re.split(r";\s|\n(?=\d)", _UNIT_SIZES):
        size, first, *others = entry.split()
        dimension = next(names for names in _DIMENSIONS if first in names.split())
        units |= dict.fromkeys((first, *others), _Unit(first, dimension, Fraction(size)))
    return units


_UNITS = _build_units()
_PERCENT, _FRACTION = _Unit("percent", "share", Fraction(1, 100)), _Unit("fraction", "share", Fraction(1))
_SHARES = {"%": _PERCENT, "percent": _PERCENT, "percentage": _PERCENT, "": _FRACTION, "fraction": _FRACTION}
_UNIT_NAMES = "|".join(sorted(_UNITS, key=len, reverse=True))
_AMOUNT = rf"(?:\d[\d,]*(?:\.\d+)?\s?(?:(?:{_UNIT_NAMES})\b|%)|\d+/\d+)"
_ONE_AMOUNT = re.compile(rf"(?P<number>[\d.,/]*\d)\s?(?P<unit>{_UNIT_NAMES}|%|)(?![\w/])")
_OR = r"(?:or|i\.e\.,?|that is,?)\s(?:about\s|approximately\s|roughly\s|around\s)?"
# "350 grams (0.35 kg)", "2.5 hours, or 2 hours and 30 minutes"
_SAME_AMOUNT = re.compile(
    rf"(?<![\w.,/])(?P<first>{_AMOUNT})(?P<mark>[*_]{{0,2}})(?P<other>,?\s{_OR}(?P<plain>{_AMOUNT}(?:,?\s(?:and\s)?{_AMOUNT}){{0,2}})"
    rf"|\s\((?:or\s|about\s|approximately\s|=\s?|≈\s?)?(?P<inside>{_AMOUNT}(?:,?\s(?:and\s)?{_AMOUNT}){{0,2}})\))"
)
# "100 °C (212 °F)"
_TEMPERATURES = re.compile(
    r"\d[\s*]*°\s?(?P<first>[CF])\b\**(?P<bracket>\s\([^()]*\d\s?°\s?(?P<other>[CF])\))", re.IGNORECASE
)
_SCALE = re.compile(r"\bcelsius\b|\bfahrenheit\b|(?<=°)[CF]\b|(?<=°\s)[CF]\b", re.IGNORECASE)
# "in the same 5 minutes, not 100 minutes", "1,024, which is roughly 10^3", and "If he liked, he could buy 8 games."
_COMPARED = re.compile(
    r",\s(?:and\s)?not\s\W{0,3}\d[^,;=]*$"
    r"|(?<=\d),\swhich is (?:roughly|about|approximately|nearly|close to)\s[\d^,.]+$",
    re.IGNORECASE,
)
# "26 (16 from the dogs and 10 from the birds)"
_PLAIN_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_ADDENDS = re.compile(
    r"(?P<sum>\d+(?:,\d{3})*(?:\.\d+)?)(?: [a-z]+)?(?P<bracket>\s\((?P<parts>[^()=]*\d[^()=]*)\)[\s.*]*)$",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(r"\b(?:would|could|suppose|instead)\b", re.IGNORECASE)
_HYPOTHETICAL = re.compile(
    r"(?:(?:If|Had) (?:he|she|they|you|we|it|one|there)|With an?|Without)\b[^.]*"
    r"(?:\b(?:would|could|might)\b|['’]d\b)(?![^.]*\b(?:answer|total|result)\b)",
    re.IGNORECASE,
)
# "58 vehicles, of which 54 were cars and 4 were lorries."
_PARTS = re.compile(
    r",\s(?:of (?:which|whom)|including|made up of"
    r"|with(?=\s\d[\d,.]*\s\w+\s(?:remaining|left|empty|unused|to spare)))\s(?P<parts>[^.!?,\n]*\d[^.!?,\n]*)[\s.!*]*$",
    re.IGNORECASE,
)
_NOUN = re.compile(r"[^\W\d_]{4,}")
# "**Key takeaway:** ...", the last paragraph of an explanation.
_CLOSING = re.compile(
    r"\n\s*[*_#>]{0,4}\s?(?:(?:key|main)\s)?(?:takeaways?|tips?|fun fact|pro tip|remember)[*_]{0,2}\s?:"
    r"[^\n]*\s*\Z",
    re.IGNORECASE,
)
# "because 9 + 4 = 13" at the end of a sentence; "so 3 parts x 6 m = 18 m" and "15 in all" behind what each has.
_REASON = re.compile(
    r",?\s(?:because|since)\s(?P<left>[^=,;]*\d[^=,;]*)=\s?(?P<right>[^=,;]*\d[^=,;]*)$", re.IGNORECASE
)
_TOTAL = re.compile(
    r",\s(?:so\s(?P<left>[^=,;]*\d[^=,;]*[*x×][^=,;]*)=\s?(?P<right>[^=,;]*\d[^=,;]*)"
    r"|(?P<sum>\$?\d[\d.,]*)\s(?:in all|in total|altogether))$",
    re.IGNORECASE,
)
_EACH = re.compile(r"\beach\b", re.IGNORECASE)
_EACH_HAS = re.compile(r"\beach\b[^\d,;]*\d[^,;]*$", re.IGNORECASE)
# A question that names what it asks for and no circumstance of it: "What is the sale price?", "What does it cost?".
_ASKS_BY_NAME = re.compile(
    r"(?:so )?what(?:['’]s| is| was| will be) (?:the|its|his|her|their|my) (?P<name>[a-z]+(?: [a-z]+){0,2}?)"
    r"(?: of (?:the|this|a) [a-z]+)?\?"
    r"|(?:what|how much) (?:does|did|will) (?:it|(?:the|a) [a-z]+) (?P<cost>cost)\?",
    re.IGNORECASE,
)
_STATES = r"\b[^\d.;,]{0,40}(?:\b(?:is|was|will be)\b|=|:)"
_DIFFERENCE = re.compile(
    r",\san?\s(?:saving|savings|discount|profit|loss|gain|increase|decrease|drop|difference)\sof\s\W{0,3}\d[\d.,]*%?"
    r"(?:\s[a-z]+)?(?:\s(?:from|over|on|off|compared (?:to|with))\s(?:(?!\bto\b)[^,;=])*)?$",
    re.IGNORECASE,
)
# "Its area, by the way, would be 96", but not "By the way, I forgot one, so it is 97".
_BESIDE = re.compile(
    r"(?=.*\b(?:by the way|incidentally|for comparison|for reference|as an aside)\b)"
    r"(?!.*\b(?:so|but|forgot|actually)\b)"
    r".*\b(?:the|its|his|her|their)\s[a-z]+(?:\sof\s[a-z ]+)?(?:,[^,]*,)?\s(?:is|was|would|will|has|had)\b",
    re.IGNORECASE,
)
# A last line in brackets: "(With compound interest it would be $1,102.50.)".
_LINE_IN_BRACKETS = re.compile(
    r"\n\s*\((?:with|without|if|had)\b[^()\n]*(?:\bwould|['’]d)\b[^()\n]*\)[\s.]*$", re.IGNORECASE
)
# "How many books does Bob read?", "Quantos anos tem Luísa?", and "Bob reads 18", "Luísa tem 15 anos", "Ana 16".
_NAME = "[A-ZÀ-ÝА-Я][a-zà-ÿа-я]{1,15}"
_ASKS_OF_ONE = re.compile(
    r"(?i:how many|how much|how old|quantos|quantas|cuántos|cuántas)\b(?! (?:more|fewer|less)\b)"
    r"[^?A-ZÀ-ÝА-Я]*\b(?:does|did|do|has|had|is|was|will|can|tem|tinha|tiene|tenía)\s"
    rf"(?P<name>{_NAME})(?:\s(?!more\b|need|less\b|fewer\b)[a-z]+)?\?"
)
# "Lena has 48 stickers. How many does she keep?", and "Lena keeps 30; Tom gets 12 and Mia 6".
_ASKS_OF_SUBJECT = re.compile(
    r"\b(?i:how (?:many|much))\b[^?A-Z]* (?:does|do|did) (?:she|he) (?P<verb>(?!have|get|need)[a-z]{3,})\?"
)
_SUBJECT = re.compile(rf"(?P<name>{_NAME})\s[a-zà-ÿ]")
_CLAUSE_END = re.compile(r"[;,]\s(?:and\s|but\s|while\s)?|\s\(?(?:and|e|y|et|und|и)\s(?=[A-ZÀ-ÝА-Я])")
_LEAD = re.compile(r"\W*(?:[^\d:.]{1,60}:\s|[A-Za-zÀ-ÿ]+,\s)?")
_HAS = re.compile(
    rf"(?:(?:So|Thus|Therefore|Hence)\s)?(?P<name>{_NAME})\s(?:(?P<verb>[a-zà-ÿ]+)\s)?\W{{0,3}}\d[\d.,]*"
    r"(?:\s[a-zà-ÿ]+){0,2}[*_]*"
)


def remove_remarks(text: str, question: str) -> str:
    """Return a text without the remarks behind the answer in its last sentence; the text itself if it has none.

    >>> remove_remarks("So each gets 5, 15 in all.", "Three share 15 marbles. How many does each get?")
    'So each gets 5'
    >>> remove_remarks("He spends $20, leaving him with $30.", "He has $50. How much is left?")
    'He spends $20, leaving him with $30.'
    """
    if not question.strip():
        return text
    closing = _CLOSING.search(text)
    if closing is not None and _NUMBER.search(text, 0, closing.start()):
        text = text[: closing.start()]
    start = max(0, len(text) - WINDOW)
    head, tail = text[:start], text[start:]
    request = _find_request(question)
    for _ in range(3):
        shorter = _remove_same_amount(_remove_other_scale(tail, request), request)
        shorter = _remove_addends(_remove_parts(_remove_comparison(shorter, request), request))
        shorter = _remove_beside(shorter, request)
        shorter = _remove_others(shorter, question, request)
        shorter = _remove_known(shorter, question, request)
        if shorter == tail:
            break
        tail = shorter
    return head + tail


def _remove_parts(text: str, request: str) -> str:
    """Return a text without parts of its result whose nouns the request does not have: "58, of which 54 were cars"."""
    start = _last_sentence(text)
    parts = _PARTS.search(text, start)
    if parts is None or not _NUMBER.search(text, start, parts.start()):
        return text
    nouns = request.lower()
    is_sought = any(word.lower() in nouns for word in _NOUN.findall(parts["parts"]))
    return text if is_sought else text[: parts.start()]


def _find_request(question: str) -> str:
    """Return the last sentence of a question with a question mark; its last sentence if none has one."""
    sentences = _QUESTION_END.split(question.strip())
    return next((sentence for sentence in reversed(sentences) if "?" in sentence), sentences[-1])


def _last_sentence(text: str) -> int:
    """Return the place where the last sentence of a text begins."""
    text = text.rstrip()
    for start in (max(0, len(text) - _NEAR), 0):
        if place := max((end.end() for end in _SENTENCE_END.finditer(text, start)), default=0):
            return place
    return 0


def _parse_amounts(text: str) -> list[tuple[Fraction, _Unit]]:
    """Return the amounts of a text with their units, each in the smallest unit of its dimension."""
    amounts = []
    for match in _ONE_AMOUNT.finditer(text):
        unit = _UNITS.get(match["unit"]) or _SHARES[match["unit"]]
        try:
            amounts.append((Fraction(match["number"].replace(",", "")) * unit.size, unit))
        except (ValueError, ZeroDivisionError):
            return []
    return amounts


def _list_question_units(request: str) -> set[str]:
    """Return the first names of the units that a question names; only the one that it counts if there is one."""
    how_many = re.search(r"\bhow many ([a-z]+)", request, re.IGNORECASE)
    if how_many and how_many[1].lower() in _UNITS:
        return {_UNITS[how_many[1].lower()].name}
    words = re.findall(r"(?<!['’])\b[a-z]+|%", request.lower())
    return {unit.name for word in words if (unit := _UNITS.get(word) or _SHARES.get(word)) is not None}


def _remove_same_amount(text: str, request: str) -> str:
    """Return a text without an amount of its last sentence that repeats the one before it in a unit not asked for."""
    start = _last_sentence(text)
    for match in _SAME_AMOUNT.finditer(text, start):
        first, others = _parse_amounts(match["first"]), _parse_amounts(match["plain"] or match["inside"])
        if len(first) != 1 or not others or not first[0][0]:
            continue
        (value, unit), total = first[0], sum(amount for amount, _ in others)
        if abs(total - value) > ROUNDED * value or any(other.dimension != unit.dimension for _, other in others):
            continue
        names = {other.name for _, other in others}
        in_question = _list_question_units(request)
        if in_question & (names - {unit.name}) or (len(others) == 1 and unit.name not in in_question):
            continue
        return text[: match.start("other")] + text[match.end("other") :]
    return text


def _remove_other_scale(text: str, request: str) -> str:
    """Return a text without a temperature in brackets on a scale that is not asked for: "100 °C (212 °F)"."""
    match = _TEMPERATURES.search(text, _last_sentence(text))
    scales = {scale[0].upper() for scale in _SCALE.findall(request)}
    if match is None or scales != {match["first"].upper()} or match["other"].upper() in scales:
        return text
    return text[: match.start("bracket")] + text[match.end("bracket") :]


def _remove_addends(text: str) -> str:
    """Return a text without brackets at its end whose numbers add up to the one before: "26 (16 dogs and 10 birds)"."""
    match = _ADDENDS.search(text) if text.rstrip().rstrip(" .*").endswith(")") else None
    if match is None:
        return text
    parts = [Fraction(number.replace(",", "")) for number in _PLAIN_NUMBER.findall(match["parts"])]
    is_sum = len(parts) > 1 and sum(parts) == Fraction(match["sum"].replace(",", ""))
    return text[: match.start("bracket")] if is_sum else text


def _remove_comparison(text: str, request: str) -> str:
    """Return a text without what its last sentence only compares: ", not 100 minutes", ", which is roughly 10^3"."""
    start = _last_sentence(text)
    sentence = text[start:].rstrip(" .!*\n")
    before = text[:start].rstrip()
    is_supposed = _HYPOTHETICAL.match(sentence) and not _SUPPOSES.search(request)
    if start and is_supposed and _NUMBER.search(before[_last_sentence(before) :]):
        return before
    match = _COMPARED.search(sentence)
    return text if match is None or not _NUMBER.search(sentence, 0, match.start()) else text[: start + match.start()]


def _states_name(before: str, after: str, request: str) -> bool:
    """Return whether a text states with a number what the question asks for by its name, and what follows does not."""
    match = _ASKS_BY_NAME.fullmatch(request.strip(" *\n"))
    if match is None:
        return False
    words = (match["name"] or "(?:price|cost)").lower().split()
    noun = words[-1]
    stated = re.search(rf"\b{noun}{_STATES}[^.;]*\d", before, re.IGNORECASE)
    is_complete = all(re.search(rf"\b{word}\b", before, re.IGNORECASE) for word in words[:-1])
    return stated is not None and is_complete and not re.search(rf"\b{noun}s? (?:is|was|would)\b", after, re.IGNORECASE)


def _remove_beside(text: str, request: str) -> str:
    """Return a text without a last sentence, or a clause with a difference, behind a statement of what is asked for."""
    if (line := _LINE_IN_BRACKETS.search(text)) and _states_name(text[: line.start()], line[0], request):
        return text[: line.start()]
    start = _last_sentence(text)
    sentence = text[start:].rstrip(" .!*\n")
    if (difference := _DIFFERENCE.search(sentence)) is not None:
        before = sentence[: difference.start()]
        return text[:start] + before if _states_name(before, difference[0], request) else text
    before = text[:start].rstrip()
    if start and _BESIDE.match(sentence) and _NUMBER.search(sentence):
        own = before[_last_sentence(before) :]
        return before if _states_name(own, sentence, request) else text
    return text


def _remove_others(text: str, question: str, request: str) -> str:
    """Return a text whose last sentence gives a number for each of several people, with the one that is asked for."""
    match_of_one = _ASKS_OF_ONE.search(request)
    by_verb = None if match_of_one is not None else _ASKS_OF_SUBJECT.search(request)
    subject = match_of_one or (_SUBJECT.match(question.strip()) if by_verb is not None else None)
    if subject is None:
        return text
    start = _last_sentence(text)
    start += match.end() if (match := _LEAD.match(text[start:])) else 0
    clauses = [_HAS.fullmatch(clause) for clause in _CLAUSE_END.split(text[start:].strip(" .*)\n"))]
    matches = [clause for clause in clauses if clause is not None]
    own = [match for match in matches if match["name"] == subject["name"]]
    if len(clauses) == 1 or len(matches) < len(clauses) or len(own) != 1:
        return text
    verbs = [match["verb"] for match in matches if match["verb"] is not None]
    if by_verb is None:
        is_proved = len(set(verbs)) <= 1
    else:
        with_verb = [verb for verb in verbs if verb.startswith(by_verb["verb"])]
        is_proved = len(with_verb) == 1 and with_verb[0] == own[0]["verb"]
    return text[:start] + own[0][0] if is_proved else text


def _remove_known(text: str, question: str, request: str) -> str:
    """Return a text without a calculation behind its answer whose result the question gives."""
    start = _last_sentence(text)
    sentence = text[start:].rstrip(" .!*\n")
    question_numbers = set(_NUMBER.findall(question))
    if (reason := _REASON.search(sentence)) is not None:
        answers = _NUMBER.findall(sentence[: reason.start()])[-1:]
        is_computed = bool(set(answers) - question_numbers) and set(answers) <= set(_NUMBER.findall(reason["left"]))
        return (
            text[:start] + sentence[: reason.start()]
            if is_computed and _is_in_question(reason["right"], question_numbers)
            else text
        )
    if (total := _TOTAL.search(sentence)) is not None and _EACH.search(request):
        before = sentence[: total.start()]
        answers = _NUMBER.findall(before)[-1:]
        is_factor = total["left"] is None or set(answers) <= set(_NUMBER.findall(total["left"]))
        if is_factor and _EACH_HAS.search(before) and _is_in_question(total["right"] or total["sum"], question_numbers):
            return text[:start] + before
    return text


def _is_in_question(result: str, question_numbers: set[str]) -> bool:
    """Return whether the numbers of a result are among those that the question gives."""
    return set(_NUMBER.findall(result)) <= question_numbers
