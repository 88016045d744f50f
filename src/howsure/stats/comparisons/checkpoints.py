"""The order of the checkpoints of a training run, by the number in their labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray

__all__ = ["find_training_runs", "have_positions", "order_checkpoints", "read_positions"]

#: A number in a label, with a unit such as the B of 16B tokens.
_NUMBER = re.compile(r"(?<![\d.])\d+(?:\.\d+)?(?:[kKmMbBtT](?![a-zA-Z]))?")
_UNITS = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
#: Words before a number that make it the position of a checkpoint.
_POSITION = re.compile(r"(?:steps?|checkpoint|ckpt|iter|iteration|epoch|tokens)[\s_=:-]*$", re.IGNORECASE)
#: Words before a number that limits the length of a completion, such as max_completion_tokens=512.
_LIMIT = re.compile(
    r"(?<![a-z])(?:max|min|new|thinking|reasoning|budget|output|completion|prompt|gen)[\s_-]*tokens[\s_=:-]*$",
    re.IGNORECASE,
)
#: Smallest number of checkpoints of a training run that is drawn.
_FEWEST = 3


def order_checkpoints(labels: Iterable[str]) -> tuple[list[list[str]], list[str]]:
    """Group labels that differ in one number alone, each group in the order of that number.

    Parameters
    ----------
    labels
        Labels of models, without duplicates. Where several numbers behind words such as `step` and `tokens` grow
        together, they are one.

    Returns
    -------
    tuple
        Groups of two or more labels, and the labels that are in none.

    Raises
    ------
    InputError
        Where labels that are alike but for their numbers differ in several of them, and no word such as `step` says
        which one is the position.

    Examples
    --------
    >>> order_checkpoints(["a-7b step 2k", "a-7b step 500", "b step 1", "c"])
    ([['a-7b step 500', 'a-7b step 2k']], ['b step 1', 'c'])
    """
    groups: list[list[str]] = []
    single: list[str] = []
    for parts, names in _group_by_text(labels):
        if len(names) < 2:
            single += names
            continue
        varying, positions = _find_positions(parts, names)
        if len(positions or varying) > 1:
            raise InputError(
                f"{names[0]!r} and {names[1]!r} differ in several numbers",
                where="curve",
                remedy="name the checkpoints in their order: --order FIRST,SECOND,...",
            )
        for members in _order_series(names, (positions or varying)[0], varying):
            if len(members) > 1:
                groups.append(members)
            else:
                single += members
    return groups, single


def find_training_runs(labels: Iterable[str]) -> list[list[str]]:
    """Return the labels of each training run in order: three or more, with a number behind a word such as `step`.

    Parameters
    ----------
    labels
        Labels of models, without duplicates. Those that differ in other numbers, such as sizes, are in no run.

    Examples
    --------
    >>> find_training_runs(["m-step-1000", "m-step-200", "m-step-30", "llama-7b", "llama-13b", "llama-70b"])
    [['m-step-30', 'm-step-200', 'm-step-1000']]
    """
    runs = []
    for parts, names in _group_by_text(labels):
        varying, positions = _find_positions(parts, names)
        if len(positions) == 1:
            runs += [one for one in _order_series(names, positions[0], varying) if len(one) >= _FEWEST]
    return runs


def have_positions(labels: Iterable[str]) -> bool:
    """Return whether the number in which labels differ stands behind a word such as `step`, in all series of labels.

    Examples
    --------
    >>> have_positions(["m-step-100", "m-step-20"]), have_positions(["llama-7b", "llama-13b"])
    (True, False)
    """
    series = [(parts, names) for parts, names in _group_by_text(labels) if len(names) > 1]
    return bool(series) and all(_find_positions(parts, names)[1] for parts, names in series)


def read_positions(labels: Sequence[str]) -> FloatArray:
    """Return the numbers by which labels are ordered, or 1, 2, 3, ... where they do not grow from label to label.

    Examples
    --------
    >>> read_positions(["step 500", "step 2k"]).tolist(), read_positions(["base", "tuned"]).tolist()
    ([500.0, 2000.0], [1.0, 2.0])
    """
    places = np.arange(1.0, len(labels) + 1)
    [(parts, names), *others] = _group_by_text(labels)
    if others or len(names) < 2:
        return places
    varying, positions = _find_positions(parts, names)
    if len(positions or varying) != 1:
        return places
    numbers = np.array([_read_numbers(name)[(positions or varying)[0]] for name in labels])
    return numbers if np.all(np.diff(numbers) > 0) else places


def _group_by_text(labels: Iterable[str]) -> list[tuple[tuple[str, ...], list[str]]]:
    """Return the labels that are alike but for their numbers, with the texts around these."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for label in labels:
        alike.setdefault(tuple(_NUMBER.split(label)), []).append(label)
    return list(alike.items())


def _find_positions(parts: Sequence[str], names: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return which numbers of labels differ, and which of these stand behind a word such as `step`.

    Of positions that order the labels alike, such as steps and the tokens seen until then, the first.
    """
    numbers = np.array([_read_numbers(name) for name in names]).reshape(len(names), len(parts) - 1)
    varying = [i for i in range(numbers.shape[1]) if len(set(numbers[:, i].tolist())) > 1]
    positions = [i for i in varying if _POSITION.search(parts[i]) and not _LIMIT.search(parts[i])]
    if len(positions) > 1:
        others = [i for i in varying if i not in positions]
        runs: dict[tuple[float, ...], list[list[float]]] = {}
        for row in numbers.tolist():
            runs.setdefault(tuple(row[i] for i in others), []).append([row[i] for i in positions])
        if all(np.all(np.diff(sorted(rows), axis=0) > 0) for rows in runs.values()):
            return sorted([positions[0], *others]), positions[:1]
    return varying, positions


def _order_series(names: Sequence[str], position: int, varying: Sequence[int]) -> list[list[str]]:
    """Return the labels of each run, which has equal numbers but for its position, by that position."""
    series: dict[tuple[float, ...], list[str]] = {}
    for name in names:
        numbers = _read_numbers(name)
        series.setdefault(tuple(numbers[i] for i in varying if i != position), []).append(name)
    return [sorted(members, key=lambda name: _read_numbers(name)[position]) for members in series.values()]


def _read_numbers(label: str) -> list[float]:
    """Return the values of the numbers in a label, with or without a unit."""
    values = []
    for text in _NUMBER.findall(label):
        unit = _UNITS.get(text[-1].lower())
        values.append(float(text) if unit is None else float(text[:-1]) * unit)
    return values
