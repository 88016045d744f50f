"""The difference of two models with one generation per question and scores of 0 and 1, by Tango's interval.

`b` questions are answered by the first model only, `c` by the second only, of `n`; the others say nothing of the
difference. The interval takes the quantile of the normal distribution and ends at -1 and 1.

Tango (1998): all differences that the score test does not reject, its variance being that of the most likely chances
under each difference.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from oracles.difficulty import bisect

Interval = tuple[float, float]


def restricted_chance(b: int, c: int, n: int, difference: float) -> float:
    """The most likely p21 if p12 = p21 + difference: where the derivative of the log-likelihood changes its sign.

    log-likelihood = b log(p21 + difference) + c log(p21) + (n - b - c) log(1 - 2 p21 - difference), which is concave.
    """
    low, high = max(0.0, -difference), (1 - difference) / 2

    def rises(p21: float) -> bool:
        slope = 0.0
        for count, chance, change in ((b, p21 + difference, 1), (c, p21, 1), (n - b - c, 1 - 2 * p21 - difference, -2)):
            if count > 0:
                slope += count * change / chance if chance > 0 else math.copysign(math.inf, change)
        return slope > 0

    return bisect(rises, low, high)


def score_statistic(b: int, c: int, n: int, difference: float) -> float:
    """(b - c - n difference)/sqrt(n (p12 + p21 - difference^2)) at the most likely chances."""
    p21 = restricted_chance(b, c, n, difference)
    variance = n * (2 * p21 + difference - difference**2)
    distance = b - c - n * difference
    if variance <= 1e-15 * n:
        return 0.0 if abs(distance) <= 1e-12 * n else math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)


def tango(b: int, c: int, n: int, level: float) -> Interval:
    """Both differences at which the score statistic equals the quantile; it falls as the difference grows."""
    z, seen = NormalDist().inv_cdf(0.5 + level / 2), (b - c) / n
    low = -1.0 if c == n else bisect(lambda difference: score_statistic(b, c, n, difference) > z, -1.0, seen)
    high = 1.0 if b == n else bisect(lambda difference: score_statistic(b, c, n, difference) >= -z, seen, 1.0)
    return low, high
