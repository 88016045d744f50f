r"""Find where a sentence speaks of a choice, and what it says of it.

A choice is *mentioned* in a sentence by its label ("option B", "(b)", "sentence A", "the third measure"), by its whole
text or amount, or by its distinctive words, which are those that no other choice has; words are compared by their
stems. A mention is *denied* where its clause has a word such as "not", "unlike" or "ruled out", and *supported* where
it has one such as "correct" or "fits". It is *considered* where the sentence asks, supposes or reports it.

Where the question asks for an exception ("Which is NOT a mammal?"), a mention that is negated is *odd*, and so may be
the answer; where it asks for what is false, one that is said to be incorrect is odd, and one that is said to be true
denied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from howsure.extraction.choice_amounts import match_amount
from howsure.extraction.choice_phrases import find_mentions, is_considered
from howsure.extraction.languages import is_reported
from howsure.extraction.vocabulary import OPTION_NOUNS, Vocabulary, any_of, find_words

__all__ = [
    "ChoiceMention",
    "QuestionWords",
    "find_stems",
    "read_mentions",
    "read_question",
    "read_reference",
    "stem_word",
]

#: Characters of a choice and of a question whose words are compared.
LONGEST_CHOICE, LONGEST_QUESTION = 400, 300
#: Share of the distinctive words of a choice that mention it, and of those of the choice that has most.
LEAST_SHARE, NEAR_BEST = 0.5, 0.75
#: How much mentions count: by all distinctive words, by a capital letter without a mark, by "this".
BY_WORDS, BY_LETTER, BY_PRONOUN = 0.8, 0.8, 0.8
#: Letters of a stem, at least and at most.
SHORTEST_STEM, LONGEST_STEM = 4, 8
#: Weight of a distinctive word that the question has too.
QUESTION_WORD = 0.3
#: Characters between two mentions that share a predicate.
LONGEST_CHAIN = 40
#: Most places of a sentence that are read, from its end.
MOST_PLACES = 24

_WORD = re.compile(r"\d+(?:[.,/:]\d+)*|[^\W\d_]+")
_CLAUSE = re.compile(
    r"[,;:()\n–—]\s?|\s(?:but|while|whereas|although|though|because|since|as|which|and\sso|so|when|if|where)\s|→"
)
_NEGATED = re.compile(
    any_of(
        *("not", "never", "neither", "nor", "cannot", "no", "unlike", "rather than", "instead of", "than", "contrast"),
        *("as opposed", "contrary", "except", "lacks?", "fails?", "without", "absent", "on the other hand", "contrast"),
        *("nicht", "kein\\w*", "pas", "tampoco", "não"),
    )
    + r"(?!\w)|n['’]t\b|(?<!\w)не(?!\w)|不|没|않|아니|ない|ไม่|ليس|नहीं|নয়"
)
_REJECTED = re.compile(
    any_of(
        *("incorrect", "wrong", "false", "invalid", "implausible", "unlikely", "irrelevant", "inappropriate", "untrue"),
        *(
            "ruled out",
            "rules out",
            "ruling out",
            "eliminate[sd]?",
            "eliminating",
            "exclud\\w+",
            "reject\\w*",
            "insufficient",
            "innocent",
        ),
        *(
            "tempt\\w*",
            "distractor",
            "poorly",
            "weakest",
            "in part",
            "partly",
            "mistaken",
            "doubtful",
            "half",
            "absurd",
        ),
        *("used to", "overbroad", "falsch", "descarta", "sbagliat[oa]", "incorrect[oa]", "incorrecte"),
    )
    + r"(?!\w)|[✗✘❌☒]|錯|错|неверн|неправильн"
)
_SUPPORTED = re.compile(
    any_of(
        *(
            "correct\\w*",
            "right",
            "true",
            "valid",
            "best",
            "fits?",
            "match\\w*",
            "works",
            "exactly",
            "answer",
            "plausible",
        ),
        *("appropriate", "suitable", "captures?", "describes?", "only", "likel\\w+", "most", "closest", "clearly"),
        *("convincing", "preferred", "better", "remaining", "richtig", "correct[oa]", "vrai"),
    )
    + r"(?!\w)|[✓✔✅☑]|正确|正解|옳|верн|правильн"
)
_TRUE = re.compile(any_of("true", "correct", "right", "valid", "accurate") + r"\b")
_ASKS_FALSE = re.compile(
    r"\b(?:incorrect[oa]?|false|wrong|untrue|inaccurate|invalid|falsche?|fausse|fals[oa])\b|错误|不正确|неверн",
    re.IGNORECASE,
)
_ASKS_EXCEPTION = re.compile(
    r"\b(?:NOT|EXCEPT|except)\b|\b(?:is|are|was|does|do|would|did|can)(?:\snot\b|n['’]t\b)|\bnot\s(?:a|an|true|correct|valid|part|one)\b"
)
_SENTENCE_BREAK = re.compile(r"[.!?]\s+")
_OPTIONS_LINE = re.compile(r"\n[ \t]*(?:Options:|Choices:|Answer Choices:|[-(]?[Aa1][).:][ ])", re.IGNORECASE)
_NAMED_LABEL = re.compile(
    rf"\b(?:{OPTION_NOUNS}|statement|sentence|ending|solution|description|suspect|answer|title|argument|claim|letter|measure"
    r"|plan|approach|study|passage|number|that\sof)\s+[*(\"'\[]{0,4}$",
    re.IGNORECASE,
)
_JOINED_LABEL = re.compile(
    r"[*_]{0,2}\s*(?:,|and|or|nor|&|und|oder|et|ou|y|o|e)\s+[*(]{0,3}[B-J]\b"
    r"|[*_]{0,2}\s+(?:is|was|the|as|because|since|does|captures?|can|cannot|would|will|has|by|from)\b"
)
_ARTICLE = re.compile(r"[Aa]\s[^\WA-Z]|I\s")
_ORDINAL_NOUNS = (
    r"(?:one|option|choice|alternative|ending|solution|measure|statement|sentence|answer|approach|title|description|response"
    r"|method|item|plan|explanation|argument|of\s+(?:these|those|the))"
)
_ORDINAL = re.compile(
    rf"\b(?:the\s+)(?P<ordinal>first|second|third|fourth|fifth|last)\s+{_ORDINAL_NOUNS}\b"
    r"|\b(?:option|choice|solution|ending|number|statement|sentence|answer)\s+(?P<number>[1-9])(?![\w%]|[.,]\d)",
    re.IGNORECASE,
)
_ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4}
_AMOUNT = re.compile(
    r"(?<![\w.,/^])(?P<number>[$€£]?\d[\d,]*(?:\.\d+)?(?:/\d+)?)(?![\w/])(?:\s?(?:%|(?P<noun>[^\W\d_]+)))?(?!\s?[+*/=×·^]|\s-\s)"
)
_NOUN_BEHIND = re.compile(r"\s+([^\W\d_]{4,})")
# What joins two mentions that share their predicate: "A, C and D are wrong", "A is wrong, and so is D".
_CHAIN = re.compile(
    r"[\s,;*()\"'\]\[]*(?:(?:and|or|nor|und|oder|et|ou|y|e|o|и|&)\b)?[\s*(\"'\[]*(?:(?:option|choice|statement)s?|the|an?)?[\s*(\"'\[]*"
)
_SO_IS = re.compile(r"\b(?:so|neither|nor)\s+(?:is|are|does|do)\s*$")
_TOGETHER = ({"label", "text"}, {"both", "label"}, {"both", "text"})
_EQUALS = re.compile(r"(?<![<>!=])=(?!=)")
_OTHERS_THINK = re.compile(
    r"\b(?:some|many|most|other)\s+(?:people|students|experts|historians|would|might|say)\b"
    r"|\b(?:one|you|people|they)\s+(?:could|might|think|say|choose|assume|confuse)\b|\bentweder\b"
    r"|(?<!\bI )\b(?:said|says|wrote|writes|claim(?:s|ed)|argue[sd])[:,]\s[\"“']",
    re.IGNORECASE,
)
_NEGATED_VERB = re.compile(r"\b(?:do|does|did|can|could|would)(?:\s+not|n['’]t)\b", re.IGNORECASE)
_OWN_VIEW = re.compile(r"\b(?:but|however|so|therefore|I\s(?:think|believe|would)|I['’]d)\b")
_PART_BREAK = re.compile(r"[,;:]\s")
_ASIDE = re.compile(r"[*_\"'”]*\s*\([^()]*\)")
_LABEL_IN_BRACKETS = re.compile(r"\((\w{1,4})\)")
_POSED = re.compile(
    r"\b(?:between|watch\sout|after|before|since|until|some|many|others|people|students)\b|\bfor\b.*\bto\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"[\s*_>-]*(?:(?:so|thus|therefore|hence),?\s+)?(?:this|it|that|the latter)\b|[\s*_>-]*[✗✘✔✓❌✅]", re.IGNORECASE
)
_STOPS = frozenset(
    re.findall(
        r"\w+",
        "a an the of to in on at by for with from and or nor but is are was were be been being it its this that these"
        " those he she they him his her their there has have had do does did will would can could may might shall"
        " should as than then so if which what who whom whose when where how why not no only one all any each other"
        " into about over under yes",
    )
)
_SUFFIX = re.compile(
    r"(?:i[sz]ations?|i[sz]ing|i[sz]ed|ations?|ically|ingly|ities|ness|ments?|ions?|ings?|ally|ity|ies|ied|ed|ly|es|s|e|y|al|ic)$"
)


class ChoiceMention(NamedTuple):
    """Where a sentence mentions a choice, and what it says of it."""

    start: int
    end: int
    strength: float
    """How much it counts, from 0 to 1."""
    kind: str
    """"label", "position", "text", "both", "words" or "pronoun"."""
    is_denied: bool
    is_supported: bool
    is_considered: bool
    is_odd: bool
    """Whether it is said to be what a question for an exception, or for what is false, asks for."""
    part: str
    """The words around it, up to the mentions of other choices."""


class QuestionWords(NamedTuple):
    """What the words of a question and of its choices are."""

    weights: list[dict[str, float]]
    """Of each choice the weight of each stem: 1 where no other choice and not the question has it."""
    stems: frozenset[str]
    """The stems of the question."""
    own: frozenset[str]
    """Those that no choice has."""
    has_labels: bool
    """Whether a label is a name in it: "A and B are independent"."""
    asks_false: bool
    """Whether it asks for what is false."""
    asks_wrong: bool
    """Whether it asks for that or for an exception."""
    are_numbers: list[bool]
    """Which choices begin with a number."""


class _Place(NamedTuple):
    """A place of a sentence that mentions a choice."""

    start: int
    end: int
    choice: int
    strength: float
    kind: str


class _Predicate(NamedTuple):
    """What a clause says of a choice."""

    is_denied: bool
    is_supported: bool
    is_considered: bool
    is_odd: bool


def stem_word(word: str) -> str:
    """Return a word without its ending.

    >>> stem_word("randomised"), stem_word("randomly"), stem_word("drugs"), stem_word("1,250")
    ('random', 'random', 'drug', '1,250')
    """
    if word[:1].isdigit():
        return word
    short = _SUFFIX.sub("", word)
    plain = word.removesuffix("s") if len(word) >= SHORTEST_STEM else word
    return (short if len(short) >= SHORTEST_STEM else plain)[:LONGEST_STEM]


def find_stems(text: str) -> list[str]:
    """Return the stems of the words of a text that say something.

    >>> find_stems("Which of these is a rational number?")
    ['ration', 'number']
    """
    return [stem_word(word) for word in _WORD.findall(text.casefold()) if word not in _STOPS]


@lru_cache(maxsize=512)
def read_question(words: Vocabulary, question: str) -> QuestionWords:
    """Return what the words of a question and of its choices are.

    >>> from howsure.extraction.vocabulary import build_vocabulary
    >>> words = build_vocabulary(("A", "B"), ("a slow hash", "a slow cipher"))
    >>> about = read_question(words, "Which is NOT a cipher?")
    >>> about.weights, about.asks_wrong
    ([{'hash': 1.0}, {'cipher': 0.3}], True)
    """
    question = _OPTIONS_LINE.split(question)[0][-LONGEST_QUESTION:]
    sentence = _SENTENCE_BREAK.split(question.strip())[-1]
    falsities = [match[0].lower() for match in _ASKS_FALSE.finditer(sentence)]
    asks_false = any(not any(word in choice for choice in words.folded) for word in falsities)
    sets = [set(find_stems(choice[:LONGEST_CHOICE])) for choice in words.folded]
    stems = frozenset(find_stems(question))
    most = max(1, len(sets) - 1)
    weights = []
    for own in sets:
        others = {word: sum(word in other for other in sets) - 1 for word in sorted(own)}
        own_weights = {
            word: (1 - n / most) ** 2 * (QUESTION_WORD if word in stems else 1.0) for word, n in others.items()
        }
        weights.append({word: weight for word, weight in own_weights.items() if weight})
    return QuestionWords(
        weights,
        stems,
        stems.difference(*sets),
        any(not _ARTICLE.match(question, match.start()) for match in words.labels.label.finditer(question)),
        asks_false,
        asks_false or _ASKS_EXCEPTION.search(sentence) is not None,
        [choice.lstrip("$-")[:1].isdigit() for choice in words.folded],
    )


def read_mentions(sentence: str, words: Vocabulary, about: QuestionWords) -> dict[int, ChoiceMention]:
    """Return the strongest mention of each choice in a sentence, by the index of the choice.

    >>> from howsure.extraction.vocabulary import build_vocabulary
    >>> words = build_vocabulary(("A", "B"), ("Venus", "Mars"))
    >>> mentions = read_mentions("Venus is not red, but option B is.", words, read_question(words, "Which is red?"))
    >>> [(place, mention.kind, mention.is_denied) for place, mention in mentions.items()]
    [(0, 'text', True), (1, 'label', False)]
    """
    plain = " ".join(words.without_latex(sentence).split())
    lower = plain.casefold()
    lower = lower if len(lower) == len(plain) else plain.lower()
    places = sorted(_find_places(plain, lower, words, about))[-MOST_PLACES:]
    clauses = _LABEL_IN_BRACKETS.sub(r" \1 ", lower)
    predicates = [_read_clause(plain, place, _find_clause(clauses, place), words, about) for place in places]
    _share_predicates(clauses, places, predicates)
    mentions: dict[int, ChoiceMention] = {}
    for place, one in zip(places, predicates, strict=True):
        old = mentions.get(place.choice)
        start, kind, part = place.start, place.kind, _find_part(lower, place, places)
        if old is not None and {old.kind, kind} in _TOGETHER:
            start, kind, part = old.start, "both", f"{old.part} {part}"
            both = _Predicate(*(ours or theirs for ours, theirs in zip(one, old[4:8], strict=True)))
        else:
            both = one._replace(is_supported=one.is_supported or (old is not None and old.is_supported))
        mentions[place.choice] = ChoiceMention(start, place.end, place.strength, kind, *both, part)
    return mentions


def read_reference(sentence: str, before: ChoiceMention, about: QuestionWords) -> ChoiceMention | None:
    """Return the mention of a choice of the sentence before by a pronoun: "This one is the exception."; else None."""
    if not _PRONOUN.match(sentence):
        return None
    lower = sentence.casefold()
    is_negated, is_rejected = _NEGATED.search(lower) is not None, _REJECTED.search(lower) is not None
    return ChoiceMention(
        0,
        0,
        BY_PRONOUN,
        "pronoun",
        is_rejected if about.asks_wrong else is_negated or is_rejected or before.is_denied,
        _SUPPORTED.search(lower) is not None,
        before.is_considered or sentence.rstrip().endswith("?"),
        about.asks_wrong and (is_negated or before.is_odd),
        sentence,
    )


def _find_places(plain: str, lower: str, words: Vocabulary, about: QuestionWords) -> Iterator[_Place]:
    """Yield the places of a sentence that mention choices."""
    stated = [*_find_labels(plain, words, about), *_find_texts(lower, words)]
    if any(about.are_numbers):
        texts = {place.choice for place in stated if place.kind == "text"}
        stated += [place for place in _find_amounts(plain, words) if place.choice not in texts]
    yield from stated
    named = {place.choice for place in stated}
    for place in _find_distinctive(lower, about):
        if place.choice not in named and all(place.end <= one.start or one.end <= place.start for one in stated):
            yield place


def _find_labels(sentence: str, words: Vocabulary, about: QuestionWords) -> Iterator[_Place]:
    """Yield the places of the labels and of the positions that a sentence names."""
    for mention in find_mentions(sentence, words):
        choice = words.labels.exact_index(mention["label"])
        if choice is None or choice >= len(words.folded):
            continue
        start, end = mention.span("label")
        if _is_marked(sentence, mention):
            yield _Place(start, end, choice, 1.0, "label")
        elif not about.has_labels and _is_letter(sentence, start, end):
            yield _Place(start, end, choice, BY_LETTER, "label")
    for match in _ORDINAL.finditer(sentence):
        if match["number"] is None:
            choice = _ORDINALS.get(match["ordinal"].lower(), len(words.folded) - 1)
        else:
            choice = len(words.folded) if words.labels.has_digits else int(match["number"]) - 1
        if choice < len(words.folded):
            yield _Place(match.start(), match.end(), choice, 1.0, "position")


def _is_marked(sentence: str, mention: re.Match[str]) -> bool:
    """Return whether a label has brackets or follows a word such as "option" or "sentence"."""
    start, label = mention.start("label"), mention["label"]
    before = sentence[max(0, start - 24) : start]
    if _NAMED_LABEL.search(before) and (not label.islower() or "(" in before[-2:]):
        return True
    if mention["after"].lstrip("*_\"'`$ ")[:1] not in {")", "]"}:
        return False
    bare = before.rstrip("*_\"'`$ ")
    is_opened = bare[-1:] in {"(", "["}
    is_balanced = sentence.count("(", 0, start) == sentence.count(")", 0, start)
    return not bare[-2:-1].isalnum() if is_opened else is_balanced and not before[-1:].strip()


def _is_letter(sentence: str, start: int, end: int) -> bool:
    """Return whether a label without a mark is a capital letter, and no article, pronoun or part of a formula."""
    label, rest = sentence[start:end], sentence[end:]
    if len(label) != 1 or not label.isupper() or sentence[start - 1 : start].strip("*_\"' "):
        return False
    return label not in {"A", "I"} or not rest.strip() or rest[0] in ",.:;)" or _JOINED_LABEL.match(rest) is not None


def _find_texts(lower: str, words: Vocabulary) -> Iterator[_Place]:
    """Yield the places of the whole texts of choices in a sentence; the longest texts are tried first."""
    for choice in sorted(range(len(words.folded)), key=lambda i: -len(words.folded[i])):
        text = words.folded[choice]
        if not text or text not in lower or words.labels.index(text) is not None:
            continue
        for start in list(find_words(text, lower)):
            yield _Place(start, start + len(text), choice, 1.0, "text")
            lower = lower[:start] + " " * len(text) + lower[start + len(text) :]


def _find_amounts(sentence: str, words: Vocabulary) -> Iterator[_Place]:
    """Yield the places of amounts of a sentence that are those of choices, and are written otherwise: "$220.00"."""
    for match in _AMOUNT.finditer(sentence):
        choice = match_amount(match[0].strip(), words)
        choice = match_amount(match["number"].lstrip("$€£"), words) if choice is None else choice
        if choice is not None:
            yield _Place(match.start(), match.end("number"), choice, 1.0, "text")


def _find_distinctive(lower: str, about: QuestionWords) -> Iterator[_Place]:
    """Yield the places of the distinctive words of the choices of which a sentence has most.

    All words of a choice with a number must be there, and not only words that the question has too.
    """
    spans = {stem_word(match[0]): match.span() for match in _WORD.finditer(lower)}
    here = [[word for word in weights if word in spans] for weights in about.weights]
    shares = []
    for weights, words_here in zip(about.weights, here, strict=True):
        weight = sum(weights[word] for word in words_here)
        share = weight / sum(weights.values()) if words_here else 0.0
        is_enough = share == 1 or not any(word[:1].isdigit() for word in weights)
        shares.append(share if is_enough and weight >= LEAST_SHARE else 0.0)
    least = max(LEAST_SHARE, NEAR_BEST * max(shares, default=0.0))
    for choice, (share, words_here) in enumerate(zip(shares, here, strict=True)):
        if share >= least:
            start, end = min(spans[word][0] for word in words_here), max(spans[word][1] for word in words_here)
            yield _Place(start, end, choice, BY_WORDS * share, "words")


def _find_clause(sentence: str, place: _Place) -> str:
    """Return the clause around a place, without the place itself and a remark in brackets behind it."""
    cut = max((match.end() for match in _CLAUSE.finditer(sentence, 0, place.start)), default=0)
    aside = _ASIDE.match(sentence, place.end)
    end = aside.end() if aside else place.end
    stop = _CLAUSE.search(sentence, end)
    return f"{sentence[cut : place.start]} {sentence[end : stop.start() if stop else len(sentence)]}"


def _find_part(sentence: str, place: _Place, places: list[_Place]) -> str:
    """Return the part of a sentence around a place, up to the places of other choices."""
    others = [other for other in places if other.choice != place.choice]
    start = max((other.end for other in others if other.end <= place.start), default=0)
    stop = min((other.start for other in others if other.start >= place.end), default=len(sentence))
    return sentence[start:stop]


def _read_clause(sentence: str, place: _Place, clause: str, words: Vocabulary, about: QuestionWords) -> _Predicate:
    """Return what a clause of a sentence says of the choice that it mentions."""
    is_negated, is_rejected = _NEGATED.search(clause) is not None, _REJECTED.search(clause) is not None
    if about.asks_false:
        is_denied, is_odd = not is_negated and _TRUE.search(clause) is not None, is_rejected or is_negated
    else:
        is_denied, is_odd = is_rejected or (is_negated and not about.asks_wrong), is_negated and about.asks_wrong
    before = sentence[: place.start]
    part = _PART_BREAK.split(before)[-1]
    is_open = sentence.rstrip("*_ )\"'").endswith("?") or _is_operand(sentence, place, words, about)
    is_posed = (
        is_considered(_NEGATED_VERB.sub("", part) if about.asks_wrong else part) or _POSED.search(part) is not None
    )
    is_posed = is_posed or is_reported(before) or _OTHERS_THINK.search(_OWN_VIEW.split(before)[-1]) is not None
    return _Predicate(is_denied, _SUPPORTED.search(clause) is not None, is_open or is_posed, is_odd)


def _is_operand(sentence: str, place: _Place, words: Vocabulary, about: QuestionWords) -> bool:
    """Return whether a number is before a result, or counts what is not asked for: "6 carbon atoms" for isomers."""
    if about.are_numbers[place.choice] and place.kind != "label" and _EQUALS.search(sentence, place.end):
        return True
    noun = _NOUN_BEHIND.match(sentence, place.end) if words.folded[place.choice].isdigit() else None
    return noun is not None and stem_word(noun[1].casefold()) not in about.stems


def _share_predicates(sentence: str, places: list[_Place], predicates: list[_Predicate]) -> None:
    """Give the mentions that are joined the same predicate: "A, C and D are wrong", "A is wrong, and so is D"."""
    gaps = [sentence[one.end : other.start][: LONGEST_CHAIN + 1] for one, other in pairwise(places)]
    joined = [len(gap) <= LONGEST_CHAIN and _CHAIN.fullmatch(gap) is not None for gap in gaps]
    for i, gap in enumerate(gaps):
        one, other = predicates[i], predicates[i + 1]
        if joined[i] and places[i].end <= places[i + 1].start:
            predicates[i + 1] = _Predicate(*(ours or theirs for ours, theirs in zip(one, other, strict=True)))
        elif _SO_IS.search(gap):
            is_open = other.is_considered or not (one.is_denied or one.is_odd)
            predicates[i + 1] = _Predicate(one.is_denied, other.is_supported, is_open, one.is_odd)
    for i in reversed(range(len(gaps))):
        if joined[i] and places[i].end <= places[i + 1].start:
            predicates[i] = predicates[i + 1]
