"""Choices and their target in the fields of a row: whatever the file writes, the target becomes a letter."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from howsure.errors import InputError, UnknownNameError

__all__ = ["TARGETS", "choices_of", "letters"]

#: More choices than there are letters cannot be told apart by a letter.
MOST = 26


def _letter(target: str, _labels: Sequence[str], choices: Sequence[str]) -> int | None:
    place = ord(target.upper()) - ord("A") if len(target) == 1 and target.isalpha() and target.isascii() else -1
    return place if 0 <= place < len(choices) else None


def _number(first: int) -> Callable[[str, Sequence[str], Sequence[str]], int | None]:
    def place(target: str, _labels: Sequence[str], choices: Sequence[str]) -> int | None:
        number = int(target) - first if target.isascii() and target.isdigit() and len(target) < 4 else -1
        return number if 0 <= number < len(choices) else None

    return place


def _text(target: str, _labels: Sequence[str], choices: Sequence[str]) -> int | None:
    return choices.index(target) if target in choices else None


def _label(target: str, labels: Sequence[str], _choices: Sequence[str]) -> int | None:
    return labels.index(target) if target in labels else None


#: How a target may name its choice: by letter, by place counted from 0 or from 1, by text, or by the row's own labels.
TARGETS: dict[str, Callable[[str, Sequence[str], Sequence[str]], int | None]] = {
    "label": _label,
    "letter": _letter,
    "index": _number(0),
    "number": _number(1),
    "text": _text,
}


def choices_of(row: Mapping[str, object], fields: Sequence[str], where: str) -> tuple[list[str], list[str]]:
    """Texts of the choices of a row, and the labels that it gives them, if any.

    One field holds a list, a list as JSON text, or `{text: [...], label: [...]}`; several fields hold a choice each,
    where the last ones may be empty.

    Raises
    ------
    InputError
        When that is not what the row holds, or two choices are the same.
    """
    for field in fields:
        if field not in row:
            raise UnknownNameError("field", field, row, where=where)
    found, labels = _listed([row[field] for field in fields])
    if found is None:
        what = f"field {fields[0]!r} holds no list of choices"
        raise InputError(what, where=where, remedy="give a list, or several fields: choices: [A, B, C, D]")
    if any(_empty(choice) or isinstance(choice, list | dict) for choice in found):
        raise InputError("a choice is empty or no text", where=where, remedy="fill it in, or remove the row")
    texts = [json.dumps(choice) if isinstance(choice, bool) else str(choice) for choice in found]
    if not 2 <= len(texts) <= MOST:
        raise InputError(f"{len(texts)} choices", where=where, remedy=f"give 2 to {MOST}, or remove the row")
    said: dict[str, str] = {}
    for text in texts:
        if (same := said.setdefault(" ".join(text.split()).casefold(), text)) is not text:
            raise InputError(f"two choices say the same: {same!r}", where=where, remedy="correct or remove the row")
    return texts, labels if len(labels) == len(texts) else []


def _listed(values: list[Any]) -> tuple[list[Any] | None, list[str]]:
    """Choices, and the labels that the row gives them; None when there is no list."""
    if len(values) > 1:
        while values and _empty(values[-1]):
            values.pop()
        return values, []
    found: Any = values[0]
    labels: list[Any] = []
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except ValueError:
            return None, []
    if isinstance(found, Mapping):
        labels = found.get("label") or []
        found = found.get("text")
    return (found if isinstance(found, list) else None), [str(label) for label in labels]


def _empty(choice: object) -> bool:
    return choice is None or (isinstance(choice, str) and not choice.strip())


def letters(
    targets: Sequence[str],
    choices: Sequence[Sequence[str]],
    labels: Sequence[Sequence[str]],
    places: Sequence[str],
    *,
    file: str,
    kind: str | None = None,
) -> list[str]:
    """The letter of each target.

    How targets are written is one thing for the whole file: the one way that fits every row, or `kind`.

    Raises
    ------
    InputError
        When no way fits every row, or two do and disagree.
    """
    ways = {}
    worst: tuple[int, str] = (-1, "")
    for name in [kind] if kind else TARGETS:
        found = [TARGETS[name](t.strip(), own, c) for t, own, c in zip(targets, labels, choices, strict=True)]
        if None not in found:
            ways[name] = found
        elif (first := found.index(None)) > worst[0]:
            worst = (first, places[first])
    if "label" in ways:
        ways = {"label": ways["label"]}  # the row says itself which choice is called so
    if not ways:
        what = f"target {targets[worst[0]]!r} is none of the choices"
        remedy = "correct the row; a target is a letter, a place, or the text of a choice"
        raise InputError(what, where=f"{file}, {worst[1]}", remedy=remedy)
    chosen, *others = ways.values()
    if any(other != chosen for other in others):
        what = "the targets can be read in several ways: " + ", ".join(ways)
        raise InputError(what, where=file, remedy=f"say which: target_is: {next(iter(ways))}")
    return [chr(ord("A") + place) for place in chosen if place is not None]
