"""Rows to cells: the one bridge from a table, on whatever engine holds it, to the arrays of `stats`.

The grouping is a narwhals expression, so it runs where the rows are: DuckDB for files and run folders, or the pandas,
polars, pyarrow or Spark frame that somebody already has. Only cells come back: pooled over prompt variants (`cells`),
or of each variant (`cubes`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import add, attrgetter
from typing import TYPE_CHECKING, Any

from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.store import reduce
from howsure.store.dense import SUMS, codes, dense, dense_cube, flat, split
from howsure.store.reduce import CELL, grouped
from howsure.store.stages import Plans
from howsure.store.weighed import by_stage, complete, weighed

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

__all__ = ["cells", "cells_by_run", "cubes", "merge"]


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
    rows = reduce.first_generations(_lazy(frame), generations, where)
    clusters = reduce.clusters(rows, where)
    if not plans:
        table, variants = reduce.pooled(rows, where)
        return [dense(part, variants, clusters) for part in split(table, "benchmark")]
    variants = reduce.variants(rows)
    found = []
    for part in split(by_stage(grouped(rows, (*CELL, "generation"), where), plans, CELL), "benchmark"):
        whole = dense(reduce.summed(part, CELL), variants, clusters)
        each = [dense(stage, variants, clusters) for stage in split(part, "stage")]
        found.append(weighed(whole, each, plans.get(whole.benchmark, ())))
    return found


def cells_by_run(
    frame: IntoFrame, *, where: str = "the table", plans: Plans | None = None, generations: int | None = None
) -> dict[str, list[Cells]]:
    """The same for each generation alone, which is one run of the benchmark; by benchmark, in the order of generations.

    A frame without a column `generation` is one run. Of a model that was sampled in stages, generations that not every
    question was to have are no runs, and are left out: the caller tells so.
    """
    rows = reduce.first_generations(_lazy(frame), generations, where)
    if "generation" not in rows.collect_schema().names():
        return {one.benchmark: [one] for one in cells(frame, where=where)}
    table, variants = grouped(rows, (*CELL, "generation"), where), reduce.variants(rows)
    if plans:
        table = complete(table, plans)
    runs: dict[str, list[Cells]] = {}
    for part in split(table, "benchmark"):
        each = sorted(split(part, "generation"), key=lambda run: _in_order(str(run["generation"][0].as_py())))
        runs[str(part["benchmark"][0].as_py())] = [dense(run, variants, {}) for run in each]
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

    rows, cell = reduce.first_generations(_lazy(frame), generations, where), (*CELL, "variant")
    if "variant" not in rows.collect_schema().names():
        rows = rows.with_columns(nw.lit("default").alias("variant"))
    table = grouped(rows, (*cell, "generation") if plans else cell, where)
    values = {dimension: reduce.values(rows, dimension, where) for dimension in dimensions}
    clusters = reduce.clusters(rows, where)
    if not plans:
        return [dense_cube(part, values, clusters) for part in split(table, "benchmark")]
    found = []
    for part in split(by_stage(table, plans, cell), "benchmark"):
        stages, code = codes(part, "stage")
        whole = dense_cube(part, values, clusters)
        each = [dense_cube(part, values, clusters, code == stage) for stage in range(len(stages))]
        together = weighed(flat(whole), [flat(stage) for stage in each], plans.get(whole.benchmark, ()))
        arrays: dict[str, Any] = {name: getattr(together, name).reshape(whole.n.shape) for name in SUMS}
        found.append(replace(whole, **arrays))
    return found


def _in_order(generation: str) -> tuple[int, str]:
    """Numbers by value, then names."""
    return (int(generation), "") if generation.isdecimal() else (1 << 62, generation)


def _lazy(frame: IntoFrame) -> Any:
    import narwhals as nw

    return nw.from_native(frame).lazy()


def merge(parts: Iterable[Cells]) -> list[Cells]:
    """Add up cells of the same benchmark, such as those of several files or shards.

    Benchmarks, models and questions are sorted by name: sums in floating point come out the same, however the rows
    were divided.
    """
    by_name = sorted(parts, key=attrgetter("benchmark"))
    merged = [functools.reduce(add, same) for _, same in groupby(by_name, key=attrgetter("benchmark"))]
    return [one.select(sorted(one.models), sorted(one.questions)) for one in merged]
