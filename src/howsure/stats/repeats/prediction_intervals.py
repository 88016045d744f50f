"""Runs of the same thing: how far a future run may fall, whether the runs drift, whether two providers differ.

With x_r the mean of run r of n, and p_q, s2_q, k_q of the generations of question q in all runs together:

    run means (PI eq. 3)   mean x_r ± t_{n-1} s sqrt(1/n + 1/n'),  s = standard deviation of the x_r
    pooled                 mean p_q ± t_df sqrt(past + future/n'),  df about sum_q (k_q - 1), see `sampling_df`
                           past = sum_q s2_q/k_q / N^2,  future = sum_q s2_q h_q / N^2

A future run asks all N questions, each as often as the runs that asked it did: h_q is their mean 1/k_rq, 1 for a run of
one generation per question. Then past + future/n' = E/N (1/n + 1/n'), E = mean s2_q. Pooling assumes that the
generations of different questions are independent. Drift between runs breaks that, so it is tested first.

Where scores are 0 or 1 and no question varied, the variance is 0, which would claim certainty. The interval is then
from the generations that may differ in future although none did (`poisson`, see `unvaried_half_width`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray, mean_where
from howsure.stats.core.claims import REPEATS_METHODS, Claim, RepeatsMethod, check_choice, check_level
from howsure.stats.core.intervals import Interval, interval
from howsure.stats.core.multiplicity import holm
from howsure.stats.core.results import Columns, Result, notes
from howsure.stats.repeats.independence import find_retries
from howsure.stats.repeats.resampling import LIMITED_GAP, run_gap
from howsure.stats.repeats.runs import Runs, align_runs, check_drift, find_copied_runs, summarize_runs
from howsure.stats.scores import fill_within_variances, sampling_df, unvaried_half_width

if TYPE_CHECKING:
    from howsure.stats.repeats.days import Fall

__all__ = ["GAP_RUNS", "Repeats", "RunWidths", "measure_widths", "repeats"]

#: Runs of one generation per question between whose best and worst `gap` lies.
GAP_RUNS = 10
#: Note on runs whose differences show no drift, such as those of one question that varied.
UNTESTED_DRIFT = "drift between runs cannot be tested on these questions"
#: From here on not every whole number is a float.
_MOST_EXACT = 2**53
#: Note on runs that no number tells apart.
UNNUMBERED = "which generations are of one run is unknown, and so are sd, best, worst and drift"


@dataclass(frozen=True, eq=False)
class Repeats(Result):
    """Prediction of future runs of M models from repeated runs; arrays have shape (M,).

    Attributes
    ----------
    runs
        Each run by itself.
    n_runs, n_future
        Runs that the model is in, n, and runs to be predicted, n'. Of runs that no number tells apart, n is the most
        generations of a question and prompt.
    mean
        Center of the interval: mean over questions (pooled) or over runs (run-means), the same for complete runs.
    variance, df
        Squared standard error of a future mean of n' runs around `mean`, and its degrees of freedom.
    method
        One of `REPEATS_METHODS` for each model, as it was called with or what it fell back to; or "poisson", the pooled
        interval where scores of 0 and 1 did not vary.
    n_questions
        Questions that the model answered in any run.
    n_past, n_predicted
        Generations per question that could have shown variation, and those that are predicted.
    drift_p, alike_p
        Chance that independent runs would differ as much as these or more, or as little or less, for each model by
        itself; the interval and the notes take them adjusted for all models. See `check_drift`.
    gap
        Expected difference between the best and the worst of `GAP_RUNS` runs of one generation per question, as by
        `run_gap`; NaN where no question has two generations.
    falls
        The last alarm about the daily scores of a model, by model: `watch_days`, where it was asked.

    Examples
    --------
    >>> first = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[1], [0], [1]]])
    >>> second = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[1], [1], [1]]])
    >>> result = repeats([first, second])
    >>> result.worst.round(2).tolist(), result.best.tolist(), result.sd.round(3).tolist()
    ([0.67], [1.0], [0.236])
    """

    claim: ClassVar[Claim] = "these-questions"
    benchmark: str
    models: tuple[str, ...]
    runs: Runs
    n_runs: IntArray
    n_future: FloatArray | IntArray
    mean: FloatArray
    variance: FloatArray
    df: FloatArray
    method: NDArray[np.object_]
    drift_p: FloatArray
    alike_p: FloatArray
    n_questions: IntArray
    n_past: FloatArray
    n_predicted: FloatArray
    unit: bool
    level: float = 0.95
    reasons: NDArray[np.object_] = field(default_factory=lambda: np.array([], dtype=object), repr=False)
    gap: FloatArray | float = np.nan
    falls: Mapping[str, Fall] = field(default_factory=dict)

    def interval(self, level: float | None = None) -> Interval:
        """Prediction interval for the mean of `n_future` runs at a level in (0, 1)."""
        level = self.level if level is None else level
        bounds = (0.0, 1.0) if self.unit else None
        se = np.sqrt(self.variance)
        between = interval(self.mean, se, self.n_runs, level=level, method="t", df=self.df, bounds=bounds)
        unvaried = self.method == "poisson"
        if not unvaried.any():
            return between
        half = unvaried_half_width(self.n_past, self.n_predicted, level) / self.n_questions
        low = np.where(unvaried, np.maximum(self.mean - half, 0), between.low)
        high = np.where(unvaried, np.minimum(self.mean + half, 1), between.high)
        method = np.where(unvaried, "poisson", between.method)
        return replace(between, low=low, high=high, method=method, flat=between.flat & ~unvaried)

    @property
    def sd(self) -> FloatArray:
        """Standard deviation of the run means; NaN for one run, and for runs that no number tells apart."""
        return self.runs.sd_of_means

    @property
    def best(self) -> FloatArray:
        """Highest run mean; NaN where no number tells the runs apart."""
        return np.where(self._is_unnumbered, np.nan, np.fmax.reduce(self.runs.mean, axis=0))

    @property
    def luck(self) -> FloatArray:
        """Highest run mean less the mean of all run means; `mean` may be over questions instead."""
        return self.best - mean_where(self.runs.mean.T, ~np.isnan(self.runs.mean.T))

    @property
    def worst(self) -> FloatArray:
        """Lowest run mean; NaN where no number tells the runs apart."""
        return np.where(self._is_unnumbered, np.nan, np.fmin.reduce(self.runs.mean, axis=0))

    @property
    def _is_unnumbered(self) -> NDArray[np.bool_]:
        """Return whether a model has several runs that no number tells apart, shape (M,)."""
        return np.asarray(self.n_runs > self.runs.n_runs)

    declared = (
        "benchmark model=models n_runs mean sd best worst low=interval.low high=interval.high n_future method "
        "drift_p gap fell_since=_falls.0 alarm=_falls.1 note=reasons"
    )

    def _falls(self) -> NDArray[np.object_]:
        """Return since when each model fell and the day of the alarm, shape (2, M); "" where there was none."""
        falls = [self.falls.get(model) for model in self.models]
        days = [("", "") if fall is None else (fall.since, fall.alarm) for fall in falls]
        return np.array(days, dtype=object).reshape(-1, 2).T


def repeats(
    runs: Sequence[Cells],
    *,
    n_future: float | None = None,
    level: float = 0.95,
    method: RepeatsMethod = "pooled",
    alpha: float = 0.05,
    names: Sequence[str] | None = None,
) -> Repeats:
    """Compute a prediction interval for the mean of future runs of each model, and test the past runs for drift.

    Parameters
    ----------
    runs
        R runs of one benchmark, usually with one generation per question. Models and questions may be missing in some.
        One alone whose questions have several generations of a prompt holds as many runs, which no number tells apart.
    n_future
        Number of runs to predict, n' >= 1; None: as many as there are. Infinity makes it a confidence interval for the
        expected score on these questions.
    level
        Coverage of the interval in (0, 1).
    method
        ``"pooled"``: from the variance of each question's generations. ``"run-means"``: PI eq. (3) as published. At N =
        100 the pooled interval is 5.2x narrower for 2 runs, 1.9x for 3, 1.3x for 5. It falls back to run-means where
        the drift test rejects, adjusted for all models (Holm), and where no question was answered twice, and its note
        says so. Where scores of 0 and 1 did not vary at all, the interval is that of `unvaried_half_width` and the
        column says "poisson".
    alpha
        Level of the two drift tests, in [0, 1): the probability that any of several models without drift falls back,
        or gets a note that its runs agree too much, is at most this for each test. 0 never falls back.
    names
        One name per run; None: "1" to "R".

    Returns
    -------
    Repeats
        One row per model.

    Raises
    ------
    InputError
        When there are no runs, or an argument is out of its range.

    References
    ----------
    PI eq. (3). Cochran (1950), Biometrika 37, for the drift test of scores of 0 and 1. Nelson (1970), Technometrics 12,
    and Hanley and Lippman-Hand (1983), JAMA 249, for generations that did not vary.

    Examples
    --------
    >>> first = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[1], [0], [1]]])
    >>> second = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[1], [1], [0]]])
    >>> result = repeats([first, second], n_future=1)
    >>> result["mean"].round(3).tolist(), result["method"].tolist()
    ([0.667], ['pooled'])
    """
    check_choice("method", method, REPEATS_METHODS)
    check_level(level)
    if n_future is not None and not n_future >= 1:
        raise InputError(f"n_future is {n_future!r}", remedy="allowed: 1 or more, or inf")
    if not 0 <= alpha < 1:
        raise InputError(f"alpha is {alpha!r}", remedy="allowed: from 0 to below 1, such as 0.05")
    merged, each = align_runs(runs)
    summary = summarize_runs(each, names)
    n, share = _count_runs(merged, each)
    unnumbered = n > summary.n_runs
    future = n if n_future is None else np.full(n.shape, n_future)
    if np.all(future == np.round(future)) and np.all(future < _MOST_EXACT):
        future = future.astype(np.int64)  # a count is printed as one
    drift_p, alike_p = np.array([check_drift(each, m) for m in range(len(merged.models))]).reshape(-1, 2).T

    pooled, by_runs = _pooled(merged, share, future), _by_run_means(summary, future)
    drifted, never_twice = holm(drift_p) < alpha, np.isnan(pooled.variance)
    use_runs = (summary.n_runs > 1) & (drifted | never_twice) if method == "pooled" else np.ones(n.shape, bool)
    chosen = _Prediction(*(np.where(use_runs, r, p) for r, p in zip(by_runs, pooled, strict=True)))
    questions = np.sum(merged.answered, axis=1)
    n_variants = np.array([merged.count_variants(name) for name in merged.models])  # a model may lack some
    unvaried = ~use_runs & (chosen.variance == 0) & np.array([merged.select([name]).binary for name in merged.models])
    gap = run_gap(merged, runs=GAP_RUNS)
    reasons = {
        "no scores": n == 0,
        "one run: the spread of run means is unknown": (n == 1) & use_runs,
        UNNUMBERED: unnumbered,
        "one generation per question: prediction noise is unknown": (n == 1) & ~use_runs & never_twice,
        "no question was answered twice: the interval is from run means": (method == "pooled") & use_runs & never_twice,
        "the runs differ by more than is usual for independent generations, something may have changed: the interval "
        + ("is from run means" if method == "pooled" else "holds if runs vary at random"): drifted & use_runs,
        "the run means agree more than independent generations would (a shared seed, copies?)": holm(alike_p) < alpha,
        "some runs are the same score for score: copies are not runs": find_copied_runs(merged, each, alpha),
        "looks like retries until right: later runs lack the questions that were right": find_retries(merged),
        "no variation was seen: no interval": (chosen.variance == 0) & ~unvaried,
        "no variation was seen: the interval is from how many generations may differ all the same": unvaried,
        UNTESTED_DRIFT: np.isnan(drift_p) & (summary.n_runs > 1) & (pooled.variance > 0),
        "some runs lack questions, and their means differ for that too": summary.lack_questions & use_runs,
        "some runs lack questions": summary.lack_questions & ~use_runs,
        **{
            f"pooled over {count} prompt variants, whose spread is in the interval": n_variants == count
            for count in np.unique(n_variants[n_variants > 1])
        },
        LIMITED_GAP: gap.is_limited,
    }
    return Repeats(
        benchmark=merged.benchmark,
        models=merged.models,
        runs=summary,
        n_runs=n,
        n_future=future,
        mean=chosen.mean,
        variance=chosen.variance,
        df=chosen.df,
        method=np.where(use_runs, "run-means", np.where(unvaried, "poisson", "pooled")).astype(object),
        drift_p=drift_p,
        alike_p=alike_p,
        n_questions=questions,
        n_past=_per_question(np.where(merged.n > 1, merged.n, 0), merged),
        n_predicted=future / _per_question(share, merged),
        unit=merged.unit,
        level=level,
        reasons=notes(reasons),
        gap=gap.gap,
    )


@dataclass(frozen=True, eq=False)
class RunWidths(Result):
    """The prediction interval after the first 2, 3, ... runs, a row for each number of runs and model.

    Attributes
    ----------
    each
        Predictions of runs from the first n runs, for n = 2, 3, ...
    goal
        Width that is narrow enough, 0.01 in PI.
    """

    each: tuple[Repeats, ...]
    goal: float = 0.01

    def columns(self) -> Columns:
        """Return one row per model and number of runs."""
        rows = []
        for number, one in enumerate(self.each, start=2):
            columns = one.columns()
            width = columns["high"] - columns["low"]
            chosen = {name: columns[name] for name in ("benchmark", "model", "mean", "low", "high", "method", "note")}
            chosen["n_runs"] = np.minimum(columns["n_runs"], number)
            with np.errstate(invalid="ignore"):
                rows.append(chosen | {"width": width, "is_narrow": (width < self.goal).astype(np.int64)})
        order = ("benchmark", "model", "n_runs", "mean", "low", "high", "width", "is_narrow", "method", "note")
        columns = {name: np.concatenate([row[name] for row in rows]) for name in order}
        by_model = np.argsort(np.tile(np.arange(len(self.each[0].models)), len(self.each)), kind="stable")
        return {name: values[by_model] for name, values in columns.items()}


def measure_widths(
    runs: Sequence[Cells], *, level: float = 0.95, method: RepeatsMethod = "pooled", goal: float = 0.01
) -> RunWidths:
    """Measure how wide the prediction interval is after 2, 3, ... of the runs (PI, figure 1).

    Parameters
    ----------
    runs
        R >= 2 runs of one benchmark, in the order in which they were made.
    level, method
        As for `repeats`; each interval predicts the mean of as many future runs as it is computed from.
    goal
        Width below which PI stops adding runs.

    Returns
    -------
    RunWidths
        A row per model and number of runs.

    Raises
    ------
    InputError
        When there are fewer than two runs, no number tells them apart, or an argument is out of its range.

    Examples
    --------
    >>> one = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[1], [0], [1]]])
    >>> two = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[1], [1], [0]]])
    >>> measure_widths([one, two, one])["n_runs"].tolist()
    [2, 3]
    """
    if len(runs) == 1 and np.any(_count_runs(runs[0], runs)[0] > 1):
        remedy = "number the runs in a column 'generation', or name theirs with --columns generation=COLUMN"
        raise InputError("which generations are of one run is unknown", where=runs[0].benchmark, remedy=remedy)
    if len(runs) < 2:
        raise InputError(f"{len(runs)} run", remedy="give two or more generations of each question")
    return RunWidths(
        tuple(repeats(runs[:n], level=level, method=method) for n in range(2, len(runs) + 1)),
        goal,
    )


class _Prediction(NamedTuple):
    """Center of the interval, squared standard error of a future mean around it, degrees of freedom; shape (M,)."""

    mean: FloatArray
    variance: FloatArray
    df: FloatArray


def _by_run_means(summary: Runs, future: FloatArray | IntArray) -> _Prediction:
    """Return the prediction from run means, PI eq. (3)."""
    with np.errstate(divide="ignore"):
        variance = summary.sd_of_means**2 * (1 / summary.n_runs + 1 / future)
    return _Prediction(summary.center, variance, (summary.n_runs - 1).astype(float))


def _pooled(merged: Cells, share: FloatArray, future: FloatArray | IntArray) -> _Prediction:
    """Return the prediction from the variances of the questions' generations; `share` is that of `_count_runs`."""
    s2 = fill_within_variances(merged, merged.answered)
    with np.errstate(divide="ignore", invalid="ignore"):
        N = np.sum(merged.answered, axis=1)
        parts = s2 * (1 / np.maximum(merged.n, 1) + share / np.maximum(future, 1)[:, None])
        variance = np.sum(parts, axis=1, where=merged.answered) / N**2
    return _Prediction(mean_where(merged.mean, merged.answered), variance, sampling_df(parts, merged.n))


def _count_runs(merged: Cells, each: Sequence[Cells]) -> tuple[IntArray, FloatArray]:
    """Return the number of runs of each model, and the mean h_q of 1/k_rq over those with the question, shape (M, N).

    One alone that has several generations of a question in a prompt is as many runs, each with one in every prompt.
    """
    if len(each) == 1:
        n_prompts = np.array([max(merged.count_variants(model), 1) for model in merged.models])[:, None]
        k = np.maximum(np.minimum(n_prompts, merged.n), 1)  # generations of the question in a run
        return np.max(-(-merged.n // n_prompts), axis=1, initial=0), merged.answered / k
    n_runs = np.maximum(np.sum([run.answered for run in each], axis=0), 1)
    share: FloatArray = np.sum([np.where(run.answered, 1 / np.maximum(run.n, 1), 0) for run in each], axis=0) / n_runs
    return np.sum([np.any(run.answered, axis=1) for run in each], axis=0), share


def _per_question(values: FloatArray | IntArray, merged: Cells) -> FloatArray:
    """Return the mean over the questions that were answered, shape (M,); NaN if none was."""
    return mean_where(np.asarray(values, float), merged.answered)
