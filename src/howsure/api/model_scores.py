"""Ask the same question of each benchmark: what the commands and Python users call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from howsure.errors import InputError, UnknownNameError
from howsure.stats import borrowing, comparisons
from howsure.stats import repeats as repeated
from howsure.stats import scores as scoring
from howsure.stats.comparisons import Comparison
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import (
    Claim,
    DifferenceMethod,
    IntervalMethod,
    MissingRule,
    RepeatsMethod,
    WeightRule,
)
from howsure.stats.core.results import Result, Results

#: Results of other models on one or several benchmarks.
Reference = Cells | Iterable[Cells]


def score(
    runs: Cells | Iterable[Cells],
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: IntervalMethod | None = None,
    missing: MissingRule = "as-missing",
    borrow: Reference | None = None,
) -> Results:
    """Score of each model on each benchmark, with its error; see `stats.components.score`.

    `missing` is one of `stats.missing.RULES`: what failed or was not asked is left out, counted as wrong, or the
    interval covers the score whatever it would have been.

    `borrow` holds results of other models on all N questions of the benchmarks, of which the models here answered some:
    the scores are then the borrowed ones of `stats.borrow.score`, with the plain ones beside them. `claim`
    ``"these-questions"`` is then about the N questions of the reference, and ``"new-questions"`` about new questions
    like those N. Several benchmarks are matched by name.

    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2"], [[[1, 0], [1, 1]]])
    >>> print(score(cells).columns()["score"])
    [0.75]
    """
    if borrow is not None:
        if missing != "as-missing":
            raise InputError(
                f"missing is {missing!r} with borrow", remedy="leave one out: borrowing predicts what was not asked"
            )
        reference = _list(borrow)
        return _each(
            runs,
            lambda cells: borrowing.score(
                cells, borrowing.match_reference(cells.benchmark, reference), claim=claim, level=level, method=method
            ),
        )
    return _each(
        runs,
        lambda cells: scoring.score_with_missing(
            cells, missing, lambda one: scoring.score(one, claim=claim, level=level, method=method)
        ),
    )


def compare(
    runs: Cells | Iterable[Cells],
    a: str,
    b: str,
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: DifferenceMethod | None = None,
    borrow: Reference | None = None,
) -> Results:
    """Compare two models on each benchmark that has both; see `stats.pairs.compare`.

    `borrow` holds results of other models on all questions, as in `score`; see `stats.borrow.compare`.
    """
    benchmarks = _list(runs)
    both = [cells for cells in benchmarks if {a, b} <= set(cells.models)]
    if not both:
        known = sorted({model for cells in benchmarks for model in cells.models})
        for model in (a, b):
            if model not in known:
                raise UnknownNameError("model", model, known)
        raise InputError(f"no benchmark has both {a!r} and {b!r}", remedy="compare models run on the same questions")
    if borrow is not None:
        reference = _list(borrow)
        return _each(
            both,
            lambda cells: borrowing.compare(
                cells,
                a,
                b,
                borrowing.match_reference(cells.benchmark, reference),
                claim=claim,
                level=level,
                method=method,
            ),
        )
    return _each(
        both,
        lambda cells: comparisons.compare(cells, a, b, claim=claim, level=level, method=method),
    )


def pairs(
    runs: Cells | Iterable[Cells],
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: DifferenceMethod | None = None,
) -> Results:
    """All pairs of models on each benchmark with two or more; see `stats.pairs.pairs`.

    The families of Holm and Benjamini-Hochberg are the pairs of one benchmark.
    """
    several = _with_several_models(runs)
    return _each(several, lambda cells: comparisons.pairs(cells, claim=claim, level=level, method=method))


def rank(
    runs: Cells | Iterable[Cells],
    *,
    claim: Claim = "new-questions",
    level: float = 0.95,
    method: DifferenceMethod | None = None,
) -> Results:
    """Ranks of the models on each benchmark with two or more, with confidence sets; see `stats.ranking.rank`."""
    several = _with_several_models(runs)
    return _each(several, lambda cells: comparisons.rank(cells, claim=claim, level=level, method=method))


def repeats(
    runs: Mapping[str, Sequence[Cells]],
    *,
    n_future: float | None = None,
    level: float = 0.95,
    method: RepeatsMethod = "pooled",
) -> Results:
    """Prediction interval for future runs of each model; see `stats.repeats.repeats`.

    Parameters
    ----------
    runs
        Runs by benchmark, as `howsure.read(...).runs()` returns them.
    """
    return Results(
        tuple(repeated.repeats(each, n_future=n_future, level=level, method=method) for each in runs.values())
    )


def combine(
    runs: Cells | Iterable[Cells],
    a: str,
    b: str,
    *,
    weights: WeightRule | Mapping[str, float] = "precision",
    claim: Claim = "new-questions",
    method: DifferenceMethod | None = None,
) -> comparisons.Combination:
    """One statement about two models from all benchmarks that have both; see `stats.combine.combine`."""
    parts = compare(runs, a, b, claim=claim, method=method).parts
    return comparisons.combine([part for part in parts if isinstance(part, Comparison)], weights=weights)


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
