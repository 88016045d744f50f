"""Surface noise: casing, spacing and slips of the keyboard, in instructions and questions; never in what is read.

Choices, fields in braces, quotations, formulas and code stay as they are, so labels, answers and what they are compared
with keep their spelling. So do numbers, short words (not, no, all) and words that are not plainly cased (DNA, McGee).
"""

from __future__ import annotations

import re

from howsure.perturb.draw import below

__all__ = ["CASINGS", "SPACINGS", "cased", "spaced", "typed"]

CASINGS = ("as-is", "lower", "upper")
SPACINGS = ("as-is", "double")
_KEPT = re.compile(
    r"(\{\w+\}|\\\w+(?:\{[^{}]*\})?|\"[^\"\n]*\"|“[^”\n]*”|`[^`]*`|\$[^$\n]*\$|\S*\d\S*|\S*[#@/\\<>_=]\S*)"
)
_FIELD = re.compile(r"(\{\w+\}|\\\w+)")
_WORD = re.compile(r"(?<![\w'’])(?:[A-Z][a-z]{3,}|[a-z]{4,})(?![\w'’])")
#: Chances are whole numbers of these parts.
PARTS = 10**6


def cased(text: str, casing: str) -> str:
    """A text in another casing; fields and commands of LaTeX keep theirs.

    >>> cased("Give one of {labels}.", "upper")
    'GIVE ONE OF {labels}.'
    """
    if casing == "as-is":
        return text
    parts = _FIELD.split(text)
    return "".join(part if i % 2 else getattr(part, casing)() for i, part in enumerate(parts))


def spaced(text: str, spacing: str) -> str:
    """A text with two spaces between words, if `spacing` is "double".

    >>> spaced("Give one.", "double")
    'Give  one.'
    """
    return text if spacing == "as-is" else re.sub(r"(?<=\S) (?=\S)", "  ", text)


def typed(text: str, rate: float, *parts: object) -> str:
    """A text in which each word of four letters or more has a slip with chance `rate`, drawn by the hash of `parts`.

    A slip is two letters swapped, one left out, or one doubled, each as likely (equal ones that would be swapped are
    doubled); the first and the last letter stay.

    >>> typed("Which river runs through Paris?", 0.5, "seed")
    'Which rier ruuns through Pairs?'
    """
    if not rate:
        return text
    pieces = _KEPT.split(text)
    words = iter(range(len(text)))

    def word(found: re.Match[str]) -> str:
        return _slip(found[0], rate, *parts, next(words))

    return "".join(piece if i % 2 else _WORD.sub(word, piece) for i, piece in enumerate(pieces))


def _slip(word: str, rate: float, *parts: object) -> str:
    if below(PARTS, *parts) >= round(rate * PARTS):
        return word
    at = 1 + below(len(word) - 3, *parts, "place")
    kind = below(3, *parts, "kind")
    if kind == 0 and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + word[at + 1 :] if kind == 1 else word[:at] + word[at] + word[at:]
