"""Reduce rows to `Cells` and `Cube`, in two steps.

`group_cells` groups rows in DuckDB; only grouped rows come back, and all but the cells of a prompt variant are sums of
these. They are put into dense arrays: pooled over variants (`make_cells`), of each generation (`make_runs`), of each
variant (`make_cubes`).

Duplicate keys are found in the same pass from the sum of 2^generation: the sum has as many bits that are 1 as it has
terms exactly if no two terms are equal. This holds in double precision too, in any order of adding, for exponents up to
52. Two equal terms are replaced by one bit of the next place, which leaves fewer bits than terms, and rounding never
adds a bit. Where there are no more than 26 generations, the sum of 4^generation is used instead, with the term twice
for a score above 0.5. Its digits to base 4 are the scores of the single generations, and again it has as many digits
other than 0 as there are rows only if no two generations are equal.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from operator import add, attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.rows.formats import open_database
from howsure.rows.sql import INTEGERS, quote_name, quote_text, read_column_types
from howsure.stats.core.cells import MOST_OUTCOMES, Cells
from howsure.stats.core.cube import Cube
from howsure.store.manifest import Plans
from howsure.store.schema import WITHOUT_ANSWER

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from howsure.rows.frames import FrameLike

T = TypeVar("T")

CELL = ("benchmark", "model", "question")
#: Arrays of cells that add up, and arrays with the function that merges two of them.
SUMS = ("n", "total", "total_sq")
EXTREMES = {"minimum": np.fmin, "maximum": np.fmax}
#: Column with the scores of single generations (`Cells.outcomes`), which do not add up.
OUTCOMES = "outcomes"
#: Columns of grouped rows, and the function that merges two groups.
_MERGES = {**dict.fromkeys((*SUMS, "failed", "unparsed", OUTCOMES), "sum"), "minimum": "min", "maximum": "max"}
#: Bits of a double, and the largest number of such words for which their sums are faster than a second pass.
_BITS, _MAX_WORDS = 53, 4
#: Columns that are added for a while: the rank of a generation among those of its cell, and the place of a row.
_RANK, _PLACE = "generation_rank", "place_of_the_row"
#: SQL of the score.
_SCORE = "CAST(score AS DOUBLE)"
#: Largest number of cells of a cube; each takes 40 bytes.
_MAX_CELLS = 100_000_000
#: Rows that are grouped by generation at a time.
_MAX_RUN_ROWS = 500_000
#: Seconds of a day, and the number of days from 1970 to the year 9999, the last one that a date can have.
_DAY, _DAYS = 86_400, 2_932_897


def make_cells(
    frame: FrameLike,
    *,
    where: str = "the table",
    plans: Plans | None = None,
    generations: int | None = None,
    pass_at: float | None = None,
) -> list[Cells]:
    """Group rows into cells, pooled over prompt variants.

    Parameters
    ----------
    frame
        Any frame that `frames.open_frame` opens, with columns benchmark, model, question and either

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
    pass_at
        Scores of so much or more count as 1, lower ones as 0; None takes them as they are.

    Returns
    -------
    list of Cells
        One per benchmark; models and questions are sorted by name. The cells keep the names of the variants.
    """
    with _open_rows(frame, generations, where) as opened:
        rows = opened if pass_at is None else _count_passes(opened, pass_at, where)
        clusters = _read_clusters(rows, where)
        table = _group_variants(rows, where, plans, required=CELL)
    cells = []
    for part in _split_table(table, "benchmark"):
        pooled = _densify_cells(part, clusters)
        if plans:
            each = [_densify_cells(stage, clusters) for stage in _split_table(part, "stage")]
            pooled = _weigh_stages(pooled, each, plans.get(pooled.benchmark, ()))
        cells.append(pooled)
    return cells


def make_runs(
    frame: FrameLike,
    *,
    where: str = "the table",
    plans: Plans | None = None,
    generations: int | None = None,
    started: str = "",
) -> dict[str, dict[str, Cells]]:
    """Group rows into the cells of each generation, which is one run of the benchmark.

    A frame without a column `generation` is one run. Of a model that was sampled adaptively, generations that only some
    questions were to have are no runs and are left out; the caller notes this. Parameters are those of `make_cells`,
    and with a column `created` those of `find_days`.

    Returns
    -------
    dict of str to dict of str to Cells
        Runs by benchmark and by the number or name of their generation, "" without such a column, in their order.
    """
    runs: dict[str, dict[str, Cells]] = {}
    with _open_rows(frame, generations, where) as rows:
        if "generation" not in rows.columns:
            return {one.benchmark: {"": one} for one in make_cells(rows, where=where)}
        days = find_days(rows, started) if "created" in rows.columns else {}
        by = [name for name in (*CELL, "variant", "generation") if name in rows.columns]
        for some in [rows] if plans else _split_generations(rows):
            table = group_cells(some, by, where, required=(*CELL, "generation"))
            for part in _split_table(_drop_incomplete_runs(table, plans) if plans else table, "benchmark"):
                own = runs.setdefault(str(part["benchmark"][0].as_py()), {})
                _add_runs(own, part, days)
    return dict(sorted(runs.items()))


def _add_runs(runs: dict[str, Cells], table: pa.Table, days: Mapping[tuple[str, str, str], str]) -> None:
    """Add the run of each generation of grouped rows of one benchmark, with the days of its models."""
    each = {str(one["generation"][0].as_py()): one for one in _split_table(table, "generation")}
    for generation in sorted(each, key=_rank_generation):
        run = _share_arrays(_densify_cells(each[generation], {}), next(iter(runs.values()), None))
        keys = {model: (run.benchmark, model, generation) for model in run.models}
        runs[generation] = replace(run, days={model: days[key] for model, key in keys.items() if key in days})


def map_parts(parts: T, change: Callable[..., object]) -> T:
    """Return cells or cubes, or lists and mappings of them, each of which was changed by a function."""
    changed: Any = None
    if isinstance(parts, Mapping):
        changed = {key: map_parts(one, change) for key, one in parts.items()}
    else:
        changed = [map_parts(one, change) for one in parts] if isinstance(parts, list) else change(parts)
    return cast("T", changed)


def find_days(frame: FrameLike, started: str = "") -> dict[tuple[str, str, str], str]:
    """Find the day on which each generation of a benchmark and model was made: the one of most of its questions.

    Of two days of as many questions it is the first. Times before 1970 or after the year 9999, such as milliseconds
    that were written as seconds, count as not known.

    Parameters
    ----------
    frame
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
    created, start = "CAST(created AS DOUBLE)", read_time(started)
    day = f"floor({created if start is None else f'coalesce({created}, {start!r})'} / {_DAY})"
    names = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in ("benchmark", "model", "generation"))
    with _open_rows(frame, None, "") as rows:
        dated = rows.project(f"{names}, {day} AS day").filter(f"day >= 0 AND day < {_DAYS}")
        counts = dated.aggregate("benchmark, model, generation, day, count(*) AS times", "1, 2, 3, 4")
        each = counts.order("times, day DESC").fetchall()
    days = {(benchmark, model, generation): number for benchmark, model, generation, number, _ in each}
    return {key: datetime.fromtimestamp(number * _DAY, UTC).date().isoformat() for key, number in sorted(days.items())}


def read_time(text: str) -> float | None:
    """Return a time in ISO 8601 as seconds since 1970, of UTC where it names no zone; None for another text."""
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


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
    frame: FrameLike,
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
    with _open_rows(frame, generations, where) as opened:
        rows = opened if "variant" in opened.columns else opened.project("*, 'default' AS variant")
        table = _group_variants(rows, where, plans, required=(*CELL, "variant"))
        values = {dimension: _read_values(rows, dimension, where) for dimension in dimensions}
        clusters = _read_clusters(rows, where)
    return [_densify_cube(part, values, clusters, plans) for part in _split_table(table, "benchmark")]


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


# rows in DuckDB


@contextmanager
def _open_rows(frame: FrameLike, generations: int | None, where: str) -> Iterator[duckdb.DuckDBPyRelation]:
    """Yield the rows in DuckDB, of the first generations if so many are read."""
    import duckdb
    import pyarrow as pa

    if isinstance(frame, duckdb.DuckDBPyRelation):
        yield _keep_first_generations(frame, generations, where)
    elif isinstance(frame, pa.Table):
        with open_database() as connection:
            yield _keep_first_generations(connection.from_arrow(frame), generations, where)
    else:
        from howsure.rows.frames import open_frame

        with open_frame(frame, where) as rows:
            yield _keep_first_generations(rows, generations, where)


def _count_passes(rows: duckdb.DuckDBPyRelation, pass_at: float, where: str) -> duckdb.DuckDBPyRelation:
    """Return the rows with 1 for scores of `pass_at` or more and 0 for lower ones; what is no number stays."""
    if "n" in rows.columns:
        remedy = "give a table with a row for each generation"
        raise InputError("counts of scores do not say how many pass", where=where, remedy=remedy)
    passes = f"CAST({_SCORE} >= {pass_at * (1 - 1e-6)!r} AS DOUBLE)"  # 0.7 of four bytes is a little less
    return rows.project(f"* REPLACE (CASE WHEN isfinite({_SCORE}) THEN {passes} ELSE {_SCORE} END AS score)")


def _group_variants(
    rows: duckdb.DuckDBPyRelation, where: str, plans: Plans | None, *, required: Sequence[str]
) -> pa.Table:
    """Return a row for each cell of each variant, and with plans for each of its stages."""
    cell = [name for name in (*CELL, "variant") if name in rows.columns]
    if not plans:
        return group_cells(rows, cell, where, required=required)
    return _sum_stages(group_cells(rows, [*cell, "generation"], where, required=required), plans, cell)


def group_cells(rows: duckdb.DuckDBPyRelation, by: Sequence[str], where: str, *, required: Sequence[str]) -> pa.Table:
    """Return one row per group with n, total and total_sq, and of single scores minimum, maximum, failed and unparsed.

    Parameters
    ----------
    rows
        Canonical rows.
    by
        Columns of a group.
    where
        Name of the source, for messages.
    required
        Columns that may not be empty, where they are among those of a group.

    Raises
    ------
    InputError
        Where there are no rows, an empty name, a score that is not finite, or a key that comes twice.
    """
    names, listed = rows.columns, ", ".join(map(quote_name, by))
    has_sums = "n" in names
    key = [
        name for name in (*CELL, "variant", "generation") if name in names and (name, has_sums) != ("generation", True)
    ]
    pooled = set(key) - set(by)
    marks = _write_marks(rows) if pooled == {"generation"} and not has_sums else {}
    if has_sums:
        sums = {name: f"CAST(sum({name}) AS DOUBLE)" for name in SUMS}
    else:
        sums = {"n": f"count({_SCORE})", "failed": f"count(*) - count({_SCORE})"}
        sums |= {"total": f"coalesce(sum({_SCORE}), 0)", "total_sq": f"coalesce(sum({_SCORE} * {_SCORE}), 0)"}
        sums |= {name: f"coalesce({name[:3]}({_SCORE}), 'nan'::DOUBLE)" for name in EXTREMES}
        if "answer" in names:
            others = ", ".join(map(quote_text, WITHOUT_ANSWER))
            without = f" AND coalesce(status NOT IN ({others}), true)" * ("status" in names)
            sums["unparsed"] = f"count(*) FILTER ({_SCORE} = 0 AND answer IS NULL{without})"
        sums |= {name: f"coalesce(sum({term}), 0)" for name, term in marks.items()}
    parts = ", ".join(f"{sql} AS {quote_name(name)}" for name, sql in {"rows": "count(*)", **sums}.items())
    grouped = rows.aggregate(f"{listed}, {parts}", listed)
    # Sums over variants are added up in the order of the rows.
    table: pa.Table = (grouped.order(listed) if "variant" in by else grouped).to_arrow_table()
    if table.num_rows == 0:
        raise InputError("no rows", where=where, remedy="give a table with at least one score")
    _check_values(table, [name for name in by if name in required], where)
    is_known = not pooled or bool(marks)
    if (has_sums or "generation" in names) and not (
        is_known and np.array_equal(_count_different(table, marks), _to_numpy(table["rows"]))
    ):
        _check_unique(rows, key, where)
    return table.select([name for name in table.column_names if name in _MERGES or name in by])


def _keep_first_generations(rows: duckdb.DuckDBPyRelation, most: int | None, where: str) -> duckdb.DuckDBPyRelation:
    """Return the rows of the `most` lowest generations of each cell and variant; None returns all rows.

    Raises
    ------
    InputError
        When `most` is below 1, or generations are not whole numbers.
    """
    if most is None:
        return rows
    if most < 1:
        raise InputError(f"--generations {most}", where=where, remedy="allowed: 1 or more")
    if read_column_types(rows).get("generation") not in INTEGERS:
        what = "there is no column 'generation' of whole numbers, so the first generations are not known"
        raise InputError(what, where=where, remedy="name it with --columns generation=COLUMN, or leave rows out")
    cell = ", ".join(name for name in (*CELL, "variant") if name in rows.columns)
    rank = f"dense_rank() OVER (PARTITION BY {cell} ORDER BY generation) AS {_RANK}"
    numbered = rows.filter("generation IS NOT NULL").project(f"*, {rank}")
    return numbered.filter(f"{_RANK} <= {most}").project(f"* EXCLUDE ({_RANK})")


def keep_first_rows(table: pa.Table, most: int | None, where: str) -> pa.Table:
    """Return the rows of the `most` lowest generations of each cell and variant of an Arrow table, in their order."""
    if most is None or not len(table):
        return table
    import pyarrow as pa

    names = [name for name in (*CELL, "variant", "generation") if name in table.column_names]
    with open_database() as connection:
        numbered = table.select(names).append_column(_PLACE, pa.array(np.arange(len(table))))
        rows = _keep_first_generations(connection.from_arrow(numbered), most, where)
        places = rows.project(_PLACE).to_arrow_table()[_PLACE].to_numpy()
    return table.take(np.sort(places))


def _split_generations(rows: duckdb.DuckDBPyRelation) -> list[duckdb.DuckDBPyRelation]:
    """Return the rows in parts of so many successive generations that each part has about `_MAX_RUN_ROWS` rows.

    Grouping by generation takes some 500 bytes for each row. Rows whose generations are not numbered are one part.
    """
    if read_column_types(rows)["generation"] not in INTEGERS:
        return [rows]
    counts = rows.aggregate("generation, count(*)", "generation").order("generation").fetchall()
    values = [generation for generation, _ in counts]
    n_parts = -(-sum(times for _, times in counts) // _MAX_RUN_ROWS)
    if None in values or n_parts < 2:
        return [rows]
    size = max(1, len(values) // n_parts)
    parts = [values[i : i + size] for i in range(0, len(values), size)]
    return [rows.filter(f"generation BETWEEN {part[0]} AND {part[-1]}") for part in parts]


def _write_marks(rows: duckdb.DuckDBPyRelation) -> dict[str, str]:
    """Return SQL of terms whose sums show whether all generations of a group differ, by column.

    `OUTCOMES` where there are at most 26: 4^generation, twice for a score above 0.5. Else 2^generation as doubles of
    53 bits each; none where generations are too far apart, or no whole numbers.
    """
    if read_column_types(rows)["generation"] not in INTEGERS:
        return {}
    first, last = rows.aggregate("min(generation)::HUGEINT, max(generation)::HUGEINT").fetchall()[0]
    if first is None or last - first >= _BITS * _MAX_WORDS:
        return {}
    place = f"(CAST(generation AS BIGINT) - ({first}))"
    if last - first < MOST_OUTCOMES:
        is_right = f"CASE WHEN {_SCORE} > 0.5 THEN 1 ELSE 0 END"
        return {OUTCOMES: f"pow(2.0::DOUBLE, 2 * {place} + {is_right})"}
    return {
        f"word {start}": f"CASE WHEN {place} BETWEEN {start} AND {start + _BITS - 1} "
        f"THEN pow(2.0::DOUBLE, {place} - {start}) ELSE 0.0::DOUBLE END"
        for start in range(0, last - first + 1, _BITS)
    }


def _count_different(table: pa.Table, words: Mapping[str, Any]) -> NDArray[np.integer]:
    """Return the number of different generations of each group, from the sums of `words`; 1 without words."""
    if not words:
        return np.ones(len(table), np.int64)
    count = _count_digits if OUTCOMES in words else _count_bits
    return np.asarray(np.sum([count(_to_numpy(table[name])) for name in words], axis=0))


def _count_bits(sums: NDArray[np.float64]) -> NDArray[np.integer]:
    """Return the number of bits of sums of 2^0 to 2^52; 0 for larger sums, in which a term occurs twice, and NaN."""
    exact = np.where((sums >= 0) & (sums < 2.0**_BITS), sums, 0.0)  # False for NaN
    return np.bitwise_count(exact.astype(np.uint64)).astype(np.int64)


def _count_digits(sums: NDArray[np.float64]) -> NDArray[np.integer]:
    """Return the number of base-4 digits other than 0; 0 for sums too large for 26 generations, and for NaN."""
    exact = np.where((sums >= 0) & (sums < 4.0**MOST_OUTCOMES), sums, 0.0).astype(np.uint64)  # False for NaN
    digits = (exact | exact >> np.uint64(1)) & np.uint64(0x5555555555555555)
    return np.asarray(np.bitwise_count(digits), np.int64)


def _check_values(table: pa.Table, names: Sequence[str], where: str) -> None:
    """Raise InputError for an empty name or a score that is not finite."""
    for name in names:
        if any(value is None or not str(value).strip(" ") for value in table[name].unique().to_pylist()):
            raise InputError(f"the {name} is empty", where=where, remedy="fill it in")
    if not np.all(np.isfinite(_to_numpy(table["total"]))):
        raise InputError("a score is not a finite number", where=where, remedy="fix the value, or leave it empty")


def _check_unique(rows: duckdb.DuckDBPyRelation, key: Sequence[str], where: str) -> None:
    """Raise InputError for a key that occurs twice."""
    listed = ", ".join(map(quote_name, key))
    twice = rows.aggregate(f"{listed}, count(*) AS times", listed).filter("times > 1")
    number = int(twice.aggregate("count(*)").fetchall()[0][0])
    if number:
        *values, times = twice.order(listed).limit(1).fetchall()[0]
        raise InputError(
            f"{number} duplicate key{'s' * (number > 1)}, the first "
            + ", ".join(f"{k} {(str(v) if k in CELL else v)!r}" for k, v in zip(key, values, strict=True)),
            where=where,
            remedy=f"it occurs {times} times: keep one row each, or number the repeats in a column 'generation'",
        )


def _list_distinct_rows(rows: duckdb.DuckDBPyRelation, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the distinct rows of some columns as text, sorted; none where the last column is missing."""
    if columns[-1] not in rows.columns:
        return []
    distinct = rows.project(", ".join(map(quote_name, columns))).distinct().fetchall()
    return sorted(tuple("" if value is None else str(value) for value in row) for row in distinct)


def _read_clusters(rows: duckdb.DuckDBPyRelation, where: str) -> dict[tuple[str, str], str]:
    """Return the cluster of each (benchmark, question); some benchmarks may have no clusters."""
    cluster_of: dict[tuple[str, str], str] = {}
    without: set[str] = set()
    for benchmark, question, cluster in _list_distinct_rows(rows, ("benchmark", "question", "cluster")):
        if not cluster.strip(" "):
            without.add(benchmark)
        elif cluster_of.setdefault((benchmark, question), cluster) != cluster:
            what = f"question {question!r} is in cluster {cluster_of[benchmark, question]!r} and in {cluster!r}"
            raise InputError(what, where=where, remedy="a question has one cluster")
    if without and (not cluster_of or not without.isdisjoint(benchmark for benchmark, _ in cluster_of)):
        raise InputError("the cluster is empty", where=where, remedy="fill it in")
    return cluster_of


def _read_values(rows: duckdb.DuckDBPyRelation, dimension: str, where: str) -> dict[tuple[str, str], str]:
    """Return the value of each (benchmark, variant) on a dimension."""
    value_of: dict[tuple[str, str], str] = {}
    for benchmark, variant, value in _list_distinct_rows(rows, ("benchmark", "variant", dimension)):
        if value_of.setdefault((benchmark, variant), value) != value:
            what = f"variant {variant!r} has {dimension} {value_of[benchmark, variant]!r} and {value!r}"
            raise InputError(what, where=where, remedy="a variant has one value on each dimension")
    return value_of


# grouped rows in arrays


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
    encoded = table[column].combine_chunks().dictionary_encode("encode")
    values = ["" if value is None else str(value) for value in encoded.dictionary.to_pylist()]
    order = sorted(range(len(values)), key=values.__getitem__)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return tuple(values[i] for i in order), place[np.from_dlpack(encoded.indices)]


def _to_numpy(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return numbers without nulls as an array; Arrow's own `to_numpy` imports pandas where there is one."""
    return np.from_dlpack(column.combine_chunks())


def _fill_arrays(
    table: pa.Table, places: Sequence[NDArray[np.integer]], shape: tuple[int, ...], names: Iterable[str]
) -> dict[str, Any]:
    """Return columns of a table as arrays, to which each row is added at its place."""
    flat, size = np.ravel_multi_index(tuple(places), shape), int(np.prod(shape))
    arrays: dict[str, Any] = {}
    for name in names:
        if name not in table.column_names:
            continue
        values = _to_numpy(table[name]).astype(float)
        if name in EXTREMES:
            array = np.full(size, np.nan)
            EXTREMES[name].at(array, flat, values)
        else:
            array = np.bincount(flat, np.nan_to_num(values), size)
            if not name.startswith("total"):
                array = array.astype(np.uint64 if name == OUTCOMES else np.int64)
        arrays[name] = array.reshape(shape)
    return arrays


def _densify_cells(table: pa.Table, clusters: Mapping[tuple[str, str], str]) -> Cells:
    """Return the cells of one benchmark in arrays of shape (M, N), pooled over variants, stages and generations."""
    import pyarrow as pa

    benchmark = str(table["benchmark"][0].as_py())
    (models, i), (questions, j) = (_encode_column(table, name) for name in ("model", "question"))
    variants, variants_of = _list_variants(table, models, i)
    if len(variants) > 1 and OUTCOMES in table.column_names:  # only those of the first variant are kept
        _, code = _encode_column(table, "variant")
        outcomes = np.where(code == 0, _to_numpy(table[OUTCOMES]), 0.0)
        table = table.set_column(table.column_names.index(OUTCOMES), OUTCOMES, pa.array(outcomes))
    return Cells(
        benchmark,
        models,
        questions,
        variants=variants,
        variants_of=variants_of,
        clusters=_list_clusters(benchmark, questions, clusters),
        **_fill_arrays(table, (i, j), (len(models), len(questions)), _MERGES),
    )


def _list_variants(
    table: pa.Table, models: Sequence[str], model: NDArray[np.integer]
) -> tuple[tuple[str, ...], dict[str, frozenset[str]]]:
    """Return the variants of one benchmark, and those under which each model has a score; () without a column."""
    if "variant" not in table.column_names:
        return (), {}
    variants, variant = _encode_column(table, "variant")
    has_score = np.zeros((len(models), len(variants)), bool)
    is_scored = _to_numpy(table["n"]) > 0
    has_score[model[is_scored], variant[is_scored]] = True
    names = np.array(variants, object)
    return variants, {name: frozenset(names[row]) for name, row in zip(models, has_score, strict=True)}


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
    plans: Plans | None,
) -> Cube:
    """Return the cube of one benchmark, whose stages are weighed as wholes.

    `values` are by dimension, benchmark and variant, `clusters` by benchmark and question.
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
    shape = (len(models), len(questions), len(variants))
    if (size := int(np.prod(shape))) > _MAX_CELLS:
        what = f"{shape[0]} models x {shape[1]} questions x {shape[2]} variants are {size:,} cells"
        remedy = "a variant is one way of asking all questions: is that what its column names?"
        raise InputError(what, where=benchmark, remedy=remedy)
    names = (*SUMS, *EXTREMES)
    cube = Cube(
        benchmark,
        models,
        questions,
        variants,
        **_fill_arrays(table, (i, j, k), shape, names),
        values={} if nested else {d: tuple(each[benchmark, v] for v in variants) for d, each in values.items()},
        nested=nested,
        clusters=_list_clusters(benchmark, questions, clusters),
    )
    if not plans:
        return cube
    stage_names, code = _encode_column(table, "stage")
    each = []
    for stage in range(len(stage_names)):
        own = code == stage
        arrays = _fill_arrays(table.filter(own), (i[own], j[own], k[own]), shape, SUMS)
        each.append(flatten_cube(replace(cube, **arrays)))
    merged = _weigh_stages(flatten_cube(cube), each, plans.get(benchmark, ()))
    return replace(cube, **{name: getattr(merged, name).reshape(shape) for name in SUMS})


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
    merges = {name: how for name, how in _MERGES.items() if name in table.column_names}
    keys_and_stage = [*by, "stage"]
    grouped = table.append_column("stage", pa.array(stage.astype(str))).group_by(keys_and_stage)
    names_of_sums = [*keys_and_stage, *(f"{name}_{how}" for name, how in merges.items())]
    return grouped.aggregate([*merges.items()]).select(names_of_sums).rename_columns([*keys_and_stage, *merges])


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
