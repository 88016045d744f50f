"""Exact tests of whether a candidate answers the same questions worse than a baseline, from counts of right answers.

Question q was answered n_q times by the baseline and k_q times by the candidate, m_q of them right altogether and x_q
by the candidate. If nothing changed, any m_q of the n_q + k_q generations may be the right ones:

    x_q ~ hypergeometric(m_q right, n_q + k_q - m_q wrong, k_q drawn), independent over questions

Everything here is conditional on these margins, so it holds at any number of questions and generations. Where
P(correct) changed on single questions and the mean over them did not, and both have as many generations, the variance
that the margins give is the larger one (p (1 - p) at the mean of two rates is at least the mean of both p (1 - p)), and
the test of the mean rejects less. With unequal numbers it may be the smaller one: `gate_verdicts` asks the paired test
too, then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.intervals import log_choose

__all__ = ["QuestionTests", "compare_means_exactly", "compare_questions_exactly"]

#: Draws of the test of the mean where questions have unequal numbers of generations: p is at least 1/(draws + 1).
_DRAWS = 20_000
#: Draws times questions at most, for time; fewer draws leave the test valid and its p coarser.
_MOST_DRAWN = 40_000_000
#: Cumulative probabilities that differ by rounding are one.
_ROUNDING = 1e-12
#: Smallest p-value that a Fourier transform of doubles can tell from 0.
_LEAST = 1e-12
#: Probability of the sums that the transform is too short for.
_BEYOND = 1e-14
#: Adjusted p-values above this are said to be 1.
_NEARLY_ONE = 0.999


def compare_means_exactly(
    n: IntArray, right_n: FloatArray, k: IntArray, right_k: FloatArray, *, seed: int = 0
) -> float:
    """Return the one-sided p-value of the candidate's mean over the questions being no lower than the baseline's.

    Parameters
    ----------
    n, right_n
        Generations of the baseline and how many are right, shape (N,).
    k, right_k
        Those of the candidate, shape (N,). Questions that one of them did not answer are left out.
    seed
        Seed of the draws, where questions have unequal numbers of generations.

    Returns
    -------
    float
        P(a difference of the means at most as large as the observed one), given the margins. 1 where no question has
        both right and wrong generations; NaN where no question was answered by both.

    Notes
    -----
    Where every question has as many generations of the candidate as any other, and of the baseline, the distribution of
    the number of right ones is the convolution of hypergeometric distributions, computed by a Fourier transform. With
    one generation of each that is McNemar's exact test. The transform holds the sums around the mean, all but a
    probability of 1e-14 (Hoeffding 1963); its rounding hides p-values below 1e-12. Otherwise the mean is drawn 20,000
    times, or, for time, down to 999 times with more than 2,000 questions; with b of B draws as low as the observed
    mean, p = (1 + b)/(1 + B), which keeps the level at any B (Phipson and Smyth 2010).

    References
    ----------
    Phipson and Smyth (2010), Permutation p-values should never be zero, Statistical Applications in Genetics and
    Molecular Biology 9. Hoeffding (1963), Probability inequalities for sums of bounded random variables, Journal of the
    American Statistical Association 58, for the length of the transform.

    Examples
    --------
    >>> one = np.ones(8, int)
    >>> round(compare_means_exactly(one, np.ones(8), one, np.zeros(8)), 6)  # eight questions from right to wrong
    0.003906
    """
    both = (n > 0) & (k > 0)
    if not np.any(both):
        return float("nan")
    n, k = n[both].astype(np.int64), k[both].astype(np.int64)
    x, m = np.rint(right_k[both]).astype(np.int64), np.rint(right_n[both] + right_k[both]).astype(np.int64)
    varied = (m > 0) & (m < n + k)
    if not np.any(varied):
        return 1.0
    n, k, x, m = n[varied], k[varied], x[varied], m[varied]
    if np.all(n == n[0]) and np.all(k == k[0]):
        cumulative, first = _convolve(int(n[0]), int(k[0]), np.sort(m).tobytes())
        place = min(int(np.sum(x)) - first, len(cumulative) - 1)
        return float(np.clip(_round_down(cumulative[place]), _LEAST, 1.0)) if place >= 0 else _LEAST
    # d = sum over questions of x/k - (m - x)/n: given m, only the first sum with this weight varies
    observed = float(np.sum((1 / k + 1 / n) * x))
    margins, count = np.unique(np.stack([n, k, m]), axis=1, return_counts=True)
    drawn = _draw_sums(margins.tobytes(), count.tobytes(), seed)
    low = int(np.searchsorted(drawn, observed + 1e-9 * max(abs(observed), 1.0), side="right"))
    return (1 + low) / (1 + len(drawn))


# The distributions depend on the margins alone, which the splits of a self-test share: the last ones are kept.
@lru_cache(maxsize=2)
def _draw_sums(margins: bytes, count: bytes, seed: int) -> FloatArray:
    """Return drawn sums of x (1/k + 1/n), sorted; `margins` (n, k, m), shape (3, G), and `count`, (G,), are int64."""
    often = np.frombuffer(count, dtype=np.int64)
    draws = int(np.clip(_MOST_DRAWN // np.sum(often), 999, _DRAWS))
    rng = np.random.default_rng(seed)
    drawn = np.zeros(draws)
    groups = np.frombuffer(margins, dtype=np.int64).reshape(3, -1).T
    for (baseline, candidate, right), times in zip(groups.tolist(), often.tolist(), strict=True):
        shape = (draws, times)
        sums = rng.hypergeometric(right, baseline + candidate - right, candidate, size=shape).sum(axis=1)
        drawn += (1 / candidate + 1 / baseline) * sums
    drawn.sort()
    return drawn


@lru_cache(maxsize=2)
def _convolve(n: int, k: int, m: bytes) -> tuple[FloatArray, int]:
    """Return P(sum of x_q <= s) for s from an offset on, and the offset, for margins `m` as sorted int64.

    The transform is as long as the sums that have a probability: a hypergeometric distribution is no wider than the
    binomial one (Hoeffding 1963, theorem 4), so P(|sum - mean| >= t) <= 2 exp(-t^2 / (2 V)) with V the sum of
    min(n, k, m, n + k - m) / 4. Sums further away than that is 1e-14 come out at another place of the transform.
    """
    margins, count = np.unique(np.frombuffer(m, dtype=np.int64), return_counts=True)
    lows = np.maximum(margins - n, 0)
    sizes = np.minimum(margins, k) - lows
    first, last = int(np.sum(lows * count)), int(np.sum((lows + sizes) * count))
    width = np.minimum(np.minimum(margins, n + k - margins), min(n, k))
    reach = np.sqrt(2 * np.sum(width * count) / 4 * np.log(2 / _BEYOND))
    mean = float(np.sum(margins * count)) * k / (n + k)
    start = max(first, int(np.floor(mean - reach)))
    length = min(last, int(np.ceil(mean + reach))) - start + 1
    padded = 1 << (length - 1).bit_length()
    transform = np.ones(padded // 2 + 1, dtype=complex)
    for right, often in zip(margins.tolist(), count.tolist(), strict=True):
        probability = _list_probabilities(n, k, right)
        folded = np.bincount(np.arange(len(probability)) % padded, weights=probability, minlength=padded)
        transform *= np.fft.rfft(folded) ** often
    sums = np.maximum(np.roll(np.fft.irfft(transform, padded), -((start - first) % padded))[:length], 0)
    return np.cumsum(sums) / np.sum(sums), start


def _list_probabilities(n: int, k: int, m: int) -> FloatArray:
    """Return the probability of each number of right generations of the candidate, from the smallest possible on."""
    x = np.arange(max(m - n, 0), min(m, k) + 1)
    logs = log_choose(k, x) + log_choose(n, m - x)
    weights = np.exp(logs - np.max(logs))
    probability: FloatArray = weights / np.sum(weights)
    return probability


def _round_down(p: ArrayLike) -> FloatArray:
    """Return p-values a little lower: as sums of products, fractions such as 1/20 are above a level of .05."""
    values = np.asarray(p, dtype=float)
    return np.where(values < 1, values * (1 - _ROUNDING), values)


@dataclass(frozen=True, eq=False)
class QuestionTests:
    """Exact one-sided tests of every question by itself, of whether the candidate is less often right.

    Attributes
    ----------
    p_value
        P(at most so many right generations of the candidate), given the margins, shape (N,); 1 where nothing varied,
        NaN where one of the two has no generation.
    p_adjusted
        Adjusted for all questions, shape (N,): the probability that the smallest p-value of any question that is not
        ranked before this one is as small, if nothing changed.
    least
        The smallest value that `p_adjusted` could have taken with these margins; 1 without any question. Above the
        level, no single question can be shown to have changed.
    """

    p_value: FloatArray
    p_adjusted: FloatArray
    least: float

    @cached_property
    def smallest(self) -> float:
        """The smallest adjusted p-value; 1 without any question."""
        finite = self.p_adjusted[~np.isnan(self.p_adjusted)]
        return float(np.min(finite)) if len(finite) else 1.0


def compare_questions_exactly(n: IntArray, right_n: FloatArray, k: IntArray, right_k: FloatArray) -> QuestionTests:
    """Test every question by itself, adjusted for all of them.

    Parameters
    ----------
    n, right_n, k, right_k
        As for `compare_means_exactly`.

    Returns
    -------
    QuestionTests

    Notes
    -----
    p-values of single questions take few values: that of five right generations and then five wrong ones is 1/252, and
    with one generation of each it is 1/2 at best. Holm's adjustment multiplies by the number of questions, also by
    those whose p-value could not have been small. Questions are independent, so the distribution of the smallest
    p-value is known instead: with F_j(p) = P(p_j <= p), and questions in the order of their p-values,

        adjusted p_i = max over the questions up to i of 1 - prod over those from there on of (1 - F_j(p))

    References
    ----------
    Westfall and Wolfinger (1997), Multiple tests with discrete distributions, The American Statistician 51. Westfall
    and Young (1993), Resampling-based multiple testing, algorithm 2.8.

    Examples
    --------
    >>> five = np.array([5, 5, 5])
    >>> result = compare_questions_exactly(five, np.array([5, 4, 2]), five, np.array([0, 1, 3]))
    >>> result.p_value.round(4).tolist(), result.p_adjusted.round(4).tolist()
    ([0.004, 0.1032, 0.8968], [0.0119, 0.1957, 0.8968])
    """
    both = (n > 0) & (k > 0)
    p_value, p_adjusted = np.full(len(n), np.nan), np.full(len(n), np.nan)
    if not np.any(both):
        return QuestionTests(p_value, p_adjusted, 1.0)
    baseline, candidate = n[both].astype(np.int64), k[both].astype(np.int64)
    x = np.rint(right_k[both]).astype(np.int64)
    m = x + np.rint(right_n[both]).astype(np.int64)
    margins, group = np.unique(np.stack([baseline, candidate, m]), axis=1, return_inverse=True)
    group = group.ravel()
    attained, starts = _list_attained(margins.tobytes())
    own = attained[starts[group] + x - np.maximum(m - baseline, 0)]
    p_value[both] = own

    def reach(level: float) -> FloatArray:
        """Return P(p_j <= level) of a question with each of the margins, shape (G,)."""
        attaining = np.add.reduceat(attained <= level + _ROUNDING, starts, dtype=np.int64)
        return np.where(attaining > 0, attained[starts + np.maximum(attaining, 1) - 1], 0.0)

    count = np.bincount(group, minlength=len(starts)).astype(float)
    largest = 0.0
    p_adjusted[both] = 1.0
    for level in np.unique(own).tolist():
        # Equal p-values can differ by rounding: the questions that are left are counted anew, none is taken off twice.
        rest = np.bincount(group[own >= level - _ROUNDING], minlength=len(starts)).astype(float)
        largest = max(largest, _any(reach(level), rest))
        if largest > _NEARLY_ONE:
            break
        tied = np.abs(own - level) <= _ROUNDING
        p_adjusted[np.flatnonzero(both)[tied]] = largest
    least = _any(reach(float(np.min(attained[starts]))), count)
    return QuestionTests(_round_down(p_value), _round_down(p_adjusted), float(_round_down(least)))


@lru_cache(maxsize=2)
def _list_attained(margins: bytes) -> tuple[FloatArray, IntArray]:
    """Return the p-values that a question can have, of one margin after the other, and where each begins, shape (G,).

    `margins` are n, k and m of G kinds of questions, int64 of shape (3, G).
    """
    groups = np.frombuffer(margins, dtype=np.int64).reshape(3, -1).T.tolist()
    values = [np.minimum(np.cumsum(_list_probabilities(*group)), 1.0) for group in groups]
    starts = np.cumsum([0, *(len(one) for one in values[:-1])])
    return np.concatenate(values), starts


def _any(probability: FloatArray, count: FloatArray) -> float:
    """Return the probability that any of independent events happens, `count` of them of each `probability`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(count > 0, count * np.log1p(-np.minimum(probability, 1.0)), 0.0)
    return float(-np.expm1(np.sum(logs)))
