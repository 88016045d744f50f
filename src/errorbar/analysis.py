"""Ask the same question of each benchmark: what the commands and Python users call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from errorbar.errors import InputError, UnknownNameError
from errorbar.stats import combine as combining
from errorbar.stats import components, planning, ranking
from errorbar.stats import pairs as all_pairs
from errorbar.stats import repeats as repeated
from errorbar.stats.cells import Cells
from errorbar.stats.cost import Cost
from errorbar.stats.pairs import Comparison
from errorbar.stats.pilot import assumed, components_of
from errorbar.stats.results import Result, Results

__all__ = ["combine", "compare", "pairs", "plan", "rank", "repeats", "score"]


def score(
    runs: Cells | Iterable[Cells],
    *,
    claim: str = "new-questions",
    level: float = 0.95,
    method: str | None = None,
) -> Results:
    """Score of each model on each benchmark, with its error; see `stats.components.score`.

    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0], [1, 1]]])
    >>> print(score(cells).columns()["score"])
    [0.75]
    """
    return _each(
        runs,
        lambda cells: components.score(cells, claim=claim, level=level, method=method),
    )


def compare(
    runs: Cells | Iterable[Cells],
    a: str,
    b: str,
    *,
    claim: str = "new-questions",
    level: float = 0.95,
    method: str | None = None,
) -> Results:
    """Compare two models on each benchmark that has both; see `stats.pairs.compare`."""
    benchmarks = _list(runs)
    both = [cells for cells in benchmarks if {a, b} <= set(cells.models)]
    if not both:
        known = sorted({model for cells in benchmarks for model in cells.models})
        for model in (a, b):
            if model not in known:
                raise UnknownNameError("model", model, known)
        raise InputError(f"no benchmark has both {a!r} and {b!r}", remedy="compare models run on the same questions")
    return _each(
        both,
        lambda cells: all_pairs.compare(cells, a, b, claim=claim, level=level, method=method),
    )


def pairs(
    runs: Cells | Iterable[Cells],
    *,
    claim: str = "new-questions",
    level: float = 0.95,
    method: str | None = None,
) -> Results:
    """All pairs of models on each benchmark with two or more; see `stats.pairs.pairs`.

    The families of Holm and Benjamini-Hochberg are the pairs of one benchmark.
    """
    several = _with_several_models(runs)
    return _each(several, lambda cells: all_pairs.pairs(cells, claim=claim, level=level, method=method))


def rank(
    runs: Cells | Iterable[Cells], *, claim: str = "new-questions", level: float = 0.95, method: str | None = None
) -> Results:
    """Ranks of the models on each benchmark with two or more, with confidence sets; see `stats.ranking.rank`."""
    several = _with_several_models(runs)
    return _each(several, lambda cells: ranking.rank(cells, claim=claim, level=level, method=method))


def repeats(
    runs: Mapping[str, Sequence[Cells]],
    *,
    n_future: float | None = None,
    level: float = 0.95,
    method: str = "pooled",
) -> Results:
    """Prediction interval for future runs of each model; see `stats.repeats.repeats`.

    Parameters
    ----------
    runs
        Runs by benchmark, as `readers.paths.read_runs` gives them.
    """
    return Results(
        tuple(repeated.repeats(each, n_future=n_future, level=level, method=method) for each in runs.values())
    )


def combine(
    runs: Cells | Iterable[Cells],
    a: str,
    b: str,
    *,
    weights: str | Mapping[str, float] = "precision",
    claim: str = "new-questions",
    method: str | None = None,
) -> combining.Combination:
    """One statement about two models from all benchmarks that have both; see `stats.combine.combine`."""
    parts = compare(runs, a, b, claim=claim, method=method).parts
    return combining.combine([part for part in parts if isinstance(part, Comparison)], weights=weights)


def plan(
    pilot: Cells | Iterable[Cells] | None,
    *,
    a: str | None = None,
    b: str | None = None,
    accuracy: float | None = None,
    cost: Cost | None = None,
    available: int | None = None,
    claim: str = "new-questions",
    **goal: Any,
) -> Results:
    """What to run: a design per benchmark; see `stats.planning.plan` for the goals.

    Parameters
    ----------
    pilot
        Results to learn the noise from, or None to assume it from `accuracy`.
    a, b
        Models to compare; `a` alone plans for its score. By default the two models, or the one, of the pilot.
    available
        Questions that there are; by default those of the pilot.
    """
    if pilot is None:
        if accuracy is None:
            raise InputError("nothing to plan from", remedy="give the results of a pilot, or --accuracy")
        return Results((planning.plan(assumed(accuracy), cost, available=available, **goal),))
    plans = []
    for cells in _list(pilot):
        pair = [a, b] if a is not None else list(cells.models)
        if len(pair) > 2:
            raise InputError(f"{len(pair)} models", where=cells.benchmark, remedy="name one or two with --a and --b")
        noise = components_of(cells, *(name for name in pair if name is not None), claim=claim)
        plans.append(planning.plan(noise, cost, available=available or len(cells.questions), **goal))
    return Results(tuple(plans))


def _with_several_models(runs: Cells | Iterable[Cells]) -> list[Cells]:
    benchmarks = _list(runs)
    several = [cells for cells in benchmarks if len(cells.models) > 1]
    if not several:
        names = sorted({model for cells in benchmarks for model in cells.models})
        raise InputError(f"only one model: {', '.join(names)}", remedy="give the results of at least two")
    return several


def _list(runs: Cells | Iterable[Cells]) -> list[Cells]:
    return [runs] if isinstance(runs, Cells) else list(runs)


def _each(runs: Cells | Iterable[Cells], ask: Callable[[Cells], Result]) -> Results:
    return Results(tuple(ask(cells) for cells in _list(runs)))
