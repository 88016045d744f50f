"""Search for the best design among all whole numbers of questions, prompt variants and generations within limits.

For each number of variants and generations, the smallest sufficient or the largest affordable number of questions has a
closed form (variance_components.py), so that the best design is the minimum of one array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from howsure.stats.core.cells import FloatArray, IntArray
from howsure.stats.core.claims import CostUnit
from howsure.stats.planning.cost import Cost, cost_per_cell
from howsure.stats.planning.variance_components import VarianceComponents, assurance_quantile

__all__ = ["LADDER", "DesignLimits", "DesignSearch"]

#: Numbers of generations and variants of the rows beside the best: up to the best, and at least up to `_MIN_LADDER`.
LADDER = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_MIN_LADDER = 50
#: Most prompt variants of a design that is searched beyond those allowed.
_MOST_TRIED = 200
#: Number of questions that stands for infinitely many: only the noise of the prompt remains.
_UNLIMITED = 2.0**60


class DesignLimits(NamedTuple):
    """Available questions (or infinity), smallest number of questions, and largest numbers of variants, generations."""

    available: float
    fewest: float
    variants: int
    generations: int


class DesignSearch(NamedTuple):
    """Search over all designs within the limits; exactly one of `target` and `budget` is NaN."""

    components: VarianceComponents
    costs: tuple[Cost, ...]
    unit: CostUnit
    limits: DesignLimits
    target: float  # standard error
    budget: float
    assurance: float | None = None  # one-sided level of the upper limit of the variance

    def questions(self, K: IntArray, S: IntArray) -> FloatArray:
        """Return the smallest number of questions for the target (inf if none), or the largest for the budget."""
        if math.isnan(self.budget):
            needed = self.components.questions_for(self.target, K, S, assurance=self.assurance)
            return np.maximum(needed, self.limits.fewest)
        # rounding must not lose a question where the budget is a multiple of the price
        affordable = np.floor(self.budget / (S * cost_per_cell(self.costs, K, self.unit)) * (1 + 1e-12))
        return np.minimum(affordable, self.limits.available)

    def best(self, variants: IntArray | None = None) -> tuple[int, int, int] | None:
        """Return N, S, K of the best design, optionally with these numbers of variants only; None if there is none."""
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
        """Return N, S, K and the remarks of the rows beside the best.

        They have other generations for the best number of variants, then other variants with the best generations for
        each, without those that the budget cannot pay; or, if `every`, all combinations.
        """
        most_S = self.limits.variants if math.isnan(self.budget) else 1
        _, best_S, best_K = best or (0, most_S, 0)
        steps = np.array(LADDER)
        variants = steps[steps <= min(self.limits.variants, max(best_S, _MIN_LADDER))]
        generations = steps[steps <= min(self.limits.generations, max(best_K, _MIN_LADDER))]
        if every:
            S, K = (axis.ravel() for axis in np.meshgrid(variants, generations, indexing="ij"))
        else:
            others = [design for v in variants if v != best_S and (design := self.best(np.array([v])))]
            S = np.append(np.full(len(generations), best_S), [design[1] for design in others]).astype(np.int64)
            K = np.append(generations, [design[2] for design in others]).astype(np.int64)
        beside = (best_S != S) | (best_K != K)
        S, K = S[beside], K[beside]
        N = self.questions(K, S)
        possible = np.minimum(N, self.limits.available)
        too_few = f"buys fewer than {self.limits.fewest:g} questions"
        if math.isnan(self.budget):
            short = np.where(
                np.isinf(possible), "no number of questions is enough", "short of the goal on all questions"
            )
            remarks = np.where(possible < N, short, np.where(np.isinf(possible), short, ""))
        else:
            remarks = np.where((possible < self.limits.fewest) & (best is not None), too_few, "")
        if best is None and not math.isnan(self.budget):
            rows = possible > 0
            rows[0] = True  # which shows that the budget buys no question
        else:
            rows = np.ones(len(N), dtype=bool) if every or not best else remarks != too_few
        possible = np.where(np.isinf(possible), 0, possible).astype(np.int64)
        return possible[rows], S[rows], K[rows], remarks[rows].tolist()

    @property
    def assured(self) -> bool:
        """Whether the plan uses upper limits of the variances rather than their estimates."""
        return self.components.uncertain and assurance_quantile(self.assurance) > 0

    def merit(self) -> str:
        """Return the remark of a best design: what it is the best at."""
        if math.isnan(self.budget):
            return f"the cheapest in {self.unit}"
        return f"the smallest error for {self._format_price(self.budget)}"

    def _format_price(self, price: float) -> str:
        """Return a number in the unit of the budget."""
        number = f"{price:.0f}" if price >= 1000 else f"{price:.6g}"
        return f"{number} {'in cost' if self.unit == 'cost' else self.unit}"

    @property
    def assurance_text(self) -> str:
        """The part of a note that states the assurance; '' where the plan takes the estimates."""
        return f", with the upper {self.assurance:.0%} limit of its variance".replace("%", " %") if self.assured else ""

    def reason(self) -> str:
        """Return the reason why no design within the limits reaches the target or fits the budget."""
        noise, limits = self.components, self.limits
        error = "se_assured" if self.assured else "se"
        if math.isnan(self.target):
            price = limits.fewest * float(cost_per_cell(self.costs, 1, self.unit))
            what = f"the budget of {self._format_price(self.budget)} does not buy {limits.fewest:g} questions"
            return f"{what}: one generation of each takes {self._format_price(price)}"
        target = f"{self.target:.4g} is asked"
        if math.isinf(limits.available):
            remaining = self._se(_UNLIMITED, 1, limits.variants)
            needed = _smallest_sufficient(lambda S: self._se(_UNLIMITED, 1, S) < self.target)
            no = f"no number of questions is enough{self.assurance_text}"
            why = f"{no}: the noise of the prompt alone has {error} {remaining:.4g}, {target}"
            return f"{why}, which takes {needed:.0f} prompt variants or more"
        most = f"all {limits.available:g} questions"
        if math.isfinite(K := self._smallest_generations()):
            return f"it takes {K:.0f} generations of {most}, {limits.generations} are allowed{self.assurance_text}"
        # with infinitely many generations, where their noise can be separated from that of the questions
        remaining = self._se(limits.available, math.inf if noise.is_separable else 1, limits.variants)
        no = "no number of generations is enough: even without any sampling noise"
        if not noise.is_separable:
            no = "one generation is not enough: with one of each"
        limit = f" (its upper {self.assurance:.0%} limit)".replace("%", " %") if self.assured else ""
        return f"{no}, {most} have a standard error of {remaining:.4g}{limit}, and the goal needs {self.target:.4g}"

    def limiting_reason(self, best: tuple[int, int, int]) -> str:
        """Return what more questions would give for the same budget; '' where their number does not limit it."""
        N, S, K = best
        more = self._replace(limits=self.limits._replace(available=self.components.population)).best()
        most = self.limits.available
        if math.isnan(self.budget) or more is None or more[0] <= most:
            return ""
        price = N * S * float(cost_per_cell(self.costs, K + 1, self.unit))
        is_least = most == N and self.limits.generations > K and price <= self.budget
        name = "se_assured" if self.assured else "se"
        why = f", and more generations of them do not lower {name}" if is_least else ""
        error = f"{name} {self._se(more[0], more[2], more[1]):.2g}"
        prompts = f" in {more[1]} prompt variants" if more[1] > 1 else ""
        bought = f"{more[0]} questions{prompts} with {_count_generations(more[2])} of each, {error}"
        return f"{most:.0f} questions limit the plan{why}: {self._format_price(self.budget)} would buy {bought}"

    def more_questions(self) -> str:
        """Return the cheapest design with more questions, and the one with the fewest, where generations do not help.

        That none would do where it is so; '' where more generations would do, or the number of questions is no limit.
        """
        limits = self.limits
        if math.isnan(self.target) or math.isinf(limits.available):
            return ""
        if self._smallest_generations() < math.inf:
            return ""
        if cheapest := self._replace(limits=limits._replace(available=self.components.population)).best():
            N, variants, K = cheapest
            prompts = f" in {variants} prompt variants" if variants > 1 else ""
            text = f"{N:,} questions{prompts} with {_count_generations(K)} of each would do, {self.merit()}"
            most_K = min(limits.generations, _MIN_LADDER)
            needed = self.questions(np.arange(1, most_K + 1), np.array(variants))
            if (fewest := int(np.min(needed, initial=N))) < N:
                few_K = int(np.argmin(needed)) + 1
                text += f"; or {fewest:,} with {few_K} of each, the fewest with at most {most_K} generations"
            return text
        none = f"no number of questions would do with {_count_generations(limits.generations)} of each"
        if not self.components.has_variants:
            return none
        most = min(self.components.population, _UNLIMITED)
        S = _smallest_sufficient(lambda S: self._se(most, limits.generations, S) <= self._tolerant_target)
        wider = limits._replace(available=self.components.population, variants=int(2 * min(S, _MOST_TRIED)))
        if limits.variants < S <= _MOST_TRIED and (more := self._replace(limits=wider).best()):
            each = f"{_count_generations(more[2])} of each"
            return f"{more[0]:,} questions in {more[1]} prompt variants with {each} would do"
        return f"{none}, nor fewer than {S:.0f} prompt variants" if limits.variants < S < math.inf else none

    def _smallest_generations(self) -> float:
        """Return the fewest generations with which all questions reach the target; inf where none do."""
        limits = self.limits
        return _smallest_sufficient(lambda K: self._se(limits.available, K, limits.variants) <= self._tolerant_target)

    @property
    def _tolerant_target(self) -> float:
        """The target with a tolerance for rounding."""
        return self.target * (1 + 1e-12)

    def _se(self, N: float, K: float, S: float) -> float:
        """Return the planned standard error of one design; NaN where unknown."""
        return math.sqrt(float(self.components.variance(N, K, S, assurance=self.assurance)))


def _smallest_sufficient(is_sufficient: Callable[[float], bool], largest: float = 2.0**50) -> float:
    """Return the smallest sufficient whole number by bisection; inf where `largest` is not sufficient."""
    if not is_sufficient(largest):
        return math.inf
    low, high = 0.0, 1.0
    while not is_sufficient(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = math.floor((low + high) / 2)
        low, high = (low, middle) if is_sufficient(middle) else (middle, high)
    return high


def _count_generations(number: int) -> str:
    """Return a number of generations with its noun."""
    return f"{number} generation{'s' if number > 1 else ''}"


def _first_smallest(first: FloatArray, second: FloatArray) -> int:
    """Return the flat index of the smallest `first`, ties (up to rounding) broken by `second`, then by position."""
    second = np.where(first <= np.min(first) * (1 + 1e-9), second, np.inf)
    return int(np.argmax(second <= np.min(second) * (1 + 1e-9)))
