"""The interval for a score of which only an identified set is known, [lower, upper]: Imbens and Manski (2004).

    low = lower - C se_lower,   high = upper + C se_upper
    Phi(C + (upper - lower)/max(se_lower, se_upper)) - Phi(-C) = level

C goes from the two-sided quantile where the set is a point to the one-sided quantile where the set is wide.
"""

from __future__ import annotations

from statistics import NormalDist

from oracles.difficulty import bisect

PHI = NormalDist().cdf


def critical_value(width: float, se: float, level: float) -> float:
    """C by bisection: the left-hand side grows with it."""
    return bisect(lambda c: PHI(c + width / se) - PHI(-c) < level, 0.0, 10.0)


def imbens_manski(lower: float, se_lower: float, upper: float, se_upper: float, level: float) -> tuple[float, float]:
    """The interval that covers each point of the set with the given chance."""
    c = critical_value(upper - lower, max(se_lower, se_upper), level)
    return lower - c * se_lower, upper + c * se_upper
