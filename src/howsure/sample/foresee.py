"""`--dry-run`: what an experiment would take, with what its folder has already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from howsure.benchmarks import load
from howsure.sample.asked import Asked
from howsure.sample.entries import ModelEntry
from howsure.sample.estimate import Estimate, Owed, Row, estimate
from howsure.sample.experiment import Experiment
from howsure.sample.recall import Recalled, recall
from howsure.sample.sizes import Sizes
from howsure.store.responses import is_run

__all__ = ["foresee"]


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
            observed=_mean(there[entry.label], owed[entry.label].there),
            price=asked.prices[entry.label],
            concurrency=entry.concurrency,
            requests_per_minute=entry.requests_per_minute,
            tokens_per_minute=entry.tokens_per_minute,
            seconds=0.0 if entry.kind in {"simulated", "replay"} else None,
        )
        for entry in experiment.models
    )


def _mean(there: Recalled, generations: int) -> float | None:
    """Tokens of a completion that is there."""
    return there.completion_tokens / generations if there.completion_tokens and generations else None
