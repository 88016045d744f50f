"""The variants that an experiment asks for: a space, a sample of it, and a benchmark."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from howsure.benchmarks.question import Benchmark, Question, Variant
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.perturb.demonstrations import hold_out
from howsure.perturb.instructions import Instruction
from howsure.perturb.own import Own
from howsure.perturb.space import Space
from howsure.perturb.spaces import SPACE_KEYS, space

__all__ = ["KEYS", "Sampled", "sampled"]

_OWN_KEYS = ("sample", "seed", "default", "hold_out")
#: Keys of `variants` in an experiment. `instructions`, `pool` and `templates` name files, which the caller reads.
KEYS = (*SPACE_KEYS, *_OWN_KEYS, "instructions", "pool", "templates")


@dataclass(frozen=True)
class Sampled:
    """Variants of one benchmark.

    Attributes
    ----------
    variants
        Those drawn, in the order of the draws; the default one before them, if it was asked for.
    default
        Id of the default variant, or None.
    benchmark
        The benchmark without the questions that were held out.
    """

    space: Space
    variants: tuple[Variant, ...]
    default: str | None
    benchmark: Benchmark


def sampled(
    spec: Mapping[str, object],
    benchmark: Benchmark,
    *,
    pool: Sequence[Question] = (),
    instructions: Sequence[Instruction] = (),
) -> Sampled:
    """Draw the variants of an experiment, and check them against its questions.

    Parameters
    ----------
    spec
        The keys of `spaces.space`, and `sample` (how many draws), `seed`, `default: true` (the benchmark's own prompt
        beside them), `hold_out` (so many questions are taken out of the evaluation, to demonstrate with).
    pool
        Demonstrations from elsewhere.
    instructions
        Phrasings in place of the space's own.

    Raises
    ------
    UnknownNameError
        When a key, dimension or value does not exist.
    InputError
        When the spec cannot be read, or does not go with the questions (`checks.check`).
    """
    for key in spec:
        if key not in KEYS:
            raise UnknownNameError("key", str(key), KEYS, where="variants")
    n, seed = _whole(spec, "sample", None), _whole(spec, "seed", 0)
    default = spec.get("default", False)
    if not isinstance(default, bool):
        raise InputError(f"default is {default!r}", where="variants", remedy="give true or false")
    found = space({key: value for key, value in spec.items() if key in SPACE_KEYS}, instructions=instructions)
    if held := _whole(spec, "hold_out", 0):
        if pool:
            raise InputError("both a pool and questions held out", where="variants", remedy="keep one of them")
        pool, benchmark = hold_out(benchmark, held, seed)
    if n > found.size and not any(value.seeded or d.nested for d in found.dimensions for value in d.values):
        told = f"{n} variants from a space of {found.size}: those that are drawn again ask with the same words"
        warnings.warn(told, HowsureWarning, stacklevel=2)
    bound = found.bind(benchmark, pool)
    points: list[Variant] = [*bound.sample(n, seed)]
    own = Own(benchmark, benchmark.prompt)
    return Sampled(bound, (own, *points) if default else tuple(points), own.id if default else None, benchmark)


def _whole(spec: Mapping[str, object], key: str, default: int | None) -> int:
    value = spec.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        what = f"{key} is {value!r}" if key in spec else f"{key} is not given"
        raise InputError(what, where="variants", remedy="give a whole number, 0 or more")
    return value
