"""Ask one model in all drawn prompt variants, and the others in as many as were enough for it (REL, section 3).

`variants: {..., sample: 100, reference: CHEAP, epsilon: 0.01, delta: 0.1}` draws a pool of 100 variants, samples the
reference in all of them, computes its n*, and samples all other models in the first n* of the pool: variants are drawn
independently, so the first ones are a random sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from howsure.errors import InputError, UnknownNameError
from howsure.prompts.variants import REFERENCE_KEYS
from howsure.results.evaluations import Evaluations
from howsure.sample.experiment import BenchmarkConfig, Experiment, PromptLine
from howsure.sample.model_config import ModelConfig
from howsure.sample.sampling_plan import load_benchmark
from howsure.stats.prompts import summarize_variants


class ReferenceSpec(NamedTuple):
    """The reference model of the prompt variants of a benchmark.

    Attributes
    ----------
    model
        Label of the reference.
    epsilon, delta
        The mean over n* variants deviates from that over the pool by more than `epsilon` with probability `delta`/2.
    n_variants
        Variants in the pool.
    """

    model: str
    epsilon: float
    delta: float
    n_variants: int


def find_reference(part: Experiment) -> ReferenceSpec | None:
    """Return the reference model of one benchmark, or None if all models are asked in all variants.

    Raises
    ------
    InputError
        When the reference is no model of the experiment, or a value is not allowed.

    Examples
    --------
    >>> from howsure.sample.experiment import parse_experiment
    >>> text = "{benchmark: b, models: [simulated/small], variants: {space: open, sample: 9, reference: %s}}"
    >>> find_reference(parse_experiment(text % "simulated/small"))
    ReferenceSpec(model='simulated/small', epsilon=0.01, delta=0.1, n_variants=9)
    """
    spec = part.variants
    if not isinstance(spec, dict):
        return None
    if "reference" not in spec:
        for key in REFERENCE_KEYS[1:]:
            if key in spec:
                raise InputError(f"{key} without a reference", where="variants", remedy="add reference: MODEL")
        return None
    labels = [config.label for config in part.models]
    reference = spec["reference"]
    if not isinstance(reference, str) or reference not in labels:
        raise UnknownNameError("model", str(reference), labels, where="variants.reference")
    n = spec.get("sample")
    if not isinstance(n, int) or n < 2:
        remedy = "give sample: 100, the size of the pool"
        raise InputError(f"a reference needs a pool of variants; sample is {n!r}", where="variants", remedy=remedy)
    values = {}
    for key, default in (("epsilon", 0.01), ("delta", 0.1)):
        value = spec.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
            raise InputError(f"{key} is {value!r}", where="variants", remedy=f"allowed: 0 to 1, such as {default}")
        values[key] = float(value)
    return ReferenceSpec(reference, values["epsilon"], values["delta"], n)


def select_reference(experiment: Experiment) -> Experiment | None:
    """Return the experiment with the reference models alone, or None if no benchmark has one.

    Raises
    ------
    InputError
        As `find_reference`, when a judge scores, who does so after sampling, and when this is a shard.
    """
    references = [(part, find_reference(part)) for part in experiment.parts]
    chosen = [
        _replace_part(part, [config for config in part.models if config.label == spec.model], part.variants)
        for part, spec in references
        if spec is not None
    ]
    if not chosen:
        return None
    if experiment.shard[1] > 1:
        remedy = "run it without --shard, or without the reference"
        raise InputError("n_star of a part of the questions differs from that of all", where="--shard", remedy=remedy)
    if experiment.judge is not None:
        remedy = "remove it, and compute n_star of the judged run with howsure variants"
        raise InputError("n_star needs scores before a judge gives them", where="variants.reference", remedy=remedy)
    return _join_parts(experiment, chosen)


def find_enough_variants(experiment: Experiment, results: Evaluations) -> tuple[dict[str, int], list[str]]:
    """Return n* of each benchmark with a reference, and a sentence for each.

    Parameters
    ----------
    experiment
        The experiment.
    results
        Results of its run folder, in which the reference has been sampled.

    Raises
    ------
    InputError
        When the reference has scores in fewer than two variants.
    """
    n_star_of, sentences = {}, []
    cubes = {cube.benchmark: cube for cube in results.cubes()}
    for part in experiment.parts:
        spec = find_reference(part)
        if spec is None:
            continue
        name = load_benchmark(part).name
        cube = cubes.get(name)
        if cube is None or spec.model not in cube.models:
            raise InputError(f"the reference {spec.model} has no scores", where=name, remedy="look at its errors")
        reference_cube = cube.select([spec.model])
        size = summarize_variants(reference_cube, epsilon=spec.epsilon, delta=spec.delta).sample_size
        n_star = size.n_star[0, 0]
        if not n_star >= 1:
            what = f"the reference {spec.model} has scores in fewer than two variants"
            raise InputError(what, where=name, remedy="look at its errors, then run again")
        n = max(int(n_star), 2)  # one variant says nothing of the spread over them
        n_star_of[name] = n
        saving = 1 - n / spec.n_variants
        sentence = (
            f"{name}: {n} of {spec.n_variants} prompt variants are enough for {spec.model} (mean within "
            f"{spec.epsilon:g}, delta {spec.delta:g}); the other models are asked in these, which saves {saving:.0%} "
            "of their generations"
        )
        if n > spec.n_variants / 4:
            sentence += "; n_star is biased low where it is not far below the pool: a larger sample is safer"
        sentences.append(sentence)
    return n_star_of, sentences


def limit_other_models(experiment: Experiment, n_star_of: Mapping[str, int]) -> Experiment | None:
    """Return the experiment with all models but the references, in the first n* variants; None if there is none.

    Parameters
    ----------
    experiment
        The experiment.
    n_star_of
        n* by benchmark, as `find_enough_variants` returns it.
    """
    parts = []
    for part in experiment.parts:
        spec = find_reference(part)
        if spec is None:
            parts.append(_replace_part(part, part.models, part.variants))
            continue
        assert isinstance(part.variants, dict)
        others = [config for config in part.models if config.label != spec.model]
        if others:
            parts.append(_replace_part(part, others, part.variants | {"sample": n_star_of[load_benchmark(part).name]}))
    return _join_parts(experiment, parts) if parts else None


def _replace_part(
    part: Experiment, models: Iterable[ModelConfig], variants: tuple[PromptLine, ...] | dict[str, object]
) -> BenchmarkConfig:
    """Return what is sampled of one benchmark, with other models and variants."""
    return BenchmarkConfig(part.benchmark, tuple(models), variants, part.limit, part.label)


def _join_parts(experiment: Experiment, parts: list[BenchmarkConfig]) -> Experiment:
    """Return the experiment with these benchmarks."""
    first, *more = parts
    return msgspec.structs.replace(experiment, **msgspec.structs.asdict(first), more=tuple(more))
