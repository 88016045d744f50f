"""Ask the same question of each benchmark: what the commands and Python users call."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from errorbar.errors import InputError, UnknownNameError
from errorbar.stats import components
from errorbar.stats import pairs as all_pairs
from errorbar.stats.cells import Cells
from errorbar.stats.results import Result, Results

__all__ = ["compare", "pairs", "score"]


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
    benchmarks = _list(runs)
    several = [cells for cells in benchmarks if len(cells.models) > 1]
    if not several:
        names = sorted({model for cells in benchmarks for model in cells.models})
        raise InputError(f"only one model: {', '.join(names)}", remedy="give the results of at least two")
    return _each(several, lambda cells: all_pairs.pairs(cells, claim=claim, level=level, method=method))


def _list(runs: Cells | Iterable[Cells]) -> list[Cells]:
    return [runs] if isinstance(runs, Cells) else list(runs)


def _each(runs: Cells | Iterable[Cells], ask: Callable[[Cells], Result]) -> Results:
    return Results(tuple(ask(cells) for cells in _list(runs)))
