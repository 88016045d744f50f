"""Verdicts and people's labels of a run folder, as the statistics of judges take them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from howsure.errors import InputError
from howsure.judging.judge_run import find_judge, mean_score, read_completions, read_verdict_counts
from howsure.judging.random_labels import LabelFile
from howsure.results.run_source import RunSource
from howsure.results.table_source import TableSource
from howsure.stats.core.cells import Cells
from howsure.stats.judges import JudgedCompletions, PositionEffect, VerdictTable, measure_position_effect
from howsure.store import responses, scorer_files
from howsure.store.lookup import read_clusters
from howsure.store.schema import KEY, CompletionKey

if TYPE_CHECKING:
    import pyarrow as pa

#: The runs of each benchmark of a table, with the number or name of their generation.
NumberedRuns: TypeAlias = Mapping[str, Mapping[str, "Cells"]]


def read_verdict_tables(source: RunSource) -> list[VerdictTable]:
    """Return the verdicts of a judge on the completions of each benchmark of a run folder, of those that are read.

    Pairs of completions have no table: their two orders are no repeats.
    """
    assert source.scorer is not None
    folder, judge = find_judge(source.path, source.scorer)
    if judge.models is not None:
        return []
    verdicts = read_verdict_counts(folder)
    words = list(judge.choices)
    columns = _select_completions(read_completions(folder)[1], source).to_pydict()
    benchmarks, models, questions = (columns[name] for name in KEY[:3])
    units = [ids[0] for ids in columns["units"]]
    clusters = read_clusters(source.path)
    tables = []
    for benchmark in sorted(set(benchmarks)):
        rows = [i for i, name in enumerate(benchmarks) if name == benchmark and units[i] in verdicts]
        model_index, question_index, unit_index = (
            {name: i for i, name in enumerate(sorted({values[row] for row in rows}))}
            for values in (models, questions, units)
        )
        counts = [[verdicts[unit].counts.get(word, 0) for word in words] for unit in unit_index]
        tables.append(
            VerdictTable(
                benchmark,
                tuple(source.labels.get(name, name) for name in model_index),
                tuple(question_index),
                np.array([model_index[models[row]] for row in rows], dtype=np.int64),
                np.array([question_index[questions[row]] for row in rows], dtype=np.int64),
                np.array([unit_index[units[row]] for row in rows], dtype=np.int64),
                np.array(counts, dtype=np.int64).reshape(-1, len(words)),
                np.array([judge.choices[word] for word in words]),
                _find_clusters(clusters, benchmark, tuple(question_index)),
            )
        )
    return tables


def _select_completions(completions: pa.Table, source: RunSource) -> pa.Table:
    """Return the completions whose rows are read, where first generations alone are, or no copies of another folder."""
    import pyarrow as pa

    if source.most_generations is None and not source.earlier:
        return completions
    rows = source.rename_models(completions).select(list(KEY))
    read = set(zip(*source.rows.select(list(KEY)).to_pydict().values(), strict=True))
    is_read = [key in read for key in zip(*rows.to_pydict().values(), strict=True)]
    return completions.filter(pa.array(is_read, pa.bool_()))


def read_judged_completions(source: RunSource, labels: LabelFile | None) -> list[JudgedCompletions]:
    """Return the judge's scores of each benchmark of a run folder, with people's labels.

    Parameters
    ----------
    source
        A run folder whose scores a judge gave.
    labels
        Labels of a sample, or None; several labels of one completion count with their mean.

    Notes
    -----
    Refusals, empty completions and tool calls, which score 0 without a judge, are marked as known. A completion that
    has no readable verdict has the judge's score NaN; a request that failed has no completion and is left out.

    Raises
    ------
    InputError
        When labels are of completions that the run does not have.
    """
    assert source.scorer is not None
    rows: dict[str, list[_Row]] = {}
    columns = [*KEY, "score", "answer", "completion"]
    keys = set()
    most = math.inf if source.most_generations is None else source.most_generations
    n_scored: Counter[tuple[str, ...]] = Counter()
    for row in responses.iterate_rows(scorer_files.stream_rows(source.path, columns, source.scorer)):
        keys.add(row.key)
        cell = row.key[:-1]
        if n_scored[cell] >= most:
            continue
        n_scored[cell] += row.score is not None
        text = row.completion or ""
        if row.score is not None or text.strip():
            judged = math.nan if row.score is None else row.score
            one = _Row(row.key, judged, float(len(text)), row.score is not None and row.answer is None)
            rows.setdefault(row.benchmark, []).append(one)
    if labels is not None:
        labels = labels.resolve(keys, find_judge(source.path, source.scorer).judge.choices)
    by_key = {} if labels is None else labels.scores()
    inclusion = {} if labels is None else labels.inclusion()
    if by_key and keys.isdisjoint(by_key):
        what = "none of the labels is of a completion of this run"
        raise InputError(what, where=str(source.path), remedy="give the labels of this run, or the run of these labels")
    if labels is not None:
        labels.warn_of_others(keys, source.path)
    clusters = read_clusters(source.path)
    parts = [_build_judged(benchmark, of, by_key, inclusion, clusters) for benchmark, of in sorted(rows.items())]
    return [replace(part, models=tuple(source.labels.get(name, name) for name in part.models)) for part in parts]


def find_first_generation(runs: NumberedRuns) -> int | None:
    """Return the lowest number of a generation of a table; None where generations are not numbered."""
    names = [name for each in runs.values() for name in each]
    return min(map(int, names)) if names and all(name.isdecimal() for name in names) else None


def read_judged_table(table: TableSource, runs: NumberedRuns, labels: LabelFile) -> list[JudgedCompletions]:
    """Return the scores of a table, which a judge gave, with people's labels; lengths of completions are not known.

    Parameters
    ----------
    table
        The table.
    runs
        Its runs with the numbers of their generations; where these begin with 0, they are counted from 1 as in labels.
    labels
        People's labels, with generations counted from 1.

    Raises
    ------
    InputError
        When rows of a question cannot be told from each other, or no label is of a row.
    """
    rows: dict[str, list[_Row]] = {}
    first = find_first_generation(runs)
    for benchmark, each in runs.items():
        of = rows.setdefault(benchmark, [])
        for place, (name, cells) in enumerate(each.items(), 1):
            generation = place if first is None else int(name) + (first == 0)
            if np.any(cells.n > 1):
                what = f"{benchmark} has several rows of a model and a question, and no column that numbers them"
                raise InputError(what, where=str(table.path), remedy="--columns generation=COLUMN names it")
            for i, j in zip(*np.nonzero(cells.n), strict=True):
                key = benchmark, cells.models[i], cells.questions[j], "", generation
                of.append(_Row(key, float(cells.total[i, j]), 0.0, is_known=False))
    keys = {row.key for of in rows.values() for row in of}
    labels = labels.resolve(keys, {})
    by_key = labels.scores()
    if keys.isdisjoint(by_key):
        what = "none of the labels is of a row of this table"
        raise InputError(what, where=str(table.path), remedy="name models and questions alike in both, without variant")
    most = table.most_generations
    labels.warn_of_others(keys, table.path if most is None else f"{table.path} with --generations {most}")
    parts = [_build_judged(benchmark, of, by_key, labels.inclusion(), {}) for benchmark, of in sorted(rows.items())]
    return [replace(part, length=None) for part in parts]


class _Row(NamedTuple):
    """A completion with the judge's score, its length, and whether the score is known without a judge."""

    key: CompletionKey
    score: float
    length: float
    is_known: bool


def _build_judged(
    benchmark: str,
    rows: Sequence[_Row],
    labels: dict[CompletionKey, float],
    inclusion: dict[CompletionKey, float],
    clusters: dict[tuple[str, str], str],
) -> JudgedCompletions:
    """Return the judged completions of one benchmark."""
    models = {name: i for i, name in enumerate(sorted({row.key[1] for row in rows}))}
    questions = {name: i for i, name in enumerate(sorted({row.key[2] for row in rows}))}
    return JudgedCompletions(
        benchmark,
        tuple(models),
        tuple(questions),
        np.array([models[row.key[1]] for row in rows], dtype=np.int64),
        np.array([questions[row.key[2]] for row in rows], dtype=np.int64),
        np.array([row.score for row in rows]),
        np.array([labels.get(row.key, math.nan) for row in rows]),
        np.array([inclusion.get(row.key, 1.0) for row in rows]),
        _find_clusters(clusters, benchmark, tuple(questions)),
        np.array([row.length for row in rows]),
        np.array([row.is_known for row in rows], dtype=bool),
    )


def _find_clusters(
    clusters: dict[tuple[str, str], str], benchmark: str, questions: Sequence[str]
) -> tuple[str, ...] | None:
    """Return the cluster of each question; None unless all have one."""
    each_cluster = [clusters.get((benchmark, question)) for question in questions]
    return None if None in each_cluster else tuple(map(str, each_cluster))


def read_position_effects(path: Path, scorer: str, *, level: float = 0.95) -> dict[str, PositionEffect]:
    """Return the position effect of a pairwise judge, by benchmark, over the pairs that it judged in both orders."""
    folder, judge = find_judge(path, scorer)
    verdicts = read_verdict_counts(folder)
    table = read_completions(folder)[1].select(["benchmark", "question", "units"]).to_pydict()
    pairs = {
        (benchmark, *units): question
        for benchmark, question, units in zip(*table.values(), strict=True)
        if len(units) == 2
    }
    scores: dict[str, list[list[float]]] = {benchmark: [] for benchmark in sorted(set(table["benchmark"]))}
    questions: dict[str, list[str]] = {benchmark: [] for benchmark in scores}
    for (benchmark, *units), question in sorted(pairs.items()):
        means = [mean_score(verdicts[unit].counts, judge.choices) for unit in units if unit in verdicts]
        both = [mean for mean in means if mean is not None]
        if len(both) == 2:
            scores[benchmark].append(both)
            questions[benchmark].append(question)
    return {
        benchmark: measure_position_effect(scores[benchmark], questions[benchmark], level=level) for benchmark in scores
    }
