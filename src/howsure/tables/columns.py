"""Where a table keeps what we ask of it: the names that our columns go by elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from howsure.errors import InputError, UnknownNameError

__all__ = ["ALIASES", "Asked", "Found", "find", "named"]

#: Our column to the names it goes by elsewhere, the first one present wins.
ALIASES: dict[str, tuple[str, ...]] = {
    "benchmark": ("benchmark", "benchmark_id"),
    "model": ("model", "model_id", "model_name", "model_label"),
    "question": (
        "question",
        "question_id",
        "example_id",
        "original_row_index",
        "item",
        "example",
        "input",
        "input_label",
        "sample_id",
        "id",
    ),
    "variant": ("variant", "variation_index", "prompt", "template", "prompt_template"),
    "generation": ("generation", "epoch", "run", "run_number", "run_id", "repeat", "trial", "seed"),
    "score": ("score", "is_correct", "value", "result", "metric", "correct"),
    "mean": ("pass1",),
    "count": ("count",),
    "correct": ("correct",),
    "cluster": (),  # only where it is asked for
}

#: Columns of our own, which no dimension can be called.
_TAKEN = frozenset(
    {"benchmark", "model", "question", "variant", "generation", "score", "n", "total", "total_sq", "cluster"}
)


class Asked(NamedTuple):
    """How a table is to be read.

    Attributes
    ----------
    columns
        Our names to the table's, where `ALIASES` would not find them.
    dimensions
        Columns that say the variants' values.
    by_variant
        Whether variants are told apart; scores may then be of whole benchmarks, without a question.
    wide
        Whether a row is a variant and a column a model.
    """

    columns: Mapping[str, str] = {}
    dimensions: tuple[str, ...] = ()
    by_variant: bool = False
    wide: bool = False


class Found(NamedTuple):
    """Our columns, and the dimensions, to the table's; and the shape of its rows."""

    columns: dict[str, str]
    dimensions: dict[str, str]
    whole: bool
    """A score of the whole benchmark each, without a question."""
    aggregated: bool
    """A mean of a cell each."""


def find(names: Sequence[str], where: str, asked: Asked, given: Mapping[str, str] | None = None) -> Found:
    """What a table with columns of these names holds.

    Parameters
    ----------
    given
        Our names to the table's instead of those of `asked`, where they have been found already.

    Raises
    ------
    InputError
        When there is no column for the model, the question or the score.
    """
    there = {name.lower(): name for name in names}
    dimensions = _dimensions(there, where, asked.dimensions)
    given = asked.columns if given is None else given
    found = _columns(there, where, given, dimensions.values())
    # A cell per row: a mean and a count. One row per generation: a score.
    aggregated = "count" in found or ("mean" in found and "score" not in given)
    whole = asked.by_variant and not aggregated and "question" not in found
    needed = ["model", *([] if whole else ["question"]), "mean" if aggregated else "score"]
    if missing := [name for name in needed if name not in found]:
        wanted = ", ".join(f"{name!r} ({' or '.join(ALIASES[name])})" for name in missing)
        remedy = f"the columns are {', '.join(names)}: name one with --columns {missing[0]}=COLUMN"
        if asked.by_variant:
            remedy += ", or say --wide if each column is a model"
        raise InputError(f"no column for {wanted}", where=where, remedy=remedy)
    return Found(found, dimensions, whole, aggregated)


def named(names: Iterable[str], where: str, asked: Asked) -> set[str]:
    """Those columns that reading the table would touch; all of them where that is not known."""
    each = list(names)
    if asked.wide:
        return set(each)
    found = find(each, where, asked)
    return {*found.columns.values(), *found.dimensions.values()}


def _dimensions(there: Mapping[str, str], where: str, names: Sequence[str]) -> dict[str, str]:
    """Each dimension's column, by the name that it was asked for."""
    for name in names:
        if name.lower() not in there:
            raise UnknownNameError("column", name, there.values(), where=where)
        if name.lower() in _TAKEN:
            remedy = "give the column another name, or leave it out"
            raise InputError(f"--dimension {name!r}: it is no dimension of a prompt", where=where, remedy=remedy)
    return {name: there[name.lower()] for name in names}


def _columns(
    there: Mapping[str, str], where: str, columns: Mapping[str, str], dimensions: Iterable[str]
) -> dict[str, str]:
    found = {}
    for name, given in columns.items():
        if name not in ALIASES:
            raise UnknownNameError("column", name, ALIASES, where="--columns")
        if given.lower() not in there:
            raise UnknownNameError("column", given, there.values(), where=where)
        found[name] = there[given.lower()]
    taken = {*found.values(), *dimensions}
    for name, aliases in ALIASES.items():
        match = next((there[a] for a in aliases if a in there and there[a] not in taken), None)
        if name not in found and match is not None:
            found[name] = match
    return found
