"""Answers that could not be read, in the cells of a cube: from run folders and logs, whose rows keep what was read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from howsure.readers.found import Source
from howsure.readers.logs.source import Log
from howsure.readers.run import Run

if TYPE_CHECKING:
    import pyarrow as pa

    from howsure.stats.core.cells import IntArray
    from howsure.stats.core.cube import Cube

__all__ = ["unread"]

_CELL = ("benchmark", "model", "question", "variant")


def unread(sources: Sequence[Source], cubes: Iterable[Cube]) -> dict[str, IntArray]:
    """Scored generations without an answer, by benchmark, in the shape of its cube.

    Nothing is known of a table, of a log that keeps no answers, of a model that was sampled in stages, whose n is an
    effective number, nor of variants that are nested in the questions: where any of the sources is of the first three
    kinds, or the cube is nested, the benchmark is left out.

    Parameters
    ----------
    cubes
        Of the same sources.
    """
    known = [_rows(source) for source in sources]
    tables = [table for table in known if table is not None]
    if len(tables) < len(known):
        return {}
    kept = {cube.benchmark: cube for cube in cubes if not cube.nested}
    found: dict[str, Any] = {name: np.zeros(cube.n.shape, dtype=np.int64) for name, cube in kept.items()}
    axes = {
        name: [{label: i for i, label in enumerate(labels)} for labels in (cube.models, cube.questions, cube.variants)]
        for name, cube in kept.items()
    }
    for table in tables:
        for benchmark, *cell, count in _counts(table):
            if benchmark in kept:
                place = tuple(index[label] for index, label in zip(axes[benchmark], cell, strict=True))
                found[benchmark][place] += count
    return found


def _rows(source: Source) -> pa.Table | None:
    if not isinstance(source, (Log, Run)) or (isinstance(source, Run) and source.plans):
        return None
    rows = source.rows() if isinstance(source, Run) else source.rows
    return rows if "answer" in rows.column_names else None


def _counts(table: pa.Table) -> Iterable[tuple[Any, ...]]:
    """Benchmark, model, question, variant and how many of their scored generations have no answer."""
    import narwhals as nw

    rows = nw.from_native(table).lazy()
    unread = rows.filter(~nw.col("score").is_null() & nw.col("answer").is_null())
    counts = unread.group_by(*_CELL).agg(unread=nw.len()).collect(backend="pyarrow").to_native()
    return zip(*(counts[name].to_pylist() for name in (*_CELL, "unread")), strict=True)
