"""Estimate the requests, tokens, money and time of a run before anything is sent; `--dry-run` prints the estimate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from howsure.benchmarks.question import Message
from howsure.sample.experiment import Experiment
from howsure.sample.model_config import ModelConfig
from howsure.sample.model_job import RequestSize
from howsure.sample.prices import PICO_PER_DOLLAR, Price, bound_prompt_tokens, estimate_prompt_tokens, format_dollars
from howsure.sample.resume import StoredCells, read_stored_cells
from howsure.sample.sampling_plan import SamplingPlan, build_plans
from howsure.stats.core.results import Columns, Result, RowNotes
from howsure.store.responses import is_run

#: Assumptions: tokens of a completion, seconds before its first token, and tokens per second after it.
ASSUMED_TOKENS, ASSUMED_WAIT, ASSUMED_TOKENS_PER_SECOND = 500, 1.0, 50.0


class PromptDemand(NamedTuple):
    """One prompt with missing generations."""

    expected_tokens: int
    """Approximate tokens of the prompt."""
    most_tokens: int
    """Upper bound of the tokens of the prompt."""
    generations: int

    @classmethod
    def build(cls, messages: Sequence[Message], generations: int) -> PromptDemand:
        """Count the tokens of a prompt."""
        return cls(estimate_prompt_tokens(messages), bound_prompt_tokens(messages), generations)


@dataclass(frozen=True, kw_only=True)
class ModelDemand:
    """The generations that one model has to sample, with its speed and its price as far as they are known."""

    model: str
    benchmark: str = ""
    wanted: int
    """Number of all cells, stored or missing."""
    there: int
    missing: Iterable[PromptDemand]
    """Prompts with missing generations; the iterable is consumed once."""
    choices: int | None = None
    """Largest number of generations per request; None if one request may contain all missing ones of a prompt."""
    max_completion_tokens: int | None = None
    """Largest number of tokens of a completion; None for no limit."""
    mean_completion_tokens: float | None = None
    """Mean tokens of the stored completions; None if there are none."""
    price: Price | None = None
    concurrency: int = 64
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    seconds: float | None = None
    """Seconds of one request; None if unknown, so that a value is assumed."""


@dataclass(frozen=True)
class ModelEstimate:
    """The estimate of one model on one benchmark; it does not include attempts that fail and are repeated."""

    model: str
    benchmark: str
    cells: int
    there: int
    missing: int
    """Generations that are still to be sampled."""
    requests: int
    prompt_tokens: int
    prompt_tokens_most: int
    completion_tokens: int
    completion_tokens_most: int | None
    """Upper bound of the tokens; None if the length of the completions has no limit."""
    cost: int | None
    """Approximate pico-dollars; None if no price is known."""
    cost_most: int | None
    """Upper bound in pico-dollars; None if no price is known or the length of the completions has no limit."""
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class Estimate(Result):
    """The estimate of a run, by model."""

    models: tuple[ModelEstimate, ...]

    @property
    def cost(self) -> int | None:
        """The approximate cost of all models in pico-dollars; None if a price is unknown."""
        return _add_known(model.cost for model in self.models)

    @property
    def cost_most(self) -> int | None:
        """The upper bound of the cost of all models in pico-dollars; None if one model has no bound."""
        return _add_known(model.cost_most for model in self.models)

    @property
    def seconds(self) -> float:
        """The seconds of the slowest model, because models run at the same time, on all their benchmarks."""
        seconds: dict[str, float] = {}
        for model in self.models:
            seconds[model.model] = seconds.get(model.model, 0.0) + model.seconds
        return max(seconds.values(), default=0.0)

    def columns(self) -> Columns:
        """Return one row per model: cells, tokens, cost in dollars, seconds; NaN where unknown or unbounded.

        With several benchmarks there is a row for each model and `benchmark`.
        """
        rows = [_build_row(model) for model in self.models]
        names = [name for name in _COLUMNS if name != "benchmark" or self.has_several_benchmarks]
        # The arrays have dtype object, so that counts stay integers beside a NaN.
        return {name: np.array([row[name] for row in rows], dtype=object) for name in names}

    @property
    def has_several_benchmarks(self) -> bool:
        """Whether the models have several benchmarks."""
        return len({model.benchmark for model in self.models}) > 1

    def text_columns(self) -> Columns:
        """Return the columns of the printed table: tokens and cost, approximate and at most, and a row for all."""
        if not self.models:
            return {"model": np.array([], dtype=object)}
        rows = [_format_row(model) for model in self.models]
        if len(rows) > 1:
            rows.append(_format_row(self._total()))
        if not self.has_several_benchmarks:
            rows = [{name: text for name, text in row.items() if name != "benchmark"} for row in rows]
        return {name: np.array([row[name] for row in rows], dtype=object) for name in rows[0]}

    def _total(self) -> ModelEstimate:
        """Return the estimate of all models together."""
        each = self.models
        return ModelEstimate(
            model="all",
            benchmark="all",
            cells=sum(model.cells for model in each),
            there=sum(model.there for model in each),
            missing=sum(model.missing for model in each),
            requests=sum(model.requests for model in each),
            prompt_tokens=sum(model.prompt_tokens for model in each),
            prompt_tokens_most=sum(model.prompt_tokens_most for model in each),
            completion_tokens=sum(model.completion_tokens for model in each),
            completion_tokens_most=_add_known(model.completion_tokens_most for model in each),
            cost=self.cost,
            cost_most=self.cost_most,
            seconds=self.seconds,
        )


def estimate_costs(demands: Iterable[ModelDemand]) -> Estimate:
    """Estimate the requests, tokens, money and time of each model. Nothing is sent.

    Expected tokens are those of `estimate_prompt_tokens` and the mean of the stored completions, or 500 each; a prompt
    is billed once for all generations of one request. The time is the longest of: requests at `concurrency`, requests
    per minute, tokens per minute.
    """
    return Estimate(tuple(_estimate_model(demand) for demand in demands))


def _estimate_model(demand: ModelDemand) -> ModelEstimate:
    """Return the estimate of one model."""
    missing = requests = prompt = prompt_most = 0
    for prompt_demand in demand.missing:
        n = prompt_demand.generations
        times = math.ceil(n / (demand.choices or max(1, n)))
        missing += n
        requests += times
        prompt += times * prompt_demand.expected_tokens
        prompt_most += times * prompt_demand.most_tokens
    mean, notes = _find_mean_tokens(demand)
    completion = math.ceil(missing * mean)
    completion_most = None if demand.max_completion_tokens is None else missing * demand.max_completion_tokens
    cost = cost_most = None
    if demand.price is None:
        notes.append("no price is known")
    else:
        cost = demand.price.cost(prompt, completion, requests)
        if completion_most is not None:
            cost_most = demand.price.cost(prompt_most, completion_most, requests)
    if demand.max_completion_tokens is None:
        notes.append("completions have no bound: no max_tokens")
    each = ASSUMED_WAIT + mean / ASSUMED_TOKENS_PER_SECOND if demand.seconds is None else demand.seconds
    limits = [math.ceil(requests / demand.concurrency) * each]
    if demand.requests_per_minute is not None:
        limits.append(60 * requests / demand.requests_per_minute)
    if demand.tokens_per_minute is not None:
        limits.append(60 * (prompt + completion) / demand.tokens_per_minute)
    if demand.seconds is None:
        notes.append(_describe_time(min(requests, demand.concurrency), max(limits), requests * each))
    return ModelEstimate(
        model=demand.model,
        benchmark=demand.benchmark,
        cells=demand.wanted,
        there=demand.there,
        missing=missing,
        requests=requests,
        prompt_tokens=prompt,
        prompt_tokens_most=prompt_most,
        completion_tokens=completion,
        completion_tokens_most=completion_most,
        cost=cost,
        cost_most=cost_most,
        seconds=max(limits),
        note=RowNotes(*notes),
    )


def _describe_time(n_at_once: int, seconds: float, seconds_one_by_one: float) -> str:
    """Return the note on what the time assumes, with the longer time of an endpoint that answers one by one."""
    from howsure.sample.progress import format_duration

    speed = f"{ASSUMED_WAIT:g} s and {ASSUMED_TOKENS_PER_SECOND:g} tokens per s"
    if n_at_once < 2:
        return f"time assumes requests of {speed}"
    note = f"time assumes {n_at_once} requests at once, each of {speed}"
    return f"{note} ({format_duration(seconds_one_by_one)} one by one)" if seconds_one_by_one > seconds else note


def _find_mean_tokens(demand: ModelDemand) -> tuple[float, list[str]]:
    """Return the approximate tokens of a completion, with a note if they are assumed."""
    bound = math.inf if demand.max_completion_tokens is None else demand.max_completion_tokens
    if demand.mean_completion_tokens is not None:
        return min(demand.mean_completion_tokens, bound), []
    mean = min(ASSUMED_TOKENS, bound)
    return mean, [f"completions are assumed to take {mean:g} tokens"]


def _add_known(values: Iterable[int | None]) -> int | None:
    """Return the sum, or None if a value is None."""
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _build_row(model: ModelEstimate) -> Mapping[str, object]:
    """Return one row of `columns`."""
    return {
        **vars(model),
        "completion_tokens_most": math.nan if model.completion_tokens_most is None else model.completion_tokens_most,
        "cost": math.nan if model.cost is None else model.cost / PICO_PER_DOLLAR,
        "cost_most": math.nan if model.cost_most is None else model.cost_most / PICO_PER_DOLLAR,
    }


_COLUMNS = tuple(ModelEstimate.__dataclass_fields__)


def _format_row(model: ModelEstimate) -> Mapping[str, str]:
    """Return one row of the printed table: tokens and cost, approximate and at most."""
    from howsure.sample.progress import format_duration

    def format_cost(pico: int | None) -> str:
        return "?" if pico is None else format_dollars(pico)

    most = model.completion_tokens_most
    return {
        "model": model.model,
        "benchmark": model.benchmark,
        "cells": f"{model.cells:,}",
        "there": f"{model.there:,}",
        "missing": f"{model.missing:,}",
        "requests": f"{model.requests:,}",
        "prompt": f"{model.prompt_tokens:,}",
        "prompt ≤": f"{model.prompt_tokens_most:,}",
        "completion": f"{model.completion_tokens:,}",
        "completion ≤": "?" if most is None else f"{most:,}",
        "cost": format_cost(model.cost),
        "cost ≤": format_cost(model.cost_most),
        "time": format_duration(model.seconds),
        "note": model.note,
    }


def dry_run(experiment: Experiment, folder: Path, *, retry: bool = False) -> Estimate:
    """Estimate the cost and time of the cells that the run in this folder still lacks; nothing is sent or written.

    Raises
    ------
    InputError
        As for `sample.run.run` before it sends anything, except for keys, which are not needed.
    """
    return estimate_plans(build_plans(experiment), folder, retry=retry)


def estimate_plans(plans: Sequence[SamplingPlan], folder: Path, *, retry: bool = False) -> Estimate:
    """Estimate the cost and time of the cells of these plans that the run in this folder still lacks."""
    wanted = {plan.benchmark.name: plan.build_wanted() for plan in plans}
    if is_run(folder):
        stored = read_stored_cells(folder, wanted)
    else:
        empty = StoredCells({}, {}, 0, 0, 0, {}, {})
        stored = {name: dict.fromkeys(each.tallies, empty) for name, each in wanted.items()}
    demands = [_list_demands(plan, stored[plan.benchmark.name], retry=retry) for plan in plans]
    return estimate_costs(demand for each in demands for demand in each)


def _list_demands(plan: SamplingPlan, stored: Mapping[str, StoredCells], *, retry: bool) -> Iterator[ModelDemand]:
    """Yield what each model has to sample of one benchmark."""
    missing = plan.find_missing(stored, retry=retry)

    def build_prompts(config: ModelConfig) -> Iterator[PromptDemand]:
        for task in missing[config.label].tasks(plan.question_ids, plan.variant_ids, config.generations):
            messages = plan.variants[task.variant].messages(plan.questions[task.question])
            yield PromptDemand.build(messages, len(task.generations))

    for config in plan.experiment.models:
        yield ModelDemand(
            model=config.label,
            benchmark=plan.benchmark.name,
            wanted=missing[config.label].wanted,
            there=missing[config.label].there,
            missing=build_prompts(config),
            choices=RequestSize(config).limit,
            max_completion_tokens=config.max_completion_tokens,
            mean_completion_tokens=_mean_stored_tokens(stored[config.label], missing[config.label].there),
            price=plan.prices[config.label],
            concurrency=config.concurrency,
            requests_per_minute=config.requests_per_minute,
            tokens_per_minute=config.tokens_per_minute,
            seconds=0.0 if config.kind in {"simulated", "replay"} else None,
        )


def _mean_stored_tokens(stored: StoredCells, generations: int) -> float | None:
    """Return the mean tokens of a stored completion, or None if there are none."""
    return stored.completion_tokens / generations if stored.completion_tokens and generations else None
