"""Means over strata of questions: several benchmarks, or the clusters (subjects) of one.

The strata s of a mean weigh w_s: all alike (macro), or as their numbers of questions (micro). With the mean y_s and its
squared error SE_s^2 in each, the mean over these strata is known to

    SE^2 = sum_s w_s^2 SE_s^2,   df = SE^4 / sum_s (w_s^4 SE_s^4 / df_s)                      (Satterthwaite 1946)

because questions are drawn within strata: that the strata differ is no error of a mean over just these. The claim on
new strata like these, in which it is one, has SE^2 = sum_s (y_s - y)^2 / (S (S - 1)) with S - 1 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.stats.core.cells import Cells, FloatArray, Strata, drop_rounding, weigh_strata
from howsure.stats.core.claims import AVERAGES, Average, Claim, check_choice

__all__ = ["StratifiedMean", "average_strata", "join_strata", "split_strata"]


class StratifiedMean(NamedTuple):
    """Means over strata of R models or pairs, shape (R,), and what they are made of."""

    weight: FloatArray
    """w_s, shape (S, R): 0 for strata without a question; NaN where no stratum has one."""
    variance: FloatArray
    """Squared standard error; NaN where that of a stratum is unknown."""
    df: FloatArray
    """Its degrees of freedom; infinite where no stratum varies."""
    n_equal: FloatArray
    """Questions, or clusters, of equal weight that are worth as much: 1 / sum of their squared weights (Kish 1965)."""


def join_strata(benchmarks: Sequence[Cells], average: Average) -> Cells:
    """Return one benchmark whose strata are several benchmarks, or the clusters of a single one.

    Parameters
    ----------
    benchmarks
        Cells of benchmarks with scores in [0, 1], or of one with clusters; models may be missing from some.
    average
        ``"macro"``: strata weigh equally. ``"micro"``: questions weigh equally.

    Raises
    ------
    InputError
        When a single benchmark has no clusters, or scores of one of several are not in [0, 1].

    Examples
    --------
    >>> one = Cells.from_scores("one", ["a"], ["1", "2"], [[[1], [0]]])
    >>> two = Cells.from_scores("two", ["a"], ["1"], [[[1]]])
    >>> [join_strata([one, two], average).average_questions().round(2).tolist() for average in AVERAGES]
    [[0.75], [0.67]]
    """
    check_choice("average", average, AVERAGES)
    if len(benchmarks) == 1:
        (single,) = benchmarks
        if single.clusters is None or len(set(single.clusters)) < 2:
            remedy = "name the column of its subjects with --cluster COLUMN, or give several benchmarks"
            raise InputError(f"{single.benchmark} is one stratum", where="average", remedy=remedy)
        name = f"{single.benchmark}, {average} mean of {len(set(single.clusters))} clusters"
        return replace(single, benchmark=name, clusters=None, strata=Strata(single.clusters, average))
    for cells in benchmarks:
        if not cells.unit:
            remedy = "leave it out with --benchmark, or divide its scores by the largest"
            raise InputError("scores are not in [0, 1]", where=f"average over {cells.benchmark}", remedy=remedy)
    # Only some benchmarks have clusters: in the others each question is one.
    has_clusters = any(cells.clusters is not None for cells in benchmarks)
    name = f"{average} mean of {len(benchmarks)} benchmarks"
    parts = []
    for cells in benchmarks:
        questions = tuple(f"{cells.benchmark}/{question}" for question in cells.questions)
        clusters = questions if cells.clusters is None else tuple(f"{cells.benchmark}/{c}" for c in cells.clusters)
        parts.append(replace(cells, benchmark=name, questions=questions, clusters=clusters if has_clusters else None))
    strata = tuple(cells.benchmark for cells in benchmarks for _ in cells.questions)
    while len(parts) > 1:
        parts = [sum(parts[i + 1 : i + 2], parts[i]) for i in range(0, len(parts), 2)]
    return replace(parts[0], strata=Strata(strata, average))


def split_strata(cells: Cells) -> Iterator[Cells]:
    """Yield the cells of each stratum in turn, with all models."""
    assert cells.strata is not None
    plain, of_question = replace(cells, strata=None), np.array(cells.strata.names, dtype=object)
    for name in dict.fromkeys(cells.strata.names):
        yield plain.select(questions=[cells.questions[j] for j in np.flatnonzero(of_question == name)])


def average_strata(
    average: Average,
    claim: Claim,
    n: NDArray[np.number],
    mean: FloatArray,
    variance: FloatArray,
    df: FloatArray,
) -> StratifiedMean:
    """Return the weights, the squared error and the degrees of freedom of means over S strata.

    Parameters
    ----------
    average
        How strata weigh.
    claim
        ``"new-benchmarks"`` is about new strata, any other one about these.
    n, mean, variance, df
        Number of questions, mean, its squared error without bias, and its degrees of freedom, shape (S, R).

    References
    ----------
    Cochran (1977), Sampling techniques, section 5.4. Satterthwaite (1946), Biometrics Bulletin 2. Kish (1965).

    Examples
    --------
    >>> one = np.ones((2, 1))
    >>> average_strata("macro", "new-questions", 10 * one, 0 * one, 0.04 * one, 9 * one).variance.tolist()
    [0.02]
    """
    weight = weigh_strata(n, average)
    has_questions = n > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        if claim == "new-benchmarks":
            S = np.sum(has_questions, axis=0).astype(float)
            center = np.sum(mean, axis=0, where=has_questions) / S
            square = np.sum((mean - center) ** 2, axis=0, where=has_questions)
            square = drop_rounding(square, S, np.max(np.abs(mean), axis=0, where=has_questions, initial=0))
            return StratifiedMean(weight, np.where(S > 1, square / (S * (S - 1)), np.nan), S - 1, S)
        parts = np.where(has_questions | np.isnan(weight), weight**2 * variance, 0)
        total = np.sum(parts, axis=0)
        spread = np.sum(np.divide(parts**2, df, out=np.zeros(parts.shape), where=parts > 0), axis=0)
        degrees = np.where(np.isnan(total), np.nan, np.where(total > 0, total**2 / spread, np.inf))
        units = n if claim == "these-questions" else df + 1  # questions, or clusters of them of equal size
        n_equal = 1 / np.sum(np.divide(weight**2, units, out=np.zeros(parts.shape), where=has_questions), axis=0)
    return StratifiedMean(weight, total, degrees, n_equal)
