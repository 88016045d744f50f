"""What to run next: detectable differences, power, the smallest design that does it, the cheapest one.

Variances are those of one question (D, E of a model or of a pair), or of the crossed layout of section 6.

Readings taken where section 11 leaves a choice:
- D and E of a pair are of section 4, both models with k generations: SE^2 = (max(D, 0) + E/k)/N;
- the detectable difference neglects a rejection on the wrong side; `power` counts both sides unless told otherwise
  (at the detectable difference the two differ by less than 1e-6 from a power of 0.8 on, but not for tiny effects);
- "enough" is <= target; where D alone is over it, or equal to it with E > 0, no k is: None;
- a design's generations of one question and variant go out in requests of at most `per_request`, each paying c_in;
- N, S and K are whole, searched from 1 to the given limits; a component that is not claimed is given as 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from statistics import NormalDist
from typing import NamedTuple

NORMAL = NormalDist()


def se_of_design(D: float, E: float, N: int, k: float) -> float:
    return math.sqrt((max(D, 0.0) + E / k) / N)


def detectable(se: float, alpha: float, power: float) -> float:
    """(z_{1-alpha/2} + z_power) SE."""
    return (NORMAL.inv_cdf(1 - alpha / 2) + NORMAL.inv_cdf(power)) * se


def power_of(difference: float, se: float, alpha: float, *, both_sides: bool = True) -> float:
    """Chance that |z| exceeds z_{1-alpha/2} when z ~ N(difference/SE, 1)."""
    critical, shift = NORMAL.inv_cdf(1 - alpha / 2), abs(difference) / se
    right = NORMAL.cdf(shift - critical)
    return right + NORMAL.cdf(-shift - critical) if both_sides else right


def smallest_k(
    target: float, D: float, E: float, N: int, alpha: float, power: float, limit: int = 10_000
) -> int | None:
    """The fewest generations per question that make `target` detectable; None when no k up to the limit does."""
    for k in range(1, limit + 1):
        if detectable(se_of_design(D, E, N, k), alpha, power) <= target:
            return k
    return None


def smallest_n(
    target: float, D: float, E: float, k: int, alpha: float, power: float, limit: int = 1_000_000
) -> int | None:
    """The fewest questions."""
    for N in range(1, limit + 1):
        if detectable(se_of_design(D, E, N, k), alpha, power) <= target:
            return N
    return None


class Variances(NamedTuple):
    """Of the crossed layout: questions, variants, their interaction, generations."""

    question: float
    variant: float
    interaction: float
    generation: float


class Price(NamedTuple):
    """What a request costs, and what each generation costs; how many generations one request may ask for."""

    request: float
    generation: float
    per_request: float = math.inf


class Design(NamedTuple):
    """A design and what it buys."""

    cost: float
    se: float
    N: int
    S: int
    K: int


def se_of_crossed(v: Variances, N: int, S: int, K: int) -> float:
    """sqrt(vQ/N + vS/S + vQS/(N S) + ve/(N S K))."""
    return math.sqrt(v.question / N + v.variant / S + v.interaction / (N * S) + v.generation / (N * S * K))


def upper_limit(
    v: Variances,
    errors: Variances,
    covariance: float,
    level: float,
    N: int,
    S: int,
    K: int,
    population: float = math.inf,
) -> float:
    """One-sided upper limit of the squared SE of a design whose variances are estimates with these standard errors.

    What falls with N has a log-normal limit P exp(margin/P), or e margin where the margin is larger than P, and the
    smallest limit of 1, 2, ... K generations counts, because P falls with them; the prompt's variance has a normal
    limit, and both are added as squares. `covariance` is that of the estimates of question and generation. In a finite
    population the part without the question's variance has a limit of its own, which counts 1/population times, and
    the one of P counts (1/N - 1/population) times.
    """
    z = NORMAL.inv_cdf(level)

    def log_normal(P: float, margin: float) -> float:
        return P * math.exp(margin / P) if margin <= P else margin * math.e

    limits, limits_without = [], []
    for k in range(1, K + 1):
        without = v.interaction / S + v.generation / (S * k)
        square = (errors.interaction**2 + errors.generation**2 / k**2) / S**2
        P, joint = v.question + without, max(errors.question**2 + square + 2 * covariance / (S * k), 0)
        limits.append(log_normal(P, z * math.sqrt(joint)))
        limits_without.append(log_normal(without, z * math.sqrt(square)) if without or square else 0.0)
    of_all = 1 / population
    drawn = 1 / N - of_all
    margin = (min(limits) - P) * drawn + (min(limits_without) - without) * of_all
    return P * drawn + without * of_all + v.variant / S + math.hypot(margin, z * errors.variant / S)


def cost_of(price: Price, N: int, S: int, K: int) -> dict[str, float]:
    """Every request of every question and variant, counted one by one."""
    requests = generations = 0
    for _ in product(range(N), range(S)):
        left = K
        while left > 0:
            asked = min(left, price.per_request)
            requests += 1
            generations += asked
            left -= asked
    return {
        "requests": requests,
        "generations": generations,
        "cost": requests * price.request + generations * price.generation,
    }


def designs(v: Variances, price: Price, limits: tuple[int, int, int]) -> Iterator[Design]:
    """All designs up to (N, S, K)."""
    for N, S, K in product(*(range(1, limit + 1) for limit in limits)):
        yield Design(cost_of(price, N, S, K)["cost"], se_of_crossed(v, N, S, K), N, S, K)


def cheapest(v: Variances, price: Price, limits: tuple[int, int, int], target_se: float) -> list[Design]:
    """Every design that reaches the SE at the lowest cost; none when no design does."""
    good = [design for design in designs(v, price, limits) if design.se <= target_se]
    lowest = min((design.cost for design in good), default=math.nan)
    return [design for design in good if design.cost == lowest]


def most_precise(v: Variances, price: Price, limits: tuple[int, int, int], budget: float) -> list[Design]:
    """Every design within the budget that has the smallest SE."""
    good = [design for design in designs(v, price, limits) if design.cost <= budget]
    smallest = min((design.se for design in good), default=math.nan)
    return [design for design in good if design.se == smallest]


def best_k(v: Variances, price: Price, N: int) -> float:
    """Generations per request at which money buys most, for N fixed questions and K in one request; not rounded.

    Spending B on N S (c_in + K c_out) buys S = B/(N (c_in + K c_out)) variants, so the variance that S can reduce is
    (vS + vQS/N + ve/(N K)) N (c_in + K c_out)/B. Found by a search over log K, without calculus.
    """

    def variance_per_money(log_k: float) -> float:
        K = math.exp(log_k)
        return (v.variant + v.interaction / N + v.generation / (N * K)) * (price.request + K * price.generation)

    low, high = math.log(1e-4), math.log(1e6)
    for _ in range(300):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if variance_per_money(left) < variance_per_money(right):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2)
