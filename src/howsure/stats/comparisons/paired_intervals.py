"""Intervals of a paired difference that hold where few questions differ.

Student's t fails there: with 100 questions, of which 3 on average are answered rightly by one model alone, its 95 %
interval covers 80 %, and where no question differs it has no width at all. It is the number of questions that differ
that matters, not the number of questions.

`adjusted_t` is the default. Bonett and Price (2012) add one question that only the first model gets right and one that
only the second gets right before they take the mean and its error. Here the two pseudo-questions have the differences
+s and -s, with s the typical size of a difference among the questions that differ, so that two models with many small
differences (question means of many generations) are not charged for two large ones:

    s^2 = (sum d_q^4 + c) / (sum d_q^2 + c),  c = 1/(4k) for scores of 0 and 1, else 0 and s^2 at least r
    SE^2 = (sum (d_q - d)^2 + 2 s^2 + 2 N d^2 / (N + 2)) / ((N + 2) (N + 1)),  around N d / (N + 2)

k is the harmonic mean of the generations per question of the two models, and 1 below 15 questions; r = 1/(2k) where
graded scores of the two reach both 0 and 1, so that a question on which they differ by 1 may be as rare as one in N.

The quantile is Student's t. What the pseudo-questions add to the variance is no estimate, so the degrees of freedom are
those of sum (d_q - d)^2, N - 1, times the squared ratio of the whole sum to it (Satterthwaite 1946): infinite where no
question differs, N - 1 where all differ alike. With one generation per question scored 0 or 1, s = 1, and this is
Bonett and Price's interval with the quantile of t in place of the normal one. `tango` (Tango 1998) is for that case, by
name.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from howsure.stats.core.cells import Cells, FloatArray, IntArray, mean_where
from howsure.stats.core.claims import check_level
from howsure.stats.core.intervals import Interval

__all__ = ["RARE_SIZE", "adjusted_error", "adjusted_t", "pseudo_sizes", "pseudo_variance", "reach_both_ends", "tango"]

#: Pseudo-count that pulls the size of a pseudo-question towards 1 for scores of 0 and 1, over the number of generations
#: from so many questions on: a size that is learned from ten questions is often too small (coverage .93 without the
#: count at N = 10, .99 with it), and with many questions and generations the whole count makes it far too large.
_PSEUDO_COUNT = 0.25
_FEWEST_QUESTIONS = 15
#: Squared size of two pseudo-questions for rare differences of 1: as much as half a question at +1 and half at -1.
RARE_SIZE = 0.5

#: Where the squared differences of scores in [0, 1] add up to more than this, s = 1: a smaller s would narrow the
#: interval by less than 1/400, and is not worth its matrix products.
_MANY = 400.0

#: Weight of the pseudo-question that enters the error of a claim on these very questions.
_SAMPLING_WEIGHT = 0.5


class _Discordant(Protocol):
    """The fields of a comparison that intervals of single answers use; arrays have shape (P,)."""

    @property
    def n_questions(self) -> IntArray: ...
    @property
    def wins_a(self) -> FloatArray: ...
    @property
    def wins_b(self) -> FloatArray: ...
    @property
    def is_single(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]: ...


def pseudo_sizes(cells: Cells, a: IntArray, b: IntArray, square: FloatArray, n: IntArray) -> FloatArray:
    """Return the squared size s^2 of the two pseudo-questions of each pair, shape (P,).

    Parameters
    ----------
    cells
        M models on N questions.
    a, b
        Rows of the two models of each pair, shape (P,).
    square
        Sum of squared differences of the question means over the common questions, shape (P,).
    n
        Number of common questions, shape (P,).

    Returns
    -------
    1 where scores of 0 and 1 are single generations, and for scores in [0, 1] whose squared differences add up to more
    than 400: a smaller s would narrow those intervals by less than 1/400. Where no question differs, the squared range
    of the scores: 1 for scores in [0, 1], for others the range of the question means; 0 where all of these are equal.
    For graded scores that reach both ends at least r.
    """
    if cells.binary and not np.any(cells.n > 1):
        return np.ones(len(a))
    sought = np.flatnonzero(square <= _MANY) if cells.unit else np.arange(len(a))
    fourth = square.copy()
    fourth[sought] = _fourth_powers(cells, a[sought], b[sought])
    each = mean_where(1 / np.maximum(cells.n, 1), cells.answered)  # one over the harmonic mean of the generations
    share = np.where(n < _FEWEST_QUESTIONS, 1, (each[a] + each[b]) / 2)
    count = _PSEUDO_COUNT * share if cells.binary else np.zeros(len(a))
    whole_range = 1.0 if cells.unit else float(np.ptp(cells.mean[cells.answered])) if np.any(cells.answered) else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        size: FloatArray = np.where(square + count > 0, (fourth + count) / (square + count), whole_range**2)
    rare = RARE_SIZE * share * (reach_both_ends(cells, a, b) if cells.unit and not cells.binary else 0)
    return np.fmax(size, rare)


def reach_both_ends(cells: Cells, a: IntArray, b: IntArray) -> NDArray[np.bool_]:
    """Return for each pair whether scores of the two models reach both 0 and 1, shape (P,)."""
    least, largest = (cells.mean if end is None else end for end in (cells.minimum, cells.maximum))
    ends = np.any((least <= 0) & cells.answered, axis=1), np.any((largest >= 1) & cells.answered, axis=1)
    return np.asarray((ends[0][a] | ends[0][b]) & (ends[1][a] | ends[1][b]))


def _fourth_powers(cells: Cells, a: IntArray, b: IntArray) -> FloatArray:
    """Return the sum over common questions of the fourth power of the difference of the question means, shape (P,)."""
    p = np.where(cells.answered, cells.mean, 0)
    if len(a) <= len(cells.models):
        common = cells.answered[a] & cells.answered[b]
        return np.asarray(np.sum((p[a] - p[b]) ** 4, axis=1, where=common))
    # sum (x - y)^4 = sum x^4 - 4 x^3 y + 6 x^2 y^2 - 4 x y^3 + y^4, each a matrix product
    p -= np.where(cells.answered, np.sum(p) / max(np.sum(cells.answered), 1), 0)  # centred: less to cancel
    squares = p * p
    even, odd = squares @ squares.T, (squares * p) @ p.T
    answered = cells.answered.astype(float)
    alone = np.sum(squares * squares, axis=1)[:, None] if np.all(cells.answered) else (squares * squares) @ answered.T
    alone = np.broadcast_to(alone, even.shape)
    total = alone[a, b] + alone[b, a] + 6 * even[a, b] - 4 * (odd[a, b] + odd[b, a])
    return np.asarray(np.where(total > 1e-12 * (alone[a, b] + alone[b, a]), total, 0))


def adjusted_error(
    difference: FloatArray, variance: FloatArray, n: IntArray | FloatArray, size: FloatArray, df: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the center, the standard error and the degrees of freedom of `adjusted_t`, shape (P,) each."""
    N = np.where(n > 0, n, np.nan).astype(float)
    square = variance * N * (N if df is None else N - 1)  # sum (d_q - d)^2, or what it is worth with clusters
    with np.errstate(divide="ignore", invalid="ignore"):
        total_square = square + 2 * size + 2 * N * difference**2 / (N + 2)
        se = np.sqrt(total_square / ((N + 2) * (N + 1)))
        if df is None:
            ratio = np.where(square > 0, total_square / square, np.where(difference == 0, np.inf, 1))
            degrees = np.where(N > 1, N - 1, np.nan) * ratio**2
        else:
            degrees = np.where(df > 0, df, np.nan)
    return N * difference / (N + 2), se, degrees


def adjusted_t(
    difference: FloatArray,
    variance: FloatArray,
    n: IntArray | FloatArray,
    size: FloatArray,
    *,
    level: float = 0.95,
    df: FloatArray | None = None,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """Compute the interval of each mean difference with two pseudo-questions of differences +s and -s.

    Parameters
    ----------
    difference, variance
        Means over n questions and their squared standard errors, shape (P,). Without `df` the variance divides by n;
        with it, it is unbiased, such as that of questions in clusters.
    n
        Number of questions, shape (P,).
    size
        s^2, shape (P,).
    level
        Coverage in (0, 1).
    df
        Degrees of freedom of an unbiased variance, such as that of clusters, shape (P,): used as they are. None: n - 1,
        times the squared ratio above.
    bounds
        Limits that a difference cannot leave.

    Returns
    -------
    Intervals, the statistic and its p-value, which is below 1 - level exactly where the interval excludes 0.

    >>> one = np.ones(1)
    >>> found = adjusted_t(0.03 * one, 0.000291 * one, np.array([100]), one)  # 3 of 100 questions differ
    >>> found.low.round(3).tolist(), found.high.round(3).tolist()
    ([-0.014], [0.072])
    """
    check_level(level)
    center, se, degrees = adjusted_error(difference, variance, n, size, df)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = special.stdtrit(degrees, (1 + level) / 2) * se
        statistic = center / se
        p_value = 2 * special.stdtr(degrees, -np.abs(statistic))
        of_difference = se * (1 + 2 / n)
    used = np.where(np.isinf(degrees), np.nan, degrees)  # the normal quantile is not Student's t
    flat = se == 0
    half, p_value = np.where(flat, np.nan, half), np.where(flat, 1.0, p_value)
    low, high = center - half, center + half
    if bounds is not None:
        low, high = np.clip(low, *bounds), np.clip(high, *bounds)
    return Interval(low, high, level, np.full(len(low), "adjusted-t"), statistic, p_value, flat, used, of_difference)


def pseudo_variance(cells: Cells, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return what is added to the squared error of a difference on these very questions, and its degrees of freedom.

    The error of that claim is SE^2 = sum_q (s2_a/k_a + s2_b/k_b) / N^2. Where few questions vary it is often far too
    small, and 0 where by chance none did. Half a pseudo-question is added, of a model that is right every second time:
    v = s2/k = 1/(2 k). The degrees of freedom are 2 S^2 / V of the sum S of all parts, V as their spread shows it, at
    most sum (k - 1) and at least 2. Graded scores have v = sum v_q^2 / sum v_q, the size of a typical part, which is
    often far below 1/(2 k). Where none of them varied, it is 1/(2 k) if they lie in [0, 1]; others have no interval.

    Returns
    -------
    added, df
        Shape (P,) each; `added` is to be added to SE^2.
    """
    several = cells.n > 1
    k = np.where(several, cells.n, 1).astype(float)
    parts = np.where(several, np.nan_to_num(cells.within), 0) / k
    # Sums over the common questions of a pair, of a's values at [a, b].
    pattern = cells.answered.astype(float)
    sums = [
        values @ pattern.T for values in (parts, parts**2, several.astype(float), np.where(several, cells.n - 1, 0))
    ]
    total, square, number, count = (one[a, b] + one[b, a] for one in sums)
    inverse = np.where(several, 1 / k, 0) @ pattern.T
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = 0.5 * (inverse[a, b] + inverse[b, a]) / number if cells.unit else np.zeros(len(a))
        pseudo = largest if cells.binary else np.where(total > 0, square / total, largest)
        parts_variance = np.maximum(square - total**2 / number, 0) * number / (number - 1)
        scaled = total + _SAMPLING_WEIGHT * pseudo
        df = np.maximum(np.fmin(count, 2 * scaled**2 / (parts_variance + _SAMPLING_WEIGHT * pseudo**2)), 2)
        N = (pattern @ pattern.T)[a, b]
        added = _SAMPLING_WEIGHT * pseudo / N**2
    return added, df


def tango(pairs: _Discordant, level: float) -> Interval:
    """Compute Tango's (1998) score interval: the differences that a score test at this level does not reject.

    NaN for pairs that do not have one generation per question scored 0 or 1. The test of no difference is McNemar's
    without a continuity correction.
    """
    b, c, N = _discordant(pairs)
    quantile = float(special.ndtri((1 + level) / 2))
    estimate = (b - c) / N
    statistic = _score_statistic(b, c, N, np.zeros(len(b)))
    low = _root(b, c, N, quantile, np.full(len(b), -1.0), estimate)
    high = _root(b, c, N, -quantile, np.full(len(b), 1.0), estimate)
    p_value = 2 * special.ndtr(-np.abs(statistic))
    none, flat = np.full(len(low), np.nan), np.zeros(len(low), bool)
    method = np.full(len(low), "tango")
    return Interval(low, high, level, method, statistic, p_value, flat, none, np.sqrt(b + c) / N)


def _discordant(pairs: _Discordant) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the questions that only a gets right, that only b gets right, and that both answered."""
    N = np.where(pairs.is_single, pairs.n_questions, np.nan).astype(float)
    return np.rint(pairs.wins_a * N), np.rint(pairs.wins_b * N), N


def _score_statistic(b: FloatArray, c: FloatArray, N: FloatArray, at: FloatArray) -> FloatArray:
    """Return (b - c - N at) over its standard error where the true difference is `at` (Tango 1998, eq. 8 and 9)."""
    linear = (2 * N - b + c) * at - b - c
    q = (np.sqrt(np.maximum(linear**2 + 8 * N * c * at * (1 - at), 0)) - linear) / (4 * N)
    variance = np.maximum(N * (2 * q + at * (1 - at)), 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = b - c - N * at
        value: FloatArray = np.where(np.abs(above) < 1e-12 * N, 0.0, above / np.sqrt(variance))
    return value


def _root(
    b: FloatArray, c: FloatArray, N: FloatArray, quantile: float, far: FloatArray, near: FloatArray
) -> FloatArray:
    """Return where the score statistic equals `quantile` between `far`, beyond it, and `near`, by bisection."""
    outside, inside = far, near
    for _ in range(60):
        middle = (outside + inside) / 2
        beyond = np.abs(_score_statistic(b, c, N, middle)) > abs(quantile)
        outside, inside = np.where(beyond, middle, outside), np.where(beyond, inside, middle)
    return np.where(np.isnan(N), np.nan, (outside + inside) / 2)
