"""Read the direction of the compass that a completion gives: one of eight labels of a choice."""

from __future__ import annotations

import re

from howsure.scorers.completion_text import CompletionContext, clean_completion
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.scorers.statements import find_statements, split_sentences

#: The eight directions, clockwise from north.
DIRECTIONS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
CARDINAL = DIRECTIONS[::2]
#: Direction to its initials: n, ne, e and so on.
SHORT = {direction: "".join(word[0] for word in direction.split("-")) for direction in DIRECTIONS}
_BY_INITIALS = {initials: direction for direction, initials in SHORT.items()}
# Words such as "northern" are no directions, nor are directions of three parts and names such as the Middle East.
_MENTION = re.compile(
    r"(?<!Middle )(?<!Far )\b(?:(?P<ns>north|south)[-‐‑– ]?(?P<ew>east|west)|(?P<one>north|south|east|west))\b"
    r"(?![-‐‑ ](?:north|south|east|west|pole|star|sea|africa|america|asia|korea)\b)",
    re.IGNORECASE,
)
_INITIALS = re.compile(r"[\s*_\"'$(]*([ns]?\.?[ew]?)[\s*_\"'$).!]*", re.IGNORECASE)
_DENIED = re.compile(
    r"(?:\b(?:not|never|neither|nor|opposite of|instead of|rather than)|n['’]t)(?: \w+){0,2} [*_\"'(]*$"
)


def extract_direction(text: str, *, context: CompletionContext | None = None) -> str | None:
    """Return the direction that a completion gives; None where it gives none or several.

    A statement decides, else the last sentence that names a direction.

    >>> extract_direction("The answer is North-East."), extract_direction("It is east or north.")
    ('north-east', None)
    """
    text = clean_completion(text, context)[0]
    initials = _INITIALS.fullmatch(text)
    if initials and (direction := _BY_INITIALS.get(initials[1].lower().replace(".", ""))):
        return direction
    stated = [statement.text for statement in find_statements(text)]
    if context is not None and context.truncated:
        return next((direction for direction in map(_read_phrase, stated) if direction), None)
    for phrase in (*stated, *reversed(split_sentences(text))):
        initials = _INITIALS.fullmatch(phrase)
        if initials and (direction := _BY_INITIALS.get(initials[1].lower().replace(".", ""))):
            return direction
        if _MENTION.search(phrase):
            return _read_phrase(phrase)
    return None


def _read_phrase(phrase: str) -> str | None:
    """Return the only direction that a phrase names and does not deny."""
    named = {
        (match["one"] or f"{match['ns']}-{match['ew']}").lower()
        for match in _MENTION.finditer(phrase)
        if not _DENIED.search(phrase[: match.start()])
    }
    return named.pop() if len(named) == 1 else None


def build_direction_scorer(spec: str, _: str) -> Scorer:
    """Return the scorer `direction`."""

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        target, answer = extract_direction(item.target), extract_direction(completion, context=item.context)
        if target is None:
            raise ValueError(f"the target {item.target[:60]!r} is not one of the eight directions")
        return ScoredAnswer(float(answer == target), answer, "direction" if answer is not None else "no direction")

    return Scorer(spec, hash_code("scorers.directions"), score)
