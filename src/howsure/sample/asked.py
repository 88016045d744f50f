"""What an experiment asks, checked before anything is sent or written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from howsure.benchmarks.question import Benchmark, Question, Variant
from howsure.errors import InputError
from howsure.sample.entries import ModelEntry
from howsure.sample.experiment import Experiment
from howsure.sample.grid import Missing, missing, sampled
from howsure.sample.prices import FREE, Price, price_of, unpriced
from howsure.sample.prompting import prompted
from howsure.sample.recall import Recalled
from howsure.sample.tally import Tally

__all__ = ["Asked"]


class Asked(NamedTuple):
    """What an experiment asks, checked: nothing is sent or written before this could be made."""

    experiment: Experiment
    benchmark: Benchmark
    questions: list[Question]
    variants: list[Variant]
    prices: dict[str, Price | None]
    """By label; None where unknown."""
    about: dict[str, object]
    """What the manifest says of the variants."""

    @classmethod
    def of(cls, experiment: Experiment, benchmark: Benchmark) -> Asked:
        """Questions, variants and prices of an experiment.

        Raises
        ------
        InputError
            When variants cannot be made, a shard has no question, or a budget needs a price that is unknown.
        """
        benchmark, variants, about = prompted(experiment, benchmark)
        questions = sampled(benchmark.questions, seed=experiment.seed, limit=experiment.limit, shard=experiment.shard)
        if not questions:
            what = f"of {len(benchmark.questions)} questions none is in part {experiment.shard[0]}"
            raise InputError(what, where="--shard", remedy="use fewer shards")
        prices = {entry.label: _price(entry, experiment) for entry in experiment.models}
        return cls(experiment, benchmark, questions, variants, prices, about)

    def tallies(self) -> dict[str, Tally]:
        """An empty tally for each model, by label."""
        ids = [question.id for question in self.questions]
        return {entry.label: Tally(ids, len(self.variants), entry.generations) for entry in self.experiment.models}

    def owed(self, there: Mapping[str, Recalled], *, retry: bool) -> dict[str, Missing]:
        """What each model owes, by label."""
        ids, variants = [question.id for question in self.questions], [variant.id for variant in self.variants]
        return {
            entry.label: missing(
                ids,
                variants,
                entry.generations,
                there[entry.label].present,
                there[entry.label].failed,
                retry=retry,
                is_even=self.experiment.allocate == "even",
            )
            for entry in self.experiment.models
        }


def _price(entry: ModelEntry, experiment: Experiment) -> Price | None:
    """Pico-dollars per token; with a budget of money it has to be known before anything is sent."""
    if not entry.is_billed:
        return FREE
    given = None if entry.price is None else (entry.price.prompt, entry.price.completion)
    context = {"processing": "batch"} if entry.mode == "batch" else None
    price = price_of(entry.name, entry.base_url, given, context=context)
    if price is None and experiment.budget.cost is not None:
        raise unpriced(entry.label)
    return price
