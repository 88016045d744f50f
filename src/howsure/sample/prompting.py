"""What an experiment says of prompts, to the variants that are asked."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import NamedTuple

from howsure.benchmarks import load
from howsure.benchmarks.question import Benchmark, Question, Variant
from howsure.errors import HowsureWarning, InputError
from howsure.perturb import instructions
from howsure.perturb.unitxt import from_templates
from howsure.perturb.variants import Own, sampled
from howsure.sample.experiment import Experiment

__all__ = ["Prompted", "prompted"]


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
        variants: list[Variant] = [Own(benchmark, line.prompt(benchmark.prompt)) for line in experiment.variants]
        if len({variant.id for variant in variants}) < len(variants):
            remedy = "remove one, or give it other words"
            raise InputError("two variants ask with the same words", where="variants", remedy=remedy)
        return Prompted(benchmark, variants, {})
    spec = _with_templates(experiment.variants, experiment.base)
    found = sampled(spec, benchmark, pool=_pool(spec, experiment), instructions=_instructions(spec, experiment))
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
    return instructions.reviewed(instructions.parse(text, where=str(path)), where=str(path))
