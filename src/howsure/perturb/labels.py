"""What choices are labelled with, how a label is wrapped, and in which order choices stand."""

from __future__ import annotations

import string
from collections.abc import Sequence

from howsure.perturb.draw import permutation

__all__ = ["ENUMERATORS", "ORDERS", "SEEDED_ORDERS", "WRAPPERS", "order", "spoken"]


def _roman(number: int) -> str:
    text = ""
    for value, digits in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        text += digits * (number // value)
        number %= value
    return text


#: Name -> labels. The symbols of `keyboard` are no part of a wrapper and rarely end a sentence.
ENUMERATORS: dict[str, tuple[str, ...]] = {
    "capitals": tuple(string.ascii_uppercase),
    "lowercase": tuple(string.ascii_lowercase),
    "digits": tuple(str(i) for i in range(1, 27)),
    "roman": tuple(_roman(i) for i in range(1, 27)),
    "greek": tuple("αβγδεζηθικλμνξοπρστυφχψω"),
    "keyboard": tuple("!@#$%^&+=~"),
}

#: By their looks -> with a place for the label; a space and the text of the choice follow.
WRAPPERS = {"A.": "{label}.", "(A)": "({label})", "A)": "{label})", "[A]": "[{label}]"}

#: Orders that take a key: one permutation for all questions of as many choices, or another one for each question.
SEEDED_ORDERS = ("shuffle", "shuffle-each")
ORDERS = (
    "original",
    *SEEDED_ORDERS,
    "length",
    "alphabetical",
    "reversed",
    "length-reversed",
    "alphabetical-reversed",
)


def order(kind: str, choices: Sequence[str], key: str, question: str) -> tuple[int, ...]:
    """Original index of the choice at each place.

    A shared shuffle leaves position bias in: where the target stands stays as uneven as it was. Sorting is stable, by
    number of characters or by the text without case.

    >>> order("length", ["ccc", "a", "bb"], "", "q"), order("reversed", ["x", "y"], "", "q")
    ((1, 2, 0), (1, 0))
    """
    n = len(choices)
    if kind == "shuffle":
        return permutation(n, key)
    if kind == "shuffle-each":
        return permutation(n, key, question)
    places = list(range(n))
    if kind.startswith("length"):
        places.sort(key=lambda i: len(choices[i]))
    elif kind.startswith("alphabetical"):
        places.sort(key=lambda i: choices[i].casefold())
    return tuple(places[::-1] if kind.endswith("reversed") else places)


def spoken(labels: Sequence[str]) -> str:
    """Labels as a sentence names them.

    >>> spoken(["A", "B", "C"])
    'A, B or C'
    """
    return " or ".join(part for part in (", ".join(labels[:-1]), labels[-1]) if part)
