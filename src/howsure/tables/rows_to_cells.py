"""Rows of any table to `Cells` and `Cube`: grouped by the engine that holds them, then put into dense arrays."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import add, attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.stats.sequential import merge_stages
from howsure.store.adaptive_plans import Plans
from howsure.tables import grouping
from howsure.tables.grouping import CELL, COLUMNS, OUTCOMES, group_cells, sum_groups

__all__ = [
    "EXTREMES",
    "SUMS",
    "cells",
    "cells_by_run",
    "complete_runs",
    "cubes",
    "dense_cells",
    "dense_cube",
    "encode_column",
    "flatten_cube",
    "merge_cells",
    "split_table",
    "sum_stages",
    "weigh_stages",
]

if TYPE_CHECKING:
    import pyarrow as pa


SUMS = ("n", "total", "total_sq")
EXTREMES = {"minimum": np.fmin, "maximum": np.fmax}
#: Of a cube: 40 bytes each.
_MOST_CELLS = 100_000_000


def split_table(table: pa.Table, column: str) -> list[pa.Table]:
    """The table by the values of a column, sorted by value."""
    values, code = encode_column(table, column)
    if len(values) == 1:
        return [table]
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(len(values) + 1))
    return [table.take(order[ends[i] : ends[i + 1]]) for i in range(len(values))]


def encode_column(table: pa.Table, column: str) -> tuple[tuple[str, ...], NDArray[np.integer]]:
    """Sorted distinct values of a column, and the place of each row's value among them."""
    encoded = table[column].combine_chunks().dictionary_encode()
    values = [str(v) for v in encoded.dictionary.to_pylist()]
    order = sorted(range(len(values)), key=values.__getitem__)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return tuple(values[i] for i in order), place[encoded.indices.to_numpy(zero_copy_only=False)]


def dense_cells(
    table: pa.Table, variants: Mapping[str, tuple[str, ...]], clusters: Mapping[tuple[str, str], str]
) -> Cells:
    """Cells of a single benchmark, a row each, (M, N); variants by benchmark, clusters by benchmark and question."""
    benchmark = str(table["benchmark"][0].as_py())
    models, i = encode_column(table, "model")
    questions, j = encode_column(table, "question")
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
    (models, i), (questions, j), (variants, k) = (
        encode_column(table, name) for name in ("model", "question", "variant")
    )
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


def flatten_cube(cube: Cube) -> Cells:
    """Cells of a cube as if each were a question of its own."""
    names = tuple(f"{j}/{k}" for j in range(len(cube.questions)) for k in range(len(cube.variants)))
    return Cells(cube.benchmark, cube.models, names, *(getattr(cube, a).reshape(len(cube.models), -1) for a in SUMS))


if TYPE_CHECKING:
    import pyarrow as pa


def sum_stages(table: pa.Table, plans: Plans, by: Sequence[str]) -> pa.Table:
    """Summed over the generations of a stage; what is beyond the plan was there before it, and is a stage too."""
    import pyarrow as pa

    names, code = zip(*(encode_column(table, name) for name in CELL), strict=True)
    keys, row = np.unique(np.ravel_multi_index(code, tuple(map(len, names))), return_inverse=True)
    stages = max(len(plan.stages) for models in plans.values() for plan in models.values())
    last = np.full((len(keys), stages), np.iinfo(np.int64).max)  # of each stage, where there is a plan
    for i, (b, m, q) in enumerate(zip(*np.unravel_index(keys, tuple(map(len, names))), strict=True)):
        if plan := plans.get(names[0][b], {}).get(names[1][m]):
            last[i, : len(plan.stages)] = plan.ends(names[2][q])
    stage = np.sum(table["generation"].to_numpy()[:, None] > last[row], axis=1)
    return sum_groups(table.append_column("stage", pa.array(stage.astype(str))), (*by, "stage"))


def weigh_stages(whole: Cells, each: Sequence[Cells], labels: Iterable[str]) -> Cells:
    """The whole with the models of `labels` merged by their stages."""
    staged = [model for model in whole.models if model in set(labels)]
    mine = [stage.select([model for model in staged if model in stage.models]) for stage in each]
    if not staged:
        return whole
    together = merge_stages([stage for stage in mine if stage.models])
    column = {question: j for j, question in enumerate(whole.questions)}
    rows = np.array([whole.index(model) for model in together.models])
    place = np.ix_(rows, np.array([column[question] for question in together.questions]))
    arrays = {name: getattr(whole, name).copy() for name in SUMS}
    for name, array in arrays.items():
        array[place] = getattr(together, name)
    return replace(whole, **arrays)


def complete_runs(table: pa.Table, plans: Plans) -> pa.Table:
    """Without the generations of a staged model that its plan does not give to every question."""
    last = {
        (benchmark, model): min(plan.ends(question)[-1] for question in plan.stages[0])
        for benchmark, models in plans.items()
        for model, plan in models.items()
    }
    names = zip(*(table[name].to_pylist() for name in ("benchmark", "model", "generation")), strict=True)
    return table.filter([g <= last.get((benchmark, model), g) for benchmark, model, g in names])


if TYPE_CHECKING:
    from narwhals.typing import IntoFrame


def cells(
    frame: IntoFrame, *, where: str = "the table", plans: Plans | None = None, generations: int | None = None
) -> list[Cells]:
    """Group responses into cells, one `Cells` per benchmark.

    Parameters
    ----------
    frame
        Any frame that narwhals reads, eager or lazy, with columns benchmark, model, question and either

        - `score`, one row per generation (null: it failed), and optionally `answer` (null: none could be read),
          `variant` and `generation`; or
        - `n`, `total`, `total_sq`, one row per cell;

        and optionally `cluster`, one per question.
    where
        Name of the source, for messages.
    plans
        Of the models that were sampled in stages: theirs are weighed as wholes (`stats.staged.merged`), and `n` is the
        effective number of generations. Needs a column `generation`.
    generations
        Only so many of the lowest numbers in the column `generation` are read; None: all.

    Models and questions come back sorted by name. Cells are pooled over prompt variants, whose names they keep.
    """
    rows = grouping.first_generations(_lazy(frame), generations, where)
    clusters = grouping.read_clusters(rows, where)
    if not plans:
        table, variants = grouping.pool_variants(rows, where)
        return [dense_cells(part, variants, clusters) for part in split_table(table, "benchmark")]
    variants = grouping.read_variants(rows)
    found = []
    for part in split_table(sum_stages(group_cells(rows, (*CELL, "generation"), where), plans, CELL), "benchmark"):
        whole = dense_cells(grouping.sum_groups(part, CELL), variants, clusters)
        each = [dense_cells(stage, variants, clusters) for stage in split_table(part, "stage")]
        found.append(weigh_stages(whole, each, plans.get(whole.benchmark, ())))
    return found


def cells_by_run(
    frame: IntoFrame, *, where: str = "the table", plans: Plans | None = None, generations: int | None = None
) -> dict[str, list[Cells]]:
    """The same for each generation alone, which is one run of the benchmark; by benchmark, in the order of generations.

    A frame without a column `generation` is one run. Of a model that was sampled in stages, generations that not every
    question was to have are no runs, and are left out: the caller tells so.
    """
    rows = grouping.first_generations(_lazy(frame), generations, where)
    if "generation" not in rows.collect_schema().names():
        return {one.benchmark: [one] for one in cells(frame, where=where)}
    table, variants = group_cells(rows, (*CELL, "generation"), where), grouping.read_variants(rows)
    if plans:
        table = complete_runs(table, plans)
    runs: dict[str, list[Cells]] = {}
    for part in split_table(table, "benchmark"):
        each = sorted(split_table(part, "generation"), key=lambda run: _in_order(str(run["generation"][0].as_py())))
        runs[str(part["benchmark"][0].as_py())] = [dense_cells(run, variants, {}) for run in each]
    return runs


def cubes(
    frame: IntoFrame,
    *,
    where: str = "the table",
    dimensions: Sequence[str] = (),
    plans: Plans | None = None,
    generations: int | None = None,
) -> list[Cube]:
    """Group responses into cells of each prompt variant, one `Cube` per benchmark.

    Parameters
    ----------
    frame, where
        As for `cells`. Without a column `variant` there is one, "default".
    dimensions
        Columns that say the variants' values; each has one value within a variant.
    plans
        As for `cells`: stages count as wholes, so that how often a cell was asked does not bias its mean.
    generations
        As for `cells`.

    Models, questions and variants come back sorted by name. Where no two questions share a variant they are nested.
    """
    import narwhals as nw

    rows, cell = grouping.first_generations(_lazy(frame), generations, where), (*CELL, "variant")
    if "variant" not in rows.collect_schema().names():
        rows = rows.with_columns(nw.lit("default").alias("variant"))
    table = group_cells(rows, (*cell, "generation") if plans else cell, where)
    values = {dimension: grouping.read_values(rows, dimension, where) for dimension in dimensions}
    clusters = grouping.read_clusters(rows, where)
    if not plans:
        return [dense_cube(part, values, clusters) for part in split_table(table, "benchmark")]
    found = []
    for part in split_table(sum_stages(table, plans, cell), "benchmark"):
        stages, code = encode_column(part, "stage")
        whole = dense_cube(part, values, clusters)
        each = [dense_cube(part, values, clusters, code == stage) for stage in range(len(stages))]
        together = weigh_stages(
            flatten_cube(whole), [flatten_cube(stage) for stage in each], plans.get(whole.benchmark, ())
        )
        arrays: dict[str, Any] = {name: getattr(together, name).reshape(whole.n.shape) for name in SUMS}
        found.append(replace(whole, **arrays))
    return found


def _in_order(generation: str) -> tuple[int, str]:
    """Numbers by value, then names."""
    return (int(generation), "") if generation.isdecimal() else (1 << 62, generation)


def _lazy(frame: IntoFrame) -> Any:
    import narwhals as nw

    return nw.from_native(frame).lazy()


def merge_cells(parts: Iterable[Cells]) -> list[Cells]:
    """Add up cells of the same benchmark, such as those of several files or shards.

    Benchmarks, models and questions are sorted by name: sums in floating point come out the same, however the rows
    were divided.
    """
    by_name = sorted(parts, key=attrgetter("benchmark"))
    merged = [functools.reduce(add, same) for _, same in groupby(by_name, key=attrgetter("benchmark"))]
    return [one.select(sorted(one.models), sorted(one.questions)) for one in merged]
