"""Cost of a design: a prompt is paid once per request, a completion once per generation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError
from howsure.stats.core.cells import FloatArray
from howsure.stats.core.claims import COST_UNITS, CostUnit, check_choice

__all__ = ["Cost", "cost_per_cell"]


@dataclass(frozen=True)
class Cost:
    """Cost of one model's generations.

    Attributes
    ----------
    prompt_tokens, completion_tokens
        Average number of tokens of one prompt and of one completion; NaN where unknown.
    input_price, output_price
        Price per million tokens of prompts and of completions; NaN where unknown.
    generations_per_request
        Largest number of generations that one request returns. With 1, each generation pays for its prompt again.

    Examples
    --------
    >>> cost = Cost(prompt_tokens=400, completion_tokens=100, input_price=3, output_price=15, generations_per_request=8)
    >>> [float(cost.cell(10, unit)) for unit in COST_UNITS]
    [2.0, 1800.0, 0.0174]
    """

    prompt_tokens: float = math.nan
    completion_tokens: float = math.nan
    input_price: float = math.nan
    output_price: float = math.nan
    generations_per_request: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value < 0 or math.isinf(value):
                raise InputError(f"{field.name} is {value!r}", where="Cost", remedy="allowed: 0 or more")
        n = self.generations_per_request
        if n != int(n) or n < 1:
            raise InputError(f"generations_per_request is {n!r}", where="Cost", remedy="allowed: 1, 2, 3, ...")

    def request(self, unit: CostUnit) -> float:
        """Return the cost of a request without its generations."""
        check_choice("unit", unit, COST_UNITS)
        return {"calls": 1.0, "tokens": self.prompt_tokens, "cost": self.prompt_tokens * self.input_price / 1e6}[unit]

    def generation(self, unit: CostUnit) -> float:
        """Return the cost that each generation adds."""
        check_choice("unit", unit, COST_UNITS)
        return {
            "calls": 0.0,
            "tokens": self.completion_tokens,
            "cost": self.completion_tokens * self.output_price / 1e6,
        }[unit]

    def cell(self, n_generations: ArrayLike, unit: CostUnit) -> FloatArray:
        """Return the cost of K generations of one prompt, any shape; NaN where tokens or prices are unknown."""
        K = np.asarray(n_generations, float)
        requests = np.ceil(K / self.generations_per_request)
        cost: FloatArray = requests * self.request(unit) + K * self.generation(unit)
        return cost


def cost_per_cell(costs: Sequence[Cost], n_generations: ArrayLike, unit: CostUnit) -> FloatArray:
    """Return the cost of K generations of one prompt by all models, in the shape of `n_generations`."""
    cells = [cost.cell(n_generations, unit) for cost in costs]
    total: FloatArray = np.sum(cells, axis=0)
    return total
