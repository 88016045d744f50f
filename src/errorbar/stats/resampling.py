"""What fewer generations would have shown: the gap between the best and the worst single run, and convergence with k.

GEN table 1 tells, as delta (k = 1), how far apart the best and the worst of single runs are; the revised GEN figure 2
draws, from all generations that there are, runs of k generations with replacement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from errorbar.errors import InputError, UnknownNameError
from errorbar.stats.beta import require_binary
from errorbar.stats.beta_likelihood import distinct_counts
from errorbar.stats.cells import Cells, FloatArray, IntArray
from errorbar.stats.clusters import cluster_means, excess
from errorbar.stats.components import score
from errorbar.stats.intervals import interval
from errorbar.stats.results import Columns, Result, notes

__all__ = ["GAPS", "Convergence", "RunGap", "convergence", "run_gap"]

#: Ways to the gap: from the unbiased prediction variance, or by drawing generations again.
GAPS = ("normal", "resample")

#: Claims whose interval depends on k.
_CLAIMS = ("new-questions", "these-questions")


@dataclass(frozen=True, eq=False)
class RunGap(Result):
    """Best less worst of single runs on the same questions; arrays have shape (M,).

    `gap` is its expectation, `low` and `high` the range it falls in with probability `level`.
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

    def columns(self) -> Columns:
        """One row per model."""
        M = len(self.models)
        return {
            "benchmark": np.full(M, self.benchmark, dtype=object),
            "model": np.array(self.models, dtype=object),
            "n_questions": self.n_questions,
            "runs": np.full(M, self.runs),
            "gap": self.gap,
            "low": self.low,
            "high": self.high,
            "level": np.full(M, self.level),
            "method": np.full(M, self.method, dtype=object),
            "note": notes({"one generation per question: nothing to draw from": np.isnan(self.gap)}),
        }


def run_gap(
    cells: Cells,
    *,
    runs: int = 10,
    level: float = 0.95,
    method: str = "normal",
    trials: int = 1000,
    rng: np.random.Generator | int = 0,
) -> RunGap:
    """Gap to expect between the best and the worst of `runs` runs of one generation per question (GEN table 1).

    Parameters
    ----------
    cells
        Some questions need two or more generations.
    runs
        Single runs, 2 or more; the gap grows with them, so it is the same number for each model.
    method
        `"normal"`: run means are normal with variance E/N (components.py), unbiased for any number of generations and
        any scores. `"resample"`: generations drawn with replacement, as published; the variance of a run is then
        (n-1)/n of the true one, for n generations of a question. Scores of 0 and 1 only, from the exact law of a run.
    trials, rng
        For `"resample"`.
    """
    if runs < 2:
        raise InputError(f"runs is {runs!r}", where="run_gap", remedy="allowed: 2 or more")
    _check(level, trials)
    n_questions = np.sum(cells.answered, axis=1)
    known = np.any(cells.n > 1, axis=1)
    gap, low, high = np.full((3, len(cells.models)), np.nan)
    tails = [(1 - level) / 2, (1 + level) / 2]
    if method == "normal":
        sd = np.sqrt(score(cells).prediction / np.where(known, n_questions, np.nan))
        expected, (lower, upper) = _range_of_normals(runs, tails)
        gap, low, high = expected * sd, lower * sd, upper * sd
    elif method == "resample":
        require_binary(cells, "drawing generations again")
        draw = np.random.default_rng(rng)
        counts = distinct_counts(cells.total, cells.n)
        for i in np.flatnonzero(known):
            p = counts.correct[i] / np.maximum(counts.correct[i] + counts.wrong[i], 1)
            law = np.cumsum(_law_of_sum(p, counts.weight[i]))
            sums = np.searchsorted(law, draw.random((trials, runs)) * law[-1], side="right")
            gaps = np.ptp(sums, axis=1) / n_questions[i]
            gap[i], (low[i], high[i]) = gaps.mean(), np.quantile(gaps, tails)
    else:
        raise UnknownNameError("method", method, GAPS)
    return RunGap(cells.benchmark, cells.models, n_questions, runs, gap, low, high, level, method)


@dataclass(frozen=True, eq=False)
class Convergence(Result):
    """Runs of k generations per question, drawn from all generations. Arrays have shape (M, len(k)).

    Attributes
    ----------
    score
        Mean over trials of the score.
    low, high
        Range of the scores of `level` of the trials.
    se, width
        Mean over trials of the standard error and of the width of the interval that each trial would print.
    covered
        Share of the trials whose interval holds the score of all generations.
    all_score
        The score of all generations, shape (M,).
    """

    benchmark: str
    models: tuple[str, ...]
    k: IntArray
    score: FloatArray
    low: FloatArray
    high: FloatArray
    se: FloatArray
    width: FloatArray
    covered: FloatArray
    all_score: FloatArray
    claim: str
    level: float

    def columns(self) -> Columns:
        """One row per model and k."""
        M, K = self.score.shape
        return {
            "benchmark": np.full(M * K, self.benchmark, dtype=object),
            "model": np.repeat(np.array(self.models, dtype=object), K),
            "k": np.tile(self.k, M),
            "score": self.score.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
            "se": self.se.ravel(),
            "width": self.width.ravel(),
            "covered": self.covered.ravel(),
            "all_score": np.repeat(self.all_score, K),
            "level": np.full(M * K, self.level),
            "claim": np.full(M * K, self.claim, dtype=object),
            "note": notes({"one generation of some questions: nothing to draw from": np.isnan(self.score).ravel()}),
        }


def convergence(
    cells: Cells,
    k: Sequence[int] = tuple(range(1, 51)),
    *,
    claim: str = "new-questions",
    level: float = 0.95,
    trials: int = 1000,
    rng: np.random.Generator | int = 0,
) -> Convergence:
    """Score and interval of k generations per question, drawn with replacement from all (revised GEN, figure 2).

    A trial is one run that grows from the smallest to the largest k. Scores other than 0 and 1 are drawn as normal with
    the mean and variance of their cell.

    Parameters
    ----------
    cells
        Two or more generations of each answered question; a model without them is NaN.
    k
        Generations per question, increasing.
    claim
        `"new-questions"`, whose interval data noise keeps from vanishing, or `"these-questions"`, which needs k >= 2.
        The first is for new clusters where questions come in clusters, with what these add to all generations' error.
    """
    steps = np.diff([0, *k])
    if not len(steps) or np.any(steps < 1):
        raise InputError(f"k is {list(k)}", where="convergence", remedy="allowed: numbers from 1 that increase")
    if claim not in _CLAIMS:
        raise UnknownNameError("claim", claim, _CLAIMS)
    _check(level, trials)
    draw = np.random.default_rng(rng)
    M, N = len(cells.models), np.sum(cells.answered, axis=1)
    out = np.full((6, M, len(steps)), np.nan)
    everything = score(cells).score
    in_clusters = claim == "new-questions" and cells.clusters is not None
    clustered = cluster_means(cells.mean, cells.clusters) if in_clusters else None
    added = excess(cells.mean, cells.clusters) if in_clusters else np.zeros(M)
    for i in range(M):
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
            method, bounds = ("wilson-effective", (0.0, 1.0)) if cells.unit else ("t", None)
            between = interval(means, se, N[i], level=level, method=method, df=df, bounds=bounds)
            low, high = np.where(between.flat, means, between.low), np.where(between.flat, means, between.high)
            ends = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
            covered = np.mean((low <= everything[i]) & (everything[i] <= high)) if k[j] > 1 or df is None else np.nan
            out[:, i, j] = means.mean(), *ends, se.mean(), np.mean(high - low), covered
    mean, low, high, se, width, covered = out
    return Convergence(
        cells.benchmark, cells.models, np.asarray(k), mean, low, high, se, width, covered, everything, claim, level
    )


def _growing(
    p: FloatArray, s2: FloatArray, steps: IntArray, trials: int, draw: np.random.Generator, *, binary: bool
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """After each step, the mean over questions of the trial's question means and of their squares, shape (trials,)."""
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
    """Sum of `step` generations of each question, in each trial."""
    if not binary:
        return draw.normal(step * p, np.sqrt(step * s2), shape)
    if step > 1:
        return draw.binomial(step, p, shape)
    return draw.random(shape, dtype=np.float32) < p.astype(np.float32)  # much faster than one trial of a binomial


def _range_of_normals(runs: int, tails: Sequence[float]) -> tuple[float, FloatArray]:
    """Mean and quantiles of the range of `runs` standard normals (Tippett 1925)."""
    x, r = np.linspace(-9, 9, 721)[:, None], np.linspace(0, 14, 1401)
    density = np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
    # P(range <= r) = runs * integral of phi(x) (Phi(x + r) - Phi(x))^(runs - 1)
    law = runs * np.sum(density * (special.ndtr(x + r) - special.ndtr(x)) ** (runs - 1), axis=0) * (x[1, 0] - x[0, 0])
    return float(np.trapezoid(1 - law, r)), np.interp(tails, law, r)


def _law_of_sum(p: FloatArray, weight: FloatArray) -> FloatArray:
    """Probabilities (N+1,) of 0 to N successes in `weight` trials of each p, by characteristic functions."""
    N = int(weight.sum())
    turn = np.exp(2j * np.pi * np.arange(N + 1) / (N + 1))[:, None]
    factor = 1 - p + p * turn
    with np.errstate(divide="ignore"):
        size, angle = np.log(np.abs(factor)) @ weight, np.angle(factor) @ weight
    return np.maximum(np.fft.fft(np.exp(size + 1j * angle)).real / (N + 1), 0)


def _check(level: float, trials: int) -> None:
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}", remedy="allowed: between 0 and 1, such as 0.95")
    if trials < 1:
        raise InputError(f"trials is {trials!r}", remedy="allowed: 1 or more, such as 1000")
