"""Sections 4 and 5 of the page: the spread of scores over prompt variants, and how many prompts are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howsure.reporting.charts.chart_elements import MAX_SERIES
from howsure.reporting.charts.prompt_variants import (
    draw_convergence,
    draw_spread,
    draw_unparsed,
    draw_unparsed_values,
)
from howsure.reporting.elements import ElementBuilder, Figure, Section, TextTable
from howsure.reporting.formatting import format_level, format_number, format_share
from howsure.reporting.sections.heatmap import MAX_MARKS
from howsure.reporting.sections.score_table import pick_spaced
from howsure.reporting.sentences.prompt_variants import (
    describe_concordance,
    describe_consistency,
    describe_convergence,
    describe_omitted_models,
    describe_rank_flips,
    describe_sample_sizes,
    describe_spread,
    find_neediest_model,
    format_prompts,
    format_prompts_interval,
    format_share_interval,
)
from howsure.reporting.sentences.unparsed_answers import describe_parser_effect, describe_unparsed_values
from howsure.stats.core.cells import Cells, IntArray
from howsure.stats.core.claims import MOMENTS, Moment
from howsure.stats.core.cube import Cube
from howsure.stats.core.results import Columns
from howsure.stats.core.text_table import choose_decimals
from howsure.stats.prompts import (
    Concordance,
    DimensionShares,
    Effects,
    PromptConsistency,
    RankFlips,
    SampleSize,
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
_MAX_MODELS = 60

#: Pairs with a row in the table of rank flips, and values with a row in the figure of unparsed answers, at most.
_MAX_PAIRS, _MAX_VALUES = 12, 40


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
        first = set(self.order[:_MAX_MODELS])
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


def build_spread_section(
    prompts: PromptAnalysis | None, builder: ElementBuilder, cells: Cells, cube: Cube | None
) -> Section:
    """Build the section with box plots, unparsed answers by prompt, and rank flips of the closest pairs."""
    items = [] if prompts is None else list(build_spread_items(prompts, builder))
    title = "Spread over prompts"
    return Section(
        "prompts-part",
        title,
        title,
        "The same questions in other words. A prompt's score is the mean over the questions; missing ones are "
        "filled in from question and prompt.",
        tuple(items),
        tuple(_list_missing_spread(prompts, items, cells, cube)),
    )


def _list_missing_spread(
    prompts: PromptAnalysis | None, items: Sequence[Figure | TextTable], cells: Cells, cube: Cube | None
) -> Iterator[str]:
    """Yield what the data do not say about the spread over prompts, each with the reason."""
    if prompts is None:
        one = cube is not None or len(cells.variants) == 1
        reason = "one prompt variant" if one else "scores by prompt variant are not known"
        reason += " beside the default prompt" if cube is not None and len(cube.variants) > 1 else ""
        yield f"effects of the prompt, spread over prompts and how many prompts are enough ({reason})"
        return
    if not items:
        reason = "each question has variants of its own" if prompts.cube.nested else "no model has two scores"
        yield f"spread over prompts and how many prompts are enough ({reason})"
    elif prompts.unparsed is None:
        yield "answers that could not be read, by prompt (not recorded)"
    if len(prompts.scored_models) == 1:
        yield "order of models under each prompt (only one model)"


def build_spread_items(prompts: PromptAnalysis, builder: ElementBuilder) -> Iterator[Figure | TextTable]:
    """Yield the items of the section on the spread over prompts; none without a model under two prompts."""
    scored = prompts.scored_models
    if not scored:
        return
    effect, n_variants = prompts.unparsed_effect, len(prompts.cube.drawn.variants)
    builder.add_table("variants", _tabulate_variants(prompts))
    models = scored[: min(_MAX_MODELS, max(MAX_MARKS // n_variants, 1))]
    yield builder.build_figure(
        "spread",
        "How far does the score depend on the prompt?",
        describe_spread(prompts.summary, len(models) + len(prompts.cube.models) - len(scored), effect),
        draw_spread(prompts.summary, models),
        kind="Box plots with points, one row for each model and a point for each prompt",
        table="variants",
        marks=len(models) * n_variants,
    )
    if effect is not None and effect.counts.any():
        yield from _build_unparsed_figures(prompts, effect, builder)
    if prompts.consistency is not None and np.any(~np.isnan(prompts.consistency.rate)):
        yield _build_consistency_table(prompts, prompts.consistency, builder)
    if len(scored) > 1:
        yield _build_rank_flip_table(prompts, builder)


def _tabulate_variants(prompts: PromptAnalysis) -> Columns:
    """Return one row per model and variant, with score, share of unparsed answers and values of the variant."""
    cube, scores = prompts.cube, prompts.summary.all_scores
    M, S = scores.shape
    columns: Columns = {
        "model": np.repeat(np.array(cube.models, dtype=object), S),
        "variant": np.tile(np.array(cube.variants, dtype=object), M),
        "default": np.tile([s == cube.default for s in range(S)], M),
        "score": scores.ravel(),
        "n_questions": np.sum(cube.n > 0, axis=1).ravel(),
        "n_generations": cube.n.sum(axis=1).ravel(),
    }
    if prompts.unparsed_effect is not None:
        columns["unparsed"] = prompts.unparsed_effect.share.ravel()
    for name, values in cube.values.items():
        columns[f"value_of_{name}"] = np.tile(np.array(values, dtype=object), M)
    return columns


def _build_unparsed_figures(
    prompts: PromptAnalysis, effect: UnparsedEffect, builder: ElementBuilder
) -> Iterator[Figure]:
    """Yield the figures of unparsed answers by prompt and by value of a dimension."""
    cube, models = prompts.cube, prompts.pick_models(MAX_SERIES)
    worst = cube.models[int(np.nanargmax(np.nan_to_num(effect.share).max(axis=1)))]
    if worst not in models:
        models = [*models[:-1], worst]
    yield builder.build_figure(
        "unparsed",
        "Is it the prompt, or the parser?",
        describe_parser_effect(effect) + describe_omitted_models(len(models), len(cube.models)),
        draw_unparsed(effect, models),
        kind="Scatter plot, a point for each model and prompt",
        table="variants",
        marks=len(models) * len(cube.variants),
    )
    values = effect.values
    if np.any(values.pooled > 0):
        builder.add_table("unparsed-values", values.columns())
        order = values.order[:_MAX_VALUES]
        yield builder.build_figure(
            "unparsed-values",
            "With which values can answers not be read?",
            describe_unparsed_values(effect, len(order)),
            draw_unparsed_values(values, order),
            kind="Points, one row for each value of a dimension",
            table="unparsed-values",
            marks=len(order) * (len(values.models) + 1),
        )


def _build_consistency_table(
    prompts: PromptAnalysis, consistency: PromptConsistency, builder: ElementBuilder
) -> TextTable:
    """Return the table of how often two prompts give the same answer to a question."""
    builder.add_table("consistency", consistency.columns())
    between = consistency.interval()
    answered = [model for model in prompts.order if model in consistency.models]
    rows_of = [consistency.models.index(model) for model in answered[:_MAX_MODELS]]
    rows = {
        "Model": [consistency.models[i] for i in rows_of],
        "Questions": [f"{int(consistency.n_questions[i]):,}" for i in rows_of],
        "Same answer": [format_share(float(consistency.rate[i])) for i in rows_of],
        f"{format_level(between.level)} interval": [
            format_share_interval(float(between.low[i]), float(between.high[i])) for i in rows_of
        ],
        "Same prompt": [format_share(float(consistency.same_prompt[i])) for i in rows_of],
        "All alike": [format_share(float(consistency.unanimous[i])) for i in rows_of],
    }
    caption = describe_consistency(consistency)
    title = "How often do two prompts give the same answer?"
    return builder.build_text_table("consistency", title, caption, rows, text_columns=1, table="consistency")


def _build_rank_flip_table(prompts: PromptAnalysis, builder: ElementBuilder) -> TextTable:
    """Return the table of rank flips of the pairs with the smallest differences."""
    flips = prompts.rank_flips
    builder.add_table("swaps", flips.columns())
    distance = np.where(flips.n_variants > 0, np.abs(flips.difference), np.inf)
    closest = np.argsort(distance, kind="stable")[:_MAX_PAIRS]
    order = closest.tolist()
    places = min(choose_decimals(np.abs(flips.difference[closest])), 4)
    pairs = [(flips.models_a[i], flips.models_b[i])[:: -1 if flips.difference[i] < 0 else 1] for i in order]
    rows = {
        "Model": [better for better, _ in pairs],
        "Other model": [other for _, other in pairs],
        "Difference": [format_number(float(abs(flips.difference[i])), places, sign=True) for i in order],
        "Flipped, seen": [format_share(float(flips.swapped[i])) for i in order],
        "By noise alone": [format_share(float(flips.swapped_by_noise[i])) for i in order],
        "Flipped, true": [format_share(float(flips.swapped_true[i])) for i in order],
        f"{format_level(flips.level)} interval": [
            format_share_interval(float(flips.true_low[i]), float(flips.true_high[i])) for i in order
        ],
    }
    return builder.build_text_table(
        "swaps",
        "Under how many prompts does the order of two models flip?",
        describe_rank_flips(flips, len(order)) + describe_concordance(prompts.concordance),
        rows,
        text_columns=2,
        table="swaps",
    )


def build_sample_size_section(prompts: PromptAnalysis | None, builder: ElementBuilder) -> Section:
    """Build the section on the number of prompts that is needed."""
    items = [] if prompts is None else list(build_sample_size_items(prompts, builder))
    lead = (
        "A sample of prompts is enough when the mean and the variance of the score over it are within ε of what "
        "they are over all, with probability 1 − δ."
    )
    return Section("enough-part", "How many prompts are enough", "How many prompts", lead, tuple(items))


def _format_n_star(sizes: SampleSize, model: int, moment: Moment) -> str:
    """Return n* of a model, or why there is none."""
    j = MOMENTS.index(moment)
    n = float(sizes.n_star[model, j])
    if np.isnan(n):
        return format_prompts(n)
    if moment == "variance" and sizes.exceeds_variance[model]:
        return "ε too large"
    return format_prompts(n) if sizes.reached[model, j] else "not reached"


def build_sample_size_items(prompts: PromptAnalysis, builder: ElementBuilder) -> Iterator[Figure | TextTable]:
    """Yield the convergence of the mean and the variance over prompts, and the table of n*."""
    if not prompts.scored_models:
        return
    sizes = prompts.summary.sample_size
    for moment in MOMENTS:
        models, neediest = prompts.pick_models(MAX_SERIES), find_neediest_model(sizes, moment)
        if neediest is not None and neediest not in models:
            models = [*models[:-1], neediest]
        yield builder.build_figure(
            f"convergence-{moment}",
            f"How many prompts until the {moment} is near that over all?",
            describe_convergence(sizes, moment, len(models)),
            draw_convergence(sizes, moment, models),
            kind="Curves that fall to 0, one for each model, with a line at epsilon",
            marks=len(prompts.cube.drawn.variants) * len(models),
        )
    builder.add_table("enough", sizes.columns())
    low, high = sizes.space_limits(prompts.level)
    rows_of = [sizes.models.index(model) for model in prompts.scored_models[:_MAX_MODELS]]
    rows = {
        "Model": [sizes.models[i] for i in rows_of],
        "Prompts": [f"{int(sizes.n_variants[i]):,}" for i in rows_of],
    }
    for j, moment in enumerate(MOMENTS):
        # as the command `variants` prints it
        rows[f"n*, {moment}"] = [_format_n_star(sizes, i, moment) for i in rows_of]
        rows[f"Space, {moment}"] = [
            format_prompts_interval(sizes.n_star_space[i, j], low[i, j], high[i, j]) for i in rows_of
        ]
        rows[f"Noise-free, {moment}"] = [
            format_prompts_interval(
                sizes.n_star_space_corrected[i, j], sizes.corrected_low[i, j], sizes.corrected_high[i, j]
            )
            for i in rows_of
        ]
    caption = describe_sample_sizes(sizes, prompts.level)
    yield builder.build_text_table(
        "enough", "How many prompts are enough?", caption, rows, text_columns=1, table="enough"
    )
