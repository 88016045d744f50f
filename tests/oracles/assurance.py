"""The upper limit of the data variance that a plan with assurance uses, and the cheapest design, by loops.

Scores come as `scores[model][question]`, a list of individual scores, for two models; d_q is the difference of the two
means of question q and v_q the sum of their within-variances over the numbers of generations.

- D = sum (d_q - mean d)^2/(N - 1) - mean v_q: unbiased;
- its standard error is that of the mean of u_q = (d_q - mean d)^2 - v_q over the questions;
- limit: D + z se(D), z the normal quantile of the assurance, .84 for .8 (Browne 1995; Kieser and Wassmer 1996).
"""

from __future__ import annotations

import math
from statistics import NormalDist, mean, variance
from typing import NamedTuple

NORMAL = NormalDist()


class PairNoise(NamedTuple):
    """D without bias, its standard error, and E of one question."""

    D: float
    se: float
    E: float


def pair_noise(scores: list[list[list[float]]]) -> PairNoise:
    """Components of the difference of two models that have two or more generations of every question."""
    differences, noise, within = [], [], []
    for a, b in zip(*scores, strict=True):
        differences.append(mean(a) - mean(b))
        noise.append(variance(a) / len(a) + variance(b) / len(b))
        within.append(variance(a) + variance(b))
    center = mean(differences)
    spread = [(d - center) ** 2 - v for d, v in zip(differences, noise, strict=True)]
    return PairNoise(variance(differences) - mean(noise), math.sqrt(variance(spread) / len(spread)), mean(within))


def upper_limit(noise: PairNoise, assurance: float) -> float:
    """One-sided limit of D."""
    return noise.D + NORMAL.inv_cdf(assurance) * noise.se


class Design(NamedTuple):
    """Questions, generations per question, and calls of both models."""

    N: int
    k: int
    calls: int


def fewest_calls(D: float, E: float, detect: float, fewest: int = 30, most: int = 50) -> Design:
    """The design with the fewest calls that finds a difference with power .8 at 5 %, if D and E are true."""
    z = NORMAL.inv_cdf(0.975) + NORMAL.inv_cdf(0.8)
    best = None
    for k in range(1, most + 1):
        N = fewest
        while z**2 * (max(D, 0.0) + E / k) / N > detect**2:
            N += 1
        if best is None or 2 * N * k < best.calls:
            best = Design(N, k, 2 * N * k)
    assert best is not None
    return best
