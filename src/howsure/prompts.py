"""Ask of each benchmark what its prompts do: what the command `variants` and Python users call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.prompt_tables import Prompted
from howsure.stats import prompts as prompt_stats
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Columns, Result, notes
from howsure.stats.prompts import estimate_components

__all__ = ["SHOWN", "Prompted", "differences", "effects", "prompteval", "proxy", "show", "swaps", "variants"]

#: What the command can show beside its own table.
SHOWN = ("moments", "components", "effects", "swaps", "enough", "prompteval")


@dataclass(frozen=True, eq=False)
class Proxies(Result):
    """Whether n* of one model, the proxy, was enough for each other model; see `stats.enough.Proxy`."""

    benchmark: str
    checked: tuple[prompt_stats.ProxyCheck, ...]
    epsilon: float
    delta: float

    def columns(self) -> Columns:
        """One row per model; `bounded` is yes, no, or unknown where the proxy's own n* is not reached."""
        found, rows = self.checked, len(self.checked)
        reached = [one.n_star_cheap < one.n_variants for one in found]
        said = np.where([one.bounded for one in found], "yes", "no").astype(object)
        return {
            "benchmark": np.full(rows, self.benchmark, dtype=object),
            "proxy": np.array([one.cheap for one in found], dtype=object),
            "model": np.array([one.costly for one in found], dtype=object),
            "n_variants": np.array([one.n_variants for one in found]),
            "n_star_proxy": np.array([one.n_star_cheap for one in found]),
            "n_star": np.array([one.n_star_costly for one in found]),
            "chance": np.where(reached, [one.chance for one in found], np.nan),
            "bounded": np.where(reached, said, "unknown"),
            "epsilon": np.full(rows, self.epsilon),
            "delta": np.full(rows, self.delta),
            "note": notes({"n_star of the proxy is not reached: it bounds nothing": ~np.array(reached)}),
        }


def variants(
    cubes: Cube | Iterable[Cube], *, level: float = 0.95, epsilon: float = 0.01, delta: float = 0.1
) -> Prompted:
    """Moments over prompt variants, components of the noise and n* of each model; see `stats.variants.variants`.

    `.of("moments")`, `.of("components")` and `.of("enough")` say more of each, with intervals.

    >>> cube = Cube.from_means("demo", ["a"], ["v1", "v2", "v3"], np.array([[0.5, 0.6, 0.7]]))
    >>> variants(cube).columns()["mean"].round(2).tolist()
    [0.6]
    """
    return _each(
        _several(cubes), lambda cube: prompt_stats.summarize_variants(cube, level=level, epsilon=epsilon, delta=delta)
    )


def effects(cubes: Cube | Iterable[Cube], *, level: float = 0.95) -> Prompted:
    """Main effect of each value of each dimension of the space; see `stats.effects.effects`.

    The default prompt, and variants without a value on some dimension, are left out.
    """
    return _each(_several(cubes), lambda cube: _effects(cube, level))


def _effects(cube: Cube, level: float) -> prompt_stats.Effects:
    if cube.nested:
        remedy = "sample the same variants for all questions"
        raise InputError(
            "each question has variants of its own: they have no effect", where=cube.benchmark, remedy=remedy
        )
    if not cube.values:
        remedy = "name columns that say it with --dimension COLUMN"
        raise InputError("nothing is known of what the variants are made of", where=cube.benchmark, remedy=remedy)
    found = prompt_stats.estimate_variant_effects(prompt_stats.summarize_variants(cube, level=level), level=level)
    if not found.values:
        reasons = [f"{name}: {reason}" for name, reason in found.left_out.items()]
        why = ", ".join(reasons) or "fewer than two variants have a value on each"
        remedy = "draw more variants, of fewer values"
        raise InputError(f"no dimension to tell the effect of ({why})", where=cube.benchmark, remedy=remedy)
    return found


def swaps(cubes: Cube | Iterable[Cube], *, a: str | None = None, b: str | None = None, level: float = 0.95) -> Prompted:
    """How often the prompt decides which model is better, of all pairs or of `a` and `b`; see `stats.swaps.swaps`.

    Components in its rows are those of the difference.
    """
    several = _several(cubes)
    if a is None and b is None:
        pairs = [cube for cube in several if len(cube.models) > 1]
        if not pairs:
            raise InputError("only one model", where=several[0].benchmark, remedy="give the results of at least two")
        return _each(pairs, lambda cube: prompt_stats.estimate_rank_flips(cube, level=level))
    pair = _pair(a, b)
    return _each(_with(several, pair), lambda cube: prompt_stats.estimate_rank_flips(cube.select(pair), level=level))


def differences(cubes: Cube | Iterable[Cube], a: str, b: str, *, level: float = 0.95) -> Prompted:
    """Components of the difference a - b, variants crossed with questions or nested; see `stats.crossed.crossed`."""
    both = _with(_several(cubes), _pair(a, b))
    return _each(both, lambda cube: estimate_components(cube.drawn.difference(a, b), level=level))


def prompteval(cubes: Cube | Iterable[Cube]) -> Prompted:
    """Quantiles of the score over prompts from few cells; see `stats.prompteval.prompteval`."""
    return _each(_several(cubes), prompt_stats.prompteval)


def proxy(cubes: Cube | Iterable[Cube], cheap: str, *, epsilon: float = 0.01, delta: float = 0.1) -> Prompted:
    """Whether n* of a cheap model was enough for each of the others; see `stats.enough.proxy`."""
    return _each(_with(_several(cubes), [cheap]), lambda cube: _proxies(cube, cheap, epsilon, delta))


def _proxies(cube: Cube, cheap: str, epsilon: float, delta: float) -> Proxies:
    others = [model for model in cube.models if model != cheap]
    if not others:
        raise InputError("only one model", where=cube.benchmark, remedy="a proxy needs another to stand for")
    found = prompt_stats.summarize_variants(cube, epsilon=epsilon, delta=delta).enough
    return Proxies(
        cube.benchmark, tuple(prompt_stats.check_proxy(found, cheap, other) for other in others), epsilon, delta
    )


def show(
    cubes: Cube | Iterable[Cube],
    what: str | None = None,
    *,
    a: str | None = None,
    b: str | None = None,
    cheap: str | None = None,
    level: float = 0.95,
    epsilon: float = 0.01,
    delta: float = 0.1,
) -> Prompted:
    """What the command prints: one of `SHOWN`, or its own table; with two models, swaps or components of the pair."""
    if what is not None and what not in SHOWN:
        raise UnknownNameError("view", what, SHOWN, where="variants")
    if cheap is not None:
        if what is not None or a is not None or b is not None:
            raise InputError("--proxy together with --show or --a and --b", remedy="keep one of them")
        return proxy(cubes, cheap, epsilon=epsilon, delta=delta)
    if a is not None or b is not None:
        pair = _pair(a, b)
        if what == "components":
            return differences(cubes, *pair, level=level)
        if what not in {None, "swaps"}:
            raise InputError(f"--show {what} is not of two models", remedy="leave --a and --b out, or show swaps")
        return swaps(cubes, a=a, b=b, level=level)
    by_name: Mapping[str, Callable[[], Prompted]] = {
        "effects": lambda: effects(cubes, level=level),
        "swaps": lambda: swaps(cubes, level=level),
        "prompteval": lambda: prompteval(cubes),
    }
    if what is not None and what in by_name:
        return by_name[what]()
    found = variants(cubes, level=level, epsilon=epsilon, delta=delta)
    return found if what is None else found.of(what)


def _pair(a: str | None, b: str | None) -> tuple[str, str]:
    if a is None or b is None:
        raise InputError("only one of two models", where="--a and --b", remedy="name both, or neither")
    return a, b


def _several(cubes: Cube | Iterable[Cube]) -> list[Cube]:
    """Those with several variants beside the default prompt; others are told, and alone they are refused."""
    each = [cubes] if isinstance(cubes, Cube) else list(cubes)
    several = [cube for cube in each if len(cube.drawn.variants) > 1]
    single = [cube for cube in each if len(cube.drawn.variants) < 2]
    names = ", ".join(cube.benchmark for cube in single)
    beside = " beside the default one" if any(len(cube.variants) > 1 for cube in single) else ""
    what = f"only one prompt variant{beside}"
    if not several:
        remedy = "sample several" + (
            "" if beside else ", or say which column of a table names them: --columns variant=COLUMN"
        )
        raise InputError(what, where=names, remedy=remedy)
    if single:
        told = f"{names} left out: {what}"
        warnings.warn(told, HowsureWarning, stacklevel=3)
    return several


def _with(cubes: Sequence[Cube], models: Sequence[str]) -> list[Cube]:
    known = sorted({model for cube in cubes for model in cube.models})
    for model in models:
        if model not in known:
            raise UnknownNameError("model", model, known)
    found = [cube for cube in cubes if set(models) <= set(cube.models)]
    if not found:
        what = f"no benchmark has both {' and '.join(map(repr, models))}"
        raise InputError(what, remedy="compare models run on the same questions")
    return found


def _each(cubes: Sequence[Cube], ask: Callable[[Cube], Result]) -> Prompted:
    return Prompted(tuple(ask(cube) for cube in cubes))
