"""The best design among all whole numbers of questions, prompt variants and generations within limits.

For each number of variants and generations, the smallest sufficient or the largest affordable number of questions is
known in closed form (design.py), which leaves one array to take the minimum of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.planning.cost import Cost, cost_per_cell
from howsure.stats.planning.variance_components import VarianceComponents, assurance_quantile

__all__ = ["LADDER", "DesignLimits", "DesignSearch"]

#: Numbers of generations and variants that are shown beside the best: up to the best, and these many at least.
LADDER = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_SHOWN = 50
#: Questions that leave nothing but the noise of the prompt.
_ENDLESS = 2.0**60


class DesignLimits(NamedTuple):
    """Questions that there are (maybe infinite), fewest questions, most variants and most generations."""

    available: float
    fewest: float
    variants: int
    generations: int


class DesignSearch(NamedTuple):
    """All designs within the limits, as arrays over variants and generations; either `target` or `budget` is NaN."""

    components: VarianceComponents
    costs: tuple[Cost, ...]
    unit: str
    limits: DesignLimits
    target: float  # standard error
    budget: float
    assurance: float | None = None  # level of the upper limit that is planned with

    def questions(self, K: IntArray, S: IntArray) -> FloatArray:
        """Fewest questions that reach the target, inf where none do; or the most that the budget buys."""
        if math.isnan(self.budget):
            needed = self.components.questions_for(self.target, K, S, assurance=self.assurance)
            return np.maximum(needed, self.limits.fewest)
        # a price that goes into the budget a whole number of times must not lose one to rounding
        bought = np.floor(self.budget / (S * cost_per_cell(self.costs, K, self.unit)) * (1 + 1e-12))
        return np.minimum(bought, self.limits.available)

    def best(self, variants: IntArray | None = None) -> tuple[int, int, int] | None:
        """N, S, K of the best design, of these numbers of variants if they are given; or None."""
        numbers = np.arange(1, self.limits.variants + 1) if variants is None else variants
        S, K = numbers[:, None], np.arange(1, self.limits.generations + 1)
        N = self.questions(K, S)
        possible = (self.limits.fewest <= N) & (self.limits.available >= N) & np.isfinite(N)
        if not np.any(possible):
            return None
        N = np.where(possible, N, 1)
        price = np.where(possible, N * S * cost_per_cell(self.costs, K, self.unit), np.inf)
        variance = np.where(possible, self.components.variance(N, K, S, assurance=self.assurance), np.inf)
        order = (price, variance) if math.isnan(self.budget) else (variance, price)
        row, column = np.unravel_index(_first_smallest(*order), N.shape)
        return int(N[row, column]), int(numbers[row]), int(column) + 1

    def ladder(
        self, best: tuple[int, int, int] | None, *, every: bool = False
    ) -> tuple[IntArray, IntArray, IntArray, list[str]]:
        """N, S, K of the rows beside the best, and what is to be said of each.

        Other generations for the best number of variants, then other variants, each with the best generations for it,
        without those that the budget does not buy; or every combination.
        """
        most_S = self.limits.variants if math.isnan(self.budget) else 1
        _, best_S, best_K = best or (0, most_S, 0)
        steps = np.array(LADDER)
        variants = steps[steps <= min(self.limits.variants, max(best_S, _SHOWN))]
        generations = steps[steps <= min(self.limits.generations, max(best_K, _SHOWN))]
        if every:
            S, K = (axis.ravel() for axis in np.meshgrid(variants, generations, indexing="ij"))
        else:
            others = [found for v in variants if v != best_S and (found := self.best(np.array([v])))]
            S = np.append(np.full(len(generations), best_S), [found[1] for found in others]).astype(np.int64)
            K = np.append(generations, [found[2] for found in others]).astype(np.int64)
        beside = (best_S != S) | (best_K != K)
        S, K = S[beside], K[beside]
        N = self.questions(K, S)
        there = np.minimum(N, self.limits.available)
        bought_little = f"buys fewer than {self.limits.fewest:g} questions"
        if math.isnan(self.budget):
            short = np.where(np.isinf(there), "no number of questions is enough", "short of the goal on all questions")
            remarks = np.where(there < N, short, np.where(np.isinf(there), short, ""))
        else:
            remarks = np.where(there < self.limits.fewest, bought_little, "")
        kept = np.ones(len(N), dtype=bool) if every or not best else remarks != bought_little
        there = np.where(np.isinf(there), 0, there).astype(np.int64)
        return there[kept], S[kept], K[kept], remarks[kept].tolist()

    @property
    def assured(self) -> bool:
        """Whether upper limits are planned with, and not the variances as they were estimated."""
        return self.components.uncertain and assurance_quantile(self.assurance) > 0

    def praise(self) -> str:
        """What the best design is the best at."""
        if math.isnan(self.budget):
            return f"the cheapest in {self.unit}"
        return f"the smallest error for {self.budget:g} {'in cost' if self.unit == 'cost' else self.unit}"

    def reason(self) -> str:
        """Why there is no design."""
        noise, limits = self.components, self.limits
        if math.isnan(self.target):
            return f"the budget does not buy {limits.fewest:g} questions"
        asked = f"{self.target:.4g} is asked"
        if math.isinf(limits.available):
            floor = self._se(_ENDLESS, 1, limits.variants)
            needed = _fewest(lambda S: self._se(_ENDLESS, 1, S) < self.target)
            why = f"no number of questions is enough: the noise of the prompt alone has se {floor:.4g}, {asked}"
            return f"{why}, which takes {needed:.0f} prompt variants or more"
        most = f"all {limits.available:g} questions"
        K = _fewest(lambda K: self._se(limits.available, K, limits.variants) <= self._enough)
        if math.isfinite(K):
            return f"it takes {K:.0f} generations of {most}, {limits.generations} are allowed"
        N = float(noise.questions_for(self.target, limits.generations, limits.variants, assurance=self.assurance))
        enough = "no number of questions" if math.isinf(N) else f"{N:.0f} questions"
        # of endless generations, where they can be told from the questions
        floor = self._se(limits.available, math.inf if noise.known else 1, limits.variants)
        no, alone = "no number of generations is enough", "without any prediction noise"
        if not noise.known:
            no, alone = "one generation is not enough", "with one generation of each"
        few = f"{limits.generations} generation{'s' if limits.generations > 1 else ''} of each"
        S = (
            _fewest(lambda S: self._se(limits.available, limits.generations, S) <= self._enough)
            if noise.crossed
            else math.inf
        )
        prompts = f", or {S:.0f} prompt variants" if limits.variants < S < math.inf else ""
        return f"{no}: {most} have se {floor:.4g} {alone}, {asked}, {enough} would do with {few}{prompts}"

    @property
    def _enough(self) -> float:
        """The target, which rounding must not miss."""
        return self.target * (1 + 1e-12)

    def _se(self, N: float, K: float, S: float) -> float:
        """Standard error of one design, as it is planned with; NaN where unknown."""
        return math.sqrt(float(self.components.variance(N, K, S, assurance=self.assurance)))


def _fewest(enough: Callable[[float], bool], most: float = 2.0**50) -> float:
    """Smallest whole number that is enough, by bisection; inf where `most` is not."""
    if not enough(most):
        return math.inf
    low, high = 0.0, 1.0
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = math.floor((low + high) / 2)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _first_smallest(first: FloatArray, second: FloatArray) -> int:
    """Flat index of the smallest `first`, of those the smallest `second`, of those the earliest, rounding apart."""
    second = np.where(first <= np.min(first) * (1 + 1e-9), second, np.inf)
    return int(np.argmax(second <= np.min(second) * (1 + 1e-9)))
