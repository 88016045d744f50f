"""Repeated runs side by side: their means, and tests for drift and for copies.

Usually a run is one generation of each question. Models and questions may be missing in some runs, and a run may hold
several generations of a question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, IntArray, drop_rounding, mean_where
from howsure.stats.core.results import Result, RowPlaces

__all__ = ["Runs", "align_runs", "check_drift", "compare_run_totals", "find_copied_runs", "summarize_runs"]

#: Parts of the smallest difference between runs that are tried as the step of a lattice; a finer one has no effect.
_MOST_PARTS = 60


@dataclass(frozen=True, eq=False)
class Runs(Result):
    """Means of R runs of M models; arrays have shape (R, M), NaN and 0 if a model is not in a run.

    Attributes
    ----------
    mean
        Mean over the questions that the run answered of the question's mean.
    sd
        Standard deviation of those question means over the questions (ddof = 1).
    n_questions, n_generations
        Questions answered and generations scored.
    n_distinct
        Questions that the model answered in any of its runs, shape (M,).
    days
        Day on which each run of a model was made, in ISO 8601 (UTC); empty where it is not known.

    Examples
    --------
    >>> from howsure.stats.core.cells import Cells
    >>> runs = [Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1], [x]]]) for x in (0, 1)]
    >>> result = summarize_runs(runs)
    >>> result.n_runs.tolist(), result.mean.tolist()
    ([2], [[0.5], [1.0]])
    """

    benchmark: str
    models: tuple[str, ...]
    runs: tuple[str, ...]
    mean: FloatArray
    sd: FloatArray
    n_questions: IntArray
    n_generations: IntArray
    n_distinct: IntArray
    days: NDArray[np.object_]

    @property
    def n_runs(self) -> IntArray:
        """Number of runs of each model, shape (M,)."""
        return np.asarray(np.sum(self.n_questions > 0, axis=0))

    @property
    def center(self) -> FloatArray:
        """Mean of each model's run means, shape (M,)."""
        return mean_where(self.mean.T, self.n_questions.T > 0)

    @property
    def sd_of_means(self) -> FloatArray:
        """Standard deviation of each model's run means, shape (M,); NaN for one run."""
        return _sd(self.mean, axis=0)

    @property
    def lack_questions(self) -> NDArray[np.bool_]:
        """Whether a run of the model lacks questions that another run of it has, shape (M,)."""
        return np.asarray(np.any((self.n_questions > 0) & (self.n_questions < self.n_distinct), axis=0))

    declared = "benchmark model=models@1 run=runs day=days mean sd n_questions n_generations"

    def _rows(self) -> RowPlaces:
        """Runs and models of the rows: those with answers, model by model."""
        return np.nonzero(self.n_questions.T)[::-1]


def align_runs(runs: Sequence[Cells]) -> tuple[Cells, list[Cells]]:
    """Merge all runs, and extend each run to the models and questions of all (0 where it has none)."""
    if not runs:
        raise InputError("no runs", remedy="give one Cells for each run")
    merged = reduce(add, runs)
    none = np.zeros(merged.n.shape)
    nothing: dict[str, Any] = dict.fromkeys(("failed", "unparsed", "minimum", "maximum", "outcomes"))
    empty = replace(merged, n=none.astype(merged.n.dtype), total=none, total_sq=none, days={}, **nothing)
    names = merged.models, merged.questions
    return merged, [run if (run.models, run.questions) == names else empty + run for run in runs]


def summarize_runs(each: Sequence[Cells], names: Sequence[str] | None = None) -> Runs:
    """Compute the mean and the standard deviation over questions of each of R aligned runs."""
    names = [str(r + 1) for r in range(len(each))] if names is None else names
    if len(names) != len(each):
        raise InputError(f"{len(names)} names for {len(each)} runs", where="names", remedy="give one name for each run")
    questions = np.array([np.sum(run.answered, axis=1) for run in each])
    return Runs(
        benchmark=each[0].benchmark,
        models=each[0].models,
        runs=tuple(names),
        mean=np.array([mean_where(run.mean, run.answered) for run in each]),
        sd=np.array([_sd(run.mean, axis=1) for run in each]),
        n_questions=questions,
        n_generations=np.array([np.sum(run.n, axis=1) for run in each]),
        n_distinct=np.sum(np.any([run.answered for run in each], axis=0), axis=1),
        days=np.array([[run.days.get(model, "") for model in run.models] for run in each], dtype=object),
    )


def check_drift(each: Sequence[Cells], model: int) -> tuple[float, float]:
    """Test whether R aligned runs of a model differ by more, or by less, than independent generations would.

    Parameters
    ----------
    each
        Runs on the same models and questions, as `align_runs` returns them.
    model
        Row of the model.

    Returns
    -------
    drift_p, alike_p
        Upper and lower tail probability. The lower one adds half a lattice step to the distance (for two runs of scores
        of 0 and 1: Yates' correction), because equal run means are not rare where scores are 0 and 1, quarters or
        shares of tests. NaN for one run, or where the questions that varied fit any order of the runs equally well
        (`compare_run_totals`).

    Notes
    -----
    U_r = sum_q (total of run r - k_rq p_q) is the score of run r beyond its share. If the generations of a question are
    exchangeable between the runs, U has mean 0 and the covariance

        C = sum_q s2_q (diag(k_rq) - k_rq k_r'q / k_q),

    and U' C^+ U is chi-squared with rank C degrees of freedom. For complete runs it is (n-1) s^2 / (E/N), for scores of
    0 and 1 Cochran's Q, in general the Cochran-Mantel-Haenszel test with questions as strata.

    References
    ----------
    Cochran (1950), The comparison of percentages in matched samples, Biometrika 37.
    """
    k = np.array([run.n[model] for run in each], float)
    total = np.array([run.total[model] for run in each])
    total_sq = np.sum([run.total_sq[model] for run in each], axis=0)
    statistic, df, step = compare_run_totals(k, total, total_sq)
    if len(each) < 2 or df == 0:
        return np.nan, np.nan
    return float(special.chdtrc(df, statistic)), float(special.chdtr(df, (np.sqrt(statistic) + step) ** 2))


def compare_run_totals(k: FloatArray, total: FloatArray, total_sq: FloatArray) -> tuple[float, int, float]:
    """Compute the statistic of `check_drift` of R runs on N questions.

    Parameters
    ----------
    k, total
        Number of generations and sum of their scores, shape (R, N).
    total_sq
        Sum of the squared scores over all runs, shape (N,).

    Returns
    -------
    statistic, df, step
        The statistic, its degrees of freedom, and half the step of the lattice on which the run totals lie, 0 without
        one. The degrees of freedom are 0 if no question varied between runs, or one alone, with one generation of each
        run: the statistic is R - 1 whatever the scores are.
    """
    size = k.sum(axis=0)
    center, s2 = np.zeros(size.shape), np.zeros(size.shape)
    np.divide(total.sum(axis=0), size, out=center, where=size > 0)
    square = total_sq - size * center**2
    np.divide(np.maximum(square, 0), size - 1, out=s2, where=size > 1)
    s2[s2 < 1e-12 * center**2] = 0  # what is left by rounding
    is_informative = (s2 > 0) & (np.sum(k > 0, axis=0) > 1)
    if np.sum(is_informative) == 1 and np.max(k[:, is_informative]) <= 1:
        return np.nan, 0, np.nan
    U = np.sum(total - k * center, axis=1)
    weight = np.divide(s2, size, out=np.zeros(size.shape), where=size > 0)
    C = np.diag(k @ s2) - (k * weight) @ k.T
    values, vectors = np.linalg.eigh(C)
    positive = values > 1e-9 * max(values[-1], 1e-300)
    df = int(positive.sum())
    if df == 0:
        return np.nan, 0, np.nan
    statistic = float(np.sum((vectors.T @ U)[positive] ** 2 / values[positive]))
    step = _common_step((total - total[np.argmax(k > 0, axis=0), np.arange(total.shape[1])])[k > 0])
    return statistic, df, step * float(np.sqrt(np.mean(1 / values[positive]) / 2))


def _common_step(differences: FloatArray) -> float:
    """Return the largest number of which all differences are multiples; 1 if all are 0, 0 if there is none."""
    sizes = np.unique(np.abs(differences))
    sizes = np.append(sizes[sizes > 1e-9 * sizes[-1]], [] if sizes[-1] else 1)
    parts = np.arange(1, _MOST_PARTS + 1)
    multiples = parts[:, None] * (sizes / sizes[0])
    fits = np.all(np.abs(multiples - np.rint(multiples)) < 1e-6 * parts[:, None], axis=1)
    return float(sizes[0] / parts[np.argmax(fits)]) if fits.any() else 0.0


def find_copied_runs(merged: Cells, each: Sequence[Cells], alpha: float) -> NDArray[np.bool_]:
    """Find models with two runs that score the same on every question, too unlikely by chance, shape (M,)."""
    out = np.zeros(len(merged.models), bool)
    if not merged.binary or len(each) < 3:
        return out  # two equal runs leave no variance by which chance and copy could be distinguished
    several = merged.n > 1
    agreeing = np.prod(1 - 2 * merged.within, axis=1, where=several)  # 1 - 2 s2: share of a question's pairs that agree
    scores = np.array([np.where(run.answered, run.total, -1) for run in each])
    for m in np.flatnonzero(agreeing * len(each) * (len(each) - 1) / 2 < alpha):
        rows = scores[np.any(scores[:, m] >= 0, axis=1), m]
        out[m] = len(np.unique(rows, axis=0)) < len(rows)
    return out


def _sd(values: FloatArray, axis: int) -> FloatArray:
    """Return the standard deviation (ddof = 1) without NaN; NaN for fewer than two values, 0 for equal ones."""
    is_known = ~np.isnan(values)
    n = np.sum(is_known, axis=axis, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        center = np.sum(values, axis=axis, where=is_known, keepdims=True) / n
        square = np.sum((values - center) ** 2, axis=axis, where=is_known, keepdims=True)
        sd = np.sqrt(np.where(n > 1, drop_rounding(square, n, center) / (n - 1), np.nan))
    return np.squeeze(sd, axis=axis)
