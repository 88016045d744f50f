"""Cost of a design, and scores of models against what they cost.

A prompt is paid once per request, a completion once per generation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howsure.errors import InputError
from howsure.stats.comparisons import pairs
from howsure.stats.core.cells import Cells, FloatArray
from howsure.stats.core.claims import COST_UNITS, CostUnit, check_choice
from howsure.stats.core.results import Conditions, Result
from howsure.stats.scores import score

__all__ = ["Cost", "CostScores", "ModelUsage", "compare_costs", "cost_per_cell"]

#: Relative difference of two mean costs that rounding may make.
_ROUNDING = 1e-12


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
        Largest number of generations that one request returns. With 1, each generation pays for its prompt again. None
        where it is unknown; it counts as 1.

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
    generations_per_request: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.name == "generations_per_request":
                continue
            if value < 0 or math.isinf(value):
                raise InputError(f"{field.name} is {value!r}", where="Cost", remedy="allowed: 0 or more")
        n = self.generations_per_request
        if n is not None and (n != int(n) or n < 1):
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
        requests = np.ceil(K / (self.generations_per_request or 1))
        cost: FloatArray = requests * self.request(unit) + K * self.generation(unit)
        return cost


def cost_per_cell(costs: Sequence[Cost], n_generations: ArrayLike, unit: CostUnit) -> FloatArray:
    """Return the cost of K generations of one prompt by all models, in the shape of `n_generations`."""
    cells = [cost.cell(n_generations, unit) for cost in costs]
    total: FloatArray = np.sum(cells, axis=0)
    return total


@dataclass(frozen=True)
class ModelUsage:
    """What the generations of one model on one benchmark took.

    Attributes
    ----------
    n_generations
        Number of generations that have a completion, scored or not; the others count nowhere here.
    calls
        Number of requests, with those that were repeated.
    tokens
        Tokens of prompts and completions; NaN where they are not recorded.
    cost
        Dollars; NaN where tokens or prices are unknown.
    """

    n_generations: int
    calls: float
    tokens: float = math.nan
    cost: float = math.nan

    def per_generation(self, unit: CostUnit) -> float:
        """Return the mean of a generation; NaN without generations, or where the unit is unknown.

        >>> ModelUsage(n_generations=4, calls=5, tokens=1000).per_generation("tokens")
        250.0
        """
        return float(getattr(self, unit)) / self.n_generations if self.n_generations else math.nan


@dataclass(frozen=True, eq=False)
class CostScores(Result):
    """Scores of M models beside the mean cost of a generation; arrays have shape (M,).

    Attributes
    ----------
    benchmark, models
        Names.
    unit
        Unit of the cost: dollars (`"cost"`) if they are known for every model whose use is recorded, else tokens, else
        calls.
    cost
        Mean cost of a generation; NaN for models whose use is not recorded.
    score, low, high
        Score, and the ends of its interval at `level` for new questions.
    better_for_less
        Names of the models that cost no more and score distinguishably higher, for each model.
    level
        Level of the intervals, and 1 minus the probability of any false entry of `better_for_less`.

    Examples
    --------
    >>> scores = [[[1]] * 20, [[0]] * 20]
    >>> cells = Cells.from_scores("demo", ["a", "b"], [f"q{i}" for i in range(20)], scores)
    >>> usage = {"a": ModelUsage(20, 20, tokens=900), "b": ModelUsage(20, 20, tokens=4000)}
    >>> result = compare_costs(cells, usage)
    >>> result.unit, result.cost.tolist(), result.better_for_less
    ('tokens', [45.0, 200.0], ((), ('a',)))
    """

    benchmark: str
    models: tuple[str, ...]
    unit: CostUnit
    cost: FloatArray
    score: FloatArray
    low: FloatArray
    high: FloatArray
    better_for_less: tuple[tuple[str, ...], ...]
    level: float

    declared = (
        "benchmark model=models unit cost_per_generation=cost score low high better_for_less=_better_for_less "
        "note=_reasons.notes"
    )

    def _better_for_less(self) -> NDArray[np.object_]:
        """Names of the models that score more and cost less."""
        return np.array([", ".join(names) for names in self.better_for_less], dtype=object)

    def _reasons(self) -> Conditions:
        return {"the use of this model is not recorded": np.isnan(self.cost)}


def compare_costs(cells: Cells, usage: Mapping[str, ModelUsage], *, level: float = 0.95) -> CostScores:
    """Compare the scores of models with the mean cost of their generations.

    Parameters
    ----------
    cells
        Scores of all models.
    usage
        What the generations took, by model; models that are missing have no cost.
    level
        Level of the intervals, in (0, 1).

    Returns
    -------
    CostScores

    Notes
    -----
    Model j is better for less than model i if the mean cost of j is at most that of i, the mean difference of their
    scores over common questions is above 0, and its p-value is below 1 - `level` after Holm's adjustment for all pairs.
    No model is called the best: where differences are not distinguishable the cheaper one may be as good, or worse.

    Examples
    --------
    >>> cells = Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], [[[1], [0]], [[0], [1]]])
    >>> compare_costs(cells, {"a": ModelUsage(2, 2), "b": ModelUsage(2, 3)}).cost.tolist()
    [1.0, 1.5]
    """
    used = [usage[model] for model in cells.models if model in usage]
    # calls are the last resort: they are known for every model whose use is recorded
    unit = next(
        (name for name in reversed(COST_UNITS) if all(math.isfinite(getattr(one, name)) for one in used)), COST_UNITS[0]
    )
    cost = np.array([usage[m].per_generation(unit) if m in usage else math.nan for m in cells.models])
    scores = score(cells, level=level)
    interval = scores.interval()
    better: list[list[str]] = [[] for _ in cells.models]
    if len(cells.models) > 1:
        result = pairs(cells, level=level)
        is_distinguishable = result.p_holm < 1 - level
        higher = np.where(result.difference > 0, result.a, result.b)
        lower = np.where(result.difference > 0, result.b, result.a)
        for i in np.flatnonzero(is_distinguishable & (cost[higher] <= cost[lower] * (1 + _ROUNDING))).tolist():
            better[int(lower[i])].append(cells.models[int(higher[i])])
    return CostScores(
        benchmark=cells.benchmark,
        models=cells.models,
        unit=unit,
        cost=cost,
        score=scores.score,
        low=interval.low,
        high=interval.high,
        better_for_less=tuple(map(tuple, better)),
        level=level,
    )
