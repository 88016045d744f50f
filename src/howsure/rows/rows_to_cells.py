"""Group the rows of any table into `Cells` and `Cube`.

The grouping is a narwhals expression, which the engine of the frame runs (DuckDB for files and run folders; pandas,
polars, pyarrow or Spark for frames). Only cells come back, which are put into dense arrays: pooled over prompt variants
(`make_cells`), of each generation (`make_runs`), or of each variant (`make_cubes`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from operator import add, attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.rows import grouping
from howsure.rows.grouping import CELL, COLUMNS, OUTCOMES, group_cells, sum_groups
from howsure.stats.core.cells import Cells
from howsure.stats.core.cube import Cube
from howsure.store.manifest import Plans

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa
    from narwhals.typing import IntoFrame, IntoLazyFrame

__all__ = [
    "EXTREMES",
    "SUMS",
    "find_days",
    "flatten_cube",
    "make_cells",
    "make_cubes",
    "make_numbered_runs",
    "make_runs",
    "merge_cells",
]

#: Arrays of cells that add up, and arrays with the function that merges two of them.
SUMS = ("n", "total", "total_sq")
EXTREMES = {"minimum": np.fmin, "maximum": np.fmax}
#: Largest number of cells of a cube; each takes 40 bytes.
_MAX_CELLS = 100_000_000
#: Largest number of rows that are grouped in memory: DuckDB plans each query for longer than it runs over these.
_FEW_ROWS = 50_000
#: Seconds of a day, and the number of days from 1970 to the year 9999, the last one that a date can have.
_DAY, _DAYS = 86_400, 2_932_897


def make_cells(
    frame: IntoFrame, *, where: str = "the table", plans: Plans | None = None, generations: int | None = None
) -> list[Cells]:
    """Group rows into cells, pooled over prompt variants.

    Parameters
    ----------
    frame
        Any frame that narwhals reads, eager or lazy, with columns benchmark, model, question and either

        - `score`, one row per generation (null: it failed), and optionally `answer` (null: it could not be parsed),
          `variant` and `generation`; or
        - `n`, `total`, `total_sq`, one row per cell;

        and optionally `cluster`, one per question.
    where
        Name of the source, for messages.
    plans
        Plans of the models that were sampled adaptively: each stage is weighed as a whole
        (`stats.sequential.merge_stages`), and `n` is the effective number of generations. Needs a column `generation`.
    generations
        Only the first so many generations of each cell and variant are read: those with the lowest numbers in the
        column `generation`. None reads all.

    Returns
    -------
    list of Cells
        One per benchmark; models and questions are sorted by name. The cells keep the names of the variants.
    """
    rows = _open_rows(frame, generations, where)
    clusters = grouping.read_clusters(rows, where)
    if not plans:
        table, variants = grouping.pool_variants(rows, where)
        return [_densify_cells(part, variants, clusters) for part in _split_table(table, "benchmark")]
    variants = grouping.read_variants(rows)
    result = []
    for part in _split_table(_sum_stages(group_cells(rows, (*CELL, "generation"), where), plans, CELL), "benchmark"):
        pooled = _densify_cells(grouping.sum_groups(part, CELL), variants, clusters)
        each = [_densify_cells(stage, variants, clusters) for stage in _split_table(part, "stage")]
        result.append(_weigh_stages(pooled, each, plans.get(pooled.benchmark, ())))
    return result


def make_runs(
    frame: IntoFrame,
    *,
    where: str = "the table",
    plans: Plans | None = None,
    generations: int | None = None,
    days: Mapping[tuple[str, str, str], str] = MappingProxyType({}),
) -> dict[str, list[Cells]]:
    """Group rows into the cells of each generation, which is one run of the benchmark.

    A frame without a column `generation` is one run. Of a model that was sampled adaptively, generations that only some
    questions were to have are no runs and are left out; the caller notes this. Parameters are those of `make_cells`,
    and `days` as `find_days` returns them.

    Returns
    -------
    dict of str to list of Cells
        Runs by benchmark, in the order of the generations.
    """
    numbered = make_numbered_runs(frame, where=where, plans=plans, generations=generations, days=days)
    return {benchmark: [run for _, run in each] for benchmark, each in numbered.items()}


def make_numbered_runs(
    frame: IntoFrame,
    *,
    where: str = "the table",
    plans: Plans | None = None,
    generations: int | None = None,
    days: Mapping[tuple[str, str, str], str] = MappingProxyType({}),
) -> dict[str, list[tuple[str, Cells]]]:
    """Group rows as `make_runs` does; each run has the number or name of its generation, "" without such a column."""
    rows = _open_rows(frame, generations, where)
    if "generation" not in rows.collect_schema().names():
        return {one.benchmark: [("", one)] for one in make_cells(frame, where=where)}
    variants = grouping.read_variants(rows)
    runs: dict[str, list[tuple[str, Cells]]] = {}
    for some in [rows] if plans else grouping.split_generations(rows):
        table = group_cells(some, (*CELL, "generation"), where, required=(*CELL, "generation"))
        if plans:
            table = _drop_incomplete_runs(table, plans)
        for part in _split_table(table, "benchmark"):
            each = sorted(
                _split_table(part, "generation"), key=lambda run: _rank_generation(str(run["generation"][0].as_py()))
            )
            own = runs.setdefault(str(part["benchmark"][0].as_py()), [])
            for table_of_run in each:
                run = _share_arrays(_densify_cells(table_of_run, variants, {}), own[0][1] if own else None)
                generation = str(table_of_run["generation"][0].as_py())
                keys = {model: (run.benchmark, model, generation) for model in run.models}
                days_of_run = {model: days[key] for model, key in keys.items() if key in days}
                own.append((generation, replace(run, days=days_of_run)))
    return dict(sorted(runs.items()))


def find_days(table: pa.Table, started: str = "") -> dict[tuple[str, str, str], str]:
    """Find the day on which each generation of a benchmark and model was made: the one of most of its questions.

    Of two days of as many questions it is the first. Times before 1970 or after the year 9999, such as milliseconds
    that were written as seconds, count as not known.

    Parameters
    ----------
    table
        Rows with benchmark, model, generation and ``created`` in seconds since 1970, null where it is not known.
    started
        When the run was started, in ISO 8601, for rows whose time is not known; empty or another text: not known.

    Returns
    -------
    dict
        Days in ISO 8601 (UTC), by benchmark, model and generation.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = {"benchmark": ["b"] * 3, "model": ["m"] * 3, "generation": [1, 1, 2], "created": [0, 9, None]}
    >>> find_days(pa.table(columns), "1970-01-03T01:00:00+02:00")
    {('b', 'm', '1'): '1970-01-01', ('b', 'm', '2'): '1970-01-02'}
    """
    import pyarrow as pa
    from pyarrow import compute

    created = table["created"].cast(pa.float64())
    start = _read_time(started)
    if start is not None:
        created = compute.fill_null(created, start)
    day = compute.floor(compute.divide(created, float(_DAY)))
    names = ["benchmark", "model", "generation"]
    rows = (
        table.select(names)
        .append_column("day", day)
        .filter(compute.and_(compute.greater_equal(day, 0.0), compute.less(day, float(_DAYS))))
    )
    counts = rows.group_by([*names, "day"]).aggregate([([], "count_all")])
    counts = counts.sort_by([("count_all", "ascending"), ("day", "descending")])
    columns = zip(*(counts[name].to_pylist() for name in (*names, "day")), strict=True)
    days = {(str(benchmark), str(model), str(generation)): number for benchmark, model, generation, number in columns}
    return {key: datetime.fromtimestamp(number * _DAY, UTC).date().isoformat() for key, number in sorted(days.items())}


def _read_time(text: str) -> float | None:
    """Return a time in ISO 8601 as seconds since 1970, of UTC where it names no zone; None for another text."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _share_arrays(run: Cells, first: Cells | None) -> Cells:
    """Return a run in less memory: with the names of the first run where they are equal, and equal arrays once."""
    changes: dict[str, Any] = {}
    for axis in ("models", "questions") if first is not None else ():
        if getattr(run, axis) == getattr(first, axis):
            changes[axis] = getattr(first, axis)
    if run.minimum is not None and run.maximum is not None and np.array_equal(run.minimum, run.maximum, equal_nan=True):
        changes["maximum"] = run.minimum
    if np.array_equal(run.total, run.total_sq):
        changes["total_sq"] = run.total
    return replace(run, **changes)


def make_cubes(
    frame: IntoFrame,
    *,
    where: str = "the table",
    dimensions: Sequence[str] = (),
    plans: Plans | None = None,
    generations: int | None = None,
) -> list[Cube]:
    """Group rows into the cells of each prompt variant.

    Parameters
    ----------
    frame, where
        As for `make_cells`. Without a column `variant` there is one, "default".
    dimensions
        Columns with the values of the variants; a variant has one value of each.
    plans
        As for `make_cells`: each stage is weighed as a whole, so that the number of generations of a cell, which
        depends on its scores, does not bias its mean.
    generations
        As for `make_cells`.

    Returns
    -------
    list of Cube
        One per benchmark; models, questions and variants are sorted by name. Variants are nested in questions where no
        two questions share one.
    """
    import narwhals as nw

    rows, cell = _open_rows(frame, generations, where), (*CELL, "variant")
    if "variant" not in rows.collect_schema().names():
        rows = rows.with_columns(nw.lit("default").alias("variant"))
    table = group_cells(rows, (*cell, "generation") if plans else cell, where)
    values = {dimension: grouping.read_values(rows, dimension, where) for dimension in dimensions}
    clusters = grouping.read_clusters(rows, where)
    if not plans:
        return [_densify_cube(part, values, clusters) for part in _split_table(table, "benchmark")]
    result = []
    for part in _split_table(_sum_stages(table, plans, cell), "benchmark"):
        names, code = _encode_column(part, "stage")
        pooled = _densify_cube(part, values, clusters)
        each = [_densify_cube(part, values, clusters, code == stage) for stage in range(len(names))]
        merged = _weigh_stages(
            flatten_cube(pooled), [flatten_cube(stage) for stage in each], plans.get(pooled.benchmark, ())
        )
        arrays: dict[str, Any] = {name: getattr(merged, name).reshape(pooled.n.shape) for name in SUMS}
        result.append(replace(pooled, **arrays))
    return result


def merge_cells(parts: Iterable[Cells]) -> list[Cells]:
    """Add up cells of the same benchmark, such as those of several files or shards.

    Benchmarks, models and questions are sorted by name, so that sums in floating point do not depend on how the rows
    were divided.
    """
    by_name = sorted(parts, key=attrgetter("benchmark"))
    merged = [functools.reduce(add, same) for _, same in groupby(by_name, key=attrgetter("benchmark"))]
    return [one.select(sorted(one.models), sorted(one.questions)) for one in merged]


def flatten_cube(cube: Cube) -> Cells:
    """Return the cells of a cube with each pair of question and variant as a question."""
    names = tuple(f"{j}/{k}" for j in range(len(cube.questions)) for k in range(len(cube.variants)))
    return Cells(cube.benchmark, cube.models, names, *(getattr(cube, a).reshape(len(cube.models), -1) for a in SUMS))


def _rank_generation(generation: str) -> tuple[int, str]:
    """Return the sort key of a generation: numbers by value, then names."""
    return (int(generation), "") if generation.isdecimal() else (1 << 62, generation)


def _open_rows(frame: IntoFrame, generations: int | None, where: str) -> nw.LazyFrame[IntoLazyFrame]:
    """Return the rows as a lazy frame of narwhals, of the first generations if so many are read."""
    import narwhals as nw

    rows = grouping.keep_first_generations(nw.from_native(frame).lazy(), generations, where)
    if rows.implementation.is_duckdb():
        few = rows.head(_FEW_ROWS + 1).collect(backend="pyarrow")
        rows = few.lazy() if len(few) <= _FEW_ROWS else rows
    return rows


def _split_table(table: pa.Table, column: str) -> list[pa.Table]:
    """Return a table for each value of a column, sorted by value."""
    values, code = _encode_column(table, column)
    if len(values) == 1:
        return [table]
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(len(values) + 1))
    return [table.take(order[ends[i] : ends[i + 1]]) for i in range(len(values))]


def _encode_column(table: pa.Table, column: str) -> tuple[tuple[str, ...], NDArray[np.integer]]:
    """Return the sorted distinct values of a column, and the place of each row's value among them."""
    encoded = table[column].combine_chunks().dictionary_encode()
    values = [str(v) for v in encoded.dictionary.to_pylist()]
    order = sorted(range(len(values)), key=values.__getitem__)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return tuple(values[i] for i in order), place[encoded.indices.to_numpy(zero_copy_only=False)]


def _densify_cells(table: pa.Table, variants: grouping.VariantNames, clusters: Mapping[tuple[str, str], str]) -> Cells:
    """Return the cells of one benchmark, which has a row per cell, in arrays of shape (M, N).

    `variants` are by benchmark, `clusters` by benchmark and question.
    """
    benchmark = str(table["benchmark"][0].as_py())
    models, i = _encode_column(table, "model")
    questions, j = _encode_column(table, "question")
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
        variants=variants.of_benchmark.get(benchmark, ()),
        variants_of=variants.of_model.get(benchmark, {}),
        clusters=_list_clusters(benchmark, questions, clusters),
        **arrays,
    )


def _list_clusters(
    benchmark: str, questions: Sequence[str], clusters: Mapping[tuple[str, str], str]
) -> tuple[str, ...] | None:
    """Return the cluster of each question; None where the benchmark has no clusters."""
    if (benchmark, questions[0]) not in clusters:
        return None
    return tuple(clusters[benchmark, question] for question in questions)


def _densify_cube(
    table: pa.Table,
    values: Mapping[str, Mapping[tuple[str, str], str]],
    clusters: Mapping[tuple[str, str], str],
    rows: NDArray[np.bool_] | None = None,
) -> Cube:
    """Return the cube of one benchmark; rows with equal keys add up.

    `values` are by dimension, benchmark and variant, `clusters` by benchmark and question. With `rows`, only these rows
    are added up, in the shape of all rows.
    """
    benchmark = str(table["benchmark"][0].as_py())
    (models, i), (questions, j), (variants, k) = (
        _encode_column(table, name) for name in ("model", "question", "variant")
    )
    pairs = np.unique(k * len(questions) + j)
    # Variants that no two questions share are numbered within each question: its first variant, its second one, ...
    if nested := len(questions) > 1 and len(pairs) == len(variants):
        owner = pairs % len(questions)
        order = np.argsort(owner, kind="stable")
        place = np.empty(len(pairs), dtype=np.int64)
        place[order] = np.arange(len(pairs)) - np.searchsorted(owner[order], owner[order])
        k, variants = place[k], tuple(str(1 + p) for p in range(1 + int(place.max())))
    if (size := len(models) * len(questions) * len(variants)) > _MAX_CELLS:
        what = f"{len(models)} models x {len(questions)} questions x {len(variants)} variants are {size:,} cells"
        remedy = "a variant is one way of asking all questions: is that what its column names?"
        raise InputError(what, where=benchmark, remedy=remedy)
    selected = slice(None) if rows is None else rows
    arrays: dict[str, Any] = {}
    for name in SUMS:
        array = np.zeros((len(models), len(questions), len(variants)))
        np.add.at(
            array,
            (i[selected], j[selected], k[selected]),
            np.nan_to_num(table[name].to_numpy().astype(float))[selected],
        )
        arrays[name] = array.astype(np.int64) if name == "n" else array
    for name, merge in EXTREMES.items():
        if name in table.column_names:
            arrays[name] = np.full(arrays["n"].shape, np.nan)
            merge.at(
                arrays[name], (i[selected], j[selected], k[selected]), table[name].to_numpy().astype(float)[selected]
            )
    value_of = {} if nested else {d: tuple(each[benchmark, v] for v in variants) for d, each in values.items()}
    cluster_of = _list_clusters(benchmark, questions, clusters)
    return Cube(benchmark, models, questions, variants, **arrays, values=value_of, nested=nested, clusters=cluster_of)


def _sum_stages(table: pa.Table, plans: Plans, by: Sequence[str]) -> pa.Table:
    """Return grouped rows summed over the generations of each stage; generations beyond the plan are a stage too."""
    import pyarrow as pa

    names, code = zip(*(_encode_column(table, name) for name in CELL), strict=True)
    keys, row = np.unique(np.ravel_multi_index(code, tuple(map(len, names))), return_inverse=True)
    n_stages = max(len(plan.allocations) for models in plans.values() for plan in models.values())
    last = np.full((len(keys), n_stages), np.iinfo(np.int64).max)
    for i, (b, m, q) in enumerate(zip(*np.unravel_index(keys, tuple(map(len, names))), strict=True)):
        if plan := plans.get(names[0][b], {}).get(names[1][m]):
            last[i, : len(plan.allocations)] = plan.ends(names[2][q])
    stage = np.sum(table["generation"].to_numpy()[:, None] > last[row], axis=1)
    return sum_groups(table.append_column("stage", pa.array(stage.astype(str))), (*by, "stage"))


def _weigh_stages(pooled: Cells, each: Sequence[Cells], labels: Iterable[str]) -> Cells:
    """Return the cells with the models of `labels` merged by their stages."""
    staged = [model for model in pooled.models if model in set(labels)]
    parts = [stage.select([model for model in staged if model in stage.models]) for stage in each]
    if not staged:
        return pooled
    from howsure.stats.sequential import merge_stages  # a third of the time that other tables take

    merged = merge_stages([stage for stage in parts if stage.models])
    column = {question: j for j, question in enumerate(pooled.questions)}
    rows = np.array([pooled.index(model) for model in merged.models])
    place = np.ix_(rows, np.array([column[question] for question in merged.questions]))
    arrays = {name: getattr(pooled, name).copy() for name in SUMS}
    for name, array in arrays.items():
        array[place] = getattr(merged, name)
    return replace(pooled, **arrays)


def _drop_incomplete_runs(table: pa.Table, plans: Plans) -> pa.Table:
    """Return the rows without generations of a model that its plan gives to some questions only."""
    last = {
        (benchmark, model): min(plan.ends(question)[-1] for question in plan.allocations[0])
        for benchmark, models in plans.items()
        for model, plan in models.items()
    }
    names = zip(*(table[name].to_pylist() for name in ("benchmark", "model", "generation")), strict=True)
    return table.filter([g <= last.get((benchmark, model), g) for benchmark, model, g in names])
