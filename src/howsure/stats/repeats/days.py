"""Scores of the days on which runs were made: their intervals, the interval for a further day, and drift between days.

Runs of one day are pooled. Of each model only the questions that it answered on all of its days count, because scores
of different questions differ without any change of the model. The interval of the score of day r, for the same
questions asked again on it, is

    mean p_rq ± t_df sqrt(sum_q s2_q/k_rq) / N

with k_rq generations of question q on that day and s2_q the variance of all its generations, of all days together; its
degrees of freedom are those of `sampling_df`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.intervals import interval
from howsure.stats.core.results import Columns, Result, RowPlaces, parse_columns
from howsure.stats.repeats.falls import find_falls
from howsure.stats.repeats.prediction_intervals import Repeats, repeats
from howsure.stats.repeats.runs import align_runs
from howsure.stats.scores import fill_within_variances, sampling_df

__all__ = ["DailyScores", "Fall", "compare_days", "watch_days"]

#: Why the days of a model are not compared.
UNDATED, PARTLY_DATED = "no run has a date", "some runs have no date"
ONE_DAY, NO_COMMON_QUESTION = "no two days have runs of the model", "no question was answered on every day"
#: The same of all models, whose runs were made on one day together or on a day of each.
ALL_ON_ONE_DAY, EACH_ON_ONE_DAY = "all runs were made on one day", "no model has runs of two days"


#: Days of a year, in which one false alarm is allowed.
_YEAR = 365.25


class Fall(NamedTuple):
    """An alarm about the scores of a model: when it came, since when they fell, and by how much they probably did.

    Attributes
    ----------
    alarm, since, first, last
        Day of the alarm, most probable first day of the lower scores, and limits of the interval for that day.
    size
        Expected fall, above 0.
    """

    alarm: str
    since: str
    first: str
    last: str
    size: float


@dataclass(frozen=True, eq=False)
class DailyScores(Result):
    """Scores of M models on D days; arrays have shape (D, M), NaN and 0 where a model has no run on a day.

    Attributes
    ----------
    benchmark
        Name of the benchmark.
    repeats
        The days taken as runs: the scores, the prediction interval for a further day like these, and the test for
        drift; None where no model can be compared.
    low, high
        Interval of each day's score for the same questions asked again on that day; NaN where no question varied.
    se
        Its standard error.
    n_runs
        Runs that were made on each day.
    n_questions
        Questions that each model answered on any day, shape (M,); those of all days are in `repeats`.
    reasons
        Why the days of the other models are not compared, by model.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from howsure.stats.core.cells import Cells
    >>> monday = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[1], [0], [1]]])
    >>> friday = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[0], [0], [1]]])
    >>> runs = [replace(monday, days={"a": "2026-11-02"}), replace(friday, days={"a": "2026-11-06"})]
    >>> result = compare_days(runs)
    >>> result["day"].tolist(), result["mean"].round(3).tolist()
    (['2026-11-02', '2026-11-06'], [0.667, 0.333])
    """

    benchmark: str
    repeats: Repeats | None
    low: FloatArray
    high: FloatArray
    se: FloatArray
    n_runs: IntArray
    n_questions: IntArray
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """Models whose days are compared."""
        return () if self.repeats is None else self.repeats.models

    @property
    def days(self) -> tuple[str, ...]:
        """Days in their order, in ISO 8601 (UTC)."""
        return () if self.repeats is None else self.repeats.runs.runs

    declared = (
        "benchmark model=models@1 day=days n_runs n_questions=repeats.runs.n_questions "
        "n_generations=repeats.runs.n_generations mean=repeats.runs.mean low high"
    )

    def _rows(self) -> RowPlaces | None:
        """Days and models of the rows: those with answers, model by model."""
        return None if self.repeats is None else np.nonzero(self.repeats.runs.n_questions.T)[::-1]

    def columns(self) -> Columns:
        """Return one row per model and day, none where no model can be compared."""
        if self.repeats is None:
            return {column.name: np.array([], dtype=object) for column in parse_columns(self.declared)}
        return super().columns()


def compare_days(runs: Sequence[Cells], *, level: float = 0.95) -> DailyScores:
    """Compare the scores of each model on the days on which its runs were made.

    Parameters
    ----------
    runs
        Runs of one benchmark, with the day of each model's run in `Cells.days`.
    level
        Level of all intervals, in (0, 1); the drift test adjusted over the models rejects at 1 - level.

    Returns
    -------
    DailyScores
        A row per model and day, for the models that have runs on two days or more and common questions.

    Raises
    ------
    InputError
        When there are no runs, or the level is out of its range.

    Examples
    --------
    >>> run = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1], [0]]])
    >>> compare_days([run, run]).reasons
    {'a': 'no run has a date'}
    """
    merged, _ = align_runs(runs)
    days_of: dict[str, dict[str, Cells]] = {}
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    reasons: dict[str, str] = {}
    n_questions = []
    for model in merged.models:
        own = [run.select([model]) for run in runs if model in run.models and run.answered[run.index(model)].any()]
        by_day: dict[str, list[Cells]] = {}
        for run in own:
            by_day.setdefault(run.days.get(model, ""), []).append(run)
        if len(by_day) < 2 or "" in by_day:
            reasons[model] = PARTLY_DATED if len(by_day) > 1 else UNDATED if "" in by_day else ONE_DAY
            continue
        pooled = {day: reduce(add, parts) for day, parts in by_day.items()}
        answered = [
            {name for name, is_answered in zip(part.questions, part.answered[0], strict=True) if is_answered}
            for part in pooled.values()
        ]
        common = set.intersection(*answered)
        if not common:
            reasons[model] = NO_COMMON_QUESTION
            continue
        questions = [name for name in merged.questions if name in common]
        days_of[model] = {day: part.select(questions=questions) for day, part in pooled.items()}
        n_questions.append(len(set.union(*answered)))
        counts |= {(day, model): len(parts) for day, parts in by_day.items()}
    if not days_of:
        dates = {date for run in runs for date in run.days.values() if date}
        reason = ALL_ON_ONE_DAY if len(dates) == 1 else EACH_ON_ONE_DAY
        reasons = {model: reason if why == ONE_DAY else why for model, why in reasons.items()}
        none = np.zeros((0, 0))
        return DailyScores(merged.benchmark, None, none, none, none, none.astype(int), np.zeros(0, int), reasons)
    names = sorted({day for days in days_of.values() for day in days})
    each = [reduce(add, [days[name] for days in days_of.values() if name in days]) for name in names]
    result = repeats(each, n_future=1, level=level, alpha=1 - level, names=names)
    low, high, se = _find_limits(each, result.models, level)
    n_runs = np.array([[counts[day, model] for model in result.models] for day in names])
    places = [list(days_of).index(model) for model in result.models]
    return DailyScores(merged.benchmark, result, low, high, se, n_runs, np.array(n_questions)[places], reasons)


def watch_days(runs: Sequence[Cells], *, level: float = 0.95) -> dict[str, Fall]:
    """Find the last fall of the daily scores of each model, with at most one false alarm a year on average.

    Parameters
    ----------
    runs
        As for `compare_days`.
    level
        Level of the interval for the day on which a fall began, in (0, 1).

    Returns
    -------
    dict
        The last alarm of each model that has one; see `howsure.stats.repeats.find_falls`. Where the days of runs are
        d apart (median), 365.25/d of them are a year.

    Examples
    --------
    >>> from dataclasses import replace
    >>> days = [f"2026-11-{day:02}" for day in range(1, 13)]
    >>> scores = [[[[(7 * q + 3 * day) % 10 < (8 if day < 8 else 3)] for q in range(60)]] for day in range(12)]
    >>> runs = [Cells.from_scores("demo", ["a"], [str(q) for q in range(60)], one) for one in scores]
    >>> watch_days([replace(run, days={"a": day}) for run, day in zip(runs, days)])["a"].since
    '2026-11-09'
    """
    daily = compare_days(runs, level=level)
    if daily.repeats is None:
        return {}
    falls = {}
    for m, model in enumerate(daily.models):
        have = daily.se[:, m] > 0
        names = np.array(daily.days)[have]
        if len(names) < 2:
            continue
        gap = np.median(np.diff(names.astype("datetime64[D]")).astype(float))
        score, variance = daily.repeats.runs.mean[have, m], daily.se[have, m] ** 2
        for fall in find_falls(score, variance, analyses_per_year=_YEAR / gap, level=level)[-1:]:
            alarm, since, first, last = names[[fall.noticed, fall.since, fall.first, fall.last]].tolist()
            falls[model] = Fall(alarm, since, first, last, -fall.size)
    return falls


def _find_limits(each: Sequence[Cells], models: Sequence[str], level: float) -> tuple[FloatArray, ...]:
    """Return the limits of the interval of each day's score and its standard error, shape (D, M)."""
    merged, aligned = align_runs([day.select([model for model in models if model in day.models]) for day in each])
    s2 = fill_within_variances(merged, merged.answered)
    limits = []
    for day in aligned:
        n = np.sum(day.answered, axis=1)
        parts = np.where(day.answered, s2 / np.maximum(day.n, 1), 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.sum(np.where(day.answered, day.mean, 0), axis=1) / n
            se = np.sqrt(np.sum(parts, axis=1)) / n
        se = np.where(se > 0, se, np.nan)
        bounds = (0.0, 1.0) if merged.unit else None
        between = interval(score, se, n, level=level, method="t", df=sampling_df(parts, merged.n), bounds=bounds)
        limits.append((between.low, between.high, se))
    rows = [merged.models.index(model) for model in models]
    return tuple(np.array(limits).transpose(1, 0, 2)[:, :, rows])
