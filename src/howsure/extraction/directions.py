"""Cardinal directions as answers: the direction that a completion gives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from howsure.extraction.statements import concluded, stated

__all__ = ["CARDINAL", "DIRECTIONS", "SHORT", "extract_direction"]

#: Clockwise from north, 45 degrees apart.
DIRECTIONS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
CARDINAL = DIRECTIONS[::2]
SHORT = {d: "".join(word[0] for word in d.split("-")) for d in DIRECTIONS}

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
_LONG = {short.upper(): direction for direction, short in SHORT.items()}
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
