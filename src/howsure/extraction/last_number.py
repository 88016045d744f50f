"""Read the last number of a completion that does not state its answer.

It is the answer unless the completion refuses to answer, was cut, repeats itself, or copies the question. Numerals of a
list, references ("step 3") and remarks after the answer ("Let me know if you have 2 more questions") are left out.
"""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

from howsure.extraction.completion_context import CompletionContext
from howsure.extraction.number_remarks import remove_remarks
from howsure.extraction.number_sentences import (
    BARE,
    DIGIT,
    EQUALS,
    are_joined,
    is_for_unknown,
    write_decimal_points,
)
from howsure.extraction.number_words import SMALL_NUMBERS, parse_chinese, parse_words
from howsure.extraction.numerals import LONGEST, Number, find_last_numbers, find_numbers, rewrite_numerals

__all__ = ["FACTORIAL", "NUMERAL", "read_last_number"]

#: The last number of a text is searched in so many of the last lines, and in so many characters around the last digit.
MAX_LINES = 100
#: Longest line, in words, whose number in words is read where it counts what the question asks for.
MOST_WORDS = 10
#: So many of the last numbers of a line are looked at.
MAX_NUMBERS = 6
WINDOW = 500

FACTORIAL = re.compile(r"\s*\d+!\s*")
# Without a statement: lines that are about the answer and do not give it, sentences that refuse it, references.
_CHATTER = re.compile(
    r"[\s*_>(\[#-]*(?:(?:please )?(?:note|let me know|feel free|i hope|hope|thanks?|good luck|cheers|remark|source"
    r"|reference|disclaimer|see also|if you (?:have|need|want|would))\b|do you want|would you like)",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"\bas an? (?:ai|large|language|artificial)\b|\bi(?:['’]m| am) (?:sorry|unable|not able|just an? (?:ai|language))"
    r"|\bi (?:cannot|can['’]t|can not|do not|don['’]t|won['’]t) (?:answer|help|determine|provide|know|tell|solve|see"
    r"|assist|say|have enough)\b"
    r"|\b(?:cannot|can['’]t|can not|impossible to) be (?:determined|answered|solved|calculated|known)\b"
    r"|\b(?:not|n['’]t) (?:have )?enough (?:information|data|details|context)\b|\binsufficient (?:information|data)\b"
    r"|\b(?:is|it['’]s) (?:impossible|not possible) to (?:determine|answer|say|tell|know|calculate)\b"
    r"|\bknowledge (?:cutoff|cut-off|ends)\b",
    re.IGNORECASE,
)
# Each refusal has one of these parts. The search for them saves a tenth of the time.
_REFUSAL_HINTS = ("as a", "sorry", "able", "not ", "n't", "n’t", "just a", "insufficient", "impossible", "knowledge")
_REFERENCE = re.compile(
    r"\b(?:question|step|source|example|eq(?:uation)?|fig(?:ure)?|problem|note|section|see|rule|method|hint|ref)s?\.?"
    r"[ ]\(?$",
    re.IGNORECASE,
)
NUMERAL = re.compile(r"[ \t>*_#-]{0,8}\(?(?:step[ ])?\d{1,2}(?:[.)](?=\s+[^\s\d$-])|:(?=\s+[A-Za-z]))", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]{1,80})\*\*|__([^_\n]{1,80})__")
_HEADING = re.compile(r"\s*(?:#{1,6}|\*\*)\s*(?:step|part|case)?[\s\d.:*]*", re.IGNORECASE)
_RUN = re.compile(r"\d+")
_SMALL_WORD = "|".join(SMALL_NUMBERS)
_OPERATORS = ("=", "≈", "+", "-", "−", "/", "×", "÷")
_UNFINISHED = re.compile(r"[.!?]\s+([A-Z][^.!?:)\n]*[a-z,])\s*$")
# "15 are left after giving away 5": the number before the reason is the answer, where the line is one such sentence.
_REASONS = ("after", "because", "since")
_REASON = re.compile(rf"\b(?:{'|'.join(_REASONS)})\b")
_SINCE = re.compile(r"\b(?:because|since)\b")
_JOINT_REASONS = re.compile(r"[.;:!?]\s|[-+*/×]|\b(?:so|then)\b|\band\b(?=.*\b(?:because|since)\b)")
_JOINT = re.compile(r"[.;:!?]\s|[-+*/×]|\b(?:so|then|and)\b")
# The right side of an equation at the end of a line, and "120 feet in 40 seconds" after it.
_RESULT = re.compile(r"=([^=\n]{1,30})$", re.MULTILINE)
_CONDITION = re.compile(r"[ ](?:in|per|for|over|within|each|every|during|out of|after)[ ](?:the |a |an |all )?$")
_SENTENCE = re.compile(r"[.!?]\s")
_LAST_DIGIT = re.compile(f".*{DIGIT.pattern}", re.DOTALL)
# "96 seats (8 × 12)."
_FACTORS = re.compile(r"(?<=\w)[*]{0,2}[ ]?\([^()\n=]*\d[^()\n=\d]{0,12}[×*/+÷·][^()\n=\d]{0,3}\d[^()\n=]*\)[\s.*]*$")
_SERIES = re.compile(
    r"(?:\d[\d.]*,[ ]){2,}(?:and[ ])?$|(?:\d[\d.]*,?[ ]){4,}(?:and[ ])?$"
    r"|(?:\d[\d.]*,[ ])+\d[\d.]*[ ]and[ ]$"
)
# What follows an answer and is none: a check of it, and remarks in the same line.
_CHECK = re.compile(
    r"(?:^|[.!?:*\n])[\s*_#>(]*(?:verification|(?:(?:let me|let['’]s|let us|to) )?(?:verify|(?:double[- ])?check))\b",
    re.IGNORECASE,
)
_CONCLUDED = re.compile(
    r"\b(?:so|thus|therefore|hence|wait|wrong|incorrect|mistake|actually|not|no|but|however|final|answer)\b|n['’]t\b",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"\s\((?!so\b)[^()]*\d[^()]*\b(?:is|are|was|were) (?:not |no |all |both )?[a-z]+\)[\s.]*$"
    r"|\s\((?:of (?:which|whom)|including|excluding|not counting|along with|together with"
    r"|as well as|besides)\b[^()]*\)[\s.]*$"
    r"|[.!?)]\s+(?:(?:i hope|hope this|feel free|let me know|please (?:note|let))\b.*$|\([^()]*[.!?]\)\s*$)",
    re.IGNORECASE,
)
# "Let me break this down into 3 steps."
_ANNOUNCED = re.compile(
    r"\b(?:let me|let us|let['’]s|i['’]ll|i will|we will|we can|here are)\b[^.=:]*\d+\W+(?:\w+ )?"
    r"(?:steps|parts|stages|cases|ways|methods|approaches)\b[^.=\d]*[.:!]?\s*$",
    re.IGNORECASE,
)
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = re.compile(rf"\b{_MONTH}[ ]\d\d?(?:,[ ]\d{{4}})?[.!]*\s*$|\b\d\d?[ ]{_MONTH}(?:[ ]\d{{4}})?[.!]*\s*$")
_ASKS_WHEN = re.compile(r"\b(?:years?|when|dates?|days?)\b", re.IGNORECASE)
# Text between two numbers of which the last is about the first: "31 years old in 2031", "72 beats per 60 seconds",
# "$40, which is 80% of the price", "720 necklaces with 8 beads", "30 boys and 12 girls".
_IN_YEAR = re.compile(
    rf"(?:[ ][a-z-]+){{0,4}}[ ](?:in|by|since|until|before)[ ](?:the end of )?(?:{_MONTH}[ ])?", re.IGNORECASE
)
_YEAR = re.compile(r"(?:19|20)\d\d(?![.,]?\d)")
_PER = re.compile(r"(?:[ ][a-z]+){1,3}[ ](?:per|(?:for )?every)[ ]")
_WHICH_IS = re.compile(r",[ ]which is (?:only |just |about )?")
_OF_THE = re.compile(r"\s*(?:percent )?of (?:the|his|her|their|its|all)\b")
_CIRCUMSTANCE = re.compile(r"(?:[ ][a-z]+){1,3}[ ](?:with|for|from|using|out of|among)[ ](?:the |all )?")
#: Verbs behind "to" that say what an amount is for.
_USES = "(?:hold|make|bake|fill|cover|reach|serve|feed|travel|carry|seat)"
# "boxes to hold 48 eggs", "km after 2 hours", ", having given away 15", "day 47, one day before day 48"; and verbs of a
# further result.
_CIRCUMSTANCES = re.compile(
    rf"[*_ ]*(?:[a-z$%-]+[ ]){{0,4}}?(?:to {_USES}|for|after|over|at|having|with|when|during|within)[ ]"
    r"|,[ ](?:having|after|over)[ ]"
    rf"|,[ ](?:(?:just|only|exactly)[ ])?(?:an?|half an?|{_SMALL_WORD})[ ][a-z]+[ ]"
    r"(?:before|after|earlier than|later than)[ ]",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"\b(?:so|then|thus|total|altogether|leav\w*|left|remain\w*|giv(?:es|ing)|(?<!to )makes?|making|which|equals?|gets?"
    rf"|is|are|was|were|will|has|have|result|sum|answer|final|price|cost|value|balance|profit|bring\w*|reach\w*"
    rf"|to (?!{_USES}\b)"
    r"|but|and|or|if|not|more|less|fewer|each day|times|returns?|back)\b|[=+×*÷/]|;",
    re.IGNORECASE,
)
_COORDINATED = re.compile(r"(?:[ ][A-Za-z]+){1,6},?[ ](?:and|but|while)[ ](?:only |just |there (?:is|are) )?")
# "A dozen is twelve eggs."
_IS_NUMBER = re.compile(
    r"(?:[\w'’-]+ ){1,6}(?:is|are|equals|makes|gives|has|have) (?:exactly |about )?"
    r"(?P<number>[a-z-]+(?: [a-z-]+){0,2})[.!*]*",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"\bhow (?:many|much)(?: (?:more|fewer|total|other|whole))? ([a-z]{3,})\b", re.IGNORECASE)
_NONE_LEFT = re.compile(
    r"\b(?:has|have|had) none left\b[^.\d]{0,30}[.!]*\s*$"
    r"|\b(?:(?:there (?:are|is|were|was|will be)|has|have|had) no\b|none of )[^.,\d]{0,40}\b(?:left|remain(?:ing)?)\b"
    r"[^.\d]{0,30}[.!]*\s*$"
    r"|\bno (?:[a-z]+ ){1,3}(?:are|is|were|was) (?:left|remaining)\b"
    r"[^.\d]{0,30}[.!]*\s*$",
    re.IGNORECASE,
)
# "20 is 25 percent of 80." where the question asks what percentage; "42 are taken" where it asks how many are taken.
_ASKS_PERCENT = re.compile(r"\bwhat (?:percentage|percent)\b|\bhow many percent\b", re.IGNORECASE)
_IS_PERCENT = re.compile(r"\s?(?:%|percent\b)")
_HOW_MANY_ARE = re.compile(r"\bhow many (?:[a-z]+ ){0,3}?(?:is|are|were|was) (?P<state>[a-z]{4,})\s*\?", re.IGNORECASE)
# "150 (2 hours and 30 minutes)"
_AMOUNT_IN_OTHER_WORDS = re.compile(r"(?P<amount>\W{0,3}\d[\d,.]*(?:\s[a-z]+){0,2})\s\([^()=]*\)\W*")
_OF = re.compile(r"\b(?:out )?of (?:the |all )?\W{0,2}$")
# "20 of the 25 questions"
_OUT_OF = re.compile(r"[ ](?:[a-z]+[ ]){0,2}(?:out[ ])?of[ ](?:the|his|her|their|its|these|those)[ ]")
_INSTEAD = re.compile(
    r"(?:[ ][a-z]+){0,3},?[ ](?:instead of|rather than|and not)[ ](?:the (?:usual|normal|original) )?"
)
# "To find the cost of 3 books, you need to multiply the price."
_PURPOSE = re.compile(
    r"\W*to (?:find|calculate|determine|solve|compute|get|work out|figure out)\b[^,=]*,[^\d=]*", re.IGNORECASE
)
# "What is 15 + 27?"
_WHAT_IS = re.compile(r"\bwhat is (?P<sum>\d[\d.,]*(?:\s*[-+*/×÷]\s*\d[\d.,]*)+)\s*\?", re.IGNORECASE)
#: Most numbers of a sentence that repeats a result before numbers of the question.
MOST_RESTATED = 4
#: Longest text, in characters, in which a number before what the question counts is the answer.
LONGEST_COUNT = 300
# "How many field goals did they kick?", and words and signs of a calculation or a doubt.
_COUNTS = re.compile(
    r"\bhow many (?:[a-z]+ ){0,2}?(?P<noun>[a-z]{3,}s)(?= (?:do|does|did|are|is|was|were|has|have|had|can|will)\b|\?)",
    re.IGNORECASE,
)
_ASKS_OF_STATE = re.compile(r"\d|\b(?:he|she|they|we|you|i|still|left|remain\w*|now|end|gain\w*)\b", re.IGNORECASE)
_CALCULATES = re.compile(
    r"[=+×*÷]|\d\s?[-−/]\s?\d|\b(?:so|thus|therefore|hence|then|total|left|if|or|not|no|about|first|each|per|more"
    r"|than|altogether|away|still|leav\w*|(?:up|down) to)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
# "In what year did it sink?", "How many goals?" and "None. They made no goal.", "7 times 8?" and "56!"
_ASKS_YEAR = re.compile(r"\b(?:what|which) year\b", re.IGNORECASE)
_ANY_YEAR = re.compile(r"(?<![\d.,$€£-])(?:1\d{3}|20\d{2})(?![\d-]|[.,]\d)")
_BEFORE_OR_AFTER = re.compile(
    r"\b(?:before|after|years?\s+(?:later|earlier|before|after)|or|BCE?|until|between|if|not)\b|n['’]t\b|[-+*/=]\s?\d"
)
_NONE_AT_ALL = re.compile(r"\s*\W{0,4}None\b[.,!*]+\s(?![^\n]*\d)", re.IGNORECASE)
_ASKS_ORDERS = re.compile(r"!|factorial|\bways\b|arrang|permut|order|how many|number of", re.IGNORECASE)
# "(2/3 of an hour)", and words behind which a sentence says something else than before them.
_ASIDE = re.compile(r"\s\((?!so\b|=|i\.e|that is|not\b|rather|correct|answer)[^()=]*\d[^()=]*\)", re.IGNORECASE)
_TURNS_BACK = re.compile(
    r"\b(?:so|then|thus|therefore|hence|round\w*|leav\w*|left|remain\w*|answer|but|not|instead|wait|actually|however|gain\w*"
    r"|profit|more|less|fewer)\b|n['’]t\b|=",
    re.IGNORECASE,
)
# The right side of an equation.
_ANY_RESULT = re.compile(r"[=≈](?P<result>[^=≈\n.;]{0,3}\d[\d,]*(?:\.\d+)?)(?!\d|\s?[-+*/×÷])")
_TURNS = re.compile(
    r"\b(?:so|then|thus|therefore|hence|round\w*|whole|leav\w*|left|remain\w*|answer|but|not|instead|equals?|or|if|wait"
    r"|actually|total|altogether|in all|however|making|makes?|giv\w*|and|each|which|more|less|fewer|minus|plus|times"
    r"|cost\w*|sum|also|only|while)\b|n['’]t\b",
    re.IGNORECASE,
)
_ASKS_HOW_MANY = re.compile(r"\bhow many (?:[a-z]+ ){0,2}?(?P<noun>[a-z]{3,}s)\b[^?]*", re.IGNORECASE)
_AMOUNT_OF_NOUN = re.compile(
    rf"(?<![\w.,/$-])(\d[\d,]*(?:\.\d+)?|(?:{_SMALL_WORD}))[*_]{{0,2}}\s(?:[a-z]+\s)??(?P<noun>[a-z]{{3,}}s)\b",
    re.IGNORECASE,
)
_ASKS_DIFFERENCE = re.compile(r"\b(?:more|fewer|less|left|remain\w*|difference|still|than)\b", re.IGNORECASE)
_BEFORE_COUNT = re.compile(
    r"\b(?:of|if|than|not|from|minus|plus|less|between|about|per|each|every)\s+(?:the\s+|its\s+)?$|n['’]t\b",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(r"(?:so|thus|therefore|hence|it is|it's|in total|altogether)\b", re.IGNORECASE)


def read_last_number(text: str, context: CompletionContext) -> Fraction | None:
    """Return the last number of a text without a statement; None when it is not given as the answer."""
    if (number := _read_by_question(text, context.question)) is not None:
        return number
    text = remove_remarks(_remove_check(text), context.question)
    if text.rstrip(" .*").endswith(")") and (factors := _FACTORS.search(text)):
        text = text[: factors.start()]
    lines = [line for line in text.split("\n")[-10 * MAX_LINES :] if line.strip()]
    if not lines or _is_cut(text, lines):
        return None
    if (calculation := _WHAT_IS.search(context.question)) and (value := _read_calculation(text, calculation["sum"])):
        return value
    if not DIGIT.search(text) or "none" in lines[-1].lower() or " no " in lines[-1]:
        if _NONE_LEFT.search(lines[-1]) and "how m" in context.question.lower():
            return Fraction(0)
        if not DIGIT.search(text):
            return _read_words(lines, context.question)
    return _read_digits(text, lines, context)


def _read_by_question(text: str, question: str) -> Fraction | None:
    """Return the year, the 0 of "None." or the number with an exclamation mark that a question asks for; else None."""
    if _ASKS_YEAR.search(question):
        years = set(_ANY_YEAR.findall(text)) - set(_ANY_YEAR.findall(question))
        return Fraction(years.pop()) if len(years) == 1 and not _BEFORE_OR_AFTER.search(text) else None
    if "how many" in question.lower() and _NONE_AT_ALL.match(text):
        return Fraction(0)
    if (count := _read_count(text, question)) is not None:
        return count
    if FACTORIAL.fullmatch(text) and question and not _ASKS_ORDERS.search(question):
        digits = text.strip().rstrip("!")
        return Fraction(int(digits)) if len(digits) <= LONGEST else None
    return None


def _read_count(text: str, question: str) -> Fraction | None:
    """Return the only number before what a question counts, in a short text without a calculation: "8 vertices"."""
    noun = _COUNTS.search(question)
    if noun is None or _ASKS_OF_STATE.search(question) or len(text) > LONGEST_COUNT or _CALCULATES.search(text):
        return None
    before = re.compile(
        rf"(?<![\w.,/-])(\d[\d.,]*|(?:{_SMALL_WORD})) (?:[a-z]+ ){{0,1}}{re.escape(noun['noun'])}\b", re.IGNORECASE
    )
    content = {
        word
        for word in re.findall(r"[a-z]{4,}", question.lower())
        if word not in {noun["noun"], "many", "does", "have"}
    }
    values = set()
    for match in before.finditer(text):
        value = parse_words(match[1]) if match[1][0].isalpha() else _parse_digits(match[1])
        start = max((end.end() for end in _SENTENCE.finditer(text, 0, match.start())), default=0)
        sentence = text[start : match.end() + LONGEST_COUNT].partition(". ")[0].lower()
        # "Insects have six legs. Spiders have eight.": the sentence is about what the question asks about.
        if value is not None:
            values.add(value if not content or any(word in sentence for word in content) else None)
    return values.pop() if len(values) == 1 else None


def _parse_digits(text: str) -> Fraction | None:
    """Return the only number of a text in digits; None if there is not exactly one."""
    numbers = list(find_numbers(text.rstrip(".,")))
    return numbers[0].value if len(numbers) == 1 else None


def _read_digits(text: str, lines: list[str], context: CompletionContext) -> Fraction | None:
    """Return the last number of the lines of a text that has digits; None when it is not given as the answer."""
    bracket = _AMOUNT_IN_OTHER_WORDS.fullmatch(lines[-1])
    lines = lines if bracket is None else [*lines[:-1], bracket["amount"]]
    with_digits = (line for line in reversed(lines) if DIGIT.search(line) or _refuses(line[:WINDOW]))
    for line in itertools.islice(with_digits, MAX_LINES):
        if bare := BARE.fullmatch(line):
            return Fraction(int(bare[1]))
        if _CHATTER.match(line) and line is not lines[0]:
            continue
        start, end = _around_last_digit(line) if DIGIT.search(line) else (0, WINDOW)
        if _refuses(line[start:end]) or _is_copied(line, context.question):
            return None
        numbers, tail = _list_numbers(line[start:end], text, context, is_start=not start)
        result = None if start else _find_counted(tail, context.question)
        if len(numbers) > 1 and result is None:
            result = _select_result(numbers, tail, text)
            result = _find_restated(numbers, tail, text, context.question) if result is None else result
        if result is not None:
            return result
        if numbers or start or NUMERAL.match(line):
            is_announced = len(numbers) == 1 and (_ANNOUNCED.search(tail) or _announces_purpose(tail)) is not None
            return None if is_announced else _choose_last(numbers, tail, context.question)
    return None


def _remove_check(text: str) -> str:
    """Return a text without the check that follows its result, where nothing is concluded from the check."""
    if "erif" not in text and "heck" not in text:
        return text
    for check in _CHECK.finditer(text, max(0, len(text) - 2 * WINDOW)):
        before = text[: check.start() + 1]
        if DIGIT.search(before[-WINDOW:]):
            return text if _CONCLUDED.search(text, check.end()) else before
    return text


def _read_calculation(text: str, calculation: str) -> Fraction | None:
    """Return the result of the calculation that a question asks for, where a text repeats it with one result."""
    parts = (re.escape(part) for part in re.split(r"\s*([-+*/×÷])\s*", calculation.strip()))
    results = re.findall(r"\s?".join(parts) + r"\s?=\s?(-?\d[\d,]*(?:\.\d+)?)(?![\d/]|\s?[-+*/×÷^])", text)
    values = {number.value for result in results for number in find_numbers(result)}
    return values.pop() if len(values) == 1 else None


def _read_words(lines: list[str], question: str) -> Fraction | None:
    """Return the number in words that a text without digits is, or that its last sentence concludes with."""
    sentence = _SENTENCE.split(lines[-1].strip())[-1]
    if (
        not sentence.isascii()
        and (value := parse_chinese(re.split("[。！，,；]", sentence.rstrip("。！ "))[-1])) is not None
    ):
        return value
    bold = {parse_words(match[1] or match[2], alone=True) for line in lines for match in _BOLD.finditer(line)} - {None}
    if len(bold) == 1:
        return bold.pop()
    if len(lines) == 1 and (noun := _HOW_MANY.search(question)) and len(lines[0].split()) <= MOST_WORDS:
        # "It takes them three days." where the question asks how many days.
        match = re.search(rf"\b([a-z]+(?:[- ][a-z]+){{0,2}}) {re.escape(noun[1])}\b[^,;:]*$", lines[0], re.IGNORECASE)
        value = parse_words(lines[0]) if match and parse_words(match[1].split()[-1]) is not None else None
        if value is not None and not _refuses(lines[0]):
            return value
    if len(lines) == 1 and (is_number := _IS_NUMBER.fullmatch(sentence)) and not _refuses(sentence):
        return parse_words(is_number["number"])
    is_alone = len(lines) == 1 and len(lines[0].split()) <= (6 if parse_words(lines[0].split()[0]) is not None else 4)
    if is_alone or _CONCLUSION.match(sentence):
        return None if _refuses(sentence) else parse_words(sentence)
    _, so, clause = sentence.rpartition(", so ")
    return parse_words(clause) if so else None


def _refuses(text: str) -> bool:
    """Return whether a sentence of a text refuses to answer."""
    lowered = text.lower()
    return any(hint in lowered for hint in _REFUSAL_HINTS) and _REFUSED.search(text) is not None


def _is_cut(text: str, lines: list[str]) -> bool:
    """Return whether a text ends in an open sum, in a heading, or within a repetition, or is a factorial."""
    ending = text[-WINDOW:].rstrip(" \t\n$?_")
    if (
        (text.endswith("!") and FACTORIAL.fullmatch(text))
        or ending.rstrip("*").endswith(_OPERATORS)
        or ending.endswith(" *")
    ):
        return True
    return _is_loop(lines) or (len(lines) > 1 and _HEADING.fullmatch(lines[-1]) is not None)


def _list_numbers(window: str, text: str, context: CompletionContext, *, is_start: bool) -> tuple[list[Number], str]:
    """Return the numbers of a line without its numeral, and the rewritten line; only those in bold if there are any."""
    if (remark := _REMARK.search(window)) and DIGIT.search(window, 0, remark.start()):
        window = window[: remark.start() + 1]
    bold = [match[1] or match[2] for match in _BOLD.finditer(window) if DIGIT.search(match[0])]
    if bold and not NUMERAL.match(bold[-1]):
        tail = rewrite_numerals(write_decimal_points(bold[-1], text, context))
        if numbers := list(find_numbers(tail)):
            return numbers, tail
    tail = rewrite_numerals(write_decimal_points(window, text, context))
    begin = numeral.end() if is_start and (numeral := NUMERAL.match(tail)) else 0
    numbers = [number for number in find_last_numbers(tail, MAX_NUMBERS) if number.start >= begin]
    named = [n for n in numbers if not _is_reference(tail, n.start)]
    return (named or numbers if len(numbers) == 1 else named), tail


def _select_result(numbers: list[Number], tail: str, text: str) -> Fraction | None:
    """Return the value that an equation just computed, where the last sentence repeats it before another number."""
    place = text.rfind("\n")
    results = list(_RESULT.finditer(text, max(0, place - WINDOW), max(0, place)))
    if EQUALS.search(tail) or not results or len(tail) > WINDOW:
        return None
    computed = [number.value for number in find_numbers(rewrite_numerals(results[-1][1]))]
    begin = max((end.end() for end in _SENTENCE.finditer(tail, 0, numbers[-1].start)), default=0)
    given = [number for number in numbers if number.start >= begin]
    is_condition = len(given) == 2 and _CONDITION.search(tail, given[0].end, given[1].start) is not None
    return given[0].value if is_condition and [given[0].value] == computed else None


def _find_restated(numbers: list[Number], tail: str, text: str, question: str) -> Fraction | None:
    """Return the result of the last equation, where the last sentence repeats it before numbers of the question only.

    "That's $36 in total for the family of 4.", and "It takes 40 minutes (2/3 of an hour)." with any number in brackets.
    """
    begin = max((end.end() for end in _SENTENCE.finditer(tail, 0, numbers[-1].start)), default=0)
    sentence = tail[begin:]
    results = list(_ANY_RESULT.finditer(text[: text.rfind(sentence)] if sentence in text else ""))
    if not question or not results or EQUALS.search(sentence):
        return None
    computed = [number.value for number in find_numbers(rewrite_numerals(results[-1]["result"]))]
    own = [number for number in numbers if number.start >= begin]
    place = next((i for i, number in enumerate(own[:-1]) if [number.value] == computed), None)
    if place is None or _ASKS_PERCENT.search(question):
        return None
    remarks = [match.span() for match in _ASIDE.finditer(tail, own[place].end)]
    rest = own[place + 1 :]
    behind = [number for number in rest if not any(start < number.start < end for start, end in remarks)]
    if _TURNS_BACK.search(_ASIDE.sub("", tail[own[place].end :])) or (behind and len(own) > MOST_RESTATED):
        return None
    return own[place].value if all(_occurs(number, tail, question) for number in behind) else None


def _find_counted(tail: str, question: str) -> Fraction | None:
    """Return the only number of the last sentence that counts what the question asks for: "15 pieces of 20 cm"."""
    request = _ASKS_HOW_MANY.search(question)
    noun = "" if request is None else request["noun"].lower()
    if request is None or noun not in tail.lower() or _ASKS_DIFFERENCE.search(request[0]):
        return None
    begin = max((end.end() for end in _SENTENCE.finditer(tail.rstrip())), default=0)
    sentence = tail[begin:]
    matches = [match for match in _AMOUNT_OF_NOUN.finditer(sentence) if match["noun"].lower() == noun]
    if len(matches) != 1 or EQUALS.search(sentence, matches[0].end()) or _TURNS.search(sentence, matches[0].end()):
        return None
    before = sentence[: matches[0].start()]
    rest = sentence[matches[0].end() :]
    behind = [number for number in find_numbers(rest) if rest[number.end :].strip(" .!*") or "$" in rest]
    value = parse_words(matches[0][1]) if matches[0][1][0].isalpha() else _parse_digits(matches[0][1])
    is_new = value is not None and re.search(rf"(?<![\d.,]){re.escape(matches[0][1])}(?![\d]|[.,]\d)", question) is None
    return value if is_new and behind and not _BEFORE_COUNT.search(before) else None


def _is_reference(text: str, start: int) -> bool:
    """Return whether the number at a place is one of a step, a source or the like."""
    space = start - 2 if text[start - 1 : start] == "(" else start - 1
    before = text[space - 1 : space]
    if text[space : space + 1] != " " or not (before.isalpha() or before == "."):
        return False
    return _REFERENCE.search(text, max(0, start - 15, text.rfind(" ", 0, space) + 1), start) is not None


def _choose_last(numbers: list[Number], tail: str, question: str) -> Fraction | None:
    """Return the value of the last number; None when it is joined to the one before or part of a series or equation."""
    if not numbers:
        return None
    if (date := _DATE.search(tail)) and numbers[0].end <= date.start() and not _ASKS_WHEN.search(question):
        numbers = [number for number in numbers if number.start < date.start()]
    last = numbers[-1]
    if len(numbers) > 1 and _is_one_of_several(numbers, tail):
        return None
    if len(numbers) > 1 and (sought := _select_sought(numbers, tail, question)) is not None:
        last = sought
    elif (earlier := _find_only_new(numbers, tail, question) or _find_before_reason(numbers, tail)) is not None:
        last = earlier
    elif len(numbers) > 1 and _is_about_number_before(numbers[-2], numbers[-1], tail, question):
        last = numbers[-2]
    if (rest := _UNFINISHED.search(tail, last.end)) and not _CHATTER.match(rest[1]):
        return None  # "She sold 89 of them. We can"
    if "=" in tail[max(0, last.start - 4) : last.start]:
        side = EQUALS.split(tail[: last.start])[-2]
        if is_for_unknown(re.split(r"[,.;:]\s", side)[-1]):
            return None
    return last.value


def _is_one_of_several(numbers: list[Number], tail: str) -> bool:
    """Return whether the last number is joined to the one before, or part of a series."""
    before, last = numbers[-2:]
    between = tail[before.end : last.start]
    if are_joined(tail, before, last) or (
        between.strip() == "and" and re.search(r"\bbetween[ ]\S{0,3}$", tail[: before.start])
    ):
        return True
    is_listed = len(numbers) > 2 and between.endswith(" ")
    return is_listed and _SERIES.search(tail, max(0, last.start - 80), last.start) is not None


def _find_only_new(numbers: list[Number], tail: str, question: str) -> Number | None:
    """Return the only number of the last sentence that the question does not have, before circumstances with others.

    "He needs 6 boxes to hold 48 eggs with 8 eggs in each", where the question has 48 and 8.
    """
    if len(numbers) < 2 or not question:
        return None
    begin = max((end.end() for end in _SENTENCE.finditer(tail, 0, numbers[-1].start)), default=0)
    own = [number for number in numbers if number.start >= begin]
    in_words = {
        str(parse_words(word)) for word in re.findall(r"[a-z]+", question.lower()) if parse_words(word) is not None
    }
    new = [number for number in own if not _occurs(number, tail, question) and str(number.value) not in in_words]
    if len(new) != 1 or new[0] is own[-1]:
        return None
    rest = tail[new[0].end :]
    is_result = (
        "=" not in rest
        and _GOES_ON.search(rest) is None
        and _OF.search(tail, max(0, new[0].start - 20), new[0].start) is None
    )
    return new[0] if is_result and _CIRCUMSTANCES.match(rest) else None


def _find_before_reason(numbers: list[Number], tail: str) -> Number | None:
    """Return the number before a reason that has numbers too: "15 are left after giving away 5"; None without one."""
    if len(numbers) < 2 or not any(word in tail for word in _REASONS):
        return None
    word = _REASON.search(tail, numbers[0].end, numbers[-1].start)
    if word is None:
        return None
    i = next(i for i, number in enumerate(numbers) if number.start >= word.end())
    joint = _JOINT_REASONS if _SINCE.search(tail, numbers[0].end) else _JOINT
    is_joint = EQUALS.search(tail, numbers[i].start) or joint.search(tail, numbers[0].end)
    return None if is_joint else numbers[i - 1]


def _is_about_number_before(before: Number, last: Number, tail: str, question: str) -> bool:
    """Return whether the last number of a sentence says when, of what or with what the number before it holds."""
    between = tail[before.end : last.start]
    if "=" in between or before.value is None or len(between) > 60:
        return False
    if _YEAR.match(tail, last.start) and _IN_YEAR.fullmatch(between):
        return _ASKS_WHEN.search(question) is None
    if _INSTEAD.fullmatch(between) or (_OUT_OF.fullmatch(between) and _occurs(last, tail, question)):
        return True
    if _CIRCUMSTANCE.fullmatch(between):
        return _occurs(last, tail, question) and not _occurs(before, tail, question)
    if _COORDINATED.fullmatch(between) and (noun := _HOW_MANY.search(question)):
        behind = tail[last.end :].lower().split()[:3]
        return noun[1].lower() in between.lower().split() and bool(behind) and noun[1].lower() not in " ".join(behind)
    is_share = _WHICH_IS.fullmatch(between) and _OF_THE.match(tail, last.end) and "percent" not in question
    return _PER.fullmatch(between) is not None or bool(is_share and "%" not in question)


def _announces_purpose(line: str) -> bool | None:
    """Return True where the last sentence with a number only says what is to be found; else None."""
    sentences = [sentence for sentence in _SENTENCE.split(line) if DIGIT.search(sentence)]
    return True if sentences and _PURPOSE.fullmatch(sentences[-1]) else None


def _select_sought(numbers: list[Number], tail: str, question: str) -> Number | None:
    """Return the only number that is called a percentage, or is said to be so, where the question asks for that."""
    if _ASKS_PERCENT.search(question):
        sought = [number for number in numbers if _IS_PERCENT.match(tail, number.end)]
    elif state := _HOW_MANY_ARE.search(question):
        behind = re.compile(rf"(?:\s[a-z]+)?\s(?:is|are|were|was)\s{re.escape(state['state'])}\b", re.IGNORECASE)
        described = (number for number in numbers if behind.match(tail, number.end))
        sought = [number for number in described if not _OF.search(tail, max(0, number.start - 20), number.start)]
    else:
        return None
    return sought[0] if len(sought) == 1 and "=" not in tail else None


def _occurs(number: Number, tail: str, question: str) -> bool:
    """Return whether a number is written in the question as it is written here."""
    return re.search(rf"(?<![\d.,]){re.escape(tail[number.start : number.end])}(?![\d]|[.,]\d)", question) is not None


def _is_loop(lines: list[str]) -> bool:
    """Return whether the end of a text repeats what came before and breaks off: such a completion was cut."""
    last = lines[-1].strip()
    if last[-1:] in ".!?" or BARE.fullmatch(last):
        return False
    if len(last) >= 200 and DIGIT.search(last[-24:]) and last.count(last[-24:]) >= 5:
        return True
    form = _RUN.sub("0", last)
    forms = [_RUN.sub("0", line.strip()) for line in lines[-9:-1]] if len(last) >= 10 else []
    continued = [other for other in forms if len(other) > len(form) + 1 and other.startswith(form)]
    return len(continued) >= 3 or any(line.strip() != last and line.strip().startswith(last) for line in lines[-9:-1])


def _is_copied(line: str, question: str) -> bool:
    """Return whether a line with several words is a part of the question, or a question about its numbers."""
    words = " ".join(line.split())
    if len(words) < 20 or not question:
        return False
    if words.endswith("?") and set(_RUN.findall(words)) <= set(_RUN.findall(question)):
        return True  # the question in other words
    return words in " ".join(question.split())


def _around_last_digit(line: str) -> tuple[int, int]:
    """Return the range to read of a line that has a digit: from the start of a word to shortly after the last digit."""
    upto_digit = _LAST_DIGIT.match(line)
    digit = upto_digit.end() - 1 if upto_digit else 0
    if digit < WINDOW:
        return 0, digit + WINDOW
    space = line.find(" ", digit - WINDOW, digit)
    return (digit + 1 if space < 0 else space), digit + WINDOW
