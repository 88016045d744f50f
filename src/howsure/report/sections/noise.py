"""Section 3 of the page: where the noise of a score comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from howsure.report.charts.base import MAX_SERIES
from howsure.report.charts.noise import draw_effects, draw_noise_parts, draw_variance_components
from howsure.report.elements import Figure, Sheet
from howsure.report.sections.comparisons import DRAWN
from howsure.report.sections.prompt_variants import Prompts
from howsure.report.sentences.noise import (
    POOLED_PROMPTS,
    describe_effects,
    describe_noise_parts,
    describe_variance_components,
)
from howsure.stats.core.results import Columns
from howsure.stats.prompts import Effects
from howsure.stats.scores import Scores

#: Models with a row of components, at most.
_SOURCES = 20


def noise(scores: Scores, order: Sequence[str], sheet: Sheet, *, pooled: bool = False) -> Iterator[Figure]:
    """Data and prediction noise of each model; `pooled`: over several prompts."""
    if np.isnan(scores.total).all():  # one question, answered once: nothing to draw
        return
    shown = order[:DRAWN]
    yield sheet.figure(
        "noise",
        "How much noise comes from the questions, how much from sampling?",
        describe_noise_parts(scores, len(shown)) + (f" {POOLED_PROMPTS}" if pooled else ""),
        draw_noise_parts(scores, shown),
        looks="Stacked bars, one per model",
        table="scores",
        marks=2 * len(shown),
    )


def noise_section(numbers: Prompts, sheet: Sheet) -> Iterator[Figure]:
    """The four components, and a figure for each dimension, from the one that explains most."""
    found = numbers.variants.components
    known = [model for model in numbers.order if not np.isnan(found.residual[numbers.cube.index(model)])]
    if known:
        sheet.table("components", found.columns())
        shown = known[:_SOURCES]
        caption = describe_variance_components(found)
        if len(shown) < len(known):
            caption += f" Drawn for the first {len(shown)} of {len(known):,} models; the numbers are over all."
        yield sheet.figure(
            "sources",
            "How much comes from the prompt, the question, and sampling again?",
            caption,
            draw_variance_components(found, shown),
            looks="Points with intervals, four for each model",
            table="components",
            marks=8 * len(shown),
        )
    if not numbers.scored:
        return
    e = numbers.effects
    if not numbers.told:
        return
    sheet.table("effects", _effect_rows(numbers))
    shown = numbers.spaced(MAX_SERIES)
    rows = [e.models.index(model) for model in shown]
    reach = _reach(e, rows)
    for place, name in enumerate(numbers.told, 1):
        at = [i for i, of in enumerate(e.dimensions) if of == name]
        drawn = [i for i in at if not np.all(np.isnan(e.effect[rows, i]))]
        if not drawn:
            continue
        drawn.sort(key=lambda i: -float(np.nanmean(e.effect[rows, i])))
        yield sheet.figure(
            f"effect-{place}",
            f"Which values of {name} score higher?",
            describe_effects(e, name, len(shown), numbers.unread) + _cut(e, rows, drawn, reach),
            draw_effects(e, name, shown, [e.values[i] for i in drawn], reach=reach),
            looks=f"Points with intervals, one row for each value of {name}",
            table="effects",
            marks=3 * len(drawn) * len(shown),
        )


def _effect_rows(numbers: Prompts) -> Columns:
    columns = numbers.effects.columns()
    columns["share_of_variance"] = columns.pop("share")
    return columns


def _reach(e: Effects, rows: Sequence[int]) -> float:
    """Three times the largest effect, or the farthest interval, whichever is nearer."""
    between = e.interval()
    effect = float(np.nanmax(np.abs(e.effect[rows]), initial=0))
    ends = np.abs(np.stack([between.low[rows], between.high[rows]]))
    return max(min(3 * effect, float(np.nanmax(ends, initial=effect))), 1e-6) * 1.03


def _cut(e: Effects, rows: Sequence[int], drawn: Sequence[int], reach: float) -> str:
    between = e.interval()
    place = np.ix_(rows, drawn)
    beyond = (between.high[place] > reach) | (between.low[place] < -reach)
    return " Intervals that reach the edge of the figure are cut there." if beyond.any() else ""
