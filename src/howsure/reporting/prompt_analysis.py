"""Results over the prompt variants of one benchmark, which several sections use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howsure.reporting.sections.score_table import pick_spaced
from howsure.stats.core.cells import Cells, IntArray
from howsure.stats.core.cube import Cube
from howsure.stats.prompts import (
    Concordance,
    DimensionShares,
    Effects,
    PromptConsistency,
    RankFlips,
    UnparsedEffect,
    VariantAnswers,
    VariantSummary,
    estimate_concordance,
    estimate_prompt_consistency,
    estimate_rank_flips,
    estimate_unparsed_effect,
    estimate_variant_shares,
    list_drawn_values,
    summarize_variants,
)

#: Models in a figure, and models whose pairs are tested for rank flips, at most.
MAX_TESTED_MODELS = 60


@dataclass(frozen=True, eq=False)
class PromptAnalysis:
    """Results over the prompt variants of one benchmark, each computed when it is first used.

    Attributes
    ----------
    cube
        Cells by prompt variant.
    unparsed
        Counts of answers that could not be parsed, in the shape of the cube; None where they are not recorded.
    order
        Models of the cube in the order of the page.
    level, epsilon, delta
        See `ReportOptions`.
    answers
        Counts of the answers under each variant; None where no answers are kept.
    """

    cube: Cube
    unparsed: IntArray | None
    order: tuple[str, ...]
    level: float
    epsilon: float
    delta: float
    answers: VariantAnswers | None = None

    @cached_property
    def summary(self) -> VariantSummary:
        """Moments over prompts, variance components and n* of each model."""
        return summarize_variants(self.cube, level=self.level, epsilon=self.epsilon, delta=self.delta)

    def build_prompt_cells(self) -> Cells:
        """Return the scores of whole benchmarks as cells with a prompt in the place of a question."""
        scores = self.summary.moments.scores
        total = np.nan_to_num(scores)
        names = tuple(self.cube.drawn.variants)
        return Cells(self.cube.benchmark, self.cube.models, names, (~np.isnan(scores)).astype(int), total, total**2)

    @cached_property
    def shares(self) -> DimensionShares:
        """Share of the variance over prompts of each dimension, over the variants that have a value on each."""
        return estimate_variant_shares(self.summary, level=self.level)

    @property
    def effects(self) -> Effects:
        """Main effects of the values of each dimension, over the same variants."""
        return self.shares.effects

    @property
    def estimated_dimensions(self) -> list[str]:
        """Dimensions with at least two estimated effects, the one that explains most variance first."""
        effects, variance = self.effects, self.shares.variance
        available = np.any(~np.isnan(effects.effect), axis=0)
        explained = {
            name: float(np.nan_to_num(variance[:, d]).mean())
            for d, name in enumerate(self.shares.dimensions)
            if available[[dimension == name for dimension in effects.dimensions]].sum() > 1
        }
        return sorted(explained, key=lambda name: -explained[name])

    def list_missing_dimensions(self) -> Iterator[tuple[Sequence[str], str]]:
        """Yield groups of dimensions without estimated effects, each with the reason."""
        effects = self.effects
        for name, reason in effects.left_out.items():
            yield [name], reason
        confounded = [name for name in dict.fromkeys(effects.dimensions) if name not in self.estimated_dimensions]
        if confounded:
            n = len(list_drawn_values(self.cube)[0])
            yield (
                confounded,
                f"their values cannot be separated from those of other dimensions in {n:,} variants: draw more",
            )

    @cached_property
    def rank_flips(self) -> RankFlips:
        """Rank flips of all pairs of the first models, in the order of the cube, as the command `variants` has them."""
        first = set(self.order[:MAX_TESTED_MODELS])
        cube = self.cube.select([model for model in self.cube.models if model in first])
        return estimate_rank_flips(cube, level=self.level, rng=0)

    @cached_property
    def concordance(self) -> Concordance:
        """Kendall's W of the order of all models under the drawn prompts."""
        return estimate_concordance(
            self.cube.benchmark, self.cube.models, self.summary.moments.scores, level=self.level
        )

    @cached_property
    def consistency(self) -> PromptConsistency | None:
        """How often two drawn prompts give the same answer; None where no answers are kept."""
        return None if self.answers is None else estimate_prompt_consistency(self.answers, level=self.level)

    @cached_property
    def unparsed_effect(self) -> UnparsedEffect | None:
        """Effect of unparsed answers on the spread over prompts; None where they are not recorded."""
        if self.unparsed is None:
            return None
        return estimate_unparsed_effect(self.cube, self.unparsed, summary=self.summary, level=self.level)

    @property
    def scored_models(self) -> list[str]:
        """Models with a score under at least two variants, best first; none where variants are nested."""
        has_several = np.sum(~np.isnan(self.summary.moments.scores), axis=1) > 1
        return [model for model in self.order if has_several[self.cube.index(model)]]

    def pick_models(self, count: int) -> list[str]:
        """Return at most `count` of the scored models, spread over their order."""
        return pick_spaced(self.scored_models, count)
