"""Find the questions to which a value of a prompt does not apply: their choices refer to others, or hold the label.

The check of references reads English. A space or a benchmark with other questions says it by a pin: `pin: choices`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from howsure.benchmarks.question import Question
from howsure.prompts.dimensions import ENUMERATORS, Value

#: What may be pinned: the order and the labels of the choices.
PINS = ("choices",)
#: Marks between choices that may stand in a choice too, because its label tells where the next one begins.
_COMMON_MARKS = {",", ";", "or"}
_ALONE = r"all|none|both|neither|either|any"
_QUANTITY = rf"\b(?:{_ALONE}|some|most|(?:more than )?one|two|three|four|no)"
# "None of these", "All of the above", "Both statements", and the words alone.
_OTHERS = re.compile(
    rf"{_QUANTITY}(?: of)?(?: the| these| those)?(?: two| three| four| other| given| listed| correct)*"
    r" (?:above|below|following|these|those|them|others?|options?|choices?|answers?|alternatives?|statements?)\b"
    rf"|^(?:{_ALONE})\W*$|\b(?:of|from|to) the above\b|\b(?:listed|mentioned|given) (?:above|below)\b|^\W*the above\b",
    re.IGNORECASE,
)
# "option B", "answers 1 and 3", "the first choice", "the second in the list".
_PLACE = re.compile(
    r"\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer|[Aa]lternative)s? (?:[B-J]\b|[(\[][A-Ja-j1-9][)\]]|[1-9]\b(?! \w))"
    r"|\b(?:first|second|third|fourth|last|next|previous|preceding) (?:(?:\w+ )?(?:of|in) the )?"
    r"(?:option|choice|answer|list)s?\b"
)
#: Words beside the labels of a choice that names other choices, such as "Both A and B" or "I only".
_WORDS = frozenset({"and", "or", "nor", "both", "either", "neither", "not", "only", "but", "all", "none", "of", "are"})
_WORDS_AND_MARKS = re.compile(r"\w+")
#: A label that a choice has of its own, and the text after it.
_OWN_LABEL = re.compile(r"\s*[(\[]?([A-Za-z]|\d\d?)[)\].:]\s*(\S.*)", re.DOTALL)


class Pins(NamedTuple):
    """The choices of a question that keep their place, and whether all choices also keep their labels.

    Examples
    --------
    >>> find_pins(Question("q", "Which are in Italy?", "C", choices=("Rome", "Milan", "All of the above")))
    Pins(choices=(2,), are_labels_pinned=False, reason='All of the above')
    """

    choices: tuple[int, ...] = ()
    are_labels_pinned: bool = False
    reason: str = ""

    def order(self, drawn: Sequence[int]) -> tuple[int, ...]:
        """Return a drawn order in which the pinned choices keep their place.

        >>> Pins((2,)).order([2, 1, 0])
        (1, 0, 2)
        """
        free = iter([i for i in drawn if i not in self.choices])
        return tuple(place if place in self.choices else next(free) for place in range(len(drawn)))


@lru_cache(maxsize=2**16)
def find_pins(question: Question) -> Pins:
    """Return the choices of a question that keep their place, because one refers to others or names a label."""
    n = len(question.choices)
    every = tuple(range(n))
    names = [choice for choice in question.choices if consists_of_labels(choice, "ABCDEFGH"[:n])]
    names += [match[0] for text in (*question.choices, question.text) if (match := _PLACE.search(text))]
    if n and names:
        return Pins(every, are_labels_pinned=True, reason=names[0])
    others = tuple(i for i, choice in enumerate(question.choices) if _OTHERS.search(choice) and len(choice) < 60)
    # Where choices stand below one that refers to others, it is not known which of them it means.
    pinned = others if others == every[n - len(others) :] else every
    return Pins(pinned, reason="; ".join(question.choices[i] for i in others)) if others else Pins()


def consists_of_labels(choice: str, labels: Sequence[str]) -> bool:
    """Return whether a choice consists of labels and words between them, so that it names a label or looks like one.

    >>> consists_of_labels("Both A and B", "ABCD"), consists_of_labels("Vitamin B", "ABCD")
    (True, False)
    """
    words = {word.casefold() for word in _WORDS_AND_MARKS.findall(choice)} - _WORDS
    return bool(words) and words <= {label.casefold() for label in labels}


def find_misfit(dimension: str, value: Value, question: Question) -> str:
    """Return why a value of the dimension `enumerator` or `separator` does not fit a question, or "".

    >>> find_misfit("separator", Value("pipe", " | "), Question("q", "Which?", "A", choices=("|x|", "x")))
    "it stands in the choice '|x|'"
    """
    if dimension == "separator":
        return _find_separator_misfit(str(value.content), question.choices)
    labels = value.content if isinstance(value.content, tuple) else ()
    return _find_label_misfit(labels[: len(question.choices)], question)


@lru_cache(maxsize=2**16)
def _find_separator_misfit(separator: str, choices: tuple[str, ...]) -> str:
    """Return why a separator does not fit choices, or "": it stands in one, or one has several lines."""
    mark = separator.strip() or separator
    for choice in choices if separator != "\n" else ():
        if "\n" in choice.strip() and "\n" not in separator:
            return f"the choice {_quote(choice)} has several lines"
        if mark in choice.strip() and mark not in _COMMON_MARKS:
            return f"it stands in the choice {_quote(choice)}"
    return ""


@lru_cache(maxsize=2**16)
def _find_label_misfit(labels: tuple[str, ...], question: Question) -> str:
    """Return why labels do not fit the choices of a question, or ""."""
    if labels == ENUMERATORS["capitals"][: len(labels)]:
        return ""
    pins = find_pins(question)
    if pins.are_labels_pinned:
        return f"labels are named: {pins.reason}"
    signs = tuple(label for label in labels if not label.isalnum())
    for choice in question.choices:
        is_in_formula = not labels[0].isascii() and any(label in choice for label in labels)
        if is_in_formula or (signs and choice.strip().startswith(signs)):
            return f"a label stands in the choice {_quote(choice)}"
        if any(f"{label})" in choice for label in labels):
            return f"the choice {_quote(choice)} has labels of its own"
        if consists_of_labels(choice, labels):
            return f"the choice {_quote(choice)} looks like a label"
    return ""


@lru_cache(maxsize=2**16)
def remove_own_labels(choices: tuple[str, ...]) -> tuple[str, ...]:
    """Return choices without labels of their own, if these count the choices from A, a or 1.

    >>> remove_own_labels(("a) in May", "b) in June")), remove_own_labels(("1. e4", "d4"))
    (('in May', 'in June'), ('1. e4', 'd4'))
    """
    matches = [match for choice in choices if (match := _OWN_LABEL.fullmatch(choice))]
    labels = tuple(match[1] for match in matches)
    is_counting = any(labels == ENUMERATORS[name][: len(choices)] for name in ("capitals", "lowercase", "digits"))
    return tuple(match[2] for match in matches) if is_counting and len(choices) > 1 else choices


def _quote(text: str) -> str:
    """Return a text in quotation marks, cut to 40 characters."""
    text = " ".join(text.split())
    return repr(text if len(text) <= 40 else text[:37] + "...")
