"""Find the name, the date or the number that an open question asks for, in a sentence that repeats the question.

A question that begins with "who" asks for a person, one with "when" for a date, one with "how many" for a number, and
most others for a name. Such an answer can be cut out of a sentence of any build: it is what stands where a sentence has
its answer ("was directed by NAME", "NAME, in southern Siberia, is", "in April 1912", "206 bones"). A sentence that
denies, doubts or reports something is not read, nor is one that shares too few words with the question. The reading
never uses the target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from howsure.extraction.languages import is_reported
from howsure.extraction.number_words import SMALL_NUMBERS

__all__ = [
    "FUNCTION_WORDS",
    "find_candidate",
    "find_deed",
    "find_doer",
    "find_kind",
    "has_other_rank",
    "is_plausible",
    "list_shorter_answers",
    "match_stems",
    "names_deed",
    "remove_translation",
    "widen_answer",
]

AnswerKind = Literal["person", "place", "date", "year", "number", "name", "yes-no"]

#: Most words of a plausible answer, and of one that is a person's name.
MOST_WORDS, MOST_NAME_WORDS = 6, 5
#: Most words of an answer that has two words of the question.
MOST_REPEATING = 3
#: Longest clause that is searched, in characters.
LONGEST_CLAUSE = 400
#: Share of the words of a question that a clause must have.
LEAST_SHARE = 0.5

_FUNCTION_TEXT = """is are was were be been being has have had do does did will would can could should must may might
in on at by to from during since for with into as the a an it that this he she they of its called named known there's
it's and"""
#: Words that say nothing about what a sentence is about.
FUNCTION_WORDS = frozenset(_FUNCTION_TEXT.split())
_INTERROGATIVE_TEXT = "who what which where when whose whom how name many much long old was"
_INTERROGATIVES = frozenset(_INTERROGATIVE_TEXT.split())
_STARTING_TEXT = """so thus hence therefore however actually after before although while when where among many some
most one another both each these those there i we you yes no not but yet then finally first his her their our my
today during under"""
_STARTERS = FUNCTION_WORDS | frozenset(_STARTING_TEXT.split())
#: Verb of a question about a person -> other words that say the same.
_SAME_DEEDS = {
    "wrote": ("written", "writer", "author", "penned"),
    "written": ("wrote", "writer", "author", "penned"),
    "got": ("awarded", "received", "won", "given", "recipient"),
    "received": ("awarded", "won", "given", "recipient"),
    "awarded": ("received", "won", "given", "recipient"),
    "won": ("awarded", "received", "given", "winner"),
    "played": ("portrayed", "starred", "role"),
    "sang": ("sung", "singer", "performed", "recorded"),
    "made": ("created", "maker", "creator"),
}
#: Shortest common start of two words that say the same, such as "invented" and "inventor".
SHORTEST_START = 5
_IDLE = frozenset({"considered", "said", "first", "main", "originally", "currently", "person", "man", "woman"})
_WATERS = frozenset({"river", "ocean", "sea", "desert"})
#: Words behind a noun that describe it and are no name of it: "the color that was used", "the color chosen".
_DESCRIBING_TEXT = "chosen shown given seen known often most then also there"
_NO_NAMES = FUNCTION_WORDS | _INTERROGATIVES | frozenset(_DESCRIBING_TEXT.split())
_PRONOUNS = frozenset({"it", "he", "she", "they", "this"})
_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
_CAPITAL = "[A-ZÀ-ÖØ-ÞČŁŚŠŽ]"
_NAME_WORD = rf"(?:(?:[A-Z]\.[ ]?)+(?={_CAPITAL}))?(?:(?:St|Mt|Dr|Mr|Mrs|Ms)\.[ ])?{_CAPITAL}[\w'’&-]*"
_PARTICLES = "de|da|di|du|la|le|van|von|der|den|del|dos|bin|al|ibn|y"
_NAME = re.compile(
    rf"{_NAME_WORD}(?:[ ](?:(?:of|the|{_PARTICLES})[ ]){{0,2}}{_NAME_WORD})*"
    r"(?:,?[ ][JS]r\.)?"
)
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = re.compile(
    rf"\b(?:{_MONTH}[ ]\d{{1,2}}(?:st|nd|rd|th)?(?!\w)(?:,?[ ]\d{{4}})?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?[ ](?:of[ ])?{_MONTH}(?:,?[ ]\d{{4}})?|{_MONTH},?[ ]\d{{4}}"
    r"|(?<![\d.,$€£])(?:1\d{3}|20\d{2})(?![\d.,]*\d|[ ](?:km|m|people|deaths|miles|meters|metres)\b))"
)
_YEAR = re.compile(r"(?<![\d.,$€£-])(?:1\d{3}|20\d{2})(?!\d|[.,]\d|[ ](?:km|m|people|deaths|miles|meters|metres)\b)")
_ONES = "|".join(word for word, number in SMALL_NUMBERS.items() if 1 <= number < 10)
_TENS = "|".join(word for word, number in SMALL_NUMBERS.items() if number >= 20)
_SMALL = f"(?:{_TENS})(?:-(?:{_ONES}))?|" + "|".join(word for word, number in SMALL_NUMBERS.items() if 1 <= number < 20)
_NUMBER = re.compile(
    rf"(?:[$€£¥][ ]?)?\d[\d,]*(?:\.\d+)?(?:[ ](?:thousand|million|billion|trillion))?|\b(?:{_SMALL})\b", re.IGNORECASE
)
_STARTS_WITH_NUMBER = re.compile(
    rf"\W*(?:(?:about|around|approximately|roughly|nearly|almost|over|only|exactly|some|a total of|more than)\s+)?"
    rf"(?:[$€£¥]|\d|(?:{_SMALL})\b)",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not|never|neither|nor|cannot|nobody|none|if|whether|perhaps|maybe|possibly|might|unclear|wrongly|mistakenly"
    r"|unless|also|rumou?red|first thought|misconception|myth)\b|n['’]t\b|\?",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r";\s|,\s+(?:but|however|although|though|while|whereas|yet|and then|after which)\b|\s[–—]\s|:\s+", re.IGNORECASE
)
_BRACKETS = re.compile(r"\s*\([^()]*\)")
_AFTER_SUBJECT = re.compile(
    r"(?:(?:,[^,;]{1,60}){1,3},)?\s+(?P<verb>is|was|are|were|became|remains|(?P<other>[a-z]{3,}))\b"
)
# "by the English physicist": what stands between "by" and a person's name.
_DESCRIPTION = rf"(?:[ ](?!(?:of|in|to|from|with|and|{_PARTICLES})\b)[a-z-]+){{0,3}}"
_BEFORE_DOER = re.compile(rf"\bby(?:[ ](?:the|an?|his|her|its))?(?:[ ][A-Z][a-z]+)?{_DESCRIPTION}\s+$")
_DOER = re.compile(
    r"\b(?P<deed>[a-z]+)[ ]by(?:[ ](?:the|an?))?"
    rf"(?:[ ][A-Z][a-z]+(?=[ ](?!(?:{_PARTICLES})\b)[a-z]))?{_DESCRIPTION}[ ]"
    rf"(?P<doer>{_NAME.pattern}(?:(?:,[ ]{_NAME.pattern})*,?[ ]and[ ]{_NAME.pattern})?)"
)
_BEFORE_OBJECT = re.compile(
    r"\b(?:by|is|was|are|were|called|named|est|es|ist|(?:granted|awarded|given|went|attributed|credited)\s+to)"
    r"(?:[ ](?:actually|currently|probably|likely|indeed|then|now))?(?:[ ](?:the|an?))?\s+$"
)
_RANK = re.compile(r"\b(?:first|second|third|fourth|fifth|sixth|seventh|2nd|3rd|[4-9]th)\b", re.IGNORECASE)
_SUPERLATIVE = re.compile(r"\b(?:first|(?!interest|request|west|east|rest|test|best-)[a-z]{2,}est)\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?<=['’]s)\s|(?<=s['’])\s|['’]s?\s")
_POSSESSIVE_NAME = re.compile(rf"{_CAPITAL}[\w-]+[ ]{_CAPITAL}[\w-]*['’]s\s(?=[a-z])")
_OF_NAME = re.compile(r"\b(?:of|from|with|for|after|like|than|in|at|near)(?:[ ]the)?\s+$")
_IN_PLACE = re.compile(r"\b(?:in|at|on|near)(?:[ ]the)?(?:[ ](?:northern|southern|eastern|western|central))?\s+$")
_REGION = re.compile(rf"(?:,[ ]{_NAME.pattern})+")
_DESCRIBES = re.compile(r"[ ](?P<words>[a-z-]+(?:[ ][a-z-]+){0,2})[ ]")
_DEFINITE = re.compile(r"\W*(?:(?:but|so|and|actually|in fact),?\s+)?(?:the|its|their|his|her)\b", re.IGNORECASE)
_ASKS_NOUN = re.compile(
    r"\W*(?:what|which) (?P<noun>[a-z]+) "
    r"(?P<predicate>(?:is|was|are|were) (?:(?:the|an?|its|in|on|at|of|by|for|to) )*[a-z]+)\b",
    re.IGNORECASE,
)
_ASKS_CALLED = re.compile(r"\b(?:called|named|known as|name of|term)\b", re.IGNORECASE)
_CALLED = re.compile(
    r"\b(?:called|known as)\s+(?:an?\s+|the\s+)?\"?"
    r"(?P<part>[^\s,.;:()\"](?:[^,.;:()\"]{1,38}[^\s,.;:()\"])?)(?=\W*$|[,.;:(])"
)
# "At that time it was called Leningrad."
_IT_IS_CALLED = re.compile(
    r"\b(?:it|this|that|he|she|they)\s+(?:is|was|are|were)\s+(?:called|known as)\b", re.IGNORECASE
)
# "中国的首都是哪里？", and "中国的首都是北京。"
_ASKS_UNSPACED = re.compile(r"(?P<before>[\u3040-\u9fff]{3,60}?)(?:哪里|哪儿|哪个|哪一个|什么|谁|多少|何|どこ|誰|だれ)")
_UNSPACED_END = re.compile(r"[，,。、；（(]")
_QUOTED = re.compile(r"[\"“«](?P<inside>[^\"”»]{2,80})[\"”»]")
_AUXILIARY = re.compile(
    r"\W*(?!was (?:ist|sind|war|hat)\b)"
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b(?!.*\bor\b)",
    re.IGNORECASE,
)
_YES_NO = re.compile(r"\W*(?P<word>yes|no)[.,!:;]", re.IGNORECASE)
_PERSONS = (
    "author|person|man|woman|king|queen|president|actor|actress|singer|scientist|player|artist|painter|poet|writer"
    "|philosopher|composer|director|explorer|astronaut|inventor|general|pope|emperor|physicist|mathematician|novelist"
)
_PLACES = "city|country|state|town|continent|province|island|nation|county|region|village"
_KINDS: tuple[tuple[AnswerKind, re.Pattern[str]], ...] = (
    ("year", re.compile(r"\b(?:what|which) year\b", re.IGNORECASE)),
    ("date", re.compile(r"\bwhen\b|\b(?:what|which) (?:date|day|month)\b", re.IGNORECASE)),
    ("number", re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)),
    ("place", re.compile(rf"\bwhere\b|\b(?:what|which) (?:{_PLACES})\b", re.IGNORECASE)),
    ("person", re.compile(rf"\b(?:who|whom|whose)\b|\b(?:what|which) (?:\w+ )?(?:{_PERSONS})\b", re.IGNORECASE)),
)
_HOW_MANY = re.compile(r"\bhow many (?:\w+ ){0,2}?(?P<noun>[a-z]{3,})\b", re.IGNORECASE)
_AMOUNT = re.compile(rf"(?P<number>[\d.,]*\d|{_SMALL})\s+(?P<noun>[a-z]{{3,}}(?: [a-z]+)?)", re.IGNORECASE)
_FURTHER = re.compile(
    r",\s+(?!(?:or|and|but|not|if|unless|maybe|perhaps|possibly|probably|though|although|nor|then)\b)"
    r"(?![^\n]*\b(?:some|according|give or|say|says|said|think|believe)\b)[a-z][^\n]*$"
    r"|\s+(?:near|close to|next to|from the|between|at the)\s[^\n]*$"
)
_IN_YEAR = re.compile(r"(?<=[a-z])\s(?:in|since|from)\s(?:1\d{3}|20\d{2})$")
# "two moons, Phobos and Deimos"
_COUNT_BEFORE_LIST = re.compile(rf"(?:\d+|{_SMALL})(?:[ ][a-z]+){{1,2}}(?=[,:] )", re.IGNORECASE)
_INSIDE = re.compile(rf"\((?P<inside>{_CAPITAL}[\w'’.-]*(?:[ ]{_CAPITAL}[\w'’.-]*){{0,3}})\)")
# "allegedly painted by", "may have been written by": what makes the name behind it no answer, within its clause.
_DOUBTS_NEXT = re.compile(
    r"\b(?:allegedly|supposedly|reportedly|purportedly|possibly|perhaps|maybe|rumou?red|disputed"
    r"|(?:may|might|could) (?:have been|be))\b[^,;:.]{0,60}$",
    re.IGNORECASE,
)
# "someone who worked with", "in the style of": the name behind it is another one, unless the question has the word.
_NAMES_OTHER = re.compile(
    r"\b(?P<word>(?:someone|somebody|copy)(?=\b[^,;:.]{0,60}$)"
    r"|(?:in the (?:style|manner) of|used to be|near|close to)(?=\s+(?:the\s+)?$))",
    re.IGNORECASE,
)
# "after 1918", "no later than 1912"
_BOUND = re.compile(
    r"\b(?P<bound>between [\w.,]{1,20} and|after|before|prior to|(?:no |not )?(?:later|earlier|more|less|fewer) than"
    r"|at (?:least|most)|up to)"
    r"\s+(?:the year\s+)?$",
    re.IGNORECASE,
)
_OR_NAME = re.compile(
    rf"[\"”’']?,?\s+or\s+(?:(?:perhaps|maybe|possibly|even|by|in|the|an?)\s+)*(?P<other>{_NAME.pattern})"
)
_OR_NUMBER = re.compile(
    r",?\s+or\s+(?:(?:perhaps|maybe|possibly|even|in)\s+)*(?P<other>\d[\d.,]*)(?![\w°%])(?!\s?[°%$a-z])"
)
_NAME_OR = re.compile(rf"(?P<other>{_NAME.pattern})[\"”’']?,?\s+or\s+(?:(?:perhaps|maybe|possibly|by|in|the|an?)\s+)*$")
# "Cairo, or Al-Qahira in Arabic": one name in two languages.
_IN_LANGUAGE = re.compile(
    r",?\s+or\s+[^,.;()\n]{1,40}?\s+in\s+(?:(?:its|the) (?:local|native) language"
    r"|[A-Z]\w+(?:ish|ese|ic|i|an|ew|ch|ai))\b"
)
# "100 °C or 212 °F"
_TWO_UNITS = re.compile(
    r"(?P<amount>\d[\d.,]*\s?(?P<unit>[°a-zA-Z]+))\s+(?:or|\(?=|=)\s+(?P<other>\d[\d.,]*\s?(?P<other_unit>[°a-zA-Z]+))\b[^\d]*"
)
# "a deep, brilliant blue" where a question asks for a colour; "East Africa" where it asks for a continent.
_ASKS_COLOUR = re.compile(r"\bcolou?r\b", re.IGNORECASE)
_SHADE = re.compile(
    r"(?:an?\s+)?(?:(?:deep|brilliant|bright|vivid|beautiful|rich|clear|intense|vibrant|striking|pure|solid),?\s+(?:and\s+)?)+"
    r"(?P<colour>red|orange|yellow|green|blue|purple|pink|brown|black|white|gr[ae]y)",
    re.IGNORECASE,
)
_PART_OF_CONTINENT = re.compile(
    r"(?:North|South|East|West|Central)(?:-?(?:east|west))?(?:ern)?\s+(?P<continent>Africa|Asia|Europe)"
)
_ITS = re.compile(r"^(?:it['’]s|that['’]s|it is|it was|that was|they were)\s+", re.IGNORECASE)


# "4.2 km long"
_MEASURED = re.compile(
    r"(?P<amount>[\d.,]*\d\s?[\w°/²³]+(?: per \w+)?) (?:long|tall|high|wide|deep|old|away|thick|heavy)"
)
# "Kyoto, Japan" where a question asks where something is.
_ASKS_WHERE = re.compile(r"\W*where\b", re.IGNORECASE)
_CITY_AND_REGION = re.compile(rf"(?:in )?(?P<city>{_NAME.pattern}), {_NAME.pattern}")


class _Match(NamedTuple):
    """A part of a clause that may be the answer."""

    text: str
    start: int
    end: int


def match_stems(word: str, other: str) -> bool:
    """Return whether two words are one, or differ in a short ending only.

    >>> match_stems("written", "write"), match_stems("king", "kings"), match_stems("and", "any")
    (True, True, False)
    """
    if word == other:
        return True
    short, long = sorted((word, other), key=len)
    return len(short) >= 3 and long.startswith(short[: max(3, len(short) - 1)]) and len(long) - len(short) <= 3


def is_plausible(answer: str | None, question: str) -> bool:
    """Return whether a reading has the form of an answer to a question: short, no mere copy, a name for "who".

    >>> is_plausible("1901 to Wilhelm Röntgen", "Who got the prize?"), is_plausible("Madrid", "What is the capital?")
    (False, True)
    """
    if answer is None:
        return False
    words = [word.lower() for word in _WORD.findall(answer)]
    content = [word for word in words if word not in FUNCTION_WORDS]
    question_words = {word.lower() for word in _WORD.findall(question)}
    if " or " not in question and content and question_words.issuperset(content):
        return False
    repeated = sum(word in question_words for word in content)
    if (repeated > 1 and len(words) > MOST_REPEATING) or _read_unspaced(answer, question) is not None:
        return False
    kind = find_kind(question)
    if kind == "person":
        name = _NAME.match(answer.removeprefix("the ").removeprefix("The "))
        return len(words) <= MOST_NAME_WORDS and name is not None and content[:1] != ["its"]
    if kind in {"date", "year", "number"}:
        has_form = _STARTS_WITH_NUMBER.match(answer) is not None if kind == "number" else _is_date(answer)
        return len(words) <= MOST_WORDS and (has_form or len(words) <= 2)
    return len(words) <= MOST_WORDS and kind != "yes-no"


def _is_date(answer: str) -> bool:
    """Return whether an answer has one date, and no clause behind it."""
    dates = list(_DATE.finditer(answer))
    return len(dates) == 1 or (not dates and _NUMBER.search(answer) is not None)


def find_candidate(sentences: list[str], question: str, *, least_share: float = LEAST_SHARE) -> str | None:
    """Return the only part of the sentences of a completion that can be what a question asks for; else None.

    Parameters
    ----------
    sentences
        The sentences of a completion, in their order.
    question
        Text of the question.
    least_share
        Share of the words of the question that a clause must have, from 0 to 1.

    Returns
    -------
    str or None
        Words of a sentence; None when no clause repeats enough of the question, or has no answer in a clear place.

    Examples
    --------
    >>> find_candidate(["The prize was awarded in 1901 to Wilhelm Röntgen."], "Who was awarded the first prize?")
    'Wilhelm Röntgen'
    >>> find_candidate(["Lake Baikal, in southern Siberia, is the deepest lake."], "What is the deepest lake?")
    'Lake Baikal'
    >>> find_candidate(["It was not directed by Sofia Coppola."], "Who directed it?") is None
    True
    """
    kind, deed = find_kind(question), find_deed(question)
    if kind == "yes-no":
        word = _YES_NO.match(sentences[0]) if sentences else None
        return None if word is None else word["word"]
    unspaced = (rest for sentence in sentences if (rest := _read_unspaced(sentence, question)) is not None)
    if (rest := next(unspaced, None)) is not None:
        return rest
    content = _list_content(question)
    names = {word.lower() for word in _WORD.findall(question) if word[0].isupper()} & content
    same = _SAME_DEEDS.get(deed or "", ())
    clauses = _rank_clauses(sentences, content, names, least_share, dict.fromkeys(same, deed or ""))
    ranked = sorted(clauses, key=lambda pair: -pair[0])
    if not ranked and _ASKS_CALLED.search(question):
        ranked = [(0.0, sentence) for sentence in sentences if _IT_IS_CALLED.search(sentence)][:1]
    if kind == "person" and deed is not None:
        ranked = [(share, clause) for share, clause in ranked if names_deed(clause, deed)]
    ranked = [(share, clause) for share, clause in ranked if not has_other_rank(clause, question)]
    if not ranked or _DENIES.search(ranked[0][1]) or is_reported(ranked[0][1]):
        return None
    clause = ranked[0][1]
    if (named := _find_named(clause, question)) is not None:
        return named
    if _ASKS_CALLED.search(question) and (called := _CALLED.search(clause)) is not None:
        is_about = _shares_words(clause[: called.start()], content) or _IT_IS_CALLED.search(clause)
        part = called["part"] if is_about else None
    elif kind in {"date", "year"}:
        part = _find_nearest(_YEAR if kind == "year" else _DATE, clause, content)
    elif kind == "number":
        part = _find_number(clause, question, content)
    else:
        part = _find_name(clause, kind, content)
    return part


def _find_named(clause: str, question: str) -> str | None:
    """Return what stands behind the noun of a question and before its predicate; None if a clause has no such words.

    "gold" in "The color gold was used on the cover", where the question is "What color was used on the cover?".
    """
    asks = _ASKS_NOUN.match(question)
    if asks is None:
        return None
    named = re.match(
        rf"\W*the {asks['noun']} (?P<part>[^\W\d_]+(?: [^\W\d_]+)?) {asks['predicate']}\b", clause, re.IGNORECASE
    )
    if named is None or any(_is_no_name(word) for word in named["part"].lower().split()):
        return None
    return named["part"]


def _is_no_name(word: str) -> bool:
    """Return whether a word behind a noun only describes it: "that", "chosen", "mainly" behind "the color"."""
    return word in _NO_NAMES or word.endswith(("ly", "ed", "ing"))


def list_shorter_answers(answer: str, question: str) -> Iterator[str]:
    """Yield an answer without what may stand beside it: a remark, brackets, or the noun that a number counts.

    >>> list(list_shorter_answers("Leonardo da Vinci, between 1503 and 1519", "Who painted it?"))
    ['Leonardo da Vinci']
    >>> list(list_shorter_answers("seven continents", "How many continents are there?"))
    ['seven']
    """
    kind, original = find_kind(question), answer
    answer = _ITS.sub("", answer)
    if answer != original:
        yield answer
    if kind == "date":
        yield from _list_year(answer)
    head, _, last = answer.rpartition(" ")
    if head and last.lower() in _WATERS and last.lower() in question.lower():
        yield head  # the Nile River, where the question asks for a river
    if kind in {"person", "name"} and (dated := _IN_YEAR.search(answer)) is not None:
        yield answer[: dated.start()]
    further = _FURTHER.search(answer)
    if further is not None and not _DENIES.search(further[0]) and (shorter := answer[: further.start()].strip()):
        yield shorter
        if kind == "year":
            yield from _list_year(shorter)
    yield from _list_measures_and_cities(answer.strip(" .*"), question)
    yield from _list_counts(answer, question)


def _list_counts(answer: str, question: str) -> Iterator[str]:
    """Yield an answer without brackets or the noun that its number counts."""
    if find_kind(question) == "number" and (first := _COUNT_BEFORE_LIST.match(answer)) and not _DENIES.search(answer):
        answer = first[0]
        yield answer
    if "(" in answer:
        yield from _list_around_brackets(answer)
    amounts = _AMOUNT.fullmatch(answer.strip(" .*"))
    if amounts is not None and (request := _HOW_MANY.search(question)) is not None:
        nouns = amounts["noun"].lower().split()
        if any(match_stems(noun, request["noun"].lower()) for noun in nouns) or amounts["noun"].lower() in question:
            yield amounts["number"]


def _list_year(answer: str) -> Iterator[str]:
    """Yield the year of an answer that is a date."""
    if (year := _YEAR.search(answer)) and _DATE.fullmatch(answer):
        yield year[0]


def _list_measures_and_cities(answer: str, question: str) -> Iterator[str]:
    """Yield "4.2 km" of "4.2 km long", and "Kyoto" of "Kyoto, Japan" where a question asks where something is."""
    if (measured := _MEASURED.fullmatch(answer)) is not None:
        yield measured["amount"]
    if (units := _TWO_UNITS.fullmatch(answer)) is not None and units["unit"] != units["other_unit"]:
        yield from (units["amount"], units["other"])
    if _ASKS_COLOUR.search(question) and (shade := _SHADE.fullmatch(answer)) is not None:
        yield shade["colour"]
    if "continent" in question and (part := _PART_OF_CONTINENT.search(answer)) is not None:
        yield part["continent"]
    if _ASKS_WHERE.match(question) and (located := _CITY_AND_REGION.fullmatch(answer)) is not None:
        yield located["city"]


def _list_around_brackets(answer: str) -> Iterator[str]:
    """Yield an answer without its brackets, and the name in them."""
    without = " ".join(_BRACKETS.sub("", f" {answer}").split())
    if without and without != answer:
        yield without
    if (inside := _INSIDE.search(answer)) is not None and not _DENIES.search(answer):
        yield inside["inside"]


def remove_translation(text: str) -> str:
    """Return a text without the second name of what it names in another language.

    >>> remove_translation("It is Cairo, or Al-Qahira in Arabic.")
    'It is Cairo.'
    """
    return _IN_LANGUAGE.sub("", text)


def widen_answer(answer: str, sentences: Sequence[str], question: str = "") -> str | None:
    """Return an answer with what its sentences join to it by "or" or "after"; None if they doubt it or name another.

    A sentence that gives the answer alone leaves it as it is.

    >>> widen_answer("Jane Austen", ["It is by Jane Austen or Mary Shelley."])
    'Jane Austen or Mary Shelley'
    >>> widen_answer("1918", ["It ended some time after 1918."]), widen_answer("Monet", ["It is allegedly by Monet."])
    ('after 1918', None)
    """
    widened: str | None = answer
    is_place = find_kind(question) == "place"
    for sentence in sentences:
        plain = sentence.replace("**", "")
        start = plain.find(answer)
        while start >= 0:
            before, behind = plain[:start], plain[start + len(answer) :]
            other = None if is_place else _NAMES_OTHER.search(before)
            if _DOUBTS_NEXT.search(before) or (other is not None and other["word"].lower() not in question.lower()):
                widened = None
            elif joined := _join_alternative(answer, before, behind):
                widened = joined
            else:
                return answer
            start = plain.find(answer, start + len(answer))
    return widened


def _join_alternative(answer: str, before: str, behind: str) -> str | None:
    """Return an answer with the other one that "or" joins to it, or with "after"; None if it stands alone."""
    is_number = answer[0].isdigit() or answer.lower().partition(" ")[0] in SMALL_NUMBERS
    if is_number and (bound := _BOUND.search(before)) is not None:
        return f"{bound['bound']} {answer}"
    other = _OR_NUMBER if answer[0].isdigit() else _OR_NAME if answer[0].isupper() else None
    if other is None:
        return None
    if (following := other.match(behind)) is not None:
        return f"{answer} or {following['other']}"
    preceding = _NAME_OR.search(before) if answer[0].isupper() else None
    return None if preceding is None else f"{preceding['other']} or {answer}"


def find_kind(question: str) -> AnswerKind:
    """Return what a question asks for."""
    if _AUXILIARY.match(question):
        return "yes-no"
    return next((kind for kind, pattern in _KINDS if pattern.search(question)), "name")


def find_deed(question: str) -> str | None:
    """Return what somebody did, or is, of whom a question asks: "painted" in "Who painted it?"; None without one."""
    words = [word.lower() for word in _WORD.findall(question)]
    start = next((i + 1 for i, word in enumerate(words) if word in {"who", "whom", "which", "what"}), len(words))
    return next((word for word in words[start:] if word not in FUNCTION_WORDS and word not in _IDLE), None)


def names_deed(clause: str, deed: str) -> bool:
    """Return whether a clause has a word for what a question asks about: "inventor" where it asks who invented."""
    words = [word.lower() for word in _WORD.findall(clause)]
    start = deed[: max(SHORTEST_START, len(deed) - 3)]
    same = _SAME_DEEDS.get(deed, ())
    return any(match_stems(word, deed) or word in same or word.startswith(start) for word in words)


def _rank_clauses(
    sentences: list[str], content: set[str], names: set[str], least: float, same: dict[str, str]
) -> Iterator[tuple[float, str]]:
    """Yield the clauses that have enough words of a question, and one of its names, with the share of its words.

    A word of `same`, or one that begins with it, counts as the word of the question that it maps to.
    """
    for sentence in sentences:
        plain = _BRACKETS.sub("", sentence).replace("**", "")
        for clause in _CLAUSE_END.split(plain):
            words = [_name_deed(word.lower(), same) for word in _WORD.findall(clause)]
            if len(clause) > LONGEST_CLAUSE or len(words) < 3 or clause.rstrip().endswith("?"):
                continue
            shared = {word for word in content if any(match_stems(word, other) for other in words)}
            share = len(shared) / len(content) if content else 0
            is_continued = clause is not sentence and any(name in plain.lower() for name in names)
            is_defined = content - names <= shared and (_DEFINITE.match(clause) is not None or is_continued)
            has_name = not names or bool(names & shared) or is_defined
            has_other = names == content or bool(shared - names)
            is_about = share >= least and has_name and has_other
            if shared and (is_about or words[0] in _PRONOUNS or ("it" in words[:4] and share >= least)):
                yield share, clause


def _name_deed(word: str, same: dict[str, str]) -> str:
    """Return the word of the question that says the same as a word; the word itself if there is none."""
    return next((deed for other, deed in same.items() if word == other), word)


def _find_nearest(pattern: re.Pattern[str], clause: str, content: set[str]) -> str | None:
    """Return the match that stands closest behind a word of the question; None if two stand equally close."""
    places = [
        word.end() for word in _WORD.finditer(clause) if any(match_stems(word[0].lower(), other) for other in content)
    ]
    matches = [match for match in pattern.finditer(clause) if match[0].lower() not in content]
    if len(matches) <= 1:
        return matches[0][0] if matches else None
    distances = [min((m.start() - p for p in places if p <= m.start()), default=LONGEST_CLAUSE) for m in matches]
    least = min(distances)
    return matches[distances.index(least)][0] if distances.count(least) == 1 else None


def _find_number(clause: str, question: str, content: set[str]) -> str | None:
    """Return the number before the noun that a question counts, or the only number that is not in the question."""
    matches = [match for match in _NUMBER.finditer(clause) if match[0].lower() not in content]
    if (request := _HOW_MANY.search(question)) is not None:
        noun = request["noun"].lower()
        amounts = [
            match[0]
            for match in matches
            if any(match_stems(word.lower(), noun) for word in _WORD.findall(clause[match.end() :])[:3])
        ]
        return amounts[0] if amounts else None
    return matches[0][0] if len(matches) == 1 else None


def has_other_rank(sentence: str, question: str) -> bool:
    """Return whether a sentence is about the second or third of what a question asks for the first or the largest.

    >>> has_other_rank("Saturn is the second largest planet.", "What is the largest planet?")
    True
    >>> has_other_rank("It is the largest; Saturn is second.", "What is the largest planet?")
    False
    """
    asks = {word.lower() for word in _RANK.findall(question)}
    superlatives = {word.lower() for word in _SUPERLATIVE.findall(question)}
    if not superlatives or asks - {"first"}:
        return False
    ranks = [match for match in _RANK.finditer(sentence) if match[0].lower() != "first"]
    if "first" in superlatives:
        return bool(ranks) and not re.search(r"\bfirst\b", sentence, re.IGNORECASE)
    return any(
        word.lower() in superlatives
        for rank in ranks
        for word in re.findall(r"\A[- ](?:most )?(\w+)", sentence[rank.end() :])
    )


def find_doer(sentence: str, question: str) -> str | None:
    """Return who a sentence says did what a question asks who did: "was taught by Plato"; None without such words.

    >>> find_doer("Jaws was directed by Steven Spielberg and produced by David Brown.", "Who produced Jaws?")
    'David Brown'
    >>> find_doer("Hamlet was written by a rival of Ben Jonson.", "Who wrote Hamlet?") is None
    True
    """
    deed = find_deed(question) if find_kind(question) == "person" else None
    if deed is None or _DENIES.search(sentence) or is_reported(sentence):
        return None
    if _POSSESSIVE_NAME.search(sentence):
        return None  # "Emma, Jane Austen's novel, written by NAME": two people who may be meant
    doers = [match for match in _DOER.finditer(sentence) if names_deed(match["deed"], deed)]
    return doers[0]["doer"] if len(doers) == 1 and not _is_repeated(doers[0]["doer"], _list_content(question)) else None


def _list_content(question: str) -> set[str]:
    """Return the words of a question that say what it is about, in lower case."""
    return {word.lower() for word in _WORD.findall(question)} - FUNCTION_WORDS - _INTERROGATIVES


def _find_name(clause: str, kind: AnswerKind, content: set[str]) -> str | None:
    """Return the name that stands where a clause has its answer; None if there is none."""
    for quoted in list(_QUOTED.finditer(clause)):
        if _shares_words(quoted["inside"], content):  # the title of what the question is about
            clause = clause.replace(quoted[0], " " * len(quoted[0]))
    names = [name for name in _list_names(clause) if not _is_repeated(name.text, content)]
    names = [
        name for i, name in enumerate(names) if i + 1 == len(names) or not _describes_next(clause, name, names[i + 1])
    ]
    for name in names[:1]:
        after = _AFTER_SUBJECT.match(clause, name.end)
        is_first = not _WORD.search(clause[: name.start].replace("The ", ""))
        if is_first and after and _shares_words(clause[name.end :], content):
            is_verb = after["other"] is None or any(match_stems(after["other"], word) for word in content)
            return name.text if is_verb else None
    pattern = _BEFORE_DOER if kind == "person" else _BEFORE_OBJECT
    if kind == "person" and any(_POSSESSIVE.match(clause, name.end) for name in names[:-1]):
        return None  # "Emma, Jane Austen's novel, written by NAME": two people who may be meant
    for name in names:
        before = clause[: name.start]
        is_marked = _BEFORE_OBJECT.search(before) or pattern.search(before)
        if is_marked and _shares_words(before, content):
            return name.text
    if kind == "place":
        located = [name for name in names if _IN_PLACE.search(clause[: name.start])]
        if located:
            region = _REGION.match(clause, located[0].end)
            return located[0].text + (region[0] if region else "")
    return _select_only(clause, kind, names)


def _select_only(clause: str, kind: AnswerKind, names: list[_Match]) -> str | None:
    """Return the only name of a clause that asks for a person or a place, but not of "a rival of NAME"; else None."""
    if kind not in {"person", "place"} or len({name.text for name in names}) != 1:
        return None
    return None if kind == "person" and _OF_NAME.search(clause[: names[0].start]) else names[0].text


def _list_names(clause: str) -> Iterator[_Match]:
    """Yield the names of a clause, without a word that is a capital only at its start."""
    for match in _NAME.finditer(clause):
        start = match.start()
        while (word := _WORD.match(clause, start)) and word[0].lower() in _STARTERS and word.end() < match.end():
            start = word.end() + 1
        text = clause[start : match.end()].strip(" '’-")
        if text and text.lower() not in _STARTERS:
            yield _Match(text, start, match.end())


def _is_repeated(name: str, content: set[str]) -> bool:
    """Return whether all words of a name are in the question."""
    words = [word.lower() for word in _WORD.findall(name)]
    return all(word in FUNCTION_WORDS or any(match_stems(word, other) for other in content) for word in words)


def _describes_next(clause: str, name: _Match, following: _Match) -> bool:
    """Return whether a name only describes the next one: "the English actress Emma Watson"."""
    between = _DESCRIBES.fullmatch(clause[name.end : following.start])
    return between is not None and FUNCTION_WORDS.isdisjoint(between["words"].split())


def _read_unspaced(sentence: str, question: str) -> str | None:
    """Return what stands in a sentence of Chinese or Japanese in place of the question's "what" or "where"."""
    request = _ASKS_UNSPACED.match(question.strip())
    if request is None or not sentence.startswith(request["before"]):
        return None
    return _UNSPACED_END.split(sentence[len(request["before"]) :])[0].strip() or None


def _shares_words(text: str, content: set[str]) -> bool:
    """Return whether a text has a word of the question."""
    return any(match_stems(word.lower(), other) for word in _WORD.findall(text) for other in content)
