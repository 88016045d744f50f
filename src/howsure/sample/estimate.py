"""What a run would take before anything is sent: requests, tokens, money and time of each model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from howsure.benchmarks import load
from howsure.benchmarks.question import Message
from howsure.sample.experiment import Experiment
from howsure.sample.model_config import ModelEntry
from howsure.sample.model_job import Sizes
from howsure.sample.prices import Price, dollars, likely, most
from howsure.sample.resume import Recalled, recall
from howsure.sample.sampling_plan import Asked
from howsure.stats.core.results import Columns, Result, format_table
from howsure.store.responses import is_run

__all__ = ["Estimate", "ModelEstimate", "Owed", "Row", "estimate", "foresee"]

#: Assumed of a completion, of a request before its first token, and of each token after it.
TOKENS, WAIT, PER_SECOND = 500, 1.0, 50.0


class Owed(NamedTuple):
    """One prompt of which generations are owed."""

    likely: int
    """Tokens of the prompt, about."""
    most: int
    """Tokens of the prompt at most."""
    generations: int

    @classmethod
    def of(cls, messages: Sequence[Message], generations: int) -> Owed:
        """What one prompt owes."""
        return cls(likely(messages), most(messages), generations)


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one model is to do."""

    model: str
    wanted: int
    """Cells in all, there or not."""
    there: int
    owed: Iterable[Owed]
    """Read once."""
    choices: int | None = None
    """Generations per request at most; None: as many as a prompt owes."""
    longest: int | None = None
    """Tokens of a completion at most; None: no bound."""
    observed: float | None = None
    """Mean tokens of the completions that are there; None: there are none."""
    price: Price | None = None
    concurrency: int = 64
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    seconds: float | None = None
    """Of one request; None: assumed."""


@dataclass(frozen=True)
class ModelEstimate:
    """One model's estimate. Attempts that fail and are repeated are not in it."""

    model: str
    cells: int
    there: int
    owed: int
    """Generations that are to be sampled."""
    requests: int
    prompt_tokens: int
    prompt_tokens_most: int
    completion_tokens: int
    completion_tokens_most: int | None
    """None: nothing bounds them."""
    cost: int | None
    """Pico-dollars, about; None: no price is known."""
    cost_most: int | None
    """Pico-dollars at most; None: no price is known, or no bound of the completions."""
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class Estimate(Result):
    """What a run would take."""

    models: tuple[ModelEstimate, ...]

    @property
    def cost(self) -> int | None:
        """Pico-dollars of all models, about; None when a price is unknown."""
        return _sum(model.cost for model in self.models)

    @property
    def cost_most(self) -> int | None:
        """Pico-dollars of all models at most; None when one has no bound."""
        return _sum(model.cost_most for model in self.models)

    @property
    def seconds(self) -> float:
        """Models run side by side: the slowest."""
        return max((model.seconds for model in self.models), default=0.0)

    def columns(self) -> Columns:
        """One row per model: cells, tokens as counts, cost in dollars, seconds; NaN where nothing says or bounds it."""
        return {name: _column([shown[name] for shown in map(_numbers, self.models)]) for name in _NAMES}

    def __str__(self) -> str:
        shown = [_texts(model) for model in self.models]
        if len(shown) > 1:
            shown.append(_texts(self._all()))
        return format_table({name: [row[name] for row in shown] for name in shown[0]}) if shown else "no rows"

    def _all(self) -> ModelEstimate:
        each = self.models
        return ModelEstimate(
            model="all",
            cells=sum(model.cells for model in each),
            there=sum(model.there for model in each),
            owed=sum(model.owed for model in each),
            requests=sum(model.requests for model in each),
            prompt_tokens=sum(model.prompt_tokens for model in each),
            prompt_tokens_most=sum(model.prompt_tokens_most for model in each),
            completion_tokens=sum(model.completion_tokens for model in each),
            completion_tokens_most=_sum(model.completion_tokens_most for model in each),
            cost=self.cost,
            cost_most=self.cost_most,
            seconds=self.seconds,
        )


def estimate(rows: Iterable[Row]) -> Estimate:
    """Estimate each model's requests, tokens, money and time. Nothing is sent.

    Expected tokens are those of `likely` and the mean of the completions that are there, or 500 each; a prompt is
    billed once for all generations of one request. Time is the longest of: requests at `concurrency`, requests per
    minute, tokens per minute.
    """
    return Estimate(tuple(_estimate(row) for row in rows))


def _estimate(row: Row) -> ModelEstimate:
    owed = requests = prompt = prompt_most = 0
    for unit in row.owed:
        times = math.ceil(unit.generations / (row.choices or max(1, unit.generations)))
        owed += unit.generations
        requests += times
        prompt += times * unit.likely
        prompt_most += times * unit.most
    mean, notes = _mean(row)
    completion = math.ceil(owed * mean)
    completion_most = None if row.longest is None else owed * row.longest
    cost = cost_most = None
    if row.price is None:
        notes.append("no price is known")
    else:
        cost = row.price.cost(prompt, completion, requests)
        if completion_most is not None:
            cost_most = row.price.cost(prompt_most, completion_most, requests)
    if row.longest is None:
        notes.append("nothing bounds the completions: no max_tokens")
    if row.seconds is None:
        notes.append(f"time assumes requests of {WAIT:g} s and {PER_SECOND:g} tokens per s")
    each = WAIT + mean / PER_SECOND if row.seconds is None else row.seconds
    limits = [math.ceil(requests / row.concurrency) * each]
    if row.requests_per_minute is not None:
        limits.append(60 * requests / row.requests_per_minute)
    if row.tokens_per_minute is not None:
        limits.append(60 * (prompt + completion) / row.tokens_per_minute)
    return ModelEstimate(
        model=row.model,
        cells=row.wanted,
        there=row.there,
        owed=owed,
        requests=requests,
        prompt_tokens=prompt,
        prompt_tokens_most=prompt_most,
        completion_tokens=completion,
        completion_tokens_most=completion_most,
        cost=cost,
        cost_most=cost_most,
        seconds=max(limits),
        note="; ".join(notes),
    )


def _mean(row: Row) -> tuple[float, list[str]]:
    """Tokens of a completion, about, and where that is from when nothing was observed."""
    bound = math.inf if row.longest is None else row.longest
    if row.observed is not None:
        return min(row.observed, bound), []
    mean = min(TOKENS, bound)
    return mean, [f"completions are assumed to take {mean:g} tokens"]


def _sum(values: Iterable[int | None]) -> int | None:
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _numbers(model: ModelEstimate) -> Mapping[str, object]:
    """One row of `columns`."""
    return {
        **vars(model),
        "completion_tokens_most": math.nan if model.completion_tokens_most is None else model.completion_tokens_most,
        "cost": math.nan if model.cost is None else model.cost / 10**12,
        "cost_most": math.nan if model.cost_most is None else model.cost_most / 10**12,
    }


_NAMES = tuple(ModelEstimate.__dataclass_fields__)


def _column(values: list[object]) -> np.ndarray:
    """Counts stay whole numbers beside a NaN."""
    return np.array(values, dtype=object)


def _texts(model: ModelEstimate) -> Mapping[str, str]:
    """One row for a person: tokens and cost, about and at most."""
    from howsure.sample.progress import duration

    def money(pico: int | None) -> str:
        return "?" if pico is None else dollars(pico)

    longest = model.completion_tokens_most
    return {
        "model": model.model,
        "cells": f"{model.cells:,}",
        "there": f"{model.there:,}",
        "owed": f"{model.owed:,}",
        "requests": f"{model.requests:,}",
        "prompt": f"{model.prompt_tokens:,}",
        "prompt ≤": f"{model.prompt_tokens_most:,}",
        "completion": f"{model.completion_tokens:,}",
        "completion ≤": "?" if longest is None else f"{longest:,}",
        "cost": money(model.cost),
        "cost ≤": money(model.cost_most),
        "time": duration(model.seconds),
        "note": model.note,
    }


def foresee(experiment: Experiment, folder: Path, *, retry: bool = False) -> Estimate:
    """What is owed, and the requests, tokens, money and time it would take. Nothing is sent or written.

    Raises
    ------
    InputError
        As `sample.run.run` before it sends anything, except for keys, which are not needed.
    """
    benchmark = load(experiment.benchmark, base=experiment.base)
    asked = Asked.of(experiment, benchmark)
    tallies = asked.tallies()
    variants = [variant.id for variant in asked.variants]
    there = (
        recall(folder, asked.benchmark.name, tallies, variants)
        if is_run(folder)
        else {label: Recalled({}, {}, 0, 0, 0) for label in tallies}
    )
    owed = asked.owed(there, retry=retry)
    questions = [question.id for question in asked.questions]

    def prompts(entry: ModelEntry) -> Iterator[Owed]:
        for unit in owed[entry.label].units(questions, variants, entry.generations):
            messages = asked.variants[unit.variant].messages(asked.questions[unit.question])
            yield Owed.of(messages, len(unit.generations))

    return estimate(
        Row(
            model=entry.label,
            wanted=owed[entry.label].wanted,
            there=owed[entry.label].there,
            owed=prompts(entry),
            choices=Sizes(entry).most,
            longest=entry.longest,
            observed=_mean_stored(there[entry.label], owed[entry.label].there),
            price=asked.prices[entry.label],
            concurrency=entry.concurrency,
            requests_per_minute=entry.requests_per_minute,
            tokens_per_minute=entry.tokens_per_minute,
            seconds=0.0 if entry.kind in {"simulated", "replay"} else None,
        )
        for entry in experiment.models
    )


def _mean_stored(there: Recalled, generations: int) -> float | None:
    """Tokens of a completion that is there."""
    return there.completion_tokens / generations if there.completion_tokens and generations else None
