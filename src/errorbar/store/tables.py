"""Rows to cells: the one bridge from a table, on whatever engine holds it, to the arrays of `stats`.

The grouping is a narwhals expression, so it runs where the rows are: DuckDB for files and run folders, or the pandas,
polars, pyarrow or Spark frame that somebody already has. Only cells come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import groupby
from operator import add, attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from errorbar.errors import InputError
from errorbar.stats.cells import Cells

if TYPE_CHECKING:
    import pyarrow as pa
    from narwhals.typing import IntoFrame

__all__ = ["cells", "merge"]

_CELL = ("benchmark", "model", "question")


def cells(frame: IntoFrame, *, where: str = "the table") -> list[Cells]:
    """Group responses into cells, one `Cells` per benchmark.

    Parameters
    ----------
    frame
        Any frame that narwhals reads, eager or lazy, with columns benchmark, model, question and either

        - `score`, one row per generation (null: it failed), and optionally `answer` (null: none could be read),
          `variant` and `generation`; or
        - `n`, `total`, `total_sq`, one row per cell.
    where
        Name of the source, for messages.

    Models and questions come back sorted by name. Cells are pooled over prompt variants, whose names they keep.
    """
    import narwhals as nw

    rows = nw.from_native(frame).lazy()
    names = rows.collect_schema().names()
    if "n" in names:
        grouped = rows.select(*_CELL, "n", "total", "total_sq")
        _check_unique(rows, list(_CELL), where)
    else:
        if "generation" in names:
            _check_unique(rows, [name for name in (*_CELL, "variant", "generation") if name in names], where)
        score = nw.col("score").cast(nw.Float64)
        terms = {"total": score, "total_sq": score * score, "failed": score.is_null().cast(nw.Int64)}
        if "answer" in names:
            terms["unparsed"] = (~score.is_null() & nw.col("answer").is_null()).cast(nw.Int64)
        sums = {name: nw.col(name).sum() for name in terms}
        grouped = rows.with_columns(**terms).group_by(*_CELL).agg(n=nw.col("total").count(), **sums)
    table: pa.Table = grouped.collect(backend="pyarrow").to_native()
    if table.num_rows == 0:
        raise InputError("no rows", where=where, remedy="give a table with at least one score")
    variants: dict[str, list[str]] = {}
    if "variant" in names:
        distinct = rows.select("benchmark", "variant").unique().collect(backend="pyarrow").to_native()
        for benchmark, variant in zip(*(distinct[c].to_pylist() for c in ("benchmark", "variant")), strict=True):
            variants.setdefault(str(benchmark), []).append(str(variant))
    return list(_dense(table, variants))


def _check_unique(rows: Any, key: list[str], where: str) -> None:
    import narwhals as nw

    twice = rows.group_by(*key).agg(times=nw.len()).filter(nw.col("times") > 1)
    number = int(twice.select(nw.len()).collect(backend="pyarrow").to_native()[0][0].as_py())
    if number:
        first = twice.sort(*key).head(1).collect(backend="pyarrow").to_native().to_pylist()[0]
        times = first.pop("times")
        raise InputError(
            f"{number} duplicate key{'s' * (number > 1)}, the first "
            + ", ".join(f"{k} {v!r}" for k, v in first.items()),
            where=where,
            remedy=f"it is there {times} times: keep one row each, or tell repeats apart by a column 'generation'",
        )


def _dense(table: pa.Table, variants: dict[str, list[str]]) -> Iterator[Cells]:
    """One row per cell to dense arrays, (M, N) for each benchmark."""
    benchmarks, benchmark_of = _codes(table, "benchmark")
    columns: dict[str, NDArray[Any]] = {}
    for name in ("n", "total", "total_sq", "failed", "unparsed"):
        if name in table.column_names:
            columns[name] = np.nan_to_num(table[name].to_numpy().astype(float))
    for code, benchmark in enumerate(benchmarks):
        here = np.flatnonzero(benchmark_of == code)
        part = table.take(here) if len(benchmarks) > 1 else table
        models, i = _codes(part, "model")
        questions, j = _codes(part, "question")
        arrays = {}
        for name, values in columns.items():
            arrays[name] = np.zeros((len(models), len(questions)))
            arrays[name][i, j] = values[here]
        for name in ("n", "failed", "unparsed"):
            if name in arrays:
                arrays[name] = arrays[name].astype(np.int64)
        yield Cells(benchmark, models, questions, variants=tuple(sorted(variants.get(benchmark, ()))), **arrays)  # type: ignore[arg-type]  # one dict for arrays of two types


def _codes(table: pa.Table, column: str) -> tuple[tuple[str, ...], NDArray[np.integer]]:
    """Sorted distinct values of a column, and the place of each row's value among them."""
    encoded = table[column].combine_chunks().dictionary_encode()
    values = [str(v) for v in encoded.dictionary.to_pylist()]
    order = sorted(range(len(values)), key=values.__getitem__)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return tuple(values[i] for i in order), place[encoded.indices.to_numpy(zero_copy_only=False)]


def merge(parts: Iterable[Cells]) -> list[Cells]:
    """Add up cells of the same benchmark, such as those of several files or shards; benchmarks sorted by name."""
    by_name = sorted(parts, key=attrgetter("benchmark"))
    return [reduce(add, same) for _, same in groupby(by_name, key=attrgetter("benchmark"))]
