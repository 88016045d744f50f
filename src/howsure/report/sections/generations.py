"""Part of section 5 of the page: what more generations would buy, and the best design for a budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from howsure.report.charts.generations import draw_frontier, draw_run_ranges, draw_standard_errors
from howsure.report.elements import Figure, Section, Sheet
from howsure.report.sections.score_table import GREEDY
from howsure.report.sentences.generations import describe_frontier, describe_run_ranges, describe_standard_errors
from howsure.stats.core.cells import Cells, FloatArray, IntArray
from howsure.stats.core.cube import Cube
from howsure.stats.planning import (
    COST_UNITS,
    Cost,
    StudyDesign,
    VarianceComponents,
    components_from_cells,
    components_from_cube,
    cost_per_cell,
    plan,
)
from howsure.stats.repeats import convergence
from howsure.stats.scores import Scores

#: Numbers of generations that grow by about the same factor.
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100, 150, 200)

#: Generations up to which runs grow, and up to which `_enough` looks.
_GROWN, _LOOKED = 50, 1000

#: Budgets of the frontier, as multiples of what the run cost.
_BUDGETS = 2.0 ** np.arange(-5, 4)

#: Headings of the columns of this section's tables.
COLUMNS = {
    "part": ("Part", "What the row is of: a band, a line, or a kind of design."),
    "k": ("Generations", "Generations per question (and prompt)."),
    "spent": ("Spent", "Calls, tokens or money that a design takes."),
}


@dataclass(frozen=True)
class Pilot:
    """What was run of one model, and where its noise comes from."""

    model: str
    components: VarianceComponents
    n_questions: int
    n_variants: int
    counts: IntArray  # generations of each cell of a question and a prompt that was asked

    @property
    def n_generations(self) -> float:
        """Per question and prompt, on average."""
        return float(self.counts.mean())

    def se(self, k: FloatArray | float) -> FloatArray:
        """Standard error of as many questions and prompts with k generations each, for new ones."""
        root: FloatArray = np.sqrt(self.components.variance(self.n_questions, k, self.n_variants))
        return root


def convergence_section(
    cells: Cells,
    scores: Scores,
    order: Sequence[str],
    sheet: Sheet,
    *,
    cube: Cube | None = None,
    cost: Cost | None = None,
) -> Section:
    """Runs that grow by a generation, standard errors against generations, and the budget frontier.

    Parameters
    ----------
    cells, scores
        The benchmark, and the scores of its models.
    order
        Models as the page has them; a few, spread over it, are drawn.
    cube
        The same by prompt, where there are several: errors are then for new questions in new prompts.
    cost
        Of one generation, for the frontier; None: calls, one for each generation.
    """
    title, link = "How many generations are enough", "How many generations"
    lead = (
        "More generations per question take sampling noise out of a score; what other questions would change is left. "
        "More questions take out both."
    )
    several = cube is not None and len(cube.drawn.variants) > 1
    sampled = [model for model in order if not math.isnan(scores.prediction[cells.index(model)])]
    pilots = [found for model in sampled if (found := _pilot(cells, cube if several else None, model)) is not None]
    # The scores of one question in several prompts, which a table of scores has, are no generations of it.
    growing = () if several and len(cells.questions) == 1 else _growing(cells, scores, sampled, sheet)
    items = [*growing, *_errors(pilots, sheet, several=several)]
    if pilots:
        items += _frontier(pilots[0], cost or Cost(), sheet)
    return Section(
        "generations-part", title, link, lead, tuple(items), tuple(_left_out(pilots, items, several=several))
    )


def _left_out(pilots: Sequence[Pilot], items: Sequence[Figure], *, several: bool) -> Iterator[str]:
    each = "per question and prompt" if several else "per question"
    if not items:
        yield f"how many generations are enough (one generation {each})"
    elif not pilots:
        yield f"what more generations would buy (one generation {each}, or no noise was seen)"


def _pilot(cells: Cells, cube: Cube | None, model: str) -> Pilot | None:
    """None where the noise is unknown, or none was seen."""
    if cube is None or model not in cube.models:
        n, S = cells.n[cells.index(model)][:, None], 1
        found = components_from_cells(cells, model)
    else:
        n = cube.drawn.n[cube.index(model)]
        S = int(np.sum(np.any(n > 0, axis=0)))
        found = components_from_cube(cube, model)
    if not found.known or not found.single > 0:
        return None
    return Pilot(model, found, int(np.sum(np.any(n > 0, axis=1))), S, n[n > 0])


def _spaced(models: Sequence[str], most: int) -> list[str]:
    return [models[i] for i in np.unique(np.linspace(0, len(models) - 1, min(most, len(models))).astype(int))]


def _growing(cells: Cells, scores: Scores, sampled: Sequence[str], sheet: Sheet) -> Iterator[Figure]:
    from howsure.report.charts.base import MAX_SERIES

    counts = {model: _generations(cells.n[cells.index(model)]) for model in sampled}
    several = [model for model in sampled if counts[model] > 1]
    if not several:
        return
    shown = _spaced(several, MAX_SERIES)
    ends = {model: min(counts[model], _GROWN) for model in shown}
    k = sorted({step for step in _STEPS if step <= max(ends.values())} | set(ends.values()))
    found = convergence(cells.select(shown), k, level=scores.level)
    greedy = {
        model: float(scores.score[cells.index(model + GREEDY)]) for model in shown if model + GREEDY in cells.models
    }
    caption = describe_run_ranges(found, greedy, ends)
    if len(cells.variants) > 1:
        caption += f" Generations are from {len(cells.variants):,} prompts."
    if len(shown) < len(sampled):
        caption += f" Drawn for {len(shown)} of {len(sampled):,} models."
    yield sheet.figure(
        "growing",
        "How does the score settle as generations are added?",
        caption,
        draw_run_ranges(found, ends, greedy, unit=cells.unit),
        looks="Bands that narrow from left to right, one row per model",
        marks=4 * sum(step <= end for end in ends.values() for step in k),
    )


def _generations(n: IntArray) -> int:
    """Generations that at least half of the answered questions have."""
    return int(np.median(n[n > 0]))


def _errors(pilots: Sequence[Pilot], sheet: Sheet, *, several: bool) -> Iterator[Figure]:
    from howsure.report.charts.base import MAX_SERIES

    if not pilots:
        return
    shown = _spaced([pilot.model for pilot in pilots], MAX_SERIES)
    drawn = [pilot for pilot in pilots if pilot.model in shown]
    most = max(2 * max(pilot.n_generations for pilot in drawn), 50)
    k = np.array([step for step in _STEPS if step <= most], float)
    here = {
        pilot.model: (pilot.n_generations, float(pilot.se(pilot.n_generations)))
        for pilot in drawn
        if pilot.n_generations <= k[-1]
    }
    first = drawn[0]
    caption = describe_standard_errors(
        first.model,
        first.n_generations,
        drawn=first.model in here,
        se=(float(first.se(1)), float(first.se(first.n_generations)), float(first.se(math.inf))),
        enough=_enough(first),
        several=several,
    )
    if len(shown) < len(pilots):
        caption += f" Drawn for {len(shown)} of {len(pilots):,} models."
    yield sheet.figure(
        "errors-k",
        "What would more generations per question buy?",
        caption,
        draw_standard_errors(k, {pilot.model: pilot.se(k) for pilot in drawn}, here),
        looks="Falling curves, one per model",
        marks=(len(k) + 1) * len(drawn),
    )


def _enough(pilot: Pilot) -> int | None:
    """Fewest generations whose error is within a tenth of what any number of them can reach; None: over a thousand."""
    k = np.arange(1.0, _LOOKED + 1)
    near = pilot.se(k) <= 1.1 * pilot.se(math.inf)
    return int(k[np.argmax(near)]) if near.any() else None


def best_designs(pilot: Pilot, cost: Cost, unit: str, spent: float) -> dict[str, list[StudyDesign]]:
    """Best design for each of a few budgets around what was spent, by kind of design; cheapest first.

    With prompts: those of one prompt, and of up to as many as were asked; both of the questions at hand. Without: those
    of the questions at hand, and of any number of new ones.
    """
    N, S = pilot.n_questions, pilot.n_variants
    kinds: dict[str, tuple[int | None, int]] = (
        {"one prompt": (N, 1), f"up to {S:,} prompts": (N, S)}
        if S > 1
        else {f"at most {N:,} questions": (N, 1), "any number of questions": (None, 1)}
    )
    out: dict[str, list[StudyDesign]] = {}
    for kind, (available, variants) in kinds.items():
        best = [
            # the noise as estimated, like the error of what was run, which stands beside these
            plan(
                pilot.components,
                cost,
                budget=budget,
                unit=unit,
                available=available,
                max_variants=variants,
                assurance=None,
            ).best
            for budget in (spent * _BUDGETS).tolist()
        ]
        out[kind] = list(dict.fromkeys(design for design in best if design is not None))
    return out


def _frontier(pilot: Pilot, cost: Cost, sheet: Sheet) -> Iterator[Figure]:

    unit = next(name for name in reversed(COST_UNITS) if float(cost_per_cell([cost], 1, name)) > 0)
    spent = float(cost_per_cell([cost], pilot.counts, unit).sum())
    designs = best_designs(pilot, cost, unit, spent)
    if not all(designs.values()):
        return
    here = (spent, float(pilot.se(pilot.n_generations)))
    yield sheet.figure(
        "frontier",
        f"What is the best error of {pilot.model} for each budget?",
        describe_frontier(designs, unit, here),
        draw_frontier(designs, unit, here),
        looks="Falling lines with points, one for each kind of design, and a cross for what was run",
        marks=2 * sum(map(len, designs.values())) + 1,
    )
