"""Estimate the requests, tokens, money and time of a run before anything is sent; `--dry-run` prints the estimate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from howsure.benchmarks.question import Message
from howsure.sample.experiment import Experiment
from howsure.sample.model_config import ModelConfig
from howsure.sample.model_job import RequestSize
from howsure.sample.prices import PICO_PER_DOLLAR, Price, bound_prompt_tokens, estimate_prompt_tokens, format_dollars
from howsure.sample.progress import format_duration
from howsure.sample.resume import StoredCells, read_stored_cells
from howsure.sample.sampling_plan import SamplingPlan, build_plans
from howsure.stats.core.results import Columns, Result, RowNotes
from howsure.store.responses import is_run

#: Assumptions: tokens of a completion, seconds before its first token, and tokens per second after it.
ASSUMED_TOKENS, ASSUMED_WAIT, ASSUMED_TOKENS_PER_SECOND = 500, 1.0, 50.0


@dataclass(frozen=True, kw_only=True)
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


_COLUMNS = tuple(ModelEstimate.__dataclass_fields__)


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

        def convert(name: str, value: object) -> object:
            if value is None:
                return math.nan
            return value / PICO_PER_DOLLAR if name.startswith("cost") and isinstance(value, int) else value

        names = [name for name in _COLUMNS if name != "benchmark" or self.has_several_benchmarks]
        # The arrays have dtype object, so that counts stay integers beside a NaN.
        each = {name: [convert(name, getattr(model, name)) for model in self.models] for name in names}
        return {name: np.array(values, dtype=object) for name, values in each.items()}

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
            counts = (name for name in _COLUMNS if name not in {"model", "benchmark", "seconds", "note"})
            sums: dict[str, Any] = {name: _add_known(getattr(model, name) for model in self.models) for name in counts}
            rows.append(_format_row(ModelEstimate(model="all", benchmark="all", seconds=self.seconds, **sums)))
        names = [name for name in rows[0] if name != "benchmark" or self.has_several_benchmarks]
        return {name: np.array([row[name] for row in rows], dtype=object) for name in names}


def estimate_model(
    config: ModelConfig,
    prompts: Iterable[tuple[Sequence[Message], int]],
    *,
    benchmark: str = "",
    wanted: int,
    there: int,
    price: Price | None = None,
    mean_tokens: float | None = None,
    choices: int | None = None,
) -> ModelEstimate:
    """Estimate the requests, tokens, money and time of one model. Nothing is sent.

    The expected tokens of a prompt are those of `estimate_prompt_tokens`; a prompt is billed once for all generations
    of one request. The time is the longest of: requests at `concurrency`, requests per minute, tokens per minute.

    Parameters
    ----------
    prompts
        The messages of each prompt with missing generations, and the number of these.
    wanted, there
        Number of all cells, and of those that are stored.
    mean_tokens
        Mean tokens of the stored completions; None, if there are none, assumes 500.
    choices
        Largest number of generations per request; None for that of the configuration.
    """
    missing = requests = prompt = prompt_most = 0
    size = choices or RequestSize(config).limit
    for messages, n in prompts:
        times = math.ceil(n / size)
        missing, requests = missing + n, requests + times
        prompt += times * estimate_prompt_tokens(messages)
        prompt_most += times * bound_prompt_tokens(messages)
    bound, notes = config.max_completion_tokens, []
    mean = min(ASSUMED_TOKENS if mean_tokens is None else mean_tokens, math.inf if bound is None else bound)
    if mean_tokens is None:
        notes.append(f"completions are assumed to take {mean:g} tokens")
    if price is None:
        notes.append("no price is known")
    if bound is None:
        notes.append("completions have no bound: no max_tokens")
    completion, completion_most = math.ceil(missing * mean), None if bound is None else missing * bound
    is_immediate = config.kind in {"simulated", "replay"}
    each = 0.0 if is_immediate else ASSUMED_WAIT + mean / ASSUMED_TOKENS_PER_SECOND
    seconds = max(
        math.ceil(requests / config.concurrency) * each,
        60 * requests / (config.requests_per_minute or math.inf),
        60 * (prompt + completion) / (config.tokens_per_minute or math.inf),
    )
    if not is_immediate:
        notes.append(_describe_time(min(requests, config.concurrency), seconds, requests * each))
    return ModelEstimate(
        model=config.label,
        benchmark=benchmark,
        cells=wanted,
        there=there,
        missing=missing,
        requests=requests,
        prompt_tokens=prompt,
        prompt_tokens_most=prompt_most,
        completion_tokens=completion,
        completion_tokens_most=completion_most,
        cost=None if price is None else price.cost(prompt, completion, requests),
        cost_most=None
        if price is None or completion_most is None
        else price.cost(prompt_most, completion_most, requests),
        seconds=seconds,
        note=RowNotes(*notes),
    )


def _describe_time(n_at_once: int, seconds: float, seconds_one_by_one: float) -> str:
    """Return the note on what the time assumes, with the longer time of an endpoint that answers one by one."""
    speed = f"{ASSUMED_WAIT:g} s and {ASSUMED_TOKENS_PER_SECOND:g} tokens per s"
    if n_at_once < 2:
        return f"time assumes requests of {speed}"
    note = f"time assumes {n_at_once} requests at once, each of {speed}"
    return f"{note} ({format_duration(seconds_one_by_one)} one by one)" if seconds_one_by_one > seconds else note


def _add_known(values: Iterable[int | None]) -> int | None:
    """Return the sum, or None if a value is None."""
    counts = list(values)
    return None if None in counts else sum(value for value in counts if value is not None)


def _format_row(model: ModelEstimate) -> Mapping[str, str]:
    """Return one row of the printed table: tokens and cost, approximate and at most."""

    def write(count: int | None) -> str:
        return "?" if count is None else f"{count:,}"

    def write_dollars(pico: int | None) -> str:
        return "?" if pico is None else format_dollars(pico)

    return {
        "model": model.model,
        "benchmark": model.benchmark,
        "cells": write(model.cells),
        "there": write(model.there),
        "missing": write(model.missing),
        "requests": write(model.requests),
        "prompt": write(model.prompt_tokens),
        "prompt ≤": write(model.prompt_tokens_most),
        "completion": write(model.completion_tokens),
        "completion ≤": write(model.completion_tokens_most),
        "cost": write_dollars(model.cost),
        "cost ≤": write_dollars(model.cost_most),
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
    return Estimate(
        tuple(each for plan in plans for each in _estimate_plan(plan, stored[plan.benchmark.name], retry=retry))
    )


def _estimate_plan(plan: SamplingPlan, stored: Mapping[str, StoredCells], *, retry: bool) -> Iterator[ModelEstimate]:
    """Yield the estimate of each model on one benchmark."""
    missing = plan.find_missing(stored, retry=retry)
    for config in plan.experiment.models:
        cells, tokens = missing[config.label], stored[config.label].completion_tokens
        tasks = cells.tasks(plan.question_ids, plan.variant_ids, config.generations)
        yield estimate_model(
            config,
            (
                (plan.variants[task.variant].messages(plan.questions[task.question]), len(task.generations))
                for task in tasks
            ),
            benchmark=plan.benchmark.name,
            wanted=cells.wanted,
            there=cells.there,
            price=plan.prices[config.label],
            mean_tokens=tokens / cells.there if tokens and cells.there else None,
        )
