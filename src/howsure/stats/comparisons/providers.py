"""Tests of whether two providers, or two configurations, of one model score the same on these questions.

    stratified   difference of question means d_q = pA_q - pB_q on the common questions,
                 SE^2 = sum_q (s2A_q/kA_q + s2B_q/kB_q) / N^2
    run-means    Student's two-sample t on run means, as PI did
    welch        the same without assuming equal spreads

A difference between the question means is what a provider does; how hard the questions are is not noise here. So the
stratified test needs no runs at all, only two generations of some questions on each side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import PROVIDER_METHODS, Claim, ProviderMethod, check_choice, check_level
from howsure.stats.core.intervals import Interval, interval
from howsure.stats.core.results import Result, notes
from howsure.stats.repeats import (
    CHANCE,
    align_runs,
    check_drift,
    find_copied_runs,
    find_multiples,
    find_retries,
    find_unvaried,
    summarize_runs,
)
from howsure.stats.scores import fill_within_variances, sampling_df

__all__ = ["Providers", "providers"]


@dataclass(frozen=True, eq=False)
class Providers(Result):
    """Differences between the runs of `models_a` and those of `models_b`; arrays have shape (P,).

    Attributes
    ----------
    n_questions
        Questions that both sides answered.
    n_runs_a, n_runs_b
        Runs of each side.
    score_a, score_b, difference
        Scores on the common questions (stratified) or means of run means, and score_a - score_b.
    variance, df
        Squared standard error of `difference` and its degrees of freedom.
    drift_p_a, drift_p_b
        The test for drift between the runs of each side (`check_drift`).
    method
        One of `PROVIDER_METHODS` for each row: the given one, or the one used in its place.

    Examples
    --------
    >>> from howsure.stats.core.cells import Cells
    >>> first = [Cells.from_scores("demo", ["a"], ["1", "2"], [[[1], [x]]]) for x in (0, 1)]
    >>> second = [Cells.from_scores("demo", ["a"], ["1", "2"], [[[0], [x]]]) for x in (0, 1)]
    >>> result = providers(first, second)
    >>> result.n_runs_a.tolist(), result.difference.tolist()
    ([2], [0.5])
    """

    claim: ClassVar[Claim] = "these-questions"
    benchmark: str
    models_a: tuple[str, ...]
    models_b: tuple[str, ...]
    n_questions: IntArray
    n_runs_a: IntArray
    n_runs_b: IntArray
    score_a: FloatArray
    score_b: FloatArray
    difference: FloatArray
    variance: FloatArray
    df: FloatArray
    drift_p_a: FloatArray
    drift_p_b: FloatArray
    method: NDArray[np.object_]
    unit: bool
    level: float = 0.95
    reasons: NDArray[np.object_] = field(default_factory=lambda: np.array([], dtype=object), repr=False)

    def interval(self, level: float | None = None) -> Interval:
        """Return the interval of each difference at a level in (0, 1), its statistic and its p-value."""
        return interval(
            self.difference,
            np.sqrt(self.variance),
            self.n_questions,
            level=self.level if level is None else level,
            method="t",
            df=self.df,
            bounds=(-1.0, 1.0) if self.unit else None,
        )

    declared = (
        "benchmark model_a=models_a model_b=models_b n_questions n_runs_a n_runs_b score_a score_b difference "
        "se=variance.sqrt df low=interval.low high=interval.high t=_t p_value=interval.p_value method drift_p_a "
        "drift_p_b note=reasons"
    )

    def _t(self) -> FloatArray:
        """Return the statistic; NaN without variance."""
        return np.where(self.variance > 0, self.interval().statistic, np.nan)


def providers(
    runs_a: Sequence[Cells],
    runs_b: Sequence[Cells],
    a: str | None = None,
    b: str | None = None,
    *,
    level: float = 0.95,
    method: ProviderMethod = "stratified",
    alpha: float = 0.05,
) -> Providers:
    """Compare runs at one provider with runs at another, on the same questions.

    Parameters
    ----------
    runs_a, runs_b
        Runs of each side on one benchmark, as for `repeats`.
    a, b
        Names of the model on each side (`b` defaults to `a`). None: the only model of each side, else every model that
        is on both.
    level
        Coverage of the interval in (0, 1).
    method
        ``"stratified"``; ``"run-means"``, as PI published, which needs two runs on each side; or ``"welch"``. The
        stratified test falls back to Welch's where the runs of a side drift, and its note says so.
    alpha
        Level of the drift tests, in [0, 1); 0 never falls back.

    Returns
    -------
    Providers
        One row per pair of models.

    Raises
    ------
    InputError
        When the sides have no model in common, or an argument is out of its range.

    Notes
    -----
    The degrees of freedom of the stratified test are those of each side by `sampling_df`, about sum (k_q - 1), combined
    by Satterthwaite's formula over the two sides. Its formula over 2 N questions would give N/3 of N for two
    generations, because a variance of one degree of freedom is too rough to weigh by its own square.

    References
    ----------
    PI, section on providers. Welch (1947), Biometrika 34. Satterthwaite (1946), Biometrics Bulletin 2.

    Examples
    --------
    >>> def run(*scores):
    ...     return Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[s] for s in scores]])
    >>> result = providers([run(1, 0, 1), run(1, 1, 1)], [run(0, 0, 1), run(0, 0, 0)])
    >>> result.difference.round(3).tolist(), result.variance.round(4).tolist()
    ([0.667], [0.0556])
    """
    check_choice("method", method, PROVIDER_METHODS)
    check_level(level)
    if not 0 <= alpha < 1:
        raise InputError(f"alpha is {alpha!r}", remedy="allowed: from 0 to below 1, such as 0.05")
    merged_a, each_a = align_runs(runs_a)
    merged_b, each_b = align_runs(runs_b)
    if merged_a.benchmark != merged_b.benchmark:
        raise InputError(f"runs of {merged_a.benchmark!r} and {merged_b.benchmark!r} do not compare", where="providers")
    names_a, names_b = _sides(merged_a, merged_b, a, b)
    side_a, side_b = _side(each_a, names_a), _side(each_b, names_b)
    common = _common(merged_a.select(names_a), merged_b.select(names_b))

    stratified, by_runs = _stratified(*common), _two_sample(side_a, side_b, welch=method != "run-means")
    several = (side_a.n > 1) & (side_b.n > 1)
    drifted = np.fmin(side_a.drift_p, side_b.drift_p) < alpha
    use_runs = drifted & several if method == "stratified" else np.ones(several.shape, bool)
    chosen = _Difference(*(np.where(use_runs, r, s) for r, s in zip(by_runs, stratified, strict=True)))
    n_questions = np.sum(common.a.answered & common.b.answered, axis=1)
    once = (n_questions > 0) & np.isnan(stratified.variance)
    n_answered = [
        np.sum(merged.select(names).answered, axis=1) for merged, names in ((merged_a, names_a), (merged_b, names_b))
    ]
    reasons = {
        "no question in common": n_questions == 0,
        "one generation per question on a side: its prediction noise is unknown": once & ~use_runs,
        "one run on a side: the spread of run means is unknown": use_runs & ~several,
        "a side drifts from run to run: "
        + ("tested on run means" if method == "stratified" else "see drift_p"): drifted & use_runs,
        "a side drifts from run to run, and one run of the other is too few to allow for it": drifted & ~use_runs,
        "on the questions that both answered": ~use_runs
        & np.any(n_questions != n_answered, axis=0)
        & (n_questions > 0),
        "run means of different questions: their difference is due to that too": use_runs
        & np.any(n_questions != n_answered, axis=0),
        "no variation was seen: no interval": chosen.variance == 0,
    }
    for side, merged, each, names, own in (
        ("a", merged_a, each_a, names_a, side_a),
        ("b", merged_b, each_b, names_b, side_b),
    ):
        chosen_runs = merged.select(names), [run.select(names) for run in each]
        reasons |= {
            f"runs of {side} are copies of each other: they are worth fewer, and the p-value is too small": _copied(
                *chosen_runs
            ),
            f"the generations of {side} look like retries until right: its score is too high": find_retries(
                chosen_runs[0]
            ),
            f"drift between the runs of {side} cannot be tested on these questions": np.isnan(own.drift_p)
            & (own.sd > 0),
            f"some runs of {side} lack questions, and their means differ for that too": use_runs & own.is_incomplete,
        }
    return Providers(
        benchmark=merged_a.benchmark,
        models_a=tuple(names_a),
        models_b=tuple(names_b),
        n_questions=n_questions,
        n_runs_a=side_a.n,
        n_runs_b=side_b.n,
        score_a=chosen.score_a,
        score_b=chosen.score_b,
        difference=chosen.score_a - chosen.score_b,
        variance=chosen.variance,
        df=chosen.df,
        drift_p_a=side_a.drift_p,
        drift_p_b=side_b.drift_p,
        method=np.where(use_runs, "run-means" if method == "run-means" else "welch", "stratified").astype(object),
        unit=merged_a.unit and merged_b.unit,
        level=level,
        reasons=notes(reasons),
    )


def _copied(merged: Cells, each: Sequence[Cells]) -> NDArray[np.bool_]:
    """Return whether runs, or generations, of a side are copies of each other, shape (P,)."""
    return find_copied_runs(merged, each, CHANCE) | find_unvaried(merged) | (find_multiples(merged) > 1)


class _Difference(NamedTuple):
    """Scores of both sides, squared standard error of their difference and its degrees of freedom; shape (P,)."""

    score_a: FloatArray
    score_b: FloatArray
    variance: FloatArray
    df: FloatArray


class _Side(NamedTuple):
    """The runs of one side, shape (P,): number, mean, standard deviation, drift test, whether some lack questions."""

    n: IntArray
    mean: FloatArray
    sd: FloatArray
    drift_p: FloatArray
    is_incomplete: NDArray[np.bool_]


class _Common(NamedTuple):
    """Both sides' cells on the same questions, shape (P, N)."""

    a: Cells
    b: Cells


def _sides(a_cells: Cells, b_cells: Cells, a: str | None, b: str | None) -> tuple[list[str], list[str]]:
    """Return the names of the models to compare on each side."""
    if a is not None:
        return [a], [a if b is None else b]
    if len(a_cells.models) == len(b_cells.models) == 1:
        return list(a_cells.models), list(b_cells.models)
    both = [model for model in a_cells.models if model in b_cells.models]
    if not both:
        raise InputError("no model is on both sides", where=a_cells.benchmark, remedy="name one on each side: a, b")
    return both, both


def _side(each: Sequence[Cells], names: Sequence[str]) -> _Side:
    """Return what the tests need of the runs of one side."""
    chosen = [run.select(names) for run in each]
    summary = summarize_runs(chosen)
    drift_p = np.array([check_drift(chosen, m)[0] for m in range(len(names))])
    return _Side(summary.n_runs, summary.center, summary.sd_of_means, drift_p, summary.lack_questions)


def _common(a: Cells, b: Cells) -> _Common:
    """Return both sides on the questions that both have."""
    in_b = set(b.questions)
    questions = tuple(q for q in a.questions if q in in_b)

    return _Common(a.select(questions=questions), b.select(questions=questions))


def _stratified(a: Cells, b: Cells) -> _Difference:
    """Return the difference of question means and its error from the questions' generations."""
    both = a.answered & b.answered
    with np.errstate(divide="ignore", invalid="ignore"):
        N = np.sum(both, axis=1)
        error_a, error_b = _error(a, both), _error(b, both)
        return _Difference(
            np.sum(a.mean, axis=1, where=both) / N,
            np.sum(b.mean, axis=1, where=both) / N,
            error_a.variance + error_b.variance,
            _satterthwaite(error_a, error_b),
        )


class _Error(NamedTuple):
    """Squared standard error of one side's score and its degrees of freedom, shape (P,)."""

    variance: FloatArray
    df: FloatArray


def _error(cells: Cells, both: NDArray[np.bool_]) -> _Error:
    """Return the squared standard error of one side's score, and its df."""
    k = np.where(both, cells.n, 0)
    parts = fill_within_variances(cells, both) / np.maximum(k, 1)
    return _Error(np.sum(parts, axis=1, where=both) / np.sum(both, axis=1) ** 2, sampling_df(parts, k))


def _two_sample(a: _Side, b: _Side, *, welch: bool) -> _Difference:
    """Return the difference of run means and its error, by Student's or by Welch's test."""
    with np.errstate(divide="ignore", invalid="ignore"):
        df_a, df_b = (a.n - 1).astype(float), (b.n - 1).astype(float)
        if welch:
            error_a, error_b = _Error(a.sd**2 / a.n, df_a), _Error(b.sd**2 / b.n, df_b)
            variance, df = error_a.variance + error_b.variance, _satterthwaite(error_a, error_b)
        else:
            df = df_a + df_b
            variance = (df_a * a.sd**2 + df_b * b.sd**2) / df * (1 / a.n + 1 / b.n)
    return _Difference(a.mean, b.mean, variance, df)


def _satterthwaite(a: _Error, b: _Error) -> FloatArray:
    """Return the degrees of freedom of a sum of independent variances (Satterthwaite 1946)."""
    square = a.variance**2 / a.df + b.variance**2 / b.df
    df: FloatArray = (a.variance + b.variance) ** 2 / square
    return df
