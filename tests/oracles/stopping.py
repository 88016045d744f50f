"""Looking early without lying, and where the next generation should go.

Readings taken where section 12 leaves a choice:
- t counts whatever is averaged (runs, or questions) and sd_t is the standard deviation of one of them; alpha is two-sided;
- PI's rule looks after 2, 3, ... runs and stops at the first interval whose whole width (high - low) is below `width`,
  the interval being eq. (3) with n' = n as in the paper; n_future = inf is the rule on confidence intervals,
  the one that the 15% of section 12 are about (eq. (3) as published stops later);
- the pooled rule is the same with the pooled interval;
- an allocation gives every question at least `minimum` generations, those that it already has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from oracles.components import Questions
from oracles.difficulty import log_beta
from oracles.repeats import pooled_interval, prediction_interval, run_means, simpson


def half_width(sd: float, t: int, alpha: float, r: float) -> float:
    """sd sqrt(2 (t r^2 + 1)/(t^2 r^2) log(sqrt(t r^2 + 1)/alpha)) (Waudby-Smith et al. 2021)."""
    x = t * r * r
    return sd * math.sqrt(2 * (x + 1) / (t * t * r * r) * math.log(math.sqrt(x + 1) / alpha))


def best_r(t: int, alpha: float) -> float:
    """The r that makes the interval narrowest at time t, by a shrinking search over log r."""
    low, high = math.log(1e-6), math.log(1e3)
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if half_width(1, t, alpha, math.exp(left)) < half_width(1, t, alpha, math.exp(right)):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2)


def run_mean_rule(
    runs: Sequence[float | Fraction], width: float, level: float, n_future: float | None = None
) -> int | None:
    """PI's rule: how many runs were made when it stopped, None if it never did."""
    for n in range(2, len(runs) + 1):
        low, high = prediction_interval(runs[:n], level, n_future)
        if high - low < width:
            return n
    return None


def pooled_rule(questions: Questions, width: float, level: float, n_future: float | None = None) -> int | None:
    """The same on the pooled interval of the first n generations of every question."""
    for n in range(2, len(run_means(questions)) + 1):
        low, high = pooled_interval([row[:n] for row in questions], level, n_future)
        if high - low < width:
            return n
    return None


# ---- allocation over a fixed set of questions


def allocations(budget: int, minimum: Sequence[int]) -> Iterator[list[int]]:
    """Every way to spend exactly `budget` generations with at least minimum[q] on question q."""
    if len(minimum) == 1:
        if budget >= minimum[0]:
            yield [budget]
        return
    for first in range(minimum[0], budget - sum(minimum[1:]) + 1):
        for rest in allocations(budget - first, minimum[1:]):
            yield [first, *rest]


def allocation_cost(s2: Sequence[Fraction | float], counts: Sequence[int]) -> Fraction:
    """sum s2_q / k_q: N^2 times the squared SE for these questions; a variance of 0 costs 0 whatever its k_q."""
    return sum((Fraction(v) / k for v, k in zip(s2, counts, strict=True) if v != 0), Fraction(0))


def best_allocations(
    s2: Sequence[Fraction | float], budget: int, minimum: Sequence[int] | None = None
) -> tuple[Fraction, list[list[int]]]:
    """(smallest cost, every allocation that has it), by trying all; minimum 1 each unless given."""
    floor = list(minimum) if minimum is not None else [1] * len(s2)
    best, winners = None, []
    for counts in allocations(budget, floor):
        cost = allocation_cost(s2, counts)
        if best is None or cost < best:
            best, winners = cost, []
        if cost == best:
            winners.append(counts)
    if best is None:
        raise ValueError("the budget is below the sum of the minima")
    return best, winners


def bound(s2: Sequence[float], budget: int) -> float:
    """(sum s_q)^2 / B: what k_q proportional to s_q costs when counts need not be whole; nothing is cheaper."""
    return sum(math.sqrt(v) for v in s2) ** 2 / budget


def posterior_mean_sd(correct: int, k: int, a: float, b: float) -> float:
    """E[sqrt(p(1-p))] for p ~ Beta(a + correct, b + k - correct), by Simpson over the angle with p = sin(angle)^2.

    The reading of "the posterior mean of s_q" is the mean of the root, not the root of the mean.
    """
    alpha, beta = a + correct, b + k - correct
    constant = math.exp(-log_beta(alpha, beta))

    # sqrt(p(1-p)) * p^(alpha-1) (1-p)^(beta-1) / B * dp, dp = 2 sin cos: 2 sin^(2 alpha) cos^(2 beta) / B.
    # The angle is pi/2 w(v), w' = 630 v^4 (1-v)^4, so that small alpha and beta leave nothing sharp at the ends.
    def integrand(v: float) -> float:
        angle = math.pi / 2 * v**5 * (126 - 420 * v + 540 * v**2 - 315 * v**3 + 70 * v**4)
        step = math.pi / 2 * 630 * (v * (1 - v)) ** 4
        return 2 * constant * math.sin(angle) ** (2 * alpha) * max(0.0, math.cos(angle)) ** (2 * beta) * step

    return simpson(integrand, 0.0, 1.0, 4000)
