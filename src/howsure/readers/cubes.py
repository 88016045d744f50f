"""Cubes as their run folder describes the variants, and those of the same benchmark as one."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from howsure.benchmarks.question import value_of
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.stats.core.cells import merge_clusters
from howsure.stats.core.cube import Cube
from howsure.store.manifest import NAME
from howsure.tables.rows_to_cells import EXTREMES, SUMS

__all__ = ["described", "merge"]


class _Dimension(msgspec.Struct):
    nested: bool = False


class _Space(msgspec.Struct):
    dimensions: dict[str, _Dimension] = {}


class _Variants(msgspec.Struct):
    space: _Space | None = None
    default: str | None = None


class _Told(msgspec.Struct):
    """What a manifest says of variants."""

    prompts: dict[str, dict[str, str]] = {}
    variants: dict[str, _Variants] = {}


def described(cubes: Iterable[Cube], folder: Path, dimensions: Sequence[str] = ()) -> list[Cube]:
    """The cubes of a run folder with the variants' values, the default one, and whether they are nested.

    Variants that the space does not describe, such as the default prompt, have the value ''. A folder without a
    manifest says nothing. Every one of `dimensions` must be known.
    """
    file = folder / NAME
    try:
        told = msgspec.json.decode(file.read_bytes(), type=_Told)
    except FileNotFoundError:
        told = _Told()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"damaged ({error})", where=str(file), remedy="restore it from a copy") from error
    found = [_described(cube, told) for cube in cubes]
    for name in dimensions:
        if not any(name in cube.values for cube in found):
            known = {dimension for cube in found for dimension in cube.values}
            raise UnknownNameError("dimension", name, known, where=str(folder))
    return found


def _described(cube: Cube, told: _Told) -> Cube:
    about = told.variants.get(cube.benchmark, _Variants())
    each = [told.prompts.get(variant, {}) for variant in cube.variants]
    space = about.space.dimensions if about.space else {}
    names = space or dict.fromkeys(name for values in each for name in values)
    default = cube.variants.index(about.default) if about.default in cube.variants else None
    # a shuffle is one value whatever order it drew
    values = {name: tuple(value_of(one.get(name, "")) for one in each) for name in names}
    # what no two questions share has no values of its own; the space may know that the drawn ones are nested too
    nested = cube.nested or (bool(space) and all(dimension.nested for dimension in space.values()))
    return replace(cube, values={} if cube.nested else values, default=default, nested=nested)


def merge(parts: Iterable[Cube]) -> list[Cube]:
    """Add up cubes of the same benchmark, such as those of several files or shards; names are sorted."""
    by_name = sorted(parts, key=attrgetter("benchmark"))
    merged = [_one(list(same)) for _, same in groupby(by_name, key=attrgetter("benchmark"))]
    for cube in merged:
        if cube.nested:
            told = f"{cube.benchmark}: each question has variants of its own: no variant has a score over all questions"
            warnings.warn(told, HowsureWarning, stacklevel=3)
    return merged


def _one(cubes: Sequence[Cube]) -> Cube:
    first = cubes[0]
    if len(cubes) == 1:
        return first
    if len({cube.nested for cube in cubes}) > 1:
        remedy = "read them one at a time"
        raise InputError("some variants are nested in questions, others are not", where=first.benchmark, remedy=remedy)
    if (
        first.variants[0] == "1"
        and first.nested
        and len({q for c in cubes for q in c.questions}) < sum(len(c.questions) for c in cubes)
    ):
        remedy = "put them in one table"
        raise InputError(
            "questions with variants of their own are in several tables", where=first.benchmark, remedy=remedy
        )
    models, questions, variants = (
        tuple(sorted({name for cube in cubes for name in getattr(cube, names)}))
        for names in ("models", "questions", "variants")
    )
    shape = (len(models), len(questions), len(variants))
    sums: dict[str, Any] = {name: np.zeros(shape, getattr(first, name).dtype) for name in SUMS}
    sums |= {name: np.full(shape, np.nan) for name in EXTREMES}
    for cube in cubes:
        place = np.ix_(*(_places(whole, part) for whole, part in _axes(cube, models, questions, variants)))
        for name in SUMS:
            sums[name][place] += getattr(cube, name)
        for name, merge in EXTREMES.items():
            if (known := getattr(cube, name)) is not None:
                sums[name][place] = merge(sums[name][place], known)
    defaults = {cube.variants[cube.default] for cube in cubes if cube.default is not None}
    if len(defaults) > 1:
        what = f"the default prompt is {' and '.join(map(repr, sorted(defaults)))}"
        raise InputError(what, where=first.benchmark, remedy="read them one at a time")
    default = variants.index(defaults.pop()) if defaults else None
    return Cube(
        first.benchmark,
        models,
        questions,
        variants,
        **sums,
        values=_values(cubes, variants),
        default=default,
        nested=first.nested,
        clusters=merge_clusters(cubes, questions),
    )


def _axes(cube: Cube, *whole: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], tuple[str, ...]]]:
    return zip(whole, (cube.models, cube.questions, cube.variants), strict=True)


def _places(whole: tuple[str, ...], part: tuple[str, ...]) -> list[int]:
    place = {name: i for i, name in enumerate(whole)}
    return [place[name] for name in part]


def _values(cubes: Sequence[Cube], variants: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Value of each variant on all dimensions; '' where nothing is known of it."""
    found: dict[str, dict[str, str]] = {}
    for cube in cubes:
        for dimension, values in cube.values.items():
            known = found.setdefault(dimension, {})
            for variant, value in zip(cube.variants, values, strict=True):
                if value and known.setdefault(variant, value) != value:
                    what = f"variant {variant!r} has {dimension} {known[variant]!r} and {value!r}"
                    raise InputError(what, where=cube.benchmark, remedy="give different variants different names")
    return {dimension: tuple(known.get(variant, "") for variant in variants) for dimension, known in found.items()}
