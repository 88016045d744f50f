"""Questions without end: sums of two numbers, as many distinct ones as asked for.

Made for the simulated model, whose law gives each question its own difficulty: two seeds are two samples of questions
from one population, so what a method claims about *new* questions can be checked.
"""

from __future__ import annotations

import hashlib

from howsure.benchmarks.numeric import extract_number
from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.errors import InputError

__all__ = ["population"]

LARGEST = 1_000_000


def population(*, size: int = 1000, seed: int = 0) -> Benchmark:
    """`size` distinct sums; with the same seed a larger size keeps the questions of a smaller one and adds to them.

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
