"""Count and group the answers that models gave, for `audit`, the report and the review alike.

A generation counts unless its request failed (status "error") or it has no score
(status "unscored", or an error of its scorer); in a log,
a generation without a score failed. An answer that could not be parsed counts, as an answer of its own.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from howsure.errors import HowsureWarning, InputError
from howsure.logs.log_source import LogSource
from howsure.notes import Note, warn
from howsure.results.run_source import RunSource, is_judged
from howsure.results.table_log import TableLogReader
from howsure.results.table_source import TableSource
from howsure.rows.source import Source
from howsure.stats.prompts import VariantAnswers
from howsure.stats.questions import AnswerCounts
from howsure.store import responses
from howsure.store.schema import SCORING_ERROR, UNSCORED, WITHOUT_ANSWER, Response, has_scoring_error

if TYPE_CHECKING:
    import pyarrow as pa

    from howsure.stats.core.cells import IntArray
    from howsure.stats.core.cube import Cube

_KEY = ("benchmark", "model", "question", "answer")
_SUMS = ("n", "scored", "total")
_TARGET = ["benchmark", "question", "target"]

AnswerKind = Literal["answer", "unparsed", "unscored", "failed"]
"""The kinds of groups, in the order in which they are displayed."""
_KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)

GenerationKind = Literal["correct", "in-between", "wrong", "unparsed", "unscored", "failed"]
"""What became of a generation: a score of 1 is correct, of 0 wrong, and any other in-between, such as 3 of 10."""
GENERATION_KINDS: tuple[GenerationKind, ...] = get_args(GenerationKind)


@dataclass(frozen=True, eq=False)
class AnswerGroup:
    """Generations of one question with the same answer, or without an answer for the same reason.

    Attributes
    ----------
    kind
        "answer"; or "unparsed", "unscored" and "failed", which have no answer.
    answer
        The answer; None for the other kinds.
    rows
        The generations, in the order given.
    models
        Number of these generations by model.
    n_by_model
        Number of all generations that count, by model.
    share
        Mean over models of the share of their generations that is in this group; 0 for a kind that does not count.
    is_correct
        Whether the answer counts as correct; see `is_correct`.
    n_favourite
        Number of models that gave no other answer more often.
    """

    kind: AnswerKind
    answer: str | None
    rows: tuple[Response, ...]
    models: Mapping[str, int]
    n_by_model: Mapping[str, int]
    share: float
    is_correct: bool
    n_favourite: int


def is_correct(answer: str | None, target: str | None, *, scored: int, total: float) -> bool:
    """Return whether an answer counts as correct: by its `scored` scores, or by the target where it has none.

    >>> is_correct("1/2", "0.5", scored=3, total=3.0), is_correct("1/2", "0.5", scored=0, total=0.0)
    (True, False)
    """
    return total >= scored / 2 if scored else answer is not None and answer == target


def group_answers(rows: Iterable[Response], target: str | None) -> list[AnswerGroup]:
    """Group the generations of one question by their answer.

    Parameters
    ----------
    rows
        Generations of one question.
    target
        Its target, where it is known.

    Returns
    -------
    list of AnswerGroup
        AnswerCounts by share, the largest first; then what could not be parsed, has no score yet, and failed.
    """
    parts: defaultdict[tuple[AnswerKind, str | None], list[Response]] = defaultdict(list)
    for row in rows:
        kind = _kind_of(row)
        parts[kind, row.answer if kind == "answer" else None].append(row)
    models = {part: Counter(row.model for row in own) for part, own in parts.items()}
    counting = [count for (kind, _), count in models.items() if _counts(kind)]
    totals = sum(counting, Counter[str]())
    largest = {model: max(count[model] for count in counting) for model in totals}
    groups = []
    for (kind, answer), own in parts.items():
        count, scores = models[kind, answer], [row.score for row in own if row.score is not None]
        groups.append(
            AnswerGroup(
                kind=kind,
                answer=answer,
                rows=tuple(own),
                models=count,
                n_by_model=totals,
                share=sum(n / totals[model] for model, n in count.items()) / len(totals) if _counts(kind) else 0.0,
                is_correct=kind == "answer" and is_correct(answer, target, scored=len(scores), total=sum(scores)),
                n_favourite=sum(n == largest[model] for model, n in count.items()) if _counts(kind) else 0,
            )
        )
    return sorted(groups, key=lambda group: (_KINDS.index(group.kind), -group.share, group.answer or ""))


def _kind_of(row: Response) -> AnswerKind:
    """Return the kind of group that a generation belongs to."""
    if row.status == UNSCORED or (row.status == "error" and has_scoring_error(row.error)):
        return "unscored"
    if row.status == "error":
        return "failed"
    return "unparsed" if row.answer is None else "answer"


def _counts(kind: AnswerKind) -> bool:
    """Return whether generations of this kind count."""
    return kind in {"answer", "unparsed"}


def classify_generations(table: pa.Table, *, has_answers: bool) -> NDArray[np.uint8]:
    """Return what became of each generation, as the index in `GENERATION_KINDS`.

    Parameters
    ----------
    table
        Rows with the columns score, status, answer and error.
    has_answers
        Whether the source keeps the answers that were parsed; if not, no generation is unparsed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = {"score": [1.0, None, None], "status": ["ok", "unparsed", "error"], "answer": ["4", None, None]}
    >>> columns["error"] = [None, None, "timeout: 60 s"]
    >>> [GENERATION_KINDS[kind] for kind in classify_generations(pa.table(columns), has_answers=True)]
    ['correct', 'unparsed', 'failed']
    """
    from pyarrow import compute

    correct, between, wrong, unparsed, unscored, failed = range(len(GENERATION_KINDS))
    score = table["score"].to_numpy().astype(float)  # NaN where null
    kinds = np.select([score == 1, score == 0], [correct, wrong], between)
    if has_answers:
        kinds[_find_unparsed(table).to_numpy()] = unparsed
    kinds[np.isnan(score)] = failed
    # A reply that no verdict could be read from has no score.
    kinds[np.isin(table["status"].to_numpy(), ("unparsed", *WITHOUT_ANSWER)) & np.isnan(score)] = unparsed
    is_error = compute.equal(table["status"], "error").to_numpy()
    kinds[is_error] = failed
    of_scorer = compute.fill_null(compute.starts_with(table["error"], SCORING_ERROR), fill_value=False).to_numpy()
    kinds[compute.equal(table["status"], UNSCORED).to_numpy() | (is_error & of_scorer)] = unscored
    return kinds.astype(np.uint8)


def count_answers(sources: Sequence[Source]) -> dict[str, AnswerCounts]:
    """Count how often each model gave each answer to each question.

    Rows are grouped a batch at a time, so that memory holds counts only.

    Parameters
    ----------
    sources
        As `results.sources.find_sources` returns them.

    Returns
    -------
    dict of str to AnswerCounts
        By benchmark. Counts of several sources add up; models, questions and answers are sorted by name. A benchmark
        whose sources keep no answers, such as a table, is left out. Generations that a judge scored have no answer.

    Warns
    -----
    HowsureWarning
        When a question has two targets: the first one is used.
    """
    parts: defaultdict[str, list[AnswerCounts]] = defaultdict(list)
    targets: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for source in sources:
        table = _count_source(source)
        if table is None:
            continue
        each = list(_split_benchmarks(table))
        n_different = 0
        for benchmark, question, target in _read_targets(source, each, targets):
            n_different += targets[benchmark].setdefault(question, target) != target
        if n_different:
            warn(Note("second-target", str(source.path), n=n_different))
        for answers in each:
            parts[answers.benchmark].append(answers)
    return {name: _set_targets(reduce(add, parts[name]), targets[name]) for name in sorted(parts)}


def _count_source(source: Source) -> pa.Table | None:
    """Return a row of counts for each model, question and answer of a source; None if it stores no answers."""
    if isinstance(source, RunSource):
        tables = source.read_rows([*_KEY, "score", "status"])
        return _sum_rows(map(_drop_verdicts, tables) if is_judged(source) else tables)
    if isinstance(source, TableSource):
        answers = _read_table_answers(source)
        return None if answers is None else _sum_rows([answers])
    if not isinstance(source, LogSource):
        return None
    rows = source.rows if "answer" in source.rows.column_names else source.read_answers()
    return None if rows is None else _sum_rows([rows])


def _drop_verdicts(rows: pa.Table) -> pa.Table:
    """Return rows that a judge scored without answers, which are its verdicts."""
    import pyarrow as pa

    place = rows.column_names.index("answer")
    return rows.set_column(place, "answer", pa.nulls(rows.num_rows, rows["answer"].type))


def _sum_rows(tables: Iterable[pa.Table]) -> pa.Table | None:
    """Return one row for each key: generations that count, those with a score, and the sum of their scores."""
    import pyarrow as pa
    from pyarrow import compute

    parts = []
    for rows in tables:
        if "status" in rows.column_names:
            excluded = compute.is_in(rows["status"], value_set=pa.array(["error", UNSCORED]))
            counting = rows.filter(compute.invert(excluded))
        else:
            counting = rows.filter(compute.is_valid(rows["score"]))
        part = counting.group_by(list(_KEY)).aggregate([([], "count_all"), ("score", "count"), ("score", "sum")])
        parts.append(part.select([*_KEY, "count_all", "score_count", "score_sum"]).rename_columns([*_KEY, *_SUMS]))
    if not parts:
        return None
    sums = pa.concat_tables(parts).group_by(list(_KEY)).aggregate([(name, "sum") for name in _SUMS])
    sums = sums.select([*_KEY, *(f"{name}_sum" for name in _SUMS)]).rename_columns([*_KEY, *_SUMS])
    return sums if sums.num_rows else None


def _split_benchmarks(table: pa.Table) -> Iterator[AnswerCounts]:
    """Yield the counts of each benchmark."""
    names, place = _encode(table["benchmark"])
    for i, benchmark in enumerate(names):
        part = table if len(names) == 1 else table.filter(place == i)
        (models, m), (questions, q), (answers, a) = (_encode(part[name]) for name in ("model", "question", "answer"))
        n, scored, total = (part[name].fill_null(0).to_numpy() for name in _SUMS)
        yield AnswerCounts.of(benchmark, (models, questions, answers), (m, q, a), n=n, scored=scored, total=total)


def _encode(column: pa.ChunkedArray) -> tuple[list[str], Any]:
    """Return the sorted distinct values, and the place of each row's value among them; -1 for null."""
    encoded = column.combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    order = sorted(range(len(values)), key=values.__getitem__)
    place = np.empty(len(values) + 1, np.int64)
    place[order], place[-1] = np.arange(len(values)), -1
    return [values[i] for i in order], place[encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)]


def _read_targets(
    source: Source, answers_of_source: Sequence[AnswerCounts], known_targets: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str, str]]:
    """Yield benchmark, question and target; a log is read only for unknown targets, because its texts are slow."""
    wanted = {(answers.benchmark, question) for answers in answers_of_source for question in answers.questions}
    rows: Iterator[tuple[str, str, str | None]] = iter(())
    if isinstance(source, RunSource):
        rows = chain(
            _distinct_targets(responses.read_prompts(source.path, _TARGET).to_batches()), _targets_of_rows(source)
        )
    elif isinstance(source, TableSource):
        answers = _read_table_answers(source)
        rows = _distinct_targets(answers.select(_TARGET).to_batches() if answers is not None else ())
    elif isinstance(source, LogSource):
        wanted -= {(benchmark, question) for benchmark, targets in known_targets.items() for question in targets}
        rows = ((row.benchmark, row.question, row.target) for row in source.generations())
    while wanted and (row := next(rows, None)) is not None:
        benchmark, question, target = row
        if target and (benchmark, question) in wanted:
            wanted.remove((benchmark, question))
            yield benchmark, question, target


def _targets_of_rows(source: RunSource) -> Iterator[tuple[str, str, str | None]]:
    """Yield the targets that rows of a run hold; the file is opened only when the prompts do not hold them all."""
    yield from _distinct_targets(responses.stream(source.path, _TARGET))


def _distinct_targets(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, str, str | None]]:
    """Yield benchmark, question and target, once for each batch."""
    import pyarrow as pa

    for batch in batches:
        rows = pa.Table.from_batches([batch]).group_by(_TARGET, use_threads=False).aggregate([])
        yield from zip(*(rows[name].to_pylist() for name in _TARGET), strict=True)


def _set_targets(answers: AnswerCounts, targets: Mapping[str, str]) -> AnswerCounts:
    """Return the answers with the targets of their questions."""
    return replace(answers, targets=tuple(targets.get(question) for question in answers.questions))


def count_unparsed(sources: Sequence[Source], cubes: Iterable[Cube]) -> dict[str, IntArray]:
    """Count the scored generations whose answer could not be parsed, in the cells of each cube.

    Parameters
    ----------
    sources
        As `results.sources.find_sources` returns them.
    cubes
        Of the same sources.

    Returns
    -------
    dict of str to IntArray
        By benchmark, in the shape of its cube. Empty when a source keeps no answers (a table, some logs) or was sampled
        in stages, whose n is an effective number. Cubes with nested variants are left out.
    """
    counts: dict[str, IntArray] = {}
    for cube, cell_counts in _count_in_cubes(sources, cubes):
        counts[cube.benchmark] = np.zeros(cube.n.shape, np.int64)
        for place, _, is_unparsed, count in cell_counts:
            if is_unparsed:
                counts[cube.benchmark][place] += count
    return counts


def count_variant_answers(sources: Sequence[Source], cubes: Iterable[Cube]) -> dict[str, VariantAnswers]:
    """Count how often each model gave each answer to each question under each drawn prompt variant.

    Parameters
    ----------
    sources, cubes
        As for `count_unparsed`.

    Returns
    -------
    dict of str to VariantAnswers
        By benchmark; empty when a source keeps no answers, as one that a judge scored, or was sampled in stages. Cubes
        with nested variants are left out.
    """
    if any(map(is_judged, sources)):
        return {}
    answers = {}
    for cube, cell_counts in _count_in_cubes(sources, [cube.drawn for cube in cubes]):
        index: dict[str, int] = {}
        n, places = np.zeros(cube.n.shape, np.int64), []
        for place, answer, _, count in cell_counts:
            n[place] += count
            if answer is not None:
                places.append((*place, index.setdefault(answer, len(index)), count))
        indices = np.array(places, np.int64).reshape(-1, 5).T
        answers[cube.benchmark] = VariantAnswers(
            cube.benchmark, cube.models, cube.questions, cube.variants, n, *indices
        )
    return answers


def _count_in_cubes(
    sources: Sequence[Source], cubes: Iterable[Cube]
) -> Iterator[tuple[Cube, list[tuple[tuple[int, int, int], str | None, bool, int]]]]:
    """Yield each cube without nested variants: place, answer, whether it is unparsed, and number of scored rows.

    Nothing is yielded where a source keeps no answers or was sampled in stages.
    """
    import pyarrow as pa
    from pyarrow import compute

    tables = [_read_scored_rows(source) for source in sources]
    if not tables or any(table is None for table in tables):
        return
    columns = ["benchmark", "model", "question", "variant", "answer", "unparsed"]
    marked = [table.append_column("unparsed", _find_unparsed(table)) for table in tables if table is not None]
    scored = [table.filter(compute.is_valid(table["score"])).select(columns) for table in marked]
    counts = pa.concat_tables(scored).group_by(columns).aggregate([([], "count_all")])
    of_benchmark: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for benchmark, *cell in zip(*(counts[name].to_pylist() for name in (*columns, "count_all")), strict=True):
        of_benchmark[benchmark].append(tuple(cell))
    for cube in (one for one in cubes if not one.nested):
        axes = [{name: i for i, name in enumerate(names)} for names in (cube.models, cube.questions, cube.variants)]
        own = [
            ((axes[0][model], axes[1][question], axes[2][variant]), answer, is_unparsed, count)
            for model, question, variant, answer, is_unparsed, count in of_benchmark[cube.benchmark]
            if model in axes[0] and question in axes[1] and variant in axes[2]
        ]
        yield cube, own


def _find_unparsed(table: pa.Table) -> pa.ChunkedArray:
    """Return which rows score 0 because no answer was read; a refusal and an empty completion are none of them."""
    import pyarrow as pa
    from pyarrow import compute

    unparsed = compute.and_(compute.equal(table["score"], 0).fill_null(False), compute.is_null(table["answer"]))
    if "status" not in table.column_names:
        return unparsed
    without = compute.is_in(table["status"], value_set=pa.array(WITHOUT_ANSWER))
    return compute.and_(unparsed, compute.invert(without))


def _read_scored_rows(source: Source) -> pa.Table | None:
    """Return the rows from which cells are computed; None if they have no answers or were sampled in stages."""
    if isinstance(source, TableSource):
        return _read_table_answers(source)
    if not isinstance(source, (LogSource, RunSource)) or (isinstance(source, RunSource) and source.plans):
        return None
    rows = source.rows
    return rows if "answer" in rows.column_names else None


def _read_table_answers(source: TableSource) -> pa.Table | None:
    """Return the rows of a table in a file with the answers that a column states; None if there is none."""
    if not isinstance(source.path, Path) or source.most_generations is not None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HowsureWarning)  # reading the cells has raised the same warnings
        try:
            return TableLogReader(source.options).read_answers(source.path)
        except InputError:
            return None  # a table of cells, or one that is left out
