"""What an experiment asks, checked before anything is sent or written."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from howsure.benchmarks import load
from howsure.benchmarks.question import Benchmark, Question, Variant
from howsure.errors import HowsureWarning, InputError
from howsure.perturb import instructions
from howsure.perturb.unitxt import from_templates
from howsure.perturb.variants import FixedPrompt, draw_variants
from howsure.sample.experiment import Experiment
from howsure.sample.model_config import ModelEntry
from howsure.sample.prices import FREE, Price, price_of, unpriced
from howsure.sample.resume import Missing, Recalled, find_missing_cells, sample_questions
from howsure.sample.tally import Tally

__all__ = ["Asked", "Prompted", "prompted"]


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
        questions = sample_questions(
            benchmark.questions, seed=experiment.seed, limit=experiment.limit, shard=experiment.shard
        )
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
            entry.label: find_missing_cells(
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


class Prompted(NamedTuple):
    """The variants of a run, and the benchmark that they ask."""

    benchmark: Benchmark
    """Without the questions that are held out to demonstrate with."""
    variants: list[Variant]
    about: dict[str, object]
    """For the manifest: the default variant and the dimensions of the space; empty for prompts written out."""


def prompted(experiment: Experiment, benchmark: Benchmark) -> Prompted:
    """The variants that the experiment writes out, or a sample of its space.

    Raises
    ------
    InputError
        When two are the same, or the space cannot be read or does not go with the questions.
    """
    if not isinstance(experiment.variants, dict):
        variants: list[Variant] = [
            FixedPrompt(benchmark, line.prompt(benchmark.prompt)) for line in experiment.variants
        ]
        if len({variant.id for variant in variants}) < len(variants):
            remedy = "remove one, or give it other words"
            raise InputError("two variants ask with the same words", where="variants", remedy=remedy)
        return Prompted(benchmark, variants, {})
    spec = _with_templates(experiment.variants, experiment.base)
    found = draw_variants(spec, benchmark, pool=_pool(spec, experiment), instructions=_instructions(spec, experiment))
    dimensions = {
        dimension.name: {"preserving": dimension.preserving, "nested": dimension.nested}
        for dimension in found.space.dimensions
    }
    about: dict[str, object] = {"default": found.default, "space": {"name": found.space.name, "dimensions": dimensions}}
    about["asked"] = {key: found.space.name if key == "space" else value for key, value in experiment.variants.items()}
    return Prompted(found.benchmark, list(found.variants), about)


def _with_templates(spec: dict[str, object], base: Path) -> dict[str, object]:
    """The spec, with the space of the templates that it names: a JSON file, or a folder of them."""
    named = spec.get("templates")
    if named is None:
        return spec
    if not isinstance(named, str):
        raise InputError(f"templates is {named!r}", where="variants", remedy="name a JSON file, or a folder of them")
    if "space" in spec:
        raise InputError("both a space and templates", where="variants", remedy="keep one of them")
    folder = base / named
    paths = sorted(folder.rglob("*.json")) if folder.is_dir() else [folder]
    templates = {}
    for path in paths:
        try:
            label = path.relative_to(folder).as_posix() if path != folder else path.name
            templates[label] = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not JSON"
            what = f"cannot read the templates: {why}"
            raise InputError(what, where=str(path), remedy="give templates as unitxt writes them") from None
    found = from_templates(templates, name=named)
    for note in found.notes:
        warnings.warn(f"{named}: {note}", HowsureWarning, stacklevel=2)
    return {"space": found.space, **{key: value for key, value in spec.items() if key != "templates"}}


def _pool(spec: dict[str, object], experiment: Experiment) -> tuple[Question, ...]:
    """Questions of another benchmark to demonstrate with."""
    named = spec.get("pool")
    if named is None:
        return ()
    if not isinstance(named, str | dict):
        raise InputError(f"pool is {named!r}", where="variants", remedy="name a benchmark, as the key benchmark does")
    return tuple(load(named, base=experiment.base).questions)


def _instructions(spec: dict[str, object], experiment: Experiment) -> tuple[instructions.Instruction, ...]:
    """Phrasings from a file, all of which somebody has read."""
    named = spec.get("instructions")
    if named is None:
        return ()
    if not isinstance(named, str):
        raise InputError(f"instructions is {named!r}", where="variants", remedy="name a file")
    path = experiment.base / named
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read the instructions: {why}", where=str(path), remedy="give a TOML file") from None
    return instructions.require_reviewed(instructions.parse_instructions(text, where=str(path)), where=str(path))
