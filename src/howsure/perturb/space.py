"""A space of prompt variants, draws from it, and the benchmark that it is bound to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from howsure.benchmarks.question import Benchmark, Question
from howsure.errors import InputError
from howsure.perturb.checks import check
from howsure.perturb.dimension import Dimension
from howsure.perturb.draw import below, key
from howsure.perturb.point import Pick, Point
from howsure.perturb.terms import Terms

__all__ = ["Space"]


@dataclass(frozen=True)
class Space(Terms):
    """Points that differ in the values of some dimensions; the product is never built.

    Parameters
    ----------
    name
        For people; it enters no id.
    dimensions
        Those that this space draws; a built-in one that is left out keeps its default value.
    layout
        Of a question: a template with `{question}`, `{choices}`, `{labels}`, `{question_marker}`, `{answer_marker}`.
    head
        What stands before the questions: a template with `{instruction}` and the dimensions of one's own.
    system
        The system message, as `head`.
    pool
        Questions to take demonstrations from.
    extract
        How answers to questions without choices are read.

    Raises
    ------
    InputError
        When two dimensions have the same name.
    """

    def point(self, j: int, seed: int) -> Point:
        """Draw j, counted from 0, each dimension by its own hash of (seed, j, name of the dimension)."""
        return Point(self, {d.name: _pick(d, seed, j) for d in self.dimensions})

    def sample(self, n: int, seed: int) -> list[Point]:
        """Draws 0 to n - 1: i.i.d. uniform, with replacement; a larger n keeps the first ones.

        A point that is drawn again is a variant of its own, with its own id and generations: as many variants as
        draws, so the draws stay independent and every estimator that takes them so is right.

        Raises
        ------
        InputError
            When n is not at least 1.
        """
        if n < 1:
            raise InputError(f"a sample of {n} variants", where="variants", remedy="give 1 or more")
        drawn: Counter[tuple[Pick, ...]] = Counter()
        points = []
        for point in (self.point(j, seed) for j in range(n)):
            same = tuple(point.picks.values())
            drawn[same] += 1
            points.append(point if drawn[same] == 1 else replace(point, repeat=drawn[same]))
        return points

    def bind(self, benchmark: Benchmark, pool: Sequence[Question] = ()) -> Space:
        """The space for the questions of one benchmark, with a pool of demonstrations.

        Raises
        ------
        InputError
            When the questions, the pool and the values do not go together: see `checks.check`.
        """
        bound = replace(self, pool=tuple(pool), extract=benchmark.extract)
        check(bound, benchmark.questions)
        return bound


def _pick(dimension: Dimension, seed: int, j: int) -> Pick:
    if dimension.nested:
        return Pick(None, key(seed, j, dimension.name, "nested"))
    value = dimension.values[below(len(dimension.values), seed, j, dimension.name)]
    return Pick(value, key(seed, j, dimension.name, "key") if value.seeded else "")
