"""Grouped rows as dense arrays: an Arrow table with a row per cell to `Cells` and `Cube`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.store.reduce import COLUMNS, OUTCOMES

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["EXTREMES", "SUMS", "codes", "dense", "dense_cube", "flat", "split"]

SUMS = ("n", "total", "total_sq")
EXTREMES = {"minimum": np.fmin, "maximum": np.fmax}
#: Of a cube: 40 bytes each.
_MOST_CELLS = 100_000_000


def split(table: pa.Table, column: str) -> list[pa.Table]:
    """The table by the values of a column, sorted by value."""
    values, code = codes(table, column)
    if len(values) == 1:
        return [table]
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(len(values) + 1))
    return [table.take(order[ends[i] : ends[i + 1]]) for i in range(len(values))]


def codes(table: pa.Table, column: str) -> tuple[tuple[str, ...], NDArray[np.integer]]:
    """Sorted distinct values of a column, and the place of each row's value among them."""
    encoded = table[column].combine_chunks().dictionary_encode()
    values = [str(v) for v in encoded.dictionary.to_pylist()]
    order = sorted(range(len(values)), key=values.__getitem__)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return tuple(values[i] for i in order), place[encoded.indices.to_numpy(zero_copy_only=False)]


def dense(table: pa.Table, variants: Mapping[str, tuple[str, ...]], clusters: Mapping[tuple[str, str], str]) -> Cells:
    """Cells of a single benchmark, a row each, (M, N); variants by benchmark, clusters by benchmark and question."""
    benchmark = str(table["benchmark"][0].as_py())
    models, i = codes(table, "model")
    questions, j = codes(table, "question")
    arrays: dict[str, Any] = {}
    for name in COLUMNS:
        if name in table.column_names:
            is_extreme = name in EXTREMES
            array = np.full((len(models), len(questions)), np.nan if is_extreme else 0.0)
            values = table[name].to_numpy().astype(float)  # NaN where null
            array[i, j] = values if is_extreme else np.nan_to_num(values)
            arrays[name] = array if is_extreme or name.startswith("total") else array.astype(np.int64)
    if OUTCOMES in table.column_names:
        arrays[OUTCOMES] = np.zeros((len(models), len(questions)), np.uint64)
        arrays[OUTCOMES][i, j] = np.nan_to_num(table[OUTCOMES].to_numpy()).astype(np.uint64)
    return Cells(
        benchmark,
        models,
        questions,
        variants=variants.get(benchmark, ()),
        clusters=_clusters(benchmark, questions, clusters),
        **arrays,
    )


def _clusters(
    benchmark: str, questions: Sequence[str], clusters: Mapping[tuple[str, str], str]
) -> tuple[str, ...] | None:
    """Cluster of each question; None where the benchmark has none."""
    if (benchmark, questions[0]) not in clusters:
        return None
    return tuple(clusters[benchmark, question] for question in questions)


def dense_cube(
    table: pa.Table,
    values: Mapping[str, Mapping[tuple[str, str], str]],
    clusters: Mapping[tuple[str, str], str],
    rows: NDArray[np.bool_] | None = None,
) -> Cube:
    """Cells of a single benchmark, added up where a key comes again; of all rows, or of some in the shape of all.

    `values` by dimension, benchmark and variant; `clusters` by benchmark and question.
    """
    benchmark = str(table["benchmark"][0].as_py())
    (models, i), (questions, j), (variants, k) = (codes(table, name) for name in ("model", "question", "variant"))
    pairs = np.unique(k * len(questions) + j)
    # Variants that no two questions share: each question has a first one, a second one, ...
    if nested := len(questions) > 1 and len(pairs) == len(variants):
        owner = pairs % len(questions)
        order = np.argsort(owner, kind="stable")
        place = np.empty(len(pairs), dtype=np.int64)
        place[order] = np.arange(len(pairs)) - np.searchsorted(owner[order], owner[order])
        k, variants = place[k], tuple(str(1 + p) for p in range(1 + int(place.max())))
    if (size := len(models) * len(questions) * len(variants)) > _MOST_CELLS:
        what = f"{len(models)} models x {len(questions)} questions x {len(variants)} variants are {size:,} cells"
        remedy = "a variant is one way of asking all questions: is that what its column names?"
        raise InputError(what, where=benchmark, remedy=remedy)
    keep = slice(None) if rows is None else rows
    arrays: dict[str, Any] = {}
    for name in SUMS:
        array = np.zeros((len(models), len(questions), len(variants)))
        np.add.at(array, (i[keep], j[keep], k[keep]), np.nan_to_num(table[name].to_numpy().astype(float))[keep])
        arrays[name] = array.astype(np.int64) if name == "n" else array
    for name, merge in EXTREMES.items():
        if name in table.column_names:
            arrays[name] = np.full(arrays["n"].shape, np.nan)
            merge.at(arrays[name], (i[keep], j[keep], k[keep]), table[name].to_numpy().astype(float)[keep])
    named = {} if nested else {d: tuple(each[benchmark, v] for v in variants) for d, each in values.items()}
    of = _clusters(benchmark, questions, clusters)
    return Cube(benchmark, models, questions, variants, **arrays, values=named, nested=nested, clusters=of)


def flat(cube: Cube) -> Cells:
    """Cells of a cube as if each were a question of its own."""
    names = tuple(f"{j}/{k}" for j in range(len(cube.questions)) for k in range(len(cube.variants)))
    return Cells(cube.benchmark, cube.models, names, *(getattr(cube, a).reshape(len(cube.models), -1) for a in SUMS))
