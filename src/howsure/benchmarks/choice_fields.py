"""Read the choices and the target of a row in any supported form, and convert the target to a letter."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from howsure.errors import InputError, UnknownNameError

__all__ = ["TARGETS", "parse_choices", "parse_targets"]

#: Choices are lettered, so there can be no more of them than letters.
MAX_CHOICES = 26

#: Function of (target, labels of the row, choices) that returns the index of the choice, or None.
TargetParser = Callable[[str, Sequence[str], Sequence[str]], int | None]


def _index_of_letter(target: str, _labels: Sequence[str], choices: Sequence[str]) -> int | None:
    """Return the index of a target that is a letter."""
    index = ord(target.upper()) - ord("A") if len(target) == 1 and target.isalpha() and target.isascii() else -1
    return index if 0 <= index < len(choices) else None


def _parse_number_from(first: int) -> TargetParser:
    """Return the parser of targets that count from `first`."""

    def parse(target: str, _labels: Sequence[str], choices: Sequence[str]) -> int | None:
        index = int(target) - first if target.isascii() and target.isdigit() and len(target) < 4 else -1
        return index if 0 <= index < len(choices) else None

    return parse


def _index_of_text(target: str, _labels: Sequence[str], choices: Sequence[str]) -> int | None:
    """Return the index of a target that is the text of a choice."""
    return choices.index(target) if target in choices else None


def _index_of_label(target: str, labels: Sequence[str], _choices: Sequence[str]) -> int | None:
    """Return the index of a target that is a label of the row."""
    return labels.index(target) if target in labels else None


#: Kind of target -> how it names its choice: the row's own label, a letter, a place from 0 or from 1, or the text.
TARGETS: dict[str, TargetParser] = {
    "label": _index_of_label,
    "letter": _index_of_letter,
    "index": _parse_number_from(0),
    "number": _parse_number_from(1),
    "text": _index_of_text,
}


def parse_choices(row: Mapping[str, object], fields: Sequence[str], where: str) -> tuple[list[str], list[str]]:
    """Return the texts of the choices of a row, and the labels that it gives them, if any.

    One field holds a list, a list as JSON text, or `{text: [...], label: [...]}`. Several fields hold one choice each;
    the last ones may be empty.

    Raises
    ------
    UnknownNameError
        When the row does not have a field.
    InputError
        When the fields hold something else, or two choices are the same.
    """
    for field in fields:
        if field not in row:
            raise UnknownNameError("field", field, row, where=where)
    choices, labels = _parse_list([row[field] for field in fields])
    if choices is None:
        what = f"field {fields[0]!r} holds no list of choices"
        raise InputError(what, where=where, remedy="give a list, or several fields: choices: [A, B, C, D]")
    if any(_is_empty(choice) or isinstance(choice, list | dict) for choice in choices):
        raise InputError("a choice is empty or no text", where=where, remedy="fill it in, or remove the row")
    texts = [json.dumps(choice) if isinstance(choice, bool) else str(choice) for choice in choices]
    if not 2 <= len(texts) <= MAX_CHOICES:
        raise InputError(f"{len(texts)} choices", where=where, remedy=f"give 2 to {MAX_CHOICES}, or remove the row")
    distinct: dict[str, str] = {}
    for text in texts:
        if (same := distinct.setdefault(" ".join(text.split()).casefold(), text)) is not text:
            raise InputError(f"two choices have one text: {same!r}", where=where, remedy="correct or remove the row")
    return texts, labels if len(labels) == len(texts) else []


def _parse_list(values: list[object]) -> tuple[list[object] | None, list[str]]:
    """Return the choices, and the labels that the row gives them; None when there is no list."""
    if len(values) > 1:
        while values and _is_empty(values[-1]):
            values.pop()
        return values, []
    content: object = values[0]
    labels: object = None
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError:
            return None, []
    if isinstance(content, Mapping):
        labels = content.get("label")
        content = content.get("text")
    names = [str(label) for label in labels] if isinstance(labels, list | str) else []
    return (content if isinstance(content, list) else None), names


def _is_empty(choice: object) -> bool:
    """Return whether a choice is missing or blank."""
    return choice is None or (isinstance(choice, str) and not choice.strip())


def parse_targets(
    targets: Sequence[str],
    choices: Sequence[Sequence[str]],
    labels: Sequence[Sequence[str]],
    places: Sequence[str],
    *,
    file: str,
    kind: str | None = None,
) -> list[str]:
    """Return the letter of each target.

    All targets of a file are of one kind: the only kind that fits every row, or `kind`.

    Parameters
    ----------
    targets, choices, labels, places
        Target, choices, labels of the choices, and place in the file of each row.
    file
        Name of the file in errors.
    kind
        A key of `TARGETS`, or None to find the kind.

    Raises
    ------
    InputError
        When no kind fits every row, or two kinds do and disagree.
    """
    fitting = {}
    worst: tuple[int, str] = (-1, "")
    for name in [kind] if kind else TARGETS:
        indices = [TARGETS[name](t.strip(), own, c) for t, own, c in zip(targets, labels, choices, strict=True)]
        if None not in indices:
            fitting[name] = indices
        elif (first := indices.index(None)) > worst[0]:
            worst = (first, places[first])
    if "label" in fitting:
        fitting = {"label": fitting["label"]}  # the labels of the row determine the choice
    if not fitting:
        what = f"target {targets[worst[0]]!r} is none of the choices"
        remedy = "correct the row; a target is a letter, a place, or the text of a choice"
        raise InputError(what, where=f"{file}, {worst[1]}", remedy=remedy)
    chosen, *others = fitting.values()
    if any(other != chosen for other in others):
        what = "the targets can be read in several ways: " + ", ".join(fitting)
        raise InputError(what, where=file, remedy=f"say which: target_is: {next(iter(fitting))}")
    return [chr(ord("A") + index) for index in chosen if index is not None]
