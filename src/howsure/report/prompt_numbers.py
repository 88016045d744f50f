"""The numbers behind the page's sections on prompt variants, each computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howsure.stats.core.cells import IntArray
from howsure.stats.core.cube import Cube
from howsure.stats.prompts import (
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

__all__ = ["SWAPPED", "Prompts"]

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
        return estimate_unparsed_effect(self.cube, self.counts, found=self.variants, level=self.level)

    @property
    def scored(self) -> list[str]:
        """Models with a score under two variants or more, best first; none where variants are nested."""
        there = np.sum(~np.isnan(self.variants.moments.scores), axis=1) > 1
        return [model for model in self.order if there[self.cube.index(model)]]

    def spaced(self, most: int) -> list[str]:
        """As many models, spread over their order."""
        scored = self.scored
        return [scored[i] for i in np.unique(np.linspace(0, len(scored) - 1, min(most, len(scored))).astype(int))]
