"""What to sample: an experiment file to a checked, frozen `Experiment`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from howsure.benchmarks.question import Prompt
from howsure.errors import InputError, UnknownNameError
from howsure.perturb.variants import VARIANT_KEYS
from howsure.sample.model_config import Count, ModelEntry, ModelLine, PriceLine, Rate, entries
from howsure.sample.stopping_rule import Until
from howsure.sample.yaml_source import Kinds, Source

__all__ = ["Bounds", "Experiment", "ModelEntry", "PromptLine", "load_experiment", "parse_experiment"]


class PromptLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prompt that the file writes out; what it does not name is the benchmark's own."""

    system: str | None = None
    template: str | None = None

    def prompt(self, own: Prompt) -> Prompt:
        """The whole prompt, where `own` is the benchmark's."""
        return Prompt(
            system=own.system if self.system is None else self.system,
            template=own.template if self.template is None else self.template,
        )


class Bounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run may spend; None: no bound."""

    calls: Count | None = None
    """Requests."""
    tokens: Count | None = None
    """Of prompts and completions."""
    minutes: Rate | None = None
    """Of each session; the others are for the run folder as a whole."""
    cost: Annotated[float, msgspec.Meta(gt=0, le=1e9)] | None = None
    """Dollars."""


class Experiment(msgspec.Struct, frozen=True):
    """What to sample: benchmark x variants x models x generations."""

    benchmark: str | dict[str, object]
    models: tuple[ModelEntry, ...]
    """With the greedy ones, if they were asked for."""
    variants: tuple[PromptLine, ...] | dict[str, object] = (PromptLine(),)
    """Prompts that are written out, or the space that they are drawn from: see `perturb.draw_variants`."""
    limit: int | None = None
    """Ask only this many questions, a seeded sample: a larger limit later keeps those and adds to them."""
    until: Until | None = None
    """When to stop before all generations are there."""
    allocate: Literal["even", "adaptive"] = "even"
    """Whether each question gets as many generations as every other."""
    budget: Bounds = Bounds()
    seed: int = 0
    shard: tuple[int, int] = (1, 1)
    """(i, n): only the i-th of n parts of the questions."""
    base: Path = Path()
    """Folder that the paths in the file start from."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    benchmark: str | dict[str, object]
    models: list[str | ModelLine]
    generations: Count = 5
    greedy: bool = False
    variants: list[PromptLine] | dict[str, object] | None = None
    limit: Count | None = None
    until: Until | None = None
    allocate: Literal["even", "adaptive"] = "even"
    budget: Bounds = Bounds()
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 64


def load_experiment(path: Path | str) -> Experiment:
    """Read an experiment file.

    Raises
    ------
    InputError
        When it cannot be read, is not YAML, or asks for what does not exist; names the line.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        why = e.strerror if isinstance(e, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read the experiment: {why}", where=str(path), remedy="give a YAML file") from None
    return parse_experiment(text, where=str(path), base=path.parent)


def parse_experiment(text: str, *, where: str = "experiment", base: Path = Path()) -> Experiment:
    """Read an experiment from YAML text; `where` names it in errors.

    >>> parse_experiment("{benchmark: directions, models: [simulated/medium]}").models[0].label
    'simulated/medium'
    """
    source = Source(text, where)
    kinds: Kinds = {"models": ModelLine, "variants": PromptLine, "until": Until, "budget": Bounds, "price": PriceLine}
    with _within(source):
        file = source.read(_File, kinds)
    if not file.models:
        source.fail("no models", "models", remedy="list at least one, such as simulated/medium")
    models: list[ModelEntry] = []
    for i, given in enumerate(file.models):
        lines = entries(
            given, i, source, generations=file.generations, concurrency=file.concurrency, greedy=file.greedy
        )
        for entry in lines:
            if any(entry.label == other.label for other in models):
                remedy = "give each its own label: {model: ..., label: ...}"
                source.fail(f"two models are called {entry.label!r}", "models", i, remedy=remedy)
            models.append(entry)
    _check_until(file, models, source)
    _check_budget(file, models, source)
    return Experiment(
        benchmark=file.benchmark,
        models=tuple(models),
        variants=_variants(file, source),
        limit=file.limit,
        until=file.until,
        allocate=file.allocate,
        budget=file.budget,
        seed=file.seed,
        base=base,
    )


def _check_until(file: _File, models: list[ModelEntry], source: Source) -> None:
    """Whether the run can be stopped so, and whether it can be with this allocation."""
    batched = [entry.label for entry in models if entry.mode == "batch"]
    if batched and (file.until is not None or file.allocate == "adaptive"):
        key = "until" if file.until is not None else "allocate"
        remedy = f"remove {key!r}, or the mode of {batched[0]}"
        source.fail("answers of a batch come all at once, too late to decide by", key, remedy=remedy)
    if file.until is not None:
        with _within(source):
            file.until.pair({entry.label: entry.generations for entry in models})
            if file.allocate == "adaptive":
                file.until.check_adaptive()


def _variants(file: _File, source: Source) -> tuple[PromptLine, ...] | dict[str, object]:
    """What the file says of prompts; a space is checked with the questions."""
    if file.variants is None:
        return (PromptLine(),)
    if not file.variants:
        source.fail("no variants", "variants", remedy="leave the key out to ask with the benchmark's own prompt")
    if isinstance(file.variants, dict):
        for key in file.variants:
            if key not in VARIANT_KEYS:
                raise UnknownNameError("key", str(key), VARIANT_KEYS, where=source.at("variants", key))
        return file.variants
    for i, line in enumerate(file.variants):
        if line.template is not None and "{question}" not in line.template:
            remedy = "write {question} where the question goes"
            source.fail("the template has no place for the question", "variants", i, "template", remedy=remedy)
        if line in file.variants[:i]:
            source.fail("the same variant twice", "variants", i, remedy="remove one")
    return tuple(file.variants)


@contextmanager
def _within(source: Source) -> Iterator[None]:
    """What is said of `until` alone, with its line in the file."""
    try:
        yield
    except InputError as error:
        if error.where != "until":
            raise
        source.fail(error.what, "until", remedy=error.remedy)


def _check_budget(file: _File, models: list[ModelEntry], source: Source) -> None:
    """A hard bound needs the most that each request may take."""
    if file.budget.tokens is None and file.budget.cost is None:
        return
    for entry in models:
        if entry.longest is None:
            what = f"completions of {entry.label} have no bound, so a budget of tokens or money cannot be kept"
            source.fail(what, "budget", remedy="give the model max_tokens")
