"""Read the cardinal direction that a completion gives as its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from howsure.extraction.completion_context import CompletionContext, complete_context, remove_next_question
from howsure.extraction.statements import find_statements, remove_reasoning

__all__ = ["CARDINAL", "DIRECTIONS", "SHORT", "extract_direction"]

#: The eight directions, clockwise from north.
DIRECTIONS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
CARDINAL = DIRECTIONS[::2]
#: Direction to its initials: n, ne, e and so on.
SHORT = {d: "".join(word[0] for word in d.split("-")) for d in DIRECTIONS}

# Directions in a text, the longest first; "northern" and "westwards" are none. A compound of three words is matched as
# a whole, so that "north-north-east" is neither north nor north-east. Names of places are skipped.
_MENTION = re.compile(
    r"""
      \b(?i:north|south|east|west) [-‐‑\ ]? (?i:north|south) [-‐‑\ ]? (?i:east|west)\b
    | (?<=\bMiddle\ )East\b | (?<=\bFar\ )East\b | (?<=\bNear\ )East\b | (?<=\bWild\ )West\b
    | \b(?i:(?P<ns>north|south)[-‐‑–\u00a0 ]?(?P<ew>east|west)|(?P<one>north|south|east|west))\b
      (?P<name>[ ](?:[Pp]ole|[Ss]tar|Sea|Africa|America|Asia|Korea|Carolina|Dakota|Virginia|Island|Bank|Indies)\b)?
    | \b(?P<short>[NS][EW])\b
    """,
    re.VERBOSE,
)
# The places where a mention can begin. Each branch begins with one letter and without a flag, so that the search skips
# all other text at once: without it, reading directions takes 50 % longer.
_START = re.compile(
    "n(?i:orth)|N(?i:orth)|N[EW]|s(?i:outh)|S(?i:outh)|S[EW]|ſ(?i:outh)|e(?i:ast)|E(?i:ast)|w(?i:est)|W(?i:est)"
)
_INITIALS = re.compile(r"([ns])\.?([ew])\.?", re.IGNORECASE)
_LETTER = re.compile(r"[\s*_\"'$(]*([NSEW])[\s*_\"'$).!]*")
_LONG = {short.upper(): direction for direction, short in SHORT.items()}
# A denial, and up to three words between it and what it denies, without punctuation, "but" or a verb.
_DENIED = re.compile(
    r"(?:\b(?:not|never|neither|nor|no|cannot|except|without|opposite|rather[ ]than|instead[ ]of)\b|n['’]t\b)"
    r"(?:[ ]+(?!(?:but|is|are|would|will)\b)[\w'’*-]+){0,3}[ ]+[*_\"'(]*$",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(r"[*_\"')]*(?:\?|['’]s opposite|\s+(?:is|was) (?:wrong|incorrect|not))", re.IGNORECASE)
# Directions that a sentence starts from or lies between are the answer only where no other direction is.
_FROM = re.compile(
    r"\b(?:from|between)(?: the)?\s+[*_\"'(]*$|\bbetween(?: the)? \w+ and(?: the)? [*_\"'(]*$"
    r"|(?:north|south|east|west) of(?: the| an?)?\s+[*_\"'(]*$",
    re.IGNORECASE,
)
# Text after these words is a reason or a condition and not the stated answer.
_REASON = re.compile(r"\b(?:because|since|as|when|given|if|relative)\b", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]{1,40})\*\*")
_EDGES = " \t*_`\"'“”‘’.!,:;()[]{}$#>-"
# Without a statement: the end of a sentence, what introduces its conclusion, a clause before the main one, its verb.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_CONCLUDES = re.compile(
    r"\b(?:so|therefore|thus|hence|which is|which means|means that|means|but|however|actually|making it)\b|[⇒→=]|:\s",
    re.IGNORECASE,
)
_LEADING_CLAUSE = re.compile(
    r"[\s*_>#-]*(?:step \d+[:.]\s*)?(?:if|when|since|as|because|given|facing|walking|heading|starting|after|with|on|at"
    r"|looking|travell?ing|running|driving|moving|turning)\b[^,:]{1,200}[,:]\s",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:is|are|be|was|were|fac(?:e|es|ing)|head(?:s|ed|ing)?|points?|go(?:es|ing)?|travel(?:s|ing|ling)?"
    r"|sets?|rises?|lies?|turn(?:s|ed)?|blows?|flows?|moves?|moving|walk(?:s|ing)?|towards?|answer|direction|due)\b|['’](?:s|re|d)\b|:",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\b(?:and|but|while)\b|[,;]")
_LONG_WORD = re.compile(r"[a-z]{4,}")
_HEDGE = re.compile(
    r"\b(?:depends|(?:cannot|can['’]t|can not) (?:say|tell|determine|know|be|answer|help|see)|(?:do not|don['’]t) know"
    r"|unsure|not sure|maybe|may be|might be|could be|perhaps|possibly|unclear|unknown)\b",
    re.IGNORECASE,
)
# "No, it's north." after a statement takes it back.
_RETRACTED = re.compile(
    r"[\s.!?;,–—*_)\"-]*(?:no|oops|sorry|correction|actually|wait|hold on|scratch that)\b"
    r"[ ,.:;!—–-]*(?P<rest>[^\n]{0,120})",
    re.IGNORECASE,
)
#: Shortest sentence that counts as a copy of a sentence of the question, in characters.
SHORTEST_COPY = 15


def extract_direction(text: str, *, context: CompletionContext | None = None) -> str | None:
    """Return the direction that a completion gives, one of `DIRECTIONS`; None when it gives none or several.

    The first of these that exists decides: a last line that is only a direction; the last explicit statement
    (`statements.find_statements`); the directions that stand alone in bold or on a line, if they agree; the only
    direction that is mentioned; the conclusion of the last sentence with directions. A denied direction ("not north")
    does not count, and neither does a copy of the question. Of a completion that was cut only a statement is read.

    >>> extract_direction("Walking south along the east shore, the lake is on the right. Answer: **West**.")
    'west'
    >>> extract_direction("The opposite of south is north."), extract_direction("It is north or south.")
    ('north', None)
    """
    completion = remove_reasoning(text)
    text = remove_next_question(completion, context)
    context = complete_context(completion, text, context)
    is_truncated = context is not None and context.truncated
    if context is not None and context.question:
        text = _remove_question(text, context.question)
    text = text.replace("\\text{-}", "-")
    if (direction := _parse_alone(text)) or not text.strip():
        return direction
    lines = text.split("\n")
    last = next((line for line in reversed(lines) if line.strip(_EDGES)), "")
    if not is_truncated and (direction := _parse_alone(last)):
        return direction
    for statement in find_statements(text):
        claim = _REASON.split(statement.text, maxsplit=1)[0]
        end = max(text.find(statement.text, statement.content), statement.content) + len(statement.text)
        if not claim.strip(_EDGES) or (is_truncated and not text[end:].strip(_EDGES)):
            continue
        retracted = _RETRACTED.match(text, end)
        if retracted and (direction := _single(_list_mentioned(retracted["rest"]))):
            return direction
        return _parse_alone(claim) or _single(_list_mentioned(claim))
    return None if is_truncated else _read_unstated(text, lines, context.question if context else "")


def _read_unstated(text: str, lines: list[str], question: str) -> str | None:
    """Return the direction that a completion gives without a statement."""
    first = _SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    is_sentence = first.endswith((".", "!"))
    if (
        is_sentence
        and (direction := _parse_alone(first))
        and not _RETRACTED.match(text.strip(), len(first))
        and not _HEDGE.search(text)
    ):
        return direction
    emphasized = [direction for phrase in (*_BOLD.findall(text), *lines) if (direction := _parse_alone(phrase))]
    if emphasized:
        return _single(emphasized) or _single(_list_mentioned(text))
    if _HEDGE.search(text):
        return None
    mentioned = _list_mentioned(text)
    if len(mentioned) <= 1:
        return _single(mentioned)
    sentences = [sentence for sentence in _SENTENCE_END.split(text) if _START.search(sentence)]
    return _conclude(sentences[-1], question) if sentences else None


def _conclude(sentence: str, question: str) -> str | None:
    """Return the direction that a sentence with several concludes with; None when it does not conclude."""
    sentence = _REASON.split(sentence, maxsplit=1)[0] or sentence
    for conclusion in reversed(list(_CONCLUDES.finditer(sentence))):
        if mentioned := _list_mentioned(sentence[conclusion.end() :]):
            return _single(mentioned)
    main = _LEADING_CLAUSE.sub("", sentence, count=1)
    mentioned = _list_mentioned(main)
    first = next(_find_mentions(main), None)
    has_verb = first is not None and _VERB.search(main, 0, first.end()) is not None
    if len(mentioned) > 1:
        return _select_clause(main, question)
    return _single(mentioned) if has_verb or main != sentence or "," in main else None


def _select_clause(sentence: str, question: str) -> str | None:
    """Return the direction of the clause that shares most words with the question; None when several clauses do."""
    words = set(_LONG_WORD.findall(question.lower()))
    clauses = [clause for clause in _CLAUSE.split(sentence) if _START.search(clause)]
    shared = [len(words & set(_LONG_WORD.findall(clause.lower()))) for clause in clauses]
    best = [clause for clause, count in zip(clauses, shared, strict=True) if count and count == max(shared)]
    return _single(_list_mentioned(best[0])) if len(best) == 1 and len(clauses) == 2 else None


def _remove_question(text: str, question: str) -> str:
    """Return a text without the sentences that it copies from the question."""
    normalized = " ".join(question.split())
    if len(text) > SHORTEST_COPY and " ".join(text.split()) in normalized:
        return ""
    if not any(part in text for part in _SENTENCE_END.split(question) if len(part) >= SHORTEST_COPY):
        return text
    for sentence in _SENTENCE_END.split(text):
        if len(sentence) >= SHORTEST_COPY and " ".join(sentence.split()) in normalized:
            text = text.replace(sentence, "", 1)
    return text


def _parse_alone(text: str) -> str | None:
    """Return the direction that a text consists of."""
    if len(text) > 60:
        return None
    if letter := _LETTER.fullmatch(text):
        return _LONG[letter[1]]
    if initials := _INITIALS.fullmatch(text.strip(_EDGES)):
        return _LONG[(initials[1] + initials[2]).upper()]
    mention = _MENTION.fullmatch(text.strip(_EDGES))
    return _direction(mention) if mention and not mention["name"] else None


def _single(directions: list[str]) -> str | None:
    """Return the direction if all are the same and it is one of the eight."""
    return directions[0] if len(set(directions)) == 1 and directions[0] in DIRECTIONS else None


def _list_mentioned(text: str) -> list[str]:
    """Return each direction that is mentioned and not denied once; a compound of three words as it is written.

    Directions after "from" or "between" count only where there is no other.
    """
    directions: dict[str, None] = {}
    sources: dict[str, None] = {}
    for mention in _find_mentions(text):
        direction = _direction(mention) or mention[0]
        if mention["name"] or direction in {"East", "West"} or direction in directions:
            continue  # such as the Middle East
        lead = max(0, mention.start() - 60)
        if _DENIED.search(text, lead, mention.start()) or _DENIED_AFTER.match(text, mention.end()):
            continue
        (sources if _FROM.search(text, lead, mention.start()) else directions)[direction] = None
    return list(directions or sources)


def _find_mentions(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `_MENTION`."""
    end = 0
    for start in _START.finditer(text):
        if start.start() >= end and (mention := _MENTION.match(text, start.start())):
            end = mention.end()
            yield mention


def _direction(mention: re.Match[str]) -> str | None:
    """Return the direction of a mention; None for a compound of three words."""
    if mention["short"]:
        return _LONG[mention["short"]]
    if mention["ns"]:
        return f"{mention['ns']}-{mention['ew']}".lower()
    return mention["one"].lower() if mention["one"] else None
