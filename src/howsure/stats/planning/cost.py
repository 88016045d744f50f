"""What a design costs: a prompt is paid once per request, a completion once per generation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from howsure.errors import InputError, UnknownNameError
from howsure.stats.core.cells import FloatArray

__all__ = ["COST_UNITS", "Cost", "cost_per_cell"]

#: What can be counted, from what is always known to what must be told.
COST_UNITS = ("calls", "tokens", "cost")


@dataclass(frozen=True)
class Cost:
    """Cost of one model's generations.

    Attributes
    ----------
    prompt_tokens, completion_tokens
        Tokens of one prompt and of one completion, on average; NaN where unknown.
    input_price, output_price
        Money per million tokens of prompts and of completions; NaN where unknown.
    generations_per_request
        The most generations that one request returns. With 1 each generation pays for its prompt again.

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

    def request(self, unit: str) -> float:
        """What a request costs before it generates anything."""
        _known_unit(unit)
        return {"calls": 1.0, "tokens": self.prompt_tokens, "cost": self.prompt_tokens * self.input_price / 1e6}[unit]

    def generation(self, unit: str) -> float:
        """What each generation adds."""
        _known_unit(unit)
        return {
            "calls": 0.0,
            "tokens": self.completion_tokens,
            "cost": self.completion_tokens * self.output_price / 1e6,
        }[unit]

    def cell(self, n_generations: ArrayLike, unit: str) -> FloatArray:
        """Cost of K generations of one prompt, any shape; NaN where the unit is unknown."""
        K = np.asarray(n_generations, float)
        requests = np.ceil(K / self.generations_per_request)
        cost: FloatArray = requests * self.request(unit) + K * self.generation(unit)
        return cost


def cost_per_cell(costs: Sequence[Cost], n_generations: ArrayLike, unit: str) -> FloatArray:
    """Cost of K generations of one prompt by each of the models paid for, shape of `n_generations`."""
    cells = [cost.cell(n_generations, unit) for cost in costs]
    total: FloatArray = np.sum(cells, axis=0)
    return total


def _known_unit(unit: str) -> None:
    if unit not in COST_UNITS:
        raise UnknownNameError("unit", unit, COST_UNITS)
