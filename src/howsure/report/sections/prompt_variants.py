"""The numbers behind the page's sections on prompt variants, each computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howsure.report.charts.base import MAX_SERIES
from howsure.report.charts.heatmap import MAX_MARKS
from howsure.report.charts.prompt_variants import draw_convergence, draw_spread, draw_unparsed, draw_unparsed_values
from howsure.report.elements import Figure, Listing, Sheet
from howsure.report.sentences.formatting import choose_decimals, format_level, format_number, format_share
from howsure.report.sentences.prompt_variants import (
    describe_convergence,
    describe_omitted_models,
    describe_rank_flips,
    describe_sample_sizes,
    describe_spread,
    format_prompts,
    format_prompts_interval,
)
from howsure.report.sentences.unparsed_answers import describe_parser_effect, describe_unparsed_values
from howsure.stats.core.cells import IntArray
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Columns
from howsure.stats.prompts import (
    MOMENTS,
    Effects,
    RankFlips,
    UnparsedEffect,
    VariantSummary,
    estimate_rank_flips,
    estimate_unparsed_effect,
    estimate_variant_effects,
    list_drawn_values,
    summarize_variants,
)

#: Models whose pairs are tested for swaps.
SWAPPED = 60


@dataclass(frozen=True, eq=False)
class Prompts:
    """The numbers of one benchmark: `order` is that of the page, best model first, and holds the cube's models."""

    cube: Cube
    counts: IntArray | None
    order: tuple[str, ...]
    level: float
    epsilon: float
    delta: float

    @cached_property
    def variants(self) -> VariantSummary:
        """Moments, components and n* of each model."""
        return summarize_variants(self.cube, level=self.level, epsilon=self.epsilon, delta=self.delta)

    @cached_property
    def effects(self) -> Effects:
        """Main effects of each dimension's values, over the variants that have one on each dimension."""
        return estimate_variant_effects(self.variants, level=self.level)

    @property
    def told(self) -> list[str]:
        """Dimensions with an effect that can be told from those of others, from the one that explains most."""
        e = self.effects
        told = np.any(~np.isnan(e.effect), axis=0)
        explained = {
            name: float(np.nan_to_num(e.share[:, i]).mean())
            for i, name in enumerate(e.dimensions)
            if told[[of == name for of in e.dimensions]].sum() > 1
        }
        return sorted(explained, key=lambda name: -explained[name])

    def untold(self) -> Iterator[tuple[Sequence[str], str]]:
        """The other dimensions, and why."""
        e = self.effects
        for name, why in e.left_out.items():
            yield [name], why
        lost = [name for name in dict.fromkeys(e.dimensions) if name not in self.told]
        if lost:
            there = len(list_drawn_values(self.cube)[0])
            yield lost, f"their values cannot be told from those of other dimensions in {there:,} variants: draw more"

    @cached_property
    def swaps(self) -> RankFlips:
        """Swaps of all pairs of the first models, in the cube's order: the command draws in it, too."""
        first = set(self.order[:SWAPPED])
        return estimate_rank_flips(
            self.cube.select([m for m in self.cube.models if m in first]), level=self.level, rng=0
        )

    @cached_property
    def unread(self) -> UnparsedEffect | None:
        """What answers that could not be read do to the spread; None where the source does not say."""
        if self.counts is None:
            return None
        return estimate_unparsed_effect(self.cube, self.counts, summary=self.variants, level=self.level)

    @property
    def scored(self) -> list[str]:
        """Models with a score under two variants or more, best first; none where variants are nested."""
        there = np.sum(~np.isnan(self.variants.moments.scores), axis=1) > 1
        return [model for model in self.order if there[self.cube.index(model)]]

    def spaced(self, most: int) -> list[str]:
        """As many models, spread over their order."""
        scored = self.scored
        return [scored[i] for i in np.unique(np.linspace(0, len(scored) - 1, min(most, len(scored))).astype(int))]


#: Models with a row of components, pairs with a row of swaps, values with a row of unread answers, at most.
_SOURCES, _PAIRS, _VALUES = 20, 12, 40


def spread_section(numbers: Prompts, sheet: Sheet) -> Iterator[Figure | Listing]:
    """Box plots, swaps of the closest pairs, and the answers that could not be read."""
    scored = numbers.scored
    if not scored:
        return
    found, missed = numbers.variants, numbers.unread
    sheet.table("variants", _variant_rows(numbers))
    most = max(MAX_MARKS // len(numbers.cube.drawn.variants), 1)
    shown = scored[: min(SWAPPED, most)]
    yield sheet.figure(
        "spread",
        "How far does the score depend on the prompt?",
        describe_spread(found, len(shown) + len(numbers.cube.models) - len(scored), missed),
        draw_spread(found, shown),
        looks="Box plots with points, one row for each model and a point for each prompt",
        table="variants",
        marks=len(shown) * len(numbers.cube.drawn.variants),
    )
    if missed is not None and missed.counts.any():
        yield from _unread(numbers, missed, sheet)
    if len(scored) > 1:
        yield _swaps(numbers.swaps, sheet)


def _variant_rows(numbers: Prompts) -> Columns:
    """One row per model and variant, the default prompt too: score, unread share and the values of the variant."""
    cube, x = numbers.cube, numbers.variants.all_scores
    M, S = x.shape
    columns: Columns = {
        "model": np.repeat(np.array(cube.models, dtype=object), S),
        "variant": np.tile(np.array(cube.variants, dtype=object), M),
        "default": np.tile([s == cube.default for s in range(S)], M),
        "score": x.ravel(),
        "n_questions": np.sum(cube.n > 0, axis=1).ravel(),
        "n_generations": cube.n.sum(axis=1).ravel(),
    }
    if numbers.unread is not None:
        columns["unparsed"] = numbers.unread.share.ravel()
    for name, values in cube.values.items():
        columns[f"value_of_{name}"] = np.tile(np.array(values, dtype=object), M)
    return columns


def _unread(numbers: Prompts, missed: UnparsedEffect, sheet: Sheet) -> Iterator[Figure]:

    shown = numbers.spaced(MAX_SERIES)
    worst = numbers.cube.models[int(np.nanargmax(np.nan_to_num(missed.share).max(axis=1)))]
    if worst not in shown:
        shown = [*shown[:-1], worst]
    yield sheet.figure(
        "unparsed",
        "Is it the prompt, or the parser?",
        describe_parser_effect(missed) + describe_omitted_models(len(shown), len(numbers.cube.models)),
        draw_unparsed(missed, shown),
        looks="Scatter plot, a point for each model and prompt",
        table="variants",
        marks=len(shown) * len(numbers.cube.variants),
    )
    values = missed.values
    if np.any(values.pooled > 0):
        sheet.table("unparsed-values", values.columns())
        order = values.order[:_VALUES]
        yield sheet.figure(
            "unparsed-values",
            "With which values can answers not be read?",
            describe_unparsed_values(missed, len(order)),
            draw_unparsed_values(values, order),
            looks="Points, one row for each value of a dimension",
            table="unparsed-values",
            marks=len(order) * (len(values.models) + 1),
        )


def _swaps(found: RankFlips, sheet: Sheet) -> Listing:
    sheet.table("swaps", found.columns())
    closest = np.argsort(np.where(found.n_variants > 0, np.abs(found.difference), np.inf), kind="stable")[:_PAIRS]
    order = closest.tolist()
    places = min(choose_decimals(np.abs(found.difference[closest])), 4)
    pairs = [(found.models_a[i], found.models_b[i])[:: -1 if found.difference[i] < 0 else 1] for i in order]
    rows = {
        "Model": [better for better, _ in pairs],
        "Other model": [other for _, other in pairs],
        "Difference": [format_number(float(abs(found.difference[i])), places, sign=True) for i in order],
        "Flipped, seen": [format_share(float(found.swapped[i])) for i in order],
        "By noise alone": [format_share(float(found.swapped_by_noise[i])) for i in order],
        "Flipped, true": [format_share(float(found.swapped_true[i])) for i in order],
        f"{format_level(found.level)} interval": [
            "–"
            if np.isnan(found.true_low[i])
            else f"{format_share(float(found.true_low[i]))} to {format_share(float(found.true_high[i]))}"
            for i in order
        ],
    }
    return sheet.listing(
        "swaps",
        "Under how many prompts does the order of two models flip?",
        describe_rank_flips(found, len(order)),
        rows,
        text=2,
        table="swaps",
    )


def enough_section(numbers: Prompts, sheet: Sheet) -> Iterator[Figure | Listing]:
    """Convergence of both moments, and n*."""
    if not numbers.scored:
        return
    found = numbers.variants.sample_size
    shown = numbers.spaced(MAX_SERIES)
    for moment in MOMENTS:
        yield sheet.figure(
            f"convergence-{moment}",
            f"How many prompts until the {moment} is near that over all?",
            describe_convergence(found, moment, len(shown)),
            draw_convergence(found, moment, shown),
            looks="Curves that fall to 0, one for each model, with a line at epsilon",
            marks=len(numbers.cube.drawn.variants) * len(shown),
        )
    sheet.table("enough", found.columns())
    low, high = found.space_limits(numbers.level)
    at = [found.models.index(model) for model in numbers.scored[:SWAPPED]]
    count = format_prompts
    rows = {"Model": [found.models[i] for i in at], "Prompts": [f"{int(found.n_variants[i]):,}" for i in at]}
    for j, moment in enumerate(MOMENTS):
        # as the command `variants` prints it
        rows[f"n*, {moment}"] = [
            count(found.n_star[i, j]) if found.reached[i, j] or np.isnan(found.n_star[i, j]) else "not reached"
            for i in at
        ]
        rows[f"Space, {moment}"] = [
            format_prompts_interval(found.n_star_space[i, j], low[i, j], high[i, j]) for i in at
        ]
        rows[f"Noise-free, {moment}"] = [
            format_prompts_interval(
                found.n_star_space_corrected[i, j], found.corrected_low[i, j], found.corrected_high[i, j]
            )
            for i in at
        ]
    caption = describe_sample_sizes(found, numbers.level)
    yield sheet.listing("enough", "How many prompts are enough?", caption, rows, text=1, table="enough")
