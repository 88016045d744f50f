"""What the wording of the prompt does to the scores of each benchmark."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence

from howsure.api.prompt_results import PromptResults, ProxyChecks
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.stats import prompts as statistics
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Result


def variants(
    cubes: Cube | Iterable[Cube], *, level: float = 0.95, epsilon: float = 0.01, delta: float = 0.1
) -> PromptResults:
    """Moments over prompt variants, components of the noise and n* of each model; see `stats.prompts.moments`.

    `.of("moments")`, `.of("components")` and `.of("enough")` say more of each, with intervals.

    >>> import numpy as np
    >>> cube = Cube.from_means("demo", ["a"], ["v1", "v2", "v3"], np.array([[0.5, 0.6, 0.7]]))
    >>> variants(cube).columns()["mean"].round(2).tolist()
    [0.6]
    """
    return _for_each(
        _with_variants(cubes),
        lambda cube: statistics.summarize_variants(cube, level=level, epsilon=epsilon, delta=delta),
    )


def effects(cubes: Cube | Iterable[Cube], *, level: float = 0.95) -> PromptResults:
    """Main effect of each value of each dimension of the space; see `stats.prompts.effects`.

    The default prompt, and variants without a value on some dimension, are left out.
    """
    return _for_each(_with_variants(cubes), lambda cube: _estimate_effects(cube, level))


def _estimate_effects(cube: Cube, level: float) -> statistics.Effects:
    """Return the effects in one benchmark, or raise InputError if its variants have none."""
    if cube.nested:
        raise InputError(
            "each question has variants of its own: they have no effect",
            where=cube.benchmark,
            remedy="sample the same variants for all questions",
        )
    if not cube.values:
        raise InputError(
            "nothing is known of what the variants are made of",
            where=cube.benchmark,
            remedy="name columns that say it with --dimension COLUMN",
        )
    result = statistics.estimate_variant_effects(statistics.summarize_variants(cube, level=level), level=level)
    if not result.values:
        reasons = [f"{name}: {reason}" for name, reason in result.left_out.items()]
        why = ", ".join(reasons) or "fewer than two variants have a value on each"
        raise InputError(
            f"no dimension has an effect that can be estimated ({why})",
            where=cube.benchmark,
            remedy="draw more variants, of fewer values",
        )
    return result


def rank_flips(
    cubes: Cube | Iterable[Cube], *, a: str | None = None, b: str | None = None, level: float = 0.95
) -> PromptResults:
    """How often the prompt decides which model is better, of all pairs or of `a` and `b`.

    Components in its rows are those of the difference.
    """
    with_variants = _with_variants(cubes)
    if a is None and b is None:
        pairs = [cube for cube in with_variants if len(cube.models) > 1]
        if not pairs:
            remedy = "give the results of at least two"
            raise InputError("only one model", where=with_variants[0].benchmark, remedy=remedy)
        return _for_each(pairs, lambda cube: statistics.estimate_rank_flips(cube, level=level))
    pair = _check_pair(a, b)
    return _for_each(
        _with_models(with_variants, pair),
        lambda cube: statistics.estimate_rank_flips(cube.select(pair), level=level),
    )


def difference_components(cubes: Cube | Iterable[Cube], a: str, b: str, *, level: float = 0.95) -> PromptResults:
    """Components of the difference a - b, variants crossed with questions or nested in them."""
    both = _with_models(_with_variants(cubes), _check_pair(a, b))
    return _for_each(both, lambda cube: statistics.estimate_components(cube.drawn.difference(a, b), level=level))


def prompteval(cubes: Cube | Iterable[Cube]) -> PromptResults:
    """Quantiles of the score over prompts from few cells; see `stats.prompts.prompteval`."""
    return _for_each(_with_variants(cubes), statistics.prompteval)


def proxy(cubes: Cube | Iterable[Cube], cheap: str, *, epsilon: float = 0.01, delta: float = 0.1) -> PromptResults:
    """Whether n* of a cheap model was enough for each of the others; see `stats.prompts.check_proxy`."""
    with_cheap = _with_models(_with_variants(cubes), [cheap])
    return _for_each(with_cheap, lambda cube: _check_proxy(cube, cheap, epsilon, delta))


def _check_proxy(cube: Cube, cheap: str, epsilon: float, delta: float) -> ProxyChecks:
    """Return the checks of a proxy against each other model of one benchmark."""
    others = [model for model in cube.models if model != cheap]
    if not others:
        raise InputError("only one model", where=cube.benchmark, remedy="a proxy needs another to stand for")
    sizes = statistics.summarize_variants(cube, epsilon=epsilon, delta=delta).sample_size
    checks = tuple(statistics.check_proxy(sizes, cheap, other) for other in others)
    return ProxyChecks(cube.benchmark, checks, epsilon, delta)


def _check_pair(a: str | None, b: str | None) -> tuple[str, str]:
    """Return the names of two models, or raise InputError if only one is given."""
    if a is None or b is None:
        raise InputError("only one of two models", where="--a and --b", remedy="name both, or neither")
    return a, b


def _with_variants(cubes: Cube | Iterable[Cube]) -> list[Cube]:
    """Return the cubes with several variants beside the default prompt; warn of others, raise if there are none."""
    each = [cubes] if isinstance(cubes, Cube) else list(cubes)
    several = [cube for cube in each if len(cube.drawn.variants) > 1]
    single = [cube for cube in each if len(cube.drawn.variants) < 2]
    names = ", ".join(cube.benchmark for cube in single)
    has_default = any(len(cube.variants) > 1 for cube in single)
    what = f"only one prompt variant{' beside the default one' if has_default else ''}"
    if not several:
        column = "" if has_default else ", or say which column of a table names them: --columns variant=COLUMN"
        raise InputError(what, where=names, remedy=f"sample several{column}")
    if single:
        warnings.warn(f"{names} left out: {what}", HowsureWarning, stacklevel=3)
    return several


def _with_models(cubes: Sequence[Cube], models: Sequence[str]) -> list[Cube]:
    """Return the cubes that have all these models, or raise if no cube has."""
    known = sorted({model for cube in cubes for model in cube.models})
    for model in models:
        if model not in known:
            raise UnknownNameError("model", model, known)
    both = [cube for cube in cubes if set(models) <= set(cube.models)]
    if not both:
        what = f"no benchmark has both {' and '.join(map(repr, models))}"
        raise InputError(what, remedy="compare models run on the same questions")
    return both


def _for_each(cubes: Sequence[Cube], compute: Callable[[Cube], Result]) -> PromptResults:
    """Return the results of a statistic on each cube."""
    return PromptResults(tuple(compute(cube) for cube in cubes))
