"""How often each model gave each answer: from run folders and logs, whose rows keep what was read.

A batch of rows at a time is grouped, so memory holds counts and no rows. Of tables no column is known to hold answers.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from howsure.errors import HowsureWarning
from howsure.readers.found import Source
from howsure.readers.logs.log_source import LogSource
from howsure.readers.run import Run
from howsure.stats.questions import AnswerCounts
from howsure.store import responses, scores
from howsure.tables import grouping as reduce_rows

__all__ = ["read_answers", "unread"]

if TYPE_CHECKING:
    import pyarrow as pa


_KEY = ("benchmark", "model", "question", "answer")
_SUMS = ("n", "scored", "total")
_TARGET = ["benchmark", "question", "target"]


def read_answers(sources: Sequence[Source]) -> dict[str, AnswerCounts]:
    """Answers by benchmark; those of the same benchmark add up, models, questions and answers sorted by name.

    Parameters
    ----------
    sources
        As `found.sources` finds them. Generations that failed are not counted, nor are rows that nobody scored yet.

    A benchmark whose source keeps no answers is left out. Warns of questions with two targets: the first is shown.
    """
    parts: defaultdict[str, list[AnswerCounts]] = defaultdict(list)
    targets: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for source in sources:
        table = _counted(source)
        if table is None:
            continue
        found = list(_by_benchmark(table))
        unlike = 0
        for benchmark, question, target in _targets(source, found, targets):
            unlike += targets[benchmark].setdefault(question, target) != target
        if unlike:
            told = f"{source.path}: {unlike} questions have another target than before: the first of each is shown"
            warnings.warn(told, HowsureWarning, stacklevel=2)
        for one in found:
            parts[one.benchmark].append(one)
    return {name: _with(reduce(add, parts[name]), targets[name]) for name in sorted(parts)}


def _counted(source: Source) -> pa.Table | None:
    """Counts of a source; None where it keeps no answers."""
    if isinstance(source, Run):
        names = [*_KEY, "score", "status", *(["generation"] if source.generations else [])]
        held = (
            responses.stream(source.path, names)
            if source.scorer is None
            else scores.stream(source.path, names, source.scorer)
        )
        if source.generations is None:
            return _summed(held)
        return _summed(reduce_rows.first_rows(held.read_all(), source.generations, str(source.path)).to_batches())
    if isinstance(source, LogSource) and "answer" in source.rows.column_names:
        return _summed(source.rows.to_batches())
    return None


def _summed(batches: Iterable[pa.RecordBatch]) -> pa.Table | None:
    """Rows to one for each key: generations that did not fail, those with a score, and their sum."""
    import pyarrow as pa
    from pyarrow import compute

    parts = []
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        if "status" in rows.column_names:
            kept = compute.and_(
                compute.not_equal(rows["status"], "error"), compute.not_equal(rows["status"], scores.UNSCORED)
            )
            rows = rows.filter(kept)
        else:
            rows = rows.filter(compute.is_valid(rows["score"]))  # a log's row without a score failed
        part = rows.group_by(list(_KEY)).aggregate([([], "count_all"), ("score", "count"), ("score", "sum")])
        parts.append(part.select([*_KEY, "count_all", "score_count", "score_sum"]).rename_columns([*_KEY, *_SUMS]))
    if not parts:
        return None
    whole = pa.concat_tables(parts).group_by(list(_KEY)).aggregate([(name, "sum") for name in _SUMS])
    whole = whole.select([*_KEY, *(f"{name}_sum" for name in _SUMS)]).rename_columns([*_KEY, *_SUMS])
    return whole if whole.num_rows else None


def _by_benchmark(table: pa.Table) -> Iterator[AnswerCounts]:
    names, place = _codes(table["benchmark"])
    for i, benchmark in enumerate(names):
        part = table if len(names) == 1 else table.filter(place == i)
        (models, m), (questions, q), (answers, a) = (_codes(part[name]) for name in ("model", "question", "answer"))
        n, scored, total = (part[name].fill_null(0).to_numpy() for name in _SUMS)
        yield AnswerCounts.of(benchmark, (models, questions, answers), (m, q, a), n=n, scored=scored, total=total)


def _codes(column: pa.ChunkedArray) -> tuple[list[str], Any]:
    """Different values in the order of their names, and the place of each row's among them; -1 for none."""
    encoded = column.combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    order = sorted(range(len(values)), key=values.__getitem__)
    place = np.empty(len(values) + 1, np.int64)
    place[order], place[-1] = np.arange(len(values)), -1
    return [values[i] for i in order], place[encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)]


def _targets(
    source: Source, found: Sequence[AnswerCounts], known: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str, str]]:
    """Benchmark, question and target; of a log only of those that are not known yet: its texts are slow to read."""
    wanted = {(one.benchmark, question) for one in found for question in one.questions}
    told: Iterator[tuple[str, str, str | None]] = iter(())
    if isinstance(source, Run):
        told = chain(_told(responses.read_prompts(source.path, _TARGET).to_batches()), _rows(source))
    elif isinstance(source, LogSource):
        wanted -= {(benchmark, question) for benchmark, targets in known.items() for question in targets}
        told = ((row.benchmark, row.question, row.target) for row in source.generations())
    while wanted and (one := next(told, None)) is not None:
        benchmark, question, target = one
        if target and (benchmark, question) in wanted:
            wanted.remove((benchmark, question))
            yield benchmark, question, target


def _rows(source: Run) -> Iterator[tuple[str, str, str | None]]:
    """Targets that the rows hold; begun only when the prompts do not hold them all."""
    yield from _told(responses.stream(source.path, _TARGET))


def _told(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, str, str | None]]:
    import pyarrow as pa

    for batch in batches:
        rows = pa.Table.from_batches([batch]).group_by(_TARGET, use_threads=False).aggregate([])
        yield from zip(*(rows[name].to_pylist() for name in _TARGET), strict=True)


def _with(answers: AnswerCounts, targets: Mapping[str, str]) -> AnswerCounts:
    return replace(answers, targets=tuple(targets.get(question) for question in answers.questions))


if TYPE_CHECKING:
    import pyarrow as pa

    from howsure.stats.core.cells import IntArray
    from howsure.stats.core.cube import Cube


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
    known = [_scored_rows(source) for source in sources]
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


def _scored_rows(source: Source) -> pa.Table | None:
    if not isinstance(source, (LogSource, Run)) or (isinstance(source, Run) and source.plans):
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
