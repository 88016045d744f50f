"""Cardinal directions, after Blackwell, Barry and Cohn 2024, section 3: their designs and prompts, our own questions.

*Small* has 100 varied questions whose answer is one of four directions. *Large* has 5,760, one template with every
combination of its parts; the answer is one of eight directions and follows from geometry.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.benchmarks.statement import concluded, stated

__all__ = ["DIRECTIONS", "extract_direction", "large", "small"]

#: Clockwise from north, 45 degrees apart.
DIRECTIONS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
CARDINAL = DIRECTIONS[::2]

_SMALL = Prompt(
    system="You are a helpful assistant. I will give you a question about directions. The answer is either north, "
    "south, east, or west. Please only reply with the answer. No yapping."
)
_LARGE = Prompt(
    system="You are a helpful assistant. I will give you a question about directions. The answer is either north, "
    "south, east, west, north-east, north-west, south-east or south-west. Please only reply with the answer. No "
    "yapping."
)


def small() -> Benchmark:
    """100 questions about sun and stars, maps, turns, bearings, winds and geography; 25 for each answer."""
    lines = Path(__file__).with_name("directions_small.tsv").read_text(encoding="utf-8").splitlines()
    questions = [
        Question(_slug(text, target), text, target, tuple(d for d in CARDINAL if d != target))
        for target, text in (line.split("\t") for line in lines)
    ]
    return Benchmark(
        name="directions-small",
        questions=questions,
        prompt=_SMALL,
        extract=extract_direction,
        source={"name": "directions-small", "kind": "built-in"},
    )


def large() -> Benchmark:
    """5,760 questions: 8 ways to go x 2 sides x 5 places x 6 ways of moving x 3 persons x 4 tenses.

    Who goes along an edge goes at a right angle to the side it lies on: along an east shore one goes north or south,
    and the lake is to the west. A cluster is a template without its directions: 360 clusters of 16 questions.
    """
    questions, clusters = zip(*_large(), strict=True)
    return Benchmark(
        name="directions-large",
        questions=questions,
        prompt=_LARGE,
        extract=extract_direction,
        clusters=clusters,
        source={"name": "directions-large", "kind": "built-in"},
    )


#: Place, its edge, what is asked for, and whether that lies outwards of the edge.
_PLACES = {
    "lake": ("shore of a lake", "the lake", False),
    "island": ("coast of an island", "the sea", True),
    "park": ("edge of a park", "the park", False),
    "river": ("bank of a river", "the river", False),
    "canyon": ("rim of a canyon", "the canyon", False),
}
_MOVES = {
    "walk": "walking",
    "run": "running",
    "bike": "riding a bike",
    "car": "driving a car",
    "bus": "travelling by bus",
    "horse": "riding a horse",
}
_PERSONS = {"i": "I", "you": "You", "she": "She"}
#: Auxiliary verb of each person, and the question.
_TENSES = {
    "present": ({"i": "am", "you": "are", "she": "is"}, "in which direction is {thing}?"),
    "past": ({"i": "was", "you": "were", "she": "was"}, "in which direction was {thing}?"),
    "perfect": ({"i": "have been", "you": "have been", "she": "has been"}, "in which direction is {thing}?"),
    "future": (dict.fromkeys(_PERSONS, "will be"), "in which direction will {thing} be?"),
}


def _large() -> Iterator[tuple[Question, str]]:
    for place, move, person, tense in itertools.product(_PLACES, _MOVES, _PERSONS, _TENSES):
        edge, thing, outwards = _PLACES[place]
        auxiliaries, asked = _TENSES[tense]
        cluster = f"{place}-{move}-{person}-{tense}"
        for heading, turn in itertools.product(range(8), (2, -2)):
            going, side = DIRECTIONS[heading], (heading + turn) % 8
            target = DIRECTIONS[side if outwards else (side + 4) % 8]
            way = f"{_MOVES[move]} {going} along the {DIRECTIONS[side]} {edge}"
            text = f"{_PERSONS[person]} {auxiliaries[person]} {way}; {asked.format(thing=thing)}"
            identity = f"{cluster}-going-{_SHORT[going]}-along-{_SHORT[DIRECTIONS[side]]}"
            yield Question(identity, text, target, tuple(d for d in DIRECTIONS if d != target)), cluster


_SHORT = {d: "".join(word[0] for word in d.split("-")) for d in DIRECTIONS}
_FILLERS = re.compile(r"\b(?:an?|and|are|at|by|do|does|for|from|in|is|it|of|on|or|that|the|then|to|which|with|your?)\b")


def _slug(text: str, target: str) -> str:
    """Readable id from the content alone: the first telling words, and a hash that tells near-copies apart."""
    words = re.findall(r"[a-z0-9]+", _FILLERS.sub(" ", text.lower()))
    return "-".join([*words[:6], hashlib.sha256(f"{text}\0{target}".encode()).hexdigest()[:4]])


# Directions in a text, the longest first; "northern" and "westwards" are none. Compounds of three are one foreign
# direction, so that "north-north-east" is neither north nor north-east. Names of places are passed over.
_MENTION = re.compile(
    r"""
      \b(?i:north|south|east|west) [-‐‑\ ]? (?i:north|south) [-‐‑\ ]? (?i:east|west)\b
    | \b(?i:(?P<ns>north|south)[-‐‑–\u00a0 ]?(?P<ew>east|west)|(?P<one>north|south|east|west))\b
      (?P<name>[ ](?:[Pp]ole|[Ss]tar|Sea|Africa|America|Asia|Korea|Carolina|Dakota|Virginia|Island|Bank|Indies)\b)?
    | \b(?P<short>[NS][EW])\b
    """,
    re.VERBOSE,
)
# Where a mention can begin. A branch begins with one letter and no flag: the search passes over all other text at once.
_START = re.compile(
    "n(?i:orth)|N(?i:orth)|N[EW]|s(?i:outh)|S(?i:outh)|S[EW]|ſ(?i:outh)|e(?i:ast)|E(?i:ast)|w(?i:est)|W(?i:est)"
)
_LETTER = re.compile(r"[\s*_\"'$(]*([NSEW])[\s*_\"'$).!]*")
_LONG = {short.upper(): direction for direction, short in _SHORT.items()}
# Up to three words between a denial and what it denies, no punctuation and no "but".
_DENIED = re.compile(
    r"(?:\b(?:not|never|neither|nor|no|cannot|except|without|opposite|rather[ ]than|instead[ ]of)\b|n['’]t\b)"
    r"(?:[ ]+(?!but\b)[\w'’*-]+){0,3}[ ]+[*_\"'(]*$",
    re.IGNORECASE,
)
# What follows a reason or a condition is not the stated answer.
_REASON = re.compile(r"\b(?:because|since|as|when|given|if|relative)\b", re.IGNORECASE)
_BOLD = re.compile(r"\*\*([^*\n]{1,40})\*\*")
_EDGES = " \t*_`\"'“”‘’.!,:;()[]{}$#>-"


def extract_direction(text: str) -> str | None:
    """The direction that a completion gives as its answer, one of `DIRECTIONS`; None when it gives none, or several.

    In this order: a last line that is only a direction; the last explicit statement (`statement.stated`); directions
    alone in bold or on a line, if they agree; else the only one that is mentioned. What is denied ("not north") is not.

    >>> extract_direction("Walking south along the east shore, the lake is on the right. Answer: **West**.")
    'west'
    >>> extract_direction("It is north or south.") is None
    True
    """
    text = concluded(text)
    lines = text.split("\n")
    last = next((line for line in reversed(lines) if line.strip(_EDGES)), "")
    if only := _alone(last):
        return only
    statement = stated(text)
    if statement is not None:
        said = _REASON.split(statement, maxsplit=1)[0]
        return _alone(said) or _single(_mentions(said))
    stressed = [direction for phrase in (*_BOLD.findall(text), *lines) if (direction := _alone(phrase))]
    return _single(stressed) or _single(_mentions(text))


def _alone(text: str) -> str | None:
    """The direction that a text consists of."""
    if len(text) > 60:
        return None
    if letter := _LETTER.fullmatch(text):
        return _LONG[letter[1]]
    mention = _MENTION.fullmatch(text.strip(_EDGES))
    return _direction(mention) if mention and not mention["name"] else None


def _single(directions: list[str]) -> str | None:
    return directions[0] if len(set(directions)) == 1 and directions[0] in DIRECTIONS else None


def _mentions(text: str) -> list[str]:
    """Each direction that is mentioned and not denied, once; a foreign one as it stands."""
    said: dict[str, None] = {}
    for mention in _found(text):
        direction = _direction(mention) or mention[0]
        if direction in said or mention["name"]:
            continue
        if not _DENIED.search(text, max(0, mention.start() - 60), mention.start()):
            said[direction] = None
    return list(said)


def _found(text: str) -> Iterator[re.Match[str]]:
    """The matches of `_MENTION`."""
    end = 0
    for start in _START.finditer(text):
        if start.start() >= end and (mention := _MENTION.match(text, start.start())):
            end = mention.end()
            yield mention


def _direction(mention: re.Match[str]) -> str | None:
    if mention["short"]:
        return _LONG[mention["short"]]
    if mention["ns"]:
        return f"{mention['ns']}-{mention['ew']}".lower()
    return mention["one"].lower() if mention["one"] else None
