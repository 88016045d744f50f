"""Statistics of fewer or more generations: the gap between single runs, and widths as functions of k.

GEN table 1 reports, as delta (k = 1), how far apart the best and the worst of single runs are. The revised GEN figure 2
draws runs of k generations with replacement from the n that there are; their variance is (n - 1)/n of the true one, so
that standard errors are .71, .82 and .89 of the truth from n = 2, 3 and 5. The defaults here use the unbiased
components of the variance instead (`score`); drawing again is available by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.claims import (
    CONVERGENCE_METHODS,
    RUN_GAP_METHODS,
    BasicMethod,
    Claim,
    ConvergenceMethod,
    MeanClaim,
    RunGapMethod,
    check_choice,
    check_level,
    check_mean_claim,
)
from howsure.stats.core.intervals import Limits, interval
from howsure.stats.core.results import Conditions, Result
from howsure.stats.scores import (
    ClusteredVariance,
    Scores,
    cluster_excess,
    cluster_means,
    distinct_counts,
    require_binary,
    score,
)

__all__ = ["LIMITED_GAP", "Convergence", "RunGap", "convergence", "run_gap"]

#: Note on a gap that the normal law puts above the range of the scores.
LIMITED_GAP = "so few questions: the gap is limited to the range of the scores"


@dataclass(frozen=True, eq=False)
class RunGap(Result):
    """Best less worst of single runs on the same questions; arrays have shape (M,).

    `gap` is its expectation, `low` and `high` the range it falls in with probability `level`. Where scores are in
    [0, 1], none of them is above 1, and `is_limited` says for which models the gap would be.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0], [1, 1]]])
    >>> result = run_gap(cells, runs=3)
    >>> result.models, result.gap.round(3).tolist()
    (('a',), [0.598])
    """

    benchmark: str
    models: tuple[str, ...]
    n_questions: IntArray
    runs: int
    gap: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    method: str
    is_limited: NDArray[np.bool_]

    declared = "benchmark model=models n_questions runs gap low high level method note=_reasons.notes"

    def _reasons(self) -> Conditions:
        return {
            "one generation per question: nothing to draw from": np.isnan(self.gap),
            LIMITED_GAP: self.is_limited,
        }


def run_gap(
    cells: Cells,
    *,
    runs: int = 10,
    level: float = 0.95,
    method: RunGapMethod = "normal",
    trials: int = 1000,
    rng: np.random.Generator | int = 0,
) -> RunGap:
    """Estimate the gap between the best and the worst of `runs` runs of one generation per question.

    Parameters
    ----------
    cells
        M models; some questions need two or more generations.
    runs
        Number of single runs, 2 or more; the gap grows with it, so it is the same number for each model.
    level
        Probability of the range of gaps, in (0, 1).
    method
        ``"normal"``: run means are normal with variance E/N, unbiased for any number of generations and any scores.
        ``"resample"``: generations drawn with replacement, as published; the variance of a run is then (n-1)/n of the
        true one, for n generations of a question. Scores of 0 and 1 only, from the exact distribution of a run.
    trials, rng
        Number of draws, and generator of random numbers or its seed, for ``"resample"``.

    Returns
    -------
    RunGap
        Expected gap and the range of gaps of each model.

    Raises
    ------
    InputError
        When an argument is out of its range, or scores to be resampled are not 0 and 1.

    References
    ----------
    GEN table 1. Tippett (1925), Biometrika 17, for the range of normal variables.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0], [1, 1]]])
    >>> run_gap(cells, runs=3).gap.round(3).tolist()
    [0.598]
    """
    if runs < 2:
        raise InputError(f"runs is {runs!r}", where="run_gap", remedy="allowed: 2 or more")
    _check(level, trials)
    check_choice("method", method, RUN_GAP_METHODS)
    n_questions = np.sum(cells.answered, axis=1)
    has_repeats = np.any(cells.n > 1, axis=1)
    gap, low, high = np.full((3, len(cells.models)), np.nan)
    is_limited = np.zeros(len(cells.models), bool)
    tails = [(1 - level) / 2, (1 + level) / 2]
    if method == "normal":
        sd = np.sqrt(score(cells).prediction / np.where(has_repeats, n_questions, np.nan))
        expected, (lower, upper) = _range_of_normals(runs, tails)
        most = 1 if cells.unit else np.inf  # no two runs differ by more, whatever the normal law says
        is_limited = expected * sd > most
        gap, low, high = (np.minimum(each * sd, most) for each in (expected, lower, upper))
    else:
        require_binary(cells, "drawing generations again")
        draw = np.random.default_rng(rng)
        counts = distinct_counts(cells.total, cells.n)
        for i in np.flatnonzero(has_repeats):
            p = counts.correct[i] / np.maximum(counts.correct[i] + counts.wrong[i], 1)
            cdf = np.cumsum(_sum_probabilities(p, counts.weight[i]))
            sums = np.searchsorted(cdf, draw.random((trials, runs)) * cdf[-1], side="right")
            gaps = np.ptp(sums, axis=1) / n_questions[i]
            gap[i], (low[i], high[i]) = gaps.mean(), np.quantile(gaps, tails)
    return RunGap(cells.benchmark, cells.models, n_questions, runs, gap, low, high, level, method, is_limited)


@dataclass(frozen=True, eq=False)
class Convergence(Result):
    """Scores and errors of runs of k generations per question. Arrays have shape (M, len(k)) unless stated otherwise.

    Attributes
    ----------
    score
        Expected score of a run.
    low, high
        Range that holds the scores of a share `level` of the runs on these questions.
    se, width
        Standard error under the claim, and width of the interval at `level`.
    all_score
        Score of all generations, shape (M,).
    prediction, data, data_error
        Components E and D of the variance of one question (`score`; D is not cut at 0) and the standard error of
        D over questions, shape (M,).

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0], [1, 1]]])
    >>> result = convergence(cells, [1, 4], claim="these-questions")
    >>> result.k.tolist(), result.se.round(3).tolist()
    ([1, 4], [[0.354, 0.177]])
    """

    benchmark: str
    models: tuple[str, ...]
    k: IntArray
    score: FloatArray
    low: FloatArray
    high: FloatArray
    se: FloatArray
    width: FloatArray
    all_score: FloatArray
    prediction: FloatArray
    data: FloatArray
    data_error: FloatArray
    claim: str
    level: float
    method: str

    def mostly_data(self, model: str, k: float) -> bool:
        """Whether data noise D is certainly (one-sided 95 %) over half of D + E/k, the variance for new questions."""
        i = self.models.index(model)
        return bool(self.data[i] - special.ndtri(0.95) * self.data_error[i] > self.prediction[i] / k)

    def scale_interval(self, scores: Scores) -> Limits:
        """Return the interval of each score, scaled by the ratio of the standard error with k to the one at hand.

        Parameters
        ----------
        scores
            Scores of the same models under the same claim.

        Returns
        -------
        Limits
            Shape (M, len(k)), cut at the limits of scores in [0, 1]; at the generations at hand, the interval itself.
        """
        between = scores.interval(self.level)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.se / np.sqrt(scores.variance)[:, None]
        center = scores.score[:, None]
        low = center - (center - between.low[:, None]) * ratio
        high = center + (between.high[:, None] - center) * ratio
        if scores.unit:
            low, high = np.maximum(low, 0), np.minimum(high, 1)
        return Limits(low, high, self.level)

    declared = "benchmark model=models k=k@1 score low high se width all_score level claim method note=_reasons.notes"

    def _reasons(self) -> Conditions:
        reason = (
            "one generation of each question: sampling noise is unknown"
            if self.method == "unbiased"
            else "one generation of some questions: nothing to draw from"
        )
        return {reason: np.isnan(self.score)}


def convergence(
    cells: Cells,
    k: Sequence[int] = tuple(range(1, 51)),
    *,
    claim: MeanClaim = "new-questions",
    level: float = 0.95,
    method: ConvergenceMethod = "unbiased",
    trials: int = 1000,
    rng: np.random.Generator | int = 0,
) -> Convergence:
    """Compute how the range of runs, and the error of their score, shrink with k generations per question.

    Parameters
    ----------
    cells
        M models; some questions of a model need two or more generations, for ``"resampled"`` all of them.
    k
        Numbers of generations per question, increasing. Numbers above those in `cells` are a forecast.
    claim
        ``"new-questions"``, whose interval data noise keeps from vanishing, or ``"these-questions"``. The first is
        about new clusters where questions come in clusters.
    level
        Probability of ranges and intervals, in (0, 1).
    method
        ``"unbiased"`` or ``"resampled"``; see Notes.
    trials, rng
        Number of runs that are drawn for ``"resampled"``, and generator of random numbers or its seed.

    Returns
    -------
    Convergence
        One row per model and k.

    Raises
    ------
    InputError
        When an argument is out of its range.

    Notes
    -----
    With the unbiased components E and D of the variance (`score`) of N questions, runs of k generations on these
    questions have the standard deviation sqrt(E/(kN)), which is also the standard error for these questions; for new
    questions it is sqrt((D + E/k)/N). Runs are taken as normal, and their range is cut at the limits of the score.

    In a trial of ``"resampled"`` one run grows from the smallest to the largest k, drawn with replacement. Its range
    and errors are too small by sqrt((n - 1)/n) for n generations of each question, and an interval for these questions
    needs k of 2. Scores other than 0 and 1 are drawn as normal with the mean and variance of their cell.

    References
    ----------
    GEN, revised, figure 2.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0], [1, 1]]])
    >>> convergence(cells, [1, 4], claim="these-questions").se.round(3).tolist()
    [[0.354, 0.177]]
    """
    steps = np.diff([0, *k])
    if not len(steps) or np.any(steps < 1):
        raise InputError(f"k is {list(k)}", where="convergence", remedy="allowed: numbers from 1 that increase")
    check_mean_claim(claim)
    check_choice("method", method, CONVERGENCE_METHODS)
    _check(level, trials)
    scores = score(cells, claim=claim)
    if method == "unbiased":
        mean, low, high, se, width = _by_components(scores, np.asarray(k, float), level)
    else:
        mean, low, high, se, width = _by_drawing(cells, steps, claim, level, trials, np.random.default_rng(rng))
    return Convergence(
        cells.benchmark,
        cells.models,
        np.asarray(k),
        mean,
        low,
        high,
        se,
        width,
        scores.score,
        scores.prediction,
        scores.data,
        _data_error(cells),
        claim,
        level,
        method,
    )


def _by_components(scores: Scores, k: FloatArray, level: float) -> tuple[FloatArray, ...]:
    """Return score, range of runs, standard error and width of the interval, shape (M, len(k))."""
    E, D = scores.prediction[:, None], scores.data[:, None]
    N = np.where(scores.n_questions > 0, scores.n_questions, np.nan)[:, None]
    runs = np.sqrt(E / (k * N))
    added = _of_clusters(scores.cells, scores.claim)[1][:, None]
    se = runs if scores.claim == "these-questions" else np.sqrt(np.maximum(D + added + E / k, 0) / N)
    mean = np.where(np.isnan(runs), np.nan, scores.score[:, None])
    half = special.ndtri((1 + level) / 2) * runs
    low, high = mean - half, mean + half
    method: BasicMethod = "wilson-effective" if scores.unit else "t"
    bounds = (0.0, 1.0) if scores.unit else None
    if bounds is not None:
        low, high = np.clip(low, *bounds), np.clip(high, *bounds)
    df = None if scores.df is None else scores.df[:, None]
    between = interval(mean, se, N, level=level, method=method, df=df, bounds=bounds)
    return mean, low, high, se, np.where(between.flat, 0, between.high - between.low)


def _of_clusters(cells: Cells, claim: Claim) -> tuple[ClusteredVariance | None, FloatArray]:
    """Return the clustered variances or None, and the variance that clusters add for each model, shape (M,)."""
    if claim != "new-questions" or cells.clusters is None:
        return None, np.zeros(len(cells.models))
    return cluster_means(cells.mean, cells.clusters), cluster_excess(cells.mean, cells.clusters)


def _data_error(cells: Cells) -> FloatArray:
    """Return the standard error of D, shape (M,): of the mean over questions of (p_q - p)^2 - s2_q/k_q."""
    s2, several, there = cells.within, cells.n > 1, cells.answered
    N = np.sum(there, axis=1).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        E = np.sum(s2, axis=1, where=several) / np.sum(several, axis=1)
        center = np.sum(cells.mean, axis=1, where=there) / N
        of_question = (cells.mean - center[:, None]) ** 2 - np.where(several, s2, E[:, None]) / np.maximum(cells.n, 1)
        off = of_question - (np.sum(of_question, axis=1, where=there) / N)[:, None]
        error: FloatArray = np.sqrt(np.sum(off**2, axis=1, where=there) / (N * (N - 1)))
    return error


def _by_drawing(
    cells: Cells, steps: IntArray, claim: MeanClaim, level: float, trials: int, draw: np.random.Generator
) -> FloatArray:
    """Return means over trials of score, range of runs, standard error and width, shape (5, M, len(k))."""
    N, k = np.sum(cells.answered, axis=1), np.cumsum(steps)
    clustered, added = _of_clusters(cells, claim)
    method: BasicMethod = "wilson-effective" if cells.unit else "t"
    bounds = (0.0, 1.0) if cells.unit else None
    out = np.full((5, len(cells.models), len(steps)), np.nan)
    for i in range(len(cells.models)):
        some = cells.answered[i]
        if not some.any() or np.any(cells.n[i, some] < 2):
            continue
        p, s2 = cells.mean[i, some], cells.within[i, some]
        for j, (means, squares) in enumerate(_growing(p, s2, steps, trials, draw, binary=cells.binary)):
            if claim == "new-questions":
                variance = np.maximum(squares - means**2, 0)
                if clustered is not None:  # of which more generations change nothing
                    variance = np.maximum(variance * N[i] / (N[i] - 1) + added[i], 0)
            elif k[j] == 1:
                variance = np.full(trials, np.nan)
            else:  # E/k: of the trial's own generations where they are known
                variance = (means - squares) / (k[j] - 1) if cells.binary else np.full(trials, s2.mean() / k[j])
            se = np.sqrt(variance / N[i])
            df = None if claim == "new-questions" else N[i] * (k[j] - 1)
            df = df if clustered is None else clustered.df[i]
            between = interval(means, se, N[i], level=level, method=method, df=df, bounds=bounds)
            width = np.where(between.flat, 0, between.high - between.low)
            ends = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
            out[:, i, j] = means.mean(), *ends, se.mean(), np.mean(width)
    return out


def _growing(
    p: FloatArray, s2: FloatArray, steps: IntArray, trials: int, draw: np.random.Generator, *, binary: bool
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield after each step the means over questions of the trial's question means and of their squares."""
    block = max(1, 2_000_000 // len(p))
    sizes = [min(block, trials - start) for start in range(0, trials, block)]
    sums = [np.zeros((size, len(p))) for size in sizes]
    k = 0
    for step in steps:
        k += step
        means, squares = [], []
        for total in sums:
            np.add(total, _drawn(p, s2, int(step), total.shape, draw, binary=binary), out=total)
            means.append(total.mean(axis=1) / k)
            squares.append(np.einsum("tq,tq->t", total, total) / (len(p) * k**2))
        yield np.concatenate(means), np.concatenate(squares)


def _drawn(
    p: FloatArray, s2: FloatArray, step: int, shape: tuple[int, ...], draw: np.random.Generator, *, binary: bool
) -> NDArray[np.generic]:
    """Draw the sum of `step` generations of each question in each trial."""
    if not binary:
        return draw.normal(step * p, np.sqrt(step * s2), shape)
    if step > 1:
        return draw.binomial(step, p, shape)
    return draw.random(shape, dtype=np.float32) < p.astype(np.float32)  # much faster than one trial of a binomial


def _range_of_normals(runs: int, tails: Sequence[float]) -> tuple[float, FloatArray]:
    """Return the mean and quantiles of the range of `runs` standard normals (Tippett 1925)."""
    r, cdf = _tabulate_range(runs)
    return float(np.trapezoid(1 - cdf, r)), np.interp(tails, cdf, r)


@lru_cache(maxsize=100)
def _tabulate_range(runs: int) -> tuple[FloatArray, FloatArray]:
    """Return values of the range of `runs` standard normals, and the probabilities that it is no larger."""
    x, r = np.linspace(-9, 9, 721)[:, None], np.linspace(0, 14, 1401)
    density = np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
    # P(range <= r) = runs * integral of phi(x) (Phi(x + r) - Phi(x))^(runs - 1)
    cdf = runs * np.sum(density * (special.ndtr(x + r) - special.ndtr(x)) ** (runs - 1), axis=0) * (x[1, 0] - x[0, 0])
    return r, cdf


def _sum_probabilities(p: FloatArray, weight: FloatArray) -> FloatArray:
    """Return probabilities (N+1,) of 0 to N successes in `weight` trials of each p, by characteristic functions."""
    N = int(weight.sum())
    turn = np.exp(2j * np.pi * np.arange(N + 1) / (N + 1))[:, None]
    factor = 1 - p + p * turn
    # p = 1/2 leaves 6e-17 at half a turn, not 0
    size, angle = np.log(np.abs(factor)) @ weight, np.angle(factor) @ weight
    return np.maximum(np.fft.fft(np.exp(size + 1j * angle)).real / (N + 1), 0)


def _check(level: float, trials: int) -> None:
    """Raise `InputError` if the level or the number of trials is not allowed."""
    check_level(level)
    if trials < 1:
        raise InputError(f"trials is {trials!r}", remedy="allowed: 1 or more, such as 1000")
