"""Score a completion as lm-evaluation-harness does: by a filter and a metric of a task.

Each generation is filtered and scored by itself, as if it were the only one of its question.
"""

from __future__ import annotations

import importlib
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

from howsure.benchmarks.lm_eval_index import (
    Document,
    LoadedTask,
    describe_failure,
    silence_harness,
)
from howsure.errors import InputError, UnknownNameError
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code

if TYPE_CHECKING:
    from lm_eval.api.task import ConfigurableTask as HarnessTask
    from lm_eval.filters import FilterEnsemble

#: What the harness's filters return where they find no answer.
_INVALID = "[invalid]"
#: Values of a metric on which an aggregation is compared with the mean.
_PROBES = ([0.0, 1.0, 1.0, 0.0, 1.0], [0.25], [0.5, 0.25, 1.0])


class TaskDocument(NamedTuple):
    """A row of a task's data set, and its place in the data set."""

    task: HarnessTask
    document: Document
    place: int
    score: TaskScore
    """The filter and metric of its task."""


class TaskScore(NamedTuple):
    """The filter and the metric of a task that give the score, and the others that it has."""

    filter: str
    metric: str
    filters: tuple[str, ...]
    metrics: tuple[str, ...]
    """Metrics whose mean over questions is what the harness reports."""
    higher_is_better: bool = True


def build_task_scorer(documents: Mapping[str, TaskDocument], loaded: Sequence[LoadedTask], version: str) -> Scorer:
    """Return the scorer of a benchmark of the harness.

    Parameters
    ----------
    documents
        Row of each question, by the question's id.
    loaded
        The tasks of the benchmark.
    version
        Version of lm-eval; with the files of the tasks it decides the version of the scorer.
    """

    # Generations of a question often say the same, such as "(A)", and some filters of the harness take 0.1 s for each.
    @lru_cache(maxsize=1000)
    def score_text(completion: str, question: str) -> ScoredAnswer:
        row = documents.get(question)
        if row is None:
            raise ValueError(f"the task has no question {question!r}")
        value, filtered = score_completion(row, completion)
        answer = _write_answer(filtered)
        # What no filter could read is counted as unparsed, unless the task gives credit for it.
        is_unparsed = value == 0 and answer in (_INVALID, "")
        return ScoredAnswer(value, None if is_unparsed else answer, f"{row.score.filter}: {row.score.metric}")

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        return score_text(completion, item.question)

    digests = "-".join(sorted({one.digest for one in loaded}))
    code = hash_code("benchmarks.lm_eval_scorer")
    chosen = {(row.score.filter, row.score.metric) for row in documents.values()}
    name = "lm_eval:" + ",".join(sorted(f"{one}/{metric}" for one, metric in chosen))
    return Scorer(name, f"{code}-{version}-{digests[:25]}", score, reads_all_texts=True, has_own_targets=True)


def choose_score(
    task: HarnessTask, filter_name: str | None, metric: str | None, where: str, *, probes: bool = True
) -> TaskScore:
    """Return the filter and metric that give the score: those that are named, or the first ones of the task.

    Parameters
    ----------
    task
        The task.
    filter_name, metric
        Names, or None for the first filter, and the first metric whose mean the harness reports.
    where
        What to name in errors.
    probes
        Whether to compute the metrics of a first row to learn their names; not for tasks that run generated code.

    Raises
    ------
    UnknownNameError
        When the task has no such filter or metric.
    InputError
        When the metrics cannot be computed, or none of them is a mean of scores of single questions.
    """
    filters = tuple(one.name for one in _list_filters(task))
    if filter_name is not None and filter_name not in filters:
        raise UnknownNameError("filter", filter_name, filters, where=where)
    chosen = filter_name or filters[0]
    aggregations = task.aggregation()
    values = _probe_metrics(task, chosen, where) if probes else dict.fromkeys(aggregations, 0.0)
    fit = tuple(name for name, value in values.items() if _is_number(value) and _is_mean(aggregations.get(name)))
    unfit = [name for name in values if name not in fit]
    if metric is not None and metric not in fit:
        if metric in unfit:
            raise _build_corpus_error(metric, fit, where)
        raise UnknownNameError("metric", metric, fit, where=where)
    if not fit:
        raise _build_corpus_error(", ".join(unfit), fit, where)
    # The order of metric_list is the task's own; metrics that only a function returns come after them.
    ordered = sorted(
        fit, key=lambda name: (name not in aggregations, list(aggregations).index(name) if name in aggregations else 0)
    )
    own = metric or ordered[0]
    return TaskScore(chosen, own, filters, tuple(ordered), task.higher_is_better().get(own, True) is not False)


def score_completion(row: TaskDocument, completion: str) -> tuple[float, object]:
    """Return the score of a completion, and what the filter made of it.

    Raises
    ------
    ValueError
        When the task gives no number.
    """
    filtered = _filter_completion(row.task, row.score.filter, row.document, completion)
    metrics = row.task.process_results(row.document, [filtered])
    value = metrics.get(row.score.metric)
    if not _is_number(value):
        raise ValueError(f"the metric {row.score.metric} is {value!r:.80}, which is no number")
    return float(cast("float", value)), filtered


def _list_filters(task: HarnessTask) -> list[FilterEnsemble]:
    """Return the filters of a task."""
    filters: list[FilterEnsemble] = task._filters  # noqa: SLF001  # the harness has no other access to them
    return filters


def _filter_completion(task: HarnessTask, filter_name: str, document: Document, completion: str) -> object:
    """Return what the filters of a name make of one completion, the only one of its row."""
    instance = importlib.import_module("lm_eval.api.instance").Instance(
        request_type="generate_until", doc=document, arguments=("", {}), idx=0, metadata=(task.config.task, 0, 1)
    )
    instance.resps = [completion]
    filters = next(one for one in _list_filters(task) if one.name == filter_name)
    filters.apply([instance])
    return instance.filtered_resps[filter_name]


def _probe_metrics(task: HarnessTask, filter_name: str, where: str) -> Mapping[str, object]:
    """Return the metrics of a completion of the first row: of its target, or where that fails of a short text."""
    # The rows that the task holds: reading them again may shuffle again.
    document = (getattr(task, "task_docs", None) or task.eval_docs)[0]
    failure: Exception | None = None
    for text in (str(task.doc_to_target(document)), "1"):
        try:
            with silence_harness():
                filtered = _filter_completion(task, filter_name, document, text)
                metrics: Mapping[str, object] = task.process_results(document, [filtered])
                return metrics
        except Exception as error:  # noqa: BLE001  # code of a task may raise anything
            failure = failure or error
    assert failure is not None
    if isinstance(failure, AssertionError) and task.config.repeats > 1:
        what = f"its filter {filter_name!r} needs {task.config.repeats} generations at once, and each is scored alone"
        others = ", ".join(one.name for one in _list_filters(task) if one.name != filter_name)
        remedy = f"name another filter: {others}" if others else "choose the task without votes over generations"
        raise InputError(what, where=where, remedy=remedy)
    raise describe_failure(failure, where)


def _build_corpus_error(metric: str, fit: Sequence[str], where: str) -> InputError:
    """Return the error for a metric of all questions together."""
    what = f"the harness computes {metric or 'its metric'} over all questions together, not as a mean of their scores"
    remedy = f"name another metric: {', '.join(fit)}" if fit else "choose a task with a score for each question"
    return InputError(what, where=where, remedy=remedy)


def _is_number(value: object) -> bool:
    """Return whether a value is one number."""
    return isinstance(value, numbers.Real | bool) or (
        getattr(value, "shape", None) == () and isinstance(getattr(value, "item", lambda: None)(), int | float)
    )


def _is_mean(aggregation: Callable[[list[object]], object] | None) -> bool:
    """Return whether an aggregation gives the mean of numbers; the harness takes the mean where there is none."""
    if aggregation is None:
        return True
    try:
        return all(
            math.isclose(float(cast("float", aggregation([*probe]))), math.fsum(probe) / len(probe))
            for probe in _PROBES
        )
    except Exception:  # noqa: BLE001  # an aggregation of other values may fail in any way
        return False


def _write_answer(filtered: object) -> str:
    """Return what a filter returned as a text."""
    while isinstance(filtered, list | tuple) and len(filtered) == 1:
        filtered = filtered[0]
    return filtered if isinstance(filtered, str) else str(filtered)
