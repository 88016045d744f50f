"""The built-in benchmarks: cardinal directions, and sums of two numbers.

The benchmarks of directions have the designs and prompts of Blackwell, Barry and Cohn 2024, section 3, with other
questions. *Small* has 100 varied questions whose answer is one of four directions. *Large* has 5,760, which are all
combinations of the parts of one template; the answer is one of eight directions and follows from geometry.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.errors import InputError
from howsure.scorers.directions import CARDINAL, DIRECTIONS, SHORT, extract_direction
from howsure.scorers.numbers import extract_number

_SMALL = Prompt(
    system="You are a helpful assistant. I will give you a question about directions. The answer is either north, "
    "south, east, or west. Please only reply with the answer. No yapping."
)
_LARGE = Prompt(
    system="You are a helpful assistant. I will give you a question about directions. The answer is either north, "
    "south, east, west, north-east, north-west, south-east or south-west. Please only reply with the answer. No "
    "yapping."
)


def directions_small() -> Benchmark:
    """Return 100 questions about sun and stars, maps, turns, bearings, winds and geography; 25 for each answer."""
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


def directions_large() -> Benchmark:
    """Return 5,760 questions: 8 headings x 2 sides x 5 places x 6 ways of moving x 3 persons x 4 tenses.

    The path along an edge is at a right angle to the side of the edge: along an east shore one goes north or south, and
    the lake is to the west. A cluster is a template without its directions: there are 360 clusters of 16 questions.
    """
    questions, clusters = zip(*_generate_large(), strict=True)
    return Benchmark(
        name="directions-large",
        questions=questions,
        prompt=_LARGE,
        extract=extract_direction,
        clusters=clusters,
        source={"name": "directions-large", "kind": "built-in"},
    )


#: Place -> its edge, the thing whose direction is asked, and whether the thing is on the outer side of the edge.
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
#: Tense -> auxiliary verb of each person, and the question.
_TENSES = {
    "present": ({"i": "am", "you": "are", "she": "is"}, "in which direction is {thing}?"),
    "past": ({"i": "was", "you": "were", "she": "was"}, "in which direction was {thing}?"),
    "perfect": ({"i": "have been", "you": "have been", "she": "has been"}, "in which direction is {thing}?"),
    "future": (dict.fromkeys(_PERSONS, "will be"), "in which direction will {thing} be?"),
}


def _generate_large() -> Iterator[tuple[Question, str]]:
    """Yield each question and its cluster."""
    for place, move, person, tense in itertools.product(_PLACES, _MOVES, _PERSONS, _TENSES):
        edge, thing, outwards = _PLACES[place]
        auxiliaries, ending = _TENSES[tense]
        cluster = f"{place}-{move}-{person}-{tense}"
        for heading, turn in itertools.product(range(8), (2, -2)):
            going, side = DIRECTIONS[heading], (heading + turn) % 8
            target = DIRECTIONS[side if outwards else (side + 4) % 8]
            way = f"{_MOVES[move]} {going} along the {DIRECTIONS[side]} {edge}"
            text = f"{_PERSONS[person]} {auxiliaries[person]} {way}; {ending.format(thing=thing)}"
            identity = f"{cluster}-going-{SHORT[going]}-along-{SHORT[DIRECTIONS[side]]}"
            yield Question(identity, text, target, tuple(d for d in DIRECTIONS if d != target)), cluster


_FILLERS = re.compile(r"\b(?:an?|and|are|at|by|do|does|for|from|in|is|it|of|on|or|that|the|then|to|which|with|your?)\b")


def _slug(text: str, target: str) -> str:
    """Return a readable id: the first words with content, and a hash that differs between similar questions."""
    words = re.findall(r"[a-z0-9]+", _FILLERS.sub(" ", text.lower()))
    return "-".join([*words[:6], hashlib.sha256(f"{text}\0{target}".encode()).hexdigest()[:4]])


#: Largest number of sums.
LARGEST = 1_000_000


def population(*, size: int = 1000, seed: int = 0) -> Benchmark:
    """Return distinct sums of two numbers; with the same seed a larger size keeps the questions of a smaller one.

    The simulated models give each question its own difficulty, so that two seeds are two samples of questions from one
    population, and a method's claim about *new* questions can be checked.

    Parameters
    ----------
    size
        Number of questions, 1 to a million.
    seed
        Seed of the numbers.

    Raises
    ------
    InputError
        When `size` is not a whole number from 1 to a million, or `seed` is not a whole number.

    >>> population(size=2, seed=3).questions[0].text
    'What is 5306 + 339?'
    """
    for option, value in {"size": size, "seed": seed}.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise InputError(f"{option} is {value!r}", where="benchmark population", remedy="give a whole number")
    if not 1 <= size <= LARGEST:
        raise InputError(f"size is {size}", where="benchmark population", remedy=f"give 1 to {LARGEST:,}")
    questions: dict[str, Question] = {}
    draw = 0
    while len(questions) < size:
        digest = hashlib.blake2b(f"{seed}\0{draw}".encode(), digest_size=16).digest()
        a, b = (100 + int.from_bytes(half) % 9900 for half in (digest[:8], digest[8:]))
        identity = f"{a}+{b}"
        questions.setdefault(identity, Question(identity, f"What is {a} + {b}?", str(a + b)))
        draw += 1
    return Benchmark(
        name="population",
        questions=list(questions.values()),
        prompt=Prompt(system="You are a careful calculator. Reply with the number only."),
        extract=extract_number,
        source={"name": "population", "kind": "built-in", "size": str(size), "seed": str(seed)},
    )
