"""Plan how many questions, prompt variants and generations an evaluation needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from howsure.api.model_scores import Reference, _list
from howsure.errors import InputError
from howsure.sample.resume import order_key
from howsure.stats import borrowing, planning
from howsure.stats.core.cells import Cells
from howsure.stats.core.claims import MeanClaim
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Results
from howsure.stats.planning import (
    Cost,
    VarianceComponents,
    components_from_accuracy,
    components_from_cells,
    components_from_cube,
)


def plan(
    pilot: Cells | Cube | Iterable[Cells | Cube] | None,
    *,
    a: str | None = None,
    b: str | None = None,
    accuracy: float | None = None,
    cost: Cost | None = None,
    available: int | None = None,
    max_variants: int | None = None,
    claim: MeanClaim = "new-questions",
    temperature: float | None = None,
    assurance: float | None = planning.ASSURANCE,
    borrow: Reference | None = None,
    **goal: Any,
) -> Results:
    """What to run: a design per benchmark; see `stats.planning.plan` for the goals.

    Parameters
    ----------
    pilot
        Results to learn the noise from, or None to assume it from `accuracy`. Cubes of several prompt variants plan for
        new variants of their space; cells, and cubes of one, for the prompts that they have.
    a, b
        Models to compare; `a` alone plans for its score. By default the two models, or the one, of the pilot.
    available, max_variants
        Questions and prompt variants that there are; by default those of the pilot, or of `borrow`.
    temperature
        Without a pilot: the sampling temperature, on which the assumed noise depends; see `stats.pilot.assumed`.
    assurance
        The design reaches its goal with this chance, from 0.5 to below 1, given how roughly the noise is known: it is
        planned with the upper limit of its variance. 0.5 or None: with the noise as estimated, which delivers less than
        it promises in about half of all cases. Beside the assured design stands the plain one.
    borrow
        Results of other models on all questions, as in `score`: how many of those questions to ask. Without a pilot,
        the noise is that of the reference's own models, each predicted from the others: for ``detect``, of pairs of
        neighbours in score. `draw_questions` draws which to ask.

    >>> cells = Cells.from_scores("demo", ["a"], list("pqrs"), [[[1, 0], [1, 1], [0, 0], [0, 1]]])
    >>> [plan(cells, width=0.2, available=10_000, assurance=level).parts[0].best.n_questions for level in (0.8, None)]
    [121, 113]
    """
    is_pair = goal.get("detect") is not None
    asked = _planned(pilot, a, b, accuracy, available, max_variants, claim, temperature, borrow, is_pair=is_pair)
    return Results(
        tuple(
            planning.plan(noise, cost, available=available, max_variants=variants, assurance=assurance, **goal)
            for noise, available, variants in asked
        )
    )


def draw_questions(reference: Cells, n: int, *, seed: int = 0) -> tuple[str, ...]:
    """Draw n questions of a reference at random: those that a run with ``limit: n`` and this seed asks.

    Parameters
    ----------
    reference
        Results of other models on all questions.
    n
        How many, at most all; a larger number with the same seed keeps these and adds to them.
    seed
        Of the draw.

    >>> cells = Cells.from_scores("demo", ["a"], ["q1", "q2", "q3"], [[[1], [0], [1]]])
    >>> draw_questions(cells, 2) == draw_questions(cells, 3)[:2]
    True
    """
    if not 1 <= n <= len(reference.questions):
        raise InputError(f"n is {n}", where=reference.benchmark, remedy=f"allowed: 1 to {len(reference.questions)}")
    return tuple(sorted(reference.questions, key=lambda question: order_key(question, seed=seed))[:n])


def frontier(
    pilot: Cells | Cube | Iterable[Cells | Cube] | None,
    *,
    budget: float,
    a: str | None = None,
    b: str | None = None,
    accuracy: float | None = None,
    cost: Cost | None = None,
    available: int | None = None,
    max_variants: int | None = None,
    claim: MeanClaim = "new-questions",
    temperature: float | None = None,
    borrow: Reference | None = None,
    **goal: Any,
) -> Results:
    """The best design for a budget, for half of it, for a quarter, and so on; parameters as of `plan`.

    Half a budget that buys the same design has no row; the last row is the smallest budget that buys one.
    """
    plans = []
    for noise, questions, variants in _planned(
        pilot, a, b, accuracy, available, max_variants, claim, temperature, borrow, is_pair=False
    ):
        limits = {"available": questions, "max_variants": variants, **goal}
        whole = planning.plan(noise, cost, budget=budget, **limits)
        designs, best, spent = [], whole.best, budget
        while best:
            designs.append(best)
            spent /= 2
            best = planning.plan(noise, cost, budget=spent, **limits).best
        kept = list(dict.fromkeys(designs))
        plans.append(_designs(whole, kept) if kept else whole)
    return Results(tuple(plans))


def _designs(plan: planning.StudyPlan, designs: Sequence[planning.StudyDesign]) -> planning.StudyPlan:
    """The plan with these rows."""
    columns: dict[str, Any] = {
        name: np.array([getattr(one, name) for one in designs]) for name in planning.StudyDesign._fields
    }
    return replace(plan, remarks=("",) * len(designs), **columns)


def _planned(
    pilot: Cells | Cube | Iterable[Cells | Cube] | None,
    a: str | None,
    b: str | None,
    accuracy: float | None,
    available: int | None,
    max_variants: int | None,
    claim: MeanClaim,
    temperature: float | None,
    borrow: Reference | None,
    *,
    is_pair: bool,
) -> list[tuple[VarianceComponents, int | None, int]]:
    """Noise, and the questions and variants that there are, of each benchmark."""
    references = None if borrow is None else _list(borrow)
    if references is not None:
        if accuracy is not None:
            raise InputError("accuracy with borrow", remedy="leave it out: the reference tells the noise")
        _check_one(max_variants, "borrowing plans for one prompt variant")
    if pilot is None:
        return _planned_without_pilot(a, b, accuracy, available, max_variants, claim, temperature, references, is_pair)
    if temperature is not None:
        what = "a temperature is for plans without a pilot, whose noise is measured"
        raise InputError(what, where=f"--temperature {temperature:g}", remedy="leave it out")
    found: list[tuple[VarianceComponents, int | None, int]] = []
    for data in [pilot] if isinstance(pilot, Cells | Cube) else pilot:
        pair = [a, b] if a is not None else list(data.models)
        if len(pair) > 2:
            raise InputError(f"{len(pair)} models", where=data.benchmark, remedy="name one or two with --a and --b")
        names = [name for name in pair if name is not None]
        if references is not None:
            cells = data.cells() if isinstance(data, Cube) else data
            reference = borrowing.match_reference(cells.benchmark, references)
            noise = borrowing.components_of(reference, cells, *names, claim=claim)
            found.append((noise, len(reference.questions) if available is None else available, 1))
            continue
        if isinstance(data, Cube) and len(data.drawn.variants) > 1:
            noise = components_from_cube(data, *names, claim=claim)
            most = len(data.drawn.variants) if max_variants is None else max_variants
        else:
            _check_one(max_variants, f"{data.benchmark}: one prompt variant says nothing of the noise of the prompt")
            noise, most = (
                components_from_cells(data.cells() if isinstance(data, Cube) else data, *names, claim=claim),
                1,
            )
        found.append((noise, len(data.questions) if available is None else available, most))
    return found


def _planned_without_pilot(
    a: str | None,
    b: str | None,
    accuracy: float | None,
    available: int | None,
    max_variants: int | None,
    claim: MeanClaim,
    temperature: float | None,
    references: list[Cells] | None,
    is_pair: bool,
) -> list[tuple[VarianceComponents, int | None, int]]:
    """The same where nothing was asked yet: noise of the references' own models, or assumed from an accuracy."""
    if references is not None:
        models = 2 if is_pair else 1
        known = [borrowing.components_of_reference(one, models=models, claim=claim) for one in references]
        numbers = (len(one.questions) if available is None else available for one in references)
        return [(noise, number, 1) for noise, number in zip(known, numbers, strict=True)]
    if accuracy is None:
        raise InputError("nothing to plan from", remedy="give the results of a pilot, or --accuracy")
    _check_one(max_variants, "an accuracy says nothing of the noise of the prompt")
    number = 1 if a is not None and b is None else 2
    noise = components_from_accuracy(accuracy, models=number, temperature=temperature)
    if claim == "these-questions":
        # All of these questions are asked, or as many as there are: data noise is in what is left out alone.
        noise = (
            replace(noise, question=0.0, question_se=0.0, total=math.nan, total_se=math.nan)
            if available is None
            else replace(noise, population=available)
        )
    return [(noise, available, 1)]


def _check_one(max_variants: int | None, what: str) -> None:
    if max_variants not in {None, 1}:
        raise InputError(
            what, where=f"--max-variants {max_variants}", remedy="give a pilot with several prompt variants"
        )
